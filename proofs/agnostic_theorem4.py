"""Agnostic FedAvg, Section 3.3: the rate (9) and Theorem 4.

All of it turns on one count, that of `agnostic.eq8`. With H local steps between two
communications (9) holds, and with room to spare; with the H - 1 of Algorithm 1 as
printed it fails for small step sizes after enough rounds, and holds again with H - 1
in place of H. So Theorem 4 survives as printed for H >= 2, while for H = 1 the model
never moves. The constant of its O has to grow with H.

Conventions: theta^0 lies in C (`agnostic.alg1.init`), theta* in C minimises (3) there,
S is never empty (footnote 3), Theta is the whole space, G and ell are the least that
the rational instances allow. An O is read with its quantifiers: for every H and c > 0
and eta = c/sqrt(TH) some K bounds sqrt(T) times the gap for all T; or, in a reading of
its own, one K for all H.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import agnostic_quadratics, judge
from flverify.claims import agnostic_rounds as rounds
from flverify.claims import agnostic_runs as runs
from flverify.claims.agnostic_rounds import BOUND, ELL, ETA, SIGMA, STEPS
from flverify.claims.agnostic_terms import (
    MENDED,
    NOTHING,
    RATE,
    ROOM,
    SCHEDULES,
    TWIN_NOTE,
    by_schedule,
    coefficients,
)
from flverify.claims.claim import Free, claim
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth
from flverify.claims.nonsmooth_losses import SILENT, Absolute, Client
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import above
from flverify.reference import agnostic_fedavg

# -- (9) -----------------------------------------------------------------------------

EQ_9 = (
    r"\mathbb E\left[f\left(\frac1T\sum_{\tau=1}^T\hat\theta_{\tau H}\right)-f("
    r"\theta^*)\right]\le\frac{\|\hat\theta_0-\theta^*\|^2}{2\eta HT}+\eta\sigma^2"
    r"+1.5\eta G^2+4\ell\eta GH"
)


@claim(
    "agnostic.eq9",
    source=Source("agnostic", "eq. (9)"),
    statement=EQ_9,
    proposition="Under Assumptions 1 to 3, with theta^0 in C, (9) holds for every T, H "
    "and eta.",
    constants={"terms": RATE, "count": "H"},
    twin={"terms": NOTHING},
    no_control=TWIN_NOTE,
    free=Free(
        "terms",
        0,
        8,
        weaker="larger",
        key="G^2",
        reading="(ii) H local steps, then a communication",
    ),
)
def rate(c: Any) -> Finding:
    """Judge (9) for both schedules; mend it by the number of steps."""
    return rates(c.terms, c.count).corrected(MENDED, rates(c.terms, "local steps"))


def rates(terms: Any, count: str) -> Finding:
    """Judge (9) with H, or the local steps if there are any, as the number of steps."""
    proof = partial(rounds.rate, coefficients(ROOM), coefficients(terms))
    cases = partial(runs.rate_cases, count=count, terms=terms)
    return by_schedule(count, proof, cases, SEVERAL_ROUNDS)


SEVERAL_ROUNDS = runs.SEARCHED + ", T = 1, 2; one client, T up to 160"


@claim(
    "agnostic.eq9.quad",
    source=Source("agnostic", "eq. (9), enumerated on quadratics; a task, not printed"),
    statement=EQ_9,
    proposition="(9) holds on the listed quadratics of two clients in the plane, with "
    "random laws of S, H = 2, 3, 4, T = 5 and eta from 1/1000 to 1/2, on the box "
    "[-3/2, 3/2]^2 and on the ball of radius 3/2, in both readings of Algorithm 1.",
    constants={"terms": RATE, "factor": 1},
    twin={"factor": Fraction(1, 100)},
)
def quadratics(c: Any) -> Finding:
    """Compare both sides along every sequence of cohorts, exactly on the box."""
    found = {}
    for name, schedule in SCHEDULES.items():
        exact = agnostic_quadratics.exact_cases(schedule, c.terms, c.factor)
        many = agnostic_quadratics.float_cases(schedule, c.terms, c.factor)
        found[name] = judge.all_of(
            {
                "in rationals, box": judge.instances(
                    exact, "<=", agnostic_quadratics.EXACT
                ),
                "in floats, box and ball": judge.instances(
                    many, "<=", agnostic_quadratics.FLOATS
                ),
            }
        )
    return judge.all_of(found)


# -- Theorem 4 -----------------------------------------------------------------------

T, H, C = sympy.symbols("sqrt_T sqrt_H c", positive=True)  # roots of T and of H
START = sympy.Symbol("D", nonnegative=True)


def bound(step: Any, steps: Any, ticks: Any) -> Any:
    """Right side of (9), `steps` for H and `ticks` for T."""
    side = rounds.rate_side(START**2, ticks, coefficients(RATE))
    return side.subs({ETA: step, STEPS: steps}, simultaneous=True)


@claim(
    "agnostic.thm4",
    source=Source("agnostic", "Theorem 4"),
    statement=r"\mathbb E\left[f\left(\frac1T\sum_{t=1}^T\hat\theta_{tH}\right)-f("
    r"\theta^*)\right]=\mathcal O\left(\frac1{\sqrt T}\right),\quad\eta=\Theta\big("
    r"1/\sqrt{TH}\big)",
    proposition="Under Assumptions 1 to 3, with theta^0 in C and eta = c/sqrt(TH), for "
    "every H some K that does not depend on T has sqrt(T) E[f(average) - f(theta*)] <= "
    "K for all T; with k local steps K = factor (D^2 sqrt(H)/(2ck) + c (sigma^2 + "
    "1.5 G^2 + 4 ell G k)/sqrt(H)) will do; in (iv) K does not depend on H either.",
    constants={"factor": 1, "K without local steps": 100, "K for every H": 1},
    twin={"factor": Fraction(1, 10)},
    no_control="depends on how many local steps Algorithm 1 takes and on H = 1; the "
    "twin, a tenth of K, fails in every reading",
    free=Free(
        "factor",
        Fraction(1, 10),
        2,
        weaker="larger",
        reading="(iii) H local steps, every H",
    ),
)
def theorem(c: Any) -> Finding:
    """Judge the theorem as printed, as printed for H >= 2, and with H local steps."""
    as_printed = constant(c.factor, "literal", 2)
    idle = judge.instances(
        no_steps(getattr(c, "K without local steps")), "<=", "H = 1 as printed"
    )
    return judge.readings(
        {
            "(i) as printed, every H": judge.all_of(
                {"H = 1": idle, "H >= 2": as_printed}
            ),
            "(ii) as printed, H >= 2": as_printed,
            "(iii) H local steps, every H": constant(c.factor, "separate", 1),
            "(iv) H local steps, one K for every H": judge.instances(
                long_periods(getattr(c, "K for every H")), "<=", "H = T"
            ),
        }
    )


def constant(factor: Any, schedule: str, least_period: int) -> Finding:
    """Judge K: (9) with k local steps, then eta = c/sqrt(TH) put in."""
    k = C * H * START**2 / (2 * C**2 * STEPS)
    noise = SIGMA**2 + sympy.Rational(3, 2) * BOUND**2 + 4 * ELL * BOUND * STEPS
    best = k + C / H * noise
    gap, room = sympy.symbols("gap K", real=True)
    proof = judge.all_of(
        {
            "(9)": rounds.rate(coefficients(ROOM), coefficients(RATE)),
            "eta = c/sqrt(TH)": judge.identity(
                [("K/sqrt(T)", bound(C / (T * H), STEPS, T**2), best / T)], rounds.EVERY
            ),
            "K": judge.implied(
                [gap * T <= room, room >= 0],
                gap * T <= rational(factor) * room,
                "every K",
            ),
        }
    )
    cases = runs.rate_cases(
        schedule, "local steps", RATE, Fraction(factor), least_period
    )
    return judge.proof_or_search(proof, judge.instances(cases, "<=", SEVERAL_ROUNDS))


def no_steps(largest: int) -> Iterator[Case]:
    """Squares of both sides for f = |x - 1| and H = 1, at T = (K + 1)^2.

    Every tick is a communication: the model stays at 0, whatever the step size and
    whatever K.
    """
    count = (largest + 1) ** 2
    one = runs.slow("literal", 1, Fraction(1, largest + 1))
    ((_, (start, after)),) = one.paths(1)
    unmoved = start == after == (Fraction(0),)  # then so are all later models
    gap = one.objective(after) - one.objective(one.minimiser()) if unmoved else 0

    def again() -> tuple[Fraction, Fraction]:
        models = agnostic_fedavg.run(
            lambda _i, x: [Fraction(1 if x[0] > 1 else -1)],
            1,
            [Fraction(0)],
            [{0}] * count,
            step_size=one.step,
            period=1,
        )
        average = sum((m[0] for m in models[1:]), Fraction(0)) / count
        return count * (average - 1) ** 2, Fraction(largest) ** 2

    at = {**one.where, "T": count, "K": largest, "theta*": 1, "G": 1, "c": 1}
    at |= {"other K": "the same at T = (K + 1)^2"}
    yield Case(at, count * gap**2, Fraction(largest) ** 2, again)


def long_periods(largest: int) -> Iterator[Case]:
    """Squares of both sides for 2|x| and |x - 1|, at H = T = 16 (K + 1)^2, c = 1.

    Each client gets to its own minimiser in every round, and their mean stays at 1/2.
    """
    count = 16 * (largest + 1) ** 2
    clients = tuple(
        Client(Absolute(Fraction(at), Fraction(slope)), SILENT)
        for at, slope in ((0, 2), (1, 1))
    )
    law, box = {frozenset({1, 2}): Fraction(1)}, ("box", Fraction(-1), Fraction(2))
    one = Nonsmooth(clients, law, box, Fraction(1, count), count, "separate")
    ((_, (_, first, second)),) = one.paths(2)
    stays = first == second  # then so do all later models, and their average
    gap = one.objective(first) - one.objective(one.minimiser()) if stays else 0

    def again() -> tuple[Fraction, Fraction]:
        models = agnostic_fedavg.run(
            lambda i, x: [Fraction((2 - i) * ((x[0] > i) - (x[0] < i)))],
            2,
            [Fraction(0)],
            [{0, 1}] * count,
            step_size=one.step,
            period=count,
            schedule="separate",
        )
        x = sum((m[0] for m in models[1:]), Fraction(0)) / count
        square = (abs(x) + abs(x - 1) / 2 - Fraction(1, 2)) ** 2
        return count * square, Fraction(largest) ** 2

    at = {**one.where, "T": count, "K": largest, "theta*": 0, "c": 1}
    at |= {"other K": "the same at H = T = 16 (K + 1)^2"}
    yield Case(at, count * gap**2, Fraction(largest) ** 2, again)


@claim(
    "agnostic.thm4.H",
    source=Source("agnostic", "Theorem 4 with eq. (9); a question, not printed"),
    statement=r"\eta=\frac c{\sqrt{TH}}:\ \frac{D^2}{2\eta HT}+\eta A+\eta BH=\frac1{"
    r"\sqrt T}\Big(\big(\tfrac{D^2}{2c}+cA\big)H^{-1/2}+cB\,H^{1/2}\Big),\quad "
    r"A=\sigma^2+1.5G^2,\ B=4\ell G",
    proposition="With eta = c/sqrt(TH) the right side of (9) grows as sqrt(H/T) for "
    "large H; the best eta, D/sqrt(2HT(A + BH)), makes it D sqrt(2(A/H + B)/T), which "
    "falls in H for given T and, for given n = TH, is D sqrt(2(A + BH)/n) and grows.",
    constants={
        "power": Fraction(1, 2),
        "best": 2,
        "curved": "up",
        "falls for": "T",
        "grows for": "n",
    },
    twin={"power": Fraction(1)},
    reading_twins={
        "best eta": {"best": 1},
        "convex in eta": {"curved": "down"},
        "falls in H": {"falls for": "n"},
        "grows in H, given n": {"grows for": "T"},
    },
    exact=("power", "best"),
)
def dependence(c: Any) -> Finding:
    """Judge the substitution, the best step size, and the monotonies in H."""
    side = bound(C / (T * H), H**2, T**2)
    own = START**2 / (2 * C) + C * FIXED
    printed = (own * H**-1 + C * GROWING * H ** (2 * rational(c.power))) / T
    name = "side sqrt(T)/sqrt(H), up to a multiple of 1/H"
    for_large = (name, printed * T / H, C * GROWING + own / H**2)
    return judge.all_of(
        {
            "value": judge.identity([("eta = c/sqrt(TH)", side, printed)], POSITIVE),
            "limit": judge.identity([for_large], POSITIVE),
            "best eta": judge.identity(_at_the_best(rational(c.best)), POSITIVE),
            **_monotonies(c),
        }
    )


POSITIVE = "every D, sigma, G, ell, T and H, all positive"
FIXED, GROWING = SIGMA**2 + sympy.Rational(3, 2) * BOUND**2, 4 * ELL * BOUND  # A, B


def _at_the_best(factor: Any) -> list[judge.Pair]:
    """Give derivative and value at D/root, root^2 being factor (A + B H) H T."""
    root, first = sympy.symbols("root D", positive=True)
    best = first / root
    square = root**2 / (factor * H**2 * T**2)  # A + B H
    value = first**2 / (2 * best * H**2 * T**2) + best * square
    slope = -(first**2) / (2 * best**2 * H**2 * T**2) + square
    return [
        ("derivative in eta", slope, 0),
        ("square of the value", value**2, 2 * first**2 * square / (H * T) ** 2),
    ]


def _monotonies(c: Any) -> dict[str, Finding]:
    """Judge the bend in eta, and squares of the least value at periods h and h + m."""
    h, n, more = H**2, *sympy.symbols("n m", positive=True)
    bend = {"up": 1, "down": -1}[c.curved] * sympy.diff(bound(ETA, h, T**2), ETA, 2)
    squares = {
        "T": lambda h: 2 * START**2 * (FIXED / h + GROWING) / T**2,
        "n": lambda h: 2 * START**2 * (FIXED + GROWING * h) / n,
    }
    less, grown = squares[getattr(c, "falls for")], squares[getattr(c, "grows for")]
    rows = {
        "convex in eta": bend,
        "falls in H": less(h) - less(h + more),
        "grows in H, given n": grown(h + more) - grown(h),
    }
    held = [START > 0, SIGMA > 0, ELL > 0]  # else some of these may stay as they are
    return {
        name: judge.implied(held, above(one, 0), POSITIVE) for name, one in rows.items()
    }

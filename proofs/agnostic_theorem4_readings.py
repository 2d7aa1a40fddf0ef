"""Agnostic FedAvg, Theorem 4: what it leaves open, read in each way.

The rate holds for step sizes anywhere between two multiples of 1/sqrt(TH), and for the
average of the values, or the best model, in place of the average model. A single run
for all T needs steps that fall, and then only the compactness of C: with a fixed step
the average stays away. The size of the cohorts has no part in it: equal clients give
the same models whoever comes.

Conventions: those of `agnostic.thm4`; k local steps in a round, k = H or, as Algorithm
1 is printed, H - 1, at least 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import agnostic_any_time as any_time
from flverify.claims import agnostic_rate_cases as rates
from flverify.claims import agnostic_rounds as rounds
from flverify.claims import agnostic_runs as runs
from flverify.claims import judge
from flverify.claims.agnostic_rounds import STEPS
from flverify.claims.agnostic_terms import RATE, ROOM, coefficients
from flverify.claims.claim import Free, claim
from flverify.claims.last_iterate import far_away
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

T, H = sympy.symbols("sqrt_T sqrt_H", positive=True)  # roots of T and of H
START = sympy.Symbol("D", nonnegative=True)
ONE = Fraction(1)
EVERY = "every N, dimension, C, law of S and of the noise, T, H and k"

# -- Theta ---------------------------------------------------------------------------


@claim(
    "agnostic.thm4.theta",
    source=Source("agnostic", "Theorem 4, its step size; a question, not printed"),
    statement=r"\frac{c_1}{\sqrt{TH}}\le\eta\le\frac{c_2}{\sqrt{TH}}\ \Rightarrow\ "
    r"\sqrt T\,\mathbb E[f(\bar\theta)-f(\theta^*)]\le\frac{D^2\sqrt H}{2c_1k}+\frac{"
    r"c_2}{\sqrt H}\big(\sigma^2+1.5G^2+4\ell Gk\big)",
    proposition="Under Assumptions 1 to 3, with theta^0 in C and k local steps in a "
    "round, step sizes between c_1/sqrt(TH) and c_2/sqrt(TH), another one for each T "
    "if one likes, have the rate of Theorem 4 with this constant, which does not "
    "depend on T.",
    constants={"factor": 1},
    twin={"factor": Fraction(1, 10)},
    free=Free("factor", Fraction(1, 10), 2, weaker="larger"),
)
def between(c: Any) -> Finding:
    """Put both ends into (9); search with ends a half and twice the step size."""
    low, high, eta = sympy.symbols("c_1 c_2 eta", positive=True)
    gap = sympy.Symbol("gap", real=True)
    room = sympy.Symbol("room", nonnegative=True)  # sigma^2 + 1.5 G^2 + 4 ell G k
    held = [
        gap <= START**2 / (2 * eta * STEPS * T**2) + eta * room,
        low <= eta * T * H,
        eta * T * H <= high,
    ]
    bound = START**2 * H / (2 * low * STEPS) + high * room / H
    proof = judge.all_of(
        {
            "(9)": rounds.rate(coefficients(ROOM), coefficients(RATE)),
            "between": judge.implied(
                held, at_most(gap * T, rational(c.factor) * bound), EVERY
            ),
        }
    )
    found = {
        name: judge.instances(
            rates.doubled(word, Fraction(c.factor)), "<=", runs.SEARCHED
        )
        for name, word in {"H - 1 steps": "literal", "H steps": "separate"}.items()
    }
    return judge.proof_or_search(proof, judge.all_of(found))


# -- anytime -------------------------------------------------------------------------

FIXED = "(i) one run for all T, with one step size"
FALLING = "(ii) one run for all T, with eta_r = c/sqrt(rH) in round r"


@claim(
    "agnostic.thm4.anytime",
    source=Source("agnostic", "Theorem 4, its step size; a question, not printed"),
    statement=r"\mathbb E\left[f\left(\frac1T\sum_{t=1}^T\hat\theta_{tH}\right)-f("
    r"\theta^*)\right]=\mathcal O\left(\frac1{\sqrt T}\right)\text{ along one run}",
    proposition="Along one run under Assumptions 1 to 3, with theta^0 in the compact C "
    "and k local steps in a round, some K has sqrt(T) E[f(average) - f(theta*)] <= K "
    "for all T; in (ii) factor times R^2 sqrt(H)/(2ck) + 2c (sigma^2 + 1.5 G^2 + 4 ell "
    "G k)/sqrt(H) will do, R the largest distance of C from theta*.",
    constants={"factor": 1, "K": 10},
    twin={"factor": Fraction(1, 10)},
    no_control="depends on the step sizes; the twin, a tenth of K, fails for each",
)
def along_one_run(c: Any) -> Finding:
    """Judge a run that alternates, and prove the rate of falling steps."""
    search = judge.instances(
        any_time.summed_cases(Fraction(c.factor)),
        "<=",
        "sums of values, absolute values of one and two clients, falling steps",
    )
    return judge.readings(
        {
            FIXED: judge.instances(
                rates.restless(c.K, Fraction(c.factor)),
                "<=",
                "|x - 1/3| from 0, eta = 1/2",
            ),
            FALLING: judge.proof_or_search(falling(c.factor), search),
        }
    )


def falling(factor: Any) -> Finding:
    """Prove the rate: sums of (8), sums of roots, and Jensen."""
    total, gap, widest = sympy.symbols("sum_of_v gap R", real=True)
    c, room = sympy.Symbol("c", positive=True), sympy.Symbol("room", nonnegative=True)
    added = sympy.Symbol("sum_of_eta", nonnegative=True)
    bound = widest**2 * H / (2 * c * STEPS) + 2 * c * room / H
    held = [
        total <= widest**2 * T * H / (2 * c * STEPS) + added * room,
        added <= 2 * c * T / H,
        gap * T**2 <= total,
    ]
    return judge.all_of(
        {
            "(8)": rounds.one_round(coefficients(ROOM)),
            "(8), divided": any_time.one_round_divided(),
            "sum of rounds": any_time.summed(),
            "sum of step sizes": any_time.roots(),
            "Jensen": any_time.jensen(),
            "rate": judge.implied(
                held, at_most(gap * T, rational(factor) * bound), EVERY
            ),
        },
        argument="(8) holds for each round, given what was before it, with the step "
        "size of that round. eta_T is c/(sqrt(T) sqrt(H)), and the step sizes add up "
        "to at most 2 c sqrt(T)/sqrt(H).",
    )


# -- which model ---------------------------------------------------------------------


@claim(
    "agnostic.thm4.iterate",
    source=Source("agnostic", "Theorem 4, which model; a question, not printed"),
    statement=r"\mathbb E[f(\tilde\theta)-f(\theta^*)]\le\frac{D^2}{2\eta kT}+\eta("
    r"\sigma^2+1.5G^2+4\ell Gk)\text{ for another model }\tilde\theta",
    proposition="Under Assumptions 1 to 3, with theta^0 in C, the bound (9) with k "
    "local steps in a round, and so the rate, holds for the model of the reading in "
    "place of the average of T.",
    constants={"factor": 1},
    twin={"factor": Fraction(1, 10)},
    free=Free(
        "factor",
        Fraction(1, 10),
        2,
        weaker="larger",
        reading="(i) one of the T models, drawn uniformly",
    ),
)
def which_model(c: Any) -> Finding:
    """Prove it for the mean of the values and the least; search the last.

    Sums of (8) say nothing of the last model alone. That of subgradient steps can be
    worse by a factor log T, in as many dimensions as there are rounds: no small
    instance shows it, and one of T = 2^m does, whatever the factor.
    """
    factor = Fraction(c.factor)
    found = {}
    for name, value in MODELS.items():
        cases = (
            case
            for word in ("literal", "separate")
            for case in rates.valued(word, value, factor)
        )
        found[name] = judge.instances(cases, "<=", runs.SEARCHED + ", T up to 160")
    drawn, best, last = MODELS
    if found[last].passes():
        found[last] = far_away(factor, RATE)
    found[drawn] = judge.proof_or_search(mean_of_values(factor), found[drawn])
    found[best] = judge.proof_or_search(least_value(factor), found[best])
    return judge.readings(found)


MODELS: dict[str, Any] = {
    "(i) one of the T models, drawn uniformly": lambda values: (
        sum(values) / len(values)
    ),
    "(ii) the one of the least E f": min,
    "(iii) the last": lambda values: values[-1],
}


def mean_of_values(factor: Fraction) -> Finding:
    """Prove it: the sum of (8) before Jensen, divided by 2 eta k T."""
    total, first, last, room = sympy.symbols("sum D_squared last room", real=True)
    eta, count = sympy.symbols("eta T", positive=True)
    held = [
        last >= 0,
        room >= 0,
        first >= 0,
        last <= first - 2 * eta * STEPS * total + count * STEPS * 2 * eta**2 * room,
    ]
    bound = first / (2 * eta * STEPS * count) + eta * room
    return judge.all_of(
        {
            "(8)": rounds.one_round(coefficients(ROOM)),
            "(8), its room": any_time.one_round_divided(),
            "sum of rounds": any_time.added_rounds(),
            "mean": judge.implied(
                held, at_most(total / count, rational(factor) * bound), EVERY
            ),
        }
    )


def least_value(factor: Fraction) -> Finding:
    """Prove it: T times the least is at most the sum, one value more."""
    least, new, total = sympy.symbols("least new sum", real=True)
    done = sympy.Symbol("t", positive=True)
    now = sympy.Symbol("least_now", real=True)
    more = judge.implied(
        [done * least <= total, now <= least, now <= new],
        (done + 1) * now <= total + new,
        "every T",
    )
    return judge.all_of({"mean": mean_of_values(factor), "least": more})


# -- how many come -------------------------------------------------------------------


@claim(
    "agnostic.thm4.cohort",
    source=Source("agnostic", "Theorem 4, the size of S; a question, not printed"),
    statement=r"\mathcal O(1/\sqrt T)\text{ with a constant that has no }|S^t|",
    proposition="If all clients have one loss and no noise, the models do not depend "
    "on who comes, so that the gap is the same for every |S|; under Assumptions 1 to "
    "3, with theta^0 in C, the bound (9) with k local steps holds for cohorts of M of "
    "N of them, with no M in it.",
    constants={"over": "nothing", "divisor": "|S|"},
    twin={"over": "M"},
    reading_twins={"who comes": {"divisor": "N"}},
)
def sizes(c: Any) -> Finding:
    """Judge one aggregate of equal models, the loops, and (9), over M if asked."""
    s, a = 1 + sympy.Symbol("t", positive=True), sympy.Symbol("a", positive=True)
    x = sympy.Symbol("x", positive=True)
    divisor = {"|S|": s, "N": s + a}[c.divisor]
    same = judge.identity([("s equal models", s * x / divisor, x)], EVERY)
    search = judge.instances(
        rates.alike(c.divisor), "==", "N = 3, every cohort, |x - 1|, H = 2, 3"
    )
    power = {"nothing": 0, "M": 1}[c.over]
    bound = judge.instances(rates.by_size(power), "<=", "M of N = 4 equal clients")
    if not power:  # (9) has no M in it
        proof = rounds.rate(coefficients(ROOM), coefficients(RATE))
        bound = judge.proof_or_search(proof, bound)
    return judge.all_of(
        {"who comes": judge.proof_or_search(same, search), "bound": bound}
    )

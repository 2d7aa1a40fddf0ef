"""Lemma 5 of the FOCUS paper, Appendix E.1: the lemma, and its steps (123) to (125).

Lemma 5 is Lemma 3 with noisy gradients. Two things happen to the noise. A client that
does not take part leaves its stored noise in the tracker, where it is correlated with
the server's model: the cross term of (123) keeps it. (Were all to draw anew, line 1 of
(123) would not be the server's move.) And the noises of N clients add up: their sum has
N times the variance. Both are lost between lines 3 and 4 of (123), so that the lemma
fails for one rare client, and for three clients that all take part.

Conventions: runs are those of Appendix E, the tracker starting as the sum of stored
gradients without noise; E is over cohorts and noise; 1/(tau-1) at tau = 1 is no cap.
Samples are independent or of any joint law. sgfocus_lemma5_drift.py goes on. The
mended statements are proved link by link in flverify/claims/sg_focus_lemma5.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims import sg_focus_lemma5 as proofs
from flverify.claims.claim import Free, claim
from flverify.claims.focus_families import CONVEX
from flverify.claims.focus_lemma3 import EVERY, L, N, eta, gradient_and_gap, mu
from flverify.claims.focus_search import number
from flverify.claims.focus_theorem1_steps import implied_under
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_moments import Curves, NoisyClients, curves
from flverify.claims.sg_focus_noise import the_server_moves
from flverify.claims.sg_focus_recheck import listed
from flverify.claims.sg_focus_search import (
    LOUD,
    Q_READINGS,
    SAMPLES,
    NoisyInstance,
    Sides,
    by_samples,
    chosen,
    full,
    one_sample,
    population,
    remembered,
    searched,
)
from flverify.claims.verdict import Finding
from flverify.participation import Bernoulli, Full, UniformCohort

CAPS = {"mu/((tau-1)^2 L^2 N)": "1/128", "1/(sqrt(2) (tau-1) L)": "1/2"}
NOISES = {
    **{str(k): lambda _, k=k: Fraction(k) for k in (1, 2)},
    "N": lambda one: Fraction(one.clients.total),
    "2 N": lambda one: Fraction(2 * one.clients.total),
}
MENDED = {"laws": "full", "samples": SAMPLES[:1]}
SEARCHED = "N = 1, 2, 5; kappa = 1, 5, 30; tau = 1, 2, 20; loud and quiet noise"


def _clients(laws: str) -> tuple[NoisyClients, ...]:
    every = population(CONVEX, largest=5)
    return full(every) if laws == "full" else every


# Lemma 5 -------------------------------------------------------------------------


@claim(
    "sgfocus.lemma5",
    source=Source("focus", "Lemma 5, Appendix E.1"),
    statement=r"\eta\le\min\Big\{\frac{\mu}{128(\tau-1)^2L^2N},\frac1{2\sqrt2(\tau-1)L}"
    r"\Big\}:\quad\mathbb{E}\|\bar x_{(r+1)\tau+1}-x^\star\|^2\le\Big(1-\frac{\eta\mu "
    r"N}2\Big)\mathbb{E}\|\bar x_{r\tau+1}-x^\star\|^2-2\eta N(1-2\eta NL)\big(F(\bar "
    r"x_{r\tau+1})-F(x^\star)\big)+\frac{16\eta L^2N}\mu\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|^2+2\eta^2\sigma^2",
    proposition="The bound holds in expectation in every round of every run with "
    "L-smooth, mu-strongly convex f_i under Assumptions 1 and 6 and the caps on eta.",
    constants={
        "caps": CAPS,
        "noise": "2",
        "consensus": "16",
        "laws": "any",
        "samples": SAMPLES,
    },
    twin={"noise": "2 N", **MENDED},
)
def lemma5(c: SimpleNamespace) -> Finding:
    """Prove it where all take part; search runs at the largest steps."""
    mended = SimpleNamespace(**{**vars(c), "noise": "2 N", **MENDED})
    return _lemma5(c).corrected(
        r"\text{Lemma 5 with }2N\eta^2\sigma^2\text{ for independent samples, if every "
        r"client takes part in every round, stored gradients are exact at first and "
        r"the tracker is their sum}",
        _lemma5(mended),
    )


@remembered
def _lemma5(c: SimpleNamespace) -> Finding:
    sides = partial(_sides5, c)
    runs = searched(chosen(c.caps, Q_READINGS[0], _clients(c.laws)), sides, 30)
    return judge.readings(
        by_samples(
            lambda: judge.proof_or_search(
                proofs.lemma5(c), judge.instances(runs, "<=", SEARCHED)
            ),
            lambda: judge.instances(
                one_sample(c.caps, Q_READINGS[0], sides, 2), "<=", "one sample for all"
            ),
            c.samples,
        )
    )


def _sides5(c: SimpleNamespace, one: NoisyInstance, found: Curves) -> Sides:
    """Both sides of the lemma for the rounds r + 1 = 1, 2, ..."""
    own, eta_ = one.clients, one.step
    A, B = found.server[:-1], found.behind[:-1]
    low, high, many = own.strong_convexity, own.smoothness, own.total
    gap = own.mean_curvature / 2
    consensus = Fraction(c.consensus) * eta_ * high**2 * many / low
    added = NOISES[c.noise](one) * eta_**2 * own.variance
    drop = 2 * eta_ * many * (1 - 2 * eta_ * many * high)
    first = 1 - eta_ * low * many / 2 - drop * gap
    right = number(first, A) * A + number(consensus, A) * B + number(added, A)
    return Sides(1, found.server[1:], right)


# (123) ---------------------------------------------------------------------------

u, s, other = sympy.symbols("u s other", real=True)
U, GAP, D2, S2 = sympy.symbols("U gap D2 sigma2", nonnegative=True)


@claim(
    "sgfocus.lemma5.step123a",
    source=Source("focus", "eq. (123), lines 1-3"),
    statement=r"\mathbb{E}\|\bar x_{(r+1)\tau+1}-x^\star\|^2=\mathbb{E}\|\bar x_{r\tau+"
    r"1}-x^\star-\eta\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{(r+1)"
    r"\tau};\xi_{(r+1)\tau})\|^2=\|\bar x_{r\tau+1}-x^\star\|^2-2\eta\,\mathbb{E}\big"
    r"\langle\bar x_{r\tau+1}-x^\star,\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\cdot;"
    r"\xi)\big\rangle+\eta^2\,\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}("
    r"\cdot;\xi)\|^2",
    proposition="With the tracking of Algorithm 2, the server moves by -eta times the "
    "sum of the clients' latest stochastic gradients, and the square expands as "
    "printed for every law of it.",
    given={"the tracking of Algorithm 2": "sgfocus.alg2"},
    constants={"cross": "2", "collected": 1},
    twin={"cross": "1"},
    reading_twins={"the server's move": {"collected": 2}},
    exact=("cross", "collected"),
)
def expansion(c: SimpleNamespace) -> Finding:
    """Play rounds on formal gradients; expand for two outcomes, linear in laws."""
    p = sympy.Symbol("p", real=True)
    mean, second = p * s + (1 - p) * other, p * s**2 + (1 - p) * other**2
    left = p * (u - eta * s) ** 2 + (1 - p) * (u - eta * other) ** 2
    right = u**2 - rational(c.cross) * eta * u * mean + eta**2 * second
    return judge.all_of(
        {
            "the server's move": the_server_moves(c.collected),
            "the square": judge.identity([("coordinate", left, right)], EVERY),
        }
    )


@claim(
    "sgfocus.lemma5.step123b",
    source=Source("focus", "eq. (123), line 4, cross term"),
    statement=r"-2\eta\,\mathbb{E}\big\langle\bar x_{r\tau+1}-x^\star,\mathbb{1}^{"
    r"\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{(r+1)\tau};\xi_{(r+1)\tau})\big"
    r"\rangle\;\text{is replaced by}\;-2\eta\big\langle\bar x_{r\tau+1}-x^\star,"
    r"\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{(r+1)\tau})\big"
    r"\rangle",
    proposition="In every round of Algorithm 2 the stochastic gradients, stored ones "
    "of absent clients, may be replaced by exact ones inside E<w_r - x*, .>.",
    constants={"laws": "any", "samples": SAMPLES, "stored": 1},
    twin=MENDED,
)
def unbiased(c: SimpleNamespace) -> Finding:
    """Prove it for new noises; compute the second round of small runs exactly."""
    return _unbiased(c).corrected(
        r"\text{the replacement, for independent samples, if every client takes part "
        r"in every round}",
        _unbiased(SimpleNamespace(**{**vars(c), **MENDED})),
    )


@remembered
def _unbiased(c: SimpleNamespace) -> Finding:
    def sides(one: NoisyInstance, found: Curves) -> Sides:
        del one
        return Sides(0, found.aim + c.stored * found.stale, found.aim)

    return judge.readings(
        by_samples(
            lambda: judge.proof_or_search(
                proofs.new_noise_has_no_part(c),
                judge.instances(_small_rounds(c.laws, sides), "==", SMALL),
            ),
            lambda: judge.instances(
                one_sample(CAPS, Q_READINGS[0], sides, 2), "==", "one sample for all"
            ),
            c.samples,
        )
    )


SMALL = "N = 1, 2; tau = 1, 2; round r = 1"


def _small_rounds(laws: str, inequality: Any) -> Iterator[judge.Case]:
    """Yield round r = 1 of small runs, exactly, played again sign by sign."""
    half = Fraction(1, 2)
    shapes = [
        ((half, half), UniformCohort(2, 1)),
        ((half,), Bernoulli(["1/2"])),
        ((half,), Full(1)),
        ((half, 2 * half), UniformCohort(2, 1)),
        ((half, 2 * half), Full(2)),
    ]
    for (h, law), tau in product(shapes, (2, 1)):
        clients = NoisyClients(h, law, tau, variance=LOUD)
        if laws == "full" and clients.inclusion < 1:
            continue
        step = Fraction(1, 128 * len(h) * 4)
        nil = (Fraction(0),) * len(h)
        for start in ((Fraction(0), nil), (Fraction(1), nil)):
            one = NoisyInstance(clients, step, start, clients.averaging)
            found = curves(clients, step, [start], 2, exact=True).row(0)
            place, (_, left, right) = 1, inequality(one, found)

            def again(one: NoisyInstance = one, place: int = place) -> tuple[Any, Any]:
                played = listed(one.clients, one.step, one.start, 2)
                _, *both = inequality(one, played)
                return both[0][place], both[1][place]

            yield judge.Case(one.where(1), left[place], right[place], again)


@claim(
    "sgfocus.lemma5.step123c",
    source=Source("focus", "eq. (123), line 4, noise"),
    statement=r"\eta^2\,\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_{(r+1)\tau};\xi)\|^2\le\eta^2\sigma^2+2\eta^2\big\|\mathbb{1}^{"
    r"\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{(r+1)\tau})-\mathbb{1}^{\mathsf T}"
    r"\nabla\boldsymbol{f}(\mathbb{1}\bar x_{r\tau+1})\big\|^2+2\eta^2N^2\|\nabla F("
    r"\bar x_{r\tau+1})\|^2",
    proposition="In every round of every run with convex L-smooth f_i the noise adds "
    "at most sigma^2 to E|sum of gradients|^2.",
    constants={"noise": "1", "laws": "any", "samples": SAMPLES, "caps": CAPS},
    twin={"noise": "N", **MENDED},
)
def added_noise(c: SimpleNamespace) -> Finding:
    """N independent noises add up to N sigma^2; search runs."""
    return _added_noise(c).corrected(
        r"\text{the same with }N\eta^2\sigma^2\text{ for independent samples, if every "
        r"client takes part in every round}",
        _added_noise(SimpleNamespace(**{**vars(c), "noise": "N", **MENDED})),
    )


@remembered
def _added_noise(c: SimpleNamespace) -> Finding:
    def sides(one: NoisyInstance, found: Curves) -> Sides:
        own, A = one.clients, found.server[:-1]
        slope = 2 * (own.mean_curvature * own.total) ** 2
        added = number(NOISES[c.noise](one) * own.variance, A)
        right = added + 2 * found.drift + number(slope, A) * A
        return Sides(0, found.push, np.asarray(right))

    steps = partial(chosen, c.caps, Q_READINGS[0])
    return judge.readings(
        by_samples(
            lambda: judge.proof_or_search(
                proofs.square_of_gradients(c),
                judge.instances(
                    searched(steps(_clients(c.laws)), sides, 20), "<=", SEARCHED
                ),
            ),
            lambda: judge.instances(
                one_sample(c.caps, Q_READINGS[0], sides, 2), "<=", "one sample for all"
            ),
            c.samples,
        )
    )


@claim(
    "sgfocus.lemma5.step123d",
    source=Source("focus", "eq. (123), line 5"),
    statement=r"2\eta^2N^2\|\nabla F(\bar x_{r\tau+1})\|^2\le4\eta^2N^2L\big(F(\bar x_{"
    r"r\tau+1})-F(x^\star)\big),\quad\frac1{2L}\|\nabla F(x)\|^2\le F(x)-F(x^\star)",
    proposition="|grad F(x)|^2 <= 2 L (F(x) - F(x*)) for L-smooth F with a minimiser "
    "x*, so that 4 eta^2 N^2 L may replace 2 eta^2 N^2.",
    constants={"factor": "4"},
    twin={"factor": "3"},
    free=Free("factor", "1", "8", weaker="larger"),
)
def gradient_by_gap(c: SimpleNamespace) -> Finding:
    """Halve the factor: what stands before L (F - F*) for one |grad F|^2."""
    return gradient_and_gap(str(Fraction(c.factor) / 2))


# (124), (125) --------------------------------------------------------------------


@claim(
    "sgfocus.lemma5.step124",
    source=Source("focus", "eq. (124)"),
    statement=r"-2\eta\langle\bar x_{r\tau+1}-x^\star,\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_{(r+1)\tau})\rangle\le-2\eta N\big(F(\bar x_{r\tau+"
    r"1})-F(x^\star)+\tfrac\mu2\|\bar x_{r\tau+1}-x^\star\|^2\big)+\eta\epsilon\|\bar "
    r"x_{r\tau+1}-x^\star\|^2+\tfrac\eta\epsilon\|D\|^2\le-2\eta N\big(F(\bar x_{r\tau+"
    r"1})-F(x^\star)\big)-\frac{\eta\mu N}2\|\bar x_{r\tau+1}-x^\star\|^2+\frac{2\eta}"
    r"\mu\|D\|^2,\quad\epsilon=\mu/2",
    proposition="For mu-strongly convex F, N >= 1 and D = S - N grad F(w) any vector, "
    "each line of (124) is at most the next.",
    constants={
        "contraction": "1/2",
        "difference": "2",
        "cross": "2",
        "curvature": "1/2",
        "apart": "1",
    },
    twin={"contraction": "1"},
    reading_twins={
        "line 1": {"cross": "1"},
        "A3": {"curvature": "1"},
        "Young": {"apart": "1/2"},
    },
    free=(
        Free("contraction", "1/4", "2", weaker="smaller"),
        Free("difference", "1", "4", weaker="larger"),
        Free("curvature", "1/4", "1", weaker="smaller"),
        Free("apart", "1/2", "2", weaker="larger"),
    ),
    exact=("cross",),
)
def cross_term(c: SimpleNamespace) -> Finding:
    """Split S; use strong convexity and Young; compare the coefficients."""
    g, d, inner, gap = sympy.symbols("g d inner gap", real=True)
    eps = sympy.Symbol("epsilon", positive=True)
    nearby = [gap >= mu / 2 * U]  # strong convexity at x*
    split = -2 * eta * u * g - rational(c.cross) * eta * u * (s - g)
    bent = rational(c.curvature) * mu * U
    convex = -2 * eta * N * inner <= -2 * eta * N * (gap + bent)
    apart = rational(c.apart) * eta / eps * d**2
    young = -2 * eta * u * d <= eta * eps * u**2 + apart
    line2 = (-eta * mu * N + eta * mu / 2) * U + 2 * eta / mu * D2
    line3 = -rational(c.contraction) * eta * mu * N * U
    line3 += rational(c.difference) * eta / mu * D2
    return judge.all_of(
        {
            "line 1": judge.identity([("coordinate", -2 * eta * u * s, split)], EVERY),
            "A3": implied_under([inner >= gap + mu / 2 * U], nearby, convex, EVERY),
            "Young": judge.implied([], young, EVERY),
            "eps = mu/2": judge.implied([N >= 1], line2 <= line3, EVERY),
        }
    )


@claim(
    "sgfocus.lemma5.step125",
    source=Source("focus", "eq. (125)"),
    statement=r"\mathbb{E}\|\bar x_{(r+1)\tau+1}-x^\star\|^2\le\Big(1-\frac{\eta\mu N}2"
    r"\Big)\|\bar x_{r\tau+1}-x^\star\|^2-2\eta N(1-2\eta NL)\big(F(\bar x_{r\tau+1})-"
    r"F(x^\star)\big)+2\eta\Big(\frac1\mu+\eta\Big)\|D\|^2+\eta^2\sigma^2",
    proposition="Line 5 of (123) and line 3 of (124), both as printed, add up to "
    "(125), coefficient by coefficient.",
    given={
        "line 5 of (123)": [f"sgfocus.lemma5.step123{part}" for part in "abcd"],
        "line 3 of (124)": "sgfocus.lemma5.step124",
    },
    constants={
        "contraction": "1/2",
        "gap": "2",
        "excess": "2",
        "difference": "2",
        "noise": "1",
    },
    twin={"excess": "1"},
    exact=("contraction", "gap", "excess", "difference", "noise"),
)
def collected(c: SimpleNamespace) -> Finding:
    """Add the two right-hand sides."""
    after_123 = U + 2 * eta**2 * D2 + 4 * eta**2 * N**2 * L * GAP + eta**2 * S2
    after_124 = -2 * eta * N * GAP - eta * mu * N / 2 * U + 2 * eta / mu * D2
    right = (1 - rational(c.contraction) * eta * mu * N) * U
    right -= rational(c.gap) * eta * N * (1 - rational(c.excess) * eta * N * L) * GAP
    right += rational(c.difference) * eta * (1 / mu + eta) * D2
    right += rational(c.noise) * eta**2 * S2
    return judge.identity([("(123) + (124)", after_123 + after_124, right)], EVERY)

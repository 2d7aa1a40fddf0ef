"""Theorem 4 of the FOCUS paper, Appendix E.4: the PL condition with noise.

The chain is that of (24) with noise, and with what fails there: the third inequality
asks for more decrease than there is. New are the stale noise of absent clients, which
the first display drops, an N lost in the display after (135), and a cap 3 q/(32 N) kept
from Lemma 4 where Lemma 6 needs q/(16 N); the theorem itself prints neither. Omega adds
a function value and a squared distance: under f -> c f with small c the consensus error
outweighs Omega_0, and so it does if one of many clients is drawn, inside every cap that
the proof adds. The mended bound is proved in flverify/claims/sg_focus_theorem4.py.

Conventions: G = |grad F(w_r)|^2, E = |N grad F(w_r) - S|^2, A_r = E F(w_r) - F*,
B_r = E||1 w_r - x_{r tau}||^2, n = tau - 1. All models start equal, so that Omega_0 has
no consensus error; the tracker starts as the sum of stored gradients without noise.
From the zeros of line 1, the rows being where f_i is least, Omega_1 exceeds the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import chain, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy

from flverify._core.sources import Source
from flverify.certify import gram
from flverify.claims import judge
from flverify.claims import sg_focus_theorem4 as proof
from flverify.claims.claim import Free, claim
from flverify.claims.focus_families import GENERAL
from flverify.claims.focus_search import number, powers
from flverify.claims.focus_theorem1_steps import (
    conditions,
    decrease,
    implied_under,
)
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_descent import noisy_descent
from flverify.claims.sg_focus_moments import Curves, NoisyClients
from flverify.claims.sg_focus_search import (
    LOUD,
    Q_READINGS,
    QUIET,
    SAMPLES,
    NoisyInstance,
    Sides,
    by_samples,
    chosen,
    inside,
    one_sample,
    population,
    remembered,
    searched,
)
from flverify.claims.sg_focus_steps import FULL
from flverify.claims.verdict import Finding
from flverify.participation import Full, UniformCohort

CAPS = {
    "q/(beta N (4-q))": "1/3",
    "q/L^2": "1/16",
    "q^(3/2)/(L sqrt(6 N))": "1/4",
    "q^(3/2)/(sqrt(2) L (tau-1))": "1/8",
}
OF_PROOF = {"q/N": "3/32", "1/(L N)": "1/4", "1/((tau-1) L N)": "1/2"}
MENDED = {
    "caps": {**CAPS, "q/N^2": "1/16", "q^(3/2)/(L N)": "1/8"},
    "floor": "wider",
    "case_3a": "1/N",
    "samples": SAMPLES[:1],
}
SETTINGS = (("1/100", 2), ("1/100", 1), ("1", 2), ("1", 1), ("1", 20), ("100", 1))
SEARCHED = (
    "N = 1, 2, 5; curvatures 1, one of them 30, half of them 0 or -1/2, of scale "
    "1/100, 1, 100; tau = 1, 2, 20; loud and quiet noise; 30 rounds from equal models; "
    "one of 25 clients; one client of curvature 1/1000 with 1000 local moves"
)

# Theorem 4 -----------------------------------------------------------------------


@claim(
    "sgfocus.thm4",
    source=Source("focus", "Theorem 4, Appendix E.4"),
    statement=r"\eta\le\min\Big\{\frac{q_{\min}}{3\beta N(4-q_{\min})},\frac{q_{\min}}"
    r"{16L^2},\frac{q_{\min}^{3/2}}{4L\sqrt{6N}},\frac{q_{\min}^{3/2}}{8\sqrt2L("
    r"\tau-1)}\Big\}:\quad\Omega_R\le(1-\eta\beta N)^R\Omega_0+\Big(\frac L2+32("
    r"\tau-1)^2L^2+\frac8{q_{\min}}\Big)\frac\eta\beta\sigma^2,\quad\Omega_r:=F(\bar "
    r"x_{r\tau+1})-F^\star+(1-4\eta L^2)\mathbb{E}\|\mathbb{1}\bar x_{(r-1)\tau+1}-"
    r"\boldsymbol{x}_{(r-1)\tau}\|^2",
    proposition="The bound holds for every R in every run from equal models with "
    "f_i of L-Lipschitz gradients, F beta-PL, under Assumptions 1 and 6 and the caps; "
    "rounds are independent and of one law, the server moves in empty ones too, "
    "stored gradients are exact at first and the tracker is their sum.",
    constants={"caps": CAPS, "floor": "L/2", "case_3a": "1/m", "samples": SAMPLES},
    twin=MENDED,
)
def theorem4(c: SimpleNamespace) -> Finding:
    """Prove it mended; search runs for each reading of q, f in three scales."""
    mended = SimpleNamespace(**{**vars(c), **MENDED})
    return judge.readings(_theorem4(c)).corrected(
        r"\text{the bound with }\frac{8L}q+\frac{64}q\eta L^2(\tau-1)^2\text{ for }"
        r"\frac L2\text{, }\frac{48N(N+(\tau-1)^2)}{q^2}\eta^2\sigma^2\text{ added, "
        r"and caps }\frac q{16N^2},\frac{q^{3/2}}{8LN}\text{ beside the others, for "
        r"independent samples and rounds, of one law, the server moving in empty "
        r"rounds too (}I_i/|S|=0\text{ there), all models equal at the start, stored "
        r"gradients exact there and the tracker their sum, and }\frac1N\text{ for }"
        r"\frac1m\text{ in Case 3a}",
        judge.readings(_theorem4(mended)),
    )


@remembered
def _theorem4(c: SimpleNamespace) -> dict[str, Finding]:
    found, sides = {}, partial(_sides4, c)
    for reading in Q_READINGS:
        clients = population(GENERAL, SETTINGS, largest=5)
        listed = chosen(c.caps, reading, clients, c.case_3a)
        by = by_samples(
            lambda listed=listed, reading=reading: judge.proof_or_search(
                proof.theorem4(c, reading),
                judge.instances(
                    chain(
                        _many(c, reading, sides),
                        searched(listed, sides, 30, equal=True),
                        _slow(c, sides),
                    ),
                    "<=",
                    SEARCHED,
                ),
            ),
            lambda reading=reading: judge.instances(
                one_sample(c.caps, reading, sides, 60, (1,)), "<=", "one sample"
            ),
            c.samples,
        )
        found.update({f"{reading}; {name}": one for name, one in by.items()})
    return found


def _many(c: SimpleNamespace, reading: str, sides: Any) -> Iterator[judge.Case]:
    """Many clients of which one is drawn, inside the caps of the printed proof, too."""
    clients = NoisyClients((Fraction(1),) * 25, UniformCohort(25, 1), 2, variance=QUIET)
    listed = chosen({**OF_PROOF, **c.caps}, reading, [clients], c.case_3a)
    yield from searched(listed, sides, 30, equal=True)


def _slow(c: SimpleNamespace, sides: Any) -> Iterator[judge.Case]:
    """Where L is small, the models spread by eta (tau-1) sigma before F is felt."""
    one = NoisyClients((Fraction(1, 1000),), Full(1), 1001, variance=LOUD)
    step, q_min = Fraction(1, 16), Fraction(1)
    if inside(c.caps, one, q_min, step):
        yield from searched([(one, step, q_min)], sides, 4, equal=True)


def _sides4(c: SimpleNamespace, one: NoisyInstance, found: Curves) -> Sides:
    own, step, like = one.clients, one.step, found.server
    beta, top = own.mean_curvature, own.smoothness
    weight = number(1 - 4 * step * top**2, like)
    before = np.concatenate([0 * found.behind[:1], found.behind[:-1]])
    omega = number(beta / 2, like) * like + weight * before
    rate = powers(1 - step * beta * own.total, omega)
    moves, wide = (own.local_steps - 1) ** 2, int(c.floor == "wider")
    bent = (8 * top + 64 * step * top**2 * moves) / one.q
    factor = (bent if wide else top / 2) + 32 * moves * top**2 + 8 / one.q
    spread = wide * 48 * own.total * (own.total + moves) * step**2 / one.q**2
    floor = number((factor * step / beta + spread) * own.variance, like)
    return Sides(1, omega[1:], rate[1:] * omega[0] + floor)


# The descent of F ----------------------------------------------------------------

eta, L, beta, q = sympy.symbols("eta L beta q", positive=True)
N = sympy.Symbol("N", integer=True, positive=True)
A, A_next, B, OLD, E, G, S2 = sympy.symbols(
    "A A_next B B_old E G sigma2", nonnegative=True
)
n = sympy.Symbol("n", integer=True, nonnegative=True)
F, F_next, inner, least = sympy.symbols("F F_next inner F_least", real=True)
g, S = sympy.symbols("g S", real=True)
EVERY = "every eta, L, beta > 0, N >= 1, tau >= 1, q_min in (0, 1]"


@claim(
    "sgfocus.thm4.step1",
    source=Source("focus", "Appendix E.4, first display"),
    statement=r"\mathbb{E}F(\bar x_{(r+1)\tau+1})\le F(\bar x_{(r+1)\tau})-\eta\,"
    r"\mathbb{E}\langle\nabla F(\bar x_{(r+1)\tau}),\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\cdot;\xi)\rangle+\frac{\eta^2L}2\mathbb{E}\|\mathbb{1}^{\mathsf "
    r"T}\nabla\boldsymbol{f}(\cdot;\xi)\|^2\le F(\bar x_{r\tau+1})-\eta\langle\nabla "
    r"F(\bar x_{r\tau+1}),S\rangle+\frac{\eta^2L}2\|S\|^2+\frac{\eta^2LN}2\sigma^2\le "
    r"F(\bar x_{r\tau+1})-\eta\langle\nabla F(\bar x_{r\tau+1}),S\rangle+\eta^2L\|N"
    r"\nabla F(\bar x_{r\tau+1})-S\|^2+\eta^2N^2L\|\nabla F(\bar x_{r\tau+1})\|^2+"
    r"\frac{\eta^2LN}2\sigma^2",
    proposition="Each line is at most the next, in expectation, in every round of "
    "every run of Algorithm 2, which stores gradients of absent clients, with f_i of "
    "L-Lipschitz gradients under Assumption 6 and the caps of Theorem 4.",
    constants={"caps": CAPS, "noise": "1/2", "laws": "any", "samples": SAMPLES},
    twin=FULL,
)
def descent(c: SimpleNamespace) -> Finding:
    """Prove it where all take part; search runs for the second line."""
    return noisy_descent(c).corrected(
        r"\text{the display, for independent samples, if every client takes part in "
        r"every round and the tracker starts as the sum of the stored gradients}",
        noisy_descent(SimpleNamespace(**{**vars(c), **FULL})),
    )


@claim(
    "sgfocus.thm4.step2",
    source=Source("focus", "Appendix E.4, second and third display"),
    statement=r"-\eta\langle g,S\rangle=\frac\eta{2N}\|Ng-S\|^2-\frac{\eta N}2\|g\|^2-"
    r"\frac\eta{2N}\|S\|^2,\qquad\mathbb{E}F(\bar x_{(r+1)\tau+1})\le F(\bar x_{r"
    r"\tau+1})+\Big(\frac\eta{2N}+\eta^2L\Big)\|Ng-S\|^2-\Big(\frac{\eta N}2-"
    r"\eta^2N^2L\Big)\|g\|^2+\frac{\eta^2LN}2\sigma^2,\quad g=\nabla F(\bar x_{r"
    r"\tau+1})",
    proposition="The identity holds for all vectors, and with the first display, as "
    "printed, it gives the second inequality.",
    given={"the display before it": "sgfocus.thm4.step1"},
    constants={
        "distance": "1/2",
        "more": "1",
        "gradient": "1/2",
        "noise": "1/2",
        "squares": "1/2",
    },
    twin={"gradient": "1"},
    reading_twins={"identity": {"squares": "1"}},
    exact=("squares",),
    free=(
        Free("distance", "1/4", "1", weaker="larger"),
        Free("more", "1/2", "2", weaker="larger"),
        Free("gradient", "1/4", "1", weaker="smaller"),
        Free("noise", "1/4", "1", weaker="larger"),
    ),
)
def substituted(c: SimpleNamespace) -> Finding:
    """Expand in one coordinate; put the cross term into the first display."""
    half = rational(c.squares)
    cross = half * eta / N * ((N * g - S) ** 2 - N**2 * g**2 - S**2)
    known = [
        F_next
        <= F
        - eta * inner
        + eta**2 * L * E
        + eta**2 * N**2 * L * G
        + eta**2 * L * N / 2 * S2,
        -eta * inner <= eta / (2 * N) * E - eta * N / 2 * G,
    ]
    up = rational(c.distance) * eta / N + rational(c.more) * eta**2 * L
    down = rational(c.gradient) * eta * N - eta**2 * N**2 * L
    noise = rational(c.noise) * eta**2 * L * N * S2
    vectors = (N * G - inner) ** 2 <= G * E  # <g, N g - S> is at most |g| |N g - S|
    nearby = [4 * eta * L * N <= 1, *_nearby(), vectors]
    return judge.all_of(
        {
            "identity": judge.identity([("coordinate", -eta * g * S, cross)], EVERY),
            "substitution": implied_under(
                known, nearby, F_next <= F + up * E - down * G + noise, EVERY
            ),
        }
    )


def _nearby() -> list[Any]:
    """Return the caps of Theorem 4, and the one on tau that the proof prints."""
    caps = [2 * eta * n * L * N <= 1, 128 * (eta * L * n) ** 2 <= q**3, q <= 1]
    caps += [96 * (eta * L) ** 2 * N <= q**3, 16 * eta * L**2 <= q, beta <= L]
    return [*caps, 3 * eta * beta * N * (4 - q) <= q]


@claim(
    "sgfocus.thm4.step3",
    source=Source("focus", "Appendix E.4, third and fourth inequality"),
    statement=r"\eta\le\min\Big\{\frac1{4LN},\frac1{2(\tau-1)LN}\Big\}:\quad\dots\le "
    r"F(\bar x_{r\tau+1})+\frac\eta N\|Ng-S\|^2-\eta N\|g\|^2+\frac{\eta^2LN}2\sigma^2"
    r"\le F(\bar x_{r\tau+1})+\frac\eta N\|Ng-S\|^2+\eta\beta N\big(F^\star-F(\bar "
    r"x_{r\tau+1})\big)-\frac{\eta N}2\|g\|^2+\frac{\eta^2LN}2\sigma^2",
    proposition="At the step sizes printed with it, or at least at those of Theorem 4 "
    "among them, the third inequality holds, from one line to the next and as a bound "
    "of F(w - eta S); the fourth follows from the PL condition. Below, E = |N g - S|^2,"
    " G = |g|^2 and n = tau - 1.",
    constants={"cap": "1/4", "gradient": "1", "pl": "1", "left": "1/2"},
    twin={"gradient": "1/4", "pl": "1/4", "left": "1/8"},
)
def decreased(c: SimpleNamespace) -> Finding:
    """Compare the lines; the noise is the same on both sides."""
    quarter = SimpleNamespace(cap=c.cap, gradient="1/4", pl="1/4", left="1/8")
    return _decreased(c).corrected(
        r"\eta\le\frac1{4LN}:\ \dots\le F+\frac\eta N\|Ng-S\|^2-\frac{\eta N}4\|g\|^2+"
        r"\frac{\eta^2LN}2\sigma^2\le F+\frac\eta N\|Ng-S\|^2-\frac{\eta\beta N}4(F-F^"
        r"\star)-\frac{\eta N}8\|g\|^2+\frac{\eta^2LN}2\sigma^2",
        _decreased(quarter),
    )


@remembered
def _decreased(c: SimpleNamespace) -> Finding:
    line2 = (eta / (2 * N) + eta**2 * L) * E - (eta * N / 2 - eta**2 * N**2 * L) * G
    line3 = eta / N * E - rational(c.gradient) * eta * N * G
    line4 = eta / N * E - rational(c.pl) * eta * beta * N * A
    line4 -= rational(c.left) * eta * N * G
    cap = [eta * L * N <= rational(c.cap)]
    return judge.all_of(
        {
            "third": implied_under(cap, _nearby(), line2 <= line3, EVERY),
            "as a bound": judge.proof_or_search(
                decrease("1", c.gradient, conditions({"1/(L N)": c.cap})),
                judge.vectors(_values(c), "N = 1, L = 1, 100"),
            ),
            "fourth": judge.implied([2 * beta * A <= G], line3 <= line4, EVERY),
        }
    )


def _values(c: SimpleNamespace) -> Iterator[tuple[dict[str, Fraction], object]]:
    """F(w - eta S) against line 3; with half of L first, where F is PL as well.

    These steps are inside all caps of Theorem 4 for q = 1, beta <= L and tau = 1.
    """
    for bent, top in product((Fraction(1, 2), Fraction(-1)), (1, 100)):
        step, smooth = Fraction(c.cap) / top, Fraction(top)
        if bent > 0:
            step = min(step, 1 / (16 * smooth**2))
        value = gram.Function("F", smooth, bent * smooth)
        w, total = gram.vector("w"), gram.vector("S")
        slope = value.gradient(w)
        fall = step * Fraction(c.gradient) * gram.square(slope)
        right = value.value(w) + step * gram.square(slope - total) - fall
        yield {"L": smooth, "eta": step}, value.value(w - step * total) <= right

"""Lemma 5 of the FOCUS paper, Appendix E.1: the local moves of a round, (127).

The display before (127) sums tau - 1 copies of the line above but keeps tau - 1 where
(tau - 1)^2 stands. It and (127) fail for f_i that are only smooth under (127)'s own
condition and many local moves, and hold all the same under the step sizes of Lemmas 5
and 6, which cap eta L (tau - 1).

Conventions: w = xbar_{r tau+1}, z_i = x_{r tau,i}, V = L^2 |w - z_i|^2, n = tau - 1; E
is over the samples on both sides. Stored samples have the variance of Assumption 6 when
they are drawn. Samples are independent, of the cohorts too: if the second gradient may
use the sample of the first, (122) says nothing of its noise, and no multiple of sigma^2
bounds the moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_lemma3 import EVERY
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_search import remembered
from flverify.claims.tuned_noise import TunedNoise
from flverify.claims.verdict import Finding

NAMES = "every tau >= 2, dimension and L-smooth f_i"
a, b = sympy.symbols("a b", real=True)
V, S2 = sympy.symbols("V sigma2", nonnegative=True)

# The sum over k ------------------------------------------------------------------

SMOOTH = "(i) f_i smooth, all that the line above uses"
LEMMA5 = "(ii) the step sizes of Lemma 5"
LEMMA6 = "(iii) f_i smooth and the step sizes of Lemma 6"
OPEN = "(iv) as (ii) and (iii), joint law of the samples open"
# eta L (tau-1) is at most mu/(128 (tau-1) L N) <= 1/128 in Lemma 5, and 1/(8 sqrt 2) in
# Lemma 6, of which 1/12 is a little less
CAPS_ON_MOVES = {LEMMA5: "1/128", LEMMA6: "1/12"}
TUNED = TunedNoise()  # its step size is inside the caps of both lemmas


# T1 = E sum_k |y_k|^2/(tau-1), s2 = (eta L (tau-1))^2, X = (eta L)^2 (tau-1)^power
T1, s2, X = sympy.symbols("T1 s2 X", nonnegative=True)


def _summed(conclusion: Any, held: list[Any], power: int) -> Finding:
    """T1 <= (1+s) (1+t) V + (1+s) (1+1/t) s2 T1 + 4 (1+1/s) sigma^2, summed over k.

    These are the three sources of the line above with other weights of Young; those of
    the print are s = t = 1. The two noises of y_k differ by at most 4 sigma^2.
    """
    s, t = sympy.symbols("s t", positive=True)
    weights = ((1, 1), (sympy.Rational(3, 2), sympy.Rational(1, 4)))
    line = (1 - (1 + s) * (1 + 1 / t) * s2) * T1 <= (1 + s) * (1 + t) * V + 4 * (
        1 + 1 / s
    ) * S2
    lines = [line.subs({s: v, t: w}) for v, w in weights]
    known = [s2 >= X if power == 1 else sympy.Eq(X, s2)]
    return judge.all_of(
        {
            "Young": judge.implied(
                [], (a + b) ** 2 <= (1 + s) * a**2 + (1 + 1 / s) * b**2, EVERY
            ),
            "summed": judge.implied([*lines, *known, *held], conclusion, NAMES),
        },
        argument="T1 = E sum_k |y_k|^2/(tau - 1), V = L^2 |x_{r tau+1,i} - "
        "x_{r tau,i}|^2, s2 = (eta L (tau - 1))^2 and X = (eta L)^2 (tau - 1)"
        f"{'^2' if power == 2 else ''}. y_k is a difference of gradients and one of "
        "noises, of E| |^2 <= 4 sigma^2; the two lines given are this with the weights "
        "s = 1, t = 1 and s = 3/2, t = 1/4 of Young, summed over k.",
    )


@claim(
    "sgfocus.lemma5.step127b",
    source=Source("focus", "display before eq. (127)"),
    statement=r"\big(1-4\eta^2L^2(\tau-1)\big)\sum_{k=r\tau+2}^{(r+1)\tau}\mathbb{E}"
    r"\|y_{k,i}\|^2\le4(\tau-1)L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2+8(\tau-1)\sigma^2",
    proposition="The display holds for every i in S_r and tau >= 2, with samples that "
    "are independent, of the cohorts too, in (i)-(iii) and stored gradients of x_{r "
    "tau,i}: by summing the line above, which uses smoothness alone; or under the step "
    "sizes of Lemma 5 or 6.",
    constants={"power": 1, "bound": "4", "noise": "8", "lost": "4"},
    twin={"bound": "1/2", "noise": "1"},
    no_control="(127) is used for step sizes and f_i of two lemmas; the twin, an "
    "eighth of the bound, fails under every reading",
    free=Free("bound", "1", "8", weaker="larger", reading=LEMMA6),
)
def summed(c: SimpleNamespace) -> Finding:
    """Sum with Young's weights; search local moves on quadratics."""
    mended = SimpleNamespace(**{**vars(c), "power": 2})

    def tuned(moves: list[Fraction]) -> tuple[Any, Any]:
        factor = 1 - Fraction(c.lost) * TUNED.step**2 * 2**c.power
        return factor * sum(moves), 2 * Fraction(c.noise)

    found = _found_127b(c) | {OPEN: TUNED.refutes(tuned)}
    return judge.readings(found).corrected(
        r"\big(1-4\eta^2L^2(\tau-1)^2\big)\sum_k\mathbb{E}\|y_{k,i}\|^2\le4(\tau-1)L^2"
        r"\|x_{r\tau+1,i}-x_{r\tau,i}\|^2+8(\tau-1)\sigma^2,"
        r"\text{ independent samples}",
        judge.all_of(_found_127b(mended)),
    )


@remembered
def _found_127b(c: SimpleNamespace) -> dict[str, Finding]:
    right = rational(c.bound) * V + rational(c.noise) * S2

    def cases(cap: str) -> Iterator[judge.Case]:
        for one in _movers(cap):
            lost = Fraction(c.lost) * one.e2 * one.n**c.power
            bound = one.n * (
                Fraction(c.bound) * one.square + Fraction(c.noise) * one.noise
            )
            left, again = ((1 - lost) * total for total in one.sums())
            yield judge.Case(one.where(), left, bound, partial(tuple, (again, bound)))

    left = (1 - rational(c.lost) * X) * T1
    return _by_steps(left <= right, [], cases, c.power)


@claim(
    "sgfocus.lemma5.step127c",
    source=Source("focus", "eq. (127)"),
    statement=r"\eta\le\frac1{2L\sqrt{2(\tau-1)}}:\quad\mathbb{E}\sum_{k=r\tau+2}"
    r"^{(r+1)\tau}\|y_{k,i}\|^2\le8(\tau-1)L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2+16("
    r"\tau-1)\sigma^2=8(\tau-1)L^2\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2+16(\tau-1)"
    r"\sigma^2",
    proposition="(127) holds for every i in S_r and tau >= 2, with samples that are "
    "independent, of the cohorts too, in (i)-(iii) and stored gradients of x_{r tau,i}"
    ": for L-smooth f_i under its own condition; or under the step sizes of Lemma 5 or "
    "6.",
    constants={"power": 1, "bound": "8", "noise": "16", "cap": "1/8"},
    twin={"bound": "1/2", "noise": "1"},
    no_control="(127) is used for step sizes and f_i of two lemmas; the twin, a "
    "sixteenth of the bound, fails under every reading",
    free=Free("bound", "1", "8", weaker="larger", reading=LEMMA6),
)
def moves_bounded(c: SimpleNamespace) -> Finding:
    """Use the sum over k; search local moves on quadratics."""
    mended = SimpleNamespace(**{**vars(c), "power": 2})

    def tuned(moves: list[Fraction]) -> tuple[Any, Any]:
        return sum(moves), 2 * Fraction(c.noise)

    found = _found_127c(c) | {OPEN: TUNED.refutes(tuned)}
    return judge.readings(found).corrected(
        r"\eta\le\frac1{2\sqrt2L(\tau-1)}\text{ implies (127) for }L\text{-smooth }f_i"
        r"\text{ and independent samples}",
        judge.all_of(_found_127c(mended)),
    )


@remembered
def _found_127c(c: SimpleNamespace) -> dict[str, Finding]:
    right = rational(c.bound) * V + rational(c.noise) * S2

    def cases(cap: str) -> Iterator[judge.Case]:
        for one in _movers(cap):
            if not cap and one.e2 * one.n**c.power > Fraction(c.cap):
                continue
            bound = one.n * (
                Fraction(c.bound) * one.square + Fraction(c.noise) * one.noise
            )
            left, again = one.sums()
            yield judge.Case(one.where(), left, bound, partial(tuple, (again, bound)))

    return _by_steps(right >= T1, [rational(c.cap) >= X], cases, c.power)


def _by_steps(
    conclusion: Any, own: list[Any], cases: Any, power: int
) -> dict[str, Finding]:
    found = {
        SMOOTH: judge.proof_or_search(
            _summed(conclusion, own, power),
            judge.instances(cases(""), "<=", "h = -1, 1; tau = 2..31; listed steps"),
        )
    }
    for name, cap in CAPS_ON_MOVES.items():
        held = [s2 <= rational(cap) ** 2 if name == LEMMA5 else 128 * s2 <= 1]
        found[name] = judge.proof_or_search(
            _summed(conclusion, held, power),
            judge.instances(cases(cap), "<=", "h = -1, 1; tau = 2..31; long steps"),
        )
    return found


class _Mover:
    """One client f = h x^2/2, |h| = L = 1, pulled from z = 0 to w."""

    def __init__(self, h: int, moves: int, step: Fraction, w: int, noise: int) -> None:
        self.h, self.n, self.step, self.w, self.noise = h, moves, step, w, noise

    @property
    def e2(self) -> Fraction:
        return self.step**2

    @property
    def square(self) -> Fraction:
        return Fraction(self.w**2)

    def where(self) -> dict[str, Any]:
        return {
            "f_i": f"{self.h} x^2/2",
            "tau": self.n + 1,
            "step size": self.step,
            "x_{r tau,i}": 0,
            "xbar_{r tau+1}": self.w,
            "sigma^2": self.noise,
        }

    def sums(self) -> tuple[Fraction, Fraction]:
        """E sum |y_k|^2 by closed form, and by the recursion of mean and variance.

        y_k = h (x_k - z) + n_k - n_old and x_{k+1} = x_k - step y_k.
        """
        g = 1 - self.step * self.h
        closed, played = Fraction(0), Fraction(0)
        mean, old, var = Fraction(self.w), Fraction(0), Fraction(0)
        for t in range(self.n):
            fresh = (1 - g ** (2 * t)) / (1 - g**2)
            closed += g ** (2 * t) * (self.square + self.noise)
            closed += self.noise * (1 + self.step**2 * fresh)
            # x = mean + old n_old + (fresh noises of variance var)
            played += mean**2 + self.noise * ((self.h * old - 1) ** 2 + 1) + var
            mean, old = g * mean, g * old + self.step
            var = g**2 * var + self.step**2 * self.noise
        return closed, played


def _movers(cap: str) -> Iterator[_Mover]:
    """List moves with the largest step of a cap on eta L (tau-1), or listed steps."""
    listed = [Fraction(1, k) for k in (16, 8, 4, 40)]
    models = ((1, 0), (1, 1), (0, 1))
    for moves, h, (w, noise) in product((30, 1, 2, 9), (-1, 1), models):
        for step in [Fraction(cap) / moves] if cap else listed:
            yield _Mover(h, moves, step, w, noise)

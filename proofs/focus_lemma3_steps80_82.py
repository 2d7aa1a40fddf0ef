"""Lemma 3 of the FOCUS paper, Appendix D.3: the steps (80) to (82).

The square of the server's distance to x* after its move is expanded and each part is
bounded. All constants are as printed; where F is smooth, |grad F|^2 <= 2 L (F - F*)
needs no convexity.

Conventions: w = w_r = xbar_{r tau+1}, u = w - x*, S = 1^T grad f(x_{(r+1) tau}),
D = S - N grad F(w); E is over the cohort of round r, given w and the rows x_{r tau}.
Vector inequalities without functions are shown for one coordinate and add up; what
holds for every cohort holds on average.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.certify import gram
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_any_moves import ANY_ROWS
from flverify.claims.focus_any_rows import follows_71
from flverify.claims.focus_lemma3 import (
    EVERY,
    FORMAL_ROUNDS,
    L,
    N,
    eta,
    gradient_and_gap,
    mu,
    split_in_two,
    traced,
)
from flverify.claims.focus_runs import ETA
from flverify.claims.focus_server_move import young
from flverify.claims.rationals import rational
from flverify.claims.scalar_runs import tidied
from flverify.claims.verdict import Finding

U, GAP, D2 = sympy.symbols("U gap D2", nonnegative=True)  # |u|^2, F(w) - F*, E|D|^2
u, g, s = sympy.symbols("u g s", real=True)  # a coordinate of u, N grad F, S


# (80) ----------------------------------------------------------------------------


@claim(
    "focus.lemma3.step80a",
    source=Source("focus", "eq. (80), lines 1-3"),
    statement=r"\mathbb{E}\|\bar x_{(r+1)\tau+1}-x^\star\|^2=\mathbb{E}\|\bar x_{r"
    r"\tau+1}-x^\star-\eta\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{(r"
    r"+1)\tau})\|^2=\|\bar x_{r\tau+1}-x^\star\|^2-2\eta\,\mathbb{E}\langle\bar x_{r"
    r"\tau+1}-x^\star,S\rangle+\eta^2\,\mathbb{E}\|S\|^2",
    proposition="In the recursion (67)-(69) the server moves by -eta S, and the square "
    "expands as printed for every law of S given w.",
    given={"(71)": "focus.obs71"},
    constants={"cross": "2", "collected": 1},
    twin={"cross": "1"},
    reading_twins={"the server's move": {"collected": 2}},
    exact=("cross", "collected"),
)
def expansion(c: SimpleNamespace) -> Finding:
    """Trace formal rounds; expand, with E S and E|S|^2 for S and |S|^2."""
    pairs = [
        (
            str(one.run),
            one.server(one.last + 1),
            tidied(one.server(1) - c.collected * ETA * sum(one.gradients(one.last))),
        )
        for one in traced()
    ]
    mean = sympy.Symbol("mean", real=True)
    second = mean**2 + sympy.Symbol("variance", nonnegative=True)
    square = sympy.Poly((u - eta * s) ** 2, s)
    moments = {(0,): 1, (1,): mean, (2,): second}
    left = sum(value * moments[power] for power, value in square.terms())
    right = u**2 - rational(c.cross) * eta * u * mean + eta**2 * second
    return judge.all_of(
        {
            "the server's move": judge.all_of(
                {
                    "traced": judge.identity(pairs, FORMAL_ROUNDS),
                    "any round": follows_71(c.collected),
                },
                scope=ANY_ROWS,
                argument="what is traced for small sizes is a second computation",
            ),
            "the square": judge.identity([("coordinate", left, right)], EVERY),
        },
        argument="An expectation is linear, so that it takes a polynomial in S, of "
        "degree 2 and given w, to the same one in E S and E|S|^2.",
    )


@claim(
    "focus.lemma3.step80b",
    source=Source("focus", "eq. (80), line 4"),
    statement=r"\eta^2\,\mathbb{E}\|S\|^2\le2\eta^2\,\mathbb{E}\|S-\mathbb{1}^{"
    r"\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}\bar x_{r\tau+1})\|^2+2\eta^2N^2\|"
    r"\nabla F(\bar x_{r\tau+1})\|^2",
    proposition="|S|^2 <= 2 |S - N grad F(w)|^2 + 2 |N grad F(w)|^2 for all vectors.",
    constants={"difference": "2", "mean": "2"},
    twin={"difference": "1"},
    free=(
        Free("difference", "1", "4", weaker="larger"),
        Free("mean", "1", "4", weaker="larger"),
    ),
)
def second_moment(c: SimpleNamespace) -> Finding:
    """Prove it coordinate by coordinate."""
    return split_in_two(c.difference, c.mean)


@claim(
    "focus.lemma3.step80c",
    source=Source("focus", "eq. (80), line 5"),
    statement=r"2\eta^2N^2\|\nabla F(\bar x_{r\tau+1})\|^2\le4\eta^2N^2L\big(F("
    r"\bar x_{r\tau+1})-F(x^\star)\big),\qquad\tfrac1{2L}\|\nabla F(x)\|^2\le F(x)-F(x^"
    r"\star)",
    proposition="|grad F(x)|^2 <= 2 L (F(x) - F(x*)) for L-smooth F with a minimiser "
    "x*, so that 4 eta^2 N^2 L may replace 2 eta^2 N^2.",
    constants={"factor": "4"},
    twin={"factor": "3"},
    free=Free("factor", "1", "8", weaker="larger"),
)
def gradient_by_gap(c: SimpleNamespace) -> Finding:
    """Halve the factor: what stands before L (F - F*) for one |grad F|^2."""
    return gradient_and_gap(str(Fraction(c.factor) / 2))


# (81), (82) ----------------------------------------------------------------------


@claim(
    "focus.lemma3.step81a",
    source=Source("focus", "eq. (81), line 1"),
    statement=r"-2\eta\,\mathbb{E}\langle\bar x_{r\tau+1}-x^\star,S\rangle=-2\eta"
    r"\langle\bar x_{r\tau+1}-x^\star,N\nabla F(\bar x_{r\tau+1})\rangle-2\eta\,"
    r"\mathbb{E}\langle\bar x_{r\tau+1}-x^\star,S-\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\mathbb{1}\bar x_{r\tau+1})\rangle",
    proposition="The inner product with w - x* keeps its value if N grad F(w) is added "
    "and subtracted in it.",
    constants={"mean": "2", "difference": "2"},
    twin={"mean": "1"},
    exact=("mean", "difference"),
)
def cross_term(c: SimpleNamespace) -> Finding:
    """Compare the coordinates; with u given, E is linear."""
    mean, difference = rational(c.mean), rational(c.difference)
    right = -mean * eta * u * g - difference * eta * u * (s - g)
    return judge.identity([("coordinate", -2 * eta * u * s, right)], EVERY)


@claim(
    "focus.lemma3.step81b",
    source=Source("focus", "eq. (81), line 2"),
    statement=r"\le-2\eta N\Big(F(\bar x_{r\tau+1})-F(x^\star)+\frac\mu2\|\bar x_{r"
    r"\tau+1}-x^\star\|^2\Big)+\eta\epsilon\|\bar x_{r\tau+1}-x^\star\|^2+\frac\eta"
    r"\epsilon\,\mathbb{E}\|S-\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}"
    r"\bar x_{r\tau+1})\|^2",
    proposition="For mu-strongly convex F and every eps > 0, line 1 of (81) is at most "
    "its line 2.",
    constants={"convexity": "1/2", "distance": "1", "difference": "1"},
    twin={"difference": "1/2"},
    free=(
        Free("convexity", "1/4", "1", weaker="smaller"),
        Free("distance", "1/2", "2", weaker="larger"),
        Free("difference", "1/2", "2", weaker="larger"),
    ),
)
def convexity_and_young(c: SimpleNamespace) -> Finding:
    """Prove both inequalities apart, and their sum at listed numbers."""
    inner, gap = sympy.symbols("inner gap", real=True)
    half = rational(c.convexity)
    held = [inner >= gap + mu / 2 * U]
    bound = -2 * eta * N * inner <= -2 * eta * N * (gap + half * mu * U)
    proof = judge.all_of(
        {
            "A3": judge.implied(held, bound, EVERY),
            "Young": young(c.distance, c.difference),
        }
    )
    listed = [
        ({"mu": m, "eps": e, "N": size}, _cross_lemma(c, m, e, size))
        for m, e, size in ((1, 1, 1), (2, Fraction(1, 3), 1), (1, Fraction(1, 2), 2))
    ]
    return judge.proof_or_search(proof, judge.vectors(listed, "three choices"))


def _cross_lemma(c: SimpleNamespace, m: Any, eps: Any, size: int) -> Any:
    """Write lines 1 and 2 of (81), divided by eta, with D any vector."""
    f = gram.Function("F", None, m)
    w, star, noise = gram.vector("w"), gram.vector("x*"), gram.vector("D")
    gap = f.value(w) - f.value(star)
    left = -2 * size * gram.inner(w - star, f.gradient(w))
    left -= 2 * gram.inner(w - star, noise)
    apart = gram.square(w - star)
    right = -2 * size * (gap + Fraction(c.convexity) * m * apart)
    right += Fraction(c.distance) * eps * apart
    right += Fraction(c.difference) / eps * gram.square(noise)
    return gram.Lemma(left <= right, where=(f.gradient(star),))


@claim(
    "focus.lemma3.step81c",
    source=Source("focus", "eq. (81), line 3"),
    statement=r"\epsilon=\mu/2:\quad\le-2\eta N\big(F(\bar x_{r\tau+1})-F(x^\star)"
    r"\big)-\frac{\eta\mu N}2\|\bar x_{r\tau+1}-x^\star\|^2+\frac{2\eta}\mu\,\mathbb{E}"
    r"\|S-\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}\bar x_{r\tau+1})\|^2",
    proposition="With eps = mu/2, line 2 of (81) is at most its line 3 if N >= 1.",
    constants={"eps": "1/2", "contraction": "1/2", "difference": "2"},
    twin={"contraction": "1"},
    free=(
        Free("contraction", "1/4", "2", weaker="smaller"),
        Free("difference", "1", "4", weaker="larger"),
    ),
    exact=("eps",),
)
def epsilon(c: SimpleNamespace) -> Finding:
    """Compare the coefficients of |u|^2 and of E|D|^2."""
    eps = rational(c.eps) * mu
    line2 = (-eta * mu * N + eta * eps) * U + eta / eps * D2
    line3 = -rational(c.contraction) * eta * mu * N * U
    line3 += rational(c.difference) * eta / mu * D2
    return judge.implied([N >= 1], line2 <= line3, EVERY)


@claim(
    "focus.lemma3.step82",
    source=Source("focus", "eq. (82)"),
    statement=r"\mathbb{E}\|\bar x_{(r+1)\tau+1}-x^\star\|^2\le\Big(1-\frac{\eta\mu N}2"
    r"\Big)\|\bar x_{r\tau+1}-x^\star\|^2-2\eta N(1-2\eta NL)\big(F(\bar x_{r"
    r"\tau+1})-F(x^\star)\big)+2\eta\Big(\frac1\mu+\eta\Big)\mathbb{E}\|S-\mathbb{1}^{"
    r"\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}\bar x_{r\tau+1})\|^2",
    proposition="Lines 5 of (80) and 3 of (81) add up to (82), coefficient by "
    "coefficient.",
    given={
        "line 5 of (80)": "focus.lemma3.step80c",
        "line 3 of (81)": "focus.lemma3.step81c",
    },
    constants={"contraction": "1/2", "gap": "2", "excess": "2", "noise": "2"},
    twin={"excess": "1"},
    exact=("contraction", "gap", "excess", "noise"),
)
def collected(c: SimpleNamespace) -> Finding:
    """Add the two right-hand sides."""
    after_80 = U + 2 * eta**2 * D2 + 4 * eta**2 * N**2 * L * GAP
    after_81 = -2 * eta * N * GAP - eta * mu * N / 2 * U + 2 * eta / mu * D2
    right = (1 - rational(c.contraction) * eta * mu * N) * U
    right -= rational(c.gap) * eta * N * (1 - rational(c.excess) * eta * N * L) * GAP
    right += rational(c.noise) * eta * (1 / mu + eta) * D2
    return judge.identity([("(80) + (81)", after_80 + after_81, right)], EVERY)

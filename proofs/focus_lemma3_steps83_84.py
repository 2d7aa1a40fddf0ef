"""Lemma 3 of the FOCUS paper, Appendix D.3: the steps (83) and (84).

They unroll a round's local moves and bound the gradients between the server's model
and the rows that it collects from. All lines and constants are as printed, but for an F
that lines 3 and 4 of (83) drop: by Appendix B the norm of the stack 1 w - x_{r tau+1}
is then the induced one, by which it may be too small.

Conventions: w = xbar_{r tau+1}; D_k in (83) is the mask of round r, and lines 2 to 4 of
(83), printed without E, are read as relations for every cohort and so of expectations.
At tau = 1 the sums are empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_any_moves import ANY_ROWS
from flverify.claims.focus_any_moves import unrolled as rolled
from flverify.claims.focus_any_rows import telescopes
from flverify.claims.focus_lemma3 import (
    FORMAL_ROUNDS,
    A,
    B,
    L,
    Q,
    State,
    T,
    Traced,
    closed_moves,
    gradients_of_rows,
    movers,
    n,
    split_in_two,
    sum_of_vectors,
    traced,
)
from flverify.claims.focus_runs import ETA
from flverify.claims.rationals import rational
from flverify.claims.scalar_runs import tidied
from flverify.claims.stack_norms import INDUCED, ONE_NORM, SEARCHED, split
from flverify.claims.verdict import Finding

SECOND = "what is traced for small sizes is a second computation"

NAMES = "every tau, dimension and L-smooth f_i"


# (83) ----------------------------------------------------------------------------


@claim(
    "focus.lemma3.step83a",
    source=Source("focus", "eq. (83), line 1"),
    statement=r"\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}"
    r"\bar x_{r\tau+1})-\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{(r+1"
    r")\tau})\|^2\le L^2N\,\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{(r+1)"
    r"\tau}\|_F^2",
    proposition="For L-Lipschitz gradients, which Assumption 2 gives to the convex f_i "
    "of Lemma 3, |sum of grad f_i(w) - grad f_i(x_i)|^2 is at most "
    "L^2 N sum |w - x_i|^2 at all points.",
    constants={"factor": "1"},
    twin={"factor": "9/10"},
    free=Free("factor", "1/2", "2", weaker="larger"),
)
def rows(c: SimpleNamespace) -> Finding:
    """Prove it by induction on N and by A2; certify small N for all functions."""
    return gradients_of_rows(c.factor)


@claim(
    "focus.lemma3.step83b",
    source=Source("focus", "eq. (83), line 2"),
    statement=r"=L^2N\Big\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau+1}+\eta"
    r"\sum_{k=r\tau+2}^{(r+1)\tau}D_k\boldsymbol{y}_k\Big\|_F^2",
    proposition="x_{(r+1) tau} = x_{r tau+1} - eta times the sum of D y_k over "
    "k = r tau+2, ..., (r+1) tau in the recursion (67)-(69), for every cohort.",
    constants={"sign": 1, "first": 2},
    twin={"sign": -1},
    structural={"first": "an index; for a client the term before it is 0"},
    exact=("sign",),
)
def unrolled(c: SimpleNamespace) -> Finding:
    """Trace formal rounds; then one iteration of any round."""
    pairs = [
        (f"{one.run}: client {i}", one.x[one.last][i], _ended(c, one, i))
        for one in traced()
        for i in range(1, one.run.n_clients + 1)
    ]
    return judge.all_of(
        {"traced": judge.identity(pairs, FORMAL_ROUNDS), "any round": rolled(c.sign)},
        scope=ANY_ROWS,
        argument=SECOND,
    )


def _ended(c: SimpleNamespace, one: Traced, i: int) -> Any:
    """Return x_{r tau+1,i} less eta times the sum, for client i, or the last row."""
    on = int(i - 1 in one.run.cohorts[0])
    moves = [one.y[k][i] for k in range(c.first, one.last + 1)]
    return tidied(one.x[1][i] - c.sign * ETA * on * sum(moves))


@claim(
    "focus.lemma3.step83c-d",
    source=Source("focus", "eq. (83), lines 3-4"),
    statement=r"\le2L^2N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau+1}\|^2+2L^2N"
    r"\Big\|\eta\sum_kD_k\boldsymbol{y}_k\Big\|_F^2\le2L^2N\|\mathbb{1}\bar x_{r"
    r"\tau+1}-\boldsymbol{x}_{r\tau+1}\|^2+2(\tau-1)\eta^2L^2N\sum_{k=r\tau+2}^{(r+1)"
    r"\tau}\|D_k\boldsymbol{y}_k\|_F^2",
    proposition="|a + b|^2 <= 2 |a|^2 + 2 |b|^2, and a sum of tau - 1 vectors has at "
    "most tau - 1 times the sum of their squares; so too with the norm of "
    "1 w - x_{r tau+1}, which is printed without the F of the line before.",
    constants={"far": "2", "moved": "2", "count": "1"},
    twin={"count": "9/10"},
    no_control="Appendix B has two norms, and the lines drop an F; the twin, nine "
    "tenths of the last term, fails under both readings",
    reading_twins={f"{ONE_NORM} / line 3": {"far": "1"}},
    free=(
        Free("far", "1", "4", weaker="larger", reading=ONE_NORM),
        Free("moved", "1", "4", weaker="larger", reading=ONE_NORM),
        Free("count", "1/2", "2", weaker="larger", reading=ONE_NORM),
    ),
)
def split_and_summed(c: SimpleNamespace) -> Finding:
    """Prove both by coordinates; the second by induction."""
    last = sum_of_vectors(c.count)
    one = judge.all_of({"line 3": split_in_two(c.far, c.moved), "line 4": last})
    cases = judge.instances(split(c), "<=", SEARCHED)
    two = judge.all_of({"line 3": cases, "line 4": last})
    return judge.readings({ONE_NORM: one, INDUCED: two}).corrected(
        r"\le2L^2N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau+1}\|_F^2+\cdots",
        one,
    )


# (84) ----------------------------------------------------------------------------


@claim(
    "focus.lemma3.step84a-e",
    source=Source("focus", "eq. (84)"),
    statement=r"\|y_{k,i}\|^2=\|\nabla f_i(x_{k-1,i})-\nabla f_i(x_{r\tau,i})\|^2\le2\|"
    r"\nabla f_i(x_{k-1,i})-\nabla f_i(x_{r\tau+1,i})\|^2+2\|\nabla f_i(x_{r\tau+1,i})-"
    r"\nabla f_i(x_{r\tau,i})\|^2\le2L^2\|x_{k-1,i}-x_{r\tau+1,i}\|^2+2L^2\|x_{r"
    r"\tau+1,i}-x_{r\tau,i}\|^2\le2\eta^2L^2(k-r\tau-2)\sum_{k'=r\tau+2}^k\|y_{k',i}"
    r"\|^2+2L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2\le2\eta^2L^2(\tau-1)\sum_{k'=r"
    r"\tau+2}^{(r+1)\tau}\|y_{k',i}\|^2+2L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2",
    proposition="For i in S_r, k = r tau+2, ..., (r+1) tau and L-Lipschitz gradients, "
    "which Assumption 2 gives to the convex f_i of Lemma 3, each line of (84) is at "
    "most the next, the first two being equal.",
    constants={"far": "2", "near": "2", "count": "1", "most": "1", "reference": 0},
    twin={"far": "1"},
    free=(
        Free("far", "1", "4", weaker="larger"),
        Free("near", "1", "4", weaker="larger"),
        Free("count", "1/2", "2", weaker="larger"),
        Free("most", "1/2", "2", weaker="larger"),
    ),
    exact=("reference",),
)
def chain(c: SimpleNamespace) -> Finding:
    """Prove the five lines apart; evaluate them along local moves on quadratics."""
    m, fewer, more = sympy.symbols("M fewer more", nonnegative=True)
    far, near = rational(c.far), rational(c.near)
    lipschitz = far * Q + near * T <= L**2 * (far * A**2 + near * B**2)
    terms = [sympy.Le(A**2, m * fewer), fewer <= more]
    last = m * fewer <= n * rational(c.most) * more
    proof = judge.all_of(
        {
            "line 1": judge.all_of(
                {
                    "traced": judge.identity(_telescoped(c), FORMAL_ROUNDS),
                    "any round": telescopes(c.reference),
                },
                scope=ANY_ROWS,
                argument=SECOND,
            ),
            "line 2": split_in_two(c.far, c.near),
            "line 3": judge.implied(
                [sympy.Le(Q, L**2 * A**2), sympy.Le(T, L**2 * B**2)], lipschitz, NAMES
            ),
            "line 4": judge.all_of(
                {
                    "x_{k-1}": judge.all_of(
                        {
                            "traced": judge.identity(_partial_sums(), FORMAL_ROUNDS),
                            "any round": rolled(1),
                        },
                        scope=ANY_ROWS,
                        argument=SECOND,
                    ),
                    "sum": sum_of_vectors(c.count),
                    "one more": judge.implied(terms, sympy.Le(A**2, m * more), NAMES),
                }
            ),
            "line 5": judge.implied([m <= n - 1, fewer <= more, n >= 1], last, NAMES),
        }
    )
    lines = judge.instances(_lines(c), "<=", "h = -1..1, tau = 2..10, five steps")
    return judge.proof_or_search(proof, lines)


def _telescoped(c: SimpleNamespace) -> Iterator[judge.Pair]:
    """y_{r tau+k} against the difference of gradients, k = 2, ..., tau."""
    for one in traced():
        for k in range(2, one.last + 1):
            gaps = one.gradients(k - 1) - one.gradients(c.reference)
            for i in one.run.cohorts[0]:
                yield f"{one.run}: k = {k}, {i}", one.y[k][i + 1], tidied(gaps[i])


def _partial_sums() -> Iterator[judge.Pair]:
    """x_{k-1} - x_{r tau+1} against the sum over r tau+2, ..., k-1."""
    for one in traced():
        for k in range(2, one.last + 1):
            for i in one.run.cohorts[0]:
                moved = one.x[k - 1][i + 1] - one.x[1][i + 1]
                summed = sum(one.y[j][i + 1] for j in range(2, k))
                yield f"{one.run}: k = {k}, {i}", tidied(moved), tidied(-ETA * summed)


def _lines(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Compare each line with the next along the moves of one client."""
    for one, _ in movers((2, 3, 5, 10), ("1/2", "1/6", "1/20", "1", "3/2")):
        sides, again = (_line_values(c, one, known) for known in (False, True))
        for name, pair in sides.items():
            recheck = cohorts.sides(*again[name])
            yield judge.Case({**one.where(), "line": name}, *pair, recheck)


def _line_values(
    c: SimpleNamespace, one: State, known: bool
) -> dict[str, tuple[Any, Any]]:
    """Both sides of every inequality of (84) at every k, from w = 1 and z = 0."""
    h, step, far, near = one.curvatures[0], one.step, c.far, c.near
    y = closed_moves(one) if known else one.moves(0)
    near_part = Fraction(near) * h**2
    out = {}
    for k in range(len(y)):  # k - r tau - 2
        gone = 1 - (1 - step * h) ** k if known else step * sum(y[:k])
        line3 = Fraction(far) * gone**2 + Fraction(near)  # L = 1
        line2 = Fraction(far) * (h * gone) ** 2 + near_part
        squares, factor = [v**2 for v in y], Fraction(far) * step**2
        counted, most = Fraction(c.count) * k, Fraction(c.most) * len(y)
        line4 = factor * counted * sum(squares[: k + 1]) + Fraction(near)
        line5 = factor * most * sum(squares) + Fraction(near)
        values = (y[k] ** 2, line2, line3, line4, line5)
        for line in range(1, 5):
            out[f"{line}, k = {k}"] = values[line - 1], values[line]
    return out

"""Push-pull, Section 4.2.1 of the FOCUS paper: (11)-(12) and the tracking property.

R and C are matrices of symbols with the described row and column sums, gradients are
symbols; so a finding covers every R, C and f_i. Few nodes are listed; for any number a
row and a column are judged, whose sums are known.

Conventions: scalar models, since every coordinate obeys the same recursion; the fixed
point is consensus x = 1 x* with y = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.any_number import sums_kept, tracked
from flverify.claims.claim import claim
from flverify.claims.focus_runs import subsets
from flverify.claims.verdict import Finding
from flverify.mixing import push_matrix

ETA = sympy.Symbol("eta_k")


@claim(
    "focus.eq11_12.pushpull",
    source=Source("focus", "eq. (11)-(12)"),
    statement=r"\boldsymbol{x}_{k+1}=R(\boldsymbol{x}_k-\eta_k\boldsymbol{y}_k),\quad"
    r"\boldsymbol{y}_{k+1}=C(\boldsymbol{y}_k+\nabla\boldsymbol{f}(\boldsymbol{x}_{k+1}"
    r")-\nabla\boldsymbol{f}(\boldsymbol{x}_k)),\quad\boldsymbol{y}_0=\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_0),\quad R\mathbb{1}=\mathbb{1},\;"
    r"\mathbb{1}^{\mathsf{T}}C=\mathbb{1}^{\mathsf{T}}",
    proposition="Consensus with y = 0 is a fixed point of (11)-(12) for all R and C as "
    "described, a step adds to the sum of y_k what the gradients add to theirs, and a "
    "single node does gradient descent.",
    constants={"row_sum": 1, "column_sum": 1},
    twin={"row_sum": 2},
    exact=("row_sum", "column_sum"),
)
def pushpull(c: SimpleNamespace) -> Finding:
    """Symbolic R and C with the given sums, 1 to 4 nodes; then term by term."""
    pairs: list[judge.Pair] = []
    for n in (1, 2, 3, 4):
        pairs += _step_pairs(n, c)
    return judge.all_of(
        {
            "listed": judge.identity(pairs, "1 to 4 nodes"),
            "a row and a column": sums_kept(c.row_sum, c.column_sum),
        },
        scope="every number of nodes, every R, C, eta_k and f_i",
        argument="(11) is one row of R after another; the sum of all rows of (12) is "
        "that of its columns, each of what one node adds",
    )


def _step_pairs(n: int, c: SimpleNamespace) -> list[judge.Pair]:
    R, C = _stochastic(n, c.row_sum, "r"), _stochastic(n, c.column_sum, "c").T
    y, at, ahead = (sympy.Matrix(_names(letter, n)) for letter in "yuv")
    common = sympy.Matrix([sympy.Symbol("x")] * n)
    nothing, ones = sympy.zeros(n, 1), sympy.ones(1, n)
    pairs = [
        (f"{n} nodes: x stays", _next_x(R, common, nothing), common),
        (f"{n} nodes: y stays", _next_y(C, nothing, at, at), nothing),
        (
            f"{n} nodes: sum of y",
            ones * (_next_y(C, y, at, ahead) - y),
            ones * (ahead - at),
        ),
    ]
    if n == 1:
        pairs += [
            ("one node: y is the gradient", _next_y(C, at, at, ahead), ahead),
            ("one node: x descends", _next_x(R, common, at), common - ETA * at),
        ]
    return [(label, _expanded(a), _expanded(b)) for label, a, b in pairs]


def _next_x(R: Any, x: Any, y: Any) -> Any:
    return R * (x - ETA * y)


def _next_y(C: Any, y: Any, at: Any, ahead: Any) -> Any:
    """(12) with the gradients at x_k and at x_{k+1}."""
    return C * (y + ahead - at)


def _stochastic(n: int, row_sum: int, letter: str) -> Any:
    """Free entries but for the last column, which completes every row's sum."""
    rows = []
    for i in range(n):
        free = _names(f"{letter}{i}_", n - 1)
        rows.append([*free, row_sum - sum(free)])
    return sympy.Matrix(rows)


def _names(letter: str, n: int) -> list[Any]:
    return [sympy.Symbol(f"{letter}{i}") for i in range(n)]


def _expanded(matrix: Any) -> Any:
    return matrix.applyfunc(sympy.expand)


@claim(
    "focus.tracking_property",
    source=Source("focus", "Section 4.2.1, tracking property"),
    statement=r"\mathbb{1}^{\mathsf{T}}\boldsymbol{y}_k=\mathbb{1}^{\mathsf{T}}\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_k),\;\forall k",
    proposition="1'y_k = 1'grad f(x_k) for every k of (11)-(12), and of (14) with its "
    "changing C_k, because it holds at k = 0 and every step keeps it.",
    constants={"column_sum": 1, "y_0": 1},
    twin={"column_sum": 2},
    exact=("column_sum", "y_0"),
)
def tracking(c: SimpleNamespace) -> Finding:
    """Induction: y_0 = grad f(x_0), then one step with any C from any tracked y."""
    pairs: list[judge.Pair] = []
    for n in range(1, 6):
        at, ahead = (sympy.Matrix(_names(letter, n)) for letter in "uv")
        free = _names("y", n - 1)
        y = sympy.Matrix([*free, sum(at) - sum(free)])
        pairs.append((f"{n} nodes: k = 0", sum(c.y_0 * at), sum(at)))
        for label, C in _column_stochastic(n, c.column_sum):
            after = sympy.expand(sum(_next_y(C, y, at, ahead)))
            pairs.append((f"{n} nodes, {label}: step", after, sum(ahead)))
    return judge.all_of(
        {
            "listed": judge.identity(pairs, "1 to 5 nodes"),
            "a column": tracked(c.column_sum, c.y_0),
        },
        scope="every number of nodes, every C and every C(S), every f_i",
        argument="the sum of all rows is that of the columns, each of what one node "
        "adds; so the sum of y is that of the gradients at k = 0, and from k to k + 1",
    )


def _column_stochastic(n: int, column_sum: int) -> Iterator[tuple[str, Any]]:
    yield "any C", _stochastic(n, column_sum, "c").T
    if n == 1:
        return
    for cohort in subsets(n - 1):
        matrix = sympy.Matrix(push_matrix(cohort, n - 1).tolist())
        yield f"C(S), S = {sorted(i + 1 for i in cohort)}", column_sum * matrix

"""Fixed points of push-pull, (11)-(12) of the FOCUS paper, on any number of nodes.

No entry of R and C is negative, rows of R and columns of C sum to 1, both graphs are
strongly connected and eta > 0 is constant. Every coordinate obeys the recursion by
itself. At a fixed point y = C y and x = R (x - eta y); node i hears node j if the entry
[i, j] is positive.

The tracker has one sign: let a_i and b_i be the sums of c_ij |y_j| over the positive
and over the negative y_j, so that y_i = a_i - b_i. Columns sum to 1, so all a_i + b_i
add up to what all |y_i| do, none of which is larger: a_i or b_i is 0. If y_j > 0 and i
hears j, then a_i > 0, hence y_i > 0. As j is heard everywhere in the end, all y are
positive if one is; likewise negative.

It is 0: if every y_j >= m > 0, let x_i = M be the largest. Row i averages numbers of at
most M - eta m, so M <= M - eta m. All signs turned, y < 0 is as impossible. So x = R x;
whoever is heard by a node of the largest x_i has that x too, and everybody is in the
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import mean_below
from flverify.claims.verdict import Finding
from flverify.claims.written import above, at_least, at_most

SCOPE = (
    "any number of nodes, every R and C with no negative entry and strongly connected "
    "graphs, every constant eta > 0 and f_i"
)
LISTED = "1 to 4 nodes, rings with and without loops, stars, all linked; eta = 1/3, 2"
Matrix = list[list[Fraction]]


def consensual(*, linked: bool) -> Finding:
    """Judge that fixed points are x = 1x*, y = 0.

    Parameters
    ----------
    linked : bool
        Whether the graphs are strongly connected; if not, the last node hears nobody
        in R, and nobody hears it, nor anybody else but the first node, in C.

    Examples
    --------
    >>> print(consensual(linked=True).verdict, consensual(linked=False).verdict)
    PROVED REFUTED
    """
    search = judge.instances(_dimensions(linked=linked), "==", LISTED)
    return judge.proof_or_search(_proof(linked=linked), search)


def _proof(*, linked: bool) -> Finding:
    """Judge the lines of the argument; an unlinked node may be heard with weight 0."""
    heard = {"positive": True} if linked else {"nonnegative": True}
    weight = sympy.Symbol("weight", **heard)
    a, b, slack, rest = sympy.symbols("a b slack rest", nonnegative=True)
    eta, m, own = sympy.symbols("eta m y_j", positive=True)
    x, y, M = sympy.symbols("x_j y M", real=True)
    listed = {
        "|y_i| <= a_i + b_i": ([], at_most((a - b) ** 2, (a + b) ** 2)),
        "no slack is left": ([slack + rest <= 0], slack <= 0),
        "a_i or b_i is 0": ([at_least((a - b) ** 2, (a + b) ** 2)], a * b <= 0),
        "one sign": ([a >= weight * own, a * b <= 0], above(a - b, 0)),
        "what row i averages": ([x <= M, y >= m], x - eta * y <= M - eta * m),
        "M is less than M": ([], above(M, M - eta * m)),
        "whoever is heard has M": ([weight * x + (1 - weight) * M >= M], x >= M),
    }
    return judge.all_of(
        {
            "sums of columns": judge.identity(_columns(), SCOPE),
            "averages of rows": mean_below(1, SCOPE),
            **{name: judge.implied(*line, SCOPE) for name, line in listed.items()},
        },
        scope=SCOPE,
        argument=__doc__,
    )


def _columns() -> Iterator[judge.Pair]:
    """Sum c_ij |y_j| over i, one more node at a time: |y_j| in all."""
    total, entry, size = sympy.symbols("total entry size", nonnegative=True)
    yield "one more node", total * size + entry * size, (total + entry) * size
    yield "all nodes", total.subs(total, 1) * size, size


def _dimensions(*, linked: bool) -> Iterator[judge.Case]:
    """Dimension of the fixed points; consensus with y = 0 alone has 1."""
    for (name, R, C), eta in product(_graphs(linked), (Fraction(1, 3), Fraction(2))):
        where = {"graph": name, "nodes": len(R), "R": R, "C": C, "eta": eta}
        system = _system(R, C, eta)
        found = 2 * len(R) - int(sympy.Matrix(system).rank())
        again = partial(_eliminated, R, C, eta)
        yield judge.Case({**where, "value": "dimension"}, found, 1, again)


def _system(R: Matrix, C: Matrix, eta: Fraction) -> Matrix:
    """Rows of (I - R) x + eta R y = 0 and (I - C) y = 0."""
    n = len(R)
    unit = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    models = [
        [one - r for one, r in zip(row, line, strict=True)] + [eta * r for r in line]
        for row, line in zip(unit, R, strict=True)
    ]
    trackers = [
        [Fraction(0)] * n + [one - c for one, c in zip(row, line, strict=True)]
        for row, line in zip(unit, C, strict=True)
    ]
    return models + trackers


def _eliminated(R: Matrix, C: Matrix, eta: Fraction) -> tuple[int, int]:
    """Run one step of (11)-(12) from every unit vector, and eliminate."""
    n, rows = len(R), []
    for k in range(2 * n):
        x, y = ([Fraction(int(k == j + shift)) for j in range(n)] for shift in (0, n))
        moved = [v - eta * w for v, w in zip(x, y, strict=True)]
        ends = [_dot(row, moved) for row in R] + [_dot(row, y) for row in C]
        rows.append([end - v for end, v in zip(ends, [*x, *y], strict=True)])
    return 2 * n - _rank(rows), 1


def _dot(row: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(row, values, strict=True)), Fraction(0))


def _rank(rows: Matrix) -> int:
    """Gaussian elimination."""
    left, rank = [list(row) for row in rows], 0
    for column in range(len(rows)):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left = [row for row in left if row is not pivot]
        rank += 1
        for row in left:
            factor = row[column] / pivot[column]
            row[:] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
    return rank


def _graphs(linked: bool) -> Iterator[tuple[str, Matrix, Matrix]]:
    """R, and C with the links of R turned; or the two without links back."""
    for n in (1, 2, 3, 4) if linked else (2, 3, 4):
        for name, hears in LINKS.items():
            R = _weighted(n, hears)
            C = [list(column) for column in zip(*_weighted(n, hears, 2), strict=True)]
            if not linked:
                R[-1] = [Fraction(int(j == n - 1)) for j in range(n)]
                C = [[Fraction(int(i == 0))] * n for i in range(n)]
            yield name, R, C


def _weighted(n: int, hears: Any, more: int = 0) -> Matrix:
    """Rows of sum 1, weights of 1, 2, 3, ... over whom a node hears."""
    out = []
    for i in range(n):
        raw = [Fraction(int(hears(i, j, n)) * (j + 1 + more)) for j in range(n)]
        out.append([v / sum(raw) for v in raw])
    return out


LINKS = {
    "ring": lambda i, j, n: j == (i + 1) % n,
    "ring with loops": lambda i, j, n: j in (i, (i + 1) % n),
    "star": lambda i, j, n: (i == 0) != (j == 0) or n == 1,
    "all linked": lambda i, j, n: i + j < 2 * n,
}

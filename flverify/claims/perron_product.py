"""u_R' pi_C of push-pull, (11)-(12) of the FOCUS paper: when it is positive.

u_R' R = u_R' and C pi_C = pi_C, without negative entries and of sum 1. Node i hears j
if the entry [i, j] is positive. If j is heard and u_i > 0 for the hearer i, then u_j
>= u_i r_ij > 0; if pi_j > 0 for j that i hears in C, then pi_i >= c_ij pi_j > 0. So u
is positive at all nodes that are heard everywhere in the end, the roots of R, and pi at
all nodes that hear everybody in the end, the sinks of C. One node that is both makes
the product positive; on strongly connected graphs each is.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.verdict import Finding
from flverify.claims.written import above

Matrix = list[list[Fraction]]
ONE, HALF, NONE = Fraction(1), Fraction(1, 2), Fraction(0)
SCOPE = "any number of nodes, every R and C of the kind"
KINDS = ("strong", "shared", "alone")
SEARCHED = {
    "strong": "rings with and without loops, stars and all linked, 1 to 4 nodes",
    "shared": "2 to 4 nodes, the server being the root of R and the sink of C",
    "alone": "2 to 4 nodes, the root of R and the sink of C being two nodes",
}


def excluded(kind: str, eta: str) -> Finding:
    """Judge that y = c pi_C moves u_R' x down by c eta u_R' pi_C, which is positive.

    Then no fixed point has c > 0, nor, signs turned, c < 0.

    Examples
    --------
    >>> [excluded(kind, "1/2").verdict.name for kind in KINDS]
    ['PROVED', 'PROVED', 'REFUTED']
    >>> excluded("strong", "0").verdict.name
    'REFUTED'
    """
    search = judge.instances(_cases(kind, Fraction(eta)), ">", SEARCHED[kind])
    if kind == "alone" or not Fraction(eta):
        return judge.proof_or_search(judge.inconclusive("no proof is tried"), search)
    return judge.proof_or_search(_proof(), search)


def _proof() -> Finding:
    """Judge the lines of the argument."""
    entry, one, other, eta = sympy.symbols("entry u_i pi_i eta", positive=True)
    rest = sympy.Symbol("rest", nonnegative=True)
    before, product = sympy.symbols("u_x u_pi", real=True)
    return judge.all_of(
        {
            "who is heard": judge.implied([], above(one * entry + rest, 0), SCOPE),
            "a shared node": judge.implied([], above(one * other + rest, 0), SCOPE),
            "u_R' x falls": judge.implied(
                [product > 0], above(before, before - eta * product), SCOPE
            ),
        },
        scope=SCOPE,
        argument=__doc__,
    )


def graphs(kind: str) -> Iterator[tuple[str, Matrix, Matrix]]:
    """List R and C: strongly connected; with a common root; with two apart.

    In the second kind nodes hear themselves and the first node, and C turns the links:
    so E R(S) and E C(S) of FOCUS are.
    """
    for n in (2, 3, 4):
        whole = [[Fraction(1, n)] * n for _ in range(n)]
        ring = [
            [HALF * ((j == i) + (j == (i + 1) % n)) for j in range(n)] for i in range(n)
        ]
        star = _towards(n, 0)
        if kind == "strong":
            yield "all linked", whole, whole
            yield "ring with loops", ring, turned(ring)
            yield "ring, all linked", ring, whole
        elif kind == "shared":
            yield "to and from the first node", star, turned(star)
        else:
            yield "from the first node, to the last", star, turned(_towards(n, n - 1))


def _towards(n: int, root: int) -> Matrix:
    """Return rows in which nodes hear themselves and the root, which hears itself."""
    return [
        [ONE * (j == root) if i == root else HALF * (j in (i, root)) for j in range(n)]
        for i in range(n)
    ]


def turned(matrix: Matrix) -> Matrix:
    """Return the transpose."""
    return [list(column) for column in zip(*matrix, strict=True)]


def _cases(kind: str, eta: Fraction) -> Iterator[judge.Case]:
    """Play one step of (11) from x = (0, 1, ...), y = pi_C."""
    for name, R, C in graphs(kind):
        u, y = stationary(turned(R)), stationary(C)
        x = [Fraction(i) for i in range(len(R))]
        moved = [a - eta * b for a, b in zip(x, y, strict=True)]
        ends = [_dot(row, moved) for row in R]
        where = {"graph": name, "nodes": len(R), "R": R, "C": C, "eta": eta, "c": 1}
        left = _dot(u, x) - _dot(u, ends)
        yield judge.Case(where, left, 0, partial(_again, R, C, eta))


def _dot(one: Any, other: Any) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), NONE)


def stationary(matrix: Matrix) -> list[Fraction]:
    """Return v of sum 1 with matrix v = v, by the null space.

    Examples
    --------
    >>> stationary([[Fraction(1, 2), Fraction(0)], [Fraction(1, 2), Fraction(1)]])
    [Fraction(0, 1), Fraction(1, 1)]
    """
    n = len(matrix)
    system = sympy.Matrix(matrix) - sympy.eye(n)
    (vector,) = system.applyfunc(sympy.nsimplify).nullspace()
    values = [Fraction(int(v.p), int(v.q)) for v in vector]
    return [v / sum(values) for v in values]


def _again(R: Matrix, C: Matrix, eta: Fraction) -> tuple[Fraction, int]:
    """Return eta u_R' pi_C, both vectors being diagonal minors of I - M."""
    return eta * _dot(_cofactors(turned(R)), _cofactors(C)), 0


def _cofactors(matrix: Matrix) -> list[Fraction]:
    """Return the diagonal minors of I - M, of sum 1: the Markov chain tree theorem."""
    n = len(matrix)
    values = []
    for k in range(n):
        kept = [i for i in range(n) if i != k]
        minor = [[ONE * (i == j) - matrix[i][j] for j in kept] for i in kept]
        values.append(_determinant(minor))
    return [v / sum(values) for v in values]


def _determinant(rows: Matrix) -> Fraction:
    """Expand along the first row."""
    if not rows:
        return ONE
    return sum(
        (
            (-1) ** j * v * _determinant([row[:j] + row[j + 1 :] for row in rows[1:]])
            for j, v in enumerate(rows[0])
        ),
        NONE,
    )

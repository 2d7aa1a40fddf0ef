"""Stacks of rows under the two norms that Appendix B of the FOCUS paper tells apart.

There ||.|| is the l2 norm, of a matrix the induced one, and ||.||_F that of Frobenius.
Appendices D and E print both for the same stacks, such as 1 w - x. They agree if all
rows are multiples of one, as in one dimension; of rows along different axes ||.||_F^2
is the sum of squares and ||.||^2 the largest one, so that a line that drops the F may
be false.

The clients here are f_i = h_i |x|^2/2 in R^N, h_i = 1 = L, and before the round that is
run the server stands at 0 and row i at the i-th unit vector; tau = 2. Sides come from
the lengths along the axes, and again from whole vectors by the loop of Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeAlias

import sympy

from flverify.claims import judge
from flverify.claims.verdict import Finding
from flverify.participation._law import Participation
from flverify.participation.full import Full
from flverify.participation.uniform_cohort import UniformCohort
from flverify.reference import focus

ONE_NORM = "(i) norms without F are Frobenius norms too"
INDUCED = "(ii) norms without F are induced, as in Appendix B"
LAST_INDUCED = "the last norm induced, as in Appendix B"
SEARCHED = "N = 2, 3, 4; rows along different axes"
STALE = (
    r"\big(2L^2N+8\eta^2(\tau-1)^2L^4N\big)\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|_F^2"
)
SIZES = (2, 3, 4)
STEP = Fraction(1, 100)
Row: TypeAlias = list[Fraction]
Rows: TypeAlias = list[Row]


def either_norm(proof: Finding, cases: Iterator[judge.Case]) -> Finding:
    """Judge a line by a proof for one norm, and by cases for the two of Appendix B."""
    return judge.readings(
        {ONE_NORM: proof, INDUCED: judge.instances(cases, "<=", SEARCHED)}
    )


def squares(rows: Rows) -> Fraction:
    """Return ||.||_F^2.

    Examples
    --------
    >>> rows = [[Fraction(3), Fraction(0)], [Fraction(0), Fraction(2)]]
    >>> int(squares(rows)), int(induced(rows))
    (13, 9)
    """
    return sum((v**2 for row in rows for v in row), Fraction(0))


def induced(rows: Rows) -> Fraction:
    """Return ||.||^2, the largest eigenvalue of the inner products of the rows."""
    a = sympy.Matrix(rows)
    return max(Fraction(str(v)) for v in (a * a.T).eigenvals())


def split(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Compare lines 2 and 3 of (83) where client 1 alone takes part."""
    far, moved = Fraction(c.far), Fraction(c.moved)
    for n in SIZES:
        left = n * (n - 1 + STEP**2)
        right = n * (far + moved * STEP**2)
        again = partial(_split_again, n, far, moved)
        where = {**_where(UniformCohort(n, 1)), "cohort": [1]}
        yield judge.Case(where, left, right, again)


def _split_again(n: int, far: Fraction, moved: Fraction) -> tuple[Fraction, Fraction]:
    rows, ends = _units(n), _played(n, [0])["stored"]
    pulled = [[Fraction(0)] * n, *rows[1:]]
    moves = [_less(x, z) for x, z in zip(pulled, ends, strict=True)]
    return n * squares(ends), n * (far * induced(pulled) + moved * squares(moves))


def loosened_norm(first: Any, second: Any) -> Iterator[judge.Case]:
    """Compare the right of (87), one client being drawn, with weights 1 for I-Q and Q.

    `first` and `second` are the factors of L^2 N and of eta^2 (tau-1)^2 L^4 N there.
    """
    whole = Fraction(first) + Fraction(second) * STEP**2
    for n in SIZES:
        law = UniformCohort(n, 1)
        left = n * (2 * (n - 1) + 8 * STEP**2)
        yield judge.Case(_where(law), left, n * whole, partial(_weighted, law, whole))


def _weighted(law: Participation, whole: Fraction) -> tuple[Fraction, Fraction]:
    n, rows = law.n_clients, _units(law.n_clients)
    pairs = zip(law.averaging_weights(), rows, strict=True)
    terms = [(2 * (1 - q) + 8 * STEP**2 * q) * squares([row]) for q, row in pairs]
    return n * sum(terms, Fraction(0)), n * whole * induced(rows)


def parted(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Compare the sides of (90) where all take part, so that its first term is 0."""
    server, moves, share = Fraction(c.server), Fraction(c.moves), Fraction(1, 4)
    for n in SIZES:
        left = n * STEP**2 * (1 + 2 * STEP + n * STEP**2)
        right = STEP**2 * (server * (n * STEP) ** 2 + moves) / (1 - share)
        again = partial(_parted_again, n, server, moves, share)
        yield judge.Case({**_where(Full(n)), "rho": share}, left, right, again)


def _parted_again(
    n: int, server: Fraction, moves: Fraction, share: Fraction
) -> tuple[Fraction, Fraction]:
    end = _played(n, range(n))
    y = [[-v / STEP for v in row] for row in end["stored"]]
    parts = server * n * squares([end["tracker"]]) + moves * induced(y)
    apart = [_less(end["model"], row) for row in end["stored"]]
    return squares(apart), STEP**2 * parts / (1 - share)


def weighted_last(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Compare lines 2 and 3 of (93) where all take part: q_i = p_i = 1."""
    bound = Fraction(c.bound)
    for n in SIZES:
        again = partial(_last_again, n, bound)
        yield judge.Case(_where(Full(n)), bound * n, bound, again)


def _last_again(n: int, bound: Fraction) -> tuple[Fraction, Fraction]:
    pairs = zip(Full(n).inclusion(), _units(n), strict=True)
    line_2 = sum((Fraction(p) * squares([row]) for p, row in pairs), Fraction(0))
    return bound * line_2, bound * induced(_units(n))


def _units(n: int) -> Rows:
    return [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]


def _less(x: Row, z: Row) -> Row:
    return [a - b for a, b in zip(x, z, strict=True)]


def _played(n: int, cohort: Any) -> Any:
    """Run a round: as grad f_i(x) = x, what a client stores is where its row stands."""
    rows, zero = _units(n), Fraction(0)
    total = [sum(column, zero) for column in zip(*rows, strict=True)]
    start: Any = {"model": [zero] * n, "tracker": total, "stored": rows}
    return focus.play(
        start, lambda _, x: x, n, frozenset(cohort), step_size=STEP, local_steps=2
    )


def _where(law: Participation) -> dict[str, Any]:
    return {
        "f_i": "h_i |x|^2/2 in R^N",
        "h": [1] * law.n_clients,
        "N": law.n_clients,
        "law": law.spec,
        "tau": 2,
        "step size": STEP,
        "w_r": 0,
        "rows of x_{r tau}": "row i is the i-th unit vector",
    }

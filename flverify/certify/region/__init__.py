"""Regions of step sizes: what is printed, certified, and possible on quadratics.

A region has a row per value of another parameter and a column per step size. Every
rate in it is one whose exact certificate the checker accepted; where none was found,
nothing is said about the method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias

from flverify._core.checks import choice, numbers, positive, whole
from flverify._core.errors import DomainError, InputError, ShapeError
from flverify._core.exact import is_exact, within_floats
from flverify._core.held import held
from flverify._core.shown import shown
from flverify.certify.region._progress import Progress
from flverify.certify.region._store import Store
from flverify.certify.region._workers import find_rows
from flverify.certify.region.cell import Cell, Status
from flverify.certify.region.row import Row, RowFound
from flverify.certify.search import problem

__all__ = [
    "OVER",
    "SPACINGS",
    "Cell",
    "Region",
    "Row",
    "RowFound",
    "Spacing",
    "Status",
    "region",
    "require_local_steps",
    "spaced",
]

Spacing: TypeAlias = Literal["log", "linear"]

SPACINGS = ("log", "linear")
OVER = {
    "tau": "local steps",
    "p": "inclusion probability",
    "n": "number of clients",
    "kappa": "condition number L/mu",
}
MOST_LOCAL_STEPS = 8
MOST_STEPS = 10_000
MOST_CELLS = 1_000_000
DIGITS = 6  # significant digits of a logarithmic grid


@dataclass(frozen=True)
class Region:
    """A grid of step sizes and values of another parameter, and what was found on it.

    Parameters
    ----------
    over : {"tau", "p", "n", "kappa"}
        The other parameter.
    step_sizes : tuple of Fraction
        Increasing.
    rows : tuple of Row
        What was asked, by increasing value.
    found : tuple of RowFound
        What was found, in the order of the rows.
    """

    over: str
    step_sizes: tuple[Fraction, ...]
    rows: tuple[Row, ...]
    found: tuple[RowFound, ...]


def region(
    over: str,
    step_sizes: Iterable[object],
    rows: Sequence[Row],
    *,
    workers: int = 1,
    store: Path | None = None,
    resume: bool = False,
    begin: Callable[[str], object] = str,
    at: Callable[[str], object] = str,
) -> Region:
    """Certify an algorithm on a grid.

    Parameters
    ----------
    over : {"tau", "p", "n", "kappa"}
        Which parameter differs from row to row; there are at most 8 local steps.
    step_sizes : iterable of rationals, weight x^2/f
        Positive, increasing.
    rows : sequence of Row
        By increasing value.
    workers : int
        Processes; the result does not depend on them.
    store : path, optional
        File that keeps finished rows until the region is whole.
    resume : bool
        Take up the rows of the store; without one, begin anew.
    begin : callable
        Told the name of each row as it is begun, or finished by a worker.
    at : callable
        Told which cells are in work, every time that one is begun.

    Returns
    -------
    region : Region

    Raises
    ------
    DomainError
        If a number lies outside its domain.
    ShapeError
        If there are no step sizes or no rows.
    InputError
        If the store holds rows of another setting, or rows that were not asked for, or
        another run is writing it.
    RefusedError
        If the algorithm, its round or the law has no certificates.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> ends = Fraction(1, 10), Fraction(1)
    >>> row = Row(Fraction(2), GradientDescent(1), Full(2), *ends)
    >>> (found,) = region("n", ["1/4", "3/4", "5/4"], [row]).found
    >>> [cell.status for cell in found.cells], found.stability_boundary
    (['certified', 'certified', 'unstable'], Fraction(1, 1))
    """
    steps = check_grid(over, step_sizes, rows)
    size = whole(workers, "workers")
    with held(store):
        keep = Store.open(store, over, steps, rows, resume)
        progress = Progress(over, begin, at)
        for index in keep.known:
            progress.begin(rows[index])
        missing = {k: row for k, row in enumerate(rows) if k not in keep.known}
        with closing(find_rows(missing, steps, size, progress)) as finding:
            for index, found in finding:
                keep.add(index, found)
    whole_ = tuple(keep.known[k] for k in range(len(rows)))
    return Region(over, steps, tuple(rows), whole_)


def check_grid(
    over: str, step_sizes: Iterable[object], rows: Sequence[Row]
) -> tuple[Fraction, ...]:
    """Check a region before anything is computed; return its step sizes.

    Raises
    ------
    DomainError
        If the parameter is unknown, there are more than 8 local steps or too many
        cells, or step sizes or values are not positive rationals in increasing order.
    ShapeError
        If there are no step sizes or no rows.
    RefusedError
        If an algorithm or a law has no certificates.
    """
    choice(over, "over", tuple(OVER))
    steps = numbers(step_sizes, "step_sizes")
    if not isinstance(rows, Sequence) or not all(isinstance(r, Row) for r in rows):
        raise InputError(
            f"rows must be a list of instances of Row; got {shown(rows)}; write "
            "[Row(value, algorithm, law, strong_convexity, smoothness), ...]."
        )
    require_size(len(steps), len(rows))
    if not rows:
        raise ShapeError("a region must have a row; got none; name values.")
    for name, listed in (("step sizes", steps), ("values", [r.value for r in rows])):
        ordered = all(x < y for x, y in pairwise(listed))
        if not (all(is_exact(v) for v in listed) and listed[0] > 0 and ordered):
            raise DomainError(
                f"{name} must be positive rationals in increasing order; got "
                f"{', '.join(shown(v) for v in listed[:6])}; sort or mend them."
            )
        within_floats(listed[-1], f"{name} of a region")
    for row in rows:  # refuse what cannot be certified before hours are spent
        within_floats(row.smoothness, "the smoothness of a region")
        problem(row.algorithm, row.law, row.strong_convexity, row.smoothness)
    require_local_steps(max(row.algorithm.local_steps for row in rows))
    return tuple(Fraction(step) for step in steps)


def require_local_steps(local_steps: int) -> None:
    """Refuse local steps with which a row would take hours.

    Raises
    ------
    DomainError
        If there are more than 8.

    Examples
    --------
    >>> require_local_steps(8)
    """
    if local_steps > MOST_LOCAL_STEPS:
        raise DomainError(
            f"a region must have at most {MOST_LOCAL_STEPS} local steps; got "
            f"{local_steps}; use certify for one setting with more."
        )


def require_size(step_sizes: int, rows: int) -> None:
    """Refuse a grid that nobody would wait for.

    Raises
    ------
    DomainError
        If there are more than 10,000 step sizes or a million cells.
    """
    if step_sizes > MOST_STEPS:
        raise DomainError(
            f"a region must have at most {MOST_STEPS} step sizes; got {step_sizes}; "
            "take fewer."
        )
    if step_sizes * rows > MOST_CELLS:
        raise DomainError(
            f"a region must have at most {MOST_CELLS} cells; got {step_sizes} step "
            f"sizes and {rows} values; take fewer of either."
        )


def spaced(
    low: object, high: object, count: int, spacing: Spacing = "log"
) -> tuple[Fraction, ...]:
    """Rationals from low to high, evenly or (to 6 digits) geometrically spaced.

    Raises
    ------
    DomainError
        If 0 < low < high does not hold, there are more than 10,000 values, or they are
        not different.

    Examples
    --------
    >>> [str(value) for value in spaced("1/100", 1, 3)]
    ['1/100', '1/10', '1']
    >>> [str(value) for value in spaced("1/4", 1, 4, "linear")]
    ['1/4', '1/2', '3/4', '1']
    """
    choice(spacing, "spacing", SPACINGS)
    a, b = positive(low, "low"), positive(high, "high")
    size = whole(count, "count", least=2)
    if size > MOST_STEPS:
        raise DomainError(
            f"a grid must have at most {MOST_STEPS} values; got {size}; take fewer."
        )
    if not (is_exact(a) and is_exact(b) and a < b):
        raise DomainError(
            f"a grid must run from a rational to a larger one; got {shown(a)} and "
            f"{shown(b)}; swap or mend them."
        )
    parts = [Fraction(k, size - 1) for k in range(size)]
    if spacing == "linear":
        return tuple(a + (b - a) * t for t in parts)
    out = (a, *(_between(a, b, t) for t in parts[1:-1]), b)
    if any(x >= y for x, y in pairwise(out)):
        raise DomainError(
            f"a grid must have different values to {DIGITS} digits; got {size} of them "
            f"from {shown(a)} to {shown(b)}; take fewer."
        )
    return out


def _between(a: Fraction, b: Fraction, t: Fraction) -> Fraction:
    """a^(1-t) b^t to some digits, the same on every machine."""
    much = Context(prec=40)
    low, high = (
        much.ln(much.divide(Decimal(v.numerator), Decimal(v.denominator)))
        for v in (a, b)
    )
    share = much.divide(Decimal(t.numerator), Decimal(t.denominator))
    way = much.multiply(much.subtract(high, low), share)
    short = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN)
    return Fraction(short.plus(much.exp(much.add(low, way))))

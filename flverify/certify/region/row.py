"""One row of a region: an algorithm under a law, at many step sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from threadpoolctl import threadpool_limits

from flverify._core.errors import RefusedError
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.ladder import Ladder
from flverify.certify.printed import printed
from flverify.certify.quadratics import QuadraticRates
from flverify.certify.region._floor import Floor
from flverify.certify.stability import Boundary, boundary_of
from flverify.participation._law import Participation

Status: TypeAlias = Literal["certified", "not certified", "inconclusive", "unstable"]

DIGITS = 7  # significant digits of a certified boundary
CLOSE = Fraction(1, 10**4)  # relative width at which the certified boundary is found
DOWN = 40  # halvings of a step size before giving up

_STATUS: Mapping[str, Status] = {
    "certified": "certified",
    "not_certified": "not certified",
    "inconclusive": "inconclusive",
}


@dataclass(frozen=True)
class Row:
    """What a row of a region is about.

    Parameters
    ----------
    value : Fraction
        Of the parameter that differs from row to row.
    algorithm : Algorithm
        Its own step size plays no role.
    law : Participation
    strong_convexity, smoothness : Fraction, weight f/x^2
    """

    value: Fraction
    algorithm: Algorithm
    law: Participation
    strong_convexity: Fraction
    smoothness: Fraction


@dataclass(frozen=True)
class Cell:
    """What was found at one step size.

    Parameters
    ----------
    step_size : Fraction
    status : {"certified", "not certified", "inconclusive", "unstable"}
        "unstable" where a quadratic's rate is at least 1, so that no rate below 1 can
        hold; "inconclusive" where the solver failed or its points did not survive.
    rate : Fraction or None
        Certified factor per round of the squared distance.
    level : str
        The ansatz of the certificate.
    quadratic_rate : Fraction
        Lower bound of the worst quadratic's rate, proved in rationals.
    """

    step_size: Fraction
    status: Status
    rate: Fraction | None
    level: str
    quadratic_rate: Fraction


@dataclass(frozen=True)
class RowFound:
    """What was found along a row.

    Parameters
    ----------
    value : Fraction
    cells : tuple of Cell
        In the order of the step sizes.
    printed_cap : Fraction or None
        Largest step size that the algorithm's theorem allows, rounded down if it is
        irrational; None without a theorem.
    certified_boundary : Fraction or None
        Largest step size with a certificate that bisection found, to 1e-4 of it.
    stability_boundary : Fraction or None
        Smallest step size at which a quadratic's rate reaches 1, to 1e-6 of it at
        worst; None if there is none.
    contraction : bool
        Whether rates are those of a contraction to a neighbourhood.
    remark : str
        Why there is no stability boundary, where it was refused.
    """

    value: Fraction
    cells: tuple[Cell, ...]
    printed_cap: Fraction | None
    certified_boundary: Fraction | None
    stability_boundary: Fraction | None
    contraction: bool
    remark: str = ""

    @property
    def share(self) -> Fraction | None:
        """Share of the stable step sizes that are certified; None if not known."""
        if self.certified_boundary is None or self.stability_boundary is None:
            return None
        return self.certified_boundary / self.stability_boundary


def never() -> bool:
    """Never stop."""
    return False


def find_row(
    row: Row, step_sizes: Sequence[Fraction], stopped: Callable[[], bool] = never
) -> RowFound | None:
    """Find all there is to say along a row; None if it was stopped.

    Raises
    ------
    DomainError
        If a number lies outside its domain.
    RefusedError
        If the algorithm, its round or the law has no certificates.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.participation import Bernoulli
    >>> half = Bernoulli(["1/2", "1/2"])
    >>> row = Row(Fraction(1), Focus("1"), half, Fraction(1, 10), Fraction(1))
    >>> found = find_row(row, [Fraction(1, 5), Fraction(1)])
    >>> [(cell.status, float(cell.rate or 0)) for cell in found.cells]
    [('certified', 0.918117), ('unstable', 0.0)]
    >>> found.printed_cap, found.stability_boundary
    (Fraction(1, 180), Fraction(3, 5))
    """
    with threadpool_limits(1, user_api="blas"):  # the same bits whatever the machine
        return _find_row(row, step_sizes, stopped)


def _find_row(
    row: Row, step_sizes: Sequence[Fraction], stopped: Callable[[], bool]
) -> RowFound | None:
    ends = row.strong_convexity, row.smoothness
    ladder = Ladder.of(row.algorithm, row.law, *ends)
    rates = QuadraticRates.of(row.algorithm, row.law)
    boundary, remark = _stability(rates, *ends)
    floor = Floor.of(rates, ends, step_sizes, boundary)
    cells = []
    for step in step_sizes:
        if stopped():
            return None
        cells.append(_cell(ladder, floor, step))
    theorem = printed(row.algorithm, row.law, *ends)
    return RowFound(
        row.value,
        tuple(cells),
        None if theorem is None else theorem.cap,
        _certified_boundary(ladder, cells, floor.unstable),
        floor.unstable,
        ladder.neighbourhood,
        remark,
    )


def _stability(
    rates: QuadraticRates, strong_convexity: Fraction, smoothness: Fraction
) -> tuple[Boundary | None, str]:
    """Return the stability boundary, or why it is not known."""
    try:
        return boundary_of(rates, strong_convexity, smoothness), ""
    except RefusedError as error:
        return None, str(error)


def _cell(ladder: Ladder, floor: Floor, step: Fraction) -> Cell:
    bound = floor.at(step)
    if bound >= 1:
        return Cell(step, "unstable", None, "", bound)
    found = ladder.certify(step, bound)
    return Cell(step, _STATUS[found.status], found.rate, found.level, bound)


def _certified_boundary(
    ladder: Ladder, cells: Sequence[Cell], unstable: Fraction | None
) -> Fraction | None:
    """Bisect for the largest step size with a certificate, below the unstable ones.

    Floats bisect, as if the step sizes with a certificate were an interval from 0; the
    end they find is proved, or an end a little before it.
    """
    stable = [c for c in cells if unstable is None or c.step_size < unstable]
    proved = max((c.step_size for c in stable if c.rate is not None), default=None)
    above = [c.step_size for c in stable if proved is None or c.step_size > proved]
    high = min(above, default=unstable)
    if high is None:
        return proved
    low = _any_below(ladder, high) if proved is None else proved
    while low is not None and high - low > CLOSE * high:
        middle = _short((low + high) / 2)
        low, high = (middle, high) if ladder.promising(middle) else (low, middle)
    return _end(ladder, low, proved)


def _any_below(ladder: Ladder, high: Fraction) -> Fraction | None:
    """Halve a step size until floats see a certificate."""
    for _ in range(DOWN):
        high = _short(high / 2)
        if ladder.promising(high):
            return high
    return None


def _end(
    ladder: Ladder, end: Fraction | None, proved: Fraction | None
) -> Fraction | None:
    """Prove an end that floats found, drawing back where that fails."""
    if end is None or end == proved:
        return proved
    back = Fraction(0)
    while back < 1:
        step = _short(end * (1 - back))
        if proved is not None and step <= proved:
            return proved
        if ladder.certifiable(step):
            return step
        back = 4 * back or CLOSE
    return proved


def _short(value: Fraction) -> Fraction:
    """Return a rational of few digits, within 1e-6 of a value."""
    size = Decimal(value.numerator) / Decimal(value.denominator)
    return Fraction(Context(prec=DIGITS).plus(size))

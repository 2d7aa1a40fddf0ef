"""One row of a region: an algorithm under a law, at many step sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from threadpoolctl import threadpool_limits

from flverify._core.errors import RefusedError
from flverify._core.exact import scalar
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.ladder import Ladder
from flverify.certify.printed import printed
from flverify.certify.quadratics import QuadraticRates
from flverify.certify.region._boundary import Ends
from flverify.certify.region._floor import Floor
from flverify.certify.region.cell import Cell, Status
from flverify.certify.stability import Boundary, boundary_of
from flverify.participation._law import Participation

_STATUS: Mapping[str, Status] = {
    "certified": "certified",
    "not_certified": "not certified",
    "inconclusive": "inconclusive",
}
BEYOND = 1 + Fraction(1, 10**6)  # a stability boundary may be as much too small


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
    strong_convexity, smoothness : rational, weight f/x^2
        Kept as Fractions.

    Raises
    ------
    DomainError
        If a number is none, or symbolic.
    """

    value: Fraction
    algorithm: Algorithm
    law: Participation
    strong_convexity: Fraction
    smoothness: Fraction

    def __post_init__(self) -> None:
        for name in ("value", "strong_convexity", "smoothness"):
            object.__setattr__(self, name, scalar(getattr(self, name), name))


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
        Largest step size with a certificate that bisection found, to 1e-4 of it, below
        the stability boundary where there is one.
    stability_boundary : Fraction or None
        Smallest step size at which a quadratic's rate reaches 1, to 1e-6 of it at
        worst; None if there is none.
    contraction : bool
        Whether rates are those of a contraction to a neighbourhood.
    remark : str
        Why there is no stability boundary, where it was refused.
    unsure : int
        Step sizes tried above the certified boundary (all, where there is none) at
        which the search was inconclusive; 0 where it is known to end there.
    """

    value: Fraction
    cells: tuple[Cell, ...]
    printed_cap: Fraction | None
    certified_boundary: Fraction | None
    stability_boundary: Fraction | None
    contraction: bool
    remark: str = ""
    unsure: int = 0

    @property
    def holes(self) -> tuple[Cell, ...]:
        """Cells without a certificate below the certified boundary."""
        end = self.certified_boundary or 0
        return tuple(c for c in self.cells if c.rate is None and c.step_size < end)

    @property
    def best(self) -> Cell | None:
        """Cell with the smallest certified rate; None without a certificate."""
        proved = [cell for cell in self.cells if cell.rate is not None]
        return min(proved, key=lambda cell: cell.rate or 1, default=None)

    @property
    def again(self) -> tuple[Cell, ...]:
        """Cells with a certificate beyond a step size that is unstable."""
        if self.stability_boundary is None:
            return ()
        end = self.stability_boundary * BEYOND
        return tuple(c for c in self.cells if c.rate is not None and c.step_size > end)

    @property
    def share(self) -> Fraction | None:
        """Certified boundary over stability boundary; None if one is not known."""
        if self.certified_boundary is None or self.stability_boundary is None:
            return None
        return self.certified_boundary / self.stability_boundary


def find_row(
    row: Row, step_sizes: Sequence[Fraction], at: Callable[[str], object] = str
) -> RowFound:
    """Find all there is to say along a row.

    Parameters
    ----------
    row : Row
    step_sizes : sequence of Fraction
        Increasing.
    at : callable
        Told what is in work: a boundary, or a step size.

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
        return _find_row(row, step_sizes, at)


def _find_row(
    row: Row, step_sizes: Sequence[Fraction], at: Callable[[str], object]
) -> RowFound:
    ends = row.strong_convexity, row.smoothness
    at("stability boundary")
    ladder = Ladder.of(row.algorithm, row.law, *ends)
    rates = QuadraticRates.of(row.algorithm, row.law)
    boundary, remark = _stability(rates, *ends)
    floor = Floor.of(rates, ends, step_sizes, boundary)
    cells = []
    for number, step in enumerate(step_sizes, start=1):
        at(f"step size {float(step):.6g} ({number} of {len(step_sizes)})")
        cells.append(_cell(ladder, floor, step))
    at("certified boundary")
    search = Ends(ladder, floor)
    largest = search.largest(cells)
    theorem = printed(row.algorithm, row.law, *ends)
    return RowFound(
        row.value,
        tuple(cells),
        None if theorem is None else theorem.cap,
        largest,
        floor.unstable,
        ladder.neighbourhood,
        remark,
        search.unsure(largest),
    )


def _stability(
    rates: QuadraticRates, strong_convexity: Fraction, smoothness: Fraction
) -> tuple[Boundary | None, str]:
    """Return the stability boundary, or why it is not known."""
    try:
        return boundary_of(rates, strong_convexity, smoothness), ""
    except RefusedError as error:
        return None, f"no stability boundary: {str(error).rstrip('.')}"


def _cell(ladder: Ladder, floor: Floor, step: Fraction) -> Cell:
    bound = floor.at(step)
    if bound >= 1:
        return Cell(step, "unstable", None, "", bound)
    found = ladder.certify(step, bound)
    reason = found.reason if found.status == "inconclusive" else ""
    return Cell(step, _STATUS[found.status], found.rate, found.level, bound, reason)

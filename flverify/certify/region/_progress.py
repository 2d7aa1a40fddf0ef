"""What is told of a region while it is found: rows, and where those in work are."""

from __future__ import annotations

from collections.abc import Callable

from flverify.certify.region.row import Row


class Progress:
    """Names rows as they begin or are finished, and the cells in work.

    Parameters
    ----------
    over : str
        The parameter that differs from row to row.
    begin : callable
        Told the name of a row.
    at : callable
        Told of all rows in work, every time that one of them moves on.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> ends = Fraction(1, 10), Fraction(1)
    >>> one = Row(Fraction(1), GradientDescent(1), Full(1), *ends)
    >>> two = Row(Fraction(2), GradientDescent(1), Full(2), *ends)
    >>> progress = Progress("n", str, print)
    >>> progress.at(one, "step size 1 (1 of 2)")
    n = 1, step size 1 (1 of 2)
    >>> progress.at(two, "stability boundary")
    n = 1, step size 1 (1 of 2); n = 2, stability boundary
    >>> progress.done(one)
    >>> progress.at(two, "certified boundary")
    n = 2, certified boundary
    """

    def __init__(
        self, over: str, begin: Callable[[str], object], at: Callable[[str], object]
    ) -> None:
        self._over, self._begin, self._at = over, begin, at
        self._places: dict[str, str] = {}

    def begin(self, row: Row) -> None:
        """Tell that a row is begun, or was found elsewhere."""
        self._begin(self._name(row))

    def at(self, row: Row, place: str) -> None:
        """Tell where a row is, after the others in work."""
        self._places[self._name(row)] = place
        self._at("; ".join(f"{name}, {place}" for name, place in self._places.items()))

    def done(self, row: Row) -> None:
        """Forget a row in work."""
        self._places.pop(self._name(row), None)

    def _name(self, row: Row) -> str:
        return f"{self._over} = {row.value}"

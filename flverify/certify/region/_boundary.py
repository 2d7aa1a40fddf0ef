"""The largest step size with a certificate, by bisection between those of a grid.

Floats bisect, as if the step sizes with a certificate were an interval from 0; the end
they find is proved, or an end a little before it. Where the solver gave up, or rates
are too near 1 for floats, what was found is no end, and that is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

from flverify.certify.ladder import NEARLY_ONE, Ladder
from flverify.certify.region._floor import Floor
from flverify.certify.region.cell import Cell

DIGITS = 7  # significant digits of a certified boundary
CLOSE = Fraction(1, 10**4)  # relative width at which the certified boundary is found
FAR = 10 * CLOSE  # from where on it matters what lies between
DOWN = 40  # halvings of a step size before giving up


class Ends:
    """Where certificates end along a row, and what the search could not see.

    Parameters
    ----------
    ladder : Ladder
    floor : Floor
        Of the same setting.
    """

    def __init__(self, ladder: Ladder, floor: Floor) -> None:
        self.ladder, self.floor = ladder, floor
        self._open: list[Fraction] = []
        self._shut: list[Fraction] = []

    def largest(self, cells: Sequence[Cell]) -> Fraction | None:
        """Bisect for the largest step size with a certificate, below unstable ones."""
        unstable = self.floor.unstable
        stable = [c for c in cells if unstable is None or c.step_size < unstable]
        for cell in stable:
            if cell.rate is None:
                unsure = cell.status == "inconclusive"
                (self._open if unsure else self._shut).append(cell.step_size)
        proved = max((c.step_size for c in stable if c.rate is not None), default=None)
        above = [c.step_size for c in stable if proved is None or c.step_size > proved]
        high = min(above, default=unstable)
        if high is None:
            return proved
        low = self._any_below(high) if proved is None else proved
        while low is not None and high - low > CLOSE * high:
            middle = _short((low + high) / 2)
            low, high = (middle, high) if self._sees(middle) else (low, middle)
        return self._proved(low, proved)

    def unsure(self, end: Fraction | None) -> int:
        """Count the step sizes above an end at which a certificate may well exist.

        Zero where there is none at a step size that is hardly larger.
        """
        low = end or Fraction(0)
        bounds = [*self._shut, *([self.floor.unstable] if self.floor.unstable else [])]
        high = min((step for step in bounds if step > low), default=None)
        if high is None:
            return sum(low < step for step in self._open)
        if high - low <= FAR * high:
            return 0
        return sum(low < step < high for step in self._open)

    def _sees(self, step: Fraction) -> bool:
        """Whether floats see a certificate; what they cannot see is noted."""
        bound = self.floor.at(step)
        slow = bound > NEARLY_ONE  # nothing to see, and solves can take long
        answer = False if slow else self.ladder.promising(step)
        if not answer:
            blurred = bound < 1 if slow else answer is None
            (self._open if blurred else self._shut).append(step)
        return bool(answer)

    def _any_below(self, high: Fraction) -> Fraction | None:
        """Halve a step size until floats see a certificate."""
        for _ in range(DOWN):
            high = _short(high / 2)
            if self._sees(high):
                return high
        return None

    def _proved(self, end: Fraction | None, proved: Fraction | None) -> Fraction | None:
        """Prove an end that floats found, drawing back where that fails."""
        if end is None or end == proved:
            return proved
        back = Fraction(0)
        while back < 1:
            step = _short(end * (1 - back))
            if proved is not None and step <= proved:
                return proved
            if self.ladder.certifiable(step):
                return step
            self._open.append(step)  # floats saw one
            back = 4 * back or CLOSE
        return proved


def _short(value: Fraction) -> Fraction:
    """Return a rational of few digits, within 1e-6 of a value."""
    size = Decimal(value.numerator) / Decimal(value.denominator)
    return Fraction(Context(prec=DIGITS).plus(size))

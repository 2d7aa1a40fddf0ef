"""Numbers found by quadrature beside the ones that are stated, to a thousandth."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flverify._core.exact import parse_number
from flverify.claims.judge import Case


def near(name: str, value: float, stated: str, ends: tuple[Any, Any]) -> Case:
    """Distance of a number from the stated one, against a thousandth of that.

    A stated number outside the ends, beyond what is possible, is that far from the
    truth, exactly; an end of None is nowhere.

    Examples
    --------
    >>> near("root of 2", 2**0.5, "1.414", (1, 2)).recheck()
    (Fraction(0, 1), Fraction(707, 500000))
    """
    number = Fraction(parse_number(stated))
    room = number / 1000

    def again() -> tuple[Fraction, Fraction]:
        low, high = (number if end is None else Fraction(end) for end in ends)
        return max(Fraction(0), number - high, low - number), room

    at = {"number": name, "computed": f"{value:.6g}", "stated": stated}
    left = abs(value - float(number))
    return Case(at, left, float(room), again, another_quantity=True)

"""How many classes have a share that counts, for Dirichlet shares of parameter alpha.

One of n shares is Beta(alpha, (n - 1) alpha). For whole alpha its tail is a sum over
the binomial law of n alpha - 1 trials, in rationals; otherwise it is the incomplete
beta function, in floats.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

from scipy.special import betainc

from flverify.claims import judge
from flverify.claims.sg_focus_race import CLASSES

TENTH = Fraction(1, 10)


def expected(reading: str, alpha: Fraction, clients: int, most: int) -> judge.Case:
    """Return the mean number of classes of a client that count, against `most`.

    For "clients" a class counts if it is a tenth of the client's data. For "classes",
    where each class is split over clients, it counts if it is a tenth of what a client
    has in the mean, which is classes/clients of the data of one class.

    Examples
    --------
    >>> case = expected("clients", Fraction(1), 32, 2)
    >>> case.left == 10 * Fraction(9, 10) ** 9, case.recheck() == (case.left, 2)
    (True, True)
    >>> round(expected("clients", Fraction(1, 20), 32, 2).left, 4)
    1.7327
    """
    parts, least = CLASSES, TENTH
    if reading == "classes":
        parts, least = clients, TENTH * CLASSES / clients
    where = {"alpha": alpha, "direction": reading, "least share": least}
    if alpha.denominator > 1:
        tail = 1 - betainc(float(alpha), float((parts - 1) * alpha), float(least))
        return judge.Case(where, CLASSES * float(tail), most)
    whole = int(alpha)
    left = CLASSES * _tail(whole, (parts - 1) * whole, least)
    return judge.Case(where, left, most, lambda: _again(whole, parts, least, most))


def _tail(a: int, b: int, x: Fraction) -> Fraction:
    """P(Beta(a, b) >= x): of a + b - 1 uniform points fewer than a lie below x."""
    n = a + b - 1
    return sum((comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a)), Fraction(0))


def _again(a: int, parts: int, x: Fraction, most: int) -> tuple[Any, Any]:
    """Integrate the density t^(a-1) (1-t)^(b-1) term by term, from x to 1."""
    b = (parts - 1) * a

    def area(low: Fraction) -> Fraction:
        terms = (
            Fraction((-1) ** k * comb(b - 1, k), a + k) * (1 - low ** (a + k))
            for k in range(b)
        )
        return sum(terms, Fraction(0))

    return CLASSES * area(x) / area(Fraction(0)), Fraction(most)

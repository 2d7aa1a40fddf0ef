"""(3) of the FOCUS paper under a shift of the origin.

The left side of (3) compares two points, the right side has |x*|: it changes where the
same clients are written in other coordinates, x - s for x. So its factor cannot be a
number of the algorithm alone, not even with the norm in place of its square, which is
what `focus.eq3.drift_li` finds to be of the order of eta. With the distance of the two
minimisers in place of |x*| both sides stay as they are.

Conventions: two scalar quadratics h_i (x - b_i)^2/2, full participation, tau > 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.client_drift import drift_ratio, drift_ratio_again, minimiser
from flverify.claims.verdict import Finding

Row = tuple[Fraction, ...]
SEARCHED = "pairs of scalar quadratics, moved by 1, 10 and -7; tau = 2, 5"


@claim(
    "focus.eq3.translation",
    source=Source("focus", "eq. (3), attributed to Li et al. 2019a, under a shift"),
    statement=r"\|x^o-x^\star\|^2=\Omega\big((\tau-1)\eta\big)\|x^\star\|^2",
    proposition="With the norm in place of its square, the factor of (3), the limit of "
    "|x^o - x*|/((tau-1) eta |x*|) as eta -> 0, is also that of all f_i(x - s).",
    constants={"size": "x*"},
    twin={"size": "b_1 - b_2"},
)
def moved(c: SimpleNamespace) -> Finding:
    """Compare the limits before and after a shift."""
    return _compared(c.size).corrected(
        r"\|x^o-x^\star\|=\Theta\big((\tau-1)\eta\big)\|b_1-b_2\|,\text{ two scalar "
        r"quadratics of different curvatures and minimisers, full participation, }"
        r"\tau>1,\text{ constants that depend on the curvatures alone}",
        _compared("b_1 - b_2"),
    )


def _compared(size: str) -> Finding:
    return judge.instances(_cases(size), "==", SEARCHED)


def _cases(size: str) -> Iterator[judge.Case]:
    curvatures = ((1, 2), (3, 1), (1, 100))
    for row, shift, tau in product(curvatures, (1, 10, -7), (2, 5)):
        h, b = tuple(map(Fraction, row)), (Fraction(1), Fraction(2))
        there = tuple(v + shift for v in b)
        where = {"h": list(h), "b": list(b), "s": shift, "tau": tau}
        sides = [_factor(h, at, tau, size) for at in (b, there)]
        again = partial(_again, h, (b, there), tau, size)
        yield judge.Case(where, *sides, again)


def _factor(h: Row, b: Row, tau: int, size: str) -> Fraction:
    return _scaled(drift_ratio(h, b, tau, 1), h, b, size)


def _again(
    h: Row, places: tuple[Row, Row], tau: int, size: str
) -> tuple[Fraction, Fraction]:
    """Take the limits from the fixed point of the plain loop."""
    first, second = (
        _scaled(drift_ratio_again(h, b, tau, 1), h, b, size) for b in places
    )
    return first, second


def _scaled(ratio: Fraction, h: Row, b: Row, size: str) -> Fraction:
    """Put |b_1 - b_2| in place of |x*|, if asked."""
    if size == "x*":
        return ratio
    return ratio * abs(minimiser(h, b)) / abs(b[0] - b[1])

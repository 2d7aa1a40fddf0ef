"""The step-size map: where step sizes are stable, certified and printed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flverify.certify.printed import printed
from flverify.explore.axis import at_value, axis_values, require_map
from flverify.explore.corners import law_of, scaled
from flverify.explore.crossing import crossing
from flverify.explore.view import View
from flverify.report.rows import RowTable

ENDS = ("strong_convexity", "smoothness")


@dataclass(frozen=True)
class MapRow:
    """One value on the axis of the map.

    Parameters
    ----------
    value : float
        On the axis.
    text : str
        The same, exactly.
    boundary : float, weight x^2/f
        Stability boundary of curvatures mu, L and a few between, in floats, see
        `crossing`; infinite where there is none, NaN where floats do not tell.
    printed_cap : float, weight x^2/f
        NaN where no theorem is printed.
    worst : str
        Which clients of the worst quadratics have curvature L.
    """

    value: float
    text: str
    boundary: float
    printed_cap: float
    worst: str


def boundary(view: View) -> RowTable[MapRow]:
    """Stability boundary and printed cap along the axis of the map.

    Raises
    ------
    InputError
        If the view is refused.
    RefusedError
        If there is no map over this axis.

    Examples
    --------
    >>> view = View("gradient_descent", 4, "full", local_steps=1, over="n")
    >>> [round(row.boundary, 4) for row in boundary(view).rows[:3]]
    [2.0, 1.0, 0.5]
    """
    require_map(view)
    return RowTable(tuple(_row(view, value) for value in axis_values(view)))


def _row(view: View, value: Fraction) -> MapRow:
    there = at_value(view, value)
    found = crossing(law_of(there), scaled(there)[0])
    step, worst = (math.inf, "") if found is None else found
    cap = printed_cap(law_of(there, *ENDS))
    return MapRow(
        float(value),
        str(value),
        step / float(there.number("smoothness")),
        math.nan if cap is None else float(cap),
        worst,
    )


@lru_cache(maxsize=1024)
def printed_cap(view: View) -> Fraction | None:
    """Largest step size that the algorithm's theorem allows; None without one.

    Examples
    --------
    >>> str(printed_cap(View(law="full", local_steps=1, n_clients=4)))
    '1/360'
    """
    law = view.participation()
    ends = view.number("strong_convexity"), view.number("smoothness")
    theorem = printed(view.algorithm_object(), law, *ends)
    return None if theorem is None else theorem.cap

"""The slow layers: what is certified along the map and at the point.

Every certified number is one whose exact certificate the independent checker
accepted; where none was found, nothing is said about the method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flverify._core.errors import RefusedError
from flverify.certify.ladder import Ladder
from flverify.certify.quadratics import QuadraticRates
from flverify.certify.rates import Certified
from flverify.certify.region.row import Row, RowFound, find_row
from flverify.certify.sandwich import worst_of
from flverify.claims.verdict import Verdict
from flverify.explore.at_the_point import (
    PointRow,
    bound_row,
    require_sound,
    rounds_row,
)
from flverify.explore.axis import at_value, axis_values, require_map
from flverify.explore.corners import law_of
from flverify.explore.stability_map import ENDS
from flverify.explore.view import View
from flverify.report.rows import RowTable

CERTIFIED = r"\mathbb{E}V(z_{r+1})\le\rho\,\mathbb{E}V(z_r)\ \text{for the class}"
NO_ROUNDS = "none follow"  # from a rate to a neighbourhood
# the squared error is at most a constant times V, and may take more rounds
_OF_V = "rate and rounds are those of V"
FLOOR = r"\rho\ge\varrho\big(P\mapsto\mathbb{E}[M_hPM_h^{\top}]\big)"


@dataclass(frozen=True)
class CertifiedRow:
    """What the slow layer adds at one value on the axis.

    Parameters
    ----------
    value : float
    text : str
    certified : float, weight x^2/f
        Largest certified step size; NaN where none was found.
    stable : float, weight x^2/f
        Smallest step size at which some quadratic does not contract, thoroughly
        searched; infinite where there is none, NaN where it was refused.
    contraction : bool
        Whether certified rates are those of a contraction to a neighbourhood.
    remark : str
        Why a number is missing; empty if none is.
    """

    value: float
    text: str
    certified: float
    stable: float
    contraction: bool
    remark: str


def certified_boundary(
    view: View,
    told: Callable[[int, int], object] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> RowTable[CertifiedRow]:
    """Certified and thoroughly searched boundaries along the axis: seconds a value.

    Parameters
    ----------
    view : View
    told : callable, optional
        Told after every value how many are done, of how many.
    stopped : callable, optional
        Asked before every value whether to give up; the table then ends early.

    Raises
    ------
    InputError
        If the view is refused.
    RefusedError
        If there is no map over this axis.
    """
    require_map(view)
    values, rows = axis_values(view), []
    for value in values:
        if stopped is not None and stopped():
            break
        rows.append(certified_row(view, value))
        if told is not None:
            told(len(rows), len(values))
    return RowTable(tuple(rows))


def certified_row(view: View, value: Fraction) -> CertifiedRow:
    """One value of `certified_boundary`, known at once when it was asked before.

    Examples
    --------
    >>> view = View("gradient_descent", 2, "full", local_steps=1, over="n")
    >>> row = certified_row(view, Fraction(2))
    >>> round(row.certified, 3), row.stable
    (1.0, 1.0)
    """
    found = _certified(law_of(at_value(view, value), *ENDS))
    if isinstance(found, str):
        nan = math.nan
        return CertifiedRow(float(value), str(value), nan, nan, False, found)
    certified, stable = found.certified_boundary, found.stability_boundary
    missing = math.nan if found.remark else math.inf
    doubt = "; the search was inconclusive" if found.unsure else ""
    remark = f"no certificate was found{doubt}" if certified is None else ""
    return CertifiedRow(
        float(value),
        str(value),
        math.nan if certified is None else float(certified),
        missing if stable is None else float(stable),
        found.contraction,
        found.remark or remark,
    )


@lru_cache(maxsize=256)
def _certified(view: View) -> RowFound | str:
    """Find the boundaries of a view in the form of `law_of`, or why there are none."""
    ends = view.number("strong_convexity"), view.number("smoothness")
    algorithm, law = view.algorithm_object(), view.participation()
    missing = _missing(view)
    try:
        return missing or find_row(Row(Fraction(1), algorithm, law, *ends), [])
    except RefusedError as error:
        return str(error).rstrip(".")


def _missing(view: View) -> str:
    """Say what keeps every certificate of a view away; nothing if nothing does."""
    if view.number("strong_convexity") == view.number("smoothness"):
        return "a certificate needs a strong convexity below the smoothness"
    return ""


def certified_point(view: View) -> RowTable[PointRow]:
    """Certified rate and its floor at the point: a second or so.

    Raises
    ------
    InputError
        If the view is refused.

    Examples
    --------
    >>> view = View("gradient_descent", 2, "full", local_steps=1, step_size="1/4")
    >>> [(row.text, row.verdict) for row in certified_point(view).rows]
    [('0.902505', 'CERTIFIED'), ('135', 'CERTIFIED'), ('0.9025', 'SUPPORTED')]
    """
    require_sound(view)
    key = law_of(view, "strong_convexity", "smoothness", "step_size")
    found, floor, worst, moves = _certified_rate(key)
    verdict = Verdict.CERTIFIED if found.rate is not None else Verdict.INCONCLUSIVE
    rate = math.nan if found.rate is None else found.rate
    scope = found.reason or (
        "every mu-strongly convex, L-smooth f_i in any dimension"
        f"{', to a neighbourhood' if moves else ''}; {_OF_V}, ansatz {found.level}"
    )
    least = "floor", "lower bound of any certified rate"
    told = f"the worst scalar quadratics found, in rationals: {worst}"
    below = str(Verdict.SUPPORTED), FLOOR, told
    more = str(verdict), CERTIFIED, scope
    return RowTable(
        (
            bound_row("certified_rate", "certified rate", found.rate, *more, up=True),
            rounds_row(
                "certified_rounds",
                "certified rounds to 1e-6",
                rate,
                NO_ROUNDS if moves and found.rate is not None else str(verdict),
                scope,
                near=moves,
            ),
            bound_row(*least, floor, *below, up=False),
        )
    )


@lru_cache(maxsize=256)
def _certified_rate(view: View) -> tuple[Certified, Fraction | None, str, bool]:
    """Certify at the point; floor, worst instance, and whether x* is left."""
    ends = view.number("strong_convexity"), view.number("smoothness")
    algorithm, law = view.algorithm_object(), view.participation()
    try:
        worst = worst_of(QuadraticRates.of(algorithm, law), *ends)
    except RefusedError as error:
        return Certified("not_certified", str(error).rstrip(".")), None, "", False
    near = "" if worst.occurs else "near "
    floor, text = worst.lower_bound, f"{near}{worst.instance}"
    if missing := _missing(view):
        return Certified("not_certified", missing), floor, text, False
    try:
        ladder = Ladder.of(algorithm, law, *ends)
        found = ladder.certify(view.number("step_size"), worst.lower_bound)
    except RefusedError as error:
        return Certified("not_certified", str(error).rstrip(".")), floor, text, False
    return found, floor, text, ladder.neighbourhood

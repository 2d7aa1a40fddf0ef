"""The axis of the step-size map: its values, and how a click moves a view."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor, isfinite, log10

from flverify._core.checks import choice
from flverify._core.errors import DomainError, RefusedError
from flverify.explore.view import (
    LARGEST,
    LONGEST,
    MOST_CLIENTS,
    MOST_LOCAL_STEPS,
    ONE_STEP,
    OVER,
    SMALLEST,
    View,
)

LABELS = {
    "tau": "local steps τ",
    "p": "smallest inclusion probability p",
    "n": "number of clients N",
    "kappa": "condition number L/μ",
}
LOGARITHMIC = ("n", "kappa")
DIGITS = 3  # significant digits of what a click says

_VALUES = {
    "p": ("1/20", "1/10", "1/5", "2/5", "3/5", "4/5", "1"),
    "n": ("1", "2", "4", "8", "16", "32", "64"),
    "kappa": ("1", "3", "10", "30", "100", "300", "1000"),
}


def map_refusal(view: View) -> str | None:
    """Say in one sentence why there is no map; None if there is one.

    Examples
    --------
    >>> descent = View(algorithm="gradient_descent", local_steps=1, over="tau")
    >>> map_refusal(descent)
    'gradient descent has no local steps to go over; choose another axis for the map.'
    """
    if view.refusal() is not None:
        return view.refusal()
    if view.over == "tau" and view.algorithm in ONE_STEP:
        name = view.algorithm.replace("_", " ")
        return f"{name} has no local steps to go over; choose another axis for the map."
    return None


def require_map(view: View) -> None:
    """Check that a view has a map.

    Raises
    ------
    RefusedError
        With the sentence of `map_refusal`.
    """
    refused = map_refusal(view)
    if refused is not None:
        raise RefusedError(refused)


def axis_value(view: View) -> Fraction:
    """Return where the view itself lies on its axis.

    Examples
    --------
    >>> axis_value(View(strong_convexity="1/8", over="kappa"))
    Fraction(8, 1)
    """
    values = {
        "tau": Fraction(view.local_steps),
        "p": min(view.chances()),
        "n": Fraction(view.n_clients),
        "kappa": view.number("smoothness") / view.number("strong_convexity"),
    }
    return values[view.over]


def axis_values(view: View) -> tuple[Fraction, ...]:
    """Return the values of the map, in order, the view's own among them.

    Examples
    --------
    >>> [str(v) for v in axis_values(View(over="p", probability="1/2"))]
    ['1/20', '1/10', '1/5', '2/5', '1/2', '3/5', '4/5', '1']
    """
    if view.over == "tau":
        return tuple(Fraction(k + 1) for k in range(MOST_LOCAL_STEPS))
    listed = [Fraction(text) for text in _VALUES[view.over]]
    if view.over == "p" and view.law == "uniform":
        n = view.n_clients
        listed = [Fraction(max(1, round(p * n)), n) for p in listed]
    if view.over == "p" and view.law == "bernoulli_spread":
        most = view.number("p_max")
        listed = [*(p for p in listed if p < most), most]
    if view.over == "n" and view.law == "uniform":
        listed = [v for v in listed if v >= view.cohort]
    if view.over == "kappa":
        listed = [v for v in listed if view.number("smoothness") / v >= SMALLEST]
    return tuple(sorted({*listed, axis_value(view)}))


def at_value(view: View, value: Fraction) -> View:
    """Return the view with another value on its axis, everything else kept.

    Over p full participation is taken for the law in which everybody takes part
    independently (ProxSkip: together) with probability p; uniform cohorts change
    their size.

    Raises
    ------
    DomainError
        If the value lies outside the axis.

    Examples
    --------
    >>> at_value(View(law="uniform", over="p"), Fraction(1, 8)).cohort
    2
    >>> at_value(View(over="kappa"), Fraction(100)).strong_convexity
    '1/100'
    """
    choice(view.over, "over", OVER)
    if view.over == "kappa":
        mu = view.number("smoothness") / value
        exact = str(mu)
        # an exact text that would be too long is taken to 15 digits
        text = exact if len(exact) <= LONGEST else f"{float(mu):.14e}"
        end = view.smoothness if value == 1 else text
        return replace(view, strong_convexity=end)
    if view.over == "p":
        return _at_chance(view, value)
    if value.denominator != 1:
        raise DomainError(f"{view.over} must be whole; got {value}; round it.")
    name = {"tau": "local_steps", "n": "n_clients"}[view.over]
    return replace(view, **{name: int(value)})  # type: ignore[arg-type]


def _at_chance(view: View, value: Fraction) -> View:
    if view.law == "uniform":
        return replace(view, cohort=int(value * view.n_clients))
    if view.law == "bernoulli_spread":
        return replace(view, p_min=str(value))
    together = view.law == "all_or_nothing" or view.algorithm == "proxskip"
    law = "all_or_nothing" if together else "bernoulli"
    if view.law == "full" and value == 1:
        return view
    return replace(view, law=law, probability=str(value))


def moved(view: View, value: float, step_size: float) -> View:
    """Return the view at the point of its map that was clicked, in short numbers.

    What lies outside the axis is brought to its nearest end.

    Raises
    ------
    DomainError
        If a number is not finite, or the view has no such axis.

    Examples
    --------
    >>> there = moved(View(over="tau"), 2.7, 0.012345)
    >>> there.local_steps, there.step_size
    (3, '0.0123')
    """
    if not (isfinite(value) and isfinite(step_size)):
        raise DomainError(
            f"a point must be finite; got {value} and {step_size}; click inside."
        )
    placed = replace(view, step_size=_short(step_size))
    place = Fraction(_short(value))
    if view.over in ("tau", "n"):
        least = view.cohort if (view.over, view.law) == ("n", "uniform") else 1
        most = MOST_LOCAL_STEPS if view.over == "tau" else MOST_CLIENTS
        return at_value(placed, Fraction(min(max(round(value), least), most)))
    if view.over == "kappa":
        most_kappa = view.number("smoothness") / SMALLEST
        kappa = min(max(place, Fraction(1)), most_kappa)
        if kappa == 1:
            return replace(placed, strong_convexity=view.smoothness)
        mu = float(view.number("smoothness") / kappa)
        return replace(placed, strong_convexity=_short(mu))
    if view.law == "uniform":
        n = view.n_clients
        return replace(placed, cohort=min(max(round(value * n), 1), n))
    most_p = view.number("p_max") if view.law == "bernoulli_spread" else Fraction(1)
    chance: Fraction = min(max(place, Fraction(1, 100)), most_p)
    return at_value(placed, chance)


def _short(value: float) -> str:
    """Write a number with few digits, inside what a view takes."""
    inside = min(max(value, float(SMALLEST)), float(LARGEST))
    places = DIGITS - 1 - floor(log10(inside))
    rounded = round(inside, places)
    return f"{rounded:.{max(places, 0)}f}"

"""What is averaged over rounds: f(x) - f(x*), or |grad f(x)|^2, f the mean of the f_i.

Of both, f(x*) is the smallest value of f, so that f(x) - |grad f(x)|^2/(2L), which is
at least f after a step of 1/L, is not below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from ._groups import Group, Point, State
from ._sums import Vector, demand, total

MEASURES = ("gap", "gradient")


def known_at(points: Mapping[Any, Point], g: Group, x: Vector) -> list[Point]:
    """Return the points of clients that lie at x."""
    own = (p for (_, parts), p in points.items() if parts == g.parts)
    return [p for p in own if p.x == x]


def gap(state: State, points: Mapping[Any, Point], x: Vector) -> Vector:
    """Return f(x) - f(x*), from gradients or value terms at x."""
    values = [at for name, at in state.at.items() if name.startswith("value:")]
    rows = []
    for i, g in enumerate(state.groups):
        known = [*known_at(points, g, x), *(at[i] for at in values if at[i].x == x)]
        demand(known != [], "f must be known where it is asked for")
        rows.append((g, known[0].f))
    return _mean(rows)


def slope(state: State, points: Mapping[Any, Point], x: Vector) -> Vector:
    """Return grad f(x), from gradients that are taken there."""
    rows = []
    for g in state.groups:
        known = known_at(points, g, x)
        demand(known != [], "all gradients must be known where theirs is asked for")
        rows.append((g, known[0].g))
    return _mean(rows)


def measured(of: Any, state: State, points: Mapping[Any, Point]) -> Vector:
    """Return what is averaged, at the model."""
    demand(of in MEASURES, f"what is averaged must be one of {MEASURES}")
    x = state.at["model"][0]
    if of == "gap":
        return gap(state, points, x)
    g = slope(state, points, x)
    return g @ g


def above_least(
    state: State, points: Mapping[Any, Point], x: Vector, L: Fraction
) -> Vector:
    """Return f(x) - f(x*) - |grad f(x)|^2/(2L), which is not negative."""
    g = slope(state, points, x)
    return gap(state, points, x) - g @ g / (2 * L)


def _mean(rows: Iterable[tuple[Group, Vector]]) -> Vector:
    pairs = list(rows)
    return total(x * g.many for g, x in pairs) / sum(g.many for g, _ in pairs)

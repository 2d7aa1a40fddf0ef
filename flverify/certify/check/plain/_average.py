"""What is measured at the model: f(x) - f(x*), or |grad f(x)|^2, f the mean of the f_i.

Of both, f(x*) is the smallest value of f, so that f(x) - |grad f(x)|^2/(2L), which is
at least f after a step of 1/L, is not below it.  They are averaged over rounds; or the
second is at least 2 beta times the first, a hypothesis, and f(x) - f(x*) has a rate.
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


def own_weight(c: Any) -> Fraction:
    """Return the factor of what is measured."""
    weight: Fraction
    if c.kind == "average":
        weight = c.average.weight
        demand(c.rho == 1 and weight > 0, "an average has the rho 1 and a weight")
        return weight
    weight, beta, v = c.dominance.weight, c.dominance.beta, c.dominance.v
    demand(c.neighbourhood is None and c.rho < 1, "a gap has a rho below 1, and no c")
    demand(weight >= 0 and beta > 0 and v > 0, "a weight, beta and v are not negative")
    return weight


def measured(c: Any, state: State, points: Mapping[Any, Point]) -> Vector:
    """Return what is averaged, or what the hypothesis says is not negative."""
    x = state.at["model"][0]
    if c.kind == "average":
        demand(c.average.of in MEASURES, f"what is averaged is one of {MEASURES}")
        if c.average.of == "gap":
            return gap(state, points, x)
    g = slope(state, points, x)
    if c.kind == "average":
        return g @ g
    beta: Fraction = c.dominance.beta
    return g @ g - gap(state, points, x) * (2 * beta)


def above_least(
    state: State, points: Mapping[Any, Point], x: Vector, L: Fraction
) -> Vector:
    """Return f(x) - f(x*) - |grad f(x)|^2/(2L), which is not negative."""
    g = slope(state, points, x)
    return gap(state, points, x) - g @ g / (2 * L)


def _mean(rows: Iterable[tuple[Group, Vector]]) -> Vector:
    pairs = list(rows)
    return total(x * g.many for g, x in pairs) / sum(g.many for g, _ in pairs)

"""What a certificate has that is for functions which need not be strongly convex.

It is a bound of an average over rounds, or a rate of the gap f(x) - f(x*) where the
gradient of f dominates it (the condition of Polyak and Lojasiewicz).  The short checker
alone judges both.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ._json import choice, entries, items, number, require, whole

MEASURES = {"gap": "[f(x_r) - f(x*)]", "gradient": "|grad f(x_r)|^2"}
FAMILIES = (
    "For all L-smooth f_1, ..., f_N with convex f_i - (mu/2) |x|^2, x* a global "
    "minimiser of their mean f"
)
START = "C0 [f(x_0) - f(x*)] + C1 |x_0 - x*|^2 + C2 mean|grad f_i(x*)|^2"
AVERAGE = (
    " and every round r: E V_{{r+1}} <= E V_r - s E{} + c mean|grad f_i(x*)|^2, "
    "V_r >= 0 and V_0 <= "
)
GAP = (
    " with |grad f(x)|^2 >= 2 beta [f(x) - f(x*)] for all x, and every round r: "
    "v E[f(x_r) - f(x*)] <= rho^r ("
)
STATEMENTS = {
    f"average of {of}": f"{FAMILIES}{AVERAGE.format(measure)}{START}."
    for of, measure in MEASURES.items()
} | {"gap": f"{FAMILIES}{GAP}{START})."}
KEYS = {"average": ["average"], "gap": ["dominance"]}  # beside those of every kind


class Wide(NamedTuple):
    """What is measured, times which weight, and what V is at least a multiple of."""

    meaning: str  # a key of STATEMENTS
    of: str | None
    weight: Fraction
    beta: Fraction = Fraction(0)
    least: Fraction = Fraction(0)


def wide(c: Mapping[str, Any], kind: str) -> Wide | None:
    """Read what a kind has of its own; None if it is for strongly convex functions."""
    if kind == "average":
        read = entries(c["average"], ["of", "weight"], "average")
        of = choice(read["of"], "what is averaged", list(MEASURES))
        weight = Fraction(number(read["weight"], "weight"))
        require(weight > 0, "an average needs a weight above 0")
        return Wide(f"average of {of}", of, weight)
    if kind == "gap":
        read = entries(c["dominance"], ["beta", "weight", "v"], "dominance")
        names = ("beta", "weight", "v")  # by name: a file may have any order
        beta, weight, v = (Fraction(number(read[key], key)) for key in names)
        require(beta > 0 and weight >= 0 and v > 0, "beta and v must be above 0")
        require(c["neighbourhood"] is None, "a gap has no neighbourhood")
        return Wide("gap", None, weight, beta, v)
    return None


def function_class(value: object, kind: str) -> tuple[Fraction, Fraction]:
    """Read mu and L, which these kinds allow more of."""
    c = entries(value, ["strong_convexity", "smoothness"], "function_class")
    mu = Fraction(number(c["strong_convexity"], "strong_convexity"))
    smoothness = Fraction(number(c["smoothness"], "smoothness"))
    if kind in KEYS:  # f_i need not be convex
        require(
            -smoothness <= mu < smoothness,
            "the constants must satisfy -smoothness <= strong_convexity < smoothness",
        )
        return mu, smoothness
    require(
        0 < mu < smoothness,
        "the constants must satisfy 0 < strong_convexity < smoothness; "
        "with equality all clients are one known quadratic up to a shift",
    )
    return mu, smoothness


def read_least(of_values: object, at_start: object, n_values: int) -> None:
    """Look at the weights of f >= f(x*), which the short checker uses."""
    for row in items(of_values, "positivity.minimum"):
        v, weight = items(row, "an entry of positivity.minimum", 2)
        whole(v, "the value of a bound", 0, n_values - 1)
        number(weight, "a weight")
    number(at_start, "start.minimum")

"""Rounding: equalities hold exactly afterwards, and what cannot be mended shows."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from flverify.certify.inequality import Inequality, Sweep
from flverify.certify.rationalise import Mended, rationalise

F = Fraction
UPPER, POINT = "decrease/upper 0/class 0", "decrease/class 0/call:0"


def totals_and_points():
    """Weights that add up to rho times another, and a value between multipliers."""
    out = Inequality({"mean": 1}, np.float64)
    weights = [out.new(("upper", 0, 0, b), True) for b in ("star", "call:0")]
    total = out.new(("delta", 0), False)
    there = out.new(("m", 0, "call:0", "star"), True)
    back = out.new(("m", 0, "star", "call:0"), True)
    for unknown in weights:
        out.equal(UPPER, unknown, 1)
    out.equal(UPPER, total, 0, -1)
    for unknown, factor in ((weights[1], -1), (there, 1), (back, -1)):
        out.equal(POINT, unknown, factor)
    for unknown in (*weights, there, back):
        out.put("mean", unknown, np.ones((1, 1)))
    return out


@pytest.mark.parametrize("seed", range(20))
def test_equalities_hold_exactly_after_rounding(seed):
    draw, rho = Random(seed), F(29, 31)
    system = totals_and_points()
    found = np.array([draw.uniform(1, 2) for _ in system.unknowns])
    found[2] = (found[0] + found[1]) / float(rho)
    values = rationalise(system, found, rho, 4)
    assert set(system.totals_at(values, rho).values()) == {0}
    assert all(values[u] >= 0 for u in system.unknowns)
    # the repair is as small as the rounding, but for what a value needed
    for unknown, value in zip(system.unknowns[:3], found, strict=False):
        assert abs(values[unknown] - F(value)) < F(3, 10**4)
    fixed = {("delta", 0): F(3)}
    assert rationalise(system, found, rho, 4, fixed)["delta", 0] == 3
    assert Mended(Sweep(system)).worst_pivot(found, float(rho)) > 0


def test_a_negative_multiplier_is_rounded_to_zero():
    system = totals_and_points()
    found = np.array([1.0, -0.25, 0.75, -0.5, 2.0])
    values = rationalise(system, found, F(1), 3)
    # what is left over goes to the largest weight
    assert values["upper", 0, 0, "call:0"] == 0
    assert values["upper", 0, 0, "star"] == F(3, 4)
    assert (values["m", 0, "call:0", "star"], values["m", 0, "star", "call:0"]) == (
        2,
        2,
    )


def test_a_margin_is_none_where_a_weight_must_be_negative():
    # the weights add up to -3, whatever else is large
    system = totals_and_points()
    found = np.array([1.0, 0.5, -3.0, 9.0, 9.0])
    assert Mended(Sweep(system)).worst_pivot(found, 1.0) < 0
    assert Mended(Sweep(system)).worst_pivot(found * [1, 1, -1, 1, 1], 1.0) > 0


def test_the_worst_pivot_is_the_least_eigenvalue_of_all_blocks():
    system = Inequality({"one": 2, "two": 2}, np.float64)
    a = system.new(("a",), True)
    system.put("one", a, np.diag([3.0, 2.0]), np.diag([0.0, -1.0]))
    system.put("two", a, np.array([[2.0, 1.0], [1.0, 2.0]]))
    assert Mended(Sweep(system)).worst_pivot(np.array([2.0]), 1.5) == pytest.approx(1)
    assert Mended(Sweep(system)).worst_pivot(np.array([2.0]), 0.5) == pytest.approx(2)


def test_what_is_put_twice_is_added():
    system = Inequality({"one": 1}, np.float64)
    a = system.new(("a",), True)
    for part in (3.0, 4.0):
        system.put("one", a, np.array([[part]]), np.array([[-part]]))
    assert system.blocks_at({a: 2.0}, 0.5)["one"].tolist() == [[7.0]]

"""Small steps lead the model to the only minimiser of (3), whatever convex losses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.claims.agnostic_horizon import at_the_horizon, small_steps
from flverify.claims.verdict import Verdict

F = Fraction
GRID = [F(n, 20) for n in range(21)]


def slope(i: int, x: float) -> float:
    """Client 1 pulls to 1; client 2 pulls to 0, less from 1/2 on: no quadratic."""
    return min(x, 0.5) if i else x - 1


def value(x: Fraction) -> Fraction:
    """(3) for equal weights, up to a constant; least at 1/2."""
    bent = x * x / 2 if x <= F(1, 2) else x / 2 - F(1, 8)
    return ((x - 1) ** 2 / 2 + bent) / 2


def error_after(steps: int, rounds: int) -> float:
    """E|model - 1/2|^2 for a step size of 1/steps, one client at a time, two steps."""
    models = {1.0: 1.0}
    for _ in range(rounds):
        after: dict[float, float] = {}
        for x, chance in models.items():
            for i in (0, 1):
                y = x - slope(i, x) / steps
                y = round(y - slope(i, y) / steps, 3)
                after[y] = after.get(y, 0.0) + chance / 2
        models = after
    return sum((x - 0.5) ** 2 * p for x, p in models.items())


@pytest.mark.parametrize("judged", [small_steps, at_the_horizon])
def test_only_the_weights_of_2_are_proved(judged):
    found = judged(1)
    assert found.verdict == Verdict.PROVED
    assert found.scope.startswith("every convex f_i with one minimiser of (3) on C")
    for power in (0, 2):
        assert judged(power).verdict == Verdict.REFUTED
        assert judged(power).evidence["part"] == "weights"


@pytest.mark.parametrize("delta", [F(1, 100), F(1, 16), F(1, 4)])
def test_values_bound_distances_by_hand(delta):
    best = F(1, 2)
    far = [x for x in GRID if (x - best) ** 2 >= delta]
    least = min(value(x) for x in far) - value(best)
    kappa = least / max((x - best) ** 2 for x in GRID)
    assert kappa > 0
    for x in GRID:
        assert value(x) - value(best) >= kappa * ((x - best) ** 2 - delta)


def test_the_error_falls_with_the_step_size():
    errors = [error_after(n, 6 * n) for n in (2, 8, 32)]
    assert errors[0] > 3 * errors[1] / 2 > 3 * errors[2]
    assert errors[2] < 0.02

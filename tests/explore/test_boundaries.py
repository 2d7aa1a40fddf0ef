"""The fast boundary of the map, beside closed forms, and never beyond them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify.explore import crossing, slices
from flverify.explore.corners import all_corners, law_of, stretched, unit_rates
from flverify.explore.view import View


def boundary_at(view):
    rows = slices.boundary(view).rows
    return next(row for row in rows if row.value == float(slices.axis_value(view)))


@pytest.mark.parametrize("clients", [1, 16, 100])
@pytest.mark.parametrize("chance", ["1/1000000", "1/100000", "1/100", "1/5"])
def test_focus_of_all_or_nobody_is_stable_below_its_closed_form(clients, chance):
    # x -> (1 - a) x with chance p, else x -> x - z with z the last move, a = eta N L:
    # its second moments stand still at a = p/(1 - p/2)
    view = View("focus", clients, "all_or_nothing", chance, local_steps=1)
    p = Fraction(chance)
    edge = float(p / (1 - p / 2) / clients)
    found = boundary_at(view)
    assert edge * (1 - 1e-5) < found.boundary <= edge
    assert found.worst == f"{clients} of {clients} clients at L"


@pytest.mark.parametrize(
    "view",
    [
        View("scaffold", 3, "uniform", cohort=2, local_steps=4),
        View("scaffold", 3, "bernoulli", "1/1000", local_steps=4),
        View("scaffold", 2, "full", local_steps=8, strong_convexity="1/10"),
        View("scaffold", 16, "bernoulli_spread", local_steps=8),
    ],
    ids=["cohorts", "rare", "full", "spread"],
)
def test_two_eigenvalues_that_reach_one_together_are_no_step_over_the_edge(view):
    # at eta L = 2 an even number of local steps leaves x where it is
    rows = [slices.boundary(View(**{**vars(view), "over": "kappa"})).rows[0]]
    for row in [*rows, boundary_at(view)]:
        assert 2 * (1 - 1e-4) < row.boundary <= 2


@pytest.mark.parametrize("smoothness", ["1", "3", "1/7"])
def test_the_edge_of_descent_is_rounded_down(smoothness):
    view = View("gradient_descent", 4, "full", local_steps=1, smoothness=smoothness)
    for row in slices.boundary(View(**{**vars(view), "over": "n"})):
        edge = 2 / (float(Fraction(smoothness)) * row.value)
        assert edge * (1 - 1e-6) < row.boundary <= edge


@pytest.mark.parametrize(("local_steps", "edge"), [(2, 2), (4, 2), (8, 2), (1, 4 / 3)])
def test_tiny_steps_of_rare_clients_are_no_edge_by_rounding(local_steps, edge):
    # one half comes once in a million rounds, the other always
    view = View(
        "fedvarp",
        4,
        "bernoulli_spread",
        p_min="1/1000000",
        p_max="1",
        strong_convexity="1",
        local_steps=local_steps,
        over="n",
    )
    assert boundary_at(view).boundary == pytest.approx(edge, rel=1e-5)


@pytest.mark.parametrize("local_steps", [6, 8])
def test_focus_of_many_local_steps_is_stable_up_to_one_over_the_smoothness(local_steps):
    view = View("focus", local_steps=local_steps, over="n")
    assert 1 - 1e-3 < boundary_at(view).boundary < 1


def test_every_doubtful_ray_is_asked():
    # descent of one client, h = 1 and 1/2: at eta = 2 (1 + 1e-9) only the first expands
    rates = unit_rates(law_of(View("gradient_descent", 1, "full", local_steps=1)))
    for reach, expands in [(1e-9, True), (-1e-9, False)]:
        batch = stretched(all_corners((1,), 0.5), np.array([2 * (1 + reach)]))
        steep = int(np.argmax(batch.curvatures.max(axis=1)))
        told = np.full(len(batch.clients), 1 + 1e-8)  # floats tell the other as larger
        told[steep] = 1 - 1e-8
        assert crossing._expands(rates, batch, told) is expands

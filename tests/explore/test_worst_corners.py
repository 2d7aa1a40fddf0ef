"""The exact rate at the point is the largest over the corners that its words name."""

from __future__ import annotations

import numpy as np
import pytest

from flverify.certify.quadratics import search
from flverify.explore import slices
from flverify.explore.corners import law_of, scaled, unit_rates
from flverify.explore.view import View


def exact_rate(view):
    return next(row for row in slices.point(view) if row.name == "exact_rate")


def two_groups(clients, scale, ratio, rates):
    assert rates.classes.sizes == (100,)
    values = np.array([[scale, scale * ratio]])
    return search.two_groups((100,), np.array([[clients]]), values)


@pytest.mark.parametrize(
    ("view", "rate"),
    [
        # everybody takes part: x -> (1 - eta L)^tau x, and its square
        (View("scaffold", 2, "full", step_size="3/2"), (1 - 1.5) ** 4),
        (View("scaffold", 3, "uniform", cohort=3, step_size="3/2"), (1 - 1.5) ** 4),
        # the mean of all models takes a plain step, whatever the coin
        (
            View("proxskip", 2, "all_or_nothing", local_steps=1, step_size="3/2"),
            (1 - 1.5) ** 2,
        ),
    ],
    ids=["scaffold", "cohort of all", "proxskip"],
)
def test_clients_of_one_curvature_have_no_directions_between_them(view, rate):
    one = View(**{**vars(view), "strong_convexity": "1"})
    assert exact_rate(one).value == pytest.approx(rate, rel=1e-12)


def test_of_a_hundred_clients_every_count_at_the_smoothness_is_tried():
    view = View("focus", 100, "uniform", cohort=1, local_steps=3, step_size="1/100")
    row = exact_rate(view)
    assert "worst of all" in row.scope
    assert row.scope.endswith("41 of 100 clients at L")
    rates = unit_rates(law_of(view))
    ratio, scale = scaled(view)
    each = [
        rates.rates(two_groups(k, scale, ratio, rates))[0] for k in (40, 41, 42, 50)
    ]
    assert row.value == pytest.approx(max(each), rel=1e-12)


def test_where_some_corners_are_tried_nobody_says_all():
    assert "worst of some" in exact_rate(View(law="bernoulli_spread")).scope
    few = View(law="bernoulli_spread", n_clients=4)
    assert "worst of all" in exact_rate(few).scope

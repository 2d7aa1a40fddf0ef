"""Next to 1 a rate is on its side, and rounds and errors that follow from it hold."""

from __future__ import annotations

import csv
import io
import math
from fractions import Fraction

import pytest

from flverify.explore import slices
from flverify.explore.near_one import curves_rate, worst_rate
from flverify.explore.rounds import rounds_of
from flverify.explore.view import View

RARE = "1/1000000"
MILLIONTH = math.log(1e6)
STUCK = {  # FOCUS with eta L next to 1 moves by a share of (1 - eta L)^(tau - 1)
    ("99/100", 8): Fraction(1, 10**14),
    ("9999/10000", 4): Fraction(1, 10**12),
    ("1." + "0" * 21 + "1", 8): Fraction(1, 10**154),
}


def rows_of(view):
    return {row.name: row for row in slices.point(view)}


@pytest.mark.parametrize(("step_size", "steps"), STUCK, ids=str)
def test_a_rate_next_to_1_is_on_its_side_and_tells_its_rounds(step_size, steps):
    view = View("focus", 1, "full", local_steps=steps, step_size=step_size)
    gap = STUCK[step_size, steps]
    rate, corner, every = worst_rate(view)
    assert every
    assert str(corner) == "1 of 1 clients at L"
    assert abs(1 - rate) == pytest.approx(gap, rel=1e-6)
    row, rounds = (rows_of(view)[name] for name in ("exact_rate", "exact_rounds"))
    contracts = Fraction(step_size) < 1
    assert (row.value < 1) == (rate < 1) == contracts
    assert row.text.startswith("1 - " if contracts else "1 + ")
    assert "in rationals" in row.scope
    if contracts:
        assert rounds.value == pytest.approx(float(MILLIONTH / gap), rel=1e-6)
        assert rows_of(view)["stationary_error"].value == 0
    else:
        assert rounds.text == "never"


def test_a_rate_that_comes_to_1_in_floats_takes_some_rounds():
    # (1 - eta mu)^2 per round of somebody, of whom there is one in a million rounds
    view = View("fedavg", 1, probability=RARE, step_size=RARE, strong_convexity=RARE)
    row, rounds = (rows_of(view)[name] for name in ("exact_rate", "exact_rounds"))
    assert row.value < 1
    assert row.text == "1 - 4e-18"
    assert rounds.value == pytest.approx(MILLIONTH / 4e-18)
    table = csv.DictReader(io.StringIO(slices.csv(view)))
    (told,) = (r["value"] for r in table if r["quantity"] == "exact_rate")
    assert float(told) < 1


def test_descent_that_is_slow_has_all_digits_of_its_rounds():
    flat = {"step_size": RARE, "strong_convexity": RARE, "local_steps": 1}
    rows = rows_of(View("gradient_descent", 2, "full", **flat))
    assert rows["exact_rate"].text == "1 - 4e-12"  # (1 - 2 eta mu)^2
    assert rows["exact_rounds"].text == "3.45388e+12"
    assert rows["exact_rounds"].value == pytest.approx(MILLIONTH / 4e-12, rel=1e-9)


def test_a_mode_that_hardly_leads_back_counts():
    # what clients store differs among those at L, and is told by 1/1000 squared
    view = View("focus", probability="9/10", local_steps=3, step_size="1.001")
    assert 1 - float(curves_rate(view)) == pytest.approx(1.8e-6, rel=1e-4)


def test_an_error_that_floats_lose_is_not_told():
    flat = {"step_size": RARE, "strong_convexity": RARE, "smoothness": RARE}
    rows = rows_of(View("fedavg", 2, probability=RARE, **flat))
    assert rows["exact_rate"].value < 1
    for name in ("stationary_error", "exact_rounds"):
        assert math.isnan(rows[name].value)
        assert (rows[name].text, rows[name].verdict) == ("none", "INCONCLUSIVE")


@pytest.mark.parametrize(
    ("view", "error"),
    [
        (View("focus", 2, "full", local_steps=8, step_size="999/1000"), 0),
        (View("focus", 1, "full", local_steps=4, step_size="9999/10000"), 0),
        (
            View("focus", 2, "uniform", cohort=1, step_size="0.9999", local_steps=7),
            None,
        ),
    ],
    ids=["both", "one", "one of two"],
)
def test_means_that_hardly_move_have_the_end_that_they_go_to(view, error):
    assert rounds_of(view).bias() == 0
    found = rows_of(view)["stationary_error"].value
    assert math.isnan(found) if error is None else found == error

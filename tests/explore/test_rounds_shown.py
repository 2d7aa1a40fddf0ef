"""Rounds that follow from a bound are enough of them, and are shown as enough."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.explore import slices
from flverify.explore.at_the_point import rounds_row, rounds_to
from flverify.explore.view import View


def text_of(rate):
    return rounds_row("certified_rounds", "rounds", rate, "CERTIFIED", "all").text


@pytest.mark.parametrize(
    ("rate", "rounds"),
    [
        (Fraction(1, 10), 6),
        (Fraction(1, 10) + Fraction(1, 10**12), 7),
        (Fraction(1, 1000), 2),
        (Fraction(1, 10**6), 1),
        (1 - Fraction(1, 10**12), 13815510557958),
        (1 - Fraction(1, 10**20), 1381551055796427410404),
    ],
)
def test_rounds_of_a_rational_rate_are_the_fewest_that_are_enough(rate, rounds):
    assert rounds_to(rate) == rounds
    if rounds < 100:
        assert rate**rounds <= Fraction(1, 10**6) < rate ** (rounds - 1)


def test_rounds_are_not_rounded_down_when_they_are_shown():
    assert text_of(1 - Fraction(1, 10**5)) == "1381545"  # not 1.38154e+06
    assert text_of(1 - Fraction(1, 10**12)) == "1.38156e+13"
    assert text_of(Fraction(9, 10)) == "132"


def test_printed_rounds_are_those_of_the_printed_rate():
    view = View("focus", 1, "full", local_steps=1, step_size="1/1000000", over="n")
    rows = {row.name: row.text for row in slices.point(view)}
    assert rows["printed_rate"] == "0.99999995"
    assert rows["printed_rounds"] == "276310205"  # ln(1e6) = 13.815510557964...


def test_a_rate_to_a_neighbourhood_tells_no_rounds_though_there_may_be_some():
    # one client of FedAvg takes plain steps and goes to x*
    view = View("fedavg", 1, "full", local_steps=3, step_size="1/20", over="n")
    rows = {
        row.name: row for row in (*slices.point(view), *slices.certified_point(view))
    }
    assert rows["exact_rounds"].value == 460  # 0.995^(6 r) <= 1e-6
    for kind in ("printed", "certified"):
        assert rows[f"{kind}_rate"].value < 1
        assert rows[f"{kind}_rounds"].text == "none"
        proved = {"CERTIFIED", "PROVED", "SUPPORTED"}
        assert rows[f"{kind}_rounds"].verdict not in proved


def test_certified_rounds_are_said_to_be_those_of_v():
    # V bounds the squared error up to a constant: it may take more rounds than V
    rows = slices.certified_point(View("focus", 2, step_size="1/50", over="n")).rows
    said = {row.name: row.scope for row in rows}
    for name in ("certified_rate", "certified_rounds"):
        assert "those of V" in said[name]

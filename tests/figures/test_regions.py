"""Regions: caps by hand, and stability by the moments engine on both sides."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from flverify import moments
from flverify.certify.rates import certify
from flverify.problems import Quadratics
from flverify.report import figures


@pytest.fixture(scope="module")
def figure():
    return figures.load_figure("regions")


@pytest.fixture(scope="module")
def stored(figure):
    return figure.read(figures.stored_csv("regions"))


def one(table, algorithm, over, value):
    (row,) = [
        r for r in table.where(algorithm=algorithm, over=over) if r.value == value
    ]
    return row


@pytest.mark.parametrize(
    ("algorithm", "over", "value", "cap"),
    [
        ("focus", "tau", 3, 3 * 0.1 / (27 * 8)),  # q = 1/8: 0.00195 is larger
        ("focus", "kappa", 2, (1 / 8) ** 1.5 / (8 * 8**0.5)),
        ("focus", "n", 64, (1 / 64) ** 1.5 / (8 * 8)),
        ("fedavg", "tau", 1, 1 / 3),
        ("fedavg", "tau", 5, 1 / 16),
        ("fedavg", "n", 2, 1 / 8),
    ],
)
def test_printed_caps_are_those_of_a_hand_calculation(
    stored, algorithm, over, value, cap
):
    found = one(stored, algorithm, over, value).printed
    assert cap * (1 - 1e-3) <= found <= cap * (1 + 1e-12)


def test_lines_are_in_order(figure, stored):
    for row in stored:
        assert 0 < row.printed < row.certified <= row.stable
    assert {row.over for row in stored} == set(figure.VALUES)
    assert all(row.stable == 2 for row in stored.where(algorithm="fedavg"))


def test_one_setting_is_the_same_in_every_panel(stored):
    rows = [
        one(stored, "focus", over, value)
        for over, value in (("tau", 3), ("n", 8), ("kappa", 10))
    ]
    assert len({(r.printed, r.certified, r.stable) for r in rows}) == 1


def worst(figure, over, value, step):
    """Largest exact rate over a grid of curvatures of two clients."""
    asked = figure.asked("focus", over, value, quick=True)
    grid = np.linspace(float(asked.strong_convexity), 1.0, 7)
    law = asked.law
    rates = []
    for h in product(grid, repeat=2):
        problem = Quadratics([[[v]] for v in h], [[0.0]] * 2)
        rates.append(
            moments(problem, asked.algorithm.retuned(step), law).mean_square_rate
        )
    return max(rates)


@pytest.mark.slow
@pytest.mark.parametrize(("over", "value"), [("kappa", 3), ("p", Fraction(2, 5))])
def test_stability_ends_where_the_moments_engine_says(figure, over, value):
    table = figure.table(quick=True)
    row = one(table, "focus", over, float(value))
    assert worst(figure, over, value, 0.99 * row.stable) < 1
    assert worst(figure, over, value, 1.01 * row.stable) > 1


def test_a_certificate_exists_below_the_certified_boundary(figure, stored):
    asked = figure.asked("focus", "kappa", Fraction(10), quick=False)
    end = one(stored, "focus", "kappa", 10).certified
    algorithm = asked.algorithm.retuned(Fraction(end).limit_denominator(10**6) * 9 / 10)
    found = certify(algorithm, asked.law, asked.strong_convexity, asked.smoothness)
    assert found.status == "certified"


def test_numbers_are_rounded_down(figure):
    assert figure.downwards(0.123456) == 0.1234
    assert figure.downwards(1.99999) == 1.999
    assert figure.downwards(1e-5) == 1e-5


def test_what_is_said_to_be_the_most_is_not_rounded_down(figure, stored):
    said = " ".join(figure.caption(stored).split())
    told = re.findall(r"and ([0-9.]+) times below the stability boundary at most", said)
    for name, most in zip(figure.ALGORITHMS, told, strict=True):
        rows = stored.where(algorithm=name).rows
        assert max(row.stable / row.certified for row in rows) <= float(most)

"""What is certified or printed as a bound is never shown better than it is."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from flverify.advise.class_wide import ClassWide
from flverify.advise.step_sizes import StepSizes
from flverify.advise.table import Advice
from flverify.algorithms import GradientDescent
from flverify.certify.rates import Certified
from flverify.certify.region import Region, Row, RowFound
from flverify.explore import certified
from flverify.explore.view import View
from flverify.participation import Full
from flverify.report import advice, regions
from flverify.report.numbers import bound
from flverify.report.region_bands import LINES
from flverify.report.region_figure import _label
from flverify.report.rows import RowTable
from flverify.report.theorem_plots import compared, points

RATE, CAP, END = Fraction("0.918114"), Fraction("0.0055559"), Fraction("0.12345")


def test_a_bound_holds_as_it_is_shown():
    for top in range(1, 2000, 7):
        value = Fraction(top, 1999)
        for digits in (2, 4, 12):
            low, high = (bound(value, digits, up=up) for up in (False, True))
            assert Fraction(low) <= value <= Fraction(high)
            assert float(high) - float(low) <= 10 ** (1 - digits) * float(high)


def test_advice_rounds_certified_rates_up_and_step_sizes_down(capsys):
    wide = ClassWide(Fraction(1, 10), RATE, END, "rate", "", CAP, RATE, "Theorem 1")
    named = [("focus", Advice(None, "", None, None, wide, None))]
    advice.show_table(named, 1e-6)
    shown = capsys.readouterr().out
    assert "0.91812" in shown
    assert "0.005555" in shown
    told = " ".join(advice.notes(named, 1e-6, ""))
    assert "certificates were found at step sizes up to 0.1234." in told
    assert "prints the rate 0.91812." in told


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((Fraction(2, 3), Fraction(2, 3)), "0.6666"),
        ((0.24616, 0.24617), "0.2461"),
        ((Fraction("0.12344"), Fraction("0.12345")), "0.1234"),
        ((Fraction(1, 2), Fraction(1, 2)), "0.5"),
        ((Fraction(10**4), math.inf), "any"),
    ],
)
def test_advice_calls_nothing_stable_that_was_seen_not_to_be(ends, said, capsys):
    steps = StepSizes(ends, Fraction(1, 10), Fraction(1, 2), exact=False)
    advice.show_table([("focus", Advice(steps, "", None, None, None, None))], 1e-6)
    assert capsys.readouterr().out.splitlines()[-1].split()[1] == said


def region(cap, boundary, unstable):
    row = Row(Fraction(1), GradientDescent("1"), Full(2), Fraction(1, 10), Fraction(1))
    found = RowFound(Fraction(1), (), cap, boundary, unstable, contraction=False)
    return Region("tau", (Fraction(1), Fraction(2)), (row,), (found,))


def test_boundaries_of_a_region_lie_on_their_side(capsys):
    ends = Fraction("0.5999996"), Fraction("0.5999997"), Fraction("0.6000004")
    regions.show(region(*ends))
    assert capsys.readouterr().out.count("0.599999") == 2
    regions.show(region(*ends))
    assert "0.600001" in capsys.readouterr().out


def test_lines_beyond_a_figure_are_labelled_by_what_holds():
    low, high = Fraction("0.000124"), Fraction(1966)
    labels = {line.name: _label(region(low, None, high), line) for line in LINES[::2]}
    assert labels["printed_cap"].endswith(": at most 0.00013")
    assert labels["stability_boundary"].endswith(": at least 1.9e+03")


@pytest.mark.parametrize("rate", ["0.9999989012", "0.61234561"])
def test_the_explorer_rounds_rates_up_and_their_floor_down(monkeypatch, rate):
    found = Certified("certified", "", Fraction(rate)), Fraction(2, 3), "2 x 1", False
    monkeypatch.setattr(certified, "_certified_rate", lambda _: found)
    rows = {r.name: r.text for r in certified.certified_point(View("focus", 2))}
    assert rows["certified_rate"] in ("0.99999891", "0.612346")
    assert rows["floor"] == "0.666666"


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (Fraction(2, 3) * 10**400, "6.66e+399", "6.67e+399"),
        (Fraction(2, 3) / 10**400, "6.66e-401", "6.67e-401"),
        (Fraction(-2, 3) / 10**320, "-6.67e-321", "-6.66e-321"),
        (Fraction(0), "0", "0"),
        (Fraction(10**400), "1e+400", "1e+400"),
    ],
)
def test_a_bound_beyond_floats_is_rounded_to_its_side_too(value, down, up):
    assert bound(value, 3, up=False) == down
    assert bound(value, 3, up=True) == up


def test_how_far_a_bound_is_exceeded_at_most_is_rounded_up():
    printed = points("a", "printed", [0, 1], np.array([1.0, 1.0]))
    exact = points("a", "exact", [0, 1], np.array([1.0, 1.2341]))
    told = compared(RowTable((*printed, *exact)), "(a)")
    assert told.endswith("from x = 1 to 1, 1.24 times at most.")

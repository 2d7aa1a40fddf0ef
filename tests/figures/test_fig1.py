"""Figure 1: the table against the printed figure and the formulas, entry by entry."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.claims.printed_mixing import FIGURE_1, LABELS
from flverify.report import figures
from flverify.report.matrices import entries, kind_in
from tests.contracts.figure_rules import drawn, texts

S, NODES = {1, 3}, range(5)
SIZE = Fraction(len(S))


@pytest.fixture(scope="module")
def fig1():
    return figures.load_figure("fig1")


@pytest.fixture(scope="module")
def table(fig1):
    return fig1.table(quick=False)


def exact(table, name, source):
    return {at: Fraction(v) for at, v in entries(table, name, source).items()}


@pytest.mark.parametrize("name", "RACW")
def test_the_printed_matrices_are_those_of_the_figure(table, name):
    printed = {(i, j): Fraction(FIGURE_1[name][i][j]) for i in NODES for j in NODES}
    assert exact(table, name, "print") == printed
    assert kind_in(table, name, "print").startswith(LABELS[name])


def pull(i, j):
    """(4), left."""
    return int((i in S and j == 0) or (i not in S and j == i))


def average(i, j):
    """(4), right, as printed."""
    if i == j != 0:
        return 1
    return 1 / SIZE if i in S and j == 0 else 0


def push(i, j):
    """The display after Figure 1, left."""
    return int((j in S and i == 0) or (j not in S and i == j))


def two_way(i, j):
    """The display after Figure 1, right, the sum on the diagonal without i = j."""
    if i == j:
        return 1 - sum(two_way(k, j) for k in NODES if k != j)
    return 1 / SIZE if (i in S and j == 0) or (j in S and i == 0) else 0


@pytest.mark.parametrize(
    ("name", "formula"), [("R", pull), ("A", average), ("C", push), ("W", two_way)]
)
def test_the_formulas_are_those_of_the_text(table, name, formula):
    by_hand = {(i, j): formula(i, j) for i in NODES for j in NODES}
    assert exact(table, name, "formula") == by_hand


def test_a_sum_over_all_i_is_solved_by_its_diagonal(table):
    found = exact(table, "W", "formula, sum over all i")
    for j in NODES:
        assert found[j, j] == 1 - sum(found[i, j] for i in NODES)
    assert kind_in(table, "W", "formula, sum over all i").startswith("neither")


def test_only_a_and_w_differ_from_their_figure(fig1, table):
    differing = {
        name: exact(table, name, "formula") != exact(table, name, "print")
        for name in "RACW"
    }
    assert differing == {"R": False, "A": True, "C": False, "W": True}
    caption = " ".join(fig1.caption(table).split())
    assert "A: 4 entries differ ([0, 1], [0, 3], [1, 0], [3, 0])" in caption
    assert "R: no entry differs" in caption
    transposed = {(j, i): v for (i, j), v in exact(table, "A", "formula").items()}
    assert transposed == exact(table, "A", "print")


def test_every_entry_is_written(fig1, table):
    canvas = drawn(fig1, table)
    shown = [text.get_text() for text in texts(canvas)]
    for value in ("1/2", "1/3", "2/3"):
        sources = ("print", "formula")
        times = sum(row.value == value for row in table if row.source in sources)
        assert shown.count(value) == times

"""Figures 6 and 7: matrices against the print, products, and means by enumeration."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.report import figures
from flverify.report.matrices import entries

NODES = range(5)
LAW = {(1, 3): Fraction(1, 2), (2, 3, 4): Fraction(1, 2)}
IDENTITY = [[int(i == j) for j in NODES] for i in NODES]
HALF = Fraction(1, 2)
PULL_13 = [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], IDENTITY[2], [1, 0, 0, 0, 0], IDENTITY[4]]
PULL_ALL = [[1, 0, 0, 0, 0]] * 5
AVERAGE_13 = [[0, HALF, 0, HALF, 0], *IDENTITY[1:]]
VIRTUAL_13 = [[0, HALF, 0, HALF, 0]] * 5

PRINTED = {
    ("fig6", "R", "pull"): PULL_13,
    ("fig6", "A", "pull"): IDENTITY,
    ("fig6", "R", "push"): IDENTITY,
    ("fig6", "A", "push"): AVERAGE_13,
    ("fig7", "R", "pull"): PULL_ALL,
    ("fig7", "A", "pull"): IDENTITY,
    ("fig7", "R", "push"): IDENTITY,
    ("fig7", "A", "push"): AVERAGE_13,
    ("fig7", "W", "push, then pull"): VIRTUAL_13,
    ("fig7", "W", "(35)"): VIRTUAL_13,
}


@pytest.fixture(scope="module")
def tables():
    return {
        name: figures.load_figure(name).table(quick=False) for name in ("fig6", "fig7")
    }


def exact(table, name, source):
    return {at: Fraction(v) for at, v in entries(table, name, source).items()}


def by_place(rows):
    return {(i, j): Fraction(rows[i][j]) for i in NODES for j in NODES}


@pytest.mark.parametrize("which", PRINTED, ids=" ".join)
def test_the_matrices_are_those_of_the_print(tables, which):
    figure, name, source = which
    assert exact(tables[figure], name, source) == by_place(PRINTED[which])


def pulled(cohort):
    return [IDENTITY[0 if i in cohort else i] for i in NODES]


def averaged(cohort):
    weight = Fraction(1, len(cohort))
    return [[weight * (j in cohort) for j in NODES], *IDENTITY[1:]]


def spread(cohort):
    return [averaged(cohort)[0]] * 5


@pytest.mark.parametrize(
    ("figure", "name", "of"),
    [("fig6", "R", pulled), ("fig6", "A", averaged), ("fig7", "W", spread)],
)
def test_means_are_sums_over_the_cohorts(tables, figure, name, of):
    mean = {
        (i, j): sum(chance * of(cohort)[i][j] for cohort, chance in LAW.items())
        for i in NODES
        for j in NODES
    }
    assert exact(tables[figure], name, "mean") == mean


@pytest.mark.parametrize("figure", ["fig6", "fig7"])
def test_the_weights_of_the_law_are_counted(tables, figure):
    p, q = (exact(tables[figure], name, "law") for name in "pq")
    for i in NODES:
        assert p[0, i] == sum(c for s, c in LAW.items() if i in s)
        assert q[0, i] == sum(c / len(s) for s, c in LAW.items() if i in s)
    assert sum(q.values()) == 1


def test_the_print_has_q_where_the_mean_pull_has_p(tables):
    table = tables["fig6"]
    p, q = (exact(table, name, "law") for name in "pq")
    mean, printed = (exact(table, "R", s) for s in ("mean", "mean, as (5) prints it"))
    for i in range(1, 5):
        assert (mean[i, 0], printed[i, 0]) == (p[0, i], q[0, i])
        assert (mean[i, i], printed[i, i]) == (1 - p[0, i], 1 - q[0, i])
    average = exact(table, "A", "mean")
    assert average == exact(table, "A", "mean, as (5) prints it")
    assert all(average[0, i] == q[0, i] for i in range(1, 5))
    caption = " ".join(figures.load_figure("fig6").caption(table).split())
    assert "R: [1, 0], [1, 1], [2, 0], [2, 2], [3, 0], [3, 3], [4, 0]" in caption
    assert "A: none" in caption


def test_the_mean_of_the_virtual_form_is_the_printed_one(tables):
    table = tables["fig7"]
    assert exact(table, "W", "mean") == exact(table, "W", "mean, as (37) prints it")
    caption = " ".join(figures.load_figure("fig7").caption(table).split())
    assert caption.count("differ: none") + caption.count("differ from (37): none") == 2

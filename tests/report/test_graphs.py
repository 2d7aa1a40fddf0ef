"""Graphs and matrices: which arrows and entries are drawn, and where."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import ArrowStyle, Circle, FancyArrowPatch, Rectangle

from flverify.report import graphs
from flverify.report.rows import RowTable
from flverify.report.schedules import Act, Mark, Plan, timeline, times


@pytest.fixture
def ax():
    return Figure().subplots()


def ends(arrow):
    return arrow._posA_posB


def nearest(places, point):
    return min(places, key=lambda name: np.hypot(*np.subtract(places[name], point)))


def test_an_entry_is_an_arrow_from_its_column_to_its_row(ax):
    places = graphs.star(2)
    graphs.links(ax, places, {(0, 1): "1/2", (2, 0): "1", (1, 1): "1", (1, 2): "0"})
    found = {
        tuple(nearest(places, end) for end in ends(patch))
        for patch in ax.patches
        if isinstance(patch, FancyArrowPatch)
    }
    assert found == {(1, 0), (0, 2)}


def test_entries_both_ways_are_one_arrow_with_two_heads(ax):
    graphs.links(ax, graphs.star(1), {(0, 1): "1/2", (1, 0): "1/2"})
    (arrow,) = ax.patches
    assert isinstance(arrow.get_arrowstyle(), ArrowStyle.CurveFilledAB)


def test_arrows_end_at_the_rims(ax):
    graphs.arrow(ax, (0, 0), (3, 4))
    tail, head = ends(ax.patches[0])
    assert np.hypot(*tail) == pytest.approx(1.25 * graphs.RADIUS)
    assert np.hypot(3 - head[0], 4 - head[1]) == pytest.approx(1.25 * graphs.RADIUS)


@pytest.mark.parametrize("kind", ["dashed", "faint"])
def test_what_sends_nothing_has_no_head(ax, kind):
    graphs.arrow(ax, (0, 0), (1, 1), **{kind: True})
    assert isinstance(ax.patches[0].get_arrowstyle(), ArrowStyle.Curve)
    assert (ax.patches[0].get_linestyle() == "-") == (kind == "faint")


def test_the_server_is_a_square_and_active_nodes_are_filled(ax):
    graphs.nodes(ax, graphs.star(2), active={0, 2})
    server, *clients = ax.patches
    assert isinstance(server, Rectangle)
    assert all(isinstance(client, Circle) for client in clients)
    white = [patch.get_facecolor()[:3] == (1, 1, 1) for patch in ax.patches]
    assert white == [False, True, False]
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]


def test_a_matrix_shows_every_entry_at_its_place(ax):
    graphs.matrix(ax, {(0, 0): "a", (0, 1): "b", (1, 0): "c", (1, 1): "0"}, [(1, 0)])
    where = {text.get_text(): text.get_position() for text in ax.texts[:4]}
    assert where == {"a": (0, 0), "b": (1, 0), "c": (0, -1), "0": (1, -1)}
    (ground,) = ax.patches
    assert ground.get_center() == pytest.approx((0, -1))


PLAN = Plan(
    titles={"s": "one"},
    marks={"pull": Mark("pull", "v", -0.25)},
    counted={"pull": "pulls"},
    steps=("a", "b", "c"),
    cohorts=((1,), (2,), (1, 2)),
    rounds=2,
    local_steps=3,
    n_clients=2,
    colour="0.2",
)
ACTS = RowTable(
    (Act("s", 1, 1, "pull"), Act("s", 4, 2, "pull"), Act("s", 5, 2, "pull"))
)


def test_a_time_line_has_a_mark_for_every_act(ax):
    timeline(ax, ACTS, PLAN)
    points = [line for line in ax.lines if line.get_marker() == "v"]
    assert [tuple(p) for p in points[0].get_xydata()] == [
        (0.75, 1),
        (3.75, 2),
        (4.75, 2),
    ]
    grounds = [(p.get_x(), p.get_y(), p.get_width()) for p in ax.patches]
    assert grounds == [(0.5, 0.5, 3), (3.5, 1.5, 3)]


def test_acts_are_counted_in_the_rounds_of_a_participant():
    assert times(ACTS, 2, "pull", range(4, 7)) == 2
    assert PLAN.counts(ACTS) == "pulls 1 or 2"
    assert PLAN.all_counts(ACTS) == "(a) pulls 1 or 2"
    assert PLAN.sets() == "S_0 = {1}; S_1 = {2}; S_2 = {1, 2}"

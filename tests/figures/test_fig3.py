"""Figure 3: its schedules are played and compared with the plain loop of FOCUS."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.reference import focus
from flverify.report import figures
from flverify.report.schedules import Act

STEP, N, TAU, ROUNDS = Fraction(1, 16), 4, 4, 2
COHORTS = [{1, 3}, {2, 3, 4}]


@pytest.fixture(scope="module")
def fig3():
    return figures.load_figure("fig3")


@pytest.fixture(scope="module")
def table(fig3):
    return fig3.table(quick=False)


def slope(client, x):
    """Gradient of client i = 1, ..., N."""
    return client * (x - 2 + client * client)


def played(acts):
    """Server x and y after both rounds: every node does what the table says.

    A gradient enters y as the change since the node's last one; x and y of the server
    start at 5 and 0, stored gradients at 0 as in the box.
    """
    x = [Fraction(5)] + [Fraction(0)] * N
    y, stored = [Fraction(0)] * (N + 1), [Fraction(0)] * (N + 1)
    for k in range(1, ROUNDS * TAU + 1):
        does = {(act.node, act.action) for act in acts.where(k=k)}
        for node in range(N + 1):  # the server first: a pull takes its new x
            if (node, "pull x") in does:
                x[node] = x[0]
            if (node, "move x") in does:
                x[node] -= STEP * y[node]
            if (node, "update y") in does:
                new = slope(node, x[node])
                y[node] += new - stored[node]
                stored[node] = new
        for node in range(1, N + 1):
            if (node, "push y") in does and (0, "add y") in does:
                y[0], y[node] = y[0] + y[node], Fraction(0)
    return x[0] - STEP * y[0], y[0]  # line 13 of the last round


def by_the_loop():
    def gradient(i, x):
        return [slope(i + 1, x[0])]

    state = focus.start(gradient, N, [Fraction(5)])
    for cohort in COHORTS:
        members = [client - 1 for client in sorted(cohort)]
        state = focus.play(state, gradient, N, members, step_size=STEP, local_steps=TAU)
    return state["model"][0], state["tracker"][0]


def test_only_the_mended_schedule_is_the_box(table):
    assert played(table.where(schedule="mended")) == by_the_loop()
    for name in ("figure", "equations"):
        assert played(table.where(schedule=name)) != by_the_loop()


def test_the_mended_schedule_in_full(table):
    expected = {(5, 0, "move x")}
    for r, cohort in enumerate(COHORTS):
        first, last = r * TAU + 1, (r + 1) * TAU
        expected.add((last, 0, "add y"))
        for node in cohort:
            expected |= {(first, node, "pull x"), (last, node, "push y")}
            expected |= {(k, node, "update y") for k in range(first, last + 1)}
            expected |= {(k, node, "move x") for k in range(first + 1, last + 1)}
    acts = table.where(schedule="mended")
    assert {(act.k, act.node, act.action) for act in acts} == expected


def test_with_c_as_r_transposed_the_push_comes_with_the_pull(table):
    acts = table.where(schedule="equations")
    for r, cohort in enumerate(COHORTS):
        now = acts.where(k=r * TAU + 1)
        for action in ("pull x", "push y"):
            assert set(now.where(action=action).column("node")) == cohort
    # D_k follows the next cohort at k = (r+1) tau; those who never pulled have a y
    assert set(acts.where(k=TAU, action="move x").column("node")) == {2, 4}
    assert not acts.where(k=2 * TAU).rows


def test_the_figure_has_too_few_pairs(table):
    acts = table.where(schedule="figure")
    for action in ("move x", "update y"):
        where = {(act.k, act.node) for act in acts.where(action=action)}
        assert where == {(k, i) for k in (2, 3) for i in (1, 3)} | {
            (k, i) for k in (6, 7) for i in (2, 3, 4)
        }
    assert Act("figure", 4, 0, "add y") in acts.rows


def test_the_caption_tells_the_counts(fig3, table):
    caption = " ".join(fig3.caption(table).split())
    assert "(a) moves 2, gradients 2" in caption
    assert "(b) moves 0, gradients 1" in caption
    assert "(c) moves 3, gradients 4" in caption

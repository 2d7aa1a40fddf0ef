"""Figure 5: one step and the fixed points against plain loops over the neighbours."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.report import figures

NEIGHBOURS = {1: (1, 3), 2: (2, 3, 4), 3: (1, 2, 3, 4), 4: (2, 3, 4)}
H = {1: 1, 2: 2, 3: 1, 4: 3}
B = {1: 4, 2: -1, 3: 2, 4: 0}
BEST = Fraction(4 - 2 + 2, 7)  # sum of h_i b_i over the sum of h_i


@pytest.fixture(scope="module")
def fig5():
    return figures.load_figure("fig5")


@pytest.fixture(scope="module")
def table(fig5):
    return fig5.table(quick=False)


def weights(table, sums):
    rows = table.where(part="weight", sums=sums)
    return {(row.node, row.other): Fraction(row.value) for row in rows}


def models(table, part):
    return {row.node: Fraction(row.value) for row in table.where(part=part)}


def combined(w, moved):
    """(27), node by node."""
    return {i: sum(w[i, j] * moved[j] for j in NEIGHBOURS[i]) for i in NEIGHBOURS}


def test_weights_are_positive_on_the_graph_and_have_their_sums(table):
    for sums in ("rows and columns", "rows"):
        w = weights(table, sums)
        for i, linked in NEIGHBOURS.items():
            assert {j for j in NEIGHBOURS if w[i, j]} == set(linked)
            assert sum(w[i, j] for j in NEIGHBOURS) == 1
        columns = {sum(w[i, j] for i in NEIGHBOURS) for j in NEIGHBOURS}
        assert (columns == {1}) == (sums == "rows and columns")
    assert min(weights(table, "rows").values()) == 0
    assert weights(table, "rows and columns")[1, 3] == Fraction(1, 4)


def test_the_step_is_that_of_the_equations(table):
    x, w = models(table, "x"), weights(table, "rows and columns")
    eta = Fraction(table.where(part="x").rows[0].step_size)
    moved = {i: x[i] - eta * H[i] * (x[i] - B[i]) for i in NEIGHBOURS}  # (26)
    assert models(table, "moved") == moved
    assert models(table, "next") == combined(w, moved)
    one = models(table, "next")[1]  # as Figure 5 writes node 1, by hand
    assert one == Fraction(3, 4) * Fraction(-1, 2) + Fraction(1, 4) * Fraction(5, 4)


@pytest.mark.parametrize("sums", ["rows and columns", "rows"])
@pytest.mark.parametrize("step_size", ["1/4", "1/16", "1/256"])
def test_the_error_is_where_the_iteration_goes(table, sums, step_size):
    w = {at: float(v) for at, v in weights(table, sums).items()}
    eta, x = float(Fraction(step_size)), dict.fromkeys(NEIGHBOURS, 0.0)
    for _ in range(20_000):
        x = combined(w, {i: x[i] - eta * H[i] * (x[i] - B[i]) for i in NEIGHBOURS})
    error = max(abs(x[i] - float(BEST)) for i in NEIGHBOURS)
    (row,) = table.where(part="error", sums=sums, step_size=step_size).rows
    assert float(row.value) == pytest.approx(error, rel=1e-9)


def test_only_doubly_stochastic_weights_bring_the_error_down(table):
    doubly, rows = (
        [float(v) for v in table.where(part="error", sums=sums).column("value")]
        for sums in ("rows and columns", "rows")
    )
    assert doubly[-2] / doubly[-1] == pytest.approx(2, rel=1e-2)
    # rows of sum 1: the limit minimises the sum weighted by 1, 3/2, 2, 3/2, the
    # degrees, which the random walk on the graph visits in this proportion
    weight = {i: len(NEIGHBOURS[i]) for i in NEIGHBOURS}
    total = sum(weight[i] * H[i] for i in NEIGHBOURS)
    limit = Fraction(sum(weight[i] * H[i] * B[i] for i in NEIGHBOURS), total)
    assert rows[-1] == pytest.approx(float(abs(limit - BEST)), rel=2e-2)


def test_the_caption_tells_both_rates(fig5, table):
    caption = " ".join(fig5.caption(table).split())
    assert "divides the error by 2 with rows and columns of sum 1" in caption
    assert "by 1 with rows of sum 1" in caption
    assert "w_{1,j} is meant" in caption

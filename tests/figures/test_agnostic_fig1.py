"""Numbers of the agnostic paper's Figure 1 against other calculations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flverify.algorithms import AgnosticFedAvg
from flverify.claims import agnostic_race as race
from flverify.engines.simulate import simulate
from flverify.problems import Images, Quadratics
from flverify.report import figures, loss_runs
from flverify.report.loss_runs import Cohorts
from tests.contracts import figure_rules

FIGURE = figures.load_figure("agnostic_fig1")


@pytest.fixture(scope="module")
def stored():
    return FIGURE.read(figures.stored_csv("agnostic_fig1"))


def values(table, **where):
    return np.array(table.where(**where).column("value"))


def test_all_rules_start_alike(stored) -> None:
    start = stored.where(panel="images", x=0.0)
    assert len(start.rows) == 5
    assert start.column("value") == pytest.approx([math.log(10)] * 5)
    assert len(set(stored.where(panel="regression", x=0.0).column("value"))) == 1


def test_the_stored_regression_is_what_the_engine_says(stored) -> None:
    """Mean over five seeds of the agnostic rule's loss, by `simulate`."""
    found = []
    for seed in range(5):
        data, who = loss_runs.regression(seed), Cohorts("10", seed)
        turned = np.swapaxes(data.features, 1, 2)
        linear = 2 * (turned @ data.targets[..., None])[..., 0] / race.ROWS
        problem = Quadratics(2 * turned @ data.features / race.ROWS, linear)
        ran = simulate(
            problem,
            AgnosticFedAvg(0.02, 6),
            who.law,
            rounds=40,
            runs=seed + 1,
            seed=loss_runs.DRAWS,
            keep_models=True,
        )
        found.append([who.exact @ data.values(x) for x in ran.models[seed][::10]])
    curve = values(stored, panel="regression", rule="agnostic")[:5]
    np.testing.assert_allclose(np.mean(found, axis=0), curve, rtol=1e-10)


def test_excess_is_positive_and_falls_to_a_floor(stored) -> None:
    for rule in ("agnostic", "normalised"):
        excess = np.array(stored.where(panel="excess", rule=rule).column("lower"))
        assert (excess > 0).all()
        assert excess[-1] < excess[0] / 50


def test_the_printed_rule_runs_off_to_the_edge(stored) -> None:
    for panel in ("images", "regression"):
        agnostic = values(stored, panel=panel, rule="agnostic")
        for kind in ("exact", "sampled"):
            weighted = values(stored, panel=panel, rule="weighted", weights=kind)
            assert (weighted[1:] > 100 * agnostic[1:]).all()


def test_weights_are_a_distribution(stored) -> None:
    exact, sampled = (
        values(stored, panel="weights", weights=w) for w in ("exact", "sampled")
    )
    assert exact.sum() == pytest.approx(1, abs=1e-9)
    assert sampled.sum() == pytest.approx(1, abs=1e-9)
    assert (np.diff(exact) < 0).all()
    assert np.abs(exact - sampled).sum() < 0.05


def test_the_total_weight_has_the_mean_that_is_drawn(stored) -> None:
    share = stored.where(panel="total", weights="exact")
    assert list(share.column("x")) == sorted(share.column("x"))
    (mean,) = stored.where(panel="total", weights="mean")
    squares = 100 * (values(stored, panel="weights", weights="exact") ** 2).sum()
    assert mean.x == pytest.approx(squares)
    assert np.mean(share.column("x")) == pytest.approx(mean.x, rel=0.03)


@pytest.mark.slow
def test_other_pictures_take_the_place_of_the_digits() -> None:
    draw = np.random.default_rng(0)
    images = Images("mnist", draw.random((200, 5)), draw.integers(10, size=200))
    table = FIGURE.table(True, images)
    assert {row.data for row in table.where(panel="images")} == {"mnist"}
    canvas = figure_rules.drawn(FIGURE, table)
    assert any("MNIST" in ax.get_title() for ax in canvas.axes)
    assert "classification of MNIST by" in " ".join(FIGURE.caption(table).split())


def test_the_caption_says_what_the_table_says(stored) -> None:
    text = " ".join(FIGURE.caption(stored).split())
    last = values(stored, panel="regression", rule="agnostic")[-1]
    assert f"squared error after 500 rounds: agnostic {last:.4g}" in text


def test_every_curve_looks_like_one_of_the_legend(stored) -> None:
    canvas = figure_rules.drawn(FIGURE, stored)
    (legend,) = canvas.legends
    named = {_looks(line) for line in legend.get_lines()}
    assert len(named) == 4
    for ax in canvas.axes:
        assert {_looks(line) for line in ax.get_lines()} <= named, ax.get_title()


def _looks(line) -> tuple[str, str, str]:
    return str(line.get_color()), str(line.get_linestyle()), str(line.get_marker())

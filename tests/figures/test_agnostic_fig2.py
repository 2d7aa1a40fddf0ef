"""Numbers of the agnostic paper's Figure 2 against other calculations."""

from __future__ import annotations

import numpy as np
import pytest

from flverify.claims import agnostic_race as race
from flverify.problems import Images
from flverify.report import figures, loss_runs
from flverify.report.loss_runs import Cohorts

FIGURE = figures.load_figure("agnostic_fig2")


@pytest.fixture(scope="module")
def stored():
    return FIGURE.read(figures.stored_csv("agnostic_fig2"))


def test_every_seed_has_a_dot(stored) -> None:
    for panel in ("images", "regression"):
        for rule in ("weighted", "normalised"):
            for weights in ("exact", "sampled"):
                dots = stored.where(panel=panel, rule=rule, weights=weights)
                who = {(dot.temperature, dot.seed) for dot in dots}
                assert len(dots.rows) == len(who) == 5 * 7


def test_without_skew_nothing_differs(stored) -> None:
    uniform = stored.where(temperature="uniform", weights="exact")
    gaps = [dot for dot in uniform if dot.panel != "total"]
    assert len(gaps) == 2 * 2 * 5
    assert all(dot.x == dot.y == 0 for dot in gaps)


def test_the_printed_prior_has_one_exact_abscissa(stored) -> None:
    printed = stored.where(panel="regression", rule="weighted", temperature="10")
    exact = set(printed.where(weights="exact").column("x"))
    assert len(exact) == 1
    assert exact.pop() == pytest.approx(1.2891, abs=5e-5)
    sampled = printed.where(weights="sampled").column("x")
    assert len(set(sampled)) == 5
    assert max(sampled) - min(sampled) < 1 / 20  # the spread of agnostic.fig2.x


def test_abscissas_close_in_on_the_exact_one(stored) -> None:
    dots = stored.where(panel="abscissa")
    (exact,) = set(dots.where(weights="exact").column("y"))
    errors = [
        np.abs(np.array(dots.where(x=float(k)).column("y")) - exact).max()
        for k in (10, 1000, 10000)
    ]
    assert errors[0] > 5 * errors[1] > 5 * errors[2]


def test_skew_counted_by_hand() -> None:
    who = Cohorts("10", 3)
    masks = who.law.sample(loss_runs.ESTIMATES, range(3, 4), 30)[0]
    counts = [sum(bool(mask[i]) for mask in masks) for i in range(100)]
    by_hand = sum(abs(c / 300 - 1 / 100) for c in counts)
    (dot,) = (dot for dot in FIGURE._abscissas(who, (30,)) if dot.weights == "sampled")
    assert dot.x == 30
    assert dot.y == pytest.approx(by_hand)


def test_the_difference_is_weighted_less_agnostic() -> None:
    """Again, by a loop over rounds, participants and local steps."""
    data, who, rounds = loss_runs.regression(0), Cohorts("10", 0), 44
    dots = FIGURE._gaps(("regression", "synthetic"), data, who, rounds)
    (found,) = (d for d in dots if (d.rule, d.weights) == ("normalised", "exact"))
    hessians = [2 * a.T @ a / len(a) for a in data.features]
    linear = [
        2 * a.T @ b / len(b) for a, b in zip(data.features, data.targets, strict=True)
    ]
    losses = {"agnostic": [], "normalised": []}
    for name, kept in losses.items():
        x = np.zeros(race.DIM)
        for tick, cohort in enumerate(who.members(rounds), start=1):
            models = []
            for i in cohort:
                y = x
                for _ in range(5):
                    y = y - 0.02 * (hessians[i] @ y - linear[i])
                models.append(y)
            w = who.exact[cohort] if name == "normalised" else None
            x = np.average(models, axis=0, weights=w)
            if rounds - tick in race.LOOKS:
                kept.append(who.exact @ data.values(x))
    assert len(losses["agnostic"]) == len(race.LOOKS)
    expected = np.mean(losses["normalised"]) - np.mean(losses["agnostic"])
    assert found.y == pytest.approx(expected, rel=1e-8)
    assert found.x == race.skew(who.exact)


def test_total_weights_grow_with_the_skew(stored) -> None:
    dots = sorted(stored.where(panel="total"), key=lambda dot: dot.x)
    assert [dot.temperature for dot in dots] == [
        *("uniform", "160", "80", "40", "20", "10", "5"),
    ]
    assert dots[0].y == pytest.approx(1)
    assert (np.diff([dot.y for dot in dots]) > 0).all()


def test_the_caption_counts_ranks_of_the_table(stored) -> None:
    text = " ".join(FIGURE.caption(stored).split())
    assert "skew of the printed prior 1.2891" in text
    assert "synthetic, weighted: 1.00 to 1.00" in text
    assert "(ii) total variation as a supremum over events: REFUTED" in text


@pytest.mark.slow
def test_other_pictures_take_the_place_of_the_digits() -> None:
    draw = np.random.default_rng(0)
    images = Images("mnist", draw.random((100, 2)), draw.integers(10, size=100))
    table = FIGURE.table(True, images)
    assert {dot.data for dot in table.where(panel="images")} == {"mnist"}
    assert "MNIST" in FIGURE.caption(table)

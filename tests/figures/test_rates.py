"""Rates: noisy FOCUS against every run of the plain loop, bounds by hand, averages."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from flverify import moments
from flverify.algorithms import Focus
from flverify.participation import Bernoulli, UniformCohort
from flverify.problems import Quadratics
from flverify.reference import agnostic_fedavg, focus
from flverify.reference._noise import every_run
from flverify.report import agnostic_average, figures, rate_curves
from flverify.report.noisy_focus import NoisyFocus

THREE = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def rates():
    return figures.load_figure("rates")


@pytest.fixture(scope="module")
def quick(rates):
    return rates.table(quick=True)


@pytest.fixture(scope="module")
def stored(rates):
    return rates.read(figures.stored_csv("rates"))


# noisy FOCUS ---------------------------------------------------------------------


def every_path(h, cohorts, *, tau, step, noise, rounds):
    """E x_r^2 over every cohort and every noise of +-`noise`, by the plain loop."""
    half = Fraction(1, 2)
    signs = [[(half, [noise]), (half, [-noise])]] * len(h)
    total = [Fraction(0)] * (rounds + 1)

    def slope(i, x):
        return [h[i] * x[0]]

    for path in product(cohorts, repeat=rounds):

        def play(gradient, path=path):
            state = focus.start(
                slope,
                len(h),
                [Fraction(1)],
                initial_gradients="start",
                initial_tracker="sum",
            )
            models = [state["model"][0]]
            for cohort in path:
                state = focus.play(
                    state, gradient, len(h), cohort, step_size=step, local_steps=tau
                )
                models.append(state["model"][0])
            return models

        for chance, models in every_run(play, slope, signs):
            for r, x in enumerate(models):
                total[r] += chance * x * x / len(cohorts) ** rounds
    return [float(v) for v in total]


@pytest.mark.parametrize("tau", [1, 2])
def test_noisy_moments_are_those_of_every_run(tau):
    expected = every_path(
        (Fraction(1), Fraction(3)),
        ({0}, {1}),
        tau=tau,
        step=Fraction(1, 5),
        noise=Fraction(1, 2),
        rounds=3 if tau == 1 else 2,
    )
    one = NoisyFocus((1.0, 3.0), UniformCohort(2, 1), tau, 0.2, 0.25)
    found = one.moments(len(expected) - 1)
    np.testing.assert_allclose(found, expected, 1e-12)
    other = replace(one, variance=0.26).moments(len(expected) - 1)
    assert abs(other[-1] / expected[-1] - 1) > 1e-4


def test_quiet_moments_are_those_of_the_engine():
    law = Bernoulli(["1/2", "9/10", "1/5"])
    algorithm = Focus(0.1, 3, initial_gradients="start", initial_tracker="sum")
    problem = Quadratics([[[h]] for h in THREE], [[0.0]] * 3)
    expected = moments(problem, algorithm, law).mean_square_error([1.0], 200)
    found = NoisyFocus(THREE, law, 3, 0.1).moments(200)
    np.testing.assert_allclose(found, expected, 1e-9)


def test_consensus_errors_are_those_of_every_run():
    h, step, tau = (Fraction(1), Fraction(3)), Fraction(1, 5), 2
    behind, lagged = [0.0] * 3, [0.0] * 3
    for path in product((0, 1), repeat=2):
        model, z = Fraction(1), [Fraction(1)] * 2
        for r, i in enumerate(path, start=1):
            z[i] = z[i] + (1 - step * h[i]) ** (tau - 1) * (model - z[i])
            lagged[r] += float(sum((model - v) ** 2 for v in z)) / 4
            model -= step * sum(a * v for a, v in zip(h, z, strict=True))
            behind[r] += float(sum((model - v) ** 2 for v in z)) / 4
    one = NoisyFocus((1.0, 3.0), UniformCohort(2, 1), tau, 0.2)
    found = one.consensus(2)
    np.testing.assert_allclose(found, (behind, lagged), 1e-12)


def test_sampled_runs_are_plain_runs_and_meet_the_moments():
    law = UniformCohort(3, 2)
    one = NoisyFocus(THREE, law, 2, 0.1)
    found, mask = one.sampled(30, 2, seed=3), law.sample(3, 2, 30)
    for run, draws in zip(found, mask, strict=True):
        models = focus.run(
            lambda i, x: [THREE[i] * x[0]],
            3,
            [1.0],
            [np.flatnonzero(row).tolist() for row in draws],
            step_size=0.1,
            local_steps=2,
            initial_gradients="start",
            initial_tracker="sum",
        )
        np.testing.assert_allclose(run, np.array(models)[:, 0] ** 2, 1e-9)
    loud = replace(one, variance=0.5)
    runs, exact = loud.sampled(40, 4000, seed=1), loud.moments(40)
    spread = runs.std(axis=0) / 4000**0.5
    assert (abs(runs.mean(axis=0) - exact)[1:] < 5 * spread[1:]).all()


# bounds --------------------------------------------------------------------------


def value(table, panel, kind, x):
    (row,) = [p for p in table.where(panel=panel, kind=kind) if p.x == x]
    return row.value


def test_printed_bounds_are_those_of_a_hand_calculation(rates, quick):
    # (23): q = 1/4, so that the least cap is (1/8)/(8 * 2) = 1/128
    assert rate_curves.strongly_convex_step() == Fraction(1, 128)
    assert value(quick, "focus.thm1.sc", "printed", 10) == pytest.approx(
        (127 / 128) ** 10
    )
    # (24): q = 1/2, N = 2, beta = 1: min{3/128, 1/48, 1/32, (1/2)^(3/2)/(8 sqrt 2)}
    assert rate_curves.pl_step() == Fraction(1, 48)
    assert value(quick, "focus.thm1.pl", "printed", 24) == pytest.approx(
        (1 - 2 / 48) ** 24
    )
    # Theorem 3: the least cap is mu/(128 L^2 N) = 1/1024
    assert rate_curves.noisy_clients("sgfocus.thm3")[1] == Fraction(1, 1024)
    floor = 4 * (0.25 + 16) / (0.5 * 4 * 0.25) / 1024 / 1000
    bound = value(quick, "sgfocus.thm3", "printed", 4)
    assert bound == pytest.approx((1 - 1 / 1024) ** 4 + floor)


def test_the_bound_of_theorem_5_is_that_of_a_hand_calculation(rates):
    step = float(rate_curves.noisy_clients("sgfocus.thm5")[1])
    least = 0.125 / (4 * 0.5 * (6 * 4) ** 0.5)  # q^(3/2)/(4 L sqrt(6 N))
    assert step == pytest.approx(least / 16)
    beta, gap = 0.375, 0.375 / 2
    floor = (2 * 0.5 * 4 + 8 * 16 / (4 - 8 / 4) / 0.25) * step**2 * 1e4
    expected = (8 * gap / (step * 4 * 50) + floor) / beta**2
    assert rate_curves.noisy_bound("sgfocus.thm5", 50)[-1] == pytest.approx(expected)


def test_certified_curves_are_above_the_exact_ones(stored):
    seen = set()
    for row in stored.where(kind="certified"):
        at = [p for p in stored.where(panel=row.panel, kind="exact") if p.x == row.x]
        assert all(p.value <= row.value for p in at)
        seen |= {p.panel for p in at}
    assert seen == {
        "focus.thm1.sc",
        "focus.cor1",
        "focus.cor2",
        "focus.cor3",
        "sgfocus.thm3",
    }


def test_samples_meet_the_exact_curves(stored):
    # early in a run, where no rare draw carries the mean
    for panel in ("focus.thm1.sc", "focus.cor1", "focus.cor2", "sgfocus.thm4"):
        exact = {p.x: p.value for p in stored.where(panel=panel, kind="exact")}
        both = [
            (p.value, exact[p.x])
            for p in stored.where(panel=panel, kind="sampled")
            if p.x in exact
        ]
        assert len(both) >= 2
        np.testing.assert_allclose(*zip(*both[:3], strict=True), 0.15)


# the average of the agnostic theorem ---------------------------------------------


def test_the_average_model_is_that_of_every_path(rates, quick):
    best, _, curvature, factor = agnostic_average.agnostic_constants()
    law, rounds = agnostic_average.AGNOSTIC_LAW, 4
    q = [float(v) for v in law.averaging_weights()]
    outcomes = [(sorted(s), float(p)) for s, p in law.support().items() if p]
    mean = 0.0
    for path in product(outcomes, repeat=rounds):
        models = agnostic_fedavg.run(
            lambda i, x: [
                agnostic_average.AGNOSTIC_H[i] * (x[0] - agnostic_average.AGNOSTIC_B[i])
            ],
            3,
            [agnostic_average.AGNOSTIC_START],
            [s for s, _ in path],
            step_size=factor / rounds**0.5,
            period=agnostic_average.PERIOD,
            schedule="separate",
        )
        average = sum(m[0] for m in models[1:]) / rounds
        chance = np.prod([p for _, p in path])
        mean += chance * sum(
            w * h * ((average - b) ** 2 - (best - b) ** 2) / 2
            for w, h, b in zip(
                q, agnostic_average.AGNOSTIC_H, agnostic_average.AGNOSTIC_B, strict=True
            )
        )
    assert value(quick, "agnostic.thm4", "exact", rounds) == pytest.approx(mean)
    assert curvature == pytest.approx(
        sum(w * h for w, h in zip(q, agnostic_average.AGNOSTIC_H, strict=True))
    )


def test_the_bound_of_the_agnostic_theorem_is_its_best(rates, quick):
    best, steepest, _, factor = agnostic_average.agnostic_constants()
    assert steepest == pytest.approx((3 * 2) ** 2)  # h = 3, from -1 to 1
    count, h = 16, agnostic_average.PERIOD

    def right(step):
        start = (agnostic_average.AGNOSTIC_START - best) ** 2 / (2 * step * h * count)
        return start + step * steepest * (1.5 + 4 * h)

    step = factor / count**0.5
    found = value(quick, "agnostic.thm4", "printed", count)
    assert found == pytest.approx(right(step))
    assert found < min(right(0.9 * step), right(1.1 * step))


def test_the_caption_tells_which_bounds_break(rates, stored):
    caption = " ".join(rates.caption(stored).split())
    assert "In (b) the exact error exceeds the printed bound" in caption
    assert "In (i) the exact error exceeds the printed bound" in caption
    for letter in "acdefgh":
        assert f"In ({letter}) the error ends" in caption

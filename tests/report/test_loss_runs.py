"""The loop behind the agnostic figures, against plain loops and the engine."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from flverify.algorithms import AgnosticFedAvg
from flverify.claims import agnostic_race as race
from flverify.engines.simulate import simulate
from flverify.problems import Images, Quadratics
from flverify.reference import agnostic_fedavg, weighted_fedavg
from flverify.report import loss_runs
from flverify.report.loss_runs import AGNOSTIC, Cohorts, Rule

FREE = 1e9  # a box that is never reached
ROUNDS = 5
PRINTED = Cohorts(loss_runs.PRIOR, 1)


def pictures() -> Images:
    draw = np.random.default_rng(0)
    return Images("noise", draw.normal(size=(300, 3)), draw.integers(4, size=300))


TASKS = {
    "images": loss_runs.classification(pictures(), 1),
    "regression": loss_runs.regression(1),
}


def plain_gradient(data, i, x):
    """Gradient of the mean squared error of client i, row by row."""
    rows, targets = data.features[i].tolist(), data.targets[i].tolist()
    out = [0.0] * len(x)
    for row, target in zip(rows, targets, strict=True):
        miss = sum(a * v for a, v in zip(row, x, strict=True)) - target
        for k, a in enumerate(row):
            out[k] += 2 * miss * a / len(rows)
    return out


def plain_loss(data, x, weights):
    total = 0.0
    for rows, targets, p in zip(data.features, data.targets, weights, strict=True):
        misses = [math.fsum(row * x) - b for row, b in zip(rows, targets, strict=True)]
        total += p * math.fsum(m * m for m in misses) / len(misses)
    return total


def cohorts_of(who: Cohorts) -> list[set[int]]:
    masks = who.law.sample(loss_runs.DRAWS, range(who.seed, who.seed + 1), ROUNDS)[0]
    return [set(np.flatnonzero(mask).tolist()) for mask in masks]


def by_reference(rule: Rule, box: float = FREE) -> list[float]:
    """Objective (3) after each round, by the loops of flverify/reference."""
    data, p = TASKS["regression"], PRINTED.exact
    start = (lambda i, x: plain_gradient(data, i, x), 100, [0.0] * data.dim)
    step = {"step_size": 0.02}
    if rule.name == "agnostic":
        found = agnostic_fedavg.run(
            *start, cohorts_of(PRINTED), period=6, projection=("box", -box, box), **step
        )
    else:
        used = p if rule.weights == "exact" else PRINTED.sampled()
        found = weighted_fedavg.run(
            *start, cohorts_of(PRINTED), weights=used.tolist(), local_steps=5, **step
        )
    return [plain_loss(data, np.array(x), p) for x in found]


def found_losses(rule: Rule, box: float = FREE):
    kept = range(ROUNDS + 1)
    return loss_runs.losses(TASKS["regression"], 0.02, rule, PRINTED, kept, box)


@pytest.mark.parametrize(
    ("rule", "box"),
    [
        (AGNOSTIC, FREE),
        (AGNOSTIC, 0.2),
        (Rule("weighted", "exact"), FREE),
        (Rule("weighted", "sampled"), FREE),
    ],
)
def test_losses_are_those_of_the_plain_loops(rule, box) -> None:
    np.testing.assert_allclose(
        found_losses(rule, box), by_reference(rule, box), rtol=1e-11
    )


def test_the_comparison_notices_a_forgotten_factor(monkeypatch) -> None:
    right = by_reference(AGNOSTIC)
    monkeypatch.setattr(race, "LOCAL_STEPS", 6)  # H steps in the place of H - 1
    assert not np.allclose(found_losses(AGNOSTIC), right, rtol=1e-3)
    exact = Rule("weighted", "exact")
    assert not np.allclose(found_losses(AGNOSTIC), by_reference(exact), rtol=1e-3)
    assert not np.allclose(found_losses(exact, box=0.2), by_reference(exact), rtol=1e-3)


@pytest.mark.parametrize("task", TASKS)
def test_losses_are_those_of_the_engine(task: str) -> None:
    clients, step = TASKS[task], loss_runs.STEP_SIZES[task]
    if task == "images":
        problem = clients = replace(clients, regularisation=0.1)
    else:
        turned = np.swapaxes(clients.features, 1, 2)
        linear = 2 * (turned @ clients.targets[..., None])[..., 0] / race.ROWS
        problem = Quadratics(2 * turned @ clients.features / race.ROWS, linear)
    ran = simulate(
        problem,
        AgnosticFedAvg(step, race.LOCAL_STEPS + 1),
        PRINTED.law,
        rounds=ROUNDS,
        runs=PRINTED.seed + 1,
        seed=loss_runs.DRAWS,
        keep_models=True,
    )
    models = ran.models[PRINTED.seed]
    expected = [PRINTED.exact @ clients.values(x) for x in models]
    kept = (0, 2, ROUNDS)
    found = loss_runs.losses(clients, step, AGNOSTIC, PRINTED, kept)
    np.testing.assert_allclose(found, [expected[k] for k in kept], rtol=1e-12)


def test_shares_by_hand() -> None:
    p, members = np.array([0.5, 0.25, 0.125, 0.125]), np.array([0, 2])
    assert AGNOSTIC.shares(p, members).tolist() == [0.5, 0.5]
    printed = Rule("weighted", "exact").shares(p, members)
    assert printed.tolist() == [1.0, 0.25]  # N/|S| p_i = 2 p_i
    assert Rule("normalised", "exact").shares(p, members).tolist() == [0.8, 0.2]


@pytest.mark.parametrize("name", ["weighted", "normalised"])
def test_uniform_weights_make_all_rules_alike(name: str) -> None:
    uniform = Cohorts("uniform", 0)
    shares = Rule(name, "exact").shares(uniform.exact, uniform.members(20))
    assert (shares == 1 / race.COHORT).all()


def test_participants_are_distinct_and_follow_the_law() -> None:
    members = PRINTED.members(4000)
    assert all(len(set(row)) == race.COHORT for row in members[:200].tolist())
    seen = np.bincount(members.ravel(), minlength=100) / members.size
    error = np.sqrt(PRINTED.exact / members.size)
    assert (np.abs(seen - PRINTED.exact) < 6 * error + 1e-12).all()
    assert (members[:50] == PRINTED.members(50)).all()
    assert (Cohorts(loss_runs.PRIOR, 2).members(50) != members[:50]).any()


def test_the_estimate_is_made_of_other_draws_than_the_rounds() -> None:
    counted = PRINTED.sampled(loss_runs.ESTIMATED_BY)
    assert counted.sum() == pytest.approx(1)
    rounds = PRINTED.members(loss_runs.ESTIMATED_BY)
    assert (np.bincount(rounds.ravel(), minlength=100) / rounds.size != counted).any()
    far, near = (
        np.abs(PRINTED.sampled(count) - PRINTED.exact).sum() for count in (100, 10000)
    )
    assert near < 0.02 < far


def test_the_mean_total_weight_is_the_mean() -> None:
    totals = loss_runs.total_weights(PRINTED, 4000)
    error = totals.std() / math.sqrt(len(totals))
    assert abs(totals.mean() - loss_runs.mean_total_weight(PRINTED)) < 5 * error
    assert loss_runs.mean_total_weight(Cohorts("uniform", 0)) == pytest.approx(1)


def test_the_least_error_is_that_of_weighted_rows() -> None:
    data, p = TASKS["regression"], PRINTED.exact
    roots = np.sqrt(np.repeat(p / race.ROWS, race.ROWS))
    rows = data.features.reshape(-1, race.DIM) * roots[:, None]
    _, rest, *_ = np.linalg.lstsq(rows, data.targets.ravel() * roots)
    assert data.least(p) == pytest.approx(rest.item(), rel=1e-12)


def test_data_belong_to_their_seed() -> None:
    again, other = loss_runs.regression(1), loss_runs.regression(2)
    assert (again.features == TASKS["regression"].features).all()
    assert (again.targets != other.targets).any()
    spread = [
        np.linalg.lstsq(a, b)[0]
        for a, b in zip(again.features, again.targets, strict=True)
    ]
    assert 0.4 < np.std(spread, axis=0).mean() < 0.6  # truths differ by 1/2


def test_the_setting_names_what_is_chosen() -> None:
    text = loss_runs.setting("digits")
    for said in ("N = 100", "M = 10", "exp(-i/temp)", "five seeds", "H = 6", "scikit"):
        assert said in text
    assert "classification of hands by" in loss_runs.setting("hands")

"""Every reading of a round is the same recursion: the plain loop's.

The loops of flverify/reference share no line with the package. Each algorithm found by
discovery is simulated by every method that accepts it, on the examples of every law,
and compared with its loop driven by the same participants. At the end wrong
coefficients are planted and must be noticed.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import fields
from itertools import combinations

import numpy as np
import pytest

from flverify._core import catalogue
from flverify._core.errors import Refusal
from flverify.algorithms import AgnosticFedAvg, Ball, Box, Focus
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.simulate import _compiled, _tables, simulate
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from tests.testing.own import MifaLike, Ruled

METHODS = ("literal", "affine", "compiled")
TOLERANCE = 1e-12
ROUNDS, RUNS = 12, 3
STEP = 0.05

# what a box needs beside a step size, and its variants; N is known when a law is
SETTINGS = {
    "agnostic_fedavg": [
        {"period": 3},
        {"period": 1},
        {"period": 2, "schedule": "separate"},
        {"period": 3, "projection": Ball(radius="1/4")},
        {"period": 3, "projection": Box(lower="-1/8", upper="1/5")},
    ],
    "fedau": [{"local_steps": 2, "cutoff": 3}, {"variant": "notebook"}],
    "fedavg": [{"local_steps": 3}, {"server_step_size": 0.7, "aggregation": "all"}],
    "focus": [
        {"local_steps": 3},
        {"initial_gradients": "start", "initial_tracker": "sum", "step_size": 0.02},
        {"empty_round": "skip", "local_steps": 2, "step_size": 0.02},
    ],
    "fedawe": [{"local_steps": 2, "server_step_size": 0.7}],
    "feddyn": [{"local_steps": 3, "proximal_weight": 1.5}],
    "fedprox": [{"local_steps": 3, "proximal_weight": 1.5, "server_step_size": 0.7}],
    "fedvarp": [{"local_steps": 3, "server_step_size": 0.7}, {"empty_round": "step"}],
    "gradient_descent": [{}],
    "mifa": [
        {"local_steps": 3, "server_step_size": 0.7},
        {"initial_table": "zero", "empty_round": "skip", "local_steps": 2},
    ],
    "proxskip": [
        {"probability": 0.4},
        {"variant": "notebook", "local_steps": 2, "step_size": 0.01},
    ],
    "scaffold": [
        {"local_steps": 3, "server_step_size": 0.6},
        {"local_steps": 2, "option": "I"},
    ],
    "weighted_fedavg": [{"local_steps": 2, "weights": ...}],
}
MEMBERS = catalogue.member_names("flverify.algorithms")


def class_of(member):
    module = catalogue.load("flverify.algorithms", member)
    named = [getattr(module, name) for name in module.__all__]
    (found,) = [kind for kind in named if issubclass(kind, Algorithm)]
    return found


def built(member, settings, n_clients):
    given = {"step_size": STEP, **settings}
    if given.get("weights") is ...:
        given["weights"] = [0.2 + 0.1 * i for i in range(n_clients)]
    return class_of(member)(**given)


def laws():
    found = []
    for member in catalogue.member_names("flverify.participation"):
        module = catalogue.load("flverify.participation", member)
        (name,) = module.__all__
        found.append(pytest.param(getattr(module, name).examples()[-1], id=member))
    sparse = Bernoulli([0.1, 0.2, 0.3, 0.1])  # many empty rounds
    return [*found, pytest.param(sparse, id="sparse")]


def problem_for(n_clients, dim=3, seed=5):
    draw = np.random.default_rng(seed)
    factors = draw.standard_normal((n_clients, dim + 2, dim))
    hessians = np.einsum("nki,nkj->nij", factors, factors) / 2
    return Quadratics(hessians, draw.standard_normal((n_clients, dim)))


def loop_models(problem, algorithm, masks, start):
    """Models of the plain loop on given participants, shape (runs, rounds + 1, d)."""
    home = type(algorithm).__module__.rpartition(".")[2]
    run = importlib.import_module(f"flverify.reference.{home}").run
    known = inspect.signature(run).parameters
    settings = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
    settings = {k: plain(v) for k, v in settings.items() if k in known}
    clients = range(problem.n_clients)
    h, b = problem.hessians, problem.linear

    def gradient(i, point):
        return (h[i] @ np.array(point) - b[i]).tolist()

    def models(mask):
        cohorts = [{i for i in clients if row[i]} for row in mask]
        return run(gradient, len(clients), list(start), cohorts, **settings)

    return np.array([models(mask) for mask in masks], dtype=float)


def plain(value):
    if isinstance(value, Ball):
        return ("ball", float(value.radius))
    if isinstance(value, Box):
        return ("box", float(value.lower), float(value.upper))
    if isinstance(value, str | int) or value is None:
        return value
    return [float(v) for v in value] if isinstance(value, tuple) else float(value)


def objection(found, expected):
    """Return what is wrong with models, run by run on the scale of the run, or ''."""
    scale = np.maximum(1.0, np.abs(expected).max(axis=(-2, -1), keepdims=True))
    gap = float((np.abs(found - expected) / scale).max())
    return "" if gap <= TOLERANCE else f"models differ by {gap:.1e}"


def readings(problem, algorithm, law, **settings):
    """Simulate by every method that accepts; the literal one always does."""
    found = {}
    for method in METHODS:
        sampled = simulate(
            problem,
            algorithm,
            law,
            rounds=ROUNDS,
            seed=11,
            method=method,
            keep_models=True,
            fast=False,
            **settings,
        )
        if not isinstance(sampled, Refusal):
            found[method] = sampled
    assert "literal" in found
    return found


def test_every_algorithm_is_in_the_contract():
    assert set(MEMBERS) == set(SETTINGS), "give new algorithms settings above"


@pytest.mark.parametrize("law", laws())
@pytest.mark.parametrize(
    ("member", "settings"),
    [(m, s) for m in SETTINGS for s in SETTINGS[m]],
    ids=[f"{m}-{k}" for m in SETTINGS for k in range(len(SETTINGS[m]))],
)
def test_every_reading_is_the_plain_loop(member, settings, law):
    problem = problem_for(law.n_clients)
    algorithm = built(member, settings, law.n_clients)
    start = [0.3, -0.2, 0.1]
    masks = law.sample(11, RUNS, ROUNDS)
    expected = loop_models(problem, algorithm, masks, start)
    found = readings(problem, algorithm, law, runs=RUNS, start=start)
    for method, sampled in found.items():
        assert not objection(sampled.models, expected), method
        apart = ((expected - problem.minimiser()) ** 2).sum(axis=-1)
        assert sampled.errors == pytest.approx(apart, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("member", MEMBERS)
def test_a_sweep_and_a_schedule_are_read_alike(member):
    problem, law = problem_for(4), Bernoulli([0.3, 0.5, 0.7, 0.2])
    algorithm = built(member, SETTINGS[member][0], 4)
    sweep = readings(problem, algorithm, law, runs=RUNS, step_sizes=[0.05, 0.01, 0.02])
    decaying = [0.05 / (1 + r) for r in range(ROUNDS)]
    decay = readings(problem, algorithm, law, runs=RUNS, schedule=decaying)
    for found in (sweep, decay):
        for left, right in combinations(found.values(), 2):
            assert not objection(left.models, right.models)
    for k, step in enumerate([0.05, 0.01, 0.02]):
        alone = loop_models(
            problem, algorithm.retuned(step), law.sample(11, RUNS, ROUNDS), [0.0] * 3
        )
        assert not objection(sweep["literal"].models[k], alone)


def test_two_messages_in_the_same_terms_are_told_apart():
    # both combine the gradients at two points, and neither is a multiple of the other
    def both(method, state, cohort, oracle):
        step = method.step_size
        here = cohort.pull(state.model)
        first = oracle.gradient(here)
        second = oracle.gradient(here - step * first)
        mean = cohort.mean(here - step * (first + second), otherwise=state.model)
        return mean - step * cohort.sum(first - 2 * second)

    problem, law = problem_for(3), Bernoulli([0.5, 0.6, 0.7])
    h, b = problem.hessians, problem.linear
    found = readings(problem, Ruled(both, STEP), law, runs=RUNS)
    assert set(found) == set(METHODS)
    expected = np.zeros((RUNS, ROUNDS + 1, 3))
    for run, mask in enumerate(law.sample(11, RUNS, ROUNDS)):
        for r, here in enumerate(mask):
            x = expected[run, r]
            local = [x - STEP * (h[i] @ x - b[i]) for i in range(3)]
            pair = [
                (h[i] @ x - b[i], h[i] @ local[i] - b[i]) for i in np.flatnonzero(here)
            ]
            moved = sum((one + two for one, two in pair), 0 * x) / max(len(pair), 1)
            pushed = sum((one - 2 * two for one, two in pair), 0 * x)
            expected[run, r + 1] = x - STEP * (moved + pushed)
    for method, sampled in found.items():
        assert not objection(sampled.models, expected), method


@pytest.mark.parametrize("fast", [False, True])
def test_everybody_sends_what_was_kept_before_the_round(fast):
    # the sum over all of new slots: absent clients send theirs, participants renew it
    law, problem = Bernoulli([0.5, 0.6, 0.7]), problem_for(3)
    masks = law.sample(11, RUNS, ROUNDS)
    expected = np.zeros((RUNS, ROUNDS + 1, 3))
    for run, mask in enumerate(masks):
        tags = np.zeros((3, 3))
        for r, here in enumerate(mask):
            x = expected[run, r]
            for i in np.flatnonzero(here):
                tags[i] = problem.hessians[i] @ x - problem.linear[i]
            expected[run, r + 1] = x - STEP * tags.mean(axis=0)
    asked = {"rounds": ROUNDS, "runs": RUNS, "seed": 11, "keep_models": True}
    for method in ("auto", "literal", "compiled"):
        found = simulate(
            problem, MifaLike(STEP), law, method=method, fast=fast, **asked
        )
        assert not objection(found.models, expected), method


def test_which_methods_accept_which_algorithm():
    law, problem = Bernoulli([0.5, 0.5]), problem_for(2)

    def accepted(member, **settings):
        return set(readings(problem, built(member, settings, 2), law, runs=1))

    assert accepted("fedavg") == {"literal", "affine", "compiled"}
    assert accepted("gradient_descent") == {"literal", "affine", "compiled"}
    assert accepted("weighted_fedavg", weights=...) == {"literal", "affine", "compiled"}
    assert accepted("agnostic_fedavg", period=2) == {"literal", "affine", "compiled"}
    assert accepted("focus") == {"literal", "compiled"}
    assert accepted("scaffold") == {"literal", "compiled"}
    assert accepted("proxskip", variant="notebook") == {"literal", "compiled"}
    assert accepted("proxskip", probability=0.5) == {"literal"}
    assert accepted("fedau") == {"literal"}
    assert accepted("agnostic_fedavg", period=2, projection=Ball(1)) == {"literal"}


# --- planted faults: the comparison must notice each


def planted(monkeypatch, change):
    def wrong(plan, basis, steps):
        tables = honest(plan, basis, steps)
        change(tables)
        return tables

    honest = _tables.tabulate
    monkeypatch.setattr(_tables, "tabulate", wrong)
    problem, law = problem_for(3), Bernoulli([0.5, 0.6, 0.7])
    algorithm = Focus(step_size=STEP, local_steps=2)
    found = readings(problem, algorithm, law, runs=RUNS)
    expected = loop_models(problem, algorithm, law.sample(11, RUNS, ROUNDS), [0.0] * 3)
    return objection(found["compiled"].models, expected)


def test_an_honest_table_is_not_objected_to(monkeypatch):
    assert not planted(monkeypatch, lambda tables: tables)


@pytest.mark.parametrize("symbol", [("server", "model"), ("client", "stored")])
def test_a_wrong_message_coefficient_is_noticed(monkeypatch, symbol):
    def change(tables):
        tables.messages[0][symbol][0, 1, 2] *= 1 + 1e-8

    assert planted(monkeypatch, change)


def test_a_wrong_slot_coefficient_is_noticed(monkeypatch):
    def change(tables):
        tables.updates["stored"][_tables.CONSTANT][0, 0, 1] *= 1 + 1e-8

    assert planted(monkeypatch, change)


def test_a_wrong_server_factor_is_noticed(monkeypatch):
    def change(tables):
        tables.ratios[-1] *= 1 + 1e-8

    assert planted(monkeypatch, change)


def test_a_projection_in_the_wrong_basis_is_noticed(monkeypatch):
    monkeypatch.setattr("flverify.engines.simulate._literal.Ball", Box)
    problem, law = problem_for(3), Bernoulli([0.5, 0.6, 0.7])
    box = Box(lower="-1/8", upper="1/5")
    algorithm = AgnosticFedAvg(step_size=STEP, period=3, projection=box)
    masks = law.sample(11, RUNS, ROUNDS)
    expected = loop_models(problem, algorithm, masks, [0.0] * 3)
    found = readings(problem, algorithm, law, runs=RUNS)
    assert objection(found["literal"].models, expected)


def test_the_compiled_reading_is_not_the_literal_one_renamed():
    assert not issubclass(_compiled.CompiledWalker, _compiled.LiteralWalker)

"""Algorithms of a test's own: against the cohort's verbs, or as a function."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
import sympy

from flverify import simulate
from flverify._core.errors import InputError, ShapeError
from flverify.algorithms import (
    AgnosticFedAvg,
    Ball,
    FedAvg,
    GradientDescent,
    WeightedFedAvg,
)
from flverify.participation import Bernoulli, Full
from flverify.problems import Quadratics
from flverify.problems._problem import Problem
from flverify.testing import (
    Broken,
    assert_error_bound,
    assert_fixed_point_bias,
    assert_linear_rate,
    assert_stable,
)
from flverify.testing.functions import run_models
from flverify.testing.setting import setting
from tests.testing.own import ForgetsFlag, HeavyBall, MifaLike, Ruled, fedavg_function

F = Fraction


def test_a_round_that_is_not_pure_is_refused(problem, law):
    calls = []

    def stops(method, state, cohort, oracle):
        calls.append(1)
        share = method.step_size if len(calls) < 8 else 0
        return state.model - share * cohort.everyone(
            oracle.gradient(cohort.broadcast(state.model))
        )

    draws = np.random.default_rng(0)

    def tosses(method, state, cohort, oracle):
        share = method.step_size * int(draws.integers(0, 2))
        return state.model - share * cohort.everyone(
            oracle.gradient(cohort.broadcast(state.model))
        )

    for rule in (stops, tosses):
        for method in ("auto", "sampled"):
            calls.clear()
            with pytest.raises(InputError, match="Ruled must be pure functions"):
                assert_linear_rate(problem, Ruled(rule), law, rate="1/2", method=method)


def test_what_cannot_be_traced_is_simulated_twice(problem, agreeing, law):
    draws = np.random.default_rng(0)

    def tosses(method, state, cohort, oracle):
        here = cohort.project(cohort.broadcast(state.model), Ball(2))
        share = F(1, 8) * int(draws.integers(0, 2))
        return state.model - share * cohort.everyone(oracle.gradient(here))

    with pytest.raises(InputError, match="Ruled must be pure functions"):
        assert_linear_rate(problem, Ruled(tosses), law, rate="1/2")
    inside = AgnosticFedAvg("1/4", 3, projection=Ball(2))
    assert assert_linear_rate(agreeing, inside, Full(2), rate="1/2")


def test_weights_and_overflow_are_no_impurity(problem, law):
    weighted = WeightedFedAvg("1/20", weights=["1/3", "2/3"], local_steps=2)
    assert assert_stable(problem, weighted, law)
    with pytest.raises(AssertionError):
        assert_stable(problem.as_float(), FedAvg(1e160, 3), law)

    def explodes(method, state, cohort, oracle):
        here = cohort.project(cohort.broadcast(state.model), Ball(2))
        return 1e200 * (state.model - cohort.everyone(oracle.gradient(here)))

    with pytest.raises(Broken):  # models that are not numbers equal one another
        assert_stable(problem, Ruled(explodes), law)


def test_a_function_meets_the_participants_of_the_simulation(problem, law):
    asked = setting(problem, fedavg_function, law)
    models = run_models(asked, 7, range(5, 9), 12)
    runs = simulate(
        problem,
        FedAvg("1/4", 2),
        law,
        rounds=12,
        runs=9,
        seed=7,
        start=[0],
        keep_models=True,
    )
    assert np.allclose(models, runs.models[5:], rtol=1e-13)


class Kept:
    """Gradient descent, slowly, that goes on where the run before stopped."""

    def __init__(self, forgets):
        self.forgets, self.model = forgets, None

    def __call__(self, masks, gradient, start):
        x = start if self.forgets or self.model is None else self.model
        models = [start]
        for mask in masks:
            x = x - sum(gradient(i, x) for i in mask.nonzero()[0]) / 16
            models.append(x)
        self.model = x
        return models


def test_a_function_that_keeps_its_model_for_the_next_run_is_refused(problem):
    claim = {"rate": "1/5", "start": [2]}
    with pytest.raises(Broken):
        assert_linear_rate(problem, Kept(True), Full(2), **claim)
    with pytest.raises(InputError, match="differ after round 1; keep nothing between"):
        assert_linear_rate(problem, Kept(False), Full(2), **claim)


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_function_must_not_know_who_comes_later(problem, law, ahead):
    def looks(masks, gradient, start):
        models = [start]
        for r in range(len(masks)):
            present = masks[min(r + ahead, len(masks) - 1)].nonzero()[0]
            x = models[-1]
            models.append(x - sum((gradient(i, x) for i in present), 0 * x) / 8)
        return models

    asked = setting(problem, looks, law)
    if not ahead:
        assert run_models(asked, 0, range(4), 12).shape == (4, 13, 1)
        return
    with pytest.raises(InputError, match="read no later row of the masks"):
        run_models(asked, 0, range(4), 12)


def test_a_function_that_says_it_draws_may_draw(agreeing, law):
    draws = np.random.default_rng(0)

    def noisy(masks, gradient, start):
        scale = draws.choice([1, 2])
        return fedavg_function(masks, lambda i, x: scale * gradient(i, x), start)

    claim = {"rate": "9/10", "rounds": 60}
    with pytest.raises(InputError, match="must compute a run from its arguments alone"):
        assert_linear_rate(agreeing, noisy, law, **claim)
    noisy.draws = True
    assert assert_linear_rate(agreeing, noisy, law, **claim)


def test_runs_that_grow_beyond_all_floats_are_still_the_same(problem, law):
    def grows(masks, gradient, start):
        models = [start + 0 * start]
        for _ in masks:
            models.append(1e40 * (models[-1] + 1))
        return models

    assert np.isinf(run_models(setting(problem, grows, law), 0, range(2), 12)).any()


@pytest.mark.slow
def test_every_assertion_takes_a_function(problem, agreeing, law):
    assert assert_linear_rate(agreeing, fedavg_function, law, rate="3/4", rounds=20)
    with pytest.raises(Broken) as caught:
        assert_linear_rate(problem, fedavg_function, law, rate="3/4")
    assert "the function" in caught.value.outcome.setting
    assert "one of the test" in caught.value.outcome.reproduce
    assert assert_error_bound(problem, fedavg_function, law, bound=8, rounds=5)
    assert assert_stable(problem, fedavg_function, law, bound=8, rounds=5)
    options = {"bias": [0], "tolerance": 1, "rounds": 12}
    assert assert_fixed_point_bias(problem, fedavg_function, law, **options)


def test_an_algorithm_of_ones_own_is_answered_exactly(problem, law):
    # with momentum 0 it is gradient descent: (1 - 1/4 * 3/2)^2
    plain = assert_linear_rate(problem, HeavyBall(F(1, 4), 0), law, rate=F(25, 64))
    # the catalogue's gradient descent steps along the sum
    descent = assert_linear_rate(problem, GradientDescent("1/8"), law, rate=F(25, 64))
    assert plain.found == descent.found == "25/64 per round"
    assert assert_fixed_point_bias(problem, MifaLike(F(1, 4)), law, bias=0)
    assert "tests.testing.own import HeavyBall" in plain.reproduce
    assert "HeavyBall(step_size=Fraction(1, 4)" in plain.reproduce  # reads no text
    names = {}
    exec(compile(plain.reproduce, "script", "exec"), names)  # noqa: S102
    assert names["found"].mean_square_rate == F(25, 64)


@pytest.mark.parametrize(
    "step", [sympy.Rational(1, 4), sympy.sqrt(2) / 8, sympy.pi / 9]
)
def test_numbers_of_sympy_are_written_so_that_they_run(problem, law, step):
    found = assert_stable(problem, HeavyBall(step, 0), law)
    names = {}
    exec(compile(found.reproduce, "script", "exec"), names)  # noqa: S102
    again = names["algorithm"].step_size
    assert not isinstance(again, float)
    assert sympy.simplify(again - step) == 0


def test_a_wrong_algorithm_of_ones_own_is_caught(problem, law):
    with pytest.raises(Broken):
        assert_linear_rate(problem, ForgetsFlag(F(1, 4)), law, rate="9/10")
    with pytest.raises(Broken):
        assert_error_bound(problem, ForgetsFlag(F(1, 4)), law, bound="1/10")
    with pytest.raises(Broken):
        assert_stable(problem, ForgetsFlag(F(4)), Bernoulli([1, 1]))


def test_settings_of_ones_own_class_must_be_numbers(problem, law):
    with pytest.raises(InputError, match="keeps the text '1/4'"):
        assert_stable(problem, ForgetsFlag("1/4"), law)

    class Plain(ForgetsFlag.__base__):
        init = round = None

    with pytest.raises(InputError, match="Plain is none"):
        assert_stable(problem, Plain(), law)


def test_outcomes_survive_pickling(problem, law):
    with pytest.raises(Broken) as caught:
        assert_stable(problem, ForgetsFlag(F(4)), Bernoulli([1, 1]))
    twin = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert twin.outcome == caught.value.outcome
    assert str(twin) == str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda masks, _, start: [start] * len(masks),
        lambda masks, _, start: [start + 1] * (len(masks) + 1),
        lambda _masks, _, start: start,
        lambda masks, _, start: (start for _ in range(len(masks) + 1)),
        lambda masks, _, start: [start + 0j] * (len(masks) + 1),
        lambda masks, _, start: [start] * len(masks) + [[1, 2]],
        lambda _masks, _, start: f"{start}",
    ],
)
def test_what_is_returned_is_checked(agreeing, law, wrong):
    with pytest.raises(ShapeError, match="given as a function"):
        assert_stable(agreeing, wrong, law, rounds=3)


def test_a_function_needs_as_many_clients_and_a_minimiser_too(problem):
    options = {"rate": "1/2", "rounds": 2}
    with pytest.raises(ShapeError, match="must have the same clients; got 2 and 3"):
        assert_linear_rate(problem, fedavg_function, Full(3), **options)

    class Bare(Problem):
        n_clients, dim, exact = 2, 1, False
        value = gradient = None

    with pytest.raises(InputError, match="with the method minimiser"):
        assert_linear_rate(Bare(), fedavg_function, Full(2), **options)


def test_masks_can_not_be_written_to(agreeing, law):
    def cheats(masks, gradient, start):
        masks[:] = True
        return [start] * (len(masks) + 1)

    with pytest.raises(ValueError, match="read-only"):
        assert_stable(agreeing, cheats, law, rounds=3)


def no_third(masks, gradient):
    return [gradient(0, np.zeros(1))] * len(masks)


def another_client(masks, gradient, start):
    return [start + gradient(9, start)] * (len(masks) + 1)


def counted_from_one(masks, gradient, start):
    return [start + gradient(0 - 1, start)] * (len(masks) + 1)


def another_shape(masks, gradient, start):
    return [start + gradient(0, np.zeros(2))] * (len(masks) + 1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (no_third, "TypeError: no_third() takes 2 positional arguments"),
        (another_client, "raised IndexError: a client is one of 0, ..., 1; got 9"),
        (counted_from_one, "raised IndexError: a client is one of 0, ..., 1; got -1"),
        (another_shape, "test_functions.py raised ValueError: matmul"),
    ],
)
def test_a_function_that_raises_is_told_with_its_line(agreeing, law, wrong, words):
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        assert_stable(agreeing, wrong, law, rounds=3)
    assert str(caught.value).endswith("; mend it.")
    assert wrong.__name__ in str(caught.value)


def test_a_gradient_is_that_of_the_problem():
    plane = Quadratics([[[2, 1], [1, 3]]], [[1, -1]])
    seen = []

    def asks(masks, gradient, start):
        seen.append(gradient(0, np.array([1.0, 2.0])))
        return [start] * (len(masks) + 1)

    run_models(setting(plane, asks, Full(1)), 0, range(1), 1)
    assert seen[0].tolist() == [3.0, 8.0]


@pytest.mark.parametrize("ask", [assert_error_bound, assert_linear_rate])
def test_models_that_are_one_array_are_refused(problem, law, ask):
    def stepped(masks, gradient, start, keep):
        x = start.copy()
        models = [start]
        for mask in masks:
            for client in np.flatnonzero(mask):
                x -= gradient(client, x) / 8
            models.append(keep(x))
        return models

    def once(masks, gradient, start):  # a list of the last model alone
        return stepped(masks, gradient, start, keep=lambda x: x)

    def copied(masks, gradient, start):
        return stepped(masks, gradient, start, keep=np.copy)

    def paused(masks, gradient, start):  # in rounds without clients it stays as it is
        models = [start]
        for mask in masks:
            x = models[-1]
            steps = [x - gradient(i, x) / 8 for i in np.flatnonzero(mask)]
            models.append(sum(steps) / len(steps) if steps else x)
        return models

    claim = {assert_error_bound: {"bound": 9}, assert_linear_rate: {"rate": "99/100"}}
    asked = {"rounds": 30, "budget": 400, **claim[ask]}
    with pytest.raises(
        InputError, match=r"same one before and after round \d+, in whi"
    ):
        ask(problem, once, law, **asked)
    for mine in (copied, paused):
        models = run_models(setting(problem, mine, law), 0, range(1), 9)
        assert len(np.unique(models)) > 2

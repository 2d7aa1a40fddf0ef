"""Noisy moments equal a listing of every cohort and every sign of every noise.

The listing runs the plain loops with gradients that add +-c, so it shares no line with
the engine: neither the round, nor the noise columns, nor the second moments.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from fractions import Fraction

import numpy as np
import pytest

from flverify import Refusal, moments
from flverify._core.errors import DomainError, ShapeError
from flverify.algorithms import FedAvg, Focus, ProxSkip, Scaffold
from flverify.claims.recheck import quadratic_gradient
from flverify.engines.noise import noisy_moments
from flverify.participation import (
    Bernoulli,
    Full,
    ModeChain,
    UniformCohort,
)
from flverify.problems import LogSpiral, Quadratics
from flverify.reference._noise import every_run
from flverify.testing import Algorithm
from tests.testing.own import Ruled, TaggedState
from tests.zoo import PAIR, as_lists, settings

F = Fraction
LINE = Quadratics([[[2]]], [[1]])
FLAT = Quadratics([[[2, 1], [1, 3]]], [[1, 0]])


def signs(columns):
    """Noise c_k s_k summed over k, s_k = +-1: its covariance is sum_k c_k c_k'."""
    atoms = []
    for choice in itertools.product((1, -1), repeat=len(columns)):
        total = [
            sum(s * c[k] for s, c in zip(choice, columns, strict=True))
            for k in range(len(columns[0]))
        ]
        atoms.append((F(1, 2 ** len(columns)), total))
    return atoms


def listed(problem, algorithm, law, columns, start, rounds):
    """E|x_r - x*|^2 by every cohort and every noise, through the plain loop."""
    sequences = []
    for listing in itertools.product(law.support().items(), repeat=rounds):
        weight = F(1)
        for _, chance in listing:
            weight *= chance
        sequences.append((weight, [cohort for cohort, _ in listing]))
    return over(sequences, problem, algorithm, columns, start)


def over(sequences, problem, algorithm, columns, start):
    """The same over listed (weight, cohorts)."""
    home = type(algorithm).__module__.rpartition(".")[2]
    run = importlib.import_module(f"flverify.reference.{home}").run
    gradient = quadratic_gradient(*as_lists(problem))
    noise = [signs(columns[i]) for i in range(problem.n_clients)]
    star, totals = problem.minimiser().tolist(), [F(0)] * (len(sequences[0][1]) + 1)
    for weight, cohorts in sequences:

        def play(noisy, cohorts=cohorts):
            n = problem.n_clients
            return run(noisy, n, list(start), cohorts, **settings(algorithm))

        for chance, models in every_run(play, gradient, noise):
            for r, model in enumerate(models):
                gaps = zip(model, star, strict=True)
                totals[r] += weight * chance * sum((a - b) ** 2 for a, b in gaps)
    return totals


def covariances(columns):
    return [
        [[sum(c[a] * c[b] for c in part) for b in range(len(part[0]))]
         for a in range(len(part[0]))]
        for part in columns
    ]  # fmt: skip


ONE_CLIENT = [[[F(1, 2)]]]
TWO_CLIENTS = [[[F(1)]], [[F(1, 3)]]]
IN_THE_PLANE = [[[F(1), F(1, 2)], [F(0), F(2)]]]
CASES = {
    "focus": (LINE, Focus("1/4", 2), Bernoulli(["1/3"]), ONE_CLIENT, 3),
    "focus-tau-3": (LINE, Focus("1/4", 3), Bernoulli(["2/3"]), ONE_CLIENT, 2),
    "focus-two": (PAIR, Focus("1/5", 2), UniformCohort(2, 1), TWO_CLIENTS, 3),
    "focus-both": (PAIR, Focus("1/5", 2), Bernoulli(["1/2", "1"]), TWO_CLIENTS, 2),
    "focus-plane": (FLAT, Focus("1/8", 2), Bernoulli(["1/2"]), IN_THE_PLANE, 2),
    "focus-skip": (
        LINE,
        Focus("1/4", 2, empty_round="skip"),
        Bernoulli(["1/2"]),
        ONE_CLIENT,
        3,
    ),
    "focus-started": (
        PAIR,
        Focus("1/5", 1, initial_gradients="start", initial_tracker="sum"),
        UniformCohort(2, 1),
        TWO_CLIENTS,
        2,
    ),
    "focus-untracked": (
        PAIR,
        Focus("1/5", 1, initial_gradients="start"),
        Bernoulli(["1/2", "1/2"]),
        TWO_CLIENTS,
        2,
    ),
    "fedavg": (PAIR, FedAvg("1/5", 2), UniformCohort(2, 1), TWO_CLIENTS, 2),
    "scaffold": (PAIR, Scaffold("1/5", 2), UniformCohort(2, 1), TWO_CLIENTS, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_listing_of_every_cohort_and_noise(name):
    problem, algorithm, law, columns, rounds = CASES[name]
    start = [F(1), F(-2)][: problem.dim]
    found = noisy_moments(problem, algorithm, law, covariances(columns))
    expected = listed(problem, algorithm, law, columns, start, rounds)
    assert found.mean_square_error(start, rounds).tolist() == expected
    assert found.exact


def test_two_laws_with_one_covariance_have_the_same_moments():
    # +-1 and the law 0, 0, +-sqrt 2 differ; with values -1 and 2 as well
    skewed = [[(F(2, 3), [F(-1)]), (F(1, 3), [F(2)])]]  # mean 0, variance 2
    gradient = quadratic_gradient(*as_lists(LINE))
    run = importlib.import_module("flverify.reference.focus").run
    cohorts = [{0}, set(), {0}]
    total = F(0)
    for chance, models in every_run(
        lambda g: run(g, 1, [F(1)], cohorts, step_size=F(1, 4), local_steps=2),
        gradient,
        skewed,
    ):
        total += chance * (models[-1][0] - F(1, 2)) ** 2
    root = listed_on(cohorts, gradient, run)
    assert total == root


def listed_on(cohorts, gradient, run):
    """The same with variance 2 from two independent signs added."""
    total = F(0)
    for chance, models in every_run(
        lambda g: run(g, 1, [F(1)], cohorts, step_size=F(1, 4), local_steps=2),
        gradient,
        [signs([[F(1)], [F(1)]])],
    ):
        total += chance * (models[-1][0] - F(1, 2)) ** 2
    return total


def test_without_noise_moments_are_the_plain_ones():
    setting = PAIR, Focus("1/5", 2), Bernoulli(["1/2", "2/3"])
    plain, silent = moments(*setting), noisy_moments(*setting, 0)
    curves = [m.mean_square_error([1], 5).tolist() for m in (plain, silent)]
    assert curves[0] == curves[1]
    assert plain.mean_square_rate == silent.mean_square_rate
    assert plain.mean_rate == silent.mean_rate
    assert plain.bias.tolist() == silent.bias.tolist()


def test_rates_do_not_feel_the_noise_and_errors_are_linear_in_it():
    setting = PAIR, ProxSkip("1/5", probability="1/2"), Full(2)
    silent, one, two = (noisy_moments(*setting, v) for v in (0, 1, 2))
    assert silent.mean_square_rate == one.mean_square_rate
    low, middle, high = (m.stationary_mean_square_error for m in (silent, one, two))
    assert 0 == low < middle
    assert high == 2 * middle


def test_stored_noise_is_correlated_with_later_states():
    # forgetting it would leave eta^2 sigma^2 / (1 - (1 - eta)^2) for p = 1/2 as well
    one = Quadratics([[[1]]], [[0]])
    absent = noisy_moments(one, Focus("1/10"), Bernoulli(["1/2"]), 1)
    fresh = F(1, 100) / (1 - F(81, 100))
    assert (
        noisy_moments(one, Focus("1/10"), Full(1), 1).stationary_mean_square_error
        == fresh
    )
    assert absent.stationary_mean_square_error > 2 * fresh


def test_stationary_error_is_the_limit_of_the_curve():
    found = noisy_moments(PAIR, Focus("1/5", 2), UniformCohort(2, 1), ["1", "1/9"])
    curve = found.mean_square_error([1], 400)
    assert float(curve[-1]) == pytest.approx(float(found.stationary_mean_square_error))


def test_floats_agree_with_rationals():
    exact = noisy_moments(PAIR, Focus("1/5", 2), UniformCohort(2, 1), ["1", "1/9"])
    rough = noisy_moments(PAIR, Focus(0.2, 2), UniformCohort(2, 1), [1.0, 1 / 9])
    assert not rough.exact
    np.testing.assert_allclose(
        rough.mean_square_error([1], 30),
        exact.mean_square_error([1], 30).astype(float),
        rtol=1e-10,
    )
    assert rough.stationary_mean_square_error == pytest.approx(
        float(exact.stationary_mean_square_error)
    )


def test_a_law_with_modes():
    # the client takes part in round 1, and with probability 3/4 in round 2
    laws = Full(1), Bernoulli(["1/2"])
    chain = ModeChain([["1/2", "1/2"], ["1/4", "3/4"]], laws, initial=0)
    found = noisy_moments(LINE, Focus("1/4"), chain, 1).mean_square_error([1], 2)
    sequences = [(F(3, 4), [{0}, {0}]), (F(1, 4), [{0}, set()])]
    expected = over(sequences, LINE, Focus("1/4"), [[[F(1)]]], [F(1)])
    assert found.tolist() == expected


def test_many_outcomes_or_numbers_per_client_are_refused():
    many = Quadratics([[[1]]] * 14, [[0]] * 14)
    refused = noisy_moments(many, Focus("1/5"), Bernoulli(["1/2"] * 14), 1)
    assert isinstance(refused, Refusal)
    assert isinstance(noisy_moments(many, Focus("1/5"), Full(2), 1), Refusal)


def test_other_problems_are_refused():
    refused = noisy_moments(LogSpiral(1, "1/3", 1, pitch=1), Focus("1/5"), Full(1), 1)
    assert isinstance(refused, Refusal)
    assert "quadratic" in refused.reason


@pytest.mark.parametrize(
    ("noise", "error"),
    [
        ([1, 2, 3], ShapeError),
        ([[[1]], [[-1]]], DomainError),
        ([1.0, -1.0], DomainError),
    ],
)
def test_noise_must_be_one_covariance_per_client(noise, error):
    with pytest.raises(error):
        noisy_moments(PAIR, Focus("1/5"), Full(2), noise)


def test_an_asymmetric_covariance_is_refused():
    with pytest.raises(DomainError, match="symmetric"):
        noisy_moments(FLAT, Focus("1/9"), Full(1), [[[1, 1], [0, 1]]])


# --- what only participants know


def everybody(give):
    def rule(method, state, cohort, oracle):
        slopes = oracle.gradient(give(cohort, state.model))
        return state.model - method.step_size * cohort.everyone(slopes)

    return Ruled(rule)


@dataclasses.dataclass(frozen=True)
class KeptByAll(Algorithm):
    """Clients keep twice the model: all of them, or those that pulled it."""

    step_size: object
    selected: bool
    State = TaggedState

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return TaggedState(start, 0 * cohort.broadcast(start))

    def round(self, state, cohort, oracle):
        here = cohort.pull(state.model)
        local = here - self.step_size * oracle.gradient(here)
        tags = cohort.select(2 * here, state.tags) if self.selected else 2 * here
        return TaggedState(cohort.mean(local, otherwise=state.model), tags)


@pytest.mark.parametrize("ask", [moments, lambda *one: noisy_moments(*one, 1)])
def test_a_stack_that_participants_pulled_is_not_everybodys(ask):
    law = Bernoulli(["1/2", "1/3"])
    good = ask(PAIR, everybody(lambda cohort, x: cohort.broadcast(x)), law)
    assert good.mean_square_rate == (1 - Fraction(3, 8)) ** 2
    wrong = ask(PAIR, everybody(lambda cohort, x: cohort.pull(x)), law)
    assert isinstance(wrong, Refusal)
    assert "pulled by participants only; broadcast instead" in wrong.reason
    assert ask(PAIR, KeptByAll(Fraction(1, 8), selected=True), law)
    wrong = ask(PAIR, KeptByAll(Fraction(1, 8), selected=False), law)
    assert isinstance(wrong, Refusal)
    assert "slot tags must be known at every client" in wrong.reason

"""Moments of every algorithm equal a listing of every sequence of cohorts.

The listing runs the plain loops of flverify/reference in rationals, so it shares no
line with the engine: neither the round, nor the trace, nor the law's tables.
"""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest

from flverify import Refusal, moments
from flverify._core.errors import DomainError
from flverify.algorithms import FedAvg, Focus, GradientDescent, ProxSkip, Scaffold
from flverify.claims.recheck import expected_square_errors, quadratic_gradient
from flverify.engines import enumerate as listing
from flverify.engines.arithmetic import FLOAT, RATIONAL
from flverify.engines.lower import ALWAYS, Layout, Lowering, dense, lower
from flverify.engines.moments import _system
from flverify.engines.moments._large import LargeMoments
from flverify.engines.trace import trace
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    Full,
    ModeChain,
    UniformCohort,
)
from flverify.problems import Quadratics
from tests.zoo import (
    LAWS,
    PAIR,
    PLANE,
    algorithms,
    as_lists,
    floated,
    reference,
    settings,
)

F = Fraction
SETTINGS = [
    pytest.param(problem, member, algorithm, law, id=f"{member}{k}-{law.spec}")
    for problem in (PAIR, PLANE)
    for k, (member, algorithm) in enumerate(algorithms(problem.n_clients))
    for law in LAWS[problem.n_clients]
]


def listed(problem, member, algorithm, law, start, rounds):
    gradient = quadratic_gradient(*as_lists(problem))
    return expected_square_errors(
        reference(member),
        gradient,
        problem.n_clients,
        law.support(),
        rounds,
        start,
        problem.minimiser().tolist(),
        **settings(algorithm),
    )


NONLINEAR = ("numbers per client", "must not project")


@pytest.mark.parametrize(("problem", "member", "algorithm", "law"), SETTINGS)
def test_curve_equals_listing(problem, member, algorithm, law):
    setting = moments(problem, algorithm, law)
    if isinstance(setting, Refusal):
        assert any(words in setting.reason for words in NONLINEAR)
        return
    rounds = 3 if problem.n_clients == 2 else 2
    start = [F(1), F(-2, 3)][: problem.dim]
    curve = setting.mean_square_error(start, rounds)
    assert curve.tolist() == listed(problem, member, algorithm, law, start, rounds)


@pytest.mark.parametrize("seeded", ["joint_inclusion", "cross", "joint_averaging"])
def test_a_wrong_table_is_noticed(monkeypatch, seeded):
    # planted: clients treated as independent although the cohort has a fixed size
    law = UniformCohort(2, 1)
    member, algorithm = "scaffold", Scaffold("1/20", 2)
    single = {"joint_inclusion": law.inclusion}.get(seeded, law.averaging_weights)()
    wrong = np.multiply.outer(single, single)
    np.fill_diagonal(wrong, getattr(law, seeded)().diagonal())
    monkeypatch.setattr(UniformCohort, seeded, lambda _: wrong)
    try:
        curve = moments(PAIR, algorithm, law).mean_square_error([1], 3).tolist()
    except DomainError:
        return  # the tables contradict one another, which is noticed even earlier
    assert curve != listed(PAIR, member, algorithm, law, [F(1)], 3)


@pytest.mark.parametrize(("member", "algorithm"), list(algorithms(3)))
def test_trace_equals_the_listed_round_on_every_subset(member, algorithm):
    del member
    hessians, linear = RATIONAL.array(PLANE.hessians), RATIONAL.array(PLANE.linear)
    try:
        traced = trace(algorithm, 3)
    except TypeError as error:  # the listing is what is used then
        outside = (*NONLINEAR, "must not return a fresh aggregate")
        if not any(words in str(error) for words in outside):
            raise
        return
    layout = Layout(traced.server_slots, traced.client_slots, 3, 2)
    later = Lowering(hessians, linear, traced.points, RATIONAL.convert)
    draws = dense(lower(traced.after, layout, later), layout, RATIONAL.convert)
    for size in range(4):
        for members in itertools.combinations(range(3), size):
            chosen = frozenset(members)
            total = draws[ALWAYS]
            for (feature, client), matrix in draws.items():
                if client in chosen:
                    share = F(1) if feature == "I" else F(1, size)
                    total = total + RATIONAL.convert(share) * matrix
            one = listing.outcome_matrix(
                algorithm, layout, hessians, linear, chosen, RATIONAL.convert
            )
            assert (total == one).all()


@pytest.mark.parametrize(
    ("step_size", "steps", "rate"),
    [("1/10", 1, 0.959566), ("1/5", 1, 0.918111), ("1/10", 2, 0.959549)],
)
def test_focus_rates_of_the_design_notes(step_size, steps, rate):
    # worst scalar quadratic, two clients with probability 1/2, mu = 1/10, L = 1
    law = Bernoulli(["1/2", "1/2"])
    rates = [
        moments(_scalar(h), Focus(step_size, steps), law).mean_square_rate
        for h in itertools.product(("1/10", 1), repeat=2)
    ]
    assert float(max(rates)) == pytest.approx(rate, abs=1e-6)


def test_scaffold_rate_of_the_design_notes():
    rates = [
        moments(_scalar(h), Scaffold("1/10", 2), UniformCohort(4, 2)).mean_square_rate
        for h in itertools.product(("1/10", 1), repeat=4)
    ]
    assert float(max(rates)) == pytest.approx(0.960596, abs=1e-6)


def _scalar(curvatures):
    return Quadratics([[[h]] for h in curvatures], [[0]] * len(curvatures))


def test_fedavg_rate_by_hand():
    # x+ = a_i x on a singleton, (a_0 + a_1)/2 on both, x when empty; a = (1/2, 1/4)
    law = Bernoulli(["1/2", "1/2"])
    setting = moments(_scalar((2, 3)), FedAvg("1/4"), law)
    square = F(1, 4) * (1 + F(1, 4) + F(1, 16) + F(3, 8) ** 2)
    assert setting.mean_square_rate == square
    assert setting.mean_rate == F(1, 4) * (1 + F(1, 2) + F(1, 4) + F(3, 8))


def test_focus_at_full_participation_is_gradient_descent():
    focus = moments(PLANE, Focus("1/20"), Full(3))
    descent = moments(PLANE, GradientDescent("1/20"), Full(3))
    assert focus.mean_square_rate_interval == descent.mean_square_rate_interval
    one, other = (m.mean_square_error([1, 2], 4).tolist() for m in (focus, descent))
    assert one == other


def test_focus_with_one_uniform_client_is_sag():
    # SAG: a_i <- g_i(x) for the drawn i, x <- x - eta sum_j a_j; state (x, a_1, a_2)
    eta, h = F(1, 10), (F(1), F(2))
    setting = moments(_scalar(h), Focus(eta), UniformCohort(2, 1))
    maps = []
    for i in range(2):
        table = np.eye(3)
        table[1 + i] = [float(h[i]), 0, 0]
        descend = np.eye(3)
        descend[0, 1:] = -float(eta)
        maps.append(descend @ table)
    squared = sum(np.kron(m, m) for m in maps) / 2
    radius = np.abs(np.linalg.eigvals(squared)).max()
    assert float(setting.mean_square_rate) == pytest.approx(radius, rel=1e-12)


@pytest.mark.parametrize("algorithm", [Focus("1/20", 3), Scaffold("1/20", 2)])
def test_one_client(algorithm):
    one = moments(_scalar((2,)), algorithm, Full(1))
    assert one.bias.tolist() == [0]
    assert float(one.mean_square_rate) == pytest.approx(float(one.mean_rate) ** 2)


@pytest.mark.parametrize("algorithm", [Focus("1/20", 2), FedAvg("1/20", 2)])
def test_permuting_clients_permutes_nothing_at_the_server(algorithm):
    order = [2, 0, 1]
    chances = np.array([F(1, 2), F(1, 3), F(9, 10)])
    other = Quadratics(PLANE.hessians[order], PLANE.linear[order])
    left = moments(PLANE, algorithm, Bernoulli(chances.tolist()))
    right = moments(other, algorithm, Bernoulli(chances[order].tolist()))
    assert left.mean_square_rate_interval == right.mean_square_rate_interval
    assert left.bias.tolist() == right.bias.tolist()
    assert left.stationary_mean_square_error == right.stationary_mean_square_error


@pytest.mark.parametrize(
    "algorithm", [Focus("1/20", 2), FedAvg("1/20", 2), Scaffold("1/20")]
)
def test_rescaling_the_objectives(algorithm):
    # f -> 3 f, eta -> eta / 3 leaves every iterate where it was
    law = Bernoulli(["1/2", "1/3", "9/10"])
    scaled = Quadratics(3 * PLANE.hessians, 3 * PLANE.linear)
    slower = dataclasses.replace(algorithm, step_size=algorithm.step_size / 3)
    left, right = moments(PLANE, algorithm, law), moments(scaled, slower, law)
    assert left.mean_square_rate_interval == right.mean_square_rate_interval
    one, other = (m.mean_square_error([1, 1], 2).tolist() for m in (left, right))
    assert one == other


def test_rates_do_not_depend_on_stored_copies():
    # at full participation SCAFFOLD with one local step is gradient descent on F,
    # however many controls it stores
    scaffold = moments(PLANE, Scaffold("3/20"), Full(3))
    descent = moments(PLANE, GradientDescent("1/20"), Full(3))
    assert scaffold.mean_square_rate_interval == descent.mean_square_rate_interval


def test_a_client_that_never_takes_part_is_legal():
    law = Bernoulli(["1/2", 0])
    focus = moments(PAIR, Focus("1/5"), law)
    assert focus.mean_square_rate < 1
    assert focus.mean_fixed_point.tolist() == [0]  # the minimiser of f_0 alone
    assert focus.bias.tolist() == [F(-2, 3)]


def test_unstable_settings_have_infinite_stationary_error():
    setting = moments(PAIR, FedAvg(2), Full(2))
    assert setting.mean_square_rate > 1
    assert setting.stationary_mean_square_error == float("inf")


def test_stationary_error_by_hand():
    # one of two clients, f_i = (x - c_i)^2/2: x+ = (1-eta) x + eta c_i
    problem = Quadratics([[[1]], [[1]]], [[0], [2]])
    setting = moments(problem, FedAvg("1/2"), UniformCohort(2, 1))
    assert setting.stationary_mean_square_error == F(1, 4) * 1 / (1 - F(1, 4))


def test_stationary_error_is_the_limit_of_the_curve():
    setting = moments(PAIR, FedAvg("1/4", 2), Bernoulli(["1/2", "1/3"]))
    curve = setting.mean_square_error([5], 60)
    gap = abs(curve[-1] - setting.stationary_mean_square_error)
    assert gap < F(1, 10**6)


@pytest.mark.parametrize("law", [*LAWS[3], Bernoulli(["1/10", "1/10", 1])])
@pytest.mark.parametrize(
    "algorithm",
    [
        Focus("1/20", 3),
        Focus("1/50", 2, "skip"),
        FedAvg("1/20", 3),
        Scaffold("1/20", 2),
    ],
)
def test_floats_large_and_small_equal_rationals(law, algorithm):
    exact = moments(PLANE, algorithm, law)
    inexact = dataclasses.replace(algorithm, step_size=float(algorithm.step_size))
    small = moments(floated(PLANE), inexact, law)
    large = LargeMoments(floated(PLANE), inexact, law)
    rate = float(exact.mean_square_rate)
    low, high = exact.mean_square_rate_interval
    assert low <= exact.mean_square_rate <= high
    for engine in (small, large):
        assert engine.mean_square_rate == pytest.approx(rate, rel=1e-9)
        low, high = engine.mean_square_rate_interval
        assert low <= rate * (1 + 1e-12)
        assert high >= rate * (1 - 1e-12)
    optimum = np.asarray(PLANE.minimiser(), dtype=float)
    error = float(exact.stationary_mean_square_error)
    assert small.stationary_mean_square_error == pytest.approx(
        error, rel=1e-9, abs=1e-12
    )
    assert large.stationary_error(optimum) == pytest.approx(error, rel=1e-9, abs=1e-12)
    curve = exact.mean_square_error([1, 1], 3).astype(float)
    begin = np.ones(2)
    assert np.allclose(large.error_curve(begin, optimum, 3), curve, rtol=1e-12)
    assert np.allclose(small.mean_square_error([1.0, 1.0], 3), curve, rtol=1e-12)
    fixed = exact.mean_fixed_point.astype(float)
    assert np.allclose(large.mean_fixed_point(), fixed, rtol=1e-10)


@pytest.mark.parametrize(
    "algorithm", [Focus("1/20", 3), FedAvg("1/20", 3), Scaffold("1/20", 2)]
)
def test_large_floats_from_anywhere_with_a_client_that_never_comes(algorithm):
    law = Bernoulli(["1/2", 0, 1])
    exact = moments(PLANE, algorithm, law)
    inexact = dataclasses.replace(algorithm, step_size=float(algorithm.step_size))
    large = LargeMoments(floated(PLANE), inexact, law)
    optimum = np.asarray(PLANE.minimiser(), dtype=float)
    curve = exact.mean_square_error([3, -2], 3).astype(float)
    found = large.error_curve(np.array([3.0, -2.0]), optimum, 3)
    assert np.allclose(found, curve, rtol=1e-12)
    fixed = exact.mean_fixed_point.astype(float)
    assert np.allclose(large.mean_fixed_point(), fixed, rtol=1e-10)


def test_proxskip_is_listed_where_the_trace_refuses():
    setting = moments(PAIR, ProxSkip("1/4", probability="1/2"), AllOrNothing(2, "1/2"))
    assert setting.bias.tolist() == [0]
    assert setting.mean_square_rate < 1


def test_a_chain_runs_on_mode_times_state():
    # two modes: client 0 alone, client 1 alone; the mode stays with 2/3, 1/2
    transition = [["2/3", "1/3"], ["1/2", "1/2"]]
    laws = [Bernoulli([1, 0]), Bernoulli([0, 1])]
    chain = ModeChain(transition, laws)
    algorithm, start, rounds = FedAvg("1/4"), [F(1)], 3
    curve = moments(PAIR, algorithm, chain).mean_square_error(start, rounds)
    run, gradient = reference("fedavg"), quadratic_gradient(*as_lists(PAIR))
    stationary, moves = [F(3, 5), F(2, 5)], [[F(2, 3), F(1, 3)], [F(1, 2), F(1, 2)]]
    optimum = PAIR.minimiser()[0]
    totals = [F(0)] * (rounds + 1)
    for path in itertools.product(range(2), repeat=rounds):
        chance = stationary[path[0]]
        for one, after in itertools.pairwise(path):
            chance *= moves[one][after]
        models = run(
            gradient, 2, start, [{mode} for mode in path], **settings(algorithm)
        )
        for r, (model,) in enumerate(models):
            totals[r] += chance * (model - optimum) ** 2
    assert curve.tolist() == totals


def test_a_chain_of_equal_laws_is_that_law():
    law = Bernoulli(["1/2", "1/3"])
    chain = ModeChain([["1/5", "4/5"], ["3/4", "1/4"]], [law, law])
    for algorithm in (Focus("1/10", 2), FedAvg("1/4", 2)):
        left, right = moments(PAIR, algorithm, chain), moments(PAIR, algorithm, law)
        assert left.mean_square_rate == right.mean_square_rate
        assert left.bias.tolist() == right.bias.tolist()
        square = right.stationary_mean_square_error
        assert left.stationary_mean_square_error == square


def test_settings_that_do_not_fit_are_refused():
    refusal = moments(PAIR, FedAvg("1/4"), Full(3))
    assert isinstance(refusal, Refusal)
    assert "same clients" in refusal.reason


def test_float_factors_keep_fixed_sums_exact():
    law = UniformCohort(3, 2)
    system = _system.build(floated(PLANE), FedAvg(0.05, 2), law, FLOAT)
    # sum_i a_i = 1 always: N features, N - 1 random directions, and the mean
    assert len(system.moves[0].terms) == 3

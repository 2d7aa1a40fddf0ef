"""The moments engine at sizes and corners that the contracts do not reach."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from flverify import RefusedError, moments
from flverify._core.errors import Refusal, ShapeError
from flverify.algorithms import FedAvg, Focus, ProxSkip, Scaffold
from flverify.engines.arithmetic import RATIONAL
from flverify.engines.conserved import conserved, describe, vanishes_at_start
from flverify.engines.moments._large import LargeMoments
from flverify.engines.moments._perron import MessageMap
from flverify.engines.moments._radius import exact_radius, outward
from flverify.engines.moments._system import build
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    ExplicitLaw,
    ModeChain,
    SuccessiveSampling,
    UniformCohort,
)
from flverify.problems import Quadratics, random_quadratics, synthetic_ridge
from tests.testing.own import Drifting
from tests.zoo import PAIR


@pytest.fixture(scope="module")
def middling():
    """A state just above what is written out: the message engine takes over."""
    return random_quadratics(5, 17, 0.5, 2.0, 1.0, seed=3)


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    "algorithm", [Focus(0.02, 3), FedAvg(0.1, 3), Scaffold(0.05, 2)]
)
@pytest.mark.parametrize(
    "law", [Bernoulli([0.2, 0.5, 0.9, 0.4, 0.7]), UniformCohort(5, 2)]
)
def test_the_rate_is_the_slope_of_a_long_curve(middling, algorithm, law):
    # power iteration on second moments of differences, by the plain error curve of
    # the problem with its linear part removed
    homogeneous = Quadratics(middling.hessians, 0 * middling.linear)
    setting = moments(homogeneous, algorithm, law)
    curve = setting.mean_square_error(np.ones(17), 400).astype(float)
    slope = (curve[400] / curve[360]) ** (1 / 40)
    low, high = setting.mean_square_rate_interval
    assert low <= setting.mean_square_rate <= high
    assert setting.mean_square_rate == pytest.approx(slope, rel=2e-3)


def test_the_curve_ends_at_the_stationary_error(middling):
    setting = moments(middling, FedAvg(0.2, 3), UniformCohort(5, 2))
    curve = setting.mean_square_error(np.zeros(17), 300)
    stationary = setting.stationary_mean_square_error
    assert curve[-1] == pytest.approx(stationary, rel=1e-8)
    assert stationary > float(setting.bias @ setting.bias)


def test_focus_is_exact_at_full_figure_data():
    small = synthetic_ridge(n_clients=4, dim=25, samples=30)
    setting = moments(small, Focus(1e-3, 5), Bernoulli([0.3, 0.5, 0.7, 0.9]))
    assert np.abs(setting.bias).max() < 1e-9
    assert setting.mean_square_rate < 1


def test_flat_directions_of_rare_clients_do_not_slow_the_rate():
    # client 1 is flat: its stored gradient never moves, so its absence is not felt
    problem = Quadratics([[[1.0]], [[0.0]]], [[0.0], [0.0]])
    setting = moments(problem, Focus(0.5), Bernoulli([1.0, 0.01]))
    assert setting.mean_square_rate == pytest.approx(0.25)


@pytest.mark.parametrize("chances", [["1/2", 0], ["0.37", "0.37", 0]])
def test_a_client_that_never_comes_has_the_rate_of_rationals_in_floats(chances):
    # what its floats say of pairs is no covariance by 1e-17
    n = len(chances)
    problem = Quadratics([[[i + 1]] for i in range(n)], [[i] for i in range(n)])
    exact = moments(problem, Scaffold("1/20", 2), Bernoulli(chances))
    law = Bernoulli([float(p) for p in exact.participation.inclusion()])
    found = moments(problem.as_float(), Scaffold(0.05, 2), law)
    expected = float(exact.mean_square_rate)
    assert found.mean_square_rate == pytest.approx(expected, rel=1e-9)


def test_a_start_that_never_moves_has_rate_one():
    # tracker 0 with stored gradients at the start: increments cancel for ever
    algorithm = Focus(1 / 19, 1, initial_gradients="start")
    problem = Quadratics([[[4.0]], [[9.0]]], [[2.0], [1.0]])
    setting = moments(problem, algorithm, AllOrNothing(2, 0.2))
    assert setting.mean_square_rate == pytest.approx(1)
    with pytest.raises(RefusedError, match="surely 1 or more"):
        _ = setting.stationary_mean_square_error


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (Focus("1/8", 2), "tracker - sum(stored)"),
        (Scaffold("1/8", 2), "control - 1/5 sum(controls)"),
    ],
)
def test_conserved_quantities_are_found_and_named(algorithm, words):
    (quantity,) = conserved(algorithm, 5)
    assert describe(quantity, algorithm) == words
    assert vanishes_at_start(quantity, algorithm, 5)


def test_a_wrong_factor_conserves_nothing(monkeypatch):
    # planted: SCAFFOLD's server control averaged over participants, not over N
    def wrong(self, state, cohort, oracle):
        here = cohort.pull(state.model)
        renewed = oracle.gradient(here)
        drift = cohort.mean(renewed - state.controls, otherwise=0 * state.model)
        kept = cohort.select(renewed, state.controls)
        return state._replace(control=state.control + drift, controls=kept)

    monkeypatch.setattr(Scaffold, "round", wrong)
    assert conserved(Scaffold("1/8"), 5) == [{"model": 1}]


def test_a_start_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match="shape"):
        moments(PAIR, FedAvg("1/4"), UniformCohort(2, 1)).mean_square_error([1, 2], 3)


@pytest.mark.slow
def test_large_exact_settings_are_refused_with_a_way_out():
    problem = Quadratics([[[1]]] * 30, [[0]] * 30)
    setting = moments(problem, Focus("1/100"), UniformCohort(30, 3))
    with pytest.raises(RefusedError, match=r"float rate alone .*as_float"):
        _ = setting.mean_square_rate
    huge = Quadratics([[[1]]] * 80, [[0]] * 80)
    refusal = moments(huge, Focus("1/100"), UniformCohort(80, 3))
    assert isinstance(refusal, Refusal)


def test_floats_may_have_more_numbers_than_rationals():
    curvatures, dim = (1.0, 2.0, 3.0, 1.5), 11  # 66 numbers: each coordinate alike
    law, start, rounds = AllOrNothing(4, 0.5), [0.0], 2
    many = Quadratics([np.eye(dim) * c for c in curvatures], np.ones((4, dim)))
    alone = Quadratics([[[c]] for c in curvatures], np.ones((4, 1)))
    found = moments(many, Focus(0.02), law).mean_square_error(start * dim, rounds)
    one = moments(alone, Focus(0.02), law).mean_square_error(start, rounds)
    assert found == pytest.approx(dim * one)


def test_proxskip_needs_a_law_that_can_be_listed(middling):
    algorithm = ProxSkip(0.1, probability=0.5)
    refusal = moments(middling, algorithm, AllOrNothing(5, 0.5))
    assert isinstance(refusal, Refusal)
    assert "fresh aggregate" in refusal.reason


def test_a_chain_with_a_large_float_state_is_refused(middling):
    law = UniformCohort(5, 2)
    chain = ModeChain([["1/2", "1/2"], ["1/2", "1/2"]], [law, law])
    refusal = moments(middling, Focus(0.02), chain)
    assert isinstance(refusal, Refusal)
    assert "modes" in refusal.reason


# spectral radii of rational matrices


def radius(*rows):
    values = [[flint.fmpq(v.numerator, v.denominator) for v in row] for row in rows]
    return exact_radius(np.array(values, dtype=object))


@pytest.mark.parametrize(
    ("one", "other", "largest"),
    [("1/3", "1/5", "1/3"), ("-1/3", "1/5", "1/3"), ("1/7", "-2/3", "2/3")],
)
def test_a_rational_radius_is_recognised(one, other, largest):
    one, other, largest = map(Fraction, (one, other, largest))
    assert radius([one, 1], [0, other]) == (largest, largest)


@pytest.mark.parametrize("digits", [16, 30, 90])
def test_a_single_root_next_to_1_is_itself(digits):
    root = 1 - Fraction(3, 2 * 10**digits)
    assert radius([root]) == radius([-root, 0], [0, 0]) == (root, root)


def test_a_single_root_of_very_many_digits_is_enclosed():
    root = Fraction(1, 3) + Fraction(1, 10**120)
    low, high = radius([root])
    assert low < root < high
    assert high - low <= Fraction(1, 10**14)


@pytest.mark.parametrize("part", [Fraction(-1, 10**60), Fraction(1, 10**120)])
def test_the_digits_that_are_told_do_not_hide_the_side_of_1(part):
    low, high = radius([1 + part, 1], [0, 1 / Fraction(3) ** 300])
    assert low <= 1 + part <= high
    assert high < 1 if part < 0 else low > 1


def test_a_nilpotent_map_has_radius_zero():
    assert radius([0, 1], [0, 0]) == outward(Fraction(0), Fraction(0)) == (0, 0)


def test_an_irrational_radius_is_enclosed():
    low, high = radius([1, 1], [1, 0])  # the golden ratio solves x^2 = x + 1
    assert low**2 < low + 1
    assert high**2 > high + 1
    assert 0 < high - low <= Fraction(1, 10**14)


def test_a_pair_of_complex_roots_has_its_modulus():
    low, high = radius([0, -2], [1, 0])  # roots of x^2 = -2
    assert low**2 < 2 < high**2
    assert high - low <= Fraction(1, 10**14)


@pytest.mark.parametrize("digits", [30, 90])
def test_a_root_just_beyond_a_rational_one_is_not_taken_for_it(digits):
    square = Fraction(1, 4) + Fraction(1, 10**digits)
    half = Fraction(1, 2)
    low, high = radius([half, 0, 0], [0, 0, square], [0, 1, 0])
    assert low <= half < high
    assert high**2 >= square


def test_a_rational_root_is_recognised_among_others_of_its_size():
    half, square = Fraction(1, 2), Fraction(1, 4)  # roots 1/2, 1/2 and +-i/2
    rows = [half, 0, 0, 0], [0, half, 0, 0], [0, 0, 0, -square], [0, 0, 1, 0]
    assert radius(*rows) == (half, half)


def test_roots_that_nearly_agree_take_no_longer_than_others():
    tiny = Fraction(1, 10**200)
    rows = [[1 - (k + 1) * tiny if j == k else 0 for j in range(5)] for k in range(5)]
    low, high = radius(*rows)  # minutes, where the roots are told apart
    assert low <= 1 - tiny <= high < 1
    assert high - low <= Fraction(1, 10**14)


@pytest.mark.parametrize("size", [1, 10**6, Fraction(1, 10**6)])
def test_ends_are_rounded_outward_to_fifteen_digits(size):
    digits = 333333333333333
    third = Fraction(size, 3)
    low, high = outward(third, third)
    assert low == Fraction(digits, 10**15) * size
    assert high == Fraction(digits + 1, 10**15) * size


def test_the_enclosure_of_a_float_rate_is_tight():
    problem = Quadratics([[[1.0]], [[3.0]]], [[1.0], [-2.0]])
    for algorithm in (FedAvg(0.1, 2), Focus(0.1)):
        found = moments(problem, algorithm, Bernoulli([0.5, 0.3]))
        low, high = found.mean_square_rate_interval
        assert low <= found.mean_square_rate <= high
        assert high - low <= 1e-6 * high


@pytest.mark.parametrize("exact", [True, False])
def test_a_mode_written_twice_changes_no_mean(exact):
    # apart the two copies have the rate 6/5; their sum, all that is seen, has 4/5
    problem = Quadratics([[[3]], [["3/5"]]], [[1], [2]])
    first, second = (ExplicitLaw({(client,): 1}, 2) for client in (1, 0))
    once = ModeChain([[0, 1], ["2/5", "3/5"]], (first, second), initial=0)
    steps = [[0, "1/2", "1/2"], ["2/5", "3/5", 0], ["2/5", 0, "3/5"]]
    twice = ModeChain(steps, (first, second, second), initial=0)
    problem = problem if exact else problem.as_float()
    one, two = (moments(problem, FedAvg(1), law) for law in (once, twice))
    assert float(two.mean_rate) == pytest.approx(0.8)
    assert float(two.mean_rate) == pytest.approx(float(one.mean_rate), rel=1e-12)
    assert float(two.bias[0]) == pytest.approx(float(one.bias[0]), rel=1e-12)


def test_exact_terms_are_no_more_than_the_entries_of_a_small_state():
    # many clients, one number: the second moment of the factor, outcome by outcome
    n, step = 7, Fraction(1, 4)
    problem = Quadratics(
        [[[Fraction(k + 1, 2)]] for k in range(n)], [[k] for k in range(n)]
    )
    law = Bernoulli([Fraction(k + 1, 9) for k in range(n)])
    system = build(problem, FedAvg(step), law, RATIONAL)
    assert len(system.moves[0].terms) <= 3  # the mean, the factor and the constant
    square = 0
    for members, chance in law.support().items():
        curvatures = [Fraction(k + 1, 2) for k in members] or [Fraction(0)]
        square += chance * (1 - step * sum(curvatures) / len(curvatures)) ** 2
    assert moments(problem, FedAvg(step), law).mean_square_rate == square


@pytest.mark.parametrize(
    ("algorithm", "law", "shapes"),
    [
        (Focus(0.02), Bernoulli([0.2, 0.5, 0.9, 0.4, 0.7]), [(5, 17)]),
        (Focus(0.02), UniformCohort(5, 2), [(1, 85)]),
    ],
)
def test_messages_are_packed_block_by_block_and_half(middling, algorithm, law, shapes):
    large = LargeMoments(middling, algorithm, law)
    mapped = MessageMap(large._spectrum, large._thin)
    assert [cell.shape for cell in mapped.cells] == shapes
    rows = np.random.default_rng(0).standard_normal((2, 85, 85))
    one, two = (mapped.unpack(mapped.pack(r + r.T)) for r in rows)
    packed = mapped.pack(one), mapped.pack(two)
    assert len(packed[0]) == sum(n * s * (s + 1) // 2 for n, s in shapes)
    assert packed[0] @ packed[1] == pytest.approx(np.sum(one * two))
    assert np.allclose(mapped.unpack(packed[0]), one)


@pytest.mark.parametrize(
    ("n", "algorithm", "why"),
    [
        (2499, Focus(0.02), "at most 2500 numbers of a state; got 2501"),
        (5001, FedAvg(0.02), "at most 5000 clients; got 5001"),
        (5001, Focus(0.02), "at most 5000 clients; got 5001"),
    ],
)
def test_what_would_take_hours_is_refused_at_once(monkeypatch, n, algorithm, why):
    monkeypatch.setattr(Bernoulli, "inclusion", None)  # nothing is asked
    problem = Quadratics([[[1.0]]] * n, [[1.0]] * n)
    found = moments(problem, algorithm, Bernoulli([0.5] * n))
    assert isinstance(found, Refusal)
    assert why in found.reason


def test_what_is_just_small_enough_is_taken():
    n = 2498
    problem = Quadratics([[[1.0]]] * n, [[1.0]] * n)
    assert moments(problem, Focus(0.02), Bernoulli([0.5] * n))


@pytest.mark.parametrize("cohort", [1, 2])
@pytest.mark.parametrize("step_size", [0.25, 0.125])
@pytest.mark.parametrize("local_steps", [1, 2, 3])
def test_noise_that_cancels_leaves_the_mean_rate(
    monkeypatch, cohort, step_size, local_steps
):
    # clients alike: who takes part changes nothing, and all messages cancel
    monkeypatch.setattr("flverify.engines.moments._moments.LARGEST_DENSE", 0)
    for h in (0.125, 0.5, 0.625):
        problem = Quadratics(np.full((3, 1, 1), h), np.ones((3, 1)))
        found = moments(
            problem, FedAvg(step_size, local_steps), UniformCohort(3, cohort)
        )
        expected = (1 - step_size * h) ** (2 * local_steps)
        assert found.mean_square_rate == pytest.approx(expected, rel=1e-9)


# --- what constants of `init` move


TWO = Bernoulli(["1/2", "1/3"])


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize(
    ("factor", "error"),
    [("99/100", 0), (1, "16/225"), ("101/100", math.inf), (-1, math.inf)],
)
@pytest.mark.parametrize(
    "law",
    [
        TWO,
        ModeChain([["1/2", "1/2"], ["1/3", "2/3"]], [TWO, TWO]),
        ModeChain([[1, 0], [1, 0]], [TWO, TWO], initial=0),
    ],
    ids=["one mode", "two modes", "a mode that never comes"],
)
def test_what_a_constant_moves_may_have_no_stationary_law(law, factor, error, floats):
    problem = PAIR.as_float() if floats else PAIR
    setting = moments(problem, Drifting(Fraction(factor)), law)
    assert setting.mean_square_rate == Fraction(1, 16)  # of runs from two starts
    expected = error if error == math.inf else float(Fraction(error))
    assert float(setting.stationary_mean_square_error) == pytest.approx(expected)


def test_a_mean_of_rate_one_does_not_settle_in_floats():
    # rounding leaves 1 - 2e-16
    hessians = [[[1]], [[2]], [[0]], [["1/2"]]]
    problem = Quadratics(hessians, [[1], [2], [3], [0]])
    law = SuccessiveSampling([5, 5, 5, 4], 1)
    algorithm = ProxSkip(Fraction(1, 2), 2, variant="notebook")
    for asked in (problem, problem.as_float()):
        found = moments(asked, algorithm, law)
        assert found.mean_rate == pytest.approx(1, abs=1e-12)
        assert not found.mean_settles


@pytest.mark.parametrize(("step", "settles"), [(2 / 4.9, False), (1.999 / 4.9, True)])
def test_a_large_mean_of_rate_one_does_not_settle(step, settles):
    problem = Quadratics([[[4.9]], [[4.9]]], [[1.0], [2.0]])
    large = LargeMoments(problem, FedAvg(step), Bernoulli([1.0, 1.0]))
    assert large.mean_rate_interval[1] < 1
    assert large.mean_settles is settles


ONE_BY_ONE = [ExplicitLaw({(i,): 1}, 2) for i in (0, 1)]
TAKES_TURNS = ModeChain([[0, 1], [1, 0]], ONE_BY_ONE, initial=0)


@pytest.mark.parametrize("floats", [False, True])
def test_a_mean_that_follows_modes_in_turns_does_not_settle(floats):
    # x -> 3x/4 and x -> x/2 + 1/2 in turns end in 3/5 and 4/5, and the minimiser is 2/3
    problem = Quadratics([[[1]], [[2]]], [[0], [2]])
    problem = problem.as_float() if floats else problem
    turns = moments(problem, FedAvg("1/4"), TAKES_TURNS)
    curve = turns.mean_square_error([0], 60).astype(float)
    assert curve[59:] == pytest.approx([1 / 225, 4 / 225])
    assert float(turns.stationary_mean_square_error) == pytest.approx(5 / 450)
    assert not turns.mean_settles
    # whose turn it is may be unknown, or not be seen in the end
    unknown = ModeChain([[0, 1], [1, 0]], ONE_BY_ONE)
    assert moments(problem, FedAvg("1/4"), unknown).mean_settles
    assert moments(problem, Focus("1/8"), TAKES_TURNS).mean_settles

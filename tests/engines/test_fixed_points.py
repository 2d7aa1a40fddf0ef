"""Fixed points and rates of means where a round leaves something as it is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify import RefusedError, moments
from flverify.algorithms import AgnosticFedAvg, FedAvg, Focus, ProxSkip, Scaffold
from flverify.engines.moments._large import LargeMoments
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    Full,
    ModeChain,
    UniformCohort,
)
from flverify.problems import Quadratics
from flverify.testing import (
    Broken,
    Inconclusive,
    assert_fixed_point_bias,
    assert_linear_rate,
)

TWO = Quadratics([[["1"]], [["2"]]], [["1"], ["-3"]])
ABSENT = Bernoulli(["1/2", 0])


def repeated(problem, algorithm, law, copies=82):
    """The same objectives in many coordinates at once, in floats."""
    plain = problem.as_float()
    hessians = np.kron(np.eye(copies), plain.hessians)
    large = Quadratics(hessians, np.tile(plain.linear, copies))
    found = moments(large, algorithm, law)
    assert isinstance(found._engine, LargeMoments)
    return found


def notebook():
    return ProxSkip("1/8", 2, variant="notebook")


def test_a_sum_that_never_changes_stays_where_it_starts():
    # everybody takes part: the shifts add up to 0 for ever, and ProxSkip is exact
    found = repeated(TWO, notebook(), Full(2))
    assert np.abs(found.bias).max() < 1e-12
    assert found.stationary_mean_square_error < 1e-20


@pytest.mark.slow
def test_such_a_method_is_not_called_biased():
    large = repeated(TWO, notebook(), Full(2)).problem
    assert_fixed_point_bias(large, notebook(), Full(2), bias=0)
    assert_linear_rate(large, notebook(), Full(2), rate=0.9)


@pytest.mark.parametrize(
    ("algorithm", "law"),
    [
        (AgnosticFedAvg("1/8", 1), Full(2)),
        (FedAvg("1/8"), Bernoulli([0, 0])),
        (Focus("1/8", 1, "step", "start"), Full(2)),
    ],
)
def test_a_fixed_point_that_depends_on_the_start_is_none(algorithm, law):
    exact, large = moments(TWO, algorithm, law), repeated(TWO, algorithm, law)
    for found in (exact, moments(TWO.as_float(), algorithm, law), large):
        with pytest.raises(RefusedError, match="exactly one fixed point"):
            _ = found.mean_fixed_point


@pytest.mark.parametrize("exact", [True, False])
def test_a_mean_that_drifts_has_no_fixed_point(exact):
    hessians = [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]
    flat = Quadratics(hessians, [["1/3", "-3/2"], [3, 2]])
    flat = flat if exact else flat.as_float()
    found = moments(flat, Scaffold("5/16", server_step_size=2), Full(2))
    with pytest.raises(RefusedError, match="exactly one fixed point"):
        _ = found.mean_fixed_point


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "algorithm", [Scaffold("1/8", 2), FedAvg("1/8", 2), notebook()]
)
def test_a_client_that_never_takes_part_changes_nothing(algorithm):
    exact, found = moments(TWO, algorithm, ABSENT), repeated(TWO, algorithm, ABSENT)
    expected = np.full(82, float(exact.mean_fixed_point[0]))
    assert found.mean_fixed_point == pytest.approx(expected)
    if exact.mean_square_rate < 1:
        error = 82 * float(exact.stationary_mean_square_error)
        assert found.stationary_mean_square_error == pytest.approx(error)


@pytest.mark.parametrize("copies", [1, 41])
@pytest.mark.parametrize("curvature", [0, "1e-20"])
def test_a_flat_client_does_not_hide_the_messages_of_others(curvature, copies):
    # what rounding told of its model had the unit 1e-16: beside it all else was 0, and
    # the rate was that of the mean, 0.8725 for 0.9333
    flat = [[curvature, 0], [0, curvature]]
    two = Quadratics([[["101/36", 1], [1, 2]], flat], [[0, 2], [-3, 0]])
    algorithm, law = Focus("1/28", 1), Bernoulli(["1/5", "1/10"])
    exact = moments(two, algorithm, law)
    plain = two.as_float()
    hessians = np.kron(np.eye(copies), plain.hessians)
    large = Quadratics(hessians, np.tile(plain.linear, copies))
    found = LargeMoments(large, Focus(1 / 28, 1), Bernoulli([0.2, 0.1]))
    rate = float(exact.mean_square_rate)
    assert found.mean_square_rate == pytest.approx(rate, rel=1e-9)
    low, high = found.mean_square_rate_interval
    assert low <= rate <= high


def test_what_cancels_in_every_mean_sets_no_rate():
    # the controls add up: their difference decays at 1/2, which no mean shows
    algorithm, law = Scaffold("3/20", 3, option="I"), UniformCohort(2, 1)
    exact, found = moments(TWO, algorithm, law), repeated(TWO, algorithm, law)
    assert found.mean_rate == pytest.approx(float(exact.mean_rate))


def test_a_slow_mean_has_its_fixed_point():
    # 1 - rate is 1e-13: the bias, 0, came out as -940
    slow = [[0.625, -7 / 2**24], [-7 / 2**24, 33 / 2**46]]
    problem = Quadratics([slow], [[1.125, 1 / 2**21]])
    algorithm, law = Scaffold(0.75, 3, option="I"), Bernoulli([0.75])
    optimum = pytest.approx(problem.minimiser(), rel=1e-8)
    assert LargeMoments(problem, algorithm, law).mean_fixed_point() == optimum
    assert moments(problem, algorithm, law).mean_fixed_point == optimum
    chain = ModeChain((("1/2", "1/2"), ("1/4", "3/4")), (law, Full(1)))
    assert moments(problem, algorithm, chain).mean_fixed_point == optimum


@pytest.mark.parametrize("chance", [2.0**-12, 2.0**-20])
def test_a_rare_coin_does_not_hide_the_fixed_point(chance):
    # every round moves the mean by the chance: the bias, 0, came out as 2.5e-6
    coin = AllOrNothing(2, chance)
    for step in (0.5, 2.0**-20):
        found = moments(TWO.as_float(), ProxSkip(step, probability=chance), coin)
        assert np.abs(found.bias).max() < 1e-15
        assert found.stationary_mean_square_error < 1e-30


KEPT = {  # what these keep is told apart in rationals, and all else is read in floats
    "a coin": (lambda c: ProxSkip(c(1) / 2**22, probability=0.5), AllOrNothing(3, 0.5)),
    "shifts": (lambda c: ProxSkip(c(1) / 2**8, 2, variant="notebook"), Full(3)),
    "controls": (lambda c: Scaffold(c(1) / 2**20, 3), Full(3)),
    "everybody": (lambda c: FedAvg(c(1) / 2**20, 3), AllOrNothing(3, 2.0**-8)),
}


@pytest.mark.parametrize(("algorithm", "law"), KEPT.values(), ids=KEPT)
def test_stationary_errors_keep_their_digits_far_from_the_origin(algorithm, law):
    # the last round of shifts left 68 for 0
    far = [[Fraction(2**20)], [Fraction(-3 * 2**20)], [Fraction(2**19)]]
    three = Quadratics([[["3/4"]], [["1"]], [["7/4"]]], far)
    exact = moments(three, algorithm(Fraction), law)
    found = moments(three.as_float(), algorithm(float), law)
    error = float(exact.stationary_mean_square_error)
    assert (error == 0) == (not isinstance(algorithm(float), FedAvg))
    assert found.stationary_mean_square_error == pytest.approx(
        error, rel=1e-8, abs=1e-15
    )


@pytest.mark.parametrize("step", [2.0**-17, 2.0**-20])
def test_corrections_that_are_weak_beside_a_tiny_step_are_not_left_out(step):
    # its controls were left out, and the bias of FedAvg was that of SCAFFOLD, too
    three = Quadratics([[["3/4"]], [["1"]], [["7/4"]]], [["1"], ["-3"], ["1/2"]])
    law = Bernoulli(["1/2"] * 3)
    floats = three.as_float()
    for kind in (FedAvg, Scaffold):
        exact = moments(three, kind(f"1/{round(1 / step)}", 2), law)
        found = moments(floats, kind(step, 2), law)
        assert found.bias == pytest.approx(exact.bias.astype(float), abs=1e-10)
        error = float(exact.stationary_mean_square_error)
        assert found.stationary_mean_square_error == pytest.approx(
            error, rel=1e-9, abs=1e-20
        )
    assert_fixed_point_bias(floats, Scaffold(step, 2), law, bias=0)
    with pytest.raises(Broken):
        assert_fixed_point_bias(floats, FedAvg(step, 2), law, bias=0)


@pytest.mark.parametrize("kind", [FedAvg, Scaffold])
def test_nor_is_what_modes_differ_by(kind):
    # in two modes models differ by a step's worth: the bias came out a fifth too large
    two = Quadratics([[["1/4"]], [["3/2"]]], [["1"], ["-3"]])
    laws = UniformCohort(2, 1), Bernoulli(["1/2", "1/4"])
    chain = ModeChain((("3/4", "1/4"), ("1/8", "7/8")), laws)
    for power in (24, 28):
        exact = moments(two, kind(f"1/{2**power}", 2), chain)
        found = moments(two.as_float(), kind(2.0**-power, 2), chain)
        assert found.bias == pytest.approx(exact.bias.astype(float), abs=1e-7)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("step", [2.0**-23, 2.0**-30, 2.0**-33])
@pytest.mark.parametrize("large", [True, False])
def test_a_tiny_step_costs_no_digits_of_a_fixed_point(step, large):
    # the bias of SCAFFOLD, 0, came out as .46, and an assertion called it broken
    clients = 90 if large else 3
    curvatures = 0.5 + np.arange(clients) % 8 / 8
    linear = curvatures * (2.0**20 + np.arange(clients))
    problem = Quadratics(curvatures[:, None, None], linear[:, None])
    law = Bernoulli([0.25, 0.5, 0.75] * (clients // 3))
    found = moments(problem, Scaffold(step), law)
    assert isinstance(found._engine, LargeMoments) == large
    assert np.abs(found.bias).max() < 1e-8
    assert found.stationary_mean_square_error < 1e-12
    try:
        assert_fixed_point_bias(problem, Scaffold(step), law, bias=0)
    except Inconclusive:
        assert step < 2.0**-22


def test_nor_does_a_bias_of_a_tiny_step_get_lost():
    # by hand: FedAvg with one local step minimises sum q_i f_i
    curvatures, linear = np.array([1.0, 3.0]), np.array([2.0**20, 0.0])
    problem = Quadratics(curvatures[:, None, None], linear[:, None])
    law = Bernoulli(["1/2", "1/4"])  # q = (7/16, 3/16)
    ended = 7 * 2.0**20 / (7 + 9)
    for step in (2.0**-10, 2.0**-33):
        found = repeated(problem, FedAvg(step), law)
        assert found.mean_fixed_point == pytest.approx(np.full(82, ended), rel=1e-12)


@pytest.mark.parametrize("dim", [2, 12])
@pytest.mark.parametrize("step", [2.0**-10, 2.0**-34])
def test_few_or_many_coordinates_lose_no_digits_to_a_tiny_step(dim, step):
    # of many, products of Hessians are in floats, and what they are added to is not
    draws = np.random.default_rng(8)
    roots = draws.normal(size=(12, dim, dim))
    hessians = roots @ roots.transpose(0, 2, 1) + np.eye(dim) / 2
    linear = (hessians @ (1e6 * draws.normal(size=(12, dim, 1))))[..., 0]
    problem, law = Quadratics(hessians, linear), UniformCohort(12, 3)
    found = LargeMoments(problem, Scaffold(step, 3), law).mean_fixed_point()
    assert found == pytest.approx(problem.minimiser(), abs=1e-7)


@pytest.mark.parametrize(("step", "chance"), [(16, 10), (12, 20), (8, 20)])
def test_what_means_lead_to_by_little_is_followed(step, chance):
    # messages lead there at once: the mean, which grows by .00098 a round, settled
    algorithm = ProxSkip(Fraction(1, 2**step), variant="notebook")
    law = Bernoulli([Fraction(1, 2**chance)] * 2)
    exact = moments(TWO, algorithm, law)
    floats = Bernoulli([2.0**-chance] * 2)
    found = moments(TWO.as_float(), algorithm.retuned(2.0**-step), floats)
    assert exact.mean_rate > 1
    assert found.mean_rate - 1 == pytest.approx(float(exact.mean_rate - 1), rel=1e-6)
    assert not found.mean_settles

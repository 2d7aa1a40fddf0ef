"""Float rates do not depend on the unit of f, nor lose what tiny steps move."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify import moments
from flverify._core.errors import RefusedError
from flverify.algorithms import FedAvg, Focus, Mifa, ProxSkip, Scaffold
from flverify.engines.moments._large import LargeMoments
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics

UNITS = [1.0, 2.0**33, 2.0**-33, 2.0**330, 2.0**-330, 2.0**495]
LAW = Bernoulli(["1/2", "1/3", "3/4"])


def problem(unit):
    curvatures, linear = (1.0, 2.5, 0.375), (1.0, -0.5, 2.0)
    hessians = [[[h * unit]] for h in curvatures]
    return Quadratics(hessians, [[b * unit] for b in linear])


SETTINGS = [
    (FedAvg(0.25, 2), LAW),
    (Focus(0.25, 2), LAW),
    (Scaffold(0.25, 3), UniformCohort(3, 2)),
    (Scaffold(0.25, 2, option="I"), LAW),
    (ProxSkip(0.25, 2, variant="notebook"), UniformCohort(3, 2)),
    (ProxSkip(0.25, probability="1/3"), AllOrNothing(3, "1/3")),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("algorithm", "law"), SETTINGS)
def test_a_rate_has_no_unit(algorithm, law, unit):
    exact = moments(
        Quadratics([[[1]], [["5/2"]], [["3/8"]]], [[1], ["-1/2"], [2]]),
        algorithm.retuned(Fraction(1, 4)),
        law,
    )
    scaled = algorithm.retuned(0.25 / unit)
    found = moments(problem(unit), scaled, law)
    high = float(exact.mean_square_rate)
    assert found.mean_square_rate == pytest.approx(high, rel=1e-10)
    assert found.mean_rate == pytest.approx(float(exact.mean_rate), rel=1e-10)
    if exact.mean_square_rate == 1:  # which floats cannot tell from a little less
        with pytest.raises(RefusedError, match="surely 1"):
            _ = found.stationary_mean_square_error
    else:
        error = float(exact.stationary_mean_square_error)
        assert found.stationary_mean_square_error == pytest.approx(error, abs=1e-9)
    if algorithm == SETTINGS[-1][0]:  # its round is listed, which small systems are
        return
    large = LargeMoments(problem(unit), scaled, law)
    assert large.mean_square_rate == pytest.approx(high, rel=1e-8)
    low, above = large.mean_square_rate_interval
    assert low * (1 - 1e-12) <= high <= above * (1 + 1e-12)


@pytest.mark.parametrize("step_size", ["1e-7", "1e-9", "1e-11"])
@pytest.mark.parametrize(
    "algorithm", [Focus(1, 2), Scaffold(1, 2), ProxSkip(1, 2, variant="notebook")]
)
def test_what_a_tiny_step_moves_is_not_lost(algorithm, step_size):
    # the notebook's ProxSkip leaves its start slowly, and then diverges fast
    step = Fraction(step_size)
    law = UniformCohort(3, 1)
    small = Quadratics([[[1]], [["5/2"]], [["3/8"]]], [[1], ["-1/2"], [2]])
    exact = float(moments(small, algorithm.retuned(step), law).mean_square_rate)
    floats = moments(small.as_float(), algorithm.retuned(float(step)), law)
    assert floats.mean_square_rate - 1 == pytest.approx(exact - 1, rel=1e-3, abs=1e-14)


def test_two_clients_who_always_come_keep_nothing_else_alive():
    # rounding reached six directions, one of which stays for ever, in place of two
    hessians = [
        [["3/5", "-1/4"], ["-1/4", "2/5"]],
        [["19/10", "-1/8"], ["-1/8", "2/3"]],
    ]
    pair = Quadratics(hessians, [["1/6", "-9/10"], ["2/3", "-1/2"]])
    algorithm, law = ProxSkip("26/25", variant="notebook"), Bernoulli([1, 1])
    exact = moments(pair, algorithm, law)
    floats = moments(pair.as_float(), algorithm, Bernoulli([1.0, 1.0]))
    assert floats.mean_square_rate == pytest.approx(float(exact.mean_square_rate))


@pytest.mark.parametrize("power", [20, 24, 26, 30])
def test_units_heed_what_messages_alone_lead_back(power):
    # on average no control moves the model: its unit grew, and hid nearly equal modes
    e = Fraction(1, 2**power)
    hessians = [
        [[Fraction(3, 4) + e, e], [e, Fraction(3, 4) * (1 + e)]],
        [[Fraction(9, 8), e / 2], [e / 2, Fraction(9, 8) * (1 - e)]],
    ]
    near, law = Quadratics(hessians, [[1, 0], [0, 1]]), UniformCohort(2, 1)
    exact = float(moments(near, Scaffold(Fraction(1, 2)), law).mean_square_rate)
    large = LargeMoments(near.as_float(), Scaffold(0.5), law)
    assert large.mean_square_rate == pytest.approx(exact, rel=1e-9)


POINTS = [2.0**40, 2.0**-70, 2.0**330, 2.0**-330]


def at(unit):
    """The same problem with points measured in a unit, in floats and in rationals."""
    curvatures, linear = ("1", "5/2", "3/8"), (1, Fraction(-1, 2), 2)
    exact = [[Fraction(b) * Fraction(unit)] for b in linear]
    floats = Quadratics(
        [[[float(Fraction(h))]] for h in curvatures], [[float(b[0])] for b in exact]
    )
    return floats, Quadratics([[[h]] for h in curvatures], exact)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("unit", POINTS)
@pytest.mark.parametrize(("algorithm", "law"), SETTINGS[:4])
def test_points_have_no_unit(algorithm, law, unit):
    # at 1e13 large floats lost what a message says beside what it adds
    given, rational = at(unit)
    exact = moments(rational, algorithm.retuned(Fraction(1, 4)), law)
    optimum, start = np.array(given.minimiser()), np.array([unit])
    curve = [float(e / Fraction(unit) ** 2) for e in exact.mean_square_error([unit], 9)]
    fixed = float(exact.mean_fixed_point[0] / Fraction(unit))
    error = float(exact.stationary_mean_square_error / Fraction(unit) ** 2)
    for found in (
        moments(given, algorithm, law)._engine,
        LargeMoments(given, algorithm, law),
    ):
        assert found.mean_square_rate == pytest.approx(float(exact.mean_square_rate))
        assert found.mean_fixed_point() / unit == pytest.approx(fixed)
        here = found.stationary_error(optimum) / unit / unit
        assert here == pytest.approx(error, abs=1e-12)
        seen = np.array(found.error_curve(start, optimum, 9)) / unit / unit
        assert seen == pytest.approx(curve)


def test_errors_beyond_floats_are_infinite_and_a_limit_of_them_is_refused():
    found = moments(at(2.0**600)[0], FedAvg(0.25, 2), LAW)
    assert found.mean_square_error([0.0], 2).tolist() == [float("inf")] * 3
    with pytest.raises(RefusedError, match="within floats"):
        _ = found.stationary_mean_square_error
    assert found.mean_fixed_point[0] > 2.0**590


def test_slots_that_nothing_feeds_do_not_set_the_unit_of_points():
    # a client is flat in a direction: its stored gradient there is a constant, of 1e60
    size, f = 2**30, 2**200
    quarter = Fraction(1, 4)
    hessians = [[[1, 0], [0, 1]], [[0, 0], [0, 9 * quarter**2]]]
    hessians += [[[1, quarter], [quarter, quarter**2]]]
    linear = [[-quarter, 7 * quarter], [-3 * quarter, 7 * quarter]]
    linear += [[7 * quarter, -quarter]]
    large = Quadratics(
        [[[f * v for v in row] for row in part] for part in hessians],
        [[f * size * v for v in row] for row in linear],
    )
    step = Fraction(1, 8 * f)
    assert moments(large, Focus(step, 3), Full(3)).stationary_mean_square_error == 0
    found = moments(large.as_float(), Focus(float(step), 3), Full(3))
    assert found.stationary_mean_square_error <= 1e-12 * size**2


def test_rounding_of_what_cancels_in_the_model_is_no_unit_of_points():
    # what clients add to the model in the first round is 1e-16 in floats, and 0
    hessians = [[[1]], [["1/10"]], [[1]], [["1/10"]]]
    exact = Quadratics(hessians, [["2/11"], ["-2/11"], ["2/11"], ["-2/11"]])
    rounded = [[0.181818181818182], [0.1 * -1.818181818181818]] * 2
    given = Quadratics(exact.as_float().hessians, rounded)
    paper = {"local_steps": 1, "probability": Fraction(1, 2)}
    best = moments(exact, ProxSkip("1/2", **paper), AllOrNothing(4, "1/2"))
    found = moments(given, ProxSkip(0.5, **paper), AllOrNothing(4, 0.5))
    assert found.mean_fixed_point[0] == pytest.approx(best.mean_fixed_point[0])
    assert found.stationary_mean_square_error == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("n_clients", "size"),
    [(2, 1.0), (2, 1e9), (2, 1e12), (40, 1e6), (40, 1e9), (40, 1e-9)],
)
def test_a_table_that_nobody_reads_hides_no_rate(n_clients, size):
    # where all take part, MIFA replaces its whole table before it is read
    curvatures = size * (1 + np.random.default_rng(0).random(n_clients))
    problem = Quadratics(curvatures[:, None, None], np.full((n_clients, 1), size))
    found = moments(problem, Mifa(0.1 / size), Full(n_clients))
    kept = 1 - 0.1 / size * curvatures.mean()
    assert found.mean_rate == pytest.approx(kept, rel=1e-12)
    assert found.mean_square_rate == pytest.approx(kept**2, rel=1e-12)
    low, high = found.mean_square_rate_interval
    assert low <= kept**2 * (1 + 1e-12) <= high * (1 + 2e-12)
    assert high - low < 1e-9
    assert found.stationary_mean_square_error == pytest.approx(0, abs=1e-20)
    assert abs(found.bias[0]) < 1e-12

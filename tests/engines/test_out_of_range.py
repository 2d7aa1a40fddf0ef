"""Numbers beyond floats or digits, and sizes beyond memory, are one sentence each."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from flverify import moments, simulate
from flverify._core.errors import FlverifyError, InputError
from flverify.algorithms import FedAvg, Focus, Scaffold
from flverify.certify.rates import certify
from flverify.certify.sandwich import worst_quadratic
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    Full,
    UniformCohort,
)
from flverify.problems import Quadratics
from flverify.testing import (
    Broken,
    assert_error_bound,
    assert_linear_rate,
    assert_stable,
)

PROBLEM = Quadratics([[[1]], [[2]]], [[0], [2]])
LAW = Bernoulli(["1/2", "1/3"])
BEYOND = Fraction(10) ** 400
LONG = "1" * 100_000


@pytest.fixture(autouse=True)
def _digits():
    """As where no command was run in this process before, which reads any length."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(4300)
    yield
    sys.set_int_max_str_digits(before)


NO_NUMBERS = {
    "nan": float("nan"),
    "inf": float("inf"),
    "boolean": True,
    "complex": 1j,
    "empty": "",
    "word": "abc",
    "long decimal": f"0.{LONG}",
    "long integer": LONG,
    "long fraction": f"1/{LONG}",
    "long negative": -(10**5000),
    "None": None,
    "dictionary": {},
    "array": np.array([1, 2]),
    "class": float,
    "bytes": b"1",
}
MANY = 10**12
ASKED = {"rounds": 1, "runs": 2, "seed": 0}


def refuses(ask, *words):
    with pytest.raises(FlverifyError) as error:
        ask()
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert len(text) < 400
    for word in words:
        assert word in text


def run(algorithm=None, **changed):
    setting = PROBLEM, algorithm or FedAvg("1/4"), LAW
    return simulate(*setting, **{**ASKED, **changed})


@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize(
    "ask",
    [
        Focus,
        lambda value: Bernoulli([value, value]),
        lambda value: AllOrNothing(2, value),
        lambda value: UniformCohort(2, value),
        Full,
        lambda value: run(step_sizes=[value]),
        lambda value: run(schedule=[value]),
        lambda value: run(start=[value]),
        lambda value: run(method=value),
        lambda value: run(rounds=value),
        lambda value: run().band(value),
        lambda value: run().quantiles([value]),
        lambda value: certify(Focus("1/5"), LAW, value, 1),
        lambda value: worst_quadratic(Focus("1/5"), LAW, "1/10", value),
        lambda value: assert_linear_rate(PROBLEM, Focus("1/8"), LAW, rate=value),
    ],
)
def test_what_is_no_number(ask, value):
    refuses(lambda: ask(value), "must")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: run(Focus(BEYOND)),
        lambda: run(Scaffold("1/4", server_step_size=BEYOND)),
        lambda: run(step_sizes=[BEYOND]),
        lambda: run(step_sizes=[0.5, BEYOND]),
        lambda: run(schedule=["1e999"]),
        lambda: run(start=[-BEYOND]),
        lambda: moments(Quadratics([[[BEYOND]], [[1]]], [[0], [1]]), FedAvg(0.5), LAW),
        lambda: Bernoulli([0.5, BEYOND]),
        lambda: moments(PROBLEM.as_float(), FedAvg(BEYOND), LAW),
        lambda: Quadratics([[[BEYOND]]], [[0]]).as_float(),
        lambda: worst_quadratic(Focus("1/5"), Full(10**400), "1/10", 1),
    ],
)
def test_numbers_beyond_floats_where_floats_are_needed(ask):
    refuses(ask, "floats")


@pytest.mark.parametrize(
    ("kind", "dim", "steps"),
    [(FedAvg, 1, 40), (FedAvg, 1, 80), (Scaffold, 1, 31), (Scaffold, 30, 31)],
)
def test_float_rounds_whose_squares_are_beyond_floats(kind, dim, steps):
    # numpy told that arrays must not contain infs, or Python that results are too large
    two = Quadratics([np.eye(dim), 8 * np.eye(dim)], np.ones((2, dim)))
    found = moments(two, kind(1e5, steps), UniformCohort(2, 1))
    if found:
        refuses(lambda: found.mean_square_rate, "step size")
        refuses(lambda: found.stationary_mean_square_error, "step size")
    else:
        assert "take a smaller step size" in str(found)
    with pytest.raises(Broken):  # as samples tell
        assert_stable(two, kind(1e5, steps), UniformCohort(2, 1))


def test_errors_that_leave_floats_warn_of_nothing():
    found = moments(PROBLEM.as_float(), FedAvg(1e30), LAW)
    curve = found.mean_square_error([1.0], 8)
    assert np.isfinite(curve).tolist() == [True] * 6 + [False] * 3


def test_numbers_beyond_floats_where_none_are_needed():
    found = moments(PROBLEM, FedAvg(BEYOND), Full(2))
    low, high = found.mean_square_rate_interval
    assert low <= (1 - BEYOND * Fraction(3, 2)) ** 2 <= high
    assert Focus(1 / BEYOND).step_size == 1 / BEYOND


@pytest.mark.parametrize(
    "ask",
    [
        lambda: run(rounds=MANY),
        lambda: run(runs=MANY),
        lambda: run(rounds=10**400),
        lambda: run(rounds=10**5, runs=10**5, keep_models=True, step_sizes=[1] * 999),
        lambda: LAW.sample(0, MANY, 1),
        lambda: LAW.sample(0, 1, MANY),
        lambda: LAW.sample(0, 10**30, 10**30),
        lambda: Full(MANY).sample(0, 1, 1),
        lambda: Full(MANY).inclusion(),
        lambda: Full(MANY).support(),
        lambda: AllOrNothing(MANY, "1/2").support(),
        lambda: UniformCohort(MANY, 1).averaging_weights(),
        lambda: UniformCohort(MANY, MANY // 2).joint_inclusion(),
        lambda: moments(PROBLEM, Focus("1/8"), LAW).mean_square_error([0], MANY),
        lambda: assert_error_bound(PROBLEM, Focus("1/8"), LAW, bound=1, rounds=MANY),
        lambda: assert_linear_rate(
            PROBLEM, Focus("1/8"), LAW, rate="9/10", rounds=MANY, method="sampled"
        ),
        lambda: assert_stable(PROBLEM, Focus("1/8"), LAW, rounds=MANY),
    ],
)
def test_more_than_the_memory_holds(ask):
    refuses(ask, "must fit the memory", "ask for fewer")


def test_uniform_cohorts_of_any_size_have_moments():
    assert UniformCohort(MANY, MANY // 2).moment((0,), 0) == Fraction(1, 2)


def test_a_message_of_a_simulation_is_no_traceback():
    with pytest.raises(InputError, match="must be one of auto"):
        run(method=np.zeros(2))

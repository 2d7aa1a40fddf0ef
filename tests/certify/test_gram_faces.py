"""Exact multipliers and weights: what is found holds, and why nothing was found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from flverify.certify.gram import Certificate, prove, square, vector
from flverify.certify.gram._faces import Task, multipliers
from flverify.certify.gram._weights import System, combination

F = Fraction
NO_NULL = np.zeros((0, 4), dtype=object)


def exact(table):
    numbers = [F(v) for v in np.ravel(np.array(table, dtype=object))]
    out = np.array([fmpq(v.numerator, v.denominator) for v in numbers], dtype=object)
    return out.reshape(np.shape(table))


def blocks(first, second):
    out = np.zeros((4, 4), dtype=object)
    out[:2, :2], out[2:, 2:] = first, second
    return out.tolist()


def found(low, equations=(), signed=True, fixed=()):
    """Seek y with [[1/low, y], [y, low]] and [[y, 1], [1, y/low]] semidefinite.

    The first says y^2 <= 1, and the second y^2 >= low.
    """
    target = blocks([[1 / F(low), 0], [0, F(low)]], [[0, 1], [1, 0]])
    form = blocks([[0, -1], [-1, 0]], [[-1, 0], [0, -1 / F(low)]])
    rows = exact([[1]] * len(equations)).reshape(-1, 1)
    right = exact(list(equations)).reshape(-1)
    task = Task(exact(target), exact([form]), (signed,), rows, right)
    y, reason = multipliers(task, list(fixed), NO_NULL)
    return (None if y is None else F(int(y[0].p), int(y[0].q))), reason


def test_a_multiplier_that_fits_is_exact():
    assert found(1) == (1, "")  # the only one
    y, reason = found("1/2")
    assert F(1, 2) <= y**2
    assert (y <= 1, reason) == (True, "")


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"low": 3}, "no multipliers exist, by floats (margin -"),
        ({"low": 1, "equations": [1, 2]}, "the function values of the hypotheses can"),
        ({"low": 1, "equations": [2]}, "the solver proposed no multipliers"),
        ({"low": 1, "fixed": [0], "equations": [1]}, "no multipliers fit the models"),
    ],
)
def test_where_none_fits_there_is_none_and_a_reason(setting, reason):
    y, said = found(**setting)
    assert y is None
    assert said.startswith(reason)


def test_an_irrational_multiplier_exists_in_floats_alone():
    # [[2, y], [y, 1]] says y^2 <= 2, and [[y, 1], [1, y/2]] that it is not below
    target = blocks([[2, 0], [0, 1]], [[0, 1], [1, 0]])
    form = blocks([[0, -1], [-1, 0]], [[-1, 0], [0, F(-1, 2)]])
    nothing = exact(np.zeros((0, 1))), exact(np.zeros(0))
    task = Task(exact(target), exact([form]), (True,), *nothing)
    y, said = multipliers(task, [], NO_NULL)
    assert y is None
    assert "but no exact ones were found" in said


@pytest.mark.parametrize(("signed", "there"), [(True, False), (False, True)])
def test_only_a_multiplier_without_a_sign_is_negative(signed, there):
    rows, right = exact([[1]]), exact([-1])
    task = Task(exact([[1]]), exact([[[0]]]), (signed,), rows, right)
    y, _ = multipliers(task, [], np.zeros((0, 1), dtype=object))
    assert (y is not None) == there


@pytest.mark.parametrize(
    ("rows", "constants", "signed"),
    [
        ([[3, 0], [1, 1]], [-1, -1], [False, True]),
        ([[1, 0], [-1, 0], [0, 1]], [F(-1, 10**15), F(2, 10**15), -1], [True] * 3),
        ([[7, 2], [2, -1]], [F(-3, 10**15), F(1, 10**15)], [False, True]),
    ],
)
def test_weights_satisfy_what_they_are_asked_for(rows, constants, signed):
    system = System(exact(rows), exact(constants), np.array(signed), 2)
    x, _ = combination(system)
    gaps = system.columns @ x + system.constants
    assert all(w >= 0 for w in x)
    for gap, sign in zip(gaps, signed, strict=True):
        assert gap >= 0 if sign else gap == 0


@pytest.mark.parametrize(
    ("rows", "constants", "signed"),
    [
        ([[1], [-1]], [-2, 1], [True, True]),
        ([[1]], [1], [False]),  # a negative weight is none
        ([[1], [1]], [-1, -2], [False, False]),
    ],
)
def test_where_no_weights_fit_prices_ask_for_others(rows, constants, signed):
    system = System(exact(rows), exact(constants), np.array(signed), 1)
    x, prices = combination(system)
    assert x is None
    assert prices.any()
    assert (prices @ np.array(rows, dtype=float) < 1e-9).all()  # nor more of these


def test_what_a_proof_leaves_over_is_written_out():
    x = vector("x")
    proved = prove(square(x) <= 2 * square(x) + F(1, 3))
    assert isinstance(proved, Certificate)
    assert str(proved) == "right - left = |x|^2 + 1/3"

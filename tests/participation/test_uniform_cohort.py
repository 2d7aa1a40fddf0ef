"""Uniform cohorts: all subsets of one size equally likely."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from flverify._core.errors import DomainError, RefusedError
from flverify.participation import SuccessiveSampling, UniformCohort


def cohorts(n_clients, m):
    listed = [frozenset(c) for c in combinations(range(n_clients), m)]
    return {cohort: Fraction(1, len(listed)) for cohort in listed}


@pytest.mark.parametrize(
    ("n_clients", "m"), [(n, m) for n in range(1, 6) for m in range(1, n + 1)]
)
def test_equals_enumeration(n_clients, m, equals_enumeration):
    equals_enumeration(UniformCohort(n_clients, m), cohorts(n_clients, m))


def test_is_successive_sampling_with_equal_weights():
    uniform, weighted = UniformCohort(6, 4), SuccessiveSampling((7,) * 6, 4)
    assert uniform.joint_averaging().tolist() == weighted.joint_averaging().tolist()


def test_drawing(frequencies_match):
    frequencies_match(UniformCohort(4, 2), cohorts(4, 2))


def test_a_cohort_is_the_smallest_uniforms():
    uniforms = np.array([[0.5, 0.1, 0.9, 0.3]])
    assert UniformCohort(4, 2).masks(uniforms).tolist() == [[False, True, False, True]]


def test_ties_never_enlarge_a_cohort():
    uniforms = np.array([[0.5, 0.5, 0.5, 0.9], [0.9, 0.1, 0.2, 0.2]])
    assert UniformCohort(4, 2).masks(uniforms).sum(axis=1).tolist() == [2, 2]


def test_large_support_is_refused():
    with pytest.raises(RefusedError, match="at most 65536 outcomes"):
        UniformCohort(40, 20).support()


def test_notation():
    assert UniformCohort(4, 2).spec == "uniform:2"
    assert repr(UniformCohort(4, 2)) == "<UniformCohort uniform:2 on 4 clients>"


@pytest.mark.parametrize(
    ("n_clients", "m"), [(3, 4), (3, 0), (3, True), (3, 1.0), (0, 1), (3, -1)]
)
def test_bad_input(n_clients, m):
    with pytest.raises(DomainError, match="must be an integer"):
        UniformCohort(n_clients, m)


def test_a_power_is_one_whose_digits_can_be_written():
    with pytest.raises(DomainError, match="power must be an integer between 0 and 10"):
        UniformCohort(3, 2).moment([0], 10**12)

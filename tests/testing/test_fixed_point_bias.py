"""The bias of the fixed point of the mean dynamics."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify._core.errors import DomainError, InputError, ShapeError
from flverify.algorithms import FedAvg, Focus
from flverify.participation import ExplicitLaw, Full
from flverify.problems import Quadratics
from flverify.testing import Broken, Inconclusive, assert_fixed_point_bias
from tests.testing.own import ForgetsFlag, fedavg_function

F = Fraction


def broken(*parts, **options):
    with pytest.raises(Broken) as caught:
        assert_fixed_point_bias(*parts, **options)
    return caught.value.outcome


def test_the_bias_of_two_local_steps_by_hand(problem):
    # the mean of x -> 9/16 x and x -> x/4 + 3/4 has the fixed point 12/19
    parts = problem, FedAvg("1/4", 2), Full(2)
    bias = F(12, 19) - F(2, 3)
    assert assert_fixed_point_bias(*parts, bias=[bias])
    assert assert_fixed_point_bias(*parts, bound=-bias)
    assert broken(*parts, bias=0).found.startswith("bias (-2/57)")
    assert broken(*parts, bound=-bias - F(1, 10**20))
    assert assert_fixed_point_bias(*parts, bias=0, tolerance="1/28")
    assert broken(*parts, bias=0, tolerance="1/29")


def test_a_corrected_method_is_unbiased(problem, law):
    assert assert_fixed_point_bias(problem, Focus("1/8"), law, bias=0)
    plain = problem.as_float()
    assert assert_fixed_point_bias(plain, Focus("1/8"), law, bias=[0])
    assert broken(plain, FedAvg("1/4", 2), law, bias=0)


def test_a_wrong_algorithm_of_ones_own_is_caught(problem, law):
    # dividing by N in place of |S| pulls the model towards 0
    assert broken(problem, ForgetsFlag(F(1, 4)), law, bias=0)


def test_without_a_fixed_point_there_is_no_answer():
    flat = Quadratics([[[2]], [[0]]], [[0], [1]])
    always = Full(2)
    assert assert_fixed_point_bias(flat, FedAvg("1/4"), always, bias=0)
    alone = ExplicitLaw({(1,): 1}, n_clients=2)
    with pytest.raises(Inconclusive, match="fixed point"):
        assert_fixed_point_bias(flat, FedAvg("1/4"), alone, bias=0)


def test_sampling_needs_a_tolerance(problem, law):
    parts = problem, fedavg_function, law
    options = {"rounds": 12, "budget": 4096}
    found = assert_fixed_point_bias(*parts, bias=0, tolerance="1/2", **options)
    assert "in place of the fixed point" in found.answered_by
    with pytest.raises(Inconclusive, match="sampling cannot show equality"):
        assert_fixed_point_bias(*parts, bias=["-34/213"], **options)
    assert broken(*parts, bias=[2], tolerance="1/2", **options)


def test_sampling_and_moments_agree(problem, law):
    parts = problem, FedAvg("1/4", 2), law
    options = {"rounds": 30, "method": "sampled"}
    assert broken(*parts, bound="1/50", **options)
    assert broken(*parts, bound="1/50")
    assert assert_fixed_point_bias(*parts, bound="1/3", **options)
    assert assert_fixed_point_bias(*parts, bound="1/3")


def test_a_diverging_mean_is_said(problem):
    found = assert_fixed_point_bias(problem, FedAvg(2), Full(2), bias=0)
    assert "does not converge to it" in found.found


def test_parameters_outside_their_domain_are_refused(problem, law):
    parts = problem, Focus("1/8"), law
    with pytest.raises(InputError, match="exactly one"):
        assert_fixed_point_bias(*parts)
    with pytest.raises(InputError, match="exactly one"):
        assert_fixed_point_bias(*parts, bias=0, bound=1)
    with pytest.raises(ShapeError):
        assert_fixed_point_bias(*parts, bias=np.zeros(2))
    with pytest.raises(DomainError):
        assert_fixed_point_bias(*parts, bound=-1)

"""The first round above C rate^r, from starts that show it late or never."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.algorithms import FedAvg, GradientDescent
from flverify.participation import Full
from flverify.problems import Quadratics
from flverify.testing import Broken, assert_linear_rate

F = Fraction


def broken(*parts, **options):
    with pytest.raises(Broken) as caught:
        assert_linear_rate(*parts, **options)
    return caught.value.outcome


def test_a_rate_that_only_other_starts_break():
    # the default start 0 reaches x* in one step, along the first axis
    plane = Quadratics([[[1, 0], [0, F(1, 10)]]], [[1, 0]])
    for problem in (plane, plane.as_float()):
        parts = problem, GradientDescent(1), Full(1)
        found = broken(*parts, rate="1/2")
        assert "or another start" in found.first_break
        assert broken(*parts, rate="1/2", constant=10).claimed.startswith(
            "E|x_r - x*|^2 <= C (1/2)^r for some C, from every start"
        )
    assert assert_linear_rate(plane, *parts[1:], rate="1/2", start=[0, 0])


def test_a_biased_method_that_starts_at_the_minimiser(problem, law):
    found = broken(problem, FedAvg("1/4", 2), law, rate="1/2", start=["2/3"])
    assert found.first_break.startswith("4: ")


def test_a_constant_beyond_floats_is_broken_late(problem):
    # the error tends to (2/57)^2 = 0.00123...: 10^400 10^-r is first below at r = 403
    parts = problem, FedAvg("1/4", 2), Full(2)
    found = broken(*parts, rate="1/10", constant=10**400)
    assert found.first_break.startswith("403: ")


def test_a_rate_too_close_to_be_seen_in_floats():
    # the error is 4/4^r from 0, the rate claimed 4e-15 below 1/4 relatively
    parts = Quadratics([[[1]]], [[2]]), GradientDescent("1/2"), Full(1)
    rate = F(1, 4) - F(1, 10**15)
    any_start = broken(*parts, rate=rate).first_break
    assert any_start.startswith("none before ")
    assert any_start.endswith("; a later round, or another start, does")
    this_start = broken(*parts, rate=rate, start=[0]).first_break
    assert this_start.endswith("; a later round does")

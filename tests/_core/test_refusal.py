"""A refusal says its reason to whoever takes it for an answer."""

from __future__ import annotations

import copy
import pickle

import pytest

from flverify import moments
from flverify._core.errors import NoAnswerError, Refusal, RefusedError
from flverify.algorithms import Focus
from flverify.participation import Full
from flverify.problems import LogSpiral

REFUSAL = Refusal("moments", "the round must be linear; got norms; simulate it.")


def test_a_number_that_is_asked_of_it_is_answered_by_the_reason():
    with pytest.raises(NoAnswerError) as raised:
        REFUSAL.bias  # noqa: B018 - what a user writes who takes it for moments
    assert str(raised.value) == f"bias must be asked of an answer; {REFUSAL}"
    assert isinstance(raised.value, RefusedError)


def test_it_has_no_other_attribute_and_can_be_copied():
    assert not hasattr(REFUSAL, "bias")
    assert getattr(REFUSAL, "bias", None) is None
    thawed = pickle.loads(pickle.dumps(REFUSAL))  # noqa: S301 - our own
    for again in (copy.deepcopy(REFUSAL), thawed):
        assert again == REFUSAL
    assert not hasattr(Refusal.__new__(Refusal), "bias")  # half made


def test_moments_of_a_problem_without_hessians_say_what_it_needs():
    refused = moments(LogSpiral(2, "1/10", 1), Focus("1/8"), Full(2))
    assert isinstance(refused, Refusal)
    assert "with hessians and linear; got LogSpiral; simulate it" in str(refused)

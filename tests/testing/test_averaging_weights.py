"""Averaging weights of a law."""

from __future__ import annotations

import pytest

from flverify._core.errors import DomainError, InputError, ShapeError
from flverify.participation import Bernoulli, ExplicitLaw, UniformCohort
from flverify.testing import Broken, assert_averaging_weights


def test_weights_by_hand():
    # alone 1/2 2/3 and 1/2 1/3, together 1/6 shared by two
    law = Bernoulli(["1/2", "1/3"])
    assert assert_averaging_weights(law, ["5/12", "1/4"])
    assert assert_averaging_weights(participation=law, expected=["5/12", "1/4"])
    assert assert_averaging_weights(UniformCohort(4, 3), ["1/4"] * 4)
    floats = Bernoulli([0.5, 1 / 3])
    assert assert_averaging_weights(floats, ["5/12", 0.25])


def test_inclusion_probabilities_in_their_place_are_caught():
    law = Bernoulli(["1/2", "1/3"])
    with pytest.raises(Broken) as caught:
        assert_averaging_weights(law, law.inclusion())
    found = caught.value.outcome
    assert "client 0 is the first that is off: q = 5/12, claimed 1/2" in found.found
    assert found.reproduce == "flverify law bernoulli:1/2,1/3 --n-clients 2"
    near = assert_averaging_weights(law, law.inclusion(), tolerance="1/12")
    assert near.claimed == "q = (1/2, 1/3), to 1/12"
    same = assert_averaging_weights(law, law.averaging_weights())
    assert same.claimed == same.found == "q = (5/12, 1/4)"


def test_the_smallest_difference_counts_in_rationals():
    law = ExplicitLaw({(0,): "1/3", (0, 1): "2/3"}, n_clients=2)
    near = 10**40 + 3
    with pytest.raises(Broken) as caught:
        assert_averaging_weights(law, ["2/3", f"{near}/{3 * 10**40}"])
    assert "law = ExplicitLaw(" in caught.value.outcome.reproduce


def test_parameters_outside_their_domain_are_refused():
    law = Bernoulli(["1/2", "1/3"])
    with pytest.raises(ShapeError):
        assert_averaging_weights(law, ["1/2"])
    with pytest.raises(DomainError):
        assert_averaging_weights(law, ["1/2", "1/2"], tolerance=-1)
    with pytest.raises(InputError):
        assert_averaging_weights([1, 2], ["1/2", "1/2"])

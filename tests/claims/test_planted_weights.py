"""The weights before (88): a bound that is not theirs, and laws of one participant."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict

PROVED, REFUTED = Verdict.PROVED, Verdict.REFUTED


@pytest.fixture(scope="module")
def claim():
    return load_file(proofs_folder() / "focus_lemma3_weights.py").smaller_than_one


def verdicts(finding):
    return [reading.verdict for reading in finding.readings.values()]


def test_only_the_mean_of_shares_of_several_clients_is_between(claim):
    assert verdicts(claim.check()) == [PROVED, REFUTED, REFUTED, REFUTED]


@pytest.mark.parametrize("bound", [Fraction(99, 100), Fraction(3, 4)])
def test_no_smaller_bound_is_proved(claim, bound):
    """q_1 = 1/100 with one rare client; the laws that are listed have 2/3 and more."""
    assert PROVED not in verdicts(claim.check(bound=bound))

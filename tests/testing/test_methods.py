"""Which method answers: nothing is asked that the method has no use for."""

import pytest

from flverify._core.errors import DomainError, Refusal
from flverify.testing.methods import answer_by, method_of
from flverify.testing.outcome import Outcome, Status

EXACT = Outcome("a", Status.HOLDS, "", "1/4", "exact moments", "")
SAMPLED = Outcome("a", Status.HOLDS, "", "0.25", "sampling", "")
NOTHING = Outcome("a", Status.INCONCLUSIVE, "", "nothing", "", "")
REFUSAL = Refusal("moments", "the round is not linear.")


def unasked():
    raise AssertionError("nobody asked for this")


def test_moments_answer_first():
    for method in ("auto", "exact"):
        assert answer_by(method, lambda: EXACT, unasked, unasked) is EXACT


def test_a_refusal_is_the_reason_or_stands_beside_the_sample():
    found = answer_by("exact", lambda: REFUSAL, unasked, lambda: NOTHING)
    assert found.status == Status.INCONCLUSIVE
    assert found.reason == str(REFUSAL)
    found = answer_by("auto", lambda: REFUSAL, lambda: SAMPLED, unasked)
    assert found.found == "0.25"
    assert found.answered_by == f"sampling ({REFUSAL})"


def test_sampling_alone_asks_no_moments():
    assert answer_by("sampled", unasked, lambda: SAMPLED, unasked) is SAMPLED


def test_no_other_method():
    with pytest.raises(DomainError, match="method"):
        method_of("moments")

"""What Appendix D takes E of, given the past, is said for independent rounds.

A client that tends to go on as it did comes half of the time in the long run, and yet
hardly after it has stayed away: then p_i is not its chance. Lemma 4 and (74) fail there
and hold, with the same p_i, for rounds that are drawn anew.
"""

from fractions import Fraction
from functools import cache

import pytest

from flverify.reference import focus
from tests.shipped import CLAIMS

STAYS = Fraction(9, 10)  # the chance to go on as in the round before
CHANCE = Fraction(1, 2)  # p_1 in the long run
STEP = Fraction(1, 1000)  # inside the caps of Lemma 4 for q = 1/2, L = N = tau = 1
GIVEN_THE_PAST = [
    "focus.obs73",
    "focus.obs74",
    "focus.lemma3.step87",
    "focus.lemma3.step87.smooth",
    "focus.lemma4",
    "focus.lemma4.step91",
    "focus.lemma4.step93b-c",
]


@cache
def ends(comes):
    """One round of f = x^2/2 from w = 1 and a row at 0: the new w, and the row."""
    zero, one = Fraction(0), Fraction(1)
    state = {"model": [one], "tracker": [zero], "stored": [[zero]]}
    cohort = {0} if comes else set()
    after = focus.play(
        state, lambda _, x: [x[0]], 1, cohort, step_size=STEP, local_steps=1
    )
    return after["model"][0], after["stored"][0][0]  # the gradient is the row


def mean(chance, value):
    return chance * value(*ends(True)) + (1 - chance) * value(*ends(False))


def errors(chance):
    """E B_1 and the right side of the mended Lemma 4, where B_0 = 1."""
    left = mean(chance, lambda w, row: (w - row) ** 2)
    slope = mean(chance, lambda w, _: w**2)
    push = Fraction(16, 3) * STEP**2 / CHANCE
    return left, 1 - CHANCE / 3 + push * slope


def test_lemma_4_needs_rounds_without_memory():
    left, right = errors(1 - STAYS)  # it was absent in the round before
    assert left > right
    left, right = errors(CHANCE)
    assert left <= right


def test_74_needs_rounds_without_memory():
    def apart(_, row):
        return (1 - row) ** 2  # the server is at 1 until the push

    assert mean(1 - STAYS, apart) != 1 - CHANCE
    assert mean(CHANCE, apart) == 1 - CHANCE


@pytest.mark.one_in(4)
@pytest.mark.parametrize("key", GIVEN_THE_PAST)
def test_hypothesis_and_correction_say_so(key):
    assert "independent rounds" in CLAIMS[key].proposition
    assert "independent rounds" in CLAIMS[key].check().correction.statement


def test_propositions_without_correction_say_so():
    assert "independent rounds" in CLAIMS["sgfocus.lemma6.step130"].proposition
    said = CLAIMS["focus.sec5.1.delayed"].proposition
    assert "independent, of one law" in said
    assert "from every state where it is" in said

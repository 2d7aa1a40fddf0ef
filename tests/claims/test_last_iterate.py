"""The last model against (9): closed forms beside runs, and what stops the case."""

from fractions import Fraction

import pytest

from flverify.claims import last_iterate
from flverify.claims.agnostic_terms import RATE
from flverify.claims.last_iterate import (
    added_bound,
    added_value,
    bound,
    closed_value,
    far_away,
    followed,
    last_value,
    longest,
    pieces,
    weight,
)
from flverify.claims.verdict import Verdict


@pytest.mark.parametrize("m", range(8))
def test_closed_forms_are_the_sums(m):
    terms = [weight(n) * (1 - n * weight(n)) for n in range(2**m)]
    assert closed_value(m) == added_value(m) == sum(terms)
    assert longest(m) == max(sum(v * v for v in h) for h in pieces(2**m))
    assert bound(m, RATE) == added_bound(m, RATE)


def test_the_plain_loop_makes_the_value_at_32_models():
    assert last_value(5, "literal") == last_value(5, "separate") == closed_value(5)


def test_each_step_takes_the_next_piece_and_none_is_larger():
    """By hand, without the loop: h_t is the first of the largest at step t."""
    lines, x = pieces(16)[1:], [Fraction(0)] * 16
    for t in range(17):
        values = [sum(a * b for a, b in zip(h, x, strict=True)) for h in lines]
        assert values.index(max(values)) == t
        assert max(values) >= 0
        assert all(0 <= v <= 1 for v in x)
        if t < 16:
            x = [v - h for v, h in zip(x, lines[t], strict=True)]
    assert max(values) == closed_value(4)


def test_the_lines_are_those_of_the_case():
    assert pieces(2) == [[0, 0], [-1, 0], [Fraction(1, 4), -1], [Fraction(1, 4), 0.5]]


@pytest.mark.parametrize("factor", [1, 3, 50])
def test_no_factor_saves_the_bound(factor):
    found = far_away(Fraction(factor), RATE)
    assert found.verdict == Verdict.REFUTED
    assert found.parts["the run"].verdict == Verdict.PROVED


def test_small_numbers_of_models_satisfy_it():
    assert all(closed_value(m) <= bound(m, RATE) for m in range(33))


def test_another_run_refutes_nothing(monkeypatch):
    monkeypatch.setattr(last_iterate, "last_value", lambda m, _: closed_value(m) + 1)
    assert far_away(Fraction(1), RATE).verdict == Verdict.INCONCLUSIVE


def test_other_weights_refute_nothing(monkeypatch):
    right = last_iterate.weight
    monkeypatch.setattr(last_iterate, "weight", lambda n: right(n) / 2)
    assert followed().verdict == Verdict.REFUTED
    assert far_away(Fraction(1), RATE).verdict == Verdict.INCONCLUSIVE


def test_a_second_computation_that_differs_refutes_nothing(monkeypatch):
    monkeypatch.setattr(last_iterate, "added_value", lambda m: closed_value(m) - 1)
    assert far_away(Fraction(1), RATE).verdict == Verdict.INCONCLUSIVE

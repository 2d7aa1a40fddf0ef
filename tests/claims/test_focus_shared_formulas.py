"""What a proof of FOCUS takes from a fact is what the fact is judged with.

A fault is planted in the one place that both read: the fact, or the rule by which the
lines of a proof are put together, must not pass.
"""

import pytest
import sympy

from flverify.claims import focus_lemma3_proof as lemma_3
from flverify.claims import focus_server_move as server_move
from flverify.claims import focus_theorem1_assembled as assembled
from flverify.claims import focus_theorem1_gradients as gradients
from flverify.claims import focus_theorem1_lagged as lagged
from flverify.claims import focus_theorem1_rates as rates
from flverify.claims import focus_theorem1_round as one_round
from flverify.claims import judge
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_theorem1_gradients import S2, C, D
from flverify.claims.focus_theorem1_lines import A, Line
from flverify.claims.focus_theorem1_steps import N, eta, q

HALF, ONE = sympy.Rational(1, 2), sympy.Integer(1)


def judged(function, *args):
    """Judge anew, whatever was judged before."""
    found = getattr(function, "__wrapped__", function)(*args)
    return judge.all_of(found) if isinstance(found, dict) else found


def without_rows(line, drop, sign=1):
    return line.k * A - line.d * drop + sign * line.f * S2


def without_its_square(line, drop, sign=1):
    return line.k * A - line.d * drop + line.e * C


@pytest.mark.parametrize("wrong", [without_rows, without_its_square])
def test_a_line_of_theorem_1_is_the_one_that_is_judged(monkeypatch, wrong):
    assert judged(rates.squared_distance, HALF).passes()
    monkeypatch.setattr(Line, "above", wrong)
    assert not judged(rates.squared_distance, HALF).passes()


def test_a_square_put_into_a_line_is_all_of_it(monkeypatch):
    assert judged(lagged._square_put_in).passes()
    wrong = lambda line, _, n: Line(line.k, line.d, line.e + line.f * n, 0)  # noqa: E731
    monkeypatch.setattr(Line, "without_squares", wrong)
    assert not judged(lagged._square_put_in).passes()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "wrong", "rule"),
    [
        ("before_squares", lambda f, *_: f, "_assembled_from_values"),
        ("before_squares", lambda f, c, j: f - c * j, "_assembled_from_values"),
        ("before_squares", lambda f, *_: f, "assembled_from_squares"),
        ("before_rows", lambda e, *_: e, "_assembled_from_values"),
        ("before_rows", lambda e, c, g, *_: e + c * g, "_assembled_from_values"),
        ("before_rows", lambda e, *_: e, "assembled_from_squares"),
        ("unpaid_values", lambda *given: -given[-1], "_assembled_from_values"),
        ("unpaid_rows", lambda *given: -given[-1], "_assembled_from_values"),
    ],
)
def test_what_pays_is_what_the_rule_asks_for(monkeypatch, name, wrong, rule):
    monkeypatch.setattr(rates, name, wrong)
    assert not judged(getattr(rates, rule)).passes()


def test_the_square_of_the_server_move_is_the_one_that_is_judged(monkeypatch):
    assert server_move.square_of_move().passes()
    monkeypatch.setattr(server_move, "moved_square", lambda a, b, _: a - 2 * eta * b)
    assert not judged(server_move.square_of_move).passes()


def test_young_and_the_tangent_are_judged_with_their_factors():
    assert server_move.above_the_tangent(lemma_3.TANGENT).passes()
    assert not server_move.above_the_tangent("2").passes()
    assert not server_move.young("1/2", "1/2").passes()


@pytest.mark.slow
def test_lemma_3_reads_the_tangent_and_the_square(monkeypatch):
    assert judged(lemma_3._collected, lemma_3.MENDED).passes()
    monkeypatch.setattr(lemma_3, "TANGENT", "1/4")
    assert not judged(lemma_3._collected, lemma_3.MENDED).passes()
    monkeypatch.undo()
    less = lambda a, b, c: a - eta * b + eta**2 * c  # noqa: E731
    monkeypatch.setattr(lemma_3, "moved_square", less)
    assert not judged(lemma_3._collected, lemma_3.MENDED).passes()
    assert not judged(lemma_3.proof, lemma_3.MENDED).passes()


@pytest.mark.slow
def test_lemma_3_with_too_steep_a_tangent_is_not_proved(monkeypatch):
    monkeypatch.setattr(lemma_3, "TANGENT", "2")
    assert not judged(lemma_3.proof, lemma_3.MENDED).passes()


def test_rows_and_sums_are_what_the_lines_take(monkeypatch):
    behind, thirds = rates.FIFTH, rates.THIRDS
    assert judged(gradients.rows_follow, behind).passes()
    monkeypatch.setattr(gradients, "rows_after", lambda g, _: g * C)
    assert not judged(gradients.rows_follow, behind).passes()
    monkeypatch.setattr(gradients, "in_values_and_rows", lambda m, _: m * D)
    assert not judged(gradients.sum_of_gradients, thirds).passes()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("left_of_rows", lambda *_: ONE),
        ("pushed", lambda j, _: j),
        ("values_pay", lambda _, gone, d, less: gone * less <= d),
        ("rows_pay", lambda _, kept, k, weight, less: kept * less <= k * weight),
    ],
)
def test_what_pays_in_psi_is_what_its_rule_asks_for(monkeypatch, name, wrong):
    monkeypatch.setattr(assembled, name, wrong)
    assert not judged(assembled.assembled, "C").passes()


@pytest.mark.parametrize("place", [0, 1])
def test_what_a_mean_share_tells_of_n_and_p_is_judged(place):
    known = one_round.chances(Q_READINGS[0])[0][:2]
    assert judge.all_of(one_round._averaging(*known)).passes()
    known[place] = (2 * N * q <= 1, 2 * q <= one_round.p)[place]
    assert not judge.all_of(one_round._averaging(*known)).passes()


def test_the_floor_of_young_is_the_one_that_is_judged(monkeypatch):
    higher = lambda _factors, eps, a, b: -(eps * a + b / eps) / 4  # noqa: E731
    assert server_move.young().passes()
    monkeypatch.setattr(server_move, "young_floor", higher)
    assert not judged(server_move.young).passes()

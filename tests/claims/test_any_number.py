"""Sums over any number of clients and nodes, beside sums of many."""

import random
from fractions import Fraction

import pytest
import sympy

from flverify.claims import any_number
from flverify.claims.verdict import Verdict

DRAWS = random.Random(7)
SIZE = 9


def drawn():
    return [Fraction(DRAWS.randint(-9, 9), DRAWS.randint(1, 9)) for _ in range(SIZE)]


def stochastic(total):
    """Rows of a drawn matrix of such sums."""
    rows = []
    for _ in range(SIZE):
        free = drawn()[1:]
        rows.append([total - sum(free), *free])
    return rows


@pytest.mark.parametrize("total", [1, 2])
def test_nine_nodes_keep_consensus_and_sums_just_where_it_is_proved(total):
    R, y, now, ahead = stochastic(total), drawn(), drawn(), drawn()
    consensus = [sum(entry * 3 for entry in row) for row in R]
    change = [a + c - b for a, b, c in zip(y, now, ahead, strict=True)]
    columns = zip(*stochastic(total), strict=True)  # a matrix of such column sums
    after = sum(sum(c * v for c, v in zip(row, change, strict=True)) for row in columns)
    row_holds = consensus == [3] * SIZE
    sum_holds = after - sum(y) == sum(ahead) - sum(now)
    assert row_holds == any_number.sums_kept(total, 1).passes()
    assert sum_holds == any_number.sums_kept(1, total).passes()
    assert sum_holds == any_number.tracked(total, 1).passes()


@pytest.mark.parametrize(("f_0", "factor"), [(0, 1), (1, 1), (0, 2), (1, 2)])
def test_seven_clients_add_up_just_where_it_is_proved(f_0, factor):
    x, y = sympy.symbols("x y")
    losses = [i * x**3 + x * y**i + i for i in range(1, 8)]
    rows = sympy.diff(f_0 * (x + y), x) + sum(sympy.diff(f, x) for f in losses)
    right = factor * 7 * sympy.diff(sum(losses) / 7, x)
    holds = sympy.expand(rows - right) == 0
    assert any_number.rows_add_up(f_0, factor).passes() == holds


def test_what_is_wrong_is_refuted():
    wrong = [
        any_number.rows_add_up(1, 1),
        any_number.rows_add_up(0, 2),
        any_number.means_of_gradients(2),
        any_number.unmoved_by_the_server(1),
        any_number.sums_kept(2, 1),
        any_number.sums_kept(1, 2),
        any_number.tracked(2, 1),
        any_number.tracked(1, 2),
        any_number.tracked(1, 1, 2),
    ]
    assert {found.verdict for found in wrong} == {Verdict.REFUTED}


def test_wrong_columns_of_the_push_are_seen(monkeypatch):
    def kept(i, j, inside, _size):
        return int(i == j or (inside(j) and i == 0))

    monkeypatch.setattr(any_number, "push", kept)
    assert any_number.tracked(1, 1).verdict == Verdict.REFUTED

"""A law given by its outcomes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import DomainError, ShapeError
from flverify.participation import ExplicitLaw, UniformCohort

tables = st.dictionaries(
    st.frozensets(st.integers(0, 3)), st.integers(1, 20), min_size=1, max_size=8
).map(lambda t: {s: Fraction(n, sum(t.values())) for s, n in t.items()})


@settings(deadline=None, derandomize=True, max_examples=40)
@given(tables)
def test_equals_enumeration(equals_enumeration, outcomes):
    equals_enumeration(ExplicitLaw(outcomes, 4), outcomes)


def test_by_hand():
    law = ExplicitLaw({(0,): "1/4", (1, 0): "1/2", (): "1/4"}, 3)
    assert law.inclusion().tolist() == [Fraction(3, 4), Fraction(1, 2), 0]
    assert law.averaging_weights().tolist() == [Fraction(1, 2), Fraction(1, 4), 0]
    assert law.empty_probability() == Fraction(1, 4)


def test_a_uniform_cohort_listed():
    listed = ExplicitLaw(UniformCohort(4, 2).support(), 4)
    assert listed.cross().tolist() == UniformCohort(4, 2).cross().tolist()


def test_floats(floats_match):
    table = {(): 0.125, (0,): 1e-9, (0, 1): 0.5, (2,): 0.375 - 1e-9}
    rational = {key: Fraction(value) for key, value in table.items()}
    rational[2,] = 1 - sum(c for key, c in rational.items() if key != (2,))
    floats_match(ExplicitLaw(table, 3), ExplicitLaw(rational, 3))


def test_symbols():
    p = sympy.Symbol("p")
    law = ExplicitLaw({(0,): p, (0, 1): 1 - p}, 2)
    assert law.exact
    assert sympy.expand(law.averaging_weights()[0] - (1 + p) / 2) == 0
    rational = ExplicitLaw({(0,): p / (1 + p), (): 1 / (1 + p)}, 1)
    assert sympy.simplify(rational.empty_probability() - 1 / (1 + p)) == 0


def test_relabelling(relabelled):
    table = {(0,): "1/4", (1, 2): "1/2", (0, 2): "1/4"}
    order = (2, 0, 1)  # new client k is old client order[k]
    renamed = {tuple(order.index(i) for i in key): c for key, c in table.items()}
    relabelled(ExplicitLaw(table, 3), ExplicitLaw(renamed, 3), order)


def test_drawing(frequencies_match):
    table = {(): "1/8", (0,): "1/4", (1, 2): "1/3", (2, 0, 1): "7/24", (1,): 0}
    outcomes = {frozenset(key): Fraction(c) for key, c in table.items()}
    frequencies_match(ExplicitLaw(table, 3), outcomes)


def test_a_uniform_on_the_border_belongs_above():
    law = ExplicitLaw({(0,): "1/4", (1,): "3/4"}, 2)
    uniforms = np.array([[0.0], [0.2499], [0.25]])
    assert law.masks(uniforms)[:, 0].tolist() == [True, True, False]


def test_impossible_outcomes_are_never_drawn():
    law = ExplicitLaw({(0,): 0.1, (1,): 0.2, (2,): 0.7, (0, 1, 2): 0.0}, 3)
    last = np.array([[np.nextafter(1.0, 0.0)]])
    assert law.masks(last).sum() == 1
    assert frozenset((0, 1, 2)) not in law.support()


def test_float_tables_may_miss_one_by_rounding():
    assert ExplicitLaw({(0,): 0.1, (1,): 0.2, (): 0.7 + 1e-13}, 2).n_clients == 2
    with pytest.raises(DomainError, match="sum to 1"):
        ExplicitLaw({(0,): 0.1, (1,): 0.2, (): 0.7 + 1e-11}, 2)


def test_the_order_of_the_table_does_not_matter():
    one = ExplicitLaw({(0, 1): "1/3", (): "2/3"}, 2)
    other = ExplicitLaw({frozenset(): "2/3", frozenset((1, 0)): "1/3"}, 2)
    assert one == other
    assert hash(one) == hash(other)
    assert one.spec == "explicit"
    assert (one.sample(1, 3, 50) == other.sample(1, 3, 50)).all()


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({}, ShapeError),
        ([((0,), 1)], ShapeError),
        ({0: 1}, ShapeError),
        ({"0": 1}, ShapeError),
        ({(0,): "1/2"}, DomainError),
        ({(0,): "1/2", (1,): "2/3"}, DomainError),
        ({(0,): "3/2", (1,): "-1/2"}, DomainError),
        ({(0,): float("nan")}, DomainError),
        ({(0,): True}, DomainError),
        ({(2,): 1}, DomainError),
        ({(-1,): 1}, DomainError),
        ({(True,): 1}, DomainError),
        ({(0, 0): 1}, DomainError),
        ({(0, 1): "1/2", (1, 0): "1/2"}, DomainError),
        ({(0,): sympy.Symbol("p")}, DomainError),
    ],
)
def test_bad_input(table, error):
    with pytest.raises(error, match="must"):
        ExplicitLaw(table, 2)

"""Full participation: everybody, every round."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify._core.errors import DomainError
from flverify.participation import Full


@pytest.mark.parametrize("n_clients", [1, 2, 4])
def test_equals_enumeration(n_clients, equals_enumeration):
    outcomes = {frozenset(range(n_clients)): Fraction(1)}
    equals_enumeration(Full(n_clients), outcomes)


def test_everybody_takes_part():
    mask = Full(3).sample(seed=1, runs=4, rounds=range(60, 70))
    assert mask.shape == (4, 10, 3)
    assert mask.all()


def test_notation():
    law = Full(3)
    assert law.spec == "full"
    assert repr(law) == "<Full full on 3 clients>"
    assert repr(Full(1)) == "<Full full on 1 client>"
    assert {law: 1}[Full(3)] == 1
    assert law != Full(4)


@pytest.mark.parametrize("n_clients", [0, -1, True, 2.0, "3"])
def test_bad_input(n_clients):
    with pytest.raises(DomainError, match="n_clients must be an integer"):
        Full(n_clients)

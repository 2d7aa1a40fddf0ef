"""Checks shared by the laws: plain enumeration, floats, drawing, relabelling."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

TABLES = (
    "inclusion",
    "averaging_weights",
    "joint_inclusion",
    "cross",
    "joint_averaging",
)
TOLERANCE = Fraction(1, 10**12)


def _value(outcomes, clients, power):
    """E[1{clients in S} / |S|^power] straight from the definition."""
    total = Fraction(0)
    for outcome, chance in outcomes.items():
        if set(clients) <= set(outcome) and (outcome or not power):
            total += chance / Fraction(len(outcome)) ** power if power else chance
    return total


def _tables(outcomes, n_clients):
    every = range(n_clients)
    single = {k: [_value(outcomes, (i,), k) for i in every] for k in (0, 1)}
    pair = {
        k: [[_value(outcomes, (i, j), k) for j in every] for i in every]
        for k in (0, 1, 2)
    }
    return {
        "inclusion": single[0],
        "averaging_weights": single[1],
        "joint_inclusion": pair[0],
        "cross": pair[1],
        "joint_averaging": pair[2],
    }


def _equals_enumeration(law, outcomes):
    assert law.exact
    assert {s: c for s, c in law.support().items() if c} == {
        s: c for s, c in outcomes.items() if c
    }
    for name, expected in _tables(outcomes, law.n_clients).items():
        values = getattr(law, name)()
        assert values.tolist() == expected, name
        assert all(isinstance(v, Fraction) for v in values.ravel()), name
    for size in range(law.n_clients + 1):
        for clients in combinations(range(law.n_clients), size):
            for power in range(4):
                expected = _value(outcomes, clients, power)
                assert law.moment(clients, power) == expected, (clients, power)
    empty = outcomes.get(frozenset(), Fraction(0))
    assert law.empty_probability() == empty
    assert law.nonempty_probability() == 1 - empty


def _close(value, expected):
    assert isinstance(value, float)
    return abs(Fraction(value) - expected) <= TOLERANCE * abs(expected)


def _floats_match(law, exact):
    """Every table of the float law has relative error at most 1e-12."""
    assert exact.exact
    assert not law.exact
    for name in TABLES:
        values = getattr(law, name)()
        assert values.dtype == np.float64
        expected = getattr(exact, name)()
        assert values.shape == expected.shape
        pairs = zip(values.ravel().tolist(), expected.ravel(), strict=True)
        assert all(_close(v, e) for v, e in pairs), name
    for name in ("empty_probability", "nonempty_probability"):
        assert _close(getattr(law, name)(), getattr(exact, name)()), name
    for clients in ((), (0,), tuple(range(min(2, law.n_clients)))):
        for power in (1, 2, 3):
            assert _close(law.moment(clients, power), exact.moment(clients, power))


def _frequencies_match(law, outcomes, draws=20_000):
    """Every outcome is drawn as often as it should be, within 5 sigma."""
    masks = law.sample(20, draws // 200, 200).reshape(-1, law.n_clients)
    keys, counts = np.unique(masks, axis=0, return_counts=True)
    drawn = {
        frozenset(np.flatnonzero(key).tolist()): int(count)
        for key, count in zip(keys, counts, strict=True)
    }
    assert set(drawn) <= {s for s, c in outcomes.items() if c}
    for outcome, chance in outcomes.items():
        p = float(chance)
        sigma = (draws * p * (1 - p)) ** 0.5
        assert abs(drawn.get(outcome, 0) - draws * p) <= 5 * sigma + 3, outcome


def _relabelled(law, permuted, order):
    """`permuted` is `law` with client i renamed to the place of i in `order`."""
    ix = np.array(order)
    for name in TABLES[:2]:
        assert getattr(permuted, name)().tolist() == getattr(law, name)()[ix].tolist()
    for name in TABLES[2:]:
        expected = getattr(law, name)()[np.ix_(ix, ix)]
        assert getattr(permuted, name)().tolist() == expected.tolist()
    assert permuted.empty_probability() == law.empty_probability()


@pytest.fixture(scope="session")
def equals_enumeration() -> Callable[..., None]:
    return _equals_enumeration


@pytest.fixture(scope="session")
def floats_match() -> Callable[..., None]:
    return _floats_match


@pytest.fixture(scope="session")
def frequencies_match() -> Callable[..., None]:
    return _frequencies_match


@pytest.fixture(scope="session")
def relabelled() -> Callable[..., None]:
    return _relabelled

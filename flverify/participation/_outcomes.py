"""Outcomes that a user's own law lists: those of one law, with its inclusion."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from flverify._core.errors import DomainError, RefusedError, ShapeError
from flverify._core.exact import Scalar, is_exact, is_symbolic, scalar
from flverify._core.shown import shown

ROUNDING = 1e-9  # how far floats may be from one another

Outcomes: TypeAlias = Mapping[frozenset[int], Scalar]


def apart(one: Scalar, other: Scalar) -> bool:
    """Whether two numbers differ: rationals at all, floats by more than rounding.

    Expressions differ if they do at two places; what is no number there is not told.

    Examples
    --------
    >>> apart(0.1 + 0.2, 0.3)
    False
    >>> import sympy
    >>> p = sympy.Symbol("p", positive=True)
    >>> apart((1 - p) ** 2, 1 - 2 * p + p**2), apart(p**2, p)
    (False, True)
    """
    if is_symbolic(one) or is_symbolic(other):
        return all(gap is not None and gap > ROUNDING for gap in _gaps(one - other))
    exact = is_exact(one) and is_exact(other)
    return bool(one != other if exact else not abs(one - other) <= ROUNDING)


def _gaps(difference: Any) -> list[float | None]:
    """Return the size of an expression at two places; None where it has none."""
    if not is_symbolic(difference):  # as of two numbers that sympy wrote
        return [float(abs(difference))]
    names = sorted(difference.free_symbols, key=str)
    found: list[float | None] = []
    for first in (Fraction(2, 7), Fraction(5, 11)):
        places = [first / (k + 1) for k in range(len(names))]
        value = difference.subs(dict(zip(names, places, strict=True)))
        told = value.is_number and value.is_real and value.is_finite
        found.append(float(abs(value)) if told else None)
    return found


def number(said: object, asked: str) -> Scalar:
    """Read a number that a law said; text is none, since sums are made of it.

    Raises
    ------
    DomainError
        If it is no finite number.

    Examples
    --------
    >>> number("1/2", "moment((0,), 0) of Either")
    Traceback (most recent call last):
    flverify._core.errors.DomainError: moment((0,), 0) of Either must be a number; ...
    """
    if isinstance(said, str):
        raise DomainError(
            f"{asked} must be a number; got {shown(said)}; return a Fraction."
        )
    return scalar(said, asked)


def outcomes_of(law: Any, found: object) -> Outcomes:
    """Read what `support` of a law returned; it sums to 1.

    Raises
    ------
    ShapeError
        If it is no mapping of sets of clients.
    DomainError
        If its probabilities are no numbers, negative, or do not sum to 1.

    Examples
    --------
    >>> from flverify.participation import Full
    >>> outcomes_of(Full(2), {frozenset({0, 1}): 1})
    {frozenset({0, 1}): Fraction(1, 1)}
    """
    name, everybody = type(law).__name__, frozenset(range(law.n_clients))
    listed: Any = found if isinstance(found, Mapping) and found else {None: 0}
    if not all(isinstance(s, frozenset) and s <= everybody for s in listed):
        raise ShapeError(
            f"support() of {name} must map frozensets of clients from 0 to "
            f"{law.n_clients - 1} to probabilities; got {shown(found)}; mend it."
        )
    asked = f"every probability of support() of {name}"
    outcomes = {s: number(share, asked) for s, share in listed.items()}
    _require_distribution(outcomes, name)
    return outcomes


def _require_distribution(outcomes: Outcomes, name: str) -> None:
    total = sum(outcomes.values())
    numbers = [share for share in outcomes.values() if not is_symbolic(share)]
    least = min(numbers, default=0)
    if apart(total, 1) or least < 0:
        raise DomainError(
            f"the probabilities of support() of {name} must be at least 0 and sum to "
            f"1; got the sum {total} and the smallest {least}; mend them."
        )


def require_outcomes(law: Any, found: object) -> None:
    """Check outcomes where they are read in place of a law's moments.

    Raises
    ------
    InputError
        If they are those of no law, or a client, or one with the first or the next,
        comes in them more or less often than the law says.

    Examples
    --------
    >>> from flverify.participation import Full
    >>> require_outcomes(Full(2), {frozenset({0, 1}): 1})
    """
    outcomes = outcomes_of(law, found)
    comes: list[Scalar] = [0] * law.n_clients
    for members, share in outcomes.items():
        for i in members:
            comes[i] = comes[i] + share
    with suppress(RefusedError):  # a law without moments
        _require_inclusion(comes, list(law.inclusion()), type(law).__name__)
        if not any(is_symbolic(share) for share in outcomes.values()):
            _require_pairs(law, outcomes, type(law).__name__)


def _require_inclusion(comes: list[Scalar], said: list[Scalar], name: str) -> None:
    if len(said) != len(comes):
        raise ShapeError(
            f"inclusion() of {name} must have an entry for each of {len(comes)} "
            f"clients; got {len(said)}; mend it."
        )
    for i, (due, told) in enumerate(zip(comes, said, strict=True)):
        if apart(due, told):
            raise DomainError(
                f"inclusion() of {name} must be what support() says, {due} for client "
                f"{i}; got {told}; mend one of them."
            )


def _require_pairs(law: Any, outcomes: Outcomes, name: str) -> None:
    """Compare every client's pairs with the first one and with the next, in floats."""
    people = range(law.n_clients)
    came = np.array([[i in members for i in people] for members in outcomes], float)
    shares = np.array([float(share) for share in outcomes.values()])
    sizes = np.maximum(came.sum(axis=1), 1)
    pairs = {(0, j) for j in people[1:]} | {(j, j + 1) for j in people[1:-1]}
    for power in (0, 1, 2):
        due = came.T @ (came * (shares / sizes**power)[:, None])
        for i, j in sorted(pairs):
            said = number(law.moment((i, j), power), f"a moment of {name}")
            if not is_symbolic(said) and apart(float(said), float(due[i, j])):
                raise DomainError(
                    f"moment(({i}, {j}), {power}) of {name} must be what support() "
                    f"says, {due[i, j]:.9g}; got {said}; mend one of them."
                )

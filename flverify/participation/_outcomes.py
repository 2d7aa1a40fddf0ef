"""Outcomes of a user's own law, where they are read in place of its moments."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flverify._core.errors import DomainError, RefusedError, ShapeError
from flverify._core.exact import Scalar, is_symbolic, scalar
from flverify._core.shown import shown

ROUNDING = 1e-9  # how far floats may be from one another


def require_outcomes(law: Any, found: Any) -> None:
    """Check that outcomes are those of one law, and come as often as its moments say.

    Raises
    ------
    ShapeError
        If they are no mapping of sets of clients.
    DomainError
        If their probabilities are no numbers or do not sum to 1, or a client comes in
        them more or less often than it says.

    Examples
    --------
    >>> from flverify.participation import Full
    >>> require_outcomes(Full(2), {frozenset({0, 1}): 1})
    """
    name, everybody = type(law).__name__, frozenset(range(law.n_clients))
    sets = list(found) if isinstance(found, Mapping) and found else [None]
    if not all(isinstance(s, frozenset) and s <= everybody for s in sets):
        raise ShapeError(
            f"support() of {name} must map frozensets of clients from 0 to "
            f"{law.n_clients - 1} to probabilities; got {shown(found)}; mend it."
        )
    asked = f"every probability of support() of {name}"
    if any(isinstance(share, str) for share in found.values()):
        raise DomainError(
            f"{asked} must be a number; got the text in {shown(found)}; return a "
            "Fraction."
        )
    if any(is_symbolic(scalar(share, asked)) for share in found.values()):
        return
    total = sum(found.values())
    if _apart(total, 1) or min(found.values()) < 0:
        raise DomainError(
            f"the probabilities of support() of {name} must be at least 0 and sum to "
            f"1; got the sum {total} and the smallest {min(found.values())}; mend them."
        )
    with suppress(RefusedError):  # a law without moments
        _require_inclusion(found, law.inclusion().tolist(), name)


def _require_inclusion(
    found: Mapping[frozenset[int], Scalar], said: list[Scalar], name: str
) -> None:
    comes: list[Scalar] = [0] * len(said)
    for members, share in found.items():
        for i in members:
            comes[i] = comes[i] + share
    for i, (due, told) in enumerate(zip(comes, said, strict=True)):
        if _apart(due, told):
            raise DomainError(
                f"inclusion() of {name} must be what support() says, {due} for client "
                f"{i}; got {told}; mend one of them."
            )


def _apart(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return not abs(one - other) <= ROUNDING
    return bool(one != other)

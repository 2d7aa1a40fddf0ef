"""Which method answers an assertion: exact moments, sampling, or the first that can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flverify._core.checks import choice
from flverify._core.errors import Refusal
from flverify.testing.outcome import Outcome

METHODS = ("auto", "exact", "sampled")


def method_of(value: object) -> str:
    """Check the method of an assertion."""
    return choice(value, "method", METHODS)


def answer_by(
    method: str,
    by_moments: Callable[[], Outcome | Refusal],
    by_sampling: Callable[[], Outcome],
    unanswered: Callable[[], Outcome],
) -> Outcome:
    """Return the outcome by a method; sampling says which refusal it stands in for.

    Parameters
    ----------
    method : {"auto", "exact", "sampled"}
    by_moments, by_sampling : callable
        Asked only where the method needs their answer.
    unanswered : callable
        The outcome before anything is known, for a refusal that nothing stands in for.
    """
    if method == "sampled":
        return by_sampling()
    found = by_moments()
    if isinstance(found, Outcome):
        return found
    if method == "exact":
        return replace(unanswered(), reason=str(found))
    return by_sampling().instead_of(found)

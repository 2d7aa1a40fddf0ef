"""Whether a claim that is judged twice finds the same, in all that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flverify.claims.audit import Audited
from flverify.claims.store import written

# which provers answer, cvc5 beside z3 or not, may depend on the machine
LEFT_OUT = {"seconds", "reason", "methods"}


def otherwise(one: Audited, again: Audited) -> str:
    """Name the first thing that was found otherwise the second time, or nothing.

    Parameters
    ----------
    one, again : Audited
        Of one claim.
    """
    before, after = (dict(_leaves(written(found))) for found in (one, again))
    for place in dict.fromkeys([*before, *after]):
        if before.get(place) != after.get(place):
            change = f"{before.get(place, 'none')} -> {after.get(place, 'none')}"
            return f"{one.claim.id}: {place}: {change}"
    return ""


def _leaves(data: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield what is written, by the names that lead to it."""
    if not isinstance(data, Mapping):
        yield place, str(data)
        return
    for name, part in data.items():
        if name not in LEFT_OUT:
            yield from _leaves(part, f"{place}: {name}" if place else name)

"""What a step is derived from, and whether that is true: by the ledger's verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from flverify.claims.verdict import Verdict

Lines = Mapping[str, Sequence[str]]  # printed lines, and the claims that judge them


class GivenLines(Protocol):
    """A claim, as far as it is looked at here."""

    @property
    def given(self) -> Lines:
        """Lines that it is given."""

    @property
    def mended_from(self) -> Lines | None:
        """Lines that its correction alone is given, if they are not the same."""


def given(entry: Mapping[str, Any]) -> Lines:
    """Return the lines that an entry of a ledger says its claim was given."""
    found = entry.get("given", {})
    return found if isinstance(found, Mapping) else {}


def refuted(lines: Lines, entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List the refuted claims among those that judge lines, and what these are given.

    A refuted claim ends its branch: what it was given does not matter any more.

    Examples
    --------
    >>> known = {
    ...     "a": {"verdict": "REFUTED"},
    ...     "b": {"verdict": "PROVED", "given": {"(1)": ["a"]}},
    ... }
    >>> refuted({"(2)": ["b"]}, known), refuted({"(3)": ["c"]}, known)
    (['a'], [])
    """
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = list(_judging(lines))
    while waiting:
        key = waiting.pop(0)
        entry = entries.get(key, {})
        if key in seen:
            continue
        seen.add(key)
        if entry.get("verdict") == Verdict.REFUTED:
            found[key] = None
        else:
            waiting += _judging(given(entry))
    return list(found)


def open_among(lines: Lines, entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List the claims that judge lines and are INCONCLUSIVE: of lines given directly.

    What these are from in turn is left out: they say so themselves.

    Examples
    --------
    >>> open_among({"(1)": ["a", "b"]}, {"a": {"verdict": "INCONCLUSIVE"}})
    ['a']
    """
    return [
        key
        for key in dict.fromkeys(_judging(lines))
        if entries.get(key, {}).get("verdict") == Verdict.INCONCLUSIVE
    ]


def circle(claims: Mapping[str, GivenLines]) -> list[str]:
    """Return ids of claims that are given one another in a circle, or none.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one, other = (SimpleNamespace(given={"(1)": [key]}) for key in "ba")
    >>> circle({"a": one, "b": other}), circle({"a": one})
    (['a', 'b'], [])
    """
    done: set[str] = set()

    def first(key: str, before: list[str]) -> list[str]:
        if key in before:
            return before[before.index(key) :]
        if key in done or key not in claims:
            return []
        below = _judging(claims[key].given)
        found = next(filter(None, (first(one, [*before, key]) for one in below)), [])
        done.add(key)
        return found

    return next(filter(None, (first(key, []) for key in claims)), [])


def told(lines: Lines, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Say what of some lines is refuted or open; empty where nothing is.

    Examples
    --------
    >>> told({"(1)": ["a"]}, {"a": {"verdict": "REFUTED"}})
    'REFUTED among these and what they are from: a'
    >>> told({"(1)": ["a"]}, {"a": {"verdict": "INCONCLUSIVE"}})
    'INCONCLUSIVE among these: a'
    """
    notes = {
        "REFUTED among these and what they are from": refuted(lines, entries),
        "INCONCLUSIVE among these": open_among(lines, entries),
    }
    listed = [f"{what}: {', '.join(keys)}" for what, keys in notes.items() if keys]
    return "; ".join(listed)


def warnings(
    claim: GivenLines, entries: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield what a reader must know of the lines a claim, or its correction, is given.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one = SimpleNamespace(given={}, mended_from={"Lemma 4": ["a"]})
    >>> [*warnings(one, {"a": {"verdict": "REFUTED"}})]
    ['the correction is given Lemma 4; REFUTED among these and what they are from: a']
    """
    mended_from = claim.mended_from or {}
    about = (("the claim", claim.given), ("the correction", mended_from))
    for what, given_it in about:
        if noted := told(given_it, entries):
            yield f"{what} is given {', '.join(given_it)}; {noted}"


def _judging(lines: Lines) -> Iterator[str]:
    for keys in lines.values():
        yield from keys

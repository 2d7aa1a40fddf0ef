"""Evidence in rows that a reader can follow: the counterexample first, in full."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flverify.claims.verdict import Verdict
from flverify.report.numbers import decimal

Rows: TypeAlias = tuple[tuple[str, str], ...]

_INSTANCES = ("counterexample", "witness")
_SIDES = ("left", "relation", "right")
LISTED = 12  # entries of a list of what was checked that a page shows
_RATIONAL = re.compile(r"-?\d{1,4000}/[1-9]\d{0,3999}")


@dataclass(frozen=True)
class Exhibit:
    """The evidence of one finding.

    Parameters
    ----------
    kind : str
        `counterexample`, `witness`, or nothing.
    part : str
        Which part of the claim it is about; may be empty.
    instance : rows
        Names and exact values, in full.
    comparison : rows
        What is compared there, with decimals beside long rationals.
    parts : tuple of (name, verdict, reason)
        All parts of a claim made of several.
    rest : rows
        Everything else.
    """

    kind: str
    part: str
    instance: Rows
    comparison: Rows
    parts: tuple[tuple[str, Verdict, str], ...]
    rest: Rows

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.instance or self.comparison or self.parts or self.rest)


def exhibit(evidence: Mapping[str, Any]) -> Exhibit:
    """Sort the evidence of a finding."""
    kind = next((k for k in _INSTANCES if isinstance(evidence.get(k), Mapping)), "")
    parts = tuple(_parts(evidence.get("parts")))
    used = {kind, "part"} if kind else set[str]()
    if kind:
        used |= set(_SIDES)
    if parts:
        used.add("parts")
    rest = {key: value for key, value in evidence.items() if key not in used}
    return Exhibit(
        kind,
        _text(evidence.get("part", "")) if kind else "",
        tuple(_rows(evidence[kind])) if kind else (),
        tuple(_comparison(kind, evidence)) if kind else (),
        parts,
        tuple(_rows(_few(rest))),
    )


def _few(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the beginning of long lists of what was checked; none is an instance."""
    out: dict[str, Any] = {}
    for key, value in rest.items():
        if isinstance(value, Mapping):
            out[key] = _few(value)
        elif isinstance(value, list | tuple) and len(value) > LISTED:
            more = f"and {len(value) - LISTED} more, which `flverify show` lists"
            out[key] = [*value[:LISTED], more]
        else:
            out[key] = value
    return out


def shortened(text: str, most: int) -> str:
    """Return the beginning of a long text and how long it is.

    Examples
    --------
    >>> shortened("abcdef", 4)
    'abcd... (6 characters)'
    """
    if len(text) <= most:
        return text
    return f"{text[:most]}... ({len(text)} characters)"


def _comparison(kind: str, evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    left, relation, right = (_text(evidence.get(key, "")) for key in _SIDES)
    fails = kind == "counterexample"
    if left and right:
        yield "left side", _with_decimal(left)
        yield "right side", _with_decimal(right)
    if relation:
        shown = f"left {relation} right" if left and right else relation
        yield ("what fails" if fails else "what holds"), shown


def _with_decimal(text: str) -> str:
    """Text of an exact number, with a decimal if that is easier to read.

    Examples
    --------
    >>> _with_decimal("5329/6561"), _with_decimal("3")
    ('5329/6561 (about 0.812224)', '3')
    """
    if not _RATIONAL.fullmatch(text):
        return text
    return f"{text} (about {decimal(Fraction(text), 6)})"


def _parts(listed: object) -> Iterator[tuple[str, Verdict, str]]:
    """Read `VERDICT: reason` of every part."""
    if not isinstance(listed, Mapping):
        return
    for name, text in listed.items():
        word, _, reason = str(text).partition(": ")
        if word not in list(Verdict):
            return
        yield str(name), Verdict(word), reason


def _rows(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield nested evidence as labels and texts."""
    for key, value in content.items():
        if isinstance(value, Mapping) and value:
            for name, text in _rows(value):
                yield f"{key}: {name}", text
        else:
            yield str(key), _text(value)


def _text(value: object) -> str:
    """Text of a value; entries of lists without quotes.

    Examples
    --------
    >>> _text([["1/2", "0"], ["0", "1"]]), _text({"[1]": "1/2"})
    ('[[1/2, 0], [0, 1]]', '{[1]: 1/2}')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)

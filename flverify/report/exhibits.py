"""Evidence in rows that a reader can follow: the counterexample first, in full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flverify.claims.verdict import Finding, Verdict
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
    rest : rows
        Everything else.
    """

    kind: str
    part: str
    instance: Rows
    comparison: Rows
    rest: Rows

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.instance or self.comparison or self.rest)

    def where(self) -> str:
        """Return the instance in one line."""
        return ", ".join(f"{name} = {text}" for name, text in self.instance)


def exhibit(evidence: Mapping[str, Any], *, whole: bool = False) -> Exhibit:
    """Sort the evidence of a finding.

    Parameters
    ----------
    evidence : mapping
    whole : bool
        Whether long lists of what was checked are kept whole.
    """
    kind = next((k for k in _INSTANCES if isinstance(evidence.get(k), Mapping)), "")
    used = {kind, "part"} if kind else set[str]()
    if kind:
        used |= set(_SIDES)
    rest = {key: value for key, value in evidence.items() if key not in used}
    return Exhibit(
        kind,
        _text(evidence.get("part", "")) if kind else "",
        tuple(_rows(evidence[kind])) if kind else (),
        tuple(_comparison(kind, evidence)) if kind else (),
        tuple(_rows(rest if whole else _few(rest))),
    )


def made_of(finding: Finding) -> Mapping[str, Finding]:
    """Return what a finding is made of: its parts, or else its readings."""
    return finding.parts or finding.readings


def leaves(finding: Finding) -> Iterator[tuple[str, Finding]]:
    """Yield the parts that have no parts, with the names that lead to them.

    Examples
    --------
    >>> one, two = (Finding(Verdict.PROVED, scope, "") for scope in "ab")
    >>> inner = Finding(Verdict.PROVED, "", "", parts={"first": one, "more": two})
    >>> whole = Finding(Verdict.PROVED, "", "", parts={"step": inner, "last": one})
    >>> [(name, part.scope) for name, part in leaves(whole)]
    [('step: first', 'a'), ('step: more', 'b'), ('last', 'a')]
    """
    for name, part in made_of(finding).items():
        if made_of(part):
            yield from ((f"{name}: {inner}", leaf) for inner, leaf in leaves(part))
        else:
            yield name, part


def every_step(finding: Finding) -> Rows:
    """List the steps that have no parts, with all that each rests on.

    Parameters
    ----------
    finding : Finding
    """
    return tuple(_listed(leaves(finding), finding.evidence.get("part"), whole=True))


def first_parts(finding: Finding, most: int) -> Rows:
    """List the parts that a claim is made of; of those with steps, how many.

    Parameters
    ----------
    finding : Finding
    most : int
        Characters of a text that are shown.
    """
    failing = finding.evidence.get("part")
    rows = _listed(made_of(finding).items(), failing, whole=False)
    return tuple((name, shortened(text, most)) for name, text in rows)


def _listed(
    parts: Iterable[tuple[str, Finding]], failing: object, *, whole: bool
) -> Iterator[tuple[str, str]]:
    """Yield parts and their evidence; of the one that fails it is told above."""
    for name, part in parts:
        yield name, _told(part)
        if name != failing:
            shown = exhibit(part.evidence, whole=whole)
            if shown.kind:
                yield f"{name}: {shown.kind}", shown.where()
            more = shown.comparison + shown.rest
            yield from ((f"{name}: {key}", text) for key, text in more)


def _told(part: Finding) -> str:
    where = "" if part.verdict == Verdict.REFUTED else f" ({part.scope})"
    steps = len([*leaves(part)])
    told = f"{steps} steps, see `flverify show --all`" if steps else part.reason
    return f"{part.verdict}{where}: {told}"


def alike(readings: Mapping[str, Finding]) -> list[tuple[list[str], Finding]]:
    """Put readings together that were found the same, with the same evidence."""
    out: dict[str, tuple[list[str], Finding]] = {}
    for name, found in readings.items():
        same = repr((found.verdict, found.scope, found.reason, found.evidence))
        out.setdefault(same, ([], found))[0].append(name)
    return list(out.values())


def _few(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the beginning of long lists of what was checked; none is an instance."""
    out: dict[str, Any] = {}
    for key, value in rest.items():
        if isinstance(value, Mapping):
            out[key] = _few(value)
        elif isinstance(value, list | tuple) and len(value) > LISTED:
            more = f"and {len(value) - LISTED} more, which `flverify show --all` lists"
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

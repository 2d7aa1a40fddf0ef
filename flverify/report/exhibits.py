"""Evidence in rows that a reader can follow: the counterexample first, in full."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from flverify._core.sentences import number_of
from flverify.claims.store import as_data
from flverify.claims.verdict import Finding, Verdict
from flverify.report.numbers import decimal

Rows: TypeAlias = tuple[tuple[str, str], ...]
Listed: TypeAlias = Iterator[tuple[str, str]]

_INSTANCES = ("counterexample", "witness")
_SIDES = ("left", "relation", "right")
STEP = "  "  # before the label of a part of a part
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
        Which part of the claim the evidence is about; may be empty.
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

    def about(self, label: str) -> str:
        """Return a label, with the part that the evidence is about."""
        return f"{label} ({self.part})" if self.part else label


def exhibit(evidence: Mapping[str, Any], *, whole: bool = False) -> Exhibit:
    """Sort the evidence of a finding.

    Parameters
    ----------
    evidence : mapping
    whole : bool
        Whether long lists of what was checked are kept whole.
    """
    kind = next((k for k in _INSTANCES if isinstance(evidence.get(k), Mapping)), "")
    used = {"part", kind, *(_SIDES if kind else ())}
    rest = {key: value for key, value in evidence.items() if key not in used}
    return Exhibit(
        kind,
        as_text(evidence.get("part", "")),
        tuple(_rows(evidence[kind])) if kind else (),
        tuple(_comparison(kind, evidence)) if kind else (),
        tuple(_rows(rest if whole else _few(rest))),
    )


def told_once(finding: Finding) -> Finding:
    """Leave to the readings of a finding what they tell, those of its parts too."""
    told = {
        name: replace(part, readings={}, reason="its readings are below")
        for name, part in finding.parts.items()
        if part.readings
        and {f"{name}: {one}" for one in part.readings} <= finding.readings.keys()
    }
    return replace(finding, readings={}, parts={**finding.parts, **told})


def made_of(finding: Finding) -> dict[str, Finding]:
    """Return what a finding is made of: its parts, and its readings."""
    readings = {f"reading {name}": one for name, one in finding.readings.items()}
    return {**finding.parts, **readings}


def steps(finding: Finding) -> int:
    """Count the parts, and theirs, that have no parts.

    Examples
    --------
    >>> one, two = (Finding(Verdict.PROVED, scope, "") for scope in "ab")
    >>> inner = Finding(Verdict.PROVED, "", "", parts={"first": one, "more": two})
    >>> steps(Finding(Verdict.PROVED, "", "", parts={"step": inner, "last": one}))
    3
    """
    return sum(steps(part) or 1 for part in made_of(finding).values())


def failing(finding: Finding) -> str | None:
    """Return the name of the part whose evidence is that of the whole, if any."""
    if finding.passes():
        return None
    parts = finding.parts.items()
    return next((n for n, part in parts if part.verdict == finding.verdict), None)


def arguments(finding: Finding) -> list[str]:
    """List how its parts, or those of its readings, add up; each text once."""
    found = [finding, *finding.readings.values()]
    return [*dict.fromkeys(one.argument for one in found if one.argument.strip())]


def every_step(finding: Finding, *, told: bool = True, depth: int = 0) -> Listed:
    """Yield every part, and those of each below it, with all that they rest on.

    Parameters
    ----------
    finding : Finding
    told : bool
        Whether the evidence of a failing part has been told with the whole.
    depth : int
        How far labels are indented.
    """
    for name, part in made_of(finding).items():
        lead, fails = STEP * (depth + 1), told and name == failing(finding)
        yield STEP * depth + name, _told(part)
        if part.argument.strip():
            yield f"{lead}argument", part.argument
        rows = () if fails else _rests_on(part, whole=True)
        yield from ((lead + key, text) for key, text in rows)
        yield from every_step(part, told=fails, depth=depth + 1)


def first_parts(finding: Finding, most: int) -> Rows:
    """List the parts that a claim is made of; of those with steps, how many.

    Parameters
    ----------
    finding : Finding
    most : int
        Characters of a text that are shown.
    """
    out = []
    for name, part in made_of(finding).items():
        more = ", see `flverify show --all`" if part.passes() and steps(part) else ""
        out.append((name, _told(part) + more))
        if name != failing(finding):
            rows = _rests_on(part, whole=False)
            out += [(f"{name}: {key}", text) for key, text in rows]
    return tuple((name, shortened(text, most)) for name, text in out)


def _rests_on(part: Finding, *, whole: bool) -> Listed:
    shown = exhibit(part.evidence, whole=whole)
    if shown.kind:
        yield shown.kind, shown.where()
    yield from shown.comparison + shown.rest
    if part.correction:
        found = part.correction.finding
        text = f"{part.correction.statement}: {found.verdict} ({found.scope})"
        yield "correction", text


def _told(part: Finding) -> str:
    where = "" if part.verdict == Verdict.REFUTED else f" ({part.scope})"
    many = steps(part) if part.passes() else 0
    return f"{part.verdict}{where}: {number_of(many, 'step') if many else part.reason}"


def alike(readings: Mapping[str, Finding]) -> list[tuple[list[str], Finding]]:
    """Put readings together that were found the same, with the same evidence."""
    out: dict[str, tuple[list[str], Finding]] = {}
    for name, found in readings.items():
        same = json.dumps(as_data(found), sort_keys=True)
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
    left, relation, right = (as_text(evidence.get(key, "")) for key in _SIDES)
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


def in_a_row(content: Mapping[str, Any]) -> str:
    """Return named values in one line.

    Examples
    --------
    >>> in_a_row({"terms": {"sigma^2": Fraction(0)}, "cap": "1/2"})
    'terms = {sigma^2: 0}, cap = 1/2'
    """
    return ", ".join(f"{name} = {as_text(value)}" for name, value in content.items())


def _rows(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield nested evidence as labels and texts."""
    for key, value in content.items():
        if isinstance(value, Mapping) and value:
            for name, text in _rows(value):
                yield f"{key}: {name}", text
        else:
            yield str(key), as_text(value)


def as_text(value: object) -> str:
    """Text of a value; entries of lists without quotes.

    Examples
    --------
    >>> as_text([["1/2", "0"], ["0", "1"]]), as_text({"[1]": "1/2"})
    ('[[1/2, 0], [0, 1]]', '{[1]: 1/2}')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {as_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        texts = [*map(as_text, value)]
        # entries with commas in them are told apart by another sign
        commas = any(", " in one and one[:1] not in "[{" for one in texts)
        return f"[{('; ' if commas else ', ').join(texts)}]"
    return str(value)

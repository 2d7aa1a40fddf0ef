"""The data of a certificate, read strictly: tables of symbols, vectors, sides.

Every list must be a list, every table a table and every number the text of a fraction:
what is read here is what a JSON file says, and nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

Vector: TypeAlias = dict[str, Fraction]
# <u, v> under (u, v) with u <= v, a value under (label, ""), a number under ("", "")
Terms: TypeAlias = dict[tuple[str, str], Fraction]


class DamagedError(ValueError):
    """Something in a certificate is not what its place asks for."""


class Reader:
    """One certificate: its data, the classes of its functions, and its symbols."""

    def __init__(self, certificate: Mapping[str, Any]) -> None:
        # one copy in plain JSON types, so that all parts of the check see the same
        self.data: dict[str, Any] = json.loads(json.dumps(dict(certificate)))
        functions = table(self.data["functions"], "functions")
        self.classes = {name: _constants(entry) for name, entry in functions.items()}
        table(self.data["vectors"], "vectors")
        self.slopes = self._places("vectors", "gradient")
        self.levels = self._places("values", "value")
        grounded: set[str] = set()
        for label in self.data["vectors"]:
            self._require_ground(label, (), grounded)

    def _places(self, name: str, kind: str) -> dict[Any, str]:
        """Label of the gradient, or value, of a function at a point."""
        found: dict[Any, str] = {}
        for label, entry in table(self.data[name], name).items():
            if not label:
                raise DamagedError("a label must be a nonempty text")
            if set(table(entry, label)) == {"name"}:
                key: Any = ("name", text(entry["name"], "a name"))
            elif set(entry) == {kind, "point"} and entry[kind] in self.classes:
                key = place(entry[kind], self.vector(entry["point"]))
            else:
                raise DamagedError(f"{label} is not defined")
            if key in found:
                raise DamagedError(f"{label} is defined twice")
            found[key] = label
        return found

    def _require_ground(
        self, label: str, above: tuple[str, ...], grounded: set[str]
    ) -> None:
        """Check that no gradient is taken at a point that contains itself."""
        if label in above:
            raise DamagedError(f"{label} is defined by itself")
        if label not in grounded:
            for inner in self.data["vectors"][label].get("point", {}):
                self._require_ground(inner, (*above, label), grounded)
            grounded.add(label)

    def vector(self, entry: Any) -> Vector:
        """Read a combination of vector symbols."""
        unknown = set(table(entry, "a vector")) - set(self.data["vectors"])
        if unknown:
            raise DamagedError(f"unknown vectors {sorted(unknown)}")
        return {label: number(value) for label, value in entry.items()}

    def terms(self, entry: Any) -> Terms:
        """Read one side of an inequality."""
        out: Terms = {("", ""): number(table(entry, "a side")["constant"])}
        for pair in rows(entry["pairs"], "pairs"):
            a, b, value = rows(pair, "a pair")
            one = {text(label, "a label") for label in (a, b)}
            if one - set(self.data["vectors"]):
                raise DamagedError(f"unknown vectors in {a}, {b}")
            add(out, {(min(a, b), max(a, b)): number(value)})
        for label, value in table(entry["values"], "values").items():
            if label not in self.data["values"]:
                raise DamagedError(f"unknown value {label}")
            add(out, {(label, ""): number(value)})
        return out

    def hypotheses(self) -> list[dict[str, Any]]:
        """List the hypotheses."""
        listed = rows(self.data["hypotheses"], "hypotheses")
        return [table(entry, "a hypothesis") for entry in listed]

    def assumptions(self) -> list[tuple[Any, bool]]:
        """List the gap of every assumption, and whether it is an equality."""
        given = [h for h in self.hypotheses() if h["kind"] == "given"]
        return [(h["gap"], equality(h)) for h in given]

    def zero(self) -> list[Vector]:
        """Vectors that are assumed to be zero."""
        return [self.vector(entry) for entry in rows(self.data["zero"], "zero")]


def equality(hypothesis: Mapping[str, Any]) -> bool:
    """Whether a hypothesis says that it is an equality; only assumptions must say."""
    assumed = hypothesis["kind"] == "given"
    flag = hypothesis["equality"] if assumed else hypothesis.get("equality", False)
    if not isinstance(flag, bool):
        raise DamagedError(f"equality must be true or false; got {_short(flag)}")
    return flag and assumed


def table(value: Any, what: str) -> dict[str, Any]:
    """Return what must be a table."""
    if not isinstance(value, dict):
        raise DamagedError(f"{what} must be a table; got {_short(value)}")
    return value


def rows(value: Any, what: str) -> list[Any]:
    """Return what must be a list."""
    if not isinstance(value, list):
        raise DamagedError(f"{what} must be a list; got {_short(value)}")
    return value


def text(value: Any, what: str) -> str:
    """Return what must be a text."""
    if not isinstance(value, str):
        raise DamagedError(f"{what} must be a text; got {_short(value)}")
    return value


def number(value: Any) -> Fraction:
    """Read the text of a fraction."""
    if set(text(value, "a number")) - set("0123456789/-"):
        raise DamagedError(f"{_short(value)} is no fraction")
    return Fraction(value)


def nonnegative(value: Any, name: str) -> Fraction:
    """Read a number that must not be negative."""
    found = number(value)
    if found < 0:
        raise DamagedError(f"a negative {name}")
    return found


def _constants(entry: Any) -> tuple[Fraction, Fraction | None]:
    """Constants mu and L of a class."""
    mu = number(table(entry, "a class")["strong_convexity"])
    L = None if entry["smoothness"] is None else number(entry["smoothness"])
    if (L is None and mu < 0) or (L is not None and not -L <= mu < L):
        raise DamagedError("a class must have -L <= mu < L")
    return mu, L


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) < 60 else f"{shown[:60]}..."


def place(f: str, point: Vector) -> Any:
    """Return the key of a function's point, whatever zeros it lists."""
    return (f, frozenset((label, v) for label, v in point.items() if v))


def total(u: Vector, v: Vector, factor: Fraction) -> Vector:
    """Return u + factor v."""
    out = dict(u)
    for label, value in v.items():
        out[label] = out.get(label, Fraction(0)) + factor * value
    return out


def product(u: Vector, v: Vector) -> Terms:
    """Expand <u, v>."""
    out: Terms = {}
    for a, left in u.items():
        for b, right in v.items():
            add(out, {(min(a, b), max(a, b)): left * right})
    return out


def add(into: Terms, terms: Terms, factor: Fraction = Fraction(1)) -> None:
    """Add a multiple of terms to others, in place."""
    for key, value in terms.items():
        into[key] = into.get(key, Fraction(0)) + factor * value

"""The statement of a certificate in words, written from its data alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import Any

from flverify.certify.gram._check_reader import DamagedError, Reader, Vector

MISREAD = ("<", ">", "=", " + ", " - ", ", ", " given ")  # not within a name


def statement(reader: Reader) -> str:
    """Write both sides, every assumption and every vector that is zero.

    Raises
    ------
    DamagedError
        If a name could be taken for a part of a formula, or two symbols for one.
    """
    return _Writer(reader).statement()


class _Writer:
    def __init__(self, reader: Reader) -> None:
        self.reader, self.data = reader, reader.data
        self.known: dict[tuple[str, str], str] = {}  # of symbols, by table and label

    def statement(self) -> str:
        sides = [self._terms(self.data[side]) for side in ("left", "right")]
        held = [
            f"{self._terms(gap)} {'=' if equal else '>='} 0"
            for gap, equal in self.reader.assumptions()
        ]
        held += [f"{self._vector(zero)} = 0" for zero in self.reader.zero()]
        if len({(key[0], text) for key, text in self.known.items()}) < len(self.known):
            raise DamagedError("two symbols have the same name")
        return f"{sides[0]} <= {sides[1]}{' given ' * bool(held)}{', '.join(held)}"

    def _terms(self, entry: Any) -> str:
        terms = self.reader.terms(entry)
        constant = terms.pop(("", ""))
        values = [
            (self._symbol("values", a), v) for (a, b), v in terms.items() if not b
        ]
        pairs = [
            (sorted(self._symbol("vectors", label) for label in pair), v)
            for pair, v in terms.items()
            if pair[1]
        ]
        products = [(f"<{a}, {b}>", v) for (a, b), v in sorted(pairs)]
        return _joined([("", constant), *sorted(values), *products])

    def _vector(self, vector: Vector) -> str:
        terms = ((self._symbol("vectors", a), v) for a, v in vector.items())
        return _joined(sorted(terms))

    def _symbol(self, table: str, label: str) -> str:
        """Write a symbol, no longer than the statement that it is compared with."""
        key = table, label
        if key not in self.known:
            entry = self.data[table][label]
            if "name" in entry:
                text = _named(entry["name"])
            else:
                kind = "gradient" if table == "vectors" else "value"
                word = "grad " if table == "vectors" else ""
                point = self._vector(self.reader.vector(entry["point"]))
                text = f"{word}{_named(entry[kind])}({point})"
            if len(text) > len(self.data["statement"]):
                raise DamagedError("the statement is too short for its symbols")
            self.known[key] = text
        return self.known[key]


def _named(name: Any) -> str:
    """Return a name that cannot be taken for a part of a formula."""
    if not isinstance(name, str) or not name.isprintable() or name != name.strip():
        raise DamagedError(f"{name!r} is no name")
    odd = not name or name[0] in "+-" or any(part in name for part in MISREAD)
    if odd or (name[0].isdigit() and " " in name) or not _closed(name):
        raise DamagedError(f"{name!r} is no name")
    return name


def _closed(name: str) -> bool:
    """Whether every parenthesis that a name opens is closed by it, and no other."""
    depths = list(accumulate((c == "(") - (c == ")") for c in name))
    return min(depths) >= 0 and depths[-1] == 0


def _joined(parts: list[tuple[str, Fraction]]) -> str:
    """Write a sum; a part without a name is a number."""
    out = ""
    for name, value in parts:
        if value:
            size = str(abs(value)) if abs(value) != 1 or not name else ""
            sign = "-" if value < 0 else "+"
            lead = f" {sign} " if out else sign.strip("+")
            out += lead + f"{size} {name}".strip()
    return out or "0"

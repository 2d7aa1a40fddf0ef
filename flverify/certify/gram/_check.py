"""Check a proof from inner products, with the standard library alone.

A certificate states: for all vectors of any Hilbert space, all functions of the listed
classes, and all numbers with the listed assumptions, left <= right. It proves it by

    right - left = sum multiplier * gap + sum <zero vector, shift> + sum weight |v|^2
                   + slack

which is expanded here from the certificate's data and nothing else: the gaps of the
function classes are written down once more, not taken from the prover. So is the
statement in words, with every assumption; the certificate has to print the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

FORMAT, VERSION = "flverify/gram-certificate", 1
MISREAD = ("<", ">", "=", "\n", " + ", " - ", ", ", " given ")  # not within a name

Vector: TypeAlias = dict[str, Fraction]
# <u, v> under (u, v) with u <= v, a value under (label, ""), a number under ("", "")
Terms: TypeAlias = dict[tuple[str, str], Fraction]


def verify(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate proves its statement, and its data say just that.

    The statement names no classes: they are listed under `functions`.

    Examples
    --------
    >>> x = {"x": "1"}
    >>> proof = {"format": FORMAT, "version": VERSION, "functions": {},
    ...     "statement": "0 <= 2 <x, x>",
    ...     "vectors": {"x": {"name": "x"}}, "values": {}, "zero": [], "shifts": [],
    ...     "left": {"pairs": [], "values": {}, "constant": "0"},
    ...     "right": {"pairs": [["x", "x", "2"]], "values": {}, "constant": "0"},
    ...     "hypotheses": [], "multipliers": [], "squares": [["2", x]], "slack": "0"}
    >>> verify(proof), verify({**proof, "squares": [["1", x]]})
    (True, False)
    >>> verify({**proof, "statement": "0 <= <x, x>"})
    False
    """
    return not fault(certificate)


def fault(certificate: Mapping[str, Any]) -> str:
    """Say what is wrong with a certificate; empty if it holds."""
    try:
        return _Reader(certificate).fault()
    except RecursionError:
        return "damaged: its points are nested too deeply"
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        return f"damaged: {type(error).__name__} {error}"


class _Reader:
    """Reads one certificate and expands its identity."""

    def __init__(self, certificate: Mapping[str, Any]) -> None:
        self.data = certificate
        self.classes = {
            name: _constants(entry) for name, entry in certificate["functions"].items()
        }
        self.slopes = self._places("vectors", "gradient")
        self.levels = self._places("values", "value")
        grounded: set[str] = set()
        for label in certificate["vectors"]:
            self._require_ground(label, (), grounded)

    def _places(self, table: str, kind: str) -> dict[Any, str]:
        """Label of the gradient, or value, of a function at a point."""
        found: dict[Any, str] = {}
        for label, entry in self.data[table].items():
            if not label or not isinstance(label, str):
                raise ValueError("a label must be a nonempty text")
            if table == "vectors" and set(entry) == {"name"}:
                key: Any = ("name", str(entry["name"]))
            elif set(entry) == {kind, "point"} and entry[kind] in self.classes:
                key = _key(entry[kind], self.vector(entry["point"]))
            elif table == "values" and set(entry) == {"name"}:
                key = ("name", str(entry["name"]))
            else:
                raise ValueError(f"{label} is not defined")
            if key in found:
                raise ValueError(f"{label} is defined twice")
            found[key] = label
        return found

    def _require_ground(
        self, label: str, above: tuple[str, ...], grounded: set[str]
    ) -> None:
        """Check that no gradient is taken at a point that contains itself."""
        if label in above:
            raise ValueError(f"{label} is defined by itself")
        if label not in grounded:
            for inner in self.data["vectors"][label].get("point", {}):
                self._require_ground(inner, (*above, label), grounded)
            grounded.add(label)

    def vector(self, entry: Mapping[str, Any]) -> Vector:
        """Read a combination of vector symbols."""
        unknown = set(entry) - set(self.data["vectors"])
        if unknown:
            raise ValueError(f"unknown vectors {sorted(unknown)}")
        return {label: _number(value) for label, value in entry.items()}

    def terms(self, entry: Mapping[str, Any]) -> Terms:
        """Read one side of an inequality."""
        out: Terms = {("", ""): _number(entry["constant"])}
        for a, b, value in entry["pairs"]:
            one = {label: Fraction(1) for label in (a, b)}
            if set(one) - set(self.data["vectors"]):
                raise ValueError(f"unknown vectors in {a}, {b}")
            _add(out, {(min(a, b), max(a, b)): _number(value)})
        for label, value in entry["values"].items():
            if label not in self.data["values"]:
                raise ValueError(f"unknown value {label}")
            _add(out, {(label, ""): _number(value)})
        return out

    def fault(self) -> str:
        """Expand both sides of the identity and compare."""
        data = self.data
        if data["format"] != FORMAT or data["version"] != VERSION:
            return "another format or version"
        rest = self.terms(data["right"])
        _add(rest, self.terms(data["left"]), Fraction(-1))
        _add(rest, self._proved(), Fraction(-1))
        wrong = sorted(key for key, value in rest.items() if value)
        if wrong:
            return f"the identity fails in {wrong}"
        shown = _Writer(self).statement()
        return "" if data["statement"] == shown else f"it proves another one: {shown}"

    def _proved(self) -> Terms:
        """Add up what is not negative; refuse a part that may be."""
        data = self.data
        total: Terms = {("", ""): _nonnegative(data["slack"], "slack")}
        for entry, text in zip(data["hypotheses"], data["multipliers"], strict=True):
            free = entry.get("equality", False) is True and entry["kind"] == "given"
            multiplier = _number(text) if free else _nonnegative(text, "multiplier")
            _add(total, self.gap(entry), multiplier)
        for zero, shift in zip(data["zero"], data["shifts"], strict=True):
            _add(total, _product(self.vector(zero), self.vector(shift)))
        for text, entry in data["squares"]:
            form = self.vector(entry)
            _add(total, _product(form, form), _nonnegative(text, "weight"))
        return total

    def gap(self, entry: Mapping[str, Any]) -> Terms:
        """Expand a hypothesis, right side minus left side."""
        if entry["kind"] == "given":
            return self.terms(entry["gap"])
        if entry["kind"] == "jensen":
            return self._jensen(entry)
        f, (x, y) = entry["function"], map(self.vector, entry["points"])
        known: dict[str, Callable[[str, Vector, Vector], Terms]] = {
            "interpolation": self._interpolation,
            "descent": self._descent,
            "tangent": self._tangent,
            "lipschitz": self._lipschitz,
        }
        return known[entry["kind"]](f, x, y)

    def _jensen(self, entry: Mapping[str, Any]) -> Terms:
        weights = [_number(text) for text in entry["weights"]]
        if sum(weights) != 1 or min(weights) < 0:
            raise ValueError("weights are not nonnegative of sum 1")
        vectors = [self.vector(v) for v in entry["vectors"]]
        mean: Vector = {}
        out: Terms = {}
        for weight, v in zip(weights, vectors, strict=True):
            mean = _sum(mean, v, weight)
            _add(out, _product(v, v), weight)
        _add(out, _product(mean, mean), Fraction(-1))
        return out

    def _slope(self, f: str, point: Vector) -> Vector:
        return {self.slopes[_key(f, point)]: Fraction(1)}

    def _rise(self, f: str, x: Vector, y: Vector) -> Terms:
        """f(y) - f(x) - <grad f(x), y - x>."""
        out = _product(self._slope(f, x), _sum(x, y, Fraction(-1)))
        _add(out, {(self.levels[_key(f, y)], ""): Fraction(1)})
        _add(out, {(self.levels[_key(f, x)], ""): Fraction(-1)})
        return out

    def _interpolation(self, f: str, x: Vector, y: Vector) -> Terms:
        mu, L = self.classes[f]
        step = _sum(x, y, Fraction(-1))
        out = self._rise(f, y, x)
        if L is None:
            _add(out, _product(step, step), -mu / 2)
            return out
        slope = _sum(self._slope(f, x), self._slope(f, y), Fraction(-1))
        share = -1 / (2 * (L - mu))
        _add(out, _product(slope, slope), share)
        _add(out, _product(step, step), share * mu * L)
        _add(out, _product(slope, step), -2 * share * mu)
        return out

    def _descent(self, f: str, x: Vector, y: Vector) -> Terms:
        step = _sum(y, x, Fraction(-1))
        out: Terms = {}
        _add(out, self._rise(f, x, y), Fraction(-1))
        _add(out, _product(step, step), self._smoothness(f) / 2)
        return out

    def _tangent(self, f: str, x: Vector, y: Vector) -> Terms:
        step, out = _sum(y, x, Fraction(-1)), self._rise(f, x, y)
        _add(out, _product(step, step), -self.classes[f][0] / 2)
        return out

    def _lipschitz(self, f: str, x: Vector, y: Vector) -> Terms:
        L = self._smoothness(f)  # and mu >= -L, see `_constants`
        step = _sum(x, y, Fraction(-1))
        slope = _sum(self._slope(f, x), self._slope(f, y), Fraction(-1))
        out = _product(slope, slope)
        out = {key: -value for key, value in out.items()}
        _add(out, _product(step, step), L * L)
        return out

    def _smoothness(self, f: str) -> Fraction:
        L = self.classes[f][1]
        if L is None:
            raise ValueError(f"{f} need not be smooth")
        return L


class _Writer:
    """Writes the statement of a certificate from its data."""

    def __init__(self, reader: _Reader) -> None:
        self.reader, self.data = reader, reader.data
        self.known: dict[tuple[str, str], str] = {}  # of symbols, by table and label

    def statement(self) -> str:
        """Write both sides, every assumption and every vector that is zero."""
        sides = [self._terms(self.data[side]) for side in ("left", "right")]
        assumed = [h for h in self.data["hypotheses"] if h["kind"] == "given"]
        held = [self._assumption(h) for h in assumed]
        held += [f"{self._vector(zero)} = 0" for zero in self.data["zero"]]
        if len({(key[0], text) for key, text in self.known.items()}) < len(self.known):
            raise ValueError("two symbols have the same name")
        return f"{sides[0]} <= {sides[1]}{' given ' * bool(held)}{', '.join(held)}"

    def _assumption(self, entry: Mapping[str, Any]) -> str:
        relation = "=" if entry.get("equality", False) is True else ">="
        return f"{self._terms(entry['gap'])} {relation} 0"

    def _terms(self, entry: Mapping[str, Any]) -> str:
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

    def _vector(self, entry: Mapping[str, Any]) -> str:
        terms = self.reader.vector(entry).items()
        return _joined(sorted((self._symbol("vectors", a), v) for a, v in terms))

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
                text = f"{word}{_named(entry[kind])}({self._vector(entry['point'])})"
            if len(text) > len(self.data["statement"]):
                raise ValueError("the statement is too short for its symbols")
            self.known[key] = text
        return self.known[key]


def _named(name: Any) -> str:
    """Return a name that cannot be taken for a part of a formula."""
    odd = not isinstance(name, str) or not name or name[0] in "+-"
    factor = not odd and name[0].isdigit() and " " in name
    if odd or factor or any(part in name for part in MISREAD):
        raise ValueError(f"{name!r} is no name")
    return str(name)


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


def _constants(entry: Mapping[str, Any]) -> tuple[Fraction, Fraction | None]:
    """Constants mu and L of a class."""
    mu = _number(entry["strong_convexity"])
    L = None if entry["smoothness"] is None else _number(entry["smoothness"])
    if (L is None and mu < 0) or (L is not None and not -L <= mu < L):
        raise ValueError("a class must have -L <= mu < L")
    return mu, L


def _number(text: Any) -> Fraction:
    if not isinstance(text, str):
        raise TypeError("a number must be a text")
    if set(text) - set("0123456789/-"):
        raise ValueError(f"{text!r} is no fraction")
    return Fraction(text)


def _nonnegative(text: Any, name: str) -> Fraction:
    number = _number(text)
    if number < 0:
        raise ValueError(f"a negative {name}")
    return number


def _key(f: str, point: Vector) -> Any:
    return (f, frozenset((label, v) for label, v in point.items() if v))


def _sum(u: Vector, v: Vector, factor: Fraction) -> Vector:
    """Return u + factor v."""
    out = dict(u)
    for label, value in v.items():
        out[label] = out.get(label, Fraction(0)) + factor * value
    return out


def _product(u: Vector, v: Vector) -> Terms:
    out: Terms = {}
    for a, left in u.items():
        for b, right in v.items():
            _add(out, {(min(a, b), max(a, b)): left * right})
    return out


def _add(into: Terms, terms: Terms, factor: Fraction = Fraction(1)) -> None:
    for key, value in terms.items():
        into[key] = into.get(key, Fraction(0)) + factor * value

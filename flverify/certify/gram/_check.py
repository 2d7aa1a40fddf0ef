"""Check a proof from inner products, with the standard library alone.

A certificate states: for all vectors of any Hilbert space, all functions of the listed
classes, and all numbers with the listed assumptions, left <= right. It proves it by

    right - left = sum multiplier * gap + sum <zero vector, shift> + sum weight |v|^2
                   + slack

which is expanded here from the certificate's data and nothing else: the gaps of the
function classes are written down once more, not taken from the prover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

FORMAT, VERSION = "flverify/gram-certificate", 1

Vector: TypeAlias = dict[str, Fraction]
# <u, v> under (u, v) with u <= v, a value under (label, ""), a number under ("", "")
Terms: TypeAlias = dict[tuple[str, str], Fraction]


def verify(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate proves its statement.

    Examples
    --------
    >>> x = {"x": "1"}
    >>> proof = {"format": FORMAT, "version": VERSION, "functions": {},
    ...     "vectors": {"x": {"name": "x"}}, "values": {}, "zero": [], "shifts": [],
    ...     "left": {"pairs": [], "values": {}, "constant": "0"},
    ...     "right": {"pairs": [["x", "x", "2"]], "values": {}, "constant": "0"},
    ...     "hypotheses": [], "multipliers": [], "squares": [["2", x]], "slack": "0"}
    >>> verify(proof), verify({**proof, "squares": [["1", x]]})
    (True, False)
    """
    return not fault(certificate)


def fault(certificate: Mapping[str, Any]) -> str:
    """Say what is wrong with a certificate; empty if it holds."""
    try:
        return _Reader(certificate).fault()
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
        for label in certificate["vectors"]:
            self._require_ground(label, ())

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

    def _require_ground(self, label: str, above: tuple[str, ...]) -> None:
        """Check that no gradient is taken at a point that contains itself."""
        if label in above:
            raise ValueError(f"{label} is defined by itself")
        for inner in self.data["vectors"][label].get("point", {}):
            self._require_ground(inner, (*above, label))

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
        total: Terms = {("", ""): _number(data["slack"])}
        if total["", ""] < 0:
            return "negative slack"
        for entry, text in zip(data["hypotheses"], data["multipliers"], strict=True):
            multiplier, free = _number(text), entry.get("equality", False) is True
            if multiplier < 0 and not (free and entry["kind"] == "given"):
                return "a negative multiplier"
            _add(total, self.gap(entry), multiplier)
        for zero, shift in zip(data["zero"], data["shifts"], strict=True):
            _add(total, _product(self.vector(zero), self.vector(shift)))
        for text, entry in data["squares"]:
            weight, form = _number(text), self.vector(entry)
            if weight < 0:
                return "a negative weight"
            _add(total, _product(form, form), weight)
        wanted = self.terms(data["right"])
        _add(wanted, self.terms(data["left"]), Fraction(-1))
        _add(wanted, total, Fraction(-1))
        rest = {key: value for key, value in wanted.items() if value}
        return f"the identity fails in {sorted(rest)}" if rest else ""

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
    return Fraction(text)


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

"""Proofs on formal vectors: the exact identity, in words and as data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import entries, matrix, to_fraction
from flverify.certify._definite import squares
from flverify.certify._vectors import (
    ZERO,
    Expression,
    Inequality,
    Symbol,
    Vector,
    inner,
    joined,
    square,
    vector,
)
from flverify.certify.gram import _check
from flverify.certify.gram._evidence import Evidence
from flverify.certify.gram._functions import Function, Hypothesis, Level, Slope
from flverify.certify.gram._task import GramTask, row_of


@dataclass(frozen=True)
class Certificate:
    """An exact proof: the identity that `verify` expands.

    right - left = sum multiplier * hypothesis + sum <zero vector, shift>
    + sum weight |form|^2 + slack, for a slack that is not negative.

    Parameters
    ----------
    statement : str
        The lemma, expanded.
    multipliers : tuple of (Hypothesis, Fraction)
        Those that are not zero, and all of the assumptions.
    shifts : tuple of (Vector, Vector)
        Each vector assumed to be zero, with what it is multiplied by.
    squares : tuple of (weight > 0, Vector)
    slack : Fraction
    model : Evidence or None
        That the assumptions can hold together; None if they do where all is zero.

    Examples
    --------
    >>> from flverify.certify.gram import prove
    >>> a, b = vector("a"), vector("b")
    >>> print(prove(2 * inner(a, b) <= square(a) + square(b)))
    right - left = |a - b|^2
    """

    statement: str
    inequality: Inequality
    multipliers: tuple[tuple[Hypothesis, Fraction], ...]
    shifts: tuple[tuple[Vector, Vector], ...]
    squares: tuple[tuple[Fraction, Vector], ...]
    slack: Fraction
    model: Evidence | None = None

    def __str__(self) -> str:
        """Write the identity out."""
        parts = [(value, f"[{h}]") for h, value in self.multipliers if value]
        parts += [(Fraction(1), f"<{z}, {s}>") for z, s in self.shifts if s.terms]
        parts += [(weight, f"|{form}|^2") for weight, form in self.squares]
        parts += [(self.slack, "")] if self.slack else []
        return f"right - left = {joined(parts)}"

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON data, which `verify` reads."""
        return _Writer(self).data()


def assembled(
    statement: str, task: GramTask, scaled: Array, model: Evidence | None = None
) -> Certificate:
    """Build the certificate from the multipliers of the scaled task."""
    y = scaled * task.sizes[0] / task.sizes[1:]
    rest = task.target.copy()
    for value, form in zip(y, task.forms, strict=True):
        rest = rest - value * form
    free = [vector(task.vectors[k]) for k in task.free]
    terms, _ = squares(rest[:-1, :-1])
    split = tuple((to_fraction(w), _combined(column, free)) for w, column in terms)
    pairs = zip(task.facts, y, strict=True)
    used = tuple(
        (fact, to_fraction(value))
        for fact, value in pairs
        if value != 0 or fact.assumed  # the statement names every assumption
    )
    slack = to_fraction(rest[-1, -1])
    left = task.inequality.gap - slack
    for fact, multiplier in used:
        left = left - multiplier * fact.gap
    for weight, form in split:
        left = left - weight * square(form)
    shifts = tuple(zip(task.where, _shifts(left, task.where), strict=True))
    return Certificate(statement, task.inequality, used, shifts, split, slack, model)


def _shifts(left: Expression, where: tuple[Vector, ...]) -> list[Vector]:
    """Write an expression that vanishes with `where` as sum of <where_k, shift_k>."""
    if not where:
        return []
    names = list(dict.fromkeys(s for v in where for s, _ in v.terms))
    count = len(where)
    augmented = np.full((count, len(names) + count), flint.fmpq(0), dtype=object)
    for k, v in enumerate(where):
        augmented[k, : len(names)] = row_of(v, names)
        augmented[k, len(names) + k] = flint.fmpq(1)
    rows = entries(matrix(augmented).rref()[0])
    shifts = [ZERO] * count
    for row in rows:
        lead = next((k for k in range(len(names)) if row[k] != 0), None)
        if lead is None:
            continue
        # names[lead] is the zero vector `zero` plus symbols that no other row leads
        zero = _combined(row[: len(names)], [vector(s) for s in names])
        left, share = _split_off(left, names[lead], zero)
        for k in range(count):
            shifts[k] = shifts[k] + to_fraction(row[len(names) + k]) * share
    return shifts


def _split_off(
    left: Expression, lead: Symbol, zero: Vector
) -> tuple[Expression, Vector]:
    """Return (rest, u), left = rest + <zero, u>, with lead - zero for lead in rest."""
    partners = ZERO  # left = <lead, partners> + what does not contain lead
    own = Fraction(0)
    for (a, b), factor in left.pairs:
        if a == b == lead:
            own += factor
        elif lead in (a, b):
            partners = partners + factor * vector(b if a == lead else a)
    old, new = vector(lead), vector(lead) - zero
    share = own * (old + new) + partners
    rest = left - inner(zero, share)
    return rest, share


def _combined(column: Array, vectors: list[Vector]) -> Vector:
    terms = [to_fraction(v) * u for v, u in zip(column, vectors, strict=True) if v != 0]
    return sum(terms, start=ZERO)


class _Writer:
    """Labels for the symbols of a certificate, and its parts as texts."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        self.labels: dict[Symbol, str] = {}
        self.scalars: dict[Symbol, str] = {}
        self.vectors: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.functions: dict[str, Any] = {}

    def data(self) -> dict[str, Any]:
        """Return the whole certificate."""
        stated = self.certificate
        body = {
            "left": self.expression(stated.inequality.left),
            "right": self.expression(stated.inequality.right),
            "hypotheses": [self.hypothesis(h) for h, _ in stated.multipliers],
            "multipliers": [str(value) for _, value in stated.multipliers],
            "zero": [self.vector(zero) for zero, _ in stated.shifts],
            "shifts": [self.vector(shift) for _, shift in stated.shifts],
            "squares": [[str(w), self.vector(form)] for w, form in stated.squares],
            "slack": str(stated.slack),
            "model": None if stated.model is None else self.model(stated.model),
        }
        return {
            "format": _check.FORMAT,
            "version": _check.VERSION,
            "statement": stated.statement,
            "functions": self.functions,
            "vectors": self.vectors,
            "values": self.values,
            **body,
        }

    def label(self, symbol: Symbol) -> str:
        """Return the label of a symbol, defining it on first use."""
        if symbol not in self.labels:
            at_value = isinstance(symbol, Level)
            entry: dict[str, Any] = {"name": str(symbol)}
            if isinstance(symbol, Slope | Level):
                kind = "value" if at_value else "gradient"
                name = self.function(symbol.function)
                entry = {kind: name, "point": self.vector(symbol.point)}
            self.labels[symbol] = f"v{len(self.labels)}"
            self.vectors[self.labels[symbol]] = entry
        return self.labels[symbol]

    def function(self, f: Function) -> str:
        """Return the name of a function, noting its class."""
        L = None if f.smoothness is None else str(f.smoothness)
        mu = str(f.strong_convexity)
        self.functions[f.name] = {"smoothness": L, "strong_convexity": mu}
        return f.name

    def vector(self, v: Vector) -> dict[str, str]:
        """Return a vector by labels."""
        return {self.label(symbol): str(value) for symbol, value in v.terms}

    def expression(self, e: Expression) -> dict[str, Any]:
        """Return an expression by labels."""
        return {
            "pairs": [[self.label(a), self.label(b), str(v)] for (a, b), v in e.pairs],
            "values": {self.scalar(s): str(v) for s, v in e.scalars},
            "constant": str(e.constant),
        }

    def scalar(self, symbol: Symbol) -> str:
        """Return the label of a scalar symbol, defining it on first use."""
        if symbol not in self.scalars:
            entry: dict[str, Any] = {"name": str(symbol)}
            if isinstance(symbol, Level):
                name = self.function(symbol.function)
                entry = {"value": name, "point": self.vector(symbol.point)}
            self.scalars[symbol] = f"s{len(self.scalars)}"
            self.values[self.scalars[symbol]] = entry
        return self.scalars[symbol]

    def model(self, model: Evidence) -> dict[str, Any]:
        """Return a model by labels."""
        return {
            "weights": [str(w) for w in model.weights],
            "vectors": {
                self.label(s): [str(v) for v in point]
                for s, point in model.vectors.items()
            },
            "values": {self.scalar(s): str(v) for s, v in model.values.items()},
        }

    def hypothesis(self, h: Hypothesis) -> dict[str, Any]:
        """Return how a hypothesis was made, so that it can be expanded again."""
        if h.kind == "given":
            gap = self.expression(h.gap)
            return {"kind": h.kind, "gap": gap, "equality": h.equality}
        if h.kind == "jensen":
            vectors, weights = h.arguments
            return {
                "kind": h.kind,
                "vectors": [self.vector(v) for v in vectors],
                "weights": [str(w) for w in weights],
            }
        f, x, y = h.arguments
        for point in (x, y):  # the checker looks both up
            self.label(Slope(f, point))
            self.scalar(Level(f, point))
        return {
            "kind": h.kind,
            "function": self.function(f),
            "points": [self.vector(x), self.vector(y)],
        }

"""Formulas over rational expressions, and what was read from a question."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import sympy
from sympy.logic import boolalg

from flverify.certify._scalar.quotients import Quotients, Sign, monomials

Comparison: TypeAlias = Literal[">", ">=", "==", "!="]
Kind: TypeAlias = Literal["all", "any"]


@dataclass(frozen=True)
class Atom:
    """A comparison of a rational expression with 0."""

    expression: sympy.Expr
    comparison: Comparison


@dataclass(frozen=True)
class Junction:
    """All or any of several formulas; without parts it is true, or false."""

    kind: Kind
    parts: tuple[Formula, ...]


Formula: TypeAlias = Atom | Junction


@dataclass(frozen=True)
class Fact:
    """A formula, the conditions it needs to mean something, and its text."""

    formula: Formula
    needs: frozenset[int]
    text: str


@dataclass(frozen=True)
class Reading:
    """Everything read from hypotheses and a conclusion.

    Parameters
    ----------
    symbols : tuple of sympy.Symbol
        Those of the relations, sorted by name.
    auxiliaries : tuple of sympy.Symbol
        Roots, minima and maxima.
    assumed, hypotheses, definitions, conditions : tuple of Fact
        From the symbols, from the caller, of the auxiliaries, and of definedness.
    conclusion : Fact
    relations : tuple
        The hypotheses as given, for the re-check of a counterexample.
    concluded : object
        The conclusion as given.
    quotients : Quotients
    """

    symbols: tuple[sympy.Symbol, ...]
    auxiliaries: tuple[sympy.Symbol, ...]
    assumed: tuple[Fact, ...]
    hypotheses: tuple[Fact, ...]
    definitions: tuple[Fact, ...]
    conditions: tuple[Fact, ...]
    conclusion: Fact
    relations: tuple[Any, ...]
    concluded: Any
    quotients: Quotients

    def facts(self) -> tuple[Fact, ...]:
        """Everything that may be used."""
        return (*self.assumed, *self.hypotheses, *self.definitions)

    @cached_property
    def signs(self) -> dict[sympy.Symbol, Sign]:
        """Signs of symbols that a fact without conditions states."""
        plain = (fact.formula for fact in self.facts() if not fact.needs)
        return stated_signs(plain, self.quotients)


def settled(relation: Any) -> bool:
    """Whether sympy settled a relation, or a part of it, as it was written.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> settled(sympy.Not(x <= x, evaluate=False)), settled(sympy.Not(x <= 1))
    (True, False)
    """
    return bool(relation.atoms(boolalg.BooleanAtom))


def stated_signs(
    formulas: Iterable[Formula], quotients: Quotients
) -> dict[sympy.Symbol, Sign]:
    """Signs of symbols that a single formula states, such as tau >= 1."""
    known: dict[sympy.Symbol, Sign] = {}
    for formula in formulas:
        found = _stated_sign(formula, quotients)
        if found and known.get(found[0]) != ">":
            known[found[0]] = found[1]
    return known


def stated_powers(
    formulas: Iterable[Formula], quotients: Quotients
) -> dict[sympy.Symbol, tuple[int, Fraction]]:
    """Powers of symbols that are numbers, such as s^2 = 2.

    Examples
    --------
    >>> s = sympy.Symbol("s")
    >>> stated_powers([Atom(s**2 - 2, "==")], Quotients([s]))
    {s: (2, Fraction(2, 1))}
    """
    found: dict[sympy.Symbol, tuple[int, Fraction]] = {}
    for formula in formulas:
        if isinstance(formula, Atom) and formula.comparison == "==":
            listed = monomials(quotients.of(formula.expression).numer)
            if len(listed) == 2 and len(listed[0][1]) == 1 and not listed[1][1]:
                (slope, powers), (offset, _) = listed
                symbol, power = next(iter(powers.items()))
                found[symbol] = (power, -offset / slope)
    return found


def _stated_sign(
    formula: Formula, quotients: Quotients
) -> tuple[sympy.Symbol, Sign] | None:
    """Read x > 0, x >= 0 or x >= c with c > 0, whatever the scale."""
    if isinstance(formula, Junction) or formula.comparison not in (">", ">="):
        return None
    quotient = quotients.of(formula.expression)
    if not quotient.denom.is_ground:
        return None
    listed = monomials(quotient.numer * quotient.denom)
    if not 1 <= len(listed) <= 2:
        return None
    (slope, powers), offset = listed[0], sum(c for c, p in listed[1:] if not p)
    if slope < 0 or list(powers.values()) != [1] or any(p for _, p in listed[1:]):
        return None
    if offset > 0:
        return None
    strict = formula.comparison == ">" or offset < 0
    return next(iter(powers)), ">" if strict else ">="


def negation(formula: Formula) -> Formula:
    """Return the formula that holds where this one does not.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> negation(Atom(x, ">"))
    Atom(expression=-x, comparison='>=')
    """
    if isinstance(formula, Junction):
        kind: Kind = "any" if formula.kind == "all" else "all"
        return Junction(kind, tuple(negation(part) for part in formula.parts))
    e, comparison = formula.expression, formula.comparison
    if comparison in (">", ">="):
        return Atom(-e, ">=" if comparison == ">" else ">")
    return Atom(e, "!=" if comparison == "==" else "==")


def degree(formula: Formula, quotients: Quotients) -> int:
    """Return the largest total degree of a monomial above or below a fraction bar.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> degree(Atom(x**2 * y - 1 / y, ">"), Quotients([x, y]))
    4
    """
    if isinstance(formula, Junction):
        return max((degree(part, quotients) for part in formula.parts), default=0)
    quotient = quotients.of(formula.expression)
    parts = quotient.numer, quotient.denom
    return max(
        (sum(powers) for part in parts for powers in part.itermonoms()), default=0
    )


def interior(formula: Formula) -> Formula:
    """Return the formula with every inequality made strict; equations stay.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> interior(Atom(x, ">=")).comparison
    '>'
    """
    if isinstance(formula, Junction):
        return Junction(formula.kind, tuple(interior(p) for p in formula.parts))
    return Atom(formula.expression, ">") if formula.comparison == ">=" else formula

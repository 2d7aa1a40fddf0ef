"""Substitutions, and what is known before and after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import sympy

from flverify.certify._scalar.formulas import Comparison
from flverify.certify._scalar.quotients import Quotient, Quotients, Sign


@dataclass(frozen=True)
class Known:
    """A comparison of a quotient with 0 that holds at every point in question.

    Parameters
    ----------
    quotient : Quotient
    comparison : {">", ">=", "==", "!="}
    text : str
    place : int
        Among the facts of the question and, from there on, among what steps imply.
    """

    quotient: Quotient
    comparison: Comparison
    text: str
    place: int

    def rest(self) -> tuple[Comparison, str, int]:
        """Everything but the quotient."""
        return self.comparison, self.text, self.place


@dataclass(frozen=True)
class Substitution:
    """One symbol written through others.

    Parameters
    ----------
    symbol : sympy.Symbol
        The one that goes.
    value : sympy.Expr
        What it is replaced by.
    slack : sympy.Symbol or None
        The new symbol; none if an equation is used.
    slack_value : sympy.Expr
        The new symbol through the old ones; for an equation symbol less value, 0.
    slack_sign : {">", ">="} or None
    known : int
        Place of the comparison that gives it its sign, or of the equation.
    factor : sympy.Expr
        Of a sign that shows; it times the known quotient is the slack value.
    implied : sympy.Expr
        Positive, or nonnegative, if the symbol that goes is.
    because : str
        Text of the known comparison.
    """

    symbol: sympy.Symbol
    value: sympy.Expr
    slack: sympy.Symbol | None
    slack_value: sympy.Expr
    slack_sign: Sign | None
    known: int
    factor: sympy.Expr
    implied: sympy.Expr
    because: str


@dataclass(frozen=True)
class Move:
    """A substitution while it is only considered: its parts as quotients.

    Parameters are those of a substitution.
    """

    symbol: sympy.Symbol
    value: Quotient
    slack: sympy.Symbol | None
    slack_value: Quotient
    slack_sign: Sign | None
    known: int
    factor: Quotient
    implied: Quotient
    because: str

    def written(self) -> Substitution:
        """Write the quotients out, for a re-check that knows expressions alone."""
        names = "value", "slack_value", "factor", "implied"
        expressions = {name: getattr(self, name).as_expr() for name in names}
        return Substitution(**(vars(self) | expressions))


@dataclass(frozen=True)
class State:
    """What is known, and what is to be shown, in the symbols of the moment.

    Parameters
    ----------
    quotients : Quotients
    goal : Quotient
    known : tuple of Known
        What the signs do not tell.
    signs : mapping
    slacks : tuple of sympy.Symbol
        New symbols not used so far.
    facts : int
        How many facts the question has.
    powers : mapping
        Powers of symbols that are numbers.
    steps : tuple of Move
    """

    quotients: Quotients
    goal: Quotient
    known: tuple[Known, ...]
    signs: Mapping[sympy.Symbol, Sign]
    slacks: tuple[sympy.Symbol, ...]
    facts: int
    powers: Mapping[sympy.Symbol, tuple[int, Fraction]]
    steps: tuple[Move, ...] = ()

"""Walking relations: auxiliaries for roots and extremes, conditions to be defined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import sympy
from sympy.core import relational
from sympy.logic import boolalg

from flverify._core.errors import RefusedError
from flverify.certify._scalar.formulas import (
    Atom,
    Comparison,
    Fact,
    Formula,
    Junction,
    Kind,
    negation,
)
from flverify.certify._scalar.rooted import Root
from flverify.certify._scalar.sizes import shown

LARGEST_POWER = 32  # beyond it a polynomial is too large to expand
MOST_AUXILIARIES = 6  # roots, minima and maxima: each is one more unknown for z3
MOST_CONDITIONS = 12  # each is a question of its own

Lifted = tuple[sympy.Expr, frozenset[int]]
COMPARISONS: dict[type, Comparison] = {
    relational.StrictLessThan: ">",
    relational.StrictGreaterThan: ">",
    relational.LessThan: ">=",
    relational.GreaterThan: ">=",
    relational.Equality: "==",
    relational.Unequality: "!=",
}


class Walker:
    """Collects auxiliaries and conditions while it walks the trees.

    Parameters
    ----------
    taken : iterable of str
        Names of the symbols of the question.
    roots : mapping
        Symbols that are written as powers of their roots.
    """

    def __init__(
        self, taken: Iterable[str], roots: Mapping[sympy.Symbol, Root] | None = None
    ) -> None:
        avoided = set(taken)
        names = (f"s{k}" for k in count(1))
        self._names = (name for name in names if name not in avoided)
        self.auxiliaries: dict[tuple[Any, ...], sympy.Symbol] = {}
        self.definitions: list[Fact] = []
        self.conditions: list[Fact] = []
        self._powers = {
            symbol: (self._rooted(symbol, root), root.degree)
            for symbol, root in (roots or {}).items()
        }

    def _rooted(self, symbol: sympy.Symbol, root: Root) -> sympy.Symbol:
        """Define the root of a symbol that is not negative by what is known of it."""
        degree = root.degree
        put = self._auxiliary(("root", degree, symbol))
        counts = symbol.is_integer and symbol.is_positive
        least = [Atom(put - 1, ">=")] if counts else []
        defining = (Atom(put, root.sign), *least, Atom(symbol - put**degree, "=="))
        self._define(defining, frozenset(), f"{put} = ({symbol})**(1/{degree})")
        return put

    def fact(self, relation: Any) -> Fact:
        """Read one relation."""
        formula, needs = self._formula(relation)
        return Fact(formula, needs, str(relation))

    def _formula(self, relation: Any) -> tuple[Formula, frozenset[int]]:
        if isinstance(relation, boolalg.BooleanTrue | boolalg.BooleanFalse):
            return Junction("all" if relation else "any", ()), frozenset()
        if isinstance(relation, boolalg.And | boolalg.Or):
            kind: Kind = "all" if isinstance(relation, boolalg.And) else "any"
            return self._junction(kind, relation.args)
        if isinstance(relation, boolalg.Not):
            formula, needs = self._formula(relation.args[0])
            return negation(formula), needs
        if type(relation) not in COMPARISONS:
            raise RefusedError(
                f"only comparisons joined by And, Or, Not can be judged; "
                f"{shown(relation)} is {type(relation).__name__}; rewrite it."
            )
        return self._comparison(relation)

    def _junction(
        self, kind: Kind, relations: Sequence[Any]
    ) -> tuple[Formula, frozenset[int]]:
        read_parts = [self._formula(part) for part in relations]
        needs = frozenset[int]().union(*(needed for _, needed in read_parts))
        return Junction(kind, tuple(part for part, _ in read_parts)), needs

    def _comparison(self, relation: Any) -> tuple[Formula, frozenset[int]]:
        comparison = COMPARISONS[type(relation)]
        if comparison in ("==", "!="):
            small, large = relation.args
        else:
            small, large = relation.lts, relation.gts
            compare = relational.Lt if comparison == ">" else relational.Le
            # x <= min(a, b) is x <= a and x <= b: no auxiliary, lower degrees
            for one, split in ((large, sympy.Min), (small, sympy.Max)):
                if isinstance(one, split):
                    return self._split("all", compare, small, large, one)
            for one, split in ((large, sympy.Max), (small, sympy.Min)):
                if isinstance(one, split):
                    return self._split("any", compare, small, large, one)
        (left, first), (right, second) = self.lift(small), self.lift(large)
        return Atom(right - left, comparison), first | second

    def _split(
        self, kind: Kind, compare: Any, small: Any, large: Any, extreme: Any
    ) -> tuple[Formula, frozenset[int]]:
        pairs = [
            (small, part) if extreme is large else (part, large)
            for part in extreme.args
        ]
        # unevaluated: sympy may settle a comparison and lose where it is defined
        parts = [compare(a, b, evaluate=False) for a, b in pairs]
        return self._junction(kind, parts)

    def lift(self, e: Any) -> Lifted:
        """Replace roots, minima and maxima; collect what must be defined."""
        if e.is_Rational:
            return e, frozenset()
        if e.is_Symbol:
            root, degree = self._powers.get(e, (e, 1))
            return root**degree, frozenset()
        if e.is_Add or e.is_Mul:
            parts = [self.lift(arg) for arg in e.args]
            needs = frozenset[int]().union(*(needed for _, needed in parts))
            return e.func(*(part for part, _ in parts)), needs
        if e.is_Pow:
            return self._power(e)
        if isinstance(e, sympy.Max | sympy.Min):
            return self._extreme("max" if isinstance(e, sympy.Max) else "min", e.args)
        if isinstance(e, sympy.Abs):
            return self._extreme("max", (e.args[0], -e.args[0]))
        raise RefusedError(_why_not(e))

    def _power(self, e: Any) -> Lifted:
        root, degree = self._powers.get(e.base, (None, 1))
        exponent = e.exp * degree
        if not exponent.is_Rational or max(abs(exponent.p), exponent.q) > LARGEST_POWER:
            raise RefusedError(_why_not(e))
        base, needs = self.lift(e.base) if root is None else (root, frozenset[int]())
        if exponent.q > 1:
            base, needs = self._root(e.base, base, needs, int(exponent.q))
        if exponent < 0 and base == 0:
            raise RefusedError(
                f"a denominator must not be zero throughout; {shown(e.base)} is; "
                "correct the expression."
            )
        if exponent < 0 and not e.base.is_Rational:
            needs |= {self._condition(Atom(base, "!="), needs, f"{e.base} != 0")}
        return base ** int(exponent.p), needs

    def _root(
        self, given: Any, base: sympy.Expr, needs: frozenset[int], degree: int
    ) -> Lifted:
        if base.is_negative and base.is_Rational:
            raise RefusedError(_why_not(given ** sympy.Rational(1, degree)))
        if base == 0:
            return base, needs
        if not base.is_Rational:
            nonnegative = Atom(base, ">=")
            needs |= {self._condition(nonnegative, needs, f"{given} >= 0")}
        key = ("root", degree, base)
        if key not in self.auxiliaries:
            root = self._auxiliary(key)
            sign: Comparison = ">" if base.is_Rational else ">="
            defining = (Atom(root, sign), Atom(root**degree - base, "=="))
            self._define(defining, needs, f"{root} = ({given})**(1/{degree})")
        return self.auxiliaries[key], needs

    def _extreme(self, which: str, args: Sequence[Any]) -> Lifted:
        parts = [self.lift(arg) for arg in args]
        needs = frozenset[int]().union(*(needed for _, needed in parts))
        key = (which, *(part for part, _ in parts))
        if key not in self.auxiliaries:
            chosen = self._auxiliary(key)
            side = 1 if which == "max" else -1
            bounds = [Atom(side * (chosen - part), ">=") for part, _ in parts]
            equal = tuple(Atom(chosen - part, "==") for part, _ in parts)
            text = f"{chosen} = {which}({', '.join(map(str, args))})"
            self._define((*bounds, Junction("any", equal)), needs, text)
        return self.auxiliaries[key], needs

    def _auxiliary(self, key: tuple[Any, ...]) -> sympy.Symbol:
        _at_most(MOST_AUXILIARIES, len(self.auxiliaries), "roots, minima and maxima")
        self.auxiliaries[key] = sympy.Symbol(next(self._names), real=True)
        return self.auxiliaries[key]

    def _define(
        self, parts: tuple[Formula, ...], needs: frozenset[int], text: str
    ) -> None:
        self.definitions += [Fact(part, needs, text) for part in parts]

    def _condition(self, formula: Atom, needs: frozenset[int], text: str) -> int:
        fact = Fact(formula, needs, text)
        if fact not in self.conditions:
            what = "denominators and roots that need not be defined"
            _at_most(MOST_CONDITIONS, len(self.conditions), what)
            self.conditions.append(fact)
        return self.conditions.index(fact)


def _at_most(limit: int, before: int, what: str) -> None:
    if before >= limit:
        raise RefusedError(
            f"a question may have at most {limit} {what}; this one has more; put a "
            "new symbol for some of them."
        )


def _why_not(e: Any) -> str:
    advice = "bound it by one of these first"
    if e.is_Pow and e.exp.is_Rational:
        what = f"the power {shown(e)} is too high, or has no real value"
    elif e.is_Pow:
        what = f"the power {shown(e)} has an exponent that is not a fixed fraction"
    elif e.is_Float:
        what = f"the float {shown(e)} is not exact"
        advice = "write a fraction, such as sympy.Rational(1, 3)"
    elif e.is_number:
        what = f"{shown(e)} is not a rational number or a root of one"
    else:
        what = f"{e.func.__name__} is no quotient of polynomials"
    return (
        "only fractions, fixed powers and roots, Min, Max and Abs can be judged; "
        f"{what}; {advice}."
    )

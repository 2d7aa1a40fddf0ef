"""Reading relations: what is compared, and where it is defined.

Roots, minima and maxima become auxiliary symbols with the facts that define them, so
that only quotients of polynomials remain. Each denominator and each argument of a
root gives a condition; what uses it is meaningful only where the condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy
from sympy.logic import boolalg

from flverify._core.errors import InputError, RefusedError
from flverify.certify._scalar.formulas import (
    Atom,
    Comparison,
    Fact,
    Reading,
    stated_signs,
)
from flverify.certify._scalar.lifting import Walker
from flverify.certify._scalar.quotients import Quotients
from flverify.certify._scalar.rooted import Root, has_root, roots_for
from flverify.certify._scalar.sizes import require_small, shown


def read(
    hypotheses: Iterable[Any],
    conclusion: Any,
    roots: Mapping[sympy.Symbol, Root] | None = None,
) -> Reading:
    """Read hypotheses and a conclusion.

    Parameters
    ----------
    hypotheses : iterable of sympy relations
    conclusion : sympy relation
    roots : mapping
        Symbols that are written as powers of their roots, from `roots_of`.

    Raises
    ------
    InputError
        If something is not a relation, or two symbols share a name.
    RefusedError
        If a relation is outside what polynomials and roots can say, or too large.

    Examples
    --------
    >>> eta, L = sympy.symbols("eta L", positive=True)
    >>> reading = read([eta <= 1 / L], sympy.sqrt(eta * L) <= 1)
    >>> [fact.text for fact in reading.assumed]
    ['L > 0', 'eta > 0']
    >>> len(reading.auxiliaries), len(reading.conditions)
    (2, 3)
    """
    listed = relations_of(hypotheses, conclusion)
    require_small([*listed, conclusion])
    symbols = _symbols([*listed, conclusion])
    walker = Walker((symbol.name for symbol in symbols), roots)
    given = [walker.fact(part) for h in listed for part in conjuncts(h)]
    concluded = walker.fact(conclusion)
    auxiliaries = tuple(walker.auxiliaries.values())
    return Reading(
        symbols=symbols,
        auxiliaries=auxiliaries,
        assumed=tuple(fact for symbol in symbols for fact in _assumed(symbol)),
        hypotheses=tuple(given),
        definitions=tuple(walker.definitions),
        conditions=tuple(walker.conditions),
        conclusion=concluded,
        relations=listed,
        concluded=conclusion,
        quotients=Quotients([*symbols, *auxiliaries]),
    )


def roots_of(hypotheses: Sequence[Any], conclusion: Any) -> dict[sympy.Symbol, Root]:
    """Return the roots of symbols whose sign the hypotheses without roots tell.

    Raises
    ------
    RefusedError
        If these hypotheses cannot be read, or something is too large.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", real=True)
    >>> roots_of([x >= 1], sympy.sqrt(x) + sympy.sqrt(y) >= 1)
    {x: Root(degree=2, sign='>')}
    """
    require_small([*hypotheses, conclusion])
    parts = [part for h in hypotheses for part in conjuncts(h)]
    plain = read([part for part in parts if not has_root(part)], sympy.true)
    # of a symbol that only roots contain, too, all that sympy assumes is known
    symbols = _symbols([*hypotheses, conclusion])
    facts = [fact.formula for symbol in symbols for fact in _assumed(symbol)]
    assumed = stated_signs(facts, Quotients(symbols))
    return roots_for([*hypotheses, conclusion], {**assumed, **plain.signs})


def relations_of(hypotheses: Iterable[Any], conclusion: Any) -> tuple[Any, ...]:
    """Take the hypotheses once: an iterator would be empty the second time.

    Raises
    ------
    InputError
        If they are no list, or something is not a relation.
    """
    single = isinstance(hypotheses, boolalg.Boolean | str | bytes)
    if single or not isinstance(hypotheses, Iterable):
        raise InputError(
            f"hypotheses must be a list of relations; got {shown(hypotheses)}; put "
            "one relation into brackets, and write [] for none."
        )
    listed = tuple(hypotheses)
    for relation in (*listed, conclusion):
        _require_relation(relation)
    return listed


def conjuncts(relation: Any) -> tuple[Any, ...]:
    """Top-level parts of an And, in the order sympy keeps."""
    return relation.args if isinstance(relation, boolalg.And) else (relation,)


def _require_relation(relation: Any) -> None:
    if not isinstance(relation, boolalg.Boolean) or relation.is_Symbol:
        raise InputError(
            "hypotheses and conclusion must be sympy relations, or And, Or, Not of "
            f"these; got {shown(relation)}; write sympy.Le(a, b) and the like."
        )


def _symbols(relations: Sequence[Any]) -> tuple[sympy.Symbol, ...]:
    every = set().union(*(relation.free_symbols for relation in relations))
    found = sorted(every, key=lambda symbol: symbol.name)
    names = [symbol.name for symbol in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"every name must stand for one symbol; {', '.join(twice)} stands for "
            "several, with different assumptions; declare each once."
        )
    return tuple(found)


def _assumed(symbol: sympy.Symbol) -> list[Fact]:
    """Facts that follow from what sympy assumes of a symbol."""
    complex_ = symbol.is_complex and not symbol.is_algebraic
    infinite = symbol.is_extended_real and symbol.is_integer is None
    # a symbol of which nothing is said is real
    wide = symbol.is_real is None and (complex_ or infinite)
    odd = (symbol.is_prime, symbol.is_composite, not symbol.is_commutative, wide)
    if symbol.is_real is False or symbol.is_rational is False or any(odd):
        raise RefusedError(
            f"symbols must be real, without assumptions beyond signs and integers; "
            f"{symbol} has others; declare it anew."
        )
    least = 1 if symbol.is_integer else 0
    above: Comparison = ">=" if symbol.is_integer else ">"
    choices: list[tuple[str, sympy.Expr, Comparison, str]] = [
        ("zero", symbol, "==", f"{symbol} == 0"),
        ("positive", symbol - least, above, f"{symbol} {above} {least}"),
        ("negative", -symbol - least, above, f"-{symbol} {above} {least}"),
        ("nonnegative", symbol, ">=", f"{symbol} >= 0"),
        ("nonpositive", -symbol, ">=", f"-{symbol} >= 0"),
        ("nonzero", symbol, "!=", f"{symbol} != 0"),
    ]
    for word, expression, comparison, text in choices:
        if getattr(symbol, f"is_{word}"):
            # the first word that applies says more than the later ones
            return [Fact(Atom(expression, comparison), frozenset(), text)]
    return []

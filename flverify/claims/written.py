"""Comparisons that stay as they are written, for a prover to read.

sympy settles a comparison as soon as it is written where it finds an answer by itself,
and then nobody can see what was compared; `judge.implied` proves nothing of these.
Inside And and Or they are even dropped, which `both` and `either` refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import sympy
from sympy.logic.boolalg import Boolean

from flverify._core.errors import InputError
from flverify._core.shown import shown

__all__ = [
    "above",
    "at_least",
    "at_most",
    "both",
    "either",
    "equal",
    "put_in",
    "unequal",
]


def at_most(small: Any, large: Any) -> Any:
    """Write small <= large.

    Raises
    ------
    InputError
        If a side is neither a number nor an expression.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> x <= x, at_most(x, x)
    (True, x <= x)
    """
    return _comparison(sympy.Le, small, large)


def at_least(large: Any, small: Any) -> Any:
    """Write large >= small.

    Raises
    ------
    InputError
        If a side is neither a number nor an expression.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> x >= 0, at_least(x, 0)
    (True, x >= 0)
    """
    return _comparison(sympy.Ge, large, small)


def above(large: Any, small: Any) -> Any:
    """Write large > small.

    Raises
    ------
    InputError
        If a side is neither a number nor an expression.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> x > 0, above(x, 0)
    (True, x > 0)
    """
    return _comparison(sympy.Gt, large, small)


def equal(left: Any, right: Any) -> Any:
    """Write left = right.

    Raises
    ------
    InputError
        If a side is neither a number nor an expression.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> sympy.Eq(x, 0), equal(x, 0)
    (False, Eq(x, 0))
    """
    return _comparison(sympy.Eq, left, right)


def unequal(left: Any, right: Any) -> Any:
    """Write that left differs from right.

    Raises
    ------
    InputError
        If a side is neither a number nor an expression.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> sympy.Ne(x, 0), unequal(x, 0)
    (True, Ne(x, 0))
    """
    return _comparison(sympy.Ne, left, right)


def _comparison(kind: Any, *sides: Any) -> Any:
    """Return a comparison of two numbers or expressions, whatever sympy makes of it."""
    for side in sides:
        plain = isinstance(side, Number | sympy.Expr) and not isinstance(side, bool)
        if not plain or getattr(side, "is_Matrix", False):
            raise InputError(
                "a side of a comparison must be a number or an expression of sympy; "
                f"got {shown(side)}; write one such as 2*x."
            )
    return kind(*sides, evaluate=False)


def both(*relations: Any) -> Any:
    """Write that all of several relations hold.

    Raises
    ------
    InputError
        If one is none, or is settled already: sympy.And would drop it.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", positive=True)
    >>> sympy.And(x >= 0, y <= 1), both(at_least(x, 0), y <= 1)
    (y <= 1, (x >= 0) & (y <= 1))
    """
    return sympy.And(*map(_open, relations))


def either(*relations: Any) -> Any:
    """Write that at least one of several relations holds.

    Raises
    ------
    InputError
        If one is none, or is settled already: sympy.Or would drop it.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", positive=True)
    >>> sympy.Or(x <= 0, y <= 1), either(at_most(x, 0), y <= 1)
    (y <= 1, (x <= 0) | (y <= 1))
    """
    return sympy.Or(*map(_open, relations))


def _open(relation: Any) -> Any:
    """Return a relation in which nothing is settled."""
    plain = isinstance(relation, Boolean) and not relation.is_Symbol
    if plain and not relation.atoms(sympy.logic.boolalg.BooleanAtom):
        return relation
    raise InputError(
        f"parts must be relations that are not settled; got {shown(relation)}; write "
        "it with at_most, at_least, above, equal or unequal."
    )


def put_in(relation: Any, values: Mapping[Any, Any]) -> Any:
    """Put values in for symbols on both sides of a comparison, all at once.

    Raises
    ------
    InputError
        If it is no comparison, such as several that are joined.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", positive=True)
    >>> put_in(x <= y, {x: y, y: x}), put_in(x <= y, {y: x})
    (y <= x, x <= x)
    """
    if not isinstance(relation, sympy.core.relational.Relational):
        raise InputError(
            f"values must be put into one comparison; got {shown(relation)}; put them "
            "into each part, and join the parts afterwards."
        )
    sides = (s.subs(values, simultaneous=True) for s in (relation.lhs, relation.rhs))
    return relation.func(*sides, evaluate=False)

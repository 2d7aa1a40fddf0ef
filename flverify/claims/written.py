"""Comparisons that stay as they are written, for a prover to read.

sympy settles a comparison as soon as it is written where it finds an answer by itself,
and then nobody can see what was compared; `judge.implied` proves nothing of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

__all__ = ["above", "at_least", "at_most", "put_in"]


def at_most(small: Any, large: Any) -> Any:
    """Write small <= large.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> x <= x, at_most(x, x)
    (True, x <= x)
    """
    return sympy.Le(small, large, evaluate=False)


def at_least(large: Any, small: Any) -> Any:
    """Write large >= small.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> x >= 0, at_least(x, 0)
    (True, x >= 0)
    """
    return sympy.Ge(large, small, evaluate=False)


def above(large: Any, small: Any) -> Any:
    """Write large > small.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> x > 0, above(x, 0)
    (True, x > 0)
    """
    return sympy.Gt(large, small, evaluate=False)


def put_in(relation: Any, values: Mapping[Any, Any]) -> Any:
    """Put values in for symbols on both sides of a comparison, all at once.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", positive=True)
    >>> put_in(x <= y, {x: y, y: x}), put_in(x <= y, {y: x})
    (y <= x, x <= x)
    """
    sides = (s.subs(values, simultaneous=True) for s in (relation.lhs, relation.rhs))
    return relation.func(*sides, evaluate=False)

"""Symbols under roots written as powers: with A = a^k every A^(p/q) is one of a.

a -> a^k maps the numbers from 0 on onto themselves, one to one, whether k is even or
odd, and those above 0 too. So nothing is gained or lost where the facts say A >= 0
(A > 0) by themselves; a symbol whose sign they leave open keeps its roots, for these
are defined only where it is not negative. k is the least common multiple of the q, so
that no root is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Any

import sympy

from flverify.certify._scalar.quotients import Sign


@dataclass(frozen=True)
class Root:
    """The root that is put for a symbol.

    Parameters
    ----------
    degree : int
        The symbol is this power of its root.
    sign : {">", ">="}
        Of both.
    """

    degree: int
    sign: Sign


def has_root(e: Any) -> bool:
    """Whether a power in an expression or relation has an exponent that is no integer.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> has_root(x**2 <= 1), has_root(1 / sympy.sqrt(1 + x) <= 1)
    (False, True)
    """
    return any(not power.exp.is_Integer for power in e.atoms(sympy.Pow))


def roots_for(
    relations: Iterable[Any], signs: Mapping[sympy.Symbol, Sign]
) -> dict[sympy.Symbol, Root]:
    """Return the roots to put for symbols of known sign.

    Parameters
    ----------
    relations : iterable of sympy relations
    signs : mapping
        What follows of single symbols wherever all relations are to be judged.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", real=True)
    >>> found = roots_for([sympy.sqrt(x) + sympy.cbrt(x) <= sympy.sqrt(y)], {x: ">="})
    >>> found
    {x: Root(degree=6, sign='>=')}
    """
    degrees: dict[sympy.Symbol, int] = {}
    powers = sorted(
        set[Any]().union(*(relation.atoms(sympy.Pow) for relation in relations)),
        key=str,
    )
    for power in powers:
        if power.base in signs and power.exp.is_Rational:
            known = degrees.get(power.base, 1)
            degrees[power.base] = lcm(known, int(power.exp.q))
    return {s: Root(k, signs[s]) for s, k in degrees.items() if k > 1}

"""Rules of sympy that answer wrongly, held back: no answer is better than a false one.

sympy simplifies an expression while it is built, and what was written is lost then.
The sympy at hand took Abs(e/6 - 1) for e/6 - 1 where e is even and positive, and
Max(1, m*(2*n + 2)/6) for its second part where m and n are positive integers: an
identity of the two is false at 2, or at 1. To import this module holds such rules back
for all expressions that are built from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy.core.cache import clear_cache

Misled = Callable[[Any, bool], bool]


def _product(product: sympy.Mul, found: bool) -> bool:
    """Whether a product is called an integer, or none, for an even factor alone.

    A sixth of an even number need not be whole, a third of it may be.
    """
    if found:
        return any(part.is_Rational and part.q & (part.q - 1) for part in product.args)
    return any(part.is_even for part in product.args)


def _chosen(_: sympy.binomial, found: bool) -> bool:
    """Whether C(n, k) is called negative: for an odd k, of whatever n."""
    return not found


def _raised(power: sympy.Pow, found: bool) -> bool:
    """Whether (-2)^(n/2) is called imaginary, for n that may be even."""
    return found and power.exp.is_integer is None


def _hold_back(kind: Any, fact: str, misled: Misled) -> None:
    """Let a class say nothing of itself where its rule is misled."""
    rule = getattr(kind, "_prop_handler", {}).get(fact)
    if rule is None:  # a sympy that keeps its rules elsewhere; the tests would tell
        return

    def held(one: Any) -> bool | None:
        found: bool | None = rule(one)
        return None if found is None or misled(one, found) else found

    kind._prop_handler[fact] = held


def _remainder(of: Any, by: Any) -> Any:
    """Find a remainder where sympy does so rightly; by symbols, (-x) mod 3x is none."""
    return _EVALUATED(of, by) if by.is_Number and not of.has(sympy.Mod) else None


_EVALUATED = sympy.Mod.eval
sympy.Mod.eval = _remainder
_hold_back(sympy.Mul, "integer", _product)
_hold_back(sympy.binomial, "nonnegative", _chosen)
_hold_back(sympy.Pow, "imaginary", _raised)
clear_cache()

"""The server's move by -eta S in a round of FOCUS: facts that its proofs use.

What stands on one side of a fact is a function here. The fact is judged with it, and a
proof that uses the fact reads it, so that both have one formula.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY, A, B, Q, eta, mu
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding


@cache
def young(distance: Any = 1, difference: Any = 1) -> Finding:
    """-2 eta <u, D> <= distance eta eps |u|^2 + difference (eta/eps) |D|^2."""
    eps = sympy.Symbol("epsilon", positive=True)
    floor, times = young_floor((distance, difference), eps, A**2, B**2), -2 * eta
    return judge.implied([], times * A * B <= times * floor, EVERY)


def young_floor(factors: tuple[Any, Any], eps: Any, first: Any, second: Any) -> Any:
    """Return what is below <u, D> in Young's inequality, from two squares."""
    near, far = map(rational, factors)
    return -(near * eps * first + far / eps * second) / 2


@cache
def square_of_move() -> Finding:
    """|u - eta S|^2 is what `moved_square` makes of |u|^2, <u, S> and |S|^2."""
    pair = ("coordinate", (A - eta * B) ** 2, moved_square(A**2, A * B, B**2))
    return judge.identity([pair], EVERY)


def moved_square(first: Any, inner: Any, second: Any) -> Any:
    """Return |u - eta S|^2 from |u|^2, <u, S> and |S|^2."""
    return first - 2 * eta * inner + eta**2 * second


@cache
def above_the_tangent(half: Any = "1/2") -> Finding:
    """<grad F(w), w - x*> >= F(w) - F* + half mu |w - x*|^2, F as in Assumption 3."""
    star, here = sympy.symbols("F_star F_w", real=True)
    inner = sympy.Symbol("inner", real=True)
    held = [star >= here - inner + mu / 2 * Q]
    return judge.implied(held, inner >= tangent_gap(half, here - star, mu, Q), EVERY)


def tangent_gap(half: Any, gap: Any, modulus: Any, square: Any) -> Any:
    """Return what is below <grad F(w), w - x*> for a strongly convex F."""
    return gap + rational(half) * modulus * square

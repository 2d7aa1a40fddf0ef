"""Rules of sympy that answer wrongly, held back: no answer is better than a false one.

sympy simplifies an expression while it is built, and what was written is lost then.
The sympy at hand took Abs(e/6 - 1) for e/6 - 1 where e is even and positive, and
Max(1, m*(2*n + 2)/6) for its second part where m and n are positive integers: an
identity of the two is false at 2, or at 1. Min(5, Max(y, Min(1, z)), Max(2, w)) lost
its last part, which may be the smallest. To import this module holds such rules back
for all expressions that are built from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice, product
from math import prod
from random import Random
from typing import Any

import sympy
from sympy.concrete import summations
from sympy.core import exprtools
from sympy.core.cache import clear_cache

Misled = Callable[[Any, bool], bool]

TRIED = 0, 1, 2, 3, -1, sympy.Rational(1, 2), sympy.sqrt(2)  # of free symbols
MOST_TRIED = 24  # points at which a sum is added up
MOST_TERMS = 100  # of such a sum
LARGER = *range(4, 15), 21, 30, 60  # where few sums at the points above have terms
MOST_DRAWN = 100  # of these points
MOST_TERMS_ONCE = 1000  # of their sums
ENOUGH = 6  # that are compared
FAR = {sympy.oo: sympy.Integer(1000), -sympy.oo: sympy.Integer(-1000)}  # for an end
NEAR = 8  # numbers on each side of 0, and of an end, that an index has to allow
MOST_LISTED = 5_000  # points that are put in order; of more, some are drawn
MOST_DEGREE = 60  # of a polynomial whose smallest value sympy is let look for


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


def _power(power: sympy.Pow, found: bool) -> bool:
    """Whether a power is called irrational, or not odd, as its base is: sqrt(3)^2."""
    return not found and not power.base.is_rational


def _steep(power: sympy.Pow, found: bool) -> bool:
    """Whether (3/2)^x is called no integer, for x that need not be a fraction."""
    return not found and bool(power.exp.is_positive and not power.exp.is_rational)


def _denied(_: Any, found: bool) -> bool:
    """Whether it is called no integer: (1/2)(1/2 + 1)... with no factor at all is 1."""
    return not found


def _hold_back(kind: Any, fact: str, misled: Misled) -> None:
    """Let a class say nothing of itself where its rule is misled."""
    rule = getattr(kind, "_prop_handler", {}).get(fact)
    if rule is None:  # a sympy that keeps its rules elsewhere; the tests would tell
        return

    def held(one: Any) -> bool | None:
        found: bool | None = rule(one)
        return None if found is None or misled(one, found) else found

    kind._prop_handler[fact] = held


def _ask(home: Any, name: str, held: Callable[..., Any]) -> None:
    """Let a rule be asked by `held` alone, which gets it as its first argument."""
    rule = getattr(home, name, None)
    if rule is not None:
        setattr(home, name, staticmethod(partial(held, rule)))


def _remainder(rule: Any, of: Any, by: Any) -> Any:
    """Find a remainder where sympy does so rightly; by symbols, (-x) mod 3x is none."""
    return rule(of, by) if by.is_Number and not of.has(sympy.Mod) else None


def _coefficient(rule: Any, n: Any, k: Any) -> Any:
    """Find C(n, k); where n is negative it is infinite only if k is no integer."""
    found = rule(n, k)
    return None if found is sympy.zoo and k.is_integer is None else found


def _redundant(rule: Any, args: Iterable[Any], **options: Any) -> list[Any]:
    """Leave out what other parts of Max or Min make redundant.

    Numbers are kept apart where a Max has another one inside of it: sympy takes those
    of the inner one for bounds of the whole.
    """
    parts = [*args]
    inner = any(part.has(rule.__self__) for part in parts)
    numbers = [part for part in parts if part.is_number and inner]
    return [*numbers, *rule([p for p in parts if p not in numbers], **options)]


def _degree(e: Any) -> int:
    """Bound the degree of a polynomial, without multiplying out."""
    if e.is_Pow and e.exp.is_Integer:
        return int(abs(e.exp)) * _degree(e.base)
    degrees = [_degree(part) for part in e.args]
    return sum(degrees) if e.is_Mul else max(degrees, default=int(e.is_Symbol))


def _closest(rule: Any, e: Any) -> Any:
    """Return the value closest to 0, or one of its kind.

    Of 1/(m n) sympy takes the largest, that at m = n = 1, in its place. Polynomials
    are multiplied out for it, and the roots of their derivatives enclosed: for powers
    of powers that takes minutes, or not, as the parts of a sum happen to be ordered.
    """
    if _degree(e) > MOST_DEGREE:
        return None
    several = len(e.free_symbols) > 1 and not e.is_polynomial()
    return None if several and not e.as_numer_denom()[1].is_number else rule(e)


def _added_up(rule: Any, term: Any, index: Any) -> Any:
    """Add up by Gosper's method, which divides by what may be 0 for some values.

    It finds that C(n, k) (-1)^k adds up to 0 over k, which is 1 at n = 0.
    """
    parameters = term.free_symbols - {index[0]}
    return None if parameters else rule(term, index)


def _allows(symbol: Any, value: Any) -> bool:
    """Whether nothing that is assumed of a symbol is known to fail for a value."""
    facts = symbol.assumptions0.items()
    return all(getattr(value, f"is_{key}", None) in (held, None) for key, held in facts)


def _allowed(symbols: Iterable[Any], tried: Iterable[Any]) -> list[list[Any]]:
    """Pair each symbol with those of some values that it may have."""
    values = [sympy.sympify(x) for x in tried]
    return [
        [(symbol, x) for x in values if _allows(symbol, x)]
        for symbol in sorted(symbols, key=str)
    ]


def _points(symbols: Iterable[Any]) -> Iterator[dict[Any, Any]]:
    """Yield some values of symbols that what is assumed of them allows."""
    values = _allowed(symbols, TRIED)
    sizes = [len(pairs) for pairs in values]
    if prod(sizes) > MOST_LISTED:
        yield from islice(_drawn(values), MOST_TRIED)
        return
    listed = product(*map(range, sizes))  # small values first, and none stays alone
    for places in sorted(listed, key=lambda ks: (sum(ks), ks))[:MOST_TRIED]:
        yield dict(pairs[k] for pairs, k in zip(values, places, strict=True))


def _drawn(values: list[list[Any]]) -> Iterator[dict[Any, Any]]:
    """Draw points, the same whenever it is asked."""
    draw = Random(0)  # noqa: S311 - no secret
    while all(values):
        yield dict(map(draw.choice, values))


def _sum(rule: Any, term: Any, limits: Any) -> Any:
    """Add up; that of 0^(n - k) over k from 0 to n is told as 0, and is 1."""
    return _judged(rule(term, limits), sympy.Add, term, limits)


def _product_of(whole: Any, term: Any, limits: Any) -> Any:
    """Multiply out, in the name of a Product."""
    return _judged(_EVAL_PRODUCT(whole, term, limits), sympy.Mul, term, limits)


def _judged(found: Any, join: Callable[..., Any], term: Any, limits: Any) -> Any:
    """Return a sum, or product, that stands, or nothing; jumping terms one by one."""
    index, low, high = limits
    if found is None:
        return None
    if not _jumps(term):
        return found if _stands(found, join, term, limits) else None
    if not (low.is_Integer and high.is_Integer and 0 <= high - low < MOST_TERMS):
        return None
    return join(*(term.subs(index, k) for k in range(low, high + 1)))


def _guard(kind: Any) -> None:
    """Let sums, or products, stand whose index may not be all that it runs over.

    Terms are simplified by what is assumed of it, before its ends are known; later
    sympy puts another index in its place, of which less is assumed.
    """
    rule = kind.doit

    def done(whole: Any, **hints: Any) -> Any:
        limits = [limit for limit in whole.limits if len(limit) == 3]
        return rule(whole, **hints) if all(_runs(*limit) for limit in limits) else whole

    kind.doit = done


def _runs(index: Any, low: Any, high: Any) -> bool:
    """Whether an index may be what it runs over: near its ends, and near 0."""
    first, last = _least(low), -_least(-high)
    if first > last:  # sympy counts backwards
        first, last = last + 1, first - 1
    ends = (end for end in (first, last) if abs(end) != sympy.oo)
    near = range(-NEAR, NEAR + 1)
    places = {end + k for end in (sympy.Integer(0), *ends) for k in near}
    return all(_allows(index, k) for k in places if first <= k <= last)


def _least(end: Any) -> Any:
    """Return the least that an end may be: of one with symbols, by its sign."""
    if end.is_number and end.is_extended_real:
        return FAR.get(end, end)
    least = 1 if end.is_positive else 0 if end.is_nonnegative else -sympy.oo
    return sympy.sympify(least)


def _stands(found: Any, join: Callable[..., Any], term: Any, limits: Any) -> bool:
    """Whether a sum, or product, is that of its terms wherever it is compared.

    It has to be compared somewhere, unless its terms are polynomials, or an end is
    infinite.
    """
    index, *ends = limits
    if any(end.is_infinite for end in ends):
        return True
    free = (term.free_symbols - {index}).union(*(end.free_symbols for end in ends))
    same = partial(_agrees, found, join, term, limits)
    told = [same(point, MOST_TERMS) for point in _points(free)]
    if False in told:
        return False
    if told.count(True) < ENOUGH:  # others are empty, or long
        values = _allowed(free, (*TRIED, *LARGER))
        drawn = islice(_drawn(values), MOST_DRAWN if free else 1)
        answers = (same(point, MOST_TERMS_ONCE) for point in drawn)
        told += islice((a for a in answers if a is not None), ENOUGH)
    told = [answer for answer in told if answer is not None]
    return all(told) if told else bool(term.is_polynomial(index))


def _jumps(term: Any) -> bool:
    """Whether single terms may differ from all others: 0^k, or d(k, n)."""
    powers = term.atoms(sympy.Pow)
    odd = term.has(sympy.KroneckerDelta, sympy.Piecewise)
    return odd or any(power.base.is_zero for power in powers)


def _agrees(
    found: Any, join: Callable[..., Any], term: Any, limits: Any, point: Any, most: int
) -> bool | None:
    """Compare a sum with its terms at one point; None where that tells nothing."""
    index, first, last = limits
    low, high = first.subs(point), last.subs(point)
    if not (low.is_Integer and high.is_Integer and 0 <= high + 1 - low <= most):
        return None
    places = [{**point, index: sympy.Integer(k)} for k in range(low, high + 1)]
    if not all(_allows(index, place[index]) for place in places):
        return False  # of which the terms may have been simplified away
    try:
        gap = (join(*(term.subs(p) for p in places)) - found.subs(point)).n(30)
    except (TypeError, ValueError, ArithmeticError):  # of what is no number
        return None
    if not (gap.is_number and gap.is_finite):
        return None
    told = bool(places) or not (first.free_symbols or last.free_symbols)
    return False if abs(gap) > 1e-15 else True if told else None


_ask(sympy.Mod, "eval", _remainder)
_ask(sympy.binomial, "eval", _coefficient)
_ask(sympy.Max, "_collapse_arguments", _redundant)
_ask(sympy.Min, "_collapse_arguments", _redundant)
_ask(exprtools, "_monotonic_sign", _closest)
_ask(summations, "gosper_sum", _added_up)
_ask(summations, "eval_sum", _sum)
_EVAL_PRODUCT = sympy.Product._eval_product
sympy.Product._eval_product = _product_of
for kind in (sympy.Sum, sympy.Product):
    _guard(kind)
_hold_back(sympy.Mul, "integer", _product)
_hold_back(sympy.binomial, "nonnegative", _chosen)
_hold_back(sympy.Pow, "imaginary", _raised)
_hold_back(sympy.Pow, "integer", _steep)
for fact in ("rational", "even", "odd"):
    _hold_back(sympy.Pow, fact, _power)
for kind in (sympy.binomial, sympy.RisingFactorial, sympy.FallingFactorial):
    _hold_back(kind, "integer", _denied)
clear_cache()

"""Whether an expression is zero by algebra alone: quotients of polynomials.

Symbols, and what is no sum, product or power, are unknowns of their own. A root u of b
stands for any number with u^q = b, and b^n with symbols in n for any number. What is
zero for all these is zero wherever it exists. Nothing is simplified: the rules of other
functions have exceptions that are easily missed.
"""

from __future__ import annotations

from functools import reduce
from math import comb, prod
from operator import add
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from flverify._core import sympy_rules  # noqa: F401 - holds wrong rules back

ENDS = sympy.nan, sympy.zoo, sympy.oo, -sympy.oo
NO_NUMBERS = (*ENDS, sympy.AccumBounds, sympy.Order)  # or sets of them

MOST_TERMS = 100_000  # of a power that is multiplied out
MOST_WRITTEN = 10_000  # terms that sympy writes out in seconds
MOST_PRODUCTS = 4_000_000  # of terms, where two polynomials are multiplied
MOST_ROOTS = 4  # of which sympy makes one field in a second
SMALL_PRIMES = 10**4  # that are looked for in numbers with a symbol for an exponent


class NotAlgebraError(ArithmeticError):
    """An expression that is infinite, undefined, or no number."""


def vanishes(expression: sympy.Expr) -> bool:
    """Whether an expression is zero wherever it exists; False: that is not seen.

    Examples
    --------
    >>> x, n = sympy.symbols("x n", positive=True)
    >>> vanishes((x**2 - 1) / (x - 1) - x - 1), vanishes(x - 1)
    (True, False)
    >>> vanishes(x ** (n + 1) * (1 + 1 / x) - x**n * (x + 1))
    True
    >>> vanishes(1 / (1 + sympy.sqrt(2)) - sympy.sqrt(2) + 1)
    True
    >>> m = sympy.Symbol("m", integer=True, nonnegative=True)
    >>> vanishes(sympy.binomial(m - 1, m))  # 1 at m = 0
    False
    """
    try:
        return _Unknowns().is_zero(expression)
    except (NotAlgebraError, sympy.PolynomialError):
        return False


def is_nought(number: sympy.Expr) -> bool:
    """Whether a number is zero: in the field of its roots; False: that is not seen.

    The field of many roots takes too long to make; there they are unknowns.

    Examples
    --------
    >>> two, three, six = map(sympy.sqrt, (2, 3, 6))
    >>> is_nought((two + three) ** 2 - 2 * six - 5), is_nought(two - 1)
    (True, False)
    """
    if vanishes(number):
        return True
    parts = set(sympy.preorder_traversal(number))
    roots = [e for e in parts if e.is_Function or (e.is_Pow and not e.exp.is_Integer)]
    if len(roots) > MOST_ROOTS:
        return False
    field, (found,) = sympy.construct_domain([number], extension=True)
    return bool(not field.is_EX and found == field.zero)


class _Unknowns:
    """The unknowns of one expression, and what the roots among them satisfy."""

    def __init__(self) -> None:
        self.names: dict[Any, sympy.Dummy] = {}
        self.relations: list[tuple[sympy.Dummy, sympy.Expr]] = []

    def is_zero(self, expression: sympy.Expr) -> bool:
        """Whether the numerator is null."""
        return self._is_null(sympy.fraction(sympy.together(self._plain(expression)))[0])

    def _is_null(self, polynomial: sympy.Expr) -> bool:
        """Reduce a polynomial by what the roots satisfy, the last ones first."""
        for unknown, relation in reversed(self.relations):
            expanded = _expanded(polynomial) if polynomial.has(unknown) else 0
            # sympy.prem fails on polynomials of a lower degree
            if sympy.degree(expanded, unknown) >= sympy.degree(relation, unknown):
                polynomial = sympy.prem(expanded, relation, unknown)
        return is_null(polynomial)

    def _quotient(self, e: Any) -> sympy.Expr:
        plain = self._plain(e)
        if not is_short(plain):
            raise NotAlgebraError
        found = sympy.cancel(plain)
        if found.has(sympy.nan, sympy.zoo, sympy.oo):
            raise NotAlgebraError
        return found

    def _plain(self, e: Any) -> sympy.Expr:
        """Write an expression in the unknowns, with whole powers alone."""
        if not e.is_commutative or e.has(*NO_NUMBERS):
            raise NotAlgebraError
        if e.is_Add or e.is_Mul:
            return e.func(*map(self._plain, e.args))
        if e.is_Pow:
            return self._power(e.base, e.exp)
        return e if e.is_Rational else self._leaf(e)

    def _leaf(self, e: Any) -> sympy.Dummy:
        if e == sympy.I:
            return self._known(e, sympy.Integer(-1), 2)
        if isinstance(e, AppliedUndef):  # equal arguments, equal values
            return self._any(e.func, *map(self._quotient, e.args))
        return self._any(e)

    def _any(self, *key: Any) -> sympy.Dummy:
        return self.names.setdefault(key, sympy.Dummy())

    def _known(self, key: Any, power: sympy.Expr, degree: int) -> sympy.Dummy:
        """Return the unknown whose degree-th power is known."""
        new = (key, degree) not in self.names
        unknown = self._any(key, degree)
        if new:
            above, below = sympy.fraction(power)
            self.relations.append((unknown, below * unknown**degree - above))
        return unknown

    def _power(self, base: Any, exponent: Any) -> sympy.Expr:
        """Split b^(2 m + 1/2) into (b^m)^2 and a root of b."""
        if exponent.is_Integer and exponent >= 0:
            return self._plain(base) ** exponent
        found, out = self._quotient(base), sympy.Integer(1)
        if self._is_null(sympy.fraction(found)[0]):
            raise NotAlgebraError
        for term in sympy.Add.make_args(sympy.expand(exponent)):
            factor, rest = term.as_coeff_Mul()
            if not factor.is_Rational:
                raise NotAlgebraError
            if rest != 1:
                out *= self._raised(found, rest / factor.q) ** factor.p
                continue
            whole, part = divmod(factor.p, factor.q)
            out *= found**whole
            if part:
                out *= self._known(found, found, int(factor.q)) ** part
        return out

    def _raised(self, base: sympy.Expr, exponent: Any) -> sympy.Expr:
        """Return b^m; whole powers of a product are those of its factors."""
        if not is_whole(exponent):
            return self._any(base, exponent)
        out = sympy.Integer(1)
        for part, sign in zip(sympy.fraction(base), (1, -1), strict=True):
            content, factors = sympy.factor_list(part)
            ends = content.p, content.q
            primes = [sympy.factorint(end, limit=SMALL_PRIMES) for end in ends]
            for number, side in zip(primes, (1, -1), strict=True):
                factors += [(sympy.Integer(p), side * k) for p, k in number.items()]
            for factor, times in factors:
                if factor == -1:
                    raised = self._known((factor, exponent), sympy.Integer(1), 2)
                else:
                    raised = self._any(factor, exponent)
                out *= raised ** (sign * times)
        return out


def is_whole(exponent: sympy.Expr) -> bool:
    """Whether an exponent is an integer, by its symbols alone, and no rule of sympy.

    Examples
    --------
    >>> n, even = sympy.Symbol("n", integer=True), sympy.Symbol("e", even=True)
    >>> [is_whole(e) for e in (n * (n + 1), n * even / 2, even / 6, n / 3)]
    [True, True, False, False]
    """
    terms = sympy.Add.make_args(sympy.expand(exponent))
    return all(_is_whole_term(*term.as_coeff_Mul()) for term in terms)


def _is_whole_term(factor: sympy.Expr, rest: sympy.Expr) -> bool:
    powers = [part.as_base_exp() for part in sympy.Mul.make_args(rest)]
    whole = all(
        base == 1 or (base.is_Symbol and base.is_integer and _is_count(power))
        for base, power in powers
    )
    even = any(base.is_even for base, _ in powers)
    return whole and factor.is_Rational and factor.q in ((1, 2) if even else (1,))


def _is_count(power: sympy.Expr) -> bool:
    return bool(power.is_Integer and power > 0)


def terms_of_power(polynomial: Any, exponent: int) -> int:
    """Bound the number of terms of a power in a ring, before it is multiplied out.

    Examples
    --------
    >>> _, x, y = sympy.ring("x y", sympy.QQ)
    >>> terms_of_power(x + y + 1, 100), terms_of_power(x**2 * y, 10**9)
    (5151, 1)
    """
    if not polynomial:
        return 0
    chosen = comb(len(polynomial) + exponent - 1, exponent)
    boxed: int = prod(degree * exponent + 1 for degree in polynomial.degrees())
    return min(chosen, boxed)


def is_null(polynomial: sympy.Expr) -> bool:
    """Multiply a polynomial out, in a ring, which is faster than in expressions.

    Raises
    ------
    NotAlgebraError
        If a power would have too many terms.
    """
    unknowns = sorted(polynomial.free_symbols, key=str)
    ring = sympy.ring(unknowns or [sympy.Dummy()], sympy.QQ)[0]
    values = dict(zip(unknowns, ring.gens, strict=False))

    def value(e: Any) -> Any:
        if e.is_Rational:
            return ring(sympy.QQ(int(e.p), int(e.q)))
        if e.is_Pow:
            return _power(value(e.base), int(e.exp))
        if e.is_Symbol:
            return values[e]
        return reduce(add if e.is_Add else _product, map(value, e.args))

    return bool(value(polynomial) == 0)


def _power(base: Any, exponent: int) -> Any:
    """Raise a polynomial to a power, unless that takes long."""
    if terms_of_power(base, exponent) > MOST_TERMS:
        raise NotAlgebraError
    if comb(len(base) + exponent - 1, exponent) <= MOST_TERMS:
        return base**exponent
    # products of many terms meet in few: sympy would list them all
    half = _power(base, exponent // 2)
    square = _product(half, half)
    return _product(square, base) if exponent % 2 else square


def _product(one: Any, other: Any) -> Any:
    if len(one) * len(other) > MOST_PRODUCTS:
        raise NotAlgebraError
    return one * other


def is_short(expression: sympy.Expr) -> bool:
    """Whether sympy multiplies a quotient of polynomials out before long.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> is_short((x + y + 1) ** 100), is_short((x**2 + x + 1) ** 3000)
    (True, False)
    """
    try:
        _terms(expression, len(expression.free_symbols))
    except NotAlgebraError:
        return False
    return True


def _terms(e: Any, unknowns: int) -> tuple[int, int]:
    """Bound the number of terms, and the degree, that it has when multiplied out."""
    if e.is_Pow and e.exp.is_Integer:
        terms, degree = _terms(e.base, unknowns)
        times = abs(int(e.exp))
        if terms > 1 and times > MOST_WRITTEN:
            raise NotAlgebraError
        found = comb(terms + times - 1, times), degree * times
    elif e.is_Add or e.is_Mul:
        parts = [_terms(part, unknowns) for part in e.args]
        counts, degrees = zip(*parts, strict=True)
        found = (sum(counts), max(degrees))
        if e.is_Mul:
            found = (prod(counts), sum(degrees))
    else:
        found = 1, int(not e.is_Rational)
    if found[0] > MOST_WRITTEN:
        raise NotAlgebraError
    return min(found[0], comb(found[1] + unknowns, unknowns)), found[1]


def _expanded(polynomial: sympy.Expr) -> sympy.Expr:
    if not is_short(polynomial):
        raise NotAlgebraError
    return sympy.expand(polynomial)

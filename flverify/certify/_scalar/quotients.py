"""Quotients of polynomials, and signs that show in their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add, mul
from typing import Any, Literal, TypeAlias

import sympy

from flverify._core.algebra import terms_of_power
from flverify._core.errors import RefusedError
from flverify.certify._scalar.flint_field import Field
from flverify.certify._scalar.sizes import LARGEST_DEGREE, MOST_TERMS, is_long, shown

MOST_PRODUCTS = 100 * MOST_TERMS  # of terms, in one product or sum of quotients
MOST_FACTORED = 200  # terms of a polynomial that is still factored
LONGEST_FACTORED = 300  # bits of its numbers; to factor with thousands takes minutes

Sign: TypeAlias = Literal[">", ">="]  # above zero, or not below zero
Signs: TypeAlias = Mapping[sympy.Symbol, Sign]
Polynomial: TypeAlias = Any  # sympy's PolyElement or flint's: exact, sparse
Quotient: TypeAlias = Any  # sympy's FracElement or flint's: reduced


class Quotients:
    """Reduced quotients of polynomials in given symbols, over the rationals.

    Reducing is harmless where every denominator of the expression as given differs
    from 0, since the reduced denominator divides their product.

    Parameters
    ----------
    symbols : iterable of sympy.Symbol
    quick : bool
        Whether flint reduces them, many times faster, in place of sympy.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> Quotients([x, y]).of((x**2 - y**2) / (x - y)).as_expr()
    x + y
    """

    def __init__(self, symbols: Iterable[sympy.Symbol], quick: bool = False) -> None:
        self.symbols = tuple(symbols)
        # a field without symbols does not exist; the spare one is never used
        there = self.symbols or (sympy.Dummy("none"),)
        self.field = Field(there) if quick else sympy.QQ.frac_field(*there)
        self._generators = {symbol: self.field(symbol) for symbol in self.symbols}

    def of(self, expression: sympy.Expr) -> Quotient:
        """Convert a rational expression in the symbols.

        Raises
        ------
        RefusedError
            If a denominator is zero for all values of the symbols, or if it grows
            too large.
        """
        try:
            return within_limits(self._built(expression))
        except (ZeroDivisionError, ValueError) as error:
            raise RefusedError(
                "a denominator must not be zero throughout; that of "
                f"{shown(expression)} is; correct the expression."
            ) from error

    def _built(self, e: Any) -> Quotient:
        """Build from the leaves, so that what grows too large is noticed in time."""
        if e in self._generators:
            return self._generators[e]
        if e.is_Rational:
            return self.field(sympy.QQ(int(e.p), int(e.q)))
        if e.is_Add or e.is_Mul:
            parts = [self._built(part) for part in e.args]
            return reduce(lambda a, b: _joined(add if e.is_Add else mul, a, b), parts)
        if e.is_Pow and e.exp.is_Integer:
            return _power(self._built(e.base), int(e.exp))
        raise ValueError


def _joined(join: Callable[..., Quotient], a: Quotient, b: Quotient) -> Quotient:
    long = size(a) * size(b) > MOST_PRODUCTS
    if long or _is_high(a.denom) or _is_high(b.denom):
        raise RefusedError(_too_large())
    return join(a, b)


def _power(quotient: Quotient, exponent: int) -> Quotient:
    for part in (quotient.numer, quotient.denom):
        _require_small_power(part, abs(exponent))
    return quotient**exponent


def _require_small_power(polynomial: Polynomial, exponent: int) -> None:
    """Refuse a power that would have too many terms, before it is expanded."""
    if terms_of_power(polynomial, exponent) > MOST_TERMS:
        raise RefusedError(_too_large())


def within_limits(quotient: Quotient) -> Quotient:
    """Return a quotient, unless it is too large to go on with.

    Raises
    ------
    RefusedError
        If it has too many terms, too high a degree or too long numbers.
    """
    parts = quotient.numer, quotient.denom
    long = any(is_long(c) for part in parts for c in part.coeffs())
    if size(quotient) > MOST_TERMS or long or any(map(_is_high, parts)):
        raise RefusedError(_too_large())
    return quotient


def _is_high(polynomial: Polynomial) -> bool:
    return any(sum(powers) > LARGEST_DEGREE for powers in polynomial.itermonoms())


def _too_large() -> str:
    return (
        f"a quotient may have at most {MOST_TERMS} terms, the degree {LARGEST_DEGREE} "
        "and no very long numbers; one grows beyond that; put a new symbol for a part."
    )


def monomials(polynomial: Polynomial) -> list[tuple[Fraction, dict[sympy.Symbol, int]]]:
    """Coefficients with the powers of the symbols, leading monomial first.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> monomials(Quotients([x, y]).of(3 * x**2 * y - y / 2).numer)
    [(Fraction(6, 1), {x: 2, y: 1}), (Fraction(-1, 1), {y: 1})]
    """
    symbols = polynomial.ring.symbols
    listed = []
    for powers, coefficient in polynomial.terms():
        exact = Fraction(int(coefficient.numerator), int(coefficient.denominator))
        raised = {s: int(k) for s, k in zip(symbols, powers, strict=True) if k}
        listed.append((exact, raised))
    return listed


def evident_sign(polynomial: Polynomial, signs: Signs) -> Sign | None:
    """Sign that shows in the coefficients, for symbols of known sign.

    `>=` if no coefficient is negative and every monomial is a product of nonnegative
    symbols and even powers; `>` if moreover one monomial has only positive symbols.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> p = Quotients([x, y]).of(x + 2 * y**2).numer
    >>> evident_sign(p, {x: ">"}), evident_sign(p, {x: ">="}), evident_sign(p, {})
    ('>', '>=', None)
    """
    told = [signs.get(symbol) for symbol in polynomial.ring.symbols]
    strict = False
    for powers, coefficient in polynomial.terms():
        if coefficient < 0:
            return None
        there = [(k, sign) for k, sign in zip(powers, told, strict=True) if k]
        if any(k % 2 and sign is None for k, sign in there):
            return None
        strict = strict or all(sign == ">" for _, sign in there)
    return ">" if strict else ">="


def without_positive_factors(
    polynomial: Polynomial, signs: Signs, nonzero: bool = False
) -> Polynomial:
    """Divide out factors that are positive, so that the sign stays.

    Parameters
    ----------
    polynomial : polynomial
    signs : mapping
        Known signs of symbols.
    nonzero : bool
        Whether the polynomial is known not to vanish; even powers then go too.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> p = Quotients([x, y]).of(y - x**2 * y).numer
    >>> without_positive_factors(p, {x: ">", y: ">"}).as_expr()
    1 - x
    """
    if len(polynomial) > MOST_FACTORED or _has_long_numbers(polynomial):
        return polynomial  # factors may be left in; to look for them would take long
    out = polynomial.ring.one
    content, factors = _factors(polynomial)
    for factor, multiplicity in [(polynomial.ring(content), 1), *factors]:
        sign = evident_sign(factor, signs), evident_sign(-factor, signs)
        if ">" in sign:
            out = out * (1 if sign[0] == ">" else (-1) ** multiplicity)
        elif not nonzero:
            out = out * factor**multiplicity
        elif multiplicity % 2:
            out = out * factor
    return out


def _has_long_numbers(polynomial: Polynomial) -> bool:
    ends = (n for c in polynomial.coeffs() for n in (c.numerator, c.denominator))
    return any(int(n).bit_length() > LONGEST_FACTORED for n in ends)


@lru_cache(maxsize=4096)  # z3 is asked about the same polynomials again and again
def _factors(polynomial: Polynomial) -> Any:
    return polynomial.factor_list()


def quotient_sign(quotient: Quotient, signs: Signs) -> Sign | None:
    """Sign that shows in the coefficients, where the denominator is not 0.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> q = Quotients([x, y]).of(-x / (-1 - y))
    >>> quotient_sign(q, {x: ">=", y: ">="}), quotient_sign(-q, {x: ">=", y: ">="})
    ('>=', None)
    """
    return _fraction_sign(quotient.numer, quotient.denom, signs)


def _fraction_sign(above: Polynomial, below: Polynomial, signs: Signs) -> Sign | None:
    if evident_sign(below, signs) is not None:
        return evident_sign(above, signs)
    if evident_sign(-below, signs) is not None:
        return evident_sign(-above, signs)
    return None


def evident(
    above: Polynomial, below: Polynomial, comparison: str, signs: Signs
) -> bool:
    """Whether a comparison of a fraction with 0 shows in the coefficients.

    Examples
    --------
    >>> u = sympy.Symbol("u")
    >>> q = Quotients([u]).of(u / (1 + u))
    >>> [evident(q.numer, q.denom, c, {u: ">="}) for c in (">=", ">")]
    [True, False]
    """
    if comparison == "==":
        return bool(above == 0)
    sign = _fraction_sign(above, below, signs)
    if comparison == "!=":
        return ">" in (sign, _fraction_sign(-above, below, signs))
    return sign in (">", comparison)


def replaced(
    quotient: Quotient, symbol: sympy.Symbol, value: Quotient, quotients: Quotients
) -> Quotient:
    """Put a quotient in place of a symbol.

    Examples
    --------
    >>> x, u = sympy.symbols("x u")
    >>> both = Quotients([x, u])
    >>> replaced(both.of(x + 1 / x), x, both.of(1 / u), both).as_expr()
    (u**2 + 1)/u
    """
    degree, above = _put(quotient.numer, symbol, value)
    other, below = _put(quotient.denom, symbol, value)
    # both are divided by a power of the value's denominator; cancelled only once
    above = _times(above, value.denom, other)
    below = _times(below, value.denom, degree)
    return within_limits(quotients.field(above) / quotients.field(below))


def _put(
    polynomial: Polynomial, symbol: sympy.Symbol, value: Quotient
) -> tuple[int, Polynomial]:
    """Degree n, and the polynomial with the value in it, times its denominator^n."""
    parts = by_powers(polynomial, symbol)
    degree = max(parts, default=0)
    out = polynomial.ring.zero
    for power, part in parts.items():
        raised = _times(part, value.numer, power)
        out += _times(raised, value.denom, degree - power)
    return degree, out


def _times(polynomial: Polynomial, base: Polynomial, exponent: int) -> Polynomial:
    """Multiply by a power, unless that takes too long."""
    if not exponent:  # sympy has no 0**0 here
        return polynomial
    _require_small_power(base, exponent)
    raised = base**exponent
    if len(polynomial) * len(raised) > MOST_PRODUCTS:
        raise RefusedError(_too_large())
    return polynomial * raised


def by_powers(polynomial: Polynomial, symbol: sympy.Symbol) -> dict[int, Polynomial]:
    """Coefficients of the powers of one symbol."""
    place = polynomial.ring.symbols.index(symbol)
    parts: dict[int, dict[tuple[int, ...], Any]] = {}
    for powers, coefficient in polynomial.terms():
        rest = (*powers[:place], 0, *powers[place + 1 :])
        parts.setdefault(powers[place], {})[rest] = coefficient
    return {k: polynomial.ring.from_dict(part) for k, part in parts.items()}


def symbols_of(polynomial: Polynomial) -> set[sympy.Symbol]:
    """Symbols that occur."""
    degrees = zip(polynomial.ring.symbols, polynomial.degrees(), strict=True)
    return {symbol for symbol, degree in degrees if degree > 0}


def reduced(
    polynomial: Polynomial, powers: Mapping[sympy.Symbol, tuple[int, Fraction]]
) -> Polynomial:
    """Put numbers in place of powers, such as 2 for s^2 where s is its root.

    Examples
    --------
    >>> s, x = sympy.symbols("s x")
    >>> p = Quotients([s, x]).of(s**3 * x + s**2).numer
    >>> reduced(p, {s: (2, Fraction(2))}).as_expr()
    2*s*x + 2
    """
    if not powers:
        return polynomial
    symbols = polynomial.ring.symbols
    out = polynomial.ring.zero
    for coefficient, exponents in monomials(polynomial):
        number, left = coefficient, dict(exponents)
        for symbol, (power, value) in powers.items():
            times, left[symbol] = divmod(left.get(symbol, 0), power)
            number *= value**times
        key = tuple(left.get(symbol, 0) for symbol in symbols)
        exact = sympy.QQ(number.numerator, number.denominator)
        out = out + polynomial.ring.from_dict({key: exact})
    return out


def size(quotient: Quotient) -> int:
    """Monomials of numerator and denominator together."""
    return len(quotient.numer) + len(quotient.denom)

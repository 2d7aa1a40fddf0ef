"""Quotients of polynomials, and signs that show in their coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import sympy

from flverify._core.errors import RefusedError

Sign: TypeAlias = Literal[">", ">="]  # above zero, or not below zero
Signs: TypeAlias = Mapping[sympy.Symbol, Sign]
Polynomial: TypeAlias = Any  # sympy PolyElement: exact, sparse
Quotient: TypeAlias = Any  # sympy FracElement: reduced


class Quotients:
    """Reduced quotients of polynomials in given symbols, over the rationals.

    Reducing is harmless where every denominator of the expression as given differs
    from 0, since the reduced denominator divides their product.

    Parameters
    ----------
    symbols : iterable of sympy.Symbol

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> Quotients([x, y]).of((x**2 - y**2) / (x - y)).as_expr()
    x + y
    """

    def __init__(self, symbols: Iterable[sympy.Symbol]) -> None:
        self.symbols = tuple(symbols)
        # a field without symbols does not exist; the spare one is never used
        self.field = sympy.QQ.frac_field(*(self.symbols or (sympy.Dummy("none"),)))

    def of(self, expression: sympy.Expr) -> Quotient:
        """Convert a rational expression in the symbols.

        Raises
        ------
        RefusedError
            If a denominator is zero for all values of the symbols.
        """
        try:
            return self.field.from_sympy(expression)
        except (ZeroDivisionError, ValueError) as error:
            raise RefusedError(
                "a denominator must not be zero throughout; that of "
                f"{expression} is; correct the expression."
            ) from error


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
    strict = False
    for coefficient, powers in monomials(polynomial):
        if coefficient < 0:
            return None
        if any(s not in signs and k % 2 for s, k in powers.items()):
            return None
        strict = strict or all(signs.get(s) == ">" for s in powers)
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
    out = polynomial.ring.one
    content, factors = polynomial.factor_list()
    for factor, multiplicity in [(polynomial.ring(content), 1), *factors]:
        sign = evident_sign(factor, signs), evident_sign(-factor, signs)
        if ">" in sign:
            out = out * (1 if sign[0] == ">" else (-1) ** multiplicity)
        elif not nonzero:
            out = out * factor**multiplicity
        elif multiplicity % 2:
            out = out * factor
    return out


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
    for side in (1, -1):
        if evident_sign(side * below, signs) is not None:
            return evident_sign(side * above, signs)
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
    above, below = above * value.denom**other, below * value.denom**degree
    return quotients.field(above) / quotients.field(below)


def _put(
    polynomial: Polynomial, symbol: sympy.Symbol, value: Quotient
) -> tuple[int, Polynomial]:
    """Degree n, and the polynomial with the value in it, times its denominator^n."""
    parts = by_powers(polynomial, symbol)
    degree = max(parts, default=0)
    out = polynomial.ring.zero
    for power, part in parts.items():
        raised = value.numer**power if power else 1  # sympy has no 0**0 here
        out += part * raised * value.denom ** (degree - power)
    return degree, out


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
    return {symbol for _, powers in monomials(polynomial) for symbol in powers}


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

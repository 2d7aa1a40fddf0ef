"""Quotients of polynomials in flint, in the shape that sympy's have.

A search reduces thousands of quotients, and flint does so many times faster. What is
found is judged by sympy's own quotients, so that two libraries have to agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd, lcm
from typing import Any, TypeAlias

import flint
import sympy

Raw: TypeAlias = Any  # flint.fmpq_mpoly
Powers: TypeAlias = tuple[int, ...]


class Ring:
    """Polynomials over the rationals, ordered lexicographically.

    Parameters
    ----------
    symbols : iterable of sympy.Symbol

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> ring = Ring([x, y])
    >>> ring.from_dict({(2, 0): 1, (0, 1): -3}).as_expr()
    x**2 - 3*y
    """

    def __init__(self, symbols: Iterable[sympy.Symbol]) -> None:
        self.symbols = tuple(symbols)
        names = tuple(f"x{k}" for k in range(len(self.symbols)))
        self.context = flint.fmpq_mpoly_ctx.get(names, flint.Ordering.lex)

    def __call__(self, number: Any) -> Polynomial:
        """Return a constant."""
        return Polynomial(self, self.context.constant(_flint(number)))

    def from_dict(self, terms: Mapping[Powers, Any]) -> Polynomial:
        """Return the polynomial with these coefficients of these monomials."""
        exact = {powers: _flint(number) for powers, number in terms.items()}
        return Polynomial(self, self.context.from_dict(exact))

    def generator(self, symbol: sympy.Symbol) -> Polynomial:
        """Return a symbol as a polynomial."""
        return Polynomial(self, self.context.gen(self.symbols.index(symbol)))

    @cached_property
    def zero(self) -> Polynomial:
        """The polynomial 0."""
        return self(0)

    @cached_property
    def one(self) -> Polynomial:
        """The polynomial 1."""
        return self(1)


def _flint(number: Any) -> flint.fmpq:
    return flint.fmpq(int(number.numerator), int(number.denominator))


class Polynomial:
    """A polynomial; unlike flint's it has a hash and knows its symbols."""

    __slots__ = ("_hash", "raw", "ring")

    def __init__(self, ring: Ring, raw: Raw) -> None:
        self.ring, self.raw = ring, raw
        self._hash: int | None = None

    def __len__(self) -> int:
        return len(self.raw)

    def __bool__(self) -> bool:
        return len(self.raw) > 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Polynomial):
            return self.ring.symbols == other.ring.symbols and self.raw == other.raw
        return bool(self.raw == other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.ring.symbols, *self.terms()))
        return self._hash

    def _with(self, raw: Raw) -> Polynomial:
        return Polynomial(self.ring, raw)

    def __add__(self, other: Polynomial) -> Polynomial:
        return self._with(self.raw + other.raw)

    def __neg__(self) -> Polynomial:
        return self._with(-self.raw)

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        factor = other.raw if isinstance(other, Polynomial) else other
        return self._with(self.raw * factor)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Polynomial:
        return self._with(self.raw**exponent)

    def exquo(self, other: Polynomial) -> Polynomial:
        """Divide, where there is no remainder."""
        return self._with(self.raw / other.raw)

    def factor_list(self) -> tuple[Any, list[tuple[Polynomial, int]]]:
        """Content, and irreducible factors with their multiplicities."""
        content, factors = self.raw.factor()
        return content, [(self._with(part), int(times)) for part, times in factors]

    def terms(self) -> Iterator[tuple[Powers, flint.fmpq]]:
        """Return monomials and coefficients, the leading one first."""
        return iter(self.raw.terms())

    def coeffs(self) -> list[flint.fmpq]:
        """Coefficients, the leading one first."""
        return list(self.raw.coeffs())

    def itermonoms(self) -> Iterator[Powers]:
        """Return the powers of the symbols in each monomial."""
        return iter(self.raw.monoms())

    def degrees(self) -> Powers:
        """Degree in each symbol."""
        return tuple(map(int, self.raw.degrees()))

    @property
    def is_ground(self) -> bool:
        """Whether no symbol occurs."""
        return bool(self.raw.is_constant())

    def as_expr(self) -> sympy.Expr:
        """Write it in sympy."""
        parts = []
        for powers, c in self.terms():
            each = zip(self.ring.symbols, powers, strict=True)
            number = sympy.Rational(int(c.p), int(c.q))
            parts.append(sympy.Mul(number, *(s**k for s, k in each if k)))
        return sympy.Add(*parts)


@dataclass(frozen=True, eq=False)
class Quotient:
    """A reduced quotient: whole coefficients, the leading one below positive."""

    numer: Polynomial
    denom: Polynomial

    def __bool__(self) -> bool:
        return bool(self.numer)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Quotient):
            return (self.numer, self.denom) == (other.numer, other.denom)
        return bool(isinstance(other, int) and self.numer == other * self.denom)

    def __hash__(self) -> int:
        return hash((self.numer, self.denom))

    def __neg__(self) -> Quotient:
        return Quotient(-self.numer, self.denom)

    def __add__(self, other: Quotient | int) -> Quotient:
        other = self._lifted(other)
        above = self.numer * other.denom + other.numer * self.denom
        return reduced(above, self.denom * other.denom)

    __radd__ = __add__

    def __sub__(self, other: Quotient | int) -> Quotient:
        return self + -self._lifted(other)

    def __mul__(self, other: Quotient | int) -> Quotient:
        other = self._lifted(other)
        return reduced(self.numer * other.numer, self.denom * other.denom)

    __rmul__ = __mul__

    def __truediv__(self, other: Quotient) -> Quotient:
        return reduced(self.numer * other.denom, self.denom * other.numer)

    def __pow__(self, exponent: int) -> Quotient:
        above, below = self.numer, self.denom
        if exponent < 0:
            above, below = below, above
        return reduced(above ** abs(exponent), below ** abs(exponent))

    def _lifted(self, other: Quotient | int) -> Quotient:
        if isinstance(other, Quotient):
            return other
        return Quotient(self.numer.ring(other), self.numer.ring.one)

    def as_expr(self) -> sympy.Expr:
        """Write it in sympy."""
        return self.numer.as_expr() / self.denom.as_expr()


def reduced(above: Polynomial, below: Polynomial) -> Quotient:
    """Cancel what both have in common, and make the coefficients whole.

    Raises
    ------
    ZeroDivisionError
        If there is nothing below.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> ring = Ring([x, y])
    >>> a, b = ring.generator(x), ring.generator(y)
    >>> reduced(a * a + -(b * b), (a + -b) * 2).as_expr()
    x/2 + y/2
    """
    if not below:
        raise ZeroDivisionError("the denominator of a quotient must not be zero.")
    ring = above.ring
    if not above:
        return Quotient(ring.zero, ring.one)
    p, q = above.raw, below.raw
    if not (p.is_constant() or q.is_constant()):
        common = p.gcd(q)
        p, q = p / common, q / common
    up, low = _content(p), _content(q)
    ratio = up / low
    # signs go up
    sign = 1 if q.leading_coefficient() > 0 else -1
    above_part = p * (sign * ratio.p / up)
    below_part = q * (sign * ratio.q / low)
    return Quotient(Polynomial(ring, above_part), Polynomial(ring, below_part))


def _content(raw: Raw) -> flint.fmpq:
    """Return what, divided by, leaves whole coefficients without a common factor."""
    numbers = raw.coeffs()
    whole = gcd(*(int(c.p) for c in numbers))
    return flint.fmpq(whole, lcm(*(int(c.q) for c in numbers)))


class Field:
    """The field of these quotients.

    Parameters
    ----------
    symbols : iterable of sympy.Symbol
    """

    def __init__(self, symbols: Iterable[sympy.Symbol]) -> None:
        self.ring = Ring(symbols)

    def __call__(self, given: Any) -> Quotient:
        """Take a polynomial, a symbol or a rational number."""
        if isinstance(given, Polynomial):
            return reduced(given, self.ring.one)
        if isinstance(given, sympy.Symbol):
            return Quotient(self.ring.generator(given), self.ring.one)
        return reduced(self.ring(given), self.ring.one)

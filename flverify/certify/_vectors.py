"""Formal vectors, their inner products, and inequalities between them.

A vector is a rational combination of symbols; an expression is a rational combination
of inner products of symbols, of scalar symbols (function values) and of 1. Nothing is
known about a symbol here, its dimension least of all; the provers give it a meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

from flverify._core.checks import numbers
from flverify._core.errors import DomainError, InputError, ShapeError
from flverify._core.exact import Scalar, is_exact, scalar

Symbol: TypeAlias = Hashable
Pair: TypeAlias = tuple[Symbol, Symbol]


def rational(value: object, name: str) -> Fraction:
    """Return a number as a Fraction; floats and expressions with symbols are refused.

    Raises
    ------
    DomainError
        If the value is not a rational number or the text of one.
    """
    number = scalar(value, name)
    if not is_exact(number):
        raise DomainError(
            f"{name} must be a rational number; got {number!r}; write it as a "
            "fraction or as decimal text."
        )
    return Fraction(number)


def listed(items: object, kind: type, name: str) -> tuple[Any, ...]:
    """Return items of one kind as a tuple; what can be read once is read here, once.

    Raises
    ------
    InputError
        If this is no list, or an item is of another kind.
    """
    if not isinstance(items, Iterable) or isinstance(items, str):
        raise InputError(
            f"{name} must be a tuple of {kind.__name__}; got {items!r}; put a single "
            "one in a tuple."
        )
    found = tuple(items)
    for item in found:
        if not isinstance(item, kind):
            raise InputError(
                f"{name} must be of kind {kind.__name__}; got {item!r}; build each "
                "with the functions of this module."
            )
    return found


@dataclass(frozen=True, repr=False)
class Vector:
    """A rational combination of symbols, sorted by their text.

    Examples
    --------
    >>> x, g = vector("x"), vector("g")
    >>> print(x - "1/4" * g)
    -1/4 g + x
    """

    terms: tuple[tuple[Symbol, Fraction], ...] = ()

    def __add__(self, other: Vector) -> Vector:
        if not isinstance(other, Vector):
            _refused(other)
        return Vector(collect([*self.terms, *other.terms]))

    def __radd__(self, other: object) -> Vector:
        zero = isinstance(other, int | Fraction) and not isinstance(other, bool)
        if zero and other == 0:  # the start of sum()
            return self
        return _refused(other)

    def __neg__(self) -> Vector:
        return -1 * self

    def __sub__(self, other: Vector) -> Vector:
        return self + (-other if isinstance(other, Vector) else _refused(other))

    def __rsub__(self, other: object) -> NoReturn:
        _refused(other)

    def __mul__(self, factor: Scalar) -> Vector:
        number = rational(factor, "the factor of a vector")
        return Vector(collect((symbol, number * v) for symbol, v in self.terms))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Scalar) -> Vector:
        return self * (1 / _nonzero(divisor, "the divisor of a vector"))

    def __le__(self, other: object) -> NoReturn:
        raise InputError(
            f"an inequality must be between numbers; got {self!r} and {other!r}; take "
            "squares or inner products of vectors."
        )

    __ge__ = __lt__ = __gt__ = __le__

    def __str__(self) -> str:
        return joined((value, str(symbol)) for symbol, value in self.terms)

    def __repr__(self) -> str:
        return f"the vector {self}"


@dataclass(frozen=True, repr=False)
class Expression:
    """sum of c <u, v> over pairs, c s over scalar symbols, and a constant.

    Examples
    --------
    >>> x, y = vector("x"), vector("y")
    >>> print(square(x - y) + 1)
    1 + <x, x> - 2 <x, y> + <y, y>
    """

    pairs: tuple[tuple[Pair, Fraction], ...] = ()
    scalars: tuple[tuple[Symbol, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    def __add__(self, other: Any) -> Expression:
        right = _expression(other)
        return Expression(
            collect([*self.pairs, *right.pairs], _pair_text),
            collect([*self.scalars, *right.scalars]),
            self.constant + right.constant,
        )

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return -1 * self

    def __sub__(self, other: Any) -> Expression:
        return self + -1 * _expression(other)

    def __rsub__(self, other: Any) -> Expression:
        return _expression(other) + -1 * self

    def __mul__(self, factor: Scalar) -> Expression:
        number = rational(factor, "the factor of an expression")
        return Expression(
            collect(((pair, number * v) for pair, v in self.pairs), _pair_text),
            collect((symbol, number * v) for symbol, v in self.scalars),
            number * self.constant,
        )

    __rmul__ = __mul__

    def __truediv__(self, divisor: Scalar) -> Expression:
        return self * (1 / _nonzero(divisor, "the divisor of an expression"))

    def __le__(self, other: Any) -> Inequality:
        return Inequality(self, _expression(other))

    def __ge__(self, other: Any) -> Inequality:
        return Inequality(_expression(other), self)

    def __lt__(self, other: object) -> NoReturn:
        raise InputError(
            f"an inequality must be written with <= or >=; got < or > between {self} "
            f"and {other}; provers decide no strict ones."
        )

    __gt__ = __lt__

    def __str__(self) -> str:
        parts = [(self.constant, "")] if self.constant else []
        parts += [(v, str(symbol)) for symbol, v in self.scalars]
        parts += [(v, f"<{a}, {b}>") for (a, b), v in self.pairs]
        return joined(parts)

    def __repr__(self) -> str:
        return f"the expression {self}"


@dataclass(frozen=True, repr=False)
class Inequality:
    """left <= right, for all vectors and numbers that the symbols may stand for."""

    left: Expression
    right: Expression

    @property
    def gap(self) -> Expression:
        """Difference right - left, wanted nonnegative."""
        return self.right - self.left

    def __bool__(self) -> bool:
        raise InputError(
            f"an inequality must be proved before it has a truth value; got {self}; "
            "pass it to a prover, and write chains as two inequalities."
        )

    def __str__(self) -> str:
        return f"{self.left} <= {self.right}"

    def __repr__(self) -> str:
        return f"the inequality {self}"


ZERO = Vector()


def vector(symbol: Symbol) -> Vector:
    """Return a symbol, such as a name, as a vector.

    Examples
    --------
    >>> print(vector("x") / 2)
    1/2 x
    """
    return Vector(((_symbol(symbol), Fraction(1)),))


def number(symbol: Symbol) -> Expression:
    """Return a scalar symbol, such as a function value, as an expression.

    Examples
    --------
    >>> print(2 * number("f*") + 1)
    1 + 2 f*
    """
    return Expression(scalars=((_symbol(symbol), Fraction(1)),))


def inner(left: Vector, right: Vector) -> Expression:
    """Inner product of two vectors.

    Raises
    ------
    InputError
        If an argument is not a vector.

    Examples
    --------
    >>> print(inner(vector("x"), vector("x") - vector("y")))
    <x, x> - <x, y>
    """
    if not (isinstance(left, Vector) and isinstance(right, Vector)):
        raise InputError(
            f"an inner product must be of two vectors; got {left!r} and {right!r}; "
            "multiply by numbers with *."
        )
    products = ((_ordered(a, b), v * w) for a, v in left.terms for b, w in right.terms)
    return Expression(collect(products, _pair_text))


def square(v: Vector) -> Expression:
    """Squared norm of a vector.

    Examples
    --------
    >>> print(square(vector("x") + vector("y")))
    <x, x> + 2 <x, y> + <y, y>
    """
    return inner(v, v)


def average(items: Iterable[Any], weights: object = None) -> Any:
    """Weighted average of vectors or of expressions; equal weights by default.

    Raises
    ------
    InputError
        If an item is neither a vector nor an expression.
    ShapeError
        If there is nothing to average or not one weight per item.

    Examples
    --------
    >>> print(average([vector("a"), vector("b")], ["1/4", "3/4"]))
    1/4 a + 3/4 b
    """
    averaged = _averaged(items)
    count = len(averaged)
    given = [Fraction(1, count)] * count if weights is None else weights
    shares = [rational(w, "weights") for w in numbers(given, "weights")]
    if len(shares) != count:
        raise ShapeError(
            f"weights must have one entry per item; got {len(shares)} for {count} "
            f"items; pass {count}."
        )
    terms = [w * item for w, item in zip(shares, averaged, strict=True)]
    return sum(terms[1:], start=terms[0])


def _averaged(items: object) -> tuple[Any, ...]:
    found = tuple(items) if isinstance(items, Iterable) else ()
    if not found:
        raise ShapeError(
            f"an average must be over some items; got {items!r}; pass a list of at "
            "least one."
        )
    for item in found:
        if not isinstance(item, Vector | Expression):
            raise InputError(
                f"an average must be over vectors or expressions; got {item!r}; build "
                "them from symbols."
            )
    return found


def collect(
    terms: Iterable[tuple[Any, Fraction]], text: Callable[[Any], str] = str
) -> tuple[tuple[Any, Fraction], ...]:
    """Add up the coefficients of equal keys, drop zeros, sort by text."""
    total: dict[Any, Fraction] = {}
    for key, value in terms:
        total[key] = total.get(key, Fraction(0)) + value
    kept = [(key, value) for key, value in total.items() if value]
    return tuple(sorted(kept, key=lambda term: text(term[0])))


def joined(parts: Iterable[tuple[Fraction, str]]) -> str:
    """Write out a sum; a part without a name is a number."""
    words: list[str] = []
    for value, name in parts:
        size = str(abs(value)) if abs(value) != 1 or not name else ""
        sign = "-" if value < 0 else "+"
        words.append(sign if words or sign == "-" else "")
        words.append(f"{size} {name}".strip())
    text = " ".join(words).strip() or "0"
    return text.replace("- ", "-", 1) if text.startswith("- ") else text


def _ordered(a: Symbol, b: Symbol) -> Pair:
    return (a, b) if str(a) <= str(b) else (b, a)


def _pair_text(pair: Pair) -> str:
    return f"{pair[0]}\0{pair[1]}"


def _symbol(symbol: Symbol) -> Symbol:
    try:
        hash(symbol)
    except TypeError as error:
        raise InputError(
            f"a symbol must be a name or another hashable value; got {symbol!r}; pass "
            "a text."
        ) from error
    return symbol


def _nonzero(divisor: object, name: str) -> Fraction:
    number = rational(divisor, name)
    if not number:
        raise DomainError(f"{name} must not be zero; got 0; divide by another number.")
    return number


def _refused(other: object) -> NoReturn:
    raise InputError(
        f"a vector must be added to a vector; got {other!r}; take an inner product "
        "first."
    )


def _expression(value: Any) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, Vector):
        raise InputError(
            f"an expression must be made of numbers; got {value!r}; take "
            "square() or inner() of it."
        )
    return Expression(constant=rational(value, "a number in an expression"))

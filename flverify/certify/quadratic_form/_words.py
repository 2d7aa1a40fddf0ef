"""The vocabulary of one-step lemmas on quadratics.

Symbols stand for slots of the state before or after the round, gradients, points with
a given gradient, the minimiser x*, fixed vectors and means over the draw.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.checks import numbers, whole
from flverify._core.errors import DomainError, InputError, ShapeError
from flverify._core.exact import Array
from flverify.certify._vectors import (
    ZERO,
    Expression,
    Symbol,
    Vector,
    collect,
    inner,
    rational,
    vector,
)


@dataclass(frozen=True)
class Slot:
    """A slot of the state, at the server (client None) or at a client."""

    name: str
    client: int | None
    after: bool = False  # the value that the round gives it

    def __str__(self) -> str:
        owner = "" if self.client is None else f"[{self.client}]"
        return f"{self.name}{owner}{'+' if self.after else ''}"


@dataclass(frozen=True)
class GradientAt:
    """grad f_i at a point; client None is F = (1/N) sum_i f_i."""

    point: Vector
    client: int | None

    def __str__(self) -> str:
        return f"grad {function_name(self.client)}({self.point})"


@dataclass(frozen=True)
class PointOf:
    """The point where grad f_i takes a given value."""

    gradient: Vector
    client: int | None

    def __str__(self) -> str:
        return f"grad {function_name(self.client)}^-1({self.gradient})"


@dataclass(frozen=True)
class Minimiser:
    """x*, the minimiser of F."""

    def __str__(self) -> str:
        return "x*"


@dataclass(frozen=True)
class Fixed:
    """A vector of R^d given by its entries."""

    values: tuple[Fraction, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.values))})"


@dataclass(frozen=True)
class Mean:
    """E of a vector over the draw of the cohort."""

    of: Vector

    def __str__(self) -> str:
        return f"E({self.of})"


@dataclass(frozen=True)
class MeanProduct:
    """E of an inner product over the draw of the cohort, a scalar symbol."""

    left: Symbol
    right: Symbol

    def __str__(self) -> str:
        return f"E<{self.left}, {self.right}>"


def server(slot: str) -> Vector:
    """Return a server slot before the round, e.g. `server("model")`.

    Examples
    --------
    >>> print(server("model"))
    model
    """
    return vector(Slot(slot, None))


def client(slot: str, i: int) -> Vector:
    """Return a clients slot at client i before the round, clients from 0.

    Examples
    --------
    >>> print(client("stored", 0))
    stored[0]
    """
    return vector(Slot(slot, whole(i, "client", least=0)))


def after(v: Vector) -> Vector:
    """Return a vector with every slot taken after the round.

    Raises
    ------
    InputError
        If the vector is of the next state already, or a mean.

    Examples
    --------
    >>> print(after(server("model") - minimiser()))
    model+ - x*
    """
    return _replaced(v)


def gradient(point: Vector, client: int | None = None) -> Vector:
    """Gradient of f_i at a point, or of F with F = (1/N) sum_i f_i.

    Examples
    --------
    >>> print(gradient(minimiser()), "and", gradient(minimiser(), 0))
    grad F(x*) and grad f_0(x*)
    """
    return vector(GradientAt(_vector(point), client))


def point_of(gradient: Vector, client: int | None = None) -> Vector:
    """Return the point where grad f_i, or grad F, takes a given value.

    FOCUS stores gradients; this gives the points that its lemmas speak of.

    Examples
    --------
    >>> print(point_of(client("stored", 0), 0))
    grad f_0^-1(stored[0])
    """
    return vector(PointOf(_vector(gradient), client))


def value(point: Vector, client: int | None = None) -> Expression:
    """f_i, or F, at a point, without a constant term: f_i(0) = 0.

    Examples
    --------
    >>> print(value(server("model"), 0))
    1/2 <grad f_0(0), model> + 1/2 <grad f_0(model), model>
    """
    both = gradient(point, client) + gradient(ZERO, client)
    return inner(point, both) / 2


def minimiser() -> Vector:
    """x*, the minimiser of F.

    Examples
    --------
    >>> print(server("model") - minimiser())
    model - x*
    """
    return vector(Minimiser())


def fixed(values: object) -> Vector:
    """Return a vector of R^d with rational entries.

    Examples
    --------
    >>> print(fixed(["1/2", 3]))
    (1/2, 3)
    """
    listed = numbers(values, "values")
    return vector(Fixed(tuple(rational(v, "values") for v in listed)))


def expect(of: Any) -> Any:
    """E over the draw of the cohort, of a vector or of an expression.

    Examples
    --------
    >>> print(expect(inner(after(server("model")), minimiser())))
    E<model+, x*>
    """
    if isinstance(of, Vector):
        terms = [(Mean(vector(s)) if is_random(s) else s, v) for s, v in of.terms]
        return sum((v * vector(symbol) for symbol, v in terms), start=ZERO)
    if not isinstance(of, Expression):
        raise InputError(
            f"an expectation must be of a vector or an expression; got {of!r}; take "
            "square() or inner() of vectors."
        )
    still = [(p, v) for p, v in of.pairs if not (is_random(p[0]) or is_random(p[1]))]
    drawn = [(MeanProduct(*p), v) for p, v in of.pairs if (p, v) not in still]
    return Expression(tuple(still), collect([*of.scalars, *drawn]), of.constant)


def is_random(symbol: Symbol) -> bool:
    """Whether a symbol depends on the draw of the cohort."""
    if isinstance(symbol, Slot):
        return symbol.after
    inside = getattr(symbol, "point", None) or getattr(symbol, "gradient", None)
    return isinstance(inside, Vector) and any(is_random(s) for s, _ in inside.terms)


def require_expected(left: Symbol, right: Symbol) -> None:
    """Check that a product standing by itself does not depend on the draw.

    Raises
    ------
    InputError
        If it does.
    """
    if is_random(left) or is_random(right):
        raise InputError(
            f"a product with the next state must stand under expect(); got <{left}, "
            f"{right}>; take its expectation."
        )


def foreign(symbol: object, wanted: str) -> InputError:
    """Say that a symbol is none of this vocabulary."""
    return InputError(
        f"a one-step lemma must be made of {wanted}; got {symbol}; use the vocabulary "
        "of flverify.certify.quadratic_form."
    )


def no_such_slot(symbol: Slot, names: Iterable[str], n_clients: int) -> InputError:
    """Say that a state has no such slot."""
    return InputError(
        f"a slot must be one of {', '.join(names)}, a clients slot at client 0 to "
        f"{n_clients - 1}; got {symbol}; look at the algorithm's State."
    )


def singular(client: int | None) -> DomainError:
    """Say that no point, or more than one, has a given gradient."""
    return DomainError(
        f"a point with a given gradient must be unique; the Hessian of "
        f"{function_name(client)} is singular; choose another problem."
    )


def entries_of(symbol: Fixed, dim: int) -> Array:
    """Return the entries of a fixed vector of R^dim.

    Raises
    ------
    ShapeError
        If it has another length.
    """
    if len(symbol.values) != dim:
        raise ShapeError(
            f"a fixed vector must have {dim} entries; got {symbol}; pass one number "
            "per coordinate."
        )
    return np.array(symbol.values, dtype=object)


def _replaced(v: Vector) -> Vector:
    parts = [factor * vector(_next(symbol)) for symbol, factor in _vector(v).terms]
    return sum(parts, start=ZERO)


def _next(symbol: Symbol) -> Symbol:
    if isinstance(symbol, GradientAt):
        return GradientAt(_replaced(symbol.point), symbol.client)
    if isinstance(symbol, PointOf):
        return PointOf(_replaced(symbol.gradient), symbol.client)
    if isinstance(symbol, Mean) or (isinstance(symbol, Slot) and symbol.after):
        raise InputError(
            f"after() must be given a vector of the current state; got {symbol}; "
            "lemmas look one round ahead."
        )
    return (
        Slot(symbol.name, symbol.client, True) if isinstance(symbol, Slot) else symbol
    )


def _vector(v: object) -> Vector:
    if not isinstance(v, Vector):
        raise InputError(
            f"a point or gradient must be a vector; got {v!r}; build it from "
            "server(), client(), minimiser() or fixed()."
        )
    return v


def function_name(client: int | None) -> str:
    return "F" if client is None else f"f_{client}"

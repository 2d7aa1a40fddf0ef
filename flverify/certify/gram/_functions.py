"""Functions of a class, known by gradients and values at formal points; hypotheses.

A hypothesis is an inequality gap >= 0 that holds for every function of its class, or
that a lemma assumes. Each keeps how it was made, so that a checker can expand it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flverify._core.checks import numbers
from flverify._core.errors import DomainError, InputError
from flverify.certify._vectors import (
    Expression,
    Inequality,
    Vector,
    average,
    inner,
    listed,
    number,
    rational,
    square,
    vector,
)


@dataclass(frozen=True)
class Function:
    """Any differentiable f with mu/2 |.|^2 convex below it and L/2 |.|^2 above it.

    Definition: f - mu |.|^2/2 is convex and L |.|^2/2 - f is convex; f may live in a
    space of any dimension.

    Parameters
    ----------
    name : str
        How it is printed; one name, one function.
    smoothness : rational > 0 or None
        L, weight f/x^2; None: f need not be smooth.
    strong_convexity : rational < L
        mu, weight f/x^2; 0 is convex, and -L is L-smooth without convexity.

    Raises
    ------
    InputError
        If the name is no text.
    DomainError
        If a constant is not rational or they are not -L <= mu < L.

    Examples
    --------
    >>> f, x = Function("f", 1, "1/10"), vector("x")
    >>> print(f.gradient(x), f.value(x - f.gradient(x)))
    grad f(x) f(-grad f(x) + x)
    """

    name: str
    smoothness: Fraction | None = None
    strong_convexity: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(
                f"the name of a function must be a text; got {self.name!r}; give one."
            )
        mu = rational(self.strong_convexity, "strong_convexity")
        top = self.smoothness
        L = None if top is None else rational(top, "smoothness")
        if (L is None and mu < 0) or (L is not None and not (-L <= mu < L)):
            raise DomainError(
                f"constants must satisfy -L <= mu < L, and mu >= 0 without L; got "
                f"mu = {mu}, L = {L}; choose others."
            )
        object.__setattr__(self, "strong_convexity", mu)
        object.__setattr__(self, "smoothness", L)

    def gradient(self, point: Vector) -> Vector:
        """Gradient at a point."""
        return vector(Slope(self, _vector(point)))

    def value(self, point: Vector) -> Expression:
        """Value at a point."""
        return number(Level(self, _vector(point)))

    def require_smooth(self) -> Fraction:
        """Return L.

        Raises
        ------
        DomainError
            If the function need not be smooth.
        """
        if self.smoothness is None:
            raise DomainError(
                f"{self.name} must be smooth here; it was given no smoothness; pass "
                "one."
            )
        return self.smoothness


@dataclass(frozen=True)
class Slope:
    """The gradient of a function at a point, a vector symbol."""

    function: Function
    point: Vector

    @cached_property
    def text(self) -> str:
        """How it is printed; nested points make this long, so it is kept."""
        return f"grad {self.function.name}({self.point})"

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True)
class Level:
    """The value of a function at a point, a scalar symbol."""

    function: Function
    point: Vector

    @cached_property
    def text(self) -> str:
        """How it is printed; nested points make this long, so it is kept."""
        return f"{self.function.name}({self.point})"

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True)
class Hypothesis:
    """gap >= 0, or gap = 0; `kind` and `arguments` say how it came about."""

    kind: str
    arguments: tuple[Any, ...]
    gap: Expression
    equality: bool = False

    @property
    def assumed(self) -> bool:
        """Whether it restricts the lemma; the others hold of themselves."""
        return self.kind == "given"

    def __str__(self) -> str:
        if self.kind == "given":
            return f"{self.gap} {'=' if self.equality else '>='} 0"
        return f"{self.kind}({', '.join(map(_shown, self.arguments))})"


def interpolation(f: Function, x: Vector, y: Vector) -> Hypothesis:
    """All that gradients and values at two points say of each other.

    f(x) - f(y) - <g_y, x - y> >= (|g_x - g_y|^2/L + mu |x - y|^2
    - 2 (mu/L) <g_x - g_y, x - y>) / (2 (1 - mu/L)); mu/2 |x - y|^2 if L is infinite.

    Examples
    --------
    >>> x, y = vector("x"), vector("y")
    >>> print(interpolation(Function("f"), x, y).gap)
    f(x) - f(y) - <grad f(y), x> + <grad f(y), y>
    """
    _require_function(f)
    mu, step = f.strong_convexity, x - y
    slope = f.gradient(x) - f.gradient(y)
    least = mu / 2 * square(step)
    if f.smoothness is not None:
        L = f.smoothness
        curved = square(slope) / L + mu * square(step) - 2 * mu / L * inner(slope, step)
        least = curved / (2 * (1 - mu / L))
    gap = f.value(x) - f.value(y) - inner(f.gradient(y), step) - least
    return Hypothesis("interpolation", (f, x, y), gap)


def descent(f: Function, x: Vector, y: Vector) -> Hypothesis:
    """f(y) <= f(x) + <grad f(x), y - x> + L/2 |y - x|^2.

    Examples
    --------
    >>> from flverify.certify.gram import prove
    >>> f, x = Function("f", 2), vector("x")
    >>> bool(prove(descent(f, x, x - f.gradient(x)).gap >= 0))
    True
    """
    _require_function(f)
    bound = f.value(x) + inner(f.gradient(x), y - x)
    gap = bound + f.require_smooth() / 2 * square(y - x) - f.value(y)
    return Hypothesis("descent", (f, x, y), gap)


def tangent(f: Function, x: Vector, y: Vector) -> Hypothesis:
    """f(y) >= f(x) + <grad f(x), y - x> + mu/2 |y - x|^2: (strong) convexity.

    Examples
    --------
    >>> x, y = vector("x"), vector("y")
    >>> print(tangent(Function("f", None, 2), x, y).gap)
    -f(x) + f(y) + <grad f(x), x> - <grad f(x), y> - <x, x> + 2 <x, y> - <y, y>
    """
    _require_function(f)
    bound = f.value(x) + inner(f.gradient(x), y - x)
    gap = f.value(y) - bound - f.strong_convexity / 2 * square(y - x)
    return Hypothesis("tangent", (f, x, y), gap)


def lipschitz(f: Function, x: Vector, y: Vector) -> Hypothesis:
    """|grad f(x) - grad f(y)|^2 <= L^2 |x - y|^2.

    Examples
    --------
    >>> from flverify.certify.gram import prove
    >>> x, y = vector("x"), vector("y")
    >>> bool(prove(lipschitz(Function("f", 3), x, y).gap >= 0))
    True
    """
    _require_function(f)
    slope = f.gradient(x) - f.gradient(y)
    gap = f.require_smooth() ** 2 * square(x - y) - square(slope)
    return Hypothesis("lipschitz", (f, x, y), gap)


def jensen(vectors: Sequence[Vector], weights: object = None) -> Hypothesis:
    """|sum w_i v_i|^2 <= sum w_i |v_i|^2 for weights w_i >= 0 of sum 1.

    Raises
    ------
    InputError
        If something is no vector.
    DomainError
        If a weight is negative or they do not sum to 1.

    Examples
    --------
    >>> print(jensen([vector("a"), vector("b")]).gap)
    1/4 <a, a> - 1/2 <a, b> + 1/4 <b, b>
    """
    averaged = listed(vectors, Vector, "the vectors of a mean")
    equal_ = [Fraction(1, len(averaged) or 1)] * (len(averaged) or 1)
    given_ = numbers(equal_ if weights is None else weights, "weights")
    shares = tuple(rational(w, "weights") for w in given_)
    mean = average(averaged, shares)
    if sum(shares) != 1 or min(shares) < 0:
        raise DomainError(
            f"weights must be nonnegative of sum 1; got {', '.join(map(str, shares))}; "
            "normalise them."
        )
    gap = average(map(square, averaged), shares) - square(mean)
    return Hypothesis("jensen", (averaged, shares), gap)


def given(assumed: Inequality) -> Hypothesis:
    """Assume an inequality, between the vectors and at the points that it names.

    What is assumed of a whole function beyond its class, as Polyak-Lojasiewicz, is
    listed once for each point at which it is used: a counterexample has it there, and
    perhaps nowhere else, so that it refutes the lemma as listed and no more.

    Raises
    ------
    InputError
        If it is no inequality.

    Examples
    --------
    Two steps of size 1/L need it twice:

    >>> from flverify.certify.gram import Lemma, prove
    >>> f, x, least = Function("f", 4, -4), vector("x"), number("f*")
    >>> once = x - f.gradient(x) / 4
    >>> twice = once - f.gradient(once) / 4
    >>> def assumed(at):
    ...     return given(2 * (f.value(at) - least) <= square(f.gradient(at)))
    >>> shrunk = f.value(twice) - least <= "9/16" * (f.value(x) - least)
    >>> bool(prove(Lemma(shrunk, (assumed(x), assumed(once)))))
    True
    >>> bool(prove(Lemma(shrunk, (assumed(x),))))
    False
    """
    require_inequality(assumed, "an assumption")
    return Hypothesis("given", (), assumed.gap)


def require_inequality(value: object, what: str) -> None:
    """Check that something is an inequality; == of Python compares what is written.

    Raises
    ------
    InputError
        If it is none.
    """
    if not isinstance(value, Inequality):
        raise InputError(
            f"{what} must be an inequality; got {value!r}; write it with <= or >=; "
            "equalities are one of each, or assumed by equal()."
        )


def equal(left: Expression, right: Any) -> Hypothesis:
    """Assume that two expressions are equal.

    Examples
    --------
    >>> a, b = vector("a"), vector("b")
    >>> print(equal(square(a), inner(a, b)))
    <a, a> - <a, b> = 0
    """
    if not (isinstance(left, Expression) or isinstance(right, Expression)):
        raise InputError(
            f"an equality must be of expressions; got {left!r} and {right!r}; list a "
            "vector that is zero under `where`."
        )
    return Hypothesis("given", (), left - right, equality=True)


def bounded(v: Vector, bound: object) -> Hypothesis:
    """Assume |v|^2 <= bound.

    Examples
    --------
    >>> print(bounded(vector("v"), 4))
    4 - <v, v> >= 0
    """
    return given(square(v) <= rational(bound, "bound"))


def statement(
    inequality: Inequality, assumed: Iterable[Hypothesis], zero: Iterable[Vector]
) -> str:
    """Write a lemma out; the checker writes it anew from the data of a proof."""
    held = ", ".join([*map(str, assumed), *(f"{v} = 0" for v in zero)])
    return f"{inequality}{f' given {held}' if held else ''}"


def _require_function(f: object) -> None:
    if not isinstance(f, Function):
        raise InputError(
            f"a fact must be about a Function; got {f!r}; name its class by one."
        )


def _vector(point: object) -> Vector:
    if not isinstance(point, Vector):
        raise InputError(
            f"a point of a function must be a vector; got {point!r}; build it with "
            "vector()."
        )
    return point


def _shown(argument: Any) -> str:
    if isinstance(argument, Function):
        return argument.name
    if isinstance(argument, tuple):
        return f"[{', '.join(map(str, argument))}]"
    return str(argument)

"""Nonsmooth local losses on rational points: values, subgradients, noise, projections.

Losses are absolute values, hinges, lines and, to leave convexity, capped absolute
values, of one linear score <u, x>. Noise is a rational law of few points with mean 0
that is added to the slope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, Protocol, TypeAlias

from flverify._core.errors import RefusedError

Point: TypeAlias = tuple[Fraction, ...]
Region: TypeAlias = tuple[Any, ...] | None  # as in the plain loop
Law: TypeAlias = Mapping[Fraction, Fraction]  # values of the noise, with their chances

SILENT: Law = {Fraction(0): Fraction(1)}


class Loss(Protocol):
    """A loss of one number, with a slope to use at every point."""

    def value(self, score: Fraction) -> Fraction:
        """Value at a score."""
        ...

    def slope(self, score: Fraction) -> Fraction:
        """Return the derivative; at a kink the chosen subgradient."""
        ...

    @property
    def steepest(self) -> Fraction:
        """Largest |slope|, the Lipschitz constant on the line."""
        ...

    @property
    def kinks(self) -> tuple[Fraction, ...]:
        """Where the slope jumps."""
        ...

    def formula(self, x: str) -> str:
        """Text of the loss at the score x."""
        ...


@dataclass(frozen=True)
class Absolute:
    """weight |x - centre|, with the slope `tilt` times weight at the kink.

    Examples
    --------
    >>> f = Absolute(Fraction(1), Fraction(2))
    >>> f.value(Fraction(0)), f.slope(Fraction(0)), f.slope(Fraction(1))
    (Fraction(2, 1), Fraction(-2, 1), Fraction(0, 1))
    """

    centre: Fraction
    weight: Fraction = Fraction(1)
    tilt: Fraction = Fraction(0)

    def value(self, score: Fraction) -> Fraction:
        """Value at a score."""
        return self.weight * abs(score - self.centre)

    def slope(self, score: Fraction) -> Fraction:
        """Subgradient used at a score."""
        sign = (score > self.centre) - (score < self.centre)
        return self.weight * (sign or self.tilt)

    @property
    def steepest(self) -> Fraction:
        """Largest |slope|."""
        return self.weight

    @property
    def kinks(self) -> tuple[Fraction, ...]:
        """Where the slope jumps."""
        return (self.centre,)

    def formula(self, x: str) -> str:
        """Text of the loss at the score x."""
        return _times(self.weight, f"|{_from(self.centre, x)}|")


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - label x), with the slope -`tilt` label at the kink.

    Examples
    --------
    >>> f = Hinge(Fraction(2))
    >>> f.value(Fraction(0)), f.slope(Fraction(0)), f.slope(Fraction(1))
    (Fraction(1, 1), Fraction(-2, 1), Fraction(0, 1))
    """

    label: Fraction
    tilt: Fraction = Fraction(0)

    def value(self, score: Fraction) -> Fraction:
        """Value at a score."""
        return max(Fraction(0), 1 - self.label * score)

    def slope(self, score: Fraction) -> Fraction:
        """Subgradient used at a score."""
        short = 1 - self.label * score
        return -self.label * (self.tilt if short == 0 else Fraction(int(short > 0)))

    @property
    def steepest(self) -> Fraction:
        """Largest |slope|."""
        return abs(self.label)

    @property
    def kinks(self) -> tuple[Fraction, ...]:
        """Where the slope jumps."""
        return (1 / self.label,)

    def formula(self, x: str) -> str:
        """Text of the loss at the score x."""
        sign = "-" if self.label > 0 else "+"
        return f"max(0, 1 {sign} {_times(abs(self.label), x)})"


@dataclass(frozen=True)
class Line:
    """The loss rise times x."""

    rise: Fraction

    def value(self, score: Fraction) -> Fraction:
        """Value at a score."""
        return self.rise * score

    def slope(self, score: Fraction) -> Fraction:
        """Slope, the same everywhere."""
        del score
        return self.rise

    @property
    def steepest(self) -> Fraction:
        """Largest |slope|."""
        return abs(self.rise)

    @property
    def kinks(self) -> tuple[Fraction, ...]:
        """No kinks."""
        return ()

    def formula(self, x: str) -> str:
        """Text of the loss at the score x."""
        return _times(self.rise, x)


@dataclass(frozen=True)
class Capped:
    """The loss min(|x - centre|, 1), which is not convex.

    Examples
    --------
    >>> Capped(Fraction(0)).value(Fraction(5)), Capped(Fraction(0)).slope(Fraction(5))
    (Fraction(1, 1), Fraction(0, 1))
    """

    centre: Fraction

    def value(self, score: Fraction) -> Fraction:
        """Value at a score."""
        return min(abs(score - self.centre), Fraction(1))

    def slope(self, score: Fraction) -> Fraction:
        """Slope used at a score, 0 at the kinks."""
        far = score - self.centre
        return Fraction((0 < far < 1) - (-1 < far < 0))

    @property
    def steepest(self) -> Fraction:
        """Largest |slope|."""
        return Fraction(1)

    @property
    def kinks(self) -> tuple[Fraction, ...]:
        """Where the slope jumps."""
        return (self.centre - 1, self.centre, self.centre + 1)

    def formula(self, x: str) -> str:
        """Text of the loss at the score x."""
        return f"min(|{_from(self.centre, x)}|, 1)"


def two_points(up: Fraction, down: Fraction) -> Law:
    """Return the law of mean 0 on the two points up > 0 and -down < 0.

    Examples
    --------
    >>> two_points(Fraction(1), Fraction(3))
    {Fraction(1, 1): Fraction(3, 4), Fraction(-3, 1): Fraction(1, 4)}
    """
    return {up: down / (up + down), -down: up / (up + down)}


@dataclass(frozen=True, eq=False)
class Client:
    """A loss of the score <direction, x>, with noise on its slope.

    Parameters
    ----------
    loss : Loss
    noise : mapping of value to chance
        Law of mean 0.
    direction : tuple of rationals
        Of rational length.
    """

    loss: Loss
    noise: Law
    direction: Point = (Fraction(1),)

    def value(self, x: Point) -> Fraction:
        """f_i(x)."""
        return self.loss.value(inner(self.direction, x))

    def gradient(self, x: Point, draw: Fraction = Fraction(0)) -> Point:
        """Return the stochastic subgradient for one draw of the noise."""
        slope = self.loss.slope(inner(self.direction, x)) + draw
        return tuple(slope * u for u in self.direction)

    @property
    def unbiased(self) -> bool:
        """Whether the noise is a law of mean 0."""
        chances = list(self.noise.values())
        mean = sum(v * chance for v, chance in self.noise.items())
        return mean == 0 and sum(chances) == 1 and min(chances) >= 0

    @property
    def variance(self) -> Fraction:
        """sigma_i^2, the same at every point."""
        spread = sum((v * v * p for v, p in self.noise.items()), Fraction(0))
        return spread * inner(self.direction, self.direction)

    @property
    def second_moment(self) -> Fraction:
        """Supremum of E|g|^2 over the whole space."""
        top = self.loss.steepest**2 * inner(self.direction, self.direction)
        return top + self.variance

    @property
    def lipschitz(self) -> Fraction:
        """Lipschitz constant of f_i on the whole space."""
        return self.loss.steepest * length(self.direction)

    @property
    def formula(self) -> str:
        """f_i as a formula in x, or in <u, x> for a direction u."""
        score = (
            "x" if self.direction == (Fraction(1),) else f"<{shown(self.direction)}, x>"
        )
        return self.loss.formula(score)

    @property
    def text(self) -> str:
        """The client in words."""
        noise = ", ".join(f"{v}: {p}" for v, p in self.noise.items())
        along = "" if len(self.direction) == 1 else f" along {shown(self.direction)}"
        return f"{_words(self.loss)}{along}; noise {{{noise}}}"


def _times(factor: Fraction, x: str) -> str:
    """Text of a multiple of x."""
    if abs(factor) == 1:
        return x if factor > 0 else f"-{x}"
    return f"{factor} {x}"


def _from(centre: Fraction, x: str) -> str:
    """Text of x - centre."""
    return f"{x} {'-' if centre > 0 else '+'} {abs(centre)}" if centre else x


def _words(loss: Loss) -> str:
    values = ", ".join(f"{k} = {v}" for k, v in vars(loss).items())
    return f"{type(loss).__name__}({values})"


def inner(u: Sequence[Fraction], v: Sequence[Fraction]) -> Fraction:
    """<u, v>."""
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def minus(u: Point, v: Point) -> Point:
    """Return u - v."""
    return tuple(a - b for a, b in zip(u, v, strict=True))


def squared_distance(u: Point, v: Point) -> Fraction:
    """|u - v|^2."""
    return inner(minus(u, v), minus(u, v))


def length(v: Point) -> Fraction:
    """|v|, if that is rational.

    Raises
    ------
    RefusedError
        If it is irrational.

    Examples
    --------
    >>> length((Fraction(3, 5), Fraction(4, 5)))
    Fraction(1, 1)
    """
    if len(v) == 1:
        return abs(v[0])
    squared = Fraction(inner(v, v))
    above, below = isqrt(squared.numerator), isqrt(squared.denominator)
    if Fraction(above, below) ** 2 != squared:
        raise RefusedError(
            f"the length of a vector must be rational here; got {shown(v)}, of squared "
            f"length {squared}; choose points on rational rays."
        )
    return Fraction(above, below)


def shown(x: Point) -> str:
    """Text of a point."""
    return str(x[0]) if len(x) == 1 else f"({', '.join(map(str, x))})"


def project(x: Point, region: Region) -> Point:
    """Nearest point of a box, of a ball about 0, or of the whole space.

    Examples
    --------
    >>> project((Fraction(3), Fraction(4)), ("ball", Fraction(1)))
    (Fraction(3, 5), Fraction(4, 5))
    >>> project((Fraction(3),), ("box", Fraction(-1), Fraction(2)))
    (Fraction(2, 1),)
    """
    if region is None:
        return x
    if region[0] == "box":
        return tuple(min(max(v, region[1]), region[2]) for v in x)
    if inner(x, x) <= region[1] ** 2:
        return x
    return tuple(v * region[1] / length(x) for v in x)

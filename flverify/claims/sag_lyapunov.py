"""FOCUS with one local step: a Lyapunov function, and why it shrinks in every round.

Let every client take part with probability p = 1/n, rounds independently. With
gamma = eta N, h_i = stored_i - grad f_i(x*), c_i = grad f_i(x) - grad f_i(x*), a and c
their means over clients, and F the mean of f_i(x) - f_i(x*) - <grad f_i(x*), x - x*>,
a round is

    a' = a + (1/N) sum_S (c_i - h_i),    x' = x - gamma a',

so that E a' = a + (c - a)/n, and x - (n - 1) gamma a moves by -gamma c on average,
free of bias. The noise (1/N) sum_i (I_i - p)(c_i - h_i) has n^2 times its mean square
at most omega times the mean |c_i - h_i|^2 (`spread_only`: of its deviations from the
mean over clients). The function is

    V = |x - (n-1) gamma a|^2 + 3 n gamma F + (n gamma)^2 |a|^2/2
        + (18/5) omega (n + 1/4) gamma^2 mean |h_i|^2,    x* = 0.

Multiplying all f_i and dividing gamma by one number changes nothing, a function that is
L-smooth is so with a larger L, and strongly convex with a smaller modulus. So gamma is
a number g, the largest step of the claim when L = 1; the f_i are 1-smooth; they (or
only their mean) are m-strongly convex, and m is lowered until r = `strong` g m is what
the claimed rate 1 - r needs.
The terms below are all nonnegative and add up to (1 - r) V - E V' - `gain` g F.
Vectors enter as scalars: all forms are sums over coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy

from flverify.certify.interpolation import Point, interpolation

Term: TypeAlias = tuple[str, Any, Any]  # why it is nonnegative, weight, quantity

YOUNG = sympy.Rational(11, 10)  # 2 <c_i, h_i> <= t |c_i|^2 + |h_i|^2/t
PULL = sympy.Rational(6, 5)  # |c|^2 is compared with that at c = (6/5) m x
CROSS = {"each": sympy.Rational(2, 3), "mean": sympy.Rational(1, 2)}

x, a, c, a_next = sympy.symbols("x a c a_next", real=True)
F = sympy.Symbol("F", nonnegative=True)
OWN = sympy.symbols("C_dev H_dev CH_dev", real=True)  # means of |c_i-c|^2 and so on


@dataclass(frozen=True)
class Setting:
    """Numbers or symbols of a round in these units, and what is known of the f_i.

    Parameters
    ----------
    step : scalar
        g: gamma when the f_i are 1-smooth.
    rarity : scalar
        n = 1/p.
    noise : scalar
        omega.
    spread_only : bool
        Whether the noise is bounded by deviations alone.
    modulus : scalar
        m.
    convex : {"each", "mean"}
        Whether each f_i or the mean of them is m-strongly convex; all are convex.
    strong, gain : scalar
        r = strong g m, and the share of g F that is lost besides.
    """

    step: Any
    rarity: Any
    noise: Any
    spread_only: bool
    modulus: Any
    convex: str = "each"
    strong: Any = 1
    gain: Any = 0

    @property
    def loss(self) -> Any:
        """r, what V loses in a round, relative."""
        return self.strong * self.step * self.modulus

    @property
    def memory(self) -> Any:
        """Weight of n gamma^2 mean |h_i|^2 in V."""
        share = 1 + sympy.Rational(1, 4) / self.rarity
        return sympy.Rational(18, 5) * self.noise * share

    @property
    def scatter(self) -> Any:
        """E V' contains this times gamma^2 times the noise's n^2 mean square."""
        return sympy.Rational(3, 2) * (1 + self.step / self.rarity)


def formal(spread_only: bool, convex: str) -> Setting:
    """Return a setting of symbols alone, for what holds at all numbers."""
    names = "g n omega m strong gain"
    g, n, omega, m, strong, gain = sympy.symbols(names, positive=True)
    return Setting(g, n, omega, spread_only, m, convex, strong, gain)


def lyapunov(s: Setting, x: Any, a: Any, square: Any, value: Any) -> Any:
    """V at a point, from mean |h_i|^2 and F.

    Examples
    --------
    >>> one = Setting(sympy.Rational(1, 4), 1, 1, True, 0)
    >>> lyapunov(one, 1, 0, 0, 2)
    5/2
    """
    g, n = s.step, s.rarity
    moved = (x - (n - 1) * g * a) ** 2 + (n * g * a) ** 2 / 2
    return moved + 3 * n * g * value + s.memory * n * g**2 * square


def decrease(s: Setting) -> Any:
    """(1 - r) V - E V' - gain g F, with smoothness for F' and the noise at its most."""
    g, n = s.step, s.rarity
    e, d, ed = OWN
    mean = a + (c - a) / n
    spread = e + d - 2 * ed + (0 if s.spread_only else (c - a) ** 2)
    second = mean**2 + s.noise * spread / n**2
    move = -g * a_next
    value = F + c * move + move**2 / 2
    square = (1 - 1 / n) * (a**2 + d) + (c**2 + e) / n
    after = sympy.Poly(lyapunov(s, x + move, a_next, square, value), a_next)
    constant, linear, quadratic = after.all_coeffs()[::-1]
    expected = constant + linear * mean + quadratic * second
    return (1 - s.loss) * lyapunov(s, x, a, a**2 + d, F) - expected - s.gain * g * F


def terms(s: Setting) -> list[Term]:
    """Nonnegative terms that add up to `decrease`, if their weights are nonnegative."""
    return [*_of_functions(s), *_of_squares(s)]


def _of_functions(s: Setting) -> list[Term]:
    """List what smooth and convex f_i give for the mean over clients."""
    g, m, e = s.step, s.modulus, OWN[0]
    each = s.convex == "each"
    twice = m if each else 0  # the modulus of every f_i
    slope, cost, values = c * x, c**2 + e, 3 * s.rarity * s.loss + s.gain
    needed = g * (s.memory + (1 + YOUNG) * s.scatter * s.noise)
    saved = values * (1 + twice) / 2
    both = needed - saved
    kept = _square_of_mean(s) * PULL * m if each else 0
    left = 2 + 2 * kept - (values + both) * (1 + twice)
    point = left * m - PULL * m * kept - _at_point(s) + (values / 2 + both) * twice
    return [
        (
            "value and cocoercivity",
            g * values,
            (1 + twice) * (slope - cost / 2) - F - twice * x**2 / 2,
        ),
        ("monotone and Lipschitz", g * both, (1 + twice) * slope - cost - twice * x**2),
        ("strongly monotone", g * left, slope - m * x**2),
        ("point", g * point, x**2),
    ]


def _square_of_mean(s: Setting) -> Any:
    """Weight of g |c|^2 that is left over."""
    halved = sympy.Rational(3, 2) * (1 - s.step)
    alone = (1 + YOUNG) * s.scatter * s.noise if s.spread_only else 0
    return s.step * (halved + alone)


def _cross(s: Setting) -> Any:
    """(n - 1)/(n + 1) times this: how |x - (n-1) gamma a|^2 is split."""
    return CROSS[s.convex]


def _at_point(s: Setting) -> Any:
    """Return what r |x - (n-1) gamma a|^2 asks of |x|^2, over g."""
    n = s.rarity
    return s.strong * s.modulus * (1 + _cross(s) * (n - 1) / (n + 1))


def _of_squares(s: Setting) -> list[Term]:
    g, n, m, r = s.step, s.rarity, s.modulus, s.loss
    e, d, ed = OWN
    pull = PULL * m if s.convex == "each" else 0
    noisy = s.scatter * s.noise
    whole = 0 if s.spread_only else 1
    stored = s.memory * (1 - r * n)
    cost = (1 + 1 / YOUNG) * noisy
    split = n**2 / 2 + (n - 1) ** 2 + (n**2 - 1) / _cross(s)
    tracker = (2 * n - 1) / 2 - 3 * g * (n - 1) / 2 + stored - whole * cost - r * split
    return [
        ("square", g * _square_of_mean(s), (c - pull * x) ** 2),
        ("tracker", g**2 * tracker, a**2),
        ("stored gradients", g**2 * (stored - cost), d),
        ("squares", g**2 * noisy * YOUNG, e + 2 * ed / YOUNG + d / YOUNG**2),
        ("square", g**2 * noisy * YOUNG * whole, (c + a / YOUNG) ** 2),
        ("square", 3 * g**3 * (n - 1) / (2 * n), (a - c) ** 2),
        (
            "square",
            r * _cross(s) * (n - 1) / (n + 1),
            (x + (n + 1) * g * a / _cross(s)) ** 2,
        ),
    ]


def used_inequalities() -> Iterator[tuple[str, Any, Any]]:
    """Trace the terms of functions back to interpolation, for 0 < m < 1 and for m = 0.

    Client by client: f (less its tangent at x*) and its gradient c at x. That they are
    strongly monotone is traced to strong convexity itself, for every m.
    """
    m = sympy.Symbol("m", positive=True)
    vectors = sympy.Matrix([x, c])
    star, here = (
        Point("star", _row(0, 0), _row(0, 0)),
        Point("x", _row(1, 0), _row(0, 1)),
    )

    def form(above: Point, below: Point, modulus: Any) -> Any:
        matrix = sympy.Matrix(interpolation(above, below, modulus, sympy.Integer(1)))
        return (vectors.T * matrix * vectors)[0]

    # F and its tangents at x and x*, each at least m |x|^2/2 apart: m = 1 too
    below, above = F - m * x**2 / 2, c * x - F - m * x**2 / 2
    yield "strongly monotone", below + above, c * x - m * x**2
    for modulus in (m, sympy.Integer(0)):
        low = (1 - modulus) * (form(star, here, modulus) - F)
        both = (1 - modulus) * (form(star, here, modulus) + form(here, star, modulus))
        plain = form(star, here, sympy.Integer(0)) - F
        yield (
            f"value and cocoercivity, m = {modulus}",
            low + modulus * plain,
            (1 + modulus) * (c * x - c**2 / 2) - F - modulus * x**2 / 2,
        )
        yield (
            f"monotone and Lipschitz, m = {modulus}",
            both,
            (1 + modulus) * c * x - c**2 - modulus * x**2,
        )


def _row(*values: int) -> Any:
    return sympy.Array([sympy.Integer(v) for v in values])


def distance(s: Setting) -> tuple[Any, list[Term]]:
    """3 V - |x|^2 without V's nonnegative F and mean |h_i|^2, and its terms."""
    g, n = s.step, s.rarity
    w = x - (n - 1) * g * a
    left = 3 * (w**2 + (n * g * a) ** 2 / 2) - x**2
    return left, [
        ("square", sympy.Integer(2), (w - (n - 1) * g * a / 2) ** 2),
        ("tracker", sympy.Rational(3, 2) * (2 * n - 1) * g**2, a**2),
    ]

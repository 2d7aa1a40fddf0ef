"""Agnostic FedAvg, Section 3: Assumptions 1 to 3.

Absolute values and hinges meet all of them on the whole space. Squares have no bound on
their gradients there, so that Assumption 3 asks for a bounded Theta.

Conventions: losses of one score; a loss of <u, x> has the same slopes along every line.
Where a function has no gradient, any subgradient is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import Free, claim
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth
from flverify.claims.nonsmooth_losses import SILENT, Absolute, Client, Hinge, two_points
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

G = sympy.Symbol("G", positive=True)
LOSSES = "every a, label, weight of the points and pair of points"


@claim(
    "agnostic.assump1",
    source=Source("agnostic", "Assumption 1"),
    statement=r"\text{The loss functions }f_i(\cdot):=f(\cdot;D_i),\,i\in[N]"
    r"\text{, are all convex on }\Theta.",
    proposition="The largest of some lines meets Assumption 1, so |x - a| and "
    "max(0, 1 - a x) do, and so do squares; then (3) is convex, as every p_i >= 0.",
    constants={"lines": "largest", "weights": "p_i >= 0"},
    twin={"lines": "smallest"},
    reading_twins={"(3)": {"weights": "a p_i < 0"}},
)
def convexity(c: Any) -> Finding:
    """Judge the inequality of convexity for each family and for their mixtures."""
    sign = {"largest": 1, "smallest": -1}[c.lines]
    return judge.all_of(
        {
            "lines": judge.proof_or_search(
                above_lines(sign), judge.instances(chords(sign), "<=", CHORDS)
            ),
            "square": judge.nonnegative([("gap", squared_gap(sign))], LOSSES),
            "(3)": mixture({"p_i >= 0": 1, "a p_i < 0": -1}[c.weights]),
        }
    )


CHORDS = "absolute values and hinges, a in {-2, 1/2, 1}, a grid of chords in [-3, 3]"


@cache
def above_lines(sign: int) -> Finding:
    """Prove convexity of the largest of lines, or of the smallest for the sign -1.

    |x - a| is that of t (x - a) with |t| <= 1, the hinge that of t (1 - a x) with
    0 <= t <= 1. A function that is `slack` above a line at the ends of a chord is the
    mean slack above it in between, for every line; the largest line counts there.
    """
    x, y, t, r = sympy.symbols("x y t r", real=True)
    w, z, slack_x, slack_y = sympy.symbols("w z slack_x slack_y", nonnegative=True)
    mean = w * (t * x + r + sign * slack_x) + z * (t * y + r + sign * slack_y)
    line = t * (w * x + z * y) + r * (w + z)
    slack = w * slack_x + z * slack_y
    gap = judge.identity([("above a line", mean - line, sign * slack)], LOSSES)
    return judge.all_of(
        {"gap": gap, "sign": judge.nonnegative([("gap", sign * slack)], LOSSES)}
    )


def chords(sign: int) -> Iterator[Case]:
    """Compare a loss, or its negative, at a point of a chord with the chord."""
    points = [Fraction(n, 2) for n in range(-6, 7)]
    for a in (Fraction(-2), Fraction(1, 2), Fraction(1)):
        for loss in (Absolute(a), Hinge(a)):
            for x in points:
                for y in (y for y in points if y > x):
                    middle = (2 * x + y) / 3
                    ends = (2 * loss.value(x) + loss.value(y)) / 3
                    at = {"loss": loss.formula("s"), "times": sign, "x": x, "y": y}
                    left, right = sign * loss.value(middle), sign * ends
                    again = by_hand(loss, sign, x, y)
                    yield Case(at | {"share of x": "2/3"}, left, right, again)


def by_hand(loss: Any, sign: int, x: Fraction, y: Fraction) -> Any:
    """Recheck a chord with the losses as the largest of two lines."""

    def value(s: Fraction) -> Fraction:
        if isinstance(loss, Hinge):
            return max(Fraction(0), 1 - loss.label * s)
        return max(s - loss.centre, loss.centre - s)

    left = value((2 * x + y) / 3)
    return lambda: (sign * left, sign * (2 * value(x) + value(y)) / 3)


def squared_gap(sign: int) -> Any:
    """Return the gap of a square at weights w, z of sum 1, times the sign."""
    share, far = sympy.symbols("share far", positive=True)
    w, z = share / (1 + share), 1 / (1 + share)
    x, y = sympy.Integer(0), far  # squares are translated
    return sign * (w * x**2 + z * y**2 - (w * x + z * y) ** 2)


@cache
def mixture(sign: int) -> Finding:
    """Prove that sum p_i f_i is convex if every f_i is, one client at a time.

    The weight of the one that is added has the sign.
    """
    p, q, one, other = sympy.symbols("p q gap_i gap_j", nonnegative=True)
    gap = p * one + sign * q * other
    return judge.nonnegative([("gap of (3)", gap)], "every N and p")


# -- Assumption 2 --------------------------------------------------------------------

SIGMA_2 = (
    r"\sup_{\theta\in\Theta}\mathbb E_{\xi_i}\big[\|\nabla f(\theta;\xi_i)-\nabla f_i"
    r"(\theta)\|^2\big]\le\sigma_i^2"
)


@claim(
    "agnostic.assump2",
    source=Source("agnostic", "Assumption 2"),
    statement=SIGMA_2 + r",\quad\sigma^2:=\sum_{k=1}^Np_i\sigma_i^2",
    proposition="Two samples with losses |x - a_1| and |x - a_2|, drawn one at a time, "
    "meet Assumption 2 on the whole line with sigma_i^2 = 1, which is attained between "
    "a_1 and a_2; sigma_i^2 scales with the square of the loss.",
    constants={"sigma_squared": 1, "scaled_by": 2},
    twin={"sigma_squared": Fraction(1, 2)},
    reading_twins={"scale": {"scaled_by": 1}},
    exact=("sigma_squared", "scaled_by"),
)
def bounded_variance(c: Any) -> Finding:
    """Judge the variance of two subgradients in [-1, 1], where it is, and its scale."""
    one, other = sympy.symbols("s_1 s_2", real=True)
    mean = (one + other) / 2
    variance = ((one - mean) ** 2 + (other - mean) ** 2) / 2
    within = [one >= -1, one <= 1, other >= -1, other <= 1]
    square = rational(c.sigma_squared)
    bound = judge.implied(within, variance <= square, "every a_1, a_2 and x")
    largest = variance.subs({one: 1, other: -1})  # right of a_1 and left of a_2
    factor = sympy.Symbol("c", positive=True)
    scaled = variance.subs({one: factor * one, other: factor * other})
    power = factor ** rational(c.scaled_by)
    scale = judge.identity([("c f", scaled, power * variance)], "every factor c")
    return judge.all_of(
        {
            "bound": bound,
            "attained": judge.identity([("slopes", largest, square)], "a_1 < x < a_2"),
            "an instance": between(square),
            "scale": scale,
        }
    )


def between(square: Any) -> Finding:
    """Compare the variance at x = 0 of samples |x + 1| and |x - 1| with sigma_i^2."""
    losses = (Absolute(Fraction(-1)), Absolute(Fraction(1)))
    slopes = [loss.slope(Fraction(0)) for loss in losses]
    mean = sum(slopes, Fraction(0)) / 2
    variance = sum((s - mean) ** 2 for s in slopes) / 2
    ends = [loss.value(Fraction(1, 2)) - loss.value(Fraction(0)) for loss in losses]
    rises = [2 * end for end in ends]  # slopes again, as difference quotients
    again = (rises[0] - rises[1]) ** 2 / 4
    pairs = [("of slopes", variance, square), ("of differences", again, square)]
    return judge.identity(pairs, "a_1 = -1, a_2 = 1, x = 0")


@claim(
    "agnostic.assump2.idx",
    source=Source("agnostic", "Assumption 2, definition of sigma^2"),
    statement=r"\sigma^2:=\sum_{k=1}^Np_i\sigma_i^2",
    proposition="With sigma^2 read thus, the noise of the single clients averaged as "
    "from (7) to (8), sum_i p_i sigma_i^2, is at most sigma^2.",
    constants={"factor": 1},
    twin={"factor": Fraction(1, 2)},
    no_control="depends on the index meant; the twin, half of the sum, fails for each",
)
def index_of_the_sum(c: Any) -> Finding:
    """Judge both indices, with the weights of (2) of rational laws."""
    terms = sympy.symbols("t_1:4", nonnegative=True)  # p_k sigma_k^2
    gaps = [
        (f"N = {n}", rational(c.factor) * sum(terms[:n]) - sum(terms[:n]))
        for n in (1, 2, 3)
    ]
    total = sympy.Symbol("sum", nonnegative=True)
    gaps.append(("every N", rational(c.factor) * total - total))
    return judge.readings(
        {
            "(i) sum_k p_k sigma_k^2": judge.nonnegative(gaps, "every N, p and sigma"),
            "(ii) N p_i sigma_i^2 for a fixed i": judge.instances(
                fixed_index(c.factor), "<=", "two clients, either of them as i"
            ),
        }
    )


def fixed_index(factor: Any) -> Iterator[Case]:
    """Compare sum p_k sigma_k^2 with N p_i sigma_i^2, for clients of unequal noise."""
    noisy = Client(Absolute(Fraction(0)), two_points(Fraction(2), Fraction(2)))
    clients = (noisy, Client(Absolute(Fraction(1)), SILENT))
    law = {frozenset({1}): Fraction(1, 3), frozenset({1, 2}): Fraction(2, 3)}
    box = ("box", Fraction(-1), Fraction(2))
    one = Nonsmooth(clients, law, box, Fraction(1, 2), 2, "literal")
    p = one.weights()
    mean = sum(w * client.variance for w, client in zip(p, clients, strict=True))
    for i in (0, 1):
        right = factor * 2 * p[i] * clients[i].variance
        shares = [Fraction(2, 3), Fraction(1, 3)]  # 1/3 + 2/3 . 1/2, and the rest
        by_hand = [4 * shares[0], Fraction(0)]
        again = cohorts.sides(sum(by_hand), factor * 2 * by_hand[i])
        yield Case({**one.where, "i": i + 1}, mean, right, again)


# -- Assumption 3 and the tacit ones -------------------------------------------------


@claim(
    "agnostic.assump3",
    source=Source("agnostic", "Assumption 3"),
    statement=r"\sup_{\theta\in\Theta}\mathbb E_{\xi_i}\big[\|\nabla f(\theta;\xi_i)"
    r"\|^2\big]\le G^2",
    proposition="Assumption 3 is met by |x - a| with G = 1 and by max(0, 1 - a x) with "
    "G = |a| on every Theta, by h (x - b)^2/2 with G = h (R + |b|) where |x| <= R on "
    "Theta, but for no G by h (x - b)^2/2, h > 0, on the whole line.",
    constants={"factor": 1, "far": "(G + 1)/h"},
    twin={"factor": Fraction(99, 100)},
    reading_twins={"square, unbounded": {"far": "1/h"}},
    free=Free("factor", Fraction(1, 2), 2, weaker="larger"),
)
def bounded_gradients(c: Any) -> Finding:
    """Judge each family with G times a factor, then squares on the whole line."""
    f = rational(c.factor)
    t, u, a, b, x = sympy.symbols("t u a b x", real=True)
    h, R = sympy.symbols("h R", positive=True)
    size = sympy.Symbol("size", nonnegative=True)  # |b|
    box = [x <= R, x >= -R, b <= size, b >= -size]
    curved = judge.all_of(
        {
            "above": judge.implied(box, x - b <= f * (R + size), SQUARES),
            "below": judge.implied(box, b - x <= f * (R + size), SQUARES),
        }
    )
    share = [u >= 0, u <= 1]
    far = {"(G + 1)/h": (G + 1) / h, "1/h": 1 / h}[c.far]
    slope = sympy.diff(h * (x - b) ** 2 / 2, x).subs(x, b + far)
    return judge.all_of(
        {
            "absolute value": judge.implied(
                [t >= -1, t <= 1], t**2 <= f**2, "all a, x"
            ),
            "hinge": judge.implied(share, (a * u) ** 2 <= (f * a) ** 2, "all a, x"),
            "square, bounded": curved,
            "square, unbounded": judge.all_of(
                {
                    "gradient": judge.identity(
                        [(f"at b + {c.far}", slope, h * far)], EVERY_G
                    ),
                    "above G": judge.nonnegative(
                        [("gap", (h * far) ** 2 - G**2)], EVERY_G
                    ),
                }
            ),
        }
    )


SQUARES = "all h > 0, b, R, x with |x| <= R; divided by h"
EVERY_G = "every G, h > 0 and b"

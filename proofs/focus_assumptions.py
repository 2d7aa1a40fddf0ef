"""Assumptions 2 to 5 of the FOCUS paper.

The inequality printed as Assumption 2 bounds curvature from above only; with convexity
it gives the Lipschitz gradients that later proofs quote, without it not. Assumption 5
is satisfied by quadratics of one Hessian; the form in a footnote of Table 1, on values
instead of gradients, is another assumption.

Conventions: scalar instances, which are also instances in any dimension; f -> c f
takes L, mu, beta and sigma_G to c times themselves.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.certify.gram import (
    Function,
    Lemma,
    descent,
    square,
    tangent,
    vector,
)
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_lemma3 import gradient_and_gap
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least

ALONE, CONVEX = "(i) the printed inequality alone", "(i) with convex f_i"
ALL = "every N and f_i"
LIPSCHITZ = "(ii) |grad f_i(x) - grad f_i(y)| <= L |x - y|"


@claim(
    "focus.assump2.smooth",
    source=Source("focus", "Assumption 2"),
    statement=r"f_i(x)\le f_i(y)+\langle x-y,\nabla f_i(y)\rangle+\frac L2\|x-y\|^2",
    proposition="The assumption gives |grad f_i(x) - grad f_i(y)|^2 <= L^2 |x - y|^2, "
    "the Lipschitz condition that the proofs of Theorem 1 quote.",
    constants={"factor": "1"},
    twin={"factor": "1/4"},
    no_control="whether the inequality or the Lipschitz condition is meant decides; "
    "the "
    "twin, with the constant L/2, fails under every reading",
)
def smooth(c: SimpleNamespace) -> Finding:
    """Test concave functions; then prove it for convex f_i from the inequality."""
    factor = Fraction(c.factor)
    return judge.readings(
        {
            ALONE: judge.instances(_concave(factor), "<=", "f = -c x^2/2, L = 1"),
            CONVEX: judge.vectors(_from_print(factor), "L = 1/2, 1, 3"),
            LIPSCHITZ: judge.vectors(_quoted(factor), "L = 1/2, 1, 3"),
        }
    )


def _concave(factor: Fraction) -> list[judge.Case]:
    """F = -c x^2/2 satisfies the inequality: the gap is (L + c)/2 |x - y|^2."""
    out = []
    for curvature in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(10)):
        where = {"f": f"-{curvature} x^2/2", "L": 1, "x": 1, "y": 0}
        left, right = curvature**2, factor
        again = partial(_concave_again, curvature, factor)
        out.append(judge.Case(where, left, right, again))
    return out


def _concave_again(curvature: Fraction, factor: Fraction) -> tuple[Any, Any]:
    """Check the inequality at many points, and take the slopes at 1 and 0."""
    grid = [Fraction(j, 3) for j in range(-9, 10)]

    def f(x: Fraction) -> Fraction:
        return -curvature * x * x / 2

    kept = all(
        f(x) <= f(y) - (x - y) * curvature * y + (x - y) ** 2 / 2
        for x in grid
        for y in grid
    )
    slopes = (-curvature * 1, -curvature * 0)
    return (slopes[0] - slopes[1]) ** 2 if kept else factor, factor


def _from_print(factor: Fraction) -> list[tuple[dict[str, Any], Any]]:
    """Use the inequality at x and y towards two further points, and convexity."""
    out = []
    for big in (Fraction(1, 2), Fraction(1), Fraction(3)):
        f, x, y = Function("f", big, 0), vector("x"), vector("y")
        step = (f.gradient(y) - f.gradient(x)) * (1 / big)
        facts = (
            descent(f, y, y - step),
            tangent(f, x, y - step),
            descent(f, x, x + step),
            tangent(f, y, x + step),
        )
        gap = square(f.gradient(x) - f.gradient(y))
        claimed = gap <= factor * big**2 * square(x - y)
        out.append(({"L": big}, Lemma(claimed, facts, interpolate=False)))
    return out


def _quoted(factor: Fraction) -> list[tuple[dict[str, Any], Any]]:
    out = []
    for big in (Fraction(1, 2), Fraction(1), Fraction(3)):
        f, x, y = Function("f", big, -big), vector("x"), vector("y")
        gap = square(f.gradient(x) - f.gradient(y))
        out.append(({"L": big}, gap <= factor * big**2 * square(x - y)))
    return out


@claim(
    "focus.assump3.sc",
    source=Source("focus", "Assumption 3"),
    statement=r"f_i(x)\ge f_i(y)+\langle x-y,\nabla f_i(y)\rangle+\frac\mu2\|x-y\|^2",
    proposition="f_i = h_i x^2/2 satisfies it exactly when h_i >= mu, F satisfies it "
    "with the mu of all f_i, with Assumption 2 it gives mu <= L, and mu scales with f.",
    constants={"half": "1/2", "of the mean": 1, "scaled by": 1},
    twin={"half": "1"},
    reading_twins={
        "F": {"of the mean": 2},
        "mu <= L": {"half": "1/4"},
        "scale": {"scaled by": 2},
    },
    exact=("half", "of the mean", "scaled by"),
)
def strongly_convex(c: SimpleNamespace) -> Finding:
    """Compute the gap of quadratics; average N inequalities; combine with A2."""
    half = sympy.Rational(c.half)
    mu, extra, L, r, scale = sympy.symbols("mu extra L r scale", positive=True)
    x, y = sympy.symbols("x y", real=True)
    curvature = sympy.Symbol("h", positive=True)

    def gap(h: Any, m: Any) -> Any:
        values = h * x**2 / 2 - h * y**2 / 2 - (x - y) * h * y
        return sympy.expand(values - half * m * (x - y) ** 2)

    power = sympy.Rational(getattr(c, "scaled by"))
    scaled = gap(scale * curvature, scale**power * mu)
    return judge.all_of(
        {
            "quadratics": judge.identity(
                [("gap", gap(mu + extra, mu), sympy.expand(extra * (x - y) ** 2 / 2))],
                "every h_i, mu, x and y",
            ),
            "F": _averaged(sympy.Rational(getattr(c, "of the mean"))),
            "mu <= L": judge.implied(
                [half * mu * r <= L * r / 2], mu <= L, "every r = |x - y|^2 > 0"
            ),
            "scale": judge.identity(
                [("f -> c f", scaled, sympy.expand(scale * gap(curvature, mu)))],
                "every scale, h, mu, x and y",
            ),
        }
    )


def _averaged(times: Any) -> Finding:
    """Add the inequalities client by client, from none; divide the sum of N by N.

    F has `times` the bound of the f_i.
    """
    N = sympy.Symbol("N", positive=True)
    gap, total, bound = sympy.symbols("gap_i total bound", real=True)
    n = sympy.Symbol("n", nonnegative=True)
    return judge.all_of(
        {
            "one more": judge.implied(
                [total >= n * bound, gap >= bound],
                total + gap >= (n + 1) * bound,
                "every n",
            ),
            "the mean": judge.implied(
                [total >= N * bound], total / N >= times * bound, ALL
            ),
        },
        scope=ALL,
        argument="by induction from the empty sum; the gap of F is the mean of those "
        "of the f_i, since value and gradient of F are",
    )


@claim(
    "focus.assump4.pl",
    source=Source("focus", "Assumption 4"),
    statement=r"\|\nabla F(x)\|^2\ge2\beta\big(F(x)-F^\star\big),\;\forall x,\;\beta>0",
    proposition="It follows from Assumption 3 with beta = mu and, unless F is "
    "constant, gives beta <= L with Assumption 2; F = (x_1)^2/2 in the plane, not "
    "strongly convex, satisfies it with beta = 1; and beta scales with F.",
    constants={"factor": "2"},
    twin={"factor": "3"},
    free=Free("factor", "1", "3", weaker="smaller"),
)
def polyak_lojasiewicz(c: SimpleNamespace) -> Finding:
    """Minimise the quadratic below F; then test the listed instances."""
    factor = sympy.Rational(c.factor)
    mu, beta, L = sympy.symbols("mu beta L", positive=True)
    far, slope = sympy.symbols("far slope", nonnegative=True)  # |x - x*|, |grad F|
    gap, x, scale = sympy.symbols("gap x scale", real=True)
    below = -gap >= -slope * far + mu * far**2 / 2  # Assumption 3 at x towards x*
    proof = judge.all_of(
        {
            "from Assumption 3": judge.implied(
                [below], slope**2 >= factor * mu * gap, "every mu, F and x"
            ),
            "beta <= L": judge.implied(
                [slope**2 >= factor * beta * gap, slope**2 <= 2 * L * gap, gap > 0],
                factor * beta <= 2 * L,
                "every L-smooth F that is not constant",
            ),
            "|grad F|^2 <= 2 L (F - F*)": gradient_and_gap(),
            "a singular Hessian": judge.implied(
                [], at_least(x**2, factor * (x**2 / 2)), "F = (x_1)^2/2, beta = 1"
            ),
            "scale": judge.identity(
                [
                    (
                        "f -> c f",
                        (scale * slope) ** 2 - factor * scale * beta * scale * gap,
                        sympy.expand(scale**2 * (slope**2 - factor * beta * gap)),
                    )
                ],
                "every scale",
            ),
        }
    )
    return judge.proof_or_search(proof, judge.vectors(_strong(c.factor), "mu = 1, 2"))


def _strong(factor: str) -> list[tuple[dict[str, Any], Any]]:
    out = []
    for mu in (Fraction(1), Fraction(2)):
        f, x, star = Function("F", 4 * mu, mu), vector("x"), vector("x*")
        gap = Fraction(factor) * mu * (f.value(x) - f.value(star))
        lemma = Lemma(gap <= square(f.gradient(x)), where=(f.gradient(star),))
        out.append(({"mu": mu, "L": 4 * mu}, lemma))
    return out


QUADRATICS = "every N, dimension, h, b_i and x"
ASSUMED, FOOTNOTE = "(i) as in Assumption 5", "(ii) as in footnote 5 of Table 1"


@claim(
    "focus.assump5.bh",
    source=Source("focus", "Assumption 5 and Table 1, footnote 5"),
    statement=r"\|\nabla f_i(x)-\nabla F(x)\|\le\sigma_G;\quad\text{footnote: }"
    r"\|f_i(x)-"
    r"F(x)\|\le\sigma_G",
    proposition="Quadratics f_i = h |x - b_i|^2/2 of one curvature satisfy the "
    "assumption with sigma_G = h max_i |b_i - mean b|.",
    constants={"radius": 1},
    twin={"radius": Fraction(1, 2)},
    no_control="gradients in Assumption 5, values in the footnote; the twin, half of "
    "that sigma_G, fails under both",
)
def bounded_heterogeneity(c: SimpleNamespace) -> Finding:
    """Compute both differences on quadratics of one curvature, far out too."""
    return judge.readings(
        {
            ASSUMED: judge.proof_or_search(
                _same_everywhere(Fraction(c.radius)),
                judge.instances(
                    _apart(c.radius, values=False), "<=", "N = 2, 3, x = 0 to 10^6"
                ),
            ),
            FOOTNOTE: judge.instances(
                _apart(c.radius, values=True), "<=", "N = 2, 3, x = 0 to 10^6"
            ),
        }
    )


def _same_everywhere(radius: Fraction) -> Finding:
    """Prove |grad f_i - grad F| = h |b_i - mean b| at every x; compare with sigma_G.

    grad F by induction: `total` is a sum of b_i over as many clients as were added.
    """
    x, b, total = sympy.symbols("x b_i total", real=True)
    h, N = sympy.symbols("h N", positive=True)
    apart, largest = sympy.symbols("apart largest", nonnegative=True)
    more = h * (N * x - total) + h * (x - b), h * ((N + 1) * x - (total + b))
    mean = h * (x - total / N)
    gradients = [
        ("sum of N + 1 gradients", *more),
        ("grad f_i - grad F", h * (x - b) - mean, h * (total / N - b)),
    ]
    part = sympy.Rational(radius.numerator, radius.denominator)
    bound = h * apart <= part * h * largest
    return judge.all_of(
        {
            "gradients": judge.identity(gradients, QUADRATICS),
            "sigma_G": judge.implied([apart <= largest], bound, QUADRATICS),
        }
    )


def _apart(radius: Any, *, values: bool) -> list[judge.Case]:
    out = []
    for points, h in (((-1, 1), 1), ((0, 0, 3), 2), ((-1, 0, 5), Fraction(1, 10))):
        for x in (0, 10, 10**6):
            for i, b in enumerate(points):
                where = {"f_i": "h (x - b_i)^2/2", "h": h, "b": list(points), "x": x}
                mean = Fraction(sum(points), len(points))
                sigma = Fraction(radius) * h * max(abs(p - mean) for p in points)
                squares = Fraction(sum(p * p for p in points), len(points))
                gap = h * (b - mean)
                if values:  # f_i - F, expanded
                    gap = Fraction(h) / 2 * (b * b - squares - 2 * x * (b - mean))
                again = partial(_apart_again, points, h, x, i, sigma, values)
                out.append(judge.Case(where | {"i": i + 1}, abs(gap), sigma, again))
    return out


def _apart_again(
    points: Any, h: Any, x: int, i: int, sigma: Fraction, values: bool
) -> tuple[Any, Any]:
    """Evaluate every client, and average."""
    if values:
        each = [Fraction(h) * (x - b) ** 2 / 2 for b in points]
    else:
        each = [Fraction(h) * (x - b) for b in points]
    return abs(each[i] - sum(each) / len(each)), sigma

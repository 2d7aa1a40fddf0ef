"""Agnostic FedAvg, Section 3: the tacit assumptions after Assumption 3.

Assumption 3 bounds the variance, the gradients and the Lipschitz constant too, so that
sigma and ell add nothing to G. The printed argument for the Lipschitz constant fails
where C touches the boundary of Theta; with Assumption 3 its conclusion holds, and so it
does, without it, where C is in the interior, as for the whole space, which Section 1
allows Theta to be.

Conventions: convex functions along a segment; where one has no gradient, any
subgradient is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import isqrt
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import Free, claim
from flverify.claims.judge import Case
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

G = sympy.Symbol("G", positive=True)


@claim(
    "agnostic.tacit",
    source=Source("agnostic", "Section 3, paragraph after Assumption 3"),
    statement=r"\mathcal C\text{ convex compact},\ \theta^*\in\mathcal C\text{ optimal "
    r"for (3)},\ f_i\text{ Lipschitz on }\mathcal C\text{ with a common constant }\ell",
    proposition="The tacit assumptions are met by clients that disagree; Assumptions 1 "
    "and 3 imply |grad f_i| <= G, and sigma_i^2 <= G^2 and ell <= G may be taken, so "
    "that a bound that grows with sigma and ell gives one with G alone.",
    constants={"factor": 1, "theta*": 1},
    twin={"factor": Fraction(99, 100)},
    reading_twins={"an instance": {"theta*": -1}},
    free=Free("factor", Fraction(1, 2), 2, weaker="larger"),
    structural={"theta*": "a point of an instance"},
)
def tacit(c: Any) -> Finding:
    """Judge an instance, then the three relations, G times a factor on the right."""
    f = rational(c.factor)
    mean, second, variance = sympy.symbols("mean second variance", real=True)
    split = [sympy.Eq(variance, second - mean**2), variance >= 0, second <= G**2]
    laws = "every law of the gradient, squares summed over its coordinates"
    return judge.all_of(
        {
            "an instance": disagreement(rational(getattr(c, "theta*"))),
            "gradients": judge.implied(split, mean**2 <= (f * G) ** 2, laws),
            "variances": judge.implied(split, variance <= (f * G) ** 2, laws),
            "Lipschitz constant": lipschitz_by_gradients(f),
        }
    )


@cache
def lipschitz_by_gradients(factor: Any) -> Finding:
    """Prove f(x) - f(y) <= factor G |x - y| along a segment, x after y by `step`.

    The subgradient g at x, along the segment, has f(y) >= f(x) - g step and g <= G;
    exchanging x and y gives the other sign.
    """
    rise, slope = sympy.symbols("rise g", real=True)
    step = sympy.Symbol("step", positive=True)
    return judge.implied(
        [rise <= slope * step, slope <= G],
        rise <= factor * G * step,
        "every convex f with subgradients of length at most G, every segment",
    )


def disagreement(best: Any) -> Finding:
    """Judge where 2/3 |x - 1| + 1/3 |x + 1| is least; one client has less elsewhere.

    p is that of a law of S. The values of both losses at any x are named; they are
    above their two lines, so that the bound is for all x, and theta* is in [-2, 2].
    """
    law = {frozenset({1}): Fraction(1, 3), frozenset({1, 2}): Fraction(2, 3)}
    p = [rational(cohorts.averaging(law, i)) for i in (1, 2)]
    x, one, two = sympy.symbols("x f_1 f_2", real=True)
    above = [one >= x - 1, one >= 1 - x, two >= x + 1, two >= -x - 1]
    least = p[0] * abs(best - 1) + p[1] * abs(best + 1)
    scope = "f_1 = |x - 1|, f_2 = |x + 1|, S = {1} or {1, 2}, p = (2/3, 1/3)"
    return judge.all_of(
        {
            "in C": judge.nonnegative([("2 - |theta*|", 2 - abs(best))], scope),
            "theta* is optimal": judge.implied(
                above, at_most(least, p[0] * one + p[1] * two), scope
            ),
            "f_2 is less elsewhere": judge.nonnegative(
                [("f_2(theta*) - f_2(-1) - 2", abs(best + 1) - 2)], scope
            ),
        }
    )


@claim(
    "agnostic.lipschitz",
    source=Source("agnostic", "Section 3, paragraph after Assumption 3"),
    statement=r"\text{Since each (convex) }f_i\text{ is also locally Lipschitz and }"
    r"\mathcal C\text{ is compact, }f_i\text{ is Lipschitz on }\mathcal C"
    r"\text{ as well}",
    proposition="Every f_i that is convex on Theta, with what the reading adds, is "
    "Lipschitz on every compact convex C in Theta: in (i) with some ell, for which "
    "`largest` stands, any number; in (iii) with (top - low)/margin, where f_i is "
    "between low and top on C widened by margin; in (iv) with the largest of finitely "
    "many local constants.",
    constants={"largest": 10**6, "interior": False, "factor": 1},
    twin={"interior": True, "factor": Fraction(1, 2)},
    no_control="depends on what the step may use and on where C lies; the twin, C in "
    "the interior of Theta and half of each constant, passes as argued and fails else",
)
def lipschitz(c: Any) -> Finding:
    """Judge the conclusion from convexity, then from each thing that may be meant."""
    return judge.readings(
        {
            "(i) from convexity on Theta and compactness alone": argued(c),
            "(ii) with Assumption 3 in force, ell = G": lipschitz_by_gradients(
                rational(c.factor)
            ),
            "(iii) C in the interior of Theta, as of the whole space": inside(
                rational(c.factor)
            ),
            "(iv) f_i locally Lipschitz at every point of C, as the sentence says": (
                from_pieces(rational(c.factor))
            ),
        }
    ).corrected(
        r"\text{with Assumption 3, }\ell=G\text{; without it, }f_i\text{ is Lipschitz "
        r"on a compact }\mathcal C\text{ in the interior of }\Theta",
        judge.all_of(
            {
                "Assumption 3": lipschitz_by_gradients(sympy.Integer(1)),
                "interior": inside(),
            }
        ),
    )


def argued(c: Any) -> Finding:
    """Search -sqrt(x) on Theta = [0, 1]: with C = Theta no constant is large enough.

    Its quotient over [0, 1/k^2] is k, for every k, so a bound on ell refutes any ell.
    """
    if c.interior:
        return inside()
    facts = steep_and_convex()
    if not facts.passes():  # then it is no example, and nothing is refuted
        return judge.inconclusive(f"the example is not shown: {facts.reason}")
    return judge.instances(roots(c.largest), "<=", "-sqrt(x) on C = Theta = [0, 1]")


@cache
def steep_and_convex() -> Finding:
    """Prove that the quotients of -sqrt(x) grow beyond all k, and that it is convex."""
    k, u, v = sympy.symbols("k u v", positive=True)
    gap = (u**2 + v**2) / 2 - ((u + v) / 2) ** 2  # of the mean of u^2, v^2 and of u, v
    return judge.all_of(
        {
            "quotient": judge.identity([("k", (1 / k) / (1 / k) ** 2, k)], "every k"),
            "convex": judge.identity([("gap", gap, (u - v) ** 2 / 4)], "all u, v"),
        }
    )


def roots(largest: int) -> Iterator[Case]:
    """|f(x) - f(0)| against `largest` times x, at x = 1/(largest + 1)^2."""
    x = Fraction(1, (largest + 1) ** 2)
    rise = Fraction(1, largest + 1)
    at = {
        "f": "-sqrt(x)",
        "Theta = C": "[0, 1]",
        "theta*": 1,
        "x": x,
        "y": 0,
        "ell": largest,
        "for any ell": "x = 1/(ell + 1)^2",
    }
    again = Fraction(isqrt(x.numerator), isqrt(x.denominator))
    yield Case(at, rise, largest * x, cohorts.sides(again, largest * x))


@cache
def inside(factor: Any = 1) -> Finding:
    """Prove that slopes in C are at most those on the way to a larger set.

    With f at most `top` and at least `low` on C widened by `margin` inside Theta, and
    x before y before z = y + margin on a line, convexity gives (f(y) - f(x))/step at
    most (top - low)/margin.
    """
    step, margin = sympy.symbols("step margin", positive=True)
    at_x, at_y, at_z, top, low = sympy.symbols("f_x f_y f_z top low", real=True)
    chord = (step + margin) * at_y <= margin * at_x + step * at_z
    inside_both = [low <= v for v in (at_x, at_y)] + [v <= top for v in (at_y, at_z)]
    scope = "every convex f, every segment of a compact C in the interior of Theta"
    slope = judge.implied(
        [chord, *inside_both],
        (at_y - at_x) * margin <= factor * (top - low) * step,
        scope,
    )
    return judge.all_of(
        {"slope": slope},
        scope=scope,
        argument="C is compact, so that C widened by some margin is still in the "
        "interior of Theta. There f is continuous, as every convex function is; so it "
        "has a least value low and a largest value top on the widened C. x, y and z = "
        "y + margin are on a line, in this order.",
    )


@cache
def from_pieces(factor: Any = 1) -> Finding:
    """Prove that a segment in finitely many pieces has the largest of their constants.

    One piece more is judged, after any number of them.
    """
    length, step, ell = sympy.symbols("length step ell", positive=True)
    rise, more = sympy.symbols("rise more", real=True)
    own = sympy.Symbol("own", nonnegative=True)
    scope = "every f_i locally Lipschitz on C, every segment of a compact convex C"
    piece = judge.implied(
        [rise <= ell * length, more <= own * step, own <= ell],
        rise + more <= factor * ell * (length + step),
        scope,
    )
    return judge.all_of(
        {"one piece more": piece},
        scope=scope,
        argument="Around every point of C f_i has some constant. C is compact, so that "
        "finitely many of these neighbourhoods cover it, and ell is the largest of "
        "their constants. C is convex: a segment between two of its points lies in it, "
        "and in finitely many pieces, each in one neighbourhood.",
    )

"""DGD, (26)-(27) of the FOCUS paper, with columns of sum 1 too: fixed points near x*.

Any number of nodes, f_i = h_i (x - b_i)^2/2, no negative weight, rows and columns of
sum 1, a strongly connected graph; v is the least positive weight, H the largest h_i, B
the largest |x* - b_i|. At a fixed point x = W (x - eta g), g_i = h_i (x_i - b_i). M is
the largest x_i, D how far the least is below it, and |g_i| <= G.

Columns sum to 1, so the sum of x is that of x less eta times that of g: the g_i add up
to 0, and x* is the mean of the x_i with weights h_i. So every |x_i - x*| <= D, and G <=
H (D + B). Row j says that the weighted sum of x_j - x_l is at most eta G; no x_l is
above M, so for whoever is heard v (M - x_l) <= eta G + M - x_j. Along a path from a
node of the largest x, of fewer links than there are nodes, M - x_l <= c eta G with c =
0, 1/v, (1 + 1/v)/v, ...; so D <= c eta H (D + B) in the end, with a c that v and the
number of nodes say. For eta c H <= 1/2 that is D <= 2 c H B eta. With B = 0 it shows
that two fixed points are one; so there is one, the equations being linear.
"""

from __future__ import annotations

from functools import cache

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import below_a_bound, mean_below
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most, both

SCOPE = (
    "any number of nodes, every h_i > 0, b_i and W of no negative entry, rows and "
    "columns of sum 1 and a strongly connected graph"
)


@cache
def fixed_points_near(order: int, power: int) -> Finding:
    """Judge |x_i - x*|^power = O(eta^order) as eta -> 0.

    Examples
    --------
    >>> print(fixed_points_near(1, 1).verdict, fixed_points_near(1, 2).verdict)
    PROVED PROVED
    >>> fixed_points_near(3, 2).passes()
    False
    """
    eta = sympy.Symbol("eta", positive=True)
    small = judge.implied([eta <= 1], at_most(eta**power, eta**order), SCOPE)
    return judge.all_of(
        {
            "the g_i add up to 0": _gradients(),
            "x* is a mean": _between(),
            "one link": _one_link(),
            "D": _closed(),
            "eta^power": small,
        },
        scope=SCOPE,
        argument=__doc__,
    )


def _gradients() -> Finding:
    """Columns of sum 1 keep sums; one more node at a time."""
    total, entry, v, eta = sympy.symbols("total entry v eta", positive=True)
    x, g = sympy.symbols("x g", real=True)  # sums
    h, b, at, best = sympy.symbols("h b x_i best", real=True)
    pairs = [
        ("one more node", total * v + entry * v, (total + entry) * v),
        ("h_i (x_i - x*)", h * (at - best) + h * (best - b), h * (at - b)),
    ]
    nothing = judge.implied([sympy.Eq(x, x - eta * g)], sympy.Eq(g, 0), SCOPE)
    return judge.all_of({"columns": judge.identity(pairs, SCOPE), "g": nothing})


def _between() -> Finding:
    """Judge that x*, a mean with weights h_i, is among the x_i."""
    weights = sympy.Symbol("h", positive=True)  # their sum
    total, top, x, best, D = sympy.symbols("total top x best D", real=True)
    highest = [total <= weights * top, sympy.Eq(total, 0)]
    inside = [x <= top, top - D <= x, best <= top, top - D <= best]
    return judge.all_of(
        {
            "sums": below_a_bound(SCOPE),
            "some x_i >= x*": judge.implied(highest, top >= 0, SCOPE),
            "|x_i - x*| <= D": judge.implied(
                inside, both(x - best <= D, best - x <= D), SCOPE
            ),
        }
    )


def _one_link() -> Finding:
    """Go from a node j to l that it hears with weight w >= v, e = eta G."""
    v, w = sympy.symbols("v w", positive=True)
    here, there, M = sympy.symbols("x_j x_l M", real=True)
    e, near, far, c = sympy.symbols("e near far c", nonnegative=True)
    row = w * (here - there) + (1 - w) * (here - M) <= e
    held = [row, v <= w, w <= 1, here <= M, there <= M]
    return judge.all_of(
        {
            "others at most M": below_a_bound(SCOPE),
            "mean of g": mean_below(1, SCOPE),
            "row j": judge.implied(held, v * (M - there) <= e + M - here, SCOPE),
            "one step more": judge.implied(
                [v * far <= e + near, near <= c * e], v * far <= (1 + c) * e, SCOPE
            ),
        }
    )


def _closed() -> Finding:
    """D <= c eta G and G <= H (D + B), with k = c eta H at most 1/2."""
    D, B, k, G, h, H = sympy.symbols("D B k G h H", nonnegative=True)
    gap = sympy.Symbol("gap", nonnegative=True)  # |x_i - b_i|
    half = sympy.Rational(1, 2)
    held = [k * (D + B) >= D, k <= half]
    alike = [k * D >= D, k <= half]
    steep = [h <= H, gap <= D + B, h * gap >= G]
    return judge.all_of(
        {
            "G": judge.implied(steep, H * (D + B) >= G, SCOPE),
            "D is of order eta": judge.implied(held, 2 * k * B >= D, SCOPE),
            "one fixed point": judge.implied(alike, D <= 0, SCOPE),
        }
    )

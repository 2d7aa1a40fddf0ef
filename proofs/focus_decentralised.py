"""Decentralised gradient descent (26)-(27) and the consensus property of push-pull.

With weights as printed, rows of sum 1, DGD tends to the minimiser of another weighted
sum as eta -> 0; with columns of sum 1 too its distance is of order eta. In push-pull
a fixed point is consensual with zero tracker if both graphs are strongly connected and
eta is constant; without links back it need not be.

Conventions: scalar models and quadratics h_i (x - b_i)^2/2 of two or three nodes, all
numbers symbols; rates of the fixed point are coefficients of its series in eta.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.verdict import Finding

ETA = sympy.Symbol("eta", positive=True)
PRINTED = "(i) weights as printed"
DOUBLY = "(ii) columns of sum 1 too"


@claim(
    "focus.eq26_27.dgd",
    source=Source("focus", "Appendix A, eq. (26)-(27) and Figure 5"),
    statement=r"x_{k,i}^+=x_{k,i}-\eta\nabla f_i(x_{k,i}),\;x_{k+1,i}=\sum_{j\in"
    r"\mathcal{N}_i}w_{i,j}x_{k,j}^+,\;\sum_{j\in\mathcal{N}_i}w_{i,j}=1;\quad"
    r"\text{DGD "
    r"with a fixed step size }\eta\text{ only converges to an }\mathcal{O}(\eta)\text{-"
    r"sized neighborhood of the solution}",
    proposition="For all scalar quadratics h_i (x - b_i)^2/2 and positive weights w_ij "
    "of two nodes, every node's fixed point x_i(eta) of (26)-(27) has |x_i(eta) - x*| "
    "= O(eta), or its square, as eta -> 0.",
    constants={"order": 1},
    twin={"order": 3},
    no_control="norm or squared norm, and whether columns sum to 1, is not printed; "
    "the twin, O(eta^3), fails under every reading",
)
def descent_on_a_graph(c: SimpleNamespace) -> Finding:
    """Expand the fixed point in eta and compare its first coefficients with x*."""
    return judge.readings(
        {
            f"{weights}; O(eta) for the {name}": _near(weights, _needed(c.order, power))
            for weights in (PRINTED, DOUBLY)
            for name, power in (("norm", 1), ("squared norm", 2))
        }
    )


def _needed(order: int, power: int) -> int:
    """How many coefficients vanish if |x_i - x*|^power = O(eta^order)."""
    return -(-order // power)


@cache
def _near(weights: str, needed: int) -> Finding:
    h, b = sympy.symbols("h1:3", positive=True), sympy.symbols("b1:3", real=True)
    w12, other = sympy.symbols("w12 w21", positive=True)
    w21 = w12 if weights == DOUBLY else other
    W = sympy.Matrix([[1 - w12, w12], [w21, 1 - w21]])
    best = sum(v * w for v, w in zip(h, b, strict=True)) / sum(h)
    pairs = []
    for i, point in enumerate(_fixed_point(W, h, b)):
        gap = sympy.together(point - best)
        for j in range(needed):
            value = sympy.cancel(sympy.diff(gap, ETA, j)).subs(ETA, 0)
            pairs.append((f"x_{i + 1} - x*, eta^{j}", sympy.cancel(value), 0))
    return judge.identity(pairs, "two nodes, every h_i > 0, b_i and weight")


def _fixed_point(W: Any, h: Any, b: Any) -> list[Any]:
    """X = W (x - eta h (x - b)), by Cramer's rule."""
    system = sympy.eye(2) - W * (sympy.eye(2) - ETA * sympy.diag(*h))
    right = W * sympy.Matrix([ETA * v * w for v, w in zip(h, b, strict=True)])
    det = sympy.cancel(system.det() / ETA)  # det is 0 at eta = 0, and so are these
    out = []
    for i in range(2):
        swapped = system.copy()
        swapped[:, i] = right
        out.append(sympy.cancel(sympy.cancel(swapped.det() / ETA) / det))
    return out


@claim(
    "focus.consensus_property",
    source=Source("focus", "Section 4.2.1, display after eq. (12)"),
    statement=r"\boldsymbol{x}^\star=R\boldsymbol{x}^\star\quad\text{(consensus "
    r"property), }\boldsymbol{x}^\star\text{ the fixed point of the algorithm under "
    r"some "
    r"mild conditions on the static graph }R\text{ and }C",
    proposition="If all off-diagonal entries of R and C are positive and eta > 0 is "
    "constant, every fixed point of (11)-(12) is consensual with y* = 0, so that "
    "x* = R x*, and by tracking the gradients there sum to 0.",
    constants={"linked": True},
    twin={"linked": False},
)
def fixed_points(c: SimpleNamespace) -> Finding:
    """Solve with the trees of both graphs; `linked`: whether node 1 hears the others.

    With y = C y the tracker is t pi, pi of tree weights; with u'R = u', also of tree
    weights, u'y = 0, so t = 0 as u'pi > 0; and x = R x leaves consensus alone.
    """
    parts = {}
    for n in (2, 3):
        R, C = _row_stochastic("r", n, int(c.linked)), _row_stochastic("q", n, 1).T
        if not c.linked:
            C = _into_first(n)
        u, pi = _trees(R), _trees(C.T)
        y = sympy.Matrix(sympy.symbols(f"y1:{n + 1}"))
        x = sympy.Matrix(sympy.symbols(f"x1:{n + 1}"))
        parts[f"{n} nodes: weights"] = judge.identity(
            [
                ("u'R = u'", sympy.expand(u.T * R), sympy.expand(u.T)),
                ("C pi = pi", sympy.expand(C * pi), sympy.expand(pi)),
                (
                    "u'R(x - eta y) = u'x - eta u'y",
                    sympy.expand(u.T * R * (x - ETA * y)),
                    sympy.expand(u.T * x - ETA * u.T * y),
                ),
            ],
            f"{n} nodes, every R and C with positive entries off the diagonal",
        )
        parts[f"{n} nodes: t = 0 and consensus"] = _nonsingular(n, u, pi)
    return judge.all_of(parts)


def _nonsingular(n: int, u: Any, pi: Any) -> Finding:
    """Judge u'pi > 0, and that I - R and I - C have rank n - 1: a cofactor > 0."""
    values = {
        "u'pi": sympy.expand((u.T * pi)[0]),
        "cofactor of I - R": sympy.expand(sum(u)),
        "cofactor of I - C": sympy.expand(sum(pi)),
    }
    pairs = [(f"{name} is positive", _strictly(v)) for name, v in values.items()]
    scope = f"{n} nodes, every R and C with positive entries off the diagonal"
    return judge.nonnegative(pairs, scope)


def _strictly(value: Any) -> Any:
    """Return the value less half of its first monomial, -1 if it has none.

    Nonnegative for all positive symbols only if the value is positive.
    """
    terms = sympy.Add.make_args(sympy.expand(value))
    return value - terms[0] / 2 if value != 0 else sympy.Integer(-1)


def _row_stochastic(letter: str, n: int, linked: int) -> Any:
    """Positive symbols off the diagonal, node 1's row scaled by `linked`."""
    rows = sympy.zeros(n, n)
    for i in range(n):
        for j in range(n):
            if i != j:
                entry = sympy.Symbol(f"{letter}{i + 1}{j + 1}", positive=True)
                rows[i, j] = (linked if i == n - 1 else 1) * entry
        rows[i, i] = 1 - sum(rows[i, j] for j in range(n) if j != i)
    return rows


def _into_first(n: int) -> Any:
    """C that collects everything at node 1."""
    return sympy.Matrix(n, n, lambda i, _: int(i == 0))


def _trees(R: Any) -> Any:
    """Diagonal cofactors of I - R: u with u'R = u', sums over spanning trees."""
    n = R.shape[0]
    laplacian = sympy.eye(n) - R
    return sympy.Matrix(
        [sympy.expand(laplacian.minor_submatrix(i, i).det()) for i in range(n)]
    )

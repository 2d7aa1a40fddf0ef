"""Decentralised gradient descent (26)-(27) and the consensus property of push-pull.

With weights as printed, rows of sum 1, DGD tends to the minimiser of another weighted
sum as eta -> 0; with columns of sum 1 too its distance is of order eta, whatever the
number of nodes: `flverify.claims.graph_neighbourhood` has the proof. In push-pull
a fixed point is consensual with zero tracker if both graphs are strongly connected and
eta is constant; without links back it need not be. Whether models get there is another
matter: where nodes do not hear themselves, no eta is small enough.

Conventions: scalar models; for DGD quadratics h_i (x - b_i)^2/2. Of two nodes, all
numbers being symbols, the coefficients of the fixed point's series in eta are computed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.graph_neighbourhood import fixed_points_near
from flverify.claims.perron_product import excluded
from flverify.claims.push_pull_fixed_points import consensual
from flverify.claims.push_pull_runs import every_step, small_steps, with_loops
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
    proposition="For all scalar quadratics h_i (x - b_i)^2/2 and weights w_ij on a "
    "strongly connected graph, every node's fixed point x_i(eta) of (26)-(27) has "
    "|x_i(eta) - x*| = O(eta), or its square, as eta -> 0.",
    constants={"order": 1},
    twin={"order": 3},
    no_control="norm or squared norm, and whether columns sum to 1, is not printed; "
    "the twin, O(eta^3), fails under every reading",
)
def descent_on_a_graph(c: SimpleNamespace) -> Finding:
    """Expand two nodes' fixed point in eta; prove it for any number of nodes."""
    found = {}
    for name, power in (("norm", 1), ("squared norm", 2)):
        needed = _needed(c.order, power)
        found[f"{PRINTED}; O(eta) for the {name}"] = _near(PRINTED, needed)
        found[f"{DOUBLY}; O(eta) for the {name}"] = judge.proof_or_search(
            fixed_points_near(c.order, power), _near(DOUBLY, needed)
        )
    return judge.readings(dict(sorted(found.items())))


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
    proposition="If no entry of R and C is negative, both graphs are strongly "
    "connected and eta > 0 is constant, every fixed point of (11)-(12) is consensual "
    "with y* = 0, so that x* = R x*, and by tracking the gradients there sum to 0.",
    constants={"linked": True},
    twin={"linked": False},
)
def fixed_points(c: SimpleNamespace) -> Finding:
    """Prove it for any number of nodes; `linked`: whether the last node hears others.

    Two nodes without links back have other fixed points.
    """
    return consensual(linked=c.linked)


KINDS_OF_GRAPHS = {
    "(i) strongly connected graphs": "strong",
    "(ii) a root of R that is a sink of C, as the server is in the means of FOCUS": (
        "shared"
    ),
    "(iii) a root of R and a sink of C, not the same": "alone",
}


@claim(
    "focus.consensus_property.perron",
    source=Source("focus", "Section 4.2.1, mild conditions on R and C"),
    statement=r"u_R^{\mathsf T}R=u_R^{\mathsf T},\;C\pi_C=\pi_C,\;\boldsymbol{y}^\star="
    r"c\,\pi_C:\quad u_R^{\mathsf T}\boldsymbol{y}^\star=0,\;u_R^{\mathsf T}\pi_C>0"
    r"\Rightarrow c=0",
    proposition="If R and C have no negative entries and rows, columns, of sum 1, one "
    "such u_R and pi_C each of sum 1, and eta > 0, then u_R' pi_C > 0 on the graphs "
    "that the reading says, so that (11) has no fixed point with y* = c pi_C, c not 0.",
    constants={"eta": "1/2"},
    twin={"eta": "0"},
    no_control="the conditions are not printed; the twin, eta = 0, fails under every "
    "reading",
)
def perron_product(c: SimpleNamespace) -> Finding:
    """Take the stationary vectors; see whether the average u_R' x falls."""
    return judge.readings(
        {name: excluded(kind, c.eta) for name, kind in KINDS_OF_GRAPHS.items()}
    )


EVENTUALLY = {
    "(i) every constant eta": "every",
    "(ii) every small eta, no node hearing itself": "small",
    "(iii) small eta, nodes that hear themselves": "loops",
}


@claim(
    "focus.consensus_property.eventually",
    source=Source("focus", "Section 4.2.1, sentence on the consensus property"),
    statement=r"\text{all workers' model parameters eventually converge to a common "
    r"value}",
    proposition="On strongly connected graphs the models of (11)-(12), at the constant "
    "eta and on the graphs that the reading says, converge, for strongly convex f_i.",
    constants={"step": "1/8"},
    twin={"step": "3"},
    no_control="the step size is not printed, and the mild conditions on R and C are "
    "not; the twin, a step size of 3, fails under every reading",
)
def eventually(c: SimpleNamespace) -> Finding:
    """Take runs that never slow down; with loops, a power of the step on each start."""
    found = {
        "every": judge.instances(every_step(), "<", "one node, eta = 3, 5/2"),
        "small": judge.instances(small_steps(), "<", "two nodes, eta = 1/210 and less"),
        "loops": judge.instances(
            with_loops(Fraction(c.step)), "<=", "1 to 3 nodes, f_i = x^2/2, eta = 1/8"
        ),
    }
    return judge.readings({name: found[key] for name, key in EVENTUALLY.items()})

"""Figures 5, 6 and 7 of the FOCUS paper: what they draw of (26)-(27) and of (30)-(35).

Figure 5 writes one node's step of decentralised gradient descent. Figures 6 and 7 write
the matrices of a round in which clients 1 and 3 of four take part, in a row for the
pull and a row for the push. Each gives two matrices one name, in its two rows.

Conventions: scalar models; node 0 is the server. In Figures 6 and 7 a round is the
iteration that pulls, any number of iterations that do not communicate, and the one that
pushes, so tau > 1; local updates are unknown functions of a client's model, or gradient
steps on quadratics where a number is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy

from flverify import mixing
from flverify._core.exact import Array
from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.any_cohort import Inside, OneCohort
from flverify.claims.claim import claim
from flverify.claims.mixing_cases import PAIR, Built, entry_cases, zero_based
from flverify.claims.printed_mixing import average, pull
from flverify.claims.verdict import Finding

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
CLIENTS = range(1, 5)
ETA = sympy.Symbol("eta", positive=True)
COHORT = OneCohort(PAIR, 4)

Times = dict[str, tuple[bool, bool]]  # whether k is r tau + 1, and whether r tau
# r tau + 1 is a multiple of tau for tau = 1 alone
APART: Times = {"pull": (True, False), "push": (False, True)}
AT_ONCE: Times = {"pull, tau = 1": (True, True), "push, tau = 1": (True, True)}
Update = Callable[[str, int, Any], Any]  # (when, client, model)


@claim(
    "focus.eq26_27.figure5",
    source=Source("focus", "Appendix A, Figure 5"),
    statement=r"x_{k+1,1}=\sum_{j\in\mathcal{N}_1}w_{i,j}\big(x_{k,j}-\eta\nabla "
    r"f_j(x_{k,j})\big),\quad\mathcal{N}_1=\{1,3\}",
    proposition="This is what (26)-(27) make of node 1, whose neighbours are nodes 1 "
    "and 3, for all models, weights, eta and differentiable f_j.",
    constants={"members": (1, 3)},
    twin={"members": (3,)},
    no_control="what i is in w_{i,j} is not said, and no i is on the left; the twin, "
    "neighbours without the node itself, fails under both readings",
)
def decentralised_step(c: SimpleNamespace) -> Finding:
    """Put (26) into (27) for node 1, with the weights of every node that i can be."""
    found = {
        "(i) i is the node on the left, 1": _combined(c, [1]),
        "(ii) i is any node": _combined(c, CLIENTS),
    }
    return judge.readings(found)


def _combined(c: SimpleNamespace, nodes: Iterable[int]) -> Finding:
    x = {j: sympy.Symbol(f"x_{j}", real=True) for j in (1, 3)}
    slope = {j: sympy.Symbol(f"g_{j}", real=True) for j in x}  # of f_j at x_j
    w = {(i, j): _weight(i, j) for i, j in product(CLIENTS, x)}
    moved = {j: x[j] - ETA * slope[j] for j in x}  # (26)
    due = sum(w[1, j] * moved[j] for j in (1, 3))  # (27) for node 1
    pairs = [
        (
            f"the step of node 1, with weights of node {i}",
            sum(w[i, j] * (x[j] - ETA * slope[j]) for j in c.members),
            due,
        )
        for i in nodes
    ]
    return judge.identity(pairs, "every model, gradient, weight and eta")


def _weight(i: int, j: int) -> Any:
    """Weight that node i gives node 1 or 3, of any that add to one in a row.

    The neighbours of node 1 are these two; others may have more.
    """
    parts = {k: sympy.Symbol(f"u_{i}{k}", positive=True) for k in (1, 3)}
    rest = 0 if i == 1 else sympy.Symbol(f"rest_{i}", positive=True)
    return parts[j] / (parts[1] + parts[3] + rest)


# -- Figures 6 and 7 -----------------------------------------------------------------

UNMOVED = np.array(sympy.eye(5).tolist(), dtype=object)
PULL_13 = np.array(
    [
        [1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ],
    dtype=object,
)
PULL_ALL = np.array([[1, 0, 0, 0, 0]] * 5, dtype=object)


def push_of(share: Fraction) -> Array:
    """A_{1,3} of the lower rows: the server's row, with a share for client 3."""
    out = UNMOVED.copy()
    out[0] = [0, HALF, 0, share, 0]
    return out


@claim(
    "focus.eq30_32.figure6",
    source=Source("focus", "Appendix C.1, Figure 6, and the sentence after (32)"),
    statement=r"N=4,\;S_r=\{1,3\}:\quad\text{pull: }R=\begin{bmatrix}1&0&0&0&0\\"
    r"1&0&0&0&0\\0&0&1&0&0\\1&0&0&0&0\\0&0&0&0&1\end{bmatrix},\;A=I;\quad"
    r"\text{push: }R=I,\;A=\begin{bmatrix}0&\frac12&0&\frac12&0\\0&1&0&0&0\\"
    r"0&0&1&0&0\\0&0&0&1&0\\0&0&0&0&1\end{bmatrix}",
    proposition="These are R_k and A_k of (32) at the pull, k = r tau + 1, and at the "
    "push, k = r tau, of rounds of clients 1 and 3, and all their rows sum to 1.",
    constants={"share": HALF},
    twin={"share": THIRD},
    no_control="which A(S) stands for V(S), and that tau > 1, is not said; the twin, a "
    "weight of 1/3 in the push, fails under every reading",
)
def drawn_round(c: SimpleNamespace) -> Finding:
    """Take R and A of the cohort from their definitions, at both iterations."""
    return judge.readings(
        {
            "(i) V is A of Figure 1, tau > 1": _as_drawn(c.share, "j", APART),
            "(ii) V is A of Figure 1, every tau": _as_drawn(
                c.share, "j", {**APART, **AT_ONCE}
            ),
            "(iii) V is A as (4) prints it, tau > 1": _as_drawn(c.share, "i", APART),
        }
    )


def _as_drawn(share: Fraction, participant: str, times: Times) -> Finding:
    """Compare (32) with the drawing; `participant` is the index of A in S, see (4)."""
    drawn, entry = push_of(share), average(participant)
    pairs, cases = [], []
    for when, (pulls, pushes) in times.items():
        R, A = (UNMOVED, drawn) if when.startswith("push") else (PULL_13, UNMOVED)
        for name, figure, of_cohort, package in (
            ("R", R, pull if pulls else unmoved, pulled),
            ("A", A, entry if pushes else unmoved, averaged(participant)),
        ):
            again = COHORT.matrix(of_cohort)
            pairs.append((f"{name} at the {when}", again, figure))
            found = UNMOVED if of_cohort is unmoved else package(COHORT)
            at = {"N": 4, "S": cohorts.shown(PAIR), "at the": when, "matrix": name}
            cases += entry_cases(at, found, figure, again, figure)
    pairs += [
        (f"row sums of {name}", COHORT.row_sums(matrix), [1] * 5)
        for name, matrix in (("R", PULL_13), ("A", drawn))
    ]
    scope = "clients 1 and 3 of four; every such tau and round"
    search = judge.instances(cases, "==", "the entries of Figure 6")
    return judge.proof_or_search(judge.identity(pairs, scope), search)


def unmoved(i: int, j: int, inside: Inside, size: Any) -> int:
    """I[i, j]."""
    del inside, size
    return int(i == j)


def pulled(cohort: OneCohort) -> Array:
    """Return R(S) as the package builds it."""
    return mixing.pull_matrix(*zero_based(cohort))


def averaged(participant: str) -> Built:
    """Return A(S) as the package builds it, from Figure 1 or from (4)."""
    reading = {"i": "printed", "j": "figure1"}[participant]

    def built(cohort: OneCohort) -> Array:
        return mixing.aggregation_matrix(*zero_based(cohort), reading=reading)

    return built


@claim(
    "focus.eq33_35.figure7",
    source=Source("focus", "Appendix C.1, Figure 7 and its caption"),
    statement=r"N=4,\;S_r=\{1,3\}:\quad\text{pull: }R_{\rm all}=\begin{bmatrix}1&0&0&0"
    r"&0\\1&0&0&0&0\\1&0&0&0&0\\1&0&0&0&0\\1&0&0&0&0\end{bmatrix},\;A=I;\quad"
    r"\text{push: }R_{\rm all}=I,\;A=\begin{bmatrix}0&\frac12&0&\frac12&0\\0&1&0&0&0\\"
    r"0&0&1&0&0\\0&0&0&1&0\\0&0&0&0&1\end{bmatrix};\quad\text{an equivalent FedAvg "
    r"algorithm as Figure 6 in terms of the server model}",
    proposition="A round of these matrices with local updates of all four clients "
    "leaves the server where a round of Figure 6 with updates of clients 1 and 3 does, "
    "whatever the clients' models are before, in each of them, for tau > 1.",
    constants={"share": HALF},
    twin={"share": THIRD},
    no_control="one name, R_all, is given to two matrices; the twin, a weight of 1/3 "
    "in the push of Figure 7, fails under both readings",
)
def virtual_round(c: SimpleNamespace) -> Finding:
    """Play both rounds on any clients' models, with unknown local updates."""
    return judge.readings(
        {
            "(i) R_all is what each row prints": _same_server(c.share, UNMOVED),
            "(ii) R_all is one matrix, that of the pull": _same_server(
                c.share, PULL_ALL
            ),
        }
    )


def _same_server(share: Fraction, at_the_push: Array) -> Finding:
    scope = "clients 1 and 3 of four, every tau > 1, any models and local updates"
    proof, search = (
        judge.identity(
            [
                (
                    "the server's model",
                    after_round((PULL_ALL, at_the_push), push_of(share), "b", update),
                    after_round((PULL_13, UNMOVED), push_of(HALF), "a", update, PAIR),
                )
            ],
            scope,
        )
        for update in (unknown_update, gradient_step)
    )
    return judge.proof_or_search(proof, search)


def after_round(
    pulls: tuple[Array, Array],
    push: Array,
    before: str,
    update: Update,
    active: Iterable[int] = CLIENTS,
) -> Any:
    """Play a round from the server's model x_0 and clients' own; return the server's.

    `pulls` are R at the iteration that pulls and at the one that pushes, after which
    the clients that are active make a local update each; so they do between.
    """
    x = sympy.symbols(f"x_0 {before}_1:5", real=True)
    nodes = np.array(x, dtype=object)
    for when, R in (("first", pulls[0]), ("between", UNMOVED), ("last", pulls[1])):
        nodes = R @ nodes
        for i in active:
            nodes[i] = update(when, i, nodes[i])
    return (push @ nodes)[0]


def unknown_update(when: str, client: int, model: Any) -> Any:
    """Return what a client makes of its model in one iteration, or in several."""
    return sympy.Function(f"{when}_{client}")(model)


def gradient_step(when: str, client: int, model: Any) -> Any:
    """One step on h_i (x - b_i)^2/2."""
    del when
    h = sympy.Symbol(f"h_{client}", positive=True)
    return model - ETA * h * (model - sympy.Symbol(f"m_{client}", real=True))

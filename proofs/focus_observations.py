"""Appendix D.2 of the FOCUS paper, (70)-(78), and the sum of gradients of Section 5.1.

What D.2 observes of the server, the tracker and the clients' y holds along (67)-(69),
if the server's entry of D_k is switched along with the rest. (73) and (74) weigh with
q_i, by the definition of Assumption 1, what happens with the probability p_i; as bounds
(74) then holds and (73) is the wrong way round, since p_i >= q_i. (75) and (77) leave
out the factor -eta.

Conventions: k = 0 is an r tau, at which (69) collects every y; formal rounds start
from any rows of x_{r tau}; q_i = E[I_i/|S|] with 0/0 = 0; clients' rows only in norms
unless a reading says otherwise. Rounds are independent in (73) and (74), whose E is
given the past: Section 5.3 leaves memory out, and with it p_i is no longer the chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import sympy

from flverify import mixing
from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.any_cohort import OneCohort
from flverify.claims.any_number import tracked
from flverify.claims.claim import claim
from flverify.claims.focus_any_box import EVERY
from flverify.claims.focus_any_rows import empties, telescopes
from flverify.claims.focus_lemma3 import traced
from flverify.claims.focus_placings import Placing, step
from flverify.claims.focus_recursions import Stack
from flverify.claims.focus_runs import FORMAL, formal_rounds
from flverify.claims.focus_server_rows import follow_71, moves
from flverify.claims.focus_trackers import at_start, box_sum
from flverify.claims.mixing_cases import NONE, SOME
from flverify.claims.printed_mixing import pull
from flverify.claims.pulled_distances import means
from flverify.claims.scalar_runs import column, tidied
from flverify.claims.verdict import Finding

SEARCHED = "scalar quadratics, two rounds of any cohorts"


# The server, (70)-(72) -----------------------------------------------------------


@claim(
    "focus.obs70",
    source=Source("focus", "eq. (70)"),
    statement=r"u_R^{\mathsf T}R_k=u_R^{\mathsf T},\;\forall k,\quad u_R=[1,0,\dots,0]",
    proposition="Row 0 of R_k is (1, 0, ..., 0) for every k, N and cohort.",
    constants={"entry": 0},
    twin={"entry": 1},
    exact=("entry",),
)
def server_selects(c: SimpleNamespace) -> Finding:
    """Compare row 0 with that of the identity, at the entry given."""
    pairs = []
    for name, every in (("S not empty", SOME), ("S empty", NONE)):
        row = every.matrix(pull)[c.entry]
        pairs.append((f"{name}: R(S)", row, [1, 0, 0, 0, 0]))
    for n in range(1, 5):
        for s in cohorts.subsets(n):
            row = mixing.pull_matrix(cohorts.zero_based(s), n)[c.entry]
            again = OneCohort(s, n).matrix(pull)[0]
            pairs.append((f"N = {n}, S = {cohorts.shown(s)}", row, again))
    pairs.append(("R_k = I", np.eye(4, dtype=int)[c.entry], [1, 0, 0, 0]))
    return judge.identity(pairs, "every k, N and S")


@claim(
    "focus.obs71",
    source=Source("focus", "eq. (71)"),
    statement=r"\bar x_{k+1}=\begin{cases}\bar x_k&k\ne r\tau\\\bar x_k-\eta\bar "
    r"y_{k+1}"
    r"&k=r\tau\end{cases},\quad\bar y_{k+1}=\begin{cases}\bar y_k&k\ne r\tau\\"
    r"\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_k)&k=r\tau\end{cases}",
    proposition="Along (67)-(69) the server's rows of x and y follow (71).",
    constants={"step": 1},
    twin={"step": 2},
    no_control="D.1 does not say where the server's entry of D_k is after the switch; "
    "the twin, a step of 2 eta, fails under both readings",
)
def server_rows(c: SimpleNamespace) -> Finding:
    """Run a round with the server's entry at k = r tau, and at k = r tau + 1."""
    readings = {
        "(i) D_k[0, 0] = 1 at k = r tau + 1, as (13)-(14) have it": 1,
        "(ii) D_k switched along with R_k, D_k[0, 0] = 1 at k = r tau": 0,
    }
    return judge.readings(
        {name: follow_71(at, c.step) for name, at in readings.items()}
    )


@claim(
    "focus.obs72",
    source=Source("focus", "eq. (72)"),
    statement=r"\mathbb{1}^{\mathsf T}\boldsymbol{y}_{k+1}=\mathbb{1}^{\mathsf T}C_k"
    r"\big("
    r"\boldsymbol{y}_k+\nabla\boldsymbol{f}(\boldsymbol{x}_k)-\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_{k-1})\big)=\dots=\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_k)",
    proposition="The sum of all y_{k+1} is the sum of the gradients at x_k, for every k"
    " of the recursion, and for the tracker of Algorithm 1 and the points of its last "
    "evaluations, or what the reading says of a client that has none.",
    constants={"sum": 1},
    twin={"sum": 2},
    no_control="what line 2 stores is not printed; the twin, twice the sum, fails under"
    " every reading",
)
def tracking(c: SimpleNamespace) -> Finding:
    """Induction over k for any column stochastic C_k; the box under each start."""
    return judge.readings(
        {
            "(i) (65)-(69) with y_0 = grad f(x_{-1})": judge.all_of(
                {
                    "listed": judge.identity(_tracked(c.sum), "1 to 4 nodes"),
                    "a column": tracked(1, 1, c.sum),
                },
                scope="every number of nodes, column stochastic C_k, and f_i",
                argument="the sum of all rows is that of the columns, each of what one "
                "node adds",
            ),
            "(ii) Algorithm 1, g_i = y_0 = 0, with 0 until a client comes": box_sum(
                c.sum, 0, 0
            ),
            "(iii) Algorithm 1, g_i = grad f_i(x_0), y_0 = 0": box_sum(c.sum, 1, 0),
            "(iv) Algorithm 1, g_i = y_0 = 0, gradients at x_0 until a client comes": (
                at_start(c.sum)
            ),
        }
    )


def _tracked(factor: int) -> Iterator[judge.Pair]:
    for n in (1, 2, 3, 4):
        free = sympy.Matrix(n, n, lambda i, j: sympy.Symbol(f"c{i}{j}"))
        C = free.copy()
        for j in range(n):
            C[0, j] = 1 - sum(free[i, j] for i in range(1, n))
        now, ahead = (sympy.Matrix(sympy.symbols(f"{v}:{n}")) for v in "uv")
        y = sympy.Matrix(sympy.symbols(f"y:{n}"))
        y[0] = sum(now) - sum(y[1:, 0])  # tracked: the sum of y_k is that at x_{k-1}
        total = sympy.expand(sum(C * (y + ahead - now)))
        yield f"{n} nodes: a step", total, factor * sum(ahead)
        start = sympy.expand(sum(C * (now + now - now)))
        yield f"{n} nodes: k = 0", start, factor * sum(now)


@claim(
    "focus.obs72b",
    source=Source("focus", "text after eq. (72)"),
    statement=r"y_{r\tau+1,i}=0 \text{ for any client } i",
    proposition="Along (67)-(69) the rows of y_{r tau+1} of all clients are 0, whatever"
    " y_{r tau} is.",
    constants={"collects": "all"},
    twin={"collects": "cohort"},
)
def clients_emptied(c: SimpleNamespace) -> Finding:
    """Apply C_{k,all}, or C(S), to any y and any change of the gradients."""
    placing = Placing("switched", 0, 0, 0, 0, 0, c.collects)
    pairs = []
    for run in formal_rounds():
        n = run.n_clients
        rows, before = (column(sympy.symbols(f"{v}0:{n + 1}")) for v in "ab")
        old = Stack(rows, column(sympy.symbols(f"y0:{n + 1}")), before)
        now = step(run.later(), placing, 2 * run.local_steps, old)
        pairs.append((f"{run}: k = 2 tau", list(now.y[1:]), [0] * n))
    return judge.all_of(
        {"listed": judge.identity(pairs, FORMAL), "any round": empties(placing)},
        scope=EVERY,
        argument="what is listed for small sizes is a second computation",
    )


# Pulling, (73)-(74) --------------------------------------------------------------

DEFINED = "q_i = E[I_i/|S|]"
CASE_3A = "q_i = 1/m of Case 3a"
CHANCE = "q_i = p_i"
WITH_SERVER = "q_i = p_i, the norm with the server's row"
WHY = (
    "whether q_i is the averaging weight of Assumption 1 or the probability to "
    "participate decides; the twin, twice the sum, fails under every reading"
)


@claim(
    "focus.obs73",
    source=Source("focus", "eq. (73)"),
    statement=r"\mathbb{E}\|\boldsymbol{x}_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_F^2="
    r"\sum_{i=1}^Nq_i\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2:=\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|_Q^2",
    proposition="For every law of Assumption 1, independent rounds and all rows, the "
    "mean square of what pulling changes is the sum with weights q_i.",
    constants={"factor": 1},
    twin={"factor": 2},
    no_control=WHY,
)
def pulled_distance(c: SimpleNamespace) -> Finding:
    """Take the mean over cohorts, with each meaning of q_i."""
    found = {
        **_weighed(c.factor, absent=False),
        WITH_SERVER: means("p_i", c.factor, absent=False, server=True),
    }
    return judge.readings(found).corrected(
        r"\mathbb{E}\|\hat{\boldsymbol{x}}_{r\tau+1}-\hat{\boldsymbol{x}}_{r\tau}"
        r"\|_F^2="
        r"\sum_ip_i\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2,\;\text{independent rounds}",
        means("p_i", 1, absent=False),
    )


@claim(
    "focus.obs74",
    source=Source("focus", "eq. (74)"),
    statement=r"\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau+1}\|_F^2="
    r"\sum_{i=1}^N(1-q_i)\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2:=\|\mathbb{1}\bar x_{r"
    r"\tau+1}"
    r"-\boldsymbol{x}_{r\tau}\|_{I-Q}^2",
    proposition="For every law of Assumption 1, independent rounds and all rows, the "
    "mean square distance of the clients from the server after pulling is the sum with "
    "weights 1 - q_i.",
    constants={"factor": 1},
    twin={"factor": 2},
    no_control=WHY,
)
def distance_left(c: SimpleNamespace) -> Finding:
    """Take the mean over cohorts, with each meaning of q_i."""
    return judge.readings(_weighed(c.factor, absent=True)).corrected(
        r"\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau+1}\|_F^2="
        r"\sum_i(1-p_i)\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2,\;\text{independent rounds}",
        means("p_i", 1, absent=True),
    )


def _weighed(factor: int, *, absent: bool) -> dict[str, Finding]:
    weights = {DEFINED: "q_i", CASE_3A: "1/m", CHANCE: "p_i"}
    return {n: means(w, factor, absent=absent) for n, w in weights.items()}


# Local moves, (75)-(78) ----------------------------------------------------------


@claim(
    "focus.obs75",
    source=Source("focus", "eq. (75)"),
    statement=r"x_{(r+1)\tau,i}-x_{r\tau+1,i}=\begin{cases}0&i\notin S_r\\\sum_{k=r\tau"
    r"+2}^{(r+1)\tau}y_{k,i}&i\in S_r\end{cases}",
    proposition="Along (67)-(69) every client moves within a round by the sum of its "
    "y_k, or not at all.",
    constants={"factor": "1"},
    twin={"factor": "-eta"},
)
def client_moves(c: SimpleNamespace) -> Finding:
    """Trace a round; then with the factor -eta."""
    return moves(c.factor).corrected(
        r"x_{(r+1)\tau,i}-x_{r\tau+1,i}=-\eta\sum_{k=r\tau+2}^{(r+1)\tau}y_{k,i},\;"
        r"i\in S_r",
        moves("-eta"),
    )


@claim(
    "focus.obs77",
    source=Source("focus", "eq. (77)"),
    statement=r"\hat{\boldsymbol{x}}_{(r+1)\tau}-\hat{\boldsymbol{x}}_{r\tau+1}=D_r"
    r"\sum_{k=r\tau+2}^{(r+1)\tau}\hat{\boldsymbol{y}}_k",
    proposition="Along (67)-(69) the clients' rows move within a round by the sum of "
    "their y_k, masked by S_r.",
    constants={"factor": "1"},
    twin={"factor": "-eta"},
)
def rows_move(c: SimpleNamespace) -> Finding:
    """Trace a round; then with the factor -eta."""
    return moves(c.factor).corrected(
        r"\hat{\boldsymbol{x}}_{(r+1)\tau}-\hat{\boldsymbol{x}}_{r\tau+1}=-\eta D_r"
        r"\sum_{k=r\tau+2}^{(r+1)\tau}\hat{\boldsymbol{y}}_k",
        moves("-eta"),
    )


@claim(
    "focus.obs76",
    source=Source("focus", "eq. (76)"),
    statement=r"y_{r\tau+k'+1,i}=\begin{cases}0&i\notin S_r\\\nabla f_i(x_{r"
    r"\tau+k',i})-"
    r"\nabla f_i(x_{r\tau,i})&i\in S_r\end{cases}",
    proposition="Along (67)-(69), for k' = 1, ..., tau - 1, a client's y_{r tau+k'+1} "
    "is the gradient at x_{r tau+k'} less that at x_{r tau}, and 0 for i not in S_r.",
    constants={"reference": 0},
    twin={"reference": 1},
    exact=("reference",),
)
def telescoped(c: SimpleNamespace) -> Finding:
    """Trace rounds of few clients; then one iteration more of any round."""
    return _telescopes(c.reference, masked=False)


@claim(
    "focus.obs78",
    source=Source("focus", "eq. (78)"),
    statement=r"\hat{\boldsymbol{y}}_{r\tau+k'+1}=D_r\Big(\nabla\boldsymbol{f}(\hat{"
    r"\boldsymbol{x}}_{r\tau+k'})-\nabla\boldsymbol{f}(\hat{\boldsymbol{x}}_{r\tau})"
    r"\Big)",
    proposition="Along (67)-(69), for k' = 1, ..., tau - 1, the clients' y_{r tau+k'+1}"
    " are the masked differences of their gradients at x_{r tau+k'} and x_{r tau}.",
    constants={"reference": 0},
    twin={"reference": 1},
    exact=("reference",),
)
def masked_difference(c: SimpleNamespace) -> Finding:
    """Trace rounds of few clients; then one iteration more of any round."""
    return _telescopes(c.reference, masked=True)


def _telescopes(reference: int, *, masked: bool) -> Finding:
    pairs = []
    for one in traced():
        on = [int(i in one.run.cohorts[0]) for i in range(one.run.n_clients)]
        for k in range(1, one.last):
            gap = one.gradients(k) - one.gradients(reference)
            right = [tidied(a * v) for a, v in zip(on, gap, strict=True)]
            name = f"{one.run}: {'rows' if masked else 'y'} at k' = {k}"
            pairs.append((name, list(one.y[k + 1][1:]), right))
    return judge.all_of(
        {"traced": judge.identity(pairs, FORMAL), "any round": telescopes(reference)},
        scope=EVERY,
        argument="what is traced for small sizes is a second computation",
    )


# Section 5.1 ---------------------------------------------------------------------


@claim(
    "focus.text51",
    source=Source("focus", "Section 5.1"),
    statement=r"y_{r+1}=\sum_{i=1}^N\nabla f_i(x_{k+1,i})",
    proposition="After every round the tracker of Algorithm 1 is the sum of the "
    "clients' latest gradients, those that line 2 stores for clients that never came.",
    constants={"sum": 1},
    twin={"sum": 2},
    no_control="what line 2 stores, and where a client that never came has its "
    "gradient, is not printed; the twin, twice the sum, fails under every reading",
)
def sum_of_latest(c: SimpleNamespace) -> Finding:
    """Compare under each start of line 2, and with gradients at x_0 where none came."""
    return judge.readings(
        {
            "(i) g_i = 0, y_0 = 0": box_sum(c.sum, 0, 0),
            "(i) g_i = 0, y_0 = 0, gradients at x_0 until a client comes": at_start(
                c.sum
            ),
            "(ii) g_i = grad f_i(x_0), y_0 = 0": box_sum(c.sum, 1, 0),
            "(i) g_i = 0, y_0 = sum of grad f_i(x_0)": box_sum(c.sum, 0, 1),
            "(ii) g_i = grad f_i(x_0), y_0 = their sum": box_sum(c.sum, 1, 1),
        }
    )

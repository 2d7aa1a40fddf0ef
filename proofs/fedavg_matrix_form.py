"""FedAvg as a matrix recursion: Section 4.1 of the FOCUS paper, (6)-(8) and Figure 2.

The recursions are run row by row with the matrices of `flverify.mixing` and compared
with the plain loop of (2). A search over rational quadratics comes first; where it
finds nothing, the same recursion is run on formal gradients, and what agrees then is
proved round by round, for all N, tau and differentiable f_i. Two details decide: the
range r tau <= k < (r+1) tau gives the gradient step at the aggregation iteration
k = (r+1) tau to the cohort of the next round, and (4) puts the averaging weights into
the server's column. In (8) it matters whether the first iteration is numbered 0 or 1.

Conventions: tau local steps per round; cohorts are never empty ((2c) divides by |S|);
clients start from models of their own in (6), from the server's in (8); the first
communication of (8) uses the first cohort of (2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.any_number import (
    CLIENTS,
    rows_add_up,
    stack_pairs,
    unmoved_by_the_server,
)
from flverify.claims.claim import claim
from flverify.claims.fedavg_any_round import all_rows_averaged, pulled_and_averaged
from flverify.claims.fedavg_recursions import (
    Run,
    formal_runs,
    one_index,
    rational_runs,
    single_line,
)
from flverify.claims.mixing_cases import SOME
from flverify.claims.printed_mixing import virtual
from flverify.claims.scalar_runs import CURVATURES, MINIMISERS, STEP
from flverify.claims.schedules import ROUND, whole_round
from flverify.claims.verdict import Finding
from flverify.mixing import is_column_stochastic, is_row_stochastic, virtual_matrix

Recursion = Callable[[Run], list[Any]]


def same_trajectory(
    recursion: Recursion, again: Recursion, *, own_starts: bool
) -> Finding:
    """Judge that a recursion gives the server models of (2), in every round.

    `again` is a second transcription of the recursion on rational quadratics.
    """
    searched = f"{'any' if own_starts else 'equal'} client models at the start"
    cases = (
        _case(run, recursion, again, r, own_starts)
        for run in rational_runs()
        for r in (0, 1)
    )
    found = judge.instances(cases, "==", f"scalar quadratics; {searched}")
    if not found.passes():
        return found
    pairs = (
        (str(run), left, right)
        for run in formal_runs()
        for left, right in zip(recursion(run), run.box, strict=True)
    )
    scope = (
        "N = 1..3, tau = 1..3, two rounds of any nonempty cohorts, every "
        f"differentiable f_i, step size and start; {searched}"
    )
    return judge.identity(pairs, scope)


def _case(
    run: Run, recursion: Recursion, again: Recursion, r: int, own_starts: bool
) -> judge.Case:
    own = {"client models": list(run.client_starts)} if own_starts else {}
    where = {
        "N": run.n_clients,
        "tau": run.local_steps,
        "cohorts": [[i + 1 for i in sorted(s)] for s in run.cohorts],
        "h": list(CURVATURES[: run.n_clients]),
        "b": list(MINIMISERS[: run.n_clients]),
        "step size": run.step_size,
        "x_0": run.start,
        **own,
        "round": r + 1,
    }
    return judge.Case(
        where,
        recursion(run)[r],
        run.box[r],
        lambda: (again(run)[r], _closed_form(run)[r]),
    )


def _closed_form(run: Run) -> list[Fraction]:
    """Server models of (2): x' = mean over S of b_i + (1 - eta h_i)^tau (x - b_i)."""
    x, models = run.start, []
    for cohort in run.cohorts[:-1]:
        ends = [
            MINIMISERS[i]
            + (1 - STEP * CURVATURES[i]) ** run.local_steps * (x - MINIMISERS[i])
            for i in sorted(cohort)
        ]
        x = sum(ends, Fraction(0)) / len(ends)
        models.append(x)
    return models


def _one_index_again(
    run: Run, first: int, weights_at: str, range_from: int
) -> list[Any]:
    """(6)-(7) entry by entry, without matrices."""
    tau, x, models = run.local_steps, [run.start, *run.client_starts], []
    for k in range(first, run.rounds * tau + 1):
        for r, cohort in enumerate(run.cohorts):
            if k == r * tau + 1:
                x = [x[0] if i - 1 in cohort else v for i, v in enumerate(x)]
        for r, cohort in enumerate(run.cohorts):
            if r * tau + range_from <= k < (r + 1) * tau + range_from:
                x = [_stepped(i, v) if i - 1 in cohort else v for i, v in enumerate(x)]
        for r, cohort in enumerate(run.cohorts[:-1]):
            if k == (r + 1) * tau:
                x = _aggregated(x, cohort, weights_at)
                models.append(x[0])
    return models


def _aggregated(
    x: Sequence[Fraction], cohort: frozenset[int], weights_at: str
) -> list[Fraction]:
    weight = Fraction(1, len(cohort))
    if weights_at == "[0, i]":
        return [sum((weight * x[i + 1] for i in cohort), Fraction(0)), *x[1:]]
    own = [v + weight * x[0] if i in cohort else v for i, v in enumerate(x[1:])]
    return [Fraction(0), *own]


def _single_line_again(run: Run, first: int, communication: int) -> list[Fraction]:
    """(8) as local gradient descent from the server model, by counting steps."""
    x, models = run.start, []
    for r, cohort in enumerate(run.cohorts[:-1]):
        steps = run.local_steps + (1 - first + communication if r == 0 else 0)
        ends = []
        for i in cohort:
            end = x
            for _ in range(steps):
                end = _stepped(i + 1, end)
            ends.append(end)
        x = sum(ends, Fraction(0)) / len(ends)
        models.append(x)
    return models


def _stepped(row: int, model: Fraction) -> Fraction:
    return model - STEP * CURVATURES[row - 1] * (model - MINIMISERS[row - 1])


@claim(
    "focus.notation.stack",
    source=Source("focus", "Section 4.1 and Appendix B"),
    statement=r"\boldsymbol{x}_k=\mathrm{vstack}[x_{k,0};x_{k,1};\dots;x_{k,N}]\in"
    r"\mathbb{R}^{(N+1)\times d},\quad\nabla\boldsymbol{f}(\boldsymbol{x}_k)="
    r"\mathrm{vstack}[0;\nabla f_1(x_{k,1});\dots;\nabla f_N(x_{k,N})],\quad "
    r"f_0(x)\equiv 0",
    proposition="The stacked gradient with f_0 = 0 has a zero server row, leaves F of "
    "(1) as it is, sums to N grad F at consensus as (28) says, and leaves the server "
    "where it is in a local step.",
    constants={"f_0": 0},
    twin={"f_0": 1},
    exact=("f_0",),
)
def notation_stack(c: SimpleNamespace) -> Finding:
    """Compare with (1), (9), (28) and (33); f_0 is c times the sum of coordinates."""
    sizes = product((1, 2, 3, 4), (1, 2, 3))
    pairs = [pair for n, dim in sizes for pair in stack_pairs(n, dim, c.f_0)]
    return judge.all_of(
        {
            "small": judge.identity(pairs, "N = 1..4, d = 1..3"),
            "the server": unmoved_by_the_server(c.f_0),
            "(28)": rows_add_up(c.f_0, 1),
        },
        scope=CLIENTS,
        argument="what is listed for small sizes is a second computation",
    )


MENDED = {"weights_at": "[0, i]", "range_from": 1, "pulled": 1}


@claim(
    "focus.eq6_7.fedavg_one_index",
    source=Source("focus", "eq. (6a)-(6c) and (7)"),
    statement=r"\boldsymbol{y}_k=R_k\boldsymbol{x}_k,\;\boldsymbol{y}_k^+="
    r"\boldsymbol{y}_k-\eta D_k\nabla\boldsymbol{f}(\boldsymbol{y}_k),\;"
    r"\boldsymbol{x}_{k+1}=A_k\boldsymbol{y}_k^+;\quad R_k=\begin{cases}R(S_r)&"
    r"k=r\tau+1\\I&\text{otherwise}\end{cases},\;A_k=\begin{cases}A(S_r)&k=(r+1)\tau"
    r"\\I&\text{otherwise}\end{cases},\;D_k[i,j]=\begin{cases}1&i=j\in S_r\\0&"
    r"\text{otherwise}\end{cases},\quad r\tau\le k<(r+1)\tau",
    proposition="The server row of (6)-(7) runs through the server models of "
    "(2a)-(2c), for all cohorts, tau, f_i and step sizes.",
    constants={"weights_at": "[i, 0]", "range_from": 0, "pulled": 1},
    twin={"pulled": 0},
)
def fedavg_one_index(c: SimpleNamespace) -> Finding:
    """Run both recursions from any client models, under each first index, A and D."""
    mended = SimpleNamespace(**MENDED)
    return _one_index_readings(c).corrected(
        r"D_k[i,i]=1 \iff i\in S_r,\; r\tau<k\le(r+1)\tau,\quad "
        r"A(S_r)[0,j]=1/|S_r| \text{ for } j\in S_r",
        _one_index_readings(mended),
    )


def _one_index_readings(c: SimpleNamespace) -> Finding:
    places = {"A of Figure 1": "[0, i]", "A of (4)": c.weights_at}
    # the range r tau <= k < (r+1) tau beside (7) is not that of its own R_k and A_k
    working = {"S_r in the printed range": c.range_from, "those who pulled": c.pulled}
    return judge.readings(
        {
            f"{name}, first index {first}, D_k on for {who}": _one_index_finding(
                first, place, range_from
            )
            for (who, range_from), (name, place), first in product(
                working.items(), places.items(), (1, 0)
            )
        }
    )


@cache
def _one_index_finding(first: int, place: str, range_from: int) -> Finding:
    listed = same_trajectory(
        lambda run: one_index(run, first, place, range_from),
        lambda run: _one_index_again(run, first, place, range_from),
        own_starts=True,
    )
    if (place, range_from) != ("[0, i]", 1):
        return listed
    # these are (30)-(32), with R, D and A of one round; nothing moves at k = 0
    return judge.proof_or_search(pulled_and_averaged(1, 0, everybody=False), listed)


EVERY_ITERATION = (
    "(ii) every iteration of the round, since (6b) also acts when pulling and pushing"
)


@claim(
    "focus.fig2.schedule",
    source=Source("focus", "Figure 2"),
    statement=r"\text{pull: } k=r\tau+1;\quad\text{local update } \tau \text{ times: }"
    r" k=r\tau+2,\dots,r\tau+\tau-1;\quad\text{push: } k=(r+1)\tau",
    proposition="A round of this schedule makes tau local updates.",
    constants={"local_from": 2, "local_to": -1},
    twin={"local_from": 1, "local_to": 0},
    no_control="what is counted as a local update is not printed; the twin, local "
    "updates at k = r tau + 1, ..., (r+1) tau, passes under both readings",
    reading_twins={EVERY_ITERATION: {"local_to": 2}},
)
def fig2_schedule(c: SimpleNamespace) -> Finding:
    """Count the iterations of a round."""
    return judge.readings(
        {
            "(i) the iterations listed under the local update": _counted(c, ends=False),
            EVERY_ITERATION: _counted(c, ends=True),
        }
    )


def _counted(c: SimpleNamespace, *, ends: bool) -> Finding:
    def listed(tau: int, r: int) -> int:
        local = set(range(r * tau + c.local_from, (r + 1) * tau + c.local_to + 1))
        return len(local | {r * tau + 1, (r + 1) * tau} if ends else local)

    def checked(tau: int, r: int) -> int:
        first, last = r * tau + c.local_from, r * tau + tau + c.local_to
        return sum(
            first <= k <= last or (ends and k in (r * tau + 1, (r + 1) * tau))
            for k in range((r + 2) * tau + 3)
        )

    cases = (
        judge.Case(
            {"tau": tau, "r": r},
            listed(tau, r),
            tau,
            lambda tau=tau, r=r: (checked(tau, r), tau),
        )
        for tau, r in product((2, 1, *range(3, 13)), (0, 1, 2))
    )
    search = judge.instances(cases, "==", "tau = 1..12, the first three rounds")
    return judge.proof_or_search(_whole_round(c, ends=ends), search)


def _whole_round(c: SimpleNamespace, *, ends: bool) -> Finding:
    """Judge the number of k = r tau + j counted, with both ends that j is 1..tau."""
    if ends:
        return whole_round(c.local_from, c.local_to)
    tau = sympy.Symbol("tau", integer=True)
    first, last = c.local_from, tau + c.local_to
    return judge.identity([("last - first + 1", last - first + 1, tau)], ROUND)


WHOLE = "first index 1, doubly stochastic as an (N+1) x (N+1) matrix"
BLOCK = "first index 1, doubly stochastic on the clients"


@claim(
    "focus.eq8.singleline",
    source=Source("focus", "eq. (8), with (35) and (36)"),
    statement=r"\boldsymbol{x}_{k+1}=W_k(\boldsymbol{x}_k-\eta\nabla\boldsymbol{f}"
    r"(\boldsymbol{x}_k));\quad W_k=\begin{cases}I&k\ne r\tau\\W(S_r)&k=r\tau"
    r"\end{cases},\; r=1,2,\dots;\quad W_k \text{ cannot be doubly stochastic unless "
    r"it is a full client participation case}",
    proposition="The server row of (8) runs through the server models of (2a)-(2c), "
    "and W(S), the matrix of a communication, is doubly stochastic for no S that "
    "misses a client.",
    constants={"communication": 0, "stochastic": "doubly"},
    twin={"communication": 1},
    reading_twins={
        f"{one} / W(S)": {"stochastic": "by rows"} for one in (WHOLE, BLOCK)
    },
    no_control="the first iteration index of (8) is not printed and decides; the twin, "
    "a communication one iteration later, fails under every reading",
)
def singleline(c: SimpleNamespace) -> Finding:
    """Run (8) from consensus, for both first indices, and test W(S)."""
    found = {first: _single_line_finding(first, c.communication) for first in (1, 0)}
    whole, block = (_doubly_stochastic(k, c.stochastic) for k in (0, 1))
    return judge.readings(
        {
            WHOLE: judge.all_of({"trajectory": found[1], "W(S)": whole}),
            BLOCK: judge.all_of({"trajectory": found[1], "W(S)": block}),
            "first index 0": judge.all_of(
                {"trajectory": found[0], "W(S)": whole, "its client block": block}
            ),
        }
    )


def _single_line_finding(first: int, communication: int) -> Finding:
    """Run it, gradients and matrices; from k = 1 prove it for every N and tau."""
    listed = same_trajectory(
        lambda run: single_line(run, first, communication),
        lambda run: _single_line_again(run, first, communication),
        own_starts=False,
    )
    proof = all_rows_averaged(communication)
    return judge.proof_or_search(proof, listed) if first == 1 else listed


def _doubly_stochastic(dropped: int, how: str) -> Finding:
    """Judge that W(S), its first lines dropped, is so, and how, for everybody alone."""
    pairs: list[judge.Pair] = []
    for n in range(1, 6):
        for m in range(1, n):
            for cohort in combinations(range(n), m):
                matrix = virtual_matrix(cohort, n)[dropped:, dropped:]
                doubly = is_row_stochastic(matrix)
                doubly &= how == "by rows" or is_column_stochastic(matrix)
                label = f"N = {n}, S = {[i + 1 for i in cohort]}: doubly stochastic"
                pairs.append((label, int(doubly), 0))
    absent = SOME.matrix(virtual())[:, -1]  # a column of zeros sums to 0, not to 1
    return judge.all_of(
        {
            "listed": judge.identity(pairs, "N = 2..5, every S that misses a client"),
            "the column of an absent client": judge.identity(
                [("entries", list(absent), [0] * 5)], "every N and S not empty"
            ),
        },
        scope="every N and S, not empty, that misses a client",
        argument="the column of an absent client adds up to 0, and not to 1",
    )

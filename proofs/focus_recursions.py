"""Appendix D.1 of the FOCUS paper: (63)-(69), their tables, and Algorithm 1.

The two halves of the first table place R(S_r) differently, and the main text's C_k and
D_k a third way; a round runs from pull to push in some of these only. Collecting
every client's y, as C_{k,all} does, is harmless once it was done at k = 0, since then
an absent client's y is 0; begun at y_0 = grad f(x_{-1}) with C_0 = I it is not. The
recursion keeps the tracker at the sum of all gradients, so the box follows it only if
line 2 starts its tracker at the sum of what it stores.

Conventions: rounds count from 0, the paper's S_1 being the first cohort; formal
gradients, names without a formula, in proofs; scalar quadratics in searches; in the
switched form D_k is that of (63) one iteration later, as the switch makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_any_box import EVERY
from flverify.claims.focus_any_round import same_schedule
from flverify.claims.focus_any_rows import collects_no_more
from flverify.claims.focus_box import (
    Variant,
    closed_form,
)
from flverify.claims.focus_box_rows import followed
from flverify.claims.focus_dead_step import dead_step_of
from flverify.claims.focus_induction import box_is_recursion, recursion_is_box
from flverify.claims.focus_placings import Placing, models, models_again, step
from flverify.claims.focus_recursions import PLAIN, SWITCHED, Stack, initial
from flverify.claims.focus_runs import ETA, FORMAL, Run, formal_rounds, rational_runs
from flverify.claims.scalar_runs import column
from flverify.claims.verdict import Finding

SEARCHED = "scalar quadratics, two rounds of any cohorts"
LEFT, RIGHT = Placing("plain", 1, 0, 1, 1, 1), Placing("plain", 0, -1, 0, 0, 0)
SECOND = Placing("switched", 0, 0, 0, 0, 0)


# (63)-(66) -----------------------------------------------------------------------


@claim(
    "focus.rec.63-64",
    source=Source("focus", "eq. (63)-(64) with the first table of Appendix D.1"),
    statement=r"\boldsymbol{x}_{k+1}=R_k(\boldsymbol{x}_k-\eta D_k\boldsymbol{y}_k),\;"
    r"\boldsymbol{y}_{k+1}=C_k\big(\boldsymbol{y}_k+\nabla\boldsymbol{f}(\boldsymbol{x}"
    r"_{k+1})-\nabla\boldsymbol{f}(\boldsymbol{x}_k)\big);\quad R_1=R(S_1),\;R_{"
    r"\tau+1}="
    r"R(S_2),\;C_\tau=C(S_1);\quad R_{r\tau}=R(S_r),\;C_{r\tau-1}=C(S_{r-1})",
    proposition="(63)-(64) with the matrices of the table, started at y_0 = grad f(x_0)"
    " with any client rows, run through the server models of Algorithm 1 (stored "
    "gradients and tracker 0).",
    constants={"late": 0},
    twin={"late": 1},
    no_control="the two halves of the table differ, and where D_k belongs is not "
    "printed in it; the twin, a push one iteration later, fails under every reading",
)
def first_table(c: SimpleNamespace) -> Finding:
    """Run each half of the table, and the matrices of the main text."""
    late = c.late
    placings = {
        "(i) C_k = R_k' at the same k, as the main text has it": Placing(
            "plain", 1, None, 1 + late, 0, 1
        ),
        "(ii) left half, D_k as in (13)-(14)": Placing("plain", 1, late, 1, 0, 1),
        "(ii) left half, D_k from pull to push": Placing("plain", 1, late, 1, 1, 1),
        "(iii) right half, D_k as in (13)-(14)": Placing("plain", 0, late - 1, 1, 0, 0),
        "(iii) right half, D_k so too, but the server's entry at k = r tau": Placing(
            "plain", 0, late - 1, 0, 0, 0
        ),
    }
    return judge.readings({name: _is_box(p) for name, p in placings.items()})


def _is_box(placing: Placing) -> Finding:
    """Compare with the plain loop; then with the placing that an induction covers."""

    def checked(run: Run, r: int) -> tuple[Any, Any]:
        nothing = [0] * run.n_clients
        return models_again(run, placing)[r], closed_form(run, nothing)[0][r]

    cases = (
        judge.Case(
            run.where(r), models(run, placing)[r], run.box[r], partial(checked, run, r)
        )
        for run in rational_runs()
        for r in (1, 2)
    )
    shift = LEFT.first - placing.first
    proof = judge.all_of(
        {
            "the left half": recursion_is_box(PLAIN),
            "the same schedule": judge.identity(_schedules(placing, shift), FORMAL),
            "the same offsets": judge.identity(
                same_schedule(LEFT, placing, shift), EVERY
            ),
        },
        scope=EVERY,
        argument="what stands at k depends on k less an offset, on tau and on the "
        "cohorts; so both run through the same rows, one `shift` later",
    )
    return judge.proof_or_search(proof, judge.instances(cases, "==", SEARCHED))


def _schedules(placing: Placing, shift: int) -> Iterator[judge.Pair]:
    """Compare what stands at k with the left half at k + shift, for several rounds."""
    for run in formal_rounds():
        ks = range(placing.first, 5 * run.local_steps)
        yield f"{run}", placing.schedule(run, ks), LEFT.schedule(run, ks, shift)


LEFT_HALF = "(i) first table, left half"


@claim(
    "focus.rec.65-66",
    source=Source("focus", "eq. (65)-(66) with the second table of Appendix D.1"),
    statement=r"\boldsymbol{y}_{k+1}=C_k\big(\boldsymbol{y}_k+\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_k)-\nabla\boldsymbol{f}(\boldsymbol{x}_{k-1})\big),\;"
    r"\boldsymbol{x}"
    r"_{k+1}=R_k(\boldsymbol{x}_k-\eta D_k\boldsymbol{y}_{k+1}),\quad\boldsymbol{y}_0="
    r"\nabla\boldsymbol{f}(\boldsymbol{x}_{-1}),\;\boldsymbol{x}_{-1}=\boldsymbol{x}_0;"
    r"\quad R_0=R(S_1),\;R_\tau=R(S_2),\;C_\tau=C(S_1);\;R_{r\tau}=R(S_r),\;C_{r\tau}="
    r"C(S_{r-1})",
    proposition="x'_k = x_{k+1}, y'_k = y_k, R'_k = R_{k+1}, D'_k = D_{k+1}, C'_k = C_k"
    " turns (63)-(64) and the first table into (65)-(66) and the second, y_0 cancels, "
    "and from any rows the server models are those of Algorithm 1.",
    constants={"shift": 1, "push": "end"},
    twin={"shift": 0},
    no_control="the two halves of the first table differ; the twin, x'_k = x_k, fails "
    "under either",
    reading_twins={f"{LEFT_HALF} / server models": {"push": "same"}},
)
def second_table(c: SimpleNamespace) -> Finding:
    """Substitute in symbols; compare the tables entry by entry."""
    substituted = judge.all_of(
        {
            "listed": judge.identity(_substituted(c.shift, (2, 3)), "2, 3 nodes"),
            "a term": judge.identity(_substituted(c.shift, (1,)), "one node"),
        },
        scope="every number of nodes, every matrix",
        argument="Rows are sums over nodes. Each term of them, an entry of C times y_j "
        "and gradients of j, of R times x_j, or of R and D times y_j, is as with one "
        "node.",
    )
    halves = {LEFT_HALF: LEFT, "(ii) right half": RIGHT}
    form = replace(SWITCHED, push=c.push)
    return judge.readings(
        {
            name: judge.all_of(
                {
                    "substitution": substituted,
                    "tables": _tables(half, c.shift),
                    "server models": recursion_is_box(form),
                }
            )
            for name, half in halves.items()
        }
    )


def _tables(half: Placing, shift: int) -> Finding:
    """Compare listed tables; where they agree, offsets, on which all of them rest."""
    listed = judge.identity(_turned(half, shift), FORMAL)
    if not listed.passes():
        return listed
    offsets = judge.identity(_offsets(half, shift), EVERY)
    return judge.all_of(
        {"listed": listed, "offsets": offsets},
        scope=EVERY,
        argument="what stands at k depends on k less an offset, on tau and on the "
        "cohorts",
    )


def _substituted(shift: int, sizes: Sequence[int]) -> Iterator[judge.Pair]:
    """One step of (63)-(64) with free entries, read as (65)-(66)."""
    for n in sizes:
        R, C, D = (_square(name, n) for name in "RCD")
        x, y, g, fresh, x_next = (
            _vector(name, n) for name in ("x", "y", "g", "h", "z")
        )
        moved = R * (x - ETA * D * y)  # x_{k+1} of (63)
        tracked = C * (y + fresh - g)  # y_{k+1} of (64), gradients at x_{k+1}, x_k
        slopes = {0: (g, _vector("b", n)), 1: (fresh, g)}[shift]  # at x'_k, x'_{k-1}
        ends = {0: x, 1: moved}[shift]  # x'_k
        yield f"{n} nodes: (65)", tracked, C * (y + slopes[0] - slopes[1])
        yield f"{n} nodes: (66)", ends, R * (x - ETA * D * y)
        start = C * (g + x_next - g)  # y_1 with y_0 = grad f(x_{-1}) = g
        yield f"{n} nodes: y_0 cancels", start, C * x_next


def _square(name: str, n: int) -> Any:
    return sympy.Matrix(n, n, lambda i, j: sympy.Symbol(f"{name}{i}{j}"))


def _vector(name: str, n: int) -> Any:
    return sympy.Matrix(n, 1, lambda i, _: sympy.Symbol(f"{name}{i}"))


def _turned(half: Placing, shift: int) -> Iterator[judge.Pair]:
    """Compare the second table at k with R_{k+shift}, D_{k+shift} and C_k of a half."""
    for run in formal_rounds():
        ks = range(1, 5 * run.local_steps)
        now, later = half.schedule(run, ks), half.schedule(run, ks, shift)
        wanted = [now[i] if i % 4 == 1 else v for i, v in enumerate(later)]
        found = SECOND.schedule(run, ks)
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            what = ("pulls", "pushes", "server", "clients")[place % 4]
            yield f"{run}: {what} at k = {ks[place // 4]}", one, other


def _offsets(half: Placing, shift: int) -> list[judge.Pair]:
    """Compare offsets of the second table and of a half: of C_k at k, else at k + 1."""
    moved = same_schedule(half, SECOND, shift, ("pull", "server", "range_from"))
    return [*moved, *same_schedule(half, SECOND, 0, ("push",))]


# (67)-(69) -----------------------------------------------------------------------


@claim(
    "focus.rec.67-69",
    source=Source("focus", "eq. (67)-(69)"),
    statement=r"\boldsymbol{y}_{k+1}=C_{k,\mathrm{all}}\big(\boldsymbol{y}_k+\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_k)-\nabla\boldsymbol{f}(\boldsymbol{x}_{k-1})\big),"
    r"\;\boldsymbol{x}_{k+1}=R_k(\boldsymbol{x}_k-\eta D_k\boldsymbol{y}_{k+1});\quad "
    r"C_{k,\mathrm{all}}=I\ (k\ne r\tau),\;\text{first row of ones, others zero}\ "
    r"(k=r\tau);\quad y_{k,i}\text{ of non-participated clients are effectively zero}",
    proposition="From y_0 = grad f(x_{-1}), x_{-1} = x_0 with any rows, (67)-(69) and "
    "(65)-(66) have the same server models.",
    constants={"first_row": 1},
    twin={"first_row": 2},
    no_control='C_0, "Init." in the table, decides; the twin, a first row of twos, '
    "fails under every reading",
)
def collecting_all(c: SimpleNamespace) -> Finding:
    """Run both recursions under each meaning of C_0; then one round from y_i = 0."""
    readings = {
        "(i) C_0 = I in both": (False, False),
        "(ii) C_0 = I in (65), C_{0,all} collects, 0 being r tau": (False, True),
        "(iii) C_0 collects every y in both": (True, True),
    }
    return judge.readings(
        {name: _same(c.first_row, *starts) for name, starts in readings.items()}
    )


def _same(weight: int, cohort_starts: bool, all_starts: bool) -> Finding:
    one = Placing("switched", 0, 0, 0, 0, 0, "cohort", cohort_starts)
    other = Placing("switched", 0, 0, 0, 0, 0, "all", all_starts, weight)

    def checked(run: Run, r: int) -> tuple[Any, Any]:
        return models_again(run, other)[r], models_again(run, one)[r]

    cases = (
        judge.Case(
            run.where(r),
            models(run, other)[r],
            models(run, one)[r],
            partial(checked, run, r),
        )
        for run in sorted(rational_runs(), key=lambda run: not all(run.cohorts[:-1]))
        for r in (0, 1, 2)
    )
    search = judge.instances(cases, "==", SEARCHED)
    pairs = (p for run in formal_rounds() for p in _kept_zero(run, one, other))
    proof = judge.all_of(
        {
            "listed": judge.identity(pairs, FORMAL),
            **collects_no_more(cohort_starts, all_starts, weight),
        },
        scope=EVERY,
        argument="both start alike with y_i = 0 for all clients, and a round leads "
        "from such rows to such rows, the same in both",
    )
    return judge.proof_or_search(proof, search)


def _kept_zero(run: Run, one: Placing, other: Placing) -> Iterator[judge.Pair]:
    """Both start alike with y_i = 0 after k = 0, and a round keeps that."""
    begun = [step(run, placing, 0, initial(run)) for placing in (one, other)]
    yield f"{run}: k = 0", _listed(begun[0]), _listed(begun[1])
    yield f"{run}: y_i = 0 after k = 0", list(begun[1].y[1:]), [0] * run.n_clients
    now, again = (_round(run, placing) for placing in (one, other))
    yield f"{run}: a round", _listed(now), _listed(again)
    yield f"{run}: y_i = 0 after it", list(again.y[1:]), [0] * run.n_clients


def _round(run: Run, placing: Placing) -> Stack:
    """Run k = tau + 1, ..., 2 tau, the round of S_1, from any rows with y_i = 0."""
    later, nodes = run.later(), range(run.n_clients)
    x, tracker = run.start, sympy.Symbol("Y")
    rows = column([sympy.Symbol("W"), *run.client_starts])
    pulled = [x if i in run.cohorts[0] else rows[i + 1] for i in nodes]
    now = Stack(column([x, *pulled]), column([tracker, *(0 for _ in nodes)]), rows)
    for k in range(run.local_steps + 1, 2 * run.local_steps + 1):
        now = step(later, placing, k, now)
    return now


def _listed(stack: Stack) -> list[Any]:
    return [*stack.x, *stack.y]


# Algorithm 1 ---------------------------------------------------------------------

STARTS = {
    "(i) g_i = 0, (i) y_0 = 0": (0, 0),
    "(ii) g_i = grad f_i(x_0), (i) y_0 = 0": (1, 0),
    "(i) g_i = 0, (ii) y_0 = sum of grad f_i(x_0)": (0, 1),
    "(ii) g_i = grad f_i(x_0), (ii) y_0 = sum of grad f_i(x_0)": (1, 1),
}
INDEX_K = "(ii) x_{k,i} of line 9 with k = r tau + t"
LINE_9 = f"(i) g_i = 0, (i) y_0 = 0, {INDEX_K}"


@claim(
    "focus.alg1.equiv",
    source=Source("focus", "Algorithm 1 against (67)-(69)"),
    statement=r"x_r=\bar x_{r\tau+1},\;y_r=\bar y_{r\tau+1},\;x_{t,i}^{(r)}=x_{r\tau+1+"
    r"t,i}:\text{ Algorithm 1 and (67)-(69) have the same trajectory}",
    proposition="The server models of Algorithm 1 are xbar_{r tau+1} of (67)-(69) from "
    "xbar_1 = x_0 and client rows x_0 = x_{-1} where grad f_i is the gradient that line"
    " 2 stores.",
    constants={"sum": 1},
    twin={"sum": 2},
    no_control="line 2 does not say what is stored, nor line 9 which k is meant; the "
    "twin, a push of twice the message, fails under every reading",
)
def box_and_rows(c: SimpleNamespace) -> Finding:
    """Compare both on quadratics; then a round from any rows, y_r = sum of g_i."""
    found = {
        f"{name}, (i) k of line 9 is t": followed(c.sum, *start)
        for name, start in STARTS.items()
    }
    wrong_index = box_is_recursion(Variant("k"), "zero")
    doubled = followed(c.sum, 0, 0)
    found[LINE_9] = judge.all_of({"as line 9 is": wrong_index, "pushes": doubled})
    for name, start in [*STARTS.items()][1:]:
        found[f"{name}, {INDEX_K}"] = followed(c.sum, *start, Variant("k"))
    return judge.readings(found)


@claim(
    "focus.alg1.deadstep",
    source=Source("focus", "Algorithm 1, lines 8-12"),
    statement=r"y_{t+1,i}^{(r)}=y_{t,i}^{(r)}+\nabla f_i(x_{t,i}^{(r)})-\nabla f_i(x_{"
    r"t-1,i}^{(r)}),\;x_{t+1,i}^{(r)}=x_{t,i}^{(r)}-\eta y_{t+1,i}^{(r)},\;t=0,\dots,"
    r"\tau-1;\quad y_{r+1}\Leftarrow y_r+\sum_{i\in S_r}y_{\tau,i}^{(r)}",
    proposition="x_{tau,i} is never used and every earlier local model is, the gradient"
    " of before the next round is that at x_{tau-1,i}, and a round has tau gradient "
    "evaluations and tau - 1 effective moves per participant, as many as the sums over "
    "k = r tau+2, ..., (r+1) tau have terms.",
    constants={"dead": 1, "stored_before_last": 1},
    twin={"dead": 0},
    exact=("dead", "stored_before_last"),
)
def dead_step(c: SimpleNamespace) -> Finding:
    """Replace one local model by a foreign symbol and look for it in what remains."""
    return dead_step_of(c.dead, c.stored_before_last)

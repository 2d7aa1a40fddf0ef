"""FOCUS as a recursion and as a box: (13)-(14) and Algorithm 1 of the FOCUS paper.

The matrix recursions are run literally and compared with the box: on rational
quadratics first, then by an induction over one round on formal gradients, which holds
for every differentiable f_i and any number of rounds. What decides are indices that
the text does not fix: where C(S_r) stands, at which iterations D_k follows S_r, and
what is stored before the first round.

Index dictionary (client i, round r, cohort S_r; right: quantities of the box):
  (13)-(14), C(S_r) at k = (r+1) tau, D_k following S_r for r tau < k <= (r+1) tau:
    x_{r tau+2, 0} = x_r, y_{r tau+1, 0} = y_r, x_{r tau+2+t, i} = x_{t,i}^{(r)},
    y_{r tau+2+t, i} = y_{t+1,i}^{(r)} before the push; server step, then pull, at
    k = r tau + 1.
  (65)-(66), C(S_{r-1}) and R(S_r) at k = r tau, D_k following S_r for
    r tau <= k < (r+1) tau:
    x_{r tau+1, 0} = x_r, y_{r tau+1, 0} = y_r, x_{r tau+1+t, i} = x_{t,i}^{(r)},
    y_{r tau+2+t, i} = y_{t+1,i}^{(r)} before the push.
  Either has, per round and participant, one pull, tau gradient evaluations and
  tau - 1 moves of its own; the move of line 9 at t = tau - 1 is never used. Started at
  y_0 = grad f(x_0), either behaves as the box with stored gradients and tracker 0.

Conventions: 0-based rounds; an empty round executes line 13 with the same tracker.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_any_box import EVERY, first_stored, kept_sum, telescoped
from flverify.claims.focus_box import (
    AS_READ,
    Variant,
    any_state,
    box_round,
    box_states,
    closed_form,
    line_by_line,
    started,
)
from flverify.claims.focus_induction import box_is_recursion, recursion_is_box
from flverify.claims.focus_recursions import Reading
from flverify.claims.focus_runs import FORMAL, Run, formal_rounds, rational_runs
from flverify.claims.scalar_runs import tidied
from flverify.claims.verdict import Finding

LATE = "(ii), D_k following S_r for r tau < k <= (r+1) tau"
ZERO = "(i) stored gradients g_i = 0; k of line 9 is t"
SWITCHED = "switched form, C(S_{r-1}) and R(S_r) at k = r tau"
EQUAL = f"{SWITCHED}; first index 1, all rows of x_0 equal"


@claim(
    "focus.eq13_14.matrixform",
    source=Source("focus", "eq. (13)-(14), with (65)-(66)"),
    statement=r"\boldsymbol{x}_{k+1}=R_k(\boldsymbol{x}_k-\eta D_k\boldsymbol{y}_k),"
    r"\quad\boldsymbol{y}_{k+1}=C_k(\boldsymbol{y}_k+\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_{k+1})-\nabla\boldsymbol{f}(\boldsymbol{x}_k));\quad C_k="
    r"R_k^{\mathsf{T}},\; D_k[0,0]=1 \text{ if } k=r\tau+1,\; D_k[i,i]=1 \text{ iff } "
    r"i\in S_r,\; r\tau\le k<(r+1)\tau",
    proposition="The server row of (13)-(14), started at y_0 = grad f(x_0) with any "
    "rows x_0 unless the reading says otherwise, runs through the server models of "
    "Algorithm 1 (stored gradients and tracker 0), for all cohorts, tau, f_i and step "
    "sizes.",
    constants={"range_from": 0, "push": "same", "late_from": 1, "switched_push": "end"},
    twin={"range_from": 1, "push": "end"},
    no_control="where C_k stands and which k is first is not fixed by the print; the "
    "twin, C(S_r) at k = (r+1) tau and D_k following S_r for r tau < k <= (r+1) tau, "
    "passes wherever round 0 has a pull",
    reading_twins={
        f"{LATE}; first index 0": {"late_from": 0},
        f"{LATE}; first index 1": {"late_from": 0},
        f"{SWITCHED}; first index 0": {"switched_push": "same"},
        EQUAL: {"switched_push": "same"},
    },
)
def matrix_form(c: SimpleNamespace) -> Finding:
    """Run both forms under each placing of C_k, D_k and the first index."""
    placings = {
        "(i) C_k = R_k' at the same k": ("plain", c.push, c.range_from),
        "(ii) C(S_r) at k = (r+1) tau": ("plain", "end", c.range_from),
        LATE: ("plain", "end", c.late_from),
        SWITCHED: ("switched", c.switched_push, 0),
    }
    found = {
        f"{name}; first index {first}": recursion_is_box(Reading(*placing, first))
        for (name, placing), first in product(placings.items(), (0, 1))
    }
    alike = Reading(*placings[SWITCHED], 1, alike=True)
    return judge.readings({**found, EQUAL: recursion_is_box(alike)})


@claim(
    "focus.alg1",
    source=Source("focus", "Algorithm 1"),
    statement=r"\text{line 2: } x_0 \text{ random},\; y_0=0,\;\nabla f_i(x_{-1,i}^{(0)}"
    r")=y_{0,i}^{(0)};\quad\text{line 6: } x_{0,i}^{(r)}\Leftarrow x_r,\; y_{0,i}^{(r)}"
    r"\Leftarrow 0;\quad\text{line 8: } y_{t+1,i}^{(r)}=y_{t,i}^{(r)}+\nabla f_i("
    r"x_{t,i}^{(r)})-\nabla f_i(x_{t-1,i}^{(r)});\quad\text{line 9: } x_{t+1,i}^{(r)}="
    r"x_{k,i}^{(r)}-\eta y_{t+1,i}^{(r)};\quad\text{line 12: } y_{r+1}\Leftarrow y_r+"
    r"\sum_{i\in S_r}y_{\tau,i}^{(r)};\quad\text{line 13: } x_{r+1}=x_r-\eta y_{r+1}",
    proposition="The box runs through the server models of (65)-(66) started at "
    "y_0 = grad f(x_0), its messages are new less old stored gradients, and y_r is the "
    "sum of the stored gradients in every round.",
    constants={"tracker": 0, "message": 1, "stored": "zero"},
    twin={"message": 2},
    reading_twins={
        f"{ZERO} / server models": {"stored": "any"},
        f"{ZERO} / y_r = sum_i g_i": {"tracker": 1},
    },
    no_control="line 2 does not say what is stored, nor line 9 which k is meant; the "
    "twin, a message of twice the change, fails under every reading",
)
def algorithm_1(c: SimpleNamespace) -> Finding:
    """Simulate each reading of lines 2 and 9; test the invariant every round."""
    readings = {
        ZERO: (c.stored, AS_READ),
        "(ii) g_i = grad f_i(x_0); k of line 9 is t": ("start", AS_READ),
        "(iii) any g_i; k of line 9 is t": ("any", AS_READ),
        "(iv) g_i = 0; k of line 9 is that of (65)-(66)": ("zero", Variant("k")),
    }
    return judge.readings(
        {
            name: judge.all_of(
                {
                    "server models": box_is_recursion(variant, stored),
                    "y_r = sum_i g_i": _invariant(variant, stored, c.tracker),
                    "messages": _messages(variant, c.message),
                }
            )
            for name, (stored, variant) in readings.items()
        }
    )


@cache
def _invariant(variant: Variant, stored: str, tracker: int) -> Finding:
    """y_r - sum_i g_i is 0 at the start, and every round keeps it."""
    cases = (
        judge.Case(
            {**run.where(r), "stored at the start": list(started(run, stored).stored)},
            *_tracked(run, variant, stored, tracker)[r],
            lambda run=run, r=r: _tracked_again(run, variant, stored, tracker)[r],
        )
        for run in rational_runs()
        for r in (0, 1, 2)
    )
    search = judge.instances(cases, "==", "scalar quadratics, two rounds")
    listed = (
        p for run in formal_rounds() for p in _kept(run, variant, stored, tracker)
    )
    begun = ("round 0", tracker, sum(first_stored(stored)))
    proof = judge.all_of(
        {
            "listed": judge.identity(listed, FORMAL),
            "start": judge.identity([begun], EVERY),
            "any round": kept_sum(1, variant),
        },
        scope=EVERY,
        argument="the difference is 0 at the start, and every round keeps it",
    )
    return judge.proof_or_search(proof, search)


def _tracked(
    run: Run, variant: Variant, stored: str, tracker: int
) -> list[tuple[Any, Any]]:
    states = box_states(run, started(run, stored), variant)
    return [(s.y + tracker, sum(s.stored, Fraction(0))) for s in states]


def _tracked_again(
    run: Run, variant: Variant, stored: str, tracker: int
) -> list[tuple[Any, Any]]:
    start = started(run, stored)
    _, trackers, tables = (
        closed_form(run, start.stored)
        if variant == AS_READ
        else line_by_line(run, start, variant)
    )
    sums = [sum(table, Fraction(0)) for table in tables]
    return [(y + tracker, total) for y, total in zip(trackers, sums, strict=True)]


def _kept(
    run: Run, variant: Variant, stored: str, tracker: int
) -> Iterator[judge.Pair]:
    start, box = started(run, stored), any_state(run)
    yield f"{run}: round 0", start.y + tracker, sum(start.stored)
    after, _ = box_round(run, run.cohorts[0], box, variant)
    gap = tidied(after.y - sum(after.stored))
    yield f"{run}: kept", gap, box.y - sum(box.stored)


@cache
def _messages(variant: Variant, factor: int) -> Finding:
    """y_{1,i} = grad f_i(x_r) - g_i, and y_{tau,i} is the new g_i less the old one."""
    pairs: list[judge.Pair] = []
    for run in formal_rounds():
        box = any_state(run)
        after, traces = box_round(run, run.cohorts[0], box, variant)
        for i, trace in traces.items():
            first = run.gradient(i, box.x) - box.stored[i]
            change = after.stored[i] - box.stored[i]
            client = f"{run}, client {i + 1}"
            pairs.append((f"{client}: y_1", trace[1], first))
            pairs.append((f"{client}: message", factor * trace[-1], change))
    return judge.all_of(
        {
            "listed": judge.identity(pairs, FORMAL),
            "any number of steps": telescoped(variant, factor),
        },
        scope=EVERY,
        argument="y_t is what the client remembers less what it stored, for t = 1 and "
        "from t to t + 1, and the last one remembered is stored",
    )

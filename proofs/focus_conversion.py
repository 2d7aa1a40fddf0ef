"""From the matrix form of FOCUS to its box: (15)-(22), Figure 3 and the messages.

(15)-(21) are checked as rows of (13)-(14) at every iteration of a round, from any x and
y. The printed renaming of x_{k+1,i} at k = r tau + t to x_{t,i}^{(r)} is then applied
to the rows of (13)-(14) and of the switched form (65)-(66), and lines 6 to 13 and (22)
are read off. Only one point can end a round if the box is to keep the trajectory.

Conventions: formal gradients, as in proofs/focus_algorithm.py, whose index dictionary
applies; D_k follows S_r for r tau < k <= (r+1) tau in (13)-(14) and for r tau <= k <
(r+1) tau in the switched form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.exact import Array
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_any_box import EVERY
from flverify.claims.focus_any_lines import messages, renamed, rows_by_nodes
from flverify.claims.focus_box import Box, Variant, any_state, box_round
from flverify.claims.focus_induction import box_is_recursion
from flverify.claims.focus_recursions import (
    PLAIN,
    SWITCHED,
    Reading,
    Stack,
    initial,
    iterate,
)
from flverify.claims.focus_runs import ETA, FORMAL, Run, formal_rounds
from flverify.claims.scalar_runs import column, quadratic, tidied, tidy
from flverify.claims.schedules import whole_round
from flverify.claims.verdict import Finding

BEFORE_LAST = "renaming the switched form (65)-(66); stored at x_{tau - 1,i}"


@claim(
    "focus.eq15_22.conversion",
    source=Source("focus", "eq. (15)-(22)"),
    statement=r"k=r\tau+1:\; x_{k+1,0}=x_{k,0}-\eta y_{k,0},\; x_{k+1,i}\Leftarrow "
    r"x_{k+1,0};\quad k=(r+1)\tau:\; y'_{k+1,i}=y_{k,i}+\nabla f_i(x_{k+1,i})-\nabla "
    r"f_i(x_{k,i}),\; y_{k+1,0}=y_{k,0}+\sum_{i\in S_r}y'_{k+1,i},\; y_{k+1,i}"
    r"\Leftarrow 0;\quad\text{between: } x_{k+1,i}=x_{k,i}-\eta y_{k,i},\; y_{k+1,i}="
    r"y_{k,i}+\nabla f_i(x_{k+1,i})-\nabla f_i(x_{k,i});\quad y_{1,i}^{(r)}="
    r"y_{0,i}^{(r)}+\nabla f_i(x_{0,i}^{(r)})-\nabla f_i(x_{-1,i}^{(r)})",
    proposition="(15)-(21) are the rows of (13)-(14), renaming x_{k+1,i} at "
    "k = r tau + t to x_{t,i}^{(r)} gives lines 6-13 of Algorithm 1 with (22), and "
    "grad f_i(x_{-1,i}) is the gradient stored at the end of i's last round.",
    constants={"reset": 0, "shift": 1, "stored at": ("tau - 1", "tau")},
    twin={"reset": 1},
    no_control="whether the renaming comes before or after the switch, and which point "
    "ends a round, is not printed; the twin, a push that keeps the client's y, fails "
    "under every reading",
    reading_twins={
        f"{BEFORE_LAST} / lines 6-13 and (22)": {"shift": 2},
        f"{BEFORE_LAST} / stored gradient": {"stored at": ("tau", "tau")},
    },
)
def conversion(c: SimpleNamespace) -> Finding:
    """Check the rows, the lines under the renaming, and the stored point."""
    listed = (p for run in formal_rounds() for p in _row_pairs(run, c.reset))
    rows = _in_any_round(judge.identity(listed, FORMAL), rows_by_nodes(c.reset))
    forms = {"(13)-(14)": PLAIN, "the switched form (65)-(66)": SWITCHED}
    points = dict(zip(("tau - 1", "tau"), getattr(c, "stored at"), strict=True))
    return judge.readings(
        {
            f"renaming {name}; stored at x_{{{point},i}}": _judged(
                rows, form, c.shift, points[point]
            )
            for (name, form), point in product(forms.items(), points)
        }
    ).corrected(
        r"\text{in (13)-(14) }x_{k+2,i}\text{ at }k=r\tau+t\text{ is renamed to }"
        r"x_{t,i}^{(r)},\text{ and }\nabla f_i(x_{-1,i})\text{ is the gradient at }"
        r"x_{\tau-1,i}\text{ of }i\text{'s last round}",
        _judged(rows, PLAIN, 2, "tau - 1"),
    )


def _judged(rows: Finding, form: Reading, shift: int, point: str) -> Finding:
    stored = box_is_recursion(Variant("t", point), "zero")
    lines = _renamed(form, shift)
    return judge.all_of(
        {"(15)-(21)": rows, "lines 6-13 and (22)": lines, "stored gradient": stored}
    )


def _row_pairs(run: Run, reset: int) -> Iterator[judge.Pair]:
    """(15)-(21) from any x and y, at k = r tau + 1, ..., (r+1) tau with r = 1."""
    now, moved, tau = _any_stack(run), run.later(), run.local_steps
    for k in range(tau + 1, 2 * tau + 1):
        old, now = now, iterate(moved, PLAIN, k, now)
        slopes = run.stacked_gradient(now.x) - run.stacked_gradient(old.x)
        fresh = tidy(old.y + slopes)  # y' of (17), y of (21)
        begins, ends = k == tau + 1, k == 2 * tau
        label = f"{run}, k = {k}"
        server = tidied(old.x[0] - ETA * old.y[0]) if begins else old.x[0]
        sent = [fresh[i + 1] for i in sorted(run.cohorts[0])] if ends else []
        yield f"{label}: (15)", now.x[0], server
        yield f"{label}: (18)", now.y[0], tidied(old.y[0] + sum(sent))
        for i in range(1, run.n_clients + 1):
            takes_part = i - 1 in run.cohorts[0]
            step = server if begins else tidied(old.x[i] - ETA * old.y[i])
            kept = reset * fresh[i] if ends else fresh[i]
            x, y = (step, kept) if takes_part else (old.x[i], old.y[i])
            yield f"{label}: (16), (20), client {i}", now.x[i], x
            yield f"{label}: (19), (21), client {i}", now.y[i], y


def _any_stack(run: Run, idle: bool = False) -> Stack:
    """Rows x0, ... and y0, ...; with `idle` clients have y = 0, between two rounds."""
    nodes = range(run.n_clients + 1)
    x = column([sympy.Symbol(f"x{i}") for i in nodes])
    y = column([0 if idle and i else sympy.Symbol(f"y{i}") for i in nodes])
    return Stack(x, y, x)


@cache
def _renamed(reading: Reading, shift: int) -> Finding:
    """Lines 6-13 and (22) for the rows renamed x_{k+shift} -> x_t, k = r tau + t.

    With it y_{t+1} is the y of (14), or of (65), that takes the gradient at x_t up.
    """
    pairs = (p for run in formal_rounds() for p in _line_pairs(run, reading, shift))
    return _in_any_round(judge.identity(pairs, FORMAL), renamed(reading, shift))


def _in_any_round(listed: Finding, every: Finding) -> Finding:
    """Take both; where a listed round differs, that is a counterexample."""
    if not listed.passes():
        return listed
    return judge.all_of(
        {"listed": listed, "any round": every},
        scope=EVERY,
        argument="what is listed for small sizes is a second computation",
    )


def _line_pairs(run: Run, reading: Reading, shift: int) -> Iterator[judge.Pair]:
    tau, plain = run.local_steps, reading.form == "plain"
    pull, push = tau + int(plain), 2 * tau
    start, xs, ys = _walk(run, reading, range(pull, push + shift + 1))
    tracker = start.y[0]
    for i in sorted(run.cohorts[0]):
        name = f"{run}, client {i + 1}"
        at = [xs[tau + t + shift][i + 1] for t in range(tau)]
        ahead = [ys[tau + t + shift + int(not plain)][i + 1] for t in range(tau)]
        yield f"{name}: line 6", at[0], xs[pull + 1][0]
        y = run.gradient(i, at[0]) - run.gradient(i, start.x[i + 1])  # (22), y_0 = 0
        for t in range(tau - 1):
            yield f"{name}: line 8, t = {t}", ahead[t], tidied(y)  # y_{t+1}
            yield f"{name}: line 9, t = {t}", at[t + 1], tidied(at[t] - ETA * y)
            y = y + run.gradient(i, at[t + 1]) - run.gradient(i, at[t])
        tracker = tracker + y
    yield f"{run}: line 12", ys[push + 1][0], tidied(tracker)
    moved = xs[push + (2 if plain else 1)][0]
    yield f"{run}: line 13", moved, tidied(xs[pull + 1][0] - ETA * tracker)


def _walk(
    run: Run, reading: Reading, iterations: range
) -> tuple[Stack, dict[int, Array], dict[int, Array]]:
    """Run the iterations from any x and idle clients; also x and y by index."""
    start = now = _any_stack(run, idle=True)
    xs, ys = {iterations.start: now.x}, {iterations.start: now.y}
    for k in iterations:
        now = iterate(run.later(), reading, k, now)
        xs[k + 1], ys[k + 1] = now.x, now.y
    return start, xs, ys


@claim(
    "focus.fig3.schedule",
    source=Source("focus", "Figure 3"),
    statement=r"\text{pull } \boldsymbol{x}: k=r\tau+1;\quad\text{local update }("
    r"\boldsymbol{x},\boldsymbol{y}\text{ pair) }\tau\text{ times: } k=r\tau+2,\dots,"
    r"r\tau+\tau-1;\quad\text{push } \boldsymbol{y}: k=(r+1)\tau",
    proposition="A round of this schedule makes tau local updates.",
    constants={"local_from": 2, "local_to": -1},
    twin={"local_from": 1, "local_to": 0},
    no_control="what is counted as a local update is not printed; the twin, local "
    "updates at k = r tau + 1, ..., (r+1) tau, passes where evaluations are counted",
    reading_twins={
        "(ii) evaluations, that is updates of y, from pull to push": {"local_from": 3}
    },
)
def fig3_schedule(c: SimpleNamespace) -> Finding:
    """Count what (13)-(14) does to a participant in the listed iterations."""
    return judge.readings(
        {
            "(i) updates of the pair (x, y) at the listed iterations": _counted(
                c, "both", ends=False
            ),
            "(ii) evaluations, that is updates of y, from pull to push": _counted(
                c, "y", ends=True
            ),
            "(iii) moves of x by -eta y, from pull to push": _counted(
                c, "x", ends=True
            ),
        }
    )


def _counted(c: SimpleNamespace, what: str, *, ends: bool) -> Finding:
    cases = (
        judge.Case(
            {"tau": tau, "counted": what},
            _updates(tau, _listed(tau, c, ends=ends), what),
            tau,
            lambda tau=tau: (_by_index(tau, _listed(tau, c, ends=ends), what), tau),
        )
        for tau in (2, 1, *range(3, 9))
    )
    search = judge.instances(cases, "==", "tau = 1..8, one round of (13)-(14)")
    if what != "y" or not ends:
        return search
    # (14) updates y in every iteration
    return judge.proof_or_search(whole_round(c.local_from, c.local_to), search)


def _listed(tau: int, c: SimpleNamespace, *, ends: bool) -> set[int]:
    """Return the iterations of round 1 that are counted."""
    local = set(range(tau + c.local_from, 2 * tau + c.local_to + 1))
    return local | {tau + 1, 2 * tau} if ends else local


def _updates(tau: int, listed: set[int], what: str) -> int:
    """Run a round of one client and look at each iteration for what happens to it."""
    cohorts = (frozenset[int](), frozenset({0}), frozenset[int]())
    step, start = Fraction(1, 8), Fraction(4)
    run = Run(quadratic, cohorts, 1, tau, step, start, (Fraction(7),))
    now, total = initial(run), 0
    for k in range(1, 2 * tau + 1):
        old, now = now, iterate(run, PLAIN, k, now)
        moved = now.x[1] == old.x[1] - step * old.y[1] != old.x[1]
        evaluated = now.x[1] != old.x[1]  # so that (12) needs a new gradient
        does = {"y": evaluated, "x": moved, "both": evaluated and moved}[what]
        total += does and k in listed
    return total


def _by_index(tau: int, listed: set[int], what: str) -> int:
    """Count by the dictionary: evaluations at tau+1..2 tau, moves at tau+2..2 tau."""
    first = tau + 1 if what == "y" else tau + 2
    return len(listed & set(range(first, 2 * tau + 1)))


@claim(
    "focus.equiv_claims_comm",
    source=Source("focus", "Algorithm 1 and Figure 3"),
    statement=r"\text{no need to pull } y_r;\quad\text{push } y_{\tau,i}^{(r)}\text{ "
    r"(not average): one } d\text{-vector each way per round and participating client}",
    proposition="Algorithm 1 runs on one vector to and one vector from each "
    "participant per round: x_r goes out, y_{tau,i} comes back, nothing else is sent.",
    constants={"down": 1, "up": 1},
    twin={"up": 2},
    exact=("down", "up"),
)
def communication(c: SimpleNamespace) -> Finding:
    """Run server and clients apart, passing only messages, and count them."""
    pairs: list[judge.Pair] = []
    for run in formal_rounds():
        box, size = any_state(run), len(run.cohorts[0])
        after, _ = box_round(run, run.cohorts[0], box)
        server, down, up = _by_messages(run, box)
        counts, expected = [len(down), len(up)], [c.down * size, c.up * size]
        pairs.append((f"{run}: vectors", counts, expected))
        pairs.append((f"{run}: server", server, [after.x, after.y]))
    return _in_any_round(judge.identity(pairs, FORMAL), messages(c.down, c.up))


def _by_messages(run: Run, box: Box) -> tuple[list[Any], list[Any], list[Any]]:
    """One round in which clients see messages and their memory, the server messages."""
    down: list[Any] = []
    up: list[Any] = []
    for i in sorted(run.cohorts[0]):
        client = _client(run, i, box.stored[i])
        down.append(box.x)
        up.append(client(down[-1]))
    tracker = tidied(box.y + sum(up))
    return [tidied(box.x - ETA * tracker), tracker], down, up


def _client(run: Run, i: int, stored: Any) -> Callable[[Any], Any]:
    """Lines 6-9 as a function of the model received, returning the vector pushed."""

    def work(model: Any) -> Any:
        x, y, old = model, 0, stored
        for _ in range(run.local_steps):
            new = run.gradient(i, x)
            y, old = tidied(y + new - old), new
            x = tidied(x - ETA * y)
        return y

    return work

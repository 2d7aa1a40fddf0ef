"""Push-pull and FOCUS: Sections 4.2 and 5.1 of the FOCUS paper, (11)-(22), Algorithm 1.

The matrix recursions are run literally and compared with the box: on rational
quadratics first, then, where no difference is found, by an induction over one round on
formal gradients, which holds for every differentiable f_i and any number of rounds.
What decides are indices that the text does not fix: where C(S_r) stands, at which
iterations D_k follows S_r, what is stored before the first round, and which point
belongs to a stored gradient.

Index dictionary (client i, round r, cohort S_r; x_r, y_r of the box):
  (13)-(14), C(S_r) at k = (r+1) tau, D_k following S_r for r tau < k <= (r+1) tau:
    x_r = x_{r tau+2, 0}, y_r = y_{r tau+1, 0}, x_{t,i}^{(r)} = x_{r tau+2+t, i},
    y_{t+1,i}^{(r)} = y_{r tau+2+t, i}; server step and pull at k = r tau + 1.
  (65)-(66), R(S_r) and C(S_{r-1}) at k = r tau, D_k following S_r for
    r tau <= k < (r+1) tau: x_r = x_{r tau+1, 0}, y_r = y_{r tau+1, 0},
    x_{t,i}^{(r)} = x_{r tau+1+t, i}, y_{t+1,i}^{(r)} = y_{r tau+2+t, i}.
  Either has, per round and participant, one pull, tau gradient evaluations and
  tau - 1 moves of its own; the move of line 9 at t = tau - 1 is never used. The
  stored gradient is y_0 = grad f(x_0) cancelled: g_i = 0 before client i's first round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.algorithms.focus import Focus
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_recursions import (
    CURVATURES,
    MINIMISERS,
    Box,
    Cohort,
    Reading,
    Run,
    Stack,
    Variant,
    again,
    box_round,
    box_states,
    closed_form,
    column,
    formal_rounds,
    initial,
    iterate,
    later,
    rational_runs,
    server_models,
    subsets,
    tidied,
    tidy,
)
from flverify.claims.verdict import Finding
from flverify.engines.moments import moments
from flverify.mixing import push_matrix
from flverify.participation import AllOrNothing, Bernoulli, UniformCohort
from flverify.problems import Quadratics

ETA = sympy.Symbol("eta")
FORMAL = (
    "every differentiable f_i, step size, start and number of rounds; N, tau = 1..3"
)
PLAIN = Reading("plain", "end", range_from=1, first=1)
SWITCHED = Reading("switched", "end", range_from=0, first=0)


# (11)-(12) -----------------------------------------------------------------------


@claim(
    "focus.eq11_12.pushpull",
    source=Source("focus", "eq. (11)-(12)"),
    statement=r"\boldsymbol{x}_{k+1}=R(\boldsymbol{x}_k-\eta_k\boldsymbol{y}_k),\quad"
    r"\boldsymbol{y}_{k+1}=C(\boldsymbol{y}_k+\nabla\boldsymbol{f}(\boldsymbol{x}_{k+1}"
    r")-\nabla\boldsymbol{f}(\boldsymbol{x}_k)),\quad\boldsymbol{y}_0=\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_0),\quad R\mathbb{1}=\mathbb{1},\;"
    r"\mathbb{1}^{\mathsf{T}}C=\mathbb{1}^{\mathsf{T}}",
    proposition="Consensus with y = 0 is a fixed point of (11)-(12) for all R and C as "
    "described, the sum of the y_k is that of the gradients, a single node does "
    "gradient descent, and (13)-(14) at D_k = I is the same recursion.",
    constants={"row_sum": 1, "column_sum": 1},
    twin={"row_sum": 2},
)
def pushpull(c: SimpleNamespace) -> Finding:
    """Symbolic R and C with the given row and column sums, 1 to 4 nodes."""
    pairs: list[judge.Pair] = []
    for n in (1, 2, 3, 4):
        pairs += _pushpull_pairs(n, c)
    return judge.identity(pairs, "1 to 4 nodes, every R, C, eta_k and f_i")


def _pushpull_pairs(n: int, c: SimpleNamespace) -> list[judge.Pair]:
    R, C = _stochastic(n, c.row_sum, "r"), _stochastic(n, c.column_sum, "c").T
    x, y = sympy.Matrix(_names("x", n)), sympy.Matrix(_names("y", n))
    at, ahead = sympy.Matrix(_names("u", n)), sympy.Matrix(_names("v", n))
    common = sympy.Matrix([sympy.Symbol("x")] * n)
    ones = sympy.ones(1, n)
    pairs = [
        (f"{n} nodes: x at consensus", R * (common - ETA * 0 * y), common),
        (f"{n} nodes: y at consensus", C * (0 * y + at - at), 0 * y),
        (
            f"{n} nodes: tracking",
            _expanded(ones * C * (y + ahead - at)),
            ones * (y + ahead - at),
        ),
        (f"{n} nodes: D_k = I", R * (x - ETA * sympy.eye(n) * y), R * (x - ETA * y)),
    ]
    if n == 1:
        pairs.append(("one node: gradient descent", R * (x - ETA * at), x - ETA * at))
        pairs.append(("one node: y is the gradient", C * (at + ahead - at), ahead))
    return [(label, _expanded(a), _expanded(b)) for label, a, b in pairs]


def _stochastic(n: int, row_sum: int, letter: str) -> Any:
    """Free entries but for the last column, which completes every row's sum."""
    rows = []
    for i in range(n):
        free = _names(f"{letter}{i}_", n - 1)
        rows.append([*free, row_sum - sum(free)])
    return sympy.Matrix(rows)


def _names(letter: str, n: int) -> list[Any]:
    return [sympy.Symbol(f"{letter}{i}") for i in range(n)]


def _expanded(matrix: Any) -> Any:
    return matrix.applyfunc(sympy.expand)


@claim(
    "focus.tracking_property",
    source=Source("focus", "Section 4.2.1, tracking property"),
    statement=r"\mathbb{1}^{\mathsf{T}}\boldsymbol{y}_k=\mathbb{1}^{\mathsf{T}}\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_k),\;\forall k",
    proposition="1'y_k = 1'grad f(x_k) for every k of (11)-(12), and of (14) with its "
    "changing C_k, because it holds at k = 0 and every step keeps it.",
    constants={"column_sum": 1, "y_0": 1},
    twin={"column_sum": 2},
)
def tracking(c: SimpleNamespace) -> Finding:
    """Induction: base y_0 = grad f(x_0), then one step with any C."""
    pairs: list[judge.Pair] = []
    for n in range(1, 6):
        at, ahead = sympy.Matrix(_names("u", n)), sympy.Matrix(_names("v", n))
        first = c.y_0 * at
        y = sympy.Matrix([*_names("y", n - 1), sum(at) - sum(_names("y", n - 1))])
        pairs.append((f"{n} nodes: k = 0", sum(first), sum(at)))
        for label, C in _column_stochastic(n, c.column_sum):
            after = sympy.expand(sum(C * (y + ahead - at)))
            pairs.append((f"{n} nodes, {label}: step", after, sum(ahead)))
    return judge.identity(pairs, "1 to 5 nodes, every C and every C(S), every f_i")


def _column_stochastic(n: int, column_sum: int) -> Iterator[tuple[str, Any]]:
    yield "any C", _stochastic(n, column_sum, "c").T
    for cohort in subsets(n - 1):
        matrix = sympy.Matrix(push_matrix(cohort, n - 1).tolist()) if n > 1 else None
        if matrix is not None:
            yield f"C(S), S = {sorted(i + 1 for i in cohort)}", column_sum * matrix


# (13)-(14) and Algorithm 1 -------------------------------------------------------


def same_models(reading: Reading) -> Finding:
    """Judge that a recursion runs through the server models of Algorithm 1."""
    cases = (
        judge.Case(
            _where(run, r),
            server_models(run, reading)[r],
            run.box[r],
            lambda run=run, r=r: (again(run, reading)[r], _zero_start(run)[r]),
        )
        for run in rational_runs()
        for r in (1, 2)
    )
    search = judge.instances(cases, "==", "scalar quadratics, any rows at the start")
    pairs = _plain_round if reading.form == "plain" else _switched_round
    steps = (pair for run in formal_rounds() for pair in pairs(run, reading))
    return judge.proof_or_search(judge.identity(steps, FORMAL), search)


def _zero_start(run: Run) -> list[Fraction]:
    return closed_form(run, [Fraction(0)] * run.n_clients, Fraction(0))[0]


def _where(run: Run, r: int) -> dict[str, Any]:
    return {
        "N": run.n_clients,
        "tau": run.local_steps,
        "cohorts": [sorted(i + 1 for i in s) for s in run.cohorts],
        "h": list(CURVATURES[: run.n_clients]),
        "b": list(MINIMISERS[: run.n_clients]),
        "step size": run.step_size,
        "x_0": [run.start, *run.client_starts],
        "rounds": r,
    }


def _any_box(run: Run) -> Box:
    """Any state of the box: symbols for x_r, y_r, stored gradients and points."""
    X, Y, *g = sympy.symbols(f"X Y s1:{run.n_clients + 1}")
    return Box(X, Y, tuple(g), run.client_starts)


def _pending(run: Run, rows: Any, box: Box) -> list[Any]:
    """grad f_i at a client's row less what the box has stored."""
    slopes = run.stacked_gradient(rows)[1:]
    return [tidied(s - g) for s, g in zip(slopes, box.stored, strict=True)]


def _plain_round(run: Run, reading: Reading) -> Iterator[judge.Pair]:
    """Before k = r tau + 1: x_r = x_0 - eta y_0, y_i = grad f_i(x_i) - g_i."""
    now, nothing = initial(run), Box(run.start, 0, (0,) * run.n_clients, ())
    if reading.first == 0:
        now = iterate(run, reading, 0, now)
    yield f"{run}: start", now.x[0] - ETA * now.y[0], run.start
    yield f"{run}: start of y", now.y[1:], _pending(run, now.x, nothing)
    box, moved = _any_box(run), later(run)
    rows = column([tidied(box.x + ETA * box.y), *box.points])
    now = Stack(rows, column([box.y, *_pending(run, rows, box)]), rows)
    for k in range(run.local_steps + 1, 2 * run.local_steps + 1):
        now = iterate(moved, reading, k, now)
    after, _ = box_round(run, run.cohorts[0], box)
    yield f"{run}: y_r", now.y[0], after.y
    yield f"{run}: x_r", tidied(now.x[0] - ETA * now.y[0]), after.x
    yield f"{run}: points", now.x[1:], list(after.points)
    yield f"{run}: clients' y", now.y[1:], _pending(run, now.x, after)


def _switched_round(run: Run, reading: Reading) -> Iterator[judge.Pair]:
    """After k = r tau: x_r, y_r are row 0, y_i = grad f_i(x_{k,i}) - g_i."""
    now, nothing = initial(run), Box(run.start, 0, (0,) * run.n_clients, ())
    if reading.first == 0:
        now = iterate(run, reading, 0, now)
    pulled = _pulled(run, run.cohorts[0], run.start, now.before)
    yield f"{run}: start", list(now.x), pulled
    yield f"{run}: start of y", list(now.y), [0, *_pending(run, now.before, nothing)]
    box, moved = _any_box(run), later(run)
    rows = column([sympy.Symbol("W"), *box.points])
    x = column(_pulled(run, run.cohorts[0], box.x, rows))
    now = Stack(x, column([box.y, *_pending(run, rows, box)]), rows)
    for k in range(run.local_steps + 1, 2 * run.local_steps + 1):
        now = iterate(moved, reading, k, now)
    after, _ = box_round(run, run.cohorts[0], box)
    yield f"{run}: points", now.before[1:], list(after.points)
    yield f"{run}: y", list(now.y), [after.y, *_pending(run, now.before, after)]
    pulled = _pulled(run, run.cohorts[1], after.x, now.before)
    yield f"{run}: x", list(now.x), pulled


def _pulled(run: Run, cohort: Cohort, model: Any, rows: Any) -> list[Any]:
    kept = [model if i in cohort else rows[i + 1] for i in range(run.n_clients)]
    return [model, *kept]


@claim(
    "focus.eq13_14.matrixform",
    source=Source("focus", "eq. (13)-(14), and (65)-(66)"),
    statement=r"\boldsymbol{x}_{k+1}=R_k(\boldsymbol{x}_k-\eta D_k\boldsymbol{y}_k),"
    r"\quad\boldsymbol{y}_{k+1}=C_k(\boldsymbol{y}_k+\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_{k+1})-\nabla\boldsymbol{f}(\boldsymbol{x}_k));\quad C_k="
    r"R_k^{\mathsf{T}},\; D_k[0,0]=1 \text{ if } k=r\tau+1,\; D_k[i,i]=1 \text{ iff } "
    r"i\in S_r,\; r\tau\le k<(r+1)\tau",
    proposition="The server row of (13)-(14), started at y_0 = grad f(x_0) with any "
    "rows x_0, runs through the server models of Algorithm 1 (stored gradients and "
    "tracker 0), for all cohorts, tau, f_i and step sizes.",
    constants={"range_from": 0, "push": "same"},
    twin={"range_from": 1, "push": "end"},
    no_control="C_k and the first index are not fixed by the print; the twin, C(S_r) "
    "at k = (r+1) tau and D_k following S_r up to there, passes wherever the recursion "
    "starts with a pull",
)
def matrix_form(c: SimpleNamespace) -> Finding:
    """Run both forms under each placing of C_k, D_k and first index."""
    found = {}
    for first in (0, 1):
        found |= {
            f"(i) C_k = R_k' at the same k; first index {first}": same_models_once(
                Reading("plain", c.push, c.range_from, first)
            ),
            f"(ii) C(S_r) at k = (r+1) tau, D_k as printed; first index {first}": (
                same_models_once(Reading("plain", "end", c.range_from, first))
            ),
            f"(ii) C(S_r) at k = (r+1) tau, D_k following S_r for r tau < k <= "
            f"(r+1) tau; first index {first}": same_models_once(
                Reading("plain", "end", 1, first)
            ),
            f"switched form (65)-(66), C(S_{{r-1}}) and R(S_r) at k = r tau; first "
            f"index {first}": same_models_once(Reading("switched", "end", 0, first)),
        }
    return judge.readings(found)


same_models_once = cache(same_models)


# (15)-(22) -----------------------------------------------------------------------


@claim(
    "focus.eq15_22.conversion",
    source=Source("focus", "eq. (15)-(22)"),
    statement=r"k=r\tau+1:\; x_{k+1,0}=x_{k,0}-\eta y_{k,0},\; x_{k+1,i}\Leftarrow "
    r"x_{k+1,0};\quad k=(r+1)\tau:\; y'_{k+1,i}=y_{k,i}+\nabla f_i(x_{k+1,i})-\nabla "
    r"f_i(x_{k,i}),\; y_{k+1,0}=y_{k,0}+\sum_{i\in S_r}y'_{k+1,i},\; y_{k+1,i}"
    r"\Leftarrow 0;\quad\text{between: } x_{k+1,i}=x_{k,i}-\eta y_{k,i},\; y_{k+1,i}="
    r"y_{k,i}+\nabla f_i(x_{k+1,i})-\nabla f_i(x_{k,i});\quad y_{1,i}^{(r)}="
    r"y_{0,i}^{(r)}+\nabla f_i(x_{0,i}^{(r)})-\nabla f_i(x_{-1,i}^{(r)})",
    proposition="(15)-(21) are the rows of (13)-(14), and renaming x_{k+1,i} at "
    "k = r tau + t to x_{t,i}^{(r)} gives lines 6-13 of Algorithm 1 with (22), where "
    "grad f_i(x_{-1,i}) is the gradient at the end of i's last round.",
    constants={"reset": 0, "shift": 1},
    twin={"reset": 1},
    no_control="whether the renaming is applied before or after the switch, and which "
    "point ends a round, is not printed; the twin, a push without reset, fails under "
    "every reading",
)
def conversion(c: SimpleNamespace) -> Finding:
    """Check the rows, the lines under the renaming, and the stored point."""
    rows = judge.identity(
        (p for run in formal_rounds() for p in _row_pairs(run, c.reset)),
        f"any state; {FORMAL}",
    )
    forms = {"(13)-(14)": PLAIN, "the switched form (65)-(66)": SWITCHED}
    return judge.readings(
        {
            f"renaming {name}, stored at x_{{{point},i}}": judge.all_of(
                {
                    "(15)-(21)": rows,
                    "lines 6-9 and (22)": _renamed_lines(reading, c.shift),
                    "stored gradient": _stored_point(point),
                }
            )
            for (name, reading), point in product(forms.items(), ("tau - 1", "tau"))
        }
    )


def _row_pairs(run: Run, reset: int) -> Iterator[judge.Pair]:
    """(15)-(21) from any x and y, at every iteration of a round."""
    n, tau, cohort = run.n_clients, run.local_steps, run.cohorts[0]
    x, y = column(_names("a", n + 1)), column(_names("b", n + 1))
    now, moved = Stack(x, y, x), later(run)
    for k in range(tau + 1, 2 * tau + 1):
        old, now = now, iterate(moved, PLAIN, k, now)
        begins, ends = k == tau + 1, k == 2 * tau
        change = run.stacked_gradient(now.x) - run.stacked_gradient(old.x)
        fresh = tidy(old.y + change)
        server = old.x[0] - ETA * old.y[0] if begins else old.x[0]
        sent = sum(fresh[i + 1] for i in sorted(cohort)) if ends else 0
        label = f"{run}, k = {k}"
        yield f"{label}: (15)", now.x[0], server
        yield f"{label}: (18)", now.y[0], tidied(old.y[0] + sent)
        for i in range(n):
            if i not in cohort:
                yield (
                    f"{label}: absent {i + 1}",
                    [now.x[i + 1], now.y[i + 1]],
                    [old.x[i + 1], old.y[i + 1]],
                )
                continue
            step = tidied(old.x[i + 1] - ETA * old.y[i + 1])
            yield f"{label}: (16), (20)", now.x[i + 1], server if begins else step
            kept = reset * fresh[i + 1] if ends else fresh[i + 1]
            yield f"{label}: (19), (21)", now.y[i + 1], tidied(kept)


@cache
def _renamed_lines(reading: Reading, shift: int) -> Finding:
    """Lines 6, 8, 9 and (22) for rows renamed x_{k + shift} -> x_t, k = r tau + t."""
    pairs = (p for run in formal_rounds() for p in _line_pairs(run, reading, shift))
    return judge.identity(pairs, f"any state; {FORMAL}")


def _line_pairs(run: Run, reading: Reading, shift: int) -> Iterator[judge.Pair]:
    n, tau, cohort = run.n_clients, run.local_steps, run.cohorts[0]
    moved, begin = later(run), tau + (1 if reading.form == "plain" else 0)
    x = column(_names("a", n + 1))
    y = column([sympy.Symbol("b"), *([0] * n)])  # clients start a round with y = 0
    before = x
    xs, ys = {begin: x}, {begin: y}
    now = Stack(x, y, before)
    for k in range(begin, begin + tau):
        now = iterate(moved, reading, k, now)
        xs[k + 1], ys[k + 1] = now.x, now.y
    for i in sorted(cohort):
        at = {t: xs[tau + t + shift][i + 1] for t in range(tau)}
        previous = xs[begin][i + 1]
        pulled = xs[begin + 1][0]
        yield f"{run}: line 6, client {i + 1}", at[0], pulled
        slope = {t: run.gradient(i, value) for t, value in at.items()}
        value = slope[0] - run.gradient(i, previous)
        for t in range(tau - 1):
            here = ys[tau + t + 1 + shift][i + 1]
            yield f"{run}: line 8, t = {t}, client {i + 1}", here, tidied(value)
            stepped = tidied(at[t] - ETA * value)
            yield f"{run}: line 9, t = {t}, client {i + 1}", at[t + 1], stepped
            value = value + slope[t + 1] - slope[t]


@cache
def _stored_point(point: str) -> Finding:
    """Judge that storing at this point gives the server models of (65)-(66)."""
    return _box_models(Variant("t", point), "zero")


# Algorithm 1 ---------------------------------------------------------------------


def _box_models(variant: Variant, stored: str) -> Finding:
    """Judge that a reading of the box runs through the models of (65)-(66)."""
    cases = (
        judge.Case(
            {**_where(run, r), "stored at the start": _stored(run, stored)},
            box_states(run, _start(run, stored), variant)[r].x,
            server_models(run, SWITCHED)[r],
            lambda run=run, r=r: (
                _box_again(run, variant, stored)[r],
                again(run, SWITCHED)[r],
            ),
        )
        for run in rational_runs()
        for r in (1, 2)
    )
    search = judge.instances(cases, "==", "scalar quadratics, any rows at the start")
    pairs = (p for run in formal_rounds() for p in _box_pairs(run, variant, stored))
    return judge.proof_or_search(judge.identity(pairs, FORMAL), search)


def _box_pairs(run: Run, variant: Variant, stored: str) -> Iterator[judge.Pair]:
    """Induction: the recursion's round beside this reading's round, from any state."""
    start = _start(run, stored)
    yield f"{run}: start", [start.y, *start.stored], [0] * (run.n_clients + 1)
    yield from _switched_round(run, SWITCHED)
    box = _any_box(run)
    one, _ = box_round(run, run.cohorts[0], box)
    other, _ = box_round(run, run.cohorts[0], box, variant)
    yield (
        f"{run}: round",
        [one.x, one.y, *one.stored],
        [other.x, other.y, *other.stored],
    )


def _stored(run: Run, stored: str) -> tuple[Any, ...]:
    n = run.n_clients
    if stored == "start":
        return tuple(run.gradient(i, run.start) for i in range(n))
    if stored == "any":
        formal = isinstance(run.start, sympy.Expr)
        listed = sympy.symbols(f"e1:{n + 1}") if formal else (Fraction(1), Fraction(5))
        return tuple(listed[:n])
    return (0,) * n


def _start(run: Run, stored: str) -> Box:
    return Box(run.start, 0, _stored(run, stored), (run.start,) * run.n_clients)


def _box_again(run: Run, variant: Variant, stored: str) -> list[Fraction]:
    """Server models of a reading by its closed form, or line by line on numbers."""
    if variant == Variant():
        given = [Fraction(g) for g in _stored(run, stored)]
        return closed_form(run, given, Fraction(0))[0]
    x, y, models = run.start, Fraction(0), [run.start]
    g = [Fraction(v) for v in _stored(run, stored)]
    last = [run.start] * run.n_clients
    for cohort in run.cohorts[:-1]:
        for i in cohort:
            points, v = [last[i], x], Fraction(0)
            memory = g[i]
            for _ in range(run.local_steps):
                fresh = CURVATURES[i] * (points[-1] - MINIMISERS[i])
                v, memory = v + fresh - memory, fresh
                base = points[-1] if variant.line_9 == "t" else points[-2]
                points.append(base - run.step_size * v)
            end = points[-2] if variant.stored_at == "tau - 1" else points[-1]
            g[i], last[i] = CURVATURES[i] * (end - MINIMISERS[i]), points[-2]
            y = y + v
        x = x - run.step_size * y
        models.append(x)
    return models


@claim(
    "focus.alg1",
    source=Source("focus", "Algorithm 1"),
    statement=r"\text{line 2: } x_0 \text{ random},\; y_0=0,\;\nabla f_i(x_{-1,i}^{(0)}"
    r")=y_{0,i}^{(0)};\quad\text{line 6: } x_{0,i}^{(r)}\Leftarrow x_r,\; y_{0,i}^{(r)}"
    r"\Leftarrow 0;\quad\text{line 8: } y_{t+1,i}^{(r)}=y_{t,i}^{(r)}+\nabla f_i("
    r"x_{t,i}^{(r)})-\nabla f_i(x_{t-1,i}^{(r)});\quad\text{line 9: } x_{t+1,i}^{(r)}="
    r"x_{k,i}^{(r)}-\eta y_{t+1,i}^{(r)};\quad\text{line 12: } y_{r+1}\Leftarrow y_r+"
    r"\sum_{i\in S_r}y_{\tau,i}^{(r)};\quad\text{line 13: } x_{r+1}=x_r-\eta y_{r+1}",
    proposition="The box is the recursion (65)-(66) of the text started at y_0 = "
    "grad f(x_0), its messages are new less old stored gradients, and y_r is the sum "
    "of the stored gradients in every round.",
    constants={"tracker": 0, "message": 1},
    twin={"message": 2},
    no_control="line 2 does not say what is stored, nor line 9 which k is meant; the "
    "twin, a message of twice the change, fails under every reading",
)
def algorithm_1(c: SimpleNamespace) -> Finding:
    """Simulate each reading of lines 2 and 9; test the invariant every round."""
    readings = {
        "(i) stored gradients g_i = 0; k is t": ("zero", Variant()),
        "(ii) g_i = grad f_i(x_0); k is t": ("start", Variant()),
        "(iii) any g_i; k is t": ("any", Variant()),
        "g_i = 0; k is the iteration index of (65)-(66)": ("zero", Variant("k")),
    }
    return judge.readings(
        {
            name: judge.all_of(
                {
                    "server models of (65)-(66)": _box_models_once(variant, stored),
                    "y_r = sum_i g_i": _invariant(stored, c.tracker),
                    "lines 8 and 12": _closed_lines(variant, c.message),
                }
            )
            for name, (stored, variant) in readings.items()
        }
    )


_box_models_once = cache(_box_models)


def _invariant(stored: str, tracker: int) -> Finding:
    """y_r - sum_i g_i is 0 at the start and kept by every round."""
    cases = (
        judge.Case(
            {**_where(run, r), "stored at the start": _stored(run, stored)},
            *_tracked(run, stored, tracker)[r],
            lambda run=run, r=r: _tracked_again(run, stored, tracker)[r],
        )
        for run in rational_runs()
        for r in (0, 1, 2)
    )
    search = judge.instances(cases, "==", "scalar quadratics")
    pairs = (p for run in formal_rounds() for p in _kept(run, stored, tracker))
    return judge.proof_or_search(judge.identity(pairs, FORMAL), search)


def _tracked(run: Run, stored: str, tracker: int) -> list[tuple[Any, Any]]:
    start = _start(run, stored)
    first = Box(start.x, start.y + tracker, start.stored, start.points)
    return [(s.y, sum(s.stored, Fraction(0))) for s in box_states(run, first)]


def _tracked_again(run: Run, stored: str, tracker: int) -> list[tuple[Any, Any]]:
    given = [Fraction(g) for g in _stored(run, stored)]
    _, trackers, tables = closed_form(run, given, Fraction(tracker))
    sums = [sum(table, Fraction(0)) for table in tables]
    return list(zip(trackers, sums, strict=True))


def _kept(run: Run, stored: str, tracker: int) -> Iterator[judge.Pair]:
    start, box = _start(run, stored), _any_box(run)
    yield f"{run}: round 0", start.y + tracker, sum(start.stored)
    after, _ = box_round(run, run.cohorts[0], box)
    gap = tidied(after.y - sum(after.stored))
    yield f"{run}: kept", gap, box.y - sum(box.stored)


@cache
def _closed_lines(variant: Variant, message: int) -> Finding:
    """y_{t+1,i} = grad f_i(x_{t,i}) - g_i, and the message is new less old g_i."""
    pairs: list[judge.Pair] = []
    for run in formal_rounds():
        box = _any_box(run)
        after, traces = box_round(run, run.cohorts[0], box, variant)
        for i, trace in traces.items():
            old, new = box.stored[i], after.stored[i]
            first = run.gradient(i, box.x) - old
            pairs.append((f"{run}: y_1 of client {i + 1}", trace[1], first))
            pairs.append((f"{run}: message of {i + 1}", message * trace[-1], new - old))
    return judge.identity(pairs, f"any state; {FORMAL}")


# Figure 3, Section 5.1, communication --------------------------------------------


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
)
def fig3_schedule(c: SimpleNamespace) -> Finding:
    """Count what (13)-(14) does to a participant in the listed iterations."""
    return judge.readings(
        {
            "(i) updates of the pair (x, y) at the listed iterations": _counted(
                c, "both", ends=False
            ),
            "(ii) evaluations (updates of y) from pull to push": _counted(
                c, "y", ends=True
            ),
            "(iii) moves of x by -eta y from pull to push": _counted(c, "x", ends=True),
        }
    )


def _counted(c: SimpleNamespace, what: str, *, ends: bool) -> Finding:
    cases = (
        judge.Case(
            {"tau": tau, "counted": what},
            _updates(tau, c, what, ends=ends),
            tau,
            lambda tau=tau: (_updates_by_index(tau, c, what, ends=ends), tau),
        )
        for tau in (2, 1, *range(3, 9))
    )
    return judge.instances(cases, "==", "tau = 1..8, one round of (13)-(14)")


def _listed(tau: int, c: SimpleNamespace, *, ends: bool) -> set[int]:
    local = set(range(tau + c.local_from, 2 * tau + c.local_to + 1))
    return local | {tau + 1, 2 * tau} if ends else local


def _updates(tau: int, c: SimpleNamespace, what: str, *, ends: bool) -> int:
    """Run round 1 of (13)-(14) and count evaluations of client 1 and its moves."""
    asked: list[Fraction] = []

    def gradient(i: int, model: Fraction) -> Fraction:
        asked.append(model)
        return CURVATURES[i] * (model - MINIMISERS[i])

    nobody: Cohort = frozenset()
    cohorts = (nobody, frozenset({0}), nobody)
    run = Run(gradient, cohorts, 1, tau, Fraction(1, 8), Fraction(4), (Fraction(7),))
    now, total = initial(run), 0
    for k in range(1, 2 * tau + 1):
        old, now = now, iterate(run, PLAIN, k, now)
        fresh = asked[-2] != asked[-1]  # at the new point and at the one before
        moved = now.x[1] == old.x[1] - run.step_size * old.y[1] != old.x[1]
        does = {"y": fresh, "x": moved, "both": fresh and moved}[what]
        total += does and k in _listed(tau, c, ends=ends)
    return total


def _updates_by_index(tau: int, c: SimpleNamespace, what: str, *, ends: bool) -> int:
    """The same from the dictionary: evaluate at tau+1..2 tau, move at tau+2..2 tau."""
    first = tau + 1 if what == "y" else tau + 2
    return len(_listed(tau, c, ends=ends) & set(range(first, 2 * tau + 1)))


@claim(
    "focus.sec5.1.delayed",
    source=Source("focus", "Section 5.1"),
    statement=r"y_{r+1}=\sum_{i=1}^N\nabla f_i(x_{k+1,i});\quad\text{any client "
    r"participation scheme, as long as each client participates with a non-zero "
    r"probability, will still guarantee exact convergence}",
    proposition="The server's y_{r+1} is the sum of the clients' gradients at "
    "x_{k+1,i}, k = (r+1) tau, and FOCUS converges in mean square whenever every "
    "p_i > 0.",
    constants={"joined": 1, "fixed_step": "1/2", "step_factor": "1/8"},
    twin={"joined": 2},
    no_control="from which round on, and whether the step size may depend on p, is not "
    "printed; the twin, twice the sum, fails under every reading",
)
def delayed(c: SimpleNamespace) -> Finding:
    """Compare y_{r+1} with the gradients; exact mean-square rates for both steps."""
    sums = {
        "(i) from round 0": _sum_of_gradients(c.joined, first=True),
        "(ii) once every client has joined": _sum_of_gradients(c.joined, first=False),
    }
    steps = {
        "a step size fixed whatever p": _fixed_step(Fraction(c.fixed_step)),
        "a step size small enough for p": _small_step(Fraction(c.step_factor)),
    }
    return judge.readings(
        {
            f"{when}; {how}": judge.all_of(
                {"sum": sums[when], "convergence": steps[how]}
            )
            for when, how in product(sums, steps)
        }
    )


def _sum_of_gradients(factor: int, *, first: bool) -> Finding:
    """Run (13)-(14) on quadratics; then a round from any state of joined clients."""
    cases = (
        judge.Case(
            _where(run, r),
            *_tracker_and_sum(run, r, factor),
            lambda run=run, r=r: _tracker_and_sum_again(run, r, factor),
        )
        for run in rational_runs()
        for r in (1, 2)
        if first or len(frozenset().union(*run.cohorts[:r])) == run.n_clients
    )
    search = judge.instances(cases, "==", "scalar quadratics, rounds 1 and 2")
    pairs = (p for run in formal_rounds() for p in _joined(run, factor, first=first))
    return judge.proof_or_search(judge.identity(pairs, FORMAL), search)


def _tracker_and_sum(run: Run, r: int, factor: int) -> tuple[Any, Any]:
    now = initial(run)
    for k in range(1, r * run.local_steps + 1):
        now = iterate(run, PLAIN, k, now)
    return now.y[0], factor * sum(run.stacked_gradient(now.x))


def _tracker_and_sum_again(run: Run, r: int, factor: int) -> tuple[Any, Any]:
    """Joined clients are at their stored gradients, the others at their own rows."""
    zero = [Fraction(0)] * run.n_clients
    _, trackers, tables = closed_form(run, zero, Fraction(0))
    joined = frozenset().union(*run.cohorts[:r])
    slopes = [
        tables[r][i] if i in joined else CURVATURES[i] * (row - MINIMISERS[i])
        for i, row in enumerate(run.client_starts)
    ]
    return trackers[r], factor * sum(slopes)


def _joined(run: Run, factor: int, *, first: bool) -> Iterator[judge.Pair]:
    """A round after which all have joined; before it, only S may not have."""
    box, cohort = _any_box(run), run.cohorts[0]
    rows = column([box.x, *box.points])
    slopes = run.stacked_gradient(rows)[1:]
    g = [box.stored[i] if first or i in cohort else s for i, s in enumerate(slopes)]
    pending = [s - v for s, v in zip(slopes, g, strict=True)]
    now, moved = Stack(rows, column([sum(g), *pending]), rows), later(run)
    for k in range(run.local_steps + 1, 2 * run.local_steps + 1):
        now = iterate(moved, PLAIN, k, now)
    total = factor * sum(run.stacked_gradient(now.x))
    yield f"{run}: y_r", now.y[0], tidied(total)


def _fixed_step(relative: Fraction) -> Finding:
    """One client, tau = 1, Bernoulli(p), eta = relative/h: the mean-square rate."""
    cases = (
        judge.Case(
            {"N": 1, "tau": 1, "p": p, "h": 1, "step size": relative},
            _rate([1], Bernoulli([p]), relative),
            1,
            lambda p=p: (_between_rounds(p, relative), 1),
        )
        for p in (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 20))
    )
    return judge.instances(cases, "<", "one client, tau = 1, p from 1 to 1/20")


def _between_rounds(p: Fraction, a: Fraction) -> Fraction:
    """E (1 - j a)^2, j geometric: the growth of E x^2 from one joined round to the next.

    Until it joins again the server repeats the step -a x, j times with probability
    p (1-p)^(j-1); E j = 1/p and E j^2 = (2-p)/p^2.
    """
    return 1 - 2 * a / p + a * a * (2 - p) / p**2


def _small_step(factor: Fraction) -> Finding:
    """eta = factor p_min^2/(L N) on laws and curvatures: the mean-square rate."""
    laws = [
        Bernoulli(["1/20"]),
        Bernoulli(["1/50", "1"]),
        Bernoulli(["1/3", "1/3", "1/3"]),
        UniformCohort(3, 1),
        UniformCohort(3, 2),
        AllOrNothing(2, "1/10"),
    ]
    cases = []
    for law, steps, kappa in product(laws, (1, 3), (1, 30)):
        h = [kappa, *([1] * (law.n_clients - 1))]
        p = min(law.inclusion())
        eta = factor * p * p / (kappa * law.n_clients)
        where = {"law": law.spec, "h": h, "tau": steps, "step size": eta}
        cases.append(judge.Case(where, _rate(h, law, eta, steps), 1))
    return judge.instances(cases, "<", "1 to 3 clients, six laws, kappa = 1 and 30")


def _rate(h: list[int], law: Any, eta: Fraction, steps: int = 1) -> Fraction:
    problem = Quadratics([[[v]] for v in h], [[v] for v in h])
    return moments(problem, Focus(eta, steps), law).mean_square_rate_interval[1]


@claim(
    "focus.equiv_claims_comm",
    source=Source("focus", "Algorithm 1 and Figure 3"),
    statement=r"\text{no need to pull } y_r;\quad\text{push } y_{\tau,i}^{(r)}\text{ "
    r"(not average): one } d\text{-vector each way per round and participating client}",
    proposition="Algorithm 1 runs on one vector to and one vector from each "
    "participant per round: x_r goes out, y_{tau,i} comes back, nothing else is sent.",
    constants={"down": 1, "up": 1},
    twin={"up": 2},
)
def communication(c: SimpleNamespace) -> Finding:
    """Run server and clients apart, passing only messages, and count them."""
    pairs: list[judge.Pair] = []
    for run in formal_rounds():
        box, cohort = _any_box(run), run.cohorts[0]
        model, sent = _by_messages(run, box)
        after, _ = box_round(run, cohort, box)
        counts = [len(sent["down"]), len(sent["up"])]
        expected = [c.down * len(cohort), c.up * len(cohort)]
        pairs.append((f"{run}: vectors", counts, expected))
        pairs.append((f"{run}: server", model, [after.x, after.y]))
    return judge.identity(pairs, f"any state; {FORMAL}")


def _by_messages(run: Run, box: Box) -> tuple[list[Any], dict[str, list[Any]]]:
    """One round in which a client sees its message and memory, the server the sums."""
    sent: dict[str, list[Any]] = {"down": [], "up": []}
    clients = [_client(run, i, box.stored[i]) for i in range(run.n_clients)]
    tracker = box.y
    for i in sorted(run.cohorts[0]):
        sent["down"].append(box.x)
        sent["up"].append(clients[i](sent["down"][-1]))
        tracker = tracker + sent["up"][-1]
    return [tidied(box.x - ETA * tracker), tidied(tracker)], sent


def _client(run: Run, i: int, stored: Any) -> Callable[[Any], Any]:
    """A participant: from the model it receives to the vector it returns."""

    def work(model: Any) -> Any:
        x, y, old = model, 0, stored
        for _ in range(run.local_steps):
            new = run.gradient(i, x)
            y, old = tidied(y + new - old), new
            x = tidied(x - ETA * y)
        return y

    return work

"""A round of FOCUS by matrices, for every number of clients and of local steps.

Entries of R(S) and C(S) are defined by cases on membership, so that two clients of each
kind, in S_r or not and in S_{r+1} or not, show all of them. The iterations k = r tau +
j, j = 1, ..., tau, of a round are of four kinds, and each is judged from any rows that
the one before it may leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from flverify._core.exact import Array
from flverify.claims import judge
from flverify.claims.any_cohort import NEXT, OF_TWO, THIS, of_two
from flverify.claims.focus_any_box import (
    ANY,
    EVERY,
    INSIDE,
    Local,
    begun,
    finished,
    gone_on,
    gradients,
    lines,
)
from flverify.claims.focus_box import Box
from flverify.claims.focus_placings import Placing
from flverify.claims.focus_recursions import Reading, Stack
from flverify.claims.focus_runs import ETA
from flverify.claims.printed_mixing import pull, push
from flverify.claims.scalar_runs import Cohort, column, tidy
from flverify.claims.verdict import Finding
from flverify.claims.written import above, at_least, at_most, both, either, equal

j, tau = sympy.symbols("j tau", real=True)
KINDS = {  # of iterations j = 1, ..., tau, and which j and tau they have
    "the first of several": [equal(j, 1), tau >= 2],
    "one in between": [j >= 2, j <= tau - 1],
    "the last of several": [equal(j, tau), tau >= 2],
    "the only one": [equal(j, 1), equal(tau, 1)],
}
FIRST, BETWEEN, LAST, ONLY = KINDS
BEGINS, ENDS = (FIRST, ONLY), (LAST, ONLY)
NOBODY: Cohort = frozenset()
COHORTS = {0: THIS, 1: NEXT}  # S_r and S_{r+1}


@dataclass(frozen=True)
class Standing:
    """What stands at an iteration: rounds of R(S), C(S) and D_k, less r; or None.

    C_{k,all} with this `weight` stands for C(S) where it is not 0.
    """

    pull: int | None
    push: int | None
    serves: bool
    works: int | None
    weight: int = 0


def placing_of(reading: Reading) -> Placing:
    """Return the offsets of (13)-(14) or (65)-(66) under a reading."""
    pulled = int(reading.form == "plain")
    pushed = 0 if reading.push == "end" else None
    return Placing(
        reading.form, pulled, pushed, pulled, reading.range_from, reading.first
    )


def standing(placing: Placing, kind: str) -> Standing:
    """Say what stands at an iteration of a kind, if all offsets are 0 or 1."""
    pulled = _round_at(placing.pull, kind)
    ended = None if placing.push is None else _round_at(placing.push, kind)
    pushed = pulled if placing.push is None else ended and ended - 1
    served = _round_at(placing.server, kind) is not None
    works = int(kind in ENDS and not placing.range_from)
    weight = placing.weight if placing.collects == "all" else 0
    return Standing(pulled, pushed, served, works, weight)


def _round_at(offset: int, kind: str) -> int | None:
    """Return q with k = (r + q) tau + offset, or None."""
    if offset:
        return 0 if kind in BEGINS else None
    return 1 if kind in ENDS else None


@cache
def scheduled(placing: Placing) -> Finding:
    """Judge `standing` for every tau: k is so many rounds and the offset, or between.

    And that no iteration of a round is left out.

    Examples
    --------
    >>> scheduled(Placing("plain", 1, 0, 1, 1, 1)).verdict.name
    'PROVED'
    """
    parts = {"every iteration": of_a_kind()}
    for kind, known in KINDS.items():
        at = standing(placing, kind)
        for name, offset in {"pull": placing.pull, "server": placing.server}.items():
            where = _stands(offset, _round_at(offset, kind))
            parts[f"{kind}: {name}"] = judge.implied(known, where, EVERY)
        if placing.push is not None:
            ended = None if at.push is None else at.push + 1
            where = _stands(placing.push, ended)
            parts[f"{kind}: push"] = judge.implied(known, where, EVERY)
        since, q = j - placing.range_from, at.works or 0
        follows = both(at_least(since, q * tau), above((q + 1) * tau, since))
        parts[f"{kind}: D_k"] = judge.implied(known, follows, EVERY)
    return judge.all_of(parts)


@cache
def of_a_kind() -> Finding:
    """Judge that every iteration j = 1, ..., tau of a round is of one of the kinds.

    A whole j is 1 or at least 2, and tau or at most tau - 1.

    Examples
    --------
    >>> of_a_kind().verdict.name
    'PROVED'
    """
    whole = [either(equal(j, 1), j >= 2), either(equal(j, tau), j <= tau - 1)]
    kinds = (both(*known) for known in KINDS.values())
    return judge.implied([j >= 1, j <= tau, *whole], either(*kinds), EVERY)


OFFSETS = ("pull", "push", "server", "range_from")


def same_schedule(
    one: Placing, other: Placing, shift: int, names: Sequence[str] = OFFSETS
) -> list[judge.Pair]:
    """Compare what stands at k + shift in one placing with what does at k in another.

    All of it depends on k less an offset, on tau and on the cohorts.

    Examples
    --------
    >>> left, right = Placing("plain", 1, 0, 1, 1, 1), Placing("plain", 0, -1, 0, 0, 0)
    >>> judge.identity(same_schedule(left, right, 1), "every k").verdict.name
    'PROVED'
    """
    pairs = [(name, getattr(one, name), getattr(other, name)) for name in names]
    set_apart = [(name, int(a is None), int(b is None)) for name, a, b in pairs]
    moved = [(name, a - shift, b) for name, a, b in pairs if None not in (a, b)]
    return [*set_apart, *moved]


def _stands(offset: int, q: int | None) -> Any:
    since = j - offset
    if q is None:
        return both(above(since, 0), above(tau, since))  # no multiple of tau
    return both(at_least(since, q * tau), at_most(since, q * tau))


def iterate(form: str, at: Standing, old: Stack) -> Stack:
    """Return the rows after an iteration."""
    R = of_two(pull, _cohort(at.pull))
    C = of_two(push, _cohort(at.push))
    if at.weight and at.push is not None:
        C = np.zeros((len(OF_TWO) + 1,) * 2, dtype=object)
        C[0, :] = at.weight
    on = (int(i in _cohort(at.works)) for i in OF_TWO)
    D = column([int(at.serves), *on])
    if form == "plain":
        x = tidy(R @ (old.x - ETA * D * old.y))
        y = tidy(C @ (old.y + _slopes(x) - _slopes(old.x)))
    else:
        y = tidy(C @ (old.y + _slopes(old.x) - _slopes(old.before)))
        x = tidy(R @ (old.x - ETA * D * y))
    return Stack(x, y, old.x)


def _cohort(q: int | None) -> Cohort:
    return NOBODY if q is None else COHORTS[q]


def _slopes(rows: Array) -> Array:
    return column([0, *gradients([*rows[1:]])])


def between_rounds(form: str, box: Box, pulled: Cohort) -> Stack:
    """Return rows after k = r tau that a state of the box has; only x of W is open.

    Clients have y_i = grad f_i less what is stored, at their rows before any pull.
    """
    at = zip(gradients(box.points), box.stored, strict=True)
    y = column([box.y, *(slope - s for slope, s in at)])
    if form == "plain":
        rows = column([box.x + ETA * box.y, *box.points])
        return Stack(rows, y, rows)
    x = [box.x if i in pulled else box.points[i - 1] for i in OF_TWO]
    before = column([sympy.Symbol("W"), *box.points])
    return Stack(column([box.x, *x]), y, before)


def inside(form: str, box: Box, local: Local) -> Stack:
    """Return rows inside a round: participants are at p and v, the others waiting."""
    kept = between_rounds(form, box, NOBODY)
    x, y, before = [box.x], [box.y], [box.x]
    for i, p, v in zip(OF_TWO, *local, strict=True):
        works = i in THIS
        ahead = p if form == "plain" else p - ETA * v
        x.append(ahead if works else kept.x[i])
        y.append(v if works else kept.y[i])
        before.append(p if works else kept.before[i])
    return Stack(column(x), column(y), column(before))


def an_iteration(
    placing: Placing, kind: str, box: Box = ANY, factor: int = 1
) -> list[judge.Pair]:
    """Compare what an iteration makes of rows with what the box does meanwhile.

    The box adds `factor` times each message to its tracker.
    """
    form = placing.form
    old = inside(form, box, INSIDE)
    local = gone_on()
    if kind in BEGINS:
        old, local = between_rounds(form, box, THIS), begun(box)
    wanted = inside(form, box, local)
    if kind in ENDS:
        wanted = between_rounds(form, finished(local, box, factor), NEXT)
    now = iterate(form, standing(placing, kind), old)
    return _pairs(kind, form, now, wanted)


def _pairs(name: str, form: str, now: Stack, wanted: Stack) -> list[judge.Pair]:
    pairs = [
        (f"{name}: x", list(now.x), list(tidy(wanted.x))),
        (f"{name}: y", list(now.y), list(tidy(wanted.y))),
    ]
    if form == "switched":  # whose gradients of before count, but for the server's
        before = list(now.before[1:]), list(tidy(wanted.before[1:]))
        pairs.append((f"{name}: rows before", *before))
    return pairs


def _at_the_start(placing: Placing, *, alike: bool) -> list[judge.Pair]:
    """Compare rows x_0 and y_0 = grad f(x_0) with the box of stored gradients 0."""
    x, *rows = sympy.symbols("x_0 z1:9")
    rows = [x] * len(rows) if alike else rows
    x_0 = column([x, *rows])
    now = Stack(x_0, _slopes(x_0), x_0)
    if placing.first == 0:  # then k = 0 is r tau + offset, r = 0, if the offset is 0
        pulled, works = (None if c else 0 for c in (placing.pull, placing.range_from))
        pushed = pulled if placing.push is None else None  # no round has ended
        at = Standing(pulled, pushed, not placing.server, works)
        now = iterate(placing.form, at, now)
    box = Box(x, sympy.Integer(0), (0,) * len(rows), tuple(rows))
    return _pairs("start", placing.form, now, between_rounds(placing.form, box, THIS))


@cache
def any_round(reading: Reading) -> Finding:
    """Judge that a recursion runs through the server models of the box.

    Examples
    --------
    >>> any_round(Reading(range_from=1, first=1)).verdict.name, any_round(
    ...     Reading(first=1)
    ... ).verdict.name
    ('PROVED', 'REFUTED')
    """
    placing = placing_of(reading)
    start = _at_the_start(placing, alike=reading.alike)
    each = {kind: judge.identity(an_iteration(placing, kind), EVERY) for kind in KINDS}
    return judge.all_of(
        {
            "start": judge.identity(start, EVERY),
            "where the matrices stand": scheduled(placing),
            "lines 6-10": lines(),
            **each,
        },
        scope=EVERY,
        argument="The rows at the start are those between two rounds that a state of "
        "the box has. From such rows the first iteration of a round, any in between "
        "and the last one make what the box does in as many local steps, and leave "
        "rows of its next state. Each client's rows depend on no other client, and the "
        "server's y adds up one term of each participant.",
    )

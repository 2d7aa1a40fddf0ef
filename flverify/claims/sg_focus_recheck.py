"""SG-FOCUS on scalar quadratics, computed again: plain loops, and few numbers.

`listed` plays every cohort and every sign of every noise by the plain loop; `symmetric`
follows nine numbers of clients that are all alike. `shared` and `once` are two ways to
the run in which all clients use one sample in all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

import numpy as np

from flverify._core.errors import DomainError
from flverify._core.exact import Array
from flverify.claims.focus_moments import Start
from flverify.claims.sg_focus_moments import FIELDS, WITHIN, Curves, NoisyClients
from flverify.engines.arithmetic import RATIONAL
from flverify.reference import focus
from flverify.reference._noise import Atoms, every_run

LONGEST_LIST = 3000  # runs that a recheck plays one by one

Recomputation = Callable[[NoisyClients, Fraction, Start, int], Curves]


def recomputation(
    clients: NoisyClients, start: Start, rounds: int
) -> Recomputation | None:
    """Return a way to the moments in rationals without `curves`, if there is one.

    Few runs: every cohort and every sign of every noise, by the plain loop. Clients
    that are all alike: nine numbers.
    """
    if len(clients.curvatures) <= 4 and _fewest(clients, rounds) <= LONGEST_LIST:
        return listed
    return symmetric if clients.alike and len({*start[1]}) == 1 else None


def _fewest(clients: NoisyClients, rounds: int) -> float:
    """Count the runs, summed over the sequences of cohorts."""
    signs = 2 if clients.variance else 1
    each = [
        float(signs) ** (clients.local_steps * len(cohort))
        for cohort, chance in clients.law.support().items()
        if chance
    ]
    try:
        return sum(each) ** rounds
    except OverflowError:
        return np.inf


def signs(variance: Fraction) -> Atoms:
    """Two equally likely values of mean 0 and a variance that is a square, or 0 alone.

    Raises
    ------
    DomainError
        If the variance has no rational root.
    """
    root = Fraction(isqrt(variance.numerator), isqrt(variance.denominator))
    if root**2 != variance:
        raise DomainError(
            f"a variance must have a rational root here; got {variance}; choose a "
            "square."
        )
    if not variance:
        return [(Fraction(1), [root])]
    return [(Fraction(1, 2), [root]), (Fraction(1, 2), [-root])]


def listed(clients: NoisyClients, step: Fraction, start: Start, rounds: int) -> Curves:
    """Return the moments by playing every cohort and every noise."""
    noise = [signs(clients.variance)] * len(clients.curvatures)
    return _averaged(clients, step, start, rounds, noise)


def once(clients: NoisyClients, step: Fraction, start: Start, rounds: int) -> Curves:
    """Return the moments where one sample is drawn for all clients and all rounds.

    (122) holds at every point; the samples are not independent.
    """
    many = len(clients.curvatures)
    parts = [
        _averaged(clients, step, start, rounds, [[(Fraction(1), value)]] * many)
        for _, value in signs(clients.variance)
    ]
    return Curves(
        *(sum(getattr(part, name) for part in parts) / len(parts) for name in FIELDS)
    )


def _averaged(
    clients: NoisyClients,
    step: Fraction,
    start: Start,
    rounds: int,
    noise: Sequence[Atoms],
) -> Curves:
    totals = [[Fraction(0)] * (rounds + 1) for _ in FIELDS]
    outcomes = [(s, p) for s, p in clients.law.support().items() if p]
    for sequence in product(outcomes, repeat=rounds):
        chance = Fraction(1)
        for _, part in sequence:
            chance *= part
        cohorts = [s for s, _ in sequence]
        for weight, values in _played(clients, step, start, cohorts, noise):
            for total, row in zip(totals, values, strict=True):
                for r, value in enumerate(row):
                    total[r] += chance * weight * value
    lengths = [rounds + 1] * 2 + [rounds] * len(WITHIN)
    return Curves(*map(_column, totals, lengths))


def _column(values: Sequence[Any], length: int) -> Array:
    out = np.empty(length, dtype=object)
    out[:] = values[:length]
    return out


def _played(
    clients: NoisyClients,
    step: Fraction,
    start: Start,
    cohorts: Sequence[frozenset[int]],
    noise: Sequence[Atoms],
) -> Iterator[tuple[Fraction, list[list[Fraction]]]]:
    """Algorithm 2 line by line, with a tape of the gradients that it is given."""
    h = clients.curvatures

    def play(gradient: Any) -> list[list[Fraction]]:
        points = list(start[1])
        state: dict[str, Any] = {
            "model": [start[0]],
            "tracker": [sum((a * b for a, b in zip(h, points, strict=True)), 0)],
            "stored": [[a * b] for a, b in zip(h, points, strict=True)],
        }

        def taped(client: int, point: list[Fraction]) -> list[Fraction]:
            points[client] = point[0]
            found: list[Fraction] = gradient(client, point)
            return found

        rows: list[list[Fraction]] = [[] for _ in FIELDS]
        for cohort in cohorts:
            w = state["model"][0]
            _begin(rows, w, points)
            steps = clients.local_steps
            state = focus.play(
                state, taped, len(h), cohort, step_size=step, local_steps=steps
            )
            _round(rows, clients, step, w, points, state, cohort)
        _begin(rows, state["model"][0], points)
        return rows

    def exact(client: int, point: list[Fraction]) -> list[Fraction]:
        return [h[client] * point[0]]

    yield from every_run(play, exact, noise)


def _begin(rows: list[list[Fraction]], w: Fraction, points: list[Fraction]) -> None:
    rows[0].append(w * w)
    rows[1].append(sum(((w - v) ** 2 for v in points), Fraction(0)))


def _round(
    rows: list[list[Fraction]],
    clients: NoisyClients,
    step: Fraction,
    w: Fraction,
    points: list[Fraction],
    state: dict[str, Any],
    cohort: frozenset[int],
) -> None:
    h = clients.curvatures
    exact = sum((a * b for a, b in zip(h, points, strict=True)), Fraction(0))
    pushed = sum((g[0] for g in state["stored"]), Fraction(0))
    drift = (sum(h) * w - exact) ** 2
    moved = sum(((w - points[i]) ** 2 for i in cohort), Fraction(0)) / step**2
    values = drift, w * exact, w * (pushed - exact), exact**2, pushed**2, moved
    for row, value in zip(rows[2:], values, strict=True):
        row.append(value)


def symmetric(clients: NoisyClients, step: Any, start: Start, rounds: int) -> Curves:
    """Return the moments of clients that are all alike, from nine numbers.

    With s = sum z_i, t = sum n_i they are E of ww, ws, wt, ss, st, tt and of v = sum
    z_i^2, u = sum n_i^2, c = sum z_i n_i. For numbers a_i, b_i known before the draw
    E (sum_S a_i)(sum_S b_i) = p_2 (sum a_i)(sum b_i) + (p - p_2) sum a_i b_i.
    """
    N, numbers = clients.total, (clients.inclusion, clients.curvatures[0], step)
    pairs = clients.law.joint_inclusion()
    more = (pairs[0, 1] if N > 1 else numbers[0], clients.variance)
    point = (start[0], start[1][0], Fraction(0))
    p, h, step, p2, variance, w, z, zero = (
        RATIONAL.convert(value) for value in (*numbers, *more, *point)
    )
    steps = clients.local_steps - 1
    g = (1 - step * h) ** steps
    k = sum((step * (1 - step * h) ** t for t in range(steps)), zero)
    e = sum((step**2 * (1 - step * h) ** (2 * t) for t in range(steps)), zero)
    e *= variance
    ww, ws, ss, v = w * w, w * N * z, (N * z) ** 2, N * z * z
    wt = st = tt = u = c = zero
    rows: list[list[Any]] = [[] for _ in FIELDS]
    for r in range(rounds + 1):
        rows[0].append(ww)
        rows[1].append(N * ww - 2 * ws + v)
        if r == rounds:
            break
        wa, sa = g * (N * ww - ws) + k * wt, g * (N * ws - ss) + k * st
        ta = g * (N * wt - st) + k * tt
        aa = g * g * (N * N * ww - 2 * N * ws + ss) + k * k * tt
        aa += 2 * g * k * (N * wt - st)
        dd = g * g * (N * ww - 2 * ws + v) + k * k * u + 2 * g * k * (wt - c)
        dn = -(g * (wt - c) + k * u)
        gone = (1 - g) ** 2 * (N * ww - 2 * ws + v) + k * k * u
        gone += -2 * (1 - g) * k * (wt - c) + N * e
        v = v + 2 * p * (g * (ws - v) + k * c) + p * dd + p * N * e
        ss = ss + 2 * p * sa + p2 * aa + (p - p2) * dd + p * N * e
        st = st + p * (ta - st) - p2 * ta + (p - p2) * dn
        tt = tt - 2 * p * tt + p2 * tt + (p - p2) * u + p * N * variance
        ws, wt, u, c = ws + p * wa, wt - p * wt, u + p * (N * variance - u), c - p * c
        within = (
            h * h * (N * N * ww - 2 * N * ws + ss),
            h * ws,
            wt,
            h * h * ss,
            h * h * ss + 2 * h * st + tt,
            p * gone / step**2,
        )
        for row, value in zip(rows[2:], within, strict=True):
            row.append(value)
        ww = ww - 2 * step * (h * ws + wt) + step**2 * within[4]
        ws, wt = ws - step * (h * ss + st), wt - step * (h * st + tt)
    exact = ([RATIONAL.number(value) for value in row] for row in rows)
    return Curves(*(_column(row, len(row)) for row in exact))


def shared(clients: NoisyClients, step: Fraction, start: Start, rounds: int) -> Curves:
    """Return the moments of `once` at full participation, by the recursion.

    All noises equal one number xi = +-sigma; before the first round they are 0.
    """
    (root, *_) = (value[0] for _, value in signs(clients.variance))
    parts = [_constant(clients, step, start, rounds, xi) for xi in (root, -root)]
    columns = zip(*parts, strict=True)
    means = [[(a + b) / 2 for a, b in zip(*rows, strict=True)] for rows in columns]
    return Curves(*(_column(row, len(row)) for row in means))


def _constant(
    clients: NoisyClients, step: Fraction, start: Start, rounds: int, xi: Fraction
) -> list[list[Fraction]]:
    h, (w, z) = clients.curvatures, (start[0], list(start[1]))
    count, steps = len(h), clients.local_steps - 1
    keep = [(1 - step * a) ** steps for a in h]
    old = [sum((step * (1 - step * a) ** t for t in range(steps)), 0 * w) for a in h]
    rows: list[list[Fraction]] = [[] for _ in FIELDS]
    for r in range(rounds + 1):
        _begin(rows, w, z)
        if r == rounds:
            break
        jump = xi if r == 0 else 0 * xi  # stored noise is 0 before the first round
        pairs = zip(z, keep, old, strict=True)
        z = [v + a * (w - v) - b * jump for v, a, b in pairs]
        exact = sum((a * v for a, v in zip(h, z, strict=True)), Fraction(0))
        pushed = exact + count * xi
        gone = sum(((w - v) ** 2 for v in z), Fraction(0)) / step**2
        values = (sum(h) * w - exact) ** 2, w * exact, w * count * xi
        within = *values, exact**2, pushed**2, gone
        for row, value in zip(rows[2:], within, strict=True):
            row.append(value)
        w = w - step * pushed
    return rows

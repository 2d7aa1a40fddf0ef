"""FOCUS on scalar quadratics: second moments of a run, and two exact recomputations.

f_i(x) = h_i x^2/2 up to a shift: about x* the gradients at x* only add up to 0, so a
run whose tracker starts as the sum of the stored gradients is, in errors,

    z_i' = z_i + I_i (1 - eta h_i)^(tau-1) (w - z_i),    w' = w - eta sum_i h_i z_i'

with w the server model that is pulled (x_{r tau+1} of Appendix D) and z_i the point of
client i's stored gradient (its row of x_{r tau}). An empty round moves the server too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby, product
from typing import Any

import numpy as np

from flverify._core.errors import DomainError
from flverify._core.exact import Array, objects
from flverify._core.rationals import from_flint, nearest_floats, rational, to_flint
from flverify.participation._law import Participation

Start = tuple[Fraction, tuple[Fraction, ...]]  # (w, z_1, ...)

LONGEST_LIST = 600  # sequences of cohorts that a recheck runs one by one


@dataclass(frozen=True)
class Clients:
    """Clients f_i = h_i x^2/2 with a law, each standing for equal copies of itself.

    Parameters
    ----------
    curvatures : tuple of rationals, weight f/x^2
        h_i.
    law : Participation
        Law of the listed clients, rational, every p_i > 0; copies act together.
    local_steps : int
        tau.
    copies : int
        Clients that each listed one stands for.

    Raises
    ------
    DomainError
        If a client never participates, which Assumption 1 excludes, or F is not
        curved upwards.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> two = Clients((Fraction(1), Fraction(3)), UniformCohort(2, 1), 2)
    >>> two.total, two.smoothness, two.strong_convexity, two.averaging
    (2, Fraction(3, 1), Fraction(1, 1), Fraction(1, 2))
    """

    curvatures: tuple[Fraction, ...]
    law: Participation
    local_steps: int
    copies: int = 1

    def __post_init__(self) -> None:
        if not self.inclusion > 0 or not self.mean_curvature > 0:
            raise DomainError(
                "every p_i and the mean curvature must be above 0; got "
                f"{self.inclusion} and {self.mean_curvature}; choose others."
            )

    @property
    def total(self) -> int:
        """Number of clients N."""
        return len(self.curvatures) * self.copies

    @cached_property
    def smoothness(self) -> Fraction:
        """Least L for which every gradient is L-Lipschitz, weight f/x^2."""
        return max(abs(h) for h in self.curvatures)

    @cached_property
    def strong_convexity(self) -> Fraction:
        """Largest mu for which every f_i is mu-strongly convex, weight f/x^2."""
        return min(self.curvatures)

    @cached_property
    def mean_curvature(self) -> Fraction:
        """F'', the largest beta of the PL condition, weight f/x^2."""
        return sum(self.curvatures, Fraction(0)) / len(self.curvatures)

    @cached_property
    def inclusion(self) -> Fraction:
        """Least p_i."""
        return Fraction(min(self.law.inclusion().tolist()))

    @cached_property
    def averaging(self) -> Fraction:
        """Least q_i = E[I_i/|S|]."""
        return Fraction(min(self.law.averaging_weights().tolist())) / self.copies

    @cached_property
    def alike(self) -> bool:
        """Whether no client differs from another, in its curvature or in the law."""
        if len(self.curvatures) > 1 and self.copies > 1:
            return False
        pairs = self.law.joint_inclusion()
        n = len(self.curvatures)
        off = {pairs[i, j] for i in range(n) for j in range(n) if i != j}
        return len({*self.curvatures}) == len({*pairs.diagonal()}) == 1 >= len(off)

    @cached_property
    def chances(self) -> tuple[Array, Array]:
        """E I_i and E I_i I_j, in flint."""
        return to_flint(self.law.inclusion()), to_flint(self.law.joint_inclusion())

    def where(self) -> dict[str, Any]:
        """Return the instance for a report."""
        runs = ((h, len(list(same))) for h, same in groupby(self.curvatures))
        together = {"copies that act together": self.copies} if self.copies > 1 else {}
        return {
            "f_i": "h_i x^2/2",
            "N": self.total,
            "h": ", ".join(f"{n} x {h}" if n > 1 else str(h) for h, n in runs),
            "law": self.law.spec,
            **together,
            "tau": self.local_steps,
        }


@dataclass(frozen=True)
class Curves:
    """Second moments of a run for r = 0, ..., rounds, on the last axis.

    Parameters
    ----------
    server : array, weight x^2
        E|w_r - x*|^2, w_r = xbar_{r tau+1}.
    behind : array, weight x^2
        E||1 w_r - x_{r tau}||_F^2, B_r of Appendix D.
    lagged : array, weight x^2
        E||1 w_{r-1} - x_{r tau}||_F^2, with w_{-1} := w_0.
    """

    server: Array
    behind: Array
    lagged: Array


def curves(
    clients: Clients,
    step: Fraction,
    starts: Sequence[Start],
    rounds: int,
    *,
    exact: bool = False,
) -> Curves:
    """Return the moments by their recursion, from p_i and p_ij; one row per start.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> two = Clients((Fraction(1), Fraction(3)), UniformCohort(2, 1), 2)
    >>> one = Fraction(1)
    >>> args = (two, Fraction(1, 9), (one, (one, 0 * one)), 2)
    >>> found = curves(*args[:2], [args[2]], 2, exact=True)
    >>> (found.server[0] == listed(*args).server).all()
    np.True_
    """
    kind: Any = object if exact else np.float64
    keeps, push = map(from_flint if exact else nearest_floats, _gains(clients, step))
    rows = [(w, *(w - v for v in z)) for w, z in starts]
    state = np.array(rows, dtype=object).astype(kind)
    second = state[:, :, None] * state[:, None, :]
    out = [(second[:, 0, 0], *[_spread(second, clients.copies)] * 2)]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(rounds):
            second = second * keeps
            lagged = _spread(second, clients.copies)
            second = _pushed(second, push)
            out.append((second[:, 0, 0], _spread(second, clients.copies), lagged))
    parts = [np.stack(part, axis=-1) for part in zip(*out, strict=True)]
    return Curves(*parts if exact else map(_squares, parts))


def _gains(clients: Clients, step: Fraction) -> tuple[Array, Array]:
    """Return what a round does to the moments of (w, w - z_1, ...), in flint.

    The clients' part multiplies entry by entry, with E of keep_i keep_j, keep_i =
    1 - I_i g_i of client i and 1 of the server. Then every entry of the state gains
    push @ state. Differences of w and z_i are never taken, nor is an entry computed
    twice: in floats both would let the moments lose their sign.
    """
    n = len(clients.curvatures)
    h = to_flint(np.array(clients.curvatures, dtype=object))
    gain = (1 - rational(step) * h) ** (clients.local_steps - 1)
    p, both = clients.chances
    p = p * gain
    keeps = to_flint(np.ones((n + 1, n + 1), dtype=object))
    keeps[1:, :] -= p[:, None]
    keeps[:, 1:] -= p
    keeps[1:, 1:] += both * np.outer(gain, gain)
    move = rational(step) * clients.copies * h
    return keeps, np.array([-move.sum(), *move], dtype=object)


def _pushed(second: Array, push: Array) -> Array:
    """E of the outer product after w' = w - eta sum_i h_i z_i, which moves w - z_i."""
    row = (second * push).sum(axis=2)
    whole = (row * push).sum(axis=1)[:, None, None]
    return np.asarray(second + (row[:, :, None] + row[:, None, :]) + whole)


def _spread(second: Array, copies: int) -> Array:
    """E sum_i (w - z_i)^2."""
    return np.asarray(copies * np.einsum("sii->si", second)[:, 1:].sum(axis=1))


def _squares(moments: Array) -> Array:
    """Means of squares in floats: what rounding takes below 0 is 0.

    Raises
    ------
    DomainError
        If they have left the range of floats.
    """
    if not np.isfinite(moments).all():
        round_ = int(np.argmin(np.isfinite(moments).all(axis=0)))
        raise DomainError(
            f"moments must stay within the range of floats; at round {round_} they do "
            "not; take fewer rounds, a smaller step size, or exact=True."
        )
    return np.maximum(moments, 0.0)


Recomputation = Callable[[Clients, Fraction, Start, int], Curves]


def recomputation(clients: Clients, start: Start, rounds: int) -> Recomputation | None:
    """Return a way to the moments in rationals without `curves`, if there is one.

    Few cohorts: every sequence of them, client by client and step by step. Clients
    that are all alike: four numbers.
    """
    small = len(clients.curvatures) <= 6
    outcomes = len(clients.law.support()) if small else LONGEST_LIST + 1
    if outcomes**rounds <= LONGEST_LIST:
        return listed
    return symmetric if clients.alike and len({*start[1]}) == 1 else None


def listed(clients: Clients, step: Fraction, start: Start, rounds: int) -> Curves:
    """Return the moments by running the local steps over every sequence of cohorts."""
    totals = [[Fraction(0)] * 3 for _ in range(rounds + 1)]
    outcomes = [(s, p) for s, p in clients.law.support().items() if p]
    for sequence in product(outcomes, repeat=rounds):
        chance = Fraction(1)
        for _, part in sequence:
            chance *= part
        for total, values in zip(
            totals, _run(clients, step, start, [s for s, _ in sequence]), strict=True
        ):
            for k, value in enumerate(values):
                total[k] += chance * value
    return _exact_curves(totals)


def _run(
    clients: Clients, step: Fraction, start: Start, cohorts: list[frozenset[int]]
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Algorithm 1 line by line, with its tracker started at the sum of gradients."""
    h, many = clients.curvatures, clients.copies
    w, z = start[0], list(start[1])
    tracker = sum((many * a * b for a, b in zip(h, z, strict=True)), Fraction(0))
    out = [(w * w, _apart(w, z, many), _apart(w, z, many))]
    for cohort in cohorts:
        for i in cohort:
            x, y, old = w, Fraction(0), h[i] * z[i]
            for _ in range(clients.local_steps):
                y, old, z[i] = y + h[i] * x - old, h[i] * x, x
                x = x - step * y
            tracker += many * y
        lagged = _apart(w, z, many)
        w = w - step * tracker
        out.append((w * w, _apart(w, z, many), lagged))
    return out


def _apart(w: Fraction, z: Sequence[Fraction], many: int) -> Fraction:
    return many * sum(((w - v) ** 2 for v in z), Fraction(0))


def symmetric(clients: Clients, step: Fraction, start: Start, rounds: int) -> Curves:
    """Return the moments of clients that are all alike, from four numbers.

    They are E w^2, E w s, E s^2 and E sum_i z_i^2 with s = sum_i z_i. With u = sum of
    w - z_i over the participants, E u = p (N w - s) and
    E u^2 = p_2 (N w - s)^2 + (p - p_2) sum_i (w - z_i)^2.
    """
    N, p = clients.total, clients.inclusion
    several = len(clients.curvatures) > 1
    p2 = Fraction(clients.law.joint_inclusion()[0, 1]) if several else p
    a = step * clients.curvatures[0]
    g = (1 - a) ** (clients.local_steps - 1)
    w, z = start[0], start[1][0]
    ww, ws, ss, v = w * w, w * N * z, (N * z) ** 2, N * z * z
    out = [[ww, N * ww - 2 * ws + v, N * ww - 2 * ws + v]]
    for _ in range(rounds):
        whole, spread = N * N * ww - 2 * N * ws + ss, N * ww - 2 * ws + v
        uu = p2 * whole + (p - p2) * spread
        ss, old = ss + 2 * g * p * (N * ws - ss) + g * g * uu, ws
        ws = ws + g * p * (N * ww - ws)
        v = v + 2 * g * p * (old - v) + g * g * p * spread
        lagged = N * ww - 2 * ws + v
        ww, ws = ww - 2 * a * ws + a * a * ss, ws - a * ss
        out.append([ww, N * ww - 2 * ws + v, lagged])
    return _exact_curves(out)


def _exact_curves(rows: Sequence[Sequence[Fraction]]) -> Curves:
    return Curves(*map(objects, zip(*rows, strict=True)))

"""Step-size caps, instances and readings on which Appendix E of the paper is searched.

Caps are kept as squares; steps are rationals that lie below every cap exactly, and
1/(tau-1) at tau = 1 is no cap. The readings of Assumption 6: samples of different
calls and clients are independent; or their joint law is left open, which allows one
sample that all clients use in all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache, wraps
from math import ceil, floor
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np

from flverify._core.exact import Array
from flverify.claims import focus_caps, judge
from flverify.claims.focus_caps import Q_READINGS, least_q
from flverify.claims.focus_families import UNSCALED, Settings, families, starts
from flverify.claims.focus_moments import Clients, Start
from flverify.claims.focus_search import CLOSE, NOTICEABLE, Instance, Sides
from flverify.claims.sg_focus_moments import (
    Curves,
    NoisyClients,
    curves,
    noisy,
)
from flverify.claims.sg_focus_recheck import once, recomputation, shared
from flverify.claims.verdict import Finding, Verdict
from flverify.participation.full import Full

SAMPLES = ("independent samples", "joint law of the samples open")
LONGEST, UNIT = 10_000, 10**30  # bits of a rational that is still written out; digits
LOUD, QUIET = Fraction(1), Fraction(1, 10**6)  # sigma^2 against starts of size 1


class NoisyInstance(Instance):
    """Clients with noise, a step, a start, and the value of q_min."""

    clients: NoisyClients


Inequality = Callable[[NoisyInstance, Curves], Sides]
Judged = TypeVar("Judged", bound=Callable[..., Any])
Chosen = tuple[NoisyClients, Fraction, Fraction]  # with step and q_min


def _moves(c: Clients, square: Fraction) -> Fraction | None:
    return square / (c.local_steps - 1) ** 2 if c.local_steps > 1 else None


def _stiffness(c: Clients) -> Fraction:
    """16 L^2/mu + mu/2."""
    return 16 * c.smoothness**2 / c.strong_convexity + c.strong_convexity / 2


def _lemma(c: Clients) -> Fraction | None:
    square = c.strong_convexity / (c.smoothness**2 * c.total)
    moves = c.local_steps - 1
    return (square / moves**2) ** 2 if moves else None


SQUARES: dict[str, focus_caps.Square] = {
    **focus_caps.SQUARES,
    "mu/((tau-1)^2 L^2 N)": lambda c, _: _lemma(c),
    "1/(sqrt(2) (tau-1) L)": lambda c, _: _moves(c, 1 / (2 * c.smoothness**2)),
    "1/(L sqrt(tau-1))": lambda c, _: (
        1 / (c.smoothness**2 * (c.local_steps - 1)) if c.local_steps > 1 else None
    ),
    "1/mu": lambda c, _: 1 / c.strong_convexity**2,
    "1/(sqrt(2) N)": lambda c, _: Fraction(1, 2 * c.total**2),
    "q^(3/2)/(L sqrt(6 N))": lambda c, q: q**3 / (6 * c.smoothness**2 * c.total),
    "q^(3/2)/(sqrt(2) L (tau-1))": lambda c, q: _moves(c, q**3 / (2 * c.smoothness**2)),
    "q/(N (16 L^2/mu + mu/2))": lambda c, q: (q / (c.total * _stiffness(c))) ** 2,
    "q/(beta N (4-q))": lambda c, q: (q / (c.mean_curvature * c.total * (4 - q))) ** 2,
}


def largest_step(caps: Mapping[str, str], c: Clients, q: Fraction) -> Fraction:
    """Return the least cap, or a rational a little below it; 1/(4 L N) without caps.

    Examples
    --------
    >>> one = Clients((Fraction(1),), Full(1), 2)
    >>> str(largest_step({"1/(L (tau-1))": "1/2"}, one, Fraction(1)))
    '1/2'
    """
    squares = focus_caps.squares(caps, c, q, SQUARES)
    if not squares:
        return 1 / (4 * c.smoothness * c.total)
    return focus_caps.root_below(min(squares))


def inside(caps: Mapping[str, str], c: Clients, q: Fraction, step: Fraction) -> bool:
    """Whether a step is positive and at most every cap, exactly."""
    return focus_caps.inside(caps, c, q, step, SQUARES)


def chosen(
    caps: Mapping[str, str],
    reading: str,
    clients: Iterable[NoisyClients],
    case_3a: str = "1/m",
    shrinks: tuple[str, ...] = ("1",),
) -> Iterator[Chosen]:
    """Give each of the clients steps inside the caps, the largest first, and q_min."""
    for one in clients:
        q = least_q(reading, one, case_3a)
        if q is None:
            continue
        for shrink in shrinks:
            step = largest_step(caps, one, q) * Fraction(shrink)
            if inside(caps, one, q, step):
                yield one, step, q


@cache
def population(
    shapes: tuple[str, ...],
    settings: Settings = UNSCALED,
    variances: tuple[Fraction, ...] = (LOUD, QUIET),
    largest: int = 64,
) -> tuple[NoisyClients, ...]:
    """List clients of `focus_families`, each with loud and with quiet noise.

    Laws under which somebody always takes part come first: what they refute needs no
    convention for empty rounds.
    """
    listed = (
        noisy(one, variance)
        for one in families(shapes, settings)
        if one.copies == 1 and one.total <= largest
        for variance in variances
    )
    return tuple(sorted(listed, key=lambda one: one.law.empty_probability() > 0))


def full(clients: Iterable[NoisyClients]) -> tuple[NoisyClients, ...]:
    """Those of the clients that all take part in every round."""
    return tuple(one for one in clients if one.inclusion == 1)


def begun_at(clients: Clients, *, equal: bool) -> list[Start]:
    """Return the optimum, then the starts of `focus_families`."""
    n, nil = len(clients.curvatures), Fraction(0)
    every = [(nil, (nil,) * n), *starts(clients)]
    return [s for s in every if not equal or {*s[1]} == {s[0]}]


def searched(
    listed: Iterable[Chosen],
    inequality: Inequality,
    rounds: int,
    *,
    equal: bool = False,
) -> Iterator[judge.Case]:
    """Yield for every instance and start the round at which left exceeds right most.

    The first round of a noticeable excess is taken instead, if there is one.
    """
    for clients, step, q in listed:
        begun = begun_at(clients, equal=equal)
        every = _moments(clients, step, tuple(begun), rounds)
        for k, start in enumerate(begun):
            one = NoisyInstance(clients, step, start, q)
            first, left, right = inequality(one, every.row(k))
            place = _worst(left, right)
            sides: tuple[Any, Any] = (float(left[place]), float(right[place]))
            again = None
            size = CLOSE * max(map(abs, sides))
            if sides[0] >= sides[1] - size:  # violated, or too close for floats
                again = _again(one, inequality, first + place, place)
                if sides[0] <= sides[1] + size:
                    sides = (again or _exactly(one, inequality, first + place, place))()
            yield judge.Case(one.where(first + place), *sides, again)


@cache
def _moments(
    clients: NoisyClients, step: Fraction, begun: tuple[Start, ...], rounds: int
) -> Curves:
    return curves(clients, step, begun, rounds)


def _worst(left: Array, right: Array) -> int:
    size = np.maximum(np.abs(left) + np.abs(right), 1e-300)
    excess = (left - right) / size
    noticed = np.flatnonzero(excess > NOTICEABLE)
    # of equally close rounds the first has the shortest rationals
    return int(noticed[0] if len(noticed) else np.argmax(excess > excess.max() - 1e-9))


def _again(
    one: NoisyInstance, inequality: Inequality, rounds: int, place: int
) -> Callable[[], tuple[Any, Any]] | None:
    """Return a function for both sides in rationals, if there is another way."""
    # a side at a place may be of the round that begins there
    way = recomputation(one.clients, one.start, rounds + 1)
    if way is None:
        return None

    def sides() -> tuple[Any, Any]:
        found = way(one.clients, one.step, one.start, rounds + 1)
        _, left, right = inequality(one, found)
        return _readable(left[place], right[place])

    return sides


def _readable(left: Any, right: Any) -> tuple[Any, Any]:
    """Round a long left side down and a long right side up, if left stays above."""
    if max(left.denominator, right.denominator).bit_length() < LONGEST:
        return left, right
    below = Fraction(floor(left * UNIT), UNIT)
    above = Fraction(ceil(right * UNIT), UNIT)
    return (below, above) if below > above else (left, right)


def _exactly(
    one: NoisyInstance, inequality: Inequality, rounds: int, place: int
) -> Callable[[], tuple[Any, Any]]:
    """Return a function for both sides by the same recursion in rationals."""

    def sides() -> tuple[Any, Any]:
        found = curves(one.clients, one.step, [one.start], rounds + 1, exact=True)
        _, left, right = inequality(one, found.row(0))
        return left[place], right[place]

    return sides


def one_sample(
    caps: Mapping[str, str],
    reading: str,
    inequality: Inequality,
    rounds: int,
    shapes: tuple[int, ...] = (1, 2, 40),
    scale: Fraction = Fraction(1),
) -> Iterator[judge.Case]:
    """Yield runs in which all clients use one sample in all rounds, in rationals."""
    for n in shapes:
        for tau in (2, 1):
            one = NoisyClients((scale,) * n, Full(n), tau, variance=LOUD)
            for clients, step, q in chosen(caps, reading, [one], "1/N"):
                start = begun_at(clients, equal=True)[0]
                instance = NoisyInstance(clients, _short(step), start, q)
                yield from _shared_cases(instance, inequality, rounds)


def _short(step: Fraction) -> Fraction:
    """Return a rational with few digits, at most the step and above half of it."""
    return Fraction(1, -(-step.denominator // step.numerator))


def _shared_cases(
    one: NoisyInstance, inequality: Inequality, rounds: int
) -> Iterator[judge.Case]:
    found = shared(one.clients, one.step, one.start, rounds)
    first, left, right = inequality(one, found)
    place = next((k for k, v in enumerate(left) if v > right[k]), len(left) - 1)

    def again() -> tuple[Any, Any]:
        other = once(one.clients, one.step, one.start, rounds)
        _, *sides = inequality(one, other)
        return sides[0][place], sides[1][place]

    where = {**one.where(first + place), "samples": "one +-sigma for all calls"}
    yield judge.Case(where, left[place], right[place], again)


def remembered(judged: Judged) -> Judged:
    """Judge equal constants once: a correction is often the twin of its claim."""
    known: dict[str, Any] = {}

    @wraps(judged)
    def judge_once(c: SimpleNamespace, *rest: Any) -> Any:
        key = repr((sorted(vars(c).items()), rest))
        if key not in known:
            known[key] = judged(c, *rest)
        return known[key]

    return cast(Judged, judge_once)


def by_samples(
    independent: Callable[[], Finding],
    dependent: Callable[[], Finding],
    samples: Iterable[str] = SAMPLES,
) -> dict[str, Finding]:
    """Find under each reading of Assumption 6.

    Independent samples are among the joint laws, so what refutes the first reading
    refutes the second.
    """
    found, wanted = {}, tuple(samples)
    first = independent()
    if SAMPLES[0] in wanted:
        found[SAMPLES[0]] = first
    if SAMPLES[1] in wanted:
        refuted = first.verdict == Verdict.REFUTED
        found[SAMPLES[1]] = first if refuted else dependent()
    return found


__all__ = [
    "LOUD",
    "QUIET",
    "Q_READINGS",
    "SAMPLES",
    "Inequality",
    "NoisyInstance",
    "Sides",
    "by_samples",
    "chosen",
    "full",
    "inside",
    "largest_step",
    "one_sample",
    "population",
    "remembered",
    "searched",
]

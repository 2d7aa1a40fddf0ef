"""Nonsmooth clients under Algorithm 1 of the agnostic paper, listed in rationals.

Expectations list every draw of the noise and every cohort. Rechecks run the plain loop
`flverify.reference.agnostic_fedavg`, which evaluates gradients only and does its own
projection; it is exact on boxes. Noise stands for the mini-batch: with sample losses
f_i(x) + v x, one for each value v, a batch of one sample has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import isqrt, prod
from typing import Any, TypeAlias

from flverify._core.errors import InputError, RefusedError
from flverify._core.shown import shown
from flverify.claims import cohorts
from flverify.claims.cohorts import Cohort, Listed
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Absolute,
    Client,
    Hinge,
    Line,
    Point,
    Region,
    project,
    two_points,
)
from flverify.reference import agnostic_fedavg

Draws: TypeAlias = tuple[
    tuple[Fraction, ...], ...
]  # noise of client i at its k-th step


@dataclass(frozen=True, eq=False)
class Nonsmooth:
    """Clients, a law of S, a constraint set and the settings of Algorithm 1.

    Parameters
    ----------
    clients : tuple of Client
    law : mapping of cohort to probability
        Clients from 1, rounds independent.
    region : tuple or None
        None, ("ball", radius) or ("box", lower, upper).
    step : rational
        Step size eta.
    period : int
        Communication period H.
    schedule : {"literal", "separate"}
        H - 1 or H local steps per round.
    start : tuple of rationals
        Server model at the beginning.

    Raises
    ------
    InputError
        If the law is none of nonempty cohorts of the clients.
    """

    clients: tuple[Client, ...]
    law: Listed
    region: Region
    step: Fraction
    period: int
    schedule: str
    start: Point = (Fraction(0),)

    def __post_init__(self) -> None:
        everybody = set(cohorts.people(self.n_clients))
        fits = all(s and s <= everybody and p >= 0 for s, p in self.law.items())
        if not fits or sum(self.law.values()) != 1:
            raise InputError(
                "the law of an instance must give cohorts of its clients, not empty, "
                f"chances of sum 1; got {shown(self.law)}; mend it."
            )

    @property
    def n_clients(self) -> int:
        """Number of clients N."""
        return len(self.clients)

    @property
    def local_steps(self) -> int:
        """Local steps of a round."""
        return self.period - 1 if self.schedule == "literal" else self.period

    def weights(self) -> list[Fraction]:
        """Return the p_i of (2)."""
        people = cohorts.people(self.n_clients)
        return [Fraction(cohorts.averaging(self.law, i)) for i in people]

    def objective(self, x: Point) -> Fraction:
        """Value of (3) at a point, sum p_i f_i."""
        rows = zip(self.weights(), self.clients, strict=True)
        return sum((p * one.value(x) for p, one in rows), Fraction(0))

    def minimiser(self) -> Point:
        """Return the least minimiser of f on an interval C, the first of the corners.

        Raises
        ------
        RefusedError
            If C is not an interval.
        """
        if self.region is None or len(self.start) != 1:
            raise RefusedError(
                "a minimiser is sought on an interval only; got another set; state it."
            )
        low, high = self.ends()
        corners = {low, high}
        for one in self.clients:
            kinks = (k / one.direction[0] for k in one.loss.kinks)
            corners |= {k for k in kinks if low <= k <= high}
        return min(((x,) for x in sorted(corners)), key=self.objective)

    def ends(self) -> tuple[Fraction, Fraction]:
        """Return the ends of a one-dimensional C.

        Raises
        ------
        RefusedError
            If C is the whole line.
        """
        if self.region is None:
            raise RefusedError(
                "an interval C must be given; got the whole line; bound it."
            )
        if self.region[0] == "box":
            return self.region[1], self.region[2]
        return -self.region[1], self.region[1]

    def bounds(self, gradient_bound: Fraction) -> bool:
        """Whether Assumption 3 holds with G, on the whole space, and g is unbiased."""
        return all(
            one.unbiased and one.second_moment <= gradient_bound**2
            for one in self.clients
        )

    @property
    def where(self) -> dict[str, Any]:
        """The instance as exact text."""
        law = {cohorts.shown(s): p for s, p in self.law.items()}
        return {
            "clients": [one.text for one in self.clients],
            "f_i": [one.formula for one in self.clients],
            "law of S": law,
            "C": self.region,
            "eta": self.step,
            "H": self.period,
            "schedule": self.schedule,
            "start": self.start,
        }

    # -- one window of local steps ---------------------------------------------------

    def track(
        self, client: int, start: Point, draws: Sequence[Fraction]
    ) -> list[Point]:
        """Return the models of a client (from 0) in its local steps, start first."""
        points, one = [start], self.clients[client]
        for draw in draws:
            pull = one.gradient(points[-1], draw)
            moved = tuple(
                x - self.step * g for x, g in zip(points[-1], pull, strict=True)
            )
            points.append(project(moved, self.region))
        return points

    def draws(self) -> Iterator[tuple[Fraction, Draws]]:
        """Every noise of one window, with its chance."""
        each = [list(one.noise.items()) for one in self.clients]
        lists = [list(product(law, repeat=self.local_steps)) for law in each]
        for chosen in product(*lists):
            chance = prod((p for row in chosen for _, p in row), start=Fraction(1))
            yield chance, tuple(tuple(v for v, _ in row) for row in chosen)

    def tracks(self, start: Point, draws: Draws) -> list[list[Point]]:
        """Return the local models of every client in one window."""
        return [self.track(i, start, row) for i, row in enumerate(draws)]

    def aggregate(self, members: Cohort, models: Sequence[Point]) -> Point:
        """Line 5: the mean of the models of a cohort, clients from 1."""
        chosen = [models[i - 1] for i in members]
        return tuple(
            sum(c, Fraction(0)) / len(chosen) for c in zip(*chosen, strict=True)
        )

    def paths(self, rounds: int) -> Iterator[tuple[Fraction, list[Point]]]:
        """Server models of every path of some rounds, the start first."""
        yield from self._extended(Fraction(1), [self.start], rounds)

    def _extended(
        self, chance: Fraction, models: list[Point], rounds: int
    ) -> Iterator[tuple[Fraction, list[Point]]]:
        if rounds == 0:
            yield chance, models
            return
        for likely, draws in self.draws():
            last = [track[-1] for track in self.tracks(models[-1], draws)]
            for members, p in self.law.items():
                longer = [*models, self.aggregate(members, last)]
                yield from self._extended(chance * likely * p, longer, rounds - 1)

    # -- the same by the plain loop ---------------------------------------------------

    def plain_gradient(self, draws: Draws) -> Callable[[int, list[Any]], list[Any]]:
        """Return gradient(i, x) that uses up the listed draws, call by call."""
        calls = [0] * self.n_clients

        def gradient(i: int, x: list[Any]) -> list[Any]:
            draw = draws[i][calls[i]] if calls[i] < len(draws[i]) else Fraction(0)
            calls[i] += 1
            return list(self.clients[i].gradient(tuple(x), draw))

        return gradient

    def plain_local(self, client: int, steps: int, start: Point, draws: Draws) -> Point:
        """Model of a client after some local steps: it alone is averaged."""
        return self.plain_models([{client}], start, draws, steps + 1, "literal")[-1]

    def plain_models(
        self,
        chosen: Sequence[Any],
        start: Point,
        draws: Draws,
        period: int | None = None,
        schedule: str | None = None,
    ) -> list[Point]:
        """Server models of the plain loop along cohorts, clients from 0."""
        models = agnostic_fedavg.run(
            self.plain_gradient(draws),
            self.n_clients,
            list(start),
            chosen,
            step_size=self.step,
            period=self.period if period is None else period,
            schedule=self.schedule if schedule is None else schedule,
            projection=self.region,
        )
        return [tuple(model) for model in models]

    def plain_paths(self, rounds: int) -> Iterator[tuple[Fraction, list[Point]]]:
        """Server models of every path of some rounds, all by the plain loop."""
        windows = list(self.draws())
        for chosen in product(windows, repeat=rounds):
            rows = zip(*(draws for _, draws in chosen), strict=True)
            noise = tuple(tuple(v for part in row for v in part) for row in rows)
            for sequence in product(self.law.items(), repeat=rounds):
                chance = prod(
                    (p for p, _ in (*chosen, *((p, s) for s, p in sequence))),
                    start=Fraction(1),
                )
                members = [cohorts.zero_based(s) for s, _ in sequence]
                yield chance, self.plain_models(members, self.start, noise)


def gradient_bound(clients: Sequence[Client]) -> Fraction:
    """Return a rational G with E|g_i|^2 <= G^2: exact if that root is, else above it.

    Examples
    --------
    >>> spread = two_points(Fraction(4), Fraction(4))
    >>> gradient_bound([Client(Line(Fraction(3)), spread)])
    Fraction(5, 1)
    """
    top = max(one.second_moment for one in clients)
    above, below = isqrt(top.numerator), isqrt(top.denominator)
    root = Fraction(above, below)
    if root**2 == top:
        return root
    eighths = isqrt(int(64 * top))
    return next(
        Fraction(n, 8) for n in (eighths, eighths + 1) if Fraction(n, 8) ** 2 >= top
    )


def _clients() -> list[tuple[Client, ...]]:
    one, two = Fraction(1), Fraction(2)
    pair = two_points(Fraction(4), Fraction(4))
    skew = two_points(Fraction(1, 2), Fraction(3, 2))
    return [
        (Client(Absolute(one), SILENT),),
        (Client(Line(one), SILENT), Client(Line(-one), SILENT)),
        (Client(Absolute(one), SILENT), Client(Absolute(-one, two), SILENT)),
        (Client(Hinge(two), SILENT), Client(Hinge(-one, one), skew)),
        (Client(Line(Fraction(3)), pair), Client(Line(Fraction(-3)), pair)),
        (Client(Absolute(Fraction(0), Fraction(3)), pair), Client(Hinge(one), SILENT)),
    ]


def _laws(n_clients: int) -> list[Listed]:
    everybody = frozenset(cohorts.people(n_clients))
    if n_clients == 1:
        return [{everybody: Fraction(1)}]
    some = {frozenset({1}): Fraction(1, 4), everybody: Fraction(3, 4)}
    return [some, {frozenset({1}): Fraction(1, 10), frozenset({2}): Fraction(9, 10)}]


FAMILY = (
    "absolute values, hinges and lines of one or two clients, with and without noise, "
    "H = 1..3, eta = 1/2, 1/10, on boxes and balls"
)


def family(schedule: str, periods: Sequence[int] = (1, 2, 3)) -> Iterator[Nonsmooth]:
    """Small instances: clients, laws, sets, step sizes and periods, starts in C."""
    regions: list[Region] = [
        ("box", Fraction(-1), Fraction(2)),
        ("ball", Fraction(1)),
        ("box", Fraction(-50), Fraction(50)),
    ]
    steps = (Fraction(1, 2), Fraction(1, 10))
    for clients in _clients():
        for law, region in product(_laws(len(clients)), regions):
            for step, period in product(steps, periods):
                yield Nonsmooth(clients, law, region, step, period, schedule)
    yield from _planar(schedule, periods)


def _planar(schedule: str, periods: Sequence[int]) -> Iterator[Nonsmooth]:
    """Two lines along one rational ray, in the plane, on a ball and on a box."""
    ray = (Fraction(3, 5), Fraction(4, 5))
    noise = two_points(Fraction(1, 2), Fraction(3, 2))
    clients = (
        Client(Line(Fraction(2)), SILENT, ray),
        Client(Line(Fraction(-1)), noise, ray),
    )
    start = (Fraction(0), Fraction(0))
    regions: list[Region] = [("ball", Fraction(1)), ("box", Fraction(-9), Fraction(9))]
    for law, region, period in product(_laws(2), regions, periods):
        yield Nonsmooth(clients, law, region, Fraction(1, 2), period, schedule, start)


def moved(one: Nonsmooth, start: Point) -> Nonsmooth:
    """Return the same instance from another server model."""
    return replace(one, start=start)

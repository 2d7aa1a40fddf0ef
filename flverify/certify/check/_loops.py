"""Running the reference loops on prescribed gradients, outcome by outcome.

A loop is linear in the state and the gradients, so one run on unit vectors shows what
it does to all of them.  All clients of a class carry the vectors of its mean; the
first two clients of one class also carry a deviation, with the signs + and -: an
average over exchangeable clients can tell nothing else apart.  The minimiser x* and
the gradients g*_i there are columns too.  They enter through the equilibrium table,
and the run shows whether the table is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from ._law_outcomes import Law
from ._linear import Number, Rejected, Vector, combine, require, tidy

Points: TypeAlias = dict[str, tuple[Vector, Vector]]
Named: TypeAlias = dict[str, Vector]
Label: TypeAlias = tuple[Any, ...]

X_STAR: Label = ("x*",)


class Role(NamedTuple):
    """A kind of client: its class, and 1, -1 or 0 for the sign of its deviation."""

    q: int
    sign: int


class Memory(NamedTuple):
    """A client slot that a participant overwrites by a combination of gradients."""

    slot: str
    calls: tuple[int, ...]
    weights: tuple[Number, ...]


@dataclass(frozen=True)
class Case:
    """An algorithm with its settings, a law, and the tables that describe its state."""

    start: Callable[..., dict[str, Any]]
    play: Callable[..., dict[str, Any]]
    law: Law
    server: tuple[str, ...]
    client: tuple[str, ...]
    has_equilibrium: bool
    equilibrium: Mapping[str, tuple[Number, Number]]
    eliminated: Mapping[str, Mapping[str, Number]]
    calls: int
    memories: tuple[Memory, ...]

    @cached_property
    def kept(self) -> list[str]:
        """The server slots that are coordinates."""
        return [slot for slot in self.server if slot not in self.eliminated]

    @cached_property
    def ghosts(self) -> list[tuple[Memory, int, Number]]:
        """Memory, call and weight of every ghost point."""
        return [
            (memory, k, weight)
            for memory in self.memories
            for k, weight in zip(memory.calls, memory.weights, strict=True)
        ]

    @cached_property
    def coordinates(self) -> list[str]:
        """The client coordinates: slots that are no memory, then ghosts."""
        lifted = {memory.slot for memory in self.memories}
        parts = ("point", "gradient")
        ghosts = [f"ghost:{j}.{p}" for j in range(len(self.ghosts)) for p in parts]
        return [slot for slot in self.client if slot not in lifted] + ghosts

    @cached_property
    def averaged(self) -> list[str]:
        """The client coordinates whose class means are coordinates."""
        return [name for name in self.coordinates if name not in self.eliminated]

    @cached_property
    def state(self) -> list[Label]:
        """The mean coordinates of a state."""
        classes = range(len(self.law.sizes))
        means = [(q, name) for q in classes for name in self.averaged]
        return [*((slot,) for slot in self.kept), *means]

    def remembered(self, memory: Memory, client: Named) -> list[tuple[Number, Vector]]:
        """Return the terms of a memory slot in the gradients of its ghosts."""
        return [
            (weight, client[f"ghost:{j}.gradient"])
            for j, (owner, _, weight) in enumerate(self.ghosts)
            if owner == memory
        ]


@dataclass(frozen=True)
class Snapshot:
    """Deviations from equilibrium: server slots, and per class (count, client)."""

    size: int
    server: Named
    clients: list[list[tuple[int, Named]]]

    def class_mean(self, q: int, name: str) -> Vector:
        """Return the mean of a client vector over class q."""
        return _mean(self.clients[q], name)

    def overall(self, name: str) -> Vector:
        """Return a server slot, or the mean of a client vector over all clients."""
        if name in self.server:
            return self.server[name]
        return _mean([group for groups in self.clients for group in groups], name)

    def point(self, coefficients: Mapping[str, Number]) -> Vector:
        """Return a combination of server slots and means over all clients."""
        terms = ((c, self.overall(name)) for name, c in coefficients.items())
        return combine(terms, self.size)


def _mean(groups: list[tuple[int, Named]], name: str) -> Vector:
    total = sum(count for count, _ in groups)
    terms = [(tidy(Fraction(count, total)), client[name]) for count, client in groups]
    return combine(terms, len(terms[0][1]))


@dataclass
class Tape:
    """A gradient oracle: the k-th new point of a client has the k-th answer."""

    role_of: list[Role]
    answers: dict[Role, list[Vector]]
    points: dict[Role, list[Vector]] = field(default_factory=dict)
    seen: dict[int, list[Vector]] = field(default_factory=dict)

    def __call__(self, client: int, point: Vector) -> Vector:
        """Return the gradient at this point; a point met before has the old one."""
        role = self.role_of[client]
        seen = self.seen.setdefault(client, [])
        for k, earlier in enumerate(seen):
            if earlier == point:
                return list(self.answers[role][k])
        k = len(seen)
        enough = k < len(self.answers[role])
        require(enough, f"a client must take {k} gradients at most; it takes more")
        known = self.points.setdefault(role, [])
        if k == len(known):
            known.append(list(point))
        same = known[k] == point
        require(same, f"the point of call {k} must not depend on who participates")
        seen.append(known[k])
        return list(self.answers[role][k])

    def taken_by(self, clients: Iterable[int]) -> None:
        """Reject unless each of these clients took all its gradients; forget them."""
        for i in clients:
            n, taken = len(self.answers[self.role_of[i]]), len(self.seen.get(i, ()))
            require(
                n == taken, f"a participant must take {n} gradients; it takes {taken}"
            )
        self.seen = {}


class Frame:
    """The columns of one configuration and the vectors of its clients.

    `mean` and `own` are the labels of its mean columns and of the deviation of the two
    clients of class `apart`.  A column of `silent` must not occur in a deviation.
    """

    def __init__(
        self, case: Case, apart: int | None, mean: list[Label], own: list[str]
    ) -> None:
        self.case, self.apart = case, apart
        self.mean = mean
        self.own: list[Label] = [("own", name) for name in own if apart is not None]
        self.labels = [*self.mean, *self.own, X_STAR]
        self.column = {label: j for j, label in enumerate(self.labels)}
        self.silent = {X_STAR}
        self.clients = self._clients()

    def _clients(self) -> dict[Role, range]:
        roles: dict[Role, range] = {}
        first = 0
        for q, n in enumerate(self.case.law.sizes):
            rest = first
            if q == self.apart:
                rest = first + 2
                roles[Role(q, 1)] = range(first, first + 1)
                roles[Role(q, -1)] = range(first + 1, rest)
            first += n
            if rest < first:
                roles[Role(q, 0)] = range(rest, first)
        return roles

    def unit(self, label: Label) -> Vector:
        """Return the unit vector of a column."""
        return [int(label == other) for other in self.labels]

    def total(self, *terms: tuple[Number, Vector]) -> Vector:
        """Return a linear combination."""
        return combine(terms, len(self.labels))

    def client(self, role: Role, name: str) -> Vector:
        """Return the mean of the class plus the sign times the deviation."""
        return self.deviating(role, name, self.unit((role.q, name)))

    def deviating(self, role: Role, name: str, mean: Vector) -> Vector:
        """Return a given mean plus the sign times the deviation."""
        if not role.sign:
            return mean
        return self.total((1, mean), (role.sign, self.unit(("own", name))))

    def star(self, role: Role) -> Vector:
        """Return g*_i; that of the last class makes the sum over all clients vanish."""
        sizes = self.case.law.sizes
        if role.q < len(sizes) - 1:
            return self.client(role, "star")
        shares = [tidy(Fraction(-n, sizes[-1])) for n in sizes[:-1]]
        means = [(c, self.unit((q, "star"))) for q, c in enumerate(shares)]
        return self.deviating(role, "star", self.total(*means))

    def resting(self, slot: str, role: Role | None = None) -> Vector:
        """Return the equilibrium of a slot, alpha x* or alpha x* + beta g*_i."""
        alpha, beta = self.case.equilibrium[slot]
        star = [] if role is None or not beta else [(beta, self.star(role))]
        return self.total((alpha, self.unit(X_STAR)), *star)

    def settled(self, actual: Vector, resting: Vector, what: str) -> Vector:
        """Return the deviation from equilibrium, in the columns that may occur."""
        deviation = self.total((1, actual), (-1, resting))
        for label in self.silent:
            require(
                not deviation[self.column[label]],
                f"{what} must be as in the table 'equilibrium' when all else is",
            )
        return self.short(deviation)

    def short(self, vector: Vector) -> Vector:
        """Return the entries of a deviation in the columns that may occur."""
        pairs = zip(vector, self.labels, strict=True)
        return [entry for entry, label in pairs if label not in self.silent]

    def columns(self, labels: Iterable[Label]) -> list[int]:
        """Return the places of these labels among the columns that may occur."""
        left = [label for label in self.labels if label not in self.silent]
        wanted = set(labels)
        return [j for j, label in enumerate(left) if label in wanted]

    def tape(self, n_calls: int) -> Tape:
        """Return the tape whose answers are g~ + g*_i."""
        role_of = [Role(0, 0)] * self.case.law.n_clients
        for role, clients in self.clients.items():
            for i in clients:
                role_of[i] = role
        answers = {
            role: [
                self.total((1, self.client(role, f"call:{k}")), (1, self.star(role)))
                for k in range(n_calls)
            ]
            for role in self.clients
        }
        return Tape(role_of, answers)

    def points(self, tape: Tape, prefix: str) -> dict[Role, Points]:
        """Return point from x* and gradient from g*_i of the calls of every role."""
        found: dict[Role, Points] = {}
        for role in self.clients:
            points = tape.points.get(role, [])
            complete = len(points) == len(tape.answers[role])
            require(complete, "every client must take all its gradients at some time")
            self._signs_agree(points, tape.points.get(Role(role.q, 1)), role)
            found[role] = {
                f"{prefix}:{k}": (
                    self.settled(point, self.unit(X_STAR), "every point"),
                    self.short(self.client(role, f"call:{k}")),
                )
                for k, point in enumerate(points)
            }
        return found

    def _signs_agree(
        self, points: list[Vector], pattern: list[Vector] | None, role: Role
    ) -> None:
        """Reject unless clients of one class differ by the sign of own columns only."""
        if role.q != self.apart or pattern is None:
            return
        own = set(self.own)
        for point, other in zip(points, pattern, strict=True):
            expected = [
                role.sign * x if label in own else x
                for x, label in zip(other, self.labels, strict=True)
            ]
            require(point == expected, "clients of one class must be treated alike")

    def common(self, values: list[Vector], clients: range, slot: str) -> Vector:
        """Return the vector that clients with equal vectors must have in common."""
        require(len(values) == self.case.law.n_clients, f"{slot} must be a client slot")
        first = values[clients[0]]
        alike = all(values[i] is first or values[i] == first for i in clients)
        require(alike, f"{slot} must stay equal at clients of one class that are equal")
        return first


def played(loop: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Call a reference loop; a setting it refuses rejects the certificate."""
    try:
        return loop(*arguments)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise Rejected(f"the settings must suit the reference loop: {error}") from error

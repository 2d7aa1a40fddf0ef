"""One round and one start of a reference loop, as the checker sees them.

Each is a frame whose columns are all that the state, the gradients and the minimiser
may be, together with what the loop makes of them.  Whatever the tables of a certificate
say about the state (equilibrium, eliminated slots, memories) is compared here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._law_outcomes import Outcome
from ._linear import Rejected, Vector, require
from ._loops import (
    X_STAR,
    Case,
    Frame,
    Label,
    Memory,
    Named,
    Points,
    Role,
    Snapshot,
    Tape,
    played,
)


class Layout(NamedTuple):
    """The slots a loop starts with, and how it starts them."""

    server: tuple[str, ...]
    client: tuple[str, ...]
    zero: frozenset[str]
    calls: int


def probe(start: Callable[..., dict[str, Any]], n_clients: int) -> Layout:
    """Return the slots, those of clients that start at zero, and the gradients taken.

    The run has the columns x0 and gradient; every gradient is the second column.
    """
    taken: dict[int, list[Vector]] = {}

    def gradient(client: int, point: Vector) -> Vector:
        points = taken.setdefault(client, [])
        if point not in points:
            points.append(point)
        return [0, 1]

    state = played(start, gradient, n_clients, [1, 0])
    client = tuple(slot for slot in state if isinstance(state[slot][0], list))
    zero = frozenset(slot for slot in client if not any(state[slot][0]))
    server = tuple(slot for slot in state if slot not in client)
    return Layout(server, client, zero, max(map(len, taken.values()), default=0))


def _stars(case: Case) -> list[Label]:
    return [(q, "star") for q in range(len(case.law.sizes) - 1)]


def _per_class(case: Case, names: list[str]) -> list[Label]:
    return [(q, name) for q in range(len(case.law.sizes)) for name in names]


def _related(case: Case, snapshot: Snapshot, when: str) -> None:
    """Reject unless every eliminated slot is the combination the table gives."""
    for slot, coefficients in case.eliminated.items():
        holds = snapshot.overall(slot) == snapshot.point(coefficients)
        require(holds, f"the relation that eliminates {slot} must hold {when}")


class Round(Frame):
    """One round from any state `before`; `after` is what an outcome makes of it."""

    def __init__(self, case: Case, apart: int | None) -> None:
        calls = [f"call:{k}" for k in range(case.calls)]
        mean = [*case.state, *_per_class(case, calls), *_stars(case)]
        super().__init__(case, apart, mean, [*case.coordinates, *calls, "star"])
        if case.has_equilibrium:
            self.silent |= {label for label in self.labels if label[-1] == "star"}
        self.oracle: Tape = self.tape(case.calls)
        self._server, self._client = self._deviations()
        self.before = self._snapshot(
            len(self.short(self.total())),
            {slot: self.short(v) for slot, v in self._server.items()},
            [
                (role, len(clients), self._shorter(self._client[role]))
                for role, clients in self.clients.items()
            ],
        )
        self._rest = {
            (slot, role): self.resting(slot, role)
            for slot in case.client
            for role in self.clients
        }
        self._state = self._actual()

    def _shorter(self, client: Named) -> Named:
        return {name: self.short(vector) for name, vector in client.items()}

    def _snapshot(
        self, size: int, server: Named, groups: list[tuple[Role, int, Named]]
    ) -> Snapshot:
        classes = range(len(self.case.law.sizes))
        members = [[(n, c) for role, n, c in groups if role.q == q] for q in classes]
        return Snapshot(size, server, members)

    def _deviations(self) -> tuple[Named, dict[Role, Named]]:
        """Return all server slots and all client vectors, as deviations."""
        case = self.case
        server = {slot: self.unit((slot,)) for slot in case.kept}
        clients: dict[Role, Named] = {}
        for role in self.clients:
            named = {name: self.client(role, name) for name in case.averaged}
            for memory in case.memories:
                named[memory.slot] = self.total(*case.remembered(memory, named))
            clients[role] = named
        groups = [(role, len(self.clients[role]), clients[role]) for role in clients]
        known = self._snapshot(len(self.labels), dict(server), groups)
        means = {slot: known.point(c) for slot, c in case.eliminated.items()}
        for slot, mean in means.items():
            if slot in case.server:
                server[slot] = mean
            else:
                for role, named in clients.items():
                    named[slot] = self.deviating(role, slot, mean)
        return server, clients

    def _actual(self) -> dict[str, Any]:
        """Return the state the loop is given, deviation plus equilibrium."""
        state: dict[str, Any] = {}
        for slot in self.case.server:
            state[slot] = self.total((1, self._server[slot]), (1, self.resting(slot)))
        for slot in self.case.client:
            values: list[Vector] = [[]] * self.case.law.n_clients
            for role, clients in self.clients.items():
                rest = self._rest[slot, role]
                vector = self.total((1, self._client[role][slot]), (1, rest))
                for i in clients:
                    values[i] = vector
            state[slot] = values
        return state

    def after(self, outcome: Outcome) -> Snapshot:
        """Return the deviations after one round with this outcome."""
        case, cohort = self.case, list[int]()
        parts: list[tuple[Role, range, bool]] = []
        for role, clients in self.clients.items():
            if role.sign:
                inside = len(clients) * outcome.marked[role.sign < 0]
            else:
                inside = outcome.further[role.q]
            cohort += clients[:inside]
            parts += [(role, clients[:inside], True), (role, clients[inside:], False)]
        new = played(case.play, self._state, self.oracle, case.law.n_clients, cohort)
        self.oracle.taken_by(cohort)
        require(
            set(new) == set(self._state), "a round must keep the slots of the state"
        )
        server = {
            slot: self.settled(new[slot], self.resting(slot), slot)
            for slot in case.server
        }
        groups = [
            (role, len(part), self._client_after(new, role, part, takes))
            for role, part, takes in parts
            if part
        ]
        snapshot = self._snapshot(self.before.size, server, groups)
        _related(case, snapshot, "after every round")
        return snapshot

    def _client_after(
        self, new: dict[str, Any], role: Role, part: range, takes: bool
    ) -> Named:
        named: Named = {}
        for slot in self.case.client:
            value = self.common(new[slot], part, slot)
            named[slot] = self.settled(value, self._rest[slot, role], slot)
        for memory in self.case.memories:
            value = new[memory.slot][part[0]]
            require(
                value == self._memory_after(memory, role, takes),
                f"memory {memory.slot} must be the stated combination of gradients "
                "at a participant and unchanged elsewhere",
            )
        for j, (_, k, _) in enumerate(self.case.ghosts):
            point, gradient = f"ghost:{j}.point", f"ghost:{j}.gradient"
            if takes:
                at = self.oracle.points[role][k]
                named[point] = self.settled(at, self.unit(X_STAR), "every point")
                named[gradient] = self.short(self.client(role, f"call:{k}"))
            else:
                named[point] = self.short(self._client[role][point])
                named[gradient] = self.short(self._client[role][gradient])
        return named

    def _memory_after(self, memory: Memory, role: Role, takes: bool) -> Vector:
        if not takes:
            return list(self._state[memory.slot][self.clients[role][0]])
        answers = self.oracle.answers[role]
        pairs = zip(memory.weights, memory.calls, strict=True)
        return self.total(*((weight, answers[k]) for weight, k in pairs))

    def known_points(self) -> dict[Role, Points]:
        """Return the points whose gradients the state holds: x* and the ghosts."""
        found: dict[Role, Points] = {}
        nothing = self.short(self.total())
        for role in self.clients:
            client = self._shorter(self._client[role])
            found[role] = {"star": (nothing, nothing)}
            for j in range(len(self.case.ghosts)):
                found[role][f"ghost:{j}"] = (
                    client[f"ghost:{j}.point"],
                    client[f"ghost:{j}.gradient"],
                )
        return found

    def all_points(self) -> dict[Role, Points]:
        """Return the known points and those of this round, once outcomes have run."""
        known, fresh = self.known_points(), self.points(self.oracle, "call")
        return {role: known[role] | fresh[role] for role in known}


class Start(Frame):
    """The start of a loop from x0; `ghosts` names the point of every ghost."""

    def __init__(self, case: Case, apart: int | None, layout: Layout) -> None:
        self.zero = {
            memory: m
            for m, memory in enumerate(case.memories)
            if memory.slot in layout.zero
        }
        names = [f"call:{k}" for k in range(layout.calls)]
        names += [f"phi:{m}" for m in self.zero.values()]
        mean = [("start",), *_stars(case), *_per_class(case, names)]
        super().__init__(case, apart, mean, ["star", *names])
        x0 = self.total((1, self.unit(("start",))), (1, self.unit(X_STAR)))
        self.n_calls = layout.calls
        self.oracle: Tape = self.tape(layout.calls)
        n_clients = case.law.n_clients
        self._state = played(case.start, self.oracle, n_clients, x0)
        self.oracle.taken_by(range(n_clients))
        self.known = self._points()
        self.ghosts = [self._ghost(memory) for memory, _, _ in case.ghosts]
        self.snapshot = self._deviations()
        _related(case, self.snapshot, "at the start")

    def _points(self) -> dict[Role, Points]:
        nothing = self.short(self.total())
        found = self.points(self.oracle, "start_call")
        for role, points in found.items():
            points["star"] = (nothing, nothing)
            for m in self.zero.values():
                # where the gradient itself vanishes, g~ is -g*
                gradient = self.short(self.total((-1, self.star(role))))
                points[f"start_ghost:{m}"] = (
                    self.short(self.client(role, f"phi:{m}")),
                    gradient,
                )
        return found

    def _ghost(self, memory: Memory) -> str:
        """Return the point whose gradient the memory holds for all its ghosts."""
        values = {
            role: self.common(self._state[memory.slot], clients, memory.slot)
            for role, clients in self.clients.items()
        }
        if memory in self.zero and not any(map(any, values.values())):
            return f"start_ghost:{self.zero[memory]}"
        size = sum(memory.weights)
        for k in range(self.n_calls):
            answer = {role: self.oracle.answers[role][k] for role in values}
            if all(values[role] == self.total((size, answer[role])) for role in values):
                return f"start_call:{k}"
        raise Rejected(f"memory {memory.slot} must start at zero or at one gradient")

    def _deviations(self) -> Snapshot:
        server = {
            slot: self.settled(self._state[slot], self.resting(slot), slot)
            for slot in self.case.server
        }
        classes: list[list[tuple[int, Named]]] = [[] for _ in self.case.law.sizes]
        for role, clients in self.clients.items():
            named: Named = {}
            for slot in self.case.client:
                value = self.common(self._state[slot], clients, slot)
                named[slot] = self.settled(value, self.resting(slot, role), slot)
            for j, name in enumerate(self.ghosts):
                point, gradient = self.known[role][name]
                named[f"ghost:{j}.point"] = point
                named[f"ghost:{j}.gradient"] = gradient
            classes[role.q].append((len(clients), named))
        return Snapshot(len(self.short(self.total())), server, classes)

"""One start and one round of a reference loop, as the checker sees them.

Each is a frame: the clients come in a few kinds, all vectors are linear forms, and the
loop is played on these, one client of a kind for all of it.  All clients of a class
carry the vectors of its mean; the first two clients of one class also carry a
deviation, with the signs + and -: an average over exchangeable clients can tell nothing
else apart.  The minimiser x* and the gradients g*_i there are vectors too.  Whatever
the tables of a certificate say (equilibrium, eliminated slots, memories) is compared
with what the loop does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from flverify.reference import Population

from ._certificate import Case, Memory
from ._forms import Form, Label, Moment, Number, certainly, form, vector
from ._json import Rejected, require
from ._law_outcomes import Outcome

Named: TypeAlias = dict[str, Form]
State: TypeAlias = dict[str, Any]
Gradient: TypeAlias = Callable[[int, list[Form]], list[Form]]

ALIKE = "clients of one class must be treated alike"
NOTHING = Form({})
X_STAR = vector("x*")


def played(loop: Callable[..., State], *arguments: Any) -> State:
    """Call a reference loop; a setting it refuses rejects the certificate."""
    try:
        return loop(*arguments)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
        raise Rejected(f"the settings must suit the reference loop: {e}") from e


class Kind(NamedTuple):
    """Clients alike: their class, the sign of their deviation, how many there are."""

    q: int
    sign: int
    many: int


class Group(NamedTuple):
    """The clients of a kind that take part in the round, or those that do not."""

    kind: Kind
    takes: bool
    many: Number | Form


Play: TypeAlias = Callable[[list[Group], Gradient, int], State]


class Snapshot(NamedTuple):
    """Deviations from equilibrium: server slots, and client vectors by group.

    `ghosts` names the points that a group's ghosts stand for, by (kind, takes).
    """

    server: Named
    clients: list[tuple[Group, Named]]
    ghosts: dict[tuple[Kind, bool], list[str]]

    def mean(self, name: str, q: int | None = None) -> Form:
        """Return a server slot, or the mean of a client vector, in one class or all."""
        if name in self.server:
            return self.server[name]
        inside = [(g.many, own) for g, own in self.clients if q in (None, g.kind.q)]
        total = sum((own[name] * n for n, own in inside), NOTHING)
        return total / sum(n for n, _ in inside)

    def point(self, coefficients: Mapping[str, Number]) -> Form:
        """Return a combination of server slots and means over all clients."""
        return sum((self.mean(s) * c for s, c in coefficients.items()), NOTHING)


class Frame:
    """The vectors of one configuration: two clients of class `apart` have signs.

    `points` has every known point of a client of each kind: how far it is from x*, and
    how far the gradient there is from g*_i.  `mean` and `own` are the labels of the
    coordinates.  A deviation must not hold a vector of `hidden`.
    """

    mean: list[Label]
    own: list[str]
    hidden = frozenset({"x*"})

    def __init__(self, case: Case, apart: int | None, call: str, calls: int) -> None:
        self.case, self.apart, self.call, self.calls = case, apart, call, calls
        kinds = [Kind(q, 0, n) for q, n in enumerate(case.law.others(apart)) if n]
        if apart is not None:
            kinds += [Kind(apart, 1, 1), Kind(apart, -1, 1)]
        self.kinds = sorted(kinds, key=lambda kind: (kind.q, -abs(kind.sign)))
        self.asked: dict[Kind, list[Form]] = {kind: [] for kind in kinds}
        self.points = {kind: {"star": (NOTHING, NOTHING)} for kind in kinds}
        names = [f"call:{k}" for k in range(calls)]
        self.answers = {
            kind: [self.client(kind, name) + self.star(kind) for name in names]
            for kind in kinds
        }

    def client(self, kind: Kind, name: str, mean: Form | None = None) -> Form:
        """Return the mean of the class plus the sign times the deviation."""
        mean = vector(kind.q, name) if mean is None else mean
        return mean + vector("own", name) * kind.sign

    def labels(self, names: list[str]) -> list[Label]:
        """Return the labels of the class means of these names."""
        return [(q, name) for q in range(len(self.case.law.sizes)) for name in names]

    def star(self, kind: Kind) -> Form:
        """Return g*_i; that of the last class makes the sum over all clients vanish."""
        *sizes, last = self.case.law.sizes
        if kind.q < len(sizes):
            return self.client(kind, "star")
        others = sum((vector(q, "star") * n for q, n in enumerate(sizes)), NOTHING)
        return self.client(kind, "star", others / -last)

    def resting(self, slot: str, kind: Kind | None = None) -> Form:
        """Return the equilibrium of a slot, alpha x* or alpha x* + beta g*_i."""
        alpha, beta = self.case.equilibrium[slot]
        return X_STAR * alpha + (0 if kind is None else self.star(kind) * beta)

    def settled(self, actual: Form | Number, resting: Form, what: str) -> Form:
        """Return the deviation from equilibrium, in the vectors that may occur."""
        deviation = actual - resting
        require(
            not any(v == () or v[-1] in self.hidden for v in deviation.labels()),
            f"{what} must be as in the table 'equilibrium' when all else is",
        )
        return deviation

    def run(
        self, play: Play, groups: list[Group], value: Moment = certainly
    ) -> Snapshot:
        """Return the deviations that the loop makes of the groups.

        The loop is also played client by client, at one `value` of unknown counts.
        """
        counts, n_clients = [group.many for group in groups], self.case.law.n_clients
        new = self._played(play, groups, Population(n_clients, counts))
        sizes = [int(form(n).expected(value).number()) for n in counts]
        each = [i for i, n in enumerate(sizes) for _ in range(n)]
        listed = self._played(play, [groups[i] for i in each], n_clients)
        after = Snapshot({}, [(group, {}) for group in groups], {})
        for slot in self.case.layout.server:
            require(listed[slot][0] == form(new[slot][0]).expected(value), ALIKE)
            after.server[slot] = self.settled(new[slot][0], self.resting(slot), slot)
        for slot in self.case.layout.client:
            values = [form(x).expected(value) for [x] in new[slot]]
            pairs = zip(listed[slot], each, strict=True)
            require(all(x == values[i] for [x], i in pairs), ALIKE)
            for (group, own), [x] in zip(after.clients, new[slot], strict=True):
                own[slot] = self.settled(x, self.resting(slot, group.kind), slot)
        return after

    def _played(self, play: Play, groups: list[Group], n_clients: int) -> State:
        """Play a loop on prescribed gradients: the k-th new point has the k-th."""
        seen: list[list[Form]] = [[] for _ in groups]

        def gradient(i: int, point: list[Form]) -> list[Form]:
            x = form(*point)
            if x not in seen[i]:
                self._ask(groups[i].kind, len(seen[i]), x)
                seen[i].append(x)
            return [self.answers[groups[i].kind][seen[i].index(x)]]

        new = played(play, groups, gradient, n_clients)
        for group, points in zip(groups, seen, strict=True):
            taken = not group.takes or len(points) == self.calls
            require(taken, f"a participant must take {self.calls} gradients")
        require(set(new) == set(self.case.equilibrium), "a round must keep the slots")
        return new

    def _ask(self, kind: Kind, k: int, x: Form) -> None:
        """Take note of the k-th point of a client, the same one on every run."""
        most, asked = self.calls, self.asked[kind]
        require(k < most, f"a client must take {most} gradients; it takes more")
        if k == len(asked):
            asked.append(x)
            gradient = self.client(kind, f"call:{k}")
            point = self.settled(x, X_STAR, "every point")
            self.points[kind][f"{self.call}:{k}"] = point, gradient
        same = asked[k] == x and x.certain
        require(same, f"the point of call {k} must not depend on who participates")

    def end(self) -> None:
        """Reject if some client did not take all its gradients, or took its own way."""
        for kind, asked in self.asked.items():
            complete = len(asked) == self.calls
            require(complete, "every client must take all its gradients at some time")
            if kind.q == self.apart:
                pattern = self.asked[Kind(kind.q, 1, 1)]
                require(asked == [x.turned(kind.sign) for x in pattern], ALIKE)

    def remembered(self, own: Named) -> Named:
        """Return the memory slots, as combinations of their ghosts' gradients."""
        found = {m.slot: NOTHING for m in self.case.memories if m.slot is not None}
        for j, (slot, _, weight) in enumerate(self.case.ghosts):
            if slot is not None:
                found[slot] += own[f"ghost:{j}.gradient"] * weight
        return found

    def completed(self, state: Snapshot, when: str) -> Snapshot:
        """Add the ghosts; reject a state that is not what the tables say."""
        for group, own in state.clients:
            points = self.ghost_points(group)
            state.ghosts[group.kind, group.takes] = points
            for j, name in enumerate(points):
                at = self.points[group.kind][name]
                own[f"ghost:{j}.point"], own[f"ghost:{j}.gradient"] = at
            for slot, value in self.remembered(own).items():
                require(
                    own[slot] == value,
                    f"memory {slot} must be the stated combination of gradients "
                    f"{when}, and unchanged at clients that do not participate",
                )
        for slot, coefficients in self.case.eliminated.items():
            holds = state.mean(slot) == state.point(coefficients)
            require(holds, f"the relation that eliminates {slot} must hold {when}")
        return state

    def ghost_points(self, group: Group) -> list[str]:
        """Return the points that the memories hold after all."""
        raise NotImplementedError


class Round(Frame):
    """One round from any state `before`; `after` is what an outcome makes of it."""

    def __init__(self, case: Case, apart: int | None) -> None:
        super().__init__(case, apart, "call", case.calls)
        calls = [f"call:{k}" for k in range(case.calls)]
        stars = [] if case.has_equilibrium else ["star"]
        if case.has_equilibrium:
            self.hidden |= {"star"}
        self.mean = [*case.state, *self.labels(calls), *self.labels(stars)[:-1]]
        self.own = [*case.coordinates, *calls, *stars]
        for kind in self.kinds:
            for ghost in (f"ghost:{j}" for j in range(len(case.ghosts))):
                point = self.client(kind, f"{ghost}.point")
                self.points[kind][ghost] = point, self.client(kind, f"{ghost}.gradient")
        self.before = self._before()

    def _before(self) -> Snapshot:
        """Return all slots and ghosts, those eliminated as what they equal."""
        case = self.case
        state = Snapshot({slot: vector(slot) for slot in case.kept}, [], {})
        ghosts = [f"ghost:{j}" for j in range(len(case.ghosts))]
        for kind in self.kinds:
            own = {name: self.client(kind, name) for name in case.averaged}
            own |= self.remembered(own)
            state.clients.append((Group(kind, False, kind.many), own))
            state.ghosts[kind, False] = ghosts
        means = {slot: state.point(c) for slot, c in case.eliminated.items()}
        for slot, mean in means.items():
            if slot in case.layout.server:
                state.server[slot] = mean
            else:
                for group, own in state.clients:
                    own[slot] = self.client(group.kind, slot, mean)
        return state

    def after(self, outcome: Outcome) -> Snapshot:
        """Return the deviations of the slots after one round with this outcome."""
        groups = []
        for kind in self.kinds:
            inside = outcome.further[kind.q]
            if kind.sign:
                inside = int(outcome.marked[kind.sign < 0])
            groups.append(Group(kind, True, inside))
            groups.append(Group(kind, False, kind.many - inside))
        groups = [g for g in groups if isinstance(g.many, Form) or g.many]
        return self.run(self._play, groups, outcome.example)

    def _play(self, groups: list[Group], gradient: Gradient, n_clients: int) -> State:
        """Play a round from the state before, equilibrium included."""
        state: State = {
            slot: [self.before.server[slot] + self.resting(slot)]
            for slot in self.case.layout.server
        }
        for slot in self.case.layout.client:
            values = {
                group.kind: own[slot] + self.resting(slot, group.kind)
                for group, own in self.before.clients
            }
            state[slot] = [[values[group.kind]] for group in groups]
        cohort = [i for i, group in enumerate(groups) if group.takes]
        return self.case.play(state, gradient, n_clients, cohort)

    def ghost_points(self, group: Group) -> list[str]:
        """Return the points of the calls at a participant, the old ones elsewhere.

        What V alone remembers is new at every client.
        """
        return [
            f"call:{k}" if group.takes or slot is None else f"ghost:{j}"
            for j, (slot, k, _) in enumerate(self.case.ghosts)
        ]


class Start(Frame):
    """The start of a loop from x0."""

    def __init__(self, case: Case, apart: int | None) -> None:
        super().__init__(case, apart, "start_call", case.layout.calls)
        groups = [Group(kind, True, kind.many) for kind in self.kinds]
        self.state = self.run(self._play, groups)
        self.end()
        names = [f"call:{k}" for k in range(self.calls)]
        for m, memory in enumerate(case.memories):
            if memory.slot in case.layout.zero:
                names.append(f"phi:{m}")
                for kind, points in self.points.items():
                    # where the gradient itself vanishes, g~ is -g*
                    at = self.client(kind, f"phi:{m}"), self.star(kind) * -1
                    points[f"start_ghost:{m}"] = at
        stars = self.labels(["star"])[:-1]
        self.mean = [("start",), *stars, *self.labels(names)]
        self.own = ["star", *names]
        memories = enumerate(case.memories)
        self.held = {memory.slot: self._held(m, memory) for m, memory in memories}
        self.completed(self.state, "at the start")

    def _play(self, _groups: list[Group], gradient: Gradient, n_clients: int) -> State:
        return self.case.start(gradient, n_clients, [vector("start") + X_STAR])

    def _held(self, m: int, memory: Memory) -> str:
        """Return the point whose gradient a memory holds for all its ghosts."""
        if memory.slot is None:
            return "star"  # V may remember what it likes, and begins with x*
        size, none = sum(memory.weights), (NOTHING, None)
        for name in (
            f"start_ghost:{m}",
            *(f"start_call:{k}" for k in range(self.calls)),
        ):
            held = [
                (own[memory.slot], self.points[group.kind].get(name, none)[1])
                for group, own in self.state.clients
            ]
            if all(g is not None and value == g * size for value, g in held):
                return name
        raise Rejected(f"memory {memory.slot} must start at zero or at one gradient")

    def ghost_points(self, _group: Group) -> list[str]:
        """Return the point that each memory holds, the same at all clients."""
        return [self.held[slot] for slot, _, _ in self.case.ghosts]

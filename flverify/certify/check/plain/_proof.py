"""What a certificate's loop does to unknown vectors, and the three sums to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from inspect import signature
from itertools import product
from math import lcm
from operator import itemgetter
from typing import Any, TypeAlias

from flverify.reference import (
    Population,
    fedavg,
    feddyn,
    fedprox,
    fedvarp,
    focus,
    gradient_descent,
    mifa,
    proxskip,
    scaffold,
)

from ._average import above_least, gap, known_at, measured, own_weight
from ._groups import X_0, X_STAR, Group, Parts, Point, State, cohorts
from ._sums import NOTHING, TooManyError, Vector, demand, quadratic, total, unknown

LOOPS = {"fedavg": fedavg, "focus": focus, "gradient_descent": gradient_descent}
LOOPS |= {"proxskip": proxskip, "scaffold": scaffold}
LOOPS |= {"feddyn": feddyn, "fedprox": fedprox, "fedvarp": fedvarp, "mifa": mifa}
MOST_CALLS = 20
Points: TypeAlias = dict[tuple[str, Parts], Point]  # by name and sort of client
Watched: TypeAlias = Callable[[list[Any]], Iterable[Any]]


def _crowd(groups: list[Group]) -> int:
    """Return the number of clients, as a loop is told it."""
    counts = [g.many for g in groups]
    return len(counts) if max(counts) == 1 else Population(sum(counts), counts)


def _listed(groups: list[Group]) -> list[Group]:
    """Return the same clients, every one a group of its own."""
    return [g._replace(many=1) for g in groups for _ in range(g.many)]


def _alike(state: State, listed: State) -> bool:
    """Whether every client did what its group did."""
    counts = [g.many for g in state.groups]
    each = {
        slot: [x for x, many in zip(rows, counts, strict=True) for _ in range(many)]
        for slot, rows in state.at.items()
    }
    return each == listed.at


def _weighted(rows: list[Any]) -> list[Any]:
    """Return inequalities, each with a weight that is not negative."""
    for *index, x in rows:
        fits = type(x) is Fraction and x >= 0 and {*map(type, index)} <= {int, str}
        demand(fits, "a weight must be a number that is not negative")
    return rows


class Proof:
    """A certificate, and what its loop does to the unknown vectors of some groups."""

    def __init__(self, c: Any, cast: list[Group], own: Any = None) -> None:
        self.c, self.cast, self.relations = c, cast, vars(c.eliminated)
        self.mu, self.L = c.function_class.strong_convexity, c.function_class.smoothness
        self.n = sum(g.many for g in cast)
        classes = sorted({g.q for g in cast})
        self.sizes = {q: sum(g.many for g in cast if g.q == q) for q in classes}
        free = State(cast, {"g*": [g.unknown("g*") for g in cast]})
        middle = free.mean("g*")  # the g*_i are any vectors that add to zero
        self.stars = {g.parts: x - middle for g, x in free.each("g*")}
        few = f"at most {MOST_CALLS} gradients a client are written out; got {c.calls}"
        demand(c.calls <= MOST_CALLS, few, TooManyError)
        loop = LOOPS[c.algorithm.name] if own is None else own
        given, asked = vars(c.algorithm.settings), (loop.start, loop.play)
        known = [
            {
                k: p.default
                for k, p in signature(f).parameters.items()
                if p.kind == p.KEYWORD_ONLY
            }
            for f in asked
        ]
        named = {k for options in known for k, x in options.items() if x is not None}
        demand(named <= given.keys(), f"settings must give all of {sorted(named)}")
        demand(
            given.keys() <= {*known[0], *known[1]}, "settings must be the loop's own"
        )
        signs = [x > 0 for x in given.values() if not isinstance(x, str)]
        demand(
            own is not None or all(signs), "settings that are numbers must be positive"
        )
        few = f"at most {MOST_CALLS} local steps are played; got {{}}"
        steps = given.get("local_steps", 1)
        demand(steps <= MOST_CALLS, few.format(steps), TooManyError)
        self.start, self.play = (
            partial(f, **{k: x for k, x in given.items() if k in options})
            for f, options in zip(asked, known, strict=True)
        )
        begun = self.start(lambda *_: [NOTHING], _crowd(cast), [NOTHING])
        demand(begun.keys() == vars(c.equilibrium).keys(), "other slots are meant")
        self.stacks = [slot for slot in begun if isinstance(begun[slot][0], list)]
        self.lifted = [m.slot for m in c.memories]
        self.ghosts: list[Any] = []  # name, slot, call and weight of each
        for m in c.memories:
            kept = m.slot is None or m.slot in {*self.stacks} - {*self.relations}
            demand(kept, "a memory must be a slot of the clients")
            for k, weight in zip(m.calls, m.weights, strict=True):
                demand(weight == 0 or m.slot is not None, "no slot, no weight")
                self.ghosts.append((f"ghost:{len(self.ghosts)}", m.slot, k, weight))
        self.slots = [slot for slot in self.stacks if slot not in self.lifted]
        parts = product([j for j, *_ in self.ghosts], (".point", ".gradient"))
        self.own = [*self.slots, *map("".join, parts)]
        self.kept = [s for s in begun if s not in {*self.stacks, *self.relations}]
        self.rest = self.resting()

    def resting(self) -> State:
        """Return where all slots rest, alpha x* + beta g*_i, and the ghosts, at x*."""
        at: Any = {j: [Point() for _ in self.cast] for j, *_ in self.ghosts}
        for slot, (alpha, beta) in vars(self.c.equilibrium).items():
            demand(slot in self.stacks or beta == 0, "the server does not know g*_i")
            at[slot] = [X_STAR * alpha + self.stars[g.parts] * beta for g in self.cast]
        return self.completed(State(self.cast, at), {}, "at rest")

    def combination(self, state: State, row: Any) -> Vector:
        """Return a combination of server slots and of means over all clients."""
        return total(state.mean(name) * x for name, x in vars(row).items())

    def rebuilt(self, state: State) -> State:
        """Return a state with its memories and relations made from all else."""
        new = State(state.groups, dict(state.at))
        for slot in {*self.lifted} - {None}:
            held = [(new.at[j], w) for j, other, _, w in self.ghosts if other == slot]
            new.at[slot] = [
                total((points[i].g + self.stars[g.parts]) * w for points, w in held)
                for i, g in enumerate(new.groups)
            ]
        for slot, row in self.relations.items():
            due = self.combination(new, row)
            old = new.at.setdefault(slot, [NOTHING] * len(new.groups))
            new.at[slot] = [x - new.mean(slot) + due for x in old]
        return new

    def completed(self, state: State, points: Points, when: Any) -> State:
        """Add the parts of ghosts and the value terms; reject what is not as stated."""
        right = self.rebuilt(state) == state
        demand(right, f"memories and relations must hold {when}")
        for j, *_ in self.ghosts:
            state.at[f"{j}.point"] = [point.x for point in state.at[j]]
            state.at[f"{j}.gradient"] = [point.g for point in state.at[j]]
        for v, value in enumerate(self.c.values):
            w = self.combination(state, value.point)
            demand(when != "at rest" or w == X_STAR, "a value must rest at x*")
            state.at[f"value:{v}"] = [
                # at a point that is known, the value is too
                [*known_at(points, g, w), Point(w, f=unknown("f", (v, when), g.parts))][
                    0
                ]
                for g in state.groups
            ]
        return state

    def played(
        self, call: str, loop: Any, groups: list[Group], last: Any
    ) -> tuple[State, list[Points]]:
        """Play a loop; return its slots, and by group the points of its gradients."""
        taken: list[Points] = [{} for _ in groups]

        def gradient(i: int, at: list[Any]) -> list[Vector]:
            g, x, asked = groups[i], NOTHING + at[0], [p.x for p in taken[i].values()]
            demand(len(asked) <= self.c.calls, "more gradients are taken than stated")
            name = f"{call}:{[*asked, x].index(x)}"
            p = taken[i][name, g.parts] = g.point(name)._replace(x=x)
            return [p.g + self.stars[g.parts]]

        state = State(groups, {})
        for slot, rows in loop(gradient, _crowd(groups), last).items():
            each = [x for [x] in rows] if slot in self.stacks else rows * len(groups)
            state.at[slot] = [NOTHING + x for x in each]
        return state, taken

    def started(self) -> tuple[State, Points]:
        """Return the start and its points; memories hold zero or the first gradient."""
        x_0 = [X_STAR + X_0]
        state, taken = self.played("start_call", self.start, self.cast, x_0)
        each = _listed(self.cast)
        listed, _ = self.played("start_call", self.start, each, x_0)
        demand(_alike(state, listed), "clients alike must start alike")
        points = {("star", g.parts): Point() for g in self.cast}
        points |= {key: p for own in taken for key, p in own.items()}
        for j, slot, *_ in self.ghosts:
            name = f"start_ghost:{self.lifted.index(slot)}"  # the gradient is zero
            if slot is None or any(state.at[slot]):
                name = "star" if slot is None else "start_call:0"
            there = self.mu > 0 or not name.startswith("start_ghost")
            demand(there, "a function need not have a point of gradient 0")
            zero = {
                g.parts: g.point(name)._replace(g=self.stars[g.parts] * -1)
                for g in self.cast
            }
            state.at[j] = [points.setdefault((name, i), p) for i, p in zero.items()]
        return self.completed(state, {}, "at the start"), points

    def outcomes(self) -> list[tuple[Fraction, list[Group]]]:
        """Return the possible rounds: whole numbers as the chances, groups in and out.

        The numbers add up to the lcm of what the chances are divided by.
        """
        found = []
        for inside, p in cohorts(self.c.law, self.cast):
            split = [
                g._replace(many=m, takes=takes)
                for g, k in zip(self.cast, inside, strict=True)
                for m, takes in ((k, True), (g.many - k, False))
            ]
            if p:
                found.append((p, [g for g in split if g.many]))
        takes = {g.parts for _, groups in found for g in groups if g.takes}
        fits = min(p for p, _ in found) > 0 and sum(p for p, _ in found) == 1
        demand(fits and takes == self.stars.keys(), "the law must be possible")
        scale = lcm(*(p.denominator for p, _ in found))  # sums are faster so
        return [(p * scale, groups) for p, groups in found]

    def after(self, before: State, groups: list[Group]) -> tuple[State, list[Points]]:
        """Play a round from a state; return its slots and the points of gradients."""
        raw = {slot: before.at[slot][:1] for slot in vars(self.c.equilibrium)}
        for slot in self.stacks:
            own = {g.parts: x for g, x in before.each(slot)}
            raw[slot] = [[own[g.parts]] for g in groups]
        cohort = [i for i, g in enumerate(groups) if g.takes]
        return self.played("call", partial(self.play, raw), groups, cohort)

    def round(self) -> tuple[State, list[tuple[Fraction, State]], Points]:
        """Return any state, those a round later and how likely, and all points."""
        cast, n = self.cast, len(self.cast)
        at: Any = {slot: [unknown(slot)] * n for slot in self.kept}
        at |= {slot: [g.unknown(slot) for g in cast] for slot in self.slots}
        at |= {j: [g.point(j) for g in cast] for j, *_ in self.ghosts}
        points = {("star", g.parts): Point() for g in cast}
        points |= {
            (j, g.parts): p
            for j, *_ in self.ghosts
            for g, p in zip(cast, at[j], strict=True)
        }
        before, after = self.rebuilt(State(cast, at)), []
        for p, groups in self.outcomes():
            state, taken = self.after(before, groups)
            for g, new in zip(groups, taken, strict=True):
                fits = not g.takes or len(new) == self.c.calls
                fits &= all(points.setdefault(key, x) == x for key, x in new.items())
                demand(fits, "a participant must take its gradients as stated")
            after.append((p, state))
        likely = max(after, key=itemgetter(0))[1]
        listed, _ = self.after(before, _listed(likely.groups))
        demand(_alike(likely, listed), "clients alike must end alike")
        for s, (_, state) in enumerate(after):
            for j, slot, k, _ in self.ghosts:
                state.at[j] = [
                    points[f"call:{k}" if slot is None or g.takes else j, g.parts]
                    for g in state.groups
                ]
            self.completed(state, {}, f"after {s}")
        return self.completed(before, points, "before"), after, points

    def lyapunov(self, state: State) -> Vector:
        """Return V = u'T u + (1/N) sum_i d_i'S d_i + values of f_i, from rest."""
        away = State(state.groups, {})
        for name in (*self.kept, *self.own):
            rest = {g.parts: x for g, x in self.rest.each(name)}
            away.at[name] = [x - rest[g.parts] for g, x in state.each(name)]
        u, terms = [away.at[slot][0] for slot in self.kept], []
        blocks = zip(self.sizes, self.c.V.classes, self.c.ghost_values, strict=True)
        for q, S, values in blocks:
            middle = {name: away.mean(name, q) for name in self.own}
            u += [middle[name] for name in self.own if name not in self.relations]
            for i, g in enumerate(state.groups):
                if g.q == q:
                    d = [
                        away.at[name][i] - middle[name]
                        for name in self.own
                        if self.sizes[q] > 1
                    ]
                    pairs = zip(self.ghosts, values, strict=True)
                    f = (state.at[j][i].f * x for (j, *_), x in pairs)
                    terms.append(total([quadratic(S, d), *f]) * g.many)
        for v, value in enumerate(self.c.values):
            ends = state.each(f"value:{v}")
            terms += [end.f * (value.delta * g.many) for g, end in ends]
        return quadratic(self.c.V.mean, u) + total(terms) / self.n

    def used(self, part: Any, points: Points, state: State) -> Vector:
        """Return the mean of inequalities of the f_i, times weights not negative.

        These are interpolation, and bounds from below on the values of a state.
        """
        mu, L, terms = self.mu, self.L, []
        for q, a, b, x in _weighted(part.multipliers):
            for g, _ in state.each("model", q):
                gap = points[a, g.parts].above(points[b, g.parts], mu, L)
                terms.append(gap * (x * g.many))
        for v, q, b, x in _weighted(vars(part).get("lower", [])):
            for g, end in state.each(f"value:{v}", q):
                gap = end.f - points[b, g.parts].tangent(end.x, mu)
                terms.append(gap * (x * g.many))
        return total(terms) / self.n

    def highest(self, part: Any, points: Points, state: State) -> Vector:
        """Return V, with bounds from above added to the values of a state."""
        terms = []
        for v, q, b, x in _weighted(part.upper):
            for g, end in state.each(f"value:{v}", q):
                gap = points[b, g.parts].tangent(end.x, self.L) - end.f
                terms.append(gap * (x * g.many))
        return self.lyapunov(state) + total(terms) / self.n

    def conditions(self, watched: Watched = iter) -> Iterator[tuple[str, Vector]]:
        """Yield the three sums that must not be negative."""
        c, (s, k) = self.c, self.constants()
        before, after, points = self.round()
        V, x = self.lyapunov(before), before.at["model"][0] - X_STAR
        spread = State(self.cast, {"": [g @ g for g in self.stars.values()]}).mean("")
        ends = (self.highest(c.decrease, points, at) * p for p, at in watched(after))
        expected = total(ends) / sum(p for p, _ in after)
        strong = c.kind in ("rate", "neighbourhood")
        away = x @ x if strong else measured(c, before, points)
        decrease = V * c.rho - away * s + spread * k - expected
        yield "decrease", decrease - self.used(c.decrease, points, before)
        positivity = V - x @ x if strong and not s else V
        if not strong:
            positivity -= self.least(before)
        yield "positivity", positivity - self.used(c.positivity, points, before)
        begun, points = self.started()
        start = X_0 @ X_0 * c.start.C1 + spread * c.start.C2
        if not strong and c.start.C0:
            start += gap(begun, points, X_STAR + X_0) * c.start.C0
        if not strong and _weighted([[c.start.minimum]]) != [[0]]:
            least = above_least(begun, points, X_STAR + X_0, self.L)
            start -= least * c.start.minimum
        start -= self.highest(c.start, points, begun)
        yield "start", start - self.used(c.start, points, begun)

    def constants(self) -> tuple[Fraction, Fraction]:
        """Return s and c, all constants being in their ranges."""
        c, near = self.c, self.c.neighbourhood
        kind = "rate" if near is None else "neighbourhood"
        kind = c.kind if c.kind in ("average", "gap") else kind
        known = ("flverify/certificate", 1, kind)
        given = (c.format, c.version, c.kind)
        demand(given == known, "the format, version and kind must be known")
        nothing = Fraction(0), Fraction(0)
        s, k = nothing if near is None else (near.weight, near.constant)
        convex = self.mu > 0
        if c.kind in ("average", "gap"):
            demand(s == 0, "what is measured has a weight of its own")
            s, convex = own_weight(c), self.mu >= -self.L
        ordered = convex and self.mu < self.L and 0 < c.rho <= 1 and s >= 0 and k >= 0
        demand(ordered and (c.rho < 1 or s > 0), "the constants are out of range")
        return s, k

    def least(self, state: State) -> Vector:
        """Return values less f(x*), the smallest one, times weights not negative."""
        terms, here = [], Fraction(0)
        for v, x in _weighted(self.c.positivity.minimum):
            terms += [p.f * (x * g.many) for g, p in state.each(f"value:{v}")]
            if state.at[f"value:{v}"][0].x == state.at["model"][0]:
                here += x
        if self.c.kind == "gap":
            demand(here >= self.c.dominance.v, "V must be at least v [f(x) - f(x*)]")
        return total(terms) / self.n

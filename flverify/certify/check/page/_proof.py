"""What a page runs: sums of unknown vectors, and the three of them that are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from typing import Any, NamedTuple, TypeAlias

# ---------------------------------------------------- sums of unknown vectors


class Sum(dict[Any, Fraction]):
    """A sum of unknown vectors, or of inner products and values of f_i; no zeros."""

    def __add__(self, other: Any) -> Sum:  # loops add the number 0
        demand(isinstance(other, Sum) or other == 0, "vectors are added to vectors")
        return total([self, other or NOTHING])

    def __sub__(self, other: Any) -> Sum:
        return self.__add__(other * -1)

    def __mul__(self, number: Any) -> Sum:
        demand(isinstance(number, int | Fraction), "only numbers multiply vectors")
        return Sum({key: x * number for key, x in self.items() if number})

    def __truediv__(self, number: Any) -> Sum:
        return self.__mul__(Fraction(1) / number)

    def __matmul__(self, other: Sum) -> Sum:  # the inner product
        return Sum({(u, v): self[u] * other[v] for u in self for v in other})

    __radd__, __rmul__ = __add__, __mul__


def total(sums: Iterable[Sum]) -> Sum:
    found: dict[Any, Fraction] = {}
    for key, x in (term for one in sums for term in one.items()):
        found[key] = found[key] + x if key in found else x
    return Sum({key: x for key, x in found.items() if x})


def unknown(*label: Any) -> Sum:
    return Sum({label: Fraction(1)})


def demand(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"not proved: {what}")


NOTHING, STAR, X_0 = Sum(), unknown("x*"), unknown("x_0 - x*")
At: TypeAlias = dict[str, Sum]  # what a state holds, by name
Row: TypeAlias = Mapping[str, Fraction]


def combined(at: At, row: Row) -> Sum:
    return total(at[name] * x for name, x in row.items())


def not_negative(name: str, form: Sum) -> None:
    """Stop unless all f_i cancel, and the form has a semidefinite matrix."""
    demand(all(len(key) == 2 for key in form), f"{name}: the values must cancel")
    labels, no = {v: 0 for pair in form for v in pair}, Fraction(0)
    rows = [
        [form.get((u, v), no) + form.get((v, u), no) for v in labels] for u in labels
    ]
    while rows:  # a positive pivot, or a row of zeros, and on without them
        (pivot, *top), *rest = rows
        fits = pivot > 0 or not (pivot or any(top))
        demand(fits, f"{name}: the matrix must be positive semidefinite")
        steps = [(row, first / (pivot or 1)) for first, *row in rest]
        rows = [[x - c * y for x, y in zip(row, top, strict=True)] for row, c in steps]


# ------------------------------------------- what is known of the functions f_i


class Point(NamedTuple):
    """A point of f_i, its gradient less that at x*, its value less the tangent's."""

    x: Sum = STAR
    g: Sum = NOTHING
    f: Sum = NOTHING

    def parabola(self, x: Sum, bend: Fraction) -> Sum:
        """Return what f_i(x) is at least, with mu for `bend`; with L, at most."""
        d = x - self.x
        return self.f + self.g @ d + d @ d * (bend / 2)

    def above(self, b: Point, mu: Fraction, L: Fraction) -> Sum:
        """Return what is not negative, for f_i - mu |x|^2/2 is convex and smooth."""
        bent = self.g - b.g - (self.x - b.x) * mu
        return self.f - b.parabola(self.x, mu) - bent @ bent / (2 * (L - mu))


Points: TypeAlias = dict[tuple[str, int], Point]  # by name and client

# ---------------------------------------------------------------- who takes part


def cohorts(law: Mapping[str, Any], n: int) -> Iterator[tuple[Fraction, list[int]]]:
    """Yield the chance of every cohort that is possible, and the cohort."""
    for size in range(n + 1):
        for who in combinations(range(n), size):
            if law["kind"] == "bernoulli":  # everybody decides alone
                alone = zip(range(n), law["inclusion"], strict=True)
                each = (p if i in who else 1 - p for i, p in alone)
                p = prod(each, start=Fraction(1))
            elif law["kind"] == "uniform_cohort":
                p = Fraction(size == law["cohort_size"], comb(n, size))
            else:
                demand(law["kind"] == "all_or_nothing", "the law must be known")
                everybody = law["probability"]
                p = {n: everybody, 0: 1 - everybody}.get(size, Fraction(0))
            if p:
                yield p, list(who)


# --------------------------------------------------------------------- the proof


class Proof:
    """A loop that is played on unknown vectors, and V along it."""

    def __init__(
        self, of: Mapping[str, Any], start: Callable[..., Any], play: Any
    ) -> None:
        self.of, self.loop_start, self.loop_play = of, start, play
        self.n: int = of["n_clients"]
        self.mu: Fraction = of["mu"]
        self.L: Fraction = of["L"]
        self.clients = range(self.n)
        free = [unknown("g*", i) for i in self.clients]
        middle = total(free) / self.n  # the gradients at x* add to zero
        self.stars = [g - middle for g in free]

    def split(self, slot: str) -> list[str]:
        """Return the name of a slot of the server, or those of all clients."""
        own = slot in self.of["client_slots"]
        return [f"{slot}.{i}" for i in self.clients] if own else [slot]

    def played(self, call: str, loop: Any, points: Points) -> At:
        """Play a loop; the gradient at a new point is a new unknown vector."""
        asked: list[list[Sum]] = [[] for _ in self.clients]

        def gradient(i: int, at: list[Sum]) -> list[Sum]:
            x = NOTHING + at[0]
            if x not in asked[i]:
                asked[i].append(x)
            name = f"{call}:{asked[i].index(x)}"
            new = Point(x, unknown("g", name, i), unknown("f", name, i))
            known = points.setdefault((name, i), new)
            demand(known.x == x, "a client must ask for the same in all cohorts")
            return [known.g + self.stars[i]]

        found: At = {}
        for slot, rows in loop(gradient).items():
            each = rows if slot in self.of["client_slots"] else [rows]
            pairs = zip(self.split(slot), each, strict=True)
            found |= {name: NOTHING + x for name, [x] in pairs}
        return found

    def complete(self, at: At, held: Points) -> At:
        """Add x*, gradients and memories, and what follows from them."""
        at = at | {"x*": STAR, **{f"g*.{i}": g for i, g in enumerate(self.stars)}}
        for (j, i), p in held.items():
            at |= {f"{j}.point.{i}": p.x, f"{j}.gradient.{i}": p.g}
        for rows in self.of["made"]:
            at |= {name: combined(at, row) for name, row in rows.items()}
        return at

    def lyapunov(
        self, raw: At, held: Points, points: Points, when: str
    ) -> tuple[Sum, Points]:
        """Return V at a state, and the points at which it has values of f_i."""
        at, held = self.complete(raw, held), dict(held)
        fits = all(at[name] == x for name, x in raw.items())
        demand(fits, f"memories and invariants must hold {when}")
        for v, row in self.of["values"].items():
            w = combined(at, row)
            for i in self.clients:
                known = (p for (_, k), p in points.items() if k == i and p.x == w)
                held[v, i] = next(known, Point(w, f=unknown("f", v, when, i)))
        terms = [at[name] @ combined(at, row) for name, row in self.of["V"].items()]
        terms += [held[j, i].f * x for j, i, x in self.of["V_values"]]
        return total(terms), held

    def before(self) -> tuple[At, Points]:
        """Return any state that is possible, and its memories."""
        held = {
            (j, i): Point(*(unknown(part, j, i) for part in "xgf"))
            for j in self.of["memories"]
            for i in self.clients
        }
        free = {name: unknown(name) for name in self.of["free"]}
        return self.complete(free, held), held

    def after(self, at: At, who: list[int], points: Points) -> At:
        """Play a round of a cohort."""
        slots: Any = {s: [at[s]] for s in self.of["server_slots"]}
        for slot in self.of["client_slots"]:
            slots[slot] = [[at[name]] for name in self.split(slot)]
        return self.played(
            "call", lambda g: self.loop_play(slots, g, self.n, who), points
        )

    def moved(self, held: Points, who: list[int], points: Points) -> Points:
        """Return the memories after a round."""
        found = {}
        for j, i in held:
            memory = self.of["memories"][j]
            moves = memory["all"] or i in who
            found[j, i] = points[memory["call"], i] if moves else held[j, i]
        return found

    def begun(self, points: Points) -> tuple[At, Points]:
        """Play the start; a memory is at a known point, or where a gradient is 0."""
        x_0, held = [STAR + X_0], {}
        at = self.played("start", lambda g: self.loop_start(g, self.n, x_0), points)
        for j, memory in self.of["memories"].items():
            for i in self.clients:
                key, f = (memory["start"], i), unknown("f", memory["start"], i)
                zero = Point(unknown("x", *key), self.stars[i] * -1, f)
                demand(self.mu > 0 or key in points, "f_i may have no such point")
                held[j, i] = points.setdefault(key, zero)
        return at, held

    def used(self, part: Mapping[str, Any], points: Points, values: Points) -> Sum:
        """Return inequalities that all f_i obey, times weights."""
        terms = []
        for i, a, b, x in part["interpolation"]:
            above = points[a, i].above(points[b, i], self.mu, self.L)
            terms.append(above * weight(x))
        for i, v, b, x in part["lower"]:
            at_least = points[b, i].parabola(values[v, i].x, self.mu)
            terms.append((values[v, i].f - at_least) * weight(x))
        return total(terms)

    def bounds(self, part: Mapping[str, Any], points: Points, values: Points) -> Sum:
        """Return bounds of values of f_i, less the values, times weights."""
        terms = []
        for i, v, b, x in part["upper"]:
            at_most = points[b, i].parabola(values[v, i].x, self.L)
            terms.append((at_most - values[v, i].f) * weight(x))
        return total(terms)

    def round(self) -> tuple[Sum, Sum, At, Points, Points]:
        """Return V, at most the mean of V after a round, the state and all points."""
        at, held = self.before()
        points = {("x*", i): Point() for i in self.clients} | held
        chances = list(cohorts(self.of["law"], self.n))
        likely = min(p for p, _ in chances) > 0 and sum(p for p, _ in chances) == 1
        demand(likely, "the chances must be possible")
        rounds = [(p, who, self.after(at, who, points)) for p, who in chances]
        V, values = self.lyapunov(at, held, points, "before")
        terms = []
        for p, who, new in rounds:
            kept = self.moved(held, who, points)
            after, ends = self.lyapunov(new, kept, {}, f"after {who}")
            most = after + self.bounds(self.of["decrease"], points, ends)
            terms.append(most * p)
        return V, total(terms), at, points, values

    def prove(self) -> None:
        """Judge the three sums."""
        of, rho, s, c = self.of, self.of["rho"], self.of["s"], self.of["c"]
        demand(0 < self.mu < self.L and 0 < rho <= 1, "mu, L and rho must be in range")
        demand(s >= 0 and c >= 0 and (rho < 1 or s > 0), "s and c must be in range")
        spread = total(g @ g for g in self.stars) / self.n
        V, expected, at, points, values = self.round()
        away = (at["model"] - STAR) @ (at["model"] - STAR)
        left = V * rho - away * s + spread * c - expected
        not_negative("decrease", left - self.used(of["decrease"], points, values))
        least = V if s else V - away
        not_negative("size of V", least - self.used(of["positivity"], points, values))
        points = {("x*", i): Point() for i in self.clients}
        V, values = self.lyapunov(*self.begun(points), {}, "at the start")
        most = V + self.bounds(of["start"], points, values)
        start = X_0 @ X_0 * of["C1"] + spread * of["C2"] - most
        not_negative("start", start - self.used(of["start"], points, values))


def weight(x: Any) -> Fraction:
    demand(isinstance(x, Fraction) and x >= 0, "weights must not be negative")
    return Fraction(x)

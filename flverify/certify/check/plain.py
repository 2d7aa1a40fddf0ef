"""A second checker, for few clients: short enough to be read before it is trusted.

It writes out every client and every cohort, and so needs no argument about clients that
are alike.  It shares one exception with `check`, which alone judges words and digest.

Gradients of f_i are measured from g*_i, that at the minimiser x* of mean f_i, and f_i
from its tangent at x*.  A loop is linear, so it can be played on sums of unknown
vectors, with a new one for every new gradient.  Three sums of inner products and of f_i
must then not be negative.  Inequalities that all f_i obey are taken away, times
weights: what is left must hold no f_i, and be a positive semidefinite form in all
unknown vectors, x* and g*_i among them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import comb, prod
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

from flverify.reference import fedavg, focus, gradient_descent, proxskip, scaffold

from ._json import Rejected

LOOPS = {"fedavg": fedavg, "focus": focus, "gradient_descent": gradient_descent}
LOOPS |= {"proxskip": proxskip, "scaffold": scaffold}
MOST_CLIENTS, MOST_CALLS = 6, 20
WHOLE = {"version", "calls", "n_clients", "cohort_size", "clients", "local_steps"}
ROWS = {"multipliers", "upper", "lower"}  # of classes, values, points and a weight
State: TypeAlias = dict[str, list[Any]]  # of the server one entry, of the clients N
Points: TypeAlias = dict[tuple[str, int], "Point"]  # by name and client


class TooManyError(Rejected):
    """There is too much to be written out; nothing was judged."""


def _require(holds: bool, reason: str, error: type[Rejected] = Rejected) -> None:
    if not holds:
        raise error(reason)


def _exact(value: Any, key: str = "") -> Any:
    """Return JSON with its numbers as fractions and its objects as namespaces."""
    if isinstance(value, dict):
        return SimpleNamespace(**{k: _exact(entry, k) for k, entry in value.items()})
    if type(value) is list:
        return [_exact(entry, key) for entry in value]
    if key in WHOLE or (key in ROWS and type(value) is int):
        _require(type(value) is int and value >= 0, f"{key} must be a whole number")
        return value
    text = type(value) is str and value != ""
    _require(value is None or text, f"{key or 'it'} must not be {value!r:.60}")
    number = text and re.fullmatch("-?[0-9]{1,250}(/[0-9]{1,250})?", value)
    return Fraction(value) if number else value


class Vector(dict[Any, Fraction]):
    """A sum of unknown vectors, or of their products and values of f_i; no zeros."""

    def __add__(self, other: Any) -> Vector:
        return _total([self, other or NOTHING])  # loops add the number 0

    def __sub__(self, other: Any) -> Vector:
        return _total([self, (other or NOTHING) * -1])

    def __mul__(self, factor: Any) -> Vector:
        _require(isinstance(factor, int | Fraction), "only numbers multiply vectors")
        return Vector({key: x * factor for key, x in self.items() if factor})

    def __truediv__(self, divisor: Any) -> Vector:
        return self.__mul__(Fraction(1) / divisor)

    def __matmul__(self, other: Vector) -> Vector:  # the inner product
        return Vector({(u, v): self[u] * other[v] for u, v in product(self, other)})

    __radd__, __rmul__ = __add__, __mul__


def _total(vectors: Iterable[Vector]) -> Vector:
    sums: dict[Any, Fraction] = {}
    for key, x in (term for vector in vectors for term in vector.items()):
        sums[key] = sums[key] + x if key in sums else x
    return Vector({key: x for key, x in sums.items() if x})


def _mean(vectors: list[Vector]) -> Vector:
    return _total(vectors) / len(vectors)


def _quadratic(rows: list[list[Fraction]], v: list[Vector]) -> Vector:
    """Return sum_ab rows_ab <v_a, v_b>."""
    _require(rows == [*map(list, zip(*rows, strict=True))], "V must be symmetric")
    images = [_total(map(Vector.__mul__, v, row)) for row in rows]
    return _total(a @ b for a, b in zip(v, images, strict=True))


def _unknown(*label: Any) -> Vector:
    return Vector({label: Fraction(1)})


NOTHING, X_STAR, X_0 = Vector(), _unknown("x*"), _unknown("x_0 - x*")


class Point(NamedTuple):
    """A point of client i, the gradient and the value of f_i there; by default x*."""

    x: Vector = X_STAR
    g: Vector = NOTHING
    f: Vector = NOTHING

    def tangent(self, x: Vector, bend: Fraction) -> Vector:
        """Return f + <g, x - self> + (bend/2) |x - self|^2.

        With mu for `bend` this is at most f_i(x), with L at least f_i(x).
        """
        return self.f + (self.g + (x - self.x) * (bend / 2)) @ (x - self.x)

    def above(self, b: Point, mu: Fraction, L: Fraction) -> Vector:
        """Return f - tangent_b - |g - g_b - mu (x - x_b)|^2/2(L - mu).

        It is not negative, for f_i - (mu/2) |x|^2 is convex and (L - mu)-smooth.
        """
        gap = self.g - b.g - (self.x - b.x) * mu
        return self.f - b.tangent(self.x, mu) - gap @ gap / (2 * (L - mu))


def _new(name: str, i: int) -> Point:
    return Point(*(_unknown(part, name, i) for part in "xgf"))


def _judge(name: str, form: Vector) -> None:
    """Reject unless no f_i is left and the quadratic form is positive semidefinite."""
    _require(all(len(key) == 2 for key in form), f"{name}: every f_i must cancel")
    entries, labels = defaultdict(Fraction, form), {v: 0 for pair in form for v in pair}
    rows = [[entries[u, v] + entries[v, u] for v in labels] for u in labels]
    while rows:  # a positive pivot or a row of zeros, and on to the Schur complement
        (pivot, *top), *rest = rows
        fits = pivot > 0 or not (pivot or any(top))
        _require(fits, f"{name}: the matrix must be positive semidefinite")
        steps = [(row, first / (pivot or 1)) for first, *row in rest]
        rows = [[x - c * y for x, y in zip(row, top, strict=True)] for row, c in steps]


def _drawn(law: Any) -> tuple[list[range], dict[tuple[int, ...], Fraction]]:
    """Return the clients of every class, and all possible cohorts with their chance."""
    classes = law.classes if law.kind == "bernoulli" else []
    sizes = [q.clients for q in classes] or [law.n_clients]
    n = sum(sizes)
    few = f"at most {MOST_CLIENTS} clients are written out one by one; got {n}"
    _require(n <= MOST_CLIENTS, few, TooManyError)
    groups = [range(sum(sizes[:q]), sum(sizes[: q + 1])) for q in range(len(sizes))]
    cohorts = [s for m in range(n + 1) for s in combinations(range(n), m)]
    chances: list[Fraction]
    if law.kind == "bernoulli":
        p = [q.inclusion for q in classes for _ in range(q.clients)]
        factors = ((p[i] if i in s else 1 - p[i] for i in range(n)) for s in cohorts)
        chances = [prod(each, start=Fraction(1)) for each in factors]
    elif law.kind == "all_or_nothing":
        either = {n: law.probability, 0: 1 - law.probability}
        chances = [either.get(len(s), Fraction(0)) for s in cohorts]
    else:
        m = {"full": n, "uniform_cohort": vars(law).get("cohort_size")}[law.kind]
        chances = [Fraction(len(s) == m, comb(n, m)) for s in cohorts]
    found = {s: p for s, p in zip(cohorts, chances, strict=True) if p}
    fits = min(chances) >= 0 and sum(chances) == 1 and min(sizes) > 0
    _require(fits and {*range(n)} == {*sum(found, ())}, "the law must be possible")
    return groups, found


class Proof:
    """A certificate, and what its loop does to unknown vectors."""

    def __init__(self, c: Any) -> None:
        self.c, self.relations = c, vars(c.eliminated)
        self.mu, self.L = c.function_class.strong_convexity, c.function_class.smoothness
        self.groups, self.chances = _drawn(c.law)
        self.everyone = [i for group in self.groups for i in group]
        free = [_unknown("g*", i) for i in self.everyone]
        self.stars = [star - _mean(free) for star in free]  # any that add to zero
        few = f"at most {MOST_CALLS} gradients a client are written out; got {c.calls}"
        _require(c.calls <= MOST_CALLS, few, TooManyError)
        loop, play = LOOPS[c.algorithm.name], vars(c.algorithm.settings)
        start = {key: play.pop(key) for key in [*play] if key.startswith("initial")}
        self.start, self.play = partial(loop.start, **start), partial(loop.play, **play)
        begun = self.start(lambda *_: [NOTHING], len(free), [NOTHING])
        _require(begun.keys() == vars(c.equilibrium).keys(), "other slots are meant")
        self.stacks = [slot for slot in begun if isinstance(begun[slot][0], list)]
        self.lifted = [m.slot for m in c.memories]
        self.ghosts: list[Any] = []  # name, slot, call and weight of each
        for m in c.memories:
            for k, weight in zip(m.calls, m.weights, strict=True):
                _require(weight == 0 or m.slot is not None, "no slot, no weight")
                self.ghosts.append((f"ghost:{len(self.ghosts)}", m.slot, k, weight))
        self.slots = [slot for slot in self.stacks if slot not in self.lifted]
        parts = product([j for j, *_ in self.ghosts], (".point", ".gradient"))
        self.own = [*self.slots, *map("".join, parts)]
        self.kept = [s for s in begun if s not in {*self.stacks, *self.relations}]
        self.rest = self.resting()

    def resting(self) -> State:
        """Return where all slots rest, alpha x* + beta g*_i, and the ghosts, at x*."""
        at: State = {j: [Point() for _ in self.everyone] for j, *_ in self.ghosts}
        for slot, (alpha, beta) in vars(self.c.equilibrium).items():
            stars = self.stars if slot in self.stacks else [NOTHING]
            at[slot] = [X_STAR * alpha + star * beta for star in stars]
            _require(slot in self.stacks or beta == 0, "the server does not know g*_i")
        return self.completed(at, {}, "at rest")

    def combination(self, at: State, row: Any) -> Vector:
        """Return a combination of server slots and of means over all clients."""
        return _total(_mean(at[name]) * x for name, x in vars(row).items())

    def rebuilt(self, at: State) -> State:
        """Return a state with its memories and relations made from all else."""
        at = dict(at)
        for slot in {*self.lifted} - {None}:
            held = [(at[j], w) for j, other, _, w in self.ghosts if other == slot]
            at[slot] = [
                _total((points[i].g + star) * w for points, w in held)
                for i, star in enumerate(self.stars)
            ]
        for slot, row in self.relations.items():
            old, due = at.get(slot, [NOTHING]), self.combination(at, row)
            at[slot] = [x - _mean(old) + due for x in old]
        return at

    def completed(self, at: State, points: Points, when: Any) -> State:
        """Add the parts of ghosts and the value terms; reject what is not as stated."""
        _require(self.rebuilt(at) == at, f"memories and relations must hold {when}")
        for j, *_ in self.ghosts:
            at[f"{j}.point"] = [point.x for point in at[j]]
            at[f"{j}.gradient"] = [point.g for point in at[j]]
        for v, value in enumerate(self.c.values):
            w, at[f"value:{v}"] = self.combination(at, value.point), []
            _require(when != "at rest" or w == X_STAR, "a value must rest at x*")
            for i in self.everyone:  # at a point that is known, the value is too
                known = [p.f for (_, j), p in points.items() if i == j and p.x == w]
                f = [*known, _unknown("f", (v, when), i)][0]
                at[f"value:{v}"].append(Point(w, NOTHING, f))
        return at

    def played(self, call: str, loop: Any, last: Any) -> tuple[State, Points]:
        """Play a loop; return its slots, and the points where it takes gradients."""
        points: Points = {}

        def gradient(i: int, at: list[Any]) -> list[Vector]:
            x, asked = NOTHING + at[0], [p.x for (_, j), p in points.items() if i == j]
            _require(len(asked) <= self.c.calls, "more gradients are taken than stated")
            name = f"{call}:{[*asked, x].index(x)}"
            points[name, i] = _new(name, i)._replace(x=x)
            return [points[name, i].g + self.stars[i]]

        raw = loop(gradient, len(self.stars), last)
        rows = {s: [x for [x] in raw[s]] if s in self.stacks else raw[s] for s in raw}
        return {slot: [NOTHING + x for x in rows[slot]] for slot in rows}, points

    def started(self) -> tuple[State, Points]:
        """Return the start and its points; memories hold zero or the first gradient."""
        at, points = self.played("start_call", self.start, [X_STAR + X_0])
        points |= {("star", i): Point() for i in self.everyone}
        for j, slot, *_ in self.ghosts:
            name = f"start_ghost:{self.lifted.index(slot)}"  # the gradient is zero
            if slot is None or any(at[slot]):
                name = "star" if slot is None else "start_call:0"
            zeros = [_new(name, i)._replace(g=g * -1) for i, g in enumerate(self.stars)]
            at[j] = [points.setdefault((name, i), p) for i, p in enumerate(zeros)]
        return self.completed(at, {}, "at the start"), points

    def round(self) -> tuple[State, list[tuple[Fraction, State]], Points]:
        """Return any state, those a round later with their chances, and all points."""
        at: State = {slot: [_unknown(slot)] for slot in self.kept}
        at |= {slot: [_unknown(slot, i) for i in self.everyone] for slot in self.slots}
        at |= {j: [_new(j, i) for i in self.everyone] for j, *_ in self.ghosts}
        points = {("star", i): Point() for i in self.everyone}
        points |= {(j, i): at[j][i] for j, *_ in self.ghosts for i in self.everyone}
        before, after = self.rebuilt(at), {}
        raw = before | {slot: [[x] for x in before[slot]] for slot in self.stacks}
        for s in self.chances:
            after[s], new = self.played("call", partial(self.play, raw), s)
            fixed = all(points.setdefault(key, p) == p for key, p in new.items())
            taken = all(sum(j == i for _, j in new) == self.c.calls for i in s)
            _require(fixed and taken, "a participant must take its gradients as stated")
        for s, at in after.items():
            for j, slot, k, _ in self.ghosts:
                moved = [slot is None or i in s for i in self.everyone]
                names = [f"call:{k}" if anew else j for anew in moved]
                at[j] = [points[name, i] for i, name in enumerate(names)]
            self.completed(at, {}, f"after {s}")
        drawn = [(p, after[s]) for s, p in self.chances.items()]
        return self.completed(before, points, "before"), drawn, points

    def lyapunov(self, at: State) -> Vector:
        """Return V = u'T u + (1/N) sum_i d_i'S d_i + values of f_i, from rest."""
        minus, names = Vector.__sub__, [*self.kept, *self.own]
        away = {name: [*map(minus, at[name], self.rest[name])] for name in names}
        u, terms = [away[slot][0] for slot in self.kept], []
        blocks = zip(self.groups, self.c.V.classes, self.c.ghost_values, strict=True)
        for group, S, values in blocks:
            middle = {name: _mean([away[name][i] for i in group]) for name in self.own}
            u += [middle[name] for name in self.own if name not in self.relations]
            for i in group:
                d = [away[name][i] - m for name, m in middle.items() if len(group) > 1]
                pairs = zip(self.ghosts, values, strict=True)
                terms += [_quadratic(S, d), *(at[j][i].f * x for (j, *_), x in pairs)]
        for v, value in enumerate(self.c.values):
            terms += [end.f * value.delta for end in at[f"value:{v}"]]
        return _quadratic(self.c.V.mean, u) + _total(terms) / len(self.stars)

    def used(self, part: Any, points: Points, before: State, after: Any) -> Vector:
        """Return the mean of inequalities of the f_i, times weights not negative."""
        lower, upper = vars(part).get("lower", []), vars(part).get("upper", [])
        for *index, x in [*part.multipliers, *lower, *upper]:
            fits = type(x) is Fraction and x >= 0 and Fraction not in map(type, index)
            _require(fits, "a weight must be a number that is not negative")
        mu, L, groups, terms = self.mu, self.L, self.groups, []
        for q, a, b, x in part.multipliers:
            terms += [points[a, i].above(points[b, i], mu, L) * x for i in groups[q]]
        for v, q, b, x in lower:
            ends = [(points[b, i], before[f"value:{v}"][i]) for i in groups[q]]
            terms += [(end.f - b.tangent(end.x, mu)) * x for b, end in ends]
        for (v, q, b, x), (p, at) in product(upper, after):
            ends = [(points[b, i], at[f"value:{v}"][i]) for i in groups[q]]
            terms += [(b.tangent(end.x, L) - end.f) * (x * p) for b, end in ends]
        return _total(terms) / len(self.stars)

    def conditions(self) -> Iterator[tuple[str, Vector]]:
        """Yield the three sums that must not be negative."""
        c, near, zero = self.c, self.c.neighbourhood, Fraction(0)
        kind = "rate" if near is None else "neighbourhood"
        s, k = (zero, zero) if near is None else (near.weight, near.constant)
        known = (c.format, c.version, c.kind) == ("flverify/certificate", 1, kind)
        _require(known, "the format, version and kind must be known")
        ordered = 0 < self.mu < self.L and 0 < c.rho <= 1 and s >= 0 and k >= 0
        _require(ordered and (c.rho < 1 or s > 0), "the constants are out of range")
        before, after, points = self.round()
        V, x = self.lyapunov(before), before["model"][0] - X_STAR
        spread = _mean([g @ g for g in self.stars])
        expected = _total(self.lyapunov(at) * p for p, at in after)
        decrease = V * c.rho - x @ x * s + spread * k - expected
        yield "decrease", decrease - self.used(c.decrease, points, before, after)
        positivity = V if s else V - x @ x
        yield "positivity", positivity - self.used(c.positivity, points, before, [])
        begun, points = self.started()
        start = X_0 @ X_0 * c.start.C1 + spread * c.start.C2 - self.lyapunov(begun)
        yield "start", start - self.used(c.start, points, begun, [(1, begun)])


def check_plainly(certificate: Any) -> Fraction:
    """Return the rho that a certificate for few clients proves.

    Definition: the three conditions are E V+ <= rho V - s |x - x*|^2 + c mean|g*_i|^2,
    V >= |x - x*|^2 (or 0, if s is not 0) and V_0 <= C1 |x_0 - x*|^2 + C2 mean|g*_i|^2.
    Here s and c are those of a neighbourhood, and 0 for a rate.

    Raises
    ------
    TooManyError
        If there are more than 6 clients, or more than 20 gradients of each in a round.
    Rejected
        If a condition does not hold, or the certificate is malformed.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.certify.rates import certify
    >>> from flverify.participation import Bernoulli
    >>> found = certify(Focus("1/5"), Bernoulli(["1/2", "1/2"]), "1/10", 1)
    >>> float(check_plainly(found.certificate))
    0.918115
    """
    # what is read is what is used, so whatever is malformed ends in one of these
    malformed = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
    try:
        proof = Proof(_exact(certificate))
        for name, form in proof.conditions():
            _judge(name, form)
    except (*malformed, RecursionError) as error:
        raise Rejected(f"the certificate holds what cannot be read: {error}") from error
    return Fraction(proof.c.rho)

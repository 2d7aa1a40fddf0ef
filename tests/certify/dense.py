"""A second judge of certificates: every client written out, every outcome listed.

It reads the algorithm's own round on given cohorts (not the plain loops the checker
runs), keeps all N clients (no mean and deviation, no representatives), and judges
definiteness by the signs of characteristic polynomials. Only for a few clients.

Vectors are dictionaries from names of unknown vectors to rational coefficients, without
zeros; so equal dictionaries are equal vectors.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from itertools import combinations, pairwise
from math import comb, lcm

import numpy as np
from flint import fmpq, fmpz_mat

from flverify.algorithms import (
    FedAvg,
    FedDyn,
    FedProx,
    FedVarp,
    Focus,
    GradientDescent,
    Mifa,
    ProxSkip,
    Scaffold,
)
from flverify.algorithms._algorithm import Server
from flverify.engines.enumerate import ListedCohort, Rows

ALGORITHMS = {
    "focus": Focus,
    "fedavg": FedAvg,
    "feddyn": FedDyn,
    "fedprox": FedProx,
    "fedvarp": FedVarp,
    "mifa": Mifa,
    "scaffold": Scaffold,
    "proxskip": ProxSkip,
    "gradient_descent": GradientDescent,
}
EXACT = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
START_CALLS = 2  # gradients a start may ask for
MEANS = {"mean": "table"}  # what a round keeps, and a plain loop computes


class UnprovenError(Exception):
    """A condition of the certificate does not hold."""


def need(holds, what):
    if not holds:
        raise UnprovenError(what)


def spared(slots, c):
    """Add the means that the plain loops do without to what a certificate says."""
    rest, sums = dict(c["equilibrium"]), dict(c["eliminated"])
    for slot in set(slots) - set(rest):
        rest[slot], sums[slot] = ["0", "0"], {MEANS[slot]: "1"}
    return rest, sums


def exact(value):
    """Return an int or a Fraction as flint's rational."""
    return fmpq(value.numerator, value.denominator)


def number(text):
    need(isinstance(text, str) and EXACT.fullmatch(text), f"{text!r} is no number")
    top, _, bottom = text.partition("/")
    need(not bottom or int(bottom), f"{text!r} divides by zero")
    return fmpq(int(top), int(bottom or 1))


# ------------------------------------------------------------------- vectors


def combined(*terms):
    """Sum of coefficient times vector."""
    out = defaultdict(fmpq)
    for coefficient, vector in terms:
        for name, value in vector.items():
            out[name] += coefficient * value
    return {name: value for name, value in out.items() if value}


def unit(*name):
    return {name: fmpq(1)}


def mean(vectors):
    return combined(*((fmpq(1, len(vectors)), v) for v in vectors))


def minus(a, b):
    return combined((1, a), (-1, b))


def stars(n, *, shown=True):
    """Gradients g*_i at the minimiser; they add up to zero."""
    if not shown:
        return [{}] * n
    free = [unit("star", i) for i in range(n - 1)]
    return [*free, combined(*((-1, s) for s in free))]


# ------------------------------------------------------------- definiteness


def sign_counts(matrix):
    """Numbers of negative, zero and positive eigenvalues of a symmetric matrix.

    All roots of its characteristic polynomial are real, so Descartes' rule is exact:
    sign changes of p(t) count the positive roots, those of p(-t) the negative ones.
    """
    size = len(matrix)
    if not size:
        return 0, 0, 0
    scale = lcm(*(int(x.denominator) for row in matrix for x in row))
    whole = [[int((scale * x).numerator) for x in row] for row in matrix]
    coefficients = [int(x) for x in fmpz_mat(whole).charpoly().coeffs()]
    flipped = [-x if k % 2 else x for k, x in enumerate(coefficients)]
    below, above = _changes(flipped), _changes(coefficients)
    return below, size - below - above, above


def _changes(coefficients):
    signs = [x > 0 for x in coefficients if x]
    return sum(a != b for a, b in pairwise(signs))


class Condition:
    """A quadratic form in the unknown vectors and the values that must cancel."""

    def __init__(self, mu, smooth):
        self.mu, self.smooth = mu, smooth
        self.form = defaultdict(fmpq)
        self.values = defaultdict(fmpq)
        self.complaints = []

    def inner(self, a, b, weight):
        """Add weight <a, b>."""
        for left, x in a.items():
            for right, y in b.items():
                self.form[left, right] += weight * x * y

    def square(self, a, weight):
        self.inner(a, a, weight)

    def value(self, i, name, weight):
        """Add weight f_i at a point; f_i is 0 at x*."""
        if name != "star":
            self.values[i, name] += weight

    def interpolation(self, i, above, below, known, weight):
        """Subtract weight times f_a - f_b - <g_b, x_a - x_b> - ... >= 0."""
        (xa, ga), (xb, gb) = known[above], known[below]
        dx, dg = minus(xa, xb), minus(ga, gb)
        half = weight / (2 * (1 - self.mu / self.smooth))
        self.inner(gb, dx, weight)
        self.square(dg, half / self.smooth)
        self.square(dx, half * self.mu)
        self.inner(dg, dx, -2 * half * self.mu / self.smooth)
        self.value(i, above, -weight)
        self.value(i, below, weight)

    def tangent(self, i, name, known, point, curvature, weight):
        """Add weight (f_b + <g_b, point - b> + (curvature/2) |point - b|^2)."""
        x, g = known[name]
        gap = minus(point, x)
        self.inner(g, gap, weight)
        self.square(gap, weight * curvature / 2)
        self.value(i, name, weight)

    def complain(self, holds, what):
        if not holds:
            self.complaints.append(what)

    def matrix(self, names=None):
        """Return the symmetric matrix over all names that occur, or those given."""
        names = names or sorted({n for pair in self.form for n in pair}, key=repr)
        half = fmpq(1, 2)
        return [
            [half * (self.form[a, b] + self.form[b, a]) for b in names] for a in names
        ]

    def judge(self, stage):
        need(not self.complaints, f"{stage}: {self.complaints[:1]}")
        for key, value in self.values.items():
            need(not value, f"{stage}: the value {key} does not cancel")
        need(not sign_counts(self.matrix())[0], f"{stage}: not semidefinite")


# ---------------------------------------------------------------------- laws


def outcomes(law):
    """Probability of every possible cohort, and the class of every client."""
    if law["kind"] == "bernoulli":
        return _independent(law["classes"])
    n = law["n_clients"]
    need(type(n) is int and n > 0, "clients")
    everybody, nobody = frozenset(range(n)), frozenset()
    if law["kind"] == "full":
        return {everybody: fmpq(1)}, [0] * n
    if law["kind"] == "all_or_nothing":
        p = number(law["probability"])
        need(0 < p <= 1, "probability")
        return {everybody: p, nobody: 1 - p} if p < 1 else {everybody: p}, [0] * n
    need(law["kind"] == "uniform_cohort", "kind of law")
    m = law["cohort_size"]
    need(type(m) is int and 0 < m <= n, "cohort size")
    cohorts = combinations(range(n), m)
    return {frozenset(s): fmpq(1, comb(n, m)) for s in cohorts}, [0] * n


def _independent(classes):
    of_class, sets = [], {frozenset(): fmpq(1)}
    for r, entry in enumerate(classes):
        p, clients = number(entry["inclusion"]), entry["clients"]
        need(type(clients) is int and clients > 0 and 0 < p <= 1, "a class")
        for _ in range(clients):
            i = len(of_class)
            of_class.append(r)
            inside = {s | {i}: p * chance for s, chance in sets.items()}
            outside = {s: (1 - p) * chance for s, chance in sets.items() if p < 1}
            sets = outside | inside
    return sets, of_class


# -------------------------------------------------------------------- rounds


class Tape:
    """Prescribed gradients: a vector per client for every new stack of points."""

    def __init__(self, answers):
        self.answers, self.points = answers, []

    def gradient(self, points):
        for k, known in enumerate(self.points):
            if (known == points.values).all():
                return Rows(self.answers[k], exact)
        need(len(self.points) < len(self.answers), "more gradients than prescribed")
        self.points.append(points.values)
        return Rows(self.answers[len(self.points) - 1], exact)


class Player:
    """Runs an algorithm's init and round on vectors."""

    def __init__(self, algorithm, n):
        self.algorithm, self.n = algorithm, n
        self.slots = algorithm.slots()

    def start(self, origin, answers):
        names = _names([origin], answers)
        begun = self.algorithm.init(
            Rows(np.array([_row(origin, names)], dtype=object), exact),
            ListedCohort(frozenset(), self.n, exact),
            tape := self._tape(answers, names),
        )
        return self._read(begun, names), self._points(tape, names)

    def round(self, slots, members, answers):
        flat = [v if isinstance(v, list) else [v] for v in slots.values()]
        names = _names(*flat, answers)
        state = {}
        for slot, kind in self.slots.items():
            one = kind is Server
            rows = [_row(v, names) for v in ([slots[slot]] if one else slots[slot])]
            values = np.array(rows, dtype=object)
            state[slot] = Rows(values if one else values[:, None, :], exact)
        tape = self._tape(answers, names)
        cohort = ListedCohort(members, self.n, exact)
        after = self.algorithm.round(self.algorithm.State(**state), cohort, tape)
        return self._read(after, names), self._points(tape, names)

    def _tape(self, answers, names):
        stacks = [[[_row(g, names)] for g in clients] for clients in answers]
        return Tape([np.array(stack, dtype=object) for stack in stacks])

    def _read(self, state, names):
        out = {}
        for slot, kind in self.slots.items():
            values = getattr(state, slot).values
            clients = None if kind is Server else [_vector(v[0], names) for v in values]
            out[slot] = _vector(values[0], names) if clients is None else clients
        return out

    def _points(self, tape, names):
        return [[_vector(p[0], names) for p in stack] for stack in tape.points]


def _names(*groups):
    flat = [v for group in groups for v in group]
    flat = [v for part in flat for v in (part if isinstance(part, list) else [part])]
    return list(dict.fromkeys(name for vector in flat for name in vector))


def _row(vector, names):
    return [vector.get(name, fmpq(0)) for name in names]


def _vector(row, names):
    return {name: value for name, value in zip(names, row, strict=True) if value}


# --------------------------------------------------------------------- judge


class Judge:
    """The conditions of one certificate."""

    def __init__(self, c):
        self.c = c
        self.mu = number(c["function_class"]["strong_convexity"])
        self.smooth = number(c["function_class"]["smoothness"])
        self.sets, self.of_class = outcomes(c["law"])
        self.n = len(self.of_class)
        self.classes = range(self.of_class[-1] + 1)
        entry = c["algorithm"]
        algorithm = ALGORITHMS[entry["name"]](**entry["settings"])
        self.player = Player(algorithm, self.n)
        self.slots = self.player.slots
        self.rho = number(c["rho"])
        self._read_constants()
        rest, sums = spared(self.slots, c)
        self.rest = {s: [number(v) for v in rest[s]] for s in self.slots}
        self.eliminated = {
            slot: {name: number(v) for name, v in parts.items()}
            for slot, parts in sums.items()
        }
        self.memories = [
            (m["slot"], m["calls"], [number(w) for w in m["weights"]])
            for m in c["memories"]
        ]
        self._require_ranges()
        self._name_coordinates()
        self._read_lyapunov()
        # g* is part of the equilibrium of a rate, and a given family of a neighbourhood
        self.stars = stars(self.n, shown=self.beside)

    def _read_constants(self):
        self.beside = self.c["kind"] == "neighbourhood"
        nothing = {"weight": "0", "constant": "0"}
        beside = self.c["neighbourhood"] if self.beside else nothing
        self.weight, self.constant = (number(beside[k]) for k in ("weight", "constant"))
        need(self.mu > 0, "0 < mu")

    def _require_ranges(self):
        need(sum(self.sets.values()) == 1, "probabilities")
        need(self.mu < self.smooth, "mu < L")
        need(self.weight >= 0 and self.constant >= 0, "signs of s and c")
        need(0 < self.rho <= 1, "rho")
        need(self.rho < 1 or self.weight > 0, "rho")
        for slot, calls, weights in self.memories:
            need(len(calls) == len(weights), "weights of a memory")
            held = [0, sum(weights, fmpq(0))]
            if slot is None:  # V's own memory, of no slot
                need(not any(weights), "weights without a slot")
            else:
                need(self.rest[slot] == held, "rest of a memory")
            need(all(k in range(self.c["calls"]) for k in calls), "calls of a memory")
        lifted = [slot for slot, *_ in self.memories]
        need(len(set(lifted)) == len(lifted), "a memory twice")
        need(self.rest["model"] == [1, 0], "rest of the model")
        may = set(self.slots) - {slot for slot, *_ in self.memories}
        need(set(self.eliminated) <= may, "eliminated")
        for slot, parts in self.eliminated.items():
            alone = self.slots[slot] is Server or len(self.classes) == 1
            need(alone, "an eliminated mean of several classes")
            need(not set(parts) & set(self.eliminated), "eliminated by another")

    def _name_coordinates(self):
        kept = [s for s in self.slots if s not in [m[0] for m in self.memories]]
        self.server = [
            s for s in kept if self.slots[s] is Server and s not in self.eliminated
        ]
        self.ghosts = [k for _, calls, _ in self.memories for k in calls]
        self.plain = [s for s in kept if self.slots[s] is not Server]
        parts = [(f"ghost:{j}.point", f"ghost:{j}.gradient") for j in self._every()]
        self.client = [*self.plain, *(name for pair in parts for name in pair)]
        self.averaged = [name for name in self.client if name not in self.eliminated]

    def _every(self):
        return range(len(self.ghosts))

    def _read_lyapunov(self):
        size = len(self.server) + len(self.classes) * len(self.averaged)
        self.T = _matrix(self.c["V"]["mean"], size)
        blocks = self.c["V"]["classes"]
        need(len(blocks) == len(self.classes), "classes of V")
        self.S = [
            _matrix(block, len(self.client) if len(self.members(r)) > 1 else 0)
            for r, block in enumerate(blocks)
        ]
        self.ghost_values = [[number(v) for v in r] for r in self.c["ghost_values"]]
        sizes = [len(row) for row in self.ghost_values]
        need(sizes == [len(self.ghosts)] * len(self.classes), "values of ghosts")

    def members(self, r):
        return [i for i in range(self.n) if self.of_class[i] == r]

    # -- states ---------------------------------------------------------------

    @cached_property
    def before(self):
        """Deviations of a state: server coordinates, and client ones per client."""
        server = {s: unit("server", s) for s in self.server}
        client = {
            name: [unit("client", name, i) for i in range(self.n)]
            for name in self.client
        }
        self._add_memories(client)
        for name in set(self.eliminated) & set(self.client):
            # the last client's follows from the mean
            whole = self.combination(self.eliminated[name], server, client)
            rest = [(-1, v) for v in client[name][:-1]]
            client[name][-1] = combined((self.n, whole), *rest)
        return server, client

    def _add_memories(self, client):
        """Write the memory slots as combinations of their ghosts' gradients."""
        for slot, names, _, weights in self.remembered():
            if slot is None:
                continue
            gradients = [client[f"{name}.gradient"] for name in names]
            client[slot] = [
                combined(*zip(weights, own, strict=True))
                for own in zip(*gradients, strict=True)
            ]

    @cached_property
    def actual(self):
        """All slots of the algorithm before the round, as it is run."""
        server, client = self.before
        out = {s: client[s] for s, kind in self.slots.items() if kind is not Server}
        out |= server
        for slot in set(self.slots) - set(out):
            out[slot] = self.combination(self.eliminated[slot], server, client)
        return {slot: self.moved(slot, value, 1) for slot, value in out.items()}

    def moved(self, slot, value, sign):
        """Add (or take away) the part in g*_i of a client slot's equilibrium."""
        if self.slots[slot] is Server:
            return value
        beta = sign * self.rest[slot][1]
        pairs = zip(value, self.stars, strict=True)
        return [combined((1, v), (beta, star)) for v, star in pairs]

    def remembered(self):
        """Every memory's slot, ghosts, calls and weights."""
        names, out = iter(f"ghost:{j}" for j in range(len(self.ghosts))), []
        for slot, calls, weights in self.memories:
            out.append((slot, [next(names) for _ in calls], calls, weights))
        return out

    def combination(self, parts, server, client):
        """Combine server slots and means over all clients."""
        terms = []
        for name, value in parts.items():
            one = self.slots.get(name) is Server
            terms.append((value, server[name] if one else mean(client[name])))
        return combined(*terms)

    def known(self, client, i):
        """Points whose gradients a client's state holds, from x* and from g*_i."""
        ghosts = [f"ghost:{j}" for j in range(len(self.ghosts))]
        held = {
            g: (client[f"{g}.point"][i], client[f"{g}.gradient"][i]) for g in ghosts
        }
        return {"star": ({}, {}), **held}

    # -- V --------------------------------------------------------------------

    def lyapunov(self, condition, weight, server, client):
        """Add weight times u'Tu + (1/N) sum d'Sd."""
        middle = {
            (r, name): mean([client[name][i] for i in self.members(r)])
            for r in self.classes
            for name in self.client
        }
        u = [server[s] for s in self.server]
        u += [middle[r, name] for r in self.classes for name in self.averaged]
        self._table(condition, weight, self.T, u)
        for r in self.classes:
            for i in self.members(r) if self.S[r] else ():
                d = [minus(client[c][i], middle[r, c]) for c in self.client]
                self._table(condition, weight / self.n, self.S[r], d)

    def _table(self, condition, weight, table, vectors):
        for row, a in zip(table, vectors, strict=True):
            condition.inner(a, combined(*zip(row, vectors, strict=True)), weight)

    def model(self, server, client):
        """Deviation of the model."""
        parts = self.eliminated.get("model", {"model": fmpq(1)})
        return self.combination(parts, server, client)

    def values(self):
        """Every value term's number, point and coefficient."""
        out = []
        for w, entry in enumerate(self.c["values"]):
            point = {name: number(v) for name, v in entry["point"].items()}
            need(set(point) <= {*self.server, *self.client}, "names in a value point")
            rest = {name: alpha for name, (alpha, _) in self.rest.items()}
            rest |= {f"ghost:{j}.point": 1 for j in range(len(self.ghosts))}
            at_rest = sum(v * rest.get(name, 0) for name, v in point.items())
            need(at_rest == 1, "a value point that is not x* at the equilibrium")
            delta = number(entry["delta"])
            need(delta >= 0, "sign of a value")
            out.append((w, point, delta))
        return out

    # -- conditions -------------------------------------------------------------

    def condition(self):
        return Condition(self.mu, self.smooth)

    def multipliers(self, condition, table, points):
        for r, above, below, text in table:
            need(r in self.classes, "class of a multiplier")
            condition.complain(number(text) >= 0, "sign of a multiplier")
            for i in self.members(r):
                share = number(text) / self.n
                condition.interpolation(i, above, below, points[i], share)

    def weights(self, condition, table, w, due):
        """Client, point and weight of the bounds of a value; they add up to `due`."""
        need(all(v in range(len(self.c["values"])) for v, *_ in table), "a bound")
        need(all(r in self.classes for _, r, *_ in table), "class of a bound")
        for r in self.classes:
            rows = [(b, number(t)) for v, q, b, t in table if (v, q) == (w, r)]
            total = sum((t for _, t in rows), fmpq(0))
            condition.complain(total == due, "total of weights")
            condition.complain(all(t >= 0 for _, t in rows), "sign of a weight")
            yield from ((i, b, t) for i in self.members(r) for b, t in rows)

    def below(self, condition, table, w, point, due, points):
        """Add due times the mean of f_i(point), bounded below."""
        for i, b, t in self.weights(condition, table, w, due):
            condition.tangent(i, b, points[i], point, self.mu, t / self.n)

    def above(self, condition, table, w, due, points, drawn):
        """Subtract due times the mean of E f_i(point), bounded above."""
        for i, b, t in self.weights(condition, table, w, due):
            for chance, point in drawn:
                share = -t * chance / self.n
                condition.tangent(i, b, points[i], point, self.smooth, share)

    def decrease(self):
        """rho V - s |x|^2 + c mean|g*|^2 - E V+, less what is known."""
        server, client = self.before
        condition, everyone = self.condition(), range(self.n)
        calls = [[unit("call", k, i) for i in everyone] for k in range(self.c["calls"])]
        answers = [
            [combined((1, g), (1, s)) for g, s in zip(row, self.stars, strict=True)]
            for row in calls
        ]
        runs = {s: self.player.round(self.actual, s, answers) for s in self.sets}
        asked = next(iter(runs.values()))[1]
        need(len(asked) == self.c["calls"], "number of calls")
        need(all(p == asked for _, p in runs.values()), "points depend on the draw")
        points = [self.known(client, i) for i in everyone]
        for k, row in enumerate(asked):
            for i in everyone:
                points[i][f"call:{k}"] = row[i], calls[k][i]
        news = {
            s: self.renewed(s, after, answers, points) for s, (after, _) in runs.items()
        }
        self.lyapunov(condition, self.rho, server, client)
        self.subtract_measured(condition, points)
        for star in self.stars:
            condition.square(star, self.constant / self.n)
        for s, chance in self.sets.items():
            self.lyapunov(condition, -chance, *news[s])
            self._new_ghost_values(condition, s, chance)
        self._old_ghost_values(condition, self.rho)
        for value in self.values():
            self._value_along(condition, value, points, news)
        self.multipliers(condition, self.c["decrease"]["multipliers"], points)
        return condition

    def subtract_measured(self, condition, _points):
        """Subtract s |x - x*|^2."""
        condition.square(self.model(*self.before), -self.weight)

    def _old_ghost_values(self, condition, weight):
        for i in range(self.n):
            for j, v in enumerate(self.ghost_values[self.of_class[i]]):
                condition.value(i, f"ghost:{j}", weight * v / self.n)

    def _new_ghost_values(self, condition, members, chance):
        always = [slot is None for slot, calls, _ in self.memories for _ in calls]
        for i in range(self.n):
            for j, v in enumerate(self.ghost_values[self.of_class[i]]):
                new = i in members or always[j]
                name = f"call:{self.ghosts[j]}" if new else f"ghost:{j}"
                condition.value(i, name, -chance * v / self.n)

    def _value_along(self, condition, value, points, news):
        """Add rho delta mean f_i(w) - delta E mean f_i(w+)."""
        w, point, delta = value
        here = self.combination(point, *self.before)
        table = self.c["decrease"]
        for k in range(self.c["calls"]):
            if all(points[i][f"call:{k}"][0] == here for i in range(self.n)):
                for i in range(self.n):
                    condition.value(i, f"call:{k}", self.rho * delta / self.n)
                bounded = any(v == w for v, *_ in table["lower"])
                condition.complain(not bounded, "a bound on a value that is known")
                break
        else:
            due = self.rho * delta
            self.below(condition, table["lower"], w, here, due, points)
        drawn = [
            (chance, self.combination(point, *news[s]))
            for s, chance in self.sets.items()
        ]
        self.above(condition, table["upper"], w, delta, points, drawn)

    def renewed(self, members, after, answers, points):
        """State after an outcome; memories and eliminations are verified."""
        new = {name: self.moved(name, after[name], -1) for name in self.plain}
        for slot, names, calls, weights in self.remembered():
            for i in range(self.n) if slot is not None else ():
                held = self.actual[slot][i]
                if i in members:
                    held = combined(
                        *(
                            (w, answers[k][i])
                            for k, w in zip(calls, weights, strict=True)
                        )
                    )
                need(after[slot][i] == held, f"{slot} is no such memory")
            for name, k in zip(names, calls, strict=True):
                pairs = [
                    points[i][f"call:{k}" if i in members or slot is None else name]
                    for i in range(self.n)
                ]
                new[f"{name}.point"] = [x for x, _ in pairs]
                new[f"{name}.gradient"] = [g for _, g in pairs]
        self._add_memories(new)
        server = {s: after[s] for s in self.slots if self.slots[s] is Server}
        self._require_relations(server, new)
        return {s: server[s] for s in self.server}, new

    def _require_relations(self, server, client):
        for slot, parts in self.eliminated.items():
            found = server[slot] if slot in server else mean(client[slot])
            wanted = self.combination(parts, server, client)
            need(found == wanted, f"{slot} is not what eliminates it")

    def positivity(self):
        """V - |x|^2, or V, less what is known."""
        server, client = self.before
        condition, table = self.condition(), self.c["positivity"]
        points = [self.known(client, i) for i in range(self.n)]
        self.lyapunov(condition, fmpq(1), server, client)
        self.subtract_bounded(condition, server, client)
        self._old_ghost_values(condition, fmpq(1))
        for w, point, delta in self.values():
            here = self.combination(point, server, client)
            self.below(condition, table["lower"], w, here, delta, points)
        self.multipliers(condition, table["multipliers"], points)
        return condition

    def subtract_bounded(self, condition, server, client):
        """Subtract what V bounds: |x|^2, where nothing else is measured."""
        if not self.weight:
            condition.square(self.model(server, client), fmpq(-1))

    def equilibrium(self):
        """Run rounds from the equilibrium; nothing may move, and all points are x*."""
        here, at_star = unit("x*"), stars(self.n, shown=not self.beside)
        slots = {}
        for slot, kind in self.slots.items():
            alpha, beta = self.rest[slot]
            need(kind is not Server or beta == 0, "g* at the server")
            rows = [combined((alpha, here), (beta, s)) for s in at_star]
            slots[slot] = combined((alpha, here)) if kind is Server else rows
        for members in self.sets:
            after, points = self.player.round(slots, members, [at_star])
            need(points == [[here] * self.n], "a gradient away from x*")
            for slot, value in slots.items():
                need(after[slot] == value, f"{slot} moves at the equilibrium")

    # -- start ------------------------------------------------------------------

    def start(self):
        """C1 |x_0|^2 + C2 mean|g*|^2 - V_0, less what is known."""
        at_star, everyone = stars(self.n), range(self.n)
        fresh = [[unit("call", k, i) for i in everyone] for k in range(START_CALLS)]
        answers = [
            [combined((1, g), (1, s)) for g, s in zip(row, at_star, strict=True)]
            for row in fresh
        ]
        origin = combined((1, unit("x*")), (1, unit("x0")))
        raw, asked = self.player.start(origin, answers)
        points = [{"star": ({}, {})} for _ in everyone]
        for k, row in enumerate(asked):
            for i in everyone:
                from_star = minus(row[i], unit("x*"))
                points[i][f"start_call:{k}"] = from_star, fresh[k][i]
        server, client = self._begun(raw, at_star)
        symbols = self._begun_ghosts(raw, answers, points, at_star, client)
        self._add_memories(client)
        self._require_relations(server, client)
        condition, table = self.condition(), self.c["start"]
        C1, C2 = number(table["C1"]), number(table["C2"])
        condition.complain(C1 >= 0 and C2 >= 0, "signs of C1 and C2")
        condition.square(unit("x0"), C1)
        for star in at_star:
            condition.square(star, C2 / self.n)
        self.add_start(condition, points)
        kept = {s: server[s] for s in self.server}
        self.lyapunov(condition, fmpq(-1), kept, client)
        for i in everyone:
            for name, v in zip(
                symbols, self.ghost_values[self.of_class[i]], strict=True
            ):
                condition.value(i, name, -v / self.n)
        for w, point, delta in self.values():
            drawn = [(fmpq(1), self.combination(point, kept, client))]
            self.above(condition, table["upper"], w, delta, points, drawn)
        self.multipliers(condition, table["multipliers"], points)
        return condition

    def add_start(self, condition, points):
        """Add what else V_0 may be bounded by."""

    def _begun(self, raw, at_star):
        """Deviations of the slots at the start, memories left out."""
        away = {}
        for slot, kind in self.slots.items():
            alpha, beta = self.rest[slot]
            rest = [combined((alpha, unit("x*")), (beta, s)) for s in at_star]
            if kind is Server:
                away[slot] = minus(raw[slot], combined((alpha, unit("x*"))))
            elif slot in self.plain:
                pairs = zip(raw[slot], rest, strict=True)
                away[slot] = [minus(value, there) for value, there in pairs]
        flat = [v for value in away.values() for v in _listed(value)]
        need(all("x*" not in name for v in flat for name in v), "x* at the start")
        server = {s: v for s, v in away.items() if self.slots[s] is Server}
        return server, {s: v for s, v in away.items() if s not in server}

    def _begun_ghosts(self, raw, answers, points, at_star, client):
        """Fill in the ghosts at the start; the name of every ghost's value."""
        symbols = []
        for m, (slot, names, _, weights) in enumerate(self.remembered()):
            symbol, empty = f"start_ghost:{m}", slot is not None and not any(raw[slot])
            if slot is None:
                symbol = "star"
            elif any(raw[slot]):
                symbol = self._call_held(raw[slot], answers, sum(weights, fmpq(0)))
            need(not empty or self.mu > 0, "a gradient that need not be 0 anywhere")
            for i in range(self.n) if empty else ():
                # a point where client i's own gradient vanishes
                points[i][symbol] = unit("phi", m, i), combined((-1, at_star[i]))
            symbols += [symbol] * len(names)
            for name in names:
                held = [points[i][symbol] for i in range(self.n)]
                client[f"{name}.point"] = [x for x, _ in held]
                client[f"{name}.gradient"] = [g for _, g in held]
        return symbols

    def _call_held(self, rows, answers, size):
        for k, row in enumerate(answers):
            if rows == [combined((size, g)) for g in row]:
                return f"start_call:{k}"
        raise UnprovenError("a memory starts at neither zero nor a gradient")


class AverageJudge(Judge):
    """Of a bound on an average over rounds: V >= 0 and E V+ <= V - s M + c mean|g*|^2.

    M is f - f(x*) or |grad f|^2 at the model. The g*_i are given vectors, and x* is a
    global minimiser of f: f - f(x*) = mean f_i, f_i measured from its tangent at x*, is
    nowhere negative, and f(x) - f(x*) >= f(x) - f(x - grad f(x)/L) >= |grad f|^2/(2L).
    Values are unknowns and all bounds on them are true, so any weights may be summed.
    """

    def _read_constants(self):
        self.beside = True
        beside = self.c["neighbourhood"] or {"weight": "0", "constant": "0"}
        self.constant = number(beside["constant"])
        average = self.c["average"]
        self.of, self.weight = average["of"], number(average["weight"])
        need(number(beside["weight"]) == 0, "one weight")
        need(self.of in ("gap", "gradient"), "what is averaged")
        need(-self.smooth <= self.mu, "-L <= mu")
        need(self.rho == 1 and self.weight > 0, "rho and s of an average")

    def _name(self, known, point):
        """Name of the value there: of a client's known point, or of a new one."""
        at = (name for name, (x, _) in known.items() if x == point)
        return next(at, ("value", repr(sorted(point.items(), key=repr))))

    def _add_gap(self, condition, points, x, weight):
        """Add weight [f(x) - f(x*)]."""
        for i, known in enumerate(points):
            condition.value(i, self._name(known, x), weight / self.n)

    def _slope(self, points, x):
        """Return grad f(x), of which the g*_i are no part: they add to zero."""
        names = [self._name(known, x) for known in points]
        pairs = list(zip(points, names, strict=True))
        need(all(name in known for known, name in pairs), "a gradient nobody took")
        return mean([known[name][1] for known, name in pairs])

    def _bounds(self, condition, table, w):
        """Client, point and weight of the bounds of a value."""
        need(all(v in range(len(self.c["values"])) for v, *_ in table), "a bound")
        need(all(r in self.classes for _, r, *_ in table), "class of a bound")
        for v, r, b, text in table:
            condition.complain(number(text) >= 0, "sign of a weight")
            if v == w:
                yield from ((i, b, number(text)) for i in self.members(r))

    def below(self, condition, table, w, point, due, points):
        self._add_gap(condition, points, point, due)
        for i, b, t in self._bounds(condition, table, w):
            condition.value(i, self._name(points[i], point), -t / self.n)
            condition.tangent(i, b, points[i], point, self.mu, t / self.n)

    def above(self, condition, table, w, due, points, drawn):
        for chance, point in drawn:
            self._add_gap(condition, points, point, -due * chance)
            for i, b, t in self._bounds(condition, table, w):
                share = t * chance / self.n
                condition.value(i, self._name(points[i], point), share)
                condition.tangent(i, b, points[i], point, self.smooth, -share)

    def _value_along(self, condition, value, points, news):
        w, point, delta = value
        here, table = self.combination(point, *self.before), self.c["decrease"]
        self.below(condition, table["lower"], w, here, self.rho * delta, points)
        drawn = [
            (chance, self.combination(point, *news[s]))
            for s, chance in self.sets.items()
        ]
        self.above(condition, table["upper"], w, delta, points, drawn)

    def subtract_measured(self, condition, points):
        x = self.model(*self.before)
        if self.of == "gap":
            self._add_gap(condition, points, x, -self.weight)
        else:
            condition.square(self._slope(points, x), -self.weight)

    def subtract_bounded(self, condition, server, client):
        """V need not be above anything but 0."""

    def positivity(self):
        condition = super().positivity()
        server, client = self.before
        points = [self.known(client, i) for i in range(self.n)]
        places = [self.combination(p, server, client) for _, p, _ in self.values()]
        for w, text in self.c["positivity"]["minimum"]:
            need(w in range(len(places)), "a value")
            condition.complain(number(text) >= 0, "sign of a weight")
            self._add_gap(condition, points, places[w], -number(text))
        return condition

    def add_start(self, condition, points):
        """Add C0 [f(x_0) - f(x*)], and take away what is not negative."""
        C0, least = (number(self.c["start"][key]) for key in ("C0", "minimum"))
        condition.complain(C0 >= 0 and least >= 0, "signs at the start")
        self._add_gap(condition, points, unit("x0"), C0 - least)
        if least:
            g = self._slope(points, unit("x0"))
            condition.square(g, least / (2 * self.smooth))


class GapJudge(AverageJudge):
    """Of a rate of f - f(x*) where |grad f|^2 >= 2 beta [f - f(x*)].

    rho V - E V+ >= m (|grad f(x)|^2 - 2 beta [f(x) - f(x*)]) at the model x, m >= 0,
    and V >= v [f(x) - f(x*)], so v E[f(x_r) - f(x*)] <= E V_r <= rho^r V_0.
    """

    def _read_constants(self):
        self.beside, self.constant = True, fmpq(0)
        need(self.c["neighbourhood"] is None, "nothing beside a rate")
        table = self.c["dominance"]
        names = ("beta", "weight", "v")
        self.beta, self.weight, self.v = (number(table[key]) for key in names)
        need(
            self.beta > 0 and self.weight >= 0 and self.v > 0, "signs of the condition"
        )
        need(-self.smooth <= self.mu, "-L <= mu")
        need(self.rho < 1, "a rate below 1")

    def subtract_measured(self, condition, points):
        x = self.model(*self.before)
        self._add_gap(condition, points, x, 2 * self.beta * self.weight)
        if self.weight:
            condition.square(self._slope(points, x), -self.weight)

    def positivity(self):
        condition, model = super().positivity(), self.model(*self.before)
        places = [self.combination(p, *self.before) for _, p, _ in self.values()]
        rows = self.c["positivity"]["minimum"]
        total = sum((number(t) for w, t in rows if places[w] == model), fmpq(0))
        condition.complain(total >= self.v, "V is above v times what is claimed")
        return condition


JUDGES = {"average": AverageJudge, "gap": GapJudge}


def _listed(value):
    return value if isinstance(value, list) else [value]


def _matrix(table, size):
    rows = [[number(text) for text in row] for row in table]
    need([len(row) for row in rows] == [size] * size, "size of V")
    columns = [list(column) for column in zip(*rows, strict=True)]
    need(columns == rows, "symmetry of V")
    return rows


def conditions(certificate):
    """The three conditions of a certificate, not judged."""
    judge = JUDGES.get(certificate["kind"], Judge)(certificate)
    judge.equilibrium()
    return {
        "decrease": judge.decrease(),
        "positivity": judge.positivity(),
        "start": judge.start(),
    }


def accepts(certificate):
    """Whether every condition holds; malformed data counts as no."""
    try:
        for stage, condition in conditions(certificate).items():
            condition.judge(stage)
    except (UnprovenError, LookupError, ValueError, TypeError, AttributeError):
        return False
    return True

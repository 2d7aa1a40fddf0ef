"""A second judge of certificates: every client written out, every outcome listed.

It reads the algorithm's own round on given cohorts (not the plain loops the checker
runs), keeps all N clients (no mean and deviation), and works in `Fraction`s. Only for
a few clients; slow and plain on purpose.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from flverify.algorithms import FedAvg, Focus, GradientDescent, ProxSkip, Scaffold
from flverify.algorithms._algorithm import Server
from flverify.engines.enumerate import ListedCohort, Rows

ALGORITHMS = {
    "focus": Focus,
    "fedavg": FedAvg,
    "scaffold": Scaffold,
    "proxskip": ProxSkip,
    "gradient_descent": GradientDescent,
}


class Fails(Exception):
    """A condition does not hold."""


def need(holds, what):
    if not holds:
        raise Fails(what)


def outcomes(law):
    """Every set of participants with its probability, and the class of every client."""
    kind = law["kind"]
    if kind == "bernoulli":
        chances = [
            Fraction(c["inclusion"])
            for c in law["classes"]
            for _ in range(c["clients"])
        ]
        of_class = [
            r for r, c in enumerate(law["classes"]) for _ in range(c["clients"])
        ]
        sets = {}
        for size in range(len(chances) + 1):
            for some in combinations(range(len(chances)), size):
                weight = Fraction(1)
                for i, p in enumerate(chances):
                    weight *= p if i in some else 1 - p
                sets[frozenset(some)] = weight
        return sets, of_class
    n = law["n_clients"]
    everybody = frozenset(range(n))
    if kind == "full":
        return {everybody: Fraction(1)}, [0] * n
    if kind == "all_or_nothing":
        p = Fraction(law["probability"])
        return {everybody: p, frozenset(): 1 - p}, [0] * n
    m = law["cohort_size"]
    need(0 < m <= n, "cohort size")
    return {frozenset(s): Fraction(1, comb(n, m)) for s in combinations(range(n), m)}, [
        0
    ] * n


def build(entry):
    kind = ALGORITHMS[entry["name"]]
    return kind(**entry["settings"])


class Tape:
    """Prescribed gradients: one row per client for every distinct stack of points."""

    def __init__(self, answers):
        self.answers, self.points = answers, []

    def gradient(self, points):
        for k, known in enumerate(self.points):
            if (known == points.values).all():
                return Rows(self.answers[k], Fraction)
        need(len(self.points) < len(self.answers), "more gradients than prescribed")
        self.points.append(points.values)
        return Rows(self.answers[len(self.points) - 1], Fraction)


class Space:
    """Names of the unknown vectors, and unit rows."""

    def __init__(self, names):
        self.names = list(names)
        self.index = {name: k for k, name in enumerate(self.names)}

    def zero(self):
        return np.full(len(self.names), Fraction(0), dtype=object)

    def unit(self, name):
        row = self.zero()
        row[self.index[name]] = Fraction(1)
        return row


def product(a, b):
    half = np.multiply.outer(a, b)
    return (half + half.T) / 2


def psd(matrix):
    """Exact positive semidefiniteness by elimination."""
    rest = matrix.copy()
    for k in range(len(rest)):
        pivot = rest[k, k]
        if pivot < 0:
            return False
        if pivot == 0:
            if any(v != 0 for v in rest[k, k:]):
                return False
            continue
        column = rest[k + 1 :, k] / pivot
        rest[k + 1 :, k + 1 :] -= np.multiply.outer(column, rest[k, k + 1 :])
    return True


def number(text):
    need(isinstance(text, str), f"{text!r} is no exact number")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise Fails(f"{text!r} is no exact number") from error


class Total:
    """A quadratic form and the coefficients of function values, both to be judged."""

    def __init__(self, space, mu, smooth):
        size = len(space.names)
        self.form = np.full((size, size), Fraction(0), dtype=object)
        self.values = defaultdict(Fraction)
        self.mu, self.smooth = mu, smooth

    def add(self, matrix, weight=Fraction(1)):
        if weight:
            self.form = self.form + weight * matrix

    def multiplier(self, i, a, b, weight):
        """Subtract weight times the interpolation inequality f_a >= f_b + ..."""
        (xa, ga), (xb, gb) = a[1:], b[1:]
        dx, dg = xa - xb, ga - gb
        mu, smooth = self.mu, self.smooth
        inner = (
            product(dg, dg) / smooth
            + mu * product(dx, dx)
            - 2 * mu / smooth * product(dg, dx)
        )
        q = -product(gb, dx) - inner / (2 * (1 - mu / smooth))
        self.add(q, -weight)
        self.value(i, a[0], -weight)
        self.value(i, b[0], weight)

    def value(self, i, name, weight):
        if name != "star":
            self.values[i, name] += weight

    def judge(self, what):
        for key, value in self.values.items():
            need(value == 0, f"{what}: value of {key} does not cancel")
        need(psd(self.form), f"{what}: not positive semidefinite")


class Judge:
    """All conditions of one certificate."""

    def __init__(self, c):
        self.c = c
        self.mu = number(c["function_class"]["strong_convexity"])
        self.smooth = number(c["function_class"]["smoothness"])
        need(0 < self.mu < self.smooth, "0 < mu < L")
        self.sets, self.of_class = outcomes(c["law"])
        need(sum(self.sets.values()) == 1, "probabilities")
        need(all(p >= 0 for p in self.sets.values()), "probabilities")
        self.n = len(self.of_class)
        self.algorithm = build(c["algorithm"])
        self.slots = self.algorithm.slots()
        self.rho = number(c["rho"])
        self.beside = c["kind"] == "neighbourhood"
        self.weight = (
            number(c["neighbourhood"]["weight"]) if self.beside else Fraction(0)
        )
        self.constant = (
            number(c["neighbourhood"]["constant"]) if self.beside else Fraction(0)
        )
        need(self.weight >= 0 and self.constant >= 0, "signs")
        need(0 < self.rho <= 1, "rho")
        need(self.rho < 1 or self.weight > 0, "rho")
        self.memories = [
            (m["slot"], m["calls"], [number(w) for w in m["weights"]])
            for m in c["memories"]
        ]
        self.ghosts = [k for _, calls, _ in self.memories for k in calls]
        remembered = {slot for slot, _, _ in self.memories}
        self.server = [
            s for s, k in self.slots.items() if k is Server and s not in c["eliminated"]
        ]
        plain = [
            s for s, k in self.slots.items() if k is not Server and s not in remembered
        ]
        parts = [
            f"ghost:{j}.{part}"
            for j in range(len(self.ghosts))
            for part in ("point", "gradient")
        ]
        self.client = [*plain, *parts]

    def run(self):
        self.equilibrium()
        self.decrease()
        self.positivity()
        self.start()

    # -- states ---------------------------------------------------------------

    def state(self, space):
        """Rows of every coordinate: server slots, and client coordinates per client."""
        server = {s: space.unit(("server", s)) for s in self.server}
        client = {}
        for name in self.client:
            rows = []
            for i in range(self.n):
                if ("client", name, i) in space.index:
                    rows.append(space.unit(("client", name, i)))
                else:
                    rows.append(None)
            client[name] = rows
        for name, rows in client.items():
            if rows[-1] is None:
                mean = self.combination(self.c["eliminated"][name], server, client)
                rows[-1] = self.n * mean - sum(rows[:-1], space.zero())
        return server, client

    def slots_of(self, space, server, client):
        """Rows of every slot of the algorithm."""
        out = dict(server)
        first = 0
        for slot, calls, weights in self.memories:
            rows = []
            for i in range(self.n):
                row = space.zero()
                for j, w in enumerate(weights):
                    row = row + w * client[f"ghost:{first + j}.gradient"][i]
                rows.append(row)
            out[slot] = rows
            first += len(calls)
        for name in self.client:
            if not name.startswith("ghost:"):
                out[name] = client[name]
        for name, parts in self.c["eliminated"].items():
            if self.slots[name] is Server:
                out[name] = self.combination(parts, out, out) + space.zero()
        return out

    def combination(self, parts, server, client):
        total = 0
        for name, value in parts.items():
            row = (
                server[name]
                if self.slots.get(name) is Server
                else self.mean(client[name])
            )
            total = total + number(value) * row
        return total

    def mean(self, rows):
        return sum(rows[1:], rows[0]) / Fraction(self.n)

    def play(self, space, slots, members, answers):
        state = {
            name: Rows(np.array([slots[name]], dtype=object), Fraction)
            if kind is Server
            else Rows(np.array(slots[name], dtype=object)[:, None, :], Fraction)
            for name, kind in self.slots.items()
        }
        tape = Tape(answers)
        cohort = ListedCohort(members, self.n, Fraction)
        after = self.algorithm.round(self.algorithm.State(**state), cohort, tape)
        rows = {}
        for name, kind in self.slots.items():
            values = getattr(after, name).values
            rows[name] = (
                values[0] if kind is Server else [values[i, 0] for i in range(self.n)]
            )
        return rows, [[p[i, 0] for i in range(self.n)] for p in tape.points]

    # -- V --------------------------------------------------------------------

    def quadratic(self, space, server, client):
        """The form u'Tu + (1/N) sum d'Sd of given rows."""
        classes = range(max(self.of_class) + 1)
        members = {
            r: [i for i in range(self.n) if self.of_class[i] == r] for r in classes
        }
        eliminated = self.c["eliminated"]
        u = [server[s] for s in self.server]
        middle = {
            (r, name): sum((client[name][i] for i in members[r]), space.zero())
            / Fraction(len(members[r]))
            for r in classes
            for name in self.client
        }
        kept = [c for c in self.client if c not in eliminated]
        u += [middle[r, name] for r in classes for name in kept]
        table = self.c["V"]["mean"]
        need(len(table) == len(u), "size of V")
        form = np.full((len(space.names),) * 2, Fraction(0), dtype=object)
        for a, row in enumerate(table):
            need(len(row) == len(u), "size of V")
            for b, text in enumerate(row):
                need(number(text) == number(table[b][a]), "symmetry of V")
                form = form + number(text) * product(u[a], u[b])
        for r in classes:
            spread = self.c["V"]["classes"][r]
            need(
                len(spread) == (len(self.client) if len(members[r]) > 1 else 0), "size"
            )
            for a, row in enumerate(spread):
                for b, text in enumerate(row):
                    need(number(text) == number(spread[b][a]), "symmetry of V")
                    for i in members[r]:
                        da = client[self.client[a]][i] - middle[r, self.client[a]]
                        db = client[self.client[b]][i] - middle[r, self.client[b]]
                        share = Fraction(1, self.n)
                        form = form + share * number(text) * product(da, db)
        return form

    def point_w(self, entry, server, client):
        total = 0
        for name, value in entry["point"].items():
            row = server[name] if name in self.server else self.mean(client[name])
            total = total + number(value) * row
        return total

    def ghost_value(self, i, j):
        return number(self.c["ghost_values"][self.of_class[i]][j])

    def weights(self, table, w, i):
        out = {}
        for value, r, name, text in table:
            if value == w and r == self.of_class[i]:
                need(number(text) >= 0, "sign of a weight")
                out[name] = out.get(name, Fraction(0)) + number(text)
        return out

    def multipliers(self, total, table, points):
        for r, above, below, text in table:
            need(number(text) >= 0, "sign of a multiplier")
            for i in range(self.n):
                if self.of_class[i] == r:
                    known = {p[0]: p for p in points[i]}
                    share = number(text) / self.n
                    total.multiplier(i, known[above], known[below], share)

    def below(self, total, i, w, points, weights, size):
        """Add (1/N) sum_b sigma_b (f_b + <g_b, w - b> + mu/2 |w - b|^2)."""
        need(sum(weights.values(), Fraction(0)) == size, "sum of lower weights")
        known = {p[0]: p for p in points[i]}
        for name, sigma in weights.items():
            _, x, g = known[name]
            gap = w - x
            form = product(g, gap) + self.mu / 2 * product(gap, gap)
            total.add(form, sigma / self.n)
            total.value(i, name, sigma / self.n)

    # -- conditions -------------------------------------------------------------

    def space(self, calls):
        names = [("server", s) for s in self.server]
        for name in self.client:
            last = self.n - 1 if name in self.c["eliminated"] else self.n
            names += [("client", name, i) for i in range(last)]
        if calls:
            names += [
                ("call", k, i) for k in range(self.c["calls"]) for i in range(self.n)
            ]
            if self.beside:
                names += [("star", i) for i in range(self.n - 1)]
        return Space(names)

    def stars(self, space):
        rows = [space.unit(("star", i)) for i in range(self.n - 1)]
        return [*rows, -sum(rows, space.zero())]

    def remembered(self, space, client, i):
        out = [("star", space.zero(), space.zero())]
        for j in range(len(self.ghosts)):
            point, gradient = (
                client[f"ghost:{j}.point"][i],
                client[f"ghost:{j}.gradient"][i],
            )
            out.append((f"ghost:{j}", point, gradient))
        return out

    def decrease(self):
        space = self.space(calls=True)
        server, client = self.state(space)
        slots = self.slots_of(space, server, client)
        calls = [
            [space.unit(("call", k, i)) for i in range(self.n)]
            for k in range(self.c["calls"])
        ]
        stars = self.stars(space) if self.beside else [space.zero()] * self.n
        answers = [
            np.array([[g + s] for g, s in zip(row, stars, strict=True)], dtype=object)
            for row in calls
        ]
        total = Total(space, self.mu, self.smooth)
        total.add(self.quadratic(space, server, client), self.rho)
        model = slots["model"]
        total.add(product(model, model), -self.weight)
        for s in stars if self.beside else []:
            total.add(product(s, s), self.constant / self.n)
        runs = {
            a: self.play(space, slots, a, answers) for a, p in self.sets.items() if p
        }
        points = next(iter(runs.values()))[1]
        need(len(points) == self.c["calls"], "number of calls")
        asked = []
        for i in range(self.n):
            mine = self.remembered(space, client, i)
            mine += [
                (f"call:{k}", points[k][i], calls[k][i]) for k in range(len(points))
            ]
            asked.append(mine)
        news = {}
        for members, (after, logged) in runs.items():
            need(_same(logged, points), "points depend on the draw")
            news[members] = self.renewed(
                space, members, client, slots, after, points, calls
            )
            chance = self.sets[members]
            form = self.quadratic(space, *news[members])
            total.add(form, -chance)
            for i in range(self.n):
                for j, k in enumerate(self.ghosts):
                    name = f"call:{k}" if i in members else f"ghost:{j}"
                    total.value(i, name, -chance * self.ghost_value(i, j) / self.n)
        for i in range(self.n):
            for j in range(len(self.ghosts)):
                share = self.rho * self.ghost_value(i, j) / self.n
                total.value(i, f"ghost:{j}", share)
        self.decrease_values(total, server, client, points, asked, news)
        self.multipliers(total, self.c["decrease"]["multipliers"], asked)
        total.judge("decrease")

    def renewed(self, space, members, client, slots, after, points, calls):
        """State coordinates after an outcome; memories and eliminations are verified."""
        first = 0
        new = {}
        for slot, which, weights in self.memories:
            for i in range(self.n):
                if i in members:
                    wanted = sum(
                        (w * calls[k][i] for k, w in zip(which, weights, strict=True)),
                        space.zero(),
                    )
                else:
                    wanted = slots[slot][i]
                need((after[slot][i] == wanted).all(), "memory")
            for j, k in enumerate(which):
                old_x = client[f"ghost:{first + j}.point"]
                old_g = client[f"ghost:{first + j}.gradient"]
                new[f"ghost:{first + j}.point"] = [
                    points[k][i] if i in members else old_x[i] for i in range(self.n)
                ]
                new[f"ghost:{first + j}.gradient"] = [
                    calls[k][i] if i in members else old_g[i] for i in range(self.n)
                ]
            first += len(which)
        for name in self.client:
            if not name.startswith("ghost:"):
                new[name] = after[name]
        for name, parts in self.c["eliminated"].items():
            wanted = self.combination(parts, after, after) + space.zero()
            found = (
                after[name] if self.slots[name] is Server else self.mean(after[name])
            )
            need((found == wanted).all(), "eliminated")
        return {s: after[s] for s in self.server}, new

    def decrease_values(self, total, server, client, points, asked, news):
        for w, entry in enumerate(self.c["values"]):
            delta = number(entry["delta"])
            need(delta >= 0, "sign of a value")
            self.at_star(entry)
            row = self.point_w(entry, server, client)
            call = next(
                (
                    k
                    for k in range(len(points))
                    if all((points[k][i] == row).all() for i in range(self.n))
                ),
                None,
            )
            for i in range(self.n):
                if call is not None:
                    total.value(i, f"call:{call}", self.rho * delta / self.n)
                else:
                    lower = self.weights(self.c["decrease"]["lower"], w, i)
                    self.below(total, i, row, asked, lower, self.rho * delta)
                upper = self.weights(self.c["decrease"]["upper"], w, i)
                need(sum(upper.values(), Fraction(0)) == delta, "sum of upper weights")
                known = {p[0]: p for p in asked[i]}
                for name, omega in upper.items():
                    _, x, g = known[name]
                    total.value(i, name, -omega / self.n)
                    for members, (s, c) in news.items():
                        gap = self.point_w(entry, s, c) - x
                        form = product(g, gap) + self.smooth / 2 * product(gap, gap)
                        total.add(form, -omega * self.sets[members] / self.n)

    def at_star(self, entry):
        """At the equilibrium w is x*."""
        alpha = Fraction(0)
        for name, value in entry["point"].items():
            if name.startswith("ghost:"):
                alpha += number(value) if name.endswith("point") else 0
            else:
                alpha += number(value) * number(self.c["equilibrium"][name][0])
        need(alpha == 1, "w is not x* at the equilibrium")

    def positivity(self):
        space = self.space(calls=False)
        server, client = self.state(space)
        slots = self.slots_of(space, server, client)
        total = Total(space, self.mu, self.smooth)
        total.add(self.quadratic(space, server, client))
        if not self.weight:
            total.add(product(slots["model"], slots["model"]), Fraction(-1))
        asked = [self.remembered(space, client, i) for i in range(self.n)]
        for i in range(self.n):
            for j in range(len(self.ghosts)):
                total.value(i, f"ghost:{j}", self.ghost_value(i, j) / self.n)
            for w, entry in enumerate(self.c["values"]):
                lower = self.weights(self.c["positivity"]["lower"], w, i)
                row = self.point_w(entry, server, client)
                self.below(total, i, row, asked, lower, number(entry["delta"]))
        self.multipliers(total, self.c["positivity"]["multipliers"], asked)
        total.judge("positivity")

    def equilibrium(self):
        space = Space(["x*", *(("star", i) for i in range(self.n - 1))])
        stars = self.stars(space)
        if self.beside:
            stars = [space.zero()] * self.n
        here = space.unit("x*")
        slots = {}
        for name, kind in self.slots.items():
            alpha, beta = (number(v) for v in self.c["equilibrium"][name])
            need(kind is not Server or beta == 0, "g* at the server")
            rows = [alpha * here + beta * s for s in stars]
            slots[name] = alpha * here if kind is Server else rows
        for members, chance in self.sets.items():
            if not chance:
                continue
            answers = [np.array([[s] for s in stars], dtype=object)] * self.c["calls"]
            after, points = self.play(space, slots, members, answers)
            for point in points:
                need(
                    all((row == here).all() for row in point), "a gradient away from x*"
                )
            for name in self.slots:
                same = np.array(after[name]) == np.array(slots[name])
                need(same.all(), f"{name} moves at the equilibrium")

    def start(self):
        names = ["x0", *(("star", i) for i in range(self.n - 1))]
        calls = sum(1 for _ in self.start_points(self.n))
        names += [("call", k, i) for k in range(calls) for i in range(self.n)]
        names += [
            ("phi", m, i) for m in range(len(self.memories)) for i in range(self.n)
        ]
        space = Space(names)
        stars = self.stars(space)
        fresh = [
            [space.unit(("call", k, i)) for i in range(self.n)] for k in range(calls)
        ]
        answers = [
            np.array([[g + s] for g, s in zip(row, stars, strict=True)], dtype=object)
            for row in fresh
        ]
        tape = Tape(answers)
        cohort = ListedCohort(frozenset(), self.n, Fraction)
        begun = self.algorithm.init(
            Rows(np.array([space.unit("x0")], dtype=object), Fraction), cohort, tape
        )
        raw = {}
        for name, kind in self.slots.items():
            values = getattr(begun, name).values
            raw[name] = (
                values[0] if kind is Server else [values[i, 0] for i in range(self.n)]
            )
        zero = space.zero()
        points = [[("star", zero, zero)] for _ in range(self.n)]
        for k in range(calls):
            for i in range(self.n):
                x = tape.points[k][i, 0]
                points[i].append((f"start_call:{k}", x, fresh[k][i]))
        client, symbols, first = {}, {}, 0
        for m, (slot, which, weights) in enumerate(self.memories):
            cold = all((row == zero).all() for row in raw[slot])
            for j in range(first, first + len(which)):
                if cold:
                    symbols[j] = f"start_ghost:{m}"
                    client[f"ghost:{j}.point"] = [
                        space.unit(("phi", m, i)) for i in range(self.n)
                    ]
                    client[f"ghost:{j}.gradient"] = [-s for s in stars]
                else:
                    k = next(
                        k
                        for k in range(calls)
                        if all(
                            (raw[slot][i] == sum(weights) * answers[k][i][0]).all()
                            for i in range(self.n)
                        )
                    )
                    symbols[j] = f"start_call:{k}"
                    client[f"ghost:{j}.point"] = [
                        tape.points[k][i, 0] for i in range(self.n)
                    ]
                    client[f"ghost:{j}.gradient"] = fresh[k]
            if cold:
                for i in range(self.n):
                    phi = space.unit(("phi", m, i))
                    points[i].append((f"start_ghost:{m}", phi, -stars[i]))
            first += len(which)
        for name in self.client:
            if not name.startswith("ghost:"):
                beta = number(self.c["equilibrium"][name][1])
                client[name] = [
                    row - beta * s for row, s in zip(raw[name], stars, strict=True)
                ]
        for name, parts in self.c["eliminated"].items():
            whole = {**raw}
            wanted = self.combination(parts, whole, whole) + zero
            found = raw[name] if self.slots[name] is Server else self.mean(raw[name])
            need((found == wanted).all(), "eliminated at the start")
        server = {s: raw[s] for s in self.server}
        total = Total(space, self.mu, self.smooth)
        entry = self.c["start"]
        need(number(entry["C1"]) >= 0 and number(entry["C2"]) >= 0, "sign of C")
        total.add(product(space.unit("x0"), space.unit("x0")), number(entry["C1"]))
        for s in stars:
            total.add(product(s, s), number(entry["C2"]) / self.n)
        total.add(self.quadratic(space, server, client), Fraction(-1))
        for i in range(self.n):
            for j, symbol in symbols.items():
                total.value(i, symbol, -self.ghost_value(i, j) / self.n)
            for w, value in enumerate(self.c["values"]):
                delta = number(value["delta"])
                upper = self.weights(entry["upper"], w, i)
                need(sum(upper.values(), Fraction(0)) == delta, "sum of upper weights")
                known = {p[0]: p for p in points[i]}
                row = self.point_w(value, server, client)
                for name, omega in upper.items():
                    _, x, g = known[name]
                    gap = row - x
                    form = product(g, gap) + self.smooth / 2 * product(gap, gap)
                    total.add(form, -omega / self.n)
                    total.value(i, name, -omega / self.n)
        self.multipliers(total, entry["multipliers"], points)
        total.judge("start")

    def start_points(self, n):
        """Gradients that the start asks for."""
        space = Space(["x0"])
        some = [np.array([[space.zero()]] * n, dtype=object).reshape(n, 1, 1)] * 9
        tape = Tape(some)
        cohort = ListedCohort(frozenset(), n, Fraction)
        self.algorithm.init(
            Rows(np.array([space.unit("x0")], dtype=object), Fraction), cohort, tape
        )
        return tape.points


def _same(left, right):
    if len(left) != len(right):
        return False
    pairs = zip(left, right, strict=True)
    return all((x == y).all() for a, b in pairs for x, y in zip(a, b, strict=True))


def accepts(certificate):
    """Whether every condition holds; malformed data counts as no."""
    try:
        Judge(certificate).run()
    except (
        Fails,
        KeyError,
        IndexError,
        ValueError,
        TypeError,
        StopIteration,
        ArithmeticError,
    ):
        return False
    return True

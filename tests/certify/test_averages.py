"""Bounds on averages against exact expectations on functions, by the plain loops alone.

A bound is read off its certificate. Functions of one variable have a curvature that is
constant between breakpoints. Quadratics are followed for many rounds, by second
moments; the others for a few, along all cohorts. Everything is rational.
"""

from __future__ import annotations

import inspect
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from itertools import combinations, pairwise, product
from random import Random

import pytest
from flint import fmpq_mat

from flverify.algorithms import FedAvg, Focus, GradientDescent, Mifa, Scaffold
from flverify.certify.averages import average
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from tests.certify.dense import exact

WARM = {"initial_gradients": "start", "initial_tracker": "sum"}
ONE = UniformCohort(3, 1)
SETTINGS = {
    "descent": (GradientDescent("1/2"), Full(2), 1, 0),
    "descent, smooth": (GradientDescent("1/2"), Full(2), 1, -1),
    "descent, L = 2": (GradientDescent("1/3"), AllOrNothing(1, "1/2"), 2, 0),
    "focus": (Focus("1/9", **WARM), ONE, 1, 0),
    "focus, smooth": (Focus("1/12", **WARM), UniformCohort(2, 1), 1, -1),
    "focus, L = 2": (Focus("1/40", 2, **WARM), ONE, 2, -2),
    "weakly convex": (Focus("1/20", **WARM), ONE, 1, "-1/2"),
    "classes": (Focus("1/20", **WARM), Bernoulli(["1/2", "1/5"]), 1, 0),
    "scaffold": (Scaffold("1/3"), ONE, 1, 0),
    "fedavg": (FedAvg("1/20", 4), UniformCohort(3, 2), 1, 0),
    "mifa": (Mifa("1/10", 2), ONE, 1, 0),
    "mifa, smooth": (Mifa("1/10"), ONE, 1, -1),
}
EVERY = pytest.mark.parametrize("name", SETTINGS)
TIGHT = {
    "descent",
    "descent, smooth",
    "descent, L = 2",
    "focus",
    "focus, smooth",
    "weakly convex",
    "mifa, smooth",
}  # of the others no function here comes so near
LEAVES, ROUNDS = 300, 30  # of a tree of cohorts; of quadratics


@cache
def found(name):
    result = average(*SETTINGS[name])
    assert result.status == "certified", result.reason
    return result


class Curve:
    """A function with f(0) = f'(0) = 0 and given curvatures between breakpoints."""

    def __init__(self, breaks, bends):
        self.breaks, self.bends = breaks, bends
        self.slope_0 = self.value_0 = Fraction(0)
        self.slope_0, self.value_0 = -self.slope(0), -self.value(0)

    def slope(self, x):
        jumps = zip(self.breaks, self.bends, self.bends[1:], strict=False)
        more = sum((b - a) * max(x - at, 0) for at, a, b in jumps)
        return self.slope_0 + self.bends[0] * x + more

    def value(self, x):
        jumps = zip(self.breaks, self.bends, self.bends[1:], strict=False)
        more = sum((b - a) * max(x - at, 0) ** 2 for at, a, b in jumps)
        return self.value_0 + (self.bends[0] * x**2 + more) / 2 + self.slope_0 * x


class Family:
    """Client functions curve_i(x) + tilt_i x, with a global minimiser of their mean."""

    def __init__(self, curves, tilts):
        self.curves, self.tilts = curves, tilts
        self.n = len(curves)
        self.star = self._minimiser()

    def slope(self, i, x):
        return self.curves[i].slope(x) + self.tilts[i]

    def mean_slope(self, x):
        return sum(self.slope(i, x) for i in range(self.n)) / self.n

    def mean(self, x):
        pairs = zip(self.curves, self.tilts, strict=True)
        return sum(c.value(x) + t * x for c, t in pairs) / self.n

    def _minimiser(self):
        """Where the slope of the mean is zero, piece by piece, and f the smallest."""
        breaks = sorted({Fraction(b) for c in self.curves for b in c.breaks})
        ends = [-(10**6), *breaks, 10**6] if breaks else [Fraction(-1), Fraction(1)]
        places = [x for x in ends if self.mean_slope(x) == 0]
        for a, b in pairwise(ends):
            rise = self.mean_slope(b) - self.mean_slope(a)
            at = a - self.mean_slope(a) * (b - a) / rise if rise else a
            places += [at] if self.mean_slope(at) == 0 else []
        assert places
        if breaks:  # f does not fall outwards, so that the smallest one is among these
            assert self.mean_slope(ends[0]) <= 0 <= self.mean_slope(ends[-1])
        return min(places, key=self.mean)

    def gap(self, x):
        return self.mean(x) - self.mean(self.star)

    def spread(self):
        return sum(self.slope(i, self.star) ** 2 for i in range(self.n)) / self.n


# ------------------------------------------------------------------- the rounds


def cohorts(law):
    """Every cohort that is possible, and its chance."""
    n = law.get("n_clients") or sum(q["clients"] for q in law["classes"])
    if law["kind"] == "full":
        return [(range(n), Fraction(1))]
    if law["kind"] == "all_or_nothing":
        p = Fraction(law["probability"])
        return [(range(n), p), ((), 1 - p)]
    if law["kind"] == "uniform_cohort":
        drawn = list(combinations(range(n), law["cohort_size"]))
        return [(s, Fraction(1, len(drawn))) for s in drawn]
    inclusion = [q["inclusion"] for q in law["classes"] for _ in range(q["clients"])]
    out = []
    for taken in product([True, False], repeat=n):
        p = Fraction(1)
        for inside, text in zip(taken, inclusion, strict=True):
            p *= Fraction(text) if inside else 1 - Fraction(text)
        out.append(([i for i in range(n) if taken[i]], p))
    return out


def loops(c):
    """The plain loop of a certificate, its settings given."""
    entry, given = c["algorithm"], {}
    for key, text in entry["settings"].items():
        is_number = isinstance(text, str) and text.replace("/", "").isdigit()
        given[key] = Fraction(text) if is_number else text
    module = import_module(f"flverify.reference.{entry['name']}")
    return [
        partial(
            f,
            **{k: v for k, v in given.items() if k in inspect.signature(f).parameters},
        )
        for f in (module.start, module.play)
    ]


def measured(c, family, x):
    if c["average"]["of"] == "gap":
        return family.gap(x)
    return family.mean_slope(x) ** 2


def along_all_cohorts(c, family, x0):
    """E M_0, E M_1, ... as far as the tree of cohorts is small."""
    start, play = loops(c)
    drawn = cohorts(c["law"])

    def gradient(i, x):
        return [family.slope(i, x[0])]

    states = [(Fraction(1), start(gradient, family.n, [x0]))]
    for _ in range(ROUNDS):
        yield sum(p * measured(c, family, s["model"][0]) for p, s in states)
        if len(states) * len(drawn) > LEAVES:
            return
        states = [
            (p * q, play(s, gradient, family.n, cohort))
            for p, s in states
            for cohort, q in drawn
        ]


def flat(state):
    rows = [v if isinstance(v[0], list) else [v] for v in state.values()]
    return [row for group in rows for row in group]


def by_moments(c, family, x0, rounds):
    """E M_0, E M_1, ... of quadratics; a slot is a row of the unknowns and 1."""
    start, play = loops(c)
    bends = [curve.bends[0] for curve in family.curves]
    begun = start(lambda i, x: [family.slope(i, x[0])], family.n, [x0])
    size = len(flat(begun))
    units = iter([Fraction(a == b) for b in range(size + 1)] for a in range(size))
    one = [Fraction(0)] * size + [Fraction(1)]
    state = {
        slot: [next(units) for _ in v] if isinstance(v[0], list) else next(units)
        for slot, v in begun.items()
    }

    def gradient(i, x):
        return [bends[i] * a + family.tilts[i] * b for a, b in zip(x, one, strict=True)]

    steps = []
    for cohort, p in cohorts(c["law"]):
        after = play(state, gradient, family.n, cohort)
        steps.append((exact(p), _matrix([*flat(after), one])))
    start_row = _matrix([[*(v[0] for v in flat(begun)), Fraction(1)]])
    moment = start_row.transpose() * start_row
    away = list(state["model"])
    away[-1] -= family.star
    row, bend = _matrix([away]), sum(bends) / Fraction(family.n)
    factor = bend / 2 if c["average"]["of"] == "gap" else bend**2
    for _ in range(rounds):
        square = (row * moment * row.transpose())[0, 0]
        yield factor * Fraction(int(square.numer()), int(square.denom()))
        moment = _sum(p * a * moment * a.transpose() for p, a in steps)


def _sum(matrices):
    first, *more = matrices
    return sum(more, first)


def _matrix(rows):
    return fmpq_mat([[exact(Fraction(x)) for x in row] for row in rows])


# ------------------------------------------------------------------ the bounds


def bound(c, family, x0, rounds):
    """What a certificate says of the sum of E M over so many rounds."""
    weight, start = Fraction(c["average"]["weight"]), c["start"]
    constant = Fraction((c["neighbourhood"] or {}).get("constant", 0))
    at_start = Fraction(start["C0"]) * family.gap(x0)
    at_start += Fraction(start["C1"]) * (x0 - family.star) ** 2
    at_start += Fraction(start["C2"]) * family.spread()
    return (at_start + rounds * constant * family.spread()) / weight


def nearest(c, family, x0, expected):
    """The largest quotient of a sum of E M and its bound."""
    total, largest = Fraction(0), Fraction(0)
    for k, value in enumerate(expected, 1):
        total += value
        most = bound(c, family, x0, k)
        if total or most:
            largest = max(largest, total / most)
    return largest


def class_of(c):
    table = c["function_class"]
    return Fraction(table["strong_convexity"]), Fraction(table["smoothness"])


def clients(c):
    law = c["law"]
    return law.get("n_clients") or sum(q["clients"] for q in law["classes"])


def tilts(n, draw):
    """Gradients at the minimiser, which add to zero."""
    free = [Fraction(draw.choice([0, 0, 1, -3])) for _ in range(n - 1)]
    return [*free, -sum(free, Fraction(0))]


def quadratics(c, draw):
    """Equal curvatures that are large or small, and some that differ."""
    (mu, smooth), n = class_of(c), clients(c)
    few = [smooth, smooth / 2, smooth / 5, smooth / 20]
    yield from (([h] * n, [Fraction(0)] * n) for h in few)
    for _ in range(4):
        bends = [draw.choice([mu, Fraction(0), *few]) for _ in range(n - 1)]
        last = max(smooth / 20, *(-sum(bends) + smooth / 10, mu))
        if last <= smooth:
            yield [*bends, last], tilts(n, draw)
    if mu <= 0:
        yield [Fraction(0)] * n, tilts(n, draw)  # the mean is constant


def others(c, draw):
    """Huber functions, squares of max(x, 0), double wells, for all or for some."""
    (mu, smooth), n = class_of(c), clients(c)
    low = max(mu, Fraction(0))
    width = draw.choice([Fraction(1, 2), Fraction(3, 4), Fraction(3, 2)])
    huber = Curve([-width, width], [low, smooth, low])
    half = Curve([Fraction(0)], [low, smooth])
    bowl = Curve([], [smooth])
    yield [huber] * n, [Fraction(0)] * n
    yield [huber, *[bowl] * (n - 1)], tilts(n, draw)
    yield [half, *[huber] * (n - 1)], tilts(n, draw)
    if mu < 0:
        well = Curve([-width, width], [smooth, mu, smooth])
        yield [well] * n, tilts(n, draw)
        yield [well, *[bowl] * (n - 1)], tilts(n, draw)


@cache
def quotients(name):
    """How near functions come to a bound: all quotients."""
    c, draw, out = found(name).certificate, Random(name), []
    for bends, slopes in quadratics(c, draw):
        family = Family([Curve([], [h]) for h in bends], slopes)
        x0 = family.star + draw.choice([1, -2])
        out.append(nearest(c, family, x0, by_moments(c, family, x0, ROUNDS)))
    for curves, slopes in others(c, draw):
        family = Family(curves, slopes)
        for away in (1, -2):
            x0 = family.star + away
            out.append(nearest(c, family, x0, along_all_cohorts(c, family, x0)))
    return out


@EVERY
def test_no_function_breaks_a_bound(name):
    assert max(quotients(name)) <= 1


@pytest.mark.parametrize("name", sorted(TIGHT))
def test_a_bound_made_smaller_is_broken(name):
    assert max(quotients(name)) > Fraction(7, 10)

"""Functions whose mean obeys |f'|^2 >= 2 beta (f - f*), and what a loop makes of them.

All in rationals: piecewise quadratics of one variable, whose gradients are piecewise
linear, and quadratics of two. The minimiser of the mean is 0.
"""

from __future__ import annotations

import importlib
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from inspect import signature
from itertools import pairwise

from tests.certify import dense

ONE, ZERO = Fraction(1), Fraction(0)


@dataclass(frozen=True)
class Pieces:
    """Clients of one variable: f_i has the slope slopes[i][k] of f_i' on piece k.

    Pieces end at `ends`, which increase; f_i'(0) is tilts[i], and tilts add up to zero.
    """

    ends: list
    slopes: list
    tilts: list

    def gradient(self, i, x):
        return [self._slope_at(self.slopes[i], x[0]) + self.tilts[i]]

    def gap(self, x):
        """Return f(x) - f(0), f the mean."""
        return sum(
            (h / 2 * (b * b - a * a) + c * (b - a)) for h, c, a, b in self._to(x)
        )

    def _to(self, x):
        """Slope, offset and ends of the pieces of f' between 0 and x."""
        for a, b in pairwise(self._stops(x[0])):
            h = self.mean[bisect_right(self.ends, (a + b) / 2)]
            yield h, self._slope_at(self.mean, a) - h * a, a, b

    def _stops(self, x):
        low, high = min(ZERO, x), max(ZERO, x)
        stops = [low, *(t for t in self.ends if low < t < high), high]
        return stops if x >= 0 else stops[::-1]

    def _slope_at(self, slopes, x):
        """Integrate slopes from 0 to x."""
        stops = self._stops(x)
        return sum(
            slopes[bisect_right(self.ends, (a + b) / 2)] * (b - a)
            for a, b in pairwise(stops)
        )

    @cached_property
    def mean(self):
        return [
            sum(column) / len(self.slopes) for column in zip(*self.slopes, strict=True)
        ]

    @cached_property
    def smoothness(self):
        return max(abs(h) for row in self.slopes for h in row)

    @cached_property
    def dominance(self):
        """Return the largest beta, or 0.

        On a piece |f'|^2 - 2 h (f - f*) is constant, h its slope, so that the ratio of
        |f'|^2 to 2 (f - f*) is monotone: it is least at an end, at 0 or far away.
        """
        around = {bisect_left(self.ends, ZERO), bisect_right(self.ends, ZERO), 0, -1}
        least = min(self.mean[k] for k in around)
        there = [(t, self._slope_at(self.mean, t)) for t in self.ends if t]
        if least <= 0 or any(g * t <= 0 for t, g in there):
            return ZERO
        return min([least, *(g * g / (2 * self.gap([t])) for t, g in there)])


@dataclass(frozen=True)
class Plane:
    """Quadratics x'H_i x/2 + b_i'x of two variables, the b_i adding up to zero."""

    hessians: list
    tilts: list

    def gradient(self, i, x):
        rows = zip(self.hessians[i], self.tilts[i], strict=True)
        return [sum(h * v for h, v in zip(row, x, strict=True)) + b for row, b in rows]

    @cached_property
    def mean(self):
        n = len(self.hessians)
        return [
            [sum(h[a][b] for h in self.hessians) / n for b in (0, 1)] for a in (0, 1)
        ]

    def gap(self, x):
        (a, b), (_, d) = self.mean
        return (a * x[0] ** 2 + 2 * b * x[0] * x[1] + d * x[1] ** 2) / 2

    def fits(self, smooth, beta):
        """Whether all are L-smooth, and the mean's eigenvalues 0 or at least beta."""
        for h in self.hessians:
            if not (_positive(h, -1, smooth) and _positive(h, 1, smooth)):
                return False
        (a, b), (_, d) = self.mean
        flat = a * d == b * b and a + d >= beta
        return flat or _positive(self.mean, 1, -beta)


def _positive(h, sign, shift):
    """Whether sign H + shift is positive semidefinite."""
    (a, b), (_, d) = h
    a, d = sign * a + shift, sign * d + shift
    return a >= 0 and d >= 0 and a * d >= b * b


class Game:
    """The plain loop of a certificate, its law, and what is claimed."""

    def __init__(self, certificate, kind=Fraction):
        entry = certificate["algorithm"]
        loop = importlib.import_module(f"flverify.reference.{entry['name']}")
        given = {k: _setting(v, kind) for k, v in entry["settings"].items()}
        self._start, self._play = (
            (f, {k: v for k, v in given.items() if k in signature(f).parameters})
            for f in (loop.start, loop.play)
        )
        sets, of_class = dense.outcomes(certificate["law"])
        self.n = len(of_class)
        self.sets = [(sorted(s), _exact(p, kind)) for s, p in sets.items()]
        table = certificate["dominance"]
        self.beta = kind(Fraction(table["beta"]))
        self.smooth = kind(Fraction(certificate["function_class"]["smoothness"]))
        self.rho = kind(Fraction(certificate["rho"]))
        bound = Fraction(certificate["start"]["C0"]) / Fraction(table["v"])
        self.bound = kind(bound)

    def gaps(self, clients, x0, rounds):
        """Return E f(x_r) - f(x*), r from 0; equal states are played once."""
        begin, settings = self._start
        states = [(ONE, begin(clients.gradient, self.n, x0, **settings))]
        found = []
        for r in range(rounds + 1):
            found.append(sum(p * clients.gap(s["model"]) for p, s in states))
            states = self._next(states, clients) if r < rounds else []
        return found

    def _next(self, states, clients):
        play, settings = self._play
        merged = {}
        for p, state in states:
            for cohort, chance in self.sets:
                new = play(state, clients.gradient, self.n, cohort, **settings)
                key = repr(new)
                merged[key] = (merged.get(key, (0,))[0] + p * chance, new)
        return list(merged.values())

    def ratios(self, clients, x0, rounds, rho=None):
        """Return E gap_r over what is claimed of it, r from 0."""
        found, rho = self.gaps(clients, x0, rounds), rho or self.rho
        return [g / (self.bound * rho**r * found[0]) for r, g in enumerate(found)]


def _exact(p, kind):
    return kind(Fraction(int(p.p), int(p.q)))


def _setting(value, kind):
    if isinstance(value, int):
        return value
    try:
        return kind(Fraction(value))
    except ValueError:
        return value

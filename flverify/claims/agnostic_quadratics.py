"""Rate (9) of the agnostic paper on quadratics of two clients in the plane.

Every sequence of five cohorts is listed: in rationals on a box, in floats, for more
data, on a box and on a ball. Theta is C, so that G is the largest |grad f_i| there, or
a little more where that is irrational; ell = G and sigma = 0.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.claims.judge import Case
from flverify.reference import agnostic_fedavg

ROUNDS = 5
RADIUS = Fraction(3, 2)
PERIODS = (2, 3, 4)
STEPS = (Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2))
DATA_SETS = 10  # of the float instances
ANGLES = 720  # points of the circle where |grad f_i| is sampled
COHORTS = (frozenset({0}), frozenset({1}), frozenset({0, 1}))
EXACT = "one random problem for each H = 2, 3, 4 and eta = 1/1000, 1/20, 1/2; T = 5"
FLOATS = "ten random problems for each H, eta and set C; T = 5, every path"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two clients (x - b_i)'A_i(x - b_i)/2, with a law on the three cohorts."""

    hessians: tuple[tuple[tuple[Fraction, ...], ...], ...]
    centres: tuple[tuple[Fraction, ...], ...]
    law: tuple[Fraction, ...]

    @property
    def weights(self) -> tuple[Fraction, Fraction]:
        """Return the p_i of (2)."""
        alone, other, both = self.law
        return alone + both / 2, other + both / 2

    def gradient(self, i: int, x: Any) -> list[Any]:
        """Gradient of f_i, in whatever numbers x has."""
        gap = [v - b for v, b in zip(x, self.centres[i], strict=True)]
        return [
            sum(h * g for h, g in zip(row, gap, strict=True))
            for row in self.hessians[i]
        ]

    def value(self, x: Any) -> Any:
        """Objective (3)."""
        total = Fraction(0)
        for i, p in enumerate(self.weights):
            gap = [v - b for v, b in zip(x, self.centres[i], strict=True)]
            total += (
                p
                * sum(g * v for g, v in zip(self.gradient(i, x), gap, strict=True))
                / 2
            )
        return total

    def mean(self) -> tuple[list[list[Any]], list[Any]]:
        """Hessian of (3), and its gradient at 0 with the sign changed."""
        p = self.weights
        hessian = [
            [sum(p[i] * self.hessians[i][j][k] for i in (0, 1)) for k in (0, 1)]
            for j in (0, 1)
        ]
        pulls = [self.gradient(i, (Fraction(0), Fraction(0))) for i in (0, 1)]
        return hessian, [-sum(p[i] * pulls[i][j] for i in (0, 1)) for j in (0, 1)]

    def best_on_box(self) -> tuple[Fraction, ...]:
        """Minimise (3) on the box: the best of its inside, sides and corners."""
        (a, b), (_, d) = self.mean()[0]
        u, v = self.mean()[1]
        det = a * d - b * b
        found = [((d * u - b * v) / det, (a * v - b * u) / det)]
        for end in (-RADIUS, RADIUS):
            found += [(end, (v - b * end) / d), ((u - b * end) / a, end)]
            found += [(end, -RADIUS), (end, RADIUS)]
        inside = [x for x in found if all(abs(v) <= RADIUS for v in x)]
        return min(inside, key=self.value)

    def steepest_on_box(self) -> Fraction:
        """G^2 on the box: a convex function is largest at a corner."""
        corners = list(product((-RADIUS, RADIUS), repeat=2))
        return max(
            sum((g * g for g in self.gradient(i, x)), Fraction(0))
            for i in (0, 1)
            for x in corners
        )


@cache
def problem(seed: int) -> Pair:
    """Draw a problem: A_i = B'B/4 + 1/4, entries of B and b_i small rationals."""
    draw = random.Random(seed)  # noqa: S311 - generated data, not a secret

    def hessian() -> tuple[tuple[Fraction, ...], ...]:
        b = [[draw.randint(-2, 2) for _ in (0, 1)] for _ in (0, 1)]
        return tuple(
            tuple(
                Fraction(sum(row[j] * row[k] for row in b) + (j == k), 4)
                for k in (0, 1)
            )
            for j in (0, 1)
        )

    hessians = (hessian(), hessian())
    centres = tuple(
        tuple(Fraction(draw.randint(-8, 8), 4) for _ in (0, 1)) for _ in (0, 1)
    )
    parts = [draw.randint(1, 4) for _ in COHORTS]
    return Pair(hessians, centres, tuple(Fraction(p, sum(parts)) for p in parts))


def local_steps(schedule: str, period: int) -> int:
    """Local steps between two communications."""
    return period - 1 if schedule == "literal" else period


def right_side(
    terms: Mapping[str, Any], start: Any, square: Any, step: Fraction, period: int
) -> Any:
    """Right side of (9) with ell G = G^2 and sigma = 0, from |start - theta*|^2."""
    cross, own = Fraction(terms["ell G H"]), Fraction(terms["G^2"])
    return start / (2 * step * period * ROUNDS) + step * square * (own + cross * period)


# -- in rationals, on the box --------------------------------------------------------


def exact_cases(schedule: str, terms: Any, factor: Any) -> Iterator[Case]:
    """Both sides of (9) on the box, one problem for every H and eta."""
    for seed, (period, step) in enumerate(product(PERIODS, STEPS)):
        one = problem(seed)
        best = one.best_on_box()
        far = sum((v * v for v in best), Fraction(0))
        right = right_side(terms, far, one.steepest_on_box(), step, period)
        left = mean_value(seed, schedule, period, step) - one.value(best)
        at: dict[str, Any] = {
            "A": one.hessians,
            "b": one.centres,
            "law of {1}, {2}, {1, 2}": one.law,
        }
        at |= {"H": period, "eta": step, "T": ROUNDS, "schedule": schedule}

        def again(
            key: Any = (seed, schedule, period, step),
            best: Any = best,
            right: Any = right,
        ) -> tuple[Any, Any]:
            return plain_value(*key) - problem(key[0]).value(best), factor * right

        yield Case(at, left, factor * right, again)


@cache
def mean_value(seed: int, schedule: str, period: int, step: Fraction) -> Fraction:
    """E f(average model) over all paths, by a walk that shares their beginnings."""
    one, steps = problem(seed), local_steps(schedule, period)
    paths = [(Fraction(1), (Fraction(0), Fraction(0)), (Fraction(0), Fraction(0)))]
    for _ in range(ROUNDS):
        longer = []
        for chance, model, total in paths:
            ends = [_moved(one, i, model, step, steps) for i in (0, 1)]
            for members, p in zip(COHORTS, one.law, strict=True):
                server = tuple(
                    sum(ends[i][j] for i in members) / len(members) for j in (0, 1)
                )
                added = (total[0] + server[0], total[1] + server[1])
                longer.append((chance * p, (server[0], server[1]), added))
        paths = longer
    return sum(
        (c * one.value([v / ROUNDS for v in total]) for c, _, total in paths),
        Fraction(0),
    )


def _moved(one: Pair, i: int, x: Any, step: Fraction, steps: int) -> Any:
    for _ in range(steps):
        pull = one.gradient(i, x)
        x = [
            min(max(v - step * g, -RADIUS), RADIUS)
            for v, g in zip(x, pull, strict=True)
        ]
    return x


def plain_value(seed: int, schedule: str, period: int, step: Fraction) -> Fraction:
    """E f(average model), every path by the plain loop."""
    one, total = problem(seed), Fraction(0)
    for path in product(list(zip(COHORTS, one.law, strict=True)), repeat=ROUNDS):
        chance = Fraction(1)
        for _, p in path:
            chance *= p
        models = agnostic_fedavg.run(
            one.gradient,
            2,
            [Fraction(0), Fraction(0)],
            [members for members, _ in path],
            step_size=step,
            period=period,
            schedule=schedule,
            projection=("box", -RADIUS, RADIUS),
        )
        mean = [sum((m[j] for m in models[1:]), Fraction(0)) / ROUNDS for j in (0, 1)]
        total += chance * one.value(mean)
    return total


# -- in floats, on the box and on the ball -------------------------------------------


def float_cases(schedule: str, terms: Any, factor: Any) -> Iterator[Case]:
    """Both sides of (9) for more problems, on both sets."""
    for region, period, step in product(("box", "ball"), PERIODS, STEPS):
        for seed in range(100, 100 + DATA_SETS):
            one = problem(seed)
            best, square = _geometry(seed, region)
            far = float(best @ best)
            right = float(
                right_side(terms, Fraction(far), Fraction(square), step, period)
            )
            left = _float_mean(seed, schedule, period, step, region)
            gap = left - float(one.value(best))
            at = {"seed": seed, "C": region, "H": period, "eta": step}
            yield Case(at | {"schedule": schedule}, gap, float(factor) * right)


@cache
def _geometry(seed: int, region: str) -> tuple[Array, float]:
    """theta* on the set, and G^2; on the ball G is sampled and enlarged."""
    one = problem(seed)
    if region == "box":
        best = np.array([float(v) for v in one.best_on_box()])
        return best, float(one.steepest_on_box())
    hessian, linear = (np.array(part, dtype=float) for part in one.mean())
    radius = float(RADIUS)
    angles = 2 * np.pi * np.arange(ANGLES) / ANGLES
    circle = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    matrices = np.array(one.hessians, dtype=float)
    centres = np.array(one.centres, dtype=float)
    pulls = np.einsum("ijk,aik->aij", matrices, circle[:, None] - centres)
    sampled = np.sqrt((pulls**2).sum(axis=2)).max()
    between = np.linalg.norm(matrices, 2, axis=(1, 2)).max() * radius * np.pi / ANGLES
    return _on_ball(hessian, linear, radius), float((sampled + between) ** 2)


def _on_ball(hessian: Array, linear: Array, radius: float) -> Array:
    """Minimise x'Hx/2 - linear'x on the ball, by bisection of the multiplier."""
    free = np.linalg.solve(hessian, linear)
    if free @ free <= radius**2:
        return free
    low, high = 0.0, float(np.linalg.norm(linear)) / radius
    for _ in range(80):
        middle = (low + high) / 2
        x = np.linalg.solve(hessian + middle * np.eye(2), linear)
        low, high = (middle, high) if x @ x > radius**2 else (low, middle)
    return np.linalg.solve(hessian + high * np.eye(2), linear)


def _float_mean(
    seed: int, schedule: str, period: int, step: Fraction, region: str
) -> float:
    """E f(average model) over all paths, all of them at once."""
    one, steps, eta = problem(seed), local_steps(schedule, period), float(step)
    matrices = np.array(one.hessians, dtype=float)
    centres = np.array(one.centres, dtype=float)
    law = np.array(one.law, dtype=float)
    server, total, chance = np.zeros((1, 2)), np.zeros((1, 2)), np.ones(1)
    for _ in range(ROUNDS):
        x = np.repeat(server[:, None], 2, axis=1)
        for _ in range(steps):
            x = x - eta * np.einsum("ijk,pik->pij", matrices, x - centres)
            x = _project(x, region)
        servers = np.stack([x[:, 0], x[:, 1], x.mean(axis=1)], axis=1)
        total = (total[:, None] + servers).reshape(-1, 2)
        server = servers.reshape(-1, 2)
        chance = (chance[:, None] * law).ravel()
    gaps = total[:, None] / ROUNDS - centres
    values = np.einsum("pij,ijk,pik->pi", gaps, matrices, gaps) / 2
    weights = np.array(one.weights, dtype=float)
    return float(chance @ values @ weights)


def _project(x: Array, region: str) -> Array:
    radius = float(RADIUS)
    if region == "box":
        return np.clip(x, -radius, radius)
    lengths = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return np.asarray(x * (radius / np.maximum(lengths, radius)))

"""Algorithms a user might write in a test file; nothing of them is registered."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from flverify.problems import Quadratics
from flverify.testing import Algorithm, Clients, Server, gradient_steps


def across(mu, linear):
    """One client with curvatures 1 and mu across the coordinates, in floats.

    Its x* in floats is lost to about eps/mu of its size.
    """
    hessian = [[0.64 + 0.36 * mu, 0.48 * (mu - 1)], [0.48 * (mu - 1), 0.36 + 0.64 * mu]]
    return Quadratics([hessian], [linear])


def in_rationals(problem):
    """Return the same problem with its floats as rationals, whose x* is exact."""
    return Quadratics(*(_rationals(v) for v in (problem.hessians, problem.linear)))


def _rationals(values):
    return np.array([Fraction(v) for v in values.flat]).reshape(values.shape)


class MomentumState(NamedTuple):
    model: Server
    previous: Server


@dataclass(frozen=True)
class HeavyBall(Algorithm):
    """x+ = x - step_size mean grad f_i(x) + momentum (x - x-)."""

    step_size: Any
    momentum: Any

    State = MomentumState

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return MomentumState(start, start)

    def round(self, state, cohort, oracle):
        here = cohort.broadcast(state.model)
        total = cohort.everyone(oracle.gradient(here))
        share = self.step_size / cohort.n_clients
        moved = state.model - share * total
        moved = moved + self.momentum * (state.model - state.previous)
        return MomentumState(moved, state.model)


class Turn(NamedTuple):
    model: Server
    along: Server
    across: Server


@dataclass(frozen=True)
class Turning(Algorithm):
    """Gradient descent that a constant pushes around without end."""

    cos: Any
    sin: Any
    step_size: Any = Fraction(1, 40)

    State = Turn

    def init(self, start, cohort, oracle):
        begun = cohort.everyone(oracle.gradient(0 * cohort.broadcast(start)))
        return Turn(start, begun, 0 * begun)

    def round(self, state, cohort, oracle):
        slopes = cohort.everyone(oracle.gradient(cohort.broadcast(state.model)))
        return Turn(
            state.model - self.step_size * slopes + Fraction(1, 10) * state.along,
            self.cos * state.along - self.sin * state.across,
            self.sin * state.along + self.cos * state.across,
        )


class Drift(NamedTuple):
    model: Server
    extra: Server


@dataclass(frozen=True)
class Drifting(Algorithm):
    """Gradient descent beside a slot that starts at a constant and grows."""

    factor: Any
    step_size: Any = Fraction(1, 4)

    State = Drift

    def init(self, start, cohort, oracle):
        return Drift(
            start, cohort.everyone(oracle.gradient(0 * cohort.broadcast(start)))
        )

    def round(self, state, cohort, oracle):
        slopes = cohort.everyone(oracle.gradient(cohort.broadcast(state.model)))
        moved = state.model - self.step_size * slopes + Fraction(1, 10) * state.extra
        return Drift(moved, self.factor * state.extra)


class TaggedState(NamedTuple):
    model: Server
    tags: Clients


@dataclass(frozen=True)
class MifaLike(Algorithm):
    """Server steps along the mean of the clients' last gradients."""

    step_size: Any

    State = TaggedState

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return TaggedState(start, 0 * cohort.broadcast(start))

    def round(self, state, cohort, oracle):
        new = oracle.gradient(cohort.pull(state.model))
        tags = cohort.select(new, state.tags)
        share = self.step_size / cohort.n_clients
        return TaggedState(state.model - share * cohort.everyone(tags), tags)


@dataclass(frozen=True)
class ForgetsFlag(Algorithm):
    """Wrong on purpose: divides by the number of clients where it means |S|."""

    step_size: Any
    local_steps: int = 1

    class State(NamedTuple):
        model: Server

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return self.State(start)

    def round(self, state, cohort, oracle):
        here = cohort.pull(state.model)
        local = gradient_steps(here, self.step_size, self.local_steps, oracle)
        return self.State(Fraction(1, cohort.n_clients) * cohort.sum(local))


class DriftState(NamedTuple):
    model: Server
    pile: Server


@dataclass(frozen=True)
class PilesUp(Algorithm):
    """Two runs come together, yet a pile of gradients of one start grows for ever."""

    step_size: Any

    State = DriftState

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return DriftState(start, 0 * start)

    def round(self, state, cohort, oracle):
        all_here = cohort.broadcast(0 * state.model)
        pile = state.pile + cohort.everyone(oracle.gradient(all_here))
        return DriftState(self.step_size * state.model + pile, pile)


class ChainState(NamedTuple):
    model: Server
    a: Server
    b: Server
    c: Server
    d: Server


@dataclass(frozen=True)
class FiveFold(Algorithm):
    """x+ = x - step_size g + sum_j pulls_j (x_{-j} - x_{-j-1}), four differences."""

    step_size: Any
    pulls: tuple[Any, ...]

    State = ChainState

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return ChainState(*[start] * 5)

    def round(self, state, cohort, oracle):
        here = cohort.broadcast(state.model)
        moved = state.model - self.step_size * cohort.everyone(oracle.gradient(here))
        for pull, new, old in zip(self.pulls, state, state[1:], strict=False):
            moved = moved + pull * (new - old)
        return ChainState(moved, *state[:4])


def fivefold(root):
    """On x^2/2 - 2x its error has the characteristic polynomial (z - root)^5."""
    signs = (-5 * root, 10 * root**2, -10 * root**3, 5 * root**4, -(root**5))
    last = signs[4]
    third = last + signs[3]
    second = third + signs[2]
    first = second + signs[1]
    return FiveFold(1 + first + signs[0], (first, second, third, last))


@dataclass(frozen=True)
class Ruled(Algorithm):
    """One slot, and whatever a function makes of it."""

    rule: Any
    step_size: Any = Fraction(1, 8)

    class State(NamedTuple):
        model: Server

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return self.State(start)

    def round(self, state, cohort, oracle):
        return self.State(self.rule(self, state, cohort, oracle))


def two_aggregates(self, state, cohort, oracle):
    """Two steps, with an aggregate in between: outcomes are gone through one by one."""
    for _ in range(2):
        here = cohort.pull(state.model)
        moved = here - self.step_size * oracle.gradient(here)
        state = self.State(cohort.mean(moved, otherwise=state.model))
    return state.model


def fedavg_function(masks, gradient, start):
    """FedAvg with two local steps of size 1/4, one run, in plain numpy."""
    models = [start]
    for mask in masks:
        x = models[-1]
        local = []
        for client in np.flatnonzero(mask):
            point = x
            for _ in range(2):
                point = point - 0.25 * gradient(client, point)
            local.append(point)
        models.append(np.mean(local, axis=0) if local else x)
    return np.array(models)


@dataclass(frozen=True)
class BeginsElsewhere(Algorithm):
    """Gradient descent from a multiple of the start."""

    factor: Any
    step_size: Any = Fraction(1, 8)

    class State(NamedTuple):
        model: Server

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return self.State(self.factor * start)

    def round(self, state, cohort, oracle):
        slopes = cohort.everyone(oracle.gradient(cohort.broadcast(state.model)))
        return self.State(state.model - self.step_size * slopes)

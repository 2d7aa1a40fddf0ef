"""Runs on which the matrix recursions of FOCUS are compared with its box.

They are rational quadratics, where a difference is a counterexample, and rounds on
formal gradients, names without a formula, where agreement holds for every
differentiable f_i in any dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import sympy

from flverify.claims.scalar_runs import (
    CURVATURES,
    MINIMISERS,
    START,
    STEP,
    Cohort,
    ScalarRun,
    quadratic,
    tidied,
)
from flverify.reference import focus

ETA = sympy.Symbol("eta")
FORMAL = (
    "N, tau = 1..3, every cohort, differentiable f_i, step size, start and number of "
    "rounds"
)


class Run(ScalarRun):
    """A run of FOCUS; `client_starts` are rows of x, "which can be any values"."""

    @cached_property
    def box(self) -> list[Any]:
        """Server models x_0, x_1, ... of Algorithm 1, by the plain loop."""
        models = focus.run(
            lambda i, point: [self.gradient(i, point[0])],
            self.n_clients,
            [self.start],
            self.cohorts[:-1],
            step_size=self.step_size,
            local_steps=self.local_steps,
        )
        return [tidied(model[0]) for model in models]

    def cohort(self, r: int) -> Cohort:
        """S_r, empty outside the listed rounds."""
        return self.cohorts[r] if 0 <= r < len(self.cohorts) else frozenset()

    def later(self) -> Run:
        """Return the run with a round of nobody before it."""
        return replace(self, cohorts=(frozenset(), *self.cohorts))

    def where(self, r: int) -> dict[str, Any]:
        """Return the instance at round r, for a report; clients count from 1."""
        return {
            "N": self.n_clients,
            "tau": self.local_steps,
            "cohorts": [sorted(i + 1 for i in s) for s in self.cohorts],
            "h": list(CURVATURES[: self.n_clients]),
            "b": list(MINIMISERS[: self.n_clients]),
            "step size": self.step_size,
            "x_0": [self.start, *self.client_starts],
            "rounds": r,
        }


def rational_runs() -> Iterator[Run]:
    """List runs on f_i = h_i (x - b_i)^2 / 2 with N <= 2, small ones first.

    tau = 2 comes first: it is the least tau with a local move.
    """
    for n, tau in product((1, 2), (2, 1, 3, 5)):
        starts = tuple(Fraction(7 + i) for i in range(n))
        for cohorts in _sequences(n):
            yield Run(quadratic, cohorts, n, tau, STEP, START, starts)


def formal_rounds() -> Iterator[Run]:
    """List runs of one round, N and tau <= 3, every cohort, on formal gradients.

    Their first cohort is the round's, the second the next one's. Whatever holds from
    any state of such a round holds, by induction, in every round.
    """
    start, *starts = sympy.symbols("x0 z1:4")

    def gradient(i: int, model: Any) -> Any:
        return _NAMES[i](sympy.expand(model))

    for n, tau in product((1, 2, 3), (1, 2, 3)):
        for cohort in subsets(n):
            after = (cohort, frozenset(range(n)) - cohort)
            yield Run(gradient, after, n, tau, ETA, start, tuple(starts[:n]))


def _formal(i: int) -> Any:
    """Name a function; at a rational point it is the quadratic's gradient.

    So an identity is shown for the name alone, and where it fails it can be evaluated.
    """

    def evaluate(_: object, point: Any) -> Any:
        if not point.is_Rational:
            return None
        value = quadratic(i, Fraction(int(point.p), int(point.q)))
        return sympy.Rational(value.numerator, value.denominator)

    return type(f"g{i + 1}", (sympy.Function,), {"eval": classmethod(evaluate)})


_NAMES = tuple(_formal(i) for i in range(3))


def subsets(n: int) -> list[Cohort]:
    """Return every cohort of n clients, the empty one too."""
    return [frozenset(s) for m in range(n + 1) for s in combinations(range(n), m)]


def _sequences(n: int) -> Iterator[tuple[Cohort, ...]]:
    """Two rounds of any cohorts, and a third cohort unlike the second."""
    sets = subsets(n)
    for first, second in product(reversed(sets), repeat=2):
        yield first, second, sets[(sets.index(second) + 1) % len(sets)]

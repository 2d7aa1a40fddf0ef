"""Runs on which the matrix recursions of FOCUS are compared with its box.

They are rational quadratics, where a difference is a counterexample, and rounds on
formal gradients, names without a formula, where agreement holds for every
differentiable f_i in any dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import sympy

from flverify._core.exact import Array
from flverify.reference import focus

Cohort = frozenset[int]

CURVATURES = tuple(map(Fraction, (1, 3, 2)))
MINIMISERS = tuple(map(Fraction, (2, -1, 5)))
STEP = Fraction(1, 8)
START = Fraction(4)
ETA = sympy.Symbol("eta")
FORMAL = (
    "N, tau = 1..3, every cohort, differentiable f_i, step size, start and number of "
    "rounds"
)


@dataclass(frozen=True)
class Run:
    """Data of one run with scalar models.

    Parameters
    ----------
    gradient : callable
        `gradient(i, model)` of client i, counted from 0.
    cohorts : tuple of frozenset
        One more than there are rounds: a recursion may look ahead.
    n_clients, local_steps : int
        N and tau.
    step_size, start : number or symbol
        eta, and the server model at the start.
    client_starts : tuple
        Client rows of x at the start, "which can be any values".
    """

    gradient: Callable[[int, Any], Any]
    cohorts: tuple[Cohort, ...]
    n_clients: int
    local_steps: int
    step_size: Any
    start: Any
    client_starts: tuple[Any, ...]

    @property
    def rounds(self) -> int:
        """Number of rounds that are compared."""
        return len(self.cohorts) - 1

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

    def stacked_gradient(self, models: Array) -> Array:
        """Return [0; grad f_1(x_1); ...; grad f_N(x_N)] for the rows x_0, ..., x_N."""
        rows = [self.gradient(i, model) for i, model in enumerate(models[1:])]
        return column([0, *rows])

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

    def __str__(self) -> str:
        sets = [sorted(i + 1 for i in s) for s in self.cohorts[:-1]]
        return f"N = {self.n_clients}, tau = {self.local_steps}, cohorts {sets}"


def rational_runs() -> Iterator[Run]:
    """List runs on f_i = h_i (x - b_i)^2 / 2 with N <= 2, small ones first.

    tau = 2 comes first: it is the least tau with a local move.
    """
    for n, tau in product((1, 2), (2, 1, 3, 5)):
        starts = tuple(Fraction(7 + i) for i in range(n))
        for cohorts in _sequences(n):
            yield Run(quadratic, cohorts, n, tau, STEP, START, starts)


def quadratic(i: int, model: Any) -> Any:
    """Gradient h_i (x - b_i) of the rational runs."""
    return CURVATURES[i] * (model - MINIMISERS[i])


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


def column(values: Sequence[Any]) -> Array:
    """Stack scalars of any kind."""
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def tidy(values: Array) -> Array:
    """Expand every row, so that equal formulas are equal objects."""
    return column([tidied(v) for v in values])


def tidied(value: Any) -> Any:
    """Expand a formula; numbers stay as they are."""
    return sympy.expand(value) if isinstance(value, sympy.Expr) else value

"""The race of Figure 4 of the FOCUS paper: runs on many data sets, and what is seen.

Errors are relative and squared, |x_r - x*|^2/|x_0 - x*|^2 from x_0 = 0. What counts as
converging, stalling or diverging is said here once; how often it must be seen is for
the judge to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array, parse_number
from flverify.algorithms._algorithm import Algorithm
from flverify.algorithms.scaffold import Scaffold
from flverify.claims import figure4
from flverify.engines.moments import moments
from flverify.engines.simulate import simulate
from flverify.participation._law import Participation
from flverify.problems.quadratics import Quadratics
from flverify.problems.ridge import synthetic_ridge

ROUNDING = 1e-10  # relative: what differs by less is equal to rounding
STALL = 0.25  # a curve that keeps this share of its error in a quarter has stalled
STRAIGHT = 3  # rounds for all digits over rounds for half of them, at most
BLOW_UP = 1e6  # relative squared error from which on a curve counts as diverging
SHORT = 40  # rounds that show whether curves blow up
COMMON = 20  # rounds in which curves that coincide are compared

# Rounds of algorithms that do not converge, of which one draw is run.
_LENGTHS = {"fedavg": SHORT, "proxskip": SHORT, "fedau": 2 * SHORT}
_QUICK = ("focus", "matched")  # near the target after SHORT rounds with everybody


@dataclass(frozen=True)
class Experiment:
    """The numbers of the experiment: data sets, local steps and step size.

    Parameters
    ----------
    n_clients, dim, samples : int
        Sizes of `synthetic_ridge`.
    regularisation, step_size : str
        Decimal text.
    local_steps : int
        Local steps tau.
    data_sets : int
        How many, with the seeds 0, 1, ...
    """

    n_clients: int
    dim: int
    samples: int
    regularisation: str
    local_steps: int
    step_size: str
    data_sets: int

    @property
    def eta(self) -> float:
        """The step size as a float."""
        return float(parse_number(self.step_size))

    @property
    def cohort(self) -> int:
        """Cohort size of the sampled scenarios: a quarter of the clients."""
        return max(1, self.n_clients // 4)

    @property
    def scope(self) -> str:
        """What instances are looked at."""
        return (
            f"{self.data_sets} data sets of synthetic_ridge(N={self.n_clients}, "
            f"d={self.dim}, K={self.samples}), cohorts of {self.cohort} uniform or by "
            "the notebook's weights"
        )

    def problem(self, seed: int) -> Quadratics:
        """Return one data set."""
        return _ridge(self, seed)

    def law(self, scenario: str) -> Participation:
        """Return the law of a scenario."""
        return figure4.participation(scenario, self.n_clients, self.cohort)

    def racers(self) -> dict[str, Algorithm]:
        """Return the five algorithms, and SCAFFOLD with a matched server step."""
        matched = figure4.effective_step(self.local_steps, self.n_clients)
        other = Scaffold(self.eta, self.local_steps, server_step_size=matched)
        return figure4.algorithms(self.eta, self.local_steps) | {"matched": other}


@cache
def _ridge(e: Experiment, seed: int) -> Quadratics:
    ridge = float(parse_number(e.regularisation))
    return synthetic_ridge(e.n_clients, e.dim, e.samples, ridge, seed)


@dataclass(frozen=True, eq=False)
class Race:
    """All algorithms on one data set in one scenario, on common draws.

    Parameters
    ----------
    errors : mapping of (draws, rounds + 1) arrays, weight 1
        Relative squared errors, by algorithm; fewer draws of those that do not get
        anywhere, and fewer rounds.
    bias : float, weight 1
        |mean fixed point of FedAvg - x*|^2/|x*|^2, from exact first moments.
    """

    errors: Mapping[str, Array]
    bias: float = 0.0

    def rounds_to(self, name: str, target: float) -> float:
        """Count rounds until the error is below a target, in the median draw."""
        below = self.errors[name] < target
        first = np.where(below.any(axis=1), below.argmax(axis=1), np.inf)
        return float(np.median(first))

    def converges(self, name: str, target: float) -> bool:
        """Whether the target is reached in the median draw."""
        return bool(np.isfinite(self.rounds_to(name, target)))

    def is_linear(self, name: str, target: float) -> bool:
        """Whether half the digits take about half the rounds.

        At a rate rho^r they do; a power of r would have to square the rounds.
        """
        half = self.rounds_to(name, target**0.5)
        return (
            self.converges(name, target)
            and self.rounds_to(name, target) <= STRAIGHT * half
        )

    def stalls(self, name: str, target: float) -> bool:
        """Whether the mean stays above the target and has stopped falling."""
        mean = self.errors[name].mean(axis=0)
        quarter = len(mean) // 4
        late, before = mean[-quarter:].mean(), mean[-2 * quarter : -quarter].mean()
        return bool(mean.min() > target and late > STALL * before)

    def diverges(self, name: str) -> bool:
        """Whether every draw has blown up within the first rounds."""
        return bool((self.errors[name][:, SHORT] > BLOW_UP).all())

    def coincide(self, one: str, other: str) -> bool:
        """Whether two algorithms agree to rounding in the first rounds."""
        left, right = (self.errors[name][:, : COMMON + 1] for name in (one, other))
        return bool(np.allclose(left, right, rtol=ROUNDING, atol=ROUNDING**1.5))

    @property
    def is_biased(self) -> bool:
        """Whether the mean of FedAvg settles away from x*, beyond rounding."""
        return self.bias > ROUNDING


@dataclass(frozen=True, eq=False)
class _Runs(Mapping[str, Array]):
    """Relative squared errors by algorithm, each run when it is first asked for."""

    e: Experiment
    seed: int
    scenario: str
    draws: int
    rounds: int
    target: float
    _done: dict[str, Array] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        if name not in self._done:
            self._done[name] = self._errors(name)
        return self._done[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.e.racers())

    def __len__(self) -> int:
        return len(self.e.racers())

    def _errors(self, name: str) -> Array:
        """Run to the end; with everybody, no longer than needed."""
        if name in _LENGTHS:
            common = self.scenario == "full"  # what is asked is who coincides
            return self._run(name, COMMON if common else _LENGTHS[name], 1)
        if self.scenario == "full" and name in _QUICK:
            errors = self._run(name, SHORT, 1)
            if errors.min() < self.target:
                return errors
        return self._run(name, self.rounds, self.draws)

    def _run(self, name: str, rounds: int, draws: int) -> Array:
        ran = simulate(
            self.e.problem(self.seed),
            self.e.racers()[name],
            self.e.law(self.scenario),
            rounds=rounds,
            runs=draws,
            seed=self.seed,
        )
        if isinstance(ran, Refusal):
            raise RefusedError(str(ran))
        return ran.errors / ran.errors[:, :1]


@cache
def race(
    e: Experiment,
    seed: int,
    scenario: str,
    draws: int,
    rounds: int,
    target: float = 0.0,
) -> Race:
    """Run all algorithms on one data set, as far as they are asked for.

    Where everybody takes part all draws are alike: one is enough.

    Raises
    ------
    RefusedError
        If an engine does not accept the setting.
    """
    balanced = len(set(e.law(scenario).averaging_weights().tolist())) == 1
    bias = _bias(e, seed, "full" if balanced else scenario)
    return Race(_Runs(e, seed, scenario, draws, rounds, target), bias)


@cache
def _bias(e: Experiment, seed: int, scenario: str) -> float:
    """Relative squared bias of FedAvg, whose mean sees the weights q of a law alone."""
    problem = e.problem(seed)
    exact = moments(problem, e.racers()["fedavg"], e.law(scenario))
    if isinstance(exact, Refusal):
        raise RefusedError(str(exact))
    optimum = problem.minimiser()
    return float(exact.bias @ exact.bias / (optimum @ optimum))

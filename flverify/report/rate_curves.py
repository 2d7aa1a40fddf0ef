"""Curves of the theorems with a rate: printed, certified, exact and sampled.

Every function takes a `Plan` and yields the curves of one theorem against rounds, on
one small instance that starts at distance 1 from its minimiser.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array
from flverify.algorithms import FedAvg, Focus
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.check import check
from flverify.certify.neighbourhood import contraction
from flverify.certify.rates import Certified, certify
from flverify.claims import focus_caps, sg_focus_search
from flverify.claims.parallel_clients import Setting, step_cap
from flverify.claims.sg_focus_moments import NoisyClients
from flverify.engines.moments import moments
from flverify.engines.simulate import simulate
from flverify.participation import Bernoulli, Full, NonEmpty, UniformCohort
from flverify.participation._law import Participation
from flverify.problems import Quadratics
from flverify.report import theorem_plots
from flverify.report.noisy_focus import NoisyFocus
from flverify.report.theorem_plots import (
    Point,
    against_rounds,
    band,
    points,
    upwards,
)

SEED = 5
DRAWN, MARKED = 81, 13  # rounds that are kept of a line, and of exact marks
LEAST = 1e-13  # exact moments in floats say no more of errors that start at 1

HALF, ONE = Fraction(1, 2), Fraction(1)
FOUR = (HALF, ONE, HALF, ONE)  # curvatures


@dataclass(frozen=True)
class Plan:
    """What is computed of a theorem.

    Parameters
    ----------
    claim : str
    rounds, runs : int
        Rounds of every curve, and sampled runs.
    logarithmic : bool
        Whether rounds are spaced geometrically, from 1 on.
    method : str
        Of `simulate`.
    """

    claim: str
    rounds: int
    runs: int
    logarithmic: bool = False
    method: str = "auto"

    def known(self, kind: str, curve: Array) -> Iterator[Point]:
        """Yield a line, or marks of an exact curve as far as floats go."""
        if kind == "exact":
            below = np.flatnonzero(curve < LEAST)
            curve = curve[: below[0]] if len(below) else curve
        yield from self._thinned(kind, MARKED if kind == "exact" else DRAWN, curve)

    def sampled(self, errors: Array) -> Iterator[Point]:
        """Yield the mean over runs, (runs, rounds + 1), and its band."""
        mean, ends = errors.mean(axis=0), band(errors)
        yield from self._thinned("sampled", DRAWN, mean, *ends)

    def _thinned(self, kind: str, most: int, *columns: Array) -> Iterator[Point]:
        if not self.logarithmic:
            yield from against_rounds(self.claim, kind, most, *columns)
            return
        last = len(columns[0])
        kept = np.unique(np.geomspace(1, last, most).round().astype(int))
        chosen = (column[kept - 1] for column in columns)
        yield from points(self.claim, kind, kept.tolist(), *chosen)


# Theorem 1 -----------------------------------------------------------------------

PAIRED = UniformCohort(4, 2)


def _clients(law: Participation, h: tuple[Fraction, ...], tau: int) -> Any:
    return NoisyClients(h, law, tau)


def strongly_convex_step() -> Fraction:
    """Largest step size of (23) for `FOUR` and two local steps."""
    caps = theorem_plots.constants("focus_theorem1", "focus.thm1.sc")["caps"]
    one = _clients(PAIRED, FOUR, 2)
    return focus_caps.largest_step(caps, one, one.averaging)


def strongly_convex(plan: Plan) -> Iterator[Point]:
    """Theorem 1 of the FOCUS paper, (23)."""
    step, rounds = strongly_convex_step(), plan.rounds
    started = {"initial_gradients": "start", "initial_tracker": "sum"}
    algorithm = Focus(step, 2, **started)
    rate = float(1 - step * min(FOUR) * len(FOUR) / 2)
    yield from plan.known("printed", rate ** np.arange(rounds + 1))
    found = _centred(algorithm, PAIRED, FOUR)
    yield from plan.known("certified", _certified(found.certificate, rounds))
    problem = Quadratics([[[h]] for h in FOUR], [[0]] * len(FOUR)).as_float()
    floated = replace(algorithm, step_size=float(step))
    yield from _both(plan, problem, floated, PAIRED)
    one = NoisyFocus(tuple(map(float, FOUR)), PAIRED, 2, float(step))
    weight = float(1 - 8 * step * 2 * max(FOUR) * len(FOUR))  # 1 - 8 eta tau L N
    psi = one.moments(rounds) + weight * one.consensus(rounds)[1]
    yield from plan.known("lyapunov", psi)


def _certified(certificate: Any, rounds: int, at_optimum: float = 0.0) -> Array:
    """rho^r (C1 + C2 mean|g*|^2) from |x_0 - x*| = 1, as the checker proved it."""
    told = check(certificate)
    # the search minimises rho alone: other processors find C1 some 1e-4 away
    start = upwards(1.002 * (float(told.C1) + float(told.C2) * at_optimum))
    return float(told.rho) ** np.arange(rounds + 1) * start


def _centred(
    algorithm: Algorithm, law: Participation, h: tuple[Fraction, ...]
) -> Certified:
    """Certify a rate that is a little slower than the smallest.

    At the smallest, C1 is mere rounding: other processors find another.
    """
    setting = algorithm, law, min(h), max(h)
    smallest = certify(*setting)
    if smallest.rate is None:
        raise RefusedError(smallest.reason)
    rate = smallest.rate + (1 - smallest.rate) / 20
    slower = Fraction(math.ceil(rate * 10**4), 10**4)
    return certify(*setting, slower)


def _both(
    plan: Plan, problem: Quadratics, algorithm: Algorithm, law: Participation
) -> Iterator[Point]:
    """Exact and sampled curves from a start at distance 1."""
    start = problem.minimiser() + _unit(problem.dim)
    exact, runs = exact_and_sampled(problem, algorithm, law, start, plan)
    yield from plan.known("exact", exact)
    yield from plan.sampled(runs)


def exact_and_sampled(
    problem: Quadratics,
    algorithm: Algorithm,
    law: Participation,
    start: Array,
    plan: Plan,
) -> tuple[Array, Array]:
    """Return E|x_r - x*|^2, and |x_r - x*|^2 of sampled runs.

    Raises
    ------
    RefusedError
        If an engine does not take the setting.
    """
    found = moments(problem, algorithm, law)
    runs = simulate(
        problem,
        algorithm,
        law,
        rounds=plan.rounds,
        runs=plan.runs,
        seed=SEED,
        start=start.tolist(),
        method=plan.method,
    )
    for answer in (found, runs):
        if isinstance(answer, Refusal):
            raise RefusedError(str(answer))
    exact: Any = found
    sampled: Any = runs
    return exact.mean_square_error(start, plan.rounds).astype(float), sampled.errors


def _unit(dim: int) -> Array:
    return np.full(dim, dim**-0.5)


PL_TAU = 200


def pl_step() -> Fraction:
    """Largest step size of (24) for two clients of curvature 1, one at a time."""
    caps = theorem_plots.constants("focus_theorem1", "focus.thm1.pl")["caps"]
    one = _clients(UniformCohort(2, 1), (ONE, ONE), PL_TAU)
    return focus_caps.largest_step(caps, one, one.averaging)


def polyak(plan: Plan) -> Iterator[Point]:
    """Theorem 1, (24): relative gaps, which here are relative squared errors."""
    step, rounds = pl_step(), plan.rounds
    yield from plan.known("printed", float(1 - 2 * step) ** np.arange(rounds + 1))
    # so many local steps are not traced one by one
    one = NoisyFocus((1.0, 1.0), UniformCohort(2, 1), PL_TAU, float(step))
    exact, weight = one.moments(rounds), float(1 - 4 * step)  # 1 - 4 eta L^2
    yield from plan.known("exact", exact)
    yield from plan.sampled(one.sampled(rounds, plan.runs, SEED))
    phi = exact + 2 * weight * one.consensus(rounds)[0]  # over beta/2 = 1/2
    yield from plan.known("lyapunov", phi)


# FedAvg --------------------------------------------------------------------------


def averaging_setting(claim: str) -> Setting:
    """Return the clients of a corollary, at its largest step size."""
    if claim == "focus.cor3":
        law = NonEmpty(Bernoulli(["9/10", "1/2", "1/10"]))
        rows = ((ONE,) * 3, (Fraction(1, 10),) * 3)
        same = ((Fraction(0),) * 3,) * 2
        return Setting(rows, same, law, 5, step_cap(ONE, 5), reach=ONE)
    tau = 5 if claim == "focus.cor1" else 1
    centres = tuple(Fraction(b, 10) for b in (-3, 0, 2, 1))
    step = step_cap(ONE, tau)
    return Setting((FOUR,), (centres,), PAIRED, tau, step, reach=2 * ONE)


def averaged(plan: Plan) -> Iterator[Point]:
    """Corollaries 1 to 3 of the FOCUS paper."""
    one, rounds = averaging_setting(plan.claim), plan.rounds
    mu, tau = one.strong_convexity, one.local_steps
    keep = float((1 - one.step_size * mu / 2) ** tau)
    floor = sum(theorem_plots.theorem2_terms(one))
    yield from plan.known("printed", keep ** np.arange(rounds + 1) + floor)
    problem = _problem(one)
    spread = float(problem.gradient_dissimilarity())
    algorithm = FedAvg(one.step_size, tau)
    # the class of the law is larger than this law: any clients, cohorts of its kind
    law = Full(3) if plan.claim == "focus.cor3" else one.law
    found = contraction(algorithm, law, mu, one.smoothness)
    if found.rate is None or found.constant is None:
        raise RefusedError(found.reason)
    level = upwards(float(found.constant / (1 - found.rate)) * spread)
    curve = _certified(found.certificate, rounds, spread) + level
    yield from plan.known("certified", curve)
    floated = replace(algorithm, step_size=float(one.step_size))
    yield from _both(plan, problem.as_float(), floated, one.law)


def _problem(one: Setting) -> Quadratics:
    """Return the clients on the interval where they are curved, shifted to x* = 0."""
    hessians, linear = [], []
    for i in range(one.n_clients):
        rows = [c.curvatures[i] for c in one.coordinates]
        hessians.append(np.diag(np.array(rows, dtype=object)).tolist())
        linear.append(
            [c.curvatures[i] * (c.minimisers[i] - c.minimiser) for c in one.coordinates]
        )
    return Quadratics(hessians, linear)


# SG-FOCUS ------------------------------------------------------------------------

FLAT = tuple(h / 2 for h in FOUR)  # so that N > 8 L^2
SMALL = tuple(h / 1000 for h in FOUR)  # f_i -> f_i/1000
NOISY = {  # file of the claim, curvatures, local steps, sigma^2
    "sgfocus.thm3": ("sgfocus_theorem3", FOUR, 2, Fraction(1, 1000)),
    "sgfocus.thm4": ("sgfocus_theorem4", SMALL, 2, Fraction(1, 10**9)),
    "sgfocus.thm5": ("sgfocus_theorem5", FLAT, 2, Fraction(10**4)),
}
SHRUNK = {"sgfocus.thm5": 16}  # the largest step size over the one that is drawn


def noisy_clients(claim: str) -> tuple[NoisyClients, Fraction]:
    """Return the clients of a theorem of Appendix E, and the step size."""
    file, h, tau, variance = NOISY[claim]
    one = NoisyClients(h, PAIRED, tau, variance=variance)
    caps = theorem_plots.constants(file, claim)["caps"]
    step = sg_focus_search.largest_step(caps, one, one.averaging)
    return one, step / SHRUNK.get(claim, 1)


def noisy_bound(claim: str, rounds: int) -> Array:
    """Return the printed bound from x_0 - x* = 1, in units of what it starts from.

    For r = 0, ..., rounds; of Theorem 5 for R = 1, ..., rounds.
    """
    one, step = noisy_clients(claim)
    n, tau, q = one.total, one.local_steps, one.averaging
    mu, beta, big = one.strong_convexity, one.mean_curvature, one.smoothness
    r = np.arange(rounds + 1)
    if claim == "sgfocus.thm3":
        floor = 4 * (q + n**2) / (mu * n * q) * step * one.variance
        return float(1 - step * mu * n / 2) ** r + float(floor)
    if claim == "sgfocus.thm4":
        factor = big / 2 + 32 * (tau - 1) ** 2 * big**2 + 8 / q
        floor = factor * step / beta * one.variance / (beta / 2)
        return float(1 - step * beta * n) ** r + float(floor)
    factor = 2 * big * n + 8 * Fraction(n) ** 2 / ((n - 8 * big**2) * q)
    floor = factor * step**2 * one.variance / beta**2
    return float(4 / (step * n * beta)) / r[1:] + float(floor)


def noisy(plan: Plan) -> Iterator[Point]:
    """Theorems 3 to 5 of the FOCUS paper."""
    one, step = noisy_clients(plan.claim)
    rounds = plan.rounds
    yield from plan.known("printed", noisy_bound(plan.claim, rounds))
    if plan.claim == "sgfocus.thm3":
        started = {"initial_gradients": "start", "initial_tracker": "sum"}
        algorithm = Focus(step, one.local_steps, **started)
        found = _centred(algorithm, PAIRED, one.curvatures)
        yield from plan.known("certified", _certified(found.certificate, rounds))
    h = tuple(float(v) for v in one.curvatures)
    focus = NoisyFocus(h, one.law, one.local_steps, float(step), float(one.variance))
    exact, runs = focus.moments(rounds), focus.sampled(rounds, plan.runs, SEED)
    if plan.claim == "sgfocus.thm4":
        weight = float((1 - 4 * step * one.smoothness**2) / (one.mean_curvature / 2))
        behind = np.concatenate([[0.0], focus.consensus(rounds)[0][:-1]])
        yield from plan.known("lyapunov", exact + weight * behind)
    if plan.claim == "sgfocus.thm5":
        exact, runs = running_mean(exact), running_mean(runs)
    yield from plan.known("exact", exact)
    yield from plan.sampled(runs)


def running_mean(errors: Array) -> Array:
    """Return (1/R) sum_{r<R} of the last axis for R = 1, 2, ...

    Examples
    --------
    >>> running_mean(np.array([4.0, 2.0, 9.0])).tolist()
    [4.0, 3.0]
    """
    rounds = np.arange(1, errors.shape[-1])
    return np.asarray(np.cumsum(errors, axis=-1)[..., :-1] / rounds)

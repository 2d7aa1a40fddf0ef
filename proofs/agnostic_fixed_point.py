"""What agnostic FedAvg with a constant step size converges to.

The agnostic paper conjectures that averaging whoever shows up solves (3), the problem
weighted by p_i = E[1{i in S}/|S|]. With k local steps of size eta between two
communications the mean of the server model is attracted to the solution of
sum_i p_i (I - (I - eta A_i)^k)(theta - b_i) = 0. For k = 1 that is the minimiser of
(3); for k > 1 it is not, at a distance of order eta (k - 1). The paper prints the
conjecture in words, whose readings `agnostic.eq3` lists; the formula judged here is
one of them, the mean at a constant step size after several local steps.

Conventions: f_i(theta) = (theta - b_i)' A_i (theta - b_i) / 2 with exact gradients,
no active constraint, rounds independent and never empty (footnote 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy

from flverify._core.exact import Array, array, identity
from flverify._core.sources import Source
from flverify.algorithms import AgnosticFedAvg
from flverify.claims import agnostic_fixed_points as proofs
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.recheck import quadratic_gradient
from flverify.claims.verdict import Finding
from flverify.engines.moments import Moments, moments
from flverify.participation import (
    Bernoulli,
    ExplicitLaw,
    Full,
    NonEmpty,
    SuccessiveSampling,
    UniformCohort,
)
from flverify.problems import Quadratics
from flverify.reference import agnostic_fedavg

SCHEDULES = {
    "(i) a communication takes a tick, k = H - 1": ("literal", 1),
    "(ii) H local steps, then a communication, k = H": ("separate", 0),
}
LAWS = (
    UniformCohort(2, 1),
    Bernoulli(["1", "1/3"]),
    ExplicitLaw({(0,): "1/4", (0, 1, 2): "1/4", (1, 2): "1/2"}, 3),
    SuccessiveSampling([1, 2, 4], 2),
    NonEmpty(Bernoulli(["1/2", "1/5", "9/10"])),
    Full(3),
)
TWO_DIMENSIONAL = ([[2, 1], [1, 1]], [[1, 0], [0, 3]], [[1, -1], [-1, 4]])
POINTS = ([1, 0], [-2, 1], [0, 5])


@dataclass(frozen=True, eq=False)
class Instance:
    """Clients, a law, and settings of agnostic FedAvg."""

    hessians: Array
    points: Array
    law: Any
    algorithm: AgnosticFedAvg

    @cached_property
    def linear(self) -> Array:
        """A_i b_i, so that f_i is x'A_i x/2 - (A_i b_i)'x plus a constant."""
        pairs = zip(self.hessians, self.points, strict=True)
        return np.array([a @ b for a, b in pairs], dtype=object)

    @cached_property
    def evidence(self) -> Moments:
        """Exact moments of the server model."""
        problem = Quadratics(self.hessians, self.linear)
        found = moments(problem, self.algorithm, self.law)
        if not isinstance(found, Moments):
            raise TypeError(str(found))
        return found

    def target(self, name: str) -> Array:
        """Minimiser of (3), or of the objective with Hessians I - (I - eta A_i)^k."""
        hessians, linear = self.hessians, self.linear
        if name == "distorted":
            moved = [self._moved(a) for a in hessians]
            linear = np.array(
                [m @ b for m, b in zip(moved, self.points, strict=True)], dtype=object
            )
            hessians = np.array(moved, dtype=object)
        weights = self.law.averaging_weights()
        return Quadratics(hessians, linear).minimiser(weights)

    def _moved(self, hessian: Array) -> Array:
        unit = identity(len(hessian), exact=True)
        kept = unit
        for _ in range(self.algorithm.local_steps):
            kept = kept @ (unit - self.algorithm.step_size * hessian)
        return unit - kept

    def where(self) -> dict[str, Any]:
        """Return the instance, for a report."""
        law = self.law.support()
        return {
            "A": self.hessians,
            "b": self.points,
            "law": {str(sorted(i + 1 for i in s)): p for s, p in law.items()},
            "H": self.algorithm.period,
            "k": self.algorithm.local_steps,
            "step size": self.algorithm.step_size,
        }


@cache
def instances(schedule: str, extra: int, most_local_steps: int) -> tuple[Instance, ...]:
    """List instances, few local steps first; L = 5 bounds every Hessian."""
    out = []
    counts = range(1, most_local_steps + 1)
    for k, law, step in product(counts, LAWS, ("1/5", "1/100", "1/10000")):
        algorithm = AgnosticFedAvg(step, k + extra, schedule)
        n = law.n_clients
        scalar = [[[i + 1]] for i in range(n)], [[3 * i * i - 1] for i in range(n)]
        for hessians, points in (scalar, (TWO_DIMENSIONAL[:n], POINTS[:n])):
            a, b = array(hessians, "A"), array(points, "b")
            out.append(Instance(a, b, law, algorithm))
    return tuple(out)


@claim(
    "agnostic.fixedpoint",
    source=Source("agnostic", "Section 2, conjecture on (3); implied, not printed"),
    statement=r"\lim_{t\to\infty}\mathbb{E}\,\hat\theta^{tH}=\arg\min_\theta"
    r"\textstyle\sum_{i=1}^N p_i f(\theta;\mathcal{D}_i)\text{ at constant }\eta\quad"
    r"\text{(implied, not printed)}",
    proposition="Reading (ii) of the conjecture of agnostic.eq3, in any dimension: on "
    "strongly convex quadratics, with any constant step size at most "
    "1/L and any number of local steps from 1 on, the mean of the server model "
    "converges to the minimiser of (3).",
    constants={"most_local_steps": 4, "target": "(3)"},
    twin={"most_local_steps": 1},
    free=Free("most_local_steps", 1, 4, weaker="smaller", whole=True),
)
def fixed_point(c: SimpleNamespace) -> Finding:
    """Compare the exact fixed point of the mean with the minimiser of (3)."""
    distorted = SimpleNamespace(**{**vars(c), "target": "distorted"})
    mended = judge.all_of(
        {
            "limit": _readings(distorted),
            "leading term": proofs.leading_term(),
            "leading term, k = 1..5": _leading_term(),
        }
    )
    return _readings(c).corrected(
        r"\lim_{t\to\infty}\mathbb{E}\,\hat\theta^{tH}=\theta^o,\;\textstyle\sum_i p_i"
        r"\big(I-(I-\eta A_i)^k\big)(\theta^o-b_i)=0;\text{ for two scalar clients }"
        r"\theta^o-\theta_p=-\tfrac{\eta(k-1)}{2}\,\frac{p_1p_2A_1A_2(A_1-A_2)"
        r"(b_1-b_2)}{(p_1A_1+p_2A_2)^2}+O(\eta^2)",
        mended,
    )


def _readings(c: Any) -> Finding:
    return judge.readings(
        {name: _converges(c, *reading) for name, reading in SCHEDULES.items()}
    )


def _converges(c: Any, schedule: str, extra: int) -> Finding:
    listed = instances(schedule, extra, c.most_local_steps)
    searched = (
        "scalar and two-dimensional quadratics, six laws, step sizes 1/5, 1/100, "
        f"1/10000, k = 1..{c.most_local_steps}"
    )
    rates = (judge.Case(one.where(), one.evidence.mean_rate, 1) for one in listed)
    limits = (_limit_case(one, c.target) for one in listed)
    found = {
        "the mean converges": judge.instances(rates, "<", searched),
        "limit": judge.instances(limits, "==", searched),
    }
    shown = proofs.mean_converges(), proofs.limit_is(c.target, c.most_local_steps)
    pairs = zip(shown, found.items(), strict=True)
    return judge.all_of({k: judge.proof_or_search(p, one) for p, (k, one) in pairs})


def _limit_case(one: Instance, target: str) -> judge.Case:
    """Squared distance between the limit of the mean and the target, against 0."""
    limit, aim = one.evidence.mean_fixed_point, one.target(target)
    return judge.Case(
        one.where() | {"limit of the mean": limit, "minimiser": aim},
        _square(limit - aim),
        Fraction(0),
        lambda: (_distance_again(one, limit, aim), Fraction(0)),
    )


def _distance_again(one: Instance, limit: Array, aim: Array) -> Fraction:
    """Recompute the distance with the plain loop.

    A mean that starts at the limit and stays there does not go to the aim, which has
    to be stationary for the weighted gradients. If either fails, nothing is confirmed.
    """
    gradient = quadratic_gradient(one.hessians.tolist(), one.linear.tolist())
    outcomes = one.law.support()
    mean, slope = [Fraction(0)] * len(aim), [Fraction(0)] * len(aim)
    for cohort, chance in outcomes.items():
        models = agnostic_fedavg.run(
            gradient,
            one.law.n_clients,
            limit.tolist(),
            [cohort],
            step_size=one.algorithm.step_size,
            period=one.algorithm.period,
            schedule=one.algorithm.schedule,
        )
        mean = [m + chance * x for m, x in zip(mean, models[1], strict=True)]
        for i in cohort:
            pulls = gradient(i, aim.tolist())
            weight = chance / len(cohort)
            slope = [s + weight * g for s, g in zip(slope, pulls, strict=True)]
    if mean != limit.tolist() or any(slope):
        return Fraction(0)
    return sum(((a - b) ** 2 for a, b in zip(mean, aim, strict=True)), Fraction(0))


def _square(vector: Array) -> Fraction:
    return sum((v * v for v in vector), Fraction(0))


def _leading_term() -> Finding:
    """Judge d(theta^o)/d(eta) at eta = 0 for two scalar clients, k = 1..5."""
    eta, a1, a2, p1, p2 = sympy.symbols("eta A1 A2 p1 p2", positive=True)
    b1, b2 = sympy.symbols("b1 b2")
    best = (p1 * a1 * b1 + p2 * a2 * b2) / (p1 * a1 + p2 * a2)
    pairs = []
    for k in range(1, 6):
        moved = [1 - (1 - eta * a) ** k for a in (a1, a2)]
        pulls = [p * sympy.expand(m) for p, m in zip((p1, p2), moved, strict=True)]
        fixed = sympy.cancel((pulls[0] * b1 + pulls[1] * b2) / (pulls[0] + pulls[1]))
        printed = p1 * p2 * a1 * a2 * (a1 - a2) * (b1 - b2) / (p1 * a1 + p2 * a2) ** 2
        slope = sympy.diff(fixed, eta).subs(eta, 0)
        pairs += [
            (f"k = {k}, value at 0", fixed.subs(eta, 0), best),
            (f"k = {k}, slope at 0", slope, -sympy.Rational(k - 1, 2) * printed),
        ]
    return judge.identity(pairs, "two scalar clients, k = 1..5, all p, A, b")

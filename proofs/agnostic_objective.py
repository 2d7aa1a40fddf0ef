"""Agnostic FedAvg, (3): the induced objective, and what Algorithm 1 does with it.

The objective is a convex combination of the f_i. The conjecture that Algorithm 1
solves it is true of the mean of its model after one local step per round, and in the
limit of a vanishing step size; at a constant step size the model itself does not
converge to the minimiser, nor does its mean after several local steps.

Conventions: scalar quadratics f_i = h_i (x - b_i)^2 / 2 with exact gradients; a round
is H - 1 local steps and a communication, as Algorithm 1 is printed; C is an interval
that the iterates do not leave. "Solves" is read four ways, as convergence to the
minimiser of (3) of the mean of the server model or of the model in mean square, at a
constant step size or as the step size vanishes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify import moments
from flverify._core.sources import Source
from flverify.algorithms import AgnosticFedAvg
from flverify.claims import cohorts, judge, laws
from flverify.claims.claim import claim
from flverify.claims.cohorts import Cohort, any_law, people, sides
from flverify.claims.judge import Case
from flverify.claims.laws import Setting
from flverify.claims.verdict import Finding
from flverify.participation import ExplicitLaw
from flverify.problems import Quadratics
from flverify.reference import agnostic_fedavg


@dataclass(frozen=True)
class Scalars:
    """Scalar quadratics f_i = h_i (x - b_i)^2 / 2, a step size and local steps.

    Parameters
    ----------
    setting : Setting
        The law of S, with nobody never.
    """

    curvatures: tuple[Any, ...]
    centres: tuple[Any, ...]
    step: Any
    local_steps: int
    setting: Setting

    def weights(self) -> list[Fraction]:
        """Return the p_i of (2), from the listed outcomes."""
        return [
            cohorts.averaging(self.setting.listed, i) for i in people(len(self.centres))
        ]

    def problem(self) -> Quadratics:
        """Return the same objectives in the package."""
        linear = [[h * b] for h, b in zip(self.curvatures, self.centres, strict=True)]
        return Quadratics([[[h]] for h in self.curvatures], linear)

    def admissible(self) -> bool:
        """Whether the models stay in the interval of 0 and all b_i.

        Every local step is then an average of the model and b_i, so that C can be this
        interval: convex, compact, with theta^0 = 0 and the minimisers inside, and the
        gradients bounded on it.
        """
        return all(0 < self.step * h <= 1 for h in self.curvatures)

    @property
    def where(self) -> dict[str, Any]:
        """The instance as exact text."""
        ends = (min(0, *self.centres), max(0, *self.centres))
        return {
            **self.setting.where,
            "h": self.curvatures,
            "b": self.centres,
            "eta": self.step,
            "local steps": self.local_steps,
            "C": f"[{ends[0]}, {ends[1]}]",
        }

    def minimiser(self) -> Any:
        """Return the minimiser of (3), in closed form."""
        rows = list(zip(self.weights(), self.curvatures, self.centres, strict=True))
        return sum(p * h * b for p, h, b in rows) / sum(p * h for p, h, _ in rows)

    def after(self, start: Any, members: Cohort) -> Any:
        """Server model after one communication of the plain loop of Algorithm 1."""
        models = agnostic_fedavg.run(
            lambda i, x: [self.curvatures[i] * (x[0] - self.centres[i])],
            len(self.centres),
            [start],
            [cohorts.zero_based(members)],
            step_size=self.step,
            period=self.local_steps + 1,
        )
        return models[-1][0]

    def mean_fixed_point(self) -> Any:
        """Return the fixed point of the mean of a round, affine in the model."""
        at_0, at_1 = (self.expected(x, lambda y: y) for x in (0, 1))
        return at_0 / (1 - (at_1 - at_0))

    def expected(self, start: Any, value: Any) -> Any:
        """E of a value of the server model after one round."""
        return cohorts.mean(self.setting.listed, lambda a: value(self.after(start, a)))

    def moments(self) -> Any:
        """Evidence of the moments engine."""
        algorithm = AgnosticFedAvg(self.step, self.local_steps + 1)
        return moments(self.problem(), algorithm, self.setting.law)


def family(local_steps: int) -> Iterator[Scalars]:
    """Two or three clients, laws of fixed and random size, two step sizes."""
    objectives = {
        2: [((1, 3), (0, 1)), ((2, 1), (-1, 1)), ((1, 1), (0, 1))],
        3: [((1, 2, 4), (0, 1, -1))],
    }
    for n, pairs in objectives.items():
        for h, b in pairs:
            for setting in laws.never_empty(n):
                for step in (Fraction(1, 4), Fraction(1, 20)):
                    rational = (tuple(map(Fraction, h)), tuple(map(Fraction, b)))
                    found = Scalars(*rational, step, local_steps, setting)
                    if found.admissible():
                        yield found


@claim(
    "agnostic.eq3",
    source=Source("agnostic", "eq. (3) and the conjecture after it"),
    statement=r"\inf_{\theta\in\Theta}\sum_{i=1}^N p_i f(\theta;D_i),\quad"
    r"\text{conjectured to be the problem that is solved by (agnostic) FedAvg}",
    proposition="(3) is a convex combination of the f_i, on quadratics with one "
    "minimiser, and the server model of Algorithm 1 converges to that minimiser.",
    constants={"local_steps": 2},
    twin={"local_steps": 1},
    no_control="depends on what it means to solve (3)",
)
def induced_objective(c: Any) -> Finding:
    """Judge the definition, then each reading of the conjecture."""
    one, many = "one local step", "several local steps"
    return judge.readings(
        {
            "the definition": definition(),
            f"(i) mean of the model, {one}, constant step size": judge.proof_or_search(
                mean_step(), judge.instances(mean_cases(1), "==", FAMILY)
            ),
            f"(ii) mean of the model, {many}, constant step size": judge.instances(
                mean_cases(c.local_steps), "==", FAMILY
            ),
            f"(iii) the model in mean square, {one}, constant step size": (
                judge.instances(noise_cases(), "==", FAMILY)
            ),
            f"(iv) the model in mean square, {many}, vanishing step size": vanishing(),
        }
    )


FAMILY = "scalar quadratics, N = 2, 3, constant step sizes"


def free(n_clients: int, local_steps: int) -> Scalars:
    """Free curvatures, minimisers and step size, under every law of nonempty S."""
    h = sympy.symbols(f"h_1:{n_clients + 1}", positive=True)
    b = sympy.symbols(f"b_1:{n_clients + 1}")
    eta = sympy.Symbol("eta", positive=True)
    listed = any_law(n_clients)
    table = {tuple(cohorts.zero_based(a)): chance for a, chance in listed.items()}
    setting = Setting(ExplicitLaw(table, n_clients), listed)
    return Scalars(h, b, eta, local_steps, setting)


@cache
def definition() -> Finding:
    """Judge that (3) is a convex combination with one minimiser, on quadratics.

    The p_i may be any positive numbers of sum 1.
    """
    x, pairs = sympy.Symbol("x"), []
    for n in (1, 2, 3):
        w, h = (sympy.symbols(f"{name}_1:{n + 1}", positive=True) for name in "wh")
        b = sympy.symbols(f"b_1:{n + 1}")
        rows = [(v / sum(w), k, m) for v, k, m in zip(w, h, b, strict=True)]
        bend = sum(p * k for p, k, _ in rows)
        best = sum(p * k * m for p, k, m in rows) / bend
        value = sum(p * k * (x - m) ** 2 / 2 for p, k, m in rows)
        gap = value - value.subs(x, best) - bend * (x - best) ** 2 / 2
        pairs.append((f"value above the least, N = {n}", sympy.cancel(gap), 0))
        pairs.append((f"sum of p_i, N = {n}", sum(p for p, _, _ in rows), 1))
    return judge.identity(pairs, "scalar quadratics, N = 1..3, every p_i > 0 of sum 1")


@cache
def mean_step() -> Finding:
    """Judge that one local step moves the mean by a gradient step on (3).

    The step is checked for any gradients g_i, then for those of quadratics, whose mean
    is the gradient at the mean; the mean then contracts to the minimiser.
    """
    x, eta = sympy.symbols("x eta")
    pairs = []
    for n in (1, 2, 3):
        law, g = any_law(n), sympy.symbols(f"g_1:{n + 1}")
        mean = cohorts.mean(law, lambda a, g=g: gradient_step(g, a, x, eta))
        p = [cohorts.averaging(law, i) for i in people(n)]
        step = x - eta * sum(w * v for w, v in zip(p, g, strict=True))
        pairs.append((f"mean step, N = {n}", mean, step))
        w, h, b = (sympy.symbols(f"{name}_1:{n + 1}", positive=True) for name in "phb")
        rows = list(zip(w, h, b, strict=True))
        bend = sum(u * k for u, k, _ in rows)
        best = sum(u * k * m for u, k, m in rows) / bend
        moved = x - eta * sum(u * k * (x - m) for u, k, m in rows)
        factor = 1 - eta * bend
        pairs.append((f"contraction, N = {n}", moved - best, factor * (x - best)))
    return judge.identity(pairs, "quadratics, N = 1..3, every law of nonempty S")


def gradient_step(gradients: Any, members: Cohort, start: Any, step: Any) -> Any:
    """Server model of the plain loop after one local step with given gradients."""
    models = agnostic_fedavg.run(
        lambda i, _x: [gradients[i]],
        len(gradients),
        [start],
        [cohorts.zero_based(members)],
        step_size=step,
        period=2,
    )
    return models[-1][0]


def mean_cases(local_steps: int) -> Iterator[Case]:
    """Limit of the mean of the server model against the minimiser of (3)."""
    for case in family(local_steps):
        evidence = case.moments()
        at_0, at_1 = (case.expected(Fraction(x), lambda y: y) for x in (0, 1))
        if not (evidence and evidence.mean_rate < 1 and abs(at_1 - at_0) < 1):
            continue
        best = case.problem().minimiser(case.setting.law.averaging_weights())[0]
        recheck = sides(case.mean_fixed_point(), case.minimiser())
        yield Case(case.where, evidence.mean_fixed_point[0], best, recheck)


def noise_cases() -> Iterator[Case]:
    """Limit of the mean-square distance to the minimiser of (3), against 0.

    The engine measures from the minimiser of the plain mean, so that its stationary
    error is taken about the limit of the mean, which is the minimiser of (3) here.
    """
    for case in family(1):
        evidence, best = case.moments(), case.minimiser()
        plain = case.problem().minimiser()[0]
        found = evidence.stationary_mean_square_error - (best - plain) ** 2

        def error(y: Any, best: Fraction = best) -> Fraction:
            return (y - best) ** 2

        rest, above, below = (case.expected(best + d, error) for d in (0, 1, -1))
        shrink = (above + below) / 2 - rest
        yield Case(case.where, found, 0, sides(rest / (1 - shrink), 0))


@cache
def vanishing() -> Finding:
    """Judge the limit of many rounds as the step size then vanishes.

    The mean of a round is x -> beta + (1 - loss) x, so the mean tends to beta/loss.
    About that limit the mean square tends to E of the squared move of a round from it,
    over the loss of squares. Numerators and denominators are compared to first order
    in eta: the squared move has no such order, the others have.
    """
    pairs = []
    for local_steps in (1, 2, 3):
        case = free(2, local_steps)
        eta = case.step
        at_0, at_1 = (case.expected(sympy.Integer(x), lambda y: y) for x in (0, 1))
        rows = zip(case.weights(), case.curvatures, case.centres, strict=True)
        bend = sum(p * h for p, h, _ in rows)
        loss = lowest(1 - (at_1 - at_0), eta)
        pairs += [
            (f"loss, {local_steps} steps", loss, local_steps * bend),
            (f"limit, {local_steps} steps", lowest(at_0, eta) / loss, case.minimiser()),
        ]
        slopes = {
            a: sympy.expand(case.after(1, a) - case.after(0, a))
            for a in case.setting.listed
        }
        second = cohorts.mean(case.setting.listed, lambda a, s=slopes: s[a] ** 2)
        x = sympy.Symbol("x")
        moved = case.expected(x, lambda y, x=x: (y - x) ** 2)
        pairs += [
            (
                f"loss of squares, {local_steps} steps",
                lowest(1 - second, eta),
                2 * loss,
            ),
            (f"squared move, {local_steps} steps", lowest(moved, eta), 0),
        ]
    return judge.identity(
        pairs, "scalar quadratics, N = 2, 1 to 3 local steps, every law"
    )


def lowest(expression: Any, step: Any) -> Any:
    """Coefficient of the step size, of an expression that vanishes with it."""
    terms = sympy.Poly(sympy.expand(expression), step)
    return terms.coeff_monomial(step)

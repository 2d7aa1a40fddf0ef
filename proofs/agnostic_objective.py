"""Agnostic FedAvg, (3): the induced objective, and what Algorithm 1 does with it.

The objective is a convex combination of the f_i. The conjecture that Algorithm 1
solves it is true of the mean of its model after one local step per round on quadratics,
and in the limit of a vanishing step size, as it is of the mean of the models in Theorem
4; at a constant step size the model itself does not converge to the minimiser, nor does
its mean after several local steps, or where some f_i is not quadratic.

Conventions: scalar quadratics f_i = h_i (x - b_i)^2 / 2 with exact gradients; a round
is H - 1 local steps and a communication, as Algorithm 1 is printed; the constraint to
C is never active. Readings (iv) and (v) are proved for any convex f_i, noise and C, and
searched on the quadratics; (vi) has a client that is no quadratic. Instances have
0 < eta h_i <= 1, so that C may be an interval that the iterates do not leave. "Solves"
is read six ways, as convergence to the minimiser of (3) of the mean of the server model
or of the model in mean square, at a constant step size or, after infinitely many
rounds, as the step size vanishes; or of the mean of T models, as T grows and the step
size with 1/sqrt(TH) falls. Reading (ii) is what `agnostic.fixedpoint` decides for
several dimensions and both schedules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify import moments
from flverify._core.errors import Refusal, RefusedError
from flverify._core.sources import Source
from flverify.algorithms import AgnosticFedAvg
from flverify.claims import cohorts, judge, laws
from flverify.claims.agnostic_bent import SEARCHED, bent_cases
from flverify.claims.agnostic_horizon import at_the_horizon, small_steps
from flverify.claims.agnostic_induced import definition, mean_step, weights_of
from flverify.claims.claim import claim
from flverify.claims.cohorts import Cohort, any_law, sides
from flverify.claims.judge import Case
from flverify.claims.laws import Setting
from flverify.claims.parts import together
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
        The law of S, which is never empty.
    power : int
        1 for the p_i of (2), E[1{i in S} / |S|^power].
    """

    curvatures: tuple[Any, ...]
    centres: tuple[Any, ...]
    step: Any
    local_steps: int
    setting: Setting
    power: int

    def weights(self) -> list[Any]:
        """Return the p_i, from the listed outcomes."""
        return weights_of(self.setting.listed, len(self.centres), self.power)

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
        found = moments(self.problem(), algorithm, self.setting.law)
        if isinstance(found, Refusal):
            raise RefusedError(str(found))
        return found

    def package_minimiser(self) -> Any:
        """Return the minimiser of (3) from the package's law and problem."""
        law = self.setting.law
        p = [law.moment((i,), self.power) for i in range(law.n_clients)]
        return self.problem().minimiser(p)[0]


def family(local_steps: int, power: int) -> Iterator[Scalars]:
    """Two or three clients, laws of fixed and random size, two step sizes.

    The step sizes are admissible: then every round contracts, whoever comes.
    """
    objectives = {
        2: [((1, 3), (0, 1)), ((2, 1), (-1, 1)), ((1, 1), (0, 1))],
        3: [((1, 2, 4), (0, 1, -1))],
    }
    for n, pairs in objectives.items():
        for h, b in pairs:
            for setting in laws.never_empty(n):
                for step in (Fraction(1, 4), Fraction(1, 20)):
                    rational = (tuple(map(Fraction, h)), tuple(map(Fraction, b)))
                    found = Scalars(*rational, step, local_steps, setting, power)
                    if found.admissible():
                        yield found


CONSTANT, VANISHING = "constant step size", "rounds to infinity first, then eta -> 0"
HORIZON = "step size c/sqrt(TH), T to infinity"
ANY = "any convex f_i"
READINGS = (
    f"(i) mean of the model, one local step, {CONSTANT}, quadratics",
    f"(ii) mean of the model, several local steps, {CONSTANT}",
    f"(iii) the model in mean square, one local step, {CONSTANT}",
    f"(iv) the model in mean square, one or more local steps, {VANISHING}, {ANY}",
    f"(v) the mean of T models in mean square, one or more local steps, {HORIZON}, "
    f"{ANY}",
    f"(vi) mean of the model, one local step, {CONSTANT}, {ANY}",
)


@claim(
    "agnostic.eq3",
    source=Source("agnostic", "eq. (3) and the conjecture after it"),
    statement=r"\inf_{\theta\in\Theta}\sum_{i=1}^N p_i f(\theta;D_i),\quad"
    r"\text{conjectured to be the problem that is solved by (agnostic) FedAvg}",
    proposition="(3) with the weights (2) is a convex combination of the f_i, on "
    "quadratics with one minimiser; and the server model of Algorithm 1, or the mean "
    "of T of them as in Theorem 4, converges as the reading says to the minimiser of "
    "(3), if it has but one on C: of quadratics if no constraint is active and the "
    "mean contracts, of any convex f_i under Assumptions 2 and 3 from theta^0 in C.",
    constants={"local_steps": 2, "power": 1},
    twin={"power": 0},
    no_control="depends on what it means to solve (3); the twin, the probabilities of "
    "taking part as weights, fails in every part",
)
def induced_objective(c: Any) -> Finding:
    """Judge the definition, then each reading of the conjecture."""
    one, many = mean_cases(1, c.power), mean_cases(c.local_steps, c.power)
    findings = (
        judge.proof_or_search(mean_step(c.power), judge.instances(one, "==", FAMILY)),
        judge.instances(many, "==", FAMILY),
        judge.instances(noise_cases(c.power), "==", FAMILY),
        judge.proof_or_search(small_steps(c.power), vanishing(c.power)),
        judge.proof_or_search(at_the_horizon(c.power), averaged(c.power)),
        judge.instances(bent_cases(c.power), "==", SEARCHED),
    )
    conjecture = judge.readings(dict(zip(READINGS, findings, strict=True)))
    return together({"definition": definition(c.power), "conjecture": conjecture})


FAMILY = "scalar quadratics, N = 2, 3, constant step sizes with 0 < eta h_i <= 1"


def free(n_clients: int, local_steps: int, power: int) -> Scalars:
    """Free curvatures, minimisers and step size, under every law of nonempty S."""
    h = sympy.symbols(f"h_1:{n_clients + 1}", positive=True)
    b = sympy.symbols(f"b_1:{n_clients + 1}")
    eta = sympy.Symbol("eta", positive=True)
    listed = any_law(n_clients)
    table = {tuple(cohorts.zero_based(a)): chance for a, chance in listed.items()}
    setting = Setting(ExplicitLaw(table, n_clients), listed)
    return Scalars(h, b, eta, local_steps, setting, power)


def mean_cases(local_steps: int, power: int) -> Iterator[Case]:
    """Limit of the mean of the server model against the minimiser of (3)."""
    for case in family(local_steps, power):
        limit, best = case.moments().mean_fixed_point[0], case.package_minimiser()
        recheck = sides(case.mean_fixed_point(), case.minimiser())
        yield Case(case.where, limit, best, recheck)


def noise_cases(power: int) -> Iterator[Case]:
    """Limit of the mean-square distance to the minimiser of (3), against 0.

    The engine measures from the minimiser of the plain mean; its error is moved to
    that of (3) over the limit of the mean.
    """
    for case in family(1, power):
        evidence, best = case.moments(), case.package_minimiser()
        mean, plain = evidence.mean_fixed_point[0], case.problem().minimiser()[0]
        spread = evidence.stationary_mean_square_error - (mean - plain) ** 2
        again = sides(stationary_error(case, case.minimiser()), 0)
        yield Case(case.where, spread + (mean - best) ** 2, 0, again)


def stationary_error(case: Scalars, point: Any) -> Any:
    """Limit of E(x - point)^2, from one round of the plain loop.

    At x = point + d the round leaves E(x - point)^2 = rest + tilt d + shrink d^2.
    """

    def error(y: Any) -> Any:
        return (y - point) ** 2

    rest, above, below = (case.expected(point + d, error) for d in (0, 1, -1))
    tilt, shrink = (above - below) / 2, (above + below) / 2 - rest
    return (rest + tilt * (case.mean_fixed_point() - point)) / (1 - shrink)


@cache
def vanishing(power: int) -> Finding:
    """Judge the limit of infinitely many rounds as the step size then vanishes.

    The mean of a round is x -> beta + (1 - loss) x, so the mean tends to beta/loss.
    About that limit the mean square tends to E of the squared move of a round from it,
    over the loss of squares. Numerators and denominators are compared to first order
    in eta: the squared move has no such order, the others have.
    """
    pairs = []
    for local_steps in (1, 2, 3):
        case = free(2, local_steps, power)
        eta, (limit, loss) = case.step, first_order(case)
        rows = zip(case.weights(), case.curvatures, case.centres, strict=True)
        bend = sum(p * h for p, h, _ in rows)
        pairs += [
            (f"limit, {local_steps} steps", limit, case.minimiser()),
            (f"loss, {local_steps} steps", loss, local_steps * bend),
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
    scope = "scalar quadratics, N = 2, 1 to 3 local steps, every law of nonempty S"
    return judge.identity(pairs, f"{scope}; {VANISHING}")


@cache
def averaged(power: int) -> Finding:
    """Judge where the mean of T models ends on quadratics: where the model's mean does.

    A round multiplies that mean, less its limit, by 1 - loss, of order eta: so over T
    rounds the start leaves at most |start|/(T loss), and T eta goes to infinity.
    """
    pairs = []
    for local_steps in (1, 2, 3):
        case = free(2, local_steps, power)
        pairs.append((f"{local_steps} steps", first_order(case)[0], case.minimiser()))
    scope = "scalar quadratics, N = 2, 1 to 3 local steps, every law of nonempty S"
    return judge.identity(pairs, f"{scope}; {HORIZON}")


def first_order(case: Scalars) -> tuple[Any, Any]:
    """Return the limit of the mean as the step size vanishes, and its loss over it."""
    at_0, at_1 = (case.expected(sympy.Integer(x), lambda y: y) for x in (0, 1))
    loss = lowest(1 - (at_1 - at_0), case.step)
    return lowest(at_0, case.step) / loss, loss


def lowest(expression: Any, step: Any) -> Any:
    """Coefficient of the step size, of an expression that vanishes with it."""
    terms = sympy.Poly(sympy.expand(expression), step)
    return terms.coeff_monomial(step)

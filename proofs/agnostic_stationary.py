"""Agnostic FedAvg, constant step size: how the model moves about the limit of its mean.

With exact gradients S alone is random, and still the model does not settle: with equal
curvatures its variance goes to (1 - g)/(1 + g) times that of the participants' mean
centre, g = (1 - eta h)^k, which is of order eta k. It is 0 only if all come, or agree.

Conventions: scalar quadratics f_i = h (x - b_i)^2/2, k local steps in a round, rounds
independent and never empty, no active constraint; b_S is the mean of the b_i of S.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify import moments
from flverify._core.errors import Refusal, RefusedError
from flverify._core.sources import Source
from flverify.algorithms import AgnosticFedAvg
from flverify.claims import cohorts, judge, laws
from flverify.claims.claim import claim
from flverify.claims.cohorts import any_law, people
from flverify.claims.judge import Case
from flverify.claims.laws import Setting
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.problems import Quadratics
from flverify.reference import agnostic_fedavg

EVERY = "every N, law of nonempty S, k, and 0 < eta h < 2"
UNIFORM = "every N > 1 and M, every cohort of M as likely"
FAMILY = "N = 2, 3, laws of fixed and random size, k = 1, 2, eta = 1/2, 1/4, h = 1, 2"


@claim(
    "agnostic.fixedpoint.variance",
    source=Source("agnostic", "Section 2, conjecture on (3); a question, not printed"),
    statement=r"\lim\operatorname{Var}\hat\theta^{tH}=\frac{1-g}{1+g}\operatorname{Var}"
    r"(b_S),\quad g=(1-\eta h)^k;\qquad\operatorname{Var}(b_S)=\frac{N-M}{M(N-1)}s^2"
    r"\text{ for uniform }S;\qquad\frac{1-g}{1+g}=\tfrac12\eta kh+O(\eta^2)",
    proposition="With equal curvatures and constant 0 < eta h < 2, the variance of the "
    "server model that the draw of S causes goes to (1 - g)/(1 + g) Var(b_S); for "
    "uniform cohorts of M that is (N - M)/(M(N - 1)) of the variance s^2 of the "
    "centres, times that factor, which is eta k h/2 to first order; for any curvatures "
    "a round from the minimiser of (3) moves by eta k times the participants' mean "
    "gradient there, to first order.",
    constants={"g": 1, "N": 1, "half": Fraction(1, 2), "power": 1},
    twin={"g": 0},
    reading_twins={
        "uniform cohorts": {"N": 0},
        "small steps": {"half": 1},
        "any curvatures": {"power": 0},
    },
    exact=("g", "N", "half", "power"),
)
def variance(c: Any) -> Finding:
    """Judge the recursion of the variance, the uniform law, and small steps."""
    g, spread = sympy.Symbol("g", real=True), sympy.Symbol("V", positive=True)
    x, b, mean, v = sympy.symbols("x b_S mean v", real=True)
    limit = (1 - g) / (1 + rational(c.g) * g) * spread
    pairs = [
        (
            "a round, from its mean",
            g * x + (1 - g) * b - mean,
            g * (x - mean) + (1 - g) * (b - mean),
        ),
        ("stays", g**2 * limit + (1 - g) ** 2 * spread, limit),
        ("distance", g**2 * v + (1 - g) ** 2 * spread - limit, g**2 * (v - limit)),
    ]
    search = searched(c.g)
    eta, k, h = sympy.symbols("eta k h", positive=True)
    kept = (1 - eta * h) ** k
    slope = sympy.diff((1 - kept) / (1 + kept), eta).subs(eta, 0)
    return judge.all_of(
        {
            "limit": judge.proof_or_search(judge.identity(pairs, EVERY), search),
            "uniform cohorts": uniform(c.N),
            "small steps": judge.identity(
                [("derivative at 0", slope, rational(c.half) * k * h)], "every k and h"
            ),
            "any curvatures": moves(c.power),
        },
        argument="S is independent of the model, so that the variance after a round is "
        "g^2 times that before it and (1 - g)^2 Var(b_S); v is that after some rounds. "
        "A round multiplies its distance to the limit by g^2 < 1.",
    )


@cache
def searched(factor: Any) -> Finding:
    """Judge the formula on the instances."""
    return judge.instances(stationary(factor), "==", FAMILY)


def uniform(less: int) -> Finding:
    """Judge Var(b_S) by the chances of one and of two users; centres of mean 0.

    Then sum b_i^2 = N s^2 and the pairs i != j have sum b_i b_j = -N s^2.
    """
    n, m, s2 = sympy.symbols("N M s2", positive=True)
    both = m * (m - 1) / (n * (n - 1))
    square = (m / n * (n * s2) + both * (-n * s2)) / m**2
    counted = cohorts.counted()
    held = [*counted.relations, counted.n > 1]
    one = sympy.Eq(counted.with_one / counted.all, counted.m / counted.n)
    two = sympy.Eq(
        counted.with_two / counted.all,
        counted.m * (counted.m - 1) / (counted.n * (counted.n - 1)),
    )
    right = (n - m) / (m * (n - rational(less))) * s2
    return judge.all_of(
        {
            "moments": judge.identity([("E b_S^2", square, right)], UNIFORM),
            "chance of a user": judge.implied(held, one, UNIFORM),
            "chance of a pair": judge.implied(held, two, UNIFORM),
        }
    )


@cache
def moves(power: int) -> Finding:
    """Judge the square of a move from the minimiser."""
    scope = "every N, law of nonempty S and k"
    return judge.identity([first_move(power), *first_moves(power)], scope)


def first_move(power: int) -> judge.Pair:
    """Pair a client's move from x, to order eta, with its gradient; S averages both."""
    eta, a, k = sympy.symbols("eta h_i k", positive=True)
    x, b = sympy.symbols("x b_i", real=True)
    move = b + (1 - eta * a) ** k * (x - b) - x
    slope = sympy.diff(move, eta).subs(eta, 0)
    return "a client", slope, -(k ** rational(power)) * a * (x - b)


def first_moves(power: int) -> list[judge.Pair]:
    """Pair its mean square from the minimiser with gradients, written out for N = 2."""
    eta = sympy.Symbol("eta", positive=True)
    h, b = sympy.symbols("h_1:3", positive=True), sympy.symbols("b_1:3", real=True)
    law = any_law(2)
    p = [cohorts.averaging(law, i) for i in people(2)]
    bend = sum(w * a for w, a in zip(p, h, strict=True))
    best = sum(w * a * y for w, a, y in zip(p, h, b, strict=True)) / bend
    pairs = []
    for k in (1, 2, 3):
        ends = [y + (1 - eta * a) ** k * (best - y) for a, y in zip(h, b, strict=True)]
        pulls = [
            k ** rational(power) * a * (best - y) for a, y in zip(h, b, strict=True)
        ]
        moves = {s: average(s, ends) - best for s in law}
        left = {s: sympy.diff(v, eta).subs(eta, 0) ** 2 for s, v in moves.items()}
        right = {s: average(s, pulls) ** 2 for s in law}
        squares = [sum(law[s] * v[s] for s in law) for v in (left, right)]
        pairs.append((f"k = {k}", *squares))
    return pairs


def average(members: Any, values: Any) -> Any:
    """Mean over a cohort."""
    return sum(values[i - 1] for i in members) / sympy.Integer(len(members))


# -- instances -----------------------------------------------------------------------


def stationary(factor: Any) -> Iterator[Case]:
    """Stationary variance of the package against the formula."""
    for n in (2, 3):
        for setting in laws.never_empty(n):
            for k, eta, h in ((1, "1/2", 1), (2, "1/4", 1), (2, "1/4", 2)):
                yield one_case(setting, k, Fraction(eta), h, factor)


def one_case(setting: Setting, k: int, eta: Fraction, h: int, factor: Any) -> Case:
    """Both sides for centres 0, 1, 4; again by the plain loop and listed cohorts."""
    n = setting.n_clients
    centres = [Fraction(i * i) for i in range(n)]
    problem = Quadratics([[[h]]] * n, [[h * b] for b in centres])
    found = moments(problem, AgnosticFedAvg(eta, k + 1), setting.law)
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    mean, plain = found.mean_fixed_point[0], problem.minimiser()[0]
    left = found.stationary_mean_square_error - (mean - plain) ** 2
    g = (1 - eta * h) ** k
    seen = {s: sum(centres[i - 1] for i in s) / len(s) for s in setting.listed}
    middle = cohorts.mean(setting.listed, lambda s: seen[s])
    spread = cohorts.mean(setting.listed, lambda s: (seen[s] - middle) ** 2)
    right = (1 - g) / (1 + factor * g) * spread
    at = {**setting.where, "b": centres, "h": h, "eta": eta, "local steps": k}
    return Case(at, left, right, lambda: (looped(setting, centres, k, eta, h), right))


def looped(setting: Setting, b: Any, k: int, eta: Fraction, h: int) -> Any:
    """Stationary variance from one round of the plain loop at three models.

    About its limit m the mean of (x - m)^2 goes from d^2 to rest + shrink d^2.
    """

    def after(x: Any) -> dict[Any, Any]:
        return {
            s: agnostic_fedavg.run(
                lambda i, y: [h * (y[0] - b[i])],
                len(b),
                [x],
                [cohorts.zero_based(s)],
                step_size=eta,
                period=k + 1,
            )[-1][0]
            for s in setting.listed
        }

    def mean(values: Any) -> Any:
        return sum(setting.listed[s] * v for s, v in values.items())

    zero, one = (mean(after(Fraction(x))) for x in (0, 1))
    m = zero / (1 - (one - zero))
    squares = [
        mean({s: (v - m) ** 2 for s, v in after(m + d).items()}) for d in (-1, 0, 1)
    ]
    shrink = (squares[0] + squares[2]) / 2 - squares[1]
    return squares[1] / (1 - shrink)

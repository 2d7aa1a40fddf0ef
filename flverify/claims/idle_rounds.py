"""Case 2 of the FOCUS paper with empty rounds, or given that somebody comes.

An empty round leaves FedAvg's server where it is. So with P_0 = P(S empty) a stationary
moment M has M = P_0 M + (1 - P_0) T(M), T being a round given that somebody comes: then
M = T(M), and where FedAvg ends up does not depend on the convention. FOCUS needs more
rounds where empty ones are skipped, and steps on with what it knows where they are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import sympy

from flverify._core.errors import Refusal, RefusedError
from flverify.algorithms.focus import Focus
from flverify.claims import cohorts, judge
from flverify.claims.parallel_clients import Setting
from flverify.claims.parallel_families import limit, limit_again
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import equal
from flverify.engines.moments import moments
from flverify.participation import Bernoulli, NonEmpty
from flverify.problems._quadratics import Quadratics
from flverify.reference import focus

Chances = tuple[Fraction, ...]
CURVED, CENTRES = (1, 2, 3), (1, -2, 5)
STEP = Fraction(1, 12)


def fedavg_ends(chances: Chances, spared: Fraction) -> Finding:
    """Judge that the stationary mean square is the same; `spared` is added to one side.

    Examples
    --------
    >>> half = (Fraction(1, 2), Fraction(1, 3))
    >>> fedavg_ends(half, Fraction(0)).verdict.name
    'PROVED'
    """
    moment, played = sympy.symbols("M played", real=True)
    idle = sympy.Symbol("P_0", nonnegative=True)
    lazy = equal(moment, idle * moment + (1 - idle) * played)
    same = equal(moment, played + rational(spared))
    proof = judge.implied([idle < 1, lazy], same, "every law of Case 2, N, tau, f_i")
    search = judge.instances(_limits(chances, spared), "==", "quadratics, tau = 1, 2")
    return judge.proof_or_search(proof, search)


def _limits(chances: Chances, spared: Fraction) -> Iterator[judge.Case]:
    n = len(chances)
    rows = tuple(map(Fraction, CURVED[:n])), tuple(map(Fraction, CENTRES[:n]))
    w = (Fraction(1, n),) * n  # of equal models, at a communication
    for tau, step in product((1, 2), (STEP, STEP / 10)):
        both = [
            Setting((rows[0],), (rows[1],), law, tau, step)
            for law in (Bernoulli(chances), NonEmpty(Bernoulli(chances)))
        ]
        where = {"p": list(chances), "tau": tau, "step size": step}
        where |= {"h": list(rows[0]), "b": list(rows[1])}
        left, right = (limit(one, w) for one in both)

        def again(both: Any = both) -> tuple[Fraction, Fraction]:
            one, other = (limit_again(each, w) for each in both)
            return one, other + spared

        yield judge.Case(where, left, right + spared, again)


def focus_goes_on(chances: Chances, empty: str, spared: Fraction) -> Finding:
    """Judge that E|w_R - x*|^2 of FOCUS is the same; `empty` is "step" or "skip"."""
    cases = _errors(chances, empty, spared)
    return judge.instances(cases, "==", "clients h_i x^2/2, tau = 1, 2; R = 1, 2, 3")


def _errors(chances: Chances, empty: str, spared: Fraction) -> Iterator[judge.Case]:
    h = tuple(map(Fraction, CURVED[: len(chances)]))
    for tau, rounds in product((1, 2), (1, 2, 3)):
        where = {"p": list(chances), "h": list(h), "tau": tau, "step size": STEP / 2}
        where |= {"x_0": 1, "empty rounds": empty, "R": rounds}
        laws = (Bernoulli(chances), NonEmpty(Bernoulli(chances)))
        left, right = (_engine(h, law, tau, empty, rounds) for law in laws)
        again = partial(_listed, h, chances, tau, empty, rounds, spared)
        yield judge.Case(where, left, right + spared, again)


def _engine(h: Chances, law: Any, tau: int, empty: str, rounds: int) -> Fraction:
    hessians: Any = [[[a]] for a in h]
    linear: Any = [[0] for _ in h]
    start = {"initial_gradients": "start", "initial_tracker": "sum"}
    algorithm = Focus(STEP / 2, tau, empty_round=empty, **start)
    found = moments(Quadratics(hessians, linear), algorithm, law)
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    return Fraction(found.mean_square_error([Fraction(1)], rounds).tolist()[rounds])


def _listed(
    h: Chances, chances: Chances, tau: int, empty: str, rounds: int, spared: Fraction
) -> tuple[Fraction, Fraction]:
    """Run the plain loop along every sequence of cohorts."""
    free = cohorts.independent(chances)
    return (
        _mean(h, free, tau, empty, rounds),
        _mean(h, cohorts.nonempty(free), tau, empty, rounds) + spared,
    )


def _mean(h: Chances, law: Any, tau: int, empty: str, rounds: int) -> Fraction:
    total = Fraction(0)
    for path in product(law.items(), repeat=rounds):
        chance = Fraction(1)
        for _, p in path:
            chance *= p
        models = focus.run(
            lambda i, x: [h[i] * x[0]],
            len(h),
            [Fraction(1)],
            [cohorts.zero_based(s) for s, _ in path],
            step_size=STEP / 2,
            local_steps=tau,
            empty_round=empty,
            initial_gradients="start",
            initial_tracker="sum",
        )
        total += chance * models[-1][0] ** 2
    return total

"""Value of an expression at one state, cohort by cohort on numbers.

It shares no matrix with the prover: the round is executed on the numbers of the state
for every cohort, so it confirms a counterexample by a second computation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import from_flint, solve, to_flint
from flverify.algorithms._algorithm import Algorithm
from flverify.certify._vectors import Expression, Symbol, Vector, vector
from flverify.certify.quadratic_form._rounds import listed
from flverify.certify.quadratic_form._words import (
    Fixed,
    GradientAt,
    Mean,
    Minimiser,
    Slot,
)
from flverify.engines.enumerate import LinearOracle, ListedCohort, Rows

State = Mapping[str, Any]  # slot -> (d,) at the server, (N, d) at the clients


@dataclass(frozen=True)
class Outcome:
    """The state before and after one round, with the probability of its cohort."""

    problem: Any
    before: State
    after: State
    chance: Fraction


def evaluate(
    expression: Expression,
    problem: Any,
    algorithm: Algorithm,
    participation: Any,
    state: State,
) -> Fraction:
    """Value of an expression at a state, by running every cohort's round on it.

    Parameters
    ----------
    expression : Expression
    problem, algorithm, participation
        A rational setting whose cohorts can be listed.
    state : mapping
        Slot to d numbers at the server, to N rows of d numbers at the clients.

    Raises
    ------
    RefusedError
        If there are too many cohorts.
    ReadingError
        If the round is not linear on a given cohort.
    """
    before = {name: np.array(rows, dtype=object) for name, rows in state.items()}
    outcomes = []
    for members, chance in listed(participation).items():
        later = _played(problem, algorithm, members, before)
        outcomes.append(Outcome(problem, before, later, Fraction(chance)))
    total = expression.constant
    for (left, right), factor in expression.pairs:
        total += factor * _product(left, right, outcomes[0], outcomes)
    for symbol, factor in expression.scalars:
        drawn: Any = symbol
        for o in outcomes:
            total += factor * o.chance * _product(drawn.left, drawn.right, o, outcomes)
    return total


def _played(
    problem: Any, algorithm: Algorithm, members: frozenset[int], before: State
) -> State:
    """Run one round on numbers: rows of linear maps of a state that is the 1 alone."""
    cohort = ListedCohort(members, problem.n_clients, Fraction)
    oracle = LinearOracle(problem.hessians, problem.linear)
    slots = {name: Rows(values[..., None], Fraction) for name, values in before.items()}
    later = algorithm.round(algorithm.State(**slots), cohort, oracle)
    return {name: getattr(later, name).values[..., 0] for name in before}


def _product(
    left: Symbol, right: Symbol, outcome: Outcome, outcomes: list[Outcome]
) -> Fraction:
    pair = (_numbers(vector(s), outcome, outcomes) for s in (left, right))
    return sum((a * b for a, b in zip(*pair, strict=True)), Fraction(0))


def _numbers(v: Vector, outcome: Outcome, outcomes: list[Outcome]) -> Array:
    total = np.full(outcome.problem.dim, Fraction(0), dtype=object)
    for symbol, factor in v.terms:
        total = total + factor * _symbol(symbol, outcome, outcomes)
    return total


def _symbol(symbol: Any, outcome: Outcome, outcomes: list[Outcome]) -> Array:
    problem = outcome.problem
    if isinstance(symbol, Slot):
        values = (outcome.after if symbol.after else outcome.before)[symbol.name]
        return np.asarray(values if symbol.client is None else values[symbol.client])
    if isinstance(symbol, Minimiser):
        return np.asarray(problem.minimiser())
    if isinstance(symbol, Fixed):
        return np.array(symbol.values, dtype=object)
    if isinstance(symbol, Mean):
        parts = [o.chance * _numbers(symbol.of, o, outcomes) for o in outcomes]
        return np.asarray(sum(parts[1:], start=parts[0]))
    clients = range(problem.n_clients) if symbol.client is None else [symbol.client]
    if isinstance(symbol, GradientAt):
        point = _numbers(symbol.point, outcome, outcomes)
        slopes = [problem.gradient(i, point) for i in clients]
        return np.asarray(sum(slopes[1:], start=slopes[0]) / len(slopes))
    wanted = _numbers(symbol.gradient, outcome, outcomes)
    return _point(problem, list(clients), wanted)


def _point(problem: Any, clients: list[int], wanted: Array) -> Array:
    """Solve mean H_i p - b_i = wanted for p."""
    hessian = problem.hessians[clients].sum(axis=0)
    right = len(clients) * wanted + problem.linear[clients].sum(axis=0)
    return from_flint(solve(to_flint(hessian), to_flint(right[:, None])))[:, 0]

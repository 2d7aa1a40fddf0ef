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

from flverify._core.checks import whole
from flverify._core.errors import InputError, RefusedError, ShapeError
from flverify._core.exact import Array, objects
from flverify._core.rationals import from_flint, solve, to_flint
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.certify._vectors import Expression, Symbol, Vector, rational, vector
from flverify.certify.quadratic_form._rounds import listed, unfit
from flverify.certify.quadratic_form._words import (
    Fixed,
    GradientAt,
    Mean,
    MeanProduct,
    Minimiser,
    PointOf,
    Slot,
    entries_of,
    foreign,
    no_such_slot,
    require_expected,
    singular,
)
from flverify.engines.enumerate import (
    LinearOracle,
    ListedCohort,
    Rows,
)
from flverify.engines.own_rounds import performed, require_vectors
from flverify.problems._minimiser import minimiser_of

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
        Slot to d rationals at the server, to N rows of d rationals at the clients.

    Raises
    ------
    InputError
        If a product of the next state stands outside expect(), or expression, setting
        or state are not of these kinds.
    RefusedError
        If the setting is not rational, or there are too many cohorts.
    ReadingError
        If the round is not linear on a given cohort.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.certify.quadratic_form import after, expect, server, square
    >>> from flverify.participation import UniformCohort
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[3]]], [[0], [0]])
    >>> setting = problem, FedAvg("1/4"), UniformCohort(2, 1)
    >>> later = expect(square(after(server("model"))))
    >>> evaluate(later, *setting, {"model": [4]})  # of 3 and 1, each half of the time
    Fraction(5, 1)
    """
    _require_products(expression)
    if reason := unfit(problem, algorithm, participation):
        raise RefusedError(f"{reason}; choose another setting.")
    before = _read(problem, algorithm, state)
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


def _require_products(expression: object) -> None:
    """Check that an expression has one value, whatever cohort is drawn."""
    if not isinstance(expression, Expression):
        raise InputError(
            f"what is evaluated must be an expression; got {expression!r}; take "
            "square() or inner() of vectors."
        )
    for (left, right), _ in expression.pairs:
        require_expected(left, right)
    for symbol, _ in expression.scalars:
        if not isinstance(symbol, MeanProduct):
            raise foreign(symbol, "inner products, with values as value()")


def _read(problem: Any, algorithm: Algorithm, state: object) -> State:
    """Read a state: every slot, in rationals, of the shape that it must have."""
    require_vectors(algorithm)
    slots = algorithm.slots()
    if not isinstance(state, Mapping) or set(state) != set(slots):
        raise InputError(
            f"a state must be a mapping with the slots {', '.join(slots)}; got "
            f"{state!r}; give each of them."
        )
    d, n = problem.dim, problem.n_clients
    shapes = {name: (d,) if k is Server else (n, d) for name, k in slots.items()}
    return {name: _rationals(state[name], name, shapes[name]) for name in slots}


def _rationals(values: object, name: str, shape: tuple[int, ...]) -> Array:
    try:
        raw = np.array(values, dtype=object)
    except ValueError:  # rows of different lengths
        raw = np.empty(0, dtype=object)
    if raw.shape != shape:
        raise ShapeError(
            f"slot {name} must have shape {shape}; got {values!r}; pass d numbers at "
            "the server and N rows of d at the clients."
        )
    entries = (rational(v, f"an entry of slot {name}") for v in raw.flat)
    return objects(entries).reshape(shape)


def _played(
    problem: Any, algorithm: Algorithm, members: frozenset[int], before: State
) -> State:
    """Run one round on numbers: rows of linear maps of a state that is the 1 alone."""
    cohort = ListedCohort(members, problem.n_clients, Fraction)
    oracle = LinearOracle(problem.hessians, problem.linear)
    slots = {name: Rows(values[..., None], Fraction) for name, values in before.items()}
    later = performed(algorithm, "round", algorithm.State(**slots), cohort, oracle)
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
        return _slot(symbol, outcome)
    if isinstance(symbol, Minimiser):
        return minimiser_of(problem)
    if isinstance(symbol, Fixed):
        return entries_of(symbol, problem.dim)
    if isinstance(symbol, Mean):
        parts = [o.chance * _numbers(symbol.of, o, outcomes) for o in outcomes]
        return np.asarray(sum(parts[1:], start=parts[0]))
    if not isinstance(symbol, GradientAt | PointOf):
        raise foreign(symbol, "slots, gradients and x*")
    clients = _clients(symbol.client, problem.n_clients)
    if isinstance(symbol, GradientAt):
        point = _numbers(symbol.point, outcome, outcomes)
        slopes = [problem.gradient(i, point) for i in clients]
        return np.asarray(sum(slopes[1:], start=slopes[0]) / len(slopes))
    wanted = _numbers(symbol.gradient, outcome, outcomes)
    try:
        return _point(problem, clients, wanted)
    except ZeroDivisionError as error:
        raise singular(symbol.client) from error


def _slot(symbol: Slot, outcome: Outcome) -> Array:
    """Look a slot up, at the server or at one client, as it was declared."""
    state = outcome.after if symbol.after else outcome.before
    values, n_clients = state.get(symbol.name), outcome.problem.n_clients
    at_server = symbol.client is None
    if values is None or at_server != (values.ndim == 1):
        raise no_such_slot(symbol, state, n_clients)
    if symbol.client is not None and not 0 <= symbol.client < n_clients:
        raise no_such_slot(symbol, state, n_clients)
    return np.asarray(values if at_server else values[symbol.client])


def _clients(client: int | None, n_clients: int) -> list[int]:
    if client is None:
        return list(range(n_clients))
    return [whole(client, "client", 0, n_clients - 1)]


def _point(problem: Any, clients: list[int], wanted: Array) -> Array:
    """Solve mean H_i p - b_i = wanted for p."""
    hessian = problem.hessians[clients].sum(axis=0)
    right = len(clients) * wanted + problem.linear[clients].sum(axis=0)
    return from_flint(solve(to_flint(hessian), to_flint(right[:, None])))[:, 0]

"""One round on quadratics, ready for expectations of products.

A random form is kept as parts U_k with weights w_k so that E<u, v> = sum_k w_k U_k'V_k
and E u = sum_k w_k s_k U_k, where a form that does not depend on the draw has the
parts s_k U. With one part per cohort s_k = 1 and w_k is its probability; with the
mean as first part and the factors of the covariance of the features as others,
s = (1, 0, ..., 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.errors import ReadingError, Refusal, RefusedError
from flverify._core.exact import Array, is_exact, objects
from flverify._core.rationals import ldl, to_flint
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.engines.arithmetic import (
    RATIONAL,
    is_exact_on,
    settings_are_symbolic,
)
from flverify.engines.enumerate import listed_layout, outcome_matrix
from flverify.engines.kinds import require_setting
from flverify.engines.lower import ALWAYS, Layout, Lowering, dense, lower
from flverify.engines.moments._system import feature_moments
from flverify.engines.trace import trace

LARGEST = 96  # numbers in a state whose quadratic forms are decided
MOST_OUTCOMES = 4096  # cohorts that are listed where a round cannot be traced


@dataclass(frozen=True)
class Round:
    """Parts of the next state, each a matrix acting on (state, 1).

    Parameters
    ----------
    layout : Layout
        Where each slot lives; nothing is eliminated.
    weights, still : (K,) arrays of flint rationals
        w_k and s_k of the module's text.
    parts : (K, n, n) array of flint rationals
    """

    layout: Layout
    weights: Array
    still: Array
    parts: Array


def read_round(
    problem: Any, algorithm: Algorithm, participation: Any
) -> Round | Refusal:
    """Trace a round, or list it cohort by cohort where it cannot be traced."""
    refusal = refuses(problem, algorithm, participation)
    if refusal is not None:
        return refusal
    try:
        return traced_round(problem, algorithm, participation)
    except ReadingError as first:
        try:
            return listed_round(problem, algorithm, participation)
        except (ReadingError, RefusedError) as second:
            words = " ".join({str(first): None, str(second): None})
            return Refusal("quadratic forms", words)


def refuses(problem: Any, algorithm: Algorithm, participation: Any) -> Refusal | None:
    """Say why a setting cannot be decided exactly, if it cannot."""
    reason = unfit(problem, algorithm, participation)
    if not reason and len(participation.modes().laws) != 1:
        reason = "the law must have one mode; take the law of each mode"
    if not reason and (size := _size(problem, algorithm)) > LARGEST:
        reason = f"a state of {size} numbers is too large"
    return Refusal("quadratic forms", f"{reason}.") if reason else None


def unfit(problem: Any, algorithm: Algorithm, participation: Any) -> str:
    """Say why no round of a setting can be computed exactly; empty if it can.

    Raises
    ------
    InputError
        If a part of the setting is of another kind.
    """
    if not hasattr(problem, "hessians"):
        return "the problem must be quadratic"
    require_setting(problem, algorithm, participation)
    if problem.n_clients != participation.n_clients:
        return (
            "problem and law must have the same clients; got "
            f"{problem.n_clients} and {participation.n_clients}"
        )
    if not _rational(problem, algorithm, participation):
        return (
            "problem, settings, probabilities and numbers in the round must be rational"
        )
    return ""


def _rational(problem: Any, algorithm: Algorithm, participation: Any) -> bool:
    if settings_are_symbolic(algorithm):
        return False
    if not is_exact_on(algorithm, problem.n_clients):
        return False
    chances = participation.inclusion().flat
    return all(map(is_exact, [*problem.hessians.flat, *problem.linear.flat, *chances]))


def _size(problem: Any, algorithm: Algorithm) -> int:
    kinds = algorithm.slots().values()
    return int(
        problem.dim * sum(1 if k is Server else problem.n_clients for k in kinds)
    )


def traced_round(problem: Any, algorithm: Algorithm, participation: Any) -> Round:
    """Parts from E phi and Cov(phi, psi) of the features phi in {I_i, a_i}.

    Raises
    ------
    ReadingError
        If the round is not linear in the features.
    """
    n_clients, dim = problem.n_clients, problem.dim
    traced = trace(algorithm, n_clients)
    layout = Layout(traced.server_slots, traced.client_slots, n_clients, dim)
    hessians, linear = to_flint(problem.hessians), to_flint(problem.linear)
    lowering = Lowering(hessians, linear, traced.points, RATIONAL.convert)
    draws = dense(lower(traced.after, layout, lowering), layout, RATIONAL.convert)
    random = [draw for draw in draws if draw != ALWAYS]
    first, second = feature_moments(participation, random)
    means = to_flint(first)
    mean = draws[ALWAYS] + sum(m * draws[d] for m, d in zip(means, random, strict=True))
    parts, weights = [mean], [RATIONAL.convert(1)]
    for weight, column in ldl(to_flint(second) - np.outer(means, means)):
        pairs = zip(column, random, strict=True)
        parts.append(sum((c * draws[d] for c, d in pairs), start=0 * mean))
        weights.append(weight)
    still = [RATIONAL.convert(int(k == 0)) for k in range(len(parts))]
    return Round(layout, objects(weights), objects(still), np.stack(parts))


def listed_round(problem: Any, algorithm: Algorithm, participation: Any) -> Round:
    """Parts by listing every cohort.

    Raises
    ------
    ReadingError
        If the round is not linear on a given cohort.
    RefusedError
        If there are too many cohorts.
    """
    layout = listed_layout(algorithm, problem.n_clients, problem.dim)
    hessians, linear = to_flint(problem.hessians), to_flint(problem.linear)
    outcomes = listed(participation)
    parts = [
        outcome_matrix(algorithm, layout, hessians, linear, members, RATIONAL.convert)
        for members in outcomes
    ]
    weights = [RATIONAL.convert(chance) for chance in outcomes.values()]
    still = [RATIONAL.convert(1)] * len(parts)
    return Round(layout, objects(weights), objects(still), np.stack(parts))


def listed(participation: Any) -> Mapping[frozenset[int], Fraction]:
    """Cohorts of nonzero probability.

    Raises
    ------
    RefusedError
        If there are too many to list.
    """
    outcomes: Mapping[frozenset[int], Fraction] = participation.listed()
    if len(outcomes) > MOST_OUTCOMES:
        raise RefusedError(
            f"at most {MOST_OUTCOMES} cohorts are listed; got {len(outcomes)}; use "
            "fewer clients."
        )
    return {cohort: chance for cohort, chance in outcomes.items() if chance != 0}

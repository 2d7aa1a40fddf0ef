"""Clients that move alike, whose differences no start moves.

Two clients with one Hessian and one set of numbers in the round, in the same outcomes
of the law, hold the same differences of two runs for ever. One coordinate for each
class of them is all that is reached; rounding would reach the others too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify._core.scaling import PerClient
from flverify.engines.forms import ServerForm
from flverify.engines.lower import Layout
from flverify.engines.trace import Trace, trace
from flverify.participation._law import Participation
from flverify.participation.explicit_law import ExplicitLaw
from flverify.participation.mode_chain import ModeChain

FEW = 8  # outcomes; with more of them directions are reached many at a time


def few_outcomes(participation: Participation) -> list[frozenset[int]] | None:
    """Return the outcomes of a law of one mode, None if there are more than a few.

    Examples
    --------
    >>> from flverify.participation import Bernoulli, Full
    >>> few_outcomes(Full(2)), few_outcomes(Bernoulli(["1/2"] * 4))
    ([frozenset({0, 1})], None)
    """
    if len(participation.modes().laws) > 1:
        return None
    try:
        support = participation.listed()
    except RefusedError:
        return None
    outcomes = [members for members, share in support.items() if share != 0]
    return outcomes if len(outcomes) <= FEW else None


def exact_law(participation: Participation) -> Participation:
    """Return a law of few outcomes with its floats as the rationals that they are.

    So is every such law of a chain. They are scaled to add up to 1; other laws are
    returned as they are. Features of few outcomes are few too, which moments that are
    rounded one by one do not tell.

    Examples
    --------
    >>> from flverify.participation import AllOrNothing
    >>> exact_law(AllOrNothing(2, 0.25)).table
    (((), Fraction(3, 4)), ((0, 1), Fraction(1, 4)))
    """
    if isinstance(participation, ModeChain):
        laws = [exact_law(law) for law in participation.laws]
        return replace(participation, laws=laws)
    outcomes = None if participation.exact else few_outcomes(participation)
    if outcomes is None:
        return participation
    support = participation.listed()
    shares = {members: Fraction(support[members]) for members in outcomes}
    total = sum(shares.values())
    table = {members: share / total for members, share in shares.items()}
    return ExplicitLaw(table, participation.n_clients)


def classes(
    problem: Any, algorithm: Any, participation: Participation
) -> list[list[int]] | None:
    """Group clients whose differences are alike; None if each is alone.

    Raises
    ------
    ReadingError
        If the round cannot be traced.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.participation import ExplicitLaw
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[2]], [[1]], [[1]]], [[0], [1], [2], [3]])
    >>> law = ExplicitLaw({(0, 1, 2): "1/2", (1, 3): "1/2"}, 4)
    >>> classes(problem, Focus("1/8"), law)
    [[0, 2], [1], [3]]
    """
    outcomes = few_outcomes(participation)
    if outcomes is None:
        return None
    numbers = list(_numbers(trace(algorithm, problem.n_clients)))
    found: dict[Any, list[int]] = {}
    for i, hessian in enumerate(problem.hessians):
        own = tuple(value.values[i] for value in numbers)
        key = tuple(hessian.flat), own, tuple(i in members for members in outcomes)
        found.setdefault(key, []).append(i)
    return list(found.values()) if len(found) < problem.n_clients else None


def _numbers(traced: Trace) -> Iterator[PerClient]:
    """Numbers of the round that differ from client to client."""
    forms = (*traced.start.values(), *traced.after.values())
    for form in (*forms, *traced.start_points, *traced.points):
        if isinstance(form, ServerForm):
            values = [*form.fixed.values(), *form.summed.values()]
        else:
            values = list(form.terms.values())
        yield from (value for value in values if isinstance(value, PerClient))


def shared(layout: Layout, grouped: list[list[int]]) -> Array:
    """Orthonormal columns of the states (less the 1) whose classes hold the same.

    Examples
    --------
    >>> shared(Layout(("model",), ("stored",), 3, 1), [[0, 2], [1]]).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.707, 0.0], [0.0, 0.0, 1.0], [0.0, 0.707, 0.0]]
    """
    blocks = [[("server", slot, -1)] for slot in layout.server_slots]
    blocks += [
        [("client", slot, i) for i in members]
        for members in grouped
        for slot in layout.client_slots
    ]
    out = np.zeros((layout.size - 1, len(blocks) * layout.dim))
    for k, alike in enumerate(blocks):
        for block in alike:
            rows = np.arange(layout.size - 1)[layout.places[block]]
            columns = np.arange(k * layout.dim, (k + 1) * layout.dim)
            out[rows, columns] = 1 / np.sqrt(len(alike))
    return out

"""How many directions starts move and the server sees, counted without rounding.

Where few outcomes are drawn, directions are reached one by one, each weaker than the
last, and what they amplify of rounding looks like directions of its own, with the
spectrum of what never happens. Integers modulo a prime lose no digits.
"""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

from flverify._core.errors import ReadingError, RefusedError
from flverify._core.exact import Array
from flverify.engines import enumerate as listing
from flverify.engines.arithmetic import NEAREST, RATIONAL
from flverify.engines.lower import Layout
from flverify.engines.moments._alike import classes, few_outcomes, shared
from flverify.engines.trace import exact_twin

PRIME = 2**61 - 1
LARGEST = 160  # numbers of a state, one for each class, that are counted in seconds


def dimension(problem: Any, algorithm: Any, participation: Any) -> int | None:
    """Count the directions of differences of two runs; None where it would take long.

    Examples
    --------
    >>> from flverify.algorithms import Scaffold
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> alike = Quadratics([[[1]], [[1]], [[2]]], [[0], [1], [2]])
    >>> dimension(alike, Scaffold("1/8"), Full(3))
    1
    """
    outcomes = few_outcomes(participation)
    if outcomes is None:
        return None
    try:
        layout = listing.listed_layout(algorithm, problem.n_clients, problem.dim)
        places, basis = _shared(problem, algorithm, participation, layout)
        if len(places) > LARGEST:
            return None
        twin, convert = exact_twin(algorithm), NEAREST.convert
        data = RATIONAL.array(problem.hessians), RATIONAL.array(problem.linear)
        begun = listing.start_of(twin, layout, *data, convert)
        rounds = [
            listing.outcome_matrix(twin, layout, *data, s, convert, basis)
            for s in outcomes
        ]
    except (ReadingError, RefusedError):
        return None
    maps = [_modular(values[places, :-1]) for values in rounds]
    model = RATIONAL.array(np.eye(len(places))[layout.places["server", "model", -1]])
    reached = _closure(_modular(begun[places, :-1].T), [m.transpose() for m in maps])
    seen = _closure(_modular(model), maps)
    return int((seen * reached.transpose()).rank())


def _shared(
    problem: Any, algorithm: Any, participation: Any, layout: Layout
) -> tuple[Array, Array]:
    """States whose clients that are alike hold the same, and where to read them."""
    try:
        grouped = classes(problem, algorithm, participation)
    except ReadingError:  # rounds that are listed
        grouped = None
    spread = shared(layout, grouped or [[i] for i in range(layout.n_clients)]) != 0
    basis = np.zeros((layout.size, spread.shape[1] + 1))
    basis[:-1, :-1], basis[-1, -1] = spread, 1.0
    return spread.argmax(axis=0), RATIONAL.array(basis)


def _modular(values: Array) -> flint.nmod_mat:
    return _stacked(values.shape[1], [_residue(value) for value in values.flat])


def _residue(value: flint.fmpq) -> int:
    return int(value.p) * pow(int(value.q), -1, PRIME) % PRIME if value else 0


def _stacked(width: int, flat: list[Any]) -> flint.nmod_mat:
    return flint.nmod_mat(len(flat) // width, width, flat, PRIME)


def _closure(seeds: flint.nmod_mat, maps: list[flint.nmod_mat]) -> flint.nmod_mat:
    """Rows of the smallest space that holds the seeds and that the maps respect."""
    width, basis = seeds.ncols(), _independent(seeds)
    while True:
        images = [entry for m in maps for entry in (basis * m).entries()]
        grown = _independent(_stacked(width, basis.entries() + images))
        if grown.nrows() == basis.nrows():
            return basis
        basis = grown


def _independent(rows: flint.nmod_mat) -> flint.nmod_mat:
    reduced, rank = rows.rref()
    width = rows.ncols()
    return _stacked(width, reduced.entries()[: rank * width])

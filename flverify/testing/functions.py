"""Algorithms given as a function of masks and gradients, in plain numpy.

The function computes one run:

    function(masks, gradient, start) -> models

masks : (rounds, N) array of bool
    Who takes part in which round; read-only.
gradient : callable
    `gradient(client, point)` is the gradient of f_client at a point of shape (d,);
    clients are numbered from 0.
start : (d,) array of floats
    Server model before the first round.
models : (rounds + 1, d) array
    The server model before round 0 (the start) and after every round, each in an array
    of its own where clients came. The model after
    round r must depend on the masks up to round r alone.

    Every call must be an independent run: nothing may be kept from one to the next.

The first run of every batch is computed again, after the others and with other clients
in later rounds. A function that draws random numbers says so, `function.draws = True`,
and then neither is looked at: what is drawn and what is kept cannot be told apart.

Such an algorithm can only be sampled, since nothing is known of how it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from flverify._core.errors import InputError, ShapeError
from flverify._core.exact import Array
from flverify._core.shown import shown
from flverify.engines.own_rounds import failing
from flverify.problems.quadratics import Quadratics
from flverify.testing import written
from flverify.testing.precision import precision_of
from flverify.testing.setting import Setting

SAME = 1e-6  # relative: threads may add short floats in another order

Gradient: TypeAlias = Callable[[int, Array], Array]
Function: TypeAlias = Callable[[Array, Gradient, Array], Array]


def run_models(asked: Setting, seed: int, runs: range, rounds: int) -> Array:
    """Server models of given runs, shape (runs, rounds + 1, d).

    Participants are those of `flverify.simulate` for the same seed, run and round.

    Raises
    ------
    ShapeError
        If the function returns another shape, or not the start first.
    InputError
        If it raises, returns one array for several models, keeps something from one
        call to the next, or lets a model depend on who comes later.
    """
    gradient = _gradient(asked.problem)
    start = np.asarray(asked.begin, dtype=np.float64)
    out = np.empty((len(runs), rounds + 1, len(start)))
    masks = asked.participation.sample(seed, runs, rounds)
    masks.flags.writeable = False
    for row, mask in enumerate(masks):
        found = _run(asked, mask, gradient, begun := start.copy())
        out[row] = _checked(found, start, rounds)
        _require_own_arrays(found, begun, mask)
    if len(runs) and not getattr(asked.algorithm, "draws", False):
        other = asked.participation.sample(
            seed, range(runs.stop, runs.stop + 1), rounds
        )
        _require_alone(asked, masks[0], other[0], out[0])
    return out


def model_precision(asked: Setting, seed: int, rounds: int) -> float:
    """Relative rounding of the models of one run: the function's floats may be short.

    Raises
    ------
    InputError
        As `run_models`.
    """
    start = np.asarray(asked.begin, dtype=np.float64)
    mask = asked.participation.sample(seed, range(1), rounds)[0]
    mask.flags.writeable = False
    found = _run(asked, mask, _gradient(asked.problem), start.copy())
    _checked(found, start, rounds)
    return max(map(precision_of, found))


def _run(asked: Setting, mask: Array, gradient: Gradient, start: Array) -> Any:
    """Return what the function returns for one run."""
    name = written.algorithm(asked.algorithm)
    with np.errstate(over="ignore", invalid="ignore"), failing(name):
        return asked.algorithm(mask, gradient, start)


def _require_alone(asked: Setting, mask: Array, other: Array, models: Array) -> None:
    """Refuse what depends on earlier calls, or on who comes in later rounds."""
    gradient = _gradient(asked.problem)
    start, rounds = models[0], len(mask)
    again = _checked(_run(asked, mask, gradient, start.copy()), start, rounds)
    if (at := _first_apart(again, models)) is not None:
        raise InputError(
            "an algorithm given as a function must compute a run from its arguments "
            f"alone; two calls with the same ones differ after round {at}; keep "
            "nothing between calls, or say that it draws random numbers by setting its "
            "attribute draws to True."
        )
    differing = np.flatnonzero((mask != other).any(axis=1))
    differing = differing[differing > 0]
    if not len(differing):
        return
    cut = int(differing[len(differing) // 2])
    mixed = np.concatenate([mask[:cut], other[cut:]])
    mixed.flags.writeable = False
    changed = _checked(_run(asked, mixed, gradient, start.copy()), start, rounds)
    if (at := _first_apart(changed[: cut + 1], models[: cut + 1])) is not None:
        raise InputError(
            "an algorithm given as a function must compute the model after a round "
            f"from the participants so far; those after round {cut} change the model "
            f"after round {at}; read no later row of the masks."
        )


def _first_apart(found: Array, known: Array) -> int | None:
    """Return the first row in which models differ by more than rounding, or None."""
    size = np.abs(np.where(np.isfinite(known), known, 0.0)).max(axis=1, keepdims=True)
    near = np.isclose(found, known, rtol=SAME, equal_nan=True, atol=0)
    with np.errstate(all="ignore"):
        near |= np.abs(found - known) <= SAME * np.maximum.accumulate(size)
    rows = np.flatnonzero(~near.all(axis=1))
    return int(rows[0]) if len(rows) else None


def _require_own_arrays(found: object, begun: Array, mask: Array) -> None:
    """Refuse a list that holds one array twice: what is written to it later is in both.

    A round without participants may leave the model as it is; the start is compared.
    """
    if not isinstance(found, list | tuple):
        return
    for r, (before, after) in enumerate(pairwise(found)):
        own = isinstance(after, np.ndarray) and after is not begun
        if own and before is after and mask[r : r + 1].any():
            raise InputError(
                "an algorithm given as a function must return an array of its own for "
                f"every model; got the same one before and after round {r + 1}, in "
                "which clients came; append a copy."
            )


def _floats(found: object) -> Array | None:
    """Return what was returned as floats; None for what has none."""
    try:
        given = np.asarray(found)
        return None if given.dtype.kind == "c" else given.astype(np.float64)
    except (TypeError, ValueError):  # text, a generator, lists of several lengths
        return None


def _checked(found: object, start: Array, rounds: int) -> Array:
    models = _floats(found)
    if models is None or models.shape != (rounds + 1, len(start)):
        told = shown(found) if models is None else f"shape {models.shape}"
        raise ShapeError(
            f"an algorithm given as a function must return {rounds + 1} models of "
            f"{len(start)} numbers, the start first; got {told}; return "
            "the model before the first round and after every round."
        )
    if not np.array_equal(models[0], start):
        raise ShapeError(
            "an algorithm given as a function must return the start as its first "
            f"model; got {models[0].tolist()} for {start.tolist()}; put it first."
        )
    return models


def _gradient(problem: Any) -> Gradient:
    """Gradients in floats, without the checks that every call would repeat."""
    if not isinstance(problem, Quadratics):
        return _of_clients(
            lambda client, point: np.array(problem.gradient(client, point.copy())),
            problem.n_clients,
        )
    plain = problem.as_float()
    hessians, linear = plain.hessians, plain.linear
    return _of_clients(
        lambda client, point: np.asarray(hessians[client] @ point - linear[client]),
        problem.n_clients,
    )


def _of_clients(gradient: Gradient, n_clients: int) -> Gradient:
    """Refuse other clients: -1 would be the last one, as Python counts."""

    def checked(client: int, point: Array) -> Array:
        if not 0 <= client < n_clients:
            raise IndexError(
                f"a client is one of 0, ..., {n_clients - 1}; got {shown(client)}"
            )
        return gradient(client, point)

    return checked

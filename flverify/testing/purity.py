"""A round must be a pure function: what is known of one call is said of every call.

Moments and compiled simulations read a round once. One that counts its calls or draws
its own random numbers would be judged by whatever it did then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flverify._core.errors import InputError, ReadingError, Refusal
from flverify._core.exact import Array
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.simulate import simulate
from flverify.engines.trace import Trace, trace

READINGS = 12  # own coins of probability 1/2 look alike in 11 repetitions in 1/2048
ROUNDS = 8  # simulated where a round cannot be traced


def require_pure(
    problem: Any, algorithm: Algorithm, participation: Any, start: Array
) -> None:
    """Read an algorithm several times, and compare.

    Raises
    ------
    InputError
        If two readings differ.
    """
    read = _traced(algorithm, problem.n_clients)
    if read is not None:
        again = (_traced(algorithm, problem.n_clients) for _ in range(READINGS - 1))
        same = all(repr(other) == repr(read) for other in again)
    else:
        asked = problem, algorithm, participation, start
        same = np.array_equal(_simulated(*asked), _simulated(*asked), equal_nan=True)
    if not same:
        name = type(algorithm).__name__
        raise InputError(
            f"init and round of {name} must be pure functions of their arguments; two "
            "calls with the same ones differ; keep counters in the state, and leave "
            "all randomness to the law."
        )


def _traced(algorithm: Algorithm, n_clients: int) -> Trace | None:
    try:
        return trace(algorithm, n_clients)
    except ReadingError:
        return None


def _simulated(
    problem: Any, algorithm: Algorithm, participation: Any, start: Array
) -> Array:
    """Return two runs of the first rounds; nothing where there is no simulation."""
    found = simulate(
        problem,
        algorithm,
        participation,
        rounds=ROUNDS,
        runs=2,
        seed=0,
        start=start.tolist(),
        keep_models=True,
    )
    return np.zeros(0) if isinstance(found, Refusal) else np.asarray(found.models)

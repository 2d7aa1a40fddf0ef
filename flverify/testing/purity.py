"""A round must be a pure function: what is known of one call is said of every call.

A round that can be traced is compared with itself by the trace. One that cannot be is
simulated twice here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flverify._core.errors import ReadingError, Refusal
from flverify._core.exact import Array
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.own_rounds import impure
from flverify.engines.simulate import simulate
from flverify.engines.trace import trace

ROUNDS = 8  # simulated where a round cannot be traced


def require_pure(
    problem: Any, algorithm: Algorithm, participation: Any, start: Array
) -> None:
    """Check that two readings of an algorithm are the same.

    Raises
    ------
    InputError
        If two readings differ.
    """
    try:
        trace(algorithm, problem.n_clients)  # which compares readings of its own
    except ReadingError:
        asked = problem, algorithm, participation, start
        if not np.array_equal(_simulated(*asked), _simulated(*asked), equal_nan=True):
            raise impure(algorithm) from None


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

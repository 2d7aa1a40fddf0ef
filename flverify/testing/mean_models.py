"""Models of a sample that a fixed point is extrapolated from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flverify._core.errors import Refusal
from flverify._core.exact import Array
from flverify.testing import sampling
from flverify.testing.functions import run_models
from flverify.testing.setting import Setting


@dataclass(frozen=True)
class Models:
    """Models of all runs, each (runs, d): after half the rounds, and after all.

    `later` are those after all rounds but one, and after the round of the later half
    whose mean squared error is the farthest from the last: a period need not show in
    two rounds that follow each other.
    """

    half: Array
    last: Array
    later: tuple[Array, ...]


def mean_models(asked: Setting, how: sampling.Plan, runs: int) -> Models | Refusal:
    """Sample the models that a fixed point is extrapolated from."""
    if how.rounds == 1:
        return Refusal("sampling", "an extrapolation needs at least 2 rounds.")
    half = how.rounds // 2
    if asked.is_function:
        models = run_models(asked, how.seed, range(runs), how.rounds)
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = models - np.asarray(asked.minimiser, dtype=np.float64)
            odd = _odd_one((gaps * gaps).sum(axis=-1).mean(axis=0), half)
        later = models[:, -2], models[:, odd]
        return Models(models[:, half], models[:, -1], later)
    whole = sampling.simulated(asked, how, runs)
    if isinstance(whole, Refusal):
        return whole
    places, out = (half, how.rounds - 1, _odd_one(whole.mean(), half)), []
    for rounds in places:  # a run is the same, however long
        part = sampling.simulated(asked, replace(how, rounds=rounds), runs)
        if isinstance(part, Refusal):
            return part
        out.append(np.asarray(part.final_models))
    return Models(out[0], np.asarray(whole.final_models), (out[1], out[2]))


def _odd_one(errors: Array, half: int) -> int:
    """Return the round from `half` on whose error is the farthest from the last."""
    with np.errstate(invalid="ignore"):
        gaps = np.nan_to_num(np.abs(errors[half:-1] - errors[-1]))
    return half + int(gaps.argmax())

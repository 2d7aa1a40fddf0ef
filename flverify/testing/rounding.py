"""How far off a sampled model may be because its run rounds, round after round."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from flverify._core.errors import InputError
from flverify._core.exact import Array
from flverify.engines.simulate import simulate
from flverify.testing.functions import model_precision, run_models
from flverify.testing.setting import Setting

EACH = 8  # times the rounding of one number: what a round may add
LASTING = 1 / 16  # of the same, and of the rounds so far: what sums of gradients keep
AWAY = 1e-6  # of the size: a move of the start that shows how moves grow
BLURRED = 4  # times what x* may be off by: what errors may be off by for that


def rounding(asked: Setting, seed: int, rounds: int) -> Array:
    """Length by which |x_r - x*| may be off, shape (rounds + 1,), weight x.

    Definition: (1 + 8 r + r^2/16) eps size sqrt(d) G_r, and four times what x* may be
    off by. A method that loses no error keeps what every round added: r of them. One
    that adds up gradients keeps it for good, and it moves the model in every later
    round. G_r >= 1 is how much a small move of the start has grown by round r, in the
    first run: where it grows, so does rounding, from starts that leave x* alone, too.
    """
    eps = asked.precision
    if asked.is_function:
        eps = max(eps, model_precision(asked, seed, rounds))
    r = np.arange(rounds + 1.0)
    size = asked.size * math.sqrt(asked.problem.dim)
    found = sys.float_info.epsilon + eps * r * (EACH + LASTING * r)
    grown = found * size * _growth(asked, seed, rounds)
    return np.asarray(grown + BLURRED * asked.blur)


def _growth(asked: Setting, seed: int, rounds: int) -> Array:
    """Largest growth so far of a move of the start, in no special direction."""
    begin = np.asarray(asked.begin, dtype=np.float64)
    move = AWAY * asked.size * np.cos(np.arange(1, len(begin) + 1))
    try:
        here, there = (_models(asked, at, seed, rounds) for at in (begin, begin + move))
    except (InputError, OverflowError):  # no run: that is told where runs are drawn
        return np.ones(rounds + 1)
    with np.errstate(all="ignore"):
        found = np.linalg.norm(there - here, axis=1) / np.linalg.norm(move)
    grown = np.where(np.isfinite(found), found, np.inf)
    return np.maximum(np.maximum.accumulate(grown), 1.0)


def _models(asked: Setting, start: Array, seed: int, rounds: int) -> Array:
    """Server models of the first run from a start, shape (rounds + 1, d)."""
    begun = replace(asked, start=start)
    if asked.is_function:
        return np.asarray(run_models(begun, seed, range(1), rounds)[0])
    parts = asked.problem, asked.algorithm, asked.participation
    found: Any = simulate(
        *parts,
        rounds=rounds,
        runs=1,
        seed=seed,
        start=start.tolist(),
        keep_models=True,
    )
    return np.asarray(found.models[0], dtype=np.float64)

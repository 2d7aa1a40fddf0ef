"""Mean models of a sample: the rounds looked at, and what these cannot show."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array
from flverify.participation._law import Participation
from flverify.testing import sampling
from flverify.testing.functions import run_models
from flverify.testing.setting import Setting

SETTLED = 1e-2  # how far, in total variation, modes may be from the long run


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


def unseen(law: Participation, rounds: int) -> str:
    """Say what comes so rarely that no mean is seen to settle; empty if nothing does.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> unseen(Bernoulli(["1/2", "1/1000"]), 200)[:45]
    'client 1 comes in fewer than one of 200 round'
    >>> unseen(Bernoulli(["1/2", "1/100"]), 200)
    ''
    """
    with suppress(RefusedError):  # a law that only draws
        shares = np.asarray(law.inclusion(), dtype=float)
        rare = np.flatnonzero((shares > 0) & (shares * rounds < 1))
        if len(rare):
            i = int(rare[0])
            return (
                f"client {i} comes in fewer than one of {rounds} rounds on average, "
                f"with probability {shares[i]:.3g}: what it moves may not be seen; "
                "raise rounds"
            )
    return _unsettled(law, rounds)


def _unsettled(law: Participation, rounds: int) -> str:
    """Say that modes come in turns, or have not been left yet."""
    chain = law.modes()
    moves = np.array(chain.transition, dtype=float)
    now = np.array(chain.initial, dtype=float)
    now = now @ np.linalg.matrix_power(moves, rounds)
    off = float(np.abs(now - np.array(chain.stationary, dtype=float)).sum()) / 2
    if off <= SETTLED:
        return ""
    return (
        f"after {rounds} rounds the modes of the law are {off:.3g} from their long run "
        "in total variation; raise rounds, if they settle at all"
    )

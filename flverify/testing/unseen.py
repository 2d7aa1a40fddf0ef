"""What of a law a sample cannot show: clients, and modes, that come too rarely."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify.participation._law import Participation

SEEN = 20  # visits expected in a sample; that there is none has probability 2e-9
SETTLED = 1e-2  # how far, in total variation, modes may be from the long run


def too_rare(law: Participation, runs: int, rounds: int) -> str:
    """Say which client comes too rarely in a sample for what it does to be seen.

    Empty if there is none. Nor is it said of a law that only draws.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> too_rare(Bernoulli(["1/2", "1/1000000"]), 100, 200)[:43]
    'client 1 is expected 0.02 times in all 100 '
    >>> too_rare(Bernoulli(["1/2", "1/1000"]), 100, 200)
    ''
    """
    chain = law.modes()
    moves = np.array(chain.transition, dtype=float)
    now = np.array(chain.initial, dtype=float)
    spent = np.zeros(len(now))  # rounds in every mode
    for _ in range(rounds if len(now) > 1 else 1):
        spent, now = spent + now, now @ moves
    spent *= runs * rounds / spent.sum()
    with suppress(RefusedError):
        comes = np.array([mode.inclusion() for mode in chain.laws], dtype=float)
        expected = spent @ comes
        rare = np.flatnonzero((expected > 0) & (expected < SEEN))
        if len(rare):
            i = int(rare[0])
            return (
                f"client {i} is expected {expected[i]:.3g} times in all {runs} runs, "
                f"and in fewer than {SEEN} what it does may not be seen; raise budget"
            )
    return ""


def unsettled(law: Participation, rounds: int) -> str:
    """Say what comes so rarely that no mean is seen to settle; empty if nothing does.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> unsettled(Bernoulli(["1/2", "1/1000"]), 200)[:45]
    'client 1 comes in fewer than one of 200 round'
    >>> unsettled(Bernoulli(["1/2", "1/100"]), 200)
    ''
    """
    with suppress(RefusedError):
        shares = np.asarray(law.inclusion(), dtype=float)
        rare = np.flatnonzero((shares > 0) & (shares * rounds < 1))
        if len(rare):
            i = int(rare[0])
            return (
                f"client {i} comes in fewer than one of {rounds} rounds on average, "
                f"with probability {shares[i]:.3g}: what it moves may not be seen; "
                "raise rounds"
            )
    off = _from_the_long_run(law, rounds)
    if off <= SETTLED:
        return ""
    return (
        f"after {rounds} rounds the modes of the law are {off:.3g} from their long run "
        "in total variation; raise rounds, if they settle at all"
    )


def _from_the_long_run(law: Participation, rounds: int) -> float:
    chain = law.modes()
    moves: Array = np.array(chain.transition, dtype=float)
    now = np.array(chain.initial, dtype=float) @ np.linalg.matrix_power(moves, rounds)
    return float(np.abs(now - np.array(chain.stationary, dtype=float)).sum()) / 2

"""Draws of a user's own law: bools, a pure function of their keys, as often as said."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from flverify._core.errors import DomainError, InputError, ShapeError
from flverify._core.exact import Array
from flverify._core.sentences import number_of
from flverify.participation._law import Participation

ROUNDS = 64  # of as many runs
DRAWS = ROUNDS**2
LAGS = range(1, 33)  # rounds, and runs, between two that are compared
DOUBT = 1e-12  # probability that frequencies of a right law are called wrong
MOST_PAIRED = 10  # clients whose pairs are counted


def require_draws(
    law: Participation, outcomes: Collection[frozenset[int]], name: str
) -> None:
    """Check the draws of a law that may draw these outcomes, or any where none is told.

    Raises
    ------
    InputError
        If they are no bools of their shape, depend on more than their seed, run and
        round, or on the round before, are none of the outcomes, or come in too often
        or too rarely.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> require_draws(Bernoulli(["1/2", "1/3"]), [], "Bernoulli")
    """
    drawn, again = (law.sample(0, ROUNDS, ROUNDS) for _ in range(2))
    shape = (ROUNDS, ROUNDS, law.n_clients)
    kind = str(getattr(drawn, "dtype", type(drawn).__name__))
    if kind != "bool" or drawn.shape != shape:
        raise ShapeError(
            f"sample() of {name} must return an array of bool of shape {shape} for as "
            f"many runs and rounds; got {kind} of shape {np.shape(drawn)}; mend it."
        )
    if not np.array_equal(drawn, again):
        raise InputError(
            f"sample() of {name} must be a pure function of seed, run and round; two "
            "calls with the same ones differ; draw from the seed alone."
        )
    _require_keyed(law, drawn, name)
    flat = drawn.reshape(DRAWS, -1)
    _require_listed(flat, outcomes, name)
    _require_frequencies(law, flat, name)
    _require_no_memory(law, drawn, name)


def _require_listed(
    flat: Array, outcomes: Collection[frozenset[int]], name: str
) -> None:
    seen = {frozenset(row.nonzero()[0].tolist()) for row in np.unique(flat, axis=0)}
    stray = seen - set(outcomes)
    if outcomes and stray:
        raise DomainError(
            f"sample() of {name} must draw outcomes of support(); got "
            f"{min(map(sorted, stray))}, which is none; mend one of them."
        )


def _require_keyed(law: Participation, drawn: Array, name: str) -> None:
    """Check that every run and round has draws of its own: blocks ask for some."""
    runs, rounds = range(1, 3), range(2, 5)
    if not np.array_equal(law.sample(0, runs, rounds), drawn[1:3, 2:5]):
        raise InputError(
            f"sample() of {name} must draw a round of a run alike whichever others are "
            "asked for; runs 1 and 2 draw otherwise alone than among all; draw from "
            "(seed, run, round)."
        )
    alike = [(drawn == drawn[:1]).all(), (drawn == drawn[:, :1]).all()]
    if any(alike) and not all(alike):  # both: perhaps nothing varies
        each = "run" if alike[0] else "round"
        raise InputError(
            f"sample() of {name} must draw every {each} anew; got the same draws in "
            "each; draw from (seed, run, round)."
        )


def _require_frequencies(law: Participation, flat: Array, name: str) -> None:
    said = np.asarray(law.inclusion(), dtype=float)
    often = flat.mean(axis=0)
    for (i,) in _off(often, said, tolerated(law.n_clients)):
        raise DomainError(
            f"sample() of {name} must draw client {i} with its probability "
            f"{law.inclusion()[i]}; it came in {often[i]:.3g} of {DRAWS} rounds; mend "
            "one of them."
        )
    if law.n_clients <= MOST_PAIRED:
        _require_pairs(law, flat, name)


def _require_pairs(law: Participation, flat: Array, name: str) -> None:
    said = np.asarray(law.joint_inclusion(), dtype=float)
    ones = flat.astype(float)
    often = ones.T @ ones / DRAWS
    for i, j in _off(often, said, tolerated(law.n_clients**2)):
        raise DomainError(
            f"sample() of {name} must draw clients {i} and {j} together with their "
            f"probability {law.joint_inclusion()[i, j]}; they came in "
            f"{often[i, j]:.3g} of {DRAWS} rounds; mend one of them."
        )


def _require_no_memory(law: Participation, drawn: Array, name: str) -> None:
    """Check that rounds, and runs, are alike and say nothing of later ones.

    Pairs are compared, and each half of them: every other round, the later half, ...
    """
    shares = np.asarray(law.inclusion(), dtype=float)
    compared = 2 * len(LAGS) * (shares.size**2 + 2 * shares.size)
    for what, draws in (("round", drawn), ("run", drawn.swapaxes(0, 1))):
        mend = "use ModeChain for a law with memory" if what == "round" else "mend it"
        for lag in LAGS:
            first, later = _pairs(draws.astype(float), lag)
            allowed = tolerated(compared, len(first))
            for half in (first, later):
                often = half.mean(axis=0)
                for (i,) in _off(often, shares, allowed):
                    raise DomainError(
                        f"sample() of {name} must draw every {what} by one law; in "
                        f"half of them client {i} came in a share of {often[i]:.3g}, "
                        f"not {shares[i]:.3g}; {mend}."
                    )
            often, said = first.T @ later / len(first), np.outer(shares, shares)
            for i, j in _off(often, said, allowed):
                raise DomainError(
                    f"sample() of {name} must draw a {what} whatever those before "
                    f"were; client {i} and, {number_of(lag, what)} later, client {j} "
                    f"came in {often[i, j]:.3g} of {len(first)} pairs, not "
                    f"{said[i, j]:.3g}; {mend}."
                )


def _off(often: Array, said: Array, allowed: float) -> Array:
    """Places where frequencies are not those that are said."""
    return np.argwhere(abs(often - said) > allowed)


def _pairs(draws: Array, lag: int) -> tuple[Array, Array]:
    """Return rounds and those so many later, each of them in one pair alone."""
    runs, rounds, n_clients = draws.shape
    blocks = rounds // (2 * lag)
    paired = draws[:, : 2 * lag * blocks].reshape(runs * blocks, 2, lag, n_clients)
    first, later = (paired[:, k].reshape(-1, n_clients) for k in (0, 1))
    return first, later


def tolerated(compared: int, draws: int = DRAWS) -> float:
    """How far so many frequencies may be off, by Hoeffding's inequality."""
    return math.sqrt(math.log(2 * compared / DOUBT) / (2 * draws))

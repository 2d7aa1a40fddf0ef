"""Modes of a user's own law: its moments are their mix, and its draws move as they."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from flverify._core.errors import DomainError, InputError, RefusedError
from flverify._core.exact import Scalar
from flverify._core.sentences import number_of
from flverify._core.shown import shown
from flverify.engines.own_draws import DRAWS, tolerated
from flverify.engines.own_tables import POWERS, asked_for, moment_of
from flverify.participation._law import Modes, Participation
from flverify.participation._outcomes import apart
from flverify.participation.mode_chain import ModeChain

MOST_PAIRED = 10  # clients all of whose pairs are compared; of more, one client's


def require_modes(law: Participation, name: str) -> None:
    """Check a law with modes: engines read these alone, and samples its draws alone.

    Raises
    ------
    DomainError
        If moments are not those of the stationary mode, or draws of the first two
        rounds come too often or too rarely.

    Examples
    --------
    >>> from flverify.participation import Full, ModeChain, UniformCohort
    >>> laws = Full(2), UniformCohort(2, 1)
    >>> require_modes(ModeChain(((0, 1), (1, 0)), laws), "ModeChain")
    """
    with suppress(RefusedError, NotImplementedError):  # what it does not answer
        _require_mixed(law, name)
    with suppress(RefusedError, NotImplementedError):
        _require_moved(law, name)


def require_chain(law: Participation, name: str) -> None:
    """Check that what modes() returns is a chain of laws, as `ModeChain` would make it.

    Raises
    ------
    InputError
        If it is none, or its stationary distribution is another.

    Examples
    --------
    >>> from flverify.participation import Full
    >>> require_chain(Full(2), "Full")
    """
    said = law.modes()
    kept = isinstance(said, Modes) and (said.initial, said.laws, said.stationary)
    if not (kept and all(isinstance(part, tuple) for part in kept)):
        raise _no_modes(said, name)
    if len(said.laws) == 1 and said.laws[0] is law:
        return
    try:
        chain = ModeChain(said.transition, said.laws, said.initial)
    except InputError as error:
        raise InputError(f"modes() of {name} must be a chain: {error}") from error
    due = chain.modes()
    if (due.initial, due.transition) != (said.initial, said.transition):
        raise _no_modes(said, name)  # numbers were given as text, or rows as lists
    if chain.n_clients != law.n_clients or (law.exact and not chain.exact):
        raise InputError(
            f"the modes of {name} must have its {law.n_clients} clients, and be "
            f"rationals where its exact is True; got {shown(said)}; mend modes()."
        )
    _require_stationary(said.stationary, due.stationary, name)


def _no_modes(said: object, name: str) -> InputError:
    return InputError(
        f"modes() of {name} must return Modes of flverify.participation._law, of "
        f"tuples of numbers; got {shown(said)}; mend it."
    )


def _require_stationary(
    said: tuple[Scalar, ...], due: tuple[Scalar, ...], name: str
) -> None:
    if len(said) != len(due) or any(map(apart, said, due)):
        raise InputError(
            f"the stationary distribution of modes() of {name} must be that of its "
            f"transition, {shown(due)}; got {shown(said)}; mend it."
        )


def _require_mixed(law: Participation, name: str) -> None:
    chain, everyone = law.modes(), range(law.n_clients)
    rows = everyone if law.n_clients <= MOST_PAIRED else (0,)
    groups = sorted({(i,) for i in everyone} | {(i, j) for i in rows for j in everyone})
    for clients, power in ((c, k) for c in groups for k in POWERS):
        parts = zip(chain.stationary, chain.laws, strict=True)
        due = sum(share * mode.moment(clients, power) for share, mode in parts)
        said = moment_of(law, name, clients, power)
        if apart(said, due):
            raise DomainError(
                f"{asked_for(clients, power)} of {name} must be that of its stationary "
                f"mode, {due}; got {said}; mend it, or modes()."
            )


def _require_moved(law: Participation, name: str) -> None:
    """Compare who comes in round 0, and in rounds 0 and 1, with what modes say."""
    chain, n_clients = law.modes(), law.n_clients
    comes = np.array([mode.inclusion() for mode in chain.laws], dtype=float)
    begun = np.array(chain.initial, dtype=float)
    moves = np.array(chain.transition, dtype=float)
    drawn = np.asarray(law.sample(0, DRAWS, 2), dtype=float)
    said = np.vstack([begun @ comes, (comes.T * begun) @ moves @ comes])
    often = np.vstack([drawn[:, 0].mean(axis=0), drawn[:, 0].T @ drawn[:, 1] / DRAWS])
    wrong = np.argwhere(abs(often - said) > tolerated(n_clients * (n_clients + 1)))
    if len(wrong):
        row, j = wrong[0]
        who = (
            f"client {row - 1} in round 0 and {j} in round 1" if row else f"client {j}"
        )
        raise DomainError(
            f"sample() of {name} must draw {who} as modes() say, with probability "
            f"{said[row, j]:.3g}; it did in {often[row, j]:.3g} of "
            f"{number_of(DRAWS, 'run')}; mend one of them."
        )

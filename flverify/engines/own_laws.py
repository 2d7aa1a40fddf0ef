"""Laws of a user's own: what they say of themselves must agree, before it is used.

The package's laws are held to this, and to more, by its tests. Outcomes are listed and
compared with moments and with draws where a law has few clients; of more, moments are
compared with each other and with draws.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from itertools import combinations

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, InputError, RefusedError
from flverify._core.exact import Scalar, is_symbolic
from flverify._core.places import is_own
from flverify._core.shown import shown
from flverify.engines.own_draws import ROUNDS, require_draws
from flverify.engines.own_modes import require_chain, require_modes
from flverify.engines.own_tables import (
    POWERS,
    Ask,
    asked_for,
    moment_of,
    require_tables,
)
from flverify.participation._law import Participation, inverse_power
from flverify.participation._outcomes import Outcomes, apart, outcomes_of

MOST_TRIPLED = 6  # clients whose triples are compared, too
MOST_LISTED = 10  # whose outcomes are listed: at most 1024
MOST_CLIENTS = 64  # who are compared at all
MOST_EXACT = 64  # outcomes summed in rationals for every moment
UNSAID = RefusedError, NotImplementedError  # what a law does not answer is not compared


def require_consistent(law: Participation) -> None:
    """Check a law of another module than those of the package, or made of such laws.

    Raises
    ------
    InputError
        If its number of clients, its outcomes, its moments or its draws do not agree.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> require_consistent(Bernoulli(["1/2", "1/3"]))
    """
    if not is_own(law):
        for part in _parts(law):
            require_consistent(part)
    else:
        _require_own(law)


def how_compared(law: Participation) -> str:
    """Say how far an own law was compared with itself; nothing of the package's laws.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> how_compared(Bernoulli(["1/2", "1/3"]))
    ''
    """
    own = [one for one in (law, *_parts(law)) if is_own(one)]
    if not own:
        return ""
    if any(one.n_clients > MOST_CLIENTS for one in own):
        return "not compared with itself"
    if any(len(one.modes().laws) > 1 for one in own):
        return "compared with its modes over 2 rounds"
    return f"compared with itself over {ROUNDS} rounds"


def _parts(law: Participation) -> list[Participation]:
    """Return the laws that one is made of: of its modes, and the one it conditions."""
    parts = [*law.modes().laws, getattr(law, "law", law)]
    return [part for part in parts if part is not law]


def _require_own(law: Participation) -> None:
    name = type(law).__name__
    if not hasattr(law, "n_clients"):
        raise InputError(
            f"a law must have its number of clients as n_clients; {name} has none; set "
            "it."
        )
    whole(law.n_clients, f"n_clients of {name}")
    if not isinstance(law.spec, str):
        raise InputError(
            f"spec of {name} must be a text, by which the law is told; got "
            f"{shown(law.spec)}; write one."
        )
    require_chain(law, name)
    for part in _parts(law):
        require_consistent(part)
    if law.n_clients > MOST_CLIENTS:
        return
    if len(law.modes().laws) > 1:
        require_modes(law, name)
        return
    outcomes = _outcomes(law) if law.n_clients <= MOST_LISTED else {}
    ask: Ask = cache(partial(moment_of, law, name))
    if any(is_symbolic(share) for share in outcomes.values()):
        with suppress(*UNSAID):  # of what has symbols nothing can be drawn
            _require_moments(law, ask, outcomes, name)
        return
    with suppress(*UNSAID):  # a law that only draws
        _require_moments(law, ask, outcomes, name)
        require_tables(law, ask, name)
    with suppress(*UNSAID):  # a law that is asked for moments alone
        require_draws(law, [s for s, share in outcomes.items() if share > 0], name)


def _outcomes(law: Participation) -> Outcomes:
    try:
        found = law.support()
    except UNSAID:
        return {}
    return outcomes_of(law, found)


def _require_moments(
    law: Participation, ask: Ask, outcomes: Outcomes, name: str
) -> None:
    largest = 3 if law.n_clients <= MOST_TRIPLED else 2
    groups = (
        clients
        for size in range(1, largest + 1)
        for clients in combinations(range(law.n_clients), size)
    )
    few = len(outcomes) <= MOST_EXACT or any(map(is_symbolic, outcomes.values()))
    summed = partial(_summed, outcomes) if few else _in_floats(law, outcomes)
    for clients, power in ((c, k) for c in groups for k in POWERS if outcomes):
        said, found = ask(clients, power), summed(clients, power)
        if apart(said, found):
            raise DomainError(
                f"{asked_for(clients, power)} of {name} must be what support() says, "
                f"{found}; got {said}; mend one of them."
            )


def _summed(outcomes: Outcomes, clients: tuple[int, ...], power: int) -> Scalar:
    asked = frozenset(clients)
    sizes = ((len(s), share) for s, share in outcomes.items() if asked <= s)
    return sum(share * inverse_power(size, power) for size, share in sizes)


def _in_floats(
    law: Participation, outcomes: Outcomes
) -> Callable[[tuple[int, ...], int], float]:
    """Sum many outcomes at once, for single clients and pairs."""
    came = np.array([[i in s for i in range(law.n_clients)] for s in outcomes], float)
    shares = np.array([float(share) for share in outcomes.values()])
    sizes = np.maximum(came.sum(axis=1), 1)
    sums = [came.T @ (came * (shares / sizes**power)[:, None]) for power in POWERS]
    return lambda clients, power: float(sums[power][clients[0], clients[-1]])

"""Laws of a user's own: what they say of themselves must agree, before it is used.

The package's laws are held to this, and to more, by its tests. Outcomes are listed and
compared with moments and with draws where a law has few clients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations_with_replacement

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, InputError, RefusedError, ShapeError
from flverify._core.exact import Array, Scalar, is_exact, is_symbolic
from flverify._core.shown import shown
from flverify.participation._law import Participation, inverse_power

MOST_CLIENTS = 6  # whose outcomes are compared with moments
DRAWS = 4096
DOUBT = 1e-12  # probability that frequencies of a right law are called wrong
ROUNDING = 1e-9  # how far floats may be from one another

Outcomes = Mapping[frozenset[int], Scalar]


def require_consistent(law: Participation) -> None:
    """Check a law of another module than those of the package.

    Raises
    ------
    InputError
        If its number of clients, its outcomes, its moments or its draws do not agree.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> require_consistent(Bernoulli(["1/2", "1/3"]))
    """
    if type(law).__module__.split(".")[0] == "flverify":
        return
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
    if law.n_clients > MOST_CLIENTS or len(law.modes().laws) > 1:
        return
    outcomes = _outcomes(law, name)
    if any(is_symbolic(share) for share in outcomes.values()):
        return
    _require_distribution(outcomes, name)
    _require_moments(law, outcomes, name)
    with suppress(NotImplementedError):  # a law that is asked for moments alone
        _require_draws(law, outcomes, name)


def _outcomes(law: Participation, name: str) -> Outcomes:
    try:
        found = law.support()
    except RefusedError:
        return {}
    everybody = frozenset(range(law.n_clients))
    sets = found if isinstance(found, Mapping) else [None]
    if not all(isinstance(s, frozenset) and s <= everybody for s in sets):
        raise ShapeError(
            f"support() of {name} must map frozensets of clients from 0 to "
            f"{law.n_clients - 1} to probabilities; got {shown(found)}; mend it."
        )
    return found


def _require_distribution(outcomes: Outcomes, name: str) -> None:
    total = sum(outcomes.values())
    if outcomes and (_apart(total, 1) or min(outcomes.values()) < 0):
        raise DomainError(
            f"the probabilities of support() of {name} must be at least 0 and sum to "
            f"1; got the sum {total} and the smallest {min(outcomes.values())}; mend "
            "them."
        )


def _require_moments(law: Participation, outcomes: Outcomes, name: str) -> None:
    pairs = combinations_with_replacement(range(law.n_clients), 2)
    for clients, power in ((c, k) for c in pairs for k in (0, 1, 2) if outcomes):
        said, asked = law.moment(clients, power), frozenset(clients)
        if law.exact and isinstance(said, float):
            raise DomainError(
                f"moment({tuple(sorted(asked))}, {power}) of {name} must be a "
                f"rational, since its exact is True; got the float {said}; return "
                "Fractions, or set exact to False."
            )
        sizes = {s: share for s, share in outcomes.items() if asked <= s}
        found = sum(share * inverse_power(len(s), power) for s, share in sizes.items())
        if _apart(said, found):
            raise DomainError(
                f"moment({tuple(sorted(asked))}, {power}) of {name} must be what "
                f"support() says, {found}; got {said}; mend one of them."
            )


def _apart(one: Scalar, other: Scalar) -> bool:
    """Whether two numbers differ: rationals at all, floats by more than rounding."""
    exact = is_exact(one) and is_exact(other)
    return bool(one != other if exact else abs(one - other) > ROUNDING)


def _require_draws(law: Participation, outcomes: Outcomes, name: str) -> None:
    drawn, again = (law.sample(0, DRAWS // 64, 64) for _ in range(2))
    shape = (DRAWS // 64, 64, law.n_clients)
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
    seen = {frozenset(row.nonzero()[0].tolist()) for row in drawn.reshape(DRAWS, -1)}
    stray = seen - {s for s, share in outcomes.items() if share > 0}
    if outcomes and stray:
        raise DomainError(
            f"sample() of {name} must draw outcomes of support(); got "
            f"{min(map(sorted, stray))}, which is none; mend one of them."
        )
    _require_frequencies(law, drawn.reshape(DRAWS, -1).mean(axis=0), name)


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


def _require_frequencies(law: Participation, often: Array, name: str) -> None:
    allowed = math.sqrt(math.log(2 * law.n_clients / DOUBT) / (2 * DRAWS))
    for i, said in enumerate(law.inclusion()):
        if abs(float(said) - often[i]) > allowed:
            raise DomainError(
                f"sample() of {name} must draw client {i} with its probability {said}; "
                f"it came in {often[i]:.3g} of {DRAWS} rounds; mend one of them."
            )

"""The matrices as affine forms in the features of a cohort.

Every matrix is affine in I_i = 1{i in S}, a_i = I_i/|S| and e = 1{S empty}, with
0/0 = 0. So one form gives the matrix of a cohort (features of the cohort) and the
expected matrix of a law (their expectations p_i, q_i and P(S empty)), and subsets
are never enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from flverify._core.checks import choice, instance, whole
from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import Array, Scalar, identity, zeros
from flverify.participation._law import Participation, members


def require_law(given: object) -> Participation:
    """Return a law, if it is one.

    Raises
    ------
    InputError
        If it is not.
    """
    law: Participation = instance(
        given, "participation", Participation, 'Bernoulli(["1/2", "1/3"])'
    )
    return law


@dataclass(frozen=True, eq=False)
class Features:
    """Features of a cohort, or their expectations under a law."""

    inclusion: Array  # I_i or p_i
    averaging: Array  # I_i/|S| or q_i
    with_server: Array | None  # I_i/(|S| + 1); a law does not give its expectation
    empty: Scalar  # 1{S empty} or its probability

    @staticmethod
    def of_cohort(cohort: Iterable[int], n_clients: int) -> Features:
        """Return the features of one cohort."""
        size = whole(n_clients, "n_clients")
        chosen = members(cohort, size)
        ones = zeros((size,), exact=True)
        ones[sorted(chosen)] = Fraction(1)
        average = ones / max(len(chosen), 1)
        closed = ones / (len(chosen) + 1)
        return Features(ones, average, closed, Fraction(int(not chosen)))

    @staticmethod
    def of_law(participation: Participation) -> Features:
        """Return the expected features under a law, in closed form."""
        law = require_law(participation)
        p, q = law.inclusion(), law.averaging_weights()
        return Features(p, q, None, law.empty_probability())

    @property
    def size(self) -> int:
        """Number of rows, N + 1."""
        return len(self.inclusion) + 1

    @property
    def exact(self) -> bool:
        """Whether the matrices are exact."""
        return self.inclusion.dtype == object


def pull(features: Features) -> Array:
    """R(S): participants take the server model, everybody else keeps its own."""
    out = identity(features.size, features.exact)
    out[1:, 0] = features.inclusion
    _set_diagonal(out, 1 - features.inclusion)
    return out


def push(features: Features) -> Array:
    """C(S): the server adds up what participants hold, participants are reset."""
    out = identity(features.size, features.exact)
    out[0, 1:] = features.inclusion
    _set_diagonal(out, 1 - features.inclusion)
    return out


def aggregation(
    features: Features, reading: str = "printed", empty: str = "keep"
) -> Array:
    """A(S): clients keep their own; the averages stand where the reading says."""
    reading = choice(reading, "reading", ("printed", "figure1"))
    out = identity(features.size, features.exact)
    out[0, 0] = _kept(features, empty)
    if reading == "printed":
        out[1:, 0] = features.averaging
    else:
        out[0, 1:] = features.averaging
    return out


def doubly_stochastic(
    features: Features, diagonal: str = "others", weight: str = "printed"
) -> Array:
    """W(S) of the display after Figure 1: server and participants mix both ways."""
    diagonal = choice(diagonal, "diagonal", ("others", "all"))
    border = features.averaging
    if choice(weight, "weight", ("printed", "figure1")) == "figure1":
        border = _with_server(features)
    out = zeros((features.size, features.size), features.exact)
    out[0, 1:] = out[1:, 0] = border
    missing = 1 - out.sum(axis=0)
    # "all": the entry is in its own sum, x = 1 - (others + x).
    np.fill_diagonal(out, missing if diagonal == "others" else missing / 2)
    return out


def virtual(features: Features, empty: str = "keep") -> Array:
    """W(S) of (35): every node takes the average of the participants."""
    out = zeros((features.size, features.size), features.exact)
    out[:, 0] = _kept(features, empty)
    out[:, 1:] = features.averaging
    return out


# What each matrix is called, and which settings it has.
FORMS: dict[str, tuple[Callable[..., Array], tuple[str, ...]]] = {
    "pull": (pull, ()),
    "aggregation": (aggregation, ("reading", "empty")),
    "push": (push, ()),
    "doubly_stochastic": (doubly_stochastic, ("diagonal", "weight")),
    "virtual": (virtual, ("empty",)),
}


def build(name: str, features: Features, settings: dict[str, str]) -> Array:
    """Build a matrix by name; settings it does not have are refused."""
    form, known = FORMS[choice(name, "name", tuple(FORMS))]
    foreign = sorted(settings.keys() - set(known))
    if foreign:
        raise DomainError(
            f"settings of the {name} matrix must be among {list(known)}; got "
            f"{foreign}; leave them out."
        )
    return form(features, **settings)


def _kept(features: Features, empty: str) -> Scalar:
    kept = choice(empty, "empty", ("keep", "zero")) == "keep"
    return features.empty if kept else 0 * features.empty


def _with_server(features: Features) -> Array:
    if features.with_server is None:
        raise RefusedError(
            "the expectation of I_i/(|S| + 1) is not a moment of a law; the weights "
            "of Figure 1 were asked for; average over support() instead."
        )
    return features.with_server


def _set_diagonal(out: Array, clients: Array) -> None:
    places = np.arange(1, len(out))
    out[places, places] = clients

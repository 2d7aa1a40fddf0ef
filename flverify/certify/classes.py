"""Classes of exchangeable clients, and what the law of their cohort answers.

A certificate costs the same whatever the number of clients, since clients of a class
are interchangeable: the law enters through E phi_i, E phi_i psi_i and E phi_i psi_j of
the features phi in {I, a}, with i and j in given classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeGuard, TypeVar

from flverify._core.errors import RefusedError
from flverify._core.exact import Scalar, is_exact, within_floats
from flverify._core.shown import shown
from flverify.engines.forms import SHARE, Feature
from flverify.engines.kinds import require_law
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.full import Full
from flverify.participation.uniform_cohort import UniformCohort

MOST_CLASSES = 4
Law = TypeVar("Law", bound=Participation)


@dataclass(frozen=True)
class Classes:
    """Clients in classes, numbered class after class, and the law of their cohort.

    Parameters
    ----------
    law : Participation
        With rational probabilities, its clients in the order of the classes.
    sizes : tuple of int
        Clients per class.
    description : dict
        The law as a certificate states it.
    """

    law: Participation
    sizes: tuple[int, ...]
    description: dict[str, Any]
    _known: dict[Any, Fraction] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n_clients(self) -> int:
        """Clients of all classes, N."""
        return sum(self.sizes)

    @cached_property
    def members(self) -> tuple[int, ...]:
        """The first client of every class."""
        return tuple(sum(self.sizes[:r]) for r in range(len(self.sizes)))

    @property
    def sure(self) -> tuple[tuple[Fraction, bool], ...] | None:
        """(chance, everybody?) where only everybody or nobody takes part."""
        if isinstance(self.law, Full):
            return ((Fraction(1), True),)
        if isinstance(self.law, AllOrNothing):
            p = Fraction(self.law.probability)
            both = ((p, True), (1 - p, False))
            return tuple((chance, all_) for chance, all_ in both if chance)
        return None

    def first(self, feature: Feature, which: int) -> Fraction:
        """E phi_i for a client of a class."""
        return self._moment((self.members[which],), int(feature == SHARE))

    def same(self, left: Feature, right: Feature, which: int) -> Fraction:
        """E phi_i psi_i for a client of a class."""
        power = (left == SHARE) + (right == SHARE)
        return self._moment((self.members[which],), power)

    def different(self, left: Feature, right: Feature, a: int, b: int) -> Fraction:
        """E phi_i psi_j for two clients, one of class a and another of class b."""
        if a == b and self.sizes[a] < 2:
            return Fraction(0)  # there is no such pair
        power = (left == SHARE) + (right == SHARE)
        return self._moment((self.members[a], self.members[b] + (a == b)), power)

    def _moment(self, clients: tuple[int, ...], power: int) -> Fraction:
        if (clients, power) not in self._known:
            self._known[clients, power] = Fraction(self.law.moment(clients, power))
        return self._known[clients, power]


def classes(participation: Participation) -> Classes:
    """Group the clients of a law into classes of exchangeable ones.

    Raises
    ------
    InputError
        If it is no law, or has more clients than floats count.
    RefusedError
        If the law is none of full, Bernoulli, uniform and all-or-nothing, has
        probabilities that are not rational, or has too many classes.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> classes(Bernoulli(["1/2", "1/5", "1/2"])).sizes
    (2, 1)
    """
    require_law(participation)
    n = participation.n_clients
    within_floats(n, "n_clients")  # a solver is asked in floats
    if _is(participation, Full):
        return _whole(participation, {"kind": "full", "n_clients": n})
    if _is(participation, UniformCohort):
        if participation.m == n:
            return classes(Full(n))
        size = {"cohort_size": participation.m}
        return _whole(participation, {"kind": "uniform_cohort", "n_clients": n, **size})
    if _is(participation, AllOrNothing):
        _rational([participation.probability])
        word = {"probability": str(Fraction(participation.probability))}
        return _whole(participation, {"kind": "all_or_nothing", "n_clients": n, **word})
    if _is(participation, Bernoulli):
        return _independent(participation)
    raise RefusedError(
        "a certificate must be for full, bernoulli, uniform or all-or-nothing "
        f"participation; got {participation.spec[:60]}; use rate for this law."
    )


def _is(law: Participation, kind: type[Law]) -> TypeGuard[Law]:
    """Say whether a law is of this very kind: a class derived from it may draw else."""
    return type(law) is kind


def _whole(law: Participation, description: dict[str, Any]) -> Classes:
    return Classes(law, (law.n_clients,), description)


def require_everybody(chances: Iterable[Scalar]) -> None:
    """Refuse clients that never take part."""
    if any(p == 0 for p in chances):
        raise RefusedError(
            "every client must take part with positive probability; got 0; leave out "
            "clients that never do, since no rate can hold for them."
        )


def _independent(law: Bernoulli) -> Classes:
    chances = law.inclusion().tolist()
    _rational(chances)
    require_everybody(chances)
    if all(p == 1 for p in chances):
        return classes(Full(law.n_clients))
    kinds = list(dict.fromkeys(chances))
    if len(kinds) > MOST_CLASSES:
        raise RefusedError(
            f"clients must fall into at most {MOST_CLASSES} classes of equal "
            f"probability; got {len(kinds)}; round the probabilities."
        )
    sizes = tuple(chances.count(p) for p in kinds)
    ordered = [p for p, size in zip(kinds, sizes, strict=True) for _ in range(size)]
    stated = [
        {"clients": size, "inclusion": str(p)}
        for p, size in zip(kinds, sizes, strict=True)
    ]
    regrouped = Bernoulli(ordered)
    return Classes(regrouped, sizes, {"kind": "bernoulli", "classes": stated})


def _rational(chances: list[Any]) -> None:
    strange = [p for p in chances if not is_exact(p)]
    if strange:
        raise RefusedError(
            "a certificate must be given rational probabilities; got "
            f"{shown(strange[0])}; write a fraction or decimal text."
        )

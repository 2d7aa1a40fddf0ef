"""Exact mean-square rates on scalar quadratics, at a cost independent of N.

On f_i = h_i x^2/2, with h_i constant on groups of exchangeable clients, a round's
second moments are a small linear map; its spectral radius is the factor per round of
E|x_r - x*|^2 (of two runs' difference, where there is drift). No certified rate of a
function class can lie below the rate of one of its quadratics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from flverify._core.errors import (
    BeyondFloatsError,
    DomainError,
    RefusedError,
    ShapeError,
)
from flverify._core.exact import Array, Scalar, is_exact
from flverify._core.rationals import to_flint
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.classes import Classes, classes
from flverify.certify.coordinates import Structure
from flverify.certify.discover import discover
from flverify.certify.forms import Reading, read
from flverify.certify.quadratics._map import moment_matrix
from flverify.certify.quadratics.occurring import occurring
from flverify.certify.quadratics.rows import Batch
from flverify.certify.quadratics.seen import runs_have_its_rate
from flverify.certify.quadratics.unseen import unseen
from flverify.engines.kinds import require_algorithm, require_listed
from flverify.engines.moments._radius import DIGITS, Interval, exact_radius
from flverify.participation._law import Participation

CHUNK = 1 << 21  # numbers of the matrices made at a time


@dataclass(frozen=True)
class Group:
    """Clients of one class of the law with one curvature h."""

    law_class: int
    n_clients: int
    curvature: Scalar


@dataclass(frozen=True)
class Instance:
    """Scalar quadratics f_i = h_i x^2/2, group by group; no group is empty.

    Groups are in the order of the law's classes.
    """

    groups: tuple[Group, ...]

    @classmethod
    def of(cls, groups: Iterable[Group]) -> Instance:
        """Drop empty groups and merge those of one class and curvature.

        Examples
        --------
        >>> Instance.of([Group(0, 1, 2), Group(0, 0, 3), Group(0, 4, 2)]).groups
        (Group(law_class=0, n_clients=5, curvature=2),)
        """
        counts: dict[tuple[int, Scalar], int] = {}
        for group in groups:
            key = (group.law_class, group.curvature)
            counts[key] = counts.get(key, 0) + group.n_clients
        ordered = sorted(counts.items(), key=lambda item: item[0][0])
        return cls(tuple(Group(r, n, h) for (r, h), n in ordered if n))

    def times(self, factor: Fraction) -> Instance:
        """Return the instance in other units of f; its curvatures are rational."""
        larger = (replace(g, curvature=factor * g.curvature) for g in self.groups)
        return Instance.of(larger)

    @property
    def curvatures(self) -> tuple[Scalar, ...]:
        """h_i of every client, the law's clients taken class after class."""
        return tuple(g.curvature for g in self.groups for _ in range(g.n_clients))

    @property
    def exact(self) -> bool:
        """Whether every curvature is rational."""
        return all(is_exact(g.curvature) for g in self.groups)

    def batch(self) -> Batch:
        """Return the instance as a batch of one."""
        kind = object if self.exact else np.float64
        values = np.array([[g.curvature for g in self.groups]], dtype=kind)
        return Batch(
            tuple(g.law_class for g in self.groups),
            np.array([[g.n_clients for g in self.groups]]),
            to_flint(values) if self.exact else values,
        )

    def __str__(self) -> str:
        parts = (f"{g.n_clients} x {g.curvature}" for g in self.groups)
        return ", ".join(parts)


@dataclass(frozen=True)
class QuadraticRates:
    """Rates of an algorithm under a law on quadratics; one reading serves them all.

    Parameters
    ----------
    reading : Reading
    structure : Structure
        What was discovered about it; only what is eliminated is used.
    unseen : set of str
        Slots that never reach the model: their moments are no part of its rate.
    """

    reading: Reading
    structure: Structure
    unseen: frozenset[str] = frozenset()

    @classmethod
    def of(cls, algorithm: Algorithm, participation: Participation) -> QuadraticRates:
        """Read an algorithm for a law.

        Raises
        ------
        RefusedError
            If the law has no classes of exchangeable clients, or the round keeps a
            quantity that does not vanish at the start.
        ReadingError
            If the round is not linear in the features.
        """
        require_algorithm(algorithm, "step_size")
        require_listed(algorithm)
        reading = read(algorithm, classes(participation))
        structure = discover(reading)
        return cls(reading, structure, unseen(reading, structure))

    @property
    def classes(self) -> Classes:
        """The law's classes."""
        return self.reading.classes

    def at(self, step_size: Scalar) -> QuadraticRates:
        """Return the same algorithm at another step size.

        What is eliminated is discovered anew only where it depends on the step size.

        Examples
        --------
        >>> from flverify.algorithms import GradientDescent
        >>> from flverify.participation import Full
        >>> one = QuadraticRates.of(GradientDescent("1/2"), Full(1)).at(Fraction(1, 4))
        >>> one.rate(Instance((Group(0, 1, Fraction(2)),)))
        0.25
        """
        reading = self._read(step_size)
        if self._steady:
            return replace(self, reading=reading)
        return replace(self, reading=reading, structure=discover(reading))

    def _read(self, step_size: Scalar) -> Reading:
        return read(self.reading.algorithm.retuned(step_size), self.classes)

    @cached_property
    def _steady(self) -> bool:
        """Whether twice the step size leaves what is eliminated as it is."""
        double = self._read(2 * self.reading.algorithm.step_size)
        return discover(double).eliminated == self.structure.eliminated

    def unit(self) -> QuadraticRates:
        """Return the algorithm at step size 1, where curvatures stand for eta h.

        Scaling f by c and eta by 1/c changes no iterate, so rates depend on eta h
        alone, as long as the step size is the only setting with a dimension.

        Raises
        ------
        RefusedError
            If rates of two uneven instances do not depend on eta h alone.
        """
        one, two = self.at(Fraction(1)), self.at(Fraction(2))
        halves = [(n - n // 2, n // 2) for n in self.classes.sizes]
        law = tuple(r for r in range(len(halves)) for _ in range(2))
        clients = np.array([[n for half in halves for n in half]] * 2)
        values = np.linspace(0.1, 0.7, clients.size).reshape(clients.shape)
        first, second = Batch(law, clients, values), Batch(law, clients, values / 2)
        if not np.allclose(one.rates(first), two.rates(second), rtol=1e-8):
            raise RefusedError(
                "the step size must be the only setting with a dimension; got rates "
                "that do not depend on eta h alone; look at one step size at a time."
            )
        return one

    def matrices(self, batch: Batch) -> Array:
        """Return the maps of second moments, (B, n, n); their radii are the rates."""
        return moment_matrix(self.reading, self.structure, batch, self.unseen)

    def rates(self, batch: Batch) -> Array:
        """Rates of many instances in floats, (B,).

        Two groups of one class with equal curvature count as the limit of unequal
        ones: a difference of their means that the server cannot see is in it.

        Raises
        ------
        BeyondFloatsError
            If a map of moments is beyond floats.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # told by _radii
            return np.concatenate([_radii(part) for part in self.chunks(batch)])

    def chunks(self, batch: Batch) -> Iterable[Array]:
        """Matrices of a batch, at most `CHUNK` numbers at a time."""
        slots = len(self.reading.slots) * len(batch.law_classes)
        size = max(1, CHUNK // (slots + 1) ** 4)
        for first in range(0, len(batch.clients), size):
            piece = slice(first, first + size)
            part = Batch(
                batch.law_classes, batch.clients[piece], batch.curvatures[piece]
            )
            yield self.matrices(part)

    def rate(self, instance: Instance) -> float:
        """Rate of one instance in floats, weight 1."""
        batch = self._fitting(instance)
        values = np.array([[float(g.curvature) for g in instance.groups]])
        return float(self.rates(Batch(batch.law_classes, batch.clients, values))[0])

    def matrix(self, instance: Instance) -> Array:
        """Return the map of one instance in flint rationals, without its zero rows.

        Raises
        ------
        ShapeError
            If the groups do not have the classes' clients.
        DomainError
            If a curvature is not rational.
        """
        batch = self._fitting(instance)
        if not batch.exact:
            raise DomainError(
                "an exact rate must be asked for rational curvatures; got floats; "
                "write them as fractions."
            )
        table = self.matrices(batch)[0]
        used = ((table != 0).any(axis=0) & (table != 0).any(axis=1)).astype(bool)
        return np.asarray(table[np.ix_(used, used)])

    def occurs(self, instance: Instance) -> bool:
        """Whether runs of an instance have its rate, or only those of its neighbours.

        Decided in floats: it says which instance to show, and nothing rests on it.
        """
        batch = self._fitting(instance)
        values = np.array([[float(g.curvature) for g in instance.groups]])
        one = Batch(batch.law_classes, batch.clients, values)
        return runs_have_its_rate(self.reading, self.structure, one, self.unseen)

    def enclosure(self, instance: Instance, digits: int = DIGITS) -> Interval:
        """Rational enclosure of one rational instance's rate.

        The ends are equal where the rate is rational and recognised; they come from
        isolating the roots of the characteristic polynomial in ball arithmetic. A mode
        that the server sees on all neighbouring instances, but not on this one, counts,
        as `occurs` tells: the rate is the limit of theirs, so it is still a lower bound
        for a class that contains them.

        Parameters
        ----------
        instance : Instance
        digits : int
            Decimal digits of the ends, at most 36.

        Raises
        ------
        ShapeError
            If the groups do not have the classes' clients.
        DomainError
            If a curvature is not rational.

        Examples
        --------
        >>> from flverify.algorithms import FedAvg
        >>> from flverify.participation import UniformCohort
        >>> rates = QuadraticRates.of(FedAvg("1/2"), UniformCohort(3, 1))
        >>> rates.enclosure(Instance.of([Group(0, 2, 1), Group(0, 1, Fraction(1, 2))]))
        (Fraction(17, 48), Fraction(17, 48))
        """
        return exact_radius(self.matrix(instance), digits)

    def occurring(self, instance: Instance, digits: int = DIGITS) -> Interval:
        """Enclose the rate that runs of one rational instance have, or a smaller one.

        Modes of the map that no run has are left out, exactly; see
        `flverify.certify.quadratics.occurring`.
        """
        batch = self._fitting(instance)
        return occurring(self.reading, self.structure, batch, self.unseen, digits)

    def _fitting(self, instance: Instance) -> Batch:
        found, strange = [0] * len(self.classes.sizes), False
        for group in instance.groups:
            if 0 <= group.law_class < len(found) and group.n_clients >= 0:
                found[group.law_class] += group.n_clients
            else:
                strange = True
        if strange or tuple(found) != self.classes.sizes:
            raise ShapeError(
                f"groups must have {self.classes.sizes} clients in the law's classes; "
                f"got {tuple(found)}{' and others' * strange}; count them again."
            )
        return instance.batch()


def _radii(maps: Array) -> Array:
    if not np.isfinite(maps).all():
        raise BeyondFloatsError(
            "rates on quadratics must lie within the range of floats; got a round in "
            "which products of two factors are beyond about 1e308; choose smaller step "
            "sizes or a smaller smoothness."
        )
    return np.asarray(np.abs(np.linalg.eigvals(maps)).max(axis=1, initial=0.0))


def mean_square_rate(
    algorithm: Algorithm, participation: Participation, instance: Instance
) -> Interval:
    """Rational enclosure of the mean-square rate on an instance.

    Where runs of the instance do not have the rate of its neighbours, it is the limit
    of theirs: see `QuadraticRates.occurs`.

    Parameters
    ----------
    instance : Instance
        With rational curvatures, weight f/x^2.

    Raises
    ------
    ShapeError
        If the groups do not have the law's clients.
    DomainError
        If a curvature is not rational.
    RefusedError
        If the law or the algorithm is refused.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> halves = Instance((Group(0, 100, Fraction(1, 2)),))
    >>> mean_square_rate(GradientDescent("1/100"), Full(100), halves)
    (Fraction(1, 4), Fraction(1, 4))
    """
    return QuadraticRates.of(algorithm, participation).enclosure(instance)

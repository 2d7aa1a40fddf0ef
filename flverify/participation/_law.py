"""What a participation law is, and the tables that follow from it.

A law answers one question, `moment(A, k)` = E[1{A in S} / |S|^k], with 0/0 = 0: an
empty S contributes only to A empty and k = 0. Everything else is a table of its
values; a law may give a table faster, never differently.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np

from flverify._core import seeds
from flverify._core.checks import is_listed, whole
from flverify._core.complete import Complete
from flverify._core.errors import DomainError, RefusedError, ShapeError
from flverify._core.exact import Array, Scalar, is_symbolic, within_floats
from flverify._core.places import is_own
from flverify._core.room import require_room
from flverify._core.sentences import number_of
from flverify._core.shown import shown
from flverify._core.sources import Source
from flverify.participation._outcomes import require_outcomes

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

LARGEST_SUPPORT = 1 << 16  # outcomes that support() is willing to list
MOST_POWER = 1000  # of |S|, whose digits grow with it
MEMBER = 64  # bytes of a client in a set
LONGEST_REPR = 60  # characters of the notation that a repr shows


class Participation(metaclass=Complete):
    """The law of the random set S of participating clients in one round.

    Rounds are independent unless the law has modes (see `ModeChain`). Clients are
    numbered from 0. Built from rationals a law answers in rationals.

    A law says its moments, its outcomes and how a round is drawn; a law whose round
    is a function of a fixed number of uniforms derives from `UniformDriven`.
    """

    source: ClassVar[Source]
    composite: ClassVar[bool] = False  # whether it is built from other laws

    n_clients: int

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether the law answers in rationals (or in symbols)."""

    @property
    @abstractmethod
    def spec(self) -> str:
        """The law in the notation of the command line, e.g. `bernoulli:1/5,1/2`."""

    @abstractmethod
    def support(self) -> Mapping[frozenset[int], Scalar]:
        """Every outcome of nonzero probability, for small N.

        Raises
        ------
        RefusedError
            If there are too many outcomes to list.
        """

    @abstractmethod
    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        """`moment` for checked arguments, not both of them trivial."""

    @abstractmethod
    def _draw(self, seed: int, runs: range, rounds: range) -> Mask:
        """`sample` for checked arguments."""

    def moment(self, clients: Iterable[int], power: int) -> Scalar:
        """E[1{clients in S} / |S|^power], with 0/0 = 0.

        Parameters
        ----------
        clients : iterable of int
            A set of clients; repeated ones count once.
        power : int
            Between 0 and 1000; the engines use 0, 1 and 2.

        Raises
        ------
        ShapeError
            If the clients are not a collection.
        DomainError
            If a client or the power is not a whole number of its range.
        RefusedError
            If the law does not answer it.

        Examples
        --------
        >>> from flverify.participation import UniformCohort
        >>> UniformCohort(3, 2).moment([0, 1], 2)
        Fraction(1, 12)
        """
        chosen = members(clients, self.n_clients)
        power = whole(power, "power", least=0, most=MOST_POWER)
        if not (chosen or power):
            return self._one()
        try:
            return self._moment(chosen, power)
        except NotImplementedError as error:
            raise self._unanswered("_moment") from error

    def listed(self) -> Mapping[frozenset[int], Scalar]:
        """`support`, in one sentence where a law does not answer it.

        Raises
        ------
        RefusedError
            If there are too many outcomes to list, or the law lists none, or lists
            floats and says that it is exact.
        InputError
            If an own law lists outcomes that are those of no law, or of another.

        Examples
        --------
        >>> from flverify.participation import Full
        >>> Full(2).listed()
        {frozenset({0, 1}): Fraction(1, 1)}
        """
        try:
            found = self.support()
        except NotImplementedError as error:
            raise self._unanswered("support") from error
        if is_own(self):
            require_outcomes(self, found)
        if self.exact and not all_exact(found.values()):  # they need not sum to 1
            raise RefusedError(
                f"{type(self).__name__} must list rationals, since its exact is True; "
                "got floats; return Fractions, or set exact to False."
            )
        return found

    def sample(self, seed: int, runs: int | range, rounds: int | range) -> Mask:
        """Draw who participates: a pure function of (seed, run, round).

        Parameters
        ----------
        seed : int
            Key of the random streams.
        runs, rounds : int or range
            How many, or which, runs and rounds; a round's draw does not depend on
            which others are asked for.

        Returns
        -------
        mask : (runs, rounds, N) array of bool

        Raises
        ------
        DomainError
            If the seed, runs or rounds are negative or not whole numbers, or more
            than the memory holds.
        RefusedError
            If a probability is a symbol, or the law does not answer it.

        Examples
        --------
        >>> from flverify.participation import UniformCohort
        >>> UniformCohort(3, 2).sample(seed=0, runs=2, rounds=5).sum(axis=2).max()
        np.int64(2)
        """
        which_runs, which_rounds = as_range(runs, "runs"), as_range(rounds, "rounds")
        whole(seed, "seed", least=0, most=(1 << 63) - 1)
        many = (which_runs.stop - which_runs.start) * self.n_clients
        rounds_each = which_rounds.stop - which_rounds.start
        require_room(many * rounds_each, "draws of clients in all runs and rounds")
        try:
            return self._draw(seed, which_runs, which_rounds)
        except NotImplementedError as error:
            raise self._unanswered("_draw") from error

    def inclusion(self) -> Array:
        """Inclusion probabilities p_i = P(i in S), shape (N,)."""
        return self._per_client(0)

    def averaging_weights(self) -> Array:
        """Averaging weights q_i = E[I_i / |S|], shape (N,); sum: P(S nonempty)."""
        return self._per_client(1)

    def joint_inclusion(self) -> Array:
        """p_ij = P(i in S and j in S), shape (N, N); p_i on the diagonal."""
        return self._per_pair(0)

    def cross(self) -> Array:
        """E[I_i I_j / |S|], shape (N, N); q_i on the diagonal."""
        return self._per_pair(1)

    def joint_averaging(self) -> Array:
        """E[I_i I_j / |S|^2], shape (N, N)."""
        return self._per_pair(2)

    def nonempty_probability(self) -> Scalar:
        """P(S is not empty), the sum of the averaging weights."""
        return sum(self.averaging_weights().tolist())

    def empty_probability(self) -> Scalar:
        """P(S is empty)."""
        return self._one() - self.nonempty_probability()

    def modes(self) -> Modes:
        """Return the chain of modes; a law without memory has one mode, itself."""
        one = Fraction(1)
        return Modes((one,), ((one,),), (self,), (one,))

    def settle(self, name: str, value: object) -> None:
        """Store a normalised setting on the frozen instance."""
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        spec = self.spec
        short = spec if len(spec) <= LONGEST_REPR else f"{spec[: LONGEST_REPR - 3]}..."
        clients = number_of(self.n_clients, "client")
        return f"<{type(self).__name__} {short} on {clients}>"

    def _per_client(self, power: int) -> Array:
        require_room(self.n_clients, "numbers of all clients")
        return self._vector(power)

    def _per_pair(self, power: int) -> Array:
        require_room(self.n_clients**2, "numbers of all pairs of clients")
        return self._matrix(power)

    def _vector(self, power: int) -> Array:
        values = [self.moment((i,), power) for i in range(self.n_clients)]
        return table(values, (self.n_clients,))

    def _matrix(self, power: int) -> Array:
        size = range(self.n_clients)
        upper = {(i, j): self.moment((i, j), power) for i in size for j in size[i:]}
        values = [upper[min(i, j), max(i, j)] for i in size for j in size]
        return table(values, (self.n_clients, self.n_clients))

    def _unanswered(self, method: str) -> RefusedError:
        name = type(self).__name__
        return RefusedError(
            f"{name} must answer what is asked of it; {method}() raised "
            "NotImplementedError; write it."
        )

    def _one(self) -> Scalar:
        return Fraction(1) if self.exact else 1.0


class UniformDriven(Participation):
    """A law whose round is a function of a fixed number of independent uniforms."""

    @property
    def width(self) -> int:
        """Uniforms per round."""
        return self.n_clients

    @abstractmethod
    def masks(self, uniforms: Array) -> Mask:
        """Turn uniforms in [0, 1), shape (..., width), into masks (..., N)."""

    def _draw(self, seed: int, runs: range, rounds: range) -> Mask:
        return self.masks(seeds.panel(seed, runs, rounds, self.width))


@dataclass(frozen=True)
class Modes:
    """The Markov chain of modes behind a law.

    Parameters
    ----------
    initial : tuple of K scalars
        Distribution of the mode of round 0.
    transition : tuple of K tuples of K scalars
        Row-stochastic: probability that mode k is followed by mode l.
    laws : tuple of K laws
        Law of S in each mode.
    stationary : tuple of K scalars
        Stationary distribution of the transition.
    """

    initial: tuple[Scalar, ...]
    transition: tuple[tuple[Scalar, ...], ...]
    laws: tuple[Participation, ...]
    stationary: tuple[Scalar, ...]


def table(values: list[Scalar], shape: tuple[int, ...]) -> Array:
    """Arrange scalars of one kind: dtype object for exact ones, float64 otherwise."""
    kind = np.float64 if all(isinstance(v, float) for v in values) else object
    out = np.empty(len(values), dtype=kind)
    out[:] = values
    return out.reshape(shape)


def symmetric(diagonal: Array, pairs: Iterable[tuple[int, int, Scalar]]) -> Array:
    """Build a symmetric matrix from its diagonal and its entries (i, j), i < j."""
    out = np.empty((len(diagonal), len(diagonal)), dtype=diagonal.dtype)
    np.fill_diagonal(out, diagonal)
    for i, j, value in pairs:
        out[i, j] = out[j, i] = value
    return out


def as_range(value: int | range, name: str) -> range:
    """Read a count as range(count); a range must be plain and start at 0 or above."""
    if not isinstance(value, range):
        return range(whole(value, name, least=0))
    if value.step != 1 or value.start < 0:
        raise DomainError(
            f"{name} must be a count or a range of step 1 from 0 or above; "
            f"got {value}; ask for such a range and select from it."
        )
    return range(value.start, max(value.start, value.stop))


def members(clients: Iterable[int], n_clients: int) -> frozenset[int]:
    """Check client numbers and return them as a set."""
    if not is_listed(clients):
        raise ShapeError(
            f"clients must be a collection of client numbers; got {shown(clients)}; "
            f"pass a tuple such as (0, 1)."
        )
    return frozenset(whole(i, "client", 0, n_clients - 1) for i in clients)


def everybody(n_clients: int) -> frozenset[int]:
    """Return the outcome in which all clients take part, if the memory holds it."""
    require_room(n_clients, "clients of an outcome", MEMBER)
    return frozenset(range(n_clients))


def require_listable(outcomes: int) -> None:
    """Refuse to list a support that is too large."""
    if outcomes > LARGEST_SUPPORT:
        raise RefusedError(
            f"support() goes through at most {LARGEST_SUPPORT} outcomes; this law "
            f"has {outcomes}; use its moments instead."
        )


def all_exact(values: Iterable[Scalar]) -> bool:
    """Whether no value is a float."""
    return not any(isinstance(v, float) for v in values)


def floats(values: Iterable[Scalar]) -> Array:
    """Numbers as float64, to draw with; symbols cannot be drawn with."""
    listed = list(values)
    for value in listed:
        if is_symbolic(value) and value.free_symbols:
            raise RefusedError(
                f"drawing needs numbers; got the symbolic probability {value}; "
                f"substitute numbers first."
            )
    return np.array([within_floats(v, "what is drawn with") for v in listed])


def inverse_power(size: int, power: int) -> Fraction:
    """1/size^power, with 0 for an empty set: power 0 there is the caller's case."""
    return Fraction(1, size**power) if size else Fraction(0)

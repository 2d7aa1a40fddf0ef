"""A law conditioned on somebody participating."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from flverify._core import seeds
from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import Array, Scalar, is_symbolic
from flverify._core.shown import shown
from flverify._core.sources import Source
from flverify.participation._examples import plain_examples
from flverify.participation._law import Mask, Participation, UniformDriven, floats

__all__ = ["NonEmpty"]

RAREST = 1e-3  # least P(S nonempty) for which redrawing is not a waste


@final
@dataclass(frozen=True, repr=False)
class NonEmpty(Participation):
    """A law conditioned on S not being empty: empty rounds are drawn again.

    moment(A, k) of the law is divided by P(S not empty), for A or k nonzero.

    Parameters
    ----------
    law : UniformDriven
        A law whose rounds are independent, and not itself conditioned.

    Raises
    ------
    DomainError
        If the law has modes, is conditioned already, or S is always empty.

    Notes
    -----
    Drawing refuses a law whose rounds are nonempty less than once in 1000.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> NonEmpty(Bernoulli(("1/2", "1/2"))).inclusion()
    array([Fraction(2, 3), Fraction(2, 3)], dtype=object)
    """

    law: UniformDriven
    n_clients: int = field(init=False, compare=False)

    source: ClassVar[Source] = Source("focus", "Assumption 1, empty rounds redrawn")
    composite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.law, UniformDriven):
            raise DomainError(
                f"NonEmpty conditions a law with independent rounds that is not "
                f"conditioned yet; got {shown(self.law)}; condition the laws of the "
                f"modes instead of the chain, and condition only once."
            )
        if self.law.nonempty_probability() == 0:
            raise DomainError(
                f"S must be nonempty with a positive probability; got {self.law!r}; "
                f"give some client a positive probability."
            )
        self.settle("n_clients", self.law.n_clients)

    @property
    def exact(self) -> bool:
        """Whether the law is exact."""
        return self.law.exact

    @property
    def spec(self) -> str:
        """Return e.g. `nonempty:bernoulli:1/5,1/2`."""
        return f"nonempty:{self.law.spec}"

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return the nonempty outcomes."""
        outcomes = self.law.support()
        return {s: self._given(c) for s, c in outcomes.items() if s}

    def empty_probability(self) -> Scalar:
        """Return 0."""
        return 0 * self._one()

    def nonempty_probability(self) -> Scalar:
        """Return 1."""
        return self._one()

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        return self._given(self.law.moment(clients, power))

    def _vector(self, power: int) -> Array:
        return self._each(self.law._vector(power))

    def _matrix(self, power: int) -> Array:
        return self._each(self.law._matrix(power))

    def _each(self, values: Array) -> Array:
        mass = self.law.nonempty_probability()
        out = values / mass
        if is_symbolic(mass):
            out.flat = [_cancelled(value) for value in out.flat]
        return np.asarray(out)

    def _given(self, value: Scalar) -> Scalar:
        return _cancelled(value / self.law.nonempty_probability())

    def _draw(self, seed: int, runs: range, rounds: range) -> Mask:
        mass = floats([self.law.nonempty_probability()])[0]
        if mass < RAREST:
            raise RefusedError(
                f"drawing again needs P(S nonempty) of at least {RAREST}; got {mass}; "
                f"use the exact moments, or list the conditioned law as ExplicitLaw."
            )
        mask = self.law.sample(seed, runs, rounds)
        empty, attempt = np.argwhere(~mask.any(axis=-1)), 0
        while len(empty):
            attempt += 1
            fresh = _uniforms(seed, runs, rounds, empty, self.law.width, attempt)
            again = self.law.masks(fresh)
            mask[empty[:, 0], empty[:, 1]] = again
            empty = empty[~again.any(axis=-1)]
        return mask

    @staticmethod
    def examples() -> tuple[NonEmpty, ...]:
        """Return the other laws of the catalogue, conditioned where that matters."""
        laws = [law for law in plain_examples() if 0 < law.empty_probability() < 1]
        return tuple(NonEmpty(law) for law in laws if isinstance(law, UniformDriven))


def _cancelled(value: Scalar) -> Scalar:
    return value.cancel() if is_symbolic(value) else value


def _uniforms(
    seed: int, runs: range, rounds: range, places: Array, width: int, attempt: int
) -> Array:
    """Uniforms of scattered rounds, the streams of each attempt being its own.

    `places` holds rows (index of the run, index of the round), sorted.
    """
    blocks, lines = np.divmod(places[:, 1] + rounds.start, seeds.BLOCK)
    streams = np.column_stack([places[:, 0], blocks])
    changes = np.flatnonzero((streams[1:] != streams[:-1]).any(axis=1)) + 1
    parts = [
        seeds.uniforms(seed, runs[run], block, width, attempt)[part]
        for (run, block), part in zip(
            streams[[0, *changes]].tolist(), np.split(lines, changes), strict=True
        )
    ]
    return np.concatenate(parts)

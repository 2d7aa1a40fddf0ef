"""The distinct clients of independent weighted draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, expm1, fsum, log1p
from typing import ClassVar, final

import numpy as np

from flverify._core.checks import whole
from flverify._core.exact import Array, Scalar, text
from flverify._core.sources import Source
from flverify.participation import _distinct
from flverify.participation._distribution import pick, thresholds
from flverify.participation._law import (
    Mask,
    UniformDriven,
    all_exact,
    require_listable,
    symmetric,
    table,
)
from flverify.participation._weights import integers, sampling_weights, scaled_floats

__all__ = ["ReplacementSampling"]

_MOST_DRAWS = 10**6  # powers of rationals beyond have more digits than fit the memory


@final
@dataclass(frozen=True, repr=False)
class ReplacementSampling(UniformDriven):
    """The distinct clients of m independent draws with given weights.

    p_i = 1 - (1 - w_i)^m with the weights w normalised to sum 1; |S| is random.

    Parameters
    ----------
    weights : (N,) scalars >= 0, not all 0
        Sampling weights; only their ratios matter. Weight 0: never drawn.
    m : int
        Number of draws, from 1 to 1,000,000; it may exceed N.

    Raises
    ------
    ShapeError
        If the weights are not a nonempty list of numbers.
    DomainError
        If a weight is negative or a symbol, all are 0, or m is not in its range.

    Notes
    -----
    Exact for rationals; floats keep a relative error below 1e-12, where a number is
    not below the range of floats. The moments of
    1/|S| take about N log N products with an m by m matrix; in floats they need
    m <= 1000.

    Examples
    --------
    >>> ReplacementSampling((1, 2), 2).averaging_weights()
    array([Fraction(1, 3), Fraction(2, 3)], dtype=object)
    >>> ReplacementSampling((1, 2), 2).inclusion()
    array([Fraction(5, 9), Fraction(8, 9)], dtype=object)
    """

    weights: Sequence[Scalar]
    m: int
    n_clients: int = field(init=False, compare=False)

    source: ClassVar[Source] = Source("focus", "Section 3.1, Case 3")

    def __post_init__(self) -> None:
        self.settle("weights", sampling_weights(self.weights, zero=True))
        self.settle("m", whole(self.m, "m", most=_MOST_DRAWS))
        self.settle("n_clients", len(self.weights))

    @property
    def exact(self) -> bool:
        """Whether the weights are rational."""
        return all_exact(self.weights)

    @property
    def spec(self) -> str:
        """Return e.g. `replacement:2:1,2`."""
        return f"replacement:{self.m}:{','.join(text(w) for w in self.weights)}"

    @property
    def width(self) -> int:
        """One uniform per draw."""
        return self.m

    def masks(self, uniforms: Array) -> Mask:
        """Return the clients that the uniforms stand for."""
        drawn = pick(thresholds(self._shares()), uniforms)
        mask = np.zeros((*uniforms.shape[:-1], self.n_clients), dtype=np.bool_)
        np.put_along_axis(mask, drawn, values=True, axis=-1)
        return mask

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return the possible sets of distinct draws, built up draw by draw."""
        drawable = [(i, w) for i, w in enumerate(self._shares()) if w != 0]
        largest = min(self.m, len(drawable))
        require_listable(sum(comb(len(drawable), d + 1) for d in range(largest)))
        outcomes = {frozenset[int](): self._one()}
        for _ in range(self.m):
            after: dict[frozenset[int], Scalar] = {}
            for drawn, chance in outcomes.items():
                for i, share in drawable:
                    more = drawn | {i}
                    after[more] = after.get(more, 0) + chance * share
            outcomes = after
        return outcomes

    def nonempty_probability(self) -> Scalar:
        """Return 1."""
        return self._one()

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        chosen = sorted(clients)
        if power == 0 and len(chosen) <= 2:
            return self._together(chosen)[0, -1]
        return _distinct.moment(self._draws(), clients, power)

    def _vector(self, power: int) -> Array:
        if power == 0:
            values = [_hit(share, self.m) for share in self._shares()]
        else:
            values = _distinct.single_moments(self._draws(), power)
        return table(values, (self.n_clients,))

    def _matrix(self, power: int) -> Array:
        if power:
            pairs = _distinct.pair_moments(self._draws(), power)
            return symmetric(self._vector(power), pairs)
        return self._together(range(self.n_clients))

    def _together(self, clients: Sequence[int]) -> Array:
        """P(i and j drawn), by the first draw that hits one of them: positive terms."""
        shares = self._shares()
        mine = table([shares[i] for i in clients], (len(clients),))
        neither = np.maximum(1 - mine[:, None] - mine, 0)
        out = 0 * neither
        for left in range(self.m):  # draws left after that first hit
            later = table([_hit(w, left) for w in mine.tolist()], mine.shape)
            out = neither * out + mine[:, None] * later + mine * later[:, None]
        np.fill_diagonal(out, [_hit(w, self.m) for w in mine.tolist()])
        return np.asarray(out)

    def _shares(self) -> list[Scalar]:
        """Weights normalised to sum 1."""
        if self.exact:
            whole_weights = integers(tuple(self.weights))
            total = sum(whole_weights)
            return [Fraction(w, total) for w in whole_weights]
        scaled = scaled_floats(tuple(self.weights)).tolist()
        mass = fsum(scaled)
        return [w / mass for w in scaled]

    def _draws(self) -> _distinct.Draws:
        if self.exact:
            return _distinct.ExactDraws(integers(tuple(self.weights)), self.m)
        return _distinct.FloatDraws(scaled_floats(tuple(self.weights)), self.m)

    @staticmethod
    def examples() -> tuple[ReplacementSampling, ...]:
        """Return small exact laws for the contract tests."""
        return (
            ReplacementSampling((1, 2, Fraction(1, 2)), 2),
            ReplacementSampling((1, 0, 3), 4),
            ReplacementSampling((1,), 1),
        )


def _hit(share: Scalar, draws: int) -> Scalar:
    """1 - (1 - share)^draws, in floats without cancellation."""
    if not isinstance(share, float):
        return 1 - (1 - share) ** draws
    if share >= 1.0:
        return float(draws > 0)
    return -expm1(draws * log1p(-share))

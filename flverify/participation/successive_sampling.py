"""Weighted sampling without replacement, draw after draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import ClassVar, final

import numpy as np

from flverify._core.checks import whole
from flverify._core.exact import Array, Scalar, text
from flverify._core.sources import Source
from flverify.participation import _clocks as exactly
from flverify.participation import _clocks_floats as in_floats
from flverify.participation._law import (
    Mask,
    UniformDriven,
    all_exact,
    inverse_power,
    require_listable,
    symmetric,
    table,
)
from flverify.participation._smallest import smallest
from flverify.participation._weights import (
    integers,
    logarithms,
    sampling_weights,
    scaled_floats,
)

__all__ = ["SuccessiveSampling"]

SMALL = 15  # up to here all subsets may be gone through
LARGEST_COUNT = 4_000_000  # clients times sizes times total weights, in exact mode
FLOAT_ERROR = 1e-12  # relative; rounding adds about 1e-16 per client beyond


@final
@dataclass(frozen=True, repr=False)
class SuccessiveSampling(UniformDriven):
    """Draw m clients without replacement, by weight among those not yet drawn.

    P(first draws i) = w_i / sum w, then the same among the rest. |S| = m, so q_i =
    p_i / m; p_i has no simple closed form and is not proportional to w_i.

    Parameters
    ----------
    weights : (N,) scalars > 0
        Sampling weights; only their ratios matter.
    m : int
        Cohort size, from 1 to N.

    Raises
    ------
    ShapeError
        If the weights are not a nonempty list of numbers.
    DomainError
        If a weight is not positive or a symbol, or m is not in 1, ..., N.

    Notes
    -----
    Exact for rational weights when N <= 15 or when their ratios are whole numbers of
    moderate size (`exact` tells), by a polynomial integral. Otherwise floats with
    relative error `inclusion_error`, by quadrature of positive terms, in about
    N m max(60, 15 sqrt(m)) operations for p and N times as many for pairs.

    Examples
    --------
    >>> SuccessiveSampling((1, 2, 3), 2).inclusion()
    array([Fraction(5, 12), Fraction(11, 15), Fraction(17, 20)], dtype=object)
    """

    weights: Sequence[Scalar]
    m: int
    n_clients: int = field(init=False, compare=False)
    _whole: tuple[int, ...] | None = field(init=False, compare=False)  # if exact

    source: ClassVar[Source] = Source("focus", "Section 3.1, Case 3")

    def __post_init__(self) -> None:
        self.settle("weights", sampling_weights(self.weights, zero=False))
        self.settle("n_clients", len(self.weights))
        self.settle("m", whole(self.m, "m", most=self.n_clients))
        self.settle("_whole", _whole_weights(tuple(self.weights), self.m))

    @property
    def exact(self) -> bool:
        """Whether the law answers in rationals: see Notes."""
        return self._whole is not None

    @property
    def inclusion_error(self) -> Scalar:
        """Relative error of every inclusion probability: 0 if exact."""
        return Fraction(0) if self.exact else max(FLOAT_ERROR, 1e-16 * self.n_clients)

    @property
    def spec(self) -> str:
        """Return e.g. `successive:2:1,2,3`."""
        return f"successive:{self.m}:{','.join(text(w) for w in self.weights)}"

    def masks(self, uniforms: Array) -> Mask:
        """Return the m earliest of exponential clocks with the weights as rates."""
        with np.errstate(divide="ignore"):  # a uniform 0 is a clock that rings at 0
            log_times = np.log(-np.log1p(-uniforms)) - logarithms(tuple(self.weights))
        return smallest(log_times, self.m)

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return all cohorts, built up draw by draw."""
        require_listable(sum(comb(self.n_clients, b) for b in range(self.m + 1)))
        weights = self._whole or scaled_floats(tuple(self.weights)).tolist()
        cohorts = {frozenset[int](): self._one()}
        for _ in range(self.m):
            after: dict[frozenset[int], Scalar] = {}
            for drawn, chance in cohorts.items():
                left = [i for i in range(self.n_clients) if i not in drawn]
                mass = sum(weights[i] for i in left)
                for i in left:
                    more = drawn | {i}
                    after[more] = after.get(more, 0) + chance * weights[i] / mass
            cohorts = after
        return cohorts

    def nonempty_probability(self) -> Scalar:
        """Return 1."""
        return self._one()

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        return self._together(sorted(clients)) * self._scale(power)

    def _scale(self, power: int) -> Scalar:
        value = inverse_power(self.m, power)
        return value if self.exact else float(value)

    def _together(self, chosen: list[int]) -> Scalar:
        """P(the chosen clients are in the cohort)."""
        if not chosen or self.m == self.n_clients:
            return self._one()
        if len(chosen) > self.m:
            return 0 * self._one()
        if self._whole is None:
            return in_floats.chance(scaled_floats(tuple(self.weights)), self.m, chosen)
        inside = [self._whole[i] for i in chosen]
        others = [w for i, w in enumerate(self._whole) if i not in chosen]
        counts = exactly.count_subsets(others, self.m - len(chosen))
        return exactly.chance(counts, inside, self._whole, self.m)

    def _vector(self, power: int) -> Array:
        size, scale = self.n_clients, self._scale(power)
        if self.m == size:
            return table([scale] * size, (size,))
        if self._whole is None:
            rates = scaled_floats(tuple(self.weights))
            return np.asarray(scale * in_floats.inclusion(rates, self.m))
        chances = exactly.single_chances(self._whole, self.m)
        return table([scale * chance for chance in chances], (size,))

    def _matrix(self, power: int) -> Array:
        size, scale = self.n_clients, self._scale(power)
        single = self._vector(power)
        if self.m in (1, size):
            out = np.full((size, size), scale if self.m == size else 0 * scale)
        elif self._whole is not None:
            pairs = exactly.pair_chances(self._whole, self.m)
            return symmetric(single, ((i, j, scale * c) for i, j, c in pairs))
        else:
            out = scale * in_floats.joint(scaled_floats(tuple(self.weights)), self.m)
        np.fill_diagonal(out, single)
        return out

    @staticmethod
    def examples() -> tuple[SuccessiveSampling, ...]:
        """Return small exact laws for the contract tests."""
        return (
            SuccessiveSampling((1, Fraction(5, 2), 3), 2),
            SuccessiveSampling((4, 1, 1, 2), 1),
            SuccessiveSampling((1,), 1),
        )


def _whole_weights(weights: tuple[Scalar, ...], m: int) -> tuple[int, ...] | None:
    """Return the weights as whole numbers, unless the exact integral is too large."""
    if not all_exact(weights):
        return None
    ratios = tuple(integers(weights))
    heaviest = sum(sorted(ratios, reverse=True)[: m - 1])
    cells = len(ratios) * m * (heaviest + 1)
    moderate = cells <= LARGEST_COUNT or len(ratios) <= SMALL or m == len(ratios)
    return ratios if moderate else None

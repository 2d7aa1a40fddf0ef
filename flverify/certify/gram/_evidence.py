"""A model of assumptions as data: coordinates of vectors, and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from flverify.certify._vectors import Symbol


@dataclass(frozen=True)
class Evidence:
    """Vectors and values that satisfy assumptions: <u, v> = sum weight_k u_k v_k.

    Parameters
    ----------
    weights : tuple of Fraction, positive
        One per coordinate.
    vectors : mapping
        Coordinates of each vector symbol, gradients among them.
    values : mapping
        Value of each scalar symbol.
    """

    weights: tuple[Fraction, ...] = ()
    vectors: Mapping[Symbol, tuple[Fraction, ...]] = field(default_factory=dict)
    values: Mapping[Symbol, Fraction] = field(default_factory=dict)

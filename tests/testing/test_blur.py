"""How far off minimisers in floats may be, against those in rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from flverify.problems import Quadratics
from flverify.testing.blur import blur


def _turned(draws, spectrum):
    frame, _ = np.linalg.qr(draws.standard_normal((len(spectrum), len(spectrum))))
    found = frame @ np.diag(spectrum) @ frame.T
    return (found + found.T) / 2


def _exactly(values):
    rationals = [Fraction(v) for v in values.flat]
    return np.array(rationals, dtype=object).reshape(values.shape)


@pytest.mark.parametrize("least", [1.0, 1e-4, 1e-8, 1e-11])
def test_minimisers_in_floats_are_off_by_less(least):
    for seed in range(8):
        draws = np.random.default_rng(seed)
        hessians = np.stack([_turned(draws, [1.0, 0.1, least]) for _ in range(2)])
        linear = draws.standard_normal((2, 3))
        found = Quadratics(hessians, linear).minimiser()
        exact = Quadratics(_exactly(hessians), _exactly(linear))
        gap = _exactly(found) - exact.minimiser()
        off = math.sqrt(float(gap @ gap))
        assert off <= blur(Quadratics(hessians, linear), found)
        assert off <= blur(exact, exact.minimiser())


def test_diagonal_hessians_of_any_scales_lose_nothing():
    plain = Quadratics([[[1.0, 0.0], [0.0, 1e-12]]], [[3.0, 1e-12]])
    assert blur(plain, plain.minimiser()) < 1e-14 * 3

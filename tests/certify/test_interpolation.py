"""The inequality between two points, on quadratics where it is tight or slack."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify.certify.interpolation import Point, interpolation, pairs

MU, L = Fraction(1, 2), Fraction(3)


def rest(curvature):
    """f_a - f_b minus its least value, for curvature/2 x^2 at a and b of the line."""
    first, second = np.array([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]])
    a, b = Point("a", first, curvature * first), Point("b", second, curvature * second)
    values = np.diag([curvature / 2, -curvature / 2])
    return values + interpolation(a, b, MU, L)


@pytest.mark.parametrize("curvature", [MU, L])
def test_the_ends_of_a_class_leave_nothing(curvature):
    assert (rest(curvature) == 0).all()


@pytest.mark.parametrize(
    ("curvature", "sign"), [(Fraction(1), 1), (Fraction(1, 4), -1), (Fraction(4), -1)]
)
def test_inside_something_is_left_and_outside_it_is_violated(curvature, sign):
    # a multiple of (a - b)^2, whose factor the ends of the class make vanish
    factor = (curvature - MU) * (L - curvature) / (2 * (L - MU))
    assert sign * factor > 0
    assert (rest(curvature) == factor * np.array([[1, -1], [-1, 1]])).all()


def test_pairs_of_few_are_those_with_the_first_and_of_neighbours():
    assert pairs("ab") == [("a", "b"), ("b", "a")]
    left_out = set(pairs("abcd")) - set(pairs("abcd", few=True))
    assert left_out == {("b", "d"), ("d", "b")}

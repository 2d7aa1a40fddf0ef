"""Two small exact problems for the reference loops."""

from dataclasses import dataclass
from fractions import Fraction

import pytest


@dataclass(frozen=True)
class Problem:
    """Quadratic clients g_i(x) = A_i x - b_i with a start and a few cohorts."""

    matrices: list
    offsets: list
    x0: list
    cohorts: list

    @property
    def n_clients(self):
        return len(self.matrices)

    def gradient(self, i, point):
        return [
            sum((a * v for a, v in zip(row, point, strict=True)), -b)
            for row, b in zip(self.matrices[i], self.offsets[i], strict=True)
        ]

    @property
    def start(self):
        """The leading arguments of every ``run``."""
        return self.gradient, self.n_clients, self.x0

    @property
    def everyone(self):
        return frozenset(range(self.n_clients))


@pytest.fixture
def pair():
    """g_0(x) = x and g_1(x) = 2x - 6 from x0 = 4; the sum vanishes at x = 2.

    With step 1/4 one local step is x -> 3x/4 at client 0 and x -> x/2 + 3/2 at
    client 1; two of them are x -> 9x/16 and x -> x/4 + 9/4.
    """
    one, two = Fraction(1), Fraction(2)
    return Problem(
        [[[one]], [[two]]], [[Fraction(0)], [Fraction(6)]], [Fraction(4)], []
    )


@pytest.fixture
def plane():
    """Three clients in the plane, rational data, eight uneven cohorts."""
    f = Fraction
    return Problem(
        matrices=[
            [[f(2), f(1, 2)], [f(1, 2), f(1)]],
            [[f(1), f(-1, 3)], [f(-1, 3), f(3)]],
            [[f(5, 2), f(0)], [f(0), f(1, 4)]],
        ],
        offsets=[[f(1), f(-2)], [f(3, 2), f(1, 5)], [f(-1), f(4)]],
        x0=[f(1, 2), f(-3)],
        cohorts=[{0}, {1, 2}, set(), {0}, {2}, {0, 1, 2}, {1}, {0, 2}],
    )


@pytest.fixture
def whole():
    """A problem whose every number is an int, to catch int / int."""
    return Problem([[[1]], [[2]]], [[0], [6]], [4], [{0, 1}, {1}, {0}, set(), {0, 1}])

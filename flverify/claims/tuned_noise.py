"""Noise that meets Assumption 6 at every point, tuned to where its own past leads.

(122) bounds the noise of a gradient at a point that is given. If the samples of a round
may depend on one another, the point of the second gradient depends on the sample too,
and the noise can wait just there: rare at every point, and met by every sample.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flverify.claims import judge
from flverify.reference import focus

SAME = "one sample j for both local gradients"


class TunedNoise:
    """One client x^2/2 at its optimum w = 0, tau = 3, and noises of variance at most 1.

    The sample j is one of M = 2 size^2, all equally likely. The noise is
    a_j = (2j + 1 - M)/M at w; at w - step a_k it is size for j = k, -size for
    j = k + 1 (modulo M), else 0. So E noise = 0 and E noise^2 <= 1 at every point, but
    the second local gradient, at w - step a_j, has the noise size whatever j is.

    Parameters
    ----------
    size : int
    step : Fraction

    Examples
    --------
    >>> tuned = TunedNoise(6, Fraction(1, 1000))
    >>> max(tuned.variance(x) for x in tuned.points()), round(float(tuned.moves()[1]))
    (Fraction(1, 1), 36)
    """

    local_steps = 3

    def __init__(self, size: int = 6, step: Fraction = Fraction(1, 1000)) -> None:
        self.size, self.step = size, step
        self.samples = range(2 * size**2)

    def first(self, sample: int) -> Fraction:
        """Return the noise a_j at w."""
        many = len(self.samples)
        return Fraction(2 * sample + 1 - many, many)

    def points(self) -> list[Fraction]:
        """Return the points that have noise."""
        return [Fraction(0), *(-self.step * self.first(k) for k in self.samples)]

    def noise(self, x: Fraction, sample: int) -> Fraction:
        """Return the noise of the gradient at x."""
        if x == 0:
            return self.first(sample)
        if x == -self.step * self.first(sample):
            return Fraction(self.size)
        before = (sample - 1) % len(self.samples)
        return Fraction(-self.size * (x == -self.step * self.first(before)))

    def variance(self, x: Fraction) -> Fraction:
        """Return E noise^2 at x, and see that E noise = 0."""
        every = [self.noise(x, j) for j in self.samples]
        if sum(every) != 0:
            raise ArithmeticError(f"the noise at {x} must have mean 0")
        return sum((v * v for v in every), Fraction(0)) / len(every)

    def moves(self) -> list[Fraction]:
        """Return E|y|^2 of both local moves, in closed form."""
        many = len(self.samples)
        start = Fraction(many**2 - 1, 3 * many**2)  # E a^2
        return [start, self.size**2 + self.step**2 * start]

    def played(self) -> list[Fraction]:
        """Return the same by the plain loop: its points move by -step y."""
        sums = [Fraction(0), Fraction(0)]
        for j in self.samples:
            asked: list[Fraction] = []

            def gradient(
                _: int, point: list[Any], j: int = j, asked: list[Fraction] = asked
            ) -> list[Any]:
                asked.append(Fraction(point[0]))
                return [point[0] + self.noise(Fraction(point[0]), j)]

            nil = Fraction(0)
            state = {"model": [nil], "tracker": [nil], "stored": [[nil]]}
            focus.play(
                state,
                gradient,
                1,
                {0},
                step_size=self.step,
                local_steps=self.local_steps,
            )
            for k in (0, 1):
                y = (asked[k] - asked[k + 1]) / self.step
                sums[k] += y * y / len(self.samples)
        return sums

    def refutes(self, sides: Callable[[list[Fraction]], tuple[Any, Any]]) -> Any:
        """Judge sides of the moves, left <= right, at this instance."""
        where = {
            "f_i": "x^2/2",
            "N": 1,
            "law": "full:1",
            "tau": self.local_steps,
            "step size": self.step,
            "x_{r tau,i}": 0,
            "xbar_{r tau+1}": 0,
            "stored gradient": 0,
            "M": len(self.samples),
            "size": self.size,
            "noise at 0": "(2j + 1 - M)/M",
            "noise at -eta (2k + 1 - M)/M": "size if j = k, -size if j = k + 1 mod M",
            "largest variance": max(self.variance(x) for x in self.points()),
            "samples": SAME,
        }
        case = judge.Case(where, *sides(self.moves()), lambda: sides(self.played()))
        return judge.instances([case], "<=", SAME)

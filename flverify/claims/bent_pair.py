"""Two clients bent downwards, for Lemma 2 of the FOCUS paper: they drift apart.

f_i = -k x^2/2 - b_i x meets the inequality printed as Assumption 2 with L = 1 for every
k > 0. Both clients always come and b = -1, 1, so that sigma_G = 1 and q = u.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from flverify.claims import cohorts, judge
from flverify.participation.full import Full


def bent_apart(bound: str) -> Iterator[judge.Case]:
    """Yield both sides of (46) at the end of a round, at the largest step size."""
    law = Full(2)
    for k, tau in product((40, 100), (3, 4)):
        step, x = Fraction(1, 4 * (tau - 1)), Fraction(0)
        where = {
            "f_i": "-k x^2/2 - b_i x",
            "k": k,
            "b": [-1, 1],
            "L": 1,
            "law": law.spec,
            "N": 2,
            "tau": tau,
            "step size": step,
            "common model": x,
            "local steps": tau - 1,
            "sigma_G^2": 1,
            "delta_q^2": 0,
        }
        for _ in range(tau - 1):
            x += step * (k * x + 1)  # the other is at -x
        closed = ((1 + step * k) ** (tau - 1) - 1) / Fraction(k)
        right = Fraction(bound) * (step * (tau - 1)) ** 2
        yield judge.Case(where, x**2, right, cohorts.sides(closed**2, right))

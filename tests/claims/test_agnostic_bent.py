"""One local step of a client that is no quadratic moves the mean off the minimiser."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from flverify.claims import judge
from flverify.claims.agnostic_bent import SEARCHED, bent_cases
from flverify.claims.verdict import Verdict

F = Fraction


@pytest.mark.parametrize(
    ("bend", "mean", "best"),
    [("1/2", "5/8", "1/2"), ("3/4", "9/16", "1/2"), ("1/4", "49/64", "3/4")],
)
def test_the_mean_is_that_of_all_long_paths(bend, mean, best):
    """Every path of twelve rounds from 0, by hand."""
    (case,) = bent_cases(1, (F(bend),))
    assert (case.left, case.right) == (F(mean), F(best)) == case.recheck()
    total = F(0)
    for path in product((True, False), repeat=12):
        x = F(0)
        for first in path:
            x = F(1) if first else x - min(x, F(bend))
        total += x / 2**12
    assert abs(total - case.left) < F(1, 1000)


@pytest.mark.parametrize(
    ("bends", "verdict"),
    [((F(1),), Verdict.SUPPORTED), ((F(9, 10),), Verdict.REFUTED)],
)
def test_quadratics_are_not_refuted(bends, verdict):
    assert judge.instances(bent_cases(1, bends), "==", SEARCHED).verdict == verdict

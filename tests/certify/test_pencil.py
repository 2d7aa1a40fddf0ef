"""What is laid out once for all rho is solved as what is laid out for one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from flverify.algorithms import Focus, Scaffold
from flverify.certify.ladder import Ladder
from flverify.certify.solve import Pencil, readable, widest_margin
from flverify.participation import Bernoulli, UniformCohort

RATES = 0.98, 0.995, 0.999  # with a margin in every ansatz
SETTINGS = {
    "focus": (Focus("1/5"), Bernoulli(["1/2", "1/2"])),
    "classes": (Focus("1/8", 2), Bernoulli(["1/2", "1/2", "1/3"])),
    "scaffold": (Scaffold("1/5", 2), UniformCohort(4, 2)),
    "near L": (Focus("1/5"), Bernoulli(["1/2", "1/2"]), "9/10"),
}


def sweeps(name):
    algorithm, law, *mu = SETTINGS[name]
    ladder = Ladder.of(algorithm, law, *(mu or ["1/10"]), 1)
    searches = ladder.searches(Fraction(algorithm.step_size))
    return {found.level.name: found.sweep for found in searches}


@pytest.mark.parametrize("name", SETTINGS)
def test_margins_and_slopes_are_those_of_single_programmes(name):
    for level, sweep in sweeps(name).items():
        for rho in RATES:
            found = sweep.pencil.widest_margin(rho)
            alone = widest_margin(sweep.at(rho))
            assert found.status == alone.status == "solved", (level, rho)
            assert found.margin > 1e-5
            assert found.margin == pytest.approx(alone.margin, abs=1e-7), (level, rho)
            slopes = sweep.slope(found), sweep.slope(alone)
            assert slopes[0] == pytest.approx(slopes[1], rel=1e-3), (level, rho)
            assert len(found.prices) == len(alone.prices)


def test_the_second_solver_agrees():
    for level, sweep in sweeps("focus").items():
        again = readable.widest_margin(sweep.at(0.995))
        found = sweep.pencil.widest_margin(0.995)
        assert again.margin == pytest.approx(found.margin, rel=1e-5), level


def test_what_was_asked_before_changes_no_bit():
    forth, back = (list(sweeps("scaffold").values())[-1].pencil for _ in range(2))
    one = [forth.widest_margin(rho).values for rho in (*RATES, 0.5, *RATES)]
    other = [back.widest_margin(rho).values for rho in reversed(RATES)]
    assert np.array_equal(one[:3], one[4:])
    assert np.array_equal(one[:3], other[::-1])


def test_threads_get_the_margin_of_their_own_rate():
    rates = [0.98 + k / 1000 for k in range(16)]
    pencil = list(sweeps("focus").values())[-1].pencil
    alone = [pencil.widest_margin(rho).margin for rho in rates]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda rho: pencil.widest_margin(rho).margin, rates))
    assert together == alone


def test_a_pencil_that_moves_otherwise_has_other_margins():
    sweep = sweeps("focus")["slots"]
    still = Pencil(sweep.pencil.fixed, sweep.at(0.0))  # moves by what does not move
    found = still.widest_margin(0.995).margin
    assert abs(found - sweep.pencil.widest_margin(0.995).margin) > 1e-4

"""Float rates of many clients are those of rationals, to what is said of them."""

from fractions import Fraction

import pytest

from flverify import moments
from flverify.algorithms import Scaffold
from flverify.engines.moments import _perron
from flverify.engines.moments._large import LargeMoments
from flverify.participation import AllOrNothing, UniformCohort
from flverify.problems import Quadratics

BENT = [
    (UniformCohort(3, 2), 10, "1/20", 1),
    (UniformCohort(3, 2), 10, "3/4", 1),
    (UniformCohort(4, 2), 10, "1/20", 1),
    (AllOrNothing(3, "2/5"), 10, "1/2", 2),
    (AllOrNothing(5, "2/5"), 5, "3/10", 2),
]


@pytest.mark.parametrize(("law", "parts", "step", "local"), BENT)
def test_large_rates_are_those_of_rationals(law, parts, step, local):
    clients = range(law.n_clients)
    problem = Quadratics(
        [[[Fraction(parts + i, parts)]] for i in clients], [[i % 3] for i in clients]
    )
    low, high = moments(problem, Scaffold(step, local), law).mean_square_rate_interval
    floats = Scaffold(float(Fraction(step)), local)
    found = LargeMoments(problem.as_float(), floats, law).mean_square_rate
    assert float(low) * (1 - 1e-9) <= found <= float(high) * (1 + 1e-9)


def test_a_step_past_the_floor_goes_nearer_to_it_than_the_middle():
    floor, high = 0.5, 0.9
    assert _perron._inside(0.4, floor, high, floor) == pytest.approx(0.55)
    assert _perron._inside(0.4, 0.6, high, floor) == pytest.approx(0.75)
    assert _perron._inside(0.7, floor, high, floor) == 0.7

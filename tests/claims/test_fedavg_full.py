"""FedAvg under full participation stays within its bound, which is of order eta."""

from fractions import Fraction

import pytest
import sympy

from flverify.claims import fedavg_full
from flverify.claims.fedavg_bounds import L, eta, mu, sigma, tau
from flverify.claims.verdict import Verdict
from flverify.reference import fedavg


def bent(i, point):
    """Slopes of clients with mu = 1, L = 2, x* = 0; they are at most 3 apart."""
    (x,) = point
    return [x - 1 + max(-1.0, min(1.0, x))] if i == 0 else [x + 1]


def end(step, steps):
    rounds = [{0, 1}] * int(60 / (step * steps))
    return abs(
        fedavg.run(bent, 2, [3.0], rounds, step_size=step, local_steps=steps)[-1][0]
    )


@pytest.mark.parametrize("steps", [2, 3, 5, 9])
@pytest.mark.parametrize("share", [1, Fraction(1, 10)])
def test_clients_that_differ_boundedly_end_within_the_bound(steps, share):
    step = float(share * Fraction(1, 8 * (steps - 1)))
    of = {eta: step, L: 2, mu: 1, sigma: sympy.Rational(9, 4), tau: steps}
    bound = float(sympy.sqrt(fedavg_full.limit().subs(of)))
    assert 0 < end(step, steps) <= bound
    assert end(step, steps) > bound / 100  # the order is that of the bound


@pytest.mark.parametrize("steps", [2, 5])
def test_the_order_is_one(steps):
    assert end(1e-3, steps) / end(5e-4, steps) == pytest.approx(2, rel=0.05)


def test_a_higher_order_or_another_server_is_not_proved():
    assert fedavg_full.near().verdict == Verdict.PROVED
    for other in ((2, 1), (3, 1), (1, 2)):
        assert fedavg_full.near(*other).verdict == Verdict.REFUTED

"""Two clients of one curvature: the closed form of where FedAvg ends up."""

from fractions import Fraction

import pytest

from flverify.claims.fedavg_two_clients import grows, level
from flverify.claims.parallel_clients import Setting
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict
from flverify.participation import ExplicitLaw

PROVED, REFUTED = Verdict.PROVED, Verdict.REFUTED
F = Fraction
LIMIT = load_file(proofs_folder() / "focus_problem.py")


@pytest.mark.parametrize("tau", [1, 3])
@pytest.mark.parametrize("rare", ["1/2", "1/4", "1/100"])
def test_the_closed_form_is_the_exact_limit(tau, rare):
    h, eta, b, q = F(1, 2), F(1, 8), F(3), F(rare)
    law = ExplicitLaw({(0,): q, (1,): 1 - q}, 2)
    one = Setting(((h, h),), ((-b, b),), law, tau, eta)
    assert one.limit() == level((1 - eta * h) ** tau, b**2, ((1 - 2 * q) * b) ** 2)


def test_the_limit_of_two_clients_grows_with_each_quantity():
    assert grows().verdict == PROVED
    found = LIMIT.limiting_point.check().readings[LIMIT.ALIKE]
    assert (found.verdict, found.scope) == (PROVED, grows().scope)


def test_a_limit_that_falls_is_refuted_under_every_reading():
    assert LIMIT.limiting_point.control().verdict == REFUTED

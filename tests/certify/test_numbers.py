"""Certified rates that were derived by hand, or are known from elsewhere.

mu = 1/10 and L = 1 unless said otherwise. The numbers of the lower side are exact rates
of scalar quadratics, so every certified rate stands between two computations.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify._core.errors import DomainError
from flverify.algorithms import FedAvg, Focus, GradientDescent, Scaffold
from flverify.certify import neighbourhood, own_loops
from flverify.certify.check import Rejected, check
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import TOO_NEAR, TOO_SLOW, certify
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.solve import Solution
from flverify.certify.stationary import worst_stationary
from flverify.certify.threshold import descended
from flverify.participation import Bernoulli, Full, UniformCohort

MU, SMOOTH = Fraction(1, 10), Fraction(1)
WIDTH = Fraction(1, 10**5)  # the accuracy that `certify` promises


def halves(n):
    return Bernoulli(["1/2"] * n)


def rate(algorithm, law, mu=MU, smooth=SMOOTH):
    """Smallest certified rate, proved by the checker."""
    found = certify(algorithm, law, mu, smooth)
    assert found.status == "certified", found.reason
    proved = check(found.certificate)
    assert (proved.rho, proved.n_clients) == (found.rate, law.n_clients)
    return found.rate


@pytest.mark.parametrize(
    ("algorithm", "law", "wanted"),
    [
        (Focus("1/10"), halves(2), ".959566"),
        (Focus("1/5"), halves(2), ".918113"),
        (Focus("1/10", 2), halves(2), ".959549"),
        (Scaffold("1/10", 2), UniformCohort(4, 2), ".960597"),
    ],
)
def test_derived_by_hand(algorithm, law, wanted):
    found = rate(algorithm, law)
    assert abs(found - Fraction(wanted)) <= WIDTH
    worst = worst_quadratic(algorithm, law, MU, SMOOTH)
    assert 0 <= found - worst.lower_bound <= WIDTH


@pytest.mark.parametrize(
    ("algorithm", "law", "wanted"),
    [
        (Focus("1/10"), halves(2), ".959566"),
        (Focus("1/5"), halves(2), ".918111"),
        (Scaffold("1/10", 2), UniformCohort(4, 2), ".960596"),
    ],
)
def test_worst_quadratics(algorithm, law, wanted):
    worst = worst_quadratic(algorithm, law, MU, SMOOTH)
    assert round(float(worst.lower_bound), 6) == float(wanted)


def test_between_a_certificate_and_none():
    setting = Focus("1/5"), halves(2), MU, SMOOTH
    found = certify(*setting, rate=".918114")
    assert check(found.certificate).rho == Fraction(".918114")
    refused = certify(*setting, rate=".918")
    assert (refused.status, refused.certificate) == ("not_certified", None)


# ------------------------------------------------------- whatever the number of clients


@pytest.mark.parametrize("n", [2, 5, 20, 100])
def test_the_rate_depends_on_step_size_times_clients(n):
    found = rate(Focus(Fraction(2, 5 * n)), halves(n))
    assert Fraction(".918098") <= found <= Fraction(".918113") + WIDTH


@pytest.mark.slow
def test_a_thousand_clients():
    found = rate(Focus(Fraction(2, 5000)), halves(1000))
    assert abs(found - Fraction(".918098")) <= WIDTH


def test_certificates_have_the_same_size_whatever_the_number_of_clients():
    sizes = set()
    for n in (5, 50):
        law = UniformCohort(n, 1)
        found = certify(Focus(Fraction(1, n)), law, MU, SMOOTH, rate=1 - WIDTH)
        blocks = found.certificate["V"]
        sizes.add((found.level, len(blocks["mean"]), len(blocks["classes"][0])))
    assert len(sizes) == 1


def descent(reach, mu=MU, smooth=SMOOTH):
    """Factor per step of gradient descent on F with step size `reach`."""
    return max((1 - reach * mu) ** 2, (1 - reach * smooth) ** 2)


REACHES = ["1/50", "1/3", "1", "3/2", "20/11", "19/10", "199/100"]


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("kind", [GradientDescent, Focus])
def test_full_participation_is_gradient_descent(kind, n, reach):
    exact = descent(Fraction(reach))
    assert 0 <= rate(kind(Fraction(reach) / n), Full(n)) - exact <= WIDTH


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("kind", [FedAvg, Scaffold])
def test_one_local_step_of_everybody_is_gradient_descent(kind, reach):
    # these average, so the step size on F is the client's
    assert 0 <= rate(kind(reach), Full(3)) - descent(Fraction(reach)) <= WIDTH


@pytest.mark.parametrize("reach", ["2", "21/10"])
@pytest.mark.parametrize("kind", [FedAvg, Focus, GradientDescent, Scaffold])
def test_beyond_two_over_smoothness_nothing_is_certified(kind, reach):
    found = certify(kind(reach), Full(1), MU, SMOOTH)
    assert (found.status, found.certificate) == ("not_certified", None)


@pytest.mark.parametrize("scale", ["1/7", "30"])
def test_rates_depend_on_products_with_the_step_size(scale):
    c = Fraction(scale)
    algorithm, law = Focus(Fraction(1, 5) / c), Bernoulli(["1/2", "1/3"])
    ours = rate(algorithm, law, c * MU, c * SMOOTH)
    theirs = rate(Focus("1/5"), law)
    assert abs(ours - theirs) <= WIDTH


# ------------------------------------------------------------- one uniform client (SAG)


@pytest.mark.parametrize(
    ("n", "wanted", "theory"),
    [(100, ".992735", ".99875"), (1000, ".999260", ".999875")],
)
def test_stochastic_average_gradient(n, wanted, theory):
    found = certify(Focus(Fraction(1, 16 * n)), UniformCohort(n, 1), MU, SMOOTH)
    assert found.level == "slots" or found.rate < Fraction(wanted)
    assert found.rate <= Fraction(wanted) + WIDTH < Fraction(theory)
    # Schmidt, Le Roux and Bach prove 1 - min{mu/(16 L), 1/(8N)}
    assert Fraction(theory) == 1 - min(MU / (16 * SMOOTH), Fraction(1, 8 * n))


@pytest.mark.parametrize("n", [100, 1000])
def test_stochastic_average_gradient_with_slots_alone(n):
    wanted = {100: Fraction(".992736"), 1000: Fraction(".999261")}[n]
    setting = Focus(Fraction(1, 16 * n)), UniformCohort(n, 1), MU, SMOOTH
    found = certify(*setting, rate=wanted)
    assert (found.status, found.level) == ("certified", "slots")
    assert check(found.certificate).rho == wanted


@pytest.mark.parametrize("n", [5, 10, 100, 1000])
@pytest.mark.parametrize("reach", ["1", "26/25"])
def test_steps_as_long_as_one_over_smoothness(n, reach):
    # values at the server's previous point; without values it ends near 3.8/N
    slow = 1 - Fraction(1, 1000 * n)
    setting = Focus(Fraction(reach) / n), UniformCohort(n, 1), MU, SMOOTH
    found = certify(*setting, rate=slow)
    assert (found.status, found.level) == ("certified", "previous point")
    assert check(found.certificate).rho == slow < 1


@pytest.mark.parametrize("n", [5, 10, 100, 1000])
def test_all_that_is_known_reaches_further(n):
    # with the value at the previous point alone it ends near 1.07/N
    slow = 1 - Fraction(1, 1000 * n)
    setting = Focus(Fraction(119, 100) / n), UniformCohort(n, 1), MU, SMOOTH
    found = certify(*setting, rate=slow)
    assert (found.status, found.level) == ("certified", "previous gradients")
    assert check(found.certificate).rho == slow


@pytest.mark.parametrize("n", [5, 100])
def test_steps_that_no_ansatz_reaches(n):
    found = certify(Focus(Fraction(3) / n), UniformCohort(n, 1), MU, SMOOTH)
    assert found.status == "not_certified"


# ---------------------------------------------------------------------- neighbourhoods


def test_the_neighbourhood_of_fedavg():
    found = distance(FedAvg("1/10", 2), Full(2), MU, SMOOTH)
    proved = check(found.certificate)
    assert round(float(found.constant), 6) == 0.009349
    assert (proved.rho, proved.weight, proved.constant) == (1, 1, found.constant)


def test_fedavg_contracts_like_descent_with_two_steps():
    found = contraction(FedAvg("1/10", 2), Full(2), MU, SMOOTH)
    exact = (1 - Fraction(1, 10) * MU) ** 4  # two steps on the flattest quadratic
    assert 0 <= found.rate - exact <= WIDTH


UNEVEN = Bernoulli(["1/2", "1/3"])


def test_a_contraction_is_found_where_rounding_needs_much_room():
    # a certificate of 0.9998 is found when asked for, and a region has one here
    step = FedAvg("1.9998", 2)
    asked = contraction(step, Full(2), "1/10000", 1, "0.9998")
    found = contraction(step, Full(2), "1/10000", 1)
    assert (asked.status, found.status) == ("certified", "certified")
    assert found.rate <= asked.rate


def test_a_contraction_is_as_near_as_promised():
    law = Bernoulli(["1/2", "1/3", "1/4"])
    algorithm = FedAvg("1/10", 2)
    bound = worst_quadratic(algorithm, law, MU, SMOOTH).lower_bound
    assert 0 <= contraction(algorithm, law, MU, SMOOTH).rate - bound <= WIDTH


@pytest.mark.parametrize(
    ("algorithm", "chances", "mu"),
    [
        (FedAvg("1/2", 3), ["999/1000", "1/1000", "1/1000"], MU),
        (FedAvg("19/10", 2), ["1/1000", "99/100", "99/100"], MU / 30),
    ],
)
def test_a_contraction_goes_down_where_rounding_failed_at_first(algorithm, chances, mu):
    law = Bernoulli(chances)
    found = contraction(algorithm, law, mu, SMOOTH)
    assert found.status == "certified"
    lower = contraction(algorithm, law, mu, SMOOTH, rate=found.rate - WIDTH)
    assert lower.status != "certified"


@pytest.mark.parametrize("above", [1, 7, 50, 333])
def test_a_rate_goes_down_to_where_a_step_less_is_not_certified(above):
    lowest = Fraction(7, 10)
    asked = []

    def answer(rho):
        asked.append(rho)
        found = neighbourhood.Neighbourhood("certified", "", rho)
        return found if rho > lowest else None

    best = neighbourhood.Neighbourhood("certified", "", lowest + above * WIDTH)
    found = descended(best, answer, Fraction(0))
    assert lowest < found.rate <= lowest + WIDTH
    assert found.rate - WIDTH in asked
    assert len(asked) < 5 + 3 * above**0.5


@pytest.mark.parametrize(
    ("law", "steps", "step_size"),
    [
        # without disagreement no c is needed, and the least one has no interior
        *((Full(1), 2, step) for step in ("1/5", "1/2", "1")),
        (UNEVEN, 2, "1/10"),
        (UNEVEN, 4, "1/5"),
        (Bernoulli(["1/20", "9/10", "9/10"]), 3, "3/10"),
        # where c grows to 1e5 on the way to the smallest rate
        (Bernoulli(["1/2", "1/2", "1/2", "1/64"]), 2, "1.692893"),
    ],
)
def test_fedavg_contracts_like_the_worst_quadratic(law, steps, step_size):
    algorithm = FedAvg(step_size, steps)
    found = contraction(algorithm, law, MU, SMOOTH)
    assert check(found.certificate).rho == found.rate
    bound = worst_quadratic(algorithm, law, MU, SMOOTH).lower_bound
    assert 0 <= found.rate - bound <= WIDTH


@pytest.mark.parametrize("asked", [None, Fraction(97, 100)])
def test_a_contraction_bounds_how_far_quadratics_stay_off(asked):
    setting = FedAvg("1/10", 2), UniformCohort(4, 1), MU, SMOOTH
    found = contraction(*setting, asked)
    proved = check(found.certificate)
    assert (proved.rho, proved.weight) == (found.rate, 0)
    assert asked in (None, found.rate)
    assert proved.constant == found.constant
    assert worst_stationary(*setting).ratio <= found.constant / (1 - found.rate)


@pytest.mark.parametrize(
    ("word", "status"),
    [("PrimalInfeasible", "not_certified"), ("MaxIterations", "inconclusive")],
)
def test_a_solver_that_gives_up_has_not_said_no(monkeypatch, word, status):
    failed = Solution("failed", word, float("nan"), np.zeros(0))
    monkeypatch.setattr(neighbourhood, "least", lambda *_: failed)
    found = distance(FedAvg("1/10", 2), Full(2), MU, SMOOTH)
    assert (found.status, found.certificate) == (status, None)
    assert (word in found.reason) == (status == "inconclusive")


def test_without_the_checkers_consent_no_neighbourhood_is_certified(monkeypatch):
    def never(certificate):
        raise Rejected("not today")

    monkeypatch.setattr(own_loops, "check", never)
    setting = FedAvg("1/10", 2), Full(2), MU, SMOOTH
    for found in (distance(*setting), contraction(*setting, Fraction(97, 100))):
        assert (found.status, found.certificate) == ("inconclusive", None)
        assert "not today" in found.reason


def test_a_contraction_with_a_rare_client_is_as_near():
    setting = FedAvg("1/50", 2), Bernoulli(["1/2"] * 3 + ["1/256"]), MU, SMOOTH
    least = worst_quadratic(*setting).lower_bound
    assert 0 < contraction(*setting).rate - least < 2 * WIDTH


def test_a_contraction_below_the_worst_quadratic_is_refused():
    algorithm = FedAvg("1/5", 2)
    below = worst_quadratic(algorithm, Full(1), MU, SMOOTH).lower_bound - WIDTH
    assert contraction(algorithm, Full(1), MU, SMOOTH, below).status != "certified"


@pytest.mark.parametrize("step_size", ["1/1000000", "1/10000000"])
@pytest.mark.parametrize("law", [Full(3), halves(3)])
def test_slow_rates_are_as_close_as_their_distance_from_one(law, step_size):
    bound = worst_quadratic(Focus(step_size), law, MU, SMOOTH).lower_bound
    assert 0 <= rate(Focus(step_size), law) - bound <= (1 - bound) / 10


def test_what_is_known_of_quadratics_says_where_to_look():
    tiny = Focus("1/1000000000")
    bound = worst_quadratic(tiny, Full(3), MU, SMOOTH).lower_bound
    found = certify(tiny, Full(3), MU, SMOOTH, lower_bound=bound)
    assert 0 <= check(found.certificate).rho - bound <= (1 - bound) / 10


@pytest.mark.parametrize("asked", [1, "3/2", 0.97])
def test_a_rate_to_certify_is_a_rational_below_one(asked):
    with pytest.raises(DomainError, match="rational below 1"):
        certify(Focus("1/10"), halves(2), MU, SMOOTH, asked)


def test_rates_too_near_one_are_not_said_to_be_absent():
    tiny = Focus("1/1000000000000")
    bound = worst_quadratic(tiny, Full(3), MU, SMOOTH).lower_bound
    found = certify(tiny, Full(3), MU, SMOOTH, lower_bound=bound)
    assert (found.status, found.reason) == ("inconclusive", TOO_SLOW)
    assert certify(tiny, Full(3), MU, SMOOTH) == found  # the bound is looked up
    asked = certify(tiny, Full(3), MU, SMOOTH, 1 - (1 - bound) / 2)
    assert (asked.status, asked.reason) == ("inconclusive", TOO_NEAR)


def test_a_neighbourhood_scales_as_a_distance_does():
    # f = L f' has gradients L times as large, and x stays
    ours = distance(FedAvg("1/100", 2), Full(2), 10 * MU, 10 * SMOOTH)
    theirs = distance(FedAvg("1/10", 2), Full(2), MU, SMOOTH)
    assert abs(100 * ours.constant / theirs.constant - 1) < Fraction(1, 1000)


def test_a_rate_is_tried_where_floats_see_no_margin():
    # next to the edge of stability, where all f_i are nearly alike
    start = {"initial_gradients": "start", "initial_tracker": "sum"}
    focus = Focus("0.9736329", 3, **start)
    asked = certify(focus, Full(2), "0.999", 1, "0.999999")
    found = certify(focus, Full(2), "0.999", 1)
    assert (asked.status, found.status) == ("certified", "certified")
    assert found.rate <= asked.rate

"""Moments of FOCUS: recursion, enumeration, four numbers, and the moments engine."""

from fractions import Fraction

import numpy as np
import pytest

from flverify._core.errors import DomainError
from flverify.algorithms import Focus
from flverify.claims.focus_caps import SQUARES, inside, largest_step
from flverify.claims.focus_families import GENERAL, families, starts
from flverify.claims.focus_moments import Clients, curves, listed, symmetric
from flverify.claims.focus_runs import formal_rounds
from flverify.claims.focus_search import Instance, Sides, searched
from flverify.engines.moments import moments
from flverify.participation import AllOrNothing, Bernoulli, UniformCohort
from flverify.problems import Quadratics

ONE, STEP = Fraction(1), Fraction(1, 7)
PARTS = ("server", "behind", "lagged")


def same(found, expected):
    return all((getattr(found, p) == getattr(expected, p)).all() for p in PARTS)


def exact(clients, start, rounds):
    found = curves(clients, STEP, [start], rounds, exact=True)
    return type(found)(*(getattr(found, part)[0] for part in PARTS))


@pytest.mark.parametrize("tau", [1, 3])
@pytest.mark.parametrize(
    ("curvatures", "law", "copies"),
    [
        ((1,), Bernoulli(["1/3"]), 1),
        ((2, "1/2"), UniformCohort(2, 1), 1),
        ((1, "-1/3", 2), Bernoulli(["1/2", "1", "1/5"]), 1),
        (("1/4",), AllOrNothing(1, "2/5"), 3),
        (("1/5", "1/3"), Bernoulli(["1/2", "3/4"]), 2),
    ],
)
def test_the_recursion_is_the_enumeration(curvatures, law, copies, tau):
    clients = Clients(tuple(map(Fraction, curvatures)), law, tau, copies)
    for start in starts(clients):
        assert same(exact(clients, start, 3), listed(clients, STEP, start, 3))


@pytest.mark.parametrize("tau", [1, 3])
@pytest.mark.parametrize(
    ("n", "law", "copies"),
    [
        (1, Bernoulli(["1/3"]), 1),
        (3, UniformCohort(3, 2), 1),
        (3, Bernoulli(["1/2"] * 3), 1),
        (2, AllOrNothing(2, "1/4"), 1),
        (1, AllOrNothing(1, "1/4"), 5),
    ],
)
def test_four_numbers_are_enough_for_equal_clients(n, law, copies, tau):
    clients = Clients((Fraction(2, 3),) * n, law, tau, copies)
    assert clients.alike
    for start in ((ONE, (ONE,) * n), (ONE, (-2 * ONE,) * n)):
        expected = listed(clients, STEP, start, 3)
        assert same(symmetric(clients, STEP, start, 3), expected)


def test_clients_that_differ_are_not_alike():
    law = Bernoulli(["1/2", "1/3"])
    assert not Clients((ONE, ONE), law, 1).alike
    assert not Clients((ONE, 2 * ONE), UniformCohort(2, 1), 1).alike
    assert not Clients((ONE, ONE), UniformCohort(2, 1), 1, copies=2).alike


def test_the_server_error_is_that_of_the_moments_engine():
    h, law = (ONE, 3 * ONE), Bernoulli(["1/3", "1"])
    problem = Quadratics([[[v]] for v in h], [[0], [0]])
    focus = Focus(STEP, 2, initial_gradients="start", initial_tracker="sum")
    expected = moments(problem, focus, law).mean_square_error([1], 6)
    found = exact(Clients(h, law, 2), (ONE, (ONE, ONE)), 6)
    assert (found.server == expected).all()


def test_one_round_by_hand():
    # tau = 2, S = {1}: x_1 = 1 - (1 - 0)/2 = 1/2 is where client 1 ends; client 2
    # stays at 0; w = 1 - (1/2)(1/2) = 3/4
    clients = Clients((ONE, ONE), UniformCohort(2, 1), 2)
    found = listed(clients, Fraction(1, 2), (ONE, (0 * ONE, 0 * ONE)), 1)
    assert found.server.tolist() == [1, Fraction(9, 16)]
    assert found.lagged.tolist() == [2, Fraction(1, 4) + 1]
    assert found.behind.tolist() == [2, Fraction(1, 16) + Fraction(9, 16)]


def test_floats_follow_rationals():
    for clients in families(GENERAL)[::37]:
        if clients.total <= 5:
            begun = starts(clients)
            rough = curves(clients, STEP, begun, 4)
            fine = curves(clients, STEP, begun, 4, exact=True)
            for part in PARTS:
                values = getattr(fine, part).astype(float)
                np.testing.assert_allclose(getattr(rough, part), values, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("curvatures", "law", "tau", "step"),
    [  # where rounding used to outgrow the moments
        ((30, 1), UniformCohort(2, 1), 2, "1/60"),
        ((0, 1), UniformCohort(2, 1), 2, "1/7"),
        (("-1/2", 1), UniformCohort(2, 1), 2, "1/8"),
        ((1, 3, 2), Bernoulli(["1/2", "1", "1/5"]), 1, "1/9"),
    ],
)
def test_floats_follow_rationals_over_many_rounds(curvatures, law, tau, step):
    clients = Clients(tuple(map(Fraction, curvatures)), law, tau)
    begun = starts(clients)
    rough = curves(clients, Fraction(step), begun, 400)
    fine = curves(clients, Fraction(step), begun, 400, exact=True)
    for part in PARTS:
        found, expected = getattr(rough, part), getattr(fine, part)
        for r in (50, 200, 400):
            values = expected[:, r].astype(float)
            np.testing.assert_allclose(found[:, r], values, rtol=1e-12)


@pytest.mark.slow
def test_floats_keep_the_sign_of_squares():
    for clients in families(GENERAL)[::5]:
        step = 1 / (2 * clients.smoothness * clients.total * clients.local_steps)
        found = curves(clients, step, starts(clients), 1500)
        assert all((getattr(found, part) >= 0).all() for part in PARTS)


def test_floats_that_overflow_are_refused_and_rationals_are_not():
    clients = Clients((Fraction(30), ONE), UniformCohort(2, 1), 20)
    with pytest.raises(DomainError, match="at round 15 they do not; take fewer"):
        curves(clients, STEP, starts(clients), 40)
    found = curves(clients, STEP, starts(clients)[:1], 20, exact=True)
    assert found.server[0, -1] > 10**308


def test_steps_are_the_caps_and_no_more():
    for clients in families(GENERAL)[::11]:
        if clients.strong_convexity <= 0:
            continue
        for name in SQUARES:
            if "tau" in name and clients.local_steps == 1:
                continue
            caps, q = {name: "2/3"}, clients.averaging
            step = largest_step(caps, clients, q)
            assert inside(caps, clients, q, step)
            assert not inside(caps, clients, q, step * Fraction(1_000_001, 1_000_000))


def test_caps_by_hand():
    clients = Clients((Fraction(2), Fraction(1)), UniformCohort(2, 1), 3)
    q = Fraction(1, 4)  # q^(3/2) = 1/8; L = 2, mu = 1, beta = 3/2, N = 2
    by_hand = {
        "mu/(N L^2)": Fraction(1, 8),
        "1/(L (tau-1))": Fraction(1, 4),
        "1/((tau-1) L N)": Fraction(1, 8),
        "q^(3/2)/(L (tau-1))": Fraction(1, 32),
        "q^(3/2)/(L N)": Fraction(1, 32),
        "q/(N^2 L)": Fraction(1, 32),
        "q/(N (8 L^2/mu + mu/2))": Fraction(1, 8) / Fraction(65, 2),
        "q/N": Fraction(1, 8),
        "q/N^2": Fraction(1, 16),
        "q/(beta N)": Fraction(1, 12),
        "q/L^2": Fraction(1, 16),
        "q/(L N)": Fraction(1, 16),
        "q/(L sqrt(2 N))": Fraction(1, 16),
        "1/(L N)": Fraction(1, 4),
        "1/(tau L N)": Fraction(1, 12),
    }
    for name, cap in by_hand.items():
        assert largest_step({name: "1"}, clients, q) == cap
    square = SQUARES["q^(3/2)/(L sqrt N)"](clients, q)
    assert square == Fraction(1, 64) / 8
    assert set(by_hand) | {"q^(3/2)/(L sqrt N)"} == set(SQUARES)


def test_the_search_takes_the_first_noticeable_round_and_rechecks_it():
    clients = Clients((ONE,), UniformCohort(1, 1), 1)
    start = starts(clients)[0]
    assert not Instance(clients, STEP, start, ONE).equal_start

    def claimed(one, found):  # a decay that is too fast from round 1 on
        bound = found.server[0] * found.server[1:] / found.server[1:] / 10**6
        return Sides(1, found.server[1:], bound)

    cases = list(searched([(clients, STEP, ONE)], claimed, 5, equal=True))
    assert [case.where["R"] for case in cases] == [1]
    assert cases[0].recheck() == (Fraction(36, 49), Fraction(1, 10**6))


def test_formal_gradients_stay_formal_until_a_point_is_given():
    run = next(r for r in formal_rounds() if r.n_clients == 2)
    formal = run.gradient(1, run.start - run.step_size)
    assert not formal.is_number
    value = formal.subs({run.start: 2, run.step_size: 1})
    assert value == 3 * (1 + 1)

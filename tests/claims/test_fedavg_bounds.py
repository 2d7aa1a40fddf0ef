"""The proof of Theorem 2 about FedAvg: its links, its constants, and exact limits."""

from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import pytest
import sympy

from flverify.claims import (
    fedavg_averages,
    fedavg_bounds,
    fedavg_client_step,
    fedavg_limit,
    fedavg_never_exact,
    fedavg_stationary,
)
from flverify.claims.fedavg_bounds import alone, several, with_bias
from flverify.claims.parallel_families import (
    ALONE,
    BALANCED,
    BIASED,
    UNIFORM,
    family,
)
from flverify.claims.verdict import Verdict
from flverify.participation import Full
from flverify.reference import fedavg

PROVED = Verdict.PROVED
F = Fraction
LINKS = [
    fedavg_client_step.one_client,
    fedavg_averages.weighted_mean,
    fedavg_averages.spread,
    fedavg_averages.below_a_bound,
    fedavg_averages.cohort_means,
    fedavg_stationary.drifted,
    fedavg_stationary.stationary,
    fedavg_bounds.unbiased,
    fedavg_bounds.biased,
    fedavg_bounds.finite_mismatch,
    fedavg_limit.summed_58,
]


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_every_link_is_proved_without_side_conditions(link):
    found = link()
    assert found.verdict == PROVED
    assert "where" not in found.scope


def constants(**changed):
    best = {"drift": None, "drift_L": 0, "bias": 4, "bias_Lmu": 1, "variance": 2}
    return SimpleNamespace(**{**best, **changed})


@pytest.mark.slow
def test_the_best_constants_of_this_proof():
    assert fedavg_bounds.biased_below(constants()).verdict == PROVED
    for changed in ({"bias": F(399, 100)}, {"variance": F(199, 100)}):
        assert not fedavg_bounds.biased_below(constants(**changed)).passes()
    least = constants(variance=F(3, 5))
    assert fedavg_bounds.uniform_below(least, more_steps=True).verdict == PROVED
    less = constants(variance=F(597, 1000))
    assert not fedavg_bounds.uniform_below(less, more_steps=False).passes()


# planted faults -----------------------------------------------------------------------


def refreshed(monkeypatch, module, name, wrong, found):
    monkeypatch.setattr(module, name, wrong)
    return found.__wrapped__()


def test_a_faster_contraction_is_not_shown(monkeypatch):
    eta, mu, e, g = (getattr(fedavg_client_step, n) for n in ("eta", "mu", "e", "g"))
    _, terms = fedavg_client_step._both_move()
    wrong = (1 - 2 * eta * mu) ** 2 * e**2 - (e - eta * g) ** 2
    found = refreshed(
        monkeypatch,
        fedavg_client_step,
        "_both_move",
        lambda: (wrong, terms),
        fedavg_client_step.one_client,
    )
    assert found.verdict == Verdict.REFUTED


def test_a_negative_weight_is_noticed(monkeypatch):
    left, terms = fedavg_client_step._grows()
    extra = [*terms, (-1, fedavg_client_step.g**2)]
    found = refreshed(
        monkeypatch,
        fedavg_client_step,
        "_grows",
        lambda: (left - fedavg_client_step.g**2, extra),
        fedavg_client_step.one_client,
    )
    assert "signs" in found.reason
    assert not found.passes()


@pytest.mark.parametrize("factor", [F(99, 100), F(101, 100)])
def test_another_floor_is_not_where_the_recursion_ends(monkeypatch, factor):
    found = refreshed(
        monkeypatch,
        fedavg_stationary,
        "floor",
        sympy.Rational(factor) * fedavg_stationary.floor,
        fedavg_stationary.stationary,
    )
    assert found.verdict == Verdict.REFUTED
    assert "end of a round" in found.reason


@pytest.mark.slow
def test_clients_that_differ_do_not_stay_equal():
    assert fedavg_bounds.equal_clients(0).verdict == PROVED
    assert not fedavg_bounds.equal_clients(F(1, 1000)).passes()


def test_homogeneous_clients_are_the_wrong_exception():
    wrong = fedavg_never_exact._bounded_away(fedavg_never_exact.HOMOGENEOUS)
    assert "limsup" in wrong.reason
    assert not wrong.passes()
    right = fedavg_never_exact._bounded_away(fedavg_never_exact.STATIONARY)
    assert right.verdict == PROVED


def test_cohorts_that_do_not_rest_at_one_local_step_may_rest_at_two():
    """h = 1, 2 and slopes 14, -15 at x* = 0, and their negatives: tau = 2 stays there.

    In two steps of 1/8 they move by -14 (15/8) eta and by 15 (14/8) eta.
    """
    h, slopes = (1, 2, 1, 2), (14, -15, -14, 15)
    assert sum(slopes) == 0

    def end(cohort, tau):
        return fedavg.run(
            lambda i, x: [h[i] * x[0] + slopes[i]],
            4,
            [F(0)],
            [cohort],
            step_size=F(1, 8),
            local_steps=tau,
        )[-1][0]

    for cohort in ((0, 1), (2, 3)):
        assert end(cohort, 1) != 0
        assert end(cohort, 2) == 0
    right = fedavg_never_exact._bounded_away(fedavg_never_exact.STATIONARY)
    assert right.scope.startswith("tau = 1, every N, dimension")


def test_the_corollary_for_one_local_step_says_so():
    one = fedavg_bounds.uniform_below(constants(), more_steps=False)
    assert one.verdict == PROVED
    assert one.scope.startswith("tau = 1, every N, dimension")


def test_clients_of_one_curvature_with_minimisers_apart_never_arrive():
    found = fedavg_never_exact.alike_never_exact("1", UNIFORM)
    assert found.verdict == PROVED
    assert "at least 1 stays out" in found.scope
    # with everybody they do, and then it is not proved either
    full = fedavg_never_exact.alike_never_exact("0", (Full(2), *UNIFORM))
    assert full.verdict == Verdict.REFUTED
    at = full.evidence["counterexample"]
    assert (at["law"], at["h"], at["b"]) == ("full", ["1", "1"], ["0", "1"])
    unsure = fedavg_never_exact.alike_never_exact("0", UNIFORM)
    assert unsure.verdict == Verdict.INCONCLUSIVE


def test_fewer_of_some_such_clients_are_never_all_at_rest():
    for n in range(2, 6):
        for b in product(range(3), repeat=n):
            best = F(sum(b), n)
            for m in range(1, n):
                moves = (sum(S) - m * best for S in combinations(b, m))
                assert any(moves) == (len({*b}) > 1)
            assert sum(b) - n * best == 0


def test_the_end_of_theorem_2s_proof_fails_whatever_x_29_is_over():
    # L = mu = 1/10, tau = 3, q = u: the sums of (58) without what (59) makes of them
    L, eta, drift = F(1, 10), F(5, 4), 40 * F(5, 4) ** 3 * 2**2
    assert eta <= min(1 / (3 * L), 1 / (4 * 2 * L))
    left = (drift * L + 8 * eta**2 * 3**2) / (eta * L / 2)
    right = 80 * eta**2 * L**2 * 2**2 + 16 * eta * 3**2 / L
    printed = SimpleNamespace(drift_L=2, bias_Lmu=0)
    found = fedavg_limit.limit(printed, "tau")
    assert found.evidence["counterexample"]["delta_q^2"] == "0"
    assert (F(found.evidence["left"]), F(found.evidence["right"])) == (left, right)
    assert left > right


# exact limits -------------------------------------------------------------------------


def at(bound, one):
    values = {
        fedavg_bounds.eta: one.step_size,
        fedavg_bounds.L: one.smoothness,
        fedavg_bounds.mu: one.strong_convexity,
        fedavg_bounds.tau: one.local_steps,
        fedavg_bounds.sigma: one.heterogeneity,
        fedavg_bounds.delta: one.mismatch,
    }
    found = bound.subs({k: sympy.Rational(v) for k, v in values.items()})
    return F(found.p, found.q)


@pytest.mark.slow
def test_exact_limits_are_below_the_bounds_that_are_proved():
    for one in family(ALONE + BALANCED + BIASED, (1, 3)):
        assert one.limit() <= at(with_bias(), one)
        if one.uniform:
            assert one.limit() <= at(several(), one)
            assert one.local_steps > 1 or one.limit() <= at(alone(), one)


def test_one_of_two_clients_reaches_the_bound_of_corollary_2():
    one = family(BALANCED[:1], (1,))[0]
    assert one.limit() == at(alone(), one) == F(3, 5) * one.step_size

"""Where step sizes stop being stable: closed forms, touches, islands, witnesses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import flint
import numpy as np
import pytest

from flverify._core.errors import DomainError, RefusedError
from flverify._core.sources import Source
from flverify.algorithms import FedAvg, Focus, GradientDescent, ProxSkip, Scaffold
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.certify import stability
from flverify.certify.classes import classes
from flverify.certify.quadratics import Group, Instance, QuadraticRates
from flverify.certify.stability import boundary_of, stability_boundary
from flverify.certify.stability._chebyshev import first_touches, positive
from flverify.certify.stability._exact_boundary import positive_zeros
from flverify.engines.moments import moments
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics

F = Fraction
HALF = ["1/2"]
MU, L = F(1, 10), F(1)
MIDDLE = F(1, 2)  # where an island is unless said otherwise


class OneState(NamedTuple):
    model: Server


@dataclass(frozen=True)
class Island(Algorithm):
    """x+ = p(eta h) x with 1 - p(t) = t ((t - c)^2 - e^2): p > 1 for t near c."""

    step_size: Any
    half_width: Any
    local_steps: int = 1
    centre: Any = MIDDLE

    source: ClassVar[Source] = Source("flverify", "a test")
    State: ClassVar[type] = OneState

    def __post_init__(self):
        self.check_common()

    def init(self, start, cohort, oracle):
        del cohort, oracle
        return OneState(start)

    def round(self, state, cohort, oracle):
        point = cohort.broadcast(state.model)
        steps = []
        for _ in range(3):
            steps.append(self.step_size * oracle.gradient(point))
            point = point - steps[-1]  # t (1 - t)^k x at every client
        c = self.centre
        level = (1 - c) ** 2 - self.half_width**2
        moved = level * steps[0] - 2 * (1 - c) * steps[1] + steps[2]
        mean = F(1, cohort.n_clients) * cohort.everyone(moved)
        return OneState(state.model - mean)


@dataclass(frozen=True)
class Damped(Algorithm):
    """Gradient descent with a second setting that has a dimension."""

    step_size: Any
    local_steps: int = 1

    source: ClassVar[Source] = Source("flverify", "a test")
    State: ClassVar[type] = OneState

    def __post_init__(self):
        self.check_common()

    def init(self, start, cohort, oracle):
        del cohort, oracle
        return OneState(start)

    def round(self, state, cohort, oracle):
        gradients = oracle.gradient(cohort.broadcast(state.model))
        total = cohort.everyone(gradients)
        return OneState(state.model - (self.step_size + F(1, 10)) * total)


def rate(algorithm, law, h):
    problem = Quadratics([[[float(v)]] for v in h], [[0.0]] * len(h))
    return float(moments(problem, algorithm, classes(law).law).mean_square_rate)


def in_floats(rates):
    """Where floats alone, before any rationals, see the boundary."""
    rays = stability._Rays(rates.unit(), MU / L)
    return rays.descend(*rays.first())[0]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("algorithm", "law", "boundary"),
    [
        (GradientDescent("1/8"), Full(4), F(1, 2)),  # 2/(N L)
        (Focus("1/8"), Full(5), F(2, 5)),
        (FedAvg("1/8"), UniformCohort(4, 2), F(2)),
        (ProxSkip("1/8", probability="1/5"), AllOrNothing(4, "1/5"), F(2)),
        (ProxSkip("1/8", 2, variant="notebook"), Full(2), F(2)),
        (Scaffold("1/8", 2), Full(4), F(2)),
        (Focus("1/8"), Bernoulli(HALF * 2), F(3, 5)),
    ],
    ids=lambda v: getattr(v, "spec", type(v).__name__),
)
def test_boundaries_that_are_rational(algorithm, law, boundary):
    found = stability_boundary(algorithm, law, MU, L)
    assert found.interval == (boundary, boundary)
    assert found.step_size == float(boundary)


def test_at_the_boundary_the_rate_is_one_by_the_moments_engine():
    problem = Quadratics([[[1]], [[1]]], [[0], [0]])
    at = moments(problem, Focus("3/5"), Bernoulli(HALF * 2))
    assert at.mean_square_rate == 1


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("algorithm", "law"),
    [
        (Focus("1/8"), UniformCohort(3, 1)),
        (Focus("1/8", 2), Bernoulli(["1/5"] * 3)),
        (Focus("1/8"), Bernoulli(["1/2", "1/5", "1/5"])),
        (Scaffold("1/8", 1, option="I"), UniformCohort(3, 1)),
        (Scaffold("1/8", 2, "3/2"), UniformCohort(3, 2)),
    ],
    ids=lambda v: getattr(v, "spec", type(v).__name__),
)
def test_below_the_boundary_nothing_diverges_and_above_it_the_instance_does(
    algorithm, law
):
    found = stability_boundary(algorithm, law, MU, L)
    low, high = found.interval
    assert 0 <= high - low < 1e-12 * low
    rates = QuadraticRates.of(algorithm, law)
    assert rates.at(low * F(999999, 1000000)).enclosure(found.instance)[1] < 1
    assert rates.at(high * F(1000001, 1000000)).enclosure(found.instance)[0] > 1
    random = np.random.default_rng(3)
    for fraction in (0.3, 0.7, 0.98, 0.9999):
        step = algorithm.retuned(fraction * found.step_size)
        for _ in range(8):
            h = np.where(random.random(3) < 0.5, random.uniform(0.1, 1, 3), 1.0)
            assert rate(step, law, np.where(random.random(3) < 0.3, 0.1, h)) < 1


@pytest.mark.one_in(4)
@pytest.mark.parametrize("n", [1, 3, 50])
@pytest.mark.parametrize("p", [F(1, 10), F(1, 2), F(3, 4)])
def test_the_boundary_of_focus_with_independent_clients_in_closed_form(n, p):
    # tau = 1, all clients at L; large N leaves 2 (2 - p)/(p N), where the averaged
    # round has the eigenvalue -1, and rare clients leave p
    found = stability_boundary(Focus("1/8"), Bernoulli([p] * n), MU, L)
    expected = 2 * p * (2 - p) / (p**2 * n + 4 * (1 - p))
    assert found.interval == (expected, expected)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tau", [3, 4, 8])
@pytest.mark.parametrize("law", [Full(1), Full(4), UniformCohort(4, 2)], ids=str)
def test_focus_stands_still_where_a_local_step_is_a_newton_step(tau, law):
    # the rate touches or passes 1 at eta h = 1, to order tau - 1: floats see it early
    found = stability_boundary(Focus("1/8", tau), law, MU, L)
    assert found.interval == (1, 1)
    problem = Quadratics([[[1]]], [[0]])
    assert moments(problem, Focus(1, tau), Full(1)).mean_square_rate == 1
    assert moments(problem, Focus("9/10", tau), Full(1)).mean_square_rate < 1


def test_an_island_that_a_scan_steps_over_is_found():
    algorithm, law = Island("1/8", F(1, 100000)), Full(1)
    found = stability_boundary(algorithm, law, MU, L)
    assert found.interval == (F(49999, 100000),) * 2
    rates = QuadraticRates.of(algorithm, law)
    whole = Instance((Group(0, 1, L),))
    scan = [rates.at(F(step)).rate(whole) for step in np.geomspace(0.01, 1.5, 60)]
    assert max(scan) < 1
    assert rates.at(F(1, 2)).rate(whole) > 1


def test_an_island_at_very_small_steps_is_found():
    rates = QuadraticRates.of(Island("1/8", F(1, 1000), centre=F(1, 200)), Full(1))
    assert boundary_of(rates, MU, L).interval == (F(1, 250), F(1, 250))
    assert in_floats(rates) == pytest.approx(1 / 250, rel=1e-4)


def test_a_touch_is_found_and_its_neighbourhood_contracts():
    found = stability_boundary(Island("1/8", 0), Full(1), MU, L)
    assert found.interval == (F(1, 2), F(1, 2))
    rates = QuadraticRates.of(Island("1/8", 0), Full(1))
    whole = Instance((Group(0, 1, L),))
    assert rates.at(F(49, 100)).enclosure(whole)[1] < 1
    assert rates.at(F(51, 100)).enclosure(whole)[1] < 1


def test_first_touches_are_those_of_known_functions():
    centres = np.array([0.37, 1.93, 1.2, 1.7])

    def gaps(which, s):
        island = (s - centres[which]) ** 2 - 1e-10
        touch = (s - centres[which]) ** 2
        wave = 1 + np.cos(40 * s) + 1e-3
        return np.choose(which, [island, island, touch, wave])

    found = first_touches(gaps, np.arange(4), 0.2, 2.0)
    assert found[:2] == pytest.approx(centres[:2] - 1e-5, abs=1e-7)
    assert found[2] == pytest.approx(1.2, abs=2e-6)
    assert np.isinf(found[3])


def test_a_gap_that_is_gone_already_has_its_touch_at_the_left_end():
    def gaps(which, s):
        return np.choose(which, [s - 5, 0 * s, 1 - s, 5 - s])

    found = first_touches(gaps, np.arange(4), 0.5, 4.0)
    assert found.tolist() == [0.5, 0.5, pytest.approx(1), np.inf]


def test_a_tail_as_large_as_the_rest_may_hide_a_zero():
    # what is left out is taken to be as large as the last two coefficients
    clear, last, last_but_one = np.eye(13)[[0, 12, 11]]
    for tail in (last, last_but_one):
        assert positive(
            np.array([clear + 0.4 * tail, clear - 0.6 * tail])
        ).tolist() == [
            True,
            False,
        ]


def test_zeros_beside_a_rational_one_are_enclosed_apart_from_it():
    # (x - 1)((x - 1)^2 - 2 e^2), with zeros at 1 and at 1 -+ e sqrt 2
    e = flint.fmpq(1, 10**13)
    shifted = flint.fmpq_poly([-1, 1])
    below, at, above = positive_zeros(shifted * (shifted**2 - 2 * e**2))
    assert at == (1, 1)
    for low, high in (below, above):
        ends = sorted((low - 1) ** 2 for low in (low, high))
        assert ends[0] <= F(2, 10**26) <= ends[1] < F(3, 10**26)
    assert below[1] < 1 < above[0]


def test_a_zero_is_called_rational_only_if_it_is():
    square = 1 + F(1, 10**70)
    ((low, high),) = positive_zeros(
        flint.fmpq_poly([flint.fmpq(-square.numerator, square.denominator), 0, 1])
    )
    assert low < high
    assert low**2 <= square <= high**2


def test_the_float_boundary_is_the_isolated_one_where_it_is_not_flat():
    rates = QuadraticRates.of(Focus("1/8", 2), UniformCohort(100, 1))
    exact = boundary_of(rates, MU, L)
    assert in_floats(rates) == pytest.approx(exact.step_size, rel=1e-7)


@pytest.mark.slow
def test_a_boundary_inside_the_class_is_found_below_the_corners():
    # the rare clients' curvature lies strictly between mu and L
    law = Bernoulli(["3/4", "3/4", "1/4", "1/4"])
    found = stability_boundary(Focus("1/8", 3), law, MU, L)
    rare = next(g for g in found.instance.groups if g.law_class == 1)
    assert MU < rare.curvature < L
    h = found.instance.curvatures
    assert rate(Focus(1.001 * found.step_size, 3), law, h) > 1
    assert rate(Focus(0.999 * found.step_size, 3), law, h) < 1
    corner = Instance((Group(0, 2, L), Group(1, 2, L)))
    step = found.interval[1] * F(1001, 1000)
    rates = QuadraticRates.of(Focus("1/8", 3), law)
    assert rates.at(step).enclosure(corner)[1] < 1


def test_many_clients_and_local_steps():
    found = stability_boundary(Focus("1/8", 8), Bernoulli(HALF * 1000), MU, L)
    assert str(found.instance) == "1000 x 1"
    assert found.step_size == pytest.approx(0.006311976, rel=1e-6)


def test_billions_of_clients_have_a_boundary_too():
    found = stability_boundary(GradientDescent(1), Full(8 * 10**9), MU, L)
    assert found.interval == (F(1, 4 * 10**9), F(1, 4 * 10**9))  # 2/(N L)


def test_the_boundary_scales_with_the_curvature():
    law = UniformCohort(3, 1)
    one = stability_boundary(Focus("1/8"), law, MU, L)
    eight = stability_boundary(Focus("1/8"), law, 8 * MU, 8 * L)
    assert eight.step_size == pytest.approx(one.step_size / 8)
    assert eight.interval == tuple(end / 8 for end in one.interval)
    assert {g.curvature for g in eight.instance.groups} == {8 * MU, 8 * L}


RARE = [
    (Focus(1), ["1e-5"] * 2, F(1, 10**5)),
    (Focus(1), ["1e-7"] * 2, F(1, 10**7)),
    (Focus(1), ["1e-8", "1/2"], F(10, 9 * 10**8)),
    (Scaffold(1, 2), ["1e-8", "1/2"], F(20, 9 * 10**8)),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("algorithm", "chances", "about"), RARE, ids=str)
def test_crossings_of_rare_clients_are_those_of_rationals(algorithm, chances, about):
    law = Bernoulli(chances)
    found = stability_boundary(algorithm, law, MU, L)
    assert abs(found.step_size / float(about) - 1) < 1e-3
    low, high = found.interval
    rates = QuadraticRates.of(algorithm, law)
    assert rates.at(low * F(99, 100)).enclosure(found.instance)[1] < 1
    assert rates.at(high * F(101, 100)).enclosure(found.instance)[0] > 1


@pytest.mark.slow
def test_a_crossing_that_floats_alone_see_would_be_noticed(monkeypatch):
    monkeypatch.setattr(stability._Rays, "_stands", lambda *_: True)
    law = Bernoulli(["1e-7"] * 2)
    found = stability_boundary(Focus(1), law, MU, L)
    assert found.interval is None
    # far from 1e-6 of it, on every processor's rounding
    above = QuadraticRates.of(Focus(1), law).at(F(found.step_size) * F(3, 2))
    assert above.enclosure(found.instance)[1] < 1


def test_where_floats_see_a_crossing_and_rationals_none_is_refused(monkeypatch):
    monkeypatch.setattr(stability, "first_crossing", lambda *_: None)
    monkeypatch.setattr(stability._Rays, "_stands", lambda *_: False)
    with pytest.raises(RefusedError, match="far enough from 1 for floats"):
        stability_boundary(Focus(1), Bernoulli(HALF * 2), MU, L)


def test_what_has_no_boundary_is_refused():
    with pytest.raises(RefusedError, match="only setting with a dimension"):
        stability_boundary(Damped("1/8"), Full(2), MU, L)
    notebook = ProxSkip("1/50", 2, variant="notebook")
    with pytest.raises(RefusedError, match="small step sizes must contract"):
        stability_boundary(notebook, Bernoulli(HALF * 3), MU, L)
    with pytest.raises(DomainError, match="at most"):
        stability_boundary(Focus("1/8"), Full(2), 1, MU)


def test_a_zero_next_to_a_short_rational_is_not_taken_for_it():
    zero = Fraction(1, 3) + Fraction(1, 10**200)
    polynomial = flint.fmpq_poly([flint.fmpq(-zero.numerator, zero.denominator), 1])
    ((low, high),) = positive_zeros(polynomial)
    assert low <= zero <= high

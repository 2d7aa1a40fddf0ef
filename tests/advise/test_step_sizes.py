"""Step sizes, rounds and vectors against plain loops over outcomes and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from flverify._core.errors import DomainError, RefusedError
from flverify.advise import step_sizes as searching
from flverify.advise.budget import budget, require_start, stationary, vectors_per_round
from flverify.advise.setting import Remembered, Tried, rate, short
from flverify.advise.step_sizes import _proved, step_sizes
from flverify.advise.table import Place, advise
from flverify.algorithms import FedAU, FedAvg, Focus, GradientDescent, Scaffold
from flverify.participation import (
    Bernoulli,
    ExplicitLaw,
    Full,
    ModeChain,
    UniformCohort,
)
from flverify.problems import Quadratics
from flverify.problems.ridge import synthetic_ridge
from flverify.reference import focus as focus_loop


def scalars(curvatures, centres):
    hessians = [[[h]] for h in curvatures]
    pairs = zip(curvatures, centres, strict=True)
    return Quadratics(hessians, [[h * c] for h, c in pairs])


def both(problem, algorithm, law):
    """The setting in rationals and in floats."""
    floats = Tried(problem.as_float(), algorithm, Remembered(law))
    return Tried(problem, algorithm, Remembered(law)), floats


def outcomes(chances):
    for mask in product((False, True), repeat=len(chances)):
        pairs = zip(mask, chances, strict=True)
        yield mask, math.prod(p if there else 1 - p for there, p in pairs)


def fedavg_square(step, tau, curvatures, chances):
    """E of the squared factor of FedAvg, outcome by outcome."""
    total = 0
    for mask, chance in outcomes(chances):
        there = [h for h, m in zip(curvatures, mask, strict=True) if m]
        factors = [(1 - step * h) ** tau for h in there]
        total += chance * ((sum(factors) / len(there)) ** 2 if there else 1)
    return total


def test_floats_that_rationals_contradict_are_refused():
    one = Tried(scalars([1], [2]), GradientDescent(1), Full(1))
    for step, stable in ((Fraction(3, 2), True), (Fraction(5, 2), False)):
        assert _proved(one, step, stable=stable) == step
        with pytest.raises(RefusedError, match="must agree about stability"):
            _proved(one, step, stable=not stable)


def test_gradient_descent_has_the_textbook_step_sizes():
    # curvatures 1 and 9 of the mean, in two directions: 2/(9 + 1) of the mean
    hessians = [[[1, 0], [0, 6]], [[1, 0], [0, 12]]]
    problem = Quadratics(hessians, [[1, 0], [0, 1]])
    found = step_sizes(*both(problem, GradientDescent(1), Full(2)), 12.0)
    assert found.stable == (Fraction(1, 9), Fraction(1, 9))
    assert float(found.fastest) == pytest.approx(1 / 10, rel=1e-3)
    assert float(found.fastest_rate) == pytest.approx((8 / 10) ** 2, rel=2e-3)
    # the rate is exact at the step size that is named
    slow = max(abs(1 - 2 * found.fastest * h) for h in (1, 9))
    assert found.fastest_rate == slow**2


@pytest.mark.parametrize("tau", [1, 2, 3])
def test_fedavg_by_its_outcomes(tau):
    curvatures, chances = (1, 4), (Fraction(1, 5), Fraction(3, 4))
    problem, law = scalars(curvatures, (1, 2)), Bernoulli(chances)
    found = step_sizes(*both(problem, FedAvg(1, tau), law), 4.0)
    at = fedavg_square(found.fastest, tau, curvatures, chances)
    # exact, or the upper end of an enclosure in 15 digits
    assert at <= found.fastest_rate <= at * (1 + Fraction(1, 10**14))
    grid = np.linspace(1e-3, float(found.stable[0]), 4001).tolist()
    floats = [float(p) for p in chances]
    best = min(fedavg_square(s, tau, curvatures, floats) for s in grid)
    assert float(at) <= best * (1 + 1e-5)
    low, high = found.stable
    assert fedavg_square(low, tau, curvatures, chances) <= 1
    assert fedavg_square(high, tau, curvatures, chances) >= 1
    assert high - low <= 3e-6 * low
    assert all(fedavg_square(s, tau, curvatures, floats) < 1 for s in grid[:-2])


def focus_matrix(step, tau, curvatures, mask):
    """One round of the plain loop on (x, g_1, ..., g_N), where y is the sum of g."""
    n = len(curvatures)
    columns = []
    for unit in np.eye(1 + n).tolist():
        state = {
            "model": [unit[0]],
            "tracker": [sum(unit[1:])],
            "stored": [[g] for g in unit[1:]],
        }
        after = focus_loop.play(
            state,
            lambda i, x: [curvatures[i] * x[0]],
            n,
            [i for i in range(n) if mask[i]],
            step_size=step,
            local_steps=tau,
        )
        columns.append([after["model"][0], *(g[0] for g in after["stored"])])
    return np.array(columns).T


def focus_square(step, tau, curvatures, chances):
    total = sum(
        chance * np.kron(m, m)
        for mask, chance in outcomes(chances)
        for m in [focus_matrix(step, tau, curvatures, mask)]
    )
    return float(np.abs(np.linalg.eigvals(total)).max())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("tau", [1, 2])
def test_focus_by_the_plain_loop_also_where_the_rate_dips_twice(tau):
    curvatures, chances = (1.0, 2.0, 3.0), (1 / 2, 1 / 3, 1 / 7)
    problem = scalars((1, 2, 3), (0, 1, 2))
    law = Bernoulli(["1/2", "1/3", "1/7"])
    found = step_sizes(*both(problem, Focus(1, tau), law), 3.0)
    at = focus_square(float(found.fastest), tau, curvatures, chances)
    assert float(found.fastest_rate) == pytest.approx(at, rel=1e-9)
    grid = np.geomspace(1e-3, float(found.stable[0]), 150).tolist()
    seen = [focus_square(s, tau, curvatures, chances) for s in grid]
    assert at <= min(seen) * (1 + 1e-6)
    assert max(seen[:-1]) < 1
    beyond = float(found.stable[1]) * 1.01
    assert focus_square(beyond, tau, curvatures, chances) > 1
    dips = [b < min(a, c) for (a, b), (_, c) in pairwise(pairwise(seen))]
    assert sum(dips) == tau  # two local steps: two dips


@pytest.mark.slow
def test_a_ladder_that_stops_at_the_first_dip_would_be_noticed(monkeypatch):
    """Without the small step sizes the search settles for the dip at the large ones."""
    problem, law = scalars((1, 2, 3), (0, 1, 2)), Bernoulli(["1/2", "1/3", "1/7"])
    setting = both(problem, Focus(1, 2), law)
    good = step_sizes(*setting, 3.0)
    monkeypatch.setattr("flverify.advise.step_sizes.BELOW", 0)
    bad = step_sizes(*setting, 3.0)
    assert bad.fastest_rate > good.fastest_rate + Fraction(1, 200)


@pytest.mark.parametrize("tau", [4, 8])
def test_a_rate_that_crosses_1_flatly_has_its_boundary_too(tau):
    # around 1/L the rate is 1 to a high power of 1 - eta L
    problem, law = scalars((1, 3), (0, 1)), UniformCohort(2, 1)
    found = step_sizes(*both(problem, Focus(1, tau), law), 3.0)
    low, high = found.stable
    assert 0.9 * high < low < Fraction(1, 3) < high
    setting = Tried(problem, Focus(1, tau), law)
    assert rate(setting, low) < 1 <= rate(setting, high)
    assert found.fastest < low
    assert found.fastest_rate == rate(setting, found.fastest) < Fraction(99, 100)


def test_a_step_size_that_is_better_is_taken(monkeypatch):
    problem, law = scalars((1, 2, 3), (0, 1, 2)), Bernoulli(["1/2", "1/3", "1/7"])
    setting = both(problem, Focus(1, 2), law)
    monkeypatch.setattr("flverify.advise.step_sizes.BELOW", 0)
    found = step_sizes(*setting, 3.0, also=0.0107)
    assert float(found.fastest) == pytest.approx(0.0107, rel=0.02)


@pytest.mark.slow
def test_scales_of_the_problem_scale_step_sizes_and_no_rate():
    law = Bernoulli(["1/2", "1/3"])
    one = step_sizes(*both(scalars((1, 3), (0, 1)), Focus(1, 2), law), 3.0)
    scaled = scalars((1000, 3000), (0, 1))
    other = step_sizes(*both(scaled, Focus(1, 2), law), 3000.0)
    assert other.fastest == one.fastest / 1000
    assert other.fastest_rate == one.fastest_rate
    # both ends are the simplest rationals of their intervals: they need not scale
    for a, b in zip(one.stable, other.stable, strict=True):
        assert float(b) * 1000 == pytest.approx(float(a), rel=5e-6)


@pytest.mark.slow
def test_floats_agree_with_rationals():
    law = Bernoulli(["1/2", "1/3"])
    problem = Quadratics([[[2, 1], [1, 3]], [[1, 0], [0, 2]]], [[1, 0], [0, 2]])
    exact, floats = both(problem, Scaffold(1, 2), law)
    one, other = step_sizes(exact, floats, 4.0), step_sizes(floats, floats, 4.0)
    assert (one.exact, other.exact) == (True, False)
    assert one.fastest == other.fastest
    assert float(one.fastest_rate) == pytest.approx(other.fastest_rate, rel=1e-9)
    assert float(one.stable[1]) == pytest.approx(other.stable[1], rel=3e-6)


@pytest.mark.slow
def test_laws_with_memory_and_larger_floats():
    chain = ModeChain(
        [[0.8, 0.2], [0.3, 0.7]], [Bernoulli([0.9, 0.8]), Bernoulli([0.1, 0.3])]
    )
    problem = scalars((1, 2), (0, 1)).as_float()
    found = step_sizes(*[Tried(problem, Focus(1), Remembered(chain))] * 2, 2.0)
    at = rate(Tried(problem, Focus(1), chain), float(found.fastest))
    assert found.fastest_rate == pytest.approx(at, rel=1e-12)
    ridge = synthetic_ridge(n_clients=4, dim=3, samples=10, seed=0, regularisation=1)
    setting = Tried(ridge, FedAvg(1), Full(4))
    scale = float(max(ridge.client_smoothness()))
    found = step_sizes(setting, setting, scale)
    values = np.linalg.eigvalsh(ridge.mean_hessian)
    # everybody is there: gradient descent on the mean
    assert found.stable[1] == pytest.approx(2 / values[-1], rel=2e-6)
    best = 2 / (values[0] + values[-1])
    assert float(found.fastest) == pytest.approx(best, rel=2e-3)


def test_remembered_tables_are_those_of_the_law():
    outcomes = {(): 0.125, (0,): 0.25, (1, 2): 0.25, (0, 1, 2): 0.375}
    chain = ModeChain([[0.5, 0.5], [0.5, 0.5]], [Full(2), Bernoulli([0.1, 0.3])])
    laws = [ExplicitLaw(outcomes, 3), Bernoulli([0.1, 0.7]), UniformCohort(4, 2)]
    for law in (*laws, *chain.modes().laws):
        kept = Remembered(law)
        for name in ("inclusion", "averaging_weights"):
            assert getattr(kept, name)().tolist() == getattr(law, name)().tolist()
        for name in ("joint_inclusion", "cross", "joint_averaging"):
            table = getattr(kept, name)().astype(float)
            assert table == pytest.approx(getattr(law, name)().astype(float))
    assert [type(law) for law in Remembered(chain).modes().laws] == [Remembered] * 2


def test_refusals_say_why():
    problem, law = scalars((1, 2), (0, 1)), Full(2)
    with pytest.raises(RefusedError, match="can only be simulated"):
        step_sizes(*both(problem, FedAU(1), law), 2.0)
    ridge = synthetic_ridge(n_clients=20, dim=40, samples=5, seed=0, regularisation=1)
    large = Tried(ridge, Focus(1), Full(20))
    with pytest.raises(RefusedError, match="a state of at most 640 numbers; got 880"):
        step_sizes(large, large, 1.0)
    with pytest.raises(RefusedError, match="or at most 29 dimensions with these"):
        step_sizes(large, large, 1.0)
    many = Tried(scalars([1.0] * 800, [0.0] * 800), Focus(1), Bernoulli([0.5] * 800))
    with pytest.raises(RefusedError, match="got 802; take fewer clients, or ask"):
        step_sizes(many, many, 1.0)
    flat = Quadratics([[[1, 0], [0, 0]]], [[1, 0]])
    with pytest.raises(RefusedError, match="some step size must contract"):
        step_sizes(*both(flat, FedAvg(1), Full(1)), 1.0)


def test_short_rounds_to_significant_digits():
    assert short(0.00012344, 3) == Fraction(123, 10**6)
    assert short(98765.0, 2) == 99000


def test_halving_counts_ten_rounds_and_as_many_exchanges():
    problem = Quadratics([[[1]], [[3]]], [[0], [1]])
    exact, floats = both(problem, GradientDescent(1), Full(2))
    found = budget(exact, floats, Fraction(1, 8), 1e-6)  # x - x* is halved every round
    assert found.rounds == math.ceil(math.log(1e-6) / math.log(1 / 4)) == 10
    assert found.vectors == 10 * 2 * 2
    assert found.stationary == 0


def fedavg_errors(step, tau, curvatures, centres, chances, rounds):
    """E(x_r - x*)^2/(x_0 - x*)^2 by the moments of x, outcome by outcome."""
    minimiser = np.dot(curvatures, centres) / sum(curvatures)
    first, second, out = 0.0, 0.0, [1.0]
    for _ in range(rounds):
        mean = square = 0.0
        for mask, chance in outcomes(chances):
            there = [i for i, m in enumerate(mask) if m]
            keep = [(1 - step * curvatures[i]) ** tau for i in there]
            a = sum(keep) / len(there) if there else 1.0
            pulls = [(1 - k) * centres[i] for k, i in zip(keep, there, strict=True)]
            b = sum(pulls) / len(there) if there else 0.0
            mean += chance * (a * first + b)
            square += chance * (a * a * second + 2 * a * b * first + b * b)
        first, second = mean, square
        out.append((second - 2 * minimiser * first + minimiser**2) / minimiser**2)
    return out


def test_rounds_of_fedavg_by_its_outcomes_and_never_below_its_bias():
    curvatures, centres, chances = (1.0, 2.0), (1.0, 2.0), (0.4, 0.7)
    problem, law = scalars((1, 2), (1, 2)), Bernoulli(["2/5", "7/10"])
    exact, floats = both(problem, FedAvg(1, 2), law)
    step = Fraction(1, 20)
    errors = fedavg_errors(0.05, 2, curvatures, centres, chances, 2000)
    reached = next(r for r, e in enumerate(errors) if e <= 0.05)
    found = budget(exact, floats, step, 0.05)
    assert found.rounds == reached
    assert float(found.stationary) == pytest.approx(errors[-1], rel=1e-9)
    assert found.vectors == pytest.approx(reached * 2 * 1.1)
    low = budget(exact, floats, step, 1e-4)
    assert (low.rounds, low.vectors) == (None, None)
    assert low.reason == "its stationary error is larger"
    assert stationary(exact, step) == found.stationary


def test_an_early_dip_below_the_target_does_not_count():
    # every round multiplies by -0.756 about a point next to x*: an error that zigzags
    problem, law = scalars((18, 20), (0, 1)), Full(2)
    errors = fedavg_errors(0.1, 3, (18.0, 20.0), (0.0, 1.0), (1.0, 1.0), 200)
    early = next(r for r, e in enumerate(errors) if e <= 0.1)
    last = max(r for r, e in enumerate(errors) if e > 0.1) + 1
    found = budget(*both(problem, FedAvg(1, 3), law), Fraction(1, 10), 0.1)
    assert early < last == found.rounds


def test_a_target_counts_once_it_held_for_as_many_rounds_again(monkeypatch):
    # below the target in rounds 40 to 99 and from 120 on; the first look ends at 64
    def curve(tried, step_size, rounds):
        r = np.arange(rounds + 1)
        return np.where((r < 40) | ((r >= 100) & (r < 120)), 1.0, 0.01)

    monkeypatch.setattr("flverify.advise.budget.curve", curve)
    exact, floats = both(scalars((1, 2), (0, 1)), GradientDescent(1), Full(2))
    assert budget(exact, floats, Fraction(1, 10), 0.1).rounds == 120


def test_rounds_that_leave_the_range_of_floats_are_not_counted():
    far = scalars((1, 2), (0, 10**200))
    with pytest.raises(RefusedError, match="must lie within the range of floats"):
        budget(*both(far, Focus(1), Full(2)), Fraction(1, 10), 1e-6)


def test_a_method_that_only_passes_by_never_gets_there():
    # x_r rises from 0 past x* = 1 to a fixed point beyond it
    centres = (Fraction(28, 10), Fraction(8, 10))
    problem, law = scalars((1, 9), centres), Full(2)
    errors = fedavg_errors(0.1, 9, (1.0, 9.0), (2.8, 0.8), (1.0, 1.0), 400)
    assert min(errors) < 0.1 < errors[-1]
    found = budget(*both(problem, FedAvg(1, 9), law), Fraction(1, 10), 0.1)
    assert found.rounds is None
    assert float(found.stationary) == pytest.approx(errors[-1])


class Counting:
    """A cohort that counts what passes between the server and one participant."""

    def __init__(self, n_clients):
        self.n_clients, self.down, self.up = n_clients, 0, 0

    def pull(self, vector):
        self.down += 1
        return vector

    def broadcast(self, vector):
        return vector

    def select(self, new, old):
        del old
        return new

    def sum(self, stack):
        self.up += 1
        return stack

    def mean(self, stack, otherwise):
        del otherwise
        self.up += 1
        return stack


class Flat:
    def gradient(self, points):
        return 0.5 * points


@pytest.mark.parametrize("algorithm", [Focus(1, 3), FedAvg(1, 2), Scaffold(1, 2)])
def test_vectors_are_those_that_the_round_exchanges(algorithm):
    cohort = Counting(4)
    state = algorithm.init(1.0, cohort, Flat())
    cohort.down = cohort.up = 0
    algorithm.round(state, cohort, Flat())
    for law, size in (
        (Full(4), 4),
        (Bernoulli(["1/2"] * 4), 2),
        (UniformCohort(4, 1), 1),
    ):
        expected = (cohort.down + cohort.up) * size
        assert vectors_per_round(algorithm, law) == expected


def test_a_problem_that_starts_at_its_minimiser_is_refused():
    require_start(scalars((1, 2), (0, 1)))
    with pytest.raises(DomainError, match="shift the problem, with --curvatures"):
        require_start(scalars((1, 1), (-1, 1)))


@pytest.mark.parametrize("times", [1e-200, 1e-7, 1e10, 1e200])
def test_sizes_that_are_not_for_floats_are_refused(times):
    for hessians, linear, named in ((1, times, "minimiser"), (times, times, "smooth")):
        problem = Quadratics([[[hessians]]], [[linear]])
        with pytest.raises(DomainError, match=f"{named}.* must be between 1e-06 and"):
            require_start(problem)
    require_start(Quadratics([[[1e6]]], [[1e6]]))


def test_too_many_rounds_are_not_counted(monkeypatch):
    monkeypatch.setattr("flverify.advise.budget.MOST_ROUNDS", 1000)
    problem, law = scalars((1, 2), (0, 1)), Full(2)
    exact, floats = both(problem, GradientDescent(1), law)
    found = budget(exact, floats, Fraction(1, 10**6), 1e-6)
    assert found.rounds is None
    # the sum of the curvatures is 3
    asked = math.log(1e-6) / (2 * math.log(1 - 3e-6))
    assert found.reason == (
        f"not within 1000 rounds; the rate alone asks for about {asked:.2g}"
    )


@pytest.mark.parametrize(
    ("n_clients", "local_steps", "said"),
    [(1001, 1, "1000 clients; got 1001"), (1, 101, "100 local steps; got 101")],
)
def test_searches_of_hours_are_refused_before_the_round_is_read(
    monkeypatch, n_clients, local_steps, said
):
    monkeypatch.setattr(Tried, "at", None)
    problem = scalars([1] * n_clients, [1] * n_clients)
    asked = both(problem, FedAvg("1/8", local_steps), Full(n_clients))
    with pytest.raises(RefusedError, match=said):
        step_sizes(*asked, 1.0)


def test_what_rationals_refuse_is_refused_before_the_search(monkeypatch):
    n = 70
    problem = scalars(range(1, n + 1), range(n))
    law = Bernoulli([Fraction(1, 2)] * n)
    monkeypatch.setattr(searching, "rate", None)  # never called
    with pytest.raises(RefusedError, match="too large for exact arithmetic"):
        step_sizes(*both(problem, Focus(1), law), 70.0)


def test_where_there_is_no_step_size_none_is_sought_for_the_raised_law(monkeypatch):
    n = 70
    problem, law = scalars(range(1, n + 1), range(n)), Bernoulli([Fraction(1, 2)] * n)
    raised = Bernoulli([0.5] * n)
    place = Place(problem, problem.as_float(), law, raised, raised, None, "not asked")
    begun = []
    found = advise(Focus(1), Focus(1), place, 1e-6, begin=begun.append)
    assert found.steps is None
    assert found.raised is None
    assert begun == ["step sizes"]

"""Simulation by hand-computed numbers, planted hazards and bad input.

The agreement with the plain loops is in tests/contracts/test_readings.py.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pytest
import sympy

import flverify
from flverify._core.errors import (
    DomainError,
    InputError,
    MissingExtraError,
    ReadingError,
    Refusal,
    ShapeError,
)
from flverify._core.scaling import per_client
from flverify.algorithms import FedAU, FedAvg, Focus, GradientDescent, Scaffold
from flverify.algorithms._algorithm import Algorithm, Clients, Numbers, Server
from flverify.engines.simulate import (
    _basis,
    _blocks,
    _literal,
    _room,
    _setting,
    _stacks,
    simulate,
)
from flverify.engines.simulate._literal import Literal
from flverify.engines.simulate._step_polynomial import StepPolynomial
from flverify.engines.trace import trace
from flverify.engines.trajectories import Trajectories
from flverify.participation import Bernoulli, ExplicitLaw, Full, UniformCohort
from flverify.problems import Quadratics
from flverify.problems._problem import Problem
from flverify.reference import focus

METHODS = ("literal", "affine", "compiled")
WITH_KERNELS = pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")


def line():
    """f_1 = x^2/2 - x, f_2 = 3x^2/2 - x, minimiser of the mean 1/2."""
    return Quadratics([[[1]], [[3]]], [[1], [1]])


def pairs(n_clients=4, dim=5, seed=3):
    draw = np.random.default_rng(seed)
    factors = draw.standard_normal((n_clients, dim + 2, dim))
    hessians = np.einsum("nki,nkj->nij", factors, factors) / 4
    return Quadratics(hessians, draw.standard_normal((n_clients, dim)))


# --- numbers by hand


@pytest.mark.parametrize("method", METHODS)
def test_gradient_descent_on_the_line(method):
    # x+ = x - (4x - 2)/8 = x/2 + 1/4: 0, 1/4, 3/8, 7/16
    got = simulate(
        line(),
        GradientDescent(step_size="1/8"),
        Full(2),
        rounds=3,
        runs=2,
        seed=0,
        method=method,
        keep_models=True,
    )
    assert got.models[..., 0].tolist() == [[0, 0.25, 0.375, 0.4375]] * 2
    assert got.errors.tolist() == [[0.25, 0.0625, 0.015625, 0.00390625]] * 2
    assert got.final_models.tolist() == [[0.4375], [0.4375]]
    assert (got.method, got.seed, got.step_sizes) == (method, 0, None)


@pytest.mark.parametrize("method", METHODS)
def test_gradient_descent_around_zero(method):
    # x+ = x - 4x/8 = x/2, with nothing to add
    around = Quadratics(line().hessians, [[0], [0]])
    got = simulate(
        around,
        GradientDescent(step_size="1/8"),
        Full(2),
        rounds=2,
        runs=1,
        seed=0,
        start=[4],
        method=method,
    )
    assert got.errors.tolist() == [[16, 4, 1]]


@pytest.mark.parametrize("method", METHODS)
def test_fedavg_with_one_certain_participant(method):
    # only client 2: x <- x - (3x - 1)/4 twice a round: 0 -> 1/4 -> 5/16
    law = ExplicitLaw({(1,): 1}, 2)
    fedavg = FedAvg(step_size="1/4", local_steps=2)
    got = simulate(line(), fedavg, law, rounds=1, runs=1, seed=0, method=method)
    assert got.final_models.tolist() == [[0.3125]]


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_round_keeps_the_model(method):
    law = ExplicitLaw({(): 1}, 2)
    fedavg = FedAvg(step_size="1/4")
    got = simulate(
        line(), fedavg, law, rounds=2, runs=1, seed=0, start=[2], method=method
    )
    assert got.errors.tolist() == [[2.25] * 3]


def test_fedau_waits_by_hand():
    # client 1 alone in every round: weight 1, x <- x - (x - 1)/8: 0, 1/8, 15/64
    law = ExplicitLaw({(0,): 1}, 2)
    got = simulate(
        line(),
        FedAU(step_size="1/4"),
        law,
        rounds=2,
        runs=1,
        seed=0,
        keep_models=True,
    )
    assert got.models[0, :, 0].tolist() == [0, 0.125, 0.234375]


def test_the_package_exports_it():
    assert flverify.simulate is simulate


# --- sweeps, schedules, shapes


def test_a_sweep_has_a_leading_axis_and_common_draws():
    law, steps = Bernoulli([0.5] * 4), [0.1, 0.01, 0.1]
    got = simulate(
        pairs(),
        Focus(step_size=1, local_steps=2),
        law,
        rounds=6,
        runs=5,
        seed=2,
        step_sizes=steps,
        keep_models=True,
    )
    assert got.errors.shape == (3, 5, 7)
    assert got.models.shape == (3, 5, 7, 5)
    assert got.final_models.shape == (3, 5, 5)
    assert got.step_sizes.tolist() == steps
    assert got.errors[0].tolist() == got.errors[2].tolist()
    assert (got.errors[0, :, -1] != got.errors[1, :, -1]).all()


def test_a_constant_schedule_is_a_fixed_step_size():
    law, algorithm = UniformCohort(4, 2), Scaffold(step_size="1/8", local_steps=2)
    fixed = simulate(pairs(), algorithm, law, rounds=5, runs=3, seed=1)
    other = Scaffold(step_size=7, local_steps=2)
    got = simulate(pairs(), other, law, rounds=5, runs=3, seed=1, schedule=["1/8"] * 5)
    assert got.errors == pytest.approx(fixed.errors, rel=1e-12)
    assert got.schedule.tolist() == [0.125] * 5


def test_two_steps_of_a_schedule_by_hand():
    # steps 1/8 then 1/4: 0 -> 1/4 -> 1/4 - (1 - 2)/4 = 1/2
    descent = GradientDescent(step_size=1)
    got = simulate(
        line(), descent, Full(2), rounds=2, runs=1, seed=0, schedule=["1/8", "1/4"]
    )
    assert got.errors.tolist() == [[0.25, 0.0625, 0.0]]


def test_errors_are_squared_distances_of_the_models():
    problem = pairs()
    got = simulate(
        problem,
        FedAvg(step_size=0.1),
        Bernoulli([0.5] * 4),
        rounds=4,
        runs=3,
        seed=1,
        keep_models=True,
    )
    apart = ((got.models - problem.minimiser()) ** 2).sum(axis=-1)
    assert got.errors == pytest.approx(apart, rel=1e-12)
    assert got.final_models.tolist() == got.models[:, -1].tolist()


def test_models_are_not_kept_unless_asked_for():
    law = Full(2)
    got = simulate(line(), FedAvg(step_size="1/8"), law, rounds=1, runs=1, seed=0)
    assert got.models is None


@pytest.mark.parametrize("algorithm", [FedAvg(0.08, 3), Focus(0.08, 2), FedAU(0.08)])
def test_rescaling_the_objectives_rescales_the_step_size(algorithm):
    law, problem = Bernoulli([0.5] * 4), pairs()
    settings = {"rounds": 6, "runs": 3, "seed": 2}
    got = simulate(problem, algorithm, law, **settings)
    scaled = algorithm.retuned(0.08 / 8)
    again = simulate(problem.scaled(8), scaled, law, **settings)
    assert again.errors == pytest.approx(got.errors, rel=1e-12)


# --- the same seed gives the same bits


@pytest.mark.parametrize("algorithm", [FedAvg(0.05, 3), Focus(0.05, 3), FedAU(0.05)])
def test_bits_do_not_depend_on_threads_or_chunks(monkeypatch, algorithm):
    law, problem = Bernoulli([0.3, 0.5, 0.7, 0.2]), pairs()
    monkeypatch.setattr(_blocks, "rows_per_block", lambda *_: 64)

    def errors(threads=1):
        return simulate(
            problem, algorithm, law, rounds=130, runs=200, seed=9, threads=threads
        ).errors

    one = errors()
    assert errors(threads=2).tobytes() == one.tobytes()
    monkeypatch.setattr(_blocks, "MASK_BYTES", 1)  # 64 rounds of masks at a time
    assert errors(threads=2).tobytes() == one.tobytes()
    assert errors().tobytes() == one.tobytes()


def test_another_seed_gives_other_runs():
    law, algorithm = Bernoulli([0.5] * 4), FedAvg(step_size=0.1)
    first, second = (
        simulate(pairs(), algorithm, law, rounds=5, runs=4, seed=s) for s in (1, 2)
    )
    assert (first.errors[:, -1] != second.errors[:, -1]).any()


@pytest.mark.parametrize("method", METHODS)
def test_run_k_does_not_depend_on_the_number_of_runs(monkeypatch, method):
    law, algorithm = Bernoulli([0.5] * 4), FedAvg(step_size=0.1, local_steps=2)
    monkeypatch.setattr(_blocks, "rows_per_block", lambda *_: 64)
    many, few = (
        simulate(pairs(), algorithm, law, rounds=9, runs=n, seed=1, method=method)
        for n in (150, 70)
    )
    assert few.errors == pytest.approx(many.errors[:70], rel=1e-12)


# --- the kernels of the extra `fast`


@WITH_KERNELS
@pytest.mark.parametrize(
    "algorithm",
    [FedAvg(0.05, 3), GradientDescent(0.02), Focus(0.05, 3), Scaffold(0.05, 2)],
)
@pytest.mark.parametrize("method", ["affine", "compiled"])
def test_kernels_compute_what_numpy_does(algorithm, method):
    law, problem = Bernoulli([0.3, 0.5, 0.7, 0.2]), pairs()

    def errors(fast, **settings):
        settings = {"rounds": 8, "runs": 5, "seed": 4, "method": method} | settings
        got = simulate(problem, algorithm, law, fast=fast, **settings)
        return got if isinstance(got, Refusal) else got.errors

    steps, schedule = [0.05, 0.02, 0.01], [0.05 / (1 + r) for r in range(8)]
    for settings in ({}, {"step_sizes": steps}, {"schedule": schedule}):
        numpy, numba = errors(False, **settings), errors(True, **settings)
        if isinstance(numpy, Refusal):
            assert numba == numpy
        else:
            assert numba == pytest.approx(numpy, rel=1e-11)


@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=WITH_KERNELS)])
@pytest.mark.parametrize("algorithm", [FedAvg(0.05, 3), Focus(0.05, 3)])
@pytest.mark.parametrize("method", METHODS)
def test_products_may_be_done_in_parts(monkeypatch, algorithm, method, fast):
    law, problem = Bernoulli([0.3, 0.5, 1.0, 0.2]), pairs()

    def errors():
        settings = {"rounds": 8, "runs": 9, "seed": 4, "method": method, "fast": fast}
        got = simulate(problem, algorithm, law, **settings)
        return got if isinstance(got, Refusal) else got.errors

    whole = errors()
    monkeypatch.setattr(_basis, "WORK", 0)
    monkeypatch.setattr(_basis, "MOST", 2)  # nine rows of client 2 are five parts
    assert _basis.rows_per_product(5) == 2
    parts = errors()
    if isinstance(whole, Refusal):
        assert parts == whole
    else:
        assert parts == pytest.approx(whole, rel=1e-11)


@pytest.mark.parametrize("n_rows", [1, 7, 8, 40])
def test_leaving_the_basis_undoes_entering_it(n_rows):
    problem = pairs()
    basis = _basis.Basis.of(problem.hessians, problem.linear)
    rows = np.random.default_rng(1).standard_normal((n_rows, 5))
    turned, back = np.empty((2, n_rows, 5))
    _basis.multiply(rows, basis.vectors[2], turned)
    basis.leave(turned, 2, back)
    assert back == pytest.approx(rows, rel=1e-12)
    assert turned != pytest.approx(rows, rel=1e-3)


def test_rows_of_a_product_suit_the_dimension():
    assert _basis.rows_per_product(100) == 100
    assert _basis.rows_per_product(176) == 32
    assert _basis.rows_per_product(177) == _basis.MOST  # 31 rows would be too few
    assert _basis.rows_per_product(5000) == _basis.MOST


def test_kernels_without_numba_are_a_missing_extra(monkeypatch):
    monkeypatch.setattr("flverify.engines.simulate._simulate.find_spec", {}.get)
    law, algorithm = Full(2), FedAvg(step_size="1/8")
    with pytest.raises(MissingExtraError, match=r"flverify\[fast\]"):
        simulate(line(), algorithm, law, rounds=1, runs=1, seed=0, fast=True)
    got = simulate(line(), algorithm, law, rounds=1, runs=1, seed=0)
    assert isinstance(got, Trajectories)


# --- divergence is data


@pytest.mark.parametrize("method", METHODS)
def test_divergence_is_infinite_and_silent(method):
    law, algorithm = Bernoulli([0.5] * 4), FedAvg(step_size=1e30, local_steps=3)
    got = simulate(pairs(), algorithm, law, rounds=30, runs=3, seed=0, method=method)
    assert (got.errors[:, -1] == np.inf).all()
    assert not np.isnan(got.errors).any()
    assert got.mean()[-1] == np.inf


# --- refusals


def refused(algorithm, method, problem=None, **settings):
    problem = line() if problem is None else problem
    got = simulate(
        problem,
        algorithm,
        Full(2),
        rounds=2,
        runs=1,
        seed=0,
        method=method,
        **settings,
    )
    assert isinstance(got, Refusal)
    assert got.engine == "simulate"
    return got.reason


def test_refusals_say_why():
    fedavg = FedAvg(step_size="1/8")
    assert "slots" in refused(Focus(step_size="1/8"), "affine")
    assert "schedule" in refused(fedavg, "affine", schedule=["1/8", "1/9"])
    assert "numbers per client" in refused(FedAU(step_size="1/8"), "compiled")
    assert "quadratic" in refused(fedavg, "compiled", Cosh())
    assert "quadratic" in refused(fedavg, "affine", Cosh())


def test_auto_takes_the_fastest_that_accepts():
    def used(algorithm, **settings):
        settings = {"rounds": 10, "runs": 10, "seed": 0} | settings
        return simulate(line(), algorithm, Full(2), **settings).method

    assert used(FedAvg(step_size="1/8")) == "affine"
    assert used(FedAvg(step_size="1/8"), rounds=1, runs=1) == "compiled"
    assert used(FedAvg(step_size="1/8"), schedule=[0.1] * 10) == "compiled"
    assert used(Focus(step_size="1/8")) == "compiled"
    assert used(FedAU(step_size="1/8")) == "literal"


# --- problems that are not quadratic


@dataclass(frozen=True)
class Cosh(Problem):
    """f_i(x) = sum cosh(x - i): gradient sinh(x - i), minimiser of the mean 1/2."""

    n_clients: int = 2
    dim: int = 3
    exact: bool = False

    def gradient(self, client, point):
        return np.sinh(point - client)

    def value(self, client, point):
        return np.cosh(point - client).sum()

    def minimiser(self):
        return np.full(3, 0.5)


def test_a_problem_that_is_not_quadratic_runs_in_the_plain_basis():
    law, step, start = Bernoulli([0.5, 0.7]), 0.1, [0.3, -1.0, 2.0]
    got = simulate(
        Cosh(),
        Focus(step_size=step, local_steps=2),
        law,
        rounds=7,
        runs=3,
        seed=5,
        start=start,
    )
    assert got.method == "literal"
    for mask, final in zip(law.sample(5, 3, 7), got.final_models, strict=True):
        models = focus.run(
            lambda i, x: np.sinh(np.array(x) - i).tolist(),
            2,
            start,
            [np.flatnonzero(row).tolist() for row in mask],
            step_size=step,
            local_steps=2,
        )
        assert final == pytest.approx(models[-1], rel=1e-12)


def test_a_problem_without_minimiser_is_bad_input():
    class Bare(Problem):
        n_clients, dim, exact = 2, 1, False

        def gradient(self, *_):
            return 0.0

        value = gradient

    with pytest.raises(InputError, match="minimiser"):
        simulate(Bare(), FedAvg(step_size=1), Full(2), rounds=1, runs=1, seed=0)


# --- rounds that mix kinds are type errors


class OneSlot(NamedTuple):
    model: Server


class Written(Algorithm):
    """An algorithm whose round is given by a function."""

    State = OneSlot

    def __init__(self, play, begin=None):
        self.play, self.begin = play, begin
        self.settle("step_size", Fraction(1, 8))

    def init(self, start, cohort, _):
        return self.begin(start, cohort) if self.begin else self.State(start)

    def round(self, state, cohort, _):
        return self.play(state, cohort)


MIXED = {
    "server plus clients": lambda x, c: x + c.pull(x),
    "clients minus server": lambda x, c: c.sum(c.pull(x) - x),
    "server times server": lambda x, _: x * x,
    "server per client": lambda x, _: per_client([1, 2]) * x,
    "clients times clients": lambda x, c: c.sum(c.pull(x) * c.pull(x)),
    "pulled clients": lambda x, c: c.pull(c.pull(x)),
    "broadcast clients": lambda x, c: c.broadcast(c.pull(x)),
    "mean of a server vector": lambda x, c: c.mean(x, otherwise=x),
    "everyone of the pulled": lambda x, c: c.everyone(c.pull(x)),
    "clients as otherwise": lambda x, c: c.mean(c.pull(x), otherwise=c.pull(x)),
    "selected server": lambda x, c: c.sum(c.select(x, x)),
    "sum of a server vector": lambda x, c: c.sum(x),
    "everyone of a server vector": lambda x, c: c.everyone(x),
    "numbers plus clients": lambda x, c: c.sum(c.numbers(1) + c.pull(x)),
    "numbers as model": lambda _, c: c.numbers(1),
    "numbers per client": lambda x, c: c.sum(
        (c.numbers(1) * per_client([1, 2])) * c.pull(x)
    ),
    "clients as model": lambda x, c: c.pull(x),
    "all clients as model": lambda x, c: c.broadcast(x),
}


@pytest.mark.parametrize("name", MIXED)
def test_mixing_kinds_is_a_reading_error(name):
    algorithm = Written(lambda s, c: OneSlot(MIXED[name](s.model, c)))
    with pytest.raises(ReadingError):
        simulate(line(), algorithm, Full(2), rounds=1, runs=1, seed=0, method="literal")
    with pytest.raises(ReadingError):
        trace(algorithm, 2)


@dataclass(frozen=True)
class Listed(Written):
    """The same as a dataclass, as the moments need it."""

    play: object = None
    begin: object = None
    step_size: Fraction = Fraction(1, 8)


@pytest.mark.parametrize("name", sorted(MIXED.keys() - {"everyone of the pulled"}))
def test_mixing_kinds_has_no_moments(name):
    # in two dimensions: a vector read as a stack would give coordinates for clients
    plane = Quadratics([[[1, 0], [0, 2]]] * 2, [[1, 1], [0, 1]])
    algorithm = Listed(lambda s, c: OneSlot(MIXED[name](s.model, c)))
    assert isinstance(flverify.moments(plane, algorithm, Full(2)), flverify.Refusal)


def test_init_must_not_ask_who_participates():
    algorithm = Written(lambda s, _: s, lambda x, c: OneSlot(c.sum(c.pull(x))))
    with pytest.raises(ReadingError, match="no round has been drawn"):
        simulate(line(), algorithm, Full(2), rounds=1, runs=1, seed=0, method="literal")


# --- slots that read one another while they are renewed


class TwoStacks(NamedTuple):
    model: Server
    first: Clients
    second: Clients


def crossed(renew):
    """Play a round on two client slots, literally and as a plain recursion."""

    class Crossed(Written):
        State = TwoStacks

    def begin(start, cohort):
        here = cohort.broadcast(start)
        return TwoStacks(start, here, 2 * here)

    def play(state, cohort):
        here = cohort.pull(state.model)
        first, second = renew(cohort, here, state.first, state.second)
        total = cohort.sum(state.first) + cohort.sum(3 * state.second)
        model = 0.5 * state.model + 0.125 * total
        return TwoStacks(model, first, second)

    law, problem = Bernoulli([0.5, 0.4, 0.6, 0.5]), pairs()
    got = simulate(
        problem,
        Crossed(play, begin),
        law,
        rounds=6,
        runs=3,
        seed=8,
        start=[1, 2, 3, 4, 5],
        method="literal",
    )
    for mask, final in zip(law.sample(8, 3, 6), got.final_models, strict=True):
        x = np.array([1.0, 2, 3, 4, 5])
        a, b = np.tile(x, (4, 1)), np.tile(2 * x, (4, 1))
        for here in mask:
            cohort = PlainCohort(here)
            first, second = renew(cohort, np.tile(x, (4, 1)), a, b)
            x = 0.5 * x + 0.125 * (a[here].sum(axis=0) + 3 * b[here].sum(axis=0))
            a, b = first, second
        assert final == pytest.approx(x, rel=1e-12)


class PlainCohort:
    def __init__(self, here):
        self.here = here

    def select(self, new, old):
        return np.where(self.here[:, None], new, old)


RENEWALS = {
    "swap at participants": lambda c, _x, a, b: (c.select(b, a), c.select(a, b)),
    "swap everywhere": lambda _c, _x, a, b: (b, a),
    "one is a copy of the other": lambda c, x, a, _b: (c.select(x, a), a),
    "copied before it is renewed": lambda c, x, a, _b: (a, c.select(x, a)),
    "both from the first": lambda c, x, a, b: (c.select(x, a), c.select(b + x, a)),
    "twice": lambda c, x, a, b: (c.select(x, c.select(b, a)), c.select(a - b, b)),
    "scaled alias": lambda c, x, a, _b: (c.select(x, a), 0.5 * a),
    "both parts of a sum are scaled": lambda c, _x, a, b: (
        c.select(0.5 * a + 0.25 * b, a),
        0.75 * b - 0.125 * a,
    ),
    "select against a scaled stack": lambda c, x, a, b: (
        c.select(x + a, 0.5 * a),
        c.select(per_client_twice(x), b),
    ),
    "unchanged": lambda _c, _x, a, b: (a, b),
    "one reads what the other becomes": lambda c, x, a, b: reads(c.select(x, a), b),
    "selections of selections": lambda c, x, a, b: (
        c.select(c.select(x + b, x), c.select(a + b, b)) - b,
        b,
    ),
}


def reads(first, second):
    return first, first + second


def per_client_twice(stack):
    if isinstance(stack, np.ndarray):
        return np.arange(4)[:, None] * stack
    return per_client([0, 1, 2, 3]) * stack


@pytest.fixture(params=["at once", "client by client"])
def waiting(request, monkeypatch):
    """Stacks that are worked out as they are made, or in passes over the clients."""
    if request.param == "client by client":
        monkeypatch.setattr(_room, "CACHE_BYTES", 0)
        monkeypatch.setattr(_room, "PLACE_BYTES", 1)
    return request.param


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("name", RENEWALS)
def test_slots_are_renewed_from_old_values(name):
    crossed(RENEWALS[name])


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize(
    "algorithm",
    [Focus(0.05, 3), Focus(0.05, 2, "skip", "start", "sum"), Scaffold(0.05, 2)],
)
def test_literal_rounds_are_the_compiled_ones(algorithm):
    law, problem = Bernoulli([0.3, 0.5, 0.7, 0.2]), pairs()
    settings = {"rounds": 8, "runs": 5, "seed": 4, "step_sizes": [0.05, 0.02]}
    literal = simulate(problem, algorithm, law, method="literal", **settings)
    compiled = simulate(problem, algorithm, law, method="compiled", **settings)
    assert literal.errors == pytest.approx(compiled.errors, rel=1e-11)


@pytest.mark.usefixtures("waiting")
def test_what_is_pulled_may_be_a_sum_of_the_same_round():
    def play(state, cohort):
        here = cohort.pull(state.model)
        unused = cohort.sum(5 * here)
        for _ in range(3):  # x <- x - (pulled mean of (i + 1) x) / 8, then the mean
            weighted = per_client([1, 2]) * here
            mean = cohort.mean(weighted - 0.5 * here, otherwise=state.model)
            here = here - 0.125 * cohort.pull(mean)
        del unused
        return OneSlot(cohort.mean(here, otherwise=state.model))

    settings = {"rounds": 4, "runs": 9, "seed": 2, "start": [1.0]}
    law = Bernoulli([0.5, 0.5])
    got = simulate(line(), Written(play), law, **settings, method="literal")
    # the mean weight is 1/2, 3/2 or 1, so that all rows of a run shrink alike
    mask = law.sample(2, 9, 4)
    weight = np.where(mask.all(axis=2), 1.0, np.where(mask[:, :, 0], 0.5, 1.5))
    factor = np.where(mask.any(axis=2), 1.0, 0.0) * weight
    model, errors = np.ones(9), [np.full(9, 0.25)]
    for r in range(4):
        model = model * (1 - 0.125 * factor[:, r]) ** 3
        errors.append((model - 0.5) ** 2)
    assert got.errors == pytest.approx(np.array(errors).T, rel=1e-12)


def test_stacks_that_nobody_holds_are_kept_in_registers(monkeypatch):
    monkeypatch.setattr(_room, "CACHE_BYTES", 0)
    rooms = []

    class Watched(_room.Room):
        def __init__(self, *args):
            super().__init__(*args)
            rooms.append(self)

    monkeypatch.setattr(_literal, "Room", Watched)
    settings = {"rounds": 3, "runs": 5, "seed": 1, "method": "literal"}
    law = Bernoulli([0.5, 0.4, 0.6, 0.5])
    simulate(pairs(), Focus(1e-5, 2000), law, **settings)  # too deep for recursion
    (room,) = rooms
    assert len(room.registers) <= 8
    assert len(room._pool) <= 3  # one for the slot, one for what is sent


@pytest.mark.usefixtures("waiting")
def test_states_of_earlier_rounds_are_let_go():
    alive = []

    class Crossed(Written):
        State = TwoStacks

    def begin(start, cohort):
        here = cohort.broadcast(start)
        return TwoStacks(start, here, here)

    def play(state, cohort):
        alive.append(sum(isinstance(o, _stacks.Stack) for o in gc.get_objects()))
        here = cohort.pull(state.model)
        first = cohort.select(here, 0.5 * state.first)
        return TwoStacks(state.model, first, cohort.select(here, state.second))

    settings = {"rounds": 6, "runs": 3, "seed": 1, "method": "literal"}
    gc.collect()  # stacks that earlier tests left in cycles
    gc.freeze()  # what is there now is not looked through every time
    simulate(line(), Crossed(play, begin), Full(2), **settings)
    assert alive[-1] == alive[-5] > 0  # the last round and the second


@pytest.mark.usefixtures("waiting")
def test_a_long_way_from_a_sum_to_the_model():
    def play(state, cohort):
        model = cohort.mean(cohort.pull(state.model), otherwise=state.model)
        for _ in range(3000):
            model = model + 0.001 * state.model
        return OneSlot(model)

    settings = {"rounds": 1, "runs": 1, "seed": 1, "start": [1.0]}
    got = simulate(line(), Written(play), Full(2), **settings, method="literal")
    assert got.final_models == pytest.approx(4.0, rel=1e-9)


@pytest.mark.usefixtures("waiting")
def test_stacks_of_another_round_are_refused(monkeypatch):
    # as those are that a round brings so late that its other calls did not show it
    for looks in ("require_round", "computes_in_symbols"):
        monkeypatch.setattr(_setting, looks, lambda *_: None)
    kept = []

    def play(state, cohort):
        kept.append(cohort.pull(state.model))
        return OneSlot(cohort.mean(kept[0] + kept[-1], otherwise=state.model))

    settings = {"rounds": 2, "runs": 3, "seed": 1, "method": "literal"}
    with pytest.raises(ReadingError, match="keep it in a slot"):
        simulate(line(), Written(play), Full(2), **settings)
    kept.clear()
    simulate(line(), Written(play), Full(2), **(settings | {"rounds": 1}))


class TwoModels(NamedTuple):
    model: Server
    earlier: Server


@pytest.mark.parametrize("method", ["literal", "compiled"])
def test_server_slots_may_begin_as_one_vector(method):
    # x+ = 0.5 x + y, y+ = x + 0.25 y from x = y = 1: 1.5, 1.25, then 2, 1.8125
    class Paired(Listed):
        State = TwoModels

    def play(state, _):
        x, y = state.model, state.earlier
        return TwoModels(0.5 * x + y, x + 0.25 * y)

    algorithm = Paired(play, lambda start, _: TwoModels(start, start))
    settings = {"rounds": 3, "runs": 2, "seed": 1, "start": [1.0], "method": method}
    got = simulate(line(), algorithm, Full(2), keep_models=True, **settings)
    assert got.models[:, :, 0].tolist() == [[1, 1.5, 2, 2.8125]] * 2


class Tagged(NamedTuple):
    model: Server
    tags: Clients


@pytest.mark.parametrize("everywhere", [True, False])
def test_slots_that_change_at_absent_clients_are_not_compiled(everywhere):
    @dataclass(frozen=True)
    class Fading(Listed):
        State = Tagged

    def play(state, cohort):
        faded = Fraction(1, 2) * state.tags
        tags = faded if everywhere else cohort.select(faded, state.tags)
        return Tagged(Fraction(1, 4) * cohort.sum(state.tags), tags)

    algorithm = Fading(play, lambda x, c: Tagged(x, c.broadcast(x)))
    law = ExplicitLaw({(0,): "1/2", (1,): "1/2"}, 2)
    settings = {"rounds": 6, "runs": 9, "seed": 0, "start": [8]}
    plain, auto, compiled = (
        simulate(line(), algorithm, law, method=method, **settings)
        for method in ("literal", "auto", "compiled")
    )
    assert auto.final_models.tolist() == plain.final_models.tolist()
    if everywhere:
        assert plain.final_models.tolist() == [[8 / 4 / 2**5]] * 9
        assert "leave the slots of absent clients alone" in compiled.reason
        assert auto.method == "literal"
    else:
        assert compiled.final_models.tolist() == plain.final_models.tolist()


class Summed(NamedTuple):
    model: Server
    other: Server
    first: Clients
    second: Clients


def test_a_message_with_one_more_part_is_no_multiple_of_the_one_without():
    @dataclass(frozen=True)
    class Sums(Listed):
        State = Summed

    def play(state, cohort):
        model = Fraction(1, 4) * cohort.sum(state.first) + state.other
        other = Fraction(1, 4) * cohort.sum(state.first + 3 * state.second)
        return Summed(model, other, state.first, state.second)

    def begin(start, cohort):
        here = cohort.broadcast(start)
        return Summed(start, start, here, 2 * here)

    settings = {"rounds": 2, "runs": 1, "seed": 0, "start": [8]}
    for method in ("literal", "compiled"):
        algorithm = Sums(play, begin)
        got = simulate(line(), algorithm, Full(2), method=method, **settings)
        # of two clients: 16/4 + (16 + 6 * 16)/4
        assert got.final_models.tolist() == [[32]]


class Counted(NamedTuple):
    model: Server
    seen: Numbers


def test_numbers_count_participation():
    class Counting(Written):
        State = Counted

    def play(state, cohort):
        seen = cohort.select(state.seen + cohort.numbers(1), state.seen)
        once = cohort.equal(seen, 1)
        here = cohort.pull(state.model)
        return Counted(cohort.weighted_mean(once * here, seen, state.model), seen)

    algorithm = Counting(play, lambda x, c: Counted(x, c.numbers(0)))
    # round 1: (1 * 2 + 1 * 2)/(1 + 1) = 2; round 2: nobody is there for the first time
    got = simulate(
        line(),
        algorithm,
        Full(2),
        rounds=2,
        runs=1,
        seed=0,
        start=[2],
        method="literal",
    )
    assert got.errors.tolist() == [[2.25, 2.25, 0.25]]


def test_a_mean_of_weights_that_are_all_0_is_refused():
    # 0/0 was an error beyond floats, by which every bound was BROKEN
    class Counting(Written):
        State = Counted

    def play(state, cohort):
        seen = cohort.select(state.seen + cohort.numbers(1), state.seen)
        often, here = cohort.equal(seen, 2), cohort.pull(state.model)
        return Counted(cohort.weighted_mean(here, often, state.model), seen)

    algorithm = Counting(play, lambda x, c: Counted(x, c.numbers(0)))
    with pytest.raises(ReadingError, match="weights that do not sum to 0"):
        attempt(algorithm=algorithm, method="literal")
    nobody = {"participation": ExplicitLaw({(): 1}, 2), "start": [2]}
    got = attempt(algorithm=algorithm, method="literal", **nobody)
    assert got.errors.tolist() == [[2.25] * 3] * 2


# --- bad input


def test_an_algorithm_that_is_no_dataclass_can_only_be_read_as_written():
    algorithm = Written(lambda state, _: state)
    for method in ("auto", "affine", "compiled"):
        with pytest.raises(InputError, match="Written is none; add @dataclass"):
            attempt(algorithm=algorithm, method=method)
    assert attempt(algorithm=algorithm, method="literal")


def attempt(**changes):
    given = {
        "problem": line(),
        "algorithm": FedAvg(step_size="1/8"),
        "participation": Full(2),
        "rounds": 2,
        "runs": 2,
        "seed": 0,
    } | changes
    return simulate(
        given.pop("problem"),
        given.pop("algorithm"),
        given.pop("participation"),
        **given,
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"rounds": 0}, DomainError),
        ({"rounds": 2.5}, DomainError),
        ({"runs": 0}, DomainError),
        ({"runs": True}, DomainError),
        ({"seed": -1}, DomainError),
        ({"threads": 0}, DomainError),
        ({"method": "quick"}, DomainError),
        ({"participation": Full(3)}, ShapeError),
        ({"step_sizes": []}, ShapeError),
        ({"step_sizes": 0.1}, ShapeError),
        ({"step_sizes": [0.1, 0]}, DomainError),
        ({"step_sizes": [0.1, float("nan")]}, DomainError),
        ({"step_sizes": [sympy.Symbol("h")]}, DomainError),
        ({"algorithm": FedAvg(step_size=sympy.Symbol("h"))}, DomainError),
        ({"schedule": [0.1]}, ShapeError),
        ({"schedule": [0.1, -0.1]}, DomainError),
        ({"schedule": [0.1] * 2, "step_sizes": [0.1]}, InputError),
        ({"start": [1, 2]}, ShapeError),
        ({"start": [True]}, DomainError),
    ],
)
def test_bad_input_says_what_must_hold(changes, error):
    with pytest.raises(error) as caught:
        attempt(**changes)
    assert str(caught.value).count(";") >= 2


def test_good_input_passes():
    assert attempt().errors.shape == (2, 3)


# --- pieces


def test_layout_covers_every_row_once(monkeypatch):
    class Small:
        name, block_bytes, mixes_steps = "literal", 64 * 8, True

    class Fake:
        start, runs, steps = np.zeros(1), 150, np.ones(3)

    for runs, steps in ((150, 3), (20, 7), (64, 1), (1, 1)):
        Fake.runs, Fake.steps = runs, np.ones(steps)
        cells = [
            (s, r) for b in _blocks.layout(Fake, Small) for s in b.sweep for r in b.runs
        ]
        assert sorted(cells) == [(s, r) for s in range(steps) for r in range(runs)]


def test_literal_blocks_are_cut_at_the_same_runs_for_any_total():
    class Fake:
        start, steps, runs = np.zeros(100), np.ones(1), 1000

    first = _blocks.layout(Fake, Literal())
    Fake.runs = 2000
    second = _blocks.layout(Fake, Literal())
    assert [b.runs for b in first[:-1]] == [b.runs for b in second[: len(first) - 1]]


def test_step_polynomials_cancel_exactly():
    h = StepPolynomial({1: Fraction(1)})
    tenth = Fraction(1, 10)
    assert 1 / (10 * h) * h == tenth
    assert h * tenth - tenth * h == 0
    assert (1 - h) * (1 + h) == 1 - h * h
    assert -h + h == 0
    assert (h / 4).at(np.array([2.0])).tolist() == [0.5]
    assert (3 / h).at(np.array([2.0, 4.0])).tolist() == [1.5, 0.75]
    assert h != 1
    with pytest.raises(ReadingError, match="multiples of the step size"):
        1 / (1 + h)
    with pytest.raises(TypeError):
        h + "1"

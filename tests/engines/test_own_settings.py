"""Settings that follow the step size, numbers of numpy, and init before any draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pytest

from flverify import moments, simulate
from flverify._core.errors import InputError, ReadingError
from flverify.engines.noise import noisy_moments
from flverify.engines.own_settings import require_step_size_alone
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.testing import Algorithm, Server, per_client
from tests.engines.own_readings import readings
from tests.testing.own import Ruled

LAW = Bernoulli(["1/2", "1/3"])
PROBLEM = Quadratics([[[1]], [[2]]], [[0], [2]])
SIZES = {"rounds": 3, "runs": 4, "seed": 1, "start": [2]}
READINGS = {
    **readings(**SIZES),
    "noisy_moments": lambda *setting: noisy_moments(*setting, 0),
}


class Model(NamedTuple):
    model: Server


@dataclass(frozen=True)
class Paced(Algorithm):
    """Server steps of the mean gradient, at a pace that is twice the step size."""

    step_size: Any = Fraction(1, 8)

    State = Model

    @property
    def pace(self):
        return 2 * self.step_size

    def init(self, start, cohort, oracle):
        del cohort, oracle
        return Model(start)

    def round(self, state, cohort, oracle):
        gradients = oracle.gradient(cohort.pull(state.model))
        mean = cohort.mean(gradients, otherwise=0 * state.model)
        return Model(state.model - self.pace * mean)


@dataclass(frozen=True)
class Remembered(Paced):
    @cached_property
    def pace(self):
        return 2 * self.step_size


@dataclass(frozen=True)
class ByDefault(Paced):
    pace: Any = None

    def __post_init__(self):
        self.settle("pace", 2 * self.step_size if self.pace is None else self.pace)


@dataclass(frozen=True)
class Computed(Paced):
    pace: Any = field(init=False, default=None)

    def __post_init__(self):
        self.settle("pace", 2 * self.step_size)


@dataclass(frozen=True)
class Unlisted(Paced):
    pace = None

    def __post_init__(self):
        self.settle("pace", 2 * self.step_size)


@dataclass(frozen=True)
class Careful(Paced):
    def __post_init__(self):
        self.check_common()
        if self.step_size > Fraction(1, 2):
            raise ValueError("too long")

    local_steps: int = 1


def errors_of(step_sizes):
    """Return the errors of the plain loop, with a step size per round."""
    out = []
    for masks in LAW.sample(1, range(4), 3):
        x = [2.0]
        for mask, step in zip(masks, step_sizes, strict=True):
            slopes = [(x[-1], 2 * x[-1] - 2)[i] for i in np.flatnonzero(mask)]
            x.append(x[-1] - 2 * step * (np.mean(slopes) if slopes else 0.0))
        out.append((np.array(x) - 2 / 3) ** 2)
    return np.array(out)


@pytest.mark.parametrize("method", ["auto", "literal", "compiled"])
@pytest.mark.parametrize("kind", [Paced, Remembered])
def test_what_is_asked_anew_follows_a_sweep_and_a_schedule(kind, method):
    swept = simulate(
        PROBLEM, kind(), LAW, method=method, step_sizes=[0.1, 0.3], **SIZES
    )
    for row, step in zip(swept.errors, (0.1, 0.3), strict=True):
        assert np.allclose(row, errors_of([step] * 3))
    timed = [0.1, 0.3, 0.2]
    found = simulate(PROBLEM, kind(), LAW, method=method, schedule=timed, **SIZES)
    assert np.allclose(found.errors, errors_of(timed))


@pytest.mark.parametrize("method", ["auto", "literal", "compiled"])
@pytest.mark.parametrize("kind", [ByDefault, Computed, Unlisted])
def test_what_was_made_of_the_step_size_does_not(kind, method):
    assert np.allclose(
        simulate(PROBLEM, kind(), LAW, method=method, **SIZES).errors,
        errors_of([0.125] * 3),
    )
    for asked in ({"step_sizes": [0.125, 0.3]}, {"schedule": [0.125, 0.125, 0.3]}):
        with pytest.raises(InputError, match=f"pace of {kind.__name__} is another one"):
            simulate(PROBLEM, kind(), LAW, method=method, **asked, **SIZES)


def test_a_setting_that_is_given_may_stay():
    given = ByDefault(pace=Fraction(1, 5))
    found = simulate(PROBLEM, given, LAW, step_sizes=[0.1, 0.3], **SIZES)
    for row in found.errors:
        assert np.allclose(row, errors_of([0.1] * 3))


def test_step_sizes_that_own_code_refuses_are_told():
    with pytest.raises(InputError, match=r"step_size = 0\.75 .*ValueError: too long"):
        require_step_size_alone(Careful(), [0.25, 0.75])


LARGE = 2**40  # its square is beyond what numpy counts to
OF_NUMPY = {
    "products": lambda x, _: np.int64(LARGE) * (np.int64(LARGE) * x) / LARGE / LARGE,
    "weights": lambda x, w: x * per_client(w * LARGE) * per_client(w) / LARGE,
    "weights squared": lambda x, w: (
        x * (per_client(w * LARGE) * np.int64(LARGE)) / LARGE**2
    ),
    "parts": lambda x, _: (
        Fraction(3, LARGE**2)
        * (Fraction(np.int64(LARGE)) * (Fraction(np.int64(LARGE), 3) * x))
    ),
}


@pytest.mark.parametrize("times", OF_NUMPY.values(), ids=OF_NUMPY)
def test_integers_of_numpy_have_any_size(times):
    def rule(own, state, cohort, oracle):
        here = cohort.pull(state.model)
        local = here - own.step_size * oracle.gradient(here)
        return cohort.mean(times(local, np.array([1, 1])), otherwise=state.model)

    def plain(own, state, cohort, oracle):
        here = cohort.pull(state.model)
        local = here - own.step_size * oracle.gradient(here)
        return cohort.mean(local, otherwise=state.model)

    found, due = (moments(PROBLEM, Ruled(r), LAW) for r in (rule, plain))
    assert found.exact
    assert found.mean_square_rate == due.mean_square_rate
    assert found.bias == due.bias
    ours, theirs = (simulate(PROBLEM, Ruled(r), LAW, **SIZES) for r in (rule, plain))
    assert np.allclose(ours.errors, theirs.errors)


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize(
    ("verb", "begin"),
    [
        ("mean", lambda x, c: c.mean(c.broadcast(x), otherwise=2 * x)),
        ("sum", lambda x, c: x + c.sum(c.broadcast(x))),
        ("select", lambda x, c: c.everyone(c.select(c.broadcast(x), c.broadcast(x)))),
        ("pull", lambda x, c: c.everyone(c.pull(x))),
        (
            "weighted_mean",
            lambda x, c: c.weighted_mean(c.broadcast(x), c.numbers(1), x),
        ),
    ],
)
def test_init_asks_nobody_who_participates(ask, verb, begin):
    class Early(Ruled):
        def init(self, start, cohort, oracle):
            del oracle
            return self.State(begin(start, cohort))

    def rule(own, state, cohort, oracle):
        del own, cohort, oracle
        return state.model / 2

    try:
        said = str(ask(PROBLEM, Early(rule), LAW))
    except ReadingError as error:
        said = str(error)
    assert f"init must not ask who participates; got {verb}(), and no round" in said


def test_init_may_ask_everybody():
    class Early(Ruled):
        def init(self, start, cohort, oracle):
            slopes = oracle.gradient(cohort.broadcast(start))
            return self.State(start - cohort.everyone(slopes) / cohort.n_clients)

    def rule(own, state, cohort, oracle):
        del own, cohort, oracle
        return state.model / 2

    found = moments(PROBLEM, Early(rule), LAW).mean_square_error([3], 1)
    # at 3 - (3 + 4)/2 = -1/2, then at -1/4
    assert found.tolist() == [Fraction(49, 36), Fraction(121, 144)]

"""What vectors of own rounds know, and what they do not, in every reading."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from flverify import moments, simulate
from flverify._core.errors import InputError, ReadingError
from flverify.algorithms import FedAvg
from flverify.engines.noise import noisy_moments
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.testing import per_client
from tests.engines.own_readings import readings
from tests.testing.own import Ruled

LAW = Bernoulli(["1/2", "1/3"])
CHANCES = Fraction(1, 2), Fraction(1, 3)
PROBLEM = Quadratics([[[1]], [[2]]], [[0], [2]])
SIZES = {"rounds": 3, "runs": 5, "seed": 1, "start": [2]}
READINGS = {
    **readings(**SIZES),
    "noisy_moments": lambda *setting: noisy_moments(*setting, 0),
}


def stepped(own, x, cohort, oracle):
    here = cohort.pull(x)
    return here - own.step_size * oracle.gradient(here)


def negated(own, state, cohort, oracle):
    x, steps = state.model, stepped(own, state.model, cohort, oracle)
    return -cohort.mean(-steps, otherwise=-x)


def halved(own, state, cohort, oracle):
    x, steps = state.model, stepped(own, state.model, cohort, oracle)
    return (x + cohort.mean(steps, otherwise=x)) / 2


def summed(own, state, cohort, oracle):
    x, steps = state.model, stepped(own, state.model, cohort, oracle)
    return sum([x / 3, x / 3, cohort.mean(steps / 3, otherwise=x / 3)])


def weighed(own, state, cohort, oracle):
    x, steps = state.model, stepped(own, state.model, cohort, oracle)
    return cohort.mean(steps / per_client([2, 3]), otherwise=x)


def fresh(own, state, cohort, oracle):  # a fresh aggregate, which is not traced
    x, steps = state.model, stepped(own, state.model, cohort, oracle)
    sent = cohort.pull(cohort.mean(steps, otherwise=x))
    return -cohort.mean(-sent / 2, otherwise=-x)


def literally(x, came, kept, weights=(1, 1)):
    """Take kept of x and the rest of the mean step, in plain numbers."""
    if not came:
        return None
    gradients = [x, 2 * x - 2]
    sent = [(x - gradients[i] / 8) * weights[i] for i in came]
    return kept * x + (1 - kept) * sum(sent) / len(came)


ROUNDS = {
    negated: lambda x, came: literally(x, came, 0),
    halved: lambda x, came: literally(x, came, Fraction(1, 2)),
    summed: lambda x, came: literally(x, came, Fraction(2, 3)),
    weighed: lambda x, came: literally(x, came, 0, (Fraction(1, 2), Fraction(1, 3))),
    fresh: lambda x, came: None if not came else literally(x, came, 0) / 2,
}


def errors(step):
    """E|x_r - x*|^2 over all cohorts of three rounds."""
    spread = {Fraction(2): Fraction(1)}
    out = []
    for _ in range(4):
        out.append(sum(p * (x - Fraction(2, 3)) ** 2 for x, p in spread.items()))
        after: dict[Fraction, Fraction] = {}
        for (x, p), bits in product(spread.items(), product((0, 1), repeat=2)):
            came = [i for i in (0, 1) if bits[i]]
            pairs = zip(CHANCES, bits, strict=True)
            chance = math.prod(c if bit else 1 - c for c, bit in pairs)
            moved = step(x, came)
            moved = x if moved is None else moved
            after[moved] = after.get(moved, Fraction(0)) + p * chance
        spread = after
    return out


@pytest.mark.parametrize("rule", ROUNDS)
def test_negatives_and_quotients_are_those_of_numbers(rule):
    setting = PROBLEM, Ruled(rule), LAW
    due = errors(ROUNDS[rule])
    found = moments(*setting)
    assert found.exact
    assert found.mean_square_error([2], 3).tolist() == due
    noisy = noisy_moments(*setting, 0)
    assert noisy.mean_square_error([2], 3).tolist() == due


@pytest.mark.parametrize("method", ["auto", "literal"])
@pytest.mark.parametrize("rule", ROUNDS)
def test_they_are_simulated_as_such(rule, method):
    found = simulate(PROBLEM, Ruled(rule), LAW, method=method, **SIZES)
    for run, masks in enumerate(LAW.sample(1, range(5), 3)):
        x = Fraction(2)
        for r, mask in enumerate(masks):
            moved = ROUNDS[rule](x, np.flatnonzero(mask).tolist())
            x = x if moved is None else moved
            assert found.errors[run, r + 1] == pytest.approx(
                float(x - Fraction(2, 3)) ** 2
            )


UNKNOWN = {
    "power": lambda x: x**2,
    "absolute": abs,
    "less": lambda x: x if x < 0 * x else -x,
    "largest": lambda x: max(x, 0 * x),
    "entry": lambda x: x[0],
    "entries": lambda x: sum(v for v in x),
    "length": lambda x: len(x) * x,
    "float": lambda x: float(x) * x,
    "product": lambda x: x @ x,
    "remainder": lambda x: x % 1,
    "whole": lambda x: x // 1,
    "rounded": round,
    "sign": np.sign,
    "norm": lambda x: x / np.linalg.norm(x),
    "clipped": lambda x: np.clip(x, -1, 1),
    "values": lambda x: x.values,
    "shifted": lambda x: 1 - x,
    "inverse": lambda x: 1 / x,
}


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("unknown", UNKNOWN.values(), ids=UNKNOWN)
def test_what_vectors_do_not_know_is_refused_with_what_they_know(ask, unknown):
    def rule(own, state, cohort, oracle):
        del own, oracle
        return cohort.mean(cohort.pull(unknown(state.model)), otherwise=state.model)

    with pytest.raises(
        InputError, match=r"v / c with numbers c; line .* vector"
    ) as told:
        ask(PROBLEM, Ruled(rule), LAW)
    assert "_Vector" not in str(told.value)


def test_numbers_are_not_added_to_vectors():
    def rule(own, state, cohort, oracle):
        del own, cohort, oracle
        return 1 + state.model

    with pytest.raises(InputError, match="'int' and a server vector; mend it"):
        moments(PROBLEM, Ruled(rule), LAW)


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize(
    ("wrapped", "words"),
    [
        (lambda x: (x,), "a tuple of 1 value"),
        (lambda x: [x, x], "a list of 2 values"),
        (lambda x: x, "a (server )?vector"),
    ],
)
def test_what_is_no_state_is_told_in_words(ask, wrapped, words):
    class Bare(Ruled):
        def round(self, state, cohort, oracle):
            del cohort, oracle
            return wrapped(state.model)

    with pytest.raises(InputError, match=f"its State with model; got {words}; return"):
        ask(PROBLEM, Bare(None), LAW)


def test_dividing_by_a_step_size_of_a_sweep():
    class Undone(FedAvg):
        def round(self, state, cohort, oracle):
            after = super().round(state, cohort, oracle)
            return type(after)(self.step_size * (after.model / self.step_size))

    asked = {"step_sizes": [0.25, 0.5], **SIZES}
    ours = simulate(PROBLEM, Undone("1/4"), LAW, method="literal", **asked)
    plain = simulate(PROBLEM, FedAvg("1/4"), LAW, method="literal", **asked)
    assert np.allclose(ours.errors, plain.errors)


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("divided", [lambda x, _: x / x, lambda _, here: here / here])
def test_quotients_of_states_are_refused(ask, divided):
    def rule(own, state, cohort, oracle):
        del own, oracle
        found = divided(state.model, cohort.pull(state.model))
        return cohort.mean(found, otherwise=state.model)

    try:
        said = str(ask(PROBLEM, Ruled(rule), LAW))
    except ReadingError as error:
        said = str(error)
    assert "must be divided by plain numbers; got a" in said
    assert "cohort.numbers(1) / n * v." in said

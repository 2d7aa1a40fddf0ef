"""The law that a log supports, and its file."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from flverify import moments
from flverify.advise.fit import fit
from flverify.advise.log import AvailabilityLog
from flverify.advise.significance import holm
from flverify.advise.uniform_cohorts import equal_chances, equal_pairs
from flverify.algorithms import FedAvg
from flverify.commands._laws import build_law, read_law
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    ExplicitLaw,
    ModeChain,
    SuccessiveSampling,
    UniformCohort,
)
from flverify.problems import Quadratics


def fitted(law, rounds=300, seed=1):
    mask = law.sample(seed=seed, runs=1, rounds=rounds)[0]
    return fit(AvailabilityLog(mask, 0), shuffles=199)


def test_frequencies_are_rationals_and_shares_average_over_all_rounds():
    mask = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]], dtype=bool)
    found = fit(AvailabilityLog(mask, 0), shuffles=199)
    assert found.inclusion.tolist() == [Fraction(3, 4), Fraction(1, 2), Fraction(1, 4)]
    q = [Fraction(11, 24), Fraction(5, 24), Fraction(1, 12)]
    assert found.averaging_weights.tolist() == q
    # one round in four is empty
    assert sum(q) == Fraction(3, 4)


def test_the_kinds_of_law_are_told_apart():
    bernoulli = fitted(Bernoulli([0.1, 0.5, 0.5, 0.9]))
    assert bernoulli.supports == "bernoulli"
    assert bernoulli.law.inclusion().tolist() == bernoulli.inclusion.tolist()
    uniform = fitted(UniformCohort(6, 2))
    assert (uniform.supports, uniform.law.spec) == ("fixed cohort size", "uniform:2")
    alone = fitted(UniformCohort(4, 1))
    assert (alone.supports, alone.law.spec) == ("fixed cohort size", "uniform:1")
    full = fitted(Bernoulli([1.0, 1.0]))
    assert (full.supports, full.law.spec) == ("full", "full")
    together = fitted(AllOrNothing(4, "1/3"))
    assert together.supports == "none"
    assert "not independent within a round" in together.reason
    chain = ModeChain(
        [[0.9, 0.1], [0.1, 0.9]], [Bernoulli([0.9, 0.8]), Bernoulli([0.1, 0.3])]
    )
    remembering = fitted(chain)
    assert remembering.supports == "none"
    assert "not independent of one another" in remembering.reason


def test_unequal_clients_of_a_fixed_cohort_size_keep_their_frequencies():
    law = SuccessiveSampling((1, 2, 3, 10), 2)
    found = fitted(law)
    assert found.supports == "fixed cohort size"
    assert "do not take part equally often" in found.reason
    assert found.law.inclusion().tolist() == found.inclusion.tolist()
    assert found.law.averaging_weights().tolist() == found.averaging_weights.tolist()
    together = found.law.joint_inclusion().astype(float)
    assert together == pytest.approx(law.joint_inclusion().astype(float), abs=0.1)


def test_memory_and_evenness_of_cohorts_of_one_size_share_their_alarms():
    found = fitted(UniformCohort(5, 2), rounds=60)
    asked = [one for one in found.tests if one.about == "memory"]
    assert [one.adjusted for one in found.tests if one not in asked] == [None, None]
    even = [equal_chances(found.log, 2), equal_pairs(found.log, 2, 199)]
    *memory, alone, paired = holm([one.p_value for one in asked] + even)
    assert [one.adjusted for one in asked] == memory
    assert f"(p = {alone:.3g})" in found.reason
    assert f"(p = {paired:.3g})" in found.reason


@pytest.mark.slow
@pytest.mark.parametrize(("n", "size", "rounds"), [(6, 3, 200), (5, 2, 120)])
def test_uniform_cohorts_are_denied_to_one_log_in_twenty_at_most(n, size, rounds):
    law, logs = UniformCohort(n, size), 300
    masks = law.sample(seed=5, runs=logs, rounds=rounds)
    told = [fit(AvailabilityLog(mask, 0), shuffles=199).law for mask in masks]
    denied = sum(not isinstance(one, UniformCohort) for one in told)
    assert denied <= logs / 20


HALVES = ExplicitLaw({(0, 1): "1/2", (2, 3): "1/2"}, 4)
RING = ExplicitLaw({(i, (i + 1) % 5): "1/5" for i in range(5)}, 5)


@pytest.mark.parametrize("law", [HALVES, RING])
def test_clients_that_come_equally_often_may_come_in_other_pairs(law):
    found = fitted(law)
    assert found.supports == "fixed cohort size"
    assert "equally often (p = " in found.reason
    assert "pairs of them do not" in found.reason
    assert found.law.support().keys() == law.support().keys()
    # what uniform cohorts of as many would have said of FedAvg
    curved = [1, 1, 9, 9, 9][: law.n_clients]
    problem = Quadratics([[[h]] for h in curved], [[0]] * law.n_clients)
    true, told, uniform = (
        moments(problem, FedAvg("3/20"), one).mean_square_rate
        for one in (law, found.law, UniformCohort(law.n_clients, 2))
    )
    assert float(told) == pytest.approx(float(true), abs=0.03)
    assert abs(float(uniform) - float(true)) > 0.06


@pytest.mark.parametrize(
    "law",
    [
        Bernoulli([0.2, 0.7, 0.5]),
        UniformCohort(5, 2),
        AllOrNothing(3, "2/5"),
        Bernoulli([1.0, 1.0]),
    ],
)
def test_a_fitted_law_is_written_for_the_other_commands(law, tmp_path):
    found = fitted(law, rounds=100)
    path = tmp_path / "law.json"
    path.write_text(found.file("about it"), encoding="utf-8")
    assert json.loads(path.read_text())["about"] == "about it"
    text = f"file:{path}"
    for floats in (False, True):
        again = build_law(read_law(text, floats), text, None)
        other = found.in_floats() if floats else found.law
        for table in ("inclusion", "averaging_weights", "joint_averaging"):
            left, right = getattr(again, table)(), getattr(other, table)()
            assert left.tolist() == right.tolist()

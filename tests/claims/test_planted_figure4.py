"""Figure 4: a wrong constant must change what is found."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flverify.claims.race import Experiment, Race
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict
from flverify.problems import Quadratics

pytestmark = pytest.mark.slow

SMALL = {"n_clients": 8, "dim": 6, "samples": 100, "data_sets": 2}
RACE = SMALL | {"draws": (1, 2, 2), "rounds": (160, 200, 200)}
LEAD = "rounds counted, one step size"
ALWAYS = (
    "FedAvg fails, uniform",
    "FedAU fails, uniform",
    "SCAFFOLD converges, full",
    "FOCUS converges linearly, full",
    "ProxSkip (notebook form) diverges, uniform",
    "FOCUS is the fastest, full",
)


@pytest.fixture(scope="module")
def file():
    return load_file(proofs_folder() / "focus_figure4.py")


def parts(finding, reading=LEAD):
    found = finding.readings[reading].parts
    return {name: f"{part.verdict}: {part.reason}" for name, part in found.items()}


def seen(part):
    """Count the data sets on which a trend was seen."""
    return int(re.search(r": (\d+) of \d+", part)[1])


def test_a_small_step_size_enters_the_caps(file):
    many = SMALL | {"data_sets": 20}
    printed = file.setup.check(**many).readings
    planted = file.setup.check(**many, step_size="1e-12").readings
    inside = [name for name in printed if "inside Theorem" in name]
    assert len(inside) == 5
    for name in inside:
        assert printed[name].verdict == Verdict.INCONCLUSIVE
        assert planted[name].verdict == Verdict.SUPPORTED


def test_a_concave_regulariser_is_refuted(file):
    planted = file.setup.check(**SMALL, ridge=-1)
    assert planted.verdict == Verdict.REFUTED
    assert planted.evidence["part"] == "definition"


def test_the_caps_are_those_of_the_ledger(file):
    """One client of curvature 1 and 4 among four, worked out by hand."""
    problem = Quadratics([[[h]] for h in (1.0, 2.0, 2.0, 4.0)], [[0.0]] * 4)
    experiment = Experiment(4, 1, 1, "0", 3, "1e-3", 1)
    caps = file._caps(experiment, problem, 0.25)
    # L = 4, mu = 1, beta = 9/4, q_min^{3/2} = 1/8
    assert caps["Theorem 1, strongly convex"] == pytest.approx(3 / (27 * 4 * 16))
    mixing = (1 / 8) / (8 * 4 * 2)
    assert caps["Theorem 1, strongly convex, mu of the mean F"] == pytest.approx(
        min(3 * 2.25 / (27 * 4 * 16), 1 / 24, mixing)
    )
    assert caps["Theorem 1, PL"] == pytest.approx(0.25 / (16 * 16))
    assert caps["Theorem 1, nonconvex"] == pytest.approx(
        min(1 / 16, mixing, 0.25 / (64 * 8**0.5), 1 / 64)
    )
    assert caps["Theorem 2 (FedAvg)"] == pytest.approx(1 / 32)


@pytest.fixture(scope="module")
def printed(file):
    return file.statements.check(**RACE)


def test_on_a_small_problem_the_common_statements_are_seen(printed):
    found = parts(printed)
    for name in ALWAYS:
        assert seen(found[name]) == 2, (name, found[name])
    assert found["the pairs in the plain loops"].startswith("PROVED")


def test_a_pair_that_does_not_coincide_is_refuted(file):
    planted = file.statements.check(**RACE, coincide=(("fedavg", "scaffold"),))
    assert planted.verdict == Verdict.REFUTED
    assert planted.readings[LEAD].verdict == Verdict.REFUTED


def test_pairs_do_not_coincide_under_sampled_cohorts(file):
    found = parts(file.statements.check(**RACE, where="uniform"))
    for pair in ("fedavg and fedau", "scaffold and proxskip"):
        assert seen(found[f"{pair} coincide under uniform participation"]) == 0


def test_too_large_a_step_size_ends_convergence(file):
    found = parts(file.statements.check(**RACE | {"data_sets": 1}, step_size="4e-3"))
    assert seen(found["FOCUS converges linearly, full"]) == 0


def test_one_local_step_leaves_fedavg_no_drift(file):
    found = parts(file.statements.check(**RACE | {"data_sets": 1}, local_steps=1))
    assert seen(found["FedAvg fails, full"]) == 0
    assert seen(found["FedAvg fails, arbitrary"]) == 1


def test_the_paper_s_own_proxskip_is_another_algorithm(printed):
    found = printed.readings["ProxSkip of its own paper"]
    assert found.verdict == Verdict.REFUTED
    assert found.evidence["left"] != found.evidence["right"]


def test_a_sublinear_curve_is_not_linear():
    rounds = np.arange(1, 20_001)
    power = Race({"focus": (1.0 / rounds**2)[None, :]})
    geometric = Race({"focus": (0.9**rounds)[None, :]})
    assert power.rounds_to("focus", 1e-8) < np.inf
    assert not power.is_linear("focus", 1e-8)
    assert geometric.is_linear("focus", 1e-8)


def test_a_falling_curve_has_not_stalled():
    rounds = np.arange(200)
    falling = Race({"fedau": (0.9**rounds)[None, :]})
    flat = Race({"fedau": (0.9**rounds + 1e-3)[None, :]})
    assert not falling.stalls("fedau", 1e-12)
    assert flat.stalls("fedau", 1e-12)

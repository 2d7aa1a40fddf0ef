"""Wrong constants planted in the questions beside the agnostic paper's claims."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.claims import agnostic_any_time, agnostic_induced
from flverify.claims.verdict import Verdict
from tests.shipped import CLAIMS

pytestmark = pytest.mark.slow

PROVED, REFUTED, SUPPORTED = Verdict.PROVED, Verdict.REFUTED, Verdict.SUPPORTED
INCONCLUSIVE = Verdict.INCONCLUSIVE
F = Fraction


@pytest.mark.parametrize(
    ("claim", "passes", "wrong"),
    [
        ("agnostic.exp.weights.largest", PROVED, {"any size": F(9, 5)}),
        ("agnostic.exp.weights.mass", SUPPORTED, {"M p_i": "P(i drawn first)"}),
        ("agnostic.eq10.weight", SUPPORTED, {"power": 3}),
        ("agnostic.eq10.growth", PROVED, {"power": 3}),
        ("agnostic.eq10.stability", SUPPORTED, {"cap": F(11, 10)}),
        ("agnostic.eq10.increments", PROVED, {"power": 0}),
        ("agnostic.eq10.increments.rate", PROVED, {"B": F(1, 4)}),
        ("agnostic.thm4.theta", PROVED, {"factor": F(1, 10)}),
        ("agnostic.thm4.cohort", PROVED, {"over": "M"}),
        ("agnostic.fixedpoint.variance", PROVED, {"half": F(1, 3)}),
        ("agnostic.lemma1.empty", PROVED, {"clients": "all together"}),
        ("agnostic.uniform-corner.exchangeable", PROVED, {"never": "1 and 2"}),
        ("agnostic.eq1.crossentropy", PROVED, {"square": F(19, 10)}),
        ("agnostic.lemma2.noise", PROVED, {"G^2": F(101, 100)}),
        ("agnostic.fig1.particularly", SUPPORTED, {"power": 3}),
    ],
)
def test_a_claim_that_passes_is_refuted(claim, passes, wrong):
    assert CLAIMS[claim].check().verdict == passes
    assert CLAIMS[claim].check(**wrong).verdict == REFUTED


@pytest.mark.parametrize(
    ("claim", "printed", "wrong"),
    [
        (
            "agnostic.eq10.target",
            [REFUTED, REFUTED, PROVED, REFUTED],
            {"factor": 3},
        ),
        (
            "agnostic.eq10.fixedpoint",
            [REFUTED, REFUTED, PROVED, REFUTED],
            {"factor": F(1, 2)},
        ),
        (
            "agnostic.eq10.normalised",
            [PROVED, REFUTED, PROVED],
            {"among": "[N]"},
        ),
        ("agnostic.thm4.anytime", [REFUTED, PROVED], {"factor": F(1, 10)}),
        (
            "agnostic.thm4.iterate",
            [PROVED, PROVED, REFUTED],
            {"factor": F(1, 20)},
        ),
    ],
)
def test_readings_follow_the_constants(claim, printed, wrong):
    def verdicts(finding):
        return [one.verdict for one in finding.readings.values()]

    assert verdicts(CLAIMS[claim].check()) == printed
    assert set(verdicts(CLAIMS[claim].check(**wrong))) == {REFUTED}


def test_a_smaller_bound_on_sums_along_one_run_is_violated():
    cases = [*agnostic_any_time.summed_cases(F(1, 10))]
    assert any(one.left > one.right for one in cases)
    assert all(one.recheck() == (one.left, one.right) for one in cases)
    holds = [*agnostic_any_time.summed_cases(1)]
    assert all(one.left <= one.right for one in holds)


@pytest.mark.parametrize("power", [0, 2])
def test_3_with_other_weights_is_refuted_for_every_n(power):
    assert agnostic_induced.definition(1).verdict == PROVED
    assert agnostic_induced.definition(power).verdict == REFUTED
    assert agnostic_induced.mean_step(1).verdict == PROVED
    assert agnostic_induced.mean_step(power).verdict == REFUTED

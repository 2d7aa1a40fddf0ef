"""Wrong constants planted into (6) to (9), Theorem 4, experiments are noticed."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import pytest
import sympy

from flverify.claims import agnostic_race as race
from flverify.claims import agnostic_runs as runs
from flverify.claims import sg_focus_race as sg
from flverify.claims.registry import claims_in, load_file, proofs_folder
from flverify.claims.verdict import Verdict

pytestmark = pytest.mark.slow

FILES = (
    "agnostic_recursion",
    "agnostic_theorem4",
    "agnostic_experiments",
    "agnostic_figures",
    "focus_experiments",
)
NOTHING = {"sigma^2": Fraction(0), "G^2": Fraction(0), "ell G H": Fraction(0)}
SECOND = "(ii) H local steps, then a communication"


@cache
def claims():
    return claims_in([proofs_folder() / f"{name}.py" for name in FILES])


def verdict(key, **changed):
    return claims()[key].check(**changed).verdict


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("agnostic.eq6", {"factor": Fraction(99, 100)}),
        ("agnostic.eq7.const", {"(7)": Fraction(199, 100)}),
        ("agnostic.eq7.const", {"(9)": Fraction(149, 100)}),
        ("agnostic.thm4.H", {"power": Fraction(3, 2)}),
        ("agnostic.exp.weights", {"skew": "1.85"}),
        ("agnostic.fig2.x", {"spread": "0.001"}),
    ],
)
def test_wrong_constant_is_refuted(key, wrong):
    assert verdict(key) in (Verdict.PROVED, Verdict.SUPPORTED)
    assert verdict(key, **wrong) == Verdict.REFUTED


@pytest.mark.parametrize("key", ["agnostic.eq7", "agnostic.eq8", "agnostic.eq9"])
def test_readings_differ_and_the_count_of_steps_mends(key):
    found = claims()[key].check()
    verdicts = [one.verdict for one in found.readings.values()]
    assert verdicts == [Verdict.REFUTED, Verdict.PROVED]
    assert claims()[key].check(count="local steps").verdict == Verdict.PROVED
    assert claims()[key].check(terms=NOTHING).verdict == Verdict.REFUTED


@pytest.mark.parametrize("term", ["G^2", "ell G H"])
def test_rate_needs_its_terms(term):
    """Just below what the chain gives, the proof no longer goes through."""
    rate = {"sigma^2": Fraction(1), "G^2": Fraction(3, 2), "ell G H": Fraction(4)}
    least = {"G^2": Fraction(3, 2), "ell G H": Fraction(4)}[term]
    low = rate | {term: least * Fraction(99, 100)}
    found = claims()["agnostic.eq9"].check(terms=low).readings[SECOND]
    assert found.verdict == Verdict.INCONCLUSIVE


def test_theorem_needs_its_constant():
    found = claims()["agnostic.thm4"].check(factor=Fraction(1, 10))
    assert {one.verdict for one in found.readings.values()} == {Verdict.REFUTED}


def test_one_constant_of_theorem_4_does_not_serve_every_period():
    """At H = T = 64 the server is at (0 + 1)/2 after every round, and |x| has 1/2."""
    found = claims()["agnostic.thm4"].check()
    verdicts = [one.verdict for one in found.readings.values()]
    proved, refuted = Verdict.PROVED, Verdict.REFUTED
    assert verdicts == [refuted, proved, proved, refuted]
    last = list(found.readings.values())[-1].evidence
    assert (last["left"], last["right"]) == ("4", "1")
    wider = claims()["agnostic.thm4"].check(**{"K for every H": 2})
    assert list(wider.readings.values())[-1].verdict == refuted  # H = T = 144


@pytest.mark.parametrize(
    ("constant", "part"),
    [("GROWING", "grows in H, given n"), ("FIXED", "falls in H")],
)
def test_what_stays_as_it_is_neither_grows_nor_falls(monkeypatch, constant, part):
    theorem = load_file(proofs_folder() / "agnostic_theorem4.py")
    named = SimpleNamespace(**{"curved": "up", "falls for": "T", "grows for": "n"})
    assert theorem._monotonies(named)[part].verdict == Verdict.PROVED
    monkeypatch.setattr(theorem, constant, sympy.Integer(0))
    assert not theorem._monotonies(named)[part].passes()


@pytest.mark.parametrize("key", ["agnostic.eq7", "agnostic.eq8", "agnostic.eq9"])
def test_the_mended_round_has_a_local_step(key):
    """With H = 1 as printed there is none, and the chain is for one or more."""
    assert runs.slow("literal", 1, Fraction(1)).local_steps == 0
    assert claims()[key].check().correction.statement.endswith(r"H\ge2")


def test_counterexample_to_the_literal_rate_by_hand():
    """|x - 1| from 0, one step of 1/80 a round, 40 rounds: half way, 119/160 on top."""
    one, rounds = runs.several("literal")[0]
    assert (one.local_steps, rounds, one.step) == (1, 40, Fraction(1, 80))
    path = [Fraction(r, 80) for r in range(1, 41)]
    by_hand = 1 - sum(path) / 40
    assert runs.mean_value(0, "literal", plain=False) == by_hand == Fraction(119, 160)
    # 1/(2 eta H T) + 1.5 eta G^2 + 4 ell eta G H with H = 2, G = ell = 1
    right = Fraction(80, 160) + Fraction(3, 160) + Fraction(8, 80)
    assert right < by_hand


def test_weights_of_the_experiment_by_simulation():
    seen = [float(race.estimated_skew(seed, 1000)) for seed in range(5)]
    exact = race.skew(race.weights(10.0))
    assert max(abs(one - exact) for one in seen) < 0.05
    assert race.estimated_skew(3, 200) == race.counted_skew(3, 200)


def test_turned_trends_are_not_supported():
    assert verdict("agnostic.fig1", temperature="inf") == Verdict.REFUTED
    assert verdict("agnostic.fig2", sign=-1) == Verdict.REFUTED


def test_splits_are_rows_of_shares():
    for reading in ("clients", "classes"):
        found = sg.shares(reading, 0.5, 4, 0)
        assert found.shape == (4, sg.CLASSES)
        assert found.sum(axis=1) == pytest.approx(1)
    assert verdict("focus.F1.fig8", alpha="100") == Verdict.REFUTED
    assert verdict("focus.F1.fig8", classes=1) != Verdict.SUPPORTED


def test_draws_of_classes_that_are_spread_evenly_are_not_supported():
    """Data of ours refute no print, so their control is one that leaves them open."""
    for found in claims()["focus.F1.fig8"].check(alpha="100").readings.values():
        mean, draws = found.parts["classes of a client"], found.parts["draws"]
        assert (mean.verdict, draws.verdict) == (Verdict.REFUTED, Verdict.INCONCLUSIVE)
        assert draws.evidence["seen"] == 0


@pytest.mark.parametrize(("reading", "seed"), [("clients", 485), ("classes", 146)])
def test_splits_of_other_seeds_than_the_listed_ones_may_differ(reading, seed):
    assert sg.leading(sg.shares(reading, 0.05, 32, seed), 2).min() < 1 / 2
    claim = claims()["focus.F1.fig8"]
    assert "seeds 0 to 19" in claim.proposition
    assert all(
        "seeds 0 to 19 alone" in f.scope for f in claim.check().readings.values()
    )


def test_fedavg_does_not_pass_for_focus():
    assert verdict("focus.fig4", algorithm="fedavg", data_sets=1) == Verdict.REFUTED


def test_total_variation_has_two_conventions():
    found = claims()["agnostic.fig2.tv"]
    first, second = found.check().readings.values()
    assert (first.verdict, second.verdict) == (Verdict.PROVED, Verdict.REFUTED)
    first, second = found.check(factor=2).readings.values()
    assert (first.verdict, second.verdict) == (Verdict.REFUTED, Verdict.PROVED)


def test_every_number_of_participants_is_proved_possible_unless_somebody_always_comes():
    part = claims()["focus.F1.setup"].check().parts["every number of participants"]
    assert part.verdict == Verdict.PROVED
    assert verdict("focus.F1.setup", certain=True) == Verdict.REFUTED

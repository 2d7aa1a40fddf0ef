"""A wrong constant planted in the agnostic paper's claims changes their verdicts."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest

from flverify.claims import (
    agnostic_outside,
    agnostic_total_weight,
    drawn_anew,
    judge,
)
from flverify.claims.agnostic_apart import tracks_apart
from flverify.claims.agnostic_period_one import any_losses
from flverify.claims.agnostic_rounds import mean_of_cohorts, one_period
from flverify.claims.registry import (
    claims_in,
    load_file,
    proofs_folder,
    shipped_claims,
)
from flverify.claims.verdict import Verdict

pytestmark = pytest.mark.slow

PROVED, REFUTED, OPEN = Verdict.PROVED, Verdict.REFUTED, Verdict.INCONCLUSIVE
CERTIFIED, SUPPORTED = Verdict.CERTIFIED, Verdict.SUPPORTED
F = Fraction
FILES = (
    "agnostic_model",
    "agnostic_availability",
    "agnostic_algorithm",
    "agnostic_filtration",
    "agnostic_assumptions",
    "agnostic_tacit",
    "agnostic_lemma2",
    "agnostic_lemma3",
    "agnostic_lemma4",
)
LESS = F(99, 100)


@pytest.fixture(scope="module")
def claims():
    return claims_in([proofs_folder() / f"{name}.py" for name in FILES])


def readings(finding):
    return [reading.verdict for reading in finding.readings.values()]


@pytest.mark.parametrize(
    ("claim", "passes", "wrong"),
    [
        ("agnostic.eq1.unbiased", PROVED, {"drawn": "with replacement"}),
        ("agnostic.meanid", PROVED, {"power": 0}),
        ("agnostic.meanid", PROVED, {"power": 2}),
        ("agnostic.uniform-corner", PROVED, {"power": 0}),
        ("agnostic.assump1", PROVED, {"lines": "smallest"}),
        ("agnostic.assump2", PROVED, {"sigma_squared": LESS}),
        ("agnostic.assump2", PROVED, {"sigma_squared": 2}),  # larger than attained
        ("agnostic.assump3", PROVED, {"factor": LESS}),
        ("agnostic.tacit", PROVED, {"factor": LESS}),
        ("agnostic.serverstep", PROVED, {"divisor": "N"}),
        ("agnostic.eq5", PROVED, {"factor": LESS}),
        ("agnostic.lemma4", PROVED, {"power": 2}),
    ],
)
def test_a_claim_that_passes_is_refuted(claims, claim, passes, wrong):
    assert claims[claim].check().verdict == passes
    assert claims[claim].check(**wrong).verdict == REFUTED


@pytest.mark.parametrize(
    ("claim", "shown", "mended"),
    [
        ("agnostic.iid", PROVED, {"stay": F(1, 2)}),
        ("agnostic.iid", PROVED, {"weights": "given the past"}),
        ("agnostic.alg1.init", CERTIFIED, {"condition": "0 in C"}),
    ],
)
def test_a_refuted_claim_is_mended_by_a_proof(claims, claim, shown, mended):
    finding = claims[claim].check()
    assert finding.verdict == REFUTED
    assert finding.correction.finding.verdict == shown
    assert claims[claim].check(**mended).verdict == shown


def test_what_mends_them_is_not_proved_with_less():
    assert tracks_apart(0, 2, 0).passes()
    assert not tracks_apart(0, LESS * 2, 0).passes()
    assert not tracks_apart(0, 2, 1).passes()
    assert mean_of_cohorts().passes()
    assert not mean_of_cohorts(LESS).passes()
    assert any_losses("(7)")().passes()
    assert not one_period((2, LESS * 2, 8)).passes()


def test_a_period_of_one_depends_on_whether_a_communication_takes_a_tick(claims):
    finding = claims["agnostic.alg1.H1"].check()
    assert [one.verdict for one in finding.readings.values()] == [REFUTED, PROVED]
    assert finding.correction.finding.verdict == PROVED
    less = claims["agnostic.alg1.H1"].check(terms="1/10").readings.values()
    assert [one.verdict for one in less] == [REFUTED] * 2


def test_a_little_memory_is_enough_to_refute(claims):
    assert claims["agnostic.iid"].check(stay=F(51, 100)).verdict == REFUTED


def test_the_total_weight_of_rule_10_is_above_1_unless_the_p_i_are_equal():
    found = agnostic_total_weight.total_weight("10")
    assert (found.verdict, found.scope) == (PROVED, agnostic_total_weight.EVERY)
    assert agnostic_total_weight.total_weight("inf").verdict == REFUTED


@pytest.mark.parametrize(
    ("found", "verdict"),
    [(1, PROVED), ("19/20", REFUTED), (-1, REFUTED), (2, REFUTED)],
)
def test_a_point_near_the_minimiser_is_no_optimal_one(found, verdict):
    tacit = load_file(proofs_folder() / "agnostic_tacit.py")
    assert tacit.disagreement(tacit.rational(found)).verdict == verdict


def test_equal_weights_make_clients_equally_likely_where_the_size_is_fixed(claims):
    found = claims["agnostic.uniform-corner"].check()
    assert "a cohort of M" in str(found.parts["p_i = 1/N"].evidence["identities"])
    assert found.parts["no converse"].scope.startswith("S = {1} with 1/3, {2, 3}")


def test_every_convex_loss_of_a_score_will_do():
    model = load_file(proofs_folder() / "agnostic_model.py")
    found = model.largest_of_lines()
    assert found.verdict == PROVED
    assert found.scope.startswith("every convex loss")


@pytest.mark.parametrize(
    ("factor", "verdict"), [(LESS, REFUTED), (1, PROVED), (F(101, 100), PROVED)]
)
def test_a_larger_lipschitz_constant_inside_theta_is_not_refuted(factor, verdict):
    tacit = load_file(proofs_folder() / "agnostic_tacit.py")
    assert tacit.inside(factor).verdict == verdict


def test_local_steps_are_counted_before_each_communication():
    loop = load_file(proofs_folder() / "agnostic_algorithm.py")
    found = loop.counts("literal", 1)
    assert found.parts["communications"].parts["none between"].verdict == PROVED
    shown = str(found.parts["local steps"].evidence["identities"])
    assert "in round r" in shown
    assert "in r rounds" in shown  # T(H - 1) in all, as the correction says
    assert loop.steps_before_each(1, 0).verdict == REFUTED


def test_a_client_that_takes_no_step_is_noticed_whichever_it_is(monkeypatch):
    loop = load_file(proofs_folder() / "agnostic_algorithm.py")
    assert judge.instances(loop.steps("separate", 0), "==", "runs").passes()

    def lazy_last(_word, rounds, period, n):
        return [], [rounds * period] * (n - 1) + [rounds * period if n == 1 else 0]

    monkeypatch.setattr(loop, "executed", lazy_last)
    assert not judge.instances(loop.steps("separate", 0), "==", "runs").passes()


@pytest.mark.parametrize("model", [drawn_anew.by_weights, drawn_anew.by_chances])
def test_two_models_of_availability_are_covered_for_every_number_of_clients(model):
    found = model(nobody=False)
    assert found.verdict == PROVED
    assert found.scope.startswith("every N, ")
    assert model(nobody=True).verdict == REFUTED


@pytest.mark.parametrize(
    ("claim", "printed", "wrong", "planted"),
    [
        (
            "agnostic.eq1",
            [REFUTED, PROVED, REFUTED, PROVED],
            {"score_loss": "capped"},
            [REFUTED, REFUTED, REFUTED, PROVED],
        ),
        (
            "agnostic.subsumes",
            [PROVED, PROVED, REFUTED, REFUTED, REFUTED],
            {"nobody": True},
            [REFUTED] * 5,
        ),
        (
            "agnostic.alg1",
            [REFUTED, PROVED],
            {"missing": 1},
            [PROVED, REFUTED],
        ),
        (
            "agnostic.alg1.allpull",
            [PROVED, REFUTED],
            {"receives": "after averaging"},
            [REFUTED, REFUTED],
        ),
        (
            "agnostic.alg1.return",
            [PROVED, REFUTED, REFUTED, REFUTED],
            {"factor": LESS},
            [REFUTED] * 4,
        ),
        (
            "agnostic.filtration",
            [PROVED, REFUTED],
            {"stay": F(51, 100)},
            [REFUTED, REFUTED],
        ),
        (
            "agnostic.assump2.idx",
            [PROVED, REFUTED],
            {"factor": LESS},
            [REFUTED, REFUTED],
        ),
        (
            "agnostic.lipschitz",
            [REFUTED, PROVED, PROVED, PROVED],
            {"interior": True},
            [PROVED] * 4,
        ),
        (
            "agnostic.lipschitz",
            [REFUTED, PROVED, PROVED, PROVED],
            {"factor": LESS},
            [REFUTED] * 4,
        ),
        (
            "agnostic.lemma2",
            [REFUTED, CERTIFIED, REFUTED],
            {"terms": {"sigma^2": F(0), "G^2": LESS}},
            [REFUTED] * 3,
        ),
        (
            "agnostic.lemma2.sigma",
            [CERTIFIED, REFUTED],
            {"terms": {"sigma^2": F(0), "G^2": LESS}},
            [REFUTED] * 2,
        ),
    ],
)
def test_each_reading_follows_the_constants(claims, claim, printed, wrong, planted):
    assert readings(claims[claim].check()) == printed
    assert readings(claims[claim].check(**wrong)) == planted


def test_sigma_is_superfluous_and_a_larger_g_term_does_not_save_other_estimators(
    claims,
):
    sharp = claims["agnostic.lemma2"].check(terms={"sigma^2": F(0), "G^2": F(1)})
    assert readings(sharp) == [REFUTED, CERTIFIED, REFUTED]
    loose = claims["agnostic.lemma2"].check(terms={"sigma^2": F(9), "G^2": F(9)})
    assert readings(loose)[2] == REFUTED


@pytest.mark.parametrize(
    ("noise", "square", "verdict"),
    [(1, 1, CERTIFIED), (2, 2, CERTIFIED), (LESS, 1, REFUTED), (1, LESS, REFUTED)],
)
def test_a_noisy_client_needs_its_own_sigma_in_full(noise, square, verdict):
    lemma = load_file(proofs_folder() / "agnostic_lemma2.py")
    terms = {"sigma^2": F(noise), "G^2": F(square)}
    assert lemma.own_step(terms).verdict == verdict


def test_the_sharp_lemma_3_and_its_chain(claims):
    for key in ("agnostic.lemma3", "agnostic.cor1"):
        inside = [CERTIFIED, CERTIFIED]
        assert readings(claims[key].check()) == [*inside, REFUTED]
        assert readings(claims[key].check(factor=2)) == [*inside, REFUTED]
        assert claims[key].check(factor=F(99, 50)).verdict == REFUTED
        assert claims[key].check().correction.finding.passes()


@pytest.mark.parametrize("schedule", ["literal", "separate"])
def test_a_bound_above_the_sharp_lemma_3_is_attained_by_no_lines(schedule):
    lemma = load_file(proofs_folder() / "agnostic_lemma3.py")
    assert lemma.attained(schedule, 2).passes()
    looser = lemma.attained(schedule, 3)
    assert looser.parts["bound"].passes()
    assert not looser.parts["attained"].passes()


@pytest.mark.parametrize("factor", [4, 7])
def test_models_that_choose_who_comes_are_further_apart(factor):
    """f_i = 0, gradients +-m or, mostly, 0 with G = 1; the farthest model comes."""
    m = 2 * factor
    others_stay = (1 - F(1, m**2)) ** m**2  # of N = m^2 clients, for eta = H = 1
    assert m * (1 - others_stay) > factor
    scope = tracks_apart(0, factor, 0).scope
    assert scope.startswith("windows that start in C, S independent of their models")
    scope = one_period((2, 3, 8)).scope  # (7), and so what is from it
    assert "S independent of the models" in scope


def test_the_first_window_is_refuted_only_by_the_way_into_c(claims):
    finding = claims["agnostic.lemma3"].check(factor=30)
    assert readings(finding)[2] != REFUTED  # 30/20 H is more than the way to C


@pytest.mark.parametrize("largest", [1, 10, 10**9])
def test_no_lipschitz_constant_is_large_enough(claims, largest):
    finding = claims["agnostic.lipschitz"].check(largest=largest)
    assert readings(finding)[0] == REFUTED


def test_an_example_that_is_none_refutes_no_lipschitz_constant(monkeypatch):
    tacit = load_file(proofs_folder() / "agnostic_tacit.py")
    wrong = judge.identity([("gap", 1, 2)], "all u, v")
    monkeypatch.setattr(tacit, "steep_and_convex", lambda: wrong)
    constants = SimpleNamespace(interior=False, largest=10)
    assert tacit.argued(constants).verdict == OPEN


def test_a_claim_about_other_papers_stays_open(claims):
    assert claims["agnostic.novelty"].check().verdict == OPEN


def test_from_outside_of_c_the_first_of_several_steps_is_paid_for():
    claim = shipped_claims()["agnostic.eq7.outside"]
    found = claim.check()
    assert (found.verdict, claim.control().verdict) == (REFUTED, PROVED)
    assert found.correction.finding.verdict == PROVED
    # k + 3 times eta^2 G^2, at k = 2, and 4 k^2 - 2 k times ell eta^2 G
    assert agnostic_outside.first_period((0, Fraction(5, 2), 4), 2).passes()
    assert not agnostic_outside.first_period((0, Fraction(249, 100), 4), 2).passes()
    assert not agnostic_outside.first_period((0, Fraction(5, 2), 3), 2).passes()


def test_the_client_that_is_led_away_is_inside_the_assumptions():
    (case, *_) = agnostic_outside.led_away((2, 3, 8), 1)
    assert case.recheck() == (case.left, case.right)
    assert case.left > case.right
    (a, b), end = agnostic_outside.SLOPE, agnostic_outside.END
    assert a**2 + b**2 == 1  # gradients of length 1, and a along C
    assert agnostic_outside._line((agnostic_outside.BEST, Fraction(1))) == 0
    assert abs(agnostic_outside.BEST) <= end  # so theta* in C minimises |.| everywhere
    assert agnostic_outside._line((Fraction(0), Fraction(0))) > 0  # and not at theta^0

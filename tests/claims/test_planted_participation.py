"""A wrong constant planted in each claim on participation changes its verdict."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.claims import judge
from flverify.claims.close_chances import closeness
from flverify.claims.printed_mixing import LABELS
from flverify.claims.registry import claims_in, proofs_folder
from flverify.claims.verdict import Verdict

pytestmark = pytest.mark.slow

PROVED, REFUTED, OPEN = Verdict.PROVED, Verdict.REFUTED, Verdict.INCONCLUSIVE
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
FILES = (
    "focus_mixing",
    "focus_mixing_means",
    "focus_participation",
    "focus_empty_round",
    "focus_sampling",
    "agnostic_weights",
    "agnostic_objective",
)


@pytest.fixture(scope="module")
def claims():
    return claims_in([proofs_folder() / f"{name}.py" for name in FILES])


def readings(finding):
    return [reading.verdict for reading in finding.readings.values()]


@pytest.mark.parametrize(
    ("claim", "wrong"),
    [
        ("focus.toy.assign_avg", {"assign": ((1, 0, 0), (1, 0, 0), (0, 0, 2))}),
        ("focus.toy.assign_avg", {"avg": ((0, HALF, HALF), (0, 1, 0), (1, 0, 1))}),
        ("focus.def.stochastic", {"total": Fraction(101, 100)}),
        ("focus.def.stochastic", {"labels": {**LABELS, "C": "doubly"}}),
        ("focus.eq4.R", {"kind": "doubly"}),
        ("focus.def.C", {"kind": "doubly"}),
        ("focus.eq36.examples", {"pair": (0, HALF, HALF, 0, 0)}),
        ("focus.eq36.examples", {"triple": (0, 0, THIRD, THIRD, Fraction(34, 101))}),
        ("focus.assump1", {"power": 0}),
        ("focus.assump1", {"power": 2}),
        ("focus.case1", {"q_times_n": Fraction(101, 100)}),
        ("agnostic.eq2", {"power": 0}),
        ("agnostic.eq2", {"power": 2}),
        ("agnostic.lemma1", {"nobody": True}),
        ("agnostic.eq4", {"among": "[N]"}),
        ("agnostic.eq10", {"factor": Fraction(101, 100)}),
    ],
)
def test_a_proved_claim_is_refuted(claims, claim, wrong):
    assert claims[claim].check().verdict == PROVED
    assert claims[claim].check(**wrong).verdict == REFUTED


@pytest.mark.parametrize(
    ("claim", "half_mended", "mended"),
    [
        ("focus.eq4.A", {}, {"participant": "j"}),
        (
            "focus.fig1.matrices",
            {"participant": "j", "diagonals": ("others",)},
            {"participant": "j", "weight": "1/(|S|+1)", "diagonals": ("others",)},
        ),
        ("focus.case3a", {}, {"q": "1/N"}),
    ],
)
def test_a_refuted_claim_is_mended_by_all_of_its_repair(
    claims, claim, half_mended, mended
):
    finding = claims[claim].check()
    assert finding.verdict == REFUTED
    assert not claims[claim].check(**half_mended).passes()
    assert claims[claim].check(**mended).verdict == PROVED
    if finding.correction:
        assert finding.correction.finding.verdict == PROVED


@pytest.mark.parametrize(
    ("claim", "printed", "wrong", "planted"),
    [
        ("focus.eq5.Rbar", [REFUTED, REFUTED, PROVED], {"chance": "q_i"}, 3),
        ("focus.def.W4", [*[REFUTED] * 3, PROVED], {"linked": "all"}, 4),
        ("focus.eq5.Abar", [REFUTED, PROVED, PROVED, REFUTED], {"weight": "p_i"}, 4),
        ("focus.eq5.Cbar", [PROVED, REFUTED], {"weight": "p_i"}, [PROVED, PROVED]),
        ("focus.eq37.Wbar", [PROVED, *[REFUTED] * 4], {"weight": "p_i"}, 5),
        (
            "focus.assump1.empty",
            [REFUTED, REFUTED, PROVED, PROVED, REFUTED],
            {"total": Fraction(99, 100)},
            [REFUTED, REFUTED, REFUTED, PROVED, REFUTED],
        ),
        (
            "focus.case2",
            [PROVED, REFUTED, REFUTED, PROVED, PROVED],
            {"factor": Fraction(99, 200)},
            [PROVED, REFUTED, REFUTED, REFUTED, REFUTED],
        ),
        (
            "focus.case3",
            [PROVED, PROVED, REFUTED, REFUTED],
            {"extra_draws": 1},
            4,
        ),
        (
            "agnostic.eq3",
            [PROVED, REFUTED, REFUTED, PROVED, PROVED, REFUTED],
            {"local_steps": 1},
            [PROVED, Verdict.SUPPORTED, REFUTED, PROVED, PROVED, REFUTED],
        ),
        (
            "agnostic.eq3",
            [PROVED, REFUTED, REFUTED, PROVED, PROVED, REFUTED],
            {"power": 2},
            6,
        ),
    ],
)
def test_each_reading_follows_the_constants(claims, claim, printed, wrong, planted):
    """A number for `planted` stands for that many refuted readings."""
    expected = [REFUTED] * planted if isinstance(planted, int) else planted
    finding = claims[claim].check()
    assert finding.verdict == OPEN
    assert readings(finding) == printed
    assert readings(claims[claim].check(**wrong)) == expected


def test_weights_are_bounded_for_one_participant_and_for_everybody(claims, monkeypatch):
    """|S| = 1 + t among 1 + t + a clients: t and a may be 0."""
    seen, real = [], judge.nonnegative

    def watched(named, scope):
        seen.extend(named)
        return real(named, scope)

    monkeypatch.setattr(judge, "nonnegative", watched)
    assert claims["focus.assump1"].check().verdict == PROVED
    symbols = {symbol for _, value in seen for symbol in value.free_symbols}
    assert {str(symbol) for symbol in symbols} == {"a", "t"}
    assert not any(symbol.is_positive for symbol in symbols)


def test_case_2_says_to_what_its_error_is_relative(claims):
    """Of the two, only the error relative to p_i / sum_j p_j is half the spread."""
    p = Fraction(1), Fraction(1, 1000)
    rare = p[1] / 2  # client 1 always comes
    target, half = p[1] / sum(p), (p[0] - p[1]) / 2
    assert abs(rare / target - 1) <= half < abs(target / rare - 1)
    assert "relative to p_i / sum_j p_j" in claims["focus.case2"].proposition


def test_a_weaker_bound_on_case_2_is_true_and_not_refuted(claims):
    finding = claims["focus.case2"].check(factor=Fraction(3, 5))
    assert readings(finding)[3:] == [PROVED, PROVED]


def test_case_2_is_proved_for_any_number_of_clients_and_not_below_a_half():
    assert closeness(HALF).scope == "every N and every p_i that the convention allows"
    assert not closeness(Fraction(49, 100)).passes()


def test_more_local_steps_move_the_mean_further(claims):
    for local_steps in (2, 3, 5):
        finding = claims["agnostic.eq3"].check(local_steps=local_steps)
        assert readings(finding)[1] == REFUTED


@pytest.mark.parametrize(
    ("claim", "wrong", "part"),
    [
        ("focus.case2", {"factor": Fraction(-5)}, "approximation"),
        ("focus.assump1.empty", {"total": 7}, "weights"),
        ("agnostic.eq3", {"power": 0}, "sum of p_i"),
    ],
)
def test_a_wrong_constant_refutes_a_claim_of_several_parts(claims, claim, wrong, part):
    finding = claims[claim].check(**wrong)
    assert finding.verdict == REFUTED
    assert finding.evidence["part"] == part


@pytest.mark.parametrize(
    ("claim", "wrong", "reading"),
    [
        ("focus.case2", {"total": Fraction(26, 15)}, 0),
        ("focus.assump1.empty", {"empty_step": Fraction(99, 100)}, 3),
    ],
)
def test_a_wrong_constant_refutes_a_note(claims, claim, wrong, reading):
    assert readings(claims[claim].check())[reading] == PROVED
    assert readings(claims[claim].check(**wrong))[reading] == REFUTED


def test_two_ways_are_doubly_stochastic_but_not_as_drawn(claims):
    found = claims["focus.def.W4"].check()
    reason = found.readings["(ii) the diagonal's sum runs over i != j"].reason
    assert "which is = doubly stochastic" in reason
    assert "0 == 1/3" in reason
    assert found.correction.finding.verdict == PROVED
    one = {"diagonals": ("others",), "letters": ("separate",)}
    assert not claims["focus.def.W4"].check(**one).passes()
    mended = claims["focus.def.W4"].check(weight="1/(|S|+1)", **one)
    assert mended.verdict == PROVED


def test_no_q_is_right_for_both_means(claims):
    pulled = claims["focus.eq5.Rbar"].check()
    assert pulled.correction.finding.verdict == PROVED
    assert pulled.readings["q_i = p_i"].verdict == PROVED
    other = claims["focus.eq5.Abar"].check(weight="p_i").readings
    assert {one.verdict for one in other.values()} == {REFUTED}
    assert "focus.eq5.Abar judges" in claims["focus.eq5.Rbar"].proposition


def test_both_wrong_matrices_of_figure_1_are_named(claims):
    reason = claims["focus.fig1.matrices"].check().reason
    assert "A off the diagonal: 0 == 1/2" in reason
    assert "W off the diagonal: 1/2 == 1/3" in reason


def test_the_data_of_the_empty_round_matter(claims):
    everybody = (HALF, THIRD, Fraction(1))
    finding = claims["focus.assump1.empty"].check(p=everybody)
    assert readings(finding)[:3] != [REFUTED, REFUTED, PROVED]

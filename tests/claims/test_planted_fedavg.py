"""A wrong constant planted in each claim about FedAvg changes its verdict."""

from fractions import Fraction

import pytest

from flverify.claims import fedavg_flat_minimum, judge
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict
from flverify.reference import fedavg

pytestmark = pytest.mark.slow

REFUTED, PROVED = Verdict.REFUTED, Verdict.PROVED
INCONCLUSIVE = Verdict.INCONCLUSIVE
MENDED = {"drift_L": 0, "bias_Lmu": 1}


@pytest.fixture(scope="module")
def matrix_form():
    return load_file(proofs_folder() / "fedavg_matrix_form.py")


@pytest.fixture(scope="module")
def theorem2():
    return load_file(proofs_folder() / "fedavg_theorem2.py")


@pytest.fixture(scope="module")
def agnostic():
    return load_file(proofs_folder() / "agnostic_fixed_point.py")


def verdicts(finding):
    return [reading.verdict for reading in finding.readings.values()]


def test_a_server_objective_breaks_the_stack(matrix_form):
    assert matrix_form.notation_stack.check().verdict == PROVED
    for wrong in (1, -2, Fraction(1, 100)):
        assert matrix_form.notation_stack.check(f_0=wrong).verdict == REFUTED


@pytest.mark.parametrize("range_from", [0, 2])
def test_a_shifted_range_breaks_the_one_index_form(matrix_form, range_from):
    wrong = {"weights_at": "[0, i]", "range_from": range_from, "pulled": range_from}
    assert matrix_form.fedavg_one_index.check(**wrong).verdict == REFUTED


def test_the_mended_range_does_not_save_the_printed_weights(matrix_form):
    finding = matrix_form.fedavg_one_index.check(range_from=1)
    assert verdicts(finding) == [PROVED, PROVED, REFUTED, REFUTED] * 2


def test_the_printed_range_is_what_breaks_the_one_index_form(matrix_form):
    finding = matrix_form.fedavg_one_index.check()
    assert verdicts(finding) == [REFUTED] * 4 + [PROVED, PROVED, REFUTED, REFUTED]
    passing = [one for one in finding.readings.values() if one.passes()]
    assert all(one.scope.startswith("every N and tau") for one in passing)


def test_a_longer_local_part_breaks_both_counts(matrix_form):
    assert verdicts(matrix_form.fig2_schedule.check()) == [REFUTED, PROVED]
    assert matrix_form.fig2_schedule.check(local_to=2).verdict == REFUTED
    finding = matrix_form.fig2_schedule.check(local_from=1, local_to=0)
    assert verdicts(finding) == [PROVED, PROVED]
    # tau iterations, one of them after the round
    finding = matrix_form.fig2_schedule.check(local_to=1)
    assert verdicts(finding) == [PROVED, REFUTED]
    assert verdicts(matrix_form.fig2_schedule.check(local_from=3)) == [REFUTED, REFUTED]


def test_the_communication_of_the_single_line_follows_the_first_index(matrix_form):
    found = matrix_form.singleline.check()
    assert verdicts(found) == [PROVED, PROVED, REFUTED]
    scopes = [one.parts["trajectory"].scope for one in found.readings.values()][:2]
    assert all(scope.startswith("every N and tau") for scope in scopes)
    assert matrix_form.singleline.check(communication=1).verdict == REFUTED
    early = matrix_form.singleline.check(communication=-1)
    assert verdicts(early) == [REFUTED, REFUTED, PROVED]


def test_the_drift_is_of_order_eta(theorem2):
    assert theorem2.drift_li.check(power=1).verdict == PROVED
    assert verdicts(theorem2.drift_li.check()) == [REFUTED, PROVED]
    assert verdicts(theorem2.drift_li.check(power=3)) == [REFUTED, INCONCLUSIVE]


def test_the_drift_of_two_clients_is_told_with_what_it_needs(theorem2):
    """h = 1, 2 and b = -2, 1 have x* = 0, and FedAvg rests elsewhere."""
    h, b, step = (1, 2), (-2, 1), Fraction(1, 8)
    assert sum(v * w for v, w in zip(h, b, strict=True)) == 0
    kept = [(1 - step * v) ** 2 for v in h]
    rests = sum((1 - a) * w for a, w in zip(kept, b, strict=True)) / sum(
        1 - a for a in kept
    )
    assert rests != 0  # so it is no multiple of |x*|
    told = theorem2.drift_li.check().correction.statement
    for needed in ("different curvatures and minimisers", r"x^\star\ne0", r"\tau>1"):
        assert needed in told


def test_an_empty_cohort_that_is_kept_never_arrives(theorem2):
    """Nobody comes in any round, or everybody in each, as a coin says once: p_i = 1/2.

    f_i = x^2/2: half of the runs stay at x_0 = 1, and E|x_r - x*|^2 is 1/2 or more.
    """
    claim = theorem2.corollary3
    assert "independent rounds" in claim.proposition
    ends = [
        fedavg.run(
            lambda _, x: x,
            2,
            [Fraction(1)],
            [cohort] * 20,
            step_size=Fraction(1, 4),
            local_steps=1,
        )[-1][0]
        for cohort in ((), (0, 1))
    ]
    assert sum(x * x for x in ends) / 2 >= Fraction(1, 2)
    correction = claim.check().correction
    assert correction.finding.verdict == PROVED
    assert "independent rounds" in correction.statement


def test_what_bends_the_flat_client_is_proved_where_it_is_used(monkeypatch):
    """1 - n_2 is u^2/8 to the leading order at x = (u, 2): 8 is too little."""
    assert fedavg_flat_minimum._far(2, 1).verdict == PROVED
    monkeypatch.setattr(fedavg_flat_minimum, "BENT", 8)
    assert not fedavg_flat_minimum._far(2, 1).passes()


def test_each_dimension_of_theorem_2_matters(theorem2):
    assert verdicts(theorem2.theorem2.check()) == [PROVED, REFUTED]
    one = theorem2.theorem2.check(bias_Lmu=1)
    assert verdicts(one) == [PROVED, PROVED]
    other = theorem2.theorem2.check(drift_L=0)
    assert verdicts(other) == [PROVED, REFUTED]


def test_whether_all_heterogeneous_clients_are_meant_decides_the_remark(theorem2):
    assert verdicts(theorem2.remark.check()) == [REFUTED, REFUTED, PROVED]
    nobody_out = theorem2.remark.check(spared="0")
    assert verdicts(nobody_out) == [REFUTED, REFUTED, REFUTED]


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"bias": Fraction(1, 2)}, [PROVED, REFUTED]),
        ({"bias": 4, "variance": 2, "drift": 0}, [PROVED, PROVED]),
        ({"bias": 3}, [PROVED, INCONCLUSIVE]),
        ({"variance": Fraction(1, 2)}, [REFUTED, REFUTED]),
    ],
)
def test_smaller_constants_break_the_mended_theorem(theorem2, wrong, expected):
    assert verdicts(theorem2.theorem2.check(**MENDED, **wrong)) == expected


def test_half_breaks_corollaries_1_and_2(theorem2):
    for corollary in (theorem2.corollary1, theorem2.corollary2):
        assert corollary.check().verdict == PROVED
        assert corollary.check(variance=Fraction(1, 2)).verdict == REFUTED
        assert corollary.check(variance=1).verdict == PROVED


def test_the_first_term_of_corollary_1_is_not_needed_but_may_not_be_negative(theorem2):
    assert theorem2.corollary1.check(drift=None, variance=1).verdict == PROVED
    assert theorem2.corollary1.check(drift=-1).verdict == REFUTED


def test_half_breaks_the_reading_of_theorem_2_that_passes(theorem2):
    planted = theorem2.theorem2.check(variance=Fraction(1, 2))
    assert verdicts(planted) == [REFUTED, REFUTED]


def test_different_minimisers_break_corollary_3(theorem2):
    found = theorem2.corollary3.check()
    assert verdicts(found) == [REFUTED, PROVED]
    assert found.correction.finding.verdict == PROVED
    spread = Fraction(1, 1000)
    assert theorem2.corollary3.check(spread=spread).verdict == REFUTED


def test_the_remark_needs_its_exception(theorem2):
    assert verdicts(theorem2.remark.check())[:2] == [REFUTED, REFUTED]
    mended = theorem2.remark.check(unless=theorem2.STATIONARY)
    assert verdicts(mended) == [PROVED, PROVED, PROVED]


def test_the_remark_says_how_its_counterexamples_differ(theorem2):
    drawn, balanced, _ = theorem2.remark.check().readings.values()
    assert "sharing a minimiser" in drawn.reason
    assert "of different minimisers" in balanced.reason


def test_the_fixed_point_is_a_reading_of_the_conjecture(agnostic):
    objective = load_file(proofs_folder() / "agnostic_objective.py")
    one, many, *_ = objective.induced_objective.check().readings.values()
    assert many.verdict == agnostic.fixed_point.check().verdict == REFUTED
    assert one.passes()
    assert agnostic.fixed_point.check(most_local_steps=1).passes()


def test_a_second_local_step_moves_the_fixed_point(agnostic):
    assert agnostic.fixed_point.check(most_local_steps=1).verdict == PROVED
    assert agnostic.fixed_point.check(most_local_steps=2).verdict == REFUTED
    distorted = agnostic.fixed_point.check(target="distorted")
    assert distorted.verdict == PROVED


def test_no_start_or_numbering_saves_the_averages_of_those_who_did_not_pull():
    claim = load_file(proofs_folder() / "fedavg_appendix.py").pull_and_average
    found = claim.check()
    assert found.verdict == REFUTED
    assert len(found.readings) == 8
    met = found.evidence["counterexample"]
    assert "client models" not in met
    # client 2 is averaged in round 2 and has never pulled: it is where it started
    assert str(met["cohorts"]) == "[[1], [1], [2]]"
    assert Fraction(met["x_0"]) == Fraction(found.evidence["left"]) == 4
    assert claim.check(behind=1, rounds_from=(0,)).verdict == PROVED
    assert claim.check(behind=1, rounds_from=(1,)).verdict == REFUTED


def test_lemma_1_is_not_proved_without_lipschitz_gradients(monkeypatch):
    lemmas = load_file(proofs_folder() / "fedavg_lemmas.py")
    assert lemmas.descent.check().verdict == PROVED
    missing = judge.inconclusive("nothing shown")
    monkeypatch.setattr(lemmas, "one_client", lambda: missing)
    assert lemmas.descent.check().verdict == INCONCLUSIVE


def test_lemma_1_is_refuted_at_the_mean_of_the_models_alone():
    """With xbar = q'x no drift is seen to be too small, where any xbar refuted 2/3."""
    one = load_file(proofs_folder() / "fedavg_lemmas.py").descent
    assert one.check(drift="2/3").verdict == INCONCLUSIVE
    found = one.check(bias="2/3")
    assert found.verdict == REFUTED
    assert "xbar" not in found.evidence["counterexample"]

"""A wrong constant planted in each claim about FOCUS changes its verdict."""

import pytest

from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict

REFUTED, PROVED, SUPPORTED = Verdict.REFUTED, Verdict.PROVED, Verdict.SUPPORTED


def _loaded(name):
    return load_file(proofs_folder() / f"{name}.py")


@pytest.fixture(scope="module")
def push_pull():
    return _loaded("focus_push_pull")


@pytest.fixture(scope="module")
def algorithm():
    return _loaded("focus_algorithm")


@pytest.fixture(scope="module")
def turned():
    return _loaded("focus_conversion")


@pytest.fixture(scope="module")
def delayed():
    return _loaded("focus_delayed").delayed


@pytest.fixture(scope="module")
def theorem1():
    return _loaded("focus_theorem1")


@pytest.fixture(scope="module")
def begun():
    return _loaded("focus_theorem1_start")


def verdicts(finding):
    return [reading.verdict for reading in finding.readings.values()]


@pytest.mark.parametrize("wrong", [{"row_sum": 0}, {"column_sum": 2}])
def test_push_pull_needs_stochastic_matrices(push_pull, wrong):
    assert push_pull.pushpull.check().verdict == PROVED
    assert push_pull.pushpull.check(**wrong).verdict == REFUTED


@pytest.mark.parametrize("wrong", [{"y_0": 0}, {"y_0": 2}, {"column_sum": -1}])
def test_tracking_needs_its_start_and_its_columns(push_pull, wrong):
    assert push_pull.tracking.check().verdict == PROVED
    assert push_pull.tracking.check(**wrong).verdict == REFUTED


def test_the_range_and_the_push_decide_the_matrix_form(algorithm):
    claim, held, fails = algorithm.matrix_form, [PROVED] * 2, [REFUTED] * 2
    switched = [PROVED, REFUTED]
    assert verdicts(claim.check()) == [*fails, *fails, *held, *switched]
    assert verdicts(claim.check(range_from=1)) == [*fails, *held, *held, *switched]
    mended = claim.check(range_from=1, push="end")
    assert verdicts(mended) == [*held, *held, *held, *switched]
    late = claim.check(range_from=3, push="end")
    assert verdicts(late) == [*fails, *fails, *held, *switched]


@pytest.mark.parametrize("wrong", [{"tracker": 1}, {"message": -1}])
def test_a_wrong_tracker_or_message_leaves_no_reading_of_the_box(algorithm, wrong):
    held = [PROVED, REFUTED, REFUTED, REFUTED]
    assert verdicts(algorithm.algorithm_1.check()) == held
    assert algorithm.algorithm_1.check(**wrong).verdict == REFUTED


def test_a_push_without_reset_leaves_no_conversion(turned):
    assert verdicts(turned.conversion.check()) == [REFUTED, REFUTED, PROVED, REFUTED]
    assert turned.conversion.check(reset=1).verdict == REFUTED


def test_the_shift_that_fits_the_plain_form(turned):
    found = turned.conversion.check(shift=2)
    assert verdicts(found) == [PROVED, REFUTED, REFUTED, REFUTED]


def test_what_is_counted_decides_the_schedule(turned):
    assert verdicts(turned.fig3_schedule.check()) == [REFUTED, SUPPORTED, REFUTED]
    assert turned.fig3_schedule.check(local_to=-3).verdict == REFUTED


@pytest.mark.parametrize("wrong", [{"up": 2}, {"down": 0}])
def test_one_vector_each_way(turned, wrong):
    assert turned.communication.check().verdict == PROVED
    assert turned.communication.check(**wrong).verdict == REFUTED


def test_the_sum_and_the_step_decide_delayed_gradients(delayed):
    assert verdicts(delayed.check()) == [REFUTED, REFUTED, REFUTED, SUPPORTED]
    assert delayed.check(sum=2).verdict == REFUTED
    # below 2p/(2 - p) = 2/39 at p = 1/20, the smallest p of the search
    slow = delayed.check(fixed_step="1/20")
    assert verdicts(slow) == [REFUTED, REFUTED, SUPPORTED, SUPPORTED]
    assert not delayed.check(step_factor="10").passes()


def test_each_correction_of_the_strongly_convex_bound_is_needed(theorem1):
    claim = theorem1.strongly_convex
    assert claim.check().verdict == REFUTED
    mended = claim.control()
    assert verdicts(mended) == [SUPPORTED] * 6
    without_weight = claim.check(**{**claim.twin, "weight": "8 eta tau L N"})
    assert verdicts(without_weight) == [REFUTED] * 3 + [SUPPORTED] * 3
    without_q = claim.check(**{**claim.twin, "case_3a": "1/m"})
    assert verdicts(without_q)[4] == REFUTED
    faster = claim.check(**{**claim.twin, "contraction": "3"})
    assert faster.verdict == REFUTED


def test_the_error_alone_obeys_the_printed_rate_but_not_a_faster_one(theorem1):
    claim = theorem1.strongly_convex
    assert claim.check().correction.finding.verdict == SUPPORTED
    assert claim.check(contraction="3").correction.finding.verdict == REFUTED


def test_the_polyak_lojasiewicz_bound_needs_its_caps_and_its_rate(theorem1):
    claim = theorem1.polyak_lojasiewicz
    assert claim.check().verdict == REFUTED
    assert claim.check().correction.finding.verdict == SUPPORTED
    assert claim.control().verdict == SUPPORTED
    assert claim.check(**{**claim.twin, "contraction": "3"}).verdict == REFUTED


def test_the_general_bound_depends_on_q_and_on_its_factor(theorem1):
    claim, named = theorem1.general, [SUPPORTED, REFUTED, REFUTED]
    assert verdicts(claim.check()) == [*named, *named, REFUTED, REFUTED]
    named = [SUPPORTED, SUPPORTED, REFUTED]
    assert verdicts(claim.check(case_3a="1/N")) == [*named, *named, REFUTED, REFUTED]
    assert claim.check(factor="1/10").verdict == REFUTED


def test_the_start_decides_whether_algorithm_1_obeys_theorem_1(begun):
    claim = begun.initialisation
    assert verdicts(claim.check()) == [REFUTED] * 4
    assert verdicts(claim.check(stored="start", tracker="sum")) == [SUPPORTED] * 4
    assert claim.check(tracker="sum").verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("bound", ["(25)"])
def test_a_general_bound_of_order_log_is_too_fast(begun, bound):
    assert begun.remark.check().verdict == SUPPORTED
    assert begun.remark.check(**{bound: "log"}).verdict == REFUTED

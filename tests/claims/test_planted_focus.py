"""A wrong constant planted in each claim about FOCUS changes its verdict."""

from fractions import Fraction

import pytest

from flverify.claims.pushed_outward import outward
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict
from flverify.reference import focus

pytestmark = pytest.mark.slow

REFUTED, PROVED, SUPPORTED = Verdict.REFUTED, Verdict.PROVED, Verdict.SUPPORTED
OPEN = Verdict.INCONCLUSIVE


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
    switched = [PROVED, REFUTED, PROVED]  # the last from equal rows
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


EVALUATIONS = "(ii) evaluations, that is updates of y, from pull to push"


def test_what_is_counted_decides_the_schedule(turned):
    found = turned.fig3_schedule.check()
    assert verdicts(found) == [REFUTED, PROVED, REFUTED]
    assert found.readings[EVALUATIONS].scope == "every tau and r"
    assert turned.fig3_schedule.check(local_to=-3).verdict == REFUTED


@pytest.mark.parametrize("wrong", [{"up": 2}, {"down": 0}])
def test_one_vector_each_way(turned, wrong):
    assert turned.communication.check().verdict == PROVED
    assert turned.communication.check(**wrong).verdict == REFUTED


def test_the_sum_and_the_step_decide_delayed_gradients(delayed):
    first = [REFUTED, REFUTED, REFUTED]  # from round 0
    found = delayed.check()
    assert verdicts(found) == [*first, REFUTED, PROVED, REFUTED]
    last = [*found.readings.values()][4].parts["convergence"]
    assert "at the clients' rows, as once every client has joined" in last.scope
    assert delayed.check(sum=2).verdict == REFUTED
    # a client that is rare enough, p = step/2, denies it to any step size
    for step in ("1/20", "1/1000", "1", "3"):
        slow = delayed.check(fixed_step=step)
        assert verdicts(slow) == [*first, REFUTED, PROVED, REFUTED]
    for wrong in ("1/7", "10"):  # the proof stops at 1/8
        assert verdicts(delayed.check(step_factor=wrong))[4] == OPEN


def test_a_cohort_that_is_kept_has_another_limit():
    kept = _loaded("focus_delayed")
    assert kept._one_kept().verdict == REFUTED
    assert kept._played(Fraction(1, 8)) == (1, 0)
    x = 1.0
    for _ in range(200):  # whoever comes, the other's gradient stays 1
        x -= (x + 1) / 8
    assert abs(x + 1) < 1e-9
    assert kept._played(Fraction(3)) == (0, 0)  # the model goes away, to no limit


def test_delayed_gradients_converge_where_f_i_are_smooth(delayed):
    """x^4 + x^2/2 is strongly convex, and steps of 1/8 from 100 go ever farther."""
    x = Fraction(100)
    for _ in range(3):
        x, before = x - Fraction(1, 8) * (4 * x**3 + x), x
        assert abs(x) > abs(before)
    last = [*delayed.check().readings.values()][4].parts["convergence"]
    assert last.verdict == PROVED
    assert "L-smooth f_i" in last.scope
    assert "L-smooth f_i" in delayed.proposition


def test_without_independent_rounds_delayed_gradients_do_not_converge(delayed):
    """One of two clients is drawn and kept: its minimum is approached, not x*."""
    assert "rounds are independent" in delayed.proposition
    *_, small, kept = delayed.check().readings.values()
    assert "independent rounds" in small.scope
    assert kept.parts["convergence"].verdict == REFUTED
    models = focus.run(
        lambda i, x: [x[0] - (-1, 1)[i]],
        2,
        [Fraction(0)],
        [{0}] * 40,
        step_size=Fraction(1, 8) * Fraction(1, 4) / 2,  # factor p^2/(L N), p = 1/2
    )
    assert models[-1][0] < -Fraction(1, 10) < models[0][0] == 0  # x* = 0


def test_psi_as_printed_does_not_shrink_where_its_weight_is_positive(theorem1):
    """64 clients x^2/2, one of them in each round, two local steps, all models 1."""
    n, eta, q = 64, Fraction(1, 52224), Fraction(1, 64)
    assert eta <= Fraction(3, 27 * n)
    assert eta**2 <= q**3 / (64 * n)
    weight, kept = 1 - 8 * eta * 2 * n, 1 - eta  # a row goes to z + kept (w - z)
    assert weight > Fraction(1, 2)
    # means of w^2, w s and s^2, s the sum of the rows z, and of the sum of z^2
    ww, ws, ss, zz = Fraction(1), Fraction(n), Fraction(n**2), Fraction(n)
    for _ in range(28):
        moved = kept**2 * (ww - 2 * ws / n + zz / n)
        ss += moved + 2 * kept * (ws - ss / n)
        zz += moved + 2 * kept * (ws - zz) / n
        ws += kept * (ww - ws / n)
        apart = n * ww - 2 * ws + zz  # the rows from the model that was pulled
        ww, ws = ww - 2 * eta * ws + eta**2 * ss, ws - eta * ss
    psi, bound = ww + weight * apart, (1 - eta * n / 2) ** 28
    assert psi > bound
    found = theorem1.strongly_convex.check().readings
    one = found["Psi as printed, its weight at least 1/2; q_i = E[I_i/|S|]"]
    assert one.evidence["part"] == "Psi_R <= (1 - eta mu N/2)^R Psi_0"
    assert Fraction(one.evidence["left"]) == psi
    assert Fraction(one.evidence["right"]) == bound
    assert len(found) == 9


def test_each_correction_of_the_strongly_convex_bound_is_needed(theorem1):
    claim = theorem1.strongly_convex
    assert claim.check().verdict == REFUTED
    mended = claim.control()
    assert verdicts(mended) == [PROVED] * 9
    without_weight = claim.check(**{**claim.twin, "weight": "8 eta tau L N"})
    assert verdicts(without_weight) == [REFUTED] * 3 + [SUPPORTED] * 3 + [PROVED] * 3
    without_q = claim.check(**{**claim.twin, "case_3a": "1/m"})
    assert verdicts(without_q)[7] == REFUTED
    faster = claim.check(**{**claim.twin, "contraction": "3"})
    assert faster.verdict == REFUTED


def test_the_error_alone_obeys_the_printed_rate_but_not_a_faster_one(theorem1):
    claim = theorem1.strongly_convex
    assert claim.check().correction.finding.verdict == PROVED
    assert claim.check(contraction="3").correction.finding.verdict == REFUTED


def test_the_polyak_lojasiewicz_bound_needs_its_caps_and_its_rate(theorem1):
    claim = theorem1.polyak_lojasiewicz
    found = claim.check()
    assert (found.verdict, found.correction.finding.verdict) == (REFUTED, PROVED)
    assert claim.control().verdict == PROVED
    faster = claim.check(**{**claim.twin, "contraction": "3"})
    assert (faster.verdict, faster.correction.finding.verdict) == (REFUTED, REFUTED)


def test_the_general_bound_depends_on_q_and_on_its_factor():
    claim = _loaded("focus_theorem1_nonconvex_bound").general
    never, named = [REFUTED] * 3, [PROVED, REFUTED, REFUTED]  # the printed index
    rest = [REFUTED] * 4  # any rows, Assumption 2 as printed, empty rounds left out
    found = claim.check()
    assert verdicts(found) == [*never, *named, *rest]
    assert found.correction.finding.verdict == PROVED
    named = [PROVED, PROVED, REFUTED]
    assert verdicts(claim.check(case_3a="1/N")) == [*never, *named, *rest]
    assert claim.check(factor="1/10").verdict == REFUTED


def test_the_start_decides_whether_algorithm_1_obeys_theorem_1(begun):
    claim = begun.initialisation
    found = claim.check()
    assert verdicts(found) == [REFUTED] * 4
    _, at_minimisers, _, stored_at_start = found.readings.values()
    # from such rows (23) holds with the weight of (102); the bound of (25) is 0
    told = {name: part.verdict for name, part in at_minimisers.parts.items()}
    assert told == {"(23)": PROVED, "(24)": REFUTED, "(25)": REFUTED}
    assert at_minimisers.evidence["counterexample"]["tau"] == 200
    # the server stands still for ever
    assert {part.verdict for part in stored_at_start.parts.values()} == {REFUTED}
    late = stored_at_start.parts["(25)"].evidence
    assert int(late["counterexample"]["R"]) > 4
    assert verdicts(claim.check(stored="start", tracker="sum")) == [SUPPORTED] * 4
    assert claim.check(tracker="sum").verdict == Verdict.INCONCLUSIVE


def test_the_repaired_start_needs_a_cap_on_local_steps_in_24(begun):
    claim = begun.initialisation
    mended = claim.check().correction
    assert mended.finding.verdict == claim.control().verdict == PROVED
    assert r"\tau=1" in mended.statement
    printed = claim.check(**{**claim.twin, "caps": begun.CAPS})
    assert verdicts(printed) == [REFUTED] * 2
    found = next(iter(printed.readings.values()))
    assert found.evidence["part"] == "(24), more local steps"


# curvatures, eta, tau, rounds: caps of (24) hold, Phi_0 = F(x_0) - F*, x_0 = 1
RUNAWAY = [
    (("1",), "1/16", 51, 30),
    (("-1/2", "1"), "3/128", 1001, 2),
]


@pytest.mark.parametrize(("curvatures", "step", "tau", "rounds"), RUNAWAY)
def test_24_fails_with_many_local_steps_step_by_step(curvatures, step, tau, rounds):
    h, eta, n = [Fraction(v) for v in curvatures], Fraction(step), len(curvatures)
    beta, q, steepest = sum(h) / n, Fraction(1, n), max(map(abs, h))  # all take part
    assert eta <= min(3 * q / (32 * n), q / (12 * beta * n), q / (16 * steepest**2))
    assert eta**2 <= q**3 / (64 * steepest**2 * n)
    server, stored, tracker = Fraction(1), list(h), sum(h)
    for _ in range(rounds):
        for i in range(n):
            x, y = server, Fraction(0)
            for _ in range(tau):
                y, stored[i] = y + h[i] * x - stored[i], h[i] * x
                x -= eta * y
            tracker += y
        server -= eta * tracker
    assert server**2 > (1 - eta * beta * n) ** rounds
    assert eta > 1 / (3 * steepest * (tau - 1))  # outside the cap of the correction


@pytest.mark.parametrize("bound", ["(25)"])
def test_a_general_bound_of_order_log_is_too_fast(begun, bound):
    assert begun.remark.check().verdict == PROVED
    assert begun.remark.check(**{bound: "log"}).verdict == REFUTED


def test_a_client_bent_downwards_drives_the_server_away_inside_the_caps_of_25():
    claim = _loaded("focus_theorem1_nonconvex_bound").general
    for case in outward(claim.constants["caps"], Fraction(8)):
        h, size = case.where["h"], case.where["N"]
        assert max(h) == case.where["L"] == 1
        assert sum(h) > 0  # F is convex
        step, moves = case.where["step size"], case.where["tau"] - 1
        assert step <= Fraction(1, 4 * size)
        assert step * moves <= Fraction(1, 2)
        assert 512 * size**3 * step**2 <= 1  # q_min/(16 L sqrt(2 N))
        assert 64 * size**4 * step**2 <= 1  # q_min^(3/2)/(8 L sqrt N)
        assert case.left > case.right
    # they use up the cap on local moves
    gentle = claim.constants["caps"] | {"1/(L (tau-1))": "1/4"}
    assert [*outward(gentle, Fraction(8))] == []

"""The two norms of a stack, and the lines of the FOCUS paper that drop an F.

Rows along different axes tell them apart; one row, or rows along one line, do not.
"""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from flverify.claims import judge, stack_norms
from flverify.claims.registry import shipped_claims
from flverify.claims.verdict import Verdict

F = Fraction
DROPPED = (
    "focus.lemma3.step83c-d",
    "focus.lemma3.step88a",
    "focus.thm1.pl.step107",
    "focus.thm1.pl.step110a",
    "focus.thm1.nc.step114",
    "sgfocus.lemma5.step126",
)
CASES = {
    "(83)": stack_norms.split(SimpleNamespace(far="2", moved="2")),
    "(88)": stack_norms.loosened_norm("2", "8"),
    "(90)": stack_norms.parted(SimpleNamespace(server="2", moves="2")),
    "(93)": stack_norms.weighted_last(SimpleNamespace(bound="4")),
}
LISTED = {name: [*cases] for name, cases in CASES.items()}


@pytest.mark.parametrize(
    ("rows", "whole", "largest"),
    [
        ([[3, 4]], 25, 25),
        ([[1, 2], [2, 4], [3, 6]], 70, 70),
        ([[0, 2], [1, 0]], 5, 4),
        ([[1, 1], [1, -1], [0, 0]], 4, 2),
    ],
)
def test_the_norms_agree_on_a_line_and_not_on_axes(rows, whole, largest):
    rows = [[F(v) for v in row] for row in rows]
    assert stack_norms.squares(rows) == whole
    assert stack_norms.induced(rows) == largest


@pytest.mark.parametrize("line", LISTED)
def test_both_computations_of_a_side_agree(line):
    for case in LISTED[line]:
        assert case.recheck() == (case.left, case.right)


def test_two_rows_are_not_enough_for_a_factor_of_two():
    held = {name: [c.left <= c.right for c in LISTED[name]] for name in LISTED}
    assert held == {
        "(83)": [True, True, False],
        "(88)": [True, False, False],
        "(90)": [True, False, False],
        "(93)": [False, False, False],
    }


def test_a_larger_factor_lets_the_induced_norm_pass():
    enough = stack_norms.loosened_norm("6", "8")
    found = judge.instances(enough, "<=", stack_norms.SEARCHED)
    assert found.verdict == Verdict.SUPPORTED


@pytest.mark.slow  # the audit judges them
@pytest.mark.parametrize("key", DROPPED)
def test_a_line_without_f_holds_for_one_norm_and_fails_for_the_other(key):
    found = shipped_claims()[key].check()
    names = [stack_norms.ONE_NORM, stack_norms.INDUCED]
    verdicts = [one.verdict for one in found.readings.values()]
    assert [*found.readings] == names
    assert verdicts == [Verdict.PROVED, Verdict.REFUTED]
    assert r"\|_F^2" in found.correction.statement
    assert found.correction.finding.verdict == Verdict.PROVED


def test_rows_of_the_caps_of_lemma_4():
    """One third is q_min of three clients that all take part, and L = 1."""
    step, q = stack_norms.STEP, F(1, 3)
    assert (8 * step) ** 2 * 3 <= q**3


@pytest.mark.one_in(2)
@pytest.mark.parametrize("key", ["focus.thm1.pl.step107", "focus.thm1.nc.step114"])
def test_a_smaller_second_weight_is_refuted_beyond_the_steps_of_87(key):
    """Where eta L (tau-1) <= 1/2, no second weight is needed; the claim is of any."""
    one = shipped_claims()[key]
    at = one.check(second="7").readings[stack_norms.ONE_NORM].evidence["counterexample"]
    assert F(at["eta"]) * F(at["L"]) * (F(at["tau"]) - 1) > F(1, 2)
    assert "for any eta" in one.proposition

"""What the print lets be 0 is not assumed positive by the proofs that claim it all.

tau - 1 is 0 for one local step.
"""

from types import SimpleNamespace

import pytest
import sympy

from flverify.claims import focus_lemma3 as facts
from flverify.claims import sg_focus_moves
from flverify.claims.ledger import uses
from flverify.claims.registry import claims_in, proofs_folder
from flverify.claims.verdict import Verdict

PROVED = Verdict.PROVED


@pytest.mark.parametrize(
    ("file", "claim", "may_be_zero"),
    [
        ("focus_lemma4_consensus", "focus.lemma4.step94a-b", ["n"]),
    ],
)
def test_a_step_is_proved_where_terms_of_it_are_zero(file, claim, may_be_zero):
    found = claims_in([proofs_folder() / f"{file}.py"])[claim].check()
    assumed = uses(found)
    assert {f"{name} >= 0" for name in may_be_zero} <= {*assumed}
    assert not {f"{name} > 0" for name in may_be_zero} & {*assumed}


def test_the_moves_are_summed_for_one_local_step_too():
    """At tau = 1 no move is made: n = 0, and so is the sum."""
    four = 4 * facts.n * facts.V >= facts.T
    found = facts.summed_84(four, facts.eta * facts.L * facts.n <= sympy.Rational(1, 8))
    assert found.verdict == PROVED
    assert "n >= 0" in uses(found)
    assert not {"n > 0", "n >= 1"} & {*uses(found)}


def test_the_drift_is_not_divided_by_the_number_of_moves():
    claim = claims_in([proofs_folder() / "sgfocus_lemma5_drift.py"])
    c = claim["sgfocus.lemma5.step128"]
    mended = SimpleNamespace(**{**c.constants, **c.twin})
    found = sg_focus_moves.drift_bounded(mended, [8 * sg_focus_moves.h2 <= 1])
    assert found.verdict == PROVED
    assert "denominator" not in found.scope

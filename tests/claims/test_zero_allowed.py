"""What the print lets be 0 is not assumed positive by the proofs that claim it all.

tau - 1 is 0 for one local step, the drift is 0 with it, noise is 0 for equal clients
and full participation, and errors are 0 for a run that starts at its end.
"""

from types import SimpleNamespace

import pytest
import sympy

from flverify.claims import agnostic_apart, fedavg_limit, sg_focus_moves
from flverify.claims import focus_lemma3 as facts
from flverify.claims.fedavg_limit import summed_58
from flverify.claims.focus_theorem1_counts import rounds_suffice
from flverify.claims.ledger import uses
from flverify.claims.registry import claims_in, proofs_folder
from flverify.claims.verdict import Verdict

PROVED = Verdict.PROVED


@pytest.mark.parametrize(
    ("file", "claim", "may_be_zero"),
    [
        ("focus_lemma4_consensus", "focus.lemma4.step94a-b", ["n"]),
        ("fedavg_last_steps", "focus.thm2.step55", ["drift", "noise"]),
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


def test_sums_over_iterations_may_start_and_stay_at_the_minimiser():
    found = fedavg_limit._one_iteration()
    assert found.verdict == summed_58().parts["(58) goes on"].verdict == PROVED
    assert {"now >= 0", "after >= 0"} <= {*uses(found)}


def test_rounds_are_enough_for_a_run_without_an_error():
    found = rounds_suffice({}, "(25)", "1/epsilon")
    assert found.verdict == PROVED
    assert "V >= 0" in uses(found)


def test_the_farthest_model_is_at_the_reach(monkeypatch):
    compared = []
    monkeypatch.setattr(
        agnostic_apart.judge, "nonnegative", lambda parts, _: compared.extend(parts)
    )
    agnostic_apart.mean_of_models.__wrapped__()
    ((_, less),) = compared
    named = {symbol.name: symbol for symbol in less.free_symbols}
    assert all(named[name].is_zero is None for name in ("a", "b", "reach"))

"""The step of an induction shows the line that it is given, one round later."""

import pytest

from flverify.claims import agnostic_any_time as any_time
from flverify.claims import focus_lemma3, focus_theorem1_round, focus_theorem1_steps
from flverify.claims.written import put_in

INDUCTIONS = [
    (any_time, any_time.summed, ()),
    (any_time, any_time.roots, ()),
    (any_time, any_time.added_rounds, ()),
    (any_time, any_time.jensen, ()),
    (focus_lemma3, focus_lemma3.sum_of_vectors, ()),
    (focus_theorem1_round, focus_theorem1_round.unrolled, ()),
    (focus_theorem1_steps, focus_theorem1_steps.summed, ("every R",)),
]


@pytest.mark.parametrize(("module", "proof", "args"), INDUCTIONS)
def test_the_line_is_carried_over_as_a_whole(monkeypatch, module, proof, args):
    assert proof.__wrapped__(*args).passes()

    def turned(line, values):
        after = put_in(line, values)
        return after.func(after.rhs, after.lhs, evaluate=False)

    monkeypatch.setattr(module, "put_in", turned)
    assert not proof.__wrapped__(*args).passes()

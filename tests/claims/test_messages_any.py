"""Rounds by messages of any size, beside the reference."""

from fractions import Fraction

import pytest

from flverify.claims import messages_any
from flverify.claims.messages import scaffold as by_messages
from flverify.claims.verdict import Verdict
from flverify.reference import scaffold

N, TAU, STEP = 5, 3, Fraction(1, 8)
COHORTS = [(0, 2, 3), (1,), (0, 1, 2, 3, 4), (4, 2)]


def slope(i, x):
    return (i + 1) * x**2 / 9 - i


@pytest.mark.parametrize("option", ["I", "II", "II, one up"])
@pytest.mark.parametrize("heard", [True, False])
def test_five_clients_agree_with_the_reference_just_where_it_is_proved(option, heard):
    how = {"step_size": STEP, "local_steps": TAU}
    sent = by_messages(
        slope, N, Fraction(1), COHORTS, option=option, heard=heard, **how
    )
    rule = option.partition(",")[0]
    plain = scaffold.run(
        lambda i, x: [slope(i, x[0])], N, [Fraction(1)], COHORTS, option=rule, **how
    )
    agrees = sent.models == [x for (x,) in plain]
    ((down, up),) = sent.counts
    found = messages_any.scaffold_round((option,), heard=heard, down=down, up=up)
    assert found.passes() == agrees == heard


def test_other_numbers_of_vectors_are_refuted():
    wrong = [
        messages_any.scaffold_round(("I",), heard=True, down=1, up=2),
        messages_any.scaffold_round(("II",), heard=True, down=2, up=1),
        messages_any.scaffold_round(("II, one up",), heard=True, down=2, up=2),
        messages_any.scaffold_round(("I, one up",), heard=True, down=2, up=1),
        messages_any.proxskip_iteration(heard=True, down=2, up=1),
        messages_any.proxskip_iteration(heard=True, down=1, up=2),
        messages_any.proxskip_iteration(heard=False, down=1, up=1),
    ]
    assert {found.verdict for found in wrong} == {Verdict.REFUTED}

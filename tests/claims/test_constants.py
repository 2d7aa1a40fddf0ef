"""The constants that a check gets: of any name, and its own to change."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from flverify._core.errors import MissingConstantError
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.verdict import Verdict

HERE = {"source": Source("flverify", "example"), "statement": "", "proposition": "p"}


@pytest.mark.parametrize("name", ["read", "self", "values", "_read", "name"])
def test_a_constant_may_have_any_name(name):
    @claim("demo.named", constants={name: 2}, twin={name: 3}, **HERE)
    def check(c):
        return judge.identity([("sum", 1 + 1, getattr(c, name))], "the two numbers")

    assert check.check().verdict == Verdict.PROVED
    assert check.control().verdict == Verdict.REFUTED


@pytest.mark.parametrize(
    ("kept", "change"),
    [
        ([1, 2], lambda kept: kept.pop()),
        ({1, 2}, lambda kept: kept.pop()),
        (([1, 2], 3), lambda kept: kept[0].pop()),
        ({"a": [1, 2]}, lambda kept: kept["a"].pop()),
        (np.array([1, 2]), lambda kept: kept.fill(0)),
        (sympy.Matrix([1, 2]), lambda kept: kept.row_del(0)),
    ],
)
def test_what_a_check_changes_in_place_is_its_own(kept, change):
    seen = []

    @claim(
        "demo.changed",
        constants={"cap": 2, "kept": kept},
        twin={"cap": 1},
        free=Free("cap", 1, 4, weaker="larger"),
        sharp=Sharp("", {"cap": 2}),
        structural={"kept": "what is listed"},
        **HERE,
    )
    def check(c):
        seen.append(str(c.kept))
        change(c.kept)
        return judge.nonnegative([("gap", c.cap - 2)], "the two numbers")

    assert check.check().correction.finding.verdict == Verdict.PROVED
    check.control()
    assert len(seen) == 4  # as printed, at the best value, beyond it, as its control
    assert set(seen) == {str(kept)}


def test_at_the_sharp_value_a_constant_that_is_missing_is_named():
    @claim(
        "demo.missing",
        constants={"cap": 3},
        twin={"cap": 1},
        free=Free("cap", 1, 4, weaker="larger"),
        sharp=Sharp("", {"cap": 2}),
        **HERE,
    )
    def check(c):
        gap = c.cap - 2 if c.cap == 3 else c.other
        return judge.nonnegative([("gap", gap)], "the two numbers")

    with pytest.raises(MissingConstantError, match="got other; choose among cap"):
        check.check()

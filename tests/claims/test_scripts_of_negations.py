"""Scripts of counterexamples assert hypotheses that are negations."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sympy

from flverify.claims import judge
from flverify.claims.counterexamples import Refuted, script
from flverify.claims.verdict import Verdict
from flverify.claims.written import at_least

x, y = sympy.symbols("x y", real=True)
NEGATIONS = {
    "of two": sympy.Not(sympy.And(x <= 1, y <= 1)),
    "of one": sympy.Not(sympy.Le(x, 1), evaluate=False),
}


@pytest.mark.parametrize("held", NEGATIONS.values(), ids=NEGATIONS)
def test_a_point_outside_the_hypotheses_has_no_script(held):
    found = judge.implied([held], at_least(x + y, 5), "all x and y")
    assert found.verdict == Verdict.REFUTED
    text = script(Refuted("demo", "demo", "a demo", found.evidence), {})
    assert text is not None
    assert " not " in text
    subprocess.run([sys.executable, "-I", "-c", text], check=True, capture_output=True)
    outside = {**found.evidence, "counterexample": {"x": "0", "y": "0"}}
    assert script(Refuted("demo", "demo", "a demo", outside), {}) is None

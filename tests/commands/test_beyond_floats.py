"""Questions about a class of functions whose numbers are beyond all floats."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from flverify.algorithms import GradientDescent
from flverify.participation import Full
from flverify.testing import (
    Inconclusive,
    assert_certified_average,
    assert_certified_rate,
)

LARGE = 10**400
METHOD = "gradient_descent", "--n-clients", "1", "--law", "full"
SIZES = "--smoothness", "1e400", "--step-size", "1e-400"


@pytest.mark.parametrize(
    "question",
    [
        ("average", "--mu", "0"),
        ("average", "--non-convex"),
        ("certify", "--mu", "1e399"),
        ("certify", "--pl", "1e399"),
    ],
)
def test_commands_have_no_answer(run, question):
    ran = run(question[0], *METHOD, *SIZES, *question[1:], "--json")
    told = json.loads(ran.stdout)
    assert (ran.code, told["status"]) == (1, "inconclusive")
    assert told["reason"].startswith("the floats of the search failed: ")


@pytest.mark.parametrize(
    ("asserted", "asked"),
    [
        (assert_certified_average, {"by_distance": 3}),
        (assert_certified_rate, {"rate": "0.9", "strong_convexity": LARGE // 10}),
        (assert_certified_rate, {"rate": "0.9", "polyak_lojasiewicz": LARGE // 10}),
    ],
)
def test_assertions_have_no_answer(asserted, asked):
    method = GradientDescent(Fraction(1, LARGE)), Full(1)
    with pytest.raises(Inconclusive, match="the floats of the search failed"):
        asserted(*method, smoothness=LARGE, **asked)

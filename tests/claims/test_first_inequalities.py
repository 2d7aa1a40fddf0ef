"""Psi and Phi of Theorem 1 are at least their first terms where their weights allow."""

from __future__ import annotations

import pytest

from flverify.claims import focus_theorem1_rates as rates
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_theorem1_weights import more_is_added
from flverify.claims.verdict import Verdict

PROVED, REFUTED = Verdict.PROVED, Verdict.REFUTED
SC = {
    "mu/(N L^2)": "3/27",
    "1/(L (tau-1))": "1/3",
    "q^(3/2)/(L sqrt N)": "1/8",
}


@pytest.mark.parametrize(
    ("weight", "caps", "verdict"),
    [
        ("8 eta L^2 N/mu", {"mu/(N L^2)": "1/8"}, PROVED),
        ("8 eta L^2 N/mu", {"mu/(N L^2)": "10/79"}, REFUTED),
        ("8 eta tau L N", {"1/(tau L N)": "1/8"}, PROVED),
        ("8 eta tau L N", {"1/(tau L N)": "10/79"}, REFUTED),
        ("8 eta tau L N", SC, REFUTED),
        ("4 eta L^2", {"q/L^2": "1/4"}, PROVED),
        ("4 eta L^2", {"q/L^2": "10/39"}, REFUTED),
    ],
)
def test_a_weight_is_not_negative_up_to_its_cap(weight, caps, verdict):
    assert more_is_added(weight, caps).verdict == verdict


@pytest.mark.parametrize(
    ("factor", "passes"), [("1/16", True), ("1/9", True), ("10/89", False)]
)
def test_the_ends_of_23_need_a_start_of_weight_a_ninth(factor, passes):
    """8 eta tau L N <= 8/9 up to 1/9."""
    found = rates.strongly_convex(
        {**SC, "1/(tau L N)": factor},
        "1/2",
        Q_READINGS[0],
        rows=True,
        weight="8 eta tau L N",
    )
    assert (found.verdict == PROVED) is passes

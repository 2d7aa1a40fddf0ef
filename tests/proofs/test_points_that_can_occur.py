"""What stops a constant is shown at a point that the setting of the paper allows."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.claims.registry import shipped_claims
from flverify.claims.verdict import Verdict

CLAIMS = shipped_claims()


def beyond(key, constant):
    """Return the point at which a claim fails with the constant 1 % stronger."""
    claim = CLAIMS[key]
    free = next(one for one in claim.free if one.name == constant)
    value = free.stronger(free.value({**claim.constants, **free.given}))
    found = free.judged(claim.check(**free.changed(claim.constants, value)))
    assert found.verdict == Verdict.REFUTED, (key, constant, found.reason)
    point = found.evidence["counterexample"]
    return {name: Fraction(number) for name, number in point.items()}


def inside_the_caps_of_24(p):
    """Ask for the step sizes of (24), and of (105)."""
    eta, L, N, q = p["eta"], p["L"], p["N"], p["q"]
    return (
        eta * N <= 3 * q / 32
        and eta * p["beta"] * N <= q / 12
        and eta * L**2 <= q / 16
        and 64 * (eta * L) ** 2 * N <= q**3
        and 4 * eta * L * N <= 1
        and 2 * eta * (p["tau"] - 1) * L * N <= 1
        and p["beta"] <= L
        and 0 < q <= 1
    )


def inside_the_caps_of_25(p):
    eta, L, N, q = p["eta"], p["L"], p["N"], p["q"]
    return (
        2 * eta * (p["tau"] - 1) * L <= 1
        and 64 * (eta * L) ** 2 * N <= q**3
        and 512 * (eta * L) ** 2 * N <= q**2
        and 4 * eta * L * N <= 1
        and 0 < q <= 1
    )


def vectors_exist(p):
    """Whether |g|^2 = G, <g, S> = cross and |N g - S|^2 = E for vectors g and S."""
    square = p["E"] - p["N"] ** 2 * p["G"] + 2 * p["N"] * p["cross"]  # |S|^2
    return square >= 0 and p["cross"] ** 2 <= p["G"] * square


@pytest.mark.parametrize("constant", ["distance", "more", "gradient", "less"])
def test_the_first_inequality_of_105_fails_where_vectors_exist(constant):
    point = beyond("focus.thm1.pl.step105a", constant)
    assert vectors_exist(point)
    assert inside_the_caps_of_24(point)


@pytest.mark.parametrize("constant", ["contraction", "distance", "gradient"])
def test_106_fails_at_values_of_a_smooth_function_of_polyak_and_lojasiewicz(constant):
    p = beyond("focus.thm1.pl.step106", constant)
    gap = p["F"] - p["F_least"]
    assert p["F_next"] >= p["F_least"]
    assert 2 * p["beta"] * gap <= p["G"] <= 2 * p["L"] * gap
    assert inside_the_caps_of_24(p)


@pytest.mark.parametrize("constant", ["gradient", "less", "distance", "more"])
def test_113_fails_where_vectors_exist(constant):
    point = beyond("focus.thm1.nc.step113", constant)
    assert vectors_exist(point)
    assert inside_the_caps_of_25(point)

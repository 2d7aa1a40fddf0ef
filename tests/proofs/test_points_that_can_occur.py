"""What stops a constant is shown at a point that the setting of the paper allows."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.claims.verdict import Verdict
from tests.shipped import CLAIMS


def beyond(key, constant, best=None):
    """Return the point at which a claim fails 1 % beyond a value, the printed one."""
    claim = CLAIMS[key]
    free = next(one for one in claim.free if one.name == constant)
    value = free.stronger(best or free.value({**claim.constants, **free.given}))
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


def inside_the_caps_of_theorem_4(p):
    eta, L, N, q = p["eta"], p["L"], p["N"], p["q"]
    return (
        3 * eta * p["beta"] * N * (4 - q) <= q <= 1
        and 16 * eta * L**2 <= q
        and 96 * (eta * L) ** 2 * N <= q**3
        and 128 * (eta * L * p.get("n", 0)) ** 2 <= q**3
        and 4 * eta * L * N <= 1
        and p["beta"] <= L
    )


def inside_the_caps_of_theorem_5(p):
    eta, L, N, q = p["eta"], p["L"], p["N"], p["q"]
    return (
        96 * (eta * L) ** 2 * N <= q**3 <= 1
        and 128 * (eta * L * p["n"]) ** 2 <= q**3
        and 4 * eta * L * N <= 1
        and 4 * eta * L * p["n"] <= 1
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
    """Whether |g|^2 = G, <g, S> = inner and |N g - S|^2 = E for vectors g and S."""
    inner = p["cross"] if "cross" in p else p["inner"]
    square = p["E"] - p["N"] ** 2 * p["G"] + 2 * p["N"] * inner  # |S|^2
    return square >= 0 and inner**2 <= p["G"] * square


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


@pytest.mark.parametrize("constant", ["contraction", "drop", "consensus"])
def test_100_fails_at_values_of_a_smooth_strongly_convex_function(constant):
    """At mu = 1: x = eta N, p = eta N L^2, v = eta N (1 - 2 eta N L)."""
    point = beyond("focus.thm1.sc.step100-101", constant)
    x, p, v, A, D = (point[name] for name in ("x", "p", "v", "A", "D"))
    assert x <= p <= Fraction(1, 9)  # mu <= L, and the first cap of (23)
    # with s = eta N L: s^2 = x p, and D lies between A/2 and L A/2, where L = s/x
    assert 81 * x * p <= 1
    lost = v * D / A
    most, least = Fraction(7, 18) ** 2 * x * p, x / 2  # 7/9 <= 1 - 2 s <= 1
    assert least <= lost
    assert lost**2 <= most


def test_101_fails_where_a_third_of_q_min_is_lost():
    assert Fraction(2, 3) <= beyond("focus.thm1.sc.step100-101", "function")["kept"] < 1


@pytest.mark.parametrize("constant", ["cap", "consensus"])
def test_110_fails_at_values_of_a_smooth_function_of_polyak_and_lojasiewicz(constant):
    p = beyond("focus.thm1.pl.step110a", constant)
    eta, N, q, A, G = (p[name] for name in ("eta", "N", "q", "A", "G"))
    beta, square = p["x"] / (eta * N), p["y"] / eta  # of L
    assert beta**2 <= square
    assert 2 * beta * A <= G
    assert 4 * square * A**2 >= G**2
    assert p["x"] <= q / 12
    assert p["y"] <= q / 16
    assert 64 * eta**2 * square * N <= q**3
    assert 16 * (eta * N) ** 2 * square <= 1
    if constant != "cap":  # which is moved
        assert eta * N <= 3 * q / 32


@pytest.mark.parametrize("constant", ["push", "kept"])
def test_119_fails_at_sums_of_rounds_that_there_are(constant):
    """C_0 = 0, then C_r = c: (118) asks for A_1 = c/push, then (1 - kept) c/push."""
    p = beyond("focus.thm1.nc.step119b", constant)
    rounds, kept, push = int(p["R"]), p["kept"], p["push"]
    c = p["later_c"] / (rounds - 1)
    models = [Fraction(0), *[c] * (rounds - 1)]
    slopes = [p["first_a"], c / push, *[(1 - kept) * c / push] * (rounds - 2)]
    slopes[1] += p["later_a"] - sum(slopes[1:])
    assert slopes[1] >= c / push
    assert sum(models[:-1]) == p["lagged_c"]
    for r in range(1, rounds):
        assert models[r] <= kept * models[r - 1] + push * slopes[r]
    factor = {"push": Fraction(1), "kept": Fraction(1)} | {constant: Fraction(99, 100)}
    line = factor["kept"] * kept * sum(models) + factor["push"] * push * sum(slopes)
    assert sum(models) > line


@pytest.mark.parametrize("constant", ["function", "consensus", "gradient"])
def test_121_with_the_factor_that_it_lacks_fails_after_more_than_one_round(constant):
    assert beyond("focus.thm1.nc.step121a", constant)["R"] > 1


def test_7_fails_at_distances_and_values_that_lipschitz_losses_have():
    p = beyond("agnostic.eq7.const", "(7)", Fraction(2))
    moved = p["eta"] * p["G"] * p["k"]
    assert p["before"] == p["distance"] ** 2
    assert p["after"] <= (p["distance"] + moved) ** 2
    assert 0 <= p["v"] <= p["ell"] * (p["distance"] + moved)
    assert p["ell"] <= p["G"]
    assert p["k"] >= 1


def test_9_fails_at_distances_and_values_that_lipschitz_losses_have():
    p = beyond("agnostic.eq7.const", "(9)")
    assert p["D_squared"] >= 0
    assert 0 <= 4 * p["value"] <= p["ell"] * p["T"] * p["eta"] * p["G"] * p["k"]
    assert p["T"] >= 1
    assert p["k"] >= 1


@pytest.mark.parametrize("constant", ["distance", "more", "gradient", "noise"])
def test_the_second_display_of_theorem_4_fails_where_vectors_exist(constant):
    point = beyond("sgfocus.thm4.step2", constant)
    assert vectors_exist(point)
    assert inside_the_caps_of_theorem_4(point)


@pytest.mark.parametrize("constant", ["contraction", "distance", "gradient", "noise"])
def test_135_fails_at_values_of_a_smooth_function_of_polyak_and_lojasiewicz(constant):
    p = beyond("sgfocus.thm4.step135", constant)
    gap = p["F"] - p["F_least"]
    assert p["F_next"] >= p["F_least"]
    assert 2 * p["beta"] * gap <= p["G"] <= 2 * p["L"] * gap
    assert inside_the_caps_of_theorem_4(p)


@pytest.mark.parametrize("constant", ["less", "noise", "distance"])
def test_the_display_after_138_fails_where_vectors_exist(constant):
    point = beyond("sgfocus.thm5.step139a", constant)
    assert vectors_exist(point)
    assert inside_the_caps_of_theorem_5(point)


def test_91_fails_where_every_client_takes_part_at_times():
    assert 0 < beyond("focus.lemma4.step91", "largest")["q_min"] <= 1


def test_124_fails_at_a_value_of_a_strongly_convex_function():
    p = beyond("sgfocus.lemma5.step124", "curvature")
    assert p["gap"] >= p["mu"] / 2 * p["U"] > 0
    assert p["inner"] >= p["gap"] + p["mu"] / 2 * p["U"]


def test_the_first_line_of_102_fails_at_values_of_a_smooth_strongly_convex_function():
    """As for (100), where x = 2 (1 - rate), p = weight and 2 v = drop."""
    point = beyond("focus.thm1.sc.step102a", "weight")
    x, p = 2 * (1 - point["rate"]), point["weight"]
    assert 0 < x <= p <= Fraction(1, 9)
    assert Fraction(2, 3) <= point["kept"] < 1
    assert 0 < point["rise"] <= point["drop"]
    lost = point["drop"] * point["D"] / (2 * point["A"])
    assert x / 2 <= lost
    assert lost**2 <= Fraction(7, 18) ** 2 * x * p


def test_99_fails_beside_its_factor_and_not_for_a_cap_of_lemma_4():
    p = beyond("focus.thm1.sc.step97-99", "function")
    assert p["G"] <= 2 * p["L"] * p["D"]
    assert p["B"] <= p["kept"] * p["B_before"] + Fraction(16, 3) * p["push"] * p["G"]
    assert Fraction(2, 3) <= p["kept"] < 1


@pytest.mark.slow
def test_the_last_line_of_110_fails_in_each_reading_where_that_has_a_q():
    claim = CLAIMS["focus.thm1.pl.collected"]
    [free] = claim.free
    found = claim.check(**free.changed(claim.constants, Fraction(4, 15)))
    shown = [one.parts["(110), last line"].evidence for one in found.readings.values()]
    averaged, cohorts, chances = (one["counterexample"] for one in shown)
    assert Fraction(averaged["N"]) * Fraction(averaged["q"]) <= 1
    assert Fraction(cohorts["m"]) * Fraction(cohorts["q"]) == 1
    assert int(cohorts["m"]) <= int(cohorts["N"])
    assert Fraction(chances["q"]) <= 1

"""Units of printed displays: runs have those of the table, wrong powers are seen."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest
import sympy

from flverify._core.errors import InputError
from flverify.claims import focus_units, units
from flverify.claims.claim import Claim
from flverify.claims.focus_units import UNITS, A, B, L, eta, gap, slope2, x, y2
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.units import keep_form
from flverify.claims.verdict import Verdict
from flverify.reference import focus

PROVED, REFUTED = Verdict.PROVED, Verdict.REFUTED
FILES = ("focus_units.py", "sgfocus_units.py", "fedavg_units.py")
FAILING = {
    "focus.units.observations": ["(75)", "(77)"],
    "focus.units.thm1.pl": [
        "(24)",
        "step sizes of (24)",
        "(110)",
        "step sizes of (110)",
    ],
    "focus.units.thm2": ["(59)", "(60)"],
    "focus.units.assump5": ["footnote 5"],
    "sgfocus.units.lemma6": ["before (133), line 2"],
    "sgfocus.units.thm4": [
        "Theorem 4",
        "step sizes of Theorem 4",
        "after (135)",
        "(136)",
        "step sizes of (136)",
        "sum of the noise",
    ],
    "sgfocus.units.thm5": [
        "Theorem 5",
        "after (138), second",
        "after (138), third",
        "(140)",
        "step size of (140)",
    ],
}


@cache
def claims():
    members = [vars(load_file(proofs_folder() / file)).values() for file in FILES]
    return {one.id: one for found in members for one in found if isinstance(one, Claim)}


# ------------------------------------------------------------- the table


CURVATURES = [Fraction(1), Fraction(1, 3), Fraction(2)]
CENTRES = [Fraction(1), Fraction(-2), Fraction(1, 2)]
COHORTS = [(0, 2), (1,), (0, 1, 2), (2,)]


def run(s, c):
    """Play FOCUS on f_i = c h_i (x/s - b_i)^2/2 and measure what the table names."""
    h = [c * one / s**2 for one in CURVATURES]
    b = [s * one for one in CENTRES]
    step = s**2 / c / 10

    def gradient(i, x):
        return [h[i] * (x[0] - b[i])]

    best = sum(p * q for p, q in zip(h, b, strict=True)) / sum(h)

    def value(x):
        return sum(p * (x - q) ** 2 for p, q in zip(h, b, strict=True)) / 6

    full = {"initial_gradients": "start", "initial_tracker": "sum"}
    state = focus.start(gradient, 3, [3 * s], **full)
    rows = [3 * s] * 3
    for cohort in COHORTS:
        state = focus.play(state, gradient, 3, cohort, step_size=step, local_steps=3)
    x = state["model"][0]
    whole = sum(h[i] * (x - b[i]) for i in range(3)) / 3
    return {
        A: (x - best) ** 2,
        B: sum((x - row) ** 2 for row in rows),
        gap: value(x) - value(best),
        slope2: whole**2,
        y2: state["tracker"][0] ** 2,
        L: max(h),
        eta: step,
    }


@pytest.mark.parametrize("scale", [(2, 1), (1, 3), (Fraction(2, 3), Fraction(5, 7))])
def test_real_runs_have_the_units_of_the_table(scale):
    s, c = map(Fraction, scale)
    before, after = run(Fraction(1), Fraction(1)), run(s, c)
    assert 0 not in before.values()
    for quantity, value in before.items():
        points, objective = UNITS[quantity]
        assert after[quantity] == s**points * c**objective * value, quantity


def test_squares_and_products_of_the_table_agree():
    """|S|^2 is a square, L one of gradients by distances, sigma^2 one of gradients."""
    of = dict(UNITS)

    def times(one, other):
        return tuple(p + q for p, q in zip(of[one], of[other], strict=True))

    f = focus_units
    assert times(f.x, f.x) == of[f.A] == of[f.B] == of[f.moved] == of[f.B_before]
    assert times(f.y, f.y) == of[f.y2] == of[f.S2] == of[f.error2] == of[f.sigma2]
    assert times(f.x, f.y) == of[f.along] == of[f.gap]
    assert times(f.L, f.x) == of[f.y] == times(f.mu, f.x)
    assert times(f.eta, f.y) == of[f.x]
    assert times(f.beta, f.gap) == of[f.slope2]


def test_sizes_of_gradients_have_their_unit_on_fedavg_too():
    table = dict(vars(load_file(proofs_folder() / "fedavg_units.py"))["TABLE"])
    named = {symbol.name: powers for symbol, powers in table.items()}
    for square in ("delta_q^2", "sigma_G^2", "sigma^2"):
        assert named[square] == UNITS[slope2]
    assert named["G"] == named["ell"] == UNITS[focus_units.y]
    assert (named["f"], named["Delta"]) == (UNITS[gap], UNITS[A])


# ------------------------------------------------------------- the shipped claims


@pytest.mark.parametrize("name", claims())
def test_which_displays_do_not_keep_their_form(name):
    claim = claims()[name]
    parts = claim.check().parts
    failing = [part for part, one in parts.items() if one.verdict != PROVED]
    assert failing == FAILING.get(name, [])
    assert all(parts[part].verdict == REFUTED for part in failing)


def displays(claim, monkeypatch):
    """What the claim hands over to be rescaled, as mended where it is mended."""
    taken = []
    monkeypatch.setitem(
        claim.judged_by.__globals__, "keep_form", lambda *given: taken.append(given)
    )
    claim.check(**(claim.twin if claim.id in FAILING else {}))
    return taken[0][:2]


@pytest.mark.parametrize("name", claims())
def test_a_wrong_power_in_any_line_is_seen(name, monkeypatch):
    given, table = displays(claims()[name], monkeypatch)
    for display, lines in given.items():
        for left, right in lines:
            other = x if units.of(left, table) == table[L] else L
            for wrong in (right * eta, right * (1 + other)):
                found = keep_form({display: [(left, wrong)]}, table, "planted")
                assert found.verdict == REFUTED, (display, left, wrong)


# ------------------------------------------------------------- the tool


f = sympy.Symbol("f", positive=True)
TABLE = {x: (1, 0), f: (0, 1)}


@pytest.mark.parametrize(
    "right", [x**2 / 2, 3 * x * sympy.sqrt(x) ** 2, x**2 * (1 + f / f), x**3 / x - x**2]
)
def test_terms_of_one_unit_keep_their_form(right):
    assert keep_form({"(1)": [(x**2, right)]}, TABLE, "(1)").verdict == PROVED


ROOT = sympy.sqrt(2)


@pytest.mark.parametrize(
    "right",
    [x, x**2 + x, x**2 * (1 + f), f * x**2, x**2 + 1, 5, ROOT * x, ROOT * (x**2 + 1)],
)
def test_terms_of_other_units_do_not(right):
    assert keep_form({"(1)": [(x**2, right)]}, TABLE, "(1)").verdict == REFUTED


def test_the_side_that_fails_is_named():
    found = keep_form({"(1)": [(x + x**2, x)]}, TABLE, "(1)")
    reason = found.parts["(1)"].reason
    assert reason.startswith("line 1, left side, terms in x and x^2: ")
    found = keep_form({"(1)": [(x, x), (0, x + f)]}, TABLE, "(1)")
    assert found.parts["(1)"].reason.startswith(
        "line 2, right side, terms in f and x: "
    )


def test_a_root_in_a_sum_is_no_proof():
    found = keep_form({"(1)": [(x**2, x**2 + ROOT)]}, TABLE, "(1)")
    assert found.verdict == Verdict.INCONCLUSIVE


def test_nothing_to_rescale_is_no_proof():
    assert keep_form({"(1)": []}, TABLE, "(1)").verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("power", [(1,), 1, (1, 0.5), ("1", 0), [1, 0]])
def test_units_that_are_none_are_refused(power):
    with pytest.raises(InputError, match="two rationals"):
        keep_form({"(1)": [(x, x)]}, {x: power}, "(1)")


@pytest.mark.parametrize(
    "side", [sympy.sin(x), x ** sympy.Symbol("k") * x, x >= 1, "x"]
)
def test_sides_that_are_no_products_are_refused(side):
    with pytest.raises(InputError):
        keep_form({"(1)": [(side, x)]}, TABLE, "(1)")

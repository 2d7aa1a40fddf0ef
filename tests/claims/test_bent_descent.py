"""The client whose gradient bends: smooth, bounded below, inside the caps of (25)."""

from fractions import Fraction
from itertools import combinations

import pytest

from flverify.claims import bent_descent as bent
from flverify.claims import judge
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict

D, ETA, R = Fraction(1, 10**4), Fraction(1, 23), 215
CAPS = {
    "1/(L (tau-1))": "1/2",
    "q^(3/2)/(L sqrt N)": "1/8",
    "q/(L sqrt(2 N))": "1/16",
    "1/(L N)": "1/4",
}


def gradient(x):
    """f' as it is described, not by its points."""
    if x <= 0:
        return -D
    return -D - x if x <= 1 else x - 2 - D


def primitive(x):
    """f with f(0) = 0, by hand."""
    if x <= 0:
        return -D * x
    if x <= 1:
        return -D * x - x**2 / 2
    return -D - Fraction(1, 2) - (1 + D) * (x - 1) + (x - 1) ** 2 / 2


def served(tau):
    """Server models, line by line."""
    w, stored = Fraction(0), gradient(0)
    tracker, out = stored, [w]
    for _ in range(R):
        x, y = w, Fraction(0)
        for _ in range(tau):
            y, stored = y + gradient(x) - stored, gradient(x)
            x -= ETA * y
        tracker += y
        w -= ETA * tracker
        out.append(w)
    return out


POINTS = [Fraction(k, 7) for k in range(-14, 29)]


def test_the_function_is_the_one_described():
    assert (bent.DEPTH, bent.STEP, bent.ROUNDS) == (D, ETA, R)
    assert all(bent._line(x) == gradient(x) for x in POINTS)
    assert bent.smoothness() == 1
    gaps = [(abs(gradient(a) - gradient(b)), b - a) for a, b in combinations(POINTS, 2)]
    assert all(slope <= gap for slope, gap in gaps)
    # f is at most its parabola of curvature 1 from everywhere
    for a, b in combinations(POINTS, 2):
        parabola = primitive(a) + gradient(a) * (b - a) + (b - a) ** 2 / 2
        assert primitive(b) <= parabola


def test_it_is_least_where_its_gradient_vanishes():
    best = 2 + D
    assert gradient(best) == 0
    assert all(primitive(x) >= primitive(best) for x in POINTS)
    case = next(bent.descents(CAPS, Fraction(8), last=True))
    assert case.right == 8 * (primitive(0) - primitive(best)) / (ETA * R)


def test_the_step_is_inside_the_printed_caps():
    # N = L = q = 1
    assert max(2 * ETA, 8 * ETA, 4 * ETA) <= 1
    assert 2 * (16 * ETA) ** 2 <= 1
    assert len([*bent.descents(CAPS, Fraction(8), last=True)]) == 2
    for name in CAPS:
        tighter = {**CAPS, name: "1/24"}
        taus = [c.where["tau"] for c in bent.descents(tighter, Fraction(8), last=True)]
        assert taus == ([1] if "tau" in name else [])  # void at tau = 1


@pytest.mark.parametrize("tau", [1, 2])
def test_both_computations_are_the_run_line_by_line(tau):
    squares = [gradient(w) ** 2 for w in served(tau)]
    for last in (True, False):
        cases = bent.descents(CAPS, Fraction(8), last=last)
        case = next(one for one in cases if one.where["tau"] == tau)
        left = squares[-1] if last else sum(squares[:-1]) / R
        assert case.recheck() == (case.left, case.right) == (left, case.right)
        assert (left > case.right) is last


def test_it_refutes_the_last_gradient_and_not_the_mean():
    found = [
        judge.instances(bent.descents(CAPS, Fraction(8), last=last), "<=", "here")
        for last in (True, False)
    ]
    assert [one.verdict for one in found] == [Verdict.REFUTED, Verdict.SUPPORTED]
    at = found[0].evidence["counterexample"]
    assert (at["tau"], at["R"]) == (2, R)  # where no cap is void
    # a bound a little larger holds: 8 times 0.9149/0.8560 < 8.6
    larger = judge.instances(bent.descents(CAPS, Fraction(9), last=True), "<=", "here")
    assert larger.verdict == Verdict.SUPPORTED
    less = judge.instances(
        bent.descents(CAPS, Fraction(1, 10), last=False), "<=", "here"
    )
    assert less.verdict == Verdict.REFUTED


@pytest.mark.slow
def test_no_correction_of_the_general_bound_has_the_refuted_index():
    claim = load_file(proofs_folder() / "focus_theorem1_nonconvex_bound.py").general
    statement = claim.check().correction.statement
    assert r"\bar x_{r\tau+1}" in statement
    assert r"R\tau+1" not in statement

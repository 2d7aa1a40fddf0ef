"""The proofs of the corrected bounds of FOCUS's Theorem 1: each hypothesis is needed.

One round is also computed here, apart, on gradients that are broken lines: the
Lyapunov functions of the proofs shrink as they say, in rationals.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import pytest
import sympy

from flverify.claims import focus_theorem1_gradients as gradients
from flverify.claims import focus_theorem1_lagged as lagged
from flverify.claims import focus_theorem1_rates as rates
from flverify.claims import focus_theorem1_round as one_round
from flverify.claims import judge
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_theorem1_counts import rounds_suffice
from flverify.claims.focus_theorem1_gradients import Behind, Sums
from flverify.claims.focus_theorem1_round import Moves
from flverify.claims.focus_theorem1_steps import L as SMOOTHNESS
from flverify.claims.focus_theorem1_steps import N, conditions, mu, q
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict

REFUTED, PROVED = Verdict.REFUTED, Verdict.PROVED
DEFINED, CASE_3A, CHANCE = Q_READINGS
ROOT, MOVES = "q^(3/2)/(L sqrt N)", "1/(L (tau-1))"
SC = {"mu/(N L^2)": "3/27", MOVES: "1/3", ROOT: "1/8"}
PL = {MOVES: "1/3", ROOT: "1/8"}
NC = {MOVES: "1/2", ROOT: "1/8"}


@pytest.fixture(scope="module")
def theorem1():
    return load_file(proofs_folder() / "focus_theorem1.py")


def without(caps, name):
    return {key: factor for key, factor in caps.items() if key != name}


@pytest.mark.slow  # the audit judges it too
def test_the_bounds_are_proved_at_their_caps():
    assert rates.strongly_convex(SC, "1/2", DEFINED, rows=True).verdict == PROVED
    assert rates.polyak_lojasiewicz(PL, "1", DEFINED).verdict == PROVED
    assert rates.general(NC, "2", "3", DEFINED).verdict == PROVED


@pytest.mark.slow
@pytest.mark.parametrize("name", [MOVES, ROOT])
def test_no_bound_is_proved_without_one_of_its_caps(name):
    assert not rates.strongly_convex(
        without(SC, name), "1/2", DEFINED, rows=True
    ).passes()
    assert not rates.polyak_lojasiewicz(without(PL, name), "1", DEFINED).passes()
    assert not rates.general(without(NC, name), "2", "3", DEFINED).passes()


@pytest.mark.slow
def test_the_weight_of_the_start_needs_the_cap_on_mu():
    caps = without(SC, "mu/(N L^2)")
    assert not rates.strongly_convex(caps, "1/2", DEFINED, rows=True).passes()
    assert rates.strongly_convex(caps, "1/2", DEFINED, rows=False).verdict == PROVED


@pytest.mark.slow
def test_stronger_bounds_are_not_proved():
    assert not rates.strongly_convex(SC, "1", DEFINED, rows=True).passes()
    assert not rates.polyak_lojasiewicz(PL, "101/100", DEFINED).passes()
    less = rates.polyak_lojasiewicz(PL, "1", DEFINED, start="99/100")
    assert not less.passes()
    assert less.evidence["part"] == "the weight of B_0"
    assert not rates.general(NC, "199/100", "3", DEFINED).passes()
    assert not rates.general(NC, "2", "299/100", DEFINED).passes()


@pytest.mark.slow
@pytest.mark.parametrize("reading", [CASE_3A, CHANCE])
def test_the_printed_caps_do_not_suffice_for_other_q(reading):
    found = rates.strongly_convex(SC, "1/2", reading, case_3a="1/m", rows=True)
    assert not found.passes()


def test_a_reading_of_q_above_p_is_noticed():
    assert one_round.chances(CASE_3A, "1/m")[1].verdict == REFUTED
    assert one_round.chances(CASE_3A)[1].verdict == PROVED


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda: gradients.three_points("49/100"),
        lambda: one_round.moves_of_smooth(Moves("1/2", "55/100")),
        lambda: one_round.moves_of_smooth(Moves("2", "36")),  # s (1 + s) needs s <= 1
        lambda: one_round.moves_of_convex(Moves("1/2", "1/9", convex=True)),
        lambda: gradients.rows_follow(Behind(-q)),
        lambda: gradients.sum_of_gradients(Sums(sympy.Integer(-2))),
    ],
)
def test_a_wrong_fact_of_the_round_does_not_pass(wrong):
    assert not wrong().passes()


# a number that two links share: a change in one of them is noticed ------------------


class LeftBehind(Moves):
    """Moves whose rho is not that of `kept`."""

    rho = 1 - sympy.Rational(8, 9) * q


class SumOfAnother(Sums):
    """Sums whose m is that of a = 2."""

    m = 6 * N**2 * SMOOTHNESS


class LessFollows(Behind):
    """Rows whose j is that of a larger b."""

    j = Behind(2 * q).j


@pytest.mark.slow
def test_each_factor_of_a_fact_is_judged_with_it():
    assert one_round.rows_left(Moves("1/3", "1/9")).verdict == PROVED
    assert not one_round.rows_left(LeftBehind("1/3", "1/2")).passes()
    assert gradients.sum_of_gradients(SumOfAnother(sympy.Integer(2))).passes()
    assert not gradients.sum_of_gradients(SumOfAnother(sympy.Integer(3))).passes()


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "planted",
    [
        {"moves": Moves("1/3", "1/2", convex=True)},
        {"moves": Moves("1/2", "1/9", convex=True)},
        {"sums": Sums(sympy.Rational(1, 7))},
        {"behind": Behind(q / 2)},
        {},
    ],
    ids=str,
)
def test_faults_planted_in_the_descent_of_convex_f_are_noticed(planted):
    true = {"moves": rates.CONVEX, "sums": rates.THIRDS, "behind": rates.FIFTH}
    found = rates.convex_shrinks(sympy.Rational(1, 2), **{**true, **planted})
    assert judge.all_of(found).passes() == (not planted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted",
    [
        {"moves": Moves("1/3", "1/2")},
        {"moves": Moves("1/2", "16/81")},
        {"behind": Behind(q)},
        {},
    ],
    ids=str,
)
def test_faults_planted_in_the_descent_of_bent_f_are_noticed(planted):
    true = {"moves": rates.SMOOTH_PL, "behind": rates.SIXTH, "c": rates.WEIGHT_PL}
    found = rates.smooth_shrinks(sympy.Integer(1), **{**true, **planted})
    assert judge.all_of(found).passes() == (not planted)


@pytest.mark.parametrize("cap", ["1/3", "1/4"])
def test_the_cap_of_the_moves_is_that_of_the_step_size(cap):
    given = [mu <= SMOOTHNESS, N * q <= 1, *conditions(SC)]
    found = rates.inside(given, Moves(cap, "1/9", convex=True), mu)
    assert judge.all_of(found).passes() == (cap == "1/3")


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted",
    [
        {"moves": Moves("1/3", "1/2", convex=True)},
        {"behind": Behind(q / 9)},
        {"sums": Sums(sympy.Rational(1, 7))},
    ],
    ids=str,
)
def test_faults_planted_in_psi_are_noticed(planted):
    assert not judge.all_of(lagged._psi(sympy.Rational(1, 2), **planted)).passes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted",
    [{"moves": Moves("1/8", "1/2")}, {"behind": Behind(q / 9)}],
    ids=str,
)
@pytest.mark.parametrize("of_before", [True, False])
def test_faults_planted_in_phi_are_noticed(planted, of_before):
    found = lagged._phi(sympy.Integer(1), of_before, **planted)
    assert not judge.all_of(found).passes()


def test_the_signs_that_the_first_round_of_psi_uses_are_judged():
    one = sympy.Integer(1)
    true = lagged.Paid(one, 0 * one, one, one / 2, one, one, 0 * one, one)
    assert judge.all_of(true.judged([])).passes()
    for wrong in ({"less": 2 * one}, {"g": one / 2}):
        found = replace(true, **wrong).judged([])
        assert not judge.all_of(found).passes()


@pytest.mark.slow
def test_caps_that_psi_and_phi_need(theorem1):
    lag = "w_{r-1}, x_{r tau}"
    psi, phi = theorem1.COLLECTED_SC, theorem1.COLLECTED_PL
    for name in ("q/(N^2 L)", "q/(N (8 L^2/mu + mu/2))", "q^(3/2)/(L N)"):
        caps = without(psi, name)
        assert not lagged.psi_shrinks(caps, "1/2", lag, DEFINED, "1/N").passes()
    for name in ("q/N^2", "q/L^2", "q^(3/2)/(L N)", "q^(3/2)/(L (tau-1))"):
        caps = without(phi, name)
        assert not lagged.phi_shrinks(caps, "1", lag, DEFINED, "1/N").passes()
    assert not lagged.psi_shrinks(psi, "1/2", lag, CASE_3A, "1/m").passes()


def test_a_bound_of_order_1_over_r_is_not_counted_by_logarithms():
    assert rounds_suffice({}, "(25)", "1/epsilon").verdict == PROVED
    assert not rounds_suffice({}, "(25)", "log").passes()
    assert not rounds_suffice({}, "(23)", "log").passes()  # nothing caps its loss


# one round in rationals -----------------------------------------------------------

L = Fraction(1)


def line(slopes, breaks, at_zero):
    """Return a gradient with these slopes between the breaks, and its integral."""

    def gradient(x):
        return at_zero + area_of_slopes(x) - area_of_slopes(Fraction(0))

    def area_of_slopes(x):
        total, ends = slopes[0] * min(x, breaks[0]), [*breaks[1:], None]
        for slope, low, high in zip(slopes[1:], breaks, ends, strict=True):
            top = x if high is None else min(x, high)
            total += slope * max(top - low, Fraction(0))
        return total

    def integral(x):
        inside = [b for b in breaks if min(0, x) < b < max(0, x)]
        ends = sorted([Fraction(0), x, *inside])
        pairs = pairwise(ends)
        area = sum((b - a) * (gradient(a) + gradient(b)) / 2 for a, b in pairs)
        return area if x >= 0 else -area

    return gradient, integral


BROKEN = (line((Fraction(1, 10), L), (Fraction(1, 3),), Fraction(-1, 2)),)
BROKEN += (line((L, Fraction(1, 10), L), (Fraction(-1), Fraction(1)), Fraction(1, 2)),)
BENT = (line((L, -L, L), (Fraction(-1), Fraction(1, 2)), Fraction(1, 4)),)
BENT += (line((L, -L / 2, L), (Fraction(0), Fraction(1)), Fraction(-1, 3)),)

LAWS = {  # chance of each cohort of two clients; q_min
    "full": ({(1, 1): Fraction(1)}, Fraction(1, 2)),
    "one": ({(1, 0): Fraction(1, 2), (0, 1): Fraction(1, 2)}, Fraction(1, 2)),
    "rare": ({(1, 1): Fraction(1, 10), (0, 0): Fraction(9, 10)}, Fraction(1, 20)),
}


def after(clients, law, tau, step, w, rows, value):
    """E of value(server, rows) after a round, move by move."""
    out = Fraction(0)
    for cohort, chance in law.items():
        ends = []
        for (gradient, _), here, z in zip(clients, cohort, rows, strict=True):
            x = w if here else z
            for _ in range((tau - 1) * here):
                x -= step * (gradient(x) - gradient(z))
            ends.append(x)
        total = sum(g(z) for (g, _), z in zip(clients, ends, strict=True))
        out += chance * value(w - step * total, ends)
    return out


def least_of(clients):
    """Minimiser of F by bisection of its gradient, which increases."""
    low, high = Fraction(-4), Fraction(4)
    for _ in range(60):
        middle = (low + high) / 2
        below = sum(g(middle) for g, _ in clients) < 0
        low, high = (middle, high) if below else (low, middle)
    return low


STATES = [
    (Fraction(w, 4), (Fraction(a, 2), Fraction(b, 2)))
    for w, a, b in product((-7, -1, 0, 2, 9), (-3, 0, 1), (-1, 2))
]


def inside(q, tau, most):
    """A step at eta L N = q/8, inside the cap on local moves."""
    return min(q / 16, most / max(tau - 1, 1))


@pytest.mark.parametrize(("law", "tau"), [*product(LAWS, (1, 2, 8, 20))])
def test_a_round_on_convex_broken_lines(law, tau):
    (listed, q), n, mu = LAWS[law], 2, Fraction(1, 10)
    step, star = inside(q, tau, Fraction(1, 3)), least_of(BROKEN)
    weight = 2 * (1 - 8 * q / 9) * step * L / q

    def value(w, rows):
        return (w - star) ** 2 + weight * sum((w - z) ** 2 for z in rows)

    for w, rows in STATES:
        bound = (1 - step * mu * n / 2) * value(w, rows)
        assert after(BROKEN, listed, tau, step, w, rows, value) <= bound + Fraction(
            1, 10**12
        )


@pytest.mark.parametrize(("law", "tau"), [*product(LAWS, (1, 2, 8, 20))])
def test_a_round_on_bent_lines(law, tau):
    (listed, q), n = LAWS[law], 2
    step = inside(q, tau, Fraction(1, 2))
    weight = Fraction(3, 2) * step * L**2 / q

    def value(w, rows):
        level = sum(f(w) for _, f in BENT) / n
        return level + weight * sum((w - z) ** 2 for z in rows)

    for w, rows in STATES:
        slope = sum(g(w) for g, _ in BENT) / n
        bound = value(w, rows) - step * n / 2 * slope**2
        assert after(BENT, listed, tau, step, w, rows, value) <= bound

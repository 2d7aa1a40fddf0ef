"""Theorems 3 and 4 of SG-FOCUS, mended: broken constants, and f_i that bend."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

from flverify.claims import judge
from flverify.claims import sg_focus_closing as level
from flverify.claims import sg_focus_contraction as shared
from flverify.claims import sg_focus_links as links
from flverify.claims import sg_focus_theorem3 as third
from flverify.claims import sg_focus_theorem4 as fourth
from flverify.claims import sg_focus_theorem4_server as last
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.sg_focus_search import SAMPLES
from flverify.claims.verdict import Verdict
from flverify.reference import focus

PROVED, REFUTED = Verdict.PROVED, Verdict.REFUTED
THEOREM_3 = load_file(proofs_folder() / "sgfocus_theorem3.py")
THEOREM_4 = load_file(proofs_folder() / "sgfocus_theorem4.py")
MENDED_4 = {**THEOREM_4.theorem4.constants, **THEOREM_4.MENDED}
AUDITED = pytest.mark.slow  # the audit judges it too
WIDER = {"q/(N (16 L^2/mu + mu/2))": "1", "mu/((tau-1)^2 L^2 N)": "1/100"}


@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [
        pytest.param({}, PROVED, marks=AUDITED),
        pytest.param({"floor": "99/100"}, REFUTED, marks=pytest.mark.slow),
        *(
            pytest.param(
                {"caps": {**THEOREM_3.CAPS, k: v}}, REFUTED, marks=pytest.mark.slow
            )
            for k, v in WIDER.items()
        ),
        ({"caps": {}}, Verdict.INCONCLUSIVE),
    ],
)
def test_the_proof_of_theorem_3_ends_where_its_links_end(wrong, verdict):
    c = SimpleNamespace(**{"caps": THEOREM_3.CAPS, "floor": "1", **wrong})
    assert third.theorem3(c).verdict == verdict


@pytest.mark.one_in(99)
@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [
        *(pytest.param({"reading": q}, PROVED, marks=AUDITED) for q in Q_READINGS),
        pytest.param(
            {"reading": Q_READINGS[1], "case_3a": "1/m"},
            REFUTED,
            marks=pytest.mark.slow,  # as long as all others
        ),
        ({"floor": "L/2"}, Verdict.INCONCLUSIVE),
        ({"q/N^2": "1/15"}, REFUTED),
        pytest.param({"q^(3/2)/(L N)": "1/7"}, REFUTED, marks=pytest.mark.slow),
        ({"q/(beta N (4-q))": "2/5"}, REFUTED),
    ],
)
def test_the_proof_of_theorem_4_ends_where_its_links_end(wrong, verdict):
    reading = wrong.get("reading", Q_READINGS[0])
    caps = {k: wrong.get(k, v) for k, v in MENDED_4["caps"].items()}
    other = {k: v for k, v in wrong.items() if k in MENDED_4}
    c = SimpleNamespace(**{**MENDED_4, **other, "caps": caps})
    assert fourth.theorem4(c, reading).verdict == verdict


WEAKER = [
    (third, "NOISE", "3/2", "_one_round"),
    (third, "NOISE", "8/5", "_server"),
    (third, "FALL", "7/5", "_one_round"),
    (third, "EARLY", "1/10", "_server"),
    (fourth, "NOISE", "51/10", "_one_round"),
    (fourth, "MOVES", "19", "_one_round"),
    (fourth, "WEIGHT", "12/5", "_one_round"),
    (fourth, "LAG", "1", "_one_behind"),
    (fourth, "RATE", "6/5", "_one_round"),
    (last, "NOISE", "7", "server_value"),
    (last, "MOVES", "70", "server_value"),
    (last, "EARLY", "1/20", "server_value"),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("module", "name", "value", "link"), WEAKER)
def test_a_link_uses_all_that_it_counts(module, name, value, link, monkeypatch):
    monkeypatch.setattr(module, name, sympy.Rational(value))
    assert getattr(module, link).__wrapped__().verdict == REFUTED


SHARED = [  # less than what the links show, so that they cannot show it
    ("FALLEN", links.FALLEN - links.s / 100, "descent_at_v"),
    ("GAP", links.GAP - links.e * links.E / 100, "gap_at_v"),
    ("SLOPE", links.SLOPE - links.g_v / 100, "gap_at_v"),
    ("BEFORE", links.B + 3 * links.M, "rows_followed"),
    ("LOST", sympy.Rational(14, 30), "rows_followed"),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("name", "value", "link"), SHARED)
def test_a_fault_in_what_links_share_stops_the_link(name, value, link, monkeypatch):
    monkeypatch.setattr(links, name, value)
    assert getattr(links, link).__wrapped__().verdict == REFUTED


@pytest.mark.parametrize("bound", ["push_bound", "tracked_bound", "tracker_bound"])
def test_a_fault_in_a_bound_of_links_stops_the_link(bound, monkeypatch):
    more = getattr(links, bound)
    monkeypatch.setattr(links, bound, lambda weight: more(weight) * 99 / 100)
    link = links.pushed if bound == "push_bound" else links.tracked
    assert link(sympy.Integer(1)).verdict == REFUTED


def test_a_rate_has_no_more_to_spare_than_it_has():
    half = sympy.Rational(1, 2)
    assert shared.spare_rate(half, half).verdict == PROVED
    rate = (1 + shared.reached) * (1 - shared.x) ** 2 * shared.power
    held = [(1 + shared.reached) * shared.power <= shared.goal, 2 * shared.x <= 1]
    found = judge.implied(held, rate <= (1 - shared.x) ** 3 * shared.goal, "all")
    assert found.verdict == REFUTED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("contraction", "power", "passes"),
    [("1/2", 1, True), ("51/100", 1, False), ("1/2", 2, False)],
)
def test_the_closing_text_has_the_rate_and_the_order_of_theorem_3(
    contraction, power, passes
):
    found = third.level(THEOREM_3.NARROW["caps"], contraction, power)
    assert found.passes() == passes
    assert found.parts["Theorem 3"].verdict == PROVED


@pytest.mark.parametrize("power", [1, 2])
def test_one_sample_for_all_calls_keeps_the_server_away_at_every_step(power):
    cases = [*level.one_sample(SimpleNamespace(power=power))]
    for case in cases:
        step, rounds, bound = (case.where[key] for key in ("step size", "R", "C"))
        assert bound * step * 3 <= 1  # far below what is left
        assert case.left == (1 - (1 - step) ** rounds) ** 2 > bound * step**power
        assert case.left > Fraction(9, 25)
    assert judge.instances(cases, "<=", "one client").verdict == REFUTED


def test_the_closing_text_is_read_with_samples_of_any_joint_law():
    names = (THEOREM_3.NOISY, THEOREM_3.ONE_SAMPLE)
    assert [name.split("; ")[1] for name in names] == [*SAMPLES]


@AUDITED
def test_the_closing_text_needs_independent_samples():
    found = THEOREM_3.closing.check().readings
    assert found[THEOREM_3.NOISY].verdict == PROVED
    assert found[THEOREM_3.ONE_SAMPLE].verdict == REFUTED


@AUDITED
def test_the_corrections_are_proved_and_the_controls_are_the_corrections():
    for one in (THEOREM_3.theorem3, THEOREM_4.theorem4, THEOREM_4.descent):
        found = one.check()
        assert (found.verdict, found.correction.finding.verdict) == (REFUTED, PROVED)
        assert one.control().verdict == PROVED


@pytest.mark.slow
def test_gamma_with_narrow_caps_is_searched_and_not_proved():
    found = THEOREM_3.theorem3.check(**THEOREM_3.NARROW)
    assert found.verdict == Verdict.SUPPORTED
    half = {**THEOREM_3.ALONE, "floor": "0"}
    assert THEOREM_3.theorem3.check(**half).verdict != PROVED


@pytest.mark.slow
def test_the_descent_of_f_needs_all_clients_and_half_the_noise():
    full = {"laws": "full", "samples": SAMPLES[:1]}
    assert THEOREM_4.descent.check(**full, noise="2/5").verdict == REFUTED
    alone = {**full, "laws": "any"}
    assert THEOREM_4.descent.check(**alone).verdict == REFUTED


# Runs on f_i that bend, with noise that depends on the point -----------------------


def soft(x):
    """f' = x above 0 and x/2 below: L = 1, mu = 1/2."""
    return np.where(x > 0, x, x / 2)


def wavy(x):
    """f = x^2 + 3 sin^2 x is not convex, has L = 8, and the PL condition for 1/32."""
    return 2 * x + 3 * np.sin(2 * x)


def played(f, tau, step, chance, start, rounds):
    """Play 400 runs of one rare client at once; noise only above the minimiser."""
    rng, paths = np.random.default_rng(5), 400
    model = np.full(paths, start)
    state = {
        "model": [model],
        "tracker": [np.asarray(f(model))],
        "stored": [[np.asarray(f(model))]],
    }
    rows, behind = model, []

    def gradient(_, x):
        nonlocal point
        point = x[0]
        return [f(x[0]) + rng.choice([-1.0, 1.0], paths) * (x[0] > 0)]

    for _ in range(rounds):
        point = rows
        behind.append(np.mean((state["model"][0] - rows) ** 2))
        came = rng.random(paths) < chance
        ends = [
            focus.play(state, gradient, 1, cohort, step_size=step, local_steps=tau)
            for cohort in (set(), {0})
        ]
        rows = np.where(came, point, rows)
        state = {
            "model": [np.where(came, ends[1]["model"][0], ends[0]["model"][0])],
            "tracker": [np.where(came, ends[1]["tracker"][0], ends[0]["tracker"][0])],
            "stored": [[np.where(came, *(e["stored"][0][0] for e in ends[::-1]))]],
        }
    return state["model"][0], behind[-1]


@pytest.mark.parametrize(("tau", "start"), [(1, 0.0), (1, 1.0), (3, 0.0), (20, 1.0)])
def test_theorem_3_mended_holds_on_an_f_that_bends(tau, start):
    q, mu, n, rounds = 0.2, 0.5, tau - 1, 150
    caps = [2 * q / (3 * (16 / mu + mu / 2)), q**1.5 / (4 * 6**0.5)]
    if n:
        caps += [q**1.5 / (8 * 2**0.5 * n), mu / (128 * n**2)]
    step = min(caps)
    model, _ = played(soft, tau, step, q, start, rounds)
    bound = (1 - step * mu / 2) ** rounds * start**2
    assert np.mean(model**2) <= bound + 4 * (q + 1) / (mu * q) * step


@pytest.mark.parametrize(("tau", "start"), [(1, 0.0), (1, 1.0), (3, 0.0), (20, 1.0)])
def test_theorem_4_mended_holds_on_an_f_that_bends(tau, start):
    q, top, beta, n, rounds = 0.2, 8, 1 / 32, tau - 1, 150
    caps = [q / (3 * beta * (4 - q)), q / (16 * top**2), q / 16, q**1.5 / (8 * top)]
    caps += [q**1.5 / (8 * 2**0.5 * top * n)] if n else []
    step = min(caps)
    model, behind = played(wavy, tau, step, q, start, rounds)
    gap = np.mean(model**2 + 3 * np.sin(model) ** 2)
    floor = (8 * top + 64 * step * top**2 * n**2) / q * step / beta
    floor += 48 * (1 + n**2) * step**2 / q**2
    bound = (1 - step * beta) ** rounds * (start**2 + 3 * np.sin(start) ** 2) + floor
    assert gap + (1 - 4 * step * top**2) * behind <= bound

"""SG-FOCUS: three ways to its moments agree; wrong constants change the verdicts."""

import re
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from flverify._core.errors import DomainError, UnknownNameError
from flverify.algorithms import Focus
from flverify.claims import judge
from flverify.claims.focus_families import CONVEX
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.sg_focus_moments import FIELDS, NoisyClients, curves
from flverify.claims.sg_focus_recheck import listed, once, shared, signs, symmetric
from flverify.claims.sg_focus_search import (
    Q_READINGS,
    SAMPLES,
    by_samples,
    chosen,
    inside,
    largest_step,
    population,
    searched,
)
from flverify.claims.verdict import Verdict
from flverify.engines.noise import noisy_moments
from flverify.participation import Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics

pytestmark = pytest.mark.slow

F = Fraction
QUARTER = F(1, 4)
REFUTED, PROVED, SUPPORTED = Verdict.REFUTED, Verdict.PROVED, Verdict.SUPPORTED
OPEN = Verdict.INCONCLUSIVE


def clients(h, law, tau, variance=QUARTER):
    return NoisyClients(tuple(map(F, h)), law, tau, variance=variance)


RUNS = {
    "one": (clients([1], Full(1), 2), (F(1), (F(2),)), 2),
    "rare": (clients([2], Bernoulli(["1/2"]), 3), (F(1), (F(0),)), 2),
    "two": (clients([1, 3], UniformCohort(2, 1), 2), (F(1), (F(0), F(2))), 3),
    "bent": (clients([2, -1], Bernoulli(["1/2", 1]), 1), (F(0), (F(0),) * 2), 3),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_recursion_agrees_with_every_sign_of_every_noise(name):
    run, start, rounds = RUNS[name]
    exact = curves(run, F(1, 7), [start], rounds, exact=True)
    rough = curves(run, F(1, 7), [start], rounds)
    played = listed(run, F(1, 7), start, rounds)
    for field in FIELDS:
        values = getattr(played, field)
        assert (getattr(exact, field)[0] == values).all(), field
        np.testing.assert_allclose(getattr(rough, field)[0], values.astype(float))


@pytest.mark.parametrize(
    "law", [UniformCohort(4, 1), UniformCohort(3, 2), Bernoulli(["1/3"] * 3), Full(1)]
)
def test_nine_numbers_agree_with_the_recursion(law):
    run = clients([2] * law.n_clients, law, 3)
    start = (F(1), (F(3),) * law.n_clients)
    exact = curves(run, F(1, 7), [start], 4, exact=True)
    few = symmetric(run, F(1, 7), start, 4)
    for field in FIELDS:
        assert (getattr(exact, field)[0] == getattr(few, field)).all(), field


def test_the_noise_engine_agrees_with_the_recursion():
    run = clients([1, 3], UniformCohort(2, 1), 2)
    problem = Quadratics([[[1]], [[3]]], [[0], [0]])
    found = noisy_moments(problem, Focus("1/7", 2), run.law, "1/4")
    at = (F(0), (F(0), F(0)))
    expected = curves(run, F(1, 7), [at], 5, exact=True).server[0]
    assert (found.mean_square_error([0], 5) == expected).all()


def test_one_sample_for_all_is_not_independent_samples():
    run, start = clients([1, 3], Full(2), 3), (F(1), (F(2), F(0)))
    one, other = shared(run, F(1, 7), start, 4), once(run, F(1, 7), start, 4)
    for field in FIELDS:
        assert (getattr(one, field) == getattr(other, field)).all(), field
    free = curves(run, F(1, 7), [start], 4, exact=True)
    assert one.server[4] > free.server[0][4]


def test_a_variance_without_a_rational_root_is_not_played():
    with pytest.raises(DomainError, match="root"):
        signs(F(1, 2))


def test_steps_lie_below_every_cap():
    caps = {"q^(3/2)/(sqrt(2) L (tau-1))": "1/8", "mu/((tau-1)^2 L^2 N)": "1/128"}
    run = clients([1, 5], Full(2), 3)
    step = largest_step(caps, run, F(1, 2))
    assert inside(caps, run, F(1, 2), step)
    assert not inside(caps, run, F(1, 2), step * F(1001, 1000))
    assert step == F(1, 128) / 4 / 25 / 2
    (_, longest, _), (_, shorter, _) = chosen(
        caps, "q_i = p_i", [run], "", ("1", "1/8")
    )
    assert shorter * 8 == longest
    with pytest.raises(UnknownNameError):
        largest_step({"1/N": "1"}, run, F(1))


def test_what_refutes_independent_samples_refutes_their_open_law():
    def never():
        raise AssertionError

    refuted = loaded("sgfocus_theorem3").absorbed.check()
    found = by_samples(lambda: refuted, never)
    assert found[SAMPLES[1]] is found[SAMPLES[0]]


def loaded(name):
    return load_file(proofs_folder() / f"{name}.py")


MENDED = [
    ("sgfocus_theorem3", "theorem3", ("_sides3", ("", 0))),
    ("sgfocus_theorem5", "theorem5", ("_sides5", False)),
]


@pytest.mark.parametrize(("file", "name", "sides"), MENDED)
def test_the_repaired_bounds_need_equal_models(file, name, sides):
    """A client x^2/2 whose row is not x*, where the server is, moves the server."""
    module, claim = loaded(file), getattr(loaded(file), name)
    assert "all models equal at the start" in claim.check().correction.statement
    c = SimpleNamespace(**{**claim.constants, **claim.twin})
    alone = clients([1], Bernoulli(["1/2"]), 1, F(1, 10**6))
    steps = [*chosen(c.caps, Q_READINGS[0], [alone], "1/N")]
    bound = partial(getattr(module, sides[0]), c, sides[1])
    for equal, verdict in ((True, SUPPORTED), (False, REFUTED)):
        cases = searched(steps, bound, 30, equal=equal)
        assert judge.instances(cases, "<=", "runs").verdict == verdict


CAPPED = {  # what is at most 1 inside the caps of the theorem, not only of the step
    ("focus_theorem1_pl", "second_inequality"): lambda N, L, beta, eta, q, **_: (
        32 * eta * N / (3 * q),
        12 * eta * beta * N / q,
        16 * eta * L**2 / q,
        64 * (eta * L) ** 2 * N / q**3,
    ),
    ("sgfocus_theorem3", "unrolled"): lambda N, L, mu, eta, q_min, **_: (
        3 * eta * N * (16 * L**2 / mu + mu / 2) / (2 * q_min),
        96 * (eta * L) ** 2 * N / q_min**3,
    ),
    ("sgfocus_theorem4", "decreased"): lambda N, L, beta, eta, q, n, **_: (
        3 * eta * beta * N * (4 - q) / q,
        16 * eta * L**2 / q,
        96 * (eta * L) ** 2 * N / q**3,
        128 * (eta * L * n) ** 2 / q**3,
    ),
    ("sgfocus_theorem5_steps", "simplified"): lambda N, L, eta, q, n, **_: (
        96 * (eta * L) ** 2 * N / q**3,
        128 * (eta * L * n) ** 2 / q**3,
        4 * eta * L * N,
        4 * eta * L * n,
    ),
}


@pytest.mark.parametrize(("file", "name"), CAPPED)
def test_steps_are_refuted_inside_the_caps_of_their_theorem(file, name):
    found = getattr(loaded(file), name).check()
    assert found.verdict == REFUTED
    point = {k: F(v) for k, v in found.evidence["counterexample"].items()}
    assert max(CAPPED[file, name](**point)) <= 1


PLANTED = [
    ("sgfocus_algorithm", "algorithm_2", {"message": 2}, OPEN, REFUTED),
    ("sgfocus_algorithm", "assumption_6", {"variance": 2}, PROVED, REFUTED),
    ("sgfocus_algorithm", "assumption_6", {"mean": 1}, PROVED, REFUTED),
    ("sgfocus_lemma5", "expansion", {"collected": 2}, PROVED, REFUTED),
    ("sgfocus_lemma5", "gradient_by_gap", {"factor": "39/10"}, PROVED, REFUTED),
    ("sgfocus_lemma5", "cross_term", {"difference": "1"}, PROVED, REFUTED),
    ("sgfocus_lemma5", "collected", {"noise": "2"}, PROVED, REFUTED),
    ("sgfocus_lemma5_drift", "drift", {"sign": -1}, OPEN, REFUTED),
    ("sgfocus_lemma5_drift", "drift", {"rows": "99/100"}, OPEN, REFUTED),
    ("sgfocus_lemma5_drift", "chain", {"noise": "7"}, OPEN, REFUTED),
    ("sgfocus_lemma6_collected", "moved_left", {"rows": "90"}, OPEN, REFUTED),
    ("sgfocus_lemma6_collected", "moved_left", {"noise": "11"}, OPEN, REFUTED),
    ("sgfocus_lemma6_collected", "divided", {"gradient": "15"}, REFUTED, REFUTED),
    ("sgfocus_theorem3", "consensus", {"noise": "7"}, PROVED, REFUTED),
    ("sgfocus_theorem3", "dropped", {"cap": "3"}, PROVED, REFUTED),
    ("sgfocus_theorem3", "absorbed", {"cap": "1/3"}, REFUTED, PROVED),
    ("sgfocus_theorem3", "unrolled", {"floor": "39/10"}, REFUTED, REFUTED),
    ("sgfocus_theorem4", "substituted", {"noise": "2/5"}, PROVED, REFUTED),
    ("sgfocus_theorem4_collected", "subtracted", {"noise": "2/5"}, PROVED, REFUTED),
    ("sgfocus_theorem4_collected", "absorbed", {"cap": "1/2"}, PROVED, REFUTED),
    ("sgfocus_theorem4_collected", "unrolled", {"first": "1"}, PROVED, REFUTED),
    ("sgfocus_theorem4_collected", "unrolled", {"contraction": "2"}, PROVED, REFUTED),
    ("sgfocus_theorem4_collected", "added", {"cap": "1/15"}, REFUTED, REFUTED),
    ("sgfocus_theorem5_steps", "cross_term", {"gradient": "3/5"}, PROVED, REFUTED),
    ("sgfocus_theorem5_steps", "substituted", {"less": "1"}, PROVED, REFUTED),
    ("sgfocus_theorem5_steps", "plugged", {"moved": "16"}, REFUTED, REFUTED),
]


@pytest.mark.parametrize(
    ("file", "claim", "wrong", "printed", "planted"),
    PLANTED,
    ids=[f"{file}-{claim}-{next(iter(wrong))}" for file, claim, wrong, *_ in PLANTED],
)
def test_a_planted_constant_changes_the_verdict(file, claim, wrong, printed, planted):
    found = getattr(loaded(file), claim)
    assert found.check().verdict == printed
    assert found.check(**wrong).verdict == planted


def verdicts(finding):
    return [reading.verdict for reading in finding.readings.values()]


def test_what_is_refuted_in_appendix_e_needs_no_empty_round():
    empty = [one.law.empty_probability() > 0 for one in population(CONVEX, largest=5)]
    assert any(empty)
    assert empty == sorted(empty)  # tried last
    scripts = (proofs_folder() / "counterexamples").glob("sgfocus.*.py")
    laws = re.findall(r"'law': '(\w+)", "".join(s.read_text("utf-8") for s in scripts))
    assert {*laws} == {"uniform", "full"}


@pytest.mark.parametrize("q", [F(1, 2), F(1)])  # E[I_i/|S|] = p_i, and Case 3a
def test_theorems_3_and_4_fail_from_the_zeros_of_line_1_too(q):
    """f_i = (x - b_i)^2/2 with b = 1, -1, x_0 = x* = 0: rows where f_i is least.

    Stored gradients and tracker are 0 there, as in line 1 of Algorithm 2. The bounds
    with a Gamma_0 and Omega_0 of those rows' distances fail after one round.
    """
    pair, step = clients([1, 1], UniformCohort(2, 1), 2, variance=F(0)), F(1, 256)
    third, fourth = loaded("sgfocus_theorem3"), loaded("sgfocus_theorem4")
    for caps in (third.CAPS, {**fourth.OF_PROOF, **fourth.CAPS}):
        assert inside(caps, pair, q, step)
    found = curves(pair, step, [(F(0), (F(1), F(-1)))], 2, exact=True)
    (a0, a1, a2), (apart, *_) = found.server[0], found.behind[0]
    assert (a0, apart) == (0, 2)
    for factor, before, after in ((8, a1, a2), (16, a0, a1)):
        error = (1 - factor * step * 2) * apart  # of both Gamma_0 and Gamma_1
        assert after + error > (1 - step) * (before + error)
    error = (1 - 4 * step) * apart
    assert a1 / 2 + error > (1 - 2 * step) * (a0 / 2 + error)


def test_stale_noise_and_many_noises_break_lemma_5_each():
    lemma = loaded("sgfocus_lemma5").lemma5
    independent = {"samples": SAMPLES[:1]}
    assert lemma.check(**independent).verdict == REFUTED
    assert lemma.check(**independent, laws="full").verdict == REFUTED  # 2 < N
    assert lemma.check(**independent, noise="2 N").verdict == REFUTED  # stale noise
    mended = lemma.check(**independent, noise="2 N", laws="full")
    assert mended.verdict == PROVED


def test_the_unbiased_step_needs_fresh_noise():
    step = loaded("sgfocus_lemma5").unbiased
    assert verdicts(step.check()) == [REFUTED, REFUTED]
    fresh = {"laws": "full", "samples": SAMPLES[:1]}
    assert step.check(**fresh).verdict == PROVED
    assert step.check(**fresh, stored=2).verdict == PROVED  # nothing is stale
    assert step.check(laws="full").verdict == OPEN  # one sample for all stays


def test_the_moves_of_server_and_clients_are_shown_for_any_number_of_them():
    move = loaded("sgfocus_lemma5").expansion
    assert move.given == {"the tracking of Algorithm 2": ("sgfocus.alg2",)}
    found = move.check()
    assert "1..3" not in found.scope
    assert set(found.parts["the server's move"].parts) == {"listed", "more"}
    frobenius, induced = loaded("sgfocus_lemma5_drift").drift.check().readings.values()
    assert "1..4" not in frobenius.scope
    for found in (frobenius, induced):
        assert set(found.parts["line 2"].parts) == {"listed", "one move more"}


@pytest.mark.parametrize("name", ["drift", "chain"])
def test_what_is_judged_for_all_vectors_and_not_for_runs_says_so(name):
    """A client is pulled or stays in (126); noise is uncorrelated with (127)'s past."""
    one = vars(loaded("sgfocus_lemma5_drift"))[name]
    assert one.proposition.endswith("for all vectors.")


def test_the_noisy_decrease_fails_for_a_pl_function_inside_theorem_4():
    found = loaded("sgfocus_theorem4").decreased.check().parts["as a bound"]
    at = found.evidence["counterexample"]
    L, eta, beta = F(at["L"]), F(at["eta"]), F(at["F"].split()[-1])
    assert found.verdict == REFUTED
    assert at["F"].startswith("slope")  # quadratic, so beta-PL, if beta > 0
    assert beta > 0
    assert max(9 * eta * beta, 16 * eta * L**2, 96 * (eta * L) ** 2, 4 * eta * L) <= 1


def test_the_floor_of_theorem_4_is_kept_from_any_start_and_any_noise():
    steps = loaded("sgfocus_theorem4_collected").unrolled.check().parts["rounds"]
    assert (steps.verdict, steps.scope) == (PROVED, "every R")
    assert "12 instances" in steps.evidence["searched beside the proof"]


def test_the_local_moves_need_a_cap_on_all_of_them():
    moves = loaded("sgfocus_lemma5_moves")
    # the last reading leaves the joint law of the samples open
    printed = [REFUTED, PROVED, PROVED, REFUTED]
    assert verdicts(moves.moves_bounded.check()) == printed
    mended = [PROVED] * 3 + [REFUTED]
    assert verdicts(moves.moves_bounded.check(power=2)) == mended
    assert verdicts(moves.summed.check(power=2)) == mended


def test_step_131_adds_the_noises_of_any_number_of_clients():
    step = loaded("sgfocus_lemma6").three_terms
    found = step.check().readings
    mended = found["gradients at x_{r tau}, as in line 2; independent samples"]
    assert "1..4" not in mended.scope
    assert set(mended.parts["line 2, noise"].parts) == {"variance", "apart", "sum"}
    shared = found[
        "gradients at x_{r tau}, as in line 2; joint law of the samples open"
    ]
    assert (mended.verdict, shared.verdict) == (PROVED, REFUTED)
    assert "noise" in shared.reason


@pytest.mark.parametrize(("consensus", "noise"), [(4, 32), (2, 64), (4, 65)])
def test_the_last_step_of_lemma_5_is_scaled_as_printed(monkeypatch, consensus, noise):
    drift = loaded("sgfocus_lemma5_drift")

    def lefts(p, t, square):
        first = (1 + p) * (consensus + 32 * square)
        return {"consensus": first, "noise": 1 + noise * (1 + p) * t}

    assert drift._scaled(128).verdict == PROVED
    monkeypatch.setattr(drift, "_lefts", lefts)
    assert drift._scaled(128).verdict == REFUTED


@pytest.mark.parametrize("wrong", ["q", "N", "tau - 1", "B_r"])
def test_the_caps_of_133_have_the_exponents_of_the_print(monkeypatch, wrong):
    collected = loaded("sgfocus_lemma6_collected")
    constants = SimpleNamespace(**collected.moved_left.constants)
    caps, error = collected._printed_caps, collected._of_error

    def other(c, L, N, n):
        rows, moves = caps(c, L, N, n)
        if wrong == "tau - 1":
            return rows, moves / n
        return {"q": rows * collected.q, "N": rows * N, "B_r": rows}[wrong], moves

    assert collected._scaled(constants).verdict == PROVED
    monkeypatch.setattr(collected, "_printed_caps", other)
    if wrong == "B_r":
        monkeypatch.setattr(collected, "_of_error", lambda a, b: error(b, a))
    assert collected._scaled(constants).verdict == REFUTED


def test_133_follows_from_the_first_line_before_it_and_not_from_the_second():
    step = loaded("sgfocus_lemma6_collected").moved_left
    found = step.check()
    assert verdicts(found) == [PROVED, REFUTED]
    assert found.correction.finding.verdict == PROVED
    at = found.readings["(ii) from line 2 of it, as printed"].evidence["counterexample"]
    smooth, many, q, eta, error = (F(at[key]) for key in ("L", "N", "q", "eta", "B_r"))
    line_2 = 12 * (eta * smooth) ** 2 * many / q * (error + 1)
    assert (error, smooth) == (line_2, 2)
    assert 96 * (eta * smooth) ** 2 * many <= q**3


def test_step_132_needs_the_noise_of_127():
    moves = loaded("sgfocus_lemma6_collected").moves
    mended = {
        "bound": "8",
        "noise": "16",
        "rounds": tuple(moves.constants["rounds"])[1:],
    }
    assert moves.check(**mended).verdict == PROVED
    assert moves.check(**{**mended, "noise": "1"}).verdict == REFUTED


def test_theorem_4_is_searched_where_the_models_spread_first():
    theorem = loaded("sgfocus_theorem4")
    wide = {**theorem.theorem4.constants, **theorem.MENDED}
    holds = {}
    for floor in ("wider", "L/2"):
        c = SimpleNamespace(**{**wide, "floor": floor})
        cases = list(theorem._slow(c, partial(theorem._sides4, c)))
        assert cases, "the instance must be inside the caps"
        holds[floor] = all(bool(one.left <= one.right) for one in cases)
    assert holds == {"wider": True, "L/2": False}

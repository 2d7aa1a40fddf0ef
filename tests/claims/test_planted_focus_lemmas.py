"""A wrong constant planted in each step of Lemmas 3 and 4 of FOCUS changes its verdict.

The rounds that the steps are evaluated on, and the counterexamples of the lemmas, are
computed again here by hand.
"""

from fractions import Fraction
from functools import cache

import pytest
import sympy

from flverify.claims import (
    focus_lemma3,
    focus_lemma3_proof,
    focus_lemma4,
    focus_lemma4_proof,
)
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict

pytestmark = pytest.mark.slow

F = Fraction
REFUTED, PROVED, SUPPORTED = Verdict.REFUTED, Verdict.PROVED, Verdict.SUPPORTED
FILES = [
    "focus_lemma3_descent",
    "focus_lemma3_steps80_82",
    "focus_lemma3_steps83_84",
    "focus_lemma3_steps85_88",
    "focus_lemma4_consensus",
    "focus_lemma4_steps90_91",
    "focus_lemma4_steps92_93",
]


@cache
def claims():
    found = {}
    for name in FILES:
        for value in vars(load_file(proofs_folder() / f"{name}.py")).values():
            if hasattr(value, "judged_by"):
                found[value.id.removeprefix("focus.")] = value
    return found


def verdicts(finding):
    return [reading.verdict for reading in finding.readings.values()]


@pytest.mark.parametrize("name", ["lemma3.step85", "lemma3.step86"])
def test_a_scope_says_that_f_i_are_convex_where_that_is_used(name):
    found = claims()[name].check().readings
    (convex,) = (one for key, one in found.items() if "strongly convex" in key)
    assert convex.verdict == PROVED
    assert "f_i convex" in convex.scope
    assert "and L-smooth f_i" not in convex.scope


def test_every_step_of_both_lemmas_has_its_claim():
    names = sorted(claims())
    assert len([name for name in names if name.startswith("lemma3")]) == 19
    assert len([name for name in names if name.startswith("lemma4")]) == 13


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("lemma3.step80a", {"cross": "3"}),
        ("lemma3.step80a", {"collected": 2}),
        ("lemma3.step80b", {"difference": "199/100"}),
        ("lemma3.step80b", {"mean": "199/100"}),
        ("lemma3.step80c", {"factor": "399/100"}),
        ("lemma3.step81a", {"difference": "1"}),
        ("lemma3.step81b", {"convexity": "51/100"}),
        ("lemma3.step81b", {"distance": "99/100"}),
        ("lemma3.step81c", {"contraction": "51/100"}),
        ("lemma3.step81c", {"eps": "1/4"}),
        ("lemma3.step82", {"gap": "1"}),
        ("lemma3.step82", {"noise": "1"}),
        ("lemma3.step83a", {"factor": "99/100"}),
        ("lemma3.step83b", {"first": 3}),
        ("lemma3.step84a-e", {"near": "199/100"}),
        ("lemma3.step84a-e", {"count": "99/100"}),
        ("lemma3.step84a-e", {"most": "1/2"}),
        ("lemma3.step88b", {"bound": "288/100"}),
        ("lemma3.step88b", {"cap": "2/5"}),
        ("lemma4.step90a", {"moves": 2}),
        ("lemma4.step90a", {"first": 3}),
        ("lemma4.step94a-b", {"first": "1/3"}),
        ("lemma4.step94a-b", {"rows": "8"}),
        ("lemma4.step94a-b", {"slope_2": "799/100"}),
        ("lemma4.step96a", {"share": "34/100"}),
    ],
)
def test_a_wrong_constant_is_refuted(name, wrong):
    claim = claims()[name]
    assert claim.check().verdict == PROVED
    assert claim.check(**wrong).verdict == REFUTED


@pytest.mark.parametrize(
    ("name", "wrong", "mended"),
    [
        ("lemma4.step95", {"moves": "1/100"}, {"moves": "1/128", "by_itself": ()}),
        ("lemma4.step95", {"left": "37/100"}, {"left": "3/8", "by_itself": ()}),
        ("lemma4.step96b", {"bound": "1066/100"}, {"bound": "32/3"}),
    ],
)
def test_the_sharp_constant_of_a_step_that_fails(name, wrong, mended):
    claim = claims()[name]
    assert claim.check().verdict == REFUTED
    assert claim.check(**wrong).verdict == REFUTED
    assert claim.check(**mended).verdict == PROVED


READINGS = {
    "lemma3.final": [REFUTED, PROVED],
    "lemma3.step83c-d": [PROVED, REFUTED],
    "lemma3.step85": [REFUTED, PROVED],
    "lemma3.step86": [REFUTED, PROVED, PROVED, REFUTED],
    "lemma3.step87": [PROVED, REFUTED, PROVED, REFUTED],
    "lemma3.step87.smooth": [PROVED, REFUTED, PROVED, REFUTED, REFUTED],
    "lemma3.step88a": [PROVED, REFUTED],
    "lemma4.rho": [PROVED, REFUTED],
    "lemma4.step90b": [PROVED, REFUTED, REFUTED],
    "lemma4.step91": [REFUTED, REFUTED, PROVED, REFUTED],
    "lemma4.step92a": [REFUTED, PROVED],
    "lemma4.step92b": [REFUTED, PROVED],
    "lemma4.step93a": [REFUTED, PROVED],
    "lemma4.step93b-c": [REFUTED, REFUTED, REFUTED, PROVED, REFUTED, REFUTED],
}


@pytest.mark.parametrize("name", READINGS)
def test_what_decides_a_step_with_readings(name):
    claim = claims()[name]
    finding, twin = claim.check(), claim.control()
    assert verdicts(finding) == READINGS[name]
    assert verdicts(twin) == [REFUTED] * len(READINGS[name])
    if finding.correction:
        assert finding.correction.finding.verdict == PROVED


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("lemma3.step83c-d", {"far": "199/100"}),
        ("lemma3.step83c-d", {"count": "99/100"}),
        ("lemma3.step88a", {"moved": "799/100"}),
        ("lemma3.step87", {"far": "99/100"}),
        ("lemma3.step87.smooth", {"far": "99/100"}),
        ("lemma3.step87.smooth", {"moved": "1"}),
        ("lemma3.step87.smooth", {"cap": "4"}),
        ("lemma4.rho", {"half": "2/3"}),
        ("lemma4.step92b", {"factor": "199/100"}),
    ],
)
def test_a_wrong_constant_is_refuted_under_every_reading(name, wrong):
    found = claims()[name].check(**wrong)
    assert verdicts(found) == [REFUTED] * len(READINGS[name])


def test_95_is_false_as_a_step_and_by_itself():
    claim = claims()["lemma4.step95"]
    assert verdicts(claim.check()) == [REFUTED] * 4
    # a left side that is almost nothing
    weak = claim.check(left="100")
    assert weak.readings["(ii) by itself; q_i = E[I_i/|S|]"].verdict != REFUTED


def test_what_is_not_convex_moves_farther_than_the_sharp_87_of_what_is():
    sharp = {"far": "1", "moved": "1", "cap": "1/2"}
    assert verdicts(claims()["lemma3.step87"].check(**sharp))[::2] == [PROVED] * 2
    bent = claims()["lemma3.step87.smooth"].check(**sharp)
    assert verdicts(bent) == [REFUTED] * 5


def test_no_reading_of_ybar_makes_all_true_that_94_is_given():
    """Readings of (90) that stand or fall with ybar are those of (92), opposed."""
    split, bound = (claims()[f"lemma4.step{line}"].check() for line in ("90b", "92a"))
    assert [*split.readings][:2] == [*bound.readings]
    pairs = zip(verdicts(split)[:2], verdicts(bound), strict=True)
    assert all(REFUTED in pair for pair in pairs)
    assert verdicts(split)[2:] == [REFUTED]
    assert "no reading" in claims()["lemma4.step94a-b"].proposition


@pytest.mark.parametrize("name", ["lemma3.step87", "lemma3.step87.smooth"])
def test_the_q_of_case_3a_leaves_nothing_for_rows_that_stay_behind(name):
    found = claims()[name].check().readings
    (printed,) = (one for key, one in found.items() if "1/m of Case 3a" in key)
    at = printed.evidence["counterexample"]
    assert (at["law"], at["tau"], printed.evidence["right"]) == ("uniform:1", 1, "0")


@pytest.mark.parametrize(
    "name",
    ["lemma3.step86", "lemma3.step87.smooth", "lemma4.step92b", "lemma4.step93b-c"],
)
def test_assumption_2_alone_lets_curvature_fall_below_minus_l(name):
    found = claims()[name].check().readings
    (alone,) = (one for key, one in found.items() if "Assumption 2 as printed" in key)
    at = alone.evidence["counterexample"]
    (h,) = map(Fraction, at["h"])
    assert h < -at["L"]


def test_what_assumption_2_alone_denies_is_said_of_lipschitz_gradients():
    """A client -3x^2/2, L = 1, pulled from its row at 0 to w = 1, moves once by 3."""
    step, squared = F(1, 8), 3**2
    assert (1 - 2 * step**2) * squared > 2  # so (85) mended fails, tau = 2
    assert squared > 4  # and so does (86)
    assert r"Lipschitz" in claims()["lemma3.step85"].check().correction.statement
    for name in ("lemma3.step86", "lemma4.step93b-c"):
        found = claims()[name].check().readings
        passing = [key for key, one in found.items() if one.passes()]
        told = ("Lipschitz", "strongly convex")
        if not all(any(word in key for word in told) for key in passing):
            assert (
                "L-Lipschitz gradients where the reading" in claims()[name].proposition
            )


def test_lemma_4_is_proved_where_everybody_comes_too():
    """At q = 1 the rho of the proof would be 0; nobody is absent then."""
    parts = focus_lemma4_proof._rho().parts
    assert parts["q = 1"].verdict == PROVED
    assert all(
        one.scope != parts["q = 1"].scope for k, one in parts.items() if k[0] != "q"
    )


PUSH, MOVE, q = focus_lemma4_proof.PUSH, focus_lemma4_proof.MOVE, focus_lemma4_proof.q


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("RETURNED", 399 * PUSH / (100 * q)),
        ("GAINED", 799 * MOVE / 100),
        ("SLOPE", focus_lemma4_proof.SLOPE * 99 / 100),
        ("LEFT", 1 - 51 * q / 100),
        ("TWICE", 199 / (100 * q)),
        ("FOUR", 2),
        ("HALVES", (1, 2)),
    ],
)
def test_each_link_of_the_mended_lemma_4_gets_what_another_gives(
    monkeypatch, name, wrong
):
    cached = [getattr(focus_lemma4_proof, f) for f in ("_proof_of", "_put_in", "_rho")]
    monkeypatch.setattr(focus_lemma4_proof, name, wrong)
    for one in cached:
        one.cache_clear()
    found = focus_lemma4_proof.proof(focus_lemma4.MENDED)
    for one in cached:
        one.cache_clear()
    assert not found.passes()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("JENSEN", ("199/100", "2")),
        ("JENSEN", ("2", "199/100")),
        ("SLOPE", "199/100"),
        ("YOUNG", ("1", "99/100")),
        ("ROWS", "99/100"),
    ],
)
def test_each_link_of_the_mended_lemma_3_gets_what_another_gives(
    monkeypatch, name, wrong
):
    proof = focus_lemma3_proof.proof.__wrapped__
    assert proof(focus_lemma3_proof.MENDED).verdict == PROVED
    monkeypatch.setattr(focus_lemma3_proof, name, wrong)
    assert not proof(focus_lemma3_proof.MENDED).passes()


def test_both_mended_lemmas_run_the_round_and_lemma_4_has_84_in_it():
    lemmas = (
        focus_lemma3_proof.proof(focus_lemma3_proof.MENDED),
        focus_lemma4_proof.proof(focus_lemma4.MENDED),
    )
    for lemma in lemmas:
        assert lemma.parts["the round"].verdict == PROVED
    assert {"two gaps", "the moves", "(84)", "its sum"} == {
        *lemmas[1].parts["(86)"].parts
    }


def test_what_bounds_the_moves_of_93_is_what_86_gives(monkeypatch):
    step = claims()["lemma4.step93b-c"]
    reading = f"(ii) round r; {focus_lemma4.CHANCE}"
    assert step.check(bound="4").readings[reading].verdict == PROVED
    file = load_file(proofs_folder() / "focus_lemma4_steps92_93.py")
    monkeypatch.setattr(file, "FOUR", 2)
    assert not file.moves_bounded.check().readings[reading].passes()


def test_the_proofs_without_convexity_use_87_without_it():
    for name, key in (("pl", "pl.step107"), ("nonconvex", "nc.step114")):
        file = load_file(proofs_folder() / f"focus_theorem1_{name}.py")
        found = [v for v in vars(file).values() if hasattr(v, "judged_by")]
        (step,) = [v for v in found if v.id == f"focus.thm1.{key}"]
        assert step.given["(87)"] == ("focus.lemma3.step87.smooth",)


def test_one_power_of_tau_decides_85_and_86():
    for name in ("lemma3.step85", "lemma3.step86"):
        mended = claims()[name].check(power=2)
        lipschitz = [v for k, v in mended.readings.items() if "Assumption 2" not in k]
        assert {one.verdict for one in lipschitz} == {PROVED}
        assert len(lipschitz) >= 2


@pytest.mark.parametrize(
    "claim",
    [
        claims()["lemma3.step80a"],
        claims()["lemma4.step90a"],
        load_file(proofs_folder() / "focus_theorem1_pl.py").descent,
        load_file(proofs_folder() / "focus_theorem1_nonconvex.py").descent,
    ],
    ids=lambda claim: claim.id,
)
def test_what_moves_the_server_is_given_71(claim):
    assert claim.given == {"(71)": ("focus.obs71",)}
    assert claim.check().scope.startswith("given (71)")


def test_lemma_3_needs_a_cap_at_one_local_step():
    claim = claims()["lemma3"]
    finding = claim.check()
    assert verdicts(finding) == [REFUTED, PROVED]
    assert finding.correction.finding.verdict == PROVED
    # f_1 = x^2/2, f_2 = x^2/2 - x, one of them per round; w = 0, x* = 1/2, rows -2, 2
    eta, star = F(100), F(1, 2)
    ends = [-eta * (0 + 1), -eta * (-2 - 1)]  # with client 1, with client 2
    left = sum((end - star) ** 2 for end in ends) / 2
    gap = -(star**2 - star) / 2
    right = (1 - eta) * star**2 - 4 * eta * (1 - 4 * eta) * gap + 16 * eta * (4 + 4)
    assert left > right
    found = finding.readings[next(iter(finding.readings))].evidence
    assert (F(found["left"]), F(found["right"])) == (left, right)
    assert set(verdicts(claim.check(contraction="1"))) == {REFUTED}


@cache
def lemma4():
    return claims()["lemma4"].check()


def test_lemma_4_fails_for_every_q_and_holds_repaired():
    claim = claims()["lemma4"]
    assert verdicts(lemma4()) == [REFUTED] * 7
    assert lemma4().correction.finding.verdict == PROVED
    assert verdicts(claim.control()) == [PROVED] * 3 + [SUPPORTED] * 4


def test_the_counterexample_to_lemma_4_by_hand():
    # f_i = x^2/2, nine clients, one of them per round, rows at 10 and server at 8
    size, eta, w, z = 9, F(1, 648), F(8), F(10)
    q = F(1, size)
    assert (8 * eta) ** 2 * size == q**3  # the first cap, below the second at tau = 2
    moved = w - eta * (w - z)  # where the one that comes takes its last gradient
    new = w - eta * ((size - 1) * z + moved)
    left = (size - 1) * (new - z) ** 2 + (new - moved) ** 2
    right = (1 - q / 3) * size * (w - z) ** 2 + 16 * eta**2 * size**2 / (3 * q) * new**2
    assert left > right
    found = lemma4().readings["q_i = E[I_i/|S|]; (i) E|grad F|^2"].evidence
    assert (F(found["left"]), F(found["right"])) == (left, right)


def test_full_participation_fails_lemma_4_for_chances():
    # f_i = x^2/2, six clients, all rows at the server's 1: no consensus error before
    size, eta = 6, F(1, 20)
    assert (8 * eta) ** 2 * size < 1
    new = 1 - eta * size
    assert size * (new - 1) ** 2 > F(16, 3) * eta**2 * size**2 * new**2


# The rounds


def test_both_computations_of_a_round_agree():
    for name in (focus_lemma4.DEFINED, focus_lemma4.CASE_3A):

        def listed(size, name=name):
            return focus_lemma4.laws_for(name, size)

        for one in focus_lemma4.states(listed, (1, 3)):
            for cohort in one.setting.law.support():
                assert one.after(cohort) == one.loop(cohort)


def test_local_moves_follow_the_recursion():
    for one, moves in focus_lemma3.movers((1, 2, 6), ("1/3", "1/7")):
        y = one.moves(0)
        assert y == focus_lemma3.closed_moves(one)
        assert len(y) == moves
        # x_{(r+1) tau} = x_{r tau+1} - eta times the sum
        (row,) = one.after(frozenset({0})).rows
        assert row == one.server - one.step * sum(y)


def test_formal_rounds_are_those_of_the_plain_loop():
    # at rational points the formal gradients are h_i (x - b_i)
    for one in focus_lemma3.traced():
        run, names = one.run, sympy.symbols("x0 z1:4")
        size = run.n_clients
        point = dict(zip(names, map(sympy.Integer, (3, 1, -2, 4)), strict=True))
        point[run.step_size] = sympy.Rational(1, 7)
        ends = [sympy.sympify(v).subs(point) for v in one.x[one.last + 1]]
        assert ends[0] == _server_by_hand(run, point, names[: size + 1])


def _server_by_hand(run, point, names):
    eta = point[run.step_size]
    x, *rows = (point[name] for name in names)
    w = x - eta * sum(run.gradient(i, z) for i, z in enumerate(rows))
    for i in run.cohorts[0]:
        stored, here = run.gradient(i, rows[i]), w
        for _ in range(run.local_steps - 1):
            here -= eta * (run.gradient(i, here) - stored)
        rows[i] = here
    return w - eta * sum(run.gradient(i, z) for i, z in enumerate(rows))

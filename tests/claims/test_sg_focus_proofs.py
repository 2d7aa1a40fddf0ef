"""Proofs of the mended SG-FOCUS claims: broken constants, and f_i that bend."""

import inspect
from collections import Counter
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import pytest

from flverify._core.errors import InputError
from flverify.claims import (
    sg_focus_descent,
    sg_focus_lemma5,
    sg_focus_lemma6,
    sg_focus_moves,
    sg_focus_noise,
    sg_focus_theorem5,
)
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict
from flverify.reference import focus

F = Fraction


def loaded(name):
    return load_file(proofs_folder() / f"{name}.py")


def mended(file, name):
    claim = getattr(loaded(file), name)
    return {**claim.constants, **claim.twin}


PROOFS = {
    "unbiased": (
        ("sgfocus_lemma5", "unbiased"),
        sg_focus_lemma5.new_noise_has_no_part,
        [{"laws": "any"}],
    ),
    "added_noise": (
        ("sgfocus_lemma5", "added_noise"),
        sg_focus_lemma5.square_of_gradients,
        [{"laws": "any"}, {"noise": "1"}],
    ),
    "lemma5": (
        ("sgfocus_lemma5", "lemma5"),
        sg_focus_lemma5.lemma5,
        [{"laws": "any"}, {"noise": "N"}, {"consensus": "4"}],
    ),
    "step128": (
        ("sgfocus_lemma5_drift", "plugged"),
        lambda c: sg_focus_moves.drift_bounded(c, [8 * sg_focus_moves.h2 <= 1]),
        [{"clients": 0}, {"far": "1"}, {"moved": "15"}, {"noise": "31"}],
    ),
    "step132": (
        ("sgfocus_lemma6_collected", "moves"),
        lambda c: sg_focus_moves.collected_moves(c, [8 * sg_focus_moves.h2 <= 1]),
        [{"bound": "7"}, {"noise": "15"}],
    ),
    "lemma6": (
        ("sgfocus_lemma6", "lemma6"),
        lambda c: sg_focus_lemma6.lemma6(c, Q_READINGS[2]),
        [{"power": 2}, {"noise_power": 1}, {"moves": "0"}, {"gradient": "6"}],
    ),
    "step137": (
        ("sgfocus_theorem5_steps", "descent"),
        sg_focus_descent.descent,
        [{"laws": "any"}, {"noise": "49/100"}],
    ),
}


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("sgfocus_lemma5", "lemma5"),
        ("sgfocus_lemma5_drift", "plugged"),
        ("sgfocus_lemma6_collected", "moves"),
    ],
)
def test_what_is_mended_asks_for_stored_gradients_of_the_first_models(file, name):
    """From stored zeros and their sum, tracked as well, there are moves without noise.

    f_1' = x - 1 and f_2' = 2 x + 1 are both at their x* = 0, all of it one model: the
    right sides of the three are 0 then, and the left ones are not.
    """
    eta = F(1, 2**10)  # mu = 1, L = 2: inside the caps of Lemmas 5 and 6
    state = {"model": [F(0)], "tracker": [F(0)], "stored": [[F(0)], [F(0)]]}
    slopes = lambda i, x: [(i + 1) * x[0] + (1 if i else -1)]  # noqa: E731
    end = focus.play(state, slopes, 2, {0, 1}, step_size=eta, local_steps=2)
    assert end["tracker"] == [-eta]  # f_1' at eta and f_2' at -eta, not 0
    assert end["model"] == [eta**2]
    words = " ".join(inspect.getsource(getattr(loaded(file), name).judged_by).split())
    assert "exact at first" in words.replace('" r"', "")


def test_cohorts_that_watch_the_noise_keep_what_adds_up():
    """Two clients come until their noises +-1 are alike: (131) has N sigma^2 = 2."""
    stored = {(0, 0): F(1)}  # exact at first
    for _ in range(2):
        after = Counter()
        for (one, other), chance in stored.items():
            if one == other != 0:  # nobody comes any more
                after[one, other] += chance
                continue
            for new in product((1, -1), repeat=2):
                after[new] += chance / 4
        stored = after
    assert sum(c * (one + other) ** 2 for (one, other), c in stored.items()) == 3
    words = " ".join(loaded("sgfocus_lemma6").three_terms.proposition.split())
    assert "who comes being independent of all samples drawn before" in words


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_goes_through_for_the_mended_constants_alone(name):
    where, proof, wrong = PROOFS[name]
    right = mended(*where)
    assert proof(SimpleNamespace(**right)).verdict == Verdict.PROVED
    for changed in wrong:
        found = proof(SimpleNamespace(**{**right, **changed}))
        assert found.verdict == Verdict.REFUTED, changed


@pytest.mark.slow
def test_case_3a_of_lemma_6_needs_its_q_below_the_chance():
    right = mended("sgfocus_lemma6", "lemma6")
    found = [
        sg_focus_lemma6.lemma6(SimpleNamespace(**{**right, "case_3a": q}), reading)
        for reading in Q_READINGS
        for q in ("1/N", "1/m")
    ]
    verdicts = [one.verdict for one in found]
    assert verdicts[2:4] == [Verdict.PROVED, Verdict.REFUTED]
    assert {*verdicts[:2], *verdicts[4:]} == {Verdict.PROVED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("floor", "first", "verdict"),
    [
        ((8, 64), 48, Verdict.PROVED),
        ((8, 64), 0, Verdict.PROVED),
        ((6, 30), 4, Verdict.PROVED),
        ((5, 64), 48, Verdict.REFUTED),
        ((8, 29), 48, Verdict.REFUTED),
        ((8, 64), 3, Verdict.REFUTED),
    ],
)
def test_theorem_5_ends_where_its_links_end(floor, first, verdict):
    caps = mended("sgfocus_theorem5", "theorem5")["caps"]
    assert sg_focus_theorem5.theorem5(caps, floor, first).verdict == verdict
    wide = {**caps, "q^(3/2)/(L sqrt(6 N))": "1/2"}
    assert sg_focus_theorem5.theorem5(wide, floor, first).verdict == Verdict.REFUTED


@pytest.mark.parametrize("weaker", [{"NOISE": F(11, 5)}, {"MOVES": 11}, {"FALL": 1}])
def test_the_round_of_theorem_5_uses_all_that_it_counts(weaker, monkeypatch):
    for name, value in weaker.items():
        monkeypatch.setattr(sg_focus_theorem5, name, value)
    found = sg_focus_theorem5._one_round.__wrapped__()
    assert found.verdict == Verdict.REFUTED


def test_a_floor_without_a_proof_has_none():
    c = SimpleNamespace(caps={}, floor="printed")
    found = sg_focus_theorem5.mended(c, sg_focus_theorem5.EQUAL)
    assert found.verdict == Verdict.INCONCLUSIVE


def test_third_powers_of_a_noise_have_no_mean():
    with pytest.raises(InputError, match="degree 2"):
        sg_focus_noise.mean(sg_focus_noise.m**3, sg_focus_noise.m)


# Exact runs on f_i that bend, with noise that depends on the point -----------------


def bent(x):
    """f' = x above 0 and -x/2 below: L = 1, and no minimiser."""
    return x if x > 0 else -x / 2


def soft(x):
    """f' = x above 0 and x/10 below: convex, L = 1, mu = 1/10."""
    return x if x > 0 else x / 10


# (chance, noise) at a point: a bound of 1 on the variance, met on one side of 0 alone
NOISES = {
    "signs above 0": lambda x: [(F(1, 2), s * (x > 0)) for s in (1, -1)],
    "rare and long": lambda _: [(F(1, 10), F(3)), (F(9, 10), F(-1, 3))],
}


def outcomes(play, start):
    """Every sequence of answers to `play`'s requests of (chance, value) lists."""
    pending = [[]]
    while pending:
        choices = pending.pop()
        tape, chance, branch = iter(choices), [F(1)], []

        def pick(options, tape=tape, chance=chance, branch=branch):
            place = next(tape, None)
            if place is None:
                place = 0
                branch.append(len(options))
            else:
                branch.append(0)
            chance[0] *= options[place][0]
            return options[place][1]

        end = play(pick, start)
        yield chance[0], end
        made = list(choices) + [0] * (len(branch) - len(choices))
        for place, count in enumerate(branch):
            pending += [[*made[:place], k] for k in range(1, count)]


def two_rounds(f, noise, tau, step, chance):
    """Play one rare client for two rounds; return means of the second one."""
    totals = Counter()

    def play(pick, start):
        state, point, rounds = start, [F(0)], []

        def gradient(_, x):
            point[0] = x[0]
            return [f(x[0]) + pick(noise(x[0]))]

        for _ in range(2):
            came = pick([(chance, True), (1 - chance, False)])
            w, z = state["model"][0], point[0]
            state = focus.play(
                state,
                gradient,
                1,
                {0} if came else set(),
                step_size=step,
                local_steps=tau,
            )
            rounds.append((w, z, point[0], came))
        return rounds, state["model"][0]

    start = {"model": [F(1, 50)], "tracker": [F(0)], "stored": [[F(0)]]}
    mass = F(0)
    for weight, (rounds, last) in outcomes(play, start):
        w, z, after, came = rounds[1]
        mass += weight
        totals["before"] += weight * (w - z) ** 2
        totals["after"] += weight * (last - after) ** 2
        totals["error"] += weight * w**2
        totals["error after"] += weight * last**2
        totals["gap"] += weight * f(w) * w / 2
        totals["slope"] += weight * f(last) ** 2
        totals["moved"] += weight * came * ((w - after) / step) ** 2
        totals["drift"] += weight * (f(w) - f(after)) ** 2
    assert mass == 1
    return totals


@pytest.mark.parametrize(
    ("f", "noise", "tau", "chance"),
    [
        (f, noise, tau, chance)
        for f, noise in product((bent, soft), NOISES)
        for tau, chance in ((1, F(1, 10)), (2, F(1, 10)), (3, F(1)), (4, F(1, 4)))
    ],
)
def test_mended_bounds_hold_on_f_that_bend(f, noise, tau, chance):
    n = tau - 1
    root = F(1, 1)
    while root**2 > chance**3:
        root *= F(9, 10)
    step = min(root / 8, root / (12 * max(n, 1)))  # below the caps for q = p
    found = two_rounds(f, NOISES[noise], tau, step, chance)
    before = found["before"]
    right = (1 - chance / 3) * before + 8 * step**2 / chance * found["slope"]
    assert found["after"] <= right + 8 * step**2 * (1 + n**2) / chance
    assert found["moved"] <= 8 * n**2 * before + 16 * n**2
    assert found["drift"] <= (2 + 16 * (step * n) ** 2) * before + 32 * (step * n) ** 2


@pytest.mark.parametrize(("noise", "tau"), [*product(NOISES, (1, 2, 3, 4))])
def test_mended_lemma_5_holds_on_a_convex_f_that_bends(noise, tau):
    low, n = F(1, 10), tau - 1
    step = low / (128 * n**2) if n else F(1, 2)
    found = two_rounds(soft, NOISES[noise], tau, step, F(1))
    right = (1 - step * low / 2) * found["error"] + 2 * step**2
    right -= 2 * step * (1 - 2 * step) * found["gap"]
    assert found["error after"] <= right + 16 * step / low * found["before"]

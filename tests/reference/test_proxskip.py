from fractions import Fraction
from itertools import pairwise

import pytest

from flverify.reference import gradient_descent, proxskip, scaffold

STEP = Fraction(1, 4)
EVERYONE = {0, 1}


def test_paper_by_hand(pair):
    # p/eta = 2.  Coin 0: 3 and 7/2, mean 13/4, h stays 0.
    # Coin 1: 9/4 and 13/4, mean 11/4, h = 2(11/4 - 9/4) = 1 and -1.
    # Coin 0: 11/4 - (7/4)/4 = 37/16 and 11/4 - (1/2)/4 = 21/8.
    # Coin 1: 127/64 and 164/64, mean 291/128; h = 1 + 2(37/128) = 101/64 and minus.
    # Coin 0: 291/128 - (89/128)/4 = 1075/512 and 291/128 - (16/128)/4 = 1148/512.
    models = proxskip.run(
        *pair.start,
        [set(), EVERYONE, set(), EVERYONE, set()],
        step_size=STEP,
        probability=Fraction(1, 2),
    )
    expected = [
        4,
        Fraction(13, 4),
        Fraction(11, 4),
        Fraction(79, 32),
        Fraction(291, 128),
        Fraction(2223, 1024),
    ]
    assert models == [[v] for v in expected]


def test_a_lone_participant_is_a_silent_iteration(pair):
    # averaging one client with itself moves neither x_i nor h_i
    settings = {"step_size": STEP, "probability": Fraction(1, 3)}
    assert proxskip.run(
        *pair.start, [{0}, EVERYONE, {1}, {0}, EVERYONE], **settings
    ) == proxskip.run(
        *pair.start, [set(), EVERYONE, set(), set(), EVERYONE], **settings
    )


def test_mean_model_moves_by_the_mean_gradient(plane):
    # sum h_i = 0 is conserved under every cohort, so the mean of the models moves
    # by -eta times the mean of the gradients the clients saw in that iteration
    latest = {}

    def recording(i, point):
        latest[i] = plane.gradient(i, point)
        return latest[i]

    means = []

    def observed():
        for cohort in plane.cohorts:
            yield cohort
            means.append([sum(g[k] for g in latest.values()) / 3 for k in range(2)])

    models = proxskip.run(
        recording,
        3,
        plane.x0,
        observed(),
        step_size=Fraction(1, 5),
        probability=Fraction(1, 4),
    )
    moves = [
        [(u - v) * 5 for u, v in zip(a, b, strict=True)] for a, b in pairwise(models)
    ]
    assert moves == means


def test_certain_coin_is_gradient_descent_on_the_mean(plane):
    rounds = [plane.everyone] * 5
    assert proxskip.run(
        *plane.start, rounds, step_size=Fraction(1, 5), probability=1
    ) == gradient_descent.run(*plane.start, rounds, step_size=Fraction(1, 15))


@pytest.mark.parametrize("tau", [2, 3])
def test_regular_coin_is_scaffold_with_full_participation(plane, tau):
    coins = ([set()] * (tau - 1) + [plane.everyone]) * 4
    iterates = proxskip.run(
        *plane.start, coins, step_size=Fraction(1, 5), probability=Fraction(1, tau)
    )
    assert iterates[::tau] == scaffold.run(
        *plane.start, [plane.everyone] * 4, step_size=Fraction(1, 5), local_steps=tau
    )


def test_notebook_by_hand(pair):
    # {0}: 4 -> 3 -> 9/4.  {1}: h_1 = 2(9/4 - 4) = -7/2, x -> x/2 + 5/8: 7/4 -> 3/2.
    # {0}: h_0 = 2(3/2 - 9/4) = -3/2, x -> 3x/4 - 3/8: 3/4 -> 3/16.  empty.
    # {1}: h_1 = -7/2 + 2(3/16 - 3/2) = -49/8, x -> x/2 - 1/32: 1/16 -> 0.
    models = proxskip.run(
        *pair.start,
        [{0}, {1}, {0}, set(), {1}],
        step_size=STEP,
        local_steps=2,
        variant="notebook",
    )
    expected = [
        4,
        Fraction(9, 4),
        Fraction(3, 2),
        Fraction(3, 16),
        Fraction(3, 16),
        Fraction(0),
    ]
    assert models == [[v] for v in expected]


def test_random_looking_coin_reaches_the_minimiser(pair):
    coins = [EVERYONE if (7 * k * k + k) % 11 < 4 else set() for k in range(1500)]
    models = proxskip.run(
        pair.gradient, 2, [4.0], coins, step_size=0.1, probability=0.36
    )
    assert models[-1] == pytest.approx([2], abs=1e-10)


def test_integers_stay_exact(whole):
    for settings in ({"probability": 1}, {"variant": "notebook"}):
        models = proxskip.run(*whole.start, whole.cohorts, step_size=1, **settings)
        assert not any(isinstance(model[0], float) for model in models)


def test_wrong_settings(pair):
    with pytest.raises(ValueError, match="variant"):
        proxskip.run(*pair.start, [], step_size=STEP, variant="code")
    with pytest.raises(ValueError, match="probability"):
        proxskip.run(*pair.start, [], step_size=STEP)
    with pytest.raises(ValueError, match="local step"):
        proxskip.run(*pair.start, [], step_size=STEP, probability=1, local_steps=2)
    with pytest.raises(ValueError, match=r"in \(0, 1\]"):
        proxskip.run(*pair.start, [], step_size=STEP, probability=2)
    with pytest.raises(ValueError, match="no probability"):
        proxskip.run(*pair.start, [], step_size=STEP, variant="notebook", probability=1)

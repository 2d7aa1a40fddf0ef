from fractions import Fraction

import pytest

from flverify.reference import fedavg, gradient_descent

STEP = Fraction(1, 4)


def test_mean_by_hand(pair):
    # from 4: T_0 = 9/4, T_1 = 1 + 9/4 = 13/4; from 11/4: T_1 = 11/16 + 36/16
    models = fedavg.run(
        *pair.start, [{0, 1}, {1}, set()], step_size=STEP, local_steps=2
    )
    assert models == [[4], [Fraction(11, 4)], [Fraction(47, 16)], [Fraction(47, 16)]]


def test_all_by_hand(pair):
    # second round moves by half of 47/16 - 44/16
    models = fedavg.run(
        *pair.start,
        [{0, 1}, {1}, set()],
        step_size=STEP,
        local_steps=2,
        aggregation="all",
    )
    assert models == [[4], [Fraction(11, 4)], [Fraction(91, 32)], [Fraction(91, 32)]]


def test_server_step_by_hand(pair):
    # 4 + (11/4 - 4)/2 = 27/8; T_1(27/8) = 27/32 + 72/32; half of 99/32 - 108/32
    models = fedavg.run(
        *pair.start,
        [{0, 1}, {1}],
        step_size=STEP,
        local_steps=2,
        server_step_size=Fraction(1, 2),
    )
    assert models == [[4], [Fraction(27, 8)], [Fraction(207, 64)]]


def test_one_step_full_is_gradient_descent_on_the_mean(plane):
    rounds = [plane.everyone] * 5
    assert fedavg.run(
        *plane.start, rounds, step_size=Fraction(1, 5), server_step_size=Fraction(3, 2)
    ) == gradient_descent.run(
        *plane.start, rounds, step_size=Fraction(1, 5) * Fraction(3, 2) / 3
    )


def test_all_is_a_server_step_when_the_size_is_fixed(plane):
    rounds = [{0, 1}, {1, 2}, {0, 2}]
    assert fedavg.run(
        *plane.start, rounds, step_size=Fraction(1, 5), local_steps=3, aggregation="all"
    ) == fedavg.run(
        *plane.start,
        rounds,
        step_size=Fraction(1, 5),
        local_steps=3,
        server_step_size=Fraction(2, 3),
    )


def test_integers_stay_exact(whole):
    models = fedavg.run(*whole.start, whole.cohorts, step_size=1)
    assert not any(isinstance(model[0], float) for model in models)


def test_wrong_settings(pair):
    with pytest.raises(ValueError, match="aggregation"):
        fedavg.run(*pair.start, [{0}], step_size=STEP, aggregation="sum")
    with pytest.raises(ValueError, match="cohort"):
        fedavg.run(*pair.start, [{2}], step_size=STEP)
    with pytest.raises(ValueError, match="cohort"):
        fedavg.run(*pair.start, [{-1}], step_size=STEP)

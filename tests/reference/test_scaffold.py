from fractions import Fraction

import pytest

from flverify.reference import gradient_descent, proxskip, scaffold

STEP = Fraction(1, 4)


def test_option_two_by_hand(pair):
    # {0}: 4 -> 3 -> 9/4; c_0 = (4 + 3)/2 = 7/2, c = 7/4.
    # {1}: direction 2x - 17/4: 9/4 -> 35/16 -> 69/32; gradients -3/2 and -13/8, so
    #      c_1 = -25/16 and c = 56/32 - 25/32 = 31/32.
    # {0, 1}: client 0 moves x -> 3x/4 + 81/128: 276/128 -> 9/4 -> 297/128;
    #      client 1 moves x -> x/2 + 111/128: 276/128 -> 249/128 -> 471/256.
    models = scaffold.run(
        *pair.start, [{0}, {1}, set(), {0, 1}], step_size=STEP, local_steps=2
    )
    assert models == [
        [4],
        [Fraction(9, 4)],
        [Fraction(69, 32)],
        [Fraction(69, 32)],
        [Fraction(1065, 512)],
    ]


def test_option_one_by_hand(pair):
    # {0}: c_0 = g_0(4) = 4, c = 2.  {1}: x -> x/2 + 1: 9/4 -> 17/8 -> 33/16,
    # c_1 = g_1(9/4) = -3/2, c = 5/4.  {0}: x -> 3x/4 + 11/16: 143/64 -> 605/256.
    models = scaffold.run(
        *pair.start, [{0}, {1}, {0}], step_size=STEP, local_steps=2, option="I"
    )
    assert models == [[4], [Fraction(9, 4)], [Fraction(33, 16)], [Fraction(605, 256)]]


def test_server_step_by_hand(pair):
    # 4 + (9/4 - 4)/2 = 25/8; {1}: x -> x/2 + 17/16: 25/8 -> 21/8 -> 19/8
    models = scaffold.run(
        *pair.start,
        [{0}, {1}],
        step_size=STEP,
        local_steps=2,
        server_step_size=Fraction(1, 2),
    )
    assert models == [[4], [Fraction(25, 8)], [Fraction(11, 4)]]


def test_options_agree_with_one_local_step(plane):
    settings = {"step_size": Fraction(1, 5), "server_step_size": Fraction(2, 3)}
    assert scaffold.run(
        *plane.start, plane.cohorts, option="I", **settings
    ) == scaffold.run(*plane.start, plane.cohorts, option="II", **settings)


def test_one_local_step_is_minibatch_saga(plane):
    table = [[Fraction(0), Fraction(0)] for _ in range(3)]
    x, saga = plane.x0, [plane.x0]
    for cohort in plane.cohorts:
        if cohort:
            mean = [sum(row[k] for row in table) / 3 for k in range(2)]
            new = {i: plane.gradient(i, x) for i in cohort}
            x = [
                v
                - Fraction(1, 5)
                * (sum(new[i][k] - table[i][k] for i in cohort) / len(cohort) + mean[k])
                for k, v in enumerate(x)
            ]
            for i in cohort:
                table[i] = new[i]
        saga.append(x)
    assert scaffold.run(*plane.start, plane.cohorts, step_size=Fraction(1, 5)) == saga


def test_one_step_full_is_gradient_descent_on_the_mean(plane):
    rounds = [plane.everyone] * 5
    assert scaffold.run(
        *plane.start, rounds, step_size=Fraction(1, 5)
    ) == gradient_descent.run(*plane.start, rounds, step_size=Fraction(1, 15))


@pytest.mark.parametrize("local_steps", [1, 3])
def test_full_participation_is_the_notebook_proxskip(plane, local_steps):
    rounds = [plane.everyone] * 5
    settings = {"step_size": Fraction(1, 5), "local_steps": local_steps}
    assert scaffold.run(*plane.start, rounds, **settings) == proxskip.run(
        *plane.start, rounds, variant="notebook", **settings
    )


@pytest.mark.parametrize("option", ["I", "II"])
def test_uneven_participation_reaches_the_minimiser(pair, option):
    rounds = [{0}, {0}, {0}, {1}] * 300
    models = scaffold.run(
        pair.gradient,
        2,
        [4.0],
        rounds,
        step_size=0.1,
        local_steps=3,
        option=option,
    )
    assert models[-1] == pytest.approx([2], abs=1e-12)


@pytest.mark.parametrize("option", ["I", "II"])
def test_integers_stay_exact(whole, option):
    models = scaffold.run(*whole.start, whole.cohorts, step_size=1, option=option)
    assert not any(isinstance(model[0], float) for model in models)


def test_wrong_option(pair):
    with pytest.raises(ValueError, match="option"):
        scaffold.run(*pair.start, [{0}], step_size=STEP, option="III")

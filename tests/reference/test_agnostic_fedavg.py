from fractions import Fraction

import pytest

from flverify.reference import agnostic_fedavg, fedavg

STEP = Fraction(1, 4)


@pytest.mark.parametrize(("period", "schedule"), [(3, "literal"), (2, "separate")])
def test_two_local_steps_by_hand(pair, period, schedule):
    # T_0(4) = 9/4, T_1(4) = 13/4; T_1(11/4) = 47/16
    models = agnostic_fedavg.run(
        *pair.start,
        [{0, 1}, {1}, set()],
        step_size=STEP,
        period=period,
        schedule=schedule,
    )
    assert models == [[4], [Fraction(11, 4)], [Fraction(47, 16)], [Fraction(47, 16)]]


def test_empty_cohort_broadcasts_the_kept_model(pair):
    # the local progress of the lost round is discarded: one step from 4 is 3
    models = agnostic_fedavg.run(*pair.start, [set(), {0}], step_size=STEP, period=2)
    assert models == [[4], [4], [3]]


def test_absent_clients_receive_the_broadcast(pair):
    # client 1 restarts from 3 (its own optimum), not from its local 7/2
    models = agnostic_fedavg.run(*pair.start, [{0}, {1}], step_size=STEP, period=2)
    assert models == [[4], [3], [3]]


def test_literal_period_one_never_trains(pair):
    models = agnostic_fedavg.run(*pair.start, [{0}, {1}], step_size=STEP, period=1)
    assert models == [[4]] * 3


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_both_schedules_are_fedavg(plane, steps):
    expected = fedavg.run(
        *plane.start, plane.cohorts, step_size=Fraction(1, 5), local_steps=steps
    )
    for period, schedule in [(steps + 1, "literal"), (steps, "separate")]:
        assert expected == agnostic_fedavg.run(
            *plane.start,
            plane.cohorts,
            step_size=Fraction(1, 5),
            period=period,
            schedule=schedule,
        )


def test_box_by_hand(pair):
    # first: 3 and 7/2 are both cut to 5/2; then client 0 multiplies by 3/4 until
    # 405/512 is cut to 1
    models = agnostic_fedavg.run(
        *pair.start,
        [{0, 1}, {0}, {0}, {0}, {0}],
        step_size=STEP,
        period=2,
        projection=("box", 1, Fraction(5, 2)),
    )
    expected = [
        [4],
        [Fraction(5, 2)],
        [Fraction(15, 8)],
        [Fraction(45, 32)],
        [Fraction(135, 128)],
        [1],
    ]
    assert models == expected


def test_projection_follows_every_local_step(pair):
    # client 1 from 8: 11/2 is cut to 4, then 7/2; without the first cut, 17/4
    models = agnostic_fedavg.run(
        pair.gradient,
        2,
        [Fraction(8)],
        [{1}],
        step_size=STEP,
        period=3,
        projection=("box", -4, 4),
    )
    assert models == [[8], [Fraction(7, 2)]]


def test_x0_and_the_aggregate_are_not_projected(pair):
    models = agnostic_fedavg.run(
        *pair.start, [{0}], step_size=STEP, period=1, projection=("box", 0, 1)
    )
    assert models == [[4], [4]]


def test_ball():
    def flat(i, point):
        return [0, 0]

    def play(x0, radius):
        return agnostic_fedavg.run(
            flat, 1, x0, [{0}], step_size=1, period=2, projection=("ball", radius)
        )[1]

    inside = play([Fraction(3), Fraction(4)], 5)
    assert inside == [3, 4]
    assert all(isinstance(v, Fraction) for v in inside)
    assert play([Fraction(6), Fraction(8)], Fraction(5)) == pytest.approx([3, 4])


def test_integers_stay_exact(whole):
    models = agnostic_fedavg.run(*whole.start, whole.cohorts, step_size=1, period=2)
    assert not any(isinstance(model[0], float) for model in models)


def test_wrong_settings(pair):
    with pytest.raises(ValueError, match="schedule"):
        agnostic_fedavg.run(*pair.start, [], step_size=1, period=2, schedule="other")
    with pytest.raises(ValueError, match="period"):
        agnostic_fedavg.run(*pair.start, [], step_size=1, period=0)
    with pytest.raises(ValueError, match="projection"):
        agnostic_fedavg.run(
            *pair.start, [{0}], step_size=1, period=2, projection=("cone", 1)
        )

from fractions import Fraction
from itertools import pairwise

import pytest

from flverify.reference import focus, gradient_descent

STEP = Fraction(1, 4)
COHORTS = [{0}, {1}, set(), {0}]


def test_two_local_steps_by_hand(pair):
    # {0}: gradients 4 at 4, 3 at 3; y = 3, x = 4 - 3/4 = 13/4.
    # {1}: gradients 1/2 at 13/4, 1/4 at 25/8; y = 13/4, x = 52/16 - 13/16.
    # empty: x = 39/16 - 13/16 = 13/8.
    # {0}: 13/8 at 13/8, y_0 = -11/8, 63/32 at 63/32, y_0 = -33/32; y = 71/32.
    models = focus.run(*pair.start, COHORTS, step_size=STEP, local_steps=2)
    assert models == [
        [4],
        [Fraction(13, 4)],
        [Fraction(39, 16)],
        [Fraction(13, 8)],
        [Fraction(137, 128)],
    ]


def test_skipped_empty_round_by_hand(pair):
    # {0} from 39/16: y_0 = 39/16 - 3 = -9/16, next point 165/64, y_0 = -27/64;
    # y = 208/64 - 27/64 = 181/64, x = 624/256 - 181/256
    models = focus.run(
        *pair.start, COHORTS, step_size=STEP, local_steps=2, empty_round="skip"
    )
    assert models == [
        [4],
        [Fraction(13, 4)],
        [Fraction(39, 16)],
        [Fraction(39, 16)],
        [Fraction(443, 256)],
    ]


def test_started_table_and_tracker_by_hand(pair):
    # stored 4 and 2, y = 6: x = 4 - 6/4; then g_1(5/2) = -1, y = 3, x = 10/4 - 3/4
    models = focus.run(
        *pair.start,
        [{0}, {1}],
        step_size=STEP,
        initial_gradients="start",
        initial_tracker="sum",
    )
    assert models == [[4], [Fraction(5, 2)], [Fraction(7, 4)]]


def test_started_table_with_a_zero_tracker_never_moves(plane):
    # every increment is g_i(x0) - g_i(x0) = 0
    models = focus.run(
        *plane.start, plane.cohorts, step_size=Fraction(1, 5), initial_gradients="start"
    )
    assert models == [plane.x0] * 9


def test_the_sum_of_a_zero_table_is_the_zero_tracker(plane):
    settings = {"step_size": Fraction(1, 9), "local_steps": 2}
    assert focus.run(*plane.start, plane.cohorts, **settings) == focus.run(
        *plane.start, plane.cohorts, initial_tracker="sum", **settings
    )


def test_one_client_at_a_time_is_sag_with_the_sum_of_the_table(plane):
    order = [2, 0, 1, 1, 2, 0, 0, 1]
    table = [[Fraction(0), Fraction(0)] for _ in range(3)]
    x, sag = plane.x0, [plane.x0]
    for i in order:
        table[i] = plane.gradient(i, x)
        x = [v - Fraction(1, 9) * sum(row[k] for row in table) for k, v in enumerate(x)]
        sag.append(x)
    assert (
        focus.run(*plane.start, [{i} for i in order], step_size=Fraction(1, 9)) == sag
    )


@pytest.mark.parametrize("table", ["zero", "start"])
def test_full_participation_is_gradient_descent(plane, table):
    rounds = [plane.everyone] * 5
    assert focus.run(
        *plane.start,
        rounds,
        step_size=Fraction(1, 9),
        initial_gradients=table,
        initial_tracker="sum",
    ) == gradient_descent.run(*plane.start, rounds, step_size=Fraction(1, 9))


def test_tracker_is_the_sum_of_the_stored_gradients(plane):
    latest = {}

    def recording(i, point):
        latest[i] = plane.gradient(i, point)
        return latest[i]

    sums = []

    def observed():
        for cohort in plane.cohorts:
            yield cohort
            sums.append([sum(g[k] for g in latest.values()) for k in range(2)])

    models = focus.run(
        recording, 3, plane.x0, observed(), step_size=Fraction(1, 9), local_steps=3
    )
    moves = [
        [(u - v) / Fraction(1, 9) for u, v in zip(a, b, strict=True)]
        for a, b in pairwise(models)
    ]
    assert moves == sums


@pytest.mark.parametrize("local_steps", [1, 3])
def test_counts_gradient_evaluations(plane, local_steps):
    seen = []

    def counting(i, point):
        seen.append(i)
        return plane.gradient(i, point)

    focus.run(
        counting,
        3,
        plane.x0,
        [{1, 2}],
        step_size=Fraction(1, 9),
        local_steps=local_steps,
    )
    assert sorted(seen) == [1] * local_steps + [2] * local_steps


def test_uneven_participation_reaches_the_minimiser(pair):
    rounds = [{0}, {0}, {0}, {1}] * 300
    models = focus.run(pair.gradient, 2, [4.0], rounds, step_size=0.03, local_steps=3)
    assert models[-1] == pytest.approx([2], abs=1e-12)


def test_integers_stay_exact(whole):
    models = focus.run(*whole.start, whole.cohorts, step_size=1)
    assert all(isinstance(model[0], int) for model in models)


@pytest.mark.parametrize(
    "name", ["empty_round", "initial_gradients", "initial_tracker"]
)
def test_wrong_settings(pair, name):
    with pytest.raises(ValueError, match=name):
        focus.run(*pair.start, [{0}], step_size=STEP, **{name: "other"})

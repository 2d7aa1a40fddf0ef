from fractions import Fraction

import pytest

from flverify.reference import Population, fedavg, gradient_descent, mifa

STEP = Fraction(1, 4)
FIFTH = Fraction(1, 5)
COHORTS = [{0}, {1}, set(), {0}]

# With two local steps of 1/4 on the pair: G_0 = 7x/4 and G_1 = 3 (x - 3), and the
# server subtracts (G_0 + G_1)/8.  The sum vanishes at x = 36/19.


def test_two_local_steps_by_hand(pair):
    # start: G = (7, 3) at 4.  {0}: G_0 = 7 again, x = 4 - 10/8.
    # {1}: G_1 = 3 (11/4 - 3) = -3/4, sum 25/4, x = 88/32 - 25/32.
    # empty: x = 63/32 - 25/32 = 19/16.
    # {0}: G_0 = 133/64, sum 85/64, x = 608/512 - 85/512.
    models = mifa.run(*pair.start, COHORTS, step_size=STEP, local_steps=2)
    assert models == [
        [4],
        [Fraction(11, 4)],
        [Fraction(63, 32)],
        [Fraction(19, 16)],
        [Fraction(523, 512)],
    ]


def test_skipped_empty_round_by_hand(pair):
    # {0} from 63/32: G_0 = 441/128, sum 345/128, x = 2016/1024 - 345/1024
    models = mifa.run(
        *pair.start, COHORTS, step_size=STEP, local_steps=2, empty_round="skip"
    )
    assert models == [
        [4],
        [Fraction(11, 4)],
        [Fraction(63, 32)],
        [Fraction(63, 32)],
        [Fraction(1671, 1024)],
    ]


def test_zero_table_by_hand(pair):
    # {0}: G = (7, 0), x = 4 - 7/8.  {1}: G_1 = 3/8, sum 59/8, x = 200/64 - 59/64.
    # empty: x = 141/64 - 59/64.
    models = mifa.run(
        *pair.start, COHORTS[:3], step_size=STEP, local_steps=2, initial_table="zero"
    )
    assert models == [[4], [Fraction(25, 8)], [Fraction(141, 64)], [Fraction(41, 32)]]


def test_server_step_by_hand(pair):
    # 4 - 10/16 = 27/8; G_1 = 9/8, sum 65/8, x = 432/128 - 65/128
    models = mifa.run(
        *pair.start,
        [{0}, {1}],
        step_size=STEP,
        local_steps=2,
        server_step_size=Fraction(1, 2),
    )
    assert models == [[4], [Fraction(27, 8)], [Fraction(367, 128)]]


def test_entries_meet_the_step_size_of_the_round_that_uses_them(pair):
    # G = (7, 3) made with 1/4, where G would be (15/2, 7/2) with 1/8; x = 4 - 10/16
    state = mifa.start(*pair.start, step_size=STEP, local_steps=2)
    state = mifa.play(state, pair.gradient, 2, set(), step_size=STEP / 2, local_steps=2)
    assert state == {"model": [Fraction(27, 8)], "table": [[7], [3]]}


def test_state_round_by_round(plane):
    def slope(i, x):
        once = [u - FIFTH * g for u, g in zip(x, plane.gradient(i, x), strict=True)]
        pairs = zip(plane.gradient(i, x), plane.gradient(i, once), strict=True)
        return [g + h for g, h in pairs]

    settings = {"step_size": FIFTH, "local_steps": 2}
    state = mifa.start(*plane.start, **settings)
    assert state == {"model": plane.x0, "table": [slope(i, plane.x0) for i in range(3)]}
    for cohort in plane.cohorts:
        x, table = list(state["model"]), [list(row) for row in state["table"]]
        new = mifa.play(
            state,
            plane.gradient,
            3,
            cohort,
            server_step_size=Fraction(2, 3),
            **settings,
        )
        assert state == {"model": x, "table": table}  # the old one is left alone
        assert new["table"] == [
            slope(i, x) if i in cohort else table[i] for i in range(3)
        ]
        means = [sum(row[k] for row in new["table"]) / 3 for k in range(2)]
        assert new["model"] == [
            u - Fraction(2, 3) * FIFTH * m for u, m in zip(x, means, strict=True)
        ]
        state = new


def test_zero_table_asks_no_gradient(plane):
    state = mifa.start(None, 3, plane.x0, step_size=FIFTH, initial_table="zero")
    assert state == {"model": plane.x0, "table": [[0, 0]] * 3}


@pytest.mark.parametrize("initial_table", ["full", "zero"])
@pytest.mark.parametrize("local_steps", [1, 3])
def test_full_participation_is_fedavg(plane, initial_table, local_steps):
    rounds = [plane.everyone] * 5
    settings = {
        "step_size": FIFTH,
        "local_steps": local_steps,
        "server_step_size": Fraction(3, 2),
    }
    assert mifa.run(
        *plane.start, rounds, initial_table=initial_table, **settings
    ) == fedavg.run(*plane.start, rounds, **settings)


def test_partial_participation_is_not_fedavg(plane):
    settings = {"step_size": FIFTH, "local_steps": 3}
    ours = mifa.run(*plane.start, [{0}, {1, 2}], **settings)
    for aggregation in ("mean", "all"):
        theirs = fedavg.run(
            *plane.start, [{0}, {1, 2}], aggregation=aggregation, **settings
        )
        assert ours[1] != theirs[1]


@pytest.mark.parametrize("first", [set(), {0}, {1, 2}, {0, 1, 2}])
def test_first_round_from_a_full_table_is_that_of_everyone(plane, first):
    settings = {"step_size": FIFTH, "local_steps": 3}
    assert mifa.run(*plane.start, [first], **settings) == fedavg.run(
        *plane.start, [plane.everyone], **settings
    )


def test_first_round_from_a_zero_table_divides_by_all(plane):
    settings = {"step_size": FIFTH, "local_steps": 3}
    assert mifa.run(
        *plane.start, [set(), {0, 2}], initial_table="zero", **settings
    ) == fedavg.run(*plane.start, [set(), {0, 2}], aggregation="all", **settings)


@pytest.mark.parametrize("initial_table", ["full", "zero"])
def test_one_local_step_is_sag_with_the_mean_of_the_table(plane, initial_table):
    order = [2, 0, 1, 1, 2, 0, 0, 1]
    table = [[Fraction(0), Fraction(0)] for _ in range(3)]
    if initial_table == "full":
        table = [plane.gradient(i, plane.x0) for i in range(3)]
    x, sag = plane.x0, [plane.x0]
    for i in order:
        table[i] = plane.gradient(i, x)
        x = [v - FIFTH * sum(row[k] for row in table) / 3 for k, v in enumerate(x)]
        sag.append(x)
    models = mifa.run(
        *plane.start,
        [{i} for i in order],
        step_size=FIFTH,
        initial_table=initial_table,
    )
    assert models == sag


def test_one_local_step_is_minibatch_sag_with_empty_rounds(plane):
    table = [plane.gradient(i, plane.x0) for i in range(3)]
    x, sag = plane.x0, [plane.x0]
    for cohort in plane.cohorts:
        for i in cohort:
            table[i] = plane.gradient(i, x)
        x = [v - FIFTH * sum(row[k] for row in table) / 3 for k, v in enumerate(x)]
        sag.append(x)
    assert mifa.run(*plane.start, plane.cohorts, step_size=FIFTH) == sag


def test_one_step_full_is_gradient_descent_on_the_mean(plane):
    rounds = [plane.everyone] * 5
    assert mifa.run(*plane.start, rounds, step_size=FIFTH) == gradient_descent.run(
        *plane.start, rounds, step_size=FIFTH / 3
    )


@pytest.mark.parametrize("empty_round", ["step", "skip"])
def test_fixed_point_of_fedavg_stays(pair, empty_round):
    x = [Fraction(36, 19)]
    settings = {"step_size": STEP, "local_steps": 2, "empty_round": empty_round}
    cohorts = [{0}, set(), {0}, {1}, {0, 1}]
    assert mifa.run(pair.gradient, 2, x, cohorts, **settings) == [x] * 6
    assert fedavg.run(pair.gradient, 2, x, [{0, 1}], step_size=STEP, local_steps=2) == [
        x,
        x,
    ]
    moved = mifa.run(pair.gradient, 2, x, [{0}], initial_table="zero", **settings)
    assert moved != [x, x]
    minimiser = [Fraction(2)]  # no fixed point with two local steps
    assert mifa.run(pair.gradient, 2, minimiser, [{0}], **settings) != [minimiser] * 2


def test_minimiser_stays_with_one_local_step(pair):
    x = [Fraction(2)]
    assert mifa.run(pair.gradient, 2, x, COHORTS, step_size=STEP) == [x] * 5


def test_minimiser_stays_when_opposite_drifts_cancel():
    # g_0 = x and g_1 = x - 4: from 2 one step leads to 3/2 and 5/2, three to 27/32
    # and 101/32, where a multiple of the first gradient would lead to 1/2 and 7/2
    def gradient(i, point):
        return [point[0] - 4 * i]

    x = [Fraction(2)]
    settings = {"step_size": STEP, "local_steps": 3}
    state = mifa.start(gradient, 2, x, **settings)
    assert state["table"] == [[Fraction(37, 8)], [Fraction(-37, 8)]]
    assert mifa.run(gradient, 2, x, COHORTS, **settings) == [x] * 5


@pytest.mark.parametrize("initial_table", ["full", "zero"])
@pytest.mark.parametrize("empty_round", ["step", "skip"])
def test_uneven_participation_reaches_the_fixed_point(pair, initial_table, empty_round):
    rounds = [{0}, {0}, set(), {0}, {1}] * 300
    models = mifa.run(
        pair.gradient,
        2,
        [4.0],
        rounds,
        step_size=0.1,
        local_steps=2,
        initial_table=initial_table,
        empty_round=empty_round,
    )
    # D_0 = (1 - 0.81) x and D_1 = (1 - 0.64) (x - 3)
    assert models[-1] == pytest.approx([3 * 0.36 / 0.55], abs=1e-12)


def test_new_state_is_affine_in_the_cohort_unless_empty_rounds_are_skipped(plane):
    settings = {"step_size": FIFTH, "local_steps": 2}
    state = {"model": plane.x0, "table": [[1, -2], [Fraction(3, 2), 5], [0, 4]]}

    def after(cohort, empty_round):
        new = mifa.play(
            state, plane.gradient, 3, cohort, empty_round=empty_round, **settings
        )
        return [v for vector in (new["model"], *new["table"]) for v in vector]

    def predicted(empty_round):
        pieces = [after(cohort, empty_round) for cohort in (set(), {0}, {2})]
        return [b + c - a for a, b, c in zip(*pieces, strict=True)]

    assert after({0, 2}, "step") == predicted("step")
    assert after({0, 2}, "skip") != predicted("skip")


def test_direction_of_one_client_at_random_is_biased(plane):
    # the mean over the client is a third fresh and two thirds stale
    settings = {"step_size": FIFTH, "local_steps": 2}
    table = [[1, -2], [Fraction(3, 2), 5], [0, 4]]
    state = {"model": plane.x0, "table": table}
    models = [
        mifa.play(state, plane.gradient, 3, cohort, **settings)["model"]
        for cohort in ({0}, {1}, {2}, plane.everyone, set())
    ]
    fresh, stale = models[3:]
    assert [sum(column) / 3 for column in zip(*models[:3], strict=True)] == [
        f / 3 + 2 * s / 3 for f, s in zip(fresh, stale, strict=True)
    ]
    assert fresh != stale


@pytest.mark.parametrize("initial_table", ["full", "zero"])
def test_one_client_stands_for_its_equals(pair, initial_table):
    def of_three(i, point):
        return pair.gradient(min(i, 1), point)

    settings = {"step_size": STEP, "local_steps": 2, "initial_table": initial_table}
    short = [{0}, {1}, set(), {0, 1}, {0}]
    long = [{0}, {1, 2}, set(), {0, 1, 2}, {0}]
    assert mifa.run(
        pair.gradient, Population(3, [1, 2]), pair.x0, short, **settings
    ) == mifa.run(of_three, 3, pair.x0, long, **settings)


@pytest.mark.parametrize("initial_table", ["full", "zero"])
def test_counts_gradient_evaluations(plane, initial_table):
    seen = []

    def counting(i, point):
        seen.append(i)
        return plane.gradient(i, point)

    mifa.run(
        counting,
        3,
        plane.x0,
        [{1, 2}, set()],
        step_size=FIFTH,
        local_steps=3,
        initial_table=initial_table,
    )
    first = [0, 1, 2] * 3 if initial_table == "full" else []
    assert sorted(seen) == sorted([*first, 1, 1, 1, 2, 2, 2])


@pytest.mark.parametrize("initial_table", ["full", "zero"])
def test_integers_stay_exact(whole, initial_table):
    models = mifa.run(
        *whole.start, whole.cohorts, step_size=2, initial_table=initial_table
    )
    assert not any(isinstance(model[0], float) for model in models)


@pytest.mark.parametrize("name", ["empty_round", "initial_table"])
@pytest.mark.parametrize("cohorts", [[], [{0}]])
def test_wrong_settings(pair, name, cohorts):
    with pytest.raises(ValueError, match=name):
        mifa.run(*pair.start, cohorts, step_size=STEP, **{name: "other"})


def test_wrong_cohort(pair):
    for cohort in ({2}, {-1}):
        with pytest.raises(ValueError, match="cohort"):
            mifa.run(*pair.start, [cohort], step_size=STEP)


def test_long_inactivity_needs_a_small_step(pair):
    # while client 1 sleeps, x goes where g_0 = -G_1, that is x - 2 -> -2 (x - 2)
    rounds = ([{0}] * 100 + [{1}]) * 20
    near, far = (
        mifa.run(pair.gradient, 2, [4.0], rounds, step_size=step)[-1][0]
        for step in (0.01, 0.2)
    )
    assert near == pytest.approx(2, abs=1e-9)
    assert abs(far - 2) > 1e4

from fractions import Fraction

import pytest

from flverify.reference import (
    Population,
    fedavg,
    fedvarp,
    gradient_descent,
    mifa,
    scaffold,
)

STEP = Fraction(1, 4)
FIFTH = Fraction(1, 5)
COHORTS = [{0}, {1}, set(), {0}]
TABLE = [[1, -2], [Fraction(3, 2), 5], [0, 4]]

# With two local steps of 1/4 on the pair: D_0 = 7x/16 and D_1 = 3 (x - 3)/4.
# The sum vanishes at x = 36/19, with D_0 = 63/76.


def test_two_local_steps_by_hand(pair):
    # {0}: v = D_0 = 7/4, x = 9/4, y = (7/4, 0).
    # {1}: D_1 = -9/16, v = -9/16 + 7/8 = 5/16, x = 36/16 - 5/16, y = (7/4, -9/16).
    # {0}: D_0 = 217/256, mean 19/32, v = (217 - 448 + 152)/256, x = (496 + 79)/256.
    models = fedvarp.run(*pair.start, COHORTS, step_size=STEP, local_steps=2)
    assert models == [
        [4],
        [Fraction(9, 4)],
        [Fraction(31, 16)],
        [Fraction(31, 16)],
        [Fraction(575, 256)],
    ]


def test_stepping_empty_round_by_hand(pair):
    # empty: x = 62/32 - 19/32 = 43/32.
    # {0}: D_0 = 301/512, v = (301 - 896 + 304)/512, x = (688 + 291)/512
    models = fedvarp.run(
        *pair.start, COHORTS, step_size=STEP, local_steps=2, empty_round="step"
    )
    assert models == [
        [4],
        [Fraction(9, 4)],
        [Fraction(31, 16)],
        [Fraction(43, 32)],
        [Fraction(979, 512)],
    ]


def test_server_step_by_hand(pair):
    # 4 - 7/8 = 25/8; D_1 = 3/32, v = 3/32 + 7/8 = 31/32, x = 200/64 - 31/64.
    # empty: mean (7/4 + 3/32)/2 = 59/64, x = 338/128 - 59/128.
    models = fedvarp.run(
        *pair.start,
        [{0}, {1}, set()],
        step_size=STEP,
        local_steps=2,
        server_step_size=Fraction(1, 2),
        empty_round="step",
    )
    assert models == [[4], [Fraction(25, 8)], [Fraction(169, 64)], [Fraction(279, 128)]]


@pytest.mark.parametrize("empty_round", ["skip", "step"])
def test_state_round_by_round(plane, empty_round):
    def change(i, x):
        once = [u - FIFTH * g for u, g in zip(x, plane.gradient(i, x), strict=True)]
        pairs = zip(plane.gradient(i, x), plane.gradient(i, once), strict=True)
        return [FIFTH * (g + h) for g, h in pairs]

    state = fedvarp.start(*plane.start)
    assert state == {"model": plane.x0, "table": [[0, 0]] * 3}
    for cohort in plane.cohorts:
        x, table = list(state["model"]), [list(row) for row in state["table"]]
        new = fedvarp.play(
            state,
            plane.gradient,
            3,
            cohort,
            step_size=FIFTH,
            local_steps=2,
            server_step_size=Fraction(2, 3),
            empty_round=empty_round,
        )
        assert state == {"model": x, "table": table}  # the old one is left alone
        assert new["table"] == [
            change(i, x) if i in cohort else table[i] for i in range(3)
        ]
        v = [sum(row[k] for row in table) / Fraction(3) for k in range(2)]
        if cohort:
            for k in range(2):
                news = sum(change(i, x)[k] - table[i][k] for i in cohort)
                v[k] += news / len(cohort)
        elif empty_round == "skip":
            v = [0, 0]
        assert new["model"] == [
            u - Fraction(2, 3) * w for u, w in zip(x, v, strict=True)
        ]
        state = new


@pytest.mark.parametrize("local_steps", [1, 3])
def test_full_participation_is_fedavg(plane, local_steps):
    rounds = [plane.everyone] * 5
    settings = {
        "step_size": FIFTH,
        "local_steps": local_steps,
        "server_step_size": Fraction(3, 2),
    }
    models = fedavg.run(*plane.start, rounds, **settings)
    assert fedvarp.run(*plane.start, rounds, **settings) == models
    state = {"model": plane.x0, "table": TABLE}  # whatever the table
    new = fedvarp.play(state, plane.gradient, 3, plane.everyone, **settings)
    assert new["model"] == models[1]


def test_first_round_from_the_zero_table_is_fedavg(plane):
    settings = {"step_size": FIFTH, "local_steps": 3}
    assert (
        fedvarp.run(*plane.start, [set(), {0, 2}], empty_round="step", **settings)
        == fedvarp.run(*plane.start, [set(), {0, 2}], **settings)
        == fedavg.run(*plane.start, [set(), {0, 2}], **settings)
    )


def test_one_local_step_is_minibatch_saga(plane):
    table = [[Fraction(0), Fraction(0)] for _ in range(3)]
    x, saga = plane.x0, [plane.x0]
    for cohort in plane.cohorts:
        if cohort:
            mean = [sum(row[k] for row in table) / 3 for k in range(2)]
            new = {i: plane.gradient(i, x) for i in cohort}
            x = [
                v
                - FIFTH
                * (sum(new[i][k] - table[i][k] for i in cohort) / len(cohort) + mean[k])
                for k, v in enumerate(x)
            ]
            for i in cohort:
                table[i] = new[i]
        saga.append(x)
    assert fedvarp.run(*plane.start, plane.cohorts, step_size=FIFTH) == saga


@pytest.mark.parametrize("option", ["I", "II"])
def test_one_local_step_is_scaffold(plane, option):
    settings = {"step_size": FIFTH, "server_step_size": Fraction(2, 3)}
    ours, theirs = fedvarp.start(*plane.start), scaffold.start(*plane.start)
    for cohort in plane.cohorts:
        ours = fedvarp.play(ours, plane.gradient, 3, cohort, **settings)
        theirs = scaffold.play(
            theirs, plane.gradient, 3, cohort, option=option, **settings
        )
        assert ours["model"] == theirs["model"]
        assert ours["table"] == [[FIFTH * v for v in c] for c in theirs["controls"]]


def test_scaffold_keeps_its_model_in_an_empty_round(plane):
    models = fedvarp.run(
        *plane.start, plane.cohorts, step_size=FIFTH, empty_round="step"
    )
    theirs = scaffold.run(*plane.start, plane.cohorts, step_size=FIFTH)
    assert models[:3] == theirs[:3]
    assert models[3] != theirs[3]


@pytest.mark.parametrize("option", ["I", "II"])
def test_two_local_steps_are_not_scaffold(plane, option):
    settings = {"step_size": FIFTH, "local_steps": 2}
    ours = fedvarp.run(*plane.start, [{0}, {1, 2}], **settings)
    theirs = scaffold.run(*plane.start, [{0}, {1, 2}], option=option, **settings)
    assert ours[1] == theirs[1]  # no control is set yet
    assert ours[2] != theirs[2]


def test_one_step_full_is_gradient_descent_on_the_mean(plane):
    rounds = [plane.everyone] * 5
    assert fedvarp.run(*plane.start, rounds, step_size=FIFTH) == gradient_descent.run(
        *plane.start, rounds, step_size=FIFTH / 3
    )


def test_a_round_of_one_client_moves_by_n_times_the_news_of_mifa(plane):
    # from the same table, in the units of each
    settings = {"step_size": FIFTH, "local_steps": 2}
    scaled = [[v / FIFTH for v in row] for row in TABLE]
    ours = {"model": plane.x0, "table": TABLE}
    theirs = {"model": plane.x0, "table": scaled}
    ours = fedvarp.play(ours, plane.gradient, 3, {1}, **settings)
    still = mifa.play(theirs, plane.gradient, 3, set(), **settings)["model"]
    theirs = mifa.play(theirs, plane.gradient, 3, {1}, **settings)
    assert ours["table"] == [[FIFTH * v for v in row] for row in theirs["table"]]
    assert [u - s for u, s in zip(ours["model"], still, strict=True)] == [
        3 * (u - s) for u, s in zip(theirs["model"], still, strict=True)
    ]


def test_direction_of_one_client_at_random_is_unbiased(plane):
    settings = {"step_size": FIFTH, "local_steps": 2}
    state = {"model": plane.x0, "table": TABLE}
    models = [
        fedvarp.play(state, plane.gradient, 3, {i}, **settings)["model"]
        for i in range(3)
    ]
    full = fedavg.run(*plane.start, [plane.everyone], **settings)[1]
    assert [sum(column) / 3 for column in zip(*models, strict=True)] == full


@pytest.mark.parametrize("empty_round", ["skip", "step"])
def test_model_is_affine_in_the_ratios_and_table_in_the_cohort(plane, empty_round):
    settings = {"step_size": FIFTH, "local_steps": 2, "empty_round": empty_round}
    state = {"model": plane.x0, "table": TABLE}
    empty, one, other, both = (
        fedvarp.play(state, plane.gradient, 3, cohort, **settings)
        for cohort in (set(), {0}, {2}, {0, 2})
    )
    assert both["model"] == [
        (u + v) / 2 for u, v in zip(one["model"], other["model"], strict=True)
    ]
    assert both["table"] == [one["table"][0], empty["table"][1], other["table"][2]]


@pytest.mark.parametrize("empty_round", ["skip", "step"])
def test_fixed_point_of_fedavg_stays_once_the_table_is_there(pair, empty_round):
    settings = {"step_size": STEP, "local_steps": 2, "empty_round": empty_round}
    x = [Fraction(36, 19)]
    fixed = {"model": x, "table": [[Fraction(63, 76)], [Fraction(-63, 76)]]}
    for cohort in (set(), {0}, {1}, {0, 1}):
        assert fedvarp.play(fixed, pair.gradient, 2, cohort, **settings) == fixed
    # the zero table leaves it, unless everyone fills the table first
    assert fedvarp.run(pair.gradient, 2, x, [{0}], **settings)[1] != x
    rounds = [{0, 1}, {0}, set(), {1}]
    assert fedvarp.run(pair.gradient, 2, x, rounds, **settings) == [x] * 5


@pytest.mark.parametrize("empty_round", ["skip", "step"])
@pytest.mark.parametrize("local_steps", [1, 3])
def test_uneven_participation_reaches_the_fixed_point(pair, local_steps, empty_round):
    rounds = [{0}, {0}, set(), {0}, {1}] * 300
    models = fedvarp.run(
        pair.gradient,
        2,
        [4.0],
        rounds,
        step_size=0.1,
        local_steps=local_steps,
        empty_round=empty_round,
    )
    # D_0 = a x and D_1 = b (x - 3); at x = 2 with one local step
    a, b = 1 - 0.9**local_steps, 1 - 0.8**local_steps
    assert models[-1] == pytest.approx([3 * b / (a + b)], abs=1e-12)


@pytest.mark.parametrize("empty_round", ["skip", "step"])
def test_one_client_stands_for_its_equals(pair, empty_round):
    def of_three(i, point):
        return pair.gradient(min(i, 1), point)

    settings = {"step_size": STEP, "local_steps": 2, "empty_round": empty_round}
    short = [{0}, {1}, set(), {0, 1}, {0}]
    long = [{0}, {1, 2}, set(), {0, 1, 2}, {0}]
    assert fedvarp.run(
        pair.gradient, Population(3, [1, 2]), pair.x0, short, **settings
    ) == fedvarp.run(of_three, 3, pair.x0, long, **settings)


def test_counts_gradient_evaluations(plane):
    seen = []

    def counting(i, point):
        seen.append(i)
        return plane.gradient(i, point)

    fedvarp.run(counting, 3, plane.x0, [{1, 2}, set()], step_size=FIFTH, local_steps=3)
    assert sorted(seen) == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("empty_round", ["skip", "step"])
def test_integers_stay_exact(whole, empty_round):
    models = fedvarp.run(
        *whole.start, whole.cohorts, step_size=1, empty_round=empty_round
    )
    assert not any(isinstance(model[0], float) for model in models)


@pytest.mark.parametrize("cohorts", [[], [{0}]])
def test_wrong_settings(pair, cohorts):
    with pytest.raises(ValueError, match="empty_round"):
        fedvarp.run(*pair.start, cohorts, step_size=STEP, empty_round="other")


def test_wrong_cohort(pair):
    for cohort in ({2}, {-1}):
        with pytest.raises(ValueError, match="cohort"):
            fedvarp.run(*pair.start, [cohort], step_size=STEP)


def test_long_inactivity_needs_a_small_step(pair):
    # while client 1 sleeps, x goes where g_0 = -y_1/eta, that is x - 2 -> -2 (x - 2)
    rounds = ([{0}] * 100 + [{1}]) * 20
    near, far = (
        fedvarp.run(pair.gradient, 2, [4.0], rounds, step_size=step)[-1][0]
        for step in (0.01, 0.2)
    )
    assert near == pytest.approx(2, abs=1e-9)
    assert abs(far - 2) > 1e4

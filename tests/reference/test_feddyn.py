from fractions import Fraction
from itertools import pairwise

import pytest
import sympy

from flverify.reference import (
    Population,
    feddyn,
    fedprox,
    fedvarp,
    mifa,
)

STEP = Fraction(1, 4)
FIFTH = Fraction(1, 5)
THIRD = Fraction(1, 3)
WEIGHT = Fraction(3, 2)
DUALS = [[1, -2], [Fraction(3, 2), 5], [0, 4]]

# With two local steps of 1/4 and weight 2 on the pair:
# client 0: z -> z - (z - u + 2 (z - x))/4 = (z + 2x + u)/4, so
#           x -> (3x + u)/4 -> (11x + 5u)/16;
# client 1: z -> z - (2z - 6 - u + 2 (z - x))/4 = (2x + u + 6)/4, the argmin at once.
# The argmin of client 0 is (2x + u)/3, one step of 1/3.


def of_plane(duals):
    """The state of three clients with these duals, h being their mean."""
    h = [sum(u[k] for u in duals) / Fraction(3) for k in range(2)]
    return {"model": [Fraction(1, 2), -3], "server_dual": h, "duals": duals}


def test_two_local_steps_by_hand(pair):
    # {0}: z = 44/16, move -5/4; u_0 = 5/2, h = 5/4; x = 22/8 - 5/8.
    # {1}: z = (34 + 48)/32, move 7/16; u_1 = -7/8, h = 20/16 - 7/16 = 13/16;
    #      x = 82/32 - 13/32.
    # {0}: z = (759 + 400)/512, move 55/512; u_0 = 640/256 - 55/256,
    #      h = (416 - 55)/512; x = (2318 - 361)/1024.
    # both: z = (21527 + 11700)/16384 and (1957 + 2624)/2048, moves 1915/16384 and
    #      667/2048; u_0 = (18720 - 1915)/8192, u_1 = -(896 + 667)/1024,
    #      h = (11552 - 7251)/16384; x = (33227 + 36648 - 4301)/32768.
    f = Fraction
    expected = [
        (f(17, 8), f(5, 4), f(5, 2), 0),
        (f(69, 32), f(13, 16), f(5, 2), f(-7, 8)),
        (f(69, 32), f(13, 16), f(5, 2), f(-7, 8)),
        (f(1957, 1024), f(361, 512), f(585, 256), f(-7, 8)),
        (f(32787, 16384), f(4301, 16384), f(16805, 8192), f(-1563, 1024)),
    ]
    settings = {"step_size": STEP, "local_steps": 2, "proximal_weight": 2}
    cohorts = [{0}, {1}, set(), {0}, {0, 1}]
    state = feddyn.start(*pair.start)
    assert state == {"model": [4], "server_dual": [0], "duals": [[0], [0]]}
    for cohort, (x, h, *duals) in zip(cohorts, expected, strict=True):
        state = feddyn.play(state, pair.gradient, 2, cohort, **settings)
        assert state == {
            "model": [x],
            "server_dual": [h],
            "duals": [[u] for u in duals],
        }
    models = feddyn.run(*pair.start, cohorts, **settings)
    assert models == [[4]] + [[x] for x, *_ in expected]


def test_one_local_step_by_default(pair):
    # {0}: z = 3, h = 1, x = 3 - 1/2
    settings = {"step_size": STEP, "proximal_weight": 2}
    state = feddyn.start(*pair.start)
    for new in (
        feddyn.run(*pair.start, [{0}], **settings)[1],
        feddyn.play(state, pair.gradient, 2, {0}, **settings)["model"],
    ):
        assert new == [Fraction(5, 2)]


@pytest.mark.parametrize("local_steps", [1, 2, 5])
def test_exact_argmin_by_hand(pair, local_steps):
    # one step of 1/(a_i + 2) is the argmin and later ones stay there; by the box:
    # {0}: z = 8/3 = u_0, h = 4/3, x = 8/3 - 2/3 = 2.
    # {1}: z = 10/4, u_1 = 5 - 6, h = 8/6 - 3/6 = 5/6, x = 30/12 - 5/12.
    # {0}: z = (25/6 + 16/6)/3 = 41/18 = u_0, h = 23/36, x = 164/72 - 23/72.
    f = Fraction
    expected = [
        (f(8, 3), 2, f(4, 3)),
        (f(5, 2), f(25, 12), f(5, 6)),
        (f(41, 18), f(47, 24), f(23, 36)),
    ]
    state = feddyn.start(*pair.start)
    for i, (z, x, h) in zip([0, 1, 0], expected, strict=True):
        state = feddyn.play(
            state,
            pair.gradient,
            2,
            {i},
            step_size=f(1, i + 3),
            local_steps=local_steps,
            proximal_weight=2,
        )
        assert state["model"] == [x]
        assert state["server_dual"] == [h]
        assert state["duals"][i] == pair.gradient(i, [z])  # as the box has it


def test_exact_argmin_of_everyone_by_hand():
    # f_0 = z^2 and f_1 = z^2 - 6z, step 1/(2 + 2): z_i = (2x + u_i + b_i)/4, and the
    # minimiser is 3/2 with gradients 3 and -3.
    # From 4: z = 2 and 7/2, u = 4 and 1, h = 5/2, x = 11/4 - 5/4.
    # Then z = 7/4 and 5/2, u = 7/2 and -1, h = 5/4, x = 17/8 - 5/8.
    # What the duals lack is halved every round.
    def gradient(i, z):
        return [2 * z[0] - 6 * i]

    state = feddyn.start(gradient, 2, [Fraction(4)])
    for lack in (Fraction(1), Fraction(1, 2), Fraction(1, 4)):
        state = feddyn.play(
            state, gradient, 2, {0, 1}, step_size=STEP, proximal_weight=2
        )
        assert state == {
            "model": [Fraction(3, 2)],
            "server_dual": [5 * lack / 2],
            "duals": [[3 + lack], [-3 + 4 * lack]],
        }


def test_many_local_steps_are_the_argmin(pair):
    # where the steps of one size fit neither client
    x, h, u = 4.0, 0.0, [0.0, 0.0]
    rounds = [{0}, {1}, {0, 1}, {1}]
    models = [[x]]
    for cohort in rounds:
        argmins = [(2 * x + u[0]) / 3, (2 * x + u[1] + 6) / 4]
        for i in cohort:
            u[i] = pair.gradient(i, [argmins[i]])[0]
        h = (u[0] + u[1]) / 2
        x = sum(argmins[i] for i in cohort) / len(cohort) - h / 2
        models.append([x])
    ours = feddyn.run(
        pair.gradient,
        2,
        [4.0],
        rounds,
        step_size=0.1,
        local_steps=99,
        proximal_weight=2,
    )
    for mine, theirs in zip(ours, models, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("local_steps", [1, 3])
def test_authors_form_round_by_round(plane, local_steps):
    # v_i = -u_i/alpha <- v_i + x_i - x, x+ = mean_S x_i + mean of all v_i
    state, x = feddyn.start(*plane.start), plane.x0
    v = [[Fraction(0), Fraction(0)] for _ in range(3)]
    for cohort in plane.cohorts:
        reports = []
        for i in sorted(cohort):
            z = x
            for _ in range(local_steps):
                g = plane.gradient(i, z)
                z = [
                    z[k] - FIFTH * (g[k] + WEIGHT * (v[i][k] + z[k] - x[k]))
                    for k in range(2)
                ]
            reports.append(z)
            v[i] = [v[i][k] + z[k] - x[k] for k in range(2)]
        if cohort:
            x = [
                sum(z[k] for z in reports) / len(cohort) + sum(w[k] for w in v) / 3
                for k in range(2)
            ]
        before = {name: list(part) for name, part in state.items()}
        new = feddyn.play(
            state,
            plane.gradient,
            3,
            cohort,
            step_size=FIFTH,
            local_steps=local_steps,
            proximal_weight=WEIGHT,
        )
        assert state == before  # the old one is left alone
        assert new["model"] == x
        assert new["duals"] == [[-WEIGHT * c for c in w] for w in v]
        assert new["server_dual"] == [
            -WEIGHT * sum(w[k] for w in v) / 3 for k in (0, 1)
        ]
        state = new


@pytest.mark.parametrize("cohort", [{0}, {1, 2}, {0, 1, 2}])
@pytest.mark.parametrize("local_steps", [1, 3])
def test_first_round_is_fedprox_with_a_longer_server_step(plane, cohort, local_steps):
    # h/alpha is minus |S|/N times the mean move
    settings = {
        "step_size": FIFTH,
        "local_steps": local_steps,
        "proximal_weight": WEIGHT,
    }
    longer = 1 + Fraction(len(cohort), 3)
    assert feddyn.run(*plane.start, [cohort], **settings) == fedprox.run(
        *plane.start, [cohort], server_step_size=longer, **settings
    )


@pytest.mark.parametrize("cohort", [{0}, {1, 2}, {0, 1, 2}])
def test_models_of_the_clients_are_those_of_fedprox_less_the_duals(plane, cohort):
    def less(i, z):
        return [g - u for g, u in zip(plane.gradient(i, z), DUALS[i], strict=True)]

    settings = {"step_size": FIFTH, "local_steps": 3, "proximal_weight": WEIGHT}
    state = of_plane(DUALS)
    new = feddyn.play(state, plane.gradient, 3, cohort, **settings)
    prox = fedprox.play(state, less, 3, cohort, **settings)["model"]
    assert prox == [
        v + h / WEIGHT for v, h in zip(new["model"], new["server_dual"], strict=True)
    ]


def test_one_local_step_of_one_over_the_weight_is_fedvarp_and_mifa(plane):
    # then u_i is the gradient at the last round, and
    # x+ = (x - eta mean_S (g_i - u_i) - eta h) - eta h+ + eta h
    settings = {"step_size": FIFTH}
    state = of_plane(DUALS)
    for cohort in ({0}, {1, 2}, {0, 1, 2}):
        x, duals = state["model"], state["duals"]
        table = [[FIFTH * c for c in u] for u in duals]
        varp = fedvarp.play(
            {"model": x, "table": table}, plane.gradient, 3, cohort, **settings
        )
        gathered = {"model": x, "table": duals}
        still = mifa.play(gathered, plane.gradient, 3, set(), **settings)
        sag = mifa.play(gathered, plane.gradient, 3, cohort, **settings)
        state = feddyn.play(
            state, plane.gradient, 3, cohort, proximal_weight=5, **settings
        )
        assert state["model"] == [
            varp["model"][k] + sag["model"][k] - still["model"][k] for k in range(2)
        ]
        assert state["duals"] == sag["table"]


def test_full_participation_is_then_the_optimistic_gradient(plane):
    # x+ = x - 2 eta F'(x) + eta F'(previous x), the first previous slope being zero
    rounds = [plane.everyone] * 4
    models = feddyn.run(*plane.start, rounds, step_size=FIFTH, proximal_weight=5)
    before = [0, 0]
    for x, new in pairwise(models):
        gradients = [plane.gradient(i, x) for i in range(3)]
        slope = [sum(column) / 3 for column in zip(*gradients, strict=True)]
        assert new == [
            x[k] - 2 * FIFTH * slope[k] + FIFTH * before[k] for k in range(2)
        ]
        before = slope


def test_server_dual_is_the_mean_of_the_duals(plane):
    settings = {"step_size": FIFTH, "local_steps": 2, "proximal_weight": WEIGHT}
    state = of_plane(DUALS)
    for cohort in plane.cohorts:
        state = feddyn.play(state, plane.gradient, 3, cohort, **settings)
        assert state["server_dual"] == of_plane(state["duals"])["server_dual"]


def test_server_dual_moves_from_where_it_is(plane):
    # the server never looks at the duals of those who are away
    settings = {"step_size": FIFTH, "local_steps": 2, "proximal_weight": WEIGHT}
    state = of_plane(DUALS)
    shifted = {**state, "server_dual": [h + 3 for h in state["server_dual"]]}
    one, other = (
        feddyn.play(s, plane.gradient, 3, {0, 2}, **settings) for s in (state, shifted)
    )
    assert other["duals"] == one["duals"]
    assert other["server_dual"] == [h + 3 for h in one["server_dual"]]
    assert other["model"] == [v - 2 for v in one["model"]]  # 3/alpha


@pytest.mark.parametrize("local_steps", [1, 3])
def test_fixed_point_by_hand(pair, local_steps):
    # g_0(2) = 2 and g_1(2) = -2
    settings = {"step_size": STEP, "local_steps": local_steps, "proximal_weight": 2}
    fixed = {"model": [2], "server_dual": [0], "duals": [[2], [-2]]}
    for cohort in (set(), {0}, {1}, {0, 1}):
        assert feddyn.play(fixed, pair.gradient, 2, cohort, **settings) == fixed
    # without the duals it is left
    two = [Fraction(2)]
    assert feddyn.run(pair.gradient, 2, two, [{0}], **settings)[1] != two


def test_empty_round_keeps_everything(plane):
    # h is not zero, so x - h/alpha would move
    state = of_plane(DUALS)
    new = feddyn.play(
        state, plane.gradient, 3, set(), step_size=FIFTH, proximal_weight=WEIGHT
    )
    assert new == state


@pytest.mark.parametrize("local_steps", [1, 3])
@pytest.mark.parametrize("weight", [0.5, 2])
def test_uneven_participation_reaches_the_minimiser(pair, local_steps, weight):
    rounds = [{0}, {0}, set(), {0}, {1}] * 600
    models = feddyn.run(
        pair.gradient,
        2,
        [4.0],
        rounds,
        step_size=0.1,
        local_steps=local_steps,
        proximal_weight=weight,
    )
    assert models[-1] == pytest.approx([2], abs=1e-10)


def test_one_client_stands_for_its_equals(pair):
    def of_three(i, point):
        return pair.gradient(min(i, 1), point)

    settings = {"step_size": STEP, "local_steps": 2, "proximal_weight": WEIGHT}
    short = [{0}, {1}, set(), {0, 1}, {0}]
    long = [{0}, {1, 2}, set(), {0, 1, 2}, {0}]
    assert feddyn.run(
        pair.gradient, Population(3, [1, 2]), pair.x0, short, **settings
    ) == feddyn.run(of_three, 3, pair.x0, long, **settings)


def test_counts_gradient_evaluations(plane):
    seen = []

    def counting(i, point):
        seen.append(i)
        return plane.gradient(i, point)

    settings = {"step_size": FIFTH, "local_steps": 3, "proximal_weight": WEIGHT}
    feddyn.run(counting, 3, plane.x0, [{1, 2}, set()], **settings)
    assert sorted(seen) == [1, 1, 1, 2, 2, 2]


def test_integers_stay_exact(whole):
    models = feddyn.run(
        *whole.start, whole.cohorts, step_size=1, local_steps=2, proximal_weight=2
    )
    assert not any(isinstance(model[0], float) for model in models)


@pytest.mark.parametrize("weight", [0, -1, Fraction(-1, 9), 0.0, float("nan")])
@pytest.mark.parametrize("cohorts", [[], [{0}]])
def test_wrong_weight(pair, weight, cohorts):
    settings = {"step_size": STEP, "proximal_weight": weight}
    with pytest.raises(ValueError, match=f"above 0, not {weight}, for"):
        feddyn.run(*pair.start, cohorts, **settings)
    state = feddyn.start(*pair.start)
    with pytest.raises(ValueError, match="proximal_weight"):
        feddyn.play(state, pair.gradient, 2, {0}, **settings)


def test_wrong_cohort(pair):
    for cohort in ({2}, {-1}):
        with pytest.raises(ValueError, match="cohort"):
            feddyn.run(*pair.start, [cohort], step_size=STEP, proximal_weight=1)


def test_weight_may_be_a_symbol(pair):
    # one local step: z = 3, h = alpha/2, x = 3 - 1/2 whatever the weight;
    # from 5/2: z = 5/2 - (5/2 - alpha)/4, h = alpha/2 + alpha (5/2 - alpha)/8
    alpha = sympy.Symbol("alpha")
    settings = {"step_size": STEP, "proximal_weight": alpha}
    models = feddyn.run(pair.gradient, 2, [sympy.Integer(4)], [{0}, {0}], **settings)
    assert sympy.simplify(models[1][0]) == Fraction(5, 2)
    expected = 2 - 3 * (sympy.Rational(5, 2) - alpha) / 8
    assert sympy.simplify(models[2][0] - expected) == 0

from fractions import Fraction

import pytest
import sympy

from flverify.reference import Population, fedavg, fedprox, gradient_descent

STEP = Fraction(1, 4)
FIFTH = Fraction(1, 5)
WEIGHT = Fraction(3, 2)

# With two local steps of 1/4 and weight 2 on the pair:
# client 0: z -> z - (z + 2 (z - x))/4 = (z + 2x)/4, so x -> 3x/4 -> 11x/16;
# client 1: z -> z - (2z - 6 + 2 (z - x))/4 = (x + 3)/2, the minimiser at once.
# The mean keeps x where 11x/16 + (x + 3)/2 = 2x, that is at x = 24/13.
# The minimisers are 2x/3 and (x + 3)/2; their mean keeps x = 9/5.


def test_mean_by_hand(pair):
    # from 4: 11/4 and 7/2, mean 25/8; {1}: (25/8 + 24/8)/2; {0}: 11/16 of 49/16
    models = fedprox.run(
        *pair.start,
        [{0, 1}, {1}, set(), {0}],
        step_size=STEP,
        local_steps=2,
        proximal_weight=2,
    )
    assert models == [
        [4],
        [Fraction(25, 8)],
        [Fraction(49, 16)],
        [Fraction(49, 16)],
        [Fraction(539, 256)],
    ]


def test_server_step_by_hand(pair):
    # 4 - (3/2) 5/4 = 17/8; moves -(5/16) 17/8 = -85/128 and (3 - 17/8)/2 = 56/128,
    # so x = 17/8 - (3/2) 29/256 = (1088 - 87)/512
    models = fedprox.run(
        *pair.start,
        [{0}, {0, 1}],
        step_size=STEP,
        local_steps=2,
        proximal_weight=2,
        server_step_size=Fraction(3, 2),
    )
    assert models == [[4], [Fraction(17, 8)], [Fraction(1001, 512)]]


def test_one_local_step_by_default(pair):
    # from 4: 3 and 7/2; the server steps by 1
    settings = {"step_size": STEP, "proximal_weight": 2}
    state = fedprox.start(*pair.start)
    for new in (
        fedprox.run(*pair.start, [{0, 1}], **settings)[1],
        fedprox.play(state, pair.gradient, 2, {0, 1}, **settings)["model"],
    ):
        assert new == [Fraction(13, 4)]


def test_weight_zero_is_fedavg(plane):
    settings = {
        "step_size": FIFTH,
        "local_steps": 3,
        "server_step_size": Fraction(2, 3),
    }
    ours = fedprox.run(*plane.start, plane.cohorts, proximal_weight=0, **settings)
    assert ours == fedavg.run(*plane.start, plane.cohorts, **settings)


@pytest.mark.parametrize("weight", [0, WEIGHT, 100])
def test_one_local_step_is_fedavg_whatever_the_weight(plane, weight):
    settings = {"step_size": FIFTH, "server_step_size": Fraction(2, 3)}
    ours = fedprox.run(*plane.start, plane.cohorts, proximal_weight=weight, **settings)
    assert ours == fedavg.run(*plane.start, plane.cohorts, **settings)


def test_two_local_steps_are_not_fedavg(plane):
    settings = {"step_size": FIFTH, "local_steps": 2}
    ours = fedprox.run(*plane.start, [{0}], proximal_weight=WEIGHT, **settings)
    assert ours[1] != fedavg.run(*plane.start, [{0}], **settings)[1]


def test_one_step_full_is_gradient_descent_on_the_mean(plane):
    rounds = [plane.everyone] * 5
    ours = fedprox.run(*plane.start, rounds, step_size=FIFTH, proximal_weight=WEIGHT)
    assert ours == gradient_descent.run(*plane.start, rounds, step_size=FIFTH / 3)


@pytest.mark.parametrize("local_steps", [1, 2, 4])
def test_each_round_is_fedavg_on_the_clients_with_the_pull(plane, local_steps):
    settings = {
        "step_size": FIFTH,
        "local_steps": local_steps,
        "server_step_size": Fraction(2, 3),
    }
    state = fedprox.start(*plane.start)
    assert state == {"model": plane.x0}
    for cohort in plane.cohorts:
        x = list(state["model"])  # the pull is to this round's model

        def pulled(i, z, x=x):
            slopes = zip(plane.gradient(i, z), z, x, strict=True)
            return [g + WEIGHT * (u - v) for g, u, v in slopes]

        new = fedprox.play(
            state, plane.gradient, 3, cohort, proximal_weight=WEIGHT, **settings
        )
        assert state == {"model": x}  # the old one is left alone
        assert new == fedavg.play(state, pulled, 3, cohort, **settings)
        state = new


def test_two_steps_of_one_over_the_weight_are_an_extragradient_step(plane):
    # with eta mu = 1 a local step is z -> x - eta g(z)
    def step(i, at):
        slopes = zip(plane.x0, plane.gradient(i, at), strict=True)
        return [v - g / 5 for v, g in slopes]

    for i in range(3):
        models = fedprox.run(
            *plane.start, [{i}], step_size=FIFTH, local_steps=2, proximal_weight=5
        )
        assert models[1] == step(i, step(i, plane.x0))


@pytest.mark.parametrize("local_steps", [1, 2, 5])
def test_step_of_the_right_size_reaches_the_minimiser_and_stays(pair, local_steps):
    # client i has curvature i + 1; the step is one over i + 1 + 2
    for i, minimiser in enumerate([Fraction(8, 3), Fraction(7, 2)]):
        models = fedprox.run(
            *pair.start,
            [{i}],
            step_size=Fraction(1, i + 3),
            local_steps=local_steps,
            proximal_weight=2,
        )
        assert models[1] == [minimiser]
        slope = pair.gradient(i, models[1])[0] + 2 * (models[1][0] - 4)
        assert slope == 0


def test_fixed_point_by_hand(pair):
    settings = {"step_size": STEP, "local_steps": 2, "proximal_weight": 2}
    x = [Fraction(24, 13)]
    assert fedprox.run(pair.gradient, 2, x, [{0, 1}, set()], **settings) == [x] * 3
    for cohort in ({0}, {1}):
        assert fedprox.run(pair.gradient, 2, x, [cohort], **settings)[1] != x


def test_many_local_steps_reach_the_minimum_of_the_averaged_envelopes(pair):
    # not 2, where the gradients add up to zero
    models = fedprox.run(
        pair.gradient,
        2,
        [4.0],
        [{0, 1}] * 100,
        step_size=0.25,
        local_steps=80,
        proximal_weight=2,
    )
    x = models[-1][0]
    assert x == pytest.approx(9 / 5, abs=1e-12)
    slopes = pair.gradient(0, [2 * x / 3])[0] + pair.gradient(1, [(x + 3) / 2])[0]
    assert slopes == pytest.approx(0, abs=1e-12)


def test_model_is_affine_in_the_ratios(plane):
    settings = {"step_size": FIFTH, "local_steps": 2, "proximal_weight": WEIGHT}
    one, other, both = (
        fedprox.run(*plane.start, [cohort], **settings)[1]
        for cohort in ({0}, {2}, {0, 2})
    )
    assert both == [(u + v) / 2 for u, v in zip(one, other, strict=True)]


def test_one_client_stands_for_its_equals(pair):
    def of_three(i, point):
        return pair.gradient(min(i, 1), point)

    settings = {
        "step_size": STEP,
        "local_steps": 2,
        "proximal_weight": WEIGHT,
        "server_step_size": Fraction(1, 2),
    }
    short = [{0}, {1}, set(), {0, 1}, {0}]
    long = [{0}, {1, 2}, set(), {0, 1, 2}, {0}]
    assert fedprox.run(
        pair.gradient, Population(3, [1, 2]), pair.x0, short, **settings
    ) == fedprox.run(of_three, 3, pair.x0, long, **settings)


def test_counts_gradient_evaluations(plane):
    seen = []

    def counting(i, point):
        seen.append(i)
        return plane.gradient(i, point)

    settings = {"step_size": FIFTH, "local_steps": 3, "proximal_weight": WEIGHT}
    fedprox.run(counting, 3, plane.x0, [{1, 2}, set()], **settings)
    assert sorted(seen) == [1, 1, 1, 2, 2, 2]


def test_integers_stay_exact(whole):
    models = fedprox.run(
        *whole.start, whole.cohorts, step_size=1, local_steps=2, proximal_weight=1
    )
    assert not any(isinstance(model[0], float) for model in models)


@pytest.mark.parametrize("weight", [-1, Fraction(-1, 9), -0.5, float("nan")])
@pytest.mark.parametrize("cohorts", [[], [{0}]])
def test_wrong_weight(pair, weight, cohorts):
    settings = {"step_size": STEP, "proximal_weight": weight}
    with pytest.raises(ValueError, match=f"at least 0, not {weight}; give"):
        fedprox.run(*pair.start, cohorts, **settings)
    state = fedprox.start(*pair.start)
    with pytest.raises(ValueError, match="proximal_weight"):
        fedprox.play(state, pair.gradient, 2, {0}, **settings)


def test_wrong_cohort(pair):
    for cohort in ({2}, {-1}):
        with pytest.raises(ValueError, match="cohort"):
            fedprox.run(*pair.start, [cohort], step_size=STEP, proximal_weight=1)


def test_weight_may_be_a_symbol(pair):
    # 4 - 5/4 with the weight 2; in general 4 - (7 - mu)/4
    mu = sympy.Symbol("mu")
    settings = {"step_size": STEP, "local_steps": 2, "proximal_weight": mu}
    models = fedprox.run(pair.gradient, 2, [sympy.Integer(4)], [{0}], **settings)
    assert sympy.expand(models[1][0] - (9 + mu) / 4) == 0

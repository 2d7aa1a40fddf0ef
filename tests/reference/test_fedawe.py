from fractions import Fraction

import pytest

from flverify.reference import Population, fedavg, fedawe

STEP = Fraction(1, 4)
FIFTH = Fraction(1, 5)
COHORTS = [{0}, {0}, {1}, {0, 1}, set(), {1}]


def states(problem, cohorts, **settings):
    """Return the state before the first round and after each one."""
    found = [fedawe.start(*problem.start)]
    for cohort in cohorts:
        found.append(
            fedawe.play(
                found[-1], problem.gradient, problem.n_clients, cohort, **settings
            )
        )
    return found


def mean(vectors):
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


# With two local steps of 1/4 on the pair: d_0 = 7x/16 and d_1 = 3 (x - 3)/4.


def test_two_local_steps_by_hand(pair):
    # {0}: d_0 = 7/4, x = 9/4.  {0} again: x = 9/16 of 9/4.
    # {1}: from its own 4, d_1 = 3/4, three times that: x = 4 - 9/4 = 7/4.
    # {0, 1}: client 0 from 81/64, d_0 = 567/1024, twice: 648/512 - 567/512 = 81/512;
    #   client 1 from 7/4, once: 7/16 + 9/4 = 43/16 = 1376/512; x = 1457/1024.
    # empty: stays.
    # {1}: d_1 = 3/4 (1457 - 3072)/1024 = -4845/4096, twice: (2914 + 4845)/2048.
    models = fedawe.run(*pair.start, COHORTS, step_size=STEP, local_steps=2)
    assert models == [
        [4],
        [Fraction(9, 4)],
        [Fraction(81, 64)],
        [Fraction(7, 4)],
        [Fraction(1457, 1024)],
        [Fraction(1457, 1024)],
        [Fraction(7759, 2048)],
    ]


def test_server_step_and_first_rounds_empty_by_hand(pair):
    # One local step: d_0 = x/4, d_1 = (x - 3)/2; half a server step.
    # empty, empty, {1}: d_1 = 1/2, 4 - 3/2 (1/2) = 13/4.
    # {0, 1}: d_0 = 1 from 4, 4 - 4/2 = 2; d_1 = 1/8 from 13/4, 13/4 - 1/16 = 51/16;
    #   x = 83/32.
    # {0}: d_0 = 83/128, 664/256 - 83/256.
    cohorts = [set(), set(), {1}, {0, 1}, {0}]
    found = states(pair, cohorts, step_size=STEP, server_step_size=Fraction(1, 2))
    a, b, c = [Fraction(13, 4)], [Fraction(83, 32)], [Fraction(581, 256)]
    assert found == [
        {"model": [4], "models": [[4], [4]], "waited": [0, 0]},
        {"model": [4], "models": [[4], [4]], "waited": [1, 1]},
        {"model": [4], "models": [[4], [4]], "waited": [2, 2]},
        {"model": a, "models": [[4], a], "waited": [3, 0]},
        {"model": b, "models": [b, b], "waited": [0, 0]},
        {"model": c, "models": [c, b], "waited": [0, 1]},
    ]


def test_one_round_from_a_given_state_by_hand(pair):
    # Two local steps, server step 2/3.  Client 0 from 8: d_0 = 7/2, echo 3, 8 - 7 = 1.
    # Client 1 from -1: d_1 = -3, echo 2, -1 + 4 = 3.  The server's 100 plays no part.
    state = {"model": [100], "models": [[8], [-1]], "waited": [2, 1]}
    settings = {
        "step_size": STEP,
        "local_steps": 2,
        "server_step_size": Fraction(2, 3),
    }
    assert fedawe.play(state, pair.gradient, 2, {0, 1}, **settings) == {
        "model": [2],
        "models": [[2], [2]],
        "waited": [0, 0],
    }
    assert fedawe.play(state, pair.gradient, 2, {0}, **settings) == {
        "model": [1],
        "models": [[1], [-1]],
        "waited": [0, 2],
    }


def test_state_round_by_round(plane):
    # as the box has it, with the round l_i instead of the rounds waited
    settings = {
        "step_size": FIFTH,
        "local_steps": 2,
        "server_step_size": Fraction(2, 3),
    }
    last = [-1] * 3
    state = fedawe.start(*plane.start)
    for t, cohort in enumerate(plane.cohorts):
        x, own = list(state["model"]), [list(row) for row in state["models"]]
        waited = list(state["waited"])
        assert waited == [t - last_i - 1 for last_i in last]
        reports = []
        for i in cohort:
            first = plane.gradient(i, own[i])
            once = [u - FIFTH * g for u, g in zip(own[i], first, strict=True)]
            slope = zip(first, plane.gradient(i, once), strict=True)
            moved = [FIFTH * (g + h) for g, h in slope]
            reports.append(
                [
                    u - Fraction(2, 3) * (t - last[i]) * v
                    for u, v in zip(own[i], moved, strict=True)
                ]
            )
            last[i] = t
        new = fedawe.play(state, plane.gradient, 3, cohort, **settings)
        # the old one is left alone
        assert state == {"model": x, "models": own, "waited": waited}
        assert new["model"] == (mean(reports) if cohort else x)
        assert new["models"] == [
            new["model"] if i in cohort else own[i] for i in range(3)
        ]
        state = new


def test_start_is_a_copy(plane):
    state = fedawe.start(None, 3, plane.x0)
    assert state == {"model": plane.x0, "models": [plane.x0] * 3, "waited": [0] * 3}
    assert not any(row is plane.x0 for row in (state["model"], *state["models"]))


@pytest.mark.parametrize("server_step_size", [1, Fraction(3, 2), Fraction(-1, 7)])
@pytest.mark.parametrize("local_steps", [1, 3])
def test_full_participation_is_fedavg(plane, local_steps, server_step_size):
    rounds = [plane.everyone] * 5
    settings = {
        "step_size": FIFTH,
        "local_steps": local_steps,
        "server_step_size": server_step_size,
    }
    assert fedawe.run(*plane.start, rounds, **settings) == fedavg.run(
        *plane.start, rounds, **settings
    )


def test_first_round_is_fedavg_and_a_later_partial_one_is_not(plane):
    settings = {
        "step_size": FIFTH,
        "local_steps": 3,
        "server_step_size": Fraction(3, 2),
    }
    ours = fedawe.run(*plane.start, [{0, 2}, {0, 1}], **settings)
    theirs = fedavg.run(*plane.start, [{0, 2}, {0, 1}], **settings)
    assert ours[:2] == theirs[:2]
    assert ours[2] != theirs[2]


@pytest.mark.parametrize("missed", [0, 1, 4])
def test_everyone_after_empty_rounds_is_fedavg_with_a_longer_server_step(plane, missed):
    settings = {"step_size": FIFTH, "local_steps": 2}
    rounds = [set()] * missed + [plane.everyone]
    ours = fedawe.run(*plane.start, rounds, server_step_size=Fraction(2, 3), **settings)
    theirs = fedavg.run(
        *plane.start,
        [plane.everyone],
        server_step_size=Fraction(2, 3) * (missed + 1),
        **settings,
    )
    assert ours[:-1] == [plane.x0] * (missed + 1)
    assert ours[-1] == theirs[-1]


@pytest.mark.parametrize("client", [0, 1, 2])
def test_echo_factors_of_a_client_active_at_the_end_sum_to_the_rounds(plane, client):
    cohorts = [*plane.cohorts, {client}]
    found = states(plane, cohorts, step_size=FIFTH)
    echoes = [
        state["waited"][client] + 1
        for state, cohort in zip(found, cohorts, strict=False)
        if client in cohort
    ]
    assert len(echoes) < len(cohorts)
    assert sum(echoes) == len(cohorts) == 9


def test_lone_client_with_a_constant_gradient_has_gone_as_many_steps_as_rounds():
    def gradient(i, point):
        return [3]

    # 2 local steps of 1/5 and half a server step: 3/5 down per round, seen or not
    cohorts = [set(), {0}, {0}, {1}, set(), {1}, {0}, set(), {0}]
    state = fedawe.start(gradient, 2, [Fraction(10)])
    for t, cohort in enumerate(cohorts, start=1):
        state = fedawe.play(
            state,
            gradient,
            2,
            cohort,
            step_size=FIFTH,
            local_steps=2,
            server_step_size=Fraction(1, 2),
        )
        for i in cohort:
            assert state["models"][i] == state["model"] == [10 - Fraction(3, 5) * t]


def test_constant_gradients_end_where_full_participation_does(plane):
    # the mean of the clients' models moves by each gradient as often as there are
    # rounds, whatever is mixed on the way, once all are active in the last one
    def gradient(i, point):
        return [Fraction(i * i + 1, 3), Fraction(2 - 5 * i)]

    settings = {
        "step_size": FIFTH,
        "local_steps": 3,
        "server_step_size": Fraction(3, 2),
    }
    cohorts = [*plane.cohorts, plane.everyone]
    ours = fedawe.run(gradient, 3, plane.x0, cohorts, **settings)
    theirs = fedavg.run(gradient, 3, plane.x0, [plane.everyone] * 9, **settings)
    assert ours[-1] == theirs[-1]
    assert ours[1:-1] != theirs[1:-1]


def test_absent_clients_keep_their_own_model(plane):
    cohorts = [{0}, {1}, {0, 1}, {2}]
    settings = {"step_size": FIFTH, "local_steps": 2}
    found = states(plane, cohorts, **settings)
    for before, cohort, after in zip(found, cohorts, found[1:], strict=False):
        for i in plane.everyone:
            if i in cohort:
                assert after["models"][i] == after["model"]
                assert after["waited"][i] == 0
            else:
                assert after["models"][i] == before["models"][i] != after["model"]
                assert after["waited"][i] == before["waited"][i] + 1
    # client 2 was first asked in the fourth round and starts from x0
    (_, once) = fedavg.run(
        *plane.start, [{2}], server_step_size=Fraction(4), **settings
    )
    assert found[-1]["model"] == once


def test_mixing_preserves_the_mean_of_the_clients_models():
    def flat(i, point):
        return [0, 0]

    f = Fraction
    own = [[f(1), f(-2)], [f(3, 2), f(5)], [f(0), f(4)], [f(-7), f(1, 3)]]
    state = {"model": [f(9), f(9)], "models": own, "waited": [0, 3, 1, 2]}
    for cohort in ({1, 2}, {0}, set(), {0, 1, 3}, {2, 3}, {0, 1, 2, 3}):
        state = fedawe.play(state, flat, 4, cohort, step_size=FIFTH, local_steps=2)
        assert mean(state["models"]) == mean(own)
        if cohort == {1, 2}:
            middle = [f(3, 4), f(9, 2)]
            assert state["model"] == middle
            assert state["models"] == [own[0], middle, middle, own[3]]
    assert state["models"] == [mean(own)] * 4


def test_server_model_is_heard_in_empty_rounds_only(plane):
    settings = {"step_size": FIFTH, "local_steps": 2}
    state = states(plane, plane.cohorts, **settings)[-1]
    other = {**state, "model": [Fraction(50), Fraction(-50)]}
    for cohort in ({1}, {0, 2}, plane.everyone):
        assert fedawe.play(state, plane.gradient, 3, cohort, **settings) == fedawe.play(
            other, plane.gradient, 3, cohort, **settings
        )
    assert fedawe.play(other, plane.gradient, 3, set(), **settings) == {
        "model": other["model"],
        "models": state["models"],
        "waited": [w + 1 for w in state["waited"]],
    }


def test_empty_rounds_keep_every_model(plane):
    settings = {"step_size": FIFTH, "local_steps": 2}
    before = states(plane, [{0}, {1, 2}, {0, 2}], **settings)[-1]
    after = before
    for _ in range(3):
        after = fedawe.play(after, None, 3, set(), **settings)
    assert before["waited"] == [0, 1, 0]
    assert after == {**before, "waited": [3, 4, 3]}


def signed(n_clients, gradient, weights, **settings):
    """Return a weighted sum of new states, as one list per part of the state."""
    own = [[Fraction(k * k + 1, k + 2)] for k in range(n_clients)]
    state = {"model": [Fraction(5)], "models": own, "waited": list(range(n_clients))}
    result = {"model": [0], "models": [0] * n_clients, "waited": [0] * n_clients}
    for cohort, weight in weights:
        new = fedawe.play(state, gradient, n_clients, cohort, **settings)
        parts = {**new, "models": [row[0] for row in new["models"]]}
        for key, values in parts.items():
            result[key] = [
                r + weight * v for r, v in zip(result[key], values, strict=True)
            ]
    return result


def test_new_state_is_affine_in_cohort_and_shares_for_three_clients_but_not_four():
    # Weights that kill 1, every I_i and every I_i/|S|: for three clients 1 on the
    # single ones, -2 on the pairs, 3 on all, the only ones up to scale.
    def gradient(i, point):
        return [point[0] * (i + 1) - i]

    settings = {"step_size": STEP, "local_steps": 2}
    ones, pairs = [{0}, {1}, {2}], [{0, 1}, {0, 2}, {1, 2}]
    three = [(s, 1) for s in ones] + [(s, -2) for s in pairs] + [({0, 1, 2}, 3)]
    zero = {"model": [0], "models": [0] * 3, "waited": [0] * 3}
    assert signed(3, gradient, three, **settings) == zero

    four = [({0, 1}, 1), ({0, 2}, -1), ({1, 3}, -1), ({2, 3}, 1)]
    result = signed(4, gradient, four, **settings)
    assert result["model"] == [0]
    assert result["waited"] == [0] * 4
    assert all(result["models"])


def test_lone_clients_never_meet(pair):
    # without a round of two nothing is mixed: each goes to its own minimiser
    found = states(pair, [{0}, {1}] * 60, step_size=STEP)
    (x_0,), (x_1,) = found[-1]["models"]
    assert abs(x_0) < Fraction(1, 10**12)
    assert abs(x_1 - 3) < Fraction(1, 10**12)


def test_uneven_participation_is_less_biased_than_fedavg(pair):
    rounds = ([{0}] * 4 + [{0, 1}]) * 400
    far, near = (
        method.run(pair.gradient, 2, [4.0], rounds, step_size=0.005)[-1][0]
        for method in (fedavg, fedawe)
    )
    # FedAvg sums up 4x + (x + 2x - 6)/2 over five rounds
    assert far == pytest.approx(3 / 5.5, abs=0.02)
    assert near == pytest.approx(2, abs=0.03)
    assert near != pytest.approx(2, abs=1e-4)


def test_minimiser_moves_under_partial_participation_only(pair):
    x = [Fraction(2)]
    settings = {"step_size": STEP}
    assert fedawe.run(pair.gradient, 2, x, [{0, 1}, set(), {0, 1}], **settings) == [
        x,
        x,
        x,
        x,
    ]
    assert fedawe.run(pair.gradient, 2, x, [{0}], **settings) == [x, [Fraction(3, 2)]]


def test_one_client_stands_for_its_equals(pair):
    def of_three(i, point):
        return pair.gradient(min(i, 1), point)

    settings = {"step_size": STEP, "local_steps": 2}
    short = [{0}, {1}, set(), {0, 1}, {0}, {0, 1}]
    long = [{0}, {1, 2}, set(), {0, 1, 2}, {0}, {0, 1, 2}]
    assert fedawe.run(
        pair.gradient, Population(3, [1, 2]), pair.x0, short, **settings
    ) == fedawe.run(of_three, 3, pair.x0, long, **settings)


def test_counts_gradient_evaluations(plane):
    seen = []

    def counting(i, point):
        seen.append(i)
        return plane.gradient(i, point)

    fedawe.run(
        counting, 3, plane.x0, [{1, 2}, set(), {1}], step_size=FIFTH, local_steps=3
    )
    assert sorted(seen) == [1] * 6 + [2] * 3


def test_cohort_with_repeats_counts_each_client_once(plane):
    assert fedawe.run(*plane.start, [[0, 2, 0], [1, 1]], step_size=FIFTH) == fedawe.run(
        *plane.start, [{0, 2}, {1}], step_size=FIFTH
    )


def test_integers_stay_exact(whole):
    models = fedawe.run(*whole.start, whole.cohorts, step_size=2)
    assert not any(isinstance(model[0], float) for model in models)


@pytest.mark.parametrize("name", ["aggregation", "empty_round", "other"])
def test_no_other_settings(pair, name):
    with pytest.raises(TypeError, match=name):
        fedawe.run(*pair.start, [], step_size=STEP, **{name: "skip"})


def test_wrong_cohort(pair):
    for cohort in ({2}, {-1}, {0, 2}):
        with pytest.raises(ValueError, match="cohort"):
            fedawe.run(*pair.start, [cohort], step_size=STEP)

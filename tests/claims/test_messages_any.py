"""Rounds by messages of any size, beside the reference."""

import random
from fractions import Fraction

import pytest

from flverify.claims import messages, messages_any
from flverify.claims.messages import scaffold as by_messages
from flverify.claims.verdict import Verdict
from flverify.reference import proxskip, scaffold

N, TAU, STEP = 5, 3, Fraction(1, 8)
COHORTS = [(0, 2, 3), (1,), (0, 1, 2, 3, 4), (4, 2)]


def slope(i, x):
    return (i + 1) * x**2 / 9 - i


@pytest.mark.parametrize("option", ["I", "II", "II, one up"])
@pytest.mark.parametrize("heard", [True, False])
def test_five_clients_agree_with_the_reference_just_where_it_is_proved(option, heard):
    how = {"step_size": STEP, "local_steps": TAU}
    sent = by_messages(
        slope, N, Fraction(1), COHORTS, option=option, heard=heard, **how
    )
    rule = option.partition(",")[0]
    plain = scaffold.run(
        lambda i, x: [slope(i, x[0])], N, [Fraction(1)], COHORTS, option=rule, **how
    )
    agrees = sent.models == [x for (x,) in plain]
    ((down, up),) = sent.counts
    found = messages_any.scaffold_round((option,), heard=heard, down=down, up=up)
    assert found.passes() == agrees == heard


def test_other_numbers_of_vectors_are_refuted():
    wrong = [
        messages_any.scaffold_round(("I",), heard=True, down=1, up=2),
        messages_any.scaffold_round(("II",), heard=True, down=2, up=1),
        messages_any.scaffold_round(("II, one up",), heard=True, down=2, up=2),
        messages_any.scaffold_round(("I, one up",), heard=True, down=2, up=1),
        messages_any.proxskip_iteration(heard=True, down=2, up=1),
        messages_any.proxskip_iteration(heard=True, down=1, up=2),
        messages_any.proxskip_iteration(heard=False, down=1, up=1),
    ]
    assert {found.verdict for found in wrong} == {Verdict.REFUTED}


def _one_option():
    return messages_any.scaffold_round(("I",), heard=True, down=2, up=2)


@pytest.mark.parametrize(
    "fault",
    [
        {"server_step_size": 2},
        {"option": "II"},
        {"local_steps": 1},  # one step made, or tau for 1 in products
        {"step_size": Fraction(1, 2)},
    ],
)
def test_another_plain_loop_does_not_pass(monkeypatch, fault):
    right = scaffold.play

    def wrong(*state, **how):
        return right(*state, **(how | fault))

    assert _one_option().passes()
    monkeypatch.setattr(scaffold, "play", wrong)
    assert not _one_option().passes()


def _no_division(a, scale):
    return list(a)


def _of_who_came(state, gradient, n_clients, cohort, **how):
    """Play a round as if nobody was absent, so that c moves by a mean of S."""
    counts = (*n_clients.counts[: len(cohort)], *[0] * len(n_clients.counts))
    few = type(n_clients)(0, counts[: len(n_clients.counts)])
    return PLAY(state, gradient, few, cohort, **how)


PLAY = scaffold.play


def test_a_control_that_forgets_who_is_absent_does_not_pass(monkeypatch):
    monkeypatch.setattr(scaffold, "play", _of_who_came)
    assert not _one_option().passes()


@pytest.mark.parametrize("loop", [scaffold, proxskip])
def test_sums_in_place_of_means_do_not_pass(monkeypatch, loop):
    monkeypatch.setattr(loop, "divided", _no_division)
    found = [
        _one_option(),
        messages_any.proxskip_iteration(heard=True, down=1, up=1),
    ]
    assert [one.passes() for one in found].count(False) == 1


@pytest.mark.parametrize("part", ["answer", "control_change", "local_step"])
def test_other_clients_do_not_pass(monkeypatch, part):
    right = getattr(messages, part)

    def wrong(*args, step_size, **how):
        return right(*args, step_size=2 * step_size, **how)

    monkeypatch.setattr(messages, part, wrong)
    found = [
        messages_any.scaffold_round(("II, one up",), heard=True, down=2, up=1),
        messages_any.proxskip_iteration(heard=True, down=1, up=1),
    ]
    assert [one.passes() for one in found].count(False) == 1


@pytest.mark.parametrize("seed", range(6))
def test_random_sizes_agree_with_the_reference(seed):
    draw = random.Random(seed)
    n, tau = draw.randint(1, 8), draw.randint(1, 8)
    cohorts = [draw.sample(range(n), draw.randint(1, n)) for _ in range(3)]
    how = {"step_size": Fraction(1, draw.randint(2, 9)), "local_steps": tau}
    chance = Fraction(1, draw.randint(1, 4))
    slopes = [(draw.randint(0, 3), draw.randint(-3, 3)) for _ in range(n)]

    def line(i, x):
        return slopes[i][0] * x - slopes[i][1]

    def listed(i, x):
        return [line(i, x[0])]

    for option in ("I", "II", "II, one up"):
        rule = option.partition(",")[0]
        sent = by_messages(line, n, Fraction(1), cohorts, option=option, **how)
        plain = scaffold.run(listed, n, [Fraction(1)], cohorts, option=rule, **how)
        assert sent.models == [x for (x,) in plain]
    coins = [draw.random() < 1 / 2 for _ in range(6)] + [True]
    settings = {"step_size": how["step_size"], "probability": chance}
    sets = [range(n) if coin else () for coin in coins]
    means = messages.proxskip(line, n, Fraction(1), coins, **settings).models
    plain = proxskip.run(listed, n, [Fraction(1)], sets, **settings)[1:]
    assert means == [x for (x,), coin in zip(plain, coins, strict=True) if coin]

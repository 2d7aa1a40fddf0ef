"""Clients that see messages alone play SCAFFOLD and ProxSkip; less is not enough."""

from fractions import Fraction

import pytest

from flverify.claims import messages
from flverify.reference import proxskip, scaffold

F = Fraction
ETA = F(1, 4)


def slope(i, x):
    return (i + 1) * (x - i)


def slopes(i, point):
    return [slope(i, point[0])]


@pytest.mark.parametrize(("option", "up"), [("I", 2), ("II", 2), ("II, one up", 1)])
def test_scaffold_on_messages_is_the_plain_loop(option, up):
    sets = [(0, 2), (1,), (0, 1, 2), (2,)]
    how = {"step_size": ETA, "local_steps": 3}
    sent = messages.scaffold(slope, 3, F(1), sets, **how, option=option)
    plain = scaffold.run(slopes, 3, [F(1)], sets, **how, option=option.split(",")[0])
    assert sent.models == [x for (x,) in plain]
    assert sent.counts == {(2, up)}


def test_one_vector_up_is_not_enough_for_option_one():
    how = {"step_size": ETA, "local_steps": 3}
    sets = [(0, 2), (1,), (0, 1, 2)]
    sent = messages.scaffold(slope, 3, F(1), sets, **how, option="II, one up")
    other = scaffold.run(slopes, 3, [F(1)], sets, **how, option="I")
    assert sent.models != [x for (x,) in other]


def test_proxskip_on_messages_is_the_plain_loop():
    coins = [False, True, True, False, False, True]
    how = {"step_size": ETA, "probability": F(1, 3)}
    sent = messages.proxskip(slope, 3, F(1), coins, **how)
    sets = [range(3) if coin else () for coin in coins]
    plain = proxskip.run(slopes, 3, [F(1)], sets, **how)[1:]
    assert sent.models == [x for (x,), coin in zip(plain, coins, strict=True) if coin]
    assert sent.counts == {(1, 1)}

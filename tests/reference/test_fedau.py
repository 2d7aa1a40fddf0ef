from fractions import Fraction

import pytest

from flverify.reference import fedau, fedavg

STEP = Fraction(1, 4)
# one local step from x: client 0 changes by x/4, client 1 by x/2 - 3/2


def test_paper_by_hand(pair):
    # {0}: w_0 = 1, half of 1.                       closes 1 at client 0
    # {1}: w_1 = 1, half of 1/4 from 7/2.            closes 2 at client 1
    # {1}: w_1 = 2, half of 2 * 3/16 from 27/8.      closes 1: w_1 = 3/2
    # {0, 1}: w = 1 and 3/2, half of 51/64 + 9/64 from 51/16.  closes 3: w_0 = 2
    # empty.  {0}: w_0 = 2, half of 2 * 87/128 from 87/32.
    models = fedau.run(*pair.start, [{0}, {1}, {1}, {0, 1}, set(), {0}], step_size=STEP)
    expected = [
        4,
        Fraction(7, 2),
        Fraction(27, 8),
        Fraction(51, 16),
        Fraction(87, 32),
        Fraction(87, 32),
        Fraction(261, 128),
    ]
    assert models == [[v] for v in expected]


def test_cutoff_by_hand(pair):
    # client 1 is absent twice: an interval of length 2 closes, w_1 = 2.
    # {1}: half of 2 * 1/32 from 49/16; closes 1, w_1 = 3/2.
    # {1}: half of (3/2)(1/64) from 97/32.
    models = fedau.run(*pair.start, [{0}, {0}, {1}, {1}], step_size=STEP, cutoff=2)
    assert models == [
        [4],
        [Fraction(7, 2)],
        [Fraction(49, 16)],
        [Fraction(97, 32)],
        [Fraction(773, 256)],
    ]


def test_without_cutoff_the_weight_is_still_one(pair):
    # half of 1 * 1/32 from 49/16
    models = fedau.run(*pair.start, [{0}, {0}, {1}], step_size=STEP)
    assert models[-1] == [Fraction(49, 16) - Fraction(1, 64)]


def test_notebook_by_hand(pair):
    # {0}, {0}: the only weight cancels: 4 -> 3 -> 9/4.
    # {0, 1}: w = 1 and 3, (9/16 - 3 * 3/8)/4 = -9/64.  Empty: intervals advance.
    # {0, 1}: w_0 = (3*1 + 2)/4, w_1 = (1*3 + 2)/2; changes 153/256 and -39/128, so
    #      (5/4 * 153/256 - 5/2 * 78/256)/(15/4) = -1/256.
    models = fedau.run(
        *pair.start,
        [{0}, {0}, {0, 1}, set(), {0, 1}],
        step_size=STEP,
        variant="notebook",
    )
    expected = [
        4,
        3,
        Fraction(9, 4),
        Fraction(153, 64),
        Fraction(153, 64),
        Fraction(613, 256),
    ]
    assert models == [[v] for v in expected]


def test_server_step_by_hand(pair):
    # paper: 4 - (1/2)(1/2); notebook: 4 - 1/2
    for variant, value in [("paper", Fraction(15, 4)), ("notebook", Fraction(7, 2))]:
        models = fedau.run(
            *pair.start,
            [{0}],
            step_size=STEP,
            server_step_size=Fraction(1, 2),
            variant=variant,
        )
        assert models == [[4], [value]]


@pytest.mark.parametrize("variant", ["paper", "notebook"])
@pytest.mark.parametrize("cutoff", [None, 1, 4])
def test_full_participation_is_fedavg(plane, variant, cutoff):
    rounds = [plane.everyone] * 5
    settings = {
        "step_size": Fraction(1, 5),
        "local_steps": 3,
        "server_step_size": Fraction(2, 3),
    }
    assert fedau.run(
        *plane.start, rounds, variant=variant, cutoff=cutoff, **settings
    ) == fedavg.run(*plane.start, rounds, **settings)


def test_cutoff_one_is_fedavg_over_all(plane):
    # every interval has length 1, so every weight stays 1
    settings = {"step_size": Fraction(1, 5), "local_steps": 2}
    assert fedau.run(*plane.start, plane.cohorts, cutoff=1, **settings) == fedavg.run(
        *plane.start, plane.cohorts, aggregation="all", **settings
    )


def test_period_two_settles_on_inverse_frequency_weights(plane):
    # client 0 always (w = 1); clients 1 and 2 in odd rounds only (w = 1 at their
    # first participation, then 2)
    rounds = [{0}, {0, 1, 2}] * 3
    settings = {"step_size": Fraction(1, 5), "local_steps": 2}
    models = fedau.run(*plane.start, rounds, **settings)
    for r in (3, 5):
        steps = [
            fedavg.run(plane.gradient, 3, models[r], [{i}], **settings)[1]
            for i in range(3)
        ]
        expected = [
            v - sum(w * (v - s[k]) for w, s in zip((1, 2, 2), steps, strict=True)) / 3
            for k, v in enumerate(models[r])
        ]
        assert models[r + 1] == expected


@pytest.mark.parametrize("variant", ["paper", "notebook"])
def test_integers_stay_exact(whole, variant):
    models = fedau.run(*whole.start, whole.cohorts, step_size=1, variant=variant)
    assert not any(isinstance(model[0], float) for model in models)


def test_wrong_variant(pair):
    with pytest.raises(ValueError, match="variant"):
        fedau.run(*pair.start, [{0}], step_size=STEP, variant="code")

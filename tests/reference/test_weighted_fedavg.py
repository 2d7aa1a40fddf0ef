from fractions import Fraction

import pytest

from flverify.reference import fedavg, weighted_fedavg


def test_by_hand(pair):
    # from 4: (1/4)(9/4) + (3/4)(13/4) = 3, factor 2/2.  From 3: T_1 = 3, so
    # 2 (3/4) 3 = 9/2.  From 9/2: T_0 = 81/32, so 2 (1/4) 81/32.
    models = weighted_fedavg.run(
        *pair.start,
        [{0, 1}, {1}, set(), {0}],
        weights=[Fraction(1, 4), Fraction(3, 4)],
        step_size=Fraction(1, 4),
        local_steps=2,
    )
    assert models == [[4], [3], [Fraction(9, 2)], [Fraction(9, 2)], [Fraction(81, 64)]]


@pytest.mark.parametrize("local_steps", [1, 3])
def test_uniform_weights_are_fedavg(plane, local_steps):
    settings = {"step_size": Fraction(1, 5), "local_steps": local_steps}
    assert weighted_fedavg.run(
        *plane.start, plane.cohorts, weights=[Fraction(1, 3)] * 3, **settings
    ) == fedavg.run(*plane.start, plane.cohorts, **settings)


def test_integers_stay_exact(whole):
    models = weighted_fedavg.run(
        *whole.start, whole.cohorts, weights=[1, 2], step_size=1
    )
    assert not any(isinstance(model[0], float) for model in models)


def test_number_of_weights(pair):
    with pytest.raises(ValueError, match="1 weights for 2 clients"):
        weighted_fedavg.run(*pair.start, [], weights=[1], step_size=1)

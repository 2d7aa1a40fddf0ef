from fractions import Fraction

from flverify.reference import gradient_descent


def test_two_steps_by_hand(pair):
    # sum of gradients 3x - 6: at 4 it is 6, at 5/2 it is 3/2
    models = gradient_descent.run(*pair.start, [set(), {0}], step_size=Fraction(1, 4))
    assert models == [[4], [Fraction(5, 2)], [Fraction(17, 8)]]


def test_minimiser_is_kept(pair):
    args = (pair.gradient, 2, [Fraction(2)])
    assert gradient_descent.run(*args, [{0}] * 3, step_size=Fraction(1, 4)) == [[2]] * 4


def test_start_is_not_aliased(pair):
    models = gradient_descent.run(*pair.start, [], step_size=Fraction(1, 4))
    models[0][0] = None
    assert pair.x0 == [4]

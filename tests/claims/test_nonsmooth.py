"""Listed nonsmooth runs against the plain loop, hand-computed steps and brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import pytest

from flverify._core.errors import InputError, RefusedError
from flverify.claims.nonsmooth import Nonsmooth, family, gradient_bound
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Absolute,
    Capped,
    Client,
    Hinge,
    Line,
    length,
    project,
    two_points,
)

F = Fraction
GRID = [F(n, 4) for n in range(-12, 13)]


@pytest.mark.parametrize("loss", [Absolute(F(1, 2), F(3)), Hinge(F(2)), Hinge(F(-1))])
@pytest.mark.parametrize("tilt", [F(0), F(1, 3), F(1)])
def test_slopes_are_subgradients(loss, tilt):
    tilted = type(loss)(**{**vars(loss), "tilt": tilt})
    for x in (*GRID, *tilted.kinks):
        slope = tilted.slope(x)
        assert abs(slope) <= tilted.steepest
        assert all(tilted.value(y) >= tilted.value(x) + slope * (y - x) for y in GRID)


def test_a_capped_loss_has_no_subgradient_inequality():
    f = Capped(F(0))
    assert f.slope(F(2)) == 0
    assert f.value(F(0)) < f.value(F(2))


def test_two_points_have_mean_zero():
    law = two_points(F(1, 2), F(3, 2))
    assert sum(law.values()) == 1
    assert sum(v * p for v, p in law.items()) == 0
    assert sum(v * v * p for v, p in law.items()) == F(3, 4)  # up times down


def test_projection_is_the_nearest_point():
    assert project((F(3), F(4)), ("ball", F(2))) == (F(6, 5), F(8, 5))
    assert project((F(3), F(-4)), ("box", F(-1), F(2))) == (F(2), F(-1))
    assert project((F(1),), None) == (F(1),)
    with pytest.raises(RefusedError, match="rational"):
        project((F(1), F(1)), ("ball", F(1)))


def test_lengths():
    assert length((F(-3),)) == 3
    assert length((F(5, 13), F(-12, 13))) == 1


def test_a_run_by_hand():
    clients = (Client(Absolute(F(2)), SILENT), Client(Absolute(F(-1)), SILENT))
    law = {frozenset({1}): F(1, 3), frozenset({1, 2}): F(2, 3)}
    one = Nonsmooth(clients, law, ("box", F(-1), F(1)), F(3, 4), 3, "literal")
    # client 1: 0, 3/4, 1 (projected); client 2: 0, -3/4, -1 (projected)
    assert list(one.paths(1)) == [(F(1, 3), [(0,), (1,)]), (F(2, 3), [(0,), (0,)])]
    assert one.weights() == [F(2, 3), F(1, 3)]
    assert one.minimiser() == (F(1),)
    assert one.objective((F(1),)) == F(2, 3) + F(2, 3)


@pytest.mark.parametrize("schedule", ["literal", "separate"])
def test_listed_paths_are_those_of_the_plain_loop(schedule):
    boxes = [one for one in family(schedule, (2,)) if one.region[0] == "box"]
    for one in boxes:
        rounds = 2 if len(list(one.draws())) < 9 else 1
        listed, plain = {}, {}
        for found, paths in ((listed, one.paths), (plain, one.plain_paths)):
            for chance, models in paths(rounds):
                key = tuple(models)
                found[key] = found.get(key, 0) + chance
        assert sum(listed.values()) == 1
        assert listed == plain


def test_the_plain_loop_sees_another_step_size():
    one = next(iter(family("literal", (2,))))
    twin = Nonsmooth(one.clients, one.law, one.region, one.step / 2, 2, "literal")
    assert list(one.paths(1)) != list(twin.plain_paths(1))


def test_the_family_meets_assumption_3_with_its_bound():
    for one in family("separate"):
        bound = gradient_bound(one.clients)
        assert one.bounds(bound)
        for client in one.clients:
            points = [tuple(x for _ in client.direction) for x in GRID]
            for x in points:
                second = sum(
                    p * sum(g * g for g in client.gradient(x, v))
                    for v, p in client.noise.items()
                )
                assert second <= client.second_moment <= bound**2


def test_a_smaller_bound_is_noticed():
    (one,) = islice(family("literal"), 1)
    assert not one.bounds(gradient_bound(one.clients) * F(99, 100))
    biased = Client(Line(F(1)), {F(1): F(1)})
    assert not biased.unbiased


@pytest.mark.parametrize(
    ("loss", "formula", "value"),
    [
        (Absolute(F(0)), "|x|", abs),
        (Absolute(F(1, 2)), "|x - 1/2|", lambda x: abs(x - F(1, 2))),
        (Absolute(F(-1), F(2)), "2 |x + 1|", lambda x: 2 * abs(x + 1)),
        (Hinge(F(2)), "max(0, 1 - 2 x)", lambda x: max(F(0), 1 - 2 * x)),
        (Hinge(F(-1)), "max(0, 1 + x)", lambda x: max(F(0), 1 + x)),
        (Capped(F(3)), "min(|x - 3|, 1)", lambda x: min(abs(x - 3), F(1))),
        (Line(F(-1)), "-x", lambda x: -x),
        (Line(F(3)), "3 x", lambda x: 3 * x),
    ],
)
def test_formulas_are_the_losses(loss, formula, value):
    assert Client(loss, SILENT).formula == formula
    assert [loss.value(x) for x in GRID] == [value(x) for x in GRID]


def test_a_formula_names_the_direction_of_the_score():
    along = Client(Line(F(3)), SILENT, (F(3, 5), F(4, 5)))
    assert along.formula == "3 <(3/5, 4/5), x>"


@pytest.mark.parametrize(
    "law",
    [
        {frozenset({1}): F(1, 2), frozenset({2}): F(1)},  # of sum 3/2
        {frozenset({1}): F(3, 2), frozenset({2}): F(-1, 2)},
        {frozenset(): F(1, 2), frozenset({1}): F(1, 2)},
        {frozenset({1, 3}): F(1)},
        {},
    ],
)
def test_what_is_no_law_of_nonempty_cohorts_is_refused(law):
    clients = (Client(Absolute(F(0)), SILENT),) * 2
    with pytest.raises(InputError, match="the law of an instance must give cohorts"):
        Nonsmooth(clients, law, None, F(1, 2), 2, "literal")

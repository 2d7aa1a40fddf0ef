"""The counterexample search: planted violations, planted lies, and determinism."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sympy

import flverify
from flverify._core.errors import DomainError, InputError, Refusal, RefusedError
from flverify.certify.counterexample import Box, Choice, Real, Whole, search
from flverify.certify.counterexample.parameters import simplest_between

ROOT = Path(flverify.__file__).resolve().parent.parent
UNIT = Real(0, 1, open_low=True)


def listed_simplest(low, high):
    """The same by listing denominators."""
    for bottom in range(1, 10_000):
        tops = range(math.ceil(low * bottom), math.floor(high * bottom) + 1)
        if tops:
            return Fraction(min(tops, key=abs), bottom)
    raise AssertionError


@pytest.mark.parametrize(
    ("low", "high"),
    [("31/100", "34/100"), ("-7/2", "-5/2"), ("-1", "1/9"), ("333/106", "22/7")]
    + [(f"{k * k}/997", f"{k * k + k}/997") for k in range(1, 40, 3)],
)
def test_the_simplest_rational_is_that_of_a_list(low, high):
    ends = Fraction(low), Fraction(high)
    assert simplest_between(*ends) == listed_simplest(*ends)


def test_the_simplest_rational_needs_ordered_ends():
    assert simplest_between(Fraction(5, 8), Fraction(5, 8)) == Fraction(5, 8)
    with pytest.raises(InputError, match="lower end first"):
        simplest_between(Fraction(1), Fraction(0))


# planted inequalities --------------------------------------------------------


def young(c):
    """(a + 2b)^2 <= c (a^2 + b^2) holds exactly if c >= 5; tight at b = 2a."""

    def margin(at):
        a, b = at["a"], at["b"]
        return c * (a * a + b * b) - (a + 2 * b) ** 2

    def again(at):
        a, b = at["a"], at["b"]
        return (c - 5) * (a * a + b * b) + (2 * a - b) * (2 * a - b)

    return margin, again


def test_a_sharp_constant_is_refuted_below_and_not_at_it():
    box = {"a": UNIT, "b": UNIT}
    margin, again = young(5 - Fraction(1, 200))
    found = search(margin, box, recheck=again)
    assert found.margin == margin(found.point) < 0
    assert max(value.denominator for value in found.point.values()) < 200

    margin, again = young(Fraction(5))
    found = search(margin, box, recheck=again)
    assert found.point is None
    assert found.unconfirmed is None
    assert found.margin == found.smallest[0] == 0
    assert found.smallest[1]["b"] == 2 * found.smallest[1]["a"]
    assert f"{found.tried} instances tried; smallest margin 0" in found.summary()
    one = replace(found, tried=1)
    assert one.summary().startswith("1 instance tried; ")


def contraction(factor):
    """|1 - step h| <= 1 - step mu for mu <= h <= L at step = factor/(L + mu)."""

    def margin(at):
        mu, h = at["mu"], at["h"]
        if h < mu:
            return Refusal("margin", "h must be at least mu")
        step = factor / (1 + mu)
        return 1 - step * mu - abs(1 - step * h)

    def again(at):
        step = factor / (1 + at["mu"])
        top, bottom = 1 - step * at["mu"], 1 - step * at["h"]
        return min(top - bottom, top + bottom)

    return margin, again


def test_step_sizes_up_to_two_over_the_sum_contract_and_no_longer_ones():
    box = {"mu": Real("1/1000", 1, log=True), "h": UNIT}
    margin, again = contraction(Fraction(2))
    found = search(margin, box, recheck=again)
    assert found.point is None
    assert found.skipped["margin refuses: h must be at least mu"] > 0
    margin, again = contraction(Fraction(2) + Fraction(1, 50))
    found = search(margin, box, recheck=again)
    assert found.point["h"] == 1  # the stiff end is where it fails
    assert "violated at mu = " in found.summary()


def test_a_needle_inside_the_box_is_found_and_comes_out_short():
    x, y = Fraction(5, 7), Fraction(2, 9)

    def margin(at):
        return (at["x"] - x) ** 2 + 3 * (at["y"] - y) ** 2 - Fraction(1, 3000)

    found = search(margin, {"x": Real(0, 1), "y": Real(0, 1)}, recheck=margin)
    assert margin(found.point) < 0
    assert max(v.denominator for v in found.point.values()) <= 13


def test_a_narrow_valley_is_followed():
    def margin(at):  # a curved valley, lowest at (1, 1)
        x, y = at["x"], at["y"]
        return (1 - x) ** 2 + 100 * (y - x * x) ** 2 - Fraction(1, 100)

    box = {"x": Real(-2, "3/2"), "y": Real(-1, 3)}
    found = search(margin, box, recheck=margin, steps=600)
    assert margin(found.point) < 0


def test_integers_and_words_are_searched():
    def margin(at):
        far = (at["n"] - 37) ** 2 - Fraction(1, 2)
        return far if at["law"] == "uniform" else far + 1000

    box = {"n": Whole(1, 10_000, log=True), "law": Choice(["full", "uniform"])}
    found = search(margin, box, recheck=margin)
    assert found.point == {"n": 37, "law": "uniform"}
    assert isinstance(found.point["n"], int)


def test_the_worst_corner_is_taken_and_simplified():
    def margin(at):
        return Fraction(3) - at["n"] - at["x"]

    found = search(margin, {"n": Whole(1, 9), "x": Real(0, 9)}, recheck=margin)
    assert found.point["x"] == 0
    assert 3 < found.point["n"] <= 5
    assert found.tried < 100  # no descent was needed


# what must not count as a violation ------------------------------------------


def square(at):
    return at["x"] * at["x"]


def test_a_lying_guide_refutes_nothing():
    found = search(square, {"x": Real(1, 2)}, recheck=square, guide=lambda _: -1.0)
    assert found.point is None
    assert found.unconfirmed is None
    assert found.smallest == (Fraction(1), {"x": Fraction(1)})
    assert found.denied > 0


def test_a_guide_leads_to_what_exact_arithmetic_then_decides():
    exact = []

    def margin(at):
        exact.append(at)
        return (at["x"] - Fraction(1, 3)) ** 2 - Fraction(1, 10**6)

    found = search(
        margin,
        {"x": Real(0, 1)},
        recheck=lambda at: (at["x"] - Fraction(1, 3)) ** 2 - Fraction(1, 10**6),
        guide=lambda at: (at["x"] - 1 / 3) ** 2,
        restarts=3,
    )
    assert found.point == {"x": Fraction(1, 3)}
    assert len(exact) == found.tried < 40  # descents asked the guide alone


@pytest.mark.parametrize(
    "guide", [lambda _: math.nan, lambda _: None, lambda at: math.sqrt(-at["x"])]
)
def test_a_guide_without_value_is_reported(guide):
    asked = set()

    def watched(at):
        asked.add(at["x"])
        return guide(at)

    found = search(square, {"x": Real(1, 2)}, guide=watched, restarts=2)
    # however often a point is come by
    assert found.skipped["the guide has no value"] == len(asked) > 0
    assert found.point is None


@pytest.mark.parametrize(
    ("recheck", "says"),
    [
        (None, "there is no recheck"),
        (lambda _: Fraction(1), "denies it"),
        (lambda _: Fraction(0), "denies it"),
        (lambda at: at["x"] - 7, "disagrees"),
        (lambda at: float(at["x"] - 2), "a float decides nothing"),
        (lambda _: math.nan, "not a number"),
        (lambda _: Refusal("engine", "too large"), "engine refuses: too large"),
    ],
)
def test_what_a_recheck_does_not_confirm_is_no_counterexample(recheck, says):
    found = search(lambda at: at["x"] - 2, {"x": Real(0, 1)}, recheck=recheck)
    assert found.point is None
    assert says in found.unconfirmed.fault
    assert found.unconfirmed.margin == found.unconfirmed.point["x"] - 2
    assert says in found.summary()


def test_a_recheck_may_compute_another_quantity_of_the_same_sign():
    box = {"x": Real(0, 1)}
    for allowed in (False, True):
        found = search(
            lambda at: at["x"] - 2,
            box,
            recheck=lambda at: 3 * at["x"] - 6,
            another_quantity=allowed,
        )
        assert (found.point is not None) is allowed


def test_a_violation_that_fails_the_recheck_does_not_end_the_search():
    def again(at):  # blind to the left half
        return at["x"] - 2 if at["x"] > Fraction(1, 2) else Fraction(1)

    found = search(lambda at: at["x"] - 2, {"x": Real(0, 1)}, recheck=again)
    assert found.point["x"] > Fraction(1, 2)
    assert "denies" in found.unconfirmed.fault


def refuses(_):
    raise RefusedError("not this setting")


@pytest.mark.parametrize(
    ("margin", "why"),
    [
        (lambda _: None, "no value"),
        (lambda _: math.nan, "not a number"),
        (lambda _: -1.0, "a float decides nothing"),
        (lambda _: np.float32(-1), "a float decides nothing"),
        (lambda at: 1 / (at["x"] - at["x"]), "a division by zero"),
        (refuses, "not this setting"),
        (lambda _: Refusal("engine", "no"), "engine refuses: no"),
    ],
)
def test_what_has_no_exact_value_is_counted_and_decides_nothing(margin, why):
    found = search(margin, {"x": Real(0, 1)}, recheck=margin, restarts=4)
    assert (found.point, found.margin, found.smallest) == (None, None, None)
    assert (found.tried, found.denied) == (0, 0)
    assert list(found.skipped) == [why]
    assert found.skipped[why] > 2
    assert f"not evaluated: {why}" in found.summary()


def test_a_margin_that_is_no_number_is_an_error():
    with pytest.raises(DomainError, match="must be a number"):
        search(lambda _: True, {"x": Real(0, 1)})


# boxes -----------------------------------------------------------------------


def test_everything_tried_lies_in_the_box_and_is_counted_once():
    box = Box(
        {
            "p": Real(0, 1, open_low=True, open_high=True),
            "L": Real("1/100", 1000, log=True),
            "N": Whole(1, 64, log=True),
            "law": Choice(["full", "rare", "uniform"]),
        }
    )
    words = {"full": 3, "rare": 1, "uniform": 2}
    asked = []

    def margin(at):
        asked.append(tuple(at.values()))
        return at["p"] * at["L"] * words[at["law"]] + at["N"]

    found = search(margin, box, restarts=6, steps=80)
    assert all(box.contains(point) for point, _ in found.trail)
    assert len(set(asked)) == len(asked) == found.tried == len(found.trail)
    assert found.smallest[0] == min(value for _, value in found.trail)
    assert all(0 < p < 1 for p, *_ in asked)
    corners = product(("1/100", "1000"), (1, 64), words)
    tried = {values[1:] for values in asked}
    assert {(Fraction(c[0]), *c[1:]) for c in corners} <= tried


@pytest.mark.parametrize(
    "parameter",
    [
        Whole(3, 9),
        Whole(-5, -2),
        Whole(3, 900, log=True),
        Real("1/3", "1/2"),
        Real("-1/2", "-1/3", open_high=True),
        Real(0, 1, open_low=True),
        Real("1/7", 50, log=True, open_low=True, open_high=True),
        Choice(["b", "a"]),
    ],
    ids=str,
)
def test_a_violation_is_brought_to_a_simple_place_of_the_box(parameter):
    def margin(at):  # negative everywhere, and most at the last end
        return -100 - at["x"] if not isinstance(at["x"], str) else Fraction(-1)

    box = Box({"x": parameter})
    found = search(margin, box, recheck=margin)
    assert box.contains(found.point)
    assert all(box.contains(point) for point, _ in found.trail)


def test_a_margin_may_change_the_point_that_it_is_given():
    def margin(at):
        return at.pop("x") - 2

    found = search(margin, {"x": Real(0, 1)}, recheck=margin)
    assert found.point["x"] - 2 == found.margin
    assert all(value == point["x"] - 2 for point, value in found.trail)


def test_an_open_end_is_left_out():
    for low, high in product((False, True), repeat=2):
        interval = Real("1/3", "1/2", open_low=low, open_high=high)
        assert interval.contains(Fraction(1, 3)) is not low
        assert interval.contains(Fraction(1, 2)) is not high


@pytest.mark.parametrize(
    "parameter",
    [
        Real(-1, "7/3"),
        Real("1/8", 6, log=True),
        Whole(-2, 9),
        Whole(3, 900, log=True),
        Choice(["a", "b", "c"]),
    ],
)
def test_a_place_leads_back_to_its_value(parameter):
    inside = [
        v for end in parameter.ends() for v in parameter.moves(end, Fraction(1, 4))
    ]
    for value in [*parameter.ends(), *inside]:
        assert parameter.contains(value)
        assert parameter.at(parameter.position(value), Fraction(0)) == value
    ends = [parameter.at(Fraction(place), Fraction(0)) for place in (-1, 2)]
    assert ends == [parameter.ends()[0], parameter.ends()[-1]]  # no place is outside


def test_the_first_descent_begins_at_the_best_corner():
    def margin(at):
        return (at["x"] - Fraction(1, 4)) ** 2 - Fraction(1, 1000)

    box = {"x": Real(0, 1)}
    found = search(margin, box, recheck=margin, restarts=0)
    assert found.point == {"x": Fraction(1, 4)}
    still = search(margin, box, recheck=margin, restarts=0, steps=0)
    assert (still.point, still.tried) == (None, 2)


def test_a_margin_that_is_no_rational_decides_nothing():
    for value in (sympy.Symbol("h"), -sympy.sqrt(2)):
        found = search(lambda _, v=value: v, {"x": Real(0, 1)}, restarts=0)
        assert (found.point, found.tried) == (None, 0)
        assert found.skipped == {"not rational": 2}


def test_of_equal_margins_the_first_is_told():
    found = search(lambda _: 1, {"x": Real(0, 1), "n": Whole(1, 3)})
    assert found.smallest == (1, found.trail[0][0]) == (1, {"x": 0, "n": 1})


def test_a_box_knows_what_it_contains():
    box = Box({"x": Real(0, 1, open_high=True), "n": Whole(1, 2), "w": Choice(["a"])})
    good = {"x": Fraction(0), "n": 2, "w": "a"}
    assert box.contains(good)
    for wrong in ({"x": Fraction(1)}, {"x": 0.5}, {"n": 3}, {"n": True}, {"w": "b"}):
        assert not box.contains({**good, **wrong})
    assert not box.contains({"x": Fraction(0)})


def test_too_many_corners_are_chosen_with_every_end_among_them():
    box = Box({f"x{k}": Real(0, 1) for k in range(40)})
    chosen = [*box.corners(100)]
    assert len(chosen) == 82 == len({tuple(c.values()) for c in chosen})
    assert all({c[name] for c in chosen} == {0, 1} for name in box.parameters)
    assert len([*box.corners(10)]) == 10
    words = Box({f"w{k}": Choice(["a", "b", "c"]) for k in range(40)})
    assert [{*corner.values()} for corner in words.corners(2)] == [{"a"}, {"c"}]
    few = Box({f"x{k}": Real(0, 1) for k in range(4)})
    assert len({tuple(c.values()) for c in few.corners(16)}) == 16


@pytest.mark.parametrize("log", [False, True])
def test_positions_and_values_are_inverse_and_rise(log):
    interval = Real("1/7", "700/3", log=log)
    places = [Fraction(k, 12) for k in range(13)]
    values = [interval.at(place, Fraction(0)) for place in places]
    assert values == sorted(values)
    assert [values[0], values[-1]] == [interval.low, interval.high]
    assert [interval.position(value) for value in values] == places


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Real(1, 1), "low < high"),
        (lambda: Real(0, 1, log=True), "0 < low < high"),
        (lambda: Real(0.1, 1), "must be rational"),
        (lambda: Real(True, 2), "must be a number"),
        (lambda: Whole(2, 1), "low < high"),
        (lambda: Whole(1, 2.0), "must be an integer"),
        (lambda: Choice([]), "nonempty list"),
        (lambda: Choice("ab"), "nonempty list"),
        (lambda: Choice([1]), "nonempty list"),
        (lambda: Choice(["a", "a"]), "stand once"),
        (lambda: Box({}), "must have a parameter"),
        (lambda: Box([("x", UNIT)]), "must have a parameter"),
        (lambda: Choice(3), "nonempty list"),
        (lambda: search(square, {"x": 3}), "Real, Whole or Choice"),
        (lambda: search(square, {1: UNIT}), "under a name"),
        (lambda: search(square, None), "must have a parameter"),
        (lambda: search(3, {"x": UNIT}), "margin must be a function"),
        (lambda: search(square, {"x": UNIT}, recheck=3), "recheck must be a function"),
        (lambda: search(square, {"x": UNIT}, guide=3), "guide must be a function"),
        (lambda: search(square, {"x": UNIT}, seed=-1), "seed must be"),
        (lambda: search(square, {"x": UNIT}, seed=2**63), "seed must be"),
        (lambda: search(square, {"x": UNIT}, restarts=1.5), "restarts must be"),
        (lambda: search(square, {"x": UNIT}, corners=0), "corners must be"),
    ],
)
def test_bad_input_is_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()


LONG = 10**5000  # more digits than Python writes


@pytest.mark.parametrize(
    "make",
    [
        lambda: Real(LONG, 1),
        lambda: Whole(LONG, 1),
        lambda: Choice([LONG]),
        lambda: Choice(["a" * 5000] * 2),
        lambda: Box({"x": LONG}),
        lambda: Box({LONG: UNIT}),
        lambda: search(LONG, {"x": UNIT}),
        lambda: simplest_between(Fraction(LONG), Fraction(1)),
    ],
)
def test_what_was_given_is_shown_short(make):
    with pytest.raises(InputError) as caught:
        make()
    assert len(str(caught.value)) < 300


def test_long_numbers_of_a_search_are_told_short():
    def margin(at):
        return (at["x"] - 1) * LONG - 1

    for again in (margin, lambda at: margin(at) / 2, lambda _: LONG):
        found = search(margin, {"x": Real(LONG, 2 * LONG)}, recheck=again)
        assert len(found.summary()) < 300
        found = search(lambda at: margin(at) * -1, {"x": Real(0, 1)}, recheck=again)
        assert len(found.summary()) < 300


def test_a_box_keeps_its_own_parameters():
    given = {"x": UNIT}
    box = Box(given)
    given["y"] = UNIT
    assert box.contains({"x": Fraction(1, 2)})
    assert not box.contains(3)


# determinism -----------------------------------------------------------------

SCRIPT = """
from fractions import Fraction
from flverify.certify.counterexample import Choice, Real, Whole, search

def margin(at):
    return (at["x"] * at["n"] - 5) ** 2 + (at["w"] == "b") + Fraction(1, 9)

box = {"x": Real("1/9", 9, log=True), "n": Whole(1, 50), "w": Choice(["b", "a"])}
found = search(margin, box, seed=3, restarts=5, steps=60)
print(found.tried, found.smallest, found.trail)
"""


def output(hash_seed):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def test_the_same_seed_gives_the_same_bits_in_every_process():
    assert output("0") == output("1") != ""


def test_another_seed_looks_elsewhere():
    trails = [
        search(square, {"x": Real(-3, 2)}, seed=s, restarts=3).trail for s in (0, 0, 1)
    ]
    assert trails[0] == trails[1] != trails[2]

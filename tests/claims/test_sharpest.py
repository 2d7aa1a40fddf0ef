"""The best value of a free constant: brackets, open values, planted claims."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError, FormatError, InputError, RefusedError
from flverify._core.sources import Source
from flverify.certify.brackets import Side, bracket
from flverify.certify.rates import Certified
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.registry import shipped_claims
from flverify.claims.sharp import BEST, BEYOND, Sharp
from flverify.claims.sharpest import sharpest, sharpest_step_size
from flverify.claims.verdict import Verdict
from flverify.participation import Full

HERE = Source("flverify", "example")
FINE = Fraction(1, 1000)


def sides(holds, fails):
    """What a bracket asks, counting."""

    def ask(value):
        ask.count += 1
        side = Side.HOLDS if holds(value) else Side.FAILS if fails(value) else Side.OPEN
        return side, value

    ask.count = 0
    return ask


def split(holds):
    return sides(holds, lambda value: not holds(value))


@pytest.mark.parametrize("weaker", ["smaller", "larger"])
def test_a_boundary_that_is_attained_is_met_exactly(weaker):
    sign = 1 if weaker == "smaller" else -1
    for sharp in (Fraction(2), Fraction(3, 7), Fraction(19, 6)):
        ask = split(lambda v, s=sharp: sign * v <= sign * s)
        found = bracket(ask, 0, 4, FINE, weaker=weaker)
        assert found.best.value == sharp
        assert 0 < sign * (found.beyond.value - sharp) <= FINE
        assert found.closed
        assert ask.count == len(found.tried) < 40  # no value is asked about twice


def test_a_boundary_that_is_not_attained_is_the_one_beyond():
    found = bracket(split(lambda v: v < Fraction(2, 39)), 0, 1, FINE, weaker="smaller")
    assert found.beyond.value == Fraction(2, 39)
    assert 0 < Fraction(2, 39) - found.best.value <= FINE


def test_an_irrational_boundary_lies_between():
    found = bracket(split(lambda v: v * v >= 2), 1, 4, FINE, weaker="larger")
    low, high = found.beyond.value, found.best.value
    assert low**2 < 2 < high**2
    assert 0 < high - low <= FINE


def test_open_values_are_kept_apart_and_both_of_their_ends_found():
    third, half = Fraction(1, 3), Fraction(1, 2)
    ask = sides(lambda v: v <= third, lambda v: v >= half)
    found = bracket(ask, 0, 1, FINE, weaker="smaller")
    assert (found.best.value, found.beyond.value) == (third, half)
    assert not found.closed
    between = [tried.value for tried in found.between]
    assert third < min(between) <= third + FINE
    assert half - FINE <= max(between) < half


def test_a_value_that_holds_beyond_one_that_fails_is_reported():
    ask = split(lambda v: v < 1 or v >= 3)
    found = bracket(ask, 0, 4, FINE, weaker="smaller")
    assert found.best.value < 1 <= found.beyond.value
    assert {Fraction(3), Fraction(4)} <= {tried.value for tried in found.strays}


@pytest.mark.parametrize("weaker", ["smaller", "larger"])
def test_an_island_that_no_probe_meets_is_found_from_its_start(weaker):
    island = split(lambda v: abs(v - Fraction(16, 100)) < Fraction(1, 100))
    start = Fraction(4, 25)
    assert bracket(island, 0, 1, FINE, weaker=weaker).best is None
    found = bracket(island, 0, 1, FINE, weaker=weaker, start=start)
    sign = 1 if weaker == "smaller" else -1
    edge = start + sign * Fraction(1, 100)
    assert sign * start <= sign * found.best.value < sign * edge
    assert sign * edge <= sign * found.beyond.value
    assert found.closed
    # what is weaker fails all the same, and is told
    assert found.dents
    assert all(sign * dent.value < sign * start for dent in found.dents)
    assert found.strays == ()


def test_a_start_that_fails_or_lies_outside_changes_no_bracket():
    ask = split(lambda v: v < Fraction(1, 3))
    plain = bracket(ask, 0, 1, FINE, weaker="smaller")
    outside = bracket(ask, 0, 1, FINE, weaker="smaller", start=Fraction(2))
    assert outside.tried == plain.tried
    failing = bracket(ask, 0, 1, FINE, weaker="smaller", start=Fraction(3, 4))
    assert Fraction(3, 4) in {tried.value for tried in failing.tried}
    assert (failing.dents, failing.strays) == ((), ())
    assert failing.best.value < Fraction(1, 3) <= failing.beyond.value


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (1, 4), (Fraction(7, 2), 5), (0, Fraction(97, 100))]
)
def test_values_all_over_the_range_are_asked_about_and_none_outside(low, high):
    found = bracket(split(lambda _: False), low, high, FINE, weaker="smaller")
    values = [tried.value for tried in found.tried]
    assert (values[0], values[-1]) == (low, high)
    widest = max(b - a for a, b in pairwise(values))
    assert 0 < widest < Fraction(2, 5) * (high - low)


@pytest.mark.parametrize("weaker", ["smaller", "larger"])
@pytest.mark.parametrize("start", [None, 1, 6, 7])
def test_a_hole_among_weaker_values_is_met_by_a_second_look(weaker, start):
    """The first values are 0, 2, 4, 6, 8 and the start; 5 is in the middle of two."""
    side = Fraction if weaker == "smaller" else (lambda v: 8 - Fraction(v))
    first = None if start is None else side(start)

    def searched(holds):
        ask = split(lambda value: holds(side(value)))
        return bracket(ask, 0, 8, FINE, weaker=weaker, start=first)

    whole = searched(lambda v: v <= 7)
    assert (whole.best.value, whole.dents, whole.strays) == (side(7), (), ())
    found = searched(lambda v: v <= 7 and abs(v - 5) > Fraction(2, 5))
    if start in (6, 7):  # what is beyond the print does not depend on it
        assert found.best.value == side(7)
        assert side(5) in [dent.value for dent in found.dents]
        return
    # the print is weaker, so that the search ends where the hole begins
    assert abs(found.best.value - side(Fraction(23, 5))) <= FINE
    assert found.closed
    assert side(7) in [stray.value for stray in found.strays]


@pytest.mark.parametrize("weaker", ["smaller", "larger"])
def test_an_island_between_the_best_and_a_refuted_print_is_met(weaker):
    side = Fraction if weaker == "smaller" else (lambda v: 8 - Fraction(v))
    ask = split(lambda v: side(v) <= 3 or abs(side(v) - 5) < Fraction(2, 5))
    found = bracket(ask, 0, 8, FINE, weaker=weaker, start=side(8))
    assert (found.best.value, found.dents) == (side(3), ())
    assert [stray.value for stray in found.strays] == [side(5)]


def test_a_second_look_takes_no_more_than_six_values():
    for start in (None, Fraction(1, 3)):
        ask = split(lambda v: v <= 3)
        found = bracket(ask, 0, 4, 1, weaker="smaller", start=start)
        first = {0, 1, 2, 3, 4, start} - {None}
        assert len(found.tried) - len(first) == (3 if start is None else 6)


def test_a_range_where_all_or_nothing_holds():
    found = bracket(split(lambda _: True), 0, 1, FINE, weaker="larger")
    assert (found.best.value, found.beyond, found.strays) == (0, None, ())
    found = bracket(split(lambda _: False), 0, 1, FINE, weaker="larger")
    assert (found.best, found.beyond.value) == (None, 1)
    assert not found.closed
    found = bracket(sides(lambda v: v < 0.3, lambda _: False), 0, 1, weaker="smaller")
    assert found.beyond is None
    assert 0.299 < found.best.value < 0.3
    assert found.between


def test_integers_alone_are_tried_where_the_constant_is_whole():
    found = bracket(split(lambda v: v <= 17), 1, 40, weaker="smaller", whole=True)
    assert (found.best.value, found.beyond.value) == (17, 18)
    assert all(tried.value.denominator == 1 for tried in found.tried)
    for last in range(1, 13):
        ask = split(lambda value, last=last: value <= last)
        found = bracket(ask, 1, 13, weaker="smaller", whole=True)
        assert (found.best.value, found.beyond.value) == (last, last + 1)


def test_the_finest_precision_is_still_met():
    fine = Fraction(4, 10**30)
    found = bracket(split(lambda v: v * v <= 2), 0, 4, fine, weaker="smaller")
    assert found.best.value**2 < 2 < found.beyond.value**2
    assert found.closed
    far = bracket(split(lambda v: v <= 17), 0, 10**30, weaker="smaller", whole=True)
    assert (far.best.value, far.beyond.value) == (17, 18)


@pytest.mark.parametrize(
    ("low", "high", "start"),
    [("1/2", 4, None), (0, "7/2", None), (0, 4, Fraction(5, 2))],
)
def test_only_integers_are_asked_about_or_the_search_is_refused(low, high, start):
    with pytest.raises(DomainError, match="begin and end at integers"):
        bracket(
            split(lambda _: True), low, high, weaker="larger", whole=True, start=start
        )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((1, 1), "low < high"),
        ((2, 1), "low < high"),
        ((10**5000, 1), "low < high"),
        ((0.0, 1), "rational ends"),
        ((0, 1, 0), "precision must be"),
        ((0, 1, "-1/2"), "precision must be"),
        ((0, 1, 0.001), "precision must be"),
        (
            (0, 4, "1e-400"),
            r"at least 1/10\^30 of the range .* from 0 to 4; got 1/1000",
        ),
        ((0, "1e400"), r"at least 1/10\^30 of the range .*; got 1/1000; give a larger"),
    ],
)
def test_bad_ranges_are_refused(arguments, says):
    with pytest.raises(DomainError, match=says):
        bracket(split(lambda _: True), *arguments, weaker="larger")
    with pytest.raises(DomainError, match="weaker must be"):
        bracket(split(lambda _: True), 0, 1, weaker="less")


# step sizes ---------------------------------------------------------------------------


def test_the_largest_certified_step_of_gradient_descent():
    """(1 - step h)^2 <= 1 - step mu for mu <= h <= L holds up to (2L - mu)/L^2."""
    mu, big = Fraction(1, 10), Fraction(1)

    def excess(step, h):
        return (1 - step * h) ** 2 - (1 - step * mu)

    def refuted(step):  # a grid of curvatures
        grid = (mu + (big - mu) * Fraction(k, 50) for k in range(51))
        return next((h for h in grid if excess(step, h) > 0), None)

    def certified(step):  # the ends: the excess is convex in h
        return excess(step, mu) <= 0 and excess(step, big) <= 0

    found = sharpest_step_size(certified, refuted, "1/10", 5, FINE)
    assert found.best.value == Fraction(19, 10)
    assert found.beyond.shown == 1
    assert found.closed


def test_what_is_certified_and_refuted_is_an_error():
    with pytest.raises(InputError, match="both certified and refuted"):
        sharpest_step_size(lambda step: step < 1, lambda step: step, 0, 2, FINE)


@pytest.mark.parametrize("passed", [Certified("not_certified", "none"), "no", None, 1])
def test_what_is_no_yes_or_no_certifies_no_step_size(passed):
    with pytest.raises(InputError, match=r"certified must return True or False; got"):
        sharpest_step_size(lambda _: passed, lambda _: None, 0, 2, FINE)


@pytest.mark.parametrize("found", [False, True, np.False_])
def test_a_yes_or_no_is_no_counterexample(found):
    with pytest.raises(InputError, match="refuted must return a counterexample or N"):
        sharpest_step_size(lambda step: step < 1, lambda _: found, 0, 2, FINE)


def test_between_a_certificate_and_a_counterexample_nothing_is_claimed():
    found = sharpest_step_size(
        lambda step: step <= 1, lambda step: step if step >= 3 else None, 0, 4, FINE
    )
    assert (found.best.value, found.beyond.value) == (1, 3)
    assert found.between
    assert not found.closed


# claims -------------------------------------------------------------------------------


def square(constants=None, **more):
    """(a + b)^2 <= c (a^2 + b^2): c = 2 is sharp, as a = b = 1 shows."""

    @claim(
        "demo.square",
        source=HERE,
        statement="",
        proposition="The square is at most c times the squares.",
        constants=constants or {"c": "3"},
        twin={"c": "1"},
        **more,
    )
    def check(k):
        c = sympy.Rational(k.c)
        a, gap = sympy.symbols("a gap", positive=True)
        # b = a + gap, without loss: both sides are symmetric
        left, right = (2 * a + gap) ** 2, c * (a**2 + (a + gap) ** 2)
        return judge.nonnegative([("right - left", right - left)], "all a, b > 0")

    return check


C = Free("c", 1, 4, weaker="larger")
COARSE = Fraction(1, 20)  # the judge's few points still find counterexamples there


def test_where_the_judge_finds_no_counterexample_nothing_is_refuted():
    found = sharpest(square(free=C), C, FINE)
    assert found.bracket.best.value == 2
    assert found.bracket.beyond.value < min(t.value for t in found.bracket.between) < 2
    assert not found.bracket.closed
    assert "none refuted and none passing" in found.remarks()[0]


def test_a_refuted_constant_becomes_the_sharp_one_with_its_proof():
    found = sharpest(square(free=C), C, COARSE)
    assert found.bracket.best.value == 2
    assert found.finding.verdict == Verdict.PROVED
    assert found.counterexample.verdict == Verdict.REFUTED
    assert 2 - COARSE <= found.bracket.beyond.value < 2
    assert found.printed == 3
    assert found.remarks() == []
    assert found.statement() == f"{square().proposition} With c = 2 in place of 3."
    # the counterexample, put into the inequality by hand
    point = {k: Fraction(v) for k, v in found.counterexample.evidence["point"].items()}
    a, b = point["a"], point["a"] + point["gap"]
    assert (a + b) ** 2 > found.bracket.beyond.value * (a * a + b * b)


def judged_as_sharp(best):
    """What is told of (a + b)^2 <= c (a^2 + b^2) - d at values said to be best."""

    def check(k):
        a, gap = sympy.symbols("a gap", positive=True)
        right = sympy.Rational(k.c) * (a**2 + (a + gap) ** 2)
        right -= sympy.Rational(k.more.get("d", 0)) * int(k.more["e"])
        difference = right - (2 * a + gap) ** 2
        return judge.nonnegative([("right - left", difference)], "all a, b > 0")

    free = [C, Free("more", 0, 4, weaker="smaller", key="d")]
    printed = {"c": "3", "more": {"d": "1", "e": "1"}}
    return Sharp("x", {**best, "more[d]": None}).judged(check, printed, free)


def test_what_is_no_best_value_is_never_sharp():
    refuted = judged_as_sharp({"c": "3/2"})
    assert refuted.verdict == Verdict.REFUTED
    assert BEST not in refuted.evidence
    slack = judged_as_sharp({"c": "5/2"})
    assert slack.verdict == Verdict.INCONCLUSIVE
    assert slack.reason == "c = 5/2 is not the best value: 99/40 passes too"


def test_what_is_best_is_told_with_what_is_just_beyond():
    found = judged_as_sharp({"c": "2"})
    assert found.verdict == Verdict.PROVED
    assert found.evidence[BEST] == {"c": "2", "more[d]": "not needed"}
    assert [*found.evidence[BEYOND]] == ["c"]
    assert found.evidence[BEYOND]["c"].startswith("99/50: ")
    assert "; c = 99/50 would be " in found.scope


@pytest.mark.parametrize(
    ("value", "text"),
    [("-3/2", r"-\tfrac{3}{2}"), ("-2", "-2"), ("0.25", r"\tfrac{1}{4}")],
)
def test_best_values_are_printed_with_their_signs(value, text):
    assert Sharp("x<c>y", {"c": value}).text() == f"x{text}y"


@pytest.mark.parametrize("best", [{"c": 2}, {"c": 2, "more[d]": None}])
def test_a_sharp_statement_names_no_value_that_there_is_not(best):
    free = [C, Free("more", 0, 4, weaker="smaller", key="d")]
    with pytest.raises(InputError, match=r"got <more\[d\]>, which has none"):
        Sharp("x<c>y<more[d]>", best).require_of("demo", free)
    Sharp("x<c>y<more[d]>", {**best, "more[d]": 1}).require_of("demo", free)
    Sharp("x<c>y", best).require_of("demo", free)


def test_a_printed_value_that_is_too_strong_is_said_to_be():
    one = square({"c": "3/2"}, free=C)
    assert one.check().verdict == Verdict.REFUTED
    found = sharpest(one, one.free[0], COARSE)
    assert found.bracket.best.value == 2
    assert found.remarks() == ["the printed value 3/2 is refuted"]


def instances(case, **more):
    """A claim judged on one instance; `case` gives sides and recheck from c."""

    @claim(
        "demo.case",
        source=HERE,
        statement="",
        proposition="c is fine.",
        constants={"c": Fraction(1), "caps": {"L": "1/2", "N": "3"}, "mode": "plain"},
        twin={"c": 0},
        **more,
    )
    def check(k):
        return judge.instances([judge.Case({"c": k.c}, *case(k))], "<=", "one number")

    return check


def test_floats_and_unconfirmed_violations_refute_nothing():
    free = Free("c", 0, 4, weaker="smaller")
    floats = instances(lambda k: (float(k.c), 2.0, lambda: (k.c, Fraction(2))))
    found = sharpest(floats, free, FINE)
    assert 0 <= 2 - found.bracket.best.value <= FINE
    assert 0 < found.bracket.beyond.value - 2 <= FINE

    lying = instances(
        lambda k: (float(k.c) + 1, 2.0, lambda: (k.c + (k.c <= 1), Fraction(2)))
    )
    found = sharpest(lying, free, FINE)
    assert found.bracket.beyond is None  # the rechecks deny every violation
    assert found.counterexample is None
    assert found.bracket.best.value <= 1
    assert "none refuted" in found.remarks()[-1]
    alone = instances(lambda k: (k.c, Fraction(2)))
    assert sharpest(alone, free, FINE).bracket.beyond is None


def test_a_proof_against_a_weaker_counterexample_is_reported():
    @claim(
        "demo.contradiction",
        source=HERE,
        statement="",
        proposition="p",
        constants={"c": 1},
        twin={"c": 2},
    )
    def check(k):
        return judge.identity([("c", int(2 <= k.c < 3), 0)], "a number")

    found = sharpest(check, Free("c", 0, 4, weaker="smaller"), FINE)
    assert found.bracket.best.value < 2 <= found.bracket.beyond.value
    assert any("one of the two is wrong" in note for note in found.remarks())


def test_what_an_engine_refuses_is_open():
    def case(k):
        if k.c > 1:
            raise RefusedError("too large for the engine")
        return k.c, Fraction(5)

    found = sharpest(instances(case), Free("c", 0, 4, weaker="smaller"), FINE)
    assert found.bracket.best.value == 1
    assert found.bracket.beyond is None
    assert found.bracket.between[0].shown.reason == "too large for the engine"


def test_constants_are_written_as_in_print_and_others_can_be_given():
    seen = []

    def case(k):
        seen.append((k.caps["L"], k.caps["N"], k.mode))
        return (
            Fraction(k.caps["L"]),
            Fraction(3, 4),
            lambda: (Fraction(k.caps["L"]),) * 2,
        )

    free = Free("caps", 0, 1, weaker="smaller", key="L", given={"mode": "mended"})
    sharpest(instances(case, free=free), free, "1/4")
    assert {(type(cap), rest, mode) for cap, rest, mode in seen} == {
        (str, "3", "mended")
    }
    assert {"0", "1", "1/2"} <= {cap for cap, *_ in seen}
    whole = Free("c", 1, 3, weaker="smaller", whole=True)
    assert whole.changed({"c": 2}, Fraction(3)) == {"c": 3}
    assert type(whole.changed({"c": 2}, Fraction(3))["c"]) is int


def test_one_reading_can_be_judged():
    @claim(
        "demo.readings",
        source=HERE,
        statement="",
        proposition="p",
        constants={"c": 1},
        no_control="by reading",
        twin={"c": 9},
    )
    def check(k):
        def below(limit):
            case = judge.Case({"c": k.c}, k.c, limit, lambda: (k.c, limit))
            return judge.instances([case], "<=", "one number")

        return judge.readings({"one": below(Fraction(1)), "two": below(Fraction(2))})

    free = Free("c", 0, 4, weaker="smaller", reading="two")
    found = sharpest(check, free, FINE)
    assert found.bracket.best.value == 2
    assert found.statement().endswith("With c = 2 in place of 1, read as 'two'.")
    found = sharpest(check, Free("c", 0, 4, weaker="smaller"), FINE)
    assert (found.bracket.best.value, found.bracket.between[-1].value) == (1, 2)
    with pytest.raises(InputError, match="reading that its claim has"):
        sharpest(check, Free("c", 0, 4, weaker="smaller", reading="three"))


def by_value(answer, **more):
    """A claim that answers by its constant alone."""

    @claim(
        "demo.answer",
        source=HERE,
        statement="",
        proposition="p",
        constants={"c": Fraction(2)},
        twin={"c": Fraction(3)},
        **more,
    )
    def check(k):
        return answer(k.c)

    return check


DOWN = Free("c", 0, 4, weaker="smaller")


def holding(holds):
    return judge.identity([("c", int(not holds), 0)], "a number")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda c: holding(1 / c > 0), "with c = 0 must run .* ZeroDivisionError"),
        (lambda c: holding(Full(int(4 - c))), "with c = 4 must run .* DomainError"),
        (lambda c: None if c == 3 else holding(True), "with c = 3 must return a find"),
    ],
)
def test_a_check_that_fails_somewhere_says_at_which_value(answer, says):
    with pytest.raises(FormatError, match=rf"the check of demo\.answer {says}"):
        sharpest(by_value(answer), DOWN, FINE)


def test_a_check_that_says_nothing_of_any_reading_leaves_a_value_open():
    def answer(c):
        if c > 3:
            return judge.inconclusive("too many to list")
        return judge.readings({"one": holding(c <= 1), "two": holding(True)})

    free = Free("c", 0, 4, weaker="smaller", reading="one")
    found = sharpest(by_value(answer), free, FINE)
    assert found.bracket.best.value == 1
    assert found.bracket.tried[-1].shown.reason == "too many to list"


def test_instances_that_miss_a_violation_are_no_constant_of_two_sides():
    def answer(c):
        left = Fraction(1 <= c < Fraction(3, 2))
        case = judge.Case({"c": c}, left, Fraction(0), lambda: (left, Fraction(0)))
        return judge.instances([case], "<=", "a number")

    notes = sharpest(by_value(answer), DOWN, FINE).remarks()
    assert notes[0] == (
        "4 is shown on the instances searched only; over the whole claim the sharp "
        "value may be weaker"
    )
    assert notes[-1] == (
        "not monotone: refuted at 1 although the stronger 2 passes; its instances miss "
        "that"
    )
    proved = by_value(lambda c: holding(not 1 <= c < Fraction(3, 2)))
    assert "binds from both sides" in sharpest(proved, DOWN, FINE).remarks()[-1]


@pytest.mark.parametrize(
    ("free", "holds", "stronger"),
    [
        (Free("c", 0, "3/2", weaker="smaller"), lambda c: c <= 1, True),
        (Free("c", 3, 5, weaker="larger"), lambda c: c >= 4, True),
        (Free("c", 3, 5, weaker="smaller"), lambda c: c <= 4, False),
        (Free("c", 0, 1, weaker="larger"), lambda c: 2 * c >= 1, False),
        (Free("c", 0, 1, weaker="smaller"), lambda _: True, None),  # ends before print
    ],
)
def test_a_print_outside_the_range_is_told(free, holds, stronger):
    found = sharpest(by_value(lambda c: holding(holds(c))), free, "1/8")
    told = [note for note in found.remarks() if note.startswith("the printed")]
    beyond = found.bracket.beyond
    said = f"the printed value 2 is stronger than {beyond and beyond.value}, refuted"
    ends = f"the range is {free.low} to {free.high}"
    untried = f"the printed value 2 was not tried: {ends}"
    assert told == [said if stronger else untried]
    if stronger is None:
        assert found.remarks() == ["passes to the end of the range, 1", untried]


def test_a_print_refuted_beside_other_constants_is_told_with_these():
    @claim(
        "demo.beside",
        source=Source("flverify", "example"),
        statement="",
        proposition="c k is at most 4.",
        constants={"c": 2, "k": 2, "caps": {"L": "1", "N": "1"}},
        twin={"c": 3},
    )
    def check(k):
        size = Fraction(k.c) * k.k
        case = judge.Case({"k": k.k}, size, 4, lambda: (size, 4))
        return judge.instances([case], "<=", "it")

    assert check.check().passes()
    for high in (4, "3/2"):  # the print inside of the range, and outside
        free = Free("c", 0, high, weaker="smaller", given={"k": 4})
        [note] = sharpest(check, free, "1/8").remarks()[1:]
        assert note.endswith(" refuted with k = 4, not as in print")
    same = Free("c", 0, 4, weaker="smaller", given={"k": 2, "caps": {"L": "1"}})
    assert not [n for n in sharpest(check, same, "1/8").remarks() if "print" in n]


def test_where_nothing_passes_there_is_no_statement():
    found = sharpest(by_value(lambda _: holding(False)), DOWN, "1/2")
    assert (found.finding, found.statement()) == (None, "")
    assert found.remarks()[0] == "no value that passes was found in the range searched"
    assert found.counterexample.verdict == Verdict.REFUTED


WHOLE = Free("c", 1, 9, weaker="larger", whole=True)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Free("c", 2, 1, weaker="larger"), "low < high"),
        (lambda: Free("c", 10**5000, 1, weaker="larger"), "low < high; got 1000"),
        (lambda: Free("c", 0.5, 1, weaker="larger"), "rationals low < high"),
        (lambda: Free("c", "1/2", 1, weaker="larger", whole=True), "integers"),
        (lambda: Free("c", 1, 2, weaker="bigger"), "weaker must be"),
        (lambda: square(free=Free("d", 1, 2, weaker="larger")), "constant of it"),
        (lambda: square(free=Free("c", 1, 2, "larger", key="x")), "one number"),
        (lambda: square({"c": 0.5}, free=C), "must be rational"),
        (lambda: square({"c": "eta L"}, free=C), "c must be a fraction"),
        # int() would judge 2 and call it 5/2
        (lambda: square({"c": Fraction(5, 2)}, free=WHOLE), "c must be an integer"),
        (lambda: square({"c": "5/2"}, free=WHOLE), "c must be an integer"),
        (lambda: WHOLE.changed({"c": 2}, Fraction(5, 2)), "c must be an integer"),
        (
            lambda: instances(None, free=Free("caps", 1, 2, "larger")),
            "one number",
        ),
        (
            lambda: instances(None, free=Free("caps", 1, 2, "larger", key="mu")),
            "none of that name",
        ),
        (
            lambda: instances(None, free=Free("c", 1, 2, "larger", given={"x": 1})),
            "constant of it",
        ),
    ],
)
def test_what_cannot_be_free_is_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()


# the paper's claims -------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped():
    return shipped_claims()


@pytest.mark.slow
def test_corollary_2_holds_from_three_fifths_on(shipped):
    """One of two uniform clients at b = 1, -1 with h = 1 goes around eta/(2 - eta).

    The bound is c eta sigma_G^2 with sigma_G = 1, and eta is at most 1/3.
    """
    one = shipped["focus.cor2"]
    found = sharpest(one, one.free[0], FINE)
    assert found.bracket.best.value == 1 / (2 - Fraction(1, 3))
    assert found.finding.verdict == Verdict.PROVED
    assert found.bracket.closed
    assert found.remarks() == []


@pytest.mark.slow
def test_no_step_size_serves_all_participation_probabilities(shipped):
    """E(1 - j a)^2 < 1 for geometric j of mean 1/p if a < 2p/(2 - p), so never all."""
    one = shipped["focus.sec5.1.delayed"]
    assert one.check().readings[one.free[0].reading].verdict == Verdict.REFUTED
    found = sharpest(one, one.free[0], Fraction(1, 100))
    assert found.bracket.best is None
    for tried in found.bracket.tried:
        point = tried.shown.evidence["counterexample"]
        p = Fraction(point["p"])
        assert 2 * p / (2 - p) <= tried.value == Fraction(point["eta L"])
    assert "no value that passes was found in the range searched" in found.remarks()
    assert "the printed value 1/2 is refuted" in found.remarks()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim_id", "name", "printed"),
    [
        ("focus.thm1.nc.step113", "gradient", Fraction(1, 2)),
        pytest.param(
            *("focus.thm1.nc.step115", "function", Fraction(4)),
            marks=pytest.mark.slow,  # the longest of this file
        ),
    ],
)
def test_a_printed_value_that_is_proved_is_never_called_refuted(
    shipped, claim_id, name, printed
):
    one = shipped[claim_id]
    assert one.check().verdict == Verdict.PROVED
    [free] = [free for free in one.free if free.name == name]
    found = sharpest(one, free, Fraction(1, 100))
    assert found.bracket.best.value == printed == found.printed
    assert found.finding.verdict == Verdict.PROVED
    assert found.bracket.closed
    assert found.remarks() == []
    # such a constant stands on both sides of its claim: with the print beside it, not
    # all weaker values pass
    alone = sharpest(one, replace(free, given={}), Fraction(1, 100))
    [note] = alone.remarks()
    assert note.startswith("not monotone: refuted at ")
    assert note.endswith(
        "the constant binds from both sides, or one of the two is wrong"
    )


@pytest.mark.slow
def test_what_is_proved_at_the_printed_value_alone_is_found(shipped):
    one = shipped["flverify.sag.rate"]
    [free] = [free for free in one.free if free.name == "step"]
    found = sharpest(one, free, Fraction(1, 4))
    assert found.finding.verdict == Verdict.PROVED
    assert found.bracket.best.value >= found.printed == Fraction(1, 4)


@pytest.mark.slow
def test_only_one_local_step_leads_the_mean_to_the_weighted_optimum(shipped):
    one = shipped["agnostic.fixedpoint"]
    found = sharpest(one, one.free[0])
    assert (found.bracket.best.value, found.bracket.beyond.value) == (1, 2)
    assert found.printed == 4
    assert found.finding.verdict == Verdict.PROVED


@pytest.mark.one_in(2)
@pytest.mark.parametrize("claim_id", ["agnostic.lemma3", "agnostic.cor1"])
def test_two_lines_apart_attain_the_sharp_distance_in_a_window(shipped, claim_id):
    """Two clients go H steps of length eta G away from each other."""
    one = shipped[claim_id]
    found = sharpest(one, one.free[0], Fraction(1, 4))
    assert found.bracket.best.value == 2
    assert found.finding.verdict == Verdict.CERTIFIED
    assert found.bracket.closed


@pytest.mark.slow
def test_theorem_1_refuted_as_printed_passes_up_to_a_larger_contraction(shipped):
    """One client of curvature 1, tau = 2, eta = 4/51, contracts by (1 - eta)^2.

    From equal models 1 - c eta is no bound for c above 2 - eta = 98/51.
    """
    one = shipped["focus.thm1.sc"]
    assert one.check().verdict == Verdict.REFUTED
    found = sharpest(one, one.free[0], Fraction(1, 10))
    assert found.finding.verdict == Verdict.SUPPORTED
    assert found.bracket.closed
    assert found.printed < found.bracket.best.value <= Fraction(98, 51)


def test_no_cap_of_25_is_freed_by_leaving_the_others_out(shipped):
    """With one cap alone the only client hardly moves in many local steps.

    Its row stays where it was, the server goes on along that gradient, and the mean of
    w^2 over R = 12/eta rounds is above the bound 4/(eta R), however small eta is.
    """
    one = shipped["focus.thm1.nc"]
    [cap] = [free for free in one.free if free.key]
    tried = cap.changed(one.constants, Fraction(1))["caps"]
    assert tried == {**one.constants["caps"], "q/(L sqrt(2 N))": "1"}
    for eta in (Fraction(1, 23), Fraction(1, 1000)):  # inside q/(16 L sqrt(2 N))
        rounds = int(12 / eta)
        kept = (1 - float(eta)) ** int(14 / eta)  # of the way to the server
        w, row, total = 1.0, 1.0, 0.0
        for _ in range(rounds):
            total += w**2
            row += kept * (w - row)
            w -= float(eta) * row
        assert total / rounds > 4 / (eta * rounds)


@pytest.mark.slow
def test_a_cap_of_25_is_not_needed_beside_the_others(shipped):
    one = shipped["focus.thm1.nc"]
    [cap] = [free for free in one.free if free.key]
    found = cap.judged(one.check(**cap.changed(one.constants, Fraction(1))))
    assert found.verdict == Verdict.PROVED


@pytest.mark.slow
def test_every_free_constant_in_proofs_is_searched_around_its_print(shipped):
    free = [(one, part) for one in shipped.values() for part in one.free]
    assert len(free) >= 7
    for one, part in free:
        now = SimpleNamespace(**{**one.constants, **part.given})
        value = part.value(vars(now))
        assert part.low <= value <= part.high, (one.id, part.name)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("function", "verdict"), [("129/10", Verdict.PROVED), ("13", Verdict.REFUTED)]
)
def test_what_fails_between_one_client_and_two_alone_is_proved(
    shipped, function, verdict
):
    """14 (8/9)^(2/3) = 12.943 is sharp, by one client at eta L = 1/9."""
    found = shipped["focus.thm1.sc.stepDF"].check(function=function)
    assert found.readings["q_i = E[I_i/|S|]"].verdict == verdict

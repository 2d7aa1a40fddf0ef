"""Views: what they accept, what they refuse, and how they travel in a URL."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import DomainError, InputError, RefusedError
from flverify.claims.verdict import Verdict
from flverify.explore import _html
from flverify.explore.axis import (
    at_value,
    axis_value,
    axis_values,
    map_refusal,
    moved,
    require_map,
)
from flverify.explore.view import ALGORITHMS, LAWS, OVER, View
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort

positive = st.builds(
    lambda a, b: str(Fraction(a, b)),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
)
chances = st.builds(
    lambda a, b: str(Fraction(min(a, b), max(a, b))),
    st.integers(1, 10**4),
    st.integers(1, 10**4),
)
views = st.builds(
    View,
    algorithm=st.sampled_from(ALGORITHMS),
    n_clients=st.integers(1, 100),
    law=st.sampled_from(LAWS),
    probability=chances,
    cohort=st.integers(1, 100),
    p_min=chances,
    p_max=chances,
    strong_convexity=positive,
    smoothness=positive,
    local_steps=st.integers(1, 8),
    step_size=positive,
    over=st.sampled_from(OVER),
)


@settings(max_examples=60, deadline=None)
@given(views)
def test_a_view_survives_its_query(view):
    assert View.from_query(view.to_query()) == view
    assert View.from_query(f"?{view.to_query()}") == view


@settings(max_examples=60, deadline=None)
@given(views)
def test_a_view_is_refused_or_can_be_built(view):
    refused = view.refusal()
    if refused is None:
        assert view.participation().n_clients == view.n_clients
        assert view.algorithm_object().step_size == Fraction(view.step_size)
        assert view.participation().inclusion().tolist() == view.chances()
    else:
        assert refused.count(";") >= 1
        assert refused.endswith(".")
        for build in (view.participation, view.algorithm_object):
            with pytest.raises(InputError, match=r"; .*\."):
                build()


def test_text_stays_exact():
    view = View(step_size="1/3", strong_convexity="0.1", smoothness="2e1")
    assert View.from_query(view.to_query()).step_size == "1/3"
    assert view.number("strong_convexity") == Fraction(1, 10)
    assert view.number("smoothness") == 20
    assert View(step_size=" 1/3\n").step_size == "1/3"
    assert View.from_query("n_clients=+5+").n_clients == 5


def test_what_a_query_does_not_say_has_its_default():
    assert View.from_query("") == View() == View.from_query("?")
    assert View.from_query("n_clients=3") == View(n_clients=3)
    assert View.from_query(f"step_size={quote('1/7', safe='')}").step_size == "1/7"


@pytest.mark.parametrize(
    "query",
    [
        "colour=red",
        "n_clients=3&n_clients=4",
        "n_clients",
        "n_clients=",
        "n_clients=4.0",
        "n_clients=-1",
        "n_clients=0",
        "n_clients=101",
        "n_clients=1_0",
        "n_clients=٣",
        "n_clients=" + "9" * 400,
        "n_clients=%ff",
        "local_steps=9",
        "algorithm=fedau",
        "algorithm=__import__('os')",
        "law=markov",
        "over=eta",
        "probability=0",
        "probability=1.5",
        "p_min=-1/2",
        "step_size=0",
        "step_size=1/0",
        "step_size=nan",
        "step_size=inf",
        "step_size=1e-9",
        "step_size=1e9",
        "step_size=1%2B1",
        "step_size=" + "1" * 60,
        "smoothness=2**3",
        "&&=",
        "&".join(f"a{k}=1" for k in range(100)),
    ],
)
def test_a_bad_query_gets_one_sentence(query):
    with pytest.raises(InputError) as caught:
        View.from_query(query)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert len(message) < 300


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_clients", True),
        ("n_clients", 2.0),
        ("cohort", "4"),
        ("step_size", 0.1),
        ("step_size", Fraction(1, 2)),
        ("probability", None),
        ("law", 3),
    ],
)
def test_fields_have_one_type(name, value):
    with pytest.raises(DomainError):
        View(**{name: value})


@pytest.mark.parametrize(
    ("given_fields", "word"),
    [
        ({"strong_convexity": "2"}, "strong convexity"),
        ({"law": "uniform", "cohort": 17}, "cohort"),
        ({"law": "bernoulli_spread", "p_min": "4/5"}, "smallest probability"),
        ({"algorithm": "gradient_descent"}, "one local step"),
        ({"algorithm": "proxskip", "local_steps": 1}, "'everybody' (full) or"),
    ],
)
def test_fields_that_do_not_go_together(given_fields, word):
    refused = View(**given_fields).refusal()
    assert refused is not None
    assert word in refused


def test_parameters_of_other_laws_play_no_role():
    assert View(cohort=90, p_min="1").refusal() is None
    assert View(law="full", probability="1/3").participation() == Full(16)


def test_laws_are_built_as_they_are_named():
    assert View(law="bernoulli").participation() == Bernoulli(["1/2"] * 16)
    assert View(law="uniform").participation() == UniformCohort(16, 4)
    sure = View(law="all_or_nothing").participation()
    assert sure == AllOrNothing(16, "1/2")
    spread = View(law="bernoulli_spread", n_clients=5).participation()
    assert spread == Bernoulli(["1/4", "1/4", "3/4", "3/4", "3/4"])
    single = View(law="bernoulli_spread", n_clients=1).participation()
    assert single == Bernoulli(["1/4"])
    inexact = View(law="bernoulli_spread").participation(floats=True)
    assert not inexact.exact


def test_proxskip_takes_the_law_for_its_coin():
    view = View("proxskip", law="all_or_nothing", local_steps=1)
    assert view.algorithm_object().probability == Fraction(1, 2)
    assert replace(view, law="full").algorithm_object().probability == 1


@settings(max_examples=80, deadline=None)
@given(views)
def test_the_axis_holds_the_view_and_only_views(view):
    if map_refusal(view) is not None:
        with pytest.raises(RefusedError):
            require_map(view)
        return
    values = axis_values(view)
    assert list(values) == sorted(set(values))
    assert axis_value(view) in values
    for value in values:
        there = at_value(view, value)
        assert there.refusal() is None
        assert axis_value(there) == value
    assert at_value(view, axis_value(view)).chances() == view.chances()


@pytest.mark.parametrize("smooth", ["1e-6", "1.23456789012345678901", "999983/999979"])
def test_the_axis_of_condition_numbers_at_odd_smoothness(smooth):
    view = View(smoothness=smooth, strong_convexity="1e-6", over="kappa")
    for value in axis_values(view):
        there = at_value(view, value)
        assert there.refusal() is None
        assert abs(float(axis_value(there) / value) - 1) < 1e-13


@settings(max_examples=120, deadline=None)
@given(
    views,
    st.floats(-1e9, 1e9, allow_nan=False),
    st.floats(-1e9, 1e9, allow_nan=False),
)
def test_a_click_gives_a_view_that_is_not_refused(view, value, step_size):
    if map_refusal(view) is not None:
        return
    there = moved(view, value, step_size)
    assert there.refusal() is None
    kept = {"step_size", "local_steps", "n_clients", "law", "probability"}
    kept |= {"cohort", "p_min", "strong_convexity"}
    for one in fields(View):
        if one.name not in kept:
            assert getattr(there, one.name) == getattr(view, one.name)


def test_a_click_lands_where_it_was_aimed():
    there = moved(View(over="p"), 0.31415, 0.0271828)
    assert (there.probability, there.step_size) == ("157/500", "0.0272")
    there = moved(View(over="kappa", smoothness="3"), 20.0, 1.0)
    assert abs(float(axis_value(there)) - 20) < 0.2
    there = moved(View(over="n", law="uniform"), 1.2, 1.0)
    assert there.n_clients == 4
    there = moved(View(over="p", law="full"), 0.5, 1.0)
    assert (there.law, there.probability) == ("bernoulli", "1/2")
    there = moved(View(over="p", law="bernoulli_spread"), 0.99, 1.0)
    assert there.p_min == "3/4"


@pytest.mark.parametrize("point", [(float("nan"), 1.0), (1.0, float("inf"))])
def test_a_click_nowhere_is_refused(point):
    with pytest.raises(DomainError):
        moved(View(), *point)


def test_an_axis_of_whole_numbers_takes_no_fraction():
    with pytest.raises(DomainError):
        at_value(View(over="tau"), Fraction(1, 2))


def test_the_page_says_what_every_verdict_means():
    for verdict in Verdict:
        assert f"<b>{str(verdict).lower()}</b>:" in _html.TEMPLATE

"""The explorer's tables against plain loops, closed forms and the moments engine."""

from __future__ import annotations

import csv as csv_files
import io
import math
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from inspect import signature
from itertools import product

import numpy as np
import pytest

from flverify import moments
from flverify._core.errors import InputError, RefusedError
from flverify.certify.quadratics import QuadraticRates, search
from flverify.certify.region import RowFound
from flverify.certify.stability import stability_boundary
from flverify.claims import ledger
from flverify.claims.registry import proofs_folder
from flverify.explore import error_curves, slices
from flverify.explore import rounds as rounds_module
from flverify.explore.at_the_point import rounds_to
from flverify.explore.corners import corner_batch, law_of, scaled, unit_rates
from flverify.explore.instance import curvatures, instance_rate, problem
from flverify.explore.rounds import rounds_of
from flverify.explore.view import View
from flverify.problems import Quadratics
from flverify.reference import (
    fedavg,
    fedvarp,
    focus,
    gradient_descent,
    mifa,
    proxskip,
    scaffold,
)

LOOPS = {
    "focus": focus,
    "fedavg": fedavg,
    "scaffold": scaffold,
    "mifa": mifa,
    "fedvarp": fedvarp,
    "gradient_descent": gradient_descent,
    "proxskip": proxskip,
}
ONE = {"local_steps": 1}
SETTINGS = [
    View("focus", 5, "bernoulli", step_size="1/12"),
    View("focus", 4, "uniform", cohort=2, step_size="1/12", local_steps=3),
    View("focus", 4, "bernoulli_spread", step_size="1/12"),
    View("focus", 3, "full", step_size="1/5", **ONE),
    View("focus", 4, "all_or_nothing", step_size="1/12"),
    View("fedavg", 5, "bernoulli", step_size="1/3"),
    View("fedavg", 5, "bernoulli_spread", step_size="1/3", local_steps=3),
    View("fedavg", 4, "uniform", cohort=1, step_size="1/2"),
    View("scaffold", 4, "uniform", cohort=2, step_size="1/4"),
    View("scaffold", 5, "bernoulli_spread", step_size="1/4"),
    View("mifa", 4, "uniform", cohort=2, step_size="1/4"),
    View("fedvarp", 5, "bernoulli_spread", step_size="1/4"),
    View("proxskip", 4, "all_or_nothing", step_size="1/2", **ONE),
    View("proxskip", 3, "full", step_size="1/2", **ONE),
    View("gradient_descent", 4, "bernoulli", step_size="1/5", **ONE),
]
MAPPED = [
    View("focus", 6, "bernoulli", step_size="1/12", strong_convexity="1/4"),
    View("focus", 5, "uniform", cohort=2, smoothness="3", local_steps=1),
    View("fedavg", 4, "bernoulli", local_steps=2),
    View("scaffold", 4, "uniform", cohort=2, local_steps=1),
    View("mifa", 4, "all_or_nothing", probability="1/3", local_steps=2),
    View("fedvarp", 4, "bernoulli", local_steps=2),
    View("proxskip", 3, "all_or_nothing", probability="1/3", local_steps=1),
]


def centres(view):
    """Minimisers of the clients, with x* moved to 0."""
    h = curvatures(view)
    plain = np.where(np.arange(view.n_clients) % 2 == 1, -1.0, 1.0)
    return plain - (h @ plain) / h.sum()


def name(view):
    return f"{view.algorithm}-{view.law}-{view.local_steps}"


def value(view, quantity):
    found = {row.name: row.value for row in slices.point(view)}
    return found[quantity]


def moments_on(view, h, b):
    """Rates and curves of one scalar instance by the moments engine."""
    given = Quadratics(
        [[[float(v)]] for v in h], [[float(v * w)] for v, w in zip(h, b, strict=True)]
    )
    algorithm = view.algorithm_object().retuned(float(view.number("step_size")))
    return moments(given, algorithm, view.participation(floats=True))


@pytest.mark.parametrize("view", SETTINGS, ids=name)
def test_the_exact_rate_is_the_largest_over_all_corners(view):
    # every corner is listed client by client, and rated by the moments engine in
    # rationals; what equal clients differ in is unseen, so they are made to differ
    ends = view.number("strong_convexity"), view.number("smoothness")
    found = []
    for h in product(ends, repeat=view.n_clients):
        if view.law != "bernoulli_spread" and list(h) != sorted(h):
            continue  # the other laws tell no clients apart
        near = [v * (1 + Fraction(k, 10**7)) for k, v in enumerate(h)]
        given = Quadratics([[[v]] for v in near], [[0]] * len(h))
        engine = moments(given, view.algorithm_object(), view.participation())
        found.append(float(engine.mean_square_rate))
    assert value(view, "exact_rate") == pytest.approx(max(found), rel=1e-5)


@pytest.mark.parametrize("view", SETTINGS, ids=name)
def test_curve_rate_and_bias_are_those_of_the_moments_engine(view):
    h = curvatures(view)
    ours = problem(view)
    b = (ours.linear.ravel() / h).tolist()
    engine = moments_on(view, h.tolist(), b)
    table = slices.errors(view)
    reference = engine.mean_square_error([1.0], len(table.rows) - 1)
    assert table.column("exact") == pytest.approx(
        np.maximum(reference, error_curves.SMALLEST).tolist(), rel=1e-9, abs=1e-13
    )
    assert value(view, "instance_rate") == pytest.approx(
        engine.mean_square_rate, rel=1e-6
    )
    assert value(view, "bias") == pytest.approx(abs(engine.bias[0]), abs=1e-11)


TWO = {"smoothness": "2", "step_size": "1/2"}
THREE = {"local_steps": 3, "strong_convexity": "1", "smoothness": "2"}
SPECIAL = [  # where a step ends in a minimiser, or all curvatures are alike
    View("focus", 2, probability="9/10", strong_convexity="1/5", **TWO),
    View("scaffold", 4, "all_or_nothing", step_size="1", **THREE),
    View("proxskip", 2, "all_or_nothing", strong_convexity="2", **TWO, **ONE),
]


@pytest.mark.parametrize("view", SPECIAL, ids=name)
def test_what_no_start_moves_is_no_rate_of_the_curves(view):
    """The exact engine finds in rationals what starts move; of groups it is a limit."""
    ends = view.number("smoothness"), view.number("strong_convexity")
    h = [ends[i % 2] for i in range(view.n_clients)]
    shift = sum((-1) ** i * v for i, v in enumerate(h)) / sum(h)
    linear = [[v * ((-1) ** i - shift)] for i, v in enumerate(h)]
    given = Quadratics([[[v]] for v in h], linear)
    exact = moments(given, view.algorithm_object(), view.participation())
    assert exact.exact
    ratio, scale = scaled(view)
    beside = instance_rate(law_of(view), ratio * (1 - 1e-7), scale * (1 + 1e-7))
    found = value(view, "instance_rate")
    assert found == pytest.approx(float(exact.mean_square_rate), rel=1e-6, abs=1e-9)
    assert found < 0.99 * beside
    error = float(exact.stationary_mean_square_error)
    assert value(view, "stationary_error") == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize("view", SETTINGS, ids=name)
def test_the_instance_is_what_its_words_say(view):
    h, b = curvatures(view), centres(view)
    mu, smooth = (float(view.number(n)) for n in ("strong_convexity", "smoothness"))
    most = (view.n_clients + 1) // 2
    assert sorted(h.tolist()) == [mu] * (view.n_clients - most) + [smooth] * most
    assert abs(h @ b) < 1e-12  # so that x* = 0
    assert {round(v - b[0], 12) for v in b} <= {0.0, -2.0}
    assert slices.describe(view).startswith(f"{most} client")


@pytest.mark.parametrize("view", SETTINGS, ids=name)
def test_sampled_runs_are_plain_loops_on_the_same_cohorts(view):
    rounds = 12
    masks = view.participation(floats=True).sample(seed=3, runs=4, rounds=rounds)
    ours = rounds_of(view).sampled(masks)
    h, b = curvatures(view).tolist(), centres(view).tolist()

    def gradient(client, x):
        return [h[client] * (x[0] - b[client])]

    loop = LOOPS[view.algorithm]
    settings = {"step_size": float(view.number("step_size"))}
    if view.algorithm not in ("gradient_descent", "proxskip"):
        settings["local_steps"] = view.local_steps
    if view.algorithm == "proxskip":
        settings["probability"] = float(view.chances()[0])
    known = signature(loop.start).parameters
    begin = {key: value for key, value in settings.items() if key in known}
    for run, mask in enumerate(masks):
        state = loop.start(gradient, view.n_clients, [1.0], **begin)
        for r in range(rounds):
            assert ours[run, r] == pytest.approx(state["model"][0] ** 2, abs=1e-12)
            cohort = set(np.flatnonzero(mask[r]).tolist())
            state = loop.play(state, gradient, view.n_clients, cohort, **settings)
        assert ours[run, rounds] == pytest.approx(state["model"][0] ** 2, abs=1e-12)


@pytest.mark.parametrize("view", SETTINGS, ids=name)
def test_the_exact_curve_lies_in_the_sampled_means(view):
    law = view.participation(floats=True)
    runs = rounds_of(view).sampled(law.sample(seed=8, runs=3000, rounds=6))
    exact = rounds_of(view).curve(6)
    deviation = runs.std(axis=0) / math.sqrt(len(runs))
    assert (np.abs(runs.mean(axis=0) - exact) <= 5 * deviation + 1e-12).all()


def test_tables_are_the_same_each_time():
    view = SETTINGS[0]
    first = slices.errors(view)
    error_curves._drawn.cache_clear()
    assert str(slices.errors(view)) == str(first)
    assert first.rows[0].exact == first.rows[0].mean == 1.0
    assert all(row.lower <= row.upper for row in first)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_gradient_descent_in_closed_form(n):
    view = View(
        "gradient_descent",
        n,
        "full",
        strong_convexity="1/5",
        smoothness="2",
        step_size="1/10",
        over="n",
        **ONE,
    )
    expected = max((1 - 0.1 * n * h) ** 2 for h in (0.2, 2.0))
    assert value(view, "exact_rate") == pytest.approx(expected, rel=1e-12)
    total = curvatures(view).sum()
    exact = slices.errors(view).column("exact")[:20]
    closed = [(1 - 0.1 * total) ** (2 * r) for r in range(len(exact))]
    assert exact == pytest.approx(closed, rel=1e-9)
    for row in slices.boundary(view):
        assert row.boundary == pytest.approx(2 / (row.value * 2), rel=1e-4)


def test_one_local_step_at_full_participation_has_the_boundary_of_descent():
    view = View("focus", 4, "full", smoothness="3", local_steps=1, over="n")
    for row in slices.boundary(view):
        assert row.boundary == pytest.approx(2 / (3 * row.value), rel=1e-4)
        assert row.worst == f"{int(row.value)} of {int(row.value)} clients at L"


def test_fedavg_is_stable_below_two_over_the_smoothness():
    view = View("fedavg", 4, "uniform", cohort=2, smoothness="5", over="kappa")
    for row in slices.boundary(view):
        assert row.boundary == pytest.approx(2 / 5, rel=1e-4)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("over", ["tau", "p", "n", "kappa"])
@pytest.mark.parametrize("view", MAPPED, ids=name)
def test_corners_contract_below_the_boundary_and_not_at_it(view, over):
    view = replace(view, over=over)
    if slices.map_refusal(view) is not None:
        with pytest.raises(RefusedError):
            slices.boundary(view)
        return
    for place in slices.boundary(view).rows[::2]:
        there = slices.at_value(view, Fraction(place.text))
        # freshly read, every corner, at many step sizes below
        rates = QuadraticRates.of(there.algorithm_object(), there.participation())
        ratio, _ = scaled(there)
        edge = place.boundary * float(there.number("smoothness"))
        below = np.linspace(0.02, 0.998, 40) * edge
        found = rates.unit().rates(corner_batch(rates, ratio, below))
        assert found.max() < 1 + 1e-4  # eigenvalues meet where FOCUS stands still
        just_above = 1.0005 * edge
        at = rates.unit().rates(corner_batch(rates, ratio, np.array([just_above])))
        if "others" in place.worst:  # curvatures between
            limits = search.Range(ratio * just_above, just_above)
            between = search.inside(rates.classes.sizes, limits)
            at = rates.unit().rates(between)
        assert at.max() > 1 - 1e-6


@pytest.mark.parametrize(
    ("view", "between", "most"),
    [
        (View("focus", 4, "bernoulli_spread", strong_convexity="1/3"), 0.66, 0.94),
        (View("focus", 16, "bernoulli_spread", local_steps=4), 0.775, 0.87),
    ],
    ids=["4", "16"],
)
def test_curvatures_between_can_end_the_line_before_the_corners(view, between, most):
    (row,) = (r for r in slices.boundary(view) if r.text == "1/4")
    assert row.boundary < most
    corners = corner_batch(unit_rates(law_of(view)), scaled(view)[0], np.array([most]))
    assert unit_rates(law_of(view)).rates(corners).max() < 1
    half = view.n_clients // 2
    told = f"0 of {half} and {half} of {half} clients at L, others at "
    assert row.worst.startswith(told)
    h = [between] * half + [1.0] * half  # the rarer half first
    above = moments_on(replace(view, step_size=f"{most}"), h, [0.0] * view.n_clients)
    assert above.mean_square_rate > 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("probability", ["1/10", "2/5", "4/5", "1"])
def test_the_boundary_is_the_one_of_the_certifier(probability):
    view = View("focus", 6, probability=probability)
    (row,) = (r for r in slices.boundary(view) if r.text == probability)
    law, algorithm = view.participation(), view.algorithm_object()
    found = stability_boundary(algorithm, law, "1/10", 1)
    assert found is not None
    # curvatures inside (mu, L) can only lower it
    assert found.step_size <= row.boundary * (1 + 1e-4)
    if "," not in str(found.instance):
        assert row.boundary == pytest.approx(found.step_size, rel=1e-4)


def test_an_island_of_instability_is_not_stepped_over():
    # stable again above: at p = 2/5 the rate exceeds 1 between 1/2 and 3/4 only
    view = View(probability="2/5")
    (row,) = (r for r in slices.boundary(view) if r.text == "2/5")
    assert row.boundary == pytest.approx(0.5, rel=1e-3)
    above = value(replace(view, step_size="9/10"), "exact_rate")
    assert above < 1


def test_a_worst_corner_that_the_grid_does_not_look_at_is_found():
    view = View(law="uniform", cohort=1, local_steps=3)
    (row,) = (r for r in slices.boundary(view) if r.text == "1/16")
    assert row.worst == "6 of 16 clients at L"  # the grid looks at 0, 1, 8, 15 and 16
    found = stability_boundary(view.algorithm_object(), view.participation(), "1/10", 1)
    assert found is not None
    assert str(found.instance) == "6 x 1, 10 x 1/10"
    assert row.boundary == pytest.approx(found.step_size, rel=1e-4)


def test_step_and_smoothness_only_scale_the_map():
    one = slices.boundary(View())
    other = slices.boundary(View(smoothness="4", strong_convexity="2/5"))
    assert one.column("boundary") == pytest.approx(
        [4 * v for v in other.column("boundary")]
    )
    assert slices.boundary(View(step_size="1/7")) == one


@pytest.mark.parametrize("view", [SETTINGS[2], SETTINGS[9], SETTINGS[0]], ids=name)
def test_the_short_reading_of_a_round_is_the_full_one(view):
    short = unit_rates(law_of(view))
    full = QuadraticRates.of(view.algorithm_object(), view.participation()).unit()
    batch = corner_batch(full, 0.1, np.array([0.03, 0.3, 0.9]))
    assert short.rates(batch) == pytest.approx(full.rates(batch), rel=1e-10)


def test_the_printed_theorem_by_hand():
    # N = 4, full, tau = 1, mu = 1/10, L = 1: caps 1/360 and (1/4)^(3/2)/16 = 1/128
    view = View("focus", 4, "full", step_size="1/400", **ONE)
    assert value(view, "printed_cap") == pytest.approx(1 / 360)
    assert value(view, "printed_rate") == pytest.approx(1 - 0.1 * 4 / 800)
    rounds = value(view, "printed_rounds")
    assert (1 - 0.0005) ** rounds <= 1e-6 < (1 - 0.0005) ** (rounds - 1)
    bound = slices.errors(view).column("printed")
    assert bound[:3] == pytest.approx([1, 0.9995, 0.9995**2])
    above = replace(view, step_size="1/300")
    assert math.isnan(value(above, "printed_rate"))
    assert all(math.isnan(v) for v in slices.errors(above).column("printed"))
    texts = {row.name: row.text for row in slices.point(above)}
    assert texts["printed_rate"] == texts["printed_rounds"] == "above the cap"


def test_a_table_of_updates_has_certificates():
    view = View("mifa", 3, "uniform", cohort=1, step_size="1/10")
    rows = {row.name: row for row in slices.certified_point(view)}
    certified = rows["certified_rate"]
    assert certified.verdict == "CERTIFIED"
    assert float(rows["floor"].text) <= float(certified.text)
    assert slices.certified_row(view, Fraction(1)).certified > 0


def test_theorem_2_has_no_bound_on_clients_of_different_curvature():
    bound = slices.errors(View("fedavg", step_size="1/10")).column("printed")
    assert all(math.isnan(v) for v in bound)


def test_algorithms_without_a_theorem_say_so():
    rows = {row.name: row for row in slices.point(View("scaffold"))}
    assert math.isnan(rows["printed_rate"].value)
    assert rows["printed_rate"].verdict == "no theorem"


def test_verdicts_on_print_are_the_ledgers():
    known = ledger.read(proofs_folder() / "ledger.toml")
    for algorithm, claim in (("focus", "focus.thm1.sc"), ("fedavg", "focus.thm2")):
        rows = {row.name: row for row in slices.point(View(algorithm))}
        for quantity in ("printed_rate", "printed_rounds", "printed_cap"):
            assert rows[quantity].verdict == known[claim]["verdict"]
            assert claim in rows[quantity].scope
        assert rows["exact_rate"].verdict == "SUPPORTED"


def test_every_row_has_a_formula_and_a_scope():
    for view in SETTINGS:
        for row in slices.point(view):
            assert row.label
            assert row.scope
            assert row.formula.count("{") == row.formula.count("}")


@pytest.mark.parametrize(
    ("rate", "rounds"), [(0.5, 20), (0.999, 13809), (1.0, math.inf), (2.0, math.inf)]
)
def test_rounds_to_a_millionth(rate, rounds):
    assert rounds_to(rate) == rounds
    if rounds < math.inf:
        assert rate**rounds <= 1e-6 < rate ** (rounds - 1)


def test_an_unstable_point_is_shown_and_ends_early():
    view = View("gradient_descent", 4, "full", step_size="2", **ONE)
    rows = {row.name: row for row in slices.point(view)}
    assert rows["exact_rate"].value == pytest.approx(49)
    assert rows["exact_rounds"].text == "never"
    table = slices.errors(view)
    assert 1 < len(table.rows) < 60
    assert table.rows[-1].exact <= 1e12


def test_a_bias_that_does_not_settle_is_infinite():
    view = View("fedavg", 4, "full", step_size="4", **ONE)
    assert value(view, "bias") == math.inf


@pytest.mark.parametrize("view", SETTINGS, ids=name)
def test_the_stationary_error_is_that_of_the_moments_engine(view):
    h = curvatures(view)
    engine = moments_on(view, h.tolist(), (problem(view).linear.ravel() / h).tolist())
    assert value(view, "stationary_error") == pytest.approx(
        float(engine.stationary_mean_square_error), rel=1e-8, abs=1e-13
    )


def test_rounds_are_never_where_the_error_stays_above_the_accuracy():
    view = View("fedavg", 8, step_size="1/50")
    end = slices.errors(view).rows[-1].exact
    assert value(view, "stationary_error") == pytest.approx(end, rel=0.05)
    rows = {row.name: row for row in (*slices.point(view), *certified(view))}
    assert (rows["exact_rounds"].text, rows["exact_rounds"].value) == (
        "never",
        math.inf,
    )
    assert rows["printed_rounds"].text == rows["certified_rounds"].text == "none"
    assert rows["certified_rounds"].verdict == "none follow"
    assert "tends to 0.000240456" in rows["exact_rounds"].scope
    lines = slices.csv(view, slices.certified_point(view)).splitlines()
    found = [line for line in lines if "_rounds" in line]
    assert [line.split(",")[3] for line in found] == ["inf", "nan", "nan"]


def certified(view):
    return slices.certified_point(view).rows


@pytest.mark.parametrize(
    "view",
    [
        View("fedavg", 4, "full", step_size="1/50", **ONE),  # is gradient descent
        View("fedavg", 1, step_size="1/50"),  # nobody else pulls
        View("fedavg", 8, step_size="1/100000"),  # stays within 1e-6
        View("focus", 8),
        View("scaffold", 8),
    ],
    ids=name,
)
def test_rounds_are_counted_where_the_error_gets_there(view):
    rows = {row.name: row for row in slices.point(view)}
    assert rows["stationary_error"].value < 1e-6
    assert rows["exact_rounds"].value == rounds_to(rows["exact_rate"].value)


def test_variance_alone_keeps_the_error_up():
    # equal probabilities and one local step: no bias, and still no rest
    view = View("fedavg", 6, "uniform", cohort=2, step_size="1/10", **ONE)
    rows = {row.name: row for row in slices.point(view)}
    assert rows["bias"].value < 1e-9
    assert rows["stationary_error"].value > 1e-4
    assert rows["exact_rounds"].text == "never"


def test_the_bias_of_a_slow_method_is_not_its_rounding():
    view = View("proxskip", 8, "all_or_nothing", step_size="1/100", **ONE)
    assert value(view, "bias") == value(view, "stationary_error") == 0


@pytest.mark.parametrize(
    ("algorithm", "n_clients", "step_size", "strong_convexity"),
    [
        # everybody or nobody moves, at x* by 0: it came out as -1e-17 and 2e-18
        ("fedavg", 3, "1", "1/3"),
        ("fedavg", 2, "3/2", "1/10"),
        # the way that was left was told as a bias, of 1.4e-12
        ("scaffold", 3, "1/2", "1/2"),
    ],
)
def test_nothing_is_made_of_what_cancels(
    algorithm, n_clients, step_size, strong_convexity
):
    given = {"step_size": step_size, "strong_convexity": strong_convexity, **ONE}
    view = View(algorithm, n_clients, "all_or_nothing", "1/1000", **given)
    assert value(view, "bias") == value(view, "stationary_error") == 0


TINY = {"step_size": "1/1000000"}
RARE = "1/1000000"
FLAT = {"smoothness": RARE, "strong_convexity": RARE}
SLOW = [  # floats hold little of what a round changes in the mean
    View("proxskip", 16, "all_or_nothing", RARE, step_size="1/2", **ONE),
    View("proxskip", 5, "all_or_nothing", **TINY, **ONE),
    View("fedavg", 3, "all_or_nothing", RARE, **TINY),
    View("fedavg", 2, "bernoulli_spread", p_min=RARE, **TINY),
    View("focus", 5, "bernoulli", RARE, step_size="1/100000"),
    View("scaffold", 3, "uniform", cohort=1, strong_convexity="1/100000", **TINY),
    View("gradient_descent", 2, "full", **TINY, strong_convexity=RARE, **ONE),
    # less than floats hold of the model is moved in a round
    View("scaffold", 3, "all_or_nothing", "1/1000", **TINY, **FLAT, **ONE),
    # in floats eta L is not quite 1, and what clients store is not kept for ever
    View(
        "focus",
        5,
        "bernoulli_spread",
        p_min="1/1000",
        p_max="9/10",
        strong_convexity=RARE,
        smoothness="1/1000",
        step_size="1000",
    ),
]


@pytest.mark.parametrize("view", SLOW, ids=name)
def test_the_bias_of_slow_means_is_that_of_rationals(view):
    ends = view.number("smoothness"), view.number("strong_convexity")
    h = [ends[i % 2] for i in range(view.n_clients)]
    centre = sum(v * (-1) ** i for i, v in enumerate(h)) / sum(h)
    linear = [[v * ((-1) ** i - centre)] for i, v in enumerate(h)]
    exact = Quadratics([[[v]] for v in h], linear)
    engine = moments(exact, view.algorithm_object(), view.participation())
    bias = abs(engine.mean_fixed_point[0])
    assert value(view, "bias") == pytest.approx(float(bias), rel=1e-9, abs=1e-12)
    assert (bias > 0) == (view.algorithm == "fedavg" or view.step_size == "1000")


def test_a_bias_that_floats_do_not_tell_is_no_number(monkeypatch):
    untold = np.full((99, 1), np.nan)
    monkeypatch.setattr(
        rounds_module, "fixed_state", lambda begun, _: (untold[: len(begun), 0], None)
    )
    found = replace(rounds_of(View("scaffold", 3, "uniform", cohort=1, **TINY)))
    assert math.isnan(found.bias())
    assert math.isnan(found.stationary())


def test_many_clients_under_a_rare_coin_have_no_bias():
    view = View("proxskip", 100, "all_or_nothing", **TINY, **ONE)
    assert value(view, "bias") == value(view, "stationary_error") == 0


def test_a_mean_that_turns_for_ever_has_no_limit():
    # (1 - 2) (1 - 2) ...: the distance stays 1
    view = View("gradient_descent", 2, "full", strong_convexity="1", step_size="1")
    view = replace(view, **ONE)
    assert value(view, "bias") == value(view, "stationary_error") == math.inf


def test_mixing_matrices_by_enumeration():
    view = View(law="bernoulli_spread", n_clients=4)
    found = slices.mixing(view)
    p = [0.25, 0.25, 0.75, 0.75]
    pull, average = np.zeros((5, 5)), np.zeros((5, 5))
    virtual = np.zeros((5, 5))
    for mask in product((0, 1), repeat=4):
        chance = math.prod(a if m else 1 - a for m, a in zip(mask, p, strict=True))
        size = max(sum(mask), 1)
        model = [float(not any(mask)), *(m / size for m in mask)]
        pull[0, 0] += chance
        average[0] += chance * np.array(model)
        virtual += chance * np.tile(model, (5, 1))
        for i, m in enumerate(mask, start=1):
            pull[i, 0] += chance * m
            pull[i, i] += chance * (1 - m)
            average[i, i] += chance
    for which, expected in (("Rbar", pull), ("Abar", average), ("Wbar", virtual)):
        assert np.array(found.matrix(which)) == pytest.approx(expected)
    assert [w.inclusion for w in found.weights] == p
    assert [w.averaging for w in found.weights] == pytest.approx(average[0, 1:])
    assert found.weights[0].inclusion_text == "1/4"
    assert len(found.entries.rows) == 75
    assert found.bars.column("client") == (1, 2, 3, 4)


def test_many_clients_have_weights_in_floats():
    found = slices.mixing(View(n_clients=64))
    assert found.weights[0].averaging == pytest.approx(1 / 64)
    assert re.fullmatch(r"0\.0\d+", found.weights[0].averaging_text)


def test_certified_numbers_lie_between_print_and_exact():
    view = View("focus", 4, "full", step_size="1/5", over="n", **ONE)
    rows = {row.name: row for row in slices.certified_point(view)}
    exact = value(view, "exact_rate")
    assert rows["certified_rate"].verdict == "CERTIFIED"
    assert exact - 1e-9 <= rows["certified_rate"].value <= exact + 1e-4
    assert rows["floor"].value == pytest.approx(exact, rel=1e-6)
    row = slices.certified_row(view, Fraction(4))
    assert row.certified == pytest.approx(0.5, rel=1e-3)
    assert row.certified <= row.stable == 0.5
    assert not row.remark


def test_a_certified_rate_of_fedavg_is_to_a_neighbourhood():
    view = View("fedavg", 2, "full", step_size="1/5")
    (rate, *_) = slices.certified_point(view)
    assert rate.verdict == "CERTIFIED"
    assert "neighbourhood" in rate.scope
    assert slices.certified_row(replace(view, over="tau"), Fraction(2)).contraction


@pytest.mark.parametrize("step", ["3", "1/5"])
def test_what_is_not_certified_says_why(step):
    view = View("gradient_descent", 2, "full", step_size=step, **ONE)
    equal = replace(view, strong_convexity="1")
    (rate, *_) = slices.certified_point(view if step == "3" else equal)
    assert rate.verdict == "INCONCLUSIVE"
    assert math.isnan(rate.value)
    assert rate.scope


def test_a_search_that_did_not_see_clearly_says_so(monkeypatch):
    unsure = RowFound(Fraction(2), (), None, None, None, contraction=False, unsure=3)
    for found, word in (
        (unsure, "no certificate was found; the search was inconclusive"),
        (replace(unsure, unsure=0), "no certificate was found"),
        (replace(unsure, certified_boundary=Fraction(1, 2)), ""),
    ):
        name = "flverify.explore.certified._certified"
        monkeypatch.setattr(name, lambda _, one=found: one)
        row = slices.certified_row(View("focus", 2, "full", over="n"), Fraction(2))
        assert row.remark == word


def test_the_slow_map_tells_and_stops():
    view = View("gradient_descent", 2, "full", over="n", **ONE)
    told = []
    done = slices.certified_boundary(
        view, told=lambda k, n: told.append((k, n)), stopped=lambda: len(told) == 2
    )
    total = len(slices.axis_values(view))
    assert told == [(1, total), (2, total)]
    assert [row.value for row in done] == [1.0, 2.0]
    for row in done:
        assert row.certified == pytest.approx(2 / row.value, rel=1e-3)


REFUSED = View(law="uniform", cohort=17)


@pytest.mark.parametrize(
    "table",
    [
        slices.point,
        slices.errors,
        slices.mixing,
        slices.certified_point,
        slices.snippet,
        slices.csv,
    ],
)
def test_a_refused_view_has_no_table(table):
    with pytest.raises(InputError, match="cohort"):
        table(REFUSED)


@pytest.mark.parametrize("table", [slices.boundary, slices.certified_boundary])
def test_a_refused_map_has_no_table(table):
    with pytest.raises(RefusedError, match="cohort"):
        table(REFUSED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "view",
    [
        View("fedavg", 4, "bernoulli_spread", step_size="0.125", over="kappa"),
        View("proxskip", 3, "all_or_nothing", step_size="1/2", over="tau", **ONE),
        View("focus", 3, "uniform", cohort=1, step_size="2e-2"),
    ],
    ids=name,
)
def test_a_snippet_reproduces_the_view(view):
    done = subprocess.run(
        [sys.executable, "-c", slices.snippet(view)],
        capture_output=True,
        text=True,
        check=True,
    )
    said = dict(
        line.rpartition(": ")[::2] for line in done.stdout.splitlines() if ": " in line
    )
    rate = value(view, "instance_rate")
    assert float(said["exact rate of the curves"]) == pytest.approx(rate, rel=1e-6)
    assert float(said["bias"]) == pytest.approx(value(view, "bias"), abs=1e-11)
    last = slices.errors(view).rows[-1].exact
    assert float(said["error after the last round"]) == pytest.approx(last)
    for row in slices.point(view):
        assert f"{row.label} {row.text} {row.verdict}" in done.stdout


def test_a_snippet_names_the_public_law():
    for view in SETTINGS:
        text = slices.snippet(view)
        compile(text, "snippet", "exec")
        law = text.partition("law = ")[2].partition("\n")[0]
        assert law.startswith(type(view.participation()).__name__)


def test_the_file_has_every_number_of_every_table():
    view = View("fedavg", 3, "bernoulli_spread", over="kappa", step_size="1/8")
    slow = slices.certified_point(view)
    lines = list(csv_files.DictReader(io.StringIO(slices.csv(view, slow))))
    of = {
        table: [line for line in lines if line["table"] == table]
        for table in ("view", "point", "map", "errors", "mixing", "weights")
    }
    read = View.from_query(
        "&".join(f"{x['quantity']}={x['exact']}" for x in of["view"])
    )
    assert read == view
    rows = [*slices.point(view), *slow]
    assert [x["quantity"] for x in of["point"]] == [row.name for row in rows]
    for line, row in zip(of["point"], rows, strict=True):
        assert float(line["value"]) == pytest.approx(row.value, nan_ok=True)
        assert line["verdict"] == row.verdict
    errors = slices.errors(view)
    exact = [float(x["value"]) for x in of["errors"] if x["quantity"] == "exact"]
    assert exact == pytest.approx(errors.column("exact"), rel=1e-11)
    limits = {
        x["at"]: float(x["value"]) for x in of["map"] if x["quantity"] == "boundary"
    }
    assert limits == {r.text: pytest.approx(r.boundary) for r in slices.boundary(view)}
    assert len(of["mixing"]) == 3 * 16
    assert len(of["weights"]) == 6


def test_a_view_without_a_map_has_a_file():
    view = View("gradient_descent", 2, "full", over="tau", **ONE)
    assert "map," not in slices.csv(view)

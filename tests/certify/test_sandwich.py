"""The lower side: rates on quadratics, the search for the worst, what is printed.

Rates are compared with the moments engine (which knows no classes), with a listing of
all cohorts through the plain loops, and with the upper side's own expectations.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy

from flverify._core.errors import (
    BeyondFloatsError,
    DomainError,
    ReadingError,
    RefusedError,
    ShapeError,
)
from flverify.algorithms import (
    FedAvg,
    FedDyn,
    FedProx,
    FedVarp,
    Focus,
    GradientDescent,
    Mifa,
    ProxSkip,
    Scaffold,
    WeightedFedAvg,
)
from flverify.certify import sandwich
from flverify.certify.classes import Classes, classes
from flverify.certify.coordinates import Coordinates
from flverify.certify.discover import discover
from flverify.certify.expect import expected_round
from flverify.certify.forms import read
from flverify.certify.printed import printed, printed_sag
from flverify.certify.quadratics import (
    Group,
    Instance,
    QuadraticRates,
    mean_square_rate,
)
from flverify.certify.sandwich import corner_rates, worst_of, worst_quadratic
from flverify.engines.moments import moments
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    Full,
    NonEmpty,
    UniformCohort,
)
from flverify.problems import Quadratics
from flverify.reference import focus, scaffold

F = Fraction
HALF = ["1/2"]
MU, L = F(1, 10), F(1)

SETTINGS = [
    *[
        (Focus("1/10", tau), law)
        for tau in (1, 2, 3)
        for law in (
            Bernoulli(HALF * 3),
            UniformCohort(4, 2),
            UniformCohort(3, 1),
            Bernoulli(["1/2", "1/5", "1/5"]),
            Bernoulli(["1", "1/2", "1/2"]),
            Full(3),
            AllOrNothing(3, "1/3"),
        )
    ],
    (Focus("1/10", 2, empty_round="skip"), Bernoulli(HALF * 3)),
    (Focus("1/5", 3), UniformCohort(5, 2)),
    (FedAvg("1/10", 3), Full(4)),
    (FedAvg("1/10", 2), Bernoulli(HALF * 4)),
    (FedAvg("1/10", 2, "7/10", aggregation="all"), Bernoulli(HALF * 4)),
    (Scaffold("1/10", 2), UniformCohort(4, 2)),
    (Scaffold("1/10", 2, option="I"), UniformCohort(4, 2)),
    (Scaffold("1/10", 2, "3/5"), Bernoulli(HALF * 3)),
    (Scaffold("1/10", 2), Full(4)),
    (Scaffold("1/10", 2), Bernoulli(["1/2", "1/5", "1/5"])),
    (ProxSkip("1/2", probability="1/5"), AllOrNothing(4, "1/5")),
    (ProxSkip("1/2", probability="1/5"), Full(4)),
    (ProxSkip("1/50", 2, variant="notebook"), Bernoulli(HALF * 3)),
    (FedDyn("1/2", "3/4", 3), UniformCohort(4, 2)),
    (FedDyn("1/5", 2), Bernoulli(["1/2", "1/5", "1/5"])),
    (FedProx("1/5", "3/4", 3, "3/2"), Bernoulli(HALF * 3)),
    (FedVarp("1/5", 3, "3/2"), Bernoulli(HALF * 3)),
    (Mifa("1/5", 3, "3/4"), UniformCohort(4, 2)),
    (GradientDescent("1/8"), Full(4)),
    (GradientDescent("1/8"), Bernoulli(HALF * 4)),
]


def instances(law, seed=1):
    """One curvature per class of the law, and two, drawn as short rationals."""
    random = np.random.default_rng(seed)
    sizes = classes(law).sizes
    for split in (False, True):
        groups = []
        for r, size in enumerate(sizes):
            first = int(random.integers(1, size + 1)) if split else size
            values = [F(int(k), 10) for k in random.choice(19, 2, replace=False) + 1]
            groups += [Group(r, first, values[0]), Group(r, size - first, values[1])]
        yield Instance.of(groups)


def by_moments(algorithm, law, instance, exact=False):
    h = instance.curvatures
    number = (lambda v: v) if exact else float
    problem = Quadratics([[[number(v)]] for v in h], [[number(F(0))]] * len(h))
    found = moments(problem, algorithm, classes(law).law)
    return found.mean_square_rate_interval if exact else float(found.mean_square_rate)


def identifier(value):
    return getattr(value, "spec", type(value).__name__)


@pytest.mark.parametrize(("algorithm", "law"), SETTINGS, ids=identifier)
def test_rates_equal_those_of_the_moments_engine(algorithm, law):
    rates = QuadraticRates.of(algorithm, law)
    for instance in instances(law):
        expected = by_moments(algorithm, law, instance)
        assert rates.rate(instance) == pytest.approx(expected, abs=1e-10)
        low, high = rates.enclosure(instance)
        assert low - F(1, 10**10) <= F(expected) <= high + F(1, 10**10)


@pytest.mark.parametrize(
    ("algorithm", "law"),
    [
        (Focus("1/10", 3), Bernoulli(HALF * 3)),
        (Focus("1/10", 2), Bernoulli(["1/2", "1/5", "1/5"])),
        (Scaffold("1/10", 2, "3/5"), Bernoulli(HALF * 3)),
        (FedAvg("1/10", 2), UniformCohort(3, 2)),
        (ProxSkip("1/2", probability="1/5"), AllOrNothing(2, "1/5")),
        (FedDyn("1/2", 1, 2), UniformCohort(3, 2)),
    ],
    ids=identifier,
)
def test_rational_enclosures_equal_those_of_the_moments_engine(algorithm, law):
    for instance in instances(law):
        found = mean_square_rate(algorithm, law, instance)
        assert found == by_moments(algorithm, law, instance, exact=True)


def columns(play, state, slots, h, **settings):
    """Matrix of one cohort's round on (slots of all clients), from unit states."""
    n = len(h)
    keys = [(s, i) for s, per in slots for i in (range(n) if per else [None])]
    out = np.zeros((len(keys), len(keys)))
    for column, (slot, i) in enumerate(keys):
        unit = state(slot, i)
        after = play(unit, lambda k, x: [h[k] * x[0]], n, **settings)
        for row, (name, k) in enumerate(keys):
            value = after[name] if k is None else after[name][k]
            out[row, column] = value[0]
    return out


@pytest.mark.parametrize("law", [UniformCohort(3, 1), Bernoulli(HALF * 3)], ids=str)
def test_focus_equals_a_listing_of_all_cohorts_through_the_plain_loop(law):
    h, eta = (F(1), F(1), F(1, 3)), F(1, 5)

    def state(slot, i):
        stored = [[F(int(slot == "stored" and k == i))] for k in range(3)]
        total = [sum((g[0] for g in stored), F(0))]  # y = sum of the stored gradients
        return {"model": [F(slot == "model")], "tracker": total, "stored": stored}

    square = sum(
        float(chance) * np.kron(one, one)
        for cohort, chance in law.support().items()
        for one in [
            columns(
                focus.play,
                state,
                [("model", False), ("stored", True)],
                h,
                cohort=cohort,
                step_size=eta,
                local_steps=2,
            )
        ]
    )
    expected = np.abs(np.linalg.eigvals(square)).max()
    groups = [Group(0, 2, F(1)), Group(0, 1, F(1, 3))]
    low, high = mean_square_rate(Focus(eta, 2), law, Instance.of(groups))
    assert float(low) - 1e-12 <= expected <= float(high) + 1e-12


def test_scaffold_equals_a_listing_of_all_cohorts_through_the_plain_loop():
    h, eta, law = (F(1), F(1, 4), F(1, 4), F(1, 4)), F(1, 2), UniformCohort(4, 2)

    def state(slot, i):
        controls = [[F(int(slot == "controls" and k == i))] for k in range(4)]
        mean = [sum((c[0] for c in controls), F(0)) / 4]
        return {"model": [F(slot == "model")], "control": mean, "controls": controls}

    square = sum(
        float(chance) * np.kron(one, one)
        for cohort, chance in law.support().items()
        for one in [
            columns(
                scaffold.play,
                state,
                [("model", False), ("controls", True)],
                h,
                cohort=cohort,
                step_size=eta,
                local_steps=2,
            )
        ]
    )
    expected = np.abs(np.linalg.eigvals(square)).max()
    groups = [Group(0, 1, F(1)), Group(0, 3, F(1, 4))]
    found = QuadraticRates.of(Scaffold(eta, 2), law).rate(Instance.of(groups))
    assert found == pytest.approx(expected, abs=1e-12)


def from_the_upper_side(algorithm, law, sizes, curvatures):
    """Rate from the expectations that certificates are built of."""
    structure = replace(discover(read(algorithm, classes(law))), memories=())
    split = Classes(law, sizes, {})
    space = Coordinates(read(algorithm, split), structure, float)
    tensors, k, c = expected_round(space), len(space.state), len(space.client)
    mean = np.eye(len(space.z), k)
    own = [np.eye(len(space.own), c) for _ in sizes]
    for call in range(len(space.reading.points)):
        for r, h in enumerate(curvatures):
            point = space.point(call)
            place = space.z.index(("client", r, f"call:{call}"))
            mean[place] = h * space.settled(point, r).z @ mean
            own[r][space.own.index(f"call:{call}")] = h * point.own @ own[r]

    def image(forms, table, r=None):
        part = np.einsum("ab,abij->ij", table, forms if r is None else forms[r])
        side = mean if r is None else own[r]
        return side.T @ part @ side

    shapes = [k, *[c] * len(sizes)]
    ends = np.cumsum([s * s for s in shapes])
    out = np.zeros((ends[-1], ends[-1]))
    for column in range(ends[-1]):
        unit = np.eye(ends[-1])[column]
        pieces = np.split(unit, ends[:-1])
        tables = [p.reshape(s, s) for p, s in zip(pieces, shapes, strict=True)]
        sources = [tensors.state, *tensors.spread]
        pairs = list(zip(sources, tables, strict=True))
        images = [sum(image(f.mean, t) for f, t in pairs)]
        for r in range(len(sizes)):
            images.append(sum(image(f.classes, t, r) for f, t in pairs))
        out[:, column] = np.concatenate([i.ravel() for i in images])
    return np.abs(np.linalg.eigvals(out)).max()


@pytest.mark.parametrize(
    ("algorithm", "law", "sizes"),
    [
        (Focus("1/10", 2), UniformCohort(5, 2), (3, 2)),
        (Focus("1/10"), Bernoulli(HALF * 6), (2, 4)),
        (Scaffold("1/10", 2), UniformCohort(4, 2), (2, 2)),
        (FedAvg("1/10", 2), UniformCohort(4, 2), (2, 2)),
    ],
    ids=identifier,
)
def test_both_sides_take_the_same_expectations(algorithm, law, sizes):
    h = (0.9, 0.3)
    groups = [Group(0, n, v) for n, v in zip(sizes, h, strict=True)]
    found = QuadraticRates.of(algorithm, law).rate(Instance.of(groups))
    expected = from_the_upper_side(algorithm, law, sizes, h)
    assert found == pytest.approx(expected, abs=1e-11)


def test_pairs_taken_as_independent_would_be_noticed(monkeypatch):
    law, groups = UniformCohort(3, 1), [Group(0, 2, F(1)), Group(0, 1, F(1, 3))]
    expected = by_moments(Focus("1/5"), law, Instance.of(groups))

    def independent(self, left, right, a, b):
        return self.first(left, a) * self.first(right, b)

    monkeypatch.setattr(Classes, "different", independent)
    found = QuadraticRates.of(Focus("1/5"), law).rate(Instance.of(groups))
    assert abs(found - expected) > 1e-3


def test_what_never_reaches_the_model_is_no_rate_of_it():
    rates = QuadraticRates.of(ProxSkip("2/3", probability="1/5"), Full(2))
    assert rates.unseen == {"shifts"}
    apart = Instance((Group(0, 1, F(1)), Group(0, 1, F(1, 2))))
    assert rates.enclosure(apart) == (F(1, 4), F(1, 4))
    # the shifts settle by (1 - p)^2, and x by gradient descent on the mean
    assert worst_of(rates, F(1, 2), 1).lower_bound == F(4, 9)
    assert replace(rates, unseen=frozenset()).enclosure(apart) == (F(16, 25),) * 2


def test_a_coin_lets_the_model_see_the_shifts():
    coin = ProxSkip("2/3", probability="1/5"), AllOrNothing(2, "1/5")
    assert not QuadraticRates.of(*coin).unseen


@pytest.mark.parametrize("law", [Full(2), AllOrNothing(3, "1/5")], ids=identifier)
def test_a_relation_that_depends_on_the_step_size_is_discovered_at_each(law):
    notebook = ProxSkip("1/50", 2, variant="notebook")  # model = mean(x_i - 2 eta h_i)
    here = QuadraticRates.of(notebook, law)
    there = QuadraticRates.of(notebook.retuned(F(1, 3)), law)
    assert here.structure.eliminated != there.structure.eliminated
    for instance in instances(law):
        expected = by_moments(notebook.retuned(F(1, 3)), law, instance)
        assert here.at(F(1, 3)).rate(instance) == pytest.approx(expected, abs=1e-10)
        stale = replace(here, reading=there.reading)
        assert abs(stale.rate(instance) - expected) > 1e-3


@pytest.mark.parametrize(
    ("algorithm", "law", "rate"),
    [
        (Focus("1/10"), Bernoulli(HALF * 2), 0.959566),
        (Focus("1/5"), Bernoulli(HALF * 2), 0.918111),
        (Scaffold("1/10", 2), UniformCohort(4, 2), 0.960596),
        (GradientDescent("1/8"), Full(4), (1 - 0.05) ** 2),
        (GradientDescent("19/40"), Full(4), (1 - 1.9) ** 2),
        (Focus(F(2, 5000)), Bernoulli(HALF * 1000), 0.918098),
    ],
    ids=identifier,
)
def test_the_worst_quadratics_that_are_known(algorithm, law, rate):
    worst = worst_quadratic(algorithm, law, MU, L)
    assert worst.rate == pytest.approx(rate, abs=6e-7)
    assert abs(float(worst.lower_bound) - worst.rate) < 1e-9
    assert not worst.inside


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "law"),
    [
        (Focus("2/5", 3), Bernoulli(HALF * 3)),
        (Focus("1/4"), UniformCohort(3, 1)),
        (Scaffold("3/2", 2), UniformCohort(3, 2)),
        (ProxSkip("9/10", probability="1/5"), AllOrNothing(3, "1/5")),
        (FedAvg("17/10", 3), Bernoulli(HALF * 3)),
        (Focus("1/5", 2), Bernoulli(["1/2", "1/5", "1/5"])),
    ],
    ids=identifier,
)
def test_no_quadratic_of_a_plain_grid_is_worse(algorithm, law):
    worst = worst_quadratic(algorithm, law, MU, L)
    assert worst.instance.exact
    assert worst.rate == pytest.approx(
        by_moments(algorithm, law, worst.instance), abs=1e-9
    )
    grid = [0.1, 0.25, 0.5, 0.75, 0.99, 1.0]
    for h in product(grid, repeat=3):
        problem = Quadratics([[[v]] for v in h], [[0.0]] * 3)
        found = moments(problem, algorithm, classes(law).law)
        assert found.mean_square_rate <= worst.rate + 1e-6


@pytest.mark.parametrize(
    ("law", "mu", "options"),
    [
        (Bernoulli(HALF * 2), "1/10", {}),
        (Bernoulli(HALF * 2), "99/100", {}),
        (Full(4), "99/100", {}),
        (AllOrNothing(3, "1/3"), "1/10", {"empty_round": "skip"}),
    ],
    ids=["two", "two, near L", "all", "skipped"],
)
def test_the_instance_that_is_shown_has_the_rate(law, mu, options):
    # at eta L = 1 one client at L keeps its gradient, which is 0; all at L never settle
    algorithm = Focus(1, 2, **options)
    worst = worst_quadratic(algorithm, law, mu, 1)
    assert worst.occurs
    assert worst.lower_bound == 1
    assert by_moments(algorithm, law, worst.instance) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "occurs"),
    [({}, False), ({"initial_gradients": "start", "initial_tracker": "sum"}, True)],
    ids=["zero", "start"],
)
def test_a_mode_that_no_start_leads_to_does_not_occur(options, occurs):
    algorithm, law = Focus(1, 2, **options), Bernoulli(HALF * 2)
    rates = QuadraticRates.of(algorithm, law)
    one = Instance((Group(0, 1, Fraction(1)), Group(0, 1, Fraction(1, 10))))
    assert rates.enclosure(one) == (1, 1)
    assert rates.occurs(one) is occurs
    assert (by_moments(algorithm, law, one) > 1 - 1e-9) is occurs


def test_the_bound_is_below_the_root_of_the_characteristic_polynomial():
    # elementary: the polynomial is positive far out, so a sign below 0 at the bound
    # shows an eigenvalue above it
    rates = QuadraticRates.of(Focus("1/5"), Bernoulli(HALF * 2))
    worst = worst_of(rates, MU, L)
    table = rates.matrix(worst.instance)
    size, bound = len(table), worst.lower_bound
    rows = [
        [F(int(v.p), int(v.q)) * -1 + (bound if i == j else 0) for j, v in enumerate(r)]
        for i, r in enumerate(table)
    ]
    sign = F(1)
    for k in range(size):  # elimination, exchanging rows where a pivot vanishes
        place = next(i for i in range(k, size) if rows[i][k])
        if place != k:
            rows[k], rows[place], sign = rows[place], rows[k], -sign
        sign *= rows[k][k]
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    assert sign < 0


@pytest.mark.parametrize("top", [F(1, 5), F(7)])
def test_curvatures_found_inside_become_rationals_next_to_them(top):
    hunt = sandwich._Hunt(QuadraticRates.of(Focus("1/10"), Full(2)), MU, top)
    for share in (0.0, 0.3, 0.99, 1.0):
        curvature = float(MU) * (1 - share) + float(top) * share
        found = hunt._rational(curvature)
        assert MU <= found <= top
        assert abs(found - F(curvature)) <= top / 10**7
        assert (found in (MU, top)) == (share in (0, 1))


def test_nearly_equal_curvatures_show_a_mode_that_corners_hide():
    # with equal curvatures the controls' differences never reach the server
    algorithm, law = Scaffold("3/2", 2), Full(4)
    worst = worst_quadratic(algorithm, law, MU, L)
    corners = [
        QuadraticRates.of(algorithm, law).rate(
            Instance.of([Group(0, k, L), Group(0, 4 - k, MU)])
        )
        for k in range(5)
    ]
    assert worst.inside
    assert worst.rate == pytest.approx(0.5625, abs=1e-5)
    assert max(corners) < 0.523
    problem = Quadratics([[[float(h)]] for h in worst.instance.curvatures], [[0.0]] * 4)
    found = moments(problem, algorithm, law)
    assert float(found.mean_square_rate) == pytest.approx(worst.rate, abs=1e-6)


def test_what_is_hidden_at_two_curvatures_alone_counts_as_the_limit_beside_them():
    # with everybody the controls' difference meets the server with the factor
    # s(9/5) - s(6/5) = 0, s(h) = 1 + (1 - h) + (1 - h)^2, and shrinks by 1 - s/3
    algorithm, law = Scaffold(1, 3), AllOrNothing(2, "2/3")
    s = F(84, 100)
    limit = F(2, 3) * (1 - s / 3) ** 2 + F(1, 3)
    seen = F(2, 3) * ((F(-4, 5) ** 3 + F(-1, 5) ** 3) / 2) ** 2 + F(1, 3)
    hidden, beside = (
        Instance((Group(0, 1, h), Group(0, 1, F(6, 5))))
        for h in (F(9, 5), F(9, 5) + F(1, 10**4))
    )
    found = mean_square_rate(algorithm, law, hidden)
    assert found == (limit, limit)
    assert by_moments(algorithm, law, hidden, exact=True) == (seen, seen)
    assert by_moments(algorithm, law, beside) == pytest.approx(float(limit), abs=1e-4)
    assert mean_square_rate(algorithm, law, beside) == by_moments(
        algorithm, law, beside, exact=True
    )


def test_a_rate_below_all_floats_is_still_enclosed():
    # ((1 - h)^40)^2 where every client has h = 0.9999 and a local step is of size 1
    whole = Instance((Group(0, 2, F(9999, 10**4)),))
    low, high = mean_square_rate(FedAvg(1, 40), Full(2), whole)
    assert 0 < low <= F(1, 10**320) <= high < low * (1 + F(1, 10**13))
    further = Instance((Group(0, 2, F(99999, 10**5)),))
    low, high = mean_square_rate(FedAvg(1, 40), Full(2), further)
    assert 0 < low <= F(1, 10**400) <= high < low * (1 + F(1, 10**13))


def test_a_count_that_the_selection_leaves_out_is_climbed_to():
    n = 100
    rates = QuadraticRates.of(Focus(F(1, 16 * n)), UniformCohort(n, 1))
    every = [
        (rates.rate(Instance.of([Group(0, k, L), Group(0, n - k, MU)])), k)
        for k in range(n + 1)
    ]
    best, count = max(every)
    worst = worst_of(rates, MU, L)
    assert worst.rate >= best - 1e-13
    assert {g.n_clients for g in worst.instance.groups} == {count, n - count}


def test_a_search_repeats_itself_and_scales():
    algorithm, law = Focus("1/5", 2), UniformCohort(6, 2)
    once = worst_quadratic(algorithm, law, MU, L)
    assert worst_quadratic(algorithm, law, MU, L) == once
    scaled = worst_quadratic(Focus("1/40", 2), law, 8 * MU, 8 * L)
    assert scaled.lower_bound == pytest.approx(once.lower_bound)


def test_one_curvature_alone_is_a_class_too():
    worst = worst_quadratic(GradientDescent("1/8"), Full(4), 1, 1)
    assert worst.lower_bound == F(1, 4)


def test_a_method_that_arrives_at_once_has_rate_zero():
    worst = worst_quadratic(GradientDescent("1/4"), Full(4), 1, 1)
    assert (worst.rate, worst.lower_bound) == (0, 0)


def test_many_step_sizes_at_once_equal_one_at_a_time():
    rates = QuadraticRates.of(Focus("1/10", 2), UniformCohort(4, 2))
    steps = [0.05, 0.2, 0.5]
    together = corner_rates(rates, steps, MU, L)
    for step, rate in zip(steps, together, strict=True):
        found = worst_of(rates.at(F(step)), MU, L)
        assert rate == pytest.approx(found.rate, abs=1e-9)
        assert rate <= found.rate + 1e-12


def test_many_step_sizes_at_once_where_one_more_setting_has_a_dimension():
    dual, law = FedDyn("1/5", "3/2", 2), UniformCohort(3, 2)
    rates = QuadraticRates.of(dual, law)
    steps = [F(1, 8), F(1, 4)]
    found = corner_rates(rates, [float(step) for step in steps], F(1, 10), 2)
    for step, rate in zip(steps, found.tolist(), strict=True):
        worst = worst_quadratic(dual.retuned(step), law, F(1, 10), 2)
        assert worst.rate - 1e-3 < rate <= worst.rate + 1e-9
    with pytest.raises(RefusedError, match="the only setting with a dimension"):
        rates.unit()


def test_many_step_sizes_at_once_know_of_nearly_equal_curvatures():
    # controls differ by eta h/2 of what they did; the server sees it beside h = L
    rates = QuadraticRates.of(Scaffold("1/8", 2), Full(4))
    assert corner_rates(rates, [1.5], MU, L) == pytest.approx(0.75**2, abs=1e-5)


def test_groups_are_merged_and_checked():
    rates = QuadraticRates.of(Focus("1/10"), UniformCohort(4, 2))
    parts = Instance.of([Group(0, 1, F(1)), Group(0, 0, F(2)), Group(0, 3, F(1))])
    assert parts.curvatures == (F(1),) * 4
    assert str(parts) == "4 x 1"
    with pytest.raises(ShapeError, match="must have"):
        rates.rate(Instance((Group(0, 3, F(1)),)))
    whole = Group(0, 4, F(1))
    for other in (Group(-1, 3, F(1, 2)), Group(1, 3, F(1, 2)), Group(0, -1, F(1, 2))):
        more = replace(whole, n_clients=5) if other.n_clients < 0 else whole
        with pytest.raises(ShapeError, match="and others"):
            rates.enclosure(Instance((more, other)))
    with pytest.raises(DomainError, match="rational"):
        rates.enclosure(Instance((Group(0, 4, 0.5),)))


class Rough(FedAvg):
    """A round with a number that is a float."""

    def round(self, state, cohort, oracle):
        moved = super().round(state, cohort, oracle)
        return type(state)(state.model + 0.25 * (moved.model - state.model))


def test_a_float_in_a_round_is_refused():
    for law in (Full(2), UniformCohort(2, 1)):
        with pytest.raises(ReadingError, match=r"rational; got -0\.0.*Fraction"):
            worst_quadratic(Rough("1/5"), law, MU, L)
        assert worst_quadratic(FedAvg("1/5"), law, MU, L).lower_bound < 1


def test_what_cannot_be_read_is_refused():
    with pytest.raises(RefusedError, match="full, bernoulli"):
        worst_quadratic(Focus("1/10"), NonEmpty(Bernoulli(HALF * 2)), MU, L)
    weighted = WeightedFedAvg("1/10", ["1/4", "3/4"])
    with pytest.raises(ReadingError, match="alike"):
        worst_quadratic(weighted, Full(2), MU, L)
    with pytest.raises(DomainError, match="at most"):
        worst_quadratic(Focus("1/10"), Full(2), 2, 1)
    with pytest.raises(DomainError, match="positive"):
        worst_quadratic(Focus("1/10"), Full(2), 0, 1)
    with pytest.raises(DomainError, match=r"at most smoothness; got 1000.*5001 digits"):
        worst_quadratic(Focus("1/10"), Full(2), 10**5000, 1)
    with pytest.raises(BeyondFloatsError, match="smoothness must lie within the range"):
        worst_quadratic(Focus("1/10"), Full(2), MU, 10**400)
    with pytest.raises(BeyondFloatsError, match="smoothness must lie within the range"):
        worst_quadratic(Focus("1/10"), Full(2), 10**399, 10**400)
    with pytest.raises(BeyondFloatsError, match="choose a smaller step size"):
        worst_quadratic(Focus(10**400), Full(2), MU, L)
    symbol = sympy.Symbol("h", positive=True)
    for ends in ((symbol, 1), (MU, symbol)):
        with pytest.raises(DomainError, match="must be numbers"):
            worst_quadratic(Focus("1/10"), Full(2), *ends)


# what is printed -------------------------------------------------------------------


def test_theorem_1_is_printed_with_its_least_cap():
    # q_min = 1/4: 3 mu/(27 N L^2) = 1/360, q^(3/2)/(8 L sqrt N) = (1/8)/16 = 1/128
    found = printed(Focus("1/400", 9), UniformCohort(4, 1), MU, L)
    assert found.cap == F(1, 360)
    assert found.cap_is_exact
    assert found.inside
    assert found.rate == 1 - F(1, 400) * MU * 4 / 2
    assert len(found.caps_squared) == 3
    assert not printed(Focus("1/300"), UniformCohort(4, 1), MU, L).inside


def test_an_irrational_cap_is_kept_as_its_square():
    # q = 1/2, N = 2, L = mu = 1: 3/54 against (1/2)^(3/2)/(8 sqrt 2) = 1/32
    found = printed(Focus("1/100"), UniformCohort(2, 1), 1, 1)
    assert (found.cap, found.cap_is_exact) == (F(1, 32), True)
    rare = printed(Focus("1/100"), Bernoulli(["1/10"] * 2), 1, 1)
    q = F(1, 10) * (1 - F(1, 10) / 2)  # p (1 - p/2), by hand
    assert rare.cap_squared == q**3 / 128
    assert not rare.cap_is_exact
    assert rare.cap**2 < rare.cap_squared < (rare.cap + F(1, 10**13)) ** 2


def test_clients_of_any_probabilities_have_a_least_averaging_weight():
    law = Bernoulli([F(k, 10) for k in (5, 2, 1, 3, 4)])
    least = min(
        sum(p / len(cohort) for cohort, p in law.support().items() if i in cohort)
        for i in range(5)
    )
    found = printed(Focus("1/400"), law, 1, 1)
    assert found.cap_squared == least**3 / (64 * 5)
    for none in (Bernoulli(["1/2", "0"]), Bernoulli([0.5, 0.25])):
        with pytest.raises(RefusedError):
            printed(Focus("1/400"), none, 1, 1)


def test_fedavg_is_printed_per_local_step():
    found = printed(FedAvg("1/8", 3), Bernoulli(HALF * 2), MU, L)
    assert found.rate == (1 - F(1, 160)) ** 3
    assert (found.cap, found.inside) == (F(1, 8), True)
    assert printed(FedAvg("1/3"), Full(2), MU, L).cap == F(1, 3)
    assert printed(FedAvg("1/8", aggregation="all"), Full(2), MU, L) is None
    assert printed(Scaffold("1/8", 2), Full(2), MU, L) is None


def test_the_rate_of_sag_is_printed_at_its_one_step_size():
    rates = [
        printed_sag(Focus(F(1, 16 * n)), UniformCohort(n, 1), MU, L).rate
        for n in (100, 1000)
    ]
    assert rates == [F(99875, 100000), F(999875, 1000000)]
    assert printed_sag(Focus("1/1500"), UniformCohort(100, 1), MU, L) is None
    assert printed_sag(Focus(F(1, 1600)), UniformCohort(100, 2), MU, L) is None


def test_the_rate_of_sag_is_printed_where_convexity_is_what_limits_it():
    # N = 4, L = 3: mu/(16 L) = 1/480 is below 1/(8 N) = 1/32, the step is 1/(16 N L)
    step = F(1, 192)
    found = printed_sag(Focus(step), UniformCohort(4, 1), MU, 3)
    assert (found.rate, found.cap, found.inside) == (F(479, 480), step, True)
    assert "1/(8 N)" in found.statement
    assert printed_sag(Focus(step, 2), UniformCohort(4, 1), MU, 3) is None
    assert printed_sag(Focus(step), Bernoulli(["1/4"] * 4), MU, 3) is None
    assert printed_sag(GradientDescent(step), UniformCohort(4, 1), MU, 3) is None


def test_the_printed_rate_is_not_below_the_worst_quadratic():
    for n, law in ((4, UniformCohort(4, 1)), (3, Bernoulli(HALF * 3))):
        step = F(1, 90 * n)
        theorem = printed(Focus(step), law, MU, L)
        assert theorem.inside
        assert worst_quadratic(Focus(step), law, MU, L).lower_bound <= theorem.rate


@pytest.mark.parametrize("unit", [10**8, Fraction(1, 10**8)])
@pytest.mark.parametrize(
    ("algorithm", "law"),
    [
        (FedDyn("1/2", "1/50", 3), UniformCohort(3, 1)),
        (Scaffold("1/3", 2), Bernoulli(["1/2", "1/2"])),
        (Focus("1/7", 2), UniformCohort(3, 1)),
    ],
    ids=["feddyn", "scaffold", "focus"],
)
def test_the_worst_instance_is_the_same_in_other_units(algorithm, law, unit):
    plain = worst_quadratic(algorithm, law, "1/10", 1)
    other = worst_quadratic(algorithm.rescaled(unit), law, Fraction(unit, 10), unit)
    assert (other.lower_bound, other.rate) == (plain.lower_bound, plain.rate)
    here = [unit * h for h in plain.instance.curvatures]
    assert [*other.instance.curvatures] == here


def test_corners_rate_the_same_in_other_units():
    unit, algorithm, law = Fraction(10**8), FedDyn("1/2", 1, 3), Bernoulli(["1/2"] * 3)
    plain = corner_rates(QuadraticRates.of(algorithm, law), [0.5, 1.0], "1/10", 1)
    large = QuadraticRates.of(algorithm.rescaled(unit), law)
    other = corner_rates(large, [0.5e-8, 1e-8], unit / 10, unit)
    assert plain == pytest.approx(other, rel=1e-12)
    assert plain[1] > 1.23

"""The instance of FedAvg's bias, judged by code of its own and by the plain loop."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from flverify._core.errors import DomainError, RefusedError
from flverify.algorithms import FedAvg, Focus
from flverify.certify.bias import Bias, Entry, worst_bias
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import certify
from flverify.participation import Bernoulli, Full, UniformCohort
from flverify.reference import fedavg

MU, SMOOTH, STEP = Fraction(1, 10), Fraction(1), Fraction(1, 10)


def _dot(a, b):
    return sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0))


def _minus(a, b):
    return [u - v for u, v in zip(a, b, strict=True)]


def _interpolable(table: tuple[Entry, ...], mu: Fraction, smooth: Fraction) -> bool:
    """The inequality as Taylor, Hendrickx and Glineur print it, for every pair."""
    for i in table:
        for j in table:
            if i is j:
                continue
            dx, dg = _minus(i.x, j.x), _minus(i.g, j.g)
            right = _dot(j.g, dx) + (
                _dot(dg, dg) / smooth
                + mu * _dot(dx, dx)
                - 2 * mu / smooth * _dot(dg, dx)
            ) / (2 * (1 - mu / smooth))
            if i.value - j.value < right:
                return False
    return True


def _stands_still(bias: Bias, n_clients: int, steps: int, step: Fraction) -> bool:
    """FedAvg with everybody, played by the plain loop, leaves b where it is."""

    def gradient(client, point):
        return {e.x: e.g for e in bias.table(client)[1:]}[tuple(point)]

    models = fedavg.run(
        gradient,
        n_clients,
        list(bias.point),
        [range(n_clients)],
        step_size=step,
        local_steps=steps,
    )
    return tuple(models[1]) == bias.point


@pytest.mark.parametrize(
    ("steps", "n_clients"), [(2, 2), (3, 2), (2, 3), (3, 3), (2, 5), (2, 6), (2, 9)]
)
def test_instance(steps: int, n_clients: int) -> None:
    bias = worst_bias(FedAvg(STEP, steps), Full(n_clients), MU, SMOOTH)
    assert all(_interpolable(table, MU, SMOOTH) for table in bias.clients)
    assert _stands_still(bias, n_clients, steps, STEP)
    rest = [bias.table(i)[0] for i in range(n_clients)]
    assert not any(x for entry in rest for x in entry.x)
    assert not any(map(sum, zip(*(entry.g for entry in rest), strict=True)))
    size = sum(_dot(entry.g, entry.g) for entry in rest) / n_clients
    assert bias.ratio == _dot(bias.point, bias.point) / size


@pytest.mark.parametrize("n_clients", [3, 5, 21])
def test_odd_numbers_of_clients_are_as_far_off_as_even_ones(n_clients: int) -> None:
    even = worst_bias(FedAvg(STEP, 2), Full(2), MU, SMOOTH).ratio
    odd = worst_bias(FedAvg(STEP, 2), Full(n_clients), MU, SMOOTH).ratio
    assert abs(odd / even - 1) < Fraction(1, 10**6)


def test_it_meets_the_certified_distance() -> None:
    bias = worst_bias(FedAvg(STEP, 2), Full(2), MU, SMOOTH)
    above = distance(FedAvg(STEP, 2), Full(2), MU, SMOOTH)
    assert above.constant is not None
    assert bias.ratio <= above.constant <= bias.ratio * Fraction(10001, 10000)


@pytest.mark.parametrize(
    ("step", "steps", "mu"), [("1/1000", 2, "1/10"), ("1/1000", 3, "1/100")]
)
def test_small_steps_have_an_instance_further_inside_the_class(step, steps, mu) -> None:
    bias = worst_bias(FedAvg(step, steps), Full(2), mu, SMOOTH)
    assert all(_interpolable(table, Fraction(mu), SMOOTH) for table in bias.clients)
    assert _stands_still(bias, 2, steps, Fraction(step))
    above = distance(FedAvg(step, steps), Full(2), mu, SMOOTH)
    assert above.constant is not None
    assert above.constant / 3 < bias.ratio <= above.constant


@pytest.mark.parametrize("step", ["1/10000", "1/1000000", "1/100000000"])
def test_short_steps_of_everybody_stay_near_in_proportion(step) -> None:
    # curvatures 1 and 1/10, gradients 1 and -1 at x* = 0: in the limit of short steps
    # x (1 + 1/10) = step (1 - 1/10)/2; and at step 1/10 c is .935 step^2
    found = distance(FedAvg(step, 2), Full(2), MU, SMOOTH)
    assert found.constant is not None
    shown, most = Fraction(9, 22) ** 2, Fraction(935, 1000)
    assert shown * Fraction(999, 1000) < found.constant / Fraction(step) ** 2 < most


@pytest.mark.parametrize("mu", ["1e-5", "1e-6"])
def test_flat_functions_have_a_distance_too(mu: str) -> None:
    bias = worst_bias(FedAvg(STEP, 2), Full(2), mu, SMOOTH)
    above = distance(FedAvg(STEP, 2), Full(2), mu, SMOOTH)
    assert above.constant is not None
    assert bias.ratio <= above.constant < 3 * bias.ratio


@pytest.mark.parametrize(("step", "steps"), [("1", 2), ("1/1000", 4)])
def test_flat_functions_have_one_for_other_steps(step: str, steps: int) -> None:
    assert distance(FedAvg(step, steps), Full(2), "1e-5", SMOOTH).constant is not None


def test_other_units() -> None:
    bias = worst_bias(FedAvg("1/30", 2), UniformCohort(4, 2), "3/10", 3)
    assert all(_interpolable(t, Fraction(3, 10), Fraction(3)) for t in bias.clients)
    assert _stands_still(bias, 4, 2, Fraction(1, 30))
    assert abs(float(bias.ratio) * 9 - 0.009349) < 1e-5


def test_what_does_not_survive_rounding_is_not_given() -> None:
    given, refused = 0, []
    for step, mu in product(("9/1000", "1/10", "24/10"), ("1/10", "1/2", "99/100")):
        try:
            bias = worst_bias(FedAvg(step, 2), Full(2), mu, SMOOTH)
        except RefusedError as error:
            refused.append(str(error))
            continue
        assert all(_interpolable(t, Fraction(mu), SMOOTH) for t in bias.clients)
        assert _stands_still(bias, 2, 2, Fraction(step))
        given += 1
    assert given >= 2
    assert refused
    assert all("must survive rounding" in reason for reason in refused)


def test_a_better_table_is_noticed() -> None:
    bias = worst_bias(FedAvg(STEP, 2), Full(2), MU, SMOOTH)
    table = bias.clients[0]
    lower = replace(table[1], value=table[1].value - Fraction(1, 100))
    assert not _interpolable((table[0], lower, *table[2:]), MU, SMOOTH)
    moved = replace(bias, point=tuple(2 * v for v in bias.point))
    with pytest.raises(KeyError):
        _stands_still(moved, 2, 2, STEP)


def test_what_has_no_instance() -> None:
    with pytest.raises(DomainError, match="two or more equal"):
        worst_bias(FedAvg(STEP, 2), Full(1), MU, SMOOTH)
    with pytest.raises(DomainError, match="two or more equal"):
        worst_bias(FedAvg(STEP, 2), Bernoulli(["1/2", "1/3"]), MU, SMOOTH)
    with pytest.raises(RefusedError, match="certify its rate"):
        worst_bias(Focus(STEP), Full(2), MU, SMOOTH)


@pytest.mark.parametrize("step", ["1/10", "1e-6"])
@pytest.mark.parametrize("mu", ["99/100", "9999/10000"])
def test_a_distance_is_tight_where_functions_are_nearly_alike(step, mu) -> None:
    # rounding added to c a part of the square of the unit, up to 60 million times c
    found = distance(FedAvg(step, 2), Full(2), mu, SMOOTH)
    assert found.constant is not None
    # curvatures 1 and mu, gradients 1 and -1, as above
    shown = ((1 - Fraction(mu)) / (1 + Fraction(mu)) / 2) ** 2
    most = Fraction(12, 10)
    assert Fraction(999, 1000) < found.constant / Fraction(step) ** 2 / shown < most


@pytest.mark.parametrize("steps", [1, 2])
def test_a_step_beyond_floats_gets_no_distance_and_no_warning(steps) -> None:
    for ask in (distance, contraction):
        found = ask(FedAvg("1e200", steps), UniformCohort(2, 1), "1/10", 1)
        assert found.status == "inconclusive"
    assert certify(FedAvg("1e200"), Full(2), "1/10", 1).status == "inconclusive"


def test_a_step_below_floats_has_no_instance_and_no_warning() -> None:
    with pytest.raises(RefusedError, match="must survive rounding"):
        worst_bias(FedAvg("1e-401", 2), Full(2), "1/10", 1)


@pytest.mark.parametrize("mu", ["1e-310", "1e-330"])
def test_curvature_below_floats_gets_no_distance(mu) -> None:
    found = distance(FedAvg("1/5", 2), UniformCohort(2, 1), mu, 1)
    assert (found.status, found.constant) == ("inconclusive", None)

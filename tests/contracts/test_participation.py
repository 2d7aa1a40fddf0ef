"""What holds for every participation law: run on the examples of every member.

Each contract is a function that says what it found wrong, or nothing. At the end
broken laws are planted and the contract that must object is checked to object.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from flverify._core import catalogue
from flverify._core.errors import DomainError, ShapeError
from flverify._core.sources import Source
from flverify.participation import Bernoulli, UniformCohort
from flverify.participation._law import Participation

PACKAGE = "flverify.participation"
MEMBERS = catalogue.member_names(PACKAGE)


def class_of(member):
    module = catalogue.load(PACKAGE, member)
    (name,) = module.__all__
    return getattr(module, name)


ZOO = [
    pytest.param(law, id=f"{member}-{number}")
    for member in MEMBERS
    for number, law in enumerate(class_of(member).examples())
]

every_member = pytest.mark.parametrize("member", MEMBERS)
every_law = pytest.mark.parametrize("law", ZOO)


# --- the catalogue


@every_member
def test_a_file_holds_the_one_class_of_its_name(member):
    law = class_of(member)
    assert re.sub(r"(?<=[a-z])(?=[A-Z])", "_", law.__name__).lower() == member
    assert issubclass(law, Participation)
    assert getattr(law, "__final__", False), "decorate the class with typing.final"
    assert isinstance(law.source, Source)
    assert dataclasses.is_dataclass(law)


@every_member
def test_every_member_has_small_exact_examples(member):
    examples = class_of(member).examples()
    assert examples
    for law in examples:
        assert type(law) is class_of(member)
        assert law.exact
        assert law.n_clients <= 4


# --- numbers


def by_definition(law, clients, power):
    """E[1{clients in S} / |S|^power], summed over the listed outcomes."""
    return sum(
        (
            chance / Fraction(len(outcome)) ** power if power else chance
            for outcome, chance in law.support().items()
            if clients <= outcome and (outcome or not power)
        ),
        Fraction(0),
    )


def outcomes_are_a_distribution(law):
    outcomes = law.support()
    if sum(outcomes.values()) != 1 or any(c <= 0 for c in outcomes.values()):
        return f"not a distribution: {outcomes}"
    if not all(s <= set(range(law.n_clients)) for s in outcomes):
        return f"clients that do not exist: {outcomes}"
    return ""


def moments_follow_the_definition(law):
    for size in range(law.n_clients + 1):
        for clients in combinations(range(law.n_clients), size):
            for power in range(4):
                value = law.moment(clients, power)
                if value != by_definition(law, frozenset(clients), power):
                    return f"moment({clients}, {power}) = {value}"
    return ""


def tables_are_moments(law):
    every = range(law.n_clients)
    singles = (law.inclusion(), law.averaging_weights())
    pairs = (law.joint_inclusion(), law.cross(), law.joint_averaging())
    for power, values in enumerate(singles):
        if values.tolist() != [law.moment((i,), power) for i in every]:
            return f"E[I_i / |S|^{power}] = {values}"
    for power, values in enumerate(pairs):
        expected = [[law.moment((i, j), power) for j in every] for i in every]
        if values.tolist() != expected:
            return f"E[I_i I_j / |S|^{power}] = {values}"
    return ""


def rationals_come_out(law):
    numbers = [law.moment((), 1), law.empty_probability(), law.nonempty_probability()]
    for name in ("inclusion", "averaging_weights", "cross", "joint_averaging"):
        numbers += getattr(law, name)().ravel().tolist()
    numbers += law.joint_inclusion().ravel().tolist()
    wrong = [n for n in numbers if not isinstance(n, Fraction)]
    return f"not rational: {wrong}" if wrong else ""


def weights_sum_to_the_nonempty_probability(law):
    total = sum(law.averaging_weights())
    empty = law.support().get(frozenset(), Fraction(0))
    if law.empty_probability() != empty or law.nonempty_probability() != 1 - empty:
        return f"P(empty) = {law.empty_probability()}, not {empty}"
    return "" if total == 1 - empty else f"sum q = {total}, P(empty) = {empty}"


def modes_mix_to_the_law(law):
    modes = law.modes()
    size = len(modes.laws)
    shares, transition = modes.stationary, modes.transition
    if sum(modes.initial) != 1 or any(sum(row) != 1 for row in transition):
        return "not stochastic"
    moved = [
        sum(shares[k] * transition[k][n] for k in range(size)) for n in range(size)
    ]
    if list(shares) != moved or sum(shares) != 1:
        return f"not stationary: {shares}"
    mixed = sum(s * m.inclusion() for s, m in zip(shares, modes.laws, strict=True))
    return "" if mixed.tolist() == law.inclusion().tolist() else "not the mixture"


# --- draws


def mask_is_well_formed(law):
    mask = law.sample(7, 3, range(60, 80))
    if mask.shape != (3, 20, law.n_clients) or mask.dtype != np.bool_:
        return f"shape {mask.shape}, dtype {mask.dtype}"
    nothing = [((0, 5), (0, 5)), ((2, 0), (2, 0)), ((range(1), range(-3)), (1, 0))]
    for (runs, rounds), shape in nothing:
        empty = law.sample(7, runs, rounds).shape
        if empty != (*shape, law.n_clients):
            return f"{runs} runs of {rounds} rounds: {empty}"
    return ""


def draws_do_not_depend_on_blocking(law):
    whole = law.sample(11, 7, 200)
    for runs, rounds in (
        (range(7), range(200)),
        (range(2, 5), range(50, 140)),
        (range(6, 7), range(199, 200)),
    ):
        part = law.sample(11, runs, rounds)
        if (part != whole[runs.start : runs.stop, rounds.start : rounds.stop]).any():
            return f"differs at {runs}, {rounds}"
    return ""


def seeds_differ(law):
    certain = len(law.support()) == 1 and len(law.modes().laws) == 1
    same = (law.sample(1, 4, 200) == law.sample(2, 4, 200)).all()
    return "" if certain or not same else "two seeds, one draw"


def frequencies_follow_the_modes(law, runs=4000, last=3):
    """In round r the outcomes follow initial @ transition^r, mixed over the modes."""
    masks = law.sample(17, runs, last + 1)
    modes = law.modes()
    shares = list(modes.initial)
    for step in range(last + 1):
        expected = {}
        for share, mode in zip(shares, modes.laws, strict=True):
            for outcome, chance in mode.support().items():
                expected[outcome] = expected.get(outcome, 0) + float(share * chance)
        drawn = {}
        for row in masks[:, step]:
            outcome = frozenset(np.flatnonzero(row).tolist())
            drawn[outcome] = drawn.get(outcome, 0) + 1
        for outcome in expected.keys() | drawn.keys():
            p, count = expected.get(outcome, 0.0), drawn.get(outcome, 0)
            sigma = (runs * p * (1 - p)) ** 0.5
            if abs(count - runs * p) > 5 * sigma + (2 if p else 0):
                return f"round {step}, {outcome}: {count} of {runs}, not {runs * p}"
        size = range(len(shares))
        shares = [sum(shares[k] * modes.transition[k][n] for k in size) for n in size]
    return ""


CONTRACTS = [
    outcomes_are_a_distribution,
    moments_follow_the_definition,
    tables_are_moments,
    rationals_come_out,
    weights_sum_to_the_nonempty_probability,
    modes_mix_to_the_law,
    mask_is_well_formed,
    draws_do_not_depend_on_blocking,
    seeds_differ,
    frequencies_follow_the_modes,
]


@every_law
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda c: c.__name__)
def test_contract(contract, law):
    assert contract(law) == ""


# --- objects and input


@every_law
def test_laws_are_values(law):
    twin = copy.deepcopy(law)
    assert twin == law
    assert hash(twin) == hash(law)
    assert law.spec
    assert "\n" not in law.spec
    assert len(repr(law)) < 120
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.n_clients = 5


@every_law
def test_clients_are_a_set(law):
    last = law.n_clients - 1
    assert law.moment([0, last, 0], 1) == law.moment({last, 0}, 1)
    assert law.moment((np.int64(0),), 1) == law.moment((0,), 1)


@every_law
@pytest.mark.parametrize("client", [-1, 99, True, 0.0, "0", None])
def test_bad_client(law, client):
    with pytest.raises(DomainError, match=r"client must be (an integer between )?0"):
        law.moment((client,), 1)


@every_law
@pytest.mark.parametrize("clients", [0, "01", None])
def test_bad_clients(law, clients):
    with pytest.raises(ShapeError, match="clients must be a collection"):
        law.moment(clients, 1)


@every_law
@pytest.mark.parametrize("power", [-1, True, 1.0, "1"])
def test_bad_power(law, power):
    with pytest.raises(DomainError, match="power must be an integer"):
        law.moment((0,), power)


@every_law
@pytest.mark.parametrize(
    "arguments",
    [
        {"seed": -1},
        {"seed": True},
        {"seed": 0.0},
        {"seed": 1 << 63},
        {"runs": -1},
        {"runs": 1.0},
        {"runs": range(-1, 1)},
        {"rounds": True},
        {"rounds": range(0, 10, 2)},
        {"rounds": range(5, 0, -1)},
    ],
)
def test_bad_sample(law, arguments):
    with pytest.raises(DomainError, match="must be"):
        law.sample(**{"seed": 0, "runs": 1, "rounds": 1, **arguments})


# --- the contracts object to broken laws


def planted(base, **methods):
    return type("Planted", (base,), methods)


def coins(**methods):
    return planted(Bernoulli, **methods)(("1/2", "1/3", "1/4"))


def cohort(**methods):
    return planted(UniformCohort, **methods)(3, 2)


ONLY_EMPTY = {frozenset(): Fraction(1, 2), frozenset((0,)): Fraction(1, 3)}


@pytest.mark.parametrize(
    ("contract", "law"),
    [
        (outcomes_are_a_distribution, coins(support=lambda _: ONLY_EMPTY)),
        (
            moments_follow_the_definition,
            # forgets that 1/|S| and membership are dependent
            coins(_moment=lambda law, a, k: law.inclusion()[min(a, default=0)] / 2**k),
        ),
        (tables_are_moments, coins(_vector=lambda law, _: np.array(law.probabilities))),
        (
            tables_are_moments,
            coins(_matrix=lambda law, _: np.outer(*[law._vector(1)] * 2)),
        ),
        (rationals_come_out, coins(_vector=lambda law, _: np.ones(law.n_clients))),
        (
            weights_sum_to_the_nonempty_probability,
            coins(empty_probability=lambda _: Fraction(0)),
        ),
        (mask_is_well_formed, cohort(masks=lambda _, u: u[..., :2] < 1)),
        (
            draws_do_not_depend_on_blocking,
            cohort(masks=lambda _, u: u <= np.median(u)),
        ),
        (seeds_differ, cohort(masks=lambda _, u: np.arange(3) < 2 + 0 * u)),
        (frequencies_follow_the_modes, coins(masks=lambda _, u: u < 0.4)),
        (
            frequencies_follow_the_modes,
            # right inclusion probabilities, wrong outcomes
            cohort(masks=lambda _, u: u < 2 / 3),
        ),
    ],
)
def test_a_planted_fault_is_found(contract, law):
    assert contract(law) != ""

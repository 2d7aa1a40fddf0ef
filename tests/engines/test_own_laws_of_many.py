"""Laws of a user's own with many clients: moments are compared with one another."""

from fractions import Fraction
from itertools import combinations
from math import perm

import numpy as np
import pytest

from flverify import moments, simulate
from flverify._core.errors import InputError, RefusedError
from flverify.algorithms import FedAvg
from flverify.engines.own_laws import require_consistent
from flverify.participation import (
    Bernoulli,
    ExplicitLaw,
    Full,
    ModeChain,
    NonEmpty,
    UniformCohort,
)
from flverify.participation._law import Modes, Participation, UniformDriven
from flverify.problems import Quadratics
from tests.testing.own import Ruled, two_aggregates

HALF, EPS = Fraction(1, 2), Fraction(1, 10**12)


class Cohort(UniformDriven):
    """Two of n clients, as in the package's law."""

    exact, spec, n_clients = True, "two", 8

    @property
    def right(self):
        return UniformCohort(self.n_clients, 2)

    def support(self):
        return self.right.support()

    def _moment(self, clients, power):
        return self.right._moment(clients, power)

    def masks(self, uniforms):
        return self.right.masks(uniforms)


class Many(Cohort):
    """Too many clients to list: the outcomes are not asked for."""

    n_clients = 30

    def support(self):
        raise AssertionError("nobody asks for outcomes of that many clients")


class Coins(UniformDriven):
    """Everybody by coins of their own: many outcomes."""

    exact, spec, n_clients = True, "coins", 10

    def support(self):
        every = range(self.n_clients)
        sets = (c for size in range(11) for c in combinations(every, size))
        return {frozenset(s): Fraction(1, 1024) for s in sets}

    def _moment(self, clients, power):
        return BERNOULLI._moment(clients, power)

    def masks(self, uniforms):
        return uniforms < HALF


BERNOULLI = Bernoulli([HALF] * 10)


class InFloats(Coins):
    exact = False

    def _moment(self, clients, power):
        return float(BERNOULLI._moment(clients, power))


class Unsaid(Many):
    """Moments alone are refused, as are draws."""

    def _moment(self, clients, power):
        del clients, power
        raise RefusedError("no moments.")

    def masks(self, uniforms):
        raise NotImplementedError


class Sizes(Cohort):
    """Moments of a cohort of random size, one of 1 to 4, without outcomes."""

    n_clients = 8

    def support(self):
        raise RefusedError("too many.")

    def _moment(self, clients, power):
        k, n = len(clients), self.n_clients
        chances = [Fraction(perm(m, k), perm(n, k)) / m**power for m in range(1, 5)]
        return sum(chances) / 4

    def masks(self, uniforms):
        raise NotImplementedError


def moment(cls, changed):
    """Change some moments of a law: of (clients, power) to a factor of them."""

    def _moment(self, clients, power):
        right = cls._moment(self, clients, power)
        return right * changed.get((len(clients), power), 1)

    return {"_moment": _moment}


def fewer(self):
    return {s: HALF * share for s, share in Cohort.support(self).items()}


def first_two(self, uniforms):
    out = np.zeros(uniforms.shape, dtype=bool)
    out[..., :2] = True
    return out


def neighbours(self, uniforms):
    """Every client as often as said, but pairs otherwise."""
    first = np.floor(uniforms[..., :1] * self.n_clients).astype(int)
    clients = np.arange(self.n_clients)
    return (clients == first) | (clients == (first + 1) % self.n_clients)


def unlike_any(self, clients, power):
    """Pairs too rare for events of probability 1/2, all else in bounds."""
    del self
    alone = {0: HALF, 1: Fraction(122, 1000), 2: Fraction(275, 10000)}
    pairs = {0: Fraction(15, 100), 1: Fraction(54, 1000), 2: Fraction(135, 10000)}
    return (alone if len(clients) == 1 else pairs)[power]


def almost(self, clients, power):
    return Coins._moment(self, clients, power) + (len(clients) > 1) * Fraction(1, 10**6)


def of_client_three(self, clients, power):
    right = Many._moment(self, clients, power)
    return right / 4 if clients == {3} and power == 0 else right


WRONG = {
    "sum": (Cohort, {"support": fewer}, "sum to 1; got the sum 1/2"),
    "pairs": (
        Cohort,
        moment(Cohort, {(2, 0): 1 + EPS}),
        r"moment\(\(0, 1\), 0\) of Wrong must be what support\(\) says, 1/28; got",
    ),
    "pairs of many outcomes": (
        Coins,
        {"_moment": almost},
        r"what support\(\) says, 0.",
    ),
    "draws": (Cohort, {"masks": first_two}, "client 0 with its probability 1/4"),
    "pairs drawn": (
        Cohort,
        {"masks": neighbours},
        "clients 0 and 1 together with their probability 1/28; they came in 0.1",
    ),
    "draws of many": (Many, {"masks": first_two}, "client 0 with its probability 1/15"),
    "above 1": (Many, moment(Many, {(1, 0): 30}), "must lie between 0 and 1, as of"),
    "negative": (Many, moment(Many, {(1, 0): -1}), "between 0 and 1, as of every law"),
    "one client": (Many, {"_moment": of_client_three}, r"\(\(3,\), 1\) of Wrong must"),
    "weights": (Many, moment(Many, {(1, 1): 40}), r"moment\(\(0,\), 1\) of Wrong must"),
    "row": (
        Many,
        moment(Many, {(1, 1): 1 - EPS}),
        r"moment\(\(0, j\), 1\) of Wrong must sum over the clients j to "
        r"moment\(\(0,\), 0\), 1/15, as of every law",
    ),
    "overlap": (
        Sizes,
        moment(Sizes, {(2, 0): 4, (2, 1): 2}),
        "clients 0 and 1 of Wrong must come together with a probability between 0 and",
    ),
    "squares": (Sizes, moment(Sizes, {(1, 2): 1 + EPS}), r"moment\(\(0, j\), 2\) of"),
    "covariance": (
        Sizes,
        {"_moment": unlike_any},
        "covariances of who comes must be those of some law; those of Wrong have",
    ),
    "table": (
        Cohort,
        {"averaging_weights": lambda _: np.array([HALF] * 8)},
        r"averaging_weights\(\) of Wrong must be what moment\(\) says, 1/8 for client",
    ),
    "shape of a table": (
        Cohort,
        {"cross": lambda _: np.ones(8)},
        r"cross\(\) of Wrong must have the shape \(8, 8\); got \(8,\)",
    ),
    "text": (Cohort, {"_moment": lambda *_: "1/4"}, "must be a number; got '1/4'"),
    "nothing": (Many, {"_moment": lambda *_: None}, "must be a number; got None"),
    "nan": (InFloats, {"_moment": lambda *_: float("nan")}, "must be finite; got nan"),
    "chances": (
        Cohort,
        {"support": lambda _: {frozenset({0}): None}},
        r"every probability of support\(\) of Wrong must be a number; got None",
    ),
    "no outcomes": (Cohort, {"support": lambda _: {}}, "must map frozensets of"),
}


@pytest.mark.parametrize(("law", "changed", "words"), WRONG.values(), ids=WRONG)
def test_laws_of_many_that_contradict_themselves(law, changed, words):
    with pytest.raises(InputError, match=words) as error:
        require_consistent(type("Wrong", (law,), changed)())
    assert "\n" not in str(error.value)


RIGHT = [Cohort, Many, Coins, InFloats, Unsaid, Sizes]


@pytest.mark.parametrize("law", RIGHT)
def test_laws_of_many_that_agree_with_themselves(law):
    require_consistent(law())


def test_triples_of_few_clients_are_compared():
    few = {"n_clients": 5} | moment(Cohort, {(3, 0): 2})
    three = {"right": property(lambda self: UniformCohort(self.n_clients, 3))}
    require_consistent(type("Right", (Cohort,), three | {"n_clients": 5})())
    with pytest.raises(InputError, match=r"moment\(\(0, 1, 2\), 0\) of Wrong must be"):
        require_consistent(type("Wrong", (Cohort,), few | three)())


def test_the_engines_ask():
    problem = Quadratics([[[1]], [[2]]] * 4, [[0], [2]] * 4)
    law = type("Wrong", (Cohort,), {"support": fewer})()
    for ask in (moments, lambda *given: simulate(*given, rounds=1, runs=1, seed=0)):
        with pytest.raises(InputError, match="sum to 1; got the sum 1/2"):
            ask(problem, FedAvg("1/4", 2), law)


def test_laws_made_of_wrong_laws():
    wrong = type("Wrong", (Cohort,), {"support": fewer})()
    chain = ModeChain((("1/2", "1/2"), (1, 0)), (UniformCohort(8, 1), wrong))
    for law in (chain, NonEmpty(wrong)):
        with pytest.raises(InputError, match="sum to 1; got the sum 1/2"):
            require_consistent(law)
    require_consistent(ModeChain((("1/2", "1/2"), (1, 0)), (Cohort(), Cohort())))
    require_consistent(NonEmpty(Cohort()))


def test_own_laws_with_modes_that_are_wrong():
    wrong = type("Wrong", (Cohort,), {"support": fewer})()
    chain = ModeChain((("1/2", "1/2"), (1, 0)), (Cohort(), wrong))
    own = type("Own", (Cohort,), {"modes": lambda _: chain.modes()})()
    with pytest.raises(InputError, match="sum to 1; got the sum 1/2"):
        require_consistent(own)


RARE = Bernoulli(["1/8"] * 3)
CHAIN = ModeChain((("1/8", "7/8"), ("3/4", "1/4")), (Full(3), RARE))


class Weather(Participation):
    """A law of one's own with the modes of a chain."""

    n_clients, exact, spec, chain = 3, True, "weather", CHAIN

    def support(self):
        return self.chain.support()

    def modes(self):
        return CHAIN.modes()

    def _moment(self, clients, power):
        return self.chain.moment(clients, power)

    def _draw(self, seed, runs, rounds):
        return self.chain.sample(seed, runs, rounds)


class Forgetful(Weather):
    """Draws every round from the stationary mode."""

    def _draw(self, seed, runs, rounds):
        drawn = [self.chain.sample(seed + r, runs, 1)[:, 0] for r in rounds]
        return np.stack(drawn, axis=1)


def test_own_laws_with_modes_are_what_their_modes_say():
    require_consistent(Weather())
    other = ModeChain(((0, 1), (1, 0)), CHAIN.laws)
    late = ModeChain(CHAIN.transition, CHAIN.laws, initial=1)
    for kind, chain, words in (
        (Weather, other, r"moment\(\(0,\), 0\) of Weather must be that of its"),
        (Weather, late, "must draw client 0 as modes"),
        (Forgetful, CHAIN, "in round 0 and . in round 1 as modes"),
    ):
        law = type(kind.__name__, (kind,), {"chain": chain})()
        with pytest.raises(InputError, match=words):
            require_consistent(law)


EITHER = tuple(ExplicitLaw({(i,): 1}, 2) for i in (0, 1))
EVEN, NINTH = (HALF, HALF), (Fraction(9, 20), Fraction(9, 20))
NO_CHAINS = {
    # of these 9/10 was an exact rate, since probability was lost in every round
    "rows": (EVEN, (NINTH, NINTH), EITHER, EVEN, "must sum to 1; got the sum 9/10"),
    "one row": (EVEN, (EVEN,), EITHER, EVEN, "one row and one column per law"),
    "three laws": (EVEN, (EVEN, EVEN), (*EITHER, Full(2)), EVEN, "one row and one col"),
    "initial": ((HALF, HALF / 2), (EVEN, EVEN), EITHER, EVEN, "initial must sum to 1"),
    "texts": (EVEN, (("1/2", "1/2"), EVEN), EITHER, EVEN, "of tuples of numbers"),
    "mode": (0, (EVEN, EVEN), EITHER, EVEN, "must return Modes of .* of tuples"),
    "clients": (EVEN, (EVEN, EVEN), (Full(3), Full(3)), EVEN, "must have its 2 clie"),
    "floats": (EVEN, ((0.5, 0.5), EVEN), EITHER, EVEN, "rationals where its exact is"),
    "stationary": (
        EVEN,
        ((1 - HALF / 4, HALF / 4), (HALF, HALF)),
        EITHER,
        EVEN,
        "stationary distribution of modes.. of Own must be that of its transition",
    ),
}


@pytest.mark.parametrize(
    ("initial", "transition", "laws", "stationary", "words"),
    NO_CHAINS.values(),
    ids=NO_CHAINS,
)
def test_own_modes_that_are_no_chain(initial, transition, laws, stationary, words):
    said = Modes(initial, transition, laws, stationary)
    chain = ModeChain((EVEN, EVEN), EITHER)
    own = type("Own", (Weather,), {"modes": lambda _: said, "chain": chain})()
    own.n_clients = 2
    with pytest.raises(InputError, match=words) as error:
        require_consistent(own)
    assert "\n" not in str(error.value)


def test_modes_that_are_none_are_refused():
    own = type("Own", (Weather,), {"modes": lambda _: (HALF, HALF)})()
    with pytest.raises(InputError, match="must return Modes"):
        moments(Quadratics([[[1]]] * 3, [[0]] * 3), FedAvg("1/4"), own)


THIRDS = {frozenset(range(k, k + 4)): Fraction(1, 3) for k in (0, 4, 8)}


class Thirds(Participation):
    """One of three groups of four clients; a law of many is not asked for outcomes."""

    exact, spec, n_clients = True, "thirds", 12
    said = THIRDS

    def support(self):
        return self.said

    def _moment(self, clients, power):
        shares = (
            share / len(s) ** power for s, share in THIRDS.items() if clients <= s
        )
        return sum(shares, Fraction(0))

    def _draw(self, seed, runs, rounds):
        keys = [[(seed, run, tick) for tick in rounds] for run in runs]
        drawn = [[np.random.default_rng(k).integers(3) for k in row] for row in keys]
        return np.stack([np.array(drawn) == i // 4 for i in range(12)], axis=-1)


QUARTER = Fraction(1, 4)
MISLISTED = {
    # of these an exact rate of 3/4 held
    "sum": (dict.fromkeys(THIRDS, QUARTER), "must be at least 0 and sum to 1; got the"),
    "negative": ({**THIRDS, frozenset(): -EPS}, "must be at least 0 and sum to 1"),
    "another": (
        {frozenset(range(4)): 1},
        "must be what support.. says, 1 for c",
    ),
    "stray": ({frozenset({12}): 1}, "must map frozensets of clients from 0 to 11"),
    "nothing": ({}, "must map frozensets of clients"),
    "none": (None, "must map frozensets of clients"),
    "text": ({frozenset(range(4)): "1"}, "support.. of Own must be a number"),
}


@pytest.mark.parametrize(("said", "words"), MISLISTED.values(), ids=MISLISTED)
def test_outcomes_of_many_clients_are_compared_where_they_are_read(said, words):
    problem = Quadratics([[[1 + i % 3]] for i in range(12)], [[i] for i in range(12)])
    assert moments(problem, Ruled(two_aggregates), Thirds())
    own = type("Own", (Thirds,), {"said": said})()
    with pytest.raises(InputError, match=words) as error:
        moments(problem, Ruled(two_aggregates), own)
    assert "\n" not in str(error.value)


def test_an_inclusion_of_other_clients_is_refused_where_outcomes_are_read():
    own = type("Own", (Thirds,), {"inclusion": lambda _: np.array([HALF] * 3)})()
    with pytest.raises(InputError, match="an entry for each of 12 clients; got 3"):
        own.listed()


def test_own_laws_made_of_another_are_compared_too():
    own = type("Own", (Cohort,), {"law": UniformCohort(8, 1), "support": fewer})()
    with pytest.raises(InputError, match="sum to 1; got the sum 1/2"):
        require_consistent(own)

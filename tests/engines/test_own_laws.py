"""A law of a user's own that contradicts itself is one sentence, not a number."""

from fractions import Fraction

import numpy as np
import pytest

from flverify import moments, simulate
from flverify._core.errors import InputError, RefusedError
from flverify.algorithms import FedAvg
from flverify.participation import Bernoulli, ModeChain
from flverify.participation._law import Participation
from flverify.problems import Quadratics
from flverify.testing import (
    Inconclusive,
    assert_averaging_weights,
    assert_error_bound,
    assert_stable,
)
from tests.testing.own import Ruled, two_aggregates

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
PROBLEM, ALGORITHM = Quadratics([[[1]], [[2]]], [[0], [2]]), FedAvg("1/4", 2)
ASK = {
    "moments": lambda law: moments(PROBLEM, ALGORITHM, law),
    "simulate": lambda law: simulate(PROBLEM, ALGORITHM, law, rounds=1, runs=1, seed=0),
    "assert_stable": lambda law: assert_stable(PROBLEM, ALGORITHM, law),
    "weights": lambda law: assert_averaging_weights(law, law.shares),
}


class Either(Participation):
    """One of two clients."""

    exact, spec, n_clients = True, "either", 2
    shares = (HALF, HALF)

    def support(self):
        return {frozenset({i}): share for i, share in enumerate(self.shares)}

    def _moment(self, clients, power):
        del power
        together = len(clients) > 1
        return Fraction(0) if together else sum(self.shares[i] for i in clients)

    def _draw(self, seed, runs, rounds):
        asked = [(run, tick) for run in runs for tick in rounds]
        coins = [np.random.default_rng((seed, *key)).random() for key in asked]
        first = np.reshape(coins, (len(runs), len(rounds))) < float(self.shares[0])
        return np.stack([first, ~first], axis=-1)


def draws_everybody(self, seed, runs, rounds):
    del self, seed
    return np.ones((len(runs), len(rounds), 2), dtype=bool)


def draws_one_client(self, seed, runs, rounds):
    return draws_everybody(self, seed, runs, rounds) & [True, False]


def draws_as_before(lag):
    """Draw coins for twice as many rounds: the later half repeats the first."""

    def draw(self, seed, runs, rounds):
        first = [r - r % (2 * lag) + r % lag for r in rounds]
        return Either._draw(self, seed, runs, first)

    return draw


def draws_for_two_runs(self, seed, runs, rounds):
    return Either._draw(self, seed, [run // 2 for run in runs], rounds)


def draws_floats(self, seed, runs, rounds):
    return draws_one_client(self, seed, runs, rounds).astype(float)


def draws_flat(self, seed, runs, rounds):
    return draws_everybody(self, seed, runs, rounds)[0]


def draws_in_a_row(self, seed, runs, rounds):
    coins = np.random.default_rng(seed).random((len(runs), len(rounds)))
    first = coins < float(self.shares[0])
    return np.stack([first, ~first], axis=-1)


def draws_by_round(self, seed, runs, rounds):
    return Either._draw(self, seed, [0] * len(runs), rounds)


def draws_by_run(self, seed, runs, rounds):
    return Either._draw(self, seed, runs, [0] * len(rounds))


def draws_in_turn(self, seed, runs, rounds):
    """Draw who begins, and then take turns."""
    begins = Either._draw(self, seed, runs, [0])[:, 0, :1]
    first = (begins + np.array(rounds)) % 2 == 0
    return np.stack([first, ~first], axis=-1)


def draws_shared_out(shares):
    """Draw client 0 with a share that depends on the round, half on average."""

    def draw(self, seed, runs, rounds):
        due = [shares(r) for r in rounds]
        asked = [[(seed, run, r) for r in rounds] for run in runs]
        first = [[np.random.default_rng(k).random() for k in row] for row in asked] < (
            np.array(due)
        )
        del self
        return np.stack([first, ~first], axis=-1)

    return draw


TOSSES = np.random.default_rng(0)


def tosses(self, seed, runs, rounds):
    del self, seed
    first = TOSSES.random((len(runs), len(rounds))) < 0.5
    return np.stack([first, ~first], axis=-1)


TINY = Fraction(1, 10**12)  # beside rationals, no rounding
NEEDED = {"exact", "spec", "shares", "support", "_moment", "_draw"}
WRONG = {
    "sum": ({"shares": (HALF, THIRD)}, "sum to 1; got the sum 5/6"),
    "almost": ({"shares": (HALF, HALF - TINY)}, "sum to 1; got the sum"),
    "negative": ({"shares": (3 * HALF, -HALF)}, "the smallest -1/2"),
    "outcome": ({"support": lambda _: {frozenset({7}): 1}}, "clients from 0 to 1"),
    "one outcome": (
        {"support": lambda _: {frozenset({0}): HALF, frozenset({1, 2}): HALF}},
        "clients from 0 to 1",
    ),
    "no mapping": ({"support": lambda _: [1]}, "must map frozensets of clients"),
    "moment": (
        {"_moment": lambda *_: THIRD},
        r"moment\(\(0,\), 0\) of Wrong must be what support\(\) says, 1/2; got 1/3",
    ),
    "almost the moment": (
        {"_moment": lambda self, *asked: Either._moment(self, *asked) * (1 + TINY)},
        r"must be what support\(\) says, 1/2; got 1000000000001/",
    ),
    "outside": ({"_draw": draws_everybody}, r"got \[0, 1\], which is none"),
    "too often": ({"_draw": draws_one_client}, "client 0 with its probability 1/2"),
    "floats": ({"_draw": draws_floats}, "must return an array of bool of shape"),
    "shape": ({"_draw": draws_flat}, r"bool of shape \(64, 2\)"),
    "impure": ({"_draw": tosses}, "must be a pure function of seed, run and round"),
    "in a row": ({"_draw": draws_in_a_row}, "runs 1 and 2 draw otherwise alone"),
    "every run": ({"_draw": draws_by_round}, "must draw every run anew"),
    "every round": ({"_draw": draws_by_run}, "must draw every round anew"),
    "in turn": (
        {"_draw": draws_in_turn},
        r"a round whatever those before were; client . and, 1 round later, client . "
        r"came in 0\.?\d* of 2048 pairs, not 0.25; use ModeChain",
    ),
    "as two rounds before": (
        {"_draw": draws_as_before(2)},
        r"client . and, 2 rounds later, client . came in 0\.?\d* of 2048 pairs",
    ),
    "as five rounds before": (
        {"_draw": draws_as_before(5)},
        r"client . and, 5 rounds later, client . came in 0\.?\d* of 1920 pairs",
    ),
    "as the run before": (
        {"_draw": draws_for_two_runs},
        r"must draw a run whatever those before were; client . and, 1 run later, ",
    ),
    "by turns": (
        {"_draw": draws_shared_out(lambda r: (0.35, 0.65)[r % 2])},
        r"of Wrong must draw every round by one law; in half of them client 0 came in "
        r"a share of 0\.3\d*, not 0.5; use ModeChain",
    ),
    "less and less": (
        {"_draw": draws_shared_out(lambda r: max(0.65 - r / 210, 0))},
        "of Wrong must draw every round by one law",
    ),
    "float moment": (
        {"_moment": lambda self, *asked: float(Either._moment(self, *asked))},
        "must be a rational, since its exact is True; got the float 0.5",
    ),
    "empty": (
        {"empty_probability": lambda _: HALF},
        r"empty_probability\(\) of Wrong must be what moment\(\) says, 0; got 1/2",
    ),
    "nonempty": (
        {"nonempty_probability": lambda _: HALF},
        r"nonempty_probability\(\) of Wrong must be what moment\(\) says, 1; got 1/2",
    ),
    "no spec": ({"spec": None}, "spec of Wrong must be a text"),
    "clients": ({"n_clients": 1.5}, "n_clients of Wrong must be an integer"),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("changed", "words"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_own_laws_that_contradict_themselves(ask, changed, words):
    with pytest.raises(InputError, match=words) as error:
        ask(type("Wrong", (Either,), changed)())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_own_laws_without_a_number_of_clients(ask):
    said = {k: v for k, v in vars(Either).items() if k in NEEDED}
    with pytest.raises(InputError, match="Wrong has none; set it"):
        ask(type("Wrong", (Participation,), said)())


class Rounded(Either):
    """Outcomes in floats beside moments in rationals."""

    shares = (Fraction(3, 10), Fraction(7, 10))

    def support(self):
        return {frozenset({i}): float(share) for i, share in enumerate(self.shares)}


LAWS = {"rational": Either(), "floats": Rounded()}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_own_laws_that_agree_with_themselves(ask, law):
    assert ask(law)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_clients", [2, 65])
def test_what_is_said_to_hold_names_how_far_a_law_was_compared(n_clients):
    class Any(Either):
        """One of the first two clients."""

        shares = (HALF, HALF, *[Fraction(0)] * (n_clients - 2))

        def _draw(self, seed, runs, rounds):
            drawn = Either._draw(self, seed, runs, rounds)
            return np.pad(drawn, [(0, 0), (0, 0), (0, n_clients - 2)])

    Any.n_clients = n_clients
    told = assert_averaging_weights(Any(), Any.shares).setting
    due = "compared with itself over 64 rounds" if n_clients == 2 else "not compared"
    assert f"(a law of your own, {due}" in told
    package = assert_averaging_weights(Bernoulli(["1/2", "1/2"]), ["3/8", "3/8"])
    assert "your own" not in package.setting
    problem = Quadratics([[[1]]] * n_clients, [[0]] * n_clients)
    chain = ModeChain([[HALF, HALF]] * 2, [Any(), Any()])
    for law in (Any(), chain):
        found = assert_stable(problem, FedAvg("1/4"), law, method="exact")
        assert f"(a law of your own, {due}" in found.setting


@pytest.mark.parametrize(
    ("verb", "method"),
    [("moments", "_moment"), ("weights", "_moment"), ("simulate", "_draw")],
)
def test_a_law_asked_for_what_it_does_not_answer_is_refused(verb, method):
    def silent(*asked):
        raise NotImplementedError

    law = type("Silent", (Either,), {method: silent})()
    with pytest.raises(RefusedError, match=rf"Silent must answer .* {method}\(\)"):
        ASK[verb](law)


@pytest.mark.slow
def test_a_law_without_moments_is_sampled():
    def silent(*asked):
        raise NotImplementedError

    law = type("Silent", (Either,), {"_moment": silent})()
    assert "sampling" in ASK["assert_stable"](law).answered_by


def test_a_law_that_lists_nothing_is_answered_by_its_moments_or_refused():
    def silent(*asked):
        raise NotImplementedError

    law = type("Silent", (Either,), {"support": silent})()
    assert (
        ASK["moments"](law).mean_square_rate
        == ASK["moments"](Either()).mean_square_rate
    )
    assert ASK["assert_stable"](law).status == ASK["assert_stable"](Either()).status
    with pytest.raises(RefusedError, match=r"Silent must answer .* support\(\)"):
        law.listed()


def test_outcomes_in_floats_are_no_rationals():
    # the floats next to 3/10 and 7/10 do not sum to 1: the exact curve was BROKEN
    in_rationals = type("Rational", (Either,), {"shares": Rounded.shares})()
    parts, begin, rounds = (PROBLEM, Ruled(two_aggregates)), [0], 3
    curve = moments(*parts, in_rationals).mean_square_error(begin, rounds)
    asked = {"bound": curve.__getitem__, "rounds": rounds, "start": begin}
    assert assert_error_bound(*parts, in_rationals, **asked, method="exact")
    with pytest.raises(Inconclusive, match="must list rationals, since its exact is"):
        assert_error_bound(*parts, Rounded(), **asked, method="exact")

"""What own laws say beyond a few pairs: outcomes that are read, tables, symbols."""

from fractions import Fraction

import pytest
import sympy

from flverify import moments, symbolic
from flverify._core.errors import InputError
from flverify.algorithms import FedAvg
from flverify.engines.own_laws import require_consistent
from flverify.participation import UniformCohort
from flverify.participation._law import Participation
from flverify.problems import Quadratics
from tests.testing.own import Ruled, two_aggregates

SIXTH = Fraction(1, 6)
MANY = Quadratics([[[1 + i % 3]] for i in range(12)], [[i] for i in range(12)])


class Two(Participation):
    """Two of n clients: moments, draws and tables of the package's law."""

    exact, spec, n_clients = True, "two", 12

    @property
    def right(self):
        return UniformCohort(self.n_clients, 2)

    def support(self):
        return self.right.support()

    def _moment(self, clients, power):
        return self.right._moment(clients, power)

    def _draw(self, seed, runs, rounds):
        return self.right._draw(seed, runs, rounds)


class Couples(Two):
    """Six couples: everybody comes as often, but never with another one."""

    def support(self):
        return {frozenset({2 * k, 2 * k + 1}): SIXTH for k in range(6)}


def test_pairs_of_outcomes_that_are_read_are_compared():
    assert moments(MANY, Ruled(two_aggregates), Two())
    with pytest.raises(InputError, match=r"moment\(\(0, 1\), 0\) of Couples must be"):
        moments(MANY, Ruled(two_aggregates), Couples())


class Fast(Two):
    """A table of its own, right or with one entry changed."""

    wrong = None, (0, 0)

    def _matrix(self, power):
        found = self.right._matrix(power).copy()
        if power == self.wrong[0]:
            found[self.wrong[1]] *= 2
        return found


@pytest.mark.parametrize("n_clients", [8, 12, 40])
@pytest.mark.parametrize("place", [(0, 0), (1, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_tables_that_are_written_are_compared_with_moments(n_clients, place, power):
    right = type("Right", (Fast,), {"n_clients": n_clients})()
    require_consistent(right)
    wrong = type("Wrong", (Fast,), {"n_clients": n_clients, "wrong": (power, place)})()
    with pytest.raises(InputError, match=r"\(\) of Wrong must be what moment\(\) says"):
        require_consistent(wrong)


P = sympy.Symbol("p", positive=True)
THREE = Quadratics([[[1]], [[2]], [[3]]], [[0], [2], [-1]])


class Apart(Participation):
    """Client 0 alone with probability p, clients 1 and 2 together otherwise."""

    n_clients, exact, spec = 3, True, "apart"
    rest, often = 1 - P, 1

    def support(self):
        return {frozenset({0}): P, frozenset({1, 2}): self.rest}

    def _moment(self, clients, power):
        shares = (
            share * Fraction(1, len(s)) ** power
            for s, share in self.support().items()
            if clients <= s
        )
        return self.often * sum(shares, sympy.Integer(0))

    def _draw(self, seed, runs, rounds):
        raise NotImplementedError


CONTRADICTIONS = {
    "a sum": ({"rest": Fraction(999, 1000) - P}, "sum to 1; got the sum 999/1000"),
    "moments": (
        {"often": Fraction(1, 2)},
        r"moment\(\(0,\), 0\) of Wrong must be what",
    ),
}


@pytest.mark.parametrize(
    ("changed", "words"), CONTRADICTIONS.values(), ids=CONTRADICTIONS
)
def test_symbols_are_compared_too(changed, words):
    found = symbolic(THREE, FedAvg("1/8"), Apart()).mean_fixed_point()[0]
    assert sympy.simplify(found - (P - 1) / (3 * P - 5)) == 0
    with pytest.raises(InputError, match=words):
        symbolic(THREE, FedAvg("1/8"), type("Wrong", (Apart,), changed)())

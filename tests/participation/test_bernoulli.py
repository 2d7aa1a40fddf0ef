"""Independent participation against all subsets, rationals, symbols and draws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import DomainError, RefusedError, ShapeError
from flverify.participation import Bernoulli, Full, _poisson_binomial

chances = st.fractions(0, 1, max_denominator=30) | st.sampled_from([0, 1])


def subsets(probabilities):
    outcomes = {}
    for bits in product((0, 1), repeat=len(probabilities)):
        chance = Fraction(1)
        for bit, p in zip(bits, probabilities, strict=True):
            chance *= p if bit else 1 - p
        outcomes[frozenset(i for i, bit in enumerate(bits) if bit)] = chance
    return outcomes


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(chances, min_size=1, max_size=5))
def test_equals_enumeration(equals_enumeration, p):
    equals_enumeration(Bernoulli(p), subsets(p))


def test_by_hand():
    # two fair coins: alone with 1/4 each, together with 1/4
    law = Bernoulli(("1/2", "1/2"))
    assert law.averaging_weights().tolist() == [Fraction(3, 8)] * 2
    assert law.joint_averaging().tolist() == [
        [Fraction(5, 16), Fraction(1, 16)],
        [Fraction(1, 16), Fraction(5, 16)],
    ]
    assert law.empty_probability() == Fraction(1, 4)


EXTREMES = [
    [0.3],
    [0.0, 1.0, 1e-9, 1 - 1e-9, 0.5],
    [1e-9] * 5,
    [1 - 1e-9] * 5,
    [0.0, 0.0, 1e-12],
    [1.0] * 4 + [1e-300],
    (1 - 10.0 ** -np.arange(1, 11)).tolist(),
    (2.0 ** -np.arange(12)).tolist(),
]


@pytest.mark.parametrize("p", EXTREMES)
def test_floats(p, floats_match):
    floats_match(Bernoulli(p), Bernoulli([Fraction(v) for v in p]))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_random_floats(floats_match, p):
    # a product of two probabilities below 1e-154 has no accurate float
    p = [v if v > 1e-100 else 0.0 for v in p]
    floats_match(Bernoulli(p), Bernoulli([Fraction(v) for v in p]))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("p", [0.5, 1e-3, 0.999, 1e-5])
def test_floats_at_a_hundred_thousand_equal_clients(p):
    # equal clients share P(S nonempty) equally
    n_clients = 100_000
    expected = -np.expm1(n_clients * np.log1p(-p)) / n_clients
    weights = Bernoulli([p] * n_clients).averaging_weights()
    assert abs(weights / expected - 1).max() < 1e-12


@pytest.mark.parametrize("power", [3, 40, 171, 1000])
@pytest.mark.parametrize(
    "p", [[0.5] * 3, [1.0] + [0.001] * 30, [0.9] * 6, [0.0, 1.0], [0.25]]
)
def test_floats_of_high_powers(p, power):
    floats, exact = Bernoulli(p), Bernoulli([Fraction(v) for v in p])
    for clients in ((), (len(p) - 1,), (0, len(p) - 1)):
        found, right = floats.moment(clients, power), exact.moment(clients, power)
        assert abs(Fraction(found) - right) <= right / 10**12
    pairs = floats._matrix(power)
    assert pairs[0, -1] == pytest.approx(floats.moment((0, len(p) - 1), power), 1e-12)


def test_floats_of_two_groups_of_a_thousand():
    # E[I_i / |S|] from the sizes of the groups, in integers
    low, high, size = Fraction(1, 64), Fraction(7, 8), 1000
    others = {low: (size - 1, size), high: (size, size - 1)}
    weights = Bernoulli([0.015625] * size + [0.875] * size).averaging_weights()
    for p, place in ((low, 0), (high, -1)):
        sizes = np.convolve(_binomial(others[p][0], low), _binomial(others[p][1], high))
        expected = float(p) * (sizes / np.arange(1, len(sizes) + 1)).sum()
        assert abs(weights[place] / expected - 1) < 1e-12


def _binomial(n, p):
    sizes, term = [], (1 - p) ** n
    for k in range(n + 1):
        sizes.append(float(term))
        term = term * (n - k) / (k + 1) * p / (1 - p)
    return np.array(sizes)


def test_symbols_agree_with_numbers():
    p, q = sympy.symbols("p q")
    law = Bernoulli((p, q, "1/3"))
    numbers = {p: sympy.Rational(1, 5), q: sympy.Rational(3, 4)}
    expected = Bernoulli(("1/5", "3/4", "1/3"))
    assert law.exact
    for name in ("inclusion", "averaging_weights", "cross", "joint_averaging"):
        values = [sympy.sympify(v).subs(numbers) for v in getattr(law, name)().flat]
        assert values == [sympy.Rational(v) for v in getattr(expected, name)().flat]
    q_sum = sum(law.averaging_weights())
    assert sympy.expand(q_sum + law.empty_probability()) == 1


def test_two_symbols_in_print():
    p, q = sympy.symbols("p q")
    weight = Bernoulli((p, q)).averaging_weights()[0]
    assert sympy.expand(weight - p * (1 - q / 2)) == 0


def test_symbolic_numbers_are_numbers():
    assert Bernoulli((sympy.Rational(1, 2),)) == Bernoulli(("1/2",))


def test_certain_clients_are_full_participation():
    ones, full = Bernoulli((1, 1, 1)), Full(3)
    assert ones.joint_averaging().tolist() == full.joint_averaging().tolist()


def test_relabelling(relabelled):
    p, order = (
        [Fraction(1, 5), Fraction(2, 3), Fraction(0), Fraction(1, 7)],
        (2, 0, 3, 1),
    )
    relabelled(Bernoulli(p), Bernoulli([p[i] for i in order]), order)


def test_drawing(frequencies_match):
    p = [Fraction(1, 5), Fraction(1, 2), Fraction(0), Fraction(1)]
    frequencies_match(Bernoulli(p), subsets(p))


def test_drawing_compares_uniforms():
    uniforms = np.array([0.0, 0.4999, 0.5, 0.999])
    mask = Bernoulli((0, 0.5, 0.5, 1)).masks(uniforms)
    assert mask.tolist() == [False, True, False, True]


def test_symbols_cannot_be_drawn():
    with pytest.raises(RefusedError, match="substitute"):
        Bernoulli((sympy.Symbol("p"),)).sample(0, 1, 1)


def test_large_support_is_refused():
    with pytest.raises(RefusedError, match="outcomes"):
        Bernoulli(["1/2"] * 17).support()
    certain = Bernoulli([1] * 40 + [0] * 40)
    assert certain.support() == {frozenset(range(40)): 1}


def test_notation():
    law = Bernoulli(("0.2", "1/2"))
    assert law.spec == "bernoulli:1/5,1/2"
    assert law == Bernoulli((Fraction(1, 5), Fraction(1, 2)))
    assert len({law, Bernoulli(["1/5", "0.5"])}) == 1
    assert len(repr(Bernoulli([0.125] * 1000))) < 100


@pytest.mark.parametrize(
    ("given_value", "error"),
    [
        ([], ShapeError),
        ([[0.5]], ShapeError),
        (0.5, ShapeError),
        ("1/2", ShapeError),
        ([1.5], DomainError),
        (["-1/2"], DomainError),
        ([float("nan")], DomainError),
        ([True], DomainError),
        ([None], DomainError),
        ([sympy.Symbol("p"), 0.5], DomainError),
        ([sympy.sqrt(3)], DomainError),
    ],
)
def test_bad_input(given_value, error):
    with pytest.raises(error, match="probabilities"):
        Bernoulli(given_value)


@pytest.mark.parametrize("power", [1, 2])
def test_members_alike_are_asked_once(monkeypatch, power):
    chances = (*[Fraction(1, 3)] * 5, *[Fraction(1)] * 2, *[Fraction(1, 7)] * 6)
    law = Bernoulli(chances)
    asked = []

    def counted(*given):
        asked.append(given)
        return plain(*given)

    plain = _poisson_binomial.moment
    monkeypatch.setattr(_poisson_binomial, "moment", counted)
    quick = law._vector(power), law._matrix(power)
    assert len(asked) < 15
    monkeypatch.setattr(_poisson_binomial, "_repeated", lambda _: False)
    for found, slow in zip(
        quick, (law._vector(power), law._matrix(power)), strict=True
    ):
        assert (found == slow).all()


def test_exact_pairs_of_too_many_kinds_are_refused():
    many = _poisson_binomial.MOST_DIFFERENT + 1
    law = Bernoulli([Fraction(1, 3 + k) for k in range(many)])
    with pytest.raises(RefusedError, match=f"at most 200 different .* got {many}"):
        law.joint_averaging()
    alike = Bernoulli([Fraction(1, 3)] * many)
    assert alike.joint_averaging()[0, 1] == alike.joint_averaging()[-1, 0]

"""Vector lemmas: proofs against dense numbers, false twins, checker against tampering.

Every lemma is written once for an algebra, and read twice: on formal vectors by the
prover, and on numbers (rational models, or random functions of R^4) by this file.
"""

import copy
import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from flverify._core.errors import InputError
from flverify.certify import gram
from flverify.certify.gram import (
    Certificate,
    Counterexample,
    Function,
    Lemma,
    Undecided,
    _check,
    average,
    bounded,
    descent,
    equal,
    given,
    inner,
    interpolation,
    jensen,
    lipschitz,
    number,
    prove,
    prove_each,
    square,
    tangent,
    vector,
    verify,
)
from flverify.certify.gram._functions import Hypothesis, Level, Slope
from flverify.certify.gram._models import Model, Shape
from tests.certify.false_claim import false_claim

F = Fraction
MU, L = F(1, 10), F(1)


@dataclass(frozen=True)
class Formal:
    """The algebra of the prover."""

    def vectors(self, *names):
        return [vector(name) for name in names]

    def function(self, name, smooth, curved):
        return Function(name, smooth, curved)

    def inner(self, u, v):
        return inner(u, v)


# Classical lemmas: (name, true constant, false constant, writer). A writer returns
# left, right and the vectors that are zero.


def young(a, c):
    u, v = a.vectors("u", "v")
    return 2 * a.inner(u, v), c * a.inner(u, u) + a.inner(v, v) / 3, ()


def three_terms(a, c):
    vs = a.vectors("u", "v", "w")
    s = vs[0] + vs[1] + vs[2]
    return a.inner(s, s), c * sum(a.inner(v, v) for v in vs), ()


def weighted_split(a, c):
    # |u + v|^2 <= |u|^2/rho + |v|^2/(1 - rho), step (90) of the FOCUS paper
    u, v = a.vectors("u", "v")
    return a.inner(u + v, u + v), a.inner(u, u) / F(2, 5) + c * a.inner(v, v), ()


def decrease(a, c):
    (x,) = a.vectors("x")
    f = a.function("f", L, -L)
    g = f.gradient(x)
    return f.value(x - g / L), f.value(x) - c * a.inner(g, g) / L, ()


def descent_lemma(a, c):
    x, y = a.vectors("x", "y")
    f = a.function("f", L, -L)
    right = f.value(x) + a.inner(f.gradient(x), y - x) + c * a.inner(y - x, y - x)
    return f.value(y), right, ()


def cocoercivity(a, c):
    x, y = a.vectors("x", "y")
    f = a.function("f", L, 0)
    g = f.gradient(x) - f.gradient(y)
    return a.inner(g, g), c * a.inner(g, x - y), ()


def monotone(a, c):
    x, y = a.vectors("x", "y")
    f = a.function("f", None, MU)
    g = f.gradient(x) - f.gradient(y)
    return c * a.inner(x - y, x - y), a.inner(g, x - y), ()


def dominated(a, c):
    x, star = a.vectors("x", "x*")
    f = a.function("f", L, MU)
    g = f.gradient(x)
    return c * (f.value(x) - f.value(star)), a.inner(g, g), (f.gradient(star),)


def smooth_bound(a, c):
    # |grad F|^2 <= 2 L (F - F*), step (80) of the FOCUS paper
    x, star = a.vectors("x", "x*")
    f = a.function("f", L, 0)
    g = f.gradient(x)
    return a.inner(g, g), c * (f.value(x) - f.value(star)), (f.gradient(star),)


def stepped(a, c, step, steps):
    x, star = a.vectors("x", "x*")
    f, p = a.function("f", L, MU), x
    for _ in range(steps):
        p = p - step * f.gradient(p)
    rate = (1 - step * MU) ** (2 * steps)
    right = c * rate * a.inner(x - star, x - star)
    return a.inner(p - star, p - star), right, (f.gradient(star),)


def short_step(a, c):
    return stepped(a, c, F(1, 2), 1)


def longest_step(a, c):
    return stepped(a, c, 2 / (MU + L), 1)


def two_steps(a, c):
    return stepped(a, c, F(2, 9), 2)


def worst_value(a, c):
    # f(x_1) - f* <= L |x_0 - x*|^2/6: no quadratic is a counterexample to 3/20
    x, star = a.vectors("x", "x*")
    f = a.function("f", L, 0)
    gap = f.value(x - f.gradient(x)) - f.value(star)
    return gap, c * a.inner(x - star, x - star), (f.gradient(star),)


def cross_term(a, c):
    # step (81) of the FOCUS paper with N = 2, eps = mu/2
    w, star, s = a.vectors("w", "x*", "s")
    f, g = a.function("f", None, MU), a.function("g", None, MU)
    total = f.gradient(w) + g.gradient(w)
    excess = f.value(w) - f.value(star) + g.value(w) - g.value(star)
    right = -2 * excess - 2 * MU * a.inner(w - star, w - star)
    right = right + MU * a.inner(w - star, w - star)
    return -2 * a.inner(w - star, s), right + c * a.inner(s - total, s - total), ()


def stale_gradients(a, c):
    # step (83): |sum grad f_i(w) - grad f_i(x_i)|^2 <= L^2 N sum |w - x_i|^2, N = 2
    w, x, y = a.vectors("w", "x", "y")
    f, g = a.function("f", L, -L), a.function("g", L, -L)
    s = f.gradient(w) - f.gradient(x) + g.gradient(w) - g.gradient(y)
    return a.inner(s, s), c * (a.inner(w - x, w - x) + a.inner(w - y, w - y)), ()


def focus_full(a, c):
    # Lemma 3 of the FOCUS paper at full participation, N = 2, tau = 1, eta = 1/50
    w, star, x, y = a.vectors("w", "x*", "x", "y")
    f, g = a.function("f", L, MU), a.function("g", L, MU)
    eta = F(1, 50)
    after = w - eta * (f.gradient(x) + g.gradient(y)) - star
    excess = f.value(w) - f.value(star) + g.value(w) - g.value(star)
    right = (1 - eta * MU) * a.inner(w - star, w - star)
    right = right - 2 * eta * (1 - 4 * eta * L) * excess
    spread = a.inner(w - x, w - x) + a.inner(w - y, w - y)
    right = right + c * eta * L**2 / MU * spread
    return a.inner(after, after), right, (f.gradient(star) + g.gradient(star),)


def fedavg_two(a, c):
    # one full round of FedAvg with one local step and two clients
    x, star = a.vectors("x", "x*")
    f, g = a.function("f", L, MU), a.function("g", L, MU)
    after = x - (f.gradient(x) + g.gradient(x)) / 2 - star
    zero = (f.gradient(star) + g.gradient(star),)
    return a.inner(after, after), c * a.inner(x - star, x - star), zero


LEMMAS = [
    (young, 3, F(29, 10)),
    (three_terms, 3, F(299, 100)),
    (weighted_split, F(5, 3), F(8, 5)),
    (decrease, F(1, 2), F(51, 100)),
    (descent_lemma, L / 2, F(49, 100)),
    (cocoercivity, L, F(9, 10)),
    (monotone, MU, F(11, 100)),
    (dominated, 2 * MU, F(21, 100)),
    (smooth_bound, 2 * L, F(19, 10)),
    (short_step, 1, F(999, 1000)),
    (longest_step, 1, F(999, 1000)),
    (two_steps, 1, F(999999, 1000000)),
    (worst_value, L / 6, F(3, 20)),
    (cross_term, 1 / MU, F(1, 100)),
    (stale_gradients, 2 * L**2, F(199, 100)),
    (focus_full, 16, F(1, 1000)),
    (fedavg_two, F(81, 100), F(8, 10)),
]
NAMED = [pytest.param(*row, id=row[0].__name__) for row in LEMMAS]


def lemma(write, constant):
    left, right, zero = write(Formal(), F(constant))
    return Lemma(left <= right, where=zero)


# The second reading: numbers


class Point(tuple):
    """A vector of rationals."""

    __slots__ = ()

    def __add__(self, other):
        return Point(u + v for u, v in zip(self, other, strict=True))

    def __sub__(self, other):
        return Point(u - v for u, v in zip(self, other, strict=True))

    def __mul__(self, factor):
        return Point(factor * u for u in self)

    __rmul__ = __mul__

    def __truediv__(self, divisor):
        return Point(u / divisor for u in self)


@dataclass(frozen=True)
class Bent:
    """f(u) = b u + int_0^u int_0^t h(|s|) ds dt, u = x - c, by its two pieces."""

    shape: object

    def gradient(self, point):
        (x,), (c,), (b,) = point, self.shape.centre, self.shape.tilt
        u, w = x - c, self.shape.width
        if w is None or abs(u) <= w:
            return Point([b + self.shape.inside * u])
        sign = 1 if u > 0 else -1
        bend = self.shape.inside * w + self.shape.outside * (abs(u) - w)
        return Point([b + sign * bend])

    def value(self, point):
        # the gradient is linear on each piece: integrate it by the midpoint rule
        (x,), (c,) = point, self.shape.centre
        w, total, start = self.shape.width, F(0), c
        knots = (
            [] if w is None else [k for k in (c - w, c + w) if c < k < x or x < k < c]
        )
        for stop in [*knots, x]:
            total += (stop - start) * self.gradient(Point([(start + stop) / 2]))[0]
            start = stop
        return total


@dataclass(frozen=True)
class Numeric:
    """The vectors and functions of a counterexample."""

    answer: Counterexample

    def vectors(self, *names):
        return [Point(self.answer.vectors[name]) for name in names]

    def function(self, name, smooth, curved):
        shapes = {f.name: shape for f, shape in self.answer.model.shapes.items()}
        shape = shapes[name]
        for h in (shape.inside, shape.outside):
            assert curved <= h
            assert smooth is None or h <= smooth
        return Bent(shape)

    def inner(self, u, v):
        return sum(a * b for a, b in zip(u, v, strict=True))


class Dense:
    """Random vectors of R^4 and random functions, in floats.

    f(x) = |x|_H^2/2 + sum of bent terms along coordinates: curvatures stay in range.
    """

    def __init__(self, seed, centred):
        self.random = np.random.default_rng(seed)
        self.centre = self.random.normal(size=4) if centred else None
        self.star = self.centre

    def vectors(self, *names):
        return [self.random.normal(size=4) if n != "x*" else self.star for n in names]

    def function(self, _name, smooth, curved):
        top = float(smooth) if smooth is not None else float(curved) + 5.0
        return Smooth(self, float(curved), top)

    def inner(self, u, v):
        return float(u @ v)


class Smooth:
    def __init__(self, dense, low, high):
        random = dense.random
        self.centre = (
            dense.centre if dense.centre is not None else random.normal(size=4)
        )
        basis, _ = np.linalg.qr(random.normal(size=(4, 4)))
        self.basis = basis
        ends = random.uniform(low, high, size=(2, 4))
        snapped = random.random(size=(2, 4)) < 0.5
        self.near, self.far = np.where(
            snapped, random.choice([low, high], (2, 4)), ends
        )
        self.width = random.uniform(0.1, 1.0)

    def gradient(self, point):
        u = self.basis.T @ (point - self.centre)
        close = np.clip(u, -self.width, self.width)
        return self.basis @ (self.near * close + self.far * (u - close))

    def value(self, point):
        u = np.abs(self.basis.T @ (point - self.centre))
        close = np.minimum(u, self.width)
        rest = u - close
        terms = self.near * close * (close / 2 + rest) + self.far * rest**2 / 2
        return float(terms.sum())


@pytest.mark.parametrize(("write", "true", "false"), NAMED)
def test_classical_lemmas_are_proved_and_hold_on_dense_numbers(write, true, false):
    answer = prove(lemma(write, true))
    assert isinstance(answer, Certificate)
    assert answer
    data = json.loads(json.dumps(answer.as_dict()))
    assert verify(data)
    assert all(weight > 0 for weight, _ in answer.squares)
    for seed in range(60):
        # x* is every function's own minimiser where a lemma has one
        left, right, _ = write(Dense(seed, centred=True), float(true))
        assert left <= right + 1e-9 * (1 + abs(left) + abs(right))


@pytest.mark.parametrize(("write", "true", "false"), NAMED)
def test_false_twins_are_refuted_by_numbers(write, true, false):
    answer = prove(lemma(write, false))
    assert isinstance(answer, Counterexample)
    assert not answer
    left, right, zero = write(Numeric(answer), F(false))
    assert not any(any(v) for v in zero)
    assert left - right == answer.left - answer.right > 0


@pytest.mark.parametrize("n", range(2, 6))
def test_jensen(n):
    vs = [vector(f"v{i}") for i in range(n)]
    weights = [F(2 * i + 1, n * n) for i in range(n)]
    left, right = square(average(vs, weights)), average(map(square, vs), weights)
    assert isinstance(prove(left <= right), Certificate)
    answer = prove(left <= F(999, 1000) * right)
    assert isinstance(answer, Counterexample)
    values = [answer.vectors[f"v{i}"][0] for i in range(n)]
    mean = sum(w * v for w, v in zip(weights, values, strict=True))
    spread = sum(w * v * v for w, v in zip(weights, values, strict=True))
    assert mean**2 > F(999, 1000) * spread


# Assumptions


def test_bounds_and_numbers_as_assumptions():
    a, b = vector("a"), vector("b")
    unit = (bounded(a, 1), bounded(b, 4))
    assert prove(Lemma(inner(a, b) <= 2, unit))
    answer = prove(Lemma(inner(a, b) <= F(19, 10), unit))
    assert isinstance(answer, Counterexample)
    u, v = answer.vectors["a"], answer.vectors["b"]
    assert sum(x * x for x in u) <= 1
    assert sum(x * x for x in v) <= 4
    assert sum(x * y for x, y in zip(u, v, strict=True)) > F(19, 10)


def test_the_subgradient_step_and_its_noise():
    # as in Lemma 2 of agnostic FedAvg without noise: eta^2 G^2
    x, star, G2 = vector("x"), vector("x*"), number("G2")
    f, eta = Function("f"), F(1, 3)
    g = f.gradient(x)
    moved = square(x - eta * g - star)
    right = square(x - star) - 2 * eta * (f.value(x) - f.value(star))
    bound = (given(square(g) <= G2),)
    assert prove(Lemma(moved <= right + eta**2 * G2, bound))
    answer = prove(Lemma(moved <= right + F(9, 10) * eta**2 * G2, bound))
    assert isinstance(answer, Counterexample)
    numeric = Numeric(answer)
    f = numeric.function("f", None, 0)
    x, star = numeric.vectors("x", "x*")
    slope, bound_at = f.gradient(x), answer.numbers["G2"]
    assert numeric.inner(slope, slope) <= bound_at
    step = x - eta * slope - star
    left = numeric.inner(step, step)
    right = numeric.inner(x - star, x - star) - 2 * eta * (f.value(x) - f.value(star))
    assert left > right + F(9, 10) * eta**2 * bound_at


def test_equalities_may_have_multipliers_of_either_sign():
    a, b = vector("a"), vector("b")
    orthogonal = (equal(inner(a, b), 0),)
    assert prove(Lemma(square(a + b) <= square(a) + square(b), orthogonal))
    assert prove(Lemma(square(a - b) <= square(a) + square(b), orthogonal))
    assert not prove(Lemma(square(a + b) <= square(a), orthogonal))


def test_dependent_zero_vectors_are_shifted_out():
    a, b, c = vector("a"), vector("b"), vector("c")
    where = (a + b - c, 2 * a + 2 * b - 2 * c, b - 3 * a)
    proof = prove(Lemma(square(c) <= 16 * square(a) + 0 * square(b), where=where))
    assert isinstance(proof, Certificate)
    assert verify(proof.as_dict())
    assert not prove(Lemma(square(c) <= 15 * square(a), where=where))


def test_listed_facts_alone():
    x, star = vector("x"), vector("x*")
    f = Function("f", 1)
    claim = square(f.gradient(x)) <= 2 * (f.value(x) - f.value(star))
    zero = (f.gradient(star),)
    few = Lemma(claim, (tangent(f, star, x),), zero, interpolate=False)
    answer = prove(few)
    assert isinstance(answer, Undecided)  # convexity alone does not give it,
    assert answer.reason  # and that refutes nothing
    below = x - f.gradient(x)
    enough = (descent(f, x, below), tangent(f, star, below))
    proof = prove(Lemma(claim, enough, zero, interpolate=False))
    assert isinstance(proof, Certificate)
    assert {h.kind for h, _ in proof.multipliers} <= {"descent", "tangent"}
    assert verify(proof.as_dict())


def test_lipschitz_and_jensen_as_facts():
    w, xs = vector("w"), [vector(f"x{i}") for i in range(3)]
    fs = [Function(f"f{i}", 2, -2) for i in range(3)]
    gaps = [f.gradient(w) - f.gradient(x) for f, x in zip(fs, xs, strict=True)]
    facts = (
        jensen(gaps),
        *(lipschitz(f, w, x) for f, x in zip(fs, xs, strict=True)),
    )
    right = 4 * 3 * sum(square(w - x) for x in xs)
    claim = square(sum(gaps)) <= right
    proof = prove(Lemma(claim, facts, interpolate=False))
    assert isinstance(proof, Certificate)
    assert verify(proof.as_dict())


def test_smaller_steps_of_the_focus_proof_chain():
    # (84): |g(z) - g(u)|^2 <= 2|g(z) - g(v)|^2 + 2|g(v) - g(u)|^2 <= 2L^2(...)
    z, v, u = vector("z"), vector("v"), vector("u")
    f = Function("f", 1, -1)
    left = square(f.gradient(z) - f.gradient(u))
    assert prove(left <= 2 * square(z - v) + 2 * square(v - u))
    assert not prove(left <= 2 * square(z - v) + square(v - u))


def test_a_list_of_instances():
    def contraction(step, rate):
        left, right, zero = stepped(Formal(), F(1), F(step), 1)
        del right
        x, star = vector("x"), vector("x*")
        return Lemma(left <= F(rate) * square(x - star), where=zero)

    grid = [
        {"step": "1/2", "rate": "361/400"},
        {"step": "3/2", "rate": "361/400"},
        {"step": "3/2", "rate": "289/400"},
        {"step": "19/10", "rate": "81/100"},
        {"step": "19/10", "rate": "80/100"},
    ]
    answers = prove_each(contraction, grid)
    # max{(1 - eta mu)^2, (1 - eta L)^2}
    assert [bool(answer) for _, answer in answers] == [True, True, True, True, False]
    assert [setting for setting, _ in answers] == grid


def test_tight_rates_of_random_classes_and_their_false_twins():
    # no interior to round in: |x+ - x*|^2 <= max{(1 - eta mu)^2, (1 - eta L)^2}^steps
    random = np.random.default_rng(5)
    for k in range(6):
        smooth = F(int(random.integers(1, 200)), int(random.integers(1, 30)))
        curved = smooth * F(int(random.integers(0, 100)), 100)
        eta, steps = F(int(random.integers(1, 200)), 100) / smooth, 1 + k % 2
        x, star, f = vector("x"), vector("x*"), Function("f", smooth, curved)
        p = x
        for _ in range(steps):
            p = p - eta * f.gradient(p)
        rate = max((1 - eta * curved) ** 2, (1 - eta * smooth) ** 2) ** steps
        for left, right in (
            (square(p - star), square(x - star)),
            (f.value(p) - f.value(star), f.value(x) - f.value(star)),
        ):
            zero = (f.gradient(star),)
            assert isinstance(
                prove(Lemma(left <= rate * right, where=zero)), Certificate
            )
            false = Lemma(left <= rate * F(99999, 100000) * right, where=zero)
            assert isinstance(prove(false), Counterexample)


X, Y = vector("x"), vector("y")
CURVED = Function("f", 1)

# what contradicts itself, why, and a lemma that would follow
IMPOSSIBLE = [
    (square(X) <= -1, (given(square(X) <= -2),), ()),
    (square(X) + 1 <= 0, (given(square(X) >= 1),), (X,)),
    (number("s") <= -5, (given(number("s") <= -1), given(number("s") >= 1)), ()),
    (0 * square(X) <= -1, (given(0 * square(X) - 1 >= 0),), ()),
    (
        inner(X, Y) <= 2,
        (equal(square(X), 2), equal(square(Y), 3), equal(inner(X, Y), 3)),
        (),
    ),
]


@pytest.mark.parametrize(("claim", "assumed", "zero"), IMPOSSIBLE)
def test_assumptions_that_contradict_each_other_prove_nothing(claim, assumed, zero):
    answer = prove(Lemma(claim, assumed, zero))
    assert isinstance(answer, Undecided)
    assert answer.reason == "the assumptions cannot hold together"


def test_assumptions_must_be_seen_to_hold_together():
    # inner products of |x|^2 = 0 and <x, y> >= 1 exist in the limit only: no multiplier
    # refutes them, and no model satisfies them
    narrow = (given(inner(X, Y) >= 1), given(square(X) <= 0))
    answer = prove(Lemma(square(X) <= 5, narrow))
    assert isinstance(answer, Undecided)
    assert "not shown" in answer.reason


@settings(max_examples=15, deadline=None)
@drawn(a=st.integers(1, 9), b=st.integers(1, 9), c=st.integers(1, 12))
def test_the_doubt_is_that_of_cauchy_and_schwarz(a, b, c):
    assumed = (bounded(X, a), bounded(Y, b), given(inner(X, Y) >= c))
    proved = isinstance(prove(Lemma(square(X) <= a, assumed)), Certificate)
    assert not (proved and c * c > a * b)
    assert proved or c * c >= a * b


@settings(max_examples=8, deadline=None)
@drawn(top=st.integers(1, 30))
def test_the_doubt_knows_the_class_of_a_function(top):
    # L = 1: |grad f(x) - grad f(y)|^2 <= |x - y|^2
    slope = CURVED.gradient(X) - CURVED.gradient(Y)
    assumed = (bounded(X - Y, 1), given(square(slope) >= F(top, 20)))
    proved = isinstance(prove(Lemma(square(X - Y) <= 1, assumed)), Certificate)
    assert not (proved and top > 20)
    assert proved or top >= 20


# irrational lengths, a number fixed by others, gradients: all can hold
POSSIBLE = [
    (
        inner(X, Y) <= 3,
        (equal(square(X), 2), equal(square(Y), 3), equal(inner(X, Y), 1)),
    ),
    (
        square(X) <= "1/2",
        (given(square(X) <= number("s")), equal(number("s"), "3/7")),
    ),
    (square(X) <= 2, (equal(square(CURVED.gradient(X)), 2), given(square(X) <= 2))),
    (square(X) <= 10**6, (bounded(X, 10**6), equal(square(Y), "1/1000"))),
]


@pytest.mark.parametrize(("claim", "assumed"), POSSIBLE)
def test_assumptions_that_can_hold_together_are_no_obstacle(claim, assumed):
    answer = prove(Lemma(claim, assumed))
    assert isinstance(answer, Certificate)
    assert verify(answer.as_dict())


@pytest.mark.parametrize(
    "assumed",
    [
        given(square(X) + 1 >= 0),  # nowhere tight
        equal(inner(X, Y), 0),
        equal(number("s"), 3),
    ],
)
def test_what_is_false_under_its_assumptions_is_refuted(assumed):
    answer = prove(Lemma(square(X + Y) <= square(X), (assumed,)))
    assert isinstance(answer, Counterexample)
    gap = answer.model.value(assumed.gap)
    assert gap == 0 if assumed.equality else gap >= 0


def test_values_of_functions_are_no_numbers_of_a_counterexample():
    f = Function("f", 1)
    answer = prove(f.value(X) <= number("s"))
    assert isinstance(answer, Counterexample)
    assert [*answer.numbers] == ["s"]
    assert answer.right == answer.numbers["s"] < answer.left
    (point,) = answer.model.vectors.values()
    assert answer.left == answer.model.shapes[f].level(point)


def test_what_is_false_in_the_plane_alone_is_refuted_there():
    # on the line a vector orthogonal to one that is not zero is zero
    w, assumed = vector("w"), (equal(inner(X, Y), 0), given(square(X) >= 1))
    answer = prove(Lemma(square(Y) + inner(w, Y) <= inner(w, Y), assumed))
    assert isinstance(answer, Counterexample)
    assert {len(point) for point in answer.vectors.values()} == {2}
    assert answer.left > answer.right


def test_shapes_have_the_slopes_and_levels_of_their_words():
    # 2 u + 3/2 u^2 for |u| <= 1, then curvature 5; u is the distance from 1
    bent = Shape((F(1),), (F(2),), F(3), F(5), F(1))
    slopes = {-3: -11, -1: -1, 0: 2, 1: 5, 3: 15}
    levels = {-3: "23/2", -1: "-1/2", 0: 0, 1: "7/2", 3: "47/2"}
    assert {u: bent.slope((F(u + 1),)) for u in slopes} == {
        u: (v,) for u, v in slopes.items()
    }
    assert {u: bent.level((F(u + 1),)) for u in levels} == {
        u: F(v) for u, v in levels.items()
    }
    plain = Shape((F(0), F(1)), (F(1), F(-1)), F(2), F(2))
    assert plain.level((F(0), F(1))) == 0
    assert plain.level((F(1), F(3))) == -1 + 5
    assert plain.slope((F(1), F(3))) == (3, 3)


@pytest.mark.parametrize(
    ("claim", "cancelled"),
    [
        (square(X) + square(Y) <= square(X), {"x"}),
        (CURVED.value(X) + square(Y) <= CURVED.value(X), {"x"}),
        (number("s") + square(Y) <= number("s"), set()),
        (square(CURVED.gradient(X)) + 1 <= square(CURVED.gradient(X)), {"x"}),
    ],
)
def test_what_cancels_is_given_a_value_in_a_counterexample(claim, cancelled):
    answer = prove(claim)
    assert isinstance(answer, Counterexample)
    assert cancelled <= set(answer.vectors)
    assert answer.left > answer.right
    assert answer.left == answer.model.value(claim.left)


@pytest.mark.parametrize(
    ("inside", "outside", "refuted"),
    [
        *((1, 1, True), (1, 2, True), (2, 1, True)),
        *((F(9, 10), 1, False), (1, F(9, 10), False), (3, 2, False), (2, 3, False)),
    ],
)
def test_a_function_outside_its_class_refutes_nothing(inside, outside, refuted):
    x, f = vector("x"), Function("f", 2, 1)
    lemma = square(f.gradient(x)) <= square(x) / 4  # false for curvatures from 1 to 2
    shape = Shape((F(0),), (F(0),), F(inside), F(outside), F(1))
    model = Model({"x": (F(1),)}, {}, {f: shape})
    assert model.refutes(lemma, (), ()) is refuted
    assert not model.refutes(lemma, (), (x,))  # x is to be zero


def test_numbers_beyond_the_range_of_floats_are_decided():
    huge, y = 10**400, vector("y")
    assert isinstance(prove(huge * square(X) <= 10 * huge * square(X)), Certificate)
    assert isinstance(prove(10 * huge * square(X) <= huge * square(X)), Counterexample)
    split = square(X + y) <= huge * square(X) + (1 + F(1, huge - 1)) * square(y)
    assert isinstance(prove(split), Certificate)
    false = square(X + y) <= huge * square(X) + square(y)
    assert isinstance(prove(false), Counterexample)
    f = Function("f", huge)
    slope = square(f.gradient(X) - f.gradient(y))
    assert isinstance(prove(slope <= huge**2 * square(X - y)), Certificate)
    assert isinstance(prove(slope <= huge * square(X - y)), Counterexample)
    assert isinstance(
        prove(Lemma(square(X) <= huge, (bounded(X, huge - 1),))), Certificate
    )


# The checker


@pytest.fixture(scope="module")
def proofs():
    return [prove(lemma(write, true)).as_dict() for write, true, _ in LEMMAS]


def test_every_changed_number_is_noticed(proofs):
    for proof in proofs:
        for path in numbers_of(proof):
            changed = copy.deepcopy(proof)
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = str(F(place[path[-1]]) + 1)
            assert not verify(changed) or harmless(proof, path), path


def numbers_of(data, path=()):
    """Paths to every number of a certificate."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from numbers_of(value, (*path, key))
    elif isinstance(data, list):
        for k, value in enumerate(data):
            yield from numbers_of(value, (*path, k))
    elif isinstance(data, str) and path[0] not in {"format", "statement"}:
        try:
            F(data)
        except ValueError:
            return
        yield path


def harmless(proof, path):
    """Numbers whose change leaves a true identity, looked at one by one.

    A constant of a class may be idle: an infinite or wider class, a constant that no
    fact of the proof contains, or the point of a symbol that is looked up nowhere.
    """
    if path[0] == "functions":
        kinds = [h for h in proof["hypotheses"] if h.get("function") == path[1]]
        return not kinds
    if path[0] in {"vectors", "values"}:
        used = json.dumps([proof["hypotheses"]])
        return path[1] not in used or len(proof["hypotheses"]) == 0
    # a zero vector with shift zero
    return path[0] == "zero" and not proof["shifts"][path[1]]


def test_damaged_certificates_are_rejected_with_a_reason(proofs):
    proof = next(p for p in proofs if p["hypotheses"] and p["squares"])
    f = next(iter(proof["functions"]))
    label = next(iter(proof["vectors"]))
    cyclic = {"gradient": f, "point": {"z": "1"}}
    wrong = [
        {**proof, "format": "other"},
        {**proof, "version": 2},
        {**proof, "slack": "-1"},
        {**proof, "slack": "nan"},
        {**proof, "slack": 0},
        {**proof, "squares": [["-1", {}]]},
        {**proof, "squares": proof["squares"][1:]},
        {**proof, "multipliers": proof["multipliers"][1:]},
        {**proof, "multipliers": [f"-{m}" for m in proof["multipliers"]]},
        {**proof, "hypotheses": [{**h, "kind": "magic"} for h in proof["hypotheses"]]},
        {**proof, "functions": {f: {"smoothness": "1", "strong_convexity": "1"}}},
        {**proof, "functions": {f: {"smoothness": "1", "strong_convexity": "-2"}}},
        {**proof, "functions": {f: {"smoothness": None, "strong_convexity": "-1"}}},
        {**proof, "functions": {}},
        {**proof, "vectors": {**proof["vectors"], "again": proof["vectors"][label]}},
        {**proof, "vectors": {**proof["vectors"], "": {"name": "z"}}},
        {**proof, "vectors": {}},
        {**proof, "vectors": {**proof["vectors"], "z": cyclic}},
        {key: value for key, value in proof.items() if key != "left"},
        {},
    ]
    for data in wrong:
        assert not verify(data)
        assert _check.fault(data)
    assert _check.fault(proof) == ""


@pytest.mark.parametrize("zero", ["0.0", "0e1", " 0", "0_0", "+0", "\u0660"])
def test_a_number_is_written_as_a_fraction_and_in_no_other_way(proofs, zero):
    assert F(zero) == 0
    assert "is no fraction" in _check.fault({**proofs[0], "slack": zero})


@pytest.mark.parametrize(
    ("smoothness", "strong_convexity"), [(None, "-1"), ("1", "1"), ("1", "-2")]
)
def test_a_class_that_no_fact_needs_must_exist_too(
    proofs, smoothness, strong_convexity
):
    entry = {"smoothness": smoothness, "strong_convexity": strong_convexity}
    functions = {**proofs[0]["functions"], "unused": entry}
    found = _check.fault({**proofs[0], "functions": functions})
    assert "must have -L <= mu < L" in found


def test_a_point_is_the_same_whatever_zeros_it_lists(proofs):
    proof = next(p for p in proofs if "gradient" in str(p["vectors"]))
    entry = next(e for e in proof["vectors"].values() if "gradient" in e)
    other = next(k for k in proof["vectors"] if k not in entry["point"])
    again = {**entry, "point": {**entry["point"], other: "0"}}
    vectors = {**proof["vectors"], "again": again}
    assert "is defined twice" in _check.fault({**proof, "vectors": vectors})


def test_a_pair_of_unknown_vectors_is_refused_as_such(proofs):
    pairs = [*proofs[0]["left"]["pairs"], ["nobody", "nobody", "0"]]
    left = {**proofs[0]["left"], "pairs": pairs}
    assert "unknown vectors in nobody" in _check.fault({**proofs[0], "left": left})


def test_an_equality_flag_does_not_free_other_facts():
    x = {"x": "1"}
    base = false_claim(
        statement="0 <= -<x, x> given -<x, x> >= 0",
        vectors={"x": {"name": "x"}, "y": {"name": "y"}},
        multipliers=["-4"],
    )
    # with v = (x, -x): mean 0, so the gap is |x|^2; -4 times a quarter would do
    flagged = {
        "kind": "jensen",
        "vectors": [x, {}],
        "weights": ["1/2", "1/2"],
        "equality": True,
    }
    assert not verify({**base, "hypotheses": [flagged]})
    assert "negative multiplier" in _check.fault({**base, "hypotheses": [flagged]})
    for weights in (["1/2", "1"], ["2", "-1"]):
        bad = {**flagged, "weights": weights}
        assert not verify({**base, "multipliers": ["1"], "hypotheses": [bad]})
    plain = {"kind": "given", "gap": base["right"], "equality": False}
    assert verify({**base, "multipliers": ["1"], "hypotheses": [plain]})
    assert not verify({**base, "multipliers": ["-1"], "hypotheses": [plain]})


@pytest.mark.parametrize(
    ("weights", "vectors"), [(["2"], [{"x": "1"}]), (["2", "-1"], [{"x": "1"}, {}])]
)
def test_no_weights_but_those_of_a_mean_give_the_inequality_of_jensen(weights, vectors):
    # by these the gap would be -2 |x|^2, and half of it would do
    mean = {"kind": "jensen", "vectors": vectors, "weights": weights}
    false = false_claim(hypotheses=[mean], multipliers=["1/2"])
    assert "weights are not nonnegative of sum 1" in _check.fault(false)


def test_the_statement_is_written_anew_from_the_data(proofs):
    for proof in proofs:
        assert verify(proof)
        for text in ("", "0 <= 1", proof["statement"] + " ", None):
            assert not verify({**proof, "statement": text})
        assert not verify({k: v for k, v in proof.items() if k != "statement"})


def test_assumptions_and_zero_vectors_are_part_of_the_statement():
    a, b = vector("a"), vector("b")
    unused = given(square(b) >= 1)
    assumed = (bounded(a, 1), unused, equal(inner(a, b), 0))
    proof = prove(Lemma(square(a) <= 2, assumed, (vector("c") - a - b,)))
    assert isinstance(proof, Certificate)
    data = proof.as_dict()
    assert verify(data)
    assert proof.statement.endswith("-1 + <b, b> >= 0, <a, b> = 0, -a - b + c = 0")
    assert "[-1 + <b, b> >= 0]" not in str(proof)  # it is not used
    gap = {"pairs": [], "values": {}, "constant": "-1"}
    false = {"kind": "given", "gap": gap, "equality": False}
    hidden = {
        **data,
        "hypotheses": [*data["hypotheses"], false],
        "multipliers": [*data["multipliers"], "0"],
    }
    assert not verify(hidden)
    assert "-1 >= 0" in _check.fault(hidden)
    fewer = {**data, "zero": [], "shifts": []}
    assert not verify(fewer)


@pytest.mark.parametrize(
    "name",
    ["", "-a", "a + b", "x, x> <= 0 given <y", "s = 0", "a given b", "2 f", 3],
)
def test_a_name_cannot_be_taken_for_a_formula(name):
    proof = prove(square(X) <= 2 * square(X)).as_dict()
    vectors = {label: {"name": name} for label in proof["vectors"]}
    shown = f"<{name}, {name}> <= 2 <{name}, {name}>"
    assert not verify({**proof, "vectors": vectors, "statement": shown})
    vectors = {label: {"name": "any name"} for label in proof["vectors"]}
    shown = "<any name, any name> <= 2 <any name, any name>"
    assert verify({**proof, "vectors": vectors, "statement": shown})


def test_two_symbols_of_one_name_are_no_statement():
    g, z = CURVED.gradient(X), vector("z")
    proof = prove(inner(g, z) <= square(g) + square(z)).as_dict()
    assert verify(proof)
    label = next(k for k, v in proof["vectors"].items() if v.get("name") == "z")
    alike = {**proof["vectors"], label: {"name": "grad f(x)"}}
    shown = proof["statement"].replace("z", "grad f(x)")
    changed = {**proof, "vectors": alike, "statement": shown}
    assert "the same name" in _check.fault(changed)
    for other in (vector("grad f(x)"), Function("f", 2).gradient(X)):
        with pytest.raises(InputError, match="names of their own"):
            prove(inner(g, other) <= square(g) + square(other))
    with pytest.raises(InputError, match="names of their own"):
        prove(square(vector(1)) <= square(vector("1")))


@pytest.mark.parametrize("used", [True, False])
def test_points_nested_too_deeply_are_rejected(used):
    proof = prove(square(X) <= 2 * square(X)).as_dict()
    (start,) = proof["vectors"]
    chain = {start: proof["vectors"][start]}
    for k in range(3000):
        chain[f"n{k}"] = {"gradient": "f", "point": {[*chain][-1]: "1"}}
    functions = {"f": {"smoothness": "1", "strong_convexity": "0"}}
    nested = {**proof, "functions": functions}
    if used:
        side = {"pairs": [["n2999", "n2999", "1"]], "values": {}, "constant": "0"}
        both = {"left": side, "right": side, "squares": []}
        nested = {**nested, **both, "vectors": chain, "statement": "x" * 10**6}
    else:
        nested["vectors"] = dict(reversed(chain.items()))
    assert not verify(nested)
    assert "nested too deeply" in _check.fault(nested)


def test_a_wrong_formula_in_the_prover_proves_nothing(monkeypatch):
    def generous(f, x, y):
        honest = interpolation(f, x, y)
        gap = honest.gap - square(f.gradient(x) - f.gradient(y)) / 20
        return Hypothesis("interpolation", (f, x, y), gap)

    monkeypatch.setattr(gram, "interpolation", generous)
    left, right, zero = cocoercivity(Formal(), F(19, 20))  # false
    claim = Lemma(left <= right, where=zero)
    monkeypatch.setattr(gram, "by_forms", lambda *_: (None, []))  # nor any model
    monkeypatch.setattr(gram, "by_chance", lambda *_: None)
    answer = prove(claim)
    assert isinstance(answer, Undecided)
    assert "checker rejects" in answer.reason


# Random lemmas, and facts on random functions


@settings(max_examples=60, deadline=None)
@drawn(seed=st.integers(0, 10**6), shift=st.integers(-3, 12))
def test_random_forms_are_decided_as_eigenvalues_say(seed, shift):
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 5))
    root = random.integers(-2, 3, size=(size, int(random.integers(1, 4))))
    form = root @ root.T + shift * np.diag(random.integers(0, 2, size=size))
    names = [vector(f"v{k}") for k in range(size)]
    terms = [
        int(form[i, j]) * inner(names[i], names[j])
        for i in range(size)
        for j in range(size)
    ]
    answer = prove(0 * square(names[0]) <= sum(terms))
    lowest = np.linalg.eigvalsh(form.astype(float))[0]
    if lowest > -1e-9:
        assert isinstance(answer, Certificate)
    else:
        assert isinstance(answer, Counterexample)
        point = [answer.vectors.get(f"v{k}", (F(0),))[0] for k in range(size)]
        assert np.array(point) @ form.astype(object) @ np.array(point) < 0


@settings(max_examples=40, deadline=None)
@drawn(seed=st.integers(0, 10**6), mu=st.integers(-4, 3))
def test_facts_hold_on_random_functions(seed, mu):
    dense = Dense(seed, centred=False)
    f = Function("f", 4, mu)
    numeric = dense.function("f", F(4), F(mu))
    x, y = vector("x"), vector("y")
    known = {"x": dense.random.normal(size=4), "y": dense.random.normal(size=4)}
    facts = [make(f, x, y) for make in (interpolation, descent, tangent, lipschitz)]
    smooth = Function("f", None, max(mu, 0))
    for fact in [*facts, jensen([x, y, x - y], ["1/2", "1/3", "1/6"])]:
        assert value_of(fact.gap, known, numeric) >= -1e-9
    if mu >= 0:
        gap = interpolation(smooth, x, y).gap
        assert value_of(gap, known, numeric) >= -1e-9


def value_of(expression, known, f):
    def at(v):
        return sum((float(c) * symbol(s) for s, c in v.terms), start=np.zeros(4))

    def symbol(s):
        return f.gradient(at(s.point)) if isinstance(s, Slope) else known[s]

    total = float(expression.constant)
    total += sum(float(c) * (symbol(a) @ symbol(b)) for (a, b), c in expression.pairs)
    for s, c in expression.scalars:
        assert isinstance(s, Level)
        total += float(c) * f.value(at(s.point))
    return total


def test_interpolation_is_as_strong_as_it_can_be():
    # tight for |.|^2 mu/2 and |.|^2 L/2, and for a bend between x and y
    for h in (MU, L):
        f, x, y = Function("f", L, MU), vector("x"), vector("y")
        dense = Dense(1, centred=False)
        numeric = dense.function("f", h, h)
        known = {"x": dense.random.normal(size=4), "y": dense.random.normal(size=4)}
        gap = value_of(interpolation(f, x, y).gap, known, numeric)
        assert abs(gap) < 1e-12


# Misuse


@pytest.mark.parametrize(
    ("write", "word"),
    [
        (lambda: Function("f", 1, 1), "mu < L"),
        (lambda: Function("f", 1, -2), "mu < L"),
        (lambda: Function("f", None, -1), "mu >= 0"),
        (lambda: Function("f", 0.5), "rational"),
        (lambda: descent(Function("f"), vector("x"), vector("y")), "smooth"),
        (lambda: lipschitz(Function("f"), vector("x"), vector("y")), "smooth"),
        (lambda: jensen([vector("x")], ["1/2"]), "sum 1"),
        (lambda: jensen([]), "nonempty|some items"),
        (lambda: bounded(vector("x"), 0.1), "rational"),
        (lambda: prove(square(X)), "an inequality; got the expression <x, x>; write"),
        (lambda: prove(Lemma(square(vector("x")) <= 1, (1,))), "Hypothesis"),
        (lambda: prove(Lemma(square(vector("x")) <= 1, (), (1,))), "Vector"),
        (lambda: prove(two_of_a_name()), "names of their own"),
        (lambda: prove(None), "an inequality; got None"),
        (lambda: prove(True), "an inequality; got True"),
        (lambda: X <= Y, "between numbers; got the vector x and the vector y; take"),
        (lambda: Y > X, "between numbers; got the vector y and the vector x; take"),
        (lambda: X <= 1, "between numbers; got the vector x and 1; take"),
        (lambda: X * Y, "must be a number; got the vector y"),
        (lambda: square(square(X)), "of two vectors; got the expression <x, x>"),
        (lambda: CURVED.gradient(square(X)), "a vector; got the expression <x, x>;"),
        (lambda: Lemma(square(X) <= 1, where=X), "tuple of Vector"),
        (lambda: Lemma(square(X) <= 1, given(square(X) <= 1)), "tuple of Hypothesis"),
        (lambda: Lemma(square(X) <= 1, None), "tuple of Hypothesis"),
        (lambda: jensen(X), "tuple of Vector"),
        (lambda: jensen(None), "tuple of Vector"),
        (lambda: jensen([1, 2]), "Vector"),
        (lambda: jensen([X, Y], 3), "list of numbers"),
        (lambda: square(X) / 0, "zero"),
        (lambda: X / 0, "zero"),
        (lambda: given(True), "an inequality"),
        (lambda: given(square(X)), "an inequality"),
        (lambda: equal(X, Y), "where"),
        (lambda: equal(square(X), None), "a number"),
        (lambda: CURVED.value(3), "must be a vector"),
        (lambda: CURVED.gradient(None), "must be a vector"),
        (lambda: interpolation(None, X, Y), "Function"),
        (lambda: tangent(CURVED, 1, 2), "must be a vector"),
        (lambda: Function(3), "name"),
        (lambda: vector([1]), "hashable"),
        (lambda: prove_each(lambda: None, 3), "settings"),
        (lambda: prove_each(lambda: None, [3]), "settings"),
        (lambda: prove_each(3, [{}]), "function"),
    ],
)
def test_misuse_says_what_to_do(write, word):
    with pytest.raises(InputError, match=word):
        write()


def test_lists_that_can_be_read_once_are_read_once():
    facts = (given(square(v) <= 1) for v in (X, Y))
    once = Lemma(square(X) <= 1, facts, (v for v in (Y,)))
    assert str(once) == "<x, x> <= 1 given 1 - <x, x> >= 0, 1 - <y, y> >= 0, y = 0"
    weights = (w for w in ("1/4", "3/4"))
    assert jensen((v for v in (X, Y)), weights) == jensen([X, Y], ["1/4", "3/4"])


def two_of_a_name():
    x = vector("x")
    f, g = Function("f", 1), Function("f", 2)
    return square(f.gradient(x) - g.gradient(x)) <= 9 * square(x)

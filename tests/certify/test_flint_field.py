"""Quotients that flint reduces are those that sympy reduces."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
import sympy

from flverify.certify import coefficients
from flverify.certify._scalar import flint_field, search
from flverify.certify._scalar.flint_field import Field, Ring
from flverify.certify._scalar.quotients import (
    Quotients,
    by_powers,
    monomials,
    reduced,
    replaced,
    without_positive_factors,
)

SYMBOLS = sympy.symbols("x y z")
x, y, z = SYMBOLS
QUICK, SLOW = Quotients(SYMBOLS, quick=True), Quotients(SYMBOLS)


def polynomial(draw):
    def monomial():
        number = sympy.Rational(draw.randint(-6, 6), draw.choice([1, 2, 3, 6]))
        return number * sympy.prod(s ** draw.randint(0, 2) for s in SYMBOLS)

    return sum((monomial() for _ in range(draw.randint(1, 4))), sympy.Integer(0))


def expressions(draw):
    """Sums, products and powers of quotients, with factors in common."""
    common = polynomial(draw) or x
    above, below = polynomial(draw), polynomial(draw) or y
    quotient = common * above / (common * below)
    other = polynomial(draw) / (below * (z + 1))
    yield from (quotient, quotient + other, quotient - other, quotient * other)
    yield quotient ** draw.randint(1, 3)
    if above:
        yield quotient ** -draw.randint(1, 3)


def ends(quotient):
    return monomials(quotient.numer), monomials(quotient.denom)


@pytest.mark.slow
def test_both_reduce_to_the_same():
    draw = Random(1)
    compared = 0
    for _ in range(60):
        for e in expressions(draw):
            quick, slow = QUICK.of(e), SLOW.of(e)
            assert ends(quick) == ends(slow), e
            assert quick.as_expr().equals(slow.as_expr())
            compared += 1
    assert compared >= 300


def test_both_put_the_same_in_place_of_a_symbol():
    draw = Random(2)
    for _ in range(60):
        e, value = polynomial(draw) / (polynomial(draw) or x), polynomial(draw)
        value = value / (polynomial(draw) or z)
        found = []
        for quotients in (QUICK, SLOW):
            put = quotients.of(value)
            try:
                found.append(ends(replaced(quotients.of(e), x, put, quotients)))
            except ZeroDivisionError:
                found.append(None)
        assert found[0] == found[1], (e, value)


def test_both_leave_out_the_same_factors():
    draw = Random(3)
    signs = {x: ">", y: ">="}
    for _ in range(60):
        factors = [polynomial(draw) or x for _ in range(3)]
        e = sympy.prod(factors) * draw.choice([1, -1, 2, sympy.Rational(-1, 3)])
        for nonzero in (False, True):
            quick, slow = (
                without_positive_factors(q.of(e).numer, signs, nonzero)
                for q in (QUICK, SLOW)
            )
            assert quick
            assert slow
            # up to a positive number, which sympy and flint may put elsewhere
            ratio = monomials(quick)[0][0] / monomials(slow)[0][0]
            assert ratio > 0
            assert monomials(quick) == [(ratio * c, p) for c, p in monomials(slow)]


def test_both_know_powers_that_are_numbers():
    e = x**3 * y / 3 - 5 * x**2 + z
    quick, slow = (
        reduced(q.of(e).numer, {x: (2, Fraction(3, 2))}) for q in (QUICK, SLOW)
    )
    assert monomials(quick) == monomials(slow)
    assert quick.as_expr() == slow.as_expr()
    parts = by_powers(QUICK.of(e).numer, x)
    assert sorted(parts) == [0, 2, 3]
    assert parts[2].as_expr() == -15


def test_a_polynomial_is_known_by_what_it_is():
    ring, same = Ring([x, y]), Ring([x, y])
    other = Ring([y, x])
    a, b = ring.generator(x), same.generator(x)
    assert a == b
    assert hash(a) == hash(b)
    assert a != other.generator(y)  # the same variable of flint, another symbol
    assert a != ring.generator(y)
    assert ring.zero == 0
    assert not ring.zero
    assert a != 0
    assert ring(Fraction(1, 2)).is_ground
    assert not a.is_ground


def test_nothing_is_divided_by_zero():
    field = Field([x])
    with pytest.raises(ZeroDivisionError, match="must not be zero"):
        field(x) / field(0)
    assert field(0) / field(x) == 0
    assert (field(0) / field(x)).denom == field.ring.one


def test_what_flint_gets_wrong_is_no_certificate(monkeypatch):
    true, right = flint_field.reduced, []

    def wrong(above, below):
        return true(above if right else -above, below)

    def search_with(*question):
        found = original(*question)
        shown.append(found is not None)
        return found

    original, shown = search.search, []
    monkeypatch.setattr(flint_field, "reduced", wrong)
    monkeypatch.setattr(coefficients, "search", search_with)
    p, r = sympy.symbols("p r", positive=True)
    assert coefficients.certify([r <= p], p <= r) is None
    assert any(shown)  # the search was led astray, and sympy's re-check was not
    right.append(True)
    assert coefficients.certify([r <= p], r <= 2 * p) is not None

"""Numbers are read exactly, and refused with one sentence."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest
import sympy

from flverify._core import checks, exact
from flverify._core.errors import DomainError, ShapeError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.2", Fraction(1, 5)),
        ("3/8", Fraction(3, 8)),
        ("2e-4", Fraction(1, 5000)),
        ("-.5", Fraction(-1, 2)),
        (" 7 ", Fraction(7)),
        ("1e999", Fraction(10**999)),
        ("1e-0002", Fraction(1, 100)),
    ],
)
def test_text_is_read_exactly(text, value):
    assert exact.parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "1/0", "nan", "inf", "1,5", "x", "1e", "1e99.", "0x1", "1/2/3", "1_0", "٣"],
)
def test_other_text_is_refused(text):
    with pytest.raises(DomainError, match="fraction such as"):
        exact.parse_number(text)


@pytest.mark.parametrize("text", ["x", "1e1000"])
def test_text_that_is_no_number_is_told_by_what_it_was_given_for(text):
    with pytest.raises(DomainError, match=r"step_size must|exponent of step_size"):
        exact.scalar(text, "step_size")


@pytest.mark.parametrize("text", ["1e9999", "2e-1000", "1e99999999"])
def test_an_exponent_that_is_too_long_is_named(text):
    with pytest.raises(DomainError, match="at most 3 digits; got"):
        exact.parse_number(text)


@pytest.mark.parametrize(
    "value",
    [True, np.True_, None, float("nan"), float("inf"), 1j, [1], sympy.nan, sympy.oo],
)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(DomainError):
        exact.scalar(value, "x")


def test_kinds_do_not_mix_silently():
    assert exact.array([[1, "1/2"]], "a").tolist() == [[Fraction(1), Fraction(1, 2)]]
    assert exact.array([0.1, "0.2"], "a").dtype == np.float64
    assert exact.scalar(sympy.Rational(3, 2), "x") == Fraction(3, 2)
    with pytest.raises(DomainError):
        exact.array([True, 2], "a")
    with pytest.raises(DomainError, match="symbols"):
        exact.common_kind([sympy.Symbol("p"), 0.5])


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Fraction(-3, 8), "-3/8"),
        (Fraction(5), "5"),
        (Fraction(0), "0"),
        (Fraction(10**30), "1" + 30 * "0"),
        (Fraction(10**5000 + 1, 7**6000), None),
        (0.1, "0.1"),
        (sympy.Symbol("p") / 2, "p/2"),
    ],
)
def test_text_of_any_length_is_read_back(value, written, limited):
    found = exact.text(value)
    sys.set_int_max_str_digits(0)
    assert found == (written or f"{value.numerator}/{value.denominator}")


@pytest.mark.parametrize("value", [0, -1, "-1/8", float("nan"), True])
def test_positive_is_above_zero(value):
    with pytest.raises(DomainError):
        checks.positive(value, "step_size")


@pytest.mark.parametrize("value", [-0.1, "11/10", True, None])
def test_probability_lies_in_the_unit_interval(value):
    with pytest.raises(DomainError):
        checks.probability(value, "p")


@pytest.mark.parametrize("value", [0, 1.0, "1", True, None])
def test_whole_is_an_integer(value):
    with pytest.raises(DomainError):
        checks.whole(value, "rounds")


def test_a_range_of_one_number_is_told_as_that_number():
    with pytest.raises(DomainError, match=r"local_steps must be 1; got 2; pass one\."):
        checks.whole(2, "local_steps", 1, 1)


@pytest.mark.parametrize("value", [Fraction(2), Fraction(5, 2)])
def test_a_fraction_is_told_to_be_none_of_the_integers(value):
    with pytest.raises(
        DomainError, match=f"integer at least 1; got the fraction {value};"
    ):
        checks.whole(value, "rounds")


@pytest.mark.parametrize("values", [[], "12", 3, [[1], [2]]])
def test_numbers_are_a_list(values):
    with pytest.raises(ShapeError):
        checks.numbers(values, "weights")

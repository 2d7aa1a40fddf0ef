"""Constants of claims as numbers of sympy: exact, and by one name."""

import ast
from fractions import Fraction
from pathlib import Path

import pytest
import sympy

from flverify.claims.rationals import rational

ROOT = Path(__file__).resolve().parents[2]
FILES = [*ROOT.glob("flverify/claims/*.py"), *ROOT.glob("proofs/*.py")]


@pytest.mark.parametrize("value", ["1/10", "0.1", Fraction(1, 10), "1e-1"])
def test_constants_are_exact(value):
    assert rational(value) == sympy.Rational(1, 10)
    assert rational(3) == 3


@pytest.mark.parametrize("value", ["one", "pi", "1/0"])
def test_other_text_is_no_number(value):
    with pytest.raises((ValueError, ZeroDivisionError)):
        rational(value)


def test_one_function_reads_constants():
    found = [
        path.name
        for path in FILES
        for one in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(one, ast.FunctionDef) and one.returns is not None
        if ast.unparse(one.returns) == "sympy.Rational" or one.name == "rational"
    ]
    assert found == ["rationals.py"]

"""The judge's part for signs: inequalities that show in the coefficients."""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction

import sympy

from flverify._core.exact import Scalar
from flverify.claims.verdict import Finding, Verdict

POINTS = 40  # rational points tried when a sign does not show


def nonnegative(parts: Iterable[tuple[str, Scalar]], scope: str) -> Finding:
    """Judge that expressions are at least 0 wherever their symbols are positive.

    PROVED if each is a quotient of polynomials without negative coefficients;
    REFUTED with a rational point where one is negative; otherwise INCONCLUSIVE.

    Parameters
    ----------
    parts : iterable of (label, expression)
    scope : str
        What the parts cover.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> nonnegative([("square less 1", (x + 1)**2 - 1)], "every x").verdict
    <Verdict.PROVED: 'PROVED'>
    """
    checked: list[str] = []
    for label, value in parts:
        expression = _expression(value)
        if expression.has(sympy.Float):
            return _nothing(f"{label}: floats cannot show a sign")
        if not without_negatives(expression):
            return _negative_point(label, expression)
        checked.append(label)
    if not checked:
        return _nothing("nothing was compared")
    reason = f"{len(checked)} expressions have no negative coefficient"
    return Finding(Verdict.PROVED, scope, reason, {"inequalities": checked})


def without_negatives(expression: sympy.Expr) -> bool:
    """Whether it is a quotient of polynomials that have no negative coefficient.

    Such an expression is at least 0 wherever its symbols are positive.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> without_negatives((x**2 - y**2) / (x - y)), without_negatives(x - y)
    (True, False)
    """
    if not expression.is_rational_function():
        return False
    above, below = sympy.fraction(sympy.cancel(expression))
    return any(
        below != 0
        and all(c.is_Rational and c >= 0 for c in _coefficients(sign * above))
        and all(c.is_Rational and c >= 0 for c in _coefficients(sign * below))
        for sign in (1, -1)
    )


def _coefficients(expression: sympy.Expr) -> list[sympy.Expr]:
    symbols = sorted(expression.free_symbols, key=str)
    return list(sympy.Poly(expression, *symbols).coeffs()) if symbols else [expression]


def _negative_point(label: str, expression: sympy.Expr) -> Finding:
    symbols = sorted(expression.free_symbols, key=str)
    draws = random.Random(0)  # noqa: S311 - a deterministic search, not a secret
    for _ in range(POINTS):
        point = {s: sympy.Rational(draws.randint(1, 24), 8) for s in symbols}
        value = expression.subs(point)
        if value.is_Rational and value < 0:
            at = ", ".join(f"{s} = {v}" for s, v in point.items())
            reason = f"{label}: {value} is negative" + (f" at {at}" if at else "")
            evidence = {"point": {str(s): str(v) for s, v in point.items()}}
            return Finding(Verdict.REFUTED, "counterexample", reason, evidence)
    return _nothing(f"{label}: a negative coefficient, but no negative value found")


def _expression(value: Scalar) -> sympy.Expr:
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.sympify(value, strict=True)


def _nothing(reason: str) -> Finding:
    return Finding(Verdict.INCONCLUSIVE, "nothing shown", reason)

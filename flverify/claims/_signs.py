"""The judge's part for signs: inequalities that show in the coefficients."""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from flverify._core.algebra import is_short
from flverify._core.errors import FlverifyError
from flverify._core.exact import Scalar
from flverify._core.exact import text as exact_text
from flverify.certify._scalar import evaluation
from flverify.claims import _given, _points
from flverify.claims._cases import short
from flverify.claims._existence import NOWHERE, exist_somewhere
from flverify.claims._points import inconclusive
from flverify.claims.verdict import Finding, Verdict


def nonnegative(parts: Iterable[tuple[str, Scalar]], scope: str) -> Finding:
    """Judge that expressions are at least 0 for all values their symbols may take.

    Every symbol has to be declared positive or nonnegative. PROVED if each is a
    quotient of polynomials without negative coefficients, and exists somewhere; REFUTED
    with a rational point, of the declared kind, where one is negative; otherwise
    INCONCLUSIVE.

    Parameters
    ----------
    parts : iterable of (label, expression)
    scope : str
        What the parts cover.

    Raises
    ------
    InputError
        If a part is neither a number nor an expression, or is not of two parts.

    Examples
    --------
    >>> x, anything = sympy.Symbol("x", positive=True), sympy.Symbol("anything")
    >>> nonnegative([("square less 1", (x + 1)**2 - 1)], "every x > 0").verdict
    <Verdict.PROVED: 'PROVED'>
    >>> nonnegative([("itself", anything)], "every number").verdict
    <Verdict.INCONCLUSIVE: 'INCONCLUSIVE'>
    """
    checked, divided = list[str](), False
    _given.words(scope, "the scope")
    for label, value in _given.rows(parts, 2, "parts", "(label, expression)"):
        try:
            found = _judged(label, value)
        except FlverifyError:
            raise
        except _points.FAILURES as error:
            found = _points.unread(label, error)
        if isinstance(found, Finding):
            return found
        divided = divided or found
        checked.append(label)
    if not checked:
        return inconclusive("nothing was compared")
    held = "expressions have" if len(checked) > 1 else "expression has"
    reason = f"{len(checked)} {held} no negative coefficient"
    scope = _points.where_defined(scope, divided)
    return Finding(Verdict.PROVED, scope, reason, {"inequalities": checked})


def _judged(label: str, value: Scalar) -> Finding | bool:
    """Judge one part; if its sign shows, tell whether a denominator may vanish."""
    if _points.has_floats(value):
        return inconclusive(f"{label}: floats cannot show a sign")
    expression = _points.exact_expression(value, label)
    unknown = [s for s in expression.free_symbols if s.is_nonnegative is not True]
    if unknown:
        listed = ", ".join(sorted(map(str, unknown)))
        return inconclusive(f"{label}: {listed} may be negative")
    if not without_negatives(expression):
        return _negative_point(label, expression)
    if _points.divides_by_zero(expression):
        return inconclusive(f"{label}: {_points.BY_ZERO}")
    divided = _points.may_divide_by_zero(expression)
    if divided and not exist_somewhere([expression]):
        return inconclusive(f"{label}: {NOWHERE}")
    return divided


def without_negatives(expression: sympy.Expr) -> bool:
    """Whether it is a quotient of polynomials that have no negative coefficient.

    Such an expression is at least 0 wherever its symbols are nonnegative and its
    denominator does not vanish.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", positive=True)
    >>> without_negatives((x**2 - y**2) / (x - y)), without_negatives(x - y)
    (True, False)
    """
    short = not _is_high(expression) and is_short(expression)
    if not (short and expression.is_rational_function()):
        return False
    try:
        above, below = sympy.fraction(sympy.cancel(expression))
        parts = (above, below)  # cancel leaves no sign below
        return below != 0 and all(
            c.is_Rational and c >= 0 for part in parts for c in _coefficients(part)
        )
    except sympy.PolynomialError:  # as of a power 0 that was left standing
        return False


def _is_high(expression: sympy.Expr) -> bool:
    powers = (power.exp for power in expression.atoms(sympy.Pow))
    return any(e.is_Rational and abs(e) > evaluation.MOST_TIMES for e in powers)


def _coefficients(expression: sympy.Expr) -> list[sympy.Expr]:
    symbols = sorted(expression.free_symbols, key=str)
    return list(sympy.Poly(expression, *symbols).coeffs()) if symbols else [expression]


def _negative_point(label: str, expression: sympy.Expr) -> Finding:
    for point in _points.points([expression], largest=24, unit=8):
        value = _points.value_at(expression, point)
        if value is not None and value < 0:
            reason = f"{label}: {short(value)} is negative{_points.at(point)}"
            evidence = {
                "point": _points.shown(point),
                "expression": _points.written(expression),
                "left": exact_text(value),
                "right": "0",
            }
            return Finding(Verdict.REFUTED, "counterexample", reason, evidence)
    return inconclusive(f"{label}: no sign in its coefficients, and no negative value")

"""Units of what is printed: dimensional homogeneity.

A theorem on all smooth functions says the same of f and of c f(x/s), with L, mu and the
step size rescaled. So both sides of each of its displays take the same factor
s^a c^b, and so do all terms of a side. A display that does not keep its form is true
in one unit and another statement in the next: a slip, or something tacitly set to 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any

import sympy

from flverify._core.errors import InputError
from flverify._core.shown import shown
from flverify.claims import judge
from flverify.claims.verdict import Finding

__all__ = ["Units", "keep_form", "of", "rescaled", "written"]

POINTS, OBJECTIVE = sympy.symbols("s c", positive=True)  # x -> s x, f -> c f
Units = Mapping[sympy.Symbol, tuple[Any, Any]]  # powers of s and c
Sides = tuple[Any, Any]
LIKE = "a sum, product or power of symbols and numbers"


def keep_form(
    displays: Mapping[str, Sequence[Sides]], units: Units, scope: str
) -> Finding:
    """Judge that each display keeps its form under f -> c f and x -> s x.

    Both sides of a line have to take one factor, that of the first term of the left
    one. A part for each display.

    Parameters
    ----------
    displays : mapping of name to sequence of (left, right)
        The two sides of each line, an equation or an inequality.
    units : mapping of symbol to (power of s, power of c)
        By which factor s^a c^b each symbol is multiplied; (0, 0) for a pure number.
    scope : str
        What the displays cover.

    Raises
    ------
    InputError
        If a side is no sum, product or power of symbols and numbers, a symbol has no
        unit, or a unit is no pair of rationals.

    Examples
    --------
    >>> eta, smoothness, gap, slope = sympy.symbols("eta L gap slope", positive=True)
    >>> units = {eta: (2, -1), smoothness: (-2, 1), gap: (0, 1), slope: (-1, 1)}
    >>> lines = {"(1)": [(slope**2, 2 * smoothness * gap)]}
    >>> print(keep_form(lines, units, "(1)").verdict)
    PROVED
    >>> found = keep_form({"(2)": [(gap, eta**2 * slope**2)]}, units, "(2)")
    >>> print(found.parts["(2)"].reason.split(":")[0])
    line 1, right side, terms in f and x^2
    """
    _require(units)
    parts = {
        name: judge.identity(_pairs(lines, units), f"{scope}, every s and c")
        for name, lines in displays.items()
    }
    return judge.all_of(parts)


def _pairs(lines: Sequence[Sides], units: Units) -> Iterator[judge.Pair]:
    """Compare each rescaled side with the factor of the line times the side."""
    for number, sides in enumerate(lines, 1):
        one, other = (_read(side, units) for side in sides)
        powers = of(one if one != 0 else other, units)
        factor = POINTS ** powers[0] * OBJECTIVE ** powers[1]
        terms = _terms((one, other), units)
        for place, side in (("left", one), ("right", other)):
            label = f"line {number}, {place} side, terms in {terms}"
            plain = _without_number(side)
            yield label, rescaled(plain, units), factor * plain


def _read(side: Any, units: Units) -> sympy.Expr:
    if not isinstance(side, sympy.Expr) and type(side) not in (int, Fraction):
        raise InputError(f"a side of a display must be {LIKE}; got {shown(side)}.")
    expression = sympy.sympify(side)
    unknown = sorted(map(str, expression.free_symbols - set(units)))
    if unknown:
        raise InputError(
            f"each symbol of a display must have a unit; got none for {unknown[0]}; "
            "write its powers of s and c, (0, 0) for a pure number."
        )
    return expression


def _without_number(side: sympy.Expr) -> sympy.Expr:
    """Drop a number before a product, as sqrt(2), which has no rational values."""
    if not side.is_Mul:
        return side
    return side.as_independent(*side.free_symbols, as_Add=False)[1]


def rescaled(side: sympy.Expr, units: Units) -> sympy.Expr:
    """Put s^a c^b times itself in for each symbol."""
    put = {x: x * POINTS**a * OBJECTIVE**b for x, (a, b) in units.items()}
    return side.xreplace(put)


def of(expression: Any, units: Units) -> tuple[sympy.Rational, sympy.Rational]:
    """Return the powers of s and c of an expression, of a sum those of its first term.

    Examples
    --------
    >>> x, h = sympy.symbols("x h", positive=True)
    >>> of(h * x**2 / 2, {x: (1, 0), h: (-2, 1)})
    (0, 1)
    """
    one = _read(expression, units)
    zero = sympy.Integer(0)
    if one.is_number:
        return zero, zero
    if one.is_Symbol:
        return sympy.Rational(units[one][0]), sympy.Rational(units[one][1])
    if one.is_Add:
        return of(one.as_ordered_terms()[0], units)
    if one.is_Mul:
        powers = [of(factor, units) for factor in one.args]
        return sum((a for a, _ in powers), zero), sum((b for _, b in powers), zero)
    if one.is_Pow:
        return _power(one, units)
    raise InputError(f"a side of a display must be {LIKE}; got {shown(expression)}.")


def _power(one: sympy.Expr, units: Units) -> tuple[sympy.Rational, sympy.Rational]:
    base, exponent = one.as_base_exp()
    points, objective = of(base, units)
    if exponent.is_Rational:
        return points * exponent, objective * exponent
    if (points, objective) == (0, 0) == of(exponent, units):
        return points, objective
    raise InputError(
        "a power with a symbol in its exponent must be one of pure numbers; got "
        f"{shown(one)}; give its symbols no unit."
    )


def _terms(sides: Sides, units: Units) -> str:
    """Name the units that occur in the terms of a line."""
    terms = [t for side in sides for t in sympy.Add.make_args(sympy.expand(side))]
    found = {of(term, units) for term in terms if term != 0}
    return " and ".join(sorted(map(written, found)))


def written(powers: tuple[Any, Any]) -> str:
    """Write a unit out: x for points and f for the objective.

    Examples
    --------
    >>> written((2, -1)), written((0, 0)), written((sympy.Rational(1, 2), 0))
    ('x^2/f', '1', 'x^(1/2)')
    """
    named = {"x": sympy.Rational(powers[0]), "f": sympy.Rational(powers[1])}
    above = [_raised(name, p) for name, p in named.items() if p > 0]
    below = [_raised(name, -p) for name, p in named.items() if p < 0]
    return "*".join(above or ["1"]) + "".join(f"/{one}" for one in below)


def _raised(name: str, power: sympy.Rational) -> str:
    if power == 1:
        return name
    return f"{name}^{power}" if power.is_Integer else f"{name}^({power})"


def _require(units: Units) -> None:
    for symbol, powers in units.items():
        pair = isinstance(powers, tuple) and len(powers) == 2
        if not pair or not all(isinstance(p, Rational) for p in powers):
            raise InputError(
                "a unit must be the powers of s and c, two rationals; got "
                f"{shown(powers)} for {symbol}; write one such as (2, -1)."
            )
        if str(symbol) in (str(POINTS), str(OBJECTIVE)):
            raise InputError(
                f"a symbol of a display must not be named as the factors s and c; got "
                f"{symbol}; give it another name."
            )

"""The judge's part for identities: exact algebra, entry by entry."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Rational
from typing import Any

import numpy as np
import sympy

from flverify._core.algebra import vanishes
from flverify._core.errors import FlverifyError, ShapeError
from flverify._core.exact import text as exact_text
from flverify.claims import _given, _points
from flverify.claims._cases import compared
from flverify.claims._existence import NOWHERE, exist_somewhere
from flverify.claims._points import inconclusive
from flverify.claims.verdict import Finding, Verdict

Pair = tuple[str, Any, Any]
WRITTEN = 12  # the first identities, which are written out
LONGEST = 240  # characters of one of them
OPEN = (
    "algebra does not make the two sides equal, and no rational values of their "
    "symbols were found at which they differ"
)


def identity(pairs: Iterable[Pair], scope: str) -> Finding:
    """Judge that two sides agree, for every value of their symbols.

    The pairs must cover the whole claim within `scope`. PROVED if algebra shows that
    every difference is zero: quotients, roots, and powers with symbols in the exponent,
    where any other function is an unknown; REFUTED with a rational point where a
    difference is not, and which satisfies what is assumed of the symbols; otherwise
    INCONCLUSIVE. Where a part need not exist, a point at which all parts do is found
    before anything is proved. Sides may be exact numbers, sympy expressions, or arrays
    of these, of the same shape.

    Parameters
    ----------
    pairs : iterable of (label, left, right)
    scope : str
        What the pairs cover.

    Raises
    ------
    ShapeError
        If two sides have different shapes: that is no statement about their entries.
    InputError
        If an entry is text, a boolean, or no number at all, or the pairs are not of
        three parts.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> print(identity([("square", (x + 1) ** 2, x**2 + 2 * x + 1)], "every x").verdict)
    PROVED
    >>> print(identity([("square", (x + 1) ** 2, x**2 + 1)], "every x").verdict)
    REFUTED
    """
    checked, divided, partial = list[str](), False, False
    _given.words(scope, "the scope")
    for label, left, right in _given.rows(pairs, 3, "pairs", "(label, left, right)"):
        entries = _entries(label, left, right)
        if not entries:
            return inconclusive(f"{label}: there are no entries to compare")
        for place, (one, other) in enumerate(entries):
            entry = f"{label}[{place}]" if len(entries) > 1 else label
            found = _compared(entry, one, other)
            if isinstance(found, Finding):
                return found
            divided, partial = divided or found[0], partial or found[1]
        is_early = len(checked) < WRITTEN
        checked.append(_written(label, left, right) if is_early else label)
    if not checked:
        return inconclusive("nothing was compared")
    many = len(checked)
    reason = (
        f"{many} identities hold exactly" if many > 1 else "1 identity holds exactly"
    )
    scope = _points.where_defined(scope, divided, partial)
    return Finding(Verdict.PROVED, scope, reason, {"identities": checked})


def _written(label: str, left: Any, right: Any) -> str:
    """Write an identity out, unless a side is long or has many entries."""
    if not all(isinstance(side, sympy.Expr | Rational) for side in (left, right)):
        return label
    one, other = _points.written(left), _points.written(right)
    text = f"{label}: {one} = {other}"
    return text if one != other and len(text) <= LONGEST else label


def _entries(label: str, left: Any, right: Any) -> list[tuple[Any, Any]]:
    (shape, lefts), (other_shape, rights) = _flat(left), _flat(right)
    if shape != other_shape:
        raise ShapeError(
            f"{label}: both sides must have one shape; got {shape} and {other_shape}; "
            "compare the shapes as numbers if they are part of the claim."
        )
    return list(zip(lefts, rights, strict=True))


def _flat(side: Any) -> tuple[tuple[int, ...], list[Any]]:
    if isinstance(side, sympy.MatrixBase):
        return side.shape, list(side)
    if isinstance(side, np.ndarray | list | tuple):
        values = np.asarray(side, dtype=object)
        return values.shape, values.ravel().tolist()
    return (), [side]


def _compared(label: str, one: Any, other: Any) -> Finding | tuple[bool, bool]:
    try:
        return _compare(label, one, other)
    except FlverifyError:
        raise
    except _points.FAILURES as error:
        return _points.unread(label, error)


def _compare(label: str, one: Any, other: Any) -> Finding | tuple[bool, bool]:
    """Judge two entries.

    If they agree, tell whether a denominator may vanish, or a term not exist.
    """
    if _points.has_floats(one) or _points.has_floats(other):
        return inconclusive(f"{label}: floats cannot show an identity")
    left, right = (_points.exact_expression(side, label) for side in (one, other))
    if not vanishes(left - right):
        return _refuting_point(label, left, right)
    sides = left, right
    if any(map(_points.divides_by_zero, sides)):
        return inconclusive(f"{label}: {_points.BY_ZERO}")
    divided = any(map(_points.may_divide_by_zero, sides))
    partial = any(map(_points.may_not_exist, sides))
    if (divided or partial) and not exist_somewhere(sides):
        return inconclusive(f"{label}: {NOWHERE}")
    return divided, partial


def _refuting_point(label: str, left: sympy.Expr, right: sympy.Expr) -> Finding:
    """Find a rational point where both sides differ, evaluating each side anew."""
    for point in _points.points([left, right], largest=8, unit=9, signs=True):
        values = [_points.value_at(side, point) for side in (left, right)]
        if None not in values and values[0] != values[1]:
            evidence = {
                "identity": label,
                "point": _points.shown(point),
                "left": exact_text(values[0]),
                "right": exact_text(values[1]),
                "sides": [_points.written(left), _points.written(right)],
            }
            differ = compared(values[0], "is not", values[1])
            reason = f"{label}: {differ}{_points.at(point)}"
            return Finding(Verdict.REFUTED, "counterexample", reason, evidence)
    return inconclusive(f"{label}: {OPEN}")

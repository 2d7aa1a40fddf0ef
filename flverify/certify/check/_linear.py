"""Exact numbers as text, quadratic forms and definiteness for the checker.

Vectors are lists of integers and fractions, one entry per column.  A quadratic form is
given by the inner products it is made of and evaluated in integers over one common
denominator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from reprlib import repr as shortened
from typing import Any, TypeAlias

Number: TypeAlias = int | Fraction
Vector: TypeAlias = list[Number]
Matrix: TypeAlias = list[list[Fraction]]
Gram: TypeAlias = dict[tuple[Hashable, Hashable], Number]
Terms: TypeAlias = Sequence[tuple[int, Hashable]]

_EXACT = re.compile(r"-?[0-9]+(?:/[0-9]+)?")


class Rejected(Exception):  # noqa: N818 - an outcome, named as one
    """The certificate does not prove what it states; the text says why."""


def require(holds: bool, reason: str) -> None:
    """Raise Rejected with the reason unless the condition holds."""
    if not holds:
        raise Rejected(reason)


def tidy(value: Number) -> Number:
    """Return the same number, as an integer when it is one."""
    return value.numerator if value.denominator == 1 else value


def number(text: object, what: str, longest: int = 1000) -> Number:
    """Return the number written as text "a" or "a/b"."""
    if type(text) is not str or len(text) > longest or not _EXACT.fullmatch(text):
        raise Rejected(
            f"{what} must be an exact number as text, such as '3' or '-3/4'; "
            f"got {shortened(text)}"
        )
    top, _, bottom = text.partition("/")
    require(not bottom or int(bottom) != 0, f"{what} must not divide by zero")
    return tidy(Fraction(int(top), int(bottom or 1)))


def count(value: object, what: str, least: int, most: int) -> int:
    """Return an integer within least..most; booleans are none."""
    if type(value) is not int or not least <= value <= most:
        raise Rejected(
            f"{what} must be an integer from {least} to {most}; got {shortened(value)}"
        )
    return value


def entries(value: object, keys: list[str], what: str) -> dict[str, Any]:
    """Return an object that has exactly these keys."""
    if not isinstance(value, Mapping) or set(value) != set(keys):
        got = sorted(map(str, value)) if isinstance(value, Mapping) else value
        raise Rejected(f"{what} must have the keys {keys}; got {shortened(got)}")
    return dict(value)


def names(value: object, what: str) -> dict[str, Any]:
    """Return an object with any names as keys."""
    if not isinstance(value, Mapping) or not all(type(key) is str for key in value):
        raise Rejected(f"{what} must be an object; got {shortened(value)}")
    return dict(value)


def items(value: object, what: str, length: int | None = None) -> list[Any]:
    """Return a list, of the given length if there is one."""
    if type(value) is not list or (length is not None and len(value) != length):
        size = "" if length is None else f" of length {length}"
        raise Rejected(f"{what} must be a list{size}; got {shortened(value)}")
    return value


def choice(value: object, what: str, allowed: list[str]) -> str:
    """Return a text that is one of those allowed."""
    if type(value) is not str or value not in allowed:
        raise Rejected(
            f"{what} must be one of {shortened(allowed)}; got {shortened(value)}"
        )
    return value


def text(value: object, what: str) -> str:
    """Return a text."""
    require(type(value) is str, f"{what} must be text; got {shortened(value)}")
    return str(value)


def combine(terms: Iterable[tuple[Number, Vector]], size: int) -> Vector:
    """Return the sum of coefficient times vector."""
    result: Vector = [0] * size
    for coefficient, vector in terms:
        if coefficient:
            for j, entry in enumerate(vector):
                if entry:
                    result[j] += coefficient * entry
    return [tidy(entry) for entry in result]


def zero_matrix(size: int) -> Matrix:
    """Return the zero matrix."""
    return [[Fraction(0)] * size for _ in range(size)]


def add(total: Matrix, weight: Number, matrix: Matrix) -> None:
    """Add weight times a symmetric matrix to the total, in place."""
    for i, row in enumerate(matrix):
        for j in range(i, len(row)):
            if row[j]:
                total[i][j] += weight * row[j]
                total[j][i] = total[i][j]


def expand(gram: Gram, coefficient: Number, left: Terms, right: Terms) -> None:
    """Add coefficient <left, right> to the inner products, in place."""
    for s, a in left:
        for t, b in right:
            gram[a, b] = gram.get((a, b), 0) + coefficient * s * t


def form(gram: Gram, vectors: Mapping[Any, Vector], size: int) -> Matrix:
    """Return the symmetric matrix of sum gram[a, b] <v_a, v_b> over the columns."""
    used = {key for pair in gram for key in pair}
    scale = lcm(*(x.denominator for key in used for x in vectors[key]))
    weight = lcm(*(c.denominator for c in gram.values()))
    rows = {key: _sparse(vectors[key], scale) for key in used}
    partners: dict[Any, list[int]] = {}
    for (a, b), c in gram.items():
        if c:
            partner = partners.setdefault(a, [0] * size)
            top = c.numerator * (weight // c.denominator)
            for j, y in rows[b]:
                partner[j] += top * y
    total = [[0] * size for _ in range(size)]
    for a, partner in partners.items():
        for i, x in rows[a]:
            row = total[i]
            for j, y in enumerate(partner):
                if y:
                    row[j] += x * y
    bottom = 2 * weight * scale * scale
    return _symmetric(size, lambda i, j: Fraction(total[i][j] + total[j][i], bottom))


def _sparse(vector: Vector, scale: int) -> list[tuple[int, int]]:
    """Return the nonzero entries times the scale, with their columns."""
    return [
        (j, x.numerator * (scale // x.denominator)) for j, x in enumerate(vector) if x
    ]


def _symmetric(size: int, entry: Callable[[int, int], Fraction]) -> Matrix:
    """Return the symmetric matrix with these entries on and above the diagonal."""
    matrix = zero_matrix(size)
    for i in range(size):
        for j in range(i, size):
            matrix[i][j] = matrix[j][i] = entry(i, j)
    return matrix


def smallest_pivot(matrix: Matrix) -> Fraction | None:
    """Return the smallest pivot of LDL', None unless positive semidefinite.

    Fraction-free elimination: entries stay integers, pivots are quotients of principal
    minors.  A zero pivot needs a zero row; the row is then left out.  The empty matrix
    has the pivot 1.
    """
    n = len(matrix)
    scale = lcm(*(x.denominator for row in matrix for x in row))
    a = [[x.numerator * (scale // x.denominator) for x in row] for row in matrix]
    previous, smallest = 1, None
    for k in range(n):
        pivot = a[k][k]
        if pivot < 0 or (pivot == 0 and any(a[k][k + 1 :])):
            return None
        ratio = Fraction(pivot, previous * scale)
        smallest = ratio if smallest is None else min(smallest, ratio)
        if pivot == 0:
            continue
        for i in range(k + 1, n):
            factor = a[k][i]
            for j in range(i, n):
                a[i][j] = (pivot * a[i][j] - factor * a[k][j]) // previous
        previous = pivot
    return Fraction(1) if smallest is None else smallest

"""Linear forms in labelled vectors, quadratic forms of them, and definiteness.

The coefficients of a linear form may hold unknown counts of clients, as Laurent
polynomials: two of them are equal only if they are equal whatever the counts are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import zip_longest
from math import floor, lcm
from typing import Any, TypeAlias

Number: TypeAlias = int | Fraction
Label: TypeAlias = tuple[Any, ...]
Powers: TypeAlias = tuple[int, ...]  # of the counts; the empty one is 1
Moment: TypeAlias = Callable[[Powers], Fraction]
Matrix: TypeAlias = list[list[Fraction]]
Gram: TypeAlias = dict[tuple[Label, Label], Number]  # a quadratic form

ONE: Label = ()
LONG, FINE = 4000, 500  # bits of a denominator that is long, and of one instead of it


class Form:
    """A sum of coefficient times monomial in the counts times labelled vector."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[tuple[Label, Powers], Number]) -> None:
        self.terms = {key: c for key, c in terms.items() if c}

    def __add__(self, other: Form | Number) -> Form:
        terms = dict(self.terms)
        for key, c in form(other).terms.items():
            terms[key] = terms[key] + c if key in terms else c
        return Form(terms)

    def __sub__(self, other: Form | Number) -> Form:
        terms = dict(self.terms)
        for key, c in form(other).terms.items():
            terms[key] = terms[key] - c if key in terms else -c
        return Form(terms)

    def __rsub__(self, other: Number) -> Form:
        return form(other) - self

    def __mul__(self, other: Form | Number) -> Form:
        if not isinstance(other, Form):
            return Form({key: c * other for key, c in self.terms.items()})
        terms: dict[tuple[Label, Powers], Number] = {}
        for (a, p), x in self.terms.items():
            for (b, q), y in other.terms.items():
                if ONE not in (a, b):
                    raise ArithmeticError("a loop must be linear in vectors")
                key = (a or b, _together(p, q))
                terms[key] = terms.get(key, 0) + x * y
        return Form(terms)

    def __truediv__(self, other: Form | Number) -> Form:
        if not isinstance(other, Form):
            return self * (Fraction(1) / other)
        if len(other.terms) == 1:
            [((label, powers), c)] = other.terms.items()
            if label == ONE and len(powers) <= 1:  # the others may be zero
                inverse = {(ONE, tuple(-k for k in powers)): Fraction(1) / c}
                return self * Form(inverse)
        raise ArithmeticError("a loop may divide by numbers and its participants alone")

    __radd__, __rmul__ = __add__, __mul__

    def __rtruediv__(self, other: Number) -> Form:
        return form(other) / self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Form | int | Fraction):
            return NotImplemented
        terms = form(other).terms
        same = self.terms == terms
        if not same and not any(v for v, _ in (*self.terms, *terms)):
            self._require_number()
            form(other)._require_number()
        return same

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        if not self.labels() - {ONE}:
            self._require_number()
        return bool(self.terms)

    def _require_number(self) -> None:
        """Refuse to say what an unknown count is: it may be that or not."""
        if not self.certain:
            raise ArithmeticError("a loop must not look at the number of participants")

    @property
    def certain(self) -> bool:
        """Whether no count occurs."""
        return not any(powers for _, powers in self.terms)

    def labels(self) -> set[Label]:
        """Return the labels that occur."""
        return {label for label, _ in self.terms}

    def turned(self, sign: int) -> Form:
        """Return the form with this sign before the vectors labelled "own"."""
        own = {key: c * sign for key, c in self.terms.items() if key[0][:1] == ("own",)}
        return Form(self.terms | own)

    def number(self) -> Number:
        """Return the number in a form without vectors and counts."""
        return self.terms.get((ONE, ()), 0)

    def expected(self, moment: Moment) -> Form:
        """Return the form with every monomial in the counts replaced by its moment."""
        terms: dict[tuple[Label, Powers], Number] = {}
        for (label, powers), c in self.terms.items():
            terms[label, ()] = terms.get((label, ()), 0) + c * moment(powers)
        return Form(terms)


def form(value: Form | Number) -> Form:
    """Return a number as a form without vectors, and a form as it is."""
    return value if isinstance(value, Form) else Form({(ONE, ()): value})


def vector(*label: Hashable) -> Form:
    """Return the vector of this label."""
    return Form({(label, ()): 1})


def count(place: int) -> Form:
    """Return an unknown count of clients."""
    return Form({(ONE, (*(0,) * place, 1)): 1})


def _together(p: Powers, q: Powers) -> Powers:
    """Return the powers of a product, without zeros at the end."""
    if not p or not q:
        return p or q
    powers = [a + b for a, b in zip_longest(p, q, fillvalue=0)]
    while powers and not powers[-1]:
        powers.pop()
    return tuple(powers)


def certainly(powers: Powers) -> Fraction:
    """Return the moment where there is no unknown count."""
    constant: dict[Powers, Fraction] = {(): Fraction(1)}
    return constant[powers]


def inner(total: Gram, weight: Number, left: Form, right: Form) -> None:
    """Add weight <left, right>, of forms without counts, in place."""
    if not (left.certain and right.certain):
        raise ArithmeticError("a product of unknown counts needs their moments")
    for (u, _), x in left.terms.items():
        for (v, _), y in right.terms.items():
            total[u, v] = total.get((u, v), 0) + weight * x * y


class Total:
    """A quadratic form as it grows, in integers over one denominator."""

    def __init__(self) -> None:
        self.bottom, self.tops = 1, dict[tuple[Label, Label], int]()

    def add(self, share: Fraction, tops: Mapping[tuple[Label, Label], int]) -> None:
        """Add a share times a quadratic form."""
        bottom = lcm(self.bottom, share.denominator)
        longer, self.bottom = bottom // self.bottom, bottom
        if longer > 1:
            self.tops = {pair: longer * top for pair, top in self.tops.items()}
        times = share.numerator * (bottom // share.denominator)
        for pair, top in tops.items():
            self.tops[pair] = self.tops.get(pair, 0) + times * top

    def gram(self) -> Gram:
        """Return it."""
        return {pair: Fraction(top, self.bottom) for pair, top in self.tops.items()}


def add(
    total: Total,
    weight: Number,
    gram: Gram,
    left: Mapping[Label, Form],
    right: Mapping[Label, Form],
    moment: Moment = certainly,
) -> None:
    """Add weight E sum gram[a, b] <left_a, right_b>, in place and in integers."""
    rows, at, scale = _integers({a: left[a] for a, _ in gram})
    columns, across, other = _integers({b: right[b] for _, b in gram})
    bottom = lcm(*(c.denominator for c in gram.values()))
    partners: dict[Label, list[int]] = {}
    for (a, b), c in gram.items():
        partner = partners.setdefault(a, [0] * len(across))
        top = c.numerator * (bottom // c.denominator)
        for j, y in columns[b]:
            partner[j] += top * y
    sums = [[0] * len(across) for _ in at]
    for a, partner in partners.items():
        for i, x in rows[a]:
            row = sums[i]
            for j, y in enumerate(partner):
                if y:
                    row[j] += x * y
    products = [
        ((u, v), _together(p, q), x)
        for (u, p), row in zip(at, sums, strict=True)
        for (v, q), x in zip(across, row, strict=True)
        if x
    ]
    moments = {powers: moment(powers) for powers in {p for _, p, _ in products}}
    below = lcm(*(size.denominator for size in moments.values()))
    tops = {
        p: size.numerator * (below // size.denominator) for p, size in moments.items()
    }
    sizes: dict[tuple[Label, Label], int] = {}
    for pair, powers, x in products:
        sizes[pair] = sizes.get(pair, 0) + x * tops[powers]
    total.add(Fraction(weight) / (bottom * scale * other * below), sizes)


Terms: TypeAlias = list[tuple[Label, Powers]]


def _integers(
    forms: Mapping[Label, Form],
) -> tuple[dict[Label, list[tuple[int, int]]], Terms, int]:
    """Return the forms over the terms that occur, times a common denominator."""
    scale = lcm(*(c.denominator for v in forms.values() for c in v.terms.values()))
    place: dict[tuple[Label, Powers], int] = {}
    rows = {
        key: [
            (place.setdefault(t, len(place)), c.numerator * (scale // c.denominator))
            for t, c in v.terms.items()
        ]
        for key, v in forms.items()
    }
    return rows, list(place), scale


def block(total: Gram, labels: Iterable[Label], scale: Number = 1) -> Matrix:
    """Return the symmetric matrix of a quadratic form over some of its labels."""
    listed, half = list(labels), Fraction(scale) / 2
    return [
        [(total.get((u, v), 0) + total.get((v, u), 0)) * half for v in listed]
        for u in listed
    ]


def smallest_pivot(matrix: Matrix) -> Fraction | None:
    """Return the smallest pivot of LDL', None unless positive semidefinite.

    The empty matrix has the pivot 1.  Where the entries have no common denominator
    that is short, the pivot is that of a matrix a little below, if it is positive:
    pivots of a larger matrix are larger.
    """
    scale = lcm(*(x.denominator for row in matrix for x in row))
    if scale.bit_length() > LONG:
        pivot = _smallest(_below(matrix), 2**FINE)
        if pivot is not None and pivot > 0:
            return pivot
    a = [[x.numerator * (scale // x.denominator) for x in row] for row in matrix]
    return _smallest(a, scale)


def _below(matrix: Matrix) -> list[list[int]]:
    """Return whole multiples of 2^-FINE that form a smaller symmetric matrix.

    Rounding n x n entries down takes away R with 0 <= R_ij < 1, and x'Rx >= -n |x|^2.
    """
    n = len(matrix)
    return [
        [floor(x * 2**FINE) - n * (i == j) for j, x in enumerate(row)]
        for i, row in enumerate(matrix)
    ]


def _smallest(a: list[list[int]], scale: int) -> Fraction | None:
    """Return the smallest pivot of a/scale, and change a.

    Fraction-free elimination: entries stay integers, pivots are quotients of principal
    minors.  A zero pivot needs a zero row; the row is then left out.
    """
    n = len(a)
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

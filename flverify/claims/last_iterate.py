"""The last model of subgradient steps against (9) of the agnostic paper, for large T.

One client, f = max(0, h_1'x, ..., h_{T+1}'x) in T dimensions, from its minimiser 0,
in steps of 1, one in a round. Coordinate j of h_i is a_{T-j} for j < i, -1 for j = i,
and 0 after it. The oracle takes the first of the largest pieces: h_1, h_2, ..., so that
step j sets coordinate j to 1 and each later step takes a_{T-j} off it. With T = 2^m and
a_n = 1/2^(q+2) for n = 2^q, ..., 2^(q+1) - 1, and a_0 = 1/2, all is positive at the
end, where f adds up a_n times coordinate T - n: more by 5/32 whenever T doubles, while
(9) stays. After Harvey, Liaw, Plan and Randhawa, "Tight analyses for non-smooth
stochastic gradient descent", 2019.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.judge import Case
from flverify.claims.verdict import Finding
from flverify.reference import agnostic_fedavg

ONE = Fraction(1)
EVERY = "every T = 2^m"
SMALL = (1, 2, 3, 4)  # m of runs by the plain loop
SCHEDULES = {"literal": 2, "separate": 1}  # with the period of one local step


def weight(n: int) -> Fraction:
    """Return a_n, of the coordinate after whose step there are n more."""
    return Fraction(1, 2 ** (n.bit_length() + 1))


def pieces(size: int) -> list[list[Fraction]]:
    """Return 0 and h_1, ..., h_{T+1}."""
    rows = [[Fraction(0)] * size]
    for i in range(size + 1):
        before = [weight(size - 1 - j) for j in range(i)]
        rows.append([*before, -ONE, *[Fraction(0)] * (size - i - 1)][:size])
    return rows


def last_value(m: int, schedule: str) -> Fraction:
    """Return f of the last of 2^m server models, by the plain loop."""
    size = 2**m
    lines = pieces(size)

    def values(x: Sequence[Any]) -> list[Fraction]:
        return [
            sum((a * b for a, b in zip(h, x, strict=True)), Fraction(0))
            for h in lines[1:]
        ]

    def gradient(_: int, x: Sequence[Any]) -> list[Fraction]:
        found = values(x)
        return lines[1 + found.index(max(found))]

    models = agnostic_fedavg.run(
        gradient,
        1,
        [Fraction(0)] * size,
        [(0,)] * size,
        step_size=ONE,
        period=SCHEDULES[schedule],
        schedule=schedule,
        projection=("box", -ONE, ONE),
    )
    return max(Fraction(0), *values(models[-1]))


def closed_value(m: int) -> Fraction:
    """Return the sum of a_n (1 - n a_n) over n < 2^m.

    Examples
    --------
    >>> closed_value(2) == sum(weight(n) * (1 - n * weight(n)) for n in range(4))
    True
    """
    return Fraction(1, 2) + Fraction(5 * m, 32) + (2 - Fraction(2, 2**m)) / 32


def added_value(m: int) -> Fraction:
    """Return the same, one doubling of T after another."""
    total = weight(0)
    for q in range(m):
        a, first, last = weight(2**q), 2**q, 2 ** (q + 1) - 1
        total += first * a * (1 - a * Fraction(first + last, 2))
    return total


def bound(m: int, terms: Mapping[str, Fraction]) -> Fraction:
    """Return (9) with the largest |theta^0 - theta| on C, ell = G and no noise.

    The longest piece is h_T, of square 1 + a_1^2 + ... + a_{T-1}^2: that of h_i grows
    with i up to there, and h_{T+1} has a_0^2 < 1 in place of 1.
    """
    return Fraction(1, 2) + longest(m) * (terms["G^2"] + terms["ell G H"])


def longest(m: int) -> Fraction:
    """Return the square of the longest piece, of G and of ell.

    Examples
    --------
    >>> max(sum(v * v for v in h) for h in pieces(8)) == longest(3)
    True
    """
    return 1 + (2 - Fraction(2, 2**m)) / 16


def added_bound(m: int, terms: Mapping[str, Fraction]) -> Fraction:
    """Return the same, one doubling of T after another."""
    size = 2**m
    squares = sum((Fraction(2**q) * weight(2**q) ** 2 for q in range(m)), ONE)
    far = Fraction(size)  # the square of |0 - theta| at a corner of C = [-1, 1]^T
    room = squares * terms["G^2"] + squares * terms["ell G H"]
    return far / Fraction(2 * size) + room


def far_away(factor: Fraction, terms: Mapping[str, Fraction]) -> Finding:
    """Judge (9), times a factor, for the last of 2^m models; open if no run is known.

    Parameters
    ----------
    factor : Fraction
        Of the right side.
    terms : mapping
        Coefficients of sigma^2, G^2 and ell G H.
    """
    known = followed()
    if not known.passes():
        return judge.inconclusive(f"the run is not what it should be: {known.reason}")
    cases = (_case(m, factor, terms) for m in _powers(factor))
    violated = judge.instances(cases, "<=", "max of lines in T = 2^m dimensions")
    return judge.all_of({"the run": known, "the bound": violated})


def _powers(factor: Fraction) -> Iterator[int]:
    """Yield m of ever larger T, until 5 m/32 is more than the bound can be."""
    yield from SMALL
    m = 8
    while 5 * m <= 32 * 16 * max(factor, ONE):
        m *= 2
        yield m


def _case(m: int, factor: Fraction, terms: Mapping[str, Fraction]) -> Case:
    where = {
        "T": f"2^{m}",
        "f": "max(0, h_i'x), i = 1..T+1, h_i = (a_{T-1}, ..., a_{T-i+1}, -1, 0, ...)",
        "a_0": weight(0),
        "a_n": "1/2^(q+2) for n = 2^q..2^(q+1)-1",
        "C": "[-1, 1]^T",
        "theta^0": 0,
        "eta": 1,
        "k": 1,
        "subgradient": "the first of the largest pieces, 0 coming last",
    }
    again = partial(_again, m, factor, terms)
    return Case(where, closed_value(m), factor * bound(m, terms), again)


def _again(m: int, factor: Fraction, terms: Mapping[str, Fraction]) -> Any:
    return added_value(m), factor * added_bound(m, terms)


def followed() -> Finding:
    """Judge that the run is as told, for every T, and the plain loop's for small T.

    Examples
    --------
    >>> followed().verdict.name
    'PROVED'
    """
    a, n, room, x, before, after = sympy.symbols("a n room x before after", real=True)
    inside = [n >= 0, n <= room, a >= 0, sympy.Eq(a * room, sympy.Rational(1, 2))]
    listed = [
        (f"T = {2**m}, {schedule}", last_value(m, schedule), closed_value(m))
        for m in SMALL
        for schedule in SCHEDULES
    ]
    squares = [
        (f"T = {2**m}", max(sum(v * v for v in h) for h in pieces(2**m)), longest(m))
        for m in SMALL
    ]
    return judge.all_of(
        {
            "the plain loop": judge.identity(listed, "T = 2, 4, 8, 16"),
            "longest piece": judge.identity(squares, "T = 2, 4, 8, 16"),
            "a step": judge.identity(_step(), EVERY),
            "no coordinate below 0": judge.implied(inside, 1 - a * n >= 0, EVERY),
            "no earlier piece is larger": judge.implied(
                [a >= 0, x >= 0, after >= 0],
                before - x <= before + a * x + after,
                EVERY,
            ),
            "T doubled": judge.identity(_doubled(), EVERY),
        },
        scope=EVERY,
        argument="Before step t the coordinates from t on are 0, so that h_t and all "
        "later pieces have the same value, the sum of a_{T-j} x_j over j < t; an "
        "earlier one has less. Step t takes h_t: x_t becomes 1, and each earlier x_j "
        "loses a_{T-j}. After n more steps x_j is 1 - n a_n, n < 1/(2 a_n), and within "
        "C. So f of the last model adds up a_n (1 - n a_n).",
    )


def _step() -> list[judge.Pair]:
    """Take the coordinates of x - h_t: its own, an earlier and a later one."""
    a, n = sympy.symbols("a n")
    return [
        ("coordinate t", 0 - sympy.Integer(-1), 1 - 0 * a),
        ("an earlier one", (1 - n * a) - a, 1 - (n + 1) * a),
        ("a later one", sympy.Integer(0) - 0, 0),
    ]


def _doubled() -> list[judge.Pair]:
    """Add n = P, ..., 2 P - 1, P = 2^m, at the weight 1/(4 P), to the closed forms."""
    size, m = sympy.symbols("P m", positive=True)
    a = 1 / (4 * size)
    total = size * a * (1 - a * (size + 2 * size - 1) / 2)
    half = sympy.Rational(1, 2)

    def value(m: Any, size: Any) -> Any:
        return half + 5 * m / 32 + (2 - 2 / size) / 32

    def squares(size: Any) -> Any:
        return 1 + (2 - 2 / size) / 16

    return [
        ("value at T = 1", value(sympy.Integer(0), sympy.Integer(1)), half),
        ("value", value(m, size) + total, value(m + 1, 2 * size)),
        ("squares at T = 1", squares(sympy.Integer(1)), 1),
        ("squares", squares(size) + size * a**2, squares(2 * size)),
    ]

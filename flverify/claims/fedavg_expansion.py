"""Mean and mean square of q'W(S)y over cohorts, against (40) of the FOCUS paper.

Laws of few clients are listed, with free probabilities. For every law the mean is taken
cohort by cohort, 1{i in S}/|S| standing for its mean q_i, and the mean square from the
first two moments of what one coordinate of q'W(S)y is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify.claims import cohorts, judge
from flverify.claims.any_cohort import ABSENT, SIZE, OneCohort
from flverify.claims.laws import Setting
from flverify.claims.mixing_cases import SOME, some_laws
from flverify.claims.printed_mixing import averaging_weight, virtual
from flverify.claims.verdict import Finding

ANY = "every N, law of nonempty cohorts, all models and gradients"


def expanded(variance: int, *, empty: bool) -> Finding:
    """Judge (40) with so many times its variance; `empty`: rounds may be empty."""
    cases = (
        judge.Case(
            {**one.where, "y": list(_y(one)), "x*": 1, "compared": name},
            *_two_sides(one, name, variance, listed=True),
            partial(_two_sides, one, name, variance, listed=False),
        )
        for one in some_laws(empty=empty)
        if one.admissible()
        for name in ("mean", "mean square")
    )
    search = judge.instances(cases, "==", "Cases 1, 2, 3 and 3a, N = 1..3")
    if empty:
        nothing = judge.inconclusive("no proof is tried")
        return judge.proof_or_search(nothing, search)
    pairs = [p for n in (1, 2, 3) for p in _formal(n, variance)]
    proof = judge.all_of(
        {
            "listed": judge.identity(pairs, "N = 1..3, every law of nonempty cohorts"),
            "any law": of_any_law(variance),
        },
        scope=ANY,
        argument="what is listed for small sizes is a second computation",
    )
    return judge.proof_or_search(proof, search)


def of_any_law(variance: int) -> Finding:
    """Judge (40) with so many times its variance, for every N and law.

    Examples
    --------
    >>> of_any_law(1).verdict.name, of_any_law(2).verdict.name
    ('PROVED', 'REFUTED')
    """
    y = sympy.symbols("y_0:5")
    rows = [*(SOME.matrix(virtual("keep")) @ list(y))]
    weights = [0, *(averaging_weight(i, SOME.inside, SIZE) for i in range(1, 5))]
    shown = sum(w * v for w, v in zip(weights, y, strict=True))
    q, x, g, eta = sympy.symbols("q_i x_i g_i eta")
    cohort = [
        ("rows of W(S)y", rows, [shown] * len(rows)),
        ("weights of a cohort", SIZE * weights[1] + ABSENT * weights[-1], 1),
        (
            "a term of q'y_(k+1), W = I",
            q * (x - eta * g),
            q * x - eta * q * g,
        ),
    ]
    best, mean, second = sympy.symbols("x_* mean second", real=True)
    spread = second - 2 * mean * mean + mean**2  # E(z - E z)^2
    left = second - 2 * best * mean + best**2  # E(z - x_*)^2
    right = variance * spread + (mean - best) ** 2
    return judge.all_of(
        {
            "every cohort": judge.identity(cohort, "every N and nonempty S"),
            "moments": judge.identity([("k = r tau", left, right)], "every law"),
        },
        scope=ANY,
        argument="Every row of W(S)y is the average z of the participants, and so is "
        "q'W(S)y, the q_i adding up to 1 as the weights of each cohort do. Its mean is "
        "q'y, q_i being the mean of i's weight. An expectation is linear, so that the "
        "squares need no more than the mean of z and of z^2.",
    )


def _formal(n: int, variance: int) -> Iterator[judge.Pair]:
    """Free probabilities but for the last, which completes their sum."""
    sets = cohorts.subsets(n, least=1)
    free = sympy.symbols(f"p1:{len(sets)}") if len(sets) > 1 else ()
    law = dict(zip(sets, (*free, 1 - sum(free)), strict=True))
    y = sympy.symbols(f"y0:{n + 1}")
    best, eta = sympy.symbols("x_* eta")
    q = [0, *(cohorts.averaging(law, i) for i in cohorts.people(n))]
    middle = sum(w * v for w, v in zip(q, y, strict=True))
    ends = {s: _averaged(s, n, q, y) for s in sets}
    mean = sum(p * ends[s] for s, p in law.items())
    square = sum(p * (ends[s] - best) ** 2 for s, p in law.items())
    spread = sum(p * (ends[s] - middle) ** 2 for s, p in law.items())
    right = variance * spread + (middle - best) ** 2
    yield f"N = {n}: mean, W(S)", sympy.expand(mean), sympy.expand(middle)
    yield f"N = {n}: k = r tau", sympy.expand(square), sympy.expand(right)
    x, g = (sympy.symbols(f"{v}0:{n + 1}") for v in "xg")
    moved = sum(w * (a - eta * b) for w, a, b in zip(q, x, g, strict=True))
    again = sum(w * a for w, a in zip(q, x, strict=True)) - eta * sum(
        w * b for w, b in zip(q, g, strict=True)
    )
    yield f"N = {n}: q'y_(k+1), W = I", sympy.expand(moved), sympy.expand(again)


def _averaged(s: Any, n: int, q: Sequence[Any], y: Sequence[Any]) -> Any:
    """q'W(S)y; every row of W(S) is the same, and the q_i sum to 1."""
    rows = OneCohort(s, n).matrix(virtual("keep")) @ list(y)
    total = sum(w * v for w, v in zip(q, rows, strict=True))
    return sympy.expand(total)


def _y(one: Setting) -> list[Fraction]:
    return [Fraction(3), *(Fraction(i * i) for i in range(1, one.n_clients + 1))]


def _two_sides(
    one: Setting, name: str, variance: int, *, listed: bool
) -> tuple[Any, Any]:
    """Both sides at y = (3, 1, 4, 9), x* = 1, by the matrix or by hand."""
    n, y = one.n_clients, _y(one)
    if listed:
        law = {s: Fraction(p) for s, p in one.listed.items()}
        q = [Fraction(0), *map(Fraction, one.averaging())]
    else:
        known = one.law.support().items()
        law = {frozenset(i + 1 for i in s): Fraction(p) for s, p in known}
        q = [Fraction(0), *map(Fraction, one.law.averaging_weights().tolist())]
    middle = sum((w * v for w, v in zip(q, y, strict=True)), Fraction(0))
    ends = {s: _end(s, n, q, y, listed=listed) for s in law}
    if name == "mean":
        return sum((p * ends[s] for s, p in law.items()), Fraction(0)), middle
    left = sum((p * (ends[s] - 1) ** 2 for s, p in law.items()), Fraction(0))
    spread = sum((p * (ends[s] - middle) ** 2 for s, p in law.items()), Fraction(0))
    return left, variance * spread + (middle - 1) ** 2


def _end(s: Any, n: int, q: Any, y: Any, *, listed: bool) -> Fraction:
    if listed:
        rows = OneCohort(s, n).matrix(virtual("keep")) @ list(y)
        return sum((w * Fraction(v) for w, v in zip(q, rows, strict=True)), Fraction(0))
    server = sum((y[i] for i in s), Fraction(0)) / len(s) if s else y[0]
    return Fraction(sum(q)) * server

"""Mean and mean square of q'W(S)y over cohorts, against (40) of the FOCUS paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify.claims import cohorts, judge
from flverify.claims.any_cohort import OneCohort
from flverify.claims.laws import Setting
from flverify.claims.mixing_cases import some_laws
from flverify.claims.printed_mixing import virtual
from flverify.claims.verdict import Finding


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
    scope = "N = 1..3, every law of nonempty cohorts, all models and gradients"
    return judge.proof_or_search(judge.identity(pairs, scope), search)


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

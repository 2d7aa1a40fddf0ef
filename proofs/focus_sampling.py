"""FOCUS, Section 3.1: cases 3 and 3a of Assumption 1, clients drawn by the server.

In Case 3 one letter stands for two different weights: the formula for p_i holds for
the sampling weight, which is the averaging weight of Assumption 1 only if draws are
counted with multiplicity. In Case 3a q_i is 1/N, not 1/m.

Conventions: clients from 1; q_i = E[I_i / sum_j I_j] is the averaging weight; without
replacement means m successive draws with the weights of those left.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge, laws
from flverify.claims.claim import claim
from flverify.claims.cohorts import people, sides
from flverify.claims.judge import Case
from flverify.claims.verdict import Finding
from flverify.participation import (
    ReplacementSampling,
    SuccessiveSampling,
    UniformCohort,
)


@claim(
    "focus.case3",
    source=Source("focus", "Section 3.1, Case 3"),
    statement=r"m\text{ clients drawn without replacement with weights }q_1,\dots,q_N,"
    r"\ \textstyle\sum_i q_i=1,\ q_i>0;\quad\text{with replacement }"
    r"p_i=1-(1-q_i)^m",
    proposition="With replacement p_i = 1 - (1 - q_i)^m; where q_i is read as the "
    "averaging weight it is also the sampling weight of the scheme.",
    constants={"extra_draws": 0},
    twin={"extra_draws": 1},
    no_control="depends on which weight the letter q_i means",
)
def drawn_clients(c: Any) -> Finding:
    """Judge the formula for the sampling weight, then for the averaging weight."""
    return judge.readings(
        {
            "(i) q_i the sampling weight": judge.proof_or_search(
                any_draws(c.extra_draws, "share"),
                judge.instances(hit_cases(c.extra_draws, "share"), "==", REPLACED),
            ),
            "(ii) q_i the averaging weight, draws counted with multiplicity": (
                judge.proof_or_search(
                    any_draws(c.extra_draws, "count"),
                    judge.instances(hit_cases(c.extra_draws, "count"), "==", REPLACED),
                )
            ),
            "(ii) q_i the averaging weight, distinct clients": judge.instances(
                hit_cases(c.extra_draws, "distinct"), "==", REPLACED
            ),
            "(ii) q_i the averaging weight, no replacement": judge.instances(
                successive_cases(), "==", "without replacement, N = 2..4, m < N"
            ),
        }
    )


DRAWS = "every N, m and all weights"
REPLACED = "with replacement, N = 2..4, m = 1..4"


def any_draws(extra: int, weight: str) -> Finding:
    """Judge 1 - (1 - q)^m in listed numbers of draws, by one draw, and by one more."""
    q, m, hit, power = sympy.symbols("q m hit power", positive=True)
    once = judge.identity(
        [("p_i, m = 1", q, sympy.expand(1 - (1 - q) ** (1 + extra)))], DRAWS
    )
    more = hit + (1 - hit) * q  # of whoever was not drawn yet
    step = [("p_i", more.subs(hit, 1 - power), 1 - power * (1 - q))]
    if weight == "count":  # the mean number of draws over m
        step.append(("q_i", (m * q + q) / (m + 1), q))
    return judge.all_of(
        {
            "listed": judge.identity(draws(extra, weight), "m = 1..6"),
            "every m": judge.induction(
                once,
                judge.identity(step, DRAWS),
                DRAWS,
                "the chance is 1 - power, which stands for (1 - q)^m; draws are "
                "independent, so that one more hits with chance q",
            ),
        },
        scope=DRAWS,
        argument="what is listed for small m is a second computation",
    )


def draws(extra: int, weight: str) -> list[tuple[str, Any, Any]]:
    """1 - (1 - q)^m against all sequences of draws, each "client i" or "another".

    q is the share of i, or its mean number of draws over m.
    """
    share = sympy.Symbol("q", positive=True)
    pairs = []
    for m in range(1, 7):
        hit, count = 0, 0
        for sequence in product((True, False), repeat=m):
            chance = prod(share if own else 1 - share for own in sequence)
            hit += chance * int(any(sequence))
            count += chance * Fraction(sum(sequence), m)
        q = share if weight == "share" else sympy.expand(count)
        formula = sympy.expand(1 - (1 - q) ** (m + extra))
        pairs.append((f"p_i, m = {m}", sympy.expand(hit), formula))
    return pairs


def hit_cases(extra: int, weight: str) -> Iterator[Case]:
    """p_i of draws with replacement against the formula, for one meaning of q_i."""
    for n in (2, 3, 4):
        for m in (1, 2, 3, 4):
            shares = laws.SHARES[n]
            law = ReplacementSampling(shares, m)
            listed = cohorts.with_replacement(shares, m)
            for i in people(n):
                q = again = shares[i - 1]
                if weight == "distinct":
                    q = law.averaging_weights()[i - 1]
                    again = cohorts.averaging(listed, i)
                formula, second = (1 - (1 - v) ** (m + extra) for v in (q, again))
                p = cohorts.inclusion(listed, i)
                at = {"weights": shares, "m": m, "i": i, "q_i": q}
                yield Case(at, law.inclusion()[i - 1], formula, sides(p, second))


def successive_cases() -> Iterator[Case]:
    """E[I_i / sum I_j] of draws without replacement against the sampling weight."""
    for n in (2, 3, 4):
        for m in range(1, n):
            shares = laws.SHARES[n]
            law = SuccessiveSampling(shares, m)
            listed = cohorts.without_replacement(shares, m)
            for i, share in enumerate(shares, start=1):
                again = cohorts.averaging(listed, i)
                at = {"weights": shares, "m": m, "i": i}
                value = law.averaging_weights()[i - 1]
                yield Case(at, value, share, sides(again, share))


@claim(
    "focus.case3a",
    source=Source("focus", "Section 3.1, Case 3a"),
    statement=r"\text{Uniform sampling: }p_i\equiv m/N\text{ and }q_i\equiv 1/m",
    proposition="If every cohort of m clients is equally likely, which is Case 3 with "
    "equal weights, then p_i = m/N and q_i = 1/m for all i.",
    constants={"q": "1/m"},
    twin={"q": "1/N"},
)
def uniform_clients(c: Any) -> Finding:
    """Judge both values for symbolic m and N, and tabulate small N."""
    found = uniform_weights(c.q)
    if found.passes():
        return found
    return found.corrected(r"p_i\equiv m/N,\quad q_i\equiv 1/N", uniform_weights("1/N"))


def uniform_weights(name: str) -> Finding:
    """Judge p_i = m/N and a printed q_i for uniform sampling of m clients."""
    c = cohorts.counted()
    chance, printed = c.with_one / c.all, PRINTED_Q[name](c.n, c.m)
    pairs = {"p_i": (chance, c.m / c.n), "q_i": (chance / c.m, printed)}
    proof = judge.all_of(
        {
            key: judge.implied(c.relations, sympy.Eq(*pair), "every N and m")
            for key, pair in pairs.items()
        }
    )
    search = judge.instances(uniform_cases(name), "==", "N = 1..4, m = 1..N")
    return judge.proof_or_search(proof, search)


PRINTED_Q = {"1/m": lambda n, m: n**0 / m, "1/N": lambda n, m: m**0 / n}


def uniform_cases(name: str) -> Iterator[Case]:
    """p_i and q_i of every small uniform law, and of Case 3 with equal weights."""
    for n in (4, 3, 2, 1):
        for m in people(n):
            listed = cohorts.uniform(n, m)
            q = PRINTED_Q[name](Fraction(n), Fraction(m))
            printed = {"p_1": Fraction(m, n), "q_1": q}
            again = {
                "p_1": cohorts.inclusion(listed, 1),
                "q_1": cohorts.averaging(listed, 1),
            }
            for law in (UniformCohort(n, m), SuccessiveSampling((1,) * n, m)):
                found = {"p_1": law.inclusion()[0], "q_1": law.averaging_weights()[0]}
                for key, value in printed.items():
                    at = {"N": n, "m": m, "law": law.spec, "value": key}
                    yield Case(at, found[key], value, sides(again[key], value))

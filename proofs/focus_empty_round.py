"""FOCUS, Assumption 1 when nobody takes part: what each convention keeps.

The paper does not say what q_i, the server or FOCUS do in a round without
participants, which Case 2 has as soon as all p_i < 1. With 0/0 = 0 the weights sum to
less than one; given a nonempty round the clients are no longer independent; only a
client that always comes keeps all that is printed.

Conventions: clients from 1; P_0 = P(S empty); W(S) is that of (35), and for S empty
every node takes the server's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import prod
from typing import Any

import numpy as np
import sympy

from flverify import mixing
from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.any_cohort import OneCohort
from flverify.claims.claim import claim
from flverify.claims.cohorts import Listed, people, sides
from flverify.claims.focus_any_round import any_round
from flverify.claims.focus_induction import plain_round
from flverify.claims.focus_recursions import PLAIN
from flverify.claims.focus_runs import formal_rounds
from flverify.claims.judge import Case
from flverify.claims.laws import Setting
from flverify.claims.mixing_cases import SOME
from flverify.claims.parts import together
from flverify.claims.printed_mixing import virtual
from flverify.claims.verdict import Finding
from flverify.participation import Bernoulli, NonEmpty
from flverify.reference import focus

EXECUTED, SKIPPED = "(i) line 13 is executed", "(ii) the round is skipped"


@claim(
    "focus.assump1.empty",
    source=Source("focus", "Assumption 1 with Section 3.1, Case 2; not printed"),
    statement=r"\mathbb{I}_i/\textstyle\sum_j\mathbb{I}_j\text{ and }x_{r+1}\text{ if }"
    r"S_r=\emptyset,\ P(S_r=\emptyset)=\prod_i(1-p_i)\quad\text{(not printed)}",
    proposition="With the convention for empty rounds, Case 2 keeps what is printed "
    "and used elsewhere: independent I_i, sum_i q_i = 1 and q'E W(S) = q'; for FOCUS, "
    "an empty round is the one that (13)-(14) execute with S = {}.",
    constants={
        "p": (Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)),
        "total": 1,
        "empty_step": 1,
    },
    twin={"total": Fraction(99, 100)},
    no_control="depends on the convention, and none is printed; the twin, weights of "
    "another sum, fails under every convention",
    reading_twins={f"FOCUS: {EXECUTED}": {"empty_step": 0}},
)
def empty_round(c: Any) -> Finding:
    """Judge each convention, then relate the first two."""
    certain = (*c.p[:-1], Fraction(1))
    plain = Setting(Bernoulli(c.p), cohorts.independent(c.p))
    given = Setting(NonEmpty(Bernoulli(c.p)), cohorts.nonempty(plain.listed))
    sure = Setting(Bernoulli(certain), cohorts.independent(certain))
    conventions = {
        "(a) 0/0 = 0, the server keeps its model": (plain, "a"),
        "(b) given that S is not empty": (given, "b"),
        "(c) some p_i = 1": (sure, "c"),
    }
    weights = {
        name: kept(setting, letter, c.total)
        for name, (setting, letter) in conventions.items()
    }
    rounds = {
        EXECUTED: focus_empty("step", c.empty_step),
        SKIPPED: focus_empty("skip", c.empty_step),
    }
    found = together(
        {"weights": judge.readings(weights), "FOCUS": judge.readings(rounds)}
    )
    return found.corrected(
        r"q_i^{(a)}=(1-P_0)\,q_i^{(b)},\quad\textstyle\sum_i q_i^{(a)}=1-P_0,\quad "
        r"P_0=\prod_i(1-p_i)",
        related(),
    )


def free_law(convention: str) -> list[Listed]:
    """Case 2 with free p_i for one to three clients, under a convention."""
    out: list[Listed] = []
    for n in (1, 2, 3):
        p = list(sympy.symbols(f"p_1:{n + 1}", positive=True))
        if convention == "c":
            p[-1] = sympy.Integer(1)
        law = cohorts.independent(p)
        out.append(cohorts.nonempty(law) if convention == "b" else law)
    return out


def kept(setting: Setting, letter: str, total: int) -> Finding:
    """Judge independence, sum and eigenvector for one convention."""
    pairs = []
    for n, law in enumerate(free_law(letter), start=1):
        for name, found, expected in listed_sides(law, n, total):
            pairs.append((f"{name}, N = {n}", found, expected))
    law, n = setting.law, setting.n_clients
    q = law.averaging_weights()
    row = np.append(Fraction(0), q) @ mixing.expected_matrix("virtual", law)
    p = law.inclusion()
    found = [(law.moment([i - 1 for i in s], 0), product_of(p, s)) for s in groups(n)]
    found += [(q.sum(), total), *zip(row, [0, *q], strict=True)]
    again = listed_sides(setting.listed, n, total)
    cases = [
        Case({**setting.where, "statement": name}, *one, sides(*two))
        for one, (name, *two) in zip(found, again, strict=True)
    ]
    proof = judge.identity(pairs, "N = 1..3, every p_i the convention allows")
    if letter == "c":
        proof = judge.all_of(
            {"small": proof, "a cohort": somebody_comes(total)},
            scope="every N, every p_i the convention allows",
            argument="the I_i are independent by assumption; S is never empty, so that "
            "the sum of q_i is the mean of what the members of a cohort have, 1. Every "
            "row of W(S) is 1{j in S}/|S|, of mean q_j, and weights q_i of sum 1 leave "
            "it as it is.",
        )
    return judge.proof_or_search(proof, judge.instances(cases, "==", "one law, N = 3"))


@cache
def somebody_comes(total: Any) -> Finding:
    """Judge a cohort of any size among any number of clients."""
    share = 1 / SOME.size
    rows = SOME.matrix(virtual("keep"))
    pairs: list[judge.Pair] = [("members together", SOME.size * share, total)]
    pairs += [
        (f"row of {line}", list(row), [0, share, share, 0, 0])
        for line, row in zip(SOME.lines, rows, strict=True)
    ]
    return judge.identity(pairs, "every N and nonempty S")


def groups(n_clients: int) -> list[frozenset[int]]:
    """List the sets of at least two clients, on which independence is a statement."""
    return cohorts.subsets(n_clients, least=2)


def product_of(table: Sequence[Any], members: frozenset[int]) -> Any:
    """Product of the entries of some clients, numbered from 1."""
    return prod(table[i - 1] for i in members)


def listed_sides(law: Listed, n: int, total: int) -> list[tuple[str, Any, Any]]:
    """Both sides of independence, sum and eigenvector from listed outcomes."""
    p = [cohorts.inclusion(law, i) for i in people(n)]
    q = np.array([0, *(cohorts.averaging(law, i) for i in people(n))], dtype=object)
    mean = cohorts.mean(law, lambda s: OneCohort(s, n).matrix(virtual("keep")))
    out = [
        (
            f"P({cohorts.shown(group)} in S)",
            cohorts.mean(law, lambda s, g=group: int(g <= s)),
            product_of(p, group),
        )
        for group in groups(n)
    ]
    out.append(("sum of q_i", q.sum(), total))
    places = enumerate(zip(q @ mean, q, strict=True))
    return out + [(f"q' E W(S) at {j}", *sides) for j, sides in places]


def focus_empty(treatment: str, factor: int) -> Finding:
    """Judge an empty round of FOCUS against (13)-(14), after a round with client 1.

    `factor` multiplies the server's step in the recursion; it is 1 in print.
    """
    eta, start, gradient = sympy.symbols("eta x_0 g")
    values = {eta: Fraction(1, 2), start: Fraction(1), gradient: Fraction(1)}

    def models(*at: Any) -> list[Any]:
        step, x, g = at
        runs = focus.run(
            lambda _i, _x: [g],
            1,
            [x],
            [{0}, set()],
            step_size=step,
            empty_round=treatment,
        )
        return [model[0] for model in runs]

    def recursion(*at: Any) -> Any:
        step, x, g = at
        tracker = np.array([g, 0], dtype=object)
        here = np.array([x - step * g, x], dtype=object)
        moved = here - factor * step * np.array([1, 0]) * tracker
        return (mixing.pull_matrix((), 1) @ moved)[0]

    symbols, numbers = (eta, start, gradient), tuple(values.values())
    step, x, g = numbers
    by_hand = {"step": x - 2 * step * g, "skip": x - step * g}[treatment]
    case = Case(
        {"eta": step, "x_0": x, "gradient": g, "cohorts": "{1}, {}"},
        models(*numbers)[2],
        recursion(*numbers),
        sides(by_hand, x - (1 + factor) * step * g),
    )
    first = judge.identity(
        [("server model", models(*symbols)[2], recursion(*symbols))],
        "one client, every step size, start and gradient",
    )
    proof = judge.all_of({"after a round": first, "from any state": _nobody_works()})
    return judge.proof_or_search(proof, judge.instances([case], "==", "one instance"))


@cache
def _nobody_works() -> Finding:
    """Compare a round of nobody in (13)-(14) with lines 12 and 13 of the box."""
    empty = (run for run in formal_rounds() if not run.cohorts[0])
    pairs = (pair for run in empty for pair in plain_round(run, PLAIN))
    listed = judge.identity(pairs, "N, tau = 1..3, every state, step size and f_i")
    return judge.all_of(
        {"listed": listed, "any round": any_round(PLAIN)},
        scope="every N, tau, state, step size and f_i",
        argument="a round of nobody is one whose sum over participants has no term",
    )


def related() -> Finding:
    """Judge how the weights under (a) and (b) are related, for every p_i."""
    pairs = []
    pools = zip(free_law("a"), free_law("b"), strict=True)
    for n, (all_rounds, nonempty) in enumerate(pools, start=1):
        likely = 1 - all_rounds[frozenset()]
        q = [cohorts.averaging(all_rounds, i) for i in people(n)]
        for i in people(n):
            given = cohorts.averaging(nonempty, i)
            pairs.append((f"q_{i}, N = {n}", q[i - 1], likely * given))
        pairs.append((f"sum of q_i, N = {n}", sum(q), likely))
    return judge.all_of(
        {
            "small": judge.identity(pairs, "N = 1..3, every p_i in (0, 1)"),
            "a cohort": conditioned(),
        },
        scope="every N, every p_i in (0, 1)",
        argument="q_i is a sum over the cohorts with client i, and the sum of all q_i "
        "one over all nonempty cohorts, which come with 1 - P_0; by independence P_0 "
        "is the product of the 1 - p_i.",
    )


def conditioned() -> Finding:
    """Judge the part of a cohort in q_i under (a) and (b), and of its s members."""
    chance, none, s = sympy.symbols("chance P_0 s", positive=True)
    given = chance / (1 - none)
    pairs = [
        ("part of q_i", chance / s, (1 - none) * (given / s)),
        ("of all its members", s * (chance / s), chance),
    ]
    return judge.identity(pairs, "every N and nonempty S")

"""FOCUS, Section 3.1: Assumption 1 and its cases 1 and 2, clients on their own.

In Case 2 the printed approximation of q_i has, if rounds may be empty, an error that
does not vanish when all p_i are equal; given a nonempty round q_i differs from it, and
relative to it, by at most half of the spread of the p_i. Relative to q_i it can be
more: p = (1, 1/1000) has almost the whole spread. Empty rounds, and the cases in which
the server draws clients, have files of their own.

Conventions: clients from 1; p_i = P(i in S), q_i = E[I_i / sum_j I_j] with 0/0 = 0
unless a reading says otherwise. "Close to each other" is read as: the error relative to
p_i / sum_j p_j is at most a factor times the largest |p_i - p_j|.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge, laws
from flverify.claims.claim import claim
from flverify.claims.close_chances import closeness
from flverify.claims.cohorts import Listed, people, sides
from flverify.claims.judge import Case
from flverify.claims.laws import Setting
from flverify.claims.parts import together
from flverify.claims.verdict import Finding
from flverify.participation import (
    Bernoulli,
    Full,
    ModeChain,
    NonEmpty,
)
from flverify.participation._law import Participation

LAWS = "Cases 1, 2, 3 and 3a, N = 1..4"
EVERY = "every N and every law of nonempty S"


def weight(power: int, client: int, members: frozenset[int]) -> Fraction:
    """1{client in S} / |S|^power, with 0/0 = 0."""
    return Fraction(int(client in members), max(len(members), 1) ** power)


@claim(
    "focus.assump1",
    source=Source("focus", "Assumption 1"),
    statement=r"\mathbb{I}_i=1\text{ with unknown probability }p_i\in(0,1],\qquad "
    r"q_i=\mathbb{E}\Big[\mathbb{I}_i\Big/\textstyle\sum_{j=1}^N\mathbb{I}_j\Big]",
    proposition="The assumption is met by laws with unequal p_i, and for every law of "
    "nonempty S the q_i sum to 1, lie between p_i/N and p_i, and are p_i/m if |S| is "
    "always m.",
    constants={
        "power": 1,
        "chances": (Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)),
        "stay": Fraction(3, 4),
    },
    twin={"power": 2},
    reading_twins={
        "(i) rounds independent of each other / met": {
            "chances": (0, Fraction(1, 3), Fraction(9, 10))
        },
        "(ii) rounds depending on each other / met": {"stay": Fraction(1, 2)},
    },
    exact=("power",),
    structural={
        "chances": "those of a law that is an instance",
        "stay": "that of a chain that is an instance",
    },
)
def assumption(c: Any) -> Finding:
    """Meet the assumption, and derive what its weights satisfy."""
    weights = averaging_facts(c.power)
    return judge.readings(
        {
            "(i) rounds independent of each other": judge.all_of(
                {"met": independent_rounds(c.chances), "weights": weights}
            ),
            "(ii) rounds depending on each other": judge.all_of(
                {"met": dependent_rounds(c.stay), "weights": weights}
            ),
        }
    )


def averaging_facts(power: int) -> Finding:
    """Judge sum, bounds and fixed size, for q_i = E[I_i / |S|^power].

    Every law is a mixture of cohorts and the statements are linear in the law: they
    hold for all laws if they hold for every cohort, here of s clients among s + a.
    """
    t, a = sympy.symbols("t a", nonnegative=True)
    s = 1 + t
    weight = s**-power
    proofs = {
        "sum": judge.identity([("s weights", s * weight, 1)], EVERY),
        "fixed size": judge.identity([("one weight, |S| = s", weight, 1 / s)], EVERY),
        "bounds": judge.nonnegative(
            [("q_i - p_i/N", weight - 1 / (s + a)), ("p_i - q_i", 1 - weight)], EVERY
        ),
    }
    relations = {"sum": "==", "fixed size": "==", "bounds": "<="}
    return judge.all_of(
        {
            name: judge.proof_or_search(
                proof, judge.instances(weight_cases(name, power), relations[name], LAWS)
            )
            for name, proof in proofs.items()
        }
    )


def weight_cases(name: str, power: int) -> Iterator[Case]:
    """Sum, bounds or fixed size of the weights, for laws of nonempty S."""
    for n in (1, 2, 3, 4):
        settings = laws.fixed_size(n) if name == "fixed size" else laws.never_empty(n)
        for setting in filter(Setting.admissible, settings):
            q = [setting.law.moment((i - 1,), power) for i in people(n)]
            again = [
                cohorts.mean(setting.listed, partial(weight, power, i))
                for i in people(n)
            ]
            tables = (setting.law.inclusion().tolist(), setting.inclusion())
            lines = zip(*map(SIDES[name], (q, again), tables), strict=True)
            for k, (found, checked) in enumerate(lines, start=1):
                at = {**setting.where, "line": k}
                yield Case(at, *found, sides(*checked))


def sum_sides(q: list[Any], p: list[Any]) -> list[tuple[Any, Any]]:
    """Sum the q_i, against 1."""
    del p
    return [(sum(q), 1)]


def size_sides(q: list[Any], p: list[Any]) -> list[tuple[Any, Any]]:
    """Each q_i against p_i/m; with a fixed size, m is the sum of the p_i."""
    return [(one, two / sum(p)) for one, two in zip(q, p, strict=True)]


def bound_sides(q: list[Any], p: list[Any]) -> list[tuple[Any, Any]]:
    """p_i/N against q_i, then q_i against p_i."""
    both_ways = zip(q, p, strict=True)
    return [
        pair for one, two in both_ways for pair in ((two / len(q), one), (one, two))
    ]


SIDES = {"sum": sum_sides, "fixed size": size_sides, "bounds": bound_sides}


def independent_rounds(chances: Any) -> Finding:
    """Meet the assumption by Case 2 given that somebody comes, round by round."""
    listed = cohorts.nonempty(cohorts.independent(chances))
    return unequal(NonEmpty(Bernoulli(chances)), listed)


def dependent_rounds(stay: Fraction) -> Finding:
    """Meet the assumption by a chain of two modes that tends to stay where it is."""
    leave = 1 - stay
    sets = (frozenset({1, 2}), frozenset({2, 3}))
    modes = [Bernoulli([int(i in s) for i in people(3)]) for s in sets]
    chain = ModeChain([[stay, leave], [leave, stay]], modes)
    listed = {s: Fraction(1, 2) for s in sets}
    first, second = (chain.modes().stationary[0] * chance for chance in (stay, leave))
    twice = first * modes[0].moment((0,), 0) ** 2
    twice += second * modes[0].moment((0,), 0) * modes[1].moment((0,), 0)
    once = chain.inclusion()[0]
    more = [int(twice > once**2), int(stay / 2 > Fraction(1, 4))]
    label = "whether client 1 comes in two rounds running more often than p_1^2"
    return judge.all_of(
        {
            "p": unequal(chain, listed),
            "dependent": judge.identity(
                [(label, more, [1, 1])], "a chain of two modes"
            ),
        }
    )


def unequal(law: Participation, listed: Listed) -> Finding:
    """Show that every p_i of a law is in (0, 1] and not all of them are equal."""
    table = law.inclusion().tolist()
    again = [cohorts.inclusion(listed, i) for i in people(law.n_clients)]
    met = [int(0 < min(p) < max(p) <= 1) for p in (table, again)]
    label = (
        f"whether 0 < least p_i < largest p_i <= 1, p = {', '.join(map(str, table))}"
    )
    return judge.identity([(label, met, [1, 1])], f"the law {law.spec}")


@claim(
    "focus.case1",
    source=Source("focus", "Section 3.1, Case 1"),
    statement=r"p_i\equiv 1\text{ and }q_i\equiv\tfrac1N\text{ for all client indices}",
    proposition="If every client takes part in every round then p_i = 1 and q_i = 1/N.",
    constants={"q_times_n": 1},
    twin={"q_times_n": 2},
    exact=("q_times_n",),
)
def full_participation(c: Any) -> Finding:
    """Count the participants for symbolic N, and tabulate small N."""
    n, j = sympy.symbols("N j", integer=True, positive=True)
    weight = 1 / sympy.Sum(1, (j, 1, n)).doit()
    proof = judge.identity([("q_i", weight, c.q_times_n / n)], "every N")

    def cases() -> Iterator[Case]:
        for size in range(1, 7):
            law, everybody = Full(size), {frozenset(people(size)): Fraction(1)}
            for i in people(size):
                printed = {"p": 1, "q": Fraction(c.q_times_n, size)}
                found = {
                    "p": law.inclusion()[i - 1],
                    "q": law.averaging_weights()[i - 1],
                }
                again = {
                    "p": cohorts.inclusion(everybody, i),
                    "q": cohorts.averaging(everybody, i),
                }
                for key, value in printed.items():
                    at = {"N": size, "value": f"{key}_{i}"}
                    yield Case(at, found[key], value, sides(again[key], value))

    return judge.proof_or_search(proof, judge.instances(cases(), "==", "N = 1..6"))


NEED_NOT, CANNOT = "(i) the sum need not be 1", "(ii) the sum cannot be 1"
CHANCES = (Fraction(1, 2), Fraction(1, 3), Fraction(9, 10))


@claim(
    "focus.case2",
    source=Source("focus", "Section 3.1, Case 2"),
    statement=r"\mathbb{I}_i\sim\text{Bernoulli}(p_i)\text{ independently},\ "
    r"p_i\in(0,1]\ \text{(Note }\textstyle\sum_i p_i\neq 1\text{)};\quad\text{if }"
    r"\{p_i\}\text{ are close to each other, then } q_i\approx p_i/(\sum_j p_j)",
    proposition="The p_i are constrained as noted, and q_i differs from p_i / "
    "sum_j p_j, relative to p_i / sum_j p_j, by at most the factor times max "
    "|p_i - p_j|, so that the error vanishes with the spread.",
    constants={"factor": Fraction(1, 2), "total": 1},
    twin={"factor": Fraction(1, 3)},
    no_control="depends on the note's meaning and on the empty round; the twin, 1/3 in "
    "place of 1/2, fails under every convention",
    reading_twins={f"note: {NEED_NOT}": {"total": sum(CHANCES)}},
)
def independent_clients(c: Any) -> Finding:
    """Judge both readings of the note, then the approximation by convention."""
    note = {
        NEED_NOT: sum_not(c.total),
        CANNOT: judge.instances(sum_cases(c.total), ">", "N = 2, 3"),
    }
    found = {}
    for name, kind in CONVENTIONS.items():
        cases = approximation_cases(kind, c.factor)
        search = judge.instances(cases, "<=", VECTORS)
        proof = judge.inconclusive("no bound on the error is known to hold")
        if kind != "zero":
            proof = closeness(c.factor)
        found[name] = judge.proof_or_search(proof, search)
    parts = {"note": judge.readings(note), "approximation": judge.readings(found)}
    return together(parts).corrected(
        r"\Big|\frac{q_i}{1-P_0}\Big/\frac{p_i}{\sum_j p_j}-1\Big|\le\tfrac12"
        r"\max_j|p_i-p_j|,\quad P_0=\textstyle\prod_j(1-p_j)",
        found["q_i (b) given that S is not empty"],
    )


VECTORS = "N = 1..4, close and distant p_i"
CONVENTIONS = {
    "q_i (a) with 0/0 = 0": "zero",
    "q_i (b) given that S is not empty": "nonempty",
    "q_i (c) with some p_i = 1": "certain",
}


def sum_not(total: Any) -> Finding:
    """Show one law of Case 2 whose p_i do not have a sum; 1 in print."""
    listed = cohorts.independent(CHANCES)
    again = sum(cohorts.inclusion(listed, i) for i in people(3))
    equal = [
        int(found == total) for found in (sum(Bernoulli(CHANCES).inclusion()), again)
    ]
    shown = ", ".join(map(str, CHANCES))
    label = f"whether the sum of p = {shown} is {total}"
    return judge.identity([(label, equal, [0, 0])], f"the law of p = {shown}")


def sum_cases(total: Any) -> Iterator[Case]:
    """Compare the distance of sum p_i from a total with 0, for laws of Case 2."""
    for n in (2, 3):
        for p in (laws.CHANCES[:n], (Fraction(1, n),) * n):
            listed = cohorts.independent(p)
            again = sum(cohorts.inclusion(listed, i) for i in people(n))
            gap = abs(sum(Bernoulli(p).inclusion()) - total)
            at = {"p": p, "side": f"|sum p_i - {total}|"}
            yield Case(at, gap, 0, sides(abs(again - total), 0))


def approximation_cases(kind: str, factor: Fraction) -> Iterator[Case]:
    """Error over p_i / sum_j p_j against factor times spread, close and distant p_i."""
    for p in chance_vectors():
        if kind == "certain" and max(p) < 1:
            continue
        listed = cohorts.independent(p)
        law = Bernoulli(p)
        if kind == "nonempty":
            law, listed = NonEmpty(law), cohorts.nonempty(listed)
        spread = max(p) - min(p)
        for i, q in enumerate(law.averaging_weights(), start=1):
            target = p[i - 1] / sum(p)
            again = abs(cohorts.averaging(listed, i) / target - 1)
            at = {"p": p, "i": i, "spread": spread}
            recheck = sides(again, factor * spread)
            yield Case(at, abs(q / target - 1), factor * spread, recheck)


def chance_vectors() -> list[tuple[Fraction, ...]]:
    """Probabilities of one to four clients: equal, close and distant ones."""
    out = [(Fraction(1, 2),) * n for n in (2, 1, 3, 4)]
    for base in (Fraction(1), Fraction(1, 2), Fraction(1, 50)):
        for gap in (Fraction(1, 10), Fraction(1, 1000), Fraction(9, 10)):
            low = base * (1 - gap)
            out += [(base, low), (base, base, low), (base, low, low, low)]
    return out

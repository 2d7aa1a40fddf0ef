"""Agnostic FedAvg, Section 2: rounds with nobody, and laws that treat clients alike.

Without footnote 3 the weights of (2) add up to the chance that somebody comes. Laws
that only the size of a cohort tells apart give p_i = 1/N, whatever sizes they have;
equal p_i do not make cohorts of one size equally likely.

Conventions: clients from 1; p_i of (2), 0/0 = 0. A statement linear in the law of S is
shown for every cohort, of s clients among s + a, and then holds for every law.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge, laws
from flverify.claims.agnostic_induced import weights_of
from flverify.claims.claim import claim
from flverify.claims.cohorts import Cohort, Listed, people
from flverify.claims.judge import Case
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.participation import Bernoulli, ExplicitLaw

S = 1 + sympy.Symbol("t", nonnegative=True)  # |A|, at least 1
EVERY = "every N and every law of S"
ALIKE = "every N and law that only sizes tell apart"
ONE = Fraction(1)


@claim(
    "agnostic.lemma1.empty",
    source=Source("agnostic", "Lemma 1 and footnote 3; a question, not printed"),
    statement=r"\sum_{i=1}^Np_i=1-q(\emptyset)\text{ with the convention }0/0=0,\quad="
    r"1-\prod_i(1-\pi_i)\text{ for independent clients}",
    proposition="For every law of S, nobody coming included, the p_i of (2) with 0/0 = "
    "0 add up to 1 - q(empty); so to 1 - prod (1 - pi_i) if clients come "
    "independently, which is 1 only if some client always comes.",
    constants={"convention": "0/0 = 0", "clients": "independent"},
    twin={"convention": "0/0 = 1"},
    reading_twins={"independent": {"clients": "all together"}},
)
def without_footnote(c: Any) -> Finding:
    """Judge the sum cohort by cohort, then for independent clients."""
    empty = {"0/0 = 0": 0, "0/0 = 1": 1}[c.convention]
    pairs: list[Any] = [
        ("a cohort of s clients", S * (1 / S), 1),
        ("the empty cohort", empty, 0),
    ]
    for n in (1, 2, 3):
        law = cohorts.any_law(n, empty=True)
        total = sum(weights_of(dict(somebody(law)), n, 1))
        right = 1 - (1 - empty) * law[frozenset()]
        pairs.append((f"N = {n}", total, right))
    search = judge.instances(
        sums(empty), "==", "N = 1..4, laws with rounds in which nobody comes"
    )
    return judge.all_of(
        {
            "sum": judge.proof_or_search(judge.identity(pairs, EVERY), search),
            "independent": nobody(c.clients),
        }
    )


def somebody(law: Listed) -> Iterator[tuple[Cohort, Any]]:
    """Outcomes in which somebody comes."""
    return ((s, v) for s, v in law.items() if s)


def sums(empty: int) -> Iterator[Case]:
    """Sum of the p_i of the package against what nobody leaves."""
    for n in (1, 2, 3, 4):
        for setting in laws.sometimes_empty(n):
            left = sum(setting.law.averaging_weights())
            gone = setting.listed.get(frozenset(), Fraction(0))
            right = 1 - (1 - empty) * gone
            again = sum(setting.averaging()), right
            yield Case(setting.where, left, right, cohorts.sides(*again))


def nobody(clients: str) -> Finding:
    """Judge q(empty) = prod (1 - pi_i), one client more, and for the package's law."""
    gone, chance = sympy.symbols("gone pi_i", nonnegative=True)
    more = {"independent": gone * (1 - chance), "all together": gone}[clients]
    pairs: list[Any] = [("one client more", more, gone * (1 - chance))]
    for n in (1, 2, 3):
        chances = sympy.symbols(f"pi_1:{n + 1}", positive=True)
        product = sympy.prod([1 - p for p in chances])
        total = sum(Bernoulli(chances).averaging_weights())
        pairs.append((f"1 - sum of p_i, N = {n}", 1 - total, product))
    return judge.identity(pairs, "every N, clients that come independently")


# -- laws that treat clients alike ---------------------------------------------------


@claim(
    "agnostic.uniform-corner.exchangeable",
    source=Source("agnostic", "Section 2, last paragraph; a question, not printed"),
    statement=r"q(\mathcal A)=r_{|\mathcal A|}\ \Rightarrow\ p_i=1/N\text{ for all }i",
    proposition="If the chance of a cohort depends on its size alone, of whatever "
    "sizes, every p_i is 1/N; and there are laws of cohorts of two of four clients "
    "with p_i = 1/4 under which some pairs never come.",
    constants={"power": 1, "never": "1 and 3"},
    twin={"power": 2},
    reading_twins={"no converse": {"never": "1 and 2"}},
    exact=("power",),
)
def exchangeable(c: Any) -> Finding:
    """Judge the weights size by size, then a law of two pairs."""
    counted = cohorts.counted()
    share = counted.m / counted.n / counted.m**c.power  # of cohorts of m
    proof = judge.all_of(
        {
            "P(i in S) = m/N, |S| = m": judge.implied(
                counted.relations,
                sympy.Eq(counted.with_one / counted.all, counted.m / counted.n),
                ALIKE,
            ),
            "share, |S| = m": judge.identity(
                [("m/N over m", share, 1 / counted.n)], ALIKE
            ),
        },
        argument="p_i is the mean over sizes m of its share given |S| = m, which is "
        "1/N for each of them",
    )
    search = judge.instances(mixed(c.power), "==", "N = 2, 3, 4, sizes 1 to N at once")
    return judge.all_of(
        {"p_i": judge.proof_or_search(proof, search), "no converse": pairs_of_four(c)}
    )


def mixed(power: int) -> Iterator[Case]:
    """p_i of laws of all sizes at once against 1/N, with chances m^2 of the size m."""
    for n in (2, 3, 4):
        total = sum(m * m for m in people(n))
        listed = {
            s: v * m * m / total
            for m in people(n)
            for s, v in cohorts.uniform(n, m).items()
        }
        table = {tuple(cohorts.zero_based(s)): v for s, v in listed.items()}
        law = ExplicitLaw(table, n)
        for i in people(n):
            left = law.moment((i - 1,), power)
            again = cohorts.sides(weights_of(listed, n, power)[i - 1], ONE / n)
            at = {
                "N": n,
                "chances of sizes": [Fraction(m * m, total) for m in people(n)],
            }
            yield Case(at | {"i": i}, left, ONE / n, again)


def pairs_of_four(c: Any) -> Finding:
    """Judge S = {1, 2} or {3, 4}: equal p_i, and a pair that never comes."""
    law = ExplicitLaw({(0, 1): "1/2", (2, 3): "1/2"}, 4)
    listed = {frozenset({1, 2}): ONE / 2, frozenset({3, 4}): ONE / 2}
    pair = {"1 and 3": {1, 3}, "1 and 2": {1, 2}}[c.never]
    both = sum((v for s, v in listed.items() if pair <= s), Fraction(0))
    chance = law.moment(tuple(i - 1 for i in sorted(pair)), 0)
    pairs = [
        ("p by the package", law.averaging_weights().tolist(), [ONE / 4] * 4),
        ("p by the outcomes", weights_of(listed, 4, 1), [ONE / 4] * 4),
        (f"P({c.never} in S), package", chance, 0),
        (f"P({c.never} in S), outcomes", both, 0),
    ]
    return judge.identity(pairs, "S = {1, 2} or {3, 4}, 1/2 each")


# -- independent clients -------------------------------------------------------------

ALONE = "every N, clients that come independently"


@claim(
    "agnostic.eq2.independent",
    source=Source("agnostic", "eq. (2), its relation to pi_i; a question, not printed"),
    statement=r"p_i=\pi_i\int_0^1\prod_{j\ne i}(1-\pi_j+\pi_jy)\,dy\text{ for "
    r"independent clients},\quad N=2:\ p_1\pi_2-p_2\pi_1=\tfrac12\pi_1\pi_2(\pi_1-"
    r"\pi_2)",
    proposition="If clients come independently with the probabilities pi_i, p_i is "
    "pi_i times the mean of 1/(1 + number of others who come), which is this integral; "
    "for two clients, both with pi_i > 0, it is not proportional to pi_i, unless both "
    "are equal, but more than so for the frequent one.",
    constants={"half": Fraction(1, 2), "beside": "1 + others"},
    twin={"beside": "others or 1"},
    reading_twins={"not proportional": {"half": 0}},
    exact=("half",),
)
def independent_clients(c: Any) -> Finding:
    """Judge the integral, small N by symbols, larger N by enumeration."""
    y, others = sympy.symbols("y x", nonnegative=True)
    below = {"1 + others": 1 + others, "others or 1": others}[c.beside]
    power = sympy.integrate(y**others, (y, 0, 1), conds="none")
    pairs: list[Any] = [("x others", power * below, 1)]
    for n in (1, 2, 3):
        chances = sympy.symbols(f"pi_1:{n + 1}", positive=True)
        rest = sympy.prod([1 - q + q * y for q in chances[1:]])
        right = chances[0] * sympy.integrate(sympy.expand(rest), (y, 0, 1))
        pairs.append((f"N = {n}", Bernoulli(chances).averaging_weights()[0], right))
    one, two = sympy.symbols("pi_1 pi_2", positive=True)
    p = Bernoulli((one, two)).averaging_weights()
    gap = rational(c.half) * one * two * (one - two)
    search = judge.instances(
        counted_others(c.beside), "==", "N = 2, 5, 9, all subsets beside the package"
    )
    return judge.all_of(
        {
            "integral": judge.proof_or_search(judge.identity(pairs, ALONE), search),
            "not proportional": judge.identity(
                [("p_1 pi_2 - p_2 pi_1", p[0] * two - p[1] * one, gap)], "N = 2"
            ),
        },
        argument="With x others the share of a participant is 1/(1 + x), the integral "
        "of y^x from 0 to 1; and the mean of y^x over independent others is the "
        "product of the 1 - pi_j + pi_j y.",
    )


def counted_others(beside: str) -> Iterator[Case]:
    """p_i of the package against pi_i times a mean over the number of others."""
    for n in (2, 5, 9):
        chances = [Fraction(i, n + 1) for i in people(n)]
        found = Bernoulli(chances).averaging_weights()
        law = cohorts.independent(chances)
        for i in (1, n):
            others = cohorts.independent([q for q in chances if q != chances[i - 1]])
            mean = cohorts.mean(others, lambda s: 1 / divisor(beside, len(s)))
            right = chances[i - 1] * mean
            again = cohorts.sides(cohorts.averaging(law, i), right)
            at = {"N": n, "pi": chances, "i": i}
            yield Case(at, found[i - 1], right, again)


def divisor(beside: str, others: int) -> Fraction:
    """Size of the cohort, or of the others where there are some."""
    return Fraction(1 + others if beside == "1 + others" else max(others, 1))

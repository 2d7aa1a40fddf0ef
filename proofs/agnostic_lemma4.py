"""Agnostic FedAvg, Section 3.2: the server step and Lemma 4 with its inequality (5).

Each step of the printed proof holds. The two sides of (5) differ by the mean spread of
the participants' models, for any point in place of the minimiser.

Conventions: clients from 1, S never empty (footnote 3) and independent of the past; for
dependent cohorts see `agnostic.iid`. A statement linear in the law of S is shown for a
cohort of s clients, and then holds for every law. Rechecks run the plain loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.agnostic_rounds import mean_of_cohort
from flverify.claims.agnostic_windows import (
    WIDE,
)
from flverify.claims.claim import Free, claim
from flverify.claims.cohorts import Cohort, any_law, people
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import FAMILY, Nonsmooth, family
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Client,
    Line,
    Point,
    squared_distance,
)
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

S = 1 + sympy.Symbol("t", positive=True)  # |A|, at least 1
LAWS = "every N and every law of nonempty S"


@claim(
    "agnostic.serverstep",
    source=Source("agnostic", "Section 3.2, display"),
    statement=r"\hat\theta^t=\frac1{|S^t|}\sum_{j\in S^t}\theta_j^{t-1}",
    proposition="If S is not empty the server model is defined, is the average of line "
    "5 of Algorithm 1, and is a convex combination of the participants' models, so "
    "that it lies in C when they do.",
    constants={"divisor": "|S|"},
    twin={"divisor": "N"},
    reading_twins={"sign": {"divisor": "-|S|"}},
)
def server_step(c: Any) -> Finding:
    """Judge the weights, for s participants among s + a, then every S by the loop."""
    others = sympy.Symbol("a", positive=True)
    divisor = {"|S|": S, "N": S + others, "-|S|": -S}[c.divisor]
    weights = judge.identity([("sum of the weights", S * (1 / divisor), 1)], LAWS)
    signs = judge.nonnegative([("a weight", 1 / divisor)], LAWS)
    search = judge.instances(server_cases(c.divisor), "==", "N = 1..4, every S")
    total = judge.proof_or_search(weights, search)
    return judge.all_of({"line 5, sum": total, "sign": signs})


def server_cases(divisor: str) -> Iterator[Case]:
    """Compare the display with line 5 as the plain loop runs it, for every S."""
    for n in (1, 2, 3, 4):
        clients = tuple(Client(Line(Fraction(-i * i)), SILENT) for i in people(n))
        for members in cohorts.subsets(n, least=1):
            one = Nonsmooth(
                clients, {members: Fraction(1)}, WIDE, Fraction(1), 2, "literal"
            )
            models = [Fraction(i * i) for i in people(n)]
            size = {"|S|": len(members), "N": n, "-|S|": -len(members)}[divisor]
            left = sum((models[j - 1] for j in members), Fraction(0)) / size
            draws = tuple((Fraction(0),) for _ in clients)
            chosen = [cohorts.zero_based(members)]
            right = one.plain_models(chosen, one.start, draws)[-1][0]
            tracks = [track[-1] for track in one.tracks(one.start, draws)]
            by_hand = one.aggregate(members, tracks)[0]
            at = {"N": n, "S": cohorts.shown(members), "theta": models}
            yield Case(at, left, right, cohorts.sides(left, by_hand))


@claim(
    "agnostic.eq5",
    source=Source("agnostic", "eq. (5)"),
    statement=r"\mathbb E\big[\|\hat\theta^t-\theta^*\|^2\,|\,\mathcal F_{t-1}\big]\le"
    r"\sum_{i\in[N]}p_i\|\theta_i^{t-1}-\theta^*\|^2",
    proposition="If S^t has law q with q(empty) = 0 and is independent of F_{t-1}, the "
    "inequality holds for all models and every point in place of theta*.",
    constants={"factor": 1},
    twin={"factor": Fraction(1, 2)},
    free=Free("factor", Fraction(1, 2), 2, weaker="larger"),
)
def sample_to_model(c: Any) -> Finding:
    """Judge one cohort of any size by two moments; every law averages cohorts."""
    proof = cohort_inequality(rational(c.factor))
    search = judge.instances(aggregate_cases(c.factor, 1), "<=", AGGREGATES)
    return judge.proof_or_search(proof, search).corrected(
        r"\sum_ip_i\|\theta_i^{t-1}-z\|^2-\mathbb E\|\hat\theta^t-z\|^2=\sum_{\mathcal "
        r"A}q(\mathcal A)\frac1{2|\mathcal A|^2}\sum_{i,j\in\mathcal A}\|\theta_i^{t-1}"
        r"-\theta_j^{t-1}\|^2\text{ for every }z\text{, 0 iff participants agree}",
        gap_identity(),
    )


def cohort_inequality(factor: Any) -> Finding:
    """Prove |mean - z|^2 <= factor times the mean of |theta_i - z|^2 in a cohort.

    Coordinates, then cohorts with the weights q, add.
    """
    return mean_of_cohort(Fraction(str(factor)))


@cache
def gap_identity() -> Finding:
    """Judge the exact gap by moments, then for any law, and where it is 0.

    A sum of squares with weights q(A)/(2|A|^2) > 0 is 0 only if each of them is.
    """
    m, v, z = sympy.symbols("m v z")
    mean_of_squares = v - 2 * z * m + z**2
    pairs_of = (2 * S * (S * v) - 2 * (S * m) ** 2) / (2 * S**2)
    pairs = [("one cohort of s clients", mean_of_squares - (m - z) ** 2, pairs_of)]
    for n in (1, 2, 3):
        law, x = any_law(n), sympy.symbols(f"theta_1:{n + 1}")
        p = [weight(law, i, 1) for i in people(n)]
        right = sum(p[i] * (x[i] - z) ** 2 for i in range(n))
        left = cohorts.mean(law, lambda a, x=x: (average(a, x) - z) ** 2)
        spread = cohorts.mean(law, lambda a, x=x: spread_of(a, x))
        pairs.append((f"any law, N = {n}", sympy.expand(right - left - spread), 0))
    one, rest = sympy.Symbol("difference", real=True), sympy.Symbol("rest", real=True)
    chance = sympy.Symbol("weight", positive=True)
    held = [sympy.Eq(chance * one**2 + rest, 0), rest >= 0]
    return judge.all_of(
        {
            "gap": judge.identity(pairs, f"{LAWS}, all models and z"),
            "0 iff participants agree": judge.implied(held, sympy.Eq(one, 0), LAWS),
        }
    )


def weight(law: Any, client: int, power: int) -> Any:
    """Return p_i of (2), for power 1, over listed outcomes."""
    terms = [chance / len(a) ** power for a, chance in law.items() if client in a]
    return sum(terms, sympy.Integer(0))


def average(members: Cohort, models: Any) -> Any:
    """Mean of the models of a cohort."""
    return sum(models[i - 1] for i in members) / sympy.Integer(len(members))


def spread_of(members: Cohort, models: Any) -> Any:
    """Sum the squared distances of the pairs of a cohort, over 2|A|^2."""
    squares = sum(
        (models[i - 1] - models[j - 1]) ** 2 for i in members for j in members
    )
    return squares / (2 * sympy.Integer(len(members)) ** 2)


AGGREGATES = FAMILY + ", models after one window"


def aggregate_cases(factor: Any, power: int) -> Iterator[Case]:
    """(5) after one window, given each noise of it, for theta* and for equal models."""
    for one in family("literal"):
        if len(one.start) > 1:
            continue
        best = one.minimiser()
        for index, (_, draws) in enumerate(one.draws()):
            last = [track[-1] for track in one.tracks(one.start, draws)]
            yield aggregate_case(one, last, best, draws, (factor, power), index)


def aggregate_case(
    one: Nonsmooth,
    last: list[Point],
    best: Point,
    draws: Any,
    wrong: tuple[Any, int],
    index: int,
) -> Case:
    """One instance of (5), with weights E[1{i in S}/|S|^power]."""
    factor, power = wrong
    law = one.law
    left = cohorts.mean(law, lambda a: squared_distance(one.aggregate(a, last), best))
    rows = zip(people(one.n_clients), last, strict=True)
    total = sum(
        Fraction(weight(law, i, power)) * squared_distance(x, best) for i, x in rows
    )
    at = {**one.where, "models": last, "theta*": best, "noise": index}
    return Case(at, left, factor * total, lambda: plain_sides(one, draws, best, wrong))


def plain_sides(
    one: Nonsmooth, draws: Any, best: Point, wrong: tuple[Any, int]
) -> tuple[Any, Any]:
    """Both sides of (5) from the plain loop: each cohort, then each client alone."""
    factor, power = wrong
    left, right = Fraction(0), Fraction(0)
    for members, chance in one.law.items():
        chosen = [cohorts.zero_based(members)]
        left += chance * squared_distance(
            one.plain_models(chosen, one.start, draws)[-1], best
        )
        for i in members:
            x = one.plain_local(i - 1, one.local_steps, one.start, draws)
            right += chance * squared_distance(x, best) / len(members) ** power
    return left, factor * right


@claim(
    "agnostic.lemma4",
    source=Source("agnostic", "Lemma 4 and its proof"),
    statement=r"\mathbb E\big[\|\hat\theta^t-\theta^*\|^2|\mathcal F_{t-1}\big]\le"
    r"\mathbb E_{S^t}\Big[\tfrac1{|S^t|}\sum_{i\in S^t}\|\theta_i^{t-1}-\theta^*\|^2"
    r"\Big]=\sum_{i\in[N]}\Big[\sum_{\mathcal A}\tfrac1{|\mathcal A|}P[S^t=\mathcal A]"
    r"\mathbb I[i\in\mathcal A]\Big]\|\theta_i^{t-1}-\theta^*\|^2"
    r"=\sum_{i\in[N]}p_i\|\theta_i^{t-1}-\theta^*\|^2",
    proposition="At every communication, with S^t of law q, q(empty) = 0, independent "
    "of F_{t-1}, each step of the printed proof holds: Jensen in the cohort, the mean "
    "over cohorts, the exchange of sums, and (2).",
    constants={"power": 1},
    twin={"power": 2},
    exact=("power",),
)
def lemma_4(c: Any) -> Finding:
    """Judge the steps one by one, and search nonsmooth runs for the lemma."""
    steps = {
        "(1) Jensen": cohort_inequality(sympy.Integer(1)),
        "(2)-(5) exchange of sums": exchange(c.power),
    }
    search = judge.instances(aggregate_cases(Fraction(1), c.power), "<=", AGGREGATES)
    return judge.proof_or_search(judge.all_of(steps), search)


@cache
def exchange(power: int) -> Finding:
    """Judge the mean over cohorts of (1/|A|) sum_{i in A} d_i against sum p_i d_i.

    For every N both are finite sums over the pairs of a cohort and a member, and the
    term of a pair is the same in both; N <= 3 is written out beside that.
    """
    pairs = [("factor of a participant, |A| = s", 1 / S, S**-power)]
    for n in (1, 2, 3):
        law, d = any_law(n), sympy.symbols(f"d_1:{n + 1}", nonnegative=True)
        cohort = cohorts.mean(law, lambda a, d=d: average(a, d))
        indicator = sum(
            sum(chance * int(i in a) * d[i - 1] / len(a) for i in people(n))
            for a, chance in law.items()
        )
        swapped = sum(weight(law, i, power) * d[i - 1] for i in people(n))
        pairs += [
            (f"indicators, N = {n}", cohort, indicator),
            (f"swapped, N = {n}", indicator, swapped),
        ]
    return judge.identity(pairs, f"{LAWS}, all models")

"""Agnostic FedAvg, Section 2: what the model of availability covers and what it needs.

The mean of the aggregate is the p-average. Uniform sampling has p_i = 1/N, but is not
the only law that has. Laws with empty or with dependent rounds are no instances of the
model; without independence of S^t from the past (5) fails, given the past and in the
mean.

Conventions: clients from 1; p_i of (2); a statement linear in the law of S is shown for
every cohort, of s clients among s + a, and then holds for every law.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge, laws
from flverify.claims.agnostic_rounds import mean_of_cohorts
from flverify.claims.claim import claim
from flverify.claims.cohorts import Listed, any_law, people
from flverify.claims.drawn_anew import by_chances, by_weights
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth, family
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Absolute,
    Client,
    inner,
    minus,
)
from flverify.claims.verdict import Finding
from flverify.participation import ExplicitLaw, UniformCohort

ONE = Fraction(1)
S = 1 + sympy.Symbol("t", positive=True)  # |A|, at least 1
EVERY = "every N and every law of nonempty S"


def weight(law: Listed, client: int, power: int = 1) -> Any:
    """Return the sum of (2) over the outcomes of a law, with |A|^power below."""
    terms = [chance / len(a) ** power for a, chance in law.items() if client in a]
    return sum(terms, Fraction(0))


@claim(
    "agnostic.meanid",
    source=Source("agnostic", "eq. (4) and line 5; implied, not printed"),
    statement=r"\mathbb E[\hat\theta^t\,|\,\mathcal F_{t-1}]=\sum_{i\in[N]}p_i"
    r"\theta_i^{t-1}",
    proposition="If S^t has law q with q(empty) = 0 and is independent of F_{t-1}, the "
    "mean of the aggregate of line 5 is the average of all models with the weights "
    "(2).",
    constants={"power": 1},
    twin={"power": 2},
    exact=("power",),
)
def mean_of_aggregate(c: Any) -> Finding:
    """Judge a participant's factor, every law of three clients, and runs."""
    pairs: list[Any] = [("factor of a model, |A| = s", 1 / S, S**-c.power)]
    for n in (1, 2, 3):
        law, models = any_law(n), sympy.symbols(f"theta_1:{n + 1}")
        mean = cohorts.mean(
            law, lambda a, x=models: sum(x[i - 1] for i in a) / sympy.Integer(len(a))
        )
        total = sum(weight(law, i, c.power) * models[i - 1] for i in people(n))
        pairs.append((f"any law, N = {n}", mean, total))
    search = judge.instances(aggregates(c.power), "==", "nonsmooth runs, one round")
    return judge.proof_or_search(judge.identity(pairs, f"{EVERY}, all models"), search)


def aggregates(power: int) -> Iterator[Case]:
    """Mean of the server model over the cohorts, given the noise of one round."""
    for one in family("literal", (2, 3)):
        _, draws = next(one.draws())
        last = [track[-1] for track in one.tracks(one.start, draws)]
        rows = list(zip(people(one.n_clients), last, strict=True))
        left = sum(p * one.aggregate(a, last)[0] for a, p in one.law.items())
        right = sum(weight(one.law, i, power) * x[0] for i, x in rows)
        yield Case(
            {**one.where, "models": last},
            left,
            right,
            lambda one=one, draws=draws: plain_mean(one, draws, power),
        )


def plain_mean(one: Nonsmooth, draws: Any, power: int) -> tuple[Any, Any]:
    """Both sides by the plain loop: every cohort, then every client alone."""
    left, right = Fraction(0), Fraction(0)
    for members, p in one.law.items():
        chosen = [cohorts.zero_based(members)]
        left += p * one.plain_models(chosen, one.start, draws)[-1][0]
        for i in members:
            x = one.plain_local(i - 1, one.local_steps, one.start, draws)[0]
            right += p * x / len(members) ** power
    return left, right


@claim(
    "agnostic.uniform-corner",
    source=Source("agnostic", "Section 2, last paragraph; Section 4 after (10)"),
    statement=r"p_i=1/N\text{ while allowing fixed-size partial participation, a "
    r"special corner case of the statistical model outlined above; then (10) coincides "
    r"with line 5}",
    proposition="Uniform sampling of M of N clients has the weights p_i = 1/N of (2), "
    "with which (10) is line 5; p_i = 1/N makes the clients equally likely if |S| is "
    "always M, but not in general.",
    constants={"power": 1, "chance": "M/N", "apart": ONE / 3},
    twin={"power": 2},
    reading_twins={
        "P(i in S) = M/N": {"chance": "1/N"},
        "no converse": {"apart": 0},
    },
    exact=("power", "apart"),
)
def uniform_corner(c: Any) -> Finding:
    """Judge the weights for every N and M, the rule (10), and the converse."""
    N, M = sympy.symbols("N M", positive=True)
    p = M / N / M**c.power
    pairs = [
        ("p_i", p, 1 / N),
        ("(10), factor of a model", N / M * p, 1 / M),
        ("a cohort of M, in M p_i and in P(i in S)", M * M**-c.power, 1),
    ]
    proof = judge.identity(pairs, "every N and M")
    search = judge.instances(uniform_cases(c.power), "==", "N = 1..5, M = 1..N")
    counted = cohorts.counted()
    members = {"M/N": counted.m, "1/N": 1}[c.chance]
    chance = sympy.Eq(counted.with_one / counted.all, members / counted.n)
    return judge.all_of(
        {
            "P(i in S) = M/N": judge.implied(
                counted.relations, chance, "every N and M"
            ),
            "p_i = 1/N": judge.proof_or_search(proof, search),
            "no converse": unequal(c.apart),
        }
    )


def uniform_cases(power: int) -> Iterator[Case]:
    """p_i of the listed cohorts against 1/N, with the package's law beside it."""
    for n in range(1, 6):
        for m in people(n):
            listed, law = cohorts.uniform(n, m), UniformCohort(n, m)
            for i in people(n):
                left = weight(law.support(), i - 1, power)
                again = cohorts.sides(weight(listed, i, power), Fraction(1, n))
                yield Case({"N": n, "M": m, "i": i}, left, Fraction(1, n), again)


def unequal(apart: Any) -> Finding:
    """Judge P(2 in S) - P(1 in S) for a law with p_i = 1/3: client 1 comes alone."""
    law = {frozenset({1}): ONE / 3, frozenset({2, 3}): 2 * ONE / 3}
    package = ExplicitLaw({(0,): ONE / 3, (1, 2): 2 * ONE / 3}, 3)
    tables = {
        "outcomes": [(weight(law, i), cohorts.inclusion(law, i)) for i in people(3)],
        "package": list(
            zip(package.averaging_weights(), package.inclusion(), strict=True)
        ),
    }
    pairs: list[Any] = []
    for name, ((first, alone), (second, both), (third, _)) in tables.items():
        pairs.append((f"p by the {name}", [first, second, third], [ONE / 3] * 3))
        pairs.append((f"P(2 in S) - P(1 in S), {name}", both - alone, apart))
    return judge.identity(pairs, "S = {1} with 1/3, {2, 3} with 2/3")


# -- other models of availability ----------------------------------------------------


@claim(
    "agnostic.subsumes",
    source=Source("agnostic", "Section 2, last sentence"),
    statement=r"\text{the proposed model subsumes various other availability models "
    r"considered in the literature as well}",
    proposition="The availability model of the reading is a law q of cohorts, drawn "
    "anew in every round whatever came before, with q(empty) = 0.",
    constants={"nobody": False},
    twin={"nobody": True},
    no_control="depends on the availability model; the twin, rounds that may be empty, "
    "fails for each",
)
def subsumed(c: Any) -> Finding:
    """Judge q(empty) = 0 and independence of two rounds for five models."""
    some = {
        "(i) fixed size, uniform or by weights": (fixed(c.nobody), HALF),
        "(ii) independent erasures, given somebody": (erasures(c.nobody), HALF),
        "(iii) independent erasures": (erasures(True), HALF),
        "(iv) Markov availability": (chain(c.nobody), Fraction(9, 10)),
        "(v) periods with nobody": (chain(True), HALF),
    }
    searches = {
        name: judge.all_of(
            {
                "nobody": judge.instances(empty_cases(found), "==", "N = 2, 3, 4"),
                "rounds": judge.instances(dependence(found, stay), "==", "two rounds"),
            }
        )
        for name, (found, stay) in some.items()
    }
    first, second, *_ = searches
    proofs = {first: by_weights(c.nobody), second: by_chances(c.nobody)}
    found = {k: judge.proof_or_search(p, searches[k]) for k, p in proofs.items()}
    return judge.readings(searches | found)


HALF = Fraction(1, 2)


def fixed(nobody: bool) -> list[Listed]:
    """Laws of fixed size, M = 0 included if nobody may come."""
    found = [s.listed for n in (2, 3, 4) for s in laws.fixed_size(n)]
    return [*found, {frozenset[int](): ONE}] if nobody else found


def erasures(nobody: bool) -> list[Listed]:
    """Independent clients, conditioned on somebody coming unless nobody may."""
    chances = [laws.CHANCES[:n] for n in (2, 3, 4)]
    free = [cohorts.independent(row) for row in chances]
    return free if nobody else [cohorts.nonempty(law) for law in free]


def chain(nobody: bool) -> list[Listed]:
    """Law of one round of a chain on two cohorts, one of them empty if nobody may."""
    other = frozenset[int]() if nobody else frozenset({1})
    return [{other: HALF, frozenset({2}): HALF}]


def empty_cases(found: list[Listed]) -> Iterator[Case]:
    """q(empty) against 0, as a sum over outcomes and as what the others leave."""
    for law in found:
        left = sum((p for s, p in law.items() if not s), Fraction(0))
        again = 1 - sum((p for s, p in law.items() if s), Fraction(0))
        at = {"law of S": {cohorts.shown(s): p for s, p in law.items()}}
        yield Case(at, left, 0, cohorts.sides(again, 0))


def dependence(found: list[Listed], stay: Fraction) -> Iterator[Case]:
    """Compare P(S^1 = A, S^2 = B) with the product, for two successive rounds."""
    for law in found:
        rounds = two_rounds(law, stay)
        for (a, b), both in rounds.items():
            first = sum((p for (s, _), p in rounds.items() if s == a), Fraction(0))
            second = sum((p for (_, s), p in rounds.items() if s == b), Fraction(0))
            rest = sum((p for pair, p in rounds.items() if pair != (a, b)), Fraction(0))
            at = {"law of S": {cohorts.shown(s): p for s, p in law.items()}}
            at |= {"A": cohorts.shown(a), "B": cohorts.shown(b)}
            again = cohorts.sides(1 - rest, law[a] * law[b])
            yield Case(at, both, first * second, again)


def two_rounds(law: Listed, stay: Fraction) -> dict[Any, Fraction]:
    """Law of two rounds: a chain on two cohorts keeps its own with that probability.

    With `stay` one half, or more cohorts, the second round is drawn anew.
    """
    sticky = stay != HALF and len(law) == 2
    return {
        (a, b): Fraction(p) * ((stay if a == b else 1 - stay) if sticky else r)
        for a, p in law.items()
        for b, r in law.items()
    }


@claim(
    "agnostic.novelty",
    source=Source("agnostic", "Abstract and Section 1"),
    statement=r"\text{convergence of FedAvg has not been established even }[\dots]"
    r"\text{ where a fixed number of clients participate and their sampling "
    r"probabilities are known; first convergence guarantees }[\dots]",
    proposition="No earlier paper proves that FedAvg with plain averaging converges "
    "under random participation that is not uniform.",
    no_control="a statement about other papers",
)
def novelty(_c: Any) -> Finding:
    """Leave it open: nothing here reads other papers."""
    return judge.inconclusive(
        "a statement about other papers; it would need their theorems, and nothing was "
        "computed; to be compared are Theorem 2 of the FOCUS paper (arXiv:2503.20117), "
        "plain averaging of any cohorts, and the sources that its Appendix C names"
    )


# -- independence of the past --------------------------------------------------------


@claim(
    "agnostic.iid",
    source=Source("agnostic", "Section 3, used in Lemma 4; a question, not printed"),
    statement=r"\mathbb E\big[\|\hat\theta^t-\theta^*\|^2|\mathcal F_{t-1}\big]\le"
    r"\sum_ip_i\|\theta_i^{t-1}-\theta^*\|^2\text{ if }S^t\text{ has law }q"
    r"\text{ at every }t\text{ but depends on }\mathcal F_{t-1}",
    proposition="(5), and its mean (6), hold for cohorts that form a stationary Markov "
    "chain of law q, with the weights p_i of q.",
    constants={"stay": Fraction(9, 10), "weights": "of q"},
    twin={"stay": HALF},
)
def markov_cohorts(c: Any) -> Finding:
    """Judge (5) given the past and (6) in the mean, for two clients that take turns."""
    return both_inequalities(c.stay, c.weights).corrected(
        r"\text{with }\mathbb E\big[\mathbb I[i\in S^t]/|S^t|\,\big|\,\mathcal F_{t-1}"
        r"\big]\text{ in place of }p_i",
        both_inequalities(c.stay, "given the past"),
    )


TURNS = "two clients, one at a time, weights 1..3, H = 3, eta = 1/2, 1/4, two rounds"


def both_inequalities(stay: Fraction, weights: str) -> Finding:
    """Judge the inequality given each first cohort, and averaged over it.

    Given the past S has a law, which is q if nothing depends on the past; with the
    weights of that law (5) is proved cohort by cohort, and (6) is its mean.
    """
    each = (case for one in turns() for case in given_past(one, stay, weights))
    found = {
        "(5), given the past": judge.instances(each, "<=", TURNS),
        "(6), in the mean": judge.instances(
            (in_mean(one, stay, weights) for one in turns()), "<=", TURNS
        ),
    }
    if weights == "given the past" or stay == HALF:
        proof = mean_of_cohorts()
        found = {k: judge.proof_or_search(proof, search) for k, search in found.items()}
    return judge.readings(found)


def turns() -> Iterator[Nonsmooth]:
    """Two absolute values, p = (1/2, 1/2), starts at 0."""
    law = {frozenset({1}): HALF, frozenset({2}): HALF}
    box = ("box", Fraction(-3), Fraction(3))
    for heavy in (1, 2, 3):
        for step in (HALF, HALF / 2):
            clients = (
                Client(Absolute(Fraction(2)), SILENT),
                Client(Absolute(-ONE, Fraction(heavy)), SILENT),
            )
            yield Nonsmooth(clients, law, box, step, 3, "literal")


def sides_of_five(
    one: Nonsmooth, first: int, stay: Fraction, weights: str, plain: bool
) -> tuple[Fraction, Fraction]:
    """Both sides of (5) at the second communication, given who came first."""
    still = ((Fraction(0),) * 4,) * 2
    best = one.minimiser()
    if plain:
        server = one.plain_models([{first - 1}], one.start, still)[-1]
        ends = [one.plain_local(i, 2, server, still) for i in (0, 1)]
    else:
        server = one.track(first - 1, one.start, still[0][:2])[-1]
        ends = [one.track(i, server, still[0][:2])[-1] for i in (0, 1)]
    errors = [inner(minus(x, best), minus(x, best)) for x in ends]
    again = [stay if i == first else 1 - stay for i in (1, 2)]
    p = [HALF, HALF] if weights == "of q" else again
    left = sum((q * e for q, e in zip(again, errors, strict=True)), Fraction(0))
    return left, sum((q * e for q, e in zip(p, errors, strict=True)), Fraction(0))


def given_past(one: Nonsmooth, stay: Fraction, weights: str) -> Iterator[Case]:
    """(5) for each first cohort."""
    for first in (1, 2):
        sides = [
            sides_of_five(one, first, stay, weights, plain) for plain in (False, True)
        ]
        at = {**one.where, "theta*": one.minimiser(), "first S": f"{{{first}}}"}
        at |= {"P(same again)": stay}
        yield Case(at, *sides[0], cohorts.sides(*sides[1]))


def in_mean(one: Nonsmooth, stay: Fraction, weights: str) -> Case:
    """(6): the mean of (5) over who came first."""

    def mean(plain: bool) -> tuple[Fraction, Fraction]:
        pairs = [sides_of_five(one, k, stay, weights, plain) for k in (1, 2)]
        return sum(a for a, _ in pairs) / 2, sum(b for _, b in pairs) / 2

    at = {**one.where, "theta*": one.minimiser(), "P(same again)": stay}
    return Case(at, *mean(False), lambda: mean(True))

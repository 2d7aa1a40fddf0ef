"""Agnostic FedAvg, (2), Lemma 1, (4) and (10): the weights of the clients.

The p_i of (2) are a probability distribution, the mean of line 5 and the two-stage
experiment of (4), once q(empty) = 0. Weighted FedAvg is line 5 for p_i = 1/N, whatever
p_i means; uniform availability makes the weights of (2) equal to that, the
probabilities of taking part only for M = 1. With the weights of (2) its total weight
exceeds one in the mean.

Conventions: clients from 1; pi_i = P(i in S). A statement linear in the law of S is
shown for every cohort, of s clients among s + a; then it holds for every law.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge, laws
from flverify.claims.claim import claim
from flverify.claims.cohorts import Cohort, Listed, any_law, people, sides
from flverify.claims.judge import Case
from flverify.claims.laws import Setting
from flverify.claims.verdict import Finding
from flverify.participation import ExplicitLaw, UniformCohort
from flverify.reference import agnostic_fedavg, weighted_fedavg

EVERY = "every N and every law of nonempty S"
LAWS = "fixed and random |S|, N = 1..4"
S = 1 + sympy.Symbol("t", positive=True)  # |A|, at least 1


def some_laws(*, nobody: bool = False) -> Iterator[Setting]:
    """Laws of nonempty S, or with empty rounds, for one to four clients."""
    for n in (1, 2, 3, 4):
        yield from laws.sometimes_empty(n) if nobody else laws.never_empty(n)


def printed_weight(law: Listed, client: int, power: int = 1) -> Any:
    """Return the sum of (2), over the outcomes of a law, with 0/0 = 0."""
    terms = [chance / len(a) ** power for a, chance in law.items() if client in a]
    return sum(terms, Fraction(0))


@claim(
    "agnostic.eq2",
    source=Source("agnostic", "eq. (2) and footnote 3"),
    statement=r"p_i=\sum_{j=1}^{2^N}\frac{q(\mathcal A_j)}{|\mathcal A_j|}"
    r"\mathbb{I}[i\in\mathcal A_j],\ i\in[N],\qquad q(\emptyset)=0,\ 0/0=0",
    proposition="The weights of (2) are those with which line 5 averages the clients "
    "in the mean; they are pi_i/M if |S| is always M, but not proportional to pi_i in "
    "general.",
    constants={"power": 1, "excess": Fraction(1, 12)},
    twin={"power": 2},
    reading_twins={"not proportional": {"excess": 0}},
    exact=("power", "excess"),
)
def marginal_weights(c: Any) -> Finding:
    """Compare (2) with the mean of line 5, then with the inclusion probabilities."""
    summand = S**-c.power
    pairs = [
        ("factor of a client in line 5, |A| = s", summand, 1 / S),
        ("pi_i/M, |A| = M = s", summand, 1 / S),
    ]
    for n in (1, 2, 3):
        law = any_law(n)
        table = ExplicitLaw({tuple(j - 1 for j in a): v for a, v in law.items()}, n)
        printed = [printed_weight(law, i, c.power) for i in people(n)]
        pairs.append((f"any law, N = {n}", printed, table.averaging_weights()))
    proof = judge.identity(pairs, EVERY)
    search = judge.all_of(
        {
            "line 5": judge.instances(average_cases(c.power), "==", LAWS),
            "fixed size": judge.instances(size_cases(c.power), "==", LAWS),
        }
    )
    return judge.all_of(
        {
            "weights": judge.proof_or_search(proof, search),
            "not proportional": skewed(c.power, c.excess),
        }
    )


def average_cases(power: int) -> Iterator[Case]:
    """(2) against the mean of line 5 on models 1{j = i}, for every client i."""
    for setting in some_laws():
        listed, law = setting.listed, setting.law
        for i in people(setting.n_clients):
            again = cohorts.mean(listed, lambda a, i=i: line_5(a, {i: Fraction(1)}))
            weight = printed_weight(law.support(), i - 1, power)
            at = {**setting.where, "i": i}
            recheck = sides(printed_weight(listed, i, power), again)
            yield Case(at, weight, law.averaging_weights()[i - 1], recheck)


def line_5(members: Cohort, models: dict[int, Any]) -> Any:
    """Return the aggregate of Algorithm 1; models left out are 0."""
    return sum((models.get(i, 0) for i in members), Fraction(0)) / len(members)


def size_cases(power: int) -> Iterator[Case]:
    """(2) against pi_i/M for laws of fixed size."""
    for n in (1, 2, 3, 4):
        for setting in laws.fixed_size(n):
            listed, law = setting.listed, setting.law
            m = len(next(iter(listed)))
            for i in people(n):
                weight = printed_weight(law.support(), i - 1, power)
                again = cohorts.inclusion(listed, i) / m
                recheck = sides(printed_weight(listed, i, power), again)
                at = {**setting.where, "i": i}
                yield Case(at, weight, law.inclusion()[i - 1] / m, recheck)


def skewed(power: int, excess: Any) -> Finding:
    """Judge a law with p_1 above pi_1 / sum pi: client 2 comes every other time."""
    law = ExplicitLaw({(0,): "1/2", (0, 1): "1/2"}, 2)
    listed = {frozenset({1}): Fraction(1, 2), frozenset({1, 2}): Fraction(1, 2)}
    share = law.inclusion()[0] / law.inclusion().sum()
    chances = [cohorts.inclusion(listed, i) for i in (1, 2)]
    again = printed_weight(listed, 1, power) - chances[0] / sum(chances)
    found = printed_weight(law.support(), 0, power) - share
    pairs = [("by the package", found, excess), ("by the outcomes", again, excess)]
    return judge.identity(pairs, "S = {1} or {1, 2}, 1/2 each")


@claim(
    "agnostic.lemma1",
    source=Source("agnostic", "Lemma 1"),
    statement=r"\text{The marginal weights }\{p_i\}_{i=1}^N\text{ form a valid "
    r"probability distribution over clients.}",
    proposition="For every law of S with q(empty) = 0 the p_i of (2) are at least 0 "
    "and sum to 1.",
    constants={"nobody": False, "q": ">= 0"},
    twin={"nobody": True},
    reading_twins={"sign": {"q": "< 0"}},
)
def distribution(c: Any) -> Finding:
    """Sum the summands of (2) over the members of a cohort of any size."""
    sums = [("members of a cohort of s clients", S * (1 / S), 1)]
    if c.nobody:
        sums.append(("members of the empty cohort", 0, 1))
    for n in (1, 2, 3):
        law = any_law(n, empty=c.nobody)
        total = sum(printed_weight(law, i) for i in people(n))
        sums.append((f"any law, N = {n}", total, 1))
    search = judge.instances(total_cases(nobody=c.nobody), "==", LAWS)
    chance = {">= 0": 1, "< 0": -1}[c.q] * sympy.Symbol("q", nonnegative=True)
    signs = judge.nonnegative([("a summand", chance / S)], EVERY)
    total = judge.proof_or_search(judge.identity(sums, EVERY), search)
    return judge.all_of({"sum": total, "sign": signs})


def total_cases(*, nobody: bool) -> Iterator[Case]:
    """Sum of the weights (2) against 1, from the package and from listed outcomes."""
    for setting in some_laws(nobody=nobody):
        clients = people(setting.n_clients)
        again = sum(printed_weight(setting.listed, i) for i in clients)
        total = sum(setting.law.averaging_weights())
        yield Case({**setting.where, "sum of": "p_i"}, total, 1, sides(again, 1))


@claim(
    "agnostic.eq4",
    source=Source("agnostic", "eq. (4)"),
    statement=r"p_i=\sum_j\underbrace{P(\text{user }i\text{ is selected}|"
    r"S^t=\mathcal A_j)}_{=\frac{1}{|\mathcal A_j|}\mathbb{I}[i\in\mathcal A_j]}"
    r"\underbrace{P(S^t=\mathcal A_j)}_{=q(\mathcal A_j)}",
    proposition="Drawing S, then a member of S uniformly, selects client i with the "
    "probability p_i of (2).",
    constants={"among": "S"},
    twin={"among": "[N]"},
)
def two_stages(c: Any) -> Finding:
    """Compare the two-stage experiment with (2), cohort by cohort."""
    a = sympy.Symbol("a", positive=True)
    pool = {"S": S, "[N]": S + a}[c.among]
    other = {"S": 0, "[N]": 1 / pool}[c.among]
    pairs = [
        ("a member is selected", 1 / pool, 1 / S),
        ("another client is selected", other, 0),
        ("somebody is selected", S * (1 / pool) + a * other, 1),
    ]
    search = judge.instances(selection_cases(c.among), "==", LAWS)
    return judge.proof_or_search(judge.identity(pairs, EVERY), search)


def selection_cases(among: str) -> Iterator[Case]:
    """List every outcome of the two stages, and compare the selection with (2)."""
    for setting in some_laws():
        n, law = setting.n_clients, setting.law
        selected = dict.fromkeys(people(n), Fraction(0))
        for members, chance in setting.listed.items():
            pool = members if among == "S" else people(n)
            for i in pool:
                selected[i] += chance / len(pool)
        for i, chance in selected.items():
            recheck = sides(chance, printed_weight(setting.listed, i))
            weight = law.averaging_weights()[i - 1]
            yield Case({**setting.where, "i": i}, chance, weight, recheck)


@claim(
    "agnostic.eq10",
    source=Source("agnostic", "eq. (10) and the sentence after"),
    statement=r"\hat\theta^t=\frac{N}{|S^t|}\sum_{i\in S^t}p_i\theta_i^{t-1},\ |S^t|=M;"
    r"\quad\text{for uniform client availability, i.e., }p_i=\tfrac1N,\text{ it is }"
    r"\frac{1}{|S^t|}\sum_{i\in S^t}\theta_i^{t-1}",
    proposition="If every p_i is 1/N and |S| is always M, rule (10) is the plain mean "
    "of line 5.",
    constants={"factor": 1},
    twin={"factor": 2},
    exact=("factor",),
)
def weighted_rule(c: Any) -> Finding:
    """Compare (10) with line 5 for each meaning of p_i; then give its mean."""
    return judge.readings(
        {
            "(i) p_i the weights of (2)": uniform_case(c.factor, "averaging"),
            "(ii) p_i = P(i in S), so that M = 1": uniform_case(c.factor, "inclusion"),
            "(iii) p_i = 1/N data weights": uniform_case(c.factor, "data"),
        }
    ).corrected(
        r"\mathbb{E}[\hat\theta^t|\mathcal F_{t-1}]=\textstyle N\sum_i p_i^2"
        r"\theta_i^{t-1}\text{ with the weights of (2), of total }N\sum_i p_i^2\ge 1;\ "
        r"\sum_i p_i\theta_i^{t-1}\text{ with data weights and uniform }S^t;\ "
        r"\text{with }p_i=P(i\in S^t)=M/N\text{ it is }M\text{ times the plain mean}",
        means_of_rule(c.factor),
    )


N, M = sympy.symbols("N M", positive=True)
SCOPES = {
    "averaging": "every N, M and law with these p_i = 1/N",
    "inclusion": "every N and law with these p_i = 1/N, M = 1",
    "data": "every N, M and law",
}


def uniform_case(factor: int, meaning: str) -> Finding:
    """Judge (10), times a factor, against line 5 where every p_i is 1/N.

    The sum of P(i in S) is M: as inclusion probabilities they are 1/N for M = 1 alone.
    """
    size = N * (1 / N) if meaning == "inclusion" else M
    weight = factor * N / size * (1 / N)
    proof = judge.identity(
        [("factor of a participant", weight, 1 / size)], SCOPES[meaning]
    )
    cases = rule_cases(factor, meaning)
    search = judge.instances(cases, "==", "N = 1..4, M = 1..N, every S, p_i = 1/N")
    return judge.proof_or_search(proof, search)


def rule_cases(factor: int, meaning: str) -> Iterator[Case]:
    """Run the plain loops of (10) and of Algorithm 1, cohort by cohort.

    Client i moves by its gradient -i, so that the models differ. Laws with other p_i
    than 1/N are outside the hypothesis.
    """
    for n in (1, 2, 3, 4):
        for m in people(n):
            law = UniformCohort(n, m)
            table = {
                "averaging": law.averaging_weights().tolist(),
                "inclusion": law.inclusion().tolist(),
                "data": [Fraction(1, n)] * n,
            }[meaning]
            if set(table) != {Fraction(1, n)}:
                continue
            for members, _ in cohorts.uniform(n, m).items():
                run = partial(one_step, n, members)
                rule = run(weighted_fedavg.run, weights=[factor * p for p in table])
                mean = run(agnostic_fedavg.run, period=1, schedule="separate")
                by_hand = {i: Fraction(1 + i) for i in people(n)}
                again = sum(n * factor * table[i - 1] * by_hand[i] for i in members) / m
                at = {"N": n, "M": m, "S": cohorts.shown(members), "p": table}
                yield Case(at, rule, mean, sides(again, line_5(members, by_hand)))


def one_step(n: int, members: Cohort, loop: Any, **settings: Any) -> Any:
    """Server model after one round from 1, every client i having moved by i."""
    chosen = [cohorts.zero_based(members)]
    models = loop(
        lambda i, _x: [-Fraction(i + 1)],
        n,
        [Fraction(1)],
        chosen,
        step_size=1,
        **settings,
    )
    return models[-1][0]


def means_of_rule(factor: int) -> Finding:
    """Judge the conditional mean of (10): for N = 1..3, then a client of any law."""
    return judge.all_of(
        {"small": small_means(factor), "a client": client_means(factor)},
        scope="every N and M, every law of fixed size",
        argument="the mean is linear in the law: theta_i has the factor N/M times its "
        "weight in each cohort with i, so that its mean is that times P(i in S), which "
        "is M p_i for (2) and M/N for uniform cohorts",
    )


def client_means(factor: int) -> Finding:
    """Judge the mean factor of one model, and the total one client after another.

    sum (N p_i - 1)^2 over n clients is N^2 squares - 2 N total + n, and total is 1 for
    all of them, n = N.
    """
    p, u, n, total, squares = sympy.symbols("p u n total squares", positive=True)
    counted = cohorts.counted()
    excess = N**2 * squares - 2 * N * total + n
    longer = N**2 * (squares + p**2) - 2 * N * (total + p) + n + 1
    whole = 1 + excess.subs({total: 1, n: N}) / N
    pairs = [
        ("weights (2)", factor * N / M * p * (M * p), N * p**2),
        ("data weights", factor * N / M * u * (M / N), u),
        ("p_i = M/N", factor * N / M * (M / N), M * (1 / M)),
        ("one client more in the total", excess + (N * p - 1) ** 2, longer),
        ("total of the weights (2)", N * squares, whole),
    ]
    chance = sympy.Eq(counted.with_one / counted.all, counted.m / counted.n)
    return judge.all_of(
        {
            "factors": judge.identity(pairs, "every N and M"),
            "P(i in S) = M/N": judge.implied(
                counted.relations, chance, "every N and M"
            ),
        }
    )


def small_means(factor: int) -> Finding:
    """Judge it for N = 1..3 and every law of fixed size."""
    pairs = []
    for n in (1, 2, 3):
        models = sympy.symbols(f"theta_1:{n + 1}")
        data = sympy.symbols(f"u_1:{n + 1}")
        for m in people(n):
            law = {a: v for a, v in any_law(n).items() if len(a) == m}
            law = {a: v / sum(law.values()) for a, v in law.items()}
            p = [printed_weight(law, i) for i in people(n)]
            uniform = cohorts.uniform(n, m)
            squares, size = [n * v**2 for v in p], f"N = {n}, M = {m}"
            excess = sum((n * v - 1) ** 2 for v in p) / n
            pairs += [
                (
                    f"weights (2), {size}",
                    factor * rule_mean(law, p, models),
                    weighted_sum(squares, models),
                ),
                (
                    f"data weights, {size}",
                    factor * rule_mean(uniform, data, models),
                    weighted_sum(data, models),
                ),
                (f"total of the weights (2), {size}", sum(squares), 1 + excess),
                *(
                    (
                        f"p_i = M/N, {size}, S = {cohorts.shown(a)}",
                        factor
                        * rule_mean({a: Fraction(1)}, [Fraction(m, n)] * n, models),
                        m * line_5(a, dict(enumerate(models, start=1))),
                    )
                    for a in uniform
                ),
            ]
    return judge.identity(pairs, "N = 1..3, every law of fixed size")


def rule_mean(law: Listed, weights: Sequence[Any], models: Sequence[Any]) -> Any:
    """E of (10) over the law of S."""
    n = len(models)

    def rule(members: Cohort) -> Any:
        total = sum(weights[i - 1] * models[i - 1] for i in members)
        return total * n / len(members)

    return cohorts.mean(law, rule)


def weighted_sum(weights: Sequence[Any], models: Sequence[Any]) -> Any:
    """Add up weight times model."""
    return sum(v * x for v, x in zip(weights, models, strict=True))

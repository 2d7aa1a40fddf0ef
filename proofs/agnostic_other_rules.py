"""Agnostic FedAvg, Section 4: two other rules that use known probabilities.

Dividing rule (10) by its total weight makes an average of it, but for 1 < M < N in
general of other weights than p; of p if all p_i are equal. Moves from the server model
weighted by u_i/pi_i have the mean of any weights u that sum to 1, for every law; aimed
at (3) with cohorts of one size they are line 5, so that agnostic FedAvg is what
unbiasedness asks for there.

Conventions: p_i are the weights of (2), pi_i = P(i in S) > 0; S is independent of the
models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge, laws
from flverify.claims.claim import claim
from flverify.claims.cohorts import Cohort, Listed, people
from flverify.claims.judge import Case
from flverify.claims.verdict import Finding
from flverify.participation import SuccessiveSampling
from flverify.reference import agnostic_fedavg

N, M = sympy.symbols("N M", positive=True)
ONE = Fraction(1)

# -- divided by the total weight -----------------------------------------------------

SIZES = {
    "(i) M = 1": "one",
    "(ii) 1 < M < N, any law": "some",
    "(iii) every cohort of M as likely": "uniform",
}


@claim(
    "agnostic.eq10.normalised",
    source=Source("agnostic", "eq. (10), another baseline; a question, not printed"),
    statement=r"\mathbb E\Big[\sum_{i\in S}p_i\theta_i\Big/\sum_{i\in S}p_i\Big]=\sum_i"
    r"p_i\theta_i\text{ with the }p_i\text{ of (2)}",
    proposition="With cohorts of one size and the weights of (2), the participants' "
    "models averaged with their p_i have the p-average of all models as their mean.",
    constants={"among": "S"},
    twin={"among": "[N]"},
    no_control="depends on M; the twin, without the division, fails for each",
)
def normalised(c: Any) -> Finding:
    """Judge the mean weight of each model; then what holds in every cohort."""
    found = {name: judged(c.among, which) for name, which in SIZES.items()}
    return judge.readings(found).corrected(
        r"\text{with weights of sum 1 in every cohort, a convex combination of the "
        r"models}",
        judge.identity(totals(), "every cohort of s users with p_i > 0"),
    )


def judged(among: str, which: str) -> Finding:
    """Judge the mean for N <= 3 by symbols; of M = 1 and uniform S, for every N."""
    pairs: list[Any] = []
    p = sympy.Symbol("p_i", positive=True)
    whole = 1 if among == "S" else p  # p_i/p_i, and p_i left as it is
    if which == "one":  # P(i in S) = p_i
        pairs.append(("a user", p * whole, p))
    if which == "uniform":  # p_i = 1/N, M of them
        share = (1 / N) / (M / N) if among == "S" else 1 / N
        pairs.append(("a user", M / N * share, 1 / N))
    for n, m in sizes(which):
        law = law_of(which, n, m)
        x = sympy.symbols(f"theta_1:{n + 1}")
        weights = [cohorts.averaging(law, i) for i in people(n)]
        aim = sum(v * y for v, y in zip(weights, x, strict=True))
        mean = cohorts.mean(law, divided(among, weights, x))
        pairs.append((f"N = {n}, M = {m}", mean, aim))
    scope = {"one": "every N", "uniform": "every N and M"}
    return judge.identity(pairs, scope.get(which, "N = 3, M = 2, every law of them"))


def sizes(which: str) -> list[tuple[int, int]]:
    """N and M that are written out."""
    if which == "some":
        return [(3, 2)]
    every = [(n, m) for n in (2, 3) for m in people(n)]
    return [(n, m) for n, m in every if which == "uniform" or m == 1]


def law_of(which: str, n: int, m: int) -> Listed:
    """Every law of cohorts of M, or the uniform one."""
    return (
        cohorts.uniform(n, m) if which == "uniform" else cohorts.any_law_of_size(n, m)
    )


def divided(among: str, weights: Sequence[Any], models: Sequence[Any]) -> Any:
    """Return the rule as a function of the cohort, divided or not."""

    def rule(members: Cohort) -> Any:
        total = sum(weights[i - 1] for i in members)
        added = sum(weights[i - 1] * models[i - 1] for i in members)
        return added / total if among == "S" else added

    return rule


def totals() -> list[judge.Pair]:
    """Pair the weights of a cohort, added up, with 1; then with one user more."""
    p, total = sympy.symbols("p_i total", positive=True)
    return [
        ("a user alone", p / p, 1),
        ("one more", total / (total + p) + p / (total + p), 1),
    ]


# -- moves weighted by 1/pi_i --------------------------------------------------------

EVERY = "every N, law of S with pi_i > 0 and weights u of sum 1"
OF_SIZE = "every N, M and law of cohorts of M"


@claim(
    "agnostic.eq10.increments",
    source=Source(
        "agnostic", "Section 4, last claim on known p_i; a question, not printed"
    ),
    statement=r"\hat\theta^+=\hat\theta+\sum_{i\in S}\frac{u_i}{\pi_i}(\theta_i-\hat"
    r"\theta)\ \Rightarrow\ \mathbb E\hat\theta^+=\sum_iu_i\theta_i,\quad\text{line 5 "
    r"if }u_i=p_i,\ |S|=M",
    proposition="For any weights u of sum 1 and any law of S with all pi_i > 0, the "
    "server model plus the participants' moves times u_i/pi_i has the mean sum_i u_i "
    "theta_i, so that one local step of each takes a gradient step on sum_i u_i f_i in "
    "the mean; it keeps a model that all share; and with u_i = p_i of (2) and |S| "
    "always M it is line 5 of Algorithm 1.",
    constants={"power": 1, "keeps": "moves"},
    twin={"power": 2},
    reading_twins={"a common model": {"keeps": "models"}},
    exact=("power",),
)
def increments(c: Any) -> Finding:
    """Judge the factors for a user of any law, N <= 3 by symbols, and the loops."""
    proof = judge.identity(mean_factors(c.power), EVERY)
    mean = judge.instances(means(c.power), "==", "laws with and without empty rounds")
    same = judge.instances(line_5(c.power), "==", "N = 3, 4, M < N, every cohort")
    p, s = sympy.symbols("p_i M", positive=True)
    factor = judge.identity([("a participant", p / (s * p) ** c.power, 1 / s)], OF_SIZE)
    return judge.all_of(
        {
            "mean": judge.proof_or_search(proof, mean),
            "a gradient step": judge.identity(gradient_pairs(c.power), EVERY),
            "a common model": judge.identity(common(c.keeps), EVERY),
            "(3) is line 5": judge.proof_or_search(factor, same),
        }
    )


def mean_factors(power: int) -> list[judge.Pair]:
    """Pair the mean factors of a user's model and of the server with u_i and 0."""
    u, chance, total = sympy.symbols("u_i pi_i total", positive=True)
    rest = sympy.Symbol("rest", real=True)  # 1 - total, the server's factor so far
    pairs: list[Any] = [
        ("a user's model", chance * u / chance**power, u),
        ("the server, a user more", rest - chance * u / chance**power, rest - u),
        ("the server, all users", (1 - total).subs(total, 1), 0),
    ]
    for n in (1, 2, 3):
        law, x = cohorts.any_law(n), sympy.symbols(f"theta_1:{n + 1}")
        u_of, server = weights_of_sum_1(n), sympy.Symbol("server")
        pi = [cohorts.inclusion(law, i) for i in people(n)]
        mean = cohorts.mean(law, moved(server, x, u_of, pi, power))
        aim = sum(v * y for v, y in zip(u_of, x, strict=True))
        pairs.append((f"N = {n}", mean, aim))
    return pairs


def weights_of_sum_1(n: int) -> list[Any]:
    """Free weights, the last one being what the others leave."""
    free = sympy.symbols(f"u_1:{n}") if n > 1 else ()
    return [*free, 1 - sum(free)]


def moved(server: Any, models: Any, u: Any, pi: Any, power: int) -> Any:
    """Return the rule as a function of the cohort; pi_i to a power."""

    def rule(members: Cohort) -> Any:
        moves = (
            u[i - 1] / pi[i - 1] ** power * (models[i - 1] - server) for i in members
        )
        return server + sum(moves, 0)

    return rule


def gradient_pairs(power: int) -> list[judge.Pair]:
    """Pair the mean after a local step of each with a gradient step, for N <= 3."""
    eta, x = sympy.symbols("eta x")
    pairs: list[Any] = []
    for n in (1, 2, 3):
        law, g = cohorts.any_law(n), sympy.symbols(f"g_1:{n + 1}")
        u, pi = weights_of_sum_1(n), [cohorts.inclusion(law, i) for i in people(n)]
        mean = cohorts.mean(law, moved(x, [x - eta * v for v in g], u, pi, power))
        slope = sum(v * w for v, w in zip(u, g, strict=True))
        pairs.append((f"N = {n}", mean, x - eta * slope))
    u_i, chance, slope = sympy.symbols("u_i pi_i g_i")
    step = chance * u_i / chance**power * (-eta * slope)
    return [*pairs, ("a user's move", step, -eta * u_i * slope)]


def common(keeps: str) -> list[judge.Pair]:
    """Pair the rule where all models are the server's with that model."""
    x, u, chance = sympy.symbols("x u_i pi_i", positive=True)
    held = x + u / chance * ((x - x) if keeps == "moves" else x)
    return [("a participant", held, x)]


def means(power: int) -> Iterator[Case]:
    """Mean of the rule over the package's outcomes, against that of the u_i."""
    for n in (2, 3):
        settings = [*laws.never_empty(n), *laws.sometimes_empty(n)]
        for setting in settings:
            x = [Fraction(i * i) for i in people(n)]
            u = [Fraction(2 * i, n * (n + 1)) for i in people(n)]
            pi = setting.law.inclusion()
            law = {
                frozenset(i + 1 for i in s): v for s, v in setting.law.support().items()
            }
            left = cohorts.mean(law, moved(Fraction(5), x, u, pi, power))
            right = sum(v * y for v, y in zip(u, x, strict=True))
            by_hand = moved(Fraction(5), x, u, setting.inclusion(), power)
            again = cohorts.sides(cohorts.mean(setting.listed, by_hand), right)
            yield Case({**setting.where, "u": u, "models": x}, left, right, again)


def line_5(power: int) -> Iterator[Case]:
    """Compare the rule at u_i = p_i with the plain loop of Algorithm 1, by cohort."""
    for n in (3, 4):
        for m in range(1, n):
            shares = laws.SHARES[n]
            drawn = SuccessiveSampling(shares, m)
            p, pi = drawn.averaging_weights(), drawn.inclusion()
            listed = cohorts.without_replacement(shares, m)
            q = [cohorts.averaging(listed, i) for i in people(n)]
            chances = [cohorts.inclusion(listed, i) for i in people(n)]
            for members in listed:
                loop = agnostic_fedavg.run(
                    lambda i, _x: [-Fraction(i + 1)],
                    n,
                    [ONE],
                    [cohorts.zero_based(members)],
                    step_size=1,
                    period=1,
                    schedule="separate",
                )[-1][0]
                x = [ONE + i for i in people(n)]
                left = moved(ONE, x, p, pi, power)(members)
                again = moved(ONE, x, q, chances, power)(members)
                at = {"N": n, "M": m, "weights": shares, "S": cohorts.shown(members)}
                yield Case(at, left, loop, cohorts.sides(again, loop))

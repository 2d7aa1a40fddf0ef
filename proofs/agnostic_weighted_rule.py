"""Agnostic FedAvg, (10): the total weight of weighted FedAvg, and where it leads.

With the weights of (2) the factors (N/M) p_i of a cohort add up to W_S, which is four
in the mean for the experiment and anything from a thousandth to nearly six. So a model
that all clients share is multiplied by W_S; its mean grows unless every p_i is 1/N.
agnostic_weighted_targets.py has what the rule is unbiased for.

Conventions: N = 100 users, M = 10 in the experiment; p_i are the weights of (2) unless
a reading says otherwise, pi_i = P(i in S); |S| is always M.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import sympy

from flverify._core.sources import Source
from flverify.claims import agnostic_clocks as clocks
from flverify.claims import agnostic_race as race
from flverify.claims import cohorts, judge
from flverify.claims.agnostic_total_weight import mean_of_rule, mean_total, total_weight
from flverify.claims.claim import claim
from flverify.claims.cohorts import Listed, people
from flverify.claims.judge import Case
from flverify.claims.stated_numbers import near
from flverify.claims.verdict import Finding
from flverify.participation import SuccessiveSampling
from flverify.reference import weighted_fedavg

SECTION = "eq. (10)"
TEMPERATURE = 10.0
USERS, COHORT = race.N_CLIENTS, race.COHORT
ONE = Fraction(1)
N, M = sympy.symbols("N M", positive=True)
SIZES = "every N, M and law of cohorts of M"

# -- the total weight in the experiment ----------------------------------------------

# p_i <= 1/M, so W <= N/M; its mean is at least 1, and the M rarest have at most that;
# log W <= log(N/M) = log 10 < 2.31
MEAN, LEAST = (ONE, Fraction(USERS, COHORT)), (0, ONE)
LOG = None, Fraction(231, 100)


@claim(
    "agnostic.eq10.weight",
    source=Source("agnostic", f"{SECTION} with Section 4; a question, not printed"),
    statement=r"W_S=\frac NM\sum_{i\in S}p_i,\quad N=100,\ M=10,\text{ weights}\propto"
    r"\exp(-i/10)",
    proposition="With the weights of (2) the total weight W_S of rule (10) is 4.1684 "
    "in the mean, between 0.001026 and 5.635, and exp(1.4192) in the mean of the "
    "logarithm, each within 1/1000 of the number; the mean is N sum p_i^2.",
    constants={
        "mean": "4.1684",
        "least": "0.001026",
        "most": "5.635",
        "log": "1.4192",
        "power": 2,
    },
    twin={"mean": "0.9"},
    reading_twins={
        "least": {"least": "1.5"},
        "most": {"most": "11"},
        "mean of the logarithm": {"log": "2.4"},
        "small N": {"power": 1},
    },
)
def total(c: Any) -> Finding:
    """Judge the numbers by quadrature and by counting draws, and small N exactly."""
    means, least, most, logs = computed()
    return judge.all_of(
        {
            "mean": beside("E W", means, c.mean, MEAN),
            "least": beside("least W", least, c.least, LEAST),
            "most": beside("largest W", most, c.most, MEAN),
            "mean of the logarithm": beside("E log W", logs, c.log, LOG),
            "small N": judge.instances(
                small_means(c.power), "==", "N = 3, 4, 5, M < N, ratio 19/21"
            ),
        }
    )


@cache
def computed() -> tuple[dict[str, float], ...]:
    """Return the mean, the ends and the mean logarithm of W, each in several ways."""
    rates, p = race.prior(TEMPERATURE), race.weights(TEMPERATURE)
    weights = {
        "the package": p,
        "another quadrature": clocks.inclusion(rates, COHORT) / COHORT,
    }
    seen = sampled(p)
    means = {name: USERS * float(v @ v) for name, v in weights.items()}
    logs = {
        "a generating function": clocks.mean_log(rates, COHORT, USERS / COHORT * p),
        "draws": float(np.log(seen).mean()),
    }
    least, most = (
        {name: extreme(v, sign) for name, v in weights.items()} for sign in (-1, 1)
    )
    return {**means, "draws": float(seen.mean())}, least, most, logs


def beside(name: str, values: dict[str, float], stated: str, ends: Any) -> Finding:
    """Compare each computation of a number with the stated one."""
    cases = [near(f"{name}, by {way}", v, stated, ends) for way, v in values.items()]
    return judge.instances(cases, "<=", f"by {' and by '.join(values)}")


def sampled(p: Any) -> Any:
    """W of 100000 drawn cohorts: the standard error of its mean is about 1/600."""
    drawn = np.concatenate([race.draws(seed, 5000) for seed in range(20)])
    return USERS / COHORT * p[drawn].sum(axis=1)


def extreme(p: Any, sign: int) -> float:
    """Return W of the M most frequent users, or of the M rarest for the sign -1."""
    return USERS / COHORT * float(sign * np.sort(sign * p)[::-1][:COHORT].sum())


def small_means(power: int) -> Iterator[Case]:
    """N sum p_i^2 of the package against the mean of W over all orders of draws."""
    for n in (3, 4, 5):
        shares = [race.exact_ratio("10") ** i for i in range(n)]
        for m in range(1, n):
            law = cohorts.without_replacement(shares, m)
            p = SuccessiveSampling(shares, m).averaging_weights()
            q = [cohorts.averaging(law, i) for i in people(n)]
            mean = mean_total(law, q)
            by_hand = n * sum((v**power for v in q), Fraction(0))
            at = {"N": n, "M": m, "weights": shares}
            left = n * sum(v**power for v in p)
            yield Case(at, left, mean, cohorts.sides(by_hand, mean))


# -- without local contraction -------------------------------------------------------


@claim(
    "agnostic.eq10.growth",
    source=Source("agnostic", f"{SECTION}; a question, not printed"),
    statement=r"\theta_i^{t-1}=\hat\theta^{t-1}\text{ for all }i\ \Rightarrow\ "
    r"\mathbb E\hat\theta\text{ after }r\text{ rounds}=\Big(N\sum_ip_i^2\Big)^r"
    r"\hat\theta^0",
    proposition="If no client moves, as where all gradients are 0, rule (10) with the "
    "weights of (2) has the mean (N sum p_i^2)^r theta^0 after r independent rounds of "
    "cohorts of one size, and N sum p_i^2 exceeds 1 unless every p_i is 1/N.",
    constants={"power": 2, "prior": "skewed"},
    twin={"power": 1},
    reading_twins={"above 1": {"prior": "uniform"}},
    exact=("power",),
)
def growth(c: Any) -> Finding:
    """Judge one round for any law, then any number of them, then the loop."""
    proof = judge.all_of({"a round": one_round(c.power), "rounds": many_rounds()})
    search = judge.instances(
        idle_runs(c.power), "==", "N = 3, M = 1, 2, r = 1, 2, 3, all cohorts"
    )
    return judge.all_of(
        {
            "mean": judge.proof_or_search(proof, search),
            "above 1": total_weight({"skewed": "10", "uniform": "inf"}[c.prior]),
        }
    )


def one_round(power: int) -> Finding:
    """Judge E W_S for a user of any law, and written out for N = 1..3."""
    p = sympy.Symbol("p_i", positive=True)
    pairs: list[Any] = [
        ("a user, P(i in S) = M p_i", N / M * p * (M * p), N * p**power)
    ]
    for n, m, law in small_laws():
        weights = [cohorts.averaging(law, i) for i in people(n)]
        right = n * sum(v**power for v in weights)
        pairs.append((f"N = {n}, M = {m}", mean_total(law, weights), right))
    return judge.identity(pairs, SIZES)


def small_laws() -> Iterator[tuple[int, int, Listed]]:
    """Every law of cohorts of one size, for one to three users."""
    for n in (1, 2, 3):
        for m in people(n):
            yield n, m, cohorts.any_law_of_size(n, m)


def many_rounds() -> Finding:
    """Judge the step from r to r + 1; S is independent of the model before it."""
    w, start, power = sympy.symbols("w start w_to_the_r", positive=True)
    first = judge.identity([("r = 0", start, 1 * start)], "r = 0")
    step = judge.identity(
        [("one round more", w * (power * start), (w * power) * start)], "every r"
    )
    return judge.induction(
        first,
        step,
        f"every r; {SIZES}",
        "w stands for N sum p_i^2 and w_to_the_r for w^r. The mean after r rounds is "
        "w^r start; the next cohort is independent of the model, so that its mean is "
        "that of W_S times the mean of the model.",
    )


def idle_runs(power: int) -> Iterator[Case]:
    """Mean of the plain loop without gradients, over all sequences of cohorts."""
    shares = [race.exact_ratio("10") ** i for i in range(3)]
    for m, count in product((1, 2), (1, 2, 3)):
        law = cohorts.without_replacement(shares, m)
        listed = [cohorts.averaging(law, i) for i in people(3)]
        p = SuccessiveSampling(shares, m).averaging_weights().tolist()
        total, by_hand = Fraction(0), Fraction(0)
        for path in product(law, repeat=count):
            chance = prod((law[s] for s in path), start=ONE)
            models = weighted_fedavg.run(
                lambda _i, _x: [Fraction(0)],
                3,
                [Fraction(2)],
                [cohorts.zero_based(s) for s in path],
                weights=p,
                step_size=1,
            )
            total += chance * models[-1][0]
            weights = [sum(listed[i - 1] for i in s) * Fraction(3, m) for s in path]
            by_hand += 2 * chance * prod(weights, start=ONE)
        right = 2 * (3 * sum(v**power for v in listed)) ** count
        at = {"N": 3, "M": m, "r": count, "weights": shares, "theta^0": 2}
        yield Case(at, total, right, cohorts.sides(by_hand, right))


# -- stability -----------------------------------------------------------------------

KEPT = Fraction(COHORT, USERS), ONE  # 1/(N sum p_i^2), as p_i <= 1/M


@claim(
    "agnostic.eq10.stability",
    source=Source("agnostic", f"{SECTION}; a question, not printed"),
    statement=r"f_i(\theta)=\tfrac h2(\theta-b_i)^2:\quad\mathbb E\hat\theta\text{ "
    r"contracts iff }N\sum_ip_i^2\,|1-\eta h|^k<1",
    proposition="With equal curvatures a round of k local steps and rule (10), with "
    "the weights of (2), multiplies the distance of the mean from its fixed point by N "
    "sum p_i^2 (1 - eta h)^k; that is at least 1 for eta k h <= 1 - 1/(N sum p_i^2); "
    "and in the experiment it is below 1 only for (1 - eta h)^k below 0.2399, within "
    "1/1000 of the number.",
    constants={"power": 2, "cap": 1, "kept": "0.2399"},
    twin={"kept": "1.5"},
    reading_twins={"slope": {"power": 1}, "small steps": {"cap": 2}},
)
def stability(c: Any) -> Finding:
    """Judge the factor of the mean, step sizes that are too small, and the number."""
    g, total = sympy.symbols("kept total", positive=True)
    done = sympy.Symbol("eta_k_h", positive=True)
    # Bernoulli: (1 - eta h)^k >= 1 - eta k h for eta h <= 1
    held = [g >= 1 - done, done * total <= c.cap * (total - 1), total >= 1]
    means, *_ = computed()
    kept = {name: 1 / v for name, v in means.items() if name != "draws"}
    proof = judge.identity(slopes(c.power), SIZES)
    search = judge.instances(
        small_slopes(c.power), "==", "N = 3, M = 1, 2, k = 1, 2, eta h = 1/2"
    )
    return judge.all_of(
        {
            "slope": judge.proof_or_search(proof, search),
            "small steps": judge.implied(held, g * total >= 1, SIZES),
            "experiment": beside("1/(N sum p_i^2)", kept, c.kept, KEPT),
        }
    )


def slopes(power: int) -> list[judge.Pair]:
    """Pair the slope of the mean of a round with N sum p_i^power times g."""
    g, x, p = sympy.symbols("g x p_i", positive=True)
    pairs: list[Any] = [("a user", (M * p) * (N / M * p) * g, N * p**power * g)]
    for n, m, law in small_laws():
        centres = sympy.symbols(f"b_1:{n + 1}", real=True)
        weights = [cohorts.averaging(law, i) for i in people(n)]
        ends = [g * x + (1 - g) * b for b in centres]
        mean = mean_of_rule(law, weights, ends)
        right = n * sum(v**power for v in weights) * g
        pairs.append((f"N = {n}, M = {m}", sympy.diff(mean, x), right))
    return pairs


def small_slopes(power: int) -> Iterator[Case]:
    """Slope of the mean of a round by the plain loop, from 1 and from 0."""
    shares = [race.exact_ratio("10") ** i for i in range(3)]
    for m, k in product((1, 2), (1, 2)):
        law = cohorts.without_replacement(shares, m)
        p = SuccessiveSampling(shares, m).averaging_weights().tolist()
        one, zero = (looped(law, p, k, start) for start in (ONE, Fraction(0)))
        listed = [cohorts.averaging(law, i) for i in people(3)]
        right = 3 * sum(v**power for v in listed) / 2**k
        by_hand = mean_total(law, listed) / 2**k
        at = {"N": 3, "M": m, "k": k, "weights": shares, "eta h": ONE / 2}
        yield Case(at, one - zero, right, cohorts.sides(by_hand, right))


def looped(law: Listed, p: Sequence[Any], k: int, start: Fraction) -> Any:
    """Mean of the plain loop after a round, for h = 1 and centres 0, 1, 2."""

    def model(members: Any) -> Any:
        return weighted_fedavg.run(
            lambda i, x: [x[0] - i],
            3,
            [start],
            [cohorts.zero_based(members)],
            weights=p,
            step_size=ONE / 2,
            local_steps=k,
        )[-1][0]

    return cohorts.mean(law, model)

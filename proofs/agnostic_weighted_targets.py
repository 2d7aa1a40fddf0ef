"""Agnostic FedAvg, (10): which objective weighted FedAvg aims at.

Given the models, rule (10) has the mean sum_i (N/M) pi_i p_i theta_i, which is the
p-average if all pi_i are M/N, as where cohorts are drawn uniformly. Else the mean of
the model ends elsewhere, and for equal clients, who agree on where to end, it still
does. agnostic_other_rules.py has two rules that mend it.

Conventions: |S| is always M; pi_i = P(i in S); scalar quadratics f_i = h_i (x -
b_i)^2/2 with exact gradients, k local steps, no active constraint.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify import moments
from flverify._core.errors import Refusal, RefusedError
from flverify._core.sources import Source
from flverify.algorithms import WeightedFedAvg
from flverify.claims import cohorts, judge, laws
from flverify.claims.agnostic_total_weight import mean_of_rule
from flverify.claims.claim import claim
from flverify.claims.cohorts import Listed, people
from flverify.claims.judge import Case
from flverify.claims.verdict import Finding
from flverify.problems import Quadratics
from flverify.reference import weighted_fedavg

SECTION = "eq. (10)"
ONE = Fraction(1)
N, M = sympy.symbols("N M", positive=True)
SIZES = "every N, M and law of cohorts of M"
SMALL = "N = 1..3, M <= N, every law of cohorts of M"

# -- what the rule is unbiased for ---------------------------------------------------

TARGETS = {
    "(i) p_i the weights of (2)": ("averaging", "any"),
    "(ii) p_i = P(i in S)": ("inclusion", "any"),
    "(iii) p_i data weights, every cohort of M as likely": ("data", "uniform"),
    "(iv) p_i data weights, any law": ("data", "any"),
}


@claim(
    "agnostic.eq10.target",
    source=Source("agnostic", f"{SECTION}; a question, not printed"),
    statement=r"\mathbb E\big[\hat\theta^t\,|\,\mathcal F_{t-1}\big]=\sum_ip_i"
    r"\theta_i^{t-1},\quad\hat\theta^t=\frac NM\sum_{i\in S^t}p_i\theta_i^{t-1}",
    proposition="With cohorts of one size, independent of the models, rule (10) is "
    "unbiased for the sum of its own p_i times the models.",
    constants={"factor": 1},
    twin={"factor": 2},
    no_control="depends on what p_i means; the twin, twice the rule, fails for each",
)
def target(c: Any) -> Finding:
    """Judge the mean for each meaning of p_i, then give it for any weights."""
    found = {
        name: judge.identity(mean_pairs(c.factor, *which), SMALL)
        for name, which in TARGETS.items()
        if which != ("data", "uniform")
    }
    uniform = judge.all_of(
        {
            "a user": judge.identity(
                mean_pairs(c.factor, "data", "uniform"), "every N and M"
            ),
            "P(i in S) = M/N": chance_of_a_user(),
        }
    )
    ordered = {name: found.get(name, uniform) for name in TARGETS}
    return judge.readings(ordered).corrected(
        r"\mathbb E\big[\hat\theta^t\,|\,\mathcal F_{t-1}\big]=\textstyle\sum_i\frac "
        r"NM\pi_ip_i\theta_i^{t-1}\text{ whatever the }p_i\text{ are}",
        judge.identity(any_weights(), SIZES),
    )


def chance_of_a_user() -> Finding:
    """Prove P(i in S) = M/N by counting cohorts."""
    counted = cohorts.counted()
    chance = sympy.Eq(counted.with_one / counted.all, counted.m / counted.n)
    return judge.implied(counted.relations, chance, "every N and M")


def mean_pairs(factor: int, meaning: str, law_of: str) -> list[judge.Pair]:
    """Pair the mean of (10) with its p-average, for all N <= 3 and M <= N."""
    u = sympy.Symbol("p_i", positive=True)
    pairs: list[Any] = []
    if law_of == "uniform":  # then for every N and M: P(i in S) = M/N
        pairs.append(("a user's model", factor * N / M * u * (M / N), u))
    for n in (1, 2, 3):
        x = sympy.symbols(f"theta_1:{n + 1}")
        for m in people(n):
            law: Listed = cohorts.uniform(n, m)
            if law_of == "any":
                law = cohorts.any_law_of_size(n, m)
            p = meant(meaning, law, n)
            aim = sum(v * y for v, y in zip(p, x, strict=True))
            left = factor * mean_of_rule(law, p, x)
            pairs.append((f"N = {n}, M = {m}", left, aim))
    return pairs


def meant(meaning: str, law: Listed, n: int) -> Any:
    """Return the p_i of a meaning, for a listed law."""
    if meaning == "data":
        return sympy.symbols(f"u_1:{n + 1}", positive=True)
    weight = {"averaging": cohorts.averaging, "inclusion": cohorts.inclusion}[meaning]
    return [weight(law, i) for i in people(n)]


def any_weights() -> list[judge.Pair]:
    """Pair the mean of (10) with (N/M) pi_i p_i, for a user and written out."""
    u, chance = sympy.symbols("p_i pi_i", positive=True)
    pairs: list[Any] = [("a user's model", chance * (N / M * u), N / M * chance * u)]
    for n in (1, 2, 3):
        x = sympy.symbols(f"theta_1:{n + 1}")
        for m in people(n):
            law = cohorts.any_law_of_size(n, m)
            p = meant("data", law, n)
            chances = [cohorts.inclusion(law, i) for i in people(n)]
            rows = zip(chances, p, x, strict=True)
            aim = sum(c * v * y for c, v, y in rows) * sympy.Rational(n, m)
            pairs.append((f"N = {n}, M = {m}", mean_of_rule(law, p, x), aim))
    return pairs


# -- where the mean of the model ends ------------------------------------------------

EQUAL, DIFFERENT = ((1, 1, 1), (1, 1, 1)), ((1, 2, 1), (1, 2, -1))  # h, b
POINTS = {
    "(i) p_i the weights of (2), equal clients": ("averaging", EQUAL, 1),
    "(ii) p_i the weights of (2), one local step": ("averaging", DIFFERENT, 1),
    "(iii) p_i data weights, uniform cohorts, one local step": ("data", DIFFERENT, 1),
    "(iv) p_i data weights, uniform cohorts, two local steps": ("data", DIFFERENT, 2),
}
FAMILY = (
    "scalar quadratics, N = 2, 3, step sizes 3/4, 1/2, 1/4 where the mean converges"
)


@claim(
    "agnostic.eq10.fixedpoint",
    source=Source("agnostic", f"{SECTION}; a question, not printed"),
    statement=r"\lim\mathbb E\hat\theta=\arg\min_\theta\sum_ip_if_i(\theta)\text{ for "
    r"rule (10) at constant }\eta",
    proposition="On scalar quadratics, with constant step size and cohorts of one "
    "size, the mean of the model of rule (10), where it converges, goes to the "
    "minimiser of sum p_i f_i.",
    constants={"factor": 1},
    twin={"factor": 2},
    no_control="depends on what p_i means and on the local steps; the twin, twice the "
    "rule, fails for each",
)
def fixed_point(c: Any) -> Finding:
    """Judge the limit for each reading; give it for any weights."""
    found = {
        name: judge.instances(limits(c.factor, *which), "==", FAMILY)
        for name, which in POINTS.items()
    }
    third = list(POINTS)[2]
    found[third] = judge.proof_or_search(gradient_step(c.factor), found[third])
    return judge.readings(found).corrected(
        r"\lim\mathbb E\hat\theta=\frac{\sum_ic_i(1-g_i)b_i}{1-\sum_ic_ig_i}\text{ if }"
        r"|\sum_ic_ig_i|<1,\quad c_i=\tfrac NM\pi_ip_i,\ g_i=(1-\eta h_i)^k",
        judge.all_of({"a round": mean_map(), "rounds": contraction()}),
    )


def instances(factor: int, meaning: str, clients: Any, k: int) -> Iterator[Any]:
    """Laws and weights, curvatures, centres and a step size, of which the mean settles.

    Data weights are 1, 2, ... over their sum, and then cohorts are uniform.
    """
    for n in (2, 3):
        h, b = (tuple(map(Fraction, row[:n])) for row in clients)
        for setting in laws.fixed_size(n):
            p = setting.averaging()
            uniform = len({*setting.inclusion()}) == 1
            if meaning == "data":
                p = [Fraction(2 * i, n * (n + 1)) for i in people(n)]
                if not uniform:
                    continue
            p = [factor * v for v in p]
            for eta in (ONE / 4, ONE / 2, ONE * 3 / 4):
                one = (setting, p, h, b, eta, k)
                if abs(by_loop(*one, ONE) - by_loop(*one, Fraction(0))) < 1:
                    yield one


def limits(factor: int, meaning: str, clients: Any, k: int) -> Iterator[Case]:
    """Limit of the mean, by the package, against the minimiser of sum p_i f_i."""
    for setting, p, h, b, eta, steps in instances(factor, meaning, clients, k):
        rows = list(zip(p, h, b, strict=True))
        best = sum(v * a * x for v, a, x in rows) / sum(v * a for v, a, _ in rows)
        algorithm = WeightedFedAvg(eta, tuple(p), steps)
        linear = [[a * x] for a, x in zip(h, b, strict=True)]
        problem = Quadratics([[[a]] for a in h], linear)
        found = moments(problem, algorithm, setting.law)
        if isinstance(found, Refusal):
            raise RefusedError(str(found))
        shift = by_loop(setting, p, h, b, eta, steps, Fraction(0))
        slope = by_loop(setting, p, h, b, eta, steps, ONE) - shift
        again = cohorts.sides(shift / (1 - slope), best)
        at = {
            "N": len(h),
            "law of S": {cohorts.shown(s): v for s, v in setting.listed.items()},
            "p": p,
            "h": h,
            "b": b,
            "eta": eta,
            "local steps": steps,
        }
        yield Case(at, found.mean_fixed_point[0], best, again)


def by_loop(
    setting: Any, p: Any, h: Any, b: Any, eta: Any, steps: int, start: Fraction
) -> Fraction:
    """Mean of the plain loop after one round, over all cohorts."""
    total = Fraction(0)
    for members, chance in setting.listed.items():
        models = weighted_fedavg.run(
            lambda i, x: [h[i] * (x[0] - b[i])],
            len(h),
            [start],
            [cohorts.zero_based(members)],
            weights=p,
            step_size=eta,
            local_steps=steps,
        )
        total += chance * models[-1][0]
    return total


def gradient_step(factor: int) -> Finding:
    """Prove that data weights and uniform cohorts take a gradient step in the mean.

    bend is sum u_i h_i and pull sum u_i h_i b_i over the clients so far, total that of
    their u_i, which is 1 in the end.
    """
    u, h, eta, bend, total = sympy.symbols("u h eta bend total", positive=True)
    b, pull, x = sympy.symbols("b pull x", real=True)
    f = sympy.Integer(factor)
    best, slope = pull / bend, f * (1 - eta * bend)
    pairs = [
        ("factor of a model", f * N / M * u * (M / N), f * u),
        (
            "a client more",
            total - eta * bend + u * (1 - eta * h),
            total + u - eta * (bend + u * h),
        ),
        ("its centre", eta * pull + u * eta * h * b, eta * (pull + u * h * b)),
        ("distance", slope * x + f * eta * pull - best, (1 - eta * bend) * (x - best)),
    ]
    scope = "every N, M, data weights of sum 1 and quadratics, 0 < eta sum u_i h_i < 2"
    return judge.identity(pairs, scope)


@cache
def mean_map() -> Finding:
    """Judge the mean of a round: a client's local steps, then every law of N <= 3."""
    g, h, eta = sympy.symbols("g h eta", positive=True)
    x, b = sympy.symbols("x b", real=True)
    local = g * x + (1 - g) * b
    after = local - eta * h * (local - b)
    more = g * (1 - eta * h)
    chance, u = sympy.symbols("pi_i p_i", positive=True)
    c = N / M * chance * u
    pairs: list[Any] = [
        ("one local step more", after, more * x + (1 - more) * b),
        ("a user", chance * (N / M * u) * local, c * g * x + c * (1 - g) * b),
    ]
    for n in (1, 2, 3):
        kept = sympy.symbols(f"g_1:{n + 1}", positive=True)
        centres = sympy.symbols(f"b_1:{n + 1}", real=True)
        models = [v * x + (1 - v) * y for v, y in zip(kept, centres, strict=True)]
        for m in people(n):
            law = cohorts.any_law_of_size(n, m)
            p = meant("data", law, n)
            share = sympy.Rational(n, m)
            c = [share * cohorts.inclusion(law, i) * p[i - 1] for i in people(n)]
            slope = sum(v * w for v, w in zip(c, kept, strict=True))
            rows = zip(c, kept, centres, strict=True)
            shift = sum(v * (1 - w) * y for v, w, y in rows)
            left = mean_of_rule(law, p, models)
            pairs.append((f"N = {n}, M = {m}", left, slope * x + shift))
    return judge.identity(pairs, SIZES)


@cache
def contraction() -> Finding:
    """Prove that x -> slope x + shift multiplies the distance to its fixed point."""
    slope, shift, x = sympy.symbols("slope shift x", real=True)
    fixed = shift / (1 - slope)
    pairs = [("distance", slope * x + shift - fixed, slope * (x - fixed))]
    return judge.identity(pairs, f"{SIZES}, |slope| < 1")

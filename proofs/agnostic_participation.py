"""Agnostic FedAvg, Section 4: how unequal the participation of the experiment is.

Ten of a hundred users have more than half of the weight, and the rarest has less than
a ten-thousandth of what the most frequent one has. The skew is far from the largest
possible, which for cohorts of M users is smaller than for any law.

Conventions: N = 100 users, M = 10 drawn one after the other by exp(-i/10), from the
most frequent on; p_i are the weights of (2), pi_i = M p_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import agnostic_clocks as clocks
from flverify.claims import agnostic_race as race
from flverify.claims import cohorts, judge
from flverify.claims.agnostic_race import distance
from flverify.claims.claim import claim
from flverify.claims.cohorts import people
from flverify.claims.judge import Case
from flverify.claims.rationals import rational
from flverify.claims.stated_numbers import near
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most
from flverify.participation import SuccessiveSampling

TEMPERATURE = 10.0
ONE = Fraction(1)
N, M = race.N_CLIENTS, race.COHORT
# each |S| is M, so p_i <= 1/M; the rarest is the first drawn with w_N/(sum w), which
# is above e^{-9.9}/11 > 1/220000
RATIO = ONE, Fraction(220000)
HALF_SKEW = 0, 1 - Fraction(M, N)


@claim(
    "agnostic.exp.weights.mass",
    source=Source("agnostic", "Section 4, second paragraph; a question, not printed"),
    statement=r"N=100,\ M=10,\text{ weights}\propto\exp(-i/10):\quad\max_ip_i/\min_ip_i"
    r",\ \text{mass of the most frequent},\ \tfrac12\|\mathbf p-(1/N)\mathbf 1\|_1",
    proposition="p_1/p_100 is 11541.6, the ten most frequent users have the weight "
    "0.5635 together and twenty have 0.8287, and half the skew, the total variation as "
    "a supremum over events, is 0.6445, each within 1/1000 of the number.",
    constants={
        "ratio": "11541.6",
        "ten": "0.5635",
        "twenty": "0.8287",
        "half": "0.6445",
        "M p_i": "P(i in S)",
    },
    twin={"ten": "0.05"},
    reading_twins={
        "max/min": {"ratio": "300000"},
        "twenty": {"twenty": "0.1"},
        "half the skew": {"half": "0.95"},
        "small N": {"M p_i": "P(i drawn first)"},
    },
)
def masses(c: Any) -> Finding:
    """Judge each number by two quadratures, and the law for small N exactly."""
    other = clocks.inclusion(race.prior(TEMPERATURE), M) / M
    both = [race.weights(TEMPERATURE), other]
    ratios = [float(p[0] / p[-1]) for p in both]
    ten, twenty = ([float(p[:k].sum()) for p in both] for k in (10, 20))
    halves = [race.skew(p) / 2 for p in both]
    return judge.all_of(
        {
            "max/min": twice("p_1/p_100", ratios, c.ratio, RATIO),
            "ten": twice("p_1 + ... + p_10", ten, c.ten, shares_of(10)),
            "twenty": twice("p_1 + ... + p_20", twenty, c.twenty, shares_of(20)),
            "half the skew": twice("skew/2", halves, c.half, HALF_SKEW),
            "small N": judge.instances(
                enumerated(getattr(c, "M p_i")), "==", "N = 3, 4, 5, M < N, ratio 19/21"
            ),
        }
    )


def shares_of(users: int) -> tuple[Fraction, Fraction]:
    """Return the least and the largest weight that the most frequent can have."""
    return Fraction(users, N), min(ONE, Fraction(users, M))


def enumerated(meaning: str) -> Iterator[Case]:
    """M p_i of the package against P(i in S) over all orders of draws."""
    for n in (3, 4, 5):
        shares = [race.exact_ratio("10") ** i for i in range(n)]
        for m in range(1, n):
            law = cohorts.without_replacement(shares, m)
            found = m * SuccessiveSampling(shares, m).averaging_weights()
            for i in people(n):
                chance = {
                    "P(i in S)": cohorts.inclusion(law, i),
                    "P(i drawn first)": shares[i - 1] / sum(shares),
                }[meaning]
                again = cohorts.sides(m * cohorts.averaging(law, i), chance)
                yield Case({"N": n, "M": m, "i": i}, found[i - 1], chance, again)


def twice(name: str, values: list[float], stated: str, ends: Any) -> Finding:
    """Compare both computations of a number with the stated one."""
    rows = zip(("the package", "a generating function"), values, strict=True)
    cases = [near(f"{name}, by {which}", v, stated, ends) for which, v in rows]
    return judge.instances(cases, "<=", "two quadratures")


# -- the largest skew ----------------------------------------------------------------

SIZES = "every N, M and law of cohorts of M"
LAWS = "every N and law of nonempty S"


@claim(
    "agnostic.exp.weights.largest",
    source=Source("agnostic", "Section 4, Figure 2; a question, not printed"),
    statement=r"\|\mathbf p-(1/N)\mathbf 1\|_1\le2(1-1/N)\text{, and }\le2(1-M/N)"
    r"\text{ if }|S|=M",
    proposition="The skew is at most 2 (1 - 1/N), and 2 (1 - M/N) for cohorts of M "
    "users, which one cohort that always comes attains; for N = 100 that is 99/50, "
    "and 9/5 with M = 10.",
    constants={"factor": 2, "any size": Fraction(99, 50), "M = 10": Fraction(9, 5)},
    twin={"factor": 1},
    reading_twins={"N = 100": {"M = 10": 2}},
    exact=("factor", "any size", "M = 10"),
)
def largest_skew(c: Any) -> Finding:
    """Prove both bounds by the users above 1/N, then that they are attained."""
    n, m, a = sympy.symbols("N M above", positive=True)
    gain, loss, skew, mass = sympy.symbols("gain loss skew mass", real=True)
    factor = rational(c.factor)
    cancel = [sympy.Eq(gain, loss), sympy.Eq(skew, gain + loss), m <= n, a >= 1]
    held = [*cancel, sympy.Eq(gain * n, mass * n - a), mass <= 1]
    small = factor * (n - m) / n
    each = {
        name: judge.instances(listed(one, c.factor), "<=", "N = 3, 4, M < N")
        for name, one in {"any size": False, "size M": True}.items()
    }
    any_size = judge.implied(held, at_most(skew, factor * (n - 1) / n), LAWS)
    fixed = judge.implied([*held, m * mass <= a], at_most(skew, small), SIZES)
    whole = m * (1 / m - 1 / n) + (n - m) / n
    values = [("N = 100", rational(c.factor) * small_at(1), getattr(c, "any size"))]
    values += [("M = 10", rational(c.factor) * small_at(10), getattr(c, "M = 10"))]
    return judge.all_of(
        {
            "any size": judge.proof_or_search(any_size, each["any size"]),
            "size M": judge.proof_or_search(fixed, each["size M"]),
            "attained": judge.identity([("p_i = 1/M", whole, small)], SIZES),
            "N = 100": judge.identity(values, "N = 100, M = 10"),
        },
        argument="Let `above` users have p_i > 1/N, at least one unless the skew is 0, "
        "and `mass` the sum of these p_i. What they have above 1/N, `gain`, the others "
        "have below, as all p_i and N times 1/N add up to 1. If |S| is always M, each "
        "cohort gives 1/M to a user, so that p_i <= 1/M and mass <= above/M. A cohort "
        "of M that always comes has p_i = 1/M for its users and 0 else.",
    )


def small_at(m: int) -> Any:
    """1 - M/N for N = 100."""
    return 1 - sympy.Rational(m, N)


def listed(fixed: bool, factor: Any) -> Iterator[Case]:
    """Skews of laws of fixed size against the bound, one user or M of them."""
    for n in (3, 4):
        for m in range(1, n):
            for base in (ONE, ONE / 2, ONE / 100):
                shares = [base**i for i in range(n)]
                law = cohorts.without_replacement(shares, m)
                p = SuccessiveSampling(shares, m).averaging_weights()
                right = factor * (1 - Fraction(m if fixed else 1, n))
                by_hand = distance([cohorts.averaging(law, i) for i in people(n)])
                again = cohorts.sides(by_hand, right)
                at = {"N": n, "M": m, "weights": shares}
                yield Case(at, distance(p), right, again)

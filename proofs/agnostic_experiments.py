"""Agnostic FedAvg, Section 4: the set-up of the experiments and the axis of Figure 2.

The sampling probabilities of the experiment can be computed. Not printed are H, T, the
step size, batch and sample sizes, the dimension, the model and C; on the last depends
whether the regression is covered by the analysis. The stated prior gives one abscissa
of Figure 2, not five, up to the error of estimating p; the text refers to a repository
for how skews were generated.

Conventions: N = 100 users, M = 10 drawn one after the other by exp(-i/10); p_i are the
weights of (2), pi_i = M p_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import sympy

from flverify._core.exact import parse_number
from flverify._core.sources import Source
from flverify.claims import agnostic_race as race
from flverify.claims import cohorts, judge
from flverify.claims.agnostic_race import distance
from flverify.claims.claim import claim
from flverify.claims.cohorts import people
from flverify.claims.judge import Case
from flverify.claims.rationals import rational
from flverify.claims.stated_numbers import near
from flverify.claims.verdict import Finding
from flverify.participation import SuccessiveSampling

SECTION = "Section 4"
TEMPERATURE = 10.0
ONE = Fraction(1)
# each |S| is M: the rarest client comes at most as often as the mean one, every N/M
WAITS = Fraction(race.N_CLIENTS, race.COHORT), None
LARGEST = Fraction(2) * (1 - Fraction(race.COHORT, race.N_CLIENTS))  # of the skew


# -- the participation probabilities -------------------------------------------------


@claim(
    "agnostic.exp.weights",
    source=Source("agnostic", f"{SECTION}, second paragraph"),
    statement=r"N=100,\ M=10,\ \text{sampled without replacement, weights}\propto"
    r"\exp(-i/10)\ \Rightarrow\ p_i\text{ significantly skewed}",
    proposition="The draws are a law of S with q(empty) = 0 and p_i = pi_i/10, the "
    "same whether i starts at 0 or 1; the skew ||p - 1/N||_1 is 1.289, of at most 9/5 "
    "when |S| = 10 always; p_1 is 0.0725 and the rarest user comes once in 15925 "
    "rounds, each within 1/1000 of the number.",
    constants={
        "skew": "1.289",
        "p_1": "0.0725",
        "rounds": "15925",
        "prior": "geometric",
        "p_i": "pi_i/M",
        "largest": 2,
    },
    twin={"skew": "1.85"},
    reading_twins={
        "start of the index": {"prior": "arithmetic"},
        "small N": {"p_i": "pi_i/N"},
        "largest skew": {"largest": 1},
        "p_1": {"p_1": "0.101"},
        "rarest": {"rounds": "9"},
    },
)
def probabilities(c: Any) -> Finding:
    """Judge the law on small N exactly, the numbers by quadrature."""
    p = race.weights(TEMPERATURE)
    *shares, e = sympy.symbols("w_1 w_2 w_3 e", positive=True)
    later = [{"geometric": e * w, "arithmetic": e + w}[c.prior] for w in shares]
    draws = (later[0] / sum(later), shares[0] / sum(shares))
    return judge.all_of(
        {
            "start of the index": judge.identity(
                [("a draw", *draws)],
                "weights of those left, all multiplied by exp(-1/10)",
            ),
            "small N": judge.instances(
                enumerated(c.p_i), "==", "N = 4, 5, M = 1, 2, 3"
            ),
            "largest skew": judge.instances(
                extremes(c.largest), "<=", "N = 3, 4, 5, M < N"
            ),
            "skew": judge.instances(
                [near("skew", race.skew(p), c.skew, (0, LARGEST))], "<=", "quadrature"
            ),
            "p_1": judge.instances(
                [near("p_1", float(p[0]), c.p_1, (0, ONE / race.COHORT))],
                "<=",
                "quadrature",
            ),
            "rarest": judge.instances(
                [near("rounds", 1 / (race.COHORT * float(p[-1])), c.rounds, WAITS)],
                "<=",
                "quadrature",
            ),
        }
    )


def enumerated(printed: str) -> Iterator[Case]:
    """Compare p_i with pi_i/M over all orders of draws, at ratio 19/21."""
    ratio = race.exact_ratio("10")
    for n, m in ((4, 1), (4, 2), (4, 3), (5, 2)):
        shares = [ratio**i for i in range(n)]
        law = cohorts.without_replacement(shares, m)
        found = SuccessiveSampling(shares, m).averaging_weights()
        for i in people(n):
            chance = cohorts.inclusion(law, i) / {"pi_i/M": m, "pi_i/N": n}[printed]
            again = cohorts.sides(cohorts.averaging(law, i), chance)
            yield Case({"N": n, "M": m, "i": i}, found[i - 1], chance, again)


def extremes(largest: int) -> Iterator[Case]:
    """Skew of laws of fixed size against 2 (1 - M/N); attained by one cohort."""
    for n in (3, 4, 5):
        for m in range(1, n):
            for base in (Fraction(1), Fraction(1, 2), Fraction(1, 100)):
                shares = [base**i for i in range(n)]
                law = cohorts.without_replacement(shares, m)
                found = SuccessiveSampling(shares, m).averaging_weights()
                listed = [cohorts.averaging(law, i) for i in people(n)]
                bound = largest * (1 - Fraction(m, n))
                at = {"N": n, "M": m, "weights": shares}
                again = cohorts.sides(distance(listed), bound)
                yield Case(at, distance(found), bound, again)


# -- the set-up ----------------------------------------------------------------------

BOUNDED = "(i) Theta bounded, as C is"


@claim(
    "agnostic.exp.setup",
    source=Source("agnostic", f"{SECTION}, second and third paragraph"),
    statement=r"\text{MNIST and a synthetic linear regression},\ N=100,\ M=10,\ \text{"
    r"five seeds;}\quad\text{the loss of the regression is convex (and covered exactly "
    r"by our analysis)}",
    proposition="Mean squared errors are convex and meet Assumption 3 for some G.",
    constants={"sign": 1, "G": "grows with R"},
    twin={"sign": -1},
    reading_twins={f"{BOUNDED} / Assumption 3": {"G": "the same for every R"}},
    no_control="depends on Theta, which Section 4 does not give, as it does not give "
    "C, T, H, the step size, batch and sample sizes, the dimension and the model; the "
    "twin, errors with a minus, is not convex",
)
def setup(c: Any) -> Finding:
    """Judge convexity and a bound of the gradients, of one row and a finite batch."""
    a, b = sympy.symbols("a b", real=True)
    share = sympy.Symbol("share", positive=True)
    w = share / (1 + share)
    d = sympy.Symbol("d", nonnegative=True)  # |a (x - y)|
    gap = rational(c.sign) * (w * d**2 - (w * d) ** 2)  # y = b/a, by translation
    convex = judge.nonnegative([("gap of a row", gap)], "every row and chord")
    size, top, near_to = sympy.symbols("size top R", nonnegative=True)
    row, miss, model = sympy.symbols("row miss model", real=True)
    reach = {"grows with R": size * near_to, "the same for every R": 0}[c.G]
    bounded = judge.implied(
        [row <= size, row >= 0, model <= near_to, miss <= row * model + top],
        2 * row * miss <= 2 * size * (reach + top),
        "every |a| <= size, |b| <= top, |x| <= R; a mean of rows has the same bound",
    )
    bound = sympy.Symbol("G", positive=True)
    grows = judge.identity(
        [
            (
                "gradient at b/a + (G + 1)/(2 a^2)",
                2 * a * (a * (b / a + (bound + 1) / (2 * a**2)) - b),
                bound + 1,
            )
        ],
        "every row a, b with a not 0, and every G",
    )
    free = judge.instances(unbounded(), "<=", "one row, a = 1, b = 0")
    if not grows.passes():  # then other G are not exceeded by the same
        grows = free = judge.inconclusive(f"one G is exceeded only: {grows.reason}")
    return judge.readings(
        {
            BOUNDED: judge.all_of({"convex": convex, "Assumption 3": bounded}),
            "(ii) Theta the whole space": judge.all_of(
                {"convex": convex, "every G is exceeded": grows, "Assumption 3": free}
            ),
        }
    )


def unbounded() -> Iterator[Case]:
    """|gradient| of x^2 at x = G against G."""
    for bound in (1, 10, 10**6):
        x = Fraction(bound)
        slope = (x + 1) ** 2 - x**2 - 1  # of x^2, by a difference
        at = {"G": bound, "x": x}
        yield Case(at, 2 * x, Fraction(bound), cohorts.sides(slope, Fraction(bound)))


# -- the axis of Figure 2 -----------------------------------------------------------


@claim(
    "agnostic.fig2.x",
    source=Source("agnostic", "Figure 2, horizontal axis; a question, not printed"),
    statement=r"\|\mathbf p-(1/N)\mathbf 1\|_1\text{ across five random seeds, for the "
    r"one prior }\exp(-i/10)",
    proposition="The one stated prior has one abscissa: relabelling the users does not "
    "change the skew, and estimates of p by 1000 draws for each of twenty seeds have "
    "skews that differ by at most 1/20.",
    constants={"spread": "1/20", "draws": 1000, "quantity": "skew"},
    twin={"spread": "0"},
    reading_twins={"relabelling": {"quantity": "p_1"}},
)
def abscissa(c: Any) -> Finding:
    """Judge relabellings exactly, estimates seed against seed."""
    return judge.all_of(
        {
            "relabelling": judge.instances(
                relabelled(QUANTITIES[c.quantity]), "==", "N = 4, M = 2, ratio 1/2"
            ),
            "estimates": judge.instances(
                estimates(c.draws, Fraction(parse_number(c.spread))),
                "<=",
                "every two of twenty seeds",
            ),
        }
    )


QUANTITIES: dict[str, Any] = {"skew": distance, "p_1": lambda p: p[0]}


def relabelled(quantity: Any) -> Iterator[Case]:
    """Skew of the prior, or another quantity, in every order of the users."""
    shares = [Fraction(1, 2**i) for i in range(4)]
    first = quantity(SuccessiveSampling(shares, 2).averaging_weights())
    for order in permutations(shares):
        law = cohorts.without_replacement(order, 2)
        listed = quantity([cohorts.averaging(law, i) for i in people(4)])
        found = quantity(SuccessiveSampling(order, 2).averaging_weights())
        yield Case({"weights": order}, found, first, cohorts.sides(listed, first))


def estimates(count: int, spread: Fraction) -> Iterator[Case]:
    """Distance between the estimated skews of two seeds, for every two."""
    skews = [race.estimated_skew(seed, count) for seed in range(20)]
    for first, second in combinations(range(20), 2):

        def again(pair: tuple[int, int] = (first, second)) -> tuple[Fraction, Fraction]:
            one, other = (race.counted_skew(seed, count) for seed in pair)
            return abs(one - other), spread

        at = {"seeds": (first, second), "draws": count}
        yield Case(at, abs(skews[first] - skews[second]), spread, again)


@claim(
    "agnostic.fig2.tv",
    source=Source("agnostic", "last paragraph before Section 5"),
    statement=r"\|\mathbf p-(1/N)\mathbf 1\|_1\ \text{(the total variation metric "
    r"relative to the uniform distribution)}",
    proposition="||p - (1/N) 1||_1 is the total variation distance of p from the "
    "uniform distribution.",
    constants={"factor": 1},
    twin={"factor": 2},
    no_control="depends on what total variation means; the twin, twice the distance, "
    "holds where the claim fails and fails where it holds",
)
def total_variation(c: Any) -> Finding:
    """Judge both conventions: sum of all differences, or the largest over events."""
    above = sympy.Symbol("excess", positive=True)  # sum of positive p_i - 1/N
    below = above  # both sum to the same, as p and the uniform weights sum to 1
    norm = above + below
    factor = sympy.Integer(c.factor)
    laws = "every N and p"
    return judge.readings(
        {
            "(i) total variation as the L1 distance": judge.identity(
                [("norm", norm, factor * (above + below))], laws
            ),
            "(ii) total variation as a supremum over events": judge.proof_or_search(
                judge.identity([("norm", norm, factor * above)], laws),
                judge.instances(events(c.factor), "==", "N = 3, 4, rational priors"),
            ),
        }
    )


def events(factor: int) -> Iterator[Case]:
    """Compare the norm with the largest difference of probabilities over events."""
    for n, m in ((3, 1), (4, 2)):
        shares = [Fraction(1, 2**i) for i in range(n)]
        p = SuccessiveSampling(shares, m).averaging_weights()
        law = cohorts.without_replacement(shares, m)
        q = [cohorts.averaging(law, i) for i in people(n)]
        largest, listed = (
            max(
                sum((v[i - 1] for i in event), Fraction(0)) - Fraction(len(event), n)
                for event in cohorts.subsets(n)
            )
            for v in (p, q)
        )
        again = cohorts.sides(distance(q), factor * listed)
        at = {"N": n, "M": m, "weights": shares, "p": q}
        yield Case(at, distance(p), factor * largest, again)

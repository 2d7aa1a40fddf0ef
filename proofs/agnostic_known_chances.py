"""Agnostic FedAvg, Sections 4 and 5: a rule that uses known pi_i and converges.

The paper leaves open whether an aggregation policy can use the participation
probabilities and still provably converge. With one local step and moves weighted by
u_i/pi_i it is projected SGD on sum u_i f_i, for any weights u that are asked for, and
has the usual rate; the price is the second moment of the weighted gradients, which is
large where somebody hardly ever comes.

Conventions: pi_i = P(i in S) > 0, known; u_i >= 0 of sum 1; rounds independent; the
server projects onto C after each round.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import agnostic_any_time as any_time
from flverify.claims import agnostic_rounds as rounds
from flverify.claims import cohorts, judge
from flverify.claims.claim import Free, claim
from flverify.claims.cohorts import Listed
from flverify.claims.judge import Case
from flverify.claims.nonsmooth_losses import Absolute
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

EVERY = (
    "every N, dimension, convex C, convex f_i, law of S with pi_i > 0, weights u >= 0, "
    "step size and T"
)
ONE, ZERO = Fraction(1), Fraction(0)
ETA, B = sympy.symbols("eta B", positive=True)


@claim(
    "agnostic.eq10.increments.rate",
    source=Source("agnostic", "Section 5, the open question; a question, not printed"),
    statement=r"\hat\theta^+=\Pi_{\mathcal C}\Big(\hat\theta-\eta\sum_{i\in S}\frac{u_i"
    r"}{\pi_i}\nabla f_i(\hat\theta;\xi_i)\Big)\ \Rightarrow\ \mathbb E\Big[f_u\Big("
    r"\frac1T\sum_{t<T}\hat\theta^t\Big)-f_u(\theta^*)\Big]\le\frac{D^2}{2\eta T}+\frac"
    r"{\eta B}2,\quad f_u=\sum_iu_if_i",
    proposition="For convex f_i and C, one local step, moves weighted by u_i/pi_i, all "
    "pi_i > 0, and a projection, the average of the first T models has a gap in sum "
    "u_i f_i of at most D^2/(2 eta T) + eta B/2, D = |theta^0 - theta*|, for any u_i "
    ">= 0 and any minimiser theta* in C of it, where the sum of the participants' "
    "weighted gradients has a mean square of at most B; so of O(1/sqrt(T)) for eta = "
    "c/sqrt(T).",
    constants={"D^2": Fraction(1, 2), "B": Fraction(1, 2)},
    twin={"D^2": Fraction(1, 4)},
    free=(
        Free("D^2", Fraction(1, 4), 2, weaker="larger"),
        Free("B", Fraction(1, 8), 2, weaker="larger"),
    ),
)
def rate(c: Any) -> Finding:
    """Prove the rate step by step, beside runs in which all paths are listed."""
    first, last = getattr(c, "D^2"), c.B
    search = judge.instances(
        runs(Fraction(first), Fraction(last)),
        "<=",
        "absolute values of one and two clients, one of them rare, T up to 40",
    )
    return judge.proof_or_search(proof(rational(first), rational(last)), search)


def proof(first: Any, last: Any) -> Finding:
    """Prove a round from projection, square and convexity; add up, then Jensen."""
    d, g, u, chance = sympy.symbols("d g u_i pi_i", positive=True)
    after, before, inner, square, gap = sympy.symbols(
        "after before inner square gap", real=True
    )
    expanded = d**2 - 2 * ETA * g * d + ETA**2 * g**2
    held = [after <= before - 2 * ETA * inner + ETA**2 * square]
    held += [inner >= gap, square <= B]
    one = after <= before - 2 * ETA * gap + ETA**2 * B
    total, start, end, value = sympy.symbols("sum D_squared end value", real=True)
    count = sympy.Symbol("T", positive=True)
    added = [end >= 0, start >= 0, end <= start - 2 * ETA * total + count * ETA**2 * B]
    bound = first * start / (ETA * count) + last * ETA * B
    roots = sympy.Symbol("c", positive=True), sympy.Symbol("sqrt_T", positive=True)
    return judge.all_of(
        {
            "unbiased": judge.identity(
                [("a user's gradient", chance * (u / chance) * g, u * g)], EVERY
            ),
            "projection": rounds.projection(),
            "square": judge.identity(
                [("a coordinate", (d - ETA * g) ** 2, expanded)], EVERY
            ),
            "a round": judge.implied(held, one, EVERY),
            "sum of rounds": any_time.added_rounds(),
            "Jensen": any_time.jensen(),
            "rate": judge.implied(
                [*added, count * value <= total], at_most(value, bound), EVERY
            ),
            "eta = c/sqrt(T)": judge.identity([over_root(first, last, *roots)], EVERY),
        },
        argument="The mean of the weighted gradients is a subgradient of sum u_i f_i "
        "at the model, so that `inner`, its product with theta - theta*, is at least "
        "the gap by convexity; in the mean over S and the noise. T times the value at "
        "the average is at most the sum of the values.",
    )


def over_root(first: Any, last: Any, c: Any, root: Any) -> judge.Pair:
    """Pair the bound at eta = c/sqrt(T) with a constant over sqrt(T)."""
    start = sympy.Symbol("D_squared", positive=True)
    bound = first * start / (c / root * root**2) + last * (c / root) * B
    return ("over sqrt(T)", bound, (first * start / c + last * c * B) / root)


# -- runs ----------------------------------------------------------------------------


def settings() -> Iterator[tuple[Any, Listed, list[Fraction], Fraction, int]]:
    """Losses, a law, weights u, a step size and T."""
    alone = {frozenset({1}): ONE}
    yield (Absolute(ONE),), alone, [ONE], ONE / 40, 40
    yield (Absolute(ONE),), alone, [ONE], ONE / 2, 3
    both = (Absolute(ONE), Absolute(-ONE, Fraction(2)))
    for rare in (ONE / 10, ONE / 3):
        law = {frozenset({1}): 1 - rare, frozenset({1, 2}): rare}
        for share in (ONE / 2, ONE / 4):
            for eta in (ONE / 20, ONE / 4):
                yield both, law, [share, 1 - share], eta, 4


def runs(first: Fraction, last: Fraction) -> Iterator[Case]:
    """E of the gap of the average over all paths, from 0 on C = [-1, 1]."""
    for losses, law, u, eta, count in settings():
        people = range(1, len(u) + 1)
        share = {i: u[i - 1] / cohorts.inclusion(law, i) for i in people}
        size = {i: share[i] * losses[i - 1].weight for i in people}
        square = cohorts.mean(law, lambda s, size=size: sum(size[i] for i in s) ** 2)

        def f(x: Fraction, losses: Any = losses, u: Any = u) -> Fraction:
            return sum(
                (v * one.value(x) for v, one in zip(u, losses, strict=True)), ZERO
            )

        best = min((-ONE, ZERO, ONE), key=f)
        right = first * best**2 / (eta * count) + last * eta * square
        at = {
            "f": [one.formula("x") for one in losses],
            "law of S": {cohorts.shown(s): v for s, v in law.items()},
            "u": u,
            "eta": eta,
            "T": count,
            "B": square,
            "theta*": best,
        }
        setting = (losses, law, share, eta, count)
        left = average_gap(setting, f, best, paths)
        again = average_gap(setting, f, best, by_hand)
        yield Case(at, left, right, cohorts.sides(again, right))


def average_gap(setting: Any, f: Any, best: Fraction, listed: Any) -> Fraction:
    """E f(average of the first T models) - f(theta*)."""
    count = setting[-1]
    total = ZERO
    for chance, models in listed(*setting):
        total += chance * (f(sum(models, ZERO) / count) - f(best))
    return total


def paths(
    losses: Any, law: Listed, share: Any, eta: Fraction, count: int
) -> Iterator[tuple[Fraction, list[Fraction]]]:
    """Models of every path, the first T of them, by recursion."""

    def onward(chance: Any, models: list[Fraction]) -> Iterator[Any]:
        if len(models) == count:
            yield chance, models
            return
        x = models[-1]
        for members, p in law.items():
            pull = sum((share[i] * losses[i - 1].slope(x) for i in members), ZERO)
            after = min(max(x - eta * pull, -ONE), ONE)
            yield from onward(chance * p, [*models, after])

    yield from onward(ONE, [ZERO])


def by_hand(
    losses: Any, law: Listed, share: Any, eta: Fraction, count: int
) -> Iterator[tuple[Fraction, list[Fraction]]]:
    """Models of every path, round by round, with slopes from the sides of the kinks."""
    found = [(ONE, [ZERO])]
    for _ in range(count - 1):
        longer = []
        for chance, models in found:
            for members, p in law.items():
                x = models[-1]
                for i in members:
                    kink, weight = losses[i - 1].centre, losses[i - 1].weight
                    side = (models[-1] > kink) - (models[-1] < kink)
                    x -= eta * share[i] * weight * side
                x = -ONE if x < -1 else ONE if x > 1 else x
                longer.append((chance * p, [*models, x]))
        found = longer
    yield from found

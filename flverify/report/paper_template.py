"""The claims of my_paper, to be judged by `flverify audit my_paper.py`.

A claim is a statement as printed, one sentence that can be true or false, and a check
that returns a finding of the judge. Its constants are data. The twin changes some of
them so that the claim becomes false, and the same check must then refute it: so a check
that would accept anything is noticed. Replace both examples by your own.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify.algorithms import FedAvg
from flverify.claims import judge
from flverify.claims.claim import Free, Source, claim
from flverify.claims.judge import Case
from flverify.claims.verdict import Finding
from flverify.engines.moments import moments
from flverify.participation import UniformCohort
from flverify.problems import Quadratics
from flverify.reference import fedavg

REFERENCE = "A. Author (2026). The title of my_paper."


# -- a lemma that is an identity: sympy proves it for every value of the symbols -------


@claim(
    "my_paper.lemma1",
    source=Source("my_paper", "Lemma 1", reference=REFERENCE),
    statement=r"\mathbb{E}\Big\|\frac1m\sum_{i\in S}v_i-\bar v\Big\|^2="
    r"\frac{N-m}{m(N-1)}\cdot\frac1N\sum_{i=1}^N\|v_i-\bar v\|^2",
    proposition="For a uniform cohort S of m among N clients, the mean of v_i over S "
    "has the variance of Lemma 1.",
    constants={"one": 1},  # the 1 of N - 1
    twin={"one": 0},
)
def variance_of_a_cohort(c: SimpleNamespace) -> Finding:
    """List all cohorts of small N; squared norms are judged in one coordinate."""
    pairs = []
    for n, m in [(2, 1), (3, 1), (3, 2), (4, 2)]:
        v = sympy.symbols(f"v1:{n + 1}", real=True)
        mean = sum(v) / n
        found = [(sum(chosen) / m - mean) ** 2 for chosen in combinations(v, m)]
        spread = sum((one - mean) ** 2 for one in v) / n
        factor = sympy.Rational(n - m, m * (n - c.one))
        pairs.append((f"N = {n}, m = {m}", sum(found) / len(found), factor * spread))
    return judge.identity(pairs, "all v_i, N <= 4")


# -- a theorem on exact moments: supported on instances, or refuted by one of them -----


@claim(
    "my_paper.theorem1",
    source=Source("my_paper", "Theorem 1", reference=REFERENCE),
    statement=r"\eta\le\frac1L\;\Rightarrow\;\mathbb{E}\|x_r-x^\star\|^2\le"
    r"(1-\eta\mu)^{2\tau r}\|x_0-x^\star\|^2",
    proposition="FedAvg with tau local steps, a uniform cohort and quadratics that "
    "share their minimiser satisfies Theorem 1 for every step size up to cap / L.",
    constants={"cap": 1},
    twin={"cap": 2},
    free=Free("cap", "1/2", 2, weaker="smaller"),  # `flverify sharpest` searches here
)
def linear_rate(c: SimpleNamespace) -> Finding:
    """Compare the exact mean square error with the bound at the largest step size."""
    return judge.instances(errors(Fraction(c.cap)), "<=", "N <= 3, tau <= 2, r <= 2")


LARGEST = (Fraction(101, 100), Fraction(2), Fraction(10))  # values of L


def errors(cap: Fraction) -> Iterator[Case]:
    """Yield each instance with both sides of the bound, mu = 1 and x_0 - x* = 1."""
    for n, steps, rounds, largest in product((2, 3), (1, 2), (1, 2), LARGEST):
        curvatures = [Fraction(1), *[largest] * (n - 1)]
        eta = cap / largest
        problem = Quadratics([[[h]] for h in curvatures], [[0]] * n)
        exact: Any = moments(problem, FedAvg(eta, steps), UniformCohort(n, 1))
        left = exact.mean_square_error([1], rounds)[-1]
        right = (1 - eta) ** (2 * steps * rounds)
        where = {"N": n, "tau": steps, "r": rounds, "L": largest, "eta": eta}
        yield Case(where, left, right, by_hand(curvatures, eta, steps, rounds, right))


def by_hand(
    curvatures: list[Fraction], eta: Fraction, steps: int, rounds: int, bound: Fraction
) -> Any:
    """Return a second way to both sides: the plain loop, over all draws of clients.

    A violation counts only if this confirms it, so it shares nothing with the first.
    """

    def sides() -> tuple[Fraction, Fraction]:
        n, total = len(curvatures), Fraction(0)
        for drawn in product(range(n), repeat=rounds):
            models = fedavg.run(
                lambda i, x: [curvatures[i] * x[0]],
                n,
                [Fraction(1)],
                [{i} for i in drawn],
                step_size=eta,
                local_steps=steps,
            )
            total += models[-1][0] ** 2
        return total / n**rounds, bound

    return sides

"""Lemma 3 of the FOCUS paper, Appendix D.3: the lemma and its last step.

The server's distance to x* shrinks by a fixed share, up to the clients' distance to the
server. Nothing printed bounds eta if tau = 1, where 1/(tau-1) caps nothing, and the
last step needs eta mu <= 1/3; the lemma asks for its cap with tau - 1 replaced by
max(1, tau - 1), and holds with that.

Conventions: w = w_r = xbar_{r tau+1}, S = 1^T grad f(x_{(r+1) tau}),
D = S - N grad F(w); E is over the cohort of round r, given w and the rows x_{r tau},
which may be any (at r = 0 they are the start). Vector inequalities without functions
are shown for one coordinate and add up; what holds for every cohort holds on average.
The steps (80)-(88) have files of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

from flverify._core.sources import Source
from flverify.algorithms import Focus
from flverify.certify import quadratic_form as q
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_lemma3 import EVERY, L, N, eta, mu, n
from flverify.claims.focus_lemma3_proof import PRINTED, Descent, proof
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.participation._law import Participation
from flverify.problems import Quadratics

# Lemma 3 -------------------------------------------------------------------------

TAU_1 = "1/(tau-1) at tau = 1: (i) the condition is void"
TAU_2 = "1/(tau-1) at tau = 1: (ii) tau >= 2 is required"
SEARCHED = (
    "N = 1, 2, 3; h of scale 1 and 100, L/mu = 1, 5, 30; full, uniform, rare, all or "
    "none; the largest step, 100/L if there is none; all states"
)


@claim(
    "focus.lemma3",
    source=Source("focus", "Lemma 3, eq. (79)"),
    statement=r"\eta\le\frac1{3L(\tau-1)}:\quad\mathbb{E}_{r\tau+1}\|\bar x_{(r+1)"
    r"\tau+1}-x^\star\|^2\le\Big(1-\frac12\eta\mu N\Big)\|\bar x_{r\tau+1}-x^\star"
    r"\|^2-2\eta N(1-2\eta NL)\big(F(\bar x_{r\tau+1})-F(x^\star)\big)+\frac{8"
    r"\eta L^2N}{\mu}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_F^2",
    proposition="(79) holds for all L-smooth, mu-strongly convex f_i, every law of "
    "Assumption 1, every w_r and all rows x_{r tau}, if eta L (tau-1) <= 1/3.",
    constants={**vars(PRINTED)},
    twin={"contraction": "3"},
    no_control="the print does not say what 1/(tau-1) is at tau = 1; the twin, six "
    "times the contraction, fails under both readings",
    free=(
        Free("contraction", "1/2", 3, weaker="smaller", reading=TAU_2),
        Free("consensus", "1/8", 8, weaker="larger", reading=TAU_2),
    ),
)
def lemma3(c: SimpleNamespace) -> Finding:
    """Prove (79) from tau = 2 on, and look at tau = 1 with steps of any size."""
    lemma = Descent(**vars(c))
    mended = replace(lemma, least_moves=1)
    found = {
        TAU_1: judge.proof_or_search(proof(lemma), _search(lemma, (1, 2, 3))),
        TAU_2: judge.proof_or_search(proof(mended), _search(lemma, (2, 3, 6))),
    }
    return judge.readings(found).corrected(
        r"\eta\le\frac1{3L\max\{1,\tau-1\}}\text{ implies (79), for every }\tau\ge1",
        judge.proof_or_search(proof(mended), _search(mended, (1, 2, 3))),
    )


@cache
def _step_at(moves: int, cap: str, smooth: Fraction) -> Fraction:
    """Return the largest step, or a long one where nothing caps it."""
    return Fraction(cap) / smooth / moves if moves else 100 / smooth


def _search(c: Descent, taus: tuple[int, ...]) -> Finding:
    steps = _quadratic_steps(c, taus)
    return judge.one_step(steps, f"{SEARCHED}; tau = {', '.join(map(str, taus))}")


def _quadratic_steps(c: Descent, taus: tuple[int, ...]) -> Iterator[judge.Step]:
    for tau in taus:
        for h, law in _settings():
            curvatures = tuple(map(Fraction, h))
            step = _step_at(max(tau - 1, c.least_moves), c.cap, Fraction(max(h)))
            problem = Quadratics([[[a]] for a in h], [[k] for k in range(len(h))])
            where = {"h": h, "law": law.spec, "tau": tau, "step size": step}
            lemma = _lemma(c, curvatures, step)
            algorithm = Focus(step, tau)
            held = q.kept_zero(algorithm, len(h))
            yield judge.Step(where, problem, algorithm, law, lemma, held)


def _settings() -> tuple[tuple[tuple[int, ...], Participation], ...]:
    return (
        ((1,), Full(1)),
        ((1, 1), UniformCohort(2, 1)),
        ((1,), AllOrNothing(1, "1/10")),
        ((1, 5), Full(2)),
        ((100, 500), UniformCohort(2, 1)),
        ((30, 1), Bernoulli(["1/20", "1"])),
        ((2, 2, 2), Full(3)),
        ((1, 2, 1), UniformCohort(3, 1)),
        ((1, 1, 30), AllOrNothing(3, "1/20")),
    )


def _lemma(c: Descent, h: tuple[Fraction, ...], step: Fraction) -> Any:
    """Write (79) for one problem and step."""
    x, star, size = q.server("model"), q.minimiser(), len(h)
    spread = sum(
        q.square(x - q.point_of(q.client("stored", i), i)) for i in range(size)
    )
    gap = q.value(x) - q.value(star)
    low, high = min(h), max(h)
    contraction, excess = Fraction(c.contraction), Fraction(c.excess)
    right = (1 - contraction * step * low * size) * q.square(x - star)
    right -= Fraction(c.gap) * step * size * (1 - excess * step * size * high) * gap
    right += Fraction(c.consensus) * step * high**2 * size / low * spread
    return q.expect(q.square(q.after(x) - star)) <= right


# The last step -------------------------------------------------------------------


@claim(
    "focus.lemma3.final",
    source=Source("focus", "Lemma 3, from (82) and (88) to (79), not displayed"),
    statement=r"2\eta\Big(\frac1\mu+\eta\Big)\cdot3L^2N\le\frac{8\eta L^2N}\mu",
    proposition="6 (1 + eta mu) <= 8 wherever mu <= L and eta L (tau-1) <= 1/3.",
    constants={"cap": "1/3", "consensus": "8"},
    twin={"consensus": "6"},
    no_control="the print does not say what 1/(tau-1) is at tau = 1; the twin, "
    "6 for 8, fails under both readings",
    free=Free("consensus", "6", "10", weaker="larger", reading=TAU_2),
)
def final(c: SimpleNamespace) -> Finding:
    """Judge it for tau >= 1, for tau >= 2, and under a cap that counts tau = 1."""
    cap, total = rational(c.cap), rational(c.consensus)
    left = 2 * eta * (1 / mu + eta) * 3 * L**2 * N
    bound = left <= total * eta * L**2 * N / mu
    held = [mu <= L, eta * L * n <= cap, N >= 1]
    void = [mu <= L, N >= 1]  # tau = 1 is one of the cases
    mended = [mu <= L, eta * L <= cap, N >= 1]
    found = {
        TAU_1: judge.all_of(
            {
                "tau = 1": judge.implied(void, bound, "tau = 1"),
                "tau >= 2": judge.implied([*held, n >= 1], bound, EVERY),
            }
        ),
        TAU_2: judge.implied([*held, n >= 1], bound, EVERY),
    }
    return judge.readings(found).corrected(
        r"2\eta(1/\mu+\eta)\cdot3L^2N\le8\eta L^2N/\mu\text{ for }\eta\le\frac1{3L}",
        judge.implied(mended, bound, EVERY),
    )

"""Corollaries 1 and 2 of the FOCUS paper with uniform sampling read as Case 3a.

`focus.cor1` and `focus.cor2` take uniform sampling for q = u. Case 3a, uniform sampling
of m clients, prints q_i = 1/m. Its averaging weights are E[I_i/|S|] = 1/N, and with
these both corollaries hold. With the printed q_i, which do not sum to 1 unless m = N,
xbar_K = q'x_K is N/m times the server's model, and fails even for equal clients.

Conventions as in fedavg_theorem2.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, product
from types import SimpleNamespace
from typing import Any

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.fedavg_bounds import terms, uniform_below
from flverify.claims.parallel_clients import Setting, step_cap
from flverify.claims.parallel_families import (
    UNIFORM,
    heterogeneity_again,
    limit,
    limit_again,
    mismatch_again,
    rescaled,
)
from flverify.claims.verdict import Finding

PRINTED = {"drift": 80, "drift_L": 2, "bias": 10, "bias_Lmu": 0, "variance": 16}
MEAN = "(i) Case 3a, with q_i = E[I_i/|S|] = 1/N"
AS_PRINTED = "(ii) Case 3a, with q_i = 1/m in xbar as printed"


def _readings(c: SimpleNamespace, local_steps: tuple[int, ...]) -> Finding:
    known = SimpleNamespace(**{**PRINTED, **vars(c)})
    searched = f"uniform cohorts of m < N clients; tau = {local_steps}"
    found = {
        name: judge.instances(_cases(known, local_steps, printed), "<=", searched)
        for name, printed in ((MEAN, False), (AS_PRINTED, True))
    }
    proof = uniform_below(known, more_steps=max(local_steps) > 1)
    return judge.readings({**found, MEAN: judge.proof_or_search(proof, found[MEAN])})


def _cases(
    c: SimpleNamespace, local_steps: tuple[int, ...], printed: bool
) -> Iterator[judge.Case]:
    """Compare exact limits with the bound, first of equal clients."""
    alike = ((one, one) for one in _equal(local_steps))
    for plain, setting in chain(alike, rescaled(UNIFORM, local_steps)):
        w = _weights(setting, printed)
        left = limit(plain, w)
        right = _bound(c, setting, setting.heterogeneity, setting.mismatch)
        where = setting.where() | {"weights of xbar": list(w)}
        yield judge.Case(
            where,
            left,
            right,
            lambda s=setting, w=w: (
                limit_again(s, w),
                _bound(c, s, heterogeneity_again(s), mismatch_again(s)),
            ),
        )


def _weights(setting: Setting, printed: bool) -> tuple[Fraction, ...]:
    if not printed:
        return setting.weights
    size = len(next(iter(setting.law.support())))
    return (Fraction(1, size),) * setting.n_clients


def _equal(local_steps: tuple[int, ...]) -> Iterator[Setting]:
    """Clients (x - 2)^2/2, all of them."""
    for law, tau in product(UNIFORM, local_steps):
        alike = (Fraction(1),) * law.n_clients
        points = (Fraction(2),) * law.n_clients
        cap = step_cap(Fraction(1), tau)
        yield Setting((alike,), (points,), law, tau, cap, reach=Fraction(1))


def _bound(c: Any, s: Setting, sigma: Any, delta: Any) -> Fraction:
    mu, big = s.strong_convexity, s.smoothness
    return sum(terms(c, s.step_size, s.local_steps, big, mu, sigma, delta))


@claim(
    "focus.cor1.case3a",
    source=Source("focus", "Corollary 1, eq. (60), with Case 3a"),
    statement=r"\text{Case 3a}:\;p_i=m/N,\;q_i=1/m\;\Rightarrow\;\limsup_{K\to\infty}"
    r"\mathbb{E}\|\bar{x}_K-x^\star\|^2\le 80\eta^2\kappa^2L^2(\tau-1)^2\sigma_G^2+16"
    r"\eta\tau^2/\mu\sigma_G^2",
    proposition="Under the conditions of Theorem 2, with independent rounds and every "
    "cohort of m clients equally likely, the bound of Corollary 1 holds for xbar = "
    "q'x.",
    constants={"drift": 80, "variance": 16},
    twin={"variance": Fraction(1, 2)},
    no_control="Case 3a prints q_i = 1/m, which is not its E[I_i/|S|]; the twin, a "
    "smaller variance term, fails under both readings",
)
def corollary1(c: SimpleNamespace) -> Finding:
    """Prove it for 1/N; compare exact limits for both weights."""
    return _readings(c, (1, 2, 5))


@claim(
    "focus.cor2.case3a",
    source=Source("focus", "Corollary 2, eq. (61), with Case 3a"),
    statement=r"\text{Case 3a},\;\tau=1:\;p_i=m/N,\;q_i=1/m\;\Rightarrow\;\limsup_{K\to"
    r"\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le 16\eta\tau^2/\mu\sigma_G^2",
    proposition="Under the conditions of Theorem 2, with tau = 1, independent rounds "
    "and every cohort of m clients equally likely, the bound of Corollary 2 holds for "
    "xbar = q'x.",
    constants={"variance": 16},
    twin={"variance": Fraction(1, 2)},
    no_control="Case 3a prints q_i = 1/m, which is not its E[I_i/|S|]; the twin, a "
    "smaller variance term, fails under both readings",
)
def corollary2(c: SimpleNamespace) -> Finding:
    """Prove it for 1/N; compare exact limits for both weights."""
    return _readings(c, (1,))

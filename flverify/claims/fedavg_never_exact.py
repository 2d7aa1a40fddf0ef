"""FedAvg with one local step does not end up in x*, unless every cohort rests there.

What a cohort that comes again and again would have to leave alone is in ARGUMENT. The
search takes clients of sigma_G > 0.

Clients of one curvature h have m_S(x*) = h (x* - mean of b_i over S). If b_i and b_j
differ and m < N clients come, i and j can each come with the same m - 1 others, and not
both means are x*.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import EVERY, ONE_STEP, weighted_mean
from flverify.claims.fedavg_client_step import one_client
from flverify.claims.parallel_clients import Setting, step_cap
from flverify.claims.parallel_families import PARTS, Laws, limit_again
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

HOMOGENEOUS, STATIONARY = "homogeneous", "x* is stationary for every cohort"
ARGUMENT = (
    "Let m_S be the mean of grad f_i over a cohort S of positive probability, tau = 1 "
    "and sum q_i = 1, so that xbar_K is the server model. If S comes in round r, which "
    "is independent of e = x_r - x*, the next e' is e - eta (m_S(x_r) - m_S(x*)) - eta "
    "m_S(x*). Hence P(S) eta^2 |m_S(x*)|^2 <= 3 (1 + eta^2 L^2) E|e|^2 + 3 E|e'|^2: "
    "were the limsup 0, then so would be m_S(x*)."
)


def never_exact(unless: str, laws: Laws) -> Finding:
    """Judge that the limsup is positive, `unless` one of the two exceptions holds."""
    return judge.proof_or_search(_bounded_away(unless), _searched(unless, laws))


def alike_never_exact(spared: str, laws: Laws) -> Finding:
    """Judge that the limsup is positive for clients of one curvature, minimisers apart.

    Every cohort of m clients can come, N - m >= `spared` of them staying out.
    """
    proof = judge.all_of(
        {
            "limsup": _bounded_away(STATIONARY),
            "some m_S(x*) is not 0": _not_all_at_rest(spared),
        },
        scope="tau = 1, every eta inside the caps; clients of one curvature, not all "
        f"b_i equal, of whom at least {spared} stays out",
        argument=__doc__,
    )
    return judge.proof_or_search(proof, _searched(STATIONARY, laws, alike=True))


def _not_all_at_rest(spared: str) -> Finding:
    """Prove it of the two cohorts above; `others` sums the b of what they share."""
    curvature, came, size = sympy.symbols("h m N", positive=True)
    one, two, others, best = sympy.symbols("b_i b_j others x_star", real=True)
    slopes = (curvature * (best - (others + b) / came) for b in (one, two))
    return judge.all_of(
        {
            "m - 1 others": judge.implied(
                [size - came >= rational(spared)], size - 2 >= came - 1, EVERY
            ),
            "not both 0": judge.implied(
                [(one - two) ** 2 > 0], sum(v**2 for v in slopes) > 0, EVERY
            ),
        }
    )


@cache
def _bounded_away(unless: str) -> Finding:
    """Prove it where |m_S(x*)| > 0 for some S; other clients may have no such S."""
    eta, smooth, chance = sympy.symbols("eta L P", positive=True)
    a, b, c = sympy.symbols("a b c", real=True)
    now, after, here, there = sympy.symbols("now after e_S e_S_next", nonnegative=True)
    most = sympy.Symbol("l", real=True)  # a bound of E|x_r - x*|^2 from some r on
    known = {"positive": True} if unless == STATIONARY else {"nonnegative": True}
    slope = sympy.Symbol("m", **known)  # |m_S(x*)|^2
    # of the event that S comes: E 1_S |e|^2 = P now, E 1_S |e'|^2 <= E|e'|^2
    split = chance * eta**2 * slope <= 3 * (1 + eta**2 * smooth**2) * here + 3 * there
    held = [split, here <= chance * now, there <= after, chance <= 1]
    three = 3 * (a**2 + b**2 + c**2) >= (a + b + c) ** 2
    return judge.all_of(
        {
            "Jensen in S": weighted_mean(),
            "gradients are Lipschitz": one_client(),
            "eta m_S(x*) in three parts": judge.implied([], three, EVERY),
            "limsup": judge.implied(
                [*held, now <= most, after <= most], most > 0, EVERY
            ),
        },
        scope=ONE_STEP,
        argument=ARGUMENT,
    )


def _searched(unless: str, laws: Laws, *, alike: bool = False) -> Finding:
    def cases() -> Iterator[judge.Case]:
        for law, part in product(laws, PARTS):
            for setting in _different_clients(law, part):
                if _alike(setting) if alike else not _excepted(unless, setting):
                    yield judge.Case(
                        {"clients": _kind(setting), **setting.where()},
                        setting.limit(),
                        0,
                        partial(_limit_again, setting),
                    )

    return judge.instances(cases(), ">", "scalar clients, kappa = 1 and N, tau = 1")


def _limit_again(setting: Setting) -> tuple[Fraction, Fraction]:
    return limit_again(setting, setting.weights), Fraction(0)


def _different_clients(law: Any, part: Fraction) -> Iterator[Setting]:
    """Clients of sigma_G > 0: different minimisers, curvatures, or both."""
    n = law.n_clients
    equal, rising = (Fraction(1),) * n, tuple(Fraction(i + 1) for i in range(n))
    same, apart = (Fraction(0),) * n, tuple(Fraction(min(i, 2) % 3) for i in range(n))
    balanced = (Fraction(0), *[Fraction((-1) ** i) for i in range(1, n)])
    for h, b in product((equal, rising), (apart, same, balanced)):
        step = part * step_cap(max(h), 1)
        setting = Setting((h,), (b,), law, 1, step, reach=Fraction(1))
        if setting.heterogeneity > 0:
            yield setting


def _kind(setting: Setting) -> str:
    """Say how clients of sigma_G > 0 differ."""
    shared = all(len(set(row)) == 1 for row in setting.minimisers)
    kind = "sharing a minimiser" if shared else "of different minimisers"
    return f"heterogeneous, {kind}"


def _alike(setting: Setting) -> bool:
    return all(len(set(row)) == 1 for row in setting.curvatures)


def _excepted(unless: str, setting: Setting) -> bool:
    """Whether the remark lets these heterogeneous clients converge."""
    if unless == HOMOGENEOUS:
        return False
    return all(
        sum(c.derivative(i, c.minimiser) for i in cohort) == 0
        for c in setting.coordinates
        for cohort in setting.law.support()
    )

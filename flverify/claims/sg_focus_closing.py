"""The closing text of Appendix E.3 on quadratics: rates, and where errors stay.

With samples whose joint law is open, one sample +-sigma may serve all calls: every
gradient is then off by one number, and the server tends to a point sigma/(mu N) times
it away, at every step size, so that the error is of no positive order in eta.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

from flverify._core.errors import Refusal, RefusedError
from flverify.algorithms.focus import Focus
from flverify.claims import cohorts, judge
from flverify.claims.sg_focus_moments import NoisyClients
from flverify.claims.sg_focus_recheck import once, shared
from flverify.claims.sg_focus_search import LOUD, Q_READINGS, NoisyInstance, chosen
from flverify.engines.noise import noisy_moments
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.full import Full
from flverify.participation.uniform_cohort import UniformCohort
from flverify.problems._quadratics import Quadratics

SMALL = "N = 1, 2; kappa = 1, 3; tau = 1, 2; eta = cap, cap/8, cap/64"


def _settings(
    caps: Mapping[str, str], noise: Fraction
) -> Iterator[tuple[NoisyInstance, Any]]:
    one = Fraction(1)
    laws = (
        ((one,), Full(1)),
        ((one,), Bernoulli(["1/4"])),
        ((one, 3 * one), UniformCohort(2, 1)),
        ((one, 3 * one), Full(2)),
    )
    for (h, law), tau in product(laws, (1, 2)):
        clients = NoisyClients(h, law, tau, variance=noise)
        shares = ("1", "1/8", "1/64")
        listed = chosen(caps, Q_READINGS[0], [clients], "1/N", shares)
        for own, longest, q_min in listed:
            step = Fraction(1, -(-longest.denominator // longest.numerator))
            nil = (Fraction(0), (Fraction(0),) * len(h))
            hessians: Any = [[[a]] for a in h]
            linear: Any = [[0] for _ in h]
            problem = Quadratics(hessians, linear)
            found = noisy_moments(problem, Focus(step, tau), law, noise)
            if isinstance(found, Refusal):
                raise RefusedError(str(found))
            yield NoisyInstance(own, step, nil, q_min), found


def _where(one: NoisyInstance) -> dict[str, Any]:
    return {**one.clients.where(), "step size": one.step}


def rates(
    c: SimpleNamespace, caps: Mapping[str, str], noise: Fraction
) -> Iterator[judge.Case]:
    """Yield exact rates in mean square against 1 - contraction eta mu N."""
    for one, found in _settings(caps, noise):
        own, again, share = one.clients, None, Fraction(c.contraction)
        bound = 1 - share * one.step * own.strong_convexity * own.total
        if own.total == 1 and own.inclusion == 1 and own.local_steps == 1:
            exact = (1 - one.step * own.smoothness) ** 2  # x' = (1 - eta h) x
            again = cohorts.sides(exact, bound)
        yield judge.Case(_where(one), found.mean_square_rate_interval, bound, again)


def neighbourhoods(
    c: SimpleNamespace, caps: Mapping[str, str], noise: Fraction
) -> Iterator[judge.Case]:
    """Yield exact stationary errors against C eta^power sigma^2."""
    for one, found in _settings(caps, noise):
        own, again = one.clients, None
        mu, many, scale = own.strong_convexity, own.total, one.step
        factor = 4 * (one.q + 4 * many**2) / (mu * many * one.q)
        unit = own.smoothness ** (c.power - 1)
        bound = factor * scale**c.power * unit * own.variance
        if many == 1 and own.inclusion == 1 and own.local_steps == 1:
            # v = (1 - eta h)^2 v + eta^2 sigma^2
            exact = scale * own.variance / (mu * (2 - scale * mu))
            again = cohorts.sides(exact, bound)
        level = found.stationary_mean_square_error
        yield judge.Case(_where(one), level, bound, again)


def one_sample(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Yield x^2/2 alone from its minimiser, after 1/eta rounds, where C is 20.

    The model is then 1 - (1 - eta)^R times the sample, and (1 - 1/R)^R < 2/5, so that
    the error is above 9/25 sigma^2, and C eta sigma^2 at most 1/3 of it.
    """
    for rounds in (60, 120):
        step = Fraction(1, rounds)  # 1/(3 C) or less, and inside the caps
        own = NoisyClients((Fraction(1),), Full(1), 1, variance=LOUD)
        one = NoisyInstance(own, step, (Fraction(0), (Fraction(0),)), Fraction(1))
        right = 20 * step**c.power
        left, again = (
            run(own, step, one.start, rounds).server[rounds] for run in (shared, once)
        )
        where = {**one.where(rounds), "samples": "one +-sigma for all calls", "C": 20}
        where["other C"] = "the same with eta = 1/(3 C) and R = 3 C"
        yield judge.Case(where, left, right, cohorts.sides(again, right))

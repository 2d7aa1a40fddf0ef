"""Closing sentences of Appendices D.6 and E.4 of the FOCUS paper: rates under PL.

One client x^2/2 in every round, with w the server's model and z the point of its stored
gradient, goes to z' = z + a (w - z) and w' = w - eta z', a = (1 - eta)^(tau-1). The
product of the two eigenvalues is 1 - a, their sum 2 - a - eta a. If they are not real,
the squared error goes down by 1 - a in a round, which many local steps bring near 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.errors import Refusal, RefusedError
from flverify.algorithms.focus import Focus
from flverify.claims import cohorts, judge
from flverify.claims.focus_caps import largest_step
from flverify.claims.focus_moments import Clients
from flverify.claims.sg_focus_closing import one_sample
from flverify.claims.sg_focus_moments import NoisyClients
from flverify.claims.sg_focus_search import LOUD, Q_READINGS, chosen
from flverify.claims.verdict import Finding
from flverify.engines.moments import moments
from flverify.engines.noise import noisy_moments
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.full import Full
from flverify.participation.uniform_cohort import UniformCohort
from flverify.problems._quadratics import Quadratics
from flverify.reference import focus as reference

SMALL = "N = 1, 2; curvatures 1, 3; tau = 1, 2; eta = cap, cap/8, cap/64"


def many_steps(
    caps: Mapping[str, str], contraction: Fraction, taus: tuple[int, ...]
) -> Iterator[judge.Case]:
    """Yield the exact mean-square rate of one client against 1 - t eta beta N.

    Examples
    --------
    >>> (case,) = many_steps({"q/L^2": "1/16"}, Fraction(1), (200,))
    >>> left, right = case.recheck()
    >>> round(float(left), 4), float(right)
    (1.0, 0.9375)
    """
    for tau in taus:
        clients = Clients((Fraction(1),), Full(1), tau)
        step = largest_step(caps, clients, clients.averaging)
        found = moments(_scalar((Fraction(1),)), Focus(step, tau), Full(1))
        if isinstance(found, Refusal):
            raise RefusedError(str(found))
        where = {**clients.where(), "q_min": 1, "step size": step}
        where["compared"] = "rate of F(w_R) - F*, 1 - eta beta N"
        right = 1 - contraction * step
        again = _product(step, tau)
        recheck = None if again is None else cohorts.sides(again, right)
        exact = tuple(found.mean_square_rate_interval)
        yield judge.Case(where, exact, right, recheck)


def _scalar(curvatures: tuple[Fraction, ...]) -> Quadratics:
    hessians: Any = [[[a]] for a in curvatures]
    linear: Any = [[0] for _ in curvatures]
    return Quadratics(hessians, linear)


def _product(step: Fraction, tau: int) -> Fraction | None:
    """Return |eigenvalue|^2 where the two are not real, or one of them is 0."""
    if tau == 1:
        return (1 - step) ** 2
    kept = Fraction(1)
    for _ in range(tau - 1):
        kept -= step * kept
    total, times = 2 - kept - step * kept, 1 - kept
    return times if total**2 < 4 * times else None


def drawn_alone(caps: Mapping[str, str], contraction: Fraction) -> Iterator[judge.Case]:
    """Yield a rate of E w_R for one of N clients x^2/2, q being 1/m = 1 of Case 3a.

    The mean error goes down no faster than the mean square does. With z the mean of all
    points and a/N for a the map is that of one client, the step being N eta.

    Examples
    --------
    >>> case = next(drawn_alone({"mu/(N L^2)": "3/27"}, Fraction(1, 2)))
    >>> case.left > case.right, case.recheck() == (case.left, case.right)
    (True, True)
    """
    for many in (20, 40):
        law = UniformCohort(many, 1)
        clients = Clients((Fraction(1),) * many, law, 2)
        step = largest_step(caps, clients, Fraction(1))
        kept = (1 - step) / many
        total, times = 2 - kept - many * step * kept, 1 - kept
        if total**2 >= 4 * times:
            continue
        where = {**clients.where(), "q_min": 1, "step size": step}
        where["compared"] = "rate of (E w_R)^2, 1 - t eta mu N"
        right = 1 - contraction * step * many
        again = partial(_mean_map, many, step, right)
        yield judge.Case(where, times, right, again)


def _mean_map(many: int, step: Fraction, right: Fraction) -> tuple[Fraction, Fraction]:
    """Play a round of every cohort from w = 1, and from all points at 1."""
    columns = []
    for w, z in ((1, 0), (0, 1)):
        ends = []
        for i in range(many):
            state: Any = {"model": [Fraction(w)], "tracker": [Fraction(many * z)]}
            state["stored"] = [[Fraction(z)] for _ in range(many)]
            played = reference.play(
                state,
                lambda _, x: [x[0]],
                many,
                {i},
                step_size=step,
                local_steps=2,
            )
            ends.append((played["model"][0], sum(g[0] for g in played["stored"])))
        mean = [sum(column) / many for column in zip(*ends, strict=True)]
        columns.append((mean[0], mean[1] / many))
    (a, c), (b, d) = columns
    if (a + d) ** 2 >= 4 * (a * d - b * c):
        return right, right  # the eigenvalues are real
    return a * d - b * c, right


def noisy(
    c: SimpleNamespace, caps: Mapping[str, str], what: str
) -> Iterator[judge.Case]:
    """Yield exact rates of SG-FOCUS, or stationary values of F - F*, and their bounds.

    Parameters
    ----------
    c : namespace
        `contraction` t of 1 - t eta beta N, and `power` of eta in the neighbourhood.
    caps : mapping
    what : {"rate", "level"}
    """
    one = Fraction(1)
    laws = (
        ((one,), Full(1)),
        ((one,), Bernoulli(["1/4"])),
        ((one, 3 * one), UniformCohort(2, 1)),
        ((one, 3 * one), Full(2)),
    )
    for (h, law), tau in product(laws, (1, 2)):
        clients = NoisyClients(h, law, tau, variance=LOUD)
        shares = ("1", "1/8", "1/64")
        for own, longest, q in chosen(caps, Q_READINGS[0], [clients], "1/N", shares):
            step = Fraction(1, -(-longest.denominator // longest.numerator))
            yield _noisy_case(c, own, step, q, what)


@lru_cache(maxsize=64)
def _noisy_moments(own: NoisyClients, step: Fraction) -> Any:
    """Compute once what the rate and the level are read from."""
    algorithm = Focus(step, own.local_steps)
    found = noisy_moments(_scalar(own.curvatures), algorithm, own.law, own.variance)
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    return found


def _noisy_case(
    c: SimpleNamespace, own: NoisyClients, step: Fraction, q: Fraction, what: str
) -> judge.Case:
    found = _noisy_moments(own, step)
    beta, many = own.mean_curvature, own.total
    where = {**own.where(), "q_min": q, "step size": step}
    plain = many == own.local_steps == 1 and own.inclusion == 1
    if what == "rate":
        bound = 1 - Fraction(c.contraction) * step * beta * many
        rate = cohorts.sides((1 - step * beta) ** 2, bound) if plain else None
        return judge.Case(where, tuple(found.mean_square_rate_interval), bound, rate)
    factor = 8 * many * (1 + own.smoothness) / (beta * q**2)
    bound = factor * step**c.power * own.variance
    # v = (1 - eta h)^2 v + eta^2 sigma^2, of which F - F* is h/2
    exact = step * own.variance / (2 * (2 - step * beta))
    level = found.stationary_mean_square_error
    again = cohorts.sides(exact, bound) if plain else None
    return judge.Case(where, beta / 2 * level, bound, again)


def shared_sample(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Yield F - F* = w^2/2 where one sample serves all calls; C is 10."""
    for case in one_sample(c):
        left, right = case.recheck() if case.recheck else (case.left, case.right)
        others = "the same with eta = 1/(6 C) and R = 6 C"
        where = {**case.where, "C": 10, "other C": others}
        again = cohorts.sides(Fraction(left) / 2, Fraction(right) / 2)
        yield judge.Case(
            where, Fraction(case.left) / 2, Fraction(case.right) / 2, again
        )


def of_order_eta() -> Finding:
    """Judge that the floor of the mended Theorem 4 is at most C eta, where eta <= 1.

    C is the floor at eta = 1.

    Examples
    --------
    >>> of_order_eta().verdict.name
    'PROVED'
    """
    eta, L, N, q, beta = sympy.symbols("eta L N q beta", positive=True)
    n = sympy.Symbol("n", nonnegative=True)  # tau - 1

    def floor(step: Any) -> Any:
        bent = (8 * L + 64 * step * L**2 * n**2) / q
        spread = 48 * N * (N + n**2) * step**2 / q**2
        return (bent + 32 * n**2 * L**2 + 8 / q) * step / beta + spread

    return judge.implied([eta <= 1], floor(eta) <= floor(1) * eta, "every eta <= 1")

"""What is searched of the chains of Appendix D of the FOCUS paper, most of them mended.

The Lyapunov functions of (102) and (110), and the mean of (121), at the largest steps
inside the caps, for q = E[I_i/|S|] and for the largest q that there is, p_min; Lemma 4
and the first line of (119) as printed, for each meaning of q_i.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from itertools import chain

import numpy as np

from flverify._core.exact import Array
from flverify.claims import judge
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_families import CONVEX, GENERAL, families
from flverify.claims.focus_lemma4 import PRINTED, Bound
from flverify.claims.focus_lyapunov import contracts, psi
from flverify.claims.focus_moments import Clients, Curves
from flverify.claims.focus_search import Inequality, Instance, Sides, number, searched
from flverify.claims.focus_theorem1_searches import chosen
from flverify.claims.verdict import Finding

Caps = Mapping[str, str]
BEFORE = "w_{r-1}, x_{(r-1) tau}"
APPLIED = "(i) from Lemma 4"
ITSELF = "(ii) by itself, both sides averaged, from equal models"
QS = (Q_READINGS[0], Q_READINGS[2])
SEARCHED = (
    "N = 1, 2, 5, 25, 64, 6400; tau = 1, 2, 20; full, uniform, rare, independent, all "
    "or none; several starts; q = E[I_i/|S|] and p_min"
)
EQUAL_MODELS = (
    "N = 1, 2, 5, 25, 64, 6400; tau = 1, 2, 20; full, uniform, rare, independent, all "
    "or none; models that start equal; R <= 40"
)


def distances(caps: Caps, contraction: str) -> Finding:
    """Search V_{r+1} <= (1 - t eta mu N) V_r for (102), t the contraction."""

    def rate(clients: Clients, step: Fraction) -> Fraction:
        mu = clients.strong_convexity
        return 1 - Fraction(contraction) * step * mu * clients.total

    lyapunov = partial(psi, "8 eta L^2 N/mu", BEFORE)
    return _searched(caps, CONVEX, contracts(lyapunov, rate), 30)


def values(caps: Caps, contraction: str, weight: str) -> Finding:
    """Search V_{r+1} <= (1 - t eta beta N) V_r for (110), from r = 1 on.

    W is weight q/(eta N^2) - 4 eta L^2.
    """

    def rate(clients: Clients, step: Fraction) -> Fraction:
        beta = clients.mean_curvature
        return 1 - Fraction(contraction) * step * beta * clients.total

    def lyapunov(one: Instance, found: Curves) -> tuple[int, Array]:
        clients = one.clients
        error = number(clients.mean_curvature / 2, found.server) * found.server
        whole = Fraction(weight) * one.q / (one.step * clients.total**2)
        whole -= 4 * one.step * clients.smoothness**2
        return 1, error[1:] + number(whole, error) * found.behind[:-1]

    return _searched(caps, GENERAL, contracts(lyapunov, rate), 20)


def slopes(caps: Caps, bound: str, start: str) -> Finding:
    """Search the mean of |grad F|^2 over R rounds against its bound.

    bound (F(w_0) - F*)/(eta N R) + start L^2 B_0/(q N R).
    """

    def sides(one: Instance, found: Curves) -> Sides:
        error, beta, total = found.server, one.clients.mean_curvature, one.clients.total
        rounds = np.array([*range(1, len(error))], dtype=error.dtype)
        gap = Fraction(bound) * beta / 2 / (one.step * total)
        rows = Fraction(start) * one.clients.smoothness**2 / (one.q * total)
        right = number(gap, error) * error[0] + number(rows, error) * found.behind[0]
        squares = number(beta**2, error) * error  # E|grad F(w_r)|^2
        return Sides(1, np.cumsum(squares[:-1]) / rounds, right / rounds)

    return _searched(caps, GENERAL, sides, 40)


def beside_itself(found: Finding, caps: Caps) -> Finding:
    """Put Lemma 4's inequality by itself, inside `caps`, beside what applies the lemma.

    Where it is only the conditions of the lemma that fail, it might still be true.
    """
    bound = Bound(caps, PRINTED.contraction, PRINTED.gradient, PRINTED.power)
    alone = {f"{ITSELF}; {name}": lemma_4_along(bound, name) for name in Q_READINGS}
    applied = {f"{APPLIED}; {name}": one for name, one in found.readings.items()}
    return judge.readings({**applied, **alone})


def lemma_4_along(bound: Bound, reading: str, case_3a: str = "1/m") -> Finding:
    """Search Lemma 4 with expectations on both sides, along runs from equal models.

    That is the least that (101) and (118) ask of it.
    """

    def sides(one: Instance, found: Curves) -> Sides:
        behind, size = found.behind, one.clients.total
        squares = number(one.clients.mean_curvature**2, behind) * found.server
        push = Fraction(bound.gradient) * one.step**2 * size**bound.power / one.q
        kept = number(1 - Fraction(bound.contraction) * one.q, behind)
        right = kept * behind[:-1] + number(push, behind) * squares[1:]
        return Sides(1, behind[1:], right)

    listed = chosen(bound.caps, case_3a, reading, families(CONVEX))
    cases = searched(listed, sides, 40, equal=True)
    return judge.instances(cases, "<=", EQUAL_MODELS)


def consensus_summed(caps: Caps, reading: str, powers: tuple[int, int]) -> Finding:
    """Search the mean of C_r against the first line of (119), from equal models.

    powers are those of 1/R beside the sums of C_{r-1} and A_r; q_i = 1/m in Case 3a.
    """

    def sides(one: Instance, found: Curves) -> Sides:
        error, behind = found.server[:-1], found.behind[:-1]
        rounds = np.array([*range(2, len(error) + 1)], dtype=error.dtype)
        squares = number(one.clients.mean_curvature**2, error) * error
        many = Fraction(16, 3) * one.step**2 * one.clients.total**2 / one.q
        right = number(many, error) * np.cumsum(squares[1:]) / rounds ** powers[1]
        kept = number(1 - one.q / 3, error) * np.cumsum(behind)[:-1]
        right = right + kept / rounds ** powers[0]
        return Sides(2, np.cumsum(behind)[1:] / rounds, right)

    # where it fails, convex clients suffice; their moments are had in rationals too
    shapes = GENERAL if reading == Q_READINGS[0] else CONVEX
    listed = chosen(caps, "1/m", reading, families(shapes))
    cases = searched(listed, sides, 40, equal=True)
    return judge.instances(cases, "<=", EQUAL_MODELS)


def _searched(
    caps: Caps, shapes: tuple[str, ...], inequality: Inequality, rounds: int
) -> Finding:
    listed = (chosen(caps, "1/N", q, families(shapes)) for q in QS)
    cases = (searched(one, inequality, rounds) for one in listed)
    return judge.instances(chain.from_iterable(cases), "<=", SEARCHED)

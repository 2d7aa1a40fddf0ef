"""What is searched of Theorem 1 of the FOCUS paper: steps inside caps, and both ends.

The ends of (23) and (24) are compared from any start, with the weight that the
correction gives to the consensus error there; and the exact rate of (23) with its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array
from flverify.algorithms.focus import Focus
from flverify.claims import judge
from flverify.claims.focus_caps import OF_PROOFS, inside, largest_step, least_q
from flverify.claims.focus_lyapunov import WEIGHTS
from flverify.claims.focus_moments import Clients, Curves
from flverify.claims.focus_search import Inequality, Instance, Sides, number, powers
from flverify.claims.verdict import Finding
from flverify.engines.moments import moments
from flverify.problems._quadratics import Quadratics

Rate = Callable[[Clients, Fraction], Fraction]
Chosen = tuple[tuple[Clients, Fraction, Fraction], ...]


def chosen(
    caps: Mapping[str, str], case_3a: str, reading: str, clients: tuple[Clients, ...]
) -> Chosen:
    """Give each of the clients its largest step inside the caps, and q_min."""
    return _with_steps(tuple(caps.items()), reading, case_3a, clients)


def proof_first(
    caps: Mapping[str, str],
    bound: str,
    case_3a: str,
    reading: str,
    clients: tuple[Clients, ...],
) -> Chosen:
    """Choose steps inside the caps that the proof of a bound adds before others.

    What is violated there is violated under all that is printed.
    """
    strict = chosen({**OF_PROOFS[bound], **caps}, case_3a, reading, clients)
    known = set(strict)
    others = chosen(caps, case_3a, reading, clients)
    return strict + tuple(one for one in others if one not in known)


@cache
def _with_steps(
    caps: tuple[tuple[str, str], ...],
    reading: str,
    case_3a: str,
    clients: tuple[Clients, ...],
) -> Chosen:
    found = []
    for one in clients:
        q = least_q(reading, one, case_3a)
        if q is not None:
            step = largest_step(dict(caps), one, q)
            if inside(dict(caps), one, q, step):
                found.append((one, step, q))
    return tuple(found)


def beside(proof: Finding, search: Finding) -> Finding:
    """Judge by a proof beside the search; by the search where there is no proof."""
    return judge.proof_or_search(proof, search) if proof.passes() else search


def distances(rate: Rate) -> Inequality:
    """E|w_R - x*|^2 <= rate^R (|w_0 - x*|^2 + (1 - 8 eta L^2 N/mu) B_0)."""

    def sides(one: Instance, found: Curves) -> Sides:
        weight = 1 - WEIGHTS["8 eta L^2 N/mu"](one)
        return _ends(one, found.server, found, weight, rate)

    return sides


def values(rate: Rate) -> Inequality:
    """E F(w_R) - F* <= rate^R (F(w_0) - F* + (eta L^2/q) B_0)."""

    def sides(one: Instance, found: Curves) -> Sides:
        weight = one.step * one.clients.smoothness**2 / one.q
        half = number(one.clients.mean_curvature / 2, found.server)
        return _ends(one, half * found.server, found, weight, rate)

    return sides


def _ends(
    one: Instance, error: Array, found: Curves, weight: Fraction, rate: Rate
) -> Sides:
    start = error[0] + number(weight, error) * found.behind[0]
    bound = powers(rate(one.clients, one.step), error) * start
    return Sides(1, error[1:], bound[1:])


def exact_rates(listed: Chosen, rate: Rate) -> Iterator[judge.Case]:
    """Mean-square rate of one or two clients by the moments engine against the rate."""
    for clients, step, q in listed:
        if clients.total <= 2 and clients.local_steps <= 2:
            hessians: Any = [[[h]] for h in clients.curvatures]
            linear: Any = [[h] for h in clients.curvatures]
            algorithm = Focus(step, clients.local_steps)
            found = moments(Quadratics(hessians, linear), algorithm, clients.law)
            if isinstance(found, Refusal):
                raise RefusedError(str(found))
            where = {**clients.where(), "q_min": q, "step size": step}
            exact = tuple(found.mean_square_rate_interval)
            yield judge.Case(where, exact, rate(clients, step))

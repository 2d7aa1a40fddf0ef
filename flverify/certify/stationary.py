"""The lower side of a neighbourhood: quadratics that stay far from x* on average.

FedAvg does not stay at x* when clients disagree there: who takes part moves the model,
and local steps shift where it settles. On f_i(x) = h_i x^2/2 + g_i x, with g_i that add
up to zero, x* = 0 and E|x_r|^2 tends to a number that `moments` gives exactly. No c of
a certificate, with lim (1/R) sum_{r<R} E|x_r - x*|^2 <= c mean|g_i|^2, is below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isinf

from flverify._core.errors import DomainError, Refusal, RefusedError
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.classes import Classes, classes
from flverify.certify.sandwich import limits
from flverify.engines.kinds import require_algorithm
from flverify.engines.moments import moments
from flverify.participation._law import Participation
from flverify.problems import Quadratics

MOST_CLIENTS = 20  # whose moments are listed one by one in rationals

Numbers = tuple[Fraction, ...]


@dataclass(frozen=True)
class Stationary:
    """Quadratics f_i(x) = h_i x^2/2 + g_i x and how far off they stay.

    Parameters
    ----------
    ratio : Fraction, weight x^2/g^2
        lim E|x_r|^2 / mean|g_i|^2.
    curvatures, gradients : tuple of Fraction, weights f/x^2 and f/x
        h_i and g_i, client by client, class after class of the law.
    """

    ratio: Fraction
    curvatures: Numbers
    gradients: Numbers


def worst_stationary(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: object,
    smoothness: object,
) -> Stationary:
    """Try simple quadratics of the class, and return the one that stays farthest off.

    All curvatures are equal, or one differs; two clients disagree, or two classes, or
    the one with all others.

    Parameters
    ----------
    algorithm, participation, strong_convexity, smoothness
        As in `flverify.certify.rates.certify`, but mu may be L.

    Returns
    -------
    worst : Stationary
        lim E|x_r - x*|^2 / mean|grad f_i(x*)|^2 of one quadratic: no c that
        `distance` certifies lies below it.

    Raises
    ------
    InputError
        If a part of the setting is of another kind.
    DomainError
        If not 0 < mu <= L, or there are fewer than 2 clients or more than 20.
    RefusedError
        If no number is exact, or none of the quadratics contracts.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import UniformCohort
    >>> found = worst_stationary(FedAvg("1/10", 2), UniformCohort(4, 1), "1/10", 1)
    >>> round(float(found.ratio), 5), [str(h) for h in found.curvatures]
    (1.005, ['1/10', '1/10', '1/10', '1/10'])
    """
    require_algorithm(algorithm, "step_size")
    mu, smooth = limits(strong_convexity, smoothness)
    known = classes(participation)
    if not 2 <= known.n_clients <= MOST_CLIENTS:
        raise DomainError(
            f"quadratics that disagree are tried for 2 to {MOST_CLIENTS} clients; got "
            f"{known.n_clients}; take others."
        )
    tried = (
        Stationary(_ratio(algorithm, known, h, g), h, g)
        for h, g in _quadratics(known, mu, smooth)
    )
    found = [one for one in tried if one.ratio > 0]
    if not found:
        raise RefusedError(
            "some quadratic must contract and stay away from x*; none did; take a "
            "smaller step size or more local steps."
        )
    return max(found, key=lambda one: one.ratio)


def _ratio(
    algorithm: Algorithm, known: Classes, curvatures: Numbers, gradients: Numbers
) -> Fraction:
    """Return the exact ratio, or 0 where the quadratics do not contract."""
    problem = Quadratics([[[h]] for h in curvatures], [[g] for g in gradients])
    found = moments(problem, algorithm, known.law)
    if isinstance(found, Refusal):
        raise RefusedError(found.reason)
    error = found.stationary_mean_square_error
    if isinstance(error, float) and not isinf(error):
        raise RefusedError(
            "the error of quadratics must be exact; got a float; give every number as "
            "a fraction or decimal text."
        )
    if isinf(error):
        return Fraction(0)
    return Fraction(error) * known.n_clients / sum(g * g for g in gradients)


def _quadratics(
    known: Classes, mu: Fraction, smooth: Fraction
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield all curvatures alike with every disagreement, then one that differs."""
    n = known.n_clients
    for gradients in _disagreements(known):
        yield (mu,) * n, gradients
        yield (smooth,) * n, gradients
    for one in known.members:
        alone = tuple(smooth if i == one else mu for i in range(n))
        yield alone, _against({one}, set(range(n)) - {one}, n)


def _disagreements(known: Classes) -> Iterator[Numbers]:
    """Yield two clients against each other, of every pair of classes, and classes."""
    n, firsts = known.n_clients, known.members
    parts = [
        set(range(first, first + size))
        for first, size in zip(firsts, known.sizes, strict=True)
    ]
    for first, part in zip(firsts, parts, strict=True):
        if len(part) > 1:
            yield _against({first}, {first + 1}, n)
    for a, b in combinations(range(len(parts)), 2):
        yield _against({firsts[a]}, {firsts[b]}, n)
        yield _against(parts[a], parts[b], n)


def _against(some: set[int], others: set[int], n: int) -> Numbers:
    """Return gradients of some against those of others, adding up to zero."""
    return tuple(
        Fraction(len(others) * (i in some) - len(some) * (i in others))
        for i in range(n)
    )

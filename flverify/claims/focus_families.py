"""Instances on which Theorem 1 of the FOCUS paper is searched, simple ones first.

tau = 2 comes before tau = 1, where 1/(tau-1) needs a reading. Laws are full, uniform
(one client, all but nobody), independent with one rare client, independent with all at
1/2, and all or none; the last clients are many that act together.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

from flverify.claims.focus_moments import Clients, Start
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.uniform_cohort import UniformCohort

CONVEX = ("equal", "stiff", "soft")
GENERAL = ("equal", "stiff", "flat", "bent")

SMALL = (1, 2, 5)  # clients; every law
MANY = (25, 64)  # squares, so that the caps are rational; uniform cohorts
TOGETHER = 6400  # clients that act together

Settings = tuple[tuple[str, int], ...]  # scale of f, tau
UNSCALED: Settings = (("1", 2), ("1", 1), ("1", 20))


@cache
def families(
    shapes: tuple[str, ...], settings: Settings = UNSCALED
) -> tuple[Clients, ...]:
    """List clients of every size, law, shape of curvatures, scale of f and tau."""
    found = []
    for n in (*SMALL, *MANY):
        for law, shape in product(_laws(n), shapes):
            if shape == "equal" or n > 1:
                found += [_clients(shape, n, law, *setting) for setting in settings]
    law = AllOrNothing(1, "1/10")
    found += [_clients("equal", 1, law, *setting, TOGETHER) for setting in settings]
    return tuple(found)


def _clients(
    shape: str, n: int, law: Participation, scale: str, tau: int, copies: int = 1
) -> Clients:
    h = tuple(Fraction(scale) * v for v in curvatures(shape, n))
    return Clients(h, law, tau, copies)


def curvatures(shape: str, n: int) -> list[Fraction]:
    """Curvatures with L/mu of 30 or 5, a flat half, or a half bent downwards.

    Examples
    --------
    >>> [[str(h) for h in curvatures(shape, 2)] for shape in ("stiff", "flat", "bent")]
    [['30', '1'], ['0', '1'], ['-1/2', '1']]
    """
    one, half = Fraction(1), n // 2
    shapes = {
        "equal": [one] * n,
        "stiff": [30 * one] + [one] * (n - 1),
        "soft": [one] + [5 * one] * (n - 1),
        "flat": [0 * one] * half + [one] * (n - half),
        "bent": [-one / 2] * half + [one] * (n - half),
    }
    return shapes[shape]


def _laws(n: int) -> list[Participation]:
    uniform = [UniformCohort(n, m) for m in sorted({1, n})]
    if n in MANY:
        return [*uniform]
    rare = Bernoulli(["1/20", *["1"] * (n - 1)])
    return [*uniform, rare, Bernoulli(["1/2"] * n), AllOrNothing(n, "1/20")]


def starts(clients: Clients) -> list[Start]:
    """Return starts in which server and clients are apart, and all models equal."""
    n, one = len(clients.curvatures), Fraction(1)
    signs = tuple(one if i % 2 else -one for i in range(n))
    return [
        (one, (0 * one,) * n),
        (one, (one,) * n),
        (0 * one, (one,) * n),
        (0 * one, signs),
        (one, (one * 6 / 5,) * n),
    ]

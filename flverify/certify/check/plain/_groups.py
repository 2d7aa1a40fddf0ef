"""Who is written out: groups of clients that are alike, and what they have."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any, NamedTuple, TypeAlias

from ._sums import NOTHING, TooManyError, Vector, demand, total, unknown

FEW, MOST_CLIENTS, MOST_COHORTS = 6, 100_000, 4000
Parts: TypeAlias = tuple[tuple[Any, int], ...]  # unknown vectors, and their signs
X_STAR, X_0 = unknown("x*"), unknown("x_0 - x*")


class Point(NamedTuple):
    """A point of client i, the gradient and the value of f_i there; by default x*."""

    x: Vector = X_STAR
    g: Vector = NOTHING
    f: Vector = NOTHING

    def tangent(self, x: Vector, bend: Fraction) -> Vector:
        """Return f + <g, x - self> + (bend/2) |x - self|^2.

        With mu for `bend` this is at most f_i(x), with L at least f_i(x).
        """
        return self.f + (self.g + (x - self.x) * (bend / 2)) @ (x - self.x)

    def above(self, b: Point, mu: Fraction, L: Fraction) -> Vector:
        """Return f - tangent_b - |g - g_b - mu (x - x_b)|^2/2(L - mu).

        It is not negative, for f_i - (mu/2) |x|^2 is convex and (L - mu)-smooth.
        """
        gap = self.g - b.g - (self.x - b.x) * mu
        return self.f - b.tangent(self.x, mu) - gap @ gap / (2 * (L - mu))


class Group(NamedTuple):
    """Clients alike: their class, number and vectors, and whether they take part."""

    q: int
    many: int
    parts: Parts
    takes: bool = False

    def unknown(self, *label: Any) -> Vector:
        """Return an unknown vector of these clients."""
        return Vector({(*label, part): Fraction(sign) for part, sign in self.parts})

    def point(self, name: str) -> Point:
        """Return an unknown point of these clients."""
        f = unknown("f", name, self.parts)
        return Point(self.unknown("x", name), self.unknown("g", name), f)


class State(NamedTuple):
    """What each group has, by name; slots of the server are repeated for each."""

    groups: list[Group]
    at: dict[str, list[Any]]

    def each(self, name: str, q: int | None = None) -> list[tuple[Group, Any]]:
        """Return the groups, of one class if asked, with what they have."""
        pairs = zip(self.groups, self.at[name], strict=True)
        found = [(g, x) for g, x in pairs if q in (None, g.q)]
        demand(found != [], f"there must be a class {q}")
        return found

    def mean(self, name: str, q: int | None = None) -> Vector:
        """Return the mean over all clients, or over those of one class."""
        pairs = self.each(name, q)
        return total(x * g.many for g, x in pairs) / sum(g.many for g, _ in pairs)


def casts(law: Any) -> list[list[Group]]:
    """Return the groups to write out; all the lists of them have to be judged."""
    classes = law.classes if law.kind == "bernoulli" else []
    sizes = [q.clients for q in classes] or [law.n_clients]
    demand(min(sizes) > 0, "a class must have clients")
    many = f"at most {MOST_CLIENTS} clients are counted; got {sum(sizes)}"
    demand(sum(sizes) <= MOST_CLIENTS, many, TooManyError)
    if sum(sizes) <= FEW:
        everyone = [q for q, n in enumerate(sizes) for _ in range(n)]
        return [[Group(q, 1, ((i, 1),)) for i, q in enumerate(everyone)]]
    found = []
    for apart in (q for q, n in enumerate(sizes) if n > 1):
        left = [n - 2 * (q == apart) for q, n in enumerate(sizes)]
        alike = [Group(q, n, ((q, 1),)) for q, n in enumerate(left) if n]
        two = [((apart, 1), ("apart", sign)) for sign in (1, -1)]
        found.append([*alike, *(Group(apart, 1, parts) for parts in two)])
    return found or [[Group(q, 1, ((q, 1),)) for q in range(len(sizes))]]


def _numbers(law: Any, cast: list[Group]) -> list[range]:
    """Return how many can take part of each group; the first one is what is left."""
    if law.kind != "bernoulli":
        return [range(g.many + 1) for g in cast[1:]]
    least = [g.many if law.classes[g.q].inclusion == 1 else 0 for g in cast]
    return [range(k, g.many + 1) for g, k in zip(cast, least, strict=True)]


def sorts(law: Any, cast: list[Group]) -> int:
    """Return how many sorts of cohorts are gone through; refuse more than 4,000."""
    found = prod(map(len, _numbers(law, cast)))
    long = f"at most {MOST_COHORTS} sorts of cohorts are gone through; there are more"
    demand(found <= MOST_COHORTS, long, TooManyError)
    return found


def cohorts(law: Any, cast: list[Group]) -> Iterator[tuple[Any, Fraction]]:
    """Yield how many of each group can take part, and the chance of it."""
    n, numbers = sum(g.many for g in cast), _numbers(law, cast)
    if law.kind == "bernoulli":
        for inside in product(*numbers):
            p = Fraction(1)
            for g, k in zip(cast, inside, strict=True):
                x = law.classes[g.q].inclusion
                p *= comb(g.many, k) * x**k * (1 - x) ** (g.many - k)
            yield inside, p
        return
    sizes = {n: Fraction(1)}  # of full participation
    if law.kind == "all_or_nothing":
        sizes = {n: law.probability, 0: 1 - law.probability}
    elif law.kind == "uniform_cohort":
        sizes = {law.cohort_size: Fraction(1)}
    else:
        demand(law.kind == "full", "the law must be known")
    for (size, p), more in product(sizes.items(), product(*numbers)):
        inside = (size - sum(more), *more)
        if 0 <= inside[0] <= cast[0].many:
            ways = prod(comb(g.many, k) for g, k in zip(cast, inside, strict=True))
            yield inside, p * Fraction(ways, comb(n, size))

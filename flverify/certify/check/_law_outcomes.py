"""Participation laws of the certificate checker, as outcomes with exact moments.

Clients of a class are exchangeable, so an outcome is which of the clients with a sign
participate and how many of the others in each class.  Independent clients have a great
many such numbers; all of them that are not zero together are one outcome, its counts
unknown, and the moments of the counts are added up here number by number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import comb, lcm, prod

from ._forms import Form, Number, Powers, count
from ._json import choice, entries, items, names, number, require, whole

MOST_CLIENTS = 100_000
WORK = 5_000_000  # digits that the moments of a law may take; some seconds


@dataclass(frozen=True)
class Outcome:
    """Whether each client with a sign participates, and how many others per class.

    The numbers of the `random` clients (n, p), independent, are unknown; count 0 of a
    form is then the size of the cohort, `fixed` plus those numbers, and not zero; count
    j is the number in the j-th random class, from 1 on.
    """

    chance: Fraction
    marked: tuple[bool, ...]
    further: tuple[Number | Form, ...]
    fixed: int = 0
    random: tuple[tuple[int, Fraction], ...] = ()

    @cached_property
    def _moments(self) -> dict[Powers, Fraction]:
        return {}

    def moment(self, powers: Powers) -> Fraction:
        """Return E of a monomial in the counts, zero off this outcome."""
        if powers not in self._moments:
            self._moments[powers] = self._moment(*powers)
        return self._moments[powers]

    def example(self, powers: Powers) -> Fraction:
        """Return a monomial in counts that are possible."""
        numbers = [(min(n, 100) + 1) // 2 for n, _ in self.random]
        counts = [self.fixed + sum(numbers), *numbers[1:]]
        pairs = zip(counts, powers, strict=False)
        return prod((Fraction(n) ** k for n, k in pairs), start=Fraction(1))

    def _moment(self, size: int = 0, *further: int) -> Fraction:
        if not self.random:
            return self.chance  # no count is unknown
        rest = (*further, *(0,) * (len(self.random) - 1 - len(further)))
        ways, bottom = _ways(self.random, (0, *rest))
        least = self.fixed or 1
        sizes = range(least, self.fixed + len(ways))
        scale = lcm(*sizes) ** max(-size, 0)
        total = sum(
            way * (scale // k**-size if size < 0 else k**size)
            for way, k in zip(ways[least - self.fixed :], sizes, strict=True)
        )
        return self.chance * Fraction(total, bottom * scale)


@lru_cache(maxsize=32)
def _ways(
    random: tuple[tuple[int, Fraction], ...], powers: Powers
) -> tuple[list[int], int]:
    """Return E of prod h_q^powers[q] where the h_q add up to 0, 1, ...; times a number.

    The h_q are independent and binomial.
    """
    ways, bottom = [1], 1
    for (n, p), power in zip(random, powers, strict=True):
        inside, outside = [1], [1]
        for _ in range(n):
            inside.append(inside[-1] * p.numerator)
            outside.append(outside[-1] * (p.denominator - p.numerator))
        own, choices = [], 1
        for h in range(n + 1):
            own.append(choices * inside[h] * outside[n - h] * h**power)
            choices = choices * (n - h) // (h + 1)
        ways, bottom = _convolved(ways, own), bottom * p.denominator**n
    return ways, bottom


def _convolved(left: list[int], right: list[int]) -> list[int]:
    sums = [0] * (len(left) + len(right) - 1)
    for i, x in enumerate(left):
        for j, y in enumerate(right):
            sums[i + j] += x * y
    return sums


@dataclass(frozen=True)
class Law:
    """A law "bernoulli", "uniform_cohort" or "all_or_nothing" on classes of clients.

    Independent clients with one inclusion probability per class; a uniform cohort of
    fixed size; everybody or nobody.  Full participation is Bernoulli with one.
    """

    kind: str
    sizes: tuple[int, ...]
    inclusion: tuple[Fraction, ...] = ()
    cohort_size: int = 0

    @property
    def n_clients(self) -> int:
        """Return the number of clients N."""
        return sum(self.sizes)

    def others(self, apart: int | None) -> tuple[int, ...]:
        """Return per class the number of clients without a sign."""
        return tuple(n - 2 * (q == apart) for q, n in enumerate(self.sizes))

    def configurations(self) -> list[int | None]:
        """Return the classes with two clients to tell apart, or None alone."""
        several: list[int | None] = [q for q, n in enumerate(self.sizes) if n > 1]
        return several or [None]

    def outcomes(self, apart: int | None) -> Iterator[Outcome]:
        """Yield the possible outcomes; two clients of class `apart` have signs."""
        others = self.others(apart)
        signs = 0 if apart is None else 2
        if self.kind == "all_or_nothing":
            p = self.inclusion[0]
            yield Outcome(p, (True,) * signs, others)
            if p < 1:
                yield Outcome(1 - p, (False,) * signs, (0,) * len(others))
            return
        for marked in product((True, False), repeat=signs):
            if self.kind == "uniform_cohort":
                yield from self._uniform(marked, others[0])
            else:
                p = self.inclusion[apart or 0]
                weight = prod((p if inside else 1 - p for inside in marked), start=p**0)
                if weight:
                    yield from self._independent(weight, marked, others)

    def _uniform(self, marked: tuple[bool, ...], others: int) -> Iterator[Outcome]:
        more = self.cohort_size - sum(marked)
        if 0 <= more <= others:
            cohorts = comb(self.n_clients, self.cohort_size)
            yield Outcome(Fraction(comb(others, more), cohorts), marked, (more,))

    def _independent(
        self, weight: Fraction, marked: tuple[bool, ...], others: tuple[int, ...]
    ) -> Iterator[Outcome]:
        pairs = list(zip(others, self.inclusion, strict=True))
        unknown = [q for q, (n, p) in enumerate(pairs) if n and p < 1]
        further: list[Number | Form] = [n if p == 1 else 0 for n, p in pairs]
        fixed = sum(marked) + sum(n for n, p in pairs if p == 1)
        if not fixed:
            nobody = prod(((1 - p) ** n for n, p in pairs), start=weight)
            yield Outcome(nobody, marked, (0,) * len(pairs))
        if not unknown:
            if fixed:
                yield Outcome(weight, marked, tuple(further))
            return
        first, *rest = unknown
        further[first] = count(0) - fixed
        for place, q in enumerate(rest, start=1):
            further[q] = count(place)
            further[first] -= count(place)
        random = tuple(pairs[q] for q in unknown)
        yield Outcome(weight, marked, tuple(further), fixed, random)

    def work(self) -> int:
        """Return a bound on the digits that the moments take."""
        if self.kind != "bernoulli":
            return 0
        pairs = list(zip(self.sizes, self.inclusion, strict=True))
        random = [(n, p.denominator.bit_length()) for n, p in pairs if p < 1]
        n, classes = sum(n for n, _ in random), len(random)
        digits = sum(n * bits for n, bits in random) // 10
        sums = n if classes == 1 else n * n * classes * classes // 4
        return sums * (1 + digits // (10 if classes == 1 else 1000))


def read_law(value: object) -> Law:
    """Return the participation law."""
    law = names(value, "law")
    kind = choice(
        law.get("kind"),
        "law.kind",
        ["bernoulli", "full", "uniform_cohort", "all_or_nothing"],
    )
    more = {"full": [], "uniform_cohort": ["cohort_size"], "bernoulli": ["classes"]}
    keys = ["kind", *more.get(kind, ["probability"])]
    keys += [] if kind == "bernoulli" else ["n_clients"]
    law = entries(value, keys, "law")
    if kind == "bernoulli":
        found = _bernoulli(law["classes"])
    else:
        n = whole(law["n_clients"], "n_clients", 1, MOST_CLIENTS)
        if kind == "full":
            found = Law("bernoulli", (n,), (Fraction(1),))
        elif kind == "uniform_cohort":
            m = whole(law["cohort_size"], "cohort_size", 1, n)
            found = Law("uniform_cohort", (n,), cohort_size=m)
        else:
            found = Law(kind, (n,), (_probability(law["probability"]),))
    require(found.n_clients <= MOST_CLIENTS, "the law is too large")
    require(
        found.work() <= WORK,
        "the numbers of participants are too many to add up: too large",
    )
    return found


def _bernoulli(value: object) -> Law:
    listed = items(value, "law.classes")
    require(0 < len(listed) <= 10, "law.classes must be 1 to 10 classes")
    classes = [entries(c, ["clients", "inclusion"], "a class") for c in listed]
    return Law(
        "bernoulli",
        tuple(whole(c["clients"], "clients", 1, MOST_CLIENTS) for c in classes),
        tuple(_probability(c["inclusion"]) for c in classes),
    )


def _probability(value: object) -> Fraction:
    p = Fraction(number(value, "a probability", longest=60))
    require(0 < p <= 1, f"a probability must be above 0 and at most 1; got {p}")
    return p

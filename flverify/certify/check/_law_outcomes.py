"""Participation laws of the certificate checker, as lists of outcomes.

Clients of a class are exchangeable, so an outcome is which of the clients with a sign
participate and how many of the others in each class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, prod

from ._linear import choice, count, entries, items, names, number, require

MOST_CLIENTS = 100_000
WORK = 5_000_000  # outcomes of one configuration times clients


@dataclass(frozen=True)
class Outcome:
    """Whether each client with a sign participates, and how many others per class."""

    probability: Fraction
    marked: tuple[bool, ...]
    further: tuple[int, ...]


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
        """Yield the possible outcomes; two clients of class `apart` have signs.

        Any representative of an outcome stands for all cohorts with these numbers.
        """
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
        for numbers in product(*map(_binomial, others, self.inclusion)):
            shares = prod((share for _, share in numbers), start=weight)
            yield Outcome(shares, marked, tuple(h for h, _ in numbers))

    def work(self, apart: int | None) -> int:
        """Return a bound on the number of outcomes times the number of clients."""
        patterns = 1 if apart is None else 4
        if self.kind == "bernoulli":
            for n, p in zip(self.others(apart), self.inclusion, strict=True):
                patterns *= 1 if p == 1 else n + 1
        return patterns * self.n_clients


def _binomial(n: int, p: Fraction) -> list[tuple[int, Fraction]]:
    """Return the possible numbers of participants among n, with probabilities."""
    if p == 1:
        return [(n, p)]
    return [(h, comb(n, h) * p**h * (1 - p) ** (n - h)) for h in range(n + 1)]


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
        n = count(law["n_clients"], "n_clients", 1, MOST_CLIENTS)
        if kind == "full":
            found = Law("bernoulli", (n,), (Fraction(1),))
        elif kind == "uniform_cohort":
            m = count(law["cohort_size"], "cohort_size", 1, n)
            found = Law("uniform_cohort", (n,), cohort_size=m)
        else:
            found = Law(kind, (n,), (_probability(law["probability"]),))
    require(found.n_clients <= MOST_CLIENTS, "the law is too large")
    works = [found.work(apart) for apart in found.configurations()]
    require(max(works) <= WORK, "the outcomes are too many to list: too large")
    return found


def _bernoulli(value: object) -> Law:
    listed = items(value, "law.classes")
    require(0 < len(listed) <= 10, "law.classes must be 1 to 10 classes")
    classes = [entries(c, ["clients", "inclusion"], "a class") for c in listed]
    return Law(
        "bernoulli",
        tuple(count(c["clients"], "clients", 1, MOST_CLIENTS) for c in classes),
        tuple(_probability(c["inclusion"]) for c in classes),
    )


def _probability(value: object) -> Fraction:
    p = Fraction(number(value, "a probability", longest=60))
    require(0 < p <= 1, f"a probability must be above 0 and at most 1; got {p}")
    return p

"""The law that an availability log supports, with estimates and their intervals."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from flverify._core.checks import instance, whole
from flverify._core.exact import Array, objects, text
from flverify.advise.intervals import betting_interval, clopper_pearson
from flverify.advise.log import AvailabilityLog
from flverify.advise.significance import (
    SHUFFLES,
    Tested,
    affordable,
    all_tests,
    holm,
)
from flverify.advise.uniform_cohorts import equal_chances, equal_pairs
from flverify.participation._law import Participation
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.explicit_law import ExplicitLaw
from flverify.participation.full import Full
from flverify.participation.uniform_cohort import UniformCohort

LEVEL = 0.95  # of every interval, for itself
ALARM = 0.05  # chance that some test speaks against a kind of law that is true

Supports = Literal["full", "bernoulli", "fixed cohort size", "none"]


@dataclass(frozen=True)
class Fitted:
    """A law fitted to a log.

    Parameters
    ----------
    log : AvailabilityLog
    inclusion, averaging_weights : (N,) arrays of Fraction
        Frequencies: k_i/R, and the mean of I_i/|S|.
    inclusion_intervals, averaging_intervals : (N, 2) arrays
        Of level 95 % each: Clopper and Pearson, and betting.
    tests : tuple of Tested
    supports : {"full", "bernoulli", "fixed cohort size", "none"}
        The kind of law that the log supports.
    reason : str
        Why, in one sentence.
    law : Participation
        The fitted law; the frequencies of the cohorts where no kind has them.
    """

    log: AvailabilityLog
    inclusion: Array
    averaging_weights: Array
    inclusion_intervals: Array
    averaging_intervals: Array
    tests: tuple[Tested, ...]
    supports: Supports
    reason: str
    law: Participation

    def file(self, about: str) -> str:
        """Text of a law's file, which `--law file:PATH` reads."""
        content: dict[str, object] = {"about": about, "n_clients": self.law.n_clients}
        if isinstance(self.law, ExplicitLaw):
            content["outcomes"] = [
                {"clients": sorted(members), "probability": text(chance)}
                for members, chance in self.law.outcomes.items()
            ]
        else:
            content["law"] = self.law.spec
        return json.dumps(content, indent=1) + "\n"

    def in_floats(self) -> Participation:
        """Return the same law in floats, for searches."""
        if isinstance(self.law, Bernoulli):
            return Bernoulli([float(p) for p in self.law.inclusion().tolist()])
        if isinstance(self.law, ExplicitLaw):
            chances = {
                tuple(sorted(members)): float(chance)
                for members, chance in self.law.outcomes.items()
            }
            return ExplicitLaw(chances, self.law.n_clients)
        return self.law


def fit(log: AvailabilityLog, shuffles: int = SHUFFLES) -> Fitted:
    """Estimate inclusion and averaging weights, test, and choose a law.

    Definition: rounds with memory support no law of independent rounds; else equal
    cohort sizes support a fixed cohort size, drawn uniformly if clients and pairs of
    them come equally often; else clients that are not independent support none; else
    Bernoulli with p_i = k_i/R. A test speaks if its p-value, adjusted by Holm's method
    for all that are asked, is at most 0.05: of cohorts of one size memory and evenness
    are asked, of others memory and independence.

    Raises
    ------
    InputError
        If there is no log, or shuffles are no number of at least 1.

    Examples
    --------
    >>> mask = np.random.default_rng(1).random((400, 3)) < [0.2, 0.5, 0.8]
    >>> found = fit(AvailabilityLog(mask, 0), shuffles=199)
    >>> found.supports, found.law.spec
    ('bernoulli', 'bernoulli:79/400,99/200,309/400')
    """
    instance(log, "log", AvailabilityLog, 'read_log("log.csv")')
    tests = all_tests(log, whole(shuffles, "shuffles"))
    evenness = _evenness(log, shuffles)
    tests, even = _together(tests, evenness)
    supports, reason, law = _choice(log, tests, even)
    return Fitted(
        log,
        _fractions(log.counts.tolist(), log.rounds),
        _shares(log),
        clopper_pearson(log.counts, log.rounds, LEVEL),
        betting_interval(log.shares, LEVEL),
        tests,
        supports,
        reason,
        law,
    )


def _choice(
    log: AvailabilityLog, tests: tuple[Tested, ...], even: list[float]
) -> tuple[Supports, str, Participation]:
    remembered = _speaking(tests, "memory")
    dependent = _speaking(tests, "independence")
    sizes = np.unique(log.sizes).tolist()
    if remembered:
        why = f"rounds are not independent of one another ({remembered})"
        return "none", f"{why}; the frequencies of cohorts stand in", _cohorts(log)
    if sizes == [log.n_clients]:
        return "full", "every client took part in every round", Full(log.n_clients)
    if even:
        return _fixed(log, sizes[0], *even)
    if dependent:
        why = f"clients are not independent within a round ({dependent})"
        return "none", f"{why}; the frequencies of cohorts stand in", _cohorts(log)
    reason = "nothing speaks against independent clients in independent rounds"
    law = Bernoulli(_fractions(log.counts.tolist(), log.rounds).tolist())
    return "bernoulli", reason, law


def _evenness(log: AvailabilityLog, shuffles: int) -> list[float]:
    """P-values of even clients and even pairs; none unless cohorts have one size."""
    size = int(log.sizes[0])
    if (log.sizes != size).any() or not 0 < size < log.n_clients:
        return []
    draws = affordable(log, shuffles)
    return [equal_chances(log, size), equal_pairs(log, size, draws)]


def _together(
    tests: tuple[Tested, ...], evenness: list[float]
) -> tuple[tuple[Tested, ...], list[float]]:
    """Adjust together what is asked of cohorts of one size.

    Independence of clients is not asked of them: their size denies it.
    """
    if not evenness:
        return tests, []
    asked = [one for one in tests if one.about == "memory"]
    values = [one.p_value or 0.0 for one in asked] + evenness
    adjusted = holm(values)
    told = {one.name: value for one, value in zip(asked, adjusted, strict=False)}
    mended = tuple(replace(one, adjusted=told.get(one.name)) for one in tests)
    return mended, adjusted[len(asked) :]


def _fixed(
    log: AvailabilityLog, size: int, alone: float, paired: float
) -> tuple[Supports, str, Participation]:
    """Say whether clients of a fixed cohort size take part equally often."""
    told = f"every cohort has {size} of {log.n_clients} clients"
    clients = f"who take part equally often (p = {alone:.3g})"
    if min(alone, paired) > ALARM:
        reason = f"{told}, {clients}, as pairs of them do (p = {paired:.3g})"
        law = UniformCohort(log.n_clients, size)
        return "fixed cohort size", reason, law
    if alone <= ALARM:
        why = f"who do not take part equally often (p = {alone:.3g})"
    else:
        why = f"{clients}; pairs of them do not (p = {paired:.3g})"
    reason = f"{told}, {why}; the frequencies of cohorts stand in"
    return "fixed cohort size", reason, _cohorts(log)


def _speaking(tests: tuple[Tested, ...], about: str) -> str:
    """Name the tests that speak, with their p-values."""
    against = [
        f"{one.name}: p = {one.adjusted:.3g}"
        for one in tests
        if one.about == about and one.adjusted is not None and one.adjusted <= ALARM
    ]
    return ", ".join(against)


def _cohorts(log: AvailabilityLog) -> ExplicitLaw:
    """Take the frequencies of the cohorts for their chances."""
    rows, counts = np.unique(log.mask, axis=0, return_counts=True)
    chances = _fractions(counts.tolist(), log.rounds)
    sets = (tuple(np.flatnonzero(row).tolist()) for row in rows)
    return ExplicitLaw(dict(zip(sets, chances, strict=True)), log.n_clients)


def _fractions(counts: list[int], rounds: int) -> Array:
    return objects(Fraction(count, rounds) for count in counts)


def _shares(log: AvailabilityLog) -> Array:
    """Mean of I_i/|S| in rationals: by cohort sizes."""
    total = np.full(log.n_clients, Fraction(0), dtype=object)
    for size in np.unique(log.sizes[log.sizes > 0]).tolist():
        counts = log.mask[log.sizes == size].sum(axis=0).tolist()
        total = total + _fractions(counts, size * log.rounds)
    return np.asarray(total)

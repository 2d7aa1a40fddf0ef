"""Are clients independent within a round, and rounds of one another? Exact tests.

All condition on how often each client took part, so nothing is assumed of its p.

*Pairs*: given their counts, the common rounds of two independent clients are
hypergeometric. *Cohort size*: the sum of |S_r|^2 against logs in which every client's
rounds are shuffled by themselves: a fixed cohort size makes it small, a common cause
large. Both need rounds without memory. *Runs*: given its count, the number of runs of
presences and absences of a client has a known distribution (Wald and Wolfowitz).
*Overlap*: the common clients of consecutive rounds, against logs whose rounds are
shuffled as a whole. These two hold whatever the dependence between clients.

Every p-value is two-sided: twice the smaller tail, at most 1. Those of many clients or
pairs, and those of the four tests together, are adjusted by Holm's method; where all
cohorts have one size, `fit` puts tests of evenness in the place of independence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from flverify._core.exact import Array
from flverify.advise.log import AvailabilityLog

SHUFFLES = 999
FEWEST_SHUFFLES = 199
MOST_WORK = 2_000_000_000  # rounds times clients times shuffles
AT_A_TIME = 4_000_000  # of these, held in memory
MOST_PAIRED = 300  # clients up to which pairs are tested one by one


@dataclass(frozen=True)
class Tested:
    """The answer of one test.

    Parameters
    ----------
    name : str
    about : {"independence", "memory"}
    p_value : float or None
        Adjusted for the test's own comparisons; None if it was not made.
    adjusted : float or None
        Adjusted for the other tests too; None if it was not made or is not asked.
    detail : str
        What was compared, and where it is most unlikely.
    """

    name: str
    about: str
    p_value: float | None
    adjusted: float | None
    detail: str


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values by Holm's method: each may be compared with the level itself.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    out, least = [0.0] * len(p_values), 0.0
    for rank, k in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[k]))
        out[k] = least
    return out


def all_tests(log: AvailabilityLog, shuffles: int) -> tuple[Tested, ...]:
    """Make the four tests of a log; their shuffles are the same every time.

    Parameters
    ----------
    shuffles : int
        At most so many; fewer (at least 199) for very long logs.
    """
    many = affordable(log, shuffles)
    found = [_pairs(log), _sizes(log, many), _runs(log), _overlap(log, many)]
    made = [one for one in found if one.p_value is not None]
    values = dict(
        zip(
            (one.name for one in made),
            holm([one.p_value or 0.0 for one in made]),
            strict=True,
        )
    )
    return tuple(
        Tested(one.name, one.about, one.p_value, values.get(one.name), one.detail)
        for one in found
    )


def affordable(log: AvailabilityLog, shuffles: int) -> int:
    """Return how many shuffles of a log are worth their time."""
    work = max(log.mask.size, 1)
    return max(min(shuffles, MOST_WORK // work), min(shuffles, FEWEST_SHUFFLES))


def pair_p_values(log: AvailabilityLog) -> tuple[Array, Array]:
    """P-values of all pairs i < j, and (pairs, 2) indices."""
    together = log.mask.T.astype(np.int64) @ log.mask.astype(np.int64)
    left, right = np.triu_indices(log.n_clients, 1)
    common = together[left, right]
    first, second = log.counts[left], log.counts[right]
    keys, place = np.unique(
        np.stack([common, first, second]), axis=1, return_inverse=True
    )
    each = [_hypergeometric(c, k, m, log.rounds) for c, k, m in keys.T.tolist()]
    values = np.array(each)[place.ravel()] if len(common) else np.zeros(0)
    return values, np.stack([left, right], axis=1)


def _hypergeometric(common: int, first: int, second: int, rounds: int) -> float:
    """Two-sided p-value of common rounds of two clients."""
    low, high = max(0, first + second - rounds), min(first, second)
    k = np.arange(low, high + 1)
    logs = _choose(first, k) + _choose(rounds - first, second - k)
    return _two_sided(_normalised(logs), common - low)


def run_p_values(log: AvailabilityLog) -> Array:
    """P-values of the number of runs of each client, shape (N,)."""
    changes = (log.mask[1:] != log.mask[:-1]).sum(axis=0)
    pairs = zip(log.counts.tolist(), changes.tolist(), strict=True)
    return np.array([_runs_of(k, log.rounds - k, 1 + c) for k, c in pairs])


def _runs_of(ones: int, zeros: int, runs: int) -> float:
    """Two-sided p-value of a number of runs."""
    if 0 in (ones, zeros):
        return 1.0
    # 2m runs: m of each; 2m + 1: one kind has one more
    r = np.arange(2, 2 * min(ones, zeros) + 2)
    m = r // 2
    even = np.log(2.0) + _choose(ones - 1, m - 1) + _choose(zeros - 1, m - 1)
    odd = np.logaddexp(
        _choose(ones - 1, m) + _choose(zeros - 1, m - 1),
        _choose(ones - 1, m - 1) + _choose(zeros - 1, m),
    )
    return _two_sided(_normalised(np.where(r % 2 == 0, even, odd)), runs - 2)


def _choose(n: int, k: Array) -> Array:
    """Logarithm of binomial coefficients, -inf outside."""
    inside = (k >= 0) & (k <= n)
    safe = np.where(inside, k, 0)
    found = gammaln(n + 1) - gammaln(safe + 1) - gammaln(n - safe + 1)
    return np.where(inside, found, -np.inf)


def _normalised(logs: Array) -> Array:
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def _two_sided(chances: Array, place: int) -> float:
    tails = chances[: place + 1].sum(), chances[place:].sum()
    return min(1.0, 2 * float(min(tails)))


def _pairs(log: AvailabilityLog) -> Tested:
    name, about = "pairs of clients", "independence"
    if not 1 < log.n_clients <= MOST_PAIRED:
        why = f"made for 2 to {MOST_PAIRED} clients; there are {log.n_clients}"
        return Tested(name, about, None, None, why)
    values, pairs = pair_p_values(log)
    best = int(values.argmin())
    i, j = pairs[best].tolist()
    common = int((log.mask[:, i] & log.mask[:, j]).sum())
    chance = log.counts[i] * log.counts[j] / log.rounds
    detail = (
        f"{len(values)} pairs; least likely: clients {i} and {j} in {common} common "
        f"rounds, {chance:.4g} expected"
    )
    return Tested(
        name, about, min(1.0, len(values) * float(values[best])), None, detail
    )


def _runs(log: AvailabilityLog) -> Tested:
    values = run_p_values(log)
    best = int(values.argmin())
    runs = 1 + int((log.mask[1:, best] != log.mask[:-1, best]).sum())
    k, rounds = int(log.counts[best]), log.rounds
    expected = 1 + 2 * k * (rounds - k) / rounds
    detail = (
        f"{len(values)} clients; least likely: client {best} with {runs} runs, "
        f"{expected:.4g} expected"
    )
    p_value = min(1.0, len(values) * float(values[best]))
    return Tested("runs of each client", "memory", p_value, None, detail)


def _sizes(log: AvailabilityLog, shuffles: int) -> Tested:
    seen = int((log.sizes.astype(np.int64) ** 2).sum())
    drawn = np.concatenate(
        [
            (part.sum(axis=2).astype(np.int64) ** 2).sum(axis=1)
            for part in _shuffled_by_client(log.mask, shuffles)
        ]
    )
    chances = log.counts / log.rounds
    expected = float((chances * (1 - chances)).sum())
    detail = (
        f"variance of |S| {float(log.sizes.var()):.4g}, about {expected:.4g} if "
        f"independent; {shuffles} shuffles"
    )
    return Tested("cohort size", "independence", _rank(seen, drawn), None, detail)


def _overlap(log: AvailabilityLog, shuffles: int) -> Tested:
    seen = int((log.mask[1:] & log.mask[:-1]).sum())
    stream = np.random.default_rng(1)
    drawn = np.empty(shuffles, dtype=np.int64)
    for k in range(shuffles):
        mixed = log.mask[stream.permutation(log.rounds)]
        drawn[k] = np.count_nonzero(mixed[1:] & mixed[:-1])
    pairs = log.rounds - 1
    detail = (
        f"{seen / pairs:.4g} common clients of consecutive rounds, "
        f"{drawn.mean() / pairs:.4g} when shuffled; {shuffles} shuffles"
    )
    return Tested(
        "overlap of consecutive rounds", "memory", _rank(seen, drawn), None, detail
    )


def _shuffled_by_client(mask: Array, shuffles: int) -> Iterator[Array]:
    """Yield logs in which each client's rounds are shuffled by themselves."""
    stream = np.random.default_rng(0)
    step = max(1, AT_A_TIME // mask.size)
    for begin in range(0, shuffles, step):
        many = min(step, shuffles - begin)
        copies = np.broadcast_to(mask, (many, *mask.shape))
        yield stream.permuted(copies, axis=1)


def _rank(seen: int, drawn: Array) -> float:
    """Two-sided p-value of a value among shuffled ones; it counts as one of them."""
    below, above = int((drawn <= seen).sum()), int((drawn >= seen).sum())
    return min(1.0, 2 * (1 + min(below, above)) / (1 + len(drawn)))

"""Whether cohorts of one size are drawn uniformly: clients, and pairs of them.

Cohorts of one size have the averages of uniform ones exactly if all pairs of clients
come equally often; that all clients do is not enough: of two halves that come in turn
by the toss of a coin, every client comes in every other round.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from flverify._core.exact import Array
from flverify.advise.log import AvailabilityLog
from flverify.advise.significance import AT_A_TIME


def equal_chances(log: AvailabilityLog, size: int) -> float:
    """P-value of counts at most as even as these, for uniform cohorts of one size.

    Definition: Q = (N - 1)/(R m (1 - m/N)) sum_i (k_i - R m/N)^2 is asymptotically
    chi-square with N - 1 degrees of freedom.
    """
    n, share = log.n_clients, size / log.n_clients
    gaps = log.counts - log.rounds * share
    scale = (n - 1) / (log.rounds * size * (1 - share))
    return float(chi2.sf(scale * float((gaps * gaps).sum()), n - 1))


def equal_pairs(log: AvailabilityLog, size: int, draws: int) -> float:
    """P-value of common rounds at most as even as these, against drawn logs.

    Definition: the rank of sum_(i<j) k_ij^2, k_ij the common rounds of two clients,
    among those of as many rounds of uniform cohorts.
    """
    if size == 1:  # nobody meets
        return 1.0
    stream, seen = np.random.default_rng(2), _unevenness(log.mask)
    step = max(1, AT_A_TIME // log.n_clients)
    above = 0
    for _ in range(draws):
        common = np.zeros((log.n_clients, log.n_clients))
        for begin in range(0, log.rounds, step):
            rows = np.zeros((min(step, log.rounds - begin), log.n_clients), np.float32)
            rows[:, :size] = 1
            drawn = stream.permuted(rows, axis=1)
            common += drawn.T @ drawn
        above += _squares(common) >= seen
    return (1 + above) / (1 + draws)


def _unevenness(mask: Array) -> float:
    came = mask.astype(np.float64)
    return _squares(came.T @ came)


def _squares(common: Array) -> float:
    return float((np.triu(common, 1) ** 2).sum())

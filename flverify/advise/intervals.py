"""Intervals for the chances of a law, from independent rounds, valid for any number.

Inclusion probabilities: Clopper and Pearson, from the two binomial tails. Averaging
weights are means of the shares I_i/|S|, which lie in [0, 1] and are not binomial;
their intervals come from betting (Waudby-Smith and Ramdas, hedged capital): were m the
mean, prod_r (1 + l_r (X_r - m)), with bets l_r >= 0 that know the past only, would have
mean 1, so by Markov it reaches 2/miss with probability at most miss/2; likewise with
bets against m. The interval is the set of m against which neither bet reached it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta

from flverify._core.exact import Array

BOLDEST = 0.5  # share of the largest bet that cannot be ruined
HALVINGS = 40  # of an interval's end


def clopper_pearson(counts: Array, rounds: int, level: float) -> Array:
    """Intervals for probabilities from the rounds in which something happened.

    Definition: the p at which P(at least k) and P(at most k) are each half of the
    miss 1 - level; 0 and 1 where k is 0 or all.

    Parameters
    ----------
    counts : (N,) array of int
        k_i, of `rounds` independent rounds.
    level : float in (0, 1)
        Probability with which each interval holds its p, at least.

    Returns
    -------
    ends : (N, 2) array

    Examples
    --------
    >>> clopper_pearson(np.array([0]), 10, 0.95).round(4).tolist()
    [[0.0, 0.3085]]
    """
    miss = (1 - level) / 2
    k = np.asarray(counts, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        low = beta.ppf(miss, k, rounds - k + 1)
        high = beta.ppf(1 - miss, k + 1, rounds - k)
    ends = np.stack([np.where(k == 0, 0.0, low), np.where(k == rounds, 1.0, high)])
    return np.asarray(ends.T)


def betting_interval(values: Array, level: float) -> Array:
    """Intervals for means of variables in [0, 1], from independent copies.

    Parameters
    ----------
    values : (rounds, N) array in [0, 1]
    level : float in (0, 1)
        Probability with which each interval holds its mean, at least.

    Returns
    -------
    ends : (N, 2) array

    Examples
    --------
    >>> always = np.ones((100, 1))
    >>> low, high = betting_interval(always, 0.95)[0]
    >>> bool(0.85 < low < 1), float(high)
    (True, 1.0)
    """
    miss = (1 - level) / 2
    bets = _bets(values, miss)
    low = _end(values, bets, miss)
    high = 1 - _end(1 - values, bets, miss)
    return np.stack([low, high], axis=1)


def _bets(values: Array, miss: float) -> Array:
    """Bets that are best for the mean and variance of the rounds before."""
    rounds = len(values)
    before = np.arange(1, rounds + 1)[:, None]
    mean = (0.5 + np.cumsum(values, axis=0)) / (1 + before)
    spread = (0.25 + np.cumsum((values - mean) ** 2, axis=0)) / (1 + before)
    start = np.full((1, values.shape[1]), 0.25)
    known = np.concatenate([start, spread[:-1]])
    return np.asarray(np.sqrt(-2 * math.log(miss) / (rounds * known)))


def _end(values: Array, bets: Array, miss: float) -> Array:
    """Largest m that bets on a larger mean rule out, by halving; 0 if none is.

    The capital falls with m, since every factor does.
    """
    low, high = np.zeros(values.shape[1]), np.ones(values.shape[1])
    for _ in range(HALVINGS):
        m = (low + high) / 2
        played = np.minimum(bets, BOLDEST / m)
        capital = np.log1p(played * (values - m)).sum(axis=0)
        ruled_out = capital >= -math.log(miss)
        low, high = np.where(ruled_out, m, low), np.where(ruled_out, high, m)
    return low

"""Sizes of a random set of independent members, in floats of full relative accuracy.

1/n^k is the integral of s^(k-1) exp(-n s) / (k-1)! over s > 0. So, with the factor
g_j(s) = 1 - p_j + p_j exp(-s) of every member,

    E[I_i / |S|^k] = p_i int s^(k-1) exp(-s) prod_{j != i} g_j(s) ds / (k-1)!,

and with exp(-2s) and j != i, i' for a pair. All factors are positive; products are
taken as sums of logarithms, so nothing underflows before it is negligible.
"""

from __future__ import annotations

import math

import numpy as np

from flverify._core.exact import Array
from flverify.participation._half_line import COARSE, rule

NEGLIGIBLE = 40.0  # exp(-40) = 4e-18
PER_POWER = 6.0  # more, for each factor s of the integrand
SHARPNESS = 0.55  # step times sqrt(power): the integrand is that narrow in log s


def no_members(p: Array) -> float:
    """P(S empty) = prod (1 - p_i)."""
    return math.exp(_log_empty(p))


def some_members(p: Array) -> float:
    """P(S not empty), accurate also when every p_i is tiny."""
    return -math.expm1(_log_empty(p))


def _log_empty(p: Array) -> float:
    return -math.inf if (p == 1).any() else math.fsum(np.log1p(-p))


def moment(p: Array, chosen: list[int], power: int) -> float:
    """E[1{chosen in S} / |S|^power] for power >= 1."""
    if not chosen:
        return math.fsum(single_moments(p, power + 1))
    others = np.delete(p, chosen)
    s, weights, logs = _rule(others, power)
    logs = logs + [_log_factors(others, node).sum() for node in s]
    integrand = np.exp(logs - len(chosen) * s)
    return float(p[chosen].prod() * (weights @ integrand))


def single_moments(p: Array, power: int) -> Array:
    """E[I_i / |S|^power] for every i; one node at a time, to need little memory."""
    total = np.zeros(len(p))
    for s, weight, more in zip(*_rule(p, power), strict=True):
        logs = _log_factors(p, s)
        total += weight * np.exp(logs.sum() + more - s - logs)
    return np.asarray(p * total)


def pair_moments(p: Array, power: int) -> Array:
    """E[I_i I_j / |S|^power] for every i, j; one matrix product."""
    s, weights, more = _rule(p, power)
    logs = np.array([_log_factors(p, node) for node in s])
    shared = 0.5 * (logs.sum(axis=1) + more) - s
    halves = np.exp(shared[:, None] - logs)
    integrals = (weights[:, None] * halves).T @ halves
    out = np.asarray(p[:, None] * p * integrals)
    np.fill_diagonal(out, single_moments(p, power))
    return out


def _rule(p: Array, power: int) -> tuple[Array, Array, Array]:
    """Nodes, weights, and logarithms of s^(power-1) / (power-1)!."""
    mean = math.fsum(p)
    scale = 1.0 / (1.0 + mean)
    last = scale
    # the integral may be as small as scale^power
    decay = NEGLIGIBLE + PER_POWER * power + (power - 1) * math.log1p(mean)
    while last - mean * math.expm1(-last) < decay:  # bounds -log of the integrand
        last *= 2.0
    step = min(COARSE, SHARPNESS / math.sqrt(power))
    s, weights = rule(scale, last, step)
    return s, weights, _log_powers(s, power - 1)


def _log_powers(s: Array, m: int) -> Array:
    """Logarithms of s^m / m!, as (s/m)^m times m^m/m!: for s near m little cancels."""
    if m == 0:
        return np.zeros_like(s)
    digits = 64
    whole = (m**m << digits) // math.factorial(m)
    constant = math.log(whole) - digits * math.log(2.0)
    return np.asarray(m * np.log(s / m) + constant)


def _log_factors(p: Array, s: float) -> Array:
    """Logarithms of 1 - p + p exp(-s), shape (clients,), without cancellation."""
    if s <= math.log(2.0):  # then every factor is at least 1/2
        logs: Array = np.log1p(p * math.expm1(-s))
        return logs
    rare, sure = p <= 0.5, p == 1.0
    often = p[~rare & ~sure]
    out = np.full(len(p), -s)  # of sure members, also where exp(-s) underflows
    out[rare] = np.log1p(p[rare] * math.expm1(-s))
    out[~rare & ~sure] = np.log((1.0 - often) + often * math.exp(-s))
    return out

"""Lyapunov functions of Theorem 1 of the FOCUS paper, and the inequalities about them.

Each is a function of an instance and its second moments, for floats and rationals.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flverify._core.exact import Array
from flverify.claims.focus_moments import Clients, Curves
from flverify.claims.focus_search import Inequality, Instance, Sides, number, powers

Lyapunov = Callable[[Instance, Curves], tuple[int, Array]]  # first index, values
Rate = Callable[[Clients, Fraction], Fraction]


def _stiffness(one: Instance) -> Fraction:
    """Return 8 eta L N."""
    return 8 * one.step * one.clients.smoothness * one.clients.total


# what stands in (1 - ...) before the consensus error
WEIGHTS: dict[str, Callable[[Instance], Fraction]] = {
    "8 eta tau L N": lambda one: _stiffness(one) * one.clients.local_steps,
    "8 eta L^2 N/mu": lambda one: (
        _stiffness(one) * one.clients.smoothness / one.clients.strong_convexity
    ),
    "4 eta L^2": lambda one: 4 * one.step * one.clients.smoothness**2,
}


def psi(weight: str, lag: str, one: Instance, found: Curves) -> tuple[int, Array]:
    """E|xbar - x*|^2 + (1 - weight) E||1 xbar - x||^2, and its first index.

    `lag` says which consensus error: "w_{r-1}, x_{r tau}" as printed in Theorem 1, or
    "w_{r-1}, x_{(r-1) tau}" as in (102).
    """
    return _combined(found.server, weight, lag, one, found)


def phi(weight: str, lag: str, one: Instance, found: Curves) -> tuple[int, Array]:
    """E F(xbar) - F* + (1 - weight) E||1 xbar - x||^2, and its first index.

    `lag`: "w_r, x_{r tau}" as printed in Theorem 1, "w_{r-1}, x_{(r-1) tau}" as in
    (110).
    """
    half = number(one.clients.mean_curvature / 2, found.server)
    return _combined(half * found.server, weight, lag, one, found)


def _combined(
    error: Array, weight: str, lag: str, one: Instance, found: Curves
) -> tuple[int, Array]:
    factor = number(1 - WEIGHTS[weight](one), error)
    if lag == "w_{r-1}, x_{(r-1) tau}":
        later = error[1:] + factor * found.behind[:-1]
        if not one.equal_start:
            return 1, later
        out = error.copy()
        out[1:] = later
        return 0, out
    spread = found.behind if lag == "w_r, x_{r tau}" else found.lagged
    return 0, error + factor * spread


def contracts(lyapunov: Lyapunov, rate: Rate) -> Inequality:
    """V_R <= rate^(R - R_0) V_{R_0}, R_0 the first index of V."""

    def sides(one: Instance, found: Curves) -> Sides:
        first, values = lyapunov(one, found)
        bound = powers(rate(one.clients, one.step), values) * values[0]
        return Sides(first + 1, values[1:], bound[1:])

    return sides


def dominates(lyapunov: Lyapunov, scale: str) -> Inequality:
    """E|xbar_R - x*|^2 <= Psi_R, or E F(xbar_R) - F* <= Phi_R, from R = 1 on."""

    def sides(one: Instance, found: Curves) -> Sides:
        first, values = lyapunov(one, found)
        error = found.server
        if scale == "F":
            error = number(one.clients.mean_curvature / 2, error) * error
        return Sides(1, error[1:], values[1 - first :])

    return sides


def concludes(lyapunov: Lyapunov, rate: Rate, scale: str) -> Inequality:
    """Compare the two ends of (23) or (24): the error and rate^(R - R_0) V_{R_0}."""

    def sides(one: Instance, found: Curves) -> Sides:
        _, error, _ = dominates(lyapunov, scale)(one, found)
        first, _, bound = contracts(lyapunov, rate)(one, found)
        return Sides(first, error[first - 1 :], bound)

    return sides

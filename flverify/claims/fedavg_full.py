"""Where FedAvg ends up under full participation: within O(eta) of x*, in the norm.

The proof of `fedavg_bounds` with nobody absent. At the end of a round the model is the
mean of all local models, so that nothing is added there: with e = xbar - x* and
nu = eta sigma_G every step, the last of a round too, has

    |e|^2 followed by at most (1 - eta mu) |e|^2 + eta L (nu (tau - 1))^2,

and limsup |e|^2 <= B/alpha = eta^2 (L/mu) sigma_G^2 (tau - 1)^2.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_bounds import L, eta, mu, sigma, tau, unbiased
from flverify.claims.verdict import Finding
from flverify.reference import Population, fedavg

FULL = "full participation, every N, tau, dimension, mu <= L and eta inside the caps"
X = sympy.Symbol("x")
ENDS = sympy.symbols("y_1 y_2")  # last local models of two kinds of clients
COUNTS = sympy.symbols("n_1 n_2", positive=True)


def limit() -> Any:
    """Bound of limsup |xbar - x*|^2; sigma is sigma_G^2."""
    return eta**2 * L / mu * sigma * (tau - 1) ** 2


@cache
def near(order: int = 1, server_step: int = 1) -> Finding:
    """Judge limsup |xbar - x*| <= K eta^order, K = sigma_G (tau - 1) (L/mu)^(1/2).

    Examples
    --------
    >>> near().verdict.name, near(2).verdict.name, near(1, 2).verdict.name
    ('PROVED', 'REFUTED', 'REFUTED')
    """
    now, after = sympy.symbols("now after", real=True)
    alpha = sympy.Symbol("alpha", positive=True)
    drift, far, K = sympy.symbols("B V K", nonnegative=True)
    step = [alpha < 1, after <= (1 - alpha) * now + drift]
    gap = (1 - alpha) * (now - drift / alpha)
    within = far <= K * eta**order
    settled = eta * L * (eta**2 * sigma) * (tau - 1) ** 2 / (eta * mu)
    most = sympy.sqrt(L / mu * sigma) * (tau - 1)
    pairs = [("B/alpha", settled, limit()), ("K", limit(), (eta * most) ** 2)]
    return judge.all_of(
        {
            "b = 0": unbiased(),
            "nobody absent": _mean_of_all(server_step),
            "every step": judge.implied(step, after - drift / alpha <= gap, FULL),
            "limsup": judge.identity(pairs, FULL),
            "O(eta)": judge.implied([far**2 <= (K * eta) ** 2], within, FULL),
        },
        scope=FULL,
        argument=__doc__,
    )


def _mean_of_all(server_step: int) -> Finding:
    """Play the end of a round: the model is the mean of all local models."""

    def slope(client: int, _: Any) -> list[Any]:
        return [(X - ENDS[client]) / eta]  # what leads to the last local model

    after = fedavg.play(
        {"model": [X]},
        slope,
        Population(0, COUNTS),
        [0, 1],
        step_size=eta,
        server_step_size=server_step,
    )
    added = sum(n * y for n, y in zip(COUNTS, ENDS, strict=True))
    mean = [("the model", *after["model"], added / sum(COUNTS))]
    return judge.identity(mean, "every N")

"""The first inequalities of (23) and (24): Psi and Phi are at least their first terms.

Each says that what stands before the consensus error is not negative. That depends on
the step size alone, so it holds for all functions, laws and rounds, or for none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_theorem1_steps import L, N, conditions, eta, mu, q, tau
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

EVERY = "every N, tau, law, f_i of their class and eta inside the caps"

# what is subtracted from 1 before the consensus error
SUBTRACTED: dict[str, Any] = {
    "8 eta tau L N": 8 * eta * tau * L * N,
    "8 eta L^2 N/mu": 8 * eta * L**2 * N / mu,
    "4 eta L^2": 4 * eta * L**2,
}


def more_is_added(weight: str, caps: Mapping[str, str]) -> Finding:
    """Judge that E|w - x*|^2, or F(w) - F*, is at most that plus (1 - weight) times B.

    It is judged for every q_min <= 1, which it is in each reading.

    Examples
    --------
    >>> print(more_is_added("4 eta L^2", {"q/L^2": "1/16"}).verdict)
    PROVED
    >>> print(more_is_added("4 eta L^2", {"1/(L N)": "1/16"}).passes())
    False
    """
    first, behind, kept = sympy.symbols("first B kept", nonnegative=True)
    small = [mu <= L, q <= 1, *conditions(caps)]
    return judge.all_of(
        {
            "1 - weight >= 0": judge.implied(small, SUBTRACTED[weight] <= 1, EVERY),
            "a sum": judge.implied([], at_most(first, first + kept * behind), EVERY),
        }
    )

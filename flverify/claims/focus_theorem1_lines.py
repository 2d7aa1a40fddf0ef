"""The lines of which the proofs of Theorem 1 of the FOCUS paper are made.

A line bounds A' = |w' - x*|^2 or F(w') - F*. The lines of a proof and the rule by which
they are put together read the same formulas: for the rule its coefficients are symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from flverify.claims.focus_theorem1_gradients import S2, C

A, B, A_next = sympy.symbols("A B A_next", nonnegative=True)


@dataclass(frozen=True)
class Line:
    """A' <= k A - d D + e C + f |S|^2, or with |g|^2 for D and -f for f."""

    k: Any
    d: Any
    e: Any
    f: Any

    def above(self, drop: Any, sign: int = 1) -> Any:
        """Return what is above A', with D or |g|^2, and with f or -f."""
        return self.k * A - self.d * drop + self.e * C + sign * self.f * S2

    def without_squares(self, m: Any, n: Any) -> Line:
        """Return the line with m D + n C put in for |S|^2."""
        return Line(self.k, self.d - self.f * m, self.e + self.f * n, sympy.Integer(0))


def before_squares(f: Any, c: Any, j: Any) -> Any:
    """Return what stands before |S|^2 in A' + c B'."""
    return f + c * j


def before_rows(e: Any, c: Any, g: Any, more: Any = 0) -> Any:
    """Return what stands before C in A' + c B', with what |S|^2 adds."""
    return e + c * g + more


def unpaid_values(whole: Any, m: Any, d: Any) -> Any:
    """Return what d D leaves of m D, `whole` times: at most 0 if it pays."""
    return whole * m - d


def unpaid_rows(per_c: Any, rho: Any, c: Any, k: Any) -> Any:
    """Return what k c B leaves of per_c rho B: at most 0 if it pays."""
    return per_c * rho - c * k

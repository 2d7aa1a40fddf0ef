"""Lemma 3 of the FOCUS paper, Appendix D.3: what it says, and its proof (80)-(88).

Conventions are those of `proofs/focus_lemma3_descent.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import (
    EVERY,
    L,
    eta,
    gradient_and_gap,
    gradients_of_rows,
    moves_do_not_grow,
    mu,
    n,
    split_in_two,
)
from flverify.claims.focus_server_move import (
    above_the_tangent,
    moved_square,
    square_of_move,
    tangent_gap,
    young,
    young_floor,
)
from flverify.claims.focus_theorem1_round import the_round
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least

U, GAP = sympy.symbols("U gap", nonnegative=True)  # |w - x*|^2, F(w) - F*
# the factors of the facts, of which `_collected` makes (79)
JENSEN, SLOPE, YOUNG, ROWS = ("2", "2"), "2", ("1", "1"), "1"
TANGENT = "1/2"


@dataclass(frozen=True)
class Descent:
    """Lemma 3: E|w' - x*|^2 <= rate |w - x*|^2 - drop (F(w) - F*) + error B.

    It is for eta L max(tau - 1, least_moves) <= cap; B is the consensus error.

    Parameters
    ----------
    cap, contraction, gap, excess, consensus : str
        Rational text: rate is 1 - contraction eta mu N, drop is gap eta N
        (1 - excess eta N L), and error is consensus eta L^2 N/mu.
    least_moves : int

    Examples
    --------
    >>> PRINTED.error(mu, 1), MENDED.caps
    (8*L**2*eta/mu, {'1/(L (tau-1))': '1/3', '1/L': '1/3'})
    >>> PRINTED.rate(mu, 3), PRINTED.drop(3)
    (-3*eta*mu/2 + 1, 6*eta*(-6*L*eta + 1))
    """

    cap: str
    contraction: str
    gap: str
    excess: str
    consensus: str
    least_moves: int

    def rate(self, mu: Any, size: Any) -> Any:
        """Return the factor of |w - x*|^2."""
        return 1 - rational(self.contraction) * eta * mu * size

    def drop(self, size: Any) -> Any:
        """Return what stands before F(w) - F*, without its sign."""
        less = 1 - rational(self.excess) * eta * size * L
        return rational(self.gap) * eta * size * less

    def error(self, mu: Any, size: Any) -> Any:
        """Return the factor of the consensus error."""
        return rational(self.consensus) * eta * L**2 * size / mu

    @property
    def caps(self) -> dict[str, str]:
        """Return what it asks of the step size."""
        always = {"1/L": self.cap} if self.least_moves else {}
        return {"1/(L (tau-1))": self.cap, **always}


PRINTED = Descent("1/3", "1/2", "2", "2", "8", least_moves=0)
MENDED = replace(PRINTED, least_moves=1)


@cache
def proof(c: Descent) -> Finding:
    """Collect the facts of (80)-(88); tau - 1 counts as at least `least_moves`.

    Examples
    --------
    >>> proof(MENDED).verdict, proof(PRINTED).passes()
    (<Verdict.PROVED: 'PROVED'>, False)
    """
    return judge.all_of(
        {
            "the round": the_round(),
            "the square in (80)": square_of_move(),
            "Jensen in (80)": split_in_two(*JENSEN),
            "smoothness in (80)": gradient_and_gap(SLOPE),
            "Assumption 3 in (81)": above_the_tangent(TANGENT),
            "Young in (81)": young(*YOUNG),
            "(83), line 1": gradients_of_rows(ROWS),
            "the local moves": moves_do_not_grow(),
            **_under_cap(c),
            "collected": _collected(c),
        }
    )


def _under_cap(c: Descent) -> dict[str, Finding]:
    """Use the cap, with n = max(tau - 1, least_moves): steps, eta mu, and the rows.

    A row that takes part ends within eta |sum y_k| of w, where n values of |y_k|^2 are
    at most L^2 |w - z_i|^2 each; any other row stays where it was.
    """
    total, pulled = sympy.symbols("total pulled", nonnegative=True)
    held = [eta * L * n <= rational(c.cap), at_least(n, c.least_moves)]
    moved = [total <= n * L**2 * pulled]
    return {
        "eta L <= 2": judge.implied([*held, n >= 1], eta * L <= 2, EVERY),
        "eta mu": judge.implied([*held, mu <= L], eta * mu <= rational(c.cap), EVERY),
        "a row": judge.implied(held + moved, eta**2 * n * total <= pulled, EVERY),
    }


def _collected(c: Descent) -> Finding:
    """Right side less left side of (79) from the slacks of the facts.

    No row ends farther from w than it was, so that E|D|^2 is at most L^2 N times the
    consensus error.
    """
    slack = sympy.symbols("e1:6", nonnegative=True)
    extra, slower, rest = sympy.symbols("m j B", nonnegative=True)
    clients, cap = 1 + extra, rational(c.cap)
    modulus = cap / (eta * (1 + slower))  # eta mu <= cap
    noise = rational(ROWS) * L**2 * clients * rest - slack[0]
    inner = tangent_gap(TANGENT, GAP, modulus, U) + slack[1]
    cross = slack[2] + young_floor(YOUNG, modulus / 2, U, noise)
    slope = rational(SLOPE) * L * GAP - slack[3]
    first, second = map(rational, JENSEN)
    square = first * noise + second * clients**2 * slope - slack[4]
    left = moved_square(U, clients * inner + cross, square)
    right = c.rate(modulus, clients) * U - c.drop(clients) * GAP
    right += c.error(modulus, clients) * rest
    return judge.nonnegative([("right - left", right - left)], EVERY)

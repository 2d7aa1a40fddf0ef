"""Lemma 4 of the FOCUS paper, Appendix D.4: the proof of (90)-(96) for any constants.

Conventions are those of `proofs/focus_lemma4_consensus.py`. (90)-(93) are put together
with the factor N that (92) loses.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import (
    L,
    N,
    T,
    V,
    eta,
    gradients_of_rows,
    n,
    split_by_share,
    split_in_two,
    summed_84,
)
from flverify.claims.focus_lemma4 import Bound
from flverify.claims.focus_theorem1_round import the_round
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import both

EIGHTH = sympy.Rational(1, 8)
NUMBERS = "every N, tau, L, eta and q_min in (0, 1]"
q = sympy.Symbol("q", positive=True)

PUSH, MOVE = sympy.symbols("push move", nonnegative=True)
MEANT = {PUSH: (eta * L * N) ** 2, MOVE: (eta * L * n) ** 2}
B, OLD, G = sympy.symbols("B B_old G", nonnegative=True)  # B_r, B_{r-1}, |grad F|^2

# what one link gives to another: the factors of (86), of |a + b|^2 and of (92), those
# that the chosen rho leaves, and what (94) has before B_{r-1}, B_r and |grad F|^2
FOUR, HALVES, ROWS = 4, (2, 2), 1
LEFT, TWICE = 1 - q / 2, 2 / q
GAINED, RETURNED, SLOPE = 2 * FOUR * MOVE, 4 * PUSH / q, 4 * eta**2 * N**3 / q


def proof(bound: Bound) -> Finding:
    """Judge (90)-(96) with the constants of a bound, for any q with q <= p_i.

    Examples
    --------
    >>> from flverify.claims.focus_lemma4 import MENDED, PRINTED
    >>> proof(MENDED).verdict, proof(PRINTED).passes()
    (<Verdict.PROVED: 'PROVED'>, False)
    """
    caps = tuple(bound.caps.items())
    return _proof_of(caps, bound.contraction, bound.gradient, bound.power)


@cache
def _proof_of(
    caps: tuple[tuple[str, str], ...], contraction: str, gradient: str, power: int
) -> Finding:
    """(90)-(96) with the factor N, for any q with q <= p_i; round r-1 on both sides.

    A row moves either by the server alone, if its client is absent, or also by its own
    moves: 1/rho stands before the first kind, and 2 before the moves of the second.
    """
    held, kept = _capped(dict(caps)), 1 - RETURNED
    shrunk = (1 - rational(contraction) * q) * kept >= LEFT + GAINED
    slope = SLOPE * q / (eta**2 * N**power) <= rational(gradient) * kept
    return judge.all_of(
        {
            "the round": the_round(),
            "absent": split_by_share(),
            "present": split_in_two(*HALVES),
            "(92)": gradients_of_rows(ROWS),
            "(86)": summed_84(sympy.Le(T, FOUR * n * V), eta * L * n <= EIGHTH),
            "its cap": judge.implied(held, sympy.Le(MOVE, EIGHTH**2), NUMBERS),
            "rho": _rho(),
            "(94)": _put_in(),
            "0 < kept": judge.implied(held, kept > 0, NUMBERS),
            "B_{r-1}": judge.implied(held, shrunk, NUMBERS),
            "|grad F|^2": judge.implied(held, slope, NUMBERS),
            "together": _together(),
        }
    )


@cache
def _put_in() -> Finding:
    """Judge 2 |eta sum y_k|^2 <= GAINED |pulled|^2, and TWICE N |eta ybar|^2 likewise.

    Right sides less left sides, from the slacks of (86) and Jensen, and of (92).
    """
    pulled, one, two = sympy.symbols("pulled e1 e2", nonnegative=True)
    moves = eta**2 * n * (FOUR * n * L**2 * pulled - one) - two
    tracker = HALVES[0] * (ROWS * L**2 * N * B - one) + HALVES[1] * N**2 * G - two
    server = RETURNED.subs(MEANT) * B + SLOPE * G
    rows = {
        "moves": GAINED.subs(MEANT) * pulled - HALVES[1] * moves,
        "ybar": server - TWICE * N * eta**2 * tracker,
    }
    pairs = [(name, sympy.expand(value)) for name, value in rows.items()]
    return judge.nonnegative(pairs, NUMBERS)


@cache
def _together() -> Finding:
    """Judge (89) from kept B_r <= (LEFT + GAINED) B_{r-1} + SLOPE |grad F|^2."""
    kept, gained, rate, slope, push = sympy.symbols("k g r s p", nonnegative=True)
    line_94 = kept * B <= gained * OLD + slope * G
    held = [line_94, kept > 0, rate * kept >= gained, slope <= push * kept]
    return judge.implied(held, rate * OLD + push * G >= B, "all coefficients")


def _capped(caps: dict[str, str]) -> list[Any]:
    """Write the caps as relations between PUSH, MOVE, N and q."""
    squares = {
        "q^(3/2)/(L sqrt N)": PUSH / N,
        "q^(3/2)/(L N)": PUSH,
        "q^(3/2)/(L (tau-1))": MOVE,
    }
    out = [squares[k] <= rational(f) ** 2 * q**3 for k, f in caps.items()]
    return [*out, N >= 1, q <= 1]


@cache
def _rho() -> Finding:
    """Choose rho = (1 - q)/(1 - q/2) for a client that is absent with chance 1 - p.

    (1 - p)/rho <= 1 - q/2 and 1/(1 - rho) <= 2/q, where 2 <= 2/q is for one that is
    present. For q = 1 nobody is absent.
    """
    rho, p = sympy.symbols("rho p", positive=True)
    held = [sympy.Eq(rho * (1 - q / 2), 1 - q), q < 1, q <= p, p <= 1]
    goals = {
        "rho < 1": rho < 1,
        "(1 - p)/rho": 1 - p <= LEFT * rho,
        "1/(1 - rho)": TWICE * (1 - rho) >= 1,
        "2": HALVES[0] <= TWICE,
    }
    scope = "0 < q < 1, q <= p_i <= 1"
    chosen = {k: judge.implied(held, g, scope) for k, g in goals.items()}
    everybody = [sympy.Eq(q, 1), q <= p]
    always = judge.implied(everybody, both(1 - p <= 0, HALVES[0] <= TWICE), "q = 1")
    return judge.all_of({**chosen, "q = 1": always})

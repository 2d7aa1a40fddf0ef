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
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

EIGHTH = sympy.Rational(1, 8)
NUMBERS = "every N, tau, L, eta and q_min in (0, 1]"
q = sympy.Symbol("q", positive=True)

PUSH, MOVE = sympy.symbols("push move", nonnegative=True)  # squares of eta L N and
# eta L (tau - 1)


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
    held = _capped(dict(caps))
    kept = 1 - 4 * PUSH / q
    shrunk = (1 - rational(contraction) * q) * kept >= 1 - q / 2 + 8 * MOVE
    slope = 4 * N ** (3 - power) <= rational(gradient) * kept
    return judge.all_of(
        {
            "absent": split_by_share(),
            "present": split_in_two(),
            "(92)": gradients_of_rows("1"),
            "(86)": summed_84(sympy.Le(T, 4 * n * V), eta * L * n <= EIGHTH),
            "its cap": judge.implied(held, sympy.Le(MOVE, EIGHTH**2), NUMBERS),
            "rho": _rho(),
            "B_{r-1}": judge.implied(held, shrunk, NUMBERS),
            "|grad F|^2": judge.implied(held, slope, NUMBERS),
        }
    )


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
        "(1 - p)/rho": 1 - p <= (1 - q / 2) * rho,
        "1/(1 - rho)": q <= 2 * (1 - rho),
    }
    scope = "0 < q < 1, q <= p_i <= 1"
    chosen = {k: judge.implied(held, g, scope) for k, g in goals.items()}
    always = judge.implied([sympy.Eq(q, 1), q <= p], 1 - p <= 0, "q = 1")
    return judge.all_of({**chosen, "q = 1": always})

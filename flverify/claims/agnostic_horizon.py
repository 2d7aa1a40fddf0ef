"""What Theorem 4 of the agnostic paper says of the mean of T models, as T grows."""

from __future__ import annotations

from functools import cache

import sympy

from flverify.claims import agnostic_rounds as rounds
from flverify.claims import judge
from flverify.claims.agnostic_terms import RATE, ROOM, coefficients
from flverify.claims.verdict import Finding


@cache
def at_the_horizon() -> dict[str, Finding]:
    """Judge that the right side of (9) vanishes, and what the start leaves in the mean.

    The step size is c/sqrt(TH). On quadratics a round multiplies the mean, less its
    limit, by 1 - loss, which is of order eta: so the average over T rounds is at most
    |start|/(T loss) away from that limit.
    """
    T, H, c, D, loss = sympy.symbols("T H c D loss", positive=True)
    start, left = sympy.symbols("start left", nonnegative=True)  # left: (1 - loss)^T
    step = c / sympy.sqrt(T * H)
    room = rounds.round_room(coefficients(RATE), rounds.STEPS) / rounds.ETA
    bound = D**2 / (2 * rounds.ETA * rounds.STEPS * T) + room
    ends = {
        "right side of (9)": bound.subs(rounds.ETA, step),
        "1/(T loss)": 1 / (T * step * loss),
    }
    pairs = [(k, sympy.limit(v, T, sympy.oo), 0) for k, v in ends.items()]
    total = start * (1 - loss) * (1 - left) / loss <= start / loss
    return {
        "(9)": rounds.rate(coefficients(ROOM), coefficients(RATE)),
        "T to infinity": judge.identity(pairs, rounds.EVERY),
        "sum of T rounds": judge.implied([loss <= 1, left <= 1], total, "every T"),
    }

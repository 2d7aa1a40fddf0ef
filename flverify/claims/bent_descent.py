"""One client whose gradient bends, for the gradient of a single round in (25) of FOCUS.

f' is a broken line: -d up to 0, down to -1 - d at 1, and up again with slope 1, so that
f is 1-smooth and least at 2 + d. From 0 on the gradient grows like (1 + eta)^r. When it
is longest, at 1, half of the fall of f is still to come, and only log(1/d)/eta rounds
have passed: the last gradient is longer than a bound for the mean allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from flverify.claims import judge
from flverify.claims.focus_caps import inside
from flverify.claims.focus_moments import Clients
from flverify.participation.uniform_cohort import UniformCohort
from flverify.reference import focus

DEPTH, STEP, ROUNDS = Fraction(1, 10**4), Fraction(1, 23), 215
# points of f', which goes on in a line before the first and after the last
BREAKS = (
    (Fraction(-1), -DEPTH),
    (Fraction(0), -DEPTH),
    (Fraction(1), -1 - DEPTH),
    (2 + DEPTH, Fraction(0)),
)


def smoothness() -> Fraction:
    """Return the least L of f, weight f/x^2: the steepest piece of f'."""
    return max(abs((v - u) / (b - a)) for (a, u), (b, v) in pairwise(BREAKS))


def descents(
    caps: Mapping[str, str], factor: Fraction, *, last: bool
) -> Iterator[judge.Case]:
    """Yield both sides of (25) for tau = 2 and 1, where the step is inside the caps.

    Parameters
    ----------
    caps : mapping
        Factor of each monomial of `focus_caps`.
    factor : rational
        What stands before (F(xbar_1) - F*)/(eta N R) in the bound.
    last : bool
        Whether the left side is |F'(w_R)|^2, not the mean over r < R.

    Examples
    --------
    >>> case = next(descents({"1/(L N)": "1/4"}, Fraction(8), last=True))
    >>> f"{float(case.left):.4f} {float(case.right):.4f}", case.recheck() == (
    ...     case.left, case.right)
    ('0.9149 0.8560', True)
    """
    fall = 1 + 2 * DEPTH + DEPTH**2 / 2  # d + 1/2 up to 1, then (1 + d)^2/2
    right = factor * fall / (STEP * ROUNDS)
    for tau in (2, 1):  # at 1 a cap of (25) is void or undefined
        one = Clients((smoothness(),), UniformCohort(1, 1), tau)  # same L, N and q_i
        if inside(caps, one, one.averaging, STEP):
            left = _squared(_slopes(tau), last)
            again = partial(_again, tau, factor, last)
            yield judge.Case(_where(one), left, right, again)


def _where(one: Clients) -> dict[str, Any]:
    return {
        "f'": "-d up to 0, -d - x up to 1, then x - 2 - d",
        "d": DEPTH,
        "L": int(one.smoothness),
        "N": one.total,
        "law": one.law.spec,
        "tau": one.local_steps,
        "q_min": one.averaging,
        "step size": STEP,
        "xbar_1": 0,
        "rows of x_0": "all 0",
        "R": ROUNDS,
    }


def _squared(slopes: list[Fraction], last: bool) -> Fraction:
    if last:
        return slopes[-1] ** 2
    return sum((v * v for v in slopes[:-1]), Fraction(0)) / ROUNDS


def _slopes(tau: int) -> list[Fraction]:
    """Return F'(w_r), r = 0, ..., R, by the recursion on [0, 1], which no point leaves.

    There f' = -(x + d): local steps take the stored gradient away from that at the
    server's model by a factor of 1 + eta each.
    """
    server = stored = -DEPTH
    out = [server]
    for _ in range(ROUNDS):
        stored += (1 + STEP) ** (tau - 1) * (server - stored)
        server += STEP * stored
        out.append(server)
    return out


def _again(tau: int, factor: Fraction, last: bool) -> tuple[Any, Any]:
    """Both sides by the plain loop on the broken line, and by the area under it."""
    models = focus.run(
        lambda _, point: [_line(point[0])],
        1,
        [Fraction(0)],
        [{0}] * ROUNDS,
        step_size=STEP,
        local_steps=tau,
        initial_gradients="start",
        initial_tracker="sum",
    )
    areas = ((b - a) * (u + v) / 2 for (a, u), (b, v) in pairwise(BREAKS[1:]))
    bound = -factor * sum(areas, Fraction(0)) / (STEP * ROUNDS)
    return _squared([_line(model[0]) for model in models], last), bound


def _line(x: Fraction) -> Fraction:
    """Return f' by the piece on which x lies."""
    pieces = [*pairwise(BREAKS)]
    (a, u), (b, v) = next((p for p in pieces if x <= p[1][0]), pieces[-1])
    return u + (v - u) * (x - a) / (b - a)

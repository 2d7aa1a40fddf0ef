"""Algorithm 1 of the FOCUS paper in a round of any N and tau, its state open.

After t = 1, ..., tau local steps a participant is told by two symbols: the point p of
its last evaluation, which is x_{t-1}, and v = y_t. Then x_t = p - eta v, and the
gradient at p is remembered. Eight clients, two of each kind, stand for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

import sympy

from flverify.claims import judge
from flverify.claims.any_cohort import OF_TWO, THIS
from flverify.claims.focus_box import AS_READ, Box, Variant
from flverify.claims.focus_runs import ETA
from flverify.claims.scalar_runs import tidied
from flverify.claims.verdict import Finding

EVERY = (
    "every N, tau, cohort, differentiable f_i, step size, start and number of rounds"
)
Local: TypeAlias = tuple[Sequence[Any], Sequence[Any]]  # p and v of every client

X, Y = sympy.symbols("X Y")
STORED, POINTS = sympy.symbols("s1:9"), sympy.symbols("z1:9")
ANY = Box(X, Y, STORED, POINTS)
INSIDE: Local = (sympy.symbols("p1:9"), sympy.symbols("v1:9"))


def _formal(i: int) -> Any:
    """Name a function; at a rational point it is 3 x^2 - i, no client like another's.

    So an identity is shown for the name alone, and where it fails it can be evaluated.
    """

    def evaluate(_: object, point: Any) -> Any:
        return 3 * point**2 - i if point.is_Rational else None

    return type(f"g{i}", (sympy.Function,), {"eval": classmethod(evaluate)})


_NAMES = tuple(_formal(i) for i in OF_TWO)


def gradient(client: int, point: Any) -> Any:
    """Name grad f_i at a point; clients count from 1."""
    return _NAMES[client - 1](sympy.expand(point))


def gradients(points: Sequence[Any]) -> list[Any]:
    """Name the gradients of all clients at their points."""
    return [gradient(i, point) for i, point in zip(OF_TWO, points, strict=True)]


def begun(box: Box = ANY) -> Local:
    """Return p and v after the first local step, from y_0 = 0 and what is stored."""
    points = [box.x] * len(OF_TWO)
    at = zip(gradients(points), box.stored, strict=True)
    return points, [fresh - s for fresh, s in at]


def gone_on(local: Local = INSIDE) -> Local:
    """Return p and v after one local step more."""
    old, pushed = local
    points = [p - ETA * v for p, v in zip(old, pushed, strict=True)]
    at = zip(pushed, gradients(points), gradients(old), strict=True)
    return points, [v + fresh - last for v, fresh, last in at]


def finished(local: Local, box: Box = ANY, factor: int = 1) -> Box:
    """Return the state after lines 12 and 13, of `factor` times each message.

    Clients who are not of `THIS` keep what they have.
    """
    points, pushed = local
    sent = sum(v for i, v in zip(OF_TWO, pushed, strict=True) if i in THIS)
    tracker = box.y + factor * sent
    ends = [*zip(OF_TWO, points, box.points, box.stored, strict=True)]
    return Box(
        tidied(box.x - ETA * tracker),
        tidied(tracker),
        tuple(gradient(i, p) if i in THIS else s for i, p, _, s in ends),
        tuple(p if i in THIS else z for i, p, z, _ in ends),
    )


@cache
def lines(variant: Variant = AS_READ) -> Finding:
    """Judge that lines 6-10 make p and v, and remember grad f_i(p), for every tau.

    Examples
    --------
    >>> lines().verdict.name, lines(Variant("k")).verdict.name
    ('PROVED', 'REFUTED')
    """
    return judge.identity(_lines(variant), EVERY)


def _lines(variant: Variant) -> Iterator[judge.Pair]:
    """Make one local step of a client from where a round begins, and from inside."""
    p, v = INSIDE[0][0], INSIDE[1][0]
    starts = {
        "the first step": (X, POINTS[0], sympy.Integer(0), STORED[0], begun()),
        "one more": (p - ETA * v, p, v, gradient(1, p), gone_on()),
    }
    for name, (x, before, y, memory, (points, pushed)) in starts.items():
        after, moved, stored = _local_step(variant, x, before, y, memory)
        yield f"{name}: y", moved, pushed[0]
        yield f"{name}: point of evaluation", x, points[0]
        yield f"{name}: next x", tidied(after), tidied(points[0] - ETA * pushed[0])
        yield f"{name}: stored if it is the last", stored, gradient(1, points[0])


def _local_step(
    variant: Variant, x: Any, before: Any, y: Any, memory: Any
) -> tuple[Any, Any, Any]:
    """Lines 8 and 9 of a client: x_{t+1}, y_{t+1}, and what it stores if t + 1 = tau.

    What it remembers for the next step is the gradient at x_t.
    """
    fresh = gradient(1, x)
    moved = y + fresh - memory
    after = (x if variant.line_9 == "t" else before) - ETA * moved
    last = variant.stored_at == "tau - 1"
    return after, moved, fresh if last else gradient(1, after)


def first_stored(stored: str) -> list[Any]:
    """Return what line 2 stores, a reading of `focus_box.started`, y_0 being 0."""
    given = {
        "zero": [0] * len(OF_TWO),
        "start": gradients([X] * len(OF_TWO)),
        "any": [*STORED],
    }
    return given[stored]


@cache
def telescoped(variant: Variant = AS_READ, factor: int = 1) -> Finding:
    """Judge that `factor` times y_tau is the gradient stored last less that before it.

    Whatever line 9 makes of x; and that y_1 is grad f_i(x_r) less what is stored.

    Examples
    --------
    >>> telescoped().verdict.name, telescoped(factor=2).verdict.name
    ('PROVED', 'REFUTED')
    """
    x, before, memory = sympy.symbols("x before memory")
    s, nothing = STORED[0], sympy.Integer(0)
    _, first, stored = _local_step(variant, X, before, nothing, s)
    _, more, at_last = _local_step(variant, x, before, memory - s, memory)
    pairs = [
        ("y_1", first, gradient(1, X) - s),
        ("the first step", factor * first, stored - s),
        ("one more, from y_t = memory - stored", factor * more, at_last - s),
    ]
    return judge.identity(pairs, EVERY)


# p and v at the end of a round, v being what `telescoped` says
_HELD: Local = (
    INSIDE[0],
    [g - s for g, s in zip(gradients(INSIDE[0]), STORED, strict=True)],
)


@cache
def kept_sum(factor: int = 1, variant: Variant = AS_READ) -> Finding:
    """Judge that a round keeps y_r less `factor` times the sum of stored gradients.

    Examples
    --------
    >>> kept_sum().verdict.name, kept_sum(2).verdict.name
    ('PROVED', 'REFUTED')
    """
    after = finished(_HELD)
    gap = tidied(after.y - factor * sum(after.stored))
    more = ("y_r - sum of g_i", gap, Y - factor * sum(STORED))
    return judge.all_of(
        {
            "y_tau": telescoped(variant),
            "a round": judge.identity([more], EVERY),
        },
        scope=EVERY,
        argument="a participant's y_tau is the gradient that it stores now less the "
        "one before it; so the server collects what changes",
    )


@cache
def sum_at_rows(factor: int, *, late: bool) -> Finding:
    """Judge y_{r+1} against `factor` times the sum of gradients at the last points.

    `late`: whoever is absent has joined before, so that its gradient there is stored.

    Examples
    --------
    >>> sum_at_rows(1, late=True).verdict.name, sum_at_rows(1, late=False).verdict.name
    ('PROVED', 'REFUTED')
    """
    joined = [*zip(OF_TWO, STORED, gradients(POINTS), strict=True)]
    stored = tuple(g if late and i not in THIS else s for i, s, g in joined)
    box = Box(X, sum(stored), stored, POINTS)
    after = finished(_HELD, box)
    total = tidied(factor * sum(gradients(after.points)))
    return judge.all_of(
        {
            "lines 6-10": lines(),
            "y_r stays the sum of g_i": kept_sum(),
            "rows": judge.identity([("y_{r+1}", tidied(after.y), total)], EVERY),
        },
        scope=EVERY,
        argument="what a participant stores is the gradient at its last point, and who "
        "is absent keeps both",
    )

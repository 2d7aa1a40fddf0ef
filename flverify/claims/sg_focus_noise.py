"""The noise of SG-FOCUS with independent samples, as the proofs of Appendix E use it.

Samples are independent of one another and of the cohorts; so they may be thought drawn
in any order in which each comes after the point where it is used. Given all that was
drawn before, the noise of a gradient has mean 0 and a variance of at most sigma^2: so
(122) is read, and no more is used. `mean` integrates noises out by this rule, the one
drawn last first. The cohort of a round is drawn before its samples, independently of
all earlier rounds, and by the same law. Stored gradients are exact at first, and the
tracker is their sum.

One coordinate is enough, for squares and inner products add up over coordinates. What
is to hold for every N, or in every round, is judged as a first case and a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from typing import Any

import sympy

from flverify._core.errors import InputError
from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY, eta
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import put_in
from flverify.reference import focus

INDUCTION = (
    "Rounds are listed for few clients and moves. The loop of a client reads w_r, its "
    "stored gradient and its own gradients, each taken at a point that earlier ones "
    "made; a move more, and a client more, add what is judged beside the list."
)
FORMAL = "N, tau = 1..3, every cohort, every value of every stochastic gradient"
S2, Q, C = sympy.symbols("sigma2 Q C", nonnegative=True)
k = sympy.Symbol("k", nonnegative=True)  # noises that are added already
known, before, old = sympy.symbols("known before old", real=True)
m, m_other, old_other = sympy.symbols("m m_other old_other", real=True)
VARIANCES = {v: sympy.Symbol(f"var_{v}", nonnegative=True) for v in (m, m_other)}


def mean(value: Any, *drawn: sympy.Symbol) -> Any:
    """Integrate noises out, the one drawn last first, given what was drawn before.

    Every other symbol is known before the first of them is drawn. A noise has mean 0
    and the variance `VARIANCES` names.

    Examples
    --------
    >>> mean((known + m) ** 2, m)
    known**2 + var_m
    >>> mean(m * m_other, m_other, m)
    0
    """
    for noise in drawn:
        parts = sympy.Poly(sympy.expand(value), noise).all_coeffs()[::-1]
        if len(parts) > 3:
            raise InputError(
                f"a noise must have degree 2 at most; got {len(parts) - 1} of {noise}; "
                "(122) says nothing of higher moments."
            )
        value = parts[0] + (parts[2] * VARIANCES[noise] if len(parts) == 3 else 0)
    return value


# The last gradients of a round ---------------------------------------------------


@cache
def last_gradients_come_last() -> Finding:
    """Where the last gradients of a round are taken depends on none of them.

    So w_r, the points x_{(r+1) tau} and the noises of the absent clients are known
    before the last noise of any participant is drawn; and w_{r+1} is w_r less eta
    times the sum of all stored gradients after the round. Rounds are listed for few
    clients and moves. The loop of a client reads w_r, its stored gradient and its own
    gradients, each taken at a point that earlier ones made; so more clients and moves
    change nothing in what a point depends on. One move more adds the difference of the
    last two gradients to the direction of a client, which so remains the last one less
    the stored one; one client more adds its direction to the tracker, which so remains
    the sum.
    """
    return _listed_and_more(_last_gradients())


@cache
def the_server_moves(collected: Any = 1) -> Finding:
    """w_{r+1} - w_r = -collected eta times the sum of all gradients stored after it.

    This is from any state whose tracker is the sum of the stored gradients.
    """
    return _listed_and_more(server_moves(collected))


def _listed_and_more(pairs: Iterator[judge.Pair]) -> Finding:
    fresh, last, stored, total = sympy.symbols("fresh last stored total", real=True)
    more = [
        ("one move more", (last - stored) + (fresh - last), fresh - stored),
        ("one client more", total + (fresh - stored), (total - stored) + fresh),
    ]
    return judge.all_of(
        {
            "listed": judge.identity(pairs, FORMAL),
            "more": judge.identity(more, EVERY),
        },
        scope=EVERY,
        argument=INDUCTION,
    )


def _last_gradients() -> Iterator[judge.Pair]:
    for label, end, points, latest in _rounds():
        for i, point in points.items():
            without = point.subs(dict.fromkeys(latest, 0))
            yield f"{label}: client {i}", point, without
        yield f"{label}: stored", [g for (g,) in end["stored"]], latest
    yield from server_moves(1)


def server_moves(collected: Any) -> Iterator[judge.Pair]:
    """w_{r+1} - w_r = -collected eta times the sum of the latest gradients."""
    for label, end, _, latest in _rounds():
        moved = sympy.expand(end["model"][0] - sympy.Symbol("w"))
        yield label, moved, sympy.expand(-collected * eta * sum(latest))


def subsets(size: int) -> list[set[int]]:
    """List all cohorts of so many clients.

    Examples
    --------
    >>> subsets(2)
    [set(), {0}, {1}, {0, 1}]
    """
    sizes = range(size + 1)
    return [set(c) for many in sizes for c in combinations(range(size), many)]


def _rounds() -> Iterator[tuple[str, Any, dict[int, Any], list[Any]]]:
    """Play rounds from any tracked state, with a new symbol at every call.

    Yields the state after, the participants' last points and everybody's last gradient.
    """
    for size, tau in product((1, 2, 3), (1, 2, 3)):
        for cohort in subsets(size):
            points: dict[int, Any] = {}
            fresh: dict[int, Any] = {}
            stored = [[sympy.Symbol(f"g_{i}(stored)")] for i in range(size)]
            end = _play(stored, cohort, tau, points, fresh)
            latest = [fresh.get(i, g) for i, (g,) in enumerate(stored)]
            label = f"N = {size}, tau = {tau}, S = {sorted(cohort)}"
            yield label, end, points, latest


def _play(
    stored: list[Any],
    cohort: set[int],
    tau: int,
    points: dict[int, Any],
    fresh: dict[int, Any],
) -> Any:
    """Play a round on symbols; keep every client's last point and last gradient."""
    calls = 0

    def gradient(i: int, x: list[Any]) -> list[Any]:
        nonlocal calls
        calls += 1
        points[i], fresh[i] = sympy.expand(x[0]), sympy.Symbol(f"g_{i}(call {calls})")
        return [fresh[i]]

    state = {
        "model": [sympy.Symbol("w")],
        "tracker": [sum(g for (g,) in stored)],
        "stored": [list(g) for g in stored],
    }
    return focus.play(
        state, gradient, len(stored), cohort, step_size=eta, local_steps=tau
    )


def _presence(laws: str) -> Any:
    """Chance that a client takes part: 1, or any for laws that are any."""
    return 1 if laws == "full" else sympy.Symbol("p", positive=True)


def inner_product(laws: str, stored: Any = 1) -> Finding:
    """E<u, S + n_1 + ... + n_N> = E<u, S>, for u and S known before the last draws.

    One client more adds a new noise if it takes part, and its old one if not.
    """
    p = _presence(laws)
    noisy = p * mean(known * (before + stored * m), m)
    noisy += (1 - p) * known * (before + stored * old)
    return judge.all_of(
        {
            "drawn last": last_gradients_come_last(),
            "one client more": judge.identity(
                [("coordinate", sympy.expand(noisy), known * before)], EVERY
            ),
        }
    )


def added_squares(laws: str, step: Any = 1) -> Finding:
    """E|v - step (n_1 + ... + n_N)|^2 <= E|v|^2 + N step^2 sigma^2, v known before.

    By a step from k noises to k + 1; `before` is v less the first k, Q its square.
    """
    p = _presence(laws)
    square = (
        p * mean((before - step * m) ** 2, m) + (1 - p) * (before - step * old) ** 2
    )
    more = before**2 + step**2 * VARIANCES[m]
    held = [C + k * step**2 * S2 >= Q, VARIANCES[m] <= S2]
    return judge.all_of(
        {
            "drawn last": last_gradients_come_last(),
            "one noise more": judge.identity(
                [("coordinate", sympy.expand(square), sympy.expand(more))], EVERY
            ),
            "from k to k + 1": judge.implied(
                held,
                Q + step**2 * VARIANCES[m] <= C + (k + 1) * step**2 * S2,
                EVERY,
            ),
        }
    )


# Stored noises -------------------------------------------------------------------


def cases() -> dict[tuple[int, int], Any]:
    """Chances that both, one or none of two clients take part, of any law."""
    names = {(1, 1): "both", (1, 0): "first", (0, 1): "second", (0, 0): "none"}
    return {c: sympy.Symbol(f"P_{v}", nonnegative=True) for c, v in names.items()}


@cache
def stored_variance(factor: Any = 1) -> Finding:
    """E|n_i|^2 <= factor sigma^2 in every round: it starts at 0, and a round keeps it.

    A round takes a new noise with chance p_i, and keeps the old one else.
    """
    p = sympy.Symbol("p", nonnegative=True)
    new = VARIANCES[m]
    bound = sympy.Le(Q, rational(factor) * S2)
    held = [p <= 1, new <= S2, bound]
    after = put_in(bound, {Q: p * new + (1 - p) * Q})
    one = (p * mean(m**2, m) + (1 - p) * old**2, p * new + (1 - p) * old**2)
    return judge.all_of(
        {
            "start": judge.implied([], put_in(bound, {Q: 0}), EVERY),
            "a round": judge.identity([("coordinate", *one)], EVERY),
            "kept": judge.implied(held, after, EVERY),
        }
    )


@cache
def stored_apart() -> Finding:
    """E<n_i, n_j> = 0 for i != j in every round: a round multiplies it by P_none."""
    new = {1: (m, m_other), 0: (old, old_other)}
    total = sum(
        chance * mean(new[one][0] * new[other][1], m_other, m)
        for (one, other), chance in cases().items()
    )
    pair = ("a round", sympy.expand(total), cases()[0, 0] * old * old_other)
    return judge.identity([pair], "every law of two of N clients, all past noises")


@cache
def weighted_sum() -> Finding:
    """E|sum a_i n_i|^2 <= sum a_i^2 var_i if E<n_i, n_j> = 0: one noise more.

    The inner product of a_k n_k with the sum so far is a sum of zeros.
    """
    a = sympy.Symbol("a", real=True)
    square = ((before + a * old) ** 2, before**2 + 2 * a * before * old + a**2 * old**2)
    inner = sympy.Symbol("inner", real=True)
    var = sympy.Symbol("var", nonnegative=True)
    held = [Q <= C, sympy.Eq(inner, 0)]
    return judge.all_of(
        {
            "expanded": judge.identity([("coordinate", *square)], EVERY),
            "one more": judge.implied(
                held, Q + 2 * a * inner + a**2 * var <= C + a**2 * var, EVERY
            ),
        }
    )


@cache
def sum_of_stored(factor: Any = 1) -> Finding:
    """E|n_1 + ... + n_N|^2 <= factor N sigma^2 in every round, for every law."""
    return judge.all_of(
        {
            "variance": stored_variance(factor),
            "apart": stored_apart(),
            "sum": weighted_sum(),
        }
    )

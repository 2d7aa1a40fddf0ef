"""The local moves of SG-FOCUS, bounded with and without independent samples.

In a round of client i, with w = w_r, z = x_{r tau,i} and n = tau - 1,

    y_k = (grad f(x_{k-1}) - grad f(w)) + (grad f(w) - grad f(z)) + e_k - e,

x_{k-1} - w = -eta (y_1 + ... + y_{k-1}), e_k the noise of move k and e the stored one.
V = L^2 E|w - z|^2, T = E(|y_1|^2 + ... + |y_n|^2), M the largest E|y_1 + ... + y_t|^2,
t <= n. At tau = 1 nobody moves: T = M = 0, and there is nothing to bound; so n >= 1 in
what follows. `moves_bounded` is (127): it asks for E|e_k|^2 <= sigma^2 alone. With
independent samples the noises of a round, and the stored one, are uncorrelated; this is
`path_bounded`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import (
    EVERY,
    L,
    N,
    eta,
    gradients_of_rows,
    n,
    split_in_two,
    sum_of_vectors,
)
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_noise import (
    INDUCTION,
    S2,
    VARIANCES,
    before,
    m,
    mean,
    stored_variance,
)
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most
from flverify.reference import focus

FORMAL = "N = 1, 2, tau = 1..4, every value of every stochastic gradient"
MOVES = "every tau >= 2, dimension, law and L-smooth f_i"
a, b, c_, d = sympy.symbols("a b c d", real=True)
V, T, M, h2 = sympy.symbols("V T M h2", nonnegative=True)  # h2 = (eta L n)^2

# At h2 <= 1/128, as the step sizes of Lemma 6 and Theorem 5 allow
FAR, LOUD = sympy.Rational(64, 15), sympy.Rational(256, 75)


@cache
def unrolled(sign: Any = 1) -> Finding:
    """x_{k-1} = w - sign eta (y_1 + ... + y_{k-1}), y_k a gradient less the stored one.

    Rounds are listed for few clients and moves. One move more adds the difference of
    the last two gradients to the direction, and takes a step along it.
    """
    w, y, total = sympy.symbols("w y total")
    last, stored, fresh = sympy.symbols("last stored fresh")
    more = [
        ("the direction", (last - stored) + (fresh - last), fresh - stored),
        ("the point", (w - eta * total) - eta * y, w - eta * (total + y)),
    ]
    return judge.all_of(
        {
            "listed": judge.identity(points_of_moves(sign), FORMAL),
            "one move more": judge.identity(more, EVERY),
        },
        scope=EVERY,
        argument=INDUCTION,
    )


def points_of_moves(sign: int) -> Iterator[judge.Pair]:
    """Compare every point of a gradient with w - sign eta (y_1 + y_2 + ...)."""
    for size, tau in product((1, 2), (1, 2, 3, 4)):
        points: dict[int, list[Any]] = {i: [] for i in range(size)}
        values: dict[int, list[Any]] = {i: [] for i in range(size)}

        def gradient(
            i: int,
            x: Any,
            points: dict[int, list[Any]] = points,
            values: dict[int, list[Any]] = values,
        ) -> list[Any]:
            points[i].append(x[0])
            values[i].append(sympy.Symbol(f"g_{i}(call {len(points[i])})"))
            return [values[i][-1]]

        old = [[sympy.Symbol(f"g_{i}(stored)")] for i in range(size)]
        w, total = sympy.Symbol("w"), sum(g for (g,) in old)
        state = {"model": [w], "tracker": [total], "stored": list(old)}
        focus.play(
            state, gradient, size, {*range(size)}, step_size=eta, local_steps=tau
        )
        for i, t in product(range(size), range(tau)):
            right = w - sign * eta * sum(v - old[i][0] for v in values[i][:t])
            label = f"N = {size}, tau = {tau}, client {i}, move {t}"
            yield label, sympy.expand(points[i][t]), sympy.expand(right)


def moves_bounded(caps: list[Any], far: Any, noise: Any) -> Finding:
    """T <= far n V + noise n sigma^2 under caps on `h2`, noises of any joint law.

    Every noise has E|e|^2 <= sigma^2: independent of its point, or the same at every
    point. The stored one too, as it is new or older.
    """
    fresh, old, away = sympy.symbols("fresh old away", nonnegative=True)
    four = 4 * (a**2 + b**2 + c_**2 + d**2)
    held = [fresh <= S2, old <= S2, n * away <= h2 * T]
    each = 4 * n * (fresh + away + V + old)
    summed = [4 * h2 * T + n * (4 * V + 8 * S2) >= T, n >= 1, *caps]
    return judge.all_of(
        {
            "moves": unrolled(),
            "four terms": judge.implied([], (a + b + c_ + d) ** 2 <= four, MOVES),
            "stored noise": stored_variance(),
            "path": _away_from_start(),
            "n terms": judge.implied(
                [*held, n >= 1], each <= 4 * h2 * T + n * (4 * V + 8 * S2), MOVES
            ),
            "summed": judge.implied(summed, far * n * V + noise * n * S2 >= T, MOVES),
        }
    )


@cache
def _away_from_start() -> Finding:
    """L^2 |x_{k-1} - w|^2 <= (eta L)^2 n T: at most n moves, squares of all of them."""
    t, part = sympy.symbols("t part", nonnegative=True)
    held = [a**2 <= t * part, part <= T, t <= n]
    # times n: (eta L)^2 n (n T) = h2 T
    scaled = (n * (eta * L) ** 2 * n * T, (eta * L * n) ** 2 * T)
    return judge.all_of(
        {
            "Jensen": sum_of_vectors(),
            "fewer": judge.implied(held, a**2 <= n * T, MOVES),
            "h2": judge.identity([("coordinate", *scaled)], MOVES),
        }
    )


@cache
def path_bounded() -> Finding:
    """M <= FAR n^2 V + LOUD n^2 sigma^2 for independent samples and h2 <= 1/128.

    M, the largest of what follows, is finite: gradients are Lipschitz, and noises and
    models have second moments.

    For every t <= n, with Young's weights 8, 4, 8/5 and E over the samples:
    E|y_1 + ... + y_t|^2 <= 8 h2 M + 4 n^2 V + (8/5) 2 n^2 sigma^2, hence M is.
    """
    t, size = sympy.symbols("t size", nonnegative=True)
    weights = 8 * a**2 + 4 * b**2 + sympy.Rational(8, 5) * c_**2
    drift = sympy.Le(t * t * (eta * L) ** 2 * M, (eta * L * n) ** 2 * M)
    right = 8 * h2 * M + 4 * n**2 * V + sympy.Rational(16, 5) * n**2 * S2
    best = FAR * n**2 * V + LOUD * n**2 * S2
    return judge.all_of(
        {
            "moves": unrolled(),
            "three terms": judge.implied([], (a + b + c_) ** 2 <= weights, MOVES),
            "gradients, Jensen": sum_of_vectors(),
            "gradients": judge.implied([t <= n], drift, MOVES),
            "stale": judge.implied([t <= n], t**2 * V <= n**2 * V, MOVES),
            "noise": _path_of_noise(),
            "t moves": judge.implied(
                [size <= t**2 + t, t**2 + t <= 2 * n**2],
                size * S2 <= 2 * n**2 * S2,
                MOVES,
            ),
            "t <= n": judge.implied([t <= n, n >= 1], t**2 + t <= 2 * n**2, MOVES),
            "largest": judge.implied([right >= M, 128 * h2 <= 1], best >= M, MOVES),
            "no move at tau = 1": judge.implied([M <= 0], best >= M, "tau = 1"),
        }
    )


@cache
def _path_of_noise() -> Finding:
    """E|e_1 + ... + e_t - t e|^2 <= (t^2 + t) sigma^2: e first, then one move more."""
    t, j = sympy.symbols("t j", nonnegative=True)
    size = sympy.Symbol("size", nonnegative=True)
    one = (mean((before + m) ** 2, m), before**2 + VARIANCES[m])
    held = [size <= (t**2 + j) * S2, VARIANCES[m] <= S2]
    return judge.all_of(
        {
            "stored noise": stored_variance(),
            "no move": judge.implied([size <= S2], t**2 * size <= t**2 * S2, MOVES),
            "one move more": judge.identity([("coordinate", *one)], MOVES),
            "from j to j + 1": judge.implied(
                held, size + VARIANCES[m] <= (t**2 + j + 1) * S2, MOVES
            ),
        }
    )


# (128) and (132) -----------------------------------------------------------------


def drift_bounded(c: SimpleNamespace, caps: list[Any]) -> Finding:
    """(126) and (127) in (128), for one client present or absent, and all added up.

    The bound is (far L^2 N + moved h2 L^2 N) B + noise h2 N^(1 + clients) sigma^2: the
    gradients of a client differ by eta^2 L^2 n T_i if it takes part, else by V_i.
    """
    take = sympy.Symbol("I", nonnegative=True)  # 1 for a participant
    apart, noise = sympy.symbols("apart noise", nonnegative=True)
    T_i = 8 * n * V + 16 * n * S2  # (127)
    there = [sympy.Ge(take, 0, evaluate=False), take <= 1]
    # h2 = (eta L n)^2 written out, as nothing is divided by n, which is 0 at tau = 1
    moved = ((eta * L) ** 2 * n * T_i, (eta * L * n) ** 2 * (8 * V + 16 * S2))
    row = 2 * (1 - take) * V + 2 * take * h2 * (8 * V + 16 * S2)
    bound = (rational(c.far) + rational(c.moved) * h2) * V + 32 * h2 * S2
    total = N * (apart + N * noise)
    added = rational(c.noise) / 32 * N ** (1 + c.clients) * noise
    summed = at_most(total, N * apart + added)
    return judge.all_of(
        {
            "(126), rows": gradients_of_rows(),
            "(126), two terms": split_in_two(),
            "(126), moves": unrolled(),
            "(126), Jensen": sum_of_vectors(),
            "(127)": moves_bounded(caps, 8, 16),
            "(127) in (126)": judge.identity([("a row", *moved)], MOVES),
            "one client": judge.implied(there, row <= bound, MOVES),
            # apart and noise: sums over N clients, and one client's 32 h2 sigma^2
            "N clients": judge.implied([N >= 1], summed, MOVES),
        }
    )


def collected_moves(c: SimpleNamespace, caps: list[Any]) -> Finding:
    """E||sum_k D_k y_k||^2 <= bound n^2 L^2 B + noise n^2 N sigma^2, from (127)."""
    p = sympy.Symbol("p", nonnegative=True)
    held = [8 * n * V + 16 * n * S2 >= T, p <= 1, n >= 1]
    own = rational(c.bound) * n**2 * V + rational(c.noise) * n**2 * S2
    return judge.all_of(
        {
            "Jensen": sum_of_vectors(),
            "(127)": moves_bounded(caps, 8, 16),
            "one client": judge.implied(held, p * n * T <= own, MOVES),
        }
    )

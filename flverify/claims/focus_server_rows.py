"""Rows of the server and of a client in a round of (67)-(69), against (71) and (75)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_any_box import EVERY
from flverify.claims.focus_any_rows import follows_71
from flverify.claims.focus_lemma3 import Traced, traced
from flverify.claims.focus_placings import Placing, step
from flverify.claims.focus_recursions import Stack
from flverify.claims.focus_runs import ETA, FORMAL, Run
from flverify.claims.scalar_runs import CURVATURES, MINIMISERS, STEP, column, tidied
from flverify.claims.verdict import Finding


def follow_71(at: int, factor: int) -> Finding:
    """Judge (71) with a step of `factor` eta, D_k[0, 0] = 1 at k = r tau + `at`."""
    cases = (
        judge.Case(
            {
                "f": "x^2/2, one client",
                "tau": tau,
                "step size": STEP,
                "k": f"{tau} + {j}",
                "compared": "xbar_{k+1} with (71)",
            },
            *_one_client(tau, at, factor)[j],
            partial(_one_client_again, tau, at, factor, j),
        )
        for tau in (2, 1, 3)
        for j in range(tau)
    )
    search = judge.instances(cases, "==", "one client who always comes, one round")
    pairs = (p for one in traced() for p in _server_pairs(one, factor))
    if at:
        return judge.proof_or_search(judge.inconclusive("no proof is tried"), search)
    proof = judge.all_of(
        {"listed": judge.identity(pairs, FORMAL), "any round": follows_71(factor)},
        scope=EVERY,
        argument="whatever holds in a round from any rows of such sums holds in all",
    )
    return judge.proof_or_search(proof, search)


def _one_client(tau: int, at: int, factor: int) -> list[tuple[Any, Any]]:
    """xbar_{k+1} and (71), k = tau, ..., 2 tau - 1, of f = x^2/2 from x_tau = 4, 3."""
    cohort = frozenset({0})
    run = Run(lambda _, x: x, (cohort,) * 4, 1, tau, STEP, Fraction(4), (Fraction(3),))
    placing = Placing("switched", 0, 0, at, 0, 1, "all")
    rows = column([Fraction(4), Fraction(3)])
    now = Stack(rows, column([Fraction(3), Fraction(0)]), rows)
    out = []
    for k in range(tau, 2 * tau):
        old, now = now, step(run, placing, k, now)
        moved = old.x[0] - factor * STEP * now.y[0]
        out.append((now.x[0], moved if k == tau else old.x[0]))
    return out


def _one_client_again(tau: int, at: int, factor: int, j: int) -> tuple[Any, Any]:
    """Without matrices: the server collects 3 at k = tau and moves at tau + `at`."""
    server, printed = Fraction(4), []
    real = []
    for now in range(tau):
        before = server
        if now % tau == at % tau:
            server = before - STEP * 3
        real.append(server)
        printed.append(before - factor * STEP * 3 if now == 0 else before)
    return real[j], printed[j]


def _server_pairs(one: Traced, factor: int) -> Iterator[judge.Pair]:
    """Rows 0 of the traced round and of the collecting iterations at its ends."""
    last = one.last
    for k in (0, last):
        moved = tidied(one.server(k) - factor * ETA * one.y[k + 1][0])
        total = tidied(sum(one.gradients(k)))
        yield f"{one.run}: x at r tau + {k}", one.server(k + 1), moved
        yield f"{one.run}: y at r tau + {k}", one.y[k + 1][0], total
    for k in range(1, last):
        yield f"{one.run}: x at r tau + {k}", one.server(k + 1), one.server(k)
        yield f"{one.run}: y at r tau + {k}", one.y[k + 1][0], one.y[k][0]


def moves(factor: str) -> Finding:
    """Judge that clients move by the sum of their y_k times "1" or "-eta"."""
    formal = {"1": sympy.Integer(1), "-eta": -ETA}[factor]
    cases = (
        judge.Case(
            {
                "f": f"h (x - b)^2/2, h = {CURVATURES[0]}, b = {MINIMISERS[0]}",
                "N": 1,
                "S_r": "{1}",
                "tau": tau,
                "step size": STEP,
                "x_{r tau+1}": 4,
                "x_{r tau}": row,
            },
            *_one_client_moves(tau, Fraction(row), factor),
            partial(_closed_moves, tau, Fraction(row), factor),
        )
        for tau in (2, 1, 3, 5)
        for row in (7, 0)
    )
    search = judge.instances(cases, "==", "one participant")
    pairs = []
    for one in traced():
        run = one.run
        on = [int(i in run.cohorts[0]) for i in range(run.n_clients)]
        total = sum(one.y[2 : one.last + 1], start=0 * one.x[0])[1:]
        moved = one.x[one.last][1:] - one.x[1][1:]
        right = [tidied(formal * a * v) for a, v in zip(on, total, strict=True)]
        pairs.append((f"{run}", [tidied(v) for v in moved], right))
    traced_rounds = judge.identity(pairs, FORMAL)
    proof = judge.all_of(
        {"traced": traced_rounds, "one move more": _one_move_more(formal)},
        scope="every N, tau, cohort, differentiable f_i, step size, start and round",
        argument="between a pull and a push R_k and C_k are I, so that a client's row "
        "depends on no other: it moves by -eta y_k if D_k has it, and not at all else",
    )
    return judge.proof_or_search(proof, search)


def _one_move_more(formal: Any) -> Finding:
    """Add the move -eta a y to a sum of moves; a is 1 for a participant and 0 else."""
    a, total, y = sympy.symbols("a total y")
    moved = formal * a * total - ETA * a * y
    return judge.identity([("a row", moved, formal * a * (total + y))], "every k")


def _one_client_moves(tau: int, row: Fraction, factor: str) -> tuple[Any, Any]:
    """Run lines 8-9: y <- y + grad(x) - grad(before), x <- x - eta y."""
    h, b, x, before, y = CURVATURES[0], MINIMISERS[0], Fraction(4), row, Fraction(0)
    total = Fraction(0)
    for _ in range(tau - 1):
        y, before = y + h * (x - b) - h * (before - b), x
        x, total = x - STEP * y, total + y
    return x - 4, {"1": Fraction(1), "-eta": -STEP}[factor] * total


def _closed_moves(tau: int, row: Fraction, factor: str) -> tuple[Any, Any]:
    """X - row shrinks by 1 - eta h at every move; y_k is h times it."""
    rate = 1 - STEP * CURVATURES[0]
    gaps = [(4 - row) * rate**j for j in range(tau)]
    total = CURVATURES[0] * sum(gaps[:-1], Fraction(0))
    return gaps[-1] - gaps[0], {"1": Fraction(1), "-eta": -STEP}[factor] * total

"""What one round of FOCUS does, for any clients: facts for the bounds of Theorem 1.

Before a round the server is at w and the stored gradients are those of the rows z_i.
After it row i is z_i', the end of its local moves from w, or z_i if the client is
absent; S is the sum of the gradients at the z_i' and w' = w - eta S. In what follows
B = sum |w - z_i|^2, C = sum |w - z_i'|^2, g = grad F(w), D = F(w) - F*, u = w - x*.

The tracker starts as the sum of the exact stored gradients, those at the rows z_i, and
then stays the sum of the stored ones. Rounds are independent and of one law. All that
is used of it is that client i is in a cohort with chance p_i >= q = q_min whatever came
before, independently of (w, z). An empty cohort moves the server like any other.

Every fact holds for each cohort or in expectation given (w, z); norms are numbers,
vectors enter by a coordinate, sums over clients grow by one client at a time. `Moves`
keeps the two numbers that the moves of a row give to other links.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import EVERY, FORMAL_ROUNDS, moves_do_not_grow, traced
from flverify.claims.focus_runs import ETA
from flverify.claims.focus_theorem1_steps import L, N, Relations, eta, m, q, tau
from flverify.claims.rationals import rational
from flverify.claims.scalar_runs import tidied
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most, put_in

p = sympy.Symbol("p", positive=True)  # p_i of any client
moved, far, done, count = sympy.symbols("moved far done count", nonnegative=True)
small, large = sympy.symbols("small large", real=True)
NEXT = sympy.symbols("moved_next length", nonnegative=True)  # after a move of this

Parts = dict[str, Finding]

# what every correction of Theorem 1 takes as given, in LaTeX
START = (
    r"I_i/|S|=0\text{ in empty rounds, where the server moves too, }y_0=\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_0),\text{ independent rounds of one law}"
)


# who takes part ------------------------------------------------------------------


def chances(reading: str, case_3a: str = "1/N") -> tuple[Relations, Finding]:
    """Say what a reading of q = q_min tells of N and of any p_i, and whether q <= p_i.

    q_i = E[I_i/|S|] counts an empty S as 0.

    Examples
    --------
    >>> [str(chances(name)[1].verdict) for name in Q_READINGS]
    ['PROVED', 'PROVED', 'PROVED']
    >>> chances(Q_READINGS[1], "1/m")[1].passes()
    False
    """
    share = N if case_3a == "1/N" else m
    known = {
        Q_READINGS[0]: [N * q <= 1, q <= p, p <= 1],
        Q_READINGS[1]: [sympy.Eq(share * q, 1), sympy.Eq(N * p, m), m <= N],
        Q_READINGS[2]: [q <= p, p <= 1],
    }[reading]
    if reading == Q_READINGS[0]:
        return known, judge.all_of(_averaging(*known[:2]))
    parts = {"q <= p_i": judge.implied(known, q <= p, "every client and law")}
    return known, judge.all_of(parts)


def _averaging(few: Any, below: Any) -> Parts:
    """At each outcome I_i/|S| <= I_i, and these add up to at most 1; then average.

    At an empty S both are 0. `few` and `below` are what is then known of N and p.
    """
    size, total, share = sympy.symbols("size total q_i", positive=True)
    law = "every law and outcome"
    return {
        "I_i/|S| <= I_i": judge.implied([size >= 1], 1 / size <= 1, law),
        "q <= p_i": judge.implied([q <= share, share <= p], below, law),
        "the sum": judge.identity([("|S| terms", size * (1 / size), 1)], law),
        "N q_min <= 1": judge.implied([N * q <= total, total <= 1], few, law),
    }


@dataclass(frozen=True)
class Moves:
    """Local moves: if s = eta L (tau-1) <= cap, |w - z_i'|^2 <= kept |w - z_i|^2.

    Examples
    --------
    >>> Moves("1/3", "1/9", convex=True).within
    L*eta*(tau - 1) <= 1/3
    >>> Moves("1/3", "1/9", convex=True).rho
    1 - 8*q/9
    """

    cap: str
    kept: str
    convex: bool = False

    @property
    def within(self) -> Any:
        """Say that s is at most the cap."""
        return sympy.Le(eta * L * (tau - 1), rational(self.cap))

    @property
    def left(self) -> Any:
        """Say what is left of the distance of a row that takes part."""
        return moved**2 <= rational(self.kept) * far**2

    @property
    def rho(self) -> Any:
        """Return the factor of B that bounds E C."""
        return 1 - (1 - rational(self.kept)) * q

    def judged(self) -> Parts:
        """Judge both facts: for a client that is present, and on average."""
        present = moves_of_convex(self) if self.convex else moves_of_smooth(self)
        return {"|w - z_i'|": present, "E C <= rho B": rows_left(self)}


@cache
def rows_left(moves: Moves) -> Finding:
    """E C <= rho B, if |w - z_i'|^2 <= kept |w - z_i|^2 when client i is present."""
    after, held = (1 - p) * far**2 + p * moved**2, [q <= p, p <= 1, moves.left]
    one_client = judge.implied(held, after <= moves.rho * far**2, EVERY)
    return judge.all_of({"a client": one_client, "one client more": added()})


@cache
def added() -> Finding:
    """Judge that inequalities may be added, for a sum over clients of any length."""
    more, most = sympy.symbols("more most", real=True)
    held = [small <= large, more <= most]
    return judge.implied(held, small + more <= large + most, EVERY)


# the round -----------------------------------------------------------------------


@cache
def the_round() -> Finding:
    """Judge the moves of a row and of the server on formal gradients.

    For any tau y_k is the last gradient less the stored one, and for any N the tracker
    is the sum of the gradients: both by induction, move by move, client by client.
    """
    now, last, stored, new, rest = sympy.symbols("now last stored new rest")
    pairs = [
        ("y_{k+1}", (last - stored) + (now - last), now - stored),
        ("a client present", (rest + stored) + (new - stored), rest + new),
    ]
    return judge.all_of(
        {
            "small rounds": judge.identity(_lines(), FORMAL_ROUNDS),
            "any tau and N": judge.identity(pairs, EVERY),
        },
        scope=EVERY,
        argument="Rounds are listed for few clients and moves; a move more, and a "
        "client more, add what is judged beside the list.",
    )


def _lines() -> Iterator[judge.Pair]:
    """Yield x_{k+1} = x_k - eta (grad f_i(x_k) - grad f_i(z_i)), and w' = w - eta S."""
    for run in traced():
        for i in range(1, run.run.n_clients + 1):
            here, before = f"{run.run}: client {i}", run.x[0][i]
            if i - 1 not in run.run.cohorts[0]:
                yield f"{here}, absent", run.x[run.last][i], before
                continue
            yield f"{here}, pulled", run.x[1][i], run.server(1)
            stored = run.gradients(0)[i - 1]
            for k in range(1, run.last):
                slope = run.gradients(k)[i - 1] - stored
                after = run.x[k][i] - ETA * slope
                yield f"{here}, move {k}", run.x[k + 1][i], tidied(after)
        total = sum(run.gradients(run.last))
        moved_to = tidied(run.server(1) - ETA * total)
        yield f"{run.run}: server", run.server(run.last + 1), moved_to


@cache
def moves_of_convex(moves: Moves) -> Finding:
    """|w - z_i'| <= s |w - z_i| for convex f_i, s = eta L times the number of moves.

    Every move is at most eta times the first gradient difference, eta L |w - z_i|.
    """
    step, (after, length) = moved <= done * far, NEXT
    further = put_in(step, {moved: after, done: done + eta * L})
    if_any = [moves.within, tau >= 2]  # without moves |w - z_i'| = 0
    return judge.all_of(
        {
            "triangle": _triangle(),
            "eta L <= 2": judge.implied(if_any, eta * L <= 2, EVERY),
            "moves do not grow": moves_do_not_grow(),
            "one move more": judge.implied(
                [step, length <= eta * L * far, after <= moved + length], further, EVERY
            ),
            **_all_of_them(moves, done),
        }
    )


@cache
def moves_of_smooth(moves: Moves) -> Finding:
    """|w - z_i'| <= s (1 + s) |w - z_i| for L-smooth f_i, s as for convex ones.

    A move is at most eta L times the distance to z_i, that is at most the way done
    and |w - z_i|. The cap is at most 1, so that s <= 1 after every move.
    """
    step, (after, length) = moved <= done * (1 + done) * far, NEXT
    longer = done + eta * L
    further = put_in(step, {moved: after, done: longer})
    one = [length <= eta * L * (moved + far), after <= moved + length]
    return judge.all_of(
        {
            "triangle": _triangle(),
            "cap <= 1": judge.implied([], at_most(rational(moves.cap), 1), EVERY),
            "one move more": judge.implied(
                [step, *one, longer <= rational(moves.cap)], further, EVERY
            ),
            **_all_of_them(moves, done * (1 + done)),
        }
    )


def _all_of_them(moves: Moves, way: Any) -> Parts:
    """Judge s <= cap, and from |w - z_i'| <= way |w - z_i| the bound with `kept`."""
    most = rational(moves.cap)
    few = [count <= tau - 1, moves.within]
    held = [moved <= way * far, done <= most]
    return {
        "s <= cap": judge.implied(few, eta * L * count <= most, EVERY),
        "all of them": judge.implied(held, moves.left, EVERY),
    }


@cache
def _triangle() -> Finding:
    """Judge |a + b| <= |a| + |b| from <a, b> <= |a| |b|."""
    inside, first, second = sympy.symbols("inside first second", real=True)
    held = [inside <= first * second]
    whole = first**2 + 2 * inside + second**2
    return judge.implied(held, whole <= (first + second) ** 2, EVERY)


# rounds --------------------------------------------------------------------------


@cache
def unrolled() -> Finding:
    """V_{r+1} <= k V_r in every round, k >= 0, gives V_R <= k^R V_0 by induction."""
    first, now, after = sympy.symbols("V_0 V_R V_next", real=True)
    k, power = sympy.symbols("k k^R", nonnegative=True)
    line = now <= power * first
    further = put_in(line, {now: after, power: k * power})
    return judge.implied([line, after <= k * now], further, "every R")

"""Lemma 4 of the FOCUS paper, Appendix D.4: the steps (92) and (93).

(92) bounds the norm of one row of 1 ybar, N times less than (90) needs; its second line
takes Lipschitz gradients, which the inequality printed as Assumption 2 gives to convex
f_i alone. (93) bounds the local moves of round r-1 by those of round r, which may all
vanish; with round r-1 on both sides it holds, and its bound is a multiple of the error
before that round.

Conventions: w_{r-1} = xbar_{(r-1) tau+1}; the rows x_{(r-1) tau} may be any;
q_i = E[I_i/|S|] with 0/0 = 0; rounds are independent. In reports "w_r" and
"x_{r tau}" are the models before the round that is run. Steps that print no E are
judged at every outcome, here at full participation.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_lemma3 import (
    EVERY,
    After,
    L,
    N,
    State,
    T,
    V,
    eta,
    gradients_of_rows,
    n,
    sum_of_vectors,
    summed_84,
)
from flverify.claims.focus_lemma4 import (
    CASE_3A,
    CHANCE,
    DEFINED,
    everybody,
    everyone,
    laws_for,
    states,
    twice,
    weights,
)
from flverify.claims.rationals import rational
from flverify.claims.stack_norms import LAST_INDUCED, SEARCHED, weighted_last
from flverify.claims.stale_rows import ALONE, LIPSCHITZ
from flverify.claims.verdict import Finding

FROBENIUS = "(i) ||1 ybar||^2 of the N rows"
ONE_ROW = "(ii) ||1 ybar||^2 is |ybar|^2"


# (92) ----------------------------------------------------------------------------


@claim(
    "focus.lemma4.step92a",
    source=Source("focus", "eq. (92), line 1"),
    statement=r"\|\mathbb{1}\bar y_{r\tau+1}\|^2\le2\|\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_{r\tau})-\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}"
    r"(\mathbb{1}\bar x_{r\tau+1})\|^2+2\|N\nabla F(\bar x_{r\tau+1})\|^2",
    proposition="The inequality holds for ybar_{r tau+1} = 1^T grad f(x_{r tau}).",
    constants={"difference": "2", "mean": "2"},
    twin={"difference": "1/2", "mean": "1/2"},
    no_control="||1 ybar||^2 has two readings; the twin, a quarter of the bound, fails "
    "under both",
    free=(
        Free("difference", "1", "4", weaker="larger", reading=ONE_ROW),
        Free("mean", "1", "4", weaker="larger", reading=ONE_ROW),
    ),
)
def tracker(c: SimpleNamespace) -> Finding:
    """Judge it for N rows and for one."""
    return judge.readings(
        {
            FROBENIUS: judge.proof_or_search(
                _bounded_92(c, N), judge.instances(_cases_92(c, True), "<=", FULL_92)
            ),
            ONE_ROW: judge.proof_or_search(
                _bounded_92(c, 1), judge.instances(_cases_92(c, False), "<=", FULL_92)
            ),
        }
    ).corrected(
        r"\|\mathbb{1}\bar y_{r\tau+1}\|_F^2\le2N\|\mathbb{1}^{\mathsf T}\nabla"
        r"\boldsymbol{f}(\boldsymbol{x}_{r\tau})-\mathbb{1}^{\mathsf T}\nabla"
        r"\boldsymbol{f}(\mathbb{1}w_r)\|^2+2N\|N\nabla F(w_r)\|^2",
        _bounded_92(c, N, N),
    )


FULL_92 = "N = 1, 2, 3, 5; full participation; tau = 1, 3; two states"


def _bounded_92(c: SimpleNamespace, rows: Any, times: Any = 1) -> Finding:
    y, g = sympy.symbols("y g", real=True)
    right = rational(c.difference) * (y - g) ** 2 + rational(c.mean) * g**2
    return judge.implied([N >= 1], rows * y**2 <= times * right, EVERY)


def _cases_92(c: SimpleNamespace, every_row: bool) -> Iterator[judge.Case]:
    for one in states(everyone, (1, 3)):
        sides = [partial(_sides_92, c, every_row, side) for side in (0, 1)]
        left, right = map(one.mean, sides)
        yield judge.Case(one.where(), left, right, partial(twice, one, *sides))


def _sides_92(
    c: SimpleNamespace, every_row: bool, side: int, one: State, end: After
) -> Fraction:
    if side == 0:
        return end.tracker**2 * (one.total if every_row else 1)
    slope = one.gradient(end.server)
    gap = (end.tracker - slope) ** 2
    return Fraction(c.difference) * gap + Fraction(c.mean) * slope**2


@claim(
    "focus.lemma4.step92b",
    source=Source("focus", "eq. (92), line 2"),
    statement=r"\le2NL^2\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_F^2+2\|N"
    r"\nabla F(\bar x_{r\tau+1})\|^2",
    proposition="For f_i that are smooth as Assumption 2 is read, convex or not, line "
    "1 of (92) is at most its line 2.",
    constants={"factor": "2"},
    twin={"factor": "3/2"},
    no_control="whether the printed inequality or Lipschitz gradients are meant "
    "decides; the twin, three quarters of the factor, fails under both",
    free=Free("factor", "1", "4", weaker="larger", reading=LIPSCHITZ),
)
def smoothness(c: SimpleNamespace) -> Finding:
    """Use the bound of (83), line 1, twice; bend one client as A2 alone allows."""
    found = {
        ALONE: judge.instances(_bent_92(c), "<=", "N = 1, f = -k x^2/2, L = 1"),
        LIPSCHITZ: gradients_of_rows(str(Fraction(c.factor) / 2)),
    }
    return judge.readings(found).corrected(
        r"\nabla f_i\;L\text{-Lipschitz}:\quad2\|\mathbb{1}^{\mathsf T}\nabla"
        r"\boldsymbol{f}(\boldsymbol{x}_{r\tau})-\mathbb{1}^{\mathsf T}\nabla"
        r"\boldsymbol{f}(\mathbb{1}w_r)\|^2\le2NL^2\|\mathbb{1}w_r-\boldsymbol{x}_{r"
        r"\tau}\|_F^2",
        found[LIPSCHITZ],
    )


def _bent_92(c: SimpleNamespace) -> Iterator[judge.Case]:
    """One client that always comes: f has curvature -k <= 1 = L, as A2 alone asks."""
    for k, tau in product((2, 10), (1, 3)):
        h, step = Fraction(-k), Fraction(1, 100)
        one = State((h,), everybody(1), tau, step, Fraction(1), (Fraction(0),))
        sides = [partial(_smooth_92, c, side) for side in (0, 1)]
        left, right = map(one.mean, sides)
        again = partial(twice, one, *sides)
        yield judge.Case({**one.where(), "L": 1}, left, right, again)


def _smooth_92(c: SimpleNamespace, side: int, one: State, end: After) -> Fraction:
    slope = one.gradient(end.server)
    gap = (end.tracker - slope) ** 2
    if side:  # L = N = 1
        gap = sum(((end.server - x) ** 2 for x in end.rows), Fraction(0))
    return (2 if side == 0 else Fraction(c.factor)) * gap + 2 * slope**2


# (93) ----------------------------------------------------------------------------

FOUR = 4  # sum |y_k|^2 <= FOUR (tau - 1) L^2 |pulled|^2
TWO_ROUNDS = "(i) round r-1 on the left and round r on the right"
ONE_ROUND = "(ii) one round on both sides"
BENT_93 = f"(iii) round r; {ALONE}; any q_i, being 1 for N = 1"


@claim(
    "focus.lemma4.step93a",
    source=Source("focus", "eq. (93), line 1"),
    statement=r"\mathbb{E}\Big\|\sum_{k=(r-1)\tau+2}^{r\tau}D_k\boldsymbol{y}_k\Big\|^2"
    r"\le(\tau-1)\,\mathbb{E}\sum_{k=r\tau+2}^{(r+1)\tau}\|D_k\boldsymbol{y}_k\|^2",
    proposition="The inequality holds for every law and state, with the rounds as "
    "printed or with one round.",
    constants={"count": "1"},
    twin={"count": "1/2"},
    no_control="the indices of the two sides name different rounds; the twin, half of "
    "the factor, fails either way",
    free=Free("count", "1/2", "2", weaker="larger", reading=ONE_ROUND),
)
def jensen(c: SimpleNamespace) -> Finding:
    """Prove it for one round; follow one client through two rounds."""
    proof = sum_of_vectors(c.count)
    open_ = judge.inconclusive("Jensen's inequality does not compare two rounds")
    found = {
        TWO_ROUNDS: judge.proof_or_search(
            open_, judge.instances(_two_rounds(c, 1), "<=", MOVES)
        ),
        ONE_ROUND: judge.proof_or_search(
            proof, judge.instances(_two_rounds(c, 0), "<=", MOVES)
        ),
    }
    return judge.readings(found).corrected(
        r"\mathbb{E}\Big\|\sum_{k=(r-1)\tau+2}^{r\tau}D_k\boldsymbol{y}_k\Big\|^2\le("
        r"\tau-1)\,\mathbb{E}\sum_{k=(r-1)\tau+2}^{r\tau}\|D_k\boldsymbol{y}_k\|^2",
        found[ONE_ROUND],
    )


MOVES = "one client of curvature 1 or -1, tau = 2, 3, 5, three steps, two states"


def _one_client(taus: tuple[int, ...]) -> Iterator[State]:
    """List one client that always takes part, w at a given distance from its row.

    In one of the states, w = (1 + eta h) (w - z): after one move and the push, the
    server's model is where the client's row is.
    """
    for tau, h, part in product(taus, (1, -1), (8, 20, 100)):
        step, curvature = Fraction(1, part * (tau - 1)), Fraction(h)  # inside the caps
        for w in (Fraction(1), 1 + step * h):
            yield State((curvature,), everybody(1), tau, step, w, (w - 1,))


def _two_rounds(c: SimpleNamespace, later: int) -> Iterator[judge.Case]:
    for one in _one_client((2, 3, 5)):
        sides = [_sides_93(c, one, later, known) for known in (False, True)]
        yield judge.Case(one.where(), *sides[0], cohorts.sides(*sides[1]))


def _sides_93(
    c: SimpleNamespace, one: State, later: int, known: bool
) -> tuple[Fraction, Fraction]:
    y, other = _moves(one, known), one
    for _ in range(later):
        end = one.loop(frozenset({0})) if known else one.after(frozenset({0}))
        other = one.later(end)
    squares = sum((v**2 for v in _moves(other, known)), Fraction(0))
    return sum(y, Fraction(0)) ** 2, Fraction(c.count) * len(y) * squares


def _moves(one: State, known: bool, i: int = 0) -> list[Fraction]:
    """y_k of a participant, by the recursion or in closed form."""
    if not known:
        return one.moves(i)
    h, pull = one.curvatures[i], one.server - one.rows[i]
    return [h * pull * (1 - one.step * h) ** t for t in range(one.local_steps - 1)]


@claim(
    "focus.lemma4.step93b-c",
    source=Source("focus", "eq. (93), lines 2-3"),
    statement=r"\le4(\tau-1)^2L^2\sum_{i=1}^Nq_i\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2\le4("
    r"\tau-1)^2L^2\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|^2",
    proposition="What (93) bounds, in round r-1 or in round r, is at most both lines, "
    "for f_i that are smooth as Assumption 2 is read, with L-Lipschitz gradients where "
    "the reading does not say, every law, independent rounds, every state and eta L "
    "(tau-1) <= 1/8, as in Lemma 4.",
    constants={"bound": "4"},
    twin={"bound": "1/5"},
    no_control="the round on the left, q_i, Assumption 2 and the last norm have "
    "several readings; the twin, a twentieth of the bound, fails under each",
    free=Free("bound", "1/5", "4", weaker="larger", reading=f"(ii) round r; {CHANCE}"),
)
def moves_bounded(c: SimpleNamespace) -> Finding:
    """Follow one client through two rounds; then round r for each q_i."""
    found = {
        "(i) round r-1; any q_i, being 1 for N = 1": judge.instances(
            _earlier(c), "<=", MOVES
        ),
        **{f"(ii) round r; {q}": _later(c, q) for q in (DEFINED, CASE_3A, CHANCE)},
        BENT_93: judge.instances(_bent_93(c), "<=", "N = 1, f = -k x^2/2, L = 1"),
        f"(iv) round r; {CHANCE}; {LAST_INDUCED}": judge.instances(
            weighted_last(c), "<=", SEARCHED
        ),
    }
    return judge.readings(found).corrected(
        r"\nabla f_i\;L\text{-Lipschitz, }\eta\le\frac1{8L(\tau-1)}:\quad\mathbb{E}"
        r"\Big\|\sum_{k=(r-1)\tau+2}^{r\tau}"
        r"D_k\boldsymbol{y}_k\Big\|^2\le4(\tau-1)^2L^2\sum_{i=1}^Np_i\|w_{r-1}-"
        r"x_{(r-1)\tau,i}\|^2,\;\text{independent rounds}",
        found[f"(ii) round r; {CHANCE}"],
    )


def _earlier(c: SimpleNamespace) -> Iterator[judge.Case]:
    """|sum of round r-1|^2 against the error after it, N = 1 = p_1 = q_1 = m."""
    for one in _one_client((2, 3, 5)):
        sides = [_sides_earlier(c, one, known) for known in (False, True)]
        yield judge.Case(one.where(), *sides[0], cohorts.sides(*sides[1]))


def _sides_earlier(
    c: SimpleNamespace, one: State, known: bool
) -> tuple[Fraction, Fraction]:
    y = _moves(one, known)
    end = one.loop(frozenset({0})) if known else one.after(frozenset({0}))
    right = Fraction(c.bound) * len(y) ** 2 * one.later(end).spread()
    return sum(y, Fraction(0)) ** 2, right


def _later(c: SimpleNamespace, name: str) -> Finding:
    """(tau - 1) E sum |D y_k|^2 of one round against both lines."""
    search = judge.instances(_cases_93(c, name), "<=", LAWS_93)
    p, q, gap = sympy.symbols("p q gap", nonnegative=True)
    total = sympy.Symbol("total", nonnegative=True)
    bound = rational(c.bound) * n**2 * L**2 * q * gap
    held = [
        total <= FOUR * n * L**2 * gap,
        p <= 1,
        *([sympy.Eq(q, p)] * (name == CHANCE)),
    ]
    proof = judge.all_of(
        {
            "(86)": summed_84(
                sympy.Le(T, FOUR * n * V), eta * L * n <= sympy.Rational(1, 8)
            ),
            "line 2": judge.implied(held, n * p * total <= bound, EVERY),
            "line 3": judge.implied([q <= 1], q * gap <= gap, EVERY),
        }
    )
    return judge.proof_or_search(proof, search)


LAWS_93 = "N = 1, 2, 3, 5, every case of Assumption 1, tau = 2, 4, two states"


def _cases_93(c: SimpleNamespace, name: str) -> Iterator[judge.Case]:
    for one in states(partial(laws_for, name), (2, 4)):
        moves, scale = one.local_steps - 1, one.smoothness**2
        q = weights(name, one.setting)
        right = Fraction(c.bound) * moves**2 * scale * one.spread(q)
        left, again = (moves * _energy(one, known) for known in (False, True))
        yield judge.Case(one.where(), left, right, cohorts.sides(again, right))


def _bent_93(c: SimpleNamespace) -> Iterator[judge.Case]:
    """One client that always comes: f has curvature -k <= 1 = L, as A2 alone asks."""
    for k, tau in product((3, 10), (2, 3)):
        step, moves = Fraction(1, 8 * (tau - 1)), tau - 1
        row = (Fraction(1),)
        one = State((Fraction(-k),), everybody(1), tau, step, Fraction(0), row)
        right = Fraction(c.bound) * moves**2 * one.spread()
        left, again = (moves * _energy(one, known) for known in (False, True))
        recheck = cohorts.sides(again, right)
        yield judge.Case({**one.where(), "L": 1}, left, right, recheck)


def _energy(one: State, known: bool) -> Fraction:
    """E sum_{i in S} sum_k |y_{k,i}|^2, by the listed law or by the package's."""
    listed = one.setting.listed.items()
    law = [(cohorts.zero_based(s), p) for s, p in listed]
    if known:
        law = list(one.setting.law.support().items())
    return sum(
        (
            Fraction(p) * sum(v**2 for i in s for v in _moves(one, known, i))
            for s, p in law
        ),
        Fraction(0),
    )

"""Lemma 4 of the FOCUS paper, Appendix D.4: the steps (90) and (91).

(90) needs the Frobenius norm of 1 ybar, while (92) bounds that of one row: a factor N
is lost between them. It needs that of its last term too, which is printed without F, so
that by Appendix B it is the induced one. (91) holds for participation probabilities;
for the averaging weights that the paper calls q_i only its two ends compare.

Conventions: w_{r-1} = xbar_{(r-1) tau+1}; the rows x_{(r-1) tau} may be any;
q_i = E[I_i/|S|] with 0/0 = 0; rounds are independent. In reports "w_r" and
"x_{r tau}" are the models before the round that is run. (90) is evaluated at full
participation.
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
from flverify.claims.focus_any_moves import ANY_ROWS, server_and_row
from flverify.claims.focus_lemma3 import (
    EVERY,
    FORMAL_ROUNDS,
    After,
    N,
    State,
    Traced,
    split_by_share,
    split_in_two,
    traced,
)
from flverify.claims.focus_lemma4 import (
    CASE_3A,
    CHANCE,
    DEFINED,
    SOMEBODY,
    everyone,
    laws_for,
    states,
    twice,
    weights,
)
from flverify.claims.focus_runs import ETA
from flverify.claims.focus_theorem1_steps import implied_under
from flverify.claims.pulled_bounds import ends
from flverify.claims.rationals import rational
from flverify.claims.scalar_runs import tidied
from flverify.claims.stack_norms import LAST_INDUCED, SEARCHED, parted
from flverify.claims.verdict import Finding

FROBENIUS = "(i) ||1 ybar||^2 of the N rows"
ONE_ROW = "(ii) ||1 ybar||^2 is |ybar|^2"
a, b, e = sympy.symbols("a b e", real=True)
rho = sympy.Symbol("rho", positive=True)


# (90) ----------------------------------------------------------------------------


@claim(
    "focus.lemma4.step90a",
    source=Source("focus", "eq. (90), equality"),
    statement=r"\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}=\mathbb{1}"
    r"\bar x_{(r-1)\tau+1}-\eta\mathbb{1}\bar y_{r\tau+1}-\boldsymbol{x}_{(r-1)\tau+1}+"
    r"\eta\sum_{k=(r-1)\tau+2}^{r\tau}D_k\boldsymbol{y}_k",
    proposition="In the recursion (67)-(69) this holds row by row for every cohort of "
    "round r-1, D_k being that round's mask.",
    given={"(71)": "focus.obs71"},
    constants={"server": -1, "moves": 1, "first": 2},
    twin={"server": 1},
    structural={"first": "an index; for a client the term before it is 0"},
    exact=("server", "moves"),
)
def unrolled(c: SimpleNamespace) -> Finding:
    """Trace formal rounds, the last pull giving w_r."""
    pairs = [
        (
            f"{one.run}: row {i}",
            tidied(one.server(one.last + 1) - one.x[one.last][i]),
            _row(c, one, i),
        )
        for one in traced()
        for i in range(1, one.run.n_clients + 1)
    ]
    return judge.all_of(
        {
            "traced": judge.identity(pairs, FORMAL_ROUNDS),
            "any round": server_and_row(c.server, c.moves),
        },
        scope=ANY_ROWS,
        argument="what is traced for small sizes is a second computation",
    )


def _row(c: SimpleNamespace, one: Traced, i: int) -> Any:
    on = int(i - 1 in one.run.cohorts[0])
    moves = sum(one.y[k][i] for k in range(c.first, one.last + 1))
    row = one.server(1) + c.server * ETA * one.y[one.last + 1][0]
    return tidied(row - one.x[1][i] + c.moves * ETA * on * moves)


@claim(
    "focus.lemma4.step90b",
    source=Source("focus", "eq. (90), inequality"),
    statement=r"\le\frac1\rho\,\mathbb{E}\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol{x"
    r"}_{(r-1)\tau+1}\|_F^2+\frac{2\eta^2}{1-\rho}\,\mathbb{E}\|\mathbb{1}\bar y_{r"
    r"\tau+1}\|^2+\frac{2\eta^2}{1-\rho}\,\mathbb{E}\Big\|\sum_{k=(r-1)\tau+2}^{r"
    r"\tau}D_k\boldsymbol{y}_k\Big\|^2",
    proposition="The inequality holds for every rho in (0, 1), every law and state.",
    constants={"first": "1", "server": "2", "moves": "2"},
    twin={"first": "1/2", "server": "1/2"},
    no_control="||1 ybar||^2 has two readings, and the last norm drops an F; the twin, "
    "with a half and a quarter of the factors, fails under each",
    free=(
        Free("first", "1/2", "2", weaker="larger", reading=FROBENIUS),
        Free("server", "1", "4", weaker="larger", reading=FROBENIUS),
        Free("moves", "1", "4", weaker="larger", reading=FROBENIUS),
    ),
)
def three_parts(c: SimpleNamespace) -> Finding:
    """Prove it row by row; for one row's norm evaluate it at full participation."""
    return judge.readings(
        {
            FROBENIUS: judge.proof_or_search(
                _row_by_row(c, 1), judge.instances(_cases_90(c, True), "<=", FULL)
            ),
            ONE_ROW: judge.proof_or_search(
                _row_by_row(c, N), judge.instances(_cases_90(c, False), "<=", FULL)
            ),
            f"(iii) as (i), {LAST_INDUCED}": judge.instances(
                parted(c), "<=", f"{SEARCHED}; rho = 1/4"
            ),
        }
    )


FULL = "N = 1, 2, 3, 5; full participation; tau = 1, 3; rho = 1/4, 1/2, 3/4"


def _row_by_row(c: SimpleNamespace, rows: Any) -> Finding:
    """N rows alike, moved by a, b = -eta ybar and e: b's square may stand once only."""
    right = rows * rational(c.first) * a**2 / rho
    right += rational(c.server) / (1 - rho) * b**2
    right += rows * rational(c.moves) / (1 - rho) * e**2
    held = [rho < 1, N >= 1]
    left = a**2 / rho + 2 * b**2 / (1 - rho) + 2 * e**2 / (1 - rho)
    return judge.all_of(
        {
            "|a + b|^2": split_by_share(),
            "|b + e|^2": split_in_two(),
            "factors": judge.implied(held, rows * left <= right, EVERY),
        }
    )


def _cases_90(c: SimpleNamespace, every_row: bool) -> Iterator[judge.Case]:
    listed = states(everyone, (1, 3))
    for one, share in product(listed, map(Fraction, ("1/4", "1/2", "3/4"))):
        value = partial(_sides_90, c, every_row, share)
        left, right = one.mean(partial(value, 0)), one.mean(partial(value, 1))
        again = partial(twice, one, partial(value, 0), partial(value, 1))
        yield judge.Case({**one.where(), "rho": share}, left, right, again)


def _sides_90(
    c: SimpleNamespace,
    every_row: bool,
    share: Fraction,
    side: int,
    one: State,
    end: After,
) -> Fraction:
    """Return one side of (90) for full participation: all rows are pulled to w."""
    if side == 0:
        return one.later(end).spread()
    moved = sum(((one.server - x) ** 2 for x in end.rows), Fraction(0))
    server = one.step**2 * end.tracker**2 * (one.total if every_row else 1)
    parts = Fraction(c.server) * server + Fraction(c.moves) * moved
    return parts / (1 - share)


# (91) ----------------------------------------------------------------------------


@claim(
    "focus.lemma4.step91",
    source=Source("focus", "eq. (91)"),
    statement=r"\mathbb{E}\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol{x}_{(r-1)\tau+1}"
    r"\|_F^2=\sum_{i=1}^N(1-q_i)\|\bar x_{(r-1)\tau+1}-x_{(r-1)\tau,i}\|^2\le(1-q_{"
    r"\min})\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol{x}_{(r-1)\tau}\|_F^2",
    proposition="The equality and the inequality hold for every law of Assumption 1, "
    "independent rounds and all models, E being over the pull of round r-1.",
    constants={"kept": "1", "largest": "1"},
    twin={"kept": "1/2"},
    no_control="q_i has several readings; the twin, half of the sum, fails under each",
    reading_twins={
        f"{CHANCE} / inequality": {"largest": "1/2"},
        f"{DEFINED} / its two ends": {"largest": "1/2"},
    },
    free=Free("largest", "1/2", "2", weaker="larger", reading=CHANCE),
)
def pulled(c: SimpleNamespace) -> Finding:
    """Compare with each q_i for every law of N <= 3, and on listed laws."""
    found = {
        name: _members_91(c, name) for name in (DEFINED, CASE_3A, CHANCE, SOMEBODY)
    }
    return judge.readings(found).corrected(
        r"\mathbb{E}\|\mathbb{1}w_{r-1}-\boldsymbol{x}_{(r-1)\tau+1}\|_F^2=\sum_i(1-p_i"
        r")\|w_{r-1}-x_{(r-1)\tau,i}\|^2\le(1-\min_ip_i)\|\mathbb{1}w_{r-1}-"
        r"\boldsymbol{x}_{(r-1)\tau}\|_F^2,\;\text{independent rounds}",
        found[CHANCE],
    )


def _members_91(c: SimpleNamespace, name: str) -> Finding:
    """Judge both relations; if the first is of doubt, also that of the two ends."""
    parts = {"equality": _equality_91(c, name), "inequality": _inequality_91(c)}
    if name != CHANCE:
        search = judge.instances(_cases_91(c, name, 2), "<=", LAWS_91)
        proof = ends(c.largest) if name == DEFINED else judge.inconclusive(UNTRIED)
        parts["its two ends"] = judge.proof_or_search(proof, search)
    return judge.all_of(parts)


UNTRIED = "no proof is tried"
LAWS_91 = "every case of Assumption 1, N = 1, 2, 3; uniform cohorts in Case 3a"


def _equality_91(c: SimpleNamespace, name: str) -> Finding:
    search = judge.instances(_cases_91(c, name, 1), "==", LAWS_91)
    if name in (CASE_3A, SOMEBODY):
        return search
    if name == CHANCE:
        u, v = sympy.symbols("there away", positive=True)  # cohorts with it, without
        pair = ("a client", v / (u + v), _kept(c, u / (u + v)))
        proof = judge.identity([pair], "every N and law")
        return judge.proof_or_search(proof, search)
    weight = cohorts.averaging
    pairs = [
        (f"N = {size}: client {i}", _absent(law, i), _kept(c, weight(law, i)))
        for size in (1, 2, 3)
        for law in [cohorts.any_law(size, empty=True)]
        for i in cohorts.people(size)
    ]
    return judge.proof_or_search(judge.identity(pairs, "every law of N <= 3"), search)


def _absent(law: Any, i: int) -> Any:
    return cohorts.mean(law, lambda s: int(i not in s))


def _kept(c: SimpleNamespace, q: Any) -> Any:
    return rational(c.kept) * (1 - q)


def _inequality_91(c: SimpleNamespace) -> Finding:
    """Compare the terms of one client."""
    q, least, gap = sympy.symbols("q q_min gap", nonnegative=True)
    right = rational(c.largest) * (1 - least) * gap
    held = [least <= q, q <= 1]
    return implied_under(held, [least > 0], (1 - q) * gap <= right, EVERY)


def _cases_91(c: SimpleNamespace, name: str, member: int) -> Iterator[judge.Case]:
    """Compare the left with the middle (1) or the right (2)."""
    for one in states(partial(laws_for, name), (1,)):
        q = weights(name, one.setting)
        sums = [Fraction(c.kept) * (1 - v) for v in q]
        least = Fraction(c.largest) * (1 - min(q))
        right = one.spread(sums) if member == 1 else least * one.spread()
        again = partial(_replayed, one, right)
        yield judge.Case(one.where(), one.mean(_apart), right, again)


def _replayed(one: State, right: Fraction) -> tuple[Fraction, Fraction]:
    return one.played(_apart), right


def _apart(one: State, end: After) -> Fraction:
    """Return the error after the pull: with tau = 1 the rows do not move on."""
    return sum(((one.server - x) ** 2 for x in end.rows), Fraction(0))

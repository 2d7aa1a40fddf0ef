"""Lemma 3 of the FOCUS paper, Appendix D.3: the steps (85) to (88).

(85) sums tau - 1 copies of (84) but keeps tau - 1 where (tau - 1)^2 stands. For convex
f_i, as in Lemma 3, local gradients do not grow and (85) and (86) hold all the same; for
f_i that are only smooth they fail under (86)'s own step sizes and many local moves,
and hold under caps on eta L (tau - 1), as Lemmas 3 and 4 have them. (87) holds for
q_i = E[I_i/|S|] and for q_i = p_i, with room: a row is either apart from w or has
moved. It holds so without convexity, too, where gradients are Lipschitz, which the
proofs for f_i that are not convex need; the inequality printed as Assumption 2 does not
give that. With q_i = 1/m of Case 3a it fails, as (73) and (74) do, and with a mean over
rounds that are not empty, if others are.

Conventions: w = xbar_{r tau+1}, S = 1^T grad f(x_{(r+1) tau}); q_i = E[I_i/|S|] with
0/0 = 0 unless a reading has another; rounds are independent, E being given the past. At
tau = 1 the sums are empty and both sides of (85) and (86) vanish.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeAlias

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import (
    EVERY,
    L,
    State,
    T,
    V,
    closed_moves,
    eta,
    gradients_of_rows,
    movers,
    moves_do_not_grow,
    n,
    sum_of_vectors,
    summed_84,
)
from flverify.claims.focus_lemma4 import CHANCE, DEFINED, SOMEBODY
from flverify.claims.rationals import rational
from flverify.claims.stack_norms import ONE_NORM, STALE, either_norm, loosened_norm
from flverify.claims.stale_rows import (
    ALONE,
    BENT,
    CURVED,
    LIPSCHITZ,
    bent_farther,
    searched,
    stale_cases,
)
from flverify.claims.verdict import Finding

Names: TypeAlias = tuple[str, ...]
NAMES = "every tau, dimension and convex L-smooth f_i"


# (85), (86) ----------------------------------------------------------------------

SMOOTH = "(i) f_i smooth, all that (84) uses"
CONVEX = "(ii) f_i strongly convex and eta L (tau-1) <= 1/3, as in Lemma 3"
LEMMA4 = "(iii) Lipschitz gradients and eta L (tau-1) <= 1/8, as in Lemma 4"
BENT_86 = f"(iv) as (iii), {ALONE}"


@claim(
    "focus.lemma3.step85",
    source=Source("focus", "eq. (85)"),
    statement=r"\big(1-2\eta^2L^2(\tau-1)\big)\sum_{k=r\tau+2}^{(r+1)\tau}\|y_{k,i}\|^2"
    r"\le2(\tau-1)L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2",
    proposition="(85) holds for every i in S_r and tau >= 2: for Lipschitz gradients, "
    "by summing (84); or for the f_i and step sizes of Lemma 3.",
    constants={"power": 1, "bound": "2", "lost": "2"},
    twin={"bound": "1/2"},
    no_control="(84) uses smoothness alone while Lemma 3 assumes more; the twin, a "
    "quarter of the bound, fails under every reading",
    free=Free("bound", "1/2", "4", weaker="larger", reading=CONVEX),
)
def summed(c: SimpleNamespace) -> Finding:
    """Judge it with what (84) uses, and with all that Lemma 3 assumes."""
    mended = SimpleNamespace(**{**vars(c), "power": 2})
    smooth = partial(movers, (2, 5, 10, 17), ("1/6", "1/8", "1/2", "1/30"))
    return judge.readings(
        {
            SMOOTH: judge.proof_or_search(
                summed_84(_bound_85(c), n >= 1),
                judge.instances(_sums_85(c, smooth()), "<=", "h = -1..1, tau <= 17"),
            ),
            CONVEX: judge.proof_or_search(
                judge.all_of(
                    {
                        **_convex(eta * L * n <= sympy.Rational(1, 3)),
                        "sum": judge.implied([sympy.Le(T, n * V)], _bound_85(c), NAMES),
                    }
                ),
                judge.instances(
                    _sums_85(c, _capped("1/3", "1 1/2 1/10")), "<=", "h = 1/10..1"
                ),
            ),
        }
    ).corrected(
        r"\nabla f_i\;L\text{-Lipschitz}:\quad\big(1-2\eta^2L^2(\tau-1)^2\big)\sum_k\|"
        r"y_{k,i}\|^2\le2(\tau-1)L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2",
        judge.proof_or_search(
            summed_84(_bound_85(mended), n >= 1),
            judge.instances(_sums_85(mended, smooth()), "<=", "h = -1..1, tau <= 17"),
        ),
    )


def _bound_85(c: SimpleNamespace) -> Any:
    factor = 1 - rational(c.lost) * (eta * L) ** 2 * n**c.power
    return factor * T <= rational(c.bound) * n * V


def _convex(capped: Any) -> dict[str, Finding]:
    """List what gives sum |y_k|^2 <= (tau - 1) L^2 |pulled|^2 for convex f_i."""
    return {
        "eta L <= 2": judge.implied([capped, n >= 1], eta * L <= 2, NAMES),
        "moves do not grow": moves_do_not_grow(),
    }


def _capped(cap: str, curvatures: str) -> Iterator[tuple[State, int]]:
    """List clients with the largest step of a cap on eta L (tau - 1)."""
    for tau in (2, 3, 10, 40):
        yield from movers((tau,), (str(Fraction(cap) / (tau - 1)),), curvatures)


def _sums_85(
    c: SimpleNamespace, movers: Iterator[tuple[State, int]]
) -> Iterator[judge.Case]:
    for one, moves in movers:
        factor = 1 - Fraction(c.lost) * one.step**2 * moves**c.power
        right = Fraction(c.bound) * moves
        left, again = (factor * sum(v**2 for v in y) for y in _both(one))
        yield judge.Case(one.where(), left, right, cohorts.sides(again, right))


def _both(one: State) -> tuple[list[Fraction], list[Fraction]]:
    return one.moves(0), closed_moves(one)


@claim(
    "focus.lemma3.step86",
    source=Source("focus", "eq. (86)"),
    statement=r"\eta\le\frac1{2L\sqrt{\tau-1}}:\quad\sum_{k=r\tau+2}^{(r+1)\tau}"
    r"\|y_{k,i}\|^2\le4(\tau-1)L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2=4(\tau-1)L^2\|"
    r"\bar x_{r\tau+1}-x_{r\tau,i}\|^2",
    proposition="(86) holds for every i in S_r and tau >= 2: for f_i smooth as "
    "Assumption 2 is read, with L-Lipschitz gradients where the reading does not say, "
    "under its own condition or the step sizes of Lemma 4; or for the f_i of Lemma 3.",
    constants={"power": 1, "bound": "4", "cap": "1/2"},
    twin={"bound": "1/2"},
    no_control="the print takes (86) over to f_i that are not convex; the twin, an "
    "eighth of the bound, fails under every reading",
    free=Free("bound", "1/2", "4", weaker="larger", reading=CONVEX),
)
def moves_bounded(c: SimpleNamespace) -> Finding:
    """Judge it under its own condition, and under those of Lemmas 3 and 4."""
    bound = rational(c.bound) * n * V >= T
    own = (eta * L) ** 2 * n**c.power <= rational(c.cap) ** 2
    mended = (eta * L * n) ** 2 <= rational(c.cap) ** 2
    in_lemma4 = eta * L * n <= sympy.Rational(1, 8)
    found = {
        SMOOTH: judge.proof_or_search(
            summed_84(bound, own), _searched_86(c, _own(c, c.power), OWN)
        ),
        CONVEX: judge.proof_or_search(
            judge.all_of(
                {
                    **_convex(own),
                    "sum": judge.implied([sympy.Le(T, n * V)], bound, NAMES),
                    "Lemma 3's cap": judge.implied(
                        [3 * eta * L * n <= 1, n >= 1], own, NAMES
                    ),
                }
            ),
            _searched_86(c, _capped("1/3", "1 1/2 1/10"), "h = 1/10..1, tau <= 40"),
        ),
        LEMMA4: judge.proof_or_search(
            summed_84(bound, in_lemma4),
            _searched_86(c, _capped("1/8", "1 1/2 -1"), "h = -1..1, tau <= 40"),
        ),
        BENT_86: _searched_86(c, _bent_86(), "f = -k x^2/2, L = 1, tau = 2, 3", L=1),
    }
    return judge.readings(found).corrected(
        r"\nabla f_i\;L\text{-Lipschitz, }\eta\le\frac1{2L(\tau-1)}\text{ imply (86)}",
        judge.proof_or_search(
            summed_84(bound, mended), _searched_86(c, _own(c, 2), OWN)
        ),
    )


OWN = "h = -1..1, tau = 2, 5, 10, 17, the largest steps"


def _own(c: SimpleNamespace, power: int) -> Iterator[tuple[State, int]]:
    """List clients with (eta L)^2 (tau-1)^power at most cap^2; tau - 1 is a square."""
    for root in (1, 2, 3, 4):
        step = Fraction(c.cap) / root**power
        yield from movers((root**2 + 1,), (str(step),))


def _bent_86() -> Iterator[tuple[State, int]]:
    """List clients of curvature -k <= 1 = L, with the largest step of Lemma 4."""
    for tau in (2, 3):
        yield from movers((tau,), (str(Fraction(1, 8 * (tau - 1))),), "-3 -10")


def _searched_86(
    c: SimpleNamespace, movers: Iterator[tuple[State, int]], where: str, **smooth: int
) -> Finding:
    cases = []
    for one, moves in movers:
        right = Fraction(c.bound) * moves
        left, again = (sum(v**2 for v in y) for y in _both(one))
        recheck = cohorts.sides(again, right)
        cases.append(judge.Case({**one.where(), **smooth}, left, right, recheck))
    return judge.instances(cases, "<=", where)


# (87), (88) ----------------------------------------------------------------------


@claim(
    "focus.lemma3.step87",
    source=Source("focus", "eq. (87)"),
    statement=r"\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}"
    r"\bar x_{r\tau+1})-S\|^2\le2L^2N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r"
    r"\tau}\|_{(I-Q)}^2+8\eta^2(\tau-1)^2L^4N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x"
    r"}_{r\tau}\|_Q^2",
    proposition="(87) holds for L-smooth, convex f_i, every law of Assumption 1, "
    "uniform where q_i is that of Case 3a, independent rounds, eta L (tau-1) <= 1/3.",
    constants={"far": "2", "moved": "8", "cap": "1/3"},
    twin={"far": "1/2"},
    no_control="q_i has several readings; the twin, 1/4 of a weight, fails under each",
    free=(
        Free("far", "1/2", "4", weaker="larger", reading=DEFINED),
        Free("moved", "1/8", "16", weaker="larger", reading=DEFINED),
        Free("cap", "1/4", "2", weaker="smaller", reading=DEFINED),
    ),
)
def stale_gradients(c: SimpleNamespace) -> Finding:
    """Prove it client by client, with p_i >= q_i; evaluate it on quadratics."""
    sharp = SimpleNamespace(far="1", moved="1", cap="1")
    return judge.readings(_convex_87(c, (*Q_READINGS, SOMEBODY))).corrected(
        r"f_i\text{ convex, }\eta\le\frac1{L(\tau-1)}:\quad\mathbb{E}\|\cdots\|^2\le "
        r"L^2N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_{(I-Q)}^2+\eta^2("
        r"\tau-1)^2L^4N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_Q^2\text{"
        r" for }q_i=\mathbb{E}[I_i/|S|]\text{ and }q_i=p_i,\text{ independent rounds}",
        judge.all_of(_convex_87(sharp, (DEFINED, CHANCE))),
    )


def _convex_87(c: SimpleNamespace, names: Names = Q_READINGS) -> dict[str, Finding]:
    convex = judge.all_of(_convex(eta * L * n <= rational(c.cap)))
    moves = {"local moves": convex}
    return _for_each_q(c, names, moves, 1, CURVED, f"{EVERY}, f_i convex")


@claim(
    "focus.lemma3.step87.smooth",
    source=Source("focus", "eq. (87), as (107) and (114) use it"),
    statement=r"f_i\ L\text{-smooth, }\eta\le\frac1{2L(\tau-1)}:\quad\text{(87)}",
    proposition="(87) holds for f_i that are smooth as Assumption 2 is read, convex or "
    "not, every law of Assumption 1, uniform where q_i is that of Case 3a, independent "
    "rounds and eta L (tau-1) <= 1/2, the step sizes of Appendix D.7.",
    constants={"far": "2", "moved": "8", "cap": "1/2"},
    twin={"far": "1/2"},
    no_control="Assumption 2 and q_i have several readings; the twin, a quarter of the "
    "first weight, fails under each",
    free=(
        Free("far", "1/2", "4", weaker="larger", reading=f"{LIPSCHITZ}; {DEFINED}"),
        Free("moved", "1/8", "16", weaker="larger", reading=f"{LIPSCHITZ}; {DEFINED}"),
        Free("cap", "1/4", "4", weaker="smaller", reading=f"{LIPSCHITZ}; {DEFINED}"),
    ),
)
def stale_smooth_gradients(c: SimpleNamespace) -> Finding:
    """Prove it likewise, with the moves of (84) summed, at most twice as long."""
    found = {f"{LIPSCHITZ}; {name}": one for name, one in _bent_87(c).items()}
    found[f"{ALONE}; any q_i, being 1 for N = 1"] = judge.instances(
        bent_farther(c), "<=", "one client, f = -k x^2/2, L = 1, tau = 2, 3"
    )
    (found[f"{LIPSCHITZ}; {SOMEBODY}"],) = _bent_87(c, (SOMEBODY,)).values()
    sharp = SimpleNamespace(far="1", moved="4", cap="1/2")
    return judge.readings(found).corrected(
        r"\nabla f_i\;L\text{-Lipschitz, }\eta\le\frac1{2L(\tau-1)}:\quad\mathbb{E}\|"
        r"\cdots\|^2\le L^2N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_{(I-Q"
        r")}^2+4\eta^2(\tau-1)^2L^4N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}"
        r"\|_Q^2\text{ for }q_i=\mathbb{E}[I_i/|S|]\text{ and }q_i=p_i,\text{ "
        r"independent rounds}",
        judge.all_of(_bent_87(sharp, (DEFINED, CHANCE))),
    )


def _bent_87(c: SimpleNamespace, names: Names = Q_READINGS) -> dict[str, Finding]:
    moves = {
        "local moves": summed_84(4 * n * V >= T, eta * L * n <= rational(c.cap)),
    }
    return _for_each_q(c, names, moves, 4, BENT, EVERY)


def _for_each_q(
    c: SimpleNamespace,
    names: Names,
    moves: dict[str, Finding],
    most: int,
    f: Any,
    scope: str,
) -> dict[str, Finding]:
    """Judge (87) for each q_i if sum |y_k|^2 <= most (tau - 1) L^2 |pulled|^2."""
    p, q, gap, s = sympy.symbols("p q gap s", nonnegative=True)  # eta L (tau - 1)
    rows = 1  # (83), line 1, has it before L^2 N
    right = rational(c.far) * (1 - q) + rational(c.moved) * s**2 * q
    bound = rows * ((1 - p) * gap + most * s**2 * p * gap) <= right * gap
    held = [p <= 1, s <= rational(c.cap)]
    gone = sympy.Symbol("gone", nonnegative=True)  # |grad f_i(w) - grad f_i(x_i)|^2
    moved = [gone <= (eta * L) ** 2 * n * T, most * n * V >= T]
    s2 = most * (eta * L * n) ** 2
    given = {DEFINED: q <= p, CHANCE: sympy.Eq(q, p)}  # E[I_i/|S|] <= E I_i

    def judged(name: str) -> Finding:
        search = judge.instances(stale_cases(c, name, f), "<=", searched(f))
        if name not in given:
            return search
        proof = {
            "(83), line 1": gradients_of_rows(rows),
            "per client": judge.implied([*held, given[name]], bound, EVERY),
            "a sum": sum_of_vectors("1"),
            "moved": judge.implied(moved, gone <= s2 * V, scope),
            **moves,
        }
        return judge.proof_or_search(judge.all_of(proof), search)

    return {name: judged(name) for name in names}


@claim(
    "focus.lemma3.step88a",
    source=Source("focus", "eq. (88), line 1"),
    statement=r"\le\big(2L^2N+8\eta^2(\tau-1)^2L^4N\big)\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|^2",
    proposition="For any eta and weights q_i between 0 and 1, the right side of (87) "
    "is at most (2 + 8 eta^2 (tau-1)^2 L^2) L^2 N ||1 w - x_{r tau}||^2, whose norm is "
    "printed without the F of (83).",
    constants={"far": "2", "moved": "8"},
    twin={"far": "1"},
    no_control="Appendix B has two norms, and the line drops an F; the twin, half of "
    "the first weight, fails under both readings",
    free=(
        Free("far", "1", "4", weaker="larger", reading=ONE_NORM),
        Free("moved", "1/8", "16", weaker="larger", reading=ONE_NORM),
    ),
)
def loosened(c: SimpleNamespace) -> Finding:
    """Compare the terms of one client; for the induced norm rows along axes."""
    q, gap, s = sympy.symbols("q gap s", nonnegative=True)
    left = 2 * (1 - q) * gap + 8 * s**2 * q * gap
    right = rational(c.far) * gap + rational(c.moved) * s**2 * gap
    one = judge.implied([q <= 1], left <= right, EVERY)
    found = either_norm(one, loosened_norm(c.far, c.moved))
    return found.corrected(rf"\le{STALE}", one)


@claim(
    "focus.lemma3.step88b",
    source=Source("focus", "eq. (88), line 2"),
    statement=r"\eta\le\frac1{3(\tau-1)L}:\quad\le3L^2N\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|^2",
    proposition="2 + 8 (eta L (tau-1))^2 <= 3 if eta L (tau-1) <= 1/3.",
    constants={"cap": "1/3", "bound": "3"},
    twin={"bound": "5/2"},
    free=(
        Free("cap", "1/4", "1", weaker="smaller"),
        Free("bound", "2", "4", weaker="larger"),
    ),
    sharp=Sharp(
        r"\eta\le\frac1{3(\tau-1)L}:\quad\le<bound>\,L^2N\|\mathbb{1}\bar x_{r\tau+1}-"
        r"\boldsymbol{x}_{r\tau}\|^2",
        {"cap": "1/3", "bound": "26/9"},
    ),
)
def three(c: SimpleNamespace) -> Finding:
    """Compare the factors of L^2 N."""
    s = sympy.Symbol("s", nonnegative=True)
    return judge.implied(
        [s <= rational(c.cap)], 2 + 8 * s**2 <= rational(c.bound), EVERY
    )

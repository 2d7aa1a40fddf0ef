"""Lemma 4 of the FOCUS paper, Appendix D.4: the lemma, and its collection (94)-(96).

The clients' distance to the server shrinks by q_min/3 up to a multiple of |grad F|^2.
The server moves N rows at once, a factor N that (92) loses, and the lemma fails without
it: with many clients for q_i = E[I_i/|S|] and q_i = p_i, with few participants for
q_i = 1/m, and along runs whose models start equal as well. At q_min = 1 the chosen rho
is 0, which (90) excludes; (94) holds there all the same, as the first term of (90) is 0
and every rho near 0 will do. (95) needs sqrt 2 more below its second cap, and (96)
doubles where it should halve. With N^3 in place of N^2 and L N of L sqrt N the lemma
holds, with the numbers as printed: a client is absent or moves by itself, so that less
is lost than in (90).

Conventions: w_r = xbar_{r tau+1}, B_r = ||1 w_r - x_{r tau}||_F^2; E is over the cohort
of round r-1, given w_{r-1} and the rows x_{(r-1) tau}, which may be any (at r = 1 they
are the start), and rounds are independent. q_i = E[I_i/|S|] has 0/0 = 0. (90)-(93) have
files of their own.
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
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import L, N, eta, n
from flverify.claims.focus_lemma4 import MENDED, PRINTED, Bound, steps
from flverify.claims.focus_lemma4_proof import NUMBERS, proof, q
from flverify.claims.focus_theorem1_chain_searches import lemma_4_along
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

UNIT = "every q_min in (0, 1]"
B, OLD, G = sympy.symbols("B B_old G", nonnegative=True)  # B_r, B_{r-1}, |grad F|^2

# Lemma 4 -------------------------------------------------------------------------

MEAN, EACH = "(i) E|grad F|^2", "(ii) |grad F|^2 at each outcome"
ALONG = "(iii) both sides averaged along runs from equal models"
REPAIRED = {
    "caps": MENDED.caps,
    "gradient": MENDED.gradient,
    "power": MENDED.power,
    "case_3a": "1/N",
}
SEARCHED = (
    "N = 1..9; h of either sign; tau = 1, 2, 3, 5, 20; full, uniform, rare, all or "
    "none; the largest step; all states"
)


@claim(
    "focus.lemma4",
    source=Source("focus", "Lemma 4, eq. (89)"),
    statement=r"\eta\le\min\Big\{\frac{q_{\min}^{3/2}}{8L\sqrt N},\frac{q_{\min}^{3/2}}"
    r"{8L(\tau-1)}\Big\}:\quad\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r"
    r"\tau}\|_F^2\le\Big(1-\frac{q_{\min}}3\Big)\|\mathbb{1}\bar x_{(r-1)\tau+1}-"
    r"\boldsymbol{x}_{(r-1)\tau}\|_F^2+\frac{16\eta^2N^2}{3q_{\min}}\|\nabla F("
    r"\bar x_{r\tau+1})\|^2",
    proposition="(89) holds for all L-smooth f_i, every law of Assumption 1, "
    "independent rounds, every w_{r-1}, all rows x_{(r-1) tau}, or those of runs whose "
    "models start equal, and every step size inside the printed caps.",
    constants={**vars(PRINTED), "case_3a": "1/m"},
    twin=REPAIRED,
    free=Free(
        "contraction",
        "1/3",
        "2",
        weaker="smaller",
        given=REPAIRED,
        reading=f"{Q_READINGS[0]}; {MEAN}",
    ),
)
def lemma4(c: SimpleNamespace) -> Finding:
    """Search (89) for each q_i and gradient; prove what the constants allow."""
    named = [(name, MEAN, False) for name in Q_READINGS]
    named.append((Q_READINGS[0], EACH, True))
    found = {
        f"{name}; {gradient}": _judged(c, name, outcomes=outcomes)
        for name, gradient, outcomes in named
    }
    bound = _bound(c)
    for name in Q_READINGS:
        found[f"{name}; {ALONG}"] = lemma_4_along(bound, name, c.case_3a)
    mended = SimpleNamespace(**{**vars(c), **REPAIRED})
    return judge.readings(found).corrected(
        r"\eta\le\min\Big\{\frac{q^{3/2}}{8LN},\frac{q^{3/2}}{8L(\tau-1)}\Big\}:\ "
        r"\mathbb{E}B_r\le\Big(1-\frac q3\Big)B_{r-1}+\frac{16\eta^2N^3}{3q}\,"
        r"\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2,\quad0<q\le\min_ip_i,\;"
        r"\nabla f_i\;L\text{-Lipschitz, independent rounds}",
        _judged(mended, Q_READINGS[2], outcomes=False),
    )


def _judged(c: SimpleNamespace, reading: str, *, outcomes: bool) -> Finding:
    bound = _bound(c)
    listed = steps(bound, reading, c.case_3a, outcomes=outcomes)
    search = judge.one_step(listed, SEARCHED)
    if outcomes:
        return search
    return judge.proof_or_search(proof(bound), search)


def _bound(c: SimpleNamespace) -> Bound:
    return Bound(c.caps, c.contraction, c.gradient, c.power)


# rho, (94) -----------------------------------------------------------------------

BELOW_ONE = "0 < q_min < 1"


@claim(
    "focus.lemma4.rho",
    source=Source("focus", "Appendix D.4, text before (94)"),
    statement=r"\rho=\frac{1-q_{\min}}{1-q_{\min}/2}=1-\frac{q_{\min}}{2-q_{\min}}:"
    r"\quad\frac1\rho(1-q_{\min})=1-\frac{q_{\min}}2,\quad\frac1{1-\rho}=\frac{2-q_{"
    r"\min}}{q_{\min}}",
    proposition="The two forms of rho agree, rho lies in (0, 1) as (90) asks, and its "
    "two uses in (94) are as printed.",
    constants={"half": "1/2"},
    twin={"half": "1/3"},
    no_control="Assumption 1 allows q_min = 1, for which only N = 1 will do if q_i = "
    "E[I_i/|S|]; the twin, another rho, fails in both cases",
    reading_twins={f"case {BELOW_ONE} / 0 < rho < 1": {"half": "2"}},
    exact=("half",),
)
def chosen_rho(c: SimpleNamespace) -> Finding:
    """Compare them as rational functions of q_min; see where rho is at q_min = 1."""
    rho = (1 - q) / (1 - rational(c.half) * q)
    at_one = judge.implied([sympy.Eq(q, 1)], rho > 0, "q_min = 1")
    one = "case q_min = 1, of N = 1, of q_i = p_i = 1 and of m = 1 in Case 3a"
    return judge.readings({f"case {BELOW_ONE}": _rho_used(rho), one: at_one})


def _rho_used(rho: Any) -> Finding:
    """See what (94) makes of it for 0 < q_min < 1."""
    pairs = [
        ("rho", rho, 1 - q / (2 - q)),
        ("(1 - q)/rho", (1 - q) / rho, 1 - q / 2),
        ("1/(1 - rho)", 1 / (1 - rho), (2 - q) / q),
    ]
    open_unit = sympy.And(rho > 0, rho < 1)
    return judge.all_of(
        {
            "algebra": judge.identity(pairs, BELOW_ONE),
            "0 < rho < 1": judge.implied([q < 1], open_unit, BELOW_ONE),
        }
    )


@claim(
    "focus.lemma4.step94a-b",
    source=Source("focus", "eq. (94)"),
    statement=r"B_r\le\Big(1-\frac q2\Big)B_{r-1}+\frac{4\eta^2NL^2(2-q)}qB_r+\frac{4"
    r"\eta^2N^2(2-q)}q\|\nabla F(w_r)\|^2+\frac{8\eta^2(\tau-1)^2L^2(2-q)}qB_r\le"
    r"\Big(1-\frac q2\Big)B_{r-1}+\frac{8\eta^2NL^2}qB_r+\frac{8\eta^2N^2}q\|"
    r"\nabla F(w_r)\|^2+\frac{16\eta^2(\tau-1)^2L^2}qB_r",
    proposition="(91)-(93), taken as given, and the chosen rho turn (90) into line 1, "
    "and line 1 is at most line 2; (90) holds for ||1 ybar||^2 of N rows, (92) for "
    "|ybar|^2, so that for N > 1 no reading makes all that is given true.",
    given={
        "(90)": ("focus.lemma4.step90a", "focus.lemma4.step90b"),
        "(91)-(93)": (
            "focus.lemma4.step91",
            "focus.lemma4.step92a",
            "focus.lemma4.step92b",
            "focus.lemma4.step93a",
            "focus.lemma4.step93b-c",
        ),
    },
    constants={
        "first": "1/2",
        "rows": "4",
        "slope": "4",
        "moves": "8",
        "rows_2": "8",
        "slope_2": "8",
        "moves_2": "16",
    },
    twin={"moves_2": "8"},
    reading_twins={"line 1": {"moves": "4"}},
    free=(
        Free("rows_2", "4", "16", weaker="larger"),
        Free("slope_2", "4", "16", weaker="larger"),
        Free("moves_2", "8", "32", weaker="larger"),
    ),
    exact=("first", "rows", "slope", "moves"),
)
def substituted(c: SimpleNamespace) -> Finding:
    """Substitute; then use 2 - q <= 2."""
    rho = (1 - q) / (1 - q / 2)
    moved = 4 * n**2 * L**2 * B
    two = 2 * eta**2 / (1 - rho)
    given = (1 - q) * OLD / rho + two * (2 * N * L**2 * B + 2 * N**2 * G) + two * moved
    line1 = _line_94(c.first, (c.rows, c.slope, c.moves), (2 - q) / q)
    line2 = _line_94(c.first, (c.rows_2, c.slope_2, c.moves_2), 1 / q)
    return judge.all_of(
        {
            "line 1": judge.identity([("line 1", given, line1)], NUMBERS),
            "line 2": judge.implied([q <= 1, N >= 1], line1 <= line2, NUMBERS),
        }
    )


def _line_94(first: str, factors: tuple[str, str, str], common: Any) -> Any:
    """Return a line of (94)."""
    rows, slope, moves = map(rational, factors)
    out = (1 - rational(first) * q) * OLD + rows * eta**2 * N * L**2 * common * B
    out += slope * eta**2 * N**2 * common * G
    return out + moves * eta**2 * n**2 * L**2 * common * B


# (95), (96) ----------------------------------------------------------------------

STEP_95 = {"moves": "1/128", "by_itself": ()}  # a step that follows


@claim(
    "focus.lemma4.step95",
    source=Source("focus", "eq. (95)"),
    statement=r"\eta\le\min\Big\{\frac{q^{3/2}}{8L\sqrt N},\frac{q^{3/2}}{8L(\tau-1)}"
    r"\Big\}:\quad\Big(1-\frac{q^2}4\Big)B_r\le\Big(1-\frac q2\Big)B_{r-1}+\frac{8"
    r"\eta^2N^2}q\|\nabla F(w_r)\|^2",
    proposition="(i) Numbers that satisfy line 2 of (94) and the caps satisfy (95); "
    "(ii) (95) holds inside the caps, wherever it is from, for all that Lemma 4 is "
    "about.",
    given={"line 2 of (94)": "focus.lemma4.step94a-b"},
    unaided="(ii) by itself",
    constants={
        "rows": "1/64",
        "moves": "1/64",
        "left": "1/4",
        "by_itself": Q_READINGS,
        "case_3a": "1/m",
    },
    twin=STEP_95,
    free=(
        Free("moves", "1/512", "1/64", weaker="smaller", given={"by_itself": ()}),
        Free("left", "1/4", "1/2", weaker="larger", given={"by_itself": ()}),
    ),
)
def moved_left(c: SimpleNamespace) -> Finding:
    """Move the B_r terms to the left; squares of the caps are c q^3."""
    statement = (
        r"\text{the same for }\eta\le\min\Big\{\frac{q^{3/2}}{8L\sqrt N},\frac{q^{3/2}}"
        r"{8\sqrt2L(\tau-1)}\Big\},\text{ given line 2 of (94)}"
    )
    mended = SimpleNamespace(**{**vars(c), **STEP_95})
    found = {"(i) from line 2 of (94)": _moved(c)}
    for name in c.by_itself:
        bound = Bound(PRINTED.caps, "1/2", "8", 2)
        listed = steps(bound, name, c.case_3a, outcomes=False, left=c.left)
        found[f"(ii) by itself; {name}"] = judge.one_step(listed, SEARCHED)
    return judge.readings(found).corrected(statement, _moved(mended))


def _moved(c: SimpleNamespace) -> Finding:
    rows, moves = sympy.symbols("rows moves", nonnegative=True)
    held = [rows <= rational(c.rows) * q**3, moves <= rational(c.moves) * q**3, q <= 1]
    left = (8 * rows + 16 * moves) / q <= rational(c.left) * q**2
    cases = judge.instances(
        _cases_95(c), "<=", "q = 1, 1/4; N = 1, 4, 25; tau = 1, 2, 5"
    )
    return judge.proof_or_search(judge.implied(held, left, NUMBERS), cases)


def _cases_95(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Take L = 1, the largest step, and B_r with equality in line 2 of (94)."""
    grid = product((Fraction(1), Fraction(1, 4)), (1, 4, 25), (1, 2, 5), (0, 1))
    for least, size, tau, slope in grid:
        square = _square_step(c, least, size, tau - 1)
        new = _equality_94(least, size, tau - 1, square, slope)
        gradient = 8 * square * size**2 / least * slope
        left = (1 - Fraction(c.left) * least**2) * new
        right = (1 - least / 2) + gradient
        where = {
            "q_min": least,
            "N": size,
            "tau": tau,
            "L": 1,
            "eta^2": square,
            "B_{r-1}": 1,
            "|grad F|^2": slope,
            "B_r": new,
        }
        yield judge.Case(where, left, right, partial(_again_95, c, where))


def _square_step(
    c: SimpleNamespace, least: Fraction, size: int, moves: int
) -> Fraction:
    """Return eta^2 at the smaller cap; no second cap at tau = 1."""
    caps = [Fraction(c.rows) * least**3 / size]
    if moves:
        caps.append(Fraction(c.moves) * least**3 / moves**2)
    return min(caps)


def _equality_94(
    least: Fraction, size: int, moves: int, square: Fraction, slope: int
) -> Fraction:
    """Return B_r from B_{r-1} = 1."""
    kept = 1 - (8 * size + 16 * moves**2) * square / least
    return (1 - least / 2 + 8 * square * size**2 / least * slope) / kept


def _again_95(c: SimpleNamespace, at: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Check (94) and the caps at the numbers, then both sides of (95) from them.

    What is moved to the left costs B_r; without it (94) would be an equality.
    """
    least, size, moves, square = at["q_min"], at["N"], at["tau"] - 1, at["eta^2"]
    new, slope = at["B_r"], at["|grad F|^2"]
    within = square * size <= Fraction(c.rows) * least**3
    within &= square * moves**2 <= Fraction(c.moves) * least**3
    terms = [1 - least / 2, 8 * square * size**2 * slope / least]
    whole = sum(terms) + 8 * square * size * new / least
    whole += 16 * square * moves**2 * new / least
    if not within or new > whole:
        return Fraction(0), Fraction(1)  # not an instance: deny the violation
    return new - Fraction(c.left) * least * least * new, sum(terms)


@claim(
    "focus.lemma4.step96a",
    source=Source("focus", "eq. (96), first coefficient"),
    statement=r"\frac{1-q/2}{1-q^2/4}=\frac1{1+q/2}\le1-\frac q3",
    proposition="Both relations hold for every q in (0, 1].",
    constants={"share": "1/3", "factor": "1/2"},
    twin={"share": "1/2"},
    reading_twins={"equality": {"factor": "1/3"}},
    free=Free("share", "1/6", "1/2", weaker="smaller"),
    exact=("factor",),
)
def first_coefficient(c: SimpleNamespace) -> Finding:
    """Cancel, then compare."""
    quotient = (1 - q / 2) / (1 - q**2 / 4)
    middle = 1 / (1 + rational(c.factor) * q)
    pair = ("quotient", quotient, middle)
    bound = middle <= 1 - rational(c.share) * q
    return judge.all_of(
        {
            "equality": judge.identity([pair], UNIT),
            "inequality": judge.implied([q <= 1], bound, UNIT),
        }
    )


@claim(
    "focus.lemma4.step96b",
    source=Source("focus", "eq. (96), second coefficient"),
    statement=r"\frac{8\eta^2N^2/q}{1-q^2/4}\le\frac{16\eta^2N^2}{3q}",
    proposition="8/(1 - q^2/4) <= 16/3 for every q in (0, 1].",
    constants={"bound": "16/3"},
    twin={"bound": "32/3"},
    free=Free("bound", "16/3", "16", weaker="larger"),
)
def second_coefficient(c: SimpleNamespace) -> Finding:
    """Compare the factors of eta^2 N^2/q."""
    return _second(c.bound).corrected(
        r"\frac{8\eta^2N^2/q}{1-q^2/4}\le\frac{32\eta^2N^2}{3q}", _second("32/3")
    )


def _second(bound: str) -> Finding:
    left = 8 / (1 - q**2 / 4)
    return judge.implied([q <= 1], left <= rational(bound), UNIT)

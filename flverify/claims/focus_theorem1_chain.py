r"""The chains of Appendix D of the FOCUS paper with its Lemmas 3 and 4 mended.

(97)-(102), (103)-(110) and (111)-(121) go on as in print from

    A_{r+1} <= rate A_r - drop D_r + error B_r              (Lemma 3)
    F(w_{r+1}) <= F(w_r) - (eta N/4) G_r + 4 eta L^2 B_r    ((105), a quarter for one)
    B_r <= kept B_{r-1} + push G_r,  G_r <= 2 L D_r         (Lemma 4)

where A_r = E|w_r - x*|^2, D_r = E F(w_r) - F*, B_r = E||1 w_r - x_{r tau}||^2 and
G_r = E|grad F(w_r)|^2. The lemmas are links of the proofs, with their own proofs from
`focus_lemma3_proof` and `focus_lemma4_proof`. They hold given all that came before a
round; as rounds are independent and of one law, client i is in the cohort of any round
with chance p_i >= q whatever came before, so that expectations may be taken on both
sides. Where f_i need not be convex, (87) is shown for L-smooth ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import sympy

from flverify._core.errors import InputError
from flverify.claims import (
    focus_lemma3_proof,
    focus_lemma4,
    focus_lemma4_proof,
    judge,
)
from flverify.claims import focus_theorem1_round as one_round
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import gradient_and_gap, gradients_of_rows
from flverify.claims.focus_lemma3_proof import Descent
from flverify.claims.focus_lemma4 import Bound
from flverify.claims.focus_theorem1_gradients import GAP, SLOPE, C, G, gap, gap_of_rows
from flverify.claims.focus_theorem1_rates import COEFFICIENTS, NUMBERS, RUNS
from flverify.claims.focus_theorem1_round import START, Moves, Parts
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    Relations,
    beta,
    eta,
    implied,
    q,
    stale,
)
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

# by the constant of a claim that says which
LEMMAS_3: dict[str, Descent] = {
    "printed": focus_lemma3_proof.PRINTED,
    "mended": focus_lemma3_proof.MENDED,
}
LEMMAS_4: dict[str, Bound] = {
    "printed": focus_lemma4.PRINTED,
    "mended": focus_lemma4.MENDED,
}
MENDED_4 = LEMMAS_4["mended"]
CAPS_25 = {
    "1/(L (tau-1))": "1/2",
    "q^(3/2)/(L sqrt N)": "1/8",
    "q/(L sqrt(2 N))": "1/16",
    "1/(L N)": "1/4",
}
CAPS_115 = {"1/(L N)": "1/4", "1/(L (tau-1))": "1/2"}

# what the mended chains take as given, in LaTeX
CHANCES = r"0<q\le\min_ip_i\text{, such as }\min_i\mathbb{E}[I_i/|S|];\;" + START
SMOOTH = r"\nabla f_i\;L\text{-Lipschitz},\;" + CHANCES
CONVEX = r"f_i\;\mu\text{-strongly convex},\;" + SMOOTH

# the mended Lemma 4, both sides averaged
CAPS_4 = r"\eta\le\min\Big\{\frac{q^{3/2}}{8LN},\frac{q^{3/2}}{8L(\tau-1)}\Big\}"
LINE_4 = (
    r"B_r\le\Big(1-\frac q3\Big)B_{r-1}+\frac{16\eta^2N^3}{3q}\,\mathbb{E}\|\nabla F("
    r"\bar x_{r\tau+1})\|^2"
)
ERROR = r"\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_F^2"
LETTERS = (
    r"r\ge1,\;A_r=\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2,\;B_r=\mathbb{E}F(\bar "
    r"x_{r\tau+1}),\;C_r=" + ERROR
)

A, A_next, B, B_before, D = sympy.symbols("A A_next B B_before D", nonnegative=True)
F, F_next = sympy.symbols("F F_next", real=True)
SHORT = Moves("1/2", "9/16")  # local moves of L-smooth f_i
# of eta N |grad F|^2 (105) leaves a quarter where eta L N is less than one
QUARTER = sympy.Rational(1, 4)
FOUR = 4  # eta L^2 B is what (108) and (115) make of (87)
FALL, RISE = 4, 16  # what (115) has before (F - F_next)/(eta N) and before L^2 B/N
THRICE = 3  # 1 - kept is q/THRICE, by which sums of B are divided


def proved(*links: Parts) -> Finding:
    """Judge all links of a chain, which hold for every run.

    Raises
    ------
    InputError
        If two links have one name, so that one of them would not be judged.

    Examples
    --------
    >>> proved(lemma_3(), lemma_4()).verdict
    <Verdict.PROVED: 'PROVED'>
    """
    names = [name for some in links for name in some]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(
            f"links must have names of their own; got {sorted(twice)} twice; rename "
            "one of each."
        )
    parts = {name: part for some in links for name, part in some.items()}
    return judge.all_of(parts, scope=RUNS, argument=__doc__)


def lemma_3() -> Parts:
    """Judge the mended Lemma 3."""
    return {"Lemma 3, mended": focus_lemma3_proof.proof(LEMMAS_3["mended"])}


def lemma_4() -> Parts:
    """Judge the mended Lemma 4, and that E[I_i/|S|] is one of the q it is for."""
    _, averaging = one_round.chances(Q_READINGS[0])
    proof = focus_lemma4_proof.proof(MENDED_4)
    return {"Lemma 4, mended": proof, "E[I_i/|S|] <= p_i": averaging}


# (97)-(102) ----------------------------------------------------------------------


def sign(lemma_3: Descent, lemma_4: Bound) -> Any:
    """Say that D has no positive factor in the sum of (100) and (101)."""
    unit = 2 * eta * N
    gained = sympy.cancel(SLOPE * L * lemma_4.push / unit)
    return gained <= sympy.cancel(lemma_3.drop(N) / unit)


@cache
def distances_shrink() -> Parts:
    """Judge V' <= k V, V = A + W B_before and W = 1 - y, for any coefficients."""
    k, d, y, K, P, m, W = sympy.symbols("k d y K P m W", nonnegative=True)
    line_4 = [K * B_before + P * G >= B, m * D >= G, P * m <= d]
    line_99 = K * B_before + d * D >= B
    line_102 = k * A + K * B_before
    lines = [A_next <= k * A - d * D + y * B, line_99]
    rules = {
        "(99)": (line_4, line_99),
        "(102), first line": (lines, A_next + (1 - y) * B <= line_102),
        "(102), last line": ([k * W >= K], line_102 <= k * (A + W * B_before)),
    }
    return {
        "|grad F|^2 <= 2 L D": gradient_and_gap(SLOPE),
        **{name: judge.implied(*rule, COEFFICIENTS) for name, rule in rules.items()},
    }


# (103)-(108), (111)-(115) --------------------------------------------------------


def asked_by_values() -> dict[str, Any]:
    """Say what (105), (108) and (115) ask of the step size."""
    return {
        "(105)": eta * L * N <= QUARTER,
        "the local moves": SHORT.within,
        "4 L^2 N": stale() / N <= FOUR * L**2,
    }


@cache
def stale_gradients() -> Parts:
    """E|N g - S|^2 <= 4 L^2 N B for L-smooth f_i, by (87) with both weights 1."""
    held = [gap_of_rows(), SHORT.rho * B >= C, q <= 1]
    most = [gap <= stale() * B, stale() / N <= FOUR * L**2]
    return {
        "the round": one_round.the_round(),
        **SHORT.judged(),
        "|N g - S|^2 <= L^2 N C": gradients_of_rows(GAP),
        "(87), weights 1": judge.implied(held, gap <= stale() * B, NUMBERS),
        "|N g - S|^2 <= 4 L^2 N B": judge.implied(
            most, gap <= FOUR * L**2 * N * B, NUMBERS
        ),
    }


@cache
def value_line() -> Parts:
    """-eta <g, S> + (eta^2 L/2) |S|^2 <= (eta/N) |N g - S|^2 - (eta N/4) |g|^2."""
    g, S = sympy.symbols("g S", real=True)  # coordinates
    cross = -eta * g * S + eta**2 * L / 2 * S**2
    right = eta / N * (N * g - S) ** 2 - QUARTER * eta * N * g**2
    line = implied([eta * L * N <= QUARTER], cross <= right, NUMBERS)
    return {**stale_gradients(), "(103)-(105)": line}


def _moved(before: Any, after: Any) -> Relations:
    """Say what `value_line` gives for F at w and at w - eta S, F being L-smooth."""
    cross = sympy.Symbol("cross", real=True)  # -eta <g, S> + (eta^2 L/2) |S|^2
    line = cross <= eta / N * gap - QUARTER * eta * N * G
    return [after <= before + cross, line, gap <= FOUR * L**2 * N * B]


@cache
def value_recursion(t: Any) -> Parts:
    """Judge (108) with 1 - t eta beta N and what is left of |grad F|^2, t/2 spent."""
    held = [*_moved(A, A_next), 2 * beta * A <= G]
    right = (1 - t * eta * beta * N) * A + FOUR * eta * L**2 * B
    right -= (QUARTER - t / 2) * eta * N * G
    return {
        **value_line(),
        "(106)-(108)": judge.implied(held, A_next <= right, NUMBERS),
    }


@cache
def gradient_recursion() -> Parts:
    """Judge (115)."""
    right = FALL / (eta * N) * (F - F_next) + RISE * L**2 / N * B
    return {
        **value_line(),
        "(115)": judge.implied(_moved(F, F_next), right >= G, NUMBERS),
    }


# (116)-(121) ---------------------------------------------------------------------


def square(lemma_4: Bound) -> Any:
    """Return x of (121): eta^2 L^2 N/q^2 in print, one N more mended."""
    return eta**2 * L**2 * N ** (lemma_4.power - 1) / q**2


def square_inside(caps: Mapping[str, str], lemma_4: Bound, x: Any) -> list[Any]:
    """Bound x of (121) by the cap on eta that it is the square of, if there is one."""
    name, times = {2: ("q/(L sqrt(2 N))", 2), 3: ("q/(L N)", 1)}[lemma_4.power]
    return [times * x <= rational(caps[name]) ** 2] if name in caps else []


def if_needed(known: list[Any], more: list[Any], claimed: Any, scope: str) -> Finding:
    """Judge an implication for every L, with more hypotheses where it fails without."""
    found = implied(known, claimed, scope, scaled=False)
    if found.passes() or not more:
        return found
    return implied([*known, *more], claimed, scope, scaled=False)


def returned(lemma_4: Bound) -> Any:
    """Return the factor of x sum A in (L^2/N) sum C: 16, in print and mended."""
    return THRICE * rational(lemma_4.gradient)


def errors_summed(lemma_4: Bound) -> Parts:
    """(L^2/N) sum C <= 3 L^2 C_0/(q N) + factor x sum A, as (q/3) sum C <= C_0 + ..."""
    total, lagged, slopes, later = sympy.symbols("C C_lag A A_later", nonnegative=True)
    first = sympy.Symbol("C_0", nonnegative=True)
    known = [
        total <= first + lemma_4.kept * lagged + lemma_4.push * later,
        lagged <= total,
        later <= slopes,
        q <= 1,
    ]
    solved = total <= THRICE / q * (first + lemma_4.push * slopes)
    scaled = L**2 / N * THRICE / q * lemma_4.push
    pair = ("(L^2/N) sum C", scaled, returned(lemma_4) * square(lemma_4))
    return {
        "shifting the sum": judge.implied(known, solved, NUMBERS),
        "x": judge.identity([pair], NUMBERS),
    }

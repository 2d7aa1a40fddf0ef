r"""Appendix D.7 of the FOCUS paper: the sums over rounds in the proof of (25).

From the recursions (117) and (118) on, see `focus_theorem1_nonconvex.py` for the steps
before. In (119) and (121) factors 1/R are misplaced: one too many beside the gradients
of (119), one missing beside F(xbar_1) - F(xbar_R) in (121), so that the lines do not
follow from one another although the last one follows from (117) and (120). C_0 = 0
depends on how the run is started, see `focus_theorem1_nonconvex_start.py`; without it
the bound of (25) has one term more. Corrections that need (118) are from the mended
Lemma 4, with its proof; it has one N more, and so have their caps.

Conventions: A_r = E|grad F(w_r)|^2, B_r = E F(w_r), C_r = E||1 w_r - x_{r tau}||^2,
w_r = xbar_{r tau+1}, xbar* a minimiser of F. Statements for every R are proved with
the sums as symbols, which summing over r allows by induction, and where a line speaks
of the terms of its sums also for R = 2, 3, 4 written out. Monomials in eta, L, N and q
are symbols of their own where their values do not matter.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import focus_theorem1_chain as chain
from flverify.claims import focus_theorem1_chain_searches as searches
from flverify.claims import judge
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_theorem1_chain import LEMMAS_4, MENDED_4
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    R,
    asked_by,
    conditions,
    eta,
    for_any_q,
    for_each_q,
    implied_under,
    q,
    summed,
)
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

ROUNDS = (2, 3, 4)  # for R = 1 the sums from r = 1 on are empty
EVERY_R = "every R >= 1, eta, L > 0, N >= 1, q_min in (0, 1]"

# 1 - q/3 and 16 eta^2 N^2/(3 q), the factors of (118), or of the mended Lemma 4
kept, push = sympy.symbols("kept push", positive=True)
KNOWN = [sympy.Rational(2, 3) <= kept, kept < 1]

total_a = sympy.Symbol("total_a", nonnegative=True)  # r = 0, ..., R - 1
later_a, later_c, lagged_c, first_a = sympy.symbols(
    "later_a later_c lagged_c first_a", nonnegative=True
)  # r = 1, ..., R - 1; C_{r-1}; first_a


class Terms:
    """C_0 = 0, C_1, ... and first_a, A_1, ... of R rounds, with (118)."""

    def __init__(self, rounds: int) -> None:
        names = range(rounds)
        self.A = [sympy.Symbol(f"A_{r}", nonnegative=True) for r in names]
        self.C = [sympy.Symbol(f"C_{r}", nonnegative=True) for r in names]
        self.C[0] = sympy.Integer(0)
        self.known = [
            *KNOWN,
            *(self.C[r] <= kept * self.C[r - 1] + push * self.A[r] for r in names[1:]),
        ]


ITSELF = "(ii) by itself"


@claim(
    "focus.thm1.nc.step119a",
    source=Source("focus", "Appendix D.7, eq. (119), first line"),
    statement=r"\frac1R\sum_{r=0}^{R-1}C_r=\frac1R\sum_{r=1}^{R-1}C_r\le\Big(1-\frac{q_"
    r"{\min}}{3}\Big)\sum_{r=1}^{R-1}C_{r-1}+\frac{16\eta^2N^2}{3Rq_{\min}}\frac1R\sum_"
    r"{r=1}^{R-1}A_r",
    proposition="With C_0 = 0 the first line of (119) holds for every R: (i) it is "
    "from (118); (ii) it is true inside the caps of (25), wherever it is from. Below, "
    "kept and push are the two factors of (118).",
    given={"(118)": "focus.thm1.nc.step116-118"},
    unaided=ITSELF,
    constants={"1/R beside C": 0, "1/R beside A": 2},
    twin={"1/R beside A": 4},
    no_control="with its factors 1/R misplaced the line does not follow from (118), "
    "and may be true all the same; the twin, 1/R^2 less, fails under every reading",
    reading_twins={f"{ITSELF}; {Q_READINGS[0]}": {"1/R beside A": 4}},
    mended_from={},
)
def first_sum(c: SimpleNamespace) -> Finding:
    """Sum (118) over r, as printed and with 1/R once beside each sum; search it."""
    powers = vars(c)["1/R beside C"], vars(c)["1/R beside A"]
    found = {"(i) from (118)": _first_sum(*powers)}
    for name in Q_READINGS:
        found[f"{ITSELF}; {name}"] = searches.consensus_summed(
            chain.CAPS_25, name, powers
        )
    return judge.readings(found).corrected(
        rf"C_0=0,\;{chain.CAPS_4}:\quad\frac1R\sum_{{r=0}}^{{R-1}}C_r\le\Big(1-\frac q3"
        r"\Big)\frac1R\sum_{r=1}^{R-1}C_{r-1}+\frac{16\eta^2N^3}{3q}\frac1R\sum_{r=1}^{"
        rf"R-1}}A_r,\quad {chain.LETTERS},\;{chain.SMOOTH}",
        chain.proved(chain.lemma_4(), {"(118) summed": _first_sum(1, 1)}),
    )


def _first_sum(a: int, b: int) -> Finding:
    parts = {}
    for rounds in ROUNDS:
        terms, n = Terms(rounds), sympy.Integer(rounds)
        right = kept * sum(terms.C[:-1]) / n**a + push * sum(terms.A[1:]) / n**b
        where = f"R = {rounds}"
        parts[where] = judge.implied(terms.known, sum(terms.C) / n <= right, where)
    right = kept * lagged_c / R**a + push * later_a / R**b
    known = [*KNOWN, later_c <= kept * lagged_c + push * later_a]
    parts["every R"] = judge.implied(known, later_c / R <= right, EVERY_R)
    return judge.all_of({**parts, "summing (118)": summed(EVERY_R)})


READING_119 = "(i) a bound of the average of C_r, from (118)"


@claim(
    "focus.thm1.nc.step119b",
    source=Source("focus", "Appendix D.7, eq. (119), second line"),
    statement=r"\cdots\le\Big(1-\frac{q_{\min}}{3}\Big)\frac1R\sum_{r=0}^{R-1}C_r+\frac"
    r"{16\eta^2N^2}{3Rq_{\min}}\sum_{r=0}^{R-1}A_r",
    proposition="With C_0 = 0 and (118), the second line of (119) is at least (i) the "
    "average of the C_r, (ii) the first line as printed. Below, kept and push are the "
    "two factors of (118).",
    given={"(118)": "focus.thm1.nc.step116-118"},
    constants={"kept": "1", "push": "1", "ends": "b_(R+1)"},
    twin={"push": "1/2"},
    no_control="the first line has misplaced factors 1/R, so the second bounds the "
    "average and not the first line; the twin, half the gradients, bounds neither",
    reading_twins={
        f"{READING_119} / R = 2": {"push": "1/4"},
        f"{READING_119} / summing (118)": {"ends": "b_R"},
    },
    free=(
        Free("push", "1/2", "2", weaker="larger", reading=READING_119),
        Free("kept", "1/2", "2", weaker="larger", reading=READING_119),
    ),
)
def shifted(c: SimpleNamespace) -> Finding:
    """Compare with the average, and with the first line."""
    k, p = rational(c.kept) * kept, rational(c.push) * push
    average, printed = {}, {}
    for rounds in ROUNDS:
        terms, n = Terms(rounds), sympy.Integer(rounds)
        line_2 = k * sum(terms.C) / n + p * sum(terms.A) / n
        line_1 = kept * sum(terms.C[:-1]) + push * sum(terms.A[1:]) / n**2
        where = f"R = {rounds}"
        average[where] = judge.implied(terms.known, sum(terms.C) / n <= line_2, where)
        printed[where] = judge.implied(terms.known, line_1 <= line_2, where)
    known = [*KNOWN, later_c <= kept * lagged_c + push * later_a, lagged_c <= later_c]
    line_2 = k * later_c / R + p * (first_a + later_a) / R
    # such sums there are: C_1 = ... = C_{R-1}, by a large A_1
    alike = sympy.Eq((R - 1) * lagged_c, (R - 2) * later_c)
    average["every R"] = implied_under(known, [alike], later_c / R <= line_2, EVERY_R)
    average["summing (118)"] = summed(EVERY_R, c.ends)
    return judge.readings(
        {
            READING_119: judge.all_of(average),
            "(ii) a bound of the first line as printed": judge.all_of(printed),
        }
    )


@claim(
    "focus.thm1.nc.step120",
    source=Source("focus", "Appendix D.7, eq. (120)"),
    statement=r"\frac1R\sum_{r=0}^{R-1}C_r\le\frac{16\eta^2N^2}{Rq_{\min}^2}\sum_{r=0}^"
    r"{R-1}A_r",
    proposition="(120) follows from the second line of (119).",
    given={"line 2 of (119)": "focus.thm1.nc.step119b"},
    constants={"factor": "16"},
    twin={"factor": "8"},
    free=Free("factor", "8", "32", weaker="larger"),
)
def solved(c: SimpleNamespace) -> Finding:
    """Solve for the average of C_r."""
    average = sympy.Symbol("average_C", nonnegative=True)
    gained = 16 * eta**2 * N**2 / (3 * R * q) * total_a
    line_2 = average <= (1 - q / 3) * average + gained
    claimed = average <= rational(c.factor) * eta**2 * N**2 / (R * q**2) * total_a
    return judge.implied([line_2], claimed, EVERY_R)


# (121): fall = (B_0 - B_R)/(eta N), x = eta^2 L^2 N/q^2, spread = (L^2/N) sum C_r
fall, gap = sympy.symbols("fall gap", real=True)  # gap = (B_0 - F*)/(eta N)
x = sympy.Symbol("x", positive=True)
spread = sympy.Symbol("spread", nonnegative=True)


def _known_121(cap: str | None) -> list[Any]:
    """(117) summed, (120), and eta <= cap q/(L sqrt(2 N)) if there is a cap."""
    return [
        total_a <= 4 * fall + 16 * spread,
        spread <= 16 * x * total_a,
        *([] if cap is None else [x <= rational(cap) ** 2 / 2]),
    ]


@claim(
    "focus.thm1.nc.step121a",
    source=Source("focus", "Appendix D.7, eq. (121), first and second line"),
    statement=r"\frac1R\sum_{r=0}^{R-1}A_r\le\frac{4}{\eta N}(B_0-B_R)+\frac{16L^2}{NR}"
    r"\sum_{r=0}^{R-1}C_r\;\Rightarrow\;\Big(1-\frac{256\eta^2L^2N}{q_{\min}^2}\Big)"
    r"\frac1R\sum_{r=0}^{R-1}A_r\le\frac{4}{\eta N}(B_0-B_R)",
    proposition="For eta <= q_min/(16 L sqrt(2 N)) the first line of (121) follows "
    "from (117) and (120), and so does the second.",
    given={"(117)": "focus.thm1.nc.step116-118", "(120)": "focus.thm1.nc.step120"},
    constants={
        "cap": "1/16",
        "1/R": 0,
        "function": "4",
        "consensus": "16",
        "gradient": "256",
        "ends": "b_(R+1)",
    },
    twin={"gradient": "128"},
    reading_twins={"summing (117)": {"ends": "b_R"}, "first line": {"function": "2"}},
    free=(
        # with the factor 1/R that is missing; without it they bind at R = 1 only
        Free("function", "2", "8", weaker="larger", given={"1/R": 1}),
        Free("consensus", "8", "32", weaker="larger", given={"1/R": 1}),
        Free("gradient", "128", "512", weaker="larger", given={"1/R": 1}),
        Free("cap", "1/32", "1/8", weaker="smaller"),
        Free("1/R", 0, 2, weaker="smaller", whole=True),
    ),
    sharp=Sharp(
        r"\text{every }\eta:\quad\Big(1-\frac{256\eta^2L^2N}{q_{\min}^2}\Big)\frac1R"
        r"\sum_{r=0}^{R-1}A_r\le\frac{4}{\eta NR^{<1/R>}}(B_0-B_R)",
        {"cap": None, "1/R": 1},
    ),
)
def telescoped(c: SimpleNamespace) -> Finding:
    """Sum (117); the printed lines lack a factor 1/R beside B_0 - B_R >= 0."""
    known = _known_121(c.cap)
    within = f", eta <= {c.cap} q_min/(L sqrt(2 N))" if c.cap else ""
    scope = EVERY_R + within
    change = rational(c.function) * fall / R ** vars(c)["1/R"]
    line_1 = total_a / R <= change + rational(c.consensus) * spread / R
    line_2 = (1 - rational(c.gradient) * x) * total_a / R <= change
    return judge.all_of(
        {
            "summing (117)": summed(scope, c.ends),
            "first line": judge.implied(known, line_1, scope),
            "second line": judge.implied(known, line_2, scope),
        }
    )


@claim(
    "focus.thm1.nc.step121b",
    source=Source("focus", "Appendix D.7, eq. (121), coefficient"),
    statement=r"\frac{16L^2}{N}\cdot\frac{16\eta^2N^2}{q_{\min}^2}=\frac{256\eta^2L^2N}"
    r"{q_{\min}^2}",
    proposition="The two coefficients agree.",
    constants={"consensus": "16", "push": "16", "product": "256"},
    twin={"product": "128"},
    exact=("consensus", "push", "product"),
)
def coefficient(c: SimpleNamespace) -> Finding:
    """Multiply."""
    first = rational(c.consensus) * L**2 / N
    second = rational(c.push) * eta**2 * N**2 / q**2
    product = rational(c.product) * eta**2 * L**2 * N / q**2
    return judge.identity([("coefficient", first * second, product)], "every value")


READING_121 = "(i) from (117) and (120)"


@claim(
    "focus.thm1.nc.step121c",
    source=Source("focus", "Appendix D.7, eq. (121), last line"),
    statement=r"\eta\le\frac{q_{\min}}{16L\sqrt{2N}}:\quad\frac1R\sum_{r=0}^{R-1}"
    r"\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2\le\frac{8\big(F(\bar x_1)-F(\bar x^"
    r"\star)\big)}{\eta NR}",
    proposition="At the step sizes printed with it the last line of (121) follows (i) "
    "from (117) and (120), (ii) from the line before as printed. Below, total_a is the "
    "sum of A_r, fall = (B_0 - B_R)/(eta N), gap = (B_0 - F*)/(eta N) and x = eta^2 "
    "L^2 N/q^2.",
    constants={"cap": "1/16", "bound": "8", "ends": "b_(R+1)"},
    twin={"bound": "4"},
    no_control="the line before lacks a factor 1/R, so the bound follows from the "
    "recursions and not from that line; the twin, half the bound, follows from neither",
    reading_twins={f"{READING_121} / summing (117)": {"ends": "b_R"}},
    free=(
        Free("bound", "4", "16", weaker="larger", reading=READING_121),
        Free("cap", "1/32", "1/8", weaker="smaller", reading=READING_121),
    ),
)
def last_line(c: SimpleNamespace) -> Finding:
    """Use B_R >= F* and that half of the gradients remains."""
    known = [*_known_121(c.cap), fall <= gap]
    line_2 = (1 - 256 * x) * total_a / R <= 4 * fall
    printed = [line_2, x <= rational(c.cap) ** 2 / 2, fall <= gap]
    claimed = total_a / R <= rational(c.bound) * gap / R
    return judge.readings(
        {
            READING_121: judge.all_of(
                {
                    "summing (117)": summed(EVERY_R, c.ends),
                    "bound": judge.implied(known, claimed, EVERY_R),
                }
            ),
            "(ii) from the line before as printed": judge.implied(
                printed, claimed, EVERY_R
            ),
        }
    )


MENDED = {"caps": {"q/(L N)": "1/23", **MENDED_4.caps}, "lemma_4": "mended"}


@claim(
    "focus.thm1.nc.collected",
    source=Source("focus", "Theorem 1, eq. (25), and Appendix D.7"),
    statement=r"\eta\le\min\Big\{\frac1{2L(\tau-1)},\frac{q_{\min}^{3/2}}{8L\sqrt N},"
    r"\frac{q_{\min}}{16L\sqrt{2N}},\frac1{4LN}\Big\}\text{ implies what Lemma 4, "
    r"(115) and (121) ask of }\eta\text{, and (117)-(121) then give }\frac1R\sum_{r=0}"
    r"^{R-1}\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2\le\frac{8(F(\bar x_1)-F^\star)}"
    r"{\eta NR}",
    proposition="The caps of (25) imply every condition that the chain (111)-(121) "
    "uses, and with C_0 = 0 the two recursions then give the bound of (25). Whether "
    "the bound holds, by this chain or not, is judged in focus.thm1.nc.",
    constants={
        "caps": chain.CAPS_25,
        "bound": "8",
        "C_0": "zero",
        "start": "0",
        "lemma_4": "printed",
    },
    twin=MENDED,
    free=Free("bound", "4", "16", weaker="larger", given=MENDED),
)
def collected(c: SimpleNamespace) -> Finding:
    """Ask the caps of (25) for each condition; then sum the recursions."""
    found = for_each_q(conditions(c.caps), _needs(c), EVERY_R, besides=_besides(c))
    return found.corrected(
        r"\eta\le\min\Big\{\frac{q}{23LN},\frac{q^{3/2}}{8LN},\frac{q^{3/2}}{8L(\tau-1"
        r")}\Big\}:\quad\frac1R\sum_{r=0}^{R-1}\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|"
        r"^2\le\frac{8(F(\bar x_1)-F^\star)}{\eta NR}+\frac{96L^2}{qNR}\|\mathbb{1}\bar"
        r" x_1-\boldsymbol{x}_0\|_F^2,\quad F\ge F^\star,\;" + chain.SMOOTH,
        _mended(),
    )


@cache
def _mended() -> Finding:
    own = SimpleNamespace(**MENDED, bound="8", C_0="any", start="96")
    needs = {**_needs(own), **chain.asked_by_values()}
    proof = chain.proved(
        for_any_q(conditions(own.caps), needs, EVERY_R),
        chain.gradient_recursion(),
        chain.lemma_4(),
        _besides(own),
    )
    search = searches.slopes(own.caps, own.bound, own.start)
    return judge.proof_or_search(proof, search)


def _needs(c: SimpleNamespace) -> dict[str, Any]:
    """Return what is asked of the step size, half of the gradients being left."""
    lemma = LEMMAS_4[c.lemma_4]
    return {
        **asked_by({"Lemma 4": lemma.caps, "(115)": chain.CAPS_115}),
        "(121)": 32 * chain.returned(lemma) * chain.square(lemma) <= 1,
    }


def _besides(c: SimpleNamespace) -> dict[str, Finding]:
    """Sum (117); spread is at most 3 begun + factor x sum A, begun = L^2 C_0/(q N)."""
    begun = sympy.Symbol("begun", nonnegative=True)
    lemma = LEMMAS_4[c.lemma_4]
    factor = chain.returned(lemma)
    known = [
        total_a <= chain.FALL * fall + chain.RISE * spread,
        spread <= chain.THRICE * begun + factor * x * total_a,
        32 * factor * x <= 1,
        fall <= gap,
        *([sympy.Eq(begun, 0)] if c.C_0 == "zero" else []),
    ]
    right = rational(c.bound) * gap / R + rational(c.start) * begun / R
    caps = chain.square_inside(c.caps, lemma, x)  # leaves more than half of sum A
    return {
        "summing (117) and (118)": summed(EVERY_R),
        **chain.errors_summed(lemma),
        "the bound": chain.if_needed(known, caps, total_a / R <= right, EVERY_R),
    }

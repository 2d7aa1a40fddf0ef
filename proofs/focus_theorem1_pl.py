r"""Appendix D.6 of the FOCUS paper: the proof of (24), step by step, (103)-(110).

The descent of F and its cross term are in order. The second inequality of (105) asks
for twice the decrease that is there, for any step size; with a quarter of it the chain
goes on and loses a factor 4 in the contraction. No cap of (24) contains tau, while
(105), (108) and Lemma 4 need one. (110) stands in `focus_theorem1_pl_contraction.py`.

Conventions: w_r = xbar_{r tau+1}, g = grad F(w_r), S the sum of the clients'
gradients that the server uses, E = |N g - S|^2, G = |g|^2, A_r = F(w_r) - F*,
B_r = E||1 w_r - x_{r tau}||^2; F is L-smooth as a mean of L-smooth f_i; expectations
are taken on both sides where B_r occurs; 1 in print before grad f is 1^T. Steps that
cite an earlier line are judged as implications from that line as printed. The
correction of (109) is the mended Lemma 4, with its proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.certify import gram
from flverify.claims import focus_theorem1_chain as chain
from flverify.claims import focus_theorem1_chain_searches as searches
from flverify.claims import judge
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.focus_theorem1_chain import LEMMAS_4, MENDED_4
from flverify.claims.focus_theorem1_steps import (
    E,
    F,
    F_next,
    G,
    L,
    N,
    asked_by,
    beta,
    conditions,
    cross,
    decrease,
    eta,
    for_each_q,
    implied_under,
    plugged_87,
    q,
    smooth_step,
    stale,
)
from flverify.claims.rationals import rational
from flverify.claims.stack_norms import ONE_NORM, STALE, either_norm, loosened_norm
from flverify.claims.verdict import Finding

CAPS = {
    "q/N": "3/32",
    "q/(beta N)": "1/12",
    "q/L^2": "1/16",
    "q^(3/2)/(L sqrt N)": "1/8",
}
NEAR, FAR = "1/(L N)", "1/((tau-1) L N)"
CAPS_105 = {NEAR: "1/4", FAR: "1/2"}

A, A_next, B = sympy.symbols("A A_next B", nonnegative=True)
g, S = sympy.symbols("g S", real=True)  # one coordinate
EVERY = "every eta, L, beta > 0, N, tau >= 1, q_min in (0, 1]"
STEP_SIZES = [*conditions({**CAPS, **CAPS_105}), q <= 1, beta <= L]


@claim(
    "focus.thm1.pl.step103a-c",
    source=Source("focus", "Appendix D.6, eq. (103)"),
    statement=r"F(\bar x_{(r+1)\tau+1})\le F(\bar x_{(r+1)\tau})-\eta\langle\nabla F("
    r"\bar x_{(r+1)\tau}),S\rangle+\tfrac{\eta^2L}{2}\|S\|^2=F(\bar x_{r\tau+1})-\eta"
    r"\langle\nabla F(\bar x_{r\tau+1}),S\rangle+\tfrac{\eta^2L}{2}\|S\|^2\le F(\bar x_"
    r"{r\tau+1})-\eta\langle\nabla F(\bar x_{r\tau+1}),S\rangle+\eta^2L\|N\nabla F(\bar"
    r" x_{r\tau+1})-S\|^2+\eta^2N^2L\|\nabla F(\bar x_{r\tau+1})\|^2,\quad S=\mathbb{1}"
    r"^{\mathsf T}\nabla\boldsymbol f(\boldsymbol x_{(r+1)\tau})",
    proposition="For every L-smooth F, w = xbar_{(r+1) tau} = xbar_{r tau+1} and any "
    "S, F(w - eta S) is at most each line of (103), and the last line follows from the "
    "one before.",
    given={"(71)": "focus.obs71"},
    constants={"half": "1/2", "distance": "1", "gradient": "1"},
    twin={"gradient": "1/2"},
    reading_twins={
        "Assumption 2 for F": {"half": "1/4"},
        "first line": {"half": "1/4"},
    },
    free=(
        Free("distance", "1/2", "2", weaker="larger"),
        Free("gradient", "1/2", "2", weaker="larger"),
    ),
    exact=("half",),
)
def descent(c: SimpleNamespace) -> Finding:
    """Prove both lines from A2, given for each f_i; Jensen for every coordinate."""
    return smooth_step(c.half, c.distance, c.gradient)


@claim(
    "focus.thm1.pl.step104",
    source=Source("focus", "Appendix D.6, eq. (104)"),
    statement=r"-\eta\langle g,S\rangle=-\tfrac{\eta}{N}\langle Ng,S\rangle=\tfrac{"
    r"\eta}{2N}\|Ng-S\|^2-\tfrac{\eta N}{2}\|g\|^2-\tfrac{\eta}{2N}\|S\|^2\le\tfrac{"
    r"\eta}{2N}\|Ng-S\|^2-\tfrac{\eta N}{2}\|g\|^2,\quad g=\nabla F(\bar x_{r\tau+1})",
    proposition="The identity and the inequality of (104) hold for all g and S.",
    constants={"distance": "1/2", "gradient": "1/2", "squares": "1/2"},
    twin={"distance": "1/4"},
    reading_twins={"identity": {"squares": "1"}},
    free=(
        Free("distance", "1/4", "1", weaker="larger"),
        Free("gradient", "1/4", "1", weaker="smaller"),
    ),
    exact=("squares",),
)
def cross_term(c: SimpleNamespace) -> Finding:
    """Expand in one coordinate; drop the square of S."""
    half = rational(c.squares)
    three = half * eta / N * (N * g - S) ** 2 - half * eta * N * g**2
    two = rational(c.distance) * eta / N * (N * g - S) ** 2
    two -= rational(c.gradient) * eta * N * g**2
    return judge.all_of(
        {
            "identity": judge.identity(
                [
                    ("N moved", -eta * g * S, -eta / N * (N * g) * S),
                    ("three squares", -eta * g * S, three - half * eta / N * S**2),
                ],
                "every eta, N, and, coordinate by coordinate, all g and S",
            ),
            "inequality": judge.implied(
                [], -eta * g * S <= two, "every eta > 0, N >= 1, all g and S"
            ),
        }
    )


def _line_2() -> Any:
    """Return line 2 of (105)."""
    up, down = eta / (2 * N) + eta**2 * L, eta * N / 2 - eta**2 * N**2 * L
    return F + up * E - down * G


@claim(
    "focus.thm1.pl.step105a",
    source=Source("focus", "Appendix D.6, eq. (105), first inequality"),
    statement=r"F(\bar x_{(r+1)\tau+1})\le F(\bar x_{r\tau+1})+\Big(\frac{\eta}{2N}+"
    r"\eta^2L\Big)\|Ng-S\|^2-\Big(\frac{\eta N}{2}-\eta^2N^2L\Big)\|g\|^2",
    proposition="The first inequality of (105) follows from (103) and (104).",
    given={"(103)": "focus.thm1.pl.step103a-c", "(104)": "focus.thm1.pl.step104"},
    constants={"distance": "1/2", "more": "1", "gradient": "1/2", "less": "1"},
    twin={"gradient": "1"},
    free=(
        Free("distance", "1/4", "1", weaker="larger"),
        Free("more", "1/2", "2", weaker="larger"),
        Free("gradient", "1/4", "1", weaker="smaller"),
        Free("less", "1/2", "2", weaker="larger"),
    ),
)
def substituted(c: SimpleNamespace) -> Finding:
    """Put (104) into (103)."""
    known = [
        F_next <= F - eta * cross + eta**2 * L * E + eta**2 * N**2 * L * G,
        -eta * cross <= eta / (2 * N) * E - eta * N / 2 * G,
    ]
    up = rational(c.distance) * eta / N + rational(c.more) * eta**2 * L
    down = rational(c.gradient) * eta * N - rational(c.less) * eta**2 * N**2 * L
    nearby = [*STEP_SIZES, (N * G - cross) ** 2 <= G * E]  # <g, N g - S> is that small
    return implied_under(known, nearby, F_next <= F + up * E - down * G, EVERY)


@claim(
    "focus.thm1.pl.step105b",
    source=Source("focus", "Appendix D.6, eq. (105), second inequality"),
    statement=r"\eta\le\min\Big\{\frac1{4LN},\frac1{2(\tau-1)LN}\Big\}:\quad F(\bar x_{"
    r"r\tau+1})+\Big(\frac{\eta}{2N}+\eta^2L\Big)\|Ng-S\|^2-\Big(\frac{\eta N}{2}-\eta^"
    r"2N^2L\Big)\|g\|^2\le F(\bar x_{r\tau+1})+\frac{\eta}{N}\|Ng-S\|^2-\eta N\|g\|^2",
    proposition="At the step sizes printed with (105), or at least at those of (24) "
    "among them, its second inequality holds, and F(w_{r+1}) is at most its right "
    "side. Below, E = |N g - S|^2, G = |g|^2 and F = F(w_r).",
    constants={"caps": CAPS_105, "distance": "1", "gradient": "1"},
    twin={"gradient": "1/4"},
    free=Free("gradient", "1/8", "1", weaker="smaller"),
)
def second_inequality(c: SimpleNamespace) -> Finding:
    """Compare the two lines, and F(w - eta S) with the second."""
    mended = {"caps": {NEAR: CAPS_105[NEAR]}, "gradient": "1/4"}
    quarter = SimpleNamespace(**{**vars(c), **mended})
    return _line_3(c).corrected(
        r"\eta\le\frac{1}{4LN}\;\Rightarrow\;F(\bar x_{(r+1)\tau+1})\le F(\bar x_{r\tau"
        r"+1})+\frac{\eta}{N}\|Ng-S\|^2-\frac{\eta N}{4}\|g\|^2",
        _line_3(quarter),
    )


def _line_3(c: SimpleNamespace) -> Finding:
    right = F + rational(c.distance) * eta / N * E - rational(c.gradient) * eta * N * G
    proof = decrease(c.distance, c.gradient, conditions(c.caps))
    scope = "every L-smooth F, N = 1, 2, tau = 1, 3, L = 1, 100, the largest eta"
    nearby = [*conditions(CAPS), q <= 1, beta <= L]
    return judge.all_of(
        {
            "from the line before": implied_under(
                conditions(c.caps), nearby, _line_2() <= right, EVERY
            ),
            "as a bound of F(w_{r+1})": judge.proof_or_search(
                proof, judge.vectors(_bounded_values(c), scope)
            ),
        }
    )


def _bounded_values(c: SimpleNamespace) -> Iterator[tuple[dict[str, Any], Any]]:
    """Line 3 of (105) at the least of its caps; S is any vector."""
    near, far = Fraction(c.caps[NEAR]), c.caps.get(FAR)
    half, bent = Fraction(1, 2), Fraction(-1)  # with half of L, F is PL as well
    for least, n, tau, smooth in product((half, bent), (1, 2), (1, 3), (1, 100)):
        caps = [near, Fraction(far) / (tau - 1)] if far and tau > 1 else [near]
        step = min(caps) / (smooth * n)
        value = gram.Function("F", Fraction(smooth), least * smooth)
        w, sum_ = gram.vector("w"), gram.vector("S")
        slope = value.gradient(w)
        distance = step / n * Fraction(c.distance) * gram.square(n * slope - sum_)
        fall = step * n * Fraction(c.gradient) * gram.square(slope)
        where = {"N": n, "tau": tau, "L": smooth, "eta": step}
        yield where, value.value(w - step * sum_) <= value.value(w) + distance - fall


@claim(
    "focus.thm1.pl.step105c",
    source=Source("focus", "Appendix D.6, eq. (105), third inequality"),
    statement=r"F(\bar x_{r\tau+1})+\frac{\eta}{N}\|Ng-S\|^2-\eta N\|g\|^2\le F(\bar x_"
    r"{r\tau+1})+\frac{\eta}{N}\|Ng-S\|^2-\eta\beta N\big(F(\bar x_{r\tau+1})-F^\star"
    r"\big)-\frac{\eta N}{2}\|g\|^2",
    proposition="The third inequality of (105), from one line to the next, follows "
    "from the PL condition |g|^2 >= 2 beta (F(w_r) - F*).",
    constants={"pl": "1", "left": "1/2"},
    twin={"left": "3/4"},
    free=(
        Free("pl", "1/2", "2", weaker="smaller"),
        Free("left", "1/4", "1", weaker="smaller"),
    ),
)
def polyak_lojasiewicz(c: SimpleNamespace) -> Finding:
    """Spend half of the decrease on the PL condition."""
    right = F + eta / N * E - rational(c.pl) * eta * beta * N * A
    right -= rational(c.left) * eta * N * G
    line_3 = F + eta / N * E - eta * N * G
    return judge.implied([2 * beta * A <= G], line_3 <= right, EVERY)


@claim(
    "focus.thm1.pl.step106",
    source=Source("focus", "Appendix D.6, eq. (106)"),
    statement=r"F(\bar x_{(r+1)\tau+1})-F^\star\le(1-\eta\beta N)\big(F(\bar x_{r\tau+"
    r"1})-F^\star\big)+\frac{\eta}{N}\|Ng-S\|^2-\frac{\eta N}{2}\|g\|^2",
    proposition="(106) follows from the last line of (105) by subtracting F*; whether "
    "that line holds is judged in step105b and step105c.",
    given={
        "the last line of (105)": ("focus.thm1.pl.step105b", "focus.thm1.pl.step105c")
    },
    constants={"contraction": "1", "distance": "1", "gradient": "1/2"},
    twin={"contraction": "2"},
    free=(
        Free("contraction", "1/2", "2", weaker="smaller"),
        Free("distance", "1/2", "2", weaker="larger"),
        Free("gradient", "1/4", "1", weaker="smaller"),
    ),
)
def subtracted(c: SimpleNamespace) -> Finding:
    """Rewrite F(w_r) as A + F*."""
    least = sympy.Symbol("F_least", real=True)
    line_4 = F + eta / N * E - eta * beta * N * (F - least) - eta * N / 2 * G
    right = (1 - rational(c.contraction) * eta * beta * N) * (F - least)
    right += rational(c.distance) * eta / N * E - rational(c.gradient) * eta * N * G
    nearby = [*STEP_SIZES, least <= F_next]
    nearby += [2 * beta * (F - least) <= G, 2 * L * (F - least) >= G]
    return implied_under(
        [F_next <= line_4, least <= F], nearby, F_next - least <= right, EVERY
    )


@claim(
    "focus.thm1.pl.step107",
    source=Source("focus", "Appendix D.6, eq. (107)"),
    statement=r"\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla\boldsymbol f(\mathbb{1}\bar x_"
    r"{r\tau+1})-\mathbb{1}^{\mathsf T}\nabla\boldsymbol f(\boldsymbol x_{(r+1)\tau})\|"
    r"^2\le(2L^2N+8\eta^2(\tau-1)^2L^4N)\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol x_{r"
    r"\tau}\|^2",
    proposition="(107) follows from (87) for any eta, as its weights I - Q and Q are "
    "at most 1: it is the first line of (88), its norm printed without the F of (83).",
    given={"(87)": "focus.lemma3.step87.smooth"},
    constants={"first": "2", "second": "8"},
    twin={"second": "4"},
    no_control="Appendix B has two norms, and the line drops an F; the twin, half of "
    "the second weight, fails under both readings",
    free=(
        Free("first", "1", "4", weaker="larger", reading=ONE_NORM),
        Free("second", "4", "16", weaker="larger", reading=ONE_NORM),
    ),
)
def stale_gradients(c: SimpleNamespace) -> Finding:
    """Loosen both weights to 1; for the induced norm take rows along axes."""
    one = plugged_87((c.first, c.second), ("2", "8"))
    found = either_norm(one, loosened_norm(c.first, c.second))
    return found.corrected(rf"\cdots\le{STALE}", one)


@claim(
    "focus.thm1.pl.step108",
    source=Source("focus", "Appendix D.6, eq. (108)"),
    statement=r"F(\bar x_{(r+1)\tau+1})-F^\star\le(1-\eta\beta N)\big(F(\bar x_{r\tau+"
    r"1})-F^\star\big)+4\eta L^2\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol x_{r\tau}\|^2-"
    r"\frac{\eta N}{2}\|g\|^2",
    proposition="(108) follows from (106) and (107) at the step sizes printed with "
    "(105); those of (24) alone do not bound (tau-1) eta, see pl.collected.",
    given={"(106)": "focus.thm1.pl.step106", "(107)": "focus.thm1.pl.step107"},
    constants={"caps": CAPS_105, "consensus": "4", "put in for": "e a <= b"},
    twin={"caps": CAPS},
    reading_twins={"substitution": {"put in for": "e a >= b"}},
    free=(
        Free("consensus", "2", "8", weaker="larger"),
        Free("caps", "1/4", "1", weaker="smaller", key="1/((tau-1) L N)"),
        Free("caps", "1/8", "1", weaker="smaller", key="1/(L N)"),
    ),
    sharp=Sharp(
        r"\eta\le\frac1{2(\tau-1)LN}\text{ alone, without }\eta\le\frac1{4LN}\text{, "
        r"implies that (106) and (107) give (108)}",
        {"caps[1/(L N)]": None},
    ),
)
def consensus_term(c: SimpleNamespace) -> Finding:
    """Put (107) into (106); the coefficient of B is at most 4 eta L^2."""
    weight = rational(c.consensus) * eta * L**2
    fits = judge.implied(
        [q <= 1, *conditions(c.caps)], eta / N * stale() <= weight, EVERY
    )
    a, b, e, s, x = sympy.symbols("a b e s x", nonnegative=True)
    fits_b = {"e a <= b": e * a <= b, "e a >= b": e * a >= b}[getattr(c, "put in for")]
    known = [A_next <= (1 - x) * A + e * E - s * G, a * B >= E, fits_b]
    put = judge.implied(known, A_next <= (1 - x) * A + b * B - s * G, EVERY)
    return judge.all_of({"coefficient": fits, "substitution": put})


@claim(
    "focus.thm1.pl.step109",
    source=Source("focus", "Appendix D.6, eq. (109)"),
    statement=r"\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol x_{r\tau}\|_F^2\le"
    r"\Big(1-\frac{q_{\min}}{3}\Big)\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol x_{(r-"
    r"1)\tau}\|_F^2+\frac{16\eta^2N^2}{3q_{\min}}\|\nabla F(\bar x_{r\tau+1})\|^2",
    proposition="At every step size inside the caps of (24) and those printed with "
    "(105), (i) Lemma 4 may be applied: its conditions on the step size hold; (ii) "
    "(109) is true, wherever it is from.",
    given={"Lemma 4": "focus.lemma4"},
    unaided=searches.ITSELF,
    constants={"caps": {**CAPS, **CAPS_105}, "lemma_4": "printed", "by_itself": True},
    twin={
        "caps": {**CAPS, **CAPS_105, **MENDED_4.caps},
        "lemma_4": "mended",
        "by_itself": False,
    },
    mended_from={},
)
def lemma_4(c: SimpleNamespace) -> Finding:
    """Ask the caps for the two conditions of Lemma 4, search it; prove it mended."""
    given = [beta <= L, *conditions(c.caps)]
    asked = asked_by({"Lemma 4": LEMMAS_4[c.lemma_4].caps})
    found = for_each_q(given, asked, EVERY, scaled=False)
    if c.by_itself:
        found = searches.beside_itself(found, c.caps)
    return found.corrected(
        rf"{chain.CAPS_4}:\quad {chain.LINE_4},\quad r\ge1,\;B_r={chain.ERROR},\;"
        + chain.SMOOTH,
        chain.proved(chain.lemma_4()),
    )

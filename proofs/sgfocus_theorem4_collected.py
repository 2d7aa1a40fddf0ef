"""Theorem 4 of the FOCUS paper, Appendix E.4: (135), (136) and the last display.

An N is lost in the display after (135), whose second noise term has another unit than
(128) gives, and a cap 3 q/(32 N) is kept from Lemma 4 where Lemma 6 needs q/(16 N). The
rest of the chain is in order.

Conventions as in sgfocus_theorem4.py: G = |grad F(w_r)|^2, E = |N grad F(w_r) - S|^2,
A_r = E F(w_r) - F*, B_r = E||1 w_r - x_{r tau}||^2, n = tau - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_theorem1_steps import implied_under
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_search import remembered
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

eta, L, beta, q = sympy.symbols("eta L beta q", positive=True)
N = sympy.Symbol("N", integer=True, positive=True)
E, G, S2 = sympy.symbols("E G sigma2", nonnegative=True)
n = sympy.Symbol("n", integer=True, nonnegative=True)
F, F_next, least = sympy.symbols("F F_next F_least", real=True)
EVERY = "every eta, L, beta > 0, N >= 1, tau >= 1, q_min in (0, 1]"

# (135), (136) --------------------------------------------------------------------


@claim(
    "sgfocus.thm4.step135",
    source=Source("focus", "eq. (135)"),
    statement=r"F(\bar x_{(r+1)\tau+1})-F^\star\le(1-\eta\beta N)\big(F(\bar x_{r"
    r"\tau+1})-F^\star\big)+\frac\eta N\|Ng-S\|^2-\frac{\eta N}2\|g\|^2+\frac{"
    r"\eta^2LN}2\sigma^2",
    proposition="(135) follows from the last line before it by subtracting F*.",
    given={"the last line before it": "sgfocus.thm4.step3"},
    constants={"contraction": "1", "distance": "1", "gradient": "1/2", "noise": "1/2"},
    twin={"contraction": "2"},
    free=(
        Free("contraction", "1/2", "2", weaker="smaller"),
        Free("distance", "1/2", "2", weaker="larger"),
        Free("gradient", "1/4", "1", weaker="smaller"),
        Free("noise", "1/4", "1", weaker="larger"),
    ),
)
def subtracted(c: SimpleNamespace) -> Finding:
    """Rewrite F(w_r) as A + F*."""
    noise = eta**2 * L * N * S2
    line4 = F + eta / N * E + eta * beta * N * (least - F) - eta * N / 2 * G + noise / 2
    right = (1 - rational(c.contraction) * eta * beta * N) * (F - least)
    right += rational(c.distance) * eta / N * E - rational(c.gradient) * eta * N * G
    right += rational(c.noise) * noise
    # what an L-smooth F with the PL condition has, and the caps, at tau = 1
    nearby = [least <= F_next, 2 * beta * (F - least) <= G, 2 * L * (F - least) >= G]
    nearby += [96 * (eta * L) ** 2 * N <= q**3, 16 * eta * L**2 <= q, q <= 1]
    nearby += [4 * eta * L * N <= 1, 3 * eta * beta * N * (4 - q) <= q, beta <= L]
    return implied_under(
        [F_next <= line4, least <= F], nearby, F_next - least <= right, EVERY
    )


@claim(
    "sgfocus.thm4.step136",
    source=Source("focus", "display after eq. (135)"),
    statement=r"F(\bar x_{(r+1)\tau+1})-F^\star\le(1-\eta\beta N)\big(F(\bar x_{r"
    r"\tau+1})-F^\star\big)+4\eta L^2\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r"
    r"\tau}\|^2-\frac{\eta N}2\|g\|^2+\Big(\frac L2+32(\tau-1)^2L^2N\Big)\eta^2"
    r"\sigma^2",
    proposition="(128) put into (135), both as printed, gives the display at the step "
    "sizes of Theorem 4. Below, n = tau - 1.",
    given={"(128)": "sgfocus.lemma5.step128", "(135)": "sgfocus.thm4.step135"},
    constants={"consensus": "4", "first": "L/2", "second": "32 n^2 L^2 N"},
    twin={"first": "L N/2", "second": "32 n^2 L^2 eta"},
)
def plugged(c: SimpleNamespace) -> Finding:
    """Compare the coefficients of B_r and of sigma^2."""
    mended = SimpleNamespace(
        **{**vars(c), "first": "L N/2", "second": "32 n^2 L^2 eta"}
    )
    return _plugged(c).corrected(
        r"\text{the display with }\Big(\frac{LN}2+32(\tau-1)^2L^2\eta\Big)\eta^2"
        r"\sigma^2",
        _plugged(mended),
    )


@remembered
def _plugged(c: SimpleNamespace) -> Finding:
    choices = {
        "L/2": L / 2,
        "L N/2": L * N / 2,
        "32 n^2 L^2 N": 32 * n**2 * L**2 * N,
        "32 n^2 L^2 eta": 32 * n**2 * L**2 * eta,
    }
    caps = [128 * (eta * L * n) ** 2 <= q**3, 96 * (eta * L) ** 2 * N <= q**3, q <= 1]
    caps += [3 * eta * beta * N * (4 - q) <= q, 16 * eta * L**2 <= q, beta <= L]
    spread = (2 * L**2 * N + 16 * eta**2 * n**2 * L**4 * N) / N
    noise = L * N / 2 + eta / N * 32 * n**2 * L**2 * N
    words = choices[c.first] + choices[c.second]
    bound = at_most(noise * S2, words * S2)
    nearby = [32 * eta * N <= 3 * q, 4 * eta * L * N <= 1, 2 * eta * n * L * N <= 1]
    return judge.all_of(
        {
            "B_r": judge.implied(caps, spread <= rational(c.consensus) * L**2, EVERY),
            "sigma^2": implied_under(caps, nearby, bound, EVERY),
        }
    )


@claim(
    "sgfocus.thm4.stepA",
    source=Source("focus", "eq. (136), first inequality"),
    statement=r"\eta\le\min\Big\{\frac{3q}{32N},\frac q{3\beta N(4-q)},\frac q{16L^2}"
    r"\Big\}:\quad A_{r+1}+(1-4\eta L^2)B_r\le(1-\eta\beta N)A_r+\Big(1-\frac q3"
    r"\Big)B_{r-1}+\Big(\frac{LN}2+32(\tau-1)^2L^2N+\frac{8N}q\Big)\eta^2\sigma^2",
    proposition="The inequality follows from the display after (135) and Lemma 6, both "
    "as printed, at the step sizes printed with it: the gradient terms cancel. Below, "
    "G = E|grad F(w_r)|^2.",
    given={
        "the display after (135)": "sgfocus.thm4.step136",
        "Lemma 6": "sgfocus.lemma6",
    },
    constants={"cap": "3/32", "noise": "8"},
    twin={"cap": "1/16"},
)
def added(c: SimpleNamespace) -> Finding:
    """Compare the coefficients of G and of eta^2 sigma^2 in the sum."""
    return _added(c).corrected(
        r"\eta\le\frac q{16N}\text{ instead of }\frac{3q}{32N}",
        _added(SimpleNamespace(**{**vars(c), "cap": "1/16"})),
    )


@remembered
def _added(c: SimpleNamespace) -> Finding:
    caps = [eta * N <= rational(c.cap) * q, q <= 1]
    caps += [3 * eta * beta * N * (4 - q) <= q, 16 * eta * L**2 <= q, beta <= L]
    slopes = 8 * eta**2 * N**2 / q * G <= eta * N / 2 * G
    M = sympy.Symbol("M", nonnegative=True)  # 32 n^2 L^2 N
    noise = L / 2 + M + 8 * N / q <= L * N / 2 + M + rational(c.noise) * N / q
    return judge.all_of(
        {
            "gradients": judge.implied(caps, slopes, EVERY),
            "noise": judge.implied([], noise, EVERY),
        }
    )


@claim(
    "sgfocus.thm4.stepB",
    source=Source("focus", "eq. (136), second inequality"),
    statement=r"(1-\eta\beta N)A_r+\Big(1-\frac q3\Big)B_{r-1}\le(1-\eta\beta N)"
    r"\big(A_r+(1-4\eta L^2)B_{r-1}\big)",
    proposition="The inequality between the coefficients of B_{r-1} holds at the step "
    "sizes printed with (136).",
    constants={"cap": "1/3", "flat": "1/16", "consensus": "4"},
    twin={"flat": "1/8"},
    free=(
        Free("cap", "1/6", "2/3", weaker="smaller"),
        Free("flat", "1/32", "1/8", weaker="smaller"),
        Free("consensus", "2", "8", weaker="smaller"),
    ),
)
def absorbed(c: SimpleNamespace) -> Finding:
    """Take x = eta beta N and y = eta L^2 at most their caps."""
    x, y = sympy.symbols("x y", positive=True)
    held = [x * (4 - q) <= rational(c.cap) * q, y <= rational(c.flat) * q, q <= 1]
    kept = 1 - q / 3 <= (1 - x) * (1 - rational(c.consensus) * y)
    return judge.implied(held, kept, EVERY)


@claim(
    "sgfocus.thm4.unroll",
    source=Source("focus", "Appendix E.4, last display"),
    statement=r"\Omega_{r+1}\le(1-\eta\beta N)\Omega_r+K\eta^2\sigma^2\le(1-\eta\beta "
    r"N)^R\Omega_0+\Big(\frac L2+32(\tau-1)^2L^2+\frac8q\Big)\frac\eta\beta\sigma^2,"
    r"\quad K=\frac{LN}2+32(\tau-1)^2L^2N+\frac{8N}q,\quad\frac{K\eta^2}{\eta\beta N}"
    r"=\Big(\frac L2+32(\tau-1)^2L^2+\frac8q\Big)\frac\eta\beta",
    proposition="Every sequence with the first inequality for all r has the second for "
    "all R if Omega_0 >= 0 and eta beta N <= 1, as the step sizes of Theorem 4 have "
    "it; K eta^2/(eta beta N) is as printed.",
    constants={"first": "1/2", "second": "32", "third": "8", "contraction": "1"},
    twin={"third": "4"},
    free=Free("contraction", "1/2", "2", weaker="smaller"),
    exact=("first", "second", "third"),
)
def unrolled(c: SimpleNamespace) -> Finding:
    """Divide by eta beta N; start at Omega_0 and go from R to R + 1."""
    left = (L * N / 2 + 32 * n**2 * L**2 * N + 8 * N / q) * eta**2 / (eta * beta * N)
    right = rational(c.first) * L + rational(c.second) * n**2 * L**2
    right += rational(c.third) / q
    factor = judge.identity([("factor of sigma^2", left, right * eta / beta)], EVERY)
    cap = 3 * eta * beta * N * (4 - q) <= q
    return judge.all_of(
        {
            "factor": factor,
            "rate": judge.implied([cap, q <= 1], eta * beta * N <= 1, EVERY),
            "rounds": _rounds(c.contraction),
        },
        scope=EVERY,
        argument="Omega_R is at most (1 - eta beta N)^R Omega_0 and a floor, which is "
        "the noise of a round over eta beta N, and which a round keeps. Omega_0 is no "
        "less than 0, as 4 eta L^2 <= q_min/4.",
    )


def _rounds(contraction: str) -> Finding:
    """Start and step: x = eta beta N, power = (1 - x)^R Omega_0, floor = noise/x."""
    x, noise, now, later = sympy.symbols("x noise now later", real=True)
    power, floor = sympy.symbols("power floor", nonnegative=True)
    held = [x >= 0, x <= 1, sympy.Eq(floor * x, noise), now <= power + floor]
    kept = later <= (1 - rational(contraction) * x) * power + floor
    proof = judge.induction(
        judge.implied([now <= power], now <= power + floor, "R = 0"),
        judge.implied([*held, later <= (1 - x) * now + noise], kept, "a round"),
        "every R",
        "Omega_R is at most (1 - eta beta N)^R Omega_0 and the floor",
    )
    cases = judge.instances(
        _sequences(contraction), "<=", "eta beta N = 1/9, 1/100; R = 1, 5, 50"
    )
    return judge.proof_or_search(proof, cases)


def _sequences(contraction: str) -> Iterator[judge.Case]:
    """Take the first inequality as an equality, from Omega_0 = 1, with some noise."""
    for x, noise, rounds in product(("1/9", "1/100"), (0, 1), (1, 5, 50)):
        share, last = Fraction(x), Fraction(1)
        for _ in range(rounds):
            last = (1 - share) * last + noise
        right = (1 - Fraction(contraction) * share) ** rounds + noise / share
        again = (1 - share) ** rounds * (1 - noise / share) + noise / share
        where = {"eta beta N": share, "noise of a round": noise, "Omega_0": 1}
        where["R"] = rounds
        yield judge.Case(where, last, right, lambda a=again, b=right: (a, b))

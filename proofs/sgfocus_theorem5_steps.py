"""Theorem 5 of the FOCUS paper, Appendix E.5: the steps (137) to the third display.

(137) drops the stale noise of absent clients. The display that plugs (128) in has half
of its factor and not its noise; the third display divides by eta N but writes the noise
as if it had not.

Conventions as in sgfocus_theorem5.py: G = E|grad F(w_r)|^2, E = E|N grad F(w_r) - S|^2,
B_r = E||1 w_r - x_{r tau}||^2, n = tau - 1, u = eta/(2N) + eta^2 L.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_theorem1_steps import implied_under
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_descent import noisy_descent
from flverify.claims.sg_focus_search import SAMPLES, remembered
from flverify.claims.sg_focus_steps import FULL
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

CAPS = {
    "q^(3/2)/(L sqrt(6 N))": "1/4",
    "q^(3/2)/(sqrt(2) L (tau-1))": "1/8",
    "1/(L N)": "1/4",
    "1/(L (tau-1))": "1/4",
}

# (137), (138) --------------------------------------------------------------------

eta, L, q = sympy.symbols("eta L q", positive=True)
N = sympy.Symbol("N", integer=True, positive=True)
n = sympy.Symbol("n", integer=True, nonnegative=True)
E, G, B, S2 = sympy.symbols("E G B sigma2", nonnegative=True)
F, F_next, inner = sympy.symbols("F F_next inner", real=True)
g, S = sympy.symbols("g S", real=True)
EVERY = "every eta, L > 0, N >= 1, tau >= 1"
u = eta / (2 * N) + eta**2 * L


@claim(
    "sgfocus.thm5.step137",
    source=Source("focus", "eq. (137)"),
    statement=r"\mathbb{E}F(\bar x_{(r+1)\tau+1})\le F(\bar x_{r\tau+1})-\eta\,"
    r"\mathbb{E}\langle\nabla F(\bar x_{r\tau+1}),\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\cdot;\xi)\rangle+\frac{\eta^2L}2\mathbb{E}\|\mathbb{1}^{\mathsf "
    r"T}\nabla\boldsymbol{f}(\cdot;\xi)\|^2\le F(\bar x_{r\tau+1})-\eta\langle\nabla "
    r"F(\bar x_{r\tau+1}),S\rangle+\frac{\eta^2L}2\|S\|^2+\frac{\eta^2LN}2\sigma^2\le"
    r"\dots+\eta^2L\|N\nabla F(\bar x_{r\tau+1})-S\|^2+\eta^2N^2L\|\nabla F(\bar x_{r"
    r"\tau+1})\|^2+\frac{\eta^2LN}2\sigma^2",
    proposition="Each line is at most the next, in expectation, in every round of "
    "every run of Algorithm 2, which stores gradients of absent clients, with f_i of "
    "L-Lipschitz gradients under Assumption 6 and the caps of Theorem 5.",
    constants={"caps": CAPS, "noise": "1/2", "laws": "any", "samples": SAMPLES},
    twin=FULL,
)
def descent(c: SimpleNamespace) -> Finding:
    """Prove it where all take part; search runs for the second line."""
    return noisy_descent(c).corrected(
        r"\text{the display, for independent samples, if every client takes part in "
        r"every round and the tracker starts as the sum of the stored gradients}",
        noisy_descent(SimpleNamespace(**{**vars(c), **FULL})),
    )


@claim(
    "sgfocus.thm5.step138",
    source=Source("focus", "eq. (138)"),
    statement=r"-\eta\langle g,S\rangle=-\eta N\|g\|^2+\eta\langle g,Ng-S\rangle\le-"
    r"\frac{\eta N}2\|g\|^2+\frac\eta{2N}\|Ng-S\|^2,\quad g=\nabla F(\bar x_{r\tau+1})",
    proposition="Both relations hold for all vectors g and S.",
    constants={"gradient": "1/2", "distance": "1/2", "split": 1},
    twin={"distance": "1/4"},
    reading_twins={"identity": {"split": 2}},
    exact=("split",),
    free=(
        Free("gradient", "1/4", "1", weaker="smaller"),
        Free("distance", "1/4", "1", weaker="larger"),
    ),
)
def cross_term(c: SimpleNamespace) -> Finding:
    """Expand in one coordinate; use Young."""
    split = -eta * N * g**2 + rational(c.split) * eta * g * (N * g - S)
    right = rational(c.distance) * eta / N * (N * g - S) ** 2
    right -= rational(c.gradient) * eta * N * g**2
    return judge.all_of(
        {
            "identity": judge.identity([("coordinate", -eta * g * S, split)], EVERY),
            "Young": judge.implied([], -eta * g * S <= right, EVERY),
        }
    )


# The displays after (138) --------------------------------------------------------


@claim(
    "sgfocus.thm5.step139a",
    source=Source("focus", "display after eq. (138)"),
    statement=r"\frac{\eta N}2(1-2\eta NL)\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2"
    r"\le\mathbb{E}[F(\bar x_{r\tau+1})-F(\bar x_{(r+1)\tau+1})]+\frac{\eta^2LN}2"
    r"\sigma^2+\Big(\frac\eta{2N}+\eta^2L\Big)\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\bar x_{r\tau+1})-S\|^2",
    proposition="The display follows from (137) and (138), both as printed.",
    given={"(137)": "sgfocus.thm5.step137", "(138)": "sgfocus.thm5.step138"},
    constants={"gradient": "1/2", "less": "2", "noise": "1/2", "distance": "1/2"},
    twin={"gradient": "1"},
    free=(
        Free("less", "1", "4", weaker="larger"),
        Free("noise", "1/4", "1", weaker="larger"),
        Free("distance", "1/4", "1", weaker="larger"),
    ),
    # a smaller factor is no weaker where 1 - 2 eta N L is negative
    exact=("gradient",),
)
def substituted(c: SimpleNamespace) -> Finding:
    """Put (138) into (137)."""
    noise = eta**2 * L * N * S2
    last = F - eta * inner + eta**2 * L * E + eta**2 * N**2 * L * G + noise / 2
    cross = -eta * inner <= -eta * N / 2 * G + eta / (2 * N) * E
    left = rational(c.gradient) * eta * N * (1 - rational(c.less) * eta * N * L) * G
    right = F - F_next + rational(c.noise) * noise
    right += (rational(c.distance) * eta / N + eta**2 * L) * E
    vectors = (N * G - inner) ** 2 <= G * E  # <g, N g - S> is at most |g| |N g - S|
    nearby = [*_caps(), vectors]
    return implied_under([F_next <= last, cross], nearby, left <= right, EVERY)


@claim(
    "sgfocus.thm5.step139b",
    source=Source("focus", "second display after eq. (138)"),
    statement=r"\frac{\eta N}2(1-2\eta NL)\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2"
    r"\le F(\bar x_{r\tau+1})-F(\bar x_{(r+1)\tau+1})+2\Big(\frac{LN}2+\frac\eta{2N}+"
    r"\eta^2L\Big)\eta^2\sigma^2+\Big(\frac\eta{2N}+\eta^2L\Big)\big(2L^2N+8\eta^2("
    r"\tau-1)^2L^4N\big)\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}"
    r"\|^2",
    proposition="The display follows from the one before and (128), both as printed, "
    "at the step sizes of Theorem 5. Below, n = tau - 1.",
    given={
        "the display before it": "sgfocus.thm5.step139a",
        "(128)": "sgfocus.lemma5.step128",
    },
    constants={"moved": "8", "noise": "printed"},
    twin={"moved": "16", "noise": "32 n^2 L^2 N u"},
)
def plugged(c: SimpleNamespace) -> Finding:
    """Compare the coefficients of B_r and of eta^2 sigma^2; u = eta/(2N) + eta^2 L."""
    mended = SimpleNamespace(moved="16", noise="32 n^2 L^2 N u")
    return _plugged(c).corrected(
        r"\dots\le F(\bar x_{r\tau+1})-F(\bar x_{(r+1)\tau+1})+\Big(\frac{LN}2+32("
        r"\tau-1)^2L^2Nu\Big)\eta^2\sigma^2+u\big(2L^2N+16\eta^2(\tau-1)^2L^4N"
        r"\big)B_r,\quad u=\frac\eta{2N}+\eta^2L",
        _plugged(mended),
    )


def _caps() -> list[Any]:
    caps = [128 * (eta * L * n) ** 2 <= q**3, 96 * (eta * L) ** 2 * N <= q**3]
    return [*caps, 4 * eta * L * N <= 1, 4 * eta * L * n <= 1, q <= 1]


def _noise(word: str) -> Any:
    """Return what stands before eta^2 sigma^2 after (128) is plugged in."""
    plugged_in = L * N / 2 + 32 * n**2 * L**2 * N * u
    return {"printed": L * N + 2 * u, "32 n^2 L^2 N u": plugged_in}[word]


@remembered
def _plugged(c: SimpleNamespace) -> Finding:
    given = 2 * L**2 * N + 16 * eta**2 * n**2 * L**4 * N
    spread = 2 * L**2 * N + rational(c.moved) * eta**2 * n**2 * L**4 * N
    noise = at_most(_noise("32 n^2 L^2 N u"), _noise(c.noise))
    return judge.all_of(
        {
            "B_r": judge.implied(_caps(), at_most(given, spread), EVERY),
            "sigma^2": judge.implied(_caps(), noise, EVERY),
        }
    )


@claim(
    "sgfocus.thm5.step139c",
    source=Source("focus", "third display after eq. (138)"),
    statement=r"\eta\le\min\Big\{\frac1{4LN},\frac1{4L(\tau-1)}\Big\}:\quad\mathbb{E}"
    r"\|\nabla F(\bar x_{r\tau+1})\|^2\le\frac4{\eta N}\big(F(\bar x_{r\tau+1})-F("
    r"\bar x_{(r+1)\tau+1})\big)+\frac{8L^2}N\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|^2+2LN\eta^2\sigma^2",
    proposition="The display follows from the one before, as printed, at the step "
    "sizes printed with it, or at least at those of Theorem 5.",
    given={"the display before it": "sgfocus.thm5.step139b"},
    constants={"function": "4", "consensus": "8", "noise": "2 L N eta^2"},
    twin={"noise": "4 eta (L N + 2 u)/N"},
)
def simplified(c: SimpleNamespace) -> Finding:
    """Divide by eta N/4 <= (eta N/2)(1 - 2 eta N L) and compare coefficients."""
    mended = SimpleNamespace(**{**vars(c), "noise": "4 eta (L N + 2 u)/N"})
    return _simplified(c).corrected(
        r"\dots+\frac{4\eta}N\Big(LN+\frac\eta N+2\eta^2L\Big)\sigma^2",
        _simplified(mended),
    )


@remembered
def _simplified(c: SimpleNamespace) -> Finding:
    caps = [4 * eta * L * N <= 1, 4 * eta * L * n <= 1]
    others = [cap for cap in _caps() if cap not in caps]
    left = eta * N / rational(c.function) <= eta * N / 2 * (1 - 2 * eta * N * L)
    spread = 4 / (eta * N) * u * (2 * L**2 * N + 8 * eta**2 * n**2 * L**4 * N)
    noise = 4 * eta / N * (L * N + 2 * u)
    words = {"2 L N eta^2": 2 * L * N * eta**2, "4 eta (L N + 2 u)/N": noise}
    return judge.all_of(
        {
            "gradient": judge.implied(caps, left, EVERY),
            "B_r": judge.implied(
                caps, spread <= rational(c.consensus) * L**2 / N, EVERY
            ),
            "sigma^2": implied_under(
                caps, others, at_most(noise, words[c.noise]), EVERY
            ),
        }
    )

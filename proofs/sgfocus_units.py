"""Units of the displays of the FOCUS paper, Appendix E: do they keep their form.

As in proofs/focus_units.py: Algorithm 2 on c f(x/s) with the step size s^2 eta/c makes
the run of f, multiplied by s, if sigma^2 is multiplied by c^2/s^2. The displays (123)
to (140) are rescaled, with the bounds and step sizes of Theorems 3 to 5; what is
printed again from Appendix D is not repeated. Lemma 5 and Theorem 3 keep their form. A
line before (133) has a factor L^2 too many; Theorem 4 adds a distance to a value and
gives its noise three units; Theorem 5 takes L^2 from N and multiplies sigma^2 by eta^2
where only a number has the right unit.

Conventions: expectations and what is summed over do not matter; the symbols are those
of flverify/claims/focus_units.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims.claim import claim
from flverify.claims.focus_units import (
    S2,
    UNITS,
    A,
    A_next,
    B,
    B_before,
    L,
    N,
    R,
    along,
    beta,
    error2,
    eta,
    gap,
    gap_next,
    moved,
    mu,
    n,
    q,
    sigma2,
    slope2,
    steep,
    uphill,
    y2,
)
from flverify.claims.units import keep_form
from flverify.claims.verdict import Finding

root = sympy.sqrt
noise = eta**2 * sigma2
noisy = L * N / 2 * noise  # of a step down a smooth F
PROPOSITION = (
    "{} take one factor on all their terms when each f_i(x) is replaced by c f_i(x/s) "
    "and sigma by c sigma/s, for all s, c > 0."
)
CONSENSUS = [(eta, steep / (4 * L * root(6 * N))), (eta, steep / (8 * root(2) * L * n))]


@claim(
    "sgfocus.units.lemma5",
    source=Source("focus", "Lemma 5, eqs. (123)-(128), Appendix E"),
    statement=r"\ldots+2\eta^2\sigma^2,\quad\ldots",
    proposition=PROPOSITION.format("Lemma 5 and the displays (123) to (128)"),
    constants={"noise": 2},  # power of eta before sigma^2 in Lemma 5
    twin={"noise": 1},
    exact=("noise",),
)
def lemma5(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    kept = (1 - eta * mu * N / 2) * A - 2 * eta * N * (1 - 2 * eta * N * L) * gap
    square = A - 2 * eta * along
    ahead = 2 * eta * (1 / mu + eta)
    drift = 2 * L**2 * N + 16 * eta**2 * n**2 * L**4 * N
    extra = 32 * eta**2 * n**2 * L**2 * N * sigma2
    last = 16 * eta * L**2 * N / mu * B
    displays = {
        "Lemma 5": [(A_next, kept + last + 2 * eta**c.noise * sigma2)],
        "step sizes of Lemma 5": [
            (eta, mu / (128 * n**2 * L**2 * N)),
            (eta, 1 / (2 * root(2) * n * L)),
            (eta, 1 / mu),
        ],
        "(123)": [
            (A_next, square + eta**2 * S2),
            (A_next, square + 2 * eta**2 * error2 + noise),
            (2 * eta**2 * N**2 * slope2, 4 * eta**2 * N**2 * L * gap),
        ],
        "(125)": [(A_next, kept + ahead * error2 + noise)],
        "(127)": [
            (y2, 4 * L**2 * moved + 4 * L**2 * B + 8 * sigma2),
            (y2, 4 * eta**2 * L**2 * n * y2 + 4 * L**2 * B + 8 * sigma2),
            ((1 - 4 * eta**2 * L**2 * n) * y2, 4 * n * L**2 * B + 8 * n * sigma2),
            (y2, 8 * n * L**2 * B + 16 * n * sigma2),
            (eta, 1 / (2 * L * root(2 * n))),
        ],
        "(128)": [(error2, drift * B + extra)],
        "after (128)": [(ahead * drift * B, last), (noise + ahead * extra, 2 * noise)],
    }
    return keep_form(displays, UNITS, "(123) to (128)")


@claim(
    "sgfocus.units.lemma6",
    source=Source("focus", "Lemma 6, eqs. (129)-(133), Appendix E"),
    statement=r"\ldots+\frac{12\eta^2NL^2}{q_{\min}}\sigma^2+\frac{16\eta^2(\tau-1)^2L^2}"
    r"{q_{\min}}\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_F^2,"
    r"\quad\ldots",
    proposition=PROPOSITION.format("Lemma 6 and the displays (129) to (133)"),
    constants={"noise": 2},  # power of L before sigma^2, second line before (133)
    twin={"noise": 0},
    exact=("noise",),
)
def lemma6(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    twice, kept = (2 - q) / q, (1 - q / 2) * B_before
    once = 12 * eta**2 * N**2 / q * slope2
    shown = 6 * eta**2 * N * (L**2 * B + N * slope2 + sigma2) * twice
    drift = eta**2 * n**2 * L**2
    again = 12 * eta**2 * N * L**2 / q * B + 16 * drift / q * B
    displays = {
        "Lemma 6": [(B, (1 - q / 3) * B_before + 2 * once / 3 + 8 * N / q * noise)],
        "step sizes of Lemma 6": CONSENSUS,
        "(131)": [(y2, 3 * N * sigma2 + 3 * N * L**2 * B + 3 * N**2 * slope2)],
        "(132)": [(y2, n * y2), (y2, 4 * n**2 * L**2 * moved)],
        "before (133), line 1": [(B, kept + shown + 8 * drift * twice * B)],
        "before (133), line 2": [
            (B, kept + once + again + 12 * N * L**c.noise / q * noise)
        ],
        "(133)": [((1 - q**2 / 4) * B, kept + once + 12 * N / q * noise)],
    }
    return keep_form(displays, UNITS, "(129) to (133)")


@claim(
    "sgfocus.units.thm3",
    source=Source("focus", "Theorem 3, and eq. (134), Appendix E"),
    statement=r"\Gamma_R\le\Big(1-\frac{\eta\mu N}{2}\Big)^R\Gamma_0+\frac{4(q_{\min}+N"
    r"^2)}{\mu Nq_{\min}}\eta\sigma^2,\quad\ldots",
    proposition=PROPOSITION.format(
        "Theorem 3, its step sizes and the displays to (134)"
    ),
    constants={"floor": 1},  # power of eta before sigma^2 in Theorem 3
    twin={"floor": 2},
    exact=("floor",),
)
def theorem3(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    rate = 1 - eta * mu * N / 2
    floor = 4 * (q + N**2) / (mu * N * q)
    weight = 1 - 16 * eta * L**2 * N / mu
    sums = (2 + 8 * N**2 / q) * noise
    drop = 2 * eta * N * (1 - 2 * eta * N * L) * gap
    rise = 16 * eta**2 * N**2 * L / q * gap
    displays = {
        "Theorem 3": [
            (A_next, rate**R * A + floor * eta**c.floor * sigma2),
            (A, A + (1 - 8 * eta * L**2 * N / mu) * B_before),
        ],
        "step sizes of Theorem 3": [
            (eta, 2 * q / (3 * N * (16 * L**2 / mu + mu / 2))),
            *CONSENSUS,
            (eta, mu / (128 * n**2 * L**2 * N)),
        ],
        "consensus": [
            (B, (1 - q / 3) * B_before + 8 * eta**2 * N**2 / q * (slope2 + sigma2)),
            (B, (1 - q / 3) * B_before + rise + 8 * N**2 / q * noise),
        ],
        "before (134)": [(drop, rise)],
        "(134)": [(A_next + weight * B, rate * (A + weight * B_before) + sums)],
        "after (134)": [(A, rate**R * A + floor * eta * sigma2)],
    }
    return keep_form(displays, UNITS, "Theorem 3 and (134)")


def descent() -> list[tuple[Any, Any]]:
    """Return the lines that begin E.4, printed again as (137)."""
    first, square = gap - eta * uphill, eta**2 * L / 2 * S2
    smooth = eta**2 * L * (error2 + N**2 * slope2)
    ends = first + square, first + square + noisy, first + smooth + noisy
    return [(gap_next, end) for end in ends]


@claim(
    "sgfocus.units.thm4",
    source=Source("focus", "Theorem 4, and eqs. (135)-(136), Appendix E"),
    statement=r"\Omega_R\le(1-\eta\beta N)^R\Omega_0+\Big(\frac L2+32(\tau-1)^2L^2+"
    r"\frac{8}{q_{\min}}\Big)\frac\eta\beta\sigma^2,\quad\Omega_r:=F(\bar x_{r\tau+1})"
    r"-F^\star+(1-4\eta L^2)\mathbb{E}\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol{x}"
    r"_{(r-1)\tau}\|^2,\quad\eta\le\frac{q_{\min}}{16L^2},\quad\ldots",
    proposition=PROPOSITION.format(
        "Theorem 4, its step sizes and the displays to (136)"
    ),
    # powers of L before and within the weight, and in two caps; of eta beside (tau-1)^2
    constants={"before": 0, "weight": 2, "first": 0, "third": 2, "drift": 0},
    twin={"before": 1, "weight": 1, "first": 1, "third": 1, "drift": 1},
    exact=("before", "weight", "first", "third", "drift"),
)
def theorem4(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    rate, half = 1 - eta * beta * N, eta * N / 2 * slope2
    weight = L**c.before * (1 - 4 * eta * L**c.weight)
    moves = 32 * n**2 * L**2 * eta**c.drift
    floor = L / 2 + moves + 8 * L**c.before / q
    share = eta / (2 * N) * error2
    caps = {
        "first": (eta, 3 * q / (32 * N * L**c.first)),
        "second": (eta, q / (3 * beta * N * (4 - q))),
        "third": (eta, q / (16 * L**c.third)),
    }
    displays = {
        "Theorem 4": [
            (gap, gap + weight * B_before),
            (gap_next, rate**R * gap + floor * eta / beta * sigma2),
        ],
        "step sizes of Theorem 4": [caps["third"], caps["second"], *CONSENSUS],
        "lines 1 to 3 of E.4": descent(),
        "before (135)": [
            (gap_next, gap + share + eta**2 * L * error2 - half + noisy),
            (gap_next, gap + 2 * share - 2 * half + noisy),
            (gap_next, gap + 2 * share - eta * beta * N * gap - half + noisy),
        ],
        "(135)": [(gap_next, rate * gap + 2 * share - half + noisy)],
        "after (135)": [
            (gap_next, rate * gap + 4 * eta * L**2 * B - half),
            (gap_next, (L / 2 + moves * N) * noise),
        ],
        "(136)": [
            (gap_next + weight * B, rate * (gap + weight * B_before)),
            (gap_next, N * floor * noise),
        ],
        "step sizes of (136)": list(caps.values()),
        "sum of the noise": [
            (N * floor * noise / (eta * beta * N), floor * eta / beta * sigma2)
        ],
    }
    return keep_form(displays, UNITS, "Theorem 4 and (135) to (136)")


@claim(
    "sgfocus.units.thm5",
    source=Source("focus", "Theorem 5, and eqs. (137)-(140), Appendix E"),
    statement=r"\frac1R\sum_{r=0}^{R-1}\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2\le"
    r"\frac{8(F(\bar x_1)-F(\bar x^\star))}{\eta NR}+\Big(2LN+\frac{8N^2}{(N-8L^2)q_"
    r"{\min}}\Big)\eta^2\sigma^2,\quad\ldots",
    proposition=PROPOSITION.format(
        "Theorem 5, its step sizes and the displays to (140)"
    ),
    # powers of eta in the two noise terms, of eta L beside N, of L above and in a cap,
    # and of L in the noise of the second display after (138)
    constants={"one": 2, "beside": 0, "above": 0, "cap": 0, "plugged": 0},
    twin={"one": 1, "beside": 2, "above": 2, "cap": 1, "plugged": 2},
    exact=("one", "beside", "above", "cap", "plugged"),
)
def theorem5(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    left = eta * N / 2 * (1 - 2 * eta * N * L) * slope2
    share = eta / (2 * N) + eta**2 * L
    drift = (2 * L**2 * N + 8 * eta**2 * n**2 * L**4 * N) * B
    beside = L**2 if c.beside == 0 else (eta * L) ** c.beside
    one = 2 * L * N * eta**c.one * sigma2
    floor = one + 8 * N**2 * L**c.above / ((N - 8 * beside) * q) * noise
    start = 8 * gap / (eta * N * R)
    plugged = 2 * (L * N / 2 + share * L**c.plugged) * noise
    before = 4 / (eta * N) * (gap - gap_next)
    displays = {
        "Theorem 5": [(slope2, start + floor)],
        "step sizes of Theorem 5": [
            *CONSENSUS,
            (eta, 1 / (4 * L * N)),
            (eta, 1 / (4 * L * n)),
        ],
        "(137)": descent(),
        "(138)": [(eta * uphill, eta * N / 2 * slope2 + eta / (2 * N) * error2)],
        "after (138), first": [(left, gap - gap_next + noisy + share * error2)],
        "after (138), second": [(left, gap - gap_next + plugged + share * drift)],
        "after (138), third": [(slope2, before + 8 * L**2 / N * B + one)],
        "(140)": [(slope2, start + 16 * L**2 / (N * R) * (1 - q / 3) ** R * B + floor)],
        "step size of (140)": [(eta, 3 / (4 * root(2) * N * L**c.cap))],
    }
    return keep_form(displays, UNITS, "Theorem 5 and (137) to (140)")

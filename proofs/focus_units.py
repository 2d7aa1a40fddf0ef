"""Units of the displays of the FOCUS paper, Appendix D: do they keep their form.

Algorithm 1 on c f(x/s) with the step size s^2 eta/c makes the run of f, multiplied by
s. So what is printed for all f_i of Assumptions 2 to 4 has to say the same in each unit
of points and of objectives. The displays (71) to (121) are rescaled, with the bounds
and step sizes of Theorem 1; what is printed twice is taken once, the caps of a minimum
one by one. Six do not keep their form: (75) and (77) leave a step size out, and the
Polyak-Lojasiewicz case adds a distance to a value and caps a step size by numbers.

Conventions: expectations and what is summed over do not matter; the symbols are those
of flverify/claims/focus_units.py, B_r in either norm of Appendix B.
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
    eps,
    error2,
    eta,
    gap,
    gap_next,
    moved,
    mu,
    n,
    q,
    rho,
    slope2,
    steep,
    tau,
    uphill,
    x,
    y,
    y2,
)
from flverify.claims.units import keep_form
from flverify.claims.verdict import Finding

root = sympy.sqrt
PROPOSITION = (
    "{} take one factor on all their terms when each f_i(x) is replaced by c f_i(x/s), "
    "for all s, c > 0."
)


@claim(
    "focus.units.observations",
    source=Source("focus", "eqs. (71)-(78), Appendix D.2"),
    statement=r"x_{(r+1)\tau,i}-x_{r\tau+1,i}=\sum_{k=r\tau+2}^{(r+1)\tau}y_{k,i}\ "
    r"(i\in S_r),\quad\hat x_{(r+1)\tau}-\hat x_{r\tau+1}=D_r\sum_{k=r\tau+2}^{(r+1)"
    r"\tau}\hat y_k,\quad\ldots",
    proposition=PROPOSITION.format("The observations (71) to (78)"),
    constants={"unrolled": 0},  # power of eta before the sums of (75) and (77)
    twin={"unrolled": 1},
    exact=("unrolled",),
)
def observations(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    sums = [(x - x / 2, eta**c.unrolled * y)]
    displays = {
        "(71)": [(x, x - eta * y), (y, y + y)],
        "(72)": [(y, y + y - y / 2), (y, y)],
        "(73)": [(moved, q * B)],
        "(74)": [(moved, (1 - q) * B)],
        "(75)": sums,
        "(76)": [(y, y - y / 2)],
        "(77)": sums,
        "(78)": [(y, y - y / 2)],
    }
    return keep_form(displays, UNITS, "(71) to (78)")


@claim(
    "focus.units.lemma3",
    source=Source("focus", "Lemma 3, eqs. (79)-(88)"),
    statement=r"\ldots+\frac{8\eta L^2N}{\mu}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol"
    r"{x}_{r\tau}\|_F^2,\quad\ldots",
    proposition=PROPOSITION.format("Lemma 3 and the displays (80) to (88)"),
    constants={"drift": 2},  # power of L in the last term of (79)
    twin={"drift": 1},
    exact=("drift",),
)
def lemma3(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    kept = (1 - eta * mu * N / 2) * A - 2 * eta * N * (1 - 2 * eta * N * L) * gap
    both = (2 * L**2 * N + 8 * eta**2 * n**2 * L**4 * N) * B
    square = A - 2 * eta * along
    displays = {
        "(79)": [(A_next, kept + 8 * eta * L**c.drift * N / mu * B)],
        "step size of Lemma 3": [(eta, 1 / (3 * L * n))],
        "(80)": [
            (A_next, square + eta**2 * S2),
            (A_next, square + 2 * eta**2 * (error2 + N**2 * slope2)),
            (A_next, square + 2 * eta**2 * error2 + 4 * eta**2 * N**2 * L * gap),
        ],
        "after (80)": [(slope2 / (2 * L), gap)],
        "(81)": [
            (2 * eta * along, 2 * eta * (N * gap + N * mu / 2 * A)),
            (2 * eta * along, eta * eps * A + eta / eps * error2),
            (2 * eta * along, eta * mu * N / 2 * A + 2 * eta / mu * error2),
            (eps, mu / 2),
        ],
        "(82)": [(A_next, kept + 2 * eta * (1 / mu + eta) * error2)],
        "(83)": [
            (error2, L**2 * N * B),
            (error2, 2 * L**2 * N * moved + 2 * n * eta**2 * L**2 * N * y2),
        ],
        "(84)": [(y2, 2 * L**2 * B), (y2, 2 * eta**2 * L**2 * n * y2)],
        "(85)": [((1 - 2 * eta**2 * L**2 * n) * y2, 2 * n * L**2 * moved)],
        "(86)": [(y2, 4 * n * L**2 * moved), (eta, 1 / (2 * L * root(n)))],
        "(87)": [(error2, 2 * L**2 * N * B + 8 * eta**2 * n**2 * L**4 * N * B)],
        "(88)": [(error2, both), (error2, 3 * L**2 * N * B), (eta, 1 / (3 * n * L))],
    }
    return keep_form(displays, UNITS, "(79) to (88)")


@claim(
    "focus.units.lemma4",
    source=Source("focus", "Lemma 4, eqs. (89)-(96)"),
    statement=r"\ldots+\frac{16\eta^2N^2}{3q_{\min}}\|\nabla F(\bar x_{r\tau+1})\|^2,"
    r"\quad\ldots",
    proposition=PROPOSITION.format("Lemma 4 and the displays (90) to (96)"),
    constants={"step": 2},  # power of eta before the gradient in (89)
    twin={"step": 1},
    exact=("step",),
)
def lemma4(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    share = eta**2 / (1 - rho)
    twice = (2 - q) / q
    left = (1 - q**2 / 4) * B
    displays = {
        "(89)": [consensus(16 * eta**c.step * N**2 / (3 * q) * slope2)],
        "step sizes of Lemma 4": consensus_steps(8 * root(N), 8 * n),
        "(90)": [(B, (x - eta * y) ** 2), (B, moved / rho + 2 * share * (y2 + y2))],
        "(91)": [(moved, (1 - q) * B_before)],
        "(92)": [(y2, 2 * error2 + 2 * N**2 * slope2), (error2, N * L**2 * B)],
        "(93)": [(y2, n * y2), (y2, 4 * n**2 * L**2 * moved)],
        "(94)": [
            (B, (1 - q / 2) * B_before + 4 * eta**2 * N * L**2 * twice * B),
            (B, 4 * eta**2 * N**2 * twice * slope2 + 8 * eta**2 * n**2 * L**2 * B),
            (B, 8 * eta**2 * N * L**2 / q * B + 8 * eta**2 * N**2 / q * slope2),
        ],
        "after (93)": [(1 / rho * (1 - q), 1 - q / 2)],
        "(95)": [(left, (1 - q / 2) * B_before + 8 * eta**2 * N**2 / q * slope2)],
        "(96)": [
            (8 * eta**2 * N**2 / q / (1 - q**2 / 4), 16 * eta**2 * N**2 / (3 * q))
        ],
    }
    return keep_form(displays, UNITS, "(89) to (96)")


def consensus(gradient: Any) -> tuple[Any, Any]:
    """Return (89), or its kin in Appendix E, with the term of the gradient."""
    return B, (1 - q / 3) * B_before + gradient


def consensus_steps(*before: Any) -> list[tuple[Any, Any]]:
    """Return eta <= q^(3/2)/(a L) for each a."""
    return [(eta, steep / (a * L)) for a in before]


@claim(
    "focus.units.thm1.sc",
    source=Source("focus", "Theorem 1, eq. (23), and eqs. (97)-(102)"),
    statement=r"\eta\le\frac{3\mu}{27NL^2},\quad\ldots",
    proposition=PROPOSITION.format(
        "(23), its step sizes and the displays (97) to (102)"
    ),
    constants={"first": 2},  # power of L in the first cap
    twin={"first": 1},
    exact=("first",),
)
def strongly_convex(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    rate = 1 - eta * mu * N / 2
    proved = A + (1 - 8 * eta * L**2 * N / mu) * B_before
    drop = 2 * eta * N * (1 - 2 * eta * N * L)
    rise = 32 * eta**2 * N**2 * L / (3 * q)
    displays = {
        "(23)": [
            (A, A + (1 - 8 * eta * tau * L * N) * B_before),
            (A_next, rate**R * A),
        ],
        "step sizes of (23)": [
            (eta, 3 * mu / (27 * N * L**c.first)),
            (eta, 1 / (3 * L * n)),
            *consensus_steps(8 * root(N)),
        ],
        "(97) and (100)": [
            (A_next, rate * A - drop * gap + 8 * eta * L**2 * N / mu * B)
        ],
        "(98)": [consensus(16 * eta**2 * N**2 / (3 * q) * slope2)],
        "(99) and (101)": [consensus(rise * gap)],
        "after (101)": [(drop * gap, rise * gap)],
        "(102)": [
            (A_next + (1 - 8 * eta * L**2 * N / mu) * B, rate * A + (1 - q / 3) * B),
            (A, rate * proved),
        ],
        "step size of (102)": [(eta, 2 * q / (3 * N * (8 * L**2 / mu + mu / 2)))],
    }
    return keep_form(displays, UNITS, "(23) and (97) to (102)")


@claim(
    "focus.units.thm1.pl",
    source=Source("focus", "Theorem 1, eq. (24), and eqs. (103)-(110)"),
    statement=r"\Phi_r=\mathbb{E}F(\bar x_{r\tau+1})-F^\star+(1-4\eta L^2)\mathbb{E}\|"
    r"\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau+1}\|^2,\quad\eta\le\frac{3q_"
    r"{\min}}{32N},\quad\eta\le\frac{q_{\min}}{16L^2},\quad\ldots",
    proposition=PROPOSITION.format(
        "(24), its step sizes and the displays (103) to (110)"
    ),
    # powers of L: in the first and the third cap, before and within the weight
    constants={"first": 0, "third": 2, "before": 0, "weight": 2},
    twin={"first": 1, "third": 1, "before": 1, "weight": 1},
    exact=("first", "third", "before", "weight"),
)
def polyak_lojasiewicz(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    rate = 1 - eta * beta * N
    share = eta / (2 * N)
    weight = L**c.before * (1 - 4 * eta * L**c.weight)
    caps = [(eta, 3 * q / (32 * N * L**c.first)), (eta, q / (16 * L**c.third))]
    third = caps[1:]
    last = [(gap, rate * gap + 4 * eta * L**2 * B - eta * N / 2 * slope2)]
    displays = {
        "(24)": [(gap, gap + weight * B), (gap_next, rate**R * gap)],
        "step sizes of (24)": [
            *caps,
            (eta, q / (12 * beta * N)),
            *consensus_steps(8 * root(N)),
        ],
        "(103)": [(gap_next, gap - eta * uphill + eta**2 * L / 2 * S2), smooth()],
        "(104)": [(eta * uphill, share * error2 - eta * N / 2 * slope2 - share * S2)],
        "(105)": [
            (gap_next, gap + (share + eta**2 * L) * error2),
            (gap_next, gap - (eta * N / 2 - eta**2 * N**2 * L) * slope2),
            (gap_next, gap + eta / N * error2 - eta * N * slope2),
            (gap_next, gap - eta * beta * N * gap - eta * N / 2 * slope2),
            (eta, 1 / (4 * L * N)),
            (eta, 1 / (2 * n * L * N)),
        ],
        "(106)": [(gap_next, rate * gap + eta / N * error2 - eta * N / 2 * slope2)],
        "(107)": [(error2, (2 * L**2 * N + 8 * eta**2 * n**2 * L**4 * N) * B)],
        "(108)": last,
        "(109)": [consensus(16 * eta**2 * N**2 / (3 * q) * slope2)],
        "(110)": [
            (gap_next + weight * B, rate * gap + L**c.before * (1 - q / 3) * B_before),
            (gap, rate * (gap + weight * B_before)),
        ],
        "step sizes of (110)": [*caps[:1], (eta, q / (3 * beta * N * (4 - q))), *third],
    }
    return keep_form(displays, UNITS, "(24) and (103) to (110)")


def smooth() -> tuple[Any, Any]:
    """Return the last line of (103), printed again as (111)."""
    more = eta**2 * L * error2 + eta**2 * N**2 * L * slope2
    return gap_next, gap - eta * uphill + more


@claim(
    "focus.units.thm1.nc",
    source=Source("focus", "Theorem 1, eq. (25), and eqs. (111)-(121)"),
    statement=r"\ldots\le\frac{8(f(x_1)-f^\star)}{\eta NR},\quad\ldots",
    proposition=PROPOSITION.format(
        "(25), its step sizes and the displays (111) to (121)"
    ),
    constants={"divided": 1},  # power of eta below the bound of (25)
    twin={"divided": 2},
    exact=("divided",),
)
def general(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    left = eta * N / 2 * (1 - 2 * eta * N * L) * slope2
    share = eta / (2 * N) + eta**2 * L
    drift = (2 * L**2 * N + 8 * eta**2 * n**2 * L**4 * N) * B
    bound = 8 * gap / (eta**c.divided * N * R)
    before = 4 / (eta * N) * (gap - gap_next)
    displays = {
        "(25)": [(slope2, bound)],
        "step sizes of (25)": [
            (eta, 1 / (2 * L * n)),
            *consensus_steps(8 * root(N)),
            (eta, q / (16 * L * root(2 * N))),
            (eta, 1 / (4 * L * N)),
        ],
        "(111)": [smooth()],
        "(112)": [(eta * uphill, eta * N / 2 * slope2 + eta / (2 * N) * error2)],
        "(113)": [(left, gap - gap_next + share * error2)],
        "(114)": [(left, gap - gap_next + share * drift)],
        "(115) and (117)": [(slope2, before + 16 * L**2 / N * B)],
        "(116) and (118)": [consensus(16 * eta**2 * N**2 / (3 * q) * slope2)],
        "(119)": [consensus(16 * eta**2 * N**2 / (3 * R * q) * slope2)],
        "(120)": [(B / R, 16 * eta**2 * N**2 / (R * q**2) * slope2)],
        "(121)": [
            (slope2 / R, 4 / (eta * N) * gap + 16 * L**2 / (N * R) * B),
            ((1 - 256 * eta**2 * L**2 * N / q**2) * slope2 / R, 4 / (eta * N) * gap),
            (slope2 / R, bound),
        ],
    }
    return keep_form(displays, UNITS, "(25) and (111) to (121)")

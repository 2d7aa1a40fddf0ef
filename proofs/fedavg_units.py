"""Units of what two papers print on FedAvg: do the displays keep their form.

As in proofs/focus_units.py. FedAvg on c f(x/s) with the step size s^2 eta/c makes the
run of f, multiplied by s; delta_q, sigma_G, sigma and G are sizes of gradients and are
multiplied by c/s, the Lipschitz constant ell of the agnostic paper too. Lemmas 1 and 2
of the FOCUS paper and (54) to (58) keep their form. Theorem 2 and Corollary 1 have a
factor L^2 too many in their first term, Theorem 2 a factor mu^2 too few in its second;
a footnote bounds values by what Assumption 5 says of gradients. All displays of
agnostic federated averaging keep theirs.

Conventions: expectations and what is summed over do not matter; B is the distance of
clients from their average, of models or of what they send.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims.claim import claim
from flverify.claims.focus_units import (
    PURE,
    UNITS,
    A,
    A_next,
    B,
    L,
    R,
    along,
    eta,
    gap,
    mu,
    n,
    slope2,
    tau,
    y2,
)
from flverify.claims.units import keep_form
from flverify.claims.verdict import Finding

delta2, spread2, sigma2, G = sympy.symbols(
    "delta_q^2 sigma_G^2 sigma^2 G", positive=True
)
kappa, Delta, value, ell = sympy.symbols("kappa Delta f ell", positive=True)
H, T, rounds = sympy.symbols("H T rounds", positive=True, integer=True)
TABLE = {
    **UNITS,
    **dict.fromkeys([delta2, spread2, sigma2], (-2, 2)),
    **dict.fromkeys([G, ell], (-1, 1)),
    **dict.fromkeys([kappa, H, T, rounds], PURE),
    Delta: (2, 0),
    value: (0, 1),
}
both = delta2 + spread2
local = 40 * eta**3 * L**2 * n**2 / mu * both
biased = 5 * eta / mu * delta2
PROPOSITION = (
    "{} one factor on all their terms when each f_i(x) is replaced by c f_i(x/s), for "
    "all s, c > 0."
)


@claim(
    "focus.units.fedavg",
    source=Source("focus", "Lemmas 1 and 2, eqs. (41)-(58), Appendix C"),
    statement=r"\ldots+\frac{5\eta L^2}{\mu}\sum_{i=1}^Nq_i\|\bar x_k-x_{k,i}\|^2+"
    r"\ldots,\quad\ldots\le8\eta^2(\tau-1)^2(\delta_q^2+\sigma_G^2),\quad\ldots",
    proposition=PROPOSITION.format("Lemmas 1 and 2 and the displays (42) to (58) take"),
    # powers of L in (41) and of eta in (46)
    constants={"drift": 2, "step": 2},
    twin={"drift": 1, "step": 1},
    exact=("drift", "step"),
)
def fedavg(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    kept = (1 - eta * mu / 2) * A
    crossed = 2 * eta * (gap + mu / 2 * A)
    sent = 8 * eta**2 * tau**2 * both
    displays = {
        "(41)": [(A_next, kept + 5 * eta * L**c.drift / mu * B + biased)],
        "(42)": [
            (A_next, A + eta**2 * y2 - 2 * eta * along),
            (A_next, A + 3 * eta**2 * (L**2 * B + delta2 + slope2) - 2 * eta * along),
            (A_next, A + 3 * eta**2 * (L**2 * B + delta2) + 6 * eta**2 * L * gap),
        ],
        "(43)": [
            (2 * eta * along, crossed + eta * mu / 2 * A + 2 * eta / mu * y2),
            (2 * eta * along, 4 * eta * L**2 / mu * B + 4 * eta / mu * delta2),
        ],
        "(44)": [
            (A_next, kept + eta * (4 * L**2 / mu + 3 * eta * L**2) * B),
            (A_next, (4 * eta / mu + 3 * eta**2) * delta2),
            (A_next, (6 * eta**2 * L - 2 * eta) * gap),
        ],
        "(45)": [(eta, 1 / (3 * L)), (eta, 1 / (3 * mu))],
        "(46)": [(B, 8 * eta**c.step * n**2 * both)],
        "(47) and (53)": [(B, sent)],
        "step size of Lemma 2": [(eta, 1 / (4 * n * L))],
        "(48)": [(B, eta**2 * n * y2)],
        "(49)": [(y2, 4 * y2 + 4 * L**2 * B + 4 * both), (y2, 8 * L**2 * B + 4 * both)],
        "(50)": [(B, eta**2 * n * (8 * L**2 * B + 4 * both))],
        "(51)": [
            (B, 4 * eta**2 * n**2 * (2 * L**2 * Delta + both)),
            (Delta, 4 * eta**2 * n**2 * both / (1 - 8 * eta**2 * n**2 * L**2)),
        ],
        "(54) and (56)": [(A_next, kept + local + biased)],
        "(55) and (57)": [(A_next, kept + local + biased + sent)],
        "(52)": [(Delta, 8 * eta**2 * n**2 * both)],
        "(58)": [(A, (1 - eta * mu / 2) ** R * A + rounds * (local + biased + sent))],
    }
    return keep_form(displays, TABLE, "(41) to (58)")


@claim(
    "focus.units.thm2",
    source=Source("focus", "Theorem 2, eq. (59), and Corollaries 1 and 2, (60)-(61)"),
    statement=r"\limsup_{K\to\infty}\mathbb{E}\|\bar x_K-x^\star\|^2\le80\eta^2\kappa^2"
    r"L^2(\tau-1)^2(\delta_q^2+\sigma_G^2)+10\kappa\delta_q^2+\frac{16\eta\tau^2}{\mu}("
    r"\delta_q^2+\sigma_G^2),\quad\eta\le\min\Big\{\frac1{3L},\frac1{4(\tau-1)L}\Big\}",
    proposition=PROPOSITION.format("Theorem 2 and Corollaries 1 and 2 take"),
    # powers of L in the first term, and of mu below the second
    constants={"first": 2, "second": 0},
    twin={"first": 0, "second": 2},
    exact=("first", "second"),
)
def theorem2(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    drift = 80 * eta**2 * kappa**2 * L**c.first * n**2
    last = 16 * eta * tau**2 / mu
    middle = 10 * kappa * delta2 / mu**c.second
    displays = {
        "(59)": [(A, drift * both + middle + last * both)],
        "step sizes of Theorem 2": [(eta, 1 / (3 * L)), (eta, 1 / (4 * n * L))],
        "(60)": [(A, drift * spread2 + last * spread2)],
        "(61)": [(A, last * spread2)],
    }
    return keep_form(displays, TABLE, "(59) to (61)")


@claim(
    "focus.units.assump5",
    source=Source("focus", "Assumption 5, and Table 1, footnote 5"),
    statement=r"\|\nabla f_i(x)-\nabla F(x)\|\le\sigma_G,\qquad"
    r"\|f_i(x)-F(x)\|\le\sigma_G",
    proposition="Assumption 5 and footnote 5 of Table 1, which calls itself the same, "
    "take one factor on both sides when each f_i(x) is replaced by c f_i(x/s) and "
    "sigma_G by c sigma_G/s, for all s, c > 0.",
    constants={"footnote": "values"},
    twin={"footnote": "gradients"},
)
def bounded_heterogeneity(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each; sigma_G as the bound of gradients that it is."""
    spread = sympy.sqrt(spread2)
    left: dict[str, Any] = {"values": value, "gradients": sympy.sqrt(y2)}
    displays = {
        "Assumption 5": [(sympy.sqrt(y2), spread)],
        "footnote 5": [(left[c.footnote], spread)],
    }
    return keep_form(displays, TABLE, "Assumption 5 and footnote 5")


@claim(
    "agnostic.units",
    source=Source("agnostic", "Lemmas 2 to 4, Corollary 1, eqs. (5)-(9)"),
    statement=r"\ldots\le\frac{\|\hat\theta_0-\theta^\star\|^2}{2\eta HT}+\eta\sigma^2+"
    r"1.5\eta G^2+4\ell\eta GH,\quad\ldots",
    proposition=PROPOSITION.format("Lemmas 2 to 4, Corollary 1 and (5) to (9) take"),
    constants={"divided": 1},  # power of eta below the first term of (9)
    twin={"divided": 2},
    exact=("divided",),
)
def agnostic(c: SimpleNamespace) -> Finding:
    """Rescale both sides of each."""
    noise = 2 * eta**2 * sigma2
    leftover = H * (noise + 3 * eta**2 * G**2 + 8 * ell * eta**2 * G * H)
    floor = eta * sigma2 + 3 * eta * G**2 / 2 + 4 * ell * eta * G * H
    displays = {
        "Lemma 2": [(A_next, A - 2 * eta * gap + noise + 2 * eta**2 * G**2)],
        "Lemma 3": [(sympy.sqrt(A), 4 * eta * G * H)],
        "Corollary 1": [(value, 2 * ell * eta * G * H)],
        "(5) and (6)": [(A_next, A)],
        "(7) and (8)": [(A_next, A - 2 * eta * H * gap + leftover)],
        "(9)": [(gap, A / (2 * eta**c.divided * H * T) + floor)],
    }
    return keep_form(displays, TABLE, "Lemma 2 to (9)")

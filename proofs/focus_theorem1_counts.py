"""The remark after Theorem 1 of the FOCUS paper, in numbers of rounds.

`focus.thm1.remark` judges the orders in epsilon. Here (23)-(25) are inverted with the
caps put in: R as a function of epsilon, kappa, N, tau and q_min for each cap, the
largest being that at the least cap. The constants of the orders are thus of order
kappa^2 for (23), where the first cap is the least, and q_min^(-3/2) for all three.

Conventions: epsilon is relative to Psi_0 and Phi_0 in (23) and (24), and bounds the
mean of |grad F|^2 in (25); kappa = L/mu; the step size is the least of the printed
caps; log(1/epsilon) for epsilon < 1.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_theorem1_formulas import (
    FALL,
    as_written,
    counted,
    enough,
)
from flverify.claims.focus_theorem1_steps import L, N, beta, mu, q, tau
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

CAPS = {
    "(23)": {
        "mu/(N L^2)": "3/27",
        "1/(L (tau-1))": "1/3",
        "q^(3/2)/(L sqrt N)": "1/8",
    },
    "(24)": {
        "q/N": "3/32",
        "q/(beta N)": "1/12",
        "q/L^2": "1/16",
        "q^(3/2)/(L sqrt N)": "1/8",
    },
    "(25)": {
        "1/(L (tau-1))": "1/2",
        "q^(3/2)/(L sqrt N)": "1/8",
        "q/(L sqrt(2 N))": "1/16",
        "1/(L N)": "1/4",
    },
}
NUMBERS = {
    "(23)": ("18", "6", "16"),
    "(24)": ("32/3", "12", "16", "8"),
    "(25)": ("16", "64", "128", "32"),
}


def _written(c: SimpleNamespace) -> dict[str, dict[str, Any]]:
    """Return the formulas of the statement, before log(1/epsilon) or 1/epsilon."""
    root, kappa = q ** rational("3/2") * sympy.sqrt(N), L / mu
    monomials = {
        "(23)": (kappa**2, kappa * (tau - 1) / N, kappa / root),
        "(24)": (1 / (q * beta), 1 / q, L**2 / (q * beta * N), L / (beta * root)),
        "(25)": (
            FALL * L * (tau - 1) / N,
            FALL * L / root,
            FALL * L * sympy.sqrt(2) / (q * sympy.sqrt(N)),
            FALL * L,
        ),
    }
    factors = vars(c)
    return {
        bound: {
            cap: rational(factor) * monomial
            for cap, factor, monomial in zip(
                CAPS[bound], factors[bound], listed, strict=True
            )
        }
        for bound, listed in monomials.items()
    }


@claim(
    "focus.thm1.remark.rounds",
    source=Source("focus", "Remark after Theorem 1, with the caps of (23)-(25)"),
    statement=r"R_{(23)}=\max\Big\{18\kappa^2,\frac{6\kappa(\tau-1)}N,\frac{16\kappa}{"
    r"q_{\min}^{3/2}\sqrt N}\Big\}\log\frac1\epsilon,\quad R_{(24)}=\max\Big\{\frac{32}"
    r"{3q_{\min}\beta},\frac{12}{q_{\min}},\frac{16L^2}{q_{\min}\beta N},\frac{8L}{"
    r"\beta q_{\min}^{3/2}\sqrt N}\Big\}\log\frac1\epsilon,\quad R_{(25)}=\max\Big\{"
    r"\frac{16(\tau-1)}N,\frac{64}{q_{\min}^{3/2}\sqrt N},\frac{128\sqrt2}{q_{\min}"
    r"\sqrt N},32\Big\}\frac{L(F(\bar x_1)-F^\star)}\epsilon",
    proposition="At the least of the printed caps the right sides of (23)-(25) are at "
    "most epsilon, relative to Psi_0 and Phi_0 in the first two, after so many rounds; "
    "each entry is what its cap alone gives.",
    constants=NUMBERS,
    twin={"(23)": ("9", "6", "8")},
    exact=("(23)", "(24)", "(25)"),
    given={"(23)": "focus.thm1.sc", "(24)": "focus.thm1.pl", "(25)": "focus.thm1.nc"},
)
def rounds(c: SimpleNamespace) -> Finding:
    """Put the caps into the bounds; evaluate these after the rounds."""
    written = _written(c)
    searched = "L = 1, 4; N = 1, 4, 9; tau = 2, 5; q_min = 1/4, 1; epsilon = 2^-1..2^-7"
    search = judge.instances(counted(CAPS, written), "<=", searched)
    proof = judge.all_of(
        {"formulas": as_written(CAPS, written), "rounds": enough(CAPS)}
    )
    return judge.proof_or_search(proof, search)

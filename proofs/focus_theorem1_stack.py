"""Theorem 1 of the FOCUS paper, (25), read with the symbols that it prints.

`focus.thm1.nc` takes f for F and x_1 for xbar_1, as (121) does. By Section 4.1 and
Appendix B the gradient of f at x_k is the stack of the rows grad f_i(x_{k,i}). These
need not vanish where F is least, and the bound goes to 0 with 1/R. So under that
reading (25) fails for two clients that differ, whatever f(x_1) - f* is.

Conventions: the server's row of the stack is 0; tracker and stored gradients start at
those of the equal rows x_0; at full participation all rows after a pull are the
server's model.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

from flverify._core.sources import Source
from flverify.claims import focus_theorem1_rates as rates
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.stacked_gradients import FALLS, SEARCHED, ends
from flverify.claims.verdict import Finding

CAPS = {
    "1/(L (tau-1))": "1/2",
    "q^(3/2)/(L sqrt N)": "1/8",
    "q/(L sqrt(2 N))": "1/16",
    "1/(L N)": "1/4",
}
INDICES = {"index R tau + 1 as printed": True, "index r tau + 1 as in (121)": False}


@claim(
    "focus.thm1.nc.stack",
    source=Source("focus", "Theorem 1, eq. (25), with the symbols as printed"),
    statement=r"\frac1R\sum_{r=0}^{R-1}\mathbb{E}\|\nabla f(x_{R\tau+1})\|^2\le\frac{"
    r"8(f(x_1)-f^\star)}{\eta NR},\quad\nabla f(x_k)=\mathrm{vstack}[0;\nabla f_1("
    r"x_{k,1});\dots;\nabla f_N(x_{k,N})]",
    proposition="(25) holds with the stacked gradient, for all f_i of L-Lipschitz "
    "gradients with F bounded below, from equal models, at every step size inside the "
    "caps; f(x) on the right is what the reading says.",
    constants={"norm": "stack", "factor": "8"},
    twin={"norm": "mean"},
)
def stacked(c: SimpleNamespace) -> Finding:
    """Evaluate both sides for two clients; then with the square of the mean."""
    found = {
        f"{name}; f is {fall}": _evaluated(c, fall, last)
        for (name, last), fall in product(INDICES.items(), FALLS)
    }
    mended = SimpleNamespace(norm="mean", factor=c.factor)
    return judge.readings(found).corrected(
        r"\frac1R\sum_{r=0}^{R-1}\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2\le\frac{"
        r"8(F(\bar x_1)-F^\star)}{\eta NR},\quad\nabla f_i\;L\text{-Lipschitz},\;q_i="
        r"\mathbb{E}[I_i/|S|],\text{ rows and server of }x_0\text{ equal},\;y_0=\sum_i"
        r"\nabla f_i(x_0),\text{ independent rounds of one law}",
        judge.proof_or_search(
            rates.general(CAPS, c.factor, "3", Q_READINGS[0]),
            _evaluated(mended, "F(xbar)", False),
        ),
    )


def _evaluated(c: SimpleNamespace, fall: str, last: bool) -> Finding:
    cases = ends(CAPS, Fraction(c.factor), norm=c.norm, fall=fall, last=last)
    return judge.instances(cases, "<=", SEARCHED)

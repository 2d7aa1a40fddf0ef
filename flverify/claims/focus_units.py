"""Units of what the FOCUS paper prints: the quantities of its Appendices D and E.

The factors are those under f -> c f and x -> s x, where the step size is multiplied by
s^2/c: then each x_k, and with it each run, is multiplied by s.
"""

from __future__ import annotations

import sympy

from flverify.claims.units import Units

# pure numbers: clients, local steps, rounds, the least averaging weight, rho of Young
N, tau, R = sympy.symbols("N tau R", positive=True, integer=True)
q, rho = sympy.symbols("q_min rho", positive=True)
eta, L, mu, beta = sympy.symbols("eta L mu beta", positive=True)
sigma2 = sympy.Symbol("sigma^2", positive=True)  # (122)
n, steep = tau - 1, q ** sympy.Rational(3, 2)
eps = sympy.Symbol("epsilon", positive=True)  # of Young's inequality in (81)

x, y = sympy.symbols("x y", positive=True)  # models and trackers
# w_r is the server's model, S = 1^T grad f(x_{(r+1) tau}): |w_r - x*|^2, and then
# |1 w_r - x_{r tau}|^2, that of the round before, and of r tau + 1 in place of r tau
A, A_next = sympy.symbols("A_r A_{r+1}", positive=True)
B, B_before, moved = sympy.symbols("B_r B_{r-1} B_moved", positive=True)
gap, gap_next = sympy.symbols("DF_r DF_{r+1}", positive=True)  # F(w_r) - F*
slope2, y2 = sympy.symbols("grad^2 y^2", positive=True)  # of F at w_r; of a tracker
S2, error2 = sympy.symbols("S^2 E_r", positive=True)  # E_r = |N grad F(w_r) - S|^2
# <w_r - x*, S> and <grad F(w_r), S>
along, uphill = sympy.symbols("along uphill", positive=True)

PURE = (0, 0)
UNITS: Units = {
    **dict.fromkeys([N, tau, R, q, rho], PURE),
    x: (1, 0),
    y: (-1, 1),
    **dict.fromkeys([A, A_next, B, B_before, moved], (2, 0)),
    **dict.fromkeys([gap, gap_next, along], (0, 1)),
    **dict.fromkeys([slope2, y2, S2, error2, uphill, sigma2], (-2, 2)),
    **dict.fromkeys([L, mu, beta, eps], (-2, 1)),
    eta: (2, -1),
}

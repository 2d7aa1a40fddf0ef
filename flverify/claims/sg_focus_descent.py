"""(137) of the FOCUS paper, mended: the descent of F with noise, if all take part.

F(w_{r+1}) <= F(w_r) - eta <g, S + n> + eta^2 L/2 |S + n|^2 is smoothness at w_r and
w_r - eta (S + n); new noises leave E<g, S> and E|S|^2 + N sigma^2; and |S|^2/2 is at
most |N g - S|^2 + |N g|^2.
"""

from __future__ import annotations

from types import SimpleNamespace

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY, L, N, eta
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_noise import S2, added_squares, inner_product
from flverify.claims.sg_focus_search import SAMPLES, remembered
from flverify.claims.sg_focus_steps import descent_on_runs
from flverify.claims.verdict import Finding

F, F_next, noisy, inner = sympy.symbols("F F_next noisy inner", real=True)
square, SS, apart, slope = sympy.symbols("square SS apart slope", nonnegative=True)
a, b = sympy.symbols("a b", real=True)


@remembered
def noisy_descent(c: SimpleNamespace) -> Finding:
    """Put the proof, which is for independent samples, beside the search."""
    found = dict(descent_on_runs(c).readings)
    alone = SAMPLES[0]
    if alone in found:
        found[alone] = judge.proof_or_search(descent(c), found[alone])
    return judge.readings(found)


def descent(c: SimpleNamespace) -> Finding:
    """Judge the three lines; `noisy` and `square` are means with noise."""
    held = [
        F_next <= F - eta * noisy + eta**2 * L / 2 * square,
        sympy.Eq(noisy, inner),
        square <= SS + N * S2,
    ]
    added = rational(c.noise) * eta**2 * L * N * S2
    line2 = F - eta * inner + eta**2 * L / 2 * SS + added
    line3 = F - eta * inner + eta**2 * L * (apart + slope) + added
    g, moved = sympy.symbols("g moved", real=True)
    step = (-eta * moved * g + L / 2 * (-eta * moved) ** 2,)
    lines = (*step, -eta * g * moved + eta**2 * L / 2 * moved**2)
    return judge.all_of(
        {
            "line 1": judge.identity([("coordinate", *lines)], EVERY),
            "inner product": inner_product(c.laws),
            "square": added_squares(c.laws),
            "line 2": judge.implied(held, F_next <= line2, EVERY),
            "Jensen": judge.implied([], b**2 / 2 <= (a - b) ** 2 + a**2, EVERY),
            "line 3": judge.implied([apart + slope >= SS / 2], line2 <= line3, EVERY),
        },
        scope=EVERY,
        argument=__doc__,
    )

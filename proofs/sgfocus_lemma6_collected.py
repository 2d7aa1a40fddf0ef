"""Lemma 6 of the FOCUS paper, Appendix E.2: (132), (133) and what collects them.

(132) repeats (93), although (127) has twice its factor and a noise: where all models
are equal the clients still move. The display before (133) carries an L^2 before sigma^2
that changes its unit; (133) follows from that display's first line, and from the second
for L <= 1 alone. Dividing by 1 - q^2/4 turns 12 into at most 16; the lemma has 8.

Conventions as in sgfocus_lemma6.py; n = tau - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_families import GENERAL
from flverify.claims.focus_search import number
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_moments import Curves
from flverify.claims.sg_focus_moves import collected_moves, h2
from flverify.claims.sg_focus_search import (
    Q_READINGS,
    NoisyInstance,
    Sides,
    chosen,
    one_sample,
    population,
    remembered,
    searched,
)
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

ON_MOVES = "q^(3/2)/(sqrt(2) L (tau-1))"
CAPS = {"q^(3/2)/(L sqrt(6 N))": "1/4", ON_MOVES: "1/8"}
UNIT = "every q_min in (0, 1]"
NUMBERS = "every N, tau, L, eta and q_min in (0, 1]"
q = sympy.Symbol("q", positive=True)
B, OLD, G, S2 = sympy.symbols("B B_old G sigma2", nonnegative=True)

ROUNDS = {
    "(i) round r - 1 on the left, r on the right": 1,
    "(ii) the same round on both sides": 0,
}
BOTH = tuple(ROUNDS)


@claim(
    "sgfocus.lemma6.step132",
    source=Source("focus", "eq. (132)"),
    statement=r"\mathbb{E}\Big\|\sum_{k=(r-1)\tau+2}^{r\tau}D_k\boldsymbol{y}_k\Big"
    r"\|^2\le(\tau-1)\mathbb{E}\sum_{k=r\tau+2}^{(r+1)\tau}\|D_k\boldsymbol{y}_k\|^2"
    r"\le4(\tau-1)^2L^2\sum_{i=1}^Nq_i\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2\le4("
    r"\tau-1)^2L^2\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|^2",
    proposition="The first of the four is at most the last in expectation, in every "
    "round of every run with f_i of L-Lipschitz gradients under Assumption 6 and the "
    "caps of Lemma 6.",
    constants={"caps": CAPS, "bound": "4", "noise": "0", "rounds": BOTH},
    twin={"bound": "8", "noise": "16", "rounds": BOTH[1:]},
)
def moves(c: SimpleNamespace) -> Finding:
    """Sum (127) in one round; search runs, also with one sample for all."""
    mended = SimpleNamespace(
        **{**vars(c), "bound": "8", "noise": "16", "rounds": BOTH[1:]}
    )
    return judge.readings(_moves(c)).corrected(
        r"\mathbb{E}\Big\|\sum_{k=r\tau+2}^{(r+1)\tau}D_k\boldsymbol{y}_k\Big\|^2\le8("
        r"\tau-1)^2L^2\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|^2+16("
        r"\tau-1)^2N\sigma^2\text{, independent samples or noise that is the same at "
        r"every point, independent of the cohorts; stored gradients exact at first}",
        judge.readings(_moves(mended)),
    )


@remembered
def _moves(c: SimpleNamespace) -> dict[str, Finding]:
    found = {}
    for name in c.rounds:
        sides = partial(_sides132, c, ROUNDS[name])
        listed = chosen(c.caps, Q_READINGS[0], population(GENERAL, largest=5))
        search = judge.instances(
            searched(listed, sides, 20),
            "<=",
            "N = 1, 2, 5; curvatures 1, 30, 0, -1/2; tau = 1, 2, 20",
        )
        parts = {"independent samples": search}
        if search.passes():
            shared = one_sample(c.caps, Q_READINGS[0], sides, 2)
            parts["noise that is the same at every point"] = judge.instances(
                shared, "<=", "one sample for all"
            )
        found[name] = judge.all_of(
            {kind: _proved132(c, name, part) for kind, part in parts.items()}
        )
    return found


def _proved132(c: SimpleNamespace, name: str, search: Finding) -> Finding:
    """Sum (127) over the clients, both sides being of one round; all q_i <= 1."""
    if ROUNDS[name]:
        return search
    held = [2 * h2 <= rational(c.caps[ON_MOVES]) ** 2 * q**3, q <= 1]
    return judge.proof_or_search(collected_moves(c, held), search)


def _sides132(
    c: SimpleNamespace, later: int, one: NoisyInstance, found: Curves
) -> Sides:
    own, n = one.clients, one.clients.local_steps - 1
    factor = Fraction(c.bound) * n**2 * own.smoothness**2
    added = Fraction(c.noise) * n**2 * own.total * own.variance
    apart = found.behind[later:][: len(found.moved)]
    right = number(factor, apart) * apart + number(added, apart)
    return Sides(0, found.moved, right)


# Collected -----------------------------------------------------------------------


@claim(
    "sgfocus.lemma6.step132b",
    source=Source("focus", "displays before eq. (133)"),
    statement=r"B_r\le\Big(1-\frac q2\Big)B_{r-1}+\frac{6\eta^2NL^2(2-q)}qB_r+\frac{6"
    r"\eta^2N^2(2-q)}q\|\nabla F\|^2+\frac{6\eta^2N(2-q)}q\sigma^2+\frac{8\eta^2("
    r"\tau-1)^2L^2(2-q)}qB_r\le\Big(1-\frac q2\Big)B_{r-1}+\frac{12\eta^2NL^2}qB_r+"
    r"\frac{12\eta^2N^2}q\|\nabla F\|^2+\frac{12\eta^2NL^2}q\sigma^2+\frac{16\eta^2("
    r"\tau-1)^2L^2}qB_r",
    proposition="(130)-(132), taken as given, and rho = (1-q)/(1-q/2) turn (129) into "
    "line 1, and line 1 is at most line 2, for all positive L and q in (0, 1].",
    given={
        "(129)-(132)": (
            "sgfocus.lemma6.step129",
            "sgfocus.lemma6.step130",
            "sgfocus.lemma6.step131",
            "sgfocus.lemma6.step132",
        )
    },
    constants={"noise": "12", "unit": "N L^2"},
    twin={"unit": "N"},
)
def substituted(c: SimpleNamespace) -> Finding:
    """Substitute rho; then use 2 - q <= 2."""
    return _substituted(c).corrected(
        r"\text{line 2 with }\frac{12\eta^2N}q\sigma^2",
        _substituted(SimpleNamespace(**{**vars(c), "unit": "N"})),
    )


@remembered
def _substituted(c: SimpleNamespace) -> Finding:
    eta, L, N = sympy.symbols("eta L N", positive=True)
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    rho = (1 - q) / (1 - q / 2)
    ybar = 3 * N * S2 + 3 * N * L**2 * B + 3 * N**2 * G
    moved = 4 * n**2 * L**2 * B
    line0 = (1 - q) * OLD / rho + 2 * eta**2 / (1 - rho) * (ybar + moved)
    two = eta**2 * (2 - q) / q
    line1 = (1 - q / 2) * OLD + two * (2 * ybar + 2 * moved)
    terms = (1 - q / 2) * OLD + 6 * N * L**2 * two * B + 6 * N**2 * two * G
    terms += 6 * N * two * S2 + 8 * n**2 * L**2 * two * B
    unit = {"N L^2": N * L**2, "N": N}[c.unit]
    noise = 6 * N * (2 - q) * S2 <= rational(c.noise) * unit * S2
    rest = (2 - q) * B <= 2 * B
    return judge.all_of(
        {
            "rho": judge.identity([("line 1", line0, line1)], f"{NUMBERS}, q < 1"),
            "line 1": judge.identity([("terms", line1, terms)], NUMBERS),
            "B and G in line 2": judge.implied([q <= 1], rest, UNIT),
            "noise in line 2": judge.implied([q <= 1], noise, NUMBERS),
        }
    )


LINE_1, LINE_2 = "(i) from line 1 of it", "(ii) from line 2 of it, as printed"


@claim(
    "sgfocus.lemma6.step133",
    source=Source("focus", "eq. (133)"),
    statement=r"\eta\le\min\Big\{\frac{q^{3/2}}{4L\sqrt{6N}},\frac{q^{3/2}}{8\sqrt2L("
    r"\tau-1)}\Big\}:\quad\Big(1-\frac{q^2}4\Big)B_r\le\Big(1-\frac q2\Big)B_{r-1}+"
    r"\frac{12\eta^2N^2}q\|\nabla F(\bar x_{r\tau+1})\|^2+\frac{12\eta^2N}q\sigma^2",
    proposition="Numbers that satisfy the caps and the display before (133), the line "
    "of it that the reading says, satisfy (133).",
    given={"the display before it": "sgfocus.lemma6.step132b"},
    constants={
        "lost": "1/4",
        "gradient": "12",
        "noise": "12",
        "rows": "96",
        "moves": "128",
    },
    twin={"lost": "1/8"},
    no_control="line 2 prints L^2 beside sigma^2; the twin, half of what is lost, "
    "fails from both lines",
    free=(
        Free("lost", "1/8", "1/2", weaker="larger", reading=LINE_1),
        Free("gradient", "6", "20", weaker="larger", reading=LINE_1),
        Free("noise", "6", "20", weaker="larger", reading=LINE_1),
        Free("rows", "60", "200", weaker="larger", reading=LINE_1),
        Free("moves", "60", "200", weaker="larger", reading=LINE_1),
    ),
)
def moved_left(c: SimpleNamespace) -> Finding:
    """Compare coefficients with line 1; let line 2 be an equality where L > 1."""
    found = {
        LINE_1: _from_line_1(c),
        LINE_2: judge.instances(_from_line_2(c), "<=", "L = 2, 10; B_{r-1} = 0"),
    }
    return judge.readings(found).corrected(
        r"\text{line 1, or line 2 with }\frac{12\eta^2N}q\sigma^2\text{, and the caps "
        r"imply (133)}",
        found[LINE_1],
    )


def _from_line_1(c: SimpleNamespace) -> Finding:
    """Do so times q, with a = (eta L)^2 N and b = (eta L (tau-1))^2."""
    a, b = sympy.symbols("a b", nonnegative=True)
    held = [rational(c.rows) * a <= q**3, rational(c.moves) * b <= q**3, q <= 1]
    lost = _of_error(a, b) <= rational(c.lost) * q**3
    parts = {"B_r": judge.implied(held, lost, NUMBERS), "scaled": _scaled(c)}
    for name, bound in (("|grad F|^2", c.gradient), ("sigma^2", c.noise)):
        kept = at_most(6 * (2 - q), rational(bound))
        parts[name] = judge.implied([q <= 1], kept, UNIT)
    return judge.all_of(
        parts,
        argument="The coefficients of B_r, |grad F|^2 and sigma^2 in line 1 and in "
        "(133), times q, with a = (eta L)^2 N and b = (eta L (tau - 1))^2, so that the "
        "caps on eta are 96 a <= q^3 and 128 b <= q^3.",
    )


def _of_error(a: Any, b: Any) -> Any:
    """Coefficient of B_r in line 1, times q."""
    return (2 - q) * (6 * a + 8 * b)


def _printed_caps(c: SimpleNamespace, L: Any, N: Any, n: Any) -> tuple[Any, Any]:
    """Caps on eta, with 4 sqrt(6) and 8 sqrt(2) as roots of 96 and 128."""
    half = sympy.Rational(3, 2)
    rows = q**half / (L * sympy.sqrt(rational(c.rows) * N))
    return rows, q**half / (L * n * sympy.sqrt(rational(c.moves)))


def _scaled(c: SimpleNamespace) -> Finding:
    """Judge that a, b, q^3 and the coefficient of B_r are what the print makes them."""
    eta, L, N, n = sympy.symbols("eta L N n", positive=True)  # n = tau - 1
    a, b = (eta * L) ** 2 * N, (eta * L * n) ** 2
    rows, moves = _printed_caps(c, L, N, n)
    two = eta**2 * L**2 * (2 - q) / q
    pairs = [
        ("eta over the first cap", (eta / rows) ** 2 * q**3, rational(c.rows) * a),
        ("eta over the second", (eta / moves) ** 2 * q**3, rational(c.moves) * b),
        ("B_r", (6 * N * two + 8 * n**2 * two) * q, _of_error(a, b)),
    ]
    return judge.identity(pairs, NUMBERS)


def _from_line_2(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Take tau = 1 and no gradient; far inside the caps B_r is nearly its noise."""
    share = Fraction(1, 2)
    for smooth, many in product((2, 10), (1, 3)):
        step = share**2 / (20 * smooth * many)
        rows = 12 * (step * smooth) ** 2 * many / share
        error = rows / (1 - rows)  # B_r = rows B_r + rows sigma^2
        kept = 1 - Fraction(c.lost) * share**2
        right = Fraction(c.noise) * step**2 * many / share
        where = {"L": smooth, "N": many, "tau": 1, "q": share, "eta": step}
        where |= {"sigma^2": 1, "B_{r-1}": 0, "|grad F|^2": 0, "B_r": error}
        again = error - rows * error, rows  # line 2 with equality
        noisy = kept * again[1] / (1 - rows) if again[0] == again[1] else right
        yield judge.Case(where, kept * error, right, cohorts.sides(noisy, right))


@claim(
    "sgfocus.lemma6.final",
    source=Source("focus", "last display of Lemma 6"),
    statement=r"\text{simplifying (133) further: }\frac{1-q/2}{1-q^2/4}\le1-\frac q3,"
    r"\quad\frac{12}{1-q^2/4}\le8",
    proposition="Both inequalities between the coefficients hold for every q in (0, "
    "1].",
    constants={"contraction": "1/3", "gradient": "8", "divided": "12"},
    twin={"gradient": "16"},
)
def divided(c: SimpleNamespace) -> Finding:
    """Multiply by 1 - q^2/4, which is positive."""
    return _divided(c).corrected(
        r"\frac{12}{1-q^2/4}\le16",
        _divided(SimpleNamespace(**{**vars(c), "gradient": "16"})),
    )


@remembered
def _divided(c: SimpleNamespace) -> Finding:
    rest: Any = 1 - q**2 / 4
    kept = 1 - q / 2 <= (1 - rational(c.contraction) * q) * rest
    # unevaluated: sympy would fold a comparison that never holds into False
    bound = rational(c.gradient) * rest
    slope = sympy.Le(rational(c.divided), bound, evaluate=False)
    return judge.all_of(
        {
            "B_{r-1}": judge.implied([q <= 1], kept, UNIT),
            "gradient and noise": judge.implied([q <= 1], slope, UNIT),
        }
    )

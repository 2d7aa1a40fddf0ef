"""Lemma 6 of the FOCUS paper, Appendix E.2: the lemma and its steps (129) to (133).

Lemma 6 is Lemma 4 with noise. It inherits what fails there: the server moves N rows at
once, a factor N that (131) loses, and its end halves where dividing (133) enlarges. New
is that (131) compares with the gradients at xbar_{r tau}, and that (132) is copied
without the noise of (127), so that one client with many local moves is enough.
All from (132) on is in sgfocus_lemma6_collected.py, the proof of the mended lemma in
flverify/claims/sg_focus_lemma6.py.

Conventions: B_r = E||1 w_r - x_{r tau}||_F^2, w_r = xbar_{r tau+1}, n = tau - 1; E over
cohorts and noise, also of the gradient on the right, which is weaker than pointwise.
The tracker starts as the sum of stored gradients without noise; q_min by reading.
Rounds are independent of each other and of the noise.
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
from flverify.claims import cohorts, judge, stack_norms
from flverify.claims import sg_focus_lemma6 as proof
from flverify.claims import sg_focus_pull as pull
from flverify.claims.claim import Free, claim
from flverify.claims.focus_families import GENERAL
from flverify.claims.focus_lemma3 import EVERY, gradients_of_rows
from flverify.claims.focus_search import number
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_moments import Curves
from flverify.claims.sg_focus_noise import sum_of_stored
from flverify.claims.sg_focus_search import (
    Q_READINGS,
    SAMPLES,
    NoisyInstance,
    Sides,
    by_samples,
    chosen,
    one_sample,
    population,
    remembered,
    searched,
)
from flverify.claims.stack_norms import LAST_INDUCED, parted
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least, at_most
from flverify.reference import focus

CAPS = {"q^(3/2)/(L sqrt(6 N))": "1/4", "q^(3/2)/(sqrt(2) L (tau-1))": "1/8"}
REPAIRED = {
    "caps": {"q^(3/2)/(L N)": "1/8", "q^(3/2)/(sqrt(2) L (tau-1))": "1/8"},
    "power": 3,
    "noise_power": 2,
    "moves": "8",
    "case_3a": "1/N",
    "samples": SAMPLES[:1],
}
SEARCHED = (
    "N = 1, 2, 5, 25; curvatures 1, one of them 30, half of them 0, half of them "
    "-1/2; tau = 1, 2, 20; loud and quiet noise; 30 rounds"
)
q = sympy.Symbol("q", positive=True)
B, OLD, G, S2 = sympy.symbols("B B_old G sigma2", nonnegative=True)

# Lemma 6 -------------------------------------------------------------------------


@claim(
    "sgfocus.lemma6",
    source=Source("focus", "Lemma 6, Appendix E.2"),
    statement=r"\eta\le\min\Big\{\frac{q_{\min}^{3/2}}{4L\sqrt{6N}},\frac{q_{\min}^{3/2"
    r"}}{8\sqrt2L(\tau-1)}\Big\}:\quad\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|_F^2\le\Big(1-\frac{q_{\min}}3\Big)\|\mathbb{1}\bar x_{("
    r"r-1)\tau+1}-\boldsymbol{x}_{(r-1)\tau}\|_F^2+\frac{8\eta^2N^2}{q_{\min}}\|\nabla "
    r"F(\bar x_{r\tau+1})\|^2+\frac{8\eta^2N}{q_{\min}}\sigma^2",
    proposition="The bound holds in expectation in every round of every run with "
    "f_i of L-Lipschitz gradients under Assumptions 1 and 6 and the caps; rounds are "
    "independent and of one law, the server moves in empty ones too, stored gradients "
    "are exact at first and the tracker is their sum.",
    constants={
        "caps": CAPS,
        "contraction": "1/3",
        "gradient": "8",
        "power": 2,
        "noise": "8",
        "noise_power": 1,
        "moves": "0",
        "case_3a": "1/m",
        "samples": SAMPLES,
    },
    twin=REPAIRED,
)
def lemma6(c: SimpleNamespace) -> Finding:
    """Prove it mended; search runs for each reading of q and of Assumption 6."""
    mended = SimpleNamespace(**{**vars(c), **REPAIRED})
    return judge.readings(_lemma6(c, Q_READINGS)).corrected(
        r"\eta\le\min\Big\{\frac{q^{3/2}}{8LN},\frac{q^{3/2}}{8\sqrt2L(\tau-1)}\Big\}:"
        r"\ B_r\le\Big(1-\frac q3\Big)B_{r-1}+\frac{8\eta^2N^3}q\,\mathbb{E}\|\nabla F("
        r"\bar x_{r\tau+1})\|^2+\frac{8\eta^2N(N+(\tau-1)^2)}q\sigma^2,\; q="
        r"\min_ip_i,\text{ independent samples and rounds, of one law, the server "
        r"moving in empty ones too, stored gradients exact at first and the tracker "
        r"their sum}",
        judge.readings(_lemma6(mended, Q_READINGS[2:])),
    )


@remembered
def _lemma6(c: SimpleNamespace, q_readings: tuple[str, ...]) -> dict[str, Finding]:
    found = {}
    for reading in q_readings:
        sides = partial(_sides6, c)
        listed = chosen(c.caps, reading, population(GENERAL, largest=25), c.case_3a)
        shared = one_sample(c.caps, reading, sides, 2)
        by = by_samples(
            lambda listed=listed, sides=sides, reading=reading: judge.proof_or_search(
                proof.lemma6(c, reading),
                judge.instances(searched(listed, sides, 30), "<=", SEARCHED),
            ),
            lambda shared=shared: judge.instances(shared, "<=", "one sample for all"),
            c.samples,
        )
        found.update({f"{reading}; {name}": one for name, one in by.items()})
    return found


def _sides6(c: SimpleNamespace, one: NoisyInstance, found: Curves) -> Sides:
    own, q_min = one.clients, one.q
    push = one.step**2 / q_min
    slope = Fraction(c.gradient) * push * own.total**c.power * own.mean_curvature**2
    noises = Fraction(c.noise) * own.total**c.noise_power
    noises += Fraction(c.moves) * own.total * (own.local_steps - 1) ** 2
    added = push * noises * own.variance
    before, w = found.behind[:-1], found.server[1:]
    kept = 1 - Fraction(c.contraction) * q_min
    right = number(kept, w) * before + number(slope, w) * w + number(added, w)
    return Sides(1, found.behind[1:], right)


# (129), (130) --------------------------------------------------------------------

FROBENIUS = "(i) ||1 ybar||^2 is the Frobenius norm of N rows"
ONE_ROW = "(ii) ||1 ybar||^2 is |ybar|^2"
NAMED = (
    "gap, y and s are a coordinate of a row of 1 xbar - x, of 1 ybar and of the sum of "
    "D_k y_k; in 'N rows' all N rows are alike, with gap = s = 0."
)


@claim(
    "sgfocus.lemma6.step129",
    source=Source("focus", "eq. (129)"),
    statement=r"\mathbb{E}\Big\|\mathbb{1}\bar x_{(r-1)\tau+1}-\eta\mathbb{1}\bar y_{r"
    r"\tau+1}-\boldsymbol{x}_{(r-1)\tau+1}+\eta\sum_{k=(r-1)\tau+2}^{r\tau}D_k"
    r"\boldsymbol{y}_k\Big\|_F^2\le\frac1\rho\mathbb{E}\|\mathbb{1}\bar x_{(r-1)"
    r"\tau+1}-\boldsymbol{x}_{(r-1)\tau+1}\|_F^2+\frac{2\eta^2}{1-\rho}\mathbb{E}\|"
    r"\mathbb{1}\bar y_{r\tau+1}\|^2+\frac{2\eta^2}{1-\rho}\mathbb{E}\Big\|\sum_kD_k"
    r"\boldsymbol{y}_k\Big\|^2",
    proposition="With the server's move and the local moves put in, the inequality "
    "holds for every rho in (0, 1), N and all vectors.",
    constants={"split": "2", "loss": "1"},
    twin={"split": "1/2"},
    no_control="the print does not say which norm of 1 ybar is meant, and drops the F "
    "of the last; the twin, a quarter of the factor, fails under each reading",
    free=Free("split", "1/2", "4", weaker="larger", reading=FROBENIUS),
)
def split(c: SimpleNamespace) -> Finding:
    """Put the moves in; judge one coordinate of one row, and of one of N rows."""
    gap, y, s = sympy.symbols("gap y s", real=True)
    eta, rho = sympy.symbols("eta rho", positive=True)
    N = sympy.Symbol("N", integer=True, positive=True)
    w, x = sympy.symbols("w x", real=True)
    unrolled = ((w - eta * y) - (x - eta * s), (w - x) - eta * y + eta * s)
    factor = rational(c.split) * eta**2 / (1 - rho)
    near = rational(c.loss) * gap**2 / rho + factor * s**2
    row = (gap - eta * y + eta * s) ** 2 <= near + factor * y**2
    # N equal rows with gap = s = 0, as after a first round of tau = 1 from equal models
    rows = at_most(N * eta**2 * y**2, factor * y**2)
    moves = judge.identity([("a row", *unrolled)], EVERY)
    scope = "every rho in (0, 1), N, eta and dimension"
    return judge.readings(
        {
            FROBENIUS: judge.all_of(
                {"moves": moves, "a row": judge.implied([rho < 1], row, scope)},
                argument=NAMED,
            ),
            ONE_ROW: judge.all_of(
                {
                    "moves": moves,
                    "a row": judge.implied([rho < 1], row, scope),
                    "N rows": judge.implied([rho < 1, at_least(N, 1)], rows, scope),
                },
                argument=NAMED,
            ),
            f"(iii) as (i), {LAST_INDUCED}": judge.instances(
                parted(SimpleNamespace(server=c.split, moves=c.split)),
                "<=",
                f"{stack_norms.SEARCHED}; rho = 1/4",
            ),
        }
    )


@claim(
    "sgfocus.lemma6.step130",
    source=Source("focus", "eq. (130)"),
    statement=r"\mathbb{E}\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol{x}_{(r-1)"
    r"\tau+1}\|_F^2=\sum_{i=1}^N(1-q_i)\|\bar x_{(r-1)\tau+1}-x_{(r-1)\tau,i}\|^2"
    r"\le(1-q_{\min})\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol{x}_{(r-1)\tau}\|_F^2",
    proposition="Both relations hold for all models, independent rounds and every law "
    "of Assumption 1, for uniform cohorts where q_i is that of Case 3a.",
    constants={"absent": 1, "least": 1},
    twin={"absent": 2, "least": 2},
    no_control="what q_i is has several readings in print; the twin, 2 - q_i for "
    "1 - q_i, fails under every one of them",
)
def pulled(c: SimpleNamespace) -> Finding:
    """Take one client of any law, then list laws; participants are at distance 0."""
    parts = {
        Q_READINGS[0]: pull.listed_laws(c, cohorts.averaging),
        Q_READINGS[2]: judge.proof_or_search(
            pull.one_client(c), pull.listed_laws(c, cohorts.inclusion)
        ),
        Q_READINGS[1]: judge.identity(pull.uniform_cohorts(c), "Case 3a, N = 1..3"),
    }
    return judge.readings(
        {
            name: judge.all_of({"equality": equal, "inequality": pull.least_weight(c)})
            for name, equal in parts.items()
        }
    )


# (131), (132) --------------------------------------------------------------------

PRINTED_POINT, MENDED_POINT = "1 xbar_{r tau}", "x_{r tau}"
AT_ROWS = f"gradients at {MENDED_POINT}, as in line 2"


@claim(
    "sgfocus.lemma6.step131",
    source=Source("focus", "eq. (131)"),
    statement=r"\|\bar y_{r\tau+1}\|^2\le3\big\|\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_{r\tau};\xi_{r\tau})-\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\mathbb{1}\bar x_{r\tau})\big\|^2+3\big\|\mathbb{1}^{\mathsf T}"
    r"\nabla\boldsymbol{f}(\mathbb{1}\bar x_{r\tau})-\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\mathbb{1}\bar x_{r\tau+1})\big\|^2+3\|N\nabla F(\bar x_{r\tau+1}"
    r")\|^2\le3N\sigma^2+3NL^2\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau}"
    r"\|_F^2+3\|N\nabla F(\bar x_{r\tau+1})\|^2",
    proposition="Both inequalities hold in expectation in every round of every run "
    "with f_i of L-Lipschitz gradients under Assumption 6, who comes being independent "
    "of all samples drawn before.",
    constants={
        "points": (PRINTED_POINT, MENDED_POINT),
        "terms": "3",
        "samples": SAMPLES,
        "rows": "1",
        "noise": "1",
    },
    twin={"terms": "2"},
    reading_twins={
        f"{AT_ROWS}; {SAMPLES[0]} / line 2, rows": {"rows": "1/2"},
        f"{AT_ROWS}; {SAMPLES[0]} / line 2, noise": {"noise": "1/2"},
    },
)
def three_terms(c: SimpleNamespace) -> Finding:
    """Judge Jensen, the noise and the rows apart, for each point that may be meant."""
    mended = SimpleNamespace(
        **{**vars(c), "points": (MENDED_POINT,), "samples": SAMPLES[:1]}
    )
    return judge.readings(_three_terms(c)).corrected(
        r"\text{(131) with }\boldsymbol{x}_{r\tau}\text{ for }\mathbb{1}\bar x_{r\tau}"
        r"\text{, for samples that are independent, of the cohorts too, and a tracker "
        r"that is the sum of the stored gradients, exact at first}",
        judge.readings(_three_terms(mended)),
    )


@remembered
def _three_terms(c: SimpleNamespace) -> dict[str, Finding]:
    a, b, e = sympy.symbols("a b e", real=True)
    three = rational(c.terms)
    jensen = (a + b + e) ** 2 <= three * (a**2 + b**2 + e**2)
    rows = {
        MENDED_POINT: lambda: gradients_of_rows(c.rows),
        PRINTED_POINT: lambda: judge.instances(
            _without_noise(c), "<=", "N = 1, 2; tau = 2; no noise"
        ),
    }
    found = {}
    for point, name in product(c.points, c.samples):
        slip = f"gradients at {PRINTED_POINT}, as printed"
        found[f"{AT_ROWS if point == MENDED_POINT else slip}; {name}"] = judge.all_of(
            {
                "line 1": judge.implied([], jensen, EVERY),
                "line 2, rows": rows[point](),
                "line 2, noise": _noise(name, c.noise),
            }
        )
    return found


def _noise(samples: str, factor: str) -> Finding:
    """Prove it for independent samples; list signs for these, and for equal ones."""
    pairs = _sum_of_noises(samples, rational(factor))
    found = judge.identity(pairs, "N = 1..4 signs times sigma")
    if samples != SAMPLES[0]:
        return found
    return judge.proof_or_search(sum_of_stored(factor), found)


def _sum_of_noises(samples: str, factor: Any) -> Iterator[judge.Pair]:
    """E|sum of the stored noises|^2 against factor N sigma^2, by signs."""
    sigma = sympy.Symbol("sigma", positive=True)
    for size in (1, 2, 3, 4):
        alike = samples != SAMPLES[0]
        signs = (
            [(s,) * size for s in (1, -1)]
            if alike
            else [*product((1, -1), repeat=size)]
        )
        mean = sum((sum(s) * sigma) ** 2 for s in signs) / len(signs)
        yield f"N = {size}", mean, factor * size * sigma**2


def _without_noise(c: SimpleNamespace) -> Iterator[judge.Case]:
    """3 |S - N grad F(w_{r-1})|^2 + 3 |N grad F(w_{r-1}) - N grad F(w_r)|^2, sigma = 0.

    One round of full participation from w = xbar_{(r-1) tau+1} and rows z, which may be
    any at r = 1.
    """
    step = Fraction(1, 32)
    for h, w, z, cohort, tau in (
        ((1,), 1, (0,), frozenset({0}), 2),
        ((1, 2), 1, (1, 1), frozenset({0, 1}), 2),
    ):
        where = {"h": h, "w_{r-1}": w, "x_{(r-1) tau}": z, "law": f"full:{len(h)}"}
        where |= {"tau": tau, "step size": step, "sigma^2": 0}
        rows = [
            v + (i in cohort) * (1 - step * a) ** (tau - 1) * (w - v)
            for i, (a, v) in enumerate(zip(h, z, strict=True))
        ]
        first = _row_sides(c, h, Fraction(w), rows, step)
        again = partial(_row_sides_again, c, (h, Fraction(w), z), cohort, tau, step)
        yield judge.Case(where, *first, again)


def _row_sides(
    c: SimpleNamespace, h: Any, w: Fraction, rows: list[Any], step: Fraction
) -> tuple[Any, Any]:
    many, three = len(h), Fraction(c.terms)
    S = sum((a * v for a, v in zip(h, rows, strict=True)), Fraction(0))
    later = w - step * S
    left = (S - sum(h) * w) ** 2 + (sum(h) * (w - later)) ** 2
    apart = sum(((later - v) ** 2 for v in rows), Fraction(0))
    return three * left, three * many * max(h) ** 2 * apart


def _row_sides_again(
    c: SimpleNamespace, start: Any, cohort: Any, tau: int, step: Fraction
) -> tuple[Any, Any]:
    """Return the same from the plain loop."""
    h, w, z = start
    stored = [[Fraction(a * v)] for a, v in zip(h, z, strict=True)]
    state = {"model": [w], "tracker": [sum(g for (g,) in stored)], "stored": stored}
    end = focus.play(
        state,
        lambda i, x: [h[i] * x[0]],
        len(h),
        cohort,
        step_size=step,
        local_steps=tau,
    )
    later, S = end["model"][0], end["tracker"][0]
    rows = [g / a for (g,), a in zip(end["stored"], h, strict=True)]
    left = (S - sum(h) * w) ** 2 + (sum(h) * w - sum(h) * later) ** 2
    apart = sum(((later - v) ** 2 for v in rows), Fraction(0))
    many, three = len(h), Fraction(c.terms)
    return three * left, three * many * max(h) ** 2 * apart

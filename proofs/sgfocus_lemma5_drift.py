"""Lemma 5 of the FOCUS paper, Appendix E.1: the steps (126) to (128), the last step.

They bound the gradients between the server's model and the rows that it collects from,
now with noise; (127) and the display before it are in sgfocus_lemma5_moves.py. (128)
sums (127) over the participants with one sigma^2 for all of them: the moves of clients
whose gradient bends add up, whatever their samples. (127) itself needs samples that are
independent of where they are used, or noise that does not depend on the point. The last
step needs eta <= 1/mu, which its list implies for tau >= 2 only.

Conventions: w = xbar_{r tau+1}, z_i = x_{r tau,i}, D = |w - z_i|^2, n = tau - 1; E over
samples on both sides, stored ones as Assumption 6 has it. 1/(tau-1) by reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge, stack_norms
from flverify.claims.claim import Free, claim
from flverify.claims.focus_families import CONVEX
from flverify.claims.focus_lemma3 import EVERY, L, gradients_of_rows, n, sum_of_vectors
from flverify.claims.focus_search import number
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_moments import Curves
from flverify.claims.sg_focus_moves import drift_bounded, h2, unrolled
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
from flverify.claims.stack_norms import INDUCED, ONE_NORM, split
from flverify.claims.tuned_noise import TunedNoise
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least, at_most
from flverify.reference import focus

SECOND = "1/(sqrt(2) (tau-1) L)"
CAPS = {"mu/((tau-1)^2 L^2 N)": "1/128", SECOND: "1/2"}
NAMES = "every tau >= 2, dimension and L-smooth f_i"
a, b, c_, d = sympy.symbols("a b c d", real=True)
T, D, V, S2 = sympy.symbols("T D V sigma2", nonnegative=True)  # V = L^2 D


@claim(
    "sgfocus.lemma5.step126",
    source=Source("focus", "eq. (126)"),
    statement=r"\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}\bar "
    r"x_{r\tau+1})-\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{(r+1)"
    r"\tau})\|^2\le L^2N\,\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{(r+1)"
    r"\tau}\|_F^2=L^2N\,\mathbb{E}\Big\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r"
    r"\tau+1}+\eta\sum_kD_k\boldsymbol{y}_k\Big\|_F^2\le2L^2N\|\mathbb{1}\bar x_{r"
    r"\tau+1}-\boldsymbol{x}_{r\tau+1}\|^2+2(\tau-1)\eta^2L^2N\,\mathbb{E}\sum_{k=r"
    r"\tau+2}^{(r+1)\tau}\|D_k\boldsymbol{y}_k\|_F^2",
    proposition="For L-smooth f_i and the local moves of Algorithm 2 the first lines "
    "of (126) are as printed, for all samples, and the last, which has the norm of "
    "1 w - x_{r tau+1} without the F of the line before, follows from |a + b|^2 <= "
    "2 |a|^2 + 2 |b|^2 and |sum of tau - 1|^2 <= (tau - 1) sum | |^2 for all vectors.",
    constants={"rows": "1", "far": "2", "moved": "2", "count": "1", "sign": 1},
    twin={"count": "9/10"},
    no_control="Appendix B has two norms, and the last line drops an F; the twin, nine "
    "tenths of the last term, fails under both readings",
    reading_twins={
        f"{ONE_NORM} / line 1": {"rows": "1/2"},
        f"{ONE_NORM} / line 2": {"sign": -1},
        f"{ONE_NORM} / line 3": {"far": "1"},
    },
    free=(
        Free("rows", "1/2", "2", weaker="larger", reading=ONE_NORM),
        Free("far", "1", "4", weaker="larger", reading=ONE_NORM),
        Free("moved", "1", "4", weaker="larger", reading=ONE_NORM),
        Free("count", "1/2", "2", weaker="larger", reading=ONE_NORM),
    ),
    exact=("sign",),
)
def drift(c: SimpleNamespace) -> Finding:
    """Use A2 and Jensen; play the local moves on formal stochastic gradients."""
    apart = (a + b) ** 2 <= rational(c.far) * a**2 + rational(c.moved) * b**2
    lines = {
        "line 1": gradients_of_rows(c.rows),
        "line 2": unrolled(c.sign),
        "line 3": judge.implied([], apart, EVERY),
        "line 4": sum_of_vectors(c.count),
    }
    one = judge.all_of(lines)
    two = {**lines, "line 3": judge.instances(split(c), "<=", stack_norms.SEARCHED)}
    return judge.readings({ONE_NORM: one, INDUCED: judge.all_of(two)}).corrected(
        r"\cdots\le2L^2N\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau+1}\|_F^2+"
        r"\cdots",
        one,
    )


@claim(
    "sgfocus.lemma5.step127a",
    source=Source("focus", "first display of eq. (127)"),
    statement=r"\mathbb{E}\|y_{k,i}\|^2\le4\,\mathbb{E}\|\cdot\|^2\text{ (four terms)}"
    r"\le4L^2\|x_{k-1,i}-x_{r\tau+1,i}\|^2+4L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2+8"
    r"\sigma^2\le4\eta^2L^2(k-r\tau-2)\sum_{k'=r\tau+2}^k\|y_{k',i}\|^2+\dots\le4"
    r"\eta^2L^2(\tau-1)\sum_{k'=r\tau+2}^{(r+1)\tau}\|y_{k',i}\|^2+4L^2\|x_{r\tau+1,i}"
    r"-x_{r\tau,i}\|^2+8\sigma^2",
    proposition="For i in S_r, k = r tau+2, ..., (r+1) tau, L-smooth f_i, samples with "
    "(122) and cohorts apart from them each line is at most the next in expectation, "
    "the second by |a + b + c + d|^2 <= 4 (|a|^2 + |b|^2 + |c|^2 + |d|^2) for all "
    "vectors.",
    constants={"terms": "4", "noise": "8", "count": "1"},
    twin={"terms": "3"},
    free=(
        Free(
            "terms",
            "3",
            "6",
            weaker="larger",
            given={"noise": "12"},
            reading=SAMPLES[0],
        ),
        Free("noise", "6", "12", weaker="larger", reading=SAMPLES[0]),
        Free("count", "1/2", "2", weaker="larger", reading=SAMPLES[0]),
    ),
)
def chain(c: SimpleNamespace) -> Finding:
    """Prove it for samples independent of the point; else noise may wait there."""
    tuned = TunedNoise()

    def third_line(moves: list[Fraction]) -> tuple[Any, Any]:
        far = tuned.step**2 * moves[0]  # E|x_{k-1} - w|^2; w is x_{r tau}
        return moves[1], Fraction(c.terms) * far + Fraction(c.noise)

    return judge.readings(
        by_samples(lambda: _chain(c), lambda: tuned.refutes(third_line))
    )


def _chain(c: SimpleNamespace) -> Finding:
    """Prove the lines apart: a and d are noises, b and c_ differences of gradients."""
    m, fewer, more = sympy.symbols("M fewer more", nonnegative=True)
    fresh, old, far, near = sympy.symbols("fresh old far near", nonnegative=True)
    four = rational(c.terms)
    jensen = (a + b + c_ + d) ** 2 <= four * (a**2 + b**2 + c_**2 + d**2)
    held = [fresh <= S2, old <= S2, far <= L**2 * T, near <= V]
    line3 = four * (L**2 * T + V) + rational(c.noise) * S2
    moved = [a**2 <= m * fewer, fewer <= more]
    used = four * (fresh + far + near + old) <= line3
    last = m * fewer <= n * rational(c.count) * more
    most = [m <= n - 1, fewer <= more, n >= 1]
    return judge.all_of(
        {
            "line 2": judge.implied([], jensen, EVERY),
            "A2 and A6": judge.implied(held, used, EVERY),
            "sum of moves": sum_of_vectors(c.count),
            "one more": judge.implied(moved, a**2 <= m * more, NAMES),
            "largest k": judge.implied(most, last, NAMES),
        },
        argument="a, b, c, d are the four terms; fresh and old are E| |^2 of the two "
        "noises, far and near of the differences of gradients; T = |x_{k-1,i} - "
        "x_{r tau+1,i}|^2, V = L^2 |x_{r tau+1,i} - x_{r tau,i}|^2. M is the number of "
        "moves up to x_{k-1,i}, fewer and more are the sums of |y|^2 over some moves "
        "and over others besides, and n = tau - 1.",
    )


# (128) and the last step ---------------------------------------------------------


PLUGGED = {"clients": 1, "samples": SAMPLES[:1]}


@claim(
    "sgfocus.lemma5.step128",
    source=Source("focus", "eq. (128)"),
    statement=r"\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}\bar "
    r"x_{r\tau+1})-\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{(r+1)"
    r"\tau})\|^2\le\big(2L^2N+16\eta^2(\tau-1)^2L^4N\big)\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|^2+32\eta^2(\tau-1)^2L^2N\sigma^2",
    proposition="(128) holds in expectation in every round of every run with convex "
    "L-smooth f_i under the step sizes of Lemma 5.",
    constants={
        "caps": CAPS,
        "far": "2",
        "moved": "16",
        "noise": "32",
        "clients": 0,
        "samples": SAMPLES,
    },
    twin=PLUGGED,
)
def plugged(c: SimpleNamespace) -> Finding:
    """Plug (127) into (126), with Lemma 5's second cap alone; search runs."""
    mended = SimpleNamespace(**{**vars(c), **PLUGGED})
    return judge.readings(_found_128(c)).corrected(
        r"\text{(128) with }32\eta^2(\tau-1)^2L^2N^2\sigma^2\text{, independent "
        r"samples or noise the same at every point, of any joint law, independent of "
        r"the cohorts; stored gradients exact at first}",
        judge.all_of({**_found_128(mended), SAME_NOISE: _same_noise(mended)}),
    )


@remembered
def _found_128(c: SimpleNamespace) -> dict[str, Finding]:
    sides = partial(_sides128, c)
    steps = chosen(c.caps, Q_READINGS[0], population(CONVEX, largest=5))
    cases = [*_bent(c), *searched(steps, sides, 20)]
    return by_samples(
        lambda: judge.proof_or_search(
            drift_bounded(c, _second_cap(c)), judge.instances(cases, "<=", SEARCHED)
        ),
        lambda: _alike(c),
        c.samples,
    )


def _same_noise(c: SimpleNamespace) -> Finding:
    """(127) asks for E|noise|^2 <= sigma^2 alone, which the point does not change."""
    return judge.proof_or_search(drift_bounded(c, _second_cap(c)), _alike(c))


def _alike(c: SimpleNamespace) -> Finding:
    runs = one_sample(c.caps, Q_READINGS[0], partial(_sides128, c), 1)
    return judge.instances(runs, "<=", "one sample for all")


def _second_cap(c: SimpleNamespace) -> list[Any]:
    return [2 * h2 <= rational(c.caps[SECOND]) ** 2]


def _sides128(c: SimpleNamespace, one: NoisyInstance, found: Curves) -> Sides:
    own, moves = one.clients, one.clients.local_steps - 1
    e2, many = (one.step * moves) ** 2, own.total
    L2, B = own.smoothness**2, found.behind[:-1]
    spread = Fraction(c.far) * L2 + Fraction(c.moved) * e2 * L2**2
    added = Fraction(c.noise) * e2 * L2 * many ** (1 + c.clients) * own.variance
    return Sides(0, found.drift, number(spread * many, B) * B + number(added, B))


SAME_NOISE = "noise that is the same at every point"
SEARCHED = (
    "N = 1, 2, 5; kappa = 1, 5, 30; tau = 1, 2, 20; loud and quiet noise; 200 clients "
    "whose gradient bends"
)


def _bent(c: SimpleNamespace) -> Iterator[judge.Case]:
    """N clients f' = x above 0 and x/10 below, all at 0, one local move, noise +-1.

    The mean gradient after the move is 9/20 of its length and not 0, so that it adds up
    as N^2; nothing else is there in the first round.
    """
    total, bend = 200, Fraction(1, 10)
    step = bend / (128 * total)
    ends = [step, -bend * step]  # the gradients where the noises -1 and 1 lead
    where = {
        "f_i'": "x above 0, mu x below",
        "mu": bend,
        "N": total,
        "law": "full",
        "tau": 2,
        "step size": step,
        "x_0": 0,
        "noise": "+-1, independent",
    }
    right = Fraction(c.noise) * step**2 * Fraction(total) ** (1 + c.clients)

    def again() -> tuple[Any, Any]:
        return _added(total, [_moved(bend, step, sign) for sign in (-1, 1)]), right

    yield judge.Case(where, _added(total, ends), right, again)


def _added(total: int, values: list[Fraction]) -> Fraction:
    """E|v_1 + ... + v_N|^2 of independent v_i, each of the values equally likely."""
    mean = sum(values, Fraction(0)) / len(values)
    square = sum((v * v for v in values), Fraction(0)) / len(values)
    return total * (square - mean**2) + (total * mean) ** 2


def _moved(bend: Fraction, step: Fraction, sign: int) -> Fraction:
    """Return f' where the plain loop ends after one move with this noise."""
    points: list[Fraction] = []

    def gradient(_: int, point: list[Any]) -> list[Any]:
        points.append(Fraction(point[0]))
        return [points[-1] * (bend if points[-1] < 0 else 1) + sign]

    nil = Fraction(0)
    state = {"model": [nil], "tracker": [nil], "stored": [[nil]]}
    focus.play(state, gradient, 1, {0}, step_size=step, local_steps=2)
    return points[-1] * (bend if points[-1] < 0 else 1)


TAU_1 = "1/(tau-1) at tau = 1: (i) the condition is void"
TAU_2 = "1/(tau-1) at tau = 1: (ii) tau >= 2 is required"


@claim(
    "sgfocus.lemma5.final",
    source=Source("focus", "display after eq. (128)"),
    statement=r"2\eta\Big(\frac1\mu+\eta\Big)\big(2L^2N+16\eta^2(\tau-1)^2L^4N\big)\le"
    r"\frac{16\eta L^2N}\mu,\quad\eta^2\sigma^2+2\eta\Big(\frac1\mu+\eta\Big)32\eta^2("
    r"\tau-1)^2L^2N\sigma^2\le2\eta^2\sigma^2,\quad\min\Big\{\frac1\mu,\frac\mu{128("
    r"\tau-1)^2L^2N},\frac1{2\sqrt2(\tau-1)L}\Big\}=\min\Big\{\frac\mu{128("
    r"\tau-1)^2L^2N},\frac1{2\sqrt2(\tau-1)L}\Big\}",
    proposition="Both inequalities, and the equality of the two minima, hold for every "
    "L >= mu > 0, N >= 1, tau and every eta inside the shorter list (p = eta mu).",
    constants={"consensus": "16", "noise": "2", "first": "128", "least_moves": 0},
    twin={"consensus": "4", "noise": "1"},
    no_control="the print does not say what 1/(tau-1) is at tau = 1; the twin, a "
    "quarter of the bound, fails under both readings",
    free=(
        Free("consensus", "4", "20", weaker="larger", reading=TAU_2),
        Free("noise", "1", "3", weaker="larger", reading=TAU_2),
    ),
)
def last_step(c: SimpleNamespace) -> Finding:
    """Divide by scales: p = eta mu, k = L/mu, t = eta mu k^2 N (tau-1)^2."""
    return judge.readings({TAU_1: _last(c, 0), TAU_2: _last(c, 1)}).corrected(
        r"\text{both inequalities under the longer list, with }\eta\le1/\mu",
        _last(c, 0, longer=True),
    )


def _last(c: SimpleNamespace, least: int, *, longer: bool = False) -> Finding:
    """Judge tau >= 2, and tau = 1 if `least` is 0: there t = 0 and no cap is left."""
    parts = dict(_from_two(c))
    if not least:
        p = sympy.Symbol("p", positive=True)
        short = [p <= 1] if longer else []
        zero = sympy.Integer(0)
        alone = _both(c, short, p, zero, zero)
        alone["the minima"] = judge.implied(short, at_most(p, 1), SCALES)
        parts |= {f"tau = 1, {name}": found for name, found in alone.items()}
    return judge.all_of(parts, argument=NAMED)


@remembered
def _from_two(c: SimpleNamespace) -> dict[str, Finding]:
    p, t, k = sympy.symbols("p t kappa", positive=True)
    N, x = sympy.symbols("N x", integer=True, positive=True)  # x = tau - 1
    caps = [rational(c.first) * t <= 1, t >= p * N, 8 * p * t <= N, at_least(N, 1)]
    scale = judge.implied([k >= 1], p * k**2 * N * x**2 >= p * N, "every kappa, N, tau")
    return {
        "scaled": _scaled(rational(c.first)),
        "t >= eta mu N": scale,
        "eta mu <= 1 is implied": judge.implied(caps, p <= 1, SCALES),
        **_both(c, caps, p, t, p * t / N),
    }


SCALES = "every eta mu, L/mu, N, tau"
NAMED = (
    "p = eta mu, kappa = L/mu, x = tau - 1 and t = p kappa^2 N x^2, so that the caps "
    "on eta are 128 t <= 1 and 8 p t <= N, as (eta L (tau - 1))^2 = p t/N."
)


def _both(
    c: SimpleNamespace, held: list[Any], p: Any, t: Any, square: Any
) -> dict[str, Finding]:
    """Both inequalities, square = (eta L (tau-1))^2 = eta mu t/N."""
    return {
        name: judge.implied(held, at_most(left, rational(vars(c)[name])), SCALES)
        for name, left in _lefts(p, t, square).items()
    }


def _lefts(p: Any, t: Any, square: Any) -> dict[str, Any]:
    """Left sides over eta L^2 N/mu and over eta^2 sigma^2."""
    return {"consensus": (1 + p) * (4 + 32 * square), "noise": 1 + 64 * (1 + p) * t}


def _scaled(first: Any) -> Finding:
    """Judge that left sides and caps are the printed ones, divided by scales."""
    eta, mu, smooth, N, x = sympy.symbols("eta mu L N x", positive=True)
    p = eta * mu
    t = p * (smooth / mu) ** 2 * N * x**2
    left = _lefts(p, t, (eta * smooth * x) ** 2)
    moves = eta**2 * x**2 * smooth**2
    outside = 2 * eta * (1 / mu + eta)
    rows = outside * (2 * smooth**2 * N + 16 * moves * smooth**2 * N)
    noise = eta**2 + outside * 32 * moves * N
    first_cap, second_cap = mu / (first * x**2 * smooth**2 * N), 1 / (x * smooth)
    pairs = [
        ("consensus", rows / (eta * smooth**2 * N / mu), left["consensus"]),
        ("noise", noise / eta**2, left["noise"]),
        ("eta over the first cap", eta / first_cap, first * t),
        ("squared, the second", (eta / second_cap) ** 2 * 8, 8 * p * t / N),
    ]
    return judge.identity(pairs, SCALES)

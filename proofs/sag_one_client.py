"""FOCUS with one local step, SAG among it: rates for steps that ignore rare clients.

A Lyapunov function with closed numbers shrinks in every round, for every number of
clients: V of flverify/claims/sag_lyapunov.py, with gamma = eta N and p the
probability that a client takes part. With one uniform client per round FOCUS is SAG,
whose published rate (schmidt2017) is 1 - min{mu/(16 L), 1/(8 N)} at
gamma = 1/(16 L). Here it is 1 - min{mu/(4 L), 1/(5 N)} at gamma = 1/(4 L)
if every f_i is mu-strongly convex; under
that paper's assumption, that F is, 1 - min{mu/(16 L), 1/(5 N)} at gamma = 1/(8 L).

The certificates were found from the numbers of a semidefinite programme and are proved
in closed form: E V' is a sum of terms, each a weight times a quantity that cannot be
negative, and no weight has a negative coefficient once its bounds are substituted.

Conventions: tau = 1; Algorithm 1 with line 2 read as stored gradients and tracker 0, of
which the proof needs that the tracker is the sum of the stored gradients; an empty
round executes line 13; rounds are independent and alike, and every client takes part
with the same probability p, that is m/N for m uniform clients; F has a minimiser x*.
With n = 1/p, h_i the stored gradient less grad f_i(x*), a the mean of the h_i, and a
number omega,

    V = |x - x* - (n - 1) gamma a|^2 + 3 n gamma (F(x) - F*) + (n gamma)^2 |a|^2/2
        + (18/5) omega (n + 1/4) gamma^2 mean|h_i|^2.

In the start a = 0, and h_i = -grad f_i(x*). Since V >= |x - x*|^2/3, a rate for V is
one for E|x_r - x*|^2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge, sag_lyapunov
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.sag_lyapunov import Setting
from flverify.claims.sag_searches import rates, single_rounds
from flverify.claims.verdict import Finding
from flverify.participation import Bernoulli, UniformCohort
from flverify.reference import focus

ABOVE = sympy.symbols("u v z", nonnegative=True)
ALWAYS = "every N, p, omega, gamma, mu, L and dimension in the statement"
# gamma mu <= p/5 once mu is lowered: mu < L where each f_i is strongly convex
MODULI = "f_i of modulus 0 or below L, F of any modulus"
SEARCHED = "quadratics, exact mean-square rates, N <= 3"
RATE = (
    Free("step", "1/16", "1", weaker="smaller"),
    Free("strong", "1/4", "3", weaker="smaller"),
    Free("memory", "1/10", "1", weaker="smaller"),
)


@claim(
    "flverify.sag.rate",
    source=Source("flverify", "proofs/sag_one_client.py"),
    statement=r"m\text{ uniform clients of }N,\ \tau=1,\ f_i\ \mu\text{-strongly "
    r"convex},\ \gamma=\eta N\le\tfrac1{4L}:\quad\mathbb{E}V_{r+1}\le\bigl(1-\min\{"
    r"\gamma\mu,\tfrac{m}{5N}\}\bigr)V_r,\quad\omega=\min\{1,\tfrac{N}{2m}\}",
    proposition="If all f_i are L-smooth and mu-strongly convex and m of N clients are "
    "drawn uniformly, then for eta N <= 1/(4 L) a round of FOCUS with tau = 1 (SAG for "
    "m = 1) multiplies E V by at most 1 - min{gamma mu, m/(5 N)}, and V >= "
    "|x - x*|^2/3.",
    constants={"step": "1/4", "strong": "1", "memory": "1/5", "distance": "1/3"},
    twin={"strong": "3"},
    free=(*RATE, Free("distance", "1/4", "1", weaker="smaller")),
    sharp=Sharp(
        r"\gamma L\le<step>:\quad\mathbb{E}V_{r+1}\le\bigl(1-\min\{<strong>\cdot\gamma"
        r"\mu,<memory>\cdot\tfrac mN\}\bigr)V_r\text{ (within one per cent the best "
        r"that this proof gives)}",
        {"step": "1/4", "strong": "51/50", "memory": "1/5"},
    ),
)
def uniform_cohorts(c: SimpleNamespace) -> Finding:
    """Prove it for N >= 2 m and for N < 2 m; look at exact rates."""
    k, v, _ = ABOVE
    step, strong = sympy.Rational(c.step), sympy.Rational(c.strong)
    noises = {2 + k: sympy.Integer(1), (1 + 2 * k) / (1 + k): (1 + 2 * k) / (2 + 2 * k)}
    settings = [
        Setting(step, n, noise, True, _modulus(c, step, n, v), "each", strong)
        for n, noise in noises.items()
    ]
    law = judge.all_of(uniform_noise())
    parts = {**proof(settings), "law": law, "V": above_distance(c.distance)}
    laws = [UniformCohort(n, m) for n, m in ((1, 1), (2, 1), (3, 1), (3, 2))]
    search = judge.instances(rates(c, laws, "each"), "<=", SEARCHED)
    return judge.proof_or_search(judge.all_of(parts, argument=__doc__), search)


@claim(
    "flverify.sag.independent",
    source=Source("flverify", "proofs/sag_one_client.py"),
    statement=r"\mathrm{Cov}(I)\preceq\tfrac12p^2N\,\mathrm{Id},\ \tau=1,\ f_i\ "
    r"\mu\text{-strongly convex},\ \gamma=\eta N\le\tfrac1{4L}:\quad\mathbb{E}V_{r+1}"
    r"\le\bigl(1-\min\{\gamma\mu,\tfrac p5\}\bigr)V_r,\quad\omega=\tfrac12",
    proposition="If all f_i are L-smooth and mu-strongly convex, all p_i = p and "
    "Cov(I) <= p^2 N/2 Id (independent clients with p N >= 2 (1 - p)), then for "
    "eta N <= 1/(4 L) a round of FOCUS with tau = 1 multiplies E V by at most "
    "1 - min{gamma mu, p/5}.",
    constants={"step": "1/4", "strong": "1", "memory": "1/5", "noise": "1/2"},
    twin={"strong": "3"},
    free=(*RATE, Free("noise", "1/4", "1", weaker="smaller")),
    sharp=Sharp(
        r"\mathrm{Cov}(I)\preceq<noise>\,p^2N\,\mathrm{Id},\ \gamma L\le<step>:\quad"
        r"\mathbb{E}V_{r+1}\le\bigl(1-\min\{<strong>\cdot\gamma\mu,<memory>\cdot p\}"
        r"\bigr)V_r\text{ (within one per cent the best that this proof gives)}",
        {"step": "32/125", "strong": "51/50", "memory": "1/5", "noise": "1/2"},
    ),
)
def little_noise(c: SimpleNamespace) -> Finding:
    """Prove it for every n = 1/p >= 1; look at exact rates."""
    k, v, _ = ABOVE
    step, noise = sympy.Rational(c.step), sympy.Rational(c.noise)
    strong, modulus = sympy.Rational(c.strong), _modulus(c, step, 1 + k, v)
    setting = Setting(step, 1 + k, noise, False, modulus, "each", strong)
    laws = [UniformCohort(1, 1), Bernoulli(["3/4"]), Bernoulli(["1/2"] * 2)]
    search = judge.instances(rates(c, laws, "each"), "<=", SEARCHED)
    return judge.proof_or_search(
        judge.all_of(proof([setting]), argument=__doc__), search
    )


@claim(
    "flverify.sag.any_law",
    source=Source("flverify", "proofs/sag_one_client.py"),
    statement=r"\mathrm{Cov}(I)\preceq\omega p^2N\,\mathrm{Id},\ \omega\ge1,\ \tau=1,\ "
    r"f_i\text{ convex},\ F\ \mu\text{-strongly convex},\ \gamma=\eta N\le\tfrac1{8"
    r"\omega L}:\quad\mathbb{E}V_{r+1}\le\bigl(1-\min\{\tfrac{\gamma\mu}2,\tfrac p5\}"
    r"\bigr)V_r",
    proposition="If all f_i are convex and L-smooth, F is mu-strongly convex, all "
    "p_i = p and Cov(I) <= omega p^2 N Id with omega >= 1 (omega = 1 for SAG), then "
    "for eta N <= 1/(8 omega L) a round of FOCUS with tau = 1 multiplies E V by at "
    "most 1 - min{gamma mu/2, p/5}.",
    constants={"step": "1/8", "strong": "1/2", "memory": "1/5"},
    twin={"strong": "3"},
    free=RATE,
    sharp=Sharp(
        r"\gamma\omega L\le<step>:\quad\mathbb{E}V_{r+1}\le\bigl(1-\min\{<strong>\cdot"
        r"\gamma\mu,<memory>\cdot p\}\bigr)V_r\text{ (within one per cent the best "
        r"that this proof gives)}",
        {"step": "1/8", "strong": "57/100", "memory": "1/5"},
    ),
)
def any_law(c: SimpleNamespace) -> Finding:
    """Prove it for every n = 1/p >= 1 and omega >= 1; look at exact rates."""
    k, v, z = ABOVE
    step, noise = sympy.Rational(c.step) / (1 + z), 1 + z
    strong, modulus = sympy.Rational(c.strong), _modulus(c, step, 1 + k, v)
    setting = Setting(step, 1 + k, noise, False, modulus, "mean", strong)
    laws = [UniformCohort(1, 1), UniformCohort(2, 1), Bernoulli(["1/4"] * 2)]
    search = judge.instances(rates(c, laws, "mean"), "<=", SEARCHED)
    return judge.proof_or_search(
        judge.all_of(proof([setting]), argument=__doc__), search
    )


@claim(
    "flverify.sag.convex",
    source=Source("flverify", "proofs/sag_one_client.py"),
    statement=r"\mathrm{Cov}(I)\preceq\omega p^2N\,\mathrm{Id},\ \omega\ge1,\ \tau=1,\ "
    r"f_i\text{ convex},\ \gamma=\eta N\le\tfrac1{8\omega L}:\quad\mathbb{E}V_{r+1}\le "
    r"V_r-\tfrac32\gamma(F(x_r)-F^*),\quad\tfrac1R\textstyle\sum_{r<R}\mathbb{E}F(x_r)"
    r"-F^*\le\tfrac{2V_0}{3\gamma R}",
    proposition="If all f_i are convex and L-smooth, F has a minimiser, all p_i = p "
    "and Cov(I) <= omega p^2 N Id with omega >= 1, then for eta N <= 1/(8 omega L) a "
    "round of FOCUS with tau = 1 lowers E V by at least (3/2) gamma (F(x) - F*), and "
    "the mean of E F(x_r) - F* over R rounds is at most 2 V_0/(3 gamma R).",
    constants={"step": "1/8", "gain": "3/2"},
    twin={"gain": "6"},
    free=(
        Free("step", "1/16", "1", weaker="smaller"),
        Free("gain", "1", "6", weaker="smaller"),
    ),
    sharp=Sharp(
        r"\gamma\omega L\le<step>:\quad\mathbb{E}V_{r+1}\le V_r-<gain>\cdot\gamma(F(x_r"
        r")-F^*)\text{ (within one per cent the best that this proof gives)}",
        {"step": "19/125", "gain": "38/25"},
    ),
)
def convex(c: SimpleNamespace) -> Finding:
    """Prove it for every n = 1/p >= 1 and omega >= 1; look at single rounds."""
    k, _, z = ABOVE
    step, zero = sympy.Rational(c.step) / (1 + z), sympy.Integer(0)
    gain = sympy.Rational(c.gain)
    setting = Setting(step, 1 + k, 1 + z, False, zero, "mean", zero, gain)
    search = judge.instances(single_rounds(c), "<=", "quadratics, one round, N <= 3")
    parts = {**proof([setting]), "mean of rounds": mean_of_rounds(gain)}
    return judge.proof_or_search(judge.all_of(parts, argument=__doc__), search)


def _modulus(c: SimpleNamespace, step: Any, n: Any, above: Any) -> Any:
    """Return m = mu/L, lowered until gamma mu is what the rate needs of it."""
    strong = sympy.Rational(c.strong)
    return sympy.Rational(c.memory) / (strong * step * n * (1 + above))


# -- the proof --------------------------------------------------------------------


def proof(settings: Sequence[Setting]) -> dict[str, Finding]:
    """Judge the round, the sum of the terms, their signs, and V >= |x|^2/3."""
    weights = [
        (f"{label}, n = {s.rarity}", sympy.together(weight))
        for s in settings
        for label, weight, _ in sag_lyapunov.terms(s) + sag_lyapunov.distance(s)[1]
    ]
    return {
        **_formal_parts(settings[0].spread_only, settings[0].convex),
        "signs": judge.nonnegative(weights, ALWAYS),
    }


@cache
def _formal_parts(spread_only: bool, convex: str) -> dict[str, Finding]:
    """Judge the parts that hold whatever the numbers of a setting are."""
    s = sag_lyapunov.formal(spread_only, convex)
    sums = {
        "decrease": (sag_lyapunov.decrease(s), sag_lyapunov.terms(s)),
        "3 V - |x|^2": sag_lyapunov.distance(s),
    }
    pairs = [
        (name, left, sum(weight * quantity for _, weight, quantity in found))
        for name, (left, found) in sums.items()
    ]
    return {
        "round": any_round(),
        "inequalities": judge.identity(sag_lyapunov.used_inequalities(), MODULI),
        "sums": judge.identity(pairs, ALWAYS),
    }


def any_round() -> Finding:
    """Judge what a round does, for few clients and for one participant more."""
    old, new, total, squares = sympy.symbols("h c total squares", real=True)
    more = [  # sums of what is stored, with h of one client before, with c after
        ("tracker", total + (new - old), (total - old) + new),
        ("squares", squares + (new**2 - old**2), (squares - old**2) + new**2),
    ]
    return judge.all_of(
        {
            "listed": judge.identity(rounds(), "N <= 3, every cohort and state"),
            "one client more": judge.identity(more, "every N, cohort and state"),
        },
        scope="every N, cohort and state",
        argument="Rounds are listed for few clients. A participant reads x and its own "
        "stored gradient alone, stores the new one and pushes the difference; so one "
        "participant more adds what is judged beside the list, and a client that is "
        "absent adds nothing.",
    )


def above_distance(share: str) -> Finding:
    """Judge V >= share |x|^2 with V less its F and mean |h_i|^2, never negative.

    The difference is (1 - share) x^2 - 2 k x b + (k^2 + n^2/2) b^2, b = gamma a and
    k = n - 1: a form that is nowhere negative if the two numbers below are not.
    """
    k, part = ABOVE[0], sympy.Rational(share)
    form = (1 - part) * (k**2 + (1 + k) ** 2 / 2) - k**2
    listed = [("1 - share", 1 - part), ("discriminant", sympy.expand(form))]
    return judge.nonnegative(listed, ALWAYS)


def mean_of_rounds(gain: Any) -> Finding:
    """Judge that rounds that lower V by gain gamma (F - F*) sum up to at most V_0."""
    gamma, gap, R = sympy.symbols("gamma gap R", positive=True)
    first, now, total, later = sympy.symbols("V_0 V total later", nonnegative=True)
    held = [now + gain * gamma * total <= first, later <= now - gain * gamma * gap]
    more = later + gain * gamma * (total + gap) <= first
    bound = total / R <= first / (gain * gamma * R)
    return judge.all_of(
        {
            "a round more": judge.implied(held, more, "every round"),
            "V_R >= 0": judge.implied(held[:1], bound, "every R"),
        }
    )


def rounds() -> Iterator[judge.Pair]:
    """Compare the box with a' = a + (1/N) sum_S (c_i - h_i), x' = x - gamma a'."""
    step, x = sympy.symbols("gamma X")
    for n in (1, 2, 3):
        c, h = sympy.symbols(f"c1:{n + 1}"), sympy.symbols(f"h1:{n + 1}")
        state = {"model": [x], "tracker": [sum(h)], "stored": [[v] for v in h]}
        for cohort in (s for m in range(n + 1) for s in combinations(range(n), m)):
            gradient = partial(_formal, c)
            after = focus.play(state, gradient, n, set(cohort), step_size=step / n)
            mean = (sum(h) + sum(c[i] - h[i] for i in cohort)) / n
            squares = sum(v**2 for v in h) + sum(c[i] ** 2 - h[i] ** 2 for i in cohort)
            kept = sum(v[0] ** 2 for v in after["stored"])
            where = f"N = {n}, S = {[i + 1 for i in cohort]}"
            yield f"{where}: tracker", after["tracker"][0] / n, mean
            yield f"{where}: model", after["model"][0], x - step * mean
            yield f"{where}: mean of squares", kept / n, squares / n


def _formal(c: Sequence[Any], i: int, _: Any) -> list[Any]:
    return [c[i]]


def uniform_noise() -> dict[str, Finding]:
    """Judge the noise of m uniform clients: only deviations, omega <= min{1, n/2}.

    P(i in S) and P(i, j in S) count the cohorts; S1, S2 are sums over all clients of
    c_i - h_i and of its square.
    """
    c = cohorts.counted()
    n, m, held = c.n, c.m, [*c.relations, c.n > 1]
    one, two = sympy.symbols("S1 S2")
    alone, both = m / n, m * (m - 1) / (n * (n - 1))
    square = alone * two + both * (one**2 - two)
    noise = (n / m / n) ** 2 * (square - (alone * one) ** 2)
    omega = (n - m) / (m * (n - 1))
    spread = two / n - (one / n) ** 2
    k, v, _ = ABOVE
    rare = omega.subs(n, m + k).subs(m, 1 + v)
    frequent = (1 + 2 * k) / (1 + k)  # N/m < 2, with N = 2 + v
    return {
        "alone": judge.implied(
            held, sympy.Eq(c.with_one / c.all, alone), "every m, N >= 2"
        ),
        "both": judge.implied(
            held, sympy.Eq(c.with_two / c.all, both), "every m, N >= 2"
        ),
        "omega": judge.identity([("noise", noise, omega * spread)], "every m, N >= 2"),
        "bounds": judge.nonnegative(
            [("1 - omega", 1 - rare), ("n/2", frequent / 2 - (frequent - 1) / (1 + v))],
            "every m and N >= 2; one client has no noise",
        ),
    }

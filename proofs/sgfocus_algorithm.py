"""SG-FOCUS: Algorithm 2 and Assumption 6 of the FOCUS paper (Appendix E).

Line 7 reuses the past stochastic gradient. Gradient values are symbols, one for each
point and sample, so that one round from any state decides whether the server's tracker
stays the sum of the latest stochastic gradients; whether it starts so depends on how
line 1 is read. Assumption 6 is satisfied by additive noise, with equality, and both
sides of (122) have one unit; it says nothing of the joint law of several samples.

Algorithm 2 is Algorithm 1 with another oracle: `Focus` with a noisy gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.verdict import Finding
from flverify.reference import focus

STARTS = {
    "(i) stored gradients 0, server y_0 = 0": (False, False),
    "(ii) stored gradients of x_0, server y_0 = 0": (True, False),
    "(iii) stored gradients of x_0, server y_0 their sum": (True, True),
}
LISTED = "N = 1..3, tau = 1..3, every cohort and any state, gradient values as symbols"
FORMAL = "every N, tau, cohort, state and number of rounds, gradient values as symbols"
INDUCTION = (
    "Rounds are listed for few clients and moves. One move more adds the difference of "
    "the last two gradients to a client's direction, and one participant more adds its "
    "direction to the tracker and its last gradient to the sum. So a round keeps the "
    "difference of tracker and sum, and all rounds do if it is 0 at the start."
)


@claim(
    "sgfocus.alg2",
    source=Source("focus", "Algorithm 2, Appendix E"),
    statement=r"\text{line 1: } y_0=0,\;\nabla f_i(x_{-1,i}^{(0)};\xi_{-1})=y_{0,i}^{"
    r"(r)};\quad\text{line 7: } y_{t+1,i}^{(r)}=y_{t,i}^{(r)}+\nabla f_i(x_{t,i}^{(r)};"
    r"\xi_t)-\nabla f_i(x_{t-1,i}^{(r)};\xi_{t-1});\quad\text{text: the past "
    r"stochastic gradient is }\nabla f_i(x_{k-1,i};\xi_{k-1})\text{ instead of }\nabla "
    r"f_i(x_{k-1,i};\xi_k)\text{; this choice preserves the crucial tracking property}",
    proposition="Where line 7 takes the past gradient with its own sample, y_r is the "
    "sum of the clients' latest stochastic gradients in every round, what line 1 "
    "stores being that of those who were not drawn yet.",
    constants={"past_sample": "its own", "message": 1},
    twin={"past_sample": "the new one"},
    no_control="line 1 does not say what is stored; the twin, the past gradient with "
    "the new sample, fails under every reading",
)
def algorithm_2(c: SimpleNamespace) -> Finding:
    """Follow one round from any state, and the start in each reading of line 1."""
    kept = judge.identity(_kept(c.past_sample, c.message), LISTED)
    return judge.readings(
        {
            name: judge.all_of(
                {
                    "every round keeps it": kept,
                    "and longer ones": judge.identity(
                        _one_more(c.past_sample, c.message), FORMAL
                    ),
                    "it holds at the start": judge.identity(_at_start(*begun), FORMAL),
                    "the plain loop agrees": _loop_agrees(c.message),
                },
                scope=FORMAL,
                argument=INDUCTION,
            )
            for name, begun in STARTS.items()
        }
    )


def _kept(past: str, message: int) -> Iterator[judge.Pair]:
    """Y' - sum of the latest gradients = y - sum of the latest ones before."""
    for n, tau in product((1, 2, 3), (1, 2, 3)):
        stored = [_value(i, "old") for i in range(n)]
        tracker = sympy.Symbol("y")
        for size in range(n + 1):
            for cohort in combinations(range(n), size):
                pushed, latest = sympy.Integer(0), list(stored)
                for i in cohort:
                    change, latest[i] = _local(i, tau, past)
                    pushed += message * change
                gap = tracker + pushed - sum(latest)
                label = f"N = {n}, tau = {tau}, S = {set(cohort) or '{}'}"
                yield label, sympy.expand(gap), tracker - sum(stored)


def _one_more(past: str, message: int) -> Iterator[judge.Pair]:
    """One move more of a client, then one participant more of a round."""
    fresh, last, stored, gap = sympy.symbols("fresh last stored gap")
    again = last if past == "its own" else sympy.Symbol("last_point_new_sample")
    yield "one move more", (last - stored) + (fresh - again), fresh - stored
    more = gap + stored + message * (fresh - stored) - fresh  # gap of the others
    yield "one participant more", sympy.expand(more), gap


def _local(i: int, tau: int, past: str) -> tuple[Any, Any]:
    """Return y_{tau,i} and the last stochastic gradient, line 7 for t < tau."""
    change, last, point = sympy.Integer(0), _value(i, "old"), "x_old"
    for t in range(tau):
        fresh = _value(i, f"x_{t}; xi_{t}")
        again = sympy.Symbol(f"g_{i}({point}; xi_{t})")
        change += fresh - (last if past == "its own" else again)
        last, point = fresh, f"x_{t}"
    return change, last


def _value(i: int, at: str) -> sympy.Symbol:
    return sympy.Symbol(f"g_{i}({at})")


def _at_start(stored: bool, summed: bool) -> Iterator[judge.Pair]:
    for n in (1, 2, 3):
        values = [_value(i, "x_0") if stored else sympy.Integer(0) for i in range(n)]
        tracker = sum(values) if summed else sympy.Integer(0)
        yield f"N = {n}", tracker, sympy.Add(*values)
    others, more = sympy.Symbol("others"), values[-1]
    yield "one client more", others + (more if summed else 0), others + more


def _loop_agrees(message: int) -> Finding:
    """Play two rounds of the plain loop with a new symbol at every call."""
    pairs = []
    for n, tau in ((1, 2), (2, 1), (2, 3), (3, 2)):
        calls: list[Any] = []

        def gradient(i: int, point: Any, calls: list[Any] = calls) -> list[Any]:
            del point
            calls.append(_value(i, f"call {len(calls)}"))
            return [calls[-1]]

        state = focus.start(gradient, n, [sympy.Symbol("x")])
        for cohort in ({0}, set(range(n))):
            settings = {"step_size": sympy.Symbol("eta"), "local_steps": tau}
            state = focus.play(state, gradient, n, cohort, **settings)
        latest = sympy.Add(*(g[0] for g in state["stored"]))
        tracker = sympy.expand(message * state["tracker"][0])
        pairs.append((f"N = {n}, tau = {tau}", tracker, latest))
    return judge.identity(pairs, "two rounds of the loop of Algorithm 1")


@claim(
    "sgfocus.A6",
    source=Source("focus", "eq. (122), Assumption 6"),
    statement=r"\mathbb{E}[\nabla f_i(x;\xi)]=\nabla f_i(x)\text{ and }\mathbb{E}\|"
    r"\nabla f_i(x;\xi)-\nabla f_i(x)\|^2\le\sigma^2",
    proposition="Some stochastic gradient that is not exact satisfies (122) at every "
    "point with its own variance as sigma^2, (122) keeps its form under f -> c f and "
    "x -> s x, and it allows sums of two noises of variance 2 sigma^2 and 4 sigma^2.",
    constants={"mean": 0, "variance": 1, "power": 2},
    twin={"power": 1},
    reading_twins={"an instance": {"mean": 1}, "two joint laws": {"variance": 2}},
    exact=("mean", "variance", "power"),
)
def assumption_6(c: SimpleNamespace) -> Finding:
    """Add sign noise in one and two dimensions; rescale both sides."""
    return judge.all_of(
        {
            "an instance": judge.identity(
                _instance(c.mean, c.variance), "signs times sigma, d = 1, 2"
            ),
            "units": judge.identity(_units(c.power), "every c, s > 0"),
            "two joint laws": judge.identity(
                _joint_laws(c.variance), "two clients, independent or equal signs"
            ),
        }
    )


def _instance(mean: int, variance: int) -> Iterator[judge.Pair]:
    """Grad f(x; xi) = grad f(x) + xi, xi uniform on +-sigma e_k."""
    sigma = sympy.Symbol("sigma", positive=True)
    for d in (1, 2):
        exact = [sympy.Symbol(f"g_{k}") for k in range(d)]
        values = [
            [g + (sign * sigma if k == j else 0) for k, g in enumerate(exact)]
            for j in range(d)
            for sign in (1, -1)
        ]
        chance = Fraction(1, len(values))
        for k, g in enumerate(exact):
            mean_k = sum(sympy.Rational(chance) * v[k] for v in values)
            yield f"d = {d}: mean, entry {k}", sympy.expand(mean_k - g), mean
        squares = [
            sum((a - g) ** 2 for a, g in zip(v, exact, strict=True)) for v in values
        ]
        left = sympy.expand(sympy.Rational(chance) * sum(squares))
        yield f"d = {d}: variance", left, variance * sigma**2


def _joint_laws(variance: int) -> Iterator[judge.Pair]:
    """Two noises that satisfy (122) each, and the variance of their sum."""
    sigma = sympy.Symbol("sigma", positive=True)
    laws = {
        "independent": [*product((1, -1), repeat=2)],
        "one sample": [(1, 1), (-1, -1)],
    }
    for (name, law), total in zip(laws.items(), (2, 4), strict=True):
        for i in (0, 1):
            own = sum((s[i] * sigma) ** 2 for s in law) / len(law)
            yield f"{name}: client {i}", own, variance * sigma**2
        both = sum((sum(s) * sigma) ** 2 for s in law) / len(law)
        yield f"{name}: the sum", both, total * sigma**2


def _units(power: int) -> Iterator[judge.Pair]:
    """Rescale: a gradient has the weight f/x, and sigma^2 is to have its square's."""
    f, x, sigma = sympy.symbols("c s sigma", positive=True)
    gap = sympy.Symbol("gap", positive=True)
    left = (gap * f / x) ** 2 / gap**2
    yield "E|.|^2 and sigma^2", left, (sigma * f / x) ** power / sigma**power

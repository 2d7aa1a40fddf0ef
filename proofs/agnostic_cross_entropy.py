"""Agnostic FedAvg, (1): the loss that is named, and the least noise of Lemma 2.

Cross-entropy of linear scores meets Assumption 1, and Assumption 3 on the whole space,
which squared errors do not; so both tasks of the experiment may be convex. In Lemma 2
the term eta^2 G^2 alone is enough and cannot be less, with noise or without.

Conventions: C classes, score_j = <x, theta_j> of a sample (x, y), the loss is
log sum_j e^{score_j} - score_y; along a line the scores have the slopes a_j.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import agnostic_rounds as rounds
from flverify.claims import judge
from flverify.claims.agnostic_steps import (
    ALONE,
    again,
    corners,
    listed_step,
    step_error,
)
from flverify.claims.agnostic_windows import WIDE
from flverify.claims.claim import Free, claim
from flverify.claims.fedavg_averages import weighted_mean
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Client,
    Line,
    squared_distance,
    two_points,
)
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least, at_most

EVERY = "every number of classes, sample and line"


@claim(
    "agnostic.eq1.crossentropy",
    source=Source("agnostic", "eq. (1), the loss that is named; a question"),
    statement=r"\ell=\log\sum_je^{\langle x,\theta_j\rangle}-\langle x,\theta_y\rangle:"
    r"\quad\text{convex, }\|\nabla\ell\|^2\le2\|x\|^2",
    proposition="The cross-entropy of linear scores is convex, and its gradient is at "
    "most sqrt(2) |x| long on the whole space, so that (1) meets Assumptions 1 and 3.",
    constants={"shape": "convex", "square": 2},
    twin={"shape": "concave"},
    reading_twins={"gradient": {"square": 1}},
    free=Free("square", 1, 4, weaker="larger"),
)
def cross_entropy(c: Any) -> Finding:
    """Judge the second derivative along a line, then the first, in scores."""
    P, R = sympy.symbols("P R", positive=True)
    Q = sympy.Symbol("Q", real=True)
    bend = {"convex": 1, "concave": -1}[c.shape] * (P * R - Q**2) / P**2
    return judge.all_of(
        {
            "second derivative": judge.identity(derivatives(), EVERY),
            "Q^2 <= P R": weighted_mean(EVERY, 1),
            "convex": judge.implied([Q**2 <= P * R], at_least(bend, 0), EVERY),
            "gradient": gradient(rational(c.square)),
        },
        argument="With e_j = e^{score_j}, of derivative a_j e_j along a line, and P, "
        "Q, R the sums of e_j, a_j e_j and a_j^2 e_j, P has the derivative Q and Q has "
        "R, so that the second derivative is (P R - Q^2)/P^2. The first is the mean of "
        "a_j - a_y with the weights e_j/P; along a direction v of length 1 a_j - a_y = "
        "<x, v_j - v_y>.",
    )


def derivatives() -> list[judge.Pair]:
    """Pair both derivatives, by the chain rule, with the sums P, Q and R."""
    P, R, t = sympy.symbols("P R t", positive=True)
    Q = sympy.Symbol("Q", real=True)
    f, g = (sympy.Function(name)(t) for name in "PQ")
    bent = sympy.diff(g / f, t).subs({sympy.diff(f, t): Q, sympy.diff(g, t): R})
    values = {f: P, g: Q}
    pairs: list[Any] = [("every C", bent.subs(values), (P * R - Q**2) / P**2)]
    for n in (2, 3):
        e = sympy.symbols(f"e_1:{n + 1}", positive=True)
        a = sympy.symbols(f"a_1:{n + 1}", real=True)
        P = sum(e)
        Q = sum(v * w for v, w in zip(a, e, strict=True))
        R = sum(v**2 * w for v, w in zip(a, e, strict=True))

        rows = tuple(zip(a, e, strict=True))

        def along(f: Any, rows: Any = rows) -> Any:
            return sum(sympy.diff(f, w) * v * w for v, w in rows)

        first = along(sympy.log(P)) - a[0]
        pairs += [
            (f"first, C = {n}", first, Q / P - a[0]),
            (f"second, C = {n}", along(first), (P * R - Q**2) / P**2),
        ]
    return pairs


def gradient(square: Any) -> Finding:
    """Prove that a mean of slopes is as small as they are, and each at most as said.

    Squares: |<x, w>|^2 <= |x|^2 |w|^2 for w = v_j - v_y, |v_j|^2 + |v_y|^2 <= 1.
    """
    done, weight, top = sympy.symbols("done weight top", nonnegative=True)
    total, one = sympy.symbols("total one", real=True)
    more = judge.implied(
        [total <= done * top, one <= top],
        total + weight * one <= (done + weight) * top,
        EVERY,
    )
    v, w = sympy.symbols("v_j v_y", real=True)
    lengths, product, apart = sympy.symbols("lengths product apart", real=True)
    expand = (v - w) ** 2 + (v + w) ** 2
    split = judge.identity([("a coordinate", expand, 2 * (v**2 + w**2))], EVERY)
    each = judge.implied(
        [sympy.Eq(apart + product, 2 * lengths), product >= 0, lengths <= 1],
        at_most(apart, square),
        EVERY,
    )
    return judge.all_of({"a class more": more, "coordinates": split, "slopes": each})


# -- the least noise of Lemma 2 ------------------------------------------------------

LINES = "a line without noise and one of slope 0 with noise, eta = 1/2, 1/10"


@claim(
    "agnostic.lemma2.noise",
    source=Source("agnostic", "Lemma 2, its constants; a question, not printed"),
    statement=r"\mathbb E\big[\|\theta_i^t-\theta^*\|^2\,|\,\mathcal F_{t-1}\big]\le"
    r"\|\theta_i^{t-1}-\theta^*\|^2-2\eta\big(f_i(\theta_i^{t-1})-f_i(\theta^*)\big)+1"
    r"\cdot\eta^2G^2",
    proposition="Under Assumptions 1 and 3 Lemma 2 holds with eta^2 G^2 in place of "
    "2 eta^2 sigma^2 + 2 eta^2 G^2, and with no smaller multiple: it is attained by "
    "lines, without noise and with sigma = G.",
    constants={"G^2": 1},
    twin={"G^2": Fraction(99, 100)},
    exact=("G^2",),
)
def least_noise(c: Any) -> Finding:
    """Prove the step with this coefficient, then that two lines attain it."""
    most = getattr(c, "G^2")
    x, s, eta, bound = sympy.symbols("theta theta_star eta G", positive=True)
    room = rational(most) * eta**2 * bound**2
    line = (x - eta * bound - s) ** 2, (x - s) ** 2 - 2 * eta * bound * (x - s) + room
    both = ((x - eta * bound - s) ** 2 + (x + eta * bound - s) ** 2) / 2
    attained = [("f = G theta", *line), ("f = 0, noise +-G", both, (x - s) ** 2 + room)]
    return judge.all_of(
        {
            "holds": judge.proof_or_search(
                proof(Fraction(most)), judge.instances(lines(most), "<=", LINES)
            ),
            "attained": judge.identity(attained, "every eta, G, theta and theta*"),
        }
    )


@cache
def proof(most: Fraction) -> Finding:
    """Prove a step with no term of sigma."""
    return rounds.one_step(0, most)


def lines(most: Any) -> Iterator[Case]:
    """Compare both sides for two lines, from several points of C."""
    noisy = Client(Line(Fraction(0)), two_points(Fraction(1), Fraction(1)))
    for client in (Client(Line(Fraction(1)), SILENT), noisy):
        for step in (Fraction(1, 2), Fraction(1, 10)):
            one = Nonsmooth((client,), ALONE, WIDE, step, 2, "literal")
            best = one.minimiser()
            for start in corners(one):
                gap = client.value(start) - client.value(best)
                right = squared_distance(start, best) - 2 * step * gap
                right += Fraction(most) * step**2
                left = step_error(one, 0, start, best, listed_step)
                at = {**one.where, "theta": start, "theta*": best, "G": 1}
                yield Case(at, left, right, again(one, 0, start, best, right))

"""Agnostic FedAvg, Section 1: the local loss (1) and the mini-batches.

A label-valued model makes (1) constant inside the set where it is convex, so Assumption
1 asks for real scores. Batches drawn without replacement are unbiased.

Conventions: labels 1 and 2 stand for the signs -1 and 1 of a linear score x theta.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import claim
from flverify.claims.judge import Case
from flverify.claims.nonsmooth_losses import (
    Hinge,
)
from flverify.claims.parts import together
from flverify.claims.verdict import Finding

ONE = Fraction(1)
S = 1 + sympy.Symbol("t", positive=True)  # |A|, at least 1


@claim(
    "agnostic.eq1",
    source=Source("agnostic", "eq. (1)"),
    statement=r"f(\theta;D_i)=\frac1{n_i}\sum_{j=1}^{n_i}\ell(m(X_i^j,\theta),Y_i^j),"
    r"\quad m:\mathfrak X\times\Theta\to\mathcal C,\ \ell:\mathcal C\times\mathcal C\to"
    r"\mathbb R_+,\ \mathcal C=\{1,\dots,C\}",
    proposition="With a linear score, read as the reading says, and a loss that is "
    "convex in the score, (1) meets Assumption 1; and the set written C in (1) may be "
    "that of line 9, convex.",
    constants={"score_loss": "hinge", "set": "interval"},
    twin={"score_loss": "capped", "set": "labels"},
    no_control="depends on what m returns and on which set is meant; the twin, a loss "
    "that is not convex and a set of labels, fails in every part",
)
def local_loss(c: Any) -> Finding:
    """Judge midpoint convexity for both kinds of model, then for both sets."""
    hinge = c.score_loss == "hinge"
    score = judge.instances(midpoints(c.score_loss), "<=", MIDPOINTS)
    model = judge.readings(
        {
            "(i) label-valued": judge.instances(midpoints("label"), "<=", MIDPOINTS),
            "(ii) score-valued": judge.proof_or_search(largest_of_lines(), score)
            if hinge
            else score,
        }
    )
    letter = judge.readings(
        {
            "(i) C the label space": judge.instances(set_cases("labels"), "==", SETS),
            "(ii) C another set": another_set(c.set),
        }
    )
    return together({"m": model, "C": letter}).corrected(
        r"m:\mathfrak X\times\Theta\to\mathbb R\text{, as a convex }f_i\text{ of "
        r"finitely many values is constant inside }\Theta\text{: if }f_i(a)<f_i(b)"
        r"\text{ with }a<b\text{, it increases strictly after }b",
        finitely_many_values(),
    )


MIDPOINTS = "linear scores of one to three samples, a grid of chords in [-3, 3]"
SETS = "pairs of points of the set, two to four labels"
DATA = (((1, 2),), ((1, 2), (-2, 1)), ((2, 1), (1, 2), (-1, 2)))  # (X, label 1 or 2)


def loss_of(kind: str, x: int, label: int, theta: Fraction) -> Fraction:
    """Loss of one sample: 0-1 loss of a thresholded score, hinge, or capped hinge."""
    margin = x * theta * (1 if label == 2 else -1)
    if kind == "label":
        predicted = 2 if x * theta > 0 else 1
        return Fraction(int(predicted != label))
    hinge = Hinge(ONE).value(margin)
    return hinge if kind == "hinge" else min(hinge, ONE)


def midpoints(kind: str) -> Iterator[Case]:
    """(1) at the middle of a chord against the mean of its ends."""
    grid = [Fraction(n, 2) for n in range(-6, 7)]
    for data in DATA:

        def f(theta: Fraction, data: Any = data) -> Fraction:
            return sum(
                (loss_of(kind, x, y, theta) for x, y in data), Fraction(0)
            ) / len(data)

        def again(theta: Fraction, data: Any = data) -> Fraction:
            signs = [(x * theta, 1 if y == 2 else -1) for x, y in data]
            table = {
                "label": lambda s, y: Fraction(int((s > 0) != (y > 0))),
                "hinge": lambda s, y: max(Fraction(0), 1 - y * s),
                "capped": lambda s, y: max(Fraction(0), min(ONE, 1 - y * s)),
            }[kind]
            return sum((table(s, y) for s, y in signs), Fraction(0)) / len(signs)

        for a, b in combinations(grid, 2):
            at = {"loss": kind, "data (X, Y)": data, "theta": a, "theta'": b}
            middle, ends = f((a + b) / 2), (f(a) + f(b)) / 2
            second = cohorts.sides(again((a + b) / 2), (again(a) + again(b)) / 2)
            yield Case(at, middle, ends, second)


@cache
def largest_of_lines() -> Finding:
    """Prove that losses that are the largest of lines t s + r in the score s will do.

    A convex loss is, and touches one of its lines at the middle of a chord; a function
    that is `slack` above a line at the ends is the mean slack above it in between.
    Scores are linear in theta and (1) is a mean.
    """
    x, y, t, r = sympy.symbols("x y t r", real=True)
    w, z, one, other = sympy.symbols("w z slack_x slack_y", nonnegative=True)
    mean = w * (t * x + r + one) + z * (t * y + r + other)
    line = t * (w * x + z * y) + r * (w + z)  # w + z = 1
    gap = w * one + z * other
    scope = "every convex loss, data set, theta and theta'"
    return judge.all_of(
        {
            "gap": judge.identity([("gap", mean - line, gap)], scope),
            "sign": judge.nonnegative([("gap", gap)], scope),
        }
    )


@cache
def finitely_many_values() -> Finding:
    """Prove that a convex f with f(a) < f(b), a < b < c, has f(c) > f(b).

    So f has a new value at every point after b: label-valued models cannot.
    """
    at_a, at_b, at_c = sympy.symbols("f_a f_b f_c", real=True)
    first, second = sympy.symbols("first second", positive=True)
    chord = (first + second) * at_b <= second * at_a + first * at_c
    return judge.implied([chord, at_a < at_b], at_c > at_b, "every convex f on a line")


def another_set(kind: str) -> Finding:
    """Prove that intervals are convex; labels are searched."""
    search = judge.instances(set_cases(kind), "==", SETS)
    if kind == "labels":
        return search
    a, b, low, high = sympy.symbols("a b low high", real=True)
    t = sympy.Symbol("t", nonnegative=True)
    point = t * a + (1 - t) * b
    between = [low <= a, a <= high, low <= b, b <= high, t <= 1]
    inside = {"low": low <= point, "high": point <= high}
    scope = "every interval, and every box by its coordinates"
    proof = {name: judge.implied(between, one, scope) for name, one in inside.items()}
    return judge.proof_or_search(judge.all_of(proof), search)


def set_cases(kind: str) -> Iterator[Case]:
    """Distance from the set of the middle of two of its points, against 0."""
    for size in (2, 3, 4):
        labels = [Fraction(k) for k in range(1, size + 1)]
        for a, b in combinations(labels, 2):
            middle = (a + b) / 2
            low, high = labels[0], labels[-1]
            inside = max(low - middle, middle - high, Fraction(0))
            left = min(abs(middle - k) for k in labels) if kind == "labels" else inside
            again = cohorts.sides((middle % 1) if kind == "labels" else left, 0)
            at = {"set": kind, "ends": (low, high), "points": (a, b)}
            yield Case(at, left, 0, again)


# -- mini-batches --------------------------------------------------------------------


@claim(
    "agnostic.eq1.unbiased",
    source=Source("agnostic", "eq. (1) and Section 3; implied, not printed"),
    statement=r"\mathbb E_\xi[\nabla f(\theta;\xi_i)]=\nabla f_i(\theta),\quad\mathbb E"
    r"\|g_b-g\|^2=\tfrac1b\tfrac{n-b}{n-1}s^2,\ s^2=\tfrac1n"
    r"\textstyle\sum_j\|g_j-g\|^2",
    proposition="A batch of b of n > 1 samples, drawn uniformly without replacement, "
    "has an unbiased mean gradient of variance (1/b)(n - b)/(n - 1) s^2.",
    constants={"drawn": "without replacement"},
    twin={"drawn": "with replacement"},
)
def batches(c: Any) -> Finding:
    """Judge by the chances of samples and pairs, for every n, b; then list batches."""
    return judge.proof_or_search(
        by_pairs(c.drawn),
        judge.instances(batch_cases(c.drawn), "==", "n = 2..5, b <= n"),
    )


@cache
def by_pairs(drawn: str) -> Finding:
    """Judge both moments of a batch from the chances of one and of two samples.

    With d_j = g_j - g, of sum 0, the pairs j != k have sum_{j != k} <d_j, d_k> =
    -n s^2. Without replacement the batches with a sample, or a pair, are counted as
    cohorts are (N = n, m = b); with it, different draws are independent.
    """
    n, b, s2 = sympy.symbols("n b s2", positive=True)
    pairs_of = {
        "without replacement": b * (b - 1) / (n * (n - 1)),
        "with replacement": 0,
    }
    variance = (b / n * (n * s2) + pairs_of[drawn] * (-n * s2)) / b**2
    pairs = [
        ("weight of a sample", b / n / b, 1 / n),
        ("variance", variance, (n - b) / (n - 1) * s2 / b),
    ]
    c, scope = cohorts.counted(), "every n > 1 and b, all gradients"
    ones, twos = c.m / c.n, c.m * (c.m - 1) / (c.n * (c.n - 1))
    held = [*c.relations, c.n > 1]
    one, two = sympy.Eq(c.with_one / c.all, ones), sympy.Eq(c.with_two / c.all, twos)
    return judge.all_of(
        {
            "moments": judge.identity(pairs, scope),
            "chance of a sample": judge.implied(held, one, scope),
            "chance of a pair": judge.implied(held, two, scope),
        }
    )


def batch_cases(drawn: str) -> Iterator[Case]:
    """Both moments over all batches, for gradients j^2 of sample j at one theta."""
    for n in range(2, 6):
        samples = [Fraction(j * j) for j in range(1, n + 1)]
        mean = sum(samples) / n
        s2 = sum((g - mean) ** 2 for g in samples) / n
        for b in range(1, n + 1):
            listed = batches_of(samples, b, drawn)
            first = sum((p * x for x, p in listed), Fraction(0))
            second = sum((p * (x - mean) ** 2 for x, p in listed), Fraction(0))
            printed = Fraction(n - b, n - 1) * s2 / b
            at = {"n": n, "b": b, "drawn": drawn, "gradients": samples}
            yield Case(at | {"moment": 1}, first, mean, cohorts.sides(first, mean))
            again = by_squares(samples, b, drawn)
            yield Case(
                at | {"moment": 2}, second, printed, cohorts.sides(again, printed)
            )


def batches_of(
    samples: list[Fraction], b: int, drawn: str
) -> list[tuple[Fraction, Fraction]]:
    """Mean of every batch with its probability."""
    if drawn == "without replacement":
        chosen: list[Any] = list(combinations(samples, b))
    else:
        shares = [Fraction(1, len(samples))] * len(samples)
        chosen = [[]]
        for _ in shares[:b]:
            chosen = [[*batch, g] for batch in chosen for g in samples]
    return [(sum(batch) / Fraction(b), Fraction(1, len(chosen))) for batch in chosen]


def by_squares(samples: list[Fraction], b: int, drawn: str) -> Fraction:
    """E|g_b - g|^2 as E|g_b|^2 - |g|^2, from sums over ordered pairs of samples."""
    n, total = len(samples), sum(samples)
    squares = sum(g * g for g in samples)
    cross = total**2 - squares
    if drawn == "without replacement":
        second = Fraction(b, n) * squares + Fraction(b * (b - 1), n * (n - 1)) * cross
    else:
        second = Fraction(b, n) * squares + Fraction(b * (b - 1), n * n) * total**2
    return second / b**2 - (total / n) ** 2

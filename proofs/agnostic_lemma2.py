"""Agnostic FedAvg, Lemma 2: one projected step of one client.

The lemma needs convexity, which it does not cite, and a bound on its estimator; with
both the noise term eta^2 G^2 is enough and sigma is superfluous. If Assumption 3 only
bounded the gradients of the f_i, the averaged sigma^2 would not do for a noisy client.

Conventions: clients from 1, S never empty (footnote 3). The point theta_i^{t-1} is any
of C, as the lemma has it; the counterexamples start from theta^0 = 0. Searches list
absolute values, hinges and lines with rational noise; rechecks run the plain loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.certify import gram
from flverify.claims import judge
from flverify.claims.agnostic_steps import (
    ALONE,
    again,
    corners,
    listed_step,
    sigma_squared,
    step_error,
    tent,
)
from flverify.claims.agnostic_windows import (
    WIDE,
)
from flverify.claims.claim import Free, claim
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import FAMILY, Nonsmooth, family, gradient_bound
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Absolute,
    Client,
    squared_distance,
    two_points,
)
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

ETA, BOUND = sympy.symbols("eta G", positive=True)
EVERY = "every C, dimension, law of the noise and step size"


LEMMA_2 = (
    r"\mathbb E\big[\|\theta_i^t-\theta^*\|^2\,|\,\mathcal F_{t-1}\big]\le"
    r"\|\theta_i^{t-1}-\theta^*\|^2-2\eta\big(f_i(\theta_i^{t-1})-f_i(\theta^*)\big)"
    r"+2\eta^2\sigma^2+2\eta^2G^2"
)
TERMS = {"sigma^2": Fraction(2), "G^2": Fraction(2)}


@claim(
    "agnostic.lemma2",
    source=Source("agnostic", "Lemma 2"),
    statement=LEMMA_2,
    proposition="For every client i, point of C and minimiser theta* in C of (3), one "
    "projected step along an unbiased estimate of a (sub)gradient of f_i satisfies the "
    "inequality, under the assumptions of the reading.",
    constants={"terms": TERMS},
    twin={"terms": {"sigma^2": Fraction(0), "G^2": Fraction(1, 2)}},
    no_control="depends on which assumptions are in effect; the twin, a quarter of the "
    "G^2 term and no sigma^2 term, fails under each",
    free=(
        Free(
            "terms",
            0,
            4,
            weaker="larger",
            key="G^2",
            given={"terms": {"sigma^2": Fraction(0), "G^2": Fraction(2)}},
            reading="(ii) Assumptions 1, 2 and 3, mini-batch gradients of line 9",
        ),
    ),
)
def one_step_progress(c: Any) -> Finding:
    """Judge the lemma as it cites its assumptions, with convexity, and for any g."""
    return judge.readings(
        {
            "(i) Assumptions 2 and 3 alone, as cited": judge.instances(
                progress_cases([tent()], c.terms), "<=", "a capped absolute value"
            ),
            "(ii) Assumptions 1, 2 and 3, mini-batch gradients of line 9": convex_step(
                c.terms
            ),
            "(iii) Assumptions 1, 2 and 3, any other unbiased g": judge.instances(
                any_estimator(c.terms), "<=", "noise of g beyond that of the mini-batch"
            ),
        }
    ).corrected(
        r"\text{under Assumptions 1 and 3, for the gradients of line 9: }"
        r"\mathbb E\big[\|\theta_i^t-\theta^*\|^2|\mathcal F_{t-1}\big]\le"
        r"\|\theta_i^{t-1}-\theta^*\|^2-2\eta\big(f_i(\theta_i^{t-1})-f_i(\theta^*)"
        r"\big)+\eta^2G^2",
        convex_step({"sigma^2": Fraction(0), "G^2": Fraction(1)}),
    )


def convex_step(terms: Any) -> Finding:
    """Prove the step for all convex f_i, beside a search of nonsmooth instances."""
    proof = judge.all_of(
        {
            "projection": closer_to_points_of_c(),
            "square": expanded_square(),
            "the rest": collected_step(terms["sigma^2"], terms["G^2"]),
        }
    )
    listed = [one for one in family("literal", (2,)) if len(one.start) == 1]
    search = judge.instances(progress_cases(listed, terms), "<=", FAMILY)
    return judge.proof_or_search(proof, search)


@cache
def closer_to_points_of_c() -> Finding:
    """Prove |P(y) - s| <= |y - s| for s in C, from <y - P(y), s - P(y)> <= 0."""
    y, z, s = map(gram.vector, ("y", "P(y)", "s"))
    nearest = gram.given(gram.inner(y - z, s - z) <= 0)
    lemma = gram.Lemma(gram.square(z - s) <= gram.square(y - s), (nearest,))
    return judge.vectors([({"C": "convex, s in C"}, lemma)], EVERY)


@cache
def expanded_square() -> Finding:
    """Expand |d - eta g|^2, of mean |d|^2 - 2 eta <E g, d> + eta^2 E|g|^2.

    One coordinate at one outcome is enough: all is linear in g and g^2.
    """
    d, g = sympy.symbols("d g")
    square = d**2 - 2 * ETA * g * d + ETA**2 * g**2
    return judge.identity([("a coordinate", (d - ETA * g) ** 2, square)], EVERY)


@cache
def collected_step(noise: Any, square: Any, *, own_noise: bool = False) -> Finding:
    """Collect projection, square, convexity and Assumption 3 into the inequality.

    With `own_noise` G bounds the gradients of f_i alone, so that E|g|^2 is at most
    G^2 + sigma^2 for the sigma of this client.
    """
    after, moved_to, before, slope, gap, second = sympy.symbols(
        "after y before slope gap second", real=True
    )
    sigma = sympy.Symbol("sigma", nonnegative=True)
    hypotheses = [
        after <= moved_to,
        sympy.Eq(moved_to, before - 2 * ETA * slope + ETA**2 * second),
        slope >= gap,
        second <= BOUND**2 + (sigma**2 if own_noise else 0),
    ]
    room = rational(noise) * sigma**2 + rational(square) * BOUND**2
    return judge.implied(
        hypotheses, after <= before - 2 * ETA * gap + ETA**2 * room, EVERY
    )


def progress_cases(
    listed: Any, terms: Any, extra: Fraction = Fraction(0)
) -> Iterator[Case]:
    """Lemma 2 for every client of the instances, from several points of C.

    `extra` is room for noise that the instance's sigma and G leave out.
    """
    for one in listed:
        best = one.minimiser()
        bound = gradient_bound(one.clients) if not extra else Fraction(1)
        noise = Fraction(0) if extra else sigma_squared(one)
        room = terms["sigma^2"] * noise + terms["G^2"] * bound**2
        for i, start in ((i, x) for i in range(one.n_clients) for x in corners(one)):
            client = one.clients[i]
            gap = client.value(start) - client.value(best)
            right = (
                squared_distance(start, best) - 2 * one.step * gap + one.step**2 * room
            )
            at = {**one.where, "i": i + 1, "theta": start, "theta*": best}
            at |= {"sigma^2": noise, "G": bound}
            left = step_error(one, i, start, best, listed_step)
            yield Case(at, left, right, again(one, i, start, best, right))


def any_estimator(terms: Any) -> Iterator[Case]:
    """Add noise to g for |x|, whose full batch has sigma = 0 and G = 1."""
    for size in map(Fraction, (3, 10)):
        client = Client(Absolute(Fraction(0)), two_points(size, size))
        one = Nonsmooth((client,), ALONE, WIDE, Fraction(1), 2, "literal")
        yield from progress_cases([one], terms, extra=client.variance)


@claim(
    "agnostic.lemma2.sigma",
    source=Source("agnostic", "Lemma 2 with Assumption 2; a question, not printed"),
    statement=LEMMA_2 + r",\quad\sigma^2=\textstyle\sum_k p_k\sigma_k^2",
    proposition="Under Assumptions 1 and 2, and 3 in the meaning of the reading, the "
    "inequality of Lemma 2 holds for every single client with the averaged sigma^2.",
    constants={"terms": TERMS},
    twin={"terms": {"sigma^2": Fraction(0), "G^2": Fraction(1, 2)}},
    no_control="depends on what Assumption 3 bounds; the twin, a quarter of the G^2 "
    "term and no sigma^2 term, fails in both meanings",
)
def averaged_noise(c: Any) -> Finding:
    """Judge the averaged sigma^2 for each meaning of Assumption 3."""
    return judge.readings(
        {
            "(i) Assumption 3 bounds E|g|^2, as printed": convex_step(c.terms),
            "(ii) Assumption 3 bounds |grad f_i|^2 alone": judge.instances(
                unequal_noise(c.terms), "<=", "two clients, one of them noisy and rare"
            ),
        }
    ).corrected(
        r"\text{in meaning (ii) with }\sigma_i^2\text{ for }\sigma^2\text{, and then }"
        r"\textstyle\sum_ip_i(\sigma_i^2+G^2)=\sigma^2+G^2\le2\sigma^2+2G^2"
        r"\text{ in (8)}",
        judge.all_of(
            {"sigma_i": own_step(c.terms), "mean over i": averaged_room(c.terms)}
        ),
    )


def own_step(terms: Any) -> Finding:
    """Prove the step in meaning (ii) with the noise of the client itself; search."""
    proof = judge.all_of(
        {
            "projection": closer_to_points_of_c(),
            "square": expanded_square(),
            "the rest": collected_step(terms["sigma^2"], terms["G^2"], own_noise=True),
        }
    )
    cases = unequal_noise(terms, own_noise=True)
    search = judge.instances(cases, "<=", "two clients, one of them noisy and rare")
    return judge.proof_or_search(proof, search)


def unequal_noise(terms: Any, *, own_noise: bool = False) -> Iterator[Case]:
    """f_1 = f_2 = |x|, so that |grad f_i| <= 1 = G; client 1 is noisy, p_1 small.

    sigma^2 is the average over clients, or with `own_noise` that of the client.
    """
    for size, rare in ((Fraction(4), Fraction(1, 4)), (Fraction(10), Fraction(1, 10))):
        loss = Absolute(Fraction(0))
        clients = (Client(loss, two_points(size, size)), Client(loss, SILENT))
        law = {frozenset({1}): rare, frozenset({2}): 1 - rare}
        one = Nonsmooth(clients, law, WIDE, Fraction(1, 2), 2, "literal")
        for i, start in ((i, x) for i in (0, 1) for x in corners(one)):
            noise = clients[i].variance if own_noise else sigma_squared(one)
            room = terms["sigma^2"] * noise + terms["G^2"]
            gap = clients[i].value(start)
            right = squared_distance(start, (Fraction(0),)) - 2 * one.step * gap
            right += one.step**2 * room
            zero = (Fraction(0),)
            at = {**one.where, "i": i + 1, "theta": start, "theta*": 0, "G": 1}
            at |= {"sigma^2": noise}
            left = step_error(one, i, start, zero, listed_step)
            yield Case(at, left, right, again(one, i, start, zero, right))


def averaged_room(terms: Any) -> Finding:
    """Judge sum p_i (sigma_i^2 + G^2) <= the printed terms, for any weights of sum 1.

    By linearity only the mean of the sigma_i^2, which is sigma^2, enters.
    """
    sigma, mean = sympy.symbols("sigma mean", nonnegative=True)
    room = rational(terms["sigma^2"]) * sigma**2 + rational(terms["G^2"]) * BOUND**2
    return judge.implied(
        [sympy.Eq(mean, sigma**2)],
        at_most(mean + BOUND**2, room),
        "every N, p and sigma_i",
    )

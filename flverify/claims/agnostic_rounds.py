"""The steps of Section 3.3 of the agnostic paper, as implications between scalars.

They hold for every number k of local steps in a period, which is what H stands for.
Algorithm 1 as printed, whose communication takes a tick, has k = H - 1.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import weighted_mean
from flverify.claims.focus_theorem1_steps import implied_under
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

ETA, BOUND = sympy.symbols("eta G", positive=True)
SIGMA, ELL = sympy.symbols("sigma ell", nonnegative=True)
STEPS = sympy.Symbol("k", positive=True)  # local steps of a period, at least 1
EVERY = "every N, dimension, C, law of S and of the noise, step size and period"
DRAWN = f"{EVERY}; S independent of the models"

Room: TypeAlias = tuple[Any, Any, Any]  # coefficients of sigma^2, G^2 and ell G H


# -- the steps, as implications -----------------------------------------------------


@cache
def projection() -> Finding:
    """Prove |P(y) - s| <= |y - s| for s in C, from <y - P(y), s - P(y)> <= 0."""
    y, z, s = sympy.symbols("y z s", real=True)
    expanded = (y - z) ** 2 - 2 * (y - z) * (s - z) + (z - s) ** 2
    split = judge.identity([("a coordinate", (y - s) ** 2, expanded)], EVERY)
    far, moved, product, near = sympy.symbols("far moved product near", real=True)
    hypotheses = [moved >= 0, product <= 0, sympy.Eq(far, moved - 2 * product + near)]
    return judge.all_of(
        {"expansion": split, "sign": judge.implied(hypotheses, near <= far, EVERY)}
    )


@cache
def one_step(noise: Any, square: Any) -> Finding:
    """Prove Lemma 2 for convex f_i and the gradients of line 9.

    `noise` and `square` are its coefficients of eta^2 sigma^2 and eta^2 G^2.
    """
    d, g = sympy.symbols("d g")
    expanded = d**2 - 2 * ETA * g * d + ETA**2 * g**2
    square_out = judge.identity([("a coordinate", (d - ETA * g) ** 2, expanded)], EVERY)
    after, moved, before, slope, gap, second = sympy.symbols(
        "after y before slope gap second", real=True
    )
    hypotheses = [
        after <= moved,
        sympy.Eq(moved, before - 2 * ETA * slope + ETA**2 * second),
        slope >= gap,
        second <= BOUND**2,
    ]
    room = rational(noise) * SIGMA**2 + rational(square) * BOUND**2
    conclusion = after <= before - 2 * ETA * gap + ETA**2 * room
    return judge.all_of(
        {
            "projection": projection(),
            "square": square_out,
            "collected": judge.implied(hypotheses, conclusion, EVERY),
        }
    )


@cache
def coupling(distance: Any) -> Finding:
    """Prove f_i(a model) >= f_i(next server model) - ell distance eta G k in a period.

    A step is at most eta E|g| <= eta G long, by the projection with s = theta in C and
    by a variance that is not negative; both models are at most k steps away from the
    common start, and a mean of models, S independent of them, is as near as they are.
    """
    mean, second = sympy.symbols("mean second", nonnegative=True)
    length = judge.implied(
        [second - mean**2 >= 0, second <= BOUND**2], mean <= BOUND, EVERY
    )
    done, one, other = sympy.symbols("s one other", nonnegative=True)
    low, high, far = sympy.symbols("low high far", real=True)
    unit = sympy.Symbol("u", positive=True)  # eta G
    apart = judge.implied(
        [done <= STEPS, one <= done * unit, other <= STEPS * unit, far <= one + other],
        far <= rational(distance) * STEPS * unit,
        DRAWN,
    )
    values = judge.implied(
        [low >= high - ELL * far, far <= rational(distance) * STEPS * unit],
        low >= high - rational(distance) * ELL * STEPS * unit,
        EVERY,
    )
    return judge.all_of(
        {
            "projection": projection(),
            "length of a step": length,
            "distance": apart,
            "values": values,
        }
    )


@cache
def added_steps() -> Finding:
    """Add up k one-step inequalities, each value bounded below by v - drop.

    By induction on the steps done: one more is judged for any number of them.
    """
    now, then, start, v, value = sympy.symbols("now then start v value", real=True)
    done = sympy.Symbol("s", nonnegative=True)
    room, loss = sympy.symbols("room loss", nonnegative=True)
    gain = sympy.Symbol("gain", positive=True)  # 2 eta
    return judge.implied(
        [
            now <= start - gain * done * (v - loss) + done * room,
            then <= now - gain * value + room,
            value >= v - loss,
        ],
        then <= start - gain * (done + 1) * (v - loss) + (done + 1) * room,
        "every number of steps",
    )


@cache
def collected(lemma: tuple[Any, Any], drop: Any, room: Room) -> Finding:
    """Collect k steps into (7), for client i and the next server model.

    Parameters
    ----------
    lemma : two coefficients of Lemma 2
    drop : coefficient of ell eta G k by which a value may fall short
    room : coefficients of eta^2 sigma^2, eta^2 G^2 and ell eta^2 G H in (7)
    """
    after, before = sympy.symbols("after before", nonnegative=True)
    v = sympy.Symbol("v", real=True)
    noise, square = map(rational, lemma)
    step_room = ETA**2 * (noise * SIGMA**2 + square * BOUND**2)
    short = rational(drop) * ELL * ETA * BOUND * STEPS
    # convex f_i with gradients of at most ell: steps of at most eta G, see `coupling`
    apart, moved = sympy.Symbol("distance", nonnegative=True), ETA * BOUND * STEPS
    nearby = [sympy.Eq(before, apart**2), after <= (apart + moved) ** 2]
    nearby += [v >= 0, v <= ELL * (apart + moved), ELL <= BOUND, STEPS >= 1]
    return implied_under(
        [after <= before - 2 * ETA * STEPS * (v - short) + STEPS * step_room],
        nearby,
        after_a_round(after, before, v, room),
        EVERY,
    )


def after_a_round(after: Any, before: Any, v: Any, room: Room) -> Any:
    """(7) and (8): k steps from `before`, with v = f(next server model) - f(theta*)."""
    return after <= before - 2 * ETA * STEPS * v + STEPS * round_room(room, STEPS)


def rate_side(first: Any, ticks: Any, rate: Room) -> Any:
    """Right side of (9), for D^2 = first and T = ticks."""
    room = round_room(rate, STEPS) / ETA
    return first / (2 * ETA * STEPS * ticks) + room


def round_room(room: Room, period: Any) -> Any:
    """2 eta^2 sigma^2 + 3 eta^2 G^2 + 8 ell eta^2 G H, with other coefficients."""
    noise, square, cross = map(rational, room)
    parts = noise * SIGMA**2 + square * BOUND**2 + cross * ELL * BOUND * period
    return ETA**2 * parts


@cache
def weighted_clients(power: Any = 1) -> Finding:
    """Average (7) with the p_i, which add up to 1, and use (6) on the left.

    A cohort of s clients gives each of them 1/s^power.
    """
    p, slack = sympy.symbols("p_i slack_i", nonnegative=True)
    s = 1 + sympy.Symbol("t", positive=True)  # |A|, at least 1
    left, mean, right = sympy.symbols("left mean right", real=True)
    return judge.all_of(
        {
            "a client's term": judge.nonnegative([("p_i slack_i", p * slack)], EVERY),
            "sum of p_i": judge.identity(
                [("a cohort of s", s * s ** -rational(power), 1)], EVERY
            ),
            "(6)": judge.implied([left <= mean, mean <= right], left <= right, DRAWN),
        }
    )


@cache
def mean_of_cohort(factor: Any = Fraction(1)) -> Finding:
    """Prove |mean - z|^2 <= factor times the mean of |theta_i - z|^2 in a cohort.

    In one coordinate, z = 0: the sums of w, w theta and w theta^2 over the clients are
    P, m and v; each w is 1/|A|, so that P = 1.
    """
    m = sympy.Symbol("m", real=True)
    P, v = sympy.symbols("P v", nonnegative=True)
    c = rational(factor)
    known = [m**2 <= c * P * v, sympy.Eq(P, 1)]
    return judge.all_of(
        {
            "Jensen": weighted_mean(EVERY, c),
            "weights of sum 1": judge.implied(known, m**2 <= c * v, EVERY),
        }
    )


@cache
def mean_of_cohorts(factor: Any = Fraction(1)) -> Finding:
    """Prove the same in the mean over cohorts, and over what went before them."""
    m, v = sympy.symbols("m v", real=True)
    chance = sympy.Symbol("probability", nonnegative=True)
    c = rational(factor)
    weighted = judge.implied([m**2 <= c * v], chance * m**2 <= c * chance * v, EVERY)
    return judge.all_of(
        {"(5), one cohort": mean_of_cohort(factor), "expectation": weighted}
    )


@cache
def averaged_rounds(room: Room, rate: Room) -> Finding:
    """Prove (9) from (8): add up T rounds, drop the last distance, divide, Jensen."""
    now, then, start, done_sum, v = sympy.symbols("now then start sum v", real=True)
    done = sympy.Symbol("t", nonnegative=True)
    per, fixed = sympy.symbols("per_round room", positive=True)
    one_more = judge.implied(
        [now <= start - per * done_sum + done * fixed, then <= now - per * v + fixed],
        then <= start - per * (done_sum + v) + (done + 1) * fixed,
        "every number of rounds",
    )
    first, last, total, value = sympy.symbols("D_squared last total value", real=True)
    now_at, next_at = sympy.symbols("value_now value_next", real=True)
    one_value = judge.implied(
        [(done + 1) * next_at <= done * now_at + v, done * now_at <= done_sum],
        (done + 1) * next_at <= done_sum + v,
        "every number of rounds",
    )
    rounds = sympy.Symbol("T", positive=True)
    scale = 2 * ETA * STEPS * rounds
    # a server that leaves theta* and returns is a quarter of its way apart in the mean
    nearby = [first >= 0, value >= 0, rounds >= 1, STEPS >= 1, ELL <= BOUND]
    nearby += [4 * value <= ELL * rounds * ETA * BOUND * STEPS]
    return judge.all_of(
        {
            "sum of rounds": one_more,
            "Jensen, one round more, f convex": one_value,
            "division by 2 eta H T": implied_under(
                [
                    last >= 0,
                    last
                    <= first
                    - 2 * ETA * STEPS * total
                    + rounds * STEPS * round_room(room, STEPS),
                    rounds * value <= total,  # Jensen
                ],
                nearby,
                scale * value <= sympy.expand(scale * rate_side(first, rounds, rate)),
                EVERY,
            ),
        }
    )


LEMMA_2 = (2, 2)  # coefficients of eta^2 sigma^2 and eta^2 G^2 in print


def one_period(room: Room, drop: Any = 4) -> Finding:
    """Prove (7) from Lemma 2 as printed and values that fall short by `drop`."""
    return judge.all_of(
        {
            "Lemma 2": one_step(*LEMMA_2),
            "coupling": coupling(drop),
            "sum of steps": added_steps(),
            "(7)": collected(LEMMA_2, drop, room),
        }
    )


def one_round(room: Room) -> Finding:
    """Prove (8) from (7) and (6)."""
    return judge.all_of(
        {
            "(6)": mean_of_cohort(),
            "(7)": one_period(room),
            "(8)": weighted_clients(),
        }
    )


def rate(room: Room, bound: Room) -> Finding:
    """Prove (9) from (8)."""
    return judge.all_of({"(8)": one_round(room), "(9)": averaged_rounds(room, bound)})

"""Agnostic FedAvg, Lemma 3 and Corollary 1: how far local models and values get.

Lemma 3 holds with 2 in place of 4, and that is what gives the constant of Corollary 1;
the printed chain would give twice as much, which is what (7) then uses.

Conventions: a window is the ticks from SH to SH + H. Its models start in C: after a
communication they do, whatever theta^0 is. Line 1 may put theta^0 = 0 outside of C
(`agnostic.alg1.init`), and then the first window, S = 0, is another reading. As
Algorithm 1 is printed the last tick is the communication, after H - 1 local steps;
reading (ii) takes H local steps and communicates then. Searches list absolute
values, hinges and lines with rational noise; rechecks run the plain loop.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.agnostic_apart import EVERY, tracks_apart
from flverify.claims.agnostic_windows import (
    FIRST,
    WINDOWS,
    distance,
    distances,
    farthest,
    first_windows,
    lines,
    plain_mean,
    value_gap,
    value_gaps,
)
from flverify.claims.claim import Free, claim
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth, gradient_bound
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

SEPARATE = "(ii) H local steps, then a communication"
SCHEDULES = {
    "(i) a communication takes a tick, H - 1 steps": "literal",
    SEPARATE: "separate",
}

START = "(iii) S = 0 too, from theta^0 = 0 of line 1, C anywhere"


@claim(
    "agnostic.lemma3",
    source=Source("agnostic", "Lemma 3"),
    statement=r"\mathbb E\big[\|\theta_i^{\tau_i}-\theta_j^{\tau_j}\|\,\big|\,"
    r"\mathcal F_{SH}\big]\le4\eta GH,\quad\tau_i,\tau_j\in[SH,SH+H]",
    proposition="Under Assumption 3, in a window, two models of any clients at any "
    "ticks are at most 4 eta G H apart in the mean, the one after the communication "
    "that ends the window included; (i) and (ii) are of windows that start in C.",
    constants={"factor": 4},
    twin={"factor": 1},
    free=Free("factor", 1, 8, weaker="larger", reading=SEPARATE),
)
def local_divergence(c: Any) -> Finding:
    """Judge the bound for both schedules and at the start; then state the sharp one."""
    found = {name: apart(word, c.factor) for name, word in SCHEDULES.items()}
    first = (
        distance_case(one, *farthest(one, distance), c.factor)
        for one in first_windows()
    )
    found[START] = judge.instances(first, "<=", FIRST)
    sharp = {name: attained(word, 2) for name, word in SCHEDULES.items()}
    return judge.readings(found).corrected(
        r"\mathbb E\big[\|\theta_i^{\tau_i}-\theta_j^{\tau_j}\|\,\big|\,"
        r"\mathcal F_{SH}\big]\le2\eta GH\text{ under (ii), }2\eta G(H-1)\text{ "
        r"under (i), both attained by two lines; for }S=0\text{ if }0\in\mathcal C",
        judge.readings(sharp),
    )


def attained(schedule: str, factor: Any) -> Finding:
    """Judge a bound of factor eta G for a local step, and that two lines attain it."""
    less = {"literal": 1, "separate": 0}[schedule]
    one = lines(schedule, 201)
    case = distance_case(one, *farthest(one, distance), factor, less)
    return judge.all_of(
        {
            "bound": apart(schedule, factor, less),
            "attained": judge.witness(case, "==", "two lines, H = 201"),
        }
    )


@cache
def apart(schedule: str, factor: Any, less: int = 0) -> Finding:
    """Judge a bound of factor eta G (H - less): steps of mean length eta G at most."""
    most = {"literal": 1, "separate": 0}[schedule]
    proof = tracks_apart(most, factor, less)
    cases = (distance_case(*found, factor, less) for found in distances(schedule))
    return judge.proof_or_search(proof, judge.instances(cases, "<=", WINDOWS))


def distance_case(
    one: Nonsmooth, pair: Any, far: Fraction, factor: Any, less: int = 0
) -> Case:
    """Return the farthest pair of the window against the bound."""
    bound = gradient_bound(one.clients)
    right = factor * one.step * bound * (one.period - less)
    at = {**one.where, "models (client, steps)": pair, "G": bound}
    return Case(at, far, right, lambda: (plain_mean(one, pair, distance), right))


@claim(
    "agnostic.cor1",
    source=Source("agnostic", "Corollary 1"),
    statement=r"\mathbb E\big[|f_i(\theta_i^{\tau_i})-f_i(\theta_j^{\tau_j})|\,\big|\,"
    r"\mathcal F_{SH}\big]\le2\ell\eta GH",
    proposition="Under Assumption 3, in a window, the values of an ell-Lipschitz f_i "
    "at two models are at most 2 ell eta G H apart in the mean; (i) and (ii) are of "
    "windows that start in C; the statement is judged, the printed chain is in the "
    "correction.",
    constants={"factor": 2},
    twin={"factor": 1},
    free=Free("factor", 1, 8, weaker="larger", reading=SEPARATE),
)
def value_divergence(c: Any) -> Finding:
    """Judge the statement from the sharp Lemma 3; then what the printed chain gives."""
    found = {name: values_apart(word, c.factor) for name, word in SCHEDULES.items()}
    first = (
        value_case(one, *farthest(one, value_gap(one)), c.factor)
        for one in first_windows()
    )
    found[START] = judge.instances(first, "<=", FIRST)
    return judge.readings(found).corrected(
        r"\text{from Lemma 3 as printed the chain gives }4\ell\eta GH\text{, which is "
        r"what (7) uses: }2\eta H\cdot4\ell\eta GH=8\ell\eta^2GH\cdot H;\text{ the "
        r"printed }2\ell\eta GH\text{ is what Lemma 3 with }2\eta GH\text{ gives}",
        judge.all_of(
            {
                "from 4 eta G H": by_lipschitz(4, 4),
                "from 2 eta G H": by_lipschitz(2, 2),
            }
        ),
    )


@cache
def values_apart(schedule: str, factor: Any) -> Finding:
    """Prove the bound from 2 eta G H and the Lipschitz constant, and search."""
    parts = {"Lemma 3 with 2": apart(schedule, 2), "values": by_lipschitz(2, factor)}
    cases = (value_case(*found, factor) for found in value_gaps(schedule))
    search = judge.instances(cases, "<=", WINDOWS)
    return judge.proof_or_search(judge.all_of(parts), search)


@cache
def by_lipschitz(distance: int, factor: Any) -> Finding:
    """Judge whether a distance of so many eta G H bounds the values as printed."""
    far, values, ell, unit = sympy.symbols("far values ell u", nonnegative=True)
    return judge.implied(
        [values <= ell * far, far <= distance * unit],
        values <= rational(factor) * ell * unit,
        f"{EVERY}, every H, tau_i, tau_j and ell",
    )


def value_case(one: Nonsmooth, pair: Any, far: Fraction, factor: Any) -> Case:
    """Return the farthest pair of values against the bound."""
    bound = gradient_bound(one.clients)
    ell = max(client.lipschitz for client in one.clients)
    right = factor * ell * one.step * bound * one.period
    at = {**one.where, "models (client, steps)": pair, "G": bound, "ell": ell}
    return Case(at, far, right, lambda: (plain_mean(one, pair, value_gap(one)), right))

"""Agnostic FedAvg, Figure 1: what explains it.

The lead of agnostic FedAvg over rule (10) is far larger in linear regression than in
classification, as is printed. A model that runs off costs the square of its length in
the one task and its length in the other. Two other rules that use the p_i, but keep a
model that all share, are far ahead of (10) in regression; so it is the total weight
that costs, and not the use of the p_i.

Conventions: those of `agnostic.fig1`; trends pass only if they are seen on each of
twenty data sets, and are never refuted: the data are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from flverify._core.sources import Source
from flverify.claims import agnostic_race as race
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

TEMPERATURE, ROUNDS = 10.0, 120
OBJECTIVES = ("(3)", "all clients alike")
REGRESSION, CLASSIFICATION = race.TASKS
DATA = (
    f"{race.DATA_SETS} generated data sets, N = {race.N_CLIENTS}, M = {race.COHORT}, "
    f"{race.ROWS} rows of dimension {race.DIM} for each user, {race.LOCAL_STEPS} local "
    f"steps, C = [-{race.BOX:g}, {race.BOX:g}]^d, T = {ROUNDS}"
)
SEEN = "data sets where it is so"


@claim(
    "agnostic.fig1.particularly",
    source=Source("agnostic", "the paragraph on Figure 1"),
    statement=r"\text{This is particularly the case in the linear regression task, "
    r"where the loss function is convex}",
    proposition="On each of twenty data sets of regression the loss of rule (10) is "
    "more times that of the agnostic rule than on any of twenty of a classification in "
    "place of MNIST, which is convex too; and for c times a model squares have c^2 "
    "times the leading term, while cross-entropy grows at most with c.",
    constants={"power": 2, "largest": 1},
    twin={"power": 1},
    reading_twins={"cross-entropy": {"largest": 0}},
)
def particularly(c: Any) -> Finding:
    """Judge the ratios for each meaning of p_i and both losses, and the growth."""
    found = dict(ratios())
    size, miss, scale = sympy.symbols("score target c", positive=True)
    lead = size**2 * scale ** rational(c.power)
    rest = (scale * size - miss) ** 2 - lead
    slower = -2 * scale * size * miss + miss**2
    found["squares"] = judge.identity(
        [("(c score - target)^2 - lead", rest, slower)], "every score, target and c"
    )
    found["cross-entropy"] = growth(c.largest)
    return judge.all_of(found)


def ratios() -> Iterator[tuple[str, Finding]]:
    """Count regressions whose ratio is above that of every classification."""
    for rule in race.RULES[1:]:
        for objective in OBJECTIVES:
            one, other = (ratio(task, rule, objective) for task in race.TASKS)
            above = int((one > other.max()).sum())
            name = f"p_i the {rule}, loss {objective}: more in regression"
            yield name, judge.share(SEEN, above, len(one), DATA)


def ratio(task: str, rule: str, objective: str) -> Any:
    """Loss of a rule over that of the agnostic one, on each data set."""
    losses = race.final_losses(task, TEMPERATURE, ROUNDS)
    return np.asarray(losses[rule, objective] / losses["agnostic", objective])


def growth(largest: int) -> Finding:
    """Prove sum_j e^{c (s_j - s_y)} <= C e^{c m}, m the largest of the s_j - s_y.

    With `largest` 0 the C is left out.
    """
    total, one, top, classes = sympy.symbols("total term top C", positive=True)
    factor = classes if largest else 1
    first = judge.implied([one <= top], one <= top, "C = 1")
    more = judge.implied(
        [total <= factor * top, one <= top, classes >= 1],
        total + one <= (factor + largest) * top,
        "every C",
    )
    return judge.all_of(
        {"one class": first, "one class more": more},
        argument="`term` is e^{c (s_j - s_y)} and `top` e^{c m}; the loss is the "
        "logarithm of the sum, at most log C + c m, m >= 0 as j may be y.",
    )


@claim(
    "agnostic.fig1.baselines",
    source=Source("agnostic", "Figure 1; a question, not printed"),
    statement=r"\text{the lead over rule (10) is due to its total weight, not to the "
    r"use of the }p_i",
    proposition="In linear regression, on each of twenty data sets, rule (10) divided "
    "by its total weight and moves over pi_i, aimed at all clients alike, have a lower "
    "loss than rule (10), for (3) and for all clients alike, and the agnostic rule has "
    "a lower loss (3) than both; divided, it keeps a model that all clients share.",
    constants={"divided": True},
    twin={"divided": False},
)
def baselines(c: Any) -> Finding:
    """Judge the orderings of the runs, then what (10), divided, does to one model."""
    rules = (*race.RULES[:2], *race.OTHERS)
    losses = race.final_losses(REGRESSION, TEMPERATURE, ROUNDS, rules)
    found = {}
    for rule in race.OTHERS:
        pairs = {("agnostic", rule, "(3)")}
        pairs |= {(rule, "weights (2)", objective) for objective in OBJECTIVES}
        for low, high, objective in sorted(pairs):
            lower = int((losses[low, objective] < losses[high, objective]).sum())
            name = f"loss {objective}: {low} below {high}"
            found[name] = judge.share(SEEN, lower, race.DATA_SETS, DATA)
    total, x = sympy.symbols("total x", positive=True)
    whole = total if c.divided else 1
    common = [("divided by its total weight", total * x / whole, x)]
    found["a common model"] = judge.identity(common, "every cohort with p_i > 0")
    return judge.all_of(found)

"""Settings whose rates of f(x) - f(x*) are attacked, with rates near the smallest."""

from __future__ import annotations

from functools import cache

from flverify.algorithms import Focus, GradientDescent, Mifa
from flverify.certify.averages.gap_rate import gap_rate
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort

WARM = {"initial_gradients": "start", "initial_tracker": "sum"}
ONE_OF_THREE = UniformCohort(3, 1)
CLASSES = Bernoulli(["1/2", "1/2", "1/5"])
# the method, the law, L, beta, and a rate that is asked for
SETTINGS = {
    "descent": (GradientDescent("1/4"), Full(2), 1, "1/10", "0.92501"),
    "descent, long": (GradientDescent("3/2"), Full(1), 1, "1/10", "0.92501"),
    "descent, beta = L": (GradientDescent("1/2"), Full(1), 1, 1, "0.25001"),
    "descent, L = 1/3": (GradientDescent(2), Full(2), "1/3", "1/20", "0.86668"),
    "uniform": (Focus("1/20", **WARM), UniformCohort(4, 2), 1, "1/10", "0.96911"),
    "one of three": (Focus("1/200", **WARM), ONE_OF_THREE, 1, "1/100", "0.999713"),
    "skip": (
        Focus("1/20", empty_round="skip", **WARM),
        Bernoulli(["1/2"] * 3),
        1,
        "1/10",
        "0.97829",
    ),
    "step": (Focus("1/20", **WARM), Bernoulli(["1/2"] * 3), 1, "1/10", "0.97591"),
    "classes": (Focus("1/20", **WARM), CLASSES, 1, "1/10", "0.98018"),
    "all or nothing": (
        Focus("1/20", **WARM),
        AllOrNothing(3, "1/3"),
        1,
        "1/10",
        "0.98009",
    ),
    "two steps": (Focus("1/40", 2, **WARM), ONE_OF_THREE, 1, "1/10", "0.98752"),
    "three steps": (Focus("1/20", 3, **WARM), Full(2), 1, "1/10", "0.98118"),
    "L = 2": (Focus("1/40", **WARM), ONE_OF_THREE, 2, "1/5", "0.97848"),
    "beta = L": (Focus("1/20", **WARM), ONE_OF_THREE, 1, 1, "0.81954"),
    "long": (Focus("1/6", **WARM), UniformCohort(3, 2), 1, "1/10", "0.93419"),
    "eight": (Focus("1/40", **WARM), UniformCohort(8, 3), 1, "1/10", "0.97193"),
    "mifa": (Mifa("1/10"), ONE_OF_THREE, 1, "1/10", "0.98416"),
}


@cache
def found(name):
    """Return what is certified at the rate of a setting."""
    *setting, rate = SETTINGS[name]
    result = gap_rate(*setting, rate=rate)
    assert result.status == "certified", result.reason
    return result

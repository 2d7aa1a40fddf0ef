"""Rounds and vectors to a target accuracy, from x_0 = 0.

The accuracy is E|x_r - x*|^2/|x_0 - x*|^2, from the curve of exact moments in floats.
The rounds are the first after which it is at most the target, up to the rounding of
floats, and stays there for as many rounds again. A method that does not stay at x* has
a stationary error, and never gets below it in the end.

Every participant downloads and uploads one vector a round; SCAFFOLD's also their
controls. Gradient descent hears everybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import Array, Scalar
from flverify.advise.setting import Tried, rate
from flverify.algorithms._algorithm import Algorithm
from flverify.algorithms.gradient_descent import GradientDescent
from flverify.algorithms.scaffold import Scaffold
from flverify.engines.moments import Moments

LEAST = Fraction(1, 10**10)  # accuracy that floats can tell from 0
MOST_ROUNDS = 50_000  # that are counted, with a small state
FEWEST_MOST = 4_000  # the same, with a large one
MOST_WORK = 4e11  # rounds times state^3
FIRST = 64  # rounds of the first look at the curve
LEAST_SIZE, LARGEST_SIZE = 1e-6, 1e9  # of minimiser and L: others lose digits
MET = 1e-12  # relative rounding of a curve that meets the target exactly
ROUNDING = 1e-13  # relative error of a float stationary error that stands for 0


@dataclass(frozen=True)
class Budget:
    """What a target accuracy costs at one step size.

    Parameters
    ----------
    rounds : int or None
        None if the target is not reached.
    vectors : float or None
        Expected vectors of dimension d that are communicated in these rounds.
    stationary : scalar or None
        Accuracy in the stationary law, exact in a rational setting; 0 for a method
        that goes to x*, None where the engine cannot tell.
    reason : str
        Why there are no rounds; empty otherwise.
    """

    rounds: int | None
    vectors: float | None
    stationary: Scalar | None
    reason: str


def vectors_per_round(algorithm: Algorithm, law: Any) -> Scalar:
    """Count the vectors expected to be downloaded and uploaded in a round.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import UniformCohort
    >>> vectors_per_round(FedAvg("1/8"), UniformCohort(10, 3))
    Fraction(6, 1)
    """
    each_way = 2 if isinstance(algorithm, Scaffold) else 1
    if isinstance(algorithm, GradientDescent):
        return 2 * law.n_clients
    return 2 * each_way * sum(law.inclusion().tolist())


def require_start(problem: Any) -> None:
    """Check that x_0 = 0 is not the minimiser, and that sizes are for floats.

    Raises
    ------
    DomainError
        If it is: nothing is relative to a distance of 0. If the minimiser or the
        smoothness are below 1e-6 or above 1e9.
    """
    away = max(abs(problem.minimiser()).tolist())
    if not away:
        raise DomainError(
            "x_0 = 0 must not be the minimiser, since the accuracy is relative to its "
            "distance; the minimiser of this problem is 0; shift the problem, with "
            "--curvatures and --centres on the command line."
        )
    curved = max(problem.client_smoothness().tolist())
    for what, size, unit in (("minimiser", away, "x"), ("smoothness", curved, "f")):
        if not LEAST_SIZE <= size <= LARGEST_SIZE:
            raise DomainError(
                f"the {what} must be between {LEAST_SIZE:g} and {LARGEST_SIZE:g} in "
                f"size, since floats are searched with; got {float(size):.3g}; measure "
                f"{unit} in another unit."
            )


def budget(exact: Tried, floats: Tried, step_size: Any, target: float) -> Budget:
    """Count rounds and vectors to an accuracy.

    Parameters
    ----------
    exact, floats : Tried
        The same setting twice; the first may be in floats too.
    step_size : Fraction
    target : float in [1e-10, 1)
        Of E|x_r - x*|^2/|x_0 - x*|^2.

    Raises
    ------
    RefusedError
        If the engine refuses the setting.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[3]]], [[0], [1]]).as_float()
    >>> halved = Tried(problem, GradientDescent(1), Full(2))
    >>> budget(halved, halved, 0.125, 1e-6)  # the distance is halved every round
    Budget(rounds=10, vectors=40.0, stationary=0.0, reason='')
    """
    end = stationary(exact, step_size)
    if end is not None and end > target:
        return Budget(None, None, end, "its stationary error is larger")
    rounds = _rounds(floats, float(step_size), target)
    if rounds is None:
        return Budget(None, None, end, _too_many(floats, step_size, target))
    per_round = float(vectors_per_round(exact.algorithm, exact.law))
    return Budget(rounds, rounds * per_round, end, "")


def stationary(tried: Tried, step_size: Any) -> Scalar | None:
    """Stationary error over |x_0 - x*|^2; None if the engine cannot tell.

    Raises
    ------
    RefusedError
        If the engine refuses the setting.
    """
    at = step_size if tried.exact else float(step_size)
    minimiser = np.asarray(tried.problem.minimiser())
    for quickly in (True, False):
        found = _moments(tried, at, quickly=quickly)
        try:
            error = found.stationary_mean_square_error / (minimiser * minimiser).sum()
        except RefusedError:
            continue
        if found.exact:
            return error
        return float(error) if error > ROUNDING else 0.0
    return None


def _moments(tried: Tried, step_size: Any, *, quickly: bool = False) -> Moments:
    found = tried.at(step_size, quickly=quickly)
    if not isinstance(found, Moments):
        raise RefusedError(found.reason)
    return found


def curve(tried: Tried, step_size: float, rounds: int) -> Array:
    """E|x_r - x*|^2/|x_0 - x*|^2 for r = 0, ..., rounds, from x_0 = 0.

    Raises
    ------
    RefusedError
        If the engine refuses the setting, or squares leave the range of floats.
    """
    found = _moments(tried, step_size)
    with np.errstate(over="ignore", invalid="ignore"):  # told below
        errors = found.mean_square_error([0.0] * tried.problem.dim, rounds)
        shares = np.asarray(errors / errors[0])
    if not np.isfinite(shares).all():
        raise RefusedError(
            "squares of models and gradients must lie within the range of floats; the "
            "problem's do not, so no rounds are counted; rescale it."
        )
    return shares


def _rounds(tried: Tried, step_size: float, target: float) -> int | None:
    """First round from which the curve stays below the target for as many again."""
    most, looked, met = _most_rounds(tried), FIRST, target * (1 + MET)
    while True:
        above = np.flatnonzero(~(curve(tried, step_size, looked) <= met))
        reached = int(above[-1]) + 1 if len(above) else 0
        if 2 * reached <= looked:
            return reached
        if looked >= 2 * most:
            return None
        looked = min(2 * looked, 2 * most)


def _too_many(tried: Tried, step_size: Any, target: float) -> str:
    """Say up to where rounds were counted, and how many the rate alone asks for."""
    told = f"not within {_most_rounds(tried)} rounds"
    gap = -math.log(max(float(rate(tried, float(step_size))), 1e-300))
    if gap <= 0:
        return told
    return f"{told}; the rate alone asks for about {-math.log(target) / gap:.2g}"


def _most_rounds(tried: Tried) -> int:
    """Return how many rounds are worth their time, whatever the machine."""
    size = tried.state_size
    return int(min(MOST_ROUNDS, max(FEWEST_MOST, MOST_WORK / size**3)))

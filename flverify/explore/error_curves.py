"""Error against rounds: the exact curve, a band of sampled runs, the printed bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flverify._core.exact import Array
from flverify.explore.at_the_point import point, require_sound, rounds_to
from flverify.explore.corners import law_of
from flverify.explore.instance import START
from flverify.explore.rounds import rounds_of
from flverify.explore.view import View
from flverify.report.rows import RowTable

SEED, RUNS = 5, 48
FEWEST, MOST = 20, 400  # rounds of a curve
UNSTABLE = 60  # rounds of a curve that does not contract
BAND = (0.1, 0.9)  # quantiles over the runs
LARGEST = 1e12  # a curve ends above
SMALLEST = 1e-14  # and is cut off below: second moments in floats say no more
SCOPE = (
    f"exact: second moments in floats; band: quantiles {BAND[0]} and {BAND[1]} of "
    f"{RUNS} sampled runs, seed {SEED}; printed: (1 - eta mu N/2)^r |x_0 - x*|^2 of "
    "Theorem 1, where the step size is inside its caps"
)


@dataclass(frozen=True)
class ErrorRow:
    """Errors after one round.

    Parameters
    ----------
    round : int
    exact : float
        E|x_r - x*|^2.
    mean, lower, upper : float
        Mean and quantiles of sampled runs.
    printed : float
        Printed bound; NaN where the theorem says nothing of this setting.
    """

    round: int
    exact: float
    mean: float
    lower: float
    upper: float
    printed: float


def errors(view: View) -> RowTable[ErrorRow]:
    """Exact, sampled and printed errors round by round, on the instance of the view.

    Raises
    ------
    InputError
        If the view is refused.

    Examples
    --------
    >>> view = View("gradient_descent", 1, "full", local_steps=1, step_size="1/2")
    >>> [row.exact for row in errors(view).rows[:3]]
    [1.0, 0.25, 0.0625]
    """
    require_sound(view)
    rates = {row.name: row.value for row in point(view).rows}
    horizon = _horizon(rates["instance_rate"])
    rounds = rounds_of(view)
    masks = _masks(law_of(view), horizon)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = rounds.curve(horizon)
        runs = rounds.sampled(masks)
        lower, upper = np.quantile(runs, BAND, axis=0, method="inverted_cdf")
        columns = [
            exact,
            runs.mean(axis=0),
            lower,
            upper,
            _printed(view, rates, horizon),
        ]
    return RowTable(_rows(columns))


def _horizon(rate: float) -> int:
    """Return how many rounds are worth a look, and fit into floats."""
    if rate >= 1:
        return max(1, min(UNSTABLE, int(200 / max(math.log10(rate), 1e-9))))
    return int(min(max(rounds_to(rate), FEWEST), MOST))


@lru_cache(maxsize=32)
def _drawn(view: View) -> Array:
    law = view.participation(floats=True)
    return np.asarray(law.sample(seed=SEED, runs=RUNS, rounds=MOST))


def _masks(view: View, horizon: int) -> Array:
    """Who takes part; the first rounds are the same however many there are."""
    return _drawn(law_of(view))[:, :horizon]


def _printed(view: View, rates: dict[str, float], horizon: int) -> Array:
    """Bound of Theorem 1; Theorem 2 asks for gradients that differ boundedly."""
    rate = rates["printed_rate"]
    if view.algorithm != "focus" or math.isnan(rate):
        return np.full(horizon + 1, math.nan)
    return np.asarray(START**2 * rate ** np.arange(horizon + 1))


def _rows(columns: list[Array]) -> tuple[ErrorRow, ...]:
    kept = []
    for r, values in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        if not values[0] <= LARGEST:
            break
        kept.append(ErrorRow(r, *(max(v, SMALLEST) for v in values)))
    return tuple(kept)

"""Tables of sampled trajectories, and their file of comma-separated values."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flverify.report import console
from flverify.report.numbers import shown

HEADINGS = ("algorithm", "round", "mean_square_error", "standard_error")
POINTS = 5  # steps between the rounds that are shown unasked


def shown_rounds(rounds: int) -> list[int]:
    """Return the rounds that a table shows: first, last, and evenly between.

    Examples
    --------
    >>> shown_rounds(100), shown_rounds(3)
    ([0, 20, 40, 60, 80, 100], [0, 1, 2, 3])
    """
    return sorted({rounds * k // POINTS for k in range(POINTS + 1)})


def curves(name: str, sampled: Any, at: Sequence[int]) -> dict[str, Any]:
    """Return mean and standard error of one algorithm at some rounds."""
    mean, error = _curves(sampled)
    places = list(at)
    out: dict[str, Any] = {
        "algorithm": name,
        "mean_square_error": mean[places],
        "standard_error": None if error is None else error[places],
    }
    if error is None:
        out["standard_error_reason"] = "one run has no standard error"
    return out


def show_curves(records: Sequence[dict[str, Any]], at: Sequence[int]) -> None:
    """Print the table of mean squared errors."""
    rows = []
    for one in records:
        errors = one["standard_error"]
        for place, round_index in enumerate(at):
            spread = "none" if errors is None else shown(float(errors[place]))
            mean = shown(float(one["mean_square_error"][place]))
            rows.append((one["algorithm"], str(round_index), mean, spread))
    headings = tuple(heading.replace("_", " ") for heading in HEADINGS)
    console.table(headings, rows, keep=len(headings))


def as_csv(sampled: Mapping[str, Any]) -> str:
    """Return every round of every algorithm as comma-separated values.

    An error beyond the range of floats is `inf`; one run has empty standard errors.
    """
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(HEADINGS)
    for name, one in sampled.items():
        mean, error = _curves(one)
        for place, value in enumerate(mean.tolist()):
            spread = "" if error is None else repr(float(error[place]))
            writer.writerow((name, place, repr(value), spread))
    return page.getvalue()


def _curves(sampled: Any) -> tuple[Any, Any]:
    mean = np.asarray(sampled.mean(), dtype=np.float64)
    error = None if sampled.runs < 2 else np.asarray(sampled.standard_error())
    return np.where(np.isnan(mean), math.inf, mean), error

"""Tables of exact moments: rates and bias, with refusals beside what was answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flverify._core.errors import RefusedError
from flverify._core.exact import Scalar
from flverify.engines.moments import surely_moves
from flverify.report import console
from flverify.report.numbers import enclosure, listed, shown

COORDINATES = 6  # of a vector that a table shows
UNSTABLE = "infinite: the mean-square rate is not below 1"
UNSETTLED = "the mean of the model does not go there: it grows, or alternates"
UNTOLD = (
    "floats do not tell whether the mean of the model goes there; pass rationals, or "
    "take a larger step size"
)


def rates(name: str, found: Any, *, enclose: bool) -> dict[str, Any]:
    """Return the rates of one algorithm by name; `refusal` says why there are none.

    Parameters
    ----------
    name : str
        The algorithm.
    found : Moments or Refusal
    enclose : bool
        Whether the enclosure of a float rate is wanted; exact ones have it anyway.
    """
    if not found:
        return refused(name, found)

    def interval() -> list[Scalar] | None:
        wanted = enclose or found.exact
        return list(found.mean_square_rate_interval) if wanted else None

    return _answers(
        name,
        found.exact,
        mean_square_rate=lambda: found.mean_square_rate,
        mean_square_rate_interval=interval,
        mean_rate=lambda: found.mean_rate,
    )


def biases(name: str, found: Any) -> dict[str, Any]:
    """Return fixed point, bias and stationary error of one algorithm by name."""
    if not found:
        return refused(name, found)
    out = _answers(
        name,
        found.exact,
        minimiser=lambda: found.minimiser,
        mean_fixed_point=lambda: found.mean_fixed_point,
        bias=lambda: found.bias,
        stationary_mean_square_error=lambda: found.stationary_mean_square_error,
        mean_settles=lambda: found.mean_settles,
    )
    if out["mean_settles"] is False and out["mean_fixed_point"] is not None:
        moves = surely_moves(found)
        out["mean_fixed_point_reason"] = UNSETTLED if moves else UNTOLD
    if out.get("stationary_mean_square_error") == math.inf:
        out["stationary_mean_square_error_reason"] = UNSTABLE
    return out


def refused(name: str, reason: object) -> dict[str, Any]:
    """Return the record of an algorithm that the engine does not accept."""
    return {"algorithm": name, "refusal": str(reason)}


def refusal(record: dict[str, Any], wanted: str) -> str:
    """Return why an algorithm has no answer to what was wanted; nothing if it has."""
    reason = record["refusal"]
    if reason is None and record[wanted] is None:
        reason = record[f"{wanted}_reason"]
    return str(reason or "")


def _answers(name: str, exact: bool, **asked: Callable[[], Any]) -> dict[str, Any]:
    """Ask one by one: an engine may refuse a value and answer the next."""
    out: dict[str, Any] = {"algorithm": name, "exact": exact, "refusal": None}
    for key, ask in asked.items():
        try:
            out[key] = ask()
        except RefusedError as error:
            out[key], out[f"{key}_reason"] = None, str(error)
    return out


def show_rates(records: Sequence[dict[str, Any]]) -> None:
    """Print the table of rates."""
    rows = []
    for one in records:
        if one["refusal"]:
            rows.append((one["algorithm"], "refused", "", "", ""))
            continue
        interval = one["mean_square_rate_interval"]
        rows.append(
            (
                one["algorithm"],
                _value(one["mean_square_rate"]),
                _enclosure(one, interval),
                _value(one["mean_rate"]),
                "rational" if one["exact"] else "float",
            )
        )
    headings = ("algorithm", "mean-square rate", "enclosure", "mean rate", "numbers")
    console.table(headings, rows, keep=len(headings))
    _reasons(records)


def show_biases(records: Sequence[dict[str, Any]]) -> None:
    """Print the table of fixed points, biases and stationary errors."""
    rows = []
    for one in records:
        if one["refusal"]:
            rows.append((one["algorithm"], "refused", "", "", ""))
            continue
        rows.append(
            (
                one["algorithm"],
                _vector(one["mean_fixed_point"]),
                _vector(one["bias"]),
                _value(one["stationary_mean_square_error"]),
                "rational" if one["exact"] else "float",
            )
        )
    headings = (
        "algorithm",
        "mean fixed point",
        "bias",
        "stationary error",
        "numbers",
    )
    console.table(headings, rows)
    _reasons(records)


def _value(value: Scalar | None) -> str:
    return "refused" if value is None else shown(value)


def _enclosure(record: dict[str, Any], interval: list[Scalar] | None) -> str:
    if interval:
        return enclosure(*interval)
    refused_it = "mean_square_rate_interval_reason" in record
    return "refused" if refused_it else "not asked"


def _vector(values: Any) -> str:
    return "refused" if values is None else listed(values, COORDINATES)


def _reasons(records: Sequence[dict[str, Any]]) -> None:
    """Print below the table why something is missing or infinite."""
    notes = []
    for one in records:
        named = [key for key in one if key.endswith("_reason")]
        for reason in dict.fromkeys(one[key] for key in named):
            keys = [key.removesuffix("_reason") for key in named if one[key] == reason]
            words = ", ".join(key.replace("_", " ") for key in keys)
            notes.append(f"{one['algorithm']}: {words}: {reason}")
        if one["refusal"]:
            notes.append(f"{one['algorithm']}: {one['refusal']}")
    console.remarks(notes)

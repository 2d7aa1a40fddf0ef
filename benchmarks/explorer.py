"""The explorer's fast tables over 40 slider moves at N = 16, without a browser.

Ten moves of each of four sliders, then one table after another as the page asks for
them: the map, the point, the curves, the matrices. What the tables remember of earlier
moves is kept, as it is on the page.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from benchmarks._rows import Row, seconds
from flverify.explore.slices import boundary, errors, mixing, point
from flverify.explore.view import View

TARGET = 0.15  # seconds, at the median over the moves
TABLES = (boundary, point, errors, mixing)
STARTS = {
    "FOCUS, independent": View(),
    "FedAvg, uniform": View("fedavg", law="uniform", over="tau"),
    "SCAFFOLD, two probabilities": View("scaffold", law="bernoulli_spread"),
    "ProxSkip, all or nothing": View(
        "proxskip", law="all_or_nothing", local_steps=1, over="kappa"
    ),
}


def rows(quick: bool) -> list[Row]:
    """Time the moves from each start; no repeats, since a second look is remembered."""
    starts = list(STARTS.items())
    return [_row(name, start) for name, start in (starts[:1] if quick else starts)]


def _row(name: str, start: View) -> Row:
    _answer(start)  # the page has been loaded
    moves = _moves(start)
    taken = [seconds(lambda v=view: _answer(v)) for view in moves]
    words = f"{len(moves)} slider moves at N = {start.n_clients}, worst"
    return Row(
        f"explorer, fast tables: {name}",
        median(taken),
        target=TARGET,
        note=f"{words} {max(taken):.3f} s",
    )


def _answer(view: View) -> None:
    for table in TABLES:
        table(view)


def _moves(start: View) -> list[View]:
    """Forty views, each one slider away from the one before."""
    out, view = [], start
    for k in range(10):
        view = replace(view, step_size=f"{k + 2}/300")
        out.append(view)
    for k in range(10):
        view = replace(view, strong_convexity=f"{k + 5}/100")
        out.append(view)
    for k in range(10):
        view = replace(view, **_law(view, k))
        out.append(view)
    for k in range(10):
        local = {"local_steps": k % 5 + 1, "smoothness": f"{10 + k // 5}/10"}
        one_step = view.algorithm == "proxskip"
        view = replace(view, **({"smoothness": f"{11 + k}/10"} if one_step else local))
        out.append(view)
    return out


def _law(view: View, k: int) -> dict[str, str | int]:
    """Move the slider of the law to its k-th place."""
    if view.law == "uniform":
        return {"cohort": k + 2}
    if view.law == "bernoulli_spread":
        return {"p_min": f"{k + 6}/50"}
    return {"probability": f"{2 * k + 41}/100"}

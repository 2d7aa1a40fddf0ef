"""Tables of a participation law, and what they mean for convergence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from flverify._core.exact import Scalar
from flverify._core.sentences import number_of
from flverify.report import console
from flverify.report.numbers import law_text, shown

JOINT = 8  # clients up to which the tables of pairs are shown unasked
HEAD, TAIL = 20, 5  # rows of a long table that are shown
SQUARE = 12  # clients of a table of pairs that are shown

PAIRS = ("joint_inclusion", "cross", "joint_averaging")
_MEANING = {
    "joint_inclusion": "p_ij = P(i and j in S)",
    "cross": "E[I_i I_j / |S|]",
    "joint_averaging": "E[I_i I_j / |S|^2]",
}


def tables(law: Any, text: str, joint: bool) -> dict[str, Any]:
    """Return the tables of a law by name, as in the JSON report."""
    inclusion, weights = law.inclusion(), law.averaging_weights()
    out: dict[str, Any] = {
        "law": text,
        "n_clients": law.n_clients,
        "exact": law.exact,
        "relative_error": getattr(law, "inclusion_error", None),
        "inclusion": inclusion,
        "averaging_weights": weights,
        "averaging_weights_sum": law.nonempty_probability(),
        "empty_probability": law.empty_probability(),
        "expected_cohort_size": sum(inclusion.tolist()),
    }
    for name in PAIRS:
        out[name] = getattr(law, name)() if joint else None
        if not joint:
            out[f"{name}_reason"] = f"more than {JOINT} clients; ask with --joint"
    modes = law.modes()
    out["modes"] = None
    if len(modes.laws) > 1:
        out["modes"] = {
            "stationary": modes.stationary,
            "initial": modes.initial,
            "transition": modes.transition,
            "laws": [mode.spec for mode in modes.laws],
        }
    out["notes"] = _notes(inclusion.tolist(), weights.tolist(), law)
    return out


def show(found: dict[str, Any]) -> None:
    """Print the tables of a law."""
    arithmetic = "exact rationals" if found["exact"] else "floats"
    clients = number_of(found["n_clients"], "client")
    error = found["relative_error"]
    if error:
        arithmetic += f", relative error of p at most {shown(error)}"
    console.fields(
        [
            ("law", f"{law_text(found['law'])}, {clients}"),
            ("arithmetic", arithmetic),
            ("P(empty round)", shown(found["empty_probability"])),
            ("sum of q", shown(found["averaging_weights_sum"])),
            ("mean of |S|", shown(found["expected_cohort_size"])),
        ]
    )
    console.line()
    rows = _clients(found["inclusion"].tolist(), found["averaging_weights"].tolist())
    console.table(("client", "inclusion p", "averaging weight q"), _cut(rows), keep=3)
    if len(rows) > HEAD + TAIL:
        console.line(f"{len(rows) - HEAD - TAIL} rows are not shown; --json has all.")
    for name in PAIRS:
        if found[name] is not None:
            _matrix(f"{name}: {_MEANING[name]}", found[name].tolist())
    if found["modes"]:
        _modes(found["modes"])
    console.remarks(found["notes"])


def notes(law: Any) -> list[str]:
    """Say what the law does to convergence: absent clients, unequal q, empty rounds."""
    return _notes(law.inclusion().tolist(), law.averaging_weights().tolist(), law)


def _notes(inclusion: list[Scalar], weights: list[Scalar], law: Any) -> list[str]:
    absent = [i for i, p in enumerate(inclusion) if p == 0]
    out = []
    if absent:
        out.append(
            f"p = 0 for {_people(absent)}: no round has them, so averaging methods and "
            "FOCUS tend, if at all, to a point that the objectives of the others "
            "decide, MIFA to one with updates of the start, not to the minimiser of F "
            "in general; "
            "Assumption 1 of the FOCUS paper (every p > 0) fails."
        )
    present = [q for q in weights if q != 0]
    if present and _differ(present):
        out.append(
            f"the averaging weights q differ (from {shown(min(present))} to "
            f"{shown(max(present))} among those that participate): a plain average of "
            "participants weighs client i by q_i, which biases FedAvg in general."
        )
    empty = law.empty_probability()
    if empty != 0:
        out.append(
            f"a round is empty with probability {shown(empty)}: the q sum to 1 minus "
            "that and are not renormalised; averaging methods keep the model, FedVARP "
            "unless empty_round=step, FOCUS and MIFA step with the unchanged tracker "
            "or mean unless empty_round=skip, and ProxSkip takes local steps alone "
            "unless variant=notebook, which keeps the model."
        )
    return out


def _differ(values: list[Scalar]) -> bool:
    gap = max(values) - min(values)
    return bool(gap > 1e-9 * max(values))


def _clients(p: list[Scalar], q: list[Scalar]) -> list[tuple[str, str, str]]:
    """Rows of the table; neighbours that are equal share one."""
    rows = []
    for (one, other), group in groupby(
        enumerate(zip(p, q, strict=True)), lambda e: e[1]
    ):
        places = [place for place, _ in group]
        rows.append((_range(places), shown(one), shown(other)))
    return rows


def _range(places: Sequence[int]) -> str:
    first, last = places[0], places[-1]
    return str(first) if first == last else f"{first}-{last}"


def _people(clients: list[int]) -> str:
    """Name clients, runs of neighbours as ranges."""
    runs = groupby(enumerate(clients), lambda entry: entry[1] - entry[0])
    named = [_range([client for _, client in run]) for _, run in runs]
    more = f" and {len(named) - TAIL} more groups" if len(named) > TAIL else ""
    word = "client " if len(clients) == 1 else "clients "
    return word + ", ".join(named[:TAIL]) + more


def _cut(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    if len(rows) <= HEAD + TAIL:
        return rows
    return [*rows[:HEAD], ("...", "", ""), *rows[-TAIL:]]


def _matrix(title: str, values: list[list[Scalar]]) -> None:
    size = range(min(len(values), SQUARE))
    console.line()
    console.line(title)
    headings = ("", *(str(j) for j in size))
    rows = [(str(i), *(shown(values[i][j]) for j in size)) for i in size]
    console.table(headings, rows, keep=len(headings))
    if len(values) > SQUARE:
        console.line(
            f"{len(values) - SQUARE} clients are not shown; --json has all pairs."
        )


def _modes(modes: dict[str, Any]) -> None:
    console.line()
    size = range(len(modes["laws"]))
    headings = ("mode", "stationary", "initial", *(f"to {k}" for k in size), "law")
    rows = [
        (
            str(k),
            shown(modes["stationary"][k]),
            shown(modes["initial"][k]),
            *(shown(v) for v in modes["transition"][k]),
            law_text(modes["laws"][k]),
        )
        for k in size
    ]
    console.table(headings, rows, keep=2)

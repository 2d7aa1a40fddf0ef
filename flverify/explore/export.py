"""A view taken away: as a Python snippet that reproduces it, and as one CSV file."""

from __future__ import annotations

import csv as csv_files
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields

from flverify.explore.at_the_point import PointRow, point, require_sound
from flverify.explore.axis import map_refusal
from flverify.explore.certified import CertifiedRow
from flverify.explore.error_curves import errors
from flverify.explore.mixing_matrices import MOST_EXACT, mixing
from flverify.explore.stability_map import boundary
from flverify.explore.view import View
from flverify.report.rows import RowTable

COLUMNS = ("table", "at", "quantity", "value", "exact", "verdict")
DIGITS = 12  # significant digits of a number in the file

_LAWS = {
    "full": "Full({n})",
    "bernoulli": 'Bernoulli(["{probability}"] * {n})',
    "uniform": "UniformCohort({n}, {cohort})",
    "all_or_nothing": 'AllOrNothing({n}, "{probability}")',
    "bernoulli_spread": 'Bernoulli(["{p_min}"] * {rare} + ["{p_max}"] * {rest})',
}
_ALGORITHMS = {
    "focus": 'Focus("{eta}", {tau})',
    "fedavg": 'FedAvg("{eta}", {tau})',
    "fedvarp": 'FedVarp("{eta}", {tau})',
    "mifa": 'Mifa("{eta}", {tau})',
    "scaffold": 'Scaffold("{eta}", {tau})',
    "gradient_descent": 'GradientDescent("{eta}")',
    "proxskip": 'ProxSkip("{eta}", probability="{coin}")',
}

_SNIPPET = '''"""A view of the flverify explorer."""

from fractions import Fraction

from flverify import moments
from flverify.algorithms import {algorithm_name}
from flverify.certify.sandwich import worst_quadratic
from flverify.explore import View, show
from flverify.explore.slices import {slices}
from flverify.participation import {law_name}
from flverify.problems import Quadratics

law = {law}
algorithm = {algorithm}

# the quadratics of the curves: h (x - b)^2 / 2, start at distance 1 from x*
h = ([Fraction("{smooth}"), Fraction("{mu}")] * {n})[:{n}]
b = ([1, -1] * {n})[:{n}]
problem = Quadratics([[[v]] for v in h], [[v * w] for v, w in zip(h, b)])
found = moments(problem.as_float(), algorithm, law)
print("exact rate of the curves:", float(found.mean_square_rate))
# means that do not contract have a fixed point, or many, and do not go there
contracts = found.mean_rate < 1 - 1e-12
print("bias:", abs(float(found.bias[0])) if contracts else "see the table below")
worst = worst_quadratic(algorithm, law, "{mu}", "{smooth}")
near = "" if worst.occurs else "near "  # runs on these themselves may have another
print("worst quadratics:", near + str(worst.instance), "with rate", worst.rate)

# the view of the explorer, its tables and its picture
view = View(
{fields})
for row in point(view):
    print(row.label, row.text, row.verdict)
{map_lines}print("error after the last round:", errors(view).rows[-1].exact)
figure = show(view)
# figure.savefig("view.pdf")
'''

_MAP_LINES = """for place in boundary(view):
    print(place.text, "stable below", place.boundary, "printed", place.printed_cap)
"""


def snippet(view: View) -> str:
    """Python text that reproduces a view with the package's own functions.

    Raises
    ------
    InputError
        If the view is refused.

    Examples
    --------
    >>> text = snippet(View(law="uniform", over="n"))
    >>> [line for line in text.splitlines() if line.startswith("law")]
    ['law = UniformCohort(16, 4)']
    """
    words = _words(view)
    law = _LAWS[view.law].format(**words)
    algorithm = _ALGORITHMS[view.algorithm].format(**words)
    drawn = map_refusal(view) is None
    settings = asdict(view).items()
    return _SNIPPET.format(
        law=law,
        law_name=law.partition("(")[0],
        algorithm=algorithm,
        algorithm_name=algorithm.partition("(")[0],
        slices=", ".join(["boundary"] * drawn + ["errors", "point"]),
        fields="".join(f"    {name}={json.dumps(v)},\n" for name, v in settings),
        map_lines=_MAP_LINES if drawn else "",
        **words,
    )


def _words(view: View) -> dict[str, object]:
    """Return what the pieces of a snippet are filled with."""
    require_sound(view)
    rare = max(view.n_clients // 2, 1)
    return {
        "n": view.n_clients,
        "probability": view.number("probability"),
        "cohort": view.cohort,
        "p_min": view.number("p_min"),
        "p_max": view.number("p_max"),
        "rare": rare,
        "rest": view.n_clients - rare,
        "eta": view.number("step_size"),
        "tau": view.local_steps,
        "coin": view.chances()[0],
        "mu": view.number("strong_convexity"),
        "smooth": view.number("smoothness"),
    }


def csv(
    view: View,
    certified_point: RowTable[PointRow] | None = None,
    certified_boundary: RowTable[CertifiedRow] | None = None,
) -> str:
    """Return every number of a view as one file of comma-separated values.

    Parameters
    ----------
    view : View
    certified_point, certified_boundary : tables of the slow layers, optional
        Written too where they are known.

    Returns
    -------
    text : str
        Columns: table, at, quantity, value, exact (its rational, where there is one)
        and verdict.

    Raises
    ------
    InputError
        If the view is refused.

    Examples
    --------
    >>> view = View("gradient_descent", 1, "full", local_steps=1, over="n")
    >>> csv(view).splitlines()[:2]
    ['table,at,quantity,value,exact,verdict', 'view,,algorithm,,gradient_descent,']
    """
    stream = io.StringIO()
    writer = csv_files.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in _lines(view, certified_point, certified_boundary):
        writer.writerow(_number(v) if isinstance(v, float) else str(v) for v in line)
    return stream.getvalue()


def _number(value: float) -> str:
    """Write a number; one that is not 1 never as 1, which rates are told from."""
    text = f"{value:.{DIGITS}g}"
    return repr(value) if float(text) == 1 != value else text


Line = tuple[object, ...]


def _lines(
    view: View,
    certified_point: RowTable[PointRow] | None,
    certified_boundary: RowTable[CertifiedRow] | None,
) -> Iterator[Line]:
    for name, value in asdict(view).items():
        yield "view", "", name, "", value, ""
    for table in (point(view), certified_point):
        for row in table or ():
            yield "point", "", row.name, float(row.value), "", row.verdict
    for rows in (
        boundary(view) if map_refusal(view) is None else (),
        certified_boundary,
    ):
        yield from _of_rows("map", rows or ())
    yield from _of_rows("errors", errors(view))
    yield from _of_the_law(view)


def _of_the_law(view: View) -> Iterator[Line]:
    """Yield matrices and weights; those of many clients have no rationals."""
    found, exact = mixing(view), view.n_clients <= MOST_EXACT
    for entry in found.rows:
        at = f"{entry.row} {entry.column}"
        text = entry.text if exact else ""
        yield "mixing", at, entry.matrix, entry.value, text, ""
    for one in found.weights:
        p, q = (one.inclusion_text, one.averaging_text) if exact else ("", "")
        yield "weights", str(one.client), "p", one.inclusion, p, ""
        yield "weights", str(one.client), "q", one.averaging, q, ""


def _of_rows(table: str, rows: Iterable[object]) -> Iterator[Line]:
    """Yield one line for every number of a table of floats, its first column first."""
    for row in rows:
        first, *others = (f.name for f in fields(row))  # type: ignore[arg-type]
        at = getattr(row, "text", getattr(row, first))
        for name in others:
            value = getattr(row, name)
            if isinstance(value, float):
                yield table, at, name, value, "", ""

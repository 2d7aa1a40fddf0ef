"""The pure tables of the explorer: functions of a view that draw nothing.

`boundary`, `point`, `errors` and `mixing` are fast; `certified_boundary` and
`certified_point` ask a solver and the independent checker. A view that is refused
raises `InputError` with the sentence of `View.refusal`; a map that cannot be drawn
raises `RefusedError` with the sentence of `map_refusal`.
"""

from __future__ import annotations

from flverify.explore.at_the_point import PointRow, point
from flverify.explore.axis import (
    LABELS,
    LOGARITHMIC,
    at_value,
    axis_value,
    axis_values,
    map_refusal,
    moved,
)
from flverify.explore.certified import (
    CertifiedRow,
    certified_boundary,
    certified_point,
    certified_row,
)
from flverify.explore.error_curves import ErrorRow, errors
from flverify.explore.export import csv, snippet
from flverify.explore.instance import describe
from flverify.explore.mixing_matrices import Entry, Mixing, Weight, mixing
from flverify.explore.stability_map import MapRow, boundary

__all__ = [
    "LABELS",
    "LOGARITHMIC",
    "CertifiedRow",
    "Entry",
    "ErrorRow",
    "MapRow",
    "Mixing",
    "PointRow",
    "Weight",
    "at_value",
    "axis_value",
    "axis_values",
    "boundary",
    "certified_boundary",
    "certified_point",
    "certified_row",
    "csv",
    "describe",
    "errors",
    "map_refusal",
    "mixing",
    "moved",
    "point",
    "snippet",
]

"""What slow layers of any page have certified: files of a view take it along.

A file is answered at once, so nothing is certified for it. Rows are remembered by all
that they depend on, hence one page may take what another one has found.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from flverify.explore.axis import at_value, axis_values, map_refusal
from flverify.explore.certified import CertifiedRow
from flverify.explore.corners import law_of
from flverify.explore.slices import PointRow
from flverify.explore.stability_map import ENDS
from flverify.explore.view import View
from flverify.report.rows import RowTable

_MOST = 4000  # rows that a server remembers
_ROWS: dict[Hashable, Any] = {}
_LOCK = threading.Lock()  # pages remember while files are made in another thread


def map_key(view: View, value: Fraction) -> Hashable:
    """Return what a row of the certified map is remembered by.

    Examples
    --------
    >>> one, two = View(step_size="1/8"), View(step_size="1/9")
    >>> map_key(one, Fraction(1, 2)) == map_key(two, Fraction(1, 2))
    True
    """
    return view.over, law_of(at_value(view, value), *ENDS)


def point_key(view: View) -> Hashable:
    """Return what the certified rows at the point are remembered by."""
    return law_of(view, *ENDS, "step_size")


def remember(key: Hashable, found: object) -> None:
    """Remember a row of the map, or the rows at a point; the oldest are forgotten."""
    with _LOCK:
        _ROWS[key] = found
        while len(_ROWS) > _MOST:
            del _ROWS[next(iter(_ROWS))]


def found_point(view: View) -> RowTable[PointRow] | None:
    """Return the certified rows at the point; None if they are not known."""
    rows = _ROWS.get(point_key(view))
    return None if rows is None else RowTable(tuple(rows))


def found_boundary(view: View) -> RowTable[CertifiedRow] | None:
    """Return what is known of the certified boundary; None if that is nothing."""
    if map_refusal(view) is not None:
        return None
    rows = [_ROWS.get(map_key(view, value)) for value in axis_values(view)]
    known = tuple(row for row in rows if row is not None)
    return RowTable(known) if known else None

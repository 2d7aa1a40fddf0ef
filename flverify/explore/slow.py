"""What the slow layers run, in a process that never loads the page."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from flverify.explore.slices import (
    CertifiedRow,
    PointRow,
    certified_point,
    certified_row,
)
from flverify.explore.view import View


def certify_map(asked: tuple[View, tuple[Fraction, ...]]) -> Iterator[CertifiedRow]:
    """Certify the map of a view at some values, one after another.

    Examples
    --------
    >>> view = View("gradient_descent", 2, "full", local_steps=1, over="n")
    >>> [row.text for row in certify_map((view, (Fraction(1), Fraction(2))))]
    ['1', '2']
    """
    view, values = asked
    for value in values:
        yield certified_row(view, value)


def certify_point(view: View) -> Iterator[tuple[PointRow, ...]]:
    """Certify at the point.

    Examples
    --------
    >>> view = View("gradient_descent", 2, "full", local_steps=1, step_size="1/4")
    >>> [row.verdict for row in next(certify_point(view))][0]
    'CERTIFIED'
    """
    yield certified_point(view).rows

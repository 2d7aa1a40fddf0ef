"""Room for labels: inside the figure, and apart from each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

CLOSEST = 0.055  # of an axis' height, between two ticks
EDGE = 0.01  # of the figure's width, kept free beside labels


def minor(value: float, _: object) -> str:
    """Label 2 and 5 times a power of ten on a logarithmic axis; more would touch.

    Examples
    --------
    >>> minor(0.02, 0), minor(3.0, 0)
    ('0.02', '')
    """
    return f"{value:.3g}" if f"{value:e}"[0] in "25" else ""


def apart(
    ticks: Sequence[float], place: Callable[[float], float], height: float
) -> list[float]:
    """Leave out ticks whose labels would touch, from the first one on.

    Examples
    --------
    >>> apart([0.0, 0.01, 0.1, 1.0], lambda tick: tick, 1.0)
    [0.0, 0.1, 1.0]
    """
    kept: list[float] = []
    for tick in ticks:
        if not kept or place(tick) - place(kept[-1]) > CLOSEST * height:
            kept.append(tick)
    return kept


def keep_inside(figure: Figure, ax: Axes, beside: Axes) -> None:
    """Narrow axes by what labels, theirs or those beside them, would stick out."""
    width = figure.bbox.width
    own, other = ax.get_tightbbox(), beside.get_tightbbox()
    left = max(0.0, EDGE - own.x0 / width) if own else 0.0
    right = max(0.0, other.x1 / width - 1 + EDGE) if other else 0.0
    x, y, wide, high = ax.get_position().bounds
    ax.set_position((x + left, y, wide - left - right, high))
    x, y, wide, high = beside.get_position().bounds
    beside.set_position((x - right, y, wide, high))

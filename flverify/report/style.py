"""One figure style: widths, colours, line styles, and files that repeat byte by byte.

Colours are told apart by every common kind of colour vision, and from white; those of
Figure 4 in grey too. An algorithm has the same colour, line style and marker in every
figure.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from flverify._core.catalogue import member_names
from flverify._core.checks import choice
from flverify._core.whole_files import replacing

COLUMN = 3.35  # inches: one column of a two-column page
PAGE = 6.9  # inches: the text width of such a page
FORMATS = ("pdf", "png", "svg")
_CLOSE = 1e-9  # rounding of a logarithm

# What a file says of itself: no dates and no versions, so that it repeats.
_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}

_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # shipped with matplotlib: the same everywhere
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "flverify",
}


@dataclass(frozen=True)
class Look:
    """How an algorithm is drawn, in every figure.

    Parameters
    ----------
    label : str
        Name in a legend.
    colour : str
        Hexadecimal colour.
    dashes : tuple of floats
        Lengths of dashes and gaps in line widths; empty for a solid line.
    marker : str
        Marker of matplotlib.
    """

    label: str
    colour: str
    dashes: tuple[float, ...]
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Keywords of a line in this look."""
        pattern: Any = (0, self.dashes) if self.dashes else "-"
        return {"color": self.colour, "linestyle": pattern}

    @property
    def points(self) -> dict[str, Any]:
        """Keywords of hollow markers in this look, without a line."""
        return {
            "color": self.colour,
            "linestyle": "none",
            "marker": self.marker,
            "markerfacecolor": "white",
            "markeredgewidth": 0.8,
        }

    @property
    def band(self) -> dict[str, Any]:
        """Keywords of a band; its edges are seen where another one covers it."""
        dashes = self.line["linestyle"]
        return {
            "facecolor": to_rgba(self.colour, 0.18),
            "edgecolor": to_rgba(self.colour, 0.7),
            "linewidth": 0.5,
            "linestyle": dashes,
        }


# Pairs that coincide somewhere (FedAvg and FedAU, SCAFFOLD and ProxSkip or FedVARP)
# have a solid and a broken line, so that both are seen.
_LOOKS = {
    "focus": Look("FOCUS", "#0B54B2", (), "o"),
    "fedavg": Look("FedAvg", "#C06A00", (), "s"),
    "fedau": Look("FedAU", "#5A1F5A", (3.0, 2.0), "^"),
    "scaffold": Look("SCAFFOLD", "#32A767", (), "D"),
    "proxskip": Look("ProxSkip", "#C4302E", (1.0, 1.5), "v"),
    "agnostic_fedavg": Look("agnostic FedAvg", "#0F7FC2", (5.0, 2.0), "p"),
    "weighted_fedavg": Look("weighted FedAvg", "#CD6FA2", (5.0, 1.5, 1.0, 1.5), "h"),
    "mifa": Look("MIFA", "#A915F9", (6.0, 1.5, 2.0, 1.5), "<"),
    "fedvarp": Look("FedVARP", "#841D40", (1.5, 2.5), ">"),
    "fedawe": Look("FedAWE", "#0A0789", (4.0, 1.0, 1.0, 1.0, 1.0, 1.0), "*"),
    "fedprox": Look("FedProx", "#0E2C06", (3.0, 1.0, 1.0, 1.0), "X"),
    "feddyn": Look("FedDyn", "#987EFF", (4.0, 1.0), "8"),
    "gradient_descent": Look("gradient descent", "#000000", (2.0, 1.0), "x"),
}
_SPARE = ("#999999", "#8C564B", "#17BECF", "#AA4499", "#332288")
_SPARE_MARKERS = ("<", ">", "*", "P", "d")


def look(algorithm: str) -> Look:
    """Return the look of an algorithm, named by its file in flverify/algorithms.

    An algorithm without a look of its own gets a spare one by its place among those.

    Raises
    ------
    DomainError
        If there is no such algorithm.

    Examples
    --------
    >>> look("focus").label
    'FOCUS'
    """
    known = member_names("flverify.algorithms")
    name = choice(algorithm, "algorithm", known)
    if name in _LOOKS:
        return _LOOKS[name]
    place = [other for other in known if other not in _LOOKS].index(name)
    turn, at = divmod(place, len(_SPARE))
    dashes = (1.0 + turn, 1.0, 4.0, 1.0)
    return Look(name.replace("_", " "), _SPARE[at], dashes, _SPARE_MARKERS[at])


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the one style, whatever the user's own matplotlib settings are.

    Examples
    --------
    >>> import matplotlib
    >>> with house_style():
    ...     matplotlib.rcParams["svg.hashsalt"]
    'flverify'
    """
    with style.context(["default", _SETTINGS]):
        yield


def new_figure(height: float, width: float = PAGE) -> Figure:
    """Return an empty figure in inches; no window system is touched."""
    return Figure(figsize=(width, height))


def number_logarithms(ax: Axes) -> None:
    """Put numbers between the powers of a logarithmic axis that shows fewer than two.

    Only for axes whose limits are final.

    Examples
    --------
    >>> ax = new_figure(2).subplots()
    >>> _ = ax.set(yscale="log", ylim=(2, 30))
    >>> number_logarithms(ax)
    >>> [float(tick) for tick in ax.get_yticks() if 2 <= tick <= 30]
    [2.0, 5.0, 10.0, 20.0]
    """
    for axis, ends in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if axis.get_scale() != "log":
            continue
        base = axis.get_transform().base  # type: ignore[attr-defined]
        low, high = (math.log(end, base) for end in sorted(ends))
        if math.floor(high + _CLOSE) - math.ceil(low - _CLOSE) >= 1:
            continue
        between = (1, 1.5) if base == 2 else (1, 2, 5)
        axis.set_major_locator(LogLocator(base, subs=between))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path, kind: str) -> None:
    """Write a picture whole, replacing an old one in one step.

    The same figure gives the same bytes: no dates, a fixed salt for names in SVG.

    Raises
    ------
    DomainError
        If the format is not pdf, png or svg.
    """
    choice(kind, "format", FORMATS)
    picture = io.BytesIO()  # matplotlib stumbles over a full disk
    figure.savefig(picture, format=kind, metadata=_METADATA[kind])
    with replacing(path) as scratch:
        scratch.write_bytes(picture.getvalue())

"""The rules of a figure, each a function that lists what breaks it."""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from types import CodeType
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from flverify._core.catalogue import member_names
from flverify.report import style

RELATIVE = 1e-9
ABSOLUTE = 1e-13  # errors relative to the start: exact curves in floats say no more
DPI = 100
WORD = re.compile(r"[A-Za-z]{3,}")
SYMBOL = re.compile(r"\$[^$]+\$")
COMPUTING = ("engines", "certify", "mixing", "reference", "participation", "problems")


# -------------------------------------------------------------------------- tables


def lines_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def differences(found: list[list[str]], stored: list[list[str]]) -> list[str]:
    """Where two tables differ: text at all, numbers beyond rounding."""
    if len(found) != len(stored) or found[:1] != stored[:1]:
        return [f"{len(found)} lines {found[:1]} against {len(stored)} {stored[:1]}"]
    out = []
    for number, (line, other) in enumerate(zip(found, stored, strict=True), start=1):
        if len(line) != len(other):
            out.append(f"line {number}: {line} against {other}")
            continue
        for column, left, right in zip(found[0], line, other, strict=True):
            if not same(left, right):
                out.append(f"line {number}, {column}: {left} against {right}")
    return out


def same(left: str, right: str) -> bool:
    if left == right:
        return True
    try:
        a, b = float(left), float(right)
    except ValueError:
        return False
    return abs(a - b) <= ABSOLUTE + RELATIVE * abs(b)


# ------------------------------------------------------------------------- drawing


def drawn(figure: Any, table: Any) -> Figure:
    """Draw in the house style on a canvas of pixels."""
    canvas = laid_out(figure, table)
    with style.house_style():
        FigureCanvasAgg(canvas)
        canvas.canvas.draw()
    return canvas


def laid_out(figure: Any, table: Any) -> Figure:
    """Call the figure's own drawing, and turn nothing into pixels."""
    width, height = figure.SIZE
    with style.house_style():
        canvas = style.new_figure(height, width)
        canvas.set_dpi(DPI)
        figure.draw(canvas, table)
    return canvas


def computing(work: Callable[[], object]) -> list[str]:
    """Functions of the engines and of the model that are called on the way."""
    called: dict[int, tuple[CodeType, str]] = {}  # each is looked at once, and kept
    places = tuple(f"/flverify/{name}/" for name in COMPUTING)

    def watch(frame: Any, event: str, argument: object) -> None:
        del argument
        code = frame.f_code
        if event == "call" and id(code) not in called:
            file = code.co_filename.replace("\\", "/")
            ours = code.co_name != "<module>" and any(one in file for one in places)
            called[id(code)] = code, f"{file}: {code.co_name}" if ours else ""

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return sorted({name for _, name in called.values()} - {""})


def shown_axes(canvas: Figure) -> list[Axes]:
    return [ax for ax in canvas.axes if ax.get_visible()]


def tick_labels(axis: Axis) -> list[Text]:
    """Tick labels of an axis that are drawn."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    return [
        label
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        if low - slack <= tick.get_loc() <= high + slack
        for label in (tick.label1, tick.label2)
        if label.get_visible() and label.get_text().strip()
    ]


def texts(canvas: Figure) -> list[Text]:
    """All texts that are drawn."""
    hidden: set[int] = set()
    for ax in canvas.axes:
        for axis in (ax.xaxis, ax.yaxis):
            hidden |= {id(text) for text in axis.findobj(Text)}
            if ax.get_visible() and ax.axison and axis.get_visible():
                kept = [*tick_labels(axis), axis.label, axis.offsetText]
                hidden -= {id(text) for text in kept}
        if not ax.get_visible():
            hidden |= {id(text) for text in ax.findobj(Text)}
    return [
        text
        for text in canvas.findobj(Text)
        if id(text) not in hidden and text.get_visible() and text.get_text().strip()
    ]


def box(text: Text) -> Bbox:
    """The text itself, without its arrow if it is an annotation."""
    return Text.get_window_extent(text)


def said(text: Text) -> str:
    return repr(text.get_text())


def outside(canvas: Figure) -> list[str]:
    """Texts that the edge of the picture cuts."""
    out = []
    for text in texts(canvas):
        b, page = box(text), canvas.bbox
        inside = b.x0 >= -1 and b.y0 >= -1
        if not (inside and b.x1 <= page.x1 + 1 and b.y1 <= page.y1 + 1):
            out.append(f"{said(text)} is cut off at the edge")
    return out


def overlaps(canvas: Figure) -> list[str]:
    """Texts, legends and panels that lie on one another."""
    upright = [text for text in texts(canvas) if text.get_rotation() % 90 == 0]
    inner = {id(text): core(box(text)) for text in upright}
    out = [
        f"{said(one)} lies on {said(other)}"
        for one, other in combinations(upright, 2)
        if meet(inner[id(one)], inner[id(other)])
    ]
    for legend in canvas.findobj(Legend):
        own = {id(text) for text in legend.findobj(Text)}
        frame = core(legend.get_window_extent())
        out += [
            f"a legend lies on {said(text)}"
            for text in upright
            if id(text) not in own and meet(frame, inner[id(text)])
        ]
        out += [
            "a legend of the figure lies on a panel"
            for ax in shown_axes(canvas)
            if legend in canvas.legends and ax.axison and meet(frame, ax.bbox)
        ]
    return out + foreign(canvas, inner)


def foreign(canvas: Figure, inner: dict[int, Bbox]) -> Iterator[str] | list[str]:
    """Texts of one panel that lie inside another."""
    out = []
    for one in shown_axes(canvas):
        for other in shown_axes(canvas):
            nested = meet(core(one.bbox), core(other.bbox))
            if one is other or not other.axison or nested:
                continue
            out += [
                f"{said(text)} lies in a neighbouring panel"
                for text in one.findobj(Text)
                if id(text) in inner and meet(inner[id(text)], other.bbox)
            ]
    return out


def core(b: Bbox) -> Bbox:
    """The box without the room that a font leaves around its letters."""
    across, up = min(1.0, b.width / 4), 0.15 * b.height
    return Bbox.from_extents(b.x0 + across, b.y0 + up, b.x1 - across, b.y1 - up)


def meet(one: Bbox, other: Bbox) -> bool:
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return wide > 0 and high > 0


# -------------------------------------------------------------------------- labels


def unlabelled(canvas: Figure) -> list[str]:
    """Axes without a label of symbol and word: their own, a neighbour's or a common."""
    common = {"x": canvas.get_supxlabel(), "y": canvas.get_supylabel()}
    out = []
    for ax in shown_axes(canvas):
        if not ax.axison:
            continue
        for which, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
            group = getattr(ax, f"get_shared_{which}_axes")().get_siblings(ax)
            labels = [getattr(one, f"{which}axis").label.get_text() for one in group]
            if any(map(has_label, [*labels, common[which]])):
                continue
            marks = tick_labels(axis)
            named = all(WORD.search(text.get_text()) for text in marks)
            if axis.label.get_text() or not named:
                place = ax.get_title() or ax.get_position().bounds
                given = axis.label.get_text()
                out.append(f"{which} of {place!r} needs symbol and word; got {given!r}")
    return out


def has_label(text: str) -> bool:
    return bool(SYMBOL.search(text) and WORD.search(SYMBOL.sub(" ", text)))


def unnumbered(canvas: Figure) -> list[str]:
    """Logarithmic axes with fewer than two numbers, their neighbours' included."""
    out = []
    for ax in shown_axes(canvas):
        for which in "xy" if ax.axison else "":
            group = getattr(ax, f"get_shared_{which}_axes")().get_siblings(ax)
            axes = [getattr(one, f"{which}axis") for one in group]
            most = max(len(tick_labels(axis)) for axis in axes)
            if axes[0].get_scale() == "log" and most < 2:
                place = ax.get_title() or ax.get_position().bounds
                out.append(f"{which} of {place!r} needs two numbers; it has {most}")
    return out


# ------------------------------------------------------------------------- colours


def other_colours(canvas: Figure) -> list[str]:
    """Lines named after an algorithm in another colour than its own."""
    looks = [style.look(name) for name in member_names("flverify.algorithms")]
    looks.sort(key=lambda look: len(look.label))  # the longest name decides
    handles = [line for one in canvas.findobj(Legend) for line in pairs(one)]
    handles += [(line.get_label(), line) for line in canvas.findobj(Line2D)]
    out = []
    for label, line in handles:
        known = [look for look in looks if str(label).startswith(look.label)]
        if known and not same_color(line.get_color(), known[-1].colour):
            out.append(f"{label!r} is {line.get_color()}, not {known[-1].colour}")
    return out


def pairs(legend: Legend) -> Iterator[tuple[str, Line2D]]:
    for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
        if isinstance(handle, Line2D):
            yield text.get_text(), handle


def typed_colours(path: Path) -> list[str]:
    """Colours typed in as hexadecimal numbers or by matplotlib's cycle."""
    typed = re.compile(r"#[0-9A-Fa-f]{3,8}|C\d|tab:\w+")
    return [
        f"{path.name}, line {node.lineno}: {node.value!r}; take it from look()"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and typed.fullmatch(node.value)
    ]


# ------------------------------------------------------------------------- captions


def unsaid(figure: Any, caption: str, known: dict[str, Any]) -> list[str]:
    """What a caption must say and does not: title, numbers, scope, verdicts."""
    text = squeezed(caption)
    wanted = [figure.TITLE, "Scope"]
    wanted += [f"{claim}: {known[claim]['verdict']}" for claim in figure.CLAIMS]
    out = [one for one in wanted if squeezed(one) not in text]
    return out + ([] if re.search(r"\d", caption) else ["the numbers of the setting"])


def squeezed(text: str) -> str:
    """Without spaces: a line may break anywhere."""
    return "".join(text.split())

"""Tables and progress: framed and coloured on a terminal, plain text in a pipe."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import click
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.table import Column, Table
from rich.text import Text

WIDTH = 100  # columns in a pipe: the same everywhere, so that output repeats
KEEP = 44  # widest entry of a column that is kept on one line, and widest whole word
LEAST = 12  # of a column beside the kept ones
GAP = 2  # between columns; a frame adds one

Cell: TypeAlias = str | Text


def table(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], keep: int = 1
) -> None:
    """Print a table to the standard output; text wraps and is never cut off.

    Parameters
    ----------
    headings : sequence of str
        One per column; all empty for a table without headings.
    rows : sequence of rows of cells
    keep : int
        How many of the first columns stay on one line where that is possible.
    """
    terminal = is_terminal(sys.stdout)
    made = Table(
        box=box.SIMPLE_HEAD if terminal else None,
        show_header=any(headings),
        show_edge=False,
        pad_edge=False,
        padding=(0, 1),
        header_style="bold",
    )
    natural = [
        max(len(heading), *(cell_len(str(row[place])) for row in rows), 1)
        for place, heading in enumerate(headings)
    ]
    words = [
        max(_longest_word(str(cell)) for cell in column)
        for column in zip(headings, *rows, strict=True)
    ]
    width, gap = (Console().width, GAP + 1) if terminal else (WIDTH, GAP)
    room = width - gap * len(natural)
    # said to rich in full, since its own shrinking may cut off a last character
    for heading, one in zip(headings, widths(natural, room, keep, words), strict=True):
        made.add_column(Text(heading), overflow="fold", width=one)
    for row in rows:
        made.add_row(*(Text(c) if isinstance(c, str) else c for c in row))
    _print(made, terminal)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=1)


def widths(
    natural: Sequence[int], room: int, keep: int, words: Sequence[int] = ()
) -> list[int]:
    """Share room among columns: the kept ones first, the others as even as can be.

    Where the kept ones do not fit, no word is split if that is possible, and else none
    of the first column.

    Examples
    --------
    >>> widths([10, 200, 5, 200], room=100, keep=1)
    [10, 42, 5, 43]
    >>> widths([90, 90], room=100, keep=2)
    [44, 44]
    >>> widths([20, 15, 15], room=40, keep=3, words=[20, 8, 8])
    [20, 10, 10]
    """
    kept = [min(one, KEEP) for one in natural[:keep]]
    if sum(kept) + LEAST * (len(natural) - keep) > room:
        return _shared(natural, room, _whole(words, room) if words else ())
    return [*kept, *_shared(natural[keep:], room - sum(kept))]


def _whole(words: Sequence[int], room: int) -> list[int]:
    """Return least widths: for whole words everywhere, else in the first column."""
    least = [min(word, KEEP) for word in words]
    if sum(least) <= room:
        return least
    first = least[0] if 2 * least[0] <= room else 1
    return [first, *[1] * (len(least) - 1)]


def _shared(natural: Sequence[int], room: int, least: Sequence[int] = ()) -> list[int]:
    """Give every column what it needs or an equal share of what is left."""
    out = list(least) or [1] * len(natural)
    room -= sum(out)
    by_need = sorted(range(len(natural)), key=lambda k: natural[k] - out[k])
    for done, place in enumerate(by_need):
        part = min(natural[place] - out[place], room // (len(natural) - done))
        out[place] += max(0, part)
        room -= max(0, part)
    return out


def fields(pairs: Sequence[tuple[str, Cell]]) -> None:
    """Print labels with their texts, one below the other."""
    table(("", ""), pairs)


def line(text: str = "") -> None:
    """Print a paragraph to the standard output, wrapped."""
    _print(Text(text, overflow="fold"), is_terminal(sys.stdout))


def whole(lines: Sequence[str]) -> None:
    """Print lines that are copied, such as commands: never wrapped, however long."""
    for text in lines:
        click.echo(text)


def remarks(notes: Sequence[str]) -> None:
    """Print notes below a report."""
    if notes:
        line()
    for note in notes:
        line(f"note: {note}")


class Begin:
    """What a progress bar is told; without a bar nothing is shown.

    Parameters
    ----------
    move : callable, optional
        Told how many parts to go on, and what to show beside the bar.
    """

    def __init__(self, move: Callable[[int, str], object] | None = None) -> None:
        self._move, self._begun = move, 0

    def __call__(self, name: str) -> None:
        """Begin a part."""
        if self._move is not None:
            self._move(min(self._begun, 1), name)
        self._begun += 1

    def at(self, place: str) -> None:
        """Say where in a part the work is."""
        if self._move is not None:
            self._move(0, place)


@contextmanager
def progress(label: str, total: int) -> Iterator[Begin]:
    """Show a progress bar on the standard error if that is a terminal.

    Yields
    ------
    begin : Begin
        To be called with the name of every part as it begins.
    """
    if not is_terminal(sys.stderr):
        yield Begin()
        return
    columns = (  # where there is little room the last gives way, and no other
        TextColumn(label),
        BarColumn(bar_width=30, table_column=Column(no_wrap=True)),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        Elapsed(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[part]}", markup=False, table_column=Column()),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, part="")
        yield Begin(lambda count, name: bar.update(task, advance=count, part=name))


def _print(shown: Table | Text, terminal: bool) -> None:
    if terminal:
        Console(highlight=False).print(shown)
        return
    page = io.StringIO()
    Console(file=page, width=WIDTH, color_system=None, highlight=False).print(shown)
    text = "\n".join(part.rstrip() for part in page.getvalue().splitlines())
    click.echo(text)


def is_terminal(stream: object) -> bool:
    """Whether a stream is a terminal; one that is closed is none."""
    return bool(getattr(stream, "isatty", lambda: False)())

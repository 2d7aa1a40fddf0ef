"""Find the figures, compute their tables and draw them into files.

A file of figures/ is a figure: NAME, TITLE, SIZE and CLAIMS, `table(quick)` computes a
table, `draw(figure, table)` only draws it, `caption(table)` says setting, verdict and
scope, and `read(path)` reads the table back from its CSV file.
"""

from __future__ import annotations

import ast
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol, cast

from matplotlib.figure import Figure

from flverify._core.checks import choice
from flverify._core.errors import FormatError, InputError, UnknownNameError
from flverify._core.sentences import nearest
from flverify._core.shipped import shipped_folder
from flverify._core.shown import shown
from flverify._core.source_files import run_file
from flverify.claims import ledger_file
from flverify.engines.own_rounds import failing
from flverify.report import style
from flverify.report.files import filling, require_folder


class Table(Protocol):
    """What a figure is drawn from: frozen, typed, one CSV file."""

    def write_csv(self, path: Path) -> None:
        """Write the table whole."""


class FigureFile(Protocol):
    """What a file of figures/ defines."""

    NAME: str
    TITLE: str
    SIZE: tuple[float, float]  # inches: width and height
    CLAIMS: tuple[str, ...]  # of the ledger, whose verdicts the caption gives

    def table(self, quick: bool) -> Any:
        """Compute the table; quick: of a small problem of the same kind."""

    def read(self, path: Path) -> Any:
        """Read the table back from its CSV file."""

    def draw(self, figure: Figure, table: Any) -> None:
        """Draw the table into an empty figure, computing nothing."""

    def caption(self, table: Any) -> str:
        """Say setting, verdict and scope."""


def figures_folder() -> Path:
    """Folder of the shipped figures: inside a wheel, or beside a checkout.

    Raises
    ------
    UnknownNameError
        If neither exists.
    """
    return shipped_folder("figures")


def find_figures() -> dict[str, Path]:
    """Return the file of each figure, by name."""
    files = sorted(figures_folder().glob("[!_]*.py"))
    return {path.stem: path for path in files}


def find_titles() -> dict[str, str]:
    """Return the title of each figure, by name, without importing any of them.

    Raises
    ------
    FormatError
        If a file does not set TITLE to a text.
    """
    return {name: _title(path) for name, path in find_figures().items()}


def _title(path: Path) -> str:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise FormatError(
            f"{path.name} must be Python; {error}; mend it or move it away."
        ) from error
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [one.id for one in node.targets if isinstance(one, ast.Name)]
            if "TITLE" in names and isinstance(node.value.value, str):
                return node.value.value
    raise FormatError(
        f"{path.name} must set TITLE to a text; it does not; add it or move it away."
    )


def load_figure(name: str, file: Path | None = None) -> FigureFile:
    """Import one figure.

    Parameters
    ----------
    name : str
        A figure of `find_figures()`, if no file is given.
    file : path, optional
        A figure of one's own: a file like those of figures/.

    Raises
    ------
    UnknownNameError
        If there is no such figure.
    InputError
        If a file of one's own cannot be read or run.
    FormatError
        If its file does not define what a figure needs.
    """
    path = _own(file) if file else _shipped(name)
    with failing(str(path)) if file else nullcontext():
        module = run_file(path, f"flverify_figure_{name}")
    needed = [*FigureFile.__annotations__, "table", "read", "draw", "caption"]
    missing = [one for one in needed if not hasattr(module, one)]
    if missing:
        raise FormatError(
            f"{path.name} must define {', '.join(needed)}; it lacks "
            f"{', '.join(missing)}; add them."
        )
    _require_size(path, module.SIZE)
    _require_claims(path, module.CLAIMS)
    return cast("FigureFile", module)


def _shipped(name: str) -> Path:
    known = find_figures()
    if name not in known:
        raise UnknownNameError(
            f"a figure must be one of {', '.join(known)}; got {name!r}; "
            f"{nearest(name, known, 'pick one')}, or name a file of your own with "
            "--file."
        )
    return known[name]


def _own(file: Path) -> Path:
    if file.suffix != ".py" or not file.is_file():
        raise InputError(
            f"a figure of your own must be a file that ends with .py; got {str(file)!r}"
            "; name another."
        )
    return file


def stored_csv(name: str) -> Path:
    """Return the path of a figure's stored table, figures/data/NAME.csv."""
    return figures_folder() / "data" / f"{name}.csv"


def make(
    name: str,
    out: Path,
    format: str = "pdf",  # noqa: A002 - the word of matplotlib and the command line
    quick: bool = False,
    stored: bool = False,
    file: Path | None = None,
) -> list[Path]:
    """Compute a figure's table and write it as CSV, picture and caption.

    Parameters
    ----------
    name : str
        A figure of `find_figures()`, or what files of one's own are to be called.
    out : path
        Folder that receives NAME.csv, NAME.FORMAT and NAME.txt; made if absent.
    format : {"pdf", "png", "svg"}
        Format of the picture.
    quick : bool
        Compute a small problem of the same kind instead of the printed sizes.
    stored : bool
        Compute nothing: draw the table that ships as figures/data/NAME.csv.
    file : path, optional
        A figure of one's own: a file like those of figures/.

    Returns
    -------
    paths : list of path
        The files written, each whole or not at all.

    Raises
    ------
    UnknownNameError
        If there is no such figure.
    DomainError
        If the format is unknown.
    InputError
        If `out` is not a folder, or quick and stored are both asked for.
    FormatError
        If the stored table is missing or damaged.
    """
    choice(format, "format", style.FORMATS)
    if quick and stored:
        raise InputError(
            "a figure must be quick or stored; got both; the stored table is the "
            "full one."
        )
    figure = load_figure(name, file)
    folder = Path(out)
    paths = [folder / f"{name}.{end}" for end in ("csv", format, "txt")]
    _require_room(paths)
    with failing(str(file)) if file else nullcontext():
        table = figure.read(stored_csv(name)) if stored else figure.table(quick)
        _write_all(figure, table, paths, format)
    return paths


def _require_size(path: Path, size: object) -> None:
    pair = size if isinstance(size, tuple) and len(size) == 2 else ()
    if not pair or not all(isinstance(v, int | float) and 0 < v < 100 for v in pair):
        raise FormatError(
            f"SIZE of {path.name} must be a width and a height in inches; got "
            f"{shown(size)}; write for example (3.3, 2.4)."
        )


def _require_claims(path: Path, named: object) -> None:
    """Check that a figure names claims that have a verdict, by a tuple of texts."""
    listed = list(named) if isinstance(named, tuple | list) else [named]
    known = ledger_file.read(shipped_folder("proofs") / "ledger.toml")
    wrong = [one for one in listed if not isinstance(one, str) or one not in known]
    if wrong or not isinstance(named, tuple | list):
        raise FormatError(
            f"CLAIMS of {path.name} must be a tuple of claims with a shipped verdict, "
            f"as `flverify list` tells them; got {shown((wrong or listed)[0])}; name "
            "others, or none: ()."
        )


def render(figure: FigureFile, table: Any, path: Path, kind: str) -> None:
    """Draw a table in the house style into one file."""
    width, height = figure.SIZE
    with style.house_style():
        canvas = style.new_figure(height, width)
        figure.draw(canvas, table)
        style.save(canvas, path, kind)


def _require_room(paths: list[Path]) -> None:
    """Check, before a long computation, that the files can be written."""
    require_folder(paths[0].parent)
    for path in paths:
        if path.is_dir():
            raise InputError(
                f"{path} must be free for a file; it is a folder; move it away or name "
                "another --out."
            )


def _write_all(figure: FigureFile, table: Any, paths: list[Path], kind: str) -> None:
    """Write table, picture and caption: all three, or none and no new folder."""
    with filling(paths[0].parent) as scratch:
        parts = [scratch / path.name for path in paths]
        if not callable(getattr(table, "write_csv", None)):
            raise FormatError(
                f"table() of {figure.NAME} must return a table with write_csv, as a "
                f"RowTable is; got {shown(table)}; mend it."
            )
        table.write_csv(parts[0])
        render(figure, table, parts[1], kind)
        caption = figure.caption(table)
        if not isinstance(caption, str):
            raise FormatError(
                f"caption() of {figure.NAME} must return a text; got {shown(caption)}; "
                "mend it."
            )
        parts[2].write_text(caption + "\n", encoding="utf-8")
        for part, path in zip(parts, paths, strict=True):
            part.replace(path)

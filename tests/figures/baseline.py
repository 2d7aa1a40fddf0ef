"""Write what the contract suite compares a figure with.

    python -m tests.figures.baseline NAME ...

writes figures/baseline/NAME_quick.csv, the quick table, and NAME.png, its picture in
few pixels. Look at the picture before it is kept.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

from flverify.report import figures, style

FOLDER = figures.figures_folder() / "baseline"
DPI = 80  # few pixels: what moves is seen, and the files stay small


def table_path(name: str) -> Path:
    return FOLDER / f"{name}_quick.csv"


def picture_path(name: str) -> Path:
    return FOLDER / f"{name}.png"


def drawn_with() -> str:
    """The program that places text: another release may move it by a pixel."""
    return "matplotlib " + ".".join(mpl.__version__.split(".")[:2])


def write_picture(figure: Any, table: Any, path: Path) -> None:
    width, height = figure.SIZE
    with style.house_style():
        canvas = style.new_figure(height, width)
        figure.draw(canvas, table)
        canvas.savefig(path, dpi=DPI, metadata={"Software": drawn_with()})


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        figure = figures.load_figure(name)
        table = figure.table(True)
        table.write_csv(table_path(name))
        write_picture(figure, table, picture_path(name))


if __name__ == "__main__":
    main(sys.argv[1:])

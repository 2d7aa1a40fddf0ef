"""What holds for every figure of figures/: run on whatever is found there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.testing.compare import compare_images
from PIL import Image

from flverify.claims import ledger_file
from flverify.claims.registry import proofs_folder
from flverify.report import figures, style
from tests.contracts import figure_rules as rules
from tests.figures import baseline

NAMES = list(figures.find_figures())
TOLERANCE = 2.0  # root mean square over the picture, of 255
MAKE = "make it with `python -m tests.figures.baseline {}` and look at it"
STARTS = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<?xml"}

every_figure = pytest.mark.parametrize("name", NAMES)
VERDICTS = ledger_file.read(proofs_folder() / "ledger.toml")


@cache
def figure_of(name: str) -> Any:
    return figures.load_figure(name)


@cache
def quick_table(name: str) -> Any:
    return figure_of(name).table(True)


@cache
def stored_table(name: str) -> Any:
    path = figures.stored_csv(name)
    if not path.exists():
        pytest.fail(
            f"figures/data/{name}.csv is missing; make it with `flverify figure {name}`"
        )
    return figure_of(name).read(path)


@cache
def picture(name: str, which: str) -> Any:
    """The drawn quick or stored table, with pixels to measure."""
    table = {"quick": quick_table, "stored": stored_table}[which](name)
    return rules.drawn(figure_of(name), table)


def needed(path: Path, name: str) -> Path:
    if not path.exists():
        pytest.fail(
            f"figures/baseline/{path.name} is missing; {MAKE.format(name)}",
            pytrace=False,
        )
    return path


def written(table: Any, path: Path) -> list[list[str]]:
    table.write_csv(path)
    return rules.lines_of(path)


# -------------------------------------------------------------------------- tables


@every_figure
def test_a_figure_says_what_it_is(name: str) -> None:
    figure = figure_of(name)
    assert name == figure.NAME
    assert figures.find_titles()[name] == figure.TITLE
    assert "\n" not in figure.TITLE
    assert not figure.TITLE.endswith(".")
    width, height = figure.SIZE
    assert width in (style.PAGE, style.COLUMN)
    assert height <= 9.0
    assert figure.CLAIMS
    assert set(figure.CLAIMS) <= set(VERDICTS)


@every_figure
def test_the_quick_table_is_the_stored_one(name: str, tmp_path: Path) -> None:
    stored = needed(baseline.table_path(name), name)
    found = written(quick_table(name), tmp_path / "t.csv")
    assert not rules.differences(found, rules.lines_of(stored))


@pytest.mark.one_in(3)
@every_figure
@pytest.mark.parametrize("line", [1, -1])
def test_a_planted_change_is_noticed(name: str, line: int, tmp_path: Path) -> None:
    table = written(quick_table(name), tmp_path / "t.csv")
    for column, value in enumerate(table[line]):
        planted = [list(row) for row in table]
        planted[line][column] = moved(value)
        assert len(rules.differences(table, planted)) == 1, table[0][column]
    assert rules.differences(table, table[:-1])


def moved(value: str) -> str:
    try:
        number = float(value)
    except ValueError:
        return value + "x"
    return repr(number * (1 + 1e-7) + 1e-12)


@pytest.mark.one_in(4)
@every_figure
@pytest.mark.parametrize("table_of", [quick_table, stored_table])
def test_a_round_trip_through_the_file_keeps_the_table(
    name: str, table_of: Callable[[str], Any], tmp_path: Path
) -> None:
    first = written(table_of(name), tmp_path / "1.csv")
    assert len(first) > 1
    again = written(figure_of(name).read(tmp_path / "1.csv"), tmp_path / "2.csv")
    assert not rules.differences(again, first)


# ------------------------------------------------------------------------- pictures


# every format once, of what is drawn soon; the others are slow
SOON = dict(zip(style.FORMATS, ("fig1", "fig2", "fig7"), strict=True))
DRAWN = [
    pytest.param(name, kind, marks=[] if SOON[kind] == name else pytest.mark.slow)
    for name in NAMES
    for kind in style.FORMATS
]


def test_every_format_is_drawn_twice() -> None:
    assert set(SOON.values()) <= set(NAMES)


@pytest.mark.parametrize(("name", "kind"), DRAWN)
def test_the_stored_table_is_drawn_and_the_bytes_repeat(
    name: str, kind: str, tmp_path: Path
) -> None:
    figure, table = figure_of(name), stored_table(name)
    paths = []
    for size in (10.0, 14.0):  # a user's own settings change nothing
        paths.append(tmp_path / f"{size}.{kind}")
        with mpl.rc_context({"font.size": size, "axes.grid": False}):
            figures.render(figure, table, paths[-1], kind)
    assert len(list(tmp_path.iterdir())) == 2  # nothing half-written stays
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(STARTS[kind])
    assert first == second


@pytest.mark.one_in(3)
@every_figure
def test_drawing_computes_nothing(name: str) -> None:
    figure, table = figure_of(name), stored_table(name)
    assert not rules.computing(lambda: rules.laid_out(figure, table))


@pytest.mark.one_in(4)
@every_figure
@pytest.mark.parametrize("which", ["quick", "stored"])
def test_everything_can_be_read(name: str, which: str) -> None:
    canvas = picture(name, which)
    assert not rules.unlabelled(canvas)
    assert not rules.unnumbered(canvas)
    assert not rules.outside(canvas)
    assert not rules.overlaps(canvas)


@pytest.mark.one_in(3)
@every_figure
def test_algorithms_have_their_own_colours(name: str) -> None:
    assert not rules.other_colours(picture(name, "stored"))
    assert not rules.typed_colours(figures.find_figures()[name])


@every_figure
def test_the_picture_is_the_one_that_was_looked_at(name: str, tmp_path: Path) -> None:
    known = needed(baseline.picture_path(name), name)
    with Image.open(known) as image:
        drawn_with = image.info.get("Software")
    if drawn_with != baseline.drawn_with():
        pytest.skip(f"the picture was drawn with {drawn_with}")
    found = tmp_path / f"{name}.png"
    baseline.write_picture(figure_of(name), quick_table(name), found)
    told = compare_images(str(known), str(found), TOLERANCE)
    assert told is None, f"{told}; if it is meant, {MAKE.format(name)}"


# ------------------------------------------------------------------------- captions


@every_figure
@pytest.mark.parametrize("table_of", [quick_table, stored_table])
def test_the_caption_says_setting_scope_and_verdicts(
    name: str, table_of: Callable[[str], Any]
) -> None:
    figure = figure_of(name)
    assert not rules.unsaid(figure, figure.caption(table_of(name)), VERDICTS)


@every_figure
def test_verdicts_are_read_from_the_ledger(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = {claim: {"verdict": f"PLANTED-{at}"} for at, claim in enumerate(VERDICTS)}
    monkeypatch.setattr(ledger_file, "read", lambda _: planted)
    figure = figure_of(name)
    assert not rules.unsaid(figure, figure.caption(stored_table(name)), planted)

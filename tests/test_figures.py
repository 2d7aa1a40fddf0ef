"""Figures: the house style, how they are found, made and written."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flverify._core import shipped
from flverify._core.catalogue import member_names
from flverify._core.errors import (
    DomainError,
    FormatError,
    InputError,
    UnknownNameError,
)
from flverify.report import figures, style
from flverify.report.curves import read_csv, thinned

FOLDER = figures.figures_folder()


def test_every_algorithm_has_a_look_of_its_own():
    looks = [style.look(name) for name in member_names("flverify.algorithms")]
    for part in ("label", "colour", "marker"):
        assert len({getattr(one, part) for one in looks}) == len(looks)
    with pytest.raises(DomainError, match="algorithm must be one of"):
        style.look("sgd")


def test_an_algorithm_without_a_look_gets_a_spare_one(monkeypatch):
    known = (*member_names("flverify.algorithms"), "newcomer", "other")
    monkeypatch.setattr(style, "member_names", lambda _: known)
    one, other = style.look("newcomer"), style.look("other")
    assert one.label == "newcomer"
    assert one.colour != other.colour
    assert one.line["linestyle"] != "-"


def test_figures_are_found():
    assert figures.find_figures()["fig4"] == FOLDER / "fig4.py"
    with pytest.raises(UnknownNameError, match=r"must be one of .*fig4.*'fig40'"):
        figures.load_figure("fig40")


def test_a_folder_of_figures_must_exist(monkeypatch, tmp_path):
    monkeypatch.setattr(shipped, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    with pytest.raises(UnknownNameError, match="reinstall"):
        figures.figures_folder()


def test_a_file_that_is_no_figure_is_refused(monkeypatch, tmp_path):
    (tmp_path / "empty.py").write_text("NAME = 'empty'\n")
    monkeypatch.setattr(figures, "figures_folder", lambda: tmp_path)
    with pytest.raises(FormatError, match="it lacks TITLE, SIZE, CLAIMS, table"):
        figures.load_figure("empty")


# -------------------------------------------------------------------------- titles


def test_titles_are_read_without_importing(monkeypatch, tmp_path):
    (tmp_path / "one.py").write_text("TITLE = 'One'\nraise SystemExit\n")
    monkeypatch.setattr(figures, "figures_folder", lambda: tmp_path)
    assert figures.find_titles() == {"one": "One"}


@pytest.mark.parametrize("text", ["X = 1\n", "TITLE = 3\n", "A = TITLE = f'{1}'\n"])
def test_a_figure_without_a_title_is_named(monkeypatch, tmp_path, text):
    (tmp_path / "one.py").write_text(text)
    monkeypatch.setattr(figures, "figures_folder", lambda: tmp_path)
    with pytest.raises(FormatError, match=r"one\.py must set TITLE"):
        figures.find_titles()


@pytest.mark.parametrize("content", [b"TITLE = (", b"TITLE = '\xff'"])
def test_a_figure_that_is_no_python_is_named(monkeypatch, tmp_path, content):
    (tmp_path / "one.py").write_bytes(content)
    monkeypatch.setattr(figures, "figures_folder", lambda: tmp_path)
    with pytest.raises(FormatError, match=r"one\.py must be Python"):
        figures.find_titles()


# -------------------------------------------------------------------------- making


class Table:
    """A table of one number, which says how it was computed."""

    def __init__(self, text):
        self.text = text

    def write_csv(self, path):
        path.write_text(self.text)


def tiny(**changes):
    """A figure that makes small files."""
    parts = {
        "SIZE": (style.COLUMN, 2.0),
        "table": lambda quick: Table("quick" if quick else "full"),
        "read": lambda path: Table(f"stored {path.read_text()}"),
        "draw": lambda figure, _: figure.subplots(),
        "caption": lambda table: f"caption of {table.text}",
    }
    return SimpleNamespace(**{**parts, **changes})


@pytest.fixture
def load(monkeypatch):
    """Put a figure in the place of whatever is asked for."""
    return lambda one: monkeypatch.setattr(figures, "load_figure", lambda *_: one)


def contents(folder):
    return sorted(path.name for path in folder.iterdir())


def test_make_writes_table_picture_and_caption(load, tmp_path):
    load(tiny())
    out = tmp_path / "new" / "deep"
    paths = figures.make("tiny", out, "svg", quick=True)
    assert [path.name for path in paths] == ["tiny.csv", "tiny.svg", "tiny.txt"]
    assert contents(out) == sorted(path.name for path in paths)
    assert paths[0].read_text() == "quick"
    assert paths[2].read_text() == "caption of quick\n"


def test_make_draws_the_stored_table_without_computing(load, monkeypatch, tmp_path):
    def refuse(quick):
        raise AssertionError(f"a table was computed (quick={quick})")

    load(tiny(table=refuse))
    (tmp_path / "stored.csv").write_text("numbers")
    monkeypatch.setattr(figures, "stored_csv", lambda _: tmp_path / "stored.csv")
    paths = figures.make("tiny", tmp_path / "out", "png", stored=True)
    assert paths[0].read_text() == "stored numbers"


def test_files_of_before_are_replaced(load, tmp_path):
    load(tiny())
    (tmp_path / "tiny.csv").write_text("old")
    (tmp_path / "other.txt").write_text("kept")
    figures.make("tiny", tmp_path, "png")
    assert (tmp_path / "tiny.csv").read_text() == "full"
    assert contents(tmp_path) == ["other.txt", "tiny.csv", "tiny.png", "tiny.txt"]


def broken(*_):
    raise RuntimeError("broken")


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("part", ["table", "draw", "caption"])
@pytest.mark.parametrize("how", [broken, interrupted])
def test_a_failure_leaves_nothing_behind(load, tmp_path, part, how):
    load(tiny(**{part: how}))
    out = tmp_path / "new" / "deep"
    with pytest.raises((RuntimeError, KeyboardInterrupt)):
        figures.make("tiny", out, "png")
    assert contents(tmp_path) == []
    (tmp_path / "tiny.csv").write_text("old")
    with pytest.raises((RuntimeError, KeyboardInterrupt)):
        figures.make("tiny", tmp_path, "png")
    assert contents(tmp_path) == ["tiny.csv"]
    assert (tmp_path / "tiny.csv").read_text() == "old"


def test_make_refuses_bad_input(load, tmp_path):
    load(tiny(table=broken))  # whatever is refused is refused before computing
    with pytest.raises(DomainError, match="format must be one of pdf, png, svg"):
        figures.make("tiny", tmp_path, "jpg")
    with pytest.raises(InputError, match="quick or stored"):
        figures.make("tiny", tmp_path, quick=True, stored=True)
    occupied = tmp_path / "file"
    occupied.write_text("")
    for out in (occupied, occupied / "inside"):
        with pytest.raises(InputError, match="must be a folder"):
            figures.make("tiny", out, quick=True)
    (tmp_path / "tiny.txt").mkdir()
    with pytest.raises(InputError, match=r"tiny\.txt must be free for a file"):
        figures.make("tiny", tmp_path)
    with pytest.raises(DomainError, match="format must be one of"):
        style.save(style.new_figure(1.0), tmp_path / "x.gif", "gif")
    assert contents(tmp_path) == ["file", "tiny.txt"]


def test_a_missing_stored_table_makes_no_folder(load, monkeypatch, tmp_path):
    load(tiny(read=read_csv))
    monkeypatch.setattr(figures, "stored_csv", lambda _: tmp_path / "nothing.csv")
    with pytest.raises(FormatError, match="must be a table with"):
        figures.make("tiny", tmp_path / "out", stored=True)
    assert contents(tmp_path) == []


# -------------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n",
        "row,panel,algorithm,kind,round,error,lower,upper\nr,p,a,k,1,2,3\n",
        "row,panel,algorithm,kind,round,error,lower,upper\nr,p,a,k,one,2,3,4\n",
    ],
)
def test_a_damaged_table_is_refused(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"t\.csv must be a table with"):
        read_csv(path)


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(FormatError, match="must be a table with"):
        read_csv(tmp_path / "nothing.csv")


def test_thinned_rounds_keep_both_ends():
    assert thinned(500, 61)[0] == 0
    assert thinned(500, 61)[-1] == 500
    assert len(thinned(500, 61)) <= 62
    assert thinned(0, 5) == (0,)

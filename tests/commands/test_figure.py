"""`flverify figure`: the list, the files it writes, and bad input."""

from __future__ import annotations

import pytest

from flverify.report import figures

TINY = """
from flverify.report.style import COLUMN

NAME = "tiny"
TITLE = "a line"
SIZE = (COLUMN, 2.0)


class Table:
    def __init__(self, values):
        self.values = values

    def write_csv(self, path):
        path.write_text("\\n".join(map(str, self.values)))


def table(quick):
    return Table([1, 2] if quick else [1, 2, 3])


def read(path):
    return Table([int(line) for line in path.read_text().split()])


def draw(figure, table):
    figure.subplots().plot(table.values)


def caption(table):
    return f"{len(table.values)} points"
"""


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A folder with one small figure in place of the shipped ones."""
    folder = tmp_path / "figures"
    folder.mkdir()
    (folder / "tiny.py").write_text(TINY)
    monkeypatch.setattr(figures, "figures_folder", lambda: folder)
    return folder


def test_the_list_has_the_figures_of_the_folder(run, tiny):
    assert "tiny    a line" in run("figure", "--list").stdout
    found = run("figure", "--list", "--json").json
    assert found["format"] == "flverify/figures"
    assert found["figures"] == [{"name": "tiny", "title": "a line"}]


def test_the_shipped_figure_is_listed(run):
    names = [one["name"] for one in run("figure", "--list", "--json").json["figures"]]
    assert "fig4" in names


@pytest.mark.parametrize("kind", ["pdf", "png", "svg"])
def test_table_picture_and_caption_are_written(run, tiny, tmp_path, kind):
    out = tmp_path / "out"
    ran = run("figure", "tiny", "--out", out, "--format", kind, "--quick")
    assert ran.code == 0
    assert {path.name for path in out.iterdir()} == {
        "tiny.csv",
        f"tiny.{kind}",
        "tiny.txt",
    }
    assert (out / "tiny.csv").read_text() == "1\n2"
    assert ran.stdout.count("wrote ") == 3


def test_as_json_the_files_are_named(run, tiny, tmp_path):
    found = run("figure", "tiny", "--out", tmp_path / "out", "--json").json
    assert found["format"] == "flverify/figure"
    assert found["title"] == "a line"
    assert found["files"][0] == str(tmp_path / "out" / "tiny.csv")


def test_bad_input(fails, tiny, tmp_path):
    assert "got neither" in fails("figure")
    assert "got both" in fails("figure", "tiny", "--list")
    assert "must be one of tiny" in fails("figure", "nope")
    assert "is not one of" in fails("figure", "tiny", "--format", "bmp")
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert "folder" in fails("figure", "tiny", "--out", blocked)
    assert "stored" in fails("figure", "tiny", "--quick", "--stored")

"""`flverify figure`: the list, the files it writes, and bad input."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from flverify.cli import main
from flverify.report import figures

TINY = """
from flverify._core.errors import FormatError
from flverify.report.style import COLUMN

NAME = "tiny"
TITLE = "a line"
CLAIMS = ()
SIZE = (COLUMN, 2.0)


class Table:
    def __init__(self, values):
        self.values = values

    def write_csv(self, path):
        path.write_text("\\n".join(map(str, self.values)))


def table(quick):
    return Table([1, 2] if quick else [1, 2, 3])


def read(path):
    if not path.exists():
        raise FormatError("tiny.csv must be a table with numbers; it is missing.")
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
    found = run("figure", "--list", "--json").json
    assert found["format"] == "flverify/figures"
    assert found["figures"] == [{"name": "tiny", "title": "a line"}]


def test_in_a_pipe_each_figure_is_one_plain_line(run, tiny):
    (tiny / "a.py").write_text(f"TITLE = '{'long ' * 40}[b]end[/b]'\n")
    lines = run("figure", "--list").stdout.splitlines()
    assert lines == [f"a     {'long ' * 40}[b]end[/b]", "tiny  a line"]


def test_an_empty_folder_gives_no_line(run, tiny):
    (tiny / "tiny.py").unlink()
    assert run("figure", "--list").stdout == ""


LIST = "from flverify.cli import main; main(['figure', '--list'])"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
def test_on_a_terminal_the_list_is_a_framed_table():
    inside, outside = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-c", LIST]
    with subprocess.Popen(command, stdout=outside, env=environment) as process:
        os.close(outside)
        shown = b"".join(iter(lambda: read(inside), b"")).decode()
        os.close(inside)
    assert process.returncode == 0
    assert "figure" in shown.splitlines()[0]
    assert "─" in shown
    assert "fig4" in shown


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


def test_neither_a_wrong_name_nor_the_list_waits_for_the_provers():
    for words in (["nonsense"], ["--list"]):
        code = (
            "import sys; from flverify.cli import main\n"
            f"try: main({['figure', *words]!r})\n"
            "finally: print(*sys.modules)"
        )
        asked = [sys.executable, "-c", code]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        assert done.returncode == (0 if words == ["--list"] else 2)
        assert not {"sympy", "cvxpy", "z3"} & {*done.stdout.split()}


def test_a_list_that_nobody_reads_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)  # as where it is closed
    with pytest.raises(SystemExit) as ended:
        main.main(["figure", "--list"])
    assert ended.value.code == 0


def test_the_shipped_figures_are_listed(run):
    names = [one["name"] for one in run("figure", "--list", "--json").json["figures"]]
    assert {"fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7"} <= set(names)
    lines = run("figure", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == names


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
    taken = tmp_path / "taken"
    (taken / "tiny.csv").mkdir(parents=True)
    assert "folder" in fails("figure", "tiny", "--out", blocked)
    assert "stored" in fails("figure", "tiny", "--quick", "--stored")
    assert "must be a table with" in fails("figure", "tiny", "--stored")
    assert "must be free" in fails("figure", "tiny", "--out", taken)
    assert "--list must stand alone" in fails("figure", "--list", "--quick")
    assert "got --out, --format too" in fails(
        "figure", "--list", "--out", tmp_path, "--format", "pdf"
    )
    assert "No such option" in fails("figure", "tiny", "--dpi", "3")
    assert {path.name for path in tmp_path.iterdir()} == {"figures", "file", "taken"}
    assert [path.name for path in taken.iterdir()] == ["tiny.csv"]


def test_a_damaged_figure_is_named(fails, tiny):
    (tiny / "torn.py").write_text("TITLE = (")
    assert "torn.py must be Python" in fails("figure", "--list")
    (tiny / "torn.py").write_text("TITLE = 'torn'\n")
    assert "torn.py must define" in fails("figure", "torn")


@pytest.fixture
def mine(monkeypatch, tmp_path):
    """A figure of a user's own, in the folder where the command runs."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(TINY)
    return path


def test_a_figure_of_ones_own_is_drawn_from_its_file(run, mine):
    found = run("figure", "--file", mine, "--quick", "--format", "png", "--json").json
    assert (found["name"], found["title"]) == ("mine", "a line")
    assert sorted(found["files"]) == ["mine.csv", "mine.png", "mine.txt"]
    assert (mine.parent / "mine.txt").read_text() == "2 points\n"


@pytest.mark.parametrize("named", ["('focus.eq4.R',)", "['focus.eq4.R']"])
def test_a_figure_of_ones_own_may_name_claims(run, mine, named):
    mine.write_text(f"{TINY}\nCLAIMS = {named}\n")
    assert run("figure", "--file", mine, "--quick", "--format", "png").code == 0


def test_a_file_of_ones_own_stands_alone(fails, mine):
    assert "got NAME fig1 too" in fails("figure", "fig1", "--file", mine)
    assert "got --stored too" in fails("figure", "--file", mine, "--stored")
    assert "got both" in fails("figure", "--list", "--file", mine)
    assert "that ends with .py" in fails("figure", "--file", "absent.py")
    assert "that ends with .py" in fails("figure", "--file", mine.parent)
    assert [path.name for path in mine.parent.iterdir()] == ["mine.py"]


BROKEN = {
    "no Python": ("def", "mine.py must run without an error; .* raised SyntaxError"),
    "import": ("1 / 0", "line 1 of .*mine.py raised ZeroDivisionError"),
    "nothing": ("", "mine.py must define NAME"),
    "table": (f"{TINY}\ndef table(quick): 1 / 0", "mine.py raised ZeroDivisionError"),
    "draw": (f"{TINY}\ndef draw(*_): 1 / 0", "mine.py raised ZeroDivisionError"),
    "caption": (f"{TINY}\ndef caption(_): 1 / 0", "mine.py raised ZeroDivisionError"),
    "syntax": ("\ndef (", "line 2 of .*mine.py raised SyntaxError: invalid syntax;"),
    "zeros": ("\0", "mine.py must run without an error; it raised SyntaxError"),
    "exit": (f"{TINY}\nraise SystemExit(3)", "mine.py raised SystemExit: 3"),
    "size": (f"{TINY}\nSIZE = 3", "SIZE of mine.py must be a width and a height"),
    "sizes": (f"{TINY}\nSIZE = 3, 'x'", "SIZE of mine.py must be a width and a height"),
    "claim": (
        f"{TINY}\nCLAIMS = 'focus.eq4.R', 'no.such'",
        "verdict, .*; got 'no.such'",
    ),
    "one claim": (
        f"{TINY}\nCLAIMS = 'focus.eq4.R'",
        "CLAIMS of mine.py must be a tuple",
    ),
    "no claims": (f"{TINY}\nCLAIMS = None", "CLAIMS of mine.py .*; got None"),
    "numbers": (f"{TINY}\nCLAIMS = [[3]]", r"CLAIMS of mine.py .*; got \[3\]"),
    "no table": (
        f"{TINY}\ndef table(quick): pass",
        "must return a table with write_csv",
    ),
    "no caption": (f"{TINY}\ndef caption(_): pass", "must return a text; got None"),
    "absent": (f"{TINY}\nopen('no.csv')", "mine.py raised FileNotFoundError"),
}


@pytest.mark.parametrize(("text", "words"), BROKEN.values(), ids=BROKEN)
def test_what_a_figure_of_ones_own_raises_is_one_sentence(fails, mine, text, words):
    mine.write_text(text)
    assert re.search(words, fails("figure", "--file", mine, "--quick"))
    files = [path.name for path in mine.parent.iterdir() if path.is_file()]
    assert files == ["mine.py"]


FULL = """
def draw(*_):
    import errno
    raise OSError(errno.ENOSPC, "No space left on device")
"""


def test_a_full_disk_is_no_fault_of_the_file(fails, mine):
    mine.write_text(TINY + FULL)
    said = fails("figure", "--file", mine, "--quick")
    assert "is not: No space left on device" in said
    assert "mine.py" not in said
    assert [path.name for path in mine.parent.iterdir() if path.is_file()] == [
        mine.name
    ]

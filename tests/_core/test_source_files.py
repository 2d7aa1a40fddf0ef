"""Files are run as they stand, also where bytecode of an earlier version is kept."""

import os
import sys

import pytest

from flverify._core.errors import FormatError
from flverify._core.source_files import run_file
from flverify.claims.registry import load_file
from flverify.report.figures import load_figure

FIGURE = "\n".join(
    f"{name} = {value}"
    for name, value in {
        "NAME": "'mine'",
        "TITLE": "'Mine'",
        "SIZE": "(6.5, 3.0)",
        "CLAIMS": "('focus.thm1.sc',)",
        **dict.fromkeys(("table", "read", "draw", "caption"), "len"),
    }.items()
)
WAYS = {
    "file": (lambda path: run_file(path, "mine_for_once"), ""),
    "claims": (load_file, ""),
    "figure": (lambda path: load_figure("mine", path), FIGURE),
}


@pytest.mark.parametrize(("load", "more"), WAYS.values(), ids=WAYS)
def test_two_versions_of_one_size_and_second_are_told_apart(
    load, more, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    file = tmp_path / "mine.py"
    for value in (1, 2):
        file.write_text(f"VALUE = {value}\n{more}\n")
        os.utime(file, (0, 0))
        assert value == load(file).VALUE
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(("load", "more"), WAYS.values(), ids=WAYS)
def test_modules_beside_a_file_can_be_imported(load, more, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "only_beside_it.py").write_text("VALUE = 3")
    (tmp_path / "statistics.py").write_text("raise ImportError")
    file = tmp_path / "mine.py"
    file.write_text(f"import statistics\nfrom only_beside_it import VALUE\n{more}\n")
    assert load(file).VALUE == 3


ENDING = "import os\n\n\ndef stop():\n    os._exit(0)\n"
REWRITING = f"""import ast
from flverify._core.source_files import nodes_of

for node in nodes_of({ENDING.encode()!r}):
    if isinstance(node, ast.Call):
        node.func = ast.Name("print")
"""


def test_no_file_changes_what_the_next_one_is_searched_for(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text(REWRITING)
    second.write_text(ENDING)
    load_file(first)
    for _ in range(2):  # what was found is kept
        with pytest.raises(FormatError, match=r"second.py, line 5, ends the process"):
            load_file(second)

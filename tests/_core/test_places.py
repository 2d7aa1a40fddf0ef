"""Lines of a user's own code, wherever it lies."""

from __future__ import annotations

from pathlib import Path

import flverify
from flverify._core.places import own_line

PACKAGE = Path(flverify.__file__).parent


def raised_in(path):
    code = compile("def fails():\n    raise ValueError\n", str(path), "exec")
    space = {}
    exec(code, space)  # noqa: S102 - two lines of ours, as if they stood at the path
    try:
        space["fails"]()
    except ValueError as error:
        return own_line(error)


def test_a_neighbour_of_the_package_is_no_part_of_it():
    beside = PACKAGE.with_name(PACKAGE.name + "_notes.py")
    assert raised_in(beside).filename == str(beside)


def test_lines_of_the_package_are_not_a_users():
    assert raised_in(PACKAGE / "claims" / "x.py").filename == __file__

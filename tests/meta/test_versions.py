"""The versions that are asked for are those that were tried."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NEEDED = PROJECT["project"]["dependencies"]
EXTRA = PROJECT["project"]["optional-dependencies"].values()
ASKED = [Requirement(line) for lines in (NEEDED, *EXTRA) for line in lines]


def pinned(name):
    """Name and version of every line of a file of constraints."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


@pytest.mark.parametrize("need", ASKED, ids=str)
def test_the_oldest_version_allowed_is_one_that_is_tried(need):
    oldest = pinned("constraints-oldest.txt")[canonicalize_name(need.name)]
    (bound,) = need.specifier
    assert bound.operator == ">="
    assert oldest.release[: len(Version(bound.version).release)] == (
        Version(bound.version).release
    )


def test_nothing_else_is_held_back():
    names = {canonicalize_name(need.name) for need in ASKED}
    assert set(pinned("constraints-oldest.txt")) == names


@pytest.mark.parametrize("need", ASKED, ids=str)
def test_the_versions_that_the_tests_run_with_are_allowed(need):
    assert pinned("constraints.txt")[canonicalize_name(need.name)] in need.specifier

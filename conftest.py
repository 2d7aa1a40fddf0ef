"""Examples in README.md run as tests, in the order they are printed."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Generator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from importlib.util import find_spec
from typing import Any

import matplotlib as mpl
import pytest
from sybil import Sybil
from sybil.integration.pytest import SybilItem
from sybil.parsers.markdown import PythonCodeBlockParser

mpl.use("Agg")

# a test never reads findings that another run kept
_kept = tempfile.TemporaryDirectory(prefix="flverify-")
os.environ["FLVERIFY_CACHE"] = _kept.name

# without an extra there is nothing to look for examples in
collect_ignore = [] if find_spec("numba") else ["flverify/engines/simulate/_kernels.py"]
if not find_spec("panel"):
    page = ("app", "controls", "downloads", "layout", "plots", "server", "shown")
    collect_ignore += [f"flverify/explore/{name}.py" for name in page]

pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)
    ],
    patterns=["README.md"],  # tests/docs runs the pages of the guide, each in a folder
).pytest()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Undo the random order for documents: their examples build on one another."""
    documents = [item for item in items if isinstance(item, SybilItem)]
    documents.sort(key=lambda item: (str(item.path), item.location[1] or 0))
    items[:] = [item for item in items if not isinstance(item, SybilItem)] + documents


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Look for garbage among what tests make, and not among the tests again and again.

    They are many, and stay to the end: where claims are read, that took a quarter of
    the time of the tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()

"""What tests of several folders share."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from math import ceil
from typing import Any
from zlib import crc32

import pytest


@pytest.fixture
def limited() -> Iterator[None]:
    """Python's own limit of digits, which the command line lifts for its process."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(4300)
    yield
    sys.set_int_max_str_digits(before)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """Leave all but one in n cases of what is marked one_in(n) to the slow tests."""
    made = yield
    for item in left_out(made) if isinstance(made, list) else ():
        item.add_marker(pytest.mark.slow)
    return made


def left_out(cases: list[pytest.Item]) -> list[pytest.Item]:
    """All but one in n, rounded up: those whose names have the least checksums."""
    mark = cases[0].get_closest_marker("one_in") if cases else None
    if mark is None:
        return []
    quick = [case for case in cases if case.get_closest_marker("slow") is None]
    quick.sort(key=lambda case: crc32(case.name.encode()))
    return quick[ceil(len(quick) / mark.args[0]) :]

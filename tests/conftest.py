"""What tests of several folders share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def limited() -> Iterator[None]:
    """Python's own limit of digits, which the command line lifts for its process."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(4300)
    yield
    sys.set_int_max_str_digits(before)

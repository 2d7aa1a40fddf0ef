"""The whole audit in a fresh process: from cold, and when nothing has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from tempfile import TemporaryDirectory

from benchmarks._rows import Row, seconds, skipped

NAME = "flverify audit"
TARGETS = {"from cold": 15 * 60.0, "nothing changed": 15.0}  # on 2 cores


def rows(quick: bool) -> list[Row]:
    """Time one audit without a kept finding, then one with all of them; no repeats."""
    if quick:
        return [skipped(NAME, "takes minutes; leave out --quick")]
    if find_spec("flverify.cli") is None:
        return [skipped(NAME, "there is no command line yet")]
    with TemporaryDirectory() as kept:
        return [_row(how, kept, target) for how, target in TARGETS.items()]


def _row(how: str, kept: str, target: float) -> Row:
    codes: list[int] = []
    taken = seconds(lambda: codes.append(_audit(kept)))
    if codes[0] > 1:
        return skipped(f"{NAME}, {how}", f"it ended with exit code {codes[0]}")
    return Row(f"{NAME}, {how}", taken, target=target, note=f"exit code {codes[0]}")


def _audit(kept: str) -> int:
    command = "from flverify.cli import main; main(['audit'])"
    arguments = [sys.executable, "-c", command]
    found_in = {**os.environ, "FLVERIFY_CACHE": kept}
    done = subprocess.run(arguments, check=False, capture_output=True, env=found_in)
    return done.returncode

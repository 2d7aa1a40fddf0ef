"""The whole audit, in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from benchmarks._rows import Row, seconds, skipped

NAME = "flverify audit"


def rows(quick: bool) -> list[Row]:
    """Time one audit; no repeats."""
    if quick:
        return [skipped(NAME, "takes up to 90 s; leave out --quick")]
    if find_spec("flverify.cli") is None:
        return [skipped(NAME, "there is no command line yet")]
    codes: list[int] = []
    taken = seconds(lambda: codes.append(_audit()))
    if codes[0] > 1:
        return [skipped(NAME, f"it ended with exit code {codes[0]}")]
    return [Row(NAME, taken, target=90.0, note=f"exit code {codes[0]}")]


def _audit() -> int:
    command = "from flverify.cli import main; main(['audit'])"
    arguments = [sys.executable, "-c", command]
    return subprocess.run(arguments, check=False, capture_output=True).returncode

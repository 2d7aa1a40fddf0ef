"""Import of the package and the start of the command line, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from benchmarks._rows import Row, least, skipped

NOTHING = "pass"


def rows(quick: bool) -> list[Row]:
    """Time two commands, less an interpreter that does nothing."""
    repeats = 3 if quick else 7
    empty = least(lambda: _run("-c", NOTHING), repeats)
    note = f"less {empty:.3f} s of an empty interpreter"
    imported = least(lambda: _run("-c", "import flverify"), repeats) - empty
    out = [Row("import flverify", imported, target=0.3, note=note)]
    if find_spec("flverify.cli") is None:
        return [*out, skipped("flverify --help", "there is no command line yet")]
    shown = "from flverify.cli import main; main(['--help'])"
    taken = least(lambda: _run("-c", shown), repeats)
    return [
        *out,
        Row("flverify --help", taken, target=0.5, note="interpreter included"),
    ]


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

"""The command line as `python -m flverify`."""

from __future__ import annotations

from flverify.cli import main

if __name__ == "__main__":
    main(prog_name="flverify")

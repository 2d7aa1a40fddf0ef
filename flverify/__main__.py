"""The command line as `flverify` and as `python -m flverify`."""

from __future__ import annotations

from flverify._core.at_once import ended_at_once

with ended_at_once():
    from flverify.cli import main

if __name__ == "__main__":
    main(prog_name="flverify")

"""The interactive explorer: one setting, its pure tables, and two ways to see them.

`view` says what is looked at, the slices compute typed tables from it and draw
nothing, `notebook` draws them with matplotlib; the page shows the same tables.
"""

from __future__ import annotations

import importlib

_NAMES = {
    "View": "flverify.explore.view",
    "show": "flverify.explore.notebook",
}
__all__ = ["View", "show"]


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

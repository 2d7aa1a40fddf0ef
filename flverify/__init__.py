"""flverify: checks convergence theorems of federated optimisation.

Names resolve on use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "moments": "flverify.engines.moments",
    "simulate": "flverify.engines.simulate",
    "symbolic": "flverify.engines.symbolic",
    "Refusal": "flverify._core.errors",
    "FlverifyError": "flverify._core.errors",
    "InputError": "flverify._core.errors",
    "RefusedError": "flverify._core.errors",
}
__all__ = [
    "FlverifyError",
    "InputError",
    "Refusal",
    "RefusedError",
    "__version__",
    "moments",
    "simulate",
    "symbolic",
]


def __getattr__(name: str) -> Any:
    if name == "explore":  # a package of its own: flverify.explore.show(...)
        return importlib.import_module("flverify.explore")
    if name not in _NAMES:
        raise AttributeError(f"module 'flverify' has no attribute {name!r}")
    return getattr(importlib.import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

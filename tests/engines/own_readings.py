"""Every way to read a user's own setting, which all have to agree or refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flverify import moments, simulate, symbolic
from flverify.testing import assert_stable


def readings(**sizes: Any) -> dict[str, Callable[..., Any]]:
    """Readings of a problem, an algorithm and a law; sizes are those of simulations."""
    return {
        "moments": moments,
        "symbolic": symbolic,
        "simulate": lambda *setting: simulate(*setting, **sizes),
        "literal": lambda *setting: simulate(*setting, method="literal", **sizes),
        "assert_stable": assert_stable,
    }

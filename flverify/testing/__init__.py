"""Assertions about rates, bias, stability, weights and claims, for one's own tests.

Plain functions: they raise `Broken` or `Inconclusive`, both an `AssertionError`, and
return an `Outcome` otherwise. The pytest plugin `flverify.testing.plugin` adds a report
and a section in the summary. Names resolve on use, so that the plugin costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flverify._core.scaling import per_client
    from flverify.algorithms._algorithm import (
        Algorithm,
        Clients,
        Numbers,
        Server,
        gradient_steps,
    )
    from flverify.testing.averaging_weights import assert_averaging_weights
    from flverify.testing.certified_average import assert_certified_average
    from flverify.testing.certified_rate import assert_certified_rate
    from flverify.testing.claim_verdict import assert_claim
    from flverify.testing.error_bound import assert_error_bound
    from flverify.testing.fixed_point_bias import assert_fixed_point_bias
    from flverify.testing.linear_rate import assert_linear_rate
    from flverify.testing.outcome import Broken, Inconclusive, Outcome, Status
    from flverify.testing.stable import assert_stable

_NAMES = {
    "assert_averaging_weights": "flverify.testing.averaging_weights",
    "assert_certified_average": "flverify.testing.certified_average",
    "assert_certified_rate": "flverify.testing.certified_rate",
    "assert_claim": "flverify.testing.claim_verdict",
    "assert_error_bound": "flverify.testing.error_bound",
    "assert_fixed_point_bias": "flverify.testing.fixed_point_bias",
    "assert_linear_rate": "flverify.testing.linear_rate",
    "assert_stable": "flverify.testing.stable",
    "Broken": "flverify.testing.outcome",
    "Inconclusive": "flverify.testing.outcome",
    "Outcome": "flverify.testing.outcome",
    "Status": "flverify.testing.outcome",
    # what a test writes an algorithm of its own with
    "Algorithm": "flverify.algorithms._algorithm",
    "Clients": "flverify.algorithms._algorithm",
    "Numbers": "flverify.algorithms._algorithm",
    "Server": "flverify.algorithms._algorithm",
    "gradient_steps": "flverify.algorithms._algorithm",
    "per_client": "flverify._core.scaling",
}
__all__ = [
    "Algorithm",
    "Broken",
    "Clients",
    "Inconclusive",
    "Numbers",
    "Outcome",
    "Server",
    "Status",
    "assert_averaging_weights",
    "assert_certified_average",
    "assert_certified_rate",
    "assert_claim",
    "assert_error_bound",
    "assert_fixed_point_bias",
    "assert_linear_rate",
    "assert_stable",
    "gradient_steps",
    "per_client",
]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'flverify.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Conditions on step sizes that hold for whole N, and may fail for an N in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flverify.claims.focus_theorem1_steps import N, Relations, for_each_q
from flverify.claims.verdict import Finding, Verdict


def for_each_q_and_whole_n(
    given: Relations, needs: Mapping[str, Any], scope: str
) -> Finding:
    """Judge as `for_each_q`; again for no N between 1 and 2 where a reading is open.

    Examples
    --------
    >>> found = for_each_q_and_whole_n([], {"whole": (N - 1) * (N - 2) >= 0}, "N")
    >>> found.verdict
    <Verdict.PROVED: 'PROVED'>
    """
    found = for_each_q(given, needs, scope)
    if all(one.verdict != Verdict.INCONCLUSIVE for one in found.readings.values()):
        return found
    no_between = (N - 1) * (N - 2) >= 0  # what integers add: none is in between
    return for_each_q([*given, no_between], needs, scope)

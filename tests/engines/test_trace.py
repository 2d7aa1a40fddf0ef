"""One gradient symbol per distinct point of a round."""

from __future__ import annotations

import sys

from flverify.algorithms import FedAvg, Focus
from flverify.engines.forms import combine
from flverify.engines.trace import trace


def test_equal_points_share_a_symbol_and_others_do_not():
    assert len(trace(Focus("1/8", 3), 2).points) == 3
    assert len(trace(FedAvg("1/8", 1), 2).points) == 1


def test_points_with_other_symbols_are_not_subtracted_to_tell_them_apart(monkeypatch):
    module, subtracted = sys.modules[trace.__module__], []

    def heard(left, right, sign):
        subtracted.extend([right] * (sign == -1))
        return combine(left, right, sign)

    monkeypatch.setattr(module, "combine", heard)
    assert len(trace(FedAvg("1/8", 50), 2).points) == 50
    assert len(subtracted) < 50

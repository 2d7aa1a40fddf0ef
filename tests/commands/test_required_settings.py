"""Settings without a default are asked for by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from flverify._core.errors import InputError
from flverify.algorithms import FedAvg
from flverify.commands import _algorithms
from flverify.participation import Full


@dataclass(frozen=True, kw_only=True)
class Damped(FedAvg):
    """FedAvg whose damping has to be chosen."""

    damping: Any


def test_a_setting_without_a_default_is_asked_for(monkeypatch):
    monkeypatch.setattr(_algorithms, "algorithm_class", lambda _: Damped)
    with pytest.raises(InputError) as error:
        _algorithms.build("damped", 1, 1, (), Full(2))
    assert str(error.value) == (
        "damped: damping must be given, since it has no default; write --set "
        "damping=VALUE."
    )

"""Client objectives, one file per family."""

from __future__ import annotations

from typing import Any

from flverify._core.catalogue import public_names, resolve


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


def __dir__() -> list[str]:
    return sorted(public_names(__name__))

"""Federated algorithms, one file each, as the papers' boxes print them."""

from __future__ import annotations

from typing import Any

from flverify._core.catalogue import public_names, resolve


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


def __dir__() -> list[str]:
    return sorted(public_names(__name__))

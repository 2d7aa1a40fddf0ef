"""JSON envelopes: one object, its format and version beside the named keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

VERSION = 1


def envelope(kind: str, **keys: Any) -> str:
    """Return the JSON text of one report.

    Rationals become strings, infinities null beside a key that gives the reason.

    Parameters
    ----------
    kind : str
        What is reported; the format is `flverify/<kind>`.
    **keys
        The named keys at the top level.

    Examples
    --------
    >>> from fractions import Fraction
    >>> print(envelope("demo", rate=Fraction(3, 8)))
    {
      "format": "flverify/demo",
      "version": 1,
      "rate": "3/8"
    }
    """
    content = {"format": f"flverify/{kind}", "version": VERSION, **jsonable(keys)}
    return json.dumps(content, indent=2, allow_nan=False)


def jsonable(value: Any) -> Any:
    """Turn a value into what JSON can hold, exactly where it is exact.

    Examples
    --------
    >>> from fractions import Fraction
    >>> jsonable({"error": math.inf, "bias": (Fraction(1, 2), 0.5)})
    {'error': None, 'error_reason': 'infinite', 'bias': ['1/2', 0.5]}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return _object(value)
    if isinstance(value, list | tuple | frozenset | set):
        ordered = value if isinstance(value, list | tuple) else sorted(value, key=str)
        return [jsonable(entry) for entry in ordered]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    plain = value is None or isinstance(value, bool | int | str)
    return value if plain else str(value)


def _object(content: Mapping[Any, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in content.items():
        out[str(key)] = jsonable(value)
        why = _not_finite(value)
        if why and f"{key}_reason" not in content:
            out[f"{key}_reason"] = why
    return out


def _not_finite(value: Any) -> str:
    """Say why a number, or an entry of a list of numbers, has no JSON number."""
    if isinstance(value, list | tuple | np.ndarray):
        found = (_not_finite(entry) for entry in value)
        return next((f"null entries are {why}" for why in found if why), "")
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite"
    return ""

"""What changed between two audits: `flverify audit --compare OLD.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flverify._core.errors import FormatError
from flverify.claims.audit import Audited


def earlier(path: Path) -> dict[str, str]:
    """Read the verdicts of an earlier audit, by claim.

    Raises
    ------
    FormatError
        If the file was not written by `flverify audit --out`.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != "flverify/audit":
            raise ValueError(content["format"])
        return {str(one["id"]): str(one["verdict"]) for one in content["claims"]}
    except OSError as error:
        raise FormatError(
            f"an earlier audit must be readable; {path} is not: {error.strerror}; "
            "check the path."
        ) from error
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise FormatError(
            f"an earlier audit must be a file of `flverify audit --out`; {path} is "
            "none; name another one."
        ) from error


def changes(before: Mapping[str, str], now: Sequence[Audited]) -> Iterator[str]:
    """Say which verdicts changed, and which claims are new or gone."""
    found = {one.claim.id: str(one.finding.verdict) for one in now}
    for key, verdict in found.items():
        if key not in before:
            yield f"{key}: new, {verdict}"
        elif before[key] != verdict:
            yield f"{key}: {before[key]} -> {verdict}"
    for key in before:
        if key not in found:
            yield f"{key}: was {before[key]}, not judged now"

"""What commands say of the file of a certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOST = (
    "the certificate is found",
    "save the certificate from the output, where it stands instead",
)


def file_text(certificate: Mapping[str, Any] | None) -> str:
    """Return a certificate as a file holds it: one line per key."""
    parts = (certificate or {}).items()
    lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in parts)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def size_of(
    certificate: Mapping[str, Any] | None, out: Path | None, lost: str
) -> list[tuple[str, str]]:
    """Lines on the certificate, or on the file that was not written."""
    if certificate is None:
        return [("certificate", f"none; {out} was not written")] if out else []
    place = f"written to {out}" if out else "--out writes it"
    place = "printed below" if lost else place
    size = f"{len(file_text(certificate))} bytes, {place}"
    return [("ansatz", certificate["level"]), ("certificate", size)]

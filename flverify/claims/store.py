"""Findings kept between audits: one file per claim, read back only if nothing changed.

What is kept is what a report shows: words and exact texts. A file is written whole; one
that is damaged or was changed by hand, or of another fingerprint, counts as absent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from flverify._core.whole_files import replacing
from flverify.claims.audit import Audited
from flverify.claims.claim import Claim
from flverify.claims.verdict import Correction, Finding, Verdict

FORMAT = "flverify/finding"
VERSION = 1


def default_folder() -> Path:
    """Folder of the kept findings: $FLVERIFY_CACHE, or the user's cache folder.

    A place where nothing can be kept for a user who has no home.
    """
    named = os.environ.get("FLVERIFY_CACHE")
    if named:
        return Path(named)
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a number without an entry in the list of users
        home = os.devnull
    return Path(home) / "flverify" / "findings"


class Store:
    """Findings by claim and fingerprint.

    Parameters
    ----------
    folder : path
        Where the files are; it is made when something is kept.

    Attributes
    ----------
    closed : bool
        Whether something could not be kept there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.closed = folder, False

    def get(self, claim: Claim, fingerprint: str) -> Audited | None:
        """Return what was found of a claim; None if it changed or is absent."""
        try:
            kept = unsealed(self._file(claim.id).read_text(encoding="utf-8"))
            known = (kept["format"], kept["version"], kept["id"], kept["fingerprint"])
            if known != (FORMAT, VERSION, claim.id, fingerprint):
                return None
            return read(claim, kept)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        except RecursionError:  # brackets without end
            return None

    def put(self, audited: Audited, fingerprint: str) -> None:
        """Keep what was found of a claim; a closed folder keeps nothing."""
        head = {"format": FORMAT, "version": VERSION, "id": audited.claim.id}
        text = sealed({**head, "fingerprint": fingerprint, **written(audited)})
        target = self._file(audited.claim.id)
        self.closed |= not keep(target, text)

    def _file(self, key: str) -> Path:
        return self.folder / file_name(key)


def keep(path: Path, text: str) -> bool:
    """Write a file whole, with its folder; whether that could be done."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as scratch:
            scratch.write_text(text, encoding="utf-8")
        return True
    return False


def sealed(content: Mapping[str, Any]) -> str:
    """Return JSON text that shows whether it was changed.

    Examples
    --------
    >>> text = sealed({"verdict": "REFUTED"})
    >>> unsealed(text)["verdict"]
    'REFUTED'
    >>> unsealed(text.replace("REFUTED", "PROVED"))
    Traceback (most recent call last):
    ValueError: the digest is of another content
    """
    return json.dumps({**content, "digest": _digest(content)})


def unsealed(text: str) -> dict[str, Any]:
    """Return what `sealed` made a text of.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such text, or was changed.
    """
    kept = dict(json.loads(text))
    if kept.pop("digest") != _digest(kept):
        raise ValueError("the digest is of another content")
    return kept


def _digest(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()


def file_name(key: str) -> str:
    """Return the name of a claim's file.

    Examples
    --------
    >>> file_name("focus.eq30_32.a/b")
    'focus.eq30_32.a_b.json'
    """
    safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in key)
    return f"{safe}.json"


def written(audited: Audited) -> dict[str, Any]:
    """Return an audited claim as JSON data, without the claim itself."""
    controls = audited.reading_controls.items()
    return {
        "finding": as_data(audited.finding),
        "control": audited.control and as_data(audited.control),
        "reading_controls": {name: as_data(found) for name, found in controls},
        "seconds": audited.seconds,
    }


def read(claim: Claim, kept: Mapping[str, Any]) -> Audited:
    """Return an audited claim from JSON data.

    Raises
    ------
    KeyError, TypeError, ValueError
        If something is missing or of another kind.
    """
    control = kept["control"]
    return Audited(
        claim,
        read_finding(kept["finding"]),
        None if control is None else read_finding(control),
        float(kept["seconds"]),
        {name: read_finding(found) for name, found in kept["reading_controls"].items()},
    )


def as_data(finding: Finding) -> dict[str, Any]:
    """Return a finding, and all that it is made of, as JSON data."""
    fixed = finding.correction
    return {
        "verdict": str(finding.verdict),
        "scope": finding.scope,
        "reason": finding.reason,
        "evidence": plain(finding.evidence),
        "readings": {name: as_data(r) for name, r in finding.readings.items()},
        "correction": fixed and [fixed.statement, as_data(fixed.finding)],
        "parts": {name: as_data(part) for name, part in finding.parts.items()},
        "argument": finding.argument,
        "given": list(finding.given),
    }


def read_finding(kept: Mapping[str, Any]) -> Finding:
    """Return a finding from JSON data.

    Raises
    ------
    KeyError, TypeError, ValueError
        If something is missing or of another kind.
    """
    fixed = kept["correction"]
    return Finding(
        Verdict(kept["verdict"]),
        str(kept["scope"]),
        str(kept["reason"]),
        dict(kept["evidence"]),
        {name: read_finding(found) for name, found in kept["readings"].items()},
        None if fixed is None else Correction(str(fixed[0]), read_finding(fixed[1])),
        {name: read_finding(part) for name, part in kept["parts"].items()},
        str(kept["argument"]),
        tuple(map(str, kept["given"])),
    )


def plain(value: Any) -> Any:
    """Return evidence as JSON holds it: what is no number or text becomes its text."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)

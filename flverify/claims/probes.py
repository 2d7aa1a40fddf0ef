"""Findings of a claim at other values of its constants, kept as soon as they are there.

One file per claim holds what its check found, by the constants that were changed, so
that a search which was interrupted goes on where it stopped. What counts as changed,
and what is kept of a finding, is as in the store of audits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flverify.claims.claim import Claim
from flverify.claims.fingerprint import fingerprint
from flverify.claims.store import (
    as_data,
    file_name,
    keep,
    plain,
    read_finding,
    sealed,
    unsealed,
)
from flverify.claims.verdict import Finding

FORMAT = "flverify/probes"
VERSION = 1
UNFIT = (LookupError, TypeError, ValueError, AttributeError, RecursionError)


class Probes:
    """What a claim's check finds at changed constants.

    Parameters
    ----------
    claim : Claim
    folder : path
        Where the file is; it is made when something is kept.
    fresh : bool
        Whether to forget what was kept before.

    Attributes
    ----------
    closed : bool
        Whether something could not be kept there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from flverify.claims.registry import shipped_claims
    >>> line = shipped_claims()["focus.lemma3.step80c"]
    >>> with TemporaryDirectory() as folder:
    ...     found = Probes(line, Path(folder)).find({"factor": "3"})
    ...     again = Probes(line, Path(folder)).find({"factor": "3"})
    >>> found == again, found.verdict
    (True, <Verdict.REFUTED: 'REFUTED'>)
    """

    def __init__(self, claim: Claim, folder: Path, *, fresh: bool = False) -> None:
        self.claim, self.closed = claim, False
        self._file = folder / "sharpest" / file_name(claim.id)
        self._head = {
            "format": FORMAT,
            "version": VERSION,
            "id": claim.id,
            "fingerprint": fingerprint(claim.path),
        }
        self._kept: dict[str, Any] = {} if fresh else self._read()

    def find(
        self, changed: Mapping[str, Any], begin: Callable[[], object] = lambda: None
    ) -> Any:
        """Return what the check finds with some constants changed.

        Parameters
        ----------
        changed : mapping
            The constants and their values.
        begin : callable
            Called before the check is, where nothing is kept of these.

        Returns
        -------
        finding : Finding
            As it is kept; or else whatever the check returns.
        """
        key = json.dumps(plain(changed), sort_keys=True)
        with suppress(*UNFIT):
            return read_finding(self._kept[key])
        begin()
        found: Any = self.claim.check(**changed)
        with suppress(*UNFIT):
            self._keep(key, found)
            return read_finding(self._kept[key])
        return found

    def _keep(self, key: str, found: Finding) -> None:
        """Write a finding to the file, whole; a closed folder keeps nothing."""
        self._kept[key] = json.loads(json.dumps(as_data(found)))
        text = sealed({**self._head, "findings": self._kept})
        self.closed |= not keep(self._file, text)

    def _read(self) -> dict[str, Any]:
        """Return what is kept; a file that is damaged or of another state is absent."""
        with suppress(OSError, *UNFIT):
            kept = unsealed(self._file.read_text(encoding="utf-8"))
            if {name: kept[name] for name in self._head} == self._head:
                return dict(kept["findings"])
        return {}

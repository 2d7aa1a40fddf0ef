"""Judge many claims: kept findings first, the others in processes of their own.

Every finding is kept as soon as it is there, so an audit that is interrupted goes on
where it stopped; a claim that raises does not keep the others from being judged. The
order of what comes back is that of the claims, and no verdict
depends on how many workers there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from flverify._core.errors import FlverifyError, TerminatedError
from flverify._core.team import Lost, Tell, in_processes
from flverify.claims import store
from flverify.claims.audit import (
    FAULTS,
    Audited,
    ClaimsFailedError,
    Failed,
    attempt,
    raised,
)
from flverify.claims.claim import Claim
from flverify.claims.fingerprint import fingerprint
from flverify.claims.registry import claims_in
from flverify.claims.store import Store


def default_workers() -> int:
    """Return one process per processor that we may use, at most eight."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return max(1, min(8, usable))


def judge_all(
    claims: Sequence[Claim],
    *,
    kept: Store | None,
    fresh: bool,
    workers: int,
    check: Callable[[Claim], Audited] | None = None,
) -> Generator[tuple[int, Audited, bool]]:
    """Judge claims, yielding (place, audited, whether it was kept) as they are done.

    Closing the iterator ends the processes.

    Parameters
    ----------
    claims : sequence of Claim
        Each with the path of its file.
    kept : Store or None
        Where findings are kept; None keeps nothing.
    fresh : bool
        Whether to judge anew what is kept.
    workers : int
        Processes; 1 judges in this one.
    check : callable, optional
        How to judge in this process, whatever the number of workers.

    Raises
    ------
    ClaimsFailedError
        If the check of a claim raised, after all others were judged and kept.
    """
    open_ = []
    for place, claim in enumerate(claims):
        known = kept.get(claim, fingerprint(claim.path)) if kept and not fresh else None
        if known is None:
            open_.append(place)
        else:
            yield place, known, True
    alone = check is not None or workers == 1 or len(open_) < 2
    judged = (
        ((place, _alone(claims[place], check)) for place in open_)
        if alone
        else _together(claims, open_, workers)
    )
    failed: dict[int, Failed] = {}
    with closing(judged):
        for place, one in judged:
            if isinstance(one, Failed):
                failed[place] = one
                continue
            if kept:
                kept.put(one, fingerprint(claims[place].path))
            yield place, one, False
    if failed:
        raise ClaimsFailedError([failed[place] for place in sorted(failed)])


def _alone(claim: Claim, check: Callable[[Claim], Audited] | None) -> Audited | Failed:
    """Judge in this process; what a `check` of its own raises is worded by it."""
    if check is None:
        return attempt(claim)
    try:
        return check(claim)
    except FlverifyError as error:
        return Failed(claim, str(error))


def _together(
    claims: Sequence[Claim], places: Sequence[int], workers: int
) -> Generator[tuple[int, Audited | Failed]]:
    """Judge in other processes, which read the files anew."""
    pieces = {place: (str(claims[place].path), claims[place].id) for place in places}
    lost = []
    with closing(in_processes(_judged, pieces, workers)) as judging:
        for place, heard in judging:
            if isinstance(heard, Lost):
                lost.append(place)
            else:
                yield place, _received(claims[place], heard)
    if lost:
        yield min(lost), _abandoned(claims[min(lost)], len(lost))


def _abandoned(first: Claim, many: int) -> Failed:
    """Word the end of a process once for all claims that it left; none is to blame."""
    left = f"{many} claims" if many > 1 else "one claim"
    return Failed(
        first,
        f"the processes that judge claims must not end before they answer; one ended "
        f"abruptly and left {left} without an answer, the first of them {first.id}; "
        "run with --workers 1, and give a script of your own that calls this a main "
        "guard (if __name__ == '__main__').",
    )


def _received(claim: Claim, heard: Any) -> Audited | Failed:
    """Read what a process returned."""
    why = heard.get("failed")
    return Failed(claim, str(why)) if why else store.read(claim, heard)


_LOADED: dict[str, dict[str, Claim]] = {}


def _judged(piece: tuple[str, str], _: Tell) -> Mapping[str, Any]:
    """Judge one claim of a file, in a process; what it raises goes back as text."""
    path, key = piece
    try:
        if path not in _LOADED:
            _LOADED[path] = claims_in([Path(path)])
        one = attempt(_LOADED[path][key])
    except TerminatedError:
        raise
    except FAULTS as error:
        return {"failed": raised(f"the process that judges {key}", error)}
    return {"failed": one.why} if isinstance(one, Failed) else store.written(one)

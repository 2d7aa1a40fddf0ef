"""`assert_claim`: a claim judged anew has the verdict one expects."""

from __future__ import annotations

import shlex
from os import PathLike
from pathlib import Path

from flverify._core.errors import InputError, UnknownNameError
from flverify._core.shown import shown
from flverify.claims.audit import Audited, audit
from flverify.claims.claim import Claim
from flverify.claims.registry import claims_in, shipped_claims
from flverify.claims.verdict import Verdict
from flverify.testing.outcome import Outcome, Status, settle

NAME = "assert_claim"


def assert_claim(
    id: str | Claim,  # noqa: A002
    verdict: str,
    *,
    path: str | PathLike[str] | None = None,
) -> Outcome:
    """Assert the verdict of a claim, judged anew with its control.

    Neither the ledger nor a kept finding is trusted: the claim and its controls are
    judged in this very call, which takes as long as they take.

    Parameters
    ----------
    id : str or Claim
        Id of a claim of the package, or of the file `path`; or a claim itself.
    verdict : {"PROVED", "CERTIFIED", "SUPPORTED", "REFUTED", "INCONCLUSIVE"}
        The verdict one expects.
    path : path, optional
        A file of claims of one's own.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    Broken
        If the verdict is another, or a control misbehaves.
    UnknownNameError
        If there is no such claim.
    InputError
        If the verdict is none, or a claim and a file are given.

    Examples
    --------
    >>> assert_claim("agnostic.tacit", "PROVED").status
    <Status.HOLDS: 'HOLDS'>
    """
    __tracebackhide__ = True
    if not isinstance(verdict, str) or verdict not in tuple(Verdict):
        raise InputError(
            f"verdict must be one of {', '.join(Verdict)}; got {shown(verdict)}; "
            "pick one."
        )
    return settle(_judged(_find(id, path), Verdict(verdict), path))


def _find(wanted: str | Claim, path: str | PathLike[str] | None) -> Claim:
    if isinstance(wanted, Claim):
        if path is not None:
            raise InputError(
                "a claim must be given by itself or by its id in a file; got both; "
                "leave path out."
            )
        return wanted
    known = shipped_claims() if path is None else claims_in([_file(path)])
    if not isinstance(wanted, str) or wanted not in known:
        listed = "`flverify list`" if path is None else f"`flverify list {path}`"
        raise UnknownNameError(
            f"id must be that of a claim; got {shown(wanted)}; see {listed}."
        )
    return known[wanted]


def _file(path: object) -> Path:
    if isinstance(path, str | PathLike):
        return Path(path)
    raise InputError(
        f"path must be that of a file of claims; got {shown(path)}; pass its name."
    )


def _judged(
    claim: Claim, verdict: Verdict, path: str | PathLike[str] | None
) -> Outcome:
    one = next(iter(audit([claim])))
    fault = one.control_fault()
    same = one.finding.verdict == verdict and not fault
    return Outcome(
        NAME,
        Status.HOLDS if same else Status.BROKEN,
        claimed=f"{claim.id} is {verdict}",
        found=_found(one, fault),
        answered_by=f"an audit of the claim with its control, {one.seconds:.1f} s",
        setting=f"{claim.proposition}; scope: {one.finding.scope}",
        reproduce=_reproduce(claim, path),
    )


def _found(one: Audited, fault: str) -> str:
    finding = one.finding
    text = f"{finding.verdict}: {finding.reason}" if finding.reason else finding.verdict
    return f"{text}; its control misbehaves: {fault}" if fault else str(text)


def _reproduce(claim: Claim, path: str | PathLike[str] | None) -> str:
    if path is not None:
        return f"flverify show {claim.id} --file {shlex.quote(str(path))}"
    if claim.path == Path():
        return f"print(claim.check(), claim.control())  # {claim.id}"
    return f"flverify show {claim.id}"

"""Which claims a command is about: ids or prefixes of the shipped ones, and files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from flverify._core.errors import (
    FlverifyError,
    FormatError,
    InputError,
    TerminatedError,
    UnknownNameError,
)
from flverify.claims import ledger, premises, registry
from flverify.claims._twice import otherwise
from flverify.claims.audit import (
    FAULTS,
    Audited,
    ClaimsFailedError,
    Failed,
    attempt,
    raised,
    record,
)
from flverify.claims.claim import Claim
from flverify.claims.store import Store, default_folder, written
from flverify.claims.verdict import Verdict
from flverify.claims.workers import default_workers, judge_all
from flverify.report import console

HALF = re.compile("[\ud800-\udfff]")  # of a letter, which no file can hold


@dataclass(frozen=True)
class Group:
    """Claims that share a ledger.

    Parameters
    ----------
    claims : dict of id to Claim
    path : path
        The ledger.
    whole : bool
        Whether these are all claims of the ledger.
    own : bool
        Whether they come from a user's file, whose ledger may be absent.
    """

    claims: dict[str, Claim]
    path: Path
    whole: bool
    own: bool

    def expected(self) -> dict[str, ledger.Entry]:
        """Return what the ledger expects.

        Raises
        ------
        FormatError
            If the ledger is damaged.
        """
        entries = ledger.read(self.path)
        for key, entry in entries.items():
            if not _is_entry(entry):
                raise FormatError(
                    f"every claim of a ledger must have a verdict; {key} of "
                    f"{self.path.name} has none of {', '.join(Verdict)}; regenerate "
                    "it with `flverify audit --update-ledger`."
                )
        return entries

    def background(self) -> dict[str, ledger.Entry]:
        """Return what else is known: the shipped verdicts, for claims of one's own."""
        shipped = registry.proofs_folder() / "ledger.toml"
        known = ledger.read(shipped) if self.own else {}
        return {key: one for key, one in known.items() if key not in self.claims}

    @property
    def silent(self) -> bool:
        """Whether there is nothing to compare with: a user's file without a ledger."""
        return self.own and not self.path.exists()


def groups(targets: Sequence[str]) -> list[Group]:
    """Return the claims that ids, prefixes and files name; all shipped ones if none.

    Raises
    ------
    FlverifyError
        If a target names nothing, or a file is damaged.
    """
    if "" in targets:
        raise InputError(
            "an id, prefix or file must not be empty; got ''; leave it out to name all."
        )
    prefixes = [target for target in targets if not _is_file(target)]
    files = dict.fromkeys(target for target in targets if _is_file(target))
    out = [_own(Path(target)) for target in files]
    if prefixes or not files:
        shipped = registry.shipped_claims()
        picked = set().union(*(registry.chosen(shipped, p) for p in prefixes or [""]))
        claims = {key: one for key, one in shipped.items() if key in picked}
        path = registry.proofs_folder() / "ledger.toml"
        whole = len(claims) == len(shipped)
        out.insert(0, Group(claims, path, whole, own=False))
    _require_distinct(out)
    _require_founded(out)
    return out


def one_claim(claim_id: str, path: str | None) -> tuple[Group, Claim]:
    """Find a claim by its whole id, among the shipped ones or in a user's file.

    Raises
    ------
    UnknownNameError
        If no claim has the id, with the nearest ones.
    """
    group = groups([])[0] if path is None else _own(Path(path))
    _require_founded([group])
    if claim_id in group.claims:
        return group, group.claims[claim_id]
    near = [key for key in group.claims if claim_id and key.startswith(claim_id)]
    hint = f"did you mean {', '.join(near)}" if near else ""
    if len(near) > registry.NEAR:
        whose = claim_id if path is None else path
        hint = f"{len(near)} begin like that; see `flverify list {whose}`"
    hint = hint or registry.nearest(claim_id, group.claims, path or "")
    own = "" if path else ", or name the file of your own claims by --file"
    raise UnknownNameError(
        f"an id must be that of a claim; got {claim_id!r}; {hint}{own}."
    )


@contextmanager
def faults_of(group: Group, what: str) -> Iterator[None]:
    """Turn what a user's file raises into one sentence that says where.

    Raises
    ------
    FormatError
        If the file raised something that is no exception of the package.
    """
    try:
        yield
    except (FlverifyError, TerminatedError):
        raise
    except FAULTS as error:
        if not group.own:
            raise
        raise FormatError(raised(what, error)) from error


def judge(claim: Claim) -> Audited:
    """Judge one claim with its control.

    Raises
    ------
    FormatError
        If its check raises, or returns no finding, or one that cannot be written.
    """
    one = attempt(claim)
    if isinstance(one, Failed):
        raise FormatError(one.why)
    text = json.dumps([record(one), written(one)], ensure_ascii=False, default=str)
    if HALF.search(text):
        raise FormatError(
            f"what {claim.id} says must be text that can be written; got half of a "
            "letter, as '\\ud800' is; leave that out."
        )
    return one


def judge_own(claim: Claim) -> Audited:
    """Judge one claim of a user's file, which is read anew to judge it once more.

    Raises
    ------
    FormatError
        If its check raises, returns no finding, or finds something else then.
    """
    one = judge(claim)
    try:
        fresh = registry.claims_in([claim.path])[claim.id]
        fresh.control()  # before the claim this time
        again = judge(fresh)
    except (FlverifyError, TerminatedError):
        raise
    except FAULTS as error:
        raise FormatError(raised(f"{claim.path.name}, read anew,", error)) from error
    differing = ledger.differences([again], {claim.id: ledger.entry(one)})
    found = differing[0] if differing else otherwise(one, again)
    if found:
        raise FormatError(
            f"a check must find the same whenever it runs; judged twice, {found}; let "
            "it use no random numbers, no clock, and nothing that lasts."
        )
    return one


def judge_groups(
    what: str,
    chosen: Sequence[Group],
    *,
    fresh: bool,
    workers: int | None,
    failed: list[Failed] | None = None,
) -> list[list[Audited]]:
    """Judge the claims of several groups, unchanged ones from what was kept.

    Raises
    ------
    ClaimsFailedError
        If the check of a claim raises, after all others were judged; unless there is
        a list for these.
    """
    total, kept = sum(len(group.claims) for group in chosen), Store(default_folder())
    parts, bad = [], list[Failed]()
    with console.progress(what, total) as begin:
        for group in chosen:
            claims = list(group.claims.values())
            check = judge_own if group.own else None  # in this process
            processes = workers or default_workers()
            part: dict[int, Audited] = {}
            judging = judge_all(
                claims, kept=kept, fresh=fresh, workers=processes, check=check
            )
            try:
                with closing(judging):
                    for place, one, _ in judging:
                        begin(one.claim.id)
                        part[place] = one
            except ClaimsFailedError as error:
                bad += error.failed
            except (KeyboardInterrupt, TerminatedError) as error:
                error.add_note(kept_note(fresh, kept.closed))
                raise
            parts.append([part[place] for place in sorted(part)])
    if bad and (failed is None or not any(parts)):
        raise ClaimsFailedError(bad)
    if failed is not None:
        failed += bad
    return parts


def kept_note(fresh: bool, closed: bool) -> str:
    """Say, where judging is interrupted, how to go on."""
    if closed:
        return (
            "what was judged is not kept, as its folder cannot be written to; name "
            "another one in FLVERIFY_CACHE"
        )
    again = "the same command" + " without --fresh" * fresh
    return f"what was judged is kept; {again} goes on from there"


def _own(path: Path) -> Group:
    if path.is_dir() or not path.exists():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FormatError(
            f"a file of claims must be a Python file that exists; {path} {what}; name "
            "a .py file."
        )
    group = Group({}, path.with_suffix(".ledger.toml"), whole=True, own=True)
    with faults_of(group, f"the file {path}"):
        found = registry.claims_in([path])
    if not found:
        raise FormatError(
            f"a file of claims must define at least one; {path} has none; decorate a "
            "check with flverify.claims.claim.claim."
        )
    group.claims.update(found)
    return group


def _is_file(target: str) -> bool:
    return target.endswith(".py")


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or entry.get("verdict") not in list(Verdict):
        return False
    return isinstance(entry.get("readings", {}), dict)


def _require_founded(found: Sequence[Group]) -> None:
    """Check that own claims are given lines that claims judge, and not in a circle."""
    own = {k: one for group in found if group.own for k, one in group.claims.items()}
    lines = {k: {**one.given, **(one.mended_from or {})} for k, one in own.items()}
    asked = {key for one in lines.values() for keys in one.values() for key in keys}
    every = {**(registry.shipped_claims() if asked - set(own) else {}), **own}
    unknown = sorted(asked - set(every))
    if unknown:
        raise FormatError(
            f"what a claim is given must be judged by a claim; got {unknown[0]}; "
            f"{registry.nearest(unknown[0], every)}."
        )
    if circle := premises.circle(own):
        raise FormatError(
            "no claim may be given what is derived from it; got a circle of "
            f"{', '.join(circle)}; judge one of them by itself."
        )


def _require_distinct(found: Sequence[Group]) -> None:
    ids = [key for group in found for key in group.claims]
    twice = sorted({key for key in ids if ids.count(key) > 1})
    if twice:
        raise FormatError(
            f"every claim must have an id of its own; {', '.join(twice)} stands in two "
            "files; rename one of them."
        )

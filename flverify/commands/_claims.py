"""Which claims a command is about: ids or prefixes of the shipped ones, and files."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from flverify._core.errors import FlverifyError, FormatError, UnknownNameError
from flverify.claims import ledger, registry
from flverify.claims.audit import Audited, audit
from flverify.claims.claim import Claim
from flverify.claims.store import Store, default_folder
from flverify.claims.verdict import Finding, Verdict
from flverify.claims.workers import default_workers, judge_all
from flverify.report import console

# What a user's file may raise; a fault of the package itself is not hidden by these.
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SystemExit,
    TypeError,
    ValueError,
)


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
    return out


def one_claim(claim_id: str, path: str | None) -> tuple[Group, Claim]:
    """Find a claim by its whole id, among the shipped ones or in a user's file.

    Raises
    ------
    UnknownNameError
        If no claim has the id, with the nearest ones.
    """
    group = groups([path] if path else [])[0]
    if claim_id in group.claims:
        return group, group.claims[claim_id]
    near = [key for key in group.claims if key.startswith(claim_id)][:3]
    near = near or get_close_matches(claim_id, group.claims, n=3, cutoff=0.3)
    hint = f"did you mean {', '.join(near)}" if near else "see `flverify list`"
    raise UnknownNameError(f"an id must be that of a claim; got {claim_id!r}; {hint}.")


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
    except FlverifyError:
        raise
    except FAULTS as error:
        if not group.own:
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise FormatError(
            f"{what} must run without an exception; it raised "
            f"{type(error).__name__}: {error} ({Path(place.filename).name}, line "
            f"{place.lineno}); mend it."
        ) from error


def judge(group: Group, claim: Claim) -> Audited:
    """Judge one claim with its control.

    Raises
    ------
    FormatError
        If the check of a user's file raises, or returns no finding.
    """
    with faults_of(group, f"the check of {claim.id}"):
        one = next(iter(audit([claim])))
    returned = [one.finding] if one.control is None else [one.finding, one.control]
    if not all(isinstance(finding, Finding) for finding in returned):
        raise FormatError(
            f"the check of {claim.id} must return a finding of the judge; got "
            f"{returned[0]!r}; return what flverify.claims.judge gives."
        )
    return one


def judge_groups(
    what: str, chosen: Sequence[Group], *, fresh: bool, workers: int | None
) -> list[list[Audited]]:
    """Judge the claims of several groups, unchanged ones from what was kept."""
    total, kept = sum(len(group.claims) for group in chosen), Store(default_folder())
    parts = []
    with console.progress(what, total) as begin:
        for group in chosen:
            claims = list(group.claims.values())
            # what a user's file raises is worded in this process
            check = partial(judge, group) if group.own else None
            processes = workers or default_workers()
            part: dict[int, Audited] = {}
            for place, one, _ in judge_all(
                claims, kept=kept, fresh=fresh, workers=processes, check=check
            ):
                begin(one.claim.id)
                part[place] = one
            parts.append([part[place] for place in range(len(claims))])
    return parts


def _own(path: Path) -> Group:
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


def _require_distinct(found: Sequence[Group]) -> None:
    ids = [key for group in found for key in group.claims]
    twice = sorted({key for key in ids if ids.count(key) > 1})
    if twice:
        raise FormatError(
            f"every claim must have an id of its own; {', '.join(twice)} stands in two "
            "files; rename one of them."
        )

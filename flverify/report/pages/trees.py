"""Proofs as trees: a theorem, the lemmas it uses, and the steps of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from flverify.claims.audit import Audited
from flverify.claims.verdict import Verdict
from flverify.report.pages.outlines import USES

# Words of a source that stands beside a proof, not in it.
_BESIDE = ("question", "task", "Remark")
_CLOSING = (".final", ".collected")
_STATED = ("Theorem", "Lemma", "Corollary", "Proposition")

Below: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Step:
    """A claim in a proof with what it rests on.

    Parameters
    ----------
    audited : Audited
    below : tuple of Step
        Lemmas first, then the steps.
    again : bool
        Whether a tree above shows already what it rests on.
    rests_on : tuple of Audited
        All claims below, those that a tree above shows among them.
    """

    audited: Audited
    below: tuple[Step, ...] = ()
    again: bool = False
    rests_on: tuple[Audited, ...] = ()

    @property
    def failing(self) -> bool:
        """Whether this step is refuted."""
        return self.audited.finding.verdict == Verdict.REFUTED

    def tally(self) -> str:
        """Say how many of the steps below fail or are open, wherever they are shown."""
        verdicts = [one.finding.verdict for one in self.rests_on]
        failing = verdicts.count(Verdict.REFUTED)
        unsettled = verdicts.count(Verdict.INCONCLUSIVE)
        out = f"{failing} of {len(verdicts)} steps and lemmas refuted"
        return f"{out}, {unsettled} inconclusive" if unsettled else out


def proofs(claims: Sequence[Audited]) -> Iterator[Step]:
    """Yield the tree of every theorem, and of lemmas that no theorem uses.

    Parameters
    ----------
    claims : sequence of Audited
        Of one paper, in its order.
    """
    known = {one.claim.id: one for one in claims}
    below = {key: _below(key, known) for key in known}
    stems = [key for key in known if _has_proof(known[key], below[key])]
    used = {key for stem in stems for key in _reached(stem, below)}
    shown: set[str] = set()
    for key in stems:
        if key not in used:
            yield _tree(key, known, below, shown, ())


def _below(key: str, known: Mapping[str, Audited]) -> list[str]:
    """Return what a claim rests on: what it uses, its own steps, and what closes it."""
    uses = [used for used in USES.get(key, ()) if used in known]
    steps = [
        other
        for other, one in known.items()
        if _parent(other, known) == key
        and other not in uses
        and not any(word in one.claim.source.item for word in _BESIDE)
    ]
    return uses + sorted(steps, key=lambda other: other.endswith(_CLOSING))


def _parent(key: str, known: Mapping[str, Audited]) -> str | None:
    """Return the claim with the longest id that this id goes on from."""
    stem = key
    while "." in stem:
        stem = stem.rpartition(".")[0]
        if stem in known:
            return stem
    return None


def _has_proof(one: Audited, below: Sequence[str]) -> bool:
    key = one.claim.id
    steps = any(part.removeprefix(f"{key}.").startswith("step") for part in below)
    stated = one.claim.source.item.startswith(_STATED)
    return bool(below) and (steps or stated or key in USES)


def _reached(key: str, below: Below) -> set[str]:
    """Return all claims below one, without itself."""
    waiting, seen = list(below[key]), set[str]()
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += below[one]
    return seen - {key}


def _tree(
    key: str,
    known: Mapping[str, Audited],
    below: Below,
    shown: set[str],
    above: tuple[str, ...],
) -> Step:
    all_below = tuple(known[one] for one in sorted(_reached(key, below)))
    if key in above or (key in shown and below[key]):
        return Step(known[key], again=True, rests_on=all_below)
    shown.add(key)
    path = (*above, key)
    parts = tuple(_tree(one, known, below, shown, path) for one in below[key])
    return Step(known[key], parts, rests_on=all_below)

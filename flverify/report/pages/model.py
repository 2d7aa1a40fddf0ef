"""What the page of a paper says, before any format: chapters, errata, proofs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flverify._core.sentences import number_of
from flverify._core.sources import PAPERS
from flverify.claims.audit import Audited
from flverify.claims.claim import Claim
from flverify.claims.counterexamples import standing
from flverify.claims.ledger import Entry, entry
from flverify.claims.premises import warnings
from flverify.claims.verdict import Correction, Verdict
from flverify.report.claims import as_read
from flverify.report.pages.outlines import OUTLINES, Chapter, places
from flverify.report.pages.trees import Step, proofs

LINE = 400  # characters of a reason where one line is wanted
ELSEWHERE = Chapter("Claims", ())
SYMBOLS = {
    Verdict.PROVED: "✓",
    Verdict.CERTIFIED: "◆",
    Verdict.SUPPORTED: "≈",
    Verdict.REFUTED: "✗",
    Verdict.INCONCLUSIVE: "?",
}
MEANINGS = {
    Verdict.PROVED: "shown exactly for every parameter in the scope",
    Verdict.CERTIFIED: "an exact certificate passed an independent checker",
    Verdict.SUPPORTED: "computed on the instances listed, or sampled within its error",
    Verdict.REFUTED: "a counterexample, checked again in exact arithmetic",
    Verdict.INCONCLUSIVE: "anything else, with the reason",
}


@dataclass(frozen=True)
class Part:
    """Claims of one chapter, in the order of the paper."""

    heading: str
    claims: tuple[Audited, ...]


@dataclass(frozen=True)
class Erratum:
    """What of a claim fails, by reading (no name: the claim), and its repair."""

    audited: Audited
    failures: Mapping[str, str]
    correction: Correction | None
    beware: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """The page of one paper.

    Parameters
    ----------
    key : str
        Key of the bibliography; the name of the file.
    citation : str
    parts : tuple of Part
    errata : tuple of Erratum
    proofs : tuple of Step
        One tree for each theorem.
    beware : mapping of str to tuple of str
        By id, what a reader must know of the lines that a claim is given.
    """

    key: str
    citation: str
    parts: tuple[Part, ...]
    errata: tuple[Erratum, ...]
    proofs: tuple[Step, ...]
    beware: Mapping[str, tuple[str, ...]]

    @property
    def claims(self) -> list[Audited]:
        """All claims of the paper."""
        return [one for part in self.parts for one in part.claims]

    @property
    def entries(self) -> str:
        """How many entries the errata have."""
        return number_of(len(self.errata), "entry", "entries")


def papers(
    audited: Sequence[Audited], ledger: Mapping[str, Entry] | None = None
) -> list[Paper]:
    """Return a page for every paper that the claims come from.

    Parameters
    ----------
    audited : sequence of Audited
    ledger : mapping of str to Entry, optional
        What is known of claims that are on no page, but that others rest on.
    """
    audited = [as_read(one) for one in audited]
    keys = paper_keys([one.claim for one in audited])
    entries = {**(ledger or {}), **{one.claim.id: entry(one) for one in audited}}
    beware = {k.id: tuple(warnings(k, entries)) for k in (one.claim for one in audited)}
    own = {key: [one for one in audited if _paper(one) == key] for key in keys}
    return [_page(key, own[key], beware) for key in keys]


def paper_keys(claims: Sequence[Claim]) -> list[str]:
    """Return the papers that claims come from: the bibliography's first, in order."""
    found = dict.fromkeys(claim.source.paper for claim in claims)
    known = [key for key in PAPERS if key in found]
    return [*known, *(key for key in found if key not in PAPERS)]


def title(key: str) -> str:
    """Title of a page."""
    return "Own claims" if key == "flverify" else f"Verdicts on the {key} paper"


def file_of(claim: Claim) -> str:
    """Name of the file a claim stands in; that of a shipped one from the top folder."""
    path = claim.path
    return f"proofs/{path.name}" if _shipped(claim) else str(path)


def commands(claim: Claim) -> list[str]:
    """Return the commands that judge a claim again."""
    if _shipped(claim):
        return [f"flverify show {claim.id}", f"flverify audit {claim.id}"]
    path, key = shlex.quote(str(claim.path)), shlex.quote(claim.id)
    return [f"flverify show {key} --file {path}", f"flverify audit {path}"]


def script_of(one: Audited) -> str:
    """Name of the script that repeats a counterexample; a pattern of several's."""
    paths = standing(one)
    name = paths[0].name if len(paths) == 1 else f"{one.claim.id}.reading*.py"
    return f"proofs/counterexamples/{name}" if paths else ""


def _shipped(claim: Claim) -> bool:
    return claim.path.parent.name in ("proofs", "_proofs")


def _printed(one: Audited) -> bool:
    """Whether the claim is the paper's; a question that we ask of it is no erratum."""
    return "not printed" not in one.claim.source.item


def _paper(one: Audited) -> str:
    return one.claim.source.paper


def _page(
    key: str, own: Sequence[Audited], beware: Mapping[str, tuple[str, ...]]
) -> Paper:
    parts = tuple(_parts(OUTLINES.get(key, ()), own))
    ordered = [one for part in parts for one in part.claims]
    errata = [_erratum(one, beware[one.claim.id]) for one in ordered if _printed(one)]
    failing = tuple(found for found in errata if found.failures)
    citation = own[0].claim.source.full_reference
    return Paper(key, citation, parts, failing, tuple(proofs(ordered)), beware)


def _parts(outline: Sequence[Chapter], claims: Sequence[Audited]) -> Iterator[Part]:
    """Put the claims into chapters, and those of each into their order."""
    placed: dict[Chapter, list[tuple[int, bool, int, Audited]]] = {}
    last: dict[Chapter, int] = {}
    for many, one in enumerate(claims):
        item = one.claim.source.item
        named = places(item)
        chapter = next(
            (c for place in named[:1] for c in _by_depth(outline) if c.holds(place)),
            ELSEWHERE,
        )
        where = _position(chapter, named)
        # a place without a number of its own follows what was written before it
        last[chapter] = last.get(chapter, -1) if where is None else where
        ranked = (last[chapter], not _printed(one), many, one)
        placed.setdefault(chapter, []).append(ranked)
    for chapter in (*outline, ELSEWHERE):
        if chapter in placed:
            ordered = sorted(placed[chapter], key=lambda ranked: ranked[:3])
            yield Part(chapter.heading, tuple(one for *_, one in ordered))


def _by_depth(outline: Sequence[Chapter]) -> list[Chapter]:
    """Sort chapters so that Section 4.1 is asked before Section 4."""
    return sorted(outline, key=lambda c: -max(p.count(".") for p in c.places))


def _position(chapter: Chapter, named: Sequence[str]) -> int | None:
    """Return where a claim stands in a chapter: its last equation says it best."""
    found = {
        place: where
        for place in named
        if (where := chapter.position(place)) is not None
        and not place.startswith(("Section", "Appendix"))
    }
    equations = [where for place, where in found.items() if place.startswith("(")]
    return max(equations) if equations else next(iter(found.values()), None)


def _erratum(one: Audited, beware: tuple[str, ...]) -> Erratum:
    finding = one.finding
    failures = {
        name: found.reason
        for name, found in finding.readings.items()
        if found.verdict == Verdict.REFUTED
    }
    if finding.verdict == Verdict.REFUTED:
        failures = {"": finding.reason}
    return Erratum(one, failures, finding.correction, beware)

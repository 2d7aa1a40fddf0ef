"""Pages in Markdown as GitHub draws it; formulas in its fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flverify import __version__
from flverify.claims import ledger
from flverify.claims.audit import Audited
from flverify.claims.verdict import Finding, Verdict
from flverify.report.claims import count_line, counts, twin_of
from flverify.report.exhibits import (
    Rows,
    alike,
    arguments,
    exhibit,
    first_parts,
    made_of,
    shortened,
)
from flverify.report.pages.mathematics import understood
from flverify.report.pages.model import (
    LINE,
    MEANINGS,
    SYMBOLS,
    Erratum,
    Paper,
    commands,
    file_of,
    script_of,
    title,
)
from flverify.report.pages.trees import Step

SUFFIX = "md"
LONG = 300  # characters of evidence beside a counterexample

_MARKS = re.compile(r"([\\`*_\[\]<>#|~$&@]|^[-+=]|(?<=^\d)[.)])")


def page(paper: Paper) -> str:
    """Return the page of a paper.

    Parameters
    ----------
    paper : Paper
    """
    blocks = [
        f"# {_e(title(paper.key))}",
        _e(paper.citation),
        f"{_e(count_line(paper.claims))}.",
        _counts(paper.claims),
        *_errata(paper),
        *_proofs(paper),
    ]
    for part in paper.parts:
        blocks.append(f"## {_e(part.heading)}")
        for one in part.claims:
            blocks += _claim(one, paper.beware[one.claim.id])
    return _document(blocks)


def index(papers: Sequence[Paper]) -> str:
    """Return the page that leads to those of the papers.

    Parameters
    ----------
    papers : sequence of Paper
    """
    everyone = [one for paper in papers for one in paper.claims]
    blocks = [
        "# What was found, paper by paper",
        f"{_e(count_line(everyone))}.",
        _counts(everyone),
    ]
    for paper in papers:
        blocks += [
            f"## [{_e(title(paper.key))}]({paper.key}.{SUFFIX})",
            _e(paper.citation),
            f"{_e(count_line(paper.claims))}; {paper.entries} in the errata.",
        ]
    return _document(blocks)


def _document(blocks: Sequence[str]) -> str:
    last = f"Written by flverify {_e(__version__)}."
    return "\n\n".join([*(block for block in blocks if block), last]) + "\n"


def _e(text: str) -> str:
    """Text that means nothing but itself, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Code on one line, between more backticks than it has."""
    line = " ".join(text.split()) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}"


def _cell(text: str) -> str:
    """Code in a table, where a bar would end the cell even so."""
    escaped = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return "<code>" + re.sub(r"([\\`*_|\[\]~$@])", r"\\\1", escaped) + "</code>"


def _anchor(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", key)


def _verdict(verdict: Verdict) -> str:
    return f"**{SYMBOLS[verdict]} {verdict}**".replace("?", r"\?")


def _link(one: Audited) -> str:
    return f"[{_e(one.claim.id)}](#{_anchor(one.claim.id)})"


def _counts(claims: Sequence[Audited]) -> str:
    rows = [
        f"| {_verdict(Verdict(name))} | {many} | {_e(MEANINGS[Verdict(name)])} |"
        for name, many in counts(claims).items()
    ]
    return "\n".join(["| verdict | claims | meaning |", "|---|--:|---|", *rows])


def _mathematics(latex: str, indent: str = "") -> str:
    """Show a formula in a block, or its source in a fence longer than any in it."""
    if understood(latex):
        lines = ["```math", *latex.splitlines(), "```"]
    else:
        lines = _block(latex, "latex").splitlines()
    return "\n".join(indent + line for line in lines)


def _block(text: str, language: str = "text") -> str:
    """Put text into a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *text.splitlines(), fence])


def _errata(paper: Paper) -> Iterator[str]:
    if paper.errata:
        yield "## Errata"
    for one in paper.errata:
        yield from _erratum(one)


def _erratum(one: Erratum) -> Iterator[str]:
    claim = one.audited.claim
    verdict = _verdict(one.audited.finding.verdict)
    yield f"### {_link(one.audited)} {verdict}\n\n{_e(claim.source.item)}"
    yield _mathematics(claim.statement)
    yield "\n".join(
        f"- fails{f', {_e(name)}' if name else ''}: {_e(shortened(reason, LINE))}"
        for name, reason in one.failures.items()
    )
    yield from _correction(one.audited.finding, "Instead", parts=False)
    yield from (f"Beware: {_e(text)}" for text in one.beware if one.correction)


def _proofs(paper: Paper) -> Iterator[str]:
    if paper.proofs:
        yield "## Proofs, step by step"
    for tree in paper.proofs:
        yield "\n".join(_step(tree, 0))


def _step(step: Step, depth: int) -> Iterator[str]:
    one = step.audited
    parts = [
        f"{_verdict(one.finding.verdict)} {_link(one)} {_e(one.claim.source.item)}"
    ]
    if step.again:
        parts.append("(steps above)")
    if step.below:
        parts.append(f"— {_e(step.tally())}")
    if step.failing:
        parts.append(f"— **fails**: {_e(shortened(one.finding.reason, LINE))}")
    yield f"{'  ' * depth}- {' '.join(parts)}"
    for below in step.below:
        yield from _step(below, depth + 1)


def _claim(one: Audited, beware: Sequence[str]) -> Iterator[str]:
    claim, finding = one.claim, one.finding
    yield f'### <a id="{_anchor(claim.id)}"></a>{_e(claim.id)}'
    yield f"{_verdict(finding.verdict)} · {_e(claim.source.item)}"
    yield _mathematics(claim.statement)
    yield "\n".join(
        [
            f"- judged: {_e(claim.proposition)}",
            f"- scope: {_e(finding.scope)}",
            f"- reason: {_e(finding.reason)}",
            *(f"- beware: {_e(text)}" for text in beware),
        ]
    )
    yield from _correction(finding, "Sharpened" if finding.passes() else "Corrected")
    for names, found in alike(finding.readings):
        yield (
            f"Reading {_e('; and '.join(names))}: {_verdict(found.verdict)} "
            f"({_e(found.scope)}): {_e(found.reason)}"
        )
        yield from _evidence(found)
    if not finding.readings:
        yield from _evidence(finding)
    if used := ledger.uses(finding):
        told = f"<summary>hypotheses used ({len(used)}), printed or not</summary>"
        yield f"<details>{told}\n\n{_block('; '.join(used))}\n</details>"
    yield _control(one)
    ways = ", ".join(_code(way) for way in commands(claim))
    yield f"Judge it again: {ways} in {_code(file_of(claim))}."
    if script_of(one):
        yield f"Its counterexample without flverify: {_code(script_of(one))}."


def _correction(finding: Finding, label: str, *, parts: bool = True) -> Iterator[str]:
    if finding.correction:
        found = finding.correction.finding
        yield f"{label}, {_verdict(found.verdict)} ({_e(found.scope)}):"
        yield _mathematics(finding.correction.statement)
        yield from _evidence(found) if parts else ()


def _evidence(finding: Finding) -> Iterator[str]:
    shown = exhibit(finding.evidence)
    if shown.kind:
        rows = shown.instance + shown.comparison
        yield _details(shown.about(shown.kind), rows)
    if shown.rest:
        label = f"more on the {shown.kind}" if shown.kind else shown.about("evidence")
        rest = tuple(
            (name, text if shown.kind else shortened(text, LONG))
            for name, text in shown.rest
        )
        yield _details(label, rest)
    yield from _parts(finding)


def _parts(finding: Finding) -> Iterator[str]:
    """Show how a claim made of several adds up, and its parts in one table."""
    for text in arguments(finding):
        yield f"<details><summary>the argument</summary>\n\n{_block(text)}"
        yield "</details>"
    rows = first_parts(finding, LONG)
    if rows:
        yield _details(f"all parts ({len(made_of(finding))})", rows)


def _details(summary: str, rows: Rows) -> str:
    plain = summary.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    body = "\n".join(f"| {_cell(name)} | {_cell(text)} |" for name, text in rows)
    return (
        f"<details><summary>{' '.join(plain.split())}</summary>\n\n"
        f"| | |\n|---|---|\n{body}\n\n</details>"
    )


def _control(one: Audited) -> str:
    if one.control is None:
        return f"Control: none; {_e(one.claim.no_control)}"
    fault = one.control_fault()
    said = f" **Misbehaves: {_e(fault)}**" if fault else ""
    return f"Control: the {twin_of(one)} is {_verdict(one.control.verdict)}.{said}"

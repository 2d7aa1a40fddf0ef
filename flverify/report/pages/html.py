"""Pages in HTML: one file that needs neither network nor script."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

from flverify import __version__
from flverify._core.sentences import number_of
from flverify.claims import ledger
from flverify.claims.audit import Audited
from flverify.claims.verdict import Finding, Verdict
from flverify.report.claims import count_line, counts, twin_of
from flverify.report.exhibits import (
    Rows,
    alike,
    exhibit,
    failing,
    in_a_row,
    made_of,
    shortened,
)
from flverify.report.pages._css import CSS
from flverify.report.pages.mathematics import mathml
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

SUFFIX = "html"


def page(paper: Paper) -> str:
    """Return the page of a paper.

    Parameters
    ----------
    paper : Paper
    """
    body = [
        f"<h1>{_e(title(paper.key))}</h1>",
        f'<p class="soft">{_e(paper.citation)}</p>',
        f"<p>{_e(count_line(paper.claims))}.</p>",
        *_counts(paper.claims),
        *_contents(paper),
        *_errata(paper),
        *_proofs(paper),
    ]
    for many, part in enumerate(paper.parts):
        body.append(f'<section id="part-{many}"><h2>{_e(part.heading)}</h2>')
        body += [_claim(one, paper.beware[one.claim.id]) for one in part.claims]
        body.append("</section>")
    return _document(title(paper.key), body)


def index(papers: Sequence[Paper]) -> str:
    """Return the page that leads to those of the papers.

    Parameters
    ----------
    papers : sequence of Paper
    """
    everyone = [one for paper in papers for one in paper.claims]
    body = [
        "<h1>What was found, paper by paper</h1>",
        f"<p>{_e(count_line(everyone))}.</p>",
        *_counts(everyone),
    ]
    for paper in papers:
        body.append(
            f'<h2><a href="{_e(paper.key)}.{SUFFIX}">{_e(title(paper.key))}</a></h2>'
            f'<p class="soft">{_e(paper.citation)}</p>'
            f"<p>{_e(count_line(paper.claims))}; {paper.entries} in the "
            f"errata.</p>{_bar(paper.claims)}"
        )
    return _document("flverify: reports", body)


def _document(name: str, body: Sequence[str]) -> str:
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_e(name)}</title>\n<style>{CSS}</style>\n</head>\n<body>",
            *body,
            f'<p class="how">Written by flverify {_e(__version__)}.</p>',
            "</body>\n</html>\n",
        ]
    )


def _e(text: str) -> str:
    return escape(text)


def _prose(text: str) -> str:
    """Set a text with indices and powers in braces low and high.

    Examples
    --------
    >>> _prose("x_{r tau} and S^{t-1}, but x_i and {1}")
    'x<sub>r tau</sub> and S<sup>t-1</sup>, but x_i and {1}'
    """
    low = re.sub(r"(?<=[\w)])_\{([^{}]+)\}", r"<sub>\1</sub>", escape(text))
    return re.sub(r"(?<=[\w)>])\^\{([^{}]+)\}", r"<sup>\1</sup>", low)


def _badge(verdict: Verdict) -> str:
    return f'<span class="badge {verdict}">{SYMBOLS[verdict]} {verdict}</span>'


def _bar(claims: Sequence[Audited]) -> str:
    shares = (
        f'<i class="{name}" style="flex:{many}" title="{many} {name}"></i>'
        for name, many in counts(claims).items()
        if many
    )
    return f'<div class="bar" aria-hidden="true">{"".join(shares)}</div>'


def _counts(claims: Sequence[Audited]) -> Iterator[str]:
    yield _bar(claims)
    yield '<table class="counts">'
    for name, many in counts(claims).items():
        verdict = Verdict(name)
        yield (
            f"<tr><td>{_badge(verdict)}</td><td>{many}</td>"
            f'<td class="soft">{_e(MEANINGS[verdict])}</td></tr>'
        )
    yield "</table>"


def _contents(paper: Paper) -> Iterator[str]:
    yield "<nav><ul>"
    if paper.errata:
        yield f'<li><a href="#errata">Errata</a> ({len(paper.errata)})</li>'
    if paper.proofs:
        yield f'<li><a href="#proofs">Proofs</a> ({len(paper.proofs)})</li>'
    for many, part in enumerate(paper.parts):
        link = f'<a href="#part-{many}">{_e(part.heading)}</a>'
        yield f"<li>{link} ({len(part.claims)})</li>"
    yield "</ul></nav>"


def _mathematics(latex: str) -> str:
    shown = mathml(latex)
    inner = f'<code class="latex">{_e(latex)}</code>' if shown is None else shown
    return f'<div class="statement">{inner}</div>'


def _link(one: Audited) -> str:
    return f'<a href="#{_e(one.claim.id)}">{_e(one.claim.id)}</a>'


# errata ------------------------------------------------------------------------------


def _errata(paper: Paper) -> Iterator[str]:
    if not paper.errata:
        return
    yield '<section id="errata"><h2>Errata</h2>'
    yield (
        '<p class="soft">What was refuted as printed, under every reading or under '
        "the readings named, and the statement that takes its place where there is "
        "one.</p>"
    )
    for one in paper.errata:
        yield _erratum(one)
    yield "</section>"


def _erratum(one: Erratum) -> str:
    verdict = one.audited.finding.verdict
    fails = "".join(
        f"<dt>fails</dt><dd>{_reading(name)}{_prose(shortened(reason, LINE))}</dd>"
        for name, reason in one.failures.items()
    )
    beware = "".join(f'<p class="soft">Beware: {_e(text)}</p>' for text in one.beware)
    return (
        f'<div class="claim is-{verdict}"><div class="head"><h4>{_link(one.audited)}'
        f"</h4>{_badge(verdict)}"
        f'<span class="soft">{_e(one.audited.claim.source.item)}</span></div>'
        f"{_mathematics(one.audited.claim.statement)}<dl>{fails}</dl>"
        f"{_correction(one.audited.finding, 'instead', parts=False)}"
        f"{beware if one.correction else ''}</div>"
    )


def _reading(name: str) -> str:
    return f"<b>{_prose(name)}:</b> " if name else ""


# proofs ------------------------------------------------------------------------------


def _proofs(paper: Paper) -> Iterator[str]:
    if not paper.proofs:
        return
    yield '<section id="proofs"><h2>Proofs, step by step</h2><ul class="tree">'
    for tree in paper.proofs:
        yield _step(tree)
    yield "</ul></section>"


def _step(step: Step) -> str:
    one = step.audited
    unsettled = one.finding.verdict in (Verdict.REFUTED, Verdict.INCONCLUSIVE)
    why = f'<span class="why">{_prose(shortened(one.finding.reason, LINE))}</span>'
    tally = f'<span class="why soft">{_e(step.tally())}</span>' if step.below else ""
    again = ' <span class="soft">(steps above)</span>' if step.again else ""
    below = "".join(_step(part) for part in step.below)
    return (
        f"<li><div{' class=fails' if step.failing else ''}>"
        f"{_badge(one.finding.verdict)} {_link(one)} "
        f'<span class="soft">{_e(one.claim.source.item)}</span>{again}{tally}'
        f"{why if unsettled else ''}</div>{f'<ul>{below}</ul>' if below else ''}</li>"
    )


# claims ------------------------------------------------------------------------------


def _claim(one: Audited, beware: Sequence[str]) -> str:
    claim, finding = one.claim, one.finding
    key, refuted = _e(claim.id), finding.verdict == Verdict.REFUTED
    return "\n".join(
        [
            f'<article class="claim is-{finding.verdict}" id="{key}">',
            f'<div class="head"><h4><a href="#{key}">{key}</a></h4>',
            f"{_badge(finding.verdict)}",
            f'<span class="soft">{_e(claim.source.item)}</span></div>',
            _mathematics(claim.statement),
            f"<dl><dt>judged</dt><dd>{_prose(claim.proposition)}</dd>",
            f"<dt>scope</dt><dd>{_prose(finding.scope)}</dd>",
            f"<dt>reason</dt><dd>{_prose(finding.reason)}</dd>",
            *(f"<dt>beware</dt><dd>{_e(text)}</dd>" for text in beware),
            "</dl>",
            _correction(finding, "sharpened" if finding.passes() else "corrected"),
            _readings(finding),
            # that of readings which are all refuted is the first one's
            "" if refuted and finding.readings else _evidence(finding, True),
            _uses(finding),
            _control(one),
            _how(one),
            "</article>",
        ]
    )


def _correction(finding: Finding, label: str, *, parts: bool = True) -> str:
    fixed = finding.correction
    if fixed is None:
        return ""
    below_it = _readings(fixed.finding) + _evidence(fixed.finding, False)
    return (
        f'<div class="fix"><b>{label}</b> {_badge(fixed.finding.verdict)}'
        f"{_mathematics(fixed.statement)}"
        f'<p class="soft">{_prose(fixed.finding.scope)}</p>'
        f"{below_it if parts else ''}</div>"
    )


def _readings(finding: Finding) -> str:
    if not finding.readings:
        return ""
    rows = []
    first = True
    for names, found in alike(finding.readings):
        refuted = found.verdict == Verdict.REFUTED
        listed = "<br>".join(map(_prose, names))
        rows.append(
            f"<tr><td>{listed}</td><td>{_badge(found.verdict)}</td>"
            f"<td>{_prose(found.reason)}{_scope(found)}"
            f"{_correction(found, 'corrected')}"
            f"{_evidence(found, refuted and first)}</td></tr>"
        )
        first = first and not refuted
    return (
        '<table class="readings"><thead><tr><th>reading</th><th>verdict</th><th>reason'
        f"</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _scope(finding: Finding) -> str:
    if finding.verdict == Verdict.REFUTED:  # its scope is the counterexample
        return ""
    return f'<div class="soft">scope: {_prose(finding.scope)}</div>'


def _evidence(finding: Finding, opened: bool) -> str:
    """Show what the verdict rests on; an instance may stand open, in full."""
    shown = exhibit(finding.evidence)
    state = " open" if opened and shown.kind else ""
    out = []
    if shown.kind:
        out.append(
            f"<details{state}><summary>{_e(shown.about(shown.kind))}</summary>"
            f"{_rows(shown.instance + shown.comparison)}</details>"
        )
    if shown.rest:
        label = f"more on the {shown.kind}" if shown.kind else shown.about("evidence")
        out.append(
            f"<details{state}><summary>{_e(label)}</summary>"
            f"{_rows(shown.rest)}</details>"
        )
    return "".join(out) + _parts(finding)


def _parts(finding: Finding) -> str:
    """Show what a claim is made of as a tree to unfold, below how that adds up."""
    out = ""
    if finding.argument.strip():
        out = (
            "<details><summary>the argument</summary>"
            f'<pre class="argument">{_e(finding.argument)}</pre></details>'
        )
    if finding.parts:
        out += (
            f"<details><summary>all parts ({len(finding.parts)})</summary>"
            f"{_tree(finding)}</details>"
        )
    return out


def _tree(finding: Finding) -> str:
    fails = failing(finding)
    items = (_part(n, part, n == fails) for n, part in made_of(finding).items())
    return f'<ul class="parts">{"".join(items)}</ul>'


def _part(name: str, part: Finding, told: bool) -> str:
    """Show one part; of one that is told above, its evidence is not repeated."""
    head = f"{_badge(part.verdict)} <b>{_prose(name)}</b>"
    if made_of(part):
        more = "" if told else _evidence(replace(part, parts={}), False)
        more = _correction(part, "corrected") + more
        many = number_of(len(made_of(part)), "part")
        return (
            f"<li><details><summary>{head} ({many})</summary>"
            f"{_scope(part)}{more}{_tree(part)}</details></li>"
        )
    more = _correction(part, "corrected") + ("" if told else _evidence(part, False))
    return f"<li>{head} {_prose(part.reason)}{_scope(part)}{more}</li>"


def _rows(rows: Rows) -> str:
    body = "".join(
        f"<tr><td>{_prose(name)}</td><td><code>{_e(text)}</code></td></tr>"
        for name, text in rows
    )
    return f'<table class="rows">{body}</table>'


def _uses(finding: Finding) -> str:
    """Fold up all that provers were given, printed or used here alone."""
    found = ledger.uses(finding)
    if not found:
        return ""
    listed = "; ".join(f"<code>{_e(one)}</code>" for one in found)
    return (
        f'<details class="how"><summary>hypotheses used ({len(found)}), printed or not'
        f"</summary>{listed}</details>"
    )


def _control(one: Audited) -> str:
    if one.control is None:
        return f'<p class="how">control: none; {_prose(one.claim.no_control)}</p>'
    twin = in_a_row(one.claim.twin)
    fault = one.control_fault()
    said = f" <b>misbehaves: {_e(fault)}</b>" if fault else ""
    return (
        f'<details class="how"><summary>control: the {twin_of(one)} is '
        f"{_badge(one.control.verdict)}{said}</summary>"
        f"{_rows((('changed', twin), ('reason', one.control.reason)))}</details>"
    )


def _how(one: Audited) -> str:
    ways = " ".join(f"<code>{_e(way)}</code>" for way in commands(one.claim))
    ways += f" in {_e(file_of(one.claim))}"
    alone = script_of(one)
    if alone:
        ways += f"; its counterexample without flverify: <code>{_e(alone)}</code>"
    return f'<p class="how">judge it again: {ways}</p>'

r"""Pages in LaTeX: one article per paper, for pdflatex.

All text is escaped, statements are set as mathematics only if every command of theirs
is known, and formulas may be broken after commas and words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flverify import __version__
from flverify.claims.audit import Audited
from flverify.claims.verdict import Finding, Verdict
from flverify.report.claims import count_line, counts, twin_of
from flverify.report.exhibits import (
    Rows,
    alike,
    arguments,
    exhibit,
    first_parts,
    shortened,
)
from flverify.report.pages.latex_text import escaped as _e
from flverify.report.pages.latex_text import formula
from flverify.report.pages.mathematics import understood
from flverify.report.pages.model import (
    LINE,
    MEANINGS,
    Erratum,
    Paper,
    commands,
    file_of,
    script_of,
    title,
)
from flverify.report.pages.trees import Step

SUFFIX = "tex"
LONG = 300  # characters of evidence beside a counterexample

_PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{textcomp,amsmath,amssymb,xcolor}
\usepackage[margin=2.2cm]{geometry}
\definecolor{PROVED}{HTML}{00795A}
\definecolor{CERTIFIED}{HTML}{0072B2}
\definecolor{SUPPORTED}{HTML}{2A7FA8}
\definecolor{REFUTED}{HTML}{B34700}
\definecolor{INCONCLUSIVE}{HTML}{8A6300}
\newcommand{\markPROVED}{$\checkmark$}
\newcommand{\markCERTIFIED}{$\blacklozenge$}
\newcommand{\markSUPPORTED}{$\approx$}
\newcommand{\markREFUTED}{$\times$}
\newcommand{\markINCONCLUSIVE}{?}
\newcommand{\verdict}[1]{{\color{#1}\small\bfseries\csname mark#1\endcsname~#1}}
\newcommand{\ones}{\mathrm{1}\mkern-4.5mu\mathrm{l}}
\newcommand{\brk}{\penalty0\hskip0pt\relax}
\setlength{\parindent}{0pt}\setlength{\parskip}{.45em plus .2em}
\setcounter{secnumdepth}{0}\emergencystretch=4em\sloppy
\relpenalty=0\binoppenalty=0\raggedbottom
"""


def page(paper: Paper) -> str:
    """Return the page of a paper.

    Parameters
    ----------
    paper : Paper
    """
    body = [*_head(title(paper.key), paper.citation, paper.claims)]
    body += _errata(paper)
    body += _proofs(paper)
    for part in paper.parts:
        body.append(rf"\section{{{_e(part.heading)}}}")
        for one in part.claims:
            body += _claim(one, paper.beware[one.claim.id])
    return _document(body)


def index(papers: Sequence[Paper]) -> str:
    """Return the article that names those of the papers.

    Parameters
    ----------
    papers : sequence of Paper
    """
    everyone = [one for paper in papers for one in paper.claims]
    body = [*_head("What was found, paper by paper", "", everyone)]
    for paper in papers:
        body += [
            rf"\section{{{_e(title(paper.key))}}}",
            f"{_e(paper.citation)}\n",
            f"{_e(count_line(paper.claims))}; {paper.entries} in the "
            rf"errata. See \texttt{{{_e(paper.key)}.{SUFFIX}}}.",
        ]
    return _document(body)


def _document(body: Sequence[str]) -> str:
    last = rf"\bigskip Written by flverify {_e(__version__)}."
    middle = "\n".join(part for part in body if part)
    return f"{_PREAMBLE}\\begin{{document}}\n{middle}\n\n{last}\n\\end{{document}}\n"


def _head(name: str, citation: str, claims: Sequence[Audited]) -> Iterator[str]:
    yield rf"{{\LARGE\bfseries {_e(name)}\par}}"
    yield f"{_e(citation)}\n" if citation else ""
    yield f"{_e(count_line(claims))}.\n"
    yield r"\begin{tabular}{@{}lrl@{}}"
    for key, many in counts(claims).items():
        yield rf"\verdict{{{key}}} & {many} & {_e(MEANINGS[Verdict(key)])}\\"
    yield "\\end{tabular}\n"


def _verdict(verdict: Verdict) -> str:
    return rf"\verdict{{{verdict}}}"


def _mathematics(latex: str) -> str:
    """Set a formula in the text so that it can be broken; or show its source."""
    if not understood(latex):
        return rf"\begin{{quote}}\small\ttfamily {_e(latex)}\end{{quote}}"
    return rf"\begin{{quote}}{formula(latex)}\end{{quote}}"


# errata, proofs, claims --------------------------------------------------------------


def _name(one: Audited) -> str:
    return rf"\textbf{{{_e(one.claim.id)}}}"


def _errata(paper: Paper) -> Iterator[str]:
    if paper.errata:
        yield r"\section{Errata}"
    for one in paper.errata:
        yield from _erratum(one)


def _erratum(one: Erratum) -> Iterator[str]:
    claim, finding = one.audited.claim, one.audited.finding
    yield (
        rf"\medskip{_name(one.audited)} {_verdict(finding.verdict)}"
        rf"\hfill {_e(claim.source.item)}"
    )
    yield _mathematics(claim.statement)
    for name, reason in one.failures.items():
        under = f", {_e(name)}" if name else ""
        yield rf"\emph{{fails{under}:}} {_e(shortened(reason, LINE))}" + "\n"
    yield from _correction(finding, "instead", parts=False)
    yield from (_field("beware", text) for text in one.beware if one.correction)


def _proofs(paper: Paper) -> Iterator[str]:
    if paper.proofs:
        yield r"\section{Proofs, step by step}"
    for tree in paper.proofs:
        yield from _step(tree, 0)
        yield r"\medskip"


def _step(step: Step, depth: int) -> Iterator[str]:
    """Set a step as a paragraph of its own, indented: lists nest six times at most."""
    one = step.audited
    parts = [_verdict(one.finding.verdict), _name(one), _e(one.claim.source.item)]
    if step.again:
        parts.append("(steps above)")
    if step.below:
        parts.append(rf"\\* {{\small {_e(step.tally())}}}")
    if step.failing:
        reason = _e(shortened(one.finding.reason, LINE))
        parts.append(rf"\\* {{\small\color{{REFUTED}}fails: {reason}}}")
    yield rf"{{\leftskip={1.6 * depth:.1f}em {' '.join(parts)}\par}}"
    for below in step.below:
        yield from _step(below, depth + 1)


def _claim(one: Audited, beware: Sequence[str]) -> Iterator[str]:
    claim, finding = one.claim, one.finding
    yield (
        rf"\bigskip\hrule\medskip {_name(one)} {_verdict(finding.verdict)}"
        rf"\hfill {_e(claim.source.item)}"
    )
    yield _mathematics(claim.statement)
    yield _field("judged", claim.proposition)
    yield _field("scope", finding.scope)
    yield _field("reason", finding.reason)
    yield from (_field("beware", text) for text in beware)
    yield from _correction(finding, "sharpened" if finding.passes() else "corrected")
    for names, found in alike(finding.readings):
        told = f"{_verdict(found.verdict)} {_e(found.reason)}"
        yield rf"\emph{{reading}} {_e('; and '.join(names))}: {told}" + "\n"
        yield from _evidence(found)
    if not finding.readings:
        yield from _evidence(finding)
    yield _control(one)
    ways = ", ".join(rf"\texttt{{{_e(way)}}}" for way in commands(claim))
    yield rf"\emph{{judge it again:}} {ways} in \texttt{{{_e(file_of(claim))}}}" + "\n"
    if script_of(one):
        yield _field("its counterexample without flverify", script_of(one))


def _field(label: str, text: str) -> str:
    return rf"\emph{{{label}:}} {_e(text)}" + "\n"


def _correction(finding: Finding, label: str, *, parts: bool = True) -> Iterator[str]:
    if finding.correction:
        found = finding.correction.finding
        yield rf"\emph{{{label}:}} {_verdict(found.verdict)} {_e(found.scope)}"
        yield _mathematics(finding.correction.statement)
        yield from _evidence(found) if parts else ()


def _evidence(finding: Finding) -> Iterator[str]:
    shown = exhibit(finding.evidence)
    if shown.kind:
        values = "; ".join(f"{_e(n)} = {_e(v)}" for n, v in shown.instance)
        yield rf"{{\small\emph{{{_e(shown.about(shown.kind))}:}} {values}"
        yield from (f"\n{_e(name)}: {_e(text)}" for name, text in shown.comparison)
        yield "\\par}"
    if shown.rest:
        label = f"more on the {shown.kind}" if shown.kind else shown.about("evidence")
        rest = tuple(
            (name, text if shown.kind else shortened(text, LONG))
            for name, text in shown.rest
        )
        yield from _rows(label, rest)
    yield from _parts(finding)


def _parts(finding: Finding) -> Iterator[str]:
    """Show how a claim made of several adds up, and its parts in one list."""
    for text in arguments(finding):
        paragraphs = "\n\n".join(map(_e, text.split("\n\n")))
        yield rf"{{\small\emph{{the argument:}} {paragraphs}\par}}"
    rows = first_parts(finding, LONG)
    if rows:
        yield from _rows("all parts", rows)


def _rows(label: str, rows: Rows) -> Iterator[str]:
    yield rf"{{\small\emph{{{_e(label)}}}"
    yield r"\begin{description}\setlength{\itemsep}{0pt}\setlength{\parskip}{0pt}"
    for name, text in rows:
        yield rf"\item[{{{_e(name)}}}] {_e(text)}"
    yield r"\end{description}}"


def _control(one: Audited) -> str:
    if one.control is None:
        return _field("control", f"none; {one.claim.no_control}")
    fault = one.control_fault()
    said = rf" \textbf{{misbehaves: {_e(fault)}}}" if fault else ""
    verdict = _verdict(one.control.verdict)
    return rf"\emph{{control:}} the {twin_of(one)} is {verdict}{said}" + "\n"

"""Docstrings in numpy layout as paragraphs, lists and examples of a page.

They are plain text with `names` in single quotes, and x_i, sum_{i in S} and |x|^2 in
formulas: what looks like more markup, such as |x| or x_, is shown as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc

from docutils import nodes

UNDERLINE = re.compile(r"^-{3,}$")
CODE = re.compile(r"`([^`]+)`")
# one letter or a Greek one has indices; n_clients is a name, and stays
INDEX = r"(?:(?<=\b[A-Za-z])|(?<=eta|tau|rho)|(?<=mu)|(?<=sigma))_(\w{1,3})\b"
POWER = r"(?<=[\w|)\]}*])\^(\d+|[A-Za-z])\b"
SCRIPT = re.compile(rf"_\{{([^{{}}]*)\}}|{INDEX}|\^\{{([^{{}}]*)\}}|{POWER}")
LISTS = {"Parameters", "Returns", "Yields", "Raises"}


def parts(docstring: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the heading of each part, empty for the first, with its lines."""
    heading, held = "", list[str]()
    lines = cleandoc(docstring).splitlines()
    for place, line in enumerate(lines):
        if UNDERLINE.match(line):
            continue
        if place + 1 < len(lines) and UNDERLINE.match(lines[place + 1]):
            yield heading, held
            heading, held = line.strip(), []
        else:
            held.append(line)
    yield heading, held


def rendered(docstring: str) -> list[nodes.Node]:
    """Return a docstring as nodes."""
    out: list[nodes.Node] = []
    for heading, lines in parts(docstring):
        if heading:
            out.append(nodes.rubric("", heading))
        if heading == "Examples":
            out.append(_example(lines))
        elif heading in LISTS:
            out.append(_definitions(lines))
        else:
            out += _paragraphs(lines)
    return out


def line(text: str) -> list[nodes.Node]:
    """Return text with `names` as code."""
    out: list[nodes.Node] = []
    for place, piece in enumerate(CODE.split(text)):
        if place % 2:
            out.append(nodes.literal("", piece))
        else:
            out += _scripts(piece)
    return out


def _scripts(text: str) -> Iterator[nodes.Node]:
    """Yield text with what follows _ set lower and what follows ^ set higher."""
    done = 0
    for found in SCRIPT.finditer(text):
        if text[done : found.start()]:
            yield nodes.Text(text[done : found.start()])
        written = next(group for group in found.groups() if group is not None)
        lower = found.group().startswith("_")
        yield (nodes.subscript if lower else nodes.superscript)("", written)
        done = found.end()
    if text[done:]:
        yield nodes.Text(text[done:])


def _paragraphs(lines: list[str]) -> Iterator[nodes.paragraph]:
    for block in "\n".join(lines).strip().split("\n\n"):
        if block:
            yield nodes.paragraph("", "", *line(" ".join(block.split())))


def _definitions(lines: list[str]) -> nodes.definition_list:
    """Pair each term at the margin with the indented lines below it."""
    pairs: list[tuple[str, list[str]]] = []
    for text in lines:
        if text and not text.startswith(" "):
            pairs.append((text, []))
        elif text.strip() and pairs:
            pairs[-1][1].append(text.strip())
    out = nodes.definition_list()
    for term, below in pairs:
        meaning = nodes.definition("", nodes.paragraph("", "", *line(" ".join(below))))
        named = nodes.term("", "", nodes.literal("", term))
        out += nodes.definition_list_item("", named, meaning)
    return out


def _example(lines: list[str]) -> nodes.literal_block:
    text = "\n".join(lines).strip("\n")
    return nodes.literal_block(text, text, language="pycon")

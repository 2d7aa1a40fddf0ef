"""Directives that write the catalogues and the main functions from their docstrings."""

from __future__ import annotations

import importlib
import inspect
from typing import Any, ClassVar

from docstrings import line, rendered
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from flverify._core.catalogue import load, member_names


class Catalogue(SphinxDirective):
    """`{catalogue} flverify.participation`: every member, found as the package does."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a section for each public name of each member."""
        package = self.arguments[0]
        self.env.note_reread()  # a new file is a new member
        out = []
        for member in member_names(package):
            module = load(package, member)
            out += [section(self, module.__name__, name) for name in module.__all__]
        return out


class Functions(SphinxDirective):
    """`{functions}` with a dotted name on each line of its body."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return a section for each name."""
        out = []
        for dotted in filter(None, map(str.strip, self.content)):
            module, _, name = dotted.rpartition(".")
            out.append(section(self, module, name))
        return out


def section(directive: Directive, module: str, name: str) -> nodes.section:
    """Return one function or class: how it is called, and its docstring."""
    found = getattr(importlib.import_module(module), name)
    out = nodes.section(ids=[nodes.make_id(f"{module}-{name}")], names=[name])
    out += nodes.title("", "", nodes.literal("", name))
    directive.state.document.note_explicit_target(out)
    call = (
        f"from {shortest(module, name, found)} import {name}\n{name}{signature(found)}"
    )
    out += nodes.literal_block(call, call, language="python")
    out += rendered(inspect.getdoc(found) or "")
    source = getattr(found, "source", None)
    if source is not None:
        out += nodes.rubric("", "Source")
        out += nodes.paragraph("", "", *line(source.citation()))
    return out


def shortest(module: str, name: str, found: object) -> str:
    """Return the shortest package that offers this very object under its name."""
    parts = module.split(".")
    places = [".".join(parts[:many]) for many in range(1, len(parts) + 1)]
    return next(
        place
        for place in places
        if getattr(importlib.import_module(place), name, None) is found
    )


def signature(found: Any) -> str:
    """Return parameters and defaults without types; one per line if they are many."""
    parameters = inspect.signature(found).parameters.values()
    plain = [one.replace(annotation=one.empty) for one in parameters]
    short = str(inspect.Signature(plain))
    if len(short) <= 70:
        return short
    starred = any(one.kind is one.KEYWORD_ONLY for one in plain)
    listed = [str(one) for one in plain if one.kind is not one.KEYWORD_ONLY]
    listed += ["*"] if starred else []
    listed += [str(one) for one in plain if one.kind is one.KEYWORD_ONLY]
    return "(\n" + "".join(f"    {one},\n" for one in listed) + ")"


def setup(app: Sphinx) -> dict[str, bool]:
    """Make both directives known."""
    app.add_directive("catalogue", Catalogue)
    app.add_directive("functions", Functions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

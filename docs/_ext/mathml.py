"""Formulas as MathML, by the converter of the report: no script and no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from flverify.report.pages.mathematics import mathml


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula inside a line."""
    made = _converted(node).replace('displaystyle="true"', 'displaystyle="false"')
    self.body.append(f'<span class="formula">{made}</span>')
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    self.body.append(f'<div class="formula">{_converted(node)}</div>\n')
    raise nodes.SkipNode


def _converted(node: nodes.Element) -> str:
    latex = " ".join(node.astext().split())
    made = mathml(latex)
    if made is None:
        raise ExtensionError(f"no MathML for the formula {latex}")
    return made


def setup(app: Sphinx) -> dict[str, bool]:
    """Make `html_math_renderer = "mathml"` known."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

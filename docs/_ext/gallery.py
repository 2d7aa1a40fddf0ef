"""The directive `{gallery}`: figures drawn at build time from their stored tables."""

from __future__ import annotations

import os
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from flverify.report import style
from flverify.report.figures import find_figures, load_figure, make, stored_csv


class Gallery(SphinxDirective):
    """A section for each figure: title, picture, caption and command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections of the figures that have a stored table."""
        self.env.note_reread()
        names = [name for name in find_figures() if stored_csv(name).exists()]
        return [self._section(name) for name in names]

    def _section(self, name: str) -> nodes.section:
        folder = Path(self.env.doctreedir) / "figures"
        _, picture, caption = make(name, folder, "svg", stored=True)
        title, wide = load_figure(name).TITLE, load_figure(name).SIZE[0]
        text = caption.read_text(encoding="utf-8")
        out = nodes.section(ids=[f"figure-{name}"], names=[f"figure {name}"])
        out += nodes.title("", "", nodes.literal("", name), nodes.Text(f"  {title}"))
        self.state.document.note_explicit_target(out)
        uri = os.path.relpath(picture, Path(self.env.srcdir))
        share = f"{min(100, round(100 * wide / style.PAGE))}%"
        shown = nodes.image(uri=uri, alt=f"{name}: {title}", width=share)
        out += nodes.figure("", shown)
        for block in map(str.split, text.strip().split("\n\n")):
            if " ".join(block).rstrip(".") != title.rstrip("."):
                out += nodes.paragraph("", " ".join(block))
        command = f"flverify figure {name} --out pictures"
        out += nodes.literal_block(command, command, language="sh")
        return out


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

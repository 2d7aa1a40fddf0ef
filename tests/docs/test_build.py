"""The guide as built: no warning, no network, all members and figures, mathematics."""

from __future__ import annotations

import html
import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urldefrag

import pytest
from docutils.nodes import SkipNode, math
from sphinx.errors import ExtensionError

from flverify._core.catalogue import load, member_names
from flverify.report.figures import find_figures, load_figure, stored_csv

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LOADING = {"script": "src", "img": "src", "link": "href", "source": "src"}


class Page(HTMLParser):
    """What a page loads, links to and offers as a place to link to."""

    def __init__(self, path):
        super().__init__()
        self.loaded, self.links, self.places = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.places.add(found["id"])
        if tag in LOADING and LOADING[tag] in found:
            self.loaded.append(found[LOADING[tag]])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("guide")
    strict = ["-q", "-E", "-W", "--keep-going", "-b", "html"]
    folders = ["-d", str(out / "kept"), str(DOCS), str(out / "html")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *strict, *folders],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


def pages(folder):
    return sorted(folder.glob("*.html"))


def words(path):
    """Text of a page without its tags."""
    text = re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8"))
    return " ".join(html.unescape(text).split())


def test_every_page_is_built(built):
    made = {path.stem for path in pages(built)}
    assert made == {p.stem for p in DOCS.glob("*.md")} | {"genindex", "search"}


def test_nothing_is_loaded_from_elsewhere(built):
    for path in pages(built):
        for address in set(Page(path).loaded) - {"#"}:
            assert not re.match(r"\w+:|//", address), (path.name, address)
            assert (path.parent / unquote(address.partition("?")[0])).exists(), address
    for style in built.rglob("*.css"):
        loads = re.findall(r"url\([\"']?(?!data:)([^)\"']+)|@import", style.read_text())
        assert not [one for one in loads if re.match(r"\w+:|//", one)], style.name


def test_every_link_leads_somewhere(built):
    known = {path.name: Page(path) for path in pages(built)}
    for name, page in known.items():
        for link in page.links:
            address, place = urldefrag(link)
            if address and address not in known:
                assert re.match(r"\w+:", address) or (built / address).exists(), link
            else:
                target = known[address or name]
                assert not place or unquote(place) in target.places, (name, link)


def test_formulas_are_mathematics(built):
    for path in DOCS.glob("*.md"):
        text = re.sub(r"```.*?```|`[^`]*`", "", path.read_text("utf-8"), flags=re.S)
        formulas = re.findall(r"\$\$?[^$]+\$\$?", text)
        page = (built / f"{path.stem}.html").read_text(encoding="utf-8")
        outside = re.sub(r"<pre>.*?</pre>|<script.*?</script>", "", page, flags=re.S)
        assert page.count('class="formula"') == len(formulas), path.name
        assert "$" not in outside
        assert "MathJax" not in page


@pytest.mark.parametrize(
    ("page", "package"),
    [
        ("laws", "flverify.participation"),
        ("algorithms", "flverify.algorithms"),
        ("problems", "flverify.problems"),
    ],
)
def test_every_member_of_a_catalogue_is_shown(built, page, package):
    shown = words(built / f"{page}.html")
    marks = re.compile(r"[\s_^{}]")  # indices and powers are set without them
    tight = marks.sub("", shown)
    for member in member_names(package):
        for name in load(package, member).__all__:
            assert f"from {package} import {name}" in shown
            text = inspect.getdoc(getattr(load(package, member), name))
            for block in re.split(r"\n\n|^-+$", text.replace("`", ""), flags=re.M):
                assert marks.sub("", block) in tight, (name, block)


def test_every_stored_figure_is_shown(built):
    shown = words(built / "figures.html")
    names = [name for name in find_figures() if stored_csv(name).exists()]
    assert names
    for name in names:
        assert " ".join(load_figure(name).TITLE.split()) in shown
        assert (built / "_images" / f"{name}.svg").exists()


def extension(name):
    path = DOCS / "_ext" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"guide_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sum_{i in S} theta_j", "sum<i in S> theta<j>"),
        ("E|x_r - x*|^2 <= C rate^r", "E|x<r> - x*|[2] <= C rate[r]"),
        ("mean|grad f_i(x*)|^2, q_min", "mean|grad f<i>(x*)|[2], q<min>"),
        ("x^{(r)}_{t,i} and eta_s/N", "x[(r)]<t,i> and eta<s>/N"),
        ("n_clients of `x_r`, x_, step_sizes", "n_clients of `x_r`, x_, step_sizes"),
        ("no_control and 10^-6", "no_control and 10^-6"),
    ],
)
def test_indices_and_powers_of_docstrings_are_set_as_such(text, shown):
    marks = {"literal": "``", "subscript": "<>", "superscript": "[]"}
    found = ""
    for node in extension("docstrings").line(text):
        left, right = marks.get(node.__class__.__name__, ("", ""))
        found += f"{left}{node.astext()}{right}"
    assert found == shown


def test_a_formula_that_is_none_stops_the_build():
    module = extension("mathml")
    writer = SimpleNamespace(body=[])
    with pytest.raises(SkipNode):
        module.inline(writer, math("x^2", "x^2"))
    assert "<msup>" in writer.body[0]
    with pytest.raises(ExtensionError):
        module.inline(writer, math(r"\frac{1", r"\frac{1"))


def test_what_a_page_says_to_import_is_that_object(built):
    shown = words(built / "api.html")
    lines = re.findall(r"from (flverify\S*) import (\w+) \2\(", shown)
    assert len(lines) > 20
    for place, name in lines:
        assert callable(getattr(importlib.import_module(place), name)), (place, name)


def test_what_commands_print_is_as_dark_as_the_rest(built):
    sheets = [built / "_static" / name for name in ("pygments.css", "guide.css")]
    rules = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    colours = re.findall(r"\.highlight \.go \{ color: ([^;} ]+)", rules)
    assert colours[-1] == "inherit"

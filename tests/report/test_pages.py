"""Pages: what they say, in which order, and that no text can change a document."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.audit import Audited
from flverify.claims.claim import Claim
from flverify.claims.parts import together
from flverify.claims.registry import proofs_folder, shipped_claims
from flverify.claims.verdict import Correction, Finding, Verdict
from flverify.report.exhibits import (
    alike,
    every_step,
    exhibit,
    first_parts,
    told_once,
)
from flverify.report.pages import html, latex, markdown
from flverify.report.pages.allowed import COMMANDS
from flverify.report.pages.latex_text import escaped, formula
from flverify.report.pages.mathematics import mathml, understood
from flverify.report.pages.model import papers
from flverify.report.pages.trees import Step
from tests.explore.conftest import NAMES as CHROMIUM
from tests.explore.conftest import missing

HOSTILE = (
    "<script>alert(1)</script> &lt; &amp; \"q\" 'a' </details> <!-- ]]> $x$ %c #h _u_ "
    "*b* **c** [l](http://x) ![i](j) | ` `` ``` ~~s~~ ^^ {} }{ \\ \\\\ "
    "\\input{/etc/passwd} \\end{document} \\csname 1. -- é 数 @me"
)
FORMATS = [html, markdown, latex]
NAMES = ["html", "md", "tex"]


def made(key, verdict="PROVED", *, item="Section 9", paper="focus", **changed):
    """Make an audited claim without judging anything."""
    claim = Claim(
        key,
        Source(paper, item),
        changed.pop("statement", "x=1"),
        changed.pop("proposition", "p"),
        judged_by=exhibit,  # never called
        no_control="none needed here",
        path=Path("proofs/file.py"),
    )
    changed.setdefault("scope", "s")
    changed.setdefault("reason", "why")
    return Audited(claim, Finding(Verdict(verdict), **changed), None, 0.0)


def hostile():
    evidence = {
        "counterexample": {HOSTILE: HOSTILE},
        "left": HOSTILE,
        "relation": "<",
        "right": HOSTILE,
        "part": HOSTILE,
        HOSTILE: [HOSTILE],
    }
    leaf = Finding(Verdict.PROVED, HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    parts = {HOSTILE: leaf, f"{HOSTILE}2": replace(leaf, parts={HOSTILE: leaf})}
    inner = Finding(
        Verdict.REFUTED, HOSTILE, HOSTILE, evidence, parts=parts, argument=HOSTILE
    )
    one = made(
        f"demo.{HOSTILE}",
        "REFUTED",
        item=f"Lemma {HOSTILE}",
        statement=HOSTILE,
        proposition=HOSTILE,
        scope=HOSTILE,
        reason=HOSTILE,
        evidence=evidence,
        readings={HOSTILE: inner},
        correction=Correction(HOSTILE, inner),
    )
    claim = replace(one.claim, no_control="", constants={"c": 1}, twin={"c": HOSTILE})
    step = made(f"{claim.id}.step1", "REFUTED", reason=HOSTILE, item=HOSTILE)
    lines = {HOSTILE: [step.claim.id]}
    claim = replace(claim, given=lines, mended_from=lines)
    return [replace(one, claim=claim, control=inner), step]


@pytest.mark.parametrize("module", [html, markdown, latex], ids=NAMES)
@pytest.mark.parametrize(
    ("verdict", "control", "said"),
    [
        ("PROVED", "REFUTED", "the broken twin is"),
        ("REFUTED", "PROVED", "the mended twin is"),
        ("INCONCLUSIVE", "REFUTED", "the twin is"),
    ],
)
def test_the_twin_of_an_open_claim_is_not_called_mended(module, verdict, control, said):
    one = replace(made("demo.one", verdict), control=Finding(Verdict(control), "", ""))
    assert said in written(module, [one])[0]


def test_numbers_of_a_twin_are_written_as_numbers():
    one = made("demo.one")
    twin = {"terms": {"a": Fraction(1, 3)}, "caps": ("1", "1/2")}
    known = dict.fromkeys(twin)
    claim = replace(one.claim, no_control="", constants=known, twin=twin)
    control = Finding(Verdict.REFUTED, "", "")
    page, _ = written(html, [replace(one, claim=claim, control=control)])
    assert "terms = {a: 1/3}, caps = [1, 1/2]" in page


def written(module, audited):
    found = papers(audited)
    return [*(module.page(paper) for paper in found), module.index(found)]


# hostile text ------------------------------------------------------------------------


class Read(HTMLParser):
    """Tags, attributes and text of a page; void and open elements are counted."""

    VOID = frozenset({"meta", "wbr"})

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text, self.links = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self.links += [v for name, v in attrs if name in ("href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        raise AssertionError(data)


ALLOWED = set(
    re.findall(
        r"\w+",
        """html head meta title style body h1 h2 h3 h4 p b i a ul li nav section article
    div span code pre dl dt dd
    table thead tbody tr th td details summary wbr math mrow mi
    mn mo mfrac msup msub msubsup msqrt mover munder munderover mtext mspace mstyle
    mtable mtr mtd mroot mpadded""",
    )
)


def read(page):
    reader = Read()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert reader.tags <= ALLOWED
    return reader


def squeezed(text):
    return " ".join(text.split())


def test_hostile_text_is_only_text_in_html():
    page, index = written(html, hostile())
    reader = read(page)
    assert squeezed("".join(reader.text)).count(squeezed(HOSTILE)) >= 15
    assert all(link.startswith("#") for link in reader.links)
    read(index)


@pytest.mark.parametrize("name", ["_e"])
def test_a_page_without_escapes_would_be_noticed(monkeypatch, name):
    monkeypatch.setattr(html, name, lambda text: text)
    with pytest.raises(AssertionError):
        read(written(html, hostile())[0])


def test_hostile_text_is_only_text_in_markdown():
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True})
    page = written(markdown, hostile())[0]
    reader = Read()
    reader.feed(parser.enable("table").enable("strikethrough").render(page))
    assert squeezed("".join(reader.text)).count(squeezed(HOSTILE)) >= 12
    known = ALLOWED | {"em", "strong", "pre"}
    assert reader.tags <= known
    assert all(link.startswith("#") for link in reader.links)


def test_hostile_text_is_only_text_in_latex():
    page, index = written(latex, hostile())
    for text in (page, index):
        body = text.partition("\\begin{document}")[2]
        assert body.count("\\end{document}") == 1
        assert "\\input" not in body
        bare = re.sub(r"\\[\\{}$&#%_a-zA-Z]", "", body)
        assert bare.count("{") == bare.count("}")
        assert not re.search(r"[%#~^`\"<>|]", bare)


PDFLATEX = shutil.which("pdflatex")


@pytest.mark.skipif(PDFLATEX is None, reason="needs pdflatex")
def test_latex_compiles(tmp_path):
    shown = [*hostile(), made("focus.b", statement=r"\mathbb{1}\le\text{a }\frac12")]
    (tmp_path / "page.tex").write_text(written(latex, shown)[0], encoding="utf-8")
    ran = subprocess.run(
        [PDFLATEX, "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-800:]


def test_escaped_latex_reads_as_the_text():
    back = escaped("a_b % {50} \\x -- [y], 数").replace(r"\brk{}", "")
    assert back == r"a\_b \% \{50\} \textbackslash{}x -{}- {[}y{]}, {[}U+6570{]}"


# mathematics -------------------------------------------------------------------------


def shown(latex_text):
    reader = Read()
    reader.feed(mathml(latex_text))
    return "".join(reader.text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"\mathbb E\|\bar x_r\|_F^2\le\boldsymbol{x}", "𝔼‖x¯r‖F2≤𝒙"),
        (r"\min\Big\{\tfrac12,\mathsf T\Big\}", "min{12,𝖳}"),
        (r"\text{if }a<b\text{, as }\mathbb{1}", "if a<b, as 𝟙"),
        (r"V:=\big\langle x,y\big\rangle", "V:=⟨x,y⟩"),
    ],
)
def test_formulas_are_drawn_with_characters_every_browser_knows(source, text):
    assert shown(source) == text
    assert "mathvariant" not in mathml(source).replace('mathvariant="normal"', "")


@pytest.mark.parametrize(
    "source",
    [
        "",
        HOSTILE,
        r"\unknown x",
        r"\quadA",
        "{",
        "}{",
        r"\left( x",
        r"\begin{cases} x",
        r"\end{cases}\begin{cases}",
        r"\begin{verbatim}x\end{verbatim}",
        "a & b",
        "x^",
        "x_1_2",
        "100%",
        "$x$",
        r"\frac",
        r"\text",
    ],
)
def test_what_is_not_understood_is_shown_as_it_is(source):
    assert not understood(source)
    assert mathml(source) is None
    page = written(html, [made("focus.a", statement=source)])[0]
    assert squeezed(source) in squeezed("".join(read(page).text))


def test_lines_break_before_relations_and_not_in_short_brackets():
    pieces = mathml(r"A_{r+1}\le(1-\eta)B-C+f(-x)").split("<wbr>")
    texts = ["".join(re.findall(r">([^<]+)<", piece)) for piece in pieces]
    assert texts == ["Ar+1", "≤(1−η)B", "−C", "+f(−x)"]
    bars = mathml(r"E[\|x-y\|^2|F-G]+(a-|b-c|)=-d").split("<wbr>")
    assert len(bars) == 3


def test_a_formula_in_latex_keeps_everything_but_breaks():
    source = r"\eta\le\min\Big\{\frac{1}{2},q_\text{a}\Big\}\text{ and }\text{x\ y};\;z"
    made_up = formula(source)
    for mark in (r"\allowbreak", "$", r"\displaystyle", " "):
        made_up = made_up.replace(mark, "")
    assert made_up == source.replace(r"\text{ and }", "and").replace(" ", "")


def test_statements_of_the_papers_are_drawn():
    found = [key for key, one in shipped_claims().items() if understood(one.statement)]
    assert len(found) >= 0.98 * len(shipped_claims())


def test_latex_of_the_proofs_names_no_command_that_the_pages_do_not_know():
    unknown = {}
    for path in sorted(proofs_folder().glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str):
                named = re.findall(r"\\([a-zA-Z]+)", text.replace(r"\\", " "))
                unknown |= dict.fromkeys(set(named) - COMMANDS, path.name)
    assert unknown == {}


# order, errata, trees ----------------------------------------------------------------


def test_claims_stand_in_the_order_of_the_paper():
    items = {
        "a": "Appendix D.5, text after (101)",
        "b": "eq. (97)-(99)",
        "c": "Appendix E.3, closing text",
        "d": "Theorem 1, eq. (24), and Appendix D.6",
        "e": "Section 4.1, after eq. (8)",
        "f": "Section 12, nowhere",
        "g": "eq. (2a)-(2c)",
        "h": "Theorem 1, eq. (23), and Appendix D.5",
    }
    page = papers([made(f"focus.{key}", item=item) for key, item in items.items()])[0]
    assert "".join(one.claim.id[-1] for one in page.claims) == "gehdbacf"
    assert [part.heading for part in page.parts][-1] == "Claims"


def test_papers_without_an_outline_keep_their_order():
    page = papers([made(f"x.{n}", paper="wang2024") for n in (3, 1, 2)])[0]
    assert [one.claim.id for one in page.claims] == ["x.3", "x.1", "x.2"]


def test_errata_name_the_readings_that_fail():
    failing = Finding(Verdict.REFUTED, "s", "for (ii)")
    fine = Finding(Verdict.PROVED, "s", "for (i)")
    open_ = made("focus.a", "INCONCLUSIVE", readings={"(i)": fine, "(ii)": failing})
    page = papers([open_, made("focus.b"), made("focus.c", "REFUTED")])[0]
    found = {one.audited.claim.id: dict(one.failures) for one in page.errata}
    assert found == {"focus.a": {"(ii)": "for (ii)"}, "focus.c": {"": "why"}}


@pytest.mark.parametrize("item", ["Lemma 1; a question, not printed", "Lemma 1"])
def test_what_is_not_printed_is_no_erratum(item):
    (page,) = papers([made("focus.a", "REFUTED", item=item)])
    assert len(page.errata) == int("not printed" not in item)
    assert len(page.claims) == 1


@pytest.mark.parametrize("module", [html, markdown, latex])
def test_what_is_from_refuted_lines_says_so(module):
    fixed = Correction("y", Finding(Verdict.PROVED, "every N", ""))
    first, wrong = made("focus.lemma1"), made("focus.lemma2", "REFUTED")
    step = made("focus.step", correction=fixed)
    refuted = made("focus.other", "REFUTED", correction=fixed)
    lines = {"Lemma 2": ["focus.lemma2"], "Lemma 1": ["focus.lemma1"]}
    step = replace(step, claim=replace(step.claim, given=lines))
    refuted = replace(refuted, claim=replace(refuted.claim, mended_from=lines))
    page = squeezed(written(module, [first, wrong, step, refuted])[0])
    said = "Lemma 2, Lemma 1; REFUTED among these and what they are from: focus.lemma2"
    assert page.count(f"the claim is given {said}") == 1
    # of the correction in the errata, too
    assert page.count(f"the correction is given {said}") == 2
    harmless = written(module, [first, made("focus.lemma2"), step, refuted])[0]
    assert "eware" not in harmless


def test_refuted_lines_that_are_on_no_page_are_looked_up():
    step = made("focus.step")
    step = replace(step, claim=replace(step.claim, given={"(1)": ["focus.a"]}))
    ledger = {"focus.a": {"verdict": "REFUTED"}, "focus.step": {"verdict": "REFUTED"}}
    said = "the claim is given (1); REFUTED among these and what they are from: focus.a"
    assert papers([step], ledger)[0].beware == {"focus.step": (said,)}
    assert papers([step])[0].beware == {"focus.step": ()}


def drawn(step, depth=0):
    mark = "!" if step.failing else ""
    rest = [line for part in step.below for line in drawn(part, depth + 1)]
    return [f"{'.' * depth}{step.audited.claim.id}{mark}{'*' * step.again}", *rest]


def test_proofs_are_trees_of_lemmas_and_steps():
    claims = [
        made("focus.thm1.sc", item="Theorem 1, eq. (23)"),
        made("focus.thm1.sc.collected", item="Theorem 1, eq. (23)"),
        made("focus.thm1.sc.step97", "REFUTED", item="eq. (97)"),
        made("focus.thm1.pl", item="Theorem 1, eq. (24)"),
        made("focus.lemma4", item="Lemma 4, eq. (89)"),
        made("focus.lemma4.step95", item="eq. (95)"),
        made("focus.lemma4.step90", "REFUTED", item="eq. (90)"),
        made("focus.lemma4.extra", item="Lemma 4; a question"),
        made("focus.alone", item="eq. (1)"),
    ]
    trees = papers(claims)[0].proofs
    assert [drawn(tree) for tree in trees] == [
        [
            "focus.thm1.sc",
            ".focus.lemma4",
            "..focus.lemma4.step90!",
            "..focus.lemma4.step95",
            ".focus.thm1.sc.step97!",
            ".focus.thm1.sc.collected",
        ],
        ["focus.thm1.pl", ".focus.lemma4*"],
    ]
    assert trees[0].tally() == "2 of 5 steps and lemmas refuted"
    # those that the first tree shows count in the second one too
    assert trees[1].tally() == "1 of 3 steps and lemmas refuted"
    assert Step(claims[0]).below == ()


@pytest.mark.parametrize("module", FORMATS, ids=NAMES)
def test_a_failing_step_stands_out_with_word_and_reason(module):
    claims = [
        made("focus.lemma4", item="Lemma 4"),
        made("focus.lemma4.step90", "REFUTED", item="eq. (90)", reason="it fails here"),
    ]
    page = written(module, claims)[0]
    proof = page[page.index("step by step") :].partition("Appendix D.4")[0]
    assert "REFUTED" in proof
    assert "it fails here" in proof
    assert "1 of 1 steps and lemmas refuted" in proof


# evidence ----------------------------------------------------------------------------

LONG = f"{7**400}/{5**300}"


@pytest.mark.parametrize("module", FORMATS, ids=NAMES)
def test_counterexamples_are_shown_in_full(module):
    evidence = {
        "counterexample": {"x": LONG, "A": [["1/2", "0"]], "law": {"[1]": "1/3"}},
        "left": LONG,
        "relation": "<=",
        "right": "1/7",
    }
    one = made("focus.a", "REFUTED", item="eq. (1)", evidence=evidence)
    page = written(module, [one])[0].replace(r"\brk{}", "")
    assert page.count(LONG) >= 2
    assert "1/2" in page
    for word in ("flverify show focus.a", "flverify audit focus.a", "proofs/file.py"):
        assert word in page


@pytest.mark.parametrize("module", FORMATS, ids=NAMES)
def test_scripts_that_stand_beside_a_claim_are_named(module, tmp_path):
    file = tmp_path / "proofs" / "file.py"
    bad = Finding(Verdict.REFUTED, "s", "why")
    ones = [
        made("focus.a", "REFUTED"),
        made("focus.b", "INCONCLUSIVE", readings={"one": bad, "two": bad}),
        made("focus.c", "REFUTED"),  # which has no script
    ]
    ones = [replace(one, claim=replace(one.claim, path=file)) for one in ones]
    folder = file.parent / "counterexamples"
    folder.mkdir(parents=True)
    for name in ("focus.a", "focus.b.reading1", "focus.b.reading2"):
        (folder / f"{name}.py").touch()
    page = written(module, ones)[0].replace(r"\brk{}", "").replace("\\", "")
    assert page.count("without flverify") == 2
    assert page.count("proofs/counterexamples/focus.a.py") == 1
    assert page.count("proofs/counterexamples/focus.b.reading*.py") == 1


def test_evidence_is_sorted_and_nothing_is_dropped():
    found = exhibit({"methods": ["z3", "cvc5"], "a": {"b": {"c": 1}}, "left": "2"})
    assert found.rest == (("methods", "[z3, cvc5]"), ("a: b: c", "1"), ("left", "2"))
    assert exhibit({}).empty
    odd = exhibit({"parts": {"one": "no finding"}, "counterexample": "text"})
    assert odd.rest == (("parts: one", "no finding"), ("counterexample", "text"))
    named = exhibit({"witness": {"n": 3}, "part": "p", "left": "1/3", "right": "1"})
    assert (named.kind, named.part, named.instance) == ("witness", "p", (("n", "3"),))
    assert named.comparison[0] == ("left side", "1/3 (about 0.333333)")
    seen = exhibit({"part": "p", "seen": 19})
    assert (seen.kind, seen.rest, seen.about("evidence")) == (
        "",
        (("seen", "19"),),
        "evidence (p)",
    )
    assert exhibit({"part": "p"}).empty
    assert found.about("evidence") == "evidence"


def test_long_lists_are_kept_whole_where_that_is_asked_for():
    many = {"identities": [str(k) for k in range(40)]}
    assert "28 more, which `flverify show --all` lists" in exhibit(many).rest[0][1]
    assert "39]" in exhibit(many, whole=True).rest[0][1]


def proof():
    """A proof of two parts, the first of two steps, and how they add up."""
    step = Finding(Verdict.PROVED, "every N", "by z3", {"certificate": "u1 >= 0"})
    first = Finding(Verdict.PROVED, "N = 1", "listed", {"identities": ["one"]})
    grown = judge.all_of(
        {"a first case": first, "one more": step},
        scope="every N",
        argument="by induction",
    )
    return judge.all_of({"sums": grown, "last": step}, argument="PYTHAGORAS <i>")


@pytest.mark.parametrize("module", FORMATS, ids=NAMES)
def test_a_proof_is_shown_with_its_steps_and_its_argument(module):
    found = proof()
    for one in (
        made("focus.a", "REFUTED", correction=Correction("x=2", found)),
        made("focus.a", parts=found.parts, argument=found.argument),
    ):
        page = written(module, [one])[0]
        page = page.replace(r"\brk{}", "")
        assert "PYTHAGORAS" in page
        assert "<i>" not in page.partition("PYTHAGORAS")[2][:30] or module is markdown
        steps = ("a first case", "one more", "listed", "N = 1")
        for word in ("sums", "u1", *(steps if module is html else ["2 steps"])):
            assert word in page, word


@pytest.mark.slow
def test_what_is_folded_on_the_screen_is_printed(tmp_path):
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        missing("chromium is not installed")
    long = Finding(Verdict.PROVED, "s", "r", argument="a line\n" * 500)
    for many, folds in enumerate((long, replace(long, argument="", parts={"a": long}))):
        source = tmp_path / f"{many}.html"
        found = made("focus.a", parts=folds.parts, argument=folds.argument)
        source.write_text("".join(written(html, [found])))
        pdf = tmp_path / "page.pdf"
        asked = ["--headless", "--no-sandbox", "--disable-gpu"]
        asked += [f"--user-data-dir={tmp_path / 'own'}", f"--print-to-pdf={pdf}"]
        command = [program, *asked, source.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) > 5


@pytest.mark.parametrize("module", FORMATS, ids=NAMES)
def test_powers_of_evidence_are_written_as_those_of_the_print(module):
    computed = "L*eta**2 <= (1 - q)**(k - 1) + 2**-r"
    listed = {"given": [computed], "counterexample": {"N": 2}, "left": computed}
    at = Finding(Verdict.REFUTED, "counterexample", computed, listed)
    one = made("focus.a", "REFUTED", reason=computed, evidence=listed)
    one = replace(one, finding=replace(one.finding, readings={computed: at}))
    page = "".join(written(module, [one])).replace(r"\brk{}", "").replace("\\", "")
    assert "eta" in page
    assert not re.search(r"\*\*[2(-]", page)
    assert computed in one.finding.reason  # what is kept and compared is as it was


@pytest.mark.parametrize("module", [html, markdown], ids=["html", "md"])
def test_hypotheses_that_are_used_are_listed_once(module):
    used = {"given": ["eta <= 1/8", "x < y"], "assumed of the symbols": ["eta > 0"]}
    part = Finding(Verdict.PROVED, "every N", "by z3", used)
    search = Finding(Verdict.REFUTED, "counterexample", "1 <= 0", {"given": ["z < 0"]})
    listed = {"(i)": replace(part, evidence={}, parts={"a": part}), "(ii)": search}
    page = written(module, [made("focus.a", readings=listed)])[0]
    told = page.partition("hypotheses used (3), printed or not")[2]
    told = re.sub("<.?code>", "", told.partition("</details>")[0])
    assert "eta <= 1/8; eta > 0; x < y" in told.replace("&lt;", "<").replace(
        "&gt;", ">"
    )
    assert "hypotheses" not in written(module, [made("focus.a")])[0]


def test_indices_and_powers_of_prose_are_set_low_and_high():
    plain = "{x}_{a<b}, x_{r tau}, S^{t-1}, x_{t,i}^{(r)}, {1} and x_i"
    at = Finding(Verdict.REFUTED, "counterexample", "", {"counterexample": {plain: 1}})
    told = made("focus.a", proposition=plain, statement=plain, readings={"one": at})
    page = written(html, [told])[0]
    low, high = "x<sub>t,i</sub><sup>(r)</sup>", "S<sup>t-1</sup>"
    shown = "{x}_{a&lt;b}, x<sub>r tau</sub>, " + f"{high}, {low}, {{1}} and x_i"
    assert f"<dd>{shown}</dd>" in page
    assert f"<td>{shown}</td><td><code>1</code></td>" in page


def test_every_step_is_listed_with_what_it_rests_on():
    rows = [*every_step(proof())]
    assert rows[0] == ("sums", "PROVED (every N): 2 steps")
    assert ("  argument", "by induction") in rows
    assert ("  a first case", "PROVED (N = 1): listed") in rows
    assert ("    certificate", "u1 >= 0") in rows
    assert ("last", "PROVED (every N): by z3") in rows
    few = dict(first_parts(proof(), 60))
    assert few["sums"] == "PROVED (every N): 2 steps, see `flverify show --all`"
    assert few["last: certificate"] == "u1 >= 0"
    assert dict(first_parts(proof(), 6))["last"] == "PROVED... (23 characters)"


def test_evidence_told_with_the_whole_is_not_told_again():
    fails = Finding(Verdict.REFUTED, "counterexample", "1 <= 0", {"left": "1"})
    no, too = ("no", "REFUTED: 1 <= 0"), ("too", "REFUTED: 1 <= 0")
    refuted = judge.all_of({"no": fails, "too": fails})
    assert [*every_step(refuted)] == [no, too, ("  left", "1")]
    assert first_parts(refuted, 99) == (no, too, ("too: left", "1"))
    # a part of the same name as what fails inside another keeps its own
    fine = Finding(Verdict.PROVED, "every N", "by z3", {"certificate": "u1 >= 0"})
    whole = judge.all_of({"a": judge.all_of({"b": fails}), "b": fine})
    assert ("  certificate", "u1 >= 0") in [*every_step(whole)]
    assert "left" not in "".join(key for key, _ in every_step(whole))


def test_readings_of_parts_are_told_with_those_of_the_whole_alone():
    one = Finding(Verdict.PROVED, "every N", "by z3")
    other = Finding(Verdict.REFUTED, "counterexample", "1 <= 0")
    open_part = judge.readings({"a": one, "b": other})
    kept = told_once(together({"note": open_part, "sum": one}))
    assert dict(first_parts(kept, 99)) == {
        "note": "INCONCLUSIVE (by reading): its readings are below",
        "sum": "PROVED (every N): by z3",
    }
    assert len([*every_step(kept)]) == 2
    # where the whole does not list them, they are told with the part
    alone = told_once(judge.all_of({"note": open_part, "sum": one}))
    assert ("  reading b", "REFUTED: 1 <= 0") in [*every_step(alone)]


@pytest.mark.parametrize("module", FORMATS, ids=NAMES)
def test_readings_found_the_same_are_told_once(module):
    same = Finding(Verdict.SUPPORTED, "listed", "ONCE", {"left": "1"})
    other = Finding(Verdict.SUPPORTED, "listed", "ONCE", {"left": "2"})
    listed = {"first": same, "second": replace(same), "third": other}
    assert [names for names, _ in alike(listed)] == [["first", "second"], ["third"]]
    page = written(module, [made("focus.a", "PROVED", readings=listed)])[0]
    assert page.count("ONCE") == 2
    assert all(name in page for name in listed)


@pytest.mark.parametrize("module", FORMATS, ids=NAMES)
def test_counts_name_every_verdict(module):
    claims = [made(f"focus.{v}", v, item="eq. (1)") for v in Verdict for _ in "12"]
    for text in written(module, claims):
        assert all(verdict in text for verdict in Verdict)
        assert "10 claims: 2 PROVED, 2 CERTIFIED, 2 SUPPORTED, 2 REFUTED" in text


@pytest.mark.parametrize("module", FORMATS, ids=NAMES)
def test_one_entry_is_no_entries(module):
    claims = [made(f"focus.{n}", "REFUTED", item="eq. (1)") for n in "ab"]
    assert "1 claim: 1 REFUTED; 1 entry in the errata" in written(module, claims[:1])[1]
    assert "2 REFUTED; 2 entries in the errata" in written(module, claims)[1]

"""Scripts of refuted claims: they run alone, are short, and notice a changed number."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from fractions import Fraction

import pytest

from flverify.claims import counterexamples, judge, ledger
from flverify.claims.audit import audit
from flverify.claims.registry import claims_in, proofs_folder

LEDGER = proofs_folder() / "ledger.toml"
FOLDER = counterexamples.folder(LEDGER)
SCRIPTS = sorted(FOLDER.glob("*.py"))
ALLOWED = {"fractions", "itertools", "math"}


def run(text):
    command = [sys.executable, "-I", "-c", text]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def numbers(text):
    """Where the integers of the instance and of the sides stand."""
    body = text.partition("Fraction as F\n")[0].count("\n") + 1
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[:body])
    data = [
        m for m in re.finditer(r"(?<![\w.])\d+(?![\w.])", text) if m.start() > start
    ]
    return [m.span() for m in data]


def planted(text, span):
    """The script with one number larger by one."""
    begin, end = span
    return f"{text[:begin]}{int(text[begin:end]) + 1}{text[end:]}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_alone_and_confirms_its_counterexample(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= counterexamples.LONGEST
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, ast.Import)
        if isinstance(node, ast.ImportFrom):
            assert node.module in ALLOWED
    done = run(text)
    assert done.returncode == 0, done.stderr
    assert "fails" in done.stdout or "is not" in done.stdout or "below" in done.stdout


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_planted_number_makes_a_script_fail(path):
    # a number of the instance may be idle, all of them are not
    text = path.read_text(encoding="utf-8")
    outcomes = (run(planted(text, span)).returncode for span in numbers(text))
    assert any(outcomes)


def test_every_script_is_of_a_refuted_claim():
    refuted = {k for k, e in ledger.read(LEDGER).items() if e["verdict"] == "REFUTED"}
    assert {path.stem for path in SCRIPTS} <= refuted


# sympy decides this relation without a value of q, so there is nothing to recompute
WITHOUT: list[str] = []


def test_every_refuted_claim_has_a_script_but_those_named():
    assert counterexamples.without_script(ledger.read(LEDGER), FOLDER) == WITHOUT


def test_refuted_claims_without_a_script_are_named():
    entries = {"a": {"verdict": "REFUTED"}, "b": {"verdict": "PROVED"}}
    assert counterexamples.without_script(entries, FOLDER) == ["a"]


CLAIMS = """
import sympy
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim

x, lam = sympy.Symbol("x", positive=True), sympy.Symbol("B_{r-1}", nonnegative=True)
HERE = dict(source=Source("flverify", "example"), statement="", proposition="p",
            no_control="an example")

@claim("demo.implied", **HERE)
def implied(c):
    return judge.implied([x >= lam, x <= sympy.Rational(1, 2)], x**2 <= lam**2, "all")

@claim("demo.identity", **HERE)
def identity(c):
    return judge.identity([("square", (x + lam)**2, x**2 + lam**2)], "all")

@claim("demo.sign", **HERE)
def sign(c):
    return judge.nonnegative([("gap", x**2 - x)], "all")

@claim("demo.root", **HERE)
def root(c):
    return judge.identity([("root", sympy.sqrt(4 * x**2), 3 * x)], "all")

@claim("demo.case", **HERE)
def case(c):
    one = judge.Case({"x": "3"}, 9, 8, recheck=lambda: (9, 8))
    return judge.instances([one], "<=", "one number")
"""


@pytest.fixture
def judged(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CLAIMS, encoding="utf-8")
    return {one.claim.id: one for one in audit(claims_in([path]).values())}


@pytest.mark.parametrize("kind", ["implied", "identity", "sign", "root"])
def test_expressions_become_arithmetic(judged, kind):
    one = judged[f"demo.{kind}"]
    assert one.finding.verdict == "REFUTED"
    text = counterexamples.script(one, {})
    assert run(text).returncode == 0, text
    assert any(run(planted(text, span)).returncode for span in numbers(text))


def test_a_case_needs_a_body_and_the_body_is_checked(judged):
    one = judged["demo.case"]
    assert counterexamples.script(one, {}) is None
    body = 'left, right = F(at["x"]) ** 2, F(8)'
    text = counterexamples.script(one, {"demo.case": body})
    assert run(text).returncode == 0, text
    assert run(text.replace("'x': '3'", "'x': '4'")).returncode != 0
    wrong = counterexamples.script(one, {"demo.case": body.replace("8", "7")})
    assert run(wrong).returncode != 0
    long = counterexamples.script(one, {"demo.case": f"{body}\n" * 30})
    assert long is None


def test_scripts_are_written_and_removed(judged, tmp_path):
    book = tmp_path / "ledger.toml"
    assert counterexamples.renew(judged.values(), book) == []  # no folder
    folder = counterexamples.folder(book)
    folder.mkdir()
    assert counterexamples.renew(judged.values(), book) == ["demo.case"]
    assert (folder / "demo.sign.py").is_file()
    mended = judge.identity([("one", Fraction(1), 1)], "one")
    counterexamples.renew([_with(judged["demo.sign"], mended)], book)
    assert not (folder / "demo.sign.py").exists()


def _with(one, finding):
    return type(one)(one.claim, finding, None, 0.0)

"""Files of claims that lie, or whose checks are no functions, get one sentence."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

from flverify.claims import judge
from flverify.claims.audit import attempt, audit
from flverify.claims.fingerprint import fingerprint, reached
from flverify.claims.premises import circle
from flverify.claims.registry import claims_in, shipped_claims
from flverify.claims.verdict import Finding

HEAD = """
import random, time
import sympy
from fractions import Fraction
from itertools import count
from dataclasses import replace
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.verdict import Correction, Finding, Verdict

def told(name="demo.one", constants={"two": 2}, twin={"two": 3}, **more):
    return claim(name, source=Source("flverify", "example"), statement="1 = 1",
                 proposition="p", constants=constants, twin=twin, **more)

def true(left=2, right=2):
    return judge.identity([("it", left, right)], "a number")

x = sympy.Symbol("x", positive=True)
"""
BY_HAND = {
    "made": 'Finding(Verdict.PROVED if c.two == 2 else Verdict.REFUTED, "all", "mine")',
    "named": 'verdict.Finding(Verdict.PROVED, "all", "mine")',
    "changed": "replace(true(2, c.two), verdict=Verdict.PROVED)",
    "forced": 'object.__setattr__(true(2, c.two), "verdict", Verdict.PROVED)',
    "corrected": 'replace(true(), correction=Correction("2", true()))',
    "renamed": '(F := verdict.Finding) and F(Verdict.PROVED, "all", "mine")',
    "read": 'store.read_finding({"verdict": "PROVED"})',
    "updated": 'vars(true(2, 3)).update(verdict="PROVED")',
    "updated inside": 'true(2, 3).__dict__.update(verdict="PROVED")',
}
UNSEEN = {  # by whoever reads the file
    "its class": 'type(true())(Verdict.PROVED, "all", "mine")',
    "by a mapping": 'replace(true(2, 3), **{"verdict": Verdict.PROVED})',
    "asked for": 'getattr(verdict, "Find" + "ing")(Verdict.PROVED, "all", "mine")',
    "beside": "beside.made()",
}
BESIDE = """
from flverify.claims.verdict import Finding, Verdict
def made():
    return Finding(Verdict.PROVED, "all", "mine")
"""
UNSTEADY = {
    "random": "return judge.identity([('it', 2, c.two)], str(random.random()))\n",
    "clock": "return judge.identity([('it', 2, c.two)], str(time.time_ns()))\n",
    "calls": "SEEN.append(1)\n    return true(len(SEEN) % 2, 1)\nSEEN = []\n",
    "conclusion": "k = 2 + next(SEEN) % 2\n    return judge.identity("
    "[('it', k, k * Fraction(c.two, 2))], 'a number')\nSEEN = count()\n",
    "relation": "k = next(SEEN) % 2\n    return judge.implied("
    "[x <= sympy.Rational(1, 4) * (c.two - 1) ** 3], 3 * x <= 1 + k, 'all x')\n"
    "SEEN = count()\n",
}
ORDER = """
SEEN = []
@told("demo.one")
def one(c):
    SEEN.append(1)
    return true(2, c.two)
@told("demo.two")
def two(c):
    return true(2 if SEEN else 1, c.two)
"""
GIVEN = """
@told("demo.one", given={{"(2)": {one!r}}})
def one(c):
    return true(2, c.two)
@told("demo.two", given={{"(1)": {two!r}}})
def two(c):
    return true(2, c.two)
"""


def written(body, **how):
    more = "".join(f", {name}={value}" for name, value in how.items())
    return f"{HEAD}\n@told('demo.one'{more})\ndef one(c):\n    {body}\n"


@pytest.mark.parametrize("how", BY_HAND)
def test_a_verdict_is_not_made_by_hand(fails, write, how):
    path = write("mine.py", written(f"return {BY_HAND[how]}"))
    said = fails("audit", path)
    assert "verdicts must be made by the judge; mine.py, line 23, makes one" in said


@pytest.mark.parametrize("how", UNSEEN)
def test_nor_where_a_reader_would_not_see_it(fails, write, monkeypatch, how):
    beside = write("beside.py", BESIDE)
    monkeypatch.syspath_prepend(str(Path(beside).parent))
    body = f"import beside\n    return {UNSEEN[how]}"
    said = fails(
        "audit",
        write("mine.py", "from flverify.claims import verdict\n" + written(body)),
    )
    assert "verdicts must be made by the judge; a file of claims" in said


@pytest.mark.parametrize("key", ["'verdict'", "'ver' + 'dict'", "c.key"])
@pytest.mark.parametrize("inside", ["vars(f)", "f.__dict__"])
def test_nor_is_one_changed_where_it_stands(fails, write, inside, key):
    body = f"f = true(2, 3)\n    {inside}[{key}] = 'PROVED'\n    return f"
    said = fails("audit", write("mine.py", written(body)))
    assert "verdicts must be made by the judge; mine.py, line 24, makes one" in said


def test_nor_as_one_of_another_kind(fails, write):
    """Seen in the file, and where the class is made if it is not."""
    body = "class Mine({}):\n        def __post_init__(self): pass\n    return Mine()"
    head = "from flverify.claims import verdict\n"
    for base in ("Finding", "verdict.Finding"):
        said = fails("audit", write("mine.py", head + written(body.format(base))))
        assert "verdicts must be made by the judge; mine.py" in said
    body = body.format("type(true())")
    said = fails("audit", write("mine.py", head + written(body)))
    assert "there is one kind of finding; got another one, Mine" in said


def test_nor_under_another_name(fails, write):
    text = written("return F('PROVED', 'all', 'mine')")
    renamed = "from flverify.claims.verdict import Finding as F\n"
    assert "made by the judge" in fails("audit", write("mine.py", renamed + text))


EXCHANGED = {
    "a function": ("judge.identity = lambda *_: 1", "claims.judge.identity"),
    "its code": ("judge.implied.__code__ = told.__code__", "claims._provers.implied"),
    "a method": ("Finding.passes = lambda _: True", "claims.verdict.Finding.passes"),
    "by name": (
        "setattr(Claim, 'control', lambda _: None)",
        "claims.claim.Claim.control",
    ),
}


@pytest.mark.parametrize("when", ["as it is read", "in a check"])
@pytest.mark.parametrize("how", EXCHANGED)
def test_no_function_of_the_package_is_exchanged(fails, write, how, when):
    line, name = EXCHANGED[how]
    begun = vars(judge)["identity"], judge.implied.__code__, vars(Finding)["passes"]
    head = "from flverify.claims.claim import Claim\n"
    if when == "in a check":
        path = write("mine.py", head + written(f"{line}\n    return true(2, c.two)"))
    else:
        path = write("mine.py", head + written("return true(2, c.two)") + f"{line}\n")
    said = fails("audit", path)
    assert "must leave the package that judges them as it is" in said
    assert name in said
    now = vars(judge)["identity"], judge.implied.__code__, vars(Finding)["passes"]
    assert now == begun


@pytest.mark.parametrize(
    "change",
    ["evidence['left'] = 1", "evidence.clear()", "parts.update(a=f)", "readings |= {}"],
)
def test_what_a_finding_holds_stays(fails, write, change):
    body = f"f = true(2, c.two)\n    f.{change}\n    return f"
    said = fails("audit", write("mine.py", written(body)))
    assert "must stay as the judge made it" in said or "cannot assign" in said


@pytest.mark.parametrize("how", ["os._exit(0)", "os.abort()"])
def test_no_check_ends_the_process(fails, write, how):
    body = f"import os\n    {how}\n    return true()"
    assert "ends the process" in fails("audit", write("mine.py", written(body)))


def test_findings_are_copied_and_sent_to_other_processes():
    found = judge.identity([("it", 1, 2)], "a number")
    sent = pickle.loads(pickle.dumps(found))  # noqa: S301 - written a moment ago
    for again in (copy.deepcopy(found), sent):
        assert again == found
        assert type(again.evidence) is type(found.evidence)
    assert json.loads(json.dumps(found.evidence)) == found.evidence


@pytest.mark.parametrize("how", UNSTEADY)
@pytest.mark.parametrize("command", [("audit",), ("show", "demo.one", "--file")])
def test_a_check_finds_the_same_whenever_it_runs(fails, write, how, command):
    path = write("mine.py", written(UNSTEADY[how]))
    assert "judged twice, demo.one: " in fails(*command, path)


def test_a_verdict_does_not_depend_on_what_was_judged_before(run, write):
    ran = run("audit", write("mine.py", HEAD + ORDER))
    assert ran.code == 2
    assert "judged twice, demo.two: PROVED -> REFUTED" in ran.stderr


def test_a_check_changes_no_constants_for_the_next(write):
    body = "c.many.append(1)\n    return true(len(c.many), c.two)"
    constants = {"many": [1], "two": 2}
    path = write("mine.py", written(body, constants=constants))
    claim = claims_in([path])["demo.one"]
    assert [str(claim.check().verdict) for _ in range(2)] == ["PROVED", "PROVED"]
    assert claim.constants == constants


@pytest.mark.parametrize(
    "names", ["{1: true(), '1': true()}", r"{'a b': true(), 'a  b': true()}"]
)
@pytest.mark.parametrize("how", ["readings", "all_of"])
def test_readings_and_parts_are_told_apart(fails, write, names, how):
    path = write("mine.py", written(f"return judge.{how}({names})"))
    assert "findings must have names of their own" in fails("audit", path)


@pytest.mark.parametrize("where", ["scope", "part", "statement"])
def test_half_a_letter_is_no_text(fails, write, where):
    one = {
        "scope": r"judge.identity([('it', 2, c.two)], 'all \ud800')",
        "part": r"judge.all_of({'\ud800': true(2, c.two)})",
        "statement": r"true(2, c.two).corrected('\ud800', true())",
    }[where]
    path = write("mine.py", written(f"return {one}"))
    assert "demo.one says must be text that can be written" in fails("audit", path)


def test_a_twin_that_is_the_print_is_none(fails, write):
    path = write("mine.py", written("return true(2, c.two)", twin={"two": 2}))
    assert "must give a constant another value" in fails("audit", path)


@pytest.mark.parametrize(
    ("statement", "fault"), [("1  =  1", True), ("1=1", True), ("1 = 2", False)]
)
def test_a_correction_that_repeats_the_print_is_a_fault(write, statement, fault):
    body = f"return true(2, c.two).corrected({statement!r}, true())"
    path = write("mine.py", written(body, constants={"two": 3}, twin={"two": 2}))
    (one,) = audit(claims_in([path]).values())
    assert one.control_fault().startswith("the correction repeats") is fault


def test_a_correction_of_a_correction_is_not_refuted_either(write):
    body = "return true(2, c.two).corrected('2', true().corrected('3', true(2, 3)))"
    path = write("mine.py", written(body, constants={"two": 3}, twin={"two": 2}))
    (one,) = audit(claims_in([path]).values())
    assert one.control_fault().startswith("the correction is REFUTED")


def test_what_is_free_is_read(write):
    free = "Free('cap', 0, 5, weaker='smaller')"
    constants = {"two": 2, "cap": 1}
    for body, said in {
        "return true(2, c.two)": "['cap'], which it does not read",
        "return true(2, c.two * c.cap)": "",
        "return true(2, vars(c)['two'])": "",
    }.items():
        path = write("mine.py", written(body, constants=constants, free=free))
        one = attempt(claims_in([path])["demo.one"])
        assert said in getattr(one, "why", "")
        assert bool(said) is hasattr(one, "why")


@pytest.mark.parametrize("error", ["Odd('x')", "judge.sympy.PolynomialError('x')"])
def test_any_exception_of_a_check_is_one_sentence(fails, write, error):
    text = written(f"raise {error}") + "class Odd(Exception): pass\nimport sympy\n"
    text += "judge.sympy = sympy\n"
    said = fails("audit", write("mine.py", text))
    assert "must run without an exception; it raised" in said


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        ("demo.two", "demo.one", "a circle of demo.one, demo.two"),
        ("demo.one", "demo.one", "a circle of demo.one;"),
        ("demo.tow", "demo.one", "got demo.tow; did you mean demo.two"),
    ],
)
def test_what_is_given_is_judged_elsewhere(fails, write, one, two, said):
    path = write("mine.py", HEAD + GIVEN.format(one=one, two=two))
    assert said in fails("audit", path)
    assert said in fails("show", "demo.one", "--file", path)


def test_a_shipped_line_that_is_refuted_is_named_beside_an_own_claim(run, write):
    text = HEAD + GIVEN.format(one="agnostic.eq7.outside", two="demo.one")
    ran = run("show", "demo.one", "--file", write("mine.py", text))
    said = " ".join(ran.stdout.split())
    assert "beware" in said
    assert "agnostic.eq7.outside, REFUTED" in said


def test_shipped_claims_are_given_nothing_in_a_circle():
    assert circle(shipped_claims()) == []


def test_names_that_resolve_on_use_count(write):
    path = write("mine.py", "from flverify import moments\n")
    assert "_moments.py" in {one.name for one in reached(path)}
    assert not reached(write("other.py", "import json\n"))


def test_modules_beside_a_file_count(write, tmp_path):
    path = write("mine.py", "import beside\nimport whole.part\n")
    (tmp_path / "whole").mkdir()
    seen = [fingerprint(path)]
    for name, text in {
        "beside.py": "import further\n",
        "further.py": "x = 1\n",
        "whole/part.py": "x = 2\n",
        "whole/other.py": "def broken(:\n",
    }.items():
        (tmp_path / name).write_text(text)
        seen.append(fingerprint(path))
    (tmp_path / "further.py").write_text("x = 2\n")
    assert len({*seen, fingerprint(path)}) == 6

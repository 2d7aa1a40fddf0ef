"""`flverify audit`: verdicts, ledgers, controls that misbehave, damaged files."""

from __future__ import annotations

import json
import tomllib

import pytest

from flverify.claims import registry

FAULTY = """
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim


@claim("demo.faulty", source=Source("flverify", "example"), statement="1+1=2",
       proposition="p", constants={"two": 2, "idle": 0}, twin={"idle": 1})
def total(c):
    return judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")
"""

STEPS = """
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim


def step(name, constant, twin, given):
    @claim(f"demo.{name}", source=Source("flverify", "example"), statement="1+1=2",
           proposition="p", constants={"two": constant}, twin={"two": twin},
           given=given)
    def total(c):
        return judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")

    return total


first = step("first", FIRST, 5 - FIRST, {})
second = step("second", 2, 3, {"(1)": "demo.first"})
third = step("third", 2, 3, {"(2)": "demo.second"})
"""


def ledger_of(path):
    return path.with_suffix(".ledger.toml")


def test_a_file_without_ledger_is_only_reported(run, claims):
    ran = run("audit", claims)
    assert ran.code == 0
    assert ran.stderr == ""
    words = " ".join(ran.stdout.split())
    assert "demo.sum PROVED the two numbers" in words
    assert "demo.less REFUTED counterexample 1 < 1 fails at x = 1" in words
    assert "3 claims: 1 PROVED, 1 REFUTED, 1 INCONCLUSIVE" in words
    assert "absent, nothing to compare with" in words
    assert not ledger_of(claims).exists()


@pytest.mark.parametrize(("first", "warned"), [(2, []), (3, ["second", "third"])])
def test_what_is_derived_from_a_refuted_line_is_told(run, write, first, warned):
    path = write("steps.py", STEPS.replace("FIRST", str(first)))
    ran = run("audit", path)
    assert ran.code == 0
    words = " ".join(ran.stdout.split())
    for name, line in (("second", "(1)"), ("third", "(2)")):
        why = f"given {line}; REFUTED among these and what they are from: demo.first"
        assert (f"beware: demo.{name} is {why}" in words) is (name in warned)
    as_data = json.loads(run("audit", path, "--json").stdout)
    assert list(as_data["derived_from_refuted"]) == [f"demo.{one}" for one in warned]


def test_the_ledger_is_written_kept_and_compared(run, claims):
    assert run("audit", claims, "--update-ledger").code == 0
    kept = tomllib.loads(ledger_of(claims).read_text())["claims"]
    assert kept["demo.less"] == {"verdict": "REFUTED", "control": "SUPPORTED"}
    assert kept["other.reading"]["readings"] == {"one": "PROVED", "two": "REFUTED"}
    same = run("audit", claims)
    assert same.code == 0
    assert "all verdicts agree with the ledger" in same.stdout


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"two": 2}', '"two": 5}', "demo.sum: PROVED -> REFUTED"),
        ("[1/1]", "[1/1]", ""),
        (
            '("second", 1, 2)',
            '("second", 1, 1)',
            "other.reading: INCONCLUSIVE -> PROVED",
        ),
        ('"two": two}', '"2": two}', "other.reading: readings: two: REFUTED"),
        ('"demo.less"', '"demo.more"', "in the ledger, but there is no such claim"),
        ('twin={"one": Fraction(1, 2)}', 'twin={"one": Fraction(2)}', "misbehaves"),
    ],
)
def test_a_planted_change_differs_from_the_ledger(run, claims, old, new, says):
    run("audit", claims, "--update-ledger")
    before = ledger_of(claims).read_text()
    claims.write_text(claims.read_text().replace(old, new))
    ran = run("audit", claims)
    assert ran.code == (1 if says else 0)
    assert says in " ".join(ran.stdout.split())
    assert ("all verdicts agree" in ran.stdout) is (not says)
    assert ledger_of(claims).read_text() == before


def test_a_control_that_misbehaves_is_never_written(run, write):
    path = write("faulty.py", FAULTY)
    ran = run("audit", path, "--update-ledger")
    assert ran.code == 1
    assert "control misbehaves: demo.faulty: the broken twin is PROVED" in ran.stdout
    assert "not written" in ran.stdout
    assert not ledger_of(path).exists()


BROKEN = """

@claim("demo.broken", source=HERE, statement="1", proposition="p", no_control="none")
def broken(c):
    return c.nothing
"""


def test_no_ledger_is_written_without_a_claim_whose_check_failed(run, claims):
    claims.write_text(claims.read_text() + BROKEN)
    ran = run("audit", claims, "--update-ledger")
    assert ran.code == 2
    assert "3 claims: 1 PROVED" in ran.stdout
    assert "the check of demo.broken" in ran.stderr
    assert not ledger_of(claims).exists()


def test_the_json_file_has_the_records(run, claims, tmp_path):
    path = tmp_path / "report.json"
    run("audit", claims, "--out", path)
    report = json.loads(path.read_text())
    assert report["format"] == "flverify/audit"
    assert report["version"] == 1
    assert report["counts"]["PROVED"] == 1
    assert report["counts"]["CERTIFIED"] == 0
    assert report["differences"] == []
    assert report["control_faults"] == {}
    records = {one["id"]: one for one in report["claims"]}
    asked = {"id", "verdict", "scope", "reason", "readings", "source", "statement"}
    asked |= {"control_verdict", "correction", "seconds"}
    assert all(asked <= one.keys() for one in records.values())
    assert records["demo.sum"]["statement"] == "1+1=2 [b]x[/b]"
    assert records["demo.sum"]["readings"] == []
    assert records["demo.less"]["control_verdict"] == "SUPPORTED"
    assert records["demo.less"]["evidence"]["counterexample"] == {"x": "1"}
    assert records["other.reading"]["control_verdict"] is None
    assert [r["reading"] for r in records["other.reading"]["readings"]] == [
        "one",
        "two",
    ]
    left = {one.name for one in tmp_path.iterdir() if one.name != "__pycache__"}
    assert left == {"mine.py", "report.json"}


def shipped_by(monkeypatch, folder):
    monkeypatch.setattr(registry, "proofs_folder", lambda: folder)


def test_prefixes_choose_and_keep_the_rest_of_the_ledger(run, claims, monkeypatch):
    shipped_by(monkeypatch, claims.parent)
    ledger = claims.parent / "ledger.toml"
    assert run("audit").code == 1  # shipped claims must have a ledger
    assert run("audit", "--update-ledger").code == 0
    assert run("audit", "--fresh", "--workers", 2).code == 0
    whole = ledger.read_text()
    claims.write_text(claims.read_text().replace('"two": 2}', '"two": 5}'))
    assert run("audit", "demo.less").code == 0
    assert run("audit", "demo").code == 1
    ran = run("audit", "demo.sum", "other", "--out", claims.parent / "r.json")
    assert ran.code == 1
    assert "2 claims" in ran.stdout
    claims.write_text(claims.read_text().replace('"two": 5}', '"two": 2}'))
    assert run("audit", "demo", "--update-ledger").code == 0
    assert ledger.read_text() == whole


BODY = """[kinds.one]
claims = ["demo.less"]
body = 'left, right = F(at["x"]), F(1)'
"""


def test_a_script_of_another_counterexample_is_noticed(run, claims, monkeypatch):
    shipped_by(monkeypatch, claims.parent)
    scripts = claims.parent / "counterexamples"
    scripts.mkdir()
    (scripts / "bodies.toml").write_text(BODY)
    assert run("audit", "--update-ledger").code == 0
    assert run("audit").code == 0
    one = scripts / "demo.less.py"
    text = one.read_text()
    one.write_text(text.replace("1", "2"))
    ran = run("audit")
    assert ran.code == 1
    assert "demo.less: its script tells of another counterexample" in ran.stdout
    assert "demo.less" in run("audit", "--json").json["differences"][0]
    assert run("audit", "demo.sum").code == 0
    assert run("audit", "--update-ledger").code == 0
    assert one.read_text() == text
    one.unlink()  # the ledger's own tests say which must be there
    assert run("audit").code == 0


def test_own_files_stand_beside_prefixes(run, claims, write, monkeypatch, tmp_path):
    (tmp_path / "shipped").mkdir()
    text = claims.read_text().replace('"demo.', '"ours.').replace('"other.', '"ours.')
    (tmp_path / "shipped" / "ours.py").write_text(text)
    shipped_by(monkeypatch, tmp_path / "shipped")
    run("audit", "--update-ledger")
    ran = run("audit", "ours.sum", claims)
    assert ran.code == 0
    assert "4 claims" in ran.stdout
    assert "mine.ledger.toml: absent" in ran.stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("def broken(:", "must be valid Python"),
        ("x = 1", "must define at least one"),
        ("import no_such_module_at_all", "ModuleNotFoundError"),
        ("x = 1/0", "ZeroDivisionError"),
        ("undefined", "line 1"),
        ("raise SystemExit(0)", "SystemExit"),
        (FAULTY.replace("1 + 1, c.two", "1 + 1, c.three"), "check of demo.faulty"),
        (FAULTY.replace("return judge", "judge"), "must return a finding"),
        (FAULTY.replace('"idle": 1', '"lazy": 1'), "must change constants"),
        (FAULTY.replace('"flverify", "ex', '"nobody", "ex'), "bibliography"),
        (FAULTY + FAULTY.replace("total", "again"), "an id of its own"),
        (FAULTY + FAULTY, "an id of its own"),
        (FAULTY + FAULTY.replace("demo.faulty", "demo.other"), "a name of its own"),
        (f"{FAULTY}\nkept = [total]\ndel total", "demo.faulty of mine.py has none"),
    ],
)
def test_damaged_files_of_claims(fails, write, tmp_path, content, says):
    report = tmp_path / "report.json"
    assert says in fails("audit", write("mine.py", content), "--out", report)
    assert not report.exists()


@pytest.mark.parametrize(
    "content",
    ["[claims", '[claims."demo.sum"]\nverdict = "MAYBE"', "[claims]\nx = 3", "\x00"],
)
def test_a_damaged_ledger_can_be_regenerated(run, fails, claims, content):
    ledger_of(claims).write_text(content)
    assert "ledger" in fails("audit", claims)
    assert ledger_of(claims).read_text() == content
    assert run("audit", claims, "--update-ledger").code == 0
    assert run("audit", claims).code == 0


def test_what_changed_since_an_earlier_audit_is_told(run, fails, claims, write):
    old = claims.parent / "old.json"
    assert run("audit", claims, "--out", old).code == 0
    assert "changed: " not in run("audit", claims, "--compare", old).stdout
    content = json.loads(old.read_text())
    assert content["claims"][0]["id"] == "demo.sum"
    content["claims"][0]["verdict"] = "REFUTED"
    content["claims"][1]["id"] = "demo.gone"
    words = run("audit", claims, "--compare", write("old.json", content)).stdout
    told = [line for line in words.splitlines() if line.startswith("changed: ")]
    assert told == [
        "changed: demo.sum: REFUTED -> PROVED",
        "changed: demo.less: new, REFUTED",
        "changed: demo.gone: was REFUTED, not judged now",
    ]
    for damaged in ("[", [], {"format": "flverify/law", "claims": []}):
        path = write("damaged.json", damaged)
        assert "must be a file of" in fails("audit", claims, "--compare", path)
    missing = claims.parent / "none.json"
    assert "must be readable" in fails("audit", claims, "--compare", missing)


def test_other_bad_input(fails, claims, tmp_path):
    assert "must match a claim" in fails("audit", "no.such.id")
    assert "must be a Python file" in fails("audit", tmp_path / "missing.py")
    assert "must match a claim" in fails("audit", tmp_path)
    assert "folder" in fails("audit", claims, "--out", tmp_path / "no" / "r.json")
    assert "must name a file" in fails("audit", claims, "--out", tmp_path)
    assert "requires an argument" in fails("audit", "--out")
    assert "No such option" in fails("audit", "--all")
    double = tmp_path / "double.py"
    double.write_text(claims.read_text())
    assert "two files" in fails("audit", claims, double)


def test_claims_and_ledgers_are_not_written_over(run, fails, claims):
    run("audit", claims, "--update-ledger")
    ledger = claims.with_suffix(".ledger.toml")
    before = claims.read_text(), ledger.read_text()
    said = fails("audit", claims, "--out", claims)
    assert "--out must name another file than a file of claims" in said
    assert "than a ledger" in fails("audit", claims, "--out", ledger)
    assert (claims.read_text(), ledger.read_text()) == before


RAISES = """

@claim("demo.raises", source=HERE, statement="", proposition="it raises",
       constants={"two": 2}, twin={"two": 3})
def raises(c):
    return 1 / (c.two - c.two)
"""


@pytest.mark.parametrize("wrong", ["c.three", "Fraction('x')"])
def test_what_a_check_raises_is_told_with_its_own_line(run, claims, wrong):
    content = claims.read_text(encoding="utf-8") + RAISES.replace(
        "1 / (c", f"{wrong} / (c"
    )
    claims.write_text(content, encoding="utf-8")
    line = 1 + next(i for i, one in enumerate(content.splitlines()) if wrong in one)
    ran = run("audit", claims)
    assert f" ({claims.name}, line {line}); mend it." in ran.stderr
    assert ". (" not in ran.stderr


def test_a_claim_that_raises_is_an_error_and_the_others_are_judged(run, claims):
    run("audit", claims, "--update-ledger")
    before = ledger_of(claims).read_text(encoding="utf-8")
    content = claims.read_text(encoding="utf-8")
    claims.write_text(content + RAISES, encoding="utf-8")
    report = claims.with_suffix(".json")
    ran = run("audit", claims, "--update-ledger", "--out", report)
    assert ran.code == 2
    assert ran.stderr.startswith("error: the check of demo.raises must run without")
    assert "ZeroDivisionError" in ran.stderr
    assert "demo.less" in ran.stdout
    assert "not written, since a claim could not be judged" in ran.stdout
    assert ledger_of(claims).read_text(encoding="utf-8") == before
    written = json.loads(report.read_text(encoding="utf-8"))
    assert list(written["errors"]) == ["demo.raises"]
    assert len(written["claims"]) == 3
    again = run("audit", claims)
    assert again.code == 2
    assert "all verdicts agree" not in again.stdout


def test_records_are_not_written_over_python(fails, tmp_path):
    (tmp_path / "mine.py").write_text("mine = 1\n")
    said = fails("audit", "focus.eq3", "--out", tmp_path / "mine.py")
    assert "--out must name the file to be written" in said
    assert (tmp_path / "mine.py").read_text() == "mine = 1\n"


@pytest.mark.parametrize(
    "written",
    [b"\xef\xbb\xbf", b"# -*- coding: latin-1 -*-  \xe4\n"],
    ids=["BOM", "latin"],
)
def test_a_file_may_say_how_it_is_encoded(run, claims, written):
    plain = run("audit", claims)
    claims.write_bytes(written + claims.read_bytes())
    again = run("audit", claims)
    assert (again.code, again.stderr) == (plain.code, "")


def test_brackets_without_end_are_no_earlier_audit(fails, claims, tmp_path):
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    assert "must be a file of" in fails("audit", claims, "--compare", deep)


def test_as_json_one_object_is_printed_instead(run, claims, tmp_path):
    path = tmp_path / "report.json"
    ran = run("audit", claims, "--out", path, "--json")
    assert (ran.code, ran.stdout) == (0, path.read_text())
    assert ran.json["changes"] is None
    assert ran.json["ledgers"] == [
        "mine.ledger.toml: absent, nothing to compare with",
    ]
    found = run("audit", claims, "--update-ledger", "--compare", path, "--json").json
    assert found["changes"] == []
    assert found["ledgers"] == ["mine.ledger.toml: written"]
    assert run("audit", claims, "--json").json["ledgers"] == []
    old = path.read_text().replace("PROVED", "REFUTED")
    path.write_text(old)
    found = run("audit", claims, "--compare", path, "--json").json
    assert "demo.sum: REFUTED -> PROVED" in found["changes"]


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_verdicts_are_told_where_the_disk_is_full_in_the_end(
    run, claims, tmp_path, full_later, flags
):
    ran = run("audit", claims, "--out", tmp_path / "report.json", *flags)
    assert ran.code == 2
    assert "when all claims are judged; it is not: No space left" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "demo.sum" in ran.stdout
    assert not (tmp_path / "report.json").exists()
    if flags:
        assert ran.json["counts"]["PROVED"] == 1


STOPPED = """
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim

HERE = Source("flverify", "example")


@claim("demo.kept", source=HERE, statement="", proposition="p", constants={"c": 1},
       twin={"c": 2})
def first(k):
    return judge.identity([("c", k.c, 1)], "a number")


@claim("demo.stopped", source=HERE, statement="", proposition="p", constants={"c": 1},
       twin={"c": 2})
def second(k):
    raise KeyboardInterrupt
"""


def test_an_interrupt_promises_nothing_where_nothing_can_be_kept(
    run, write, tmp_path, monkeypatch
):
    path = write("stopped.py", STOPPED)
    monkeypatch.setenv("FLVERIFY_CACHE", str(tmp_path / "stopped.py" / "inside"))
    ran = run("audit", path, "--workers", 1)
    assert (ran.code, ran.stdout) == (130, "")
    assert ran.stderr.startswith("error: interrupted; what was judged is not kept, as ")

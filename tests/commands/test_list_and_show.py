"""`flverify list` and `flverify show`."""

from __future__ import annotations

import pytest

from flverify.claims import registry


@pytest.fixture
def shipped(monkeypatch, claims):
    """The user's file as if it were the shipped proofs."""
    monkeypatch.setattr(registry, "proofs_folder", lambda: claims.parent)
    return claims


def test_list_names_every_claim_without_judging(run, shipped):
    shipped.write_text(
        shipped.read_text().replace("    return judge", "    1/0; judge")
    )
    ran = run("list")
    assert ran.code == 0
    words = " ".join(ran.stdout.split())
    assert "demo.sum none flverify, example one and one are two" in words
    assert "other.reading" in words
    assert "other.reading" not in run("list", "demo").stdout


def test_list_as_json_has_the_ledgers_verdicts(run, shipped):
    run("audit", "demo", "--update-ledger")
    found = run("list", "--json").json
    assert found["format"] == "flverify/list"
    verdicts = {one["id"]: one["ledger_verdict"] for one in found["claims"]}
    assert verdicts == {
        "demo.sum": "PROVED",
        "demo.less": "REFUTED",
        "other.reading": None,
    }
    assert found["claims"][0]["proposition"] == "one and one are two"


def test_list_takes_own_files(run, claims):
    found = run("list", claims, "--json").json
    assert found["claims"][0]["id"] == "demo.sum"


def test_the_real_claims_are_listed(run):
    assert len(run("list", "--json").json["claims"]) == len(registry.shipped_claims())


def test_show_says_everything(run, shipped):
    run("audit", "--update-ledger")
    ran = run("show", "demo.less")
    assert ran.code == 0
    words = " ".join(ran.stdout.split())
    for part in (
        "statement 1<1",
        "proposition one is less than one",
        "own derivation, stated where it is used. example.",
        "verdict REFUTED",
        "ledger REFUTED",
        "counterexample x = 1",
        "control (mended twin) one = 1/2",
        "control SUPPORTED (one number)",
        "reproduce: flverify audit",
        "mine.py",
    ):
        assert part in words
    assert "without flverify" not in words
    script = shipped.parent / "counterexamples" / "demo.less.py"
    script.parent.mkdir(exist_ok=True)
    script.touch()
    # to be copied, and so on one line, however long the path is
    lines = run("show", "demo.less").stdout.splitlines()
    assert f"without flverify: python {script}" in lines
    readings = " ".join(run("show", "other.reading").stdout.split())
    assert "reading one PROVED (a number)" in readings
    assert "control none: it depends on the reading" in readings
    assert "1+1=2 [b]x[/b]" in run("show", "demo.sum").stdout


def test_show_as_json(run, shipped):
    found = run("show", "demo.less", "--json")
    assert found.code == 1  # not in a ledger yet
    run("audit", "--update-ledger")
    found = run("show", "demo.less", "--json")
    assert found.code == 0
    assert found.json["format"] == "flverify/show"
    assert found.json["verdict"] == "REFUTED"
    assert found.json["ledger_verdict"] == "REFUTED"
    assert found.json["twin"] == {"one": "1/2"}
    assert found.json["constants"] == {"one": "1"}
    assert found.json["control_verdict"] == "SUPPORTED"
    assert found.json["control_fault"] == ""
    whole = found.json["finding"]
    assert whole["evidence"]["counterexample"] == {"x": "1"}
    assert {"parts", "readings", "correction", "argument"} <= whole.keys()


def test_show_notices_a_planted_change(run, shipped):
    run("audit", "--update-ledger")
    shipped.write_text(shipped.read_text().replace('"two": 2}', '"two": 5}'))
    assert run("show", "demo.sum").code == 1
    assert run("show", "demo.less").code == 0


def test_bad_input(fails, shipped, tmp_path):
    assert "did you mean demo.sum" in fails("show", "demo.sun")
    assert "did you mean demo.sum" in fails("show", "demo")
    assert "of your own claims by --file." in fails("show", "my_paper.lemma1")
    there = fails("show", "demo.sun", "--file", shipped)
    assert "must be that of a claim" in there
    assert "--file" not in there
    there = fails("show", "nope", "--file", shipped)  # which `flverify list` has not
    assert f"see `flverify list {shipped}`" in there
    assert "did you mean" not in fails("show", "nope")
    assert "Python file" in fails("show", "x", "--file", tmp_path / "missing.py")
    for folder in (tmp_path, ".", ""):
        assert "is a folder; name a .py" in fails("show", "x", "--file", folder)
    assert "Missing argument" in fails("show")
    assert "must match a claim" in fails("list", "nope")
    for command in ("list", "audit", "report"):  # as of a variable that is not set
        assert "must not be empty; got ''" in fails(command, "")
    assert "see `flverify list`" in fails("show", "")
    assert "No such option" in fails("list", "--all")


@pytest.mark.slow
def test_the_beginning_of_many_ids_is_told_as_that(fails):
    said = fails("show", "focus.thm1")
    assert "did you mean focus.thm1." in said or "begin like that" in said
    said = fails("show", "focus")
    assert "begin like that; see `flverify list focus`" in said
    assert "did you mean" not in said

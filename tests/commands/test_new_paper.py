"""`flverify new-paper`: the file it writes is judged at once; bad input writes none."""

from __future__ import annotations

import tomllib
from fractions import Fraction

import pytest

from flverify.report import paper_template


@pytest.fixture
def written(run, tmp_path):
    assert run("new-paper", "mine", "--out", tmp_path).code == 0
    return tmp_path / "mine.py"


def test_the_file_is_judged_at_once_with_its_ledger_beside_it(run, written):
    first = run("audit", written)
    assert first.code == 0
    assert "2 claims: 1 PROVED, 1 SUPPORTED" in first.stdout
    assert "absent, nothing to compare with" in first.stdout
    assert run("audit", written, "--update-ledger").code == 0
    ledger = written.with_suffix(".ledger.toml")
    kept = tomllib.loads(ledger.read_text(encoding="utf-8"))["claims"]
    assert {k: (one["verdict"], one["control"]) for k, one in kept.items()} == {
        "mine.lemma1": ("PROVED", "REFUTED"),
        "mine.theorem1": ("SUPPORTED", "REFUTED"),
    }
    assert "all verdicts agree with the ledger" in run("audit", written).stdout


@pytest.mark.parametrize("claim", ["lemma1", "theorem1"])
def test_both_claims_can_be_shown(run, written, claim):
    ran = run("show", f"mine.{claim}", "--file", written)
    assert ran.code == 0
    assert "A. Author (2026). The title of mine." in " ".join(ran.stdout.split())
    assert f"audit{written}" in "".join(ran.stdout.split())


def test_the_sharpest_cap_lies_between_the_twins(run, written):
    ran = run("sharpest", "mine.theorem1", "--file", written, "--json")
    assert ran.code == 0
    (found,) = ran.json["results"]
    # every gradient step contracts by 1 - eta mu if and only if eta <= 2 / (L + mu)
    least = min(2 * largest / (largest + 1) for largest in paper_template.LARGEST)
    assert (
        Fraction(found["best"]["value"]) <= least < Fraction(found["beyond"]["value"])
    )


def test_the_report_has_a_page_of_that_paper(run, written, tmp_path):
    out = tmp_path / "pages"
    assert run("report", written, "--out", out).code == 0
    page = (out / "mine.html").read_text(encoding="utf-8")
    assert "The title of mine" in page
    assert "mine.theorem1" in page
    assert "<math" in page


def test_a_file_made_wrong_is_refuted_by_a_second_computation(run, written):
    text = written.read_text(encoding="utf-8")
    written.write_text(text.replace('{"cap": 1}', '{"cap": 4}'), encoding="utf-8")
    ran = run("show", "mine.theorem1", "--file", written, "--json")
    assert ran.json["verdict"] == "REFUTED"
    assert ran.json["evidence"]["counterexample"]["N"] == 2


def test_the_plain_loop_arrives_at_the_same_two_sides():
    for case in paper_template.errors(Fraction(2)):
        assert case.recheck() == (case.left, case.right)


def test_json_says_what_was_written(run, tmp_path):
    ran = run("new-paper", "mine", "--out", tmp_path, "--json")
    assert ran.json["files"] == [str(tmp_path / "mine.py")]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "1paper",
            "my-paper",
            "my paper",
            "../paper",
            "a/b",
            "class",
            "é",
            "x.py",
        ),
        *("focus", "agnostic", "index", "json", "flverify", "sympy", "numpy"),
        "n" * 300,
    ],
)
def test_a_bad_name_is_one_sentence_and_writes_nothing(fails, tmp_path, name):
    fails("new-paper", "--out", tmp_path, "--", name)
    assert list(tmp_path.iterdir()) == []


def test_a_keyword_of_python_is_told_as_one(fails, tmp_path):
    assert "no Python keyword" in fails("new-paper", "--out", tmp_path, "class")


def test_nothing_is_overwritten(fails, written, tmp_path):
    written.write_text("mine\n", encoding="utf-8")
    assert "must not exist yet" in fails("new-paper", "mine", "--out", tmp_path)
    assert written.read_text(encoding="utf-8") == "mine\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_a_dangling_link_is_no_free_name(fails, tmp_path):
    (tmp_path / "mine.py").symlink_to(tmp_path / "elsewhere.py")
    fails("new-paper", "mine", "--out", tmp_path)
    assert not (tmp_path / "elsewhere.py").exists()


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_the_folder_must_be_there(fails, tmp_path, folder):
    (tmp_path / "file").write_text("", encoding="utf-8")
    fails("new-paper", "mine", "--out", tmp_path / folder)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]

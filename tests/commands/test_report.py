"""`flverify report`: pages on disk, what is said of them, and bad input."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

FORMATS = ("html", "md", "tex")


@pytest.mark.parametrize("kind", FORMATS)
def test_pages_are_written_whole(run, claims, tmp_path, kind):
    out = tmp_path / "pages"
    ran = run("report", claims, "--format", kind, "--out", out)
    assert ran.code == 0
    assert ran.stderr == ""
    assert "3 claims: 1 PROVED, 1 REFUTED, 1 INCONCLUSIVE" in ran.stdout
    assert sorted(path.name for path in out.iterdir()) == [
        f"flverify.{kind}",
        f"index.{kind}",
    ]
    page = (out / f"flverify.{kind}").read_text(encoding="utf-8")
    for words in ("demo.sum", "one is less than one", "counterexample", "Errata"):
        assert words in page
    assert f"flverify.{kind}" in (out / f"index.{kind}").read_text(encoding="utf-8")


def test_pages_are_the_same_from_kept_findings(run, claims, tmp_path, monkeypatch):
    monkeypatch.setenv("FLVERIFY_CACHE", str(tmp_path / "kept"))
    texts = []
    for many, extra in enumerate([("--fresh",), (), ("--workers", 2)]):
        out = tmp_path / str(many)
        assert run("report", claims, "--out", out, *extra).code == 0
        texts.append((out / "flverify.html").read_bytes())
    assert texts[0] == texts[1] == texts[2]


def test_json_names_files_and_counts(run, claims, tmp_path):
    ran = run("report", claims, "--out", tmp_path / "pages", "--json")
    assert ran.json["format"] == "flverify/report"
    assert ran.json["counts"]["REFUTED"] == 1
    assert ran.json["files"][-1].endswith("index.html")
    assert ran.json["shown_as_source"] == []


def test_statements_that_are_no_mathematics_are_named(run, claims, tmp_path):
    claims.write_text(claims.read_text().replace('"1<1"', '"1 % 2"'))
    ran = run("report", claims, "--out", tmp_path / "pages")
    assert "shown as LaTeX source: demo.less" in ran.stdout


def test_a_correction_that_is_no_mathematics_is_named(run, claims, tmp_path):
    found = 'judge.instances([case], "<", "one number")'
    fixed = rf'{found}.corrected(r"1\leL", judge.identity([("sum", 2, 2)], "a number"))'
    claims.write_text(claims.read_text().replace(found, fixed))
    ran = run("report", claims, "--out", tmp_path / "pages", "--json")
    assert ran.json["shown_as_source"] == ["demo.less"]


def test_a_page_says_how_to_judge_a_claim_again(run, claims, tmp_path):
    assert run("report", claims, "--format", "md", "--out", tmp_path / "p").code == 0
    page = (tmp_path / "p" / "flverify.md").read_text(encoding="utf-8")
    assert f"flverify show demo.sum --file {claims}" in page
    assert f"flverify audit {claims}" in page
    assert run("show", "demo.sum", "--file", claims).code == 0


@pytest.mark.slow
def test_one_step_alone_says_that_it_is_from_refuted_lines(run, tmp_path):
    step, out = "focus.thm1.sc.step100-101", tmp_path / "pages"
    assert run("report", step, "--format", "md", "--out", out).code == 0
    page = (out / "focus.md").read_text(encoding="utf-8")
    assert "REFUTED among these and what they are from" in page


def test_bad_input(fails, claims, write, tmp_path):
    out = tmp_path / "pages"
    assert "must match a claim" in fails("report", "no.such.id", "--out", out)
    assert "is not one of" in fails("report", claims, "--format", "pdf", "--out", out)
    assert "must be valid Python" in fails("report", write("b.py", "def"), "--out", out)
    assert "must be a folder" in fails("report", claims, "--out", "-")
    assert "must be a folder" in fails("report", claims, "--out", claims)
    assert not out.exists()
    (out / "index.html").mkdir(parents=True)
    assert "must name a file" in fails("report", claims, "--out", out)
    assert [path.name for path in out.iterdir()] == ["index.html"]


def test_the_folder_is_made_with_its_parents(run, claims, tmp_path):
    out = tmp_path / "a" / "b"
    assert run("report", claims, "--out", out).code == 0
    assert (out / "index.html").is_file()


def test_a_check_that_raises_leaves_nothing(fails, claims, tmp_path):
    claims.write_text(claims.read_text().replace("1 + 1, c.two", "1 + 1, c.three"))
    out = tmp_path / "pages"
    assert "check of demo.sum" in fails("report", claims, "--out", out)
    assert not out.exists()


@pytest.mark.parametrize("fits", [0, 1])
def test_a_full_disk_leaves_the_old_pages(
    fails, run, claims, tmp_path, monkeypatch, fits
):
    old, new = tmp_path / "old", tmp_path / "new"
    run("report", claims, "--format", "md", "--out", old)
    before = {path.name: path.read_text() for path in old.iterdir()}
    plain, written = Path.write_text, []

    def full(self, text, **how):
        if ".unfinished-" not in str(self):
            return plain(self, text, **how)
        if len(written) == fits:
            plain(self, text[:5])
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(self)
        return plain(self, text, **how)

    monkeypatch.setattr(Path, "write_text", full)
    for folder in (old, new / "deep"):
        written.clear()
        said = fails("report", claims, "--format", "md", "--out", folder)
        assert f"{folder} is not: No space left on device" in said
    assert {path.name: path.read_text() for path in old.iterdir()} == before
    assert not new.exists()

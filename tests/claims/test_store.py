"""Kept findings: what is read back, what counts as changed, and other processes."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from flverify.claims import fingerprint as prints
from flverify.claims import judge
from flverify.claims.audit import Audited, audit, record
from flverify.claims.registry import claims_in, proofs_folder
from flverify.claims.store import Store, as_data, default_folder, written
from flverify.claims.store import read as read_back
from flverify.claims.workers import judge_all

FILE = """
from fractions import Fraction

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim

HERE = Source("flverify", "example")


@claim("demo.sum", source=HERE, statement="1+1=2", proposition="a sum",
       constants={"two": 2}, twin={"two": 3})
def total(c):
    found = judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")
    return found.corrected("1+1=2", found)


@claim("demo.less", source=HERE, statement="1<1", proposition="less",
       constants={"one": Fraction(1)}, twin={"one": Fraction(1, 2)})
def less(c):
    case = judge.Case({"x": c.one}, c.one, Fraction(1), lambda: (c.one, Fraction(1)))
    return judge.instances([case], "<", "one number")
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FILE, encoding="utf-8")
    return file


def judged(path, kept, **options):
    claims = list(claims_in([path]).values())
    asked = {"fresh": False, "workers": 1, **options}
    done = sorted(judge_all(claims, kept=kept, **asked), key=lambda one: one[0])
    return [record(one) for _, one, _ in done], [known for *_, known in done]


def plain(records):
    return json.loads(json.dumps([{**r, "seconds": 0} for r in records], default=str))


def test_what_is_kept_is_what_was_found(path, tmp_path):
    kept = Store(tmp_path / "kept")
    first, known = judged(path, kept)
    assert known == [False, False]
    again, known = judged(path, kept)
    assert known == [True, True]
    assert plain(again) == plain(first)
    assert plain(first) == plain(
        record(one) for one in audit(claims_in([path]).values())
    )


def test_all_that_a_finding_is_made_of_is_kept(path):
    claim = claims_in([path])["demo.sum"]
    step = judge.identity([("one", 1, 1)], "N = 1").granted(["(1)"])
    long = replace(step, evidence={"many": np.arange(5000), "pair": (1, "x")})
    proof = judge.all_of({"a": step, "b": long}, scope="every N", argument="so on")
    read = judge.readings({"x": proof, "y": proof.corrected("z", step)})
    whole = judge.all_of({"inner": read, "open": judge.inconclusive("why")})
    text = json.dumps(written(Audited(claim, whole, None, 0.0)))
    again = read_back(claim, json.loads(text))
    assert as_data(again.finding) == as_data(whole)
    inner = again.finding.parts["inner"].readings["y"]
    assert inner.argument == "so on"
    assert inner.scope == "given (1); every N"
    assert inner.parts["b"].given == ("(1)",)
    assert inner.parts["b"].evidence["many"][2500] == 2500
    assert inner.correction.statement == "z"


def test_fresh_judges_anew(path, tmp_path):
    kept = Store(tmp_path / "kept")
    judged(path, kept)
    assert judged(path, kept, fresh=True)[1] == [False, False]


def test_another_file_is_another_question(path, tmp_path):
    kept = Store(tmp_path / "kept")
    judged(path, kept)
    path.write_text(FILE.replace('"two": 2', '"two": 4'), encoding="utf-8")
    records, known = judged(path, kept)
    assert known == [False, False]
    assert records[0]["verdict"] == "REFUTED"


def test_code_that_a_claim_reaches_counts(path, monkeypatch):
    before = prints.fingerprint(path)
    reached = {found.name for found in prints.reached(path)}
    assert {"judge.py", "_provers.py", "implication.py", "exact.py"} <= reached
    digest = prints._digest
    monkeypatch.setattr(
        prints, "_digest", lambda p: "x" if p.name == "exact.py" else digest(p)
    )
    assert prints.fingerprint(path) != before


@pytest.mark.parametrize(
    "imports",
    [
        "import helper",
        "from importlib import import_module\nimport_module('helper')",
        "import importlib\nimportlib.import_module('helper.part')",
        "__import__('helper')",
    ],
)
def test_a_module_beside_it_counts_however_it_is_imported(path, imports):
    helper = path.parent / "helper.py"
    helper.write_text("A = 1")
    alone = prints.fingerprint(path)
    helper.write_text("A = 2")
    assert prints.fingerprint(path) == alone  # nothing imports it yet
    path.write_text(f"{path.read_text()}\n{imports}\n")
    before = prints.fingerprint(path)
    helper.write_text("A = 3")
    assert prints.fingerprint(path) != before


@pytest.mark.parametrize("place", ["helper.py", "helper/__init__.py", "helper/a/b.py"])
def test_a_module_on_the_path_counts(path, tmp_path, monkeypatch, place):
    file = tmp_path / "lib" / place
    file.parent.mkdir(parents=True)
    file.write_text("A = 1")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    path.write_text(f"{path.read_text()}\nimport helper.a\n")
    before = prints.fingerprint(path)
    assert prints.fingerprint(path) == before
    file.write_text("A = 2")
    assert prints.fingerprint(path) != before


def test_what_a_module_on_the_path_imports_counts(path, tmp_path, monkeypatch):
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "first.py").write_text("from second import A")
    (folder / "second.py").write_text("A = 1")
    monkeypatch.syspath_prepend(folder)
    path.write_text(f"{path.read_text()}\nfrom first import A\n")
    before = prints.fingerprint(path)
    (folder / "second.py").write_text("A = 2")
    assert prints.fingerprint(path) != before


def test_a_package_counts_beside_a_module_of_its_name(path):
    helper = path.parent / "helper"
    helper.mkdir()
    (helper / "__init__.py").write_text("A = 1")
    (path.parent / "helper.py").write_text("A = 1")
    path.write_text(f"{path.read_text()}\nimport helper\n")
    before = prints.fingerprint(path)
    (helper / "__init__.py").write_text("A = 2")
    assert prints.fingerprint(path) != before


def test_a_module_that_is_found_nowhere_is_never_known(path):
    path.write_text(
        f"{path.read_text()}\ntry:\n    import nowhere\nexcept ImportError:\n    pass\n"
    )
    assert prints.fingerprint(path) != prints.fingerprint(path)


def test_what_is_installed_counts_by_its_version(path, monkeypatch):
    path.write_text(f"{path.read_text()}\nimport pytest\n")
    before = prints.fingerprint(path)
    assert prints.fingerprint(path) == before
    assert not any("_pytest" in found.parts for found in prints.reached(path))
    monkeypatch.setattr(prints, "released", lambda _: "pytest 0")
    assert prints.fingerprint(path) != before


def test_discovered_members_count():
    fig = proofs_folder() / "focus_theorem1.py"
    reached = {found.name for found in prints.reached(fig)}
    assert {"focus.py", "bernoulli.py"} <= reached


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format": "flverify/finding"}'])
def test_a_damaged_file_counts_as_absent(path, tmp_path, damage):
    kept = Store(tmp_path / "kept")
    judged(path, kept)
    for file in kept.folder.iterdir():
        file.write_text(damage, encoding="utf-8")
    assert judged(path, kept)[1] == [False, False]


def test_a_verdict_changed_by_hand_is_judged_anew(path, tmp_path):
    kept = Store(tmp_path / "kept")
    judged(path, kept)
    for file in kept.folder.iterdir():
        text = file.read_text(encoding="utf-8")
        words = next(w for w in ("PROVED", "SUPPORTED", "REFUTED") if f'"{w}"' in text)
        file.write_text(text.replace(f'"{words}"', '"CERTIFIED"'), encoding="utf-8")
    assert judged(path, kept)[1] == [False, False]


def test_a_closed_folder_keeps_nothing(path, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    kept = Store(tmp_path / "file" / "inside")
    assert judged(path, kept)[1] == [False, False]
    assert judged(path, kept)[1] == [False, False]
    assert kept.closed


def test_a_folder_that_keeps_is_not_closed(path, tmp_path):
    kept = Store(tmp_path / "kept")
    judged(path, kept)
    assert not kept.closed


@pytest.mark.skipif(os.name != "posix", reason="homes of POSIX")
def test_a_user_without_a_home_keeps_nothing_and_needs_nothing(monkeypatch):
    """Homes of unknown users are told by a ~ that stays, or by an error."""
    for name in ("FLVERIFY_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert default_folder().is_relative_to(os.devnull)


def test_a_verdict_that_was_typed_into_a_kept_file_is_of_another_print(path, tmp_path):
    kept = Store(tmp_path / "kept")
    judged(path, kept)
    (claim, *_) = claims_in([path]).values()
    assert kept.get(claim, "another") is None
    assert kept.get(replace(claim, id="demo.other"), "another") is None


def test_workers_find_the_same(path, tmp_path):
    one, _ = judged(path, None, workers=1)
    two, _ = judged(path, None, workers=2)
    assert plain(one) == plain(two)


def test_an_interrupted_audit_goes_on(path, tmp_path):
    kept = Store(tmp_path / "kept")
    claims = list(claims_in([path]).values())
    running = judge_all(claims, kept=kept, fresh=False, workers=1)
    next(running)
    running.close()
    assert judged(path, kept)[1] == [True, False]

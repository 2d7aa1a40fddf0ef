"""Verdicts are those of the ledger and controls behave: a sample, or all of them."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from flverify.claims import ledger
from flverify.claims.audit import audit
from flverify.claims.registry import proofs_folder
from flverify.claims.store import written
from flverify.report.summary import renewed
from tests.proofs.sampling import SHARE, drawn, stratified
from tests.shipped import CLAIMS

LEDGER = ledger.read(proofs_folder() / "ledger.toml")
FILES = sorted(proofs_folder().glob("*.py"))
README = proofs_folder().parent / "README.md"

# every id of the theory: each has to have a claim
COVERED = Path(__file__).with_name("ids.txt").read_text(encoding="utf-8").split()


def strata(key):
    """File and verdict of a claim; the verdict is the one it is expected to have."""
    verdict = LEDGER[key]["verdict"] if key in LEDGER else "not in the ledger"
    return CLAIMS[key].path.stem, str(verdict)


# what the default tests judge; all claims are judged by `-m slow` and by the audit
SAMPLE = stratified((key, *strata(key)) for key in CLAIMS)
# these take longest, and the audit judges them, too
LONG = {
    "agnostic.fixedpoint",
    "flverify.sag.rate",
    "focus.eq30_32.matrix",
    "focus.eq8.singleline",
    "focus.fig4",
    "focus.table1",
    "focus.thm1.nc",
    "focus.thm1.nc.stack",
    "focus.thm1.pl",
    "focus.thm2",
    "sgfocus.E3.closing",
    "sgfocus.thm4",
    "sgfocus.thm5.step140",
}
JUDGED = [
    pytest.param(key, marks=pytest.mark.slow if key in LONG else ()) for key in SAMPLE
]


@cache
def judged(key):
    (one,) = audit([CLAIMS[key]])
    return one


@pytest.mark.one_in(20)  # the audit judges them all
@pytest.mark.parametrize("key", JUDGED)
def test_verdict_is_the_ledger_s(key):
    assert ledger.differences([judged(key)], LEDGER) == []


@pytest.mark.parametrize("key", ["agnostic.assump1", "focus.eq29.delta_q"])
def test_numbers_are_shown_as_written(key):
    assert "Fraction(" not in json.dumps(written(judged(key)))


@pytest.mark.one_in(60)
@pytest.mark.parametrize("key", JUDGED)
def test_control_behaves(key):
    assert judged(key).control_fault() == ""


@pytest.mark.slow
@pytest.mark.parametrize("key", CLAIMS)
def test_every_verdict_is_the_ledger_s_and_every_control_behaves(key):
    assert ledger.differences([judged(key)], LEDGER) == []
    assert judged(key).control_fault() == ""
    assert "Fraction(" not in json.dumps(written(judged(key)))


def test_the_sample_has_every_file_and_every_verdict():
    assert {one.path.stem for one in CLAIMS.values()} == {strata(k)[0] for k in SAMPLE}
    assert {strata(k)[1] for k in CLAIMS} == {strata(k)[1] for k in SAMPLE}


def test_the_sample_depends_on_nothing_but_the_ids_and_their_strata():
    rows = [(key, *strata(key)) for key in CLAIMS]
    assert stratified(reversed(rows)) == stratified(rows) == SAMPLE
    one = (min(CLAIMS), "a stratum of its own")
    assert set(drawn(CLAIMS, SHARE)) <= set(SAMPLE)
    assert one[0] in stratified([*rows, one])


def test_every_statement_of_the_theory_has_its_claim():
    assert len(set(COVERED)) == len(COVERED) == 240
    assert [key for key in COVERED if key not in CLAIMS] == []


def test_the_ledger_names_no_claim_that_is_gone():
    assert sorted(LEDGER) == sorted(CLAIMS)


def test_the_readme_shows_the_ledger():
    document = README.read_text(encoding="utf-8")
    assert renewed(document, LEDGER) == document


def test_the_readme_lists_and_counts_what_the_ledger_holds():
    """Read by other means: both could be generated wrongly, and still agree."""
    verdicts = {key: entry["verdict"] for key, entry in LEDGER.items()}
    (shown,) = re.findall(
        "<!-- verdicts.*?end of verdicts -->", README.read_text("utf-8"), re.S
    )
    rows = re.findall(r"^\| ([a-z]\S*\.\S+) \| ([A-Z]+) \|", shown, re.M)
    assert sorted(rows) == sorted(verdicts.items())
    counts = re.findall(
        r"\b(\d+) ([A-Z]{6,})\b", shown.splitlines()[1].partition(". ")[0]
    )
    assert {v: int(n) for n, v in counts} == Counter(verdicts.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_verdict_is_typed(path):
    # a proofs file judges; the words and classes of verdicts belong to the judge
    # (naming the class Finding in a signature is fine, making one is not)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    assert not {"Finding", "Correction", "Verdict"} & made
    attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    words = {"PROVED", "REFUTED", "SUPPORTED", "CERTIFIED", "INCONCLUSIVE"}
    assert not words & attributes
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    typed = [t for t in texts if isinstance(t, str)]
    pattern = re.compile(r"\b(PROVED|CERTIFIED|SUPPORTED|REFUTED|INCONCLUSIVE)\b")
    assert [t for t in typed if pattern.search(t)] == []


def imported_proofs(text):
    """Files of proofs/ that a file imports, as `proofs.x`, `x`, or relatively."""
    stems, found = {Path(p).stem for p in FILES}, set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = f"proofs.{node.module or ''}" if node.level else str(node.module)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        first = {name.split(".")[0] for name in names}
        found |= first & {"proofs", *stems, *(f"flverify_proofs_{s}" for s in stems)}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_proofs_files_do_not_import_one_another(path):
    assert imported_proofs(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    ("line", "noticed"),
    [
        ("from proofs.{stem} import x", True),
        ("from proofs import {stem}", True),
        ("import proofs.{stem}", True),
        ("import {stem} as x", True),
        ("from {stem} import x", True),
        ("from . import {stem}", True),
        ("from flverify.claims import {stem}", False),
        ("from flverify.claims.{stem} import x", False),
    ],
)
def test_an_import_of_a_proofs_file_would_be_noticed(line, noticed):
    # a module of the package may have the name of a file of proofs
    assert bool(imported_proofs(line.format(stem=FILES[0].stem))) is noticed

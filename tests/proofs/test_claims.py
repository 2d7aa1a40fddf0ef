"""One test per claim and one per control: verdicts are those of the ledger."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from flverify.claims import ledger
from flverify.claims.audit import audit
from flverify.claims.registry import proofs_folder, shipped_claims
from flverify.report.summary import renewed

CLAIMS = shipped_claims()
LEDGER = ledger.read(proofs_folder() / "ledger.toml")
FILES = sorted(proofs_folder().glob("*.py"))

# parts of the theory that the audit covers: every id below has to have a claim
COVERED = [
    "focus.toy.assign_avg",
    "focus.def.stochastic",
    "focus.eq4.R",
    "focus.eq4.A",
    "focus.def.C",
    "focus.def.W4",
    "focus.fig1.matrices",
    "focus.assump1",
    "focus.assump1.empty",
    "focus.case1",
    "focus.case2",
    "focus.case3",
    "focus.case3a",
    "focus.eq5.Rbar",
    "focus.eq5.Abar",
    "focus.eq5.Cbar",
    "focus.eq6_7.fedavg_one_index",
    "focus.eq8.singleline",
    "focus.eq13_14.matrixform",
    "focus.alg1",
    "focus.eq15_22.conversion",
    "focus.thm1.sc",
    "focus.thm1.pl",
    "focus.thm1.nc",
    "focus.thm2",
    "focus.eq3.drift_li",
    "focus.cor1",
    "focus.cor2",
    "focus.cor3",
    "focus.fig4.claims",
    "agnostic.eq2",
    "agnostic.lemma1",
    "agnostic.eq3",
    "agnostic.eq4",
    "agnostic.fixedpoint",
    "agnostic.eq10",
]


@cache
def judged(key):
    (one,) = audit([CLAIMS[key]])
    return one


@pytest.mark.parametrize("key", CLAIMS)
def test_verdict_is_the_ledger_s(key):
    assert ledger.differences([judged(key)], LEDGER) == []


@pytest.mark.parametrize("key", CLAIMS)
def test_control_behaves(key):
    assert judged(key).control_fault() == ""


def test_every_covered_statement_has_its_claim():
    assert [key for key in COVERED if key not in CLAIMS] == []


def test_the_ledger_names_no_claim_that_is_gone():
    assert sorted(LEDGER) == sorted(CLAIMS)


def test_the_readme_shows_the_ledger():
    readme = proofs_folder().parent / "README.md"
    document = readme.read_text(encoding="utf-8")
    assert renewed(document, LEDGER) == document


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_proofs_files_do_not_import_one_another(path):
    stems = {Path(p).stem for p in FILES}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert not stems & {str(name).rpartition(".")[2] for name in imported}

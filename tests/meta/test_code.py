"""The code about the code: sizes, layers that linters cannot see, forbidden calls."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from flverify._core.catalogue import load, member_names

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = sorted((ROOT / "flverify").rglob("*.py"))
SHIPPED = [*PACKAGE, *sorted((ROOT / "proofs").glob("*.py"))]
SHIPPED += sorted((ROOT / "figures").glob("*.py"))
CATALOGUES = ["participation", "problems", "algorithms"]
LAZY = {"flverify/__init__.py", "flverify/cli.py", "flverify/_core/catalogue.py"}


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SHIPPED, ids=name)
def test_modules_and_bodies_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                assert body[-1].end_lineno - body[0].lineno + 1 <= 60, node.name


@pytest.mark.parametrize("path", SHIPPED, ids=name)
def test_nothing_evaluates_text_or_pickles(path):
    tree = parsed(path)
    called = {n.func.id for n in ast.walk(tree) if _named_call(n)}
    assert not called & {"eval", "exec", "compile", "__import__"}
    modules = {
        a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names
    }
    assert not modules & {"pickle", "shelve", "marshal", "dill"}
    assert "allow_pickle=True" not in path.read_text(encoding="utf-8")


def _named_call(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


@pytest.mark.parametrize("path", PACKAGE, ids=name)
def test_imports_stand_at_the_top(path):
    # third-party extras may be loaded on use; modules of ours may not
    if name(path) in LAZY:
        return
    for function in ast.walk(parsed(path)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    assert not str(node.module).startswith("flverify"), function.name


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_members_never_import_one_another(catalogue):
    members = member_names(f"flverify.{catalogue}")
    others = {f"flverify.{catalogue}.{member}" for member in members}
    for member in members:
        path = ROOT / "flverify" / catalogue / f"{member}.py"
        nodes = ast.walk(parsed(path))
        imported = {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
        assert not imported & others, member


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_members_name_and_document_what_they_offer(catalogue):
    for member in member_names(f"flverify.{catalogue}"):
        module = load(f"flverify.{catalogue}", member)
        assert module.__doc__
        for public in module.__all__:
            assert getattr(module, public).__doc__, public


NOT_AT_HAND = {"digits", "mnist"}  # they need scikit-learn, and files


def test_what_the_guide_lists_has_an_example():
    guide = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = [n.rpartition(".") for n in guide.split() if n.startswith("flverify.")]
    shown = [getattr(importlib.import_module(module), n) for module, _, n in listed]
    members = [
        (f"flverify.{c}", m) for c in CATALOGUES for m in member_names(f"flverify.{c}")
    ]
    for package, member in members:
        module = load(package, member)
        shown += [getattr(module, n) for n in module.__all__ if n not in NOT_AT_HAND]
    assert len(shown) > 50
    assert [one.__name__ for one in shown if ">>>" not in one.__doc__] == []


def test_every_algorithm_has_its_plain_loop_and_examples():
    loops = {p.stem for p in (ROOT / "flverify" / "reference").glob("[!_]*.py")}
    assert set(member_names("flverify.algorithms")) == loops
    for member in member_names("flverify.algorithms"):
        module = load("flverify.algorithms", member)
        assert any(
            getattr(module, n).examples(3) for n in module.__all__ if _offers(module, n)
        )


def _offers(module, public):
    return hasattr(getattr(module, public), "examples")


def test_reference_loops_use_the_standard_library_alone():
    allowed = sys.stdlib_module_names
    for path in (ROOT / "flverify" / "reference").glob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                assert all(a.name.partition(".")[0] in allowed for a in node.names)
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert str(node.module).partition(".")[0] in allowed


@pytest.mark.parametrize("heavy", ["numpy", "sympy", "scipy", "matplotlib", "cvxpy"])
def test_importing_the_package_loads_nothing_heavy(heavy):
    script = f"import sys, flverify; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_long_function_would_be_noticed(tmp_path):
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    x = 1\n" * 61, encoding="utf-8")
    with pytest.raises(AssertionError):
        test_modules_and_bodies_are_short(path)

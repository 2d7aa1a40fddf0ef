"""The code about the code: sizes, layers that linters cannot see, forbidden calls."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from flverify._core.catalogue import load, member_names
from flverify.certify import gram, quadratic_form

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = sorted((ROOT / "flverify").rglob("*.py"))
SHIPPED = [*PACKAGE, *sorted((ROOT / "proofs").glob("*.py"))]
SHIPPED += sorted((ROOT / "figures").glob("*.py"))
FOLDERS = sorted({path.parent for path in SHIPPED})
CATALOGUES = ["participation", "problems", "algorithms"]
LAZY = {"flverify/__init__.py", "flverify/cli.py", "flverify/_core/catalogue.py"}


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path):
    return list(ast.walk(parsed(path)))


def name(path):
    return path.relative_to(ROOT).as_posix()


def in_(folder):
    return [path for path in SHIPPED if path.parent == folder]


def imports(tree, package=""):
    """Full names of all that is imported somewhere in a module of a package."""
    for node in ast.walk(tree):
        names = [a.name for a in getattr(node, "names", []) if isinstance(a, ast.alias)]
        if isinstance(node, ast.ImportFrom):
            home = package.split(".")[: package.count(".") + 2 - node.level]
            parts = [*(home if node.level else []), *filter(None, [node.module])]
            names = [".".join([*parts, name]) for name in names]
        yield from names


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_modules_and_bodies_are_short(folder):
    assert {name(path): found for path in in_(folder) if (found := long(path))} == {}


def long(path):
    """Bodies of a module that are too long, and the module if it is."""
    bodies = (
        (node.name, node.body[1:] if ast.get_docstring(node) else node.body)
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
    )
    found = [
        each
        for each, body in bodies
        if body and body[-1].end_lineno - body[0].lineno + 1 > 60
    ]
    lines = len(path.read_text(encoding="utf-8").splitlines())
    return [*found, *(["the module"] if lines > 400 else [])]


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_nothing_evaluates_text_or_pickles(folder):
    assert {name(path): bad for path in in_(folder) if (bad := unsafe(path))} == {}


def unsafe(path):
    """What a module calls or imports that runs text, or reads code from a file."""
    called = {n.func.id for n in nodes(path) if _named_call(n)}
    modules = {one.partition(".")[0] for one in imports(parsed(path))}
    found = called & {"eval", "exec", "compile", "__import__"}
    found |= modules & {"pickle", "shelve", "marshal", "dill"}
    text = path.read_text(encoding="utf-8")
    return found | ({"allow_pickle"} if "allow_pickle=True" in text else set())


def _named_call(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


BAD = {
    "eval": "x = eval('1')",
    "dill": "import dill",
    "pickle": "def f():\n    from pickle import loads",
    "allow_pickle": "import numpy\nx = numpy.load('x', allow_pickle=True)",
}


@pytest.mark.parametrize(("word", "line"), BAD.items())
def test_what_runs_text_would_be_noticed(word, line, tmp_path):
    (tmp_path / "one.py").write_text(line)
    assert unsafe(tmp_path / "one.py") == {word}


def test_what_is_long_would_be_noticed(tmp_path):
    path = tmp_path / "one.py"
    path.write_text("def f():\n" + "    x = 1\n" * 61 + "\n" * 339)
    assert long(path) == ["f", "the module"]


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_imports_stand_at_the_top(folder):
    # third-party extras may be loaded on use; modules of ours may not
    paths = [p for p in in_(folder) if p in PACKAGE and name(p) not in LAZY]
    assert {name(p): found for p in paths if (found := ours_inside(parsed(p)))} == {}


def ours_inside(tree):
    """What functions import of the package."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inside = [n for n in ast.walk(tree) if isinstance(n, functions)]
    names = {
        one for function in inside for one in imports(function, "flverify.some.place")
    }
    return sorted(one for one in names if one.partition(".")[0] == "flverify")


@pytest.mark.parametrize(
    "line",
    [
        "from flverify.claims import judge",
        "import flverify.claims.judge",
        "from . import judge",
        "from .judge import identity",
    ],
)
def test_an_import_of_ours_inside_a_function_would_be_noticed(line):
    assert ours_inside(ast.parse(f"def f():\n    {line}")) != []
    assert ours_inside(ast.parse(line)) == []


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_members_never_import_one_another(catalogue):
    members = member_names(f"flverify.{catalogue}")
    assert members
    for member in members:
        path = ROOT / "flverify" / catalogue / f"{member}.py"
        assert of_members(parsed(path), catalogue) == [], member


def of_members(tree, catalogue):
    """What a module of a catalogue imports that is not private to it."""
    home = f"flverify.{catalogue}."
    names = {one for one in imports(tree, home[:-1]) if one.startswith(home)}
    return sorted(one for one in names if not one.startswith(f"{home}_"))


@pytest.mark.parametrize(
    "line",
    [
        "from flverify.participation.full import Full",
        "from flverify.participation import Full",
        "import flverify.participation.full",
        "from .full import Full",
        "from . import full",
        "from ..participation import full",
    ],
)
def test_an_import_of_a_member_would_be_noticed(line):
    assert of_members(ast.parse(line), "participation") != []
    private = line.replace("full", "_law").replace("Full", "_law")
    assert of_members(ast.parse(private), "participation") == []


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
    for module in (gram, quadratic_form):
        shown += [getattr(module, n) for n in module.__all__]
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
    own, allowed = "flverify.reference", sys.stdlib_module_names
    paths = [*(ROOT / "flverify" / "reference").glob("*.py")]
    assert paths
    for path in paths:
        for one in imports(parsed(path), own):
            assert one.startswith(f"{own}.") or one.partition(".")[0] in allowed, path


@pytest.mark.parametrize("heavy", ["numpy", "sympy", "scipy", "matplotlib", "cvxpy"])
def test_importing_the_package_loads_nothing_heavy(heavy):
    script = f"import sys, flverify; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

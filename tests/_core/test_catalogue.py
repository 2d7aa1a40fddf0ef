"""Packages whose names resolve on use: all of them at once, too."""

import subprocess
import sys

import pytest

NAMES = {
    "participation": ("Bernoulli", "ModeChain"),
    "problems": ("Quadratics", "LogSpiral"),
    "algorithms": ("FedAvg", "Focus"),
}


@pytest.mark.parametrize(("package", "names"), NAMES.items(), ids=NAMES)
def test_a_star_imports_all_members(package, names):
    text = f"from flverify.{package} import *; print({', '.join(names)})"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("package", NAMES)
def test_other_names_are_none(package):
    text = f"from flverify.{package} import _hidden"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False
    )
    assert "ImportError: cannot import name '_hidden'" in done.stderr

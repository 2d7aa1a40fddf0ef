"""The plugin, by pytest's own pytester: summary, report files, workers, no cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import flverify.testing
from flverify.algorithms import FedAvg, Focus
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.testing.plugin import _Assertions

pytest_plugins = ["pytester"]

# a session within this one forgets what it imports, so it must find all imported
WARM = [getattr(flverify.testing, name) for name in flverify.testing.__all__]
WARM += [FedAvg, Focus, Bernoulli, Quadratics]

ROOT = Path(__file__).resolve().parents[2]
SEARCHED = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
REGISTERED = any(e.name == "flverify" for e in entry_points(group="pytest11"))
PLUGIN = "flverify" if REGISTERED else "flverify.testing.plugin"

SETTING = """
from flverify.algorithms import FedAvg, Focus
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.testing import *

PROBLEM = Quadratics([[[1]], [[2]]], [[0], [2]])
LAW = Bernoulli(["1/2", "1/3"])
"""
THREE = (
    SETTING
    + """
def test_right():
    assert_linear_rate(PROBLEM, Focus("1/8"), LAW, rate="9/10")
    assert_averaging_weights(LAW, ["5/12", "1/4"])

def test_wrong():
    assert_linear_rate(PROBLEM, FedAvg("1/4", 2), LAW, rate="9/10")

def test_open():
    assert_linear_rate(
        PROBLEM, Focus("1/8"), LAW, rate="9/10", method="sampled", budget=10
    )
"""
)
OWN = (
    SETTING
    + """
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

class State(NamedTuple):
    model: Server

@dataclass(frozen=True)
class Mine(Algorithm):
    step_size: Any
    State = State

    def init(self, start, cohort, oracle):
        return State(start)

    def round(self, state, cohort, oracle):
        here = cohort.broadcast(state.model)
        total = cohort.everyone(oracle.gradient(here))
        return State(state.model - self.step_size * total)

def test_mine():
    assert_linear_rate(PROBLEM, Mine(Fraction(1, 8)), LAW, rate=Fraction(25, 64))

def test_mine_is_not_faster():
    assert_linear_rate(PROBLEM, Mine(Fraction(1, 8)), LAW, rate=Fraction(24, 64))
"""
)


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest on a file with the plugin, and few others."""
    monkeypatch.setenv("PYTHONPATH", SEARCHED)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def call(source, *options):
        pytester.makepyfile(source)
        return pytester.runpytest("-p", PLUGIN, "-p", "no:randomly", *options)

    return call


def test_outcomes_and_summary(run):
    result = run(THREE)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*assert_linear_rate: BROKEN*",
            "*claimed: E|x_r - x*|^2 <= C (9/10)^r for some C, from every start*",
            "*first round that breaks it: 14: *",
            "*reproduce: flverify bias fedavg *",
            "*flverify: rate assertions*",
            "4 assertions: 2 HOLDS, 1 BROKEN, 1 INCONCLUSIVE",
            "INCONCLUSIVE assert_linear_rate  *::test_open",
            "HOLDS        assert_linear_rate  *::test_right",
            "    claimed:     *9/10*",
            "    found:       ~0.86139514485924 per round",
            "    answered by: exact moments (rationals)",
            "BROKEN       assert_linear_rate  *::test_wrong",
        ],
        consecutive=False,
    )


def test_an_inconclusive_assertion_does_not_pass(run):
    result = run(THREE, "-k", "open")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*assert_linear_rate: INCONCLUSIVE*"])


def test_the_traceback_ends_in_the_test(run):
    result = run(THREE, "-k", "wrong")
    result.stdout.no_fnmatch_line("*def settle*")
    result.stdout.no_fnmatch_line("*_by_moments*")
    result.stdout.fnmatch_lines([">       assert_linear_rate(PROBLEM, FedAvg*"])


def test_an_algorithm_of_the_test_file_needs_no_registration(run):
    result = run(OWN)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*found: 25/64 per round*"])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_reports_arrive_from_workers_too(run, pytester, workers):
    pytest.importorskip("xdist")
    options = ["-n", str(workers)] if workers else []
    result = run(THREE, "--flverify-report", "out.json", *options)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["4 assertions: 2 HOLDS, 1 BROKEN, 1 INCONCLUSIVE"])
    content = json.loads((pytester.path / "out.json").read_text(encoding="utf-8"))
    assert content["counts"] == {"HOLDS": 2, "BROKEN": 1, "INCONCLUSIVE": 1}
    tests = [one["test"].rpartition("::")[2] for one in content["assertions"]]
    assert tests == ["test_open", "test_right", "test_right", "test_wrong"]
    assert content["assertions"][3]["reproduce"].startswith("flverify bias fedavg")
    assert [p.name for p in pytester.path.glob("*.part")] == []


def test_markdown_and_html(run, pytester):
    run(THREE, "--flverify-report", "out.md")
    table = (pytester.path / "out.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 4
    assert "C (9/10)^r" in table
    assert "E\\|x\\_r - x\\*\\|^2" in table
    run(THREE, "--flverify-report", "out.html")
    page = (pytester.path / "out.html").read_text(encoding="utf-8")
    assert page.count("<section") == 4
    assert "E|x_r - x*|^2 &lt;= C (9/10)^r" in page
    assert "<pre>flverify bias fedavg" in page


def test_names_are_escaped(run, pytester):
    source = SETTING + (
        "\nimport pytest\n\n@pytest.mark.parametrize('x', ['<b>|'])\n"
        "def test_it(x):\n    assert_averaging_weights(LAW, ['5/12', '1/4'])\n"
    )
    run(source, "--flverify-report", "out.html")
    page = (pytester.path / "out.html").read_text(encoding="utf-8")
    assert "[&lt;b&gt;|]" in page
    run(source, "--flverify-report", "out.md")
    assert "&lt;b&gt;\\|" in (pytester.path / "out.md").read_text(encoding="utf-8")


def test_many_that_hold_are_counted(run):
    source = SETTING + (
        "\nimport pytest\n\n@pytest.mark.parametrize('x', range(45))\n"
        "def test_it(x):\n    assert_averaging_weights(LAW, ['5/12', '1/4'])\n"
    )
    result = run(source)
    result.stdout.fnmatch_lines(["45 assertions: *", "45 that hold are listed with -v"])
    listed = run(source, "-v")
    assert listed.stdout.str().count("HOLDS        assert_averaging_weights") == 45


def test_what_an_import_asserts_is_not_the_next_test_s(run, pytester):
    wrong = SETTING + "\nassert_averaging_weights(LAW, ['1/2', '1/2'])\n"
    pytester.makepyfile(test_broken=wrong, test_sound="def test_it():\n    pass\n")
    options = ["--continue-on-collection-errors", "--flverify-report", "out.json"]
    result = run("", *options)
    result.stdout.fnmatch_lines(["1 assertion: 0 HOLDS, 1 BROKEN, 0 INCONCLUSIVE"])
    (row,) = json.loads((pytester.path / "out.json").read_text("utf-8"))["assertions"]
    assert row["test"] == "test_broken.py"


def test_an_import_counts_once_whatever_the_workers():
    plugin, outcome = _Assertions(None), json.dumps({"status": "BROKEN"})
    report = pytest.CollectReport("a.py", "failed", None, [], flverify=[outcome])
    for _ in range(2):
        plugin.pytest_collectreport(report)
    assert [(row.test, row.expected) for row in plugin.rows] == [("a.py", False)]


def test_a_fixture_may_assert(run):
    source = SETTING + (
        "\nimport pytest\n\n@pytest.fixture\ndef checked():\n"
        "    assert_averaging_weights(LAW, ['5/12', '1/4'])\n\n"
        "def test_it(checked):\n    pass\n"
    )
    run(source).stdout.fnmatch_lines(["1 assertion: 1 HOLDS, 0 BROKEN, 0 INC*"])


def test_a_bad_path_is_refused_before_any_test(run, pytester):
    source = "def test_it():\n    open('ran', 'w')\n"
    for path in ("out.txt", "missing/out.json", "."):
        result = run(source, "--flverify-report", path)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*--flverify-report*"])
    assert not (pytester.path / "ran").exists()


def test_without_assertions_nothing_is_shown_or_loaded(run, pytester):
    source = (
        "import sys\n\ndef test_it():\n"
        "    loaded = [m for m in sys.modules if m.startswith('flverify.engines')]\n"
        "    assert not loaded and 'numpy' not in sys.modules\n"
    )
    pytester.makepyfile(source)
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = [sys.executable, "-m", "pytest", "-p", PLUGIN, "--flverify-report", "o.md"]
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stdout
    assert "rate assertions" not in done.stdout
    text = (pytester.path / "o.md").read_text(encoding="utf-8")
    assert "0 assertions: 0 HOLDS, 0 BROKEN, 0 INCONCLUSIVE." in text


def test_help_loads_no_numpy(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", SEARCHED)
    script = (
        "import sys, pytest\n"
        f"code = pytest.main(['--help', '-p', {PLUGIN!r}])\n"
        "heavy = {'numpy', 'scipy', 'sympy', 'flint'} & set(sys.modules)\n"
        "print('heavy', sorted(heavy), int(code))\n"
    )
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,  # away from any conftest.py
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert "--flverify-report=PATH" in done.stdout
    assert "heavy [] 0" in done.stdout


def test_what_a_passing_test_expects_is_counted_and_not_listed(pytester):
    pytester.makepyfile(
        """
        import pytest
        from flverify.participation import Bernoulli
        from flverify.testing import Broken, assert_averaging_weights

        def test_wrong():
            with pytest.raises(Broken):
                assert_averaging_weights(Bernoulli(["1/2", "1/2"]), ["1/2", "1/2"])
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1 BROKEN, 0 INCONCLUSIVE (1 as tests that passed*"])
    result.stdout.no_fnmatch_line("BROKEN *")

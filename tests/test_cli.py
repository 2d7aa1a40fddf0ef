"""The command line as a process: exit codes, streams, interrupts, lazy imports."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

import flverify
from flverify import cli
from flverify._core.catalogue import member_names
from flverify._core.errors import MissingExtraError

ROOT = Path(flverify.__file__).resolve().parent.parent
START = "from flverify.cli import main; main(prog_name='flverify')"
HEAVY = {"numpy", "scipy", "sympy", "matplotlib", "rich", "flint", "numba", "cvxpy"}

SLEEPY = """
import time

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim


@claim("demo.slow", source=Source("flverify", "example"), statement="1 ≤ 2",
       proposition="p", constants={"naps": 0.0}, twin={"naps": 1e-9})
def slow(c):
    time.sleep(c.naps)
    return judge.inconclusive("slept")
"""


class Ended(NamedTuple):
    """How a process ended."""

    returncode: int
    stdout: str
    stderr: str


def environment(**extra):
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **extra}


def python(code, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **extra):
    """Start our own interpreter on some code."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=stdout,
        stderr=stderr,
        encoding="utf-8",
        env=environment(**extra),
    )


def ended(running):
    """Wait for a process and return its exit code and what it wrote."""
    stdout, stderr = running.communicate(timeout=120)
    return Ended(running.returncode, stdout, stderr)


def process(*arguments, **extra):
    """Run the command line in a process of its own."""
    with python(START, *arguments, **extra) as running:
        return ended(running)


def loaded_after(*arguments):
    """Names of the modules that a run of the command line has loaded."""
    code = (
        "import sys; from flverify.cli import main; "
        f"main({list(arguments)!r}, standalone_mode=False); "
        "print(*sys.modules, file=sys.stderr)"
    )
    with python(code) as running:
        return set(ended(running).stderr.split())


@pytest.fixture
def sleepy(tmp_path):
    path = tmp_path / "sleepy.py"
    path.write_text(SLEEPY, encoding="utf-8")
    return path


def invoke(*arguments):
    # before click 8.2 the streams had to be asked for one by one
    apart = "mix_stderr" in signature(CliRunner).parameters
    runner = CliRunner(**({"mix_stderr": False} if apart else {}))
    return runner.invoke(cli.main, list(arguments))


def test_version_and_overview():
    done = process("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"flverify, version {flverify.__version__}\n"
    bare, asked = invoke(), invoke("--help")
    assert bare.exit_code == asked.exit_code == 0
    assert bare.stdout == asked.stdout


def test_every_file_of_a_command_is_in_the_overview():
    files = {name.replace("-", "_") for name in cli.COMMANDS}
    assert tuple(sorted(files)) == member_names("flverify.commands")
    overview = invoke("--help").stdout
    for name, words in cli.COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(words)}$", overview, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_command_has_help_and_takes_json(name):
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: main {name}")
    # a server has nothing to report as one object
    assert ("--json" in result.stdout) == (name != "explore")


def test_the_overview_imports_nothing_heavy():
    for arguments in (["--help"], ["--version"], []):
        loaded = loaded_after(*arguments)
        assert not loaded & HEAVY
        assert not {name for name in loaded if name.startswith("flverify.commands")}


def test_a_commands_help_loads_its_own_module_alone():
    loaded = loaded_after("law", "--help")
    commands = {name for name in loaded if name.startswith("flverify.commands.")}
    assert "flverify.commands.law" in commands
    others = {f"flverify.commands.{name}" for name in cli.COMMANDS} - {
        "flverify.commands.law"
    }
    assert not commands & others
    assert not loaded & {"sympy", "matplotlib", "cvxpy"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "No such command 'nonsense'; see `flverify --help`"),
        (["Raet"], "'Raet'; did you mean rate; see `flverify --help`"),
        (["audit", "focus.cse3a"], "did you mean focus.case3a"),
        (["--nonsense"], "No such option"),
        (["law"], "Missing argument"),
        (["law", "full", "--n-clients", "x"], "see `flverify law --help`"),
        (["rate", "nonsense"], "pick one"),
        (["rate", "Fedavg"], "got 'Fedavg'; did you mean fedavg"),
        (["law", "Bernouli:1/2,1/3"], "did you mean bernoulli"),
        (["figure", "FIG1"], "did you mean fig1, or name a file"),
        (["audit", "missing.py"], "name a .py file"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(arguments, says):
    done = process(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (MissingExtraError("the extra must be installed; add it."), "the extra must"),
        (MemoryError(), "must fit the memory"),
        (OverflowError("too large"), "too large"),
        (PermissionError(13, "Permission denied", "x.json"), "x.json is not"),
        (MissingExtraError(f"got {10**300}; no."), "got 1000000000...(301 digits); no"),
    ],
)
def test_expected_failures_of_any_depth_are_one_sentence(monkeypatch, fault, says):
    def fail(*_):
        raise fault

    monkeypatch.setattr("flverify.commands.law.tables", fail)
    result = invoke("law", "full", "--n-clients", "2")
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    told = invoke("law", "full", "--n-clients", "2", "--json")
    assert json.loads(told.stdout)["status"] == "refused"
    assert f"error: {json.loads(told.stdout)['reason']}\n" == result.stderr


def test_a_fault_of_the_package_is_not_hidden(monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("flverify.commands.law.tables", fail)
    result = invoke("law", "full", "--n-clients", "2")
    assert isinstance(result.exception, ZeroDivisionError)


def test_an_interrupt_inside_the_process_is_code_130(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("flverify.commands.law.tables", stop)
    result = invoke("law", "full", "--n-clients", "2")
    assert result.exit_code == 130
    assert result.stderr == "error: interrupted.\n"


GOES_ON = "what was judged is kept; the same command goes on from there"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_real_interrupt_is_code_130_and_writes_nothing(sleepy, tmp_path):
    sleepy.write_text(SLEEPY.replace('{"naps": 0.0}, twin', '{"naps": 60}, twin'))
    marker = tmp_path / "begun"
    text = sleepy.read_text().replace(
        "    time.sleep", f"    open({str(marker)!r}, 'w').close(); time.sleep"
    )
    sleepy.write_text(text)
    report = tmp_path / "report.json"
    # even where the tests themselves run in the background, deaf to interrupts
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    with python(f"{heeding}\n{START}", "audit", sleepy, "--out", report) as running:
        while not marker.exists() and running.poll() is None:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        done = ended(running)
    assert done == (130, "", f"error: interrupted; {GOES_ON}.\n")
    assert not report.exists()


NAPPING = """
import time
from pathlib import Path

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, claim


def napping(key):
    @claim(key, source=Source("flverify", "example"), statement="", proposition="p",
           constants={"c": 1}, twin={"c": 2}, free=Free("c", 0, 4, weaker="smaller"))
    def check(k):
        Path(__file__).with_name(key).touch()
        time.sleep(60 if key == "demo.first" else 0)
        return judge.identity([("c", k.c, 1)], "a number")

    return check


first, second = napping("demo.first"), napping("demo.second")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    "words",
    [
        ("audit", "{}", "--update-ledger"),
        ("report", "{}", "--format", "md"),
        ("show", "demo.first", "--file", "{}"),
        ("sharpest", "demo.first", "--file", "{}"),
    ],
    ids=lambda words: words[0],
)
def test_a_termination_is_no_fault_of_the_check_that_runs(tmp_path, words):
    path, begun = tmp_path / "napping.py", tmp_path / "demo.first"
    path.write_text(NAPPING, encoding="utf-8")
    with python(START, *(word.format(path) for word in words)) as running:
        while not begun.exists() and running.poll() is None:
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        done = ended(running)
    said = f"error: terminated; {GOES_ON}.\n" if words[0] != "show" else ""
    assert done == (128 + signal.SIGTERM, "", said)
    assert sorted(p for p in tmp_path.iterdir() if p.is_file()) == [begun, path]


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize(
    "words", [["law", "uniform:2", "--n-clients", 5], ["--version"], ["--help"]]
)
def test_a_reader_that_goes_away_is_no_error(words):
    with python(START, *words) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()  # long before the first line is written
        stderr = running.stderr.read()
    assert stderr == ""
    assert running.returncode == cli.READER_GONE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_device_is_one_sentence():
    with Path("/dev/full").open("w") as full:
        done = process("law", "uniform:1", "--n-clients", 2, stdout=full)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "must be readable or writable" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a folder in use cannot be removed there")
@pytest.mark.parametrize("asks", [["new-paper", "mine"], ["report"]])
def test_a_folder_that_is_gone_is_one_sentence(tmp_path, monkeypatch, asks):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    result = CliRunner().invoke(cli.main, asks)
    monkeypatch.chdir(tmp_path)
    assert result.exit_code == 2
    assert "error: the folder that a command is run in must exist" in result.output


def test_a_missing_file_is_not_a_missing_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.main, ["report", "no.py"])
    assert "the folder that a command" not in result.output


@pytest.mark.slow
def test_a_pipe_gets_plain_text_of_one_width(sleepy):
    plain = process("audit", sleepy)
    assert plain.returncode == 0
    assert plain.stderr == ""  # no progress bar
    assert "\x1b" not in plain.stdout
    pretty = {"TERM": "xterm-256color", "COLUMNS": "40", "FORCE_COLOR": "1"}
    assert process("audit", sleepy, **pretty).stdout == plain.stdout


def test_no_character_stops_the_output(sleepy):
    done = process("show", "demo.slow", "--file", sleepy, PYTHONIOENCODING="latin-1")
    assert done.returncode == 0
    assert "1 \\u2264 2" in done.stdout


def test_runs_repeat_from_process_to_process():
    arguments = ("simulate", "focus", "--law", "bernoulli:1/2", "--rounds", 5, "--json")
    one = process(*arguments, PYTHONHASHSEED="1")
    other = process(*arguments, PYTHONHASHSEED="2")
    assert one.stdout == other.stdout
    assert json.loads(one.stdout)["format"] == "flverify/simulate"
    assert one.stderr == ""


@pytest.mark.slow
def test_a_terminal_gets_a_progress_bar_on_its_error_stream(sleepy):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    done = process("audit", sleepy, stderr=theirs, TERM="xterm")
    os.close(theirs)
    shown = os.read(ours, 100000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "audit" in shown
    assert "0/1" in shown
    assert "\x1b" not in done.stdout


@pytest.mark.slow
def test_the_python_line_of_show_reproduces_the_verdict(sleepy):
    shown = process("show", "demo.slow", "--file", sleepy, "--json")
    lines = json.loads(shown.stdout)["reproduce"]
    head, _, call = next(line for line in lines if "import" in line).rpartition("; ")
    with python(f"{head}; print({call}.verdict)") as running:
        assert ended(running) == (0, "INCONCLUSIVE\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_the_code_tells_of_bad_input_where_no_error_can_be_written():
    words = "from flverify.cli import main; main(['nonsense'])"
    with Path("/dev/full").open("w") as full:
        asked = [sys.executable, "-c", words]
        assert subprocess.run(asked, stderr=full, check=False).returncode == 2


def test_python_runs_the_package_as_the_command():
    def ran(word):
        asked = [sys.executable, "-m", "flverify", word]
        return subprocess.run(asked, capture_output=True, text=True, check=False)

    assert ran("--version").stdout.startswith("flverify, version")
    assert ran("nonsense").returncode == 2
    assert ran("nonsense").stderr.startswith("error: No such command 'nonsense'")

"""Run the command line inside the process, and files that it can read."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from flverify.cli import main

CLAIMS = """
from fractions import Fraction

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim

HERE = Source("flverify", "example")


@claim("demo.sum", source=HERE, statement="1+1=2 [b]x[/b]", constants={"two": 2},
       proposition="one and one are two", twin={"two": 3})
def total(c):
    return judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")


@claim("demo.less", source=HERE, statement="1<1", constants={"one": Fraction(1)},
       proposition="one is less than one", twin={"one": Fraction(1, 2)})
def less(c):
    again = lambda: (c.one, Fraction(1))
    case = judge.Case({"x": c.one}, c.one, Fraction(1), again)
    return judge.instances([case], "<", "one number")


@claim("other.reading", source=HERE, statement="?", proposition="read two ways",
       constants={"first": 1}, reading_twins={"one": {"first": 2}},
       no_control="it depends on the reading")
def reading(c):
    one = judge.identity([("first", 1, c.first)], "a number")
    two = judge.identity([("second", 1, 2)], "a number")
    return judge.readings({"one": one, "two": two})
"""


# before click 8.2 the streams had to be asked for one by one
APART = "mix_stderr" in signature(CliRunner).parameters
RUNNER = CliRunner(**({"mix_stderr": False} if APART else {}))


@dataclass(frozen=True)
class Ran:
    """What a run of the command line gave."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that is the whole standard output."""
        found: dict[str, Any] = json.loads(self.stdout)
        return found


Run = Callable[..., Ran]


def run_cli(*arguments: object) -> Ran:
    """Run `flverify` with some arguments; an unexpected exception is raised."""
    result = RUNNER.invoke(main, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge claims here unless a test asks for workers, whose start takes seconds."""
    monkeypatch.setattr("flverify.commands._claims.default_workers", lambda: 1)


@pytest.fixture
def run() -> Run:
    return run_cli


@pytest.fixture
def fails() -> Callable[..., str]:
    """Run with bad input and return the one sentence it gives, in JSON too."""

    def check(*arguments: object) -> str:
        ran = run_cli(*arguments)
        assert ran.code == 2, ran
        if "--json" in arguments:
            assert ran.json["status"] == "refused"
            assert ran.stderr == f"error: {ran.json['reason']}\n"
        else:
            assert ran.stdout == ""
        assert ran.stderr.startswith("error: ")
        assert ran.stderr.count("\n") == 1
        assert "Traceback" not in ran.stderr
        return ran.stderr

    return check


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, object], Path]:
    """Write a file of text, or of JSON if the content is no text."""

    def make(name: str, content: object) -> Path:
        path = tmp_path / name
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture
def claims(write: Callable[[str, object], Path]) -> Path:
    """A user's file with a claim that passes, a refuted one and one with readings."""
    return write("mine.py", CLAIMS)


@pytest.fixture
def full_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that has room when the place is tried, and none in the end."""

    def stop(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", stop)

"""`flverify explore`: what it refuses, and that it starts and ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from flverify._core.errors import InputError, MissingExtraError
from flverify.commands import explore

SERVE = "from flverify.commands.explore import command; command()"
NEEDS_PANEL = pytest.mark.skipif(
    find_spec("panel") is None, reason="the extra explorer is not installed"
)


def invoke(*arguments):
    return CliRunner().invoke(explore.command, [str(a) for a in arguments])


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(explore, "find_spec", lambda _: None)
    found = invoke("--no-browser")
    assert isinstance(found.exception, MissingExtraError)
    assert str(found.exception).endswith('run `pip install "flverify[explorer]"`.')


@NEEDS_PANEL
@pytest.mark.parametrize("port", ["-1", "65536", "web", "80.5", "nan"])
def test_a_bad_port_is_refused(port):
    found = invoke("--port", port, "--no-browser")
    assert found.exit_code == 2
    assert "--port" in found.output


@NEEDS_PANEL
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("step_size=-1", "step_size"),
        ("colour=red", "'colour'"),
        ("algorithm=gradient_descent&local_steps=2", "one local step"),
        ("nonsense", "name=value"),
    ],
)
def test_a_view_that_is_none_is_refused_before_anything_is_served(query, says):
    found = invoke(query, "--no-browser")
    assert isinstance(found.exception, InputError)
    assert says in str(found.exception)


@NEEDS_PANEL
def test_a_port_that_is_taken_is_one_sentence():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        found = invoke("--port", other.getsockname()[1], "--no-browser")
    assert isinstance(found.exception, InputError)
    assert "must be free" in str(found.exception)


@pytest.mark.slow
@NEEDS_PANEL
def test_it_says_where_it_is_and_ends_when_interrupted():
    arguments = [sys.executable, "-c", SERVE, "n_clients=3", "--port", "0"]
    with subprocess.Popen(
        [*arguments, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        line = process.stdout.readline()
        assert line.startswith("explorer at http://127.0.0.1:")
        assert "n_clients=3" in line
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors

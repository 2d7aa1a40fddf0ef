"""Every code block of the user guide runs, and prints what the guide says.

Blocks of Python are doctests. Blocks of the console are commands: `flverify` in this
process, `pytest` in another one; what they print is compared where the guide shows it.
A block with a caption is a file, each further one with that caption goes on with it.
Blocks of the shell are not run, but what they name must exist.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, REPORT_NDIFF, Example, OutputChecker
from inspect import signature
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from sybil import Region, Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from flverify.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob("*.md"))
FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE
FENCE = re.compile(
    r"^(?P<ticks>`{3,}|:{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
DIRECTIVES = {"toctree", "catalogue", "functions", "gallery", "note", "tip", "warning"}
LANGUAGES = {"python", "console", "sh"}
FOREVER = {"explore"}  # a server: its options are checked, it is not started

# before click 8.2 the streams had to be asked for one by one
APART = "mix_stderr" in signature(CliRunner).parameters
RUNNER = CliRunner(**({"mix_stderr": False} if APART else {}))


def fences(document):
    """Yield what is to be done at each fence, apart from Python."""
    for found in FENCE.finditer(document.text):
        info, body = found["info"].strip(), found["body"]
        doing = {"console": console, "sh": shell}.get(info)
        if info.startswith("{code-block}"):
            doing = file_written
        if doing is not None:
            yield Region(found.start(), found.end(), (doing, body), evaluate)


def evaluate(example):
    doing, body = example.parsed
    doing(body)


def console(body):
    """Run each command and compare what it prints with the lines below it."""
    for command, expected in commands(body):
        printed = ran(command)
        if expected.strip():
            agree = OutputChecker().check_output(expected, printed, FLAGS)
            shown = OutputChecker().output_difference(
                Example(command, expected), printed, FLAGS | REPORT_NDIFF
            )
            assert agree, f"$ {command}\n{shown}"


def commands(body):
    """Yield each command, put together where it goes on, with what it prints."""
    held, expected = "", []
    for line in body.splitlines():
        if line.startswith("$ "):
            if held:
                yield held, "".join(expected)
            held, expected = line[2:], []
        elif held.endswith("\\"):
            held = f"{held[:-1].rstrip()} {line.strip()}"
        else:
            assert held, f"a console block must begin with a command; got {line!r}"
            expected.append(f"{line}\n")
    yield held, "".join(expected)


def ran(command):
    """Run a command; where it says `|| echo WORDS` it has to fail."""
    command, _, otherwise = command.partition(" || echo ")
    program, *arguments = shlex.split(command)
    code, printed = {"flverify": flverify, "pytest": other, "python": alone}[program](
        arguments
    )
    assert code == (1 if otherwise else 0), f"$ {command}\n{printed}"
    return printed + (f"{otherwise}\n" if otherwise else "")


def flverify(arguments):
    result = RUNNER.invoke(main, arguments, prog_name="flverify")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout + result.stderr


def other(arguments):
    return started("-m", "pytest", "-p", "no:cacheprovider", *arguments)


def alone(arguments):
    """Run Python without anything installed."""
    return started("-I", "-S", *arguments)


def started(*arguments):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def file_written(body):
    """Write a block with a caption to the file that the caption names."""
    options = dict(re.findall(r"^:(\w+): (.+)$", body, re.MULTILINE))
    text = re.sub(r"\A(:[^\n]*\n)*\n?", "", body)
    path = Path(options["caption"])
    assert path.name == str(path), path
    with path.open("a", encoding="utf-8") as file:
        file.write(text if not path.stat().st_size else f"\n\n{text}")


def shell(body):
    """Check that the extras, commands and options of a block exist."""
    for line in filter(None, map(str.strip, body.splitlines())):
        words = shlex.split(line)
        if words[0] == "flverify":
            parses(words[1:])
        else:
            assert words[:2] == ["python", "-m"], line
            for extras in re.findall(r"\[(.+?)\]", line):
                assert set(extras.split(",")) <= known_extras(), line


def parses(words):
    command = main.get_command(click.Context(main), words[0])
    assert command is not None, words
    command.make_context(words[0], words[1:], parent=click.Context(main))


def known_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return set(project["project"]["optional-dependencies"])


GUIDE = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=FLAGS), fences],
    path=str(DOCS),
    pattern="*.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_does_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLVERIFY_CACHE", str(tmp_path / "kept"))
    for example in GUIDE.parse(DOCS / page).examples():
        example.evaluate()


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_passed_over(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        info = found["info"].strip()
        if info.startswith("{code-block}"):
            assert re.search(r"^:caption: \S+$", found["body"], re.MULTILINE), info
        elif info.startswith("{"):
            assert info[1:].partition("}")[0] in DIRECTIVES, info
        else:
            assert info in LANGUAGES, (page, info)


@pytest.mark.parametrize("page", PAGES)
def test_no_norm_in_a_table_loses_a_bar(page):
    rows = [one for one in (DOCS / page).read_text().splitlines() if one[:1] == "|"]
    assert not [row for row in rows if r"\|" in row], "write \\Vert in a table"


def test_every_page_is_in_the_contents():
    listed = re.findall(r"^(\w+)$", (DOCS / "index.md").read_text(), re.MULTILINE)
    assert sorted(f"{name}.md" for name in {"index", *listed}) == PAGES


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        ("$ flverify law uniform:1 --n-clients 2\nlaw ...\n", False),
        ("$ flverify law uniform:1 --n-clients 2\nno law\n", True),
        ("$ flverify law uniform:3 --n-clients 2\n", True),
        ("$ flverify law uniform:1 \\\n    --n-clients 2\nlaw ...\n", False),
        ("$ flverify law uniform:1 --n-clients 2 || echo failed\n", True),
    ],
)
def test_a_wrong_console_block_is_noticed(body, fails):
    if fails:
        with pytest.raises(AssertionError):
            console(body)
    else:
        console(body)


def test_a_wrong_shell_block_is_noticed():
    for line in ("flverify audit --no-such", "flverify nothing", "rm -rf x"):
        with pytest.raises((AssertionError, click.ClickException)):
            shell(line)
    with pytest.raises(AssertionError):
        shell('python -m pip install ".[nothing]"')

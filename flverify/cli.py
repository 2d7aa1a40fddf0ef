"""The command line: one group, exit codes, and one sentence for every bad input.

Exit codes: 0 as expected; 1 the answer is no; 2 bad input or refused; 129 the terminal
was closed; 130 interrupted; 141 the reader of the output went away; 143 terminated. A
command's module is loaded when the command runs or shows its own help, so that the
overview costs nothing.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from flverify import __version__
from flverify._core.at_once import ended_at_once
from flverify._core.errors import FlverifyError, TerminatedError
from flverify._core.sentences import EXPECTED, nearest, sentence

# Kept here, not read from the modules: the overview must not import them.
COMMANDS = {
    "audit": "Judge claims and compare the verdicts with the ledger.",
    "list": "List the claims with their source and proposition.",
    "report": "Write one page per paper for its readers.",
    "show": "Show one claim: statement, finding, control, evidence.",
    "new-paper": "Write a file of claims of your own, to start from.",
    "sharpest": "The best value of a free constant for which a claim still passes.",
    "law": "Tables of a participation law.",
    "rate": "Exact rates of convergence, several algorithms in one table.",
    "bias": "Where the mean goes: fixed point, bias, stationary error.",
    "advise": "Which step size, how many rounds, for one's own data and clients.",
    "simulate": "Sampled mean squared error against rounds.",
    "certify": "Certify a linear rate for a whole function class.",
    "average": "Bound an average over rounds, without strong convexity.",
    "region": "Certify rates on a grid of step sizes and another parameter.",
    "check": "Prove a certificate anew, independently of what found it.",
    "figure": "Draw a printed figure and write its table.",
    "explore": "Serve a page on this machine to look at step sizes and laws.",
}
BAD_INPUT, INTERRUPTED, READER_GONE = 2, 130, 141
LEFT_BY = ("SIGTERM", "SIGHUP")


class Commands(click.Group):
    """A group whose commands are loaded on use and whose errors are one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the overview."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        member = cmd_name.replace("-", "_")
        with ended_at_once():
            module = importlib.import_module(f"flverify.commands.{member}")
        found: click.Command = module.command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; of a word that is none, say which one is near."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            hint = nearest(name, COMMANDS, "")
            ctx.fail(f"No such command {name!r}{hint and f'; {hint}'}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the overview from the help lines alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the options; some, such as --version, write and end here."""
        with _reader_may_go():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and write all that it said."""
        with _reader_may_go():
            result = super().invoke(ctx)
            _flush()
        return result

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command line; standing alone, end the process with its exit code."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        _prepare()
        given = args[0] if args else extra.get("args")
        words = list(sys.argv[1:] if given is None else given)
        with _leaving():
            code = _exit_code(lambda: run(*args, standalone_mode=False, **extra), words)
        sys.exit(code)


@contextmanager
def _reader_may_go() -> Iterator[None]:
    """Take a reader that goes away for no error, and write no line at an interrupt."""
    try:
        yield
    except BrokenPipeError:
        _silence()
        raise click.exceptions.Exit(READER_GONE) from None
    except KeyboardInterrupt as error:
        raise click.Abort(*_notes(error)) from error


def _exit_code(run: Callable[[], object], words: list[str]) -> int:
    """Run, turn every expected failure into one sentence, and return the code."""
    try:
        code = run()
    except TerminatedError as error:
        for note in _notes(error):
            _complain(f"terminated; {note}.")
        raise
    except (click.Abort, KeyboardInterrupt) as error:
        return _complain("; ".join(["interrupted", *error.args]) + ".", INTERRUPTED)
    except (click.ClickException, *EXPECTED) as error:
        if isinstance(error, OSError) and not isinstance(error, FlverifyError):
            _silence()
        if isinstance(error, click.UsageError):
            _tell(error, words)
        return _complain(sentence(error))
    return code if isinstance(code, int) else 0


def _tell(error: click.UsageError, words: list[str]) -> None:
    """Tell a mistake that no command has told, if the words ask for JSON."""
    refusals = importlib.import_module("flverify.commands._refusals")
    command = error.ctx.command if error.ctx else None
    tells = isinstance(command, refusals.Reporting) and command.speaks_json()
    if tells or not refusals.asked(words):
        return
    kind = "command"  # none is known yet
    if command is not None and not isinstance(command, click.Group):
        kind = str(command.name)
    click.echo(refusals.refused(kind, sentence(error)))


def _notes(error: BaseException) -> list[str]:
    """Return what a command has to say where it ended."""
    return getattr(error, "__notes__", [])


def _complain(message: str, code: int = BAD_INPUT) -> int:
    with suppress(OSError):  # nobody can be told: the code says it
        click.echo(f"error: {message}", err=True)
    return code


@contextmanager
def _leaving() -> Iterator[None]:
    """Leave on SIGTERM by an exception, so that processes and files are cleared up.

    So on SIGHUP, of a terminal that is closed, unless `nohup` has it ignored. A second
    one ends the process as it is, in the middle of a computation too.
    """
    alone = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in LEFT_BY if hasattr(signal, name)]
    left = [n for n in known if alone and signal.getsignal(n) is signal.SIG_DFL]

    def heed(handler: Any) -> None:
        for number in left:
            signal.signal(number, handler)

    def leave(number: int, _: object) -> None:
        heed(signal.SIG_DFL)
        raise TerminatedError(128 + number)

    heed(leave)
    try:
        yield
    finally:
        heed(signal.SIG_DFL)


def _prepare() -> None:
    """Let exact text be long, and let no character stop the output."""
    sys.set_int_max_str_digits(0)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _silence() -> None:
    """Point the standard output at nothing, so that the last flush cannot fail."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        try:
            place = sys.stdout.fileno()
        except OSError:  # not a file: there is no flush to fear
            return
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, place)
        os.close(nothing)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="flverify")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Check convergence theorems of federated optimisation.

    `flverify audit` judges every claim; `flverify COMMAND --help` tells more about a
    command. Numbers are read exactly: 3/8, 0.2 and 2e-4 are rationals.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())

"""The pytest plugin: `--flverify-report PATH` and a section in the terminal summary.

Outcomes of assertions travel as properties of the test's report, so they arrive from
the workers of pytest-xdist too. Those made while a module is imported are the module's;
of these, workers send what belongs to imports that failed. Nothing here imports numpy,
and a session without an assertion loads no more of the package than this file and its
records.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from flverify._core.errors import InputError
from flverify.report.files import require_writable, write_whole
from flverify.testing.outcome import RECORDER
from flverify.testing.report import FORMATS, Row, as_text, count_line, text_rows

PROPERTY = "flverify"
NAME = "flverify-assertions"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("flverify", "rate assertions of flverify")
    group.addoption(
        "--flverify-report",
        metavar="PATH",
        dest="flverify_report",
        type=Path,
        help="write every rate assertion to PATH at the end: .html, .md or .json",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the path before any test runs, and listen.

    Raises
    ------
    UsageError
        If the file cannot be written, or its suffix is no format.
    """
    path = config.getoption("flverify_report")
    if path is not None:
        _require(path)
    config.pluginmanager.register(_Assertions(path), NAME)
    RECORDER.listen()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop listening."""
    plugin = config.pluginmanager.get_plugin(NAME)
    if plugin is not None:
        config.pluginmanager.unregister(plugin)
        RECORDER.leave()


def _require(path: Path) -> None:
    if path.suffix not in FORMATS:
        raise pytest.UsageError(
            f"--flverify-report must end in {', '.join(FORMATS)}; got {path}; change "
            "the suffix."
        )
    try:
        require_writable(path)
    except InputError as error:
        raise pytest.UsageError(f"--flverify-report: {error}") from error


class _Assertions:
    """Collects the outcomes of one session, in its main process."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: list[Row] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Hang the outcomes of an import on its report: no test made them."""
        report = yield
        vars(report)[PROPERTY] = [json.dumps(o.record()) for o in RECORDER.take()]
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what an import found, once: every worker imports all modules."""
        for value in getattr(report, PROPERTY, ()):
            row = Row(report.nodeid, json.loads(value), report.passed)
            if row not in self.rows:
                self.rows.append(row)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Hang the outcomes of this phase on its report, in whatever process."""
        report = yield
        for outcome in RECORDER.take():
            report.user_properties.append((PROPERTY, json.dumps(outcome.record())))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report carries."""
        for name, value in report.user_properties:
            if name == PROPERTY:
                outcome = json.loads(str(value))
                self.rows.append(Row(report.nodeid, outcome, report.passed))

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Show counts and every assertion, if there was one."""
        if not self.rows:
            return
        rows = sorted(self.rows, key=lambda row: row.test)
        terminalreporter.section("flverify: rate assertions")
        terminalreporter.write_line(count_line(rows))
        every = terminalreporter.config.get_verbosity() > 0
        for line in text_rows(rows, every=every):
            terminalreporter.write_line(line)
        if self.path is not None:
            terminalreporter.write_line(f"written to {self.path}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report whole; workers leave that to the main process."""
        if self.path is None or hasattr(session.config, "workerinput"):
            return
        rows = sorted(self.rows, key=lambda row: row.test)
        write_whole(self.path, as_text(rows, self.path.suffix))

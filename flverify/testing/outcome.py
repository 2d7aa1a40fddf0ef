"""What an assertion found, and the two exceptions that say it did not hold.

Light on purpose: the pytest plugin imports this file in every session.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, replace
from enum import StrEnum


class Status(StrEnum):
    """How an assertion ended; a verdict on a claim is something else."""

    HOLDS = "HOLDS"
    BROKEN = "BROKEN"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True)
class Outcome:
    """What was asserted, what was found and how.

    Parameters
    ----------
    assertion : str
        Name of the function.
    status : Status
    claimed, found : str
        What was asserted, and the value found.
    answered_by : str
        Exact moments, moments in floats, or sampling with its error probabilities.
    setting : str
        Problem, algorithm, law and start.
    first_break : str
        First round that breaks the bound, where there is one.
    reason : str
        Why there is no answer.
    reproduce : str
        A command of the shell, or lines of Python.

    Examples
    --------
    >>> found = "it settles", "rate 1/2", "exact moments", "one client"
    >>> print(Outcome("assert_stable", Status.HOLDS, *found).message())
    assert_stable: HOLDS
      claimed: it settles
      found: rate 1/2
      answered by: exact moments
      setting: one client
    """

    assertion: str
    status: Status
    claimed: str
    found: str
    answered_by: str
    setting: str
    first_break: str = ""
    reason: str = ""
    reproduce: str = ""

    def message(self) -> str:
        """Return the text of a failure, line by line."""
        rows = [
            ("claimed", self.claimed),
            ("found", self.found),
            ("first round that breaks it", self.first_break),
            ("no answer because", self.reason),
            ("answered by", self.answered_by),
            ("setting", self.setting),
            ("reproduce", self.reproduce),
        ]
        head = f"{self.assertion}: {self.status}"
        return "\n".join([head, *(_row(name, text) for name, text in rows if text)])

    def instead_of(self, refusal: object) -> Outcome:
        """Return the same outcome, and why nothing better answered."""
        return replace(self, answered_by=f"{self.answered_by} ({refusal})")

    def record(self) -> dict[str, str]:
        """Return the outcome as plain texts."""
        return {name: str(value) for name, value in asdict(self).items()}


def _row(name: str, text: str) -> str:
    lines = text.splitlines()
    if len(lines) == 1:
        return f"  {name}: {text}"
    return "\n".join([f"  {name}:", *(f"    {line}" for line in lines)])


class _Failing(AssertionError):  # noqa: N818
    """An assertion that did not hold, with its outcome; it survives pickling."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message())
        self.outcome = outcome

    def __reduce__(self) -> tuple[type, tuple[Outcome]]:
        return type(self), (self.outcome,)


class Broken(_Failing):
    """The setting breaks what was asserted; `outcome` has the parts of the message."""


class Inconclusive(_Failing):
    """The assertion could not be answered; that is no pass, and no failure either."""


class Recorder:
    """Outcomes since they were last taken; nothing is kept while nobody listens."""

    def __init__(self) -> None:
        self._listeners = 0
        self._kept: deque[Outcome] = deque()

    def listen(self) -> None:
        """Keep outcomes from now on; a session within a session listens too."""
        self._listeners += 1

    def leave(self) -> None:
        """Undo one `listen`."""
        self._listeners = max(self._listeners - 1, 0)

    def keep(self, outcome: Outcome) -> None:
        """Keep one outcome."""
        if self._listeners:
            self._kept.append(outcome)

    def take(self) -> list[Outcome]:
        """Return what was kept, and forget it."""
        taken = list(self._kept)
        self._kept.clear()
        return taken


RECORDER = Recorder()


def settle(outcome: Outcome) -> Outcome:
    """Record an outcome; return it if the assertion holds, raise otherwise.

    Raises
    ------
    Broken
        If the setting breaks what was asserted.
    Inconclusive
        If there is no answer.
    """
    __tracebackhide__ = True
    RECORDER.keep(outcome)
    if outcome.status == Status.BROKEN:
        raise Broken(outcome)
    if outcome.status == Status.INCONCLUSIVE:
        raise Inconclusive(outcome)
    return outcome

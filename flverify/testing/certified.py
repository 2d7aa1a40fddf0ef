"""What assertions about a whole class of functions say before anything is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType

from flverify.algorithms._algorithm import Algorithm
from flverify.participation._law import Participation
from flverify.testing import reproduce, written
from flverify.testing.outcome import Outcome, Status


@dataclass(frozen=True)
class Asked:
    """An assertion, the method and the law it is about, and the command for it."""

    assertion: str
    command: str
    algorithm: Algorithm
    law: Participation
    loop: ModuleType | None

    def open(self, claim: str, options: Iterable[str]) -> Outcome:
        """Return the outcome of a claim that neither holds nor is broken yet."""
        command = ""
        if self.loop is None:  # else it lies in a module that no command can find
            setting = self.command, self.algorithm, self.law
            command = reproduce.certified(*setting, options)
        law = written.law(self.law)
        return Outcome(
            self.assertion,
            Status.INCONCLUSIVE,
            claim,
            found="nothing",
            answered_by="a certificate in rationals, by an independent checker",
            setting=f"{written.algorithm(self.algorithm)} under {law}",
            reproduce=command,
        )

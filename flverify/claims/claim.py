"""A claim: what is printed, what is judged, and the check with its control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from flverify._core.errors import InputError
from flverify._core.sources import Source
from flverify.claims.verdict import Finding

Check = Callable[[SimpleNamespace], Finding]


@dataclass(frozen=True)
class Claim:
    """One printed statement.

    Parameters
    ----------
    id : str
        Stable id of the ledger.
    source : Source
        Where it is printed.
    statement : str
        The statement as printed, in LaTeX.
    proposition : str
        What is judged: one sentence that can be true or false.
    judged_by : callable
        From the constants to a finding.
    constants : mapping
        The statement's constants as data, so that they can be perturbed.
    twin : mapping
        Constants to change for the control: a broken twin of a claim that passes, a
        mended twin of one that is refuted; the same code judges it.
    no_control : str
        Why there is no control; only an inconclusive claim may have none.
    """

    id: str
    source: Source
    statement: str
    proposition: str
    judged_by: Check
    constants: Mapping[str, Any] = field(default_factory=dict)
    twin: Mapping[str, Any] = field(default_factory=dict)
    no_control: str = ""

    def __post_init__(self) -> None:
        unknown = set(self.twin) - set(self.constants)
        if unknown:
            raise InputError(
                f"the twin of {self.id} must change constants of the claim; got "
                f"{sorted(unknown)}; name constants that exist."
            )
        if not self.twin and not self.no_control:
            raise InputError(
                f"{self.id} must have a control; got neither a twin nor a reason for "
                "having none; add one."
            )

    def check(self, **changed: Any) -> Finding:
        """Judge the claim, with some constants changed if asked."""
        unknown = set(changed) - set(self.constants)
        if unknown:
            raise InputError(
                f"{self.id} must be given constants that it has; got {sorted(unknown)};"
                f" choose among {sorted(self.constants)}."
            )
        return self.judged_by(SimpleNamespace(**{**self.constants, **changed}))

    def control(self) -> Finding | None:
        """Judge the twin by the same code; None if the claim has none."""
        return self.check(**self.twin) if self.twin else None


def claim(
    id: str,  # noqa: A002
    *,
    source: Source,
    statement: str,
    proposition: str,
    constants: Mapping[str, Any] | None = None,
    twin: Mapping[str, Any] | None = None,
    no_control: str = "",
) -> Callable[[Check], Claim]:
    """Make the decorated check a claim.

    Examples
    --------
    >>> from flverify.claims import judge
    >>> @claim("demo.sum", source=Source("flverify", "example"), statement="1+1=2",
    ...        proposition="one and one are two", constants={"two": 2},
    ...        twin={"two": 3})
    ... def demo(c):
    ...     return judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")
    >>> demo.check().verdict, demo.control().verdict
    (<Verdict.PROVED: 'PROVED'>, <Verdict.REFUTED: 'REFUTED'>)
    """

    def wrap(judged_by: Check) -> Claim:
        return Claim(
            id,
            source,
            statement,
            proposition,
            judged_by,
            constants or {},
            twin or {},
            no_control,
        )

    return wrap

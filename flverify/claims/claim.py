"""A claim: what is printed, what is judged, and the check with its control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy

from flverify._core.errors import InputError, MissingConstantError
from flverify._core.shown import shown
from flverify._core.sources import Source
from flverify.claims import _given, _made
from flverify.claims.free import Free
from flverify.claims.premises import Lines
from flverify.claims.sharp import Sharp
from flverify.claims.verdict import Finding

__all__ = ["Check", "Claim", "Free", "Sharp", "Source", "claim"]

Check = Callable[[SimpleNamespace], Finding]
Given = Sequence[str] | Mapping[str, str | Sequence[str]]


class Constants(SimpleNamespace):
    """The constants of a claim, by name; names that are read go into a set."""

    __slots__ = ("__read",)  # mangled, for a constant may have any name

    def __init__(self, values: Mapping[str, Any], read: set[str]) -> None:
        self.__read = read
        super().__init__(**{name: _own(value) for name, value in values.items()})

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name != "_Constants__read":
            self.__read.add(name)
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks for these by itself
            raise AttributeError(name)
        raise MissingConstantError(
            f"a check must use constants that its claim has; got {name}; choose among "
            f"{', '.join(vars(self)) or 'none'}, or add it to the constants."
        )


def _own(value: Any) -> Any:
    """Return a copy of what could be changed in place, as lists can."""
    if isinstance(value, dict):
        return {key: _own(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_own, value))
    changeable = isinstance(value, list | set | np.ndarray | sympy.MatrixBase)
    return value.copy() if changeable else value


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
        Why there is no control; only an inconclusive claim may have none, and only
        if none of its readings passes.
    reading_twins : mapping
        Constants to change for the control of one reading, or part, by its name, or
        of a part of a reading, as in "(i) / sum": where the twin is the wrong tool for
        a reading that passes, or leaves a part as it is. That reading or part must come
        out refuted by the same code.
    free : sequence of Free
        Constants whose best value may be sought.
    exact : sequence of str
        Constants of equalities: moved either way, they break the claim.
    structural : mapping
        Constants that no number beside them strengthens or weakens, such as an index,
        each with the reason.
    sharp : Sharp or None
        Best values of free constants, where those in print are not: if the claim
        passes, they are judged by the same code and stand beside it.
    given : mapping of str to sequence of str
        Printed lines from which it is to follow, with the ids of the claims that judge
        them: what is judged is the step from them, and every scope says so.
    unaided : str
        How the names of those readings begin that are not from these lines, such as
        "(ii) by itself"; empty if all are.
    mended_from : mapping of str to sequence of str, or None
        The same, for its correction alone: the lines of `given` if None, and none if
        empty, where the correction rests on nothing that is printed. A sharp statement
        is from the lines of `given` always: the same check judges it.
    path : path
        The file it stands in, known once that has been read.
    """

    id: str
    source: Source
    statement: str
    proposition: str
    judged_by: Check
    constants: Mapping[str, Any] = field(default_factory=dict)
    twin: Mapping[str, Any] = field(default_factory=dict)
    no_control: str = ""
    reading_twins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    free: Sequence[Free] = ()
    exact: Sequence[str] = ()
    structural: Mapping[str, str] = field(default_factory=dict)
    sharp: Sharp | None = None
    given: Lines = field(default_factory=dict)
    unaided: str = ""
    mended_from: Lines | None = None
    path: Path = field(default=Path(), compare=False, repr=False)

    def __post_init__(self) -> None:
        self._require_kinds()
        for one in self.free:
            one.require_of(self.id, self.constants)
        self._require_declared_once()
        if self.sharp:
            self.sharp.require_of(self.id, self.free)
        for changed in (self.twin, *self.reading_twins.values()):
            unknown = set(changed) - set(self.constants)
            if unknown:
                raise InputError(
                    f"a twin of {self.id} must change constants of the claim; got "
                    f"{sorted(unknown)}; name constants that exist."
                )
        if self.twin and _alike(self.twin, self.constants):
            raise InputError(
                f"the twin of {self.id} must give a constant another value; got those "
                "of the claim; change one."
            )
        if not all(self.reading_twins.values()):
            raise InputError(
                f"each twin of a reading of {self.id} must change some constant; got "
                "one that changes nothing; name constants."
            )
        if not self.twin and not self.no_control:
            raise InputError(
                f"{self.id} must have a control; got neither a twin nor a reason for "
                "having none; add one."
            )

    def _require_kinds(self) -> None:
        for name in ("id", "statement", "proposition", "no_control", "unaided"):
            _given.text(getattr(self, name), f"{name} of a claim")
        for name in ("id", "proposition"):
            _given.words(getattr(self, name), f"the {name} of a claim")
        like = 'Source("my_paper", "Lemma 1", reference="...")'
        _given.instance_of(self.source, Source, f"the source of {self.id}", like)
        for name in ("constants", "twin", "reading_twins", "structural"):
            _given.mapping(getattr(self, name), f"{name} of {self.id}", "{'cap': 2}")
        for name, changed in self.reading_twins.items():
            _given.mapping(changed, f"the twin of {name} of {self.id}", "{'cap': 2}")
        like = 'Free("cap", "1/10", 1, weaker="smaller")'
        for _ in _given.instances_of(self.free, Free, f"free of {self.id}", like):
            pass
        if self.sharp is not None:
            _given.instance_of(self.sharp, Sharp, f"sharp of {self.id}", "Sharp(...)")
        if not callable(self.judged_by):
            raise InputError(
                f"{self.id} must be judged by a function of its constants; got "
                f"{shown(self.judged_by)}; put @claim(...) above one."
            )

    def _require_declared_once(self) -> None:
        free = {one.constant for one in self.free}
        listed = [*self.exact, *self.structural]
        wrong = {n for n in listed if n not in self.constants or n in free}
        if wrong or len(set(listed)) < len(listed):
            raise InputError(
                f"what is exact or structural in {self.id} must be a constant that is "
                f"declared once; got {sorted(wrong) or listed}; choose among "
                f"{sorted(set(self.constants) - free)}."
            )

    def check(self, /, **changed: Any) -> Finding:
        """Judge the claim, with some constants changed if asked.

        As it is printed, the sharp statement comes beside it, if it has one.
        """
        unknown = set(changed) - set(self.constants)
        if unknown:
            raise InputError(
                f"{self.id} must be given constants that it has; got {sorted(unknown)};"
                f" choose among {sorted(self.constants)}."
            )
        read = set[str]()
        finding = self._found({**self.constants, **changed}, read)
        if not isinstance(finding, Finding):  # an audit says so
            return finding
        if not changed and finding.passes():
            self._require_read(read)
        if self.sharp and not changed and finding.passes():
            best = self.sharp.judged(
                lambda c: self._found(vars(c), set()), self.constants, self.free
            )
            finding = finding.corrected(self.sharp.text(), best)
            return self._granted(finding, self.given)  # as the same check is
        return self._granted(finding, self.mended_from)

    def _found(self, constants: Mapping[str, Any], read: set[str]) -> Finding:
        """Run the check on constants of its own: what it changes of them is lost."""
        return self.judged_by(Constants(constants, read))

    def _require_read(self, read: set[str]) -> None:
        unread = {one.constant for one in self.free} - read
        if unread and "__dict__" not in read:  # as vars(c) does
            raise InputError(
                f"what is free in {self.id} must be read by its check; got "
                f"{sorted(unread)}, which it does not read; use it, or leave it out."
            )

    def _granted(self, finding: Finding, mended_from: Lines | None) -> Finding:
        """Say from which printed lines it follows, and from which its correction."""
        fixed = finding.correction
        granted = finding.granted(list(self.given)) if self.given else finding
        if self.unaided:
            found = finding.readings.items()
            alone = {n: one for n, one in found if n.startswith(self.unaided)}
            granted = replace(granted, readings={**granted.readings, **alone})
        if fixed is None or mended_from is None:
            return granted
        own = fixed.finding.granted(list(mended_from))
        return granted.corrected(fixed.statement, own)

    def control(self) -> Finding | None:
        """Judge the twin by the same code; None if the claim has none."""
        return self.check(**self.twin) if self.twin else None

    def reading_controls(self, finding: Finding) -> dict[str, Finding]:
        """Judge the twin of each reading or part by the same code; take that of it.

        Raises
        ------
        InputError
            If the finding, or the twin's, has no reading or part of that name.
        """
        whole: list[tuple[Mapping[str, Any], Finding]] = []
        out = {}
        for name, changed in self.reading_twins.items():
            known = [found for before, found in whole if before == changed]
            twin = known[0] if known else self.check(**changed)
            whole.append((changed, twin))
            here, there = map(_named_within, (finding, twin))
            if name not in here or name not in there:
                raise InputError(
                    f"a twin must be of a reading or part that {self.id} has; got "
                    f"{name!r}; choose among {list(here)}."
                )
            out[name] = there[name]
        return out


def _named_within(found: Finding) -> dict[str, Finding]:
    """Return parts and readings by name; parts of a reading as `reading / part`."""
    inner = {
        f"{reading} / {name}": part
        for reading, one in found.readings.items()
        for name, part in one.parts.items()
    }
    return {**inner, **found.parts, **found.readings}


def _alike(changed: Mapping[str, Any], constants: Mapping[str, Any]) -> bool:
    """Whether what is changed is written as before."""
    return all(repr(value) == repr(constants[k]) for k, value in changed.items())


def _tuple(values: object, name: str) -> tuple[Any, ...]:
    return tuple(_given.entries(values, name, "one"))


def _lines(given: Given, key: str) -> Lines:
    """Return printed lines with the ids of claims, none where none are named."""
    lines = given if isinstance(given, Mapping) else _unnamed(given, key)
    named = {k: (v,) if isinstance(v, str) else v for k, v in lines.items()}
    listed = all(isinstance(v, list | tuple) for v in named.values())
    words = [*named, *(name for v in named.values() if listed for name in v)]
    fits = listed and all(isinstance(word, str) and word.strip() for word in words)
    if isinstance(given, str) or not fits:
        raise InputError(
            f"what {key} is given must be printed lines, each with the ids of the "
            f"claims that judge it; got {shown(given)}; write given={{'(2)': 'my.id'}}."
        )
    return {line: tuple(keys) for line, keys in named.items()}


def _unnamed(given: object, key: str) -> dict[Any, tuple[str, ...]]:
    listed = [] if isinstance(given, str) else _given.entries(given, key, "'(2)'")
    return {line if isinstance(line, str) else 0: () for line in listed}  # 0: no line


def claim(
    id: str,  # noqa: A002
    *,
    source: Source,
    statement: str,
    proposition: str,
    constants: Mapping[str, Any] | None = None,
    twin: Mapping[str, Any] | None = None,
    no_control: str = "",
    reading_twins: Mapping[str, Mapping[str, Any]] | None = None,
    free: Free | Sequence[Free] = (),
    exact: Sequence[str] = (),
    structural: Mapping[str, str] | None = None,
    sharp: Sharp | None = None,
    given: Given = (),
    unaided: str = "",
    mended_from: Given | None = None,
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
        found = Claim(
            id,
            source,
            statement,
            proposition,
            judged_by,
            {} if constants is None else constants,
            {} if twin is None else twin,
            no_control,
            {} if reading_twins is None else reading_twins,
            (free,) if isinstance(free, Free) else _tuple(free, "free"),
            _tuple(exact, "exact"),
            {} if structural is None else structural,
            sharp,
            _lines(given, id),
            unaided,
            None if mended_from is None else _lines(mended_from, id),
        )
        _made.note(found)
        return found

    return wrap

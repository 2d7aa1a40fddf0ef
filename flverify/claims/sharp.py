"""Best values of the constants of a claim that passes with weaker ones in print.

They are data; what they are worth is found by the claim's own check at these values,
and again 1 % beyond each of them, where it must no longer pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from flverify._core.errors import InputError
from flverify._core.exact import Scalar, parse_number
from flverify.claims import judge
from flverify.claims.free import Free
from flverify.claims.verdict import Finding

BEST, BEYOND = "sharp", "just beyond"  # keys of the evidence


@dataclass(frozen=True)
class Sharp:
    r"""The sharp statement beside a claim: best values, and how they read in print.

    Parameters
    ----------
    statement : str
        In LaTeX; <name> stands for the best value of that constant.
    best : mapping
        Best value by the name of a free constant, with its entry as in "caps[1/L]";
        None if the claim holds without it: the entry is left out, or set to None.

    Examples
    --------
    >>> Sharp(r"x\le<bound>", {"bound": "3/2", "cap": None}).text()
    'x\\le\\tfrac{3}{2}'
    """

    statement: str
    best: Mapping[str, Scalar | str | None]

    def require_of(self, claim: str, free: Sequence[Free]) -> None:
        """Check that what is sharp is free in the claim, and a value that it can have.

        Raises
        ------
        InputError
            If it is not, or nothing is.
        """
        names = [one.name for one in free]
        unknown = [name for name in self.best if name not in names]
        if unknown or not self.best:
            raise InputError(
                f"what is sharp in {claim} must be free in it; got {unknown}; choose "
                f"among {names}."
            )
        for one in free:
            value = self.best.get(one.name)
            try:
                if value is not None:
                    one.fitting(parse_number(str(value)))
            except InputError as error:
                raise InputError(f"the sharp value in {claim}: {error}") from error
            if value is None and f"<{one.name}>" in self.statement:
                raise InputError(
                    f"the sharp statement of {claim} must name values that there are; "
                    f"got <{one.name}>, which has none; leave it out, or give one."
                )

    def text(self) -> str:
        """Return the statement with the best values put in."""
        out = self.statement
        for name, value in self.best.items():
            if value is not None:
                out = out.replace(f"<{name}>", _latex(Fraction(str(value))))
        return out

    def judged(
        self,
        check: Callable[[SimpleNamespace], Finding],
        constants: Mapping[str, Any],
        free: Sequence[Free],
    ) -> Finding:
        """Judge the claim at the best values, and just beyond each of them."""
        named = {
            one.name: replace(one, given={}) for one in free if one.name in self.best
        }
        at = dict(constants)
        for name, value in self.best.items():
            at |= (
                _without(named[name], at)
                if value is None
                else _with(named[name], at, value)
            )
        found = check(SimpleNamespace(**at))
        if not found.passes():
            return found
        beyond = {}
        for name, value in self.best.items():
            if value is None:
                continue
            more = named[name].stronger(Fraction(str(value)))
            whole = check(SimpleNamespace(**{**at, **named[name].changed(at, more)}))
            other = named[name].judged(whole)
            if other.passes():
                return judge.inconclusive(
                    f"{name} = {value} is not the best value: {more} passes too"
                )
            beyond[name] = f"{more}: {other.verdict}: {other.reason}"
        return _told(found, self.best, beyond)


def covered(finding: Finding) -> Mapping[str, str]:
    """Return the best values that stand beside a finding, by name.

    Examples
    --------
    >>> covered(judge.inconclusive("nothing was tried"))
    {}
    """
    fixed = finding.correction
    if fixed is None or not fixed.finding.passes():
        return {}
    return dict(fixed.finding.evidence.get(BEST, {}))


def _told(
    found: Finding, best: Mapping[str, Any], beyond: Mapping[str, str]
) -> Finding:
    values = {k: "not needed" if v is None else str(v) for k, v in best.items()}
    ends = ", ".join(
        f"{name} = {text.split(': ')[0]} would be {text.split(': ')[1]}"
        for name, text in beyond.items()
    )
    return replace(
        found,
        scope=f"{found.scope}; {ends}" if ends else found.scope,
        evidence={**found.evidence, BEST: values, BEYOND: dict(beyond)},
    )


def _with(free: Free, at: Mapping[str, Any], value: Any) -> dict[str, Any]:
    return free.changed(at, Fraction(str(value)))


def _without(free: Free, at: Mapping[str, Any]) -> dict[str, Any]:
    if not free.key:
        return {free.constant: None}
    kept = {k: v for k, v in at[free.constant].items() if k != free.key}
    return {free.constant: kept}


def _latex(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value)
    sign = "-" if value < 0 else ""
    return rf"{sign}\tfrac{{{abs(value.numerator)}}}{{{value.denominator}}}"

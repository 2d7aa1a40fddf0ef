"""A free constant: one whose best value may be sought, and which way it weakens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from flverify._core.checks import choice
from flverify._core.errors import DomainError, InputError
from flverify._core.exact import Scalar, is_exact, scalar
from flverify._core.shown import shown
from flverify.claims.verdict import Finding, Verdict

PERCENT = Fraction(1, 100)  # how far the rule of one per cent moves a number


@dataclass(frozen=True)
class Free:
    """A constant of a claim whose best value `flverify sharpest` looks for.

    Parameters
    ----------
    constant : str
        Name of a constant of the claim.
    low, high : rational
        Where to search; numbers or text, ends included.
    weaker : {"smaller", "larger"}
        Which values weaken the claim: if it holds for one value, so it does for these.
    key : str
        Entry of the constant, if that is a mapping.
    given : mapping
        Other constants to change meanwhile, such as those of the mended twin.
    reading : str
        The reading to judge; the claim as a whole if empty.
    whole : bool
        Whether the constant is an integer.

    Raises
    ------
    DomainError
        If the ends are not rational or in the wrong order, or `weaker` is another word.

    Examples
    --------
    >>> cap = Free("caps", "1/16", 1, weaker="smaller", key="1/L")
    >>> cap.changed({"caps": {"1/L": "1/2", "1/(2N)": "3"}}, Fraction(1, 4))
    {'caps': {'1/L': '1/4', '1/(2N)': '3'}}
    """

    constant: str
    low: Scalar
    high: Scalar
    weaker: Literal["smaller", "larger"]
    key: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    reading: str = ""
    whole: bool = False

    def __post_init__(self) -> None:
        choice(self.weaker, "weaker", ("smaller", "larger"))
        for name in ("low", "high"):
            object.__setattr__(self, name, scalar(getattr(self, name), name))
        rational = is_exact(self.low) and is_exact(self.high)
        integers = (
            rational and self.low == int(self.low) and self.high == int(self.high)
        )
        if not rational or self.low >= self.high or (self.whole and not integers):
            kind = "integers" if self.whole else "rationals"
            raise DomainError(
                f"{self.name} must have {kind} low < high; got {shown(self.low)} and "
                f"{shown(self.high)}; choose such ends."
            )

    @property
    def name(self) -> str:
        """The constant, with its entry if that is what is free."""
        return f"{self.constant}[{self.key}]" if self.key else self.constant

    def value(self, constants: Mapping[str, Any]) -> Fraction | None:
        """Return the value among constants; None if the entry is not there.

        Raises
        ------
        InputError
            If it is no rational number, or no integer where it is declared whole.
        """
        found = constants[self.constant]
        if self.key and isinstance(found, Mapping):
            found = found.get(self.key)
        number = found if found is None else scalar(found, self.name)
        if number is not None and not is_exact(number):
            raise InputError(
                f"{self.name} must be rational to be free; got {shown(found)}; write "
                "it as a fraction."
            )
        return number if number is None else self.fitting(number)

    def judged(self, finding: Finding) -> Finding:
        """Return what was found in the reading that is judged.

        Raises
        ------
        InputError
            If there is no such reading; where nothing was shown of any, that stands.
        """
        silent = finding.verdict == Verdict.INCONCLUSIVE and not finding.readings
        if not self.reading or silent:
            return finding
        if self.reading not in finding.readings:
            raise InputError(
                f"{self.name} must be judged in a reading that its claim has; got "
                f"{shown(self.reading)}; choose among {list(finding.readings)}."
            )
        return finding.readings[self.reading]

    def fitting(self, value: Fraction) -> Fraction:
        """Return a value, if it is an integer where the constant is one.

        Raises
        ------
        InputError
            If it is none.
        """
        if self.whole and value.denominator != 1:
            raise InputError(
                f"{self.name} must be an integer, since it is declared whole; got "
                f"{shown(value)}; give an integer, or leave out whole=True."
            )
        return value

    def stronger(self, value: Fraction) -> Fraction:
        """Return the value 1 % further against the weaker side, the next if integer.

        Examples
        --------
        >>> str(Free("bound", 1, 4, weaker="larger").stronger(Fraction(2)))
        '99/50'
        """
        step = Fraction(1) if self.whole else abs(value) * PERCENT or PERCENT
        return value + (step if self.weaker == "smaller" else -step)

    def changed(self, constants: Mapping[str, Any], value: Fraction) -> dict[str, Any]:
        """Return what to change so that the free constant has a value.

        It is written as text where the print is, as an integer where it is one.

        Raises
        ------
        InputError
            If it is no integer where the constant is declared whole.
        """
        self.fitting(value)
        now = {**constants, **self.given}[self.constant]
        printed = now[self.key] if self.key else now
        written: Any = str(value) if isinstance(printed, str) else value
        if self.whole and not isinstance(printed, str):
            written = int(value)
        return {
            **self.given,
            self.constant: {**now, self.key: written} if self.key else written,
        }

    def require_of(self, claim: str, constants: Mapping[str, Any]) -> None:
        """Check that a claim has these constants, the free one a rational.

        Raises
        ------
        InputError
            If it does not.
        """
        unknown = {self.constant, *self.given} - set(constants)
        if unknown:
            raise InputError(
                f"what is free in {claim} must be a constant of it; got "
                f"{sorted(unknown)}; choose among {sorted(constants)}."
            )
        now = {**constants, **self.given}
        if bool(self.key) != isinstance(now[self.constant], Mapping):
            raise InputError(
                f"{self.name} of {claim} must be one number, an entry if the constant "
                "is a mapping and no entry otherwise; name it."
            )
        if self.value(now) is None:
            raise InputError(
                f"{self.name} of {claim} must be an entry of the constant; got none of "
                "that name; name one that exists."
            )

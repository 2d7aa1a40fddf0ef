"""A region from the command line: step sizes, values, and a setting for each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flverify._core.checks import positive
from flverify._core.errors import DomainError, FormatError, InputError
from flverify._core.exact import Scalar
from flverify.certify.region import Row, Spacing, require_size, spaced
from flverify.commands._algorithms import Chosen, Override, build, read_overrides
from flverify.commands._function_class import (
    read_class,
    require_certifiable,
    require_certified_name,
    require_certified_variant,
    require_clients,
)
from flverify.commands._laws import build_law, read_law
from flverify.commands._numbers import (
    count,
    naming,
    numbers_of,
    positive_number,
    whole_number,
)

DEFAULT_LAW = "full"
GEOMETRIC = ("n", "kappa")  # whose values are spaced geometrically
WHOLE = ("tau", "n")
VARIED = {
    "tau": "local_steps",
    "p": "inclusion",
    "n": "n_clients",
    "kappa": "strong_convexity",
}
# the option that says what --over goes over, and is left out with it
FIXED = {
    "tau": "--local-steps",
    "p": "--participation",
    "n": "--n-clients",
    "kappa": "--mu",
}


@dataclass(frozen=True)
class Asked:
    """A region as it was asked for.

    Parameters
    ----------
    name : str
        Of the algorithm.
    over : str
    step_sizes : tuple of Fraction
    rows : tuple of Row
    law : str
        Its text, with p for what differs.
    """

    name: str
    over: str
    step_sizes: tuple[Fraction, ...]
    rows: tuple[Row, ...]
    law: str

    def settings(self) -> dict[str, Any]:
        """Return what all rows set the algorithm to, beside steps and their number."""
        first, *others = [
            Chosen(self.name, row.algorithm, ()).settings() for row in self.rows
        ]
        return {
            name: value
            for name, value in first.items()
            if name not in ("step_size", "local_steps")
            and all(other[name] == value for other in others)
        }

    def setting(self) -> dict[str, Any]:
        """Return what all rows share, for a report."""
        row = self.rows[0]
        every = {
            "settings": self.settings(),
            "law": self.law,
            "n_clients": row.law.n_clients,
            "local_steps": row.algorithm.local_steps,
            "strong_convexity": row.strong_convexity,
            "smoothness": row.smoothness,
        }
        left_out = VARIED[self.over]
        return {name: value for name, value in every.items() if name != left_out}


def read_region(
    algorithm: str,
    over: str,
    values: str,
    step_sizes: str,
    spacing: Spacing,
    smoothness: str,
    overrides: tuple[str, ...],
    **fixed: Any,
) -> Asked:
    """Read every option.

    Raises
    ------
    FlverifyError
        If an option is outside its domain or contradicts another.
    """
    require_certified_name(algorithm)
    read = read_overrides(overrides, [algorithm], _taken(over, fixed))
    _require_fixed(over, fixed)
    smooth = positive_number("--smoothness", smoothness)
    grid = _numbers("--step-sizes", step_sizes, spacing)
    listed = _values(over, values)
    require_size(len(grid), len(listed))
    given = DEFAULT_LAW if fixed["law"] is None else fixed["law"]
    text = _swept(algorithm, read) if over == "p" else given
    rows = [_row(algorithm, over, value, smooth, read, fixed, text) for value in listed]
    return Asked(algorithm, over, grid, tuple(rows), text)


def _swept(name: str, overrides: tuple[Override, ...]) -> str:
    """Return the law that --over p goes over: for ProxSkip's coin, all or nothing."""
    notebook = any(o.name == "variant" and o.value == "notebook" for o in overrides)
    coin = name == "proxskip" and not notebook
    return "allornothing:p" if coin else "bernoulli:p"


def _taken(over: str, fixed: Mapping[str, Any]) -> dict[str, str]:
    """Say which settings have options of their own here."""
    taken = {"step_size": "--step-sizes"}
    if over == "tau":
        taken["local_steps"] = "--over tau"
    elif fixed["local_steps"] is not None:
        taken["local_steps"] = "--local-steps"
    return taken


def _require_fixed(over: str, fixed: Mapping[str, Any]) -> None:
    """Check that what differs is not fixed, and that the rest is."""
    given = {**fixed, "inclusion": fixed["law"], "strong_convexity": fixed["mu"]}
    if given[VARIED[over]] is not None:
        raise InputError(
            f"{FIXED[over]} must be left out with --over {over}, which goes over it; "
            "got both; leave one out."
        )
    if over != "kappa" and fixed["mu"] is None:
        raise InputError(
            f"--mu must be given with --over {over}; got none; add --mu NUMBER."
        )


def _numbers(flag: str, text: str, spacing: Spacing) -> tuple[Fraction, ...]:
    """Read V1,V2,... or LOW:HIGH:COUNT."""
    if ":" not in text:
        return tuple(numbers_of(flag, text))
    parts = text.split(":")
    if len(parts) != 3:
        raise FormatError(
            f"{flag} must be V1,V2,... or LOW:HIGH:COUNT; got {text!r}; write it like "
            "that."
        )
    low, high = (
        positive_number(f"the {end} of {flag}", part)
        for end, part in zip(("LOW", "HIGH"), parts, strict=False)
    )
    with naming(flag):
        return spaced(low, high, count(parts[2], "COUNT", least=2), spacing)


def _values(over: str, text: str) -> tuple[Fraction, ...]:
    found = _numbers("--values", text, "log" if over in GEOMETRIC else "linear")
    if over not in WHOLE:
        return found
    if ":" in text:  # a range of whole numbers holds each once
        found = tuple(sorted({Fraction(round(value)) for value in found}))
    for value in found:
        whole_number(value, f"--values of {over}")
    return found


def _row(
    name: str,
    over: str,
    value: Fraction,
    smooth: Scalar,
    overrides: tuple[Override, ...],
    fixed: Mapping[str, Any],
    text: str,
) -> Row:
    steps = int(value) if over == "tau" else fixed["local_steps"] or 1
    size = int(value) if over == "n" else fixed["n_clients"]
    law = text.replace(":p", f":{value}") if over == "p" else text
    written = read_law(law)
    clients = require_clients(size or written.size, text)
    built = build_law(written, law, clients)
    mu = _convexity(over, value, smooth, fixed["mu"])
    chosen = build(name, Fraction(1), steps, overrides, built)
    require_certifiable(built)
    require_certified_variant(chosen.algorithm, built)
    return Row(value, chosen.algorithm, built, mu, smooth)


def _convexity(
    over: str, value: Fraction, smooth: Fraction, mu: str | None
) -> Fraction:
    """Return mu, which must be below L."""
    if over != "kappa":
        return read_class(str(mu), str(smooth))[0]
    if positive(value, "kappa") <= 1:
        raise DomainError(
            f"--values of kappa = L/mu must be above 1; got {value}; choose larger "
            "ones."
        )
    return smooth / value

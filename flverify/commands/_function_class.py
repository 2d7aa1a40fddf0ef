"""What `certify` and `region` share: which settings can be certified at all."""

from __future__ import annotations

from fractions import Fraction

from flverify._core.errors import DomainError, RefusedError
from flverify.certify.certificate import NAMES
from flverify.commands._numbers import positive_number
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing

CERTIFIABLE = ", ".join(sorted(NAMES.values()))


def read_class(mu: str, smoothness: str) -> tuple[Fraction, Fraction]:
    """Read strong convexity and smoothness.

    Raises
    ------
    DomainError
        If 0 < mu < L does not hold.
    """
    low = Fraction(positive_number("--mu", mu))
    high = Fraction(positive_number("--smoothness", smoothness))
    if not low < high:
        raise DomainError(
            f"--mu must be below --smoothness; got {low} and {high}; lower one or "
            "raise the other."
        )
    return low, high


def require_certifiable(name: str, law: Participation) -> None:
    """Check what no search is needed for.

    Raises
    ------
    RefusedError
        If the algorithm has no certificates, or nobody ever takes part.
    """
    if name not in NAMES.values():
        raise RefusedError(
            f"a certificate must be for one of {CERTIFIABLE}; got {name}; use rate for "
            "this algorithm."
        )
    if isinstance(law, AllOrNothing) and law.probability == 0:
        raise RefusedError(
            "every client must take part with positive probability; got 0; raise it, "
            "since no rate can hold for clients that never do."
        )

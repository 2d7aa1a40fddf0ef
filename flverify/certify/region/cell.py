"""One cell of a region: an algorithm under a law, at one step size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["certified", "not certified", "inconclusive", "unstable"]


@dataclass(frozen=True)
class Cell:
    """What was found at one step size.

    Parameters
    ----------
    step_size : Fraction
    status : {"certified", "not certified", "inconclusive", "unstable"}
        "unstable" where a quadratic's rate is at least 1, so that no rate below 1 can
        hold; "inconclusive" where the solver failed or its points did not survive.
    rate : Fraction or None
        Certified factor per round of the squared distance.
    level : str
        The ansatz of the certificate.
    quadratic_rate : Fraction
        Lower bound of the worst quadratic's rate, proved in rationals.
    reason : str
        Why it is inconclusive; else empty.
    """

    step_size: Fraction
    status: Status
    rate: Fraction | None
    level: str
    quadratic_rate: Fraction
    reason: str = ""

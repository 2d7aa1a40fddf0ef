"""What holds for every problem with the same constants: certified and printed steps.

The class is that of all mu-strongly convex, L-smooth f_i, with the problem's least
mu_i and largest L_i; ends that are not rational are rounded outward, so that the
problem stays in the class. Step sizes are tried where the worst quadratics of the
class, over a ladder of them, are fastest: what is certified there is reported, best
rate first, and beside it the largest step size with any certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.errors import InputError, ReadingError, RefusedError
from flverify._core.exact import Scalar, is_exact
from flverify._core.failed_floats import FLOATS_FAILED, floats_failed
from flverify.advise.setting import short
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.classes import MOST_CLASSES, classes
from flverify.certify.printed import printed
from flverify.certify.quadratics import QuadraticRates
from flverify.certify.region import Row, RowFound, region, require_local_steps
from flverify.certify.sandwich import corner_rates
from flverify.participation._law import Participation
from flverify.participation.bernoulli import Bernoulli

OUTWARD = 6  # significant digits of mu and L that are not rational
DIGITS = 4  # of a step size that is tried
LOWEST, HIGHEST, RUNGS = 1e-4, 4.0, 26  # eta L of the ladder
LADDERS = 3
PARTS = (0.75, 0.9, 1.0)  # of the step size where the worst quadratics are fastest
REFUSED = (InputError, ReadingError, RefusedError)
NONE_FOUND = "no certificate was found, which says nothing about the method"


@dataclass(frozen=True)
class Constants:
    """mu and L of the class, and whether they are the problem's own."""

    strong_convexity: Fraction
    smoothness: Fraction
    rounded: bool


@dataclass(frozen=True)
class ClassWide:
    """Step sizes that are good for the whole class.

    Parameters
    ----------
    step_size, rate : Fraction or None
        The best certified rate among the step sizes tried, and its step size.
    largest : Fraction or None
        Largest step size with a certificate that a search found.
    kind : {"rate", "contraction", ""}
        Whether the rate leads to x*, or to a neighbourhood.
    reason : str
        Why there is no certificate.
    cap : Fraction or None
        Printed step-size cap, rounded down if irrational.
    printed_rate : Fraction or None
        Printed rate at that cap.
    printed_by : str
        The theorem, or why there is no cap.
    """

    step_size: Fraction | None
    rate: Fraction | None
    largest: Fraction | None
    kind: str
    reason: str
    cap: Fraction | None
    printed_rate: Fraction | None
    printed_by: str


def constants(problem: Any) -> Constants:
    """Return the constants of the class that a problem belongs to.

    Raises
    ------
    DomainError
        If a client is not convex.

    Examples
    --------
    >>> from flverify.problems import Quadratics
    >>> found = constants(Quadratics([[[1]], [[3]]], [[0], [0]]))
    >>> str(found.strong_convexity), str(found.smoothness), found.rounded
    ('1', '3', False)
    """
    least = min(problem.client_strong_convexity().tolist())
    most = max(problem.client_smoothness().tolist())
    ends = _outward(least, ROUND_FLOOR), _outward(most, ROUND_CEILING)
    return Constants(*ends, rounded=not (is_exact(least) and is_exact(most)))


def _outward(value: Scalar, rounding: str) -> Fraction:
    if is_exact(value):
        return Fraction(value)
    return Fraction(Context(prec=OUTWARD, rounding=rounding).plus(Decimal(value)))


def class_wide(
    algorithm: Algorithm, law: Participation, found: Constants, *, certify: bool = True
) -> ClassWide:
    """Certify for the class, and look up what is printed.

    Parameters
    ----------
    algorithm : Algorithm
        Its step size plays no role.
    law : Participation
        With rational probabilities.
    found : Constants
    certify : bool
        Whether certificates are looked for, which takes most of the time.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> ends = Constants(Fraction(1, 10), Fraction(1), False)
    >>> found = class_wide(GradientDescent(1), Full(2), ends)
    >>> float(found.step_size), float(found.rate), float(found.largest)
    (0.9077, 0.669882, 0.9999098)
    """
    theorem = _printed(algorithm, law, found)
    if not certify:
        return ClassWide(None, None, None, "", "not asked for", *theorem)
    try:
        row = _row(algorithm, law, found)
    except REFUSED as error:
        return ClassWide(None, None, None, "", _refusal(error, law), *theorem)
    except FLOATS_FAILED as error:
        return ClassWide(None, None, None, "", floats_failed(error), *theorem)
    best = row.best
    kind = "contraction" if row.contraction else "rate"
    if best is None:
        return ClassWide(None, None, row.certified_boundary, kind, NONE_FOUND, *theorem)
    return ClassWide(
        best.step_size, best.rate, row.certified_boundary, kind, "", *theorem
    )


def _refusal(error: Exception, law: Participation) -> str:
    """Say why there is no certificate; of too many probabilities, in plain words."""
    distinct = len({*law.inclusion().tolist()})
    if distinct <= MOST_CLASSES:
        return str(error)
    try:
        classes(law)
    except REFUSED as refused:
        if isinstance(law, Bernoulli) and str(refused) == str(error):
            return (
                f"a certificate is for clients with at most {MOST_CLASSES} distinct "
                f"probabilities; got {distinct}; round them to fewer values."
            )
    return str(error)


def _row(algorithm: Algorithm, law: Participation, found: Constants) -> RowFound:
    """Certify at step sizes near the one where the worst quadratics are fastest."""
    ends = found.strong_convexity, found.smoothness
    require_local_steps(algorithm.local_steps)  # before its round is read
    rates = QuadraticRates.of(algorithm, law)
    low, high = (end / float(found.smoothness) for end in (LOWEST, HIGHEST))
    for _ in range(LADDERS):  # each between two rungs of the one before
        ladder = np.geomspace(low, high, RUNGS)
        best = int(np.argmin(corner_rates(rates, ladder.tolist(), *ends)))
        low, high = ladder[max(best - 1, 0)], ladder[min(best + 1, RUNGS - 1)]
    fastest = float(ladder[best])
    steps = [short(fastest * part, DIGITS) for part in PARTS]
    size = Fraction(law.n_clients)
    return region("n", steps, [Row(size, algorithm, law, *ends)]).found[0]


def _printed(
    algorithm: Algorithm, law: Participation, found: Constants
) -> tuple[Fraction | None, Fraction | None, str]:
    """Cap, rate at the cap, and theorem; or why there is none."""
    ends = found.strong_convexity, found.smoothness
    try:
        theorem = printed(algorithm, law, *ends)
        if theorem is None:
            return None, None, "no theorem of the papers has one"
        at_cap = printed(algorithm.retuned(theorem.cap), law, *ends)
    except REFUSED as error:
        return None, None, str(error)
    return theorem.cap, at_cap.rate if at_cap else None, str(theorem.source)

"""`assert_averaging_weights`: q_i = E[I_i/|S|] of a law."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flverify._core.errors import ShapeError
from flverify._core.exact import Scalar
from flverify.engines.kinds import require_law
from flverify.participation._law import Participation
from flverify.testing import given, reproduce, written
from flverify.testing.comparison import keeps
from flverify.testing.outcome import Outcome, Status, settle
from flverify.testing.written import number, vector

NAME = "assert_averaging_weights"
ROUNDING = 1e-12  # weights are at most 1; laws in floats compute them to about this


def assert_averaging_weights(
    participation: object, expected: Any, *, tolerance: Scalar = 0
) -> Outcome:
    """Assert the averaging weights of a participation law.

    Definition: q_i = E[I_i/|S|] with 0/0 = 0, the weight with which client i enters
    an average over the participants.

    Parameters
    ----------
    participation : Participation
    expected : (N,) numbers, weight 1
        The claimed weights; they sum to the probability of a nonempty round.
    tolerance : scalar >= 0
        How far each weight may be off; 0 means equality, in floats up to 1e-12.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    Broken
        If a weight is another.
    Inconclusive
        If an irrational weight cannot be told from the claimed one.
    InputError
        If a parameter lies outside its domain.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> law = Bernoulli(["1/2", "1/2"])
    >>> assert_averaging_weights(law, ["3/8", "3/8"]).found
    'q = (3/8, 3/8)'
    """
    __tracebackhide__ = True
    law = require_law(participation)
    given.require_numbers(law, "participation", irrational=True)
    claimed = given.vector(expected, "expected")
    slack = given.least_zero(tolerance, "tolerance")
    if claimed.shape != (law.n_clients,):
        raise ShapeError(
            f"expected must have one weight per client, shape ({law.n_clients},); got "
            f"{claimed.shape}; give as many."
        )
    return settle(_compare(law, claimed, slack))


def _is_near(found: Scalar, said: Scalar, slack: Scalar, rough: bool) -> bool | None:
    """Whether a weight is the claimed one; None where that cannot be told."""
    if not rough:
        return keeps(abs(found - said), slack)
    gap = abs(given.as_float(found) - given.as_float(said))
    return gap <= given.as_float(slack) + ROUNDING


def _compare(law: Participation, claimed: Any, slack: Scalar) -> Outcome:
    weights = law.averaging_weights()
    floats = weights.dtype != object
    rough = floats or claimed.dtype != object
    pairs = list(zip(weights.tolist(), claimed.tolist(), strict=True))
    near = [_is_near(found, said, slack, rough) for found, said in pairs]
    out = Outcome(
        NAME,
        Status.HOLDS,
        claimed=f"q = {vector(claimed)}" + (f", to {number(slack)}" if slack else ""),
        found=f"q = {vector(weights)}",
        answered_by="the law's moments" + (" in floats, to 1e-12" if floats else ""),
        setting=written.law(law),
        reproduce=reproduce.law_command(law) or reproduce.law_script(law),
    )
    if all(near):
        return out
    if False not in near:
        why = "an irrational weight cannot be told from the claimed one"
        return replace(out, status=Status.INCONCLUSIVE, reason=f"{why}; pass rationals")
    worst = near.index(False)
    found, said = map(number, pairs[worst])
    where = f"client {worst} is the first that is off: q = {found}, claimed {said}"
    return replace(out, status=Status.BROKEN, found=f"{out.found}; {where}")

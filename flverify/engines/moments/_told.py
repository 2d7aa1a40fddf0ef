"""What is known of a mean that is not seen to settle."""

from __future__ import annotations

from contextlib import suppress

from flverify._core.errors import RefusedError
from flverify.engines.moments._moments import Moments

BLURRED = 1e-6  # a float rate that is nearer to 1 does not say on which side it lies


def surely_moves(found: Moments) -> bool:
    """Whether it is known that the mean does not converge, from some start.

    A float rate next to 1 does not tell a slow mean from one that moves on.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.engines.moments import moments
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> one = Quadratics([[[1.0]]], [[2.0]])
    >>> slow, grows = (moments(one, GradientDescent(h), Full(1)) for h in (1e-14, 3.0))
    >>> slow.mean_settles, surely_moves(slow), surely_moves(grows)
    (False, False, True)
    """
    if not found.exact:
        with suppress(RefusedError):  # where directions may grow that floats lose
            if abs(found.mean_rate - 1) <= BLURRED:
                return False
    return not found.mean_settles

"""The minimiser of a problem: of a quadratic one what its Hessians say."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from flverify._core.errors import InputError
from flverify._core.exact import Array
from flverify._core.places import is_own
from flverify.problems.quadratics import Quadratics


def quadratics_of(problem: Any) -> Quadratics | None:
    """Return the quadratics that moments take a problem for; None if they take none.

    Examples
    --------
    >>> one = Quadratics([[[1]]], [[2]])
    >>> quadratics_of(one) is one, quadratics_of("none") is None
    (True, True)
    """
    if isinstance(problem, Quadratics) and not is_own(problem):
        return problem
    if not (is_own(problem) and hasattr(problem, "hessians")):
        return None
    with suppress(InputError, AttributeError):
        return Quadratics(problem.hessians, problem.linear)
    return None


def minimiser_of(problem: Any) -> Array:
    """x*, shape (d,), weight x, as exact as the problem's data.

    A user's own quadratic problem may compute its own in floats; beside rational
    Hessians that would be another point.

    Examples
    --------
    >>> minimiser_of(Quadratics([[[3]]], [[1]]))
    array([Fraction(1, 3)], dtype=object)
    """
    known = quadratics_of(problem)
    if known is not None:
        with suppress(InputError):  # singular: any of many points is one
            return known.minimiser()
    return np.asarray(problem.minimiser())

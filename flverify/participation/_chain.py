"""Finite Markov chains: their check and their stationary distribution."""

from __future__ import annotations

import numpy as np

from flverify._core.checks import is_listed
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Scalar, common_kind, text
from flverify.participation._distribution import numeric_distribution

Rows = tuple[tuple[Scalar, ...], ...]


def transition_rows(values: object, n_modes: int) -> Rows:
    """Return a row-stochastic K by K matrix of one kind as tuples.

    Raises
    ------
    ShapeError
        If the value is not K lists of K numbers.
    DomainError
        If a row is not a distribution.
    """
    listed = [*values] if is_listed(values) else []
    names = [f"transition[{k}]" for k in range(len(listed))]
    rows = [numeric_distribution(*pair) for pair in zip(listed, names, strict=True)]
    if len(rows) != n_modes or any(len(row) != n_modes for row in rows):
        raise ShapeError(
            f"transition must have one row and one column per law, here {n_modes}; "
            f"got rows of lengths {[len(row) for row in rows]}; match the laws."
        )
    flat = common_kind(entry for row in rows for entry in row)
    return tuple(tuple(flat[k * n_modes : (k + 1) * n_modes]) for k in range(n_modes))


def stationary(transition: Rows) -> tuple[Scalar, ...]:
    """Return the stationary distribution, of the kind of the entries.

    State reduction after Grassmann, Taksar and Heyman: no subtraction, so floats keep
    their relative accuracy in every entry.

    Raises
    ------
    DomainError
        If it is not unique: two sets of modes that are never left.

    Examples
    --------
    >>> from fractions import Fraction
    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> stationary(((1 - half, half), (third, 1 - third)))
    (Fraction(2, 5), Fraction(3, 5))
    """
    kept = _recurrent(transition)
    p = [[transition[k][n] for n in kept] for k in kept]
    for last in range(len(kept) - 1, 0, -1):
        leave = sum(p[last][:last])
        for k in range(last):
            p[k][last] = p[k][last] / leave
            for n in range(last):
                p[k][n] = p[k][n] + p[k][last] * p[last][n]
    mass = [transition[0][0] * 0 + 1]
    for n in range(1, len(kept)):
        mass.append(sum(mass[k] * p[k][n] for k in range(n)))
    total = sum(mass)
    shares = dict(zip(kept, (m / total for m in mass), strict=True))
    return tuple(shares.get(k, 0 * total) for k in range(len(transition)))


def _recurrent(transition: Rows) -> list[int]:
    """Return the modes that every mode leads to."""
    size = len(transition)
    reach = np.array([[entry != 0 for entry in row] for row in transition])
    for middle in range(size):
        reach |= reach[:, middle, None] & reach[middle]
    kept = np.flatnonzero(reach.all(axis=0)).tolist()
    if not kept:
        rows = "; ".join(",".join(text(entry) for entry in row) for row in transition)
        raise DomainError(
            f"the stationary law must be unique; got the transition {rows}, "
            f"which has two sets of modes that are never left; study each set alone."
        )
    return [int(k) for k in kept]

"""Exact weights of columns that satisfy linear conditions, by the simplex method.

A vertex of a linear programme tells which columns are used and which conditions are
equalities there; the equations of these are solved once more in rationals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from scipy.optimize import linprog

from flverify._core.exact import Array
from flverify.certify._definite import as_float, kernel, two_to
from flverify.certify.gram._faces import affine

ROUNDINGS = (1, 2, 3, 4, 6, 12, 60, 10**3, 10**6, 10**9)
SMALL = (1e-9, 1e-7, 1e-5)  # what counts as zero at a vertex
VIOLATED = 1e-12  # least sum of violations that shows that a column is missing
SLACK = 0.01  # how far from equality an inequality is wanted
ACCURATE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class System:
    """columns @ x + constants is >= 0 where signed, and 0 elsewhere.

    Parameters
    ----------
    columns : (K, J) array of flint rationals
    constants : (K,) array of flint rationals
    signed : (K,) array of bool
    count : int
        The first `count` of x are weights, which must not be negative.
    """

    columns: Array
    constants: Array
    signed: Array
    count: int


def combination(system: System) -> tuple[Array | None, Array]:
    """Find an exact x, or tell by prices of the conditions which columns would help.

    Returns
    -------
    x : (J,) array of flint rationals, or None
    prices : (K,) array
        A column helps if prices @ column > 0.
    """
    scaled = _Scaled(system)
    violation, prices = scaled.least_violation()
    found = None
    if violation < max(SMALL):
        proposal = scaled.widest()
        found = None if proposal is None else _exact(system, *proposal)
    return found, prices


class _Scaled:
    """The system in floats near 1: rows, columns and constants times powers of two."""

    def __init__(self, system: System) -> None:
        whole = np.concatenate([system.columns, -system.constants[:, None]], axis=1)
        self.rows, self.columns = _balance(whole)
        factors = [[two_to(int(r + c)) for c in self.columns] for r in self.rows]
        powers = np.array(factors, dtype=object).reshape(whole.shape)
        self.table = as_float(whole * powers)
        signs = -np.eye(len(self.rows))[:, system.signed]
        self.left = np.concatenate([self.table[:, :-1], signs], axis=1)
        size, slacks = system.columns.shape[1], signs.shape[1]
        self.size, self.signed, self.signs = size, system.signed, signs
        free = [(None, None)] * (size - system.count)
        positive = (0, None)
        self.bounds = [positive] * system.count + free + [positive] * slacks

    def _solved(self, more: Array, top: float | None, cost: float) -> Any:
        """Solve with more columns, each from 0 to `top` at some cost."""
        count = more.shape[1]
        return linprog(
            np.append(np.zeros(self.left.shape[1]), np.full(count, cost)),
            A_eq=np.concatenate([self.left, more], axis=1),
            b_eq=self.table[:, -1],
            bounds=self.bounds + [(0, top)] * count,
            method="highs-ds",
            options=ACCURATE,
        )

    def least_violation(self) -> tuple[float, Array]:
        """Least sum of violations, and prices of the conditions."""
        identity = np.eye(len(self.rows))
        answer = self._solved(np.concatenate([identity, -identity], axis=1), None, 1.0)
        if answer.x is None:
            return np.inf, np.zeros(len(self.rows))
        prices = np.asarray(answer.eqlin.marginals, dtype=float)
        if answer.fun < VIOLATED:
            prices = np.zeros(len(self.rows))
        return float(answer.fun), np.ldexp(prices, self.rows - self.rows.max())

    def widest(self) -> tuple[list[Fraction], Array, Array] | None:
        """Propose x with many slacks: unscaled, scaled, and the slack of each row."""
        answer = self._solved(self.signs, SLACK, -1.0)
        if answer.x is None:
            return None
        slack = np.zeros(len(self.rows))
        slack[self.signed] = answer.x[self.left.shape[1] :]
        scaled = answer.x[: self.size]
        shifts = self.columns[:-1] - self.columns[-1]
        pairs = zip(scaled, shifts, strict=True)
        unscaled = [Fraction(float(v)) * Fraction(2) ** int(k) for v, k in pairs]
        return unscaled, scaled, slack


def _balance(table: Array) -> tuple[Array, Array]:
    """Exponents of two for rows and columns that bring all entries near 1."""
    lengths = [int(v.p).bit_length() - int(v.q).bit_length() for v in table.flat]
    size = np.array(lengths, dtype=float).reshape(table.shape)
    hidden = np.ma.array(size, mask=table == 0)
    rows, columns = np.zeros(len(table)), np.zeros(table.shape[1])
    for _ in range(4):
        now = hidden + rows[:, None] + columns
        rows -= ((now.max(axis=1) + now.min(axis=1)) / 2).filled(0.0)
        now = hidden + rows[:, None] + columns
        columns -= ((now.max(axis=0) + now.min(axis=0)) / 2).filled(0.0)
    return rows.round().astype(int), columns.round().astype(int)


def _exact(
    system: System, values: list[Fraction], scaled: Array, slack: Array
) -> Array | None:
    """Solve the equations of a vertex in rationals, and check all conditions."""
    size, free = len(scaled), np.arange(len(scaled)) >= system.count
    for small in SMALL:
        used = np.flatnonzero(free | (scaled > small))
        tight = slack <= small
        equations = system.columns[tight][:, used]
        solved = affine(equations, -system.constants[tight])
        if solved is None:
            continue
        start, directions = solved
        places = used[kernel(equations, len(used))[1]]
        for denominator in (*ROUNDINGS, 0):
            short = [_rounded(values[k], denominator) for k in places]
            x = np.full(size, flint.fmpq(0), dtype=object)
            x[used] = start + directions @ np.array(short, dtype=object)
            if _holds(system, x):
                return x
    return None


def _rounded(value: Fraction, denominator: int) -> Any:
    """Round to a denominator, or not at all if that is 0."""
    if denominator:
        value = Fraction(round(value * denominator), denominator)
    return flint.fmpq(value.numerator, value.denominator)


def _holds(system: System, x: Array) -> bool:
    gaps = zip(system.columns @ x + system.constants, system.signed, strict=True)
    right = all(gap >= 0 if sign else gap == 0 for gap, sign in gaps)
    return right and all(weight >= 0 for weight in x[: system.count])

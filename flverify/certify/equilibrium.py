"""The value of every slot that a round leaves alone while gradients are taken at x*.

Unknown are alpha (and beta) of alpha x* (+ beta g*_i) for every slot; that the round
keeps it, and asks for gradients at x* only, are linear equations, one per feature,
since the features of a draw are independent of x* and g*.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from flverify._core.exact import Scalar
from flverify._core.rationals import entries, matrix, to_flint, to_fraction
from flverify.certify.forms import Form, Reading
from flverify.engines.forms import ONE, ClientForm, Feature, Key, ServerForm, Symbol

Equilibrium: TypeAlias = dict[str, tuple[Fraction, Fraction]]
Unknown: TypeAlias = tuple[str, str]  # ("x", slot) is its alpha, ("g", slot) its beta
Sum: TypeAlias = dict[Unknown, Fraction]


class _Equations:
    """Linear equations in the unknowns, collected form by form."""

    def __init__(self, reading: Reading, with_star: bool) -> None:
        self.reading, self.with_star = reading, with_star
        self.unknowns: list[Unknown] = [("x", s) for s in reading.slots]
        if with_star:
            self.unknowns += [("g", s) for s in reading.client_slots]
        self.rows: list[list[Fraction]] = []

    def require(self, terms: Sum, value: Fraction | int) -> None:
        """Add terms = value; unknowns that are not asked for count as zero."""
        row = [terms.get(u, Fraction(0)) for u in self.unknowns]
        self.rows.append([*row, Fraction(value)])

    def client(
        self, terms: Mapping[Key, Scalar], *, slot: str | None = None, at: int = 0
    ) -> None:
        """Require that a client form equals at x*, or the slot's own value."""
        for feature in dict.fromkeys([ONE, *(f for f, _ in terms)]):
            own = {s: v for (f, s), v in terms.items() if f == feature}
            self._feature(own, feature, slot if feature == ONE else None, at)

    def _feature(
        self, own: Mapping[Symbol, Scalar], feature: Feature, slot: str | None, at: int
    ) -> None:
        x, g, moved = parts(own)
        if slot is not None:
            add(x, ("x", slot), Fraction(-1))
            add(g, ("g", slot), Fraction(-1))
        self.require(x, at if feature == ONE else 0)
        if self.with_star:
            self.require(g, -moved)

    def server(self, slot: str, form: ServerForm) -> None:
        """Require that a server form equals the slot's own value."""
        x, _, _ = parts(form.fixed)
        add(x, ("x", slot), Fraction(-1))
        everyone = {s: v for (f, s), v in form.summed.items() if f == ONE}
        whole, _, _ = parts(everyone)  # over all clients the parts in g* vanish
        for unknown, value in whole.items():
            add(x, unknown, self.reading.classes.n_clients * value)
        self.require(x, 0)
        for feature in {f for f, _ in form.summed} - {ONE}:
            drawn = {s: v for (f, s), v in form.summed.items() if f == feature}
            self._feature(drawn, feature, None, 0)


def add(into: Sum, unknown: Unknown, value: Fraction) -> None:
    """Add to one coefficient of a sum."""
    into[unknown] = into.get(unknown, Fraction(0)) + value


def parts(own: Mapping[Symbol, Scalar]) -> tuple[Sum, Sum, Fraction]:
    """Split into parts in x*, in g*_i, and the plain g*_i of gradients."""
    x: Sum = {}
    g: Sum = {}
    moved = Fraction(0)
    for (kind, name), coefficient in own.items():
        value = Fraction(coefficient)
        if kind == "gradient":
            moved += value
        elif kind == "mean":  # the mean of g* vanishes
            if name[0] == "client":
                add(x, ("x", name[1]), value)
        else:
            add(x, ("x", name), value)
            if kind == "client":
                add(g, ("g", name), value)
    return x, g, moved


def equilibrium(reading: Reading, *, with_star: bool) -> Equilibrium | None:
    """Solve for alpha and beta of every slot; None if there is no equilibrium.

    Parameters
    ----------
    with_star : bool
        Whether it must hold whatever the gradients g*_i of mean zero are, or only
        where they vanish.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg, Focus
    >>> from flverify.certify.classes import classes
    >>> from flverify.certify.forms import read
    >>> from flverify.participation import UniformCohort
    >>> one = classes(UniformCohort(3, 1))
    >>> equilibrium(read(Focus("1/8"), one), with_star=True)["stored"]
    (Fraction(0, 1), Fraction(1, 1))
    >>> equilibrium(read(FedAvg("1/8"), one), with_star=True) is None
    True
    """
    equations = _Equations(reading, with_star)
    equations.require({("x", "model"): Fraction(1)}, 1)
    for point in reading.points:
        equations.client(point.terms, at=1)
    for branch in reading.branches:
        for slot, form in branch.after.items():
            _keep(equations, slot, form)
    return _solved(equations)


def _keep(equations: _Equations, slot: str, form: Form) -> None:
    if isinstance(form, ClientForm):
        equations.client(form.terms, slot=slot)
    else:
        equations.server(slot, form)


def _solved(equations: _Equations) -> Equilibrium | None:
    """Solve by elimination, free unknowns at zero."""
    table = np.array(equations.rows, dtype=object)
    reduced, rank = matrix(to_flint(table)).rref()
    values = dict.fromkeys(equations.unknowns, Fraction(0))
    for row in entries(reduced)[:rank]:
        pivot = next(k for k, v in enumerate(row) if v != 0)
        if pivot == len(equations.unknowns):
            return None
        values[equations.unknowns[pivot]] = to_fraction(row[-1])
    return {
        slot: (values["x", slot], values.get(("g", slot), Fraction(0)))
        for slot in equations.reading.slots
    }

"""The inequality of a certificate with every client and every cohort written out.

For FOCUS and SCAFFOLD with one local step, mu-strongly convex and 1-smooth functions.
V has no symmetry, every client has multipliers of its own, and cvxpy solves it:
nothing is taken from the package but a law's list of cohorts.
"""

from __future__ import annotations

from itertools import permutations

import cvxpy as cp
import numpy as np

from flverify.algorithms import Focus


def margin(algorithm, law, mu, rho, *, remembered, alike=False):
    """How positive rho V - E V+ can be with V >= |x|^2; negative where it cannot be.

    With `remembered`, y_i is the gradient at a point p_i, and V knows p_i and
    f_i(p_i); else y_i is any vector. In both V knows the values f_i(x), or where
    `alike` their mean alone.
    """
    state, drawn = rounds(algorithm, law, remembered=remembered)
    known = points(law.n_clients, remembered=remembered)
    size = len(state)
    matrix, t = cp.Variable((size, size), symmetric=True), cp.Variable()
    at_model = cp.Variable(law.n_clients, nonneg=True)
    at_memory = cp.Variable(law.n_clients) if remembered else None
    new = sum(p * rows.T @ matrix @ rows for p, _, rows in drawn)
    decrease = Condition(rho * state.T @ matrix @ state - new, known)
    kept = {
        i: {b: at for b, at in own.items() if b != "model"} for i, own in known.items()
    }
    model = state[0]
    positive = Condition(state.T @ matrix @ state - product(model, model), kept)
    for i, own in known.items():
        decrease.add(rho * at_model[i], i, "model")
        weights = decrease.shares(at_model[i], own)
        for b, weight in weights.items():
            above = sum(p * tangent(own[b], rows[0], 1) for p, _, rows in drawn)
            decrease.add(-weight, i, b, above)
        for b, weight in positive.shares(at_model[i], kept[i]).items():
            positive.add(weight, i, b, tangent(own[b], model, mu))
        if remembered:
            drawing = sum(p for p, members, _ in drawn if i in members)
            decrease.add((rho - 1 + drawing) * at_memory[i], i, "memory")
            decrease.add(-drawing * at_memory[i], i, "model")
            positive.add(at_memory[i], i, "memory")
    rules = [t <= 1, *([at_model == at_model[0]] if alike else [])]
    for condition, least in ((decrease, t), (positive, 0)):
        condition.interpolate(mu)
        rules += condition.rules + condition.cancelled()
        rules.append(condition.form >> least * np.eye(len(model)))
    problem = cp.Problem(cp.Maximize(t), rules)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return float(t.value)


def vectors(n, *, remembered):
    """Unit vectors of x, y_i, p_i (if remembered) and the gradients g_i at x."""
    kinds = ("y", "p", "g") if remembered else ("y", "g")
    names = ["x", *((kind, i) for kind in kinds for i in range(n))]
    return dict(zip(names, np.eye(len(names)), strict=True))


def points(n, *, remembered):
    """Where client i knows its gradient, by name; the minimiser is zero."""
    row = vectors(n, remembered=remembered)
    zero = 0 * row["x"]
    known = {
        i: {"star": (zero, zero), "model": (row["x"], row["g", i])} for i in range(n)
    }
    for i in range(n) if remembered else ():
        known[i]["memory"] = row["p", i], row["y", i]
    return known


def rounds(algorithm, law, *, remembered):
    """The state, and after every cohort: chance, members and the new state."""
    n = law.n_clients
    row = vectors(n, remembered=remembered)
    state = np.array([v for name, v in row.items() if name[0] != "g"])
    drawn = []
    for members, chance in law.support().items():
        new = [row["g" if i in members else "y", i] for i in range(n)]
        model = row["x"] - float(algorithm.step_size) * moved(
            algorithm, row, new, members
        )
        at = [row["x"] if i in members else row["p", i] for i in range(n) if remembered]
        drawn.append((float(chance), members, np.array([model, *new, *at])))
    return state, drawn


def moved(algorithm, row, new, members):
    """What the server steps along: all memories (FOCUS), or fresh news and c."""
    n = len(new)
    if isinstance(algorithm, Focus):
        return sum(new)
    if not members:
        return 0 * row["x"]
    fresh = sum(new[i] - row["y", i] for i in members) / len(members)
    return fresh + sum(row["y", i] for i in range(n)) / n


def product(a, b):
    """Matrix of the form <a, b>."""
    return (np.outer(a, b) + np.outer(b, a)) / 2


def tangent(known, point, curvature):
    """Form of <g, point - x> + (curvature/2) |point - x|^2."""
    x, g = known
    gap = point - x
    return product(g, gap) + curvature / 2 * product(gap, gap)


def interpolation(above, below, mu):
    """Form of f_a - f_b less what it is at least, without the values."""
    (xa, ga), (xb, gb) = above, below
    dx, dg = xa - xb, ga - gb
    square = product(dg, dg) + mu * product(dx, dx) - 2 * mu * product(dg, dx)
    return -product(gb, dx) - square / (2 * (1 - mu))


class Condition:
    """A form, and the values f_i(point) that come with it and have to cancel."""

    def __init__(self, form, known):
        self.form, self.known, self.rules = form, known, []
        self.values = {(i, b): 0 for i, own in known.items() for b in own}

    def add(self, unknown, i, name, form=None):
        """Add unknown times (f_i at a named point, and a form)."""
        self.values[i, name] = self.values[i, name] + unknown
        if form is not None:
            self.form = self.form + unknown * form

    def shares(self, whole, names):
        """Split an unknown into nonnegative parts, one for every point."""
        parts = {b: cp.Variable(nonneg=True) for b in names}
        self.rules.append(sum(parts.values()) == whole)
        return parts

    def interpolate(self, mu):
        """Take away multiples of all inequalities that every f_i satisfies."""
        for i, own in self.known.items():
            for a, b in permutations(own, 2):
                multiplier = cp.Variable(nonneg=True)
                self.add(-multiplier, i, a, interpolation(own[a], own[b], mu))
                self.add(multiplier, i, b)

    def cancelled(self):
        """The values vanish, but for those at the minimiser, which are zero."""
        return [v == 0 for (_, b), v in self.values.items() if b != "star"]

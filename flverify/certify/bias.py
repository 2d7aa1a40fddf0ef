"""The worst bias of FedAvg over a whole function class, as an explicit instance.

At its biased point b FedAvg's mean round stands still. Points, gradients and values
that satisfy every interpolation inequality belong to functions of the class (Taylor,
Hendrickx and Glineur, 2017, Theorem 4), so a finite table of rationals shows that some
f_1, ..., f_N are that bad: no analysis can do better than |b - x*|^2 / mean|g*|^2 of
the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import Array
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.ansatz import Ansatz, Level
from flverify.certify.coordinates import Coordinates
from flverify.certify.discover import discover
from flverify.certify.expect import expected_round
from flverify.certify.inequality import Sweep
from flverify.certify.search import (
    Problem,
    problem,
    read_round,
)
from flverify.certify.solve import Block, Programme, least
from flverify.participation._law import Participation

# how far inside [mu, L] the search keeps, at L = 1, so that rounding is safe: further
# for small steps, whose points lie close together
INSIDE = [10.0**k for k in range(-6, -1)]
DIGITS = 9
ALONE = 3  # clients in no pair, if their number is odd


@dataclass(frozen=True)
class Bias:
    """Functions of the class, known at finitely many points, with a large bias.

    Parameters
    ----------
    ratio : Fraction, weight x^2/g^2
        |b - x*|^2 / mean|grad f_i(x*)|^2, with x* = 0.
    point : tuple of Fraction
        The biased point b.
    clients : tuple of tables
        The rows (point, gradient, value) of different clients, the first at x* = 0. Two
        tables are those of two clients that are opposite; of an odd number of clients
        the first three have a table each, and the others one of the two that follow.
    """

    ratio: Fraction
    point: tuple[Fraction, ...]
    clients: tuple[tuple[Entry, ...], ...]

    def table(self, client: int) -> tuple[Entry, ...]:
        """Return the rows of a client."""
        alone = ALONE * (len(self.clients) % 2)
        place = client if client < alone else alone + (client - alone) % 2
        return self.clients[place]


@dataclass(frozen=True)
class Entry:
    """A point with its gradient and value."""

    x: tuple[Fraction, ...]
    g: tuple[Fraction, ...]
    value: Fraction


@np.errstate(divide="ignore", invalid="ignore")  # the solver says what it cannot take
def worst_bias(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: object,
    smoothness: object,
) -> Bias:
    """Find an instance of the class on which the mean round's fixed point is far off.

    Raises
    ------
    DomainError
        If a number lies outside its domain, or there are not two equal clients.
    RefusedError
        If the setting has no biased point, or rounding left the class.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import Full
    >>> round(float(worst_bias(FedAvg("1/10", 2), Full(2), "1/10", 1).ratio), 5)
    0.00935
    """
    setting = problem(algorithm, participation, strong_convexity, smoothness)
    if setting.classes.n_clients < 2 or len(setting.classes.sizes) > 1:
        raise DomainError(
            "an instance sets clients of one class apart; got classes of "
            f"{setting.classes.sizes} clients; give two or more equal clients."
        )
    reading = read_round(setting)
    structure = replace(discover(reading), memories=())
    space = Coordinates(reading, structure, float)
    if not structure.neighbourhood or space.state != [("server", "model")]:
        raise RefusedError(
            "a bias is for methods that keep the server's model alone; got "
            f"{type(algorithm).__name__}; certify its rate."
        )
    table = _Table(space, setting)
    for inside in INSIDE:
        if 2 * inside < 1 - setting.mu and (found := table.instance(inside)):
            return found
    raise RefusedError(
        "the largest bias must survive rounding; it did not; change the step size."
    )


class _Table:
    """The programme of the largest bias, and instances read off its dual."""

    def __init__(self, space: Coordinates, setting: Problem) -> None:
        self.space, self.setting = space, setting
        moved = expected_round(space).first[0].astype(float)
        moved[0] -= 1.0  # the mean round leaves b where it is
        self.last = len(space.z) - 1
        self.basis = np.eye(len(space.z))[:, : self.last]
        self.basis = np.vstack(
            [np.eye(self.last), -moved[: self.last] / moved[self.last]]
        )
        self.moved = moved

    def instance(self, inside: float) -> Bias | None:
        """Solve a little inside the class, round, and check exactly."""
        mu, top = float(self.setting.mu) + inside, 1.0 - inside
        ansatz = Ansatz(self.space, Level("points"), mu, top)
        programme = Sweep(ansatz).at(0.0)
        where = list(ansatz.sizes)
        keep = [u[0] not in "TS" for u in ansatz.unknowns]
        blocks = [
            self._static(programme.blocks[k], name, keep)
            for k, name in enumerate(where)
            if name.startswith("decrease")
        ]
        static = Programme(
            tuple(blocks),
            programme.nonnegative[keep],
            programme.equalities[:, keep],
            programme.values,
            programme.normal[keep],
        )
        unknowns = [u for u, kept in zip(ansatz.unknowns, keep, strict=True) if kept]
        wanted = np.array([u == ("c",) for u in unknowns], float)
        solution = least(static, wanted)
        if solution.status == "failed":
            return None
        return self._round(solution.grams)

    def _static(self, block: Block, name: str, keep: list[bool]) -> Block:
        """Drop V, and put b where its mean round stands still."""
        coefficients = block.coefficients[keep]
        if name != "decrease/mean":
            return Block(block.constant, coefficients)
        model = np.zeros((self.last, self.last))
        model[0, 0] = -1.0
        change = self.basis
        return Block(model, change.T @ coefficients @ change)

    def _round(self, grams: tuple[Array, ...]) -> Bias | None:
        """Factor the dual matrices into vectors of clients, in directions of their own.

        Inner products of one client's vectors, which are all that its inequalities see,
        are then the same for every client, whatever their number.
        """
        shared, apart = _rational(_factor(grams[0])), _rational(_factor(grams[1]))
        directions = _directions(self.setting.classes.n_clients)
        aside = len(directions[0]) * apart.shape[1]
        middle = [np.append(v, [Fraction(0)] * aside) for v in shared]
        exact = Coordinates(self.space.reading, self.space.structure, Fraction)
        moved = expected_round(exact).first[0]
        moved[0] -= 1
        rest = sum(
            (v * f for v, f in zip(middle, moved[:-1], strict=True)), 0 * middle[0]
        )
        z = np.array([*middle, rest * (-1 / moved[-1])])
        nothing = np.full((len(apart), shared.shape[1]), Fraction(0))
        each = [np.hstack([nothing, np.kron(v, apart)]) for v in directions]
        rows = [_rows(exact, z, own) for own in each]
        return _judged(rows, z[0], self.setting)


def _factor(gram: Array) -> Array:
    """Rows whose products are the entries of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-12 * values[-1]
    out: Array = vectors[:, kept] * np.sqrt(values[kept])
    return out


def _rational(rows: Array) -> Array:
    unit = Fraction(1, 10**DIGITS)
    whole = [[round(float(v) * 10**DIGITS) * unit for v in row] for row in rows]
    return np.array(whole, dtype=object).reshape(rows.shape)


def _directions(n_clients: int) -> list[list[Fraction]]:
    """Vectors of length 1, or nearly, whose sum over clients is zero: one a table.

    Examples
    --------
    >>> [[str(x) for x in v] for v in _directions(4)]
    [['1'], ['-1']]
    >>> [[round(float(x), 3) for x in v] for v in _directions(3)][0]
    [0.816, -0.408, -0.408]
    """
    one, zero = Fraction(1), Fraction(0)
    if n_clients % 2 == 0:
        return [[one], [-one]]
    length = Fraction(round(10**DIGITS * (ALONE / (ALONE - 1)) ** 0.5), 10**DIGITS)
    corners = [
        [length * ((i == k) - one / ALONE) for k in range(ALONE)] for i in range(ALONE)
    ]
    if n_clients == ALONE:
        return corners
    pair = [[*[zero] * ALONE, sign] for sign in (one, -one)]
    return [*([*corner, zero] for corner in corners), *pair]


def _rows(space: Coordinates, z: Array, own: Array) -> list[tuple[Array, Array]]:
    """Points and gradients of one client, x* first, as vectors."""
    star = space.own.index("star")
    at_star = own[star]
    vectors = space.embedding[0] @ z + own
    out = [(0 * z[0], at_star)]
    for k in range(len(space.reading.points)):
        point, gradient = space.point(k), space.gradient(k)
        x = point.z @ z + point.own @ vectors
        out.append((x, gradient.z @ z + gradient.own @ vectors + at_star))
    return out


def _judged(
    rows: list[list[tuple[Array, Array]]], point: Array, setting: Problem
) -> Bias | None:
    """Find values that satisfy every interpolation inequality exactly, or give up."""
    mu, tables = setting.mu, []
    for client in rows:
        values = _values(client, mu)
        if values is None:
            return None
        entries = [
            Entry(tuple(x), tuple(g * setting.smoothness), v * setting.smoothness)
            for (x, g), v in zip(client, values, strict=True)
        ]
        tables.append(tuple(entries))
    n, alone = setting.classes.n_clients, ALONE * (len(rows) % 2)
    distance: Any = point @ point
    sizes: list[Any] = [client[0][1] @ client[0][1] for client in rows]
    total = sum(sizes[:alone]) + (n - alone) // 2 * sum(sizes[alone:])
    ratio = Fraction(n * distance / total) / setting.smoothness**2
    return Bias(ratio, tuple(point), tuple(tables))


def gap(a: tuple[Array, Array], b: tuple[Array, Array], mu: Fraction) -> Fraction:
    """Say what f_a - f_b must at least be between two points, at L = 1."""
    dx, dg = a[0] - b[0], a[1] - b[1]
    curved = dg @ dg + mu * (dx @ dx) - 2 * mu * (dg @ dx)
    return Fraction(b[1] @ dx + curved / (2 * (1 - mu)))


def _values(client: list[tuple[Array, Array]], mu: Fraction) -> list[Fraction] | None:
    """Values with f_a - f_b >= gap(a, b) for all pairs: shortest paths, exactly.

    Such values exist if and only if no cycle of gaps is positive; the longest path
    from x* is one choice.
    """
    size = range(len(client))
    best = [gap(client[k], client[0], mu) if k else Fraction(0) for k in size]
    for _ in size:
        for a in size:
            for b in size:
                if a != b:
                    best[a] = max(best[a], best[b] + gap(client[a], client[b], mu))
    fits = all(
        best[a] - best[b] >= gap(client[a], client[b], mu)
        for a in size
        for b in size
        if a != b
    )
    return best if fits else None

"""A setting as a jump-linear system: one matrix per term, weights from the law.

In mode m a round acts on second moments as P -> sum_k w_k A_k P A_k', with the terms
from the law's first and second moments (traced rounds) or one per outcome (listed
ones), and on means as v -> mean v. Afterwards the mode moves by the transition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from flverify._core.errors import ReadingError, Refusal, RefusedError
from flverify._core.exact import Array, Scalar
from flverify._core.rationals import ldl
from flverify.engines import enumerate as listing
from flverify.engines.arithmetic import Arithmetic
from flverify.engines.conserved import redundant
from flverify.engines.forms import SHARE, TAKES_PART
from flverify.engines.lower import (
    ALWAYS,
    Draw,
    Layout,
    Lowering,
    dense,
    lower,
    start_matrix,
)
from flverify.engines.trace import trace

LARGEST_LISTED = 4096  # outcomes of a law that are enumerated when a trace fails


@dataclass(frozen=True)
class Mode:
    """What one round does to means and second moments in one mode of the law."""

    mean: Array
    terms: tuple[tuple[Scalar, Array], ...]


@dataclass(frozen=True)
class Move:
    """A round in mode `source` after which the mode is `target`."""

    source: int
    target: int
    probability: Scalar
    mean: Array
    terms: tuple[tuple[Scalar, Array], ...]


@dataclass(frozen=True)
class System:
    """A jump-linear system in homogeneous coordinates (state, 1).

    `start[m]` maps (x_0, 1) to the state and `readout[m]` the state to what is
    observed, in the coordinates of mode m; `initial[m]` is that mode's probability.
    """

    arithmetic: Arithmetic
    moves: tuple[Move, ...]
    start: tuple[Array, ...]
    readout: tuple[Array, ...]
    initial: tuple[Scalar, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of coordinates in each mode."""
        return tuple(part.shape[0] for part in self.start)


def build(
    problem: Any, algorithm: Any, participation: Any, arithmetic: Arithmetic
) -> System | Refusal:
    """Read the round by tracing it, or outcome by outcome if the trace fails."""
    chain = participation.modes()
    hessians = arithmetic.array(problem.hessians)
    linear = arithmetic.array(problem.linear)
    try:
        layout, start, read = _traced(algorithm, hessians, linear, arithmetic)
    except ReadingError as traced:
        try:
            layout, start, read = _listed(algorithm, hessians, linear, arithmetic)
            modes = tuple(read(law) for law in chain.laws)
        except (ReadingError, RefusedError) as listed:
            both = {str(traced): None, str(listed): None}
            return Refusal("moments", " ".join(both))
    else:
        modes = tuple(read(law) for law in chain.laws)
    moves = _moves(modes, chain.transition, arithmetic)
    copies = len(modes)
    return System(
        arithmetic,
        moves,
        (start,) * copies,
        (_readout(layout, arithmetic),) * copies,
        tuple(arithmetic.convert(weight) for weight in chain.initial),
    )


def _moves(
    modes: tuple[Mode, ...], transition: Any, arithmetic: Arithmetic
) -> tuple[Move, ...]:
    return tuple(
        Move(m, n, arithmetic.convert(chance), mode.mean, mode.terms)
        for m, mode in enumerate(modes)
        for n, chance in enumerate(transition[m])
        if chance != 0
    )


Read = Callable[[Any], Mode]


def _traced(
    algorithm: Any, hessians: Array, linear: Array, arithmetic: Arithmetic
) -> tuple[Layout, Array, Read]:
    n_clients, dim = linear.shape
    traced = trace(algorithm, n_clients)
    gone = redundant(algorithm, n_clients)
    kept = tuple(s for s in traced.server_slots if s not in gone)
    layout = Layout(kept, traced.client_slots, n_clients, dim)
    convert = arithmetic.convert
    first = Lowering(hessians, linear, traced.start_points, convert, gone)
    later = Lowering(hessians, linear, traced.points, convert, gone)
    draws = dense(lower(traced.after, layout, later), layout, convert)
    start = start_matrix(traced, layout, first, convert)
    return layout, start, lambda law: _from_moments(draws, law, arithmetic)


def _from_moments(draws: dict[Draw, Array], law: Any, arithmetic: Arithmetic) -> Mode:
    """Terms from E phi and Cov(phi, psi) of the features that occur."""
    random = [draw for draw in draws if draw != ALWAYS]
    first, second = feature_moments(law, random)
    means = arithmetic.array(first)
    mean = draws[ALWAYS].copy()
    for draw, value in zip(random, means, strict=True):
        mean = mean + value * draws[draw]
    one = arithmetic.convert(1)
    terms = [(one, mean)]
    if random:
        covariance = arithmetic.array(second) - np.outer(means, means)
        matrices = np.stack([draws[draw] for draw in random])
        terms += _varied(covariance, matrices, arithmetic, law.exact)
    return Mode(mean, tuple(terms))


def _varied(
    covariance: Array, matrices: Array, arithmetic: Arithmetic, exact: bool
) -> list[tuple[Any, Array]]:
    """Write the deviation of sum phi_k A_k from its mean as uncorrelated terms.

    The entries of a small state are fewer than the features of many clients.
    """
    shape = matrices.shape[1:]
    entries = matrices.reshape(len(matrices), -1)
    used = (entries != 0).any(axis=0)
    if not (arithmetic.exact and exact) or used.sum() >= len(covariance):
        terms = _factor(covariance, arithmetic, exact)
        return [(w, np.tensordot(column, matrices, 1)) for w, column in terms]
    thin, out = entries[:, used], []
    for weight, column in ldl(thin.T @ (covariance @ thin)):
        flat = np.full(len(used), arithmetic.convert(0), dtype=object)
        flat[used] = column
        out.append((weight, flat.reshape(shape)))
    return out


def feature_moments(law: Any, draws: list[Draw]) -> tuple[Array, Array]:
    """E phi and E phi psi of the given features under a law."""
    tables = {TAKES_PART: law.inclusion, SHARE: law.averaging_weights}
    used = {kind for kind, _ in draws}
    firsts = {kind: table() for kind, table in tables.items() if kind in used}
    seconds: dict[frozenset[str], Array] = {}
    if TAKES_PART in used:
        seconds[frozenset({TAKES_PART})] = law.joint_inclusion()
    if SHARE in used:
        seconds[frozenset({SHARE})] = law.joint_averaging()
    if len(used) == 2:
        seconds[frozenset({TAKES_PART, SHARE})] = law.cross()
    first = np.array([firsts[kind][i] for kind, i in draws], dtype=object)
    floats = all(found.dtype == np.float64 for found in seconds.values())
    kind = np.float64 if floats else object
    second = np.empty((len(draws), len(draws)), dtype=kind)
    places = {kind: [k for k, d in enumerate(draws) if d[0] == kind] for kind in used}
    clients = {kind: [draws[k][1] for k in places[kind]] for kind in used}
    for one, other in product(used, repeat=2):
        found = seconds[frozenset({one, other})][np.ix_(clients[one], clients[other])]
        second[np.ix_(places[one], places[other])] = found
    return first, second


def _factor(
    covariance: Array, arithmetic: Arithmetic, exact: bool
) -> list[tuple[Any, Array]]:
    if arithmetic.exact:
        return ldl(covariance if exact else _settled(covariance, arithmetic))
    values, vectors = np.linalg.eigh(covariance)
    # fixed sums such as sum a_i = 1 leave null directions; rounding must not fill them
    floor = 1e-12 * max(values.max(), 0.0)
    kept = [(v, column) for v, column in zip(values, vectors.T, strict=True)]
    return [(float(v), column) for v, column in kept if v > floor]


def _settled(covariance: Array, arithmetic: Arithmetic) -> Array:
    """Rebuild a covariance of floats taken as rationals from its pivots.

    Where features depend on one another, rounding leaves pivots beside 0.
    """
    least = arithmetic.convert(Fraction(1, 10**12)) * max(covariance.diagonal())
    rest, out = covariance.copy(), 0 * covariance
    for k in range(len(rest)):
        if rest[k, k] > least:
            part = np.outer(rest[:, k], rest[k]) / rest[k, k]
            rest, out = rest - part, out + part
        rest[k, :] = rest[:, k] = arithmetic.convert(0)
    return out


def _listed(
    algorithm: Any, hessians: Array, linear: Array, arithmetic: Arithmetic
) -> tuple[Layout, Array, Read]:
    n_clients, dim = linear.shape
    layout = listing.listed_layout(algorithm, n_clients, dim)
    convert = arithmetic.convert
    start = listing.start_of(algorithm, layout, hessians, linear, convert)

    def read(law: Any) -> Mode:
        outcomes = law.listed()
        if len(outcomes) > LARGEST_LISTED:
            raise RefusedError(
                f"at most {LARGEST_LISTED} outcomes are listed; got {len(outcomes)}; "
                "use fewer clients."
            )
        terms = tuple(
            (
                convert(weight),
                listing.outcome_matrix(
                    algorithm, layout, hessians, linear, members, convert
                ),
            )
            for members, weight in outcomes.items()
            if weight != 0
        )
        mean = sum(weight * matrix for weight, matrix in terms)
        return Mode(np.asarray(mean), terms)

    return layout, start, read


def _readout(layout: Layout, arithmetic: Arithmetic) -> Array:
    """Rows of the server model, and of the constant 1 below them."""
    kind = object if arithmetic.exact else np.float64
    zero, one = arithmetic.convert(0), arithmetic.convert(1)
    out = np.full((layout.dim + 1, layout.size), zero, dtype=kind)
    first = layout.places["server", "model", -1].start
    for k in range(layout.dim):
        out[k, first + k] = one
    out[-1, -1] = one
    return out

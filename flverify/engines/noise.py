"""Exact moments with noisy gradients: additive, zero mean, given covariance.

Every call of the oracle adds fresh noise at every client, independent of the past, of
the cohorts and of the other clients. A stored noisy gradient carries its noise along
as state, so later states are correlated with it. With (z, 1) the homogeneous state, a
round with cohort S is z' = M_S z + N_S xi, hence

    E z' z'' = sum_S P(S) (M_S E[z z'] M_S' + N_S Cov(xi) N_S').

The second term is a sum of maps that act on the constant 1 alone, so a noisy setting
is a jump-linear system like any other, with more terms; means are as without noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import (
    DomainError,
    ReadingError,
    Refusal,
    RefusedError,
    ShapeError,
)
from flverify._core.exact import Array, Scalar, array, is_symbolic
from flverify._core.rationals import ldl
from flverify.algorithms._algorithm import Algorithm
from flverify.engines import enumerate as listing
from flverify.engines.arithmetic import FLOAT, Arithmetic, arithmetic_for
from flverify.engines.kinds import not_quadratic, require_listed, require_setting
from flverify.engines.lower import Layout
from flverify.engines.moments._moments import Moments
from flverify.engines.moments._small import SmallMoments
from flverify.engines.moments._system import LARGEST_LISTED, Move, System
from flverify.engines.own_factors import require_round
from flverify.engines.own_rounds import performed
from flverify.participation._law import Participation

LARGEST_STATE = 64  # state numbers up to which noisy systems are built
LARGEST_COVARIANCE_GAP = 1e-12  # relative: a float matrix may be this far from psd


@dataclass(frozen=True)
class NoisyMoments(Moments):
    """Moments of a setting with noisy gradients; see `noisy_moments`.

    Rates and the mean are those of the setting without noise: two runs with the same
    cohorts and noise differ by a run without noise.
    """

    covariances: Array

    def mean_square_error(self, x0: object, rounds: int) -> Array:
        """E|x_r - x*|^2 for r = 0, ..., rounds; round 0 of the system is `init`.

        Parameters
        ----------
        x0 : (d,) numbers, weight x
            Server model before the first round.
        rounds : int >= 0
            Number of rounds.

        Raises
        ------
        ShapeError
            If x0 is not a vector of the problem's dimension.
        DomainError
            If rounds is negative, or more than the memory holds.
        """
        rounds = whole(rounds, "rounds", least=0)
        return super().mean_square_error(x0, rounds + 1)[1:]


def noisy_moments(
    problem: Any, algorithm: Algorithm, participation: Participation, noise: object
) -> NoisyMoments | Refusal:
    """Compute exact moments of an algorithm whose gradients are noisy.

    Definition: every call gives client i the gradient grad f_i(x) + n with n of mean
    zero and covariance Sigma_i, independent of everything before. Only second moments
    enter, so the law of n does not matter otherwise.

    Parameters
    ----------
    problem : Quadratics
        Client objectives.
    algorithm : Algorithm
        A round that is linear on each cohort. SG-FOCUS is `Focus`: Algorithm 2 differs
        from Algorithm 1 in the oracle alone.
    participation : Participation
        The law of the participants; its outcomes are listed.
    noise : scalar >= 0, (N,) or (N, d, d) numbers, weight f^2/x^2
        Sigma_i = noise I, noise_i I, or noise_i.

    Returns
    -------
    NoisyMoments or Refusal
        A Refusal, which is false, says why the setting is not accepted.

    Raises
    ------
    ShapeError
        If the noise has another shape.
    DomainError
        If some Sigma_i is not symmetric positive semidefinite.

    Examples
    --------
    Full participation, one client, f = x^2/2: the error is e' = e/2 - n/2.

    >>> from flverify.algorithms import Focus
    >>> from flverify.participation import Bernoulli, Full
    >>> from flverify.problems import Quadratics
    >>> one = Quadratics([[[1]]], [[0]])
    >>> setting = noisy_moments(one, Focus("1/2"), Full(1), 1)
    >>> [str(v) for v in setting.mean_square_error([0], 3)]
    ['0', '1/4', '5/16', '21/64']
    >>> setting.stationary_mean_square_error
    Fraction(1, 3)

    A client that is absent leaves its last noise in the tracker:

    >>> rare = noisy_moments(one, Focus("1/2"), Bernoulli(["1/2"]), 1)
    >>> rare.stationary_mean_square_error > setting.stationary_mean_square_error
    True
    """
    if (refused := not_quadratic(problem)) is not None:
        return refused
    require_setting(problem, algorithm, participation)
    if problem.n_clients != participation.n_clients:
        return Refusal(
            "moments",
            f"problem and law must have the same clients; got {problem.n_clients} and "
            f"{participation.n_clients}.",
        )
    require_listed(algorithm)
    require_round(algorithm, problem.n_clients)
    covariances = _covariances(noise, problem.n_clients, problem.dim)
    arithmetic = arithmetic_for(problem, algorithm, participation)
    if any(isinstance(v, float) for v in covariances.flat):
        arithmetic = FLOAT
    try:
        system = _system(problem, algorithm, participation, covariances, arithmetic)
    except (ReadingError, RefusedError) as error:
        return Refusal("moments", str(error))
    engine = SmallMoments(system)
    return NoisyMoments(problem, algorithm, participation, engine, covariances)


def _covariances(noise: object, n_clients: int, dim: int) -> Array:
    values = array(noise, "noise")
    if any(is_symbolic(v) for v in values.flat):
        raise DomainError("noise must be numbers; got symbols; insert values.")
    if values.shape in {(), (n_clients,)}:
        scales = np.broadcast_to(values, (n_clients,))
        identity = np.zeros((dim, dim), dtype=object)
        np.fill_diagonal(identity, 1)
        values = np.array([s * identity for s in scales], dtype=object)
    if values.shape != (n_clients, dim, dim):
        raise ShapeError(
            f"noise must be a number, {n_clients} numbers or have shape "
            f"{(n_clients, dim, dim)}; got {values.shape}; give one covariance per "
            "client."
        )
    if (values != values.transpose(0, 2, 1)).any():
        raise DomainError(
            "a covariance must be symmetric; got one that is not; mend it."
        )
    return values


def _factors(covariance: Array, arithmetic: Arithmetic) -> list[tuple[Scalar, Array]]:
    """Write Sigma as a sum of weight * column column', weights above 0."""
    if arithmetic.exact:
        return ldl(arithmetic.array(covariance))
    values, vectors = np.linalg.eigh(covariance.astype(np.float64))
    floor = LARGEST_COVARIANCE_GAP * max(float(np.abs(values).max()), 0.0)
    if values.min() < -floor:
        raise DomainError(
            "a covariance must be positive semidefinite; got the eigenvalue "
            f"{values.min()}; mend it."
        )
    pairs = zip(values, vectors.T, strict=True)
    return [(float(v), column) for v, column in pairs if v > floor]


class NoisyOracle(listing.LinearOracle):
    """Gradients H_i x - b_i with a fresh noise symbol per call and client.

    Columns of the carrier: state, noise call by call and client by client, constant 1.
    """

    def __init__(self, hessians: Array, linear: Array, first: int, one: Scalar) -> None:
        super().__init__(hessians, linear)
        self.calls, self._first, self._one = 0, first, one

    def gradient(self, points: listing.Rows) -> listing.Rows:
        """Apply the Hessians, then add the symbols of this call."""
        found = super().gradient(points)
        n_clients, dim, width = found.values.shape
        begin = self._first + self.calls * n_clients * dim
        self.calls += 1
        if begin < width - 1:  # the reading that counts the calls has no columns
            for client in range(n_clients):
                for k in range(dim):
                    found.values[client, k, begin + client * dim + k] += self._one
        return found


@dataclass(frozen=True)
class _Reader:
    """Reads rounds of one noisy setting as homogeneous maps with noise columns."""

    algorithm: Algorithm
    layout: Layout
    hessians: Array
    linear: Array
    factors: tuple[tuple[tuple[Scalar, Array], ...], ...]
    arithmetic: Arithmetic

    def zeros(self, *shape: int) -> Array:
        kind = object if self.arithmetic.exact else np.float64
        return np.full(shape, self.arithmetic.convert(0), dtype=kind)

    def round(self, members: frozenset[int]) -> list[tuple[Scalar, Array]]:
        """Weights and matrices of one round: first M_S, then those of the noise."""
        size = self.layout.size - 1

        def play(carried: Array, oracle: NoisyOracle) -> Any:
            convert = self.arithmetic.convert
            cohort = listing.ListedCohort(members, self.layout.n_clients, convert)
            given = self._slots(carried), cohort, oracle
            return performed(self.algorithm, "round", *given)

        return self._terms(play, size)

    def start(self) -> list[tuple[Scalar, Array]]:
        """Return the same for `init`, which acts on (x_0, 1)."""

        def play(carried: Array, oracle: NoisyOracle) -> Any:
            convert = self.arithmetic.convert
            nobody = listing.ListedCohort(frozenset(), self.layout.n_clients, convert)
            origin = listing.Rows(carried[: self.layout.dim], convert)
            return performed(self.algorithm, "init", origin, nobody, oracle)

        return self._terms(play, self.layout.dim)

    def _terms(self, play: Any, size: int) -> list[tuple[Scalar, Array]]:
        one, n, d = self.arithmetic.convert(1), self.layout.n_clients, self.layout.dim
        counting = NoisyOracle(self.hessians, self.linear, size, one)
        play(self._carried(size, 0), counting)
        width = counting.calls * n * d
        oracle = NoisyOracle(self.hessians, self.linear, size, one)
        out = self._placed(play(self._carried(size, width), oracle), size + width + 1)
        out[-1, -1] = one
        kept = [*range(size), size + width]
        terms = [(one, out[:, kept])]
        noise = out[:, size : size + width].reshape(len(out), counting.calls, n, d)
        for call in range(counting.calls):
            for client in range(n):
                for weight, column in self.factors[client]:
                    shift = noise[:, call, client] @ column
                    if any(v != 0 for v in shift):
                        matrix = self.zeros(len(out), size + 1)
                        matrix[:, -1] = shift
                        terms.append((weight, matrix))
        return terms

    def _carried(self, size: int, width: int) -> Array:
        out = self.zeros(size, size + width + 1)
        np.fill_diagonal(out, self.arithmetic.convert(1))
        return out

    def _slots(self, carried: Array) -> Any:
        places, convert = self.layout.places, self.arithmetic.convert
        slots = {}
        for name in self.layout.server_slots:
            slots[name] = listing.Rows(carried[places["server", name, -1]], convert)
        for name in self.layout.client_slots:
            clients = range(self.layout.n_clients)
            parts = [carried[places["client", name, i]] for i in clients]
            slots[name] = listing.Rows(np.stack(parts), convert)
        return self.algorithm.State(**slots)

    def _placed(self, state: Any, width: int) -> Array:
        out = self.zeros(self.layout.size, width)
        listing.place(out, state, self.layout)
        return out


def _system(
    problem: Any,
    algorithm: Algorithm,
    participation: Any,
    covariances: Array,
    arithmetic: Arithmetic,
) -> System:
    """Build the system; its mode 0 holds (x_0, 1) until `init` has run."""
    layout = listing.listed_layout(algorithm, problem.n_clients, problem.dim)
    if layout.size > LARGEST_STATE:
        raise RefusedError(
            f"noisy settings have at most {LARGEST_STATE} state numbers; got "
            f"{layout.size}; use fewer clients."
        )
    factors = tuple(tuple(_factors(part, arithmetic)) for part in covariances)
    hessians = arithmetic.array(problem.hessians)
    linear = arithmetic.array(problem.linear)
    reader = _Reader(algorithm, layout, hessians, linear, factors, arithmetic)
    chain = participation.modes()
    modes = [_mode(reader, law) for law in chain.laws]
    begun = reader.start()
    convert = arithmetic.convert
    moves = [
        Move(0, 1 + m, convert(chance), begun[0][1], tuple(begun))
        for m, chance in enumerate(chain.initial)
        if chance != 0
    ]
    moves += [
        Move(1 + m, 1 + n, convert(chance), mode[0], mode[1])
        for m, mode in enumerate(modes)
        for n, chance in enumerate(chain.transition[m])
        if chance != 0
    ]
    return _with_start(reader, tuple(moves), len(modes))


def _mode(reader: _Reader, law: Any) -> tuple[Array, tuple[tuple[Scalar, Array], ...]]:
    """Mean map and second-moment terms of one round under a law."""
    outcomes = {s: w for s, w in law.listed().items() if w != 0}
    if len(outcomes) > LARGEST_LISTED:
        raise RefusedError(
            f"at most {LARGEST_LISTED} outcomes are listed; got {len(outcomes)}; use "
            "fewer clients."
        )
    convert = reader.arithmetic.convert
    mean, terms = reader.zeros(reader.layout.size, reader.layout.size), []
    for members, chance in outcomes.items():
        found = reader.round(members)
        mean = mean + convert(chance) * found[0][1]
        terms += [(convert(chance) * weight, matrix) for weight, matrix in found]
    return mean, tuple(terms)


def _with_start(reader: _Reader, moves: tuple[Move, ...], modes: int) -> System:
    d, size = reader.layout.dim, reader.layout.size
    one, zero = reader.arithmetic.convert(1), reader.arithmetic.convert(0)
    first = reader.zeros(d + 1, d + 1)
    np.fill_diagonal(first, one)
    readout = reader.zeros(d + 1, size)
    place = reader.layout.places["server", "model", -1].start
    for k in range(d):
        readout[k, place + k] = one
    readout[-1, -1] = one
    nowhere = reader.zeros(size, d + 1)
    return System(
        reader.arithmetic,
        moves,
        (first, *[nowhere] * modes),
        (first, *[readout] * modes),
        (one, *[zero] * modes),
    )

"""The moments of a setting: rates, bias, stationary error, error against rounds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
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
from flverify._core.room import require_room
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.engines.arithmetic import (
    NEAREST,
    RATIONAL,
    arithmetic_for,
    settings_are_symbolic,
)
from flverify.engines.kinds import not_quadratic, require_listed, require_setting
from flverify.engines.moments._alike import FEW, exact_law
from flverify.engines.moments._dimension import dimension
from flverify.engines.moments._faint import may_grow
from flverify.engines.moments._kept import conserves
from flverify.engines.moments._large import LargeMoments
from flverify.engines.moments._range import require_finite, require_squares
from flverify.engines.moments._reduce import (
    balancing,
    differences,
    leaves_out,
    means,
    measured,
    sizes,
)
from flverify.engines.moments._small import SmallMoments
from flverify.engines.moments._system import System, build
from flverify.engines.own_factors import computes_in_symbols
from flverify.engines.trace import exact_twin, trace
from flverify.participation._law import Participation
from flverify.problems._minimiser import minimiser_of

LARGEST_EXACT = 64  # state numbers up to which a system is built in rationals
LARGEST_DENSE = 80  # state numbers up to which float operators are written out
LARGEST_FLOAT = 2500  # state numbers, whose cube is the work: some minutes
MOST_CLIENTS = 5000  # whatever the state: features have a number for every pair


@dataclass(frozen=True)
class Moments:
    """Evidence of the moments engine about one setting.

    Rates are factors per round: `mean_square_rate` of E|x_r - x'_r|^2 for two runs of
    the same random rounds from different starts, that is the spectral radius of
    P -> E[M P M'] on what is reachable from `init` and seen by the server model;
    `mean_rate` of |E(x_r - x'_r)|. With rational inputs every value is a Fraction, and
    a rate that is irrational is the upper end of a rational enclosure.

    Parameters
    ----------
    problem, algorithm, participation
        The setting.

    Examples
    --------
    >>> from flverify import moments
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> moments(Quadratics([[[1]]], [[2]]), FedAvg("1/2"), Full(1)).mean_square_rate
    Fraction(1, 4)
    """

    problem: Any
    algorithm: Algorithm
    participation: Participation
    _engine: Any

    @property
    def exact(self) -> bool:
        """Whether all values are rational."""
        return bool(self._engine.exact)

    @property
    def mean_rate(self) -> Scalar:
        """Spectral radius of the mean dynamics, weight 1.

        In floats, of directions that are not too weak to be followed.

        Raises
        ------
        RefusedError
            If floats lose directions that may grow.
        """
        return self._engine.mean_rate_interval[1]

    @property
    def mean_settles(self) -> bool:
        """Whether the mean converges: nothing grows, and no modes in turns are seen.

        In floats a mean counts as one that does not if it takes more than 1e12 rounds.
        """
        return bool(self._engine.mean_settles)

    @property
    def mean_square_rate(self) -> Scalar:
        """Spectral radius of the second-moment dynamics, weight 1.

        In floats, of directions that are not too weak to be followed; the upper end of
        the interval is infinite where weaker ones may have another.

        Raises
        ------
        RefusedError
            If rationals are too large, or floats lose directions that may grow.
        """
        return self._engine.mean_square_rate

    @property
    def mean_square_rate_interval(self) -> tuple[Scalar, Scalar]:
        """Enclosure of the mean-square rate: rational ends in exact mode.

        In floats roundings are counted, and it is no proof. A large system's rate near
        repeated modes has fewer digits; 2e-7 off was seen. Its interval is wider.

        Raises
        ------
        RefusedError
            As for the rate itself.
        """
        lower, upper = self._engine.mean_square_rate_interval
        return lower, upper

    @cached_property
    def minimiser(self) -> Array:
        """x*, the minimiser of F, shape (d,), weight x."""
        return minimiser_of(self.problem)

    @cached_property
    def mean_fixed_point(self) -> Array:
        """Server model at the fixed point of the mean dynamics, shape (d,)."""
        arithmetic = RATIONAL if self.exact else None
        values = self._engine.mean_fixed_point()
        return arithmetic.back(values) if arithmetic else values

    @cached_property
    def bias(self) -> Array:
        """mean_fixed_point - x*, shape (d,), weight x."""
        return np.asarray(self.mean_fixed_point - self.minimiser)

    @cached_property
    def stationary_mean_square_error(self) -> Scalar:
        """E|x - x*|^2 in the stationary law, weight x^2; infinite when unstable.

        Errors tend to it; where modes come in turns, their mean over rounds does.
        """
        value = self._engine.stationary_error(self._point(self.minimiser))
        return self._out(value)

    def mean_square_error(self, x0: object, rounds: int) -> Array:
        """E|x_r - x*|^2 for r = 0, ..., rounds from the start x0.

        Parameters
        ----------
        x0 : (d,) numbers, weight x
            Server model before the first round.
        rounds : int >= 0
            Number of rounds.

        Returns
        -------
        curve : (rounds + 1,) array, weight x^2
            In floats, no number where something on the way is beyond them.

        Raises
        ------
        ShapeError
            If x0 is not a vector of the problem's dimension.
        DomainError
            If rounds is negative, or more than the memory holds, or x0 has symbols.
        """
        start = array(x0, "x0")
        if start.shape != (self.problem.dim,):
            raise ShapeError(
                f"x0 must have shape ({self.problem.dim},); got {start.shape}; pass "
                "one number per coordinate."
            )
        if any(is_symbolic(v) for v in start.flat):
            raise DomainError(
                "x0 must be rational or in floats; got symbols; insert numbers."
            )
        rounds = whole(rounds, "rounds", least=0)
        require_room(rounds + 1, "errors of all rounds")
        begin, optimum = self._point(start), self._point(self.minimiser)
        with np.errstate(over="ignore", invalid="ignore"):
            curve = self._engine.error_curve(begin, optimum, rounds)
        out = np.empty(rounds + 1, dtype=object if self.exact else np.float64)
        out[:] = [self._out(value) for value in curve]
        return out

    def _point(self, values: Array) -> Array:
        if self.exact:
            return RATIONAL.array(values)
        return np.asarray(values, dtype=np.float64)

    def _out(self, value: Scalar) -> Scalar:
        if self.exact and not isinstance(value, float):
            return RATIONAL.number(value)
        return float(value)


def moments(
    problem: Any, algorithm: Algorithm, participation: Participation
) -> Moments | Refusal:
    """Compute exact moments of an algorithm on quadratics under a law.

    Parameters
    ----------
    problem : Quadratics
        Client objectives.
    algorithm : Algorithm
        One round, traced once, or listed outcome by outcome for small laws.
    participation : Participation
        The law of the participants.

    Returns
    -------
    Moments or Refusal
        A Refusal, which is false, says why the setting is not accepted.

    Raises
    ------
    InputError
        If a part of the setting is of another kind.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import Bernoulli
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[2]]], [[0], [2]])
    >>> setting = moments(problem, FedAvg("1/4", 2), Bernoulli(["1/2", "1/2"]))
    >>> setting.mean_square_rate, setting.bias.tolist()
    (Fraction(1581, 4096), [Fraction(-2, 57)])
    """
    require_setting(problem, algorithm, participation)
    require_listed(algorithm)
    refusal = _refuses(problem, algorithm, participation)
    if refusal is not None:
        return refusal
    engine = _engine(problem, algorithm, participation)
    if isinstance(engine, Refusal):
        return engine
    return Moments(problem, algorithm, participation, engine)


def _engine(
    problem: Any, algorithm: Any, participation: Any
) -> SmallMoments | LargeMoments | Refusal:
    """Write small systems out; keep large float ones as mean map and messages."""
    arithmetic = arithmetic_for(problem, algorithm, participation)
    size = _state_size(problem, algorithm)
    one_mode = len(participation.modes().laws) == 1
    if not arithmetic.exact and size > LARGEST_DENSE and one_mode:
        return _traced(problem, algorithm, participation)
    if size > (LARGEST_EXACT if arithmetic.exact else LARGEST_DENSE):
        return Refusal(
            "moments",
            f"a state of {size} numbers is too large for exact arithmetic or for a law "
            "with modes; pass floats (--float, or problem.as_float()) and a law with "
            "one mode.",
        )
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        small = build(problem, algorithm, participation, arithmetic)
    if arithmetic.exact or isinstance(small, Refusal):
        return small if isinstance(small, Refusal) else SmallMoments(small)
    try:
        return _in_floats(small, problem, algorithm, participation)
    except RefusedError as error:
        return Refusal("moments", str(error))


def _in_floats(
    small: System, problem: Any, algorithm: Any, participation: Any
) -> SmallMoments | Refusal:
    """Measure a float system well; decide what is reachable in rationals if need be.

    In floats what is conserved may look reachable, and what is weak may not.
    """
    require_finite([sizes(small)])
    units = balancing(small)
    found = SmallMoments(measured(small, units), units=units)
    require_squares([sizes(found.system)[:-1, :-1]])
    if not _misled(found, problem, algorithm, participation):
        found = replace(found, whole=_whole(problem, algorithm, participation))
        large = _state_size(problem, algorithm) > LARGEST_EXACT
        if large or found.whole is not None or found.keeps_one_state:
            return found
    # from the numbers as the floats they are
    law = exact_law(participation)
    twin = build(problem, exact_twin(algorithm), law, NEAREST)
    if isinstance(twin, Refusal):
        return twin
    return SmallMoments(found.system, measured(twin, units), units)


def _traced(problem: Any, algorithm: Any, participation: Any) -> LargeMoments | Refusal:
    """Return a setting of one mode as a large system, if its round can be traced."""
    try:
        trace(algorithm, problem.n_clients)
    except ReadingError as error:
        return Refusal("moments", str(error))
    return LargeMoments(problem, algorithm, participation)


def _whole(problem: Any, algorithm: Any, participation: Any) -> LargeMoments | None:
    """Return the same setting as a large system; None with modes or untraced."""
    if len(participation.modes().laws) > 1:
        return None
    found = _traced(problem, algorithm, participation)
    return None if isinstance(found, Refusal) else found


def _misled(
    found: SmallMoments, problem: Any, algorithm: Any, participation: Any
) -> bool:
    """Whether rounding hides in floats what starts move, or shows more than that."""
    small = found.system
    if _state_size(problem, algorithm) <= LARGEST_EXACT:
        followed = differences(small)
        # what messages lead to at once, means may lead to by little
        if conserves(small) or leaves_out(followed) or leaves_out(means(followed)):
            return True
        if may_grow(small, found.directions):
            return True
    if len(small.moves[0].terms) > FEW:
        return False
    real = dimension(problem, algorithm, participation)
    return real is not None and real < found.directions


def _state_size(problem: Any, algorithm: Any) -> int:
    kinds = list(algorithm.slots().values())
    return int(
        problem.dim * sum(1 if k is Server else problem.n_clients for k in kinds)
    )


def _refuses(problem: Any, algorithm: Any, participation: Any) -> Refusal | None:
    if (refused := not_quadratic(problem)) is not None:
        return refused
    if problem.n_clients != participation.n_clients:
        return Refusal(
            "moments",
            f"problem and law must have the same clients; got {problem.n_clients} and "
            f"{participation.n_clients}.",
        )
    symbolic = settings_are_symbolic(algorithm)
    if symbolic or computes_in_symbols(algorithm, problem.n_clients):
        return Refusal("moments", "symbols belong to flverify.symbolic.")
    too_large = _too_large(problem.n_clients, _state_size(problem, algorithm))
    return _not_numbers(problem, participation) if too_large is None else too_large


def _not_numbers(problem: Any, participation: Participation) -> Refusal | None:
    """Refuse symbols, and irrational numbers that are written as expressions."""
    tables = [problem.hessians, problem.linear]
    with suppress(RefusedError, NotImplementedError):  # as of a law that only draws
        tables.append(participation.inclusion())
    for value in (v for table in tables if table.dtype == object for v in table.flat):
        if is_symbolic(value):
            return Refusal(
                "moments",
                f"moments must be of numbers; got {value}; symbols belong to "
                "flverify.symbolic, irrational numbers are written as floats.",
            )
    return None


def _too_large(n_clients: int, size: int) -> Refusal | None:
    """Refuse, before anything is computed, what would take hours or all memory."""
    for what, number, most in (
        ("clients", n_clients, MOST_CLIENTS),
        ("numbers of a state", size, LARGEST_FLOAT),
    ):
        if number > most:
            return Refusal(
                "moments",
                f"moments must be of at most {most} {what}; got {number}; take fewer "
                "clients or dimensions, or sample with `flverify simulate`.",
            )
    return None

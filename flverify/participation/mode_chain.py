"""Participation with memory: a Markov chain of modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from flverify._core import seeds
from flverify._core.checks import is_listed, whole
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array, Scalar
from flverify._core.shown import shown
from flverify._core.sources import Source
from flverify.participation._chain import stationary, transition_rows
from flverify.participation._distribution import numeric_distribution, thresholds
from flverify.participation._examples import plain_examples
from flverify.participation._law import Mask, Modes, Participation, all_exact

__all__ = ["ModeChain"]

PATH = 1 << 62  # attempt number of the streams that move the mode


@final
@dataclass(frozen=True, repr=False)
class ModeChain(Participation):
    """A Markov chain of modes, each with its own law of S.

    In every round the law of the current mode draws S; then the mode moves. The
    moments and tables are those of the stationary mode: sum_k pi_k moment_k(A, n).
    Engines use `modes()` and run on mode times state.

    Parameters
    ----------
    transition : (K, K) scalars in [0, 1]
        Row-stochastic: entry (k, l) is the probability that mode l follows mode k.
    laws : K laws
        The law of S in each mode; all with the same number of clients and without
        modes of their own.
    initial : "stationary", int or (K,) scalars
        Mode of round 0: stationary, one mode, or a distribution; stored as a
        distribution.

    Raises
    ------
    ShapeError
        If there is no law, or the transition, the distribution or the numbers of
        clients do not match.
    DomainError
        If a row or the initial distribution does not sum to 1 or has symbols, a law
        is none or has modes, or the stationary distribution is not unique.

    Examples
    --------
    >>> from flverify.participation import Full, UniformCohort
    >>> chain = ModeChain((("1/2", "1/2"), (1, 0)), (UniformCohort(2, 1), Full(2)))
    >>> chain.modes().stationary
    (Fraction(2, 3), Fraction(1, 3))
    >>> chain.inclusion()
    array([Fraction(2, 3), Fraction(2, 3)], dtype=object)
    """

    transition: Sequence[Sequence[Scalar]]
    laws: Sequence[Participation]
    initial: str | int | Sequence[Scalar] = "stationary"
    n_clients: int = field(init=False, compare=False)
    _chain: Modes = field(init=False, compare=False)

    source: ClassVar[Source] = Source("focus", "Section 5.3")
    composite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.settle("laws", _checked_laws(self.laws))
        rows = transition_rows(self.transition, len(self.laws))
        long_run = stationary(rows)
        first = _initial(self.initial, long_run)
        self.settle("transition", rows)
        self.settle("initial", first)
        self.settle("n_clients", self.laws[0].n_clients)
        self.settle("_chain", Modes(first, rows, tuple(self.laws), long_run))

    @property
    def exact(self) -> bool:
        """Whether the chain and all its laws are exact."""
        chain = self._chain
        numbers = (*chain.initial, *chain.stationary)
        return all_exact(numbers) and all(law.exact for law in chain.laws)

    @property
    def spec(self) -> str:
        """Return `chain`; its parts are in `modes()`."""
        return "chain"

    def modes(self) -> Modes:
        """Return the chain: initial and stationary distribution, transition, laws."""
        return self._chain

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return the outcomes of the stationary mode."""
        mixed: dict[frozenset[int], Scalar] = {}
        for share, law in self._visited():
            for outcome, chance in law.support().items():
                term = share * chance
                mixed[outcome] = mixed[outcome] + term if outcome in mixed else term
        return mixed

    def empty_probability(self) -> Scalar:
        """Return P(S is empty) in the stationary mode."""
        return self._mixed(lambda law: law.empty_probability())

    def nonempty_probability(self) -> Scalar:
        """Return P(S is not empty) in the stationary mode."""
        return self._mixed(lambda law: law.nonempty_probability())

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        return self._mixed(lambda law: law.moment(clients, power))

    def _vector(self, power: int) -> Array:
        return self._mixed_tables(lambda law: law._vector(power))

    def _matrix(self, power: int) -> Array:
        return self._mixed_tables(lambda law: law._matrix(power))

    def _visited(self) -> list[tuple[Scalar, Participation]]:
        """Return the modes of positive stationary probability."""
        chain = self._chain
        pairs = zip(chain.stationary, chain.laws, strict=True)
        return [(share, law) for share, law in pairs if share != 0]

    def _mixed(self, quantity: Callable[[Participation], Scalar]) -> Scalar:
        value = sum(share * quantity(law) for share, law in self._visited())
        return value if self.exact else float(value)

    def _mixed_tables(self, quantity: Callable[[Participation], Array]) -> Array:
        parts = [share * quantity(law) for share, law in self._visited()]
        kind = object if self.exact else np.float64
        return np.asarray(sum(parts[1:], parts[0]), dtype=kind)

    def _draw(self, seed: int, runs: range, rounds: range) -> Mask:
        path = self._path(seed, runs, rounds.stop)[:, rounds.start :]
        mask = np.zeros((*path.shape, self.n_clients), dtype=np.bool_)
        for mode, law in enumerate(self.laws):
            here = path == mode
            if here.any():
                # rows of laws of other widths overlap those of other rounds
                own = seeds.family(seed, mode)
                mask[here] = law.sample(own, runs, rounds)[here]
        return mask

    def _path(self, seed: int, runs: range, last: int) -> Array:
        """Return the mode of every run and round from round 0 on."""
        chain = self._chain
        rows = np.array([thresholds(row) for row in (chain.initial, *chain.transition)])
        draws = seeds.panel(seed, runs, range(last), 1, attempt=PATH)
        path = np.empty((len(runs), last), dtype=np.intp)
        row = np.zeros(len(runs), dtype=np.intp)
        for step in range(last):
            path[:, step] = (rows[row] <= draws[:, step]).sum(axis=1)
            row = path[:, step] + 1
        return path

    @staticmethod
    def examples() -> tuple[ModeChain, ...]:
        """Return small exact chains of the other laws of the catalogue."""
        laws = [law for law in plain_examples() if law.n_clients == 3]
        size = len(laws)
        steps = {0: "2/3", 1: "1/3"}  # stay, or move on to the next law
        cycle = [
            [steps.get((to - k) % size, 0) for to in range(size)] for k in range(size)
        ]
        pair = (laws[0], laws[-1])
        return (
            ModeChain(cycle, laws, initial=0),
            ModeChain((("1/4", "3/4"), ("1/2", "1/2")), pair),
            ModeChain((("1/2", "1/2"), (0, 1)), pair, initial=("1/3", "2/3")),
        )


def _checked_laws(laws: object) -> tuple[Participation, ...]:
    listed = tuple(laws) if is_listed(laws) else ()
    if not listed or len({getattr(law, "n_clients", None) for law in listed}) > 1:
        raise ShapeError(
            f"laws must be a nonempty list with one number of clients; got "
            f"{shown(laws)}; give one law per mode, all for the same clients."
        )
    for law in listed:
        if not isinstance(law, Participation) or len(law.modes().laws) > 1:
            raise DomainError(
                f"a mode must have a participation law without modes; got "
                f"{shown(law)}; write a chain of chains as one chain."
            )
    return listed


def _initial(value: object, long_run: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    if isinstance(value, str) and value == "stationary":
        return long_run
    if isinstance(value, Iterable) and not isinstance(value, str):
        shares = numeric_distribution(value, "initial")
        if len(shares) != len(long_run):
            raise ShapeError(
                f"initial must have one probability per mode, here {len(long_run)}; "
                f"got {len(shares)}; match the laws."
            )
        return shares
    if isinstance(value, str):
        raise DomainError(
            f"initial must be 'stationary', a mode or a distribution; got "
            f"{shown(value)}; pick one."
        )
    mode = whole(value, "initial", 0, len(long_run) - 1)
    return tuple(Fraction(int(k == mode)) for k in range(len(long_run)))

"""The largest step size that is exactly stable, and the one with the fastest rate.

A ladder of step sizes, each 5/4 of the one before, starts where the mean-square rate
is so near 1 that smaller ones are too slow, and ends at the first that does not
contract; between the last two a search finds where the rate reaches 1. A band of step
sizes narrower than the ladder's spacing could be overlooked. The rate may dip more than
once (SCAFFOLD and FOCUS with two local steps and a rare client do): the two deepest
dips of the ladder are refined between their neighbours, to 1e-3 of the step size.

Searches are in floats. What is reported of a rational setting is computed anew in
rationals: that the rate is below 1 at one step size and not at the next, and the rate
itself at the fastest one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from scipy.optimize import brentq, minimize_scalar

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Scalar
from flverify.advise.setting import Tried, rate, short

SPACING = 1.25
FURTHEST = 1e4  # times 1/L: where no boundary is sought any more
DOWN = 24  # quarterings of the first step size, to find one that contracts
BELOW = 80  # rungs below the first that contracts, at most
NEGLIGIBLE = 0.1  # part of the best 1 - rate below which smaller steps are too slow
MINIMA = 2  # dips of the ladder that are refined
WIDTH = 1e-6  # relative width of the boundary's enclosure
CLOSE = 1e-3  # relative error of the fastest step size
DIGITS = 4  # significant digits of the fastest step size
SAME = 1e-9  # relative difference of rates that count as equal
LARGEST_STATE = 640  # numbers of a state up to which a search is worth its time
MOST_CLIENTS = 1000  # whatever the state: a rate takes a number for every pair of them
MOST_LOCAL_STEPS = 100  # each step is read against all others, at every step size


@dataclass(frozen=True)
class StepSizes:
    """What was found along the step sizes of an algorithm.

    Parameters
    ----------
    stable : (low, high)
        Below low the method contracts on the ladder; low is stable; at high the rate
        is at least 1. Equal where the rate is exactly 1 there; up to a rung apart where
        it crosses 1 too flatly for floats. An infinite high says that every step size
        up to 10^4/L was stable.
    fastest : Fraction
        Step size of the fastest rate, to 1e-3, weight x^2/f.
    fastest_rate : scalar
        Mean-square rate there; exact in a rational setting.
    exact : bool
        Whether what is said of these step sizes was shown in rationals.
    """

    stable: tuple[Scalar, Scalar]
    fastest: Fraction
    fastest_rate: Scalar
    exact: bool


def step_sizes(
    exact: Tried, floats: Tried, smoothness: float, also: float | None = None
) -> StepSizes:
    """Search the step sizes of an algorithm.

    Parameters
    ----------
    exact, floats : Tried
        The same setting twice; the first may be in floats too.
    smoothness : float > 0
        A Lipschitz constant L of every client's gradient: the scale of step sizes.

    also : float, optional
        A step size to be tried too.

    Raises
    ------
    RefusedError
        If the engine refuses the setting, no step size contracts, or the state is too
        large for a search.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[3]]], [[0], [1]])
    >>> exact = Tried(problem, GradientDescent(1), Full(2))
    >>> floats = Tried(problem.as_float(), GradientDescent(1), Full(2))
    >>> found = step_sizes(exact, floats, 3.0)
    >>> found.stable, found.fastest, found.fastest_rate
    ((Fraction(1, 2), Fraction(1, 2)), Fraction(1, 4), Fraction(0, 1))
    """
    _require_small(exact, floats)
    rates = _Rates(floats)
    begin = 1 / (2 * smoothness * floats.problem.n_clients)
    low, high = rates.ladder(begin, FURTHEST / smoothness)
    if math.isfinite(high):
        low, high = rates.crossing(low, high)
    best = rates.fastest(low, also)
    if not exact.exact:
        return StepSizes((low, high), best, rate(floats, float(best)), exact=False)
    ends = _proved_boundary(exact, low, high)
    found = rate(exact, best)
    return StepSizes(ends, best, found, exact=True)


def require_searchable(n_clients: int, local_steps: int) -> None:
    """Refuse sizes for which a search takes hours, or more than the memory.

    Raises
    ------
    RefusedError
        If there are more than 1000 clients or 100 local steps.

    Examples
    --------
    >>> require_searchable(1000, 100)
    """
    sizes = (
        ("clients", n_clients, MOST_CLIENTS),
        ("local steps", local_steps, MOST_LOCAL_STEPS),
    )
    for what, number, most in sizes:
        if number > most:
            raise RefusedError(
                f"a search along step sizes must have at most {most} {what}; got "
                f"{number}; take fewer, or ask `flverify rate --float` or `flverify "
                "certify` about single step sizes."
            )


def _require_small(exact: Tried, tried: Tried) -> None:
    """Refuse a search that would take hours, or more than the memory, or be in vain.

    The engine reads the round before it refuses a setting, so it is asked only where
    that is quick.
    """
    require_searchable(tried.problem.n_clients, tried.algorithm.local_steps)
    for asked in (
        tried.at(float(tried.algorithm.step_size)),
        exact.at(exact.algorithm.step_size),
    ):
        if isinstance(asked, Refusal):
            raise RefusedError(asked.reason)
    if tried.state_size > LARGEST_STATE:
        raise RefusedError(
            f"a search along step sizes must have a state of at most {LARGEST_STATE} "
            f"numbers; got {tried.state_size}; take {_what_fits(tried)}, or ask "
            "`flverify rate --float` about single step sizes, which may take minutes."
        )


def _what_fits(tried: Tried) -> str:
    """Say to which dimension a search would take these clients."""
    dim = LARGEST_STATE * int(tried.problem.dim) // tried.state_size
    if not dim:
        return "fewer clients"
    return f"fewer clients, or at most {dim} dimensions with these"


class _Rates:
    """Rates in floats, each computed once; where the engine fails there is none."""

    def __init__(self, tried: Tried) -> None:
        self.tried = tried
        self.known: dict[float, float] = {}
        self.trouble = ""

    def at(self, step_size: float) -> float:
        """Rate at a step size; next to it where the engine fails, else not a number."""
        if step_size not in self.known:
            self.known[step_size] = math.nan
            for part in (1.0, 1 + 1e-7, 1 - 1e-7):
                try:
                    found = float(rate(self.tried, step_size * part))
                except RefusedError as error:
                    self.trouble = str(error)
                    continue
                self.known[step_size] = found
                break
        return self.known[step_size]

    def stable(self, step_size: float) -> bool:
        """Whether the rate is below 1 by more than rounding."""
        return self.at(step_size) < 1 - 1e-12

    def ladder(self, begin: float, furthest: float) -> tuple[float, float]:
        """Climb from a step that contracts to the first that does not."""
        for _ in range(DOWN):
            if self.stable(begin):
                break
            begin /= 4
        else:
            raise RefusedError(
                "some step size must contract; got none down to "
                f"{begin:.1e}; {self.trouble or 'use rate to see why'}."
            )
        low, high = begin, begin * SPACING
        while high <= furthest:
            if not math.isnan(self.at(high)):
                if not self.stable(high):
                    return low, high
                low = high
            high *= SPACING
        return low, math.inf

    def crossing(self, low: float, high: float) -> tuple[float, float]:
        """Enclose where the rate reaches 1: near a root found in floats, else halve."""
        root = brentq(self._excess, low, high, rtol=WIDTH / 8)
        for end in (root * (1 - WIDTH / 3), root * (1 + WIDTH / 3)):
            if low < end < high and not math.isnan(self.at(end)):
                low, high = (end, high) if self.stable(end) else (low, end)
        while high - low > WIDTH * low:
            middle = (low + high) / 2
            if math.isnan(self.at(middle)):
                break
            low, high = (middle, high) if self.stable(middle) else (low, middle)
        return low, high

    def _excess(self, step_size: float) -> float:
        """Logarithm of the rate, which is smooth where it crosses; 0 if unknown."""
        found = self.at(step_size)
        return 0.0 if math.isnan(found) else math.log(max(found, 1e-300) + 1e-12)

    def fastest(self, stable: float, also: float | None) -> Fraction:
        """Step size of the least rate: the ladder's best two minima, refined."""
        if also is not None and also < stable:
            self.at(also)
        least = min(self._rungs())
        for _ in range(BELOW):
            if 1 - self.at(least) < NEGLIGIBLE * (1 - self.known[self._best()]):
                break
            least /= SPACING
        rungs = [*sorted(self._rungs()), stable]
        triples = zip(rungs, rungs[1:], rungs[2:], strict=False)
        dips = [three for three in triples if self._dips(*three)]
        for left, _, right in sorted(dips, key=lambda t: self.known[t[1]])[:MINIMA]:
            self._refine(left, right)
        return short(self._best(), DIGITS)

    def _dips(self, left: float, middle: float, right: float) -> bool:
        """Whether the rate is least at the middle one of three rungs."""
        return self.known[middle] <= min(self.at(left), self.at(right))

    def _refine(self, left: float, right: float) -> None:
        minimize_scalar(
            self._from_log,
            bounds=(math.log(left), math.log(right)),
            method="bounded",
            options={"xatol": CLOSE / 4},
        )

    def _from_log(self, place: float) -> float:
        found = self.at(math.exp(place))
        return 1e300 if math.isnan(found) else found

    def _rungs(self) -> list[float]:
        """Step sizes that contract."""
        return [step for step, found in self.known.items() if found < 1]

    def _best(self) -> float:
        """Smallest step size among those of the least rate."""
        least = min(self.known[step] for step in self._rungs())
        near = least + SAME * max(1 - least, least)
        return min(step for step in self._rungs() if self.known[step] <= near)


def _proved_boundary(exact: Tried, low: float, high: float) -> tuple[Scalar, Scalar]:
    """Show in rationals that one end is stable and the other is not."""
    if math.isinf(high):
        return _proved(exact, Fraction(low), stable=True), math.inf
    first, last = Fraction(low), Fraction(high)
    width = last - first
    guess = _simplest(first - width, last + width)
    if rate(exact, guess) == 1:
        return guess, guess
    stable = _proved(exact, _simplest(first - width, first), stable=True)
    return stable, _unstable(exact, last, width)


def _unstable(exact: Tried, last: Fraction, width: Fraction) -> Fraction:
    """Show in rationals that a step size next to one is unstable.

    FOCUS with many local steps crosses 1 at 1/L so flatly that floats take step sizes
    before it for unstable; simple ones further up, within a rung, are then asked.
    """
    near, end = _simplest(last, last + width), last + 4 * width
    if rate(exact, near) >= 1:
        return near
    while end < SPACING * last:
        further = _simplest((last + end) / 2, end)
        if rate(exact, further) >= 1:
            return further
        end = last + 4 * (end - last)
    return _proved(exact, near, stable=False)


def _proved(exact: Tried, step_size: Fraction, *, stable: bool) -> Fraction:
    found = rate(exact, step_size)
    if (found < 1) is not stable:
        raise RefusedError(
            f"floats and rationals must agree about stability at {float(step_size)}; "
            f"the exact rate is {float(found)}; the boundary is too flat for floats."
        )
    return step_size


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """Rational of least denominator in an interval, 0 < low <= high.

    Examples
    --------
    >>> _simplest(Fraction("0.599"), Fraction("0.6001"))
    Fraction(3, 5)
    """
    whole = low.numerator // low.denominator
    if low == whole:
        return Fraction(whole)
    if whole + 1 <= high:
        return Fraction(whole + 1)
    rest = _simplest(1 / (high - whole), 1 / (low - whole))
    return whole + 1 / rest

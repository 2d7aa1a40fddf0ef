r"""Sequential tests of bounds on means of nonnegative variables, run after run.

X_r >= 0 is the squared error after round r, one independent copy per run; the claim is
E X_r <= b_r for every tested r. Both tests are products that are supermartingales when
they ought to stay small, so by Ville's inequality each exceeds 1/alpha at some number
of runs with probability at most alpha: one may look after every run and stop.

*Broken.* If the claim holds, E[1 + l (X_r/b_r - 1)] <= 1 for every 0 <= l <= 1, and so
is the mean of such products over rounds and l. This needs no assumption on X_r.

*Holds.* No test can tell that the mean of a nonnegative variable lies below b without
an assumption: a value of tiny probability may be huge. Assumed is
E X_r^2 <= tail max(b_r, E X_r)^2. If then E X_r >= b_r, the variable Z = X_r b_r/E X_r
is at most X_r, has mean b_r and E Z^2 <= tail b_r^2, and exp(-z) <= 1 - z + z^2/2 for
z >= 0 gives E exp(-u X_r/b_r) <= 1 - u + tail u^2/2 for u >= 0. The claim is accepted
when the product of exp(-u X_r/b_r)/(1 - u + tail u^2/2) is large at every tested round,
so that a round that breaks its bound is overlooked with probability at most alpha. A
sample whose own moments contradict the assumption accepts nothing.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from flverify._core.exact import Array

STAKES = (0.9, *(2.0**-k for k in range(1, 11)))  # l: how much is bet on a break
LARGEST_SHARE = 0.5  # of the root of a bound that X_r may be off by, if it is to hold
TILTS = (1.0, 0.5, 0.25, 0.125)  # u tail: small ones see a small margin


class BoundTest:
    """The two tests of E X_r <= b_r, fed with runs.

    Parameters
    ----------
    bounds : (R,) array, positive
        b_r of every tested round.
    false_alarm : float in (0, 1)
        alpha, for each of the two answers.
    tail : float >= 1
        Assumed largest E X_r^2 / max(b_r, E X_r)^2.
    off : (R,) array or 0
        How far the root of a given X_r may be from the true one. Where that is more
        than half of the root of b_r no bound is seen to hold.

    Examples
    --------
    >>> import numpy as np
    >>> test = BoundTest(np.array([1.0]), 1e-6, 3.0)
    >>> test.add(np.full((20, 1), 0.5))
    >>> test.broken, test.holds
    (False, False)
    >>> test.add(np.full((300, 1), 0.5))
    >>> test.broken, test.holds
    (False, True)
    """

    def __init__(
        self, bounds: Array, false_alarm: float, tail: float, off: Array | float = 0.0
    ) -> None:
        self.bounds, self.tail = bounds, tail
        # sqrt(E X) of two X whose roots are closer than `off` differs by less
        share = off / np.sqrt(bounds)
        self.hidden = share > LARGEST_SHARE
        self._far = (1 + share) ** 2
        self._near = (1 - np.minimum(share, LARGEST_SHARE)) ** 2
        self.needed = -math.log(false_alarm)
        self.runs = 0
        self._above = np.zeros((len(STAKES), len(bounds)))
        self._below = np.zeros((len(TILTS), len(bounds)))
        self._first = np.zeros(len(bounds))
        self._second = np.zeros(len(bounds))

    def add(self, errors: Array) -> None:
        """Take the squared errors of further runs, shape (runs, R)."""
        ratios = errors / self.bounds
        self.runs += len(ratios)
        with np.errstate(over="ignore"):
            self._first += ratios.sum(axis=0)
            self._second += (ratios * ratios).sum(axis=0)
        with np.errstate(invalid="ignore"):
            # an overflow is a break, whatever rounding does
            above = np.where(np.isposinf(ratios), np.inf, ratios / self._far)
        for row, stake in enumerate(STAKES):
            self._above[row] += np.log1p(stake * (above - 1)).sum(axis=0)
        for row, tilt in enumerate(TILTS):
            u = tilt / self.tail
            cost = math.log1p(-u + self.tail * u * u / 2)
            self._below[row] -= (u * ratios / self._near + cost).sum(axis=0)

    @property
    def broken(self) -> bool:
        """Whether some bound is broken, false alarms apart."""
        if np.isposinf(self._above).any():
            return True
        evidence = float(logsumexp(self._above)) - math.log(self._above.size)
        return evidence >= self.needed

    @property
    def holds(self) -> bool:
        """Whether every bound holds, under the assumption on the tail.

        A sample that contradicts the assumption gives no such answer.
        """
        return not len(self.unclear) and self.plausible

    @property
    def unclear(self) -> Array:
        """Indices of the rounds whose bound is not seen to hold, shape (some,)."""
        evidence = logsumexp(self._below, axis=0) - math.log(len(TILTS))
        return np.asarray(np.flatnonzero(~(evidence >= self.needed) | self.hidden))

    @property
    def plausible(self) -> bool:
        """Whether the sample itself keeps to the assumption on the tail."""
        return self.sample_tail <= self.tail

    @property
    def sample_tail(self) -> float:
        """Largest ratio that the sample itself has in place of `tail`."""
        return float(self._tails.max())

    @property
    def heaviest(self) -> int:
        """Index of the round with that ratio."""
        return int(self._tails.argmax())

    @property
    def _tails(self) -> Array:
        mean, square = self._first / self.runs, self._second / self.runs
        with np.errstate(invalid="ignore", over="ignore"):
            out = square / np.maximum(mean, 1.0) ** 2
        return np.asarray(np.nan_to_num(out, nan=np.inf, posinf=np.inf))

    @property
    def means(self) -> Array:
        """Sample means of X_r, shape (R,)."""
        return np.asarray(self._first / self.runs * self.bounds)

    @property
    def first_break(self) -> int:
        """Index of the first round whose own product is large enough, or the largest.

        What is tested is the mean over rounds; it names none of them.
        """
        own = self._above.max(axis=0)
        return int(np.flatnonzero(own >= min(self.needed, float(own.max())))[0])

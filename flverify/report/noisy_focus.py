"""FOCUS with noisy gradients on scalar quadratics: exact second moments and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from flverify._core.exact import Array
from flverify.participation._law import Participation


@dataclass(frozen=True)
class NoisyFocus:
    """FOCUS, or SG-FOCUS, on f_i = h_i x^2/2 from equal models x_0 = 1.

    Every gradient has fresh noise of variance sigma^2; the tracker starts as the sum of
    the stored gradients, which start without noise.

    Parameters
    ----------
    curvatures : tuple of N floats, weight f/x^2
    law : Participation
        Its outcomes are listed by `moments`.
    local_steps : int
    step_size : float, weight x^2/f
    variance : float >= 0, weight f^2/x^2
        sigma^2.
    """

    curvatures: tuple[float, ...]
    law: Participation
    local_steps: int
    step_size: float
    variance: float = 0.0

    def moments(self, rounds: int) -> Array:
        """E(x_r - x*)^2 for r = 0, ..., rounds, cohort by cohort.

        The state is (x, z_1, ..., n_1, ...), z_i where client i's stored gradient was
        taken and n_i its noise; the clients' round and the server's are linear in it.

        Examples
        --------
        >>> from flverify.participation import Full
        >>> NoisyFocus((1.0,), Full(1), 1, 0.5, 1.0).moments(2).tolist()
        [1.0, 0.5, 0.375]
        """
        return np.array([after[0, 0] for _, after in self._seconds(rounds)])

    def consensus(self, rounds: int) -> tuple[Array, Array]:
        """E sum_i (x_r - z_i)^2 and E sum_i (x_{r-1} - z_i)^2 after r rounds.

        Examples
        --------
        >>> from flverify.participation import Full
        >>> one = NoisyFocus((1.0,), Full(1), 1, 0.5)
        >>> [values.tolist() for values in one.consensus(1)]
        [[0.0, 0.25], [0.0, 0.0]]
        """
        seconds = [*self._seconds(rounds)]
        columns = zip(*seconds, strict=True)
        lagged, behind = (np.array([self._apart(m) for m in c]) for c in columns)
        return behind, lagged

    def _apart(self, second: Array) -> float:
        z = slice(1, 1 + len(self.curvatures))
        whole = len(self.curvatures) * second[0, 0] - 2 * second[0, z].sum()
        return float(whole + second[z, z].trace())

    def _seconds(self, rounds: int) -> Iterator[tuple[Array, Array]]:
        """Second moments between clients and server, and after the server's step."""
        n = len(self.curvatures)
        state = np.array([1.0] * (n + 1) + [0.0] * n)
        second = np.outer(state, state)
        yield second, second
        outcomes = [(s, float(p)) for s, p in self.law.support().items() if p]
        chances = np.array([p for _, p in outcomes])
        maps, noises = map(
            np.array, zip(*(self._round(s) for s, _ in outcomes), strict=True)
        )
        push = np.eye(2 * n + 1)
        push[0, 1:] = -self.step_size * np.array([*self.curvatures, *[1.0] * n])
        for _ in range(rounds):
            moved = maps @ second @ maps.transpose(0, 2, 1) + noises
            pulled = np.tensordot(chances, moved, 1)
            second = push @ pulled @ push.T
            second = (second + second.T) / 2  # rounding must not grow
            yield pulled, second

    def _round(self, cohort: Iterable[int]) -> tuple[Array, Array]:
        """Return the clients' map of the state, and the noise it adds."""
        n, eta = len(self.curvatures), self.step_size
        pull, fresh = np.eye(2 * n + 1), np.zeros(2 * n + 1)
        for i in cohort:
            kept = 1 - eta * self.curvatures[i]
            gains = eta * kept ** np.arange(self.local_steps - 1)
            whole = kept ** (self.local_steps - 1)
            z, noise = 1 + i, 1 + n + i
            pull[z, [0, z, noise]] = whole, 1 - whole, gains.sum()
            pull[noise, noise] = 0.0
            fresh[z], fresh[noise] = (gains**2).sum() * self.variance, self.variance
        return pull, np.diag(fresh)

    def sampled(self, rounds: int, runs: int, seed: int) -> Array:
        """(x_r - x*)^2 of sampled runs of Algorithm 2, (runs, rounds + 1).

        Gaussian noise; all runs advance together.
        """
        mask = self.law.sample(seed, runs, rounds)
        draw = np.random.default_rng(seed)
        h, eta = np.array(self.curvatures), self.step_size
        model, stored = np.ones(runs), np.ones((runs, 1)) * h
        tracker, out = stored.sum(axis=1), [np.ones(runs)]
        scale = np.sqrt(self.variance)
        for r in range(rounds):
            x, change, old = model[:, None] * np.ones(len(h)), 0.0 * stored, stored
            for _ in range(self.local_steps):
                new = h * x + scale * draw.standard_normal(x.shape)
                change, old = change + new - old, new
                x = x - eta * change
            here = mask[:, r, :]
            tracker = tracker + np.where(here, change, 0.0).sum(axis=1)
            stored = np.where(here, old, stored)
            model = model - eta * tracker
            out.append(model**2)
        return np.stack(out, axis=1)

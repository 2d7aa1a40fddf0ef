"""What a simulation returns: sampled errors, their mean and how far to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from flverify._core.checks import closed, numbers, probability
from flverify._core.errors import DomainError, InputError
from flverify._core.exact import Array, Scalar, scalar
from flverify._core.shown import shown


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Sampled runs of one algorithm, or of a sweep over step sizes on common draws.

    Definition: errors[..., k, r] = |x_r - x*|^2 in run k after r rounds, with x* the
    minimiser of F. A sweep has a leading axis, one entry per step size. A run that
    overflows has the error infinity from there on.

    Parameters
    ----------
    errors : (sweep, runs, rounds + 1) or (runs, rounds + 1) array, weight x^2
        Squared distance of the server model to the minimiser.
    final_models : (sweep, runs, d) or (runs, d) array, weight x
        Server models after the last round.
    models : (sweep, runs, rounds + 1, d) or (runs, rounds + 1, d) array, or None
        All server models, if they were asked for.
    seed : int
        Key of the random streams.
    step_sizes : (sweep,) array or None
        The step sizes of the sweep.
    schedule : (rounds,) array or None
        The decaying step sizes, one per round.
    method : {"literal", "affine", "compiled"}
        How the rounds were computed.

    Examples
    --------
    >>> errors = np.array([[4.0, 1.0], [4.0, 3.0]])
    >>> sampled = Trajectories(errors, np.zeros((2, 1)))
    >>> sampled.mean().tolist(), sampled.standard_error().tolist()
    ([4.0, 2.0], [0.0, 1.0])
    """

    errors: Array
    final_models: Array
    models: Array | None = None
    seed: int = 0
    step_sizes: Array | None = None
    schedule: Array | None = None
    method: str = "literal"

    @property
    def runs(self) -> int:
        """Number of runs (of each step size)."""
        return int(self.errors.shape[-2])

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.errors.shape[-1]) - 1

    def mean(self) -> Array:
        """Mean error over the runs, shape (..., rounds + 1), weight x^2."""
        with np.errstate(over="ignore"):
            return np.asarray(self.errors.mean(axis=-2))

    def standard_error(self) -> Array:
        """Return the standard error of `mean`; infinite where that is.

        Raises
        ------
        InputError
            If there is only one run.
        """
        if self.runs < 2:
            raise InputError(
                "a standard error must come from at least 2 runs; got 1; ask for more."
            )
        with np.errstate(invalid="ignore", over="ignore"):
            spread = self.errors.std(axis=-2, ddof=1) / np.sqrt(self.runs)
        # runs that agree have a spread of 0, and their mean may be rounded
        highest = self.errors.max(axis=-2)
        alike = np.isfinite(highest) & (highest == self.errors.min(axis=-2))
        spread = np.where(alike, 0.0, spread)
        return np.where(np.isfinite(spread), spread, np.inf)

    def band(self, level: Scalar = 0.95) -> tuple[Array, Array]:
        """Pointwise confidence band of the mean error, by the normal law.

        Parameters
        ----------
        level : scalar in (0, 1)
            Confidence level of each round on its own.

        Returns
        -------
        lower, upper : (..., rounds + 1) arrays, weight x^2
            `mean` minus and plus z standard errors; the lower one is cut off at 0.

        Raises
        ------
        DomainError
            If the level does not lie between 0 and 1.
        InputError
            If there is only one run.
        """
        confidence = closed(scalar(level, "level"), "level")
        if not 0 < confidence < 1:
            raise DomainError(
                f"level must lie between 0 and 1; got {shown(level)}; give one "
                "such as 0.95."
            )
        z = NormalDist().inv_cdf((1 + float(confidence)) / 2)
        mean, reach = self.mean(), z * self.standard_error()
        finite = np.isfinite(mean) & np.isfinite(reach)
        lower = np.subtract(mean, reach, out=np.zeros_like(mean), where=finite)
        return np.maximum(lower, 0.0), mean + reach

    def quantiles(self, probabilities: Sequence[Scalar]) -> Array:
        """Quantiles of the error over the runs, shape (len, ..., rounds + 1).

        Parameters
        ----------
        probabilities : sequence of scalars in [0, 1]
            Which quantiles; each is an error that was sampled (no interpolation).

        Raises
        ------
        DomainError
            If a probability lies outside [0, 1].
        """
        asked = numbers(probabilities, "probabilities")
        levels = np.array([_level(value) for value in asked])
        found = np.quantile(self.errors, levels, axis=-2, method="inverted_cdf")
        return np.asarray(found)


def _level(value: Scalar) -> float:
    return float(closed(probability(value, "probabilities"), "probabilities"))

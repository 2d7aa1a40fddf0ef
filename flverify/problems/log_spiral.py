"""Equal clients whose level sets wind like a spiral: worse than all quadratics."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError
from flverify._core.exact import Array, Scalar, scalar
from flverify._core.sentences import number_of
from flverify._core.sources import Source
from flverify.problems._arrays import as_float, float_point, one_per_client
from flverify.problems._problem import Problem
from flverify.problems._spectrum import spectrum

__all__ = ["LogSpiral"]

MOST = 1e6  # beyond, the wave of a level set drowns in rounding
PHASES = 1 << 16  # at which curvatures are taken; between them a Lipschitz bound holds


class LogSpiral(Problem):
    """Equal clients in the plane, alike under a rotation with a stretch.

    Definition: f_i(x) = (|x|^2/2) (a + b sin(arg x - pitch log |x|)), f_i(0) = 0, with
    a = (L + mu)/2 and b = (L - mu)/(2 K), K the largest curvature at a = 0, b = 1. The
    curvatures off 0 fill [mu, L] up to a thousandth of its length, so that f_i is
    mu-strongly convex and L-smooth. A turn by pitch t with a stretch by exp(t)
    multiplies f_i by exp(2 t).

    Source
    ------
    flverify: own construction. With many clients of which a fraction takes part, FOCUS
    moves like the heavy-ball method, for which cycles in the plane are worse than all
    quadratics: Goujaud, Taylor and Dieuleveut (2023), Provable non-accelerations of
    the heavy-ball method.

    Parameters
    ----------
    n_clients : int >= 1
        Number N; all clients are equal.
    strong_convexity, smoothness : scalar > 0, weight f/x^2
        mu <= L.
    pitch : scalar, weight 1
        Turn of the level sets per unit of log |x|.

    Raises
    ------
    DomainError
        If a number lies outside its domain.

    Notes
    -----
    In floats throughout.

    Examples
    --------
    >>> one = LogSpiral(1, "1/3", 1, pitch=1)
    >>> round(one.value(0, [1, 0]), 6)
    0.333333
    >>> one.minimiser().tolist()
    [0.0, 0.0]
    """

    source: ClassVar[Source] = Source("flverify", "log spiral")

    def __init__(
        self,
        n_clients: int,
        strong_convexity: Scalar,
        smoothness: Scalar,
        pitch: Scalar = 1,
    ) -> None:
        low, high = spectrum(strong_convexity, smoothness)
        self.pitch = float(scalar(pitch, "pitch"))
        if not abs(self.pitch) <= MOST:
            raise DomainError(
                f"pitch must lie between -{MOST:g} and {MOST:g}; got {self.pitch}; "
                "choose a smaller one."
            )
        self._clients, self._range = whole(n_clients, "n_clients"), (low, high)
        self._level = (low + high) / 2
        self._swing = (high - low) / (2 * largest_curvature(self.pitch))

    @property
    def n_clients(self) -> int:
        """Number of clients N."""
        return self._clients

    @property
    def dim(self) -> int:
        """Dimension 2."""
        return 2

    @property
    def exact(self) -> bool:
        """False: logarithms are not rational."""
        return False

    def strong_convexity(self) -> float:
        """Strong convexity mu, weight f/x^2."""
        return self._range[0]

    def smoothness(self) -> float:
        """Smoothness L, weight f/x^2."""
        return self._range[1]

    def gradient(self, client: int, point: Array) -> Array:
        """Gradient of f_client at a point, shape (2,), weight f/x.

        Raises
        ------
        DomainError
            If there is no such client.
        ShapeError
            If the point does not have 2 numbers.
        """
        return np.asarray(self.client_gradients(client, self._point(point)[None])[0])

    def client_gradients(self, client: int, points: Array) -> Array:
        """Gradients of f_client at points, shape (m, 2), weight f/x."""
        whole(client, "client", 0, self.n_clients - 1)
        distances, phases = self._polar(points)
        sines, cosines = np.sin(phases), np.cos(phases)
        # along the ray and across it, both over the distance
        along = self._level + self._swing * (sines - self.pitch / 2 * cosines)
        across = self._swing / 2 * cosines
        turned = np.stack([-points[:, 1], points[:, 0]], axis=1)
        found = along[:, None] * points + across[:, None] * turned
        return np.where(distances[:, None] == 0, 0.0, found)

    def value(self, client: int, point: Array) -> Scalar:
        """f_client at a point, weight f.

        Raises
        ------
        DomainError
            If there is no such client.
        ShapeError
            If the point does not have 2 numbers.
        """
        whole(client, "client", 0, self.n_clients - 1)
        distances, phases = self._polar(self._point(point)[None])
        height = self._level + self._swing * np.sin(phases)
        return float((distances**2 / 2 * height)[0])

    def minimiser(self, weights: Array | None = None) -> Array:
        """Minimiser 0 of sum_i w_i f_i, shape (2,), weight x.

        Parameters
        ----------
        weights : (N,) array of sum > 0, weight 1, optional
            Client weights w_i, 1/N each by default; they need not sum to 1.

        Raises
        ------
        ShapeError
            If there is not one weight per client.
        DomainError
            If the weights do not have a positive sum.
        """
        if weights is not None:
            total = as_float(one_per_client(weights, self.n_clients)).sum()
            if not total > 0:
                raise DomainError(
                    f"weights must have a positive sum; got {total:g}; mend them."
                )
        return np.zeros(2)

    @staticmethod
    def examples() -> tuple[LogSpiral, ...]:
        """Small instances, on which every contract of problems is run."""
        return LogSpiral(3, "1/3", 1, 1), LogSpiral(1, "1/10", 2, "-5/2")

    def __repr__(self) -> str:
        low, high = self._range
        clients = number_of(self.n_clients, "client")
        return (
            f"<LogSpiral: {clients}, mu = {low:g}, L = {high:g}, pitch {self.pitch:g}>"
        )

    def _point(self, point: Array) -> Array:
        return float_point(point, self.dim, "coordinate")

    def _polar(self, points: Array) -> tuple[Array, Array]:
        """Return |x| and arg x - pitch log |x|; the phase of 0 is 0."""
        distances = np.hypot(points[:, 0], points[:, 1])
        logarithms = np.log(np.where(distances == 0, 1.0, distances))
        angles = np.arctan2(points[:, 1], points[:, 0])
        return distances, angles - self.pitch * logarithms


def largest_curvature(pitch: float) -> float:
    """Return an upper bound on the curvatures of (|x|^2/2) sin(arg x - pitch log |x|).

    The function is Im(z^p w^q)/2 with w the conjugate of z and q = (1 - i pitch)/2,
    p = 1 + q. At phase s the curvatures are Im(D e)/4 -+ |D e + E/e|/8 with e =
    exp(i s), D = 4 p q and E = 1 + pitch^2, by f_zw and f_zz; at s + pi they are the
    same with the other sign. The bound is at most a thousandth too large.

    Examples
    --------
    >>> round(largest_curvature(0.0), 3)
    1.0
    """
    d, e = complex(3 - pitch**2, -4 * pitch), 1 + pitch**2
    turns = np.exp(2j * np.pi * np.arange(PHASES) / PHASES)
    curvatures = (d * turns).imag / 4 + np.abs(d * turns + e / turns) / 8
    slope = abs(d) / 4 + (abs(d) + e) / 8
    return float(curvatures.max() + slope * np.pi / PHASES)

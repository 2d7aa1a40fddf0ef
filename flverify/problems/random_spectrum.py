"""Random quadratic clients with a prescribed spectrum and heterogeneity."""

from __future__ import annotations

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError
from flverify._core.exact import Array, Scalar, scalar
from flverify._core.room import require_room
from flverify.problems._quadratics import Quadratics
from flverify.problems._spectrum import spectrum

__all__ = ["random_quadratics"]


def random_quadratics(
    n_clients: int,
    dim: int,
    strong_convexity: Scalar,
    smoothness: Scalar,
    heterogeneity: Scalar,
    seed: int,
) -> Quadratics:
    """Random strongly convex quadratics with prescribed constants.

    Definition: H_i = Q_i D_i Q_i' with independent Haar rotations Q_i and D_i
    diagonal, its entries uniform on [mu, L] but for d >= 2 one equal to mu and one
    to L. The optimum x* has standard normal entries. The gradients g_i of the
    clients there are independent standard normal vectors, less their mean, scaled
    to (1/N) sum_i |g_i|^2 = heterogeneity^2; then b_i = H_i x* - g_i.

    Source
    ------
    flverify: own construction.

    Parameters
    ----------
    n_clients, dim : int
        Numbers N and d.
    strong_convexity, smoothness : scalar > 0, weight f/x^2
        mu and L of every client, mu <= L. For d = 1 the curvature of a client is
        anywhere between.
    heterogeneity : scalar >= 0, weight f/x
        Square root of the gradient dissimilarity at the optimum, attained up to
        rounding; must be 0 for one client.
    seed : int
        Key of the random stream; the same seed gives the same problem.

    Returns
    -------
    problem : Quadratics
        In floats.

    Raises
    ------
    DomainError
        If a number is outside its domain, or if one client is to differ from itself.

    Examples
    --------
    >>> problem = random_quadratics(4, 3, 1, 10, 2, seed=0)
    >>> round(problem.gradient_dissimilarity(), 9)
    np.float64(4.0)
    """
    size = whole(n_clients, "n_clients"), whole(dim, "dim")
    low, high = spectrum(strong_convexity, smoothness)
    root = float(scalar(heterogeneity, "heterogeneity"))
    if root < 0 or (size[0] == 1 and root > 0):
        raise DomainError(
            f"heterogeneity must be at least 0, and 0 for one client; got {root} for "
            f"{size[0]} clients; change one of them."
        )
    require_room(size[0] * size[1] ** 2, "entries of the Hessians")
    stream = np.random.Philox(whole(seed, "seed", least=0, most=(1 << 63) - 1))
    draw = np.random.Generator(stream)
    hessians = np.stack([_hessian(draw, size[1], low, high) for _ in range(size[0])])
    optimum = draw.standard_normal(size[1])
    gradients = _gradients(draw, size, root)
    return Quadratics(hessians, hessians @ optimum - gradients)


def _hessian(draw: np.random.Generator, dim: int, low: float, high: float) -> Array:
    eigenvalues = draw.uniform(low, high, size=dim)
    if dim >= 2:
        eigenvalues[:2] = low, high
    # Haar up to the signs of the columns, which cancel in the product.
    basis, _ = np.linalg.qr(draw.standard_normal((dim, dim)))
    return np.asarray((basis * eigenvalues) @ basis.T)


def _gradients(
    draw: np.random.Generator, size: tuple[int, int], heterogeneity: float
) -> Array:
    gradients = draw.standard_normal(size)
    gradients -= gradients.mean(axis=0)
    length = np.sqrt((gradients**2).sum() / size[0])
    return gradients * (heterogeneity / length if heterogeneity else 0.0)


def examples() -> tuple[Quadratics, ...]:
    """Small instances, on which every contract of problems is run."""
    return (random_quadratics(3, 2, 1, 4, 1, seed=0),)

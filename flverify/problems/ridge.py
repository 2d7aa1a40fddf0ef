"""Ridge regression with the loss of the FOCUS paper's numerical validation.

Deviation from the print: the paper prints the loss and its sizes but not the law of
the data, so `synthetic_ridge` states one of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.exact import Array, Scalar
from flverify._core.room import require_room
from flverify.problems._least_squares import least_squares
from flverify.problems._quadratics import Quadratics

__all__ = ["ridge_regression", "synthetic_ridge"]

SCALES = (0.5, 1.0)  # range of the clients' row scales
SPREAD = 0.5  # standard deviation of a client's truth around the common one
NOISE = 0.1  # standard deviation of the noise in the targets


def ridge_regression(
    features: Array, targets: Array, regularisation: Scalar
) -> Quadratics:
    """Ridge regression, one data set per client.

    Definition: f_i(x) = sum_k (a_ik'x - b_ik)^2 + regularisation |x|^2 with a_ik the
    rows of client i. As in the paper there is no factor 1/2, no division by the
    number of rows K, and the regulariser is part of every f_i.

    Source
    ------
    focus, Sect. 5 (Numerical Validation), the loss of Figure 4. Deviations: the
    constant sum_k b_ik^2 is dropped from the values; gradients, Hessians and
    minimisers do not depend on it.

    Parameters
    ----------
    features : (N, K, d) array
        Rows a_ik.
    targets : (N, K) array
        Targets b_ik.
    regularisation : scalar >= 0, weight f/x^2
        The paper's lambda.

    Returns
    -------
    problem : Quadratics
        H_i = 2 A_i'A_i + 2 regularisation I and linear terms 2 A_i'b_i.

    Raises
    ------
    ShapeError
        If the shapes are not (N, K, d) and (N, K).
    DomainError
        If an entry is not a finite number or regularisation is negative.

    Examples
    --------
    >>> problem = ridge_regression([[[1, 2]]], [[3]], "0.01")
    >>> problem.hessians[0, 0, 0], problem.linear[0, 1]
    (Fraction(101, 50), Fraction(12, 1))
    """
    return least_squares(features, targets, regularisation)


def synthetic_ridge(
    n_clients: int = 16,
    dim: int = 100,
    samples: int = 100,
    regularisation: Scalar = 0.01,
    seed: int = 0,
) -> Quadratics:
    """Ridge regression on synthetic heterogeneous clients.

    Definition: client i has rows a_ik = c_i g_ik, a truth x_i = z + h_i/2 and
    targets b_ik = a_ik'x_i + e_ik/10, where c_i is uniform on [1/2, 1] and all
    entries of g_ik, z, h_i and e_ik are independent standard normal numbers. So the
    clients differ in curvature (by c_i) and in what they would like (by h_i).

    Source
    ------
    focus, Sect. 5 and Figure 4: sizes, loss and regularisation of the defaults.
    Deviations: the law of the data is not printed; this one is ours.

    Parameters
    ----------
    n_clients, dim, samples : int
        Sizes N, d and K.
    regularisation : scalar >= 0, weight f/x^2
        The paper's lambda.
    seed : int
        Key of the random stream; the same seed gives the same data.

    Returns
    -------
    problem : Quadratics
        In floats.

    Raises
    ------
    DomainError
        If a size is below 1 or more than the memory holds, the seed is not a whole
        number at least 0, or the regularisation is negative.

    Notes
    -----
    Why these scales. FOCUS adds up gradients, so at full participation its server
    takes gradient steps of N step_size on F: with one local step it is stable when
    N step_size lambda_max < 2, lambda_max of the mean Hessian, and the number is
    smaller under partial participation, where stored gradients are old. Stacking
    the rows of all clients gives sum_i A_i'A_i of mean K sum_i c_i^2 I, about
    933 I, with eigenvalues within factors (1 -+ sqrt(d/(N K)))^2 or so. At the
    paper's step size 2e-4 the numbers N step_size lambda then lie between 0.17 and
    0.71 (seeds 0 to 19): stable with room for old gradients, and an error that falls
    below 1e-9 of the start in a hundred rounds of full participation with five
    local steps. One client has step_size L_i below 0.2, so its local steps are
    stable too while their drift, which biases FedAvg, stays visible.

    Examples
    --------
    >>> synthetic_ridge(n_clients=3, dim=2, samples=4).linear.shape
    (3, 2)
    """
    size = whole(n_clients, "n_clients"), whole(samples, "samples"), whole(dim, "dim")
    require_room(math.prod(size), "numbers of the ridge data")
    require_room(size[0] * size[2] ** 2, "entries of the Hessians")
    stream = np.random.Philox(whole(seed, "seed", least=0, most=(1 << 63) - 1))
    draw = np.random.Generator(stream)
    scales = draw.uniform(*SCALES, size=size[0])
    features = scales[:, None, None] * draw.standard_normal(size)
    truth = draw.standard_normal(size[2])
    truths = truth + SPREAD * draw.standard_normal((size[0], size[2]))
    noise = NOISE * draw.standard_normal(size[:2])
    targets = (features @ truths[:, :, None])[:, :, 0] + noise
    return least_squares(features, targets, regularisation)


def examples() -> tuple[Quadratics, ...]:
    """Small exact instances, on which every contract of problems is run."""
    features: Any = [[[1, 2], [0, 1]], [[2, -1], [1, 1]]]
    targets: Any = [[1, 0], [2, 3]]
    return (ridge_regression(features, targets, "0.1"),)

"""Quadratic clients: the class behind every member of this catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from flverify._core.checks import positive, whole
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array, Scalar, common_kind, is_symbolic
from flverify._core.sentences import number_of
from flverify._core.sources import Source
from flverify.problems import _symmetric
from flverify.problems._arrays import (
    as_float,
    entries,
    freeze,
    one_kind,
    one_per_client,
)
from flverify.problems._problem import Problem

ASYMMETRY = 1e-12  # relative to the largest entry: rounding of a product A'A


@dataclass(frozen=True, eq=False, repr=False)
class Quadratics(Problem):
    """Clients with quadratic objectives.

    Definition: f_i(x) = x'H_i x/2 - b_i'x for client i, and F = (1/N) sum_i f_i.

    Parameters
    ----------
    hessians : (N, d, d) array, symmetric, weight f/x^2
        Client Hessians H_i. Nested lists or arrays of integers, rationals and
        decimal text are exact, floats are floats, sympy expressions symbolic.
        Rationals must be symmetric exactly, floats to 1e-12 of the largest entry
        (they are then symmetrised). Indefinite matrices are legal here.
    linear : (N, d) array, weight f/x
        Linear terms b_i.

    Raises
    ------
    ShapeError
        If the shapes are not (N, d, d) and (N, d).
    DomainError
        If an entry is not a finite number or a Hessian is not symmetric.

    Notes
    -----
    Quantities that need a convex objective raise `DomainError` where it is not.
    Rational data answer in rationals, eigenvalues of non-diagonal matrices apart.

    Examples
    --------
    >>> problem = Quadratics([[["1"]], [["3"]]], [["0"], ["2"]])
    >>> problem.minimiser()
    array([Fraction(1, 2)], dtype=object)
    >>> problem.strong_convexity(), problem.gradient_dissimilarity()
    (Fraction(2, 1), Fraction(1, 4))
    """

    hessians: Array
    linear: Array

    source: ClassVar[Source] = Source("focus", "eq. (1), with quadratic f_i")

    def __post_init__(self) -> None:
        hessians = entries(self.hessians, "hessians", 3)
        linear = entries(self.linear, "linear", 2)
        if hessians.shape != (*linear.shape, linear.shape[1]):
            raise ShapeError(
                f"hessians and linear must have shapes (N, d, d) and (N, d); got "
                f"{hessians.shape} and {linear.shape}; reshape them."
            )
        hessians, linear = one_kind(hessians, linear)
        object.__setattr__(self, "hessians", freeze(_symmetrised(hessians)))
        object.__setattr__(self, "linear", freeze(linear))

    @property
    def n_clients(self) -> int:
        """Number of clients N."""
        return int(self.linear.shape[0])

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.linear.shape[1])

    @property
    def exact(self) -> bool:
        """Whether all data are rational (or symbolic)."""
        return self.linear.dtype == object

    @property
    def mean_hessian(self) -> Array:
        """Hessian of F, (1/N) sum_i H_i, shape (d, d), weight f/x^2."""
        return np.asarray(self.hessians.sum(axis=0) / self.n_clients)

    def gradient(self, client: int, point: Array) -> Array:
        """Gradient H_i x - b_i of one client, shape (d,), weight f/x.

        Raises
        ------
        DomainError
            If the client is not one of 0, ..., N-1.
        ShapeError
            If the point does not have shape (d,).
        """
        hessian, linear, x = self._at(client, point)
        return np.asarray(hessian @ x - linear)

    def value(self, client: int, point: Array) -> Scalar:
        """Value x'H_i x/2 - b_i'x of one client, weight f; no constant term.

        Raises
        ------
        DomainError
            If the client is not one of 0, ..., N-1.
        ShapeError
            If the point does not have shape (d,).
        """
        hessian, linear, x = self._at(client, point)
        return x @ (hessian @ x) / 2 - linear @ x

    def minimiser(self, weights: Array | None = None) -> Array:
        """Minimiser of sum_i w_i f_i, shape (d,), weight x.

        Definition: the solution x of (sum_i w_i H_i) x = sum_i w_i b_i.

        Parameters
        ----------
        weights : (N,) array, weight 1, optional
            Client weights w_i, 1/N each by default; they need not sum to 1.

        Raises
        ------
        ShapeError
            If there is not one weight per client.
        DomainError
            If sum_i w_i H_i is singular or indefinite.

        Examples
        --------
        >>> Quadratics([[[1]], [[3]]], [[0], [2]]).minimiser(["1/4", "3/4"])
        array([Fraction(3, 5)], dtype=object)
        """
        chosen = [Fraction(1, self.n_clients)] * self.n_clients
        given = one_per_client(chosen if weights is None else weights, self.n_clients)
        w, hessians, linear = one_kind(given, self.hessians, self.linear)
        matrix, right = np.tensordot(w, hessians, 1), np.tensordot(w, linear, 1)
        return _symmetric.solve(matrix, right, "the weighted sum of the Hessians")

    def gradient_dissimilarity(self) -> Scalar:
        """Gradient dissimilarity at the optimum, weight f^2/x^2.

        Definition: (1/N) sum_i |grad f_i(x*)|^2 with x* the minimiser of F.

        Raises
        ------
        DomainError
            If F has no unique minimiser.
        """
        gradients = self.hessians @ self.minimiser() - self.linear
        return (gradients * gradients).sum() / self.n_clients

    def client_strong_convexity(self) -> Array:
        """Least eigenvalue mu_i of each H_i, shape (N,), weight f/x^2.

        Raises
        ------
        DomainError
            If a client is not convex.

        Notes
        -----
        Exact for d = 1 and diagonal Hessians, floats otherwise.
        """
        named = [(f"client {i}", h) for i, h in enumerate(self.hessians)]
        return _vector([_strong_convexity(h, name) for name, h in named])

    def strong_convexity(self) -> Scalar:
        """Least eigenvalue mu of the mean Hessian, weight f/x^2.

        Raises
        ------
        DomainError
            If F is not convex.

        Notes
        -----
        Exact for d = 1 and a diagonal mean, a float otherwise. The other usual
        constant, one mu for all clients, is `min(client_strong_convexity())`.
        """
        return _strong_convexity(self.mean_hessian, "the mean objective F")

    def client_smoothness(self) -> Array:
        """Lipschitz constant L_i of each gradient, shape (N,), weight f/x^2.

        Notes
        -----
        The largest modulus of an eigenvalue of H_i. Exact for d = 1 and diagonal
        Hessians, floats otherwise.
        """
        return _vector([_smoothness(h) for h in self.hessians])

    def smoothness(self) -> Scalar:
        """Lipschitz constant L of the gradient of F, weight f/x^2.

        Notes
        -----
        Exact for d = 1 and a diagonal mean Hessian, a float otherwise. One L for
        all clients is `max(client_smoothness())`.
        """
        return _smoothness(self.mean_hessian)

    def scaled(self, factor: Scalar) -> Quadratics:
        """Return the problem with clients c f_i, for a factor c > 0.

        Raises
        ------
        DomainError
            If the factor is not positive.

        Examples
        --------
        >>> Quadratics([[[1]]], [[2]]).scaled("1/2").linear
        array([[Fraction(1, 1)]], dtype=object)
        """
        given = entries([positive(factor, "factor")], "factor", 1)
        c, hessians, linear = one_kind(given, self.hessians, self.linear)
        return Quadratics(c[0] * hessians, c[0] * linear)

    def as_float(self) -> Quadratics:
        """Return the same problem in floats.

        Raises
        ------
        DomainError
            If an entry is symbolic.
        """
        return Quadratics(as_float(self.hessians), as_float(self.linear))

    @staticmethod
    def examples() -> tuple[Quadratics, ...]:
        """Small exact instances, on which every contract of problems is run."""
        data: tuple[tuple[Any, Any], ...] = (
            ([[[1]]], [[1]]),
            ([[[1]], [[3]]], [["1/2"], [-2]]),
            (
                [[[2, 1], [1, 3]], [[1, 0], [0, "5/2"]], [[4, -1], [-1, 1]]],
                [[1, 0], [-1, 2], [0, "1/3"]],
            ),
        )
        return tuple(Quadratics(hessians, linear) for hessians, linear in data)

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "float"
        clients = number_of(self.n_clients, "client")
        return f"<Quadratics: {clients}, dimension {self.dim}, {kind}>"

    def _at(self, client: int, point: Array) -> tuple[Array, ...]:
        number = whole(client, "client", 0, self.n_clients - 1)
        x = entries(point, "point", 1)
        if len(x) != self.dim:
            raise ShapeError(
                f"point must have shape ({self.dim},); got {x.shape}; pass one "
                f"number per dimension."
            )
        return one_kind(self.hessians[number], self.linear[number], x)


def _symmetrised(hessians: Array) -> Array:
    turned = hessians.transpose(0, 2, 1)
    if hessians.dtype == object:
        pairs = zip(hessians.ravel(), turned.ravel(), strict=True)
        gap: object = any(not _same(a, b) for a, b in pairs)
    else:
        allowed = ASYMMETRY * np.abs(hessians).max(axis=(1, 2))
        gap = (np.abs(hessians - turned).max(axis=(1, 2)) > allowed).any()
    if gap:
        raise DomainError(
            "hessians must be symmetric; got one that differs from its transpose; "
            "pass (H + H')/2."
        )
    return hessians if hessians.dtype == object else (hessians + turned) / 2


def _same(left: Scalar, right: Scalar) -> bool:
    if left == right or not (is_symbolic(left) or is_symbolic(right)):
        return bool(left == right)
    return bool((left - right).expand() == 0)


def _strong_convexity(hessian: Array, name: str) -> Scalar:
    sign = _symmetric.definiteness(hessian)
    if sign < 0:
        raise DomainError(
            f"strong convexity needs a convex objective; the Hessian of {name} has "
            f"a negative eigenvalue; give a positive semidefinite one."
        )
    found, _ = _symmetric.extreme_eigenvalues(hessian)
    return type(found)(0) if sign == 0 and not is_symbolic(found) else found


def _smoothness(hessian: Array) -> Scalar:
    low, high = _symmetric.extreme_eigenvalues(hessian)
    return _symmetric.largest([abs(low), abs(high)])


def _vector(values: list[Scalar]) -> Array:
    return entries(common_kind(values), "eigenvalues", 1)

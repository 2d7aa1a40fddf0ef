"""Multinomial logistic regression: a linear classifier, its data split over clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array, Scalar, scalar
from flverify._core.sentences import number_of
from flverify._core.sources import Source
from flverify.problems._arrays import (
    as_float,
    entries,
    float_point,
    freeze,
    one_per_client,
)
from flverify.problems._images import Images, digits, mnist
from flverify.problems._newton import descend
from flverify.problems._problem import Problem

__all__ = ["Images", "Softmax", "digits", "mnist"]


@dataclass(frozen=True, eq=False, repr=False)
class Softmax(Problem):
    """Clients that fit one linear classifier by cross-entropy.

    Definition: with rows a_k and labels y_k of client i, scores s_k = Theta'a_k and x
    the (p, classes) matrix Theta row after row,
    f_i(x) = (1/n) sum_k (log sum_c exp s_kc - s_k,y_k) + regularisation |x|^2/2.

    Parameters
    ----------
    features : (N, n, p) array
        Rows a_k; every client has n of them.
    labels : (N, n) array of int
        Classes y_k, counted from 0.
    classes : int >= 2
        Number of classes.
    regularisation : scalar >= 0, weight f/x^2
        Without it the minimum is not unique, and need not be attained.

    Raises
    ------
    ShapeError
        If the shapes are not (N, n, p) and (N, n).
    DomainError
        If a feature is not a finite number, a label is not one of 0, ..., classes - 1,
        or another number lies outside its domain.

    Notes
    -----
    In floats throughout.

    Examples
    --------
    >>> one = Softmax([[[1.0], [-1.0]]], [[0, 1]], classes=2)
    >>> round(one.value(0, [0.0, 0.0]), 6)
    0.693147
    >>> one.gradient(0, [0.0, 0.0])
    array([-0.5,  0.5])
    """

    features: Array
    labels: Array
    classes: int
    regularisation: Scalar = 0.0

    source: ClassVar[Source] = Source("agnostic", "eq. (1), with cross-entropy")

    def __post_init__(self) -> None:
        features = as_float(entries(self.features, "features", 3))
        classes = whole(self.classes, "classes", least=2)
        weight = float(scalar(self.regularisation, "regularisation"))
        if weight < 0:
            raise DomainError(
                f"regularisation must be at least 0; got {weight}; pass 0 for none."
            )
        labels = _labels(self.labels, features.shape[:2], classes)
        object.__setattr__(self, "features", freeze(features))
        object.__setattr__(self, "labels", freeze(labels))
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "regularisation", weight)

    @property
    def n_clients(self) -> int:
        """Number of clients N."""
        return int(self.features.shape[0])

    @property
    def dim(self) -> int:
        """Dimension d = p classes."""
        return int(self.features.shape[2]) * self.classes

    @property
    def exact(self) -> bool:
        """False: logarithms are not rational."""
        return False

    def gradient(self, client: int, point: Array) -> Array:
        """Gradient of f_client at a point, shape (d,), weight f/x.

        Raises
        ------
        DomainError
            If there is no such client.
        ShapeError
            If the point does not have d numbers.
        """
        number = whole(client, "client", 0, self.n_clients - 1)
        return np.asarray(self.gradients([number], self._point(point)[None])[0])

    def value(self, client: int, point: Array) -> Scalar:
        """f_client at a point, weight f.

        Raises
        ------
        DomainError
            If there is no such client.
        ShapeError
            If the point does not have d numbers.
        """
        number = whole(client, "client", 0, self.n_clients - 1)
        x = self._point(point)
        return float(self._losses(self.features[[number]], self.labels[[number]], x)[0])

    def gradients(self, clients: Sequence[int] | Array, points: Array) -> Array:
        """Gradients of some clients, each at its own point, unchecked.

        Parameters
        ----------
        clients : (m,) integers
        points : (m, d) array

        Returns
        -------
        gradients : (m, d) array
        """
        rows = self.features[clients]
        models = points.reshape(len(points), rows.shape[2], self.classes)
        slopes = _probabilities(rows @ models)
        wanted = self.labels[clients][..., None]
        here = np.take_along_axis(slopes, wanted, axis=-1)
        np.put_along_axis(slopes, wanted, here - 1.0, axis=-1)
        found = np.swapaxes(rows, -1, -2) @ slopes / rows.shape[1]
        return np.asarray(found.reshape(points.shape) + self.regularisation * points)

    def values(self, point: Array) -> Array:
        """All f_i at one point, shape (N,), weight f.

        Raises
        ------
        ShapeError
            If the point does not have d numbers.
        """
        return self._losses(self.features, self.labels, self._point(point))

    def minimiser(self, weights: Array | None = None) -> Array:
        """Minimiser of sum_i w_i f_i, shape (d,), weight x, by Newton's method.

        Parameters
        ----------
        weights : (N,) array >= 0, weight 1, optional
            Client weights w_i, 1/N each by default; they need not sum to 1.

        Raises
        ------
        ShapeError
            If there is not one weight per client.
        DomainError
            If regularisation is 0, a weight is negative or all are 0, or rounding
            stops the descent before the gradient vanishes.
        """
        if self.regularisation == 0:
            raise DomainError(
                "regularisation must be positive for a unique minimiser; got 0; adding "
                "one vector to all classes changes no probability; choose some."
            )
        w, everyone = self._weights(weights), np.arange(self.n_clients)

        def gradient(x: Array) -> Array:
            points = np.broadcast_to(x, (len(everyone), len(x)))
            return np.asarray(w @ self.gradients(everyone, points))

        return descend(
            np.zeros(self.dim),
            value=lambda x: float(w @ self.values(x)),
            gradient=gradient,
            turned=lambda x, v: self._turned(w, x, v),
        )

    @staticmethod
    def examples() -> tuple[Softmax, ...]:
        """Small instances, on which every contract of problems is run."""
        draw = np.random.Generator(np.random.Philox(0))
        rows, labels = draw.standard_normal((3, 4, 2)), draw.integers(3, size=(3, 4))
        bare: Any = [[[1.0], [-0.5], [2.0]]]
        return (
            Softmax(rows, labels, 3, "1/10"),
            Softmax(bare, np.array([[0, 1, 1]]), 2, "1/2"),
        )

    def __repr__(self) -> str:
        clients = number_of(self.n_clients, "client")
        rows = number_of(self.labels.shape[1], "row")
        return (
            f"<Softmax: {clients}, {rows} each, "
            f"dimension {self.dim}, {self.classes} classes>"
        )

    def _point(self, point: Array) -> Array:
        return float_point(point, self.dim, "feature and class")

    def _weights(self, weights: Array | None) -> Array:
        if weights is None:
            return np.full(self.n_clients, 1 / self.n_clients)
        given = as_float(one_per_client(weights, self.n_clients))
        if given.min() < 0 or given.max() == 0:
            raise DomainError(
                "weights must be at least 0 and not all 0; got "
                f"{given.min():g} to {given.max():g}; mend them."
            )
        return given

    def _turned(self, weights: Array, x: Array, v: Array) -> Array:
        """Hessian of sum_i w_i f_i at x, times v."""
        shape = (self.features.shape[2], self.classes)
        chances = _probabilities(self.features @ x.reshape(shape))
        turns = chances * (self.features @ v.reshape(shape))
        turns -= chances * turns.sum(axis=-1, keepdims=True)
        turns *= weights[:, None, None] / self.labels.shape[1]
        found = np.einsum("inp,inc->pc", self.features, turns).ravel()
        return np.asarray(found + self.regularisation * weights.sum() * v)

    def _losses(self, features: Array, labels: Array, x: Array) -> Array:
        scores = features @ x.reshape(features.shape[2], self.classes)
        top = scores.max(axis=-1, keepdims=True)
        total = np.log(np.exp(scores - top).sum(axis=-1)) + top[..., 0]
        hit = np.take_along_axis(scores, labels[..., None], axis=-1)[..., 0]
        return np.asarray(
            (total - hit).mean(axis=1) + self.regularisation * (x @ x) / 2
        )


def _probabilities(scores: Array) -> Array:
    chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
    chances /= chances.sum(axis=-1, keepdims=True)
    return np.asarray(chances)


def _labels(values: object, shape: tuple[int, ...], classes: int) -> Array:
    found = np.asarray(values)
    if found.shape != shape:
        raise ShapeError(
            f"labels must have shape {shape}, one for each row of features; got "
            f"{found.shape}; reshape them."
        )
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= classes:
        raise DomainError(
            f"labels must be integers from 0 to {classes - 1}; got "
            f"{found.dtype} up to {found.max()}; number the classes from 0."
        )
    return found.astype(np.int64)

"""What a problem is: the clients' objectives f_1, ..., f_N and their mean F."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from flverify._core.complete import Complete
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array, Scalar


class Problem(metaclass=Complete):
    """Client objectives f_i on R^d; F = (1/N) sum_i f_i."""

    @property
    @abstractmethod
    def n_clients(self) -> int:
        """Number of clients N."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Dimension d."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether all data are rational (or symbolic)."""

    @abstractmethod
    def gradient(self, client: int, point: Array) -> Array:
        """Gradient of f_client at a point, shape (d,), weight f/x."""

    @abstractmethod
    def value(self, client: int, point: Array) -> Scalar:
        """f_client at a point, weight f."""

    def client_gradients(self, client: int, points: Array) -> Array:
        """Gradients of f_client at some points (m, d), shape (m, d), weight f/x.

        Raises
        ------
        ShapeError
            If a gradient has not the shape of its point.
        DomainError
            If a gradient is complex.
        """
        found = [np.array(self.gradient(client, point.copy())) for point in points]
        wrong = next((g.shape for g in found if g.shape != points.shape[1:]), None)
        if wrong is not None:
            raise ShapeError(
                f"a gradient must have the shape {points.shape[1:]} of its point; got "
                f"{wrong} from gradient({client}, ...) of {type(self).__name__}; mend "
                "it."
            )
        if any(g.dtype.kind == "c" for g in found):
            raise DomainError(
                f"a gradient must be real; got complex numbers from gradient({client}, "
                f"...) of {type(self).__name__}; mend it."
            )
        return np.array(found).reshape(points.shape)

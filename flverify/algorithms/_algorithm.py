"""The language a round is written in, and what an algorithm declares.

A round is one pure function `round(state, cohort, oracle) -> state` over typed
slots: a server vector, a clients stack (one vector per client) or numbers (one per
client). They add, subtract, and scale by a scalar, by `per_client(w)` or by
`per_run(h)`; server and clients meet only through the cohort. So an algorithm can
see neither a layout nor a basis, and each reading (simulation, moments, symbols) is
free to choose them.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, get_type_hints

from flverify._core.checks import positive, whole
from flverify._core.complete import Complete
from flverify._core.exact import Scalar
from flverify._core.sources import Source

MOST_LOCAL_STEPS = 10**6  # far more than anybody would wait for


class Server(Protocol):
    """One vector of R^d at the server."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __mul__(self, factor: Scalar, /) -> Self: ...
    def __rmul__(self, factor: Scalar, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __truediv__(self, divisor: Scalar, /) -> Self: ...


class Clients(Protocol):
    """One vector of R^d per client."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __mul__(self, factor: Scalar, /) -> Self: ...
    def __rmul__(self, factor: Scalar, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __truediv__(self, divisor: Scalar, /) -> Self: ...


class Numbers(Protocol):
    """One number per client; numbers also multiply and divide one another."""

    def __add__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Self: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Self: ...
    def __truediv__(self, other: Any, /) -> Self: ...


class Cohort(Protocol):
    """The participants S of a round: the only door between server and clients.

    `pull` and `broadcast` give clients the server's vector, `select` takes the new
    value where the client takes part and the old one elsewhere, `sum` adds over S,
    `mean` averages over S (and gives `otherwise` in an empty round), `everyone` adds
    over all clients. `numbers` gives every client one number, `equal` compares such
    numbers with one, `weighted_mean` weighs S by them and `project` moves points into
    a region; these four are not linear, and a reading may refuse them.
    """

    @property
    def n_clients(self) -> int: ...
    def pull(self, vector: Server) -> Clients: ...
    def broadcast(self, vector: Server) -> Clients: ...
    def select(self, new: Any, old: Any) -> Any: ...
    def sum(self, stack: Clients) -> Server: ...
    def mean(self, stack: Clients, otherwise: Server) -> Server: ...
    def everyone(self, stack: Clients) -> Server: ...
    def numbers(self, value: Scalar) -> Numbers: ...
    def equal(self, numbers: Numbers, value: int) -> Numbers: ...
    def weighted_mean(
        self, stack: Clients, weights: Numbers, otherwise: Server
    ) -> Server: ...
    def project(self, stack: Clients, region: Region) -> Clients: ...


class Region(Protocol):
    """A closed convex set with a Euclidean projection of rows of points."""

    def project(self, points: Any) -> Any: ...


class Algorithm(metaclass=Complete):
    """Frozen settings, slots, a start and one round, as the paper prints them.

    Subclasses are frozen dataclasses. `State` is a named tuple whose annotations
    (`Server`, `Clients`, `Numbers`) declare the slots; the slot `model` is the server
    model that errors and rates are measured on.
    """

    source: ClassVar[Source]
    State: ClassVar[type]
    curvature_settings: ClassVar[tuple[str, ...]] = ()  # settings of weight f/x^2
    step_size: Scalar
    local_steps: int

    @abstractmethod
    def init(self, start: Any, cohort: Any, oracle: Any) -> Any:
        """State before the first round, from the starting server model."""

    @abstractmethod
    def round(self, state: Any, cohort: Any, oracle: Any) -> Any:
        """State after one round."""

    @classmethod
    def examples(cls, n_clients: int) -> list[Self]:
        """Small exact instances of every variant; the contract suite runs on them."""
        del n_clients
        return []  # an algorithm of a user's own file need not give any

    @classmethod
    def slots(cls) -> dict[str, type]:
        """Name and type (Server, Clients or Numbers) of every slot, in order."""
        hints = get_type_hints(cls.State)
        return {name: hints.get(name, object) for name in cls.State._fields}  # type: ignore[attr-defined]

    def retuned(self, step_size: Any) -> Self:
        """Return the same algorithm at another step size, unchecked (for sweeps)."""
        other = copy(self)
        for name in vars(self):  # what is computed once would be of the old one
            if isinstance(getattr(type(self), name, None), cached_property):
                del other.__dict__[name]
        object.__setattr__(other, "step_size", step_size)
        return other

    def rescaled(self, factor: Any) -> Self:
        """Return the method that makes of factor f_i what this one makes of f_i.

        Examples
        --------
        >>> from flverify.algorithms import FedDyn
        >>> slower = FedDyn(step_size="1/8", proximal_weight="1/2").rescaled(3)
        >>> slower.step_size, slower.proximal_weight
        (Fraction(1, 24), Fraction(3, 2))
        """
        other = self.retuned(self.step_size / factor)
        for name in self.curvature_settings:
            other.settle(name, getattr(self, name) * factor)
        return other

    def check_common(self) -> None:
        """Validate the settings that algorithms share, and normalise them.

        Raises
        ------
        DomainError
            If step_size is not above zero or local_steps is not an integer between 1
            and a million.
        """
        self.settle("step_size", positive(self.step_size, "step_size"))
        steps = whole(self.local_steps, "local_steps", most=MOST_LOCAL_STEPS)
        self.settle("local_steps", steps)

    def settle(self, name: str, value: object) -> None:
        """Store a normalised setting on the frozen instance."""
        object.__setattr__(self, name, value)


def gradient_steps(points: Any, step_size: Scalar, steps: int, oracle: Any) -> Any:
    """Take gradient steps at every client: x_i <- x_i - step_size grad f_i(x_i).

    Examples
    --------
    >>> class Oracle:  # f(x) = x^2/2
    ...     def gradient(self, points):
    ...         return points
    >>> gradient_steps(8.0, 0.5, 3, Oracle())
    1.0
    """
    for _ in range(steps):
        points = points - step_size * oracle.gradient(points)
    return points

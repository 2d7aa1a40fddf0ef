"""Linear forms in the features (1, I_i, a_i), what a traced round is made of.

I_i = 1{i in S} and a_i = I_i/|S|. A client form gives client i a sum of feature times
coefficient times symbol; a server form is a fixed part plus a sum over clients. The
rules I I = I and I a = a keep `select`, `sum` and `mean` closed; what would need a
product of two clients' features is refused. Coefficients may be rationals, floats,
sympy expressions, `PerRun` or `PerClient`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Scalar, is_symbolic
from flverify._core.scaling import PerClient, PerRun, plain
from flverify._core.shown import shown
from flverify._core.vectors import Vector

Feature: TypeAlias = Literal["1", "I", "a"]
ONE: Feature = "1"
TAKES_PART: Feature = "I"
SHARE: Feature = "a"

Symbol: TypeAlias = tuple[
    str, Any
]  # ("server", slot), ("client", slot), ("gradient", k)
Key: TypeAlias = tuple[Feature, Symbol]


def is_zero(coefficient: Scalar) -> bool:
    """Whether a coefficient vanishes for every client and run."""
    if isinstance(coefficient, PerClient):
        return all(is_zero(value) for value in coefficient.values)
    if isinstance(coefficient, PerRun):
        return not np.any(coefficient.values)
    return bool(coefficient == 0)


def _settled(value: Scalar) -> Scalar:
    if isinstance(value, PerClient):
        return PerClient(tuple(_settled(v) for v in value.values))
    return value.expand() if is_symbolic(value) else value


def combine(
    left: Mapping[Any, Scalar], right: Mapping[Any, Scalar], sign: int
) -> dict[Any, Scalar]:
    """Return left + sign * right, without terms that cancel."""
    out = dict(left)
    for key, value in right.items():
        out[key] = _settled(out.get(key, 0) + sign * value)
    return {key: value for key, value in out.items() if not is_zero(value)}


def scale(terms: Mapping[Any, Scalar], factor: Scalar) -> dict[Any, Scalar]:
    """Return factor * terms, without terms that vanish."""
    by = plain(factor)
    scaled = {key: _settled(by * value) for key, value in terms.items()}
    return {key: value for key, value in scaled.items() if not is_zero(value)}


def require(other: object, kind: Any, what: str) -> None:
    """Refuse to mix server vectors and clients stacks."""
    if not isinstance(other, kind):
        raise ReadingError(
            f"{what} must be {kind.words}; got "
            f"{getattr(other, 'words', None) or shown(other)}; bring it through the "
            "cohort."
        )


@dataclass(frozen=True)
class ServerForm(Vector):
    """fixed + sum_i feature_i coefficient_i symbol_i."""

    fixed: Mapping[Symbol, Scalar] = field(default_factory=dict)
    summed: Mapping[Key, Scalar] = field(default_factory=dict)
    words = "a server vector"

    def _plus(self, other: ServerForm, sign: int) -> ServerForm:
        require(other, ServerForm, "what meets a server vector")
        return ServerForm(
            combine(self.fixed, other.fixed, sign),
            combine(self.summed, other.summed, sign),
        )

    def __add__(self, other: ServerForm) -> ServerForm:
        return self._plus(other, 1)

    def __sub__(self, other: ServerForm) -> ServerForm:
        return self._plus(other, -1)

    def __rmul__(self, factor: Scalar) -> ServerForm:
        if isinstance(factor, PerClient) or hasattr(factor, "typed"):
            raise ReadingError(
                "a server vector must be scaled by a scalar; got one number per "
                "client; scale the clients stack instead."
            )
        return ServerForm(scale(self.fixed, factor), scale(self.summed, factor))

    __mul__ = __rmul__


@dataclass(frozen=True)
class ClientForm(Vector):
    """For client i: sum of feature_i coefficient_i symbol_i.

    `partial` marks a stack that is known at participants only.
    """

    terms: Mapping[Key, Scalar] = field(default_factory=dict)
    partial: bool = False
    words = "a clients stack"

    def _plus(self, other: ClientForm, sign: int) -> ClientForm:
        require(other, ClientForm, "what meets a clients stack")
        partial = self.partial or other.partial
        return ClientForm(combine(self.terms, other.terms, sign), partial)

    def __add__(self, other: ClientForm) -> ClientForm:
        return self._plus(other, 1)

    def __sub__(self, other: ClientForm) -> ClientForm:
        return self._plus(other, -1)

    def __rmul__(self, factor: Scalar) -> ClientForm:
        if hasattr(factor, "typed"):
            raise ReadingError(
                "a clients stack must be scaled by numbers; got another vector; "
                "a product of states is not linear."
            )
        return ClientForm(scale(self.terms, factor), self.partial)

    __mul__ = __rmul__

    def times(self, feature: Feature) -> dict[Key, Scalar]:
        """Multiply by I_i or a_i: I I = I and I a = a; a a would be new."""
        out: dict[Key, Scalar] = {}
        for (own, symbol), value in self.terms.items():
            if own == SHARE and feature == SHARE:
                raise ReadingError(
                    "a mean must not contain another mean's share; got a_i a_i; "
                    "the round leaves the traced class."
                )
            product = SHARE if SHARE in (own, feature) else feature
            out = combine(out, {(product, symbol): value}, 1)
        return out

    def depends_on_draw(self) -> bool:
        """Whether a feature other than 1 occurs."""
        return any(feature != ONE for feature, _ in self.terms)

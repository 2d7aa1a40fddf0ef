"""What all vectors of a round have in common, whatever a reading makes of them."""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Rational
from typing import Any, Self

from flverify._core.errors import ReadingError
from flverify._core.scaling import PerClient


class Vector:
    """A server vector, a clients stack or numbers: -v and v / c are multiples of v."""

    typed = True
    words = "a vector"
    __array_ufunc__ = None

    def __rmul__(self, factor: Any) -> Any:
        """Scale; every reading says how."""
        raise NotImplementedError

    def __radd__(self, other: Any) -> Any:
        """Let `sum` of Python add vectors up: it starts at 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __neg__(self) -> Self:
        return self.__rmul__(-1)  # type: ignore[no-any-return]

    def __truediv__(self, divisor: Any) -> Any:
        if hasattr(divisor, "typed"):
            raise ReadingError(
                f"a vector must be divided by plain numbers; got {divisor.words}; a "
                "quotient of states is not linear, and numbers per client n multiply: "
                "cohort.numbers(1) / n * v."
            )
        return self.__rmul__(inverse(divisor))


def inverse(divisor: Any) -> Any:
    """Return 1 / c, exactly where c is: in Python 1 / 3 is a float.

    Examples
    --------
    >>> inverse(3), inverse(0.5), inverse(PerClient((2, 4))).values
    (Fraction(1, 3), 2.0, (Fraction(1, 2), Fraction(1, 4)))
    """
    if isinstance(divisor, PerClient):
        return PerClient(tuple(map(inverse, divisor.values)))
    if isinstance(divisor, Rational):
        return Fraction(int(divisor.denominator), int(divisor.numerator))
    return 1 / divisor


def in_words(reason: str) -> str:
    """Name vectors in an error of Python as a round does, not by their classes.

    Examples
    --------
    >>> in_words("bad operand type for abs(): 'Vector'")
    'bad operand type for abs(): a vector'
    """
    kinds: list[type[Vector]] = [Vector, *Vector.__subclasses__()]
    for kind in kinds:
        reason = re.sub(rf"'?\b{kind.__name__}\b'?( object)?", kind.words, reason)
    return reason.removesuffix(" (__array_ufunc__=None)")

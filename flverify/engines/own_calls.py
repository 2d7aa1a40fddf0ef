"""What init and round of a user's own class do, written down call by call.

Both are called on vectors of which nothing is known, each call on vectors of its own.
A pure function takes the same steps in every call. One that counts its calls, or draws
random numbers, does not; and one that keeps a vector for later, in its class or in a
list, brings it to a call in which it was not given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from flverify._core.errors import InputError, TerminatedError
from flverify._core.places import is_own
from flverify._core.vectors import Vector, in_words, inverse
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.own_rounds import TOO_LARGE, place

FEWEST, MOST = 12, 50  # calls: own coins of probability 1/2 look alike in 1 of 2048
LONG = 200_000  # steps that are taken, where a round is long
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Call:
    """The steps of one call, and the numbers by which it multiplies vectors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[str] = []
        self.factors: list[Any] = []

    def vector(self, verb: str, *given: Any) -> _Vector:
        """Return what a step makes of what it is given."""
        self.steps.append(f"{verb} {' '.join(map(self.told, given))}")
        return _Vector(self, len(self.steps))

    def slots(self, names: Iterable[str], one: bool | None) -> dict[str, _Vector]:
        """Return the vectors of a state."""
        if one is None:
            return {name: self.vector(name) for name in names}
        first = self.vector("slots")
        return {n: first if one else _Vector(self, first.number) for n in names}

    def told(self, given: Any) -> str:
        """Word what a step is given.

        Raises
        ------
        InputError
            If it is a vector of another call.
        """
        if not isinstance(given, _Vector):
            return ADDRESS.sub("", repr(given))
        if given.call is not self:
            raise InputError(
                f"init and round of {self.name} must use vectors that they are given; "
                "got one that was kept from another call, outside of the state; make "
                "it a slot of State."
            )
        return f"#{given.number}"


class _Vector(Vector):
    """A vector, stack or numbers of which nothing is known."""

    def __init__(self, call: Call, number: int) -> None:
        self.call, self.number = call, number

    def __add__(self, other: Any) -> _Vector:
        return self.call.vector("+", self, other)

    def __sub__(self, other: Any) -> _Vector:
        return self.call.vector("-", self, other)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, _Vector):  # numbers divide one another
            return self.call.vector("/", self, other)
        return self * inverse(other)

    def __mul__(self, factor: Any) -> _Vector:
        if not isinstance(factor, _Vector):  # numbers multiply stacks
            self.call.factors.append(factor)
        return self.call.vector("*", self, factor)

    __radd__, __rmul__ = __add__, __mul__
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise self._unknown("the truth value of a vector")

    def __eq__(self, other: object) -> bool:
        raise self._unknown("a comparison of a vector")

    def _unknown(self, what: str) -> InputError:
        return InputError(
            f"init and round of {self.call.name} must not branch on what their vectors "
            f"hold; got {what}; write it as a function of masks and gradients."
        )


class _Verbs:
    """A cohort, or an oracle, every verb of which gives a vector."""

    def __init__(self, call: Call, n_clients: int) -> None:
        self.n_clients, self._call = n_clients, call

    def __getattr__(self, verb: str) -> Callable[..., _Vector]:
        def step(*given: Any, **named: Any) -> _Vector:
            return self._call.vector(verb, *given, *named, *named.values())

        return step


def _unknown_to_vectors(name: str, error: Exception) -> InputError:
    return InputError(
        f"init and round of {name} must be written in what vectors know, which is "
        f"v + w, v - w, -v, c * v and v / c with numbers c; {place(error)} raised "
        f"{type(error).__name__}: {in_words(str(error))}; write it as a function of "
        "masks and gradients."
    )


def called(
    algorithm: Algorithm, method: str, n_clients: int, one: bool | None = None
) -> Call:
    """Call init or round; the rest of a failing call is left out.

    Slots are told apart, unless `one` says whether all of them are one object.

    Raises
    ------
    InputError
        If it uses or returns a vector of another call.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> called(FedAvg("1/4"), "round", 2).factors
    [Fraction(1, 4)]
    """
    call = Call(type(algorithm).__name__)
    verbs = (_Verbs(call, n_clients), _Verbs(call, n_clients))
    try:
        given = call.vector("start")
        if method == "round":
            given = algorithm.State(**call.slots(algorithm.slots(), one))
        returned = getattr(algorithm, method)(given, *verbs)
        parts = returned if isinstance(returned, tuple) else (returned,)
        call.vector("return", *parts)
    except (InputError, TerminatedError, *TOO_LARGE):
        raise
    except (TypeError, AttributeError) as error:
        if _Vector.__name__ in str(error):
            raise _unknown_to_vectors(call.name, error) from error
        call.steps.append(f"raise {type(error).__name__}")
    except (Exception, SystemExit) as error:  # noqa: BLE001  # told by whoever reads it
        call.steps.append(f"raise {type(error).__name__}")
    return call


def require_pure(algorithm: Algorithm, n_clients: int) -> None:
    """Check that own init and round take the same steps in every call.

    Raises
    ------
    InputError
        If two calls differ, or share a vector that no slot holds, or slots are
        compared by `is`.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> require_pure(Focus("1/8"), 2)  # of the package: its plain loop says so
    """
    if not is_own(algorithm):
        return
    first = {m: called(algorithm, m, n_clients).steps for m in ("init", "round")}
    for method in ("init", "round", "init"):
        times = min(MOST, max(FEWEST, LONG // len(first[method])))
        for _ in range(times):
            if called(algorithm, method, n_clients).steps != first[method]:
                raise InputError(
                    f"init and round of {type(algorithm).__name__} must be pure "
                    "functions of their arguments; two calls with the same ones "
                    "differ; keep counters in the state, and leave all randomness to "
                    "the law."
                )
    apart, alike = (called(algorithm, "round", n_clients, one) for one in (False, True))
    if apart.steps != alike.steps:
        raise InputError(
            f"round of {type(algorithm).__name__} must not ask whether two slots are "
            "the same object; its steps differ where they are; keep in a slot what "
            "tells rounds apart."
        )

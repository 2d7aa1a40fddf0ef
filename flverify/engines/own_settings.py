"""Settings of a user's own class that follow its step size.

A sweep, or a schedule, changes the step size of an algorithm and nothing else: what
`__post_init__` made of the old one stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any

from flverify._core.errors import InputError
from flverify._core.places import is_own
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.own_calls import ADDRESS
from flverify.engines.own_rounds import failing


def require_step_size_alone(algorithm: Algorithm, step_sizes: Iterable[float]) -> None:
    """Check that an own algorithm made at other step sizes differs in these alone.

    Raises
    ------
    InputError
        If another setting follows the step size, or one of these cannot be made.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> require_step_size_alone(Focus("1/8"), [0.25])  # of the package
    """
    if not is_own(algorithm) or not is_dataclass(algorithm):
        return
    names = [f.name for f in fields(algorithm) if f.init]
    if "step_size" not in names:
        return
    name, exact = type(algorithm).__name__, isinstance(algorithm.step_size, Rational)
    for size in step_sizes:
        with failing(f"{name} with step_size = {size}"):
            alike = Fraction(size) if exact else size
            other = next(_following(algorithm, names, alike), None)
        if other is not None:
            raise InputError(
                f"a sweep or a schedule must change step_size alone; {other} of {name} "
                f"is another one at {size} than at {shown(algorithm.step_size)}; "
                "compute it in the round."
            )


def _following(algorithm: Any, names: list[str], step_size: object) -> Iterator[str]:
    """Yield what follows the step size: computed, or by default where it is not given.

    A default is told by its value, which one that is given may have by chance.
    """
    sizes = algorithm.step_size, step_size
    here, there = (_made(algorithm, names, h) for h in sizes)
    yield from (name for name in here if here[name] != there.get(name))
    for one in fields(algorithm):
        needed = one.default is MISSING and one.default_factory is MISSING
        if one.init and one.name != "step_size" and not needed:
            rest = [name for name in names if name != one.name]
            here, there = (_made(algorithm, rest, h) for h in sizes)
            was = _written(getattr(algorithm, one.name))
            if here[one.name] == was != there[one.name]:
                yield one.name


def _made(algorithm: Any, names: list[str], step_size: object) -> dict[str, str]:
    """Make the algorithm anew, and write out what it holds besides the step size."""
    given = {name: getattr(algorithm, name) for name in names}
    kind = type(algorithm)
    made = vars(kind(**{**given, "step_size": step_size}))
    return {
        name: _written(value)
        for name, value in made.items()
        if name != "step_size"
        and not isinstance(getattr(kind, name, None), cached_property)
    }


def _written(value: object) -> str:
    return ADDRESS.sub("", repr(value))

"""Abstract classes whose incomplete subclasses are told what they lack, and where."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from typing import Any

from flverify._core.errors import IncompleteClassError


class Complete(ABCMeta):
    """Metaclass of what users derive from: an instance needs every abstract method.

    Raises
    ------
    IncompleteClassError
        When an instance is made of a class that lacks some.

    Examples
    --------
    >>> from abc import abstractmethod
    >>> class Shape(metaclass=Complete):
    ...     @abstractmethod
    ...     def area(self): ...
    >>> class Square(Shape):
    ...     side = 1
    >>> Square()
    Traceback (most recent call last):
    flverify._core.errors.IncompleteClassError: a class derived from Shape must ...
    """

    def __call__(cls, *args: Any, **settings: Any) -> Any:
        """Make an instance."""
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        if missing:
            bases = [one for one in cls.__mro__ if isinstance(one, Complete)]
            raise IncompleteClassError(
                f"a class derived from {bases[-1].__name__} must define all that is "
                f"abstract there; {cls.__name__}{_place(cls)} lacks "
                f"{', '.join(missing)}; add {'it' if len(missing) == 1 else 'them'}."
            )
        return super().__call__(*args, **settings)

    @property
    def __signature__(cls) -> inspect.Signature:
        """What an instance takes, for `help`: that of `__init__` and not of above."""
        found = inspect.signature(cls.__init__)  # type: ignore[misc]
        return found.replace(parameters=list(found.parameters.values())[1:])


def _place(cls: type) -> str:
    """Say where a class is written, if it is in a file that can be read."""
    try:
        file, line = inspect.getsourcefile(cls), inspect.getsourcelines(cls)[1]
    except (OSError, TypeError, SyntaxError):
        return ""
    return f" (line {line} of {file})"

"""How large a question may be, counted before anything is expanded.

Expanding, factoring and eliminating roots take a time that no limit of solver steps
sees. These counts bound it, and what they refuse does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from flverify._core.errors import RefusedError

LARGEST_DEGREE = 64  # of one side: products of nested powers and roots
MOST_NODES = 5000  # of the relations written out as trees
DEEPEST = 60  # levels of brackets, far below where Python stops recursing
MOST_TERMS = 2000  # of a quotient, numerator and denominator together
MOST_DIGITS = 1000  # of a number; Python itself writes out no more than 4300
LEVELS = "levels of brackets"
BITS = MOST_DIGITS * 3322 // 1000


@dataclass(frozen=True)
class Size:
    """What an expression amounts to when it is written out and expanded."""

    nodes: int
    depth: int
    degree: int


def require_small(relations: Sequence[Any]) -> None:
    """Refuse relations that are too large to be judged in reasonable time.

    Raises
    ------
    RefusedError
        If a number is too long, or the relations are too many, deep or high in degree.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> require_small([x >= 10**2000])
    Traceback (most recent call last):
    flverify._core.errors.RefusedError: numbers must have at most 1000 digits; one of \
the relations is longer; rescale it.
    """
    known: dict[Any, Size] = {}
    try:
        sizes = [_measured(relation, known) for relation in relations]
    except RecursionError as error:  # from sympy, which compares trees recursively
        raise RefusedError(_too_large(DEEPEST, LEVELS)) from error
    if any(isinstance(e, sympy.Rational) and is_long(e) for e in known):
        raise RefusedError(
            f"numbers must have at most {MOST_DIGITS} digits; one of the relations "
            "is longer; rescale it."
        )
    _at_most(MOST_NODES, sum(size.nodes for size in sizes), "symbols and operations")
    _at_most(DEEPEST, max(size.depth for size in sizes), LEVELS)
    degree = max(size.degree for size in sizes)
    _at_most(LARGEST_DEGREE, degree, "as its total degree, roots included")


def is_long(number: Any) -> bool:
    """Whether a rational number has too many digits to be worked with."""
    ends = abs(int(number.numerator)), int(number.denominator)
    return max(end.bit_length() for end in ends) > BITS


def shown(given: object) -> str:
    """Return what was given as text, whatever it is."""
    try:
        return repr(given)
    except (ValueError, RecursionError):  # a number or a tree too long for Python
        return f"something too large to be shown, a value of {type(given).__name__}"


def _at_most(limit: int, found: int, what: str) -> None:
    if found > limit:
        raise RefusedError(_too_large(limit, what))


def _too_large(limit: int, what: str) -> str:
    return (
        f"a question may have at most {limit} {what}; this one has more; "
        "put a new symbol for a part of it."
    )


def _measured(root: Any, known: dict[Any, Size]) -> Size:
    # no recursion, and each part once: neither depth nor repeated parts do harm
    waiting = [root]
    while waiting:
        missing = [part for part in waiting[-1].args if part not in known]
        if missing:
            waiting += missing
        else:
            done = waiting.pop()
            known[done] = _size(done, [known[part] for part in done.args])
    return known[root]


def _size(e: Any, parts: Sequence[Size]) -> Size:
    nodes = 1 + sum(part.nodes for part in parts)
    depth = 1 + max((part.depth for part in parts), default=0)
    return Size(nodes, depth, _degree(e, [part.degree for part in parts]))


def _degree(e: Any, parts: Sequence[int]) -> int:
    if isinstance(e, sympy.Mul):
        return sum(parts)
    if isinstance(e, sympy.Pow) and e.exp.is_Rational:
        # numbers count like symbols: a tower of powers of them is no better
        times = max(abs(int(e.exp.p)), int(e.exp.q))
        return max(parts[0], 1) * times
    if not parts:
        return int(isinstance(e, sympy.Symbol))
    return max(parts)

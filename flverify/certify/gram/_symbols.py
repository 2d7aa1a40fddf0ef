"""What a lemma speaks of: its functions with their points, its vectors and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flverify._core.errors import DomainError
from flverify.certify._vectors import Expression, Symbol, Vector
from flverify.certify.gram._functions import Function, Level, Slope


def points(terms: Iterable[Symbol]) -> dict[Function, list[Vector]]:
    """Return every function that symbols speak of, with its points, innermost first."""
    found: dict[Function, dict[Vector, None]] = {}
    seen: set[Symbol] = set()  # nested points ask for the same symbols again

    def visit(symbol: Symbol) -> None:
        if isinstance(symbol, Slope | Level) and symbol not in seen:
            seen.add(symbol)
            for inner_, _ in symbol.point.terms:
                visit(inner_)
            found.setdefault(symbol.function, {})[symbol.point] = None

    for symbol in terms:
        visit(symbol)
    return {f: list(places) for f, places in found.items()}


def symbols(expression: Expression) -> list[Symbol]:
    """All symbols of an expression."""
    paired = [s for pair, _ in expression.pairs for s in pair]
    return list(dict.fromkeys([*paired, *(s for s, _ in expression.scalars)]))


def vocabulary(
    expressions: Iterable[Expression], zero: Iterable[Vector]
) -> tuple[list[Symbol], list[Symbol]]:
    """Return all vector symbols and all scalar symbols, those inside of points too."""
    told = list(expressions)
    vectors = [s for e in told for pair, _ in e.pairs for s in pair]
    vectors += [s for v in zero for s, _ in v.terms]
    scalars = [s for e in told for s, _ in e.scalars]
    places = points([*vectors, *scalars]).values()
    vectors += [s for listed_ in places for p in listed_ for s, _ in p.terms]
    return list(dict.fromkeys(vectors)), list(dict.fromkeys(scalars))


def require_names(vectors: Sequence[Symbol], scalars: Sequence[Symbol]) -> None:
    """Check that no two functions, vectors or numbers are printed alike.

    Raises
    ------
    DomainError
        If they are: a statement would not say what it is about.
    """
    functions = [f.name for f in points([*vectors, *scalars])]
    named = ("functions", functions), ("vectors", vectors), ("numbers", scalars)
    for kind, listed_ in named:
        texts = [str(item) for item in listed_]
        if len(set(texts)) < len(texts):
            raise DomainError(
                f"{kind} must have names of their own; got {', '.join(texts)}; rename "
                "one."
            )

"""Symbolic twins: expected matrices in symbols, next to what the paper prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from flverify._core.errors import DomainError
from flverify._core.exact import Array, Scalar, is_symbolic
from flverify.mixing._expected import expected_matrix, printed_matrix
from flverify.mixing._forms import require_law
from flverify.participation._law import Participation


@dataclass(frozen=True)
class Comparison:
    """A matrix as derived from the law and as the paper prints it.

    Parameters
    ----------
    derived : sympy matrix
        The expectation under the law.
    printed : sympy matrix
        The printed formula at the law's own averaging weights.

    Source
    ------
    flverify: a record, without a formula of its own.

    Examples
    --------
    >>> Comparison(sympy.eye(2), sympy.eye(2)).agrees
    True
    """

    derived: Any
    printed: Any

    @property
    def difference(self) -> Any:
        """Derived less printed, simplified."""
        return (self.derived - self.printed).applyfunc(sympy.simplify)

    @property
    def agrees(self) -> bool:
        """Whether derived and printed matrices are the same."""
        return bool(self.difference.is_zero_matrix)


@dataclass(frozen=True)
class SymbolicTable:
    """Weights and expected matrices of a law as sympy matrices.

    Parameters
    ----------
    inclusion, averaging_weights : sympy column
        p and q, length N.
    pull, aggregation, push, virtual : Comparison
        Expected R, A, C and the W of (35), each next to the print.

    Source
    ------
    focus, eq. (5) and (37), for the printed side.

    Examples
    --------
    >>> from flverify.participation import Full
    >>> symbolic_table(Full(2)).averaging_weights.T
    Matrix([[1/2, 1/2]])
    """

    inclusion: Any
    averaging_weights: Any
    pull: Comparison
    aggregation: Comparison
    push: Comparison
    virtual: Comparison


def symbolic_table(
    participation: Participation, *, reading: str = "printed", empty: str = "keep"
) -> SymbolicTable:
    """Tabulate expected matrices of a law in symbols, next to the print.

    Definition: E R(S), E A(S), E C(S) and E W(S) of (35) against (5), the sentence
    after it and (37), all at the law's q_i = E[I_i/|S|].

    Source
    ------
    focus, eq. (4), (5), (35) and (37).

    Parameters
    ----------
    participation : Participation
        A law with rational or symbolic probabilities; few clients.
    reading : {"printed", "figure1"}
        Which A(S), see `aggregation_matrix`.
    empty : {"keep", "zero"}
        What an empty S does in A(S) and in the W(S) of (35).

    Returns
    -------
    table : SymbolicTable

    Raises
    ------
    DomainError
        If the law is in floats or a setting is unknown.
    InputError
        If the law is none.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> p1, p2 = sympy.symbols("p1 p2")
    >>> found = symbolic_table(Bernoulli([p1, p2]))
    >>> found.averaging_weights[0]
    -p1*p2/2 + p1
    >>> found.pull.agrees, found.pull.derived[1, 0], found.pull.printed[1, 0]
    (False, p1, -p1*p2/2 + p1)
    """
    if not require_law(participation).exact:
        raise DomainError(
            "a symbolic table needs rational or symbolic probabilities; the law is "
            "in floats; give fractions, decimal text or symbols."
        )
    q = participation.averaging_weights()
    settings = {
        "pull": {},
        "aggregation": {"reading": reading, "empty": empty},
        "push": {},
        "virtual": {"empty": empty},
    }
    pairs = {
        name: Comparison(
            _matrix(expected_matrix(name, participation, **chosen)),
            _matrix(printed_matrix(name, q)),
        )
        for name, chosen in settings.items()
    }
    return SymbolicTable(_matrix(participation.inclusion()), _matrix(q), **pairs)


def _matrix(values: Array) -> Any:
    rows = values if values.ndim == 2 else values[:, None]
    return sympy.ImmutableMatrix([[_expression(v) for v in row] for row in rows])


def _expression(value: Scalar) -> Any:
    if is_symbolic(value):
        return sympy.expand(value)
    return sympy.Rational(value.numerator, value.denominator)

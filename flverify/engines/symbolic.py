"""The symbolic reading: mean maps, fixed points and polynomials in print.

The same trace as the moments engine, over sympy: curvatures, step sizes and
probabilities may be symbols. For small N and d; nothing here is numerical.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy.polys.matrices import DomainMatrix
from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

from flverify._core.errors import ReadingError, Refusal, RefusedError
from flverify._core.exact import Array, Scalar, objects
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.kinds import require_setting
from flverify.engines.lower import ALWAYS, Draw, Layout, Lowering, dense, lower
from flverify.engines.trace import trace
from flverify.participation._law import Participation
from flverify.participation._law import members as members_of

LARGEST = 40  # state numbers that are still worth printing


def _convert(value: Scalar) -> Any:
    return sympy.sympify(value) if not isinstance(value, str) else sympy.Rational(value)


@dataclass(frozen=True)
class Symbolic:
    """A round written out, in homogeneous coordinates (slots, 1).

    Parameters
    ----------
    coordinates : tuple of str
        Name of every coordinate of the state.
    feature_matrices : mapping
        One matrix per feature: ("1", -1), ("I", i) or ("a", i).
    participation : Participation
        The law of the participants.
    """

    coordinates: tuple[str, ...]
    feature_matrices: dict[Draw, sympy.Matrix]
    participation: Participation
    _model: tuple[int, ...]

    def round_matrix(self, members: frozenset[int]) -> sympy.Matrix:
        """Matrix of one round with the given participants.

        Examples
        --------
        >>> from flverify.algorithms import FedAvg
        >>> from flverify.participation import Full
        >>> from flverify.problems import Quadratics
        >>> h, b, eta = sympy.symbols("h b eta")
        >>> one = symbolic(Quadratics([[[h]]], [[b]]), FedAvg(eta), Full(1))
        >>> one.round_matrix(frozenset({0}))
        Matrix([
        [-eta*h + 1, b*eta],
        [         0,     1]])
        """
        chosen = members_of(members, self.participation.n_clients)
        total = self.feature_matrices[ALWAYS]
        for (feature, client), matrix in self.feature_matrices.items():
            if client in chosen:
                share = 1 if feature == "I" else sympy.Rational(1, len(chosen))
                total = total + share * matrix
        return total.applyfunc(sympy.expand)

    @cached_property
    def mean_matrix(self) -> sympy.Matrix:
        """E[M]: the mean dynamics, written in the law's p_i and q_i."""
        chances = {"I": self.participation.inclusion()}
        if any(feature == "a" for feature, _ in self.feature_matrices):
            chances["a"] = self.participation.averaging_weights()
        total = self.feature_matrices[ALWAYS]
        for (feature, client), matrix in self.feature_matrices.items():
            if client >= 0:
                total = total + _convert(chances[feature][client]) * matrix
        return total.applyfunc(sympy.expand)

    def mean_fixed_point(self) -> sympy.Matrix:
        """Server model at the fixed point of the mean dynamics, a column.

        Raises
        ------
        RefusedError
            If the mean dynamics have no unique fixed point, or hold what is neither a
            quotient of polynomials nor an algebraic number.
        """
        size = len(self.coordinates) - 1
        both = _in_a_field(sympy.eye(size + 1) - self.mean_matrix)
        gap, forced = both[:size, :size], -both[:size, size:]
        try:
            state = gap.lu_solve(forced).to_Matrix()
        except DMNonInvertibleMatrixError:
            raise RefusedError(
                "the mean dynamics must have exactly one fixed point; the symbolic "
                "system is singular; look at its conserved quantities."
            ) from None
        return state.extract(list(self._model), [0]).applyfunc(sympy.factor)

    def mean_polynomial(self, variable: sympy.Symbol) -> sympy.Expr:
        """Characteristic polynomial of the linear part of the mean dynamics."""
        size = len(self.coordinates) - 1
        linear = self.mean_matrix[:size, :size]
        return sympy.factor(linear.charpoly(variable).as_expr())


def _in_a_field(values: sympy.Matrix) -> Any:
    """Write a matrix over a field in which what is zero is seen to be.

    Roots and functions of symbols are no free symbols: some of them may cancel unseen.
    """
    found = DomainMatrix.from_Matrix(values, extension=True).to_field()
    field = found.domain
    quotients = field.is_FractionField and all(g.is_Symbol for g in field.symbols)
    if not (quotients or field.is_QQ or field.is_AlgebraicField):
        raise RefusedError(
            "a symbolic fixed point must be one of quotients of polynomials, or of "
            f"algebraic numbers; got {values.tolist()}; put a symbol for every root."
        )
    return found


def symbolic(
    problem: Any, algorithm: Algorithm, participation: Participation
) -> Symbolic | Refusal:
    """Write a round out over sympy.

    Parameters
    ----------
    problem : Quadratics
        Data may be rationals or sympy expressions.
    algorithm : Algorithm
        Settings may be symbols.
    participation : Participation
        A law with one mode; probabilities may be symbols.

    Returns
    -------
    Symbolic or Refusal

    Raises
    ------
    InputError
        If a part of the setting is of another kind.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import UniformCohort
    >>> from flverify.problems import Quadratics
    >>> h, b, eta = sympy.symbols("h b eta")
    >>> problem = Quadratics([[[h]], [[2 * h]]], [[b], [0]])
    >>> symbolic(problem, FedAvg(eta), UniformCohort(2, 1)).mean_fixed_point()
    Matrix([[b/(3*h)]])
    """
    require_setting(problem, algorithm, participation)
    n_clients, dim = problem.n_clients, problem.dim
    if n_clients != participation.n_clients:
        return Refusal("symbolic", "problem and law must have the same clients.")
    if not (problem.exact and participation.exact):
        return Refusal("symbolic", "symbols need rationals; floats were given.")
    if len(participation.modes().laws) != 1:
        return Refusal("symbolic", "the law must have one mode.")
    try:
        traced = trace(algorithm, n_clients)
    except ReadingError as error:
        return Refusal("symbolic", str(error))
    layout = Layout(traced.server_slots, traced.client_slots, n_clients, dim)
    if layout.size > LARGEST:
        return Refusal("symbolic", f"a state of {layout.size} numbers is too large.")
    hessians, linear = _objects(problem.hessians), _objects(problem.linear)
    lowering = Lowering(hessians, linear, traced.points, _convert)
    draws = dense(lower(traced.after, layout, lowering), layout, _convert)
    matrices = {draw: sympy.Matrix(values) for draw, values in draws.items()}
    model = layout.places["server", "model", -1]
    places = tuple(range(model.start, model.stop))
    return Symbolic(_names(layout), matrices, participation, places)


def _objects(values: Array) -> Array:
    return objects(map(_convert, values.flat)).reshape(values.shape)


def _names(layout: Layout) -> tuple[str, ...]:
    names = []
    for kind, slot, client in layout.blocks:
        owner = slot if kind == "server" else f"{slot}[{client}]"
        names += (
            [owner] if layout.dim == 1 else [f"{owner}.{k}" for k in range(layout.dim)]
        )
    return (*names, "1")

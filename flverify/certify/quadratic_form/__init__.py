"""One-step lemmas on quadratics, decided exactly: proved, or refuted by a state.

"For all states, E[quadratic(state, next state)] <= quadratic(state)" on one rational
setting says that one rational matrix is positive semidefinite. A lemma is written in
`server`, `client`, `after`, `gradient`, `point_of`, `value`, `minimiser`, `fixed`,
`square`, `inner`, `average` and `expect`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import InputError, ReadingError, Refusal, RefusedError
from flverify._core.exact import Array
from flverify._core.rationals import from_flint, to_fraction
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.certify import _definite
from flverify.certify._vectors import (
    Inequality,
    Vector,
    average,
    inner,
    joined,
    listed,
    square,
)
from flverify.certify.quadratic_form._evaluate import evaluate
from flverify.certify.quadratic_form._matrices import Matrices
from flverify.certify.quadratic_form._rounds import read_round
from flverify.certify.quadratic_form._words import (
    after,
    client,
    expect,
    fixed,
    gradient,
    is_random,
    minimiser,
    point_of,
    server,
    value,
)
from flverify.engines.conserved import conserved, vanishes_at_start
from flverify.engines.kinds import require_algorithm
from flverify.engines.lower import Layout

__all__ = [
    "Counterexample",
    "Proof",
    "after",
    "average",
    "client",
    "evaluate",
    "expect",
    "fixed",
    "gradient",
    "inner",
    "kept_zero",
    "minimiser",
    "one_step",
    "point_of",
    "server",
    "square",
    "value",
]


@dataclass(frozen=True)
class Proof:
    """right - left as a sum of squares of the state's coordinates.

    Parameters
    ----------
    statement : str
        The lemma, expanded.
    squares : tuple of (weight > 0, terms)
        right - left = sum of weight * (sum of coefficient * coordinate)^2, where the
        coordinate "1" is the constant. Coordinates that the hypotheses express by
        others do not occur.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import UniformCohort
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[3]]], [[0], [0]])
    >>> x, setting = server("model"), (problem, FedAvg("1/4"), UniformCohort(2, 1))
    >>> print(one_step(*setting, expect(square(after(x))) <= "1/2" * square(x)))
    right - left = 3/16 (model)^2
    """

    statement: str
    squares: tuple[tuple[Fraction, tuple[tuple[str, Fraction], ...]], ...]

    def __str__(self) -> str:
        """Write the sum of squares out."""
        parts = [
            (weight, f"({joined((c, '' if n == '1' else n) for n, c in terms)})^2")
            for weight, terms in self.squares
        ]
        return f"right - left = {joined(parts)}"


@dataclass(frozen=True)
class Counterexample:
    """A rational state at which left > right; false in a condition.

    Parameters
    ----------
    statement : str
        The lemma, expanded.
    state : mapping
        Slot to d rationals at the server, to N rows of d rationals at the clients.
    left, right : Fraction
        Both sides at the state.
    confirmed : bool
        Whether the sides were computed once more by running every cohort's round.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import UniformCohort
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[3]]], [[0], [0]])
    >>> x, setting = server("model"), (problem, FedAvg("1/4"), UniformCohort(2, 1))
    >>> found = one_step(*setting, expect(square(after(x))) <= "1/4" * square(x))
    >>> str(found.left), str(found.right), found.confirmed
    ('5/16', '1/4', True)
    """

    statement: str
    state: Mapping[str, Any]
    left: Fraction
    right: Fraction
    confirmed: bool

    def __bool__(self) -> bool:
        return False


def one_step(
    problem: Any,
    algorithm: Algorithm,
    participation: Any,
    lemma: Inequality,
    where: Sequence[Vector] = (),
) -> Proof | Counterexample | Refusal:
    """Decide a one-step lemma for all states of one rational setting.

    Parameters
    ----------
    problem : Quadratics
        Rational client objectives.
    algorithm : Algorithm
        Rational settings, a round that is linear on each cohort.
    participation : Participation
        A law with rational probabilities and one mode.
    lemma : Inequality
        `left <= right`, both of the vocabulary of this module.
    where : sequence of Vector
        Vectors of the current state that are zero: the lemma is then for all states
        with these equalities. `kept_zero` gives those that hold along every run.

    Returns
    -------
    Proof, Counterexample or Refusal
        The last two are false. A counterexample is a state that satisfies `where`; it
        need not occur in a run.

    Raises
    ------
    InputError
        If the lemma speaks of what the setting lacks, takes no expectation of a random
        product, or `where` leaves no state; if an argument is of another kind.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import UniformCohort
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[3]]], [[0], [0]])
    >>> setting = problem, FedAvg("1/4"), UniformCohort(2, 1)
    >>> x = server("model")
    >>> one_step(*setting, expect(square(after(x))) <= "5/16" * square(x)).squares
    ()
    >>> one_step(*setting, expect(square(after(x))) <= "1/4" * square(x)).state
    {'model': (Fraction(1, 1),)}
    """
    _require_inequality(lemma)
    zero = listed(where, Vector, "where")  # read once: it is both used and stated
    read = read_round(problem, algorithm, participation)
    if isinstance(read, Refusal):
        return read
    matrices = Matrices(problem, read)
    basis, free = _states(matrices, zero)
    form = matrices.form(lemma.gap)
    terms, witness = _definite.squares(_definite.congruent(form, basis))
    statement = _statement(lemma, zero)
    if witness is None:
        names = _names(read.layout)
        return Proof(statement, _named(terms, [names[k] for k in free]))
    reduced = _definite.negative_state(_definite.congruent(form, basis), witness)
    point = basis @ reduced
    state = _state(from_flint(point), read.layout)
    forms = [matrices.form(side) for side in (lemma.left, lemma.right)]
    sides = [to_fraction(_definite.value(form, point)) for form in forms]
    return _checked(problem, algorithm, participation, lemma, statement, state, sides)


def _require_inequality(lemma: object) -> None:
    if not isinstance(lemma, Inequality):
        raise InputError(
            f"a one-step lemma must be an inequality; got {lemma!r}; write it with <= "
            "or >=, an equality as one of each."
        )


def kept_zero(algorithm: Algorithm, n_clients: int) -> tuple[Vector, ...]:
    """Return the conserved sums of slots that are zero before the first round.

    They hold along every run, as y = sum_i g_i does for FOCUS.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> [str(v) for v in kept_zero(Focus("1/8", 2), 2)]
    ['stored[0] + stored[1] - tracker']
    """
    require_algorithm(algorithm)
    whole(n_clients, "n_clients")
    slots = algorithm.slots()
    found = []
    for quantity in conserved(algorithm, n_clients):
        if vanishes_at_start(quantity, algorithm, n_clients):
            terms = [
                factor * part
                for slot, factor in quantity.items()
                for part in _parts(slot, slots[slot] is Server, n_clients)
            ]
            found.append(sum(terms[1:], start=terms[0]))
    return tuple(found)


def _parts(slot: str, at_server: bool, n_clients: int) -> list[Vector]:
    if at_server:
        return [server(slot)]
    return [client(slot, i) for i in range(n_clients)]


def _states(matrices: Matrices, where: Sequence[Vector]) -> tuple[Array, list[int]]:
    """Basis of the homogeneous states with the given equalities, constant last."""
    rows = [np.zeros((0, matrices.size), dtype=object)]
    for equal in where:
        if any(is_random(symbol) for symbol, _ in equal.terms):
            raise InputError(
                f"a hypothesis must be about the current state; got {equal}; leave "
                "after() out."
            )
        # of a form that does not depend on the draw, the parts add up to itself
        parts, read = matrices.rows(equal), matrices.round
        rows.append((read.weights * read.still)[:, None, None] * parts)
    stacked = [r.sum(axis=0) if r.ndim == 3 else r for r in rows]
    basis, free = _definite.kernel(np.concatenate(stacked), matrices.size)
    if not free or free[-1] != matrices.size - 1:
        raise InputError(
            "the hypotheses must leave some state; got equalities without a common "
            "solution; drop one."
        )
    return basis, free


def _checked(
    problem: Any,
    algorithm: Algorithm,
    participation: Any,
    lemma: Inequality,
    statement: str,
    state: Mapping[str, Any],
    sides: list[Fraction],
) -> Counterexample | Refusal:
    """Compute both sides again by running every cohort, where that can be done."""
    if not sides[0] > sides[1]:
        return Refusal(
            "quadratic forms",
            f"the state {state} was to violate the lemma and has {sides}; this is a "
            "defect of flverify.",
        )
    try:
        again = [
            evaluate(side, problem, algorithm, participation, state)
            for side in (lemma.left, lemma.right)
        ]
    except (ReadingError, RefusedError):
        return Counterexample(statement, state, sides[0], sides[1], False)
    if again != sides:
        return Refusal(
            "quadratic forms",
            f"two computations disagree at {state}: {sides} and {again}; this is a "
            "defect of flverify.",
        )
    return Counterexample(statement, state, sides[0], sides[1], True)


def _statement(lemma: Inequality, where: Sequence[Vector]) -> str:
    given = ", ".join(f"{equal} = 0" for equal in where)
    return f"{lemma} for all states{f' with {given}' if given else ''}"


def _names(layout: Layout) -> list[str]:
    names = []
    for kind, slot, owner in layout.blocks:
        word = slot if kind == "server" else f"{slot}[{owner}]"
        several = [f"{word}.{k}" for k in range(layout.dim)]
        names += [word] if layout.dim == 1 else several
    return [*names, "1"]


def _named(
    terms: _definite.Squares, names: list[str]
) -> tuple[tuple[Fraction, tuple[tuple[str, Fraction], ...]], ...]:
    return tuple(
        (
            to_fraction(weight),
            tuple(
                (name, to_fraction(c))
                for name, c in zip(names, column, strict=True)
                if c != 0
            ),
        )
        for weight, column in terms
    )


def _state(values: Array, layout: Layout) -> dict[str, Any]:
    """Slots of a homogeneous state whose last coordinate is 1."""
    taken = {block: tuple(values[place]) for block, place in layout.places.items()}
    clients = range(layout.n_clients)
    at_server = {s: taken["server", s, -1] for s in layout.server_slots}
    at_clients = {
        s: tuple(taken["client", s, i] for i in clients) for s in layout.client_slots
    }
    return {**at_server, **at_clients}

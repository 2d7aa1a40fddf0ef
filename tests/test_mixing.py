"""Mixing matrices against the paper's own examples, typed from its pages.

Sets here are written as the paper writes them, with clients 1 to N; `zero_based`
turns them into cohorts of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify import mixing
from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import Array, Scalar
from flverify.participation._law import Participation

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def zero_based(paper_set: Iterable[int]) -> set[int]:
    return {i - 1 for i in paper_set}


def subsets(n_clients: int) -> list[frozenset[int]]:
    everyone = range(1, n_clients + 1)
    return [
        frozenset(s) for k in range(n_clients + 1) for s in combinations(everyone, k)
    ]


# --- the definitions, case by case, as printed ------------------------------


def literal(n: int, entry: Callable[[int, int], object]) -> list[list[object]]:
    return [[entry(i, j) for j in range(n + 1)] for i in range(n + 1)]


def literal_pull(s: frozenset[int], n: int) -> list[list[object]]:
    def entry(i: int, j: int) -> int:
        if i in s and j == 0:
            return 1
        return 1 if i not in s and j == i else 0

    return literal(n, entry)


def literal_aggregation(s: frozenset[int], n: int) -> list[list[object]]:
    def entry(i: int, j: int) -> object:
        if i == j != 0:
            return 1
        return Fraction(1, len(s)) if i in s and j == 0 else 0

    return literal(n, entry)


def drawn_aggregation(s: frozenset[int], n: int) -> list[list[object]]:
    def entry(i: int, j: int) -> object:
        if i == j != 0:
            return 1
        return Fraction(1, len(s)) if j in s and i == 0 else 0

    return literal(n, entry)


def literal_push(s: frozenset[int], n: int) -> list[list[object]]:
    def entry(i: int, j: int) -> int:
        if j in s and i == 0:
            return 1
        return 1 if j not in s and i == j else 0

    return literal(n, entry)


def literal_two_way(s: frozenset[int], n: int) -> list[list[object]]:
    """Off the diagonal only; the diagonal is what the readings are about."""

    def entry(i: int, j: int) -> object:
        if (i in s and j == 0) or (j in s and i == 0):
            return Fraction(1, len(s))
        return 0

    return literal(n, entry)


# --- laws for these tests ---------------------------------------------------


@dataclass(frozen=True, repr=False)
class TableLaw(Participation):
    """A law given by its outcomes (paper's sets); everything by enumeration."""

    outcomes: tuple[tuple[frozenset[int], Scalar], ...]
    n_clients: int
    spec: str = "table"
    exact: bool = True

    def support(self) -> Mapping[frozenset[int], Scalar]:
        return {frozenset(zero_based(s)): p for s, p in self.outcomes}

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        wanted = {i + 1 for i in clients}
        parts = [
            p * (Fraction(1, len(s)) ** power if s else Fraction(int(power == 0)))
            for s, p in self.outcomes
            if wanted <= s
        ]
        return sum(parts, Fraction(0) if self.exact else 0.0)

    def _draw(self, seed: int, runs: range, rounds: range) -> Array:
        raise NotImplementedError


def independent(probabilities: list[Scalar]) -> TableLaw:
    n = len(probabilities)
    outcomes = tuple(
        (s, prod(p if i in s else 1 - p for i, p in enumerate(probabilities, start=1)))
        for s in subsets(n)
    )
    in_floats = any(isinstance(p, float) for p in probabilities)
    return TableLaw(outcomes, n, exact=not in_floats)


def uniform(n: int, m: int) -> TableLaw:
    chosen = [s for s in subsets(n) if len(s) == m]
    return TableLaw(tuple((s, Fraction(1, len(chosen))) for s in chosen), n)


@st.composite
def laws(draw: st.DrawFn) -> TableLaw:
    n = draw(st.integers(1, 4))
    masses = draw(st.lists(st.integers(0, 9), min_size=2**n, max_size=2**n))
    masses[draw(st.integers(0, 2**n - 1))] += 1
    chances = [Fraction(v, sum(masses)) for v in masses]
    return TableLaw(tuple(zip(subsets(n), chances, strict=True)), n)


# --- Figure 1 and the toy matrices ------------------------------------------

FIGURE_1_R = [
    [1, 0, 0, 0, 0],
    [1, 0, 0, 0, 0],
    [0, 0, 1, 0, 0],
    [1, 0, 0, 0, 0],
    [0, 0, 0, 0, 1],
]
FIGURE_1_A = [
    [0, HALF, 0, HALF, 0],
    [0, 1, 0, 0, 0],
    [0, 0, 1, 0, 0],
    [0, 0, 0, 1, 0],
    [0, 0, 0, 0, 1],
]
FIGURE_1_C = [
    [1, 1, 0, 1, 0],
    [0, 0, 0, 0, 0],
    [0, 0, 1, 0, 0],
    [0, 0, 0, 0, 0],
    [0, 0, 0, 0, 1],
]
FIGURE_1_W = [
    [THIRD, THIRD, 0, THIRD, 0],
    [THIRD, 2 * THIRD, 0, 0, 0],
    [0, 0, 1, 0, 0],
    [THIRD, 0, 0, 2 * THIRD, 0],
    [0, 0, 0, 0, 1],
]
PAIR = zero_based({1, 3})


def test_figure_1_pull_and_push() -> None:
    assert mixing.pull_matrix(PAIR, 4).tolist() == FIGURE_1_R
    assert mixing.push_matrix(PAIR, 4).tolist() == FIGURE_1_C


def test_figure_1_aggregation_is_not_the_printed_formula() -> None:
    drawn = mixing.aggregation_matrix(PAIR, 4, reading="figure1")
    assert drawn.tolist() == FIGURE_1_A
    printed = mixing.aggregation_matrix(PAIR, 4)
    assert printed.tolist() == [
        [0, 0, 0, 0, 0],
        [HALF, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [HALF, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    assert mixing.is_row_stochastic(drawn)
    assert not mixing.is_row_stochastic(printed)


def test_figure_1_two_way_is_not_the_printed_formula_in_any_reading() -> None:
    drawn = mixing.doubly_stochastic_matrix(PAIR, 4, weight="figure1")
    assert drawn.tolist() == FIGURE_1_W
    for diagonal in ("others", "all"):
        printed = mixing.doubly_stochastic_matrix(PAIR, 4, diagonal=diagonal)
        assert printed.tolist() != FIGURE_1_W


def test_toy_matrices_before_eq_4() -> None:
    assert mixing.pull_matrix({0}, 2).tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    mean = mixing.aggregation_matrix({0, 1}, 2, reading="figure1")
    assert mean.tolist() == [[0, HALF, HALF], [0, 1, 0], [0, 0, 1]]


def test_examples_of_eq_36() -> None:
    pair = mixing.virtual_matrix(PAIR, 4)
    assert pair.tolist() == [[0, HALF, 0, HALF, 0]] * 5
    triple = mixing.virtual_matrix(zero_based({2, 3, 4}), 4)
    assert triple.tolist() == [[0, 0, THIRD, THIRD, THIRD]] * 5


# --- every cohort against the literal definitions ---------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_cohort_against_the_cases(n: int) -> None:
    for s in subsets(n):
        cohort = zero_based(s)
        pull, push = mixing.pull_matrix(cohort, n), mixing.push_matrix(cohort, n)
        assert pull.tolist() == literal_pull(s, n)
        assert push.tolist() == literal_push(s, n)
        printed = mixing.aggregation_matrix(cohort, n, empty="zero")
        assert printed.tolist() == literal_aggregation(s, n)
        drawn = mixing.aggregation_matrix(cohort, n, reading="figure1", empty="zero")
        assert drawn.tolist() == drawn_aggregation(s, n)
        virtual = mixing.virtual_matrix(cohort, n, empty="zero")
        row = [0] + [Fraction(int(i in s), len(s) or 1) for i in range(1, n + 1)]
        assert virtual.tolist() == [row] * (n + 1)
        assert all(isinstance(v, Fraction) for v in (*pull.flat, *virtual.flat))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_two_way_diagonals_solve_their_rule(n: int) -> None:
    for s in subsets(n):
        off = literal_two_way(s, n)
        for diagonal in ("others", "all"):
            found = mixing.doubly_stochastic_matrix(
                zero_based(s), n, diagonal=diagonal
            ).tolist()
            for j in range(n + 1):
                column = [found[i][j] for i in range(n + 1)]
                others = [off[i][j] for i in range(n + 1) if i != j]
                assert [v for i, v in enumerate(column) if i != j] == others
                summed = others if diagonal == "others" else column
                assert column[j] == 1 - sum(summed)


def test_stochasticity_labels() -> None:
    everything = [(zero_based(s), n) for n in (1, 2, 3, 4) for s in subsets(n)]
    for cohort, n in everything:
        pull, push = mixing.pull_matrix(cohort, n), mixing.push_matrix(cohort, n)
        assert mixing.is_row_stochastic(pull)
        assert mixing.is_column_stochastic(push)
        assert (push == pull.T).all()
        assert mixing.is_column_stochastic(pull) == (len(cohort) == 0)
        for matrix in (
            mixing.aggregation_matrix(cohort, n, reading="figure1"),
            mixing.virtual_matrix(cohort, n),
        ):
            assert mixing.is_row_stochastic(matrix)
        for weight in ("printed", "figure1"):
            both = mixing.doubly_stochastic_matrix(cohort, n, weight=weight)
            assert mixing.is_row_stochastic(both)
            assert mixing.is_column_stochastic(both)
        halved = mixing.doubly_stochastic_matrix(cohort, n, diagonal="all")
        assert mixing.is_column_stochastic(halved) == (n == len(cohort) == 1)
        printed = mixing.aggregation_matrix(cohort, n)
        assert mixing.is_row_stochastic(printed) == (len(cohort) == 0)


def test_printed_two_way_matrix_has_no_negative_entry_but_a_zero_server() -> None:
    for s in subsets(3)[1:]:
        found = mixing.doubly_stochastic_matrix(zero_based(s), 3)
        assert found[0, 0] == 0
        assert min(found.flat) == 0


def test_empty_cohorts_keep_the_server_model() -> None:
    unit = np.eye(4, dtype=int).tolist()
    assert mixing.pull_matrix((), 3).tolist() == unit
    assert mixing.push_matrix((), 3).tolist() == unit
    assert mixing.aggregation_matrix((), 3).tolist() == unit
    assert mixing.aggregation_matrix((), 3, reading="figure1").tolist() == unit
    assert mixing.virtual_matrix((), 3).tolist() == [[1, 0, 0, 0]] * 4
    assert mixing.virtual_matrix((), 3, empty="zero").tolist() == [[0] * 4] * 4
    zero = mixing.aggregation_matrix((), 3, reading="figure1", empty="zero")
    assert zero.tolist()[0] == [0] * 4
    assert mixing.doubly_stochastic_matrix((), 3).tolist() == unit


@pytest.mark.parametrize("empty_round", [False, True])
def test_the_virtual_form_keeps_the_server_trajectory(empty_round: bool) -> None:
    # FedAvg on f_i = h_i (x - b_i)^2 / 2, N = 2, in a plain loop and by matrices.
    curvature, centre = [Fraction(1), Fraction(3)], [Fraction(2), Fraction(-1)]
    rounds = [{0}, set(), {0, 1}] if empty_round else [{0}, {0, 1}]
    step, local_steps = Fraction(1, 5), 3

    def moved(i: int, x: Scalar) -> Scalar:
        return x - step * curvature[i] * (x - centre[i])

    server = Fraction(7)
    stacked = np.array([Fraction(7)] * 3, dtype=object)
    for cohort in rounds:
        models = []
        for i in sorted(cohort):
            x = server
            for _ in range(local_steps):
                x = moved(i, x)
            models.append(x)
        server = sum(models) / len(models) if models else server
        for _ in range(local_steps):
            stacked = np.array(
                [stacked[0], moved(0, stacked[1]), moved(1, stacked[2])], dtype=object
            )
        stacked = mixing.virtual_matrix(cohort, 2) @ stacked
        assert stacked.tolist() == [server] * 3


# --- expectations -----------------------------------------------------------

SETTINGS = [
    ("pull", {}),
    ("push", {}),
    ("aggregation", {"reading": "printed", "empty": "keep"}),
    ("aggregation", {"reading": "printed", "empty": "zero"}),
    ("aggregation", {"reading": "figure1", "empty": "keep"}),
    ("aggregation", {"reading": "figure1", "empty": "zero"}),
    ("doubly_stochastic", {"diagonal": "others"}),
    ("doubly_stochastic", {"diagonal": "all"}),
    ("virtual", {"empty": "keep"}),
    ("virtual", {"empty": "zero"}),
]


def averaged(law: TableLaw, name: str, chosen: dict[str, str]) -> Array:
    build = getattr(mixing, f"{name}_matrix")
    return sum(
        p * build(zero_based(s), law.n_clients, **chosen) for s, p in law.outcomes
    )


@pytest.mark.parametrize(("name", "chosen"), SETTINGS)
@given(law=laws())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_expectation_is_the_average_over_subsets(
    law: TableLaw, name: str, chosen: dict[str, str]
) -> None:
    found = mixing.expected_matrix(name, law, **chosen)
    assert found.tolist() == averaged(law, name, chosen).tolist()


@pytest.mark.parametrize(("name", "chosen"), SETTINGS)
def test_float_laws_give_float_matrices(name: str, chosen: dict[str, str]) -> None:
    floats = independent([0.2, 0.5, 0.9])
    exact = independent([Fraction(1, 5), HALF, Fraction(9, 10)])
    found = mixing.expected_matrix(name, floats, **chosen)
    assert found.dtype == np.float64
    expected = mixing.expected_matrix(name, exact, **chosen).astype(float)
    assert found == pytest.approx(expected, abs=1e-15)


def test_expected_pull_by_hand() -> None:
    # Two clients, p = (1/2, 1): S is {1, 2} or {2} with equal chances.
    law = independent([HALF, Fraction(1)])
    assert mixing.expected_matrix("pull", law).tolist() == [
        [1, 0, 0],
        [HALF, HALF, 0],
        [1, 0, 0],
    ]
    virtual = mixing.expected_matrix("virtual", law).tolist()
    assert virtual == [[0, Fraction(1, 4), Fraction(3, 4)]] * 3


def test_weights_of_figure_1_have_no_closed_expectation() -> None:
    with pytest.raises(RefusedError, match="moment"):
        mixing.expected_matrix("doubly_stochastic", uniform(3, 2), weight="figure1")


# --- against the print ------------------------------------------------------


def test_printed_matrices_are_those_of_eq_5_and_37() -> None:
    a, b = sympy.symbols("q1 q2")
    weights = np.array([a, b], dtype=object)
    pull = [[1, 0, 0], [a, 1 - a, 0], [b, 0, 1 - b]]
    assert mixing.printed_matrix("pull", weights).tolist() == pull
    push = [[1, a, b], [0, 1 - a, 0], [0, 0, 1 - b]]
    assert mixing.printed_matrix("push", weights).tolist() == push
    mean = [[0, a, b], [0, 1, 0], [0, 0, 1]]
    assert mixing.printed_matrix("aggregation", weights).tolist() == mean
    assert mixing.printed_matrix("virtual", weights).tolist() == [[0, a, b]] * 3
    assert mixing.printed_matrix("pull", [0.25, 0.75]).dtype == np.float64


def test_printed_pull_is_right_for_single_clients_and_wrong_otherwise() -> None:
    # q_i = p_i exactly when at most one client takes part.
    for m, right in ((1, True), (2, False), (3, False)):
        law = uniform(3, m)
        derived = mixing.expected_matrix("pull", law)
        printed = mixing.printed_matrix("pull", law.averaging_weights())
        assert (derived == printed).all() == right


def test_printed_virtual_is_right_when_somebody_always_comes() -> None:
    for law, right in (
        (uniform(4, 2), True),
        (independent([Fraction(1), HALF]), True),
        (independent([HALF, HALF]), False),
    ):
        derived = mixing.expected_matrix("virtual", law)
        printed = mixing.printed_matrix("virtual", law.averaging_weights())
        assert (derived == printed).all() == right
        fixed = printed[0] @ derived
        assert (fixed == printed[0]).all() == right


# --- symbols ----------------------------------------------------------------


def test_symbolic_table_of_three_independent_clients() -> None:
    p = sympy.symbols("p1:4")
    found = mixing.symbolic_table(independent(list(p)))
    assert list(found.inclusion) == [sympy.expand(v) for v in p]
    a, b, c = p
    by_hand = a * ((1 - b) * (1 - c) + (b * (1 - c) + c * (1 - b)) / 2 + b * c / 3)
    assert sympy.expand(found.averaging_weights[0] - by_hand) == 0
    assert found.pull.derived[1, 0] == a
    assert sympy.expand(found.pull.printed[1, 0] - by_hand) == 0
    assert not found.pull.agrees
    assert not found.push.agrees
    assert found.push.derived == found.pull.derived.T
    empty = sympy.expand((1 - a) * (1 - b) * (1 - c))
    assert sympy.expand(found.virtual.difference[2, 0] - empty) == 0
    assert found.virtual.derived[:, 1:] == found.virtual.printed[:, 1:]


def test_symbolic_readings() -> None:
    a = sympy.Symbol("a")
    law = independent([Fraction(1), a])  # never empty
    printed = mixing.symbolic_table(law)
    assert not printed.aggregation.agrees
    assert mixing.symbolic_table(law, reading="figure1").aggregation.agrees
    assert printed.virtual.agrees
    often_empty = independent([a, a])
    kept = mixing.symbolic_table(often_empty, reading="figure1")
    zero = mixing.symbolic_table(often_empty, reading="figure1", empty="zero")
    assert not kept.aggregation.agrees
    assert not kept.virtual.agrees
    assert zero.aggregation.agrees
    assert zero.virtual.agrees


def test_symbolic_tables_specialise_to_numbers() -> None:
    p = sympy.symbols("p1 p2")
    values = (Fraction(1, 3), Fraction(3, 4))
    table = mixing.symbolic_table(independent(list(p)))
    numbers = {
        s: sympy.Rational(v.numerator, v.denominator)
        for s, v in zip(p, values, strict=True)
    }
    law = independent(list(values))
    for name in ("pull", "aggregation", "push", "virtual"):
        found = getattr(table, name).derived.subs(numbers)
        expected = sympy.Matrix(mixing.expected_matrix(name, law).tolist())
        assert found == expected


def test_rational_laws_have_tables_too() -> None:
    found = mixing.symbolic_table(uniform(3, 1))
    assert found.pull.agrees
    assert found.averaging_weights[0] == sympy.Rational(1, 3)
    with pytest.raises(DomainError, match="floats"):
        mixing.symbolic_table(independent([0.5]))


def test_symbolic_sums_are_recognised() -> None:
    a = sympy.Symbol("a")
    law = independent([a, Fraction(1, 3)])
    assert mixing.is_row_stochastic(mixing.expected_matrix("pull", law))
    assert mixing.is_row_stochastic(mixing.expected_matrix("virtual", law))
    zero = mixing.expected_matrix("virtual", law, empty="zero")
    assert not mixing.is_row_stochastic(zero)


# --- bad input --------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: mixing.pull_matrix({2}, 2), "client"),
        (lambda: mixing.pull_matrix({-1}, 2), "client"),
        (lambda: mixing.push_matrix({True}, 2), "client"),
        (lambda: mixing.push_matrix({0.0}, 2), "client"),
        (lambda: mixing.pull_matrix({0}, 0), "n_clients"),
        (lambda: mixing.aggregation_matrix({0}, 2, reading="fig1"), "reading"),
        (lambda: mixing.aggregation_matrix({0}, 2, empty="skip"), "empty"),
        (lambda: mixing.virtual_matrix({0}, 2, empty="skip"), "empty"),
        (lambda: mixing.doubly_stochastic_matrix({0}, 2, diagonal="x"), "diagonal"),
        (lambda: mixing.doubly_stochastic_matrix({0}, 2, weight="x"), "weight"),
        (lambda: mixing.expected_matrix("R", uniform(2, 1)), "name"),
        (lambda: mixing.expected_matrix("pull", uniform(2, 1), empty="keep"), "empty"),
        (lambda: mixing.printed_matrix("doubly_stochastic", [1]), "name"),
        (lambda: mixing.printed_matrix("pull", [True]), "averaging_weights"),
    ],
)
def test_bad_settings(call: Callable[[], object], word: str) -> None:
    with pytest.raises(DomainError, match=word):
        call()

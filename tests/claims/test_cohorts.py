"""Laws listed from first principles, and matrices of all cohorts at once."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
import sympy

from flverify import mixing
from flverify.claims import cohorts, laws
from flverify.claims.any_cohort import ABSENT, SIZE, AnyCohort, OneCohort
from flverify.claims.printed_mixing import (
    FIGURE_1,
    average,
    printed_mean,
    pull,
    push,
    two_way,
    virtual,
)

ENTRIES = [pull, push, average("i"), average("j"), average("j", "keep"), virtual()]
FEW = [(members, n) for n in (1, 2, 3, 4) for members in cohorts.subsets(n, least=1)]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_listed_outcomes_are_those_of_the_package(n):
    settings = [*laws.never_empty(n), *laws.sometimes_empty(n)]
    assert len({setting.law.spec for setting in settings}) == len(settings)
    for setting in settings:
        listed = {cohorts.zero_based(s): p for s, p in setting.listed.items()}
        assert dict(setting.law.support()) == listed
        assert setting.inclusion() == setting.law.inclusion().tolist()
        assert setting.averaging() == setting.law.averaging_weights().tolist()
        assert setting.admissible()


def test_never_empty_is_never_empty_and_the_others_sometimes_are():
    for n in (1, 2, 3):
        for setting in laws.never_empty(n):
            assert frozenset() not in setting.listed
        for setting in laws.sometimes_empty(n):
            assert setting.listed[frozenset()] > 0


def test_a_client_that_never_comes_is_outside_assumption_1():
    law = {frozenset({1}): Fraction(1)}
    setting = laws.Setting(next(iter(laws.never_empty(2))).law, law)
    assert not setting.admissible()


def test_laws_sum_to_one():
    half, third = Fraction(1, 2), Fraction(1, 3)
    shares = (half, third, Fraction(1, 6))
    for law in (
        cohorts.any_law(3),
        cohorts.any_law(2, empty=True),
        cohorts.independent(sympy.symbols("p_1:4")),
        cohorts.nonempty(cohorts.independent((half, third))),
        cohorts.uniform(4, 2),
        cohorts.with_replacement(shares, 3),
        cohorts.without_replacement(shares, 2),
    ):
        assert sympy.simplify(sum(law.values()) - 1) == 0


def test_draws_by_hand():
    shares = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    drawn = cohorts.without_replacement(shares, 2)
    by_hand = shares[0] * shares[1] * (1 / (1 - shares[0]) + 1 / (1 - shares[1]))
    assert drawn[frozenset({1, 2})] == by_hand
    assert cohorts.with_replacement(shares, 2)[frozenset({3})] == Fraction(1, 36)


@pytest.mark.parametrize("entry", ENTRIES)
def test_one_matrix_shows_the_entries_of_every_cohort(entry):
    every = AnyCohort()
    matrix, sums = every.matrix(entry), every.row_sums(every.matrix(entry))
    for members, n in FEW:
        one = OneCohort(members, n)
        size = {SIZE: len(members), ABSENT: n - len(members)}
        here = one.matrix(entry)
        spare = {True: iter((1, 2)), False: iter((3, 4))}
        shown = {0: 0}
        for i in range(1, min(n, 2) + 1):
            shown[i] = next(spare[i in members])
        for i, k in shown.items():
            for j, m in shown.items():
                assert sympy.sympify(matrix[k, m]).subs(size) == here[i, j]
            assert sympy.sympify(sums[k]).subs(size) == one.row_sums(here)[i]


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_empty_cohort_has_a_matrix_of_its_own(entry):
    every, one = AnyCohort(empty=True), OneCohort(frozenset(), 3)
    matrix, here = every.matrix(entry), one.matrix(entry)
    assert (matrix[:4, :4] == here).all()
    sums = [sympy.sympify(v).subs(ABSENT, 3) for v in every.row_sums(matrix)]
    assert sums[:4] == one.row_sums(here)


@pytest.mark.parametrize("entry", ENTRIES)
def test_entries_do_not_tell_clients_apart(entry):
    one = OneCohort(frozenset({1, 2}), 4)
    matrix = one.matrix(entry)
    for order in permutations(range(1, 5)):
        place = (0, *order)
        image = OneCohort(frozenset({order[0], order[1]}), 4).matrix(entry)
        assert all(
            image[place[i], place[j]] == matrix[i, j]
            for i in range(5)
            for j in range(5)
        )


def test_the_transcription_is_the_package():
    for members, n in FEW:
        one, at = OneCohort(members, n), (cohorts.zero_based(members), n)
        assert (one.matrix(pull) == mixing.pull_matrix(*at)).all()
        assert (one.matrix(push) == mixing.push_matrix(*at)).all()
        for index, reading in (("i", "printed"), ("j", "figure1")):
            package = mixing.aggregation_matrix(*at, reading=reading)
            assert (one.matrix(average(index)) == package).all()
        assert (one.matrix(virtual()) == mixing.virtual_matrix(*at)).all()
        for added, weight in ((0, "printed"), (1, "figure1")):
            for diagonal in ("others", "all"):
                package = mixing.doubly_stochastic_matrix(
                    *at, diagonal=diagonal, weight=weight
                )
                assert (two_way(one, added, diagonal) == package).all()


@pytest.mark.parametrize("name", ["pull", "push", "aggregation", "virtual"])
def test_printed_means_are_those_of_the_package(name):
    q = [Fraction(1, 5), Fraction(1, 2), Fraction(3, 10)]
    mean = printed_mean(name, lambda i, _inside, _size: q[i - 1])
    found = OneCohort(frozenset(), 3).matrix(mean)
    assert (found == mixing.printed_matrix(name, q)).all()


def test_figure_1_has_five_nodes_and_its_drawn_zeros():
    zeros = {key: sum(v == 0 for row in m for v in row) for key, m in FIGURE_1.items()}
    assert zeros == {"R": 20, "A": 19, "C": 20, "W": 16}

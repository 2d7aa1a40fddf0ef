"""Rounds of FOCUS for every N and tau, beside listed rounds and runs by hand."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from flverify.claims import (
    focus_any_box,
    focus_any_lines,
    focus_any_moves,
    focus_any_round,
    focus_any_rows,
    judge,
)
from flverify.claims.focus_box import AS_READ, Variant
from flverify.claims.focus_induction import plain_round, switched_round
from flverify.claims.focus_placings import Placing
from flverify.claims.focus_recursions import PLAIN, SWITCHED, Reading
from flverify.claims.focus_runs import formal_rounds
from flverify.claims.verdict import Verdict

MODULES = (
    focus_any_box,
    focus_any_round,
    focus_any_rows,
    focus_any_lines,
    focus_any_moves,
)
N, TAU, STEP = 6, 4, Fraction(1, 16)
DRAWS = random.Random(3)
COHORTS = [set(DRAWS.sample(range(1, N + 1), m)) for m in (2, 0, 6, 3, 1)]
ALL = [
    Reading(form, push, late, first, alike)
    for form, push, late, first, alike in product(
        ("plain", "switched"), ("end", "same"), (0, 1), (0, 1), (False, True)
    )
]


@pytest.fixture(autouse=True)
def _anew():
    """Judge anew, so that what is planted is seen, and nothing of it is kept."""
    _forget()
    yield
    _forget()


def _forget():
    for module in MODULES:
        for kept in vars(module).values():
            if hasattr(kept, "cache_clear"):
                kept.cache_clear()


def slope(i, x):
    """A gradient of client i that is not affine."""
    return (i * x**2 - 1) / 8


def box():
    """Server models by lines 2-13, stored gradients and tracker 0."""
    x, y, stored, out = Fraction(1, 2), 0, dict.fromkeys(range(1, N + 1), 0), []
    for cohort in COHORTS:
        sent = []
        for i in cohort:
            local, pushed = x, 0
            for _ in range(TAU):
                pushed += slope(i, local) - stored[i]
                stored[i] = slope(i, local)
                local -= STEP * pushed
            sent.append(pushed)
        y += sum(sent)
        x -= STEP * y
        out.append(x)
    return out


def by_rows():
    """Server models by (65)-(66), node by node, D_k and R_k switched together."""
    x = [Fraction(1, 2), *(Fraction(i, 9) for i in range(1, N + 1))]
    before, y, out = list(x), [0, *(slope(i, x[i]) for i in range(1, N + 1))], []
    for k in range(len(COHORTS) * TAU + 1):
        r, pulls = k // TAU, k % TAU == 0
        works = COHORTS[r] if r < len(COHORTS) else set()
        for i in range(1, N + 1):
            y[i] += slope(i, x[i]) - slope(i, before[i])
        for i in COHORTS[r - 1] if pulls and k else ():
            y[0], y[i] = y[0] + y[i], 0
        moved = [v - STEP * y[i] * (i in works) for i, v in enumerate(x)]
        if pulls:
            moved[0] -= STEP * y[0]
            moved = [moved[0] if i in works else v for i, v in enumerate(moved)]
            out.append(moved[0])
        before, x = x, moved
    return out[1:]


def test_six_clients_and_four_steps_run_through_the_same_models():
    assert by_rows() == box()
    assert focus_any_round.any_round(SWITCHED).verdict == Verdict.PROVED


@pytest.mark.parametrize("reading", ALL, ids=str)
def test_any_round_is_proved_just_where_listed_rounds_agree(reading):
    pairs = plain_round if reading.form == "plain" else switched_round
    runs = map(reading.begun, formal_rounds())
    listed = judge.identity((p for run in runs for p in pairs(run, reading)), "listed")
    found = focus_any_round.any_round(reading)
    assert found.verdict == listed.verdict != Verdict.INCONCLUSIVE


def test_a_matrix_that_stands_elsewhere_is_seen(monkeypatch):
    right = focus_any_round.standing

    def wrong(placing, kind):
        return replace(right(placing, kind), works=0)

    monkeypatch.setattr(focus_any_round, "standing", wrong)
    found = focus_any_round.scheduled(Placing("switched", 0, 0, 0, 0, 0))
    assert found.verdict == Verdict.REFUTED
    assert "D_k" in found.reason


@pytest.mark.parametrize("offset", ["pull", "push", "server", "range_from"])
def test_an_offset_of_two_is_no_schedule_of_a_round(offset):
    placing = replace(focus_any_round.placing_of(PLAIN), **{offset: 2})
    assert focus_any_round.scheduled(placing).verdict == Verdict.REFUTED


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("pull", lambda i, j, inside, _size: int(i == j or (inside(i) and j == 0))),
        ("push", lambda i, j, inside, _size: int(i == j or (inside(j) and i == 0))),
        ("push", lambda i, j, inside, _size: int(i == j and not inside(j))),
    ],
)
def test_wrong_matrices_are_not_taken(monkeypatch, name, entry):
    monkeypatch.setattr(focus_any_round, name, entry)
    for reading in (PLAIN, SWITCHED):
        assert focus_any_round.any_round(reading).verdict == Verdict.REFUTED


def test_clients_that_read_each_other_are_not_taken(monkeypatch):
    right = focus_any_round.gradients

    def swapped(points):
        found = right(points)
        return [found[1], found[0], *found[2:]]

    monkeypatch.setattr(focus_any_round, "gradients", swapped)
    assert focus_any_round.any_round(PLAIN).verdict == Verdict.REFUTED


def test_other_lines_of_the_box_are_not_taken():
    wrong = [Variant("k"), Variant("t", "tau"), Variant("k", "tau")]
    found = [focus_any_box.lines(variant).verdict for variant in wrong]
    assert found == [Verdict.REFUTED] * 3
    assert focus_any_box.telescoped(Variant("k")).verdict == Verdict.PROVED
    assert focus_any_box.telescoped(Variant("t", "tau")).verdict == Verdict.REFUTED


def test_what_is_asked_of_the_rows_is_refuted_otherwise():
    wrong = [
        focus_any_rows.follows_71(2),
        focus_any_rows.telescopes(1),
        focus_any_rows.box_follows(2),
        judge.all_of(focus_any_rows.collects_no_more(True, True, 2)),
        judge.all_of(focus_any_rows.collects_no_more(False, True, 1)),
        focus_any_box.kept_sum(2),
        focus_any_box.sum_at_rows(1, late=False),
        focus_any_lines.rows_by_nodes(1),
        focus_any_lines.renamed(PLAIN, 1),
        focus_any_lines.messages(1, 2),
        focus_any_lines.messages(2, 1),
    ]
    assert {found.verdict for found in wrong} == {Verdict.REFUTED}


def test_a_message_of_another_client_is_seen(monkeypatch):
    right = focus_any_lines.gone_on

    def mixed():
        points, pushed = right()
        return points, [pushed[0] + pushed[1], *pushed[1:]]

    monkeypatch.setattr(focus_any_lines, "gone_on", mixed)
    assert focus_any_lines.messages(1, 1).verdict == Verdict.REFUTED


def test_tables_with_another_offset_have_another_schedule():
    left = Placing("plain", 1, 0, 1, 1, 1)
    for name in focus_any_round.OFFSETS:
        other = replace(left, **{name: 3})
        pairs = focus_any_round.same_schedule(left, other, 0)
        assert judge.identity(pairs, "every k").verdict == Verdict.REFUTED
    anywhere = replace(left, push=None)
    pairs = focus_any_round.same_schedule(left, anywhere, 0)
    assert judge.identity(pairs, "every k").verdict == Verdict.REFUTED


def test_as_read_is_the_reading_of_the_lines():
    assert focus_any_box.lines(AS_READ).verdict == Verdict.PROVED


def test_moves_of_another_sign_are_refuted():
    wrong = [
        focus_any_moves.unrolled(-1),
        focus_any_moves.server_and_row(1, 1),
        focus_any_moves.server_and_row(-1, 2),
    ]
    assert {found.verdict for found in wrong} == {Verdict.REFUTED}


def test_a_row_that_moves_twice_is_seen(monkeypatch):
    right = focus_any_moves.iterate

    def twice(form, at, old):
        return right(form, at, right(form, at, old))

    monkeypatch.setattr(focus_any_moves, "iterate", twice)
    assert focus_any_moves.unrolled(1).verdict == Verdict.REFUTED

"""What is proved for every N and tau has all its cases, and each of them all lines.

A proof that leaves out a kind of iteration, a kind of cohort or a line of one still
has nothing but true identities; so what they are is told here once more.
"""

from collections import Counter

import pytest

from flverify.claims import (
    any_number,
    focus_any_box,
    focus_any_lines,
    focus_any_moves,
    focus_any_round,
    focus_any_rows,
    judge,
)
from flverify.claims.focus_any_round import BETWEEN, FIRST, KINDS, LAST, ONLY
from flverify.claims.focus_recursions import PLAIN, SWITCHED
from flverify.claims.verdict import Verdict

j, tau = focus_any_round.j, focus_any_round.tau
ALL = (FIRST, BETWEEN, LAST, ONLY)


@pytest.fixture(autouse=True)
def _anew():
    """Judge anew, so that what is planted is seen, and nothing of it is kept."""
    kept = (focus_any_round.of_a_kind, focus_any_round.scheduled)
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


def identities(found):
    """List all identities of a finding and of its parts."""
    yield from found.evidence.get("identities", ())
    for part in found.parts.values():
        yield from identities(part)


def lines(found):
    """Count the lines that are compared in iterations of each kind."""
    counted = Counter()
    for label in identities(found):
        counted.update(kind for kind in KINDS if label.startswith(kind))
    return tuple(counted[kind] for kind in ALL)


def planted(monkeypatch, kinds):
    monkeypatch.setattr(focus_any_round, "KINDS", kinds)
    return focus_any_round.of_a_kind(), focus_any_round.scheduled(
        focus_any_round.placing_of(PLAIN)
    )


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_iteration_that_is_left_out_is_seen(monkeypatch, name):
    left = {kind: known for kind, known in KINDS.items() if kind != name}
    found = planted(monkeypatch, left)
    assert [one.verdict for one in found] == [Verdict.REFUTED] * 2


@pytest.mark.parametrize("narrow", [[j >= 3, j <= tau - 1], [j >= 2, j <= tau - 2]])
def test_iterations_in_between_that_are_left_out_are_seen(monkeypatch, narrow):
    found = planted(monkeypatch, {**KINDS, BETWEEN: narrow})
    assert [one.verdict for one in found] == [Verdict.REFUTED] * 2


def test_every_iteration_of_a_round_is_of_a_kind():
    assert focus_any_round.of_a_kind().verdict == Verdict.PROVED
    for size in range(1, 8):
        for at in range(1, size + 1):
            put = {j: at, tau: size}
            held = [all(one.subs(put) for one in known) for known in KINDS.values()]
            assert held.count(True) == 1


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: focus_any_round.any_round(PLAIN), (2, 2, 2, 2)),
        (lambda: focus_any_round.any_round(SWITCHED), (3, 3, 3, 3)),
        (lambda: focus_any_lines.rows_by_nodes(0), (2, 2, 2, 2)),
        (lambda: focus_any_lines.renamed(PLAIN, 2), (2, 2, 2, 2)),
        (lambda: focus_any_rows.follows_71(1), (4, 4, 5, 5)),
        (lambda: focus_any_rows.box_follows(1), (3, 3, 3, 3)),
        (
            lambda: judge.all_of(focus_any_rows.collects_no_more(True, True, 1)),
            (4, 4, 4, 4),
        ),
        (lambda: focus_any_rows.telescopes(0), (2, 2, 0, 0)),
        (lambda: focus_any_rows.empties(focus_any_rows.COLLECTED), (0, 0, 1, 1)),
        (lambda: focus_any_moves.unrolled(1), (1, 1, 0, 0)),
    ],
)
def test_iterations_of_every_kind_are_compared_line_by_line(found, expected):
    judged = found()
    assert judged.verdict == Verdict.PROVED
    assert lines(judged) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (focus_any_box.lines, 8),
        (focus_any_box.telescoped, 3),
        (lambda: focus_any_lines.renamed(PLAIN, 2).parts["index"], 2),
        (lambda: focus_any_lines.messages(1, 1).parts["what crosses"], 4),
        (lambda: any_number.unmoved_by_the_server(0), 3),
        (lambda: any_number.sums_kept(1, 1), 3),
        (lambda: any_number.tracked(1, 1), 5),
    ],
)
def test_no_line_is_left_out(found, expected):
    judged = found()
    assert judged.verdict == Verdict.PROVED
    assert len([*identities(judged)]) == expected

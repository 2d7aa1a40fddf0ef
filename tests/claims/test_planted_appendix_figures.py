"""Wrong drawings planted in Figures 5 to 7 are noticed, and a plain loop agrees."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict
from flverify.reference import fedavg

PROVED, REFUTED = Verdict.PROVED, Verdict.REFUTED
CURVATURES = [Fraction(1), Fraction(2), Fraction(1, 3), Fraction(3, 2)]
MINIMISERS = [Fraction(1), Fraction(-1), Fraction(5), Fraction(1, 7)]


@pytest.fixture(scope="module")
def figures():
    return load_file(proofs_folder() / "focus_appendix_figures.py")


def verdicts(finding):
    return [reading.verdict for reading in finding.readings.values()]


def test_the_readings_of_the_print(figures):
    assert verdicts(figures.decentralised_step.check()) == [PROVED, REFUTED]
    assert verdicts(figures.drawn_round.check()) == [PROVED, REFUTED, REFUTED]
    assert verdicts(figures.virtual_round.check()) == [PROVED, REFUTED]


@pytest.mark.parametrize("members", [(1,), (3,), (1, 1, 3)])
def test_other_neighbours_are_noticed(figures, members):
    found = figures.decentralised_step.check(members=members)
    assert verdicts(found) == [REFUTED, REFUTED]


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(501, 1000)])
def test_another_weight_in_the_push_is_noticed(figures, share):
    assert verdicts(figures.drawn_round.check(share=share)) == [REFUTED] * 3
    assert verdicts(figures.virtual_round.check(share=share)) == [REFUTED] * 2


def test_a_client_that_does_not_pull_is_noticed(figures, monkeypatch):
    """Client 3 keeps its own model in Figure 6, or everybody does in Figure 7."""
    drawn = figures.PULL_13.copy()
    drawn[3] = figures.UNMOVED[3]
    monkeypatch.setattr(figures, "PULL_13", drawn)
    assert verdicts(figures.drawn_round.check()) == [REFUTED] * 3
    assert verdicts(figures.virtual_round.check()) == [REFUTED] * 2
    monkeypatch.undo()
    monkeypatch.setattr(figures, "PULL_ALL", figures.UNMOVED)
    assert verdicts(figures.virtual_round.check()) == [REFUTED] * 2


def test_iterations_that_swap_their_tasks_are_noticed(figures, monkeypatch):
    swapped = {"pull": (False, True), "push": (True, False)}
    monkeypatch.setattr(figures, "APART", swapped)
    assert verdicts(figures.drawn_round.check()) == [REFUTED] * 3


@pytest.mark.parametrize("everybody", [True, False])
def test_a_drawn_round_is_one_of_the_plain_loop(figures, everybody):
    eta, x0 = Fraction(1, 4), Fraction(2)

    def gradient(i, point):
        return [CURVATURES[i] * (point[0] - MINIMISERS[i])]

    _, [expected] = fedavg.run(
        gradient, 4, [x0], [{0, 2}], step_size=eta, local_steps=3
    )
    pulls = (figures.PULL_ALL if everybody else figures.PULL_13, figures.UNMOVED)
    active = range(1, 5) if everybody else (1, 3)
    push = figures.push_of(Fraction(1, 2))
    after = figures.after_round(pulls, push, "a", figures.gradient_step, active)
    numbers = {"eta": eta, "x_0": x0}
    for i, (h, m) in enumerate(zip(CURVATURES, MINIMISERS, strict=True), start=1):
        numbers |= {f"h_{i}": h, f"m_{i}": m}
    at = {v: sympy.Rational(numbers[v.name]) for v in after.free_symbols}
    assert after.subs(at) == sympy.Rational(expected)

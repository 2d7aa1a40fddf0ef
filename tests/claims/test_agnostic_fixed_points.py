"""The limit of the mean of agnostic FedAvg on quadratics: what breaks its proof."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from flverify.claims import agnostic_fixed_points as proofs
from flverify.claims import focus_server_rows, pulled_distances
from flverify.claims.registry import shipped_claims

PROVED, REFUTED = "PROVED", "REFUTED"


def test_one_local_step_ends_at_the_minimiser_and_two_do_not():
    assert proofs.limit_is("(3)", 1).verdict == PROVED
    assert proofs.limit_is("(3)", 2).verdict == REFUTED
    assert proofs.limit_is("distorted", 4).verdict == PROVED


@pytest.mark.slow
@pytest.mark.parametrize(
    "held",
    [
        [proofs.mu <= proofs.a, proofs.eta * proofs.a <= 2],  # beyond 1/L
        [proofs.eta * proofs.a <= 1],  # not strongly convex
    ],
)
def test_powers_need_the_step_size_and_the_curvature(held, monkeypatch):
    monkeypatch.setattr(proofs, "ONE_STEP", held)
    assert proofs.mean_converges.__wrapped__().verdict == REFUTED
    assert proofs.limit_is.__wrapped__("distorted", 4).verdict == REFUTED


def test_the_form_needs_powers_below_one(monkeypatch):
    monkeypatch.setattr(proofs, "POWER", [proofs.w >= 0, proofs.w <= 1])
    assert proofs.limit_is.__wrapped__("distorted", 4).verdict == REFUTED


def test_the_leading_term_is_the_quotient_of_differences():
    """Solve for the limit at a tiny step size, in fractions."""
    assert proofs.leading_term().verdict == PROVED
    p, a, b, k, step = (
        (Fraction(1, 3), Fraction(2, 3)),
        (Fraction(1), Fraction(3)),
        (Fraction(2), Fraction(-1)),
        4,
        Fraction(1, 10**6),
    )

    def solved(pulls):
        return sum(w * v for w, v in zip(pulls, b, strict=True)) / sum(pulls)

    moved = [w * (1 - (1 - step * h) ** k) for w, h in zip(p, a, strict=True)]
    best = solved([w * h for w, h in zip(p, a, strict=True)])
    printed = p[0] * p[1] * a[0] * a[1] * (a[0] - a[1]) * (b[0] - b[1])
    printed /= (p[0] * a[0] + p[1] * a[1]) ** 2
    slope = (solved(moved) - best) / step
    assert abs(slope + Fraction(k - 1, 2) * printed) < Fraction(1, 10**4)


def test_sums_over_clients_and_moves_go_on_with_the_right_factor_alone():
    for absent in (False, True):
        assert pulled_distances._one_more(1, absent).verdict == PROVED
        assert pulled_distances._one_more(2, absent).verdict == REFUTED
    eta = focus_server_rows.ETA
    assert focus_server_rows._one_move_more(-eta).verdict == PROVED
    assert focus_server_rows._one_move_more(sympy.Integer(1)).verdict == REFUTED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "changed"),
    [
        ("agnostic.eq10", {"factor": 2}),
        ("focus.obs73", {"factor": 2}),
    ],
)
def test_corrections_for_every_number_of_clients_are_no_words_alone(key, changed):
    claim = shipped_claims()[key]
    scope = claim.check().correction.finding.scope
    assert "every N" in scope
    assert "N = 1" not in scope
    assert not claim.check(**changed).passes()

"""Theorem 2's terms by hand, and the exact limit by a recursion over the cohorts."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from flverify.report import figures, theorem_plots

H, B, CHANCES = (1.0, 2.0, 4.0), (-1.0, 2.0, 1.0), (0.9, 0.5, 0.1)
BEST = sum(h * b for h, b in zip(H, B, strict=True)) / sum(H)


@pytest.fixture(scope="module")
def figure():
    return figures.load_figure("theorem2_terms")


@pytest.fixture(scope="module")
def stored(figure):
    return figure.read(figures.stored_csv("theorem2_terms"))


def outcomes(name):
    """Cohorts with their probabilities, listed by hand."""
    if name == "even":
        return [((0, 1), 1 / 3), ((0, 2), 1 / 3), ((1, 2), 1 / 3)]
    out = []
    for come in product((0, 1), repeat=3):
        chance = np.prod(
            [p if c else 1 - p for c, p in zip(come, CHANCES, strict=True)]
        )
        if any(come):
            out.append((tuple(np.flatnonzero(come)), float(chance)))
    total = sum(p for _, p in out)
    return [(s, p / total) for s, p in out]


def weights(law):
    return [sum(p / len(s) for s, p in law if i in s) for i in range(3)]


def derivative(i, x):
    """Curved between the minimisers, of slope 4 outside."""
    inside = min(max(x, min(B)), max(B))
    return H[i] * (inside - B[i]) + 4 * (x - inside)


def spreads(law):
    """sigma_G^2 and delta_q^2 on a grid that goes beyond the interval."""
    q, grid = weights(law), np.linspace(-4, 5, 9001)
    slopes = np.array([[derivative(i, x) for i in range(3)] for x in grid])
    mean = slopes.mean(axis=1)
    sigma = ((slopes - mean[:, None]) ** 2).max()
    return sigma, ((slopes @ np.array(q) - mean) ** 2).max()


@pytest.mark.parametrize(("panel", "name"), [("even", "even"), ("uneven", "uneven")])
@pytest.mark.parametrize("power", [0, 2])
def test_terms_are_those_of_a_hand_calculation(figure, panel, name, power):
    sigma, delta = spreads(outcomes(name))
    eta, tau, kappa, big, mu = 1 / 64 / 2**power, 5, 4.0, 4.0, 1.0  # 1/(4 (tau-1) L)
    law = {"even": figure.EVEN, "uneven": figure.UNEVEN}[panel]
    one = figure.setting(law, tau, Fraction(1, 2**power))
    expected = (
        80 * eta**2 * kappa**2 * big**2 * (tau - 1) ** 2 * (delta + sigma),
        10 * kappa * delta,
        16 * eta * tau**2 / mu * (delta + sigma),
    )
    found = theorem_plots.theorem2_terms(one)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def limit(law, eta, tau):
    """Iterate mean and second moment of FedAvg; the largest E(q'x - x*)^2."""
    q = weights(law)
    keep = [(1 - eta * h) ** tau for h in H]
    mean, square = 0.0, 0.0
    for _ in range(4000):
        new_mean = new_square = 0.0
        for cohort, p in law:
            a = sum(keep[i] for i in cohort) / len(cohort)
            c = sum((1 - keep[i]) * B[i] for i in cohort) / len(cohort)
            new_mean += p * (a * mean + c)
            new_square += p * (a * a * square + 2 * a * c * mean + c * c)
        mean, square = new_mean, new_square
    out = []
    for t in range(tau):
        gains = [(1 - eta * h) ** t for h in H]
        a = sum(w * g for w, g in zip(q, gains, strict=True))
        c = sum(w * (1 - g) * b for w, g, b in zip(q, gains, B, strict=True)) - BEST
        out.append(a * a * square + 2 * a * c * mean + c * c)
    return max(out)


@pytest.mark.parametrize("panel", ["even", "uneven"])
def test_exact_limits_are_those_of_the_recursion(stored, panel):
    rows = stored.where(panel=panel, kind="exact").rows[:3]
    for row in rows:
        expected = limit(outcomes(panel), row.x / 4, 5)
        assert row.value == pytest.approx(expected, rel=1e-6)


def test_more_local_steps_too(stored):
    (row,) = [r for r in stored.where(panel="local steps", kind="exact") if r.x == 8]
    assert row.value == pytest.approx(limit(outcomes("uneven"), 1 / 112, 8), rel=1e-6)


def test_scaling_moves_no_iterate_but_two_of_the_terms(stored):
    for kind, factor in (("exact", 1), ("variance", 1), ("drift", 1e-6)):
        plain, scaled = (
            stored.where(panel=panel, kind=kind).column("value")
            for panel in ("uneven", "scaled")
        )
        np.testing.assert_allclose(scaled, np.array(plain) * factor, 1e-9)
    one, other = (
        stored.where(panel=p, kind="mismatch").column("value")[0]
        for p in ("uneven", "scaled")
    )
    assert other == pytest.approx(one * 1e-6)


def test_the_bound_fails_only_where_it_is_scaled(figure, stored):
    fails = {
        panel
        for panel in figure.PANELS
        for bound, exact in zip(
            stored.where(panel=panel, kind="sum"),
            stored.where(panel=panel, kind="exact"),
            strict=True,
        )
        if bound.value < exact.value
    }
    assert fails == {"scaled"}
    assert "(c) 0.14 to 454" in " ".join(figure.caption(stored).split())

"""Bias of FedAvg: closed form of the fixed point, plain loop, and printed bound."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from flverify.reference import fedavg
from flverify.report import figures, theorem_plots

H, B = (1, 2, 4), (-1, 2, 1)


@pytest.fixture(scope="module")
def figure():
    return figures.load_figure("fedavg_bias")


@pytest.fixture(scope="module")
def stored(figure):
    return figure.read(figures.stored_csv("fedavg_bias"))


def weights(chances):
    """E[I_i/|S|] given that somebody comes, by hand."""
    out, some = [Fraction(0)] * 3, Fraction(0)
    for come in product((0, 1), repeat=3):
        chance = Fraction(1)
        for here, p in zip(come, chances, strict=True):
            chance *= p if here else 1 - p
        some += chance if any(come) else 0
        for i in range(3):
            out[i] += chance * come[i] / max(1, sum(come))
    return [w / some for w in out]


def fixed(q, tau, eta):
    """|x - 1| with sum q_i (1 - (1 - eta h_i)^tau)(x - b_i) = 0; x* = 1."""
    moved = [w * (1 - (1 - eta * h) ** tau) for w, h in zip(q, H, strict=True)]
    point = sum(m * b for m, b in zip(moved, B, strict=True)) / sum(moved)
    return float(abs(point - 1))


def test_exact_biases_are_those_of_the_closed_form(stored):
    third = [Fraction(1, 3)] * 3
    uneven = weights([Fraction(9, 10), Fraction(1, 2), Fraction(1, 10)])
    for row in stored.where(kind="exact"):
        eta = Fraction(row.x) / 4
        expected = {
            "step size": lambda row=row, eta=eta: fixed(third, row.curve, eta),
            "local steps": lambda row=row: fixed(
                third, int(row.x) + 1, Fraction(1, 2**row.curve)
            ),
            "law": lambda row=row, eta=eta: fixed(uneven, row.curve, eta),
            "rarest": lambda row=row: fixed(
                weights([Fraction(9, 10), Fraction(1, 2), Fraction(row.x)]),
                row.curve,
                Fraction(1, 64),
            ),
        }[row.panel]()
        assert row.value == pytest.approx(expected, rel=1e-9)


def test_the_plain_loop_ends_there(stored):
    (row,) = [
        r
        for r in stored.where(panel="step size", kind="exact", curve=5)
        if r.x == 1 / 8
    ]
    models = fedavg.run(
        lambda i, x: [H[i] * (x[0] - B[i])],
        3,
        [0.0],
        [range(3)] * 400,
        step_size=1 / 32,
        local_steps=5,
    )
    assert row.value == pytest.approx(abs(models[-1][0] - 1), rel=1e-9)


def test_the_slopes_are_one_and_not_one_half(figure, stored):
    for curve in figure.CURVES["step size"]:
        for kind, expected in (("exact", 1.0), ("printed", 0.5)):
            rows = stored.where(panel="step size", kind=kind, curve=curve)
            found = theorem_plots.slope(rows.column("x"), rows.column("value"))
            assert found == pytest.approx(expected, abs=1e-3)
    assert "the power 1/2" in figure.caption(stored)


def test_limits_are_minimisers(stored):
    (far,) = set(stored.where(panel="local steps", kind="limit").column("value"))
    assert far == pytest.approx(1 / 3)  # the mean of the minimisers is 2/3
    q = weights([Fraction(9, 10), Fraction(1, 2), Fraction(1, 10)])
    own = [w * h for w, h in zip(q, H, strict=True)]
    best = sum(s * b for s, b in zip(own, B, strict=True)) / sum(own)
    (left,) = set(stored.where(panel="law", kind="limit").column("value"))
    assert left == pytest.approx(float(abs(best - 1)))
    small = stored.where(panel="law", kind="exact", curve=5).rows[-1]
    assert small.value == pytest.approx(left, rel=1e-3)


def test_the_printed_bound_of_one_local_step_is_its_second_term(stored):
    q = weights([Fraction(9, 10), Fraction(1, 2), Fraction(1, 10)])
    grid = np.linspace(-4, 5, 9001)
    inside = np.clip(grid, -1, 2)
    slopes = [h * (inside - b) + 4 * (grid - inside) for h, b in zip(H, B, strict=True)]
    gap = sum(float(w - Fraction(1, 3)) * s for w, s in zip(q, slopes, strict=True))
    expected = (10 * 4 * (gap**2).max()) ** 0.5
    rows = stored.where(panel="law", kind="printed", curve=1)
    assert rows.column("value") == pytest.approx([expected] * len(rows.rows), rel=1e-6)


def test_another_law_gives_other_biases(figure):
    eta = Fraction(1, 64)
    assert figure.bias(figure.uneven("1/10"), 5, eta) != figure.bias(
        figure.uneven("1/9"), 5, eta
    )

"""Spiral clients: level sets, the limit of many clients, and what the caption says."""

from __future__ import annotations

import cmath
import math
import re

import numpy as np
import pytest

from flverify.report import figures

MU, L, PITCH, SPEED = 1 / 3, 1.0, 1.0, 0.6


@pytest.fixture(scope="module")
def figure():
    return figures.load_figure("spiral")


@pytest.fixture(scope="module")
def stored(figure):
    return figure.read(figures.stored_csv("spiral"))


def wave(pitch):
    """Largest curvature of (|z|^2/2) sin(arg z - pitch log |z|), by its polar form."""
    largest = 0.0
    for s in np.linspace(0, 2 * math.pi, 20001):
        f, df, ddf = math.sin(s), math.cos(s), -math.sin(s)
        along = f - 1.5 * pitch * df + pitch**2 / 2 * ddf
        across = f - pitch / 2 * df + ddf / 2
        mixed = (df - pitch * ddf) / 2
        middle, half = (along + across) / 2, (along - across) / 2
        largest = max(largest, middle + math.hypot(half, mixed))
    return largest


LEVEL, SWING = (L + MU) / 2, (L - MU) / 2 / wave(PITCH)


def slope(z):
    """Gradient in the plane of complex numbers: z (F + (i - pitch) F'/2)."""
    phase = cmath.phase(z) - PITCH * math.log(abs(z))
    height, rise = LEVEL + SWING * math.sin(phase), SWING * math.cos(phase)
    return z * (height + (1j - PITCH) * rise / 2)


def heavy_ball(start, rounds):
    """Models under the mean round: half of what is pulled is new."""
    x, moved, out = start, 0j, []
    for _ in range(rounds):
        moved = moved / 2 - SPEED / 2 * slope(x)
        x += moved
        out.append(x)
    return out


def rates(table, kind):
    return {row.curve: row for row in table.where(panel="rates", kind=kind)}


def test_level_sets_are_level(stored):
    for curve in {row.curve for row in stored.where(panel="levels")}:
        heights = []
        for row in stored.where(panel="levels", curve=curve):
            z = complex(row.x, row.value)
            phase = cmath.phase(z) - PITCH * math.log(abs(z))
            heights.append(abs(z) ** 2 / 2 * (LEVEL + SWING * math.sin(phase)))
        assert heights == pytest.approx([math.exp(-curve / 2)] * len(heights), rel=1e-3)


def test_many_clients_move_like_the_heavy_ball(stored):
    models = heavy_ball(1 + 0j, 400)
    limit = (abs(models[-1]) / abs(models[99])) ** (2 / 300)
    found = rates(stored, "spiral")[512]
    assert found.value == pytest.approx(limit, rel=0.01)
    # all quadratics: roots of z^2 - (3/2 - SPEED h/2) z + 1/2
    worst = max(
        abs(np.roots([1, -(1.5 - SPEED * h / 2), 0.5])).max() ** 2
        for h in np.linspace(MU, L, 201)
    )
    assert worst < 0.9 * limit
    assert rates(stored, "quadratic")[512].value == pytest.approx(worst, rel=0.04)


def test_the_spiral_lies_between_quadratics_and_certificate(stored):
    spiral, certified = rates(stored, "spiral"), rates(stored, "certified")
    for n, row in rates(stored, "quadratic").items():
        assert row.value < certified[n].value
        assert spiral[n].high < certified[n].value
        assert (spiral[n].low > row.value) == (n >= 32)


def test_where_nothing_bends_there_is_nothing_to_see(figure, monkeypatch):
    # the negative: with equal constants the spiral is a quadratic
    monkeypatch.setattr(figure, "CONVEXITY", figure.SMOOTHNESS)
    figure.sampled.cache_clear()
    _, low, high = figure.rate(figure.sampled(32, False))
    figure.sampled.cache_clear()
    worst = rates(figure.read(figures.stored_csv("spiral")), "quadratic")[32].value
    assert low < worst < high


def test_the_interval_of_a_rate_has_the_rate(figure):
    draw = np.random.default_rng(0)
    rounds = np.arange(figure.ROUNDS + 1)
    errors = 0.5**rounds * np.exp(0.3 * draw.standard_normal((500, 1)))
    errors = errors * np.exp(0.1 * draw.standard_normal(errors.shape))
    value, low, high = figure.rate(errors)
    assert low < 0.5 < high
    assert low < value < high
    assert high - low < 1e-3


def test_the_caption_counts_what_the_table_has(figure, stored):
    told = figure.caption(stored)
    assert "for N = 32, 64, 128, 256, 512." in " ".join(told.split())
    assert "nothing is proved" in " ".join(told.split())


def test_a_share_that_is_said_to_be_surpassed_is_rounded_down(figure, stored):
    at = {kind: rates(stored, kind)[512] for kind in ("spiral", "quadratic")}
    top = rates(stored, "certified")[512].value
    share = (at["spiral"].low - at["quadratic"].value) / (top - at["quadratic"].value)
    told = " ".join(figure.caption(stored).split())
    said = int(re.search(r"(\d+)% of that gap or more", told)[1])
    assert said <= 100 * share < said + 1


def test_a_caption_where_nothing_is_sure_says_so(figure):
    rows = figure.read(figures.figures_folder() / "baseline" / "spiral_quick.csv")
    told = " ".join(figure.caption(rows).split())
    assert "the worst quadratics found, with its interval, for no N drawn." in told
    assert "nothing of that gap is sure." in told
    assert "%" not in told.partition("Found")[2]

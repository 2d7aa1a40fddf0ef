"""Figure 4: its curves against plain loops, its data, and what its panels say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flverify._core.errors import DomainError
from flverify.claims import figure4
from flverify.participation import SuccessiveSampling
from flverify.reference import fedau, fedavg, focus, proxskip, scaffold
from flverify.report import figures, style
from flverify.report.curves import CurveTable, read_csv

RELATIVE = 1e-9
ABSOLUTE = 1e-13  # exact curves in floats say no more: |x*|^2 cancels in them


@pytest.fixture(scope="module")
def fig4():
    return figures.load_figure("fig4")


@pytest.fixture(scope="module")
def quick(fig4):
    return fig4.table(quick=True)


@pytest.mark.slow
def test_a_changed_setting_is_noticed(fig4, quick, monkeypatch):
    row = fig4.ROWS["printed-small"]
    other = replace(row, step_sizes=dict(row.step_sizes, uniform="5e-4"))
    monkeypatch.setitem(fig4.ROWS, "printed-small", other)
    before = quick.find("printed-small", "uniform", "fedavg", "exact")
    after = fig4.table(quick=True).find("printed-small", "uniform", "fedavg", "exact")
    assert before.error[1] != pytest.approx(after.error[1], rel=1e-3)


LOOPS = {
    "focus": (focus.run, {}),
    "fedavg": (fedavg.run, {}),
    "fedau": (fedau.run, {}),
    "scaffold": (scaffold.run, {}),
    "proxskip": (proxskip.run, {"variant": "notebook"}),
}


@pytest.mark.parametrize("name", figure4.ALGORITHMS)
@pytest.mark.parametrize("row", ["printed-small", "notebook-small"])
def test_full_participation_is_the_plain_loop(fig4, quick, row, name):
    setting = fig4.ROWS[row]
    problem, (run, extra) = setting.problem(), LOOPS[name]
    if name == "fedau" and setting.notebook:
        extra = {"variant": "notebook", "cutoff": figure4.NOTEBOOK_CUTOFF}
    everybody = [range(problem.n_clients)] * 9
    models = run(
        lambda i, x: list(problem.gradient(i, np.array(x))),
        problem.n_clients,
        [0.0] * problem.dim,
        everybody,
        step_size=float(setting.step_sizes["full"]),
        local_steps=setting.local_steps,
        **extra,
    )
    gaps = np.array(models) - problem.minimiser()
    expected = (gaps**2).sum(axis=1) / (gaps[0] ** 2).sum()
    curve = quick.find(row, "full", name, "sampled")
    kept = [k for k, when in enumerate(curve.rounds) if when <= 9]
    assert len(kept) > 3
    shown = [curve.error[k] for k in kept]
    np.testing.assert_allclose(shown, expected[[curve.rounds[k] for k in kept]], 1e-8)


def test_exact_and_sampled_curves_agree_where_nothing_is_random(quick):
    for curve in quick.curves:
        if curve.panel != "full" or curve.kind != "exact":
            continue
        line = quick.find(curve.row, "full", curve.algorithm, "sampled")
        errors = dict(zip(line.rounds, line.error, strict=True))
        both = [
            (e, errors[r])
            for r, e in zip(curve.rounds, curve.error, strict=True)
            if r in errors
        ]
        assert len(both) >= 3
        left, right = zip(*both, strict=True)
        np.testing.assert_allclose(left, right, 1e-4, 1e-14)


@pytest.mark.slow
def test_only_fedau_has_no_exact_curve(quick):
    kinds = {(c.row, c.panel, c.algorithm) for c in quick.curves if c.kind == "exact"}
    places = {(c.row, c.panel, c.algorithm) for c in quick.curves}
    assert {place[2] for place in places - kinds} == {"fedau"}


def test_the_notebook_data_are_those_described():
    problem = figure4.notebook_problem()
    total = np.linalg.eigvalsh(problem.hessians.sum(axis=0))
    assert np.allclose(total[[0, -1]], (3981.934, 5472.192), atol=1e-2)
    optimum = problem.minimiser()
    own = [
        np.linalg.solve(h, b)
        for h, b in zip(problem.hessians, problem.linear, strict=True)
    ]
    apart = [np.linalg.norm(x - optimum) / np.linalg.norm(optimum) for x in own]
    assert min(apart) > 0.005
    assert max(apart) < 0.0075
    assert min(problem.client_smoothness()) > 489
    assert max(problem.client_smoothness()) < 526


def test_the_arbitrary_law_draws_by_the_listed_weights():
    law = figure4.participation("arbitrary")
    assert isinstance(law, SuccessiveSampling)
    assert abs(sum(law.inclusion()) - 4) < 1e-12
    assert abs(min(law.inclusion()) - 0.0526) < 1e-4
    with pytest.raises(DomainError, match="scenario must be one of"):
        figure4.participation("cyclic")


def test_another_table_gives_another_picture(fig4, quick, tmp_path):
    fewer = CurveTable(quick.curves[1:])
    figures.render(fig4, quick, tmp_path / "a.png", "png")
    figures.render(fig4, fewer, tmp_path / "b.png", "png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()


def test_the_stored_table_covers_the_figure(fig4):
    stored = read_csv(figures.stored_csv("fig4"))
    for row in ("printed", "notebook"):
        for scenario in figure4.SCENARIOS:
            for name in figure4.ALGORITHMS:
                curve = stored.find(row, scenario, name, "sampled")
                assert curve.rounds[0] == 0
                assert curve.error[0] == 1
                assert curve.rounds[-1] <= fig4.ROWS[row].rounds[scenario]


@pytest.mark.parametrize("row", ["printed", "notebook"])
def test_the_stored_table_is_what_the_engines_say(fig4, row, monkeypatch):
    stored, problem = read_csv(figures.stored_csv("fig4")), fig4.ROWS[row].problem()
    setting = fig4.ROWS[row]
    short = replace(setting, rounds=dict.fromkeys(figure4.SCENARIOS, 40))
    monkeypatch.setitem(fig4.ROWS, row, short)
    for scenario, name in (("full", "focus"), ("uniform", "fedavg")):
        law = figure4.participation(scenario)
        panel = fig4.Panel(row, scenario, problem, law)
        step = float(setting.step_sizes[scenario])
        five = figure4.algorithms(step, setting.local_steps, setting.notebook)
        found = fig4._sampled(panel, name, five[name])
        curve = stored.find(row, scenario, name, "sampled")
        known = dict(zip(curve.rounds, curve.error, strict=True))
        both = [
            (e, known[r])
            for r, e in zip(found.rounds, found.error, strict=True)
            if r in known
        ]
        assert len(both) > 3
        np.testing.assert_allclose(*zip(*both, strict=True), RELATIVE, ABSOLUTE)


def test_axes_say_what_they_show(fig4, quick):
    with style.house_style():
        figure = style.new_figure(4.0)
        fig4.draw(figure, quick)
    assert len(figure.axes) == 6
    assert all("round" in ax.get_xlabel() for ax in figure.axes)
    assert all(ax.get_yscale() == "log" for ax in figure.axes)
    titles = [ax.get_title() for ax in figure.axes]
    assert all(
        name in title for name, title in zip(figure4.SCENARIOS * 2, titles, strict=True)
    )
    lefts = [ax.get_ylabel() for ax in figure.axes[::3]]
    assert all("squared error" in label and r"\|x_r" in label for label in lefts)
    steps = [ax.texts[0].get_text() for ax in figure.axes]
    assert steps[0] == r"$\eta=4\times10^{-4}$"
    algorithms, kinds = figure.legends
    shown = [text.get_text() for text in algorithms.get_texts()]
    assert "ProxSkip (notebook form)" in shown
    assert {"FOCUS", "FedAvg", "FedAU", "SCAFFOLD"} <= set(shown)
    assert len(kinds.get_texts()) == 3

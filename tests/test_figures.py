"""Figures: their tables against stored ones, their pictures byte by byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from flverify._core.catalogue import member_names
from flverify._core.errors import (
    DomainError,
    FormatError,
    InputError,
    UnknownNameError,
)
from flverify.claims import figure4
from flverify.participation import SuccessiveSampling
from flverify.reference import fedau, fedavg, focus, proxskip, scaffold
from flverify.report import figures, style
from flverify.report.curves import CurveTable, read_csv, thinned

FOLDER = figures.figures_folder()
RELATIVE = 1e-9
ABSOLUTE = 1e-13  # exact curves in floats say no more: |x*|^2 cancels in them


@pytest.fixture(scope="module")
def fig4():
    return figures.load_figure("fig4")


@pytest.fixture(scope="module")
def quick(fig4):
    return fig4.table(quick=True)


def assert_same_table(found: CurveTable, stored: CurveTable) -> None:
    assert len(found.curves) == len(stored.curves)
    for one, other in zip(found.curves, stored.curves, strict=True):
        place = (one.row, one.panel, one.algorithm, one.kind)
        assert place == (other.row, other.panel, other.algorithm, other.kind)
        assert one.rounds == other.rounds, place
        for column in ("error", "lower", "upper"):
            left, right = getattr(one, column), getattr(other, column)
            np.testing.assert_allclose(left, right, RELATIVE, ABSOLUTE, err_msg=place)


def test_the_quick_table_is_the_stored_one(quick):
    assert_same_table(quick, read_csv(FOLDER / "baseline" / "fig4_quick.csv"))


@pytest.mark.parametrize("column", ["error", "lower", "upper"])
def test_a_changed_number_is_noticed(quick, column):
    curve = quick.curves[3]
    moved = (*getattr(curve, column)[:-1], getattr(curve, column)[-1] * (1 + 1e-7))
    planted = (*quick.curves[:3], replace(curve, **{column: moved}), *quick.curves[4:])
    with pytest.raises(AssertionError):
        assert_same_table(CurveTable(planted), quick)


def test_a_changed_setting_is_noticed(fig4, quick, monkeypatch):
    row = fig4.ROWS["printed-small"]
    other = replace(row, step_sizes=dict(row.step_sizes, uniform="5e-4"))
    monkeypatch.setitem(fig4.ROWS, "printed-small", other)
    with pytest.raises(AssertionError):
        assert_same_table(fig4.table(quick=True), quick)


def test_a_round_trip_through_the_file_keeps_the_table(quick, tmp_path):
    quick.write_csv(tmp_path / "t.csv")
    assert_same_table(read_csv(tmp_path / "t.csv"), quick)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


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


# ------------------------------------------------------------------------- drawing


@pytest.mark.parametrize("kind", style.FORMATS)
def test_the_same_table_gives_the_same_bytes(fig4, quick, tmp_path, kind, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a drawing computed something")

    for engine in ("simulate", "moments"):
        monkeypatch.setattr(fig4, engine, refuse)
    pictures = []
    for k, size in enumerate((10.0, 14.0)):  # a user's own settings change nothing
        with mpl.rc_context({"font.size": size, "axes.grid": False}):
            figures.render(fig4, quick, tmp_path / f"{k}.{kind}", kind)
        pictures.append((tmp_path / f"{k}.{kind}").read_bytes())
    assert pictures[0] == pictures[1]
    assert len(pictures[0]) > 10_000
    assert len(list(tmp_path.iterdir())) == 2  # nothing half-written stays


def test_another_table_gives_another_picture(fig4, quick, tmp_path):
    fewer = CurveTable(quick.curves[1:])
    figures.render(fig4, quick, tmp_path / "a.png", "png")
    figures.render(fig4, fewer, tmp_path / "b.png", "png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()


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
    (legend,) = figure.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert "ProxSkip (notebook form)" in shown
    assert {"FOCUS", "FedAvg", "FedAU", "SCAFFOLD"} <= set(shown)


def test_every_algorithm_has_a_look_of_its_own():
    looks = [style.look(name) for name in member_names("flverify.algorithms")]
    for part in ("label", "colour", "marker"):
        assert len({getattr(one, part) for one in looks}) == len(looks)
    with pytest.raises(DomainError, match="algorithm must be one of"):
        style.look("sgd")


def test_an_algorithm_without_a_look_gets_a_spare_one(monkeypatch):
    known = (*member_names("flverify.algorithms"), "newcomer", "other")
    monkeypatch.setattr(style, "member_names", lambda _: known)
    one, other = style.look("newcomer"), style.look("other")
    assert one.label == "newcomer"
    assert one.colour != other.colour
    assert one.line["linestyle"] != "-"


# ------------------------------------------------------------- finding and making


def test_figures_are_found():
    assert figures.find_figures()["fig4"] == FOLDER / "fig4.py"
    with pytest.raises(UnknownNameError, match=r"must be one of .*fig4.*'fig5'"):
        figures.load_figure("fig5")


def test_a_folder_of_figures_must_exist(monkeypatch, tmp_path):
    monkeypatch.setattr(figures, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    with pytest.raises(UnknownNameError, match="reinstall"):
        figures.figures_folder()


def test_a_file_that_is_no_figure_is_refused(monkeypatch, tmp_path):
    (tmp_path / "empty.py").write_text("NAME = 'empty'\n")
    monkeypatch.setattr(figures, "figures_folder", lambda: tmp_path)
    with pytest.raises(FormatError, match="it lacks TITLE, SIZE, table"):
        figures.load_figure("empty")


def test_make_writes_table_picture_and_caption(fig4, quick, tmp_path, monkeypatch):
    monkeypatch.setattr(fig4, "table", lambda quick_: quick if quick_ else None)
    monkeypatch.setattr(figures, "load_figure", lambda _: fig4)
    paths = figures.make("fig4", tmp_path / "new", "svg", quick=True)
    assert [path.name for path in paths] == ["fig4.csv", "fig4.svg", "fig4.txt"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(
        path.name for path in paths
    )
    assert_same_table(read_csv(paths[0]), quick)
    text = paths[2].read_text(encoding="utf-8")
    assert all(word in text for word in ("Verdicts", "focus.fig4.claims", "Scope"))


def test_make_draws_the_stored_table_without_computing(fig4, tmp_path, monkeypatch):
    def refuse(quick: bool) -> None:
        raise AssertionError(f"a table was computed (quick={quick})")

    monkeypatch.setattr(fig4, "table", refuse)
    monkeypatch.setattr(figures, "load_figure", lambda _: fig4)
    paths = figures.make("fig4", tmp_path, "png", stored=True)
    assert_same_table(read_csv(paths[0]), read_csv(figures.stored_csv("fig4")))


def test_make_refuses_bad_input(tmp_path):
    with pytest.raises(DomainError, match="format must be one of pdf, png, svg"):
        figures.make("fig4", tmp_path, "jpg")
    with pytest.raises(InputError, match="quick or stored"):
        figures.make("fig4", tmp_path, quick=True, stored=True)
    occupied = tmp_path / "file"
    occupied.write_text("")
    with pytest.raises(InputError, match="must be a folder"):
        figures.make("fig4", occupied, quick=True)
    with pytest.raises(DomainError, match="format must be one of"):
        style.save(style.new_figure(1.0), tmp_path / "x.gif", "gif")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n",
        "row,panel,algorithm,kind,round,error,lower,upper\nr,p,a,k,1,2,3\n",
        "row,panel,algorithm,kind,round,error,lower,upper\nr,p,a,k,one,2,3,4\n",
    ],
)
def test_a_damaged_table_is_refused(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"t\.csv must be a table with"):
        read_csv(path)


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(FormatError, match="must be a table with"):
        read_csv(tmp_path / "nothing.csv")


# ---------------------------------------------------------------- the stored table


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


def test_thinned_rounds_keep_both_ends():
    assert thinned(500, 61)[0] == 0
    assert thinned(500, 61)[-1] == 500
    assert len(thinned(500, 61)) <= 62
    assert thinned(0, 5) == (0,)
    assert isinstance(FOLDER, Path)

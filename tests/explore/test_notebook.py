"""The matplotlib version: what is drawn, and that it is the slices."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import flverify.explore
from flverify._core.errors import InputError
from flverify.explore import View, notebook, show, slices
from flverify.report.rows import RowTable
from flverify.report.style import look

VIEW = View("fedavg", 4, "bernoulli_spread", step_size="1/8", over="kappa")
VIEWS = [
    VIEW,
    View(),
    View("focus", 3, "full", step_size="1/400", local_steps=1, over="n"),
    View("gradient_descent", 2, "full", local_steps=1, over="tau"),
    View("scaffold", 16, "uniform", step_size="3", over="tau"),
    View("proxskip", 30, "all_or_nothing", local_steps=1, over="p"),
    View("focus", 1, "bernoulli_spread"),
]


def texts(figure):
    """Everything that is written, where it is."""
    return [
        text
        for ax in figure.axes
        for text in (*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label)
        if text.get_text() and text.get_visible()
    ]


def name(view):
    return f"{view.algorithm}-{view.law}-{view.over}"


def test_the_curves_are_the_tables():
    figure = show(VIEW)
    above, errors = figure.axes[0], figure.axes[1]
    rows = slices.boundary(VIEW)
    lines = {line.get_label(): line for line in above.lines}
    stable = lines["stable below (curvatures μ, L, some between)"]
    assert stable.get_xdata().tolist() == list(rows.column("value"))
    assert stable.get_ydata().tolist() == list(rows.column("boundary"))
    assert lines["printed cap"].get_ydata().tolist() == list(rows.column("printed_cap"))
    assert lines["this point"].get_ydata()[0] == 0.125
    (curve,) = errors.lines
    table = slices.errors(VIEW)
    assert curve.get_ydata().tolist() == list(table.column("exact"))
    assert curve.get_color() == look("fedavg").colour
    band = errors.collections[0].get_paths()[0].vertices
    assert set(table.column("upper")) <= set(band[:, 1].tolist())


def test_matrices_and_bars_are_the_tables():
    figure = show(VIEW)
    found = slices.mixing(VIEW)
    for ax, which in zip(figure.axes[3:6], ("Rbar", "Abar", "Wbar"), strict=True):
        values = ax.images[0].get_array()
        assert np.array_equal(values, np.array(found.matrix(which)))
        assert len(ax.texts) == 25
    left, right = figure.axes[6:8]
    heights = [[patch.get_height() for patch in ax.patches] for ax in (left, right)]
    assert heights[0] == [w.inclusion for w in found.weights]
    assert heights[1] == [w.averaging for w in found.weights]


def test_bars_of_many_clients_are_seen():
    view = View("fedavg", 100, "bernoulli_spread")
    left, right = show(view).axes[6:8]
    found = slices.mixing(view)
    for ax, name in ((left, "inclusion"), (right, "averaging")):
        values = [getattr(w, name) for w in found.weights]
        tops = [patch.get_y() + patch.get_height() for patch in ax.patches]
        assert tops == pytest.approx(values)
        assert ax.get_ylim() == (0, pytest.approx(max(values), rel=0.1))
    assert left.get_zorder() > right.get_zorder()  # caps of p over bars of q


def test_every_quantity_is_written_with_its_verdict():
    words = {text.get_text() for text in texts(show(VIEW))}
    for row in slices.point(VIEW):
        if not row.name.endswith("rounds"):
            assert {row.label, row.text, row.verdict} <= words


def test_the_slow_layers_are_drawn_when_asked_for():
    view = View("gradient_descent", 2, "full", local_steps=1, over="n", step_size="1/4")
    plain, full = show(view), show(view, certified=True)
    assert "certified up to" not in {line.get_label() for line in plain.axes[0].lines}
    (marks,) = (x for x in full.axes[0].lines if x.get_label() == "certified up to")
    wanted = [2 / n for n in marks.get_xdata()]
    assert marks.get_ydata().tolist() == pytest.approx(wanted, rel=1e-3)
    assert "CERTIFIED" in {text.get_text() for text in texts(full)}


def test_rounds_that_are_not_enough_are_written_as_never():
    words = texts_of(show(algorithm="fedavg", n_clients=8, step_size="1/50"))
    assert (words.count("never"), words.count("none")) == (1, 1)  # exact, printed
    assert not {"1733", "6905"} & {*words}


def test_a_map_that_is_certified_in_part_says_so():
    view = View("gradient_descent", 2, "full", local_steps=1, over="n", step_size="1/4")
    whole = slices.boundary(view)
    along = RowTable((slices.certified_row(view, Fraction(2)),))
    figure = notebook.draw(view, slices.certified_point(view), along)
    labels = {line.get_label() for line in figure.axes[0].lines}
    assert f"certified up to (1 of {len(whole.rows)})" in labels
    assert "CERTIFIED" in texts_of(figure)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("view", VIEWS, ids=name)
def test_nothing_is_cut_and_nothing_overlaps(view):
    figure = show(view)
    figure.draw_without_rendering()
    inside = figure.bbox.padded(1)
    numbers = [text for ax in figure.axes if ax.images for text in ax.texts]
    found = []
    for text in texts(figure):
        box = text.get_window_extent()
        assert inside.contains(box.x0, box.y0), text.get_text()
        assert inside.contains(box.x1, box.y1), text.get_text()
        if text in numbers:
            continue  # they stand close in a matrix
        found.append((text.get_text(), box.padded(-1)))
    for k, (one, box) in enumerate(found):
        for other, rest in found[:k]:
            assert not box.overlaps(rest), (one, other)
    for ax in figure.axes[:2]:
        legend = ax.get_legend()
        if legend is not None:
            box = legend.get_window_extent()
            for text, rest in found:
                assert not box.overlaps(rest), text


@pytest.mark.parametrize("view", VIEWS, ids=name)
def test_axes_say_what_they_show(view):
    *axes, right = show(view).axes
    assert right.get_ylabel() == "$q_i$"  # the second axis of the bars
    for ax in axes:
        if ax.axison:
            assert ax.get_xlabel()
            assert ax.get_title()


def test_a_map_that_is_refused_says_why():
    view = View("gradient_descent", 2, "full", local_steps=1, over="tau")
    words = " ".join(text.get_text() for text in texts(show(view)))
    assert "choose another axis" in words.replace("\n", " ")


def test_fields_may_be_given_by_name():
    assert texts_of(show(VIEW, step_size="1/9")) == texts_of(
        show(replace(VIEW, step_size="1/9"))
    )
    assert texts_of(show(VIEW)) != texts_of(show(VIEW, step_size="1/9"))


def texts_of(figure):
    return [text.get_text() for text in texts(figure)]


@pytest.mark.parametrize(
    "fields", [{"colour": "red"}, {"step_size": "0"}, {"law": "uniform", "cohort": 40}]
)
def test_a_refused_view_is_not_drawn(fields):
    with pytest.raises(InputError, match=r"; .*\.$"):
        show(**fields)


@pytest.mark.slow
def test_a_notebook_shows_it_without_a_window_system(tmp_path):
    figure = show(VIEW)
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")
    for kind in ("pdf", "svg"):
        figure.savefig(tmp_path / f"view.{kind}")


def test_drawing_leaves_the_users_settings_alone():
    before = dict(mpl.rcParams)
    show(VIEW)
    assert dict(mpl.rcParams) == before


def test_names_resolve_on_use_and_load_no_server():
    assert flverify.explore.show is notebook.show
    assert "show" in dir(flverify.explore)
    with pytest.raises(AttributeError, match="nothing"):
        _ = flverify.explore.nothing
    script = (
        "import sys; from flverify.explore import show; show(n_clients=2);"
        "heavy = {'panel', 'bokeh', 'matplotlib.pyplot'} & {*sys.modules};"
        "sys.exit(bool(heavy))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

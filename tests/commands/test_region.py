"""`flverify region`: files, interruptions, and one sentence for every bad input."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from flverify._core.held import held
from flverify.algorithms import Focus
from flverify.certify.region import Cell, Region, Row, RowFound, _workers
from flverify.certify.region.row import find_row
from flverify.participation import Bernoulli
from flverify.report.region_figure import draw

ENDS = ("--mu", "1/10", "--smoothness", "1")
GRID = ("--step-sizes", "1/10,1/2,2")
DESCENT = ("region", "gradient_descent", "--over", "kappa", "--smoothness", "1", *GRID)
FAST = (*DESCENT, "--n-clients", "2", "--values", "2,4,8")
FOCUS = ("region", "focus", *ENDS, *GRID)
HALVES = (*FOCUS, "--over", "p", "--values", "1/2,1", "--n-clients", "2")


def test_the_table_holds_the_numbers_of_the_json_as_floats(run, tmp_path):
    path = tmp_path / "region.csv"
    shown = run(*HALVES, "--out", path, "--json").json
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert len(lines) == 2 * 3
    cells = [(row, cell) for row in shown["rows"] for cell in row["cells"]]
    for line, (row, cell) in zip(lines, cells, strict=True):
        assert line["algorithm"] == "focus"
        assert line["law"] in {
            "independent clients: 2 with probability 1/2",
            "full participation of 2 clients",
        }
        assert line["status"] == cell["status"]
        for name, holder in (
            ("value", row),
            ("certified_boundary", row),
            ("stability_boundary", row),
            ("step_size", cell),
            ("quadratic_rate", cell),
        ):
            assert line[name] == repr(float(Fraction(holder[name])))
        rate = cell["certified_rate"]
        assert line["certified_rate"] == ((rate and str(float(Fraction(rate)))) or "")
        assert (line["status"] == "certified") == (rate is not None)
    assert [row["stability_boundary"] for row in shown["rows"]] == ["3/5", "1"]
    assert shown["rows"][0]["printed_cap"] == "1/180"
    assert lines[0]["printed_cap"] == repr(1 / 180)
    assert shown["files"] == [str(path)]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "values", "clients", "steps"),
    [
        (("tau", "--values", "1:3:3", "--n-clients", 2), [1, 2, 3], [2] * 3, [1, 2, 3]),
        (("n", "--values", "1:9:3"), [1, 3, 9], [1, 3, 9], [1] * 3),
        (("p", "--values", "1/2:1:2", "--n-clients", 2), ["1/2", 1], [2] * 2, [1] * 2),
    ],
    ids=["tau", "n", "p"],
)
def test_the_other_parameter_is_the_one_named(
    run, tmp_path, options, values, clients, steps
):
    path = tmp_path / "region.csv"
    given = ("region", "focus", *ENDS, "--step-sizes", "1/100", "--over", *options)
    run(*given, "--out", path)
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert [Fraction(line["value"]) for line in lines] == [Fraction(v) for v in values]
    assert [int(line["n_clients"]) for line in lines] == clients
    assert [int(line["local_steps"]) for line in lines] == steps
    assert all(line["status"] == "certified" for line in lines)


@pytest.mark.slow
def test_the_probability_of_proxskip_is_that_of_its_coin(run):
    asked = ("region", "proxskip", "--over", "p", *ENDS, "--n-clients", "2")
    grid = ("--values", "1/10,1/2", "--step-sizes", "1/2,1")
    found = run(*asked, *grid, "--json").json
    assert found["setting"]["law"] == "allornothing:p"
    for row in found["rows"]:
        for cell in row["cells"]:
            p, step = Fraction(row["value"]), Fraction(cell["step_size"])
            rate = Fraction(cell["certified_rate"])
            # Mishchenko et al. (2022), Theorem 3.6, with mu = 1/10 and L = 1
            assert rate < 1 - min(step / 10, p**2)
            law = ("--law", f"allornothing:{p}", "--step-size", step)
            alone = run("certify", "proxskip", *ENDS, *law, *asked[-2:], "--json").json
            assert abs(rate - Fraction(alone["rate"])) < Fraction(2, 10**5)
    # the p of the shifts may be another
    own = run(*asked, *grid, "--set", "probability=1/20", "--json").json
    assert own["setting"]["law"] == "allornothing:p"
    assert own["rows"] != found["rows"]
    # which of the two it was is told, unless it differs from row to row
    assert own["setting"]["settings"] == {"probability": "1/20", "variant": "paper"}
    assert found["setting"]["settings"] == {"variant": "paper"}
    text = run(*asked, *grid, "--set", "probability=1/20").stdout
    assert "proxskip with probability = 1/20, variant = paper\n" in text
    # in the notebook's variant clients are sampled
    other = run(*asked, *grid, "--set", "variant=notebook", "--json").json
    assert other["setting"]["law"] == "bernoulli:p"


@pytest.mark.slow
def test_kappa_moves_mu_with_smoothness_fixed(run, tmp_path):
    path = tmp_path / "region.csv"
    run(*FAST, "--out", path)
    lines = list(csv.DictReader(path.read_text().splitlines()))[::3]
    assert [line["strong_convexity"] for line in lines] == ["0.5", "0.25", "0.125"]
    assert {line["smoothness"] for line in lines} == {"1.0"}


@pytest.mark.slow
def test_the_share_of_the_stable_step_sizes_that_is_certified(run):
    rows, text = run(*HALVES, "--json").json["rows"], run(*HALVES).stdout
    assert len(rows) == 2
    for row in rows:
        certified, stable = row["certified_boundary"], row["stability_boundary"]
        share = Fraction(certified) / Fraction(stable)
        assert Fraction(row["certified_share"]) == share
        assert Fraction(9, 10) < share < 1
        shown = Fraction(math.floor(1000 * share), 1000)  # never more than it is
        assert f"{float(shown):.1%}" in text


@pytest.mark.slow
def test_the_report_says_what_was_asked_and_found(run):
    text = " ".join(run(*HALVES).stdout.split())
    assert "bernoulli:p" in text
    assert "unstable from" in text
    assert "says nothing about the method" in text
    assert "contraction" in run("region", "fedavg", *HALVES[2:]).stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_the_figure_repeats_and_needs_no_table(run, tmp_path, kind):
    paths = [tmp_path / f"{name}.{kind}" for name in ("one", "two")]
    for path in paths:
        assert run(*FAST, "--figure", path).code == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert len(paths[0].read_bytes()) > 4000
    assert sorted(tmp_path.iterdir()) == paths


def cell(step, status, rate=None):
    return Cell(Fraction(step), status, rate and Fraction(rate), "", Fraction(1, 2))


def drawn(over="p"):
    """A region of two rows made by hand, drawn."""
    rows = tuple(
        Row(Fraction(v), Focus(1), Bernoulli([p] * 2), Fraction(1, 10), Fraction(1))
        for v, p in ((1, "1/2"), (2, 1))
    )
    first = (cell("1/10", "certified", "9/10"), cell(1, "unstable"))
    second = (cell("1/10", "certified", "1/2"), cell(1, "not certified"))
    ends = Fraction(1, 20), Fraction(1, 2), Fraction(3, 4)
    found = (
        RowFound(Fraction(1), first, *ends, contraction=False),
        RowFound(Fraction(2), second, None, *ends[1:], contraction=False),
    )
    figure = Figure()
    steps = (Fraction(1, 10), Fraction(1))
    draw(figure, Region(over, steps, rows, found), "some law")
    return figure


def test_the_figure_shows_rates_in_colour_and_ends_as_lines():
    figure = drawn()
    axes, bar = figure.axes
    lines = {line.get_color(): line.get_xydata().tolist() for line in axes.lines}
    assert lines["#000000"] == [[0.75, 1], [0.75, 2]]
    assert lines["#E69F00"] == [[0.5, 1], [0.5, 2]]
    cap = lines["#D55E00"]
    assert cap[0] == [0.05, 1]
    assert math.isnan(cap[1][0])
    rates = axes.collections[0].get_array()
    assert rates.mask.tolist() == [[False, True], [False, True]]
    assert rates[:, 0].tolist() == pytest.approx([1, math.log10(2)])
    assert axes.get_xlim()[0] < 0.05
    assert "best certified rate" in bar.get_ylabel()
    assert bar.get_yticklabels()[-1].get_text() == "0.9"


@pytest.mark.parametrize(
    ("missing", "said"),
    [((6, 8), "1 - 1e-07"), ((9, 20), "1 - 3.2e-15")],  # 1 - 1e-20 is 1 in floats
)
def test_the_colour_bar_tells_rates_next_to_1_from_1(missing, said):
    rates = [1 - Fraction(1, 10**k) for k in missing]
    first, last = (
        Cell(Fraction(k, 4), "certified", rate, "", Fraction(1, 2))
        for k, rate in zip((1, 2), rates, strict=True)
    )
    figure = hand_made("1/2", "3/4", first, last)
    axes, bar = figure.axes
    shown = axes.collections[0].get_array().ravel().tolist()
    assert shown == pytest.approx(missing)
    labels = [label.get_text() for label in bar.get_yticklabels()]
    assert (labels[0], labels[1]) == (f"1 - 1e-{missing[0]:02}", said)


def stretches(figure):
    """What is drawn where no rate is: colour, left, low, right, high."""
    return {
        (
            to_hex(patches.get_facecolor()[0]),
            *(round(end, 6) for end in path.get_extents().extents.tolist()),
        )
        for patches in figure.axes[0].collections[1:]
        for path in patches.get_paths()
    }


def hand_made(certified, stable, *cells, over="n", cap=None, contraction=False):
    """A region of one row, at the step sizes of its cells."""
    law = Bernoulli(["1/2"] * 2)
    row = Row(Fraction(2), Focus(1), law, Fraction(1, 10), Fraction(1))
    ends = (None if v is None else Fraction(v) for v in (cap, certified, stable))
    found = RowFound(Fraction(2), cells, *ends, contraction=contraction)
    steps = tuple(one.step_size for one in cells)
    figure = Figure()
    draw(figure, Region(over, steps, (row,), (found,)), "some law")
    return figure


@pytest.mark.parametrize("largest", [1, 10**5, 123456])
def test_no_label_is_cut_off(largest):
    values = [Fraction(v) for v in (2, 11487, largest)]
    law = Bernoulli(["1/2"] * 2)
    rows = tuple(Row(v, Focus(1), law, 1 / v, Fraction(1)) for v in values)
    cells = tuple(cell(f"1/{10**k}", "certified", 1 - 10.0**-k) for k in (5, 3, 1))
    ends = Fraction(1, 20), Fraction(1, 2), Fraction(3, 4)
    found = tuple(RowFound(v, cells, *ends, contraction=False) for v in values)
    figure = Figure(figsize=(3.35, 3.3), dpi=200)
    steps = tuple(one.step_size for one in cells)
    draw(figure, Region("kappa", steps, rows, found), "some law")
    figure.canvas.draw()
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_the_unstable_region_begins_at_the_stability_boundary():
    # the cell of 1 begins at 1/2; it is certified up to 3/5 and stable up to 3/4
    figure = hand_made(
        "3/5", "3/4", cell("1/4", "certified", "9/10"), cell(1, "unstable")
    )
    found = {(one[0], one[1], one[3]) for one in stretches(figure)}
    assert found == {
        ("#ffffff", 0.5, 0.6),
        ("#dbdbdb", 0.6, 0.75),
        ("#949494", 0.75, 2.0),
    }


def test_an_unstable_region_covers_the_end_of_a_certified_cell():
    # the cell of 1/4 ends at 1/2
    figure = hand_made(
        "1/3", "2/5", cell("1/4", "certified", "9/10"), cell(1, "unstable")
    )
    found = {(one[0], one[1], one[3]) for one in stretches(figure)}
    assert found == {
        ("#dbdbdb", 0.333333, 0.4),
        ("#949494", 0.4, 2.0),
    }


def test_an_island_of_stability_is_not_covered():
    figure = hand_made(
        "1/3",
        "2/5",
        cell("1/4", "certified", "9/10"),
        cell("1/2", "unstable"),
        cell(1, "not certified"),
    )
    found = {one[1]: one[0] for one in stretches(figure)}
    last = max(found)
    assert (last, found[last]) == (pytest.approx(0.5**0.5), "#dbdbdb")


def test_the_unstable_region_follows_a_slanted_boundary():
    # 1/5 at p = 1 and 4/5 at p = 2, hence 2/5 at the edge between the rows
    law = Bernoulli(["1/2"] * 2)
    rows = tuple(
        Row(Fraction(v), Focus(1), law, Fraction(1, 10), Fraction(1)) for v in (1, 2)
    )
    cells = cell("1/10", "certified", "9/10"), cell(1, "unstable")
    found = tuple(
        RowFound(Fraction(v), cells, None, Fraction(1, 10), Fraction(s), False)
        for v, s in ((1, "1/5"), (2, "4/5"))
    )
    figure = Figure()
    draw(figure, Region("p", (Fraction(1, 10), Fraction(1)), rows, found), "some law")
    unstable = {one[2]: one[1] for one in stretches(figure) if one[0] == "#949494"}
    edge = min(unstable, key=lambda low: abs(low - 1.5))
    assert unstable[edge] == pytest.approx(0.4, rel=0.05)
    assert unstable[min(unstable)] == pytest.approx(0.2)
    assert max(unstable.values()) == pytest.approx(0.8)


def test_the_figure_says_that_a_rate_is_to_a_neighbourhood_only():
    cells = cell("1/4", "certified", "9/10"), cell(1, "unstable")
    biased = hand_made("3/5", "3/4", *cells, contraction=True)
    assert "contraction to a neighbourhood only" in biased.get_suptitle()
    plain = hand_made("3/5", "3/4", *cells)
    assert "neighbourhood" not in plain.get_suptitle()


def test_the_condition_number_has_its_symbol():
    figure = hand_made("1/2", "3/4", cell("1/4", "certified", "9/10"), over="kappa")
    label = figure.axes[0].get_ylabel()
    assert label == r"condition number $\kappa = L/\mu$"


def test_the_figure_is_labelled_with_words_and_symbols():
    figure = drawn()
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == [
        "stability on quadratics",
        "certified boundary",
        "printed cap",
        "no certificate found",
        "a quadratic is unstable",
        "rate not computed",
    ]
    axes = figure.axes[0]
    assert axes.get_xlabel() == r"step size $\eta$"
    assert axes.get_ylabel() == "inclusion probability $p$"
    title = figure.get_suptitle()
    for word in ("FOCUS", r"$\tau$ = 1", "$N$ = 2", "some law", r"$\kappa$ = 10"):
        assert word in title
    assert "tau" not in drawn("tau").get_suptitle()


def in_the_legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_white_beside_the_grid_is_in_the_legend():
    # the first cell begins at 1/8, and the axis at the printed cap
    cells = cell("1/4", "certified", "9/10"), cell(1, "unstable")
    inside = hand_made("1/2", "1/2", *cells, cap="1/5")
    assert "beyond the grid" not in in_the_legend(inside)
    beside = hand_made("1/2", "1/2", *cells, cap="1/50")
    assert "beyond the grid" in in_the_legend(beside)
    assert "rate not computed" not in in_the_legend(beside)


def test_white_between_step_sizes_is_hatched_and_has_a_word_of_its_own():
    # the cell of 1 begins at 1/2, is unstable at 1, and certified up to 3/5
    cells = cell("1/4", "certified", "9/10"), cell(1, "unstable")
    figure = hand_made("3/5", "3/4", *cells)
    assert "rate not computed" in in_the_legend(figure)
    assert "beyond the grid" not in in_the_legend(figure)
    hatched = [one for one in figure.axes[0].collections if one.get_hatch()]
    assert [to_hex(one.get_facecolor()[0]) for one in hatched] == ["#ffffff"]
    patch = figure.legends[0].get_patches()[-1]
    assert patch.get_hatch() == hatched[0].get_hatch()


def test_a_row_of_whole_numbers_is_a_band():
    axes = drawn("n").axes[0]
    line = axes.lines[0].get_xydata()
    middle = math.sqrt(2)
    assert line[:, 1] == pytest.approx([2**-0.5, middle, middle, 2 * 2**0.5])


@pytest.fixture
def heeding():
    """Interrupts that count, where what runs in the background ignores them."""
    heeded = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, heeded[number]) for number in heeded}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("heeding")
@pytest.mark.parametrize(
    ("name", "code", "word"),
    [
        ("SIGINT", 130, "interrupted"),
        ("SIGTERM", 143, "terminated"),
        ("SIGHUP", 129, "terminated"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_run_leaves_rows_and_no_table(
    run, tmp_path, monkeypatch, name, code, word
):
    left, number = [2], getattr(signal, name)

    def interrupted(row, step_sizes, at):
        left[0] -= 1
        if left[0] < 0:
            signal.raise_signal(number)
        return find_row(row, step_sizes)

    path, rows = tmp_path / "region.csv", tmp_path / "region.csv.rows"
    picture = tmp_path / "region.png"
    files = ("--out", path, "--figure", picture)
    with monkeypatch.context() as patch:
        patch.setattr(_workers, "find_row", interrupted)
        ran = run(*FAST, *files)
    assert (ran.code, ran.stdout) == (code, "")
    assert ran.stderr == (
        f"error: {word}; finished rows are in {rows}; give the same options and "
        "--resume to go on.\n"
    )
    assert list(tmp_path.iterdir()) == [rows]
    assert run(*FAST, *files).code == 2  # it is not written over
    assert run(*FAST, *files, "--resume").code == 0
    assert sorted(tmp_path.iterdir()) == [path, picture]
    whole = tmp_path / "whole.csv"
    run(*FAST, "--out", whole, "--workers", 2)
    assert path.read_bytes() == whole.read_bytes()


def test_an_interrupt_of_the_drawing_says_how_to_go_on(run, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("flverify.commands.region.render", interrupted)
    path, picture = tmp_path / "region.csv", tmp_path / "region.png"
    ran = run(*FAST, "--out", path, "--figure", picture)
    assert (ran.code, ran.stdout) == (130, "")
    assert f"finished rows are in {path}.rows; give the same options" in ran.stderr


@pytest.mark.parametrize("out", [True, False])
def test_an_interrupt_before_any_row_promises_nothing(run, tmp_path, monkeypatch, out):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_workers, "find_row", interrupted)
    ran = run(*FAST, *(("--out", tmp_path / "region.csv") if out else ()))
    assert (ran.code, ran.stderr) == (130, "error: interrupted.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_the_picture_is_not_written_over_the_table(fails, tmp_path, link):
    table, picture = tmp_path / "region.csv", tmp_path / "region.png"
    table.write_text("before")
    getattr(picture, link)(table)
    said = fails(*FAST, "--out", table, "--figure", picture)
    assert "--out and --figure must name different files" in said
    assert table.read_text() == "before"


@pytest.mark.parametrize("flag", ["--out", "--figure"])
def test_nothing_is_written_to_a_link_that_leads_back_to_itself(fails, tmp_path, flag):
    link = tmp_path / "loop.csv"
    link.symlink_to(link)
    assert f"{link}" in fails(*FAST, flag, link).replace("\n", " ")
    assert [*tmp_path.iterdir()] == [link]


@pytest.mark.parametrize(
    ("flag", "name"), [("--out", "law.json"), ("--figure", "law.png")]
)
def test_the_file_of_a_law_is_not_written_over(fails, write, flag, name):
    path = write(name, {"law": "full", "n_clients": 2})
    before = path.read_text()
    said = fails(*FAST, "--participation", f"file:{path}", flag, path)
    assert f"{flag} must name another file than --participation" in said
    assert path.read_text() == before


@pytest.mark.slow
def test_a_killed_run_taken_up_is_the_uninterrupted_one(run, tmp_path):
    path, whole = tmp_path / "region.csv", tmp_path / "whole.csv"
    rows = tmp_path / "region.csv.rows"
    slow = (*DESCENT, "--n-clients", "2", "--values", "2:300:8")
    script = "import sys; from flverify.cli import main; main(sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", script, *slow, "--out", str(path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None and not _done(rows):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert run(*slow, "--out", path, "--resume").code == 0
    assert run(*slow, "--out", whole).code == 0
    assert path.read_bytes() == whole.read_bytes()
    assert sorted(tmp_path.iterdir()) == [path, whole]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["region.csv", "region.png"])
@pytest.mark.parametrize("more", [(), ("--resume",)])
def test_a_file_that_another_run_writes_is_refused(fails, run, tmp_path, name, more):
    path = tmp_path / name
    flag = "--out" if name.endswith("csv") else "--figure"
    beside = ("--out", tmp_path / "other.csv") if flag == "--figure" and more else ()
    with held(path):
        said = fails(*FAST, flag, path, *beside, *more)
        assert f"another run is writing {path}; wait until it ends" in said
        assert not path.exists()
        assert run(*FAST, "--out", tmp_path / "third.csv").code == 0
    assert run(*FAST, flag, path).code == 0
    left = {one.name for one in tmp_path.iterdir()}
    assert left == {name, "third.csv"}


@pytest.mark.slow
def test_files_are_held_until_they_are_written(run, tmp_path, monkeypatch):
    table, picture = tmp_path / "region.csv", tmp_path / "region.png"
    seen = []

    def watched(path, text):
        seen.extend(sorted(one.name for one in tmp_path.iterdir()))
        path.write_text(text)

    monkeypatch.setattr("flverify.commands.region.write_whole", watched)
    assert run(*FAST, "--out", table, "--figure", picture).code == 0
    assert seen == ["region.csv.held", "region.csv.rows", "region.png.held"]
    assert sorted(tmp_path.iterdir()) == [table, picture]


SLOW = (
    *("region", "scaffold", *ENDS, "--step-sizes", "1/20", "--over", "tau"),
    *("--values", "7,8", "--participation", "bernoulli:1,1/3"),
)
SCRIPT = """
import signal, sys
from flverify.cli import main
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_terminated_run_leaves_nothing(tmp_path, workers):
    path = tmp_path / "region.csv"
    command = [sys.executable, "-c", SCRIPT, *SLOW, "--out", str(path)]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--workers", workers], **piped) as running:
        while not list(tmp_path.iterdir()) and running.poll() is None:
            time.sleep(0.02)
        time.sleep(0.5)
        running.send_signal(signal.SIGTERM)
        said = running.communicate()
    assert (running.returncode, *said) == (128 + signal.SIGTERM, b"", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_a_terminal_shows_the_cells_in_work_and_an_interrupt_comes_through(tmp_path):
    path = tmp_path / "region.csv"
    ours, theirs = os.openpty()
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        *SLOW,
        "--out",
        str(path),
        "--workers",
        "2",
    ]
    shown, sent = b"", 0.0
    with subprocess.Popen(command, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        with suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 4096):
                shown += part
                if not sent and b"tau = 7, st" in shown and b"tau = 8, st" in shown:
                    sent = time.monotonic()
                    running.send_signal(signal.SIGINT)
    os.close(ours)
    assert time.monotonic() - sent < 15  # the cells take minutes
    assert running.returncode == 130
    assert b"0/2" in shown
    assert b"0:00:0" in shown
    assert shown.rstrip().endswith(b"error: interrupted.")
    assert list(tmp_path.iterdir()) == []


def _done(rows: Path) -> int:
    return rows.read_text().count('"done"') if rows.exists() else 0


@pytest.mark.slow
def test_rows_of_another_setting_are_refused_and_kept(fails, tmp_path, run):
    path, rows = tmp_path / "region.csv", tmp_path / "region.csv.rows"
    other = (*FAST[:-1], "2,5", "--out", path, "--resume")
    rows.write_text(json.dumps({"format": "flverify/region-rows"}) + "\n")
    before = rows.read_text()
    assert "taken up with the setting" in fails(*other)
    assert rows.read_text() == before
    for strange in ("no json\n", '{"half'):
        rows.write_text(strange)
        assert "as it was written" in fails(*other)
        assert list(tmp_path.iterdir()) == [rows]
    rows.write_text('{"form')
    assert run(*other).code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["region"], "Missing argument"),
        (["region", "foo", *FAST[2:]], "a certificate must be for one of"),
        (
            ["region", "sag", *FAST[2:]],
            "one of fedavg, feddyn, fedprox, fedvarp, focus",
        ),
        (["region", "agnostic_fedavg", *FAST[2:]], "must be for one of fedavg, fe"),
        ([*HALVES, "--mu", "1"], "--mu must be below --smoothness; got 1 and 1"),
        ([*FAST, "--law", "allornothing:0"], "positive probability"),
        ([*FAST, "--over", "x"], "is not one of"),
        ([*FAST, "--mu", "1/2"], "--mu must be left out"),
        ([*HALVES, "--law", "full"], "--participation must be left out"),
        (
            [*FOCUS, "--over", "n", "--values", "2", "--n-clients", 2],
            "--n-clients must",
        ),
        ([*FOCUS, "--over", "tau", "--values", "2", "--local-steps", 2], "--local-st"),
        ([*FOCUS, "--over", "tau", "--values", "1"], "number of clients must be known"),
        ([*HALVES[:6], *HALVES[6:], "--values", "0,1"], "positive rationals"),
        ([*HALVES, "--values", "1/2,3/2"], "must lie in [0, 1]"),
        ([*FOCUS, "--over", "tau", "--n-clients", 2, "--values", "9"], "at most 8"),
        ([*FOCUS, "--over", "tau", "--n-clients", 2, "--values", "3/2"], "got 3/2; p"),
        ([*FOCUS, "--over", "n", "--values", "2,2"], "increasing order"),
        ([*DESCENT, "--n-clients", 2, "--values", "1,2"], "must be above 1; got 1"),
        (
            [
                "region",
                "gradient_descent",
                *FOCUS[2:],
                "--over",
                "tau",
                "--values",
                "2",
                "--n-clients",
                2,
            ],
            "local_steps of gradient descent must be 1; got 2",
        ),
        (
            [
                "region",
                "focus",
                *GRID,
                "--smoothness",
                "1",
                "--over",
                "p",
                "--values",
                "1/2",
                "--n-clients",
                2,
            ],
            "--mu must be given",
        ),
        ([*HALVES, "--law", "successive:1:1,2"], "--participation must be left out"),
        ([*FAST, "--law", "successive:1:1,2"], "full, bernoulli, uniform"),
        ([*DESCENT, "--n-clients", 2, "--values", "0,2"], "kappa must be positive"),
        ([*FAST, "--step-sizes", "1:2"], "LOW:HIGH:COUNT"),
        ([*FAST, "--step-sizes", "2:1:3"], "to a larger one"),
        ([*FAST, "--step-sizes", "0:1:5"], "the LOW of --step-sizes must be positive"),
        ([*FAST, "--step-sizes", "1:2:1"], "--step-sizes: COUNT must be an integer at"),
        ([*FAST, "--step-sizes", "1:2:x"], "--step-sizes: a number must be"),
        ([*FAST, "--step-sizes", "1:2:100000000"], "at most 10000 values"),
        ([*FAST, "--step-sizes", ",".join(map(str, range(1, 10002)))], "at most 10000"),
        (
            [*FAST, "--step-sizes", "1:2:10000", "--values", "2:3:101"],
            "at most 1000000 cells",
        ),
        ([*FAST, "--step-sizes", "0,1"], "positive rationals"),
        ([*FAST, "--step-sizes", "1,1e400"], "step sizes of a region must lie within"),
        ([*FAST, "--step-sizes", "1e300"], "choose smaller step sizes or a smaller"),
        ([*FAST, "--smoothness", "1e400"], "the smoothness of a region must lie"),
        ([*FAST, "--values", "2,1e400"], "values of a region must lie within the ran"),
        ([*FAST, "--step-sizes", "nan"], "--step-sizes: a number"),
        ([*FAST, "--spacing", "cubic"], "is not one of"),
        ([*FAST, "--workers", 0], "not in the range"),
        ([*FAST, "--resume"], "--resume must come with --out"),
        ([*FAST, "--figure", "region.bmp"], "--figure must end in"),
        ([*FAST, "--figure", "missing/region.pdf"], "folder"),
        ([*FAST, "--out", "missing/region.csv"], "folder"),
        ([*FAST, "--out", "."], "must name a file"),
        ([*FAST, "--out", "x.PDF"], "--out must not end like a picture"),
        ([*FAST, "--out", "x.png", "--figure", "x.png"], "--out must not end like"),
        ([*FAST, "--out", "/dev/stdout"], "--out must name a regular file"),
        ([*FAST, "--set", "foo=1"], "--set must name a setting"),
        ([*FAST, "--set", "step_size=1"], "and --step-sizes; leave one out"),
        ([*HALVES, "--local-steps", 2, "--set", "local_steps=1"], "and --local-steps"),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_no_file(
    fails, tmp_path, monkeypatch, arguments, says
):
    monkeypatch.chdir(tmp_path)
    out = () if "--out" in arguments or "--resume" in arguments else ("--out", "x.csv")
    assert says in fails(*arguments, *(out if len(arguments) > 1 else ()))
    assert list(tmp_path.iterdir()) == []

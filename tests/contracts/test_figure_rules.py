"""Every rule for figures catches a planted offence, and only that."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from flverify.mixing import pull_matrix
from flverify.report import figures
from flverify.report.style import COLUMN, look, number_logarithms
from tests.contracts import figure_rules as rules
from tests.contracts import test_figures as contract
from tests.figures import baseline


def good(figure: Figure) -> Any:
    ax = figure.subplots()
    ax.plot([0, 1], [1, 2], color=look("focus").colour, label=look("focus").label)
    ax.set_xlabel("round $r$")
    ax.set_ylabel("error $e$")
    ax.set_title("one line")
    figure.subplots_adjust(0.2, 0.25, 0.95, 0.85)
    return ax


def drawn(*changes: Any) -> Figure:
    """The good figure with some changes."""

    def draw(figure: Figure, table: object) -> None:
        del table
        ax = good(figure)
        for change in changes:
            change(ax)

    return rules.drawn(SimpleNamespace(SIZE=(COLUMN, 2.2), draw=draw), None)


def complaints(canvas: Figure) -> dict[str, list[str]]:
    checks = {
        "label": rules.unlabelled,
        "numbers": rules.unnumbered,
        "edge": rules.outside,
        "overlap": rules.overlaps,
        "colour": rules.other_colours,
    }
    found = {name: list(check(canvas)) for name, check in checks.items()}
    return {name: told for name, told in found.items() if told}


def test_a_good_figure_passes() -> None:
    assert not complaints(drawn())
    assert not complaints(drawn(lambda ax: ax.legend()))
    assert not complaints(drawn(lambda ax: ax.axis("off")))


def shared(ax: Any) -> None:
    ax.set_position([0.2, 0.25, 0.3, 0.6])
    other = ax.figure.add_axes([0.6, 0.25, 0.3, 0.6], sharex=ax, sharey=ax)
    other.tick_params(labelleft=False)


def words_on_the_axis(ax: Any) -> None:
    ax.set_yticks([1, 2], ["server", "client"])
    ax.set_ylabel("")


def test_shared_labels_and_named_ticks_are_enough() -> None:
    assert not complaints(drawn(shared))
    assert not complaints(drawn(words_on_the_axis))


def across(ax: Any) -> None:
    where = {"transform": ax.transAxes, "ha": "center", "va": "center"}
    ax.text(0.5, 0.5, "one text", **where)
    ax.text(0.52, 0.52, "another", **where)


def neighbour(ax: Any) -> None:
    shared(ax)
    ax.text(1.05, 1.5, "too far to the right")


def over_the_panel(ax: Any) -> None:
    ax.figure.legend(handles=ax.lines, loc="center")


def one_decade(ax: Any) -> None:
    ax.set(yscale="log", ylim=(2, 30))
    ax.yaxis.set_minor_formatter(NullFormatter())


OFFENCES = {
    "one number": ("numbers", one_decade),
    "no label": ("label", lambda ax: ax.set_xlabel("")),
    "no symbol": ("label", lambda ax: ax.set_xlabel("round")),
    "no word": ("label", lambda ax: ax.set_ylabel("$e$")),
    "cut": ("edge", lambda ax: ax.set_title("a title that is much too long " * 3)),
    "two texts": ("overlap", across),
    "neighbour": ("overlap", neighbour),
    "legend": ("overlap", over_the_panel),
    "ticks": ("overlap", lambda ax: ax.set_xticks([0.5, 0.51], ["0.50", "0.51"])),
    "colour": ("colour", lambda ax: ax.lines[0].set_color("red")),
    "in the legend": (
        "colour",
        lambda ax: ax.legend(handles=[Line2D([], [], label="FedAvg", color="blue")]),
    ),
}


def test_numbers_between_the_powers_are_enough() -> None:
    def numbered(ax: Any) -> None:
        one_decade(ax)
        number_logarithms(ax)

    assert not complaints(drawn(numbered))


@pytest.mark.parametrize("offence", OFFENCES)
def test_an_offence_is_noticed(offence: str) -> None:
    kind, change = OFFENCES[offence]
    assert set(complaints(drawn(change))) == {kind}


def test_a_longer_name_is_another_algorithm() -> None:
    other = look("agnostic_fedavg")

    def rename(ax: Any) -> None:
        ax.lines[0].set_label(f"{other.label}, exact")

    assert "colour" in complaints(drawn(rename))
    assert not complaints(drawn(rename, lambda ax: ax.lines[0].set_color(other.colour)))


def test_a_call_of_an_engine_is_noticed() -> None:
    called = rules.computing(lambda: pull_matrix({0}, 2))
    assert any("pull_matrix" in one for one in called)
    assert not rules.computing(lambda: look("focus"))


def test_a_typed_colour_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("GOOD = '0.35', 'r'\nBAD = ['#0072B2', 'C1', 'tab:blue']\n")
    assert len(rules.typed_colours(path)) == 3


def test_what_a_caption_leaves_out_is_noticed() -> None:
    figure = SimpleNamespace(TITLE="One line", CLAIMS=("a.b",))
    known = {"a.b": {"verdict": "PROVED"}}
    whole = "One\nline. N = 2. Scope: here. a.b:\nPROVED"
    assert not rules.unsaid(figure, whole, known)
    for part in ("N = 2", "Scope", "PROVED", "line"):
        assert len(rules.unsaid(figure, whole.replace(part, "?"), known)) == 1


def test_tables_differ_beyond_rounding_only() -> None:
    table = [["a", "b"], ["x", "2.0"], ["y", "1e-20"]]
    near = [["a", "b"], ["x", "2.0000000001"], ["y", "2e-20"]]
    assert not rules.differences(table, near)
    for planted in ("2.00000001", "x", "nan", "-2.0"):
        far = [["a", "b"], ["x", planted], ["y", "1e-20"]]
        assert len(rules.differences(table, far)) == 1
    assert rules.differences(table, table[:-1])
    assert rules.differences(table, [["a", "c"], *table[1:]])
    assert rules.differences(table, [table[0], ["x"], table[2]])


def test_a_missing_baseline_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"baseline/a_quick.csv is missing"):
        contract.needed(tmp_path / "a_quick.csv", "a")
    with pytest.raises(pytest.fail.Exception, match=r"tests\.figures\.baseline a`"):
        contract.needed(tmp_path / "a.png", "a")


def test_a_missing_stored_table_says_how_to_make_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(figures, "stored_csv", lambda name: tmp_path / f"{name}.csv")
    with pytest.raises(pytest.fail.Exception, match="`flverify figure nothing`"):
        contract.stored_table("nothing")


def test_a_baseline_is_written_and_found_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrote: list[Path] = []
    table = SimpleNamespace(write_csv=wrote.append)
    draw = SimpleNamespace(
        SIZE=(COLUMN, 2.2), table=lambda _: table, draw=lambda f, _: good(f)
    )
    monkeypatch.setattr(baseline, "FOLDER", tmp_path)
    monkeypatch.setattr(figures, "load_figure", lambda *_: draw)
    baseline.main(["mine"])
    assert wrote == [tmp_path / "mine_quick.csv"]
    assert (tmp_path / "mine.png").stat().st_size > 1000


def test_a_moved_line_changes_the_picture(tmp_path: Path) -> None:
    def write(height: float, path: Path) -> None:
        def draw(figure: Figure, table: object) -> None:
            del table
            good(figure).plot([0, 1], [1, height], color="0.5")

        one = SimpleNamespace(SIZE=(COLUMN, 2.2), draw=draw)
        baseline.write_picture(one, None, path)

    paths = [tmp_path / f"{at}.png" for at in range(3)]
    for height, path in zip((2, 2, 1.9), paths, strict=True):
        write(height, path)
    known, same, moved = map(str, paths)
    assert contract.compare_images(known, same, contract.TOLERANCE) is None
    assert contract.compare_images(known, moved, contract.TOLERANCE)

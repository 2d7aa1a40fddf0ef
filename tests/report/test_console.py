"""Tables: nothing is cut off, whatever their texts and columns."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flverify.report import console


def printed(capsys, *arguments, **keywords):
    console.table(*arguments, **keywords)
    return capsys.readouterr().out


@pytest.mark.parametrize("seed", range(60))
def test_no_character_of_a_table_is_lost(capsys, seed):
    draw = np.random.default_rng(seed)
    columns = int(draw.integers(1, 10))
    keep = int(draw.integers(1, columns + 1))

    def words(most):
        return " ".join(
            "w" * int(size) for size in draw.integers(1, 31, draw.integers(most))
        )

    rows = [[words(draw.choice((2, 26))) for _ in range(columns)] for _ in range(3)]
    text = printed(capsys, ["h"] * columns, rows, keep=keep)
    wanted = sum(cell.count("w") for row in rows for cell in row)
    assert text.count("w") == wanted
    assert max(map(len, text.splitlines())) <= console.WIDTH


def test_marks_of_rich_are_plain_text(capsys):
    text = printed(capsys, ("a", "b"), [("[bold]x[/bold]", ":smile: 12 'y' http://z")])
    assert "[bold]x[/bold]" in text
    assert ":smile: 12 'y' http://z" in text
    assert "\x1b" not in text


def test_kept_columns_stay_on_one_line(capsys):
    rows = [("an.id.of.some.length", "PROVED", "many words " * 30)]
    text = printed(capsys, ("claim", "verdict", "reason"), rows, keep=2)
    assert re.search(r"^an\.id\.of\.some\.length  PROVED   many words", text, re.M)


def test_no_word_is_split_where_there_is_room_for_words(capsys):
    names = ("fedau", "agnostic_fedavg", "gradient_descent")
    headings = ("algorithm", *["stable below"] * 8)
    rows = [(name, *["0.666667"] * 8) for name in names]
    text = printed(capsys, headings, rows, keep=9)
    assert text.count("0.666667") == 8 * 3
    for name in names:
        assert re.search(rf"^{name} ", text, re.M)


def test_the_first_column_stays_whole_where_not_all_words_can(capsys):
    rows = [("gradient_descent", *["0.123456789012"] * 8)]
    text = printed(capsys, ("algorithm", *"abcdefgh"), rows, keep=9)
    assert "gradient_descent  0.123" in text
    assert "0.123456789012" not in text.splitlines()[1][-14:]


def test_wide_characters_are_measured(capsys):
    text = printed(capsys, ("a", "b"), [("数" * 30, "数" * 60)], keep=1)
    assert text.count("数") == 90


def test_lines_have_no_trailing_blanks(capsys):
    console.fields([("label", "text"), ("a longer label", "")])
    console.line("x " * 200)
    console.remarks(["one", "two"])
    text = capsys.readouterr().out
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "note: two" in text


def test_progress_is_silent_without_a_terminal(capsys):
    with console.progress("work", 2) as begin:
        begin("one")
        begin("two")
        begin.at("half of it")
    assert capsys.readouterr().err == ""


def test_parts_are_counted_when_the_next_begins():
    moves = []
    begin = console.Begin(lambda count, name: moves.append((count, name)))
    begin("one")
    begin.at("half of one")
    begin("two")
    begin("three")
    begin.at("half of three")
    assert moves == [
        (0, "one"),
        (0, "half of one"),
        (1, "two"),
        (1, "three"),
        (0, "half of three"),
    ]

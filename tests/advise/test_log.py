"""Availability logs: what a file means, and one sentence for every bad line."""

from __future__ import annotations

import numpy as np
import pytest

from flverify._core.errors import FormatError
from flverify.advise.log import read_log


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"

    def write(text, **asked):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_log(path, **asked)

    return write


def test_gaps_are_empty_rounds_and_the_log_begins_where_it_begins(log):
    found = log("round,client\n7,2\n7,0\n9,1\n")
    assert found.mask.astype(int).tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert (found.first_round, found.rounds, found.n_clients) == (7, 3, 3)
    assert found.counts.tolist() == [1, 1, 1]
    assert found.sizes.tolist() == [2, 0, 1]
    assert found.shares.tolist() == [[0.5, 0, 0.5], [0, 0, 0], [0, 1, 0]]


def test_rounds_count_empty_ones_at_both_ends(log):
    text = "round,client\n1,0\n3,1\n"
    assert log(text, rounds=6).sizes.tolist() == [0, 1, 0, 1, 0, 0]
    # round 3 of 3 rounds exists only if they are numbered from 1
    numbered_from_one = log(text, rounds=3)
    assert numbered_from_one.sizes.tolist() == [1, 0, 1]
    assert numbered_from_one.first_round == 1


def test_columns_spaces_blank_lines_and_marks_of_other_programs(log):
    plain = log("round,client\n0,1\n1,0\n").mask
    for text in (
        "client,round\n1,0\n0,1\n",
        "\ufeffround,client\r\n0,1\r\n1,0\r\n",
        "round, client\n 0 , 1\n\n1,0\n\n",
        '"round","client"\n"0","1"\n1,0',
    ):
        assert np.array_equal(log(text).mask, plain)


def test_clients_may_be_told_though_some_never_take_part(log):
    assert log("round,client\n0,1\n1,1\n", n_clients=4).counts.tolist() == [0, 2, 0, 0]


HEAD = "round,client\n0,0\n1,1\n"


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        ("", {}, "is empty"),
        ("\n\n", {}, "is empty"),
        ("round,client\n", {}, "a header alone"),
        ("0,0\n1,1\n", {}, "line 1 of"),
        ("round,customer\n0,0\n", {}, "'round,customer'; name its columns so"),
        ("Round,Client\n0,0\n", {}, "'Round,Client'; write it in small letters"),
        ("round,client,site\n0,0,a\n", {}, "leave out its other columns"),
        ("round,client,\n0,0,\n", {}, "leave out its other columns"),
        ("0,0\n1,1\n", {}, "add the header"),
        ("round;client\n0;0\n", {}, "'round;client'; put commas"),
        ("client\tround\n0\t0\n", {}, "put commas between its columns"),
        ("round;customer\n0;0\n", {}, "name its columns so"),
        ("[" * 10**5, {}, "[...; add the header"),
        (HEAD + "2\n", {}, "line 4 of"),
        (HEAD + "2,0,1\n", {}, "has 3 entries"),
        (HEAD + "2,-1\n", {}, "client must not be negative; line 4"),
        (HEAD + "-2,1\n", {}, "round must not be negative; line 4"),
        (HEAD + "2,1.0\n", {}, "client must be a whole number; line 4"),
        (HEAD + "two,1\n", {}, "round must be a whole number; line 4"),
        (HEAD + "2,\n", {}, "has ''"),
        (HEAD + "2,nan\n", {}, "has 'nan'"),
        (HEAD + "2,1e3\n", {}, "has '1e3'"),
        (HEAD + "2,\u0663\n", {}, "client must be a whole number; line 4"),
        (HEAD + "9" * 30 + ",1\n", {}, "round must be a whole number; line 4"),
        (HEAD + "9" * 99 + ",1\n", {}, "has '9999999999...(99 digits)'; mend it"),
        (HEAD + "\n1,1\n", {}, "line 5 of"),
        (HEAD + "1,1\n", {}, "repeats round 1, client 1 of line 3"),
        (HEAD + "2,2\n", {"n_clients": 2}, "one of 0, ..., 1; line 4"),
        (HEAD + "5,0\n", {"rounds": 4}, "line 4 of"),
        (HEAD + "4,0\n", {"rounds": 4}, "has 4; mend it or raise --rounds"),
        ("round,client\n3,0\n3,1\n", {}, "at least 2 rounds"),
        (HEAD + f"{10**12},0\n", {}, "50000000 rounds times clients"),
        (HEAD + f"2,{10**12}\n", {}, "50000000 rounds times clients"),
        (b"round,client\n0,\xff\n", {}, "cannot be read as one"),
        ('round,client\n0,"1\n', {}, "cannot be read as one"),
    ],
)
def test_bad_lines_are_named(log, text, asked, said):
    with pytest.raises(FormatError) as caught:
        log(text, **asked)
    assert said in str(caught.value)
    assert "; " in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(FormatError, match="cannot be read as one"):
            read_log(path)

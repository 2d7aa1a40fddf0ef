"""`flverify simulate`: sampled errors against hand-made ones, files, repeats."""

from __future__ import annotations

import csv
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

SMALL = ("--rounds", 4, "--runs", 3)


def test_without_chance_every_run_is_gradient_descent(run):
    found = run("simulate", "gradient_descent", *SMALL, "--json").json
    error, wanted = Fraction(2, 3), []
    for _ in range(5):
        wanted.append(float(error**2))
        error *= 1 - Fraction(3, 8)
    assert found["at"] == [0, 1, 2, 3, 4]
    assert found["mean_square_error"] == pytest.approx(wanted)
    assert found["standard_error"] == pytest.approx([0] * 5, abs=1e-12)


def test_sampling_repeats_and_follows_its_seed(run):
    law = ("--law", "bernoulli:1/2", *SMALL)
    one = run("simulate", "focus", "fedavg", *law, "--seed", 3)
    again = run("simulate", "focus", "fedavg", *law, "--seed", 3)
    other = run("simulate", "focus", "fedavg", *law, "--seed", 4)
    assert one.stdout == again.stdout
    assert one.stdout != other.stdout


def test_samples_lie_within_their_error_of_the_exact_rate(run):
    law = ("--law", "bernoulli:1/2,1/2", "--json")
    rate = Fraction(
        run("rate", "fedavg", *law, "--curvatures", "1,2").json["mean_square_rate"]
    )
    own = ("--curvatures", "1,2", "--centres", "0,0", "--start", "1")
    sizes = ("--rounds", 3, "--runs", 4000, "--at", "3")
    found = run("simulate", "fedavg", *own, *sizes, *law).json
    # both clients want 0, so the error is the squared distance of two runs
    (mean,), (spread,) = found["mean_square_error"], found["standard_error"]
    assert spread > 0
    assert abs(mean - float(rate**3)) < 4 * spread


def test_the_file_has_every_round_and_agrees_with_the_table(run, tmp_path):
    path = tmp_path / "out.csv"
    law = ("--law", "uniform:1", *SMALL, "--at", "4,2")
    found = run("simulate", "focus", "fedavg", *law, "--out", path, "--json").json
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 2 * 5
    assert found["at"] == [2, 4]
    for one in found["algorithms"]:
        own = [row for row in rows if row["algorithm"] == one["algorithm"]]
        means = [float(own[place]["mean_square_error"]) for place in (2, 4)]
        assert means == one["mean_square_error"]
    assert list(tmp_path.iterdir()) == [path]


def test_one_run_has_no_standard_error(run, tmp_path):
    path = tmp_path / "out.csv"
    ran = run("simulate", "fedavg", "--runs", 1, "--rounds", 2, "--out", path, "--json")
    assert ran.json["standard_error"] is None
    assert "one run" in ran.json["standard_error_reason"]
    assert path.read_text().splitlines()[1].endswith(",")


def test_overflow_is_infinite_with_a_reason(run):
    ran = run("simulate", "fedavg", "--step-size", "1e200", *SMALL, "--json")
    assert ran.json["mean_square_error"][-1] is None
    assert ran.json["mean_square_error_reason"] == "null entries are infinite"
    assert (
        "infinite" in run("simulate", "fedavg", "--step-size", "1e200", *SMALL).stdout
    )


def test_the_table_shows_means_with_errors(run):
    text = run("simulate", "fedavg", "--law", "uniform:1", *SMALL).stdout
    assert "standard error" in text
    assert math.isfinite(float(text.splitlines()[-1].split()[2]))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing argument"),
        (["foo"], "an algorithm must be one of"),
        (["fedavg", "--rounds", 0], "not in the range"),
        (["fedavg", "--runs", 0], "not in the range"),
        (["fedavg", "--seed=-1"], "not in the range"),
        (["fedavg", "--at", "101"], "--at must name rounds"),
        (["fedavg", "--at", "101"], "name others, or raise --rounds"),
        (["fedavg", "--at", "x"], "--at: a number must be"),
        (["fedavg", "--at", ""], "--at: a number must be"),
        (["fedavg", "--at", "1/2"], "--at must be an integer"),
        (["fedavg", "--start", ""], "--start: a number must be"),
        (["fedavg", "--start", "1,2"], "dimension"),
        (["fedavg", "--start", "x"], "--start: a number"),
        (["fedavg", "--step-size", "1e999"], "range of floats"),
        (["fedavg", "--curvatures=-1,1"], "positive definite"),
        (["fedavg", "--out", "missing/out.csv"], "folder"),
        (["fedavg", "--out", "."], "must name a file"),
    ],
)
def test_bad_input_gets_one_sentence(fails, arguments, says):
    assert says in fails("simulate", *arguments)


def test_a_file_that_is_read_is_not_written_over(fails, write, tmp_path):
    whole = {"outcomes": [{"clients": [0, 1], "probability": 1}]}
    law, problem = write("law.json", whole), tmp_path / "data.npz"
    np.savez(problem, hessians=[[[1.0]], [[2.0]]], linear=[[0.0], [1.0]])
    before = law.read_text(), problem.read_bytes()
    given = ("simulate", "fedavg", "--problem", problem, "--law", f"explicit:{law}")
    (link := tmp_path / "link").symlink_to(problem)
    for path, name in ((problem, "--problem"), (law, "--law"), (link, "--problem")):
        said = fails(*given, "--out", path)
        assert f"--out must name another file than {name}; got {path}" in said
    assert (law.read_text(), problem.read_bytes()) == before


def test_nothing_is_written_when_the_input_is_bad(fails, tmp_path: Path):
    path = tmp_path / "out.csv"
    fails("simulate", "fedavg", "--start", "1,2", "--out", path)
    assert list(tmp_path.iterdir()) == []


GIVEN = ("simulate", "fedavg", "focus", *SMALL, "--at", "2", "--law", "bernoulli:1/2")


def test_a_table_without_room_is_printed(run, tmp_path, full_later):
    ran = run(*GIVEN, "--out", tmp_path / "out.csv")
    assert ran.code == 2
    assert ran.stderr.count("\n") == 1
    assert "No space left on device; save them from the output" in ran.stderr
    for name in ("fedavg", "focus"):
        shown = re.findall(rf"^{name} +(\d) .*\d", ran.stdout, re.MULTILINE)
        assert shown == list("01234")
    assert not list(tmp_path.iterdir())


def test_a_table_without_room_is_in_the_object(run, tmp_path, full_later):
    ran = run(*GIVEN, "--out", tmp_path / "out.csv", "--json")
    assert ran.code == 2
    assert ran.json["at"] == [0, 1, 2, 3, 4]
    assert all(len(one["mean_square_error"]) == 5 for one in ran.json["algorithms"])
    assert "No space left" in ran.json["notes"][-1]
    assert run(*GIVEN, "--json").json["at"] == [2]

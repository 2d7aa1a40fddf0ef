"""`flverify certify --pl`: answers, files, and one sentence for every bad input."""

import json
from fractions import Fraction

import pytest

BASE = (
    *("certify", "focus", "--n-clients", "5", "--participation", "uniform:2"),
    *("--smoothness", "1", "--step-size", "1/20"),
)
START = ("--set", "initial_gradients=start", "--set", "initial_tracker=sum")


def test_a_rate_of_the_gap_and_its_file(run, tmp_path):
    path = tmp_path / "gap.json"
    ran = run(*BASE, *START, "--pl", "1/10", "--out", path)
    assert ran.code == 0, ran.stderr
    words = " ".join(ran.stdout.split())
    assert "E[f(x_r) - f(x*)] <= rho^r C0 (f(x_0) - f(x*)) for every r." in words
    assert "beta = 1/10, L = 1 (need not be convex)" in words
    assert (
        "39/40 = 0.975, not promised here, by focus, Theorem 1, eq. (24), PL" in words
    )
    checked = run("check", path)
    assert checked.code == 0, checked.stderr
    assert "rho^r C0 (f(x_0) - f(x*))" in " ".join(checked.stdout.split())
    proved = json.loads(run("check", path, "--json").stdout)
    told = json.loads(run(*BASE, *START, "--pl", "1/10", "--json").stdout)
    assert (proved["kind"], proved["beta"]) == ("gap", "1/10")
    assert (proved["rho"], proved["C0"]) == (told["rate"], told["C0"])
    assert Fraction(told["lower_bound"]) < Fraction(told["rate"])
    assert Fraction(told["rate"]) < Fraction(told["printed_rate"])
    assert told["question"] == "gap"
    assert told["setting"]["polyak_lojasiewicz"] == "1/10"


@pytest.mark.parametrize(
    ("rate", "code", "words"),
    [
        ("0.97", 0, "status certified"),
        ("0.96", 1, "this says nothing about the method"),
        ("0.94", 1, "lies below what the class allows"),
    ],
)
def test_one_rate(run, rate, code, words):
    ran = run(*BASE, *START, "--pl", "1/10", "--rate", rate)
    assert ran.code == code, ran.stderr
    assert words in " ".join(ran.stdout.split())


def test_a_memory_that_starts_at_zero_has_none(run):
    ran = run(*BASE, "--pl", "1/10")
    assert ran.code == 1
    assert "must start at that of x_0" in " ".join(ran.stdout.split())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "one of --mu and --pl must say which functions are meant; got neither"),
        (["--pl", "1/10", "--mu", "1/10"], "got both"),
        (["--pl", "2"], "--pl must be at most --smoothness; got 2 and 1"),
        (["--pl", "0"], "--pl"),
        (["--pl", "x"], "--pl"),
        (["--pl", "1/10", "--neighbourhood"], "--neighbourhood must come with --mu"),
        (["--pl", "1/10", "--rate", "1"], "--rate must be below 1"),
    ],
)
def test_bad_input_is_told(run, given, words):
    ran = run(*BASE, *given)
    assert ran.code == 2
    assert words in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr


def test_a_biased_method_is_refused(run):
    asked = (
        "certify",
        "fedavg",
        "--n-clients",
        "2",
        "--smoothness",
        "1",
        "--pl",
        "1/5",
    )
    ran = run(*asked, "--step-size", "1/10", "--local-steps", "2")
    assert ran.code == 2
    assert "must stay at x*" in " ".join(ran.stderr.split())

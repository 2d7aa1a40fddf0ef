"""`flverify average`: answers, files, and one sentence for every bad input."""

import json
from fractions import Fraction

import pytest

from flverify.certify.averages.quadratics import Least
from flverify.commands import average as command
from tests.certify import momentum

FOCUS = (
    *("average", "focus", "--n-clients", "5", "--participation", "uniform:2"),
    *("--smoothness", "1", "--step-size", "1/20"),
)
AT_START = ("--set", "initial_gradients=start", "--set", "initial_tracker=sum")


def test_smooth_functions_get_a_bound_of_the_gradient(run, tmp_path):
    path = tmp_path / "average.json"
    ran = run(*FOCUS, "--non-convex", *AT_START, "--out", path)
    assert ran.code == 0, ran.stderr
    words = " ".join(ran.stdout.split())
    assert "E|grad f(x_r)|^2 <= C0 (f(x_0) - f(x*))/K for every K" in words
    assert "mu = -1, L = 1 (need not be convex)" in words
    assert "printed 32 for C0, after the first round, by focus, Theorem 1" in words
    checked = run("check", path)
    assert checked.code == 0, checked.stderr
    assert "C0 (f(x_0) - f(x*))/K" in " ".join(checked.stdout.split())
    bound = json.loads(run("check", path, "--json").stdout)
    told = json.loads(run(*FOCUS, "--non-convex", *AT_START, "--json").stdout)
    assert (bound["kind"], bound["of"]) == ("average", "gradient")
    assert bound["C0"] == told["by_gap"]
    assert 6 < Fraction(told["by_gap"]) < Fraction(told["printed_by_gap"]) == 32


def test_a_changed_constant_is_rejected(run, tmp_path):
    path = tmp_path / "average.json"
    assert run(*FOCUS, "--out", path).code == 0
    certificate = json.loads(path.read_text())
    assert certificate["average"]["of"] == "gap"
    certificate["start"]["C1"] = str(Fraction(certificate["start"]["C1"]) * 9 / 10)
    path.write_text(json.dumps(certificate))
    ran = run("check", path)
    assert ran.code == 1
    assert "rejected" in ran.stdout


def test_a_biased_method_has_a_term_that_stays(run):
    asked = ("average", "fedavg", "--n-clients", "3", "--smoothness", "1")
    asked += ("--step-size", "1/10", "--local-steps", "2", "--json")
    told = json.loads(run(*asked).stdout)
    assert told["status"] == "certified"
    assert Fraction(told["constant"]) > 0
    assert "+ c M for every K" in told["statement"]
    few = json.loads(run(*asked, "--rounds", "1").stdout)

    def bound(found, rounds):
        parts = ("by_distance", "by_gradients")
        total = sum(Fraction(found[name]) for name in parts)
        return float(total + rounds * Fraction(found["constant"]))

    assert bound(told, 100) <= bound(few, 100) * 1.0001
    assert bound(few, 1) <= bound(told, 1) * 1.0001


def test_units_change_a_bound_as_they_should(run):
    double = ["2" if one == "1" else one for one in FOCUS]
    double[double.index("1/20")] = "1/40"
    found = []
    for asked in (FOCUS, double):
        told = json.loads(run(*asked, "--non-convex", *AT_START, "--json").stdout)
        found.append(Fraction(told["by_gap"]))
    assert found[1] == 2 * found[0]


def test_a_long_step_has_no_certificate(run):
    ran = run(*(*FOCUS[:-1], "3"))
    assert ran.code == 1
    assert "not certified" in ran.stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--non-convex", "--mu", "0"), "--mu must not come with --non-convex"),
        (("--mu", "2"), "--mu must be from -L up to below L; got 2"),
        (("--mu", "-2"), "--mu must be from -L up to below L; got -2"),
        (("--rounds", "0"), "--rounds"),
        (("--step-size", "0"), "--step-size must be positive"),
        (("--participation", "uniform:9"), "uniform"),
        (("--loop", "none.py"), "--loop must come with a method of one's own"),
        (("--set", "variant=paper"), "variant"),
    ],
)
def test_bad_input_is_one_sentence(run, more, said, tmp_path):
    path = tmp_path / "none.json"
    ran = run(*FOCUS, *more, "--out", path)
    assert ran.code == 2
    assert said in ran.stderr
    assert not path.exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("focus", "--law", "bernoulli:1/2", "--n-clients", "5000"), "sorts of coho"),
        (("focus", "--local-steps", "21"), "at most 20 gradients"),
        (("proxskip", "--law", "allornothing:1/2"), "must be taken at the model"),
        (("fedavg", "--local-steps", "2", "--non-convex"), "must stay at x*"),
        (("fedau",), "a certificate must be for one of"),
        (("nothing",), "a certificate must be for one of"),
    ],
)
def test_what_cannot_be_asked_is_refused(run, asked, said):
    basis = ("--smoothness", "1", "--step-size", "1/50")
    size = () if "--n-clients" in asked else ("--n-clients", "3")
    ran = run("average", *asked, *basis, *size)
    assert ran.code == 2
    assert said in ran.stderr
    told = run("average", *asked, *basis, *size, "--json")
    assert told.code == 2


def test_a_memory_that_starts_at_zero_is_told(run):
    ran = run(*FOCUS, "--non-convex")
    assert ran.code == 1
    assert "must start at that of x_0" in " ".join(ran.stdout.split())


def test_a_method_of_ones_own_has_bounds_too(run, tmp_path):
    path, loop = tmp_path / "own.json", ("--loop", momentum.__file__)
    asked = ("average", f"{momentum.__file__}:Momentum", *loop, "--n-clients", "4")
    asked += ("--smoothness", "1", "--step-size", "1/10", "--set", "momentum=1/4")
    ran = run(*asked, "--non-convex", "--out", path)
    assert ran.code == 0, ran.stderr
    assert run("check", path, *loop).code == 0
    assert run("check", path).code == 2


def test_no_bound_lies_below_what_quadratics_need(run, monkeypatch):
    told = json.loads(run(*FOCUS, "--json").stdout)
    assert 0 < Fraction(told["at_least"]) <= Fraction(told["by_distance"])
    assert told["at_least_on"].startswith("f_i = h_i x^2/2 with h_i = ")
    high = Least(Fraction(100), (Fraction(1),) * 5, 1)
    monkeypatch.setattr(command, "least_constant", lambda *_: high)
    ran = run(*FOCUS)
    assert ran.code == 1
    assert "a contradiction, which is a fault of this package" in " ".join(
        ran.stdout.split()
    )


def test_quadratics_beyond_floats_do_not_undo_a_bound(run, monkeypatch):
    def overflows(*_):
        raise OverflowError("too large")

    monkeypatch.setattr(command, "least_constant", overflows)
    ran = run(*FOCUS, "--json")
    told = json.loads(ran.stdout)
    assert (ran.code, told["status"], told["at_least"]) == (0, "certified", None)
    assert told["certificate"] is not None


def test_a_bound_with_numbers_of_one_s_own(run):
    fedavg = ("average", "fedavg", "--n-clients", "3", "--smoothness", "1")
    fedavg += ("--step-size", "1/10", "--local-steps", "2", "--json")
    free = json.loads(run(*fedavg).stdout)
    ran = run(*fedavg, "--at-most", "C2=0", "--at-most", "C1=20")
    told = json.loads(ran.stdout)
    assert (ran.code, told["by_gradients"]) == (0, "0")
    assert Fraction(free["by_gradients"]) > 0
    ran = run(*fedavg, "--at-most", f"c={free['constant']}/2")
    assert ran.code == 2
    half = Fraction(free["constant"]) / 2
    ran = run(*fedavg, "--at-most", f"c={half}")
    assert ran.code == 1
    assert json.loads(ran.stdout)["certificate"] is None
    assert "this says nothing about the method" in json.loads(ran.stdout)["reason"]


def test_numbers_that_quadratics_rule_out(run):
    ran = run(*FOCUS, "--at-most", "C1=1")
    words = " ".join(ran.stdout.split())
    assert ran.code == 1
    assert "C1 = 1 lies below what the class allows: on f_i = h_i x^2/2" in words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--at-most", "C0=1"], "NAME one of C1, C2, c; got 'C0=1'"),
        (["--at-most", "C1=1", "--non-convex"], "NAME one of C0; got 'C1=1'"),
        (["--at-most", "C1"], "NAME=NUMBER"),
        (["--at-most", "C1=x"], "--at-most"),
        (["--at-most", "C1=-1"], "must not be negative"),
        (["--at-most", "C1=1e999"], "range of floats"),
        (["--at-most", "C1=1", "--at-most", "C1=2"], "got C1 twice"),
    ],
)
def test_a_bad_number_for_a_bound_is_told(run, given, words):
    ran = run(*FOCUS, *given)
    assert ran.code == 2
    assert words in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr

"""`flverify rate` and `flverify bias`: numbers by hand, settings, refusals."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

H, C = (1, 2), (0, 1)  # the default problem
STEP = Fraction(1, 8)  # largest power of 1/2 at most 1/(2 N L local_steps)


def scalar_moments(local_steps, chances):
    """FedAvg on the default problem by its outcomes: rates and the fixed point."""
    slope = square = shift = Fraction(0)
    for size in range(3):
        for cohort in combinations(range(2), size):
            chance = Fraction(1)
            for i, p in enumerate(chances):
                chance *= p if i in cohort else 1 - p
            maps = [((1 - STEP * H[i]) ** local_steps, C[i]) for i in cohort]
            a = sum(m for m, _ in maps) / size if size else Fraction(1)
            b = sum((1 - m) * c for m, c in maps) / size if size else Fraction(0)
            slope, square, shift = (
                slope + chance * a,
                square + chance * a * a,
                shift + chance * b,
            )
    return slope, square, shift / (1 - slope)


def test_rates_of_fedavg_by_its_outcomes(run):
    slope, square, _ = scalar_moments(3, (Fraction(1, 5), Fraction(1, 2)))
    law, step = "bernoulli:0.2,0.5", ("--step-size", "0.125", "--local-steps", 3)
    found = run("rate", "fedavg", "--law", law, *step, "--json").json
    assert found["mean_rate"] == str(slope)
    assert found["mean_square_rate"] == str(square)
    assert found["mean_square_rate_interval"] == [str(square)] * 2
    assert found["exact"] is True
    assert found["algorithms"][0]["mean_rate"] == found["mean_rate"]


def test_bias_of_fedavg_by_its_outcomes(run):
    _, _, fixed = scalar_moments(3, (Fraction(1, 5), Fraction(1, 2)))
    law, step = "bernoulli:0.2,0.5", ("--step-size", "1/8", "--local-steps", 3)
    found = run("bias", "fedavg", "--law", law, *step, "--json").json
    assert found["minimiser"] == ["2/3"]
    assert found["mean_fixed_point"] == [str(fixed)]
    assert found["bias"] == [str(fixed - Fraction(2, 3))]


def test_several_algorithms_stand_in_one_table(run):
    names = ("gradient_descent", "fedavg", "agnostic_fedavg")
    found = run("rate", *names, "--json").json
    by_name = {one["algorithm"]: one for one in found["algorithms"]}
    assert list(by_name) == list(names)
    # the sum of the Hessians is 3, the mean of 1 - h/8 is 13/16
    assert by_name["gradient_descent"]["mean_square_rate"] == "25/64"
    assert by_name["fedavg"]["mean_square_rate"] == "169/256"
    assert by_name["agnostic_fedavg"]["mean_square_rate"] == "169/256"
    assert "mean_square_rate" not in found
    text = run("rate", *names).stdout
    assert "25/64" in text
    assert "period is 2, from --local-steps 1" in text


def test_the_largest_client_of_a_listed_law_says_how_many_there_are(run, write):
    outcomes = [{"clients": [0, 2], "probability": "1/2"}]
    outcomes.append({"clients": [], "probability": "1/2"})
    path = write("law.json", {"outcomes": outcomes})
    found = run("rate", "fedavg", "--law", f"explicit:{path}", "--json").json
    assert found["setting"]["n_clients"] == 3


def test_defaults_are_printed(run):
    text = run("rate", "fedavg").stdout
    assert "h = 1, 2, c = 0, 1 (default)" in text
    assert "full (default)" in text
    assert "1/8 (default: largest power of 1/2" in text
    given = run("rate", "fedavg", "--law", "full", "--step-size", "1/8")
    assert "full (default)" not in given.stdout
    assert run("rate", "fedavg", "--json").json["setting"]["defaults"] == [
        "law",
        "local_steps",
        "step_size",
    ]


def test_the_law_says_how_many_clients(run):
    found = run("rate", "fedavg", "--law", "bernoulli:0.2,0.5,0.9", "--json").json
    assert found["setting"]["n_clients"] == 3
    found = run("rate", "fedavg", "--law", "bernoulli:0.2", "--json").json
    assert found["setting"]["n_clients"] == 2


def test_the_agnostic_period_follows_the_schedule(run):
    own = ("--local-steps", 3, "--json")
    literal = run("rate", "agnostic_fedavg", *own).json
    separate = run("rate", "agnostic_fedavg", "--set", "schedule=separate", *own).json
    fedavg = run("rate", "fedavg", *own).json
    assert literal["settings"]["period"] == 4
    assert separate["settings"]["period"] == 3
    assert literal["mean_rate"] == separate["mean_rate"] == fedavg["mean_rate"]
    asked = run("rate", "agnostic_fedavg", "--set", "period=7", "--json").json
    assert asked["settings"]["period"] == 7


def test_a_coin_that_is_not_that_of_the_law_is_told(run):
    def notes(law, *more):
        asked = ("proxskip", "--law", law, "--n-clients", 2, "--set", "probability=1/3")
        return " ".join(run("rate", *asked, *more, "--json").json["notes"])

    for law in ("full", "allornothing:1/2", "bernoulli:1/3"):
        assert f"probability of the setting, 1/3, or nobody; the law {law}" in notes(
            law
        )
    for more in ((), ("--float",)):
        assert "in the paper" not in notes("allornothing:1/3", *more)


def test_the_law_fills_in_probability_and_weights(run):
    coin = run("rate", "proxskip", "--law", "allornothing:1/5", "--json").json
    assert coin["settings"]["probability"] == "1/5"
    assert "proxskip: probability is 1/5, from the law" in coin["notes"][-1]
    assert run("rate", "proxskip", "--json").json["settings"]["probability"] == "1"
    law = ("--law", "bernoulli:0.2,0.5")
    found = run("rate", "weighted_fedavg", *law, "--json").json
    assert found["settings"]["weights"] == ["3/20", "9/20"]
    own = ("--set", "weights=1/4,0.75", "--json")
    found = run("rate", "weighted_fedavg", *law, *own).json
    assert found["settings"]["weights"] == ["1/4", "3/4"]


def test_a_setting_can_be_for_one_algorithm(run):
    steps = ("--set", "step_size=1/16", "--set", "fedavg.step_size=1/32")
    found = run("rate", "fedavg", "scaffold", *steps, "--json").json
    given = [one["settings"]["step_size"] for one in found["algorithms"]]
    assert given == ["1/32", "1/16"]


def test_a_setting_is_given_once(run, fails):
    both = ("--step-size", "1/16", "--set", "step_size=1/32")
    assert "and --step-size; leave one out" in fails("rate", "fedavg", *both)
    own = ("--step-size", "1/16", "--set", "fedavg.step_size=1/32")
    assert "leave one out" in fails("rate", "fedavg", *own)
    found = run("rate", "fedavg", "scaffold", *own, "--json").json  # one may differ
    given = [one["settings"]["step_size"] for one in found["algorithms"]]
    assert given == ["1/32", "1/16"]


def test_a_law_without_effect_is_said_to_have_none(run):
    law = ("--law", "bernoulli:1/2", "--json")
    found = run("rate", "gradient_descent", *law).json
    assert found["notes"][0].startswith("the law has no effect on gradient_descent")
    notes = run("rate", "gradient_descent", "focus", *law).json["notes"]
    assert "a round is empty" in notes[0]


def test_settings_of_every_type(run):
    found = run("rate", "focus", "--set", "empty_round=skip", "--json").json
    assert found["settings"]["empty_round"] == "skip"
    sets = ("--set", "projection=box:-1,1", "--set", "period=2")
    found = run("simulate", "agnostic_fedavg", *sets, "--json").json
    assert found["mean_square_error"][0] == pytest.approx(4 / 9)
    found = run("simulate", "fedau", "--set", "cutoff=none", "--json")
    assert found.code == 0


def test_a_file_is_a_problem(run, tmp_path):
    path = tmp_path / "problem.npz"
    np.savez(path, hessians=[[[1]], [[2]]], linear=[[0], [2]])
    ours = run("bias", "fedavg", "--local-steps", 2, "--json").json
    read = run("bias", "fedavg", "--local-steps", 2, "--problem", path, "--json").json
    assert read["bias"] == ours["bias"] != ["0"]


def test_ridge_data_follow_their_seed(run):
    ridge = ("--synthetic-ridge", "--n-clients", 2, "--dim", 2, "--samples", 3)
    one, again = (run("bias", "fedavg", *ridge, "--json") for _ in range(2))
    other = run("bias", "fedavg", *ridge, "--seed", 1, "--json")
    assert one.stdout == again.stdout
    assert one.json["bias"] != other.json["bias"]
    assert one.json["exact"] is False


def test_a_float_rate_without_enclosure_is_not_told_to_be_exact(run):
    large = ("--law", "uniform:2", "--n-clients", 30, "--step-size", "1/1000")
    found = run("rate", "focus", "--float", *large)
    note = " ".join(found.stdout.split()).partition("mean square rate interval: ")[2]
    assert note.startswith("rates are enclosed up to operators of order 400; got 496;")
    assert "exact" not in note


def test_floats_agree_with_rationals_and_their_enclosure(run):
    law = ("--law", "bernoulli:0.2,0.5", "--json")
    exact = run("rate", "focus", *law).json
    rounded = run("rate", "focus", "--float", *law).json
    assert isinstance(rounded["mean_square_rate"], float)
    rate = float(Fraction(exact["mean_square_rate"]))
    assert rounded["mean_square_rate"] == pytest.approx(rate, rel=1e-9)
    low, high = rounded["mean_square_rate_interval"]
    assert low <= rate <= high * (1 + 1e-12)
    bare = run("rate", "focus", "--float", "--no-enclosure", *law).json
    assert bare["mean_square_rate_interval"] is None


def test_an_unstable_setting_is_infinite_with_its_reason(run):
    found = run("bias", "fedavg", "--step-size", 2, "--json").json
    assert found["stationary_mean_square_error"] is None
    assert "not below 1" in found["stationary_mean_square_error_reason"]
    text = run("bias", "fedavg", "--step-size", 2).stdout
    assert "infinite" in text
    assert "the mean-square rate is not below 1" in text


CHAIN = {
    "transition": [["0", "1"], ["1", "0"]],
    "laws": ["bernoulli:1,0", "bernoulli:0,1"],
    "initial": 0,
}


@pytest.mark.parametrize(
    ("asked", "settles"),
    [
        (["gradient_descent", "--step-size", 2], False),  # |1 - 2 * 3/2| is 2
        (["gradient_descent", "--step-size", "1/4"], True),
        (["fedavg", "--step-size", "1/4", "--law", "chain:chain.json"], False),
    ],
    ids=["grows", "settles", "alternates"],
)
def test_where_the_mean_does_not_go_is_said(run, tmp_path, monkeypatch, asked, settles):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.json").write_text(json.dumps(CHAIN), encoding="utf-8")
    setting = ["bias", *asked, "--n-clients", 2]
    found = run(*setting, "--json").json
    assert found["mean_settles"] is settles
    text = run(*setting).stdout
    told = "the mean of the model does not go there"
    assert ("mean_fixed_point_reason" in found, told in text) == (not settles,) * 2


def test_floats_do_not_say_that_a_slow_mean_grows(run):
    # its rate is 1 - 3/4e-14, and rationals tell that it goes there
    asked = ["bias", "fedavg", "--law", "bernoulli:1e-14,1e-14", "--step-size", "1/4"]
    assert run(*asked, "--json").json["mean_settles"]
    told = run(*asked, "--float").stdout
    assert "floats do not tell whether the mean of the model goes there" in told
    assert "it grows, or alternates" not in told


def test_a_reason_that_both_readings_of_a_round_give_is_told_once(run):
    found = run("rate", "agnostic_fedavg", "--set", "projection=ball:1")
    assert found.code == 2
    assert found.stderr.count("a linear round must not project") == 1
    assert found.stderr.strip().endswith("the algorithm can only be simulated.")


def test_a_negative_weight_is_told_as_it_was_written(run):
    found = run("rate", "weighted_fedavg", "--set", "weights=2,-1/3")
    assert found.code == 2
    assert "weights must not be negative; got -1/3; mend it" in found.stderr


def test_refusals_are_listed_and_fail_only_if_nothing_is_answered(run):
    both = run("rate", "fedavg", "fedau")
    assert both.code == 0
    assert "refused" in both.stdout
    assert "can only be simulated" in " ".join(both.stdout.split())
    alone = run("rate", "fedau", "--json")
    assert alone.code == 2
    assert "moments refuses" in alone.json["refusal"]
    assert alone.json["status"] == "refused"
    assert alone.stderr == f"error: {alone.json['reason']}\n"
    assert alone.stderr.count("\n") == 1
    nothing = run("rate", "fedau")
    assert (nothing.stdout, nothing.stderr) == ("", alone.stderr)


def test_absent_clients_are_spelled_out_beside_a_rate(run):
    text = run("rate", "focus", "--law", "bernoulli:0,1/2").stdout
    assert "p = 0 for client 0" in text


@pytest.mark.parametrize("name", ["rate", "bias"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing argument"),
        (["foo"], "an algorithm must be one of"),
        (["focus", "--step-size", "0"], "must be positive"),
        (["focus", "--step-size=-1/8"], "must be positive"),
        (["focus", "--step-size", "nan"], "--step-size: a number must be"),
        (["focus", "--local-steps", 0], "not in the range"),
        (["focus", "--local-steps", "2.5"], "'2.5' is not a whole number"),
        (["focus", "--local-steps", "1_0"], "'1_0' is not a whole number"),
        (["focus", "--local-steps", "٣"], "is not a whole number"),
        (["focus", "--local-steps", ""], "'' is not a whole number"),
        (["focus", "--local-steps", 10**20], "between 1 and 1000000; got 10000000000"),
        (["focus", "--set", "foo=1"], "--set must name a setting"),
        (["focus", "--set", "empty_round"], "NAME=VALUE"),
        (["focus", "--set", "=1"], "NAME=VALUE"),
        (
            ["fedau", "--set", "cutoff=none", "--set", "cutoff=none"],
            "must give a setting once; got 'cutoff=none' and 'cutoff=none'",
        ),
        (["focus", "--set", "empty_round=jump"], "focus: empty_round must be one of"),
        (["focus", "--set", "fedavg.aggregation=all"], "--set must name a setting"),
        (["gradient_descent", "--local-steps", 2], "gradient_descent: local_steps"),
        (["agnostic_fedavg", "--set", "period=0"], "period must be"),
        (["agnostic_fedavg", "--set", "period=x"], "agnostic_fedavg: period: a number"),
        (["focus", "--set", "step_size="], "focus: step_size: a number"),
        (["focus", "--step-size", ""], "--step-size: a number must be"),
        (["focus", "--law", ""], "a law must be one of"),
        (["focus", "--curvatures", ""], "--curvatures: a number must be"),
        (["focus", "--curvatures", "1", "--centres", ""], "--centres: a number"),
        (["focus", "--problem", ""], "npz"),
        (["focus", "--n-clients", 10**11], "at most 1000000 clients; got 100000000000"),
        (["focus", "--curvatures", "1", "--n-clients", 10**11], "at most 1000000"),
        (["focus", "--synthetic-ridge", "--n-clients", 10**11], "at most 1000000"),
        (
            ["focus", "scaffold", "--n-clients", 1000],
            "focus, scaffold: moments refuses",
        ),
        (["focus", "--n-clients", 1000], "pass floats (--float, or"),
        (["agnostic_fedavg", "--set", "projection=cone"], "a region must be"),
        (["agnostic_fedavg", "--set", "projection=ball:0"], "radius must be positive"),
        (["weighted_fedavg", "--set", "weights=1,-1"], "must not be negative"),
        (["weighted_fedavg", "--set", "weights=1"], "one number per client"),
        (["proxskip", "--law", "uniform:1"], "--law allornothing:P"),
        (["proxskip", "--set", "probability=2"], "must lie in [0, 1]"),
        (["focus", "--law", "foo"], "a law must be one of"),
        (["focus", "--law", "uniform:9"], "between 1 and 2"),
        (["focus", "--law", "bernoulli:1,1", "--n-clients", 3], "the same clients"),
        (["focus", "--curvatures", "1,x"], "--curvatures: a number must be"),
        (["focus", "--curvatures", "1,2", "--centres", "1,2,3"], "--centres must hold"),
        (["focus", "--curvatures", "1,2", "--n-clients", 3], "one number per client"),
        (["focus", "--centres", "1"], "--centres must come with --curvatures"),
        (["focus", "--dim", 3], "--dim must come with --synthetic-ridge"),
        (["focus", "--curvatures", "1", "--synthetic-ridge"], "one problem"),
        (["focus", "--synthetic-ridge", "--regularisation=-1"], "regularisation"),
        (["focus", "--synthetic-ridge", "--regularisation", "x"], "--regularisation:"),
        (["focus", "--problem", "missing.npz"], "must exist"),
        (["focus", "--seed=-1", "--synthetic-ridge"], "not in the range"),
    ],
)
def test_bad_settings_get_one_sentence(fails, name, arguments, says):
    assert says in fails(name, *arguments, "--json")


def test_bad_problem_files_get_one_sentence(fails, tmp_path, write):
    bent = tmp_path / "bent.npz"
    np.savez(bent, hessians=[[[1, 1], [0, 1]]], linear=[[0, 0]])
    assert "symmetric" in fails("rate", "focus", "--problem", bent)
    saddle = tmp_path / "saddle.npz"
    np.savez(saddle, hessians=[[[-2, 0], [0, 1]]], linear=[[0, 0]])
    assert "indefinite" in fails("bias", "focus", "--problem", saddle)
    text = write("text.npz", "no archive")
    assert "npz" in fails("rate", "focus", "--problem", text)
    objects = tmp_path / "objects.npz"
    np.savez(objects, hessians=np.array([{}], dtype=object), linear=[[0]])
    assert "npz" in fails("rate", "focus", "--problem", objects)
    fine = tmp_path / "fine.npz"
    np.savez(fine, hessians=[[[1]]], linear=[[0]])
    message = fails("rate", "focus", "--problem", fine, "--n-clients", 2)
    assert "--n-clients must agree" in message


@pytest.mark.slow
def test_an_exact_rate_that_is_too_large_is_refused_and_floats_answer(run):
    law = ("--law", "bernoulli:1/2", "--n-clients", 30)
    exact = run("rate", "focus", *law, "--json")
    assert exact.code == 2
    assert exact.json["mean_square_rate"] is None
    assert "rates are enclosed up to" in exact.json["mean_square_rate_reason"]
    text = " ".join(run("rate", "focus", *law).stdout.split())
    assert text.count("rates are enclosed up to") == 1
    rounded = run("rate", "focus", *law, "--float", "--json")
    assert rounded.code == 0
    assert 0 < rounded.json["mean_square_rate"] < 1


def test_one_client_is_said_to_be_one(run, tmp_path):
    asked = ("rate", "gradient_descent", "--step-size", "1/4")
    shown = run(*asked, "--curvatures", 2, "--centres", 1).stdout
    assert "1 scalar quadratic (h/2)(x - c)^2, h = 2, c = 1" in shown
    shown = run(*asked, "--curvatures", "2,2", "--centres", 1).stdout
    assert "2 scalar quadratics (h/2)" in shown
    file = tmp_path / "one.npz"
    np.savez(file, hessians=[[[2.0]]], linear=[[1.0]])
    assert "1 client, dimension 1" in " ".join(
        run(*asked, "--problem", file).stdout.split()
    )

"""`flverify advise`: the table, logs and their laws, and one sentence for bad input."""

from __future__ import annotations

import csv
import json
from fractions import Fraction

import numpy as np
import pytest

from flverify.commands import _advising
from flverify.participation import Bernoulli, ModeChain, UniformCohort

FAST = ("advise", "--no-certify")
LAW = ("--law", "bernoulli:1/2,1/3")


@pytest.fixture
def log(tmp_path):
    """Write a log that a law has drawn."""

    def make(law, rounds=200, seed=1, name="log.csv"):
        (mask,) = law.sample(seed=seed, runs=1, rounds=rounds)
        path = tmp_path / name
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(("round", "client"))
            writer.writerows(np.argwhere(mask).tolist())
        return path, mask

    return make


def by_name(found):
    return {one["algorithm"]: one for one in found["algorithms"]}


@pytest.mark.slow
def test_the_table_holds_what_the_other_commands_say(run):
    found = run(*FAST, *LAW, "--local-steps", 2, "--json").json
    assert found["format"] == "flverify/advise"
    rows = by_name(found)
    assert list(rows) == ["focus", "fedavg", "scaffold"]
    for name, row in rows.items():
        assert "step_size" not in row["settings"]  # it is advised
        step = row["fastest_step_size"]
        setting = (*LAW, "--local-steps", 2, "--step-size", step, "--json")
        assert (
            run("rate", name, *setting).json["mean_square_rate"] == row["fastest_rate"]
        )
        low, high = row["stable_up_to"], row["unstable_from"]
        at = [
            run("rate", name, *LAW, "--local-steps", 2, "--step-size", s, "--json").json
            for s in (low, high)
        ]
        assert Fraction(at[0]["mean_square_rate"]) <= 1
        assert Fraction(at[1]["mean_square_rate"]) >= 1
        assert Fraction(high) - Fraction(low) <= Fraction(low) * Fraction(3, 10**6)
        error = run("bias", name, *setting).json["stationary_mean_square_error"]
        # x* = 2/3 for the default problem
        assert Fraction(error) * Fraction(9, 4) == Fraction(row["stationary_accuracy"])
    assert rows["focus"]["rounds"] > 0
    assert rows["fedavg"]["rounds"] is None
    assert rows["fedavg"]["rounds_reason"] == "its stationary error is larger"


@pytest.mark.slow
def test_certified_and_printed_columns_agree_with_certify(run):
    found = run("advise", "focus", *LAW, "--json").json
    (row,) = found["algorithms"]
    assert (found["strong_convexity"], found["smoothness"]) == ("1", "2")
    asked = ("--step-size", row["certified_step_size"], "--rate", row["certified_rate"])
    setting = ("--mu", 1, "--smoothness", 2, *LAW)
    ran = run("certify", "focus", *setting, *asked, "--json")
    assert ran.code == 0
    assert ran.json["printed_cap"] == row["printed_cap"]
    assert Fraction(row["fastest_rate"]) <= Fraction(row["certified_rate"])
    text = run("advise", "focus", *LAW).stdout
    assert "certificates were found at step sizes up to" in text  # not at all below
    assert "prints the rate" in text


def test_the_text_says_never_with_the_accuracy_and_why_something_is_missing(run):
    ran = run(*FAST, "fedavg", "fedau", *LAW, "--local-steps", 2)
    assert ran.code == 0
    assert "never: " in ran.stdout
    assert "at a hundredth of the step size at" in ran.stdout
    assert "fedau: a linear round must keep no numbers per client" in ran.stdout
    assert all(len(line) <= 100 for line in ran.stdout.splitlines())


@pytest.mark.slow
def test_the_search_says_that_it_may_step_over_unstable_step_sizes(run):
    # after tau - 1 = 4 local steps of size 1/h the new gradient is the stored one
    alone = ("focus", "--curvatures", "4/5", "--centres", 1, "--local-steps", 5)
    (row,) = run(*FAST, *alone, "--json").json["algorithms"]
    at = run("rate", *alone, "--step-size", "5/4", "--json").json
    assert at["mean_square_rate"] == "1"
    told = " ".join(run(*FAST, *alone).stdout.split())
    assert Fraction(row["stable_up_to"]) > Fraction(5, 4)
    assert "unstable ones between two rungs may be overlooked" in told


@pytest.mark.slow
def test_names_of_algorithms_stay_whole_and_limits_are_noted(run):
    names = ("fedau", "agnostic_fedavg", "weighted_fedavg", "gradient_descent")
    text = run("advise", *names, "--n-clients", "2", "--no-certify").stdout
    for name in names:
        assert f"\n{name} " in text
    five = "bernoulli:1/2,1/3,1/4,1/5,1/6"
    said = run("advise", "fedavg", "--law", five, "--n-clients", "5").stdout
    assert "at most 4 distinct probabilities" in " ".join(said.split())


@pytest.mark.slow
def test_rounds_vectors_and_floats_count_what_is_communicated(run):
    found = run(*FAST, *LAW, "--accuracy", "1e-3", "--json").json
    rows = by_name(found)
    cohort = Fraction(5, 6)
    for name, each in (("focus", 2), ("scaffold", 4)):
        expected = float(rows[name]["rounds"] * each * cohort)
        assert rows[name]["vectors"] == pytest.approx(expected)
        assert rows[name]["floats"] == rows[name]["vectors"]  # the dimension is 1


@pytest.mark.slow
def test_the_rarest_client_against_its_raised_law(run):
    found = run(*FAST, "focus", *LAW, "--json").json
    lone = found["rarest"]
    assert (lone["client"], lone["inclusion"], lone["mean_inclusion"]) == (
        1,
        "1/3",
        "5/12",
    )
    # without client 1, x* moves from 2/3 to 0
    assert lone["dropped_accuracy"] == "1"
    raised = found["algorithms"][0]["raised"]
    again = run(*FAST, "focus", "--law", "bernoulli:1/2,5/12", "--json").json
    assert raised["rounds"] == again["algorithms"][0]["rounds"]
    assert raised["fastest_rate"] == pytest.approx(
        float(Fraction(again["algorithms"][0]["fastest_rate"])), rel=1e-6
    )
    assert raised["rounds"] < found["algorithms"][0]["rounds"]
    text = run(*FAST, "focus", *LAW).stdout
    assert "rounds if raised" in text
    alike = run(*FAST, "focus", "--law", "uniform:1").stdout
    assert "all clients take part equally often" in alike
    assert "rounds if raised" not in alike


def test_who_drops_the_rarest_client_may_come_nearer_than_the_others_minimiser(run):
    # FedAvg on centres 1 and 2 stays near 1, whom it hears most, and that is x*
    dropped = ("--law", "bernoulli:9/10,1/10", "--curvatures", "1,1", "--centres=1,2")
    near = run("bias", "fedavg", *dropped, "--step-size", "1/1000", "--json").json
    centre = Fraction(near["algorithms"][0]["mean_fixed_point"][0])
    assert (centre - 1) ** 2 < Fraction(1, 4)
    every = ("--curvatures", "1,1,1", "--centres=0,1,2")
    text = run(*FAST, "fedavg", "--law", "bernoulli:1/20,9/10,1/10", *every).stdout
    assert "the others' minimiser is at the accuracy 0.25" in text


@pytest.mark.slow
def test_the_class_of_certificates_and_caps_is_written_out(run):
    def told(*problem):
        return " ".join(run(*FAST, "focus", *LAW, *problem).stdout.split())

    assert "for every problem with mu = 1, L = 3; that" in told("--curvatures", "1,3")
    ridge = told("--synthetic-ridge", "--dim", 2, "--samples", 5)
    assert "(rounded outward); that" in ridge
    concave = "--curvatures", "-1,3"
    none = told(*concave)
    assert "there are no certificates and no caps: strong convexity needs" in none
    assert "the Hessian of client 0 has a negative eigenvalue" in none
    assert "for every problem" not in none
    found = run(*FAST, "focus", *LAW, *concave, "--json").json
    for name in ("strong_convexity", "smoothness", "constants_rounded"):
        assert found[name] is None
    found = run(*FAST, "focus", *LAW, "--curvatures", "1,3", "--json").json
    assert (found["strong_convexity"], found["smoothness"]) == ("1", "3")


@pytest.mark.slow
def test_the_rarest_client_is_told_in_the_numbers_asked_for(run):
    asked = (*FAST, "focus", *LAW, "--json")
    exact, plain = run(*asked).json["rarest"], run(*asked, "--float").json["rarest"]
    assert (exact["inclusion"], exact["mean_inclusion"]) == ("1/3", "5/12")
    assert plain["inclusion"] == pytest.approx(1 / 3)
    assert plain["mean_inclusion"] == pytest.approx(5 / 12)


def test_a_log_becomes_a_law_that_the_other_commands_take(run, log, tmp_path):
    path, mask = log(Bernoulli([0.2, 0.5, 0.9]))
    out = tmp_path / "law.json"
    ran = run(*FAST, "focus", "--availability", path, "--write-law", out, "--json")
    told = ran.json["availability"]
    assert told["supports"] == "bernoulli"
    p = [str(Fraction(int(k), 200)) for k in mask.sum(axis=0)]
    assert told["inclusion"] == p
    assert told["law"] == "bernoulli:" + ",".join(p)
    assert ran.json["files"] == [str(out)]
    about = json.loads(out.read_text())["about"]
    assert about.startswith("fitted to log.csv: 200 rounds; supports: bernoulli; ")
    tables = run("law", f"file:{out}", "--json").json
    assert tables["inclusion"] == p
    row = ran.json["algorithms"][0]
    # the default problem has as many clients as the log
    again = run(
        "rate",
        "focus",
        "--law",
        f"file:{out}",
        "--step-size",
        row["fastest_step_size"],
        "--json",
    )
    assert again.json["mean_square_rate"] == row["fastest_rate"]
    advised = run(*FAST, "focus", "--law", f"file:{out}", "--json").json
    assert advised["algorithms"][0] == row


def test_the_text_of_a_log_has_estimates_tests_and_what_it_supports(run, log):
    path, _ = log(UniformCohort(4, 2))
    shown = run(*FAST, "fedavg", "--availability", path).stdout
    text = " ".join(shown.split())
    for part in (
        "200 rounds, 4 clients, 0 empty rounds",
        "fixed cohort size: every cohort has 2 of 4 clients",
        "uniform:2",
        "pairs of clients",
        "overlap of consecutive rounds",
        "intervals hold each p and q with probability 0.95",
    ):
        assert part in text
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_one_client_of_a_log_and_one_empty_round_are_said_to_be_one(run, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("round,client\n0,0\n1,0\n3,0\n")
    problem = ("--curvatures", 1, "--centres", 1, "--no-certify")
    shown = run("advise", "gradient_descent", *problem, "--availability", path).stdout
    assert "4 rounds, 1 client, 1 empty round" in " ".join(shown.split())


def test_a_log_with_memory_supports_no_law_and_says_so(run, log, tmp_path):
    modes = [Bernoulli([0.9, 0.8]), Bernoulli([0.1, 0.2])]
    path, mask = log(ModeChain([[0.9, 0.1], [0.1, 0.9]], modes))
    out = tmp_path / "law.json"
    # the last of the 200 rounds is empty, so it has no line
    setting = ("--availability", path, "--rounds", 200, "--write-law", out)
    ran = run(*FAST, "fedavg", *setting)
    assert "none: rounds are not independent of one another" in ran.stdout
    assert "the log supports none of the laws" in ran.stdout
    content = json.loads(out.read_text())
    chances = {tuple(o["clients"]): o["probability"] for o in content["outcomes"]}
    both = int((mask.sum(axis=1) == 2).sum())
    assert chances[0, 1] == str(Fraction(both, 200))


@pytest.mark.slow
def test_the_least_accuracy_is_allowed(run):
    found = run(*FAST, "focus", *LAW, "--accuracy", "1e-10", "--json").json
    assert found["setting"]["accuracy"] == "1/10000000000"
    assert found["algorithms"][0]["rounds"] > 0


def test_rounds_add_empty_ones(run, log):
    path, mask = log(Bernoulli([0.5, 0.5]), rounds=100)
    told = run(*FAST, "fedavg", "--availability", path, "--rounds", 400, "--json").json
    log_told = told["availability"]
    assert log_told["rounds"] == 400
    assert log_told["inclusion"][0] == str(Fraction(int(mask[:, 0].sum()), 400))
    assert log_told["empty_rounds"] == 300 + int((mask.sum(axis=1) == 0).sum())


@pytest.mark.slow
def test_a_log_that_does_not_say_how_many_rounds_there_were_is_told_so(run, log):
    path, _ = log(Bernoulli(["1/10"] * 2))
    missing = "none was empty before the log's first"
    for more, expected in (((), True), (("--rounds", 200), False)):
        shown = run(*FAST, "focus", "--availability", path, *more).stdout
        assert (missing in " ".join(shown.split())) is expected


@pytest.mark.slow
def test_a_problem_file_in_floats_and_a_client_that_never_came(run, log, tmp_path):
    stream = np.random.default_rng(0)
    data = tmp_path / "data.npz"
    features, targets = (
        stream.standard_normal((3, 9, 2)),
        stream.standard_normal((3, 9)),
    )
    np.savez(data, features=features, targets=targets, regularisation=0.1)
    path, _ = log(Bernoulli([0.5, 0.6]))
    setting = ("--problem", data, "--availability", path, "--json")
    found = run("advise", "focus", "fedavg", *setting).json
    assert found["availability"]["inclusion"][2] == "0"
    assert found["setting"]["arithmetic"] == "floats"
    assert found["constants_rounded"] is True
    assert any("1 client never took part" in note for note in found["notes"])
    rows = by_name(found)
    assert "positive probability" in rows["focus"]["certified_reason"]
    assert rows["fedavg"]["rounds"] is None
    law = ("--law", "bernoulli:1/2,1/2,1/4", "--no-certify", "--json")
    good = run("advise", "focus", "--problem", data, *law).json
    assert by_name(good)["focus"]["exact"] is False
    assert by_name(good)["focus"]["rounds"] > 0


@pytest.mark.slow
def test_floats_and_rationals_give_the_same_advice(run):
    exact = by_name(run(*FAST, *LAW, "--json").json)
    floats = by_name(run(*FAST, *LAW, "--float", "--json").json)
    for name, row in exact.items():
        other = floats[name]
        assert other["exact"] is False
        assert other["rounds"] == row["rounds"]
        assert other["fastest_step_size"] == row["fastest_step_size"]
        rate = float(Fraction(row["fastest_rate"]))
        assert other["fastest_rate"] == pytest.approx(rate, rel=1e-9)


@pytest.mark.slow
def test_a_client_that_never_comes_does_not_stop_the_search(run):
    # floats of its tables were no covariance in rationals by 1e-17
    found = run("advise", "scaffold", "--law", "bernoulli:1/2,0", "--no-certify")
    assert found.code == 0
    text = run(*FAST, "--law", "bernoulli:0,0").stderr
    assert text.startswith("error: focus, fedavg, scaffold: some step size must ")
    assert text.endswith("; use rate to see why.\n")
    assert text.count("some step size") == 1


def test_exit_codes_as_the_others(run):
    ran = run(*FAST, "fedau", *LAW)
    assert ran.code == 2
    assert ran.stderr.startswith("error: fedau: ")
    assert ran.stderr.count("\n") == 1
    told = run(*FAST, "fedau", *LAW, "--json")
    assert (told.code, told.json["status"]) == (2, "refused")
    assert told.stderr == f"error: {told.json['reason']}\n" == ran.stderr
    assert told.json["algorithms"][0]["refusal"] in told.json["reason"]
    assert run(*FAST, "fedau", "fedavg", *LAW).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody",), "an algorithm must be one of"),
        (("--law", "sometimes"), "a law must be one of"),
        (("--law", "file:none.json"), "none.json"),
        (("--accuracy", "0"), "--accuracy must be at least 1e-10"),
        (("--accuracy", "1"), "--accuracy must be at least 1e-10"),
        (("--accuracy", "1e-12"), "--accuracy must be at least 1e-10"),
        (("--accuracy", "much"), "--accuracy: a number must be"),
        (("--rounds", "9"), "--rounds must come with --availability"),
        (("--write-law", "law.json"), "--write-law must come with --availability"),
        (("--availability", "none.csv"), "none.csv"),
        (("--availability", "a.csv", "--law", "full"), "--law must not come with"),
        (("--availability", "a.csv", "--rounds", "1"), "--rounds"),
        (("--set", "local_steps"), "--set must be NAME=VALUE"),
        (("--set", "speed=2"), "--set must name a setting"),
        (
            ("--set", "step_size=1/2"),
            "step_size, which is searched; got",
        ),
        (("--set", "focus.step_size=1/2"), "got 'focus.step_size=1/2'"),
        (("--set", "local_steps=2", "--local-steps", "3"), "and --local-steps; leave"),
        (("--accuracy", ""), "--accuracy: a number must be"),
        (("--law", ""), "a law must be one of"),
        (("--local-steps", "0"), "--local-steps"),
        (("--local-steps", "101"), "at most 100 local steps; got 101"),
        (("--n-clients", "1001"), "at most 1000 clients; got 1001"),
        (("--law", "full", "--curvatures", "1", "--n-clients", "1001"), "1000 clients"),
        (("--problem", "none.npz"), "none.npz"),
        (
            ("--curvatures", "1,2", "--centres", "0"),
            "the minimiser of this problem is 0",
        ),
        (("--curvatures", "1,-3"), "must"),
    ],
)
def test_wrong_arguments_are_one_sentence(
    fails, arguments, said, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert said in fails(*FAST, *arguments)
    assert said in fails(*FAST, *arguments, "--json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("round,client\n0,0\n1,5\n", "line 3"),
        ("round,client\n0,0\n0,0\n", "line 3"),
        ("round,client\n0,0\n1,-1\n", "line 3"),
        ("round,client\n0,0\n1,a\n", "line 3"),
        ("0,0\n1,1\n", "line 1"),
    ],
)
def test_bad_lines_leave_no_law_behind(fails, write, tmp_path, text, said):
    path, out = write("log.csv", text), tmp_path / "law.json"
    setting = ("--n-clients", 2, "--availability", path, "--write-law", out)
    assert said in fails(*FAST, *setting)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.csv"]


def test_bad_settings_leave_no_law_behind_and_old_files_alone(fails, log, tmp_path):
    path, _ = log(Bernoulli([0.5, 0.5]))
    out = tmp_path / "law.json"
    out.write_text("mine", encoding="utf-8")
    setting = ("--availability", path, "--write-law", out)
    fails(*FAST, "fedavg", *setting, "--set", "server_step_size=-1")
    fails(*FAST, *setting, "--accuracy", "2")
    assert out.read_text() == "mine"
    said = fails(*FAST, "--availability", path, "--write-law", tmp_path / "no" / "law")
    assert "must lie in a folder" in said
    before = path.read_text()
    said = fails(*FAST, "--availability", path, "--write-law", path)
    assert "another file than --availability" in said
    assert path.read_text() == before
    assert "it is a folder" in fails(
        *FAST, "--availability", path, "--write-law", tmp_path
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"n_clients": 2}, "must hold either law or outcomes"),
        ({"law": "full", "outcomes": []}, "must hold either law or outcomes"),
        ({"law": "bernoulli:1/2,1/3", "n_clients": 3}, "n_clients must agree"),
        ({"law": "full", "who": "me"}, "must hold an object with perhaps about, law"),
        ({"law": "file:law.json", "n_clients": 2}, "nested deeper"),
        ({"law": 7, "n_clients": 2}, "must"),
    ],
)
def test_bad_files_of_laws(fails, write, content, said):
    path = write("law.json", content)
    assert said in fails("law", f"file:{path}")


def test_a_file_may_name_another_law_and_its_clients(run, write):
    path = write("law.json", {"law": "uniform:2", "n_clients": 5, "about": "a guess"})
    assert run("law", f"file:{path}", "--json").json["inclusion"] == ["2/5"] * 5
    other = write("other.json", {"law": "nonempty:file:law.json"})
    assert run("law", f"file:{other}", "--json").json["n_clients"] == 5


def test_sizes_that_nobody_would_wait_for_are_refused_before_a_law_is_fitted(
    fails, tmp_path, monkeypatch
):
    monkeypatch.setattr(_advising, "fit", None)
    (tmp_path / "log.csv").write_text("round,client\n0,0\n1,1000\n")
    said = fails("advise", "--availability", tmp_path / "log.csv")
    assert "at most 1000 clients; got 1001" in said


@pytest.mark.slow
def test_nobody_is_rare_where_nothing_is_random(run):
    asked = ("--curvatures", "1,2", "--centres", "1,2", "--no-certify")
    law = ("--law", "bernoulli:1/2,1/3")
    for words in (("gradient_descent", *law), ("focus",)):
        assert "rarest" not in run("advise", *words, *asked).stdout
        assert run("advise", *words, *asked, "--json").json["rarest"] is None
    alone = run("advise", "gradient_descent", *law, *asked)
    assert "averaging weights" not in alone.stdout
    both = run("advise", "gradient_descent", "focus", *law, *asked).stdout
    assert "rarest client  1, p = 0.3333" in both
    assert "averaging weights" in both


def test_an_accuracy_that_is_met_exactly_is_met(run):
    # a coin that lands brings the model to x*, so that the error halves every round
    asked = ("scaffold", "--law", "allornothing:1/2", "--curvatures", "5,3")
    asked += ("--centres", "2,-2", "--accuracy", "1/2", "--json")
    found = run(*FAST, *asked).json["algorithms"][0]
    assert (found["fastest_step_size"], found["rounds"]) == ("1/4", 1)

"""`flverify certify`: rates by hand and by the moments engine, refusals, bad input."""

from __future__ import annotations

import errno
import json
import re
from fractions import Fraction

import numpy as np
import pytest

from flverify.certify.check import check
from flverify.certify.rates import Certified
from flverify.commands import _certifying

CLASS = ("--mu", "1/10", "--smoothness", 1)
TWO = ("--n-clients", 2, "--participation", "bernoulli:1/2")
FOCUS = ("certify", "focus", *TWO, *CLASS, "--step-size", "1/5")
DRIFT = (
    *("certify", "fedavg", "--n-clients", 2, *CLASS),
    *("--step-size", "1/10", "--local-steps", 2),
)
CLOSE = Fraction(2, 10**5)


def words(ran):
    return " ".join(ran.stdout.split())


# -- what is certified ----------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "worst"), [("1/8", 0), ("9/20", 0), ("19/20", 1)], ids=str
)
def test_gradient_descent_has_the_rate_of_the_textbook(run, step, worst):
    # on the sum of two f_i: (1 - 2 eta mu)^2 or (1 - 2 eta L)^2
    eta = Fraction(step)
    rates = [(1 - 2 * eta / 10) ** 2, (1 - 2 * eta) ** 2]
    asked = ("certify", "gradient_descent", "--n-clients", 2, *CLASS)
    found = run(*asked, "--step-size", step, "--json")
    assert found.code == 0
    assert max(rates) == rates[worst]
    assert found.json["lower_bound"] == str(rates[worst])
    assert 0 <= Fraction(found.json["rate"]) - rates[worst] <= CLOSE
    assert found.json["printed_rate"] is None


def test_focus_is_certified_close_to_what_the_moments_engine_finds(run):
    found = run(*FOCUS, "--json").json
    # the rate of the worst quadratic, by the engine behind `flverify rate`
    own = ("--law", "bernoulli:1/2", "--step-size", "1/5")
    rated = run("rate", "focus", *own, "--curvatures", "1/10,1/10", "--json").json
    low, high = (Fraction(end) for end in rated["mean_square_rate_interval"])
    bound = Fraction(found["lower_bound"])
    assert low - Fraction(1, 10**9) <= bound <= high
    assert found["quadratic"] == "f_i = h_i x^2/2 with h_i = 1/10 at 2 clients"
    assert 0 <= Fraction(found["rate"]) - low <= CLOSE
    assert Fraction(found["gap"]) == Fraction(found["rate"]) - bound
    assert (found["status"], found["reason"]) == ("certified", None)
    assert found["level"] == found["certificate"]["level"]
    # Theorem 1 prints 1 - eta mu N / 2, and promises nothing beyond its step sizes
    assert (found["printed_rate"], found["printed_inside"]) == ("49/50", False)
    assert found["printed_cap"] == "1/180"  # 3 mu/(27 N L^2)


def test_one_client_a_round_has_the_printed_rate_of_sag(run):
    # 1 - min{mu/(16 L), 1/(8 N)}, at N eta = 1/(16 L) alone
    setting = ["--n-clients", "5", "--law", "uniform:1", *CLASS]
    found = run("certify", "focus", *setting, "--step-size", "1/80", "--json").json
    assert (found["printed_rate"], found["printed_inside"]) == ("159/160", True)
    assert found["printed_by"].startswith("schmidt2017")
    assert Fraction(found["lower_bound"]) <= Fraction(found["printed_rate"])
    text = words(run("certify", "focus", *setting, "--step-size", "1/80"))
    assert "it is about the step size 1/80 = 0.0125 alone" in text
    other = run("certify", "focus", *setting, "--step-size", "1/81", "--json").json
    assert other["printed_by"].startswith("focus")


@pytest.mark.parametrize("step", ["1/180", "1/179", "1000"])
def test_a_printed_rate_is_not_promised_beyond_its_step_sizes(run, step):
    asked = ("certify", "focus", *TWO, *CLASS, "--step-size", step)
    inside = step == "1/180"
    printed = 1 - Fraction(step) / 10  # 1 - eta mu N/2
    rate = str(printed) if printed >= 0 else None
    found = run(*asked, "--json").json
    assert (found["printed_rate"], found["printed_inside"]) == (rate, inside)
    text = words(run(*asked))
    assert "its step sizes end at 1/180" in text
    assert ("which the step size keeps" in text) == inside
    assert ("not promised here" in text) != inside
    assert ("printed rate none" in text) == (rate is None)


def test_the_object_repeats_the_setting(run):
    law = ("--law", "uniform:2", "--n-clients", 4, "--strong-convexity", "0.1")
    asked = ("certify", "scaffold", *law, "--smoothness", "1", "--step-size", "0.1")
    found = run(*asked, "--local-steps", 2, "--json").json
    assert found["setting"] == {
        "algorithm": "scaffold",
        "settings": {**found["setting"]["settings"], "local_steps": 2},
        "law": "uniform:2",
        "n_clients": 4,
        "strong_convexity": "1/10",
        "smoothness": "1",
        "polyak_lojasiewicz": None,
        "rate": None,
    }
    assert found["setting"]["settings"]["step_size"] == "1/10"
    rate = Fraction(found["rate"])
    # the mean of two clients with equal f_i is gradient descent of two steps
    assert abs(rate - Fraction(99, 100) ** 4) <= CLOSE


def test_the_coin_of_proxskip_is_that_of_the_law(run):
    asked = ("certify", "proxskip", "--n-clients", 3, *CLASS, "--step-size", "1/5")
    found = run(*asked, "--law", "allornothing:1/2", "--json").json
    assert found["setting"]["settings"]["probability"] == "1/2"
    assert found["notes"][-1] == "probability is 1/2, from the law"
    # its theorem: max{1 - eta mu, 1 - p^2} in another norm
    assert found["status"] == "certified"
    assert Fraction(found["rate"]) <= 1 - Fraction(1, 50)
    everybody = run(*asked, "--json").json
    assert everybody["setting"]["settings"]["probability"] == "1"


def test_clients_may_take_part_with_unequal_probabilities(run):
    law = ("--participation", "bernoulli:1/2,1/5", *CLASS, "--step-size", "1/5")
    found = run("certify", "focus", *law, "--json").json
    assert found["status"] == "certified"
    assert found["setting"]["n_clients"] == 2
    assert "h_i = 1 at 1 client of probability 1/5" in found["quadratic"]
    own = ("--law", "bernoulli:1/2,1/5", "--step-size", "1/5")
    rated = run("rate", "focus", *own, "--curvatures", "1/10,1", "--json").json
    high = Fraction(rated["mean_square_rate_interval"][1])
    assert Fraction(found["lower_bound"]) <= high <= Fraction(found["rate"])


def test_smoothness_and_step_size_only_count_together(run):
    other = ("--mu", "1/5", "--smoothness", 2, "--step-size", "1/10")
    scaled = run("certify", "focus", *TWO, *other, "--json").json
    found = run(*FOCUS, "--json").json
    assert (scaled["rate"], scaled["lower_bound"]) == (
        found["rate"],
        found["lower_bound"],
    )


def test_the_text_says_all_of_it(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run(*FOCUS, "--out", "cert.json")
    size = (tmp_path / "cert.json").stat().st_size
    text = words(ran)
    assert (ran.code, ran.stderr) == (0, "")
    for part in (
        "focus with step_size = 1/5, local_steps = 1",
        "bernoulli:1/2, 2 clients",
        "mu = 1/10, L = 1",
        "status certified",
        "E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 M) for every r.",
        "lower bound > 0.91811",
        "printed rate 49/50 = 0.98, not promised here, by focus, Theorem 1",
        "its step sizes end at 1/180",
        f"certificate {size} bytes, written to cert.json",
    ):
        assert part in text, part


def test_a_cap_that_is_a_root_is_worded_as_one(run):
    law = ("--n-clients", 9, "--law", "uniform:2", *CLASS)
    # q_min^(3/2)/(8 L sqrt N) with q_min = 1/9 and 3 mu/(27 N L^2) are rational
    ran = run("certify", "focus", *law, "--step-size", "1/1000", "--json")
    assert ran.json["printed_cap"] == str(min(Fraction(1, 648), Fraction(1, 810)))
    law = ("--n-clients", 2, "--law", "bernoulli:1/10", *CLASS)
    ran = run("certify", "focus", *law, "--step-size", "1/100000")
    q = (1 - 0.9**2) / 2
    root = q**1.5 / (8 * 2**0.5)
    assert f"end at a root above {root:.5g}"[:-1] in words(ran)
    assert "which the step size keeps" in words(ran)


def test_neighbours_of_a_biased_method(run):
    found = run(*DRIFT, "--json").json
    assert (found["status"], found["question"]) == ("certified", "contraction")
    rate = Fraction(found["rate"])
    # two local steps of size 1/10 on curvature 1/10, squared
    worst = Fraction(99, 100) ** 4
    assert found["lower_bound"] == str(worst)
    assert 0 <= rate - worst <= 2 * CLOSE
    assert found["certificate"]["kind"] == "neighbourhood"
    assert "+ c/(1 - rho) M for every r." in found["statement"]
    assert Fraction(found["constant"]) > 0
    # eq. (58) prints 1 - eta mu/2 per local step
    assert found["printed_rate"] == str(Fraction(199, 200) ** 2)


def test_the_distance_of_a_biased_method(run):
    found = run(*DRIFT, "--neighbourhood", "--json").json
    assert (found["status"], found["question"]) == ("certified", "distance")
    assert (found["rate"], found["gap"]) == (None, None)
    # the s of the statement
    assert found["weight"] == found["certificate"]["neighbourhood"]["weight"] == "1"
    # found once by other code: .009349, N = 2, tau = 2, full, eta = .1
    assert float(Fraction(found["constant"])) == pytest.approx(0.009349, abs=1e-6)
    # and no analysis can do better than the biased point of two quadratics
    h = (Fraction(1, 10), Fraction(1))
    maps = [(1 - value / 10) ** 2 for value in h]
    centres = (Fraction(1), Fraction(-1, 10))  # so that x* = 0
    point = sum((1 - m) * c for m, c in zip(maps, centres, strict=True)) / (
        2 - sum(maps)
    )
    spread = sum((a * c) ** 2 for a, c in zip(h, centres, strict=True)) / 2
    assert point**2 / spread <= Fraction(found["constant"])
    # which other functions come up to
    least = Fraction(found["constant_at_least"])
    assert point**2 / spread <= least <= Fraction(found["constant"])
    assert Fraction(found["constant"]) <= least * Fraction(10001, 10000)
    text = words(run(*DRIFT, "--neighbourhood"))
    assert "c at least > 0.0093" in text
    assert "of the contraction, on f_i" in text


def test_quadratics_say_how_far_the_drawing_moves_the_model(run):
    some = ("--n-clients", "4", "--law", "uniform:2", *CLASS, "--local-steps", "2")
    asked = ("certify", "fedavg", *some, "--step-size", "1/10", "--neighbourhood")
    found = run(*asked, "--json").json
    least = Fraction(found["constant_at_least"])
    assert least <= Fraction(found["constant"]) <= least * Fraction(103, 100)
    assert "g_i = -1 at 1 client" in found["constant_on"]
    assert "c at least 19900/59403 > 0.3349" in words(run(*asked))


def test_no_such_quadratics_are_known_of_many_clients(run):
    many = ("--n-clients", "21", "--law", "uniform:2", *CLASS, "--local-steps", "2")
    asked = ("certify", "fedavg", *many, "--step-size", "1/10", "--neighbourhood")
    found = run(*asked, "--json").json
    assert (found["constant_at_least"], found["constant_on"]) == (None, None)
    assert "c at least" not in run(*asked).stdout


def test_clients_that_disagree_are_told_apart_by_their_probability(run):
    some = ("--n-clients", "3", "--law", "bernoulli:1/2,1/2,1/3", *CLASS)
    asked = ("certify", "fedavg", *some, "--local-steps", "2", "--step-size", "1/10")
    on = run(*asked, "--neighbourhood", "--json").json["constant_on"]
    assert "g_i = -2 at 1 client of probability 1/3" in on


def test_one_local_step_of_everybody_has_no_neighbourhood(run, fails):
    asked = ("certify", "fedavg", "--n-clients", 2, *CLASS, "--step-size", "1/10")
    found = run(*asked, "--json").json
    assert (found["question"], found["status"]) == ("rate", "certified")
    assert abs(Fraction(found["rate"]) - Fraction(99, 100) ** 2) <= CLOSE
    assert "stays there" in fails(*asked, "--neighbourhood")


# -- one rate -------------------------------------------------------------------


def test_a_rate_between_gets_a_yes(run, tmp_path):
    path = tmp_path / "cert.json"
    ran = run(*FOCUS, "--rate", "23/25", "--out", path, "--json")
    assert (ran.code, ran.json["rate"]) == (0, "23/25")
    assert check(json.loads(path.read_text())).rho == Fraction(23, 25)


def test_a_rate_below_the_worst_quadratic_is_no_at_once(run, monkeypatch, tmp_path):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(_certifying, "certify", never)
    monkeypatch.chdir(tmp_path)
    ran = run(*FOCUS, "--rate", "0.918", "--out", "cert.json")
    assert ran.code == 1
    assert "the rate 459/500 lies below what the class allows" in words(ran)
    assert "on f_i = h_i x^2/2 with h_i = 1/10 at 2 clients the factor" in words(ran)
    assert "certificate none; cert.json was not written" in words(ran)
    assert list(tmp_path.iterdir()) == []
    found = run(*FOCUS, "--rate", "0.918", "--json").json
    assert (found["status"], found["certificate"]) == ("not_certified", None)
    assert found["rate"] is None


def test_no_certificate_is_never_worded_as_divergence(run):
    law = ("--participation", "bernoulli:1/2,1/5", *CLASS, "--step-size", "1/5")
    asked = ("certify", "focus", *law, "--rate", "0.976022")  # 1e-6 above quadratics
    ran = run(*asked)
    assert ran.code == 1
    assert "status not certified" in words(ran)
    assert "the ansatz found no certificate of the rate 488011/500000" in words(ran)
    assert "says nothing about the method" in words(ran)
    for word in ("diverge", "not converge", "fails"):
        assert word not in words(ran)
    found = run(*asked, "--json").json
    assert found["status"] == "not_certified"
    assert Fraction(found["lower_bound"]) < Fraction("0.976022")


def test_a_method_that_grows_on_a_quadratic_is_told_so(run):
    asked = ("certify", "gradient_descent", "--n-clients", 2, *CLASS)
    ran = run(*asked, "--step-size", 1, "--json")
    assert ran.code == 1
    # at eta N L = 2 the iterate turns sign for ever
    assert (ran.json["status"], ran.json["lower_bound"]) == ("not_certified", "1")
    assert "the class allows no rate below 1" in ran.json["reason"]
    assert "h_i = 1 at 2 clients" in ran.json["reason"]


# -- faults of a search ---------------------------------------------------------


def test_a_certificate_below_the_bound_is_a_contradiction(run, monkeypatch, tmp_path):
    honest = _certifying.worst_quadratic

    def wrong(*setting):
        found = honest(*setting)
        return type(found)(
            found.instance, 0.95, Fraction(19, 20), found.tried, found.inside
        )

    monkeypatch.setattr(_certifying, "worst_quadratic", wrong)
    path = tmp_path / "cert.json"
    ran = run(*FOCUS, "--out", path, "--json")
    assert ran.code == 1
    assert (ran.json["status"], ran.json["rate"]) == ("inconclusive", None)
    assert "a contradiction" in ran.json["reason"]
    assert ran.json["certificate"] is None
    assert not path.exists()


def test_a_solver_that_fails_is_inconclusive(run, monkeypatch):
    word = "slots: the solver stopped with NumericalError"
    monkeypatch.setattr(
        _certifying, "certify", lambda *_, **__: Certified("inconclusive", word)
    )
    ran = run(*FOCUS, "--json")
    assert (ran.code, ran.json["status"]) == (1, "inconclusive")
    assert ran.json["reason"] == word
    assert "status inconclusive" in words(run(*FOCUS))


@pytest.mark.parametrize("fault", [np.linalg.LinAlgError, OverflowError])
def test_floats_that_fail_are_inconclusive(run, monkeypatch, fault):
    def fail(*_, **__):
        raise fault("too large")

    monkeypatch.setattr(_certifying, "certify", fail)
    ran = run(*FOCUS, "--json")
    assert (ran.code, ran.json["status"]) == (1, "inconclusive")
    assert "too large" in ran.json["reason"]


@pytest.mark.parametrize("mu", ["1/10", "1e399"])
def test_a_class_beyond_floats_gets_a_reason_that_says_what_to_do(run, mu):
    beyond = ["--mu", mu, "--smoothness", "1e400", "--step-size", "1e-401"]
    ran = run("certify", "focus", *TWO, *beyond, "--json")
    assert (ran.code, ran.json["status"]) == (1, "inconclusive")
    assert re.search("range of floats.*choose (a )?smaller", ran.json["reason"])


@pytest.mark.parametrize("step", ["1e-400", "1e-100", "1e-9", "1e9", "1e100"])
def test_extreme_step_sizes_get_an_answer(run, step):
    ran = run("certify", "focus", *TWO, *CLASS, "--step-size", step, "--json")
    assert ran.code == 1
    assert ran.json["status"] in ("not_certified", "inconclusive")
    assert ran.json["reason"]


def test_a_gap_to_1_that_floats_take_for_0_is_inconclusive(run):
    flat = ("--mu", "1e-400", "--smoothness", 1, "--step-size", "1/5")
    ran = run("certify", "focus", *TWO, *flat, "--json")
    assert (ran.code, ran.json["status"]) == (1, "inconclusive")
    assert ran.json["reason"].endswith("ask for a rate of your own")


def test_constants_beyond_the_squares_of_floats_are_inconclusive(run):
    far = ("--mu", "1e-300", "--smoothness", "1e300", "--step-size", "1/5")
    ran = run("certify", "focus", *TWO, *far, "--json")
    assert (ran.code, ran.json["status"]) == (1, "inconclusive")
    assert "must lie within the range of floats" in ran.json["reason"]


@pytest.mark.parametrize(
    "asked",
    [
        ("rate", "fedavg", "--float", "--step-size", "1/10"),
        ("advise", "fedavg", "--no-certify", "--float"),
    ],
)
def test_long_laws_are_shortened_by_every_command(run, asked):
    law = "bernoulli:" + ",".join(["1/2"] * 12 + ["1/3"])
    text = " ".join(run(*asked, "--law", law).stdout.split())
    assert "bernoulli: 12 times 1/2, 1/3" in text


def test_a_long_law_is_shortened_and_whole_in_the_object(run):
    law = "bernoulli:" + ",".join(["1/2"] * 13)
    asked = ("certify", "focus", *CLASS, "--law", law, "--step-size", "1/50")
    assert "bernoulli: 13 times 1/2, 13 clients" in words(run(*asked))
    assert run(*asked, "--json").json["setting"]["law"] == law


def test_long_numbers_are_shortened_and_whole_in_the_object(run):
    smooth, step, rate = "7" * 401, "1/" + "9" * 401, "1/" + "3" * 401
    asked = ("certify", "focus", *TWO, "--mu", 1)
    far = (*asked, "--smoothness", smooth, "--step-size", step)
    assert "mu = 1, L = 7777777777...(401 digits)" in words(run(*far))
    assert "step_size = 1/9999999999...(401 digits)" in words(run(*far))
    told = run(*far, "--json").json["setting"]
    assert (told["smoothness"], told["settings"]["step_size"]) == (smooth, step)
    low = (*asked, "--smoothness", 2, "--step-size", "1/9", "--rate", rate)
    assert "the rate 1/3333333333...(401 digits) lies below" in words(run(*low))


# -- files ----------------------------------------------------------------------


def test_what_is_written_is_what_check_accepts(run, tmp_path):
    path = tmp_path / "cert.json"
    made = run(*FOCUS, "--out", path, "--json").json
    assert json.loads(path.read_text()) == made["certificate"]
    assert path.stat().st_size == made["certificate_bytes"]
    proved = run("check", path, "--json")
    assert proved.code == 0
    for key in ("C1", "C2", "statement"):
        assert proved.json[key] == made[key]
    assert proved.json["rho"] == made["rate"]
    assert [p.name for p in tmp_path.iterdir()] == ["cert.json"]


def test_a_file_stays_as_it_was_if_nothing_is_certified(run, write):
    path = write("cert.json", "before")
    ran = run(*FOCUS, "--rate", "1/2", "--out", path)
    assert ran.code == 1
    assert path.read_text() == "before"


def test_a_certificate_without_room_is_printed(run, tmp_path, full_later, monkeypatch):
    path = tmp_path / "cert.json"
    ran = run(*FOCUS, "--out", path)
    assert ran.code == 2
    assert ran.stderr.count("\n") == 1
    assert "No space left" in ran.stderr
    assert "save the certificate from the output" in ran.stderr
    assert "printed below" in ran.stdout
    monkeypatch.undo()
    path.write_text(ran.stdout[ran.stdout.index("{") :])
    assert run("check", path).code == 0


def test_a_certificate_without_room_is_in_the_object(run, tmp_path, full_later):
    ran = run(*FOCUS, "--out", tmp_path / "cert.json", "--json")
    assert ran.code == 2
    assert ran.json["status"] == "certified"
    assert check(ran.json["certificate"]).rho == Fraction(ran.json["rate"])
    assert "No space left" in ran.json["notes"][-1]
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_met_before_the_search(run, tmp_path, monkeypatch):
    def stop(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", stop)
    monkeypatch.setattr("flverify.commands.certify.answer", None)
    ran = run(*FOCUS, "--out", tmp_path / "cert.json")
    assert (ran.code, ran.stdout) == (2, "")
    assert f"{tmp_path / 'cert.json'} is not: No space left" in ran.stderr
    assert not list(tmp_path.iterdir())


# -- refusals and bad input -----------------------------------------------------

CHAIN = {
    "transition": [["1/2", "1/2"], ["1/2", "1/2"]],
    "laws": ["uniform:1", "uniform:1"],
    "n_clients": 2,
}
HERE = (*TWO, *CLASS, "--step-size", "1/5")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fedau", *HERE], "must be for one of fedavg, feddyn, fedprox, fedvarp"),
        (["agnostic_fedavg", *HERE, "--set", "projection=ball:1"], "for one of"),
        (["weighted_fedavg", *HERE], "a certificate must be for one of"),
        (["focus", *HERE, "--law", "nonempty:bernoulli:1/2"], "or all-or-nothing"),
        (["focus", *HERE, "--law", "successive:1:1,2"], "or all-or-nothing"),
        (["focus", *HERE, "--law", "bernoulli:0,1/2"], "positive probability"),
        (["focus", *HERE, "--law", "allornothing:0"], "positive probability"),
        (["focus", *HERE, "--neighbourhood"], "methods that move away from x*"),
    ],
)
def test_refusals_have_a_reason_and_an_object(run, fails, arguments, says):
    assert says in fails("certify", *arguments)
    ran = run("certify", *arguments, "--json")
    assert (ran.code, ran.json["status"]) == (2, "refused")
    assert says in ran.json["reason"]
    assert ran.json["certificate"] is ran.json["rate"] is None
    assert ran.stderr == f"error: {ran.json['reason']}\n"


def test_a_chain_is_refused(run, fails, write, tmp_path):
    law = f"chain:{write('chain.json', CHAIN)}"
    asked = ("certify", "focus", *HERE, "--law", law)
    assert "use rate for this law" in fails(*asked, "--out", tmp_path / "cert.json")
    assert run(*asked, "--json").json["status"] == "refused"
    assert not (tmp_path / "cert.json").exists()


def test_a_law_that_the_checker_cannot_play_is_refused(fails):
    law = ("--n-clients", 30000, "--law", "bernoulli:1/2", *CLASS)
    message = fails("certify", "focus", *law, "--step-size", "1e-5")
    assert "one that the checker can play out" in message
    assert "too many" in message


def test_too_many_classes_are_refused(fails):
    chances = "bernoulli:1/2,1/3,1/4,1/5,1/6"
    asked = ("certify", "focus", *CLASS, "--step-size", "1/9", "--law", chances)
    assert "at most 4 classes" in fails(*asked)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing argument"),
        (["focus", "scaffold", *HERE], "unexpected extra argument"),
        (["nonsense", *HERE], "a certificate must be for one of"),
        (["sag", *HERE], "for one of fedavg, feddyn, fedprox, fedvarp, focus,"),
        (
            ["focus", *TWO, "--smoothness", 1, "--step-size", 1],
            "one of --mu and --pl must say which functions are meant",
        ),
        (["focus", *TWO, "--mu", "0.1", "--step-size", 1], "'--smoothness'"),
        (["focus", *TWO, *CLASS], "Missing option '--step-size'"),
        (["focus", *CLASS, "--step-size", 1], "add --n-clients"),
        (["focus", *HERE[2:4], *CLASS, "--step-size", 1], "add --n-clients"),
        (["focus", *HERE, "--n-clients", 0], "not in the range"),
        (["focus", *HERE, "--n-clients", 100_001], "between 1 and 100000; got 100001"),
        (["focus", *HERE, "--law", "bernoulli:1/2,1/3,1/4"], "the same clients"),
        (["focus", *HERE, "--law", "bernoulli:3/2"], "must lie in [0, 1]"),
        (["focus", *HERE, "--law", "bernoulli:-1/2"], "must lie in [0, 1]"),
        (["focus", *HERE, "--law", "bernoulli:x"], "a number of the law must be"),
        (["focus", *HERE, "--law", "uniform:3"], "between 1 and 2"),
        (["focus", *HERE, "--law", "foo"], "a law must be one of"),
        (["focus", *HERE, "--law", ""], "a law must be one of"),
        (["focus", *HERE, "--mu", 1], "--mu must be below --smoothness; got 1 and 1"),
        (["focus", *HERE, "--mu", 2], "--mu must be below --smoothness"),
        (["focus", *HERE, "--mu", "1e300"], "got 1000000000...(301 digits) and 1"),
        (["focus", *HERE, "--mu", 0], "--mu must be positive"),
        (["focus", *HERE, "--mu=-1"], "--mu must be positive"),
        (["focus", *HERE, "--mu", "nan"], "--mu: a number must be"),
        (["focus", *HERE, "--smoothness", "inf"], "--smoothness: a number must be"),
        (["focus", *HERE, "--smoothness", "1/0"], "--smoothness: a number must be"),
        (["focus", *HERE, "--step-size", 0], "--step-size must be positive"),
        (["focus", *HERE, "--step-size=-1/5"], "--step-size must be positive"),
        (["focus", *HERE, "--step-size", "nan"], "--step-size: a number must be"),
        (["focus", *HERE, "--local-steps", 0], "not in the range"),
        (["focus", *HERE, "--local-steps", "1.5"], "'1.5' is not a whole number"),
        (["gradient_descent", *HERE, "--local-steps", 2], "local_steps"),
        (["gradient_descent", *HERE, "--local-steps", 2], "must be 1; got 2"),
        (["focus", *HERE, "--set", "foo=1"], "--set must name a setting"),
        (["focus", *HERE, "--set", "step_size=1"], "and --step-size; leave one"),
        (["focus", *HERE, "--set", "focus.step_size=1"], "and --step-size; leave one"),
        (
            ["focus", *HERE, "--local-steps", 2, "--set", "local_steps=3"],
            "and --local-steps; leave one",
        ),
        (["focus", *HERE, "--set", "foo"], "NAME=VALUE"),
        (["focus", *HERE, "--set", "empty_round=jump"], "focus: empty_round must be"),
        (["proxskip", *HERE], "the coin's probability must be known"),
        (["focus", *HERE, "--rate", 1], "--rate must be below 1"),
        (["focus", *HERE, "--rate", "3/2"], "--rate must be below 1"),
        (["focus", *HERE, "--rate", 0], "--rate must be positive"),
        (["focus", *HERE, "--rate=-1/2"], "--rate must be positive"),
        (["focus", *HERE, "--rate", "nan"], "--rate: a number must be"),
        (["focus", *HERE, "--rate", ""], "--rate: a number must be"),
        (["focus", *HERE, "--rate", "1/2", "--neighbourhood"], "leave one out"),
        (["focus", *HERE, "--out", "missing/cert.json"], "folder"),
        (["focus", *HERE, "--out", "."], "must name a file"),
        (["focus", *HERE, "--out", "c" * 300], "File name too long"),
        (["focus", *HERE, "--out", "/dev/null"], "--out must name a regular file"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_input_gets_one_sentence(fails, arguments, says, as_json):
    assert says in fails("certify", *arguments, *["--json"] * as_json)


@pytest.mark.parametrize(
    "arguments",
    [
        ["focus", *HERE, "--mu", 1],
        ["proxskip", *HERE],
        ["nonsense", *HERE],
        ["focus", *HERE, "--out", "."],
        ["fedau", *HERE],
    ],
)
def test_every_refusal_after_the_options_is_an_object_too(run, arguments):
    ran = run("certify", *arguments, "--json")
    assert (ran.code, ran.json["status"]) == (2, "refused")
    assert ran.json["format"] == "flverify/certify"
    assert ran.stderr == f"error: {ran.json['reason']}\n"


def test_a_setting_without_an_option_given_may_be_set(run):
    found = run(*FOCUS, "--set", "local_steps=2", "--json").json
    assert found["setting"]["settings"]["local_steps"] == 2


def test_the_law_is_noted_where_it_has_an_effect(run):
    here = (*CLASS, "--step-size", "1/20", "--n-clients", 1)
    ran = run("certify", "gradient_descent", *here, "--law", "bernoulli:1/2")
    assert "the law has no effect on gradient_descent" in words(ran)
    assert "empty" not in words(ran)
    assert "law bernoulli:1/2, 1 client functions" in words(ran)
    plain = run("certify", "gradient_descent", *here, "--json").json
    assert plain["notes"] == []


def test_bad_input_writes_nothing(fails, tmp_path):
    fails(*FOCUS, "--mu", 1, "--out", tmp_path / "cert.json")
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_a_law_is_not_written_over(fails, write):
    whole = {"outcomes": [{"clients": [0, 1], "probability": 1}]}
    path = write("law.json", whole)
    law, before = f"nonempty:explicit:{path}", path.read_text()
    given = ("certify", "focus", *CLASS, "--step-size", "1/5", "--n-clients", 2)
    for flag in ("--law", "--participation"):
        said = fails(*given, flag, law, "--out", path)
        assert "--out must name another file than --participation" in said
    assert path.read_text() == before


def test_the_law_has_two_names_everywhere(run):
    asked = ("rate", "fedavg", "--json")
    by_law = run(*asked, "--law", "uniform:1")
    assert run(*asked, "--participation", "uniform:1").stdout == by_law.stdout
    by_name = run(*FOCUS, "--json").stdout
    law = ("--n-clients", 2, "--law", "bernoulli:1/2")
    assert run("certify", "focus", *law, *FOCUS[6:], "--json").stdout == by_name


def test_help_shows_an_example(run):
    text = run("certify", "--help").stdout
    assert "flverify certify focus --n-clients 2 --participation bernoulli:1/2" in text
    assert "flverify check cert.json" in text
    assert "fedavg, feddyn, fedprox, fedvarp, focus," in text
    assert "nothing about the method" in " ".join(text.split())


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("certify", ("--mu", "1/10", "--step-size", "1/5")),
        ("average", ("--step-size", "1/5")),
        ("region", ("--over", "kappa", "--values", "10", "--step-sizes", "1/5")),
    ],
)
def test_proxskip_says_where_it_has_certificates(run, command, asked):
    setting = ["--n-clients", "2", "--law", "uniform:1", "--smoothness", "1", *asked]
    ran = run(command, "proxskip", *setting, "--set", "probability=1/2")
    assert ran.code == 2
    assert "use --law full or allornothing:P" in ran.stderr


def test_the_other_variant_of_proxskip_has_certificates_in_each_command(run):
    setting = ("proxskip", "--n-clients", "2", "--law", "full", "--smoothness", "1")
    setting += ("--set", "variant=notebook", "--json")
    found = run("certify", *setting, "--mu", "1/10", "--step-size", "1/2")
    assert found.code == 0, found.stderr
    rate = Fraction(found.json["rate"])
    assert Fraction(81, 100) < rate < Fraction(91, 100)
    grid = ("--over", "kappa", "--values", "10", "--step-sizes", "1/2")
    cell = run("region", *setting, *grid).json["rows"][0]["cells"][0]
    assert abs(Fraction(cell["certified_rate"]) - rate) < Fraction(2, 10**5)
    assert run("average", *setting, "--step-size", "1/2").code == 0

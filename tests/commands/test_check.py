"""`flverify check`: what it proves, what it rejects, and what it imports."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from hashlib import sha256
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path

import pytest

import flverify
from flverify.algorithms import FedAvg, Focus
from flverify.certify.check import Rejected
from flverify.certify.check.plain import effort
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import certify
from flverify.commands.check import A_MOMENT
from flverify.participation import Bernoulli, UniformCohort
from flverify.reference import fedavg, focus

ROOT = Path(flverify.__file__).resolve().parent.parent
HEAVY = {"numpy", "scipy", "cvxpy", "clarabel", "sympy", "flint", "rich", "matplotlib"}
LIGHT = {
    "flverify",
    "flverify.cli",
    "flverify._core",
    "flverify._core.at_once",
    "flverify._core.errors",
    "flverify._core.paths",
    "flverify._core.sentences",
    "flverify._core.shown",
    "flverify._core.whole_files",
    "flverify.commands",
    "flverify.commands._places",
    "flverify.commands._refusals",
    "flverify.commands.check",
    "flverify.report",
    "flverify.report.certificates",
    "flverify.report.files",
    "flverify.certify",
    "flverify.certify.check",
}


@pytest.fixture(scope="module")
def rate():
    """FOCUS, two clients with unequal probabilities."""
    return certify(Focus("1/5"), Bernoulli(["1/2", "1/5"]), "1/10", 1).certificate


@pytest.fixture(scope="module")
def drift():
    """FedAvg with drift: one client of three, two local steps."""
    return contraction(FedAvg("1/5", 2), UniformCohort(3, 1), "1/2", 2).certificate


@pytest.fixture(scope="module")
def average():
    return distance(FedAvg("1/5", 2), UniformCohort(3, 1), "1/2", 2).certificate


def signed(certificate, **changes):
    """A certificate with other entries and the digest that belongs to them."""
    body = {**certificate, **changes}
    del body["digest"]
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return {**body, "digest": sha256(text.encode()).hexdigest()}


# -- accepted -------------------------------------------------------------------


def test_a_certificate_is_accepted_with_its_constants(run, write, rate):
    ran = run("check", write("c.json", rate))
    text = " ".join(ran.stdout.split())
    assert (ran.code, ran.stderr) == (0, "")
    assert text.startswith("accepted")
    assert "E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 M) for every r." in text
    assert "focus with step_size = 1/5, local_steps = 1" in text
    assert "1 with probability 1/2, 1 with probability 1/5" in text
    assert "mu = 1/10, L = 1" in text
    assert f"rho {rate['rho']} = " in text


def test_the_object_has_what_was_proved(run, write, rate):
    found = run("check", write("c.json", rate), "--json").json
    assert found["format"] == "flverify/check"
    assert (found["accepted"], found["reason"], found["kind"]) == (True, None, "rate")
    assert found["rho"] == rate["rho"]
    assert (found["C1"], found["C2"]) == (rate["start"]["C1"], rate["start"]["C2"])
    assert (found["weight"], found["constant"]) == (None, None)
    assert (found["n_clients"], found["law"]) == (2, rate["law"])
    assert (found["algorithm"], found["settings"]) == (
        "focus",
        rate["algorithm"]["settings"],
    )
    assert all(Fraction(p) >= 0 for p in found["smallest_pivots"].values())


def test_the_plain_checker_is_asked_where_it_is_quick(run, write, rate, drift, average):
    for k, certificate in enumerate((rate, drift, average)):
        path = write(f"{k}.json", certificate)
        once, twice = run("check", path), run("check", path, "--plain")
        assert (once.code, once.stderr) == (0, "")
        assert twice.stdout == once.stdout
        last = once.stdout.splitlines()[-1].split()
        assert last[:6] == ["plain", "accepted,", "with", "all", "cohorts", "or"]
        found = run("check", path, "--json").json
        assert (found["accepted"], found["plain"]) == (True, "accepted")
        assert run("check", path, "--plain", "--json").json == found


@pytest.mark.slow
def test_the_plain_checker_is_left_out_where_it_takes_long(run, write):
    many = certify(Focus("1/100"), Bernoulli(["1/2"] * 40), "1/10", 1).certificate
    path = write("c.json", many)
    assert effort(many) > A_MOMENT
    assert (
        "not asked, for it takes more than a moment; --plain asks"
        in run("check", path).stdout
    )
    assert run("check", path, "--json").json["plain"] is None
    assert run("check", path, "--plain", "--json").json["plain"] == "accepted"


def test_the_plain_checker_is_left_out_where_numbers_have_long_denominators(run, write):
    stored = ROOT / "tests" / "certify" / "data" / "scaffold_lifted.json"
    plain = json.loads(stored.read_text())
    assert effort(plain) < A_MOMENT
    assert run("check", write("plain.json", plain), "--json").json["plain"]
    V, bottom = copy.deepcopy(plain["V"]), 10**110
    for matrix in (V["mean"], *V["classes"]):
        for i, j in combinations_with_replacement(range(len(matrix)), 2):
            bottom += 1
            matrix[i][j] = str(Fraction(matrix[i][j]) + Fraction(1, bottom))
            matrix[j][i] = matrix[i][j]
    long = signed(plain, V=V)
    assert effort(long) > A_MOMENT
    found = run("check", write("long.json", long), "--json").json
    assert (found["accepted"], found["plain"]) == (True, None)


def test_a_statement_that_is_not_what_is_proved_is_rejected(run, write, rate):
    path = write("c.json", signed(rate, statement="everything converges at once"))
    ran = run("check", path)
    assert ran.code == 1
    assert "everything" not in ran.stdout
    assert "everything" not in run("check", path, "--json").stdout


# Quadratics (h_i/2)(x - c_i)^2 within the classes above, with minimisers that differ.


def mean_squares(loop, curvatures, centres, cohorts, rounds, **settings):
    """E|x_r - x*|^2 for r = 0, 1, ... from x_0 = 3, x* and mean|grad f_i(x*)|^2."""
    n = len(curvatures)
    best = sum(h * c for h, c in zip(curvatures, centres, strict=True))
    best /= sum(curvatures)

    def gradient(i, point):
        return [curvatures[i] * (point[0] - centres[i])]

    means = [Fraction(0)] * (rounds + 1)
    for chosen in product(cohorts, repeat=rounds):
        chance = Fraction(1)
        for _, p in chosen:
            chance *= p
        sets = [cohort for cohort, _ in chosen]
        models = loop.run(gradient, n, [Fraction(3)], sets, **settings)
        for r, (x,) in enumerate(models):
            means[r] += chance * (x - best) ** 2
    spread = sum(gradient(i, [best])[0] ** 2 for i in range(n)) / n
    return means, spread


def test_what_is_stated_of_a_rate_holds_on_plain_loops(run, write, rate):
    found = run("check", write("c.json", rate), "--json").json
    rho, first, second = (Fraction(found[key]) for key in ("rho", "C1", "C2"))
    p = (Fraction(1, 2), Fraction(1, 5))
    cohorts = [
        (set(s), (p[0] if 0 in s else 1 - p[0]) * (p[1] if 1 in s else 1 - p[1]))
        for size in range(3)
        for s in combinations(range(2), size)
    ]
    for curvatures in (
        (Fraction(1, 10), Fraction(1)),
        (Fraction(1, 2), Fraction(9, 10)),
    ):
        centres = (Fraction(-1), Fraction(2))
        settings = {"step_size": Fraction(1, 5), "local_steps": 1}
        means, spread = mean_squares(focus, curvatures, centres, cohorts, 5, **settings)
        for r, mean in enumerate(means):
            assert mean <= rho**r * (first * means[0] + second * spread)


def test_what_is_stated_of_neighbourhoods_holds_on_plain_loops(
    run, write, drift, average
):
    near = run("check", write("n.json", drift), "--json").json
    mean_of_rounds = run("check", write("a.json", average), "--json").json
    cohorts = [({i}, Fraction(1, 3)) for i in range(3)]
    settings = {"step_size": Fraction(1, 5), "local_steps": 2}
    curvatures = (Fraction(1, 2), Fraction(2), Fraction(1))
    centres = (Fraction(-2), Fraction(1), Fraction(4))
    means, m = mean_squares(fedavg, curvatures, centres, cohorts, 6, **settings)
    rho, c, first, second = (
        Fraction(near[key]) for key in ("rho", "constant", "C1", "C2")
    )
    assert near["weight"] == "0"
    for r, mean in enumerate(means):
        start = first * means[0] + second * m
        assert mean <= rho**r * start + c / (1 - rho) * m
    s, c, first, second = (
        Fraction(mean_of_rounds[key]) for key in ("weight", "constant", "C1", "C2")
    )
    assert s == 1
    for rounds in range(1, len(means)):
        start = first * means[0] + second * m
        assert sum(means[:rounds]) / rounds <= c * m + start / rounds
    # the bounds say something: far below what a start of the same size would allow
    assert c < 1 / Fraction(1, 2) ** 2


def test_neighbourhoods_are_worded_by_their_weight(run, write, drift, average):
    near = " ".join(run("check", write("n.json", drift)).stdout.split())
    assert "+ c/(1 - rho) M for every r." in near
    constant = Fraction(drift["neighbourhood"]["constant"])
    share = constant / (1 - Fraction(drift["rho"]))
    [told] = re.findall(
        r"c/\(1 - rho\) (?:< )?([0-9./]+)", near
    )  # rounded up if at all
    assert share <= Fraction(told) <= share * (1 + Fraction(1, 10**8))
    mean = " ".join(run("check", write("a.json", average)).stdout.split())
    assert "the average of E|x_r - x*|^2 over the first R rounds is at most" in mean
    assert "uniform cohort of 1 out of 3 clients" in mean


# -- rejected -------------------------------------------------------------------


@pytest.mark.parametrize("as_json", [False, True])
def test_a_better_rate_than_proved_is_rejected(run, write, drift, as_json):
    better = signed(drift, rho=str(Fraction(drift["rho"]) - Fraction(1, 1000)))
    ran = run("check", write("c.json", better), *["--json"] * as_json)
    assert (ran.code, ran.stderr) == (1, "")
    if as_json:
        assert ran.json["accepted"] is False
        assert "must be positive semidefinite" in ran.json["reason"]
    else:
        assert ran.stdout.startswith("rejected")
        assert "must be positive semidefinite" in " ".join(ran.stdout.split())


def test_other_changes_are_rejected(run, write, rate, drift):
    for changes, says in [
        ({"rho": "1"}, "rho must be below 1"),
        ({"rho": "981/1000"}, "decrease"),  # what was found is 0.981407
        ({"law": {"kind": "chain"}}, "law.kind must be one of"),
        ({"version": 2}, "version must be"),
        ({"algorithm": {**rate["algorithm"], "name": "fedau"}}, "algorithm.name"),
        ({"start": {**rate["start"], "C1": "1/2"}}, "start"),
        ({"more": 1}, "not one of them: ['more']"),
    ]:
        ran = run("check", write("c.json", signed(rate, **changes)))
        assert ran.code == 1
        assert says in " ".join(ran.stdout.split())
    for other in ({**rate, "rho": "99/100"}, {**drift, "digest": "0"}):
        ran = run("check", write("c.json", other))
        assert ran.code == 1
        assert "the digest must match" in ran.stdout


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_both_checkers_have_to_accept(run, write, monkeypatch, rate, as_json):
    def plain(_certificate, _watched):
        raise Rejected("start: every f_i must cancel")

    better = write("b.json", signed(rate, rho="9/10"))
    assert run("check", better, "--plain", *as_json).code == 1
    monkeypatch.setattr("flverify.commands.check.check_plainly", plain)
    path = write("c.json", rate)
    for asked in ((), ("--plain",)):
        ran = run("check", path, *asked, *as_json)
        assert (ran.code, ran.stderr) == (1, "")
        assert "by the plain checker: start: every f_i must cancel" in ran.stdout
        assert "accepted " not in ran.stdout
        assert not as_json or ran.json["accepted"] is False


@pytest.mark.slow
def test_the_plain_checker_refuses_many_cohorts(run, write, fails):
    law = Bernoulli(["1/2"] * 70 + ["1/3"] * 70)
    many = certify(Focus("1/1000"), law, "1/10", 1).certificate
    path = write("c.json", many)
    assert (run("check", path).code, run("check", path, "--json").json["plain"]) == (
        0,
        None,
    )
    assert "there are more; check it without --plain" in fails("check", path, "--plain")
    assert "at most 4000 sorts" in fails("check", path, "--plain", "--json")
    assert run("check", path, "--plain", "--json").json["accepted"] is False


def test_a_smaller_neighbourhood_than_proved_is_rejected(run, write, average):
    whole = average["neighbourhood"]
    smaller = str(Fraction(whole["constant"]) * Fraction(99, 100))
    changed = signed(average, neighbourhood={**whole, "constant": smaller})
    assert run("check", write("c.json", changed)).code == 1


# -- no certificate -------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "readable JSON"),
        ("no certificate", "readable JSON"),
        ("[" * 100_000, "readable JSON"),
        ([], "must hold a JSON object"),
        ("3", "must hold a JSON object"),
        ({}, "must have the format 'flverify/certificate'"),
        ({"format": None}, "has 'None'"),
        ({"format": "flverify/certify"}, "has 'flverify/certify'"),
        ({"format": 3}, "has '3'"),
    ],
)
def test_another_file_gets_one_sentence(fails, write, content, says):
    assert says in fails("check", write("c.json", content))


def test_a_file_that_is_none_gets_an_object_too(run, write):
    ran = run("check", write("c.json", {}), "--json")
    assert (ran.code, ran.json["status"], ran.json["accepted"]) == (2, "refused", False)
    assert "c.json has none; name a file" in ran.json["reason"]
    assert ran.stderr == f"error: {ran.json['reason']}\n"


def test_missing_and_further_keys_are_named(run, write, rate):
    changed = {**rate, "more": 1}
    del changed["rho"]
    ran = run("check", write("c.json", changed))
    assert ran.code == 1
    text = " ".join(ran.stdout.split())
    assert text.endswith("missing: ['rho']; not one of them: ['more']")


def test_a_missing_file_gets_one_sentence(fails, tmp_path):
    missing = fails("check", tmp_path / "missing.json")
    assert "readable JSON file: No such file or directory; name" in missing
    assert "readable" in fails("check", tmp_path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{}")
    assert "readable" in fails("check", tmp_path / "bytes.json")
    assert "Missing argument" in fails("check")
    assert "unexpected extra argument" in fails("check", "a", "b")


def test_the_right_format_alone_is_rejected_not_unreadable(run, write):
    ran = run("check", write("c.json", {"format": "flverify/certificate"}))
    assert ran.code == 1
    assert "must have the keys" in ran.stdout


# -- pages ----------------------------------------------------------------------


def test_a_page_proves_it_with_python_alone(run, write, rate, tmp_path):
    path, place = write("c.json", rate), tmp_path / "proof.py"
    assert f"written to {place}" in " ".join(
        run("check", path, "--page", place).stdout.split()
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(place)],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.stdout.startswith(f"proved: rho = {Fraction(rate['rho'])}, ")
    assert run("check", path, "--page", place, "--json").json["page"] == str(place)
    assert run("check", path, "--json").json["page"] is None


def test_there_is_no_page_of_what_is_rejected_or_too_much(
    run, write, fails, rate, tmp_path
):
    place = tmp_path / "proof.py"
    better = write("better.json", signed(rate, rho="1/2"))
    assert run("check", better, "--page", place).code == 1
    large = certify(Focus("1/20"), Bernoulli(["1/2"] * 7), "1/10", 1).certificate
    asked = "check", write("large.json", large), "--page", place
    assert "has at most 6 clients; got 7; leave --page out" in fails(*asked)
    assert run(*asked, "--json").json["accepted"] is False
    assert not place.exists()
    same = fails("check", better, "--page", better)
    assert "--page must name another file than CERT.json" in same
    assert "must lie in a folder" in fails("check", better, "--page", place / "x.py")


# -- what it stands on ----------------------------------------------------------


def test_it_runs_on_the_standard_library_and_click(write, rate, drift):
    paths = [str(write(f"{k}.json", c)) for k, c in enumerate((rate, drift))]
    code = (
        "import sys\nfrom flverify.cli import main\n"
        f"for path in {paths!r}:\n"
        "    main(['check', path], standalone_mode=False)\n"
        "    main(['check', path, '--json', '--plain'], standalone_mode=False)\n"
        "    main(['check', path, '--page', path + '.py'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        encoding="utf-8",
        env=environment,
    )
    assert done.stdout.count("accepted") == 12  # half of them of the short checker
    loaded = set(done.stderr.split())
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    ours = {name for name in loaded if name.partition(".")[0] == "flverify"}
    helpers = ("flverify.reference", "flverify.certify.check.")
    assert {name for name in ours if not name.startswith(helpers)} <= LIGHT

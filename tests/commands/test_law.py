"""`flverify law`: tables against enumeration, and every text of a law."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations, product
from math import prod

import pytest

from flverify import moments
from flverify.algorithms import ProxSkip
from flverify.participation import AllOrNothing
from flverify.problems import Quadratics

P = (Fraction(1, 5), Fraction(1, 2), Fraction(9, 10))


def subsets(n):
    return [s for k in range(n + 1) for s in combinations(range(n), k)]


def bernoulli(chances):
    return {
        s: prod(p if i in s else 1 - p for i, p in enumerate(chances))
        for s in subsets(len(chances))
    }


def successive(weights, m):
    """Go through all ordered draws without replacement."""
    out = {}
    for order in permutations(range(len(weights)), m):
        left, chance = sum(weights), Fraction(1)
        for i in order:
            chance *= Fraction(weights[i], left)
            left -= weights[i]
        key = tuple(sorted(order))
        out[key] = out.get(key, 0) + chance
    return out


def replacement(weights, m):
    out = {}
    for draws in product(range(len(weights)), repeat=m):
        key = tuple(sorted(set(draws)))
        chance = prod(Fraction(weights[i], sum(weights)) for i in draws)
        out[key] = out.get(key, 0) + chance
    return out


def conditioned(law):
    mass = sum(chance for s, chance in law.items() if s)
    return {s: chance / mass for s, chance in law.items() if s}


def uniform(n, m):
    cohorts = list(combinations(range(n), m))
    return {s: Fraction(1, len(cohorts)) for s in cohorts}


CASES = {
    "full": uniform(3, 3),
    "bernoulli:0.2,1/2,9e-1": bernoulli(P),
    "bernoulli:0.2": bernoulli((P[0],) * 3),
    "bernoulli:0,1/2,1": bernoulli((0, P[1], 1)),
    "uniform:2": uniform(3, 2),
    "successive:2:1,2,3": successive((1, 2, 3), 2),
    "replacement:2:1,2,3": replacement((1, 2, 3), 2),
    "allornothing:1/5": {(): Fraction(4, 5), (0, 1, 2): Fraction(1, 5)},
    "nonempty:bernoulli:0.2,1/2,9e-1": conditioned(bernoulli(P)),
}


def inverse(size, power):
    return Fraction(1, size**power) if size else Fraction(0)


@pytest.mark.parametrize("text", CASES)
def test_tables_are_those_of_the_outcomes(run, text):
    law, n = CASES[text], range(3)

    def pairs(power):
        return [
            [
                str(
                    sum(
                        c * inverse(len(s), power)
                        for s, c in law.items()
                        if {i, j} <= {*s}
                    )
                )
                for j in n
            ]
            for i in n
        ]

    found = run("law", text, "--n-clients", 3, "--json").json
    assert found["format"] == "flverify/law"
    assert found["version"] == 1
    assert found["exact"] is True
    p = [sum(c for s, c in law.items() if i in s) for i in n]
    q = [sum(c * inverse(len(s), 1) for s, c in law.items() if i in s) for i in n]
    assert found["inclusion"] == [str(v) for v in p]
    assert found["averaging_weights"] == [str(v) for v in q]
    assert found["averaging_weights_sum"] == str(sum(q))
    assert found["empty_probability"] == str(law.get((), 0))
    assert found["expected_cohort_size"] == str(sum(p))
    assert found["joint_inclusion"] == [
        [str(sum(c for s, c in law.items() if {i, j} <= {*s})) for j in n] for i in n
    ]
    assert found["cross"] == pairs(1)
    assert found["joint_averaging"] == pairs(2)


def test_files_of_outcomes_and_chains(run, write):
    outcomes = {
        "outcomes": [
            {"clients": [], "probability": "1/4"},
            {"clients": [0, 1], "probability": 0.75},
        ]
    }
    law = write("law.json", outcomes)
    found = run("law", f"explicit:{law}", "--json").json
    assert found["inclusion"] == ["3/4", "3/4"]
    assert found["empty_probability"] == "1/4"
    chain = write(
        "chain.json",
        {"transition": [["1/2", "1/2"], [1, 0]], "laws": ["explicit:law.json", "full"]},
    )
    found = run("law", f"chain:{chain}", "--json").json
    assert found["modes"]["stationary"] == ["2/3", "1/3"]
    assert found["inclusion"] == ["5/6", "5/6"]
    inside = {"transition": [[1]], "laws": [outcomes], "initial": [1]}
    inside = write("inside.json", inside)
    assert run("law", f"chain:{inside}", "--json").json["inclusion"] == ["3/4", "3/4"]


def test_decimals_of_a_file_are_exact(run, write):
    text = '{"outcomes": [{"clients": [0], "probability": 0.1},'
    text += ' {"clients": [1], "probability": 9e-1}]}'
    found = run("law", f"explicit:{write('law.json', text)}", "--json").json
    assert found["inclusion"] == ["1/10", "9/10"]


def test_absent_clients_and_unequal_weights_are_spelled_out(run):
    text = run("law", "bernoulli:0,0.5,0.9").stdout
    assert "p = 0 for client 0" in text
    assert "Assumption 1" in text
    assert "averaging weights q differ" in text
    assert "empty with probability 1/20" in text
    assert "note" not in run("law", "uniform:2", "--n-clients", 3).stdout


def test_the_note_on_empty_rounds_tells_both_variants_of_proxskip_apart(run):
    told = " ".join(run("law", "bernoulli:0.5").stdout.split())
    assert "ProxSkip takes local steps alone unless variant=notebook" in told
    # one client, from distance 4: a local step halves it, an empty round may keep it
    problem, law = Quadratics([[[1]]], [[1]]), AllOrNothing(1, "1/2")
    paper = ProxSkip("1/2", probability="1/2")
    notebook = ProxSkip("1/2", variant="notebook")
    assert moments(problem, paper, law).mean_square_error([5], 1)[-1] == 4
    assert moments(problem, notebook, law).mean_square_error([5], 1)[-1] == 10


def test_long_tables_say_what_they_leave_out(run):
    chances = ",".join(f"1/{k}" for k in range(2, 160))
    text = run("law", f"bernoulli:{chances}", "--float").stdout
    assert "133 rows are not shown; --json has all." in text
    assert "1/2, 1/3, 1/4, 1/5, 1/6, 1/7, ..., 1/159 (158 numbers), 158 clients" in text
    assert len(text.splitlines()) < 50
    listed = run("law", f"bernoulli:{chances}", "--float", "--json").json
    assert len(listed["inclusion"]) == 158
    assert listed["law"].count(",") == 157
    assert listed["joint_inclusion"] is None
    assert "8 clients" in listed["joint_inclusion_reason"]


def test_long_laws_of_modes_are_shortened(run, write):
    halves = "bernoulli:" + ",".join(["1/2"] * 20 + ["1/3"] * 20)
    content = {"transition": [["1/2", "1/2"]] * 2, "laws": [halves, "uniform:2"]}
    asked = ("law", f"chain:{write('chain.json', content)}", "--n-clients", 40)
    text = " ".join(run(*asked).stdout.split())
    assert "bernoulli: 20 times 1/2, 20 times 1/3" in text
    assert run(*asked, "--json").json["modes"]["laws"][0] == halves


def test_large_tables_of_pairs_are_cut(run):
    asked = ("law", "uniform:2", "--n-clients", 14, "--joint")
    text = run(*asked).stdout
    assert text.count("2 clients are not shown; --json has all pairs.") == 3
    assert len(run(*asked, "--json").json["cross"]) == 14
    assert (
        "not shown" not in run("law", "uniform:2", "--n-clients", 12, "--joint").stdout
    )


def test_equal_neighbours_share_a_row(run):
    text = run("law", "uniform:2", "--n-clients", 100000).stdout
    assert "0-99999  1/50000" in text


def test_floats_are_numbers_and_rationals_are_text(run):
    found = run("law", "bernoulli:1/2,1/4", "--float", "--json").json
    assert found["inclusion"] == [0.5, 0.25]
    assert found["exact"] is False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["full"], "--n-clients"),
        (["full:3"], "must stand alone"),
        (["foo"], "got 'foo'"),
        (["bernoulli:"], "got ''"),
        (["bernoulli:2"], "must lie in [0, 1]"),
        (["bernoulli:0.5,-1"], "must lie in [0, 1]"),
        (["bernoulli:nan"], "got 'nan'"),
        (["bernoulli:True"], "got 'True'"),
        (["bernoulli:1/0"], "got '1/0'"),
        (["bernoulli:__import__('os')"], "a number of the law must be"),
        (["bernoulli:1/2,1/2", "--n-clients", 3], "must have the same clients"),
        (["uniform:5", "--n-clients", 3], "between 1 and 3"),
        (["uniform:2.5", "--n-clients", 3], "integer"),
        (["uniform:0", "--n-clients", 3], "m must be"),
        (["successive:2:1"], "m must be"),
        (["successive:1:0,1"], "positive"),
        (["replacement:2:x,1"], "got 'x'"),
        (["allornothing:2", "--n-clients", 2], "must lie in [0, 1]"),
        (["nonempty:bernoulli:0,0"], "nonempty"),
        (["nonempty:" * 20 + "full"], "nested deeper"),
        (["explicit:missing.json"], "No such file"),
        (["full", "--n-clients", 0], "not in the range"),
        (["full", "--n-clients", 10**11], "at most 1000000 clients"),
        (["bernoulli:1/2", "--n-clients", 10**11], "at most 1000000 clients"),
        (["full", "full"], "unexpected extra argument"),
        (["full", "--frob"], "No such option"),
        ([], "Missing argument"),
    ],
)
def test_bad_laws_get_one_sentence(fails, arguments, says):
    assert says in fails("law", *arguments)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[1", "must be JSON"),
        ("[1]", "must hold an object"),
        ("[" * 100000, "must be JSON"),
        ({"outcomes": []}, "nonempty list"),
        ({"outcomes": [1]}, "an outcome must be"),
        ({"outcomes": [{"clients": [0], "probability": True}]}, "got True"),
        ({"outcomes": [{"clients": [True], "probability": 1}]}, "clients must be"),
        ({"outcomes": [{"clients": [-1], "probability": 1}]}, "clients must be"),
        ({"outcomes": [{"clients": [0, 0], "probability": 1}]}, "clients must be"),
        ({"outcomes": [{"clients": [0], "probability": 0.5}]}, "must sum to 1"),
        ({"outcomes": [{"clients": [0], "probability": 2}]}, "must lie in [0, 1]"),
        ({"outcomes": [{"clients": [0], "probability": "x"}]}, "got 'x'"),
        ({"outcomes": [{"clients": [0], "probability": None}]}, "must be a number"),
        ('{"outcomes": [{"clients": [0], "probability": NaN}]}', "finite"),
        ('{"outcomes": 1, "outcomes": 2}', "a key must stand once"),
        ({"outcomes": [{"clients": [0], "probability": 1}], "x": 1}, "must hold"),
        (
            {"outcomes": [{"clients": [2], "probability": 1}], "n_clients": 2},
            "between 0 and 1",
        ),
        (
            {"outcomes": [{"clients": [0], "probability": "1/2"}] * 2},
            "must be listed once",
        ),
    ],
)
def test_damaged_files_of_outcomes(fails, write, content, says):
    assert says in fails("law", f"explicit:{write('law.json', content)}")


ALONE = {"outcomes": [{"clients": [0], "probability": 1}]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"transition": [[1]], "laws": [3]}, "the text of a law"),
        ({"transition": [[1]], "laws": [{}]}, "the text of a law"),
        ({"transition": [[1]], "laws": [{**ALONE, "x": 1}]}, "the text of a law"),
        ({"transition": [[1]], "laws": []}, "nonempty list"),
        ({"transition": [1], "laws": ["full"]}, "a row of transition"),
        ({"transition": [["1/2"]], "laws": ["full"]}, "must sum to 1"),
        ({"transition": [[1]], "laws": ["full"], "initial": "x"}, "initial must be"),
        ({"transition": [[1]], "laws": ["full"], "initial": 5}, "initial"),
        ({"transition": [[1]], "laws": ["full"], "initial": None}, "initial"),
        ({"transition": [[1]], "laws": ["chain:chain.json"]}, "nested deeper"),
        ({"transition": [[1, 0], [0, 1]], "laws": ["full", "uniform:1"]}, "unique"),
        (
            {"transition": [[1]], "laws": ["bernoulli:1/2,1/3"], "n_clients": 3},
            "the laws of a chain must have the same clients",
        ),
        (
            {
                "transition": [["1/2", "1/2"]] * 2,
                "laws": [{**ALONE, "n_clients": 2}, {**ALONE, "n_clients": 3}],
            },
            "the laws of a chain must have the same clients",
        ),
    ],
)
def test_damaged_files_of_chains(fails, write, content, says):
    path = write("chain.json", content)
    assert says in fails("law", f"chain:{path}", "--n-clients", 2)


def test_a_file_that_is_no_text(fails, tmp_path):
    path = tmp_path / "law.json"
    path.write_bytes(b"\xff\xfe\x00")
    assert "must be JSON" in fails("law", f"explicit:{path}")
    assert "directory" in fails("law", f"explicit:{tmp_path}")


def test_one_client_is_no_plural(run):
    assert "full, 1 client\n" in run("law", "full", "--n-clients", 1).stdout

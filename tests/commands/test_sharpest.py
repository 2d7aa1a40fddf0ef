"""`flverify sharpest`."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from flverify.report.sharpest import CLAIMED

CLAIMS = """
from fractions import Fraction

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, claim

HERE = Source("flverify", "example")
DOWN = Free("c", 0, 4, weaker="smaller")


@claim("demo.sharp", source=HERE, statement="c<=1", constants={"c": "2", "d": 6},
       proposition="c is at most 4/3 and d at least 5.", twin={"c": "1"},
       free=(DOWN, Free("d", 1, 9, weaker="larger", whole=True, given={"c": "1"})))
def sharp(k):
    def case(name, one, other):
        again = lambda: (one, other)
        return judge.instances([judge.Case({name: one}, one, other, again)], "<=", "it")

    return judge.all_of({"c": case("c", Fraction(k.c), Fraction(4, 3)),
                         "d": case("d", 5, k.d)})


@claim("demo.never", source=HERE, statement="", proposition="p", constants={"c": 1},
       twin={"c": 2}, free=DOWN)
def never(k):
    return judge.inconclusive("nobody knows")


@claim("demo.half", source=HERE, statement="", proposition="p", twin={"c": 3},
       constants={"c": 1, "d": 1}, free=(DOWN, Free("d", 2, 3, weaker="larger")))
def half(k):
    return judge.identity([("c", int(k.c > 1), 0), ("d", k.d, 1)], "numbers")


@claim("demo.fixed", source=HERE, statement="", proposition="p", constants={"c": 1},
       twin={"c": 2})
def fixed(k):
    return judge.identity([("c", k.c, 1)], "a number")


@claim("demo.broken", source=HERE, statement="", proposition="p", constants={"c": 1},
       twin={"c": 2}, free=DOWN)
def broken(k):
    return judge.identity([("c", k.nothing, 1)], "a number")
"""


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    """The folder of what is kept, empty at first."""
    monkeypatch.setenv("FLVERIFY_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def mine(write):
    """A user's file with a claim of two free constants, and some that fail."""
    return write("mine.py", CLAIMS)


def words(ran):
    return " ".join(ran.stdout.split())


def test_the_best_value_with_its_proof_and_a_counterexample(run, mine):
    ran = run("sharpest", "demo.sharp", "--file", mine, "--constant", "c")
    assert ran.code == 0
    for part in (
        "claim demo.sharp",
        "free c in [0, 4], smaller is weaker",
        "printed 2",
        "sharpest 4/3 (about 1.33333)",
        "at that value SUPPORTED (it): c: holds at the one instance",
        "refuted from",
        "just beyond REFUTED (counterexample): c: ",
        "statement c is at most 4/3 and d at least 5. With c = 4/3 in place of 2.",
        "remark the printed value 2 is refuted",
        "note: what is shown is shown at the values tried; between two of them that "
        "pass, others may fail",
    ):
        assert part in words(ran)


def test_as_json_every_free_constant_in_exact_text(run, mine):
    ran = run("sharpest", "demo.sharp", "--file", mine, "--json", "--precision", "1e-2")
    assert ran.code == 0
    assert (ran.json["format"], ran.json["id"]) == ("flverify/sharpest", "demo.sharp")
    assert ran.json["notes"] == [CLAIMED]
    first, second = ran.json["results"]
    assert (first["constant"], first["printed"]) == ("c", "2")
    assert (first["best"]["value"], first["best"]["verdict"]) == ("4/3", "SUPPORTED")
    assert first["within_precision"] is True
    gap = Fraction(first["beyond"]["value"]) - Fraction(4, 3)
    assert 0 < gap <= Fraction(first["precision"]) == Fraction(1, 100)
    shown = first["beyond"]["evidence"]
    assert Fraction(shown["left"]) > Fraction(shown["right"])
    assert {"value": "4", "verdict": "REFUTED"} in first["tried"]
    assert second["given"] == {"c": "1"}
    assert (second["best"]["value"], second["beyond"]["value"]) == ("5", "4")


SQUARE = """
import sympy
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.written import at_least


@claim("demo.square", source=Source("flverify", "x"), statement="", proposition="p",
       constants={"c": 3}, twin={"c": 1}, free=Free("c", 0, 4, weaker="smaller"))
def square(k):
    x = sympy.Symbol("x", real=True)
    return judge.implied([], at_least(x**2 + 1, sympy.Rational(k.c)), "every x")
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words",
    [
        ["sharpest", "demo.square", "--file"],
        ["show", "demo.square", "--file"],
        ["audit"],
    ],
)
def test_powers_are_printed_as_readers_write_them(run, write, words):
    mine = write("square.py", SQUARE)
    told = run(*words, mine).stdout
    assert "x^2 + 1 >= " in told
    assert "x**2" not in told
    assert "x**2 + 1 >= " in run(*words, mine, "--json").stdout


def test_the_output_repeats(run, mine):
    outputs = {run("sharpest", "demo.sharp", "--file", mine).stdout for _ in range(2)}
    assert len(outputs) == 1


def test_code_1_if_no_value_passes(run, mine):
    ran = run("sharpest", "demo.never", "--file", mine)
    assert ran.code == 1
    assert "sharpest none; undecided beyond it: " in words(ran)
    assert "no value that passes was found" in words(ran)
    assert (
        run("sharpest", "demo.never", "--file", mine, "--json").json["results"][0][
            "best"
        ]
        is None
    )


def test_a_gap_of_undecided_values_is_said_at_once(run, write):
    open_below_2 = """if k.c > 2:
        return judge.identity([("c", k.c, 0)], "a number")
    return judge.identity([("c", 0, 0)], "it") if k.c <= 1 else judge.inconclusive("?")
"""
    never = 'return judge.inconclusive("nobody knows")'
    path = write("gap.py", CLAIMS.replace(never, open_below_2))
    found = run("sharpest", "demo.never", "--file", path)
    assert found.code == 0
    assert re.search(r"sharpest 1; undecided beyond it: \d+ values tried", words(found))


def test_undecided_values_are_counted_wherever_they_are(run, write):
    # refuted above 2, open down to 1 and, weaker than what passes, up to 1/2
    apart = """if k.c > 2:
        return judge.identity([("c", k.c, 0)], "a number")
    if k.c > 1:
        return judge.inconclusive("no time for large ones")
    return judge.identity([("c", 0, 0)], "it") if k.c > 0.5 else judge.inconclusive("?")
"""
    never = 'return judge.inconclusive("nobody knows")'
    path = write("apart.py", CLAIMS.replace(never, apart))
    said = words(run("sharpest", "demo.never", "--file", path))
    found = run("sharpest", "demo.never", "--file", path, "--json").json["results"][0]
    tried = [one["value"] for one in found["tried"] if one["verdict"] == "INCONCLUSIVE"]
    assert [one["value"] for one in found["inconclusive"]] == tried
    assert {one["reason"] for one in found["inconclusive"]} == {
        "?",
        "no time for large ones",
    }
    low = [one for one in tried if Fraction(one) <= 1]
    high = [one for one in tried if Fraction(one) > 1]
    assert (
        f"inconclusive {len(tried)} of {len(found['tried'])} values tried: {len(low)} "
        f"from {low[0]} to {low[-1]}, {len(high)} from {high[0]} to {high[-1]}; at 0: ?"
    ) in said


def test_nothing_is_said_of_undecided_values_without_any(run, mine):
    asked = ("sharpest", "demo.sharp", "--file", mine)
    assert "inconclusive" not in run(*asked).stdout
    assert run(*asked, "--json").json["results"][0]["inconclusive"] == []


def test_code_1_if_only_one_of_two_constants_has_a_value_that_passes(run, mine):
    ran = run("sharpest", "demo.half", "--file", mine, "--json")
    assert ran.code == 1
    first, second = ran.json["results"]
    assert (first["best"]["value"], second["best"]) == ("1", None)


def test_a_claim_of_the_paper(run):
    """Line 5 of (80) needs all of its factor 4: F(x) = L x^2/2 attains it."""
    ran = run("sharpest", "focus.lemma3.step80c", "--precision", "1/4")
    assert ran.code == 0
    assert "printed 4 sharpest 4 at that value PROVED" in words(ran)
    assert "refuted from 15/4" in words(ran)


@pytest.mark.slow
def test_a_corollary_of_the_paper(run):
    ran = run("sharpest", "focus.cor2", "--precision", "1/4")
    assert ran.code == 0
    assert "printed 16" in words(ran)
    assert "refuted from" in words(ran)


@pytest.mark.parametrize(
    ("weaker", "best", "beyond"),
    [
        # nearest decimals would be 0.666667 of 2/3, which is refuted in a cap
        ("smaller", "2/3 (about 0.666666)", "229/343 (about 0.667639)"),
        ("larger", "2/3 (about 0.666667)", "229/344 (about 0.665697)"),
    ],
)
def test_decimals_pass_or_are_refuted_as_the_values_are(
    run, write, weaker, best, beyond
):
    sign = "<=" if weaker == "smaller" else ">="
    path = write(
        "edge.py",
        CLAIMS.replace('"smaller"', f'"{weaker}"').replace(
            'return judge.inconclusive("nobody knows")',
            f"fails = not 3 * Fraction(k.c) {sign} 2\n"
            '    return judge.identity([("c", int(fails), 0)], "it")',
        ),
    )
    said = words(run("sharpest", "demo.never", "--file", path))
    assert f"sharpest {best} at that value PROVED" in said
    assert f"refuted from {beyond} just beyond REFUTED" in said


def test_values_below_all_floats_are_shown(run, write):
    tiny = CLAIMS.replace(
        'Free("c", 0, 4', 'Free("c", 0, Fraction(1, 10**400)'
    ).replace(
        'return judge.inconclusive("nobody knows")',
        'return judge.identity([("c", int(3 * k.c * 10**400 > 1), 0)], "it")',
    )
    path = write("tiny.py", tiny.replace('{"c": 1}', '{"c": 0}'))
    found = run("sharpest", "demo.never", "--file", path, "--precision", "1e-402")
    assert len(re.findall(r"\(about 3\.\d+e-401\)", words(found))) == 2


def test_bad_input(fails, mine, tmp_path):
    file = ("--file", mine)
    assert "did you mean demo.sharp" in fails("sharpest", "demo.shrap", *file)
    assert "is a folder" in fails("sharpest", "x", "--file", tmp_path)
    fixed = fails("sharpest", "demo.fixed", *file)
    assert "declares nothing; take another claim, such as demo.sharp, " in fixed
    assert "or give its decorator `free=Free(...)`" in fixed
    shipped = fails("sharpest", "focus.case3a")  # whose file is not the user's
    assert "such as focus.lemma1, focus.cor1" in shipped
    assert "decorator" not in shipped
    wrong = fails("sharpest", "demo.sharp", *file, "--constant", "e")
    assert "choose among c, d" in wrong
    for text in ("0", "-1/2"):
        said = fails("sharpest", "demo.sharp", *file, "--precision", text)
        assert "precision must be a rational above 0" in said
    for text in ("1e-400", "1e-999"):
        said = fails("sharpest", "demo.sharp", *file, "--precision", text)
        assert "precision must be at least 1/10^30 of the range" in said
        assert len(said) < 200
    assert "--precision: a number" in fails(
        "sharpest", "demo.sharp", *file, "--precision", "fine"
    )
    assert "must use constants that its claim has" in fails(
        "sharpest", "demo.broken", *file
    )
    for name in ("no.py", "no"):
        said = fails("sharpest", "x", "--file", tmp_path / name)
        assert f"{tmp_path / name} does not exist" in said
    assert "Missing argument" in fails("sharpest")
    assert "No such option" in fails("sharpest", "demo.sharp", "--all")


def test_what_was_found_is_kept_and_said_again(run, write, kept, tmp_path):
    """The check leaves a line each time; it is not asked twice unless told so."""
    asked = tmp_path / "asked"
    mark = f"""    with open({str(asked)!r}, "a") as noted:
        noted.write(str(k.c) + " ")
    def case("""
    path = write("noted.py", CLAIMS.replace("    def case(", mark))
    command = ["sharpest", "demo.sharp", "--file", path, "--constant", "c"]
    first = run(*command)
    values = asked.read_text().split()
    assert len(values) == len({*values}) > 8
    assert run(*command).stdout == first.stdout
    assert run(*command, "--json").code == 0
    assert asked.read_text().split() == values
    assert run(*command, "--fresh").stdout == first.stdout
    assert asked.read_text().split() == values * 2
    assert [one.name for one in (kept / "sharpest").iterdir()] == ["demo.sharp.json"]


@pytest.mark.parametrize("fresh", [False, True])
def test_an_interrupted_search_goes_on(run, write, tmp_path, fresh):
    """The third value asked about interrupts, as a user would."""
    stop = tmp_path / "stop"
    mark = f"""    import pathlib
    stop = pathlib.Path({str(stop)!r})
    if stop.exists():
        stop.write_text(left := stop.read_text()[1:])
        if not left:
            raise KeyboardInterrupt
    def case("""
    path = write("noted.py", CLAIMS.replace("    def case(", mark))
    command = ["sharpest", "demo.sharp", "--file", path, "--constant", "c"]
    stop.write_text("...")
    ran = run(*command, *["--fresh"] * fresh)
    again = "the same command without --fresh" if fresh else "the same command"
    said = f"error: interrupted; what was judged is kept; {again} goes on from there.\n"
    assert (ran.code, ran.stdout, ran.stderr) == (130, "", said)
    stop.unlink()
    assert "sharpest 4/3" in words(run(*command))

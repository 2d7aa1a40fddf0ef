"""A step that is judged from printed lines says from which, wherever it is shown."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from flverify._core.errors import InputError
from flverify._core.sources import Source
from flverify.claims import judge, ledger, premises, registry
from flverify.claims.audit import audit
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.registry import shipped_claims
from flverify.report.summary import summary

# words by which a proposition says that it takes something printed as true
TAKEN = re.compile(
    r"follows? from \(|taken as given|put into|as printed, (gives?|add)|"
    r"the one before, as printed|that satisfy (the|line)|from the (last line|display)"
)


def step(readings):
    """A claim with a correction, given (1), that passes under each reading."""

    @claim(
        "demo.step",
        source=Source("flverify", "example"),
        statement="1 + 1 = 2",
        proposition="It is so.",
        constants={"two": 2},
        twin={"two": 3},
        given={"(1)": "demo.one", "Lemma 2": ("demo.two", "demo.three")},
    )
    def check(c):
        found = judge.identity([("sum", 2, c.two)], "every N")
        named = judge.readings(dict.fromkeys(readings, found)) if readings else found
        return named.corrected("1 + 1 = 3", judge.identity([("sum", 2, 2)], "N <= 4"))

    return check


def test_every_scope_begins_with_it():
    found = step(("(i)", "(ii)")).check()
    scopes = [found.scope, *(one.scope for one in found.readings.values())]
    assert all(text.startswith("given (1), Lemma 2; ") for text in scopes)
    assert found.correction.finding.scope == "given (1), Lemma 2; N <= 4"
    assert str(found.verdict) == "PROVED"


def test_ledger_and_table_have_it(tmp_path):
    (audited,) = audit([step(())])
    kept = ledger.entry(audited)
    judged_in = {"(1)": ["demo.one"], "Lemma 2": ["demo.two", "demo.three"]}
    assert kept["given"] == judged_in
    assert "| demo.step | PROVED | given (1), Lemma 2 |" in summary({"demo.step": kept})
    ledger.write(tmp_path / "ledger.toml", {"demo.step": kept})
    assert ledger.read(tmp_path / "ledger.toml") == {"demo.step": kept}
    without = {name: value for name, value in kept.items() if name != "given"}
    assert ledger.differences([audited], {"demo.step": without})


KNOWN = {
    "demo.one": {"verdict": "PROVED"},
    "demo.two": {"verdict": "PROVED", "given": {"(3)": ["demo.four", "demo.two"]}},
    "demo.three": {"verdict": "REFUTED", "given": {"(4)": ["demo.five"]}},
    "demo.four": {"verdict": "REFUTED"},
    "demo.five": {"verdict": "REFUTED"},
}


@pytest.mark.parametrize(
    "wrong",
    [
        *("(1)", {"(1)": 3}, {"(1)": [3]}, [1], {2: "demo.a"}),
        *({"": "demo.a"}, {" ": "demo.a"}, [""], {"(1)": ""}, {"(1)": ["demo.a", ""]}),
    ],
)
def test_what_is_no_line_is_refused(wrong):
    with pytest.raises(InputError, match="printed lines, each with the ids"):
        claim(
            "demo.x",
            source=Source("flverify", "example"),
            statement="",
            proposition="p",
            no_control="none",
            given=wrong,
        )(None)


def test_what_is_refuted_is_named_however_far_back():
    one = step(())
    assert premises.refuted(one.given, KNOWN) == ["demo.three", "demo.four"]
    (said,) = premises.warnings(one, KNOWN)
    assert said == (
        "the claim is given (1), Lemma 2; REFUTED among these and what they are from: "
        "demo.three, demo.four"
    )
    held = {key: {"verdict": "PROVED"} for key in KNOWN}
    assert [*premises.warnings(one, held)] == []


def test_the_table_names_it():
    (audited,) = audit([step(())])
    table = summary({**KNOWN, "demo.step": ledger.entry(audited)})
    assert "Lemma 2; REFUTED among these and what they are from: demo.three" in table
    # demo.two is the other one
    assert "Of those PROVED, 2 as steps alone" in table
    assert "alone" not in summary({"demo.four": {"verdict": "PROVED"}})


def test_lines_that_are_open_are_named_too():
    known = {
        "demo.three": {"verdict": "INCONCLUSIVE"},
        "demo.step": {"verdict": "PROVED", "given": {"(1)": ["demo.three"]}},
    }
    table = summary(known)
    assert "given (1); INCONCLUSIVE among these: demo.three" in table
    assert "Of those PROVED, 1 from lines of which some are INCONCLUSIVE" in table
    false = {"verdict": "PROVED", "given": {"(2)": ["demo.four"]}}
    both = summary({**known, "demo.false": false, "demo.four": KNOWN["demo.four"]})
    assert "Of the others, 1 from lines of which some are INCONCLUSIVE" in both
    proved = {**known, "demo.three": {"verdict": "PROVED"}}
    assert "INCONCLUSIVE" not in summary(proved)


def test_a_correction_may_be_from_lines_of_its_own():
    one = replace(step(()), given={}, mended_from={"Lemma 2": ["demo.three"]})
    found = one.check()
    assert found.scope == "every N"
    assert found.correction.finding.scope == "given Lemma 2; N <= 4"
    (said,) = premises.warnings(one, KNOWN)
    assert said.startswith("the correction is given Lemma 2; REFUTED among")


def test_a_reading_may_be_judged_without_the_lines():
    one = replace(step(("(i)", "(ii) by itself")), unaided="(ii) by")
    first, alone = one.check().readings.values()
    assert (first.scope, first.given) == (
        "given (1), Lemma 2; every N",
        ("(1)", "Lemma 2"),
    )
    assert (alone.scope, alone.given) == ("every N", ())
    assert one.check().scope.startswith("given (1), Lemma 2; ")
    without = replace(one, unaided="")
    assert {found.given for found in without.check().readings.values()} == {first.given}


def test_a_correction_may_be_from_no_line():
    one = replace(step(("(i)", "(ii)")), mended_from={})
    found = one.check()
    assert found.scope.startswith("given (1), Lemma 2; ")
    fixed = found.correction.finding
    assert (fixed.scope, fixed.given) == ("N <= 4", ())
    (said,) = premises.warnings(one, KNOWN)
    assert said.startswith("the claim is given")


def test_a_sharp_statement_is_from_the_lines_of_its_claim():
    free = Free("two", 1, 4, weaker="larger")
    for mended_from in (None, {}, {"Lemma 4": ("demo.four",)}):

        @claim(
            "demo.sharp",
            source=Source("flverify", "example"),
            statement="1 + 1 <= 3",
            proposition="It is so.",
            constants={"two": 3},
            twin={"two": 1},
            free=free,
            sharp=Sharp("1 + 1 <= <two>", {"two": 2}),
            given={"(1)": "demo.one"},
            mended_from=mended_from,
        )
        def check(c):
            return judge.nonnegative([("gap", c.two - 2)], "every N")

        best = check.check().correction.finding
        assert best.scope.startswith("given (1); every N; ")
        assert best.given == ("(1)",)


def test_the_claims_that_judge_them_are_named():
    known = shipped_claims()
    for one in known.values():
        mended_from = one.mended_from or {}
        for keys in (*one.given.values(), *mended_from.values()):
            assert keys, one.id
            assert {*keys} <= {*known} - {one.id}, one.id


def test_refuted_lines_behind_shipped_claims_are_named():
    entries = ledger.read(registry.proofs_folder() / "ledger.toml")
    said = {
        one.id: [*premises.warnings(one, entries)] for one in shipped_claims().values()
    }
    # not of corrections that are from mended lemmas
    assert not any(
        "the correction is" in text for texts in said.values() for text in texts
    )
    for name in ("sc", "pl", "nc"):
        assert said[f"focus.thm1.{name}.collected"] == []
    (text,) = said["focus.thm1.pl.step109"]
    assert text.endswith("focus.lemma4")
    # twice removed
    (text,) = said["focus.thm1.sc.step102a"]
    assert "focus.thm1.sc.step97-99" in text


def test_propositions_that_take_lines_as_given_declare_them():
    silent = [
        one.id
        for one in shipped_claims().values()
        if TAKEN.search(one.proposition) and not one.given
    ]
    assert silent == []


def test_a_silent_one_would_be_noticed():
    assert TAKEN.search("(7) follows from (6) by subtracting F*.")
    assert not TAKEN.search("(7) holds for every N.")


def test_readings_alike_are_counted_in_the_table_and_others_named():
    alike = {"verdict": "REFUTED", "readings": {"a": "REFUTED", "b": "REFUTED"}}
    mixed = {"verdict": "SUPPORTED", "readings": {"a": "PROVED", "b": "SUPPORTED"}}
    alone = {"verdict": "PROVED", "readings": {"a": "PROVED"}}
    table = summary({"x.alike": alike, "x.mixed": mixed, "x.alone": alone})
    assert "| x.alike | REFUTED | under each of 2 readings |" in table
    assert "| x.mixed | SUPPORTED | a: PROVED; b: SUPPORTED |" in table
    assert "| x.alone | PROVED | a: PROVED |" in table

"""The ledger notices what changes under one verdict, and reads back what it wrote."""

from __future__ import annotations

import pytest
import sympy

from flverify._core.errors import InputError
from flverify._core.sources import Source
from flverify.certify import gram
from flverify.claims import judge, ledger
from flverify.claims.audit import audit
from flverify.claims.claim import claim

TRUE, FALSE = ("it", 1, 1), ("it", 1, 2)


def audited(place, pair=TRUE, scope="every N"):
    """Audit a claim in which one finding, at a place, is the one that is given."""
    one = judge.identity([pair], scope) if pair else judge.inconclusive("too long")

    @claim(
        "demo.kept",
        source=Source("flverify", "example"),
        statement="1",
        proposition="p",
        constants={"right": 1},
        twin={"right": 2},
    )
    def check(c):
        good = judge.identity([("one", 1, c.right)], "all")
        bad = judge.identity([FALSE], "all")
        both = judge.readings({"(i)": good, "(ii)": bad})
        return {
            "claim": lambda: one,
            "correction": lambda: bad.corrected("1", one),
            "reading": lambda: judge.readings({"(i)": one, "(ii)": bad}),
            "correction of a reading": lambda: judge.readings(
                {"(i)": good, "(ii)": bad.corrected("1", one)}
            ),
            "correction of a part": lambda: judge.all_of(
                {"a": good, "b": judge.readings({"x": good.corrected("1", one)})}
            ),
            "reading of a correction": lambda: both.corrected(
                "1", judge.readings({"(i)": one, "(ii)": bad})
            ),
            "part": lambda: judge.all_of({"a": one, "b": judge.inconclusive("open")}),
        }[place]()

    (found,) = audit([check])
    return found


PLACES = {
    "claim": "",
    "correction": "corrected",
    "reading": "(i)",
    "correction of a reading": "(ii) / corrected",
    "correction of a part": "part: b / x / corrected",
    "reading of a correction": "corrected / (i)",
    "part": "part: a",
}


def told(place, before, after):
    known = ledger.entry(audited(place, **before))
    return ledger.differences([audited(place, **after)], {"demo.kept": known})


@pytest.mark.parametrize("place", PLACES)
def test_a_scope_that_shrinks_differs(place):
    (said,) = told(place, {}, {"scope": "N <= 4"})
    what = f"scopes: {PLACES[place]}" if PLACES[place] else "scope"
    assert f"{what}: every N -> N <= 4" in said
    assert told(place, {}, {}) == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("now", "verdict"), [(None, "INCONCLUSIVE"), (FALSE, "REFUTED")]
)
def test_what_falls_differs_wherever_it_stands(place, now, verdict):
    (said,) = told(place, {}, {"pair": now})
    assert f"{PLACES[place]}: PROVED -> {verdict}" in said
    assert f"{PLACES[place]}: every N -> none" in said or place == "claim"


def test_a_correction_that_is_gone_differs():
    found = audited("correction")
    known = ledger.entry(audited("claim", FALSE))
    (said,) = ledger.differences([found], {"demo.kept": known})
    assert "within: corrected: none -> PROVED" in said


@pytest.mark.parametrize("place", PLACES)
def test_what_is_written_is_read_back(tmp_path, place):
    odd = 'every N; "\\" [x] = é ∑ 𝔼 \x7f\n\t'
    kept = {'demo."𝔼"': ledger.entry(audited(place, scope=odd))}
    ledger.write(tmp_path / "ledger.toml", kept)
    assert ledger.read(tmp_path / "ledger.toml") == kept


@pytest.mark.parametrize("field", ["verdict", "scope", "control", "within", "scopes"])
@pytest.mark.parametrize("typed", ["PROVED, typed", 3, {"corrected": 3}, None])
def test_what_was_typed_into_an_entry_differs(field, typed):
    found = audited("correction of a reading")
    known = ledger.entry(found)
    typed_in = {name: value for name, value in known.items() if name != field}
    if typed is not None:
        typed_in[field] = typed
    changed = field in known or typed is not None
    assert bool(ledger.differences([found], {"demo.kept": typed_in})) is changed


@pytest.mark.parametrize("dropped", ["a line", "a part", "a part of a reading"])
def test_what_is_no_longer_compared_differs(dropped):
    def listed(whole):
        one, two = ("one", 1, 1), ("two", 2, 2)
        lines = judge.identity(
            [one, two] if whole or "line" not in dropped else [one], "N"
        )
        both = {"a": lines, "b": judge.nonnegative([("two", 2)], "N")}
        if not whole and dropped != "a line":
            del both["b"]
        found = judge.all_of(both)
        false = judge.identity([FALSE], "N")
        read = dropped == "a part of a reading"
        return judge.readings({"(i)": found, "(ii)": false}) if read else found

    counted = [ledger.compared(listed(whole)) for whole in (True, False)]
    assert counted == [3, 2]


def test_a_weaker_conclusion_differs(tmp_path):
    found = [judge.implied([x <= y], x <= k * y, "all") for k in (1, 2)]
    found += [
        judge.identity([("a", x * (y + k), x * y + k * x)], "all") for k in (1, 2)
    ]
    wrong = judge.implied([x <= y], 2 * x <= y, "all")
    assert len({*map(ledger.shows, found)}) == 4
    assert ledger.shows(wrong) == ""  # it does not pass
    both = {"a": found[0], "b": found[1]}
    inner = judge.readings({"(i)": judge.all_of(both), "(ii)": wrong})
    assert ledger.shows(inner) == ledger.shows(judge.all_of(both))
    one = following()
    kept = ledger.entry(one)
    ledger.write(tmp_path / "ledger.toml", {"demo.kept": kept})
    assert ledger.read(tmp_path / "ledger.toml")["demo.kept"]["shows"] == kept["shows"]
    (said,) = ledger.differences([one], {"demo.kept": kept | {"shows": "0"}})
    assert said == f"demo.kept: shows: 0 -> {kept['shows']}"


def test_an_entry_keeps_how_much_was_compared(tmp_path):
    found = following()
    kept = ledger.entry(found)
    assert kept["compared"] == 2
    ledger.write(tmp_path / "ledger.toml", {"demo.kept": kept})
    assert ledger.read(tmp_path / "ledger.toml")["demo.kept"]["compared"] == 2
    (said,) = ledger.differences([found], {"demo.kept": kept | {"compared": 3}})
    assert said == "demo.kept: compared: 3 -> 2"


x, y = sympy.symbols("x y", positive=True)


def following(more=(), symbol=x, conclusion=None):
    """Audit a claim of two lines, the second from these hypotheses."""

    @claim(
        "demo.kept",
        source=Source("flverify", "example"),
        statement="1",
        proposition="p",
        constants={"by": 1},
        twin={"by": -1},
    )
    def check(c):
        first = judge.implied([x <= 1], x <= 1 + c.by, "x <= 1")
        line = conclusion(symbol) if conclusion else symbol <= 3 + c.by
        second = judge.implied([symbol <= 3, *more], line, "every x and y")
        return judge.all_of({"one": first, "two": second})

    (found,) = audit([check])
    assert found.finding.passes()
    return found


def stronger(before, after):
    known = ledger.entry(before)
    (said,) = ledger.differences([after], {"demo.kept": known})
    return said


def test_a_hypothesis_typed_into_one_line_differs():
    known = following()
    assert ledger.entry(known)["uses"] == ["x <= 1", "x <= 3", "x > 0"]
    more = following([x <= sympy.Rational(5, 2)])
    assert stronger(known, more) == "demo.kept: uses: now x <= 5/2"
    assert stronger(more, known) == "demo.kept: uses: no longer x <= 5/2"


def test_so_does_one_where_the_conclusion_is_no_single_comparison():
    def both(symbol):
        return sympy.Or(symbol >= 3, symbol < 3 + y, evaluate=False)

    known = following(conclusion=both)
    assert "x <= 2" in stronger(known, following([x <= 2], conclusion=both))


def test_so_does_one_that_is_assumed_of_a_symbol():
    known = following(symbol=sympy.Symbol("z", real=True))
    positive = following(symbol=sympy.Symbol("z", positive=True))
    assert "now z > 0" in stronger(known, positive)


def vectors(hypotheses=(), where=(), smoothness=2):
    f, v, best = (
        gram.Function("f", smoothness, 1),
        gram.vector("v"),
        gram.vector("best"),
    )
    gradient = f.gradient(best)
    moved = gram.square(v - f.gradient(v) / 4 + gradient / 4 - best)
    lemma = gram.Lemma(moved <= gram.square(v - best), hypotheses, where)
    found = judge.vectors([({"L": smoothness}, lemma)], "L = 2")
    assert found.passes()
    return set(found.evidence["given"])


def test_certificates_say_what_they_take():
    v, gradient = (
        gram.vector("v"),
        gram.Function("f", 2, 1).gradient(gram.vector("best")),
    )
    assert vectors() == {"f: smoothness 2, strong_convexity 1"}
    assert vectors(smoothness=3) == {"f: smoothness 3, strong_convexity 1"}
    assert vectors([gram.given(gram.square(v) <= 4)]) - vectors() == {"4 - <v, v> >= 0"}
    assert vectors(where=[gradient]) - vectors() == {"grad f(best) = 0"}


def apart(own=None, argument=None, twin=None, *, read=False):
    """Audit a claim of two parts, or a reading of them; the twin breaks the first."""

    @claim(
        "demo.parts",
        source=Source("flverify", "example"),
        statement="1",
        proposition="p",
        constants={"left": 1, "right": 1},
        twin=twin or {"left": 2},
        reading_twins=own,
    )
    def check(c):
        parts = {"left": judge.identity([("left", c.left, 1)], "a number")}
        parts["right"] = judge.identity([("right", c.right, 1)], "a number")
        whole = judge.all_of(parts, argument=argument)
        return judge.readings({"(i)": whole, "(ii)": parts["left"]}) if read else whole

    (found,) = audit([check])
    return found


def test_a_part_that_no_control_breaks_is_kept_and_named():
    known = apart()
    assert ledger.entry(known)["uncontrolled"] == ["right"]
    mended = apart({"right": {"right": 2}})
    assert (mended.uncontrolled(), mended.control_fault()) == ([], "")
    (said,) = ledger.differences([known], {"demo.parts": ledger.entry(mended)})
    assert said == "demo.parts: uncontrolled: now right"
    assert apart(twin={"left": 2, "right": 2}).uncontrolled() == []


def test_a_part_that_its_twin_merely_leaves_open_is_named():
    @claim(
        "demo.open",
        source=Source("flverify", "example"),
        statement="1",
        proposition="p",
        constants={"left": 1},
        twin={"left": 2},
    )
    def check(c):
        left = judge.identity([("left", c.left, 1)], "a number")
        case = judge.Case({"n": c.left}, c.left, 1, lambda: (c.left, 1))
        right = judge.witness(case, "==", "a number")
        return judge.all_of({"left": left, "right": right})

    (found,) = audit([check])
    assert str(found.control.parts["right"].verdict) == "INCONCLUSIVE"
    assert found.uncontrolled() == ["right"]


def test_links_of_one_proof_have_the_control_of_what_they_prove():
    assert apart(argument="they add up").uncontrolled() == []


def test_a_twin_of_a_part_has_to_break_it():
    said = apart({"right": {"left": 3}}).control_fault()
    assert said == "the part 'right' is PROVED in its twin"


def test_parts_of_readings_are_named_too():
    @claim(
        "demo.parts",
        source=Source("flverify", "example"),
        statement="1",
        proposition="p",
        constants={"left": 1},
        twin={"left": 2},
    )
    def check(c):
        left = judge.identity([("left", c.left, 1)], "a number")
        both = judge.all_of({"left": left, "one": judge.identity([TRUE], "a number")})
        return judge.readings({"(i)": both, "(ii)": left})

    (found,) = audit([check])
    assert found.uncontrolled() == ["(i) / one"]


def test_a_part_of_a_reading_has_a_twin_of_its_own():
    assert apart(read=True).uncontrolled() == ["(i) / right"]
    mended = apart({"(i) / right": {"right": 2}}, read=True)
    assert (mended.uncontrolled(), mended.control_fault()) == ([], "")


def test_a_twin_of_a_part_of_a_reading_has_to_break_it():
    said = apart({"(i) / right": {"left": 3}}, read=True).control_fault()
    assert said == "the part '(i) / right' is PROVED in its twin"


def test_a_twin_of_a_part_that_no_reading_has_is_refused():
    with pytest.raises(InputError, match=r"got '\(ii\) / right'; choose among"):
        apart({"(ii) / right": {"right": 2}}, read=True)

"""Controls: of claims, and of every reading that passes."""

from __future__ import annotations

import pytest
import sympy
from click.testing import CliRunner

from flverify._core.errors import InputError
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.audit import audit
from flverify.claims.claim import Free, Sharp, claim
from flverify.cli import main
from flverify.commands import new_paper

SOURCE = Source("flverify", "example")
NUMBERS = {"left": 1, "right": 2, "open": 0}


def claimed(twin=None, reading_twins=None, constants=None):
    """Return a claim of two readings: the left number is 1, the right is 1."""

    @claim(
        "demo.readings",
        source=SOURCE,
        statement="1",
        proposition="both are 1",
        constants=constants or NUMBERS,
        twin=twin,
        no_control="by reading",
        reading_twins=reading_twins,
    )
    def both(c):
        return judge.readings(
            {
                "left": judge.identity([("left", c.left, 1)], "a number")
                if not c.open
                else judge.inconclusive("open"),
                "right": judge.identity([("right", c.right, 1)], "a number"),
            }
        )

    return both


def fault(*args, **kwargs):
    (audited,) = audit([claimed(*args, **kwargs)])
    return audited.control_fault()


def one_number(left, twin=None):
    """The fault of a claim that a number is 1; 0 leaves it open."""

    @claim(
        "demo.one",
        source=SOURCE,
        statement="1",
        proposition="it is 1",
        constants={"left": left, "idle": 0},
        twin=twin,
        no_control="" if twin else "nobody wrote one",
    )
    def one(c):
        if not c.left:
            return judge.inconclusive("open")
        return judge.identity([("left", c.left, 1)], "a number")

    (audited,) = audit([one])
    return audited.control_fault()


def test_a_claim_that_is_not_open_needs_a_control():
    assert one_number(1) == one_number(2) == "the control is missing"
    assert one_number(0) == ""


@pytest.mark.parametrize(
    ("left", "twin", "fault"),
    [
        (1, {"left": 2}, ""),
        (1, {"idle": 1}, "the broken twin is PROVED"),
        (1, {"left": 0}, "the broken twin is INCONCLUSIVE"),
        (2, {"left": 1}, ""),
        (2, {"left": 3}, "the mended twin is REFUTED"),
        (2, {"left": 0}, "the mended twin is INCONCLUSIVE"),
    ],
)
def test_a_twin_has_to_break_what_passes_and_to_mend_what_fails(left, twin, fault):
    assert one_number(left, twin) == fault


def test_a_reading_that_the_twin_breaks_has_its_control():
    assert fault({"left": 3}) == ""


def test_a_reading_that_passes_in_the_twin_is_named():
    assert "'left' is PROVED in its twin" in fault({"right": 1})
    assert "'left' is INCONCLUSIVE in its twin" in fault({"open": 1})


def test_a_reading_that_passes_needs_a_control_though_the_claim_is_open():
    assert "'left' passes and has no control" in fault()


def test_a_reading_may_have_its_own_twin():
    own = {"left": {"left": 3}}
    assert fault({"right": 1}, own) == ""
    assert fault(None, own) == ""


def test_a_reading_s_own_twin_has_to_break_it():
    assert "'left' is PROVED" in fault({"left": 3}, {"left": {"right": 5}})
    assert "'left' is INCONCLUSIVE" in fault({"left": 3}, {"left": {"open": 1}})
    assert "'left' is PROVED" in fault(None, {"left": {"left": 1}})


def test_readings_that_do_not_pass_need_no_control():
    assert fault(constants={**NUMBERS, "open": 1}) == ""


@pytest.mark.parametrize(
    "own", [{"middle": {"left": 3}}, {"left": {"middle": 3}}, {"left": {}}]
)
def test_twins_are_of_readings_and_constants_that_exist(own):
    with pytest.raises(InputError):
        fault({"left": 3}, own)


def test_a_reading_twin_is_judged_once_for_several_readings():
    seen = []

    @claim(
        "demo.count",
        source=SOURCE,
        statement="1",
        proposition="both are 1",
        constants={"value": 1},
        no_control="by reading",
        reading_twins={"one": {"value": 2}, "other": {"value": 2}},
    )
    def counted(c):
        seen.append(c.value)
        same = judge.identity([("value", c.value, 1)], "a number")
        return judge.readings(
            {"one": same, "other": same, "open": judge.inconclusive("?")}
        )

    (audited,) = audit([counted])
    assert audited.control_fault() == ""
    assert seen == [1, 2]


def squares(weaker, printed, twin, reading="", key=""):
    """Return the fault of (a + b)^2 <= c (a^2 + b^2), which holds from c = 2 on."""
    a, b = sympy.symbols("a b", positive=True)

    def written(c):
        return {"c": {key: c, "other": 1} if key else c, "unused": 0}

    @claim(
        "demo.square",
        source=SOURCE,
        statement="1",
        proposition="(a + b)^2 <= c (a^2 + b^2).",
        constants=written(printed),
        twin=written(twin) if not isinstance(twin, dict) else twin,
        free=[Free("c", 0, 9, weaker=weaker, reading=reading, key=key)],
    )
    def square(k):
        number = sympy.Rational(k.c[key] if key else k.c)
        gap = (number - 2) * (a**2 + b**2)
        found = judge.nonnegative([("gap", gap)], "all a, b > 0")
        return judge.readings({"plain": found}) if reading else found

    (audited,) = audit([square])
    return audited.control_fault()


@pytest.mark.parametrize("how", [{}, {"reading": "plain"}, {"key": "entry"}])
@pytest.mark.parametrize(("printed", "twin"), [(3, 1), (1, 3), ("5/2", "1/2")])
def test_a_twin_contradicts_a_constant_declared_the_wrong_way(printed, twin, how):
    assert squares("larger", printed, twin, **how) == ""
    said = squares("smaller", printed, twin, **how)
    good, bad = max(printed, twin), min(printed, twin)
    assert f"weaker where smaller, but {bad} is refuted and {good} passes" in said


def test_a_twin_that_changes_something_else_says_nothing_of_the_order():
    assert squares("smaller", 3, {"c": 1, "unused": 1}) == ""


def corrected(value, place):
    """Return the audit of a claim whose correction says that the value is 1."""

    @claim(
        "demo.corrected",
        source=SOURCE,
        statement="2=1",
        proposition="two is one",
        constants={"two": 2},
        twin={"two": 1},
    )
    def check(c):
        found = judge.identity([("two", c.two, 1)], "a number")
        fixed = judge.identity([("value", value, 1)], "a number")
        own = found.corrected("1=1", fixed)
        if place == "reading":
            return judge.readings({"plain": own})
        return judge.all_of({"it": own}) if place == "part" else own

    (audited,) = audit([check])
    return audited


@pytest.mark.parametrize("place", ["claim", "reading", "part"])
def test_a_correction_that_is_refuted_is_a_fault(place):
    assert corrected(1, place).control_fault() == ""
    said = corrected(3, place).control_fault()
    assert said.startswith("the correction is REFUTED: value: 3 is not 1")


@pytest.mark.slow
def test_an_audit_names_it_and_ends_with_1(tmp_path):
    assert (
        new_paper.command.main(["mine", "--out", str(tmp_path)], standalone_mode=False)
        is None
    )
    path = tmp_path / "mine.py"
    words = ["audit", str(path), "--workers", "1"]
    assert CliRunner().invoke(main, words).exit_code == 0
    path.write_text(path.read_text().replace('weaker="smaller"', 'weaker="larger"'))
    ran = CliRunner().invoke(main, words)
    assert ran.exit_code == 1
    assert "is declared weaker where larger" in " ".join(ran.output.split())


@pytest.mark.parametrize(
    ("best", "fault"),
    [
        ("1/3", ""),
        ("3/10", "the sharp statement is INCONCLUSIVE: cap = 3/10 is not the best"),
        ("2/5", "the sharp statement is REFUTED: "),
    ],
)
def test_a_sharp_value_that_is_none_is_a_fault(best, fault):
    x = sympy.Symbol("x", positive=True)

    @claim(
        "demo.sharp",
        source=SOURCE,
        statement="1",
        proposition="3 x is at most 1",
        constants={"cap": "1/4"},
        twin={"cap": "1/2"},
        free=Free("cap", "1/10", 1, weaker="smaller"),
        sharp=Sharp("x <= <cap>", {"cap": best}),
    )
    def one(c):
        return judge.implied([x <= sympy.Rational(c.cap)], 3 * x <= 1, "every x")

    (audited,) = audit([one])
    assert audited.control_fault().startswith(fault)
    assert bool(audited.control_fault()) is bool(fault)

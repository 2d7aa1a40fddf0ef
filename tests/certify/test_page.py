"""Pages: programs that prove what the checkers accept, and nothing else."""

from __future__ import annotations

import copy
from collections import Counter
from fractions import Fraction
from functools import cache, partial
from inspect import signature
from random import Random

import pytest

from flverify.certify.averages.quadratics import least_constant
from flverify.certify.check import Rejected
from flverify.certify.check._loops import LOOPS
from flverify.certify.check.page import _of_values, _proof, _text, numbers
from flverify.certify.check.plain import TooManyError, check_plainly
from tests.certify import gap_settings, test_attacks
from tests.certify import test_average_mutants as averages
from tests.certify import test_gap_rate_mutants as gaps
from tests.certify import test_mutations as mutations
from tests.certify.test_plain_check import FOUND, STORED, certificate

MANY = {"focus_sag", "eight", "eight of two classes", "thousand"}
NAMES = [k for k in (*mutations.ORIGINALS, *STORED, *FOUND) if k not in MANY]
OF_VALUES = [("average", k) for k in averages.ORIGINALS]
OF_VALUES += [("gap", k) for k in gap_settings.SETTINGS if k not in MANY]
QUICK, WHOLE = 20, 1000
UNSAID = {  # of a page: how many gradients are taken, and what its kind has none of
    "a participant must take its gradients as stated",
    "what is measured has a weight of its own",
    "a gap has a rho below 1, and no c",
}
ENDS = (SystemExit, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)


def prove(written, name):
    """Prove numbers of a page with the loop of an algorithm."""
    loop, settings = LOOPS[name][0], written["settings"]
    start, play = (
        partial(f, **{k: settings[k] for k in signature(f).parameters if k in settings})
        for f in (loop.start, loop.play)
    )
    kind = _of_values.ProofOfValues if "of" in written else _proof.Proof
    kind(written, start, play).prove()


def proves(certificate):
    """Whether the page of a certificate ends with no complaint."""
    try:
        prove(numbers(certificate), certificate["algorithm"]["name"])
    except TooManyError:
        raise
    except (Rejected, *ENDS):
        return False
    return True


# ------------------------------------------------------------------ what is proved


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", NAMES)
def test_what_the_checkers_accept_is_proved(name):
    assert proves(certificate(name))


def of_values(kind, name):
    """Return the certificate of an average, or of a rate of f(x) - f(x*)."""
    if kind == "average":
        return averages.original(name)
    return gap_settings.found(name).certificate


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("kind", "name"), OF_VALUES)
def test_bounds_on_values_are_proved(kind, name):
    assert proves(of_values(kind, name))


# -------------------------------------------------------------- what is not proved


@pytest.mark.parametrize("other", [("stored",), (), [], {}, "", "x*", None, 1, 0.5])
def test_only_vectors_are_added_to_vectors(other):
    vector = _proof.unknown("x*")
    for done in (vector.__add__, vector.__radd__, vector.__sub__):
        with pytest.raises((SystemExit, TypeError)):
            done(other)
    assert vector + 0 == vector - 0 == 0 + vector == vector


@cache
def mutants(number, seed, of=mutations.mutants):
    """Changed certificates, with what the short checker says of them."""
    found = []
    for story, changed in of(number, seed):
        try:
            check_plainly(changed)
        except Rejected as error:
            found.append((story, changed, str(error)))
        else:
            found.append((story, changed, ""))
    return found


def disputes(number, seed, of=mutations.mutants):
    """Stories of changed certificates that one of two has accepted; how many were."""
    counts, found = Counter(), []
    for story, changed, reason in mutants(number, seed, of):
        proved = proves(changed)
        counts[proved] += 1
        if proved != (reason == "") and (not proved or reason not in UNSAID):
            found.append((story, reason))
    return counts, found


def test_changed_certificates_get_the_verdict_of_the_short_checker():
    counts, found = disputes(QUICK, "page")
    assert not found
    assert counts[False] > 0.7 * QUICK


@pytest.mark.slow
def test_many_changed_certificates_get_the_verdict_of_the_short_checker():
    counts, found = disputes(WHOLE, "page, all")
    assert not found
    assert counts[False] > 0.8 * WHOLE
    assert counts[True] > 0.02 * WHOLE


@pytest.mark.parametrize(
    "number", [12, pytest.param(500, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("of", [averages.mutants, gaps.mutants], ids=["average", "gap"])
def test_changed_bounds_on_values_get_the_same_verdict(of, number):
    counts, found = disputes(number, f"page of values {number}", of)
    assert not found
    assert counts[False] > 0.5 * number


@pytest.mark.parametrize("story", test_attacks.CHEAP)
def test_what_would_prove_any_rate_proves_none(story):
    tricks, _ = test_attacks.CHEAP[story]
    assert not proves(test_attacks.attacked("focus_slots", test_attacks.LOW, *tricks))


def hardly_negative():
    """Numbers of a proof, with two weights that are just below 0."""
    found = copy.deepcopy(numbers(certificate("focus")))
    tiny = Fraction(-1, 10**30)
    both = [0, "call:0", "x*", tiny], [0, "x*", "call:0", tiny]
    found["decrease"]["interpolation"].extend(map(list, both))
    return found


def test_a_weight_just_below_zero_is_no_weight():
    with pytest.raises(SystemExit, match="weights must not be negative"):
        prove(hardly_negative(), "focus")


# --------------------------------------- V needs no trust: a false claim has no proof

HUGE = Fraction(10**30)
TRICKS = {
    "a weight below 0": lambda n: n["decrease"]["interpolation"].append(
        [0, "call:0", "x*", -HUGE]
    ),
    "an inequality of a point with itself": lambda n: n["decrease"][
        "interpolation"
    ].append([0, "call:0", "call:0", HUGE]),
    "V is 0": lambda n: n.update(V={}, V_values=[]),
    "V is made from x*": lambda n: n.update(V={"x*": {"x*": HUGE}}),
    "the model is x*": lambda n: n["made"].append({"model": {"x*": Fraction(1)}}),
    "x* is the model": lambda n: n["made"].append({"x*": {"model": Fraction(1)}}),
    "the model is not free": lambda n: n["free"].remove("model"),
    "all clients are the server": lambda n: n.update(client_slots=[]),
    "no slot is the server's": lambda n: n.update(server_slots=[]),
    "nothing is invariant": lambda n: n.update(made=[]),
    "all is invariant": lambda n: n["made"].append(
        {"model": {"model": Fraction(1, 2)}}
    ),
    "a memory is moved in every round": lambda n: [
        memory.update(all=True) for memory in n["memories"].values()
    ],
    "a memory starts at x*": lambda n: [
        memory.update(start="x*") for memory in n["memories"].values()
    ],
    "a memory rests": lambda n: [
        memory.update(call="x*", all=True) for memory in n["memories"].values()
    ],
    "a value that is always known": lambda n: n["values"].update(
        {"value:0": {"x*": Fraction(1)}}
    ),
    "a value without bounds": lambda n: (
        n["values"].update({"value:0": {"model": Fraction(1)}}),
        n["V_values"].extend([i, j, HUGE] for i in ("value:0",) for j in range(2)),
    ),
    "floats": lambda n: n["V"].update(model={"model": float("nan")}),
}
FALSE = ("focus", "focus_slots", "option I", "descent, smooth", "L = 2, smooth")
METHOD = {"focus_slots": "focus", "option I": "scaffold", "L = 2, smooth": "focus"}
METHOD["descent, smooth"] = "gradient_descent"


@cache
def false(name):
    if name.endswith(", smooth"):
        found = numbers(averages.original(name))
        least = least_constant(*averages.ORIGINALS[name]).constant * found["s"]
        assert least <= found["C0"]
        return found | {"C0": least * Fraction(9, 10)}
    found = numbers(certificate(name))
    assert found["n_clients"] < 4
    # twice as far from 1, and a half more
    return found | {"rho": (3 * found["rho"] - 1) / 2}


def false_claim(name):
    """Numbers of a page with a rate, or with a bound, that quadratics do not have."""
    return copy.deepcopy(false(name))


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("name", FALSE)
def test_no_numbers_prove_what_is_false(name, trick):
    lied = false_claim(name)
    try:
        TRICKS[trick](lied)
    except ValueError:  # it has no such entry
        pytest.skip("there is nothing to change")
    with pytest.raises(ENDS):
        prove(lied, METHOD.get(name, name))


def changed_at_random(value, draw):
    """Change one number or name somewhere inside."""
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not places:
        return
    key = draw.choice(places)
    if isinstance(value[key], dict | list) and value[key]:
        changed_at_random(value[key], draw)
    elif isinstance(value[key], Fraction):
        value[key] = draw.choice([-value[key], value[key] * 10, Fraction(0), HUGE])
    elif isinstance(value[key], str):
        value[key] = draw.choice(
            ["x*", "call:0", "ghost:0", "model", "g*.0", "start:0"]
        )
    else:
        value[key] = draw.choice([0, 1, True, False])


@pytest.mark.parametrize(
    "number", [12, pytest.param(300, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("name", FALSE)
def test_no_random_numbers_prove_what_is_false(name, number):
    claimed = ("n_clients", "law", "mu", "L", "settings", "of", *_text.SHOWN)
    for k in range(number):
        draw, lied = Random(f"lie {name} {k}"), false_claim(name)
        free = {key: x for key, x in lied.items() if key not in claimed}
        for _ in range(draw.randint(1, 6)):
            changed_at_random(free, draw)
        with pytest.raises(ENDS):
            prove(lied | free, METHOD.get(name, name))


# ------------------------------------------------------------------ planted faults


def forgetful(law, n):
    """All cohorts but one; its chance goes to another."""
    (p, _), *rest = cohorts(law, n)
    return [(rest[0][0] + p, rest[0][1]), *rest[1:]] if rest else [(p, [])]


def nothing(*_given):
    return _proof.NOTHING


cohorts, above, parabola = _proof.cohorts, _proof.Point.above, _proof.Point.parabola
FAULTS = {
    "a cohort is forgotten": (_proof, "cohorts", forgetful),
    "inequalities have the other sign": (
        _proof.Point,
        "above",
        lambda *given: above(*given) * -1,
    ),
    "bounds are too flat": (
        _proof.Point,
        "parabola",
        lambda b, x, bend: parabola(b, x, bend / 2),
    ),
    "nothing is judged": (_proof, "not_negative", nothing),
    "nothing is demanded": (_proof, "demand", nothing),
    "weights have any sign": (_proof, "weight", Fraction),
    "no inequality is used": (_proof.Proof, "used", nothing),
    "no value is bounded": (_proof.Proof, "bounds", nothing),
    "memories stay": (_proof.Proof, "moved", lambda _proof, held, *_: held),
}


def right():
    """Whether everything gets the verdict that it should have."""
    try:
        prove(hardly_negative(), "focus")
    except ENDS:
        originals = ("focus", "warm", "contraction", "previous gradients")
        if all(proves(certificate(k)) for k in originals):
            return not disputes(40, "faults")[1]
    return False


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(monkeypatch, fault):
    mutants(40, "faults")  # judged before there is a fault
    monkeypatch.setattr(*FAULTS[fault])
    assert not right()


@pytest.mark.slow
def test_nothing_is_noticed_where_there_is_no_fault():
    assert right()

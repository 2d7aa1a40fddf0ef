"""Certificates of methods of one's own, judged by the loops that come with them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType

import pytest

from flverify._core.errors import DomainError, InputError, RefusedError
from flverify.algorithms import FedAvg, Focus, Scaffold
from flverify.certify.certificate import digest
from flverify.certify.check import Rejected, check
from flverify.certify.check.own import check_own, load_loop, loop_in
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import certify
from flverify.certify.sandwich import worst_quadratic
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.reference import fedavg, focus, scaffold
from tests.certify import momentum
from tests.certify.momentum import Momentum, play, start

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
TWO = Bernoulli([HALF, HALF])


class OwnFocus(Focus):
    """The same method under a name of its own."""


class OwnFedAvg(FedAvg):
    """The same method under a name of its own."""


class OwnScaffold(Scaffold):
    """The same method under a name of its own."""


def loop(play, start=start):
    """Return a module of these functions."""
    module = ModuleType("own")
    module.__file__ = __file__
    module.start, module.play = start, play
    return module


@pytest.mark.parametrize(
    ("own", "shipped", "module"),
    [
        (OwnFocus(Fraction(1, 8)), Focus(Fraction(1, 8)), focus),
        (OwnFocus(Fraction(1, 16), 2), Focus(Fraction(1, 16), 2), focus),
        (OwnScaffold(Fraction(1, 8), 2), Scaffold(Fraction(1, 8), 2), scaffold),
    ],
)
@pytest.mark.parametrize(
    "law", [TWO, UniformCohort(9, 2), Bernoulli(["1/2", "1/3", "1/3"])], ids=str
)
def test_the_package_s_own_methods_get_the_same_numbers(own, shipped, module, law):
    found = certify(own, law, TENTH, 1, loop=module)
    known = certify(shipped, law, TENTH, 1)
    assert found.status == "certified"
    assert found.rate == known.rate
    differ = {k for k, v in found.certificate.items() if v != known.certificate[k]}
    assert differ == {"algorithm", "digest"}
    assert check_own(found.certificate, module).rho == check(known.certificate).rho


def test_a_loop_without_helpers_is_counted_client_by_client():
    """The mean is by len(cohort), which nobody can tell who stands for many."""
    own, law = Momentum(HALF, Fraction(1, 4)), UniformCohort(20, 4)
    found = contraction(own, law, TENTH, 1, loop=momentum)
    lower = worst_quadratic(own, law, TENTH, 1).lower_bound
    assert found.status == "certified"
    assert lower < found.rate < lower + Fraction(1, 10**5)


def test_momentum_from_rest_is_gradient_descent():
    """b = 0: (1 - eta mu)^2, the other end being nearer to 0."""
    found = certify(Momentum(HALF, Fraction(0)), Full(3), TENTH, 1, loop=momentum)
    assert abs(found.rate - (1 - HALF * TENTH) ** 2) <= Fraction(1, 10**5)


def test_a_biased_method_has_its_neighbourhood():
    own = distance(OwnFedAvg(TENTH, 2), TWO, TENTH, 1, loop=fedavg)
    shipped = distance(FedAvg(TENTH, 2), TWO, TENTH, 1)
    assert own.status == "certified"
    assert own.constant == shipped.constant


def tampered(certificate, **changes):
    body = {**certificate, **changes}
    return {**body, "digest": digest(body)}


@pytest.fixture(scope="module")
def certificate():
    own = Momentum(HALF, Fraction(1, 4))
    return contraction(own, TWO, TENTH, 1, loop=momentum).certificate


def test_it_is_json(certificate):
    again = json.loads(json.dumps(certificate))
    assert check_own(again, momentum).rho == Fraction(certificate["rho"])


@pytest.mark.parametrize(
    "changes",
    [
        {"rho": "9/10"},
        {"function_class": {"strong_convexity": "1/11", "smoothness": "1"}},
        {"function_class": {"strong_convexity": "1/10", "smoothness": "2"}},
        {"statement": "all is well"},
        {"level": "lifted"},
        {"law": {"kind": "full", "n_clients": 2}},
        {"neighbourhood": {"weight": "0", "constant": "0"}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_changed_is_rejected(certificate, changes):
    with pytest.raises(Rejected):
        check_own(tampered(certificate, **changes), momentum)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("step_size", "3/5"), ("momentum", "3/10"), ("momentum", "-1/4")],
)
def test_other_settings_are_rejected(certificate, setting, value):
    algorithm = certificate["algorithm"]
    settings = {**algorithm["settings"], setting: value}
    other = tampered(certificate, algorithm={**algorithm, "settings": settings})
    with pytest.raises(Rejected, match="positive semidefinite"):
        check_own(other, momentum)


def test_a_wrong_digest_is_rejected(certificate):
    with pytest.raises(Rejected, match="digest"):
        check_own({**certificate, "digest": "0"}, momentum)


def other(certificate, module):
    """Say that a certificate was made with this loop."""
    source = certify_source(module)
    algorithm = {**certificate["algorithm"], "source": source}
    return tampered(certificate, algorithm=algorithm)


def certify_source(module):
    return loop_in(module).source


FAULTY = {}


def faulty(match):
    """Add a play that does something wrong, and how it is told."""

    def kept(wrong):
        def whole(
            state, gradient, n_clients, cohort, *, step_size, momentum, local_steps
        ):
            own = {
                "step_size": step_size,
                "momentum": momentum,
                "local_steps": local_steps,
            }
            return wrong(state, gradient, n_clients, cohort, own)

        FAULTY[wrong.__name__] = whole, match
        return wrong

    return kept


@faulty("positive semidefinite")
def longer(state, gradient, n_clients, cohort, own):
    own = {**own, "step_size": 2 * own["step_size"]}
    return play(state, gradient, n_clients, cohort, **own)


@faulty("positive semidefinite")
def everybody(state, gradient, n_clients, cohort, own):
    return play(state, gradient, n_clients, range(n_clients), **own)


@faulty("alike")
def without_client_0(state, gradient, n_clients, cohort, own):
    return play(state, gradient, n_clients, set(cohort) - {0}, **own)


CALLS = iter(range(10**6))


@faulty("alike")
def now_and_then(state, gradient, n_clients, cohort, own):
    idle = next(CALLS) % 3 == 0
    return state if idle else play(state, gradient, n_clients, cohort, **own)


@faulty("add vectors")
def compares(state, gradient, n_clients, cohort, own):
    idle = state["model"][0] > 1
    return state if idle else play(state, gradient, n_clients, cohort, **own)


@faulty("add vectors")
def equals(state, gradient, n_clients, cohort, own):
    idle = state["model"] == [0]
    return state if idle else play(state, gradient, n_clients, cohort, **own)


@faulty("add vectors")
def asks_whether_it_is_zero(state, gradient, n_clients, cohort, own):
    idle = not state["model"][0]
    return state if idle else play(state, gradient, n_clients, cohort, **own)


@faulty("add vectors")
def squares(state, gradient, n_clients, cohort, own):
    return {**state, "model": [state["model"][0] * state["model"][0]]}


@faulty("add vectors")
def powers(state, gradient, n_clients, cohort, own):
    return {**state, "model": [state["model"][0] ** 2]}


@faulty("add vectors")
def divides_by_it(state, gradient, n_clients, cohort, own):
    return {**state, "model": [1 / state["model"][0]]}


@faulty("add vectors")
def in_floats(state, gradient, n_clients, cohort, own):
    return {**state, "model": [0.5 * state["model"][0]]}


@faulty("add vectors")
def as_text(state, gradient, n_clients, cohort, own):
    return {**state, "model": "0"}


@faulty("keep its slots")
def another_slot(state, gradient, n_clients, cohort, own):
    return {**state, "more": state["model"]}


@faulty("keep its slots")
def a_slot_less(state, gradient, n_clients, cohort, own):
    return {"model": state["model"]}


@faulty("keep its slots|dict")
def no_dict(state, gradient, n_clients, cohort, own):
    return [state]


@faulty("RuntimeError: no")
def fails(state, gradient, n_clients, cohort, own):
    raise RuntimeError("no")


@faulty("gradients")
def one_gradient_more(state, gradient, n_clients, cohort, own):
    for i in cohort:
        gradient(i, [2 * entry for entry in state["model"]])
    return play(state, gradient, n_clients, cohort, **own)


@faulty("entries")
def two_entries(state, gradient, n_clients, cohort, own):
    for i in cohort:
        gradient(i, [*state["model"], 0])
    return play(state, gradient, n_clients, cohort, **own)


LATE = 10**5  # calls: none of those that are made to check it


def test_a_loop_that_counts_is_rejected_before_its_count_matters(certificate):
    seen = []

    def in_closure(state, gradient, n_clients, cohort, **own):
        seen.append(1)
        return (
            state
            if len(seen) > LATE
            else play(state, gradient, n_clients, cohort, **own)
        )

    def in_default(state, gradient, n_clients, cohort, memo=[], **own):  # noqa: B006
        memo.append(1)
        return (
            state
            if len(memo) > LATE
            else play(state, gradient, n_clients, cohort, **own)
        )

    def in_module(state, gradient, n_clients, cohort, **own):
        counted.rounds += 1
        idle = counted.rounds > LATE
        return state if idle else play(state, gradient, n_clients, cohort, **own)

    for wrong in (in_closure, in_default, in_module):
        wrong.__wrapped__ = play  # for the settings' names
        counted = loop(wrong)
        counted.rounds = 0
        with pytest.raises(Rejected, match="keep nothing from one call to the next"):
            check_own(other(certificate, counted), counted)


@faulty("alike")
def first_entry_alone(state, gradient, n_clients, cohort, own):
    """In one dimension it is the method, in two it never gets there."""
    new = play(state, gradient, n_clients, cohort, **own)
    return {slot: [new[slot][0], *old[1:]] for slot, old in state.items()}


@faulty("alike")
def last_entry_alone(state, gradient, n_clients, cohort, own):
    new = play(state, gradient, n_clients, cohort, **own)
    return {slot: [*old[:-1], new[slot][-1]] for slot, old in state.items()}


@faulty("alike")
def entries_turned(state, gradient, n_clients, cohort, own):
    new = play(state, gradient, n_clients, cohort, **own)
    return {slot: entries[::-1] for slot, entries in new.items()}


@faulty("alike")
def gradients_turned(state, gradient, n_clients, cohort, own):
    def turned(i, point):
        return gradient(i, point)[::-1]

    return play(state, turned, n_clients, cohort, **own)


@faulty("alike")
def stops_in_two_dimensions(state, gradient, n_clients, cohort, own):
    idle = len(state["model"]) > 1
    return state if idle else play(state, gradient, n_clients, cohort, **own)


@pytest.mark.parametrize("name", FAULTY)
def test_another_loop_is_rejected(certificate, name):
    wrong, match = FAULTY[name]
    module = loop(wrong)
    with pytest.raises(Rejected, match=match):
        check_own(other(certificate, module), module)


def test_the_same_loop_under_another_text_is_told(certificate):
    module = loop(play)
    with pytest.raises(Rejected, match="to the letter"):
        check_own(certificate, module)
    assert check_own(other(certificate, module), module).rho


@pytest.mark.parametrize("law", [UniformCohort(8, 2), Bernoulli([HALF] * 7)], ids=str)
def test_one_client_among_many_must_not_be_treated_differently(law):
    found = contraction(Momentum(HALF, Fraction(1, 4)), law, TENTH, 1, loop=momentum)
    for special in range(law.n_clients):

        def partial(state, gradient, n_clients, cohort, special=special, **settings):
            keep = [i for i in cohort if i != special]
            return play(state, gradient, n_clients, keep, **settings)

        def silent(state, gradient, n_clients, cohort, special=special, **settings):
            keep = [] if special in cohort else cohort
            return play(state, gradient, n_clients, keep, **settings)

        partial.__kwdefaults__ = {"special": special}
        for unfair in (partial, silent):
            unfair.__wrapped__ = play  # for the settings' names
            module = loop(unfair)
            with pytest.raises(Rejected, match="alike"):
                check_own(other(found.certificate, module), module)


@pytest.mark.parametrize("name", ["longer", "everybody", "without_client_0"])
@pytest.mark.parametrize("unit", [1, 10**6, Fraction(1, 10**6)], ids=str)
def test_a_loop_that_is_another_method_is_told_before_any_search(name, unit):
    own, module = Momentum(HALF / unit, Fraction(1, 4)), loop(FAULTY[name][0])
    with pytest.raises(InputError, match="loop must do what the round does"):
        contraction(own, TWO, TENTH * unit, unit, loop=module)
    assert contraction(own, TWO, TENTH * unit, unit, loop=loop(play)).rate


@pytest.mark.parametrize(
    ("law", "size"),
    [
        (Bernoulli(["99/100"] * 4), 0),
        (Bernoulli(["1/100"] * 4), 4),
        (Bernoulli(["1/100"] * 4), 3),
        (Bernoulli(["99/100"] * 4), 1),
        (Bernoulli([1, 1, "99/100", 0]), 2),
        (Bernoulli([1, "1/100", "1/100", 0]), 3),
        (AllOrNothing(4, "99/100"), 0),
    ],
    ids=str,
)
def test_a_loop_that_differs_for_a_rare_cohort_is_told(law, size):
    def stops(state, gradient, n_clients, cohort, **settings):
        moves = len(cohort) != size
        after = play(state, gradient, n_clients, cohort, **settings)
        return after if moves else {**after, "model": [2 * a for a in after["model"]]}

    stops.__wrapped__ = play  # for the settings' names
    own = Momentum(HALF, Fraction(1, 4))
    with pytest.raises(InputError, match=f"with a cohort of {size},"):
        contraction(own, law, TENTH, 1, loop=loop(stops))


@pytest.mark.parametrize("law", [Full(4), UniformCohort(4, 2), Bernoulli([1, 1])])
def test_a_loop_may_do_anything_for_cohorts_that_never_come(law):
    def raises(state, gradient, n_clients, cohort, **settings):
        if len(cohort) in {0, 1, 3}:
            raise ValueError
        return play(state, gradient, n_clients, cohort, **settings)

    raises.__wrapped__ = play
    own = Momentum(HALF, Fraction(0))
    assert contraction(own, law, TENTH, 1, loop=loop(raises)).status == "certified"


@pytest.mark.parametrize(
    ("law", "gradients"), [(Full(1001), 1), (UniformCohort(1000, 500), 2)], ids=str
)
def test_too_many_clients_are_not_played(law, gradients):
    own = Momentum(HALF, Fraction(1, 4), gradients)
    found = contraction(own, law, TENTH, 1, loop=momentum)
    assert found.status == "inconclusive"
    assert "are played" in found.reason


def start_named(*slots):
    return lambda *_: {slot: [0] for slot in slots}


def unnamed(state, gradient, n_clients, cohort, step_size, local_steps, momentum):
    return play(
        state,
        gradient,
        n_clients,
        cohort,
        step_size=step_size,
        local_steps=local_steps,
        momentum=momentum,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("momentum.py", "loop must be a module"),
        (play, "loop must be a module"),
        (json, "loop must be a file with the functions"),
        (sys, "loop must be a file with the functions"),
        (loop(unnamed), "must take every setting by name"),
        (loop(play, start_named("model", "speed")), "must start with slots"),
        (loop(play, start_named("velocity")), "must start with slots"),
        (loop(FAULTY["fails"][0]), "ends in RuntimeError: no"),
    ],
    ids=range(8),
)
def test_what_is_no_loop_is_one_sentence(given, message):
    with pytest.raises(InputError, match=message):
        certify(Momentum(HALF, Fraction(1, 4)), TWO, TENTH, 1, loop=given)


def stopped(state, gradient, n_clients, cohort, *, step_size, momentum, local_steps):
    raise ValueError("the point must be finite.")


def test_an_error_of_a_loop_has_no_full_stop_inside_the_sentence():
    own = Momentum(HALF, Fraction(1, 4))
    with pytest.raises(InputError, match="must be finite; try start and play by hand"):
        certify(own, TWO, TENTH, 1, loop=loop(stopped))


def test_without_a_loop_nothing_is_certified():
    with pytest.raises(RefusedError, match="own with a plain loop; got Momentum"):
        certify(Momentum(HALF, Fraction(1, 4)), TWO, TENTH, 1)


def test_a_method_of_the_package_takes_no_loop():
    with pytest.raises(InputError, match="loop must be left out for Focus"):
        certify(Focus("1/8"), TWO, TENTH, 1, loop=focus)


@pytest.mark.parametrize("value", [True, 0.25, (1, 2)], ids=str)
def test_settings_are_rationals_or_text(value):
    with pytest.raises(DomainError, match="settings of a certificate must be"):
        certify(Momentum(HALF, value), TWO, TENTH, 1, loop=momentum)


def test_no_file_names_a_loop(certificate):
    with pytest.raises(Rejected, match="must be given"):
        check(certificate)
    shipped = certify(Focus("1/8"), TWO, TENTH, 1).certificate
    with pytest.raises(Rejected, match="one's own"):
        check_own(shipped, focus)


def test_a_setting_that_counts_is_a_whole_number():
    """range(...) takes it, and what is divided by it stays exact."""

    @dataclass(frozen=True)
    class Counted(Momentum):
        averaged: int = 2

        def round(self, state, cohort, oracle):
            slower = Momentum(
                self.step_size / self.averaged, self.momentum, self.local_steps
            )
            return slower.round(state, cohort, oracle)

    def counted(
        state,
        gradient,
        n_clients,
        cohort,
        *,
        step_size,
        momentum,
        local_steps,
        averaged,
    ):
        short = sum(step_size / averaged**2 for _ in range(averaged))
        given = {"momentum": momentum, "local_steps": local_steps}
        return play(state, gradient, n_clients, cohort, step_size=short, **given)

    own, module = Counted(HALF, Fraction(1, 4)), loop(counted)
    found = contraction(own, TWO, TENTH, 1, loop=module)
    slower = contraction(
        Momentum(HALF / 2, Fraction(1, 4)), TWO, TENTH, 1, loop=momentum
    )
    assert found.rate == slower.rate


def test_a_file_is_run_once_and_told_if_it_cannot(tmp_path):
    good = tmp_path / "good.py"
    good.write_text("def start(*_): ...\ndef play(*_): ...\n")
    assert load_loop(good).source.startswith("a loop, sha256 of its file ")
    bad = tmp_path / "bad.py"
    for text in ("1/0", "import no_such_module", "def (", "def start(): ..."):
        bad.write_text(text)
        with pytest.raises(ValueError, match=r"loop must be a file"):
            load_loop(bad)
    with pytest.raises(ValueError, match="loop must be a file of Python"):
        load_loop(tmp_path / "none.py")

"""The short checker: what the other one says, client by client."""

from __future__ import annotations

import copy

import pytest

from flverify.algorithms import Focus
from flverify.certify.check import Rejected, check, plain
from flverify.certify.check._reading import read
from flverify.certify.check.plain import TooManyError, check_plainly
from flverify.certify.rates import certify
from flverify.participation import UniformCohort
from tests.certify.test_mutations import (
    ORIGINALS,
    everywhere,
    mutants,
    original,
    signed,
)

QUICK, WHOLE = 78, 1040


def accepted(judge, certificate):
    try:
        judge(certificate)
    except Rejected:
        return False
    return True


def reworded(certificate):
    """Words that fit, which the short checker does not read; so they are no reason."""
    try:
        words = read(certificate).words
    except Rejected:
        return certificate
    out = copy.deepcopy(certificate)
    out["statement"], out["level"] = words["statement"][1], words["level"][1]
    out["algorithm"]["source"] = words["source"][1]
    return signed(out)


def disagreements(number, seed):
    out, kept = [], 0
    for story, mutant in mutants(number, seed):
        same = reworded(mutant)
        said = accepted(check, same)
        kept += said
        if accepted(check_plainly, same) != said:
            out.append((story, said))
    return out, kept


@pytest.mark.parametrize("name", ORIGINALS)
def test_every_kind_of_certificate_is_accepted(name):
    certificate = original(name)
    assert check_plainly(certificate) == check(certificate).rho


def test_both_say_the_same_of_changes():
    found, kept = disagreements(QUICK, "plain")
    assert found == []
    assert 0 < kept < QUICK / 3


@pytest.mark.slow
def test_both_say_the_same_of_a_thousand_changes():
    found, kept = disagreements(WHOLE, "plainly")
    assert found == []
    assert 0 < kept < WHOLE / 3


WRONG = [None, True, 1, 0.5, "", "x", "0.5", "1e-3", " 1", [], {}, [[]], {"a": "1"}]


@pytest.mark.parametrize("name", ["focus", "fedavg", "scaffold"])
def test_garbage_is_rejected_and_crashes_nothing(name):
    # what the longer checker rejects beside words and further keys, this one rejects
    unread = {"statement", "source", "level", "digest"}
    certificate = original(name)
    paths = [p for p in everywhere(certificate) if p and not unread & set(p)]
    for k, path in enumerate(paths):
        changed = copy.deepcopy(certificate)
        put_plainly(changed, path, WRONG[k % len(WRONG)])
        if not accepted(check, signed(changed)):
            assert not accepted(check_plainly, changed), path


def put_plainly(certificate, path, value):
    *outer, last = path
    for key in outer:
        certificate = certificate[key]
    certificate[last] = value


def test_a_memory_without_a_slot_has_no_weights():
    changed = copy.deepcopy(original("previous gradients"))
    (memory,) = [m for m in changed["memories"] if m["slot"] is None]
    memory["weights"] = ["1"] * len(memory["weights"])
    assert not accepted(check, signed(changed))
    assert not accepted(check_plainly, changed)


def test_many_clients_are_refused():
    many = certify(Focus("1/20"), UniformCohort(7, 2), "1/10", 1).certificate
    with pytest.raises(TooManyError, match="at most 6 clients"):
        check_plainly(many)
    with pytest.raises(Rejected):
        check_plainly(None)
    with pytest.raises(Rejected):
        check_plainly({})


@pytest.mark.parametrize("forgotten", ["semidefinite", "cancel"])
def test_a_checker_that_forgets_something_would_be_noticed(monkeypatch, forgotten):
    judge = plain._require

    def require(holds, reason):
        judge(holds or forgotten in reason, reason)

    changed = [reworded(mutant) for _, mutant in mutants(QUICK, "plain")]
    false = [mutant for mutant in changed if not accepted(check_plainly, mutant)]
    monkeypatch.setattr(plain, "_require", require)
    assert any(accepted(check_plainly, mutant) for mutant in false)

"""What the model never sees may settle slowly: no certificate has to wait for it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.algorithms import FedAvg, FedVarp, ProxSkip, Scaffold
from flverify.certify import search
from flverify.certify.averages import average
from flverify.certify.certificate import digest
from flverify.certify.check import Rejected, check
from flverify.certify.check.plain import check_plainly
from flverify.certify.discover import discover
from flverify.certify.ladder import Ladder
from flverify.certify.rates import certify
from flverify.participation import AllOrNothing, Bernoulli, Full

RARE = Fraction(1, 5)  # the shifts of ProxSkip settle by (1 - 1/5)^2 = 16/25 a round


def descent(step_size, mu, smooth):
    """Rate of gradient descent, which the model then does."""
    return max(1 - step_size * mu, step_size * smooth - 1) ** 2


@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize(
    ("step_size", "mu", "smooth"), [("1", "1/3", 1), ("1/8", "2", "10"), ("1", ".9", 1)]
)
def test_with_everybody_there_proxskip_is_gradient_descent(n, step_size, mu, smooth):
    algorithm = ProxSkip(step_size, probability=RARE)
    found = certify(algorithm, Full(n), mu, smooth)
    truth = descent(Fraction(step_size), Fraction(mu), Fraction(smooth))
    assert truth < found.rate <= truth + Fraction(2, 10**5)
    assert (
        check(found.certificate).rho == check_plainly(found.certificate) == found.rate
    )


def test_a_region_knows_it_too():
    ladder = Ladder.of(ProxSkip(1, probability=RARE), Full(3), "1/3", 1)
    found = ladder.certify(Fraction(3, 2), descent(Fraction(3, 2), Fraction(1, 3), 1))
    assert Fraction(1, 4) < found.rate < Fraction(1, 4) + Fraction(1, 10**5)


def test_a_slot_that_is_seen_cannot_be_left_out(monkeypatch):
    coin = ProxSkip("1/2", probability=RARE), AllOrNothing(3, RARE), "1/3", 1
    found = certify(*coin)
    assert found.status == "certified"
    monkeypatch.setattr(search, "unseen", lambda *_: frozenset({"shifts"}))
    assert certify(*coin).certificate is None
    # nor can its numbers be struck out of a certificate
    blind = dict(found.certificate, V={**found.certificate["V"]})
    blind["V"]["classes"] = [[[blind["V"]["classes"][0][0][0], "0"], ["0", "0"]]]
    blind["digest"] = digest(blind)
    with pytest.raises(Rejected, match="positive semidefinite"):
        check(blind)


@pytest.mark.parametrize(
    ("algorithm", "law"),
    [
        (ProxSkip("1/2", probability=RARE), AllOrNothing(3, RARE)),
        (ProxSkip("1/50", 2, variant="notebook"), Bernoulli(["1/2"] * 3)),
        (Scaffold("1/10"), Bernoulli(["1/2"] * 3)),
    ],
)
def test_all_else_stays_in_the_state(algorithm, law):
    setting = search.problem(algorithm, law, "1/10", 1)
    reading = search.read_round(setting)
    rungs = search.levels(reading, discover(reading))
    assert not any(structure.unseen for structure, _ in rungs)


@pytest.mark.parametrize("law", [Full(3), AllOrNothing(3, RARE)])
@pytest.mark.parametrize("method", [Scaffold, FedVarp])
def test_a_memory_that_is_unseen_is_left_out_of_a_first_v(method, law):
    setting = search.problem(method("1/10"), law, "1/10", 1)
    reading = search.read_round(setting)
    first, *richer = search.levels(reading, discover(reading))
    kept = {memory.slot for structure, _ in richer for memory in structure.memories}
    assert first[0].unseen <= kept  # V may gain by what it remembers
    assert first[0].unseen
    assert not any(structure.unseen for structure, _ in richer)


def test_the_table_of_fedvarp_with_everybody_there_does_not_start_wrong():
    """It begins at 0, which is no gradient at x_0, and no model ever sees it."""
    law, step = Full(3), "1/5"
    table, none = (
        average(method(step), law, smoothness=1, strong_convexity=-1)
        for method in (FedVarp, FedAvg)
    )
    assert table.status == "certified"
    assert table.by_gap == none.by_gap
    start = certify(Scaffold(step), law, "1/10", 1).certificate["start"]
    assert Fraction(start["C2"]) < Fraction(1, 10**6)

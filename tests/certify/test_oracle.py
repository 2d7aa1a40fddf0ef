"""PEPit, given the V of a certificate, finds no worst case above the certified rate.

PEPit lists the outcomes itself and asks a solver for the largest E V+ over all smooth
strongly convex functions with V <= 1; it shares nothing with the derivation.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from flverify.algorithms import Focus
from flverify.certify.rates import certify
from flverify.participation import Bernoulli

pepit = pytest.importorskip("PEPit")
pytestmark = pytest.mark.filterwarnings("ignore")

MU, SMOOTH, STEP = 0.1, 1.0, 0.2


def _worst(certificate: dict[str, Any]) -> float:
    """Largest E V+ over V <= 1 for two clients that take part with chance 1/2."""
    from PEPit.functions import SmoothStronglyConvexFunction  # noqa: PLC0415

    problem = pepit.PEP()
    clients = [
        problem.declare_function(SmoothStronglyConvexFunction, mu=MU, L=SMOOTH)
        for _ in range(2)
    ]
    star = (clients[0] + clients[1]).stationary_point()
    at_star = [f.gradient(star) for f in clients]
    values_at_star = [f.value(star) for f in clients]
    model, stored = problem.set_initial_point(), [pepit.Point(), pepit.Point()]

    mean = [[float(Fraction(v)) for v in row] for row in certificate["V"]["mean"]]
    spread = float(Fraction(certificate["V"]["classes"][0][0][0]))
    delta = float(Fraction(certificate["values"][0]["delta"]))

    def lyapunov(x: Any, memory: list[Any]) -> Any:
        gaps = [memory[i] - at_star[i] for i in range(2)]
        average = (gaps[0] + gaps[1]) / 2
        u = (x - star, average)
        form = sum(mean[a][b] * u[a] * u[b] for a in range(2) for b in range(2))
        form = form + spread / 2 * sum((g - average) ** 2 for g in gaps)
        for i, f in enumerate(clients):
            bregman = f.value(x) - values_at_star[i] - at_star[i] * (x - star)
            form = form + delta / 2 * bregman
        return form

    problem.set_initial_condition(lyapunov(model, stored) <= 1)
    fresh = [f.gradient(model) for f in clients]
    total: Any = 0
    for here in product((False, True), repeat=2):
        tracker = stored[0] + stored[1]
        for i, present in enumerate(here):
            if present:
                tracker = tracker + fresh[i] - stored[i]
        memory = [fresh[i] if here[i] else stored[i] for i in range(2)]
        total = total + 0.25 * lyapunov(model - STEP * tracker, memory)
    problem.set_performance_metric(total)
    return float(problem.solve(verbose=0))


def test_no_worse_case_is_found() -> None:
    found = certify(Focus("1/5"), Bernoulli(["1/2", "1/2"]), "1/10", 1)
    assert found.certificate is not None
    assert found.rate is not None
    worst = _worst(found.certificate)
    assert worst <= float(found.rate) + 1e-5
    assert worst > 0.9  # the question was not empty


def test_a_wrong_v_is_found_out() -> None:
    found = certify(Focus("1/5"), Bernoulli(["1/2", "1/2"]), "1/10", 1)
    assert found.certificate is not None
    assert found.rate is not None
    wrong = {
        **found.certificate,
        "V": {"mean": [["1", "0"], ["0", "1"]], "classes": [[["1/9"]]]},
    }
    assert _worst(wrong) > float(found.rate) + 1e-3

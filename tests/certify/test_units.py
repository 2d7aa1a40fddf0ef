"""A certificate does not depend on the units: f times 3 and the step size over 3."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from flverify.algorithms import (
    FedDyn,
    FedVarp,
    Focus,
    GradientDescent,
    Mifa,
    ProxSkip,
    Scaffold,
)
from flverify.certify.check import check
from flverify.certify.check.plain import check_plainly
from flverify.certify.rates import certify
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort

TENTH, TRIPLE = Fraction(1, 10), 3
SETTINGS: dict[str, tuple[Any, Any]] = {
    "focus": (Focus("1/10", 2), Bernoulli(["1/2", "1/2"])),
    "scaffold": (Scaffold("1/10", 2), UniformCohort(4, 2)),
    "proxskip": (ProxSkip("1/10", probability="1/2"), AllOrNothing(2, "1/2")),
    "feddyn": (FedDyn("1/2", 1, 2), UniformCohort(4, 2)),
    "mifa": (Mifa("1/10", initial_table="zero"), UniformCohort(4, 2)),
    "fedvarp": (FedVarp("1/10"), UniformCohort(4, 2)),  # its table is of models
    # what its model equals is of two units: models and shifts
    "notebook": (ProxSkip("1/10", 2, variant="notebook"), Full(2)),
    "gradient descent": (GradientDescent("1/10"), Full(2)),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_rate_is_certified_in_other_units(name: str) -> None:
    algorithm, law = SETTINGS[name]
    rate = Fraction(99, 100)
    assert certify(algorithm, law, TENTH, 1, rate).status == "certified"
    other = algorithm.rescaled(TRIPLE)
    found = certify(other, law, TRIPLE * TENTH, TRIPLE, rate)
    assert (found.status, found.reason) == ("certified", "")
    assert check(found.certificate or {}).rho == check_plainly(found.certificate)

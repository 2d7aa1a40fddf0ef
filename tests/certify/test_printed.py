"""What papers print of their own algorithms is said of no other."""

from __future__ import annotations

import pytest

from flverify._core.errors import RefusedError
from flverify.algorithms import FedAvg, Focus
from flverify.certify.printed import printed, printed_sag
from flverify.participation import Bernoulli, Full, UniformCohort

LAW = UniformCohort(100, 1)


class Slower(Focus):
    """FOCUS whose server goes half of the way: it derives from it, and is another."""

    def round(self, state, cohort, oracle):
        after = super().round(state, cohort, oracle)
        return after._replace(model=(state.model + after.model) / 2)


class Halved(FedAvg):
    """FedAvg whose server goes half of the way."""

    def round(self, state, cohort, oracle):
        after = super().round(state, cohort, oracle)
        return after._replace(model=(state.model + after.model) / 2)


@pytest.mark.parametrize(
    ("ask", "kind", "own", "law"),
    [
        (printed, Focus, Slower, LAW),
        (printed_sag, Focus, Slower, LAW),
        (printed, FedAvg, Halved, Full(2)),
    ],
)
def test_a_class_derived_from_an_algorithm_is_promised_nothing(ask, kind, own, law):
    assert ask(kind("1/1600"), law, "1/10", 1) is not None
    assert ask(own("1/1600"), law, "1/10", 1) is None


@pytest.mark.parametrize("kind", [FedAvg, Focus])
def test_a_client_that_never_takes_part_is_outside_of_the_theorems(kind):
    algorithm = kind("1/1600")
    assert printed(algorithm, Bernoulli(["1/2", "1/100"]), "1/10", 1) is not None
    with pytest.raises(RefusedError, match="positive probability; got 0"):
        printed(algorithm, Bernoulli(["1/2", 0]), "1/10", 1)

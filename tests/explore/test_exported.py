"""What the exported table calls exact is exact."""

from __future__ import annotations

import csv
import io
from fractions import Fraction

import pytest

from flverify.explore import slices
from flverify.explore.view import View


@pytest.mark.parametrize("clients", [3, 32, 33])
def test_a_number_in_the_column_of_exact_ones_is_the_rational(clients):
    view = View(n_clients=clients, probability="1/3", over="n")
    lines = list(csv.DictReader(io.StringIO(slices.csv(view))))
    weights = [line for line in lines if line["table"] == "weights"]
    assert len(weights) == 2 * clients
    p = Fraction(1, 3)
    truth = {"p": p, "q": (1 - (1 - p) ** clients) / clients}
    for line in weights:
        assert float(line["value"]) == pytest.approx(float(truth[line["quantity"]]))
        if line["exact"] or clients <= 32:
            assert Fraction(line["exact"]) == truth[line["quantity"]]
    entries = [line for line in lines if line["table"] == "mixing"]
    pulled = {line["exact"] for line in entries if line["quantity"] == "Rbar"}
    assert pulled <= {"", "0", "1", "1/3", "2/3"}

"""What the exported table calls exact is exact."""

from __future__ import annotations

import contextlib
import csv
import io
from dataclasses import replace
from fractions import Fraction

import pytest

from flverify.algorithms import Scaffold
from flverify.certify import sandwich
from flverify.certify.sandwich import worst_quadratic
from flverify.explore import slices
from flverify.explore.view import View
from flverify.participation import Full


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


@pytest.mark.parametrize("step", ["3", "2", "21/10"])
def test_the_script_names_no_bias_where_means_do_not_settle(step):
    # one client of FedAvg: 2 only turns its sign, beyond it runs away
    view = View("fedavg", 1, "full", local_steps=1, step_size=step, over="n")
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(slices.snippet(view), {})  # noqa: S102 - the script itself is tested
    lines = stream.getvalue().splitlines()
    told = next(row.text for row in slices.point(view) if row.name == "bias")
    assert told == "infinite"
    assert "bias: see the table below" in lines
    assert f"bias {told} SUPPORTED" in lines


def test_the_script_says_the_bias_of_the_page():
    view = View("fedavg", 2, "full", step_size="1/5", over="n")
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(slices.snippet(view), {})  # noqa: S102 - the script itself is tested
    (line,) = (one for one in stream.getvalue().splitlines() if one[:5] == "bias:")
    (row,) = (row for row in slices.point(view) if row.name == "bias")
    assert float(line[5:]) == pytest.approx(row.value, rel=1e-12)


@pytest.mark.parametrize("near", [True, False])
def test_the_script_says_where_runs_on_the_worst_quadratics_lack_their_rate(
    near, monkeypatch
):
    found = replace(
        worst_quadratic(Scaffold(1, 4), Full(2), "1/10", 1), occurs=not near
    )
    monkeypatch.setattr(sandwich, "worst_quadratic", lambda *_: found)
    view = View("scaffold", 2, "full", local_steps=4, step_size="1", over="n")
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(slices.snippet(view), {})  # noqa: S102 - the script itself is tested
    lines = stream.getvalue().splitlines()
    (line,) = (one for one in lines if one.startswith("worst quadratics:"))
    assert line.startswith("worst quadratics: near ") is near
    assert line.endswith(f"{found.instance} with rate {found.rate}")

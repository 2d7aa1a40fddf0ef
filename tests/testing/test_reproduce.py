"""What a message says to run gives the number that the message says."""

from __future__ import annotations

import json
import shlex
from fractions import Fraction

import pytest
from click.testing import CliRunner

from flverify.algorithms import (
    AgnosticFedAvg,
    Ball,
    Box,
    FedAvg,
    Focus,
    GradientDescent,
    ProxSkip,
    WeightedFedAvg,
)
from flverify.cli import main
from flverify.participation import (
    Bernoulli,
    ExplicitLaw,
    Full,
    NonEmpty,
    SuccessiveSampling,
    UniformCohort,
)
from flverify.participation._law import Participation
from flverify.problems import Quadratics
from flverify.testing import (
    Broken,
    Inconclusive,
    assert_averaging_weights,
    assert_error_bound,
    assert_fixed_point_bias,
    assert_linear_rate,
    assert_stable,
)
from flverify.testing.written import number

F = Fraction


def run(command):
    """Run a command inside the process; return its JSON report."""
    words = shlex.split(command)
    assert words[0] == "flverify"
    done = CliRunner().invoke(main, [*words[1:], "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def play(script):
    """Run lines of Python; return what they define."""
    names = {}
    exec(compile(script, "script", "exec"), names)  # noqa: S102
    return names


@pytest.mark.parametrize(
    "law",
    [
        Bernoulli(["1/2", "1/3"]),
        UniformCohort(2, 1),
        NonEmpty(Bernoulli(["1/2", "1/3"])),
        SuccessiveSampling(["1", "2"], 1),
        Full(2),
    ],
)
def test_the_rate_command_gives_the_rate(problem, law):
    algorithm = Focus("1/8", 2, empty_round="skip")
    found = assert_linear_rate(problem, algorithm, law, rate="999/1000")
    shown = F(run(found.reproduce)["mean_square_rate"])
    told = found.found.removesuffix(" per round")
    assert told in (str(shown), f"~{float(shown)!r}")


def test_the_bias_command_gives_bias_and_error(problem, law):
    algorithm = FedAvg("1/4", 2, "7/10")
    with pytest.raises(Broken) as caught:
        assert_linear_rate(problem, algorithm, law, rate="9/10")
    report = run(caught.value.outcome.reproduce)
    assert str(report["stationary_mean_square_error"]) in caught.value.outcome.found
    same = assert_fixed_point_bias(problem, algorithm, law, bound=1)
    assert run(same.reproduce)["bias"] == report["bias"]


def test_commands_know_floats_and_negative_numbers(law):
    floats = Quadratics([[[0.7]], [[2.0]]], [[-0.3], [2.0]])
    found = assert_stable(floats, FedAvg(0.25, 2), law)
    rate = run(found.reproduce)["mean_square_rate"]
    assert found.found == f"mean-square rate {rate:.12g}"
    assert "--float" in found.reproduce
    rational = assert_stable(floats, FedAvg("1/4", 2), law)
    assert "--float" in rational.reproduce
    exact = Quadratics([[[1]], [[2]]], [[0], [2]])
    assert "--float" not in assert_stable(exact, FedAvg("1/4", 2), law).reproduce


@pytest.mark.parametrize("region", [Ball("1/2"), Box("-1/8", "1/2")])
def test_the_sampling_command_gives_the_sample(problem, law, region):
    algorithm = AgnosticFedAvg("1/4", 3, projection=region)
    with pytest.raises(Broken) as caught:
        assert_error_bound(problem, algorithm, law, bound=lambda r: 0.9**r, rounds=60)
    outcome = caught.value.outcome
    report = run(outcome.reproduce)
    (row,) = report["algorithms"]
    assert f"{row['mean_square_error'][-1]:.6g}" in outcome.found


def test_weights_are_passed_on(problem, law):
    algorithm = WeightedFedAvg("1/8", ("1/3", "2/3"))
    with pytest.raises(Broken) as caught:
        assert_fixed_point_bias(problem, algorithm, law, bias=[7])
    report = run(caught.value.outcome.reproduce)
    assert f"({report['bias'][0]})" in caught.value.outcome.found


@pytest.mark.parametrize(
    "algorithm",
    [
        ProxSkip("1/50", 2, variant="notebook"),
        ProxSkip("1/20", probability="2/5"),
        AgnosticFedAvg("1/20", 2, schedule="separate"),
        AgnosticFedAvg("1/20", 4),
    ],
)
def test_what_commands_fill_in_is_passed_on_or_needs_none(problem, algorithm):
    found = assert_stable(problem, algorithm, Full(2))
    rate = run(found.reproduce)["mean_square_rate"]
    assert found.found == f"mean-square rate {number(F(rate))}"


def test_the_law_command_gives_the_weights(law):
    found = assert_averaging_weights(law, ["5/12", "1/4"])
    assert run(found.reproduce)["averaging_weights"] == ["5/12", "1/4"]


def test_lines_of_python_run_where_no_command_does():
    plane = Quadratics([[[2, 1], [1, 3]], [[1, 0], [0, 1]]], [[1, 0], ["-1/3", 2]])
    law = ExplicitLaw({(0,): "1/4", (0, 1): "1/2", (): "1/4"}, n_clients=2)
    found = assert_stable(plane, FedAvg("1/8", 2), law)
    again = float(play(found.reproduce)["found"].mean_square_rate)
    told = float(found.found.removeprefix("mean-square rate ~"))
    assert again == pytest.approx(told, rel=1e-12)
    bound = assert_error_bound(plane, FedAvg("1/8", 2), law, bound=100, rounds=3)
    assert play(bound.reproduce)["found"].exact
    weights = assert_averaging_weights(law, ["1/2", "1/4"])
    assert play(weights.reproduce)["law"].averaging_weights().tolist() == [
        F(1, 2),
        F(1, 4),
    ]


def test_a_checked_constant_prints_the_rounds_that_were_checked(capsys):
    # the error is 1/4^r
    parts = Quadratics([[[1]]], [[1]]), GradientDescent("1/2"), Full(1)
    found = assert_linear_rate(*parts, rate="1/2", constant=2, rounds=3)
    play(found.reproduce)
    shown = capsys.readouterr().out.splitlines()[-1]
    assert (
        shown.replace(" ", "")
        == "[" + "".join(f"Fraction(1,{4**r})" for r in range(4)) + "]"
    )


def test_sampled_lines_of_python_run(law):
    plane = Quadratics([[[2, 1], [1, 3]], [[1, 0], [0, 1]]], [[1, 0], ["-1/3", 2]])
    options = {"rate": "1/2", "method": "sampled", "budget": 20, "rounds": 2}
    with pytest.raises(Inconclusive) as caught:
        assert_linear_rate(plane, FedAvg("1/8", 2), law, **options)
    assert play(caught.value.outcome.reproduce)["law"] == law
    with pytest.raises(Inconclusive) as caught:
        assert_fixed_point_bias(
            plane, FedAvg("1/8"), law, bias=0, method="sampled", rounds=3, budget=20
        )
    assert "final_models.mean" in caught.value.outcome.reproduce
    assert play(caught.value.outcome.reproduce)["law"] == law


def test_a_message_has_all_its_parts(problem, law):
    with pytest.raises(AssertionError) as caught:
        assert_linear_rate(problem, FedAvg("1/4", 2), law, rate="9/10")
    text = str(caught.value)
    for part in (
        "assert_linear_rate: BROKEN",
        "claimed: E|x_r - x*|^2 <= C (9/10)^r for some C, from every start",
        "found: E|x_r - x*|^2 tends to 209764/2054385, not to 0",
        "first round that breaks it: 14: ",
        "answered by: exact moments (rationals)",
        "setting: FedAvg(step_size=1/4, local_steps=2) on <Quadratics: 2 clients",
        "reproduce: flverify bias fedavg ",
    ):
        assert part in text


def test_lines_run_where_floats_refuse_a_stationary_error():
    hessians = [[[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 2.0]]]
    floats = Quadratics(hessians, [[-8 / 3, 4 / 3], [7 / 3, -5 / 3]])
    algorithm = ProxSkip("1/20", 2, variant="notebook")
    with pytest.raises(Broken) as caught:
        assert_linear_rate(floats, algorithm, UniformCohort(2, 1), rate="9/10")
    rate = play(caught.value.outcome.reproduce)["found"].mean_square_rate
    assert caught.value.outcome.found == f"no convergence: {rate:.12g} per round"


def test_lines_give_the_stationary_error_that_is_told():
    plane = Quadratics([[[1, 0], [0, 1]], [[2, 0], [0, 2]]], [[0, 0], [2, 2]])
    with pytest.raises(Broken) as caught:
        assert_linear_rate(plane, FedAvg("1/4"), UniformCohort(2, 1), rate="9/10")
    outcome = caught.value.outcome
    assert "stationary_mean_square_error" in outcome.reproduce
    error = play(outcome.reproduce)["found"].stationary_mean_square_error
    assert f"tends to {error}, not to 0" in outcome.found


class Halves(Participation):
    """Two of four clients, by a class that is no dataclass."""

    n_clients, exact, spec = 4, True, "halves"

    def support(self):
        return {frozenset({0, 1}): F(1, 2), frozenset({2, 3}): F(1, 2)}

    def _moment(self, clients, power):
        held = (p / len(s) ** power for s, p in self.support().items() if clients <= s)
        return sum(held, F(0))

    def _draw(self, seed, runs, rounds):
        raise NotImplementedError


@pytest.mark.parametrize(
    "ask",
    [
        lambda law: assert_averaging_weights(law, ["1/4"] * 4),
        lambda law: assert_stable(
            Quadratics([[[1]]] * 4, [[1]] * 4), FedAvg("1/8"), law
        ),
    ],
)
def test_a_law_that_cannot_be_written_is_named(ask):
    said = ask(Halves()).message().partition("reproduce:")[2]
    (line,) = (one.strip() for one in said.splitlines() if "law = " in one)
    assert line == "law = ...  # <Halves halves on 4 clients>, the one of the test"

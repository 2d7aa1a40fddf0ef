"""decent-bench on workload W, when it is installed (it asks for Python 3.13)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks._rows import Row, least, skipped
from benchmarks._workload import (
    CLIENTS,
    COHORT,
    DIM,
    FEDAVG,
    LOCAL_STEPS,
    PROBLEM,
    SAMPLES,
    STEP_SIZE,
    per_round,
)

NAME = "decent-bench, FedAvg"
NOTE = "per round and run; ratio: times slower than ours"


def rows(quick: bool) -> list[Row]:
    """Time its regression costs, and quadratic ones made from the clients' Hessians.

    Regression costs are how W is posed to it; they get no regulariser, in its favour.
    """
    if find_spec("decent_bench") is None:
        return [skipped(NAME, "decent-bench is not installed")]
    rounds = 100 if quick else 500
    ours = per_round(FEDAVG, quick, least, method="affine")
    posed, prepared = (_decent_bench(rounds, rows) for rows in (True, False))
    return [
        Row(f"{NAME}, regression costs", posed, posed / ours, 80.0, True, NOTE),
        Row(f"{NAME}, quadratic costs", prepared, prepared / ours, note=NOTE),
    ]


def _decent_bench(rounds: int, regression: bool) -> float:
    agents = import_module("decent_bench.agents")
    networks = import_module("decent_bench.networks")
    costs = import_module("decent_bench.costs")
    schemes = import_module("decent_bench.schemes")
    federated = import_module("decent_bench.algorithms.federated")
    arrays = import_module("decent_array.interoperability")
    arrays.set_backend("numpy")

    def cost(i: int) -> Any:
        if regression:
            draw = np.random.default_rng(i)
            rows = (
                draw.standard_normal((SAMPLES, DIM)),
                draw.standard_normal((SAMPLES, 1)),
            )
            data = [
                tuple(map(arrays.from_numpy, pair)) for pair in zip(*rows, strict=True)
            ]
            return costs.LinearRegressionCost(data)
        hessian = arrays.from_numpy(PROBLEM.hessians[i].copy())
        return costs.QuadraticCost(hessian, arrays.from_numpy(-PROBLEM.linear[i]))

    def client(i: int) -> Any:
        return agents.Agent(cost(i), state_snapshot_period=rounds)

    def work() -> None:
        algorithm = federated.FedAvg(
            step_size=STEP_SIZE,
            num_local_steps=LOCAL_STEPS,
            selection_scheme=schemes.UniformSelection(num_selected_clients=COHORT),
        )
        algorithm.run(network, rounds)

    network = networks.FedNetwork([client(i) for i in range(CLIENTS)])
    return least(work, 3) / rounds

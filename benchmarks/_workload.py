"""Workload W of performance.md: ridge regression, 8 of 16 clients, five local steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks._rows import DGEMM, Row, beside_dgemm
from flverify import simulate
from flverify.algorithms import FedAvg, Focus
from flverify.participation import UniformCohort
from flverify.problems import synthetic_ridge

CLIENTS, COHORT, DIM, SAMPLES, LOCAL_STEPS = 16, 8, 100, 100, 5
STEP_SIZE = 2e-4
RUNS = 1024
PROBLEM = synthetic_ridge(CLIENTS, DIM, SAMPLES)
LAW = UniformCohort(CLIENTS, COHORT)
FEDAVG = FedAvg(step_size=STEP_SIZE, local_steps=LOCAL_STEPS)
FOCUS = Focus(step_size=STEP_SIZE, local_steps=LOCAL_STEPS)


Clock = Callable[[Callable[[], object], int], float]


def per_round(
    algorithm: Any, quick: bool, clock: Clock = beside_dgemm, **settings: Any
) -> float:
    """Seconds per round and run of a simulation, set-up included, on one thread.

    Beside a peer it takes the peer's clock, `least`.
    """
    rounds = 64 if quick else 512
    given: dict[str, Any] = {"runs": RUNS, "rounds": rounds, "seed": 0} | settings
    rows = given["runs"] * len(given.get("step_sizes", [0])) * rounds
    simulate(PROBLEM, algorithm, LAW, **(given | {"rounds": 1}))  # compile, import

    def work() -> None:
        simulate(PROBLEM, algorithm, LAW, **given)

    return clock(work, 3 if quick else 5) / rows


def row(
    name: str, algorithm: Any, products: int, target: float, quick: bool, **how: Any
) -> Row:
    """Time a simulation against dgemm of `products` products per participant."""
    taken = per_round(algorithm, quick, **how)
    flops = products * 2 * DIM * DIM * COHORT
    ratio = taken / (flops * DGEMM.per_flop)
    return Row(name, taken, ratio, target, note="per round and run")

"""The plain loops of flverify/reference, and a numpy loop as authors write it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._rows import Row, least
from benchmarks._workload import (
    CLIENTS,
    COHORT,
    DIM,
    FEDAVG,
    LAW,
    LOCAL_STEPS,
    PROBLEM,
    SAMPLES,
    STEP_SIZE,
    per_round,
)
from flverify.reference import fedavg


def rows(quick: bool) -> list[Row]:
    """Time both, and how many times faster the package is."""
    ours = per_round(FEDAVG, quick, least, method="affine")
    note = "per round and run; ratio: times slower than ours"
    return [
        Row(name, taken, taken / ours, note=note)
        for name, taken in (
            ("reference loop, FedAvg", _reference(1 if quick else 3)),
            ("numpy loop, FedAvg", _numpy(20 if quick else 200)),
        )
    ]


def _cohorts(rounds: int) -> list[Any]:
    return [np.flatnonzero(row).tolist() for row in LAW.sample(0, 1, rounds)[0]]


def _reference(rounds: int) -> float:
    hessians, linear = PROBLEM.hessians, PROBLEM.linear

    def gradient(client: int, point: list[float]) -> list[float]:
        return list((hessians[client] @ np.array(point) - linear[client]).tolist())

    def work() -> None:
        fedavg.run(
            gradient,
            CLIENTS,
            [0.0] * DIM,
            _cohorts(rounds),
            step_size=STEP_SIZE,
            local_steps=LOCAL_STEPS,
        )

    return least(work, 3) / rounds


def _numpy(rounds: int) -> float:
    draw = np.random.default_rng(0)
    features = draw.standard_normal((CLIENTS, SAMPLES, DIM))
    targets, cohorts = draw.standard_normal((CLIENTS, SAMPLES)), _cohorts(rounds)

    def work() -> None:
        x = np.zeros(DIM)
        for cohort in cohorts:
            total = np.zeros(DIM)
            for i in cohort:
                local, a, b = x, features[i], targets[i]
                for _ in range(LOCAL_STEPS):
                    local = local - STEP_SIZE * (2 * a.T @ (a @ local - b))
                total += local
            x = total / COHORT

    return least(work, 3) / rounds

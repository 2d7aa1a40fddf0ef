"""FedJAX (its jit backend) on workload W, when it is installed."""

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
    SAMPLES,
    STEP_SIZE,
    per_round,
)

NAME = "FedJAX, FedAvg"
REGULARISATION = 0.01


def rows(quick: bool) -> list[Row]:
    """Time it on full batches in double precision, with its own client sampler."""
    if find_spec("fedjax") is None:
        return [skipped(NAME, "FedJAX is not installed")]
    if not hasattr(import_module("jax"), "tree_map"):
        return [skipped(NAME, "FedJAX 0.0.17 needs jax below 0.4.26")]
    taken = _fedjax(20 if quick else 100)
    ours = per_round(FEDAVG, quick, least, method="affine")
    note = "per round and run; ratio: times slower than ours"
    return [Row(NAME, taken, taken / ours, 400.0, at_least=True, note=note)]


def _fedjax(rounds: int) -> float:
    jax, fedjax = import_module("jax"), import_module("fedjax")
    jax.config.update("jax_enable_x64", True)

    def gradient(params: Any, batch: Any, key: Any) -> Any:
        del key
        residual = batch["x"] @ params - batch["y"]
        return 2 * (batch["x"].T @ residual + REGULARISATION * params)

    draw = np.random.default_rng(0)
    data = {
        b"%d" % i: {
            "x": draw.standard_normal((SAMPLES, DIM)),
            "y": draw.standard_normal(SAMPLES),
        }
        for i in range(CLIENTS)
    }
    clients = fedjax.InMemoryFederatedData(data)
    sampler = fedjax.client_samplers.UniformGetClientSampler(clients, COHORT, seed=0)
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        gradient,
        fedjax.optimizers.sgd(STEP_SIZE),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=SAMPLES, num_steps=LOCAL_STEPS),
    )

    def work() -> None:
        state = algorithm.init(jax.numpy.zeros(DIM))
        for _ in range(rounds):
            state, _ = algorithm.apply(state, sampler.sample())
        jax.block_until_ready(state.params)

    work()  # compiles
    return least(work, 3) / rounds

"""Data and runs for Appendix F of the FOCUS paper: Dirichlet splits, SG-FOCUS's race.

CIFAR-10 and its network are replaced by strongly convex quadratics with Gaussian noise
added to every gradient; what is compared is the described order of three algorithms,
run by the plain loops, each on the same participants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.reference import fedau, focus, scaffold

CLASSES = 10
DATA_SETS = 20
SURROGATE = (
    f"{DATA_SETS} sets of quadratics, N = 12, d = 2, tau = 3, noisy gradients, clients "
    "come independently with chances from 0.1 to 0.9, 100 rounds, eta = 1/100"
)


# -- Dirichlet splits -----------------------------------------------------------------


@cache
def shares(reading: str, alpha: float, n_clients: int, seed: int) -> Array:
    """Class shares of the clients' data, (N, classes), rows of sum 1.

    "clients": each client's shares are Dirichlet over classes. "classes": each class,
    of the same size, is split by a Dirichlet over clients.
    """
    draw = np.random.default_rng(seed)
    if reading == "clients":
        return draw.dirichlet(np.full(CLASSES, alpha), size=n_clients)
    split = draw.dirichlet(np.full(n_clients, alpha), size=CLASSES).T
    sizes = split.sum(axis=1, keepdims=True)
    return np.asarray(split / np.where(sizes > 0, sizes, 1))


def leading(found: Array, count: int) -> Array:
    """Share of each client's data that its largest classes have."""
    ordered = np.sort(found, axis=1)[:, ::-1]
    return np.asarray(ordered[:, :count].sum(axis=1))


# -- the race of F.2 ------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Sizes of the surrogate; those of the print are larger."""

    n_clients: int = 12
    dim: int = 2
    local_steps: int = 3
    rounds: int = 100
    step_size: float = 0.01
    noise: float = 0.3


SIZES = Sizes()


@cache
def races(server_step: float) -> list[dict[str, Array]]:
    """Relative squared errors after every round, for each data set and algorithm."""
    return [_race(seed, server_step) for seed in range(DATA_SETS)]


def _race(seed: int, server_step: float) -> dict[str, Array]:
    s, draw = SIZES, np.random.default_rng(seed)
    factors = draw.normal(size=(s.n_clients, s.dim, s.dim))
    hessians = factors @ np.swapaxes(factors, 1, 2) / s.dim + np.eye(s.dim) / 2
    linear = 3 * draw.normal(size=(s.n_clients, s.dim))
    best = np.linalg.solve(hessians.mean(axis=0), linear.mean(axis=0))
    chances = draw.uniform(0.1, 0.9, size=s.n_clients)
    came = draw.random((s.rounds, s.n_clients)) < chances
    cohorts = [set(np.flatnonzero(row).tolist()) for row in came]
    steps: dict[str, Any] = {"step_size": s.step_size, "local_steps": s.local_steps}
    slower = steps | {"server_step_size": server_step}
    plans: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "SG-FOCUS": (focus.run, steps),
        "FedAU": (fedau.run, slower),
        "SCAFFOLD": (scaffold.run, slower),
    }
    found = {}
    for name, (run, settings) in plans.items():
        gradient = _noisy(hessians, linear, seed)
        models = run(gradient, s.n_clients, [0.0] * s.dim, cohorts, **settings)
        gaps = np.array(models, dtype=float) - best
        errors = (gaps**2).sum(axis=1)
        found[name] = errors / errors[0]
    return found


def _noisy(hessians: Array, linear: Array, seed: int) -> Callable[..., list[float]]:
    """Return gradient(i, x) = H_i x - b_i plus noise, new at every call."""
    s = SIZES
    count = s.rounds * s.n_clients * s.local_steps + s.n_clients
    noise = iter(
        (
            s.noise * np.random.default_rng(1000 + seed).normal(size=(count, s.dim))
        ).tolist()
    )
    rows, offsets = hessians.tolist(), linear.tolist()

    def gradient(i: int, x: list[Any]) -> list[float]:
        pulls = zip(rows[i], offsets[i], next(noise), strict=True)
        return [
            sum(h * v for h, v in zip(row, x, strict=True)) - b + e
            for row, b, e in pulls
        ]

    return gradient


def rounds_to(errors: Array, target: float) -> float:
    """First round with the error below a target; infinite if there is none."""
    below = errors < target
    return float(below.argmax()) if below.any() else float("inf")

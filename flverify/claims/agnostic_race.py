"""Agnostic and weighted FedAvg side by side on generated data, many data sets at once.

Sizes are those of Section 4 of the agnostic paper; what it leaves out (dimension, rows
per client, H, T, step size, C, law of the data) is chosen here. Both rules meet the
same participants. Data sets are the trials of `judge.share`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from flverify._core.exact import Array
from flverify.participation.successive_sampling import SuccessiveSampling

DATA_SETS = 20
N_CLIENTS, COHORT = 100, 10
DIM, ROWS = 10, 20
CLASSES = 4
LOCAL_STEPS = 5  # H = 6, one tick of which is the communication
BOX = 50.0
LOOKS = (0, 8, 16, 24, 32, 40)  # rounds before the last at which losses are taken
RULES = ("agnostic", "weights (2)", "inclusion probabilities")
OTHERS = ("divided by its total weight", "moves over pi_i, all alike")

Gradient: TypeAlias = Callable[[Array, Array], Array]


def prior(temperature: float, n_clients: int = N_CLIENTS) -> Array:
    """exp(-i/temperature) for the users i; alike if the temperature is infinite."""
    return np.exp(-np.arange(n_clients) / temperature)


@cache
def law(temperature: float) -> SuccessiveSampling:
    """Users drawn one after the other by the prior."""
    return SuccessiveSampling([float(w) for w in prior(temperature)], COHORT)


@cache
def weights(temperature: float) -> Array:
    """Return the p_i of (2), by quadrature."""
    return np.array(law(temperature).averaging_weights(), dtype=float)


def skew(p: Array) -> float:
    """||p - (1/N) 1||_1."""
    return float(np.abs(p - 1 / len(p)).sum())


def distance(p: Any) -> Fraction:
    """||p - (1/N) 1||_1."""
    return sum((abs(v - Fraction(1, len(p))) for v in p), Fraction(0))


def exact_ratio(temperature: str) -> Fraction:
    """Rational near exp(-1/temperature), 1 if that is infinite.

    Examples
    --------
    >>> exact_ratio("10"), exact_ratio("inf")
    (Fraction(19, 21), Fraction(1, 1))
    """
    if temperature == "inf":
        return Fraction(1)
    twice = 2 * Fraction(temperature)
    return (twice - 1) / (twice + 1)


@dataclass(frozen=True, eq=False)
class Task:
    """Local losses of all data sets.

    Parameters
    ----------
    shape : tuple
        Shape of one model.
    step_size : float
    gradient : callable
        From members (S, m) and models (S, m, ...) to gradients.
    losses : callable
        From server models (S, ...) to the local losses (S, N).
    """

    shape: tuple[int, ...]
    step_size: float
    gradient: Gradient
    losses: Callable[[Array], Array]


@cache
def regression() -> Task:
    """Mean squared errors; clients' truths are spread about a common one."""
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(DATA_SETS, N_CLIENTS, ROWS, DIM))
    common = draw.normal(size=(DATA_SETS, 1, DIM))
    truths = common + draw.normal(size=(DATA_SETS, N_CLIENTS, DIM)) / 2
    noise = draw.normal(size=(DATA_SETS, N_CLIENTS, ROWS)) / 10
    targets = np.einsum("sind,sid->sin", rows, truths) + noise
    hessians = 2 * np.einsum("sind,sine->side", rows, rows) / ROWS
    linear = 2 * np.einsum("sind,sin->sid", rows, targets) / ROWS
    which = np.arange(DATA_SETS)[:, None]

    def gradient(members: Array, x: Array) -> Array:
        pulls = np.einsum("smde,sme->smd", hessians[which, members], x)
        return np.asarray(pulls - linear[which, members])

    def losses(x: Array) -> Array:
        misses = np.einsum("sind,sd->sin", rows, x) - targets
        return np.asarray((misses**2).mean(axis=2))

    return Task((DIM,), 0.02, gradient, losses)


@cache
def classification() -> Task:
    """Cross-entropy of a linear model on four classes, of which clients see two."""
    draw = np.random.default_rng(2)
    shape = (DATA_SETS, N_CLIENTS, ROWS)
    pairs = draw.integers(CLASSES, size=(DATA_SETS, N_CLIENTS, 2))
    pick = draw.integers(2, size=shape)
    labels = np.take_along_axis(pairs, pick, axis=2)
    centres = 2 * draw.normal(size=(DATA_SETS, CLASSES, DIM))
    sets = np.arange(DATA_SETS)[:, None, None]
    rows = centres[sets, labels] + draw.normal(size=(*shape, DIM))
    truth = np.eye(CLASSES)[labels]
    which = np.arange(DATA_SETS)[:, None]

    def gradient(members: Array, x: Array) -> Array:
        seen, wanted = rows[which, members], truth[which, members]
        scores = seen @ x
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        chances = scores / scores.sum(axis=-1, keepdims=True)
        return np.asarray(np.swapaxes(seen, -1, -2) @ (chances - wanted) / ROWS)

    def losses(x: Array) -> Array:
        scores = rows @ x[:, None]
        top = scores.max(axis=-1, keepdims=True)
        total = np.log(np.exp(scores - top).sum(axis=-1)) + top[..., 0]
        return np.asarray((total - (scores * truth).sum(axis=-1)).mean(axis=2))

    return Task((DIM, CLASSES), 0.1, gradient, losses)


TASKS = {"linear regression": regression, "classification": classification}


@cache
def final_losses(
    task: str, temperature: float, rounds: int, rules: tuple[str, ...] = RULES
) -> dict[Any, Array]:
    """Losses of the server models, averaged over some of the last rounds.

    Returns arrays (data sets,), by rule and by objective: "(3)" or "all clients alike".
    """
    one, p = TASKS[task](), weights(temperature)
    objectives = {"(3)": p, "all clients alike": np.full(N_CLIENTS, 1 / N_CLIENTS)}
    draw = np.random.default_rng(3)
    models = {rule: np.zeros((DATA_SETS, *one.shape)) for rule in rules}
    found = {key: np.zeros(DATA_SETS) for key in product(rules, objectives)}
    for left in reversed(range(rounds)):
        clocks = draw.exponential(size=(DATA_SETS, N_CLIENTS)) / prior(temperature)
        members = np.argpartition(clocks, COHORT, axis=1)[:, :COHORT]
        for rule in rules:
            shares, old = _shares(rule, p, members), models[rule]
            models[rule] = _round(one, members, old, shares)
            if rule == OTHERS[1]:  # the server keeps what the moves leave
                rest = 1 - shares.sum(axis=1)
                models[rule] += rest.reshape(-1, *[1] * len(one.shape)) * old
            if left in LOOKS:
                losses = one.losses(models[rule])
                for name, of in objectives.items():
                    found[rule, name] += losses @ of / len(LOOKS)
    return found


def _shares(rule: str, p: Array, members: Array) -> Array:
    """Weights of the participants: 1/M, or N/M p_i of (10) with a meaning of p_i.

    Or p_i over their sum, or (1/N)/pi_i.
    """
    if rule == "agnostic":
        return np.full(members.shape, 1 / COHORT)
    if rule == OTHERS[0]:
        return np.asarray(p[members] / p[members].sum(axis=1, keepdims=True))
    if rule == OTHERS[1]:
        return np.asarray(1 / (N_CLIENTS * COHORT * p[members]))
    meaning = p if rule == "weights (2)" else COHORT * p
    return np.asarray(N_CLIENTS / COHORT * meaning[members])


def _round(one: Task, members: Array, server: Array, shares: Array) -> Array:
    """Projected local steps of the participants, and their weighted sum."""
    x = np.repeat(server[:, None], COHORT, axis=1)
    for _ in range(LOCAL_STEPS):
        x = np.clip(x - one.step_size * one.gradient(members, x), -BOX, BOX)
    return np.asarray(np.einsum("sm,sm...->s...", shares, x))


def concordance(xs: list[float], ys: list[float]) -> float:
    """Kendall's rank correlation.

    Examples
    --------
    >>> concordance([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    0.3333333333333333
    """
    pairs = [(i, j) for j in range(len(xs)) for i in range(j)]
    signs = [np.sign((xs[i] - xs[j]) * (ys[i] - ys[j])) for i, j in pairs]
    return float(np.mean(signs))


# -- the abscissa of Figure 2 --------------------------------------------------------


@cache
def draws(seed: int, count: int) -> Array:
    """Cohorts (count, M) that an estimate of p is made of."""
    clocks = np.random.default_rng(seed).exponential(size=(count, N_CLIENTS))
    return np.argpartition(clocks / prior(10.0), COHORT, axis=1)[:, :COHORT]


def estimated_skew(seed: int, count: int) -> Fraction:
    """||p - (1/N) 1||_1 for p counted in some draws, exactly."""
    counts = np.bincount(draws(seed, count).ravel(), minlength=N_CLIENTS)
    total = np.abs(N_CLIENTS * counts - count * COHORT).sum()
    return Fraction(int(total), count * COHORT * N_CLIENTS)


def counted_skew(seed: int, count: int) -> Fraction:
    """Count the same client by client in fractions, for a recheck."""
    seen = [Fraction(0)] * N_CLIENTS
    for cohort in draws(seed, count).tolist():
        for i in cohort:
            seen[i] += Fraction(1, len(cohort) * count)
    return sum((abs(p - Fraction(1, N_CLIENTS)) for p in seen), Fraction(0))

"""Losses of agnostic and weighted FedAvg over rounds, as in Section 4 of their paper.

Printed are N, M, the prior exp(-i/10) of the draws and five seeds; the sizes that are
not printed are those of flverify/claims/agnostic_race.py, so that the figures and the
claims on them speak of one setting. Both rules meet the same participants, and take
their local steps in one loop over small arrays: rule (10) with a projection, and with
weights divided by their sum, is none of flverify/algorithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from flverify._core.exact import Array
from flverify.claims import agnostic_race as race
from flverify.participation.successive_sampling import SuccessiveSampling
from flverify.problems.quadratics import Quadratics
from flverify.problems.softmax import Images, Softmax

PRIOR = "10"  # temperature of the printed prior
ESTIMATED_BY = 1000  # draws that a sampled p is counted in, as in agnostic.fig2.x
DRAWS, ESTIMATES = 1, 2  # seeds of the participants, and of the draws for an estimate
STEP_SIZES = {"images": 0.1, "regression": 0.02}
SHORT = {"digits": "digits", "mnist": "MNIST"}  # in a title
LONG = {
    "digits": "scikit-learn's 1797 digits of 8 x 8 pixels in the place of MNIST",
    "mnist": "MNIST",
}


class Clients(Protocol):
    """Local losses f_i of all clients."""

    @property
    def dim(self) -> int:
        """Dimension d of a model."""

    def gradients(self, clients: Sequence[int] | Array, points: Array) -> Array:
        """Gradients of some clients, each at its own point, shape (m, d)."""

    def values(self, point: Array) -> Array:
        """All f_i at one point, shape (N,)."""


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """Linear regression: f_i(x) = (1/n) sum_k (a_ik'x - b_ik)^2.

    Parameters
    ----------
    features : (N, n, d) array
    targets : (N, n) array

    Examples
    --------
    >>> one = MeanSquares(np.array([[[1.0], [2.0]]]), np.array([[1.0, 0.0]]))
    >>> one.values(np.array([1.0])).tolist(), round(one.least(np.array([1.0])), 9)
    ([2.0], 0.4)
    """

    features: Array
    targets: Array

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.features.shape[2])

    def gradients(self, clients: Sequence[int] | Array, points: Array) -> Array:
        """Gradients of some clients, each at its own point, shape (m, d)."""
        rows = self.features[clients]
        misses = np.einsum("mnd,md->mn", rows, points) - self.targets[clients]
        return np.asarray(2 * np.einsum("mnd,mn->md", rows, misses) / rows.shape[1])

    def values(self, point: Array) -> Array:
        """All f_i at one point, shape (N,)."""
        return np.asarray(((self.features @ point - self.targets) ** 2).mean(axis=1))

    def least(self, weights: Array) -> float:
        """Smallest value of sum_i w_i f_i."""
        turned = np.swapaxes(self.features, 1, 2)
        hessians = 2 * turned @ self.features / self.targets.shape[1]
        linear = 2 * (turned @ self.targets[..., None])[..., 0] / self.targets.shape[1]
        best = Quadratics(hessians, linear).minimiser(weights)
        return float(weights @ self.values(best))


def regression(seed: int) -> MeanSquares:
    """Generate the linear regression of one seed.

    Definition: b_ik = a_ik'x_i + e_ik/10 with x_i = z + h_i/2, and standard normal
    a_ik, z, h_i and e_ik: the law of the data sets of agnostic.fig1.
    """
    draw = np.random.Generator(np.random.Philox(seed))
    rows = draw.standard_normal((race.N_CLIENTS, race.ROWS, race.DIM))
    truths = draw.standard_normal(race.DIM)
    truths = truths + draw.standard_normal((race.N_CLIENTS, race.DIM)) / 2
    noise = draw.standard_normal((race.N_CLIENTS, race.ROWS)) / 10
    return MeanSquares(rows, (rows @ truths[:, :, None])[:, :, 0] + noise)


def classification(images: Images, seed: int) -> Softmax:
    """Deal pictures to the clients, at random by a seed."""
    dealt = images.split(race.N_CLIENTS, seed)
    return Softmax(*dealt, classes=int(images.labels.max()) + 1)


@dataclass(frozen=True)
class Cohorts:
    """Who takes part under the prior exp(-i/temperature), in one seed's rounds.

    Parameters
    ----------
    temperature : str
        Decimal text, or "uniform": all clients alike.
    seed : int
        Which of the seeds.

    Examples
    --------
    >>> bool((Cohorts("uniform", 0).exact == 1 / 100).all())
    True
    """

    temperature: str
    seed: int

    @cached_property
    def law(self) -> SuccessiveSampling:
        """M clients drawn one after the other by the prior."""
        if (
            self.temperature == "uniform"
        ):  # in rationals: then p_i is 1/N to the last bit
            return SuccessiveSampling([Fraction(1)] * race.N_CLIENTS, race.COHORT)
        return race.law(float(self.temperature))

    @cached_property
    def exact(self) -> Array:
        """The weights p_i of (2)."""
        return np.array([float(p) for p in self.law.averaging_weights()])

    def sampled(self, draws: int = ESTIMATED_BY) -> Array:
        """Count the p_i in some draws."""
        one = range(self.seed, self.seed + 1)
        return np.asarray(
            self.law.sample(ESTIMATES, one, draws)[0].mean(0) / race.COHORT
        )

    def members(self, rounds: int) -> Array:
        """Participants of each round, shape (rounds, M)."""
        one = range(self.seed, self.seed + 1)
        masks = self.law.sample(DRAWS, one, rounds)[0]
        return np.asarray(np.nonzero(masks)[1].reshape(rounds, race.COHORT))


@dataclass(frozen=True)
class Rule:
    """How the server weighs the models that it gets.

    Parameters
    ----------
    name : {"agnostic", "weighted", "normalised"}
        Line 5 of Algorithm 1; (10) as printed; (10) with weights divided by their sum
        over the participants, as in the authors' public notebook.
    weights : {"none", "exact", "sampled"}
        Whether p_i is computed or counted in draws.
    """

    name: str
    weights: str

    def shares(self, p: Array, members: Array) -> Array:
        """Weights of the participants' models, shape of members."""
        relative = len(p) * p[members]  # 1 to the last bit if p is uniform
        if self.name == "agnostic":
            relative = np.ones(members.shape)
        whole = members.shape[-1]
        if self.name == "normalised":
            return np.asarray(relative / relative.sum(axis=-1, keepdims=True))
        return np.asarray(relative / whole)


AGNOSTIC = Rule("agnostic", "none")
RULES = (
    AGNOSTIC,
    *(Rule(n, w) for n in ("weighted", "normalised") for w in ("exact", "sampled")),
)


def losses(
    clients: Clients,
    step_size: float,
    rule: Rule,
    cohorts: Cohorts,
    kept: Sequence[int],
    box: float = race.BOX,
) -> Array:
    """Objective (3) at the server model, after some rounds, from the model 0.

    Parameters
    ----------
    clients : Clients
    step_size : float
    rule : Rule
    cohorts : Cohorts
        Its exact p weighs the objective, whatever the rule uses.
    kept : ascending integers >= 0
        After which rounds.
    box : float
        Local models are projected to [-box, box]^d after each step.

    Returns
    -------
    losses : (len(kept),) array
    """
    server, found = np.zeros(clients.dim), []
    p = cohorts.sampled() if rule.weights == "sampled" else cohorts.exact
    members = cohorts.members(kept[-1]) if kept[-1] else np.empty((0, race.COHORT), int)
    shares = rule.shares(p, members)
    for after in range(kept[-1] + 1):
        if after in kept:
            found.append(float(cohorts.exact @ clients.values(server)))
        if after < len(members):
            local = _local(clients, step_size, members[after], server, box)
            server = shares[after] @ local
    return np.array(found)


def _local(
    clients: Clients, step_size: float, members: Array, server: Array, box: float
) -> Array:
    """Projected local steps of the participants, from the server model."""
    x = np.repeat(server[None], len(members), axis=0)
    for _ in range(race.LOCAL_STEPS):
        x = np.clip(x - step_size * clients.gradients(members, x), -box, box)
    return np.asarray(x)


def total_weights(cohorts: Cohorts, rounds: int) -> Array:
    """(N/M) sum_{i in S} p_i of each round: what the weights of (10) add up to."""
    shares = Rule("weighted", "exact").shares(cohorts.exact, cohorts.members(rounds))
    return np.asarray(shares.sum(axis=-1))


def mean_total_weight(cohorts: Cohorts) -> float:
    """N sum_i p_i^2, the mean of the total weight."""
    return race.N_CLIENTS * math.fsum(v * v for v in cohorts.exact)


def setting(data: str) -> str:
    """Say the data and sizes that both figures share."""
    images = LONG.get(data, data)
    return (
        f"Setting: N = {race.N_CLIENTS} clients, of which M = {race.COHORT} are drawn "
        "one after the other with weights exp(-i/temp), temp = "
        f"{PRIOR} in print; five seeds, each with its own data and draws; these are "
        "printed. Chosen here, since the paper leaves them open: "
        f"H = {race.LOCAL_STEPS + 1}, of which one tick is the communication, so "
        f"{race.LOCAL_STEPS} local steps with full gradients; C = [-{race.BOX:g}, "
        f"{race.BOX:g}]^d; start at 0; regression with d = {race.DIM}, {race.ROWS} "
        "rows for each client, truths spread by 1/2 about a common one, noise 1/10, "
        f"eta = {STEP_SIZES['regression']:g}; classification of {images} by a linear "
        f"softmax classifier with offset, eta = {STEP_SIZES['images']:g}, pictures "
        "dealt at random in equal parts (no label-skewed split is described). "
        "The loss is objective (3) with the exact p_i of (2), of the server model and "
        "not of the average in line 12, whatever weights a rule uses; p_i is exact up "
        f"to quadrature, or counted in {ESTIMATED_BY} draws of the seed's own."
    )

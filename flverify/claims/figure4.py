"""The experiment of Figure 4 of the FOCUS paper, as data: laws, algorithms, problems.

Printed: sizes, loss, regularisation, local steps and step size. Not printed: the law of
the data, the cohort size, the law called arbitrary, FedAU's cutoff and what ProxSkip
does when clients are absent. For these the authors' public notebook is followed where
it speaks: cohorts of 4 of 16, drawn uniformly, or one after the other by the weights
below; its form of ProxSkip. The law of the printed row's data is `synthetic_ridge`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from flverify._core.checks import choice, whole
from flverify._core.exact import Scalar
from flverify.algorithms._algorithm import Algorithm
from flverify.algorithms.fedau import FedAU
from flverify.algorithms.fedavg import FedAvg
from flverify.algorithms.focus import Focus
from flverify.algorithms.proxskip import ProxSkip
from flverify.algorithms.scaffold import Scaffold
from flverify.participation._law import Participation
from flverify.participation.full import Full
from flverify.participation.successive_sampling import SuccessiveSampling
from flverify.participation.uniform_cohort import UniformCohort
from flverify.problems.quadratics import Quadratics

SCENARIOS = ("full", "uniform", "arbitrary")
ALGORITHMS = ("focus", "fedavg", "fedau", "scaffold", "proxskip")

# The notebook's sampling weights, rounded as they are listed, in ten-thousandths.
_FIRST_HALF = (297, 1126, 277, 1187, 637, 795, 992, 676)
_SECOND_HALF = (392, 253, 116, 957, 577, 215, 1138, 363)
WEIGHTS = _FIRST_HALF + _SECOND_HALF

NOTEBOOK_SEED = 1234
NOTEBOOK_STEP_SIZES = {"full": "6e-4", "uniform": "1.5e-4", "arbitrary": "1e-4"}
NOTEBOOK_CUTOFF = 10  # of FedAU


def participation(scenario: str, n_clients: int = 16, m: int = 4) -> Participation:
    """Return the law of a scenario of Figure 4, in floats where it has numbers.

    Parameters
    ----------
    scenario : {"full", "uniform", "arbitrary"}
    n_clients : int
        Number of clients; at most 16, the first weights are used.
    m : int
        Cohort size of the last two scenarios.

    Raises
    ------
    DomainError
        If the scenario is another, or a size lies outside its range.

    Examples
    --------
    >>> participation("uniform").spec
    'uniform:4'
    """
    choice(scenario, "scenario", SCENARIOS)
    whole(n_clients, "n_clients", most=len(WEIGHTS))
    if scenario == "full":
        return Full(n_clients)
    if scenario == "uniform":
        return UniformCohort(n_clients, m)
    return SuccessiveSampling([float(w) for w in WEIGHTS[:n_clients]], m)


def algorithms(
    step_size: Scalar, local_steps: int, notebook: bool = False
) -> dict[str, Algorithm]:
    """Return the five algorithms at one step size, by name.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        The step size that all of them share.
    local_steps : int
        Local steps tau.
    notebook : bool
        FedAU as in the notebook (cutoff 10, normalised by the weights present), not
        as in its paper. ProxSkip is the notebook's in both cases: its paper has no
        absent clients.
    """
    counted = FedAU(step_size, local_steps)
    if notebook:
        counted = replace(counted, cutoff=NOTEBOOK_CUTOFF, variant="notebook")
    return {
        "focus": Focus(step_size, local_steps),
        "fedavg": FedAvg(step_size, local_steps),
        "fedau": counted,
        "scaffold": Scaffold(step_size, local_steps),
        "proxskip": ProxSkip(step_size, local_steps, variant="notebook"),
    }


def notebook_problem(
    n_clients: int = 16, dim: int = 50, samples: int = 500, seed: int = NOTEBOOK_SEED
) -> Quadratics:
    """Return the least squares problem of the authors' notebook.

    Definition: f_i(x) = |A_i x - b_i|^2/2, no regulariser. Rows are standard normal
    times a scale uniform on [1/2, 1], targets those of one normal truth plus noise of
    standard deviation 1/10, and row k goes to client k mod N, so that clients share
    one law. Drawn in the order scales, rows, truth, noise.

    Parameters
    ----------
    n_clients, dim, samples : int
        Sizes; `samples` rows per client.
    seed : int
        Seed of numpy's legacy generator, which the notebook uses.
    """
    draw = np.random.RandomState(whole(seed, "seed", least=0, most=2**32 - 1))
    rows = whole(n_clients, "n_clients") * whole(samples, "samples")
    scales = (1 + draw.random_sample(rows)) / 2
    features = scales[:, None] * draw.standard_normal((rows, whole(dim, "dim")))
    targets = features @ draw.standard_normal(dim)
    targets = targets + draw.standard_normal(rows) / 10
    parts = [(features[i::n_clients], targets[i::n_clients]) for i in range(n_clients)]
    hessians = np.stack([a.T @ a for a, _ in parts])
    return Quadratics(hessians, np.stack([b @ a for a, b in parts]))


def effective_step(local_steps: int, n_clients: int) -> Fraction:
    """Server steps of FOCUS per server step of an averaging method: N/tau.

    To first order in eta, full participation moves FOCUS by -N eta grad F and an
    averaging method by -tau eta grad F.
    """
    return Fraction(n_clients, local_steps)

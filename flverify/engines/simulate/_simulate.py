"""The public function: check, choose a method, advance, return trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TypeAlias

from threadpoolctl import threadpool_limits

from flverify._core.checks import choice, flag, whole
from flverify._core.errors import MissingExtraError, ReadingError, Refusal
from flverify._core.exact import Scalar
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.kinds import require_listed
from flverify.engines.simulate._affine import AdderMaker, NumpyAdder, affine
from flverify.engines.simulate._blocks import Method, march
from flverify.engines.simulate._clients import NumpyClients
from flverify.engines.simulate._compiled import HalfMaker, compiled
from flverify.engines.simulate._fast import FastAdder, FastClients, kernels
from flverify.engines.simulate._literal import Literal
from flverify.engines.simulate._setting import Setting, check
from flverify.engines.trajectories import Trajectories
from flverify.participation._law import Participation
from flverify.problems._problem import Problem

Halves: TypeAlias = tuple[HalfMaker, AdderMaker]

METHODS = ("auto", "literal", "affine", "compiled")
WORTH_KERNELS = 2e10  # flops: below, numpy is done before numba is imported


def simulate(
    problem: Problem,
    algorithm: Algorithm,
    participation: Participation,
    *,
    rounds: int,
    runs: int,
    seed: int,
    step_sizes: Sequence[Scalar] | None = None,
    schedule: Sequence[Scalar] | None = None,
    start: Sequence[Scalar] | None = None,
    keep_models: bool = False,
    method: str = "auto",
    fast: bool | None = None,
    threads: int = 1,
) -> Trajectories | Refusal:
    """Sample trajectories of an algorithm under random participation.

    Runs are rows of a panel and advance together. Run k meets the same participants in
    every round whatever the algorithm and the step size, so comparisons are paired.

    Parameters
    ----------
    problem : Problem
        Client objectives; errors are measured from `problem.minimiser()`.
    algorithm : Algorithm
        Its step size is used unless a sweep or schedule is given.
    participation : Participation
        Law of the participants.
    rounds, runs : int >= 1
        How many.
    seed : int >= 0
        Key of the random streams.
    step_sizes : sequence of scalars > 0, weight x^2/f, optional
        A sweep on common draws: results get a leading axis.
    schedule : (rounds,) scalars > 0, weight x^2/f, optional
        One step size per round.
    start : (d,) numbers, weight x, optional
        Server model before the first round; 0 by default.
    keep_models : bool
        Whether to keep all server models.
    method : {"auto", "literal", "affine", "compiled"}
        How rounds are computed; all give the same numbers to rounding. "literal"
        executes the round as written and accepts every algorithm, "affine" uses one
        matrix per client, "compiled" uses the trace in the clients' eigenbases.
    fast : bool, optional
        Whether to use the numba kernels of the extra `fast` for the last two; by
        default, if they are installed and the work is worth compiling them.
    threads : int >= 1
        Threads over blocks of runs; does not change any result.

    Returns
    -------
    trajectories : Trajectories or Refusal
        A refusal if the method does not accept the setting.

    Raises
    ------
    InputError
        If a part of the setting is of another kind, step_sizes and schedule are both
        given, or the problem has no minimiser.
    ShapeError
        If numbers of clients, rounds or dimensions do not agree.
    DomainError
        If a size or step size lies outside its domain or is symbolic, or a switch is
        not True or False.
    MissingExtraError
        If fast is demanded and numba is not installed.

    Notes
    -----
    Floats. Participants are a function of (seed, run, round) alone. The same call
    gives the same bits whatever `threads` is and however rounds are drawn; another
    number of runs, a sweep, another method or machine may change the last bits, since
    the products of matrices behind them round differently for other shapes.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> halves = Quadratics([[[1]], [[1]]], [[2], [4]])
    >>> descent = GradientDescent(step_size="1/4")
    >>> simulate(halves, descent, Full(2), rounds=2, runs=1, seed=0).errors.tolist()
    [[9.0, 2.25, 0.5625]]
    """
    choice(method, "method", METHODS)
    workers = whole(threads, "threads")
    fast = fast if fast is None else flag(fast, "fast")
    sizes = (rounds, runs, seed)
    setting = check(
        problem,
        algorithm,
        participation,
        sizes,
        step_sizes,
        schedule,
        start,
        keep_models,
    )
    halves = _halves(setting, fast)  # before BLAS is pinned: numba brings its own
    with threadpool_limits(1, user_api="blas"):
        try:
            chosen = _method(setting, method, halves)
        except ReadingError as reason:
            return Refusal("simulate", str(reason))
        return _run(setting, chosen, workers)


def _run(setting: Setting, method: Method, threads: int) -> Trajectories:
    record = march(setting, method, threads)
    kept = record if setting.swept else record.alone()
    return Trajectories(
        kept.errors,
        kept.final,
        kept.models,
        setting.seed,
        setting.steps if setting.swept else None,
        setting.schedule,
        method.name,
    )


def _halves(setting: Setting, fast: bool | None) -> Halves:
    """Return the clients' halves of the compiled and affine readings."""
    installed = find_spec("numba") is not None
    if fast and not installed:
        raise MissingExtraError(
            "fast=True needs numba, which is not installed; install it with "
            "pip install 'flverify[fast]', or leave fast out."
        )
    rows = setting.runs * len(setting.steps) * setting.rounds * setting.n_clients
    worth = installed and rows * 2 * len(setting.start) ** 2 >= WORTH_KERNELS
    if not (worth if fast is None else fast):
        return NumpyClients, NumpyAdder
    kernels()
    return FastClients, FastAdder


def _method(setting: Setting, name: str, halves: Halves) -> Method:
    """Return the method asked for, or the fastest one that accepts."""
    if name == "literal":
        return Literal()
    require_listed(setting.algorithm)
    try:
        general = compiled(setting, halves[0])
    except ReadingError:
        if name == "auto":
            return Literal()
        raise
    if name == "compiled" or (name == "auto" and not _worth_maps(setting)):
        return general
    try:
        return affine(setting, general.plan, general.basis, halves[1])
    except ReadingError:
        if name == "auto":
            return general
        raise


def _worth_maps(setting: Setting) -> bool:
    """Whether building d x d maps costs less than one product per row saves."""
    return setting.runs * setting.rounds >= 2 * len(setting.start)

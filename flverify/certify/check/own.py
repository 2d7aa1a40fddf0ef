"""Certificates of a method that the checkers have no loop of: its author brings one.

A file cannot name a loop, for to read a certificate must not run what it says. The loop
is given beside it, and the certificate says which text it was made with. It is judged
by the short checker alone, which goes through all cohorts, or all numbers of
participants, with every client written out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from . import Rejected, Summary, examined, summary
from ._certificate import Case
from ._playing import played
from .one_by_one import FAULTS, OWN, Loop, loop_in
from .plain import TooManyError, Watched, check_plainly

MOST_CLIENTS, MOST_GRADIENTS = 1000, 300_000

__all__ = ["OWN", "Loop", "check_own", "load_loop", "load_module", "loop_in"]


def check_own(
    certificate: Mapping[str, Any], loop: ModuleType | Loop, watched: Watched = iter
) -> Summary:
    """Return what a certificate of one's own method proves.

    Parameters
    ----------
    certificate : mapping
        The object of the format "flverify/certificate", version 1, whose algorithm is
        one of the user's own.
    loop : module
        With start(gradient, n_clients, x0) and play(state, gradient, n_clients, cohort,
        *, step_size, ...), one round on lists; both take the settings that they need
        by name. The loop is what the certificate is about: read it.
    watched : callable
        Is given the list of rounds of every class, and iterates over it.

    Returns
    -------
    Summary
        The proved constants; this checker has no pivots to tell.

    Raises
    ------
    TooManyError
        If there are too many clients, cohorts or gradients to be gone through.
    Rejected
        If a condition does not hold, the loop is another one or treats clients
        differently, or the certificate is malformed.
    ValueError
        If `loop` is none.

    Examples
    --------
    >>> from flverify.reference import focus
    >>> check_own({}, focus)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    flverify.certify.check._json.Rejected: a certificate must have the keys
    """
    own = loop if isinstance(loop, Loop) else loop_in(loop)
    try:
        c = examined(certificate, own)
    except RecursionError as error:
        raise Rejected("the certificate must not be nested so deeply") from error
    except (ArithmeticError, ValueError) as error:
        raise Rejected(f"the certificate holds what cannot be read: {error}") from error
    require_alike(c.case, certificate["law"])
    check_plainly(certificate, watched, own)
    return summary(c, {})


def require_alike(case: Case, law: Mapping[str, Any]) -> None:
    """Reject a loop that treats clients differently, every client having its own state.

    Every cohort of neighbours is played, of a size that the law has.

    Raises
    ------
    TooManyError
        If that takes too long.
    """
    n = case.law.n_clients
    size = {"bernoulli": 1, "uniform_cohort": law.get("cohort_size") or 0}.get(
        law["kind"], n
    )
    places = range(n - size + 1)
    if n > MOST_CLIENTS or len(places) * size * case.calls > MOST_GRADIENTS:
        raise TooManyError(
            f"of a loop of one's own at most {MOST_CLIENTS} clients are played, and "
            f"{MOST_GRADIENTS} gradients to see that it treats all alike; got {n} "
            f"clients, {size} a round and {case.calls} gradients each"
        )

    def gradient(client: int, point: list[Any]) -> list[Any]:
        return [point[0] * (client + 2) + (client * client + 1)]

    state: dict[str, Any] = {slot: [5 + k] for k, slot in enumerate(case.layout.server)}
    for k, slot in enumerate(case.layout.client):
        state[slot] = [[i * (i + 3) + 7 * k + 1] for i in range(n)]
    for place in places:
        played(case.play, state, gradient, n, range(place, place + size))


def load_loop(path: str | Path) -> Loop:
    """Run a file of Python and return its loop.

    Raises
    ------
    ValueError
        If it cannot be run, or has no loop.
    """
    return loop_in(load_module(path))


def load_module(path: str | Path) -> ModuleType:
    """Run a file of Python and return what it is then.

    Raises
    ------
    ValueError
        If it cannot be run.
    """
    name = f"own_loop_{sha256(str(Path(path).resolve()).encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise ValueError(f"loop must be a file of Python; got {path}; name FILE.py.")
    module = sys.modules[name] = module_from_spec(spec)  # dataclasses look there
    try:
        spec.loader.exec_module(module)
    except (*FAULTS, ImportError, OSError, SyntaxError) as error:
        told = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"loop must be a file that runs; {path} ends in {told}"
        ) from error
    return module

"""The solver's words in plain ones; its own stay in brackets, for its manual."""

from __future__ import annotations

_PLAIN = {
    "Solved": "a solution",
    "AlmostSolved": "a solution of low accuracy",
    "PrimalInfeasible": "a sign that there is no solution",
    "AlmostPrimalInfeasible": "an uncertain sign that there is no solution",
    "DualInfeasible": "a sign that there is no bound",
    "AlmostDualInfeasible": "an uncertain sign that there is no bound",
    "MaxIterations": "no answer in as many iterations as it is given",
    "MaxTime": "no answer in the time that it is given",
    "NumericalError": "a numerical error",
    "InsufficientProgress": "no answer, since its iterations hardly moved",
    "CallbackTerminated": "an interruption",
    "Unsolved": "nothing done",
}


def plain(word: str) -> str:
    """Word a status of the solver, such that "it stopped with" may stand before it.

    Examples
    --------
    >>> plain("NumericalError"), plain("Melted")
    ('a numerical error (NumericalError)', 'an unknown status (Melted)')
    """
    return f"{_PLAIN.get(word, 'an unknown status')} ({word})"


def is_infeasible(detail: str) -> bool:
    """Whether a solver said, in its words or in ours, that there is no solution.

    Examples
    --------
    >>> is_infeasible(plain("PrimalInfeasible")), is_infeasible(plain("MaxTime"))
    (True, False)
    """
    return detail in ("PrimalInfeasible", plain("PrimalInfeasible"))

"""Second computations in rationals that share nothing with the engines.

Expectations over random rounds are taken by listing every sequence of cohorts and
running the plain loop of flverify/reference/ on each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import is_exact

LARGEST_LIST = 200_000  # sequences of cohorts that a recheck is willing to run

Run = Callable[..., list[list[Any]]]


def quadratic_gradient(
    hessians: Sequence[Sequence[Sequence[Any]]], linear: Sequence[Sequence[Any]]
) -> Callable[[int, list[Any]], list[Any]]:
    """Return gradient(i, x) = H_i x - b_i on plain lists."""

    def gradient(client: int, point: list[Any]) -> list[Any]:
        rows = zip(hessians[client], linear[client], strict=True)
        return [
            sum((h * x for h, x in zip(row, point, strict=True)), start=-b)
            for row, b in rows
        ]

    return gradient


def expected_square_errors(
    run: Run,
    gradient: Callable[[int, list[Any]], list[Any]],
    n_clients: int,
    outcomes: Mapping[frozenset[int], Fraction],
    rounds: int,
    start: Sequence[Fraction],
    optimum: Sequence[Fraction],
    **settings: Any,
) -> list[Fraction]:
    """E|x_r - optimum|^2 for r = 0, ..., rounds, over every sequence of cohorts.

    Parameters
    ----------
    run : callable
        The `run` of a module of flverify.reference.
    outcomes : mapping
        Probability of each cohort; rounds are independent.
    settings
        Keywords of `run`.

    Raises
    ------
    DomainError
        If the probabilities are not rationals of sum 1, none of them negative.
    RefusedError
        If there are too many sequences to list.

    Examples
    --------
    >>> from flverify.reference import fedavg
    >>> half = {frozenset({0}): Fraction(1, 2), frozenset(): Fraction(1, 2)}
    >>> gradient = quadratic_gradient([[[1]]], [[0]])
    >>> errors = expected_square_errors(fedavg.run, gradient, 1, half, 1,
    ...     [Fraction(1)], [Fraction(0)], step_size=Fraction(1, 2))
    >>> errors[1]
    Fraction(5, 8)
    """
    _require_law(outcomes)
    likely = {cohort: chance for cohort, chance in outcomes.items() if chance != 0}
    if len(likely) ** rounds > LARGEST_LIST:
        raise RefusedError(
            f"a recheck lists at most {LARGEST_LIST} sequences; got {len(likely)} "
            f"outcomes over {rounds} rounds; choose a smaller instance."
        )
    totals = [Fraction(0)] * (rounds + 1)
    for sequence in product(likely.items(), repeat=rounds):
        chance = Fraction(1)
        for _, part in sequence:
            chance *= part
        cohorts = [cohort for cohort, _ in sequence]
        models = run(gradient, n_clients, list(start), cohorts, **settings)
        for r, model in enumerate(models):
            gaps = zip(model, optimum, strict=True)
            totals[r] += chance * sum(((a - b) ** 2 for a, b in gaps), Fraction(0))
    return totals


def _require_law(outcomes: Mapping[frozenset[int], Fraction]) -> None:
    chances = list(outcomes.values())
    rational = all(is_exact(chance) and chance >= 0 for chance in chances)
    if not rational or sum(chances) != 1:
        raise DomainError(
            "the probabilities of cohorts must be rationals of sum 1, none negative; "
            f"got {[str(chance) for chance in chances]}; list every outcome once."
        )

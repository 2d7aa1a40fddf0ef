"""(25) of the FOCUS paper with the stack of gradients, rows that need not cancel.

Two clients (x - 1)^2/2 and (x + 1)^2/2, both in every round, tau = 2: L = 1, x* = 0,
F(x) - F* = x^2/2. After a pull all rows are the server's model, so that the stacked
gradient there has |x - 1|^2 + |x + 1|^2 = 2 x^2 + 2, which is 2 at x*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product

from flverify._core.errors import Refusal, RefusedError
from flverify.algorithms import Focus
from flverify.claims import judge
from flverify.claims.focus_caps import largest_step
from flverify.claims.focus_moments import Clients
from flverify.engines.moments import moments
from flverify.participation import Full
from flverify.problems import Quadratics
from flverify.reference import focus

TAU = 2  # at 1 one of the caps is void
CENTRES = (Fraction(1), Fraction(-1))
STARTS, ROUNDS = (0, 1), (1, 400)
SEARCHED = "two clients (x - 1)^2/2, (x + 1)^2/2; all take part; x_1 = 0, 1; R = 1, 400"
# what f is on the right side: f(x_1) - f* at x_1 = x
FALLS = {
    "F(xbar)": lambda x: sum((x - b) ** 2 / 4 for b in CENTRES) - Fraction(1, 2),
    "sum of f_i": lambda x: sum((x - b) ** 2 / 2 for b in CENTRES) - 1,
    "sum of f_i, each at its best": lambda x: sum((x - b) ** 2 / 2 for b in CENTRES),
}


def ends(
    caps: Mapping[str, str], factor: Fraction, *, norm: str, fall: str, last: bool
) -> Iterator[judge.Case]:
    """Yield both sides of (25).

    Parameters
    ----------
    caps : mapping
        Factor of each monomial of `focus_caps.SQUARES`.
    factor : rational
        8 in print.
    norm : {"stack", "mean"}
        Whether the squares of the rows are added, or that of their mean is taken.
    fall : str
        One of `FALLS`.
    last : bool
        Whether the gradient is that of R tau + 1 under the sum, not of r tau + 1.

    Examples
    --------
    >>> case = next(ends({"1/(L N)": "1/4"}, Fraction(8), norm="stack",
    ...     fall="F(xbar)", last=False))
    >>> case.left, case.right, case.recheck() == (case.left, case.right)
    (Fraction(2, 1), Fraction(0, 1), True)
    """
    clients = Clients((Fraction(1), Fraction(1)), Full(2), TAU)
    step = largest_step(caps, clients, clients.averaging)
    for start, rounds in product(map(Fraction, STARTS), ROUNDS):
        where = {"h": [1, 1], "b": list(CENTRES), "N": 2, "law": "full", "tau": TAU}
        where |= {"q_min": clients.averaging, "step size": step}
        where |= {"xbar_1": start, "rows of x_0": f"all {start}", "R": rounds}
        right = factor * Fraction(FALLS[fall](start)) / (step * 2 * rounds)
        squares = _by_the_engine(step, start, rounds)
        rows = [_of_rows(square, norm) for square in squares]
        again = partial(_by_the_loop, step, start, rounds, norm, right, last)
        yield judge.Case(where, _mean(rows, last), right, again)


def _mean(values: list[Fraction], last: bool) -> Fraction:
    return values[-1] if last else sum(values[:-1], Fraction(0)) / (len(values) - 1)


def _of_rows(square: Fraction, norm: str) -> Fraction:
    """Return |x - 1|^2 + |x + 1|^2, or the square of the mean, from x^2."""
    return 2 * square + 2 if norm == "stack" else square


def _by_the_engine(step: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    algorithm = Focus(step, TAU, initial_gradients="start", initial_tracker="sum")
    problem = Quadratics([[[1]], [[1]]], [[b] for b in CENTRES])
    found = moments(problem, algorithm, Full(2))
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    return [Fraction(v) for v in found.mean_square_error([start], rounds).tolist()]


def _by_the_loop(
    step: Fraction, start: Fraction, rounds: int, norm: str, right: Fraction, last: bool
) -> tuple[Fraction, Fraction]:
    """Run Algorithm 1 client by client; take the gradients at every server model."""
    models = focus.run(
        lambda i, x: [x[0] - CENTRES[i]],
        2,
        [start],
        [{0, 1}] * rounds,
        step_size=step,
        local_steps=TAU,
        initial_gradients="start",
        initial_tracker="sum",
    )
    found = []
    for (x,) in models:
        slopes = [x - b for b in CENTRES]
        mean = sum(slopes, Fraction(0)) / 2
        added = sum((g**2 for g in slopes), Fraction(0))
        found.append(added if norm == "stack" else mean**2)
    return _mean(found, last), right

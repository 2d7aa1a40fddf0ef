"""FedAvg and FOCUS where the cohort tends to be that of the round before.

Two clients, one of them in every round; who came stays with chance `stay`. The chain is
ergodic and begins in its stationary law, so that p_i = q_i = 1/2 in every round, and it
is independent rounds if `stay` is 1/2. FedAvg's clients are (x - 1)^2/2 and
(x + 1)^2/2, so sigma_G = 1, delta_q = 0, x* = 0; those of FOCUS are x^2/2 both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from flverify._core.errors import Refusal, RefusedError
from flverify.algorithms import FedAvg, Focus
from flverify.claims import judge
from flverify.claims.focus_caps import largest_step
from flverify.claims.focus_moments import Clients
from flverify.engines.moments import moments
from flverify.participation import ModeChain, UniformCohort
from flverify.participation.explicit_law import ExplicitLaw
from flverify.problems import Quadratics

HALF = Fraction(1, 2)
STEPS = (Fraction(1, 100), Fraction(1, 1000))
ROUNDS = (1, 8, 64)
FEDAVG_SEARCHED = "two clients of curvature 1; eta = 1/100, 1/1000; tau = {}"
FOCUS_SEARCHED = "two clients x^2/2; tau = 2; R = 1, 8, 64"


def chain(stay: Fraction) -> ModeChain:
    """Return the law: client 1, client 2, and so on, each staying with a chance."""
    alone = [ExplicitLaw({(i,): 1}, 2) for i in (0, 1)]
    return ModeChain(((stay, 1 - stay), (1 - stay, stay)), alone)


def limits(
    stay: Fraction,
    taus: tuple[int, ...],
    bound: Callable[[Fraction, int], Fraction],
    apart: Fraction = Fraction(1),
) -> Iterator[judge.Case]:
    """Compare lim E|x_K - x*|^2 of FedAvg with a bound of step size and tau.

    The minimisers are 1 and 1 - 2 apart, at the distance `apart` from x*.

    Examples
    --------
    >>> case = next(limits(Fraction(999, 1000), (1,), lambda step, tau: 16 * step))
    >>> round(float(case.left), 3), float(case.right), case.recheck() == (
    ...     case.left, case.right)
    (0.834, 0.16, True)
    """
    for step in STEPS:
        for tau in taus:
            where = {"h": [1, 1], "b": [1, 1 - 2 * apart], "N": 2, "tau": tau}
            where |= {"step size": step, "one comes, and stays with": stay}
            right = bound(step, tau)
            again = partial(_limit_again, stay, step, tau, right, apart)
            yield judge.Case(where, _limit(stay, step, tau, apart), right, again)


def _limit(stay: Fraction, step: Fraction, tau: int, apart: Fraction) -> Fraction:
    problem = Quadratics([[[1]], [[1]]], [[1], [1 - 2 * apart]])
    found = _moments(problem, FedAvg(step, tau), stay)
    return Fraction(found.stationary_mean_square_error)


def _moments(problem: Quadratics, algorithm: Any, stay: Fraction) -> Any:
    found = moments(problem, algorithm, chain(stay))
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    return found


def _limit_again(
    stay: Fraction, step: Fraction, tau: int, right: Fraction, apart: Fraction
) -> tuple[Fraction, Fraction]:
    """Solve x' = a x + (1 - a) b for E x b and E x^2: E b b' = stay - (1 - stay).

    That is for b = 1, -1, and in units of `apart` about x*.
    """
    a = Fraction(1)
    for _ in range(tau):
        a *= 1 - step
    turn = 2 * stay - 1
    product = turn * (1 - a) / (1 - turn * a)  # E x_r b_r, b_r being of round r
    return apart**2 * (2 * a * product + 1 - a) / (1 + a), right


def errors(stay: Fraction, caps: Mapping[str, str]) -> Iterator[judge.Case]:
    """Compare E|xbar_R - x*|^2 of FOCUS from equal models with the bound of (23).

    Psi_0 is |xbar_1 - x*|^2 there, all rows being the server's.

    Examples
    --------
    >>> *_, case = errors(Fraction(999, 1000), {"mu/(N L^2)": "3/27"})
    >>> case.left > case.right, case.recheck() == (case.left, case.right)
    (True, True)
    """
    clients = Clients((Fraction(1), Fraction(1)), UniformCohort(2, 1), 2)  # L, N, q_i
    step = largest_step(caps, clients, HALF)
    problem = Quadratics([[[1]], [[1]]], [[0], [0]])
    algorithm = Focus(step, 2, initial_gradients="start", initial_tracker="sum")
    found = _moments(problem, algorithm, stay)
    squares = found.mean_square_error([Fraction(1)], max(ROUNDS)).tolist()
    for rounds in ROUNDS:
        where = {"h": [1, 1], "N": 2, "tau": 2, "q_min": HALF, "step size": step}
        where |= {"one comes, and stays with": stay}
        where |= {"xbar_1": 1, "rows of x_0": "all 1", "R": rounds}
        right = (1 - step * 2 / 2) ** rounds
        again = partial(_errors_again, stay, step, rounds, right)
        yield judge.Case(where, Fraction(squares[rounds]), right, again)


def _errors_again(
    stay: Fraction, step: Fraction, rounds: int, right: Fraction
) -> tuple[Fraction, Fraction]:
    """Follow E[1{who comes} s s'] of s = (w, z_1, z_2), entry by entry."""
    now = {who: [[HALF] * 3 for _ in range(3)] for who in (1, 2)}
    for _ in range(rounds):
        moved = {who: _played(square, who, step) for who, square in now.items()}
        now = {
            who: [
                [
                    stay * moved[who][i][j] + (1 - stay) * moved[3 - who][i][j]
                    for j in range(3)
                ]
                for i in range(3)
            ]
            for who in (1, 2)
        }
    return sum((square[0][0] for square in now.values()), Fraction(0)), right


def _played(square: list[list[Fraction]], who: int, step: Fraction) -> Any:
    """Return the second moments after a round of one client, with two evaluations.

    Its row z goes to z + (1 - eta)(w - z), and then w to w - eta (z_1 + z_2).
    """
    rows: list[list[Fraction]] = [
        [Fraction(int(i == j)) for j in range(3)] for i in range(3)
    ]
    rows[who] = [
        z + (1 - step) * (w - z) for w, z in zip(rows[0], rows[who], strict=True)
    ]
    rows[0] = [
        w - step * (one + two)
        for w, one, two in zip(rows[0], rows[1], rows[2], strict=True)
    ]
    return [
        [
            sum(
                (a[k] * b[m] * square[k][m] for k in range(3) for m in range(3)),
                Fraction(0),
            )
            for b in rows
        ]
        for a in rows
    ]

"""(25) of the FOCUS paper for a client that hardly ever comes, if q leaves that out.

One client x^2/2, there with probability p in every round: q is 1 if it is the mean of
I_i/|S| over rounds that are not empty. The server goes on by the gradient it knows,
past x* and away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from flverify._core.errors import Refusal, RefusedError
from flverify.algorithms import Focus
from flverify.claims import judge
from flverify.claims.focus_caps import largest_step
from flverify.claims.focus_moments import Clients
from flverify.engines.moments import moments
from flverify.participation import Bernoulli
from flverify.problems import Quadratics

CHANCES, ROUNDS = ("1/50", "1/1000"), (10, 80, 120)
TAU = 2  # at 1 one of the caps is void
SEARCHED = "one client x^2/2, there with p = 1/50, 1/1000; tau = 2; R = 10, 80, 120"


def rarely_there(caps: Mapping[str, str], factor: Fraction) -> Iterator[judge.Case]:
    """Compare the ends of (25): the mean of |grad F|^2, and factor F(x_1)/(eta R)."""
    for chance, rounds in product(CHANCES, ROUNDS):
        clients = Clients((Fraction(1),), Bernoulli([chance]), TAU)
        # 1/n is as good as the largest step, and shorter
        step = Fraction(1, -(-1 // largest_step(caps, clients, Fraction(1))))
        at = {
            **clients.where(),
            "q_min": 1,
            "step size": step,
            "xbar_1": 1,
            "rows of x_0": "all 1",
            "R": rounds,
        }
        right = factor / 2 / (step * rounds)
        left = _by_the_engine(clients, step, rounds)

        def again(
            p: Fraction = Fraction(chance), eta: Fraction = step, R: int = rounds
        ) -> tuple[Fraction, Fraction]:
            return _round_by_round(p, eta, R), factor / (2 * eta * R)

        yield judge.Case(at, left, right, again)


def _by_the_engine(clients: Clients, step: Fraction, rounds: int) -> Fraction:
    algorithm = Focus(step, TAU, initial_gradients="start", initial_tracker="sum")
    found = moments(Quadratics([[[1]]], [[0]]), algorithm, clients.law)
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    errors = found.mean_square_error([Fraction(1)], rounds).tolist()
    return Fraction(sum(errors[:rounds])) / rounds


def _round_by_round(p: Fraction, eta: Fraction, rounds: int) -> Fraction:
    """Return the mean of E w^2, from E w^2, E w z and E z^2, z being the row.

    Who comes goes from w to w - eta (w - z), where its new gradient is taken.
    """
    A = B = C = Fraction(1)
    total, kept = Fraction(0), 1 - eta
    for _ in range(rounds):
        total += A
        C += p * (eta**2 * C + 2 * eta * kept * B + kept**2 * A - C)
        B += p * kept * (A - B)
        A, B = A - 2 * eta * B + eta**2 * C, B - eta * C
    return total / rounds

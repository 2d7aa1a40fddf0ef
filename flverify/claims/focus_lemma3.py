"""Rounds of FOCUS for Lemmas 3 and 4 of its paper, and facts their proofs use.

Formal rounds are the recursion (67)-(69) on gradients without a formula. Rounds on
f_i = h_i x^2/2 are computed twice, from a closed form with the law listed from first
principles, and by the plain loop with the package's law. Facts are scalar: squared
norms are sums over coordinates, and what holds at every outcome holds on average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

from flverify._core.exact import Array
from flverify.certify.gram import Function, Lemma, square, vector
from flverify.claims import judge
from flverify.claims.focus_runs import Run, formal_rounds
from flverify.claims.laws import Setting
from flverify.claims.rationals import rational
from flverify.claims.scalar_runs import Cohort, column, tidy
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least, at_most, put_in
from flverify.mixing import pull_matrix
from flverify.participation.full import Full
from flverify.reference import focus

EVERY = "every N, tau, law, dimension and all models"
FORMAL_ROUNDS = (
    "N, tau = 1..3, every cohort, differentiable f_i, any rows and step size"
)
eta, L, mu = sympy.symbols("eta L mu", positive=True)
N = sympy.Symbol("N", positive=True)  # clients
n = sympy.Symbol("n", nonnegative=True)  # tau - 1, which is 0 at tau = 1


# Formal rounds -------------------------------------------------------------------


@dataclass(frozen=True)
class Traced:
    """Iterates of one round: x_{r tau + k} and y_{r tau + k}, k = 0, ..., tau + 1.

    Row 0 is the server; y_{r tau} is not used and left out as y[0] = None.
    """

    run: Run
    x: tuple[Array, ...]
    y: tuple[Any, ...]

    @property
    def last(self) -> int:
        """Return k for iteration (r+1) tau."""
        return self.run.local_steps

    def gradients(self, k: int) -> Array:
        """Return the gradients at the clients' rows of x_{r tau + k}."""
        return self.run.stacked_gradient(self.x[k])[1:]

    def server(self, k: int) -> Any:
        """Return xbar_{r tau + k}."""
        return self.x[k][0]


def traced() -> Iterator[Traced]:
    """Run (67)-(69) through every formal round, from any rows of x_{r tau}."""
    for run in formal_rounds():
        yield _traced(run)


def _traced(run: Run) -> Traced:
    size, tau, cohort = run.n_clients, run.local_steps, run.cohorts[0]
    x = [column([run.start, *run.client_starts])]
    y: list[Any] = [None, _collected(run, x[0])]
    x.append(_pulled(run, cohort, x[0], y[1]))
    mask = column([0, *(int(i in cohort) for i in range(size))])
    for k in range(1, tau):
        fresh = run.stacked_gradient(x[k]) - run.stacked_gradient(x[k - 1])
        y.append(tidy(y[k] + fresh))
        x.append(tidy(x[k] - run.step_size * mask * y[k + 1]))
    y.append(_collected(run, x[tau]))
    x.append(_pulled(run, run.cohorts[1], x[tau], y[tau + 1]))
    return Traced(run, tuple(x), tuple(y))


def _collected(run: Run, x: Array) -> Array:
    """C_{k,all} at k = r tau: the sum of all gradients at the server, 0 elsewhere."""
    total = sum(run.stacked_gradient(x)[1:])
    return column([total, *[0] * run.n_clients])


def _pulled(run: Run, cohort: Cohort, x: Array, y: Array) -> Array:
    return tidy(pull_matrix(cohort, run.n_clients) @ (x - run.step_size * y))


# Facts ---------------------------------------------------------------------------

A, B, C = sympy.symbols("a b c", real=True)
Q, T, V = sympy.symbols("Q T V", nonnegative=True)


@cache
def sum_of_vectors(factor: Any = 1) -> Finding:
    """|sum of M vectors|^2 <= factor M times the sum of squares, by induction on M."""
    c, m = rational(factor), sympy.Symbol("M", integer=True, positive=True)
    line = at_most(A**2, c * m * Q)
    one = put_in(line, {m: 1, Q: A**2})
    more = put_in(line, {m: m + 1, A: A + B, Q: Q + B**2})
    return judge.all_of(
        {
            "one vector": judge.implied([], one, EVERY),
            "from M to M + 1": judge.implied([line, at_least(m, 1)], more, EVERY),
        }
    )


@cache
def split_in_two(first: Any = 2, second: Any = 2) -> Finding:
    """Show |a + b|^2 <= first |a|^2 + second |b|^2, by coordinates."""
    right = rational(first) * A**2 + rational(second) * B**2
    return judge.implied([], sympy.Le((A + B) ** 2, right), EVERY)


@cache
def split_by_share() -> Finding:
    """Show |a + b|^2 <= |a|^2/rho + |b|^2/(1 - rho) for 0 < rho < 1."""
    rho = sympy.Symbol("rho", positive=True)
    right = A**2 / rho + B**2 / (1 - rho)
    return judge.implied([rho < 1], sympy.Le((A + B) ** 2, right), EVERY)


@cache
def gradients_of_rows(factor: Any = 1) -> Finding:
    """|sum of grad f_i(w) - grad f_i(x_i)|^2 <= factor L^2 N sum |w - x_i|^2."""
    c, total = rational(factor), sympy.Symbol("total", nonnegative=True)
    held = [total <= N * Q, Q <= L**2 * V]
    proof = judge.all_of(
        {
            "Jensen": sum_of_vectors(),
            "A2": judge.implied(held, total <= c * L**2 * N * V, EVERY),
        }
    )
    return judge.proof_or_search(proof, _searched_rows(factor))


def _searched_rows(factor: Any) -> Finding:
    def lemma(clients: int, smooth: Fraction) -> Any:
        w, c = vector("w"), Fraction(str(factor))
        rows = [vector(f"x{i + 1}") for i in range(clients)]
        fs = [Function(f"f{i + 1}", smooth, -smooth) for i in range(clients)]
        pairs = zip(fs, rows, strict=True)
        gaps = [f.gradient(w) - f.gradient(x) for f, x in pairs]
        spread = sum(square(w - x) for x in rows)
        total = sum(gaps[1:], start=gaps[0])
        return square(total) <= c * smooth**2 * clients * spread

    sizes = ((1, Fraction(1)), (2, Fraction(3)))
    listed = [({"N": m, "L": smooth}, lemma(m, smooth)) for m, smooth in sizes]
    return judge.vectors(listed, "N = 1, 2; L = 1, 3")


@cache
def gradient_and_gap(factor: Any = 2) -> Finding:
    """|grad F(x)|^2 <= factor L (F(x) - F*): descend by grad F(x)/L."""
    c = rational(factor)
    least, here, below = sympy.symbols("least here below", real=True)
    held = [below <= here - Q / (2 * L), least <= below]
    proof = judge.implied(held, sympy.Le(Q, c * L * (here - least)), EVERY)
    x, star = vector("x"), vector("x*")

    def lemma(smooth: Fraction) -> Any:
        f = Function("F", smooth, Fraction(0))
        bound = Fraction(str(factor)) * smooth * (f.value(x) - f.value(star))
        return Lemma(square(f.gradient(x)) <= bound, where=(f.gradient(star),))

    sizes = (Fraction(1), Fraction(3))
    listed = [({"L": smooth}, lemma(smooth)) for smooth in sizes]
    return judge.proof_or_search(proof, judge.vectors(listed, "L = 1, 3"))


@cache
def moves_do_not_grow() -> Finding:
    """|y_{k+1}| <= |y_k| along the local moves of a convex f_i if eta L <= 2.

    y_k is the gradient of a convex function along its own descent steps: with
    d = y_k - y_{k+1}, cocoercivity is eta <d, y_k> >= |d|^2/L.
    """
    before, inner, moved = sympy.symbols("before inner moved", real=True)
    held = [moved >= 0, eta * L * inner >= moved, eta * L <= 2]
    longer = before - 2 * inner + moved <= before
    return judge.implied(held, longer, f"{EVERY}, f_i convex")


@cache
def summed_84(bound: Any, capped: Any) -> Finding:
    """(84) summed over its tau - 1 = n indices, T = sum |y_k|^2, V = L^2 |pulled|^2.

    y_k is a gradient at x_{k-1} less that at the row before the pull: one gap for
    what lies `far` from w, eta times at most n moves, and one for the pull.
    """
    far, one = sympy.symbols("far one", nonnegative=True)
    line, halves = 2 * (eta * L) ** 2 * n * T + 2 * V, (2, 2)
    gaps = one <= halves[0] * L**2 * far + halves[1] * V
    held = [sympy.Le(T, sympy.expand(n * line)), capped]
    return judge.all_of(
        {
            "two gaps": split_in_two(*halves),
            "the moves": sum_of_vectors(),
            "(84)": judge.implied([gaps, far <= eta**2 * n * T], one <= line, EVERY),
            "its sum": judge.implied(held, bound, EVERY),
        }
    )


# Rounds in numbers ---------------------------------------------------------------


@dataclass(frozen=True)
class After:
    """What a round leaves: server model, rows x_{(r+1) tau}, and the tracker."""

    server: Fraction
    rows: tuple[Fraction, ...]
    tracker: Fraction


@dataclass(frozen=True)
class State:
    """Clients f_i = h_i x^2/2, a law, and the models before a round.

    Parameters
    ----------
    curvatures : tuple of nonzero rationals
    setting : Setting
        The law, from the package and listed.
    local_steps : int
    step : rational
    server : rational
        w_r = xbar_{r tau + 1}.
    rows : tuple of rationals
        x_{r tau}, which may be any at r = 0.
    """

    curvatures: tuple[Fraction, ...]
    setting: Setting
    local_steps: int
    step: Fraction
    server: Fraction
    rows: tuple[Fraction, ...]

    @property
    def smoothness(self) -> Fraction:
        """L."""
        return max(map(abs, self.curvatures))

    @property
    def total(self) -> int:
        """N."""
        return len(self.curvatures)

    def spread(self, weights: list[Fraction] | None = None) -> Fraction:
        """Return the sum of weight_i |w_r - x_{r tau,i}|^2, weights 1 by default."""
        w = weights or [Fraction(1)] * self.total
        pairs = zip(w, self.rows, strict=True)
        return sum((a * (self.server - z) ** 2 for a, z in pairs), Fraction(0))

    def gradient(self, at: Fraction) -> Fraction:
        """Return N grad F."""
        return at * sum(self.curvatures)

    def mean(self, value: Callable[[State, After], Fraction]) -> Fraction:
        """Average over the listed law, by the closed form of a round."""
        law = self.setting.listed.items()
        ends = ((self.after(frozenset(i - 1 for i in s)), p) for s, p in law)
        return sum((Fraction(p) * value(self, end) for end, p in ends), Fraction(0))

    def played(self, value: Callable[[State, After], Fraction]) -> Fraction:
        """Average over the package's law, by the plain loop of a round."""
        law = self.setting.law.support().items()
        ends = ((self.loop(cohort), p) for cohort, p in law)
        return sum((Fraction(p) * value(self, end) for end, p in ends), Fraction(0))

    def after(self, cohort: Cohort) -> After:
        """Return the round's result: x - z shrinks by 1 - eta h_i at every move."""
        rows = list(self.rows)
        for i in cohort:
            kept = (1 - self.step * self.curvatures[i]) ** (self.local_steps - 1)
            rows[i] += kept * (self.server - rows[i])
        pairs = zip(self.curvatures, rows, strict=True)
        tracker = sum((h * x for h, x in pairs), Fraction(0))
        return After(self.server - self.step * tracker, tuple(rows), tracker)

    def loop(self, cohort: Cohort) -> After:
        """Return the same from Algorithm 1 with the stored gradients of the rows."""
        h = self.curvatures
        stored = [[a * z] for a, z in zip(h, self.rows, strict=True)]
        end = focus.play(
            {
                "model": [self.server],
                "tracker": [sum(g for (g,) in stored)],
                "stored": stored,
            },
            lambda i, at: [h[i] * at[0]],
            self.total,
            cohort,
            step_size=self.step,
            local_steps=self.local_steps,
        )
        rows = (g / a for (g,), a in zip(end["stored"], h, strict=True))
        return After(end["model"][0], tuple(rows), end["tracker"][0])

    def later(self, end: After) -> State:
        """Return the state before the next round."""
        return replace(self, server=end.server, rows=end.rows)

    def moves(self, i: int) -> list[Fraction]:
        """Return y_{k,i}, k = r tau + 2, ..., (r+1) tau, for a participant, by (67)."""
        h, x, y, old = self.curvatures[i], self.server, Fraction(0), self.rows[i]
        out = []
        for _ in range(self.local_steps - 1):
            y, old = y + h * (x - old), x
            x -= self.step * y
            out.append(y)
        return out

    def where(self) -> dict[str, Any]:
        """Return the instance for a report."""
        return {
            "f_i": "h_i x^2/2",
            "h": list(self.curvatures),
            **self.setting.where,
            "tau": self.local_steps,
            "step size": self.step,
            "w_r": self.server,
            "rows of x_{r tau}": list(self.rows),
        }


def stale(one: State, end: After) -> Fraction:
    """|1^T grad f(1 w_r) - 1^T grad f(x_{(r+1) tau})|^2."""
    return (one.gradient(one.server) - end.tracker) ** 2


# One client's local moves --------------------------------------------------------


def movers(
    taus: tuple[int, ...], steps: tuple[str, ...], curvatures: str = "1 1/2 -1 -1/2"
) -> Iterator[tuple[State, int]]:
    """List one client of L = 1 that moves from w = 1 with its stored row at 0.

    Examples
    --------
    >>> one, moves = next(movers((3,), ("1/2",)))
    >>> [str(y) for y in one.moves(0)], moves
    (['1', '1/2'], 2)
    """
    everybody = Setting(Full(1), {frozenset({1}): Fraction(1)})
    for tau, step, h in product(taus, steps, curvatures.split()):
        point = Fraction(1), (Fraction(0),)
        yield State((Fraction(h),), everybody, tau, Fraction(step), *point), tau - 1


def closed_moves(one: State) -> list[Fraction]:
    """Return y_k in closed form: h (1 - eta h)^t times the pulled distance."""
    h = one.curvatures[0]
    return [h * (1 - one.step * h) ** t for t in range(one.local_steps - 1)]

"""Algorithm 1 of the FOCUS paper from its own start, on quadratics h_i (x - b_i)^2/2.

Line 2 sets the tracker to 0. With gradients stored at x_0 line 8 then finds nothing
new, whoever comes: the server never moves. From rows where the stored gradients, 0,
are those of the f_i, a client that makes many local steps is led back to its row, and
the server hardly moves either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from flverify._core.errors import Refusal, RefusedError
from flverify.algorithms import Focus
from flverify.claims import judge
from flverify.claims.focus_caps import OF_PROOFS, largest_step
from flverify.claims.focus_moments import Clients
from flverify.claims.recheck import expected_square_errors, quadratic_gradient
from flverify.engines.moments import moments
from flverify.participation import Bernoulli, Full, UniformCohort
from flverify.participation._law import Participation
from flverify.problems import Quadratics
from flverify.reference import focus

Caps = Mapping[str, str]
Ends = tuple[Fraction, Fraction]

MINIMISERS = (Fraction(1), Fraction(-1))
FEW = 4  # rounds for which every sequence of cohorts is played
CURVATURES = "h = (1, 1), (1, 2), with two local steps (-1/2, 1) outside (23)"


@dataclass(frozen=True)
class Setting:
    """Two clients, a law, the server's start, and what line 2 stores."""

    clients: Clients
    step: Fraction
    start: Fraction
    stored: str
    tracker: str

    @property
    def minimiser(self) -> Fraction:
        """x*."""
        h = self.clients.curvatures
        pairs = zip(h, MINIMISERS, strict=True)
        return sum((a * b for a, b in pairs), Fraction(0)) / sum(h)

    def errors(self, rounds: int) -> tuple[Fraction, ...]:
        """E|x_r - x*|^2 for r = 0, ..., rounds, by the moments engine."""
        algorithm = Focus(
            self.step,
            self.clients.local_steps,
            initial_gradients=self.stored,
            initial_tracker=self.tracker,
        )
        problem = Quadratics(self._hessians, self._linear)
        found = moments(problem, algorithm, self.clients.law)
        if isinstance(found, Refusal):
            raise RefusedError(str(found))
        return tuple(found.mean_square_error([self.start], rounds).tolist())

    def listed_errors(self, rounds: int) -> tuple[Fraction, ...]:
        """Return the same from the plain loop over every sequence of cohorts.

        For more than a few rounds they are known if no cohort changes the state.
        """
        if rounds > FEW and self._stands_still():
            return ((self.start - self.minimiser) ** 2,) * (rounds + 1)
        return tuple(
            expected_square_errors(
                focus.run,
                self._gradient,
                self.clients.total,
                self.clients.law.support(),
                rounds,
                [self.start],
                [self.minimiser],
                **self._round,
                initial_gradients=self.stored,
                initial_tracker=self.tracker,
            )
        )

    def _stands_still(self) -> bool:
        """Whether a round of any cohort leaves the state of the start as it is."""
        size = self.clients.total
        state = focus.start(
            self._gradient,
            size,
            [self.start],
            initial_gradients=self.stored,
            initial_tracker=self.tracker,
        )
        return all(
            focus.play(state, self._gradient, size, cohort, **self._round) == state
            for cohort in self.clients.law.support()
        )

    @property
    def _round(self) -> dict[str, Any]:
        return {"step_size": self.step, "local_steps": self.clients.local_steps}

    @property
    def _hessians(self) -> Any:
        return [[[a]] for a in self.clients.curvatures]

    @property
    def _linear(self) -> Any:
        pairs = zip(self.clients.curvatures, MINIMISERS, strict=True)
        return [[a * b] for a, b in pairs]

    @property
    def _gradient(self) -> Any:
        return quadratic_gradient(self._hessians, self._linear)

    def consensus_error(self, rows: str) -> Fraction:
        """||1 xbar_1 - x_0||_F^2 for a reading of the rows, xbar_1 = xbar_0 = x_0."""
        at_minimisers = rows == "stored" and self.stored == "zero"
        points = {"x*": (self.minimiser,) * 2, "x_0": (self.start,) * 2}
        z = MINIMISERS if at_minimisers else points.get(rows, points["x_0"])
        return sum(((self.start - v) ** 2 for v in z), Fraction(0))

    def where(self, r: int) -> dict[str, Any]:
        """Return the instance for a report."""
        return {
            "h": list(self.clients.curvatures),
            "b": list(MINIMISERS),
            "law": self.clients.law.spec,
            "tau": self.clients.local_steps,
            "step size": self.step,
            "x_0": self.start,
            "x*": self.minimiser,
            "stored gradients": self.stored,
            "tracker": self.tracker,
            "R": r,
        }


def settings(
    caps: Caps, bound: str, local_steps: tuple[int, ...], stored: str, tracker: str
) -> Iterator[Setting]:
    """Equal and different curvatures, two laws, starts at x* and beside it.

    More local steps, two of them, come with clients that bend downwards as well.
    """
    laws: list[Participation] = [UniformCohort(2, 1), Bernoulli(["1/2", "1"])]
    for tau, law, h in product(local_steps, laws, ("1 1", "1 2", "-1/2 1")):
        if h[0] == "-" and (tau == 1 or bound == "(23)"):
            continue
        clients = Clients(tuple(map(Fraction, h.split())), law, tau)
        for step in _steps(caps, bound, clients):
            home = Setting(clients, step, Fraction(0), stored, tracker).minimiser
            for start in (home, home + 1, home - 3):
                yield Setting(clients, step, start, stored, tracker)


def _steps(caps: Caps, bound: str, clients: Clients) -> list[Fraction]:
    """Largest steps inside the caps of theorem and proof, and inside the theorem's."""
    lists = {**OF_PROOFS[bound], **caps}, caps
    found = (largest_step(each, clients, clients.averaging) for each in lists)
    return list(dict.fromkeys(found))


def led_back(caps: Caps) -> Iterator[judge.Case]:
    """Compare the ends of (24) for one client x^2/2 that always comes, its row at 0.

    F - F* and the consensus error of the start are 1/2 and 1, from x_0 = 1.
    """
    for tau, rounds in product((2, 51, 200), (5, 15)):
        clients = Clients((Fraction(1),), Full(1), tau)
        step = largest_step(caps, clients, clients.averaging)
        model, row, kept = Fraction(1), Fraction(0), (1 - step) ** (tau - 1)
        for _ in range(rounds):
            row += kept * (model - row)
            model -= step * row
        start = Fraction(1, 2) + 1 - 4 * step
        at = {"N": 1, "law": "full", "tau": tau, "step size": step, "R": rounds}
        right = (1 - step) ** rounds * start

        def again(tau: int = tau, step: Fraction = step, r: int = rounds) -> Ends:
            everyone = [{0}] * r
            runs = focus.run(
                lambda _, x: x, 1, [1], everyone, step_size=step, local_steps=tau
            )
            shrunk = Fraction(3, 2) - 4 * step
            for _ in range(r):
                shrunk -= step * shrunk
            return Fraction(runs[-1][0]) ** 2 / 2, shrunk

        yield judge.Case({**at, "rows": "0"}, model**2 / 2, right, again)

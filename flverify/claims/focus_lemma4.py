"""Lemma 4 of the FOCUS paper as a one-step lemma on quadratics, inside printed caps.

The consensus error after a round is compared with the one before and with |grad F|^2 at
the new server model, in expectation or at each outcome of the round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from flverify.algorithms.focus import Focus
from flverify.certify import quadratic_form as q
from flverify.claims import cohorts, judge, laws
from flverify.claims.focus_caps import inside, largest_step, least_q
from flverify.claims.focus_lemma3 import State
from flverify.claims.focus_moments import Clients
from flverify.claims.focus_theorem1_steps import N, eta
from flverify.claims.focus_theorem1_steps import q as least_chance
from flverify.claims.laws import Setting
from flverify.claims.rationals import rational
from flverify.claims.scalar_runs import Cohort
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.full import Full
from flverify.participation.uniform_cohort import UniformCohort
from flverify.problems._quadratics import Quadratics

X = q.server("model")
POINTWISE = 4  # outcomes of a round that are compared one by one, at most


@dataclass(frozen=True)
class Bound:
    """Lemma 4: B_r <= kept B_{r-1} + push |grad F|^2 for the steps inside the caps.

    kept is 1 - q contraction, and push is gradient eta^2 N^power/q.

    Parameters
    ----------
    caps : mapping
        Factor of each monomial of `focus_caps.SQUARES`, as rational text.
    contraction, gradient : str
        Rational text.
    power : int

    Examples
    --------
    >>> MENDED.kept, MENDED.push
    (1 - q/3, 16*N**3*eta**2/(3*q))
    >>> one = next(steps(MENDED, "q_i = p_i", "1/N", outcomes=False))
    >>> judge.one_step([one], "one").verdict
    <Verdict.SUPPORTED: 'SUPPORTED'>
    """

    caps: Mapping[str, str]
    contraction: str
    gradient: str
    power: int

    @property
    def kept(self) -> Any:
        """Return the factor of B_{r-1}."""
        return 1 - rational(self.contraction) * least_chance

    @property
    def push(self) -> Any:
        """Return the factor of |grad F|^2."""
        return rational(self.gradient) * eta**2 * N**self.power / least_chance


MOVES = "q^(3/2)/(L (tau-1))"
PRINTED = Bound({"q^(3/2)/(L sqrt N)": "1/8", MOVES: "1/8"}, "1/3", "16/3", 2)
MENDED = Bound({"q^(3/2)/(L N)": "1/8", MOVES: "1/8"}, "1/3", "16/3", 3)


def steps(
    bound: Bound, reading: str, case_3a: str, *, outcomes: bool, left: str = "0"
) -> Iterator[judge.Step]:
    """Yield the lemma for listed clients at the largest step of the caps.

    Parameters
    ----------
    bound : Bound
    reading : str
        Of q_min, one of `focus_caps.Q_READINGS`.
    case_3a : {"1/m", "1/N"}
    outcomes : bool
        Whether |grad F|^2 is taken at each outcome instead of in expectation.
    left : str
        B_r has the factor 1 - left q^2, as in (95).
    """
    for h, law, tau in settings():
        clients = Clients(tuple(map(Fraction, h)), law, tau)
        least = least_q(reading, clients, case_3a)
        if least is None:
            continue
        step = largest_step(bound.caps, clients, least)
        if not inside(bound.caps, clients, least, step):
            continue
        where = {**clients.where(), "q_min": least, "step size": step}
        problem = _quadratics(h)
        algorithm = Focus(step, tau)
        held = q.kept_zero(algorithm, len(h))
        setting = problem, algorithm, law
        if not outcomes:
            lemma = _lemma(bound, least, step, len(h), q.after(X), left)
            yield judge.Step(where, *setting, lemma, held)
            continue
        for cohort in list(law.support())[:POINTWISE]:
            model = _model_after(clients, cohort, step)
            lemma = _lemma(bound, least, step, len(h), model, left)
            place = {**where, "outcome": sorted(i + 1 for i in cohort)}
            yield judge.Step(place, *setting, lemma, held)


def _quadratics(h: tuple[Any, ...]) -> Quadratics:
    hessians: Any = [[[a]] for a in h]
    linear: Any = [[0]] * len(h)
    return Quadratics(hessians, linear)


def _lemma(
    bound: Bound, least: Fraction, step: Fraction, size: int, model: Any, left: str
) -> Any:
    """Write the lemma, |grad F|^2 being taken at `model`."""
    stored = [q.client("stored", i) for i in range(size)]
    rows = [q.point_of(g, i) for i, g in enumerate(stored)]
    now = sum(q.square(X - z) for z in rows)
    then = sum(q.square(q.after(X) - q.after(z)) for z in rows)
    slope = q.expect(q.square(q.gradient(model)))
    factor = Fraction(bound.gradient) * step**2 * Fraction(size) ** bound.power / least
    kept = 1 - Fraction(bound.contraction) * least
    now_left = (1 - Fraction(left) * least**2) * q.expect(then)
    return now_left <= kept * now + factor * slope


def _model_after(clients: Clients, cohort: Cohort, step: Fraction) -> Any:
    """Return the server's model if just this cohort takes part.

    A participant pushes its last gradient less the stored one: the difference at the
    pulled model, times 1 - eta h_i for each of its tau - 1 moves.
    """
    tracker = q.server("tracker")
    for i in sorted(cohort):
        kept = (1 - step * clients.curvatures[i]) ** (clients.local_steps - 1)
        tracker = tracker + kept * (q.gradient(X, i) - q.client("stored", i))
    return X - step * tracker


def settings() -> tuple[tuple[tuple[Any, ...], Participation, int], ...]:
    """List curvatures, laws and tau; L/mu up to 30, some bent downwards.

    Where the print fails tau >= 2: at tau = 1 its second cap is void or undefined.
    """
    return (
        ((1,), Full(1), 2),
        ((1,), AllOrNothing(1, "1/10"), 1),
        ((30, 1), UniformCohort(2, 1), 3),
        ((-1, 2), Full(2), 2),
        ((1, 5, 1), Bernoulli(["1/20", "1", "1"]), 2),
        ((3, -1, 2), AllOrNothing(3, "1/4"), 1),
        ((1,) * 6, Full(6), 2),
        ((1,) * 9, UniformCohort(9, 1), 2),
        ((1,) * 8, UniformCohort(8, 1), 5),
        ((2, 1, 1, -1), UniformCohort(4, 2), 20),
    )


# States for the steps -----------------------------------------------------------

DEFINED, CASE_3A, CHANCE = "q_i = E[I_i/|S|]", "q_i = 1/m of Case 3a", "q_i = p_i"
# what 0/0 is, if it is not 0: the mean is over rounds that are not empty
SOMEBODY = "q_i = E[I_i/|S| | S not empty], though rounds may be empty"


def everybody(size: int) -> Setting:
    """Return full participation."""
    return Setting(Full(size), {frozenset(range(1, size + 1)): Fraction(1)})


def everyone(size: int) -> list[Setting]:
    """Return full participation as the only law."""
    return [everybody(size)]


def states(
    settings: Callable[[int], list[Setting]], taus: tuple[int, ...]
) -> Iterator[State]:
    """List states of 1 to 5 clients: rows alike, and rows on both sides of w = 1.

    The step q_min^2/(8 N max(1, tau-1)) is inside the caps of Lemma 4 for every q_i.
    """
    for size, tau in product((1, 2, 3, 5), taus):
        h = tuple(map(Fraction, (1, -1, 1, 1, 1)[:size]))
        if size == 2:
            h = (Fraction(1), Fraction(1, 2))
        for setting, sign in product(settings(size), (1, -1)):
            rows = tuple(1 - Fraction(sign) ** i for i in range(size))
            step = min(setting.averaging()) ** 2 / (8 * size * max(tau - 1, 1))
            yield State(h, setting, tau, step, Fraction(1), rows)


def laws_for(name: str, size: int) -> list[Setting]:
    """Return full participation of 5 clients, every case of fewer; uniform in 3a."""
    if size > 3:
        return [uniform(size, size)] if name == CASE_3A else [everybody(size)]
    if name == CASE_3A:
        return [uniform(size, m) for m in range(1, size + 1)]
    if name == SOMEBODY:
        return [*laws.sometimes_empty(size)]
    return [*laws.never_empty(size), *laws.sometimes_empty(size)]


def uniform(size: int, m: int) -> Setting:
    """Return uniform cohorts of m clients."""
    return Setting(UniformCohort(size, m), cohorts.uniform(size, m))


def weights(name: str, setting: Setting) -> list[Fraction]:
    """Return the q_i of a reading."""
    if name == CASE_3A:
        return [Fraction(1, len(min(setting.listed)))] * setting.n_clients
    if name == SOMEBODY:
        somebody = 1 - setting.listed.get(frozenset(), Fraction(0))
        return [v / somebody for v in setting.averaging()]
    return setting.averaging() if name == DEFINED else setting.inclusion()


def twice(one: State, left: Any, right: Any) -> tuple[Fraction, Fraction]:
    """Compute both sides again by the plain loop."""
    return one.played(left), one.played(right)

"""Rates and step-size caps as the theorems print them, in rationals.

What is printed is not thereby right: the claims say how it fares. Caps may be roots of
rationals, so they are kept as squares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from flverify._core.errors import RefusedError
from flverify._core.exact import Scalar, is_exact
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm
from flverify.algorithms.fedavg import FedAvg
from flverify.algorithms.focus import Focus
from flverify.certify.classes import classes, require_everybody
from flverify.certify.sandwich import limits
from flverify.engines.kinds import require_law
from flverify.participation._law import Participation
from flverify.participation.uniform_cohort import UniformCohort

DIGITS = 12  # significant digits of a cap that is irrational, rounded down
SAG_STEP = Fraction(1, 16)  # the one step size N eta L of the theorem on SAG


@dataclass(frozen=True)
class Printed:
    """A theorem's rate and step-size cap at one setting.

    Parameters
    ----------
    source : Source
    statement : str
        What is printed, with its hypothesis on the step size.
    rate : Fraction or None
        Factor per round, weight 1; None where the step size is not rational.
    caps_squared : mapping
        Square of every cap by its printed name; 1/(tau - 1) at tau = 1 is no cap.
    inside : bool
        Whether the step size satisfies every cap.
    alone : bool
        Whether the cap is the only step size that the theorem is about.
    """

    source: Source
    statement: str
    rate: Fraction | None
    caps_squared: Mapping[str, Fraction]
    inside: bool
    alone: bool = False

    @property
    def cap_squared(self) -> Fraction:
        """Square of the largest step size allowed, weight x^4/f^2."""
        return min(self.caps_squared.values())

    @property
    def cap(self) -> Fraction:
        """Largest step size allowed, weight x^2/f; rounded down if irrational."""
        return root_below(self.cap_squared)

    @property
    def cap_is_exact(self) -> bool:
        """Whether the cap is rational."""
        return self.cap**2 == self.cap_squared


def printed(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: Scalar,
    smoothness: Scalar,
) -> Printed | None:
    """Rate and cap of the theorem printed for an algorithm, if the papers have one.

    Definition: FOCUS, Theorem 1 (strongly convex): E|x_R - x*|^2 <= (1 - eta mu N/2)^R
    Psi_0; FedAvg, Theorem 2, to a neighbourhood: the factor 1 - eta mu/2 per local
    step of eq. (58), taken tau times.

    Parameters
    ----------
    strong_convexity, smoothness : scalar > 0, weight f/x^2
        mu <= L.

    Returns
    -------
    printed : Printed or None

    Raises
    ------
    DomainError
        If not 0 < mu <= L.
    InputError
        If the law is none.
    RefusedError
        If some client never takes part, or an averaging weight of FOCUS is not
        rational.

    Notes
    -----
    q_min is the least averaging weight E[I_i/|S|], with 0 for an empty round.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> found = printed(Focus("1/128"), UniformCohort(4, 1), "1/10", 1)
    >>> found.rate, found.cap, found.inside
    (Fraction(639, 640), Fraction(1, 360), False)
    """
    mu, smooth = limits(strong_convexity, smoothness)
    law = require_law(participation)
    if type(algorithm) is Focus:  # an own class derived from it is another algorithm
        return _focus(algorithm, law, mu, smooth)
    if type(algorithm) is not FedAvg:
        return None
    if (algorithm.aggregation, algorithm.server_step_size) != ("mean", 1):
        return None
    require_everybody(law.inclusion().tolist())  # p_i > 0 by Assumption 1
    return _fedavg(algorithm, mu, smooth)


def printed_sag(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: Scalar,
    smoothness: Scalar,
) -> Printed | None:
    """Return the rate of SAG, which FOCUS with one uniform client and tau = 1 is.

    Definition: at N eta = 1/(16 L), E F(x_r) - F* <= (1 - min{mu/(16 L), 1/(8 N)})^r
    C_0; the cap is that one step size.

    Raises
    ------
    DomainError
        If not 0 < mu <= L.
    InputError
        If the law is none.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> step = Fraction(1, 1600)
    >>> printed_sag(Focus(step), UniformCohort(100, 1), "1/10", 1).rate
    Fraction(799, 800)
    """
    mu, smooth = limits(strong_convexity, smoothness)
    n = require_law(participation).n_clients
    step = SAG_STEP / (smooth * n)
    alone = isinstance(participation, UniformCohort) and participation.m == 1
    plain = type(algorithm) is Focus and algorithm.local_steps == 1
    if not (alone and plain and algorithm.step_size == step):
        return None
    rate = 1 - min(mu / (16 * smooth), Fraction(1, 8 * n))
    statement = (
        "E F(x_r) - F* <= (1 - min{mu/(16 L), 1/(8 N)})^r C_0 for the step size "
        "1/(16 L) on the mean of the stored gradients"
    )
    source = Source("schmidt2017", "Theorem 1, strongly convex")
    caps = {"1/(16 N L)": step**2}
    return Printed(source, statement, rate, caps, inside=True, alone=True)


def _focus(
    algorithm: Focus, law: Participation, mu: Fraction, smooth: Fraction
) -> Printed:
    n, moves = law.n_clients, algorithm.local_steps - 1
    q = least_weight(law)
    caps = {
        "3 mu/(27 N L^2)": (3 * mu / (27 * n * smooth**2)) ** 2,
        "q_min^(3/2)/(8 L sqrt N)": q**3 / (64 * smooth**2 * n),
    }
    if moves:
        caps["1/(3 L (tau - 1))"] = 1 / (3 * smooth * moves) ** 2
    return _stated(
        algorithm,
        Source("focus", "Theorem 1, eq. (23), strongly convex"),
        "E|x_R - x*|^2 <= Psi_R <= (1 - eta mu N/2)^R Psi_0 for eta <= min{3 mu/(27 N "
        "L^2), 1/(3 L (tau - 1)), q_min^(3/2)/(8 L sqrt N)}",
        caps,
        1 - _step(algorithm) * mu * n / 2,
    )


def least_weight(law: Participation) -> Fraction:
    """Least averaging weight: class by class where there are classes."""
    try:
        found = classes(law)
    except RefusedError:
        weights = law.averaging_weights().tolist()
        if not all(is_exact(q) and q > 0 for q in weights):
            raise
        return Fraction(min(weights))
    return min(found.first("a", r) for r in range(len(found.sizes)))


def _fedavg(algorithm: Algorithm, mu: Fraction, smooth: Fraction) -> Printed:
    tau = algorithm.local_steps
    caps = {"1/(3 L)": 1 / (3 * smooth) ** 2}
    if tau > 1:
        caps["1/(4 (tau - 1) L)"] = 1 / (4 * (tau - 1) * smooth) ** 2
    return _stated(
        algorithm,
        Source("focus", "Theorem 2 and eq. (58)"),
        "A_K <= (1 - eta mu/2)^K A_0 + a neighbourhood, K counting local steps, for "
        "eta <= min{1/(3 L), 1/(4 (tau - 1) L)}",
        caps,
        (1 - _step(algorithm) * mu / 2) ** tau,
    )


def _stated(
    algorithm: Algorithm,
    source: Source,
    statement: str,
    caps: Mapping[str, Fraction],
    rate: Fraction,
) -> Printed:
    inside = _step(algorithm) ** 2 <= min(caps.values())
    known = rate if is_exact(algorithm.step_size) else None
    return Printed(source, statement, known, caps, inside)


def _step(algorithm: Algorithm) -> Fraction:
    """Step size as the rational it is."""
    return Fraction(algorithm.step_size)


def root_below(square: Fraction) -> Fraction:
    """Square root of a rational, rounded down to `DIGITS` digits if irrational.

    Examples
    --------
    >>> root_below(Fraction(9, 4)), root_below(Fraction(2))
    (Fraction(3, 2), Fraction(1414213562373, 1000000000000))
    """
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if (top**2, bottom**2) == (square.numerator, square.denominator):
        return Fraction(top, bottom)
    unit = 10**DIGITS
    while square * unit**2 < 10 ** (2 * DIGITS):
        unit *= 10
    return Fraction(isqrt(int(square * unit**2)), unit)

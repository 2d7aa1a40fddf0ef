"""What a theorem prints for an average, or for a gap, in rationals.

What is printed is not thereby right: the claims say how it fares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm
from flverify.algorithms.focus import Focus
from flverify.certify.printed import Printed, least_weight, root_below
from flverify.participation._law import Participation


@dataclass(frozen=True)
class PrintedAverage:
    """A theorem's factor of (f - f*)/K, and up to which step size it speaks.

    Parameters
    ----------
    source : Source
    statement : str
    by_gap : Fraction, weight f/x^2
    cap : Fraction, weight x^2/f
        Rounded down if irrational.
    inside : bool
        Whether the step size satisfies every cap.
    """

    source: Source
    statement: str
    by_gap: Fraction
    cap: Fraction
    inside: bool


def printed_average(
    algorithm: Algorithm, law: Participation, smoothness: Fraction
) -> PrintedAverage | None:
    """Return what FOCUS, Theorem 1 (25), prints for smooth functions; else None.

    Definition: (1/R) sum_{r<R} E|grad f|^2 <= 8 (f(x_1) - f*)/(eta N R) for eta <=
    min{1/(2 L (tau-1)), q_min^(3/2)/(8 L sqrt N), q_min/(16 L sqrt(2 N)), 1/(4 L N)}.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> found = printed_average(Focus("1/20"), UniformCohort(5, 2), Fraction(1))
    >>> found.by_gap, found.inside
    (Fraction(32, 1), False)
    """
    if type(algorithm) is not Focus:
        return None
    n, moves, q = law.n_clients, algorithm.local_steps - 1, least_weight(law)
    squares = [
        q**3 / (64 * smoothness**2 * n),
        q**2 / (512 * smoothness**2 * n),
        1 / (4 * smoothness * n) ** 2,
        *([1 / (2 * smoothness * moves) ** 2] if moves else []),
    ]
    step = Fraction(algorithm.step_size)
    return PrintedAverage(
        Source("focus", "Theorem 1, eq. (25), nonconvex"),
        "(1/R) sum_{r<R} E|grad f|^2 <= 8 (f(x_1) - f*)/(eta N R) for eta <= "
        "min{1/(2 L (tau - 1)), q_min^(3/2)/(8 L sqrt N), q_min/(16 L sqrt(2 N)), "
        "1/(4 L N)}",
        8 / (step * n),
        root_below(min(squares)),
        step**2 <= min(squares),
    )


def printed_gap_rate(
    algorithm: Algorithm, law: Participation, smoothness: Fraction, beta: Fraction
) -> Printed | None:
    """Return what FOCUS, Theorem 1 (24), prints for beta-PL functions; else None.

    Definition: E f(x_R) - f* <= (1 - eta beta N)^R Phi_0 for eta <= min{3 q_min/(32 N),
    q_min/(12 beta N), q_min/(16 L^2), q_min^(3/2)/(8 L sqrt N)}.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> law = UniformCohort(5, 2)
    >>> found = printed_gap_rate(Focus("1/20"), law, Fraction(1), Fraction(1, 10))
    >>> found.rate, found.cap, found.inside
    (Fraction(39, 40), Fraction(3, 800), False)
    """
    if type(algorithm) is not Focus:
        return None
    n, q, step = law.n_clients, least_weight(law), Fraction(algorithm.step_size)
    caps = {
        "3 q_min/(32 N)": (3 * q / (32 * n)) ** 2,
        "q_min/(12 beta N)": (q / (12 * beta * n)) ** 2,
        "q_min/(16 L^2)": (q / (16 * smoothness**2)) ** 2,
        "q_min^(3/2)/(8 L sqrt N)": q**3 / (64 * smoothness**2 * n),
    }
    return Printed(
        Source("focus", "Theorem 1, eq. (24), PL"),
        "E f(x_R) - f* <= (1 - eta beta N)^R Phi_0 for eta <= min{3 q_min/(32 N), "
        "q_min/(12 beta N), q_min/(16 L^2), q_min^(3/2)/(8 L sqrt N)}",
        1 - step * beta * n,
        caps,
        step**2 <= min(caps.values()),
    )

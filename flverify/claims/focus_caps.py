"""Step-size caps of Theorem 1 of the FOCUS paper, and steps inside them.

Caps are roots of rationals, so they are kept as squares; a step is a rational number
that lies below every cap exactly. 1/(tau-1) at tau = 1 is read as no cap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import isqrt

from flverify._core.errors import UnknownNameError
from flverify.claims.focus_moments import Clients
from flverify.participation.uniform_cohort import UniformCohort

Q_READINGS = ("q_i = E[I_i/|S|]", "q_i = 1/m of Case 3a", "q_i = p_i")
DIGITS = 12  # significant digits of a step where the smallest cap is irrational

# conditions that Appendix D prints beside those of the theorem: in Lemma 4 and where
# (102) and (105) are derived
OF_PROOFS = {
    "(23)": {"q/(N (8 L^2/mu + mu/2))": "2/3", "q^(3/2)/(L (tau-1))": "1/8"},
    "(24)": {
        "1/(L N)": "1/4",
        "1/((tau-1) L N)": "1/2",
        "q^(3/2)/(L (tau-1))": "1/8",
    },
    "(25)": {"q^(3/2)/(L (tau-1))": "1/8"},
}

Square = Callable[[Clients, Fraction], Fraction | None]


def _moves(c: Clients, square: Fraction) -> Fraction | None:
    """square/(tau-1)^2, or no cap at tau = 1."""
    moves = c.local_steps - 1
    return square / moves**2 if moves else None


def _stiffness(c: Clients) -> Fraction:
    """8 L^2/mu + mu/2."""
    mu = c.strong_convexity
    return 8 * c.smoothness**2 / mu + mu / 2


# squares of the monomials that the caps are multiples of; q is q_min in some reading
SQUARES: dict[str, Square] = {
    "mu/(N L^2)": lambda c, _: (c.strong_convexity / (c.total * c.smoothness**2)) ** 2,
    "1/(L (tau-1))": lambda c, _: _moves(c, 1 / c.smoothness**2),
    "1/((tau-1) L N)": lambda c, _: _moves(c, 1 / (c.smoothness * c.total) ** 2),
    "q^(3/2)/(L (tau-1))": lambda c, q: _moves(c, q**3 / c.smoothness**2),
    "q^(3/2)/(L sqrt N)": lambda c, q: q**3 / (c.smoothness**2 * c.total),
    "q^(3/2)/(L N)": lambda c, q: q**3 / (c.smoothness * c.total) ** 2,
    "q/(N^2 L)": lambda c, q: (q / (c.total**2 * c.smoothness)) ** 2,
    "q/(N (8 L^2/mu + mu/2))": lambda c, q: (q / (c.total * _stiffness(c))) ** 2,
    "q/N": lambda c, q: (q / c.total) ** 2,
    "q/N^2": lambda c, q: (q / c.total**2) ** 2,
    "q/(L N)": lambda c, q: (q / (c.smoothness * c.total)) ** 2,
    "q/(beta N)": lambda c, q: (q / (c.mean_curvature * c.total)) ** 2,
    "q/L^2": lambda c, q: (q / c.smoothness**2) ** 2,
    "q/(L sqrt(2 N))": lambda c, q: q**2 / (2 * c.total * c.smoothness**2),
    "1/(L N)": lambda c, _: 1 / (c.smoothness * c.total) ** 2,
    "1/(tau L N)": lambda c, _: 1 / (c.local_steps * c.smoothness * c.total) ** 2,
}


def least_q(reading: str, clients: Clients, case_3a: str = "1/m") -> Fraction | None:
    """q_min in one of `Q_READINGS`; None where it does not apply.

    Parameters
    ----------
    reading : str
    clients : Clients
    case_3a : {"1/m", "1/N"}
        q_i of Case 3a, uniform cohorts of m: as printed, or what E[I_i/|S|] is.

    Examples
    --------
    >>> clients = Clients((Fraction(1),) * 4, UniformCohort(4, 2), 1)
    >>> [str(least_q(reading, clients)) for reading in Q_READINGS]
    ['1/4', '1/2', '1/2']
    """
    if reading == Q_READINGS[0]:
        return clients.averaging
    if reading == Q_READINGS[2]:
        return clients.inclusion
    if not isinstance(clients.law, UniformCohort) or clients.copies > 1:
        return None
    return Fraction(1, clients.law.m if case_3a == "1/m" else clients.total)


def largest_step(caps: Mapping[str, str], clients: Clients, q: Fraction) -> Fraction:
    """Return the least of the caps, or a rational a little below it.

    It is `inside` the caps.

    Parameters
    ----------
    caps : mapping
        Factor of each monomial, as rational text.
    clients : Clients
    q : rational
        q_min in some reading.

    Raises
    ------
    UnknownNameError
        If a monomial is not known.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> five = Clients((Fraction(1),) * 4, UniformCohort(4, 1), 1)
    >>> largest_step({"q^(3/2)/(L sqrt N)": "1/8"}, five, five.averaging)
    Fraction(1, 128)
    """
    return root_below(min(squares(caps, clients, q)))


def inside(
    caps: Mapping[str, str],
    clients: Clients,
    q: Fraction,
    step: Fraction,
    monomials: Mapping[str, Square] = SQUARES,
) -> bool:
    """Whether a step is positive and at most every cap, exactly."""
    found = squares(caps, clients, q, monomials)
    return step > 0 and all(step**2 <= square for square in found)


def squares(
    caps: Mapping[str, str],
    clients: Clients,
    q: Fraction,
    monomials: Mapping[str, Square] = SQUARES,
) -> list[Fraction]:
    """Squares of the caps that apply.

    Raises
    ------
    UnknownNameError
        If a monomial is not known.
    """
    require_monomials(caps, monomials)
    known = ((factor, monomials[name](clients, q)) for name, factor in caps.items())
    return [Fraction(f) ** 2 * square for f, square in known if square is not None]


def require_monomials(caps: Iterable[str], known: Iterable[str]) -> None:
    """Check what caps are multiples of.

    Raises
    ------
    UnknownNameError
        If a monomial is not known.
    """
    unknown = set(caps) - set(known)
    if unknown:
        raise UnknownNameError(
            f"a cap must be a multiple of a known monomial; got {sorted(unknown)}; "
            f"choose among {sorted(known)}."
        )


def root_below(square: Fraction) -> Fraction:
    """Return the root of a rational, rounded down if it is irrational."""
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if (top**2, bottom**2) == (square.numerator, square.denominator):
        return Fraction(top, bottom)
    unit = 1
    while square * unit**2 < 10 ** (2 * DIGITS):
        unit *= 10
    return Fraction(isqrt(int(square * unit**2)), unit)

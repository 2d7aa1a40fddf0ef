"""Substituting constraints away: how a bound on a symbol becomes a free symbol.

A fact a x + b >= 0 with a sign of a that shows in its coefficients bounds x. From
below, x = B + u with u >= 0; from above, if x > 0, x = B/(1 + u); otherwise x = B - u.
An equation a x + b = 0 gives x itself. Each step keeps every point at which the facts
hold, so what is shown for all values of the new symbols is shown for these points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

import sympy

from flverify.certify._scalar.quotients import (
    Polynomial,
    Quotient,
    Sign,
    Signs,
    by_powers,
    evident_sign,
    monomials,
    quotient_sign,
    reduced,
    replaced,
    symbols_of,
    within_limits,
    without_positive_factors,
)
from flverify.certify._scalar.states import Known, Move, State


def raised(signs: Signs, known: Iterable[Known]) -> dict[sympy.Symbol, Sign]:
    """Signs, with > for each signed factor of a product that is not 0."""
    out = dict(signs)
    for fact in known:
        listed = monomials(fact.quotient.numer)
        if fact.comparison in (">", "!=") and len(listed) == 1:
            out |= {symbol: ">" for symbol in listed[0][1] if symbol in out}
    return out


def moves(state: State) -> Iterator[tuple[Known, sympy.Symbol]]:
    """Yield facts that may be solved, each with a symbol: bounds with the goal's."""
    wanted = symbols_of(state.goal.numer) | symbols_of(state.goal.denom)
    each = [symbols_of(known.quotient.numer) for known in state.known]
    new = {step.slack for step in state.steps}
    uses = Counter(symbol for found in each for symbol in found)
    for known, found in zip(state.known, each, strict=True):
        # equations go first wherever they are: a root says more than its square
        usable = found if known.comparison == "==" else found & wanted
        # eta of eta <= 1/L goes before L, which other facts speak of, and before slacks
        order = sorted(usable, key=lambda s: (s in new, uses[s], s.name))
        yield from ((known, symbol) for symbol in order)


def ends(state: State) -> tuple[Polynomial, Polynomial]:
    """Numerator and denominator of the goal, numbers in place of known powers."""
    above, below = state.goal.numer, state.goal.denom
    return reduced(above, state.powers), reduced(below, state.powers)


def apply(state: State, step: Move) -> State:
    """Return the state after one substitution; facts that the signs tell are left.

    Raises
    ------
    ZeroDivisionError
        If a denominator vanishes throughout: then no point is in question.
    """
    quotients = state.quotients
    value = within_limits(step.value)
    goal = replaced(state.goal, step.symbol, value, quotients)
    known = [
        Known(replaced(k.quotient, step.symbol, value, quotients), *k.rest())
        for k in state.known
    ]
    sign = state.signs.get(step.symbol)
    if sign is not None:
        place = state.facts + len(state.steps)
        text = f"{step.symbol} {sign} 0"
        known.append(Known(within_limits(step.implied), sign, text, place))
    signs = {s: sign for s, sign in state.signs.items() if s != step.symbol}
    slacks = state.slacks
    if step.slack is not None and step.slack_sign is not None:
        signs[step.slack] = step.slack_sign
        slacks = slacks[1:]
    signs = raised(signs, known)
    left = tuple(k for k in known if not _spent(k, signs))
    steps = (*state.steps, step)
    return replace(
        state, goal=goal, known=left, signs=signs, slacks=slacks, steps=steps
    )


def _spent(known: Known, signs: Signs) -> bool:
    """Whether a fact says no more than the signs do."""
    quotient = known.quotient
    if known.comparison == "!=":
        return ">" in [quotient_sign(side * quotient, signs) for side in (1, -1)]
    if known.comparison == "==":
        return bool(quotient == 0)
    return quotient_sign(quotient, signs) in (">", known.comparison)


def solved(state: State, known: Known, symbol: sympy.Symbol) -> Move | None:
    """Solve a fact for a symbol, if a x + b is left of it and the sign of a shows."""
    signs, numer = state.signs, known.quotient.numer
    equation = known.comparison == "=="
    below = evident_sign(known.quotient.denom, signs)
    if known.comparison == "!=" or (not equation and below is None):
        return None
    polynomial = numer if equation else _relevant(numer, _told(numer, signs))
    parts = by_powers(polynomial, symbol)
    if set(parts) | {0} != {0, 1}:
        return None
    side = next((k for k in (1, -1) if evident_sign(k * parts[1], signs) == ">"), None)
    if side is None or not (equation or state.slacks):
        return None
    field = state.quotients.field
    slope, x = field(parts[1]), field(symbol)
    bound = -field(parts.get(0, polynomial.ring.zero)) / slope
    # known = polynomial * positive / denominator, and polynomial = slope (x - bound)
    positive = field(side * parts[1] * numer.exquo(polynomial))
    factor = field(known.quotient.denom) / positive
    if equation:
        return _step(
            symbol, bound, None, (x - bound, side * factor, bound), None, known
        )
    u = field(state.slacks[0])
    sign: Sign = ">" if (known.comparison, below) == (">", ">") else ">="
    if side == -1 and signs.get(symbol) == ">":
        found = bound / x - 1, factor / x, bound
        return _step(symbol, bound / (1 + u), state.slacks[0], found, sign, known)
    value = bound + side * u
    found = side * (x - bound), factor, value
    return _step(symbol, value, state.slacks[0], found, sign, known)


def _told(
    polynomial: Polynomial, signs: Signs
) -> tuple[tuple[sympy.Symbol, Sign], ...]:
    there = symbols_of(polynomial)
    return tuple(item for item in signs.items() if item[0] in there)


@lru_cache(maxsize=4096)  # factoring is what a search spends its time on
def _relevant(
    polynomial: Polynomial, signs: tuple[tuple[sympy.Symbol, Sign], ...]
) -> Polynomial:
    return without_positive_factors(polynomial, dict(signs))


def _step(
    symbol: sympy.Symbol,
    value: Quotient,
    slack: sympy.Symbol | None,
    found: tuple[Quotient, Quotient, Quotient],
    sign: Sign | None,
    known: Known,
) -> Move:
    slack_value, factor, implied = found
    return Move(
        symbol,
        value,
        slack,
        slack_value,
        sign,
        known.place,
        factor,
        implied,
        known.text,
    )

"""Re-checking a coefficient certificate on its expressions, step by step.

Nothing of the search is used: values are put in by sympy, and each step has to be an
identity between expressions together with a factor whose sign shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from flverify.certify._scalar.formulas import Atom, stated_powers, stated_signs
from flverify.certify._scalar.quotients import (
    Quotient,
    Quotients,
    Sign,
    evident,
    evident_sign,
    monomials,
    quotient_sign,
    reduced,
)
from flverify.certify._scalar.states import Substitution

Signed = Sequence[tuple[sympy.Symbol, Sign]]


def holds_up(
    goal: Atom,
    facts: Sequence[Atom],
    signs: Signed,
    steps: Sequence[Substitution],
    ends: tuple[sympy.Expr, sympy.Expr, Signed],
) -> bool:
    """Whether the steps follow from the facts and lead to what shows the goal.

    Parameters
    ----------
    goal : Atom
    facts : sequence of Atom
    signs : sequence of (symbol, sign)
        What the facts are said to tell of single symbols.
    steps : sequence of Substitution
    ends : (numerator, denominator, signs)
        Of the goal's expression after all steps.
    """
    check = Recheck(goal, facts, steps)
    if check.signs != dict(signs):
        return False
    if not all(check.follows(step) for step in steps):
        return False
    numerator, denominator, final = ends
    return check.signs == dict(final) and check.arrives(numerator, denominator)


def symbols_in(*atoms: Atom) -> list[sympy.Symbol]:
    """Symbols of comparisons, sorted by name."""
    return sorted(set().union(*(a.expression.free_symbols for a in atoms)), key=str)


class Recheck:
    """Expressions and signs after the steps that were followed so far.

    Parameters
    ----------
    goal : Atom
    facts : sequence of Atom
    steps : sequence of Substitution
    """

    def __init__(
        self,
        goal: Atom,
        facts: Sequence[Atom],
        steps: Sequence[Substitution],
    ) -> None:
        symbols = symbols_in(goal, *facts)
        slacks = [step.slack for step in steps if step.slack is not None]
        self.fresh = not set(slacks) & set(symbols) and len(set(slacks)) == len(slacks)
        self.later = set(slacks)
        self.of = Quotients([*symbols, *slacks]).of
        self.goal, self.comparison = goal.expression, goal.comparison
        self.known = [(fact.expression, fact.comparison) for fact in facts]
        self.signs = stated_signs(facts, Quotients(symbols))
        self.powers = stated_powers(facts, Quotients(symbols))
        self._raise_signs()

    def follows(self, step: Substitution) -> bool:
        """Whether a step is justified; carries it out."""
        expression, comparison = self.known[step.known]
        factor = self.of(step.factor)
        # two new symbols defined by each other need not have values at every point
        if step.factor.free_symbols & self.later:
            return False
        slack_value = self.of(step.slack_value)
        if slack_value != factor * self.of(expression):
            return False
        solve = self._equation if step.slack is None else self._bound
        if not solve(step, comparison, factor):
            return False
        # every point of the question has to have its values of all that is new
        defined = self._defined(factor) and self._defined(slack_value)
        self._put(step)
        return defined and self._defined(self.of(step.value))

    def _defined(self, quotient: Quotient) -> bool:
        """Whether it shows that the denominator does not vanish."""
        return evident_sign(quotient.denom, self.signs) == ">"

    def _equation(self, step: Substitution, comparison: str, factor: Quotient) -> bool:
        """Whether 0 = factor * known = symbol - value."""
        signed = {quotient_sign(side * factor, self.signs) for side in (1, -1)}
        rest = self.of(step.symbol - step.value) == self.of(step.slack_value)
        same = self.of(step.implied) == self.of(step.value)
        free = step.symbol not in step.value.free_symbols
        return comparison == "==" and bool(signed - {None}) and rest and same and free

    def _bound(self, step: Substitution, comparison: str, factor: Quotient) -> bool:
        """Whether the slack is factor * known, and gives the symbol back."""
        sign = quotient_sign(factor, self.signs)
        slack = step.slack
        if sign is None or slack is None or comparison not in (">", ">="):
            return False
        if step.slack_sign == ">" and (sign, comparison) != (">", ">"):
            return False
        back = step.value.xreplace({slack: step.slack_value})
        returns = self.of(back) == self.of(step.symbol)
        free = step.symbol not in step.value.free_symbols
        same = self.of(step.implied) in (
            self.of(step.value),
            self.of(step.value * (1 + slack)),
        )
        return self.fresh and returns and same and free

    def _put(self, step: Substitution) -> None:
        put = {step.symbol: step.value}
        self.goal = self.goal.xreplace(put)
        self.known = [(e.xreplace(put), comparison) for e, comparison in self.known]
        sign = self.signs.pop(step.symbol, None)
        # one fact for each step, so that facts keep their places
        self.known.append((step.implied, sign) if sign else (sympy.Integer(1), ">"))
        if step.slack is not None:
            self.later.discard(step.slack)
            if step.slack_sign is not None:
                self.signs[step.slack] = step.slack_sign
        self._raise_signs()

    def _raise_signs(self) -> None:
        """Raise the sign of each factor of a product that is not 0."""
        for expression, comparison in self.known:
            if comparison in (">", "!="):
                listed = monomials(self.of(expression).numer)
                factors = set(listed[0][1]) if len(listed) == 1 else set()
                self.signs |= dict.fromkeys(self.signs.keys() & factors, ">")

    def arrives(self, numerator: sympy.Expr, denominator: sympy.Expr) -> bool:
        """Whether these are the goal's numerator and denominator, and show it."""
        quotient = self.of(self.goal)
        above, below = (
            reduced(part, self.powers) for part in (quotient.numer, quotient.denom)
        )
        told = self.of(numerator), self.of(denominator)
        whole = all(part.denom == 1 for part in told)
        same = whole and (above, below) == tuple(part.numer for part in told)
        return same and evident(above, below, self.comparison, self.signs)

"""What a coefficient certificate consists of, and its facts step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy

from flverify.certify._scalar.formulas import Atom, Comparison
from flverify.certify._scalar.quotients import Sign
from flverify.certify._scalar.recheck import Recheck
from flverify.certify._scalar.states import Substitution


@dataclass(frozen=True)
class Part:
    """The proof of one comparison.

    Parameters
    ----------
    goal : Atom
        What is compared with 0.
    facts : tuple of Atom
        What the substitutions may draw on.
    texts : tuple of str
        The facts as given.
    signs : tuple of (sympy.Symbol, sign)
        What the facts say of single symbols.
    steps : tuple of Substitution
    numerator, denominator : sympy.Expr
        Of the compared expression after all substitutions, expanded.
    final_signs : tuple of (sympy.Symbol, sign)
        Of the symbols that are left.
    """

    goal: Atom
    facts: tuple[Atom, ...]
    texts: tuple[str, ...]
    signs: tuple[tuple[sympy.Symbol, Sign], ...]
    steps: tuple[Substitution, ...]
    numerator: sympy.Expr
    denominator: sympy.Expr
    final_signs: tuple[tuple[sympy.Symbol, Sign], ...]

    def __str__(self) -> str:
        """Write the proof out: what is put for what, and what is left."""
        left = self.numerator / self.denominator
        return "; ".join(
            [
                f"to show: {self.goal.expression} {self.goal.comparison} 0",
                *map(_put, self.steps),
                f"what is left is {left}",
                self._signed() if left.free_symbols else "a number",
            ]
        )

    @property
    def below(self) -> bool:
        """Whether it is shown to be no 0 by being negative."""
        terms = self.numerator.as_coefficients_dict()
        return any(factor < 0 for factor in terms.values())

    def _signed(self) -> str:
        signs = ", ".join(f"{symbol} {sign} 0" for symbol, sign in self.final_signs)
        never = "positive" if self.below else "negative"
        return f"no term of it is {never}" + (f" where {signs}" if signs else "")


@dataclass(frozen=True)
class CoefficientCertificate:
    """A proof of every part of a conclusion, wherever all quotients are defined.

    Parameters
    ----------
    parts : tuple of Part
    named : tuple of str
        What auxiliary symbols stand for: roots, minima and maxima.
    """

    parts: tuple[Part, ...]
    named: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Write every part out."""
        named = [f"with {', '.join(self.named)}"] if self.named else []
        return ". ".join([*named, *map(str, self.parts)])


def _put(step: Substitution) -> str:
    """Word one substitution with its reason."""
    reason = step.because
    if step.slack is not None:
        reason = f"{step.slack} = {step.slack_value} {step.slack_sign} 0 by {reason}"
    return f"put {step.symbol} = {step.value}, where {reason}"


@dataclass(frozen=True)
class Stage:
    """A step with what it uses, in the symbols of that moment.

    Parameters
    ----------
    step : Substitution
    known : sympy.Expr
    comparison : {">", ">=", "=="}
        Of the known expression with 0.
    sign : {">", ">="} or None
        Of the symbol that goes.
    """

    step: Substitution
    known: sympy.Expr
    comparison: Comparison
    sign: Sign | None


def stages(part: Part) -> Iterator[Stage]:
    """Yield the steps of a valid proof with what they use."""
    course = Recheck(part.goal, part.facts, part.steps)
    for step in part.steps:
        known, comparison = course.known[step.known]
        yield Stage(step, known, comparison, course.signs.get(step.symbol))
        course.follows(step)

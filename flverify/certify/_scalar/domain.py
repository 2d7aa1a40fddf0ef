"""Where a question is defined: conditions shown, and conditions left to be stated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flverify.certify._scalar.formulas import Atom, Fact, Formula, Reading, negation
from flverify.certify._scalar.quotients import evident_sign

Impossible = Callable[[Sequence[Formula]], bool]


@dataclass(frozen=True)
class Domain:
    """Facts that may be used, and the conditions that had to be assumed.

    Parameters
    ----------
    facts : tuple of Formula
        Everything known, the assumed conditions included.
    assumed : tuple of str
        Conditions that do not follow from the hypotheses.
    """

    facts: tuple[Formula, ...]
    assumed: tuple[str, ...]


def settle(reading: Reading, impossible: Impossible) -> Domain:
    """Show the conditions one after another; assume those that cannot be shown.

    A fact is used only once its own conditions are settled, so that no hypothesis
    helps to show that it is itself defined.

    Parameters
    ----------
    reading : Reading
    impossible : callable
        Whether formulas are shown not to hold together.
    """
    settled: set[int] = set()
    assumed: list[Fact] = []
    while len(settled) < len(reading.conditions):
        ready = [
            (index, fact)
            for index, fact in enumerate(reading.conditions)
            if index not in settled and fact.needs <= settled
        ]
        known = _usable(reading, settled, assumed)
        shown = {i for i, fact in ready if _follows(fact, known, reading, impossible)}
        if not shown:
            shown = {ready[0][0]}
            assumed.append(ready[0][1])
        settled |= shown
    facts = tuple(_usable(reading, settled, assumed))
    return Domain(facts, tuple(fact.text for fact in assumed))


def _usable(reading: Reading, settled: set[int], assumed: list[Fact]) -> list[Formula]:
    return [f.formula for f in (*reading.facts(), *assumed) if f.needs <= settled]


def _follows(
    fact: Fact, known: list[Formula], reading: Reading, impossible: Impossible
) -> bool:
    return _evident(fact.formula, reading) or impossible(
        [*known, negation(fact.formula)]
    )


def _evident(formula: Formula, reading: Reading) -> bool:
    """Whether the signs of the symbols suffice."""
    if not isinstance(formula, Atom):
        return False
    quotient, signs = reading.quotients.of(formula.expression), reading.signs
    above, below = (
        evident_sign(part, signs) for part in (quotient.numer, quotient.denom)
    )
    if formula.comparison == ">=":
        return None not in (above, below)
    return ">" in (above, evident_sign(-quotient.numer, signs))

"""The answer to a question about an implication."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from flverify.certify._scalar.parts import CoefficientCertificate


class Answer(StrEnum):
    """What was shown about an implication."""

    PROVED = "proved"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Implication:
    """The answer to one question, with everything needed to trust it.

    Parameters
    ----------
    answer : Answer
    reason : str
        One line.
    counterexample : dict or None
        A rational value for every symbol, re-checked without a solver.
    side_conditions : tuple of str
        What had to be assumed so that every quotient and root is defined.
    methods : tuple of str
        What the answer rests on: z3, coefficients, cvc5, exact evaluation; "roots put
        for symbols" where A was written as a^k, so that no root of A is left.
    certificate : CoefficientCertificate or None
        A proof that needs no solver.
    assumed : tuple of str
        What the symbols themselves bring in, such as L > 0.
    """

    answer: Answer
    reason: str
    counterexample: dict[str, Fraction] | None = None
    side_conditions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    certificate: CoefficientCertificate | None = None
    assumed: tuple[str, ...] = ()

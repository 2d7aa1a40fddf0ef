"""Formulas as SMT-LIB text, denominators cleared: one text for every solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import sympy

from flverify.certify._scalar.formulas import Atom, Comparison, Formula, Reading
from flverify.certify._scalar.quotients import (
    Polynomial,
    monomials,
    without_positive_factors,
)


def script(
    reading: Reading,
    formulas: Sequence[Formula],
    fixed: Mapping[str, Fraction] | None = None,
    integers: bool = False,
) -> str:
    """Ask whether formulas can hold together; the symbols are named x0, x1, ....

    Parameters
    ----------
    reading : Reading
    formulas : sequence of Formula
        Must contain every fact of the reading that needs no condition.
    fixed : mapping
        Values of symbols, by name.
    integers : bool
        Whether integer symbols range over the integers, not the reals.

    Examples
    --------
    >>> from flverify.certify._scalar.relations import read
    >>> eta, L = sympy.symbols("eta L", positive=True)
    >>> reading = read([eta < 1 / L], eta > 0)
    >>> print(script(reading, [fact.formula for fact in reading.facts()]))
    (set-logic QF_NRA)
    (declare-const x0 Real)
    (declare-const x1 Real)
    (assert (> x0 0.0))
    (assert (> x1 0.0))
    (assert (> (+ (* (- 1.0) x0 x1) 1.0) 0.0))
    (check-sat)
    """
    given = fixed or {}
    writer = _Writer(reading, integers)
    lines = [f"(set-logic {'QF_NIRA' if integers else 'QF_NRA'})"]
    lines += [f"(declare-const {n} {sort})" for n, sort in writer.declared()]
    lines += writer.signs()
    texts = [writer.formula(formula) for formula in formulas]
    lines += [f"(assert {text})" for text in texts if text != "true"]
    for symbol in reading.symbols:
        if symbol.name in given:
            term = writer.terms[symbol]
            lines.append(f"(assert (= {term} {_number(given[symbol.name])}))")
    return "\n".join([*lines, "(check-sat)"])


class _Writer:
    """Text of formulas over one reading."""

    def __init__(self, reading: Reading, integers: bool) -> None:
        self.reading = reading
        every = (*reading.symbols, *reading.auxiliaries)
        self.names = {symbol: f"x{index}" for index, symbol in enumerate(every)}
        self.whole = {s for s in every if integers and s.is_integer}
        self.terms = {
            s: f"(to_real {n})" if s in self.whole else n for s, n in self.names.items()
        }

    def declared(self) -> list[tuple[str, str]]:
        sorts = ["Int" if s in self.whole else "Real" for s in self.names]
        return list(zip(self.names.values(), sorts, strict=True))

    def signs(self) -> list[str]:
        """Say the signs that are divided out of everything else."""
        signs = self.reading.signs.items()
        return [f"(assert ({sign} {self.terms[s]} 0.0))" for s, sign in signs]

    def formula(self, formula: Formula) -> str:
        if isinstance(formula, Atom):
            return self._atom(formula)
        return self._junction(formula.kind, [self.formula(p) for p in formula.parts])

    def _junction(self, kind: str, parts: Sequence[str]) -> str:
        if not parts:
            return "true" if kind == "all" else "false"
        if len(parts) == 1:
            return parts[0]
        return f"({'and' if kind == 'all' else 'or'} {' '.join(parts)})"

    def _atom(self, atom: Atom) -> str:
        signs = self.reading.signs
        quotient = self.reading.quotients.of(atom.expression)
        above = without_positive_factors(quotient.numer, signs)
        if atom.comparison in ("==", "!="):
            return self._compare(above, atom.comparison)
        below = without_positive_factors(quotient.denom, signs, nonzero=True)
        if below.is_ground:
            return self._compare(above * below, atom.comparison)
        cases = [
            self._junction(
                "all",
                [
                    self._compare(s * below, ">"),
                    self._compare(s * above, atom.comparison),
                ],
            )
            for s in (1, -1)
        ]
        return self._junction("any", cases)

    def _compare(self, polynomial: Polynomial, comparison: Comparison) -> str:
        if polynomial.is_ground and _settled(polynomial, comparison):
            return "true"
        left = self._polynomial(polynomial)
        if comparison == "!=":
            return f"(not (= {left} 0.0))"
        return f"({'=' if comparison == '==' else comparison} {left} 0.0)"

    def _polynomial(self, polynomial: Polynomial) -> str:
        terms = [self._monomial(c, powers) for c, powers in monomials(polynomial)]
        return f"(+ {' '.join(terms)})" if len(terms) > 1 else (terms or ["0.0"])[0]

    def _monomial(self, c: Fraction, powers: Mapping[sympy.Symbol, int]) -> str:
        factors = [self.terms[s] for s, k in powers.items() for _ in range(k)]
        if c != 1 or not factors:
            factors.insert(0, _number(c))
        return f"(* {' '.join(factors)})" if len(factors) > 1 else factors[0]


def _settled(polynomial: Polynomial, comparison: Comparison) -> bool:
    """Whether a comparison of a constant with 0 holds."""
    listed = monomials(polynomial)
    value = listed[0][0] if listed else Fraction(0)
    chosen = {
        ">": value > 0,
        ">=": value >= 0,
        "==": value == 0,
        "!=": value != 0,
    }
    return chosen[comparison]


def _number(value: Fraction) -> str:
    size = f"{abs(value.numerator)}.0"
    if value.denominator != 1:
        size = f"(/ {size} {value.denominator}.0)"
    return f"(- {size})" if value < 0 else size

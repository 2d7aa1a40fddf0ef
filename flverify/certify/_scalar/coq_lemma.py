"""The text of one Coq lemma, step by step along a coefficient certificate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import sympy

from flverify.certify._scalar.formulas import Atom, Comparison, stated_powers
from flverify.certify._scalar.parts import Part, Stage, stages
from flverify.certify._scalar.quotients import Quotients, evident_sign
from flverify.certify._scalar.recheck import symbols_in
from flverify.certify._scalar.states import Substitution

RESERVED = {"as", "at", "by", "cofix", "else", "end", "exists", "exists2", "fix", "for"}
RESERVED |= {"forall", "fun", "if", "IF", "in", "let", "match", "mod", "Prop", "return"}
RESERVED |= {"Set", "SProp", "then", "Type", "using", "where", "with"}
TAKEN = RESERVED | {"R", "field", "pow", "sqrt"}
PLAIN = r"(?!H_|R[a-z]|pow|factor_)[A-Za-z]"  # not a name that a proof below may use
ABOVE_ZERO = "apply Rgt_not_eq; unfold Rgt."
BELOW_ZERO = "apply Rlt_not_eq, Ropp_lt_cancel; rewrite Ropp_0."
RELATION = {">": "0 < {}", ">=": "0 <= {}", "==": "{} = 0", "!=": "{} <> 0"}


def lemma(part: Part, name: str) -> str:
    """Write one part of a certificate as a lemma with its proof."""
    return _Lemma(part, name).text()


def _identifiers(symbols: Iterable[sympy.Symbol]) -> dict[sympy.Symbol, str]:
    """Give each symbol a Coq name; none twice, no keyword."""
    names: dict[sympy.Symbol, str] = {}
    for symbol in symbols:
        name = re.sub(r"[^A-Za-z0-9_]", "_", symbol.name)
        if name in TAKEN or not re.match(PLAIN, name):
            name = f"x_{name}"
        while name in names.values():
            name += "_"
        names[symbol] = name
    return names


class _Lemma:
    """One lemma; what is assumed or shown on the way has a name that starts with H_."""

    def __init__(self, part: Part, name: str) -> None:
        self.part, self.name = part, name
        self.symbols = symbols_in(part.goal, *part.facts)
        slacks = [step.slack for step in part.steps if step.slack is not None]
        self.names = _identifiers([*self.symbols, *slacks])
        self.quotients = Quotients([*self.symbols, *slacks])
        powers = stated_powers(part.facts, self.quotients)
        self.powers = {self.names[s]: value for s, value in powers.items()}
        self.weak = [self.names[s] for s, sign in part.signs if sign == ">="]

    def text(self) -> str:
        names = [self.names[s] for s in self.symbols]
        every = f" forall {' '.join(names)} : R," if names else ""
        lines = [f"Lemma {self.name} :{every}"]
        lines += [f"  {self.atom(fact)} ->" for fact in self.part.facts]
        lines += [f"  {self.atom(self.part.goal)}.", "Proof."]
        facts = [f"H_{k}" for k in range(len(self.part.facts))]
        body = [f"intros {' '.join([*names, *facts])}.", *self.opening()]
        for number, stage in enumerate(stages(self.part)):
            body += self.step(number, stage)
        body += self.ending()
        return "\n".join([*lines, *(f"  {line}" for line in body), "Qed.", ""])

    def atom(self, atom: Atom) -> str:
        return RELATION[atom.comparison].format(self.term(atom.expression))

    def term(self, e: Any) -> str:
        """Fully parenthesised, so that no precedence matters."""
        if e.is_Symbol:
            return self.names[e]
        if e.is_Rational:
            return _number(Fraction(int(e.p), int(e.q)))
        if e.is_Add or e.is_Mul:
            sign = " + " if e.is_Add else " * "
            return f"({sign.join(self.term(arg) for arg in e.args)})"
        power = abs(int(e.exp))
        base = self.term(e.base)
        raised = base if power == 1 else f"({base} ^ {power})"
        return raised if e.exp > 0 else f"(/ {raised})"

    def opening(self) -> list[str]:
        signs = [
            f"assert (H_sign_{self.names[s]} : 0 {'<' if sign == '>' else '<='} "
            f"{self.names[s]}) by first [lra | rise]."
            for s, sign in self.part.signs
        ]
        powers = [
            f"assert (H_power_{name} : {name} ^ {power} = {_number(value)}) by lra."
            for name, (power, value) in self.powers.items()
        ]
        return [*signs, *powers]

    def step(self, number: int, stage: Stage) -> list[str]:
        step, known = stage.step, f"H_{stage.step.known}"
        name = self.names[step.symbol]
        lines = self.equation(stage, known)
        if step.slack is not None:
            lines = self.bound(stage, known)
        if stage.sign is not None:
            place = f"H_{len(self.part.facts) + number}"
            lines += self.implied(step, place, RELATION[stage.sign])
        # not subst: it would take another equation of the symbol, such as x = 0
        lines.append("try rewrite H_step in *; clear H_step.")
        self.weak = [other for other in self.weak if other != name]
        if step.slack is not None and step.slack_sign == ">=":  # it may turn out > 0
            self.weak.append(self.names[step.slack])
        return [*lines, *(f"try (assert (0 < {w}) by rise)." for w in self.weak)]

    def equation(self, stage: Stage, known: str) -> list[str]:
        step = stage.step
        name, value = self.names[step.symbol], self.term(step.value)
        zero = f"{name} - {value} = {self.term(step.factor)} * H_e"
        return [
            f"assert (H_step : {name} = {value}).",
            f"{{ match type of {known} with ?H_e = 0 =>",
            f"    assert (H_zero : {zero}) by (field; nonzero)",
            f"  end; rewrite {known}, Rmult_0_r in H_zero; lra. }}",
        ]

    def bound(self, stage: Stage, known: str) -> list[str]:
        step = stage.step
        name, slack = self.names[step.symbol], self.names[step.slack]
        value, new = self.term(step.value), self.term(step.slack_value)
        relation = RELATION[step.slack_sign or ">="]
        product = (
            "Rmult_lt_0_compat; [strict"
            if step.slack_sign == ">"
            else ("Rmult_le_pos; [weak")
        )
        holds = f"first [exact {known} | apply Rlt_le; exact {known}]"
        return [
            f"assert (H_step : exists {slack} : R, {relation.format(slack)} /\\ "
            f"{name} = {value}).",
            f"{{ exists {new}; split;",
            f"  [ match type of {known} with ?H_r 0 ?H_e =>",
            f"      replace {new} with ({self.term(step.factor)} * H_e)",
            "        by (field; nonzero) end;",
            f"    apply {product} | {holds}]",
            "  | field; nonzero ]. }",
            f"destruct H_step as [{slack} [H_sign_{slack} H_step]].",
        ]

    def implied(self, step: Substitution, place: str, relation: str) -> list[str]:
        """Say the sign of the symbol that goes in the others."""
        name, implied = self.names[step.symbol], self.term(step.implied)
        same = self.quotients.of(step.implied) == self.quotients.of(step.value)
        slack = "" if same or step.slack is None else self.names[step.slack]
        product = f"({name} * (1 + {slack}))" if slack else name
        tactic = "strict" if "<=" not in relation else "weak"
        return [
            f"assert ({place} : {relation.format(implied)}).",
            f"{{ replace {implied} with {product} by (rewrite H_step; field; nonzero);",
            f"  {tactic}. }}",
        ]

    def ending(self) -> list[str]:
        """Say which fraction is left, and why its sign shows."""
        above, below = (
            self.quotients.of(e).numer
            for e in (self.part.numerator, self.part.denominator)
        )
        signs = dict(self.part.final_signs)
        if evident_sign(below, signs) is None:
            above, below = -above, -below
        comparison = self.part.goal.comparison
        negative = comparison == "!=" and evident_sign(above, signs) is None
        above = -above if negative else above
        used = " ".join(f"H_power_{name}" for name in self.powers)
        top, bottom = self.term(above.as_expr()), self.term(below.as_expr())
        rewriting = used and f" [{used}]"
        if comparison == ">=" and above == 0:
            return ["apply Req_le; symmetry.", *_closing("==", "", rewriting)]
        closing = _closing(comparison, f"({top} / {bottom})", rewriting)
        if comparison == "!=":
            closing.insert(0, BELOW_ZERO if negative else ABOVE_ZERO)
        return closing


def _closing(comparison: Comparison, fraction: str, used: str) -> list[str]:
    if comparison == "==":
        return [f"field{used}; nonzero."]
    positive = "first [strict | apply factor_positive; [weak | nonzero]]"
    inverse = f"apply Rinv_0_lt_compat; {positive}"
    settled = f"by (field{used}; nonzero)"
    shown = f"replace H_e with {fraction} {settled}"
    put = f"match goal with |- ?H_r 0 ?H_e => {shown} end."
    if comparison == ">=":
        return [put, f"apply Rmult_le_pos; [weak | apply Rlt_le; {inverse}]."]
    return [put, f"apply Rmult_lt_0_compat; [strict | {inverse}]."]


def _number(value: Fraction) -> str:
    size = str(abs(value.numerator))
    if value.denominator != 1:
        size = f"({size} / {value.denominator})"
    return f"(- {size})" if value < 0 else size

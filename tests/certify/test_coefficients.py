"""Coefficient certificates: what they say holds at points, and faults are noticed."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from sympy import (
    And,
    Eq,
    Integer,
    Ne,
    Not,
    Or,
    Rational,
    Symbol,
    exp,
    expand,
    fraction,
    sqrt,
    symbols,
    together,
    true,
)

from flverify._core.errors import InputError
from flverify.certify._scalar import search
from flverify.certify._scalar.evaluation import UndefinedError, holds, value
from flverify.certify._scalar.formulas import Atom
from flverify.certify._scalar.parts import Part
from flverify.certify._scalar.quotients import (
    Quotients,
    quotient_sign,
    without_positive_factors,
)
from flverify.certify._scalar.states import Substitution
from flverify.certify.coefficients import certify, is_valid, proof_of
from tests.certify.implications import FALSE, TRUE

F = Fraction
eta, L, mu = symbols("eta L mu", positive=True)
x, y = symbols("x y", real=True)
tau = Symbol("tau", integer=True, positive=True)
PLAIN = [
    item
    for item in TRUE
    if item.name
    in {
        "descent",
        "contraction",
        "condition number",
        "FedAvg lemma 1, drift",
        "FedAvg lemma 2",
        "FOCUS (96)",
        "FOCUS (110), rate",
        "FOCUS (113)",
        "FOCUS (102) repaired",
        "FOCUS (115)",
        "FOCUS gap repaired",
        "SCAFFOLD caps",
        "three local steps, below",
    }
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("item", PLAIN, ids=lambda item: item.name)
def test_each_point_of_the_hypotheses_is_reached(item):
    """Walk every step forwards at points: nothing is left out, nothing is bent."""
    certificate = certify(item.hypotheses, item.conclusion)
    draws, inside = random.Random(item.name), 0
    for _ in range(300):
        point = {s: draw(s, draws) for s in item.conclusion.free_symbols}
        point |= {s: draw(s, draws) for h in item.hypotheses for s in h.free_symbols}
        point = {s.name: number for s, number in point.items()}
        if all(holds(h, point) for h in item.hypotheses):
            for part in certificate.parts:
                walk(part, dict(point))
            inside += 1
    assert inside >= 5


def draw(symbol, draws):
    if symbol.is_integer:
        return F(draws.choice([1, 2, 3, 4]))
    return F(draws.randint(1, 20), draws.choice([4, 20, 40, 400]))


def walk(part, point):
    before = exactly(part.goal.expression, point)
    for step in part.steps:
        if step.slack is not None:
            slack = exactly(step.slack_value, point)
            assert slack > 0 or (slack == 0 and step.slack_sign == ">=")
            point[step.slack.name] = slack
        assert exactly(step.value, point) == point.pop(step.symbol.name)
    above, below = (exactly(e, point) for e in (part.numerator, part.denominator))
    assert before == above / below
    assert above >= 0 < below


def exactly(expression, point):
    found = value(expression, point)
    assert found.low == found.high
    return found.low


SIGNED = {">": (1, 2, F(1, 3)), ">=": (0, 1, F(5, 2)), None: (-2, -1, 0, 1, F(1, 2))}


@pytest.mark.slow
def test_signs_that_show_are_those_at_points():
    draws, shown = random.Random(3), set()
    factors = [x, y, x + y, x - y, 1 + x**2, -2 - y, x * y + 1, Integer(-3), y**2]
    ring = Quotients([x, y])
    for _ in range(150):
        signs = {s: draws.choice([">", ">=", None]) for s in (x, y)}
        told = {s: sign for s, sign in signs.items() if sign}
        above, below = (prod(draws.choices(factors, k=2)) for _ in range(2))
        quotient = ring.of(above / below)
        sign = quotient_sign(quotient, told)
        parts = (quotient.numer, quotient.denom)
        plain = [without_positive_factors(p, told) for p in parts]
        rising = without_positive_factors(quotient.numer, told, nonzero=True)
        for put in product(*(SIGNED[signs[s]] for s in (x, y))):
            a, b, c, d, e = (
                F(str(p.as_expr().subs({x: Rational(put[0]), y: Rational(put[1])})))
                for p in (*parts, *plain, rising)
            )
            if not b:
                continue
            assert sign is None or a / b > 0 or (a == 0 and sign == ">=")
            assert [side(a), side(b)] == [side(c), side(d)]
            assert not a or side(a) == side(e)
        shown.add(sign)
    assert shown == {">", ">=", None}


def side(number):
    return (number > 0) - (number < 0)


@pytest.mark.slow
def test_most_of_the_field_has_a_certificate():
    easy = [item for item in TRUE if item.name not in SLOW]
    found = [certify(item.hypotheses, item.conclusion) for item in easy]
    without = {i.name for i, c in zip(easy, found, strict=True) if c is None}
    assert without == {"Young", "Jensen, two terms", "Jensen, three terms", "means"} | {
        "Jensen, weights"
    }


SLOW = {
    "largest modulus",
    "SG-FOCUS lemma 5, noise",
    "SG-FOCUS (133)",
    "FOCUS (95) repaired",
    "FOCUS PL caps",
    "FedAvg lemma 1, caps",
}


@pytest.mark.parametrize("item", FALSE, ids=lambda item: item.name)
def test_nothing_false_has_a_certificate(item, monkeypatch):
    monkeypatch.setattr(search, "WORK", 150)
    assert certify(item.hypotheses, item.conclusion) is None


def test_parts_strictness_and_equations():
    both = certify([x >= 2], And(x**2 >= 4, x**3 > 7))
    assert [part.goal.comparison for part in both.parts] == [">=", ">"]
    assert certify([x >= 2], x**2 > 4) is None
    assert certify([x > 2], x**2 > 4).parts[0].steps[0].slack_sign == ">"
    assert certify([x >= 2], Ne(x, 1)) is not None
    assert certify([Eq(y, x + 1), x >= 0], y >= 1) is not None
    assert certify([Eq(y, x + 1)], Eq(y**2, x**2 + 2 * x + 1)) is not None
    assert certify([x <= -2], x <= -1) is not None
    assert certify([x >= 0], x + 1 > 0).parts[0].steps == ()


def test_roots_of_numbers_are_put_in():
    cap = eta <= 1 / (2 * L * sqrt(2 * (tau - 1)))
    found = certify([tau >= 2, cap], 8 * eta**2 * L**2 * (tau - 1) <= 1)
    assert is_valid(found.parts[0])
    assert certify([eta <= sqrt(2)], eta**2 <= 2) is not None
    assert certify([eta <= sqrt(2)], eta**2 <= Rational(199, 100)) is None


@pytest.mark.parametrize(
    ("hypotheses", "right", "wrong"),
    [
        ([Eq(x**2, 2)], Eq(x**4, 4), Eq(x**4, 8)),
        ([Eq(x**2, 2)], Eq(x**3, 2 * x), Eq(x**3, 4 * x)),
        ([Eq(2 * x**2, 3)], Eq(x**2, Rational(3, 2)), Eq(x**2, 3)),
        ([Eq(x**2, 2), Eq(y**3, 5)], Eq(x**2 * y**3, 10), Eq(x**2 * y**3, 7)),
        ([x**2 >= 2, x >= 0], x**3 >= 0, x**2 <= 2),
        ([x >= 2], Ne(x, 1), Ne(x, 2)),
        ([Eq(x**2, y)], Eq(x**4, y**2), Eq(x**2, 1)),
        ([Eq(x * y, 1), y > 0], Eq(x**2 * y**2, 1), Eq(x, 1)),
        ([Eq(x, 1)], Ne(x, 0), Ne(x, 1)),
    ],
    ids=str,
)
def test_equations_say_what_they_say_and_no_more(hypotheses, right, wrong):
    assert certify(hypotheses, right) is not None
    assert certify(hypotheses, wrong) is None


def test_what_is_not_there_is_not_found():
    assert certify([], x**2 >= 2 * x - 1) is None  # a square, not a coefficient
    assert certify([Or(x >= 1, x <= -1)], x**2 >= 1) is None
    assert certify([], Or(eta > 1, x > 0)) is None
    assert certify([], exp(x) > x) is None
    with pytest.raises(InputError):
        certify([], "x > 0")


def test_hypotheses_may_come_from_an_iterator():
    assert certify((h for h in [x > 1]), x > 0) is not None
    for wrong in (None, 3, x > 1):
        with pytest.raises(InputError):
            certify(wrong, x > 0)


def test_what_grows_too_large_has_no_certificate():
    assert certify([x >= 10**5000], x >= 0) is None
    assert certify([x >= 10**900], x**32 >= 10**990) is None  # of 28800 digits
    many = sum(symbols("a:8", real=True))
    assert certify([x >= many, many >= 1], x**32 >= 1) is None


def test_hypotheses_without_points_do_no_harm():
    certify([Eq(x, y), 1 / (x - y) >= 1], x >= 2)
    certify([x > 1, x < 1], x >= 2)


# planted faults: every altered certificate is refused


def part_of(hypotheses, conclusion):
    return certify(hypotheses, conclusion).parts[0]


GOOD = part_of([eta <= 1 / (3 * L), mu <= L], eta * mu <= Rational(1, 3))


def altered(position, **changes):
    steps = list(GOOD.steps)
    steps[position] = replace(steps[position], **changes)
    return replace(GOOD, steps=tuple(steps))


@pytest.mark.parametrize(
    "part",
    [
        replace(GOOD, goal=Atom(Rational(1, 4) - eta * mu, ">=")),
        replace(GOOD, goal=Atom(GOOD.goal.expression, ">")),
        replace(GOOD, goal=Atom(GOOD.goal.expression, "==")),
        replace(GOOD, facts=GOOD.facts[:3], texts=GOOD.texts[:3]),
        replace(GOOD, facts=(*GOOD.facts[:1], Atom(mu - 1, ">"), *GOOD.facts[2:])),
        replace(GOOD, steps=GOOD.steps[:1]),
        replace(GOOD, steps=GOOD.steps[::-1]),
        replace(GOOD, numerator=GOOD.numerator + 1),
        replace(GOOD, denominator=2 * GOOD.denominator),
        replace(GOOD, final_signs=()),
        replace(GOOD, signs=(*GOOD.signs, (x, ">"))),
        altered(0, known=0),
        altered(0, value=1 / (2 * L)),
        altered(0, factor=-GOOD.steps[0].factor),
        altered(0, slack_value=-GOOD.steps[0].slack_value),
        altered(0, slack_sign=">"),
        altered(0, slack=GOOD.steps[1].slack),
        altered(0, slack=mu),
        altered(0, slack=None, slack_sign=None),
        altered(0, implied=Integer(-1)),
        altered(1, value=GOOD.steps[1].value + 1),
    ],
)
def test_an_altered_certificate_is_refused(part):
    assert is_valid(GOOD)
    try:
        valid = is_valid(part)
    except (IndexError, KeyError):
        valid = False
    assert not valid


def forged(goal, facts, signs, steps, final):
    """A certificate as it would have to look, whatever it claims."""
    left = goal.expression
    for step in steps:
        left = left.xreplace({step.symbol: step.value})
    above, below = map(expand, fraction(together(left)))
    texts = tuple(map(str, facts))
    return Part(goal, facts, texts, signs, steps, above, below, final)


def step_of(symbol, value, slack, known, place, factor, sign=">="):
    return Substitution(
        symbol, value, slack, factor * known, sign, place, factor, value, ""
    )


def equation(symbol, value, known, implied):
    one = Integer(1)
    return Substitution(symbol, value, None, known, None, 0, one, implied, "")


U1, U2 = symbols("u1 u2")
ONE = Integer(1)
WRONG = {
    "not zero is no bound": (
        *(Atom(x, ">="), (Atom(x, "!="),), ()),
        *((step_of(x, U1, U1, x, 0, ONE),), ((U1, ">"),)),
    ),
    "a bound is no equation": (
        *(Atom(1 - x, ">="), (Atom(x - 1, ">="),), ((x, ">"),)),
        *((equation(x, ONE, x - 1, ONE),), ()),
    ),
    "an equation has its own value": (
        *(Atom(x - 5, ">="), (Atom(x - 1, "=="),), ()),
        *((equation(x, Integer(5), x - 1, Integer(5)),), ()),
    ),
    "the sign of x says nothing of y": (
        Atom(y, ">"),
        (Atom(x - mu, "=="), Atom(x, ">"), Atom(y, ">="), Atom(mu, ">")),
        ((x, ">"), (y, ">="), (mu, ">")),
        (equation(x, mu, x - mu, y),),
        ((y, ">"), (mu, ">")),
    ),
    "a negative factor turns the sign": (
        *(Atom(1 - x, ">="), (Atom(x - 1, ">="),), ((x, ">"),)),
        *((step_of(x, 1 - U1, U1, x - 1, 0, -ONE),), ((U1, ">="),)),
    ),
    "a symbol of the question is not new": (
        *(Atom(x - 1 - y, ">="), (Atom(x - 1, ">="),), ((x, ">"),)),
        *((step_of(x, 1 + y, y, x - 1, 0, ONE),), ((y, ">="),)),
    ),
    "a new symbol is new once": (
        Atom(x - y, ">="),
        (Atom(x - 1, ">="), Atom(y - 1, ">=")),
        ((x, ">"), (y, ">")),
        (
            step_of(x, 1 + U1, U1, x - 1, 0, ONE),
            step_of(y, 1 + U1, U1, y - 1, 1, ONE),
        ),
        ((U1, ">="),),
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_certificate_of_something_false_is_refused(fault):
    assert not is_valid(forged(*WRONG[fault]))


def test_new_symbols_defined_by_each_other_prove_nothing():
    # u1 = (1 + u2^2) (x - 1), u2 = (1 + u1) (y - 2) has no solution at x = 2, y = 100
    goal = Atom(100 - (y - 2) ** 2 * (x - 1), ">=")
    facts = Atom(x - 1, ">="), Atom(y - 2, ">=")
    first, second = 1 + U2**2, 1 + U1
    steps = (
        step_of(x, 1 + U1 / first, U1, x - 1, 0, first),
        step_of(y, 2 + U2 / second, U2, y - 2, 1, second),
    )
    final = ((U1, ">="), (U2, ">="))
    assert not is_valid(forged(goal, facts, ((x, ">"), (y, ">")), steps, final))
    # each of them through the symbols of the question alone is a valid start
    apart = (
        step_of(x, 1 + U1, U1, x - 1, 0, Integer(1)),
        step_of(y, 2 + U2 / second, U2, y - 2, 1, second),
    )
    true = Atom((y - 2) ** 2 * (x - 1), ">=")
    assert is_valid(forged(true, facts, ((x, ">"), (y, ">")), apart, final))


def test_a_step_that_may_divide_by_zero_proves_nothing():
    # each would show what fails at y = 0
    facts, signs = (Atom(x - 1, ">"), Atom(y, ">=")), ((x, ">"), (y, ">="))
    over = (step_of(x, 1 + U1 * y, U1, x - 1, 0, 1 / y, ">"),)
    final = ((y, ">"), (U1, ">"))
    assert not is_valid(forged(Atom(y, ">"), facts, signs, over, final))
    facts, signs = (Atom(x, ">"), Atom(y, ">=")), ((x, ">"), (y, ">="))
    back = (step_of(x, U1 / y, U1, x, 0, y),)
    final = ((y, ">="), (U1, ">"))
    assert not is_valid(forged(Atom(x * y, ">"), facts, signs, back, final))


# the text


def test_the_text_can_be_followed_by_hand():
    text = proof_of(certify([eta <= 1 / (3 * L), mu <= L], eta * mu <= Rational(1, 3)))
    assert text.splitlines() == [
        "To show: -eta*mu + 1/3 >= 0, where L > 0, eta > 0, mu > 0.",
        "1. eta <= 1/(3*L) says -(3*L*eta - 1)/(3*L) >= 0. "
        "Put u1 = -(3*L*eta - 1)/(3*L*eta) >= 0, as 1/eta times that.",
        "   So eta = 1/(3*L*(u1 + 1)).",
        "2. mu <= L says L - mu >= 0. Put u2 = L - mu >= 0.",
        "   So L = mu + u2.",
        "Now it is (mu*u1 + u1*u2 + u2) / (3*mu*u1 + 3*mu + 3*u1*u2 + 3*u2).",
        "No coefficient is negative and mu > 0, u1 >= 0, u2 >= 0.",
    ]


def test_the_text_names_roots_and_equations():
    text = proof_of(certify([tau >= 4, eta <= 1 / sqrt(tau)], 2 * eta <= 1))
    assert text.startswith("With s1 = (tau)**(1/2).")
    assert "So tau = s1**2." in text
    assert "The numerator is 0." in proof_of(certify([Eq(y, x)], Eq(x * y, y**2)))
    assert "a monomial" not in text
    assert "one monomial has positive factors only" in proof_of(certify([x > 1], x > 0))


def test_the_text_says_how_what_is_left_is_no_zero():
    below, above = (certify([x >= 2], Ne(side, 1)) for side in (x**2, 1 / x))
    assert "no term of it is positive where u1 >= 0" in str(below)
    assert "No coefficient is positive above or negative below" in proof_of(below)
    assert "no term of it is negative where u1 >= 0" in str(above)
    assert "No coefficient is negative and u1 >= 0" in proof_of(above)
    square = certify([Eq(x, 3)], x * y**2 >= 0)
    assert str(square).endswith("what is left is 3*y**2; no term of it is negative")


def test_an_equation_is_no_new_symbol_of_the_text():
    lines = proof_of(certify([Eq(y, x + 1)], Eq(y**2, x**2 + 2 * x + 1))).splitlines()
    assert lines[1:3] == ["1. Eq(y, x + 1) says x - y + 1 == 0.", "   So x = y - 1."]


def test_points_without_a_value_are_not_judged():
    with pytest.raises(UndefinedError):
        value(1 / (x - 1), {"x": F(1)})
    assert holds(sqrt(x) >= 0, {"x": F(-1)}) is None
    assert holds(Eq(sqrt(x) * sqrt(8), 4), {"x": F(2)}) is True
    assert holds(sqrt(x) <= Rational(141421356, 10**8), {"x": F(2)}) is False


def test_what_sympy_settled_has_no_certificate():
    settled = Ne(Symbol("p", positive=True), 0)
    assert settled == true
    assert certify([], settled) is None
    assert certify([], Not(Not(settled, evaluate=False), evaluate=False)) is None


def test_a_proof_is_of_a_certificate():
    with pytest.raises(InputError, match=r"^certificate must be of the kind "):
        proof_of(certify([x >= 0], x >= 1))  # it has none

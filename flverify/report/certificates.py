"""Words for certificates, without numbers in floats: `flverify check` uses them too.

A statement is worded from what the checker proved; the checker refuses a file whose
own statement says something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from flverify._core.sentences import number_of
from flverify.certify.check import Summary

DIGITS = 10
NEAR = Fraction(1, 10**8)  # from 1: what is left to it has the digits
LONGEST = 24  # characters of a rational that is shown whole beside its decimals

Line = tuple[str, str]


def statement(proved: Summary) -> str:
    """Return what was proved, as one sentence.

    From E V+ <= rho V - s |x - x*|^2 + c M follows a bound in every round where s = 0
    (V is then at least |x - x*|^2), and a bound on the average of rounds otherwise.
    """
    if proved.kind in ("average", "gap"):
        return _of_average(proved)
    start = "C1 |x_0 - x*|^2 + C2 M"
    if proved.kind == "rate":
        bound = f"E|x_r - x*|^2 <= rho^r ({start})"
    elif proved.weight == 0:
        bound = f"E|x_r - x*|^2 <= rho^r ({start}) + c/(1 - rho) M"
    else:
        bound = (
            f"the average of E|x_r - x*|^2 over the first R rounds is at most "
            f"(c/s) M + ({start})/(s R)"
        )
    return (
        "for all differentiable, L-smooth and mu-strongly convex f_1, ..., f_N in any "
        f"dimension, x* the minimiser of their mean and M = mean|grad f_i(x*)|^2: "
        f"{bound} for every {'R' if proved.weight else 'r'}."
    )


MEASURES = {"gap": "E[f(x_r) - f(x*)]", "gradient": "E|grad f(x_r)|^2"}


def _of_average(proved: Summary) -> str:
    """Word a bound of an average, with what is not zero in it."""
    parts = [
        (proved.C0, "C0 (f(x_0) - f(x*))"),
        (proved.C1, "C1 |x_0 - x*|^2"),
        (proved.C2, "C2 M"),
    ]
    told = [text for value, text in parts if value]
    start = f"({' + '.join(told)})" if len(told) > 1 else "".join(told)
    rest = " + c M" if proved.constant else ""
    word = ", M = mean|grad f_i(x*)|^2" if proved.C2 or proved.constant else ""
    if proved.kind == "gap":
        what = f"E[f(x_r) - f(x*)] <= rho^r {start} for every r"
        word = f"{word}, and |grad f(x)|^2 >= 2 beta (f(x) - f(x*)) for all x"
    else:
        measure = MEASURES[str(proved.of)]
        what = f"(1/K) sum_(r<K) {measure} <= {start}/K{rest} for every K"
    return (
        "for all f_1, ..., f_N in any dimension with L-Lipschitz gradients and convex "
        f"f_i - (mu/2) |x|^2, x* a global minimiser of their mean f{word}: {what}."
    )


def _average_lines(proved: Summary) -> list[Line]:
    """Return the constants that are not 0."""
    rate = proved.kind == "gap"
    lines = [("rho", number(proved.rho)), ("beta", str(proved.beta))] if rate else []
    named = {"C0": proved.C0, "C1": proved.C1, "C2": proved.C2, "c": proved.constant}
    more = ((name, number(value)) for name, value in named.items() if value)
    return [*lines, *more]


def proved_lines(proved: Summary) -> list[Line]:
    """Return the constants of the statement as labels and texts."""
    if proved.kind in ("average", "gap"):
        return _average_lines(proved)
    lines = [("rho", number(proved.rho))]
    if proved.kind == "neighbourhood":
        lines.append(("c", number(proved.constant)))
        if proved.weight:
            lines.append(("s", number(proved.weight)))
        elif proved.rho < 1:
            lines.append(("c/(1 - rho)", number(proved.constant / (1 - proved.rho))))
    return [*lines, ("C1", number(proved.C1)), ("C2", number(proved.C2))]


def accepted(certificate: Mapping[str, Any]) -> Summary:
    """Return what a certificate proves that the checker has accepted already."""
    around = certificate["neighbourhood"] or {}
    average, gap = certificate.get("average"), certificate.get("dominance")
    scale = Fraction(average["weight"]) if average else Fraction(1)
    scale = Fraction(gap["v"]) if gap else scale
    start, law = certificate["start"], certificate["law"]
    return Summary(
        kind=certificate["kind"],
        n_clients=law.get("n_clients") or sum(c["clients"] for c in law["classes"]),
        rho=Fraction(certificate["rho"]),
        weight=Fraction((average or gap or around).get("weight", 0)) / scale,
        constant=Fraction(around.get("constant", 0)) / scale,
        C1=Fraction(start["C1"]) / scale,
        C2=Fraction(start["C2"]) / scale,
        pivots={},
        of=average["of"] if average else None,
        C0=Fraction(start.get("C0", 0)) / scale,
        beta=Fraction(gap["beta"]) if gap else None,
    )


def setting_lines(certificate: Mapping[str, Any]) -> list[Line]:
    """Return algorithm, law and function class of an accepted certificate."""
    own, functions = certificate["algorithm"], certificate["function_class"]
    settings = told_settings(own["settings"])
    mu, smooth = functions["strong_convexity"], functions["smoothness"]
    return [
        ("algorithm", f"{own['name']} with {settings}"),
        ("law", law(certificate["law"])),
        ("functions", f"mu = {mu}, L = {smooth}"),
    ]


def told_settings(settings: Mapping[str, Any]) -> str:
    """Word the settings of an algorithm; one that is None is not there.

    Examples
    --------
    >>> told_settings({"step_size": "1/5", "probability": None, "variant": "paper"})
    'step_size = 1/5, variant = paper'
    """
    there = (f"{k} = {value}" for k, value in settings.items() if value is not None)
    return ", ".join(there)


def law(described: Mapping[str, Any]) -> str:
    """Word the law of a certificate.

    Examples
    --------
    >>> law({"kind": "uniform_cohort", "n_clients": 5, "cohort_size": 2})
    'uniform cohort of 2 out of 5 clients'
    >>> law({"kind": "bernoulli", "classes": [{"clients": 2, "inclusion": "1/3"}]})
    'independent clients: 2 with probability 1/3'
    """
    if described["kind"] == "bernoulli":
        parts = [
            f"{one['clients']} with probability {one['inclusion']}"
            for one in described["classes"]
        ]
        return f"independent clients: {', '.join(parts)}"
    everybody = number_of(described["n_clients"], "client")
    if described["kind"] == "uniform_cohort":
        return f"uniform cohort of {described['cohort_size']} out of {everybody}"
    if described["kind"] == "all_or_nothing":
        return (
            f"all of {everybody} with probability {described['probability']}, or none"
        )
    return f"full participation of {everybody}"


def number(value: Fraction, *, up: bool = True) -> str:
    """Text of a rational with its decimals; a long one is a bound, rounded outwards.

    Parameters
    ----------
    value : Fraction
    up : bool
        Whether the number is an upper bound, rounded up; a lower one is rounded down.

    Examples
    --------
    >>> number(Fraction(459057, 500000)), number(Fraction(3)), number(Fraction(2, 3))
    ('459057/500000 = 0.918114', '3', '2/3 < 0.6666666667')
    >>> number(Fraction(10**30 + 1, 3 * 10**30), up=False)
    '> 0.3333333333'
    >>> number(1 - Fraction(1, 3 * 10**9))
    '2999999999/3000000000 < 1 - 3.333333333e-10'
    """
    exact = str(value)
    if value.denominator == 1 and len(exact) <= LONGEST:
        return exact
    near = 0 < 1 - value < NEAR
    far = 1 - value if near else value
    rounding = ROUND_CEILING if up != near else ROUND_FLOOR
    context = Context(prec=DIGITS, rounding=rounding, Emin=-(10**9), Emax=10**9)
    found = context.divide(Decimal(far.numerator), Decimal(far.denominator))
    sign = "=" if Fraction(found) == far else "<" if up else ">"
    decimals = f"{sign} {'1 - ' * near}{found:g}"
    return decimals if len(exact) > LONGEST else f"{exact} {decimals}"

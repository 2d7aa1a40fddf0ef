"""What holds at the point of the map: rates, rounds, bias, verdicts and formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import localcontext
from fractions import Fraction
from functools import lru_cache

from flverify._core.errors import InputError
from flverify._core.shown import shown as worded
from flverify.certify.printed import printed
from flverify.claims import ledger
from flverify.claims.registry import proofs_folder
from flverify.claims.verdict import Verdict
from flverify.explore.corners import law_of
from flverify.explore.instance import describe
from flverify.explore.near_one import (
    Rate,
    beside_one,
    curves_rate,
    in_floats,
    worst_rate,
)
from flverify.explore.rounds import rounds_of
from flverify.explore.view import View
from flverify.report.numbers import bound, decimal
from flverify.report.rows import RowTable

ACCURACY = Fraction(1, 10**6)
SUPPORTED, UNTOLD = str(Verdict.SUPPORTED), str(Verdict.INCONCLUSIVE)
_FLOATS = SUPPORTED, "in floats"
DIGITS = 6  # significant digits of a shown number
WIDEST = 11  # digits of a number of rounds that is shown whole
FAINT = Fraction(1, 10**30)  # from 1: a logarithm is what is left
PRECISION = 80  # digits in which rounds of a rational rate are counted
# the claim that judges an algorithm's printed rate, and its formulas
PRINTED = {
    "focus": (
        "focus.thm1.sc",
        r"\rho=1-\tfrac{1}{2}\eta\mu N",
        r"\eta\le\min\{\tfrac{3\mu}{27NL^2},\tfrac{1}{3L(\tau-1)},"
        r"\tfrac{q_{\min}^{3/2}}{8L\sqrt{N}}\}",
    ),
    "fedavg": (
        "focus.thm2",
        r"\rho=(1-\tfrac{1}{2}\eta\mu)^{\tau}",
        r"\eta\le\min\{\tfrac{1}{3L},\tfrac{1}{4(\tau-1)L}\}",
    ),
}
RATE = r"\rho=\max_{h_i\in\{\mu,L\}}\varrho\big(P\mapsto\mathbb{E}[M_hPM_h^{\top}]\big)"
OWN_RATE = r"\rho=\varrho\big(P\mapsto\mathbb{E}[MPM^{\top}]\big)"
ROUNDS = r"r=\lceil\ln 10^{-6}/\ln\rho\rceil"
NEIGHBOURHOOD = r"\rho\ \text{to a neighbourhood}"
BIAS = r"\lim_{r\to\infty}|\mathbb{E}x_r-x^\star|"
STATIONARY = r"\lim_{r\to\infty}\mathbb{E}|x_r-x^\star|^2"


@dataclass(frozen=True)
class PointRow:
    """One quantity at the point.

    Parameters
    ----------
    name : str
        Its key, for a program.
    label : str
        Its name, for a reader.
    value : float
        NaN where there is none, infinite where there is no bound; of rounds, infinite
        where no number of them is enough.
    text : str
        The value as it is shown.
    verdict : str
        How much was shown: of a printed statement, the ledger's.
    formula : str
        LaTeX.
    scope : str
        What it holds for, in a few words.
    """

    name: str
    label: str
    value: float
    text: str
    verdict: str
    formula: str
    scope: str


def point(view: View) -> RowTable[PointRow]:
    """Exact and printed rate, rounds to 1e-6 and errors at the end, at once.

    Raises
    ------
    InputError
        If the view is refused.

    Examples
    --------
    >>> view = View("gradient_descent", 2, "full", local_steps=1, step_size="1/4")
    >>> [(row.name, row.text) for row in point(view).rows][:2]
    [('exact_rate', '0.9025'), ('exact_rounds', '135')]
    """
    require_sound(view)
    plain = law_of(view, "strong_convexity", "smoothness", "step_size")
    rate, corner, every = worst_rate(plain)
    among = "all" if every else "some"
    worst = f"{_in(rate)}; worst of {among} with curvatures μ or L: {corner}"
    curves = _of_the_curves(view, curves_rate(plain))
    exact = rate_row("exact_rate", "exact rate", rate, SUPPORTED, RATE, worst)
    rounds = _exact_rounds(rate, exact.scope, curves[-1])
    return RowTable((exact, rounds, *_printed(view), *curves))


def _of_the_curves(view: View, rate: Rate) -> list[PointRow]:
    """Rate, bias and stationary error of the instance that the curves are of."""
    rounds = rounds_of(view)
    error = rounds.stationary(float(1 - rate)) if rate < 1 else math.inf
    curves = f"the quadratics of the curves: {describe(view)}"
    found = (
        ("bias", "bias", rounds.bias(), BIAS),
        ("stationary_error", "stationary error", error, STATIONARY),
    )
    own = "instance_rate", "exact rate of the curves", rate, SUPPORTED, OWN_RATE
    rows = [rate_row(*own, f"{_in(rate)}; {curves}")]
    for name, label, value, formula in found:
        told = (UNTOLD, "not told by floats") if math.isnan(value) else _FLOATS
        scope = f"{told[1]}; {curves}"
        rows.append(number_row(name, label, value, told[0], formula, scope))
    return rows


def _in(rate: Rate) -> str:
    return "in rationals" if isinstance(rate, Fraction) else _FLOATS[1]


def _exact_rounds(rate: Rate, scope: str, stationary: PointRow) -> PointRow:
    """Return rounds of the exact rate; never where curves end above the accuracy."""
    row = rounds_row("exact_rounds", "rounds to 1e-6", rate, SUPPORTED, scope)
    if math.isinf(row.value) or stationary.value <= ACCURACY:
        return row
    if math.isnan(stationary.value):
        scope = "floats do not tell to what the error of the curves tends"
        none = shown(math.nan)
        return replace(row, value=math.nan, text=none, verdict=UNTOLD, scope=scope)
    scope = f"the error of the curves tends to {stationary.text}, not to 0"
    return never(replace(row, formula=rf"{STATIONARY}>10^{{-6}}", scope=scope))


def require_sound(view: View) -> None:
    """Check that the fields of a view go together.

    Raises
    ------
    InputError
        With the sentence of `View.refusal`.
    """
    if not isinstance(view, View):
        raise InputError(
            f"a view must be a View; got {worded(view)}; pass one such as View()."
        )
    refused = view.refusal()
    if refused is not None:
        raise InputError(refused)


def verdict_of(claim: str) -> str:
    """Return the ledger's verdict on a claim.

    Examples
    --------
    >>> verdict_of("focus.eq4.R"), verdict_of("no.such.claim")
    ('PROVED', 'no verdict in the ledger')
    """
    return _ledger().get(claim, "no verdict in the ledger")


@lru_cache(maxsize=1)
def _ledger() -> dict[str, str]:
    known = ledger.read(proofs_folder() / "ledger.toml")
    return {claim: str(entry["verdict"]) for claim, entry in known.items()}


def number_row(
    name: str, label: str, value: float, verdict: str, formula: str, scope: str
) -> PointRow:
    """Return a row with its value as text."""
    return PointRow(name, label, value, shown(value), verdict, formula, scope)


def rate_row(name: str, label: str, rate: Rate, *more: str) -> PointRow:
    """Return the row of a rate, which next to 1 may be rational."""
    row = number_row(name, label, in_floats(rate), *more)
    text = beside_one(rate) if isinstance(rate, Fraction) else None
    return replace(row, text=text or row.text)


def bound_row(
    name: str, label: str, value: Fraction | None, *more: str, up: bool
) -> PointRow:
    """Return the row of a bound, its text rounded to where it still holds."""
    if value is None:
        return number_row(name, label, math.nan, *more)
    row = number_row(name, label, in_floats(value), *more)
    near = beside_one(value, up=up)
    return replace(row, text=near or bound(value, _digits(row.value), up=up))


def rounds_row(
    name: str,
    label: str,
    rate: float | Fraction,
    verdict: str,
    scope: str,
    *,
    near: bool = False,
) -> PointRow:
    """Return the rounds to 1e-6 of a rate; none follow from one to a neighbourhood."""
    row = number_row(name, label, rounds_to(rate), verdict, ROUNDS, scope)
    if math.isfinite(row.value):
        row = replace(row, text=_enough(int(row.value)))
    if near and not math.isnan(row.value):
        none = math.nan
        return replace(row, value=none, text=shown(none), formula=NEIGHBOURHOOD)
    return never(row) if math.isinf(row.value) else row


def never(row: PointRow) -> PointRow:
    """Return a row of rounds that are not enough, however many."""
    return replace(row, value=math.inf, text="never")


def rounds_to(rate: float | Fraction) -> float:
    """Count rounds until a factor per round has made 1e-6; infinite from a rate of 1.

    Of a rational they are enough; of a float they are but for its rounding.

    Examples
    --------
    >>> rounds_to(0.1), rounds_to(1.0), rounds_to(0.0)
    (6, inf, 1)
    >>> rounds_to(Fraction(1, 10)), rounds_to(Fraction(10**9 + 1, 10**10))
    (6, 7)
    """
    if not rate < 1:
        return math.nan if math.isnan(rate) else math.inf
    if isinstance(rate, Fraction):
        return _rounds_of(rate) if rate > ACCURACY else 1
    if rate <= float(ACCURACY):
        return 1
    return math.ceil(math.log(float(ACCURACY)) / math.log(rate) - 1e-9)


def _rounds_of(rate: Fraction) -> int:
    if 1 - rate < FAINT:  # which is -ln(rate) to all digits, and not above it
        return math.ceil(-decimal(ACCURACY).ln() / decimal(1 - rate))
    with localcontext(prec=PRECISION):
        logarithms = [decimal(one, PRECISION).ln() for one in (ACCURACY, rate)]
        ratio = logarithms[0] / logarithms[1]
        # a power that is 1e-6 exactly may look a little larger
        return math.ceil(ratio - ratio.scaleb(-PRECISION // 2))


def _enough(rounds: int) -> str:
    """Write a number of rounds; one too long is rounded up."""
    whole = str(rounds)
    return whole if len(whole) <= WIDEST else bound(Fraction(rounds), DIGITS, up=True)


def shown(value: float) -> str:
    """Write a number for a reader; a rate near 1 keeps the digits that tell it apart.

    Examples
    --------
    >>> shown(0.25), shown(float("inf")), shown(float("nan")), shown(0.99999912345)
    ('0.25', 'infinite', 'none', '0.99999912345')
    """
    if math.isnan(value):
        return "none"
    if math.isinf(value):
        return "infinite"
    return f"{value:.{_digits(value)}g}"


def _digits(value: float) -> int:
    near = 12 if value > 0.999999 else 8
    return near if 0.99 < value < 1 else DIGITS


def _printed(view: View) -> list[PointRow]:
    """Rate, rounds and cap of the algorithm's theorem, if it has one."""
    found = printed(
        view.algorithm_object(),
        view.participation(),
        view.number("strong_convexity"),
        view.number("smoothness"),
    )
    if found is None:
        return [
            number_row(
                name, label, math.nan, "no theorem", formula, "the papers print none"
            )
            for name, label, formula in (
                ("printed_rate", "printed rate", r"\text{none}"),
                ("printed_cap", "printed cap", r"\text{none}"),
            )
        ]
    claim, rate_formula, cap_formula = PRINTED[view.algorithm]
    where = "within" if found.inside else "above"
    near = view.algorithm == "fedavg"
    kind = " to a neighbourhood" if near else ""
    scope = f"{found.source}{kind}; step size {where} the cap; claim {claim}"
    stated = found.rate if found.inside else None
    rate = math.nan if stated is None else stated
    verdict = verdict_of(claim)
    more = verdict, rate_formula, scope
    rates = [
        bound_row("printed_rate", "printed rate", stated, *more, up=True),
        rounds_row(
            "printed_rounds", "printed rounds to 1e-6", rate, verdict, scope, near=near
        ),
    ]
    cap = "printed_cap", "printed cap", found.cap, verdict, cap_formula, scope
    return [
        *(replace(r, text="above the cap") if stated is None else r for r in rates),
        bound_row(*cap, up=False),
    ]

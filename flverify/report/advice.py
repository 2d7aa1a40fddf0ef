"""Views of advice: what a log supports, the table of algorithms, the rarest client."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any

from flverify._core.exact import Scalar
from flverify._core.sentences import number_of
from flverify.advise.budget import Budget
from flverify.advise.class_wide import ClassWide
from flverify.advise.fit import ALARM, LEVEL, Fitted
from flverify.advise.rarest import Rarest
from flverify.advise.step_sizes import StepSizes
from flverify.advise.table import Advice
from flverify.report import console
from flverify.report.numbers import bound, law_text

MOST = 30  # clients of a log that a table shows
SHORT = 4  # significant digits of a table
NONE = "-"

Named = Sequence[tuple[str, Advice]]


def short(value: Scalar | None) -> str:
    """Text of a number in four digits, for a table.

    Examples
    --------
    >>> from fractions import Fraction
    >>> short(Fraction(1, 3)), short(None), short(1234567.0), short(math.inf)
    ('0.3333', '-', '1.235e+06', 'any')
    >>> short(Fraction(10**400, 3))
    '3.333e+399'
    """
    if value is None:
        return NONE
    try:
        number = float(value)
    except OverflowError:  # an accuracy far off
        wide = Context(prec=SHORT, Emax=MAX_EMAX, Emin=MIN_EMIN)
        parts = Decimal(value.numerator), Decimal(value.denominator)
        return f"{wide.divide(*parts):.{SHORT}g}"
    return "any" if math.isinf(number) else f"{number:.{SHORT}g}"


def rate_text(value: Scalar | None) -> str:
    """Text of a rate, with more digits the nearer it is to 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> rate_text(Fraction(999123, 10**6)), rate_text(0.5)
    ('0.999123', '0.5')
    """
    if value is None:
        return NONE
    return f"{float(value):.{_digits(float(value))}g}"


def _digits(rate: float) -> int:
    gap = 1 - rate
    digits = SHORT if not 0 < gap < 0.1 else SHORT - 1 - math.floor(math.log10(gap))
    return min(digits, 12)


def _proved_rate(value: Fraction | None) -> str:
    """Text of a rate that nothing is slower than: never smaller than what was shown."""
    return NONE if value is None else bound(value, _digits(float(value)), up=True)


def _step_below(value: Scalar | None) -> str:
    """Text of a step size up to which something is shown: never larger."""
    return NONE if value is None else bound(Fraction(value), SHORT, up=False)


def show_log(found: Fitted, path: str) -> None:
    """Print the estimates, the tests, and the law that a log supports."""
    log = found.log
    empty = int((log.sizes == 0).sum())
    sizes = {"round": log.rounds, "client": log.n_clients, "empty round": empty}
    size = ", ".join(number_of(many, thing) for thing, many in sizes.items())
    console.fields(
        [
            ("log", f"{path}: {size}"),
            ("supports", f"{found.supports}: {found.reason}"),
            ("fitted law", law_text(found.law.spec)),
        ]
    )
    console.line()
    rows = _client_rows(found)
    headings = ("client", "rounds", "p", "interval", "q", "interval")
    console.table(headings, rows[:MOST], keep=len(headings))
    if len(rows) > MOST:
        console.line(f"{len(rows) - MOST} clients are not shown; --json has all.")
    console.line()
    tests = [
        (one.name, one.about, short(one.p_value), short(one.adjusted), one.detail)
        for one in found.tests
    ]
    console.table(("test", "of", "p-value", "of all", "compared"), tests, keep=4)
    console.line()


def _client_rows(found: Fitted) -> list[tuple[str, ...]]:
    return [
        (
            str(i),
            str(found.log.counts[i]),
            short(found.inclusion[i]),
            _interval(found.inclusion_intervals[i].tolist()),
            short(found.averaging_weights[i]),
            _interval(found.averaging_intervals[i].tolist()),
        )
        for i in range(found.log.n_clients)
    ]


def _interval(ends: Sequence[float]) -> str:
    return f"[{short(ends[0])}, {short(ends[1])}]"


def log_record(found: Fitted, path: str) -> dict[str, Any]:
    """Return what a log says, for a JSON report."""
    return {
        "path": path,
        "rounds": found.log.rounds,
        "first_round": found.log.first_round,
        "n_clients": found.log.n_clients,
        "empty_rounds": int((found.log.sizes == 0).sum()),
        "supports": found.supports,
        "reason": found.reason,
        "law": found.law.spec,
        "level": LEVEL,
        "false_alarm": ALARM,
        "inclusion": found.inclusion,
        "inclusion_intervals": found.inclusion_intervals,
        "averaging_weights": found.averaging_weights,
        "averaging_intervals": found.averaging_intervals,
        "methods": _methods(),
        "tests": [
            {
                "name": one.name,
                "about": one.about,
                "p_value": one.p_value,
                "adjusted_p_value": one.adjusted,
                "detail": one.detail,
            }
            for one in found.tests
        ],
    }


def _methods() -> dict[str, str]:
    return {
        "inclusion_intervals": "Clopper and Pearson",
        "averaging_intervals": "betting (hedged capital)",
        "tests": "exact or shuffled, two-sided, adjusted by Holm's method",
    }


def log_notes(found: Fitted) -> list[str]:
    """Say how the numbers of a log are to be read."""
    ends = (
        ""
        if found.log.whole
        else " and none was empty before the log's first and after its last (tell with "
        "--rounds how many there were)"
    )
    out = [
        f"intervals hold each p and q with probability {LEVEL:g} if rounds are "
        f"independent{ends}: those of p by Clopper and Pearson, those of q by betting; "
        f"a test speaks if its p-value of all is at most {ALARM:g}."
    ]
    if found.supports == "none":
        out.append(
            "the log supports none of the laws of independent rounds and clients; the "
            "advice is for independent rounds whose cohorts have the log's frequencies."
        )
    never = int((found.log.counts == 0).sum())
    if never:
        many = number_of(never, "client")
        out.append(f"{many} never took part in the log: estimated p is 0.")
    return out


def show_table(named: Named, target: float) -> None:
    """Print one line per algorithm."""
    headings = (
        "algorithm",
        "stable below",
        "fastest",
        "its rate",
        "certified",
        "its rate",
        "cap",
        f"rounds to {target:g}",
        "vectors",
    )
    rows = [(name, *_cells(one)) for name, one in named]
    console.table(headings, rows, keep=len(headings))


def _cells(one: Advice) -> tuple[str, ...]:
    steps, wide, cost = one.steps, one.class_wide, one.budget
    low, high = steps.stable if steps else (None, None)
    star = "*" if wide is not None and wide.kind == "contraction" else ""
    return (
        short(high) if high == math.inf else _step_below(low),
        short(steps.fastest) if steps else NONE,
        rate_text(steps.fastest_rate) if steps else NONE,
        short(wide.step_size) if wide else NONE,
        _proved_rate(wide.rate) + star if wide and wide.rate is not None else NONE,
        _step_below(wide.cap) if wide else NONE,
        *rounds_text(cost),
    )


def rounds_text(cost: Budget | None) -> tuple[str, str]:
    """Return rounds and vectors, or the accuracy that a biased method stays at.

    Examples
    --------
    >>> rounds_text(Budget(None, None, 0.125, "its stationary error is larger"))
    ('never: 0.125', '-')
    """
    if cost is None:
        return NONE, NONE
    if cost.rounds is not None:
        return str(cost.rounds), short(cost.vectors)
    if cost.stationary:
        return f"never: {short(cost.stationary)}", NONE
    return NONE, NONE


def show_rarest(named: Named, found: Rarest | None) -> None:
    """Print what the rarest client costs, if one is."""
    if found is None:
        return
    console.line()
    console.fields(_rarest_fields(found))
    if found.raised is None:
        return
    console.line()
    headings = ("algorithm", "rounds", "rounds if raised", "rate", "rate if raised")
    rows = []
    for name, one in named:
        raised = one.raised
        rows.append(
            (
                name,
                rounds_text(one.budget)[0],
                rounds_text(raised.budget if raised else None)[0],
                rate_text(one.steps.fastest_rate if one.steps else None),
                rate_text(
                    raised.steps.fastest_rate if raised and raised.steps else None
                ),
            )
        )
    console.table(headings, rows, keep=len(headings))


def _rarest_fields(found: Rarest) -> list[tuple[str, str]]:
    raised = f"to the mean {short(found.mean)}" if found.raised else found.reason
    left = f"the others' minimiser is at the accuracy {short(found.dropped)}"
    return [
        ("rarest client", f"{found.client}, p = {short(found.inclusion)}"),
        ("if raised", raised),
        ("if dropped", found.dropped_reason or left),
    ]


def rarest_record(found: Rarest | None) -> dict[str, Any] | None:
    """Return what is said about the rarest client, for a JSON report."""
    if found is None:
        return None
    return {
        "client": found.client,
        "inclusion": found.inclusion,
        "mean_inclusion": found.mean,
        "raised_law": None if found.raised is None else found.raised.spec,
        "raised_law_reason": found.reason or None,
        "dropped_accuracy": found.dropped,
        "dropped_accuracy_reason": found.dropped_reason or None,
    }


def record(
    name: str, settings: dict[str, Any], one: Advice, dim: int
) -> dict[str, Any]:
    """Return the advice about one algorithm, for a JSON report; step sizes are that."""
    out = {
        "algorithm": name,
        "settings": {k: v for k, v in settings.items() if k != "step_size"},
        "refusal": one.reason if one.steps is None else None,
        **_steps_record(one.steps),
        **_budget_record(one.budget, dim),
        "stationary_accuracy_at_a_hundredth": one.smaller,
        **_class_record(one.class_wide),
    }
    if one.raised is not None:
        out["raised"] = {
            **_steps_record(one.raised.steps),
            **_budget_record(one.raised.budget, dim),
            "refusal": one.raised.reason or None,
        }
    return out


def _steps_record(steps: StepSizes | None) -> dict[str, Any]:
    return {
        "exact": steps.exact if steps else None,
        "stable_up_to": steps.stable[0] if steps else None,
        "unstable_from": steps.stable[1] if steps else None,
        "fastest_step_size": steps.fastest if steps else None,
        "fastest_rate": steps.fastest_rate if steps else None,
    }


def _budget_record(cost: Budget | None, dim: int) -> dict[str, Any]:
    vectors = cost.vectors if cost else None
    return {
        "rounds": cost.rounds if cost else None,
        "rounds_reason": (cost.reason or None) if cost else None,
        "vectors": vectors,
        "floats": None if vectors is None else vectors * dim,
        "stationary_accuracy": cost.stationary if cost else None,
    }


def _class_record(wide: ClassWide | None) -> dict[str, Any]:
    return {
        "certified_step_size": wide.step_size if wide else None,
        "certified_rate": wide.rate if wide else None,
        "certified_largest": wide.largest if wide else None,
        "certified_kind": (wide.kind or None) if wide else None,
        "certified_reason": (wide.reason or None) if wide else None,
        "printed_cap": wide.cap if wide else None,
        "printed_rate_at_cap": wide.printed_rate if wide else None,
        "printed_by": wide.printed_by if wide else None,
    }


def notes(named: Named, target: float, scope: str) -> list[str]:
    """Say how the table is to be read, and why something is missing."""
    out = [
        "rates are factors per round of the squared distance; the fastest step size is "
        "the best of a ladder, refined to 1e-3, and unstable ones between two rungs "
        "may be overlooked; rounds are the first from which "
        f"E|x_r - x*|^2 <= {target:g} |x_0 - x*|^2, x_0 = 0, at that step size; "
        "vectors are those expected down and up, for all participants.",
        scope,
    ]
    wide = [one.class_wide for _, one in named if one.class_wide is not None]
    if any(one.kind == "contraction" for one in wide):
        out.append(
            "* a rate to a neighbourhood: this method moves away from the minimiser."
        )
    told: dict[str, list[str]] = {}  # a reason that several share is said once
    for name, one in named:
        for text in _own_notes(one):
            told.setdefault(text, []).append(name)
    return [*out, *(f"{', '.join(names)}: {text}" for text, names in told.items())]


def _own_notes(one: Advice) -> list[str]:
    out = []
    if one.reason:
        out.append(one.reason)
    cost, wide = one.budget, one.class_wide
    if cost is not None and cost.rounds is None:
        out.append(_never(one, cost))
    if wide is not None:
        if wide.largest is not None:
            end = _step_below(wide.largest)
            out.append(f"certificates were found at step sizes up to {end}.")
        if wide.reason and wide.reason != "not asked for":
            out.append(f"not certified: {wide.reason}")
        if wide.cap is None:
            out.append(f"no printed cap: {wide.printed_by}")
        else:
            rate = _proved_rate(wide.printed_rate)
            out.append(f"at the cap, {wide.printed_by} prints the rate {rate}.")
    return out


def _never(one: Advice, cost: Budget) -> str:
    """Say why the target is never reached, and what a smaller step size gives."""
    if not cost.stationary:
        return f"rounds: {cost.reason}."
    told = f"it stays at the accuracy {short(cost.stationary)}"
    if one.smaller is None:
        return f"{told}."
    return f"{told}; at a hundredth of the step size at {short(one.smaller)}."

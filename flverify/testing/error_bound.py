"""`assert_error_bound`: E|x_r - x*|^2 <= bound(r) in the first rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, InputError, Refusal
from flverify._core.exact import Array, Scalar, is_symbolic, scalar
from flverify._core.shown import shown as in_short
from flverify.engines.own_rounds import failing
from flverify.testing import reproduce, sampling
from flverify.testing.comparison import SLACK, keeps
from flverify.testing.dynamics import FINE, FLOOR
from flverify.testing.given import as_float
from flverify.testing.methods import answer_by, method_of
from flverify.testing.moments import FAULTS, Answer, answers, refusal
from flverify.testing.outcome import Outcome, Status, settle
from flverify.testing.setting import Setting, setting
from flverify.testing.written import number

NAME = "assert_error_bound"

Bound: TypeAlias = Callable[[int], Scalar] | Scalar


def assert_error_bound(
    problem: object,
    algorithm: object,
    participation: object,
    *,
    bound: Bound,
    rounds: int = 100,
    start: object = None,
    method: str = "auto",
    false_alarm: float = 1e-6,
    tail: float = 30.0,
    budget: int = 10_000,
    seed: int = 0,
) -> Outcome:
    """Assert a bound on the mean squared error of every one of the first rounds.

    Definition: E|x_r - x*|^2 <= bound(r) for r = 0, ..., rounds.

    Parameters
    ----------
    problem, algorithm, participation
        As in `assert_linear_rate`.
    bound : callable, sympy expression or number, weight x^2
        From the round r to a number; an expression has at most one free symbol, the
        round. Rationals are compared exactly.
    rounds : int >= 1
        Last round.
    start : (d,) numbers, weight x, optional
        Server model before round 0; 0 by default (all ones if x* = 0).
    method, false_alarm, tail, budget, seed
        As in `assert_linear_rate`.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    Broken
        If some round breaks the bound.
    Inconclusive
        If there is no answer.
    InputError
        If a parameter lies outside its domain.

    Notes
    -----
    Moments or bounds in floats are compared to 1e-9 relatively; where the bound and a
    float error lie below 1e-12 of the problem's squared size, or closer than x* is
    known in floats, their order is rounding, and there is no answer.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> import sympy
    >>> one = Quadratics([[[1]]], [[2]])
    >>> r = sympy.Symbol("r")
    >>> setting = (one, GradientDescent("1/2"), Full(1))
    >>> assert_error_bound(*setting, bound=4 / 4**r, rounds=5).answered_by
    'exact moments (rationals)'
    >>> try:
    ...     assert_error_bound(*setting, bound=lambda r: 4 * 0.2**r, rounds=5)
    ... except AssertionError as error:
    ...     print(error.outcome.first_break)
    1: E|x_r - x*|^2 = 1, allowed 0.8
    """
    __tracebackhide__ = True
    last = whole(rounds, "rounds")
    how = sampling.plan(last, seed, false_alarm, tail, budget)
    chosen = method_of(method)
    asked = setting(problem, algorithm, participation, start)
    claim = _Claim(asked, bound, [_value(bound, r) for r in range(last + 1)])
    return settle(
        answer_by(
            chosen,
            lambda: _by_moments(claim),
            lambda: _by_sampling(claim, how),
            claim.outcome,
        )
    )


@dataclass(frozen=True)
class _Claim:
    """What is asserted: one value per round."""

    asked: Setting
    bound: Any
    values: list[Scalar]

    @property
    def rounds(self) -> int:
        """Last round."""
        return len(self.values) - 1

    def outcome(self) -> Outcome:
        """Return the outcome before anything is known."""
        is_function = callable(self.bound) and not is_symbolic(self.bound)
        of_r = is_symbolic(self.bound) and self.bound.free_symbols
        shown = str(self.bound) if of_r else number(self.values[0])
        words = "bound(r)" if is_function else shown
        first, final = number(self.values[0]), number(self.values[-1])
        text = (
            f"E|x_r - x*|^2 <= {words} for r = 0, ..., {self.rounds}, from {first} "
            f"to {final}"
        )
        shown = self.asked.text_with_start
        return Outcome(NAME, Status.INCONCLUSIVE, text, "nothing", "", shown)


def _value(bound: Any, r: int) -> Scalar:
    """Return the bound at one round, a number."""
    if callable(bound) and not is_symbolic(bound):
        with failing("bound"):
            value = bound(r)
        found = scalar(value, f"bound({r})")
    else:
        _require_no_list(bound)
        found = scalar(bound, "bound")
        if is_symbolic(found) and len(found.free_symbols) == 1:
            found = scalar(found.subs(next(iter(found.free_symbols)), r), f"bound({r})")
    if is_symbolic(found) and found.free_symbols:
        raise DomainError(
            "bound must be a number at every round; got the symbols "
            f"{sorted(map(str, found.free_symbols))}; leave the round alone free."
        )
    return found


def _require_no_list(bound: object) -> None:
    """Refuse one number per round, which would be counted from 0 or from 1."""
    if isinstance(bound, Iterable) and not isinstance(bound, str):
        raise InputError(
            "bound must be a number, an expression of the round or a function of it; "
            f"got {in_short(bound)}; pass lambda r: bounds[r], with bounds[0] at x_0."
        )


def _by_moments(claim: _Claim) -> Outcome | Refusal:
    """Compare the curve of the first moments that give one."""
    known = answers(claim.asked)
    if isinstance(known, Refusal):
        return known
    for answer in known:
        try:
            begin = claim.asked.begin
            with np.errstate(over="ignore", invalid="ignore"):
                curve = answer.found.mean_square_error(begin, claim.rounds)
                sizes = _sizes(claim, answer, curve)
        except FAULTS as error:
            refused = refusal(error)
        else:
            return _compare(claim, answer, curve, sizes)
    return refused


def _compare(claim: _Claim, answer: Answer, curve: Array, sizes: Array) -> Outcome:
    """Give every round HOLDS, BROKEN or nothing; the worst is the answer."""
    out = replace(
        claim.outcome(),
        found=_closest(claim, curve),
        answered_by=answer.answered_by + (f", to {SLACK:g}" if answer.floats else ""),
        reproduce=_reproduce(claim),
    )
    exact = answer.found.exact
    off = [0.0 if exact else claim.asked.doubt(e) for e in curve]
    rounds = zip(curve, claim.values, sizes, off, strict=True)
    kept = [keeps(e, b, FLOOR * s + o, FINE * s + o) for e, b, s, o in rounds]
    if False in kept:
        r = kept.index(False)
        text = f"{r}: E|x_r - x*|^2 = {number(curve[r])}"
        allowed = f"allowed {number(claim.values[r])}"
        return replace(out, status=Status.BROKEN, first_break=f"{text}, {allowed}")
    if None in kept:
        r = kept.index(None)
        why = (
            f"at round {r} E|x_r - x*|^2 = {number(curve[r])}, allowed "
            f"{number(claim.values[r])}; their order is lost in overflow, or lies "
            f"below the rounding of floats, {FLOOR * sizes[r] + off[r]:.1e}; pass "
            "rationals, or assert fewer rounds"
        )
        return replace(out, reason=why)
    return replace(out, status=Status.HOLDS)


def _sizes(claim: _Claim, answer: Answer, curve: Array) -> Array:
    """Squared sizes that rounding is a share of, up to each round; 0 in rationals.

    Where errors grow from other starts, so does rounding from this one.
    """
    if answer.found.exact:
        return np.zeros(len(curve))
    size, begin = claim.asked.size, claim.asked.begin.astype(np.float64)
    away = begin + size * np.cos(np.arange(1, len(begin) + 1))  # in no special place
    found = answer.found.mean_square_error(away, claim.rounds)
    largest = np.maximum(np.maximum(curve, found), size**2)
    return np.maximum.accumulate(np.where(np.isfinite(largest), largest, np.inf))


def _closest(claim: _Claim, curve: Array) -> str:
    """Say where the error comes closest to its bound, or exceeds it most."""
    pairs = list(enumerate(zip(curve, claim.values, strict=True)))
    without = [r for r, (e, b) in pairs if not b > 0 and e > b]  # any ratio
    ratios = {r: _ratio(e, b) for r, (e, b) in pairs if b > 0}
    if without or not ratios:
        r = without[0] if without else 0
        return f"E|x_r - x*|^2 = {number(curve[r])} at round {r}"
    r = max(ratios, key=lambda place: ratios[place])
    return (
        f"largest error over bound: {ratios[r]:.6g} at round {r}, where "
        f"E|x_r - x*|^2 = {number(curve[r])}"
    )


def _ratio(error: Scalar, bound: Scalar) -> float:
    """Error over bound, of rationals beyond floats too; infinite after overflow."""
    if isinstance(error, Fraction) and isinstance(bound, Fraction | float):
        return as_float(error / Fraction(bound))
    plain = as_float(bound)
    found = as_float(error) / plain if plain > 0 else math.inf
    return math.inf if math.isnan(found) else found


def _reproduce(claim: _Claim) -> str:
    begin = reproduce.numbers(claim.asked.begin)
    return reproduce.script(
        claim.asked,
        ["from flverify import moments"],
        "found = moments(problem, algorithm, law)",
        f"print(found.mean_square_error({begin}, {claim.rounds}))",
    )


def _by_sampling(claim: _Claim, how: sampling.Plan) -> Outcome:
    bounds = np.array([as_float(v) for v in claim.values])
    found = sampling.judge(claim.asked, bounds, how)
    return replace(
        claim.outcome(),
        status=found.status,
        **sampling.words(claim.asked, how, found, bounds),
    )

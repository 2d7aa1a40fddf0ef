"""`assert_certified_average`: a bound on averages for every problem of a class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from types import ModuleType
from typing import Any

from flverify._core.errors import InputError, ReadingError, RefusedError
from flverify._core.failed_floats import FLOATS_FAILED, floats_failed
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.averages import Average, average
from flverify.certify.averages.at_most import at_most
from flverify.certify.averages.quadratics import Least, least_constant
from flverify.certify.search import problem
from flverify.participation._law import Participation
from flverify.testing.certified import Asked
from flverify.testing.outcome import Outcome, Status, settle
from flverify.testing.written import cut, number

NAME = "assert_certified_average"
SYMBOLS = {"by_gap": "C0", "by_distance": "C1", "by_gradients": "C2", "constant": "c"}


def assert_certified_average(
    algorithm: Any,
    participation: Any,
    *,
    smoothness: object,
    strong_convexity: object = 0,
    by_gap: object = None,
    by_distance: object = None,
    by_gradients: object = None,
    constant: object = None,
    loop: ModuleType | None = None,
) -> Outcome:
    """Assert a bound of the average over K rounds, for all f_i of a class and all K.

    Definition: for convex f_i, with f their mean and M = mean|grad f_i(x*)|^2,
    (1/K) sum_(r<K) E[f(x_r) - f(x*)] <= (C1 |x_0 - x*|^2 + C2 M)/K + c M; without
    convexity (1/K) sum_(r<K) E|grad f(x_r)|^2 <= C0 (f(x_0) - f(x*))/K. Numbers that
    are not given may be any; c M is there only for methods that move away from x*.

    Parameters
    ----------
    algorithm, participation, loop
        As in `flverify.certify.averages.average`.
    smoothness, strong_convexity : rational, weight f/x^2
        L > 0 and -L <= mu < L; mu = -L means all smooth functions.
    by_gap, by_distance, by_gradients, constant : rational
        C0 with mu < 0, otherwise some of C1, C2 and c.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    Broken
        If quadratics of the class need a larger C0 or C1, by a sum in rationals.
    Inconclusive
        If neither a certificate nor such quadratics are found.
    InputError
        If a part of the setting is of another kind, or no number is given.
    DomainError
        If a number lies outside its domain.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> step, smooth = GradientDescent("1/2"), {"smoothness": 1, "strong_convexity": -1}
    >>> assert_certified_average(step, Full(1), by_gap="2.667", **smooth).found
    'a certificate of C0 = 26666...'
    >>> try:
    ...     assert_certified_average(step, Full(1), by_gap="2.66", **smooth)
    ... except AssertionError as error:
    ...     print(error.outcome.found)
    C0 at least 2.666666, on f_i = h_i x^2/2 with h_i = 1 at 1 client
    """
    __tracebackhide__ = True
    setting = problem(
        algorithm, participation, strong_convexity, smoothness, loop, convex=False
    )
    given = (by_gap, by_distance, by_gradients, constant)
    named = {k: v for k, v in zip(SYMBOLS, given, strict=True) if v is not None}
    asked = at_most(named, convex=setting.mu >= 0)
    if not asked.numbers:
        raise InputError(
            "a bound must be given a number; got none; give by_gap for functions that "
            "need not be convex, by_distance otherwise."
        )
    mu, smooth = Fraction(setting.strong_convexity), Fraction(setting.smoothness)
    return settle(
        _Claim(algorithm, participation, mu, smooth, asked.numbers, loop).judged()
    )


@dataclass(frozen=True)
class _Claim:
    algorithm: Algorithm
    law: Participation
    mu: Fraction
    smoothness: Fraction
    numbers: Mapping[str, Fraction]
    loop: ModuleType | None

    def judged(self) -> Outcome:
        """Look for quadratics that need more, then for a certificate."""
        numbers = self.smoothness, self.mu
        try:
            least = least_constant(self.algorithm, self.law, *numbers)
            if least is not None and least.constant > self._top():
                return self._broken(least)
            asked: dict[str, Any] = {"loop": self.loop, **self.numbers}
            found = average(self.algorithm, self.law, *numbers, **asked)
        except (ReadingError, RefusedError) as error:
            return replace(self._outcome(), reason=str(error))
        except FLOATS_FAILED as error:
            return replace(self._outcome(), reason=floats_failed(error))
        if found.status == "certified":
            held = replace(self._outcome(), status=Status.HOLDS)
            return replace(held, found=f"a certificate of {_told(found)}")
        return replace(self._outcome(), found=self._known(), reason=found.reason)

    def _top(self) -> Fraction | float:
        return self.numbers.get("by_distance", self.numbers.get("by_gap", inf))

    def _known(self) -> str:
        """Say which bound is found if none is asked for."""
        free = average(
            self.algorithm, self.law, self.smoothness, self.mu, loop=self.loop
        )
        told = f"; one of {_told(free)} is found" if free.certificate else ""
        return f"no certificate of such a bound{told}"

    def _broken(self, least: Least) -> Outcome:
        name = "C1" if self.mu >= 0 else "C0"
        above = cut(least.constant, Fraction(self._top()))
        return replace(
            self._outcome(),
            status=Status.BROKEN,
            found=f"{name} at least {above}, on {least.functions}",
            answered_by=f"a sum over {least.rounds} rounds on quadratics, in rationals",
        )

    def _outcome(self) -> Outcome:
        """Return the outcome before anything is known."""
        mu, smoothness = number(self.mu), number(self.smoothness)
        functions = f"all f_i with mu = {mu}, L = {smoothness}"
        options = [f"--mu={self.mu}", f"--smoothness={self.smoothness}"]
        options += [f"--at-most={SYMBOLS[k]}={v}" for k, v in self.numbers.items()]
        asked = Asked(NAME, "average", self.algorithm, self.law, self.loop)
        return asked.open(f"{self._bound()} for every K and {functions}", options)

    def _bound(self) -> str:
        """Write the inequality with the numbers that were given."""
        shown = {name: f"({number(v)})" for name, v in self.numbers.items()}
        factors = {name: shown.get(name, symbol) for name, symbol in SYMBOLS.items()}
        if self.mu < 0:
            left, gap = "E|grad f(x_r)|^2", factors["by_gap"]
            return f"(1/K) sum_(r<K) {left} <= {gap} (f(x_0) - f(x*))/K"
        parts = f"{factors['by_distance']} |x_0 - x*|^2 + {factors['by_gradients']} M"
        return (
            f"(1/K) sum_(r<K) E[f(x_r) - f(x*)] <= ({parts})/K + "
            f"{factors['constant']} M"
        )


def _told(found: Average) -> str:
    """Word the numbers of a bound that are not 0."""
    pairs = ((SYMBOLS[name], getattr(found, name)) for name in SYMBOLS)
    return ", ".join(f"{symbol} = {number(value)}" for symbol, value in pairs if value)
